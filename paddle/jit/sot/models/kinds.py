"""Models of questions for the type of a value."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from paddle.jit.sot.models.table import model
from paddle.jit.sot.models.values import KINDS, kind_of
from paddle.jit.sot.trace import TensorMethod
from umiak.ir.expr import Sym

if TYPE_CHECKING:
    from paddle.jit.sot.simulator import Simulator


@model(type)
def _type(sim: Simulator, *args: Any, **kwargs: Any) -> Any:
    return kind_of(args[0]) if len(args) == 1 else sim.break_graph("a class is made")


@model(isinstance)
def _isinstance(sim: Simulator, x: Any, kinds: Any) -> bool:
    if type(x) is Sym:
        return issubclass(kind_of(x), kinds)
    return isinstance(x, kinds) or (type(x) in (TensorMethod, *KINDS) and issubclass(kind_of(x), kinds))


@model(issubclass)
def _issubclass(sim: Simulator, x: Any, kinds: Any) -> bool:
    return issubclass(x, kinds)


@model(callable)
def _callable(sim: Simulator, x: Any) -> bool:
    return callable(x) or type(x) is TensorMethod
