import pytest
import torch

from arcvec.model.edge_model import EdgeModel, NodeTable
from arcvec.model.pass_through import hand_through, widened
from arcvec.model.settings import ModelSettings

DIM = 6


@pytest.mark.parametrize("hidden", [(), (7,), (7, 5)], ids=["shallow", "deep", "deeper"])
@pytest.mark.parametrize("kind", ["asymmetric", "tied", "symmetric"])
def test_the_sides_are_the_vectors(kind, hidden):
    generator = torch.Generator().manual_seed(0)
    vectors = torch.randn(20, DIM, generator=generator) * 3 + 1
    vectors[:, 2] = 0.5  # has no size
    scale = None if kind == "asymmetric" else torch.tensor([1.0, -1, 1, 1, -1, 1])
    settings = ModelSettings(kind=kind, node_dim=4, hidden=hidden, manifold_dim=3)
    wide = widened(settings, DIM)
    model = EdgeModel(wide, DIM, generator)
    columns = EdgeModel.table_dim(wide, DIM)
    usual = torch.randn(20, 4, generator=generator)
    handed = hand_through(model, vectors, scale)
    sides = model.embed(NodeTable(torch.cat([usual, handed], dim=1)[:, -columns:]))
    if scale is None:
        given = torch.cat([sides.source, sides.target], dim=1)
    else:
        given = sides.target
        assert sides.scale is not None
        torch.testing.assert_close(sides.scale, scale)
    torch.testing.assert_close(given, vectors, atol=1e-4, rtol=1e-4)


def test_all_of_the_model_still_learns():
    generator = torch.Generator().manual_seed(0)
    model = EdgeModel(widened(ModelSettings(hidden=(7,)), DIM), DIM, generator)
    handed = hand_through(model, torch.randn(20, DIM, generator=generator), None)
    rows = torch.cat(
        [torch.randn(20, ModelSettings().node_dim, generator=generator), handed], dim=1
    )
    for _ in range(2):  # the second step reaches what the first projection left out
        model.zero_grad()
        sides = model(rows)
        (sides.source @ sides.target.T).tanh().sum().backward()
        with torch.no_grad():
            for parameter in model.parameters():
                parameter -= 0.01 * parameter.grad
    assert all(parameter.grad.abs().sum() > 0 for parameter in model.parameters())


def test_a_relu_at_the_end_is_refused():
    with pytest.raises(ValueError, match=r"expected model\.output_relu to be false"):
        widened(ModelSettings(output_relu=True), DIM)
