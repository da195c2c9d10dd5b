"""Captured functions do what the functions do: values, gradients, random numbers, state."""

from __future__ import annotations

import copy

import numpy as np
import pytest

import paddle
import paddle.nn.functional as F
from paddle import nn
from paddle.jit import to_static
from paddle.jit.function import StaticFunction
from umiak.runtime.capture import CaptureError


def randn(rng, *shape, grad=False):
    x = paddle.to_tensor(rng.standard_normal(shape).astype("float32"))
    x.stop_gradient = not grad
    return x


def same(a, b, rtol=1e-5, atol=1e-6):
    np.testing.assert_allclose(a.numpy(), b.numpy(), rtol=rtol, atol=atol)


def net():
    return nn.Sequential(
        nn.Conv2D(3, 4, 3, padding=1, bias_attr=False), nn.BatchNorm2D(4), nn.ReLU(), nn.MaxPool2D(2), nn.Flatten(),
        nn.Dropout(0.3), nn.Linear(4 * 16, 16), nn.GELU(), nn.LayerNorm(16), nn.Linear(16, 5),
    )  # fmt: skip


OPTIMIZERS = {
    "sgd": lambda p: paddle.optimizer.SGD(0.1, parameters=p),
    "momentum": lambda p: paddle.optimizer.Momentum(0.1, parameters=p, use_nesterov=True, weight_decay=1e-3),
    "adam": lambda p: paddle.optimizer.Adam(0.01, parameters=p),
    "adamw": lambda p: paddle.optimizer.AdamW(
        paddle.optimizer.lr.ExponentialDecay(0.01, 0.9), parameters=p, grad_clip=nn.ClipGradByGlobalNorm(0.1)
    ),
    "nadam": lambda p: paddle.optimizer.NAdam(0.01, parameters=p),
    "radam": lambda p: paddle.optimizer.RAdam(0.01, parameters=p),
    "radam, rectified at once": lambda p: paddle.optimizer.RAdam(0.01, beta2=0.9, parameters=p),
    "asgd": lambda p: paddle.optimizer.ASGD(0.1, parameters=p),
    "lamb": lambda p: paddle.optimizer.Lamb(0.01, parameters=p),
    "rmsprop": lambda p: paddle.optimizer.RMSProp(0.01, parameters=p, centered=True),
    "adagrad": lambda p: paddle.optimizer.Adagrad(0.01, parameters=p, grad_clip=nn.ClipGradByNorm(0.5)),
    "adadelta": lambda p: paddle.optimizer.Adadelta(1.0, parameters=p, grad_clip=nn.ClipGradByValue(0.05)),
    "adamax": lambda p: paddle.optimizer.Adamax(0.01, parameters=p),
}


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_a_training_step(name, rng):
    """Losses, weights, running statistics and states are those of eager mode, after schedules and dropout."""
    x, y = randn(rng, 6, 3, 8, 8), paddle.to_tensor(rng.integers(0, 5, 6))
    first = net()
    models = [first, copy.deepcopy(first)]
    found = []
    for model, wrap in zip(models, (lambda f: f, to_static), strict=True):
        optimizer = OPTIMIZERS[name](model.parameters())

        def step(x, y, model=model, optimizer=optimizer):
            loss = F.cross_entropy(model(x), y)
            loss.backward()
            optimizer.step()
            optimizer.clear_grad()
            return loss

        run = wrap(step)
        paddle.seed(7)
        losses = []
        for _ in range(5):
            losses.append(float(run(x, y)))
            if hasattr(optimizer._learning_rate, "step"):
                optimizer._learning_rate.step()
        found.append((losses, optimizer.state_dict(), paddle.get_rng_state()))
        if wrap is to_static:
            assert run.get_traced_count() == 1
    (a, states, rng_a), (b, static_states, rng_b) = found
    np.testing.assert_allclose(a, b, rtol=2e-4)
    for p, q in zip(models[0].state_dict().values(), models[1].state_dict().values(), strict=True):
        same(p, q, 2e-3, 2e-5)
    assert len(states) == len(static_states)
    assert [g.state for g in rng_a] == [g.state for g in rng_b]


def test_gradients_of_a_captured_layer(rng):
    model = net()
    static = to_static(copy.deepcopy(model))
    assert isinstance(static, nn.Sequential)
    x, z = randn(rng, 6, 3, 8, 8, grad=True), randn(rng, 6, 3, 8, 8, grad=True)
    z.set_value(x)
    for _ in range(2):
        for m, given in ((model, x), (static, z)):
            paddle.seed(3)
            (m(given) ** 2).sum().backward()
    same(x.grad, z.grad, 1e-4, 1e-5)
    for p, q in zip(model.parameters(), static.parameters(), strict=True):
        if p.stop_gradient:
            continue
        same(p.grad, q.grad, 1e-4, 1e-4)
    for p, q in zip(model.buffers(), static.buffers(), strict=True):
        same(p, q)
    model.eval()
    static.eval()
    same(model(x), static(z))
    assert static.forward.get_traced_count() == 2


def test_second_derivatives(rng):
    def f(x, y):
        return (F.gelu(x @ y) * x.sum()).sum()

    found = []
    data = rng.standard_normal((4, 4)).astype("float32"), rng.standard_normal((4, 4)).astype("float32")
    for g in (f, to_static(f)):
        x, y = (paddle.to_tensor(d, stop_gradient=False) for d in data)
        dx, dy = paddle.grad(g(x, y), [x, y], create_graph=True)
        (ddx,) = paddle.grad((dx * dy).sum(), [x])
        found.append((dx, dy, ddx))
    for a, b in zip(*found, strict=True):
        same(a, b, 1e-4, 1e-4)


def test_a_gradient_inside(rng):
    """A penalty on gradients: differentiated twice within the function."""

    def f(x, w):
        y = F.tanh(x @ w).sum()
        (g,) = paddle.grad(y, [x], create_graph=True)
        loss = y + (g**2).sum()
        loss.backward()
        return loss

    data = rng.standard_normal((3, 4)).astype("float32"), rng.standard_normal((4, 4)).astype("float32")
    found = []
    for g in (f, to_static(f)):
        x, w = (paddle.to_tensor(d, stop_gradient=False) for d in data)
        found.append((g(x, w), x.grad, w.grad))
    for a, b in zip(*found, strict=True):
        same(a, b, 1e-4, 1e-4)


def test_accumulated_gradients(rng):
    """Gradients that are there are added to; the two cases have a program each."""
    layer = nn.Linear(3, 2)

    @to_static
    def add(x):
        loss = layer(x).sum()
        loss.backward()
        return loss

    x = randn(rng, 4, 3)
    for n in (1, 2, 3):
        add(x)
        np.testing.assert_allclose(layer.bias.grad.numpy(), [4.0 * n] * 2)
    assert add.get_traced_count() == 2
    layer.clear_gradients()


def test_gradients_that_are_read(rng):
    """Without a ``backward`` inside: those of the coming run, in forward, backward and second derivatives."""
    layer = nn.Linear(3, 2)
    f = to_static(lambda x: (x**2 @ layer.weight.grad).sum())
    x = randn(rng, 4, 3, grad=True)
    for scale in (1.0, 2.0, 3.0):
        layer.weight.grad = paddle.full([3, 2], scale)
        y = f(x)
        same(y, (x**2).sum() * 2 * scale)
        (dx,) = paddle.grad(y, [x], create_graph=True)
        same(dx, x * 4 * scale)
        (ddx,) = paddle.grad(dx.sum(), [x])
        same(ddx, paddle.full([4, 3], 4 * scale))


def test_sizes_become_symbols(rng):
    layer = nn.Linear(3, 2)

    @to_static
    def f(x):
        y = layer(x)
        return y.reshape([-1]), y.mean(), x.shape[0]

    for n in (4, 7, 9, 2, 12):
        x = randn(rng, n, 3)
        flat, mean, rows = f(x)
        same(flat, layer(x).reshape([-1]))
        same(mean, layer(x).mean())
        assert rows == n
    assert f.get_traced_count() == 2


def test_numbers_up_to_a_symbol():
    @to_static
    def f(x):
        n = x.shape[0]
        return paddle.arange(n), paddle.arange(1, 2 * n, 3, dtype="float32"), paddle.arange(n, 0, -2)

    for n in (4, 7, 9, 1, 12):
        for found, wanted in zip(f(paddle.zeros([n])), (range(n), range(1, 2 * n, 3), range(n, 0, -2))):
            assert found.tolist() == list(wanted)
    assert f.get_traced_count() == 3, "the first sizes, a symbol, and 1"


def test_a_part_by_number(rng):
    """Also of captured tensors, along an axis whose size may be a symbol later."""
    layer = nn.LSTM(3, 4, direction="bidirect")

    @to_static
    def f(x):
        _, (h, _) = layer(x)
        return paddle.concat([h[0], h[-1]], axis=-1), x[1], len(x)

    for n in (4, 6, 5):
        x = randn(rng, n, 2, 3)
        states, row, length = f(x)
        h = layer(x)[1][0]
        same(states, paddle.concat([h[0], h[1]], axis=-1))
        same(row, x[1])
        assert length == n


def test_input_spec(rng):
    layer = to_static(nn.Linear(3, 2), input_spec=[paddle.static.InputSpec([None, 3])])
    for n in (4, 7, 9):
        x = randn(rng, n, 3)
        same(layer(x), F.linear(x, layer.weight, layer.bias))
    assert layer.forward.get_traced_count() == 1
    with pytest.raises(ValueError, match=r"requires a tensor of shape \[-1, 3\], as input_spec says"):
        layer(randn(rng, 4, 4))


def test_random_numbers_go_on():
    @to_static
    def f():
        return paddle.rand([4]), paddle.randn([2, 2])

    paddle.seed(5)
    eager = [(paddle.rand([4]), paddle.randn([2, 2])) for _ in range(3)]
    paddle.seed(5)
    for a, b in eager:
        c, d = f()
        same(a, c, 0, 0)
        same(b, d, 0, 0)


@pytest.mark.parametrize(("level", "dtype"), [("O1", "bfloat16"), ("O2", "float16")])
def test_mixed_precision(level, dtype, rng):
    layer = nn.Sequential(nn.Linear(8, 8), nn.LayerNorm(8), nn.Linear(8, 4))

    def f(x):
        with paddle.amp.auto_cast(level=level, dtype=dtype):
            y = layer(x)
        return y, F.mse_loss(y.astype("float32"), x[:, :4])

    x = randn(rng, 5, 8)
    y, loss = f(x)
    static, static_loss = to_static(f)(x)
    assert static.dtype == y.dtype
    same(y.astype("float32"), static.astype("float32"), 2e-2, 2e-2)
    same(loss, static_loss, 2e-2)
    # Entered around the call.
    inner = to_static(lambda x: layer(x))
    with paddle.amp.auto_cast(level=level, dtype=dtype):
        assert inner(x).dtype == y.dtype
    assert inner(x).dtype == paddle.float32
    assert inner.get_traced_count() == 2


# --- what a program depends on besides its tensors -------------------------------------------------------------------

SCALE = 2.0


def test_what_python_says_is_looked_at_again(rng):
    global SCALE
    layer = nn.Linear(2, 2)
    layer.factor = 3.0
    offset = 1.0

    @to_static
    def f(x, power, *, sign=1):
        return layer(x) ** power * layer.factor * SCALE * sign + offset

    x = randn(rng, 3, 2)

    def check(**kw):
        same(f(x, 2, **kw), layer(x) ** 2 * layer.factor * SCALE * kw.get("sign", 1) + offset)

    check()
    layer.factor = 4.0
    check()
    offset = 5.0
    check()
    try:
        SCALE = 7.0
        check()
    finally:
        SCALE = 2.0
    check(sign=-1)
    same(f(x, 3), layer(x) ** 3 * 4.0 * SCALE + offset)
    before = f.get_traced_count()
    check()
    assert f.get_traced_count() == before
    layer.weight = paddle.create_parameter([2, 2], "float32")
    check()
    layer.weight.stop_gradient = True
    f(x, 2).sum().backward()
    assert layer.weight.grad is None
    assert layer.bias.grad is not None


def test_what_the_function_does_not_read_may_change(rng):
    class Own(nn.Layer):
        def __init__(self):
            super().__init__()
            self.inner = nn.Linear(2, 2)

        def forward(self, x):
            return self.inner(x)

    class Run:
        def __init__(self):
            self.layer = Own()
            self.seen = []
            self.scale = 2.0

        def step(self, x):
            return self.layer(x) * self.scale

    run = Run()
    step = to_static(run.step)
    x = randn(rng, 3, 2)
    for _ in range(3):
        run.seen.append(float(step(x).sum()))
        run.layer.note = len(run.seen)
    assert step.get_traced_count() == 1
    run.scale = 3.0
    same(step(x), run.layer(x) * 3.0)
    assert step.get_traced_count() == 2


def test_modes_have_programs_of_their_own(rng):
    layer = nn.Linear(2, 2)
    f = to_static(lambda x: layer(x))
    x = randn(rng, 3, 2)
    assert not f(x).stop_gradient
    with paddle.no_grad():
        assert f(x).stop_gradient
    z = randn(rng, 3, 2, grad=True)
    f(z).sum().backward()
    assert z.grad is not None
    assert x.grad is None


def test_hooks(rng):
    layer = to_static(nn.Sequential(nn.Linear(2, 2)))
    x = randn(rng, 3, 2)
    before = layer(x)
    handle = layer[0].register_forward_post_hook(lambda layer, inputs, out: out * 2)
    same(layer(x), before * 2)
    handle.remove()
    same(layer(x), before)


def test_arguments_and_results_of_any_structure(rng):
    @to_static
    def f(batch, scale=None, *rest):
        return {"sum": batch["a"] + batch["b"][0], "n": len(rest), "none": scale, "same": batch["a"]}

    a, b = randn(rng, 2), randn(rng, 2)
    found = f({"a": a, "b": [b]}, None, "x", "y")
    same(found["sum"], a + b)
    assert found["n"] == 2
    assert found["none"] is None
    same(found["same"], a)
    assert f.get_traced_count() == 1
    np.testing.assert_allclose(f({"a": a.numpy(), "b": (b,)})["sum"].numpy(), (a + b).numpy())


def test_sizes_are_results():
    static = to_static(lambda x: (x.shape, x + 1.0))
    for n in (2, 2, 3, 4, 4):
        sizes, _ = static(paddle.ones([n, 3]))
        assert type(sizes) is paddle.Size
        assert sizes == [n, 3]


def test_methods_of_a_class(rng):
    class Model(nn.Layer):
        def __init__(self):
            super().__init__()
            self.inner = nn.Linear(2, 2)

        @to_static
        def forward(self, x):
            return self.inner(x)

        @paddle.jit.to_static(full_graph=True)
        def twice(self, x):
            return self.inner(x) * 2

    one, two = Model(), Model()
    x = randn(rng, 3, 2)
    for model in (one, two):
        same(model(x), model.inner(x))
        same(model.twice(x), model.inner(x) * 2)
    assert len(one.state_dict()) == 2


def test_writes_into_buffers(rng):
    class Counter(nn.Layer):
        def __init__(self):
            super().__init__()
            self.register_buffer("count", paddle.zeros([1]))

        def forward(self, x):
            self.count.add_(paddle.ones([1]))
            return x * self.count

    layer = to_static(Counter())
    x = randn(rng, 3)
    for n in (1, 2, 3):
        same(layer(x), x * n)
        assert layer.count.tolist() == [n]


def test_what_is_read_may_not_change_before_its_gradient(rng):
    f = to_static(lambda x, y: (x * y).sum())
    x, y = randn(rng, 3, grad=True), randn(rng, 3)
    out = f(x, y)
    y.add_(paddle.ones([3]))
    with pytest.raises(RuntimeError, match="requires what it read not to change"):
        out.backward()


def test_rollback_and_the_switch(rng):
    layer = nn.Linear(2, 2)
    forward = to_static(layer).forward
    x = randn(rng, 3, 2)
    layer(x)
    assert forward.get_traced_count() == 1
    assert "linear" in str(forward.main_program)
    paddle.jit.enable_to_static(False)
    try:
        layer(randn(rng, 5, 2))
        assert forward.get_traced_count() == 1
    finally:
        paddle.jit.enable_to_static(True)
    forward.rollback()
    assert "forward" not in layer.__dict__


@pytest.mark.parametrize("full_graph", [False, True])
def test_methods_of_a_class_are_rolled_back_for_an_object(full_graph):
    class Net(nn.Layer):
        @to_static(full_graph=full_graph)
        def forward(self, x):
            return x + 1

        @to_static(full_graph=full_graph)
        def infer(self, x):
            return x + 2

    net, other = Net(), Net()
    for name in ("forward", "infer"):
        for layer in (net, other):
            getattr(layer, name)(paddle.zeros([2]))
        getattr(net, name).rollback()
        assert not isinstance(getattr(net, name), StaticFunction)
        assert isinstance(getattr(other, name), StaticFunction)
    assert net(paddle.zeros([2])).tolist() == [1, 1]
    assert net.infer(paddle.zeros([2])).tolist() == [2, 2]
    to_static(net, full_graph=full_graph)
    assert isinstance(net.forward, StaticFunction)
    assert net(paddle.zeros([2])).tolist() == [1, 1]


# --- what is refused -------------------------------------------------------------------------------------------------


class Forked(nn.Layer):
    def __init__(self):
        super().__init__()
        self.calls = 0
        self.log = []

    def forward(self, x, what):
        if what == "item":
            return x * x.max().item()
        if what == "list":
            return x + paddle.to_tensor(x.tolist())
        if what == "count":
            self.calls += 1
            return x * self.calls
        if what == "log":
            self.log.append(1)
            return x
        if what == "draw":
            return x * float(np.random.rand())
        if what == "kept":
            return report(x)
        assert what == "in place"
        return Written.apply(x * 2)


class Written(paddle.autograd.PyLayer):
    @staticmethod
    def forward(ctx, x):
        return x.add_(paddle.ones([3]))

    @staticmethod
    def backward(ctx, g):
        return g


@paddle.jit.not_to_static
def report(x):
    return x


@pytest.mark.parametrize(
    ("what", "message"),
    [
        ("list", "not known while the program is traced"),
        ("draw", r"a call of RandomState.rand \(.* in forward\)"),
        ("in place", "Written returns an input that it changed in place"),
    ],
)
def test_what_cannot_be_captured_is_refused(what, message, rng):
    layer = to_static(Forked(), full_graph=True)
    x = randn(rng, 3, grad=True)
    with pytest.raises((CaptureError, TypeError), match=message):
        layer(x, what)
    assert layer.forward.get_traced_count() == 0
    # Nothing is left behind.
    assert x.grad is None
    y = x * 2
    y.sum().backward()
    np.testing.assert_allclose(x.grad.numpy(), [2.0] * 3)


@pytest.mark.parametrize("what", ["item", "list", "count", "log", "kept", "in place"])
def test_what_is_no_part_of_a_graph_runs_between_graphs(what, rng):
    first = Forked()
    models, x = [first, to_static(copy.deepcopy(first))], randn(rng, 3, grad=True)
    for _ in range(3):
        found = []
        for model in models:
            x.clear_gradient(False)
            y = model(x, what)
            y.sum().backward()
            found.append((y, x.grad))
        same(found[0][0], found[1][0])
        same(found[0][1], found[1][1])
        assert [(m.calls, m.log) for m in models] == [(first.calls, first.log)] * 2
    assert models[1].forward.fallbacks == []


def test_a_step_that_fails_is_not_counted(rng, monkeypatch):
    layer = nn.Linear(2, 2)
    optimizer = paddle.optimizer.Adam(0.1, parameters=layer.parameters())

    @to_static
    def step(x):
        layer(x).sum().backward()
        optimizer.step()
        optimizer.clear_grad()

    x = randn(rng, 3, 2)
    step(x)
    with pytest.raises(ValueError, match="requires"):
        step(randn(rng, 3, 4))
    step(x)
    assert {s.steps for s in optimizer._states.values()} == {2}


def test_unknown_arguments():
    with pytest.raises(TypeError, match="unexpected keyword argument 'fast'"):
        to_static(lambda x: x, fast=True)
    with pytest.raises(TypeError, match="requires a function or a Layer"):
        to_static(3)
    with pytest.raises(TypeError, match="a BuildStrategy or None as build_strategy, got int"):
        to_static(lambda x: x, build_strategy=3)
    with pytest.raises(ValueError, match="'CINN' or None as backend, got 'TVM'"):
        to_static(lambda x: x, backend="TVM")
    spec = paddle.static.InputSpec([2])
    with pytest.raises(TypeError, match="a list or tuple as input_spec, got InputSpec"):
        to_static(lambda x: x, input_spec=spec)
    with pytest.raises(ValueError, match=r"as many specs as parameters at most: \['x'\], got 2 of them"):
        to_static(lambda x: x, input_spec=[spec, spec])
    with pytest.raises(TypeError, match="an int or ints for dims, got 'a'"):
        paddle.jit.marker.dynamic_dims(paddle.ones([2]), "a")


@pytest.mark.parametrize("part", [False, True], ids=["whole", "through a view"])
def test_gradients_flow_through_what_is_written_to_a_constant(part):
    @paddle.jit.to_static
    def f(w):
        out = paddle.zeros([2])
        (out[0:1] if part else out).copy_(w * 3.0)
        return out * 2.0

    w = paddle.ones([1 if part else 2])
    w.stop_gradient = False
    f(w).sum().backward()
    assert w.grad.tolist() == [6.0] * w.size


def test_nothing_flows_through_what_is_written_under_no_grad():
    @paddle.jit.to_static
    def f(w):
        out = paddle.zeros([2])
        with paddle.no_grad():
            out.copy_(w * 3.0)
        return out * 2.0

    w = paddle.ones([2])
    w.stop_gradient = False
    assert f(w).stop_gradient


def _doubled(w, x):
    y = w * 2
    with paddle.no_grad():
        y.multiply_(y)
    return x * y


def _leaf(w, x):
    before = w * x
    with paddle.no_grad():
        w.multiply_(w)
    return x * w + before


def _leaf_through_a_view(w, x):
    v = w[::-1]
    with paddle.no_grad():
        v.multiply_(v)
    return x * v * w


@pytest.mark.parametrize("inside", [False, True], ids=["backward outside", "backward inside"])
@pytest.mark.parametrize("function", [_doubled, _leaf, _leaf_through_a_view])
def test_what_no_grad_writes_keeps_its_history(function, inside, rng):
    """The gradient is that of the value before, as in eager mode."""

    def step(w, x):
        y = function(w, x)
        y.sum().backward()
        return y

    found = []
    data = rng.standard_normal((2, 3)).astype("float32")
    for run in (function, to_static(step if inside else function)):
        w, x = paddle.to_tensor(data[0], stop_gradient=False), paddle.to_tensor(data[1])
        y = run(w, x)
        if w.grad is None:
            y.sum().backward()
        found.append((y, w, w.grad))
    for a, b in zip(*found, strict=True):
        same(a, b)


def test_second_derivatives_of_what_is_overwritten(rng):
    """The values from before are gone when the function is differentiated twice: refused, not computed wrongly."""

    @to_static
    def f(x, a):
        y = (x * a) ** 2
        a.exp_()
        return y

    x, a = randn(rng, 3, grad=True), randn(rng, 3)
    before = a.clone()
    (g,) = paddle.grad(f(x, a).sum(), [x])
    same(g, 2 * x * before**2)
    with pytest.raises(RuntimeError, match="create_graph=False: the captured function writes to tensors"):
        paddle.grad(f(x, a).sum(), [x], create_graph=True)


def test_functions_of_the_library_are_captured_themselves(rng):
    """Also those with a way in C, such as the calls of layers."""
    layer, x = paddle.nn.Linear(3, 2), randn(rng, 4, 3)
    for f in (layer.__call__, layer.forward):
        same(to_static(f)(x), layer(x))
    same(to_static(paddle.tanh)(x), paddle.tanh(x))


@pytest.mark.parametrize("full_graph", [False, True])
@pytest.mark.parametrize("name", ["maximum", "fmin", "add", "matmul", "atan2", "where", "concat"])
def test_an_operand_that_is_none_is_refused_as_by_eager_calls(name, full_graph):
    function = getattr(paddle, name)
    y = paddle.ones([2])
    for operands in ((None, y), (y, None)):
        given = ((y > 0), *operands) if name == "where" else (list(operands),) if name == "concat" else operands
        with pytest.raises((TypeError, ValueError)) as eager:
            function(*given)
        with pytest.raises(type(eager.value)) as captured:
            paddle.jit.to_static(lambda *xs: function(*xs), full_graph=full_graph)(*given)
        assert str(captured.value).startswith(str(eager.value))


@pytest.mark.parametrize("full_graph", [False, True])
def test_options_that_are_given_again_replace_the_former(full_graph):
    def spec(n):
        return [paddle.static.InputSpec([None, n])]

    class Net(paddle.nn.Layer):
        @paddle.jit.to_static(input_spec=spec(3), full_graph=full_graph)
        def forward(self, x):
            return x * 2

    net, other = Net(), Net()
    first = net.forward
    assert paddle.jit.to_static(net).forward is first
    assert paddle.jit.to_static(net, input_spec=spec(4)) is net
    assert list(net.forward.inputs[0].shape) == [-1, 4] and type(net.forward) is type(first)
    assert net(paddle.ones([2, 4])).shape == [2, 4] and other(paddle.ones([2, 3])).shape == [2, 3]
    with pytest.raises(ValueError, match="input_spec"):
        net(paddle.ones([2, 3]))
    paddle.jit.to_static(net, full_graph=not full_graph)
    assert type(net.forward) is not type(first)
    assert list(net.forward.inputs[0].shape) == [-1, 4]
    f = paddle.jit.to_static(lambda x: x + 1, input_spec=spec(3))
    g = paddle.jit.to_static(f, input_spec=spec(5))
    assert g(paddle.ones([1, 5])).shape == [1, 5] and paddle.jit.to_static(g) is g


def test_specs_of_arrays_and_of_tensors_beside_them():
    spec = paddle.static.InputSpec
    f = to_static(lambda p, d: p[0] + d["x"], input_spec=[[spec([None])], {"x": spec([None, 3], name="x")}])
    for n in (2, 4, 5):
        for bias in (np.ones([3], "float32"), paddle.ones([3])):
            np.testing.assert_array_equal(f([bias], {"x": paddle.ones([n, 3])}).numpy(), np.full([n, 3], 2))
    with pytest.raises(ValueError, match="input_spec"):
        f([paddle.ones([1, 3])], {"x": paddle.ones([2, 3])})
