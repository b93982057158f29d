"""What is read stays data: no code, no SQL, no file of another folder comes out of it."""

import ast
import json
import re
import shutil
import sys
from pathlib import Path

import numpy as np
import pyarrow
import pytest
from pyarrow import parquet

from arcvec.embeddings import EdgeEmbeddings
from arcvec.graph.files import load_graph, save_graph
from arcvec.graph.graph import Graph
from arcvec.graph.names import NodeNames
from arcvec.graph.split import read_split, save_split, split_edges
from arcvec.ingest.ingest import ingest_edges, read_edges, read_pairs
from arcvec.ingest.layout import EdgeFileSettings
from arcvec.recommendation.approximate import open_index
from arcvec.view.explore.scene import read_colourings

PACKAGE = Path(__file__).parent.parent.parent / "src" / "arcvec"

MODULES = {"pickle", "marshal", "shelve", "dill", "joblib", "cloudpickle"}
BUILTINS = {"eval", "exec", "compile", "__import__"}
FUNCTIONS = {"torch.load", "yaml.load", "yaml.unsafe_load", "os.system", "os.popen"}
FUNCTIONS |= {f"builtins.{name}" for name in BUILTINS} | {"pandas.read_pickle"}

BAD_SNIPPETS = (
    "import pickle",
    "from joblib import load",
    "import dill.source as d",
    "eval('1')",
    "exec(text)",
    "compile(text, '', 'exec')",
    "import builtins\nbuiltins.exec(text)",
    "import torch\ntorch.load(path)",
    "from torch import load as read\nread(path)",
    "import numpy as np\nnp.load(path)",
    "import numpy as np\nnp.load(path, allow_pickle=True)",
    "import numpy as np\nnp.load(path, **options)",
    "from numpy import load\nload(path, allow_pickle=wanted)",
    "import yaml\nyaml.load(text)",
    "import os\nos.system('ls')",
    "import subprocess\nsubprocess.run('ls', shell=True)",
    "from subprocess import Popen\nPopen('ls', shell=wanted)",
    "f'SELECT * FROM {path}'",
    "f'SELECT {layout.columns[0]} FROM raw'",
    "f'INSERT INTO raw VALUES ({settings.comment})'",
    "'SELECT * FROM {}'.format(path)",
    "'SELECT * FROM %s' % path",
    "'SELECT * FROM ' + path",
)
GOOD_SNIPPETS = (
    "import re\nre.compile('a')",
    "import numpy as np\nnp.load(path, allow_pickle=False)",
    "import subprocess\nsubprocess.run(['ls'], shell=False)",
    "f'SELECT {_quoted(layout.columns[0])} FROM read_parquet(?)'",
    "f'SELECT * FROM {READERS[path.suffix]}(?)'",
    "f'{path}: expected a table, got none'",
)

SQL = re.compile(r"\b(SELECT|INSERT|CREATE|FROM|WHERE|VALUES|JOIN|COPY|ATTACH|AS)\b")
# What users say and files hold, by the names that the source has for it.
FROM_OUTSIDE = {"path", "comment", "layout", "settings", "separator"}


def faults_in(source):
    """Return what in a source text could make code, or SQL, of data."""
    tree = ast.parse(source)
    names = imported_names(tree)
    faults = [f"import of {name}" for name in names.values() if name.split(".")[0] in MODULES]
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            faults += call_faults(node, names)
        faults += [f"SQL from {ast.unparse(part)}" for part in sql_parts(node) if is_outside(part)]
    return faults


def imported_names(tree):
    """Return the full name of all that is imported, by the name it has here."""
    names = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                names[alias.asname or alias.name] = alias.name
        elif isinstance(node, ast.ImportFrom):
            names |= {
                alias.asname or alias.name: f"{node.module}.{alias.name}" for alias in node.names
            }
    return names


def call_faults(call, names):
    called = ast.unparse(call.func)
    first, dot, rest = called.partition(".")
    full = names.get(first, first) + dot + rest
    options = {keyword.arg: ast.unparse(keyword.value) for keyword in call.keywords}
    if full in BUILTINS | FUNCTIONS:
        return [full]
    if full == "numpy.load" and options.get("allow_pickle") != "False":
        return ["numpy.load without allow_pickle=False"]
    if full.startswith("subprocess.") and options.get("shell", "False") != "False":
        return ["subprocess with a shell"]
    return []


def sql_parts(node):
    """Return the expressions that are put into SQL: by f-string, %, + or format."""
    if isinstance(node, ast.JoinedStr):
        text = " ".join(part.value for part in node.values if isinstance(part, ast.Constant))
        parts = [part.value for part in node.values if isinstance(part, ast.FormattedValue)]
    elif isinstance(node, ast.BinOp) and isinstance(node.left, ast.Constant):
        text, parts = str(node.left.value), [node.right]
    elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        if node.func.attr != "format" or not isinstance(node.func.value, ast.Constant):
            return []
        text, parts = str(node.func.value.value), node.args
    else:
        return []
    return parts if SQL.search(text) else []


def is_outside(part):
    """Tell whether an expression is a value from outside, neither quoted nor a key of a table."""
    if isinstance(part, ast.Call) and ast.unparse(part.func) == "_quoted":
        return False
    if isinstance(part, ast.Subscript) and ast.unparse(part.value).isupper():
        return False
    return any(isinstance(node, ast.Name) and node.id in FROM_OUTSIDE for node in ast.walk(part))


def test_nothing_in_the_source_runs_data(record):
    paths = sorted(PACKAGE.rglob("*.py"))
    found = {str(path): faults for path in paths if (faults := faults_in(path.read_text()))}
    assert not found
    quoting = [p for p in paths if re.search(r"def \w*quot\w*\(", p.read_text())]
    assert [path.name for path in quoting] == ["table.py"]
    record("Checks", check="code from data, by source file", cases=len(paths), outcome="none")


@pytest.mark.parametrize("snippet", BAD_SNIPPETS)
def test_what_would_run_data_is_found(snippet):
    assert faults_in(snippet)


@pytest.mark.parametrize("snippet", GOOD_SNIPPETS)
def test_what_does_not_is_left_alone(snippet):
    assert not faults_in(snippet)


HOSTILE = (
    "a'; DROP TABLE raw; --",
    'a" AS source FROM raw; --',
    "*",
    "[ab]",
    "?",
    "a\\b",
    "$(touch here)",
    "two\nlines",
    "{name} %s ?1 $1",
)
EDGES = [(f"{name} 1", f"{name} 2") for name in HOSTILE]


def write_edges(path, columns, edges):
    """Write edges as csv, spaced text or Parquet, under column names of any kind."""
    if path.suffix == ".parquet":
        values = zip(*edges, strict=True)
        table = pyarrow.table(dict(zip(columns, values, strict=True)))
        with path.open("wb") as file:  # pyarrow has a meaning of its own for some names
            parquet.write_table(table, file)
        return
    rows = [columns, *edges]
    quoted = [",".join('"' + value.replace('"', '""') + '"' for value in row) for row in rows]
    path.write_text("\n".join(quoted) + "\n")


def edges_of(graph):
    return {(graph.nodes[u], graph.nodes[v]) for u, v in zip(*graph.edges(), strict=True)}


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_hostile_names_and_values_are_only_text(tmp_path, record, suffix):
    """Of files, of columns and of nodes; beside each file lies what a pattern would match."""
    folder = tmp_path / "in"
    folder.mkdir()
    for decoy in ("a", "b", "x"):
        write_edges(folder / f"{decoy}{suffix}", ("source", "target"), [("wrong", "file")])
    for name in HOSTILE:
        path, columns = folder / f"{name}{suffix}", (name, f"{name}, too")
        write_edges(path, columns, EDGES)
        settings = EdgeFileSettings(source=columns[0], target=columns[1], header="yes")
        assert edges_of(read_edges(path, settings)) == set(EDGES)
        path.unlink()
    write_edges(path, columns, EDGES)
    assert list(zip(*read_pairs(path, settings), strict=True)) == EDGES
    assert not list(Path().glob("here"))
    record(
        "Checks",
        check=f"hostile names and values in {suffix}",
        cases=len(HOSTILE),
        outcome="read as text",
    )


def test_hostile_outputs_are_only_text(tmp_path, record):
    edges = tmp_path / "edges.txt"
    edges.write_text("one two\n")
    names = ("a'; DROP TABLE raw; --", "*", "md:a", "a?b")
    for name in names:
        ingest_edges(edges, tmp_path / "out" / name)
        assert edges_of(load_graph(tmp_path / "out" / name)) == {("one", "two")}
    written = {path.name for path in (tmp_path / "out").iterdir() if path.name[0] != "."}
    assert written == set(names)
    record("Checks", check="hostile names of outputs", cases=len(names), outcome="only text")


@pytest.mark.parametrize(
    "changes",
    [
        {"comment": "'; --"},
        {"comment": "') OR (1=1"},
        {"separator": "';--"},
        {"separator": "'"},
        {"separator": "?"},
    ],
    ids=str,
)
def test_hostile_settings_are_only_text(tmp_path, record, changes):
    separator, comment = changes.get("separator", " "), changes.get("comment", "#")
    path = tmp_path / "edges.txt"
    path.write_text(f"{comment} no edge\nu{separator}v\n{comment} none\nv{separator}w\n")
    if "separator" in changes:
        path.write_text(f"u{separator}v\nv{separator}w\n")
    graph = read_edges(path, EdgeFileSettings(**changes))
    assert edges_of(graph) == {("u", "v"), ("v", "w")}
    record("Checks", check=f"hostile setting {changes}", cases=1, outcome="read as text")


def test_bad_rows_under_hostile_names_are_told(tmp_path, record):
    """The second look, which finds the row, quotes as the first one does."""
    for name in HOSTILE:
        path = tmp_path / f"{name}.parquet"
        write_edges(path, (name, f"{name}, too"), [("u", "v"), ("u", "")])
        with pytest.raises(ValueError, match="row 2: expected a source and a target"):
            read_edges(path, source=name, target=f"{name}, too")
        path.unlink()
    record("Checks", check="bad row, hostile names", cases=len(HOSTILE), outcome="row named")


def test_tables_of_nodes_with_hostile_names(tmp_path, record):
    """A pattern would colour by the tables beside it, a folder `k=1` by a column of its own."""
    for decoy in ("a", "b", "x"):
        (tmp_path / f"{decoy}.csv").write_text("node,secret\nu,red\n")
    for name in HOSTILE:
        path = tmp_path / "k=1" / f"{name}.csv"
        path.parent.mkdir(exist_ok=True)
        for decoy in ("a", "b", "x"):
            shutil.copy(tmp_path / f"{decoy}.csv", path.parent)
        path.write_text("node,colour\nu,red\nv,blue\n")
        colourings = read_colourings(path, NodeNames.from_strings("uv"))
        assert [colouring.name for colouring in colourings] == ["colour"]
        path.unlink()
    record(
        "Checks", check="node table, hostile names", cases=len(HOSTILE), outcome="that file only"
    )


def make_graph():
    sources, targets = np.random.default_rng(0).integers(30, size=(2, 120))
    return Graph.from_edges(sources, targets, nodes=30, weights=np.ones(120))


def make_result():
    source, target = np.random.default_rng(1).normal(size=(2, 30, 4)).astype(np.float32)
    return EdgeEmbeddings(source, target, NodeNames.numbered(30), settings={"method": "x"})


def load_with_index(folder):
    embeddings = EdgeEmbeddings.load(folder)
    open_index(folder, embeddings)
    return embeddings


FOLDERS = {
    "graph": (lambda path: save_graph(make_graph(), path), load_graph, "meta.json"),
    "split": (
        lambda path: save_split(split_edges(make_graph(), seed=0), path),
        read_split,
        "split.json",
    ),
    "result": (lambda path: make_result().save(path), load_with_index, "settings.json"),
}


@pytest.fixture(scope="module")
def opened():
    """Names of all files that Python and numpy open; what they are asked for, before it is done."""
    names, watching = [], [True]

    def note(event, arguments):
        if watching and event == "open":
            names.append(str(arguments[0]))

    sys.addaudithook(note)  # for good: hooks cannot be taken away, only told to rest
    yield names
    watching.clear()


@pytest.fixture(scope="module")
def secret(tmp_path_factory):
    """A folder with files of all names that ours have; what is in `ours` beside it is ours."""
    folder = tmp_path_factory.mktemp("place") / "secret"
    for name, (write, _, _) in FOLDERS.items():
        write(folder / name)
    (folder / "nodes.txt").write_text("secret\n" * 30)
    return folder


@pytest.fixture
def ours(secret):
    """Where a folder goes that must not show anything of the other."""
    folder = secret.parent / "ours"
    yield folder
    shutil.rmtree(folder)


def write_unchecked(kind, folder):
    """Write a folder to be changed, of which no checksums say that it was."""
    shutil.rmtree(folder, ignore_errors=True)
    FOLDERS[kind][0](folder)
    (folder / "checksums.txt").unlink(missing_ok=True)


def outside(names, secret):
    return {name for name in names if str(secret) in str(Path(name).resolve())}


def test_opened_files_are_seen(secret, opened):
    opened.clear()
    NodeNames.load(secret / "nodes.txt")
    np.load(secret / "result" / "source.npy")
    np.load(secret / ".." / "secret" / "result" / "source.npy", mmap_mode="r")
    assert len(outside(opened, secret)) == 3


@pytest.mark.parametrize("kind", FOLDERS)
def test_headers_name_no_files(secret, ours, opened, record, kind):
    """Whatever paths a header holds, under whatever keys: none of them is opened."""
    _, read, header_name = FOLDERS[kind]
    paths = ["../secret/nodes.txt", str(secret / "nodes.txt"), f"../secret/{kind}/source.npy"]
    keys = ("nodes", "source", "target", "vectors", "indptr", "files", "path", "from", "data")
    tried = 0
    for path in paths:
        write_unchecked(kind, ours)
        header = json.loads((ours / header_name).read_text())
        texts = {key: path for key, value in header.items() if isinstance(value, str)}
        header |= dict.fromkeys(keys, path) | texts | {"format": header["format"]}
        (ours / header_name).write_text(json.dumps(header))
        opened.clear()
        read(ours)
        assert str(ours / header_name) in opened
        assert not outside(opened, secret)
        tried += len(header)
    record("Checks", check=f"paths in the header of a {kind}", cases=tried, outcome="not opened")


@pytest.mark.parametrize("kind", FOLDERS)
def test_lists_of_checksums_stay_in_their_folder(secret, ours, opened, record, kind):
    write, read, _ = FOLDERS[kind]
    write(ours)
    names = ["../secret/nodes.txt", "..", str(secret / "nodes.txt")]
    for name in names:
        (ours / "checksums.txt").write_text(f"{'0' * 64}  {name}\n")
        opened.clear()
        with pytest.raises(ValueError, match=r"checksums\.txt"):
            read(ours)
        assert not outside(opened, secret)
    record("Checks", check=f"paths in checksums of a {kind}", cases=len(names), outcome="refused")


LINKS = [("graph", "nodes.txt"), ("result", "nodes.txt")]
LINKS += [("split", f"{part}.npy") for part in ("train.txt", "test.txt", "train.weights")]
LINKS += [("split", "index.json")]


@pytest.mark.parametrize(("kind", "name"), LINKS)
def test_links_that_leave_a_folder_are_refused(secret, ours, opened, record, kind, name):
    """Straight or by way of another link; one that stays inside may be followed."""
    read = FOLDERS[kind][1]
    write_unchecked(kind, ours)
    inner = (ours / name).rename(ours / "moved")
    (ours / name).symlink_to("moved")
    read(ours)
    targets = (secret / kind / name, Path("..") / "secret" / kind / name)
    for target in targets:
        inner.unlink()
        inner.symlink_to(target)
        opened.clear()
        with pytest.raises(ValueError, match=f"{name}: .* a link that leaves it"):
            read(ours)
        assert not outside(opened, secret)
    record("Checks", check=f"link out of a {kind}: {name}", cases=len(targets), outcome="refused")


@pytest.mark.parametrize(("kind", "name"), [("graph", "indices.npy"), ("result", "source.npy")])
def test_links_to_what_is_no_array_tell_nothing_of_it(secret, ours, record, kind, name):
    write_unchecked(kind, ours)
    (ours / name).unlink()
    (ours / name).symlink_to(secret / "nodes.txt")
    with pytest.raises(ValueError, match=name) as refusal:
        FOLDERS[kind][1](ours)
    assert "secret\n" not in str(refusal.value)
    record("Checks", check=f"link of a {kind} to text: {name}", cases=1, outcome="refused")
