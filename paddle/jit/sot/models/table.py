"""The table of models: what a function does with simulated values, by the function."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

_MODELS: dict[int, Callable[..., Any]] = {}
_HELD: list[Any] = []  # so that ids stay those of these objects


def model_of(f: Any) -> Callable[..., Any] | None:
    """Return the model of a function, or None."""
    return _MODELS.get(id(f))


def model(*functions: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Register what functions do. A model gets the simulator and the arguments."""

    def register(m: Callable[..., Any]) -> Callable[..., Any]:
        for f in functions:
            _MODELS[id(f)] = m
            _HELD.append(f)
        return m

    return register
