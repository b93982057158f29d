"""Cells of an experiment, run in worker processes, and the tidy table of their results.

Workers read tasks as JSON lines and write outcomes; one that dies loses only its own cell. They
exit as soon as their standard input ends, so that none outlives a run that was killed.
"""

from __future__ import annotations

import csv
import json
import os
import queue
import re
import signal
import subprocess
import sys
import threading
import time
import traceback
from collections import deque
from collections.abc import Generator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from multiprocessing.connection import wait
from pathlib import Path
from typing import IO, Any, Literal, TypeAlias, get_args

from arcvec.baselines.by_name import METHODS
from arcvec.embeddings import EdgeScorer
from arcvec.evaluation.curves import roc_auc
from arcvec.evaluation.link_prediction import link_prediction
from arcvec.graph.split import Split, read_split
from arcvec.parallel.threads import threads_per_worker
from arcvec.storage.tables import write_table

Task: TypeAlias = Mapping[str, Any]  # the folder of a split, a method, its settings, and ranking
Outcome: TypeAlias = dict[str, Any]  # status "done" with its numbers, or "failed" with the error
_Worker: TypeAlias = "subprocess.Popen[str]"


def run_tasks(
    tasks: Sequence[Task], num_workers: int, log: Path
) -> Generator[tuple[int, Outcome | None], None, None]:
    """Yield the index of a task when it starts, with None, and again with its outcome.

    Tasks start in order and end in any; what libraries print is appended to `log`.
    """
    num_workers = min(num_workers, len(tasks))
    todo = deque(range(len(tasks)))
    idle: list[_Worker] = []
    busy: dict[Any, tuple[_Worker, int]] = {}
    with log.open("ab") as log_file:
        try:
            while todo or busy:
                while todo and len(busy) < num_workers:
                    worker = idle.pop() if idle else _start_worker(num_workers, log_file)
                    i = todo.popleft()
                    busy[worker.stdout] = worker, i
                    with suppress(OSError):  # a dead worker is noticed when its outcome is read
                        print(json.dumps(tasks[i]), file=worker.stdin, flush=True)
                    yield i, None
                for pipe in wait(list(busy)):
                    worker, i = busy.pop(pipe)
                    line = worker.stdout.readline() if worker.stdout else ""
                    if line.endswith("\n"):
                        idle.append(worker)
                        yield i, json.loads(line)
                    else:
                        _end(worker)
                        how = f"with exit code {worker.returncode}"
                        if worker.returncode == -signal.SIGKILL:
                            how = "killed by signal 9, perhaps out of memory"
                        yield i, {"status": "failed", "error": f"the worker process died, {how}"}
        finally:
            for worker in (*idle, *(worker for worker, _ in busy.values())):
                _end(worker)


def _start_worker(num_workers: int, log_file: IO[bytes]) -> _Worker:
    pools = ("OMP", "MKL", "OPENBLAS", "NUMBA") if num_workers > 1 else ()
    threads = str(threads_per_worker(num_workers))
    return subprocess.Popen(
        [sys.executable, "-m", "arcvec.lab.cells"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=log_file,
        text=True,
        env={**os.environ, **{f"{pool}_NUM_THREADS": threads for pool in pools}},
        start_new_session=True,  # Ctrl-C reaches the run alone, which then ends its workers
    )


def _end(worker: _Worker) -> None:
    with suppress(OSError), worker:  # closes the pipes and waits
        worker.kill()


def serve_tasks() -> None:
    """Run tasks from standard input until it ends."""
    # What libraries print goes to the log, not between the outcomes.
    outcomes = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    lines: queue.SimpleQueue[str] = queue.SimpleQueue()

    def listen() -> None:
        for line in sys.stdin:
            lines.put(line)
        os._exit(0)

    threading.Thread(target=listen, daemon=True).start()
    while True:
        outcomes.write(json.dumps(run_task(json.loads(lines.get()))) + "\n")
        outcomes.flush()


def run_task(task: Task) -> Outcome:
    """Return the outcome of a task, run in this process."""
    try:
        return {"status": "done", "error": "", "numbers": _measure(task)}
    except Exception as error:  # whatever a method does, the other cells go on
        text = " ".join(str(error).split())
        name = "" if isinstance(error, ValueError) else f"{type(error).__name__}: "
        return {
            "status": "failed",
            "error": f"{name}{text}".removesuffix(": "),
            "traceback": traceback.format_exc(),
        }


_read_split_once = lru_cache(maxsize=1)(read_split)


def _measure(task: Task) -> dict[str, Any]:
    split = _read_split_once(task["split"])
    method = METHODS[task["method"]].model_validate(task["settings"])
    if task["method"] in ("edge-projection", "two-stages"):
        # Import torch before the clock starts.
        import arcvec.training.fit  # noqa: F401
    with suppress(OSError):  # Linux: measure peak memory from here on
        Path("/proc/self/clear_refs").write_text("5")
    started, cpu_started = time.perf_counter(), time.process_time()
    scorer = method.fit(split.train)
    fitted, cpu_fitted = time.perf_counter(), time.process_time()
    report = link_prediction(scorer, split, ranking=task["ranking"])
    known = getattr(scorer, "settings", {})
    return {
        **report.as_dict(),
        "train_auc": train_auc(scorer, split),
        **{name: known.get(name) for name in ("norm_std", "validation_auc", "steps_done")},
        "fit_seconds": round(fitted - started, 3),
        "fit_cpu_seconds": round(cpu_fitted - cpu_started, 3),
        "evaluation_seconds": round(time.perf_counter() - fitted, 3),
        "peak_memory_mb": _peak_memory_mb(),
    }


def train_auc(scorer: EdgeScorer, split: Split) -> float:
    """Return the ROC-AUC of the train edges against the train negatives."""
    return roc_auc(scorer.score(*split.train.edges()), scorer.score(*split.train_negatives.T))


def _peak_memory_mb() -> float | None:
    """Return the most memory this process held since the last reset; None if unknown."""
    status = Path("/proc/self/status")
    found = re.search(r"^VmHWM:\s*(\d+)", status.read_text(), re.M) if status.exists() else None
    return round(int(found[1]) / 1024, 1) if found else None


Status: TypeAlias = Literal["done", "failed", "refused", "left-out", "missing"]

NUMBERS = (
    *("auc", "auc_random", "auc_reversed", "average_precision", "mrr", "mrr_standard_error"),
    *("hits@10", "hits@50", "hits@100", "recall@10", "precision@10", "ndcg@10", "map@10"),
    *("hit_rate@10", "source_mrr", "coverage@10", "popular_share@10", "popularity@10"),
    *("target_popularity", "num_test_edges", "num_ranked", "train_auc", "norm_std"),
    *("validation_auc", "steps_done", "fit_seconds", "fit_cpu_seconds", "evaluation_seconds"),
    *("peak_memory_mb", "threads"),
)

_COLUMNS = {
    **{"dataset": "VARCHAR", "method": "VARCHAR", "dim": "INTEGER", "seed": "INTEGER"},
    "status": "VARCHAR",
    **dict.fromkeys(NUMBERS, "DOUBLE"),
    **{"digest": "VARCHAR", "error": "VARCHAR"},
}


@dataclass(frozen=True)
class Result:
    """One row of the tidy table: a cell and its outcome."""

    dataset: str
    method: str  # the label of the column
    dim: int | None
    seed: int | None
    status: Status  # left-out: a further seed of a run whose first was too slow or failed
    error: str
    digest: str
    numbers: Mapping[str, float | None]  # by the names in `NUMBERS`; None if one does not apply


def write_results(path: Path, results: Sequence[Result]) -> None:
    """Write the tidy table as csv."""
    rows = []
    for result in results:
        known = {name: value for name, value in result.numbers.items() if value is not None}
        row = vars(result) | {name: f"{value:.10g}" for name, value in known.items()}
        rows.append([row.get(name) for name in _COLUMNS])
    write_table(path, _COLUMNS, rows, overwrite=True)


def read_results(path: Path) -> list[Result]:
    """Return the rows of a tidy table in csv; an older version may have written fewer numbers."""
    results = []
    with path.open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            if not set(_COLUMNS) - set(NUMBERS) <= set(row) <= set(_COLUMNS):
                raise ValueError(f"{path}: expected the columns of a results.csv, got others")
            if row["status"] not in get_args(Status):
                raise ValueError(f'{path}: expected a status, got "{row["status"]}"')
            cell: dict[str, Any] = {name: row[name] for name in set(_COLUMNS) - set(NUMBERS)}
            cell |= {name: int(row[name]) if row[name] else None for name in ("dim", "seed")}
            numbers = {name: float(row[name]) if row.get(name) else None for name in NUMBERS}
            results.append(Result(numbers=numbers, **cell))
    return results


if __name__ == "__main__":
    serve_tasks()
