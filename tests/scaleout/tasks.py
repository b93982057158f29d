"""What workers do in the tests; each function runs on all of them."""

import json
from pathlib import Path

import numpy as np
import torch
import torch.distributed as dist

from arcvec.embeddings import EdgeEmbeddings
from arcvec.evaluation.link_prediction import link_prediction
from arcvec.graph.graph import Graph
from arcvec.graph.rmat import rmat_edges
from arcvec.graph.split import split_edges
from arcvec.methods.edge_projection import EdgeProjection
from arcvec.methods.sharded_plan import ShardedPlan
from arcvec.methods.sharded_start import own_spectral_rows
from arcvec.methods.training_plan import TrainingPlan
from arcvec.scaleout.checkpoint import load_sharded, prepare_folder, save_sharded
from arcvec.scaleout.measuring import MeasuringWorkers
from arcvec.scaleout.partition import Partition
from arcvec.scaleout.workers import Workers
from arcvec.training.hooks import Hooks
from arcvec.training.loop import train

# One batch a round, so that it has the same pairs on any number of workers.
BLOCK = {
    "walks": {"window": 3, "shuffle_pairs": 4000, "walk_length": 10},
    "negatives": {"block_sources": 12, "block_targets": 100},
    "model": {"start": "random", "node_dim": 16, "hidden": (16,), "manifold_dim": 16},
    "training": {"steps": 6, "batch_pairs": 100000, "evaluate_every": 3},
}
CONFIGS = {
    "block": BLOCK,
    "everyone": {**BLOCK, "negatives": {"block_sources": 12}},
    "tied": {**BLOCK, "directed": False},
    "shallow": {**BLOCK, "model": {**BLOCK["model"], "hidden": ()}},
    # All of a set of negatives is drawn for each pair: which ones does not hang on the order.
    "paper": {
        "walks": {**BLOCK["walks"], "kind": "forward", "starts": "nodes"},
        "negatives": {"kind": "fixed", "per_pair": 4, "set_size": 4},
        "model": {**BLOCK["model"], "statistics": "pairs", "kind": "asymmetric"},
        "training": {
            **BLOCK["training"],
            "optimiser": "percent-delta",
            "anchor_only": True,
            "l2": 1e-4,
            "learning_rates": (0.05,),
        },
    },
}


def make_graph(directed=True, scale=9):
    sources, targets = rmat_edges(scale, 6, seed=1)
    proper = sources != targets
    edges = sources[proper], targets[proper]
    return Graph.from_edges(*edges, nodes=1 << scale, directed=directed)


def make_plan(name, **changes):
    config = dict(CONFIGS[name])
    graph = make_graph(config.pop("directed", True))
    method = EdgeProjection(dim=8, seed=3, **config)
    parts = (graph, method.walks, method.negatives, method.model, method.training)
    kind = ShardedPlan if changes else TrainingPlan
    return kind(*parts, dim=8, projections=1, identity={"name": name}, **changes)


def trained(plan, seed=3):
    """Return the losses, the AUCs, the final rows and vectors of a short training."""
    seen, validation = plan.hold_out(seed)
    state = plan.state(seen, seed)
    losses = []
    hooks = Hooks(report=lambda progress: losses.append(progress.loss))
    objective = plan.objective(seen)
    train(state, plan.stream(seen, seed, 3), objective, validation=validation, hooks=hooks)
    sides = state.model.embed(state.table)
    return {
        "losses": np.array(losses),
        "aucs": np.array(state.history.validation_auc, dtype=float),
        "rows": state.table.values.numpy(),
        "source": sides.source.numpy(),
        "target": sides.target.numpy(),
        "spread": sides.spread.numpy(),
    }


def same_training(workers, folder, names):
    results = {}
    for name in names:
        part = folder / name
        part.mkdir(exist_ok=True)
        plan = make_plan(name, workers=workers, folder=part)
        for key, value in trained(plan).items():
            results[f"{name}.{key}"] = value
        results[f"{name}.nodes"] = plan.partition.nodes_of(workers.rank)
    return results


def start(workers, folder, directed):
    """Return the rows that a spectral start gives the own nodes."""
    graph = make_graph(directed)
    partition = Partition(graph.num_nodes, workers.count)
    return {
        f"start.{directed}": own_spectral_rows(partition, workers, graph, 20, 3),
        "start.nodes": partition.nodes_of(workers.rank),
    }


def starts(workers, folder):
    return start(workers, folder, True) | start(workers, folder, False)


def save_checkpoints(workers, folder, path):
    """Write three checkpoints, the numbers of which say their node and the checkpoint."""
    prepare_folder(Path(path)) if workers.is_first else None
    workers.wait_for_all()
    partition = Partition(1000, workers.count)
    own = torch.from_numpy(partition.nodes_of(workers.rank)).float()
    for number in range(3):
        rows = own[:, None] + 1000 * number + torch.tensor([0.0, 0.25])
        tensors = {"table": rows, "table.steps": torch.tensor(number), "model.w": torch.ones(3, 2)}
        save_sharded(Path(path), tensors, {"number": number}, partition, workers)
    return {}


def load_checkpoint(workers, folder, path):
    partition = Partition(1000, workers.count)
    tensors, state = load_sharded(Path(path), partition, workers)
    assert torch.equal(tensors["model.w"], torch.ones(3, 2))
    assert int(tensors["table.steps"]) == state["number"]
    return {
        "loaded.rows": tensors["table"].numpy(),
        "loaded.nodes": partition.nodes_of(workers.rank),
        "loaded.number": np.array(state["number"]),
    }


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
    together, results = MeasuringWorkers(workers, 10), {}
    for case in cases:
        cuts = np.linspace(0, 1, workers.count)[1:]
        parts = [np.split(side, (cuts * side.size).astype(int)) for side in make_scores(case)]
        positive, negative = (side[workers.rank] for side in parts)
        results[f"{case}.areas"] = np.array(together.areas(positive, negative))
        results[f"{case}.no negatives"] = np.array(together.areas(positive, negative[:0]))
        results[f"{case}.mean"] = np.array(together.mean(negative > 0.5))
        results[f"{case}.error"] = np.array(together.standard_error(negative))
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
        together = MeasuringWorkers(workers, split.train.num_nodes)
        report = link_prediction(scorer, split, together=together, **options)
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
