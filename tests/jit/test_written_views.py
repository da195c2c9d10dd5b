"""Views of arguments that a captured function writes to and returns: they share memory, as eager ones do."""

from __future__ import annotations

import numpy as np
import pytest

import paddle


def written(x):
    v = x[1:]
    v.add_(1)
    return v


def view_of_a_view(x):
    v = x[1:]
    w = v[0]
    w.add_(1)
    v.scale_(2.0)
    return v, w, x * 2


def view_of_what_was_written(x):
    v = x[1:]
    v.add_(1)
    return v[0], v


def written_later_too(x):
    v = x[1:]
    v.add_(1)
    w = x[:2]
    w.scale_(3.0)
    return v, w


def quiet(x):
    with paddle.no_grad():
        v = x[1]
        v.scale_(0.5)
    return v, v[1:]


def quiet_until_a_write(x):
    y = x * 1
    with paddle.no_grad():
        v = y[1]
    y[0:2] = x[1:] * 2
    return v, y


@pytest.mark.parametrize("leaf", [True, False], ids=["leaf", "constant"])
@pytest.mark.parametrize(
    "f", [written, view_of_a_view, view_of_what_was_written, written_later_too, quiet, quiet_until_a_write]
)
def test_views_that_were_written_to(f, leaf):
    found = []
    for run in (f, paddle.jit.to_static(f)):
        x = paddle.to_tensor(np.arange(12, dtype="float32").reshape(3, 4))
        x.stop_gradient = not leaf
        results = run(x)
        results = results if isinstance(results, tuple) else (results,)
        flags = [(v.stop_gradient, v.is_leaf, v.tolist()) for v in results]
        if leaf and not all(v.stop_gradient for v in results):
            sum((v * (i + 2)).sum() for i, v in enumerate(results)).backward()
        gradient = None if x.grad is None else x.grad.tolist()
        with paddle.no_grad():  # who shares memory sees it
            x.set_value(paddle.full([3, 4], 7.0))
            seen = [v.tolist() for v in results]
            results[0].set_value(paddle.full(results[0].shape, 5.0))
            seen += [x.tolist(), *(v.tolist() for v in results)]
        found.append((flags, gradient, seen))
    assert found[0] == found[1]
