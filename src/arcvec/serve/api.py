"""The HTTP API: scores, recommendations, nodes, health and counts."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import numpy as np
from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException

from arcvec import __version__
from arcvec.serve import schemas
from arcvec.serve.batches import plain_score
from arcvec.serve.gate import Gate
from arcvec.serve.questions import describe_problem, described, question
from arcvec.serve.refusal import Refusal
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
    _add_error_handlers(app)
    _add_questions_in_urls(app, service)
    _add_questions_in_bodies(app, service)

    @app.get("/healthz", response_model=schemas.Health, summary="Whether the server answers")
    async def healthz() -> Response:
        return _json({"status": "ok"})

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
        return _json({"source": asked.source, "target": asked.target, "score": value})

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
        if asked.name is not None:
            found = await service.ids(current, [asked.name])
        else:
            completion = current.served.completion
            found = completion.find(asked.prefix or "", asked.limit + 1).tolist()
        facts = [current.served.facts(node) for node in found[: asked.limit]]
        return _json({"nodes": facts, "more": len(found) > asked.limit})


def _add_questions_in_bodies(app: FastAPI, service: Service) -> None:
    @app.post(
        "/v1/score",
        response_model=schemas.Scores,
        responses=_ERRORS,
        summary="How likely many edges are",
    )
    async def score_many(asked: schemas.ScoreBody) -> Response:
        return _json({"scores": await _scores(service, asked.pairs)})

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
        body = b'{"answers": [' + b", ".join(answers) + b"]}"
        return Response(body, media_type="application/json")


async def _scores(service: Service, pairs: list[list[str]]) -> list[float | None]:
    current = service.current
    ids = np.array(await service.ids(current, [name for pair in pairs for name in pair]))
    scores = current.served.embeddings.score(ids[::2], ids[1::2])
    return [plain_score(value) for value in scores.tolist()]


def _json(value: object, status: int = 200, headers: Any = None) -> Response:
    # ASCII, so that a name that is no valid text is still a valid answer.
    body = json.dumps(value).encode()
    return Response(body, status, headers, media_type="application/json")


def _add_error_handlers(app: FastAPI) -> None:
    @app.exception_handler(RequestValidationError)
    async def invalid(_: Request, error: RequestValidationError) -> Response:
        problem = error.errors()[0]
        status = 400 if problem["type"] == "json_invalid" else 422
        return _json({"error": describe_problem(problem)}, status)

    @app.exception_handler(Refusal)
    async def refused(_: Request, refusal: Refusal) -> Response:
        return _json({"error": str(refusal)}, refusal.status, refusal.headers)

    @app.exception_handler(Exception)
    async def unexpected(_: Request, error: Exception) -> Response:
        words = f"unexpected {type(error).__name__}: an error of the server, whose log says more"
        return _json({"error": words}, 500)

    @app.exception_handler(HTTPException)
    async def other(request: Request, error: HTTPException) -> Response:
        return _json(
            {"error": _describe_http_error(request, error)}, error.status_code, error.headers
        )


def _describe_http_error(request: Request, error: HTTPException) -> str:
    method, path = request.method, request.url.path
    if error.status_code == 404:
        return f"{path}: no such page; /openapi.json lists those there are"
    if error.status_code == 405:
        allowed = (error.headers or {}).get("Allow", "another method")
        return f"{path}: expected {allowed}, got {method}"
    if error.status_code == 400:
        return "expected JSON in the body, got what cannot be read as such"
    return str(error.detail)


def _describe_token(app: FastAPI) -> None:
    """Say in the OpenAPI page that a token is needed."""
    page = app.openapi()
    schemes = page.setdefault("components", {}).setdefault("securitySchemes", {})
    schemes["token"] = {"type": "http", "scheme": "bearer"}
    page["security"] = [{"token": []}]
    page["paths"]["/healthz"]["get"]["security"] = []
