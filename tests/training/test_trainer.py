import json
from itertools import pairwise

import numpy as np
import pytest
import torch

from arcvec.graph.graph import Graph
from arcvec.model.objective import Objective
from arcvec.model.settings import ModelSettings
from arcvec.parallel.alone import Alone
from arcvec.sampling.batches import BatchStream, Place
from arcvec.sampling.settings import NegativeSettings, WalkSettings
from arcvec.training.edge_projection import EdgeProjection
from arcvec.training.fit import Fit
from arcvec.training.hooks import Hooks, Interrupted
from arcvec.training.settings import TrainSettings
from arcvec.training.trainer import learning_rate
from arcvec.training.validation import choose_validation

VARIANTS = {
    "block, adam": {"negatives": {"kind": "block"}},
    "sampled blocks": {"negatives": {"kind": "block", "block_sources": 20, "block_targets": 30}},
    "fixed, percent delta": {
        "negatives": {"kind": "fixed"},
        "training": {"optimiser": "percent-delta", "learning_rates": (0.05, 0.01), "l2": 1e-4},
    },
    "shallow, anchor only": {
        "model": {"hidden": ()},
        "training": {"anchor_only": True},
        "negatives": {"kind": "fixed"},
    },
    "symmetric, selected on train": {
        "model": {"kind": "symmetric"},
        "training": {"selection": "train", "settle": 0.0},
    },
    "statistics by pairs": {"model": {"statistics": "pairs"}, "training": {"settle": 0.0}},
    "two members": {"members": 2, "training": {"patience": 1}},
    "a discount": {"training": {"degree_discount": 2.0}},
    "two tied members": {"members": 2, "model": {"kind": "tied"}, "training": {"patience": 1}},
    "tied, settling early": {
        "model": {"kind": "tied"},
        "training": {"settle": 0.3, "patience": 1},
    },
}


@pytest.fixture(scope="module")
def graph():
    sources, targets = np.random.default_rng(0).integers(120, size=(2, 900))
    return Graph.from_edges(sources, targets)


@pytest.fixture(params=VARIANTS.values(), ids=VARIANTS)
def method(request):
    changes = request.param
    training = {"steps": 24, "batch_pairs": 200, "evaluate_every": 5, "checkpoint_every": 7}
    members = changes.get("members", 1)
    training["steps"] *= members
    return EdgeProjection(
        goal="pairs",
        dim=8,
        seed=1,
        members=members,
        walks=WalkSettings(shuffle_pairs=2000, window=5),
        negatives=NegativeSettings(**changes.get("negatives", {})),
        model=ModelSettings(node_dim=8, **{"hidden": (8,), **changes.get("model", {})}),
        training=TrainSettings(**{**training, **changes.get("training", {})}),
    )


def begin(graph, training):
    """The training before its first step."""
    settings = (WalkSettings(), NegativeSettings(), ModelSettings(), training)
    about = {"dim": 8, "projections": 1, "seeds": [0], "identity": {}}
    fit = Fit(graph, *settings, **about, hooks=Hooks(), workers=Alone())
    return fit._trainer("member-0", 0)


def test_reports_every_step(graph, method):
    reports = []
    fitted = method.fit(graph, Hooks(report=reports.append))
    assert sum(progress.step == 1 for progress in reports) == method.members
    lasts = [max(p.step for p in reports if p.member == i) for i in range(method.members)]
    assert reports[-1].step == reports[-1].steps <= 24
    assert {progress.members for progress in reports} == {method.members}
    assert sum(lasts) == fitted.settings["steps_done"]
    assert all(b.step - a.step in (1, 1 - a.step) for a, b in pairwise(reports))
    assert all(np.isfinite(progress.loss) for progress in reports)
    assert reports[3].validation_auc is None
    watched = [p for p in reports if p.member == 0]
    assert 0 < reports[4].validation_auc <= watched[-1].best_auc <= 1
    assert reports[-1].pairs_per_second > 0


def test_same_seed_same_bytes_other_seed_other_bytes(graph, method):
    first, second = method.fit(graph), method.fit(graph)
    assert np.asarray(first.source).tobytes() == np.asarray(second.source).tobytes()
    assert np.asarray(first.target).tobytes() == np.asarray(second.target).tobytes()
    other = method.model_copy(update={"seed": 2}).fit(graph)
    assert np.asarray(other.source).tobytes() != np.asarray(first.source).tobytes()


@pytest.mark.parametrize("kind", ["block", "fixed"])
def test_same_bytes_where_torch_uses_its_threads(kind):
    """Batches large enough for torch to share them out among threads."""
    sources, targets = np.random.default_rng(0).integers(3000, size=(2, 20_000))
    method = EdgeProjection(
        goal="pairs",
        negatives=NegativeSettings(kind=kind),
        training=TrainSettings(steps=4, batch_pairs=16_384, validation_fraction=0),
    )
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    try:
        fits = [method.fit(Graph.from_edges(sources, targets)) for _ in range(4)]
    finally:
        torch.set_num_threads(before)
    assert len({np.asarray(fit.source).tobytes() for fit in fits}) == 1


@pytest.mark.parametrize("part", [0.1, 0.5, 0.7, 0.95])
def test_interrupted_and_resumed_is_the_same_as_never_interrupted(graph, method, part, tmp_path):
    reports = []
    whole = method.fit(graph, Hooks(report=reports.append))
    stop_after = int(part * len(reports))
    steps = iter(range(1, 100))
    checkpoint = tmp_path / "fit.checkpoint"
    stopping = Hooks(should_stop=lambda: next(steps) >= stop_after, checkpoint=checkpoint)
    with pytest.raises(Interrupted) as stop:
        method.fit(graph, stopping)
    # The last step of a member is not one to stop at: then the first of the next one is.
    assert stop.value.step in [report.step for report in reports[stop_after - 1 : stop_after + 1]]
    resumed = method.fit(graph, Hooks(checkpoint=checkpoint, resume=True))
    assert np.asarray(resumed.source).tobytes() == np.asarray(whole.source).tobytes()
    assert np.asarray(resumed.target).tobytes() == np.asarray(whole.target).tobytes()
    assert resumed.settings == whole.settings


def test_the_result_keeps_the_course_of_the_training(graph, method):
    reports = []
    fitted = method.fit(graph, Hooks(report=reports.append))
    whole = fitted.settings["history"]
    every = method.training.evaluate_every
    steps, best = [], []
    for member in range(method.members):
        mine = [i for i, entry in enumerate(whole["member"]) if entry == member]
        history = {name: [column[i] for i in mine] for name, column in whole.items()}
        seen = [report for report in reports if report.member == member]
        losses = [report.loss for report in seen]
        assert history["step"][:2] == [every, 2 * every]
        assert history["step"][-1] == len(losses)
        assert history["loss"][0] == pytest.approx(np.mean(losses[:every]))
        watched = [auc for auc in history["validation_auc"] if auc is not None]
        settles = method.training.settle > 0
        assert (history["validation_auc"][-1] is None) == settles
        assert history["validation_auc"][: len(watched)] == watched
        steps.append(len(losses))
        best.append(max(watched))
    assert fitted.settings["steps_done"] == sum(steps)
    if not method.training.finds_discount:
        assert fitted.settings["validation_auc"] == pytest.approx(np.mean(best))


@pytest.mark.parametrize("members", [1, 3])
def test_the_auc_is_that_of_all_members_together(graph, members):
    settings = TrainSettings(steps=20, batch_pairs=500, evaluate_every=5)
    method = EdgeProjection(goal="pairs", dim=8, members=members, training=settings)
    learned = method.prepare("any", graph, None, members=members).run()
    seen, validation = choose_validation(graph, settings, 0)
    scores = np.mean([validation.scores(m.watched).numpy() for m in learned.members], axis=0)
    terms = learned.terms.of_nodes(seen)[validation.pairs].sum(axis=1)
    assert learned.auc == pytest.approx(validation.auc_of(scores + terms))


def test_settling_learns_from_the_held_out_edges_too():
    """A random graph: only a training that sees an edge can score it high."""
    rng = np.random.default_rng(0)
    graph = Graph.from_edges(*rng.integers(200, size=(2, 1500)))
    _, validation = choose_validation(graph, TrainSettings(), 0)
    held_out = validation.pairs[validation.is_edge].T

    def mean_score(settle):
        training = TrainSettings(steps=200, settle=settle, batch_pairs=4000, degree_discount=0)
        walks = WalkSettings(window=5)
        method = EdgeProjection(goal="pairs", dim=16, members=1, walks=walks, training=training)
        return method.fit(graph).score(*held_out).mean()

    assert mean_score(0.5) > 0 > mean_score(0.0)


@pytest.mark.parametrize("settle", [0.25, 0.5])
def test_settling_takes_its_part_of_the_steps(graph, settle):
    training = TrainSettings(steps=40, settle=settle, batch_pairs=500, validation_fraction=0)
    fitted = EdgeProjection(goal="pairs", dim=8, training=training).fit(graph)
    assert fitted.settings["steps_done"] == 40
    assert begin(graph, training).status.end == 40 * (1 - settle)


def test_settling_is_as_long_as_it_took_to_the_best_auc(graph):
    training = TrainSettings(steps=1000, settle=0.5, evaluate_every=10, patience=3)
    trainer = begin(graph, training)
    status = trainer.status
    status.step, status.validations_since_best = 90, 3
    status.best_step, status.best_auc = 60, 0.9
    assert trainer._is_finished()
    trainer.settle()
    assert not trainer._is_finished()
    assert status.end == 90 + 60


def test_members_have_seeds_of_their_own(graph):
    """Two members are not twice the same one, nor a member of another seed."""
    training = TrainSettings(steps=12, batch_pairs=200, evaluate_every=1)

    def losses(seed, members):
        walks = WalkSettings(window=5)
        method = EdgeProjection(
            goal="pairs", dim=8, seed=seed, members=members, walks=walks, training=training
        )
        history = method.fit(graph).settings["history"]
        return [
            [
                loss
                for loss, which in zip(history["loss"], history["member"], strict=True)
                if which == i
            ]
            for i in range(members)
        ]

    (alone,) = losses(0, 1)
    first, second = losses(0, 2)
    assert first[:3] == alone[:3]
    for other in (first, *losses(1, 1), *losses(1, 2)):
        assert second[0] != other[0]


def test_checkpoints_are_written_on_the_way(graph, method, tmp_path):
    checkpoint = tmp_path / "fit.checkpoint"
    reports = []
    method.fit(graph, Hooks(report=reports.append, checkpoint=checkpoint))
    numbers = [int(path.name.split("-")[1]) for path in checkpoint.glob("running-*")]
    header = json.loads((checkpoint / f"running-{max(numbers)}" / "checkpoint.json").read_text())
    assert header["state"]["status"]["step"] == [p.step for p in reports if p.step % 7 == 0][-1]
    written = [p for p in reports if p.step % 7 == 0]
    assert len(numbers) == min(2, len(written))
    assert [path.name for path in tmp_path.iterdir()] == ["fit.checkpoint"]
    assert len(list(checkpoint.glob("member-*"))) == method.members


def test_a_checkpoint_of_something_else_is_refused(graph, method, tmp_path):
    checkpoint = tmp_path / "fit.checkpoint"
    method.fit(graph, Hooks(checkpoint=checkpoint))
    hooks = Hooks(checkpoint=checkpoint, resume=True)
    with pytest.raises(ValueError, match="another seed"):
        method.model_copy(update={"seed": 5}).fit(graph, hooks)
    with pytest.raises(ValueError, match="another settings"):
        method.model_copy(update={"dim": 4}).fit(graph, hooks)
    with pytest.raises(ValueError, match="another graph_fingerprint"):
        method.fit(graph.transposed, hooks)
    (checkpoint / "checkpoint.json").write_text('{"format": "arcvec-checkpoint"')
    with pytest.raises(ValueError, match="expected JSON"):
        method.fit(graph, hooks)
    with pytest.raises(FileNotFoundError, match="no checkpoint"):
        method.fit(graph, Hooks(checkpoint=tmp_path / "none", resume=True))


def test_nothing_is_tried_again_once_the_first_member_is_done(graph, tmp_path):
    training = TrainSettings(steps=48, batch_pairs=200, evaluate_every=5, checkpoint_every=3)
    method = EdgeProjection(goal="pairs", dim=8, members=2, training=training)
    checkpoint, members = tmp_path / "fit.checkpoint", []
    hooks = Hooks(
        lambda progress: members.append(progress.member), lambda: 1 in members, checkpoint
    )
    with pytest.raises(Interrupted):
        method.fit(graph, hooks)
    members.clear()
    method.fit(graph, Hooks(lambda p: members.append(p.member), None, checkpoint, resume=True))
    assert set(members) == {1}


def test_a_torn_snapshot_is_trained_again(graph, tmp_path, caplog):
    """Of a member that is done, and of what ran: then the one before it is taken."""
    training = TrainSettings(steps=48, batch_pairs=200, evaluate_every=5, checkpoint_every=3)
    method = EdgeProjection(goal="pairs", dim=8, members=2, training=training)
    reports = []
    whole = method.fit(graph, Hooks(report=reports.append))
    checkpoint, steps = tmp_path / "fit.checkpoint", iter(range(1000))
    stopping = Hooks(should_stop=lambda: next(steps) >= len(reports) - 5, checkpoint=checkpoint)
    with pytest.raises(Interrupted):
        method.fit(graph, stopping)
    newest = max(checkpoint.glob("running-*"), key=lambda path: int(path.name[8:]))
    for torn in (newest / "rows-0.safetensors", checkpoint / "member-0" / "rows-0.safetensors"):
        torn.write_bytes(torn.read_bytes()[:-10])
    resumed = method.fit(graph, Hooks(checkpoint=checkpoint, resume=True))
    assert "torn or damaged" in caplog.text
    assert np.asarray(resumed.source).tobytes() == np.asarray(whole.source).tobytes()


def test_training_stops_when_the_auc_no_longer_rises(graph):
    """A random graph has nothing to learn, so that the held-out AUC soon stops rising."""
    training = TrainSettings(steps=5000, evaluate_every=5, patience=3, batch_pairs=500, settle=0)
    embeddings = EdgeProjection(goal="pairs", dim=8, training=training).fit(graph)
    assert embeddings.settings["steps_done"] < 1000


def test_a_loss_that_is_not_finite_stops_with_its_step(graph):
    training = TrainSettings(learning_rates=(1e30,), steps=50)
    with pytest.raises(FloatingPointError, match=r"loss is (nan|inf) at step \d+; lower the"):
        EdgeProjection(goal="pairs", dim=8, training=training, model=ModelSettings(hidden=())).fit(
            graph
        )


@pytest.mark.parametrize("kind", ["block", "fixed"])
def test_anchor_only_moves_sources_only(kind):
    """Of a one-way graph the targets have no pairs of their own: their rows stay."""
    graph = Graph.from_edges([0, 1, 2, 3], [4, 5, 6, 7])
    negatives = NegativeSettings(kind=kind, block_sources=1, reversed_weight=0)
    trainer = begin(graph, TrainSettings(steps=1, anchor_only=True, validation_fraction=0))
    before = trainer.table.values.clone()
    stream = BatchStream(graph, WalkSettings(), negatives, batch_pairs=100, seed=0)
    batch = next(stream.start_at(Place()))
    trainer.train(stream, Objective(negatives, 0.0))
    moved = (trainer.table.values != before).any(dim=1).nonzero().ravel().tolist()
    assert moved == sorted(batch.nodes[batch.anchors].tolist())
    assert set(range(4)) <= set(moved) < set(range(8))


def test_learning_rates():
    flat = TrainSettings(steps=10, learning_rates=(0.3, 0.1), decay="none")
    assert [learning_rate(flat, step) for step in (0, 4, 5, 9)] == [0.3, 0.3, 0.1, 0.1]
    falling = TrainSettings(steps=10, learning_rates=(1.0,), decay="cosine", settle=0)
    rates = [learning_rate(falling, step) for step in range(10)]
    assert rates[0] == 1
    assert rates[5] == pytest.approx(0.5)
    assert rates == sorted(rates, reverse=True)
    assert learning_rate(falling, 5, end=6) < rates[5]
    settling = TrainSettings(steps=10, learning_rates=(1.0,), decay="cosine", settle=0.5)
    assert [learning_rate(settling, step) for step in (0, 4)] == [1.0, 1.0]
    rates = [learning_rate(settling, step, 4, 8) for step in (4, 6, 7)]
    assert rates == pytest.approx([1.0, 0.5, 0.5 - 0.5**1.5])
