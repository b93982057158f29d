import numpy as np
import pytest

from arcvec.plot.curves import draw_curves

CURVES = {
    "wiki": {
        "jaccard": np.array([[np.nan, 0.6, 0.0]]),
        "ours": np.array([[8, 0.9, 0.01], [16, 0.92, 0.0]]),
        "unfinished": np.empty((0, 3)),
    },
    "ppi": {"ours": np.array([[8, 0.8, 0.0]])},
}


def test_figure_is_drawn_in_the_format_of_each_suffix(tmp_path):
    paths = [tmp_path / "curves.png", tmp_path / "curves.svg"]
    draw_curves(CURVES, paths, title="A & B", highlighted="ours")
    assert paths[0].read_bytes().startswith(b"\x89PNG")
    drawing = paths[1].read_text()
    for text in ("A &amp; B", "wiki", "ppi", "jaccard", "ours", "AUC"):
        assert f"<!-- {text} -->" in drawing
    assert "unfinished" not in drawing
    with pytest.raises(FileExistsError, match="exists already"):
        draw_curves(CURVES, paths)
    draw_curves(CURVES, paths, overwrite=True)


def test_more_methods_than_colours(tmp_path):
    methods = {f"method {i}": np.array([[8, 0.5 + i / 50, 0]]) for i in range(20)}
    level = {f"level {i}": np.array([[np.nan, 0.5 + i / 50, 0]]) for i in range(9)}
    draw_curves({f"set {i}": methods | level for i in range(7)}, [tmp_path / "curves.svg"])
    drawing = (tmp_path / "curves.svg").read_text()
    assert all(f"<!-- {name} -->" in drawing for name in (*methods, *level, "set 6"))


def test_nothing_to_draw(tmp_path):
    with pytest.raises(ValueError, match="expected results to draw"):
        draw_curves({"wiki": {"ours": np.empty((0, 3))}}, [tmp_path / "curves.png"])
