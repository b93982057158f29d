"""What workers do in the tests; each function runs on all of them."""

import json
from pathlib import Path

import numpy as np
import torch
import torch.distributed as dist

from arcvec.embeddings import EdgeEmbeddings
from arcvec.evaluation.curves import Areas
from arcvec.evaluation.link_prediction import link_prediction
from arcvec.evaluation.ranks import mean_and_error
from arcvec.graph.graph import Graph
from arcvec.graph.split import split_edges
from arcvec.parallel.alone import Alone
from arcvec.parallel.partition import Partition
from arcvec.parallel.workers import Workers
from arcvec.training.checkpoint import Checkpoint, Snapshot
from arcvec.training.edge_projection import EdgeProjection
from arcvec.training.fit import Fit
from arcvec.training.hooks import Hooks
from arcvec.training.spectral import spectral_rows
from benchmarks.rmat import rmat_edges

# One batch a round, so that it has the same pairs on any number of workers.
BLOCK = {
    "walks": {"window": 3, "shuffle_pairs": 4000, "walk_length": 10},
    "negatives": {"block_sources": 12, "block_targets": 100},
    "model": {"start": "random", "node_dim": 16, "hidden": ()},
    "training": {"steps": 6, "batch_pairs": 100000, "evaluate_every": 3},
}
DEEP = {**BLOCK["model"], "hidden": (16,), "manifold_dim": 16}
CONFIGS = {
    "block": BLOCK,
    "everyone": {**BLOCK, "negatives": {"block_sources": 12}},
    "tied": {**BLOCK, "directed": False},
    # All of a set of negatives is drawn for each pair: which ones does not depend on the order.
    "paper": {
        "walks": {**BLOCK["walks"], "kind": "forward", "starts": "nodes"},
        "negatives": {"kind": "fixed", "per_pair": 4, "set_size": 4},
        "model": {**BLOCK["model"], "kind": "asymmetric"},
        "training": {
            **BLOCK["training"],
            "optimiser": "percent-delta",
            "anchor_only": True,
            "l2": 1e-4,
            "learning_rates": (0.05,),
        },
    },
    "deep": {**BLOCK, "model": DEEP},
    "deep tied": {**BLOCK, "model": DEEP, "directed": False},
    "deep pairs": {**BLOCK, "model": {**DEEP, "statistics": "pairs"}},
}


def make_graph(directed=True, scale=9):
    sources, targets = rmat_edges(scale, 6, seed=1)
    proper = sources != targets
    edges = sources[proper], targets[proper]
    return Graph.from_edges(*edges, nodes=1 << scale, directed=directed)


def make_fit(name, workers=None, folder=None):
    config = dict(CONFIGS[name])
    graph = make_graph(config.pop("directed", True))
    method = EdgeProjection(goal="pairs", dim=8, seed=3, **config)
    parts = (graph, method.walks, method.negatives, method.model, method.training)
    losses = []
    hooks = Hooks(report=lambda progress: losses.append(progress.loss), checkpoint=folder)
    about = {"dim": 8, "projections": 1, "seeds": [3], "identity": {"name": name}}
    return Fit(*parts, **about, hooks=hooks, workers=workers or Alone()), losses


def trained(fit, losses):
    """Return the losses, the AUCs, the final rows and vectors of a short training."""
    trainer = fit._trainer("member-0", 0)
    fit._train(trainer, "member-0", 0)
    sides = trainer.model.embed(trainer.table, fit.workers)
    return {
        "losses": np.array(losses),
        "aucs": np.array(trainer.status.history.validation_auc, dtype=float),
        "rows": trainer.table.values.numpy(),
        "source": sides.source.numpy(),
        "target": sides.target.numpy(),
        "spread": sides.spread.numpy(),
    }


def same_training(workers, folder, names):
    results = {}
    for name in names:
        fit, losses = make_fit(name, workers, folder / name)
        for key, value in trained(fit, losses).items():
            results[f"{name}.{key}"] = value
        partition = Partition(fit.graph.num_nodes, workers.count)
        results[f"{name}.nodes"] = partition.nodes_of(workers.rank)
    return results


def start(workers, folder, directed):
    """Return the rows that a spectral start gives the own nodes."""
    graph = make_graph(directed)
    partition = Partition(graph.num_nodes, workers.count)
    return {
        f"start.{directed}": spectral_rows(graph, 20, 3, workers),
        "start.nodes": partition.nodes_of(workers.rank),
    }


def starts(workers, folder):
    return start(workers, folder, True) | start(workers, folder, False)


def save_checkpoints(workers, folder, path):
    """Write three checkpoints, the numbers of which say their node and the checkpoint."""
    partition = Partition(1000, workers.count)
    own = torch.from_numpy(partition.nodes_of(workers.rank)).float()
    checkpoint = Checkpoint(Path(path), partition, workers, {"name": "test"})
    for number in range(3):
        rows = own[:, None] + 1000 * number + torch.tensor([0.0, 0.25])
        shared = {"steps": torch.tensor(number), "w": torch.ones(3, 2)}
        checkpoint.save_running(Snapshot({"table": rows}, shared, {"number": number}))
    return {}


def load_checkpoint(workers, folder, path):
    partition = Partition(1000, workers.count)
    checkpoint = Checkpoint(Path(path), partition, workers, {"name": "test"}, resume=True)
    kept = checkpoint.load_running()
    assert torch.equal(kept.shared["w"], torch.ones(3, 2))
    assert int(kept.shared["steps"]) == kept.state["number"]
    return {
        "loaded.rows": kept.rows["table"].numpy(),
        "loaded.nodes": partition.nodes_of(workers.rank),
        "loaded.number": np.array(kept.state["number"]),
    }


def exchanged(workers, folder, sizes):
    """Return what all workers send this one: arrays of any length, and a decision of the first."""
    results = {}
    for size in sizes:
        parts = [np.full((size * peer, 2), workers.rank, np.int32) for peer in range(workers.count)]
        results[f"exchange.{size}"] = np.concatenate(workers.exchange(parts))
    told = workers.agree(lambda: {"rank": workers.rank, "text": "a\u00fc"})
    return results | {"agreed": np.array(json.dumps(told)), "sum": workers.sum(np.arange(3.0))}


def make_scores(case):
    """Return the scores of positives and negatives, of all workers together."""
    generator = np.random.default_rng(5)
    if case == "many ties":
        drawn = generator.integers(6, size=700)
    elif case == "all equal":
        drawn = np.ones(700)
    else:
        drawn = generator.normal(size=700)
    return np.split(drawn.astype(np.float32), [200])


def measured(workers, folder, cases):
    """Return areas and means of scores of which the last worker has none."""
    results = {}
    for case in cases:
        cuts = np.linspace(0, 1, workers.count)[1:]
        parts = [np.split(side, (cuts * side.size).astype(int)) for side in make_scores(case)]
        positive, negative = (side[workers.rank] for side in parts)
        results[f"{case}.areas"] = np.array(Areas.of(positive, negative, workers))
        results[f"{case}.no negatives"] = np.array(Areas.of(positive, negative[:0], workers))
        results[f"{case}.mean"] = np.array(mean_and_error(negative > 0.5, workers)[0])
        results[f"{case}.error"] = np.array(mean_and_error(negative, workers)[1])
    return results


def make_evaluation(case):
    """Return a scorer and a split; scores have ties, and test edges may have one source."""
    graph = make_graph(case != "undirected")
    if case == "one source":
        graph = Graph.from_edges([0, 0, 0, 1, 2], [1, 2, 3, 2, 1], nodes=6)
    split = split_edges(graph, seed=1)
    sides = np.random.default_rng(2).integers(-2, 3, size=(2, graph.num_nodes, 4))
    return EdgeEmbeddings(*sides.astype(np.float32), graph.nodes, graph.directed), split


def evaluated(workers, folder, cases, **options):
    results = {}
    for case in cases:
        scorer, split = make_evaluation(case)
        report = link_prediction(scorer, split, workers=workers, **options)
        results[f"{case}.report"] = np.array(json.dumps(report.as_dict()))
    return results


def walked_in_step(workers, folder):
    """Return what workers of 0, 2, 4, ... items get of them."""
    return {"items": np.array(list(workers.in_step(range(2 * workers.rank))), dtype=int)}


def run(rank, count, folder, tasks):
    folder = Path(folder)
    torch.set_num_threads(1)
    store = dist.FileStore(str(folder / "store"), int(count))
    dist.init_process_group("gloo", store=store, rank=int(rank), world_size=int(count))
    workers, results = Workers(store), {}
    for task, arguments in json.loads(tasks).items():
        results |= globals()[task](workers, folder, **arguments)
    np.savez(folder / f"{rank}.npz", **results)
    workers.leave()
