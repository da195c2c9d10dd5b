"""Marks on functions, layers and tensors that say how captured functions treat them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from paddle import _lazy
from paddle._public import public
from umiak.core.tensor import Tensor
from umiak.util.errors import op_error

DYNAMIC, UNIFIED, CONTROL_FLOW = "__not_to_static__", "__unified__", "__capture_control_flow__"
DIMS = "_dynamic_dims"  # an attribute of tensors


def _marked(op_name: str, x: Any, name: str, value: Any) -> Any:
    if not callable(x):
        raise op_error(TypeError, op_name, "a function or a class of layers", type(x).__name__)
    target = x.forward if isinstance(x, type) and hasattr(x, "forward") and name != DYNAMIC else x
    setattr(target, name, value)
    return x


@public("paddle.jit.marker")
def unified(fn: Any = None, *, for_sot: bool = True, for_ast: bool = True) -> Any:
    """Mark a function as one that can be traced as it is: it is called, and neither simulated nor rewritten.

    Such a function branches on no tensor, and changes no Python state.

    Args:
        fn: a function, or a class of layers, whose ``forward`` is meant; None: a decorator.
        for_sot: whether this holds for functions that are captured from bytecode.
        for_ast: whether this holds for functions that are captured from rewritten source.

    Returns:
        ``fn``, marked.

    Raises:
        TypeError: ``fn`` cannot be called.

    Example:
        >>> import paddle
        >>> @paddle.jit.marker.unified
        ... def scaled(x):
        ...     return x * 2
        >>> paddle.jit.to_static(lambda x: scaled(x))(paddle.ones([2])).tolist()
        [2.0, 2.0]
    """
    if fn is None:
        return lambda f: unified(f, for_sot=for_sot, for_ast=for_ast)
    return _marked("unified", fn, UNIFIED, (for_sot, for_ast))


@public("paddle.jit.marker")
def capture_control_flow(fn: Any = None) -> Any:
    """Mark a function whose branches and loops on tensors become a part of the graph where bytecode is captured.

    Its source is rewritten, as with ``to_static(full_graph=True)``; other functions break the graph at such a branch.

    Args:
        fn: a function, or a class of layers, whose ``forward`` is meant; None: a decorator.

    Returns:
        ``fn``, marked.

    Raises:
        TypeError: ``fn`` cannot be called.

    Example:
        >>> import paddle
        >>> @paddle.jit.marker.capture_control_flow
        ... def absolute(x):
        ...     if x.sum() < 0:
        ...         x = -x
        ...     return x
        >>> captured = paddle.jit.to_static(lambda x: absolute(x) + 1)
        >>> captured(paddle.full([2], -3.0)).tolist(), captured.graph_breaks
        ([4.0, 4.0], [])
    """
    return capture_control_flow if fn is None else _marked("capture_control_flow", fn, CONTROL_FLOW, True)


@public("paddle.jit.marker")
def force_dynamic(fn: Any = None) -> Any:
    """Mark a function, or a class of layers, that always runs outside of graphs.

    Args:
        fn: a function or a class of layers; None: a decorator.

    Returns:
        ``fn``, marked.

    Raises:
        TypeError: ``fn`` cannot be called.

    Example:
        >>> import paddle
        >>> @paddle.jit.marker.force_dynamic
        ... def report(x):
        ...     return float(x.sum())
        >>> paddle.jit.to_static(lambda x: x * report(x))(paddle.ones([2])).tolist()
        [2.0, 2.0]
    """
    if fn is None:
        return force_dynamic
    return _marked("force_dynamic", fn, DYNAMIC, True)


@public("paddle.jit.marker")
def dynamic_dims(tensor: Tensor, dims: int | Sequence[int]) -> None:
    """Say which sizes of a tensor differ from call to call: they are symbols from the first capture on.

    Args:
        tensor: an argument of a captured function.
        dims: one of its axes, or several.

    Raises:
        TypeError: ``tensor`` is not a Tensor, or ``dims`` no ints.
        ValueError: the tensor has no such axis.

    Example:
        >>> import paddle
        >>> captured = paddle.jit.to_static(lambda x: x * 2)
        >>> for n in (3, 4, 5):
        ...     x = paddle.ones([n, 2])
        ...     paddle.jit.marker.dynamic_dims(x, 0)
        ...     _ = captured(x)
        >>> captured.get_traced_count()
        1
    """
    if not isinstance(tensor, Tensor):
        raise op_error(TypeError, "dynamic_dims", "a Tensor", type(tensor).__name__)
    axes = [dims] if isinstance(dims, int) else list(dims)
    if not all(type(a) is int for a in axes):
        raise op_error(TypeError, "dynamic_dims", "an int or ints for dims", repr(dims))
    wrong = [a for a in axes if not -tensor.ndim <= a < tensor.ndim]
    if wrong:
        raise op_error(ValueError, "dynamic_dims", f"axes of a tensor of {tensor.ndim} axes", wrong[0])
    setattr(tensor, DIMS, frozenset(a % tensor.ndim for a in axes))


__getattr__, __dir__, __all__ = _lazy.contents(__name__)
