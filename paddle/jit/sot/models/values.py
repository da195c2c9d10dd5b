"""Kinds of simulated values: which stand for themselves, which the user takes for another."""

from __future__ import annotations

import datetime
import enum
from types import FunctionType, ModuleType
from typing import TYPE_CHECKING, Any

import numpy as np

from paddle.jit.sot.iterators import (
    EnumerateIterator,
    FilterIterator,
    MapIterator,
    RangeIterator,
    SequenceIterator,
    ZipIterator,
)
from paddle.jit.sot.models.classes import class_attribute, is_enum, special
from paddle.jit.sot.trace import MUTABLE, SCALARS, TABLES, TensorMethod
from paddle.jit.sot.translation import is_library
from paddle.nn.layer.layers import Layer
from umiak.core.tensor import Tensor
from umiak.ir.expr import Sym
from umiak.ir.tracer import SymTensor
from umiak.util.size import ElementCount

if TYPE_CHECKING:
    from paddle.jit.sot.simulator import Simulator

VIEWS: tuple[Any, ...] = (type({}.keys()), type({}.values()), type({}.items()))
EXACT = (
    int, ElementCount, float, bool, complex, str, bytes, type(None), tuple, list, dict, set, frozenset, range, slice,
    *MUTABLE,
)  # fmt: skip


def is_exact(x: Any) -> bool:
    kind = type(x)
    return (
        kind in EXACT
        or kind is Sym
        or isinstance(x, (Tensor, np.generic, enum.Enum, type))
        or (isinstance(x, tuple) and special(x, "__eq__") is None)
    )


def has_in_c(x: Any, name: str) -> bool:
    """Return whether an object has a special method that is a function in C, other than that of ``object``."""
    found, owner = class_attribute(type(x), name)
    return owner is not object and type(found) is not FunctionType


def is_plain_object(x: Any) -> bool:
    """Return whether operators of the object have no effect and depend on nothing that changes."""
    return (
        is_exact(x)
        or is_library(type(x).__module__)
        or isinstance(x, (datetime.timedelta, *VIEWS, ModuleType, FunctionType))
    )


def holds_tensors(x: Any) -> bool:
    values = x.values() if isinstance(x, dict) else x
    return any(isinstance(v, Tensor) or (type(v) in (list, tuple, dict) and holds_tensors(v)) for v in values)


def must_be_known(sim: Simulator, x: Any, what: str) -> None:
    """Break the graph at a look into an object in C from outside, whose contents no guard compares."""
    outside = id(x) in sim.trace.sources and id(x) not in sim.trace.shadow_of
    if outside and not (
        isinstance(x, (Tensor, Layer, type, *TABLES, *SCALARS)) or type(x) in EXACT or type(x) in KINDS
    ):
        if not (isinstance(x, tuple) or is_enum(x)):
            sim.break_graph(f"{what} of {type(x).__name__}")


def look_up(sim: Simulator, *values: Any) -> None:
    """Guard what equality and hashes of objects read, before containers in C compare them."""
    for x in values:
        kind = type(x)
        if kind in (list, tuple):
            look_up(sim, *x)
        elif kind not in EXACT and id(x) in sim.trace.sources and not isinstance(x, (Tensor, Layer, type)):
            if kind.__module__ == "builtins":
                must_be_known(sim, x, "a comparison")
            for name, args in (("__eq__", (x, x)), ("__hash__", (x,))):
                f = special(x, name)
                if f is not None and not is_library(kind.__module__):
                    sim.call(f, args, {})
            for number in sim.trace.numbers:  # what is compared is the object itself, with the numbers of this call
                if sim.trace.sources[id(x)] in number.source.path():
                    sim.trace.steer(number.symbol)


def kind_of(x: Any) -> type:
    """Return the type that a value has for the user's code."""
    if type(x) is Sym:
        return {"int": int, "float": float, "bool": bool}[x.kind]
    if isinstance(x, SymTensor):
        return Tensor
    if type(x) is TensorMethod:
        return type(getattr(x.tensor, x.name))
    if type(x) in KINDS:
        return KINDS[type(x)]
    return type(x)


KINDS: dict[type, type] = {
    SequenceIterator: type(iter([])),
    RangeIterator: type(iter(range(0))),
    EnumerateIterator: enumerate,
    ZipIterator: zip,
    MapIterator: map,
    FilterIterator: filter,
}
