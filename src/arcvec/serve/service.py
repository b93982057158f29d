"""The result that is served now, its reload, its searches, and the process that serves it."""

from __future__ import annotations

import asyncio
import gc
import json
import logging
import math
import signal
import socket
import sys
from collections import OrderedDict
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Executor, ThreadPoolExecutor
from itertools import islice
from typing import NamedTuple

import numpy as np
import uvicorn
from starlette.types import ASGIApp
from threadpoolctl import threadpool_limits

from arcvec.embeddings import Scores
from arcvec.recommendation.exact import Direction, top_k
from arcvec.serve.gate import Metrics, Refusal, overloaded
from arcvec.serve.result import Served
from arcvec.serve.schemas import ServeSettings, Wanted

logger = logging.getLogger(__name__)

MAX_HEAD_BYTES = 1 << 16
_MAX_CACHED_K = 100  # a thousand longer answers would fill megabytes


class Asked(NamedTuple):
    """One node to recommend for."""

    node: int
    k: int
    direction: Direction
    popularity: float = 1


class Batches:
    """Recommendations from one result: while one batch is searched for, the next one gathers.

    Equal questions are answered once. `worker` has one thread: compiled loops must not run in two.
    """

    def __init__(
        self, served: Served, worker: Executor, settings: ServeSettings, metrics: Metrics
    ) -> None:
        self.served = served
        self._worker, self._settings, self._metrics = worker, settings, metrics
        self._cache: OrderedDict[Asked, bytes] = OrderedDict()
        self._waiting: dict[Asked, asyncio.Future[bytes]] = {}

    async def recommend(
        self, nodes: Iterable[int], k: int, direction: Direction, popularity: float = 1
    ) -> list[bytes]:
        """Return the answer about each node, as JSON, or refuse if too many nodes wait."""
        if len(self._waiting) >= self._settings.max_requests:
            raise overloaded(self._settings.max_requests)
        answers = [self._answer(Asked(node, k, direction, popularity)) for node in nodes]
        return [one if isinstance(one, bytes) else await one for one in answers]

    def _answer(self, asked: Asked) -> bytes | asyncio.Future[bytes]:
        if asked in self._cache:
            self._cache.move_to_end(asked)
            self._metrics.cache_hits.inc()
            return self._cache[asked]
        loop = asyncio.get_running_loop()
        if not self._waiting:
            self._task = loop.create_task(self._answer_waiting())
        return self._waiting.setdefault(asked, loop.create_future())

    async def _answer_waiting(self) -> None:
        loop = asyncio.get_running_loop()
        while self._waiting:
            await asyncio.sleep(0)  # requests that have arrived meanwhile join the batch
            batch = self._next_batch()
            self._metrics.batches.inc()
            self._metrics.batch_nodes.inc(len(batch))
            try:
                answers = await loop.run_in_executor(self._worker, self.search, batch)
            except Exception as error:
                for asked in batch:
                    self._waiting.pop(asked).set_exception(error)
                continue
            for asked, answer in zip(batch, answers, strict=True):
                self._waiting.pop(asked).set_result(answer)
                if asked.k <= _MAX_CACHED_K:
                    self._cache[asked] = answer
            while len(self._cache) > self._settings.cache:
                self._cache.popitem(last=False)

    def _next_batch(self) -> list[Asked]:
        """Return those who wait longest, of one kind of search and a k of as many digits."""

        def kind(asked: Asked) -> tuple[Direction, float, int]:
            return asked.direction, asked.popularity, len(str(asked.k - 1))

        first = kind(next(iter(self._waiting)))
        alike = (asked for asked in self._waiting if kind(asked) == first)
        return list(islice(alike, self._settings.batch))

    def search(self, batch: Sequence[Asked]) -> list[bytes]:
        """Return the answers to a batch of one direction and popularity."""
        embeddings, direction = self.served.embeddings, batch[0].direction
        nodes, ids = embeddings.nodes, np.array([asked.node for asked in batch])
        largest_k = min(max(asked.k for asked in batch), len(nodes))
        best, scores = top_k(
            embeddings,
            ids,
            largest_k,
            exclude=self.served.known,
            direction=direction,
            popularity=batch[0].popularity,
            index=self.served.second_stage or self.served.laid_out,
        )
        rows = zip(batch, nodes.at(ids), nodes.at(best), scores, strict=True)
        return [
            _as_json(name, direction, others[: asked.k], values[: asked.k])
            for asked, name, others, values in rows
        ]


class Service:
    """The newest result that `load` gave; requests take `current` once and keep it to their end."""

    current: Batches

    def __init__(self, load: Callable[[], Served], settings: ServeSettings) -> None:
        import numba

        threads = min(settings.threads, numba.get_num_threads())
        self.settings, self.metrics = settings, Metrics()
        self._load = load
        self._worker = ThreadPoolExecutor(1, "search", numba.set_num_threads, (threads,))
        self._suggesting = asyncio.Lock()

    async def load(self) -> None:
        """Load the newest result and serve it from now on, if it can be read."""
        served = await asyncio.to_thread(self._load)
        num_nodes = len(served.embeddings.nodes)
        batches = Batches(served, self._worker, self.settings, self.metrics)
        if num_nodes:  # before the first request, compile kernels and compute mean vectors
            loop = asyncio.get_running_loop()
            for asked in (Asked(0, 1, "targets", 0), Asked(0, 1, "sources", 0)):
                await loop.run_in_executor(self._worker, batches.search, [asked])
        # The garbage collector need not look through a result, which lives long.
        gc.freeze()
        self.current = batches
        self.metrics.nodes.set(num_nodes)
        self.metrics.loaded_at.set_to_current_time()

    async def reload(self) -> None:
        """Load the newest result; if that fails, log why and go on with the previous one."""
        try:
            await self.load()
        except Exception as error:
            self.metrics.failed_reloads.inc()
            logger.error("result was not loaded again, the one before is served on: %s", error)
        else:
            self.metrics.reloads.inc()
            logger.info("result loaded again: %s", self.current.served.embeddings)

    async def recommend(self, names: Sequence[str], wanted: Wanted) -> list[bytes]:
        """Return the recommendations for each node, as JSON."""
        current = self.current
        ids = await self.ids(current.served, names)
        return await current.recommend(ids, wanted.k, wanted.direction, wanted.popularity)

    async def ids(self, served: Served, names: Sequence[str]) -> list[int]:
        """Return the ids of names in a result; a refusal of an unknown name offers close ones."""
        nodes = served.embeddings.nodes
        unknown = next((name for name in names if name not in nodes), None)
        if unknown is None:
            found: list[int] = nodes.ids(names).tolist()
            return found
        message = f"unknown node {unknown!r}: not among the {len(nodes):,} nodes"
        if not self._suggesting.locked():
            # One at a time: a comparison with all names takes up to a second.
            async with self._suggesting:
                try:
                    await asyncio.to_thread(nodes.ids, [unknown])
                except KeyError as error:
                    message = str(error.args[0])
        raise Refusal(404, message)


def plain_score(value: float) -> float | None:
    """Return a score rounded to six digits; None if it is beyond float32."""
    return float(f"{value:.6g}") if math.isfinite(value) else None


def _as_json(node: str, direction: Direction, names: Iterable[str], scores: Scores) -> bytes:
    recommended = [
        {"node": name, "score": plain_score(score)}
        for name, score in zip(names, scores.tolist(), strict=True)
        if score != -math.inf  # there are fewer candidates
    ]
    answer = {"node": node, "direction": direction, "recommendations": recommended}
    return json.dumps(answer).encode()


def run_server(
    app: ASGIApp, service: Service, address: tuple[str, int], *, ready: Callable[[str], None]
) -> None:
    """Serve until SIGINT or SIGTERM, `ready` called with the URL; SIGHUP loads a new result."""
    sys.setswitchinterval(0.001)  # so long may a reload block the requests
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
        timeout_keep_alive=75,
        timeout_graceful_shutdown=10,
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
