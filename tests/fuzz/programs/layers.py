"""Functions whose gradients are written in Python, and hooks; a script that shows a failure holds this text."""

from __future__ import annotations

from typing import Any

import paddle
from paddle.autograd import PyLayer


class Layered(PyLayer):
    """A scaled product, and the hyperbolic tangent of the first operand."""

    @staticmethod
    def forward(ctx: Any, x: Any, y: Any, scale: float) -> Any:
        ctx.scale = scale
        t = paddle.tanh(x)
        ctx.save_for_backward(x, y, t)
        return x * y * scale, t

    @staticmethod
    def backward(ctx: Any, g: Any, h: Any) -> Any:
        x, y, t = ctx.saved_tensor()
        to_x = g * y * ctx.scale + h * (1.0 - t * t)
        return to_x.astype(x.dtype), (g * x * ctx.scale).astype(y.dtype)  # operands of two dtypes: mixed precision


# How the gradient that a hook or a layer gets is written to, and what is given back.
WRITES = ("whole", "returned", "rows", "view", "transposed", "new")


def write(g: Any, scale: float, how: str) -> Any:
    """Scale a gradient, or every second row of it, in place; None in place of the gradient leaves it as it is then."""
    if how == "transposed":
        g.transpose(list(range(g.ndim))[::-1]).scale_(scale)
    elif how == "rows" and g.ndim:
        g[::2] = g[::2] * scale
    elif how == "view" and g.ndim:
        g[::2].scale_(scale)
    else:
        g.scale_(scale)
    return g * 1.0 if how == "new" else g if how in ("returned", "view") else None


def written_hook(x: Any, scale: float, how: str) -> None:
    x.register_hook(lambda g: write(g, scale, how))


class Writing(PyLayer):
    """Copies of two tensors, whose gradients are those of the results, written to."""

    @staticmethod
    def forward(ctx: Any, x: Any, y: Any, scale: float, how: str) -> Any:
        ctx.scale, ctx.how = scale, how
        return x.clone(), y.clone()

    @staticmethod
    def backward(ctx: Any, g: Any, h: Any) -> Any:
        write(g, ctx.scale, ctx.how)
        write(h, ctx.scale, ctx.how)
        return g, h


class WritingSum(PyLayer):
    """A sum; one tensor is the gradient of both operands."""

    @staticmethod
    def forward(ctx: Any, x: Any, y: Any, scale: float, how: str) -> Any:
        ctx.scale, ctx.how, ctx.dtypes = scale, how, (x.dtype, y.dtype)
        return x + y

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        write(g, ctx.scale, ctx.how)
        return tuple(g if dtype == g.dtype else g.astype(dtype) for dtype in ctx.dtypes)
