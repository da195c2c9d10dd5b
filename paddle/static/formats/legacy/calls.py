"""``paddle._legacy_C_ops``: older operators as functions, for programs that call kernels of the reference by name.

Tensors come by position, in the order of an operator's slots; behind them the numbers of results in lists, where there
are such; then attributes as pairs: ``softmax(x, "axis", -1)``. What an operator means is its row in ``table``; those
that a row does not say are not here. Results that only kernels of gradients read are None.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

from paddle._absent import refuse
from paddle.static.formats.calls import operator_call
from paddle.static.formats.legacy import operators
from paddle.static.formats.legacy.table import BASES, TABLE, UNSET, Renamed, Row
from paddle.static.formats.legacy.translate import ELEMENTS
from umiak.core.dtype import DType
from umiak.util.errors import op_error

_SUBJECTS = operators  # imported for what they enter in the table

# Operators whose results come in another order than in programs of today, and those with a second one that is a shape.
_ORDER = {"distribute_fpn_proposals": (0, 2, 1)}
_WITH_SHAPE = frozenset("flatten_contiguous_range reshape2 squeeze2 transpose2 unsqueeze2".split())


def __getattr__(name: str) -> Any:
    row = None if name.startswith("__") else _rows().get(name)
    if row is None:
        raise refuse("paddle._legacy_C_ops", name, not name.startswith("__"), sys._getframe(1))
    function = globals()[name] = _call_of(name, row)
    return function


def __dir__() -> list[str]:
    return sorted(_rows())


def _rows() -> dict[str, Row]:
    """The rows of operators whose operands are tensors alone."""
    return BASES | {name: row for name, row in TABLE.items() if isinstance(row, Row)}


def _call_of(name: str, row: Row) -> Callable[..., Any]:
    """The function of an operator."""
    slots = [s.name for operand in row.operands for s in operand.sources if not s.constant]
    order = _ORDER.get(name, range(len(row.results)))

    def call(*args: Any) -> Any:
        first = next((i for i, x in enumerate(args) if isinstance(x, str)), len(args))
        pairs = args[first:]
        if len(pairs) % 2 or not all(isinstance(x, str) for x in pairs[::2]):
            raise op_error(TypeError, name, "attributes as pairs of name and value", list(pairs))
        attributes = dict(zip(pairs[::2], pairs[1::2], strict=True))
        given = dict(zip(slots, args[:first], strict=False))
        if not all(type(x) is int for x in args[len(slots) : first]):
            raise op_error(TypeError, name, f"at most {len(slots)} tensors ({', '.join(slots)})", first)
        values = []
        for operand in row.operands:
            found = [attributes.get(s.name, s.default) if s.constant else given.get(s.name) for s in operand.sources]
            values.append(next((x for x in found if x is not None and x is not UNSET), None))
        named = {a.name: _attribute(a, attributes) for a in row.attributes}
        results = operator_call(row.target, values, {n: x for n, x in named.items() if x is not None})
        results = results if isinstance(results, tuple) else (results,)
        if name in _WITH_SHAPE:
            return results[0], None
        results = (*results, *[None] * len(order))
        return results[0] if len(order) == 1 else tuple(results[i] for i in order)

    call.__name__ = call.__qualname__ = name
    call.__doc__ = f"What the operator ``{name}`` of {', '.join(slots)} means in a program."
    return call


def _attribute(a: Renamed, given: dict[str, Any]) -> Any:
    """The value of an attribute; None where the operator has none."""
    value = next((given[x] for x in a.sources if x in given), a.default)
    if value is UNSET:
        return None
    return ELEMENTS.get(value) if a.dtype and not isinstance(value, DType) else value
