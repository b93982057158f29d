"""The HTTP API: scores, recommendations, nodes, health and metrics."""

from __future__ import annotations

import reprlib
from functools import partial
from typing import Annotated, Any

import numpy as np
from fastapi import FastAPI, Query, Request, Response
from fastapi.exceptions import RequestValidationError
from prometheus_client import CONTENT_TYPE_PLAIN_0_0_4, generate_latest
from starlette.exceptions import HTTPException
from starlette.routing import Route

from arcvec import __version__
from arcvec.serve import schemas
from arcvec.serve.gate import Gate, Refusal, json_response
from arcvec.serve.service import Service, plain_score

_SUMMARY = "Scores and recommends the edges of a graph, from a source and a target vector per node."
_ERRORS: dict[int | str, dict[str, Any]] = {
    status: {"model": schemas.Problem, "description": words}
    for status, words in {
        400: "Not JSON, not UTF-8, or not a request that can be understood.",
        404: "Unknown node; the error offers close names.",
        413: "The body is too large.",
        414: "The query is too long.",
        422: "A value is out of its bounds, missing or unknown.",
        503: "Overloaded; ask again later.",
    }.items()
}


def make_app(service: Service) -> FastAPI:
    """Return the API of a service, not yet behind its gate."""
    # FastAPI's pages about an API load scripts from other servers.
    app = FastAPI(
        title="arcvec",
        summary=_SUMMARY,
        version=__version__,
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
    )
    _add_error_handlers(app)
    _add_questions(app, service)

    @app.get("/healthz", response_model=dict[str, str], summary="Whether the server answers")
    async def healthz() -> Response:
        return json_response({"status": "ok"})

    @app.get("/metrics", summary="Metrics for Prometheus", response_class=Response)
    async def metrics() -> Response:
        text = generate_latest(service.metrics.registry)
        return Response(text, media_type=CONTENT_TYPE_PLAIN_0_0_4)

    return app


def behind_gate(app: FastAPI, service: Service, token: str | None = None) -> Gate:
    """Return an app with all its routes behind a gate."""
    if token is not None:
        page = app.openapi()
        schemes = page.setdefault("components", {}).setdefault("securitySchemes", {})
        schemes["token"] = {"type": "http", "scheme": "bearer"}
        page["security"] = [{"token": []}]
        page["paths"]["/healthz"]["get"]["security"] = []
    return Gate(app, service.metrics, max_requests=service.settings.max_requests, token=token)


def _add_questions(app: FastAPI, service: Service) -> None:
    get, post = partial(app.get, responses=_ERRORS), partial(app.post, responses=_ERRORS)

    @get("/v1/score", response_model=schemas.Score, summary="How likely an edge is")
    async def score(asked: Annotated[schemas.ScoreQuestion, Query()]) -> Response:
        (value,) = await _scores(service, [[asked.source, asked.target]])
        return json_response({"source": asked.source, "target": asked.target, "score": value})

    @post("/v1/score", response_model=schemas.Scores, summary="How likely many edges are")
    async def score_many(asked: schemas.ScoreBody) -> Response:
        return json_response({"scores": await _scores(service, asked.pairs)})

    one, many = schemas.Recommendations, schemas.ManyRecommendations

    @get("/v1/recommend", response_model=one, summary="The best new edges of a node")
    async def recommend(asked: Annotated[schemas.RecommendQuestion, Query()]) -> Response:
        (answer,) = await service.recommend([asked.node], asked)
        return Response(answer, media_type="application/json")

    @post("/v1/recommend", response_model=many, summary="The best new edges of many nodes")
    async def recommend_many(asked: schemas.RecommendBody) -> Response:
        answers = await service.recommend(asked.nodes, asked)
        content = b'{"answers": [%s]}' % b", ".join(answers)
        return Response(content, media_type="application/json")

    @get("/v1/nodes", response_model=schemas.Nodes, summary="Nodes by name or prefix")
    async def nodes(asked: Annotated[schemas.NodesQuestion, Query()]) -> Response:
        served, prefix = service.current.served, asked.prefix or ""
        if asked.name is None:
            found = served.completion.find(prefix, asked.limit + 1).tolist()
        else:
            matches = asked.name.casefold().startswith(prefix.casefold())
            found = await service.ids(served, [asked.name]) if matches else []
        facts = [served.facts(node) for node in found[: asked.limit]]
        return json_response({"nodes": facts, "more": len(found) > asked.limit})


async def _scores(service: Service, pairs: list[list[str]]) -> list[float | None]:
    served = service.current.served
    ids = np.array(await service.ids(served, [name for pair in pairs for name in pair]))
    return [plain_score(value) for value in served.embeddings.score(ids[::2], ids[1::2]).tolist()]


def _add_error_handlers(app: FastAPI) -> None:
    """Answer every error with `{"error": ...}`."""

    @app.exception_handler(RequestValidationError)
    async def invalid(_: Request, error: RequestValidationError) -> Response:
        problem = error.errors()[0]
        status = 400 if problem["type"] == "json_invalid" else 422
        return json_response({"error": _describe_problem(problem)}, status)

    @app.exception_handler(HTTPException)
    async def other(request: Request, error: HTTPException) -> Response:
        if isinstance(error, Refusal):
            return error.response()
        path, headers = request.url.path[:200], dict(error.headers or {})
        if error.status_code == 404:
            words = f"{path}: no such page; /openapi.json lists those there are"
        elif error.status_code == 405:
            # Each method of a path has its own route.
            routes = [one for one in app.routes if isinstance(one, Route) and one.path == path]
            methods = {method for route in routes for method in route.methods or ()}
            headers["Allow"] = ", ".join(sorted(methods))
            words = f"{path}: expected {headers['Allow']}, got {request.method}"
        elif isinstance(error.__cause__, UnicodeDecodeError):
            words = f"expected a body in UTF-8, got other bytes: {error.__cause__}"
        else:
            words = "expected JSON in the body, got what cannot be read as such"
        return json_response({"error": words}, error.status_code, headers)

    @app.exception_handler(Exception)
    async def unexpected(_: Request, error: Exception) -> Response:
        words = f"unexpected {type(error).__name__}: an error of the server, whose log says more"
        return json_response({"error": words}, 500)


def _describe_problem(problem: Any) -> str:
    """Return one line about an invalid request: where, what was expected, what came."""
    place, *names = (str(part) for part in problem["loc"])
    where = ".".join(names)
    if problem["type"] == "json_invalid":
        return f"expected JSON in the body, got text that is not: {problem['ctx']['error']}"
    if problem["type"] == "extra_forbidden":
        return f"unknown parameter {where[:100]!r}; /openapi.json lists those there are"
    if problem["type"] == "missing":
        return f"expected {where or 'JSON'} in the {place}, got none"
    expected = problem["msg"].removeprefix("Value error, ").removeprefix("Input should be ")
    subject = f"{where}: " if where else ""
    return f"{subject}expected {expected}, got {reprlib.repr(problem['input'])}"
