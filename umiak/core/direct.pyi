"""Public functions that are called without a frame of Python. See docs/design/public_api.md."""

from collections.abc import Callable
from types import ModuleType
from typing import Any, TypeVar

from umiak.core.plan import OpBase
from umiak.core.tensor import Tensor

_F = TypeVar("_F", bound=Callable)

class Direct:
    """A callable in the place of a function, which makes the usual calls by itself."""

    function: Callable
    quick: bool  # whether there are calls that enter no function
    op: OpBase | None  # of which the usual call is
    _aliases: dict[str, str]
    _ints: int
    _out: int | None
    _other: Any  # the function of calls in another order, and what they are known by

    def __init__(
        self,
        function: Callable,
        normalise: Callable | None = None,
        keywords: frozenset[str] = ...,
        most: int = ...,
        ints: int = -1,
        required: tuple[str, ...] = (),
    ) -> None: ...
    def __call__(self, *args: Any, **kwargs: Any) -> Any: ...

class Module(ModuleType):
    """A module whose names are looked up before the attributes of its class: ``__getattr__`` makes them no slower."""

def overwrite(function: Any, x: Tensor, args: tuple, kwargs: dict, differs: Any = None) -> Tensor:
    """Write ``function(x, *args, **kwargs)`` into ``x``, as :func:`umiak.core.inplace.overwrite` does; an op that works
    element by element, whose result no gradient wants, runs in the memory of ``x``. Returns ``x``."""

def set_beside_slots(owner: type, name: str, value: Any) -> None:
    """Let ``owner.name`` be this callable, while the operator stays that of the slot in C."""

def by_operator(function: _F, sign: str) -> _F:
    """``function(x, y)`` by ``x + y``, or what else ``sign`` says."""

def by_op(function: _F, op: OpBase, fewest: int = -1) -> _F:
    """``function(*operands)`` by an op without params, with at least ``fewest`` of its operands (all)."""

def by_axis(function: _F, table: Any, axis: int) -> _F:
    """``function(x, axis)`` by ``table[axis]``, an op of one operand; ``axis`` is what it is by default."""

def by_reduction(function: _F, table: Any) -> _F:
    """``function(x, axis)`` by ``table[reduction_key(x, axis, False)]``, if it is there."""

def by_ints(function: _F, table: dict) -> _F:
    """``function(x, ints)`` by ``table[tuple(ints)]``, an op of one operand, if it is there."""

def with_other_order(function: Direct, keywords: frozenset[str], at: int, types: tuple[type, ...]) -> None:
    """Calls with one of these keywords, or with an instance of ``types`` at a position, are tidied, too."""

def by_forward(function: _F) -> _F:
    """``function(layer, *inputs)`` by ``layer.forward(*inputs)``, where its hooks are none, or usual ones behind it."""

def in_order(layers: dict, call: Callable, x: Any) -> Any:
    """``x`` through one layer after the other: as ``call`` would, where that is how they are called, without frames."""
