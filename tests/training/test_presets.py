import numpy as np
import pytest

from arcvec.evaluation.curves import roc_auc
from arcvec.graph.graph import Graph
from arcvec.graph.non_edges import draw_non_edges
from arcvec.training.edge_projection import EdgeProjection
from arcvec.training.presets import PRESETS, load_method
from arcvec.training.settings import TrainSettings


def test_the_default_preset_is_the_defaults():
    assert load_method() == EdgeProjection()


def test_the_text_of_the_paper():
    method = load_method("paper")
    walks, model, training = method.walks, method.model, method.training
    assert (walks.kind, walks.walks_per_node, walks.walk_length) == ("forward", 80, 100)
    assert (walks.window, walks.p, walks.q, walks.self_pairs) == (2, 1, 1, False)
    assert (model.node_dim, model.hidden, model.manifold_dim) == (100, (100,), 100)
    assert not model.output_relu
    assert (method.negatives.kind, method.negatives.per_pair) == ("fixed", 5)
    assert not method.negatives.replacement
    assert (training.optimiser, training.l2, training.output_l2) == ("percent-delta", 1e-4, 0)
    assert (training.anchor_only, training.selection) == (True, "train")


def test_the_released_code():
    """It differs from the text in these settings, and in no other."""
    text, code = (load_method(name).model_dump() for name in ("paper", "released-code"))
    changed = {
        f"{part}.{name}": value
        for part in ("walks", "negatives", "model", "training")
        for name, value in code[part].items()
        if value != text[part][name]
    }
    assert changed == {
        **{"walks.walks_per_node": 5, "walks.walk_length": 40, "walks.window": 3},
        **{"walks.self_pairs": True, "negatives.set_size": 400, "negatives.replacement": True},
        **{"model.output_relu": True, "model.statistics": "pairs", "training.l2": 1e-6},
    }


@pytest.mark.parametrize("preset", PRESETS)
@pytest.mark.parametrize("hidden", [(), (16,)], ids=["shallow", "deep"])
def test_presets_find_communities(preset, hidden):
    generator = np.random.default_rng(0)
    pairs = generator.integers(120, size=(4000, 2))
    pairs = pairs[pairs[:, 0] % 6 == pairs[:, 1] % 6]
    graph = Graph.from_edges(*pairs.T, nodes=120, directed=False)
    steps = TrainSettings(steps=160, batch_pairs=2000, evaluate_every=40)
    edges = np.stack(graph.edges(), axis=1)
    non_edges = draw_non_edges(graph, len(edges), generator)
    aucs = []
    for seed in range(3):
        overrides = EdgeProjection(dim=8, seed=seed, model={"hidden": hidden}, training=steps)
        fitted = load_method(preset, overrides=overrides).fit(graph)
        aucs.append(roc_auc(fitted.score(*edges.T), fitted.score(*non_edges.T)))
    assert np.mean(aucs) > 0.9
