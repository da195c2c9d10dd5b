"""Parts of programs with a gradient that the user writes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from paddle._public import need_tensor, public
from paddle.autograd import PyLayer
from paddle.static.program import tracer_of
from umiak.core.context import capture_of
from umiak.core.tensor import Tensor
from umiak.util.errors import op_error


@public("paddle.static.nn", usual=False)
def static_pylayer(
    forward_fn: Callable[..., Any],
    inputs: Sequence[Tensor],
    backward_fn: Callable[..., Any] | None = None,
    name: str | None = None,
) -> Any:
    """Record ``forward_fn(*inputs)``, whose gradient ``backward_fn`` records.

    Args:
        forward_fn: takes the inputs; returns a variable, or a list or tuple of them.
        inputs: a list or tuple of variables.
        backward_fn: takes a gradient for each result; returns one for each input, None for none. None: inputs want
            no gradient.
        name: accepted.

    Returns:
        What ``forward_fn`` returned; a list for several variables.

    Raises:
        RuntimeError: dynamic mode, in which ``paddle.autograd.PyLayer`` does this.
        ValueError: inputs that want a gradient, and no ``backward_fn``.
        TypeError: functions that cannot be called, or inputs of another kind.

    Example:
        >>> import numpy, paddle
        >>> paddle.enable_static()
        >>> with paddle.static.program_guard(paddle.static.Program()):
        ...     x = paddle.static.data("x", [2])
        ...     x.stop_gradient = False
        ...     y = paddle.static.nn.static_pylayer(lambda x: x * 2, [x], lambda g: g * 5)
        ...     (grad,) = paddle.static.gradients(y, x)
        ...     paddle.static.Executor().run(feed={"x": numpy.ones(2, "float32")}, fetch_list=[y, grad])
        [array([2., 2.], dtype=float32), array([5., 5.], dtype=float32)]
        >>> paddle.disable_static()
    """
    if capture_of() is None:
        tracer_of("static_pylayer")
    if not callable(forward_fn):
        raise op_error(TypeError, "static_pylayer", "a forward_fn that can be called", type(forward_fn).__name__)
    if backward_fn is not None and not callable(backward_fn):
        raise op_error(TypeError, "static_pylayer", "a backward_fn that can be called", type(backward_fn).__name__)
    if not isinstance(inputs, (list, tuple)):
        raise op_error(TypeError, "static_pylayer", "a list or tuple of inputs", type(inputs).__name__)
    xs = [need_tensor(x, "static_pylayer") for x in inputs]
    if backward_fn is None:
        if wanting := [x.name for x in xs if not x.stop_gradient]:
            hint = "Give a backward_fn, or detach them."
            raise op_error(
                ValueError, "static_pylayer", "inputs that want no gradient without backward_fn", wanting, hint
            )
        return _listed(forward_fn(*(x.detach() for x in xs)))
    given: Callable[..., Any] = backward_fn

    class Node(PyLayer):
        @staticmethod
        def forward(ctx: Any, *operands: Any) -> Any:
            ctx.mark_not_inplace(*operands)
            return _listed(forward_fn(*operands))

        @staticmethod
        def backward(ctx: Any, *grads: Any) -> Any:
            found = given(*grads)
            return tuple(found) if isinstance(found, list) else found

    return Node.apply(*xs)


def _listed(result: Any) -> Any:
    return list(result) if isinstance(result, tuple) else result
