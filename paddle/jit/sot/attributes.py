"""Attributes and global variables, as a simulated frame reads them: with guards on the way to the value."""

from __future__ import annotations

import functools
import sys
from types import (
    BuiltinFunctionType,
    CellType,
    FunctionType,
    GetSetDescriptorType,
    MemberDescriptorType,
    MethodType,
    MethodWrapperType,
    ModuleType,
)
from typing import TYPE_CHECKING, Any

from paddle.jit.sot.guards import DEFAULTS, MISSING_PLACE
from paddle.jit.sot.leaves import BUILT_IN
from paddle.jit.sot.models.arrays import is_array, note
from paddle.jit.sot.models.attributes import write_attribute
from paddle.jit.sot.models.classes import DELETED, NOTHING, class_attribute
from paddle.jit.sot.models.pure import PURE_TYPES
from paddle.jit.sot.sources import Attribute, ClassAttribute, Item, Member, fixed
from paddle.jit.sot.trace import HEAP_TYPE, MUTABLE, TensorMethod
from paddle.jit.sot.translation import is_library, package
from paddle.jit.source.convert import HELPERS
from paddle.nn.layer.layers import Layer
from umiak import ops as F
from umiak.core.direct import Direct
from umiak.core.tensor import Tensor
from umiak.ir.expr import Sym
from umiak.ir.tracer import SymTensor

if TYPE_CHECKING:
    from paddle.jit.sot.simulator import Simulator


# What classes and functions may be given another one of while they stay the same objects.
_OF_BOTH = ("__name__", "__qualname__", "__doc__", "__module__")
_OF_FUNCTIONS = (*DEFAULTS, "__code__", "__annotations__", *_OF_BOTH)


def attribute(sim: Simulator, x: Any, name: str) -> Any:
    """Return an attribute of an object."""
    kind = type(x)
    if isinstance(x, Tensor):
        return _tensor_attribute(sim, x, name)
    if kind is Sym:
        sim.trace.steer(x)
    if kind is TensorMethod:
        return x.tensor if name == "__self__" else getattr(getattr(x.tensor, x.name), name)
    if isinstance(x, ModuleType):
        return _module_attribute(sim, x, name)
    if x is HELPERS:
        return getattr(x, name)
    if isinstance(x, type):
        return _type_attribute(sim, x, name)
    if kind is super:
        return getattr(x, name)
    if name == "__class__":
        return kind
    if is_array(sim, x) and name in ("T", "real", "dtype", "shape", "size", "ndim", "itemsize", "nbytes"):
        return note(sim, getattr(x, name)) if name in ("T", "real") else getattr(x, name)
    if name == "__dict__":
        return sim.break_graph("the dict of an object's attributes is read")
    if kind is FunctionType and class_attribute(kind, name)[0] is NOTHING:
        return _function_attribute(sim, x, name)
    if kind is FunctionType and name in _OF_FUNCTIONS and not (sim.trace.is_fresh(x) or is_library(x.__module__)):
        return sim.trace.wrap(getattr(x, name), Member(sim.trace.sources.get(id(x)) or fixed(x), name))
    if kind is FunctionType and name == "__closure__":
        sim.cells_of(x)
    if kind is MethodType and class_attribute(kind, name)[0] is NOTHING:
        return attribute(sim, x.__func__, name)
    if kind is CellType and name == "cell_contents":
        return sim.forced(sim.trace.contents(x, name))
    if kind in BUILT_IN or isinstance(x, (tuple, BaseException, functools.partial)) or kind in PURE_TYPES:
        of_partial = kind is functools.partial and name in ("func", "args", "keywords")
        source = sim.trace.sources.get(id(x))
        if source is not None and not sim.trace.is_fresh(x) and (of_partial or isinstance(x, BaseException)):
            return sim.trace.wrap(getattr(x, name), Member(source, name))
        return getattr(x, name)
    return _instance_attribute(sim, x, kind, name)


def _function_attribute(sim: Simulator, f: FunctionType, name: str) -> Any:
    trace = sim.trace
    written = trace.attributes.get((id(f), name))
    if written is not None and written[1] is not DELETED:
        return written[1]
    if written is None and name in f.__dict__:
        return trace.attribute(f, name, f.__dict__[name])
    if written is None and not trace.is_fresh(f):
        trace.guards.absent(trace.sources.get(id(f)) or fixed(f), name)
    raise AttributeError(f"'function' object has no attribute {name!r}", name=name, obj=f)


def _tensor_attribute(sim: Simulator, x: Tensor, name: str) -> Any:
    if name in ("strides", "data_ptr") and isinstance(x, SymTensor):
        return sim.break_graph(f"{name} of a tensor, which differs from call to call")
    given = sim.trace.input_of(x)
    if given is not None and name == "name":
        return sim.break_graph("the name of a tensor, which differs from call to call")
    own = getattr(x if given is None else given.tensor, "__dict__", {})
    if given is not None and id(x) not in sim.trace.details and name in own:
        return sim.trace.unread(own[name], Attribute(given.source, name))
    if name == "grad" and id(x) in sim.trace.capture.cleared:
        return F.full(0, x.dtype, tuple(x.shape))
    try:
        value = getattr(x, name)
    except AttributeError:
        for kind in sim.trace.read_as:
            if hasattr(kind, name):
                what = f"{kind.__name__}.{name}, of a value that a tensor gave or that was computed with one"
                sim.break_graph(f"{what}, which is a tensor in a graph")
        source = sim.trace.place_of(x)
        if source is not None and id(x) not in sim.trace.details:
            sim.trace.guards.absent(source, name)
        raise
    if name == "grad" and isinstance(value, Tensor) and not isinstance(value, SymTensor):
        sim.trace.know_gradient(value, x)
    if type(value) in (MethodType, BuiltinFunctionType, MethodWrapperType) and getattr(value, "__self__", None) is x:
        return TensorMethod(x, name)
    found, _ = class_attribute(type(x), name)
    if found is NOTHING and not isinstance(x, SymTensor):
        return sim.trace.attribute(x, name, value)
    if given is not None and name == "persistable":
        value = given.tensor.persistable
    source = sim.trace.place_of(x)
    if type(value) in (bool, str, type(None)) and name in _OF_TENSORS and source is not None:
        sim.trace.guards.equal(Member(source, name), value)
    return value


# Of a tensor from outside, what may be set and is no matter of the program.
_OF_TENSORS = ("name", "persistable", "stop_gradient", "trainable", "need_clip", "regularizer", "is_distributed")


def _module_attribute(sim: Simulator, x: ModuleType, name: str) -> Any:
    space = x.__dict__
    of_python = package(x.__name__) in sys.stdlib_module_names
    if of_python and type(space.get(name)) in MUTABLE and space[name] is not sys.modules:
        return sim.trace.unread(space[name], Item(fixed(space), name))
    if name not in space:
        if not is_library(x.__name__):
            sim.trace.guards.place(space, name, MISSING_PLACE)
        return getattr(x, name)  # which the module makes when it is asked
    return _global(sim, space, name)


def _global(sim: Simulator, space: dict[str, Any], name: str) -> Any:
    written = sim.trace.globals.get((id(space), name))
    if written is not None:
        return written[1]
    value = space[name]
    module = space.get("__name__", "")
    own = is_library(module) or package(module) in sys.stdlib_module_names
    if own and not isinstance(value, Tensor):
        sim.trace.guards.place(space, name, value)
        return value
    return sim.trace.unread(value, Item(fixed(space), name))


def global_variable(sim: Simulator, space: dict[str, Any], builtin: dict[str, Any], name: str) -> Any:
    """Return a global variable of a function, or a built-in one."""
    if name in space and is_library(space.get("__name__", "")) and not isinstance(space[name], Tensor):
        return space[name]
    if name in space or (id(space), name) in sim.trace.globals:
        return _global(sim, space, name)
    if is_library(space.get("__name__", "")):
        return builtin[name]
    sim.trace.guards.place(space, name, MISSING_PLACE)
    if name not in builtin:
        sim.trace.guards.place(builtin, name, MISSING_PLACE)
        raise NameError(f"name {name!r} is not defined")
    sim.trace.guards.place(builtin, name, builtin[name])
    return builtin[name]


def _type_attribute(sim: Simulator, x: type, name: str) -> Any:
    if name in _OF_BOTH and x.__flags__ & HEAP_TYPE and not is_library(x.__module__):
        return sim.trace.wrap(getattr(x, name), Member(fixed(x), name))
    found, owner = class_attribute(x, name)
    meta, maker = class_attribute(type(x), name)
    if found is NOTHING and meta is not NOTHING and not _is_of_python(maker):
        _guard_path(sim, x, None, name)
        _guard_path(sim, type(x), maker, name)
        if type(meta) is property:
            return _property(sim, x, type(x), maker, name, meta)
        return _descriptor(sim, x, type(x), maker, name, meta)
    if found is NOTHING or meta is not NOTHING or owner.__module__ == "builtins":
        return getattr(x, name)
    written = sim.trace.attributes.get((id(x), name))
    if written is not None:
        return written[1]
    _guard_path(sim, x, owner, name)
    if type(found) in (FunctionType, staticmethod, classmethod):
        _guard_class(sim, owner, name, found)
        return getattr(x, name)
    if hasattr(type(found), "__get__"):
        return getattr(x, name)
    return _class_value(sim, owner, name, found)


def _is_of_python(kind: type) -> bool:
    return is_library(kind.__module__) or package(kind.__module__) in sys.stdlib_module_names


def _guard_class(sim: Simulator, owner: type, name: str, found: Any) -> None:
    if not is_library(owner.__module__) and owner.__module__ != "builtins":
        sim.trace.guards.equal(ClassAttribute(fixed(owner), name), found)


def _guard_path(sim: Simulator, kind: type, owner: Any, name: str) -> None:
    """Guard which classes there are, and that none before ``owner``, or none at all, has an attribute of this name."""
    if kind.__flags__ & HEAP_TYPE and not is_library(kind.__module__):
        sim.trace.guards.equal(Member(fixed(kind), "__mro__"), kind.__mro__)
    for base in kind.__mro__:
        if base is owner:
            return
        if not is_library(base.__module__) and package(base.__module__) not in sys.stdlib_module_names:
            sim.trace.guards.missing(Member(fixed(base), "__dict__"), name)


def _class_value(sim: Simulator, owner: type, name: str, found: Any) -> Any:
    if is_library(owner.__module__) or package(owner.__module__) in sys.stdlib_module_names:
        return found
    return sim.trace.wrap(found, ClassAttribute(fixed(owner), name))


def _instance_attribute(sim: Simulator, x: Any, kind: type, name: str) -> Any:
    trace = sim.trace
    getter, _ = class_attribute(kind, "__getattribute__")
    if type(getter) is FunctionType:
        return sim.call(getter, (x, name), {}, direct=True)
    found, owner = class_attribute(kind, name)
    _guard_path(sim, kind, owner, name)
    descriptor = type(found)
    if descriptor is property:
        return _property(sim, x, kind, owner, name, found)
    if descriptor in (MemberDescriptorType, GetSetDescriptorType):
        written = trace.attributes.get((id(x), name))
        if written is not None and written[1] is not DELETED:
            return written[1]
        value = getattr(x, name)
        source = trace.sources.get(id(x))
        return (
            value
            if source is None or trace.is_fresh(x) or is_library(kind.__module__)
            else trace.wrap(value, Member(source, name))
        )
    is_data = found is not NOTHING and hasattr(descriptor, "__set__")
    if is_data:
        return _descriptor(sim, x, kind, owner, name, found)
    written = trace.attributes.get((id(x), name))
    if written is not None and written[1] is not DELETED:
        return written[1]
    space = getattr(x, "__dict__", None)
    if written is None and type(space) is dict and name in space:
        return trace.attribute(x, name, space[name])
    if (
        written is None
        and type(space) is dict
        and not trace.is_fresh(x)
        and (isinstance(x, Layer) or not is_library(kind.__module__))
    ):
        trace.guards.absent(trace.sources.get(id(x)) or fixed(x), name)
    if found is NOTHING:
        missing, _ = class_attribute(kind, "__getattr__")
        if type(missing) is FunctionType:
            return sim.call(missing, (x, name), {}, direct=True)
        if missing is not NOTHING:
            return sim.break_graph(f"an attribute of {kind.__name__}")
        raise AttributeError(f"{kind.__name__!r} object has no attribute {name!r}", name=name, obj=x)
    return _descriptor(sim, x, kind, owner, name, found)


def _property(sim: Simulator, x: Any, kind: type, owner: type, name: str, found: property) -> Any:
    if found.fget is None:
        return getattr(x, name)
    _guard_class(sim, owner, name, found)
    return sim.call(found.fget, (x,), {}, direct=True)


def _descriptor(sim: Simulator, x: Any, kind: type, owner: type, name: str, found: Any) -> Any:
    """The value that an entry of the class gives for an instance."""
    descriptor = type(found)
    if descriptor in (FunctionType, staticmethod, classmethod):
        _guard_class(sim, owner, name, found)
        if descriptor is FunctionType:
            return MethodType(found, x)
        return found.__func__ if descriptor is staticmethod else MethodType(found.__func__, kind)
    if descriptor is Direct:
        return MethodType(found, x)
    if descriptor is functools.cached_property:
        value = sim.call(found.func, (x,), {})
        write_attribute(sim, x, name, value)
        return value
    getter, _ = class_attribute(descriptor, "__get__")
    if type(getter) is FunctionType:
        if is_library(descriptor.__module__):
            return getattr(x, name)
        _guard_class(sim, owner, name, found)
        return sim.call(getter, (sim.trace.wrap(found, ClassAttribute(fixed(owner), name)), x, kind), {}, direct=True)
    if getter is not NOTHING:
        return getattr(x, name)
    return _class_value(sim, owner, name, found)
