"""Operators that users bring: a call's time above that of its function."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from measure import Settings, Side, compare
from rows import Outcome, add_row, add_section, duration, with_spread

import paddle

SECTION = add_section("custom-operators", "Operators of users, beside their functions", figure="above the function")


def _sum(x: paddle.Tensor, y: paddle.Tensor) -> paddle.Tensor:
    return paddle.add(x, y)


def _scaled(x: paddle.Tensor, k: int, s: float) -> paddle.Tensor:
    return paddle.add(x, s)


def operator(name: str, function: Callable[..., Any]) -> Any:
    """The function as an operator with rules for shapes and gradients."""
    if paddle.library.PYTHON_OP_REGISTRY.has_operator(name):
        return paddle.library.PYTHON_OP_REGISTRY.get_operator(name)
    made = paddle.library.custom_op(name, function, mutates_args=())
    made.register_fake(lambda x, *_: paddle.empty_like(x))
    made.register_autograd(
        lambda ctx, grad: (grad, grad), setup_context=lambda ctx, inputs, output: ctx.save_for_backward(*inputs[:2])
    )
    return made


def above(name: str, what: str, seconds: float, function: Callable[..., Any], args: str, leaf: bool = False) -> None:
    """A row: calls may take so long beside their function, which is called without a gradient."""

    def measure(settings: Settings) -> Outcome:
        names: dict[str, Any] = {"x": paddle.ones([8, 8]), "y": paddle.ones([8, 8])}
        bare = {**names, "f": function}
        if leaf:
            names = {**names, "x": paddle.to_tensor(names["x"], stop_gradient=False)}
        names["f"] = operator(f"benchmark::{function.__name__}", function)
        c = compare(Side(f"f({args})", names), Side(f"f({args})", bare), settings)
        extra = c.ours.median - c.other.median
        return Outcome(with_spread(c.ours), with_spread(c.other), duration(max(extra, 0.0)), extra <= seconds)

    add_row(name, what, f"≤ {seconds * 1e6:g} µs above", measure, SECTION)


above("custom-op", "two tensors, no gradient (PyTorch's: 8.4 µs above)", 2e-6, _sum, "x, y")
above("custom-op-numbers", "a tensor, an int and a float, no gradient", 2e-6, _scaled, "x, 2, 0.5")
above(
    "custom-op-grad",
    "two tensors that are saved for a gradient (PyTorch's: 14 µs above)",
    3.5e-6,
    _sum,
    "x, y",
    leaf=True,
)
