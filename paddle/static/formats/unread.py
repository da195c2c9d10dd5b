"""Results of loops and branches that nobody reads, left out.

What Python assigns inside of a loop or a branch, the reference gives as a result of it, and starts it from a number
where there is no value before: whatever else it is afterwards, of other dims too, a program must not depend on it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import TypeVar

from paddle.static.formats.graph import YIELD, Module, Operation
from paddle.static.formats.record import IF, WHILE

_T = TypeVar("_T")

_MOST_PASSES = 8  # one result less may leave another without a reader


def drop_unread(module: Module) -> None:
    """Leave out results of branches that nothing reads, and what loops carry that nothing reads, but to carry it on."""
    for _ in range(_MOST_PASSES):
        regions = [o for o in module.block.walk() if o.name in (IF, WHILE) and o.results]
        if not regions:
            return
        read = {n for numbers in module.offsets.values() for n in numbers}
        for o in module.block.operations:
            read.update(_reads(o))
        if not sum(_dropped(o, read) for o in regions):
            return


def _dropped(o: Operation, read: set[int]) -> bool:
    """Return whether results of ``o`` were left out."""
    ends = [region.operations[-1] if region.operations else None for region in o.regions]
    loop = o.name == WHILE
    count = len(o.results)
    if not all(end is not None and end.name == YIELD and len(end.operands) == count + loop for end in ends):
        return False  # whoever runs it says what is wrong
    unread = {i for i, r in enumerate(o.results) if r.number not in read}
    if loop and unread:
        (body,) = o.regions
        if not len(body.arguments) == len(o.operands) - 1 == count:
            return False
        inside: Counter[int] = Counter()
        for inner in body.operations:
            inside.update(_reads(inner))
        (end,) = ends
        assert end is not None
        numbers = [a.number for a in body.arguments]
        unread = {i for i in unread if inside[numbers[i]] == (end.operands[i + 1] == numbers[i])}
    if not unread or len(unread) == count:  # a loop without results is one that writes
        return False
    kept = [i for i in range(count) if i not in unread]
    o.results = [o.results[i] for i in kept]
    o.traits = {k: [v[i] for i in kept] if len(v) == count else v for k, v in o.traits.items()}
    for end in ends:
        assert end is not None
        end.operands = [*end.operands[:loop], *_chosen(end.operands[loop:], kept)]
    if loop:
        o.operands = [o.operands[0], *_chosen(o.operands[1:], kept)]
        o.regions[0].arguments = _chosen(o.regions[0].arguments, kept)
    return True


def _chosen(items: Sequence[_T], places: list[int]) -> list[_T]:
    return [items[i] for i in places]


def _reads(o: Operation) -> Iterator[int]:
    """The numbers of values that it uses, but for arguments of its regions, which may have numbers of others."""
    yield from (n for n in o.operands if n is not None)
    for region in o.regions:
        own = {a.number for a in region.arguments}
        for inner in region.operations:
            yield from (n for n in _reads(inner) if n not in own)
