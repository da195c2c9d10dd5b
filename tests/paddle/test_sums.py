"""Sums of integers: the dtype of the result, and no copy of the operand in it."""

from __future__ import annotations

import numpy as np
import pytest

import paddle


@pytest.mark.parametrize("dtype", ["bool", "int8", "uint8", "int16", "int32", "int64"])
@pytest.mark.parametrize("axis", [None, 0, -1, [0, 1], [0, 2]])
def test_dtypes_of_sums(dtype, axis):
    a = np.random.default_rng(0).integers(0, 2, (3, 4, 5)).astype(dtype)
    x, at = paddle.to_tensor(a), tuple(axis) if isinstance(axis, list) else axis
    wide = "int64" if dtype in ("bool", "int32") else dtype
    for wanted in ("int32", "int64", "float32", None, "int64", "int32", None):  # what came before changes nothing
        got = paddle.sum(x, axis, wanted)
        assert got.dtype == getattr(paddle, wanted or wide)
        np.testing.assert_array_equal(got.numpy(), a.sum(axis=at, dtype=wanted or wide))
    np.testing.assert_array_equal(x.transpose([2, 0, 1])[::-1].sum(1).numpy(), a.transpose(2, 0, 1)[::-1].sum(1))


def test_sums_beyond_32_bits():
    x = paddle.full([3, 5], 2**31 - 1, "int32")
    assert paddle.sum(x).item() == 15 * (2**31 - 1)
    assert paddle.jit.to_static(paddle.sum)(x, 0).tolist() == [3 * (2**31 - 1)] * 5
    assert paddle.sum(paddle.zeros([0, 2], "int32"), 0).tolist() == [0, 0]


@pytest.mark.usefixtures("no_garbage")
def test_integers_are_not_copied():
    x = paddle.ones([1 << 16], "int32")
    paddle.sum(x)
    paddle.device.reset_max_memory_allocated()
    before = paddle.device.max_memory_allocated()
    paddle.sum(x)
    assert paddle.device.max_memory_allocated() - before < 1 << 16
