"""Sizes that programs hold in tensors, as ``paddle.shape`` gives them: one program for all sizes, also saved."""

import math

import numpy as np
import pytest

import paddle
from paddle import inference
from paddle.static import InputSpec


def rows(x):
    return x.reshape([paddle.shape(x)[0], -1])


def halves(x):
    half = paddle.shape(x)[0] // 2
    return paddle.concat([x[:half], x[half:] * 2])


def number(x):
    return x.reshape([paddle.to_tensor(x.shape[0]), -1])


def numbers(x):
    return x.reshape(paddle.to_tensor([x.shape[0], 4], dtype="int32"))


def nested(x):
    return paddle.to_tensor([[x.shape[0], 1.5], [2, x.shape[0] / 4]]) + x.sum()


def quotient(x):
    groups = paddle.to_tensor(x.reshape([-1, 2, 4]).shape[0] // 2 * 2, dtype="int32")
    return x.reshape([groups, -1])


def product(x):
    return x.reshape([paddle.prod(paddle.to_tensor([x.shape[0], 2])), -1])


def places(x):
    b, c = paddle.shape(x)
    return x + paddle.arange(b * c).reshape([b, c]).astype("float32") + paddle.zeros([b, c])


def filled(x):
    n = paddle.full([1], x.shape[0], "int32")
    return x.expand([n, 4]) * n.astype("float32")


def item(x):
    return x.reshape([paddle.shape(x)[0].item(), -1])


def resized(x):
    image = x.reshape([1, 1, paddle.shape(x)[0], 4])
    return paddle.nn.functional.interpolate(image, size=paddle.shape(image)[2:] * 2)


def as_int(x):
    return x[: int(x.shape[0] / 2)] * float(x.shape[0])


def rounded(x):
    return paddle.concat([x[: math.floor(x.shape[0] / 3)], x[math.ceil(x.shape[0] / 3) :]])


def products(x):
    return x.reshape([math.prod(x.shape) // 2, -1]) * math.prod(x.shape[:2])


def extremes(x):
    return x[: min(x.shape[0], 6)].sum() * max(x.shape[0], x.shape[1] * 2, 7)


def rolled(x):
    return paddle.roll(x, x.shape[0] // 4, 0)


def padded(x):
    return paddle.nn.functional.pad(x, [0, 0, 0, (5 - x.shape[0] % 5) % 5], value=2.0)


FUNCTIONS = [rows, halves, number, numbers, nested, quotient, product, places, filled, item, resized]
FUNCTIONS += [as_int, rounded, products, extremes, rolled, padded]
SIZES = (8, 4, 12)


def drawn(n):
    return np.random.default_rng(n).standard_normal((n, 4)).astype("float32")


@pytest.mark.parametrize("function", FUNCTIONS)
def test_one_graph_for_all_sizes(function):
    graph = paddle.jit.to_static(function, input_spec=[InputSpec([None, 4])], full_graph=True)
    for n in SIZES:
        x = paddle.to_tensor(drawn(n))
        np.testing.assert_allclose(graph(x), function(x), rtol=1e-6)
    assert len(graph.program_cache) == (2 if function is extremes else 1)  # guards tell which is larger


@pytest.mark.parametrize("function", FUNCTIONS)
def test_no_break_without_being_asked(function):
    graph = paddle.jit.to_static(function)
    for n in (*SIZES, 16):
        x = paddle.to_tensor(drawn(n), stop_gradient=False)
        y, want = graph(x), function(x)
        np.testing.assert_allclose(y, want, rtol=1e-6)
        for got in zip(paddle.grad(y.sum(), x), paddle.grad(want.sum(), x), strict=True):
            np.testing.assert_allclose(*got, rtol=1e-6)
    assert not graph.graph_breaks


def by_numpy(x):
    return x.reshape([int(np.prod(x.shape)) // 2, -1]) * int(np.ceil(x.shape[0] / 3)) * round(x.shape[0] / 8)


@pytest.mark.parametrize("function", [*FUNCTIONS, by_numpy])
def test_saved_models_keep_sizes_open(function, tmp_path):
    path = str(tmp_path / "model")
    paddle.jit.save(paddle.jit.to_static(function, input_spec=[InputSpec([None, 4], name="x")]), path)
    loaded = paddle.jit.load(path)
    predictor = inference.create_predictor(inference.Config(path + ".json", path + ".pdiparams"))
    for n in SIZES:
        want = function(paddle.to_tensor(drawn(n)))
        np.testing.assert_allclose(loaded(paddle.to_tensor(drawn(n))), want, rtol=1e-6)
        (made,) = predictor.run([paddle.to_tensor(drawn(n))])
        np.testing.assert_allclose(made, want, rtol=1e-6)


def of_each_row(x):
    return x.reshape([x.shape[0], int(np.prod(x.shape[1:]))]) / np.sqrt(x.shape[0])


def flat(x):
    return x.reshape([np.prod(x.shape)]) * np.sum(x.shape) + np.int64(x.shape[0])


def rounded_by_numpy(x):
    n = x.shape[0]
    return x[: int(np.ceil(n / 3))] * np.floor(n / 5) + np.round(n / 8) * np.rint(n / 3), np.trunc(n / 7) * x


def extremes_by_numpy(x):
    return x * np.max(x.shape) + np.minimum(x.shape[0], 1000) * np.min(x.shape)


@pytest.mark.parametrize("function", [of_each_row, flat, rounded_by_numpy, extremes_by_numpy])
@pytest.mark.parametrize("full_graph", [False, True])
def test_functions_of_numpy_keep_sizes_open(function, full_graph):
    graph = paddle.jit.to_static(function, full_graph=full_graph)
    for n in (8, 12, 16, 20, 24):
        x = paddle.to_tensor(drawn(n))
        for got, want in zip(several(graph(x)), several(function(x)), strict=True):
            np.testing.assert_allclose(got, want, rtol=1e-6)
            assert got.dtype == want.dtype
    assert len(graph.program_cache) == 2 and not graph.graph_breaks  # of the first size, and of all


def several(y):
    return y if isinstance(y, tuple) else (y,)


@pytest.mark.parametrize("full_graph", [False, True])
@pytest.mark.parametrize("by", [np.log2, np.exp, lambda n: np.mean([n, 4]), lambda n: np.power(n, 2), np.float32])
def test_other_functions_of_numpy_are_one_graph_for_each_size(by, full_graph):
    graph = paddle.jit.to_static(lambda x: x * by(x.shape[0]), full_graph=full_graph)
    for n in (2, 3, 2, 4):
        x = paddle.to_tensor(drawn(n))
        np.testing.assert_allclose(graph(x), x * by(n), rtol=1e-6)
    assert not graph.graph_breaks


def test_a_number_of_numpy_that_is_returned_is_a_number():
    graph = paddle.jit.to_static(lambda x: (x + 1, np.prod(x.shape), np.ceil(x.shape[0] / 3)))
    for n in SIZES:
        _, count, third = graph(paddle.to_tensor(drawn(n)))
        assert (count, third) == (4 * n, np.ceil(n / 3)) and list(range(8 * n))[count] == 4 * n
    assert not graph.graph_breaks


def test_arrays_are_still_given_to_numpy():
    graph = paddle.jit.to_static(lambda x, a: x * np.prod(a) + np.ceil(a).max())
    for a in (np.array([1.5, 2.0]), np.array([3.0, 2.0])):
        np.testing.assert_allclose(graph(paddle.ones([2]), a), np.prod(a) + np.ceil(a).max() + np.zeros(2))


@pytest.mark.parametrize("full_graph", [False, True])
def test_a_size_of_a_reshape_that_comes_to_nothing_or_to_minus_one(full_graph):
    """Those have a meaning of their own, in captured calls as in eager ones."""

    def quarters(x):
        return x.reshape([x.shape[0] // 4, -1])

    def less(x):
        return x.reshape([x.shape[0] - 4, x.shape[0] % 3 + 1, 2])

    graphs = [(f, paddle.jit.to_static(f, full_graph=full_graph)) for f in (quarters, less)]
    for n in (8, 3, 12, 2, 16, 3, 8, 5):
        for f, graph in graphs:
            x = paddle.to_tensor(drawn(n))
            try:
                want = f(x)
            except ValueError:
                with pytest.raises(ValueError, match="reshape"):
                    graph(x)
            else:
                np.testing.assert_array_equal(graph(x), want)


def test_a_captured_tensor_is_not_taken_for_a_known_one():
    """Its elements may change between calls."""
    sizes = paddle.to_tensor([2, 4])
    graph = paddle.jit.to_static(lambda x: x.reshape(sizes))
    x = paddle.arange(8.0)
    assert graph(x).shape == [2, 4]
    sizes.set_value(paddle.to_tensor([4, 2]))
    assert graph(x).shape == [4, 2]
