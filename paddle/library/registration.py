"""Rules of operators by their names."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from paddle._public import public
from paddle.library.custom_op import CustomOpDef
from paddle.library.registry import _operator


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
