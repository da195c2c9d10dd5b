"""Which casts a mixed-precision mode puts into a plan. The lists are the ops' own ``amp`` properties."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from umiak import ops as F
from umiak.core.dtype import DType
from umiak.core.dtype import convert as dtype_of
from umiak.ir.meta import Meta
from umiak.ops.base import Op

LOW = ("float16", "bfloat16")
NAMES = {6: "float16", 7: "bfloat16"}

# Custom lists by id (the id is part of the plan modes): (names forced to low precision, names kept at full precision).
CUSTOM: list[tuple[frozenset, frozenset]] = [(frozenset(), frozenset())]


def custom_lists(white: frozenset, black: frozenset) -> int:
    """The id of a pair of custom lists."""
    pair = (white, black)
    if pair not in CUSTOM:
        CUSTOM.append(pair)
    return CUSTOM.index(pair)


def with_casts(op: Op, metas: Sequence[Meta | None], level: int, dtype_id: int, custom: int) -> Op:
    """The op itself, or the op with casts that the mode asks for."""
    if op.view or not level:
        return op
    low = dtype_of(NAMES[dtype_id])
    full = dtype_of("float32")
    white, black = CUSTOM[custom]
    kind = "allow" if op.name in white else "deny" if op.name in black else op.amp
    floats = [m.dtype for m in metas if m is not None and m.dtype is not None and m.dtype.name in ("float32", *LOW)]
    if not floats:
        return op
    target: DType | None
    if kind == "allow" or (level == 2 and kind == "promote"):
        target = low
    elif kind == "deny":
        target = full
    elif len(set(floats)) > 1:
        target = full  # mixed operands go to the wider type
    else:
        return op
    casts = tuple(
        target if m is not None and m.dtype is not None and m.dtype in floats and m.dtype is not target else None for m in metas
    )
    return F.REGISTRY["with_casts"](inner=op, dtypes=casts) if any(casts) else op
