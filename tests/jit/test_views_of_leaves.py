"""Writes to views of leaves in captured functions, as in eager mode (docs/design/views.md)."""

from __future__ import annotations

import numpy as np
import pytest

import paddle
from paddle.jit import to_static
from umiak import ops


def constant(w, x):
    v = w[0]
    v[:] = 5.0
    return w * w, v + x


def computed(w, x):
    v = w[0]
    before = w * 3.0
    v.multiply_(x)
    return before, w * v, v * v


def twice(w, x):
    v = w[0]
    v.add_(x)
    v.exp_()
    v[1] = 2.0
    return w * v


def views_of_the_view(w, x):
    v = w[0]
    u = v[1:]
    u.add_(x[1:])
    t = v[:2]
    v.multiply_(x)
    return w * 2, v * v, u * u, t * 3


def views_of_the_leaf(w, x):
    v, u, all_of_it = w[0], w[0], w.reshape([-1])
    v.multiply_(x)
    return v * 2, u * u, all_of_it * all_of_it


def in_no_grad_too(w, x):
    v = w[0]
    v.multiply_(x)
    with paddle.no_grad():
        w.add_(w)
        v.add_(x)
    return v * v, w * w


def taken_in_no_grad(w, x):
    with paddle.no_grad():
        v, u = w[0], w[1]
    v[:] = 3.0
    u[:] = x
    return v + w, u * u


def all_of_a_leaf(w, x):
    v = w.reshape([-1])
    v.multiply_(paddle.concat([x, x]))
    return v * v, w * w


def through_what_is_detached(w, x):
    _ = w * w
    w.detach()[1].add_(x)
    return w * x


def transposed(w, x):
    v = w.t()
    v[1] = x[:2]
    return v * v, w * w


FUNCTIONS = [
    constant, computed, twice, views_of_the_view, views_of_the_leaf, in_no_grad_too, taken_in_no_grad, all_of_a_leaf,
    through_what_is_detached, transposed,
]  # fmt: skip


def loss_of(results):
    results = results if isinstance(results, tuple) else (results,)
    return paddle.add_n([(r * (i + 1)).sum() for i, r in enumerate(results)])


@pytest.mark.parametrize("way", ["argument", "closure", "backward inside", "grad inside"])
@pytest.mark.parametrize("function", FUNCTIONS)
def test_views_of_leaves_are_written_to(function, way, rng):
    data = rng.uniform(0.5, 1.5, (3, 3)).astype("float64")
    found = []
    for wrap in (lambda f: f, to_static):
        w = paddle.to_tensor(data[:2], stop_gradient=False)
        x = paddle.to_tensor(data[2], stop_gradient=False)

        def closed(x, w=w):
            return function(w, x)

        def backward(w, x):
            loss = loss_of(function(w, x))
            loss.backward()
            return loss

        def gradients(w, x):
            loss = loss_of(function(w, x))
            return [loss, *paddle.grad(loss, [w, x], allow_unused=True)]

        if way == "closure":
            results = wrap(closed)(x)
        else:
            results = wrap({"backward inside": backward, "grad inside": gradients}.get(way, function))(w, x)
        if way == "grad inside":
            found.append([None if r is None else r.numpy() for r in results])
            continue
        if way != "backward inside":
            results = loss_of(results)
            results.backward()
        found.append([results.numpy(), w.numpy(), *[None if t.grad is None else t.grad.numpy() for t in (w, x)]])
    for a, b in zip(*found, strict=True):
        np.testing.assert_allclose(0 if b is None else b, 0 if a is None else a, rtol=1e-12)


def test_what_stays_refused():
    def elements_several_times(w):
        ops.broadcast_to(w, shape=(2, 3))[0] = 1.0

    def in_a_branch(w):
        def write():
            w[0] = w[1]
            return w * 1

        return paddle.static.nn.cond(w.sum() > 0, write, lambda: w * 2)

    def elements(w):
        w[0] = 1.0

    for function in (lambda w: w.add_(w), elements, elements_several_times, in_a_branch):
        with pytest.raises(RuntimeError, match="no leaf"):
            to_static(function)(paddle.ones([3]).clone().detach().requires_grad_())
