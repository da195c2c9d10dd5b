"""Values of a module that are equal, because the same operator computes them of the same."""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Hashable
from itertools import count

from paddle.static.formats.graph import Block, Module

_SAID_OF_PLACES = "op_callstack", "stop_gradient"


def first_equals(module: Module) -> dict[int, int]:
    """For each value the first one that is equal to it, in its block or in those around it."""
    first: dict[int, int] = {}
    _number(module.block, first, ChainMap())
    return first


def free_numbers(module: Module) -> count[int]:
    """Numbers for further values of a module."""
    return count(1 + max((r.number for o in module.block.walk() for r in o.results), default=0))


def _number(block: Block, first: dict[int, int], made: ChainMap[Hashable, list[int]]) -> None:
    first.update({x.number: x.number for x in block.arguments})
    for o in block.operations:
        for region in o.regions:
            _number(region, first, made.new_child())
        numbers = [r.number for r in o.results]
        said = repr(sorted((k, x) for k, x in o.attributes.items() if k not in _SAID_OF_PLACES))
        key = o.name, said, tuple(n if n is None else first[n] for n in o.operands)
        before = numbers if o.regions else made.setdefault(key, numbers)
        first.update(zip(numbers, before, strict=True))
