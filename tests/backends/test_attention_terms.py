"""Attention of float32 in terms of bfloat16, by tile registers: exact terms, errors against float64, masks, numbers of
any size."""

from __future__ import annotations

import ctypes

import numpy as np
import pytest

import paddle
from tests.backends.test_attention import SCALE, by_ref, close, compare, operands, run
from tests.backends.test_flashmask import dense_of
from umiak import masks
from umiak.backends.cpu import attention_terms, tile_registers
from umiak.backends.cpu.attention_kernels import Library, host
from umiak.compiler.loop.types import F32
from umiak.core import array
from umiak.ops import dot_product_attention as ops

pytestmark = pytest.mark.skipif(
    not tile_registers.permitted(host()), reason="the processor has no tile registers, or the system does not save them"
)
FLAG = "FLAGS_cpu_f32_by_bf16_tiles"
WIDTH = 32  # lanes of a strip


@pytest.fixture(autouse=True)
def tiles():
    before = paddle.get_flags(FLAG)
    paddle.set_flags({FLAG: True})
    yield
    paddle.set_flags(before)


def attend(causal, q, k, v, g, mask=None):
    """The result, its log-sum-exp, and the gradients."""
    forward = [array.to_numpy(x) for x in run(ops.AttentionTrain(causal=causal), q, k, v, mask)]
    return forward + backward(causal, forward, q, k, v, g, mask)


def backward(causal, forward, q, k, v, g, mask=None):
    return [array.to_numpy(x) for x in run(ops.AttentionGrad(causal=causal), q, k, v, *forward, g, mask)]


def by_vectors(*args):
    paddle.set_flags({FLAG: False})
    made = attend(*args)
    paddle.set_flags({FLAG: True})
    return made


def exact(causal, q, k, v, g, mask=None):
    """The same in float64."""
    return attend(causal, *(x.astype(np.float64) for x in (q, k, v, g)), mask)


def errors(made, want):
    """Root mean square errors over root mean squares."""
    return [np.sqrt(np.mean((x - y) ** 2) / np.mean(y**2)) for x, y in zip(made, want, strict=True)]


def same_bits(made, want):
    for x, y in zip(made, want, strict=True):
        np.testing.assert_array_equal(x.view(np.uint8), y.view(np.uint8))


# --- functions -----------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def functions():
    library = Library(F32, host())
    for make in (attention_terms.copy_terms, attention_terms.transpose_terms, attention_terms.interleave_terms):
        library.enter(make.__name__, make)
    library.enter("pack_terms", attention_terms.pack_terms, WIDTH)
    library.enter("in_range", attention_terms.in_range)
    addresses, keep = library.load()

    def call(name, *arguments):
        values = [ctypes.c_void_p(x.ctypes.data) if isinstance(x, np.ndarray) else ctypes.c_int64(x) for x in arguments]
        ctypes.CFUNCTYPE(None, *map(type, values))(addresses[name])(*values)

    yield call
    del keep


def numbers(rng, rows, n):
    """Of all sizes that have exact terms, of both signs, with zeros."""
    x = rng.standard_normal((rows, n)) * 2.0 ** rng.integers(-60, 60, (rows, n))
    return np.where(rng.random((rows, n)) < 0.1, 0, x).astype(np.float32)


def halves(words):
    """Sums of terms: of what stands in the lower and in the higher halves of words."""
    return [
        (x.astype(np.uint32) << 16).view(np.float32).astype(np.float64).sum(0) for x in (words & 0xFFFF, words >> 16)
    ]


@pytest.mark.parametrize(("rows", "n"), [(128, 64), (37, 33), (1, 1), (31, 50)])
def test_terms_are_exact_in_every_layout(functions, rng, rows, n):
    x = numbers(rng, rows, n)
    padded = np.zeros((-(-rows // 32) * 32, -(-n // 32) * 32), np.float32)
    padded[:rows, :n] = x
    words, steps = padded.shape[1] // 2, padded.shape[0] // 2
    by_row = np.zeros((3, rows, words), np.uint32)
    functions("copy_terms", by_row, words * 4, x, n * 4, rows, n, rows * words * 4)
    np.testing.assert_array_equal(halves(by_row)[0], padded[:rows, ::2])
    np.testing.assert_array_equal(halves(by_row)[1], padded[:rows, 1::2])
    transposed = np.zeros((3, padded.shape[1], steps), np.uint32)
    functions("transpose_terms", transposed, steps * 4, x, n * 4, rows, n, padded.shape[1] * steps * 4)
    np.testing.assert_array_equal(halves(transposed)[0], padded[::2].T)
    np.testing.assert_array_equal(halves(transposed)[1], padded[1::2].T)
    beside = np.zeros((3, steps, padded.shape[1]), np.uint32)
    functions("interleave_terms", beside, padded.shape[1] * 4, x, n * 4, rows, n, steps * padded.shape[1] * 4)
    np.testing.assert_array_equal(halves(beside)[0], padded[::2])
    np.testing.assert_array_equal(halves(beside)[1], padded[1::2])


@pytest.mark.parametrize("n", [64, 33, 1])
def test_queries_are_packed_times_a_factor(functions, rng, n):
    x, factor = numbers(rng, WIDTH, n), np.float32([0.3])
    table = np.array([x.ctypes.data + i * n * 4 for i in range(WIDTH)], np.uint64)
    words = -(-n // 32) * 16
    packed = np.zeros((3, words, WIDTH), np.uint32)
    functions("pack_terms", packed, table, n, words * WIDTH * 4, factor)
    padded = np.zeros((WIDTH, 2 * words), np.float32)
    padded[:, :n] = x * factor
    np.testing.assert_array_equal(halves(packed)[0], padded[:, ::2].T)
    np.testing.assert_array_equal(halves(packed)[1], padded[:, 1::2].T)


@pytest.mark.parametrize(
    ("value", "fits"),
    [(1.0, True), (2.0**-64, True), (-(2.0**23.9), True), (2.0**-65, False), (-(2.0**24), False), (1e-40, False)]
    + [(x, False) for x in (np.inf, -np.inf, np.nan)],
)
@pytest.mark.parametrize(("n", "at"), [(40, 39), (16, 0), (7, 3)])
def test_which_rows_have_terms(functions, n, at, value, fits):
    x = np.zeros((3, n), np.float32)
    x[1, at] = value
    outside = np.zeros(1, np.int64)
    functions("in_range", x, n * 4, 3, n, outside)
    assert outside[0] == (not fits)
    x[1, (at + 1) % n] = 1  # small numbers do no harm beside others
    outside[:] = 0
    functions("in_range", x, n * 4, 3, n, outside)
    assert outside[0] == (not fits and not abs(value) < 1)


# --- attention -----------------------------------------------------------------------------------------------------

SIZES = [  # batch, queries, keys, heads, key heads, dim, value dim
    (1, 300, 300, 2, 2, 64, 64),
    (2, 129, 261, 4, 2, 130, 128),
    (1, 513, 520, 1, 1, 49, 63),
    (1, 257, 300, 3, 1, 70, 97),
]


@pytest.mark.parametrize(
    ("size", "causal"),
    [
        pytest.param(size, causal, marks=[pytest.mark.slow] * ((i + causal) % 2))
        for i, size in enumerate(SIZES)
        for causal in (False, True)
    ],
)
def test_errors_are_no_larger_than_those_of_float32(size, causal):
    x = operands(*size)
    want, made, vectors = exact(causal, *x), attend(causal, *x), by_vectors(causal, *x)
    assert any((a != b).any() for a, b in zip(made, vectors))  # it was taken
    for ours, theirs in zip(errors(made, want), errors(vectors, want)):
        assert ours <= 1.05 * theirs


@pytest.mark.parametrize("queries", [130, 256])
def test_masks_dropout_and_capped_scores(queries):
    q, k, v, g = operands(1, queries, 256, 2, 1, 128, 128)
    rng = np.random.default_rng(1)
    compare(q, k, v, g, mask=rng.random((1, 2, queries, 256)) < 0.5)
    compare(q, k, v, g, mask=rng.standard_normal((queries, 256)).astype(np.float32))
    compare(q, k, v, g, causal=True, dropout=(0.3, 11, 8))
    compare(q, k, v, g, causal=True, softcap=0.7)


@pytest.mark.parametrize("heads", [(2, 2), (4, 2)])
def test_bits_of_masks_by_columns_and_dense_masks(heads):
    n = 300
    mask = masks.causal_document([100, 137, 63])
    x = operands(1, n, n, *heads, 64, 64)
    same_bits(attend(True, *x, mask.indices), attend(True, *x, dense_of(mask.indices, n, heads[0], True)))


def test_a_query_has_the_same_result_in_any_lane():
    q, k, v, _ = operands(1, 300, 300, 3, 1, 64, 64)
    attention = ops.AttentionTrain(causal=True)
    out, lse = map(array.to_numpy, run(attention, q, k, v, None))
    for first in (1, 13, 16, 90):
        some, some_lse = map(array.to_numpy, run(attention, q[:, first:], k, v, None))
        same_bits((some, some_lse), (out[:, first:].copy(), lse[:, :, first:].copy()))


def test_threads_change_no_bit():
    before = paddle.get_flags("FLAGS_paddle_num_threads")
    x, found = operands(1, 400, 700, 2, 1, 64, 64), []
    try:
        for threads in (1, 2, 3):
            paddle.set_flags({"FLAGS_paddle_num_threads": threads})
            found.append(attend(True, *x))
    finally:
        paddle.set_flags(before)
    for other in found[1:]:
        same_bits(other, found[0])


@pytest.mark.parametrize(
    "factors",
    [(1e-6, 1e6, 1, 1), (1e4, 1e-4, 1e5, 1e-12), (1, 1, 1e-15, 1e-15), (1e-30, 1e30, 1e30, 1e-30), (1e-18, 1e18, 1, 1)],
)
def test_operands_of_any_size(factors):
    """In range or not: as near to float64 as float32 is."""
    x = [a * np.float32(f) for a, f in zip(operands(1, 256, 256, 2, 2, 64, 64), factors)]
    want = exact(False, *x)
    for made, vectors in zip(errors(attend(False, *x), want), errors(by_vectors(False, *x), want)):
        assert made <= 1.05 * vectors


def test_small_rows_and_columns_beside_large_ones():
    """What is lost below the least normal number is nothing beside a row's other elements."""
    x = operands(1, 256, 256, 1, 1, 64, 64)
    for i, a in enumerate(x):
        a[:, 3::7] *= np.float32(2.0**-50)
        a[..., i::5] *= np.float32(1e-38)
    want = exact(False, *x)
    for made, vectors in zip(errors(attend(False, *x), want), errors(by_vectors(False, *x), want)):
        assert made <= 1.05 * vectors


@pytest.mark.parametrize(
    ("operand", "value"), [(0, np.nan), (0, 1e30), (1, 1e-30), (2, np.inf), (3, 1e30), (3, np.nan)]
)
def test_a_row_that_does_not_fit_leaves_its_key_head_to_vectors(operand, value):
    """And that one alone."""
    x = operands(1, 256, 256, 2, 2, 64, 64)
    forward = by_vectors(False, *x)[:2]
    before = attend(False, *x)[:2] + backward(False, forward, *x)
    x[operand][0, 17, 1] = value
    made = attend(False, *x)[:2] + backward(False, forward, *x)
    paddle.set_flags({FLAG: False})
    vectors = attend(False, *x)[:2] + backward(False, forward, *x)
    paddle.set_flags({FLAG: True})
    first = 2 if operand == 3 else 0  # what the operand has a part in
    for a, b, c, axis in list(zip(made, vectors, before, (2, 1, 2, 2, 2)))[first:]:
        np.testing.assert_array_equal(a.take(1, axis), b.take(1, axis))
        np.testing.assert_array_equal(a.take(0, axis), c.take(0, axis))
        assert (a.take(0, axis) != b.take(0, axis)).any()


def test_infinite_values_that_weights_of_zero_hide():
    q, k, v, _ = operands(1, 256, 256, 1, 1, 64, 64)
    hidden = np.arange(256) != 17
    v[0, 17], k[0, 17] = 0, np.inf
    close(run(ops.Attention(), q, k, v, hidden), by_ref(ops.Attention(), q, k, v, hidden)[0])


def test_scores_far_apart():
    """Weights between the least normal number and numbers that have exact terms."""
    q, k, v, g = operands(1, 256, 256, 1, 1, 64, 64)
    q *= np.float32(20 / SCALE)
    want = exact(False, q, k, v, g)
    for made, vectors in zip(errors(attend(False, q, k, v, g), want), errors(by_vectors(False, q, k, v, g), want)):
        assert made <= 1.2 * vectors


@pytest.mark.parametrize(
    "size", [(1, 100, 300, 1, 1, 128, 128), (1, 200, 200, 1, 1, 64, 64), (1, 600, 600, 1, 1, 64, 32)]
)
def test_small_calls_are_left_to_vectors(size):
    x = operands(*size)
    same_bits(attend(False, *x), by_vectors(False, *x))
