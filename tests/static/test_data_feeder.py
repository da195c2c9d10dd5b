"""Samples of readers as what programs are fed."""

from __future__ import annotations

import numpy as np
import pytest

import paddle
from paddle.base.data_feeder import DataFeeder
from paddle.static import Executor, data


@pytest.mark.parametrize("by_name", [False, True])
@pytest.mark.parametrize("count", [1, 3])
def test_fields_of_samples_are_gathered(by_name, count, programs):
    declared = {"x": ([None, 2], "float32"), "y": ([None, 1], "int64"), "image": ([None, 2, 2], "float64")}
    variables = [data(name, shape, dtype) for name, (shape, dtype) in declared.items()]
    feeder = DataFeeder(list(declared) if by_name else variables, paddle.CPUPlace())

    def samples():
        for i in range(count):
            yield np.full(2, i + 0.5), i, list(range(4))

    for _ in range(2):
        x, y, image = Executor().run(feed=feeder.feed(samples()), fetch_list=variables)
        np.testing.assert_array_equal(x, np.repeat(np.arange(count, dtype="float32")[:, None] + 0.5, 2, axis=1))
        np.testing.assert_array_equal(y, np.arange(count)[:, None])
        np.testing.assert_array_equal(image, np.tile(np.arange(4.0).reshape(1, 2, 2), [count, 1, 1]))
        assert (x.dtype, y.dtype, image.dtype) == (np.float32, np.int64, np.float64)


def test_bfloat16_fields(programs):
    x = data("x", [None], "bfloat16")
    fed = DataFeeder([x], paddle.CPUPlace()).feed([(1.5,), (2,)])
    assert Executor().run(feed=fed, fetch_list=[x.astype("float32")])[0].tolist() == [1.5, 2.0]


@pytest.mark.parametrize(
    ("samples", "message"),
    [
        ([([1, 2],)], "samples of 2 fields, got 1"),
        ([([1, 2], 3, 4)], "samples of 2 fields, got 3"),
        ([([1, 2], 3), ([1, 2, 3], 3)], r"fields of 'x' for shape \[-1, 2\]"),
        ([(3, 4)], r"fields of 'x' for shape \[-1, 2\]"),
    ],
)
def test_samples_that_do_not_fit(samples, message, programs):
    feeder = DataFeeder([data("x", [None, 2]), data("y", [None, 1])], None)
    with pytest.raises(ValueError, match=message):
        feeder.feed(samples)


def test_lists_of_other_things(programs):
    for given in ("x", 3, [3]):
        with pytest.raises(TypeError, match="a list of variables or names as feed_list"):
            DataFeeder(given, None)
    with pytest.raises(ValueError, match="got 'nowhere'"):
        DataFeeder(["nowhere"], None)
