"""Result to HTTP: `serve`, and to a page in the browser: `explore`."""

from __future__ import annotations

import os
import re
import sys
import webbrowser
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from arcvec.cli.common import EdgeFileFlags, EdgeFiles, Result
from arcvec.serve.result import load_served
from arcvec.serve.schemas import ServeSettings
from arcvec.view.console import note, plain_print

ServeFlags = Annotated[ServeSettings, Parameter(name="*", group="Load")]

_LOOPBACK = ("127.0.0.1", "::1", "localhost")


def serve(
    result: Result,
    /,
    *,
    graph: Path | None = None,
    host: str = "127.0.0.1",
    port: int = 8000,
    token_file: Path | None = None,
    settings: ServeFlags = ServeSettings(),  # noqa: B008  frozen
    files: EdgeFiles = EdgeFileFlags(),  # noqa: B008
) -> None:
    """Answer questions about a result over HTTP: /v1/score, /v1/recommend, /v1/nodes.

    /openapi.json describes them, /healthz reports that the server answers, /metrics is for
    Prometheus. SIGHUP switches to the result newly written to the same folder; Ctrl-C or SIGTERM
    end it.

    Args:
        graph: graph folder, split folder (then its train part) or edge file with the known edges,
            which are not recommended again.
        host: address to listen on; by default only this machine is answered.
        port: port to listen on; 0 takes any that is free.
        token_file: file with the token that requests must bring as "Authorization: Bearer TOKEN";
            by default what the variable ARCVEC_TOKEN holds, if anything.
    """
    _require_extra()
    from arcvec.serve.app import behind_gate, make_app
    from arcvec.serve.service import Service, run_server

    token = _read_token(token_file)
    if token is None and host not in _LOOPBACK:
        note(f"whoever reaches {host} is answered; --token-file asks for a token")
    service = Service(partial(load_served, result, graph, files), settings)
    app = behind_gate(make_app(service), service, token)
    run_server(
        app, service, (host, port), ready=lambda url: _announce(f"{result}: served on {url}")
    )


def explore(
    result: Result,
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
        graph: graph folder, split folder (then its train part) or edge file with the known edges.
        nodes: .csv, .tsv or .parquet table to colour nodes by: names in the first column.
        host: address to listen on; by default only this machine is answered.
        port: port to listen on; 0 takes any that is free.
        open_browser: open the page in the browser.
    """
    _require_extra()
    from arcvec.serve.explore import make_explorer
    from arcvec.serve.service import run_server

    def announce(url: str) -> None:
        _announce(f"{url} shows the result; Ctrl-C ends it")
        if open_browser:
            webbrowser.open(url)

    if host not in _LOOPBACK:
        note(f"whoever reaches {host} sees this result")
    hosts = (*_LOOPBACK, "[::1]") if host in _LOOPBACK else ()
    load = partial(load_served, result, graph, files)
    app, service = make_explorer(load, result.resolve().name, nodes, hosts)
    run_server(app, service, (host, port), ready=announce)


def _announce(line: str) -> None:
    plain_print(line)
    sys.stdout.flush()  # scripts may wait for it


def _require_extra() -> None:
    """Raise an `ImportError` with the install command if the extra `serve` is missing."""
    for name in ("fastapi", "prometheus_client", "uvicorn"):
        if find_spec(name) is None:
            command = "pip install 'arcvec[serve]'"
            raise ImportError(f"the server needs {name}; install it with: {command}")


def _read_token(path: Path | None) -> str | None:
    """Return the token in a file, or in the environment; None if there is none."""
    given = os.environ.get("ARCVEC_TOKEN") if path is None else path.read_text(encoding="utf-8")
    token = None if given is None else given.strip()
    if token is None or re.fullmatch("[!-~]+", token):
        return token
    where = path or "$ARCVEC_TOKEN"
    raise ValueError(f"{where}: expected a token of ASCII characters without blanks, in one line")
