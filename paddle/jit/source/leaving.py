"""Values that say how a block was left: by ``return``, ``break`` or ``continue``, which data may decide."""

from __future__ import annotations

from typing import Any

from paddle.jit.source.values import Optional, read
from paddle.jit.source.world import ABSENT
from umiak import ops as F
from umiak.core.tensor import Tensor
from umiak.util.errors import op_error

ENDED, BROKEN, CONTINUED, RETURNED, BROKE_INNER = 0, 1, 2, 3, 4


class Left:
    """A block was left: ``kind`` is one of the numbers above, or a tensor of one; ``value``: what is returned."""

    def __init__(self, kind: Any, value: Any = ABSENT) -> None:
        self.kind, self.value = kind, value

    @property
    def is_known(self) -> bool:
        """Return whether how the block was left is known before the program runs."""
        return not isinstance(self.kind, Tensor)


BREAK, CONTINUE = Left(BROKEN), Left(CONTINUED)


def left(kind: Any, value: Any) -> Left | None:
    """The result of a block: None where it ran to its end."""
    return None if not isinstance(kind, Tensor) and kind == ENDED else Left(kind, value)


def parts(x: Left | None) -> tuple[Any, Any]:
    return (ENDED, ABSENT) if x is None else (x.kind, x.value)


def renamed(x: Left | None, before: int, after: int) -> Left | None:
    """Return how a block was left, with one kind called another."""
    kind, value = parts(x)
    if not isinstance(kind, Tensor):
        return left(after if kind == before else kind, value)
    return Left(F.where(F.eq(kind, before), F.full(after, shape=(), dtype=kind.dtype), kind), value)


def is_any(x: Left | None, *kinds: int) -> Any:
    """Return whether a block was left by one of the kinds: a bool, or a tensor."""
    kind, _ = parts(x)
    if not isinstance(kind, Tensor):
        return kind in kinds
    out = F.eq(kind, kinds[0])
    for k in kinds[1:]:
        out = F.logical_or(out, F.eq(kind, k))
    return out


def returned(value: Any) -> Left:
    """Leave a block by returning ``value``."""
    return Left(RETURNED, value)


def result(x: Left | None) -> Any:
    """The return value of a function whose last block was left so."""
    if x is None or x.value is ABSENT:
        raise op_error(RuntimeError, "to_static", "a block that returns a value", "one that does not")
    return x.value if type(x.value) is Optional else read(x.value)  # whoever called may ask whether it is None
