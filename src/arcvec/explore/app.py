"""The explorer: the API with a page on top, and what the page draws."""

from __future__ import annotations

import mimetypes
from collections.abc import Callable
from importlib.resources import files
from typing import TYPE_CHECKING

import numpy as np
from fastapi import FastAPI, Request, Response
from pydantic import Field

from arcvec.recommendation.candidates import Direction
from arcvec.serve.batches import plain_score
from arcvec.serve.errors import json_response
from arcvec.serve.questions import question
from arcvec.serve.refusal import Refusal
from arcvec.serve.schemas import Name, Question
from arcvec.serve.service import Service

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Receive, Scope, Send

    from arcvec.explore.scene import Scene
    from arcvec.serve.result import Served

MAX_EDGES = 500

# Nothing but this server is asked for anything, whatever a node may be called.
_HEADERS = {
    "content-security-policy": "default-src 'self'; frame-ancestors 'none'",
    "cache-control": "no-cache",
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
}


class ColoursQuestion(Question):
    """By what nodes are coloured."""

    by: Name


class EdgesQuestion(Question):
    """A node whose known edges are shown."""

    node: Name
    direction: Direction = "targets"
    limit: int = Field(200, ge=1, le=MAX_EDGES)


def add_page(
    app: FastAPI, service: Service, scene_of: Callable[[Served], Scene], title: str
) -> None:
    """Add the page, and what it asks for besides the API."""
    _add_files(app)

    @app.get("/explore/result", include_in_schema=False)
    async def result() -> Response:
        served = service.current.served
        return json_response(scene_of(served).describe(served, title))

    @app.get("/explore/names", include_in_schema=False)
    async def names() -> Response:
        text = service.current.served.embeddings.nodes.text.tobytes()
        return Response(text, media_type="text/plain; charset=utf-8", headers=_HEADERS)

    @app.get("/explore/places", include_in_schema=False)
    async def places() -> Response:
        return _binary(scene_of(service.current.served).places())

    @app.get("/explore/colours", include_in_schema=False)
    async def colours(request: Request) -> Response:
        asked = question(ColoursQuestion, request)
        try:
            return _binary(scene_of(service.current.served).colours(asked.by))
        except KeyError as error:
            raise Refusal(404, str(error.args[0])) from None

    @app.get("/explore/edges", include_in_schema=False)
    async def edges(request: Request) -> Response:
        asked, current = question(EdgesQuestion, request), service.current
        (node,) = await service.ids(current, [asked.node])
        return json_response(known_edges(current.served, node, asked.direction, asked.limit))


def known_edges(
    served: Served, node: int, direction: Direction, limit: int
) -> dict[str, int | list[dict[str, str | float | None]]]:
    """Return how many known edges a node has, and those of highest scores, best first."""
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


def only_for(app: ASGIApp, hosts: frozenset[str]) -> ASGIApp:
    """Return an app that answers requests addressed to these hosts only.

    Else a page from elsewhere could have its own name lead to this machine, and read the answers.
    """

    async def checked(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            host = dict(scope["headers"]).get(b"host", b"").decode("latin-1")
            if host.rpartition(":")[0] not in hosts and host not in hosts:
                words = f"expected a request to {' or '.join(sorted(hosts))}"
                await json_response({"error": words}, 403)(scope, receive, send)
                return
        await app(scope, receive, send)

    return checked


def _add_files(app: FastAPI) -> None:
    folder = files("arcvec.explore") / "page"
    for file in folder.iterdir():
        kind = mimetypes.guess_type(file.name)[0] or "application/octet-stream"
        path = "/" if file.name == "index.html" else f"/page/{file.name}"
        _add_file(app, path, file.read_bytes(), f"{kind}; charset=utf-8")


def _add_file(app: FastAPI, path: str, content: bytes, kind: str) -> None:
    @app.get(path, include_in_schema=False)
    async def page() -> Response:
        return Response(content, media_type=kind, headers=_HEADERS)


def _binary(content: bytes) -> Response:
    return Response(content, media_type="application/octet-stream", headers=_HEADERS)
