"""Selected rows: gradients of tables of which a call used few rows (seam 5 of the design: a kind of tensor).

A ``SelectedRows`` stands for a tensor of ``full_shape`` that is zero but for some rows. What it is as a tensor, shape
and data, are the values of those rows; ``index`` says which they are. A row may come more than once: its values add
up, which ``merged`` does. Few ops have a meaning here (``RULES``); others are refused, with the way out.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from umiak import ops as F
from umiak.core.context import no_grad_guard
from umiak.core.dtype import int64
from umiak.core.tensor import KIND_SELECTED_ROWS, Tensor


class SelectedRows(Tensor):
    """``values`` (rows first) are the rows at ``index`` (int64, one dim) of a tensor of ``full_shape``.

    The memory of both is used as it is; there is no history.
    """

    __slots__ = ("full_shape", "index")

    index: Tensor
    full_shape: list[int]

    def __new__(cls, index: Tensor, values: Tensor, full_shape: Any) -> SelectedRows:
        rows: SelectedRows = Tensor.__new__(cls)
        rows._share(values)
        rows._kind = KIND_SELECTED_ROWS
        rows.stop_gradient = True
        rows.index = index
        rows.full_shape = list(full_shape)
        return rows

    def __init__(self, index: Tensor, values: Tensor, full_shape: Any) -> None:
        if index.dtype is not int64 or index.ndim != 1 or [index.shape[0], *full_shape[1:]] != values.shape:
            raise ValueError(
                f"[SelectedRows] requires an int64 index of one dim and values of {['n', *full_shape[1:]]}, got "
                f"{index.dtype.name} {list(index.shape)} and {list(values.shape)}"
            )

    def value(self) -> Tensor:
        """The values as a dense tensor over the same memory."""
        dense: Tensor = Tensor.__new__(Tensor)
        dense._share(self)
        dense._kind = 0
        return dense

    def rows(self) -> list[int]:
        """The indices of the rows, in the order of the values."""
        return self.index.numpy().tolist()

    def height(self) -> int:
        """The number of rows of the full tensor."""
        return self.full_shape[0]

    def get_tensor(self) -> Tensor:
        """:meth:`value`."""
        return self.value()

    def get_selected_rows(self) -> SelectedRows:
        """This gradient: it has ``rows()``, ``height()`` and ``get_tensor()``."""
        return self

    def is_selected_rows(self) -> bool:
        """True: only some rows are stored."""
        return True

    def is_dense(self) -> bool:
        """False: only some rows are stored."""
        return False

    def merged(self) -> SelectedRows:
        """Each row once, in rising order, with the sum of its values."""
        with no_grad_guard():
            count = int(F.unique_count(self.index, None, False).item())
            index, _, place, _ = F.unique_sized(self.index, None, False, count)
            shape = (count, *self.full_shape[1:])
            values = F.put(F.full(0.0, dtype=self.dtype, shape=shape), place, self.value(), axis=0, mode="add")
        return SelectedRows(index, values, self.full_shape)

    def to_dense(self) -> Tensor:
        """The whole tensor, with zeros in the other rows."""
        with no_grad_guard():
            return add_to(F.full(0.0, dtype=self.dtype, shape=tuple(self.full_shape)), self)

    def with_values(self, values: Tensor) -> SelectedRows:
        """The same rows with other values."""
        return SelectedRows(self.index, values, self.full_shape)

    def detach(self) -> SelectedRows:
        """The same rows over the same memory."""
        return self.with_values(self.value())

    def __repr__(self) -> str:
        values = str(self.value().numpy()).replace("\n", "\n       ")
        return (
            f"Tensor(shape={list(self.shape)}, dtype={self.dtype.name}, place={self.place}, "
            f"stop_gradient={self.stop_gradient}, rows={self.rows()},\n       {values})"
        )

    __str__ = __repr__


def add_to(dense: Tensor, rows: SelectedRows) -> Tensor:
    """``dense + rows``, a new dense tensor."""
    return F.put(dense, rows.index, rows.value(), axis=0, mode="add")


def _is_rows(x: Any) -> bool:
    return isinstance(x, SelectedRows)


def _is_scalar(x: Any) -> bool:
    return not isinstance(x, Tensor) or (not _is_rows(x) and math.prod(x.shape) == 1 and x.ndim == 0)


def _add(op: Any, operands: tuple, params: tuple) -> Any:
    a, b = operands
    if _is_rows(a) and _is_rows(b):
        if a.full_shape != b.full_shape:
            raise ValueError(f"[add] requires selected rows of one shape, got {a.full_shape} and {b.full_shape}")
        values = F.concat([a.value(), b.value()], axis=0)
        return SelectedRows(F.concat([a.index, b.index], axis=0), values, a.full_shape)
    rows, dense = (a, b) if _is_rows(a) else (b, a)
    if not isinstance(dense, Tensor) or list(dense.shape) != rows.full_shape:
        return None
    return add_to(dense, rows)


def _scaled(op: Any, operands: tuple, params: tuple) -> Any:
    """Ops that are linear in the rows: they act on the values."""
    if sum(map(_is_rows, operands)) != 1 or not all(_is_rows(x) or _is_scalar(x) for x in operands):
        return None
    if type(op) is F.Div and not _is_rows(operands[0]):
        return None
    rows = next(x for x in operands if _is_rows(x))
    return rows.with_values(op(*(x.value() if _is_rows(x) else x for x in operands), *params))


RULES: dict[type, Callable[[Any, tuple, tuple], Any]] = {
    F.Add: _add,
    **dict.fromkeys((F.Mul, F.Div, F.Neg, F.Cast, F.Copy), _scaled),
}


def call(op: Any, operands: tuple, params: tuple) -> Any:
    """An op on operands among which there are selected rows.

    Raises:
        TypeError: it has no meaning for them.
    """
    rule = RULES.get(type(op)) if any(map(_is_rows, operands)) else None
    with no_grad_guard():
        result = None if rule is None else rule(op, operands, params)
    if result is None:
        raise TypeError(
            f"[{op.name}] requires dense tensors, got a gradient of selected rows among "
            f"{', '.join(type(x).__name__ for x in operands)}. Use to_dense() or value()."
        )
    return result
