"""Composites as what they mean in smaller operations."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any

from umiak.compiler.passes.fusion import Found, Made, fuse_operations, tensor
from umiak.compiler.passes.registry import register_pass
from umiak.ir.program import Operation, Program

Rule = Callable[..., Any]


@register_pass("decompose_pass")
def decompose(
    program: Program,
    blacklist: Iterable[str] = (),
    whitelist: Iterable[str] = (),
    start: int = 0,
    end: int = -1,
    rules: Mapping[str, Rule] | None = None,
) -> None:
    """Exchange composites for primitives.

    ``blacklist``: ops that stay; ``whitelist``: the only ones that do not, where it is given. ``start`` and ``end``:
    which operations, the last one excluded; -1: to the end. ``rules``: by op, what a call means in place of the op's
    own decomposition: a function of its operands, with attributes and params as keywords.
    """
    given, operations = rules or {}, program.ops
    allowed = {id(o): o for o in operations[start : len(operations) if end == -1 else end]}
    others = {id(o): o for o in program.walk() if id(o) not in allowed}  # held, so that ids stay theirs
    kept, only = frozenset(blacklist), frozenset(whitelist)

    def fusion(found: Found, o: Operation) -> Callable[[], Made] | None:
        if id(o) in others or o.name in kept or (only and o.name not in only) or o.regions or o.op.other_gradient:
            return None
        operands = tuple(map(tensor, o.operands))
        rule = given.get(o.name)
        if rule is not None and id(o) in allowed:  # what a rule makes has its usual meaning
            names = getattr(o.op, "param_fields", ())
            params = dict(zip(names, o.params, strict=True))
            return partial(rule, *operands, **o.attributes, **params)
        return partial(o.op.decompose, *operands, *o.params) if o.op.decompose is not None else None

    while fuse_operations(program, [("*", fusion)]):
        pass
    program.renumber()
