import pytest

from arcvec.training.edge_projection import EdgeProjection
from arcvec.training.hooks import Hooks, Interrupted
from arcvec.training.settings import RankingSettings, TrainSettings
from tests.training.test_edge_projection import planted_graph

SHORT = TrainSettings(steps=40, batch_pairs=500)


def test_a_choice_that_is_no_longer_open_stays_away():
    earlier = EdgeProjection(dim=8, training=SHORT).fit(planted_graph(80))
    penalty = earlier.settings["order"]["penalty"]
    ranking = RankingSettings(penalty=(penalty + 1, penalty + 2))
    chosen = EdgeProjection(dim=8, ranking=ranking).chosen_by(earlier).ranking
    assert chosen.penalty == ranking.penalty
    assert chosen.sweeps == (earlier.settings["order"]["sweeps"],)


def test_interrupted_and_resumed_is_the_same(tmp_path):
    graph = planted_graph(80)
    method = EdgeProjection(dim=8, training=SHORT)
    earlier = method.fit(graph)
    whole = method.fit(graph, start=earlier)
    steps, checkpoint = iter(range(1000)), tmp_path / "fit.checkpoint"
    with pytest.raises(Interrupted):
        method.fit(graph, Hooks(None, lambda: next(steps) == 25, checkpoint), start=earlier)
    again = Hooks(checkpoint=checkpoint, resume=True)
    with pytest.raises(ValueError, match="made with another settings"):
        method.fit(graph, again)
    assert method.fit(graph, again, start=earlier).source.tobytes() == whole.source.tobytes()
