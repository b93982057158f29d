"""The result that is served now, and how another takes its place."""

from __future__ import annotations

import asyncio
import gc
import logging
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from arcvec.serve.batches import Asked, Batches
from arcvec.serve.metrics import Metrics
from arcvec.serve.refusal import Refusal
from arcvec.serve.result import Served
from arcvec.serve.settings import ServeSettings

logger = logging.getLogger(__name__)


class Service:
    """The result that is served now; requests take `current` once and keep it to their end.

    Attributes:
        current: answers about the result that is served now.
        metrics: counts of all that was served.
    """

    current: Batches

    def __init__(self, load: Callable[[], Served], settings: ServeSettings) -> None:
        """Take what loads the newest result; nothing is loaded yet."""
        self.settings, self.metrics = settings, Metrics()
        self._load = load
        # One thread: batches follow each other, and compiled loops share no threads.
        self._worker = ThreadPoolExecutor(1, "search", _limit_threads, (settings.threads,))
        self._compares_names = False

    async def load(self) -> None:
        """Load the newest result and serve it from now on.

        Raises:
            OSError, ValueError: it cannot be read; the one before, if any, is served on.
        """
        _limit_threads(self.settings.threads)  # of this thread, which searches where that is quick
        served = await asyncio.to_thread(self._load)
        batches = Batches(served, self._worker, self.settings, self.metrics)
        await self._warm_up(batches)
        # What was loaded lives long: the garbage collector need not look through it again.
        gc.freeze()
        self.current = batches
        self.metrics.num_nodes = len(served.embeddings.nodes)
        self.metrics.loaded_at = round(time.time(), 3)

    async def reload(self, result: Path) -> None:
        """Load the newest result; if that fails, serve on the one before, and log why."""
        try:
            await self.load()
        except Exception as error:
            self.metrics.count("failed_reloads")
            logger.error("%s was not loaded again, the one before is served on: %s", result, error)
        else:
            self.metrics.count("reloads")
            logger.info("%s loaded again: %s", result, self.current.served.embeddings)

    async def ids(self, current: Batches, names: Sequence[str]) -> list[int]:
        """Return the ids of names in a result.

        Raises:
            Refusal: a name is unknown; the message offers close ones.
        """
        nodes = current.served.embeddings.nodes
        unknown = next((name for name in names if name not in nodes), None)
        if unknown is None:
            found: list[int] = nodes.ids(names).tolist()
            return found
        if self._compares_names:
            raise Refusal(404, f"unknown node {unknown!r}: not among the {len(nodes):,} nodes")
        # One at a time: to compare with all names takes up to a second, and others wait for it.
        self._compares_names = True
        try:
            await asyncio.to_thread(nodes.ids, [unknown])
        except KeyError as error:
            raise Refusal(404, str(error.args[0])) from None
        finally:
            self._compares_names = False
        raise AssertionError("an unknown name was found")

    async def _warm_up(self, batches: Batches) -> None:
        """Compile, or read what was compiled, before anyone waits for it."""
        if not len(batches.served.embeddings.nodes):
            return
        loop = asyncio.get_running_loop()
        for asked in (Asked(0, 1, "targets"), Asked(0, 1, "sources")):
            await loop.run_in_executor(self._worker, batches.search, [asked])


def _limit_threads(threads: int) -> None:
    import numba

    numba.set_num_threads(min(threads, numba.get_num_threads()))
