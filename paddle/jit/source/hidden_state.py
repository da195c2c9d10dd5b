"""State that neither a place nor a comparison stands for: flags of tensors, what caches say of themselves, clocks.

In a program that is recorded, code that asks for it behind, or within, a branch or loop that changes it is refused.
"""

from __future__ import annotations

import datetime
import functools
import time
from types import BuiltinFunctionType
from typing import Any, NoReturn

from paddle.jit.source.errors import ConversionError, place_of
from paddle.jit.source.values import in_region
from paddle.jit.source.world import world
from umiak.core.tensor import Tensor

_CLOCKS = {
    id(getattr(time, name)): f"time.{name}"
    for name in (
        "time", "time_ns", "monotonic", "monotonic_ns", "perf_counter", "perf_counter_ns", "process_time",
        "process_time_ns", "thread_time", "thread_time_ns", "clock_gettime", "clock_gettime_ns",
    )
}  # fmt: skip
_OF_DATES = ("now", "utcnow", "today")  # methods of classes


def flagged(x: Any) -> None:
    """``x.stop_gradient`` is about to be set."""
    if isinstance(x, Tensor) and in_region():
        world().note(x, x.stop_gradient)


def flag_of(x: Any) -> Any:
    """``x.stop_gradient``."""
    if isinstance(x, Tensor) and world().is_noted(x):
        _refuse(
            "stop_gradient", "a flag that no branch or loop on tensors has set", "one that is set so",
            "Set it before the statement, or keep a tensor that says which way was taken",
        )  # fmt: skip
    return world().call(getattr, x, "stop_gradient")


def note_cached(f: Any) -> None:
    """A function with ``functools.lru_cache`` is called, or its cache is cleared."""
    if in_region():
        world().note(f, None)


def check(f: Any) -> None:
    """Refuse a call of ``f`` that a program has no operation for, and that is not as it was in each run."""
    if (clock := _CLOCKS.get(id(f))) is None and type(f) is BuiltinFunctionType:
        owner = f.__self__
        if type(owner) is functools._lru_cache_wrapper:
            _check_cache(owner, f.__name__)
        elif f.__name__ in _OF_DATES and isinstance(owner, type) and issubclass(owner, datetime.date):
            clock = f"{owner.__module__}.{owner.__name__}.{f.__name__}"
    if clock is not None and in_region():
        _refuse(clock, "no clock to be read in a branch or loop on tensors", "one", "Read it outside of the model")


def _check_cache(f: Any, name: str) -> None:
    if name == "cache_clear":
        note_cached(f)
    elif name == "cache_info" and (in_region() or world().is_noted(f)):
        _refuse(
            f"{f.__name__}.cache_info", "a function that no branch or loop on tensors calls",
            "one that such a statement calls", "Count the calls in a variable",
        )  # fmt: skip


def _refuse(what: str, required: str, got: str, advice: str) -> NoReturn:
    raise ConversionError(f"[to_static] requires {required} for {what} at {place_of()}, got {got}. {advice}")
