"""A random call, and what families draw it from."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from tests.fuzz.calls import record

FLOATS = ("float64", "float32", "float16", "bfloat16")
LOWEST = -100.0  # what stands for a log-sum-exp of nothing, so that results can be compared


@dataclass(frozen=True)
class Call(record.Call):
    """``dtypes``: the floating dtypes that the function takes, the widest first. ``other_dtype``: the first result need
    not have the operands'. ``names``: the public names that are called."""

    dtypes: tuple[str, ...] = FLOATS
    other_dtype: bool = False
    names: tuple[str, ...] = ()


Family = Callable[[np.random.Generator, np.random.Generator], Call]


def chosen(rng: np.random.Generator, *values: Any) -> Any:
    return values[int(rng.integers(len(values)))]


def normal(rng: np.random.Generator, *shape: int) -> np.ndarray:
    """Numbers of few bits, which narrow dtypes hold."""
    return np.round(np.clip(rng.standard_normal(shape), -2, 2) * 32) / 32


def softmax(x: np.ndarray) -> np.ndarray:
    """Over the last axis; zeros where all of it is -inf."""
    most = x.max(-1, keepdims=True, initial=-np.inf)
    e = np.exp(x - np.where(np.isfinite(most), most, 0))
    total = e.sum(-1, keepdims=True)
    return e / np.where(total == 0, 1, total)


def log_sum_exp(x: np.ndarray) -> np.ndarray:
    """Over the last axis, not below ``LOWEST``."""
    most = np.maximum(x.max(-1, initial=-np.inf), LOWEST)
    with np.errstate(divide="ignore"):
        return np.maximum(most + np.log(np.exp(x - most[..., None]).sum(-1)), LOWEST)


def sigmoid(x: np.ndarray) -> np.ndarray:
    return 1 / (1 + np.exp(-x))


def gelu(x: np.ndarray) -> np.ndarray:
    from scipy.special import erf

    return x * (1 + erf(x / np.sqrt(2))) / 2


def gelu_by_tanh(x: np.ndarray) -> np.ndarray:
    return x * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3))) / 2


def swiglu(x: np.ndarray) -> np.ndarray:
    first, second = np.split(x, 2, -1)
    return first * sigmoid(first) * second
