"""Products of vectors with Jacobians, from either side, without the matrices."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from paddle._public import public
from paddle.autograd.run import grad
from paddle.framework.grad_mode import enable_grad
from paddle.tensor._args import create_on
from umiak import ops as F
from umiak.core.context import current
from umiak.core.tensor import Tensor
from umiak.util.errors import op_error


def separate(xs: Any, op: str) -> list[Tensor]:
    """Tensors in the place of ``xs`` that gradients are taken of; they keep the history that ``xs`` have."""
    tensors = [xs] if isinstance(xs, Tensor) else list(xs) if isinstance(xs, (list, tuple)) else []
    if not tensors or not all(isinstance(x, Tensor) for x in tensors):
        raise op_error(TypeError, op, "a Tensor or a list of them for xs", type(xs).__name__)
    out = []
    for x in tensors:
        if x.stop_gradient:
            x = x.detach()
            x.stop_gradient = False
        else:
            x = F.copy(x)
        out.append(x)
    return out


def _call(func: Callable, xs: Any, op: str) -> tuple[Any, list[Tensor], list[Tensor]]:
    """``func`` of separated ``xs``: its result, as a list too, and those tensors."""
    if not callable(func):
        raise op_error(TypeError, op, "a function", type(func).__name__)
    inputs = separate(xs, op)
    ys = func(*inputs)
    outputs = list(ys) if isinstance(ys, (list, tuple)) else [ys]
    if not all(isinstance(y, Tensor) for y in outputs):
        raise op_error(TypeError, op, "a function whose results are Tensors", type(ys).__name__)
    return ys, outputs, inputs


def vectors(v: Any, like: list[Tensor], op: str, arg_name: str = "v") -> list[Tensor]:
    """``v``, which callers know as ``arg_name``, as a list of tensors of the given shapes; ones for None."""
    if v is None:
        return [create_on(x.place, F.full, 1, x.dtype, tuple(x.shape)) for x in like]
    tensors = list(v) if isinstance(v, (list, tuple)) else [v]
    if len(tensors) != len(like):
        raise op_error(ValueError, op, f"{len(like)} tensors in {arg_name}", len(tensors))
    for i, (t, x) in enumerate(zip(tensors, like)):
        if not isinstance(t, Tensor):
            raise op_error(TypeError, op, f"a Tensor or a list of them for {arg_name}", type(t).__name__)
        if t.shape != x.shape:
            raise op_error(ValueError, op, f"{arg_name} of shape {list(x.shape)}", t.shape)
        tensors[i] = t if t.dtype is x.dtype else F.cast(t, dtype=x.dtype)
    return tensors


def zeros_for(gradient: Tensor | None, x: Tensor) -> Tensor:
    """A gradient, or the zeros that None stands for."""
    return create_on(x.place, F.full, 0, x.dtype, tuple(x.shape)) if gradient is None else gradient


def pulled(outputs: list[Tensor], inputs: list[Tensor], weights: list[Tensor], create_graph: bool) -> list[Tensor]:
    """Weights times the Jacobian of outputs: a gradient for each input."""
    live = [(y, w) for y, w in zip(outputs, weights) if not y.stop_gradient]
    products: list[Tensor | None] = [None] * len(inputs)
    if live:
        products = grad(
            [y for y, _ in live], inputs, [w for _, w in live], create_graph=create_graph, allow_unused=True
        )
    return [zeros_for(g, x) for g, x in zip(products, inputs)]


def pushed(outputs: list[Tensor], inputs: list[Tensor], tangents: list[Tensor], create_graph: bool) -> list[Tensor]:
    """The Jacobian of outputs times tangents: how each output moves with the inputs."""
    # u times the Jacobian is linear in u, whatever u is; its derivative along the tangents is what is wanted.
    live = [i for i, y in enumerate(outputs) if not y.stop_gradient]
    us = [create_on(y.place, F.full, 0, y.dtype, tuple(y.shape)) for y in (outputs[i] for i in live)]
    for u in us:
        u.stop_gradient = False
    products: list[Tensor | None] = [None] * len(us)
    if live:
        back = grad([outputs[i] for i in live], inputs, us, create_graph=True, allow_unused=True)
        used = [(g, t) for g, t in zip(back, tangents) if g is not None and not g.stop_gradient]
        if used:
            products = grad(
                [g for g, _ in used], us, [t for _, t in used], create_graph=create_graph, allow_unused=True
            )
    moved: list[Tensor | None] = [None] * len(outputs)
    for i, t in zip(live, products):
        moved[i] = t
    return [zeros_for(t, y) for t, y in zip(moved, outputs)]


def _like(values: list[Tensor], given: Any) -> Any:
    return tuple(values) if isinstance(given, (list, tuple)) else values[0]


@public("paddle.incubate.autograd")
def vjp(func: Callable, xs: Any, v: Any = None) -> tuple[Any, Any]:
    """Product of a vector with the Jacobian of a function: the gradient of the sum of ``v * func(xs)``.

    Args:
        func: takes as many tensors as there are in xs; returns a tensor or several.
        xs: a tensor or a list of them.
        v: a tensor of the shape of the result, or a list of them; None: ones.

    Returns:
        The result of func and, in the form of xs, one tensor of the shape of each. Both have a history (unless
        ``no_grad`` is on), so that the products can be nested and differentiated.

    Raises:
        TypeError: a value that is not a tensor, or not a function.
        ValueError: ``v`` does not fit the results.

    Example:
        >>> import paddle
        >>> from paddle.incubate.autograd import jvp, vjp
        >>> x = paddle.to_tensor([1.0, 2.0])
        >>> y, g = vjp(lambda x: x * x, x)
        >>> g.tolist()
        [2.0, 4.0]
        >>> jvp(lambda x: vjp(lambda x: (x * x * x).sum(), x)[1], x)[1].tolist()  # a Hessian times ones
        [6.0, 12.0]
    """
    recorded = current().grad_enabled
    with enable_grad():
        ys, outputs, inputs = _call(func, xs, "vjp")
        weights = vectors(v, outputs, "vjp")
        products = pulled(outputs, inputs, weights, recorded)
    return ys, _like(products, xs)


@public("paddle.incubate.autograd")
def jvp(func: Callable, xs: Any, v: Any = None) -> tuple[Any, Any]:
    """Product of the Jacobian of a function with a vector: how the result changes when xs move along ``v``.

    Args:
        func: takes as many tensors as there are in xs; returns a tensor or several.
        xs: a tensor or a list of them.
        v: a tensor of the shape of xs, or a list of them; None: ones.

    Returns:
        The result of func and, in its form, one tensor of the shape of each. Both have a history (unless ``no_grad`` is
        on), so that the products can be nested and differentiated.

    Raises:
        TypeError: a value that is not a tensor, or not a function.
        ValueError: ``v`` does not fit xs.

    Example:
        >>> import paddle
        >>> from paddle.incubate.autograd import jvp
        >>> y, t = jvp(lambda x: x * x, paddle.to_tensor([1.0, 2.0]))
        >>> t.tolist()
        [2.0, 4.0]
    """
    recorded = current().grad_enabled
    with enable_grad():
        ys, outputs, inputs = _call(func, xs, "jvp")
        tangents = vectors(v, inputs, "jvp")
        moved = pushed(outputs, inputs, tangents, recorded)
    return ys, _like(moved, ys)
