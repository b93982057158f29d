"""Result to a page in the browser: `explore`."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from arcvec.cli.flags import EdgeFileFlags, EdgeFiles
from arcvec.cli.serve import LOOPBACK, announce, require_extra
from arcvec.console import note
from arcvec.serve.settings import ServeSettings

if TYPE_CHECKING:
    from arcvec.serve.result import Served


def explore(
    result: Path,
    /,
    *,
    graph: Path | None = None,
    nodes: Path | None = None,
    host: str = "127.0.0.1",
    port: int = 8050,
    open_browser: Annotated[bool, Parameter(name="--open", negative=())] = False,
    files: EdgeFiles = EdgeFileFlags(),  # noqa: B008  frozen
) -> None:
    """Show both spaces of a result in a page: search, click, see known edges and predictions.

    Everything comes from this machine and stays on it. Two numbers a side are drawn as they are, of
    more the best projection. Ctrl-C ends it.

    Args:
        result: result folder.
        graph: graph folder, split folder (then its train part) or edge file with the known edges.
        nodes: .csv, .tsv or .parquet table to colour nodes by: names in the first column.
        host: address to listen on; by default only this machine is answered.
        port: port to listen on; 0 takes any that is free.
        open_browser: open the page in the browser.
    """
    require_extra()
    from arcvec.explore.app import add_page, only_for
    from arcvec.explore.scene import Scene
    from arcvec.graph.files import open_graph
    from arcvec.serve.api import behind_gate, make_app
    from arcvec.serve.result import load_served
    from arcvec.serve.server import listen, serve_app
    from arcvec.serve.service import Service

    open_known = None if graph is None else lambda: open_graph(graph, files)
    scene_of = lru_cache(maxsize=1)(lambda served: Scene.of(served, nodes))

    def load() -> Served:
        served = load_served(result, open_known)
        scene_of(served)  # so that an error comes now, and the page quickly
        return served

    service = Service(load, ServeSettings())
    api = make_app(service)
    add_page(api, service, scene_of, result.resolve().name)
    app = behind_gate(api, service)
    if host in LOOPBACK:
        app = only_for(app, frozenset({*LOOPBACK, "[::1]"}))
    else:
        note(f"whoever reaches {host} sees this result")
    with listen(host, port) as listener:
        serve_app(
            lambda: app, service, result, listener, ready=lambda url: _show(url, open_browser)
        )


def _show(url: str, open_browser: bool) -> None:
    announce(f"{url} shows the result; Ctrl-C ends it")
    if open_browser:
        import webbrowser

        webbrowser.open(url)
