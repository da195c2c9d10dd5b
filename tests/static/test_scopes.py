"""Values that are put into scopes by name; runs that are asked to prune; sizes of variables that are made."""

from __future__ import annotations

import numpy as np
import pytest

import paddle
from paddle import static
from paddle.static import Executor, data
from umiak.runtime.program_tracer import outside

X = np.array([[1.0, -2.0, 0.5], [0.25, 3.0, -1.0]], "float32")


@pytest.mark.parametrize("guarded", [False, True])
def test_a_program_runs_with_values_that_a_scope_was_given(guarded, programs):
    w = paddle.create_parameter([3, 1], "float32", name="given")
    y = data("x", [None, 3]).matmul(w)
    scope = static.Scope()
    held = scope.var("given")
    assert scope.find_var("given").name() == "given"
    with pytest.raises(RuntimeError, match="a value for 'given', got none"):
        np.array(held.get_tensor())
    assert scope.local_var_names() == []
    for value in (np.full([3, 1], 2.0, "float32"), np.arange(3.0, dtype="float32").reshape(3, 1)):
        held.get_tensor().set(value, paddle.CPUPlace())
        if guarded:
            with static.scope_guard(scope):
                (got,) = Executor().run(feed={"x": X}, fetch_list=[y])
        else:
            (got,) = Executor().run(feed={"x": X}, fetch_list=[y], scope=scope)
        np.testing.assert_allclose(got, X @ value, rtol=1e-6)
        np.testing.assert_array_equal(np.array(scope.var("given").get_tensor()), value)
    assert static.global_scope().find_var("given") is None
    assert scope.find_var("other") is None


def test_runs_that_are_asked_to_prune_train(programs):
    layer = paddle.nn.Linear(3, 1)
    loss = layer(data("x", [None, 3])).sum()
    other = data("unfed", [1]) * 2
    paddle.optimizer.SGD(0.5).minimize(loss)
    executor = Executor()
    executor.run(static.default_startup_program())
    held = static.global_scope().find_var(layer.weight.name).get_tensor()
    before = np.array(held)
    executor.run(feed={"x": X}, fetch_list=[loss], use_prune=True)
    np.testing.assert_allclose(np.array(held), before - 0.5 * X.sum(0)[:, None], rtol=1e-5)
    with pytest.raises(KeyError, match="unfed"):
        executor.run(feed={"x": X}, fetch_list=[other], use_prune=True)


@pytest.mark.parametrize("make", [paddle.create_parameter, lambda s, d: static.create_global_var(s, 1.0, d)])
def test_sizes_of_what_is_made(make, programs):
    for shape in ([2, 3], (2, np.int64(3)), np.array([2, 3])):
        assert list(make(shape, "float32").shape) == [2, 3]
    for shape in ([2.5], ["a"], "ab", None, [None]):
        with pytest.raises(TypeError, match="requires a shape of ints"):
            make(shape, "float32")
    with pytest.raises(ValueError, match="sizes that are known"):
        make([-1, 2], "float32")


def test_variables_as_betas(programs):
    beta = static.create_global_var([1], 0.9, "float32")
    with pytest.raises(TypeError, match="numbers as beta1, beta2 and epsilon in static mode, got a variable"):
        paddle.optimizer.Adam(0.1, beta1=beta)
    with pytest.raises(ValueError, match="device_guard"), static.device_guard("cpu:1"):
        pass


def test_the_corrections_of_tensors_as_betas():
    x = paddle.create_parameter([1], "float32", default_initializer=paddle.nn.initializer.Constant(1.0))
    beta1, beta2 = paddle.to_tensor([0.8]), paddle.to_tensor([0.9])
    adam = paddle.optimizer.Adam(0.1, beta1=beta1, beta2=beta2, epsilon=0.0, parameters=[x])
    for step in range(1, 4):
        x.sum().backward()
        adam.step()
        adam.clear_grad()
        np.testing.assert_allclose(x.numpy(), 1 - 0.1 * step, rtol=1e-5)  # each gradient is 1


@pytest.mark.parametrize("batches", [1, 2, 3])
def test_steps_of_averaged_descent_are_those_of_eager_calls(batches, programs):
    first = paddle.ParamAttr(initializer=paddle.nn.initializer.Constant(0.3))

    def network(x):
        layer = paddle.nn.Linear(3, 1, weight_attr=first, bias_attr=False)
        return layer, lambda: (layer(x) ** 2).mean()

    loss = network(data("x", [2, 3]))[1]()
    paddle.optimizer.ASGD(0.1, batches).minimize(loss)
    executor = Executor()
    executor.run(static.default_startup_program())
    losses = [executor.run(feed={"x": X}, fetch_list=[loss])[0].item() for _ in range(6)]
    with outside():
        layer, compute = network(paddle.to_tensor(X))
        descent = paddle.optimizer.ASGD(0.1, batches, parameters=layer.parameters())
        for recorded in losses:
            eager = compute()
            assert float(eager) == pytest.approx(recorded, rel=1e-4)
            eager.backward()
            descent.step()
            descent.clear_grad()


def test_writes_in_place_are_those_of_eager_calls(programs):
    x = data("x", [2, 3])
    x.stop_gradient = False
    y = x * 2
    y[0] = 1.0
    paddle.tanh_(y)
    (grad,) = static.gradients(y.sum(), x)
    got, slope = Executor().run(feed={"x": X}, fetch_list=[y, grad])
    expected = np.tanh(np.stack([np.ones(3, "float32"), X[1] * 2]))
    np.testing.assert_allclose(got, expected, rtol=1e-5)
    np.testing.assert_allclose(slope, [np.zeros(3), 2 * (1 - expected[1] ** 2)], rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("rate", [0.25, "schedule"])
def test_the_rate_of_an_optimizer_is_a_variable_of_its_programs(rate, programs):
    schedule = paddle.optimizer.lr.ExponentialDecay(0.5, 0.5)
    optimizer = paddle.optimizer.Momentum(schedule if rate == "schedule" else rate)
    assert optimizer._global_learning_rate() is None
    x = data("x", [2, 3])
    optimizer.minimize(paddle.nn.Linear(3, 1)(x).mean())
    variable = optimizer._global_learning_rate()
    doubled = variable * 2
    assert (variable.shape, variable.dtype) == ([], paddle.float32)
    copied = static.default_main_program().clone()
    executor = Executor()
    executor.run(static.default_startup_program())
    for program in (static.default_main_program(), copied):
        for _ in range(3):
            got = executor.run(program, feed={"x": X}, fetch_list=[variable, variable.name, doubled])
            assert [float(g) for g in got] == [optimizer.get_lr(), optimizer.get_lr(), 2 * optimizer.get_lr()]
            schedule.step()
    if rate != "schedule":
        optimizer.set_lr(0.125)
        assert executor.run(feed={"x": X}, fetch_list=variable)[0] == 0.125


def _counting():
    """A variable that each run adds 1 to, and the double of what it was before."""
    p = paddle.create_parameter([1], "float32", name="p", default_initializer=paddle.nn.initializer.Constant(1.0))
    p.stop_gradient = True
    y = p * 2
    paddle.assign(p + 1, p)
    return y


@pytest.mark.parametrize("started_inside", [False, True])
def test_programs_in_an_inner_scope_share_the_values_around_it(started_inside, programs):
    y, scope = _counting(), static.Scope()
    inner = scope.new_scope().new_scope()
    Executor().run(static.default_startup_program(), scope=inner if started_inside else scope)
    found = [Executor().run(fetch_list=[y], scope=s)[0].item() for s in (inner, scope, inner)]
    assert found == [2.0, 4.0, 6.0]
    assert (inner.local_var_names(), scope.local_var_names()) == ([], ["p"])
    inner.var("p").set(np.full(1, 10.0, "float32"))
    found = [Executor().run(fetch_list=[y], scope=s)[0].item() for s in (inner, scope, inner)]
    assert found == [20.0, 8.0, 22.0]
    inner.erase(["p", "other"])
    assert Executor().run(fetch_list=[y], scope=inner)[0].item() == 10.0


def test_steps_of_an_optimizer_are_counted_for_the_scope_around(programs):
    layer = paddle.nn.Linear(3, 1)
    loss = layer(data("x", [None, 3])).sum()
    paddle.optimizer.Adam(0.1, weight_decay=0.5).minimize(loss)
    losses = []
    for scopes in (lambda s: (s, s, s), lambda s: (s, s.new_scope(), s.new_scope())):
        scope = static.Scope()
        paddle.seed(3)
        Executor().run(static.default_startup_program(), scope=scope)
        losses.append([Executor().run(feed={"x": X}, fetch_list=[loss], scope=s)[0].item() for s in scopes(scope)])
    assert losses[0] == losses[1]


def test_a_scope_finds_what_is_held_around_it():
    scope = static.Scope()
    inner = scope.new_scope()
    scope.var("x").set(np.ones(2, "float32"))
    inner.find_var("x").set(np.full(2, 7.0, "float32"))
    assert np.array(scope.find_var("x")).tolist() == [7.0, 7.0]
    inner.var("x").set(np.zeros(3, "float32"))
    assert (scope.find_var("x").shape(), inner.find_var("x").shape()) == ([2], [3])
    inner.var("y")
    assert scope.find_var("y") is None
    scope.drop_kids()
    assert inner.find_var("x").shape() == [3]
