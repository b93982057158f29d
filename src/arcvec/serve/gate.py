"""Admission of requests: token, size of query and body, load; metrics of all of them."""

from __future__ import annotations

import asyncio
import hmac
import json
import time
from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING
from urllib.parse import parse_qsl

from fastapi import FastAPI, Response
from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, ProcessCollector
from starlette.exceptions import HTTPException
from starlette.routing import Route

if TYPE_CHECKING:
    from starlette.types import Message, Receive, Scope, Send

MAX_BODY_BYTES = 1 << 20
_MAX_QUERY_BYTES = 32_768
_MAX_PARAMETERS = 100
_BODY_SECONDS = 10
_BUCKETS = (0.001, 0.0025, 0.005, 0.01, 0.02, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5)
_PUBLIC = "/healthz"
_NEVER_OVERLOADED = (_PUBLIC, "/metrics")


class Metrics:
    """Prometheus metrics of one server, in a registry of their own."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        ProcessCollector(registry=self.registry)
        counter = partial(Counter, namespace="arcvec", registry=self.registry)
        gauge = partial(Gauge, namespace="arcvec", registry=self.registry)
        words = "Requests answered, by route and status."
        self.requests = counter("requests", words, ("route", "status"))
        self.request_seconds = Histogram(
            "arcvec_request_seconds",
            "From a request's head to the end of its response.",
            ("route",),
            buckets=_BUCKETS,
            registry=self.registry,
        )
        self.batches = counter("batches", "Searches for recommendations, each for several nodes.")
        self.batch_nodes = counter("batch_nodes", "Nodes in these searches.")
        self.cache_hits = counter("cache_hits", "Recommendations answered from the cache.")
        self.reloads = counter("reloads", "Results loaded after the first.")
        self.failed_reloads = counter("failed_reloads", "Results that could not be loaded.")
        self.in_progress = gauge("requests_in_progress", "Requests being worked on.")
        self.nodes = gauge("nodes", "Nodes of the result that is served.")
        self.loaded_at = gauge("result_loaded_seconds", "When it was loaded, since 1970.")


class Refusal(HTTPException):
    """A request that is answered with an error status, and with a message of ours."""

    def response(self) -> Response:
        """Return the refusal as JSON."""
        return json_response({"error": self.detail}, self.status_code, self.headers)


def overloaded(limit: int) -> Refusal:
    """Return the refusal of a request beyond the server's capacity."""
    words = f"the server works on {limit} requests already; ask again in a second"
    return Refusal(503, words, {"Retry-After": "1"})


def json_response(
    value: object, status: int = 200, headers: Mapping[str, str] | None = None
) -> Response:
    """Return a response of JSON in ASCII, which can hold any string, even surrogates."""
    return Response(json.dumps(value).encode(), status, headers, media_type="application/json")


class Gate:
    """Passes requests on to an app, whose routes are complete, or refuses them."""

    def __init__(
        self, app: FastAPI, metrics: Metrics, *, max_requests: int, token: str | None = None
    ) -> None:
        self._app, self._metrics, self._max_requests = app, metrics, max_requests
        self._token = None if token is None else token.encode()
        self._routes = {route.path for route in app.routes if isinstance(route, Route)}
        self._in_progress = 0
        metrics.in_progress.set_function(lambda: self._in_progress)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        started, status = time.perf_counter(), 500

        async def send_and_note(message: Message) -> None:
            nonlocal status
            status = message.get("status", status)
            await send(message)

        try:
            await self._admit(scope, receive, send_and_note)
        except Refusal as refusal:
            await refusal.response()(scope, receive, send_and_note)
        finally:
            route = scope["path"] if scope["path"] in self._routes else "other"
            self._metrics.requests.labels(route, status).inc()
            self._metrics.request_seconds.labels(route).observe(time.perf_counter() - started)

    async def _admit(self, scope: Scope, receive: Receive, send: Send) -> None:
        path, headers = scope["path"], dict(scope["headers"])
        if self._token is not None and path != _PUBLIC:
            _check_token(self._token, headers.get(b"authorization", b""))
        _check_query(scope["query_string"])
        if {b"content-length", b"transfer-encoding"} <= headers.keys():
            # A proxy in front may take the other one for the end of the request.
            words = "expected a Content-Length or a Transfer-Encoding, got both"
            raise Refusal(400, words, {"Connection": "close"})
        body = await _read_body(int(headers.get(b"content-length", 0)), receive)

        async def receive_again() -> Message:
            return {"type": "http.request", "body": body}

        if self._in_progress >= self._max_requests and path not in _NEVER_OVERLOADED:
            raise overloaded(self._max_requests)
        self._in_progress += 1
        try:
            await self._app(scope, receive_again, send)
        finally:
            self._in_progress -= 1


def _check_token(expected: bytes, header: bytes) -> None:
    scheme, _, token = header.partition(b" ")
    # In constant time, so that the time of a refusal tells nothing about the token.
    same = hmac.compare_digest(token.strip(), expected)
    if scheme.lower() != b"bearer" or not same:
        words = "expected the header Authorization: Bearer TOKEN with the token of this server"
        raise Refusal(401, words, {"WWW-Authenticate": "Bearer"})


def _check_query(query: bytes) -> None:
    """Refuse what FastAPI accepts, or takes seconds to refuse: bad UTF-8, repeated names."""
    if len(query) > _MAX_QUERY_BYTES:
        words = f"expected at most {_MAX_QUERY_BYTES:,} bytes of query, got {len(query):,}"
        raise Refusal(414, words)
    text = query.decode("latin-1")
    if text.count("&") >= _MAX_PARAMETERS:
        raise Refusal(422, f"expected at most {_MAX_PARAMETERS} parameters in the query, got more")
    try:
        names = [name for name, _ in parse_qsl(text, keep_blank_values=True, errors="strict")]
    except UnicodeDecodeError as error:
        raise Refusal(400, f"expected UTF-8 in the query, got other bytes: {error}") from None
    if len(set(names)) < len(names):
        repeated = next(name for name in names if names.count(name) > 1)
        raise Refusal(422, f"expected {repeated[:100]!r} once, got it several times")


async def _read_body(declared_size: int, receive: Receive) -> bytes:
    """Return the body; of one that is too large, uvicorn discards the rest after the refusal."""
    body, size, more = bytearray(), declared_size, True
    try:
        async with asyncio.timeout(_BODY_SECONDS):
            while more and size <= MAX_BODY_BYTES:
                message = await receive()
                body += message.get("body", b"")  # none if the client has hung up
                size, more = len(body), message.get("more_body", False)
    except TimeoutError:
        words = f"expected the whole body within {_BODY_SECONDS} seconds"
        raise Refusal(408, words, {"Connection": "close"}) from None
    if size > MAX_BODY_BYTES:
        raise Refusal(413, f"expected a body of at most {MAX_BODY_BYTES:,} bytes")
    return bytes(body)
