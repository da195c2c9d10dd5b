"""Products of a few rows by a matrix that is read once: against NumPy, for every dtype and way to lie."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

import paddle
from umiak.backends.cpu import select_provider

ROUNDING = {"float32": 2.0**-22, "bfloat16": 2.0**-8, "float16": 2.0**-10}


def as_double(x):
    return x.astype("float32").numpy().astype(np.float64)


def given(rng, shape, dtype, transposed=False):
    x = rng.standard_normal(shape[::-1] if transposed else shape).astype("float32")
    return paddle.to_tensor(x).astype(dtype)


def check(x, w, y, dtype):
    x, w = as_double(x), as_double(w)
    assert np.all(np.abs(as_double(y) - x @ w) <= (np.abs(x) @ np.abs(w)) * ROUNDING[dtype])


# Sizes with every kind of rest: of vectors, of rows side by side, of parts.
SIZES = [(1, 200, 333), (2, 129, 640), (3, 1003, 65), (4, 77, 1031), (7, 130, 259), (8, 1024, 16), (1, 20000, 1)]


@pytest.mark.parametrize("dtype", ROUNDING)
@pytest.mark.parametrize("transposed", [False, True])
@pytest.mark.parametrize("size", SIZES, ids=str)
def test_is_the_product(dtype, transposed, size):
    rng = np.random.default_rng([*size, transposed])
    m, k, n = size
    x, w = given(rng, (m, k), dtype), given(rng, (k, n), dtype, transposed)
    y = paddle.matmul(x, w, transpose_y=transposed)
    check(x, w.T if transposed else w, y, dtype)
    # rows of x that are columns in memory, part of a wider matrix, one matrix among leading dims
    check(x, w.T if transposed else w, paddle.matmul(x.T.contiguous().T, w, transpose_y=transposed), dtype)
    wide = given(rng, (k + 3, n + 5), dtype, transposed)
    part = wide[2 : n + 2, 1 : k + 1] if transposed else wide[1 : k + 1, 2 : n + 2]
    check(x, part.T if transposed else part, paddle.matmul(x, part, transpose_y=transposed), dtype)
    lead = paddle.matmul(x.reshape([m, 1, k]), w, transpose_y=transposed)
    check(x, w.T if transposed else w, lead.reshape([m, n]), dtype)


@pytest.mark.parametrize("dtype", ROUNDING)
def test_a_row_is_the_same_in_any_company_and_on_any_number_of_threads(dtype):
    rng = np.random.default_rng(3)
    x, w = given(rng, (4, 512), dtype), given(rng, (512, 2048), dtype)
    before = paddle.get_flags("FLAGS_paddle_num_threads")
    try:
        results = []
        for threads in (1, 2, 3):
            paddle.set_flags({"FLAGS_paddle_num_threads": threads})
            results += [paddle.matmul(x, w), paddle.concat([paddle.matmul(x[i : i + 1], w) for i in range(4)])]
    finally:
        paddle.set_flags(before)
    assert all(y.equal_all(results[0]) for y in results)


@pytest.mark.skipif(select_provider.native_bfloat16(), reason="of more rows the library's dot products are faster")
@pytest.mark.parametrize("transposed", [False, True])
def test_a_row_of_bfloat16_is_the_same_beside_any_number_of_others(transposed):
    rng = np.random.default_rng(6)
    most = 150 if transposed else 32
    x, w = given(rng, (most, 300), "bfloat16"), given(rng, (300, 519), "bfloat16", transposed)
    together = paddle.matmul(x, w, transpose_y=transposed)
    check(x, w.T if transposed else w, together, "bfloat16")
    for rows in (1, 4, 5, 31):
        for at in (0, most - rows):
            alone = paddle.matmul(x[at : at + rows], w, transpose_y=transposed)
            assert alone.equal_all(together[at : at + rows])


def peak():
    """Most bytes of this process that were in memory since ``/proc/self/clear_refs`` was told to forget them."""
    status = Path("/proc/self/status").read_text(encoding="ascii")
    return 1024 * int(status.partition("VmHWM:")[2].split()[0])


@pytest.mark.skipif(select_provider.native_bfloat16(), reason="of more rows the library's dot products are faster")
@pytest.mark.skipif(not os.access("/proc/self/clear_refs", os.W_OK), reason="asks Linux for the peak of memory")
def test_many_rows_need_little_memory_beside_the_result():
    x, w = paddle.zeros([100_000, 16], "bfloat16"), paddle.ones([512, 16], "bfloat16")
    Path("/proc/self/clear_refs").write_text("5", encoding="ascii")
    before = peak()
    y = paddle.matmul(x, w, transpose_y=True)
    assert peak() - before < 2 * y.size + (64 << 20)  # sums of all rows in float32 are 200 MiB


@pytest.mark.parametrize("dtype", ROUNDING)
def test_linear_adds_its_bias_and_differentiates(dtype):
    rng = np.random.default_rng(4)
    x, w, b = given(rng, (2, 300), dtype), given(rng, (300, 512), dtype), given(rng, (512,), dtype)
    for t in (x, w, b):
        t.stop_gradient = False
    y = paddle.nn.functional.linear(x, w, b)
    wanted = as_double(x) @ as_double(w) + as_double(b)
    room = np.abs(as_double(x)) @ np.abs(as_double(w)) + np.abs(as_double(b))
    assert np.all(np.abs(as_double(y) - wanted) <= room * ROUNDING[dtype])
    y.sum().backward()
    wanted = np.broadcast_to(as_double(w).sum(1), (2, 300))
    assert np.allclose(as_double(x.grad), wanted, atol=512 * 4 * ROUNDING[dtype])


def test_numbers_that_are_not_finite_pass():
    x = np.ones((2, 300), "float32")
    w = np.ones((300, 200), "float32")
    w[5, 7], w[6, 8], w[7, 9] = np.inf, -np.inf, np.nan
    y = paddle.matmul(paddle.to_tensor(x), paddle.to_tensor(w)).numpy()
    assert np.array_equal(y, x @ w, equal_nan=True)
