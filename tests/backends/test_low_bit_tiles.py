"""Products of many rows by integer weights: in tile registers, and on processors that have none, against NumPy."""

from __future__ import annotations

import ctypes

import numpy as np
import pytest

import paddle
from umiak.backends.cpu import low_bit_kernels, low_bit_tiles
from umiak.backends.cpu.attention_kernels import host
from umiak.backends.cpu.low_bit_kernels import DIGITS, Kind
from umiak.backends.cpu.select_low_bit import launcher_of

pytestmark = pytest.mark.skipif(not low_bit_kernels.supported(host()), reason="no dot products of bytes")
in_tiles = pytest.mark.skipif(
    not low_bit_tiles.supported(host()), reason="the processor has no tile registers, or the system does not save them"
)
KINDS = [(8, 0, False), (4, 0, False), (8, 64, False), (4, 64, False), (4, 128, False), (8, 0, True)]
SHAPES = [(17, 128, 2), (33, 384, 34), (530, 128, 66), (47, 1280, 544)]  # rows of x, inputs, outputs
ODD = [(17, 3, 2), (40, 71, 34), (64, 301, 66), (20, 1025, 12)]  # where outputs have one scale


def narrow(x):
    """float32 as the bits of bfloat16: to nearest, ties to even."""
    bits = np.ascontiguousarray(x, "f4").view("u4")
    return ((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16).astype("u2")


def wide(bits):
    return (bits.astype("u4") << 16).view("f4")


def stored(numbers, bits):
    """Numbers [outputs, inputs] as a weight."""
    if bits == 8:
        return numbers.astype("i1")
    return ((numbers[0::2] & 15) | (numbers[1::2] << 4)).astype("u1").view("i1")


def run(launcher, x, weight, scale, outputs):
    c = np.full((len(x), outputs), 77, x.dtype)
    arrays = [np.ascontiguousarray(a) for a in (x, weight, scale)] + [c]
    pointers = (ctypes.c_void_p * 4)(*(a.ctypes.data for a in arrays))
    strides = [scale.shape[-1] if scale.ndim == 2 else 0, 1]
    sizes = [*x.shape, len(weight), x.shape[1], 1, x.shape[1], 1, *strides]
    dims = (ctypes.c_int64 * len(sizes))(*sizes)
    launch = ctypes.CFUNCTYPE(ctypes.c_int, *[ctypes.c_void_p] * 4, ctypes.c_int64)(launcher.address)
    assert launch(launcher.self_pointer, pointers, dims, None, 0) == 0
    return c


def operands(rng, rows, inputs, outputs, bits, group, rounded):
    """Whole x whose largest number is 127 in every row, weights, and scales that are powers of two: all is exact."""
    x = rng.integers(-128 if rounded else -8, 8, (rows, inputs)).clip(-127)
    x[:, 0] = 127
    weight = rng.integers(-(2 ** (bits - 1)), 2 ** (bits - 1), (outputs, inputs))
    groups = inputs // group if group else 1
    scale = 2.0 ** rng.integers(-3, 4, (groups, outputs)).astype("f4")
    per_input = np.repeat(scale, inputs // groups, 0).T
    return x, weight, scale if group else scale[0], x.astype("f8") @ (weight * per_input).T


@in_tiles
@pytest.mark.parametrize(("bits", "group", "rounded"), KINDS)
def test_sums_in_tiles_are_exact(rng, bits, group, rounded):
    """Rows, inputs and outputs that do not fill a tile; more rows and outputs than are computed at a time."""
    kind = Kind(bits, group, 1 if rounded else DIGITS["bfloat16"])
    launcher = launcher_of(kind, "bfloat16", "float32", None, True)
    for rows, inputs, outputs in SHAPES if group else SHAPES + ODD:
        x, weight, scale, wanted = operands(rng, rows, inputs, outputs, bits, group, rounded)
        got = run(launcher, narrow(x), stored(weight, bits), scale, outputs)
        assert np.array_equal(got, narrow(wanted)), (rows, inputs, outputs)


@in_tiles
@pytest.mark.parametrize("dtype", ["float32", "float16"])
def test_rounded_rows_of_other_dtypes(rng, dtype):
    launcher = launcher_of(Kind(8, 0, 1), dtype, "float32", None, True)
    for rows, inputs, outputs in ODD:
        x, weight, scale, _ = operands(rng, rows, inputs, outputs, 8, 0, True)
        x, scale = (x * rng.uniform(0.1, 0.2, (rows, 1))).astype(dtype), scale / 1024
        step = np.abs(x.astype("f4")).max(1, keepdims=True) / np.float32(127)
        sums = np.rint(x.astype("f4") / step).astype("i4") @ weight.T.astype("i4")
        wanted = sums.astype("f4") * (step * scale)
        assert np.array_equal(run(launcher, x, stored(weight, 8), scale, outputs), wanted.astype(dtype))


@pytest.mark.parametrize(("bits", "group", "rounded"), KINDS)
def test_many_rows_without_tiles(rng, bits, group, rounded):
    launcher = launcher_of(Kind(bits, group, 1 if rounded else 2), "bfloat16", "float32", None, False)
    for rows, inputs, outputs in SHAPES[:2] if group else SHAPES[:2] + ODD[:2]:
        x, weight, scale, wanted = operands(rng, rows, inputs, outputs, bits, group, rounded)
        per_input = np.repeat(np.atleast_2d(scale), group or inputs, 0).T
        room = np.abs(x) @ np.abs(weight * per_input).T * 2.0**-8
        got = wide(run(launcher, narrow(x), stored(weight, bits), scale, outputs))
        assert np.all(np.abs(got - wanted) <= room)


@in_tiles
@pytest.mark.parametrize(("bits", "group"), [(8, 0), (4, 64)])
def test_what_is_not_finite_stays_in_its_row(rng, bits, group):
    launcher = launcher_of(Kind(bits, group, DIGITS["bfloat16"]), "bfloat16", "float32", None, True)
    x, weight, scale, wanted = operands(rng, 40, 128, 34, bits, group, False)
    x, weight = x.astype("f4"), weight | 1  # a weight of 0 gives NaN, too, but the others infinity
    for row, odd in ((3, np.nan), (20, np.inf), (39, -np.inf)):
        x[row, 5] = odd
    got = wide(run(launcher, narrow(x), stored(weight, bits), scale, 34))
    assert not np.isfinite(got[[3, 20, 39]]).any()
    assert np.isfinite(np.delete(got, [3, 20, 39], 0)).all()


def test_many_rows_are_the_same_on_any_number_of_threads(rng):
    weight = paddle.to_tensor(rng.integers(-128, 128, (1056, 512)).astype("int8"))
    scale = paddle.to_tensor(rng.uniform(0.01, 0.02, (8, 2112)).astype("float32")).astype("bfloat16")
    x = paddle.to_tensor(rng.standard_normal((37, 512)).astype("float32")).astype("bfloat16")
    before = paddle.get_flags("FLAGS_paddle_num_threads")
    try:
        results = []
        for threads in (1, 2, 3):
            paddle.set_flags({"FLAGS_paddle_num_threads": threads})
            results.append(paddle.nn.quant.weight_only_linear(x, weight, None, scale, "int4", None, 64))
    finally:
        paddle.set_flags(before)
    assert all(y.equal_all(results[0]) for y in results)
