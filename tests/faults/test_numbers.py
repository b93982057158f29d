"""Numbers that must not depend on threads, on luck, or on memory that is not theirs."""

import hashlib
import json
import os
import re
import subprocess
import sys
from collections import Counter, defaultdict
from itertools import islice, pairwise
from pathlib import Path

import numpy as np
import pytest
import torch
from scipy.stats import chi2

from arcvec.graph.graph import Graph
from arcvec.graph.non_edges import draw_non_edges
from arcvec.graph.split import cut_edges
from arcvec.model.objective import Objective
from arcvec.model.sides import Sides
from arcvec.sampling.batches import BatchStream, Place
from arcvec.sampling.pairs import WalkPairs
from arcvec.sampling.settings import NegativeSettings, WalkSettings
from tests.kernels.twins import rows_of

ROOT = Path(__file__).parent.parent.parent
LEAST_P = 1e-4

ON_THREADS = """
import hashlib, json, sys
import numba, numpy as np
from arcvec.evaluation.curves import roc_auc
from arcvec.graph.graph import Graph
from benchmarks.rmat import rmat_edges
from arcvec.graph.split import split_edges
from arcvec.training.edge_projection import EdgeProjection
from arcvec.sampling.pairs import WalkPairs
from arcvec.sampling.settings import WalkSettings
from arcvec.training.settings import TrainSettings

ends = rmat_edges(scale=9, edges_per_node=8, seed=0)
weights = np.random.default_rng(0).integers(1, 9, size=ends[0].size)
digests = {}
for weighted in (False, True):
    graph = Graph.from_edges(*ends, nodes=512, weights=weights if weighted else None)
    for walk in ({"kind": "forward"}, {"kind": "alternating"}, {"p": 0.5, "q": 2.0}):
        pairs = WalkPairs(graph, WalkSettings(shuffle_pairs=20_000, **walk), seed=1)
        made = [pairs.walks(0, 1000), *pairs.pairs(3000, 1000)]
        name = f"{walk}, weighted" if weighted else str(walk)
        digests[name] = [hashlib.sha256(part.tobytes()).hexdigest() for part in made]
split = split_edges(Graph.from_edges(*ends, nodes=512), test_fraction=0.2, seed=0)
training = TrainSettings(steps=20, batch_pairs=2000, validation_fraction=0)
fitted = EdgeProjection(goal="pairs", dim=16, seed=0, training=training).fit(split.train)
scores = [fitted.score(*ends.T) for ends in (split.test, split.test_negatives)]
auc = roc_auc(*scores)
json.dump({"threads": numba.get_num_threads(), "digests": digests, "auc": auc}, sys.stdout)
"""


def run_with(script, environment):
    """Return the process of a script, run with Python in the project's folder."""
    return subprocess.run(
        [sys.executable, "-c", script],
        env={**os.environ, **environment},
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )


def test_threads_change_no_walk_and_no_pair(record):
    found = []
    for threads in (1, 2, 4):
        limits = dict.fromkeys(("NUMBA_NUM_THREADS", "OMP_NUM_THREADS"), str(threads))
        # More threads than cores: one that waits must not keep the others from their work.
        process = run_with(ON_THREADS, {**limits, "GOMP_SPINCOUNT": "0"})
        assert process.returncode == 0, process.stderr
        found.append(json.loads(process.stdout))
    assert [run["threads"] for run in found] == [1, 2, 4]
    one = found[0]
    for run in found:
        assert run["digests"] == one["digests"]
        assert run["auc"] == pytest.approx(one["auc"], abs=0.002)
    assert one["auc"] > 0.7
    arrays = [digest for digests in one["digests"].values() for digest in digests]
    assert len(set(arrays)) == len(arrays), "different settings, different bytes"
    spread = max(run["auc"] for run in found) - min(run["auc"] for run in found)
    record("Checks", check="walks, pairs: threads 1, 2, 4", cases=len(arrays), outcome="same bytes")
    record("Checks", check="AUC: threads 1, 2, 4", cases=len(found), outcome=f"within {spread:.4f}")


# Magnitudes of source and target vectors; the scores of all but the first are near 1e30.
EXTREMES = [(1e4, 1e4), (1e15, 1e15), (1e30, 1.0), (1.0, 1e30)]


def loss_of_extremes(kind, projections, sizes):
    """Return the loss of vectors of random signs, and the vectors with their gradients."""
    generator = np.random.default_rng(0)
    graph = Graph.from_edges(*generator.integers(20, size=(2, 60)), nodes=20)
    settings = NegativeSettings(kind=kind)
    stream = BatchStream(graph, WalkSettings(), settings, batch_pairs=50, seed=0)
    batch = next(stream.start_at(Place()))
    sides = [
        torch.from_numpy(size * generator.choice([-1.0, 1.0], size=(len(batch.nodes), 4)))
        .float()
        .requires_grad_()
        for size in sizes
    ]
    mixture = torch.full((projections,), 0.5) if projections > 1 else None
    loss = Objective(settings, reversed_label=0.3).loss(Sides(*sides, mixture=mixture), batch)
    loss.backward()
    return loss, sides


@pytest.mark.parametrize("kind", ["block", "fixed"])
@pytest.mark.parametrize("projections", [1, 2])
def test_extreme_vectors_keep_losses_and_gradients_finite(record, kind, projections):
    for sizes in EXTREMES:
        loss, sides = loss_of_extremes(kind, projections, sizes)
        assert loss.item() > 1e6, "extreme indeed"
        assert torch.isfinite(loss)
        for side in sides:
            assert torch.isfinite(side.grad).all()
            assert side.grad.any()
    # What float32 cannot hold is no number: training stops there and says at which step.
    loss, _ = loss_of_extremes(kind, projections, (1e30, 1e30))
    assert not torch.isfinite(loss)
    record(
        "Checks",
        check=f"vectors up to 1e30, {kind}, {projections} projections",
        cases=len(EXTREMES),
        outcome="finite",
    )


def p_value(counts, expected, dropped, drawn_at_once=0.0):
    """Return the chance of counts at least as far from what is expected, by a chi-square.

    Args:
        dropped: sums of counts that are equal to those expected, by construction.
        drawn_at_once: part of the cells drawn together, none twice, which makes counts more equal.
    """
    statistic = ((counts - expected) ** 2 / expected).sum() / (1 - drawn_at_once)
    return float(chi2.sf(statistic, counts.size - dropped))


def assert_follows(counts, expected, dropped=1, drawn_at_once=0.0):
    """Assert that counts are as expected, and would not be were the sample biased.

    The biased sample has lost a quarter of the draws in the first half of the cells to the others.
    """
    counts, expected = np.asarray(counts, dtype=float), np.asarray(expected, dtype=float)
    assert expected.min() > 5, "too few draws for a chi-square"
    assert counts.sum() == pytest.approx(expected.sum())
    assert p_value(counts, expected, dropped, drawn_at_once) > LEAST_P
    first = np.arange(counts.size) < counts.size // 2
    lost = counts[first].sum() / 4
    biased = np.where(first, 0.75 * counts, counts * (1 + lost / counts[~first].sum()))
    assert biased.sum() == pytest.approx(counts.sum())
    assert p_value(biased, expected, dropped, drawn_at_once) < LEAST_P
    return int(counts.sum())


@pytest.fixture(scope="module")
def small_graph():
    """Ten nodes, all of which have out-edges and in-edges, with weights from 1 to 4."""
    generator = np.random.default_rng(5)
    sources, targets = np.divmod(generator.permutation(100)[:40], 10)
    sources = np.concatenate([sources, np.arange(10)])
    targets = np.concatenate([targets, np.roll(np.arange(10), -1)])
    kept = sources != targets
    weights = generator.integers(1, 5, size=kept.sum())
    return Graph.from_edges(sources[kept], targets[kept], nodes=10, weights=weights)


def unweighted(graph):
    return Graph(graph.indptr, graph.indices, graph.nodes, graph.directed)


def masses(rows, previous, node, p, q):
    """Return node2vec's weight of every target of a node, exactly."""
    targets, weights = rows[node]
    weights = np.ones(len(targets)) if weights is None else np.array(weights)
    if previous is None:
        return weights
    near = rows[previous][0]
    bias = [1 / p if t == previous else 1.0 if t in near else 1 / q for t in targets]
    return weights * np.array(bias)


WALKS = {
    "forward": {"kind": "forward"},
    "alternating": {"kind": "alternating"},
    "p alone": {"p": 0.25},
    "q alone": {"q": 4.0},
    "p and q": {"p": 4.0, "q": 0.5},
    "mostly refused": {"p": 1000.0, "q": 0.01},
}


@pytest.mark.parametrize("weighted", [False, True], ids=["equal", "weighted"])
@pytest.mark.parametrize("name", WALKS)
def test_steps_follow_their_probabilities(small_graph, record, name, weighted):
    """Every step of walks of ten nodes, in every context that occurs often, at once."""
    graph = small_graph if weighted else unweighted(small_graph)
    settings = WalkSettings(walk_length=10, walks_per_node=2000, **WALKS[name])
    walks = WalkPairs(graph, settings, seed=2).walks(0, 4000)
    maps = [rows_of(graph), rows_of(graph.transposed)]
    seen = defaultdict(Counter)
    for walk in walks.tolist():
        for step, (node, following) in enumerate(pairwise(walk)):
            back = step % 2 if name == "alternating" else 0
            previous = None if settings.first_order or step == 0 else walk[step - 1]
            seen[back, previous, node][following] += 1
    counts, expected, contexts = [], [], 0
    for (back, previous, node), following in seen.items():
        shares = masses(maps[back], previous, node, settings.p, settings.q)
        shares = shares / shares.sum() * following.total()
        assert set(following) <= set(maps[back][node][0]), "a step that is no edge"
        if len(shares) > 1 and shares.min() > 5:
            counts += [following[target] for target in maps[back][node][0]]
            expected += shares.tolist()
            contexts += 1
    assert contexts >= 9, "one node has a single target"
    draws = assert_follows(counts, expected, dropped=contexts)
    record(
        "Checks",
        check=f"steps, {name}, {'weighted' if weighted else 'equal'}",
        cases=draws,
        outcome=f"p > {LEAST_P}",
    )


@pytest.mark.parametrize("kind", ["directed", "weighted", "undirected"])
def test_starts_follow_degrees(small_graph, record, kind):
    graph = small_graph if kind == "weighted" else unweighted(small_graph)
    if kind == "undirected":
        graph = Graph.from_edges(*graph.edges(), nodes=10, directed=False)
    stream = WalkPairs(graph, WalkSettings(walk_length=2, walks_per_node=2000), seed=4)
    starts = stream.walks(0, 20_000)[:, 0]
    strengths = np.bincount(graph.row_of_entry, weights=graph.weights, minlength=10)
    counts = np.bincount(starts, minlength=10)
    draws = assert_follows(counts, strengths / strengths.sum() * starts.size)
    record("Checks", check=f"starts, {kind}", cases=draws, outcome=f"p > {LEAST_P}")


def non_edges(graph):
    """Return an (n, n) mask of pairs of two nodes that are no edge."""
    free = ~np.eye(graph.num_nodes, dtype=bool)
    free[graph.row_of_entry, graph.indices] = False
    return free


# Of ten nodes: all of them, a shuffled part, and few, drawn one by one.
@pytest.mark.parametrize(("num_sources", "num_targets"), [(3, 10), (3, 4), (1, 1)])
def test_block_negatives_are_uniform(small_graph, record, num_sources, num_targets):
    """One cell of each block, since those of one block share their rows."""
    graph = unweighted(small_graph)
    settings = NegativeSettings(
        block_sources=num_sources, block_targets=num_targets, reversed_weight=0
    )
    walks = WalkSettings(walks_per_node=1000, shuffle_pairs=10_000)
    stream = BatchStream(graph, walks, settings, batch_pairs=10, seed=6)
    generator, counts = np.random.default_rng(0), np.zeros((10, 10))
    for batch in islice(stream.start_at(Place()), 4000):
        row = generator.integers(batch.block.sources.size)
        column = generator.integers(batch.block.targets.size)
        skipped = (batch.block.skipped_rows == row) & (batch.block.skipped_columns == column)
        if not skipped.any():
            ends = batch.nodes[[batch.block.sources[row], batch.block.targets[column]]]
            counts[tuple(ends)] += 1
    free = non_edges(graph)
    assert not counts[~free].any()
    expected = np.full(free.sum(), counts.sum() / free.sum())
    draws = assert_follows(counts[free], expected)
    record(
        "Checks",
        check=f"negatives, block of {num_sources} x {num_targets}",
        cases=draws,
        outcome=f"uniform, p > {LEAST_P}",
    )


# Of ten nodes, sets drawn one by one, by a look at all, and with repeats.
@pytest.mark.parametrize(("set_size", "replacement"), [(1, False), (4, False), (4, True)])
def test_fixed_negatives_are_uniform(small_graph, record, set_size, replacement):
    """The first negative of each source in a batch, of many seeds: sets are fixed within one."""
    graph = unweighted(small_graph)
    settings = NegativeSettings(
        kind="fixed", per_pair=1, set_size=set_size, replacement=replacement
    )
    walks, counts = WalkSettings(shuffle_pairs=1), np.zeros((10, 10))
    for seed in range(1000):
        stream = BatchStream(graph, walks, settings, batch_pairs=200, seed=seed)
        batch = next(stream.start_at(Place()))
        sources, first = np.unique(batch.sources, return_index=True)
        drawn = batch.negatives[first, 0]
        counts[batch.nodes[sources], batch.nodes[drawn]] += drawn >= 0
    free = non_edges(graph)
    assert not counts[~free].any()
    expected = free * (counts.sum(axis=1) / free.sum(axis=1))[:, None]
    draws = assert_follows(counts[free], expected[free], dropped=10)
    record(
        "Checks",
        check=f"negatives, sets of {set_size}{', repeats' if replacement else ''}",
        cases=draws,
        outcome=f"uniform, p > {LEAST_P}",
    )


@pytest.mark.parametrize("directed", [True, False], ids=["directed", "undirected"])
@pytest.mark.parametrize("count", [30, 300], ids=["rejection", "enumeration"])
def test_negatives_of_splits_are_uniform(record, directed, count):
    generator = np.random.default_rng(7)
    graph = Graph.from_edges(*generator.integers(40, size=(2, 60)), nodes=40, directed=directed)
    counts = np.zeros((40, 40))
    repeats = 60_000 // count
    for seed in range(repeats):
        drawn = draw_non_edges(graph, count, np.random.default_rng([seed, 1]))
        counts[drawn[:, 0], drawn[:, 1]] += 1
    free = non_edges(graph) if directed else np.triu(non_edges(graph))
    assert not counts[~free].any()
    part = count / free.sum()
    expected = np.full(free.sum(), repeats * part)
    draws = assert_follows(counts[free], expected, drawn_at_once=part)
    record(
        "Checks",
        check=f"negatives of splits, {'' if directed else 'un'}directed, {count} at once",
        cases=draws,
        outcome=f"uniform, p > {LEAST_P}",
    )


def test_edges_outside_the_forest_are_held_out_alike(record):
    """A triangle, a hexagon, a bridge: two edges may leave, one of each cycle, and one does.

    Each edge of the triangle leaves in a sixth of all splits, of the hexagon in a twelfth.
    """
    triangle, hexagon = [(0, 1), (1, 2), (2, 0)], [(3 + i, 3 + (i + 1) % 6) for i in range(6)]
    edges = [*triangle, *hexagon, (0, 3)]
    graph = Graph.from_edges(*zip(*edges, strict=True), directed=False)
    seen = Counter()
    for seed in range(3000):
        _, test, _ = cut_edges(graph, test_fraction=0.1, validation_fraction=0.0, seed=seed)
        seen[tuple(sorted(test[0].tolist()))] += 1
    assert seen[0, 3] == 0, "without the bridge, train would fall apart"
    counts = [seen[tuple(sorted(edge))] for edge in triangle + hexagon]
    draws = assert_follows(counts, np.repeat([500, 250], [3, 6]))
    record("Checks", check="edges held out, two cycles", cases=draws, outcome=f"p > {LEAST_P}")


@pytest.mark.parametrize("directed", [True, False], ids=["directed", "undirected"])
def test_edges_of_a_complete_graph_are_held_out_alike(record, directed):
    """One edge of each split, since those of one split exclude each other."""
    sources, targets = np.nonzero(
        ~np.eye(7, dtype=bool) if directed else np.triu(np.ones((7, 7)), 1)
    )
    graph = Graph.from_edges(sources, targets, directed=directed)
    generator, counts = np.random.default_rng(0), np.zeros((7, 7))
    for seed in range(2500):
        _, test, validation = cut_edges(graph, 0.4, 0.2, seed=seed)
        held_out = np.concatenate([test, validation])
        counts[tuple(generator.choice(held_out))] += 1
    drawn = counts[sources, targets]
    draws = assert_follows(drawn, np.full(drawn.size, 2500 / drawn.size))
    kind = "directed" if directed else "undirected"
    record("Checks", check=f"edges held out, {kind}", cases=draws, outcome=f"p > {LEAST_P}")


# Numba checks no bounds inside `prange`, whatever it is told: so loops are compiled as plain ones.
WITH_BOUNDS = """
import sys
import numba
import numpy as np

compiled = numba.njit

def njit(*arguments, **options):
    options.pop("parallel", None)
    return compiled(*arguments, boundscheck=True, **options)

numba.njit = njit

@njit(parallel=True)
def read_beyond(values, count):
    total = np.zeros(count)
    for i in numba.prange(count):
        total[i] = values[np.uint64(i)]
    return total

try:
    read_beyond(np.ones(3), 9)
    sys.exit("an index out of bounds went unseen")
except IndexError:
    pass
"""

IMPORTANT = """
from arcvec.embeddings import EdgeEmbeddings
from arcvec.graph.graph import Graph
from arcvec.kernels.rows import pair_product_gradients, pair_products
from arcvec.recommendation.exact import top_k
from arcvec.sampling.batches import BatchStream, Place
from arcvec.sampling.pairs import WalkPairs
from arcvec.sampling.settings import NegativeSettings, WalkSettings

calls = 0
generator = np.random.default_rng(0)
for num_nodes in (3, 40, 80):
    graph = Graph.from_edges(*generator.integers(num_nodes, size=(2, 300)), nodes=num_nodes + 9)
    vectors = generator.normal(size=(graph.num_nodes, 8)).astype(np.float32)
    for walk in ({"kind": "forward"}, {"p": 0.5, "q": 2.0}, {"p": 1e4, "q": 1e-3}):
        WalkPairs(graph, WalkSettings(shuffle_pairs=10_000, **walk), seed=0).pairs(0, 100)
        calls += 2
    for kind in ("block", "fixed"):
        negatives = NegativeSettings(kind=kind, block_targets=20)
        walks = WalkSettings(shuffle_pairs=10_000)
        stream = BatchStream(graph, walks, negatives, batch_pairs=500, seed=0)
        batch = next(stream.start_at(Place()))
        ends = batch.nodes[batch.sources], batch.nodes[batch.targets]
        products = pair_products(vectors, vectors, *ends)
        pair_product_gradients(products, vectors, vectors, *ends)
        calls += 6
    top_k(EdgeEmbeddings(vectors, vectors, graph.nodes), np.arange(len(vectors)), 5, exclude=graph)
    calls += 1
print(calls)
"""

ALL_KERNELS = """
import pytest

sys.exit(pytest.main(["-q", "-p", "no:cacheprovider", "tests/kernels"]))
"""


def run_in_bounds(script, cache):
    """Return what a script prints with every index checked, its code compiled for this alone."""
    environment = {"NUMBA_CACHE_DIR": str(cache), "NUMBA_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
    process = run_with(WITH_BOUNDS + script, environment)
    assert process.returncode == 0, process.stdout + process.stderr
    return process.stdout


def test_important_kernels_stay_in_bounds(record):
    """The compiled code is kept as long as no kernel changes: compiling is nearly all the time."""
    kernels = sorted((ROOT / "src/arcvec/kernels").glob("*.py"))
    sources = b"".join(path.read_bytes() for path in kernels)
    cache = ROOT / "build" / "in-bounds" / hashlib.sha256(sources).hexdigest()[:16]
    calls = int(run_in_bounds(IMPORTANT, cache))
    record("Checks", check="indices of important kernels", cases=calls, outcome="in bounds")


@pytest.mark.slow
def test_all_kernels_stay_in_bounds(tmp_path, record):
    passed = int(re.search(r"(\d+) passed", run_in_bounds(ALL_KERNELS, tmp_path))[1])
    assert passed > 140
    record("Checks", check="indices of all kernels, tests", cases=passed, outcome="in bounds")
