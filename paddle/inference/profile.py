"""The profile of a predictor's life."""

from __future__ import annotations

from collections.abc import Callable

from paddle.profiler.profiler import Profiler


def start() -> Callable[[], None]:
    """Begin a profile; the function that is returned ends and prints it."""
    profiler = Profiler()
    profiler.start()

    def end() -> None:
        profiler.stop()
        profiler.summary()

    return end
