"""What every request passes: token, bounds of its body, bounds of the work at once, counts."""

from __future__ import annotations

import asyncio
import hmac
import json
import time
from collections.abc import Collection
from typing import TYPE_CHECKING
from urllib.parse import unquote_to_bytes

from arcvec.serve.metrics import Metrics
from arcvec.serve.refusal import Refusal, overloaded
from arcvec.serve.schemas import MAX_BODY

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

MAX_QUERY = 32_768
"""Bytes after the question mark of a URL."""

MAX_DISCARDED = 8 * MAX_BODY
"""A body too large is read so far and thrown away: who is still sending hears no answer."""

BODY_SECONDS = 10
"""A body must have come by then."""

_OPEN = "/healthz"
_NEVER_REFUSED = (_OPEN, "/metrics")


class Gate:
    """Lets requests in to an app, or answers why not; counts all of them."""

    def __init__(
        self,
        app: ASGIApp,
        metrics: Metrics,
        *,
        max_requests: int,
        token: str | None = None,
        routes: Collection[str] = (),
    ) -> None:
        """Take the app behind the gate.

        Args:
            token: what `Authorization: Bearer` must bring, on every route but /healthz.
            routes: paths to count by name; all others count as one.
        """
        self._app, self._metrics, self._max_requests = app, metrics, max_requests
        self._token = None if token is None else token.encode()
        self._routes = frozenset(routes)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let one request in, or answer why not."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        started, status = time.perf_counter(), 500

        async def send_and_see(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        try:
            await self._pass(scope, receive, send_and_see)
        except Refusal as refusal:
            await answer_error(send_and_see, refusal)
        finally:
            path = scope["path"]
            route = path if path in self._routes else "other"
            self._metrics.count_request(route, status, time.perf_counter() - started)

    async def _pass(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers = dict(scope["headers"])
        self._check_token(scope["path"], headers)
        _check_query(scope["query_string"])
        if b"content-length" in headers or b"transfer-encoding" in headers:
            receive = _replay(await _read_body(headers, receive), receive)
        if self._metrics.in_progress >= self._max_requests and scope["path"] not in _NEVER_REFUSED:
            raise overloaded(self._max_requests)
        self._metrics.in_progress += 1
        try:
            await self._app(scope, receive, send)
        finally:
            self._metrics.in_progress -= 1

    def _check_token(self, path: str, headers: dict[bytes, bytes]) -> None:
        if self._token is None or path == _OPEN:
            return
        kind, _, given = headers.get(b"authorization", b"").partition(b" ")
        # In constant time, so that nobody learns a token from how long a wrong one takes.
        same = hmac.compare_digest(given.strip(), self._token)
        if kind.lower() != b"bearer" or not same:
            raise Refusal(
                401,
                "expected the header Authorization: Bearer TOKEN with the token of this server",
                www_authenticate="Bearer",
            )


async def answer_error(send: Send, refusal: Refusal) -> None:
    """Send a refusal as JSON."""
    body = json.dumps({"error": str(refusal)}).encode()
    headers = {"content-type": "application/json", "content-length": str(len(body))}
    headers |= refusal.headers
    encoded = [(name.encode(), value.encode()) for name, value in headers.items()]
    await send({"type": "http.response.start", "status": refusal.status, "headers": encoded})
    await send({"type": "http.response.body", "body": body})


def _check_query(query: bytes) -> None:
    if len(query) > MAX_QUERY:
        raise Refusal(414, f"expected at most {MAX_QUERY:,} bytes of query, got {len(query):,}")
    try:
        unquote_to_bytes(query).decode()
    except UnicodeDecodeError as error:
        raise Refusal(400, f"expected UTF-8 in the query, got other bytes: {error}") from None


async def _read_body(headers: dict[bytes, bytes], receive: Receive) -> bytes:
    # Closed after a body that is not read to its end: what is left of it is no next request.
    too_large = Refusal(413, f"expected a body of at most {MAX_BODY:,} bytes", connection="close")
    declared = headers.get(b"content-length", b"0")
    if not declared.isdigit() or int(declared[:20]) > MAX_DISCARDED:
        raise too_large
    body, size = bytearray(), 0
    try:
        async with asyncio.timeout(BODY_SECONDS):
            while True:
                message = await receive()
                part = message.get("body", b"")
                size += len(part)
                if size <= MAX_BODY:
                    body += part
                if size > MAX_DISCARDED:
                    raise too_large
                if message["type"] == "http.disconnect" or not message.get("more_body", False):
                    break
    except TimeoutError:
        if size > MAX_BODY:
            raise too_large from None
        words = f"expected the whole body within {BODY_SECONDS} seconds"
        raise Refusal(408, words, connection="close") from None
    if size > MAX_BODY:
        raise too_large
    try:
        body.decode()
    except UnicodeDecodeError as error:
        raise Refusal(400, f"expected a body in UTF-8, got other bytes: {error}") from None
    return bytes(body)


def _replay(body: bytes, receive: Receive) -> Receive:
    """Return a receiver that gives a body already read, then what comes next."""
    read = False

    async def receive_again() -> Message:
        nonlocal read
        if read:
            return await receive()
        read = True
        return {"type": "http.request", "body": body, "more_body": False}

    return receive_again
