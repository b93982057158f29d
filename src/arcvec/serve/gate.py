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
from starlette.routing import Route

from arcvec.storage.arrays import release_memory

if TYPE_CHECKING:
    from starlette.types import Message, Receive, Scope, Send

MAX_BODY_BYTES = 1 << 20
MAX_HELD_BYTES = 128 << 20  # of all large bodies and responses together
SMALL_BYTES = 1 << 16  # smaller ones are not counted; larger responses are sent in such parts
_MAX_QUERY_BYTES = 32_768
_MAX_PARAMETERS = 100
# A body that is too large is read so far and discarded: clients read no answer while they send.
_MAX_DISCARDED_BYTES = 8 * MAX_BODY_BYTES
# Once this much was held and nothing is any more, freed memory is returned to the system.
_RELEASED_BYTES = 16 << 20
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
        self.held_bytes = gauge("held_bytes", "Bytes of large bodies and responses in memory.")
        self.nodes = gauge("nodes", "Nodes of the result that is served.")
        self.loaded_at = gauge("result_loaded_seconds", "When it was loaded, since 1970.")


class Refusal(Exception):
    """A request that is answered with an error status; headers are named with _ for -."""

    def __init__(self, status: int, message: str, **headers: str) -> None:
        super().__init__(message)
        self.status = status
        self.headers = {name.replace("_", "-"): value for name, value in headers.items()}

    def response(self) -> Response:
        """Return the refusal as JSON."""
        return json_response({"error": str(self)}, self.status, self.headers)


def overloaded(load: str) -> Refusal:
    """Return the refusal of a request beyond the server's capacity."""
    return Refusal(503, f"the server {load} already; ask again in a second", retry_after="1")


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
        self.in_progress = 0  # requests being worked on
        # Large bodies and responses in memory; the most since memory was last returned.
        self.held_bytes = self.peak_bytes = 0
        self._app, self._metrics, self._max_requests = app, metrics, max_requests
        self._token = None if token is None else token.encode()
        self._routes = {route.path for route in app.routes if isinstance(route, Route)}
        metrics.in_progress.set_function(lambda: self.in_progress)
        metrics.held_bytes.set_function(lambda: self.held_bytes)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        started, visit = time.perf_counter(), _Visit(self, scope, receive, send)
        try:
            await self._admit(visit)
        except Refusal as refusal:
            await visit.refuse(refusal)
        finally:
            visit.end_work()
            visit.release()
            route = scope["path"] if scope["path"] in self._routes else "other"
            self._metrics.requests.labels(route, visit.status).inc()
            self._metrics.request_seconds.labels(route).observe(time.perf_counter() - started)

    async def _admit(self, visit: _Visit) -> None:
        path, headers = visit.scope["path"], dict(visit.scope["headers"])
        if self._token is not None and path != _PUBLIC:
            _check_token(self._token, headers.get(b"authorization", b""))
        _check_query(visit.scope["query_string"])
        body = b""
        if b"content-length" in headers or b"transfer-encoding" in headers:
            body = await _read_body(int(headers.get(b"content-length", 0)), visit)

        async def receive() -> Message:
            return {"type": "http.request", "body": body}

        if self.in_progress >= self._max_requests and path not in _NEVER_OVERLOADED:
            raise overloaded(f"works on {self._max_requests} requests")
        visit.working = 1
        self.in_progress += 1
        await self._app(visit.scope, receive, visit.send)


class _Visit:
    """One request, and its share of the gate's limits.

    It counts as in progress until its response is known: a client that reads slowly occupies
    memory, which is limited, but no place among the requests worked on.
    """

    def __init__(self, gate: Gate, scope: Scope, receive: Receive, send: Send) -> None:
        self.scope, self.receive = scope, receive
        self.status = 500  # until a response is sent
        self._gate, self._send = gate, send
        self._start: Message | None = None
        self.working = self._held_bytes = 0  # what `end_work` and `release` give back

    def end_work(self) -> None:
        self._gate.in_progress -= self.working
        self.working = 0

    def hold(self, size: int) -> Refusal | None:
        """Reserve memory; return a refusal if there is none left."""
        gate = self._gate
        if gate.held_bytes >= MAX_HELD_BYTES:
            return overloaded(f"holds {MAX_HELD_BYTES:,} bytes of other requests")
        self._held_bytes += size
        gate.held_bytes += size
        gate.peak_bytes = max(gate.peak_bytes, gate.held_bytes)
        return None

    def release(self) -> None:
        """Give back reserved memory."""
        gate = self._gate
        gate.held_bytes -= self._held_bytes
        self._held_bytes = 0
        if gate.held_bytes == 0 and gate.peak_bytes >= _RELEASED_BYTES:
            gate.peak_bytes = 0
            release_memory()

    async def send(self, message: Message) -> None:
        """Send a part of the response; its head is kept until the size of the body is known."""
        if message["type"] == "http.response.start":
            self._start = message
            return
        body = message.get("body", b"")
        if self._start is not None:
            start, self._start = self._start, None
            self.end_work()
            refusal = self.hold(len(body)) if len(body) > SMALL_BYTES else None
            if refusal is not None:
                await self.refuse(refusal)
                return
            self.status = start["status"]
            await self._send(start)
        # Each part is sent when the client has taken those before.
        for first in range(0, max(len(body), 1), SMALL_BYTES):
            last = first + SMALL_BYTES
            more = message.get("more_body", False) or last < len(body)
            await self._send({**message, "body": body[first:last], "more_body": more})

    async def refuse(self, refusal: Refusal) -> None:
        await refusal.response()(self.scope, self.receive, self.send)


def _check_token(expected: bytes, header: bytes) -> None:
    scheme, _, token = header.partition(b" ")
    # In constant time, so that the time of a refusal tells nothing about the token.
    same = hmac.compare_digest(token.strip(), expected)
    if scheme.lower() != b"bearer" or not same:
        words = "expected the header Authorization: Bearer TOKEN with the token of this server"
        raise Refusal(401, words, www_authenticate="Bearer")


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


async def _read_body(declared_size: int, visit: _Visit) -> bytes:
    words = f"expected a body of at most {MAX_BODY_BYTES:,} bytes"
    # Closed, because the rest of the body must not be taken for the next request.
    too_large = Refusal(413, words, connection="close")
    if declared_size > _MAX_DISCARDED_BYTES:
        raise too_large
    parts: list[bytes] = []
    size, more, refusal = 0, True, None
    try:
        async with asyncio.timeout(_BODY_SECONDS):
            while more:
                message = await visit.receive()
                if message["type"] == "http.disconnect":
                    raise Refusal(400, "expected the whole body, got a part of it")
                parts.append(message.get("body", b""))
                more = message.get("more_body", False)
                size += len(parts[-1])
                if size > _MAX_DISCARDED_BYTES:
                    raise too_large
                if size > MAX_BODY_BYTES:
                    refusal = too_large
                elif size > SMALL_BYTES:
                    refusal = visit.hold(len(parts[-1])) or refusal
                if refusal is not None:
                    parts.clear()
                    visit.release()
    except TimeoutError:
        words = f"expected the whole body within {_BODY_SECONDS} seconds"
        raise refusal or Refusal(408, words, connection="close") from None
    if refusal is not None:
        raise refusal
    return b"".join(parts)
