"""A captured call that was made before: it runs no Python function, and it never serves what has changed since."""

from __future__ import annotations

import gc
import sys

import numpy as np
import pytest

import paddle
import paddle.nn.functional as F
from paddle import nn
from paddle.jit import to_static
from umiak.core import tape
from umiak.runtime.capture import CaptureError


def python_calls(function, *args):
    """The names of the Python functions that a call runs, beyond those that were generated for it."""
    found: list[str] = []
    generated: list[str] = []

    def note(frame, event, _):
        if event == "call":
            name = frame.f_code.co_qualname if hasattr(frame.f_code, "co_qualname") else frame.f_code.co_name
            generated.append(name) if name in ("guard", "finish") else found.append(name)

    gc.disable()
    sys.setprofile(note)
    try:
        function(*args)
    finally:
        sys.setprofile(None)
        gc.enable()
    assert len(generated) <= 2, "guards and results are one function each"
    return found


def randn(*shape, grad=False):
    x = paddle.randn(list(shape))
    x.stop_gradient = not grad
    return x


def mlp(layers=3, width=8):
    return nn.Sequential(*[m for _ in range(layers) for m in (nn.Linear(width, width), nn.ReLU())])


# --- no Python on the way --------------------------------------------------------------------------------------------


def three_ops():
    return to_static(lambda x, a, b: F.relu(x * a + b)), (randn(8, 8), randn(8, 8), randn(8, 8))


def softmax_by_hand():
    def function(x):
        e = paddle.exp(x - x.max(-1, keepdim=True))
        return e / e.sum(-1, keepdim=True)

    return to_static(function), (randn(8, 8),)


def of_a_layer():
    model = mlp()
    return to_static(lambda x: model(x)), (randn(4, 8),)


def of_containers():
    def function(pair, scale=2.0):
        return {"sum": pair[0] + pair[1]["y"] * scale, "text": "t", "both": (pair[0], [pair[1]["y"] + 1.0])}

    return to_static(function), ([randn(3), {"y": randn(3)}],)


def with_random_numbers():
    return to_static(lambda x: F.dropout(x, 0.5)), (randn(4, 4),)


def of_other_sizes():
    function = to_static(lambda x: F.softmax(x, -1) * x.shape[0])
    for n in (3, 5, 7):
        function(randn(n, 4))
    return function, (randn(7, 4),)


def recorded():
    model = mlp()
    return to_static(lambda x: model(x).sum()), (randn(4, 8),)


def step_of(optimizer, train=None):
    model = mlp()
    made = optimizer(model.parameters())

    def step(x, y):
        loss = F.mse_loss(model(x), y)
        loss.backward()
        made.step()
        made.clear_grad()
        return loss

    return to_static(step), (randn(4, 8), randn(4, 8))


def scheduled(parameters):
    return paddle.optimizer.AdamW(paddle.optimizer.lr.CosineAnnealingDecay(0.1, 10), parameters=parameters)


def clipped(parameters):
    clip = nn.ClipGradByGlobalNorm(1.0)
    return paddle.optimizer.AdamW(parameters=parameters, grad_clip=clip, lr_ratio=lambda _: 0.5)


CALLS = {
    "three ops": (three_ops, False),
    "softmax by hand": (softmax_by_hand, False),
    "a layer": (of_a_layer, False),
    "containers and constants": (of_containers, False),
    "random numbers": (with_random_numbers, False),
    "sizes that are symbols": (of_other_sizes, False),
    "a layer, recorded": (recorded, True),
    "sizes that are symbols, recorded": (of_other_sizes, True),
    "AdamW": (lambda: step_of(lambda p: paddle.optimizer.AdamW(parameters=p)), True),
    "AdamW with a schedule": (lambda: step_of(scheduled), True),
    "SGD": (lambda: step_of(lambda p: paddle.optimizer.SGD(parameters=p)), True),
    "Momentum": (lambda: step_of(lambda p: paddle.optimizer.Momentum(parameters=p)), True),
    "Adam, decayed": (lambda: step_of(lambda p: paddle.optimizer.Adam(parameters=p, weight_decay=0.1)), True),
    "AdamW, clipped, with factors": (lambda: step_of(clipped), True),
    "RAdam": (lambda: step_of(lambda p: paddle.optimizer.RAdam(parameters=p)), True),
    "RAdam that never rectifies": (lambda: step_of(lambda p: paddle.optimizer.RAdam(beta2=0.5, parameters=p)), True),
    "ASGD": (lambda: step_of(lambda p: paddle.optimizer.ASGD(parameters=p)), True),
}  # fmt: skip


@pytest.mark.parametrize("name", CALLS)
def test_no_python_function_runs(name):
    make, grad = CALLS[name]
    with paddle.set_grad_enabled(grad):
        function, args = make()
        for _ in range(3):
            function(*args)
        assert python_calls(function, *args) == []


def test_the_backward_of_a_captured_call_runs_none():
    model = mlp()
    function = to_static(lambda x: model(x).sum())
    x = randn(4, 8)
    for _ in range(3):
        function(x).backward()
    y = function(x)
    assert python_calls(tape.backward, [y]) == []


class Decides(paddle.optimizer.SGD):
    """Its first steps are smaller: what it says of a step is no formula."""

    def _row(self, state, grad, lr):
        return super()._row(state, grad, lr if state.steps > 3 else 0.5 * lr)


def test_an_optimizer_that_decides_is_asked_and_said_to_be(caplog):
    function, args = step_of(lambda p: Decides(0.1, parameters=p))
    with caplog.at_level("WARNING", "paddle.jit"):
        for _ in range(3):
            function(*args)
    assert "Decides" in caplog.text and "asked for in Python" in caplog.text
    assert python_calls(function, *args) != []


def test_an_error_of_an_optimizer_is_no_decision():
    class Fails(paddle.optimizer.SGD):
        def _row(self, state, grad, lr):
            if type(state.steps) is not int:
                raise KeyError("its own mistake")
            return super()._row(state, grad, lr)

    function, args = step_of(lambda p: Fails(0.1, parameters=p))
    function = to_static(function.dygraph_function, full_graph=True)
    with pytest.raises(CaptureError, match="its own mistake"):
        function(*args)


# --- nothing is served that has changed ------------------------------------------------------------------------------


class Settings:
    scale = 1.0


SHIFT = 0.5


class World:
    """A function that reads all kinds of Python state, and what changes it. Two with one seed do the same."""

    def __init__(self, seed, wrap, inside):
        paddle.seed(seed)
        self.rng = np.random.default_rng(seed)
        self.model = mlp(2, 4)
        self.model.add_sublayer("drop", nn.Dropout(0.5))
        self.model.flag = 1.0
        self.optimizer = paddle.optimizer.AdamW(0.01, parameters=self.model.parameters())
        self.settings = Settings()
        self.table = {"a": 1.0, "b": [2.0]}
        self.items = [1.0, 2.0]
        self.grad_enabled = True
        self.amp = False
        self.rows = 3
        self.stop = True
        self.hooks = []
        self.function = wrap(self.step() if inside else self.forward())
        self.inside = inside
        self.number = 1.0

    def forward(self):
        model, settings, table, items = self.model, self.settings, self.table, self.items
        number, other = 1.0, paddle.ones([4])

        def function(x, factor=1.0, extra=None):
            y = model(x) * number + SHIFT * settings.scale
            y = y * model.flag + table["a"] + items[-1] * len(items) + other
            if extra is not None:
                y = y + extra["z"]
            return 1.0 / (y * y + 1.0) * factor, y.sum()

        def change(value):
            nonlocal number
            number = value

        def exchange():
            nonlocal other
            other = other + 1.0

        self.change_number, self.exchange = change, exchange
        return function

    def step(self):
        forward, optimizer = self.forward(), self.optimizer

        def step(x, factor=1.0, extra=None):
            y, total = forward(x, factor, extra)
            loss = y.mean() + total * 1e-3
            loss.backward()
            optimizer.step()
            optimizer.clear_grad(set_to_zero=False)
            return loss, y.detach()

        return step

    # changes, each by a number

    def a_flag_of_the_layer(self, k):
        self.model.flag = float(k)

    def a_closure_number(self, k):
        self.change_number(float(k))

    def an_equal_closure_number(self, k):
        self.change_number(float("1." + "0" * (k + 1)))

    def a_closure_tensor(self, _):
        self.exchange()

    def an_attribute(self, k):
        self.settings.scale = k * 0.5

    def a_dict(self, k):
        self.table["a"] = float(k)

    def a_list(self, k):
        self.items[-1] = float(k)

    def the_length_of_a_list(self, k):
        self.items[:] = [1.0] * (k + 1)

    def training(self, k):
        self.model.train(bool(k % 2))

    def gradients(self, k):
        self.grad_enabled = bool(k % 2)

    def mixed_precision(self, k):
        self.amp = bool(k % 2)

    def sizes(self, k):
        self.rows = k + 1

    def of_the_argument(self, k):
        self.stop = bool(k % 2)

    def a_frozen_parameter(self, k):
        p = self.model.parameters()[k % 4]
        p.stop_gradient = not p.stop_gradient

    def a_gradient(self, k):
        p = self.model.parameters()[k % 4]
        p.clear_gradient(False) if p.grad is not None else setattr(p, "grad", paddle.ones_like(p))

    def all_gradients(self, _):
        self.optimizer.clear_grad(False)

    def values_of_a_parameter(self, k):
        p = self.model.parameters()[k % 4]
        p.set_value(p * 0.5)

    def a_hook(self, k):
        if self.hooks:
            self.hooks.pop().remove()
        else:
            p = self.model.parameters()[0]
            if not p.stop_gradient:
                self.hooks.append(p.register_hook(lambda g: g * 2.0))

    def the_rate(self, k):
        self.optimizer.set_lr(0.01 * (k + 1))

    def the_rate_of_a_parameter(self, k):
        self.model.parameters()[k % 4].optimize_attr["learning_rate"] = 0.5 * k

    def an_eager_step(self, _):
        for p in self.model.parameters():
            if p.grad is not None and p.grad.dtype is not p.dtype:
                return
        self.optimizer.step()

    def states(self, _):
        self.optimizer.set_state_dict(self.optimizer.state_dict())

    def the_default_dtype(self, k):
        paddle.set_default_dtype("float64" if k % 2 else "float32")

    def a_sublayer(self, k):
        self.model.add_sublayer("drop", nn.Dropout(0.5) if k % 2 else nn.Identity())

    def seeds(self, k):
        paddle.seed(k)

    def call(self, k):
        x = paddle.to_tensor(self.rng.standard_normal((self.rows, 4)).astype("float32"))
        x.stop_gradient = self.stop
        given = {"factor": (1.0, -1.0, 0.0, -0.0)[k % 4]} if k % 3 else {}
        if k % 5 == 4:
            given["extra"] = {"z": paddle.full([4], float(k))}
        with (
            paddle.set_grad_enabled(self.grad_enabled or self.inside),
            paddle.amp.auto_cast(self.amp, dtype="bfloat16"),
        ):
            found = self.function(x, **given)
        found = [*found]
        if not self.inside and not found[0].stop_gradient:
            found[0].astype("float32").sum().backward()
        found.append(x.grad)
        found += [p.grad for p in self.model.parameters()] + [p.detach() for p in self.model.parameters()]
        return [None if t is None else t.astype("float64").numpy() for t in found]


CHANGES = [
    n for n, f in vars(World).items()
    if callable(f) and n not in ("__init__", "forward", "step", "call") and not n.startswith("__")
]  # fmt: skip


def play(seed, wrap, inside):
    """The results of a run of changes and calls."""
    global SHIFT
    rng = np.random.default_rng(seed)
    SHIFT = 0.5
    world = World(seed, wrap, inside)
    found, told = [], []
    try:
        for _ in range(24):
            for _ in range(int(rng.integers(0, 3))):
                change, k = str(rng.choice(CHANGES)), int(rng.integers(0, 6))
                told.append((change, k))
                if change == "the_rate" and k == 5:
                    SHIFT += 0.25
                getattr(world, change)(k)
            k = int(rng.integers(0, 4)) if rng.random() < 0.3 else 0
            told.append(("call", k))
            try:
                found.append((list(told), world.call(k)))
            except Exception as error:
                found.append((list(told), type(error).__name__))
    finally:
        paddle.set_default_dtype("float32")
    return found


@pytest.mark.parametrize("inside", [False, True], ids=["function", "step"])
@pytest.mark.parametrize("seed", range(4))
def test_changes_between_calls(seed, inside):
    expected = play(seed, lambda f: f, inside)
    for (told, a), (_, b) in zip(expected, play(seed, to_static, inside), strict=True):
        if isinstance(a, str) or isinstance(b, str):
            assert a == b, told
            continue
        for i, (x, y) in enumerate(zip(a, b, strict=True)):
            assert (x is None) == (y is None), (i, told)
            if x is not None:
                np.testing.assert_allclose(y, x, 5e-2, 5e-2, err_msg=f"{i} {told}")


def test_gradients_that_arguments_of_other_sizes_have():
    """They are part of what is captured, and are put back afterwards."""

    def step(x):
        (x * x).sum().backward()
        return x.sum()

    static = to_static(step)
    for n in (3, 5, 4, 5):
        x = randn(n, 2, grad=True)
        x.grad = paddle.ones_like(x)
        static(x)
        np.testing.assert_allclose(x.grad.numpy(), 1 + 2 * x.numpy(), 1e-6)


@pytest.mark.parametrize(("level", "texts"), [("INFO", False), ("DEBUG", True)])
def test_the_text_of_guards_is_for_debugging(level, texts, caplog):
    f = paddle.jit.to_static(lambda x: x * 2 + 1)
    with caplog.at_level(level, "paddle.jit"):
        f(paddle.ones([3]))
    assert "captured 2 operations" in caplog.text
    assert ("def guard(" in caplog.text) is texts
