"""Calls from Python: ops on operands and params, and Python's operators. See docs/design/dispatch.md."""

from typing import Any

from umiak.core.plan import OpBase
from umiak.core.tensor import Tensor

BINARY_NAMES: tuple[str, ...]
UNARY_NAMES: tuple[str, ...]

def apply(op: OpBase, operands: tuple, params: tuple = ()) -> Any:
    """Run ``op``. Operands are tensors, numbers or None; returns a Tensor or a tuple of them."""

def apply1(op: OpBase, x: Any) -> Tensor: ...
def apply2(op: OpBase, x: Any, y: Any) -> Tensor: ...
def apply_plain(op: OpBase, operands: tuple, params: tuple = ()) -> Any:
    """``apply`` past the observers."""

def reduction_key(x: Tensor, axis: Any, keepdim: Any) -> int:
    """A key for a reduction: the tensor's dtype and rank, the axis, keepdim. -1 for what has none (a list of axes)."""

def apply_reduce(table: dict, x: Any, axis: Any, keepdim: Any) -> Tensor | None:
    """Run ``table[reduction_key(x, axis, keepdim)]`` on x; None when the table has no such op."""

def apply_axis(table: dict, x: Any, axis: int) -> Tensor | None:
    """Run ``table[axis]`` on x, a negative axis counted from the end; None for a 0-d tensor."""

def apply_rows(op: OpBase, x: Any, item: Any) -> Tensor | None:
    """``x[item]`` by ``op``, the slice of axis 0, for a slice of ints with a positive step; None for all else."""

def install(
    binary: dict[str, OpBase] | None = None, unary: dict[str, OpBase] | None = None, promote: Any = None
) -> None:
    """The ops of Python's operators, by name of the op, and ``promote(name, a, b)`` for operands that need it."""
