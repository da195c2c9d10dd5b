"""The helpers that rewritten code calls, by the name that it has there."""

from paddle.jit.source.branches import choose, if_, then
from paddle.jit.source.callees import call
from paddle.jit.source.leaving import BREAK, CONTINUE, result, returned
from paddle.jit.source.logic import and_, compare, decided, not_, or_
from paddle.jit.source.loops import for_, while_
from paddle.jit.source.raising import assert_, raised
from paddle.jit.source.values import read

__all__ = [
    "BREAK", "CONTINUE", "and_", "assert_", "call", "choose", "compare", "decided", "for_", "if_", "not_", "or_",
    "raised", "read", "result", "returned", "then", "while_",
]  # fmt: skip
