"""The state that an optimizer keeps for one parameter."""

from typing import Any

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
