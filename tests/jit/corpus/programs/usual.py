"""Layers and functions as they are usually written, with several kinds of statements at once."""

from __future__ import annotations

import collections
import math

import paddle
import paddle.nn.functional as F
from paddle import nn
from tests.jit.corpus.registry import factory, given, program


def up(t):
    return t.of([1.0, 2.0])


def down(t):
    return t.of([-1.0, -2.0])


def big(t):
    return t.of([30.0, 40.0])


class Gate(nn.Layer):
    def __init__(self):
        super().__init__()
        self.a = nn.Linear(4, 4)
        self.b = nn.Linear(4, 4)
        self.calls = 0

    def forward(self, x, mask=None, **kwargs):
        self.calls += 1
        if x.shape[0] == 0:
            return x
        if mask is not None and mask.sum() == 0:
            return x * kwargs.get("scale", 1.0)
        h = self.a(x)
        if h.mean() > 0:
            return (F.relu(h),)
        return (self.b(h),)


@factory(lambda t: given(t(2, 4)), lambda t: given(t(3, 4)), lambda t: given(t(2, 4)))
def gate_without_mask():
    net = Gate()

    def f(x):
        return net(x)[0]

    f.net = net
    return f


@factory(lambda t: t(4, 6), lambda t: t(4, 6))
def attention_with_a_running_cache():
    class Attn(nn.Layer):
        def __init__(self):
            super().__init__()
            self.q = nn.Linear(6, 6)
            self.k = nn.Linear(6, 6)
            self.cache = {}

        def forward(self, x):
            q, k = self.q(x), self.k(x)
            if "k" in self.cache:
                k = paddle.concat([self.cache["k"], k])[-4:]
            self.cache["k"] = k.detach()
            w = F.softmax(q @ k.T / math.sqrt(6.0), -1)
            if w.max() > 0.9:
                w = w * 0.5
            return w @ x

    return Attn()


@program(up, down)
def print_in_both_ways(x):
    if x.sum() > 0:
        print("positive", x.sum())
    else:
        print("negative", x.shape)
    return x * 2


@program(up, down)
def in_place_in_branches(x):
    y = x * 1
    if y.sum() > 0:
        y.add_(paddle.ones([2]))
        y[0] = 5.0
    else:
        y.scale_(2.0)
        y[1] = y[0] * 3
    return y * y


@factory(lambda t: t(4, 8), lambda t: t(4, 8), lambda t: t(4, 8))
def dropout_on_one_way():
    drop = nn.Dropout(0.5)

    def f(x):
        if x.sum() > 0:
            y = drop(x)
        else:
            y = x * 2
        return y + paddle.rand([8])

    return f


@program(up, down)
def random_in_both_ways(x):
    if x.sum() > 0:
        y = x + paddle.rand([2])
    else:
        y = x + paddle.randn([2]) + paddle.rand([2])
    return y * paddle.uniform([2])


@program(lambda t: t(4, 4), lambda t: t(4, 4), tolerance=1000.0)
def amp_in_a_branch(x):
    with paddle.amp.auto_cast(dtype="bfloat16"):
        if x.sum() > 0:
            y = x @ x
        else:
            y = (x @ x.T) * 2
    return y.astype("float32")


@factory(lambda t: t(4, 3), lambda t: t(4, 3), lambda t: t(4, 3), backward=False)
def training_step_with_a_skip():
    net = nn.Linear(3, 1)
    opt = paddle.optimizer.Adam(0.01, parameters=net.parameters())

    def f(x):
        loss = net(x).square().mean()
        loss.backward()
        norm = sum((p.grad**2).sum() for p in net.parameters()).sqrt()
        scale = paddle.clip(1.0 / (norm + 1e-6), max=1.0)
        for p in net.parameters():
            p.grad.set_value(p.grad * scale)
        opt.step()
        opt.clear_grad()
        return loss.detach(), norm

    f.net = net
    return f


class Base(nn.Layer):
    def __init__(self, k):
        super().__init__()
        self.k = k

    def pre(self, x):
        return x * self.k

    def forward(self, x):
        x = self.pre(x)
        if x.sum() > 0:
            x = self.hook(x)
        return x

    def hook(self, x):
        return x + 1


class Derived(Base):
    def pre(self, x):
        return super().pre(x) + 1

    def hook(self, x):
        y = super().hook(x)
        return y * 2 if y.max() > 3 else y


@factory(up, down, big)
def super_in_overridden_methods():
    return Derived(2.0)


@program(lambda t: t.ids(4, 5), lambda t: t.ids(4, 5))
def token_loop(ids):
    count = paddle.zeros([4])
    last = paddle.full([], -1, "int64")
    for tok in ids:
        if tok == last:
            continue
        count[tok] = count[tok] + 1
        last = tok
    return count


@program(up, down)
def counter_and_defaultdict(x):
    groups = collections.defaultdict(list)
    for i, v in enumerate([x, x * 2, x * 3]):
        groups[i % 2].append(v)
    y = sum(groups[0])
    if y.sum() > 0:
        groups["extra"] = [y]
    else:
        groups["extra"] = [y * 2]
    return groups["extra"][0] + groups[1][0]


@program(up, down, big)
def loops_nested_with_breaks(x):
    i = paddle.zeros([], "int64")
    y = x
    while i < 3:
        j = paddle.zeros([], "int64")
        while j < 3:
            j = j + 1
            if (y.abs().sum() > 100) or (j > i + 1):
                break
            y = y * 1.5
        i = i + 1
        if y.abs().sum() > 200:
            break
    return y, i, j


@program(up, down)
def operators_of_a_class(x):
    class V:
        def __init__(self, v):
            self.v = v

        def __add__(self, o):
            return V(self.v + (o.v if isinstance(o, V) else o))

        def __lt__(self, o):
            return self.v.sum() < (o.v.sum() if isinstance(o, V) else o)

        def __bool__(self):
            return bool(self.v.sum() > 0)

        def __len__(self):
            return 2

        def __getitem__(self, i):
            return self.v[i]

    a, b = V(x), V(x * 2)
    c = a + b + 1
    if a < b:
        return c.v * 2
    return c.v + a[0]
