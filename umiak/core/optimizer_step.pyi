"""Steps of optimizers for all parameters at once."""

from collections.abc import Callable, Sequence
from typing import Any

from umiak.core.plan import OpBase
from umiak.core.slot import SlotRows
from umiak.core.tensor import Tensor

def gradients(tensors: list) -> list[Tensor | None]:
    """``.grad`` of each, None for one with ``stop_gradient``."""

def lacks_slot(slots: list, grads: list) -> bool:
    """Return whether there is a gradient whose slot is None."""

def drop_gradients(tensors: list) -> None:
    """Set ``.grad`` of each to None."""

def zero_gradients(tensors: list) -> None:
    """``clear_grad()`` of each."""

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
