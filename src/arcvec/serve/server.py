"""The server process: its socket, its signals, its connections and their limits."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import signal
import socket
import sys
from collections.abc import Callable

import uvicorn
from starlette.types import ASGIApp
from threadpoolctl import threadpool_limits
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from arcvec.serve.gate import SMALL_BYTES
from arcvec.serve.service import Service

MAX_HEAD_BYTES = 1 << 16
_MAX_PIPELINED = 64  # requests that one connection may send before the first response
_HEAD_SECONDS = _UNREAD_SECONDS = _SHUTDOWN_SECONDS = 10
_KEEP_ALIVE_SECONDS = 75
_SWITCH_SECONDS = 0.001  # how long one thread may block the others, as a reload does requests


def run_server(
    app: ASGIApp, service: Service, address: tuple[str, int], *, ready: Callable[[str], None]
) -> None:
    """Serve until SIGINT or SIGTERM, `ready` called with the URL; SIGHUP loads a new result."""
    sys.setswitchinterval(_SWITCH_SECONDS)
    config = uvicorn.Config(
        app,
        http=BoundedHttp,
        ws="none",
        lifespan="off",
        access_log=False,
        log_level="warning",
        server_header=False,
        date_header=False,
        proxy_headers=False,
        limit_concurrency=service.settings.max_connections,
        timeout_keep_alive=_KEEP_ALIVE_SECONDS,
        timeout_graceful_shutdown=_SHUTDOWN_SECONDS,
    )
    with (
        listen(*address) as listener,
        threadpool_limits(1, user_api="blas"),  # batches are small
        asyncio.Runner(loop_factory=config.get_loop_factory()) as runner,
    ):
        runner.run(_serve(uvicorn.Server(config), service, listener, ready))


def listen(host: str, port: int) -> socket.socket:
    """Return a listening socket; port 0 takes any that is free."""
    try:
        family, *_, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        listener = socket.create_server(address[:2], family=family, backlog=2048)
    except (OSError, OverflowError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise OSError(
            f"cannot listen on {host}, port {port}: {reason}; choose others with --host and --port"
        ) from None
    # A busy server reads from hundreds of connections before it looks at what they sent.
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, SMALL_BYTES)
    if sys.platform == "linux":  # closes connections whose client reads nothing for this long
        listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, 1000 * _UNREAD_SECONDS)
    return listener


def url_of(listener: socket.socket) -> str:
    """Return the address of a listening socket as a URL."""
    host, port = listener.getsockname()[:2]
    return f"http://{f'[{host}]' if ':' in host else host}:{port}"


async def _serve(
    server: uvicorn.Server, service: Service, listener: socket.socket, ready: Callable[[str], None]
) -> None:
    hung_up = asyncio.Event()
    if hasattr(signal, "SIGHUP"):
        asyncio.get_running_loop().add_signal_handler(signal.SIGHUP, hung_up.set)
    await service.load()
    reloading = asyncio.create_task(_reload_on(hung_up, service))
    ready(url_of(listener))
    # uvicorn raises these again at its end, when all requests are answered: that is no failure.
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: None)
    try:
        await server.serve(sockets=[listener])
    finally:
        gc.unfreeze()  # else nanobind reports everything that DuckDB made as leaked
        reloading.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await reloading


async def _reload_on(hung_up: asyncio.Event, service: Service) -> None:
    """Reload at every signal; one that arrives during a reload causes one more."""
    while True:
        await hung_up.wait()
        hung_up.clear()
        await service.reload()


class BoundedHttp(HttpToolsProtocol):
    """Closes connections that send endless heads, or nothing."""

    _overhead_bytes = 0  # received since the last complete head or part of a body
    _in_head = False
    _timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Start the timer; beyond the limit uvicorn answers 503, beyond twice the limit abort."""
        super().connection_made(transport)
        if self.limit_concurrency and len(self.connections) > 2 * self.limit_concurrency:
            transport.abort()
        else:
            self._start_timer()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_timer()
        super().connection_lost(exc)

    def on_message_begin(self) -> None:
        self._in_head = True
        super().on_message_begin()

    def on_headers_complete(self) -> None:
        """Check the head; an error raised here is answered with 400."""
        # The parser takes a first line without a version for HTTP 0.9.
        if self.parser.get_http_version() not in ("1.0", "1.1"):
            raise ValueError("expected HTTP 1.0 or 1.1")
        if len(self.pipeline) >= _MAX_PIPELINED:
            raise ValueError(f"expected at most {_MAX_PIPELINED} pipelined requests")
        self._in_head, self._overhead_bytes = False, 0
        self._stop_timer()
        super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        self._overhead_bytes = 0
        super().on_body(body)

    def data_received(self, data: bytes) -> None:
        """Refuse too many bytes outside of bodies; restart the timer between requests."""
        self._overhead_bytes += len(data)
        super().data_received(data)
        if self._overhead_bytes > MAX_HEAD_BYTES:
            self._refuse(f"expected a head of at most {MAX_HEAD_BYTES:,} bytes")
        elif self._in_head or self.cycle is None or self.cycle.response_complete:
            self._start_timer()

    def _start_timer(self) -> None:
        if self._timer is None:
            self._timer = self.loop.call_later(_HEAD_SECONDS, self._time_out)

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _time_out(self) -> None:
        if self._in_head:
            self._refuse(f"expected the head within {_HEAD_SECONDS} seconds")
        else:
            self.transport.close()

    def _refuse(self, message: str) -> None:
        self._stop_timer()
        if not self.transport.is_closing():
            self.send_400_response(message)
