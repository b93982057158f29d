"""Graphs with obvious answers, the way to the shared data, a real browser, `--torture`."""

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from arcvec.graph.graph import Graph

# As the command line does, and before torch or numba is imported: see `arcvec.cli.main`.
os.environ.setdefault("GOMP_SPINCOUNT", "10000")

PROJECT = Path(__file__).parent.parent
TORTURES = PROJECT / "build" / "torture.jsonl"
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking"]


def pytest_sessionstart():
    """Let torch keep to OMP_NUM_THREADS: when numba starts its threads, it tells OpenMP otherwise.

    With two threads in each of two processes, tests of trainings take more than twice as long.
    """
    from arcvec.parallel.threads import start_numba

    start_numba()


def pytest_addoption(parser):
    parser.addoption(
        "--torture",
        metavar="FILE",
        help="inject faults by the hundred, and record there what was tried",
    )


def pytest_configure(config):
    if config.getoption("--torture") and not hasattr(config, "workerinput"):
        TORTURES.parent.mkdir(parents=True, exist_ok=True)
        TORTURES.write_text("")


def pytest_sessionfinish(session, exitstatus):
    """Write what was recorded as the tables of a page."""
    if not session.config.getoption("--torture") or hasattr(session.config, "workerinput"):
        return
    tables = {}
    for line in TORTURES.read_text().splitlines():
        table, row = json.loads(line)
        tables.setdefault(table, []).append(row)
    for rows in tables.values():
        rows.sort(key=lambda row: list(row.values())[:1])
    report = {
        "command": "make torture",
        "tables": [{"title": title, "rows": rows} for title, rows in sorted(tables.items())],
    }
    if exitstatus == 0:
        text = json.dumps(report, indent=2, ensure_ascii=False)
        path = Path(session.config.getoption("--torture"))
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text + "\n")


@pytest.fixture
def times(request):
    """Give how often to try something: `times(3, 50)` is 3 in `make test`, 50 in `make torture`."""
    torture = request.config.getoption("--torture") is not None
    return lambda quick, full: full if torture else quick


@pytest.fixture
def record(request):
    """Give a function that notes what was tried, for a table in the file of --torture.

    `record("Faults", fault="kill -9 of ingest", times=50, lost="nothing")`: all rows of a table
    have the same names. Called after the assertions: what is recorded has passed.
    """

    def write(table, **row):
        if request.config.getoption("--torture"):
            with TORTURES.open("a") as file:
                file.write(json.dumps([table, row]) + "\n")

    return write


@pytest.fixture
def path_graph() -> Graph:
    """0 -> 1 -> 2 -> 3 -> 4."""
    return Graph.from_edges([0, 1, 2, 3], [1, 2, 3, 4])


@pytest.fixture
def star_graph() -> Graph:
    """The hub, 0, points at 1, 2, 3, 4 and 5."""
    return Graph.from_edges([0] * 5, [1, 2, 3, 4, 5])


@pytest.fixture
def directed_cycle() -> Graph:
    """0 -> 1 -> ... -> 7 -> 0."""
    return Graph.from_edges(range(8), [1, 2, 3, 4, 5, 6, 7, 0])


@pytest.fixture
def two_cliques() -> Graph:
    """Undirected: everyone among 0..3 knows everyone, and so among 4..7; nobody knows both."""
    pairs = [(i + k, j + k) for k in (0, 4) for i in range(4) for j in range(i + 1, 4)]
    return Graph.from_edges(*zip(*pairs, strict=True), directed=False)


@pytest.fixture
def isolated_node() -> Graph:
    """0 -> 1, and 2 without any edge."""
    return Graph.from_edges([0], [1], nodes=3)


@pytest.fixture
def empty_graph() -> Graph:
    """No nodes, no edges."""
    return Graph.from_edges([], [])


@pytest.fixture(scope="session")
def shared_data() -> Callable[[str], Path]:
    """Give the path of a shared file or folder, as in `shared_data("splits/wiki-vote")`.

    Looks in `$ARCVEC_DATA`, then in `../shared/data`; the test is skipped where neither has it.
    """

    def find(name: str) -> Path:
        named = os.environ.get("ARCVEC_DATA")
        folders = [Path(named)] if named else []
        folders.append(PROJECT.parent / "shared" / "data")
        for folder in folders:
            if (folder / name).exists():
                return folder / name
        places = " or ".join(str(folder) for folder in folders)
        pytest.skip(f"needs {name}, which is not in {places}; set ARCVEC_DATA to where it is")

    return find


@pytest.fixture(scope="module")  # while it runs, no other event loop can
def browser():
    """The system's Chromium; tests are skipped where it, or playwright, is missing."""
    playwright = pytest.importorskip("playwright.sync_api", reason="needs playwright")
    found = shutil.which("chromium") or shutil.which("chromium-browser")
    if found is None:
        pytest.skip("needs chromium, which is not installed")
    with playwright.sync_playwright() as started:
        opened = started.chromium.launch(executable_path=found, args=FLAGS)
        yield opened
        opened.close()
