"""Counts of what the server did, as text that Prometheus reads."""

from __future__ import annotations

import time
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator

BOUNDS = (0.001, 0.0025, 0.005, 0.01, 0.02, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5)
"""Upper ends in seconds of the classes that durations are counted in; a last one is open."""


class Metrics:
    """Counts since the server started.

    Attributes:
        in_progress: requests being worked on now.
        held_bytes: of large bodies and answers in memory now.
        most_held: the most of these since memory was last given back to the system.
        loaded_at: when the result served now was loaded, in seconds since 1970.
    """

    def __init__(self) -> None:
        self.in_progress = 0
        self.held_bytes = 0
        self.most_held = 0
        self.num_nodes = 0
        self.loaded_at = 0.0
        self._events: Counter[str] = Counter()
        self._requests: Counter[tuple[str, int]] = Counter()
        self._durations: dict[str, list[int]] = {}
        self._seconds: Counter[str] = Counter()

    def count(self, event: str, number: int = 1) -> None:
        """Count an event, such as "cache_hits"."""
        self._events[event] += number

    def count_request(self, route: str, status: int, seconds: float) -> None:
        """Count a request that was answered."""
        self._requests[route, status] += 1
        classes = self._durations.setdefault(route, [0] * (len(BOUNDS) + 1))
        classes[bisect_left(BOUNDS, seconds)] += 1
        self._seconds[route] += seconds  # type: ignore[assignment]

    def text(self) -> str:
        """Return all counts in Prometheus' text format."""
        return "\n".join(self._lines()) + "\n"

    def _lines(self) -> Iterator[str]:
        yield from _head("requests_total", "counter", "Requests answered, by route and status.")
        for (route, status), number in sorted(self._requests.items()):
            yield f'arcvec_requests_total{{route="{route}",status="{status}"}} {number}'
        yield from _head("request_seconds", "histogram", "From a request's head to its answer.")
        for route, classes in sorted(self._durations.items()):
            yield from _histogram(route, classes, self._seconds[route])
        for event, words in EVENTS.items():
            yield from _head(f"{event}_total", "counter", words)
            yield f"arcvec_{event}_total {self._events[event]}"
        yield "# HELP process_cpu_seconds_total Seconds of work of all threads."
        yield "# TYPE process_cpu_seconds_total counter"
        yield f"process_cpu_seconds_total {time.process_time():.3f}"
        gauges = {
            "requests_in_progress": (self.in_progress, "Requests being worked on."),
            "held_bytes": (self.held_bytes, "Bytes of large bodies and answers in memory."),
            "nodes": (self.num_nodes, "Nodes of the result that is served."),
            "result_loaded_seconds": (self.loaded_at, "When it was loaded, since 1970."),
        }
        for name, (value, words) in gauges.items():
            yield from _head(name, "gauge", words)
            yield f"arcvec_{name} {value}"


EVENTS = {
    "batches": "Searches for recommendations, each for several nodes.",
    "batch_nodes": "Nodes in these searches.",
    "cache_hits": "Recommendations answered from the cache.",
    "reloads": "Results loaded after the first.",
    "failed_reloads": "Results that could not be loaded; the one before stayed.",
}
"""What is counted besides requests."""


def _head(name: str, kind: str, words: str) -> Iterator[str]:
    yield f"# HELP arcvec_{name} {words}"
    yield f"# TYPE arcvec_{name} {kind}"


def _histogram(route: str, classes: list[int], seconds: float) -> Iterator[str]:
    total = 0
    for bound, number in zip((*BOUNDS, "+Inf"), classes, strict=True):
        total += number
        yield f'arcvec_request_seconds_bucket{{route="{route}",le="{bound}"}} {total}'
    yield f'arcvec_request_seconds_sum{{route="{route}"}} {seconds:.6f}'
    yield f'arcvec_request_seconds_count{{route="{route}"}} {total}'
