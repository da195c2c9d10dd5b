"""Expansion of expressions before the renderers for devices write them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from umiak.compiler.loop import functions
from umiak.compiler.loop.functions.building_blocks import Builder
from umiak.compiler.loop.node import (
    Node,
    add,
    bitcast,
    call,
    cast,
    const,
    lt,
    maximum,
    minimum,
    mul,
    rebuild,
    select,
    walk,
)
from umiak.compiler.loop.types import F32, I32, I64

# type -> (stored bits of the mantissa, bias of the exponent)
_FORMATS = {"f32": (23, 127), "f64": (52, 1023)}


def expand(
    roots: Sequence[Node], native: frozenset[str] = frozenset(), own: Mapping[str, Builder] | None = None
) -> list[Node]:
    """Without functions and casts of narrow floats but those that the target has."""
    return functions.expand(list(roots), native, own)


def expand_ldexp(roots: Sequence[Node]) -> list[Node]:
    """Without ``ldexp``, which NVPTX has no instruction for."""
    expanded: dict[Node, Node] = {}
    for x in walk(roots):
        args = tuple(expanded[a] for a in x.args)
        if x.op == "ldexp":
            expanded[x] = _scale(*args)
        else:
            expanded[x] = x if all(p is q for p, q in zip(args, x.args)) else rebuild(x, args)
    return [expanded[r] for r in roots]


def _scale(a: Node, b: Node) -> Node:
    """a * 2**b in three steps, each exact but for the last: a step down leaves the bits of the mantissa above the
    denormals, so that nothing is rounded twice."""
    bits, bias = _FORMATS[a.type.name]
    int_type = I32 if a.type is F32 else I64
    n = cast(minimum(maximum(b, -3.0 * bias), 3.0 * bias), int_type)
    down, least = bias - 1 - bits - 1, const(1 - bias, int_type)
    for _ in range(2):
        high, low = lt(const(bias, int_type), n), lt(n, least)
        a = select(high, mul(a, 2.0**bias), select(low, mul(a, 2.0**-down), a))
        n = select(high, add(n, -bias), select(low, add(n, down), n))
    n = minimum(maximum(n, least), const(bias, int_type))
    power = bitcast(call("shl", add(n, bias), const(bits, int_type)), a.type)
    return mul(a, power)
