"""HTTP as uvicorn speaks it, with bounds on the head of a request."""

from __future__ import annotations

import asyncio

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

MAX_HEAD = 1 << 16
"""Bytes of a request's first line and headers."""

HEAD_SECONDS = 20
"""The head must have come by then, from its first byte on."""


class BoundedHttp(HttpToolsProtocol):
    """Refuses a head that grows too long or takes too long, which would fill the memory."""

    _head_bytes = 0
    _in_head = False
    _timer: asyncio.TimerHandle | None = None

    def on_message_begin(self) -> None:
        """A request begins."""
        self._in_head, self._head_bytes = True, 0
        super().on_message_begin()

    def on_headers_complete(self) -> None:
        """Its head is there."""
        self._in_head = False
        self._stop_timer()
        super().on_headers_complete()

    def data_received(self, data: bytes) -> None:
        """Bytes came."""
        super().data_received(data)
        if not self._in_head:
            return
        self._head_bytes += len(data)
        if self._head_bytes > MAX_HEAD:
            self._refuse(f"expected a head of at most {MAX_HEAD:,} bytes")
        elif self._timer is None:
            words = f"expected the head within {HEAD_SECONDS} seconds"
            self._timer = self.loop.call_later(HEAD_SECONDS, self._refuse, words)

    def connection_lost(self, exc: Exception | None) -> None:
        """The other end is gone."""
        self._stop_timer()
        super().connection_lost(exc)

    def _refuse(self, words: str) -> None:
        self._stop_timer()
        if not self.transport.is_closing():
            self.send_400_response(words)

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
