"""Calls at the edges that the reference takes: results are recorded from it, or follow from the mathematics."""

import math

import numpy as np
import pytest

import paddle
import paddle.nn.functional as F

T = paddle.to_tensor


@pytest.mark.parametrize("n", [1, 2, 3])
def test_one_window_is_left_where_less_than_a_stride_is_missing(n):
    pools = {name: getattr(F, f"{name}_pool{n}d") for name in ("max", "avg")}
    x = T(np.full([1, 1] + [1] * n, 3.0, "float32"), stop_gradient=False)
    for name, pool in pools.items():
        y = pool(x, 2, 2)
        assert y.shape == x.shape and float(y) == 3.0, name
        y.backward()
        assert float(x.grad) == 1.0
        x.clear_grad()
        with pytest.raises(ValueError, match="requires a window of at most"):
            pool(x, 2, 1)
    y, where = pools["max"](x, 2, 2, return_mask=True)
    assert float(y) == 3.0 and int(where) == 0
    assert float(pools["avg"](x, 2, 2, exclusive=False)) == 3.0
    assert float(pools["max"](x, 3, 2, ceil_mode=True)) == 3.0
    assert F.max_pool2d(paddle.ones([1, 1, 1, 4]), 2, 2).shape == [1, 1, 1, 2]


def test_norm_of_order_minus_infinity_is_the_smallest_magnitude():
    """The limit of (sum |x|**p) ** (1/p); the reference gives ones."""
    x = T([[[-1.0, 2.0, 3.0, -4.0]]])
    assert F.lp_pool1d(x, -math.inf, 2).tolist() == [[[1.0, 3.0]]]
    assert F.lp_pool2d(x.unsqueeze(0), -math.inf, [1, 2]).tolist() == [[[[1.0, 3.0]]]]


def test_multiplex_of_the_first_rows():
    rows = [T([[1.0, 2.0], [3.0, 4.0]]), T([[5.0, 6.0], [7.0, 8.0]])]
    assert paddle.multiplex(rows, T([[1]], dtype="int32")).tolist() == [[5.0, 6.0]]
    with pytest.raises(ValueError, match="at most 2 indices"):
        paddle.multiplex(rows, T([[1], [0], [1]], dtype="int32"))


def test_masked_scatter_broadcasts_its_operand():
    mask, values = T([[True, False], [True, True]]), T([9.0, 8.0, 7.0])
    x = T([1.0, 2.0], stop_gradient=False)
    y = paddle.masked_scatter(x, mask, values)
    assert y.tolist() == [[9.0, 2.0], [8.0, 7.0]]
    y.sum().backward()
    assert x.grad.tolist() == [0.0, 1.0]
    assert paddle.masked_scatter(T([[1.0], [2.0]]), mask, values).tolist() == [[9.0, 1.0], [8.0, 7.0]]
    assert paddle.masked_scatter(paddle.zeros([2, 2]), T([True, False]), values).tolist() == [[9.0, 0.0], [8.0, 0.0]]
    with pytest.raises(ValueError, match="requires a result of the tensor's shape"):
        paddle.masked_scatter_(T([1.0, 2.0]), mask, values)


def test_an_axis_to_squeeze_may_come_twice():
    assert paddle.ones([1, 1, 2]).squeeze(axis=[0, 0]).shape == [1, 2]
    assert paddle.ones([1, 1, 2]).squeeze(axis=[0, -3]).shape == [1, 2]


def test_numbers_have_the_axes_0_and_minus_1():
    x = T(3.0)
    for axis in (0, -1):
        assert paddle.linalg.vecdot(x, T(2.0), axis=axis).item() == 6.0
        assert paddle.linalg.norm(-x, axis=axis).item() == 3.0
        assert paddle.nansum(x, axis=axis).item() == 3.0
    with pytest.raises(IndexError):
        paddle.linalg.vecdot(x, x, axis=1)


def test_a_sum_of_tensors_passes_over_those_without_elements():
    none, two = paddle.ones([0]), paddle.ones([2])
    assert paddle.add_n([none, two]).tolist() == [1.0, 1.0] == paddle.add_n([two, none]).tolist()
    assert paddle.add_n([none, none]).shape == [0]
    scalar = paddle.to_tensor(1.0, stop_gradient=False)
    for terms, shape in (([scalar, paddle.ones([1])], [1]), ([paddle.ones([1, 1]), scalar, scalar], [1, 1])):
        total = paddle.add_n(terms)
        assert total.shape == shape and total.item() == len(terms)
    with pytest.raises(ValueError, match="tensors of one shape"):
        paddle.add_n([scalar, two])
    with pytest.raises(ValueError, match="tensors of one shape"):
        paddle.add_n([two, paddle.ones([3])])


def test_distinct_elements_of_none():
    assert paddle.unique(paddle.ones([0, 3])).shape == [0, 3] and paddle.unique(paddle.ones([0])).shape == [0]


@pytest.mark.parametrize("pads", [(4, 0), (7, 5), (0, 9), (-1, 0), (1, -2), (-1, 4)])
def test_circular_pads_of_any_number(pads):
    x = T([[[1.0, 2.0, 3.0]]], stop_gradient=False)
    at = np.arange(-pads[0], 3 + pads[1]) % 3
    y = F.pad(x, list(pads), mode="circular", data_format="NCL")
    assert y.tolist() == [[x.numpy()[0, 0, at].tolist()]]
    y.sum().backward()
    assert x.grad.flatten().tolist() == [float((at == i).sum()) for i in range(3)]


def test_circular_pads_of_several_dims():
    x = paddle.arange(4.0).reshape([1, 1, 2, 2])
    rows, columns = np.arange(0, 2 + 5) % 2, np.arange(-3, 2) % 2
    expected = x.numpy()[:, :, rows][..., columns]
    np.testing.assert_array_equal(F.pad(x, [3, 0, 0, 5], mode="circular").numpy(), expected)
    with pytest.raises(ValueError, match="circular pads"):
        F.pad(T([[[1.0]]]), [-2, 0], mode="circular", data_format="NCL")


def test_values_that_are_assigned_bring_their_shape():
    linear = paddle.nn.Linear(2, 2, weight_attr=paddle.nn.initializer.Assign(np.array([2, 2])))
    assert linear.weight.shape == [2] and linear.weight.dtype is paddle.float32 and not linear.weight.stop_gradient


def test_backward_of_what_needs_no_gradient_does_nothing():
    x = T([1.0, 2.0], stop_gradient=False)
    assert T([1.0]).backward() is None and x.detach().sum().backward() is None
    paddle.autograd.backward([T([1.0]), (x * x).sum()])
    assert x.grad.tolist() == [2.0, 4.0]

    @paddle.jit.to_static
    def step(x):
        x.detach().sum().backward()
        (3 * x).sum().backward()

    x.clear_grad()
    step(x)
    step(x)
    assert x.grad.tolist() == [6.0, 6.0]


@pytest.mark.parametrize(
    ("made", "expected"),
    [
        (("noam_decay", 64, 3, 2.0), [0.0, 0.048112522, 0.096225045, 0.144337567, 0.125]),
        (("exponential_decay", 0.1, 2, 0.5, True), [0.1, 0.05, 0.025, 0.0125, 0.00625]),
        (("natural_exp_decay", 0.1, 2, 0.5), [0.1, 0.060653066, 0.036787944, 0.022313016, 0.013533528]),
        (("inverse_time_decay", 0.1, 2, 0.5), [0.1, 0.066666667, 0.05, 0.04, 0.033333333]),
        (("polynomial_decay", 0.1, 4, 0.01, 2.0, True), [0.1, 0.060625, 0.0325, 0.015625, 0.01]),
        (("piecewise_decay", [2, 4], [0.1, 0.2, 0.3]), [0.1, 0.1, 0.2, 0.2, 0.3]),
        (("cosine_decay", 0.1, 2, 5), [0.1, 0.09045085, 0.06545085, 0.03454915, 0.00954915]),
        (("linear_lr_warmup", 0.1, 3, 0.0, 0.1), [0.0, 0.033333333, 0.066666667, 0.1, 0.1]),
    ],
    ids=lambda v: v[0] if isinstance(v, tuple) else "",
)
def test_functions_that_make_schedules(made, expected):
    name, *args = made
    schedule = getattr(paddle.optimizer.lr, name)(*args)
    found = []
    for _ in expected:
        found.append(schedule())
        schedule.step()
    np.testing.assert_allclose(found, expected, rtol=1e-7)


WINDOWS = {
    "hann_window": [0.0, 0.3454915, 0.9045085, 0.9045085, 0.3454915],
    "hamming_window": [0.08, 0.39785218, 0.9121478, 0.9121478, 0.39785218],
    "blackman_window": [0.0, 0.20077011, 0.84922983, 0.84922983, 0.20077011],
    "kaiser_window": [5.277344e-05, 0.10171968, 0.79293984, 0.79293984, 0.10171968],
    "bartlett_window": [0.0, 0.4, 0.8, 0.8, 0.4],
}


@pytest.mark.parametrize("name", WINDOWS)
def test_window(name):
    window = getattr(paddle, name)
    made = window(5)
    np.testing.assert_allclose(made.numpy(), WINDOWS[name], rtol=1e-5, atol=1e-7)
    symmetric = window(6, periodic=False, dtype="float64", requires_grad=True)
    np.testing.assert_allclose(symmetric.numpy()[:5], WINDOWS[name], rtol=1e-5, atol=1e-7)
    assert made.dtype is paddle.float32 and made.stop_gradient and not symmetric.stop_gradient
    assert window(0).shape == [0] and window(1).tolist() == [1.0]
    for wrong in (-1, 2.5):
        with pytest.raises(ValueError, match=f"\\[{name}\\] requires an integer of 0 or more"):
            window(wrong)
    with pytest.raises(TypeError, match="requires a floating dtype, got int32"):
        window(4, dtype="int32")


@pytest.mark.parametrize("shape", [[8], [2, 8], [2, 3, 8]])
@pytest.mark.parametrize(("size", "hop"), [(4, 2), (3, 1), (2, 3)])
def test_frames_and_their_sum(shape, size, hop):
    x = paddle.randn(shape)
    starts = range(0, 8 - size + 1, hop)
    expected = np.stack([x.numpy()[..., s : s + size] for s in starts], -1)
    frames = paddle.signal.frame(x, size, hop)
    np.testing.assert_array_equal(frames.numpy(), expected)
    first = paddle.signal.frame(paddle.moveaxis(x, -1, 0), size, hop, axis=0)
    np.testing.assert_array_equal(first.numpy(), np.moveaxis(expected, (-1, -2), (0, 1)))
    if hop <= size:
        total = np.zeros((*shape[:-1], (len(starts) - 1) * hop + size), "float32")
        for i, s in enumerate(starts):
            total[..., s : s + size] += expected[..., i]
        np.testing.assert_allclose(paddle.signal.overlap_add(frames, hop).numpy(), total, rtol=1e-5, atol=1e-6)
        added = paddle.signal.overlap_add(first, hop, axis=0)
        np.testing.assert_allclose(added.numpy(), np.moveaxis(total, -1, 0), rtol=1e-5, atol=1e-6)


def test_frames_of_integers_and_gradients():
    assert paddle.signal.frame(paddle.arange(4), 2, 2).tolist() == [[0, 2], [1, 3]]
    x = paddle.ones([4], dtype="float64")
    x.stop_gradient = False
    paddle.signal.overlap_add(paddle.signal.frame(x, 2, 1), 1).sum().backward()
    assert x.grad.tolist() == [1.0, 2.0, 2.0, 1.0]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda x: paddle.signal.frame(x, 9, 1), "signals of at least 9"),
        (lambda x: paddle.signal.frame(x, 0, 1), "a frame_length above 0"),
        (lambda x: paddle.signal.frame(x, 2, 0), "a hop_length above 0"),
        (lambda x: paddle.signal.frame(x, 2, 1, axis=1), "an axis of 0 or -1"),
        (lambda x: paddle.signal.overlap_add(x, 1), "a tensor of rank 2 or more"),
        (lambda x: paddle.signal.overlap_add(x.reshape([2, 4]), 3), "a hop_length of at most 2"),
    ],
)
def test_frames_that_do_not_fit_are_refused(call, message):
    with pytest.raises(ValueError, match=message):
        call(paddle.arange(8.0))


REDUCTIONS = (
    "sum mean max min prod amax amin logsumexp any all nansum nanmean std var median nanmedian argmax cumsum sort"
)


@pytest.mark.parametrize("name", REDUCTIONS.split())
def test_a_bool_is_no_axis(name):
    """Which it is as a number: `x.sum(True)` is meant as `x.sum(keepdim=True)`."""
    for flag in (True, False, np.bool_(True)):
        with pytest.raises(TypeError, match="requires an integer for axis"):
            getattr(paddle, name)(paddle.ones([2, 3]), flag)


@pytest.mark.parametrize("captured", [False, True])
@pytest.mark.parametrize("function", [F.softmax, F.log_softmax])
def test_the_axis_of_a_softmax_may_be_a_tensor(function, captured):
    x = T(np.random.default_rng(0).standard_normal((2, 3)))
    for axis in (0, -1):
        call = (
            paddle.jit.to_static(lambda x, a=axis: function(x, T(a)))
            if captured
            else lambda x, a=axis: function(x, T(a))
        )
        np.testing.assert_array_equal(call(x).numpy(), function(x, axis).numpy())
    for kind in (ValueError, IndexError):
        with pytest.raises(kind, match="requires an axis from -2 to 1, got 2"):
            function(x, 2)


def test_no_dims_to_squeeze_are_all_of_size_1():
    """An empty list says so in the reference, as None does; a tensor of no axes has none."""
    x = paddle.ones([1, 2, 1])
    for none in ([], (), None):
        assert x.squeeze(none).shape == [2]
        assert paddle.ones([1, 2, 1]).squeeze_(none).shape == [2]
    assert x.squeeze(T([], dtype="int64")).shape == [1, 2, 1]


EQUATIONS = {
    "ij,ij->i": ((2, 3), (2, 1)),
    "ij,jk->ik": ((2, 1), (3, 4)),
    "ij,ij->ij": ((2, 1), (1, 3)),
    "bij,bjk->bik": ((5, 2, 3), (1, 1, 2)),
    "i,i,i->": ((3,), (1,), (3,)),
    "...i,...i->...": ((2, 1), (3, 1, 4)),
    "i...,i...->...": ((1, 2), (3, 2)),
    "ij,ij->": ((0, 1), (1, 3)),
}


@pytest.mark.parametrize("captured", [False, True])
@pytest.mark.parametrize("equation", EQUATIONS)
def test_dims_of_size_1_are_repeated_in_einsum(equation, captured):
    rng = np.random.default_rng(1)
    arrays = [rng.standard_normal(shape) for shape in EQUATIONS[equation]]

    def function(*xs):
        return paddle.einsum(equation, *xs)

    xs = [T(a, stop_gradient=False) for a in arrays]
    y = (paddle.jit.to_static(function) if captured else function)(*xs)
    np.testing.assert_allclose(y.numpy(), np.einsum(equation, *arrays), rtol=1e-12, atol=1e-14)
    weights = rng.standard_normal(y.shape)
    (y * T(weights)).sum().backward()
    for k, (x, a) in enumerate(zip(xs, arrays)):  # linear in each operand
        line = rng.standard_normal(a.shape)
        moved = [*arrays[:k], line, *arrays[k + 1 :]]
        slope = (np.einsum(equation, *moved) * weights).sum()
        np.testing.assert_allclose((x.grad.numpy() * line).sum(), slope, rtol=1e-11, atol=1e-13)


def test_labels_of_other_sizes_are_refused_in_einsum():
    for equation, *shapes in (("ij,jk->ik", (2, 2), (3, 4)), ("ii->i", (1, 3))):
        with pytest.raises(ValueError, match="requires one size for label"):
            paddle.einsum(equation, *map(paddle.ones, shapes))


@pytest.mark.parametrize("search", [paddle.searchsorted, lambda s, v: paddle.bucketize(v, s)])
def test_sequences_and_values_of_any_two_dtypes(search):
    wide = 2**24 + 1  # which float32 does not have
    for bounds in ("int8", "int32", "int64", "float32", "float64"):
        for values in ("int16", "int32", "int64", "float16", "float32", "float64"):
            assert search(T([1, 3, 5], dtype=bounds), T([3, 4], dtype=values)).tolist() == [1, 2], (bounds, values)
    assert search(T([1, wide]), T([2.0**24])).tolist() == [1]
    assert search(T([wide - 1, wide + 9], dtype="float32"), T([wide])).tolist() == [1]


SCALARS = {
    "batch_norm": lambda x, n: F.batch_norm(x, paddle.zeros([3]), paddle.ones([3]), None, None, True, n(0.5), n(1e-3)),
    "rms_norm": lambda x, n: F.rms_norm(x, [3], None, n(1e-3))[1],
    "npair_loss": lambda x, n: F.npair_loss(x, x * 2, T([0.0, 1.0]), n(0.5)),
    "dice_loss": lambda x, n: F.dice_loss(F.softmax(x), T([[0], [2]]), n(0.5)),
    "matrix_power": lambda x, n: paddle.linalg.matrix_power(x @ x.T, np.int64(2) if n is np.float32 else 2),
}


@pytest.mark.parametrize("name", SCALARS)
def test_numbers_of_numpy_are_numbers(name):
    x = T(np.random.default_rng(2).standard_normal((2, 3)).astype("float32"))
    np.testing.assert_allclose(SCALARS[name](x, np.float32).numpy(), SCALARS[name](x, float).numpy(), rtol=1e-6)


def test_polar_of_two_dtypes():
    y = paddle.polar(T([2.0]), T([0.5], dtype="float64"))
    assert y.dtype is paddle.complex128
    np.testing.assert_allclose(y.numpy(), 2.0 * np.exp(0.5j), rtol=1e-12)


@pytest.mark.parametrize("captured", [False, True])
def test_a_bias_that_broadcasts(captured):
    x, w = T([[1.0, 2.0]]), T([[1.0, 0.0], [0.0, 1.0]])
    call = paddle.jit.to_static(F.linear) if captured else F.linear
    for bias in ([[10.0, 20.0]], 5.0, [[1.0], [2.0]]):
        b = T(bias, stop_gradient=False)
        y = call(x, w, b)
        np.testing.assert_array_equal(y.numpy(), x.numpy() + np.asarray(bias))
        y.sum().backward()
        assert b.grad.shape == b.shape and float(b.grad.sum()) == y.size
    with pytest.raises(ValueError):
        call(x, w, T([1.0, 2.0, 3.0]))


@pytest.mark.parametrize("dtype", ["float32", "int32", "uint8", "complex64"])
def test_a_mask_to_fill_holds_where_it_is_not_0(dtype):
    x, mask = T([1.0, 2.0, 3.0], stop_gradient=False), T([0.0, 2.0, 1.0]).astype(dtype)
    y = paddle.masked_fill(x, mask, 9.0)
    y.sum().backward()
    assert y.tolist() == [1.0, 9.0, 9.0] and x.grad.tolist() == [1.0, 0.0, 0.0]
    assert T([[1, 2, 3], [4, 5, 6]]).masked_fill_(mask, 0).tolist() == [[1, 0, 0], [4, 0, 0]]


def test_the_exponential_of_a_number():
    x = T(2.0, stop_gradient=False)
    y = paddle.linalg.matrix_exp(x)
    y.backward()
    assert y.shape == [] and float(y) == float(x.grad) == pytest.approx(math.exp(2.0))


def test_one_slope_keeps_the_shape_of_a_number():
    x, slope = T(-2.0, stop_gradient=False), T([0.5], stop_gradient=False)
    y = F.prelu(x, slope)
    y.backward()
    assert (y.shape, x.grad.shape, slope.grad.shape) == ([], [], [1])
    assert (float(y), float(x.grad), slope.grad.tolist()) == (-1.0, 0.5, [-2.0])


@pytest.mark.parametrize(
    ("dtype", "wide"), [("bool", "int64"), ("int32", "int64"), ("int8", "int8"), ("float32", "float32")]
)
def test_dtypes_of_sums_to_a_shape(dtype, wide):
    x = paddle.ones([2, 3]).astype(dtype)
    assert str(paddle.reduce_as(x, paddle.ones([3])).dtype) == str(paddle.sum(x, 0).dtype) == f"paddle.{wide}"
    assert paddle.reduce_as(x, paddle.ones([3])).tolist() == [2] * 3
    same = paddle.reduce_as(x, x)
    assert same.dtype == x.dtype and same.tolist() == x.tolist()


def test_the_memory_of_another_dtype_in_one_graph():
    x = paddle.ones([2, 4])
    with pytest.raises(ValueError, match=r"\[view\] requires a tensor with data to read its bits"):
        paddle.jit.to_static(lambda x: x.view("int32"), full_graph=True)(x)
    with pytest.raises(ValueError, match="requires a last dim that fits elements of 8 bytes"):
        paddle.ones([2, 3]).view("float64")
    assert paddle.jit.to_static(lambda x: x.view("int32"))(x).tolist() == x.view("int32").tolist()


def test_a_sum_of_bools_tells_whether_any_holds():
    x = T([[0.0, 2.0], [0.0, 0.0]])
    assert paddle.sum(x, 1, dtype="bool").tolist() == [True, False]
    assert paddle.sum(x - x, dtype="bool").item() is paddle.sum(paddle.zeros([0]), dtype="bool").item() is False
