"""Results that take the memory of operands that die: what a later result reads is still there."""

from __future__ import annotations

import numpy as np
import pytest

import paddle
from paddle.jit import to_static


def test_gradients_that_share_a_kernel(rng):
    """One kernel stores the gradient of ``b``, then reads what two matmuls gave for that of ``a``."""

    def f(a, b):
        return paddle.matmul(a, a, transpose_y=True), paddle.minimum(a, b), paddle.logsumexp(a, 0)

    captured = to_static(f)
    for _ in range(2):
        x, y = rng.standard_normal((2, 3, 2, 1))
        found = []
        for run in (f, captured):
            a, b = (paddle.to_tensor(v, stop_gradient=False) for v in (x, y))
            sum((z * z).sum() for z in run(a, b)).backward()
            found.append((a.grad.numpy(), b.grad.numpy()))
        for eager, made in zip(*found):
            np.testing.assert_allclose(made, eager, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("order", [(0, 1, 2), (2, 1, 0), (1, 2, 0)])
def test_results_in_any_order(rng, order):
    """Each reads some of three operands that die in the kernel."""

    def f(x):
        # Matmuls, so that their results are operands of the kernel and not part of it.
        p, q, r = (paddle.matmul(x, x * k) for k in (1.0, 2.0, 3.0))
        made = (p * 2 + q, q * p - r, r + p * q)
        return tuple(made[i] for i in order)

    x = paddle.to_tensor(rng.standard_normal((4, 4)))
    for a, b in zip(to_static(f)(x), f(x), strict=True):
        np.testing.assert_allclose(a.numpy(), b.numpy(), rtol=1e-12, atol=1e-12)
