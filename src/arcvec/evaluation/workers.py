"""Tasks run in worker processes: one that dies takes nothing with it but its own task."""

from __future__ import annotations

import json
import os
import queue
import signal
import subprocess
import sys
import threading
from collections.abc import Generator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import IO, Any

from arcvec.cores import threads_per_worker
from arcvec.evaluation.cell_run import Task

_THREAD_VARIABLES = (
    *("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMBA_NUM_THREADS"),
)
_ATTEMPTS = 2

Event = tuple[int, dict[str, Any] | None]
"""Which task, and its outcome; None when it starts."""


def run_tasks(tasks: Sequence[Task], num_workers: int, log: Path) -> Generator[Event, None, None]:
    """Yield an event when a task starts and one when it ends, in any order; tasks start in theirs.

    Args:
        num_workers: processes; they share the cores.
        log: file to which they append what libraries print.
    """
    todo: queue.SimpleQueue[int] = queue.SimpleQueue()
    for i in range(len(tasks)):
        todo.put(i)
    events: queue.SimpleQueue[Event] = queue.SimpleQueue()
    num_workers = min(num_workers, len(tasks))
    with log.open("ab") as log_file:
        workers = [_Worker(num_workers, log_file) for _ in range(num_workers)]
        threads = [
            threading.Thread(target=worker.serve, args=(tasks, todo, events), daemon=True)
            for worker in workers
        ]
        try:
            for thread in threads:
                thread.start()
            unfinished = len(tasks)
            while unfinished:
                event = events.get()
                unfinished -= event[1] is not None
                yield event
        finally:
            for worker in workers:
                worker.stop()
            for thread in threads:
                thread.join()


class _Worker:
    """A process that is started when first needed, and again after it died."""

    def __init__(self, num_workers: int, log_file: IO[bytes]) -> None:
        self._num_workers = num_workers
        self._log_file = log_file
        self._process: subprocess.Popen[str] | None = None
        self._lock = threading.Lock()
        self._stopped = False

    def serve(
        self,
        tasks: Sequence[Task],
        todo: queue.SimpleQueue[int],
        events: queue.SimpleQueue[Event],
    ) -> None:
        """Run tasks until none is left, then let the process go."""
        while not self._stopped:
            try:
                i = todo.get_nowait()
            except queue.Empty:
                break
            events.put((i, None))
            outcome = self._run(tasks[i])
            if outcome is not None:
                events.put((i, outcome))
        self._end()

    def stop(self) -> None:
        """End the process at once, also in the middle of a task."""
        with self._lock:
            self._stopped = True
            if self._process is not None:
                self._process.kill()

    def _end(self) -> None:
        with self._lock:
            if self._process is not None:
                self._process.__exit__(None, None, None)  # closes its pipes, so that it ends
                self._process = None

    def _run(self, task: Task) -> dict[str, Any] | None:
        """Return the outcome; None if stopped."""
        code = 0
        for _ in range(_ATTEMPTS):
            process = self._started()
            if process is None:
                return None
            outcome = _ask(process, task)
            if outcome is not None:
                return outcome
            self._end()
            code = process.returncode
        error = f"the worker process died {_ATTEMPTS} times, {_describe_exit(code)}"
        return None if self._stopped else {"status": "failed", "error": error}

    def _started(self) -> subprocess.Popen[str] | None:
        with self._lock:
            if self._stopped:
                return None
            if self._process is None:
                self._process = subprocess.Popen(
                    [sys.executable, "-m", "arcvec.evaluation.worker"],
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=self._log_file,
                    text=True,
                    env=self._environment(),
                    start_new_session=True,  # Ctrl-C is for the run alone, which then ends this
                )
            return self._process

    def _environment(self) -> dict[str, str]:
        if self._num_workers == 1:
            return dict(os.environ)
        threads = str(threads_per_worker(self._num_workers))
        return {**os.environ, **dict.fromkeys(_THREAD_VARIABLES, threads)}


def _ask(process: subprocess.Popen[str], task: Task) -> dict[str, Any] | None:
    """Return the outcome of the task; None if the process died."""
    if process.stdin is None or process.stdout is None:
        raise ValueError("expected a process with pipes")
    try:
        process.stdin.write(json.dumps(asdict(task)) + "\n")
        process.stdin.flush()
        line = process.stdout.readline()
        outcome: dict[str, Any] | None = json.loads(line) if line.endswith("\n") else None
    except OSError:
        return None
    return outcome


def _describe_exit(code: int) -> str:
    if code != -signal.SIGKILL:
        return f"by signal {-code}" if code < 0 else f"with exit code {code}"
    return "killed by signal 9, perhaps for want of memory"
