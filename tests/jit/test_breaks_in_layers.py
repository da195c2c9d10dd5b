"""Graph breaks inside of layers and of functions that the library calls: nothing of the user's is traced unseen."""

from __future__ import annotations

import heapq

import numpy as np
import pytest

import paddle
import paddle.nn.functional as F
from paddle import nn
from paddle.distributed.fleet.utils import recompute
from paddle.incubate.distributed.fleet import recompute_sequential

CALLS: list[int] = []


def counted() -> int:
    """How often it was called; a function in C that no capture knows counts."""
    heapq.heappush(CALLS, len(CALLS))
    return len(CALLS)


class Counted(nn.Layer):
    def forward(self, x):
        return x * counted()


class Branch(nn.Layer):
    """Breaks the graph between two operations."""

    def __init__(self):
        super().__init__()
        self.first, self.second = nn.Linear(2, 2), nn.Linear(2, 2)
        self.seen = []

    def forward(self, x, *, scale=1.0):
        x = self.first(x).tanh()
        if x.sum() > 0:
            x = x * 2
        self.seen.append(scale)
        return self.second(x).abs() * scale


class By(nn.Layer):
    """Calls an inner layer in its own way, between two operations."""

    def __init__(self, inner, call):
        super().__init__()
        self.inner, self.call = inner, call

    def forward(self, x):
        return self.call(self.inner, x.exp()).sin()


def chained(inner):
    return nn.Sequential(nn.Linear(2, 2), inner, nn.Linear(2, 2))


def hooked(inner):
    inner.register_forward_pre_hook(lambda _, given: (given[0] * 2,))
    inner.register_forward_post_hook(lambda _, given, result: result + given[0].sum(), always_call=True)
    return inner


def listed(inner):
    return nn.LayerList([inner, nn.Linear(2, 2)])


def in_turn(layers, x):
    for layer in layers:
        x = layer(x)
    return x


CASES = {
    "called": (lambda inner: inner, lambda inner, x: inner(x)),
    "with keywords": (lambda inner: inner, lambda inner, x: inner(x, scale=3.0)),
    "in a sequence": (chained, lambda inner, x: inner(x)),
    "in a sequence in a sequence": (lambda inner: chained(chained(inner)), lambda inner, x: inner(x)),
    "with hooks": (hooked, lambda inner, x: inner(x)),
    "in a list": (listed, in_turn),
}


@pytest.mark.parametrize("name", CASES)
def test_the_rest_of_every_frame_is_captured(name, rng):
    prepare, call = CASES[name]
    branch = Branch()
    model = By(prepare(branch), call)
    captured = paddle.jit.to_static(lambda x: model(x))
    for i in range(2):
        x = paddle.to_tensor(rng.standard_normal((1, 2)).astype("float32"), stop_gradient=False)
        found = []
        for f in (model, captured):
            x.clear_gradient(False)
            f(x).sum().backward()
            found.append((f(x).numpy(), x.grad.numpy()))
        for expected, got in zip(*found, strict=True):
            np.testing.assert_allclose(got, expected, rtol=1e-5, atol=1e-6)
        assert len(branch.seen) == 4 * (i + 1)
    assert captured.fallbacks == [] and {b.partition(" (")[0] for b in captured.graph_breaks} == {
        "a branch depends on the data of a tensor"
    }
    pieces = [{o.name for o in c.program.ops} for c in captured._captures()]
    assert any({"exp", "tanh"} <= p for p in pieces) and {"abs", "sin"} <= set.union(*pieces)


def distance(a, b):
    return (a - b).abs().sum(-1) * counted()


def without_recording(x):
    @paddle.no_grad()
    def inner(t):
        return t * counted()

    return inner(x)


COUNTED = Counted()
CALLERS = {
    "layer": COUNTED,
    "sequence": nn.Sequential(COUNTED),
    "parallel": paddle.DataParallel(nn.Sequential(nn.Linear(1, 1), COUNTED)),
    "recompute": lambda x: recompute(COUNTED, x),
    "recompute a function": lambda x: recompute(lambda t: t * counted(), x),
    "recompute in segments": lambda x: recompute_sequential({"segments": 1}, nn.Sequential(COUNTED), x),
    "cond": lambda x: paddle.static.nn.cond(x.sum() > 0, lambda: x * counted(), lambda: x),
    "case": lambda x: paddle.static.nn.case([(x.sum() > 0, lambda: x * counted())], lambda: x),
    "switch_case": lambda x: paddle.static.nn.switch_case(
        paddle.to_tensor(1), {1: lambda: x * counted(), 2: lambda: x}
    ),
    "while_loop": lambda x: paddle.static.nn.while_loop(
        lambda i: i < 1, lambda i: [i + counted()], [paddle.zeros([1])]
    )[0],
    "map_structure": lambda x: paddle.utils.map_structure(lambda t: t * counted(), [x])[0],
    "vjp": lambda x: paddle.incubate.autograd.vjp(lambda t: t * counted(), x)[0],
    "Jacobian": lambda x: paddle.incubate.autograd.Jacobian(lambda t: t * counted(), x)[:],
    "apply": lambda x: x.apply(lambda t: t * counted()),
    "no_grad": without_recording,
    "distance": lambda x: 100 - F.triplet_margin_with_distance_loss(x, x, x, distance_function=distance, margin=99.0),
    "transforms": lambda x: paddle.vision.transforms.Compose([lambda t: t * counted()])(x),
    "cell": lambda x: nn.RNN(Cell())(x.reshape([1, 1, 1]), x)[0],
}


class Cell(nn.RNNCellBase):
    def forward(self, x, state):
        return x * counted(), state


@pytest.mark.parametrize("name", CALLERS)
def test_what_is_not_known_runs_at_every_call(name):
    f, x = CALLERS[name], paddle.ones([1, 1])
    CALLS.clear()
    expected = [float(f(x)) for _ in range(3)]
    CALLS.clear()
    captured = paddle.jit.to_static(lambda t: f(t))
    assert [float(captured(x)) for _ in range(3)] == expected
    assert captured.graph_breaks


def test_a_function_that_is_computed_twice_may_not_change_state(rng):
    class Kept(nn.Layer):
        def __init__(self):
            super().__init__()
            self.calls = 0

        def forward(self, x):
            self.calls += 1
            return x * x

    layer = Kept()
    captured = paddle.jit.to_static(lambda x: recompute(layer, x).sum())
    x = paddle.ones([2])
    x.stop_gradient = False
    captured(x).backward()
    assert layer.calls == 2 and x.grad.tolist() == [2.0, 2.0]
    assert "Kept, which recompute calls, changes Kept.calls" in captured.graph_breaks[0]


def test_what_a_sublayer_reads_is_guarded():
    class Scaled(nn.Layer):
        factor = 2.0

        def forward(self, x):
            heapq.nsmallest(1, [1])
            return x * self.factor

    layer = Scaled()
    captured = paddle.jit.to_static(nn.Sequential(layer))
    assert captured(paddle.ones([1])).item() == 2.0
    layer.factor = 3.0
    assert captured(paddle.ones([1])).item() == 3.0
