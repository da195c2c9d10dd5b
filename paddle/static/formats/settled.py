"""Branches on constants as the way that is taken.

The reference's predictors fold operators of constants, ``if`` among them, whose branches they lose: they refuse such a
program. A function that is traced has them where a loop on data begins: ``while i < 4 and x.max() < 50``. What is
computed of parameters is constant there, too, though its values may be others in another file: flags of these are
joined to one of the sizes of an input, which never holds, and which they cannot fold.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from paddle.static.formats.equal import free_numbers
from paddle.static.formats.graph import DATA, FETCH, Attribute, Block, Module, Operation, Result, TensorType
from paddle.static.formats.record import Values

_CONSTANT = frozenset({"full", "full_int_array", "assign_value", "assign", "cast", "reshape", "scale"}) | {
    "add", "subtract", "multiply", "floor_divide", "remainder", "less_than", "less_equal", "greater_than",
    "greater_equal", "equal", "not_equal", "logical_and", "logical_or", "logical_xor", "logical_not", "all", "any",
}  # fmt: skip


def settle_branches(module: Module) -> None:
    """Put the way that is taken in the place of each branch whose flag is made of constants."""
    _settle(module.block, {}, {})


def bind_branches(module: Module) -> None:
    """Have the flags that parameters decide depend on an input."""
    given = sorted((o for o in module.block.operations if o.name == DATA), key=lambda o: not _rank(o.results[0]))
    if not given or not any(o.name == _IF for o in module.block.walk()):
        return
    numbers = free_numbers(module)
    never, made = _never(given[0].results[0], numbers)
    if _bind(module.block, set(), never, numbers):
        at = module.block.operations.index(given[0]) + 1
        module.block.operations[at:at] = made


_IF = "pd_op.if"


def _rank(x: Result) -> int:
    return len(x.type.shape) if isinstance(x.type, TensorType) else 0


def _never(x: Result, numbers: Iterator[int]) -> tuple[Result, list[Operation]]:
    """A flag that is false whatever the sizes of an input are, and what computes it."""
    made: list[Operation] = []
    rank = _rank(x)
    if not rank:  # it has no sizes
        assert isinstance(x.type, TensorType)
        one, row = (
            Result(next(numbers), TensorType("int64", (1,))),
            Result(next(numbers), TensorType(x.type.dtype, (1,))),
        )
        value = {"value": Attribute("array", (Attribute("i64", 1),)), "dtype": Attribute("dtype", "int64")}
        value["place"] = Attribute("place", (1, 0, ""))
        made = [
            Operation("pd_op.full_int_array", [], value, [one], [], _STOPS),
            Operation("pd_op.reshape", [x.number, one.number], {}, [row], [], _STOPS),
        ]
        x, rank = row, 1
    sizes, differ, never = (
        Result(next(numbers), TensorType(*kind)) for kind in (("int64", (rank,)), ("bool", (rank,)), ("bool", ()))
    )
    axes = {"axis": Attribute("array", ()), "keepdim": Attribute("bool", False)}
    return never, [
        *made,
        Operation("pd_op.shape64", [x.number], {}, [sizes], [], _STOPS),
        Operation("pd_op.not_equal", [sizes.number, sizes.number], {}, [differ], [], _STOPS),
        Operation("pd_op.any", [differ.number], axes, [never], [], _STOPS),
    ]


_STOPS = {"stop_gradient": [True]}


def _bind(block: Block, fixed: set[int], never: Result, numbers: Iterator[int]) -> bool:
    """Return whether there was such a flag; ``fixed``: values that no input decides."""
    found, made = False, []
    for o in block.operations:
        if o.name == _IF and o.operands[0] in fixed:
            flag = Result(next(numbers), never.type)
            made.append(Operation("pd_op.logical_or", [o.operands[0], never.number], {}, [flag], [], _STOPS))
            o.operands[0], found = flag.number, True
        elif o.name != DATA and not o.regions and fixed.issuperset(n for n in o.operands if n is not None):
            fixed.update(r.number for r in o.results)
        for region in o.regions:
            found |= _bind(region, set(fixed), never, numbers)
        made.append(o)
    block.operations = made
    return found


def _settle(block: Block, known: dict[int, Operation], same: dict[int, int]) -> None:
    """``known``: operations over constants, by their results; ``same``: values that stand for those of branches."""
    waiting, made = list(reversed(block.operations)), []
    while waiting:
        o = waiting.pop()
        o.operands = [same.get(n, n) if n is not None else None for n in o.operands]
        if o.name == _IF and o.operands[0] in known:
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
