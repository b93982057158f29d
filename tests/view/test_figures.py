"""Curves of AUC and of a training."""

import numpy as np
import pytest

from arcvec.embeddings import EdgeEmbeddings
from arcvec.graph.names import NodeNames
from arcvec.view.figures import draw_curves, training_figure

CURVES = {
    "wiki": {
        "jaccard": np.array([[np.nan, 0.6, 0.0]]),
        "ours": np.array([[8, 0.9, 0.01], [16, 0.92, 0.0]]),
        "unfinished": np.empty((0, 3)),
    },
    "ppi": {"ours": np.array([[8, 0.8, 0.0]])},
}
HISTORY = {"step": [10, 20, 30], "loss": [3.0, 2.0, 1.0], "validation_auc": [0.7, 0.9, None]}


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


def result(**settings):
    vectors = np.eye(2, dtype=np.float32)
    return EdgeEmbeddings(vectors, vectors, NodeNames.numbered(2), settings=settings)


def test_loss_and_auc_with_the_best_step():
    above, below = training_figure(result(history=HISTORY)).axes
    assert above.get_ylabel() == "loss"
    assert below.get_ylabel() == "validation AUC"
    assert above.lines[0].get_xydata().tolist() == [[10, 3], [20, 2], [30, 1]]
    assert below.lines[0].get_xydata().tolist() == [[10, 0.7], [20, 0.9]]
    (text,) = below.get_legend().get_texts()
    assert text.get_text() == "best: 0.9000 at step 20"
    for axes in (above, below):
        assert [20, 20] in [list(line.get_xdata()) for line in axes.lines]


def test_a_line_for_every_member():
    history = {name: 2 * column for name, column in HISTORY.items()}
    history["member"] = [0, 0, 0, 1, 1, 1]
    history["validation_auc"] = [0.7, 0.9, None, 0.8, 0.95, None]
    above, below = training_figure(result(history=history)).axes
    assert above.get_title() == "Training, 2 members"
    assert [len(line.get_xdata()) for line in above.lines[:2]] == [3, 3]
    assert below.lines[1].get_xydata().tolist() == [[10, 0.8], [20, 0.95]]
    (text,) = below.get_legend().get_texts()
    assert text.get_text() == "best: 0.9500 at step 20"


def test_nothing_held_out():
    history = HISTORY | {"validation_auc": [None, None, None]}
    _, below = training_figure(result(history=history)).axes
    assert not any(len(line.get_xdata()) for line in below.lines)
    assert below.texts[0].get_text() == "no edges were held out"


@pytest.mark.parametrize("settings", [{}, {"history": {"step": [], "loss": []}}])
def test_results_without_a_history(settings):
    with pytest.raises(ValueError, match=r"course of its training.*fit again"):
        training_figure(result(**settings))
