"""Gradients inside and outside: ``PyLayer``, hooks, saved tensors, recomputation, gradients of gradients."""

from __future__ import annotations

import paddle
import paddle.nn.functional as F
from paddle import nn
from paddle.autograd import PyLayer
from paddle.distributed.fleet.utils import recompute
from tests.jit.corpus.reasons import COPIES
from tests.jit.corpus.registry import driver, factory, given, program


class Doubled(PyLayer):
    """Whose gradient is not that of what it computes."""

    @staticmethod
    def forward(ctx, x, k):
        y = x * k
        ctx.save_for_backward(x)
        ctx.k = k
        return y

    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_tensor()
        return grad * 10 * ctx.k + x


class TwoOutputs(PyLayer):
    @staticmethod
    def forward(ctx, x, y):
        ctx.save_for_backward(x, y)
        return x * y, x + y

    @staticmethod
    def backward(ctx, a, b):
        x, y = ctx.saved_tensor()
        return a * y + b, a * x + b * 2


@program(lambda t: given(t(3), 2.0), lambda t: given(t(3), 3.0), lambda t: given(t(5), 2.0))
def py_layer(x, k):
    y = Doubled.apply(x * 2, k)
    return y + 1


@program(lambda t: given(t.of([1.0, 2.0]), t.of([3.0, 4.0])), lambda t: given(t.of([1.0]), t.of([1.0])))
def py_layer_of_two_outputs(x, y):
    a, b = TwoOutputs.apply(x, y)
    if a.sum() > b.sum():
        return a
    return a * b


class Printing(PyLayer):
    @staticmethod
    def forward(ctx, x):
        print("forward")
        return x * 1

    @staticmethod
    def backward(ctx, grad):
        print("backward", grad.shape)
        return paddle.clip(grad, -0.1, 0.1)


@program(lambda t: t(3), lambda t: t(2))
def py_layer_that_prints(x):
    return Printing.apply(x) * 2


@program(lambda t: t(3), lambda t: t(2))
def hook_on_an_intermediate(x):
    y = x * 2
    y.register_hook(lambda g: g * 3)
    z = y * y
    z.register_hook(lambda g: None)
    return z + y


@factory(lambda t: t(3), lambda t: t(3))
def hook_that_stores():
    seen = []

    def f(x):
        y = x.exp()
        y.register_hook(lambda g: seen.append(g.detach()))
        return y * 2

    return f


@driver(lambda t: t(3), lambda t: t(3))
def hook_on_a_parameter(capture):
    net = nn.Linear(3, 2)
    net.weight.register_hook(lambda g: g * 5)
    return capture(net)


@program(lambda t: t(3), lambda t: t(4))
def grad_inside(x):
    y = (x**3).sum()
    (g,) = paddle.grad(y, [x], create_graph=False)
    return g * x


@program(lambda t: t(3), lambda t: t(2))
def gradient_of_a_gradient(x):
    y = (x**3).sum()
    (g,) = paddle.grad(y, [x], create_graph=True)
    (h,) = paddle.grad((g * g).sum(), [x], create_graph=True)
    return y + (g * h).sum()


@driver(lambda t: t(3), lambda t: t(2), backward=False)
def gradient_of_a_captured_gradient(capture):
    @capture
    def f(x):
        return F.gelu(x) * x.sum()

    def call(x):
        (g,) = paddle.grad(f(x).sum(), [x], create_graph=True)
        (h,) = paddle.grad((g * g).sum(), [x])
        return g.detach(), h

    return call


@factory(lambda t: t(4, 3), lambda t: t(2, 3), backward=False, allowed=COPIES)
def backward_inside():
    net = nn.Linear(3, 2)

    def f(x):
        loss = (net(x) ** 2).mean()
        loss.backward()
        return loss.detach(), net.weight.grad * 2, x.grad

    f.net = net
    return f


@factory(lambda t: t(2, 3), lambda t: t(2, 3), lambda t: t(2, 3), lambda t: t(2, 3), backward=False)
def gradients_accumulated_and_cleared():
    net = nn.Linear(3, 2)
    steps = [0]

    def f(x):
        (net(x) ** 2).mean().backward()
        steps[0] += 1
        if steps[0] % 2 == 0:
            net.clear_gradients(set_to_zero=False)
        return steps[0], net.weight.grad is None

    f.net = net
    return f


@factory(lambda t: t(4, 3), lambda t: t(2, 3), lambda t: t(4, 3))
def recomputation():
    block = nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Dropout(0.5), nn.Linear(4, 3))

    def f(x):
        y = recompute(block, x)
        return recompute(lambda v: v.tanh() * 2, y) + x

    f.block = block
    return f


@program(lambda t: t(3), lambda t: t(2))
def saved_tensor_hooks(x):
    def pack(v):
        print("pack", v.shape)
        return v.detach() * 1

    def unpack(v):
        print("unpack")
        return v

    with paddle.autograd.saved_tensors_hooks(pack, unpack):
        y = x * x
    return y * 2


@program(lambda t: t(3), lambda t: t(3))
def detach_and_clone(x):
    y = x.detach() * x
    z = x.clone()
    z.add_(paddle.ones([]))
    return y + z, (x.detach() * 2).stop_gradient


@program(lambda t: given(t(3), t(3)), lambda t: given(t(2), t(2)))
def grad_with_unused_inputs(x, y):
    z = (x * 2).sum()
    gx, gy = paddle.grad(z, [x, y], allow_unused=True)
    return gx * x, gy is None


@program(lambda t: given(t(2, 2)), lambda t: given(t(3, 2)), backward=False, allowed=COPIES)
def retained_graph(x):
    y = (x * x).sum()
    y.backward(retain_graph=True)
    first = x.grad.clone()
    y.backward()
    return first, x.grad


@program(lambda t: t(3), lambda t: t(4))
def straight_through_estimator(x):
    hard = (x > 0).astype("float32")
    return x + (hard - x).detach()


@program(lambda t: given(t(3), True), lambda t: given(t(3), False))
def gradient_stopped_by_a_flag(x, stop):
    y = x * x
    if stop:
        y = y.detach()
    return y * x


@program(lambda t: t(3), lambda t: t(3), raises="RuntimeError")
def error_in_a_hook(x):
    def fail(grad):
        raise RuntimeError("in the hook")

    y = x * 2
    y.register_hook(fail)
    return y * y


@program(lambda t: t(2), lambda t: t(3))
def jacobian_by_rows(x):
    y = x * x * x.sum()
    rows = [paddle.grad(y[i], [x], retain_graph=True)[0] for i in range(x.shape[0])]
    return paddle.stack(rows)


@program(lambda t: t.of([1.0, 2.0]), lambda t: t.of([-1.0, -2.0]))
def leaf_on_one_way(x):
    y = x * 2
    if x.sum() > 0:
        y = paddle.to_tensor([1.0, 2.0], stop_gradient=False)
    return y


@program(lambda t: t.of([1.0, 2.0]), lambda t: t.of([-1.0, -2.0]))
def leaf_that_is_returned_early(x):
    if x.sum() > 0:
        y = paddle.zeros([2])
        y.stop_gradient = False
        return y
    return x * 2
