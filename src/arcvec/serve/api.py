"""The HTTP API: scores, recommendations, nodes, health and counts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from fastapi import FastAPI, Request, Response

from arcvec import __version__
from arcvec.serve import schemas
from arcvec.serve.batches import plain_score
from arcvec.serve.errors import add_error_handlers, json_response
from arcvec.serve.gate import Gate
from arcvec.serve.questions import described, question
from arcvec.serve.service import Service

if TYPE_CHECKING:
    from starlette.types import ASGIApp

_SUMMARY = "Scores and recommends the edges of a graph, from a source and a target vector per node."
_ERRORS: dict[int | str, dict[str, Any]] = {
    status: {"model": schemas.Problem, "description": words}
    for status, words in {
        400: "Not JSON, not UTF-8, or not a request that can be understood.",
        404: "Unknown node; the error offers close names.",
        413: "The body is too large.",
        414: "The query is too long.",
        422: "A value is out of its bounds, missing or unknown.",
        503: "Too much to do; ask again later.",
    }.items()
}


def make_app(service: Service) -> FastAPI:
    """Return the API of a service, not yet behind its gate."""
    # The usual pages about an API load scripts from elsewhere: none of them here.
    app = FastAPI(
        title="arcvec",
        summary=_SUMMARY,
        version=__version__,
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
    )
    add_error_handlers(app)
    _add_questions_in_urls(app, service)
    _add_questions_in_bodies(app, service)

    @app.get("/healthz", response_model=schemas.Health, summary="Whether the server answers")
    async def healthz() -> Response:
        return json_response({"status": "ok"})

    @app.get("/metrics", summary="Counts, as Prometheus reads them", response_class=Response)
    async def metrics() -> Response:
        return Response(service.metrics.text(), media_type="text/plain; version=0.0.4")

    return app


def behind_gate(app: FastAPI, service: Service, token: str | None = None) -> ASGIApp:
    """Return an app with its gate: see `Gate`."""
    if token is not None:
        _describe_token(app)
    routes = {route.path for route in app.routes if hasattr(route, "path")}
    max_requests = service.settings.max_requests
    return Gate(app, service.metrics, max_requests=max_requests, token=token, routes=routes)


def _add_questions_in_urls(app: FastAPI, service: Service) -> None:
    @app.get(
        "/v1/score",
        response_model=schemas.Score,
        responses=_ERRORS,
        openapi_extra=described(schemas.ScoreQuestion),
        summary="How likely an edge is",
    )
    async def score(request: Request) -> Response:
        asked = question(schemas.ScoreQuestion, request)
        (value,) = await _scores(service, [[asked.source, asked.target]])
        return json_response({"source": asked.source, "target": asked.target, "score": value})

    @app.get(
        "/v1/recommend",
        response_model=schemas.Recommendations,
        responses=_ERRORS,
        openapi_extra=described(schemas.RecommendQuestion),
        summary="The best new edges of a node",
    )
    async def recommend(request: Request) -> Response:
        asked, current = question(schemas.RecommendQuestion, request), service.current
        ids = await service.ids(current, [asked.node])
        (answer,) = await current.recommend(ids, asked.k, asked.direction)
        return Response(answer, media_type="application/json")

    @app.get(
        "/v1/nodes",
        response_model=schemas.Nodes,
        responses=_ERRORS,
        openapi_extra=described(schemas.NodesQuestion),
        summary="A node by its name, or nodes whose names start alike",
    )
    async def nodes(request: Request) -> Response:
        asked, current = question(schemas.NodesQuestion, request), service.current
        prefix = asked.prefix or ""
        if asked.name is None:
            found = current.served.completion.find(prefix, asked.limit + 1).tolist()
        else:
            alike = asked.name.casefold().startswith(prefix.casefold())
            found = await service.ids(current, [asked.name]) if alike else []
        facts = [current.served.facts(node) for node in found[: asked.limit]]
        return json_response({"nodes": facts, "more": len(found) > asked.limit})


def _add_questions_in_bodies(app: FastAPI, service: Service) -> None:
    @app.post(
        "/v1/score",
        response_model=schemas.Scores,
        responses=_ERRORS,
        summary="How likely many edges are",
    )
    async def score_many(asked: schemas.ScoreBody) -> Response:
        return json_response({"scores": await _scores(service, asked.pairs)})

    @app.post(
        "/v1/recommend",
        response_model=schemas.ManyRecommendations,
        responses=_ERRORS,
        summary="The best new edges of many nodes",
    )
    async def recommend_many(asked: schemas.RecommendBody) -> Response:
        current = service.current
        ids = await service.ids(current, asked.nodes)
        answers = await current.recommend(ids, asked.k, asked.direction)
        # In one piece: parts put together one by one would hold an answer of megabytes three times.
        answers[0] = b'{"answers": [' + answers[0]
        answers[-1] += b"]}"
        body = b", ".join(answers)
        return Response(body, media_type="application/json")


async def _scores(service: Service, pairs: list[list[str]]) -> list[float | None]:
    current = service.current
    ids = np.array(await service.ids(current, [name for pair in pairs for name in pair]))
    scores = current.served.embeddings.score(ids[::2], ids[1::2])
    return [plain_score(value) for value in scores.tolist()]


def _describe_token(app: FastAPI) -> None:
    """Say in the OpenAPI page that a token is needed."""
    page = app.openapi()
    schemes = page.setdefault("components", {}).setdefault("securitySchemes", {})
    schemes["token"] = {"type": "http", "scheme": "bearer"}
    page["security"] = [{"token": []}]
    page["paths"]["/healthz"]["get"]["security"] = []
