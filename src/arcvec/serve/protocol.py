"""HTTP as uvicorn speaks it, with bounds on what one connection may take: memory and time."""

from __future__ import annotations

import asyncio

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

MAX_HEAD = 1 << 16
"""Bytes of a request's first line and headers, or of what follows its body."""

MAX_AHEAD = 64
"""Requests sent on one connection ahead of the answer to the first."""

HEAD_SECONDS = 10
"""The head must have come by then, from the opening of a connection or its first byte on."""

UNREAD_SECONDS = 10
"""Who takes nothing of an answer for so long is not waited for."""


class BoundedHttp(HttpToolsProtocol):
    """Closes connections that would fill the memory, or stay open for nothing."""

    _bytes_in_vain = 0
    _in_head = False
    _timer: asyncio.TimerHandle | None = None
    _reader_timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Someone connected. Those beyond the bound hear 503, up to as many again."""
        super().connection_made(transport)
        if self.limit_concurrency and len(self.connections) > 2 * self.limit_concurrency:
            transport.abort()
        else:
            self._start_timer()

    def on_message_begin(self) -> None:
        """A request begins."""
        self._in_head, self._bytes_in_vain = True, 0
        super().on_message_begin()

    def on_headers_complete(self) -> None:
        """Its head is there."""
        # Raised here, both are answered by 400. A line that ends early passes for HTTP 0.9.
        if self.parser.get_http_version() not in ("1.0", "1.1"):
            raise ValueError("expected HTTP 1.0 or 1.1")
        if len(self.pipeline) >= MAX_AHEAD:
            raise ValueError("too many requests ahead of their answers")
        self._in_head, self._bytes_in_vain = False, 0
        self._stop_timer()
        super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        """A part of its body is there."""
        self._bytes_in_vain = 0
        super().on_body(body)

    def data_received(self, data: bytes) -> None:
        """Bytes came."""
        self._bytes_in_vain += len(data)
        super().data_received(data)
        if self._bytes_in_vain > MAX_HEAD:
            self._refuse(f"expected a head of at most {MAX_HEAD:,} bytes")
        elif self._in_head or self.cycle is None or self.cycle.response_complete:
            self._start_timer()

    def pause_writing(self) -> None:
        """More is to be sent than the other end takes now."""
        super().pause_writing()
        self._watch_reader()

    def resume_writing(self) -> None:
        """It has taken nearly all."""
        super().resume_writing()
        self._stop_watching()

    def timeout_keep_alive_handler(self) -> None:
        """Nothing was asked for long."""
        super().timeout_keep_alive_handler()
        self._watch_reader()

    def connection_lost(self, exc: Exception | None) -> None:
        """The other end is gone."""
        self._stop_timer()
        self._stop_watching()
        super().connection_lost(exc)

    def _start_timer(self) -> None:
        if self._timer is None:
            self._timer = self.loop.call_later(HEAD_SECONDS, self._end_waiting)

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _end_waiting(self) -> None:
        if self._in_head:
            self._refuse(f"expected the head within {HEAD_SECONDS} seconds")
        else:
            self.transport.close()

    def _refuse(self, words: str) -> None:
        self._stop_timer()
        if not self.transport.is_closing():
            self.send_400_response(words)

    def _watch_reader(self) -> None:
        self._stop_watching()
        unread = self.transport.get_write_buffer_size()
        self._reader_timer = self.loop.call_later(UNREAD_SECONDS, self._check_reader, unread)

    def _check_reader(self, before: int) -> None:
        if self.transport.get_write_buffer_size() < before:
            self._watch_reader()
        else:
            self.transport.abort()

    def _stop_watching(self) -> None:
        if self._reader_timer is not None:
            self._reader_timer.cancel()
            self._reader_timer = None
