"""Histories that a captured function has used up: the operations that gradients have gone through without
``retain_graph``. Eager calls free what these have saved, and refuse to go through them again; so does a capture."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from umiak import ops as F
from umiak.ir.program import Block, Operation, Value, walk
from umiak.ops.control import Loop
from umiak.runtime.paths import common
from umiak.util.errors import freed_graph


class UsedHistories:
    """The results of operations that gradients have gone through for the last time: ``certain`` ones, and those that
    data decide about (``perhaps``), as they were gone through in a branch."""

    def __init__(self) -> None:
        self.certain: dict[int, Value] = {}
        self.perhaps: dict[int, Value] = {}
        self._unrecorded: dict[int, Value] = {}

    def leave_out(self, value: Value) -> None:
        """Note a value that is part of each operation which reads it: eager calls record none for it."""
        self._unrecorded[id(value)] = value

    def passing(
        self, roots: Iterable[Value], retain: bool, refused: Callable[[str], Exception]
    ) -> Callable[[Operation, Sequence[Any]], None] | None:
        """The function that a walk back from ``roots`` calls with each operation, and the gradients of its results,
        before it goes through; None: there is nothing to tell.

        It raises RuntimeError where eager calls do, and ``refused(text)`` where data decide. ``retain``: whether the
        histories may be used again.
        """
        if retain and not (self.certain or self.perhaps):
            return None
        sure = set(map(id, roots))  # what a gradient comes to whatever data decide

        def enter(operation: Operation, grads: Sequence[Any]) -> None:
            if type(operation.op) is F.Overwritten:  # which passes on what comes to the value from before
                sure.update(id(x) for x in operation.values if id(operation.results[0]) in sure)
                return
            entered = [i for i, g in enumerate(grads) if g is not None]
            is_sure = any(id(operation.results[i]) in sure for i in entered)
            results = [y for y in operation.results if id(y) not in self._unrecorded]
            inside = None
            if operation.regions:  # whose operations are gone through where a result that has a gradient needs them
                results, inside = [operation.results[i] for i in entered], Inside(operation)
            bits = sum(1 << i for i in entered)
            for i, x in enumerate(operation.values):
                if is_sure and (inside is None or inside.asked(i, bits)):
                    sure.add(id(x))
            if is_sure and any(id(y) in self.certain for y in results):
                raise freed_graph("backward", operation.name)
            if inside is not None:
                ways = sum(1 << i for i, y in enumerate(operation.results) if self._is_used(y))
                used = any(inside.shared[i] & ways for i in entered)
            else:
                used = any(map(self._is_used, results))
            if used:
                raise refused(
                    "gradients go once more, as data decide, through what they have gone through without "
                    "retain_graph=True. Pass it where they go through first"
                )
            if not retain:
                (self.certain if is_sure else self.perhaps).update((id(y), y) for y in results)

        return enter

    def _is_used(self, value: Value) -> bool:
        return id(value) in self.certain or id(value) in self.perhaps

    @contextmanager
    def region(self) -> Iterator[dict[int, Value]]:
        """Keep what a region uses up to itself; the dict has it afterwards."""
        before, self.certain = self.certain, dict(self.certain)
        perhaps, self.perhaps = self.perhaps, dict(self.perhaps)
        used: dict[int, Value] = {}
        try:
            yield used
        finally:
            used.update((k, v) for k, v in {**self.certain, **self.perhaps}.items() if k not in before)
            self.certain, self.perhaps = before, perhaps

    def chosen(self, regions: Sequence[dict[int, Value]]) -> None:
        """One of these regions runs."""
        first, *others = regions
        for key, value in {k: v for used in regions for k, v in used.items()}.items():
            certain = key in first and all(key in used for used in others)
            (self.certain if certain else self.perhaps)[key] = value

    def crossed(self, value: Value) -> bool | None:
        """Return whether gradients of a value would go through a history that is used up; None: data decide."""
        seen: set[int] = set()
        waiting, perhaps = [value], False
        while waiting:
            y = waiting.pop()
            if y.stop or id(y) in seen:
                continue
            seen.add(id(y))
            if id(y) in self.certain:
                return True
            perhaps = perhaps or id(y) in self.perhaps
            if y.operation is not None:
                waiting += y.operation.values
        return None if perhaps else False


def outside(used: Iterable[Value], block: Block) -> bool:
    """Return whether one of the values is not of the region itself."""
    own = {id(y) for o in walk(block) for y in o.results}
    return any(id(y) not in own for y in used)


class Inside:
    """Ways of gradients through the regions of an operation. ``shared``: for each result a bit for each that it has an
    operation in common with in one of them; ``asked(operand, results)``: whether, whichever region runs and however
    often, these results depend on the operand."""

    def __init__(self, operation: Operation) -> None:
        op = operation.op
        self.loop = isinstance(op, Loop)
        self.shared = [1 << i for i in range(len(operation.results))]
        self.reached: list[list[int]] = []  # of each region: by argument, the results that depend on it
        for block in operation.regions[-1:] if self.loop else operation.regions:
            outputs = list(op.yielded((block, block)))
            seeds = [1 << i for i in range(len(outputs))]
            while True:
                reach, shared = common(block.operations, outputs, seeds)
                at = [reach.get(id(x), 0) for x in block.arguments]
                grown = [s | at[i] if self.loop and i < op.carried else s for i, s in enumerate(seeds)]
                if grown == seeds:
                    break
                seeds = grown  # an iteration goes on with what the one before it has left
            self.shared = [a | b for a, b in zip(self.shared, shared, strict=True)]
            self.reached.append(at)
        self.first = len(operation.values) - len(self.reached[0])
        self.carried = op.carried if self.loop else 0

    def asked(self, operand: int, results: int) -> bool:
        at = operand - self.first
        if at < 0 or (self.loop and (at >= self.carried or not results >> at & 1)):
            return False
        return all(reached[at] & results for reached in self.reached)
