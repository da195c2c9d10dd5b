"""Models of truth: what branches ask for."""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, Any

import numpy as np

from paddle.jit.sot.models.arrays import is_array
from paddle.jit.sot.models.classes import NOTHING, class_attribute, special
from paddle.jit.sot.models.table import model
from paddle.jit.sot.models.values import must_be_known
from umiak.core.tensor import Tensor

if TYPE_CHECKING:
    from paddle.jit.sot.simulator import Simulator


@model(bool)
def _bool(sim: Simulator, *args: Any) -> bool:
    if not args:
        return False
    (x,) = args
    if isinstance(x, Tensor):
        return sim.break_graph("a branch depends on the data of a tensor")
    for name in ("__bool__", "__len__"):
        f = special(x, name)
        if f is not None:
            return bool(sim.call(f, (x,), {}))
    if is_array(sim, x) and x.size == 1:
        return _bool(sim, x.flat[0])
    if isinstance(x, np.ndarray):
        return sim.break_graph("a branch depends on the data of an array")
    if any(class_attribute(type(x), name)[0] is not NOTHING for name in ("__bool__", "__len__")):
        must_be_known(sim, x, "the truth")
    return bool(x)


@model(operator.not_)
def _not(sim: Simulator, x: Any) -> bool:
    return not _bool(sim, x)


@model(operator.truth)
def _truth(sim: Simulator, x: Any) -> bool:
    return _bool(sim, x)


@model(any)
def _any(sim: Simulator, items: Any) -> bool:
    return any(sim.call(bool, (x,), {}) for x in sim.call(iter, (items,), {}))


@model(all)
def _all(sim: Simulator, items: Any) -> bool:
    return all(sim.call(bool, (x,), {}) for x in sim.call(iter, (items,), {}))
