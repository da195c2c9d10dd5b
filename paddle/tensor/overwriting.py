"""Functions whose result is a tensor with some elements replaced; their in-place forms write these elements alone."""

from __future__ import annotations

from typing import Any, NamedTuple

from umiak.core.context import AMP_MASK, current
from umiak.core.eager import apply
from umiak.core.inplace import apply_into, overwrite
from umiak.core.plan import OpBase
from umiak.core.tensor import KIND_VIEW, Tensor

_TARGET = "overwriting.target"  # of the context: the tensor that the running in-place form writes


class Update(NamedTuple):
    """One op on a tensor and what replaces some of its elements."""

    op: OpBase
    operands: tuple
    params: tuple = ()

    def write(self, x: Tensor) -> bool:
        """Write the result into ``x``. False, and nothing is done, where a gradient or a program has to know of it, and
        on devices, which find a wrong index only after others have been written."""
        recorded = current().grad_enabled and any(isinstance(o, Tensor) and not o.stop_gradient for o in self.operands)
        if recorded or not is_plain(x):
            return False
        apply_into(self.op, (x,), self.operands, self.params)
        return True

    def result(self, x: Tensor) -> Tensor:
        """The result for ``x``: a new tensor, or ``x`` in its in-place form."""
        return x if x is current().values.get(_TARGET) and self.write(x) else apply(*self)


def is_plain(x: Tensor) -> bool:
    """Return whether a write to ``x`` concerns nothing but its memory."""
    c = current()
    return (
        x.place.device_type == "cpu"
        and not x._kind & ~KIND_VIEW
        and not c.observers
        and not c.plan_mode & AMP_MASK
        and not x.dtype.is_packed
        and (x.stop_gradient or not c.grad_enabled)
    )


def some_elements(function: Any, x: Tensor, args: tuple, kwargs: dict, differs: Any) -> Tensor:
    """Write the result of a function that ends with :meth:`Update.result` of its first argument into ``x``."""
    values = current().values
    former, values[_TARGET] = values.get(_TARGET), x
    try:
        return overwrite(function, x, args, kwargs, differs)
    finally:
        values[_TARGET] = former
