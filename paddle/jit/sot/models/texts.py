"""Models of functions that make texts."""

from __future__ import annotations

import collections
import enum
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from paddle.jit.sot.models.classes import class_attribute, special
from paddle.jit.sot.models.table import model
from paddle.jit.sot.models.values import EXACT
from paddle.jit.sot.trace import symbolic_in
from paddle.jit.sot.translation import is_library
from paddle.jit.sot.value_instructions import formatted
from paddle.nn.layer.layers import Layer
from umiak.core.tensor import Tensor
from umiak.ir.expr import Sym

if TYPE_CHECKING:
    from paddle.jit.sot.simulator import Simulator


def _text(kind: Callable[..., str]) -> None:
    @model(kind)
    def text(sim: Simulator, *args: Any, **kwargs: Any) -> Any:
        if not args:
            return ""
        x = args[0]
        if (symbolic := symbolic_in(args)) is not None:
            sim.trace.steer(symbolic)
        # `object.__str__` calls `__repr__`, where no class has another one, such as `int.__repr__` of an IntEnum.
        name = "__str__" if kind is str and class_attribute(type(x), "__str__")[1] is not object else "__repr__"
        f = special(x, name)
        if f is not None and not is_library(type(x).__module__):
            made = sim.call(f, (x,), {}, direct=kind is not ascii)
            if not isinstance(made, str):
                raise TypeError(f"{name} returned non-string (type {type(made).__name__})")
            return made if kind is not ascii else ascii(_Written(made))
        if isinstance(x, BaseException):
            sim.attribute(x, "args")
        if _has_plain_text(x):
            return kind(*args, **kwargs)
        return sim.break_graph(f"a text is made of {type(x).__name__}")


class _Written:
    """An object of a known text, of which ``ascii`` writes the other characters by their numbers."""

    def __init__(self, text: str) -> None:
        self.text = text

    def __repr__(self) -> str:
        return self.text


def _has_plain_text(x: Any) -> bool:
    if isinstance(x, (list, tuple, set, frozenset, collections.deque)):
        return all(map(_has_plain_text, x))
    if isinstance(x, dict):
        return all(map(_has_plain_text, x)) and all(map(_has_plain_text, x.values()))
    return (
        type(x) in EXACT
        or isinstance(x, (np.generic, enum.Enum, type, BaseException))
        or is_library(type(x).__module__)
    ) and not isinstance(x, (Tensor, Layer))


for _kind in (str, repr, ascii):
    _text(_kind)


@model(formatted)
def _formatted(sim: Simulator, x: Any, conversion: Any, spec: str) -> Any:
    if conversion is not None:
        return format(sim.call(conversion, (x,), {}), spec)
    return _format(sim, x, spec)


@model(format)
def _format(sim: Simulator, x: Any, spec: str = "") -> Any:
    if type(x) is Sym:
        sim.trace.steer(x)
    f = special(x, "__format__")
    if f is not None:
        return sim.call(f, (x, spec), {}, direct=True)
    if not spec:
        return sim.call(str, (x,), {})
    return format(x, spec) if _has_plain_text(x) else sim.break_graph(f"a text is made of {type(x).__name__}")
