"""Small integer tensors whose elements are sizes: they are computed on Python scalars and symbolic sizes.

A program that was saved for any batch size takes sizes of its tensors apart and puts them together again (``shape64``,
``slice``, ``stack``, ``reshape``). Their elements must be known while it is recorded, since they decide shapes.
"""

from __future__ import annotations

from typing import Any

import numpy as np

import paddle
from umiak import ops as F
from umiak.core.dtype import convert
from umiak.core.tensor import Tensor
from umiak.ir import sym as dim
from umiak.ir.expr import Sym
from umiak.ir.tracer import SymTensor

MOST = 64  # elements


class Known:
    """A tensor whose elements are known: ``array`` has them as Python scalars and ``Sym``.

    ``literal``: the file has them as a list of numbers, in which 0 and -1 may stand for something.
    """

    __slots__ = ("array", "dtype", "literal")

    def __init__(self, elements: Any, dtype: str, literal: bool = False) -> None:
        self.array = np.array(elements, dtype=object) if not isinstance(elements, np.ndarray) else elements
        self.dtype, self.literal = dtype, literal

    @property
    def symbolic(self) -> bool:
        """Is one of the elements known only when the program runs?"""
        return any(type(x) is Sym for x in self.array.flat)

    def elements(self) -> list[Any]:
        """All elements, in order."""
        return list(self.array.flat)

    def tensor(self) -> Tensor:
        """The tensor that this stands for."""
        shape, elements = self.array.shape, self.elements()
        if not self.symbolic:
            if len({repr(x) for x in elements}) == 1:  # 0.0 and -0.0 are two
                return paddle.full(shape, elements[0], self.dtype)
            steps = _progression(elements) if convert(self.dtype).is_integer else None
            if steps is not None:  # passes know positions by it, as those of a causal mask
                made = paddle.arange(*steps, self.dtype)
                return made if len(shape) == 1 else made.reshape(shape)
            return paddle.to_tensor(np.array(elements, dtype=convert(self.dtype).numpy).reshape(shape))
        return paddle.stack([_scalar(x, self.dtype) for x in elements]).reshape(shape)


def _progression(elements: list[Any]) -> tuple[int, int, int] | None:
    """Start, end and step of integers at equal distances; None for others, and for fewer than three."""
    if len(elements) < 3 or any(type(x) is not int for x in elements):
        return None
    start, step = elements[0], elements[1] - elements[0]
    end = start + step * len(elements)
    return (start, end, step) if step and elements == list(range(start, end, step)) else None


def _scalar(x: Any, dtype: str) -> Tensor:
    if type(x) is Sym and x.kind == "bool" and dtype != "bool":
        x = dim.where(x, 1, 0)
    return F.full(x, dtype=convert(dtype), shape=())


def known_elements(x: Any) -> list[Any] | None:
    """The elements of a tensor, a list of tensors or of numbers, where they are known now; in eager mode they are."""
    if isinstance(x, Known):
        return x.elements()
    if isinstance(x, SymTensor):
        return None
    if isinstance(x, Tensor):
        return np.asarray(x.numpy()).ravel().tolist()
    if isinstance(x, (list, tuple)):
        parts = [known_elements(y) for y in x]
        return None if any(p is None for p in parts) else [n for p in parts for n in p or ()]
    return [x]


def tensor_of(x: Any) -> Tensor:
    """A value as a tensor."""
    return x.tensor() if isinstance(x, Known) else x
