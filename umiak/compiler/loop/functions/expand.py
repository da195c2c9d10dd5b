"""The rewriting of expressions: which nodes are expanded, and by what."""

from __future__ import annotations

from collections.abc import Mapping

from umiak.compiler.loop.functions import (
    bessel,
    error_functions,
    exponentials,
    gamma,
    logarithms,
    narrow,
    philox,
    powers,
    trigonometry,
)
from umiak.compiler.loop.functions.building_blocks import Builder
from umiak.compiler.loop.node import Node, rebuild, walk
from umiak.compiler.loop.types import F32, F64

_MODULES = (exponentials, logarithms, powers, trigonometry, error_functions, bessel, gamma, philox, narrow)
BUILDERS: dict[str, Builder] = {name: build for m in _MODULES for name, build in m.BUILDERS.items()}


def expand(
    roots: list[Node], native: frozenset[str] = frozenset(), own: Mapping[str, Builder] | None = None
) -> list[Node]:
    """The roots without function nodes and without casts from or to storage types.

    ``native``: names of functions and of storage types (f16, bf16) that the target computes and converts itself. Of the
    casts of such a type those between it and f32 stay. With "ldexp" among them it is one instruction, which takes a
    mask. ``own``: functions that the target has expanded in another way.
    """
    builders = {**BUILDERS, **(exponentials.MASKED if "ldexp" in native else {}), **(own or {})}
    expanded: dict[Node, Node] = {}
    for x in walk(roots):
        args = tuple(expanded[a] for a in x.args)
        if x.op == "cast" and (x.type.is_storage or args[0].type.is_storage):
            expanded[x] = narrow.convert(args[0], x.type, native)
        elif x.op in builders and x.op not in native:
            if x.op != "philox" and args[0].type not in (F32, F64):
                raise TypeError(f"{x.op} requires f32 or f64, got {args[0].type}: cast before and after")
            expanded[x] = builders[x.op](*args)
        else:
            expanded[x] = x if all(p is q for p, q in zip(args, x.args)) else rebuild(x, args)
    return [expanded[r] for r in roots]
