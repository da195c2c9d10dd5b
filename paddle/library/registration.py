"""Rules of operators by their names."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from paddle._public import public
from paddle.library.custom_op import CustomOpDef
from paddle.library.registry import _operator
from umiak.ops.custom_op import ShapeTracer, shape_tracer


@public("paddle.library")
def register_fake(
    op: str | CustomOpDef,
    func: Callable[..., Any] | None = None,
    /,
    *,
    lib: Any = None,
    _stacklevel: int = 1,
    allow_override: bool = False,
) -> Any:
    """Say shapes and dtypes of an operator's results, as :meth:`CustomOpDef.register_fake` does.

    Args:
        op: the operator, or its name.
        func: gets the arguments without data, returns tensors like the results; None: this is a decorator.
        lib: accepted.
        _stacklevel: accepted.
        allow_override: whether a function that was registered before is replaced.

    Returns:
        ``func``, or what takes it.

    Raises:
        ValueError: no such operator, or one that has such a function.

    Example:
        >>> import paddle
        >>> op = paddle.library.custom_op("example::first", lambda x: x[0] * 1, mutates_args=())
        >>> @paddle.library.register_fake("example::first")
        ... def _(x):
        ...     return x.new_empty(x.shape[1:])
        >>> op(paddle.ones([2, 3])).shape
        paddle.Size([3])
    """
    operator = _operator(op, "register_fake")
    if func is None:
        return lambda f: register_fake(operator, f, lib=lib, allow_override=allow_override)
    if operator.definition.fake is not None and not allow_override:
        raise ValueError(
            f"[register_fake] requires an operator without such a function, got {operator.name!r}, which has one. "
            "Pass allow_override=True to replace it"
        )
    return operator.register_fake(func)


@public("paddle.library")
def register_autograd(
    op: str | CustomOpDef,
    backward: Callable[..., Any],
    /,
    *,
    setup_context: Callable[..., Any] | None = None,
    lib: Any = None,
) -> None:
    """Say the gradient of an operator, as :meth:`CustomOpDef.register_autograd` does.

    Args:
        op: the operator, or its name.
        backward: ``backward(ctx, *grads)`` returns a gradient for each argument, None where there is none.
        setup_context: ``setup_context(ctx, inputs, output)`` keeps what ``backward`` wants; None: nothing is kept.
        lib: accepted.

    Raises:
        ValueError: no such operator, or one that writes to its arguments.

    Example:
        >>> import paddle
        >>> op = paddle.library.custom_op("example::straight", lambda x: paddle.round(x), mutates_args=())
        >>> paddle.library.register_autograd("example::straight", lambda ctx, grad: grad)
        >>> x = paddle.to_tensor([0.7], stop_gradient=False)
        >>> op(x).backward()
        >>> x.grad.tolist()
        [1.0]
    """
    _operator(op, "register_autograd").register_autograd(backward, setup_context=setup_context)


@public("paddle.library")
def register_kernel(
    op: str | CustomOpDef, device_types: Any, func: Callable[..., Any] | None = None, /, *, lib: Any = None
) -> Any:
    """Say what computes an operator on some devices, as :meth:`CustomOpDef.register_kernel` does.

    Args:
        op: the operator, or its name.
        device_types: a type of devices, several, or None for all that have no function of their own.
        func: the function of the arguments; None: this is a decorator.
        lib: accepted.

    Returns:
        ``func``, or what takes it.

    Raises:
        ValueError: no such operator.

    Example:
        >>> import paddle
        >>> op = paddle.library.custom_op("example::half", lambda x: x / 2, mutates_args=(), device_types="gpu")
        >>> @paddle.library.register_kernel("example::half", "cpu")
        ... def _(x):
        ...     return x * 0.5
        >>> op(paddle.ones([1])).tolist()
        [0.5]
    """
    return _operator(op, "register_kernel").register_kernel(device_types, func)


@public("paddle.library")
class FakeImplCtx:
    """Object that a function of shapes asks for sizes that only data decide; :func:`get_ctx` gives it.

    Args:
        tracer: what runs that function.

    Source:
        PyTorch, ``torch.library.get_ctx``.

    Example:
        >>> import paddle
        >>> op = paddle.library.custom_op("example::negative", lambda x: x[x < 0], mutates_args=())
        >>> @op.register_fake
        ... def _(x):
        ...     n = paddle.library.get_ctx().new_dynamic_size(max=x.shape[0])
        ...     return x.new_empty([n])
        >>> op(paddle.to_tensor([1.0, -1.0, 3.0])).tolist()
        [-1.0]
    """

    def __init__(self, tracer: ShapeTracer) -> None:
        self._tracer = tracer

    def new_dynamic_size(self, *, min: Any = 0, max: Any = None) -> Any:
        """A size that only the operator's run tells, as an int of the shapes of results.

        Args:
            min: the least that it may be, at least 0.
            max: the most, or None. The two decide conditions on the size in the function of shapes, nothing else;
                symbolic ones (sizes of operands) decide none.

        Returns:
            a symbolic int. Sizes computed with it (``2 * n``) are told by the run, too.

        Raises:
            ValueError: bounds that are no sizes, or leave none.
        """
        lo, hi = (min if type(min) is int else 0), (max if type(max) is int else None)
        if lo < 0 or (hi is not None and hi < lo):
            raise ValueError(f"[new_dynamic_size] requires 0 <= min <= max, got min={min!r} and max={max!r}")
        return self._tracer.size_of_data(lo, hi)

    create_unbacked_symint = new_dynamic_size  # the older name


@public("paddle.library")
def get_ctx() -> FakeImplCtx:
    """Within a function of shapes (``register_fake``): the object that gives sizes which only data decide.

    Static programs, saved models and functions captured as one graph read such sizes off the results when they run;
    other captured functions call the operator between two graphs.

    Returns:
        A :class:`FakeImplCtx`.

    Raises:
        RuntimeError: outside of a function of shapes.

    Source:
        PyTorch, ``torch.library.get_ctx``.

    Example:
        >>> import paddle
        >>> op = paddle.library.custom_op("example::positive", lambda x: x[x > 0], mutates_args=())
        >>> @op.register_fake
        ... def _(x):
        ...     return x.new_empty([paddle.library.get_ctx().new_dynamic_size()])
        >>> f = paddle.jit.to_static(lambda x: op(x) * 2, full_graph=True)
        >>> f(paddle.to_tensor([1.0, -1.0, 3.0])).tolist()
        [2.0, 6.0]
    """
    tracer = shape_tracer()
    if tracer is None:
        raise RuntimeError(
            "[get_ctx] requires a function of shapes (register_fake) that is running, got a call outside"
        )
    return FakeImplCtx(tracer)
