"""Objects that must die, or must not, and functions that are captured often."""

from __future__ import annotations

import gc
import weakref

import paddle
from paddle import nn
from tests.jit.corpus.reasons import KEPT, KEPT_AS_EVER
from tests.jit.corpus.registry import driver, given


class Box:
    def __init__(self, x, k=1):
        self.x, self.k = x, k


def _alive(*objects):
    """Weak references, which the caller asks after it dropped the objects."""
    return [weakref.ref(o) for o in objects]


@driver(lambda t: t(2), lambda t: t(2), lambda t: t(3))
def arguments_are_not_kept(capture):
    @capture
    def f(x, box):
        box.k += 1
        return x * box.k + box.x

    def call(x):
        box = Box(x * 2)
        refs = _alive(box)
        y = f(x, box)
        del box
        gc.collect()
        return y, [r() is None for r in refs]

    return call


@driver(lambda t: t(2, 2), lambda t: t(2, 2), differs={**KEPT, **KEPT_AS_EVER})
def layers_given_are_not_kept(capture):
    @capture
    def f(x, net):
        return net(x) * 2

    def call(x):
        net = nn.Linear(2, 2)
        refs = _alive(net)
        y = f(x, net).detach()
        del net
        gc.collect()
        return y, [r() is None for r in refs]

    return call


@driver(lambda t: t(2), lambda t: t(2))
def captured_functions_die(capture):
    def call(x):
        held = Box(x.detach(), 3)

        @capture
        def f(v):
            return v * held.k

        refs = _alive(held)
        y = f(x) + f(x)
        del f, held
        gc.collect()
        return y, [r() is None for r in refs]

    return call


@driver(lambda t: t(2, 2), lambda t: t(2, 2))
def captured_layers_die(capture):
    def call(x):
        net = nn.Sequential(nn.Linear(2, 2), nn.ReLU())
        run = capture(net)
        refs = _alive(net, net[0])
        y = run(x).detach() + run(x).detach()
        del net, run
        gc.collect()
        return y, [r() is None for r in refs]

    return call


@driver(lambda t: t(2), lambda t: t(2))
def object_behind_a_guard_dies(capture):
    state = {"box": Box(None, 2)}

    @capture
    def f(x):
        return x * state["box"].k

    def call(x):
        a = f(x)
        state["box"] = Box(None, 3)
        gc.collect()
        b = f(x)
        state["box"] = Box(None, 2)
        return a, b, f(x)

    return call


@driver(lambda t: given(t(2), 12), lambda t: given(t(2), 3))
def closures_captured_in_a_loop(capture):
    def make(k):
        @capture
        def f(x):
            return x * k if k % 2 else x + k

        return f

    return lambda x, n: [f(x) for f in [make(k) for k in range(n)]]


@driver(lambda t: given(t(2), 40), lambda t: given(t(2), 40))
def many_kinds_of_arguments(capture):
    @capture
    def f(x, name, size):
        y = x * len(name)
        return y + paddle.ones([size]).sum() if name.endswith("1") else y

    return lambda x, n: [f(x, f"name{k}", k) for k in range(n)]


@driver(lambda t: given(t(2), 9), lambda t: given(t(2), 9))
def ranks_and_sizes_of_every_kind(capture):
    @capture
    def f(x):
        return (x * 2).sum(axis=-1) + x.ndim * x.shape[-1]

    return lambda x, n: [f(paddle.ones([k % 4 + 1] * (k % 3 + 1))) for k in range(n)]
