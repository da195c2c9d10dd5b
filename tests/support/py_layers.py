"""Functions with derivatives in Python that several tests take."""

from __future__ import annotations

from paddle.autograd import PyLayer


class Square(PyLayer):
    """Keeps its argument."""

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        assert ctx.saved_tensor()[0] is x
        return x * x

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return 2 * g * x
