import pytest
import torch

from arcvec.model import edge_model
from arcvec.model.edge_model import EdgeModel, NodeTable
from arcvec.model.settings import ModelSettings


def make(num_nodes=50, dim=8, **settings):
    generator = torch.Generator().manual_seed(0)
    chosen = ModelSettings(node_dim=12, manifold_dim=10, **settings)
    model = EdgeModel(chosen, dim, generator)
    return model, NodeTable.random(num_nodes, 12, generator)


def test_rows_start_with_unit_norm():
    _, table = make()
    torch.testing.assert_close(table.values.norm(dim=1), torch.ones(50))


@pytest.mark.parametrize("hidden", [(), (9,), (9, 7)])
def test_shapes(hidden):
    model, table = make(hidden=hidden)
    source, target = model(table.values)
    assert source.shape == target.shape == (50, 4)
    assert len(model.norms) == len(hidden) + bool(hidden)


def test_shallow_model_is_two_projections():
    model, table = make(hidden=())
    source, target = model.embed(table)
    torch.testing.assert_close(source, table.values @ model.source_projection)
    torch.testing.assert_close(target, table.values @ model.target_projection.T)


@pytest.mark.parametrize("chunk", [7, 1000])
def test_embedding_uses_the_statistics_of_all_nodes(monkeypatch, chunk):
    """A batch of all nodes normalises over just these, so that both must agree."""
    monkeypatch.setattr(edge_model, "_CHUNK", chunk)
    model, table = make(hidden=(9, 7))
    batch_source, batch_target = model(table.values)
    source, target = model.embed(table)
    torch.testing.assert_close(source, batch_source)
    torch.testing.assert_close(target, batch_target)


def test_scores_start_moderate():
    model, table = make(num_nodes=500, dim=64, hidden=(9,))
    source, target = model.embed(table)
    assert 0.3 < (source @ target.T).std().item() < 3


def test_anchor_only_stops_the_gradient_of_targets():
    model, table = make(hidden=(9,))
    rows = table.read(torch.arange(50))
    source, target = model(rows, anchor_only=True)
    target.square().sum().backward()
    assert rows.grad is None or not rows.grad.any()
    assert model.layers[0].weight.grad.abs().sum() > 0
    source, target = model(rows, anchor_only=True)
    (source.square() * torch.rand(50, 1)).sum().backward()
    assert rows.grad.abs().sum() > 0
