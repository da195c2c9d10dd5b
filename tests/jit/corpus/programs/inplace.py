"""Tensors written in place, views, and tensors that share memory."""

from __future__ import annotations

import paddle
from tests.jit.corpus.reasons import BREAKS, COPIES
from tests.jit.corpus.registry import driver, factory, given, program


@program(
    lambda t: given(t(2, 3, grad=False)), lambda t: given(t(1, 3, grad=False)), lambda t: given(t(0, 3, grad=False))
)
def argument_written_in_place(x):
    x.add_(paddle.ones([3]))
    y = x * 2
    x.scale_(0.5)
    return y


@program(lambda t: given(t(3, 3, grad=False), 1), lambda t: given(t(3, 3, grad=False), 2))
def items_assigned(x, i):
    x[0] = 1.0
    x[i, i] = x[i].sum()
    x[:, -1] = paddle.zeros([3])
    x[x > 2] = 2.0
    return x.sum()


@program(lambda t: t(3, 3), lambda t: t(2, 2))
def intermediate_written_in_place(x):
    y = x * 2
    y[0] = x[1] * 3
    y.add_(x)
    z = y.exp_()
    return z, y is z


@program(lambda t: t(4, 2), lambda t: t(2, 2))
def writes_through_a_view(x):
    y = x * 1
    row = y[0]
    row.add_(paddle.full([2], 10.0))
    half = y.reshape([-1, 4])
    half[:, 1] = 0.0
    return y, row, half


@program(lambda t: given(t(4, 2, grad=False)), lambda t: given(t(3, 2, grad=False)))
def argument_written_through_a_view(x):
    x[1].zero_()
    x.T[0].fill_(7.0)
    flat = x.flatten()
    flat[0] = -1.0
    return x * 1


@program(lambda t: given(t(3, grad=False)), lambda t: given(t(1, grad=False)), allowed=COPIES)
def view_of_an_argument_is_returned(x):
    v = x[:1]
    x.multiply_(paddle.full([], 2.0))
    return v, x


@driver(lambda t: given(t(3, grad=False)), lambda t: given(t(4, grad=False)))
def returned_view_is_written_afterwards(capture):
    @capture
    def f(x):
        x.add_(paddle.ones([]))
        return x[1:], x.reshape([1, -1])

    def call(x):
        tail, wide = f(x)
        tail.fill_(5.0)
        wide[0, 0] = 9.0
        return tail, wide

    return call


def _same_twice(t, grad=False):
    x = t(3, grad=grad)
    return x, x


@program(lambda t: _same_twice(t), lambda t: (t(3, grad=False), t(3, grad=False)), lambda t: _same_twice(t))
def same_tensor_given_twice(x, y):
    x.add_(paddle.ones([3]))
    return x * y, x is y


@program(lambda t: _same_twice(t, True), lambda t: (t(3), t(3)), lambda t: _same_twice(t, True))
def same_leaf_given_twice(x, y):
    return x * y + x


def _with_a_view(t, grad=False):
    x = t(4, grad=grad)
    return x, x[1:3]


@program(lambda t: _with_a_view(t), lambda t: (t(4, grad=False), t(2, grad=False)), lambda t: _with_a_view(t))
def view_of_an_argument_given_as_another(x, v):
    return x.sum() + v * 2, v.sum() * x


@program(
    lambda t: _with_a_view(t),
    lambda t: (t(4, grad=False), t(2, grad=False)),
    lambda t: _with_a_view(t),
    refused=BREAKS,
)
def argument_whose_view_is_given_is_written(x, v):
    x.scale_(3.0)
    y = v + 1
    v.zero_()
    return y, x * 1


@program(
    lambda t: t(3, 4, grad=False).T,
    lambda t: t(4, 3, grad=False),
    lambda t: t(8, 3, grad=False)[::2],
    lambda t: t(1, 3, grad=False).expand([4, 3]),
    refused=BREAKS,
)
def arguments_that_are_not_contiguous(x):
    return (x @ x.T).sum(axis=0), x.is_contiguous(), x.reshape([-1]) * 2


@program(lambda t: t(4, 4, grad=False).T, lambda t: t(8, 4, grad=False)[1::2])
def strided_argument_written_in_place(x):
    x.add_(paddle.full([], 1.0))
    x[0] = 0.0
    return x * 2


@factory(lambda t: t(2), lambda t: t(2), lambda t: t(2))
def buffer_in_a_closure_written_in_place():
    total = paddle.zeros([2])

    def f(x):
        total.add_(x.detach())
        return x * total

    return f


@factory(lambda t: given(t(2), 0), lambda t: given(t(2), 2), lambda t: given(t(2), 1))
def cache_written_at_an_index():
    cache = paddle.zeros([4, 2])

    def f(x, at):
        cache[at] = x.detach()
        return cache.sum(axis=0) * x, cache[: at + 1]

    return f


@program(lambda t: t(2, 3), lambda t: t(3, 3))
def views_that_chain(x):
    y = x.transpose([1, 0])[1:].unsqueeze(0).squeeze(0)
    a, b = paddle.split(y, [1, 1])
    c = y.chunk(2, axis=0)[0]
    return a * b, c, y.unbind(1)[0], x.flatten()[2:5].reshape([3, 1])


@program(lambda t: given(t(3, grad=False), t(3, grad=False)), lambda t: given(t(2, grad=False), t(2, grad=False)))
def swap_of_contents(x, y):
    saved = x.clone()
    x.copy_(y, True)
    y.set_value(saved)
    return saved


@program(lambda t: given(t(3)), lambda t: given(t(2)), raises="LeafError")
def leaf_with_a_gradient_written_in_place(x):
    y = x * 2
    x.add_(paddle.ones([]))
    return y + x


@program(lambda t: given(t(3, grad=False)), lambda t: given(t(3, grad=False)))
def leaf_written_under_no_grad(x):
    w = paddle.to_tensor([1.0, 2.0, 3.0], stop_gradient=False)
    with paddle.no_grad():
        w.subtract_(x)
        w[0] = 4.0
    return w * x, w


@program(lambda t: given(t(3, dtype="int64")), lambda t: given(t(2, dtype="int64")))
def integers_written_in_place(x):
    x += 2
    x.clip_(0, 5)
    y = x.cast("float32").log1p_()
    return y
