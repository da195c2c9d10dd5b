"""Names that are given the elements of a tensor whose first size is open: saved models check that there are as many."""

from __future__ import annotations

import numpy as np
import pytest

import paddle
from paddle import inference
from paddle.static import InputSpec


def names(x):
    a, b, c = x
    return a * 2 + b - c


def lists(x):
    [a, b], c = x[1:], x[0]
    return a - b * c


def loop(x):
    y = x[0].sum() * 0
    for a, b, c in x.reshape([x.shape[1], x.shape[0]]):
        y = y + a * b - c
    return y


def nested(x):
    y = x[0] * 0
    for i, (a, b, c) in enumerate([x, x + 1]):
        y = y + a * b - c * i
    return y


def branch(x):
    y = x[0]
    if x.sum() > 0:
        y, _, z = x
        y = y + z
    return y


def comprehension(x):
    return sum([a * c for a, b, c in [x, x * 2] if b.sum() > 0])


def of_data(x):
    a, b, c = x.flatten()[x.flatten() > 2]
    return a * b - c


def twice(x):
    [a, b, c] = d, e, f = x
    return a * f - b * e + c * d


X = np.array([[1, 2], [3, 4], [5, 0.5]], "float32")


def saved(f, path):
    paddle.jit.save(paddle.jit.to_static(f, full_graph=True, input_spec=[InputSpec([None, None])]), path)
    predictor = inference.create_predictor(inference.Config(f"{path}.json", f"{path}.pdiparams"))
    return paddle.jit.load(path), lambda x: predictor.run([x])[0]


@pytest.mark.parametrize("f", [names, lists, loop, nested, branch, comprehension, of_data, twice])
def test_unpacked_tensors(f, tmp_path):
    x = paddle.to_tensor(X)
    for run in saved(f, str(tmp_path / "model")):
        np.testing.assert_allclose(run(x).numpy(), f(x).numpy())


@pytest.mark.parametrize("f", [names, loop, nested, branch, of_data])
@pytest.mark.parametrize("rows", [2, 4])
def test_others_than_are_expected(f, rows, tmp_path):
    x = paddle.arange(rows * 2, dtype="float32").reshape([rows, 2]) + (1 if rows == 4 else 0)
    for run in (f, *saved(f, str(tmp_path / "model"))):
        with pytest.raises(ValueError, match=r"values to unpack"):
            run(x)


def test_errors_that_python_raises_elsewhere():
    def f(x, pairs):
        (a, b), c = pairs
        return x + a + b + c

    captured = paddle.jit.to_static(f, full_graph=True)
    x = paddle.ones([2])
    assert captured(x, ((1, 2), 3)).tolist() == [7, 7]
    for pairs in (((1, 2, 3), 4), ((1,), 4)):
        for run in (f, captured):
            with pytest.raises(ValueError, match="values to unpack"):
                run(x, pairs)


def whole_tuple(x):
    c = a, (b, d) = x, (x + 1, x * 2)
    return type(c) is tuple, a + b * d


def whole_list(x):
    made = [x, (x, x)]
    kept = a, (b, _) = made
    made.append(x)
    return len(kept), kept is made, a + b


def inner_list(x):
    pair = [x, x + 1]
    (a, b), c = held = pair, 2
    return held[0] is pair, type(held) is tuple, a * b + c


@pytest.mark.parametrize("f", [whole_tuple, whole_list, inner_list])
@pytest.mark.parametrize("full_graph", [True, False])
def test_what_else_is_given_the_value_has_the_value_itself(f, full_graph):
    x = paddle.to_tensor(X)
    *got, y = paddle.jit.to_static(f, full_graph=full_graph)(x)
    *want, z = f(x)
    assert got == want
    np.testing.assert_array_equal(y.numpy(), z.numpy())


def test_a_tensor_of_open_length_that_is_given_a_name_too_is_refused(tmp_path):
    def f(x):
        c = a, b = x
        return c + a + b

    with pytest.raises(Exception, match="no fixed number"):
        saved(f, str(tmp_path / "model"))
