"""Hostile edge files: each ends as the graph it holds, or in a line that names file and remedy."""

import csv
import gzip
import io
import re
import shutil
from collections import Counter
from functools import partial

import duckdb
import numpy as np
import pytest

from arcvec.graph.files import load_graph
from arcvec.ingest.ingest import EdgeFileSettings, ingest_edges, read_edges, read_pairs
from arcvec.ingest.layout import find_layouts, read_lines, split_rows
from tests.faults.damage import fuzz, refusal

TEXT = [
    b"a b\nb c\n",
    b"a b 1\nb c 2.5\nc a 1e3\n",
    b"# x\n\na\tb\nb\tc\n",
    b"who whom\n1 2\r\n2 3\r\n",
    b"New York\tBoston\nBoston\tLos Angeles\n",
]
CSV = [
    b"source,target\na,b\nb,c\n",
    b'# x\n"say ""hi""",b\n"two\nlines",c\n',
    b"a, b\nb, c\n",
    b"u,v,weight\r\n1,2,3\r\n2,3,1\r\n",
]
TSV = [file.replace(b",", b"\t") for file in CSV]
GZIP = [gzip.compress(file, mtime=0) for file in (*TEXT, *CSV)]
PARQUET = (
    "FROM (VALUES ('a', 'b'), ('b', 'c')) t(source, target)",
    "SELECT i AS source, i * 7 % 100 AS target, 1.5 AS weight FROM range(100) r(i)",
    "SELECT 'n' || i % 10 AS source, 'n' || i * 7 % 9 AS target FROM range(300) r(i)",
)
KEEP = EdgeFileSettings(self_loops="keep")


def parquet_bytes(folder, query, options=""):
    path = folder / "valid.parquet"
    duckdb.sql(f"COPY ({query}) TO '{path}' (FORMAT parquet{options})")
    return path.read_bytes()


def valid_files(kind, folder):
    if kind != "parquet":
        return {"txt": TEXT, "csv": CSV, "tsv": TSV, "txt.gz": GZIP}[kind]
    return [
        parquet_bytes(folder, query, options)
        for query in PARQUET
        for options in ("", ", COMPRESSION uncompressed", ", COMPRESSION zstd")
    ]


def named_edges(graph):
    names = np.array(graph.nodes[:], dtype=object)
    sources, targets = graph.edges()
    return set(zip(names[sources], names[targets], strict=True))


def assert_read_right(graph, path):
    """Compare with the edges of a text file by Python alone, every row of which must be one."""
    (layout,) = find_layouts(path, KEEP)
    found, edges = named_edges(graph), set()
    decoded = list(read_lines(path))[layout.skip :]
    rows = (row for _, row in split_rows(path, decoded, layout.separator))
    # Spaces before an opening quote are none of the name; Python drops them together with others.
    padded = layout.separator is not None and any(' "' in line for line in decoded)
    if padded:
        rows = filter(None, csv.reader(decoded, delimiter=layout.separator, skipinitialspace=True))
        found = set(map(unpadded, found))
    for row in rows:
        if layout.separator is None and row[0].startswith("#"):
            continue
        # A separator at the end of a line is passed over.
        assert len(row) == len(layout.columns) or (
            len(row) == len(layout.columns) + 1 and not row[-1]
        )
        names = row[layout.source], row[layout.target]
        edges.add(unpadded(names) if layout.trim or padded else names)
    assert found == edges


def unpadded(names):
    return tuple(name.lstrip(" ") for name in names)


def told(counts):
    return ", ".join(f"{number:,} {what}" for what, number in sorted(counts.items()))


@pytest.mark.parametrize("kind", ["txt", "csv", "tsv", "txt.gz", "parquet"])
def test_damaged_files_are_read_right_or_refused(tmp_path, times, record, kind):
    path, out = tmp_path / f"edges.{kind}", tmp_path / "graph"
    counts = Counter()

    def check(data):
        path.write_bytes(data)
        if refusal(path, lambda path: ingest_edges(path, out, KEEP)):
            counts["refused"] += 1
            assert not out.exists()
            return
        counts["read"] += 1
        graph = load_graph(out)  # which checks that ids are in range
        shutil.rmtree(out)
        assert len(set(graph.nodes)) == graph.num_nodes
        assert set(graph.nodes) == {name for edge in named_edges(graph) for name in edge}
        if kind != "parquet":
            assert_read_right(graph, path)

    fuzz(check, valid_files(kind, tmp_path), times, 20, 500)
    cases = sum(counts.values())
    record("Input", input=f"damaged edges.{kind}", cases=cases, outcome=told(counts))


def test_damaged_pairs_are_read_right_or_refused(tmp_path, times, record):
    path = tmp_path / "pairs"
    counts = Counter()

    def check(data):
        path.write_bytes(data)
        found = []
        refused = refusal(path, lambda path: found.extend(read_pairs(path)))
        counts["refused" if refused else "read"] += 1
        if not refused:
            sources, targets = found
            assert len(sources) == len(targets)
            assert all(sources)
            assert all(targets)

    fuzz(check, [*TEXT, *CSV, *GZIP, *valid_files("parquet", tmp_path)], times, 30, 500)
    cases = sum(counts.values())
    record("Input", input="damaged file of pairs", cases=cases, outcome=told(counts))


READ_WRONG_ONCE = {
    "U+0001 split lines": ("e.txt", b"\x01a b\nd e\x01f\n", {("\x01a", "b"), ("d", "e\x01f")}),
    "the character after a carriage return was lost": (
        "e.txt",
        b"1 2\r\n2 3\r45 6\n",
        {("1", "2"), ("2", "3"), ("45", "6")},
    ),
    "only carriage returns": ("e.txt", b"a b\rb c\r", {("a", "b"), ("b", "c")}),
    "a carriage return in a comment": ("e.txt", b"# x\ry\na b\n", {("a", "b")}),
    "CRLF above a header": ("e.txt", b"# x\r\n\r\n# y\r\nwho whom\r\n1 2\r\n", {("1", "2")}),
    "a header behind carriage returns": ("e.txt", b"\r \rwho whom\r\n1 2\r\n", {("1", "2")}),
    "a comment behind a tab": ("e.txt", b"a b\n\t# c\n", {("a", "b")}),
    "gzip of another name": ("e.txt", gzip.compress(b"a b\nb c\n"), {("a", "b"), ("b", "c")}),
    "text with the name of gzip": ("e.txt.gz", b"a b\nb c\n", {("a", "b"), ("b", "c")}),
    "quoted spaces": ("e.csv", b'a," b"\nc," d"\n', {("a", " b"), ("c", " d")}),
    "spaces before a quote": ("e.csv", b'x,y\na, "b, c"\n', {("x", "y"), ("a", "b, c")}),
    "an unquoted space": ("e.csv", b'"a", b\nc, d\n', {("a", "b"), ("c", "d")}),
}


@pytest.mark.parametrize(("name", "data", "edges"), READ_WRONG_ONCE.values(), ids=READ_WRONG_ONCE)
def test_what_was_once_read_wrong(tmp_path, name, data, edges):
    (tmp_path / name).write_bytes(data)
    assert named_edges(read_edges(tmp_path / name)) == edges


def test_what_was_once_refused_in_words_of_others(tmp_path):
    cases = {
        "far.txt": (b"x" * 3_000_000 + b" b\n", "Maximum line size of 2000000 bytes exceeded"),
        "line.txt": (b"a b\n\x0b\n", ":2: expected 2 or 3 columns, got 1"),
        "return.csv": (b"a,b\rc,d\r\n", "see to its quotes and line endings"),
        "padded.txt.gz": (gzip.compress(b"a b\n") + b"\x00" * 4, "or unpack it first"),
    }
    for name, (data, message) in cases.items():
        (tmp_path / name).write_bytes(data)
        assert message in refusal(tmp_path / name, read_edges)
    path = tmp_path / "columns.txt"
    path.write_text("a b\n")
    for column in ("²", "9" * 5000, "-1", "0.0"):
        message = refusal(path, partial(read_edges, source=column))
        assert f'no column "{column}"' in message


@pytest.mark.parametrize("row", ['"a" "b"""\tc', '"a" \tc', ' "a" \tc'])
def test_text_after_a_closing_quote_is_refused(tmp_path, row):
    path = tmp_path / "edges.tsv"
    path.write_text(f'# x\n"say ""hi"" to"\tb\n{row}\n')
    assert "edges.tsv:3: expected a separator after a closing quote" in refusal(path, read_edges)


def test_spaces_before_an_opening_quote_are_refused_where_there_are_several(tmp_path):
    path = tmp_path / "edges.csv"
    path.write_text('a, "b"\nc,  "d"\n')
    message = refusal(path, read_edges)
    assert "edges.csv:2: expected an opening quote after the separator, got spaces" in message


def test_a_gzip_file_is_read_to_its_checksum(tmp_path):
    data = bytearray(gzip.compress(b"a b\n", compresslevel=0, mtime=0))
    data[data.index(b"a b")] = ord("z")
    path = tmp_path / "edges.txt.gz"
    path.write_bytes(data)
    assert "cut short or damaged" in refusal(path, read_edges)


def test_every_damaged_place_of_a_parquet_file(tmp_path, times, record):
    valid = parquet_bytes(tmp_path, PARQUET[1])
    path = tmp_path / "edges.parquet"
    counts = Counter()
    # There it says that no weight is below 0, which once was believed.
    statistics = 1376
    for place in sorted({statistics, *range(0, len(valid), times(150, 4))}):
        data = bytearray(valid)
        data[place] ^= 0xFF
        path.write_bytes(data)
        counts["refused" if refusal(path, read_edges) else "read"] += 1
    path.write_bytes(valid.replace(b"source", b"so\xffrce"))
    assert "damaged; write or fetch it again" in refusal(path, read_edges)
    counts["refused"] += 1
    cases = sum(counts.values())
    record("Input", input="Parquet, single bytes inverted", cases=cases, outcome=told(counts))


NAMES = (
    *("007", "7", "1", " 1", "1 ", "+1", "-0", "1e5", "1.0", "0x1", "1_000", "٣", "²"),
    *("NaN", "nan", "inf", "NULL", "null", "None", "N/A", "true", "\\N", "\\n", "\\"),
    *("New York", 'say "hi"', '"', "'", "a,b", "a\tb", "two\nlines", "a\rb", "a\r\nb", "\n", " "),
    *(
        "🦆",
        "é",
        "e\u0301",
        "\ufeff",
        "\u2028",
        "\x85",
        "\xa0",
        "\x00",
        "\x01",
        "\x1a",
        "x" * 10_000,
    ),
    *("#x", "% x", "source", "target", "../..", "$HOME", "%s", "{}", "[bold]"),
)


def quoted(separator):
    text = io.StringIO()
    rows = csv.writer(text, delimiter=separator, quoting=csv.QUOTE_ALL, lineterminator="\n")
    rows.writerows([("source", "target"), *((name, f"to {name}") for name in NAMES)])
    return text.getvalue().encode()


@pytest.mark.parametrize("kind", ["csv", "tsv", "csv.gz", "parquet"])
def test_names_come_back_as_they_were(tmp_path, record, kind):
    path = tmp_path / f"edges.{kind}"
    if kind == "parquet":
        import pandas as pd

        columns = {"source": NAMES, "target": [f"to {name}" for name in NAMES]}
        pd.DataFrame(columns).to_parquet(path)
    else:
        data = quoted("\t" if kind == "tsv" else ",")
        path.write_bytes(gzip.compress(data) if kind == "csv.gz" else data)
    # One of the names is "source": that the first line is no edge has to be said.
    settings = EdgeFileSettings(header="yes")
    ingest_edges(path, tmp_path / "graph", settings)
    graph = load_graph(tmp_path / "graph")
    assert named_edges(graph) == {(name, f"to {name}") for name in NAMES}
    assert [graph.nodes[i] for i in graph.nodes.ids(NAMES)] == list(NAMES)
    assert read_pairs(path, settings)[0] == list(NAMES)
    record("Input", input=f"odd names, {kind}", cases=len(NAMES), outcome="all come back")


def test_names_that_plain_text_holds_and_those_it_does_not(tmp_path, record):
    path = tmp_path / "edges.txt"
    spaced = {name for name in NAMES if re.search("[ \t\r\n]", name)}
    comments = {name for name in NAMES if name.startswith("#")}
    held = [name for name in NAMES if name not in spaced | comments]
    path.write_text("".join(f"{name} hub\n" for name in held), newline="")
    graph = read_edges(path, header="no")
    assert named_edges(graph) == {(name, "hub") for name in held}
    # With words on both sides, one name too many is a column too many.
    for name in spaced - {" ", " 1", "1 ", "\n"}:
        path.write_text(f"a b\n{name} hub\n", newline="")
        assert "columns" in refusal(path, read_edges)
    path.write_text("#x hub\n")
    assert 'if "#" starts a name, pass --comment ""' in refusal(path, read_edges)
    assert named_edges(read_edges(path, comment="")) == {("#x", "hub")}
    outcome = f"{len(held)} come back, those with spaces are refused"
    record("Input", input="odd names, txt", cases=len(NAMES), outcome=outcome)


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_an_empty_name_is_refused(tmp_path, kind):
    path = tmp_path / f"edges.{kind}"
    if kind == "csv":
        path.write_text('source,target\na,b\n"",b\n')
    else:
        path.write_bytes(parquet_bytes(tmp_path, "FROM (VALUES ('a', 'b'), ('', 'b')) t(u, v)"))
    assert "expected a source and a target, got an empty name" in refusal(path, read_edges)


# The rule: a weight is a number that float32 holds, greater than zero and finite. All else is
# refused by file and line, unless told to do without weights; sums of repeats keep to it too.
REFUSED = (
    *("nan", "inf", "-inf", "infinity", "-1", "-0.0", "0", "1e308", "1e39", "1e-46"),
    *("text", "1,5", "0x10", "1e", "--1", "½", "٣", ""),
)
TAKEN = {"1": 1, "+1": 1, "1e-45": 1.4e-45, "3.4e38": 3.4e38, ".5": 0.5, "5.": 5, "1_000": 1000}


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_weights_are_positive_and_finite(tmp_path, record, kind):
    path = tmp_path / f"edges.{kind}"

    def write(weights):
        if kind == "parquet":
            rows = ", ".join(f"('a', 'b{i}', '{weight}')" for i, weight in enumerate(weights))
            query = f"FROM (VALUES {rows}) t(source, target, weight)"
            path.write_bytes(parquet_bytes(tmp_path, query))
        else:
            rows = [f'a,b{i},"{weight}"' for i, weight in enumerate(weights)]
            path.write_text("\n".join(["source,target,weight", *rows]) + "\n")

    for weight in REFUSED:
        write([*TAKEN, weight])
        message = refusal(path, read_edges)
        assert f'expected a positive, finite weight, got "{weight}"' in message
        assert message.endswith('to do without weights, pass --weight ""')
    assert read_edges(path, weight="").weights is None
    write(TAKEN)
    assert read_edges(path).weights.tolist() == [np.float32(value) for value in TAKEN.values()]
    cases = len(REFUSED) + len(TAKEN)
    outcome = f"{len(REFUSED)} refused, {len(TAKEN)} kept"
    record("Input", input=f"odd weights, {kind}", cases=cases, outcome=outcome)


@pytest.mark.parametrize("directed", [True, False])
def test_weights_that_add_up_to_infinity_are_refused(tmp_path, directed):
    path = tmp_path / "edges.txt"
    path.write_text("a b 3e38\nb c 1\na b 3e38\n")
    settings = EdgeFileSettings(directed=directed)
    message = refusal(path, lambda path: ingest_edges(path, tmp_path / "graph", settings))
    assert "a repeated edge add up to 6e+38" in message
    assert not (tmp_path / "graph").exists()
