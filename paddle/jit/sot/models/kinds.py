"""Models of questions for the type of a value."""

from __future__ import annotations

import sys
from types import FunctionType
from typing import TYPE_CHECKING, Any, Protocol, _get_protocol_attrs

from paddle.jit.sot.models.classes import class_attribute
from paddle.jit.sot.models.table import model
from paddle.jit.sot.models.values import KINDS, kind_of
from paddle.jit.sot.trace import TensorMethod
from paddle.jit.sot.translation import is_library, package
from umiak.ir.expr import Sym

if TYPE_CHECKING:
    from paddle.jit.sot.simulator import Simulator


@model(type)
def _type(sim: Simulator, *args: Any, **kwargs: Any) -> Any:
    return kind_of(args[0]) if len(args) == 1 else sim.break_graph("a class is made")


@model(isinstance)
def _isinstance(sim: Simulator, x: Any, kinds: Any) -> bool:
    if type(kinds) is tuple:
        return any(_isinstance(sim, x, kind) for kind in kinds)
    if (asked := _asked(kinds, "__instancecheck__")) is not None and type(x) is not kinds:
        return bool(sim.call(bool, (sim.call(asked, (kinds, x), {}),), {}))
    if type(kinds) is type(Protocol) and type(x).__dictoffset__ and not _derives(type(x), kinds):
        return _has_members(sim, x, kinds)
    if type(x) is Sym:
        return issubclass(kind_of(x), kinds)
    return isinstance(x, kinds) or (type(x) in (TensorMethod, *KINDS) and issubclass(kind_of(x), kinds))


@model(issubclass)
def _issubclass(sim: Simulator, x: Any, kinds: Any) -> bool:
    if type(kinds) is tuple:
        return any(_issubclass(sim, x, kind) for kind in kinds)
    if (asked := _asked(kinds, "__subclasscheck__")) is not None:
        return bool(sim.call(bool, (sim.call(asked, (kinds, x), {}),), {}))
    return issubclass(x, kinds)


def _asked(kind: Any, name: str) -> Any:
    """Return the method of a metaclass of the user's that says what is of a class; None for Python's own."""
    found, owner = class_attribute(type(kind), name)
    own = type(found) is FunctionType and package(owner.__module__) not in sys.stdlib_module_names
    return found if own and not is_library(owner.__module__) else None


def _has_members(sim: Simulator, x: Any, kind: Any) -> bool:
    """Return whether an object has what a protocol asks for; its attributes are guarded."""
    there = isinstance(x, kind)  # an error for protocols that may not be asked
    found = True
    for name in sorted(_get_protocol_attrs(kind)):
        found = bool(sim.call(hasattr, (x, name), {}))
        if found and callable(getattr(kind, name, None)):
            found = sim.call(getattr, (x, name), {}) is not None
        if not found:
            break
    if found is not there:  # attributes that were set since, or that only some versions of Python ask for
        sim.break_graph(f"isinstance() of the protocol {kind.__name__}, which asks for attributes of the object")
    return there


def _derives(kind: type, base: type) -> bool:
    return base in kind.__mro__


@model(callable)
def _callable(sim: Simulator, x: Any) -> bool:
    return callable(x) or type(x) is TensorMethod
