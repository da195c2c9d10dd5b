"""A random call as data."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

Arrays = tuple[np.ndarray, ...]


@dataclass(frozen=True)
class Call:
    """``ours`` takes tensors, ``judge`` the same as arrays, floats in float64; either gives one result or several.

    ``differentiable``: the arguments that have a gradient. ``counts``: sizes of results are read from data, which a
    captured function refuses. ``tolerance``: of results in float64, relative and absolute.
    """

    text: str
    ours: Callable[..., Any]
    judge: Callable[..., Any]
    arrays: Arrays
    differentiable: tuple[int, ...] = ()
    counts: bool = False
    tolerance: float = 1e-9


# Makes a call: the first generator decides the attributes, the second sizes and data.
Family = Callable[[np.random.Generator, np.random.Generator], Call]


def boxes_in(rng: np.random.Generator, count: int, width: float, height: float) -> np.ndarray:
    """Boxes (x1, y1, x2, y2), some of them beyond the borders; sides of a tenth at least."""
    extent = np.array([width, height])
    low = rng.uniform(-0.2, 0.9, (count, 2)) * extent
    return np.concatenate([low, low + rng.uniform(0.1, 0.7, (count, 2)) * extent], 1)


def shared(rng: np.random.Generator, total: int, parts: int) -> np.ndarray:
    """How many of ``total`` each of some parts has."""
    return np.bincount(rng.integers(0, parts, total), minlength=parts).astype("int32")
