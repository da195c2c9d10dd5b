"""Matmuls of float32 by packed operands: against float64, for all ways to lie, and bit by bit on several threads."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from tests.support.fences import fenced
from umiak.backends.cpu import providers
from umiak.backends.cpu.providers import packed_matmul
from umiak.backends.cpu.providers.launch import call
from umiak.core import dtype as dt
from umiak.ir.meta import Meta
from umiak.ops import linalg
from umiak.runtime import parallel

STRIP = packed_matmul.STRIP
# Rows, terms and columns: panels, blocks of terms, of rows and of columns that are full, and what is left of them.
SIZES = [
    (12, 700, 64), (25, 300, 47), (47, 31, 512), (49, 256, 256), (97, 513, 130), (128, 520, 100), (145, 70, 1030),
    (150, 257, 512), (300, 40, 1025), (311, 600, 41),
]  # fmt: skip
STEPS = [
    (), ("bias",), ("relu",), ("bias", "relu"), ("add",), ("bias", "add", "relu"), ("bias", "hard_swish"),
    ("relu", "bias"), ("bias", "gelu"), ("add", "tanh", "add"),
]  # fmt: skip
AFTER = {
    "relu": lambda x: np.maximum(x, 0),
    "tanh": np.tanh,
    "hard_swish": lambda x: x * np.clip(x / 6 + 0.5, 0, 1),
    "gelu": lambda x: x * (0.5 + 0.5 * np.vectorize(math.erf)(x / np.sqrt(2))),
}


@pytest.fixture(autouse=True)
def packed():
    if providers.refusal("onednn"):
        pytest.skip(providers.refusal("onednn"))
    packed_matmul.choose(True)
    if not packed_matmul.available():
        pytest.skip("requires AVX2")
    threads = parallel.get_num_threads()
    yield
    packed_matmul.choose()
    parallel.set_num_threads(threads)
    providers.set_threads(1)


def use_threads(count):
    parallel.set_num_threads(count)
    providers.set_threads(count)


def normal(rng, *shape):
    return rng.standard_normal(shape).astype(np.float32)


def in_strips(y):
    """A matrix [k, n] in strips, as an array of its shape: a launch does not read its strides."""
    k, n = y.shape
    wide = np.zeros((k, n + -n % STRIP), np.float32)
    wide[:, :n] = y
    return np.ndarray(y.shape, np.float32, np.moveaxis(wide.reshape(k, -(-n // STRIP), STRIP), 1, 0).copy())


def launched(x, y, steps=(), extra=(), strip=(0, 0), out=None):
    """x and y as they lie; transposed ones are found by their strides."""
    metas = [Meta(x.shape, dt.float32), Meta(y.shape, dt.float32)]
    launch = providers.find(linalg.Matmul(False, False), metas, steps, strip)
    out = np.full((*x.shape[:-1], y.shape[-1]), 77, np.float32) if out is None else out
    assert call(launch, [x, in_strips(y) if strip[0] else y, *extra], [out])() == 0
    return out


def lies(x, how):
    """The same matrix in another place."""
    if how == "transposed":
        return np.asfortranarray(x)
    if how == "gaps":
        room = np.full((x.shape[0] * 2, x.shape[1] + 3), np.nan, np.float32)
        room[::2, : x.shape[1]] = x
        return room[::2, : x.shape[1]]
    if how == "spaced":
        room = np.full((x.shape[0], x.shape[1] * 2), np.nan, np.float32)
        room[:, ::2] = x
        return room[:, ::2]
    return np.ascontiguousarray(x[::-1, ::-1])[::-1, ::-1] if how == "reversed" else x


def close(found, x, y):
    x, y = x.astype(np.float64), y.astype(np.float64)
    np.testing.assert_array_less(np.abs(found - x @ y), 2e-6 * (np.abs(x) @ np.abs(y)) + 1e-30)


@pytest.mark.parametrize("size", SIZES, ids=str)
def test_operands_that_lie_in_any_way(size):
    m, k, n = size
    rng = np.random.default_rng(size)
    x, y = normal(rng, m, k), normal(rng, k, n)
    ways = "plain", "transposed", "gaps", "spaced", "reversed"
    for a, b in [*itertools.product(ways, ways)][m % 2 :: 2]:
        close(launched(lies(x, a), lies(y, b)), x, y)
    room = np.full((m, n + 5), 77, np.float32)
    close(launched(x, np.asfortranarray(y), out=room[:, :n]), x, y)
    assert (room[:, n:] == 77).all(), "and nothing beside the result is written"


@pytest.mark.parametrize("steps", STEPS, ids=lambda s: "-".join(s) or "plain")
def test_matrices_in_strips(steps, rng):
    """Of any rows, also where these are apart or in batches; what the kernel does not do itself follows."""
    sizes = (
        ((1,), 7, 20),
        ((5,), 300, 33),
        ((2, 25), 64, 16),
        ((150,), 40, 130),
        ((), 5, 17),
        ((48,), 513, 8),
        ((7,), 1, 1),
    )
    for lead, k, n in sizes:
        room, y = normal(rng, *(size + 2 for size in lead), k + 3), normal(rng, k, n)
        for x in (room[..., :k].copy(), room[..., :k]):
            x = x[tuple(slice(size) for size in lead)]
            extra = [normal(rng, *((n,) if s == "bias" else (*lead, n))) for s in steps if s in ("bias", "add")]
            left, wanted = list(extra), x.astype(np.float64) @ y
            for step in steps:
                wanted = AFTER[step](wanted) if step in AFTER else wanted + left.pop(0)
            for use in (True, False):
                packed_matmul.choose(use)
                found = launched(x, y, steps, extra, (STRIP, 1))
                np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-5 * max(np.abs(wanted).max(), 1))


def test_rows_that_are_shared_and_one_column(rng):
    """Shared rows and one column are no more columns: these would lie in other strips."""
    x, y = np.broadcast_to(normal(rng, 3, 20), (4, 3, 20)), normal(rng, 20, 1)
    np.testing.assert_allclose(launched(x, y, strip=(STRIP, 1)), x @ y, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("size", [(0, 20, 40), (20, 0, 40), (20, 30, 0)], ids=str)
def test_empty_operands(size, rng):
    m, k, n = size
    bias = normal(rng, n)
    for strip in ((0, 0), (STRIP, 1)):
        found = launched(normal(rng, m, k), normal(rng, k, n), ("bias",), [bias], strip)
        np.testing.assert_array_equal(found, np.broadcast_to(bias, (m, n)))


@pytest.mark.parametrize("strip", [(0, 0), (STRIP, 1)], ids=["on the way", "before"])
def test_a_row_has_the_same_bits_beside_others_and_on_any_number_of_threads(strip, rng):
    for m, k, n in ((311, 600, 512), (40, 700, 1536), (500, 300, 512)):
        x, y = normal(rng, m, k), normal(rng, k, n)
        use_threads(1)
        alone = launched(x, y, strip=strip)
        for count in (2, 3):
            use_threads(count)
            np.testing.assert_array_equal(launched(x, y, strip=strip), alone)
        some = range(1, 40, 7) if strip[0] else (32, 39)  # fewer are multiplied in another way
        for rows in some:
            np.testing.assert_array_equal(launched(x[-rows:].copy(), y, strip=strip), alone[-rows:])


def test_bits_are_those_of_a_matrix_that_was_packed_before(rng):
    x, y = normal(rng, 128, 700), normal(rng, 700, 512)
    packed = launched(x, y, strip=(STRIP, 1))
    np.testing.assert_array_equal(launched(x, y), packed)
    np.testing.assert_array_equal(launched(x, np.asfortranarray(y)), packed)
    np.testing.assert_array_equal(launched(np.asfortranarray(x), y), packed)


@pytest.mark.parametrize("strip", [(0, 0), (STRIP, 1)], ids=["on the way", "before"])
def test_what_is_not_finite(strip, rng):
    x, y = np.abs(normal(rng, 64, 300)), np.abs(normal(rng, 300, 512))
    x[3, 7], x[20, 299], x[41, 0] = np.inf, np.nan, -np.inf
    found = launched(x, y, ("relu",) if strip[0] else (), strip=strip)
    assert np.isposinf(found[3]).all()
    assert np.isnan(found[20]).all()
    assert (found[41] == (0 if strip[0] else -np.inf)).all()
    assert np.isfinite(np.delete(found, [3, 20, 41], 0)).all()


@pytest.mark.parametrize("size", SIZES, ids=str)
def test_nothing_behind_operands_is_read(size):
    m, k, n = size
    rng = np.random.default_rng(size)
    x, y = normal(rng, m, k), normal(rng, k, n)
    for tx, ty in itertools.product((False, True), (False, True)):
        a, b = (fenced(np.ascontiguousarray(z.T)).T if t else fenced(z) for z, t in ((x, tx), (y, ty)))
        close(launched(a, b, out=fenced(np.zeros((m, n), np.float32))), x, y)
    bias = fenced(normal(rng, n))
    strips = fenced(np.moveaxis(np.pad(y, ((0, 0), (0, -n % STRIP))).reshape(k, -1, STRIP), 1, 0).copy())
    launch = providers.find(
        linalg.Matmul(False, False), [Meta(z.shape, dt.float32) for z in (x, y)], ("bias",), (STRIP, 1)
    )
    out = fenced(np.zeros((m, n), np.float32))
    given = np.ndarray(y.shape, np.float32, strips)
    assert call(launch, [fenced(x), given, bias], [out])() == 0
    close(out - bias, x, y) if k > 200 else np.testing.assert_allclose(out - bias, x.astype(float) @ y, atol=1e-4)
