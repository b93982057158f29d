"""Recommendations for many requests at once: a search for many nodes costs little more than one."""

from __future__ import annotations

import asyncio
import json
import math
from collections import OrderedDict
from collections.abc import Iterable, Sequence
from concurrent.futures import Executor
from itertools import islice
from threading import Lock
from typing import NamedTuple

import numpy as np

from arcvec.embeddings import Scores
from arcvec.recommendation.candidates import Direction
from arcvec.recommendation.exact import top_k
from arcvec.serve.metrics import Metrics
from arcvec.serve.refusal import overloaded
from arcvec.serve.result import Served
from arcvec.serve.settings import ServeSettings

_KEPT_K = 100
"""Longer answers are not kept: a thousand of them would fill megabytes."""


_QUICK = 40_000_000
"""Products of a search that takes but a few milliseconds: less than threads cost each other."""

_ONE_SEARCH = Lock()  # compiled loops are not meant to run in two threads at once


class Asked(NamedTuple):
    """One node asked about."""

    node: int
    k: int
    direction: Direction


class Batches:
    """Answers about one result, as JSON; what waits is answered together, a batch at a time.

    While the worker searches for one batch, requests for the next gather: the busier the server,
    the larger its batches. The same question asked twice is answered once.
    """

    def __init__(
        self, served: Served, worker: Executor, settings: ServeSettings, metrics: Metrics
    ) -> None:
        """Take a result to answer about, and the one thread that searches."""
        self.served = served
        self._worker, self._settings, self._metrics = worker, settings, metrics
        self._cache: OrderedDict[Asked, bytes] = OrderedDict()
        self._waiting: dict[Asked, asyncio.Future[bytes]] = {}
        self._task: asyncio.Task[None] | None = None

    async def recommend(self, nodes: Iterable[int], k: int, direction: Direction) -> list[bytes]:
        """Return the answer about each node, as JSON.

        Raises:
            Refusal: too many nodes wait already.
        """
        if len(self._waiting) >= self._settings.max_requests:
            raise overloaded(self._settings.max_requests)
        return [await one for one in [self._answer(Asked(i, k, direction)) for i in nodes]]

    def _answer(self, asked: Asked) -> asyncio.Future[bytes]:
        loop = asyncio.get_running_loop()
        kept = self._cache.get(asked)
        if kept is not None:
            self._cache.move_to_end(asked)
            self._metrics.count("cache_hits")
            answered: asyncio.Future[bytes] = loop.create_future()
            answered.set_result(kept)
            return answered
        if asked not in self._waiting:
            self._waiting[asked] = loop.create_future()
        if self._task is None or self._task.done():
            # Starts when this turn of the loop is over: requests that came together go together.
            self._task = loop.create_task(self._answer_waiting())
        return self._waiting[asked]

    async def _answer_waiting(self) -> None:
        while self._waiting:
            await asyncio.sleep(0)  # requests that have come meanwhile join
            batch = self._next_batch()
            self._metrics.count("batches")
            self._metrics.count("batch_nodes", len(batch))
            try:
                answers = await self._search_here_or_there(batch)
            except Exception as error:
                for asked in batch:
                    self._waiting.pop(asked).set_exception(error)
                continue
            for asked, answer in zip(batch, answers, strict=True):
                self._waiting.pop(asked).set_result(answer)
                self._keep(asked, answer)

    async def _search_here_or_there(self, batch: Sequence[Asked]) -> list[bytes]:
        """Search at once if that is quick; else in the worker, so that others need not wait."""
        vectors = self.served.products.target
        if len(batch) * vectors.size <= _QUICK and batch[0].k <= _KEPT_K:
            return self.search(batch)
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._worker, self.search, batch)

    def _next_batch(self) -> list[Asked]:
        """Return those who wait longest, of one direction and about the same k."""
        first = next(iter(self._waiting))
        alike = (
            asked
            for asked in self._waiting
            if asked.direction == first.direction and _digits(asked.k) == _digits(first.k)
        )
        return list(islice(alike, self._settings.batch))

    def search(self, batch: Sequence[Asked]) -> list[bytes]:
        """Return the answers to a batch of one direction."""
        with _ONE_SEARCH:
            return self._search(batch)

    def _search(self, batch: Sequence[Asked]) -> list[bytes]:
        served, direction = self.served, batch[0].direction
        ids = np.array([asked.node for asked in batch])
        widest = min(max(asked.k for asked in batch), len(served.embeddings.nodes))
        best, scores = top_k(
            served.products,
            ids,
            widest,
            exclude=served.known,
            direction=direction,
            index=served.laid_out,
        )
        asked_names = served.embeddings.nodes.at(ids)
        names = served.embeddings.nodes.at(best)
        return [
            _as_json(asked_names[i], direction, names[i][: asked.k], scores[i][: asked.k])
            for i, asked in enumerate(batch)
        ]

    def _keep(self, asked: Asked, answer: bytes) -> None:
        if self._settings.cache == 0 or asked.k > _KEPT_K:
            return
        self._cache[asked] = answer
        if len(self._cache) > self._settings.cache:
            self._cache.popitem(last=False)


def plain_score(value: float) -> float | None:
    """Return a score as it is worth telling, six figures; None if it is beyond float32."""
    return float(f"{value:.6g}") if math.isfinite(value) else None


def _as_json(node: str, direction: Direction, names: Iterable[str], scores: Scores) -> bytes:
    recommended = [
        {"node": name, "score": plain_score(score)}
        for name, score in zip(names, scores.tolist(), strict=True)
        if score != -math.inf  # there are fewer candidates
    ]
    answer = {"node": node, "direction": direction, "recommendations": recommended}
    return json.dumps(answer).encode()


def _digits(k: int) -> int:
    return len(str(k - 1))
