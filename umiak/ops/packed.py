"""Packed data types, whose elements share bytes: the two ops that read and write them.

All other ops that take them (``Op.packed``) run on their carrier, a type of whole bytes: ``compiler/packed.py``.
"""

from __future__ import annotations

from typing import Any

from umiak import ops as F
from umiak.ir.meta import Meta
from umiak.ops.base import Op, register


@register
class Unpack(Op):
    """The elements of ``x`` of packed ``dtype`` in its carrier."""

    packed = True
    amp = "keep"
    dtype: Any

    def infer(self, x):
        if not self.dtype.is_packed or x.dtype is not self.dtype:
            self.fail(TypeError, f"an operand of {self.dtype.name}, a packed dtype", x.dtype.name)
        return Meta(tuple(x.shape), x.dtype.carrier)


@register
class Pack(Op):
    """The elements of ``x``, which has the carrier of ``dtype``, in that packed dtype.

    Integers wrap; floats are rounded to the nearest, what is too large to the largest.
    """

    packed = True
    amp = "keep"
    dtype: Any

    def infer(self, x):
        if not self.dtype.is_packed or x.dtype is not self.dtype.carrier:
            self.fail(TypeError, f"{self.dtype.carrier.name} to make {self.dtype.name} of", x.dtype.name)
        return Meta(tuple(x.shape), self.dtype)


def unpacked(x: Any) -> Any:
    """``x`` in a dtype of whole bytes: its carrier where it is packed."""
    return F.unpack(x, dtype=x.dtype) if x.dtype.is_packed else x
