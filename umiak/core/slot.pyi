"""The state that an optimizer keeps for one parameter, and its updates as rows of operands."""

from typing import Any

# What an operand of an update is: the target, the gradient, the rate, nothing, or, from VALUE on, a state tensor.
TARGET: int
GRAD: int
RATE: int
ABSENT: int
VALUE: int

class Slot:
    """The state that an optimizer keeps for one parameter, as far as :func:`step_rows` reads it: what is updated, what
    a step writes into, state tensors, numbers (one object for all that are equal), a dict whose ``"learning_rate"`` is
    a factor on the optimizer's, and the number of steps done.
    """

    target: Any
    outs: tuple
    values: tuple
    hyper: Any
    rate: dict
    steps: int

class SlotRows:
    """The updates of slots, as rows for ``apply_foreach_into``: it counts as that many."""

    def __len__(self) -> int: ...
