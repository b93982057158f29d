import numpy as np
import pytest
import torch

from arcvec.graph.graph import Graph
from arcvec.model import edge_model
from arcvec.model.edge_model import EdgeModel, NodeTable
from arcvec.model.settings import ModelSettings


def make(num_nodes=50, dim=8, projections=1, seed=0, **settings):
    generator = torch.Generator().manual_seed(seed)
    chosen = ModelSettings(node_dim=12, manifold_dim=10, **settings)
    model = EdgeModel(chosen, dim, generator, projections)
    return model, NodeTable.random(num_nodes, EdgeModel.table_dim(chosen, dim), generator)


def test_rows_start_with_unit_norm():
    _, table = make()
    torch.testing.assert_close(table.values.norm(dim=1), torch.ones(50))


@pytest.mark.parametrize("hidden", [(), (9,), (9, 7)])
def test_asymmetric_shapes(hidden):
    model, table = make(hidden=hidden)
    sides = model(table.values)
    assert sides.source.shape == sides.target.shape == (50, 4)
    assert len(model.norms) == len(hidden) + bool(hidden)


def test_asymmetric_shallow_model_is_two_projections():
    """Y_u^T L R Y_v."""
    model, table = make(hidden=())
    left, right = model.source_projection.T, model.target_projection
    expected = table.values @ left @ right @ table.values.T
    torch.testing.assert_close(score_table(model.embed(table)), expected.detach())


@pytest.mark.parametrize("hidden", [(), (9,)])
def test_symmetric_model(hidden):
    """w^T (f(Y_u) o f(Y_v)), with f of size dim, or Y where there is no f."""
    model, table = make(kind="symmetric", hidden=hidden)
    assert table.values.shape[1] == (12 if hidden else 8)
    with torch.no_grad():
        model.scale.copy_(torch.linspace(-1, 1, 8))
        f = model.manifold(table.values)
    assert f.shape == (50, 8)
    scores = score_table(model.embed(table))
    torch.testing.assert_close(scores, f @ torch.diag(model.scale.detach()) @ f.T)
    torch.testing.assert_close(scores, scores.T)


def test_several_projections():
    """Eq. 5: a mixture of positive parts, each projection with its own L and R."""
    model, table = make(projections=2, hidden=(9,))
    with torch.no_grad():
        model.mixture.copy_(torch.tensor([2.0, -1.0]))
    sides = model.embed(table)
    f = model.manifold(table.values).detach()
    expected = torch.zeros(50, 50)
    for i, weight in enumerate((2.0, -1.0)):
        cut = slice(2 * i, 2 * i + 2)
        left, right = model.source_projection[cut].T, model.target_projection[cut]
        expected += weight * torch.relu(f @ left @ right @ f.T)
    torch.testing.assert_close(score_table(sides), expected.detach())
    assert sides.by_projection(sides.source).shape == (2, 50, 2)


def test_unit_norm_keeps_both_sides_on_the_sphere():
    model, table = make(unit_norm=True, hidden=(9,))
    for sides in (model(table.values), model.embed(table)):
        torch.testing.assert_close(sides.source.norm(dim=1), torch.ones(50))
        torch.testing.assert_close(sides.target.norm(dim=1), torch.ones(50))


def test_output_relu_ends_f():
    for output_relu in (False, True):
        model, table = make(output_relu=output_relu)
        assert (model.manifold(table.values) >= 0).all() == output_relu


def score_table(sides):
    rows, columns = torch.cartesian_prod(torch.arange(50), torch.arange(50)).T
    return sides.pair_scores(rows, columns).view(50, 50)


@pytest.mark.parametrize("chunk", [7, 1000])
def test_embedding_uses_the_statistics_of_all_nodes(monkeypatch, chunk):
    """A batch of all nodes normalises over just these, so that both must agree."""
    monkeypatch.setattr(edge_model, "_CHUNK", chunk)
    model, table = make(hidden=(9, 7))
    batch, whole = model(table.values), model.embed(table)
    torch.testing.assert_close(whole.source, batch.source.detach())
    torch.testing.assert_close(whole.target, batch.target.detach())
    norms = model.manifold(table.values).norm(dim=1)
    torch.testing.assert_close(whole.spread, norms.std(correction=0).detach())


def test_statistics_count_a_node_as_often_as_its_weight():
    model, table = make(hidden=(9,))
    weights = torch.arange(50) % 3 + 1
    batch = model(table.values.repeat_interleave(weights, dim=0))
    firsts = weights.cumsum(0) - weights
    weighted = model.embed(NodeTable(table.values, weights.float()))
    torch.testing.assert_close(weighted.source, batch.source[firsts].detach())


@pytest.mark.parametrize("dim", [2, 14])
@pytest.mark.parametrize("kind", ["asymmetric", "symmetric"])
def test_pair_scores_have_the_gradient_of_inner_products(dim, kind):
    model, table = make(dim=dim, kind=kind, hidden=(9,))
    places = torch.randint(50, (2, 400), generator=torch.Generator().manual_seed(1))
    gradients = []
    for fast in (True, False):
        rows = table.read(torch.arange(50))
        sides = model(rows)
        products = sides.scaled_source[places[0]] * sides.target[places[1]]
        scores = sides.pair_scores(*places) if fast else products.sum(dim=1)
        scores.square().sum().backward()
        gradients.append(rows.grad)
    torch.testing.assert_close(*gradients, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("kind", ["asymmetric", "symmetric", "tied"])
@pytest.mark.parametrize("hidden", [(), (9,)])
def test_scores_start_moderate(kind, hidden):
    spreads = []
    for seed in range(8):
        model, table = make(dim=64, seed=seed, kind=kind, hidden=hidden)
        scores = score_table(model.embed(table))
        spreads.append(scores[~torch.eye(50, dtype=torch.bool)].std().item())
    assert 0.3 < np.mean(spreads) < 3


@pytest.mark.parametrize("hidden", [(), (9,)])
def test_tied_model_is_one_projection_with_weights(hidden):
    """f(Y_u)^T L diag(w) L^T f(Y_v), with dim columns in L, and w of both signs."""
    model, table = make(dim=16, kind="tied", hidden=hidden)
    sides = model.embed(table)
    assert sides.target.shape == (50, 16)
    weights = model.scale.detach()
    assert (weights < 0).sum() == 2
    scores = score_table(sides)
    torch.testing.assert_close(scores, (sides.target * weights) @ sides.target.T)
    torch.testing.assert_close(scores, scores.T)


def test_auto_ties_the_sides_of_undirected_graphs():
    directed = Graph.from_edges([0, 1], [1, 2])
    undirected = Graph.from_edges([0, 1], [1, 2], directed=False)
    assert ModelSettings().on(directed).kind == "asymmetric"
    assert ModelSettings().on(undirected).kind == "tied"
    assert ModelSettings(unit_norm=True).on(undirected).kind == "asymmetric"
    assert ModelSettings(kind="symmetric").on(directed).kind == "symmetric"


def test_anchor_only_stops_the_gradient_of_targets():
    model, table = make(hidden=(9,))
    rows = table.read(torch.arange(50))
    model(rows, anchor_only=True).target.square().sum().backward()
    assert rows.grad is None or not rows.grad.any()
    assert model.layers[0].weight.grad.abs().sum() > 0
    (model(rows, anchor_only=True).source.square() * torch.rand(50, 1)).sum().backward()
    assert rows.grad.abs().sum() > 0


def test_anchor_only_gives_the_network_the_gradients_of_both_sides():
    model, table = make(hidden=(9,))
    rows = table.read(torch.arange(50))
    parameters = [rows, *model.parameters()]

    def gradients(sides):
        weights = torch.linspace(0, 1, 50)[:, None]
        loss = (sides.source.square() * weights).sum() + (sides.target * weights).exp().sum()
        return torch.autograd.grad(loss, parameters)

    together = gradients(model(rows, anchor_only=True))
    apart = gradients(model.sides(model.manifold(rows), model.manifold(rows.detach())))
    torch.testing.assert_close(together, apart)


def test_unit_norm_needs_the_asymmetric_model():
    for kind in ("symmetric", "tied"):
        with pytest.raises(ValueError, match="unit_norm belongs to the asymmetric model"):
            ModelSettings(kind=kind, unit_norm=True)
