import pytest

from arcvec.training.edge_projection import EdgeProjection
from arcvec.training.hooks import Hooks, Interrupted
from arcvec.training.settings import TrainSettings
from tests.training.test_edge_projection import planted_graph

SHORT = TrainSettings(steps=40, batch_pairs=500)


def test_what_an_earlier_fit_chose_is_not_chosen_again():
    graph = planted_graph(80)
    method = EdgeProjection(goal="pairs", dim=8, training=SHORT)
    earlier, trials = method.fit(graph), []
    later = method.fit(graph, Hooks(lambda p: trials.append(p.trial)), start=earlier)
    for name in ("window", "output_l2"):
        assert later.settings[name] == earlier.settings[name]
    assert set(trials) == {0}
    assert method.fit(graph, start=later).source.tobytes() == later.source.tobytes()


def test_a_choice_that_is_no_longer_open_stays_away():
    earlier = EdgeProjection(goal="pairs", dim=8, training=SHORT).fit(planted_graph(80))
    fixed = SHORT.model_copy(update={"stronger_l2": (), "output_l2": 0.5})
    method = EdgeProjection(goal="pairs", dim=8, training=fixed)
    assert method.chosen_by(earlier).training == fixed


def test_interrupted_and_resumed_is_the_same(tmp_path):
    graph = planted_graph(80)
    method = EdgeProjection(goal="pairs", dim=8, members=2, training=SHORT)
    earlier = method.fit(graph)
    whole = method.fit(graph, start=earlier)
    steps, checkpoint = iter(range(100)), tmp_path / "fit.checkpoint"
    with pytest.raises(Interrupted):
        method.fit(graph, Hooks(None, lambda: next(steps) == 5, checkpoint), start=earlier)
    again = Hooks(checkpoint=checkpoint, resume=True)
    with pytest.raises(ValueError, match="made with another settings"):
        method.fit(graph, again)
    assert method.fit(graph, again, start=earlier).source.tobytes() == whole.source.tobytes()
