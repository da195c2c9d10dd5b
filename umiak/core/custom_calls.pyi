"""Calls of users' operators: the way of a call whose arguments were seen before, what it keeps for its gradient, and
how its results get their history."""

from collections.abc import Callable, Sequence
from typing import Any

from umiak.core.node import Node
from umiak.core.tensor import Tensor

class OtherClass(RuntimeError):
    """Numbers or sizes decide ranks or dtypes of results: these are of another class, ``results``, than those of the
    op's first call on such operands. An op with this class as its attribute takes the call."""

    results: tuple
    def __init__(self, text: str, results: tuple) -> None: ...

class GradientContext:
    """Object that ``setup_context`` writes into and ``backward`` reads; attributes may be set freely."""

    materialize_grads: bool
    kept: tuple
    fixed: tuple
    needs_input_grad: tuple[Any, ...]
    def save_for_backward(self, *tensors: Any) -> None:
        """Keep tensors, or Nones, for ``backward``."""

    def saved_tensor(self) -> tuple:
        """Return what was kept. RuntimeError where a tensor was modified in place since."""

    @property
    def saved_tensors(self) -> tuple:
        """The same."""

    def mark_non_differentiable(self, *tensors: Any) -> None:
        """Say that no gradient passes through these results."""

    def set_materialize_grads(self, value: bool) -> None:
        """Set what ``backward`` gets for results without a gradient: zeros (True, as at first) or None."""

    def __getattr__(self, name: str) -> Any: ...
    def __setattr__(self, name: str, value: Any) -> None: ...

class BackwardCall:
    """The gradient function of one call: what it needs to know of the call."""

    definition: Any
    form: tuple
    ctx: GradientContext
    packing: Any
    metas: list[Any] | None
    tracked: list[int] | None

class Kept:
    """A tensor for the backward run, checked by its version."""

    def get(self) -> Tensor:
        """The tensor. RuntimeError where it was modified in place since."""

def set_saved_tensors(
    save: Callable[[Tensor, str, Node], Any], give_back: Callable[[Tensor, int, Node | None, int, str], Tensor]
) -> None:
    """Say what keeps tensors that hooks or a trace want to see, and what gives tensors back that were changed since."""

def attach(
    definition: Any,
    form: tuple,
    args: tuple,
    tensors: Sequence[Tensor],
    results: list,
    packing: Any,
    like: Callable[[Tensor], Any],
    call_class: type[BackwardCall],
) -> Any:
    """The results, packed, with the operator's gradient as their history.

    ``like``: makes what is remembered of a result; ``call_class``: the class of gradient functions, a BackwardCall.
    """

class OperatorCall:
    """An operator that is called. A subclass has ``_general(values)``, for arguments of classes that were not seen
    before, ``_varied(values)``, for calls that end in OtherClass, and ``_with_gradient(op, args, tensors, scalars)``.
    """

    definition: Any
    _ways: dict[tuple, tuple[Any, Any]]
    def __init__(self, definition: Any) -> None: ...
    def __call__(self, /, *args: Any, **kwargs: Any) -> Any: ...
