"""``append_backward`` with respect to any variables; parts with gradients of their own; assertions in programs."""

from __future__ import annotations

import numpy as np
import pytest

import paddle
from paddle import static
from paddle.static import Executor, append_backward, data, nn

X = np.array([[1.0, -2.0, 0.5], [0.25, 3.0, -1.0]], "float32")


def run(fetched, **feed):
    executor = Executor()
    executor.run(static.default_startup_program())
    return executor.run(feed=feed, fetch_list=list(fetched))


def network():
    x = data("x", [2, 3])
    x.stop_gradient = False
    linear = paddle.nn.Linear(3, 2)
    hidden = linear(x)
    square = hidden * hidden
    return {"x": x, "w": linear.weight, "b": linear.bias, "hidden": hidden, "square": square}


@pytest.mark.parametrize(
    "wanted", [["x"], ["w"], ["x", "w"], ["b", "hidden", "x"], ["square", "w", "w"], ["x", "alone", "constant"]]
)
def test_each_variable_of_the_list_has_a_pair(wanted, programs):
    found = network()
    found |= {"alone": data("alone", [3]), "constant": data("constant", [3])}
    found["alone"].stop_gradient = False
    loss = found["square"].mean()
    pairs = append_backward(loss, [found[k] for k in wanted])
    assert [p for p, _ in pairs] == [found[k] for k in wanted]
    assert [g is None for _, g in pairs] == [k in ("alone", "constant") for k in wanted]
    expected = static.gradients(loss, [p for p, g in pairs if g is not None])
    values = run([g for _, g in pairs if g is not None] + expected, x=X)
    half = len(values) // 2
    for got, want in zip(values[:half], values[half:], strict=True):
        np.testing.assert_array_equal(got, want)


def test_variables_of_the_list_by_name(programs):
    found = network()
    ((p, g),) = append_backward(found["square"].mean(), ["x"])
    assert p is found["x"]
    assert list(g.shape) == [2, 3]
    with pytest.raises(ValueError, match=r"names of variables of the program, got 'nowhere'"):
        append_backward(found["square"].mean(), ["nowhere"])


def test_variables_that_are_persistable_count_as_parameters_do(programs):
    found = network()
    loss = found["square"].mean()
    assert [p for p, _ in append_backward(loss)] == [found["w"], found["b"]]
    found["x"].persistable = found["hidden"].persistable = True
    data("stopped", [3]).persistable = True
    assert [p for p, _ in append_backward(loss)] == [found[k] for k in ("w", "b", "x", "hidden")]
    loss_of_steps = paddle.optimizer.SGD(0.1, parameters=[found["w"]]).minimize(loss)[1]
    assert [p for p, _ in loss_of_steps] == [found["w"]]


def test_a_loss_of_several_elements_is_summed(programs):
    found = network()
    pairs = append_backward(found["square"], [found["x"], found["w"]])
    of_sum = append_backward(found["square"].sum(), [found["x"], found["w"]])
    a, b, c, d = run([g for _, g in pairs + of_sum], x=X)
    np.testing.assert_array_equal(a, c)
    np.testing.assert_array_equal(b, d)


@pytest.mark.parametrize(
    ("forward", "backward", "of_x", "of_y"),
    [
        (lambda x, y: (y, x), lambda g, h: (g * 2, h * 3), lambda g, h: g * 2, lambda g, h: h * 3),
        (lambda x, y: [x, y * 2], lambda g, h: [h, g], lambda g, h: h, lambda g, h: g),
        (lambda x, y: (x, x), lambda g, h: (g + h, None), lambda g, h: g + h, None),
    ],
)
def test_a_part_with_a_gradient_may_return_its_inputs(forward, backward, of_x, of_y, programs):
    x, y = data("x", [2, 3]), data("y", [2, 3])
    x.stop_gradient = y.stop_gradient = False
    results = nn.static_pylayer(forward, [x, y], backward)
    assert type(results) is list
    a, b = results
    pairs = append_backward((a * a + b * 3.0).sum(), [x, y])
    made = [g for _, g in pairs if g is not None]
    first, second, *grads = run([a, b, *made], x=X, y=X + 1)
    want = forward(X, X + 1)
    np.testing.assert_array_equal(first, want[0])
    np.testing.assert_array_equal(second, want[1])
    seeds = 2 * want[0], np.full_like(X, 3.0)
    expected = [f(*seeds) for f in (of_x, of_y) if f is not None]
    for got, value in zip(grads, expected, strict=len(made) == len(expected)):
        np.testing.assert_allclose(got, value, rtol=1e-6)


def test_a_part_without_results_or_gradient(programs):
    x = data("x", [2, 3])
    assert nn.static_pylayer(lambda x: None, [x]) is None
    x.stop_gradient = False
    with pytest.raises(ValueError, match=r"no gradient without backward_fn, got \['x'\]"):
        nn.static_pylayer(lambda x: x, [x])


def test_gradients_of_parameters_that_a_branch_makes(programs):
    def layer(x, first):
        return nn.fc(x, 1, weight_attr=paddle.ParamAttr(initializer=paddle.nn.initializer.Constant(first))).sum()

    x, flag = data("x", [2, 3]), data("flag", [1], "bool")
    loss = nn.cond(flag, lambda: layer(x, 0.5), lambda: layer(x, 0.25) * 2)
    paddle.optimizer.SGD(0.1).minimize(loss)
    executor = Executor()
    executor.run(static.default_startup_program())

    def at(now):
        return float(executor.run(feed={"x": X, "flag": np.array([now])}, fetch_list=[loss])[0])

    step = float((X.sum(0) ** 2).sum() + 4) * 0.1  # of weights and bias
    assert at(True) == pytest.approx(X.sum() * 0.5, rel=1e-5)
    assert at(True) == pytest.approx(X.sum() * 0.5 - step, rel=1e-5)
    assert at(False) == pytest.approx(X.sum() * 0.5, rel=1e-5)
    assert at(False) == pytest.approx(X.sum() * 0.5 - 4 * step, rel=1e-5)


@pytest.mark.parametrize("shown", [None, [], 1, 2])
def test_assertions(shown, programs, capsys):
    x = data("x", [None])
    given = [x, x * 2][:shown] if isinstance(shown, int) else shown
    nn.control_flow.Assert((x < 3).all(), given, 2, name="small")
    y = x + 1
    executor = Executor()
    feed = {"x": np.array([0.5, 1.0, 2.0], "float32")}
    np.testing.assert_allclose(executor.run(feed=feed, fetch_list=[y])[0], feed["x"] + 1)
    assert capsys.readouterr().out == ""
    with pytest.raises(ValueError, match=r"\[Assert\] requires a condition that is true, got False \(small\)"):
        executor.run(feed={"x": feed["x"] + 1}, fetch_list=[y])
    printed = capsys.readouterr().out
    assert ("1.5" in printed, "3." in printed, "5." in printed) == (bool(given), shown == 2, False)


def test_assertions_in_loops(programs):
    def body(i):
        nn.control_flow.Assert(i < 3, [i])
        return i + 1

    n = data("n", [1], "int64")
    (i,) = nn.while_loop(lambda i: i < n, body, [paddle.zeros([1], "int64")])
    assert Executor().run(feed={"n": np.array([3])}, fetch_list=[i])[0] == 3
    with pytest.raises(ValueError, match="condition that is true"):
        Executor().run(feed={"n": np.array([4])}, fetch_list=[i])


def test_assertions_at_once():
    nn.control_flow.Assert(paddle.to_tensor([True]))
    with pytest.raises(ValueError, match="condition that is true"):
        nn.control_flow.Assert(paddle.to_tensor(False), [paddle.ones([2])])
    for wrong in (True, paddle.ones([1]), paddle.to_tensor([True, True])):
        with pytest.raises(TypeError, match="a bool tensor with one element"):
            nn.control_flow.Assert(wrong)


@pytest.mark.parametrize("fns", [[(1,)], [(1, lambda: 1, lambda: 2)]])
def test_pairs_of_another_length(fns):
    with pytest.raises(TypeError, match="pairs of an int and a function"):
        nn.switch_case(paddle.ones([1], "int32"), fns)


def test_a_gradient_behind_a_step_is_that_of_what_was_computed_before_it(programs):
    w, v = (
        paddle.create_parameter([1], "float32", default_initializer=paddle.nn.initializer.Constant(n)) for n in (2, 3)
    )
    first, second = w.sum(), (v * w * w).sum()
    paddle.optimizer.SGD(0.5).minimize(first, parameters=[w])
    paddle.optimizer.SGD(1.0).minimize(second, parameters=[v])
    assert [x.item() for x in run([w, v])] == [1.5, 3.0 - 2.0 * 2.0]
