"""The command line as users meet it, on real files."""

import json
import re

import duckdb
import numpy as np
import pytest

from arcvec.baselines.by_name import BASELINES
from arcvec.baselines.factorisations import NetMF
from arcvec.cli import main
from arcvec.cli.evaluate import Baseline
from arcvec.cli.fit import Preset
from arcvec.embeddings import EdgeEmbeddings
from arcvec.graph.files import save_graph
from arcvec.graph.graph import Graph
from arcvec.graph.split import read_split
from arcvec.recommendation.calibration import load_calibration
from arcvec.recommendation.exact import recommend
from arcvec.training.presets import PRESETS
from arcvec.view.console import output
from tests.cli.commands import QUICK


def test_from_edge_list_to_recommendation(run, edges, tmp_path):
    graph, split, result = (tmp_path / name for name in ("graph", "split", "result"))
    assert re.search(r"60 nodes, \d+ edges, directed", run("ingest", edges, "-o", graph))
    assert "test edges" in run("split", graph, "-o", split, "--seed", "1")
    assert "60 nodes, dim 8, 25 steps" in run("fit", split, "-o", result, *QUICK)
    table = run("evaluate", result, "--split", split, "--method", "degree-product")
    assert "degree-product" in table
    report = json.loads(run("evaluate", result, "--split", split, "--json"))
    assert 0 <= report["auc"] <= 1
    assert {"auc_random", "auc_reversed", "average_precision", "mrr", "hits@10"} <= set(report)
    rows = run("recommend", result, "--node", "p3", "-k", "4", "--exclude", graph).splitlines()
    assert rows[0] == "node,rank,target,score"
    assert [row.split(",")[:2] for row in rows[1:]] == [["p3", str(i)] for i in range(1, 5)]
    known = {line.split(",")[1] for line in edges.read_text().split() if line.startswith("p3,")}
    assert not known & {row.split(",")[2] for row in rows[1:]}


def test_fit_reads_raw_files_and_only_the_train_part_of_a_split(run, edges, tmp_path):
    run("fit", edges, "-o", tmp_path / "raw", *QUICK)
    run("split", edges, "-o", tmp_path / "split")
    run("fit", tmp_path / "split", "-o", tmp_path / "trained", *QUICK)
    raw, trained = (EdgeEmbeddings.load(tmp_path / name) for name in ("raw", "trained"))
    assert raw.settings["graph_fingerprint"] != trained.settings["graph_fingerprint"]
    assert list(raw.nodes) == list(trained.nodes)


def test_undirected_files(run, edges, tmp_path):
    assert "undirected" in run("ingest", edges, "--undirected", "-o", tmp_path / "graph")
    run("fit", edges, "--undirected", "-o", tmp_path / "result", *QUICK)
    assert not EdgeEmbeddings.load(tmp_path / "result").directed


def test_score_keeps_the_order_of_the_pairs(run, edges, tmp_path):
    run("fit", edges, "-o", tmp_path / "result", *QUICK)
    (tmp_path / "pairs.csv").write_text("source,target\np9,p3\np3,p9\np9,p3\n")
    rows = run("score", tmp_path / "result", tmp_path / "pairs.csv").splitlines()
    assert rows[0] == "source,target,score"
    assert [row.rsplit(",", 1)[0] for row in rows[1:]] == ["p9,p3", "p3,p9", "p9,p3"]
    embeddings = EdgeEmbeddings.load(tmp_path / "result")
    expected = embeddings.score(*embeddings.nodes.ids(["p9", "p3"]).reshape(2, 1))
    assert float(rows[1].rsplit(",", 1)[1]) == pytest.approx(expected[0], rel=1e-5)


@pytest.mark.parametrize("suffix", [".csv", ".tsv", ".parquet"])
def test_recommendations_for_all_into_a_file(run, edges, tmp_path, suffix):
    run("fit", edges, "-o", tmp_path / "result", *QUICK)
    out = tmp_path / f"recommendations{suffix}"
    run("recommend", tmp_path / "result", "--all", "-k", "3", "--direction", "sources", "-o", out)
    rows = duckdb.sql(f"SELECT * FROM '{out}'")
    assert rows.columns == ["node", "rank", "source", "score"]
    assert len(rows.fetchall()) == 180
    assert not list(tmp_path.glob(".*")), "something was left behind"


@pytest.mark.parametrize("direction", ["targets", "sources"])
@pytest.mark.parametrize("asked", [("--all",), ("--node", "p3", "--node", "p40")])
def test_recommendations_among_some_nodes(run, edges, tmp_path, direction, asked):
    run("fit", edges, "-o", tmp_path / "result", *QUICK)
    (tmp_path / "only.txt").write_text("".join(f"p{i}\n" for i in (1, 2, 3, 30, 31, 99)))
    (tmp_path / "without.txt").write_text("p2\np30\n")
    filters = ("--only", tmp_path / "only.txt", "--without", tmp_path / "without.txt")
    out = tmp_path / "found.csv"
    flags = ("--direction", direction, "--exclude", edges, "-o", out)
    run("recommend", tmp_path / "result", *asked, *filters, *flags)
    found = duckdb.sql(f"SELECT node, {direction[:-1]} FROM '{out}'").fetchall()
    known = {tuple(line.split(",")) for line in edges.read_text().split()[1:]}
    expected = {
        (f"p{u}", f"p{v}")
        for u in (range(60) if asked == ("--all",) else (3, 40))
        for v in (1, 3, 31)
        if u != v
        and ((f"p{u}", f"p{v}") if direction == "targets" else (f"p{v}", f"p{u}")) not in known
    }
    assert set(found) == expected
    assert len(found) == len(expected)


def test_approximate_recommendations(run, edges, tmp_path):
    run("fit", edges, "-o", tmp_path / "result", *QUICK)
    assert "60 target vectors" in run("index", tmp_path / "result", "--direction", "targets")
    flags = ("--all", "-k", "4", "--exclude", edges, "--without", tmp_path / "without.txt")
    (tmp_path / "without.txt").write_text("p7\n")
    for direction in ("targets", "sources"):
        asked = ("recommend", tmp_path / "result", *flags, "--direction", direction)
        # So few nodes are all looked at: the index changes nothing.
        assert run(*asked, "--approximate") == run(*asked)
    assert (tmp_path / "result" / "index-source" / "tiles.npy").is_file()


def test_popularity(run, edges, tmp_path):
    split, result = tmp_path / "split", tmp_path / "result"
    run("split", edges, "-o", split)
    run("fit", split, "-o", result, *QUICK)
    embeddings = EdgeEmbeddings.load(result)
    asked = ("recommend", result, "--node", "p3", "-k", "5")
    assert run(*asked, "--popularity", "1") == run(*asked)
    for direction in ("targets", "sources"):
        rows = run(*asked, "--popularity", "0.25", "--direction", direction).splitlines()[1:]
        names, _ = recommend(embeddings, ["p3"], 5, popularity=0.25, direction=direction)
        assert [row.split(",")[2] for row in rows] == names[0].tolist()
    measure = ("evaluate", result, "--split", split)
    reports = json.loads(run(*measure, "--popularity", "1,0.5,0", "--json"))
    assert list(reports) == [
        *("arcvec, dim 8", "arcvec, dim 8, popularity 0.5", "arcvec, dim 8, popularity 0")
    ]
    assert reports["arcvec, dim 8"] == json.loads(run(*measure, "--json"))
    one = json.loads(run(*measure, "--popularity", "0", "--json"))
    assert one["recall@10"] == reports["arcvec, dim 8, popularity 0"]["recall@10"]
    assert "popularity 0.5" in run(*measure, "--popularity", "1,0.5")


def test_probabilities(run, edges, tmp_path):
    run("split", edges, "-o", tmp_path / "split")
    run("fit", tmp_path / "split", "-o", tmp_path / "result", *QUICK)
    assert "off by" in run("calibrate", tmp_path / "result", "--graph", edges)
    calibration = load_calibration(tmp_path / "result", EdgeEmbeddings.load(tmp_path / "result"))
    (tmp_path / "pairs.csv").write_text("source,target\np9,p3\np3,p49\n")
    for odds in ("even", "density"):
        asked = ("score", tmp_path / "result", tmp_path / "pairs.csv", "--probability", odds)
        rows = run(*asked).splitlines()
        assert rows[0] == "source,target,score,probability"
        for row in rows[1:]:
            score, probability = map(float, row.split(",")[2:])
            expected = calibration.probabilities(np.array([score], dtype=np.float32), odds)
            assert probability == pytest.approx(expected[0], rel=1e-4)
    out = tmp_path / "all.parquet"
    run("recommend", tmp_path / "result", "--all", "-k", "3", "--probability", "even", "-o", out)
    found = duckdb.sql(f"SELECT score, probability FROM '{out}'").fetchnumpy()
    expected = calibration.probabilities(found["score"])
    np.testing.assert_allclose(found["probability"], expected, rtol=1e-4)


def test_validation_edges_of_a_split_calibrate(run, edges, tmp_path):
    run("split", edges, "-o", tmp_path / "split", "--validation-fraction", "0.2")
    run("fit", tmp_path / "split", "-o", tmp_path / "result", *QUICK)
    run("calibrate", tmp_path / "result", "--graph", tmp_path / "split")
    made = json.loads((tmp_path / "result" / "calibration.json").read_text())
    split = read_split(tmp_path / "split")
    assert made["num_edges"] <= len(split.validation)
    assert made["density"] == pytest.approx(split.graph.num_edges / (60 * 59))


def test_nodes_are_added(run, edges, tmp_path):
    run("fit", edges, "-o", tmp_path / "result", *QUICK, "--goal", "pairs")
    (tmp_path / "new.csv").write_text("source,target\nnewcomer,p3\np5,newcomer\nsecond,newcomer\n")
    asked = ("add", tmp_path / "result", tmp_path / "new.csv", "-o", tmp_path / "larger")
    assert "62 nodes, 2 of them new, dim 8" in run(*asked, "--graph", edges)
    for name in ("source.npy", "target.npy"):
        before, after = (np.load(tmp_path / part / name) for part in ("result", "larger"))
        assert after[:60].tobytes() == before.tobytes()
    rows = run("recommend", tmp_path / "larger", "--node", "newcomer", "-k", "3").splitlines()
    assert len(rows) == 4
    assert "exists already" in run(*asked, fails=True)


def test_a_fit_takes_the_choices_of_an_earlier_one(run, edges, tmp_path):
    before, after = tmp_path / "before", tmp_path / "after"
    run("fit", edges, "-o", before, *QUICK)
    edges.write_text(edges.read_text() + "new,p3\nnew,p5\np7,new\n")
    assert "61 nodes, dim 8" in run("fit", edges, "--from", before, "-o", after, *QUICK)
    chosen = [json.loads((path / "settings.json").read_text()) for path in (before, after)]
    assert chosen[0]["order"] == chosen[1]["order"]
    assert chosen[1]["settings"]["ranking"]["sweeps"] == [chosen[0]["order"]["sweeps"]]
    # What it takes choices from may be replaced by it.
    run("fit", edges, "--from", after, "-o", after, "--overwrite", *QUICK)
    run("fit", edges, "--from", before, "--budget", "1s", "-o", tmp_path / "sketch", *QUICK)


def test_settings_come_from_preset_then_file_then_flags(run, edges, tmp_path):
    config = tmp_path / "settings.toml"
    config.write_text("dim = 4\n[walks]\nwindow = 5\nwalk_length = 30\n[training]\nsteps = 3\n")
    run(
        *("fit", edges, "-o", tmp_path / "result", "--preset", "paper", "--config", config),
        *("--walks.window", "4", "--quiet"),
    )
    result = EdgeEmbeddings.load(tmp_path / "result").settings
    assert result["settings"]["dim"] == 4
    assert result["settings"]["walks"]["window"] == 4
    assert result["settings"]["walks"]["walk_length"] == 30
    assert result["settings"]["training"]["optimiser"] == "percent-delta"
    # The settings of a result are a settings file too.
    run("fit", edges, "-o", tmp_path / "again", "--config", tmp_path / "result/settings.json")
    again = EdgeEmbeddings.load(tmp_path / "again")
    assert again.settings == result
    first = (tmp_path / "result/source.npy").read_bytes()
    assert (tmp_path / "again/source.npy").read_bytes() == first


def test_float16_result(run, edges, tmp_path):
    run("fit", edges, "-o", tmp_path / "result", "--float16", *QUICK)
    assert EdgeEmbeddings.load(tmp_path / "result").target.dtype == np.float16


def test_every_command_takes_a_result_of_one_vector(run, edges, tmp_path):
    run("split", edges, "--undirected", "-o", tmp_path / "split")
    result, train = tmp_path / "result", read_split(tmp_path / "split").train
    embeddings = NetMF(dim=6).fit(train)
    assert embeddings.weights is not None
    embeddings.save(result)
    report = json.loads(run("evaluate", result, "--split", tmp_path / "split", "--json"))
    assert report["fitted_on_train"]
    (tmp_path / "pairs.csv").write_text("source,target\np9,p3\np3,p9\n")
    there, back = run("score", result, tmp_path / "pairs.csv").splitlines()[1:]
    assert there.removeprefix("p9,p3") == back.removeprefix("p3,p9")
    for direction in ("targets", "sources"):
        rows = run("recommend", result, "--node", "p3", "--direction", direction).splitlines()
        names, _ = recommend(embeddings, ["p3"], direction=direction)
        assert [row.split(",")[2] for row in rows[1:]] == names[0].tolist()
    best = names[0, 0]
    assert "rank   1 of 59" in run("explain", result, "p3", best)
    run("export", result, "-o", tmp_path / "out")
    source, target = (np.load(tmp_path / f"out/{side}.npy") for side in ("source", "target"))
    everyone = embeddings.score_all_targets(np.arange(60))
    np.testing.assert_allclose(source @ target.T, everyone, rtol=1e-5, atol=1e-6)
    run("plot", result, "--graph", tmp_path / "split", "-o", tmp_path / "spaces.png")
    flags = ("--graph", tmp_path / "split", "-o", tmp_path / "circle.png", "--kind", "circle")
    assert "got dim 6 in one vector for both sides" in run("plot", result, *flags, fails=True)


def test_shallow_model_by_flag(run, edges, tmp_path):
    run("fit", edges, "-o", tmp_path / "result", *QUICK, "--model.empty-hidden")
    assert EdgeEmbeddings.load(tmp_path / "result").settings["settings"]["model"]["hidden"] == []


def test_names_with_line_breaks_survive_tables(run, tmp_path):
    names = ["a\rb", 'q"u,o', "two\nlines", "plain"]
    graph = Graph.from_edges([0, 1, 2, 3], [1, 2, 3, 0], nodes=names)
    save_graph(graph, tmp_path / "graph")
    run("fit", tmp_path / "graph", "-o", tmp_path / "result", *QUICK)
    for suffix in (".csv", ".parquet"):
        out = tmp_path / f"all{suffix}"
        run("recommend", tmp_path / "result", "--all", "-k", "3", "-o", out)
        rows = duckdb.sql(f"SELECT node, target FROM '{out}'").fetchall()
        assert {name for row in rows for name in row} == set(names)


def test_evaluating_a_result_of_another_graph_says_so(run, edges, tmp_path):
    run("fit", edges, "-o", tmp_path / "result", *QUICK)
    run("split", edges, "-o", tmp_path / "split")
    report = json.loads(
        run("evaluate", tmp_path / "result", "--split", tmp_path / "split", "--json")
    )
    assert report["fitted_on_train"] is False


def test_evaluate_measures_lists_of_any_length(run, edges, tmp_path, monkeypatch, capsys):
    run("split", edges, "-o", tmp_path / "split")
    methods = ("--method", "resource-allocation", "--method", "common-neighbours")
    asked = ("evaluate", "--split", tmp_path / "split", *methods, "--k", "5,10,20")
    reports = json.loads(run(*asked, "--json", "--quiet"))
    names = ("recall", "precision", "ndcg", "map", "hit_rate", "coverage", "popular_share")
    for report in reports.values():
        assert {f"{name}@{k}" for name in names for k in (5, 10, 20)} <= set(report)
        assert report["recall@5"] <= report["recall@10"] <= report["recall@20"]
        assert report["recall@5_standard_error"] > 0
    monkeypatch.setattr(output, "width", 80)
    main(list(map(str, asked)))
    printed = capsys.readouterr()
    assert "…" not in printed.out
    for heading in ("AUC", "MRR", "recall@5", "nDCG@20", "precision@10", "coverage@20"):
        assert heading in printed.out
    assert printed.out.count("resource-allocation") > 1  # parts, each with whole names
    assert "100%" in printed.err
    assert "expected k of at least 1, got 0" in run(*asked[:-1], "5,0", "--quiet", fails=True)
    assert "--k" in run(*asked[:-1], "5,x", fails=True)


def test_choices_of_flags_are_all_there_is():
    assert set(Baseline.__args__) == set(BASELINES)
    assert set(Preset.__args__) == set(PRESETS)


def test_python_api_of_the_readme(tmp_path):
    import arcvec

    assert isinstance(arcvec.Graph.from_edges([0], [1]), Graph)
    assert "EdgeProjection" in dir(arcvec)
    for name in arcvec.__all__:
        assert getattr(arcvec, name) is not None
    with pytest.raises(AttributeError, match="No arcvec attribute nothing"):
        arcvec.nothing  # noqa: B018
