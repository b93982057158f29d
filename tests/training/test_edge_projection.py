import numpy as np
import pytest
from pydantic import ValidationError

from arcvec.embeddings import EdgeEmbeddings
from arcvec.evaluation.link_prediction import link_prediction
from arcvec.graph.graph import Graph
from arcvec.graph.split import read_split, split_edges
from arcvec.model.settings import ModelSettings
from arcvec.parallel.alone import Alone
from arcvec.sampling.settings import NegativeSettings, WalkSettings
from arcvec.training.edge_projection import EdgeProjection, FittedRows, MixedProjections, _seed_of
from arcvec.training.settings import TrainSettings


def planted_graph(num_nodes=300, rank=3, directed=True):
    """Edges where a hidden product of source and target vectors is highest."""
    source, target = np.random.default_rng(7).normal(size=(2, num_nodes, rank))
    scores = source @ target.T if directed else source @ source.T
    np.fill_diagonal(scores, -np.inf)
    threshold = np.quantile(scores, 0.95)
    return Graph.from_edges(*np.nonzero(scores > threshold), directed=directed)


@pytest.mark.parametrize("directed", [True, False], ids=["directed", "undirected"])
@pytest.mark.parametrize("hidden", [(), (50,)], ids=["shallow", "deep"])
@pytest.mark.parametrize("kind", ["block", "fixed"])
def test_training_finds_a_planted_graph(directed, hidden, kind):
    split = split_edges(planted_graph(directed=directed), test_fraction=0.3, seed=0)
    method = EdgeProjection(
        goal="pairs",
        dim=8,
        negatives=NegativeSettings(kind=kind),
        walks=WalkSettings(window=1),
        model=ModelSettings(node_dim=32, hidden=hidden),
        # Few nodes and few negatives: without a penalty scores grow until they say nothing.
        training=TrainSettings(steps=300, batch_pairs=2000, output_l2=3e-3),
    )
    report = link_prediction(method.fit(split.train), split)
    assert report.auc > 0.9
    assert report.auc_random > 0.9


@pytest.mark.parametrize("kind", ["block", "fixed"])
def test_several_projections_find_a_planted_graph(kind):
    split = split_edges(planted_graph(), test_fraction=0.3, seed=0)
    method = MixedProjections(
        dim=16,
        projections=2,
        negatives=NegativeSettings(kind=kind),
        walks=WalkSettings(window=1),
        training=TrainSettings(steps=300, batch_pairs=2000),
    )
    mixture = method.fit(split.train)
    assert mixture.source.shape == mixture.target.shape == (2, 300, 4)
    assert mixture.dim == 16
    assert link_prediction(mixture, split).auc > 0.9
    rows = np.arange(5)
    table = mixture.score_all_targets(rows)
    np.testing.assert_allclose(table[2], mixture.score(np.full(300, 2), np.arange(300)), rtol=1e-4)


@pytest.mark.parametrize("hidden", [(), (50,)], ids=["shallow", "deep"])
def test_symmetric_models_find_a_planted_graph(hidden):
    split = split_edges(planted_graph(directed=False), test_fraction=0.3, seed=0)
    method = EdgeProjection(
        goal="pairs",
        dim=8,
        walks=WalkSettings(window=1),
        model=ModelSettings(kind="symmetric", hidden=hidden),
        training=TrainSettings(steps=300, batch_pairs=2000),
    )
    embeddings = method.fit(split.train)
    assert embeddings.source.shape == (300, 8)
    assert embeddings.settings["norm_std"] > 0
    assert link_prediction(embeddings, split).auc > 0.9


def test_reverse_of_a_directed_cycle_scores_lower(directed_cycle):
    embeddings = EdgeProjection(
        goal="pairs", dim=8, walks=WalkSettings(window=1), training=TrainSettings(steps=200)
    ).fit(directed_cycle)
    sources, targets = directed_cycle.edges()
    forward, backward = embeddings.score(sources, targets), embeddings.score(targets, sources)
    assert forward.min() > backward.max()


def test_undirected_scores_are_symmetric(two_cliques):
    embeddings = EdgeProjection(goal="pairs", dim=4, training=TrainSettings(steps=100)).fit(
        two_cliques
    )
    everyone = np.indices((8, 8)).reshape(2, -1)
    scores = embeddings.score(*everyone).reshape(8, 8)
    np.testing.assert_array_equal(scores, scores.T)
    assert embeddings.weights is not None
    assert set(embeddings.weights.tolist()) <= {-1.0, 1.0}
    inside = np.kron(np.eye(2), np.ones((4, 4))) - np.eye(8)
    assert scores[inside == 1].min() > scores[:4, 4:].max()


def test_new_names_change_no_number():
    graph = planted_graph(100)
    renamed = Graph(graph.indptr, graph.indices, graph.nodes, graph.directed)
    renamed = Graph.from_edges(*graph.edges(), nodes=[f"node {i}" for i in range(100)])
    method = EdgeProjection(goal="pairs", dim=4, training=TrainSettings(steps=10))
    assert method.fit(graph).source.tobytes() == method.fit(renamed).source.tobytes()


@pytest.mark.parametrize("directed", [True, False], ids=["directed", "undirected"])
def test_weights_count(directed):
    """Two groups share a target; the heavier one's own edges are, the less it meets the other's."""
    first, second = np.arange(10), np.arange(10, 20)
    own, shared, other = 20, 21, 22
    sources = np.concatenate([first, first, second, second])
    targets = np.repeat([own, shared, shared, other], 10)

    def mean_score(weight_of_own):
        weights = np.repeat([weight_of_own, 1.0, 1.0, 1.0], 10)
        graph = Graph.from_edges(sources, targets, directed=directed, weights=weights)
        method = EdgeProjection(
            goal="pairs", dim=4, walks=WalkSettings(window=3), training=TrainSettings(steps=100)
        )
        return method.fit(graph).score(first, np.full(10, other)).mean()

    assert mean_score(0.05) > mean_score(20.0) + 1


def test_result_folder_keeps_everything(tmp_path, directed_cycle):
    method = EdgeProjection(goal="pairs", dim=4, seed=3, training=TrainSettings(steps=5))
    embeddings = method.fit(directed_cycle)
    embeddings.save(tmp_path / "result")
    loaded = EdgeEmbeddings.load(tmp_path / "result")
    np.testing.assert_array_equal(loaded.source, embeddings.source)
    assert isinstance(loaded.source, np.memmap)
    assert loaded.settings == embeddings.settings
    assert loaded.settings["graph_fingerprint"] == directed_cycle.fingerprint
    assert loaded.settings["seed"] == 3
    assert loaded.settings["settings"]["dim"] == 4


def test_isolated_nodes_get_vectors_too(isolated_node):
    embeddings = EdgeProjection(goal="pairs", dim=4, training=TrainSettings(steps=5)).fit(
        isolated_node
    )
    assert embeddings.source.shape == (3, 2)
    assert np.isfinite(embeddings.source).all()


@pytest.mark.parametrize("edges", [([], []), ([0], [0])], ids=["empty", "self-loop"])
def test_nothing_to_learn_from(edges):
    with pytest.raises(ValueError, match="expected a graph with an edge between two different"):
        EdgeProjection(goal="pairs").fit(Graph.from_edges(*edges))


@pytest.mark.parametrize("settings", [{"dim": 7}, {"dim": 0}, {"seed": -1}, {"size": 3}])
def test_settings_are_checked(settings):
    with pytest.raises(ValidationError):
        EdgeProjection(goal="pairs", **settings)


@pytest.mark.slow
@pytest.mark.parametrize(("name", "dim", "floor"), [("wiki-vote", 8, 0.97), ("ppi", 32, 0.91)])
def test_defaults_on_the_papers_splits(shared_data, name, dim, floor):
    split = read_split(shared_data(f"splits/{name}"))
    embeddings = EdgeProjection(goal="pairs", dim=dim, seed=0).fit(split.train)
    assert link_prediction(embeddings, split, ranking=False).auc >= floor


def test_projections_must_share_dim():
    with pytest.raises(ValidationError, match="multiple of 8"):
        MixedProjections(dim=12, projections=4)
    with pytest.raises(ValidationError, match="asymmetric"):
        MixedProjections(model=ModelSettings(kind="symmetric"))
    with pytest.raises(ValidationError, match=r"no room for training\.degree_discount"):
        MixedProjections(training=TrainSettings(degree_discount=1.0))


@pytest.mark.parametrize("directed", [True, False], ids=["two vectors", "one vector"])
def test_a_score_is_the_mean_of_the_members_scores(directed):
    """Where dim has room for it: as many numbers as the members have together.

    Nothing is held out, which members of one result would do alike, and other results otherwise.
    """
    graph = planted_graph(directed=directed)
    training = TrainSettings(steps=30, batch_pairs=500, validation_fraction=0, validation_edges=0)
    shared = {"walks": WalkSettings(window=5), "training": training}
    method = EdgeProjection(goal="pairs", dim=12, members=3, **shared)
    vectors = method.prepare("any", graph, None, members=3, member_dim=4).run().vectors(12, Alone())
    together = FittedRows(*vectors, graph, {}, Alone()).embeddings()
    assert together.dim == 12
    seeds = [_seed_of(member, 0) for member in range(3)]
    shared["training"] = training.of_one_of(3)
    alone = [EdgeProjection(goal="pairs", dim=4, seed=seed, **shared).fit(graph) for seed in seeds]
    expected = np.mean([member.score_all_targets(np.arange(20)) for member in alone], axis=0)
    scores = together.score_all_targets(np.arange(20))
    np.testing.assert_allclose(scores, expected, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(
    ("dim", "members", "two_vectors", "one_vector"),
    [
        *[(8, 1, 8, 8), (32, 1, 32, 32), (62, 1, 62, 62), (64, 4, 32, 32)],
        *[(70, 4, 36, 32), (128, 4, 64, 32), (512, 4, 128, 128)],
    ],
)
@pytest.mark.parametrize("directed", [True, False], ids=["two vectors", "one"])
def test_how_many_members_there_are(directed, dim, members, two_vectors, one_vector):
    graph = Graph.from_edges([0, 1, 2, 3], [1, 2, 3, 0], directed=directed)
    method = EdgeProjection(goal="pairs", dim=dim, training=TrainSettings(steps=4))
    assert method.parts(graph) == (members, two_vectors if directed else one_vector)
    fitted = method.fit(graph)
    assert fitted.dim == dim
    assert max(fitted.settings["history"]["member"]) + 1 == members


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ({"dim": 8, "members": 3}, (3, 8)),
        ({"dim": 32, "members": 2}, (2, 32)),
        ({"dim": 64, "members": 1}, (1, 64)),
        ({"dim": 64, "model": ModelSettings(unit_norm=True)}, (1, 64)),
    ],
)
def test_members_that_are_asked_for(settings, expected):
    graph = Graph.from_edges([0, 1, 2, 3], [1, 2, 3, 0])
    assert EdgeProjection(goal="pairs", **settings).parts(graph) == expected


def test_members_that_do_not_fit():
    with pytest.raises(ValidationError, match="unit_norm belongs to one"):
        EdgeProjection(goal="pairs", members=2, model=ModelSettings(unit_norm=True))
