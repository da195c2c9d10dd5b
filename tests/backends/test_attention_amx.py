"""Products of bfloat16 by tile registers against NumPy, on processors that have them."""

from __future__ import annotations

import ctypes

import numpy as np
import pytest

import paddle
from umiak.backends.cpu import attention_amx, tile_registers
from umiak.backends.cpu.attention_kernels import Library, host
from umiak.compiler.loop.types import BF16, F32

WIDTH = 32  # lanes of a strip
EXACT = 1e-5
pytestmark = pytest.mark.skipif(
    not tile_registers.permitted(host()), reason="the processor has no tile registers, or the system does not save them"
)


@pytest.fixture(scope="module")
def functions():
    library = Library(F32, host())
    library.enter("begin", attention_amx.begin)
    library.enter("end", attention_amx.end)
    library.enter("scores", attention_amx.scores, library.tile)
    library.enter("scaled", attention_amx.accumulate, library.tile, True)
    library.enter("added", attention_amx.accumulate, library.tile, False)
    library.enter("transpose_pairs", attention_amx.transpose_pairs, stored=BF16)
    addresses, keep = library.load()

    def call(name, *arguments):
        values = [ctypes.c_void_p(x.ctypes.data) if isinstance(x, np.ndarray) else ctypes.c_int64(x) for x in arguments]
        ctypes.CFUNCTYPE(None)(addresses["begin"])()
        ctypes.CFUNCTYPE(None, *map(type, values))(addresses[name])(*values)
        ctypes.CFUNCTYPE(None)(addresses["end"])()

    yield call
    del keep


def narrow(x):
    """bfloat16 as its bits, not rounded."""
    return (np.ascontiguousarray(x, "f4").view("u4") >> 16).astype("u2")


def wide(bits):
    return (bits.astype("u4") << 16).view("f4")


def pairs_of_rows(bits):
    """Two neighbouring rows in one of words."""
    return np.ascontiguousarray(bits[0::2].astype("u4") | (bits[1::2].astype("u4") << 16))


@pytest.mark.parametrize(
    ("rows", "free", "dim"), [(128, 128, 64), (101, 100, 64), (1, 0, 16), (70, 4, 80), (33, 32, 200)]
)
def test_scores(functions, rng, rows, free, dim):
    """The left operand lies in panels of 32 words, with zeros beyond a sum's end and anything beyond its rows."""
    panels, padded = -(-dim // 64), -(-dim // 32) * 32
    keys, queries = (np.zeros((n, padded), "u2") for n in (128, WIDTH))
    keys[:, :dim], queries[:, :dim] = (narrow(rng.standard_normal((n, dim))) for n in (128, WIDTH))
    panelled = np.zeros((panels, 128, 32), "u4")
    words = keys.view("u4")
    for p in range(panels):
        part = words[:, 32 * p : 32 * (p + 1)]
        panelled[p, :, : part.shape[1]] = part
    panelled[:, rows:] = 0x7FC07FC0  # NaN
    packed = np.ascontiguousarray(queries.view("u4").T)
    made, top, factor = np.zeros((128, WIDTH), "f4"), np.full(WIDTH, -np.inf, "f4"), np.float32([0.375])
    functions("scores", made, WIDTH * 4, panelled, 128 * 128, packed, dim // 2, rows, free, top, factor)
    want = wide(keys[:rows]).astype("f8") @ wide(queries).T.astype("f8") * 0.375
    np.testing.assert_allclose(made[:rows], want, atol=EXACT * np.abs(want).max())
    np.testing.assert_array_equal(top, made[:free].max(0, initial=-np.inf))


@pytest.mark.parametrize("name", ["scaled", "added"])
@pytest.mark.parametrize(("rows", "keys"), [(64, 128), (16, 32), (80, 96)])
def test_sums_over_keys(functions, rng, name, rows, keys):
    left, right = narrow(rng.standard_normal((rows, keys))), narrow(rng.standard_normal((keys, WIDTH)))
    before, factor = rng.standard_normal((rows + 1, WIDTH)).astype("f4"), rng.random(WIDTH).astype("f4")
    padded = np.zeros((-(-rows // 32) * 32, keys), "u2")
    padded[:rows] = left
    sums = before.copy()
    functions(name, sums, padded, keys * 2, pairs_of_rows(right), WIDTH * 4, keys // 2, rows, factor)
    want = before[:rows] * (factor if name == "scaled" else 1.0) + wide(left).astype("f8") @ wide(right)
    np.testing.assert_allclose(sums[:rows], want, atol=EXACT * np.abs(want).max())
    np.testing.assert_array_equal(sums[rows], before[rows])


@pytest.mark.parametrize(("rows", "n"), [(128, 64), (101, 80), (1, 16), (31, 5)])
def test_pairs_are_transposed(functions, rng, rows, n):
    bits = narrow(rng.standard_normal((rows, n)))
    steps, columns = -(-rows // 32) * 16, -(-n // 16) * 16
    made = np.full((columns, 80), 7, "u4")
    functions("transpose_pairs", made, 80 * 4, bits, n * 2, rows, n)
    full = np.zeros((2 * steps, columns), "u2")
    full[:rows, :n] = bits
    np.testing.assert_array_equal(made[:, :steps], pairs_of_rows(full).T)
    assert (made[:, steps:] == 7).all()


@pytest.mark.parametrize("threads", [1, 2], indirect=True)
def test_attention_takes_them(threads, monkeypatch):
    """Every thread has registers of its own; other bfloat16 matmuls on the same threads use them too."""
    x = paddle.randn([2, 300, 8, 64]).astype("bfloat16")
    y = paddle.nn.functional.scaled_dot_product_attention(x, x, x, is_causal=True)
    for _ in range(3):
        z = paddle.matmul(y.reshape([600, 512]), y.reshape([600, 512]).T)
        again = paddle.nn.functional.scaled_dot_product_attention(x, x, x, is_causal=True)
        assert bool((again == y).all()) and bool((z == z.T).all())
