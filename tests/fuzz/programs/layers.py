"""Functions whose gradients are written in Python; a script that shows a failure holds their text."""

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
