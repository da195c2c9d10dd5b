"""Models of attributes that are read, set and removed by functions."""

from __future__ import annotations

import threading
from types import FunctionType, MemberDescriptorType, ModuleType
from typing import TYPE_CHECKING, Any

from paddle.jit.sot.models.classes import DELETED, NOTHING, class_attribute, special
from paddle.jit.sot.models.table import model
from paddle.jit.sot.sources import fixed
from paddle.jit.sot.translation import is_library
from paddle.jit.source.branches import choose
from paddle.jit.source.values import Conditional, read
from paddle.nn.layer.layers import Layer
from umiak.core.tensor import Tensor
from umiak.ir.tracer import SymTensor

if TYPE_CHECKING:
    from paddle.jit.sot.simulator import Simulator


@model(getattr)
def get_attribute(sim: Simulator, x: Any, name: Any, *default: Any) -> Any:
    """Return an attribute."""
    if not isinstance(name, str):
        return getattr(x, name)
    try:
        value = sim.attribute(x, name, direct=not default)
    except AttributeError:
        if not default:
            raise
        return default[0]
    if default and type(value) is Conditional:
        return choose(value.defined, lambda: value.value, lambda: default[0])
    return read(value)


@model(hasattr)
def _hasattr(sim: Simulator, x: Any, name: str) -> Any:
    try:
        value = sim.attribute(x, name)
    except AttributeError:
        return False
    return value.defined if type(value) is Conditional else True


@model(setattr)
def _setattr(sim: Simulator, x: Any, name: str, value: Any) -> Any:
    kind = type(x)
    if isinstance(x, Tensor):
        changes_flag = name == "stop_gradient" and bool(value) != x.stop_gradient
        if changes_flag and isinstance(x, SymTensor) and sim.trace.sets_flag(x, bool(value)):
            return None
        kept = not changes_flag or ((value or sim.trace.policy.full_graph) and not sim.trace.input_of(x))
        if isinstance(x, SymTensor) and kept and changes_flag and value and x._base is None:
            sim.leaf(x.detach_, (), {})  # what was computed of it before has its history
            return None
        if isinstance(x, SymTensor) and name not in ("stop_gradient", "grad"):
            kept = not sim.trace.capture.given(x)
            if kept:
                sim.trace.details.setdefault(id(x), (x, {}))[1][name] = value
        if (isinstance(x, SymTensor) and kept) or name == "grad":
            return sim.leaf(setattr, (x, name, value), {})
        return sim.break_graph(f"the attribute {name} of a tensor is set", between=True)
    if isinstance(x, (ModuleType, type)):
        return sim.break_graph(f"an attribute of {x.__name__} is set", between=True)
    if isinstance(x, Layer):
        if isinstance(value, (Layer,)) or name in ("_parameters", "_buffers", "_sub_layers"):
            return sim.break_graph(f"{kind.__name__}.{name} is set")
        if name in x._parameters or name in x._sub_layers:
            return sim.break_graph(f"{kind.__name__}.{name} is set")
        setter, owner = class_attribute(kind, "__setattr__")
        if owner is not Layer:
            return sim.call(setter, (x, name, value), {}, direct=True)
        return write_attribute(sim, x, name, value, False)
    setter, owner = class_attribute(kind, "__setattr__")
    if type(setter) is FunctionType:
        return sim.call(setter, (x, name, value), {}, direct=True)
    return write_attribute(sim, x, name, value)


def write_attribute(sim: Simulator, x: Any, name: str, value: Any, plainly: bool = True) -> Any:
    """Set an attribute as ``object.__setattr__`` does; ``plainly``: so, later, too."""
    found, _ = class_attribute(type(x), name)
    if type(found) is property:
        if found.fset is None:
            raise AttributeError(f"property {name!r} of {type(x).__name__!r} object has no setter")
        return sim.call(found.fset, (x, value), {}, direct=True)
    if found is not NOTHING and hasattr(type(found), "__set__"):
        setter = special(found, "__set__")
        if setter is not None:
            return sim.call(setter, (found, x, value), {}, direct=True)
        if not sim.trace.is_fresh(x) and (type(found) is not MemberDescriptorType or is_library(type(x).__module__)):
            return sim.break_graph(f"{type(x).__name__}.{name} is set")
    if sim.trace.is_fresh(x):
        return object.__setattr__(x, name, value)
    # Objects of threads take no ``object.__setattr__``.
    if isinstance(x, threading.local) or (not hasattr(x, "__dict__") and type(found) is not MemberDescriptorType):
        return sim.break_graph(f"{type(x).__name__}.{name} is set")
    sim.trace.attributes[id(x), name] = x, value, plainly
    if id(x) not in sim.trace.sources:
        sim.trace._know(x, fixed(x))
    return None


@model(delattr)
def remove_attribute(sim: Simulator, x: Any, name: str) -> Any:
    """Remove an attribute."""
    if isinstance(x, (Tensor, ModuleType, type, Layer)) or special(x, "__delattr__"):
        return sim.break_graph(f"an attribute of {type(x).__name__} is deleted")
    if sim.trace.is_fresh(x):
        return object.__delattr__(x, name)
    sim.attribute(x, name)
    sim.trace.attributes[id(x), name] = x, DELETED, True
    return None
