"""Arithmetic of ops as models are compared by it: the multiply-adds that op classes declare.

What moves, casts, compares or applies a function counts nothing.
"""

from __future__ import annotations

import math
import weakref
from typing import Any

from umiak.core.tensor import Tensor


class Counter:
    """An observer of ops (``umiak.runtime.observe``) that adds up ``total``."""

    def __init__(self) -> None:
        self.total = 0
        self.last: Any = None  # the result of the last convolution, weakly

    def __call__(self, op: Any, operands: tuple, params: tuple, outs: tuple) -> None:
        if op.multiply_adds is not None:
            self.total += op.multiply_adds(operands, outs)
            self.last = weakref.ref(outs[0]) if op.name.startswith("conv") else self.last
        elif op.name == "add" and self.last is not None and self.last() is operands[0]:
            # The bias of a convolution is an op of its own, unlike that of a linear map, which nobody counts.
            bias = operands[1]
            if isinstance(bias, Tensor) and math.prod(bias.shape) == operands[0].shape[1]:
                self.total += math.prod(outs[0].shape)
            self.last = None
