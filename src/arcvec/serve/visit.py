"""One request on its way: what it takes of the server, and how its answer is sent."""

from __future__ import annotations

import ctypes
import json
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING

from arcvec.serve.refusal import Refusal, full, overloaded

if TYPE_CHECKING:
    from starlette.types import Message, Send

    from arcvec.serve.metrics import Metrics

SMALL = 1 << 16
"""Bytes that a body or an answer may have without being counted; larger answers go in parts."""

MAX_HELD = 128 << 20
"""Bytes of larger bodies and answers in memory at once; what is beyond is refused with 503."""

_MUCH = 16 << 20
"""Once so many bytes were held and none are any more, freed memory goes back to the system."""


class Visit:
    """One request: whether it is worked on now, and how many bytes are held for it.

    A request is worked on until its answer is known. Who reads a large answer slowly takes memory,
    which is bounded, and nothing else from others.

    Attributes:
        status: what was answered; 500 before anything was.
    """

    def __init__(self, metrics: Metrics, send: Send) -> None:
        """Take the counts of what all visits take, and what sends to this one."""
        self.status = 500
        self._metrics, self._send = metrics, send
        self._start: Message | None = None
        self._works, self._held = False, 0

    def work(self, max_requests: int | None) -> None:
        """Begin to work on it.

        Raises:
            Refusal: so many are worked on already.
        """
        if max_requests is not None and self._metrics.in_progress >= max_requests:
            raise overloaded(max_requests)
        self._works = True
        self._metrics.in_progress += 1

    def hold(self, size: int) -> bool:
        """Return whether there is memory for so many bytes more, and take it."""
        if self._metrics.held_bytes >= MAX_HELD:
            return False
        self._held += size
        self._metrics.held_bytes += size
        self._metrics.most_held = max(self._metrics.most_held, self._metrics.held_bytes)
        return True

    def let_go(self) -> None:
        """Give back the memory that it took."""
        metrics = self._metrics
        metrics.held_bytes -= self._held
        self._held = 0
        if metrics.held_bytes == 0 and metrics.most_held >= _MUCH:
            metrics.most_held = 0
            _return_freed_memory()

    async def send(self, message: Message) -> None:
        """Send a message of the answer; its head waits for the body, which may be too much."""
        if message["type"] == "http.response.start":
            self._start = message
            return
        if self._start is not None:
            start, self._start = self._start, None
            self._end_work()
            size = len(message.get("body", b""))
            if size > SMALL and not self.hold(size):
                start, message = answer_of(full(MAX_HELD))
            self.status = start["status"]
            await self._send(start)
        for part in _parts(message):
            await self._send(part)

    async def refuse(self, refusal: Refusal) -> None:
        """Send a refusal as JSON."""
        for message in answer_of(refusal):
            await self.send(message)

    def end(self) -> None:
        """Give back all that it took."""
        self._end_work()
        self.let_go()

    def _end_work(self) -> None:
        if self._works:
            self._works = False
            self._metrics.in_progress -= 1


def answer_of(refusal: Refusal) -> tuple[Message, Message]:
    """Return head and body of the answer that a refusal is, in JSON."""
    body = json.dumps({"error": str(refusal)}).encode()
    headers = {"content-type": "application/json", "content-length": str(len(body))}
    headers |= refusal.headers
    encoded = [(name.encode(), value.encode()) for name, value in headers.items()]
    start = {"type": "http.response.start", "status": refusal.status, "headers": encoded}
    return start, {"type": "http.response.body", "body": body}


def _return_freed_memory() -> None:
    """Give the system what was freed: glibc would keep it, beside the next large bodies."""
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None) if sys.platform == "linux" else None
    if trim is not None:
        trim(0)


def _parts(message: Message) -> Iterator[Message]:
    """Yield a body in parts: the next is sent when those before are taken."""
    body = message.get("body", b"")
    if len(body) <= SMALL:
        yield message
        return
    for first in range(0, len(body), SMALL):
        last = first + SMALL >= len(body)
        more = message.get("more_body", False) if last else True
        yield {**message, "body": body[first : first + SMALL], "more_body": more}
