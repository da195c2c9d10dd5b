"""Models of indexing, membership and length."""

from __future__ import annotations

import collections
import enum
import operator
import sys
from typing import TYPE_CHECKING, Any

import numpy as np

from paddle.jit.sot.guards import MISSING_PLACE
from paddle.jit.sot.models.arrays import is_array, operate, write
from paddle.jit.sot.models.classes import class_attribute, is_iterator, special
from paddle.jit.sot.models.table import model
from paddle.jit.sot.models.values import EXACT, VIEWS, holds_tensors, look_up, must_be_known
from paddle.jit.sot.sources import Item
from paddle.jit.sot.trace import MUTABLE, TABLES, symbolic_in
from umiak.core.tensor import Tensor
from umiak.ir.tracer import SymTensor

if TYPE_CHECKING:
    from paddle.jit.sot.simulator import Simulator


@model(operator.contains)
def _contains(sim: Simulator, container: Any, x: Any) -> Any:
    f = special(container, "__contains__")
    if f is not None:
        return sim.call(bool, (sim.call(f, (container, x), {}),), {})
    if isinstance(container, Tensor):
        return sim.break_graph("in of a tensor")
    if container is sys.modules and type(x) is str:
        sim.trace.guards.place(container, x, container.get(x, MISSING_PLACE))
        return x in container
    must_be_known(sim, container, "in")
    look_up(sim, x, *(container if type(container) in (list, tuple, collections.deque) else ()))
    if isinstance(container, (dict, set, frozenset)):
        return sim.trace.number_of(x) in container
    if type(container) in EXACT or isinstance(container, (tuple, *VIEWS, enum.EnumMeta)):
        if isinstance(x, Tensor) or (
            not isinstance(container, (str, bytes, range, enum.EnumMeta)) and holds_tensors(container)
        ):
            return sim.break_graph("in compares tensors")
        return x in container
    if special(container, "__iter__") or is_iterator(container):
        return any(_equal(sim, v, x) for v in sim.call(iter, (container,), {}))
    return sim.break_graph(f"in of {type(container).__name__}")


def _equal(sim: Simulator, x: Any, y: Any) -> bool:
    return x is y or bool(sim.call(bool, (sim.call(operator.eq, (x, y), {}),), {}))


@model(operator.getitem)
def _getitem(sim: Simulator, x: Any, key: Any) -> Any:
    if isinstance(x, Tensor):
        return sim.leaf(operator.getitem, (x, key), {})
    f = special(x, "__getitem__")
    if f is not None:
        return sim.call(f, (x, key), {}, direct=True)
    kind = type(x)
    if isinstance(x, type):
        maker, _ = class_attribute(x, "__class_getitem__")
        return sim.break_graph("a class is subscripted") if isinstance(maker, classmethod) else x[key]  # type: ignore[index]
    if isinstance(x, (dict, *TABLES)):
        key = sim.trace.number_of(key)
        look_up(sim, key)
        holds = dict.__contains__(x, key) if isinstance(x, dict) else key in x  # whatever the user's class says
        source = sim.trace.sources.get(id(x))
        known = source is None or kind in EXACT or isinstance(x, TABLES) or sim.trace.is_fresh(x)
        if not known:  # of a class of the user's, which no guard has looked into
            sim.trace.guards.item(source, key, holds)  # type: ignore[arg-type]
        missing = special(x, "__missing__")
        if missing is not None and not holds:
            return sim.call(missing, (x, key), {}, direct=True)
        if isinstance(x, collections.defaultdict) and not holds and x.default_factory is not None:
            value = x[key] = sim.call(x.default_factory, (), {})
            return value
        return x[key] if known or not holds else sim.trace.wrap(x[key], Item(source, key))
    if kind in EXACT or isinstance(x, tuple):
        if isinstance(key, Tensor):
            return sim.break_graph("a tensor is the index of a container")
        if (symbolic := symbolic_in((key,))) is not None:
            sim.trace.steer(symbolic)
        return x[key]
    if is_array(sim, x) and (made := operate(sim, operator.getitem, x, key)) is not NotImplemented:
        return made
    return sim.break_graph(f"an element of {kind.__name__}")


@model(operator.setitem)
def _setitem(sim: Simulator, x: Any, key: Any, value: Any) -> Any:
    if isinstance(x, Tensor):
        return sim.leaf(operator.setitem, (x, key, value), {})
    if write(sim, x, key, value):
        return None
    f = special(x, "__setitem__")
    if f is not None:
        return sim.call(f, (x, key, value), {}, direct=True)
    if type(x) in MUTABLE:
        if isinstance(key, Tensor):
            return sim.break_graph("a tensor is the index of a container")
        if (symbolic := symbolic_in((key,))) is not None:
            sim.trace.steer(symbolic)
        x[key] = value
        return None
    if type(x) in (tuple, str, int, range):
        x[key] = value  # which is refused
    return sim.break_graph(f"an element of {type(x).__name__} is set")


@model(operator.delitem)
def _delitem(sim: Simulator, x: Any, key: Any) -> Any:
    f = special(x, "__delitem__")
    if f is not None:
        return sim.call(f, (x, key), {}, direct=True)
    if type(x) not in MUTABLE:
        return sim.break_graph(f"an element of {type(x).__name__} is deleted")
    if (symbolic := symbolic_in((key,))) is not None:
        sim.trace.steer(symbolic)
    del x[key]
    return None


@model(len)
def _len(sim: Simulator, x: Any) -> Any:
    if isinstance(x, SymTensor) and x.ndim:
        return x.shape[0]
    f = special(x, "__len__")
    if f is not None:
        return sim.call(f, (x,), {}, direct=True)
    if isinstance(x, np.ndarray):
        return len(x) if is_array(sim, x) else sim.break_graph("the length of an array")
    must_be_known(sim, x, "the length")
    return len(x)
