"""Result to HTTP: `serve`."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from arcvec.cli.flags import EdgeFileFlags, EdgeFiles
from arcvec.console import note, plain_print
from arcvec.serve.settings import ServeSettings

ServeFlags = Annotated[ServeSettings, Parameter(name="*", group="Load")]

TOKEN_VARIABLE = "ARCVEC_TOKEN"
LOOPBACK = ("127.0.0.1", "::1", "localhost")


def serve(
    result: Path,
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

    /openapi.json describes them, /healthz tells that the server answers, /metrics counts. SIGHUP
    switches to the result newly written to the same folder; Ctrl-C or SIGTERM end it.

    Args:
        result: result folder.
        graph: graph folder, split folder (then its train part) or edge file with the known edges,
            which are not recommended again.
        host: address to listen on; by default only this machine is answered.
        port: port to listen on; 0 takes any that is free.
        token_file: file with the token that requests must bring as "Authorization: Bearer TOKEN";
            by default what the variable ARCVEC_TOKEN holds, if anything.
    """
    require_extra()
    from arcvec.graph.files import open_graph
    from arcvec.serve.api import behind_gate, make_app
    from arcvec.serve.result import load_served
    from arcvec.serve.server import listen, serve_app
    from arcvec.serve.service import Service

    token = read_token(token_file)
    open_known = None if graph is None else lambda: open_graph(graph, files)
    service = Service(lambda: load_served(result, open_known), settings)
    with listen(host, port) as listener:
        if token is None and host not in LOOPBACK:
            note(f"whoever reaches {host} is answered; --token-file asks for a token")
        serve_app(
            lambda: behind_gate(make_app(service), service, token),
            service,
            result,
            listener,
            ready=lambda url: announce(f"{result}: served on {url}"),
        )


def announce(line: str) -> None:
    """Print a line that others may wait for."""
    plain_print(line)
    sys.stdout.flush()


def require_extra() -> None:
    """Raise an `ImportError` that says what to install, if the extra `serve` is not."""
    try:
        import fastapi  # noqa: F401
        import httptools  # noqa: F401
        import uvicorn  # noqa: F401
    except ImportError as error:
        raise ImportError(
            f"the server needs {error.name}; install it with: pip install 'arcvec[serve]'"
        ) from None


def read_token(path: Path | None) -> str | None:
    """Return the token in a file, or in the environment; None if there is none."""
    if path is None:
        token, place = os.environ.get(TOKEN_VARIABLE), f"${TOKEN_VARIABLE}"
        if token is None:
            return None
    else:
        token, place = path.read_text(encoding="utf-8"), str(path)
    token = token.strip()
    if not token or not token.isascii() or not token.isprintable() or " " in token:
        raise ValueError(
            f"{place}: expected a token of ASCII characters without blanks, in one line"
        )
    return token
