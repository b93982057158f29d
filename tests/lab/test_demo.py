import re

import numpy as np
import pytest

from arcvec.baselines.by_name import CHEAP_BASELINES
from arcvec.cli import main
from arcvec.embeddings import EdgeEmbeddings
from arcvec.lab.demo import MODULES, read_demo_graph


def test_embedded_graph():
    graph = read_demo_graph()
    assert graph.directed
    assert 700 < graph.num_nodes < 1500
    known = graph.nodes.ids(["json.decoder", "re", "asyncio.events", "sys", *MODULES])
    assert graph.has_edges(known[[0, 2]], known[[1, 3]]).all()
    assert not graph.has_edges(known[[1, 3]], known[[0, 2]]).any()


def test_demo_ends_with_the_table_and_can_be_run_again(tmp_path, capsys):
    for _ in range(2):
        main(["demo", "-o", str(tmp_path / "out")])
        printed = capsys.readouterr().out
        methods = ("arcvec, dim 32", *CHEAP_BASELINES)
        ours, *others = (
            float(re.search(rf"^ *{name} +([\d.]+)", printed, re.MULTILINE)[1]) for name in methods
        )
        assert ours > max(others)
    written = {path.name for path in (tmp_path / "out").iterdir()}
    assert written == {"arcvec-demo.txt", "split", "result", "spaces.png", "checksums.txt"}
    assert np.isfinite(EdgeEmbeddings.load(tmp_path / "out/result").source).all()
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


def test_demo_does_not_replace_a_folder_of_others(tmp_path, capsys):
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.txt").write_text("years of work")
    with pytest.raises(SystemExit):
        main(["demo", "-o", str(tmp_path / "mine")])
    assert "exists already and is no demo's; choose another name" in capsys.readouterr().err
    assert (tmp_path / "mine" / "thesis.txt").read_text() == "years of work"
