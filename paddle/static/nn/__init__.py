"""Branches and loops over tensors."""

from paddle import _late
from paddle.static.nn.control_flow import case, cond, switch_case, while_loop

__getattr__, __dir__ = _late.attributes_of(__name__)

__all__ = ["case", "cond", "switch_case", "while_loop"]
