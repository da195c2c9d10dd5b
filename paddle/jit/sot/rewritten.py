"""Rewritten functions that are simulated: what the helpers of ``paddle.jit.source`` do, and see, there."""

from __future__ import annotations

import builtins
import collections
import functools
import operator
from collections.abc import Callable, Iterable, Iterator, Sequence
from types import BuiltinFunctionType, CellType, CodeType, FunctionType, MethodType, MethodWrapperType, ModuleType
from typing import TYPE_CHECKING, Any

from paddle.jit.sot.guards import MISSING_PLACE
from paddle.jit.sot.iterators import ITERATORS
from paddle.jit.sot.models.table import model
from paddle.jit.sot.trace import MUTABLE, Trace, Unset, snapshot
from paddle.jit.sot.translation import is_library
from paddle.jit.source import places, runtime
from paddle.jit.source.builtins_ import OF_LISTS, TABLE, is_stacked, replaces
from paddle.jit.source.convert import HELPERS, is_converted_code
from paddle.jit.source.progress import COMPOSED, progress_of
from paddle.jit.source.values import Conditional, Optional, holds, is_unknown
from paddle.jit.source.world import ABSENT, World
from paddle.nn.layer.layers import Layer
from umiak.core.tensor import Tensor
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
        # By statement: what it was seen to change beside what its text names.
        self._known: dict[str, dict[tuple[int, str], places.Place]] = {}

    @property
    def _trace(self) -> Trace:
        return self.simulator.trace

    def location(self) -> tuple[str, int, str]:
        for frame in reversed(self.simulator.frames):
            if not is_library(frame.globals.get("__name__", "")):
                return frame.code.co_filename, frame.instruction.line, frame.code.co_name
        return super().location()

    def call(self, f: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        if f is operator.is_:
            return self.simulator.identical(*args)
        if f is operator.is_not:
            return not self.simulator.identical(*args)
        return self.simulator.call(f, args, kwargs)

    def traced(self, f: Callable[..., Any]) -> Callable[..., Any]:
        return lambda *args, **kwargs: self.simulator.call(f, args, kwargs)

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

    def is_own(self, x: Any) -> bool:
        return id(x) not in self._trace.sources

    def is_caught(self) -> bool:
        kinds = {f.handler_kind() for f in self.simulator.frames}
        self._trace.reruns |= kinds != {""}  # contexts may catch it, too
        return "try" in kinds

    def rerun(self) -> bool:
        self._trace.reruns = True
        return not self._trace.policy.varies()  # else it is refused first, and tried with the sizes that there are

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
            **reached(self.simulator),
        }

    def others(self, before: Any, those: Sequence[places.Place]) -> list[places.Place | str]:
        known = set(map(places.key_of, those))
        out: dict[Any, places.Place | str] = {}
        for place in self._changed(before):
            key = place if isinstance(place, str) else places.key_of(place)
            if key not in known:
                out.setdefault(key, place)
        return list(out.values())

    def _changed(self, before: Any) -> Iterator[places.Place | str]:
        """The changes since ``before``."""
        trace = self._trace
        for key, (x, value, _) in trace.attributes.items():
            if before["attributes"].get(key, (None, _SAME))[1] is not value:
                yield places.Attribute(f"{type(x).__name__}.{key[1]}", x, key[1])
        for i, (cell, value) in trace.cells.items():
            if before["cells"].get(i, (None, _SAME))[1] is not value:
                yield places.Cell(self._name_of(cell), cell)
        for key, (space, value) in trace.globals.items():
            if before["globals"].get(key, (None, _SAME))[1] is not value:
                yield places.Global(key[1], space)
        for i, (f, values) in list(trace.appended.items()):
            if len(values) != before["appended"].get(i, 0):
                yield places.Contents(str(f.source), self.simulator.forced(Unset(f.list, f.source)))
        for i, shadow in trace.shadow_of.items():
            if not _same_items(before["shadows"].get(i, shadow.before), snapshot(shadow.copy)):
                yield places.Contents(str(trace.sources[i]), shadow.copy)
        for x, items in before["containers"].values():
            if not _same_items(items, snapshot(x)):
                yield places.Contents(self._name_of(x), x)
        for x, state in before["iterators"].values():
            if any(state.get(n, _SAME) is not v for n, v in _state(x).items()):
                yield places.Position(f"an iterator ({self._name_of(x)})", x)
        for x, gone in before["composed"].values():
            if progress_of(x) != gone:
                yield f"an iterator ({self._name_of(x)})"
        for x, state in before["fresh"].values():
            if id(x) in before["iterators"]:
                continue
            now = _state(x)
            for name in dict.fromkeys((*now, *state)):
                old, new = state.get(name, _SAME), now.get(name, _SAME)
                if old is new or (type(old) is Unset and self._is_forced(old, new)):
                    continue
                if isinstance(x, CellType):
                    yield places.Cell(self._name_of(x), x)
                elif is_library(type(x).__module__):
                    yield f"{type(x).__name__}.{name}"
                else:
                    yield places.Attribute(f"{type(x).__name__}.{name}", x, name)

    def _is_forced(self, old: Unset, new: Any) -> bool:
        """Return whether ``new`` is what an `Unset` variable has held all along, so that reading it was no change."""
        made = self.simulator.forced(old)
        return made is new or (type(made) in (int, float, str) and type(made) is type(new) and made == new)

    def _name_of(self, x: Any) -> str:
        """The name of a variable or of what one holds."""
        for frame in reversed(self.simulator.frames):
            for name, cell in frame.cells.items():
                if cell is x or (self._trace.is_fresh(cell) and _held(cell) is x):
                    return repr(name)
            for name, value in frame.variables.items():
                if value is x:
                    return repr(name)
        return str(self._trace.sources.get(id(x), f"a {type(x).__name__} of a function"))

    def restore(self, before: Any) -> None:
        trace = self._trace
        for i, (_, values) in trace.appended.items():
            del values[before["appended"].get(i, 0) :]
        for i, shadow in trace.shadow_of.items():
            _fill(shadow.copy, before["shadows"].get(i, shadow.before))
        for x, items in before["containers"].values():
            _fill(x, items)
        for x, state in (*before["fresh"].values(), *before["iterators"].values()):
            _set_state(x, state)
        trace.attributes, trace.cells, trace.globals = (dict(before[k]) for k in ("attributes", "cells", "globals"))

    def know_places(self, where: str, those: Sequence[places.Place]) -> None:
        known = self._known.setdefault(where, {})
        known.update((places.key_of(p), p) for p in those)

    def known_places(self, where: str) -> Sequence[places.Place]:
        return list(self._known.get(where, {}).values())


def _held(cell: CellType) -> Any:
    return cell.cell_contents if cell != CellType() else _SAME


def _fill(x: Any, items: tuple) -> None:
    """Have a container hold what a snapshot of it has."""
    if _same_items(items, snapshot(x)):
        return
    x.clear()
    if isinstance(x, dict):
        n = len(items) // 2
        x.update(zip(items[:n], items[n:], strict=True))
    elif isinstance(x, set):
        x.update(items)
    else:
        x.extend(items)


def _set_state(x: Any, state: dict[str, Any]) -> None:
    """Have an object be as :func:`_state` said."""
    now = _state(x)
    for name in dict.fromkeys((*now, *state)):
        old, new = state.get(name, _SAME), now.get(name, _SAME)
        if old is new or type(old) is Unset or type(x).__name__ == "Generator":
            continue
        if isinstance(x, CellType):
            if old is _SAME:
                del x.cell_contents
            else:
                x.cell_contents = old
        elif old is _SAME:
            object.__delattr__(x, name)
        else:
            object.__setattr__(x, name, old)


_PLAIN = (Tensor, Layer, type, ModuleType, str, bytes, int, float, complex, type(None), Unset)


def reached(simulator: Simulator) -> dict[str, dict[int, tuple[Any, Any]]]:
    """The containers and iterators that frames have made and can reach: each with what it holds, by id."""
    trace = simulator.trace
    containers: dict[int, tuple[Any, Any]] = {}
    iterators: dict[int, tuple[Any, Any]] = {}
    composed: dict[int, tuple[Any, Any]] = {}  # those of itertools
    left: list[Any] = [v for _, v, _ in trace.attributes.values()]
    left += [v for those in (trace.cells, trace.globals) for _, v in those.values()]
    left += [v for _, values in trace.appended.values() for v in values]
    left += [s.copy for s in trace.shadow_of.values()]
    left += [x for x, _ in trace.iterators]
    left += list(trace.fresh.values())
    for frame in simulator.frames:
        left += [*frame.variables.values(), *frame.cells.values(), *frame.stack]
    seen: set[int] = set()
    while left:
        x = left.pop()
        if isinstance(x, _PLAIN) or id(x) in seen:
            continue
        seen.add(id(x))
        kind = type(x)
        if kind in ITERATORS:
            iterators[id(x)] = x, _state(x)
            left += [getattr(x, n, None) for n in kind.__slots__]
        elif isinstance(x, (list, dict, set, tuple, collections.deque)):
            if kind in MUTABLE and id(x) not in trace.shadow_of and id(x) not in trace.shadows:
                containers[id(x)] = x, snapshot(x)
            left += x.values() if isinstance(x, dict) else x
        elif isinstance(x, COMPOSED):
            composed[id(x)] = x, progress_of(x)
        elif kind is CellType:
            if trace.is_fresh(x):
                left.append(_held(x))
        elif kind is FunctionType:
            left += [*(x.__closure__ or ()), *(x.__defaults__ or ()), *(x.__kwdefaults__ or {}).values()]
        elif kind is MethodType:
            left += [x.__func__, x.__self__]
        elif kind is functools.partial:
            left += [x.func, *x.args, *x.keywords.values()]
        elif kind in (BuiltinFunctionType, MethodWrapperType):
            left.append(x.__self__)
        elif kind is Conditional or kind is Optional:
            left.append(x.value)
        elif kind.__name__ == "Generator" and is_library(kind.__module__):
            left += [*x.frame.variables.values(), *x.frame.cells.values(), *x.frame.stack]
        elif trace.is_fresh(x) and not is_library(kind.__module__):
            left += _state(x).values()
    return {"containers": containers, "iterators": iterators, "composed": composed}


def _state(x: Any) -> dict[str, Any]:
    """The state of an object that the frame has made, or of an iterator, as far as Python shows it."""
    kind = type(x)
    if kind is CellType:
        return {"value": x.cell_contents} if x != CellType() else {}
    if isinstance(x, (FunctionType, type)):
        return {}
    if kind.__name__ == "Generator" and is_library(kind.__module__):
        return {"position": x.frame.at}
    own = getattr(x, "__dict__", None)
    state = dict(own) if type(own) is dict and not is_library(kind.__module__) else {}
    for c in kind.__mro__:
        names = vars(c).get("__slots__", ())
        for name in (names,) if isinstance(names, str) else names:
            if name.startswith("__") and not name.endswith("__"):
                name = f"_{c.__name__.lstrip('_')}{name}"
            if name not in ("__dict__", "__weakref__"):
                state[name] = getattr(x, name, _SAME)
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
    if isinstance(_helper, FunctionType) and _helper not in (runtime.call, runtime.called, runtime.read):
        _as_helper(_helper)


@model(runtime.call)
def _call(simulator: Simulator, f: Any) -> Any:
    return TABLE.get(id(f), f)


@model(runtime.called)
def _called(simulator: Simulator, f: Any, args: tuple, kwargs: dict[str, Any]) -> Any:
    simulator.helpers.append(runtime.called)
    try:
        return runtime.called(f, tuple(map(simulator.forced, args)), kwargs)
    finally:
        simulator.helpers.pop()


@model(runtime.read)
def _read(simulator: Simulator, x: Any) -> Any:
    return runtime.read(x)


def _as_builtin(original: Callable[..., Any], replacement: Callable[..., Any]) -> None:
    @model(replacement)
    def run(simulator: Simulator, *args: Any, **kwargs: Any) -> Any:
        args = tuple(simulator.forced(x) for x in args)
        if replaces(original, args, kwargs):
            simulator.trace.told = simulator.trace.told or original is print
            if original in (int, float):
                simulator.trace.read_as.add(original)
            return replacement(*args, **kwargs)
        return simulator.call(original, args, kwargs, direct=True)


for _original in (
    print, int, float, bool, len, range, enumerate, zip, reversed, sum, isinstance, type, list, sorted, getattr,
    hasattr, *OF_LISTS,
):  # fmt: skip
    _as_builtin(_original, TABLE[id(_original)])


def _as_extremum(original: Callable[..., Any], replacement: Callable[..., Any]) -> None:
    @model(replacement)
    def run(simulator: Simulator, *args: Any, **kwargs: Any) -> Any:
        if len(args) == 1 and not isinstance(args[0], (list, tuple)) and not is_stacked(args[0]):
            args = (list(simulator.world.iterate(args[0])),)
        if replaces(original, args, kwargs):
            return replacement(*args, **kwargs)
        return simulator.call(original, args, kwargs, direct=True)


def _as_quantifier(replacement: Callable[..., Any], decides: bool) -> None:
    @model(replacement)
    def run(simulator: Simulator, items: Any) -> Any:
        if is_stacked(items):
            return replacement(items)
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
