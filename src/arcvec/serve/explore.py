"""The explorer: the API with a page on top, and the data that the page draws."""

from __future__ import annotations

import mimetypes
from collections.abc import Callable, Sequence
from functools import lru_cache, partial
from importlib.resources import files
from pathlib import Path
from typing import Annotated, Any

import numpy as np
from fastapi import FastAPI, Query, Response
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.types import ASGIApp

from arcvec.recommendation.exact import Direction
from arcvec.serve.app import behind_gate, make_app
from arcvec.serve.gate import Refusal, json_response
from arcvec.serve.result import Served
from arcvec.serve.schemas import Name, ServeSettings
from arcvec.serve.service import Service, plain_score
from arcvec.view.explore.scene import Scene

Limit = Annotated[int, Query(ge=1, le=500)]

# The page may load nothing from other servers, whatever the names of nodes contain.
_HEADERS = {
    "content-security-policy": "default-src 'self'; frame-ancestors 'none'",
    "cache-control": "no-cache",
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
}


def make_explorer(
    load: Callable[[], Served], title: str, table: Path | None, hosts: Sequence[str]
) -> tuple[ASGIApp, Service]:
    """Return the explorer of a result, and its service; see `read_colourings` for the table.

    Requests must be for one of the `hosts`, if there are any: else the page of another server could
    make its name point here, and read answers.
    """

    @lru_cache(maxsize=1)
    def scene_of(served: Served) -> Scene:
        return Scene.of(served.embeddings, served.known if served.has_graph else None, table)

    def load_with_scene() -> Served:
        served = load()
        scene_of(served)  # so that errors are raised now, and the page opens quickly
        return served

    service = Service(load_with_scene, ServeSettings())
    app = make_app(service)
    add_page(app, service, scene_of, title)
    gate = behind_gate(app, service)
    return (TrustedHostMiddleware(gate, hosts, www_redirect=False) if hosts else gate), service


def add_page(
    app: FastAPI, service: Service, scene_of: Callable[[Served], Scene], title: str
) -> None:
    """Add the page and the routes of its data to an API."""
    get = partial(app.get, include_in_schema=False)
    for file in (files("arcvec.view.explore") / "page").iterdir():
        kind = mimetypes.guess_type(file.name)[0] or "application/octet-stream"
        path = "/" if file.name == "index.html" else f"/page/{file.name}"
        page = partial(_response, file.read_bytes(), f"{kind}; charset=utf-8")
        app.add_api_route(path, page, include_in_schema=False)

    @get("/explore/result")
    async def result() -> Response:
        return json_response(scene_of(service.current.served).describe(title))

    @get("/explore/names")
    async def names() -> Response:
        text = service.current.served.embeddings.nodes.text.tobytes()
        return _response(text, "text/plain; charset=utf-8")

    @get("/explore/places")
    async def places() -> Response:
        return _response(scene_of(service.current.served).places())

    @get("/explore/colours")
    async def colours(by: Name) -> Response:
        try:
            return _response(scene_of(service.current.served).colours(by))
        except KeyError as error:
            raise Refusal(404, str(error.args[0])) from None

    @get("/explore/edges")
    async def edges(node: Name, direction: Direction = "targets", limit: Limit = 200) -> Response:
        served = service.current.served
        ids = await service.ids(served, [node])
        return json_response(known_edges(served, ids[0], direction, limit))


def known_edges(served: Served, node: int, direction: Direction, limit: int) -> dict[str, Any]:
    """Return the number of known edges of a node, and those of highest scores, best first."""
    rows = served.known if direction == "targets" else served.known.transposed
    others = rows.indices[rows.indptr[node] : rows.indptr[node + 1]].astype(np.int64)
    same = np.full(others.size, node)
    ends = (same, others) if direction == "targets" else (others, same)
    scores = served.embeddings.score(*ends)
    best = np.argsort(-scores, kind="stable")[:limit]
    names = served.embeddings.nodes.at(others[best])
    found = zip(names, scores[best].tolist(), strict=True)
    edges = [{"node": name, "score": plain_score(score)} for name, score in found]
    return {"total": int(others.size), "edges": edges}


def _response(content: bytes, kind: str = "application/octet-stream") -> Response:
    return Response(content, media_type=kind, headers=_HEADERS)
