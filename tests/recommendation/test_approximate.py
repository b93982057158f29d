"""Nearly the exact answer, with filters and known edges, and an index that stays true."""

from dataclasses import replace

import numpy as np
import pytest

from arcvec.embeddings import EdgeEmbeddings
from arcvec.graph.graph import Graph
from arcvec.graph.names import NodeNames
from arcvec.recommendation.approximate import build_index, cluster, equally_long, open_index
from arcvec.recommendation.exact import recommend, top_k

NUM_NODES = 6000


def clustered(seed, kind="directed", num_nodes=NUM_NODES):
    """Vectors around a hundred centres, of very different lengths."""
    generator = np.random.default_rng(seed)
    centres = generator.normal(size=(100, 8))
    sides = [
        (
            centres[generator.integers(100, size=num_nodes)]
            + generator.normal(size=(num_nodes, 8)) / 3
        )
        * generator.lognormal(0, 0.5, size=(num_nodes, 1))
        for _ in range(2)
    ]
    source, target = (side.astype(np.float32) for side in sides)
    nodes = NodeNames.numbered(num_nodes)
    if kind == "one vector":
        return EdgeEmbeddings.one_vector(source, generator.normal(size=8), nodes)
    return EdgeEmbeddings(source, target, nodes, directed=kind == "directed")


def measured_recall(found, expected):
    """Return the fraction of the expected ids that was found; -1 is padding."""
    rows = zip(found.tolist(), expected.tolist(), strict=True)
    hits = sum(len(set(row) & set(other) - {-1}) for row, other in rows)
    return hits / (expected >= 0).sum()


@pytest.mark.parametrize("kind", ["directed", "undirected", "one vector"])
@pytest.mark.parametrize("direction", ["targets", "sources"])
def test_finds_what_the_exact_way_finds(kind, direction):
    embeddings = clustered(0, kind)
    index = build_index(embeddings, direction, recall=0.97)
    assert index.probes[0] < index.num_clusters / 4, "nothing is saved"
    ids = np.random.default_rng(1).permutation(NUM_NODES)[:1000]
    found, scores = top_k(embeddings, ids, 10, direction=direction, index=index)
    expected, best = top_k(embeddings, ids, 10, direction=direction)
    assert measured_recall(found, expected) > 0.95
    same = found == expected
    np.testing.assert_allclose(scores[same], best[same], rtol=1e-5)
    assert (np.diff(scores, axis=1) <= 0).all()
    assert not (found == ids[:, None]).any()


@pytest.mark.parametrize("kind", ["directed", "undirected", "one vector"])
@pytest.mark.parametrize("direction", ["targets", "sources"])
def test_popularity_is_taken_out_with_the_same_index(kind, direction):
    embeddings = clustered(0, kind)
    source, target = embeddings.source, embeddings.target
    if kind != "one vector":  # so that some nodes are popular
        embeddings = replace(embeddings, source=source + np.float32(1), target=target + target**2)
    index = build_index(embeddings, direction)
    ids = np.random.default_rng(1).permutation(NUM_NODES)[:500]
    for popularity in (0.5, 0):
        asked = {"direction": direction, "popularity": popularity}
        found, scores = top_k(embeddings, ids, 10, index=index, **asked)
        expected, best = top_k(embeddings, ids, 10, **asked)
        assert measured_recall(found, expected) > 0.94
        same = found == expected
        np.testing.assert_allclose(scores[same], best[same], rtol=1e-4)


@pytest.mark.parametrize("direction", ["targets", "sources"])
def test_filters_and_known_edges_hold(direction):
    embeddings = clustered(0)
    generator = np.random.default_rng(2)
    ids = np.arange(300)
    # The best are known already, of one node far more than any index will look at.
    known_targets, _ = top_k(embeddings, ids, 60, direction=direction)
    ends = (np.repeat(ids, 60), known_targets.ravel())
    ends = tuple(
        np.concatenate([end, extra])
        for end, extra in zip(ends, (np.full(5000, 7), np.arange(1000, 6000)), strict=True)
    )
    known = Graph.from_edges(
        *(ends if direction == "targets" else ends[::-1]), nodes=embeddings.nodes
    )
    index = build_index(embeddings, direction)
    for share in (1.0, 0.3, 0.001):
        only = np.flatnonzero(generator.random(NUM_NODES) < share)
        filters = {"exclude": known, "only": only, "without": only[:50:2], "direction": direction}
        found, _ = top_k(embeddings, ids, 10, index=index, **filters)
        expected, _ = top_k(embeddings, ids, 10, **filters)
        assert measured_recall(found, expected) > 0.93
        assert set(found[found >= 0].tolist()) <= set(only.tolist()) - set(only[:50:2].tolist())
        rows, columns = np.nonzero(found >= 0)
        pairs = ids[rows], found[rows, columns]
        assert not known.has_edges(*(pairs if direction == "targets" else pairs[::-1])).any()
        assert ((found >= 0).sum(axis=1) == (expected >= 0).sum(axis=1)).all()


def test_more_asked_for_than_there_is():
    embeddings = clustered(0, num_nodes=40)
    index = build_index(embeddings)
    found, scores = top_k(embeddings, np.arange(40), 50, index=index)
    expected, best = top_k(embeddings, np.arange(40), 50)
    np.testing.assert_array_equal(found, expected)
    np.testing.assert_array_equal(scores, best)


@pytest.mark.parametrize("value", [0, 1])
def test_vectors_that_are_all_the_same(value):
    vectors = np.full((500, 4), value, dtype=np.float32)
    embeddings = EdgeEmbeddings(vectors, vectors, NodeNames.numbered(500))
    found, scores = top_k(embeddings, np.arange(20), 5, index=build_index(embeddings))
    assert (scores == 4 * value).all()
    assert all(np.unique(row).size == 5 for row in found)


def test_names(tmp_path):
    embeddings = clustered(0)
    index = build_index(embeddings)
    names, _ = recommend(embeddings, ["5", "17"], k=3, index=index)
    assert names.shape == (2, 3)
    assert "5" not in names[0]


def test_same_index_every_time():
    first, second = (build_index(clustered(0)) for _ in range(2))
    np.testing.assert_array_equal(first.members, second.members)
    assert first.probes == second.probes


def test_bad_arguments_are_refused():
    embeddings = clustered(0, num_nodes=100)
    with pytest.raises(ValueError, match=r"expected a recall from 0\.5 to 0\.999, got 1"):
        build_index(embeddings, recall=1)
    with pytest.raises(ValueError, match="expected an index for the direction sources"):
        top_k(embeddings, np.array([0]), 3, direction="sources", index=build_index(embeddings))
    broken = EdgeEmbeddings(
        embeddings.source * np.float32(np.nan), embeddings.target, embeddings.nodes
    )
    with pytest.raises(ValueError, match="expected finite source vectors"):
        build_index(broken, "sources")


def test_all_equally_long_and_products_unchanged():
    vectors = np.random.default_rng(0).normal(size=(50, 3)).astype(np.float32)
    longer = equally_long(vectors)
    norms = np.linalg.norm(vectors, axis=1)
    np.testing.assert_allclose(np.linalg.norm(longer, axis=1), norms.max(), rtol=1e-5)
    np.testing.assert_array_equal(longer[:, :3], vectors)


def test_clusters_of_plain_groups():
    centres = np.eye(4, dtype=np.float32) * 10
    group = np.random.default_rng(0).integers(4, size=400)
    noise = np.random.default_rng(1).normal(size=(400, 4)).astype(np.float32) / 10
    found = cluster(centres[group] + noise, 16)
    # Each cluster lies within one group.
    assert all(np.unique(group[found == i]).size <= 1 for i in range(16))


def test_index_in_the_folder_is_used_until_vectors_change(tmp_path, caplog):
    caplog.set_level("INFO")
    embeddings = clustered(0)
    embeddings.save(tmp_path / "result")
    loaded = EdgeEmbeddings.load(tmp_path / "result")
    built = open_index(tmp_path / "result", loaded)
    assert isinstance(built.tiles, np.memmap)
    header = tmp_path / "result" / "index-target" / "meta.json"
    made = header.stat().st_mtime_ns
    again = open_index(tmp_path / "result", loaded)
    assert header.stat().st_mtime_ns == made
    np.testing.assert_array_equal(again.members, built.members)
    assert not caplog.text
    doubled = replace(embeddings, target=embeddings.target * np.float32(2))
    doubled.save(tmp_path / "doubled")
    header = header.parent.rename(tmp_path / "doubled" / "index-target") / "meta.json"
    open_index(tmp_path / "doubled", doubled)
    assert header.stat().st_mtime_ns != made
    assert "the index is built again: " in caplog.text
    assert "made for other vectors" in caplog.text


def test_damaged_index_and_other_recall_are_built_again(tmp_path, caplog):
    caplog.set_level("INFO")
    embeddings = clustered(0)
    embeddings.save(tmp_path / "result")
    open_index(tmp_path / "result", embeddings, "sources")
    tiles = tmp_path / "result" / "index-source" / "tiles.npy"
    tiles.write_bytes(tiles.read_bytes()[:1000])
    open_index(tmp_path / "result", embeddings, "sources")
    assert "tiles.npy: not what was written" in caplog.text
    assert open_index(tmp_path / "result", embeddings, "sources", recall=0.8).recall == 0.8
    assert open_index(tmp_path / "result", embeddings, "sources").recall == 0.8
    assert sorted(path.name for path in (tmp_path / "result").iterdir()) == [
        *("checksums.txt", "index-source", "nodes.txt", "settings.json", "source.npy", "target.npy")
    ]


def test_an_index_that_cannot_be_kept_is_used(tmp_path, caplog):
    caplog.set_level("INFO")
    embeddings = clustered(0)
    (tmp_path / "result").write_text("a file in the way")
    index = open_index(tmp_path / "result", embeddings)
    assert "the index is not kept: " in caplog.text
    assert len(top_k(embeddings, np.array([3]), 5, index=index)[0]) == 1
