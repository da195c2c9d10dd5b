"""Branches and loops over tensors."""

from paddle.static.nn.control_flow import case, cond, switch_case, while_loop

__all__ = ["case", "cond", "switch_case", "while_loop"]
