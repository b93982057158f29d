"""The server process: its socket, its signals, and uvicorn with its limits."""

from __future__ import annotations

import asyncio
import gc
import signal
import socket
import sys
from collections.abc import Callable

import uvicorn
from starlette.types import ASGIApp
from threadpoolctl import threadpool_limits

from arcvec.serve.service import Service

MAX_HEAD_BYTES = 1 << 16
_SHUTDOWN_SECONDS = 10
_KEEP_ALIVE_SECONDS = 75
_SWITCH_SECONDS = 0.001  # how long one thread may block the others, as a reload does requests


def run_server(
    app: ASGIApp, service: Service, address: tuple[str, int], *, ready: Callable[[str], None]
) -> None:
    """Serve until SIGINT or SIGTERM, `ready` called with the URL; SIGHUP loads a new result."""
    sys.setswitchinterval(_SWITCH_SECONDS)
    config = uvicorn.Config(
        app,
        http="h11",  # bounds heads, which httptools does not
        h11_max_incomplete_event_size=MAX_HEAD_BYTES,
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
    reloading = asyncio.create_task(_reload_on(hung_up, service))  # ends with the loop
    ready(url_of(listener))
    # uvicorn raises these again at its end, when all requests are answered: that is no failure.
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: None)
    try:
        await server.serve(sockets=[listener])
    finally:
        gc.unfreeze()  # else nanobind reports everything that DuckDB made as leaked
        reloading.cancel()


async def _reload_on(hung_up: asyncio.Event, service: Service) -> None:
    """Reload at every signal; one that arrives during a reload causes one more."""
    while True:
        await hung_up.wait()
        hung_up.clear()
        await service.reload()
