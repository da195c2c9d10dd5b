"""Gradients asked for several times in a captured function: the forward part stays what it was."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import paddle
import paddle.nn.functional as F

X = np.linspace(-1.0, 1.5, 16).reshape(1, 1, 4, 4)
LABELS = np.arange(4)

# Calls whose training form keeps more than their results, some of several operations.
CALLS: dict[str, Callable[[Any], Any]] = {
    "layer_norm": lambda x: F.layer_norm(x, [4]),
    "group_norm": lambda x: F.group_norm(x.reshape([2, 2, 4]), 1),
    "batch_norm": lambda x: F.batch_norm(
        x, paddle.zeros([1], "float64"), paddle.ones([1], "float64"), paddle.ones([1], "float64"),
        paddle.zeros([1], "float64"), training=True,
    ),
    "cross_entropy": lambda x: F.cross_entropy(x[0, 0], paddle.to_tensor(LABELS), reduction="none"),
    "logsumexp": lambda x: paddle.logsumexp(x, -1),
    "max_pool2d": lambda x: F.max_pool2d(x, 2),
    "attention": lambda x: F.scaled_dot_product_attention(x, x, x),
    "softmax": lambda x: F.softmax(x, -1),
}  # fmt: skip


@pytest.mark.parametrize("how", ["grad", "backward outside", "backward inside"])
@pytest.mark.parametrize("name", CALLS)
def test_a_gradient_leaves_what_it_is_of(name: str, how: str) -> None:
    def function(x: Any) -> list[Any]:
        y = CALLS[name](x * x + x)
        (first,) = paddle.grad((y * y).sum(), [x], retain_graph=True)
        total = (y * y * y).sum() + (first * 0.5).sum()
        if how == "grad":
            return [first, *paddle.grad(total, [x])]
        if how == "backward inside":
            total.backward()
        return [first, total]

    found = []
    for f in (function, paddle.jit.to_static(function)):
        x = paddle.to_tensor(X)
        x.stop_gradient = False
        made = f(x)
        if how == "backward outside":
            made[1].backward()
        found.append([v.numpy() for v in (*made, x.grad) if v is not None])
    assert len(found[0]) > 1
    for a, b in zip(*found, strict=True):
        np.testing.assert_allclose(b, a, rtol=1e-8, atol=1e-10)
