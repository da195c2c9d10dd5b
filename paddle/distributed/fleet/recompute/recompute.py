"""``recompute``: less memory for more arithmetic (Chen et al., Training Deep Nets with Sublinear Memory Cost, 2016)."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from paddle._public import public
from umiak.autodiff import recompute as engine
from umiak.core.context import current
from umiak.core.tensor import Tensor
from umiak.ir import tracer
from umiak.runtime.offload import Offload
from umiak.util.errors import op_error


@public("paddle.distributed.fleet.recompute paddle.distributed.fleet.utils")
def recompute(function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """Call ``function(*args, **kwargs)`` and keep only its arguments: the backward pass runs it again.

    Values and gradients are those of the plain call, to the last bit. Under ``to_static`` the backward part of the
    program computes again what it needs of the function.

    Args:
        function: a layer or any callable that does the same when it is called again. What it does beside its result
            is done twice: running statistics of batch norms move two times (once under ``to_static``).
        *args: its positional arguments; tensors may lie in lists, tuples and dicts.
        **kwargs: its keywords, and three settings. ``use_reentrant``: True, the default, records the call as one
            operation, whose gradient is a backward pass within; it has no second derivatives, and ``paddle.grad`` finds
            tensors only where they are arguments. False records the operations of the function, which let go of what
            they saved; it has neither limit. ``preserve_rng_state``: draw the same random numbers again, here and with
            Python's and NumPy's generators; True by default. ``offload_indices``: positional arguments that are tensors
            to keep in a file of the host meanwhile, or in the host's memory if they are on another device; none by
            default.

    Returns:
        What the function returned.

    Raises:
        TypeError: something that cannot be called.
        RuntimeError: in the backward pass, an argument was modified in place or the function did something else.

    Example:
        >>> import paddle
        >>> from paddle.distributed.fleet.utils import recompute
        >>> block = paddle.nn.Sequential(paddle.nn.Linear(4, 16), paddle.nn.GELU(), paddle.nn.Linear(16, 4))
        >>> x = paddle.ones([2, 4])
        >>> x.stop_gradient = False
        >>> recompute(block, x).sum().backward()
        >>> block[0].weight.grad.shape
        paddle.Size([4, 16])
    """
    use_reentrant = kwargs.pop("use_reentrant", True)
    preserve_rng_state = kwargs.pop("preserve_rng_state", True)
    offloaded = kwargs.pop("offload_indices", ())
    if not callable(function):
        raise op_error(TypeError, "recompute", "a function or a layer", type(function).__name__)
    hooks = _offloading(args, offloaded) if offloaded else {}
    context = current()
    if context.trace:
        with tracer.current().recompute():
            return function(*args, **kwargs)
    if not context.grad_enabled:
        return function(*args, **kwargs)
    run = engine.reentrant if use_reentrant else engine.hooked
    return run(function, args, kwargs, preserve_rng_state, hooks)


def _offloading(args: tuple, indices: Iterable[int]) -> dict[int, engine.Hooks]:
    """Return the hooks, by identity, for the arguments at these places."""
    hooks: dict[int, engine.Hooks] = {}
    to = current().values.setdefault("recompute.offload", Offload())  # one file for all calls
    for i in indices:
        if not -len(args) <= i < len(args) or not isinstance(args[i], Tensor):
            got = type(args[i]).__name__ if -len(args) <= i < len(args) else f"{len(args)} arguments"
            raise op_error(ValueError, "recompute", f"a tensor as positional argument {i} of offload_indices", got)
        hooks[id(args[i])] = (to.pack, to.unpack)
    return hooks


@public("paddle.distributed.fleet.recompute paddle.incubate.distributed.fleet")
def recompute_sequential(ctx: dict[str, Any], functions: Any, *args: Any, **kwargs: Any) -> Any:
    """Run functions one after the other, in segments of which all but the last are recomputed.

    Args:
        ctx: a dict with ``"segments"`` (default 1, so that nothing is recomputed) and ``"preserve_rng_state"`` (default
            True).
        functions: a ``Sequential``, or a list of callables; each gets the result of the one before.
        *args: positional arguments of the first one.
        **kwargs: keywords of the first one.

    Returns:
        What the last function returned.

    Raises:
        ValueError: fewer than one segment, or more of them than functions.

    Example:
        >>> import paddle
        >>> from paddle.incubate.distributed.fleet import recompute_sequential
        >>> layers = [paddle.nn.Linear(3, 3) for _ in range(4)]
        >>> x = paddle.ones([2, 3])
        >>> x.stop_gradient = False
        >>> recompute_sequential({"segments": 2}, layers, x).shape
        paddle.Size([2, 3])
    """
    segments = ctx.get("segments", 1)
    preserve = ctx.get("preserve_rng_state", True)
    functions = list(functions)
    if not 1 <= segments <= len(functions):
        raise op_error(ValueError, "recompute_sequential", f"1 to {len(functions)} segments", segments)
    size = len(functions) // segments

    def chain(part: list) -> Callable[..., Any]:
        def run(*args: Any, **kwargs: Any) -> Any:
            out = part[0](*args, **kwargs)
            for f in part[1:]:
                out = f(out)
            return out

        return run

    for begin in range(0, size * (segments - 1), size):
        part = chain(functions[begin : begin + size])
        args, kwargs = (recompute(part, *args, preserve_rng_state=preserve, **kwargs),), {}
    return chain(functions[size * (segments - 1) :])(*args, **kwargs)
