"""Hooks that change Python state, hooks of saved tensors: they are called as often as in eager calls."""

from __future__ import annotations

import contextlib

import paddle
import paddle.nn.functional as F
from paddle import nn
from paddle.autograd import PyLayer, saved_tensors_hooks
from tests.jit.corpus.registry import driver, factory, given, program


@factory(lambda t: t(4, 3), lambda t: t(2, 3), lambda t: t(4, 3))
def layers_whose_activations_are_packed():
    blocks = nn.LayerList([nn.Linear(3, 3) for _ in range(3)])
    kept = {}

    def pack(v):
        kept[len(kept)] = v.numpy().copy()
        return len(kept) - 1

    def unpack(n):
        return paddle.to_tensor(kept[n])

    def f(x):
        x = x + 1
        for block in blocks:
            with saved_tensors_hooks(pack, unpack):
                x = F.gelu(block(x))
        return x.sum()

    f.blocks, f.kept = blocks, kept
    return f


class Compressed(saved_tensors_hooks):
    def __init__(self, factor):
        self.factor, self.calls = factor, 0
        super().__init__(self.pack, self.unpack)

    def pack(self, v):
        self.calls += 1
        return v / self.factor

    def unpack(self, v):
        return v * self.factor


@program(lambda t: given(t(3), 2.0), lambda t: given(t(2), 4.0))
def hooks_in_a_class_of_ones_own(x, factor):
    hooks = Compressed(factor)
    with hooks:
        y = x * x
    z = y + hooks.calls
    return z, hooks.calls


@program(lambda t: t.of([1.0, 2.0]), lambda t: t.of([-1.0, -2.0]))
def saved_hooks_in_a_branch_on_data(x):
    if x.sum() > 0:
        with saved_tensors_hooks(lambda v: v.detach() * 1, lambda v: v * 2):
            y = x * x
    else:
        y = x * 3
    return y * 2


@program(lambda t: given(t(2), True), lambda t: given(t(2), False))
def saved_hooks_in_a_known_branch(x, packs):
    y = x.exp()
    if packs:
        with saved_tensors_hooks(lambda v: v.detach() * 1, lambda v: v * 2):
            y = y * x
    else:
        y = y * 3
    if y.sum() > 0:
        y = y * 2
    return y


@program(lambda t: t(3), lambda t: t(2))
def return_among_saved_hooks(x):
    y = x.sin()
    with saved_tensors_hooks(lambda v: v.detach() * 1, lambda v: v * 2):
        if y.sum() > 0:
            return y * y
        y = y * x
    return y * y


@program(lambda t: t(3), lambda t: t(2))
def nested_saved_hooks(x):
    order = []
    with saved_tensors_hooks(lambda v: order.append("outer") or v * 1, lambda v: v * 2):
        y = x * x
        with saved_tensors_hooks(lambda v: order.append("inner") or v * 1, lambda v: v * 3):
            z = y * x
        w = z * y
    return w * x, order


def _packed_product(x, y):
    with saved_tensors_hooks(lambda v: v.detach() * 1, lambda v: v * 2):
        return x * y


class Kept(PyLayer):
    @staticmethod
    def forward(ctx, x):
        y = x.exp()
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx, g):
        (y,) = ctx.saved_tensor()
        return g * y


@program(lambda t: t(3), lambda t: t(2))
def py_layer_among_saved_hooks(x):
    x = x * 1
    with saved_tensors_hooks(lambda v: v.detach() * 1, lambda v: v * 2):
        y = Kept.apply(x)
    return y + x


@program(lambda t: t(3), lambda t: t(2), backward=False)
def backward_of_packed_tensors(x):
    log = []

    def pack(v):
        log.append("pack")
        return v * 1

    def unpack(v):
        log.append("unpack")
        return v * 2

    y = x + 0
    with saved_tensors_hooks(pack, unpack):
        z = (x * x).sum()
    z.backward()
    return x.grad * 1, log, y.detach()


@factory(lambda t: t(3), lambda t: t(3), lambda t: t(2))
def hook_that_counts():
    class Counter:
        def __init__(self):
            self.calls, self.norms = 0, []

        def __call__(self, grad):
            self.calls += 1
            self.norms.append(float(grad.norm()))
            if self.calls % 2:
                return grad * 2

    counter = Counter()

    def f(x):
        h = x.exp()
        h.register_hook(counter)
        out = (h * x).sin()
        return out, counter.calls

    f.counter = counter
    return f


@program(lambda t: t(3), lambda t: t(2), backward=False)
def hooks_in_the_order_of_backward(x):
    order = []
    a = x * 2
    a.register_hook(lambda g: order.append("a"))
    b = a.exp()
    b.register_hook(lambda g: order.append("b"))
    c = b * a
    c.register_hook(lambda g: order.append("c") or g * 3)
    c.sum().backward()
    return order, x.grad * 1


@factory(lambda t: t(2, 3), lambda t: t(2, 3), lambda t: t(2, 3), backward=False)
def step_that_watches_gradients():
    net = nn.Linear(3, 2)
    opt = paddle.optimizer.SGD(0.1, parameters=net.parameters())
    norms = []

    def f(x):
        h = net(x)
        h.register_hook(lambda g: norms.append(float(g.abs().max())))
        loss = (h**2).mean()
        loss.backward()
        opt.step()
        opt.clear_grad()
        return loss.detach(), len(norms)

    f.net, f.norms = net, norms
    return f


@factory(lambda t: t.of([1.0, 2.0]), lambda t: t.of([-1.0, 2.5]), lambda t: t.of([-4.0, 2.5]))
def hook_that_counts_on_one_way():
    seen = []

    def f(x):
        y = x * 2
        if x.sum() > 0:
            y = y * y
            y.register_hook(lambda g: seen.append(g.tolist()))
        return y.tanh(), len(seen)

    f.seen = seen
    return f


@factory(lambda t: t(3), lambda t: t(2))
def hook_removed_inside():
    seen = []

    def f(x):
        y = x * 2
        handle = y.register_hook(lambda g: seen.append(1))
        z = y * y
        handle.remove()
        return z

    f.seen = seen
    return f


class Logged(PyLayer):
    log = []

    @staticmethod
    def forward(ctx, x, k):
        Logged.log.append("forward")
        ctx.k = k
        return x * k

    @staticmethod
    def backward(ctx, g):
        Logged.log.append("backward")
        return g * ctx.k


@program(lambda t: given(t(3), 2), lambda t: given(t(2), 3))
def py_layer_that_logs(x, k):
    Logged.log.clear()
    y = x.exp()
    z = Logged.apply(y, k)
    return z * y, list(Logged.log)


@program(lambda t: t(3), lambda t: t(2))
def grad_among_saved_hooks(x):
    with saved_tensors_hooks(lambda v: v.detach() * 1, lambda v: v * 2):
        y = (x**3).sum()
        (g,) = paddle.grad(y, [x], create_graph=True)
    return (g * x).sum()


@program(lambda t: t(3), lambda t: t(2))
def error_in_pack_caught(x):
    def pack(v):
        raise KeyError("pack")

    y = x * 2
    try:
        with saved_tensors_hooks(pack, lambda v: v):
            y = y * y
    except KeyError as error:
        y = y + 1
    if y.sum() > 0:
        y = y * 2
    return y


@program(lambda t: given(t(3), True), lambda t: given(t(3), False), lambda t: given(t(3), True))
def saved_hooks_by_an_exit_stack(x, packs):
    y = x.exp()
    with contextlib.ExitStack() as stack:
        if packs:
            stack.enter_context(saved_tensors_hooks(lambda v: v.detach() * 1, lambda v: v * 2))
        y = y * x
    return y


@factory(lambda t: t(4, 3), lambda t: t(4, 3), backward=False)
def offloaded_training_step():
    net = nn.Sequential(nn.Linear(3, 8), nn.ReLU(), nn.Linear(8, 1))
    opt = paddle.optimizer.AdamW(0.01, parameters=net.parameters())

    def f(x):
        with saved_tensors_hooks(lambda v: v.numpy().copy(), paddle.to_tensor):
            loss = net(x).square().mean()
        loss.backward()
        opt.step()
        opt.clear_grad()
        return float(loss)

    f.net = net
    return f


@driver(lambda t: t(2, 3), lambda t: t(2, 3), lambda t: t(2, 3))
def layer_hook_removed_inside(capture):
    net = nn.Linear(3, 3)
    seen = []
    handles = []

    @capture
    def f(x, k):
        if k == 1:
            handles[0].remove()
        return net(x) * 2

    calls = [0]

    def call(x):
        if calls[0] % 3 == 0:
            handles[:] = [net.register_forward_post_hook(lambda layer, i, o: o * 5)]
        k = calls[0] % 3
        calls[0] += 1
        return f(x, k)

    return call
