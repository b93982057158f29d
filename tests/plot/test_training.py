import numpy as np
import pytest

from arcvec.embeddings import EdgeEmbeddings
from arcvec.graph.names import NodeNames
from arcvec.plot.training import training_figure

HISTORY = {"step": [10, 20, 30], "loss": [3.0, 2.0, 1.0], "validation_auc": [0.7, 0.9, None]}


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
