"""Edge files of all kinds, their faults, and what becomes of them."""

import gzip
import io
import os
import random
import subprocess
import sys
import tempfile
from contextlib import nullcontext

import duckdb
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from arcvec.graph.files import load_graph
from arcvec.ingest import table
from arcvec.ingest.ingest import EdgeFileSettings, ingest_edges, read_edges, read_pairs
from arcvec.ingest.layout import inspect_file


def named_edges(graph):
    sources, targets = graph.edges()
    return {(graph.nodes[s], graph.nodes[t]) for s, t in zip(sources, targets, strict=True)}


def weights_of(graph):
    sources, targets = graph.edges()
    return {
        (graph.nodes[s], graph.nodes[t]): float(weight)
        for s, t, weight in zip(sources, targets, graph.edge_weights(), strict=True)
    }


@pytest.fixture
def write(tmp_path):
    def write_file(name, content):
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        data = content.encode() if isinstance(content, str) else content
        path.write_bytes(gzip.compress(data) if name.endswith(".gz") else data)
        return path

    return write_file


@pytest.fixture
def write_parquet(tmp_path):
    def write_file(name, query):
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        duckdb.sql(f"COPY ({query}) TO '{path}' (FORMAT parquet)")
        return path

    return write_file


AB_BC = {("a", "b"), ("b", "c")}


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("edges.txt", "a\tb\nb\tc\n"),
        ("edges.txt", "a b\nb c"),
        ("edges.txt", "  a   b \r\nb\t c\r\n\r\n"),
        ("edges.txt", "# comment\n\n# Nodes: 3\na b\n# later\nb c\n   \n"),
        ("edges.txt", "% sym unweighted\n%% more\na b\nb c\n"),
        ("edges.txt", "a,b\nb,c\n"),
        ("edges.txt", "a, b\nb, c\n"),
        ("edges.txt", "\ufeffa b\nb c\n"),
        ("edges", "a b\nb c\n"),
        ("edges.edgelist", "a\tb\nb c\n"),
        ("edges.txt.gz", "# comment\na b\nb c\n"),
        ("edges.csv", "a,b\nb,c\n"),
        ("edges.csv", "source,target\na,b\nb,c\n"),
        ("edges.csv", "# made by hand\nsource,target\na,b\n\nb,c\n\n"),
        ("edges.csv", "date,To,text,From\n1,b,x,a\n2,c,y,b\n"),
        ("edges.csv", '"a","b"\n"b","c"\n'),
        ("edges.csv", "a, b\nb, c\n"),
        ("edges.csv.gz", "SRC,DST\r\na,b\r\nb,c\r\n"),
        ("edges.tsv", "u\tv\na\tb\nb\tc\n"),
        ("edges.tsv.gz", "a\tb\tx\nb\tc\ty\n"),
    ],
)
def test_text_formats(write, name, content):
    assert named_edges(read_edges(write(name, content))) == AB_BC


@pytest.mark.parametrize(
    ("content", "changes"),
    [
        ("a;b\nb;c\n", {"separator": ";"}),
        ("a::b\nb::c\n", {"separator": "::"}),
        ("a\tb\nb\tc\n", {"separator": "\\t"}),
        ("a  b\nb c\n", {"separator": " "}),
        ("x a b\ny b c\n", {"source": "1", "target": "2"}),
        ("when who whom\n1 a b\n2 b c\n", {"source": "who", "target": "whom"}),
        ("who whom\na b\nb c\n", {"header": "yes"}),
        ("// x y\na b\nb c\n", {"comment": "//"}),
    ],
)
def test_settings_for_text(write, content, changes):
    assert named_edges(read_edges(write("edges.txt", content), **changes)) == AB_BC


def test_header_settings(write):
    path = write("edges.csv", "source,target\na,b\n")
    assert len(named_edges(read_edges(path, header="no"))) == 2
    assert named_edges(read_edges(path, header="yes")) == {("a", "b")}


def test_words_above_integers_are_a_header(write, tmp_path):
    path = write("edges.csv", "node_1,node_2\n7,8\n8,9\n")
    report = ingest_edges(path, tmp_path / "graph")
    assert report.num_edges == 2
    assert any("--header no" in note for note in report.notes)


def test_first_edge_between_nodes_called_u_and_v_is_no_header(write):
    assert len(named_edges(read_edges(write("edges.txt", "u v\nv w\n")))) == 2


def test_a_lonely_first_line_is_noted(write, tmp_path):
    path = write("edges.csv", "follower,followee\na,b\nb,a\n")
    report = ingest_edges(path, tmp_path / "graph")
    assert any("--header yes" in note for note in report.notes)
    path = write("edges.csv", "a,b\nb,c\n")
    report = ingest_edges(path, tmp_path / "another")
    assert not any("--header" in note for note in report.notes)


def test_a_comment_mark_inside_a_csv_is_data(write):
    path = write("edges.csv", "source,target\n#cats,C#\n#dogs,#cats\n")
    assert named_edges(read_edges(path)) == {("#cats", "C#"), ("#dogs", "#cats")}


def test_parquet_of_strings_and_integers(write_parquet):
    path = write_parquet("a.parquet", "FROM (VALUES ('a', 'b'), ('b', 'c')) t(x, y)")
    assert named_edges(read_edges(path)) == AB_BC
    path = write_parquet("b.parquet", "FROM (VALUES (10, 9), (-1, 200)) t(source, target)")
    graph = read_edges(path)
    assert list(graph.nodes) == ["9", "-1", "10", "200"]
    assert named_edges(graph) == {("10", "9"), ("-1", "200")}


def test_parquet_of_integers_is_joined_by_integers(write_parquet):
    path = write_parquet("edges.parquet", "SELECT 1::BIGINT AS a, 2::INTEGER AS b, 3::UBIGINT AS c")
    assert inspect_file(path, EdgeFileSettings()).integers
    assert not inspect_file(path, EdgeFileSettings(target="c")).integers


def test_parquet_columns(write_parquet):
    query = "SELECT 1 AS id, 'a' AS dst, 'b' AS src, 2.5 AS W"
    path = write_parquet("edges.pq", query)
    assert weights_of(read_edges(path)) == {("b", "a"): 2.5}
    assert weights_of(read_edges(path, source="dst", target="id", weight="W")) == {("a", "1"): 2.5}


def test_folder_of_files(write, tmp_path):
    write("parts/part-1.csv", "source,target\na,b\n")
    write("parts/part-0.csv.gz", "source,target\nb,c\n")
    write("parts/part-2.csv", "source,target\n")
    write("parts/part-3.csv", "")
    write("parts/_SUCCESS", "done")
    write("parts/.part-1.csv.crc", b"\x00\xff")
    assert named_edges(read_edges(tmp_path / "parts")) == AB_BC


def test_folder_of_parquet(write_parquet, tmp_path):
    write_parquet("parts/0.parquet", "SELECT 1 AS source, 2 AS target")
    write_parquet("parts/1.parquet", "SELECT 'x' AS source, 'y' AS target")
    assert named_edges(read_edges(tmp_path / "parts")) == {("1", "2"), ("x", "y")}


def test_gzip_of_several_members(tmp_path):
    path = tmp_path / "edges.txt.gz"
    path.write_bytes(gzip.compress(b"a b\n") + gzip.compress(b"b c\n"))
    assert named_edges(read_edges(path)) == AB_BC


def test_file_names_are_taken_literally(tmp_path):
    for name in ("edges*.txt", "edges[1].txt", "ed'ges?.txt", 'a"; DROP TABLE raw; --.txt'):
        (tmp_path / name).write_text("a b\nb c\n")
    (tmp_path / "edges1.txt").write_text("x y\n")
    (tmp_path / "edges-.txt").write_text("x y\n")
    for path in tmp_path.glob("*[!1-].txt"):
        assert named_edges(read_edges(path)) == AB_BC, path


def test_column_names_are_taken_literally(tmp_path):
    import pandas as pd

    name = 'a"; DROP TABLE raw; --'
    pd.DataFrame({name: ["a", "b"], "it's": ["b", "c"]}).to_parquet(tmp_path / "edges.parquet")
    graph = read_edges(tmp_path / "edges.parquet", source=name, target="it's")
    assert named_edges(graph) == AB_BC


def test_ids_follow_length_then_bytes(write):
    graph = read_edges(write("edges.txt", "10 9\n007 b\n7 é\na 100\n"))
    assert list(graph.nodes) == ["7", "9", "a", "b", "10", "é", "007", "100"]


def test_names_with_spaces_under_tabs(write):
    path = write("edges.txt", "New York\tBoston\nBoston\tLos Angeles\n")
    assert named_edges(read_edges(path)) == {("New York", "Boston"), ("Boston", "Los Angeles")}


def test_odd_names_survive(write):
    names = ['say "hi"', "two\nlines", "a,b", " padded ", "🦆 duck", "back\\slash\\n", "NULL", "#x"]
    rows = io.StringIO()
    for name in names:
        quoted = name.replace('"', '""')
        rows.write(f'"{quoted}",hub\n')
    graph = read_edges(write("edges.csv", rows.getvalue()))
    assert named_edges(graph) == {(name, "hub") for name in names}
    assert graph.nodes.ids(["two\nlines"]).tolist() == [list(graph.nodes).index("two\nlines")]


@settings(
    max_examples=10, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    st.lists(
        st.tuples(
            *[st.text(st.characters(codec="utf-8", exclude_characters="\x00"), min_size=1)] * 2
        ),
        min_size=1,
        max_size=8,
    )
)
def test_any_names_come_back_from_parquet(tmp_path, edges):
    import pandas as pd

    path = tmp_path / "edges.parquet"
    pd.DataFrame(edges, columns=["source", "target"]).to_parquet(path)
    graph = read_edges(path, self_loops="keep")
    assert named_edges(graph) == set(edges)
    names = list(graph.nodes)
    assert names == sorted(names, key=lambda name: (len(name.encode()), name.encode()))


def test_duplicates_merge_and_weights_add_up(write, tmp_path):
    path = write("edges.txt", "a b 1\nb a 2\na b 0.5\nc c 4\n")
    report = ingest_edges(path, tmp_path / "directed")
    assert (report.num_lines, report.num_edges, report.num_duplicates) == (4, 2, 1)
    assert (report.num_self_loops, report.num_nodes, report.weighted) == (1, 3, True)
    assert weights_of(load_graph(tmp_path / "directed")) == {("a", "b"): 1.5, ("b", "a"): 2}
    report = ingest_edges(path, tmp_path / "undirected", EdgeFileSettings(directed=False))
    assert (report.num_edges, report.num_duplicates, report.directed) == (1, 2, False)
    graph = load_graph(tmp_path / "undirected")
    assert weights_of(graph) == {("a", "b"): 3.5}
    assert graph.weights.tolist() == [3.5, 3.5]
    kept = read_edges(path, directed=False, self_loops="keep")
    assert weights_of(kept) == {("a", "b"): 3.5, ("c", "c"): 4}
    assert kept.num_edges == 2


def test_weights_are_found_named_or_refused(write):
    numbers = write("edges.txt", "a b 2\n")
    assert weights_of(read_edges(numbers)) == {("a", "b"): 2}
    assert read_edges(numbers, weight="").weights is None
    assert read_edges(write("words.txt", "a b friend\n")).weights is None
    named = write("edges.csv", "source,target,time,weight\na,b,7,3\n")
    assert weights_of(read_edges(named)) == {("a", "b"): 3}
    assert weights_of(read_edges(named, weight="time")) == {("a", "b"): 7}
    many = write("many.txt", "a b 1 5\n")
    assert read_edges(many).weights is None
    assert weights_of(read_edges(many, weight="3")) == {("a", "b"): 5}


def test_notes_tell_what_happened(write, tmp_path):
    path = write("edges.txt", "a b\nb a\na b\nc c\n")
    assert ingest_edges(path, tmp_path / "graph").notes == (
        "1 self-loop dropped; keep them with --self-loops keep",
        "1 duplicate edge merged",
        "every edge also occurs reversed: if the graph is undirected, pass --undirected",
    )
    one_way = write("one_way.txt", "a b\nb c\nc a\n")
    assert ingest_edges(one_way, tmp_path / "another").notes == ()


def test_only_self_loops_leave_nodes_without_edges(write):
    graph = read_edges(write("edges.txt", "a a\n"))
    assert (graph.num_nodes, graph.num_edges) == (1, 0)
    assert read_edges(write("edges.txt", "a a\n"), self_loops="keep").num_self_loops == 1


def test_largest_component(write, tmp_path):
    path = write("edges.txt", "a b 1\nc b 2\nx y 3\nz z 4\n")
    report = ingest_edges(path, tmp_path / "graph", EdgeFileSettings(largest_component=True))
    assert (report.num_nodes, report.num_edges) == (3, 2)
    assert weights_of(load_graph(tmp_path / "graph")) == {("a", "b"): 1, ("c", "b"): 2}
    assert any("3 of 6 nodes" in note for note in report.notes)


@pytest.mark.parametrize("directed", [True, False])
def test_many_blocks_give_the_graph_of_one(write, monkeypatch, directed):
    generator = random.Random(0)
    lines = [
        f"{generator.randrange(99)} {generator.randrange(99)} {generator.random()}\n"
        for _ in range(2000)
    ]
    one = read_edges(write("edges.txt", "".join(lines)), directed=directed)
    generator.shuffle(lines)
    monkeypatch.setattr(table, "ENTRIES_PER_BLOCK", 50)
    monkeypatch.setattr(table, "NAMES_PER_BLOCK", 7)
    many = read_edges(write("shuffled.txt", "".join(lines)), directed=directed)
    assert many.fingerprint == one.fingerprint
    assert one.num_edges > 1000


def test_edges_agree_with_a_plain_reading(write):
    generator = np.random.default_rng(1)
    pairs = generator.integers(0, 500, size=(5000, 2))
    graph = read_edges(write("edges.txt", "".join(f"{s}\t{t}\n" for s, t in pairs)))
    assert named_edges(graph) == {(str(s), str(t)) for s, t in pairs if s != t}
    assert [int(name) for name in graph.nodes] == sorted(set(pairs.ravel().tolist()))


def test_little_memory_spills_to_disk(tmp_path, write_parquet):
    path = write_parquet(
        "edges.parquet",
        "SELECT 'node' || hash(i) % 50000 AS source, 'node' || hash(-i) % 50000 AS target "
        "FROM range(300000) r(i)",
    )
    limited = EdgeFileSettings(memory_limit="100MB")
    report = ingest_edges(path, tmp_path / "graph", limited)
    assert report.num_lines == 300_000
    assert sorted(os.listdir(tmp_path)) == ["edges.parquet", "graph"]
    assert sorted(os.listdir(tmp_path / "graph")) == [
        "checksums.txt",
        "indices.npy",
        "indptr.npy",
        "meta.json",
        "nodes.txt",
    ]


def test_progress_names_the_steps(write, tmp_path):
    steps = []
    ingest_edges(write("edges.txt", "a b\n"), tmp_path / "graph", progress=steps.append)
    assert steps == ["reading edges", "naming nodes", "sorting edges"]


def test_pairs_keep_their_order(write):
    path = write("pairs.csv", "source,target\nz,a\na,z\nz,a\nb,b\n")
    assert read_pairs(path) == (["z", "a", "z", "b"], ["a", "z", "a", "b"])


FAULTS = [
    ("edges.txt", "a b\nc\n", "edges.txt:2: expected 2 or 3 columns, got 1"),
    (
        "edges.txt",
        "# x\n\na b\n# y\nc,d\n",
        r'edges.txt:5: .* split by commas, pass --separator ","',
    ),
    ("edges.csv", "a,b\n# later\nb,c\n", "edges.csv:2: expected comments above the first edge"),
    ("edges.csv", "a,b\r\nc,d\ne,f\r\n", "edges.csv: .* see to its quotes and line endings"),
    ("edges.txt", "a\nb\n", "edges.txt:1: expected 2 or 3 columns, got 1"),
    ("edges.csv", "a;b\nc;d\n", 'edges.csv:1: .* pass --separator ";"'),
    ("edges.txt", "a b\nc d e\n", "edges.txt:2: expected 2 columns as on the first line, got 3"),
    ("edges.csv", "source,target\na,b\n\nc,d,e\n", "edges.csv:4: expected 2 columns .* got 3"),
    ("edges.csv", 'a,"two\nlines"\nb\n', "edges.csv:3: expected 2 or 3 columns, got 1"),
    ("edges.csv", "a,b\n,c\n", "edges.csv:2: expected a source and a target, got an empty name"),
    ("edges.csv", "a, b\nc, \n", "edges.csv:2: expected a source and a target"),
    ("edges.txt", "", "edges.txt: expected edges, got an empty file"),
    ("edges.txt", "# a b\n\n", "edges.txt: expected edges, got only comments"),
    ("edges.csv", "source,target\n", "edges.csv: expected edges, got none"),
    ("edges.txt.gz", "", "edges.txt.gz: expected edges, got an empty file"),
    ("edges.txt", "a b 1\nc d -1\n", 'edges.txt:2: expected a positive, finite weight, got "-1"'),
    ("edges.txt", "a b 1\nc d 0\n", "edges.txt:2: expected a positive"),
    ("edges.txt", "a b 1\nc d nan\n", "edges.txt:2: expected a positive"),
    ("edges.txt", "a b inf\nc d 1\n", "edges.txt:1: expected a positive"),
    ("edges.txt", "a b 1\nc d 1e99\n", "edges.txt:2: expected a positive"),
    ("edges.txt", "a b 1\nc d x\n", 'edges.txt:2: .* got "x"'),
    ("edges.csv", "source,target,weight\na,b,1\nc,d,\n", 'edges.csv:3: .* got ""'),
    ("edges.txt", b"a b\n\xff c\n", "edges.txt:2: expected UTF-8 text, got the byte 0xff"),
    ("edges.csv", b"a,b\n" * 999 + b"\xe9,c\n", "edges.csv:1000: expected UTF-8 text"),
    ("edges.txt", "a b\n" * 999 + "c\n", "edges.txt:1000: expected 2 or 3 columns"),
    ("edges.csv", 'a,b\n"c"d,e\n', "edges.csv: cannot be read"),
    ("edges.parquet", "a b\n", "edges.parquet: expected a Parquet file"),
    ("edges.txt", b"\x1f\x8b broken", "edges.txt: expected a whole gzip file"),
]


@pytest.mark.parametrize(("name", "content", "message"), FAULTS)
def test_faults_name_file_and_line(write, tmp_path, name, content, message):
    path = write(name, content)
    with pytest.raises(ValueError, match=message) as error:
        ingest_edges(path, tmp_path / "graph")
    assert "\n" not in str(error.value)
    assert os.listdir(tmp_path) == [name]  # nothing is left behind


@pytest.mark.parametrize("kept", [0.5, 0.999])
def test_truncated_gzip(tmp_path, kept):
    text = "".join(f"{i} {i * 7919 % 10007}\n" for i in range(50_000))
    data = gzip.compress(text.encode())
    path = tmp_path / "edges.txt.gz"
    path.write_bytes(data[: int(len(data) * kept)])
    with pytest.raises(ValueError, match="cut short or damaged"):
        read_edges(path)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ("('a', 'b', 1.0), ('a', NULL, 1.0)", "row 2: expected a source and a target"),
        ("('a', 'b', 1.0), ('', 'b', 1.0)", "row 2: expected a source and a target"),
        ("('a', 'b', -2.0)", 'row 1: expected a positive, finite weight, got "-2.0"'),
        ("('a', 'b', 1.0), ('b', 'c', NULL)", "row 2: expected a positive"),
    ],
)
def test_faults_in_parquet(write_parquet, values, message):
    path = write_parquet("edges.parquet", f"FROM (VALUES {values}) t(source, target, weight)")
    with pytest.raises(ValueError, match=message):
        read_edges(path)


def test_missing_columns_list_those_there_are(write):
    path = write("edges.csv", "who,whom,when\na,b,1\n")
    with pytest.raises(ValueError, match='no column "whose"; the columns are who, whom, when'):
        read_edges(path, source="whose")
    with pytest.raises(ValueError, match=r'no column "3"; the columns are 0, 1, 2.*--header yes'):
        read_edges(path, header="no", weight="3")
    with pytest.raises(ValueError, match='both the column "whom"'):
        read_edges(path, source="whom")


def test_folders_that_cannot_be_read(write, tmp_path):
    with pytest.raises(FileNotFoundError, match=r"nowhere.txt: no such file"):
        read_edges(tmp_path / "nowhere.txt")
    (tmp_path / "empty").mkdir()
    with pytest.raises(FileNotFoundError, match="found none"):
        read_edges(tmp_path / "empty")
    write("mixed/a.csv", "a,b\n")
    write("mixed/b.txt", "a b\n")
    with pytest.raises(ValueError, match=r"of one kind, got \.csv .* and \.txt"):
        read_edges(tmp_path / "mixed")
    write("differ/a.csv", "source,target\na,b\n")
    write("differ/b.csv", "source,target,weight\na,b,1\n")
    with pytest.raises(ValueError, match=r"b.csv: expected the columns source, target as in a.csv"):
        read_edges(tmp_path / "differ")


def test_output_is_protected(write, tmp_path):
    path = write("raw/edges.txt", "a b\n")
    ingest_edges(path, tmp_path / "graph")
    with pytest.raises(FileExistsError, match="--overwrite"):
        ingest_edges(path, tmp_path / "graph")
    with pytest.raises(FileExistsError, match="is in there; choose another output"):
        ingest_edges(path, tmp_path / "raw", overwrite=True)
    ingest_edges(write("raw/edges.txt", "a b\nb c\n"), tmp_path / "graph", overwrite=True)
    assert load_graph(tmp_path / "graph").num_edges == 2


def test_unknown_settings_are_refused(write):
    with pytest.raises(ValueError, match='did you mean "separator"'):
        read_edges(write("edges.txt", "a b\n"), seperator=",")
    with pytest.raises(ValueError, match="memory_limit"):
        read_edges(write("edges.txt", "a b\n"), memory_limit="lots")


def test_importing_is_light():
    code = (
        "import sys, arcvec.ingest.ingest, arcvec.graph.files\n"
        "print(sorted({'duckdb', 'numba', 'scipy', 'torch'} & set(sys.modules)))"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "[]"


@pytest.mark.parametrize(
    ("name", "directed", "num_nodes"),
    [
        ("wiki-Vote", True, 7_066),
        ("soc-Epinions1", True, 75_877),
        ("ca-HepTh", False, 8_638),
        ("ca-AstroPh", False, 17_903),
        ("ppi", False, 3_852),
        ("ego-Facebook", False, 4_039),
    ],
)
def test_largest_components_of_the_papers_graphs(shared_data, name, directed, num_nodes):
    path = shared_data(f"raw/{name}.txt.gz")
    graph = read_edges(path, directed=directed, largest_component=True)
    assert graph.num_nodes == num_nodes


def test_wiki_vote(shared_data):
    path = shared_data("raw/wiki-Vote.txt.gz")
    graph = read_edges(path)
    assert (graph.num_nodes, graph.num_edges, graph.weights) == (7_115, 103_689, None)
    assert [int(name) for name in graph.nodes[:100]] == sorted(map(int, graph.nodes))[:100]
    assert read_edges(path, largest_component=True).num_edges == 103_663


def test_cnr_2000(shared_data, tmp_path):
    path = shared_data("raw/cnr-2000.txt.gz")
    report = ingest_edges(path, tmp_path / "graph")
    assert (report.num_nodes, report.num_lines) == (325_557, 3_216_152)
    assert (report.num_self_loops, report.num_edges) == (87_442, 3_216_152 - 87_442)
    assert "87,442 self-loops dropped; keep them with --self-loops keep" in report.notes


def test_a_graph_in_memory_is_not_written_to_disk(write, tmp_path, monkeypatch):
    work = tmp_path / "work"
    work.mkdir()
    monkeypatch.setattr(tempfile, "TemporaryDirectory", lambda **_: nullcontext(str(work)))
    graph = read_edges(write("edges.txt", "a b 2\nb c 1\nd e 1\n"), largest_component=True)
    assert list(graph.nodes) == ["a", "b", "c"]
    assert os.listdir(work) == []
