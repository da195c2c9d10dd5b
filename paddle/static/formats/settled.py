"""Branches on constants as the way that is taken.

The reference's predictors fold operators of constants, ``if`` among them, whose branches they lose: they refuse such a
program. A function that is traced has them where a loop on data begins: ``while i < 4 and x.max() < 50``.
"""

from __future__ import annotations

import numpy as np

from paddle.static.formats.graph import FETCH, Attribute, Block, Module, Operation
from paddle.static.formats.record import Values

_CONSTANT = frozenset({"full", "full_int_array", "assign_value", "assign", "cast", "reshape", "scale"}) | {
    "add", "subtract", "multiply", "floor_divide", "remainder", "less_than", "less_equal", "greater_than",
    "greater_equal", "equal", "not_equal", "logical_and", "logical_or", "logical_xor", "logical_not", "all", "any",
}  # fmt: skip


def settle_branches(module: Module) -> None:
    """Put the way that is taken in the place of each branch whose flag is made of constants."""
    _settle(module.block, {}, {})


def _settle(block: Block, known: dict[int, Operation], same: dict[int, int]) -> None:
    """``known``: operations over constants, by their results; ``same``: values that stand for those of branches."""
    waiting, made = list(reversed(block.operations)), []
    while waiting:
        o = waiting.pop()
        o.operands = [same.get(n, n) if n is not None else None for n in o.operands]
        if o.name == "pd_op.if" and o.operands[0] in known:
            way = o.regions[0 if _truth(o.operands[0], known) else 1].operations
            waiting.append(Operation("", list(way[-1].operands), results=o.results))  # what the way yields
            waiting += reversed(way[:-1])
            continue
        if not o.name:
            same.update({r.number: n for r, n in zip(o.results, o.operands, strict=True) if n is not None})
            continue
        for region in o.regions:
            _settle(region, dict(known), same)
        if o.name.removeprefix("pd_op.").removesuffix("_") in _CONSTANT and all(n in known for n in o.operands):
            known.update({r.number: o for r in o.results})
        made.append(o)
    block.operations = made


def _truth(flag: int, known: dict[int, Operation]) -> bool:
    needed: dict[int, Operation] = {}  # each operation once, behind those that it reads

    def need(o: Operation) -> None:
        if id(o) not in needed:
            for n in o.operands:
                need(known[n])  # type: ignore[index]
            needed[id(o)] = o

    need(known[flag])
    fetch = Operation(FETCH, [flag], {"name": Attribute("str", "flag"), "col": Attribute("i32", 0)}, [])
    (found,) = Values(Module(Block([], [*needed.values(), fetch])), {}, {}).run()
    return bool(np.all(found.numpy()))
