"""What every request passes: token, bounds of its body, bounds of the work at once, counts."""

from __future__ import annotations

import asyncio
import hmac
import time
from collections.abc import Collection
from typing import TYPE_CHECKING
from urllib.parse import unquote_to_bytes

from arcvec.serve.metrics import Metrics
from arcvec.serve.refusal import Refusal, full
from arcvec.serve.schemas import MAX_BODY
from arcvec.serve.visit import MAX_HELD, SMALL, Visit

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
        started, visit = time.perf_counter(), Visit(self._metrics, send)
        try:
            await self._pass(scope, receive, visit)
        except Refusal as refusal:
            await visit.refuse(refusal)
        finally:
            visit.end()
            path = scope["path"]
            route = path if path in self._routes else "other"
            self._metrics.count_request(route, visit.status, time.perf_counter() - started)

    async def _pass(self, scope: Scope, receive: Receive, visit: Visit) -> None:
        headers = dict(scope["headers"])
        self._check_token(scope["path"], headers)
        _check_query(scope["query_string"])
        if b"content-length" in headers or b"transfer-encoding" in headers:
            receive = _replay(await _read_body(headers, receive, visit), receive)
        visit.work(None if scope["path"] in _NEVER_REFUSED else self._max_requests)
        await self._app(scope, receive, visit.send)

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


def _check_query(query: bytes) -> None:
    if len(query) > MAX_QUERY:
        raise Refusal(414, f"expected at most {MAX_QUERY:,} bytes of query, got {len(query):,}")
    try:
        unquote_to_bytes(query).decode()
    except UnicodeDecodeError as error:
        raise Refusal(400, f"expected UTF-8 in the query, got other bytes: {error}") from None


async def _read_body(headers: dict[bytes, bytes], receive: Receive, visit: Visit) -> bytes:
    # Closed after a body that is not read to its end: what is left of it is no next request.
    too_large = Refusal(413, f"expected a body of at most {MAX_BODY:,} bytes", connection="close")
    declared = headers.get(b"content-length", b"0")
    if not declared.isdigit() or int(declared[:20]) > MAX_DISCARDED:
        raise too_large
    # Joined in the end: large bodies that grow side by side would leave the memory full of holes.
    parts = [bytearray()]
    size, refusal = 0, None
    try:
        async with asyncio.timeout(BODY_SECONDS):
            while True:
                message = await receive()
                if message["type"] == "http.disconnect":
                    raise Refusal(400, "expected the whole body, got a part of it")
                part = message.get("body", b"")
                size += len(part)
                if size > MAX_DISCARDED:
                    raise too_large
                if size > MAX_BODY:
                    refusal = too_large
                elif size > SMALL and not visit.hold(len(part)):
                    refusal = full(MAX_HELD)
                if refusal is not None:
                    parts.clear()
                    visit.let_go()
                elif len(parts[-1]) < SMALL:
                    parts[-1] += part
                else:
                    parts.append(bytearray(part))
                if not message.get("more_body", False):
                    break
    except TimeoutError:
        words = f"expected the whole body within {BODY_SECONDS} seconds"
        raise refusal or Refusal(408, words, connection="close") from None
    if refusal is not None:
        raise refusal
    body = b"".join(parts)
    try:
        body.decode()
    except UnicodeDecodeError as error:
        raise Refusal(400, f"expected a body in UTF-8, got other bytes: {error}") from None
    return body


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
