"""One op on many rows of operands. See docs/design/dispatch.md and launch.md."""

from collections.abc import Sequence

from umiak.core.plan import OpBase
from umiak.core.slot import SlotRows
from umiak.core.tensor import Tensor

def apply_foreach_into(op: OpBase, rows: Sequence[tuple[tuple, tuple, tuple] | SlotRows]) -> None:
    """``apply_into(op, outs, operands, params)`` for each row ``(outs, operands, params)``, in as few launches as there
    are classes of operands; element-by-element ops in one for all shapes.

    The results are those of one call after the other. Rows are checked before anything is written, except for those
    that have no launch in common (operands that overlap the outputs, strides under a Python kernel): these are written
    one by one. Errors name the row.
    """

def apply_foreach(op: OpBase, rows: Sequence[tuple[tuple, tuple]]) -> list[Tensor]:
    """``apply(op, operands, params)`` for each row ``(operands, params)`` of an op with one output, likewise.

    No gradient is recorded.
    """

def elements(x: Tensor) -> list[Tensor]:
    """The elements of a contiguous tensor of one dim, as tensors without dims over the same memory; no history."""
