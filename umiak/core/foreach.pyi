"""One op on many rows of operands. See docs/design/dispatch.md and launch.md."""

from collections.abc import Callable, Sequence
from typing import Any

from umiak.core.plan import OpBase
from umiak.core.tensor import Tensor

class SlotRows:
    """The updates of slots, as rows for ``apply_foreach_into``: it counts as that many."""

    def __len__(self) -> int: ...

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

def gradients(tensors: list) -> list[Tensor | None]:
    """``.grad`` of each, None for one with ``stop_gradient``."""

def lacks_slot(slots: list, grads: list) -> bool:
    """Return whether there is a gradient whose slot is None."""

def drop_gradients(tensors: list) -> None:
    """Set ``.grad`` of each to None."""

def zero_gradients(tensors: list) -> None:
    """``clear_grad()`` of each."""

# What an operand of a row is: the target, the gradient, the rate, nothing, or a state tensor (4 for the first).
def step_rows(
    slots: list[Any],
    grads: list[Any],
    rate: float,
    layout: Sequence[int],
    params_of: Callable[[Any], tuple],
    stepped: list,
    others: list,
) -> SlotRows | None:
    """Count a step of every slot that has a gradient, and the rows of their updates; None where there are none.

    ``layout`` says what the operands are; ``params_of(slot)`` is asked anew where the numbers or the count of steps
    differ from those before. Slots are appended to ``stepped``; those whose gradient is not dense are not counted but
    appended to ``others``, with it. The lists do not change before the rows were run.
    """

def step_slots(
    op: OpBase,
    tensors: list,
    slots: list[Any],
    rate: float,
    layout: Sequence[int],
    params_of: Callable[[Any], tuple],
) -> bool:
    """``gradients`` of the tensors, ``step_rows`` and ``apply_foreach_into`` in one. False, and nothing is done, where
    there is more to do: a gradient is not dense or has no slot yet, or calls are traced. A step that is refused is not
    counted.
    """

def write_rows(into: Tensor, rows: Tensor, values: Tensor) -> None:
    """``into[rows] = values``, in place: the rows alone are touched. Of a row that comes twice the last one stays.

    All are contiguous, ``rows`` of int64; memory is the host's.
    """
