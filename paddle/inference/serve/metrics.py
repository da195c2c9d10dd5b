"""Numbers about a server, in the text format of Prometheus."""

from __future__ import annotations

import threading
from bisect import bisect_left
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import accumulate

SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
BATCHES = (1, 2, 4, 8, 16, 32, 64, 128)
TYPE = "text/plain; version=0.0.4; charset=utf-8"


class Counter:
    """Events by a label."""

    kind = "counter"

    def __init__(self, label: str) -> None:
        self._label = label
        self._counts: dict[str, int] = {}
        self._lock = threading.Lock()

    def add(self, value: str) -> None:
        """Count an event."""
        with self._lock:
            self._counts[value] = self._counts.get(value, 0) + 1

    def lines(self, name: str) -> Iterator[str]:
        """The lines of text."""
        with self._lock:
            counts = sorted(self._counts.items())
        for value, count in counts:
            yield f'{name}{{{self._label}="{value}"}} {count}'


class Histogram:
    """Sizes by buckets."""

    kind = "histogram"

    def __init__(self, bounds: Sequence[float]) -> None:
        self._bounds = list(bounds)
        self._counts = [0] * (len(bounds) + 1)
        self._sum = 0.0
        self._lock = threading.Lock()

    def add(self, value: float) -> None:
        """Count a size."""
        at = bisect_left(self._bounds, value)
        with self._lock:
            self._counts[at] += 1
            self._sum += value

    def lines(self, name: str) -> Iterator[str]:
        """The lines of text."""
        with self._lock:
            counts, total = list(accumulate(self._counts)), self._sum
        for bound, count in zip([*self._bounds, "+Inf"], counts, strict=True):
            yield f'{name}_bucket{{le="{bound}"}} {count}'
        yield f"{name}_sum {total}"
        yield f"{name}_count {counts[-1]}"


class Gauge:
    """A number that is asked for."""

    kind = "gauge"

    def __init__(self, ask: Callable[[], float]) -> None:
        self._ask = ask

    def lines(self, name: str) -> Iterator[str]:
        """The line of text."""
        yield f"{name} {self._ask()}"


class Metrics:
    """The numbers of one server. ``waiting``: requests that wait now."""

    def __init__(self, waiting: Callable[[], int]) -> None:
        self.requests = Counter("status")
        self.request_seconds = Histogram(SECONDS)
        self.run_seconds = Histogram(SECONDS)
        self.run_rows = Histogram(BATCHES)
        self._rows: dict[str, tuple[str, Counter | Histogram | Gauge]] = {
            "umiak_requests_total": ("Requests for predictions by status of the answer.", self.requests),
            "umiak_request_seconds": ("Time from a request to its answer.", self.request_seconds),
            "umiak_run_seconds": ("Time of a run of the model.", self.run_seconds),
            "umiak_run_rows": ("Samples in a run of the model.", self.run_rows),
            "umiak_waiting_requests": ("Requests that wait for a run.", Gauge(waiting)),
        }

    def ran(self, rows: int, seconds: float) -> None:
        """Count a run."""
        self.run_rows.add(rows)
        self.run_seconds.add(seconds)

    def text(self) -> str:
        """All numbers."""
        return exposition(self._rows)


def exposition(rows: Mapping[str, tuple[str, Counter | Histogram | Gauge]]) -> str:
    """The text of metrics by name, each with a sentence of help."""
    lines: list[str] = []
    for name, (help, metric) in rows.items():
        lines += [f"# HELP {name} {help}", f"# TYPE {name} {metric.kind}", *metric.lines(name)]
    return "\n".join(lines) + "\n"
