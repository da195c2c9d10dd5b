"""Matmuls of float32 by tile registers of bfloat16: against float64, for all ways to lie and numbers of any size."""

from __future__ import annotations

import numpy as np
import pytest

import paddle
from umiak.backends.cpu import tile_registers
from umiak.compiler.render.target import Target

pytestmark = pytest.mark.skipif(
    not tile_registers.permitted(Target.host()),
    reason="the processor has no tile registers, or the system does not save them",
)
UNIT = 2.0**-24  # of rounding to float32
FLAG = "FLAGS_cpu_f32_by_bf16_tiles"


@pytest.fixture(autouse=True)
def tiles():
    before = paddle.get_flags(["FLAGS_paddle_num_threads", FLAG])
    paddle.set_flags({FLAG: True})
    yield
    paddle.set_flags(before)


def matmul(x, y, tx=False, ty=False):
    given = [paddle.to_tensor(np.ascontiguousarray(z.T if t else z)) for z, t in ((x, tx), (y, ty))]
    return paddle.matmul(*given, transpose_x=tx, transpose_y=ty).numpy()


def error(x, y, result):
    """Errors, in units of rounding of the sum of sizes."""
    x, y = x.astype(np.float64), y.astype(np.float64)
    return np.abs(result - x @ y) / (np.abs(x) @ np.abs(y) * UNIT)


def normal(rng, *shape):
    return rng.standard_normal(shape).astype(np.float32)


# Blocks and pieces of every kind: full, of one tile, of a line, more than one of terms or columns.
SIZES = [(256, 256, 256), (320, 544, 192), (257, 300, 291), (177, 193, 1030), (300, 2081, 200), (1000, 273, 161)]


@pytest.mark.parametrize("size", SIZES, ids=str)
def test_is_more_exact_than_float32(size):
    m, n, k = size
    rng = np.random.default_rng(size)
    x, y = normal(rng, m, k), normal(rng, k, n)
    for tx in (False, True):
        for ty in (False, True):
            errors = error(x, y, matmul(x, y, tx, ty))
            assert errors.max() < 5
            # What shows that tiles computed it: sums of so many terms in float32 are off by 0.35 and more.
            assert np.sqrt(np.mean(errors**2)) < 0.3


def test_integers_are_exact_and_so_is_what_a_permutation_moves():
    rng = np.random.default_rng(1)
    x = rng.integers(-(2**12), 2**12, (256, 256)).astype(np.float32)
    y = rng.integers(-(2**3), 2**3, (256, 256)).astype(np.float32)
    np.testing.assert_array_equal(matmul(x, y), x.astype(np.float64) @ y)
    order = rng.permutation(256)
    z = normal(rng, 256, 256)
    np.testing.assert_array_equal(matmul(np.eye(256, dtype=np.float32)[order], z), z[order])
    np.testing.assert_array_equal(matmul(z, np.eye(256, dtype=np.float32)[order].T), z[:, order])


@pytest.mark.parametrize("left", [-125, -60, 0, 100])
@pytest.mark.parametrize("right", [-120, 0, 120])
def test_numbers_of_any_size(left, right):
    """Also those whose parts are too small or too large for bfloat16: what float32 can hold, it holds."""
    rng = np.random.default_rng(2)
    scale = rng.uniform(0.5, 1, (2, 256, 256))
    x, y = np.ldexp(scale[0], left).astype(np.float32), np.ldexp(scale[1], right).astype(np.float32)
    y[:, 100:] *= -1
    exact = x.astype(np.float64) @ y.astype(np.float64)
    result = matmul(x, y)
    over = np.abs(exact) >= np.finfo(np.float32).max
    assert np.all(np.isinf(result[over]))
    assert np.all(np.sign(result) == np.sign(exact)) or abs(left + right) > 120
    # What is below the least normal number is rounded to the nearest of those that are left, or to 0.
    assert np.all(np.abs(result - exact)[~over] <= np.abs(exact[~over]) * 30 * UNIT + 2.0**-126)


@pytest.mark.parametrize("size", [2.0**-126, 2.0**100, np.finfo(np.float32).max])
def test_zeros_times_numbers_of_any_size_are_zeros(size):
    zeros, x = np.zeros((256, 256), np.float32), np.full((256, 256), size, np.float32)
    assert not matmul(zeros, x).any() and not matmul(x, zeros).any()


def test_lines_of_different_sizes():
    """A row, or a column, has the accuracy of its own numbers, whatever is in the others."""
    rng = np.random.default_rng(3)
    x, y = normal(rng, 300, 256), normal(rng, 256, 300)
    x *= np.ldexp(1.0, rng.integers(-120, 100, (300, 1))).astype(np.float32)
    y *= np.ldexp(1.0, rng.integers(-20, 20, (1, 300))).astype(np.float32)
    x[17] = 0
    result = matmul(x, y)
    lost = 256 * 2.0**-126 / (np.abs(x.astype(np.float64)) @ np.abs(y.astype(np.float64)) * UNIT + 1e-300)
    with np.errstate(invalid="ignore"):
        errors = error(x, y, result)
    assert np.all((errors < 30 + lost) | (np.arange(300) == 17)[:, None])
    assert not result[17].any()


@pytest.mark.parametrize("bad", [np.inf, -np.inf, np.nan])
def test_what_is_not_finite_stays_where_it_belongs(bad):
    rng = np.random.default_rng(4)
    x, y = normal(rng, 512, 256), normal(rng, 256, 512)
    x[300, 7] = bad
    result = matmul(x, y)
    row = np.arange(512) == 300
    assert np.isfinite(result[~row]).all()
    np.testing.assert_array_equal(result[row], (bad * np.sign(y[7]))[None])
    assert error(x[~row], y, result[~row]).max() < 30


def test_results_do_not_depend_on_threads_or_on_the_way_to_lie():
    rng = np.random.default_rng(5)
    x, y = normal(rng, 600, 500), normal(rng, 500, 700)
    first = matmul(x, y)
    for threads in (1, 2, 3):
        paddle.set_flags({"FLAGS_paddle_num_threads": threads})
        for tx in (False, True):
            for ty in (False, True):
                np.testing.assert_array_equal(matmul(x, y, tx, ty), first)


def test_batches_and_parts_of_matrices():
    rng = np.random.default_rng(6)
    x, y = normal(rng, 3, 260, 270), normal(rng, 1, 270, 280)
    result = paddle.matmul(paddle.to_tensor(x), paddle.to_tensor(y)).numpy()
    for i in range(3):
        assert error(x[i], y[0], result[i]).max() < 5
    wide = paddle.to_tensor(normal(rng, 600, 800))
    part = wide[3:303, 5:405]
    every = wide[::2, ::2]
    for z in (part, every):
        z_np = z.numpy()
        assert error(z_np, z_np.T, paddle.matmul(z, z, transpose_y=True).numpy()).max() < 20


def test_is_left_to_vectors_without_the_switch():
    rng = np.random.default_rng(7)
    x, y = normal(rng, 256, 256), normal(rng, 256, 256)
    tiles = matmul(x, y)
    paddle.set_flags({FLAG: False})
    vectors = matmul(x, y)
    assert (vectors != tiles).any()
    paddle.set_flags({FLAG: True})
    np.testing.assert_array_equal(matmul(x, y), tiles)


def test_gradients_and_captured_steps():
    rng = np.random.default_rng(8)
    x, w = normal(rng, 256, 300), normal(rng, 300, 320)

    def step(x, w):
        y = paddle.nn.functional.relu(paddle.matmul(x, w))
        return paddle.grad([y.sum()], [x, w])

    given = [paddle.to_tensor(z, stop_gradient=False) for z in (x, w)]
    eager, captured = step(*given), paddle.jit.to_static(step)(*given)
    sign = (x.astype(np.float64) @ w > 0).astype(np.float64)
    for a, b, exact in zip(eager, captured, (sign @ w.T, x.T @ sign)):
        np.testing.assert_array_equal(a.numpy(), b.numpy())
        np.testing.assert_allclose(a.numpy(), exact, rtol=1e-4, atol=2e-4)
