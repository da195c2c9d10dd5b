"""Rewritten functions that are simulated: what the helpers of ``paddle.jit.source`` do, and see, there."""

from __future__ import annotations

import builtins
import operator
from collections.abc import Callable, Iterable, Iterator, Sequence
from types import CellType, CodeType, FunctionType
from typing import TYPE_CHECKING, Any

from paddle.jit.sot.guards import MISSING_PLACE
from paddle.jit.sot.models.table import model
from paddle.jit.sot.trace import Trace, snapshot
from paddle.jit.sot.translation import is_library
from paddle.jit.source import places, runtime
from paddle.jit.source.builtins_ import TABLE, replaces
from paddle.jit.source.convert import HELPERS, is_converted_code
from paddle.jit.source.values import holds, is_unknown
from paddle.jit.source.world import ABSENT, World
from umiak.ir.expr import Sym

if TYPE_CHECKING:
    from paddle.jit.sot.frame import Frame
    from paddle.jit.sot.simulator import Simulator

_SAME = object()


def is_rewriting(frames: Sequence[Frame]) -> bool:
    """Return whether what is called by a frame is rewritten, since the frames are."""
    return any(is_converted_code(f.code) for f in frames)


_LEAVING = frozenset(("returned", "BREAK", "CONTINUE"))  # names of helpers


def may_leave(code: CodeType) -> bool:
    """Return whether the block of a statement may leave what it stands in: it has a result, which nothing guards."""
    return not _LEAVING.isdisjoint(code.co_names) or any(
        may_leave(c) for c in code.co_consts if isinstance(c, CodeType)
    )


class Simulated(World):
    """The world of code that is simulated: what is read is guarded, and changes are kept for later."""

    is_simulated = True

    def __init__(self, simulator: Simulator) -> None:
        self.simulator = simulator

    @property
    def _trace(self) -> Trace:
        return self.simulator.trace

    def location(self) -> tuple[str, int, str]:
        for frame in reversed(self.simulator.frames):
            if not is_library(frame.globals.get("__name__", "")):
                return frame.code.co_filename, frame.instruction.line, frame.code.co_name
        return super().location()

    def call(self, f: Callable[..., Any], *args: Any) -> Any:
        if f is operator.is_:
            return self.simulator.identical(*args)
        if f is operator.is_not:
            return not self.simulator.identical(*args)
        return self.simulator.call(f, args, {})

    def fix(self, n: Any) -> bool:
        if isinstance(n, Sym):
            self._trace.steer(n)
        return False

    def iterate(self, x: Any) -> Iterable[Any]:
        iterator = self.simulator.call(builtins.iter, (x,), {})
        while True:
            try:
                item = self.simulator.call(builtins.next, (iterator,), {})
            except StopIteration:
                return
            yield item

    def read_cell(self, cell: CellType, name: str) -> Any:
        try:
            return self.simulator.forced(self._trace.contents(cell, name))
        except ValueError:
            return ABSENT

    def write_cell(self, cell: CellType, name: str, value: Any) -> None:
        if self._trace.is_fresh(cell):
            super().write_cell(cell, name, value)
        elif value is ABSENT:
            self._trace.cells.pop(id(cell), None)
        else:
            self._trace.write_cell(cell, value)

    def read_global(self, space: dict[str, Any], name: str) -> Any:
        simulator = self.simulator
        if name not in space and (id(space), name) not in self._trace.globals:
            self._trace.guards.place(space, name, MISSING_PLACE)
            return ABSENT
        return simulator.forced(simulator.global_variable(space, vars(builtins), name))

    def write_global(self, space: dict[str, Any], name: str, value: Any) -> None:
        if value is ABSENT:
            self._trace.globals.pop((id(space), name), None)
        else:
            self._trace.globals[id(space), name] = space, value

    def read_attribute(self, owner: Any, name: str) -> Any:
        try:
            return self.simulator.forced(self.simulator.attribute(owner, name))
        except AttributeError:
            return ABSENT

    def write_attribute(self, owner: Any, name: str, value: Any) -> None:
        if value is ABSENT and (id(owner), name) in self._trace.attributes and name not in vars(owner):
            del self._trace.attributes[id(owner), name]  # set on one way: it was not there before
        elif value is ABSENT:
            self.simulator.call(delattr, (owner, name), {})
        else:
            self.simulator.call(setattr, (owner, name, value), {})

    def containers_of(self, x: Any) -> Iterator[tuple[str, Any]]:
        trace = self._trace
        written = {name: value for (i, name), (_, value, _) in trace.attributes.items() if i == id(x)}
        for name, item in {**vars(x), **written}.items():
            if type(item) in (list, dict):
                yield name, item if name in written else self.simulator.forced(trace.attribute(x, name, item))

    # --- what has changed

    def effects(self) -> Any:
        trace = self._trace
        return {
            "attributes": dict(trace.attributes),
            "cells": dict(trace.cells),
            "globals": dict(trace.globals),
            "appended": {i: len(values) for i, (_, values) in trace.appended.items()},
            "shadows": {i: snapshot(s.copy) for i, s in trace.shadow_of.items()},
            "fresh": {i: (x, _state(x)) for i, x in list(trace.fresh.items())},
            "iterators": [(x, _state(x)) for x, _ in trace.iterators],
        }

    def others(self, before: Any, those: Sequence[places.Place]) -> list[str]:
        trace = self._trace
        attributes = {(id(p.owner), p.attribute) for p in those if isinstance(p, places.Attribute)}
        cells = {id(p.cell) for p in those if isinstance(p, places.Cell)}
        spaces = {(id(p.space), p.name) for p in those if isinstance(p, places.Global)}
        contents = {id(p.container) for p in those if isinstance(p, places.Contents)}
        out = []
        for (i, name), (x, value, _) in trace.attributes.items():
            if (i, name) not in attributes and before["attributes"].get((i, name), (None, _SAME))[1] is not value:
                out.append(f"{type(x).__name__}.{name}")
        for i, (_, value) in trace.cells.items():
            if i not in cells and before["cells"].get(i, (None, _SAME))[1] is not value:
                out.append(str(trace.sources.get(i, "a variable of an enclosing function")))
        for key, (_, value) in trace.globals.items():
            if key not in spaces and before["globals"].get(key, (None, _SAME))[1] is not value:
                out.append(key[1])
        for i, (f, values) in trace.appended.items():
            if len(values) != before["appended"].get(i, 0):
                out.append(str(f.source))
        for i, shadow in trace.shadow_of.items():
            if i not in contents and not _same_items(before["shadows"].get(i, shadow.before), snapshot(shadow.copy)):
                out.append(str(trace.sources[i]))
        for x, state in (*before["fresh"].values(), *before["iterators"]):
            for name, value in _state(x).items():
                if state.get(name, _SAME) is not value and (id(x), name) not in attributes and id(x) not in cells:
                    out.append(self._name_of(x) if isinstance(x, CellType) else f"{type(x).__name__}.{name}")
        return out

    def _name_of(self, cell: CellType) -> str:
        names = [n for f in self.simulator.frames for n, c in f.cells.items() if c is cell]
        return repr(names[-1]) if names else "a variable of an enclosing function"

    def restore(self, before: Any) -> None:
        trace = self._trace
        trace.attributes, trace.cells, trace.globals = (dict(before[k]) for k in ("attributes", "cells", "globals"))


def _state(x: Any) -> dict[str, Any]:
    """The state of an object that the frame has made, or of an iterator, as far as Python shows it."""
    kind = type(x)
    if kind is CellType:
        return {"value": x.cell_contents} if x != CellType() else {}
    if isinstance(x, (FunctionType, type)):
        return {}
    if kind.__name__ == "Generator" and is_library(kind.__module__):
        return {"position": x.frame.at}
    names = getattr(kind, "__slots__", ()) if is_library(kind.__module__) else ()
    own = getattr(x, "__dict__", None)
    state = dict(own) if type(own) is dict and not is_library(kind.__module__) else {}
    for name in (names,) if isinstance(names, str) else names:
        value = getattr(x, name, _SAME)
        state[name] = value
    return state


def _same_items(a: tuple, b: tuple) -> bool:
    return len(a) == len(b) and all(x is y for x, y in zip(a, b, strict=True))


# --- the helpers as models


def _as_helper(helper: Callable[..., Any]) -> None:
    @model(helper)
    def run(simulator: Simulator, *args: Any) -> Any:
        simulator.helpers.append(helper)
        try:
            return helper(*(simulator.callback(x) if isinstance(x, FunctionType) else x for x in args))
        finally:
            simulator.helpers.pop()


for _helper in vars(HELPERS).values():
    if isinstance(_helper, FunctionType) and _helper not in (runtime.call, runtime.read):
        _as_helper(_helper)


@model(runtime.call)
def _call(simulator: Simulator, f: Any) -> Any:
    return TABLE.get(id(f), f)


@model(runtime.read)
def _read(simulator: Simulator, x: Any) -> Any:
    return runtime.read(x)


def _as_builtin(original: Callable[..., Any], replacement: Callable[..., Any]) -> None:
    @model(replacement)
    def run(simulator: Simulator, *args: Any, **kwargs: Any) -> Any:
        args = tuple(simulator.forced(x) for x in args)
        if replaces(original, args, kwargs):
            simulator.trace.told = simulator.trace.told or original is print
            return replacement(*args, **kwargs)
        return simulator.call(original, args, kwargs, direct=True)


for _original in (print, int, float, bool, len, range, enumerate, zip, reversed):
    _as_builtin(_original, TABLE[id(_original)])


def _as_extremum(original: Callable[..., Any], replacement: Callable[..., Any]) -> None:
    @model(replacement)
    def run(simulator: Simulator, *args: Any, **kwargs: Any) -> Any:
        if len(args) == 1 and not isinstance(args[0], (list, tuple)):
            args = (list(simulator.world.iterate(args[0])),)
        if replaces(original, args, kwargs):
            return replacement(*args, **kwargs)
        return simulator.call(original, args, kwargs, direct=True)


def _as_quantifier(replacement: Callable[..., Any], decides: bool) -> None:
    @model(replacement)
    def run(simulator: Simulator, items: Any) -> Any:
        unknown = []
        for x in simulator.world.iterate(items):
            if is_unknown(x):
                unknown.append(x)
            elif holds(x) is decides:
                return replacement([*unknown, decides])
        return replacement(unknown)


_as_extremum(min, TABLE[id(min)])
_as_extremum(max, TABLE[id(max)])
_as_quantifier(TABLE[id(all)], False)
_as_quantifier(TABLE[id(any)], True)
