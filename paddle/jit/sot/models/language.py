"""Models of what the language itself calls: patterns, `super`, imports, methods."""

from __future__ import annotations

import builtins
import inspect
import sys
from types import MethodType
from typing import TYPE_CHECKING, Any

from paddle.jit.sot.flow_instructions import match_class
from paddle.jit.sot.models.table import model

if TYPE_CHECKING:
    from paddle.jit.sot.simulator import Simulator


@model(tuple.__new__)
def _new_tuple(sim: Simulator, kind: type, items: Any = ()) -> Any:
    return tuple.__new__(kind, tuple(sim.call(iter, (items,), {})))


@model(MethodType)
def _bound_method(sim: Simulator, function: Any, owner: Any) -> Any:
    return MethodType(function, owner)


@model(match_class)
def _match_class(sim: Simulator, x: Any, kind: Any, positional: int, names: tuple[str, ...]) -> Any:
    if not sim.call(isinstance, (x, kind), {}):
        return None
    wanted = [*(kind.__match_args__[:positional] if positional and hasattr(kind, "__match_args__") else ()), *names]
    if positional and not hasattr(kind, "__match_args__"):
        return (x, *(sim.forced(sim.attribute(x, n)) for n in names))
    try:
        return tuple(sim.forced(sim.attribute(x, n)) for n in wanted)
    except AttributeError:
        return None


@model(super)
def _super(sim: Simulator, *args: Any) -> Any:
    if args:
        return super(*args)
    frame = sim.frames[-1]
    code = frame.code
    if "__class__" not in frame.cells or not code.co_argcount:
        raise RuntimeError("super(): no arguments")
    first = code.co_varnames[0]
    owner = sim.trace.contents(frame.cells[first], first) if first in frame.cells else frame.variable(first)
    return super(sim.trace.contents(frame.cells["__class__"], "__class__"), owner)


@model(sys.exc_info)
def _exc_info(sim: Simulator) -> Any:
    for frame in reversed(sim.frames):
        if frame.handling:
            error = frame.handling[-1]
            return type(error), error, error.__traceback__
    # What a caller handles is not known here. A stack of contexts asks for it, to link errors of its own to that.
    if sim.frames[-1].globals.get("__name__") != "contextlib":
        sim.break_graph("a call of sys.exc_info")
    return None, None, None


@model(builtins.__import__)
def _import(
    sim: Simulator, name: str, space: Any = None, variables: Any = None, names: Any = (), level: int = 0
) -> Any:
    package = space.get("__package__") if space else None
    full = (
        name
        if not level
        else f"{'.'.join((package or '').split('.')[: len((package or '').split('.')) - level + 1])}.{name}".rstrip(".")
    )
    if full not in sys.modules:
        return sim.break_graph(f"the module {name} is imported")
    return __import__(name, space, variables, names or (), level)


@model(inspect.currentframe)
def _currentframe(sim: Simulator) -> Any:
    return sim._needs_real_frame(inspect.currentframe)


@model(id)
def _id(sim: Simulator, x: Any) -> Any:
    return sim.break_graph("id() of an object")
