"""Made by ``tools/public_stubs.py``."""

from paddle.jit.sot.breakpoints import BM as BM
from paddle.jit.sot.breakpoints import add_breakpoint as add_breakpoint
from paddle.jit.sot.breakpoints import add_event as add_event
from paddle.jit.sot.translate import symbolic_translate as symbolic_translate

__all__ = [
    "BM",
    "add_breakpoint",
    "add_event",
    "symbolic_translate",
]
