"""Arrays of tensors in static programs: in loops and branches whose way data decide they do what lists do."""

from __future__ import annotations

import numpy as np
import pytest

import paddle
from paddle import static
from paddle.static.nn import cond, while_loop
from paddle.tensor import array_length, array_read, array_write, create_array
from paddle.tensor.manipulation import tensor_array_to_tensor

X = np.linspace(-0.6, 0.9, 6, dtype="float32").reshape(2, 3)


def counter(n=0):
    return paddle.full([], n, "int64")


def carried(n, x):
    """One that a loop carries."""
    array = array_write(x, counter(), create_array("float32"))

    def step(i, a):
        return i + 1, array_write(array_read(a, i) * 0.5 + x, i + 1, a)

    _, array = while_loop(lambda i, a: i < n, step, [counter(), array])
    return paddle.stack(array), array_length(array), array_read(array, -1)


def outside(n, x):
    """One that the body writes to, which is none of its values."""
    array = create_array("float32")

    def step(i):
        array_write(paddle.tanh(x) + i.astype("float32"), i, array)
        return i + 1

    while_loop(lambda i: i <= n, step, [counter()])
    y, sizes = tensor_array_to_tensor(array, 0)
    z, ones = tensor_array_to_tensor(array, 1, use_stack=True)
    return y, sizes, z, ones


def overwritten(n, x):
    """Places that are there already, by numbers that data decide."""
    array = create_array("float32", [x, x * 2, x * 3])

    def step(i):
        array_write(array_read(array, i % 3) + 1.0, (i + 1) % 3, array)
        return i + 1

    while_loop(lambda i: i < n, step, [counter()])
    return paddle.concat(array, 1), array_length(array)


def chosen(n, x):
    """Written on one way of a branch, inside of a loop or not."""
    array = create_array("float32", [x])
    cond(n > 1, lambda: array.append(x + 1), lambda: None)

    def step(i):
        cond(i % 2 == 0, lambda: array.append(x * i.astype("float32")), lambda: None)
        return i + 1

    while_loop(lambda i: i < n, step, [counter()])
    return paddle.stack(array, -1), paddle.add_n(array)


def nested(n, x):
    """A loop in a loop."""
    array = create_array("float32", [x])

    def outer(i):
        def inner(j):
            array_write(array_read(array, 0) * 0.9 + j.astype("float32"), array_length(array), array)
            return j + 1

        while_loop(lambda j: j < i, inner, [counter()])
        return i + 1

    while_loop(lambda i: i < n, outer, [counter()])
    return paddle.stack(array), paddle.stack(array[1:] + [x])  # noqa: RUF005 the operator is meant


ARRAYS = [carried, outside, overwritten, chosen, nested]


def eager(function, n):
    with paddle.base.dygraph.guard():
        x = paddle.to_tensor(X, stop_gradient=False)
        ys = function(paddle.to_tensor(n), x)
        sum(paddle.tanh(y).sum() for y in ys if isinstance(y, paddle.Tensor) and not y.stop_gradient).backward()
        return [np.asarray(y) for y in ys], x.grad.numpy()


@pytest.mark.parametrize("function", ARRAYS)
def test_programs_do_what_eager_calls_do(programs, function, tmp_path):
    n, x = paddle.static.data("n", [], "int64"), paddle.static.data("x", [None, 3])
    x.stop_gradient = False
    ys = function(n, x)
    (g,) = paddle.static.gradients(sum(paddle.tanh(y).sum() for y in ys if not y.stop_gradient), [x])
    exe = paddle.static.Executor()
    expected = {k: eager(function, k) for k in (0, 1, 4)}

    def same(found, k):
        for y, wanted in zip(found, expected[k][0], strict=True):
            np.testing.assert_allclose(y.reshape(wanted.shape), wanted, rtol=1e-5, atol=1e-6)

    for k in (0, 1, 4, 0):
        *found, gradient = exe.run(feed={"n": np.array(k), "x": X}, fetch_list=[*ys, g])
        same(found, k)
        np.testing.assert_allclose(gradient, expected[k][1], rtol=1e-5, atol=1e-6)
    prefix = str(tmp_path / "m")
    paddle.static.save_inference_model(prefix, [n, x], [y + 0 for y in ys], exe)
    program, names, results = paddle.static.load_inference_model(prefix, exe)
    for k in expected:
        same(exe.run(program, feed=dict(zip(names, (np.array(k), X), strict=True)), fetch_list=results), k)


def test_arrays_are_checked_when_they_run(programs):
    n, x = paddle.static.data("n", [], "int64"), paddle.static.data("x", [None, 3])
    array = create_array("float32", [x])
    y = array_read(array, n)
    exe = paddle.static.Executor()
    np.testing.assert_array_equal(exe.run(feed={"n": np.array(0), "x": X}, fetch_list=[y])[0], X)
    with pytest.raises(ValueError, match="array_read"):
        exe.run(feed={"n": np.array(1), "x": X}, fetch_list=[y])
    with pytest.raises(TypeError, match="float32"):
        array_write(n, 1, array)
    with pytest.raises(IndexError, match="from -1 to 1"):
        array_write(x, 2, array)
    while_loop(lambda i: i < n, lambda i: (array_write(x, i + 1, array), i + 1)[1], [counter()])
    with pytest.raises(TypeError, match=r"paddle\.stack"):
        len(array)


def test_an_array_holds_what_a_tensor_was_when_it_was_written():
    """The reference's counters are incremented in place."""
    paddle.enable_static()
    try:
        main = paddle.static.Program()
        with paddle.static.program_guard(main):
            i = paddle.zeros([1], "int64")
            array = array_write(i, i)
            paddle.increment(i)
            array = array_write(i, i, array)
            paddle.increment(i)
            first = array_read(array, 0)
            paddle.increment(first)
            fetched = [array_read(array, paddle.zeros([1], "int64")), array_read(array, 1), i]
        values = paddle.static.Executor().run(main, fetch_list=fetched)
    finally:
        paddle.disable_static()
    assert [v.item() for v in values] == [0, 1, 2]


@pytest.mark.parametrize("return_numpy", [True, False])
def test_arrays_are_fetched_as_lists(return_numpy, programs):
    x = static.data("x", [None, 2])
    places = [paddle.full([1], i, "int64") for i in range(3)]
    known = array_write(x, places[0])
    array_write(x[:1] * 2, places[1], known)
    grown = array_write(x, places[0])

    def body(i):
        array_write(x + i.astype("float32"), i, grown)
        return i + 1

    (i,) = while_loop(lambda i: i < 3, body, [places[1]])
    empty = create_array("float32")
    executor, feed = static.Executor(), {"x": np.arange(4, dtype="float32").reshape(2, 2)}
    fetched = [known, i, grown, empty, x]
    first, count, second, none, same = executor.run(feed=feed, fetch_list=fetched, return_numpy=return_numpy)
    assert (len(first), int(count[0]), len(second), none) == (2, 3, 3, [])
    v = feed["x"]
    for got, want in zip([*first, *second, same], [v, v[:1] * 2, v, v + 1, v + 2, v], strict=True):
        assert isinstance(got, np.ndarray) == return_numpy
        np.testing.assert_array_equal(np.asarray(got), want)
