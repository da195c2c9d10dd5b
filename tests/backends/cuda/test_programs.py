"""Captured programs as graphs of the driver: what a later call hands in, numbers, memory, splits, invalidation."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

import paddle
from tests.support.programs import traced
from umiak import ops as F
from umiak.backends.cuda import programs
from umiak.core import inplace
from umiak.runtime.executor import Executor


@pytest.fixture
def forms(device, cuda, monkeypatch):
    """The forms of programs that a test makes, as ``forms()``; all graphs are given back at the end."""
    made = []
    init = programs.Program.__init__

    def noted(self, calls):
        init(self, calls)
        made.append(self)

    monkeypatch.setattr(programs.Program, "__init__", noted)
    yield lambda: [f for p in made for f in p.forms.values()]
    for program in made:
        program.close()
    assert not cuda.driver.graphs and not cuda.driver.instances


def counted(cuda, function, *args):
    cuda.driver.calls.clear()
    result = function(*args)
    return result, {name: cuda.driver.calls.count(f"cu{name}") for name in ("LaunchKernel", "GraphLaunch")}


REPLAYED = {"LaunchKernel": 1, "GraphLaunch": 1}  # of its result, which is a copy


def one_layer():
    return [paddle.nn.Linear(6, 3)]


def two_layers():
    return [paddle.nn.Linear(6, 8), paddle.nn.LayerNorm(8), paddle.nn.GELU(), paddle.nn.Linear(8, 3)]


def trained(place, layers, steps=5):
    """Losses and parameters of a captured step with random numbers and a rate that changes."""
    paddle.set_device(place)
    paddle.seed(1)
    net = paddle.nn.Sequential(*layers(), paddle.nn.Dropout(0.3))
    rate = paddle.optimizer.lr.ExponentialDecay(0.05, 0.8)
    optimizer = paddle.optimizer.AdamW(rate, parameters=net.parameters())

    @paddle.jit.to_static
    def step(x, y):
        loss = paddle.nn.functional.mse_loss(net(x), y)
        loss.backward()
        optimizer.step()
        optimizer.clear_grad()
        return loss

    rng = np.random.default_rng(0)
    losses = []
    for _ in range(steps):
        x = paddle.to_tensor(rng.standard_normal((4, 6)).astype("float32"))
        losses.append(step(x, paddle.ones([4, 3])))
        rate.step()
    return [float(x) for x in losses], [p.numpy() for p in net.parameters()]


@pytest.mark.parametrize("layers", [one_layer, pytest.param(two_layers, marks=pytest.mark.slow)])
def test_a_step_of_training_is_one_graph(device, cuda, forms, monkeypatch, layers):
    """Masks and rates are those of each step: what is left is to set them in the nodes, and to launch."""
    cuda.driver.calls.clear()
    losses, parameters = trained("gpu:0", layers)
    (form,) = forms()
    assert not form.refused and not form.apart and form.recordings == 1
    assert cuda.driver.calls.count("cuGraphLaunch") == 4 and "cuGraphExecKernelNodeSetParams" in cuda.driver.calls
    monkeypatch.setattr(programs, "GRAPHS", SimpleNamespace(value=False))
    expected, values = trained("gpu:0", layers)
    assert losses == expected
    for mine, x in zip(parameters, values, strict=True):
        np.testing.assert_array_equal(mine, x)
    np.testing.assert_allclose(losses, trained("cpu", layers)[0], rtol=1e-5)


def captured_affine(layer):
    @paddle.jit.to_static
    def function(x):
        return paddle.nn.functional.softmax(paddle.nn.functional.softmax(layer(x) * 2.0) * x.sum())

    return function


def run_twice(function, *inputs):
    with paddle.no_grad():
        for _ in range(2):
            function(*(paddle.to_tensor(x) for x in inputs))


X = np.arange(12, dtype=np.float32).reshape(3, 4) / 7


@pytest.mark.slow
def test_results_are_tensors_of_their_own(device, cuda, forms):
    function = captured_affine(paddle.nn.Linear(4, 4))
    with paddle.no_grad():
        results = [function(paddle.to_tensor(X * k)) for k in range(1, 6)]
        expected = [function.dygraph_function(paddle.to_tensor(X * k)).numpy() for k in range(1, 6)]
    for y, e in zip(results, expected, strict=True):
        np.testing.assert_allclose(y.numpy(), e, rtol=1e-6)


@pytest.fixture
def replayed(device, forms):
    """A function of one tensor whose calls are graphs, and its definition in NumPy."""
    function = paddle.jit.to_static(lambda x: (paddle.nn.functional.softmax(x, 1) + 1.0) @ x.t())
    for k in range(4):
        function(paddle.full([2, 3], float(k)))
    assert forms()[0].recording is not None

    def expected(x):
        e = np.exp(x - x.max(1, keepdims=True))
        return (e / e.sum(1, keepdims=True) + 1) @ x.T

    return function, expected


A, B = (np.arange(6, dtype=np.float32).reshape(2, 3) * k for k in (0.5, -0.25))


def test_a_call_on_another_stream_leaves_earlier_results_alone(device, replayed):
    function, expected = replayed
    a, b = paddle.to_tensor(A), paddle.to_tensor(B)
    one, two = paddle.device.Stream(), paddle.device.Stream()
    paddle.device.synchronize()
    with paddle.device.stream_guard(one):
        first = function(a)
    with paddle.device.stream_guard(two):
        second = function(b)
    two.synchronize()  # before anybody has waited for the first
    np.testing.assert_allclose(second.numpy(), expected(B), rtol=1e-5)
    np.testing.assert_allclose(first.numpy(), expected(A), rtol=1e-5)


def test_an_argument_of_another_stream_may_be_dropped(device, replayed):
    function, expected = replayed
    one, two = paddle.device.Stream(), paddle.device.Stream()
    with paddle.device.stream_guard(one):
        a = paddle.to_tensor(A) * 1.0
    two.wait_stream(one)
    with paddle.device.stream_guard(two):
        result = function(a)
    with paddle.device.stream_guard(one):
        del a
        others = [paddle.zeros([2, 3]) for _ in range(4)]
        one.synchronize()  # before the call is done
    np.testing.assert_allclose(result.numpy(), expected(A), rtol=1e-5)
    del others


def test_memory_that_is_given_up_is_written_to_on_its_own_stream_alone(device):
    x = paddle.to_tensor(A)
    executor = Executor(traced(lambda x: F.exp(F.mul(x, x)), x, dynamic=()), donate=[0])
    with paddle.device.stream_guard(paddle.device.Stream()):
        (y,) = executor(x)
    assert y.data_ptr() != x.data_ptr(), "work of its own stream may still read it"
    (y,) = executor(x)
    assert y.data_ptr() != x.data_ptr(), "work of the other one, too"
    x = paddle.to_tensor(A)
    (y,) = executor(x)
    assert y.data_ptr() == x.data_ptr()


def test_memory_of_a_recording_is_used_by_nobody_else(device, cuda, forms):
    """Two programs by turns, with other work between them."""
    first, second = (captured_affine(paddle.nn.Linear(4, 4)) for _ in range(2))
    x = paddle.to_tensor(X)
    with paddle.no_grad():
        expected = [f(x).numpy() for f in (first, second)]
        for _ in range(4):
            got = [second(x), first(x)]
            others = [paddle.full([n], -7.0) for n in (3, 12, 16, 64)]
            np.testing.assert_array_equal(got[1].numpy(), expected[0])
            np.testing.assert_array_equal(got[0].numpy(), expected[1])
            assert all((o.numpy() == -7).all() for o in others)


def test_parameters_elsewhere_are_recorded_anew(device, cuda, forms):
    """The graph knows addresses: values that are written there it reads, another memory it does not."""
    layer = paddle.nn.Linear(4, 4)
    function = captured_affine(layer)
    run_twice(function, X)
    x = paddle.to_tensor(X)
    with paddle.no_grad():
        layer.weight.set_value(layer.weight * 2.0)
        got, counts = counted(cuda, function, x)
        assert counts == REPLAYED
        np.testing.assert_allclose(got.numpy(), function.dygraph_function(x).numpy(), rtol=1e-6)
        inplace.rebind(layer.weight, layer.weight * 0.5)
        for recordings in (2, 2):
            got = function(x)
            np.testing.assert_allclose(got.numpy(), function.dygraph_function(x).numpy(), rtol=1e-6)
            assert [f.recordings for f in forms()] == [recordings]


def test_functions_of_the_user_run_between_two_graphs(device, cuda, forms):
    seen = []

    @paddle.library.custom_op("testing::noted", mutates_args=())
    def noted(x: paddle.Tensor, factor: float) -> paddle.Tensor:
        seen.append(factor)
        return x * factor

    noted.register_fake(lambda x, factor: paddle.empty_like(x))

    @paddle.jit.to_static
    def function(x, rate):
        return paddle.nn.functional.softmax(noted(x * 2.0 + x, rate)) + x

    with paddle.no_grad():
        for k in range(5):
            x = paddle.to_tensor(X + k)
            got, counts = counted(cuda, function, x, 0.5 + k)
            np.testing.assert_allclose(
                got.numpy(), paddle.nn.functional.softmax((x * 2.0 + x) * (0.5 + k)).numpy() + x.numpy(), rtol=1e-5
            )
    assert seen[-3:] == [2.5, 3.5, 4.5]
    assert any(f.apart and f.recording is not None for f in forms()) and counts["GraphLaunch"] == 2


@pytest.mark.slow
def test_gradients_outside_of_the_function(device, cuda, forms):
    """The forward part keeps what the backward part needs, for as long as somebody may ask."""
    function = captured_affine(paddle.nn.Linear(4, 4))
    for k in range(1, 4):
        inputs = [paddle.to_tensor(X * j, stop_gradient=False) for j in (k, k + 1)]
        outs = [(function(x) ** 2).sum() for x in inputs]  # both before either backward
        for x, y in reversed(list(zip(inputs, outs, strict=True))):
            y.backward()
            other = x.detach()
            other.stop_gradient = False
            (function.dygraph_function(other) ** 2).sum().backward()
            np.testing.assert_allclose(x.grad.numpy(), other.grad.numpy(), rtol=1e-4, atol=1e-6)


@pytest.mark.slow
def test_what_always_changes_runs_without_graphs(device, cuda, forms, monkeypatch):
    monkeypatch.setattr(programs, "MOST_RECORDINGS", 2)
    layer = paddle.nn.Linear(4, 4)
    function = captured_affine(layer)
    x = paddle.to_tensor(X)
    with paddle.no_grad():
        for _ in range(programs.MOST_RECORDINGS + 3):
            inplace.rebind(layer.weight, layer.weight * 0.9)
            np.testing.assert_allclose(function(x).numpy(), function.dygraph_function(x).numpy(), rtol=1e-6)
    (form,) = forms()
    assert form.refused == f"it was recorded {programs.MOST_RECORDINGS} times" and form.recording is None


@pytest.mark.slow
def test_each_class_of_sizes_has_graphs_of_its_own(device, cuda, forms):
    function = captured_affine(paddle.nn.Linear(4, 4))
    with paddle.no_grad():
        for rows in (3, 2, 3, 2, 1, 3, 2):
            x = paddle.to_tensor(X[:rows])
            np.testing.assert_allclose(function(x).numpy(), function.dygraph_function(x).numpy(), rtol=1e-6)
    assert sum(f.recording is not None for f in forms()) >= 2
