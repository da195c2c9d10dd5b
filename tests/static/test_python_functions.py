"""Python functions as nodes of programs and captured functions; ``Print``."""

from __future__ import annotations

import numpy as np
import pytest

import paddle
from paddle import static
from paddle.static import Executor, data

X = np.array([[1.0, -2.0], [0.5, 3.0]], "float32")


def variable(name, shape, dtype="float32"):
    return static.default_main_program().global_block().create_var(name=name, shape=shape, dtype=dtype)


def cube(x):
    return np.asarray(x) ** 3


def cube_gradient(x, y, g):
    return 3 * np.asarray(x) ** 2 * np.asarray(g)


def test_a_function_in_a_captured_function():
    calls = []

    def function(x):
        calls.append(tuple(x.shape))
        return cube(x)

    @paddle.jit.to_static
    def f(x):
        y = static.py_func(function, x * 2, static.InputSpec([-1, 2], "float32"), cube_gradient)
        return (y * 0.5).sum()

    for n in (2, 2, 3):
        x = paddle.to_tensor(np.tile(X[:1], [n, 1]), stop_gradient=False)
        loss = f(x)
        loss.backward()
        np.testing.assert_allclose(float(loss), n * (4.0 - 32.0), rtol=1e-6)
        np.testing.assert_allclose(x.grad.numpy()[0], 12 * X[0] ** 2, rtol=1e-6)
    assert calls[-2:] == [(2, 2), (3, 2)]


def test_a_function_at_once_in_dynamic_mode():
    x = paddle.to_tensor(X, stop_gradient=False)
    y = static.py_func(cube, x, paddle.empty([2, 2]), cube_gradient)
    y.sum().backward()
    np.testing.assert_allclose(y.numpy(), X**3)
    np.testing.assert_allclose(x.grad.numpy(), 3 * X**2)


def test_what_has_no_result_is_called_in_order(programs):
    seen = []
    x = data("x", [None])
    assert static.py_func(lambda v: seen.append(float(np.asarray(v).sum())), x, None) is None
    static.py_func(lambda v: seen.append(-float(np.asarray(v).sum())), x * 2, None)
    exe = Executor()
    for n in (1, 2):
        exe.run(feed={"x": np.ones(n, "float32")})
    assert seen == [1.0, -2.0, 2.0, -4.0]


def test_sizes_follow_the_inputs(programs):
    x = data("x", [None, 2])
    y = variable("y", [-1, 2])
    static.py_func(lambda v: np.asarray(v)[::-1], x, y)
    assert y.shape[0] is x.shape[0]
    z = y.sum(1)
    for n in (1, 3):
        got = Executor().run(feed={"x": np.arange(2.0 * n, dtype="float32").reshape(n, 2)}, fetch_list=[z])[0]
        assert got.tolist() == [float(4 * k + 1) for k in reversed(range(n))]


def test_functions_of_numpy_take_what_they_are_given(programs):
    x = data("x", [2])
    x.stop_gradient = False
    y, n = variable("y", [2]), variable("n", [1], "int64")
    static.py_func(lambda v: (np.tanh(v), np.array([v.shape[0]])), x, [y, n], lambda v, y, n, g, _: g * (1 - y * y))
    (g,) = static.gradients(y.sum(), x)
    got = Executor().run(feed={"x": np.array([0.5, -1.0], "float32")}, fetch_list=[y, n, g])
    np.testing.assert_allclose(got[0], np.tanh([0.5, -1.0]), rtol=1e-6)
    assert got[1].tolist() == [2]
    np.testing.assert_allclose(got[2], 1 - np.tanh([0.5, -1.0]) ** 2, rtol=1e-5)


def test_gradients_that_are_not_given_are_zeros_and_skipped_variables_are_not_given(programs):
    given = []

    def backward(*args):
        given.append(len(args))
        return None, np.asarray(args[-1]) * 2

    a, b = data("a", [2]), data("b", [2])
    a.stop_gradient = b.stop_gradient = False
    y = variable("y", [2])
    static.py_func(lambda a, b: np.asarray(a) + np.asarray(b), [a, b], y, backward, [a, "y"])
    grads = static.gradients(y.sum(), [a, b])
    ones = np.ones(2, "float32")
    got = Executor().run(feed={"a": ones, "b": ones}, fetch_list=grads)
    assert [g.tolist() for g in got] == [[0.0, 0.0], [2.0, 2.0]]
    assert given == [2]  # b, and the gradient


def test_without_a_gradient_function_nothing_flows(programs):
    x = data("x", [2])
    x.stop_gradient = False
    y = variable("y", [2])
    static.py_func(cube, x, y)
    assert y.stop_gradient
    assert static.gradients([y * 2.0], [x]) == [None]


def test_inside_of_a_branch(programs):
    x = data("x", [None])

    def called():
        return static.py_func(cube, x, static.InputSpec([-1], "float32"))

    y = static.nn.cond(x.sum() > 0, called, lambda: -x)
    exe = Executor()
    assert exe.run(feed={"x": np.array([2.0], "float32")}, fetch_list=[y])[0].tolist() == [8.0]
    assert exe.run(feed={"x": np.array([-2.0], "float32")}, fetch_list=[y])[0].tolist() == [2.0]


WRONG = {
    "shape": (lambda v: np.zeros(3, "float32"), r"result 0 of shape \[2\]"),
    "kind": (lambda v: np.zeros(2, "complex64"), "dtype float32, as it was declared"),
    "count": (lambda v: (v, v), "1 results"),
    "none": (lambda v: None, "1 results"),
}


@pytest.mark.parametrize("case", WRONG)
def test_results_are_as_they_were_declared(case, programs):
    function, message = WRONG[case]
    y = variable("y", [2])
    static.py_func(function, data("x", [2]), y)
    with pytest.raises(ValueError, match=message):
        Executor().run(feed={"x": np.ones(2, "float32")}, fetch_list=[y])


def test_errors_of_functions_are_theirs(programs):
    def fail(v):
        raise KeyError("mine")

    y = variable("y", [2])
    static.py_func(fail, data("x", [2]), y)
    with pytest.raises(KeyError, match="mine"):
        Executor().run(feed={"x": np.ones(2, "float32")}, fetch_list=[y])


def test_what_is_refused(programs):
    x, y = data("x", [2]), variable("y", [-1])
    for error, message, arguments in (
        (TypeError, "a func that can be called", (1, x, y)),
        (TypeError, "a backward_func that can be called", (cube, x, y, 1)),
        (TypeError, "variables or InputSpecs", (cube, x, "y")),
        (ValueError, "which no input has", (cube, None, y)),
        (ValueError, "variables of x and out to skip", (cube, x, y, cube_gradient, ["other"])),
    ):
        with pytest.raises(error, match=message):
            static.py_func(*arguments)
    with pytest.raises(ValueError, match="no other variable"):
        variable("y", [2])


def test_variables_and_gradients_are_printed(programs, capsys):
    x = data("x", [3])
    x.stop_gradient = False
    y = static.Print(x, first_n=2, message="here", summarize=2)
    (g,) = static.gradients((y * y).sum(), [x])
    exe = Executor()
    for _ in range(3):
        assert exe.run(feed={"x": np.arange(3, dtype="float32")}, fetch_list=[g])[0].tolist() == [0.0, 2.0, 4.0]
    lines = capsys.readouterr().out.splitlines()
    assert lines.count("Variable: x") == lines.count("Variable: x@GRAD") == 2
    assert lines[:6] == [
        "Variable: x", "  - message: here", "  - place: Place(cpu)", "  - shape: [3]", "  - dtype: float32",
        "  - data: [0.0 1.0]",
    ]  # fmt: skip


def test_the_phase_of_printing(programs, capsys):
    x = data("x", [1])
    x.stop_gradient = False
    (g,) = static.gradients(static.Print(x, print_phase="backward", print_tensor_shape=False) * 2, [x])
    Executor().run(feed={"x": np.ones(1, "float32")}, fetch_list=[g])
    lines = capsys.readouterr().out.splitlines()
    assert lines == ["Variable: x@GRAD", "  - place: Place(cpu)", "  - dtype: float32", "  - data: [2.0]"]
    with pytest.raises(ValueError, match="print_phase"):
        static.Print(x, print_phase="never")


def test_printed_gradients_can_be_differentiated(programs, capsys):
    x = data("x", [1])
    x.stop_gradient = False
    (first,) = static.gradients(static.Print(x) ** 3, [x])
    (second,) = static.gradients(first, [x])
    assert Executor().run(feed={"x": np.full(1, 2.0, "float32")}, fetch_list=[second])[0].item() == 12.0
