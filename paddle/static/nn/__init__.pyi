"""Made by ``tools/public_stubs.py``."""

from paddle.static.nn.control_flow import case as case
from paddle.static.nn.control_flow import cond as cond
from paddle.static.nn.control_flow import switch_case as switch_case
from paddle.static.nn.control_flow import while_loop as while_loop

__all__ = [
    "case",
    "cond",
    "switch_case",
    "while_loop",
]
