"""Modules with ops of ours again, where a file has what such an op means in the operators of PaddlePaddle.

What is searched for is what ``translate`` writes for the op: it is asked, so there is no second description of it.
First a sample of the op says by the names of operators alone where its operands stand; then the call with just these
operands is written, and each operator, attribute and constant is compared, from the result back to the operands.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np

from paddle.static.formats.graph import DATA, FETCH, PARAMETER, Attribute, Block, Module, Operation, TensorType, reads
from paddle.static.formats.translate import Untranslatable, translate
from umiak import ops as F
from umiak.core.context import no_grad_guard
from umiak.core.dtype import convert
from umiak.ir.meta import Meta
from umiak.ir.scope import Scope
from umiak.ir.tracer import trace
from umiak.runtime.program_tracer import outside

# Attributes that say nothing of what is computed.
_MEANINGLESS = "op_callstack", "stop_gradient", "place"
_COPYING = "pd_op.tile"  # by ones: what `in_place` adds

Attributes = Mapping[str, Any]
# Static attributes of a call, of those of a sample with the same operators and of the operands' types; None: there is
# no such call.
Inferred = Callable[[Attributes, Sequence[TensorType]], Attributes | None]


@dataclass(slots=True)
class Recomposed(Operation):
    """A call of an op of ours, which no file has. ``call``: of its operands."""

    call: Callable[..., Any] = tuple


class _Made(NamedTuple):
    """The maker of a value: an operation, at which place among its results, in which block."""

    operation: Operation
    place: int
    block: int


class _Pattern:
    """Operations that are written for a call. ``root``: its result; ``leaves``: its operands in order, by number."""

    def __init__(self, module: Module) -> None:
        self.made = _makers(module.block)
        self.leaves = [o.results[0].number for o in module.named(DATA)]
        (fetch,) = module.named(FETCH)
        (self.root,) = fetch.operands

    @property
    def last(self) -> str:
        """The operator that makes the result."""
        return self.made[self.root].operation.name


def _makers(block: Block) -> dict[int | None, _Made]:
    """The makers of the values of a block and of those inside."""
    found: dict[int | None, _Made] = {}
    for o in block.operations:
        found.update({r.number: _Made(o, i, id(block)) for i, r in enumerate(o.results)})
        for region in o.regions:
            found.update(_makers(region))
    return found


def recomposed(module: Module) -> Module:
    """The module with calls of ops that were written as what they mean; the same where there are none."""
    types = {r.type.dtype for o in module.block.walk() for r in o.results if isinstance(r.type, TensorType)}
    entries = [(op, entry) for op, entry in _ENTRIES.items() if entry.dtype in types]
    if not entries:
        return module
    search = _Search(module)
    block = search.block(module.block, entries)
    return replace(module, block=search.without_unread(block)) if search.replaced else module


class _Search:
    """``replaced``: what stood for the calls that were found."""

    def __init__(self, module: Module) -> None:
        self.made = _makers(module.block)
        self.types = {r.number: r.type for o in module.block.walk() for r in o.results}
        self.written = {n for o in module.block.walk() if o.name.endswith("_") for n in o.operands}  # in place
        self.replaced: list[Operation] = []

    def block(self, block: Block, entries: Sequence[tuple[type, _Entry]]) -> Block:
        """A block with calls; the same where there are none."""
        self.types.update((a.number, a.type) for a in block.arguments)
        around = dict(self.types)
        made, changed = [], False
        for o in block.operations:
            call = next((c for op, entry in entries if (c := self.call(o, op, entry)) is not None), o)
            if call is o and o.regions:
                regions = [self.block(r, entries) for r in o.regions]
                self.types = dict(around)  # numbers of arguments begin anew in each loop
                if any(x is not y for x, y in zip(regions, o.regions, strict=True)):
                    call = replace(o, regions=regions)
            changed |= call is not o
            made.append(call)
        return replace(block, operations=made) if changed else block

    def call(self, o: Operation, op: type, entry: _Entry) -> Operation | None:
        """The call that an operation makes the result of."""
        for pattern, given in _sketches(op):
            if pattern.last != o.name or (found := self.bound(o, pattern, exact=False)) is None:
                continue
            types = [t for n in found if isinstance(t := self.types.get(n), TensorType)]
            if len(types) < len(found) or not self.written.isdisjoint(found):
                continue
            attributes = entry.infer(given, types)
            if attributes is None:
                continue
            written = _written(op, tuple(attributes.items()), tuple(types))
            if written is None or written.last != o.name or self.bound(o, written, exact=True) != found:
                continue
            return self.recomposed(o, op, found, attributes)
        return None

    def recomposed(self, o: Operation, op: type, operands: list[int], attributes: Attributes) -> Operation:
        function, said = getattr(F, op.name), dict(attributes)
        self.replaced.append(o)
        lines = {k: v for k, v in o.attributes.items() if k == "op_callstack"}
        return Recomposed(
            f"umiak.{op.name}", list(operands), lines, o.results, [], o.traits,
            lambda *xs: function(*xs, **said),
        )  # fmt: skip

    def bound(self, o: Operation, pattern: _Pattern, exact: bool) -> list[int] | None:
        """The values that stand where a pattern has its operands; None where an operation is not what it says."""
        bound: dict[int, int] = {}
        equal: set[tuple[int, int]] = set()  # values of the pattern and of the module
        here = self.made[o.results[0].number].block

        def matches(p: int | None, n: int | None, block: int) -> bool:
            """``block``: that of what reads the value."""
            if p is None or n is None:
                return p is n
            if p in pattern.leaves:
                # Numbers of arguments begin anew in each loop: in another block it is another value.
                if n not in self.made and block != here:
                    return False
                return self.uncopied(bound.setdefault(p, n)) == self.uncopied(n)
            n = self.uncopied(n)
            if n in self.written:
                return False
            if (p, n) in equal:
                return True
            equal.add((p, n))
            want, found = pattern.made[p], self.made.get(n)
            if found is None or found.place != want.place or not _alike(want.operation, found.operation, exact):
                return False
            pairs = zip(want.operation.operands, found.operation.operands, strict=True)
            return all(matches(x, y, found.block) for x, y in pairs)

        if len(o.results) != 1 or not matches(pattern.root, o.results[0].number, here):
            return None
        return [bound[p] for p in pattern.leaves] if len(bound) == len(pattern.leaves) else None

    def uncopied(self, n: int) -> int:
        """The value that another one is a copy of."""
        while n not in self.written and (made := self.made.get(n)) is not None and made.operation.name == _COPYING:
            x, by = made.operation.operands
            times = self.made.get(by)
            ones = times.operation.plain("value", ()) if times is not None else ()
            if by in self.written or not isinstance(ones, list) or not ones or any(i != 1 for i in ones) or x is None:
                break
            n = x
        return n

    def without_unread(self, block: Block) -> Block:
        """A block without what nothing reads any more of what stood for calls."""
        inner: dict[int, Operation] = {}
        waiting = list(self.replaced)
        while waiting:
            made = [self.made[n].operation for n in waiting.pop().operands if n in self.made]
            new = [o for o in made if id(o) not in inner and o.name not in (PARAMETER, DATA) and not o.regions]
            inner.update((id(o), o) for o in new)
            waiting += new
        return _pruned(block, inner, set())


def _pruned(block: Block, candidates: Mapping[int, Operation], read: set[int]) -> Block:
    """A block without those candidates that are not read, here or behind it."""
    done = []
    for o in reversed(block.operations):
        if id(o) in candidates and not any(r.number in read for r in o.results):
            continue
        if o.regions:
            o = replace(o, regions=[_pruned(r, candidates, set(read)) for r in o.regions])
        read.update(reads(o))
        done.append(o)
    return replace(block, operations=done[::-1])


def _alike(want: Operation, here: Operation, exact: bool) -> bool:
    """Do two operations say the same? Not ``exact``: by name alone."""
    if want.name != here.name or len(want.operands) != len(here.operands) or want.regions or here.regions:
        return False
    return not exact or _said(want) == _said(here)


def _said(o: Operation) -> dict[str, Any]:
    return {k: _plain(v) for k, v in o.attributes.items() if k not in _MEANINGLESS}


def _plain(x: Attribute) -> Any:
    return x.kind in ("bool", "str", "dtype"), x.plain  # True is 1 in Python


# --- what is written -------------------------------------------------------------------------------------------------


@lru_cache(maxsize=256)
def _written(op: type, attributes: tuple[tuple[str, Any], ...], types: tuple[TensorType, ...]) -> _Pattern | None:
    """The pattern of a call of operands of these types; None where there is no such call."""
    scope = Scope()
    metas = [Meta(tuple(scope.size() if n == -1 else n for n in t.shape), convert(t.dtype)) for t in types]
    function, said = getattr(F, op.name), dict(attributes)
    try:
        with outside(), no_grad_guard():
            program = trace(lambda *xs: function(*xs, **said), metas, scope)
            made = translate(program, [f"x{i}" for i in range(len(metas))], 1, {})
    except (Untranslatable, TypeError, ValueError, OverflowError):  # operands that the op refuses
        return None
    return None if made.parameters else _Pattern(made.module)


@lru_cache(maxsize=64)
def _sketches(op: type) -> tuple[tuple[_Pattern, Attributes], ...]:
    """Patterns of the samples of an op, one for each order of operators, and their attributes."""
    found: dict[Any, tuple[_Pattern, Attributes]] = {}
    for sample in op.samples(np.random.default_rng(0)):
        first, *others = (TensorType(convert(x.dtype).name, x.shape) for x in sample.inputs)
        for x in (first, first._replace(shape=(-1, *first.shape[1:]))):  # sizes of open rows are computed
            pattern = _written(op, tuple(sample.attrs.items()), (x, *others))
            if pattern is not None:
                found.setdefault(tuple(_names(pattern)), (pattern, MappingProxyType(sample.attrs)))
    return tuple(found.values())


def _names(pattern: _Pattern) -> Iterator[Any]:
    """The operators of a pattern, from its result back."""
    numbers: dict[int | None, int] = {}

    def visit(n: int | None) -> Iterator[Any]:
        if n in numbers or n is None:
            yield numbers.get(n)
            return
        numbers[n] = len(numbers)
        made = pattern.made[n]
        yield made.operation.name if n not in pattern.leaves else pattern.leaves.index(n)
        for x in made.operation.operands if n not in pattern.leaves else ():
            yield from visit(x)

    return visit(pattern.root)


# --- what is searched for --------------------------------------------------------------------------------------------


class _Entry(NamedTuple):
    """``dtype``: of a value that a module with such a call has."""

    dtype: str
    infer: Inferred


def _of_groups(given: Attributes, types: Sequence[TensorType]) -> Attributes | None:
    _, weight, scale = types
    if given.get("group_size", -1) == -1:
        return given
    inputs, groups = weight.shape[1], scale.shape[0]
    return {**given, "group_size": inputs // groups} if groups > 0 else None


_ENTRIES: dict[type, _Entry] = {
    F.WeightOnlyMatmul: _Entry("int8", _of_groups),
    F.Int8Matmul: _Entry("int8", lambda given, _: given),
}
