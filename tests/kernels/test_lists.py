import numpy as np
import pytest

from arcvec.graph.graph import Graph
from arcvec.kernels.topk import LIST_TILE, keep_best_of_lists
from arcvec.recommendation.exact import as_tiles
from tests.kernels.twins import slow_best

NUM_NODES = 300


@pytest.fixture
def lists():
    """Where the tiles of five lists start, the nodes in their tiles, the list of every node."""
    list_of = np.random.default_rng(0).integers(5, size=NUM_NODES)
    list_of[list_of == 3] = 2  # so that one list is empty and one takes several tiles
    starts, members = [0], []
    for chosen in range(5):
        nodes = np.flatnonzero(list_of == chosen).astype(np.int32)
        padded = np.pad(nodes, (0, -len(nodes) % LIST_TILE), constant_values=-1)
        members.append(padded.reshape(-1, LIST_TILE))
        starts.append(starts[-1] + len(members[-1]))
    return np.array(starts), np.concatenate(members), list_of


@pytest.mark.parametrize("k", [1, 7, 90])
@pytest.mark.parametrize("probes", [(0,), (2, 3), (4, -1, 1)])
def test_against_sorting(lists, k, probes):
    starts, members, list_of = lists
    generator = np.random.default_rng(1)
    # Distinct scores: which of equal ones is kept depends on the order of the lists.
    source, target = generator.normal(size=(2, NUM_NODES, 8)).astype(np.float32)
    ends = generator.integers(NUM_NODES, size=(2, 2000))
    known = Graph.from_edges(*ends, nodes=NUM_NODES)
    allowed = generator.random(NUM_NODES) < 0.8
    nodes = generator.permutation(NUM_NODES)[:40]
    ids = np.full((40, k), -1, dtype=np.int32)
    scores = np.full((40, k), -np.inf, dtype=np.float32)
    laid_out = target[members.ravel()] * (members.reshape(-1, 1) >= 0)
    keep_best_of_lists(
        source[nodes],
        nodes,
        np.tile(np.array(probes, dtype=np.int32), (40, 1)),
        starts,
        as_tiles(laid_out.astype(np.float32), LIST_TILE),
        members,
        allowed,
        (known.indptr, known.indices),
        scores,
        ids,
    )
    candidates = np.flatnonzero(np.isin(list_of, probes) & allowed)
    known_edges = set(zip(*ends.tolist(), strict=True))
    for i, node in enumerate(nodes.tolist()):
        expected = slow_best(source[node], node, target, candidates, known_edges, k)
        assert set(ids[i][ids[i] >= 0].tolist()) == {j for _, j in expected}
        np.testing.assert_allclose(
            sorted(-scores[i][ids[i] >= 0]), [score for score, _ in expected], atol=1e-5
        )
