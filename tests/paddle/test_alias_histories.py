"""Views taken before a write have the history of what was written, whichever side wants gradients."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import torch

import paddle
from umiak import ops

SHAPE = (2, 3, 4)

# Views of a base as lists, each with the same for PyTorch, which does not let what unbind gives be written.
VIEWS = {
    "whole index": (lambda x: [x[:]], lambda x: [x[:]]),
    "range": (lambda x: [x[:, 1:], x[..., :3:2]], lambda x: [x[:, 1:], x[..., :3:2]]),
    "number": (lambda x: [x[1], x[:, -1]], lambda x: [x[1], x[:, -1]]),
    "new dim": (lambda x: [x[None, :, 1]], lambda x: [x[None, :, 1]]),
    "unbind": (lambda x: paddle.unbind(x, 1), lambda x: [x.select(1, i) for i in range(3)]),
    "unbind, last": (lambda x: x.unbind(-1)[1:3], lambda x: [x.select(2, i) for i in (1, 2)]),
    "reshape": (lambda x: [x.reshape([6, 4])], lambda x: [x.view(6, 4)]),
    "flatten": (lambda x: [x.flatten(1)], lambda x: [x.view(2, 12)]),
    "transpose": (lambda x: [x.transpose([2, 0, 1])], lambda x: [x.permute(2, 0, 1)]),
    "moveaxis": (lambda x: [paddle.moveaxis(x, 0, 2)], lambda x: [x.movedim(0, 2)]),
    "unsqueeze": (lambda x: [x.unsqueeze(1)], lambda x: [x.unsqueeze(1)]),
    "squeeze": (lambda x: [x[:, :1].squeeze(1)], lambda x: [x[:, :1].squeeze(1)]),
    "diagonal": (lambda x: [paddle.diagonal(x, 1, 1, 2)], lambda x: [x.diagonal(1, 1, 2)]),
    "repeated": (lambda x: [ops.broadcast_to(x[:, :1], shape=SHAPE)], lambda x: [x[:, :1].expand(SHAPE)]),
    "view of unbind": (lambda x: [p[:, 1:] for p in x.unbind(1)], lambda x: [x.select(1, i)[:, 1:] for i in range(3)]),
    "unbind of a view": (lambda x: x[:, 1:].unbind(0), lambda x: [x[i, 1:] for i in range(2)]),
}  # fmt: skip


def _set(x, index, value):
    x[index] = value


# What is done to base and value.
WRITES = {
    "copy_": (lambda x, b: x.copy_(b),) * 2,
    "copy_ of a number": (lambda x, b: x.copy_(b[0, 1, 2]),) * 2,
    "copy_ of parts in turn": (
        lambda x, b: [x.copy_(p) for p in paddle.split(paddle.concat([b, b * b]), 2)],
        lambda x, b: [x.copy_(p) for p in (b, b * b)],
    ),
    "setitem": (lambda x, b: _set(x, slice(None), b),) * 2,
    "setitem of a part": (lambda x, b: _set(x, (1, slice(1, 3)), b[0, 1:]),) * 2,
    "setitem by indices": (
        lambda x, b: _set(x, (slice(None), paddle.to_tensor([2, 0])), b[:, :2]),
        lambda x, b: _set(x, (slice(None), torch.tensor([2, 0])), b[:, :2]),
    ),
    "multiply_": (lambda x, b: x.multiply_(b), lambda x, b: x.mul_(b)),
    "add_": (lambda x, b: x.add_(b),) * 2,
    "sin_, add_": (lambda x, b: x.sin_().add_(b),) * 2,
    "fill_, add_": (lambda x, b: x.fill_(0.5).add_(b),) * 2,
    "fill_ of a part": (lambda x, b: (x[:, 0].fill_(0.5), x[:, 1].add_(b[:, 0])),) * 2,
    "another view": (lambda x, b: x[0, 1:].copy_(b[0, 1:]),) * 2,
    "a part of unbind": (
        lambda x, b: paddle.unbind(x, 2)[1].copy_(b[..., 3]),
        lambda x, b: x.select(2, 1).copy_(b[..., 3]),
    ),
    "transposed": (
        lambda x, b: x.transpose([1, 0, 2]).multiply_(b.transpose([1, 0, 2])),
        lambda x, b: x.transpose(0, 1).mul_(b.transpose(0, 1)),
    ),
    "twice": (lambda x, b: (x.copy_(b), x[1].multiply_(b[0])), lambda x, b: (x.copy_(b), x[1].mul_(b[0]))),
}  # fmt: skip

# Whether base and value want gradients, and whether they are leaves. A leaf that does is not written to.
SIDES = [
    (base, value)
    for base, value in itertools.product(["constant", "constant, no leaf", "made"], ["constant", "leaf", "made"])
    if (value != "constant") or base == "made"
]

RNG = np.random.default_rng(11)
ARRAYS = [RNG.uniform(0.3, 1.2, SHAPE) for _ in range(3)]


def program(view, write, base, value):
    """A function of a constant and two leaves: it takes views, writes, and returns them with the base."""

    def run(a, x, b):
        y = {"constant": a, "constant, no leaf": a * 1.0, "made": x * 1.5}[base]
        z = {"constant": b.detach() * 1.0, "leaf": b, "made": b * b}[value]
        views = view(y)
        write(y, z)
        return [*views, y]

    return run


def judged(view, write, base, value):
    """Outputs and gradients by PyTorch."""
    a, x, b = (torch.tensor(v, requires_grad=i > 0) for i, v in enumerate(ARRAYS))
    outputs = program(view, write, base, value)(a, x, b)
    loss = sum((k + 1) * (y * y).sum() for k, y in enumerate(outputs))
    grads = torch.autograd.grad(loss, [x, b], allow_unused=True)
    return [y.detach().numpy() for y in outputs], grads


def compare(function, view, write, base, value):
    a, x, b = (paddle.to_tensor(v, stop_gradient=i == 0) for i, v in enumerate(ARRAYS))
    outputs = function(a, x, b)
    # Asked before any op meets the views.
    open_ends = [not y.stop_gradient for y in outputs]
    leaves = [y.is_leaf for y in outputs]
    assert leaves == [not o for o in open_ends]
    expected, grads = judged(view[1], write[1], base, value)
    for y, e in zip(outputs, expected, strict=True):
        np.testing.assert_allclose(y.numpy(), e, rtol=1e-12)
    terms = [(k + 1) * (y * y).sum() for k, y in enumerate(outputs) if open_ends[k]]
    if terms:
        paddle.add_n(terms).backward()
    for t, e in zip((x, b), grads, strict=True):
        found = np.zeros(SHAPE) if t.grad is None else t.grad.numpy()
        np.testing.assert_allclose(found, np.zeros(SHAPE) if e is None else e.numpy(), rtol=1e-12, atol=1e-15)


@pytest.mark.parametrize("view", VIEWS)
def test_views_taken_before_a_write(view):
    for write, (base, value) in itertools.product(WRITES, SIDES):
        case = VIEWS[view], WRITES[write], base, value
        try:
            compare(program(case[0][0], case[1][0], base, value), *case)
        except Exception as error:
            raise AssertionError(f"{write}, base {base}, value {value}") from error


def captured(view, write, base, value):
    case = VIEWS[view], WRITES[write], base, value
    compare(paddle.jit.to_static(program(case[0][0], case[1][0], base, value)), *case)


@pytest.mark.parametrize("view", ["range", "unbind", "repeated"])
@pytest.mark.parametrize("write", ["copy_", "setitem of a part"])
@pytest.mark.parametrize(("base", "value"), [("constant", "leaf"), ("made", "made")])
def test_captured_views_taken_before_a_write(view, write, base, value):
    captured(view, write, base, value)


@pytest.mark.slow
@pytest.mark.parametrize("view", VIEWS)
@pytest.mark.parametrize("write", WRITES)
def test_all_captured_views_taken_before_a_write(view, write):
    for base, value in SIDES:
        captured(view, write, base, value)


# --- what else asks a view for its history ---------------------------------------------------------------------------


def written():
    """A view of a constant to which a leaf was written after, and the leaf."""
    a, b = paddle.zeros([3]), paddle.to_tensor([1.0, 2.0, 3.0], stop_gradient=False)
    view = a[1:]
    a.copy_(b)
    return view, b


class Doubled(paddle.autograd.PyLayer):
    @staticmethod
    def forward(ctx, x):
        return x * 2.0

    @staticmethod
    def backward(ctx, g):
        return g * 2.0


USES = {
    "hook": lambda v: (v.register_hook(lambda g: g * 2.0), v)[1],
    "PyLayer": Doubled.apply,
    "unbind": lambda v: paddle.stack(v.unbind(0)) * 2.0,
    "captured": paddle.jit.to_static(lambda v: v * 2.0),
    "recompute": lambda v: paddle.distributed.fleet.utils.recompute(lambda x: x * 2.0, v),
}


@pytest.mark.parametrize("use", USES)
def test_a_use_of_what_lags(use):
    view, b = written()
    USES[use](view).sum().backward()
    np.testing.assert_array_equal(b.grad.numpy(), [0, 2, 2])


@pytest.mark.parametrize("captured", [False, True])
def test_what_is_set_of_a_view_that_lags_stays(captured):
    def cut(a, b):
        view = a[1:]
        a.copy_(b)
        view.stop_gradient = True
        return view, view * 1.0, a[:1] * 2.0

    a, b = paddle.zeros([3]), paddle.ones([3])
    b.stop_gradient = False
    view, product, rest = (paddle.jit.to_static(cut) if captured else cut)(a, b)
    assert view.stop_gradient
    assert product.stop_gradient
    (rest.sum() + product.sum()).backward()
    np.testing.assert_array_equal(b.grad.numpy(), [2, 0, 0])


def test_retained_gradients_of_a_view_of_what_is_written():
    x = paddle.ones([3])
    x.stop_gradient = False
    y = x * 2.0
    view = y[1:]
    view.retain_grads()
    y.multiply_(paddle.full([3], 3.0))
    (view * 5.0).sum().backward()
    np.testing.assert_array_equal(view.grad.numpy(), [5, 5])
    np.testing.assert_array_equal(x.grad.numpy(), [0, 30, 30])


def test_a_constant_over_what_retains_its_gradient():
    x = paddle.ones([3])
    x.stop_gradient = False
    y = x * 2.0
    y.retain_grads()
    y.copy_(paddle.zeros([3]))
    assert not y.stop_gradient
    y.add_(x)
    y.sum().backward()
    np.testing.assert_array_equal(y.grad.numpy(), [1, 1, 1])


CONSTANTS = {
    "zero_": lambda y: y.zero_(), "fill_": lambda y: y.fill_(2.0), "copy_": lambda y: y.copy_(paddle.ones([3])),
    "assign": lambda y: paddle.assign(paddle.ones([3]), y), "setitem": lambda y: y.__setitem__(slice(None), 1.0),
    "uniform_": lambda y: y.uniform_(), "normal_": lambda y: y.normal_(), "view": lambda y: y[::-1].zero_(),
}  # fmt: skip


@pytest.mark.parametrize("captured", [False, True], ids=["eager", "captured"])
@pytest.mark.parametrize("write", CONSTANTS)
def test_what_is_all_overwritten_has_a_gradient_of_zeros(write, captured):
    """As in the reference, a tensor with a history that is written over by constants still has one."""

    def run(x, w):
        y = x * w
        CONSTANTS[write](y)
        (g,) = paddle.grad([y.sum()], [x], retain_graph=True)
        return y, y + w + g

    x, w = (paddle.to_tensor([1.0, 2.0, 3.0], stop_gradient=False) for _ in range(2))
    y, z = (paddle.jit.to_static(run) if captured else run)(x, w)
    assert not y.stop_gradient
    (y * z).sum().backward()
    np.testing.assert_array_equal(w.grad.numpy(), y.numpy())
    assert x.grad is None or not x.grad.numpy().any()


@pytest.mark.parametrize("change", ["reshape_", "transpose_", "unsqueeze_"])
def test_shapes_of_what_has_no_elements_are_those_of_the_call(change):
    args = {"reshape_": [[-1]], "transpose_": [[1, 0]], "unsqueeze_": [0]}[change]
    x = paddle.zeros([2, 0])
    x.stop_gradient = False
    y = x * 2.0
    z = y**2
    getattr(y, change)(*args)
    y[::-1] = 0.5
    y.zero_()
    z.sum().backward()
    assert x.grad.shape == [2, 0]


def test_a_view_that_lags_among_no_grad_vars():
    view, b = written()
    (g,) = paddle.grad([view.sum() + b.sum()], [b], no_grad_vars=[view])
    np.testing.assert_array_equal(g.numpy(), [1, 1, 1])


# --- captured: writes to arguments, detached aliases -----------------------------------------------------------------


def test_an_argument_that_got_a_history_is_no_leaf():
    def f(a, b):
        a.copy_(b)
        a.copy_(b * b)
        (a * 2.0).sum().backward()
        return a.is_leaf

    for function in (f, paddle.jit.to_static(f)):
        a, b = paddle.zeros([2]), paddle.to_tensor([3.0, 4.0], stop_gradient=False)
        assert not function(a, b)
        assert a.grad is None
        np.testing.assert_array_equal(b.grad.numpy(), [12, 16])
        np.testing.assert_array_equal(a.numpy(), [9, 16])


def test_what_holds_the_value_of_an_argument_is_not_the_argument():
    def f(a, b):
        a.copy_(b)
        return a, b

    a, b = paddle.zeros([2]), paddle.to_tensor([3.0, 4.0], stop_gradient=False)
    y, same = paddle.jit.to_static(f)(a, b)
    assert same is b
    assert not y.is_leaf
    y.multiply_(y)
    np.testing.assert_array_equal(b.numpy(), [3, 4])
    y.sum().backward()
    np.testing.assert_array_equal(b.grad.numpy(), [6, 8])


@pytest.mark.parametrize("whole", [True, False])
def test_detached_aliases_share_no_history(whole):
    def read(b):
        y = b * 1.0
        d = y.detach()
        y.copy_(b * 3.0)
        return d * b

    def write(b):
        y = b * 1.0
        d = y.detach() if whole else y.detach()[:]
        d.copy_(b * 3.0)
        return y * 2.0 + d

    for function, gradient in ((read, [9, 12]), (write, [5, 5])):
        for g in (function, paddle.jit.to_static(function)):
            b = paddle.to_tensor([3.0, 4.0], stop_gradient=False)
            g(b).sum().backward()
            np.testing.assert_array_equal(b.grad.numpy(), gradient)


def test_no_elements_share_no_memory():
    def run(x):
        y = x.expand([2, 3, x.shape[1]])
        y.exp_()
        return y

    x = paddle.zeros([3, 0])
    assert run(x).shape == paddle.jit.to_static(run)(x).shape == [2, 3, 0]


@pytest.mark.parametrize("whole", [None, False, True])
def test_copies_leave_a_frozen_parameter_frozen(whole):
    """As in PaddlePaddle: a network that follows another one, outside of no_grad, is no function of it."""
    learner, follower = (paddle.nn.Linear(2, 2, bias_attr=False) for _ in range(2))
    follower.weight.stop_gradient = True
    x = paddle.to_tensor([[1.0, 2.0]])

    def step():
        follower.weight.copy_(learner.weight * 2.0)
        return (learner(x) * follower(x)).sum()

    function = step if whole is None else paddle.jit.to_static(step, full_graph=whole)
    for _ in range(3):
        learner.clear_gradients()
        function().backward()
        w = follower.weight
        assert w.stop_gradient and w.is_leaf and w.grad is None
        np.testing.assert_array_equal(w.numpy(), 2 * learner.weight.numpy())
        np.testing.assert_allclose(learner.weight.grad.numpy(), x.numpy().T @ follower(x).numpy(), rtol=1e-6)
