"""Parts of callbacks that watch one number of the logs."""

from __future__ import annotations

import math
import numbers
import operator
import warnings
from collections.abc import Callable
from typing import Any

from umiak.util.errors import op_error

MODES = ("auto", "min", "max")


class Direction:
    """Sense of a monitored number: better when it is larger, or smaller.

    ``"auto"``: larger if the name has "acc" in it. Another mode than "auto", "min" and "max" counts as "auto", with a
    warning.
    """

    def __init__(self, callback: str, monitor: str, mode: str) -> None:
        if mode not in MODES:
            text = f"[{callback}] requires mode 'auto', 'min' or 'max', got {mode!r}. It counts as 'auto'"
            warnings.warn(text, UserWarning, stacklevel=3)
            mode = "auto"
        self.mode = mode
        self.larger = mode == "max" or (mode == "auto" and "acc" in monitor)

    @property
    def worst(self) -> float:
        """A number that is worse than all others."""
        return -math.inf if self.larger else math.inf

    @property
    def compare(self) -> Callable[[Any, Any], bool]:
        return operator.gt if self.larger else operator.lt

    def margin(self, least: float) -> float:
        """A difference to add to the best number; a new one that is better than this sum is an improvement."""
        return least if self.larger else -least


def monitored(callback: str, monitor: str, logs: dict[str, Any] | None) -> float | None:
    """The monitored number; None, with a warning, where the logs have none."""
    value: Any = (logs or {}).get(monitor)
    if isinstance(value, (list, tuple)) and value:
        value = value[0]
    if isinstance(value, numbers.Number) or getattr(value, "size", 0) == 1:
        return value
    names = [name for name in logs or {} if name not in ("step", "batch_size")]
    wrong = op_error(ValueError, callback, f"monitor among the names in logs, {names}", repr(monitor))
    warnings.warn(f"{wrong}. It does nothing", UserWarning, stacklevel=3)
    return None
