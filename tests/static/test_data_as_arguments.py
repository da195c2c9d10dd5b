"""Arguments that are numbers in eager calls, and data of the run in static programs."""

from __future__ import annotations

import numpy as np
import pytest

import paddle
import paddle.nn.functional as F
from paddle.static import Executor, data

X = np.arange(1, 13, dtype="float32").reshape(3, 4)


def run(main, feed, *wanted):
    return Executor().run(main, feed, list(wanted))


@pytest.mark.parametrize("shape", [[], [1], [None]])
@pytest.mark.parametrize("axis", [None, 0])
@pytest.mark.parametrize("mode", ["upscale_in_train", "downscale_in_infer"])
def test_a_probability_of_dropout(shape, axis, mode, programs):
    main, _ = programs
    x, p = data("x", [3, 4]), data("p", shape)
    x.stop_gradient = False
    y = F.dropout(x, p, axis=axis, mode=mode)
    (gradient,) = paddle.static.gradients(y, [x])
    evaluation = main.clone(for_test=True)
    for value in (0.0, 0.5, 1.0):
        feed = {"x": X, "p": np.full([1] if shape else [], value, "float32")}
        found, slopes = run(main, feed, y, gradient)
        factor = 1.0 if mode == "downscale_in_infer" or value == 1 else 1 / (1 - value)
        kept = found != 0
        np.testing.assert_allclose(found, np.where(kept, X * factor, 0), rtol=1e-6)
        np.testing.assert_allclose(slopes, np.where(kept, factor, 0), rtol=1e-6)
        assert {0.0: kept.all(), 0.5: True, 1.0: not kept.any()}[value]
        if axis == 0:
            assert (kept == kept[:, :1]).all()
        (evaluated,) = run(evaluation, feed, y)
        np.testing.assert_allclose(evaluated, X * (1 - value if mode == "downscale_in_infer" else 1), rtol=1e-6)


CALLS = {
    "full": lambda n: paddle.full([2, n], n),
    "arange": lambda n: paddle.arange(n),
    "arange with a step": lambda n: paddle.arange(n, -6, -n),
    "unflatten": lambda n: paddle.unflatten(paddle.ones([2, 15]), 1, [n, -1]),
    "full of a float": lambda n: paddle.full([2], n.astype("float32") / 2),
    "eye": lambda n: paddle.eye(n, 2),
    "one_hot": lambda n: F.one_hot(paddle.to_tensor([0, 1]), n),
    "broadcast_to": lambda n: paddle.broadcast_to(paddle.ones([1]), [2, n]),
    "bincount": lambda n: paddle.bincount(paddle.to_tensor([1, 1]), minlength=n),
}


@pytest.mark.parametrize("name", CALLS)
def test_one_number_in_a_tensor_of_open_size(name, programs):
    main, _ = programs
    y = CALLS[name](data("n", [None], "int64"))
    for n in (3, 5):
        with paddle.base.dygraph.guard():
            wanted = CALLS[name](paddle.to_tensor([n])).numpy()
        (found,) = run(main, {"n": np.array([n])}, y)
        np.testing.assert_array_equal(found, wanted)
    with pytest.raises(ValueError, match="requires"):
        run(main, {"n": np.array([3, 5])}, y)


def test_sizes_in_a_tensor(programs):
    main, _ = programs
    x, kernel, theta = data("x", [1, 2, 5, 5]), paddle.ones([2, 3, 3, 3]), paddle.ones([1, 2, 3])
    sizes = data("sizes", [2], "int64")
    upsampled = F.conv2d_transpose(x, kernel, stride=2, output_size=sizes)
    one_of_two = F.conv2d_transpose(x, kernel, stride=2, output_size=[12, sizes[1]])
    grid = F.affine_grid(theta, [1, 1, sizes[0], sizes[1]])
    parts = paddle.unflatten(paddle.ones([132]), 0, sizes)
    feed = {"x": np.ones([1, 2, 5, 5], "float32"), "sizes": np.array([12, 11])}
    shapes = [y.shape for y in run(main, feed, upsampled, one_of_two, grid, parts)]
    assert shapes == [(1, 3, 12, 11), (1, 3, 12, 11), (1, 12, 11, 2), (12, 11)]
    with pytest.raises(ValueError, match="requires"):
        run(main, {**feed, "sizes": np.array([12, 13])}, upsampled)


@pytest.mark.parametrize("open_size", [True, False])
def test_sizes_of_a_divided_dim(open_size, programs):
    main, _ = programs
    y = paddle.unflatten(data("x", [None if open_size else 6, 2]), 0, [2, 3])
    (found,) = run(main, {"x": X.reshape(6, 2)}, y)
    assert found.shape == (2, 3, 2)
    with pytest.raises(ValueError, match="requires"):
        run(main, {"x": X[:, :2]}, y)


def test_what_has_to_be_known(programs):
    axis, sizes = data("axis", [1], "int64"), data("sizes", [None], "int64")
    x = data("x", [3, 4])
    for call in (paddle.cumsum, paddle.argmax, lambda x, axis: paddle.concat([x, x], axis)):
        with pytest.raises(ValueError, match="an axis that is known while the program is recorded"):
            call(x, axis)
    with pytest.raises(ValueError, match="a fixed number of integers for shape"):
        paddle.zeros(sizes)


SCALED = {
    "float32": np.array([1.5, -2.0, 0.0], "float32"),
    "float16": np.array([1.5, -2.0, 0.3], "float16"),
    "complex64": np.array([1.5, 2j, 1 - 1j], "complex64"),
    "int32": np.array([3, -2, 0], "int32"),
    "bool": np.array([True, False, True]),
}


@pytest.mark.parametrize("last", [True, False])
@pytest.mark.parametrize("dtype", SCALED)
def test_scaling(dtype, last, programs):
    main, _ = programs
    x, factor, shift = data("x", [3], dtype), data("factor", [1]), data("shift", [])
    ways = [
        lambda x, a, b: paddle.scale(x, a, bias_after_scale=last),
        lambda x, a, b: paddle.scale(x, 1.5, b, bias_after_scale=last),
        lambda x, a, b: x.scale(a, b, last),
        lambda x, a, b: (x + x).scale_(a, b, last),
    ]
    results = [way(x, factor, shift) for way in ways]
    for a, b in ((0.1, 0.7), (2.7, 0.0), (0.0, -1.2)):
        feed = {"x": SCALED[dtype], "factor": np.array([a], "float32"), "shift": np.array(b, "float32")}
        with paddle.base.dygraph.guard():
            numbers = float(np.float32(a)), float(np.float32(b))
            wanted = [way(paddle.to_tensor(SCALED[dtype]), *numbers).numpy() for way in ways]
        for y, z in zip(run(main, feed, *results), wanted, strict=True):
            assert y.dtype == z.dtype
            np.testing.assert_allclose(y, z, rtol=1e-6 if dtype != "float16" else 2e-3)


def test_scaling_has_the_gradient_of_x(programs):
    main, _ = programs
    x, factor = data("x", [3, 4]), data("factor", [])
    x.stop_gradient = factor.stop_gradient = False
    slope, none = paddle.static.gradients(paddle.scale(x, factor, 1.0), [x, factor])
    assert none is None
    (found,) = run(main, {"x": X, "factor": np.array(2.5, "float32")}, slope)
    np.testing.assert_array_equal(found, np.full_like(X, 2.5))


@pytest.mark.parametrize("dtype", ["float32", "int64", "bool"])
def test_what_is_filled_with(dtype, programs):
    main, _ = programs
    y = paddle.tensor.fill_constant([2, 2], dtype, data("v", [1]))
    for v in (3.0, 0.0):
        np.testing.assert_array_equal(
            run(main, {"v": np.array([v], "float32")}, y)[0], np.full([2, 2], v).astype(dtype)
        )


@pytest.mark.parametrize("shape", [[], [1], [None]])
@pytest.mark.parametrize("dtype", ["float32", "int64"])
def test_ends_of_uniform(dtype, shape, programs):
    main, _ = programs
    low = data("low", shape, dtype)
    y = paddle.uniform([1000], min=low, max=5.0)
    for value in (2.0, 4.0):
        (found,) = run(main, {"low": np.full([1] if shape else [], value, dtype)}, y)
        assert found.min() >= value and found.max() < 5 and abs(found.mean() - (value + 5) / 2) < 0.2
        assert found.dtype == np.float32


DIGITS = {
    "scale": lambda n: paddle.scale(paddle.to_tensor([3.3], dtype="float64"), n, 0.7),
    "scale before": lambda n: paddle.scale(paddle.to_tensor([3.3], dtype="float64"), 1.1, n, bias_after_scale=False),
    "scale of integers": lambda n: paddle.scale(paddle.to_tensor([3]), n, 2**53 + 1),
    "arange": lambda n: paddle.arange(7.3, -3, n - 5, dtype="float64"),
}


@pytest.mark.parametrize("name", DIGITS)
def test_numbers_beside_data_of_the_run_keep_their_digits(name, programs):
    main, _ = programs
    (found,) = run(main, {"n": np.array([2.0], "float32")}, DIGITS[name](data("n", [1])))
    with paddle.base.dygraph.guard():
        wanted = DIGITS[name](2.0).numpy()
    assert found.dtype == wanted.dtype
    np.testing.assert_allclose(found, wanted, rtol=1e-15)


BOUNDS = {
    "both": lambda x, low: paddle.clip(x, low, 3.0),
    "the upper one": lambda x, low: paddle.clip(x, max=low),
    "of integers": lambda x, low: paddle.clip(x.astype("int64"), low, 3),
    "of int32 beside a fraction": lambda x, low: paddle.clip(x.astype("int32"), low, 8.5),
    "an integer": lambda x, low: paddle.clip(x, low.astype("int64") if isinstance(low, paddle.Tensor) else int(low)),
}


@pytest.mark.parametrize("name", BOUNDS)
@pytest.mark.parametrize("shape", [[], [1], [None]])
def test_bounds_of_clip(name, shape, programs):
    main, _ = programs
    y = BOUNDS[name](data("x", [3, 4]), data("low", shape))
    for value in (1.5, 2.0):  # the dtype is not of the value
        with paddle.base.dygraph.guard():
            wanted = BOUNDS[name](paddle.to_tensor(X), value).numpy()
        (found,) = run(main, {"x": X, "low": np.full([1] if shape else [], value, "float32")}, y)
        assert found.dtype == wanted.dtype
        np.testing.assert_array_equal(found, wanted)


def test_an_integer_below_a_bound_that_wants_a_gradient():
    low = paddle.to_tensor([1.5], stop_gradient=False)
    y = paddle.clip(paddle.to_tensor([1, 2, 3]), low, 2.5)
    assert y.dtype is paddle.float32 and y.tolist() == [1.5, 2.0, 2.5]
    y.sum().backward()
    assert low.grad.tolist() == [1.0]


RESIZED = {
    "sizes": lambda x, n: F.interpolate(x, size=n, mode="bilinear"),
    "one of two": lambda x, n: F.interpolate(x, size=[n[0], 8]),
    "of their mean": lambda x, n: F.interpolate(x, size=n, mode="area"),
    "scales": lambda x, n: F.interpolate(x, scale_factor=n.astype("float32") / 2, mode="bicubic"),
    "one scale": lambda x, n: F.interpolate(x, scale_factor=n[0].astype("float32") * 0.75),
}


@pytest.mark.parametrize("name", RESIZED)
@pytest.mark.parametrize("height", [3, None])
def test_sizes_of_images(name, height, programs):
    main, _ = programs
    image = X.reshape(1, 1, 3, 4)
    x = data("x", [1, 1, height, 4])
    x.stop_gradient = False
    y = RESIZED[name](x, data("n", [2], "int64"))
    (gradient,) = paddle.static.gradients((y * y).sum(), [x])
    for sizes in ([6, 5], [2, 4]):
        with paddle.base.dygraph.guard():
            eager = paddle.to_tensor(image, stop_gradient=False)
            wanted = RESIZED[name](eager, paddle.to_tensor(sizes))
            (slopes,) = paddle.grad((wanted * wanted).sum(), [eager])
            wanted, slopes = wanted.numpy(), slopes.numpy()
        found = run(main, {"x": image, "n": np.array(sizes)}, y, gradient)
        np.testing.assert_allclose(found[0], wanted, rtol=1e-5, atol=1e-6)
        np.testing.assert_allclose(found[1], slopes, rtol=1e-5, atol=1e-5)


def test_labels_in_a_column_of_open_size(programs):
    main, _ = programs
    y = F.cross_entropy(data("x", [None, 4]), data("label", [None, None], "int64"))
    label = np.array([[0], [3], [1]])
    with paddle.base.dygraph.guard():
        wanted = float(F.cross_entropy(paddle.to_tensor(X), paddle.to_tensor(label)))
    assert run(main, {"x": X, "label": label}, y)[0] == pytest.approx(wanted)
    with pytest.raises(ValueError, match="requires"):
        run(main, {"x": X, "label": np.array([[0, 1], [3, 1], [1, 1]])}, y)


def test_a_mask_of_open_size(programs):
    main, _ = programs
    y = paddle.incubate.softmax_mask_fuse(data("x", [1, 2, None, None]), data("mask", [None, 1, None, None]))
    scores, mask = np.zeros([1, 2, 2, 2], "float32"), np.array([[[[0, -1e4], [0, 0]]]], "float32")
    np.testing.assert_allclose(run(main, {"x": scores, "mask": mask}, y)[0][0, 0], [[1, 0], [0.5, 0.5]])
    with pytest.raises(ValueError, match="requires"):
        run(main, {"x": scores, "mask": mask[:, :, :1]}, y)


@pytest.mark.parametrize("size", [3, None])
def test_what_counts_labels_refuses_negative_ones(size, programs):
    main, _ = programs
    label = data("label", [size], "int64")
    counts = paddle.bincount(label)
    _, taken = F.class_center_sample(label, 20, 2)
    good, bad = np.array([0, 7, 3]), np.array([0, -1, 3])
    assert run(main, {"label": good}, counts)[0].tolist() == [1, 0, 0, 1, 0, 0, 0, 1]
    assert run(main, {"label": good}, taken)[0].tolist() == [0, 3, 7]
    for y in (counts, taken):
        with pytest.raises(ValueError, match="requires"):
            run(main, {"label": bad}, y)


@pytest.mark.parametrize("split", [paddle.vsplit, paddle.tensor_split, lambda x, n: paddle.hsplit(x.T, n)])
def test_parts_of_a_dim_of_open_size(split, programs):
    main, _ = programs
    parts = split(data("x", [None, 4]), 2)
    for n in (1, 2, 3):
        with paddle.base.dygraph.guard():
            wanted = [y.numpy() for y in split(paddle.to_tensor(X[:n]), 2)]
        for a, b in zip(run(main, {"x": X[:n]}, *parts), wanted, strict=True):
            np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("axis", [None, 1, [1, 0]])
def test_shifts_of_roll_in_a_tensor_of_open_size(axis, programs):
    main, _ = programs
    y = paddle.roll(data("x", [3, 4]), data("shifts", [None], "int64"), axis)
    count = len(axis) if isinstance(axis, list) else 1
    for first in (1, -2):
        shifts = np.arange(first, first + count)
        (found,) = run(main, {"x": X, "shifts": shifts}, y)
        np.testing.assert_array_equal(found, np.roll(X, tuple(shifts) if count > 1 else shifts[0], axis))
    with pytest.raises(ValueError, match=f"requires shifts_0 == {count}; got shifts_0 = 3"):
        run(main, {"x": X, "shifts": np.arange(3)}, y)


UNKNOWN = {
    "an axis": (lambda x, n: x.sum(n), "requires an axis that is known"),
    "several axes": (lambda x, n: x.sum(paddle.concat([n, n])), "requires an axis that is known"),
    "a depth of indices": (lambda x, n: paddle.gather_nd(x, data("i", [2, None], "int64")), "requires a fixed number"),
    "two dtypes": (lambda x, n: x @ data("y", [4, 2], "float64"), "requires operands of one dtype"),
}


@pytest.mark.parametrize("name", UNKNOWN)
def test_dims_and_dtypes_of_results_are_known_while_a_program_is_recorded(name, programs):
    call, message = UNKNOWN[name]
    with pytest.raises((ValueError, TypeError, IndexError), match=message):
        call(data("x", [3, 4]), data("n", [1], "int64"))


def test_an_open_size_is_no_dim_to_squeeze(programs):
    main, _ = programs
    y = paddle.squeeze(data("x", [3, None]), 1)
    (found,) = run(main, {"x": X}, y)
    np.testing.assert_array_equal(found, X)
    with pytest.raises(ValueError, match="x_1"):
        run(main, {"x": X[:, :1]}, y)
