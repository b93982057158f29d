"""A worker process: tasks come as JSON lines on standard input, outcomes leave on standard output.

It ends when its standard input does, in the middle of a task if need be: so no worker outlives a
run that was killed.
"""

from __future__ import annotations

import json
import os
import queue
import sys
import threading
from typing import TextIO


def main() -> None:
    """Serve tasks until standard input ends."""
    # What libraries print must not get between the outcomes.
    outcomes = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    lines: queue.SimpleQueue[str] = queue.SimpleQueue()
    threading.Thread(target=_listen, args=(sys.stdin, lines), daemon=True).start()
    while True:
        line = lines.get()
        from arcvec.evaluation.cell_run import Task, run_task

        outcomes.write(json.dumps(run_task(Task(**json.loads(line)))) + "\n")
        outcomes.flush()


def _listen(tasks: TextIO, lines: queue.SimpleQueue[str]) -> None:
    for line in tasks:
        lines.put(line)
    os._exit(0)


if __name__ == "__main__":
    main()
