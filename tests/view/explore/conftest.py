"""Results to explore, and pages in a real browser that may ask nobody but their own server."""

import numpy as np
import pytest

from arcvec.embeddings import EdgeEmbeddings
from arcvec.graph.files import save_graph
from arcvec.graph.graph import Graph
from arcvec.graph.names import NodeNames
from tests.serve.processes import running

NUM_NODES = 300
ODD = ("<b>bold</b>", "two words", "a&b=c#d", "ünïcödé")
NAMES = NodeNames.from_strings([*ODD, *(f"node{i}" for i in range(len(ODD), NUM_NODES))])


def make_parts(width):
    """Return embeddings and a graph of edges that their scores favour, half of them known."""
    generator = np.random.default_rng(5)
    source, target = generator.normal(size=(2, NUM_NODES, width)).astype(np.float32)
    embeddings = EdgeEmbeddings(source, target, NAMES)
    scores = source @ target.T + generator.normal(size=(NUM_NODES, NUM_NODES))
    ends = np.nonzero(scores > np.quantile(scores, 0.98))
    return embeddings, Graph.from_edges(*ends, nodes=NAMES)


@pytest.fixture(scope="session")
def folder(tmp_path_factory):
    """Results of two and of eight numbers a side, a graph, and a table of nodes."""
    place = tmp_path_factory.mktemp("explore")
    for width in (2, 8):
        embeddings, graph = make_parts(width)
        embeddings.save(place / f"result{width}")
        save_graph(graph, place / f"graph{width}")
    one = embeddings.target[:, :2]
    EdgeEmbeddings.one_vector(one, [1, -0.5], NAMES, directed=False).save(place / "one")
    lines = [f'"{name}",{i},{"even" if i % 2 == 0 else "odd"}' for i, name in enumerate(NAMES)]
    (place / "nodes.csv").write_text("\n".join(["node,number,parity", *lines]) + "\n")
    return place


@pytest.fixture(scope="session")
def server(folder):
    """An explorer of two numbers a side with a graph and a table."""
    flags = ("--graph", folder / "graph2", "--nodes", folder / "nodes.csv")
    with running(folder, "explore", folder / "result2", *flags) as started:
        yield started
        assert "Traceback" not in started.logged()


@pytest.fixture
def open_page(browser):
    """Give a function that opens an address; no page may have erred or asked anybody else."""
    contexts, errors, asked, homes = [], [], [], set()

    def open_address(server, address="/", **options):
        context = browser.new_context(viewport={"width": 1300, "height": 800}, **options)
        contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(30_000)
        page.on("console", lambda message: message.type == "error" and errors.append(message.text))
        page.on("pageerror", lambda error: errors.append(str(error)))
        page.on("request", lambda request: asked.append(request.url))
        homes.add(f"{server.url}/")
        page.goto(server.url + address)
        page.wait_for_selector("#loading", state="hidden")
        return page

    yield open_address
    for context in contexts:
        context.close()
    assert errors == []
    assert len(asked) > 5
    assert [url for url in asked if not url.startswith(tuple(homes))] == []
