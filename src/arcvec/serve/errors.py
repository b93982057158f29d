"""What goes wrong with a request, as JSON."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from fastapi import Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.routing import APIRoute
from starlette.exceptions import HTTPException

from arcvec.serve.questions import describe_problem
from arcvec.serve.refusal import Refusal

if TYPE_CHECKING:
    from collections.abc import Mapping

    from fastapi import FastAPI


def json_response(
    value: object, status: int = 200, headers: Mapping[str, str] | None = None
) -> Response:
    """Return an answer in JSON, in ASCII: what is no valid text can still be told."""
    body = json.dumps(value).encode()
    return Response(body, status, headers, media_type="application/json")


def add_error_handlers(app: FastAPI) -> None:
    """Let an app answer every error by `{"error": ...}`."""

    @app.exception_handler(RequestValidationError)
    async def invalid(_: Request, error: RequestValidationError) -> Response:
        problem = error.errors()[0]
        status = 400 if problem["type"] == "json_invalid" else 422
        return json_response({"error": describe_problem(problem)}, status)

    @app.exception_handler(Refusal)
    async def refused(_: Request, refusal: Refusal) -> Response:
        return json_response({"error": str(refusal)}, refusal.status, refusal.headers)

    @app.exception_handler(HTTPException)
    async def other(request: Request, error: HTTPException) -> Response:
        path, headers = request.url.path[:200], dict(error.headers or {})
        words = "expected JSON in the body, got what cannot be read as such"
        if error.status_code == 404:
            words = f"{path}: no such page; /openapi.json lists those there are"
        elif error.status_code == 405:
            headers["Allow"] = _methods_of(app, path)
            words = f"{path}: expected {headers['Allow']}, got {request.method}"
        return json_response({"error": words}, error.status_code, headers)

    @app.exception_handler(Exception)
    async def unexpected(_: Request, error: Exception) -> Response:
        words = f"unexpected {type(error).__name__}: an error of the server, whose log says more"
        return json_response({"error": words}, 500)


def _methods_of(app: FastAPI, path: str) -> str:
    """Return the methods of a path, which has a route for each."""
    routes = [r for r in app.routes if isinstance(r, APIRoute) and r.path == path]
    return ", ".join(
        sorted({method for route in routes for method in route.methods or ()}) or ["GET"]
    )
