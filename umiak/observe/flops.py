"""How much arithmetic an op is, by what people compare models with: products of sums, each multiply-add once.

What moves, casts, compares or applies a function counts nothing. The rules are those by which the reference framework
counts its standard layers, for the ops that they are made of.
"""

from __future__ import annotations

import math
import weakref
from collections.abc import Callable
from typing import Any

from umiak.core.tensor import Tensor

Rule = Callable[[Any, tuple, tuple], int]


def size(x: Any) -> int:
    return math.prod(x.shape)


def _convolution(op: Any, operands: tuple, outs: tuple) -> int:
    weight = operands[1]
    return size(outs[0]) * math.prod(weight.shape[1:])


def _transposed(op: Any, operands: tuple, outs: tuple) -> int:
    # Per result, what the layer itself is asked: its input channels per group and all taps, whatever the stride.
    x, weight = operands[:2]
    groups = outs[0].shape[1] // weight.shape[1]
    return size(outs[0]) * (x.shape[1] // groups) * math.prod(weight.shape[2:])


def _product(op: Any, operands: tuple, outs: tuple) -> int:
    inner = operands[0].shape[-2 if getattr(op, "transpose_x", False) and operands[0].ndim > 1 else -1]
    return size(outs[0]) * inner


def _attention(op: Any, operands: tuple, outs: tuple) -> int:
    q, k, v = operands[:3]  # (batch, length, heads, width); scores, and the sum that they weigh
    return size(q) * k.shape[1] + size(outs[0]) * v.shape[1]


def _average(op: Any, operands: tuple, outs: tuple) -> int:
    x, out = operands[0], outs[0]
    taps = [n // m for n, m in zip(x.shape[2:], out.shape[2:], strict=True) if m]
    return size(out) * (math.prod(taps) + 1)


def _mean(op: Any, operands: tuple, outs: tuple) -> int:
    # Pooling to one point is this; other means are not counted.
    x = operands[0]
    pools = op.keepdim and x.ndim > 2 and tuple(op.axes) == tuple(range(2, x.ndim))
    return _average(op, operands, outs) if pools else 0


RULES: dict[str, Rule] = {
    "conv": _convolution,
    "conv_transpose": _transposed,
    "linear": _product,
    "matmul": _product,
    "attention": _attention,
    "batch_norm": lambda op, operands, outs: 2 * size(operands[0]),
    "batch_norm_infer": lambda op, operands, outs: 2 * size(operands[0]),
    "leaky_relu": lambda op, operands, outs: size(outs[0]),
    "avg_pool": lambda op, operands, outs: size(outs[0]),
    "adaptive_avg_pool": _average,
    "mean": _mean,
}


class Counter:
    """An observer of ops (``umiak.runtime.observe``) that adds up ``total``."""

    def __init__(self) -> None:
        self.total = 0
        self.last: Any = None  # the result of the last convolution, weakly

    def __call__(self, op: Any, operands: tuple, params: tuple, outs: tuple) -> None:
        rule = RULES.get(op.name)
        if rule is not None:
            self.total += rule(op, operands, outs)
            self.last = weakref.ref(outs[0]) if op.name.startswith("conv") else self.last
        elif op.name == "add" and self.last is not None and self.last() is operands[0]:
            # The bias of a convolution is an op of its own, unlike that of a linear map, which nobody counts.
            bias = operands[1]
            if isinstance(bias, Tensor) and size(bias) == operands[0].shape[1]:
                self.total += size(outs[0])
            self.last = None
