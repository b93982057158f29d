"""The server process: its socket, its signals, its end."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import signal
import socket
import sys
from collections.abc import Callable
from pathlib import Path

import uvicorn
from starlette.types import ASGIApp

from arcvec.serve.protocol import BoundedHttp
from arcvec.serve.service import Service
from arcvec.serve.visit import SMALL

logger = logging.getLogger(__name__)

_GRACE_SECONDS = 10
"""Requests may take so long to end once the server is told to."""

_SWITCH_SECONDS = 0.001
"""How long one thread may keep the others from Python: requests should not wait for a reload."""


def serve_app(
    make_app: Callable[[], ASGIApp],
    service: Service,
    result: Path,
    listener: socket.socket,
    *,
    ready: Callable[[str], None] = lambda url: None,
) -> None:
    """Serve until SIGINT or SIGTERM; SIGHUP switches to the result newly written.

    Args:
        make_app: gives the app, once the first result is loaded.
        result: folder that the service loads, for messages.
        listener: where requests come in; see `listen`.
        ready: called with the URL when requests are answered.

    Raises:
        OSError, ValueError: the result cannot be read.
    """
    sys.setswitchinterval(_SWITCH_SECONDS)
    with _one_blas_thread(), asyncio.Runner(loop_factory=_loop_factory()) as runner:
        runner.run(_serve(make_app, service, result, listener, ready))


def listen(host: str, port: int) -> socket.socket:
    """Return a socket that listens.

    Args:
        port: 0 takes any that is free.

    Raises:
        OSError: the address is taken, or not of this machine.
    """
    try:
        family, *_, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        listener = socket.create_server(address[:2], family=family, backlog=2048)
    except (OSError, OverflowError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise OSError(
            f"cannot listen on {host}, port {port}: {reason}; choose others with --host and --port"
        ) from None
    # What waits in the system is read at once, and a busy server reads from hundreds before it has
    # looked at what they send: then it is in the memory of this process.
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, SMALL)
    return listener


def url_of(listener: socket.socket) -> str:
    """Return the address of a listening socket as a URL."""
    host, port = listener.getsockname()[:2]
    return f"http://{f'[{host}]' if ':' in host else host}:{port}"


async def _serve(
    make_app: Callable[[], ASGIApp],
    service: Service,
    result: Path,
    listener: socket.socket,
    ready: Callable[[str], None],
) -> None:
    hung_up = asyncio.Event()
    if hasattr(signal, "SIGHUP"):
        asyncio.get_running_loop().add_signal_handler(signal.SIGHUP, hung_up.set)
    await service.load()
    server = uvicorn.Server(_config(make_app(), service))
    reloading = asyncio.create_task(_reload_when_told(hung_up, service, result))
    ready(url_of(listener))
    # uvicorn raises these again at its end, when all requests are answered: that is no failure.
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: None)
    try:
        await server.serve(sockets=[listener])
    finally:
        reloading.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await reloading


async def _reload_when_told(hung_up: asyncio.Event, service: Service, result: Path) -> None:
    """Reload at every signal; one that comes during a reload asks for one more."""
    while True:
        await hung_up.wait()
        hung_up.clear()
        await service.reload(result)


def _config(app: ASGIApp, service: Service) -> uvicorn.Config:
    return uvicorn.Config(
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
        timeout_keep_alive=75,
        timeout_graceful_shutdown=_GRACE_SECONDS,
    )


def _one_blas_thread() -> contextlib.AbstractContextManager[object]:
    # Batches are small: threads would cost more than they bring, and take cores from requests.
    from threadpoolctl import threadpool_limits

    limits: contextlib.AbstractContextManager[object] = threadpool_limits(1, user_api="blas")
    return limits


def _loop_factory() -> Callable[[], asyncio.AbstractEventLoop] | None:
    try:
        import uvloop
    except ImportError:  # not on Windows
        return None
    return uvloop.new_event_loop
