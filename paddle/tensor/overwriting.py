"""Functions whose result is a tensor with some elements replaced; their in-place forms write these elements alone."""

from __future__ import annotations

from typing import Any

from paddle.tensor._args import InternedOps
from umiak import ops as F
from umiak.core.context import AMP_MASK, current
from umiak.core.eager import apply
from umiak.core.inplace import apply_into, overwrite
from umiak.core.plan import OpBase
from umiak.core.tensor import KIND_VIEW, Tensor

_QUICKLY_COPIED = 1 << 14  # elements: a copy of fewer takes less time than to find out whether it is needed
_TARGET = "overwriting.target"  # of the context: the tensor that the running in-place form writes
WHERE = F.Where()
PUT, SCATTER_ALONG = InternedOps(F.Put), InternedOps(F.ScatterAlong)
INDEX_GET, INDEX_PUT = InternedOps(F.IndexGet), InternedOps(F.IndexPut)


def updated(x: Tensor, op: OpBase, operands: tuple, params: tuple = ()) -> Tensor:
    """The result of an op for ``x``: a new tensor, or ``x`` where its in-place form runs."""
    if x is current().values.get(_TARGET) and update(x, op, operands, params):
        return x
    return apply(op, operands, params)


def update(x: Tensor, op: OpBase, operands: tuple, params: tuple = ()) -> bool:
    """Write an op's result into ``x``. False, and nothing is done, where a gradient, a program or an observer of calls
    has to know of it, and on devices, which find a wrong index only after others have been written."""
    c = current()
    if (
        x.place.device_type != "cpu"
        or x._kind & ~KIND_VIEW
        or c.observers
        or c.plan_mode & AMP_MASK
        or x.dtype.is_packed
        or (c.grad_enabled and (not x.stop_gradient or _want_gradients(operands)))
    ):
        return False
    apply_into(op, (x,), operands, params)
    return True


def _want_gradients(operands: tuple) -> bool:
    return any(isinstance(o, Tensor) and not o.stop_gradient for o in operands)


def some_elements(function: Any, x: Tensor, args: tuple, kwargs: dict, differs: Any) -> Tensor:
    """Write the result of a function that ends with :func:`updated` of its first argument into ``x``."""
    if x._kind & ~KIND_VIEW or x._count < _QUICKLY_COPIED:
        return overwrite(function, x, args, kwargs, differs)
    values = current().values
    former, values[_TARGET] = values.get(_TARGET), x
    try:
        return overwrite(function, x, args, kwargs, differs)
    finally:
        values[_TARGET] = former
