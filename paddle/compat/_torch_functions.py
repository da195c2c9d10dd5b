"""Functions with PyTorch's meaning that only its name has: ``paddle`` has another, and ``paddle.compat`` none."""

from __future__ import annotations

from typing import Any

from paddle.tensor.arithmetic import pow as _pow
from umiak.core.tensor import Tensor


def pow(self: Any, exponent: Any, *, out: Tensor | None = None) -> Tensor:
    """Powers whose base may be a number."""
    if isinstance(self, Tensor) or not isinstance(exponent, Tensor):
        return _pow(self, exponent, out=out)
    found = self**exponent
    return found if out is None else out.copy_(found)
