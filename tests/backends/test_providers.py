"""Launches of matmuls and convolutions by every provider, driven without dispatch, against NumPy in float64."""

import ctypes
import itertools
import math
import subprocess
import sys
import threading
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest
from draw import sampled

import paddle
from umiak.backends.cpu import providers, select_provider
from umiak.backends.cpu.providers import common, convolution, matmul, table
from umiak.backends.cpu.providers.launch import Dim, call
from umiak.backends.ref import convolution as ref
from umiak.core import dtype as dt
from umiak.ir.meta import Meta
from umiak.ops import convolution as conv_ops
from umiak.ops import linalg
from umiak.runtime import parallel
from umiak.util import flags

BF16 = ml_dtypes.bfloat16
PAIRS = [(name, d) for name, (dtypes, _) in providers.PROVIDERS.items() for d in dtypes]
FLOATS = [p for p in PAIRS if p[1] in ("float32", "float64", "bfloat16", "float16")]
TOLERANCE = {
    "float32": 3e-6,
    "complex64": 3e-6,
    "float64": 1e-13,
    "complex128": 1e-13,
    "bfloat16": 1e-2,
    "float16": 2e-3,
}


@pytest.fixture(autouse=True)
def restore():
    yield
    flags.set_flags({"FLAGS_cpu_providers": "onednn,blas,plain"})
    providers.set_threads(1)


def use(name):
    """Only this provider from now on; skips the test where the system lacks it."""
    flags.set_flags({"FLAGS_cpu_providers": name})
    if providers.refusal(name) is not None:
        pytest.skip(providers.refusal(name))


def numpy_type(name):
    return np.dtype(BF16) if name == "bfloat16" else np.dtype(name)


def draw(rng, shape, dtype):
    """Small numbers, integers if it must be."""
    d = numpy_type(dtype)
    if d.kind in "iu":
        return rng.integers(0 if d.kind == "u" else -9, 9, shape).astype(d)
    x = rng.standard_normal(shape)
    return (x + 1j * rng.standard_normal(shape) if d.kind == "c" else x).astype(d)


def meta(x):
    return Meta(x.shape, dt.convert(x.dtype))


def wide(x):
    return x.astype(np.complex128 if x.dtype.kind == "c" else np.int64 if x.dtype.kind in "iu" else np.float64)


def assert_close(got, want, dtype, scale=None):
    if dtype not in TOLERANCE:
        np.testing.assert_array_equal(got, want.astype(got.dtype))
    elif want.size:
        scale = np.abs(want).max() if scale is None else scale
        assert np.abs(wide(got) - want).max() <= TOLERANCE[dtype] * scale + 1e-30


def run_matmul(x, y, tx=False, ty=False, out=None, epilogue=(), extra=()):
    """The launch's result, and NumPy's without the epilogue."""
    want = np.matmul(
        wide(np.swapaxes(x, -1, -2) if tx and x.ndim > 1 else x),
        wide(np.swapaxes(y, -1, -2) if ty and y.ndim > 1 else y),
    )
    want = np.asarray(want)
    launch = providers.find(linalg.Matmul(transpose_x=tx, transpose_y=ty), [meta(x), meta(y)], epilogue)
    got = np.full(want.shape, 77, x.dtype) if out is None else out
    assert call(launch, [x, y, *extra], [got])() == 0
    return got, want, launch


SIZES = [
    (1, 1, 1),
    (8, 8, 8),
    (3, 5, 7),
    (17, 33, 50),
    (1, 40, 30),
    (40, 1, 30),
    (9, 49, 17),
    (100, 130, 70),
    (70, 50, 300),
]


@pytest.mark.parametrize(("name", "dtype"), PAIRS)
def test_matmuls(name, dtype, rng):
    use(name)
    for (m, n, k), tx, ty in itertools.product(SIZES, (False, True), (False, True)):
        x, y = draw(rng, (k, m) if tx else (m, k), dtype), draw(rng, (n, k) if ty else (k, n), dtype)
        got, want, launch = run_matmul(x, y, tx, ty)
        assert launch.provider == name
        assert_close(got, want, dtype)


@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
@pytest.mark.parametrize("name", providers.PROVIDERS)
def test_matmuls_that_widen_round_no_product(name, dtype, rng):
    """In float32, of any sizes, transposed, in batches, reversed and into a part of a larger result."""
    use(name)
    shapes = [((m, k), (k, n)) for m, n, k in SIZES] + [s for s in SHAPES if min(map(len, s)) > 1]
    for (a, b), flip in itertools.product(shapes, (False, True)):
        tx = ty = flip
        x, y = (draw(rng, (*s[:-2], s[-1], s[-2]) if flip else s, dtype) for s in (a, b))
        x = x[::-1] if flip else x
        want = np.matmul(wide(np.swapaxes(x, -1, -2) if tx else x), wide(np.swapaxes(y, -1, -2) if ty else y))
        launch = providers.find(linalg.WideningMatmul(transpose_x=tx, transpose_y=ty), [meta(x), meta(y)])
        outer = np.full((*want.shape[:-1], want.shape[-1] + 2), 77, "float32")
        got = outer[..., 1:-1]
        assert call(launch, [x, y], [got])() == 0
        assert_close(got, want, "float32")
        assert (outer[..., 0] == 77).all() and (outer[..., -1] == 77).all()


@pytest.mark.parametrize("setting", [{"steps": (matmul.STEPS["bias"],)}, {"strip": (16, 2)}, {"dtype": "float32"}])
def test_a_matmul_that_widens_is_alone(setting):
    given = {"dtype": "bfloat16", "steps": (), "strip": (0, 0), **setting}
    dtype = providers.DTYPES[given["dtype"]]
    with pytest.raises(ValueError, match="bfloat16 or float16, no steps and no strips"):
        matmul.LaunchState(dtype, 2, 2, False, False, 0, given["steps"], given["strip"], True)


@pytest.mark.parametrize("name", providers.PROVIDERS)
def test_large_matmuls(name, rng):
    use(name)
    for (m, n, k), tx, ty in itertools.product([(200, 150, 260), (64, 500, 40)], (False, True), (False, True)):
        x, y = draw(rng, (k, m) if tx else (m, k), "float32"), draw(rng, (n, k) if ty else (k, n), "float32")
        got, want, _ = run_matmul(x, y, tx, ty)
        assert_close(got, want, "float32")


SHAPES = [
    ((2, 3, 4, 5), (5, 6)),
    ((2, 3, 4, 5), (3, 5, 6)),
    ((4, 5), (2, 5, 6)),
    ((1, 3, 4, 5), (2, 1, 5, 6)),
    ((2, 1, 3, 4, 5), (7, 1, 5, 6)),
    ((7,), (2, 7, 3)),
    ((2, 4, 7), (7,)),
    ((7,), (7,)),
    ((7,), (7, 3)),
    ((2, 1, 5), (2, 5, 4)),
    ((3, 4, 5), (3, 5, 1)),
    ((0, 4, 5), (5, 6)),
    ((3, 4, 0), (0, 6)),
    ((3, 0, 5), (5, 6)),
    ((3, 4, 5), (3, 5, 0)),
    ((0,), (0,)),
    ((3, 40, 30), (3, 30, 50)),
]


@pytest.mark.parametrize(("name", "dtype"), PAIRS)
def test_batches_vectors_and_empty_sizes(name, dtype, rng):
    use(name)
    for a, b in SHAPES:
        got, want, _ = run_matmul(draw(rng, a, dtype), draw(rng, b, dtype))
        assert_close(got, want, dtype)


def strided(rng, shape, dtype):
    """Tensors of this shape that lie in memory in every kind of way."""
    r = len(shape)
    yield draw(rng, shape[::-1], dtype).T
    yield draw(rng, tuple(2 * n for n in shape), dtype)[(slice(1, None, 2),) * r]
    yield draw(rng, shape, dtype)[(slice(None, None, -1),) * r]
    yield np.broadcast_to(draw(rng, (1, *shape[1:]), dtype), shape)
    yield np.broadcast_to(draw(rng, (*shape[:-1], 1), dtype), shape)
    yield np.moveaxis(draw(rng, (*shape[1:], shape[0]), dtype), -1, 0)
    yield draw(rng, (*shape[:-1], shape[-1] + 3), dtype)[..., 2:-1]


@pytest.mark.parametrize(
    ("name", "dtype"), [p for p in PAIRS if p[1] in ("float32", "bfloat16", "complex128", "int32")]
)
def test_strides(name, dtype, rng):
    use(name)
    large = [((2, 70, 80), (80, 60))] if dtype == "float32" else []
    for a, b in (((6, 7), (7, 5)), ((3, 6, 7), (3, 7, 5)), *large):
        for x in strided(rng, a, dtype):
            for y in (draw(rng, b, dtype), *strided(rng, b, dtype)):
                got, want, _ = run_matmul(x, y)
                assert_close(got, want, dtype)
        shape = np.matmul(np.zeros(a), np.zeros(b)).shape
        x, y = draw(rng, a, dtype), draw(rng, b, dtype)
        for out in strided(rng, shape, dtype):
            if out.flags.writeable:
                got, want, _ = run_matmul(x, y, out=out)
                assert_close(got, want, dtype)


def test_elements_beside_a_strided_result_are_not_touched(rng):
    use("onednn")
    for n in (5, 90):
        around = np.zeros((2 * n, 2 * n), np.float32)
        run_matmul(draw(rng, (n, 8), "float32"), draw(rng, (8, n), "float32"), out=around[::2, ::2])
        assert np.count_nonzero(around) == np.count_nonzero(around[::2, ::2]) == n * n


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16"])
def test_integers_wrap(dtype):
    use("plain")
    x = np.full((3, 9), 100, dtype)
    got, want, _ = run_matmul(x, x, ty=True)
    np.testing.assert_array_equal(got, want.astype(dtype))


@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
def test_conversions_of_16_bit_floats(dtype):
    """Through a product by one: every number of the type comes back, and float32 sums are rounded to even."""
    use("blas")
    bits = np.arange(1 << 16, dtype=np.uint16)
    with np.errstate(invalid="ignore"):
        every = bits.view(numpy_type(dtype)).reshape(-1, 1)
        exact = every.astype(np.float32)
        got, _, _ = run_matmul(every, np.ones((1, 1), every.dtype))
        np.testing.assert_array_equal(got.astype(np.float32), exact)
        some = every[(np.abs(exact) < 1e4)].reshape(-1, 1)
        pairs = np.concatenate([some, np.full_like(some, 1 / 3)], 1)
        got, want, _ = run_matmul(pairs, np.ones((2, 1), every.dtype))
    np.testing.assert_array_equal(got, want.astype(np.float32).astype(every.dtype))


def test_nan_and_infinity_stay(rng):
    for name, n in itertools.product(providers.PROVIDERS, (4, 90)):
        use(name)
        x, y = np.ones((n, n), np.float32), np.ones((n, n), np.float32)
        x[1, 2], x[3, 0] = np.nan, np.inf
        with np.errstate(invalid="ignore"):
            got, want, _ = run_matmul(x, y)
        np.testing.assert_array_equal(got, want)


# --- convolutions ---------------------------------------------------------------------------------------------------

KINDS = [
    (conv_ops.Conv, ref.conv),
    (conv_ops.ConvInputGrad, ref.conv_input_grad),
    (conv_ops.ConvWeightGrad, ref.conv_weight_grad),
]


def case(n, c, o, spatial, kernel, strides=1, lo=0, hi=0, dilations=1, groups=1):
    nd = len(spatial)
    return (
        n,
        c,
        o,
        groups,
        spatial,
        *((v,) * nd if isinstance(v, int) else v for v in (kernel, strides, lo, hi, dilations)),
    )


CASES = [
    case(2, 3, 4, (9, 8), 3, lo=1, hi=1),
    case(2, 16, 32, (9, 8), 3, 2, lo=1),
    case(2, 32, 16, (14, 15), 1),
    case(2, 96, 80, (14, 15), 1),
    case(3, 80, 96, (5, 5), 1),
    case(2, 16, 80, (1, 1), 1),
    case(2, 32, 16, (14, 15), 1, 2),
    case(1, 4, 6, (10, 12), (2, 3), (2, 1), (1, 2), (0, 1), (2, 1), groups=2),
    case(2, 6, 6, (11,), 3, lo=1, hi=1, groups=6),
    case(2, 32, 32, (6, 7), 3, lo=1, hi=1, groups=32),
    case(1, 3, 5, (4, 5, 6), (2, 3, 2), (1, 2, 1), lo=1),
    case(2, 16, 16, (3, 4, 4), 3, lo=1, hi=1),
    case(1, 1, 1, (5,), 5),
    case(0, 2, 3, (5, 5), 3),
    case(2, 2, 3, (1, 1), 3, lo=3, hi=3, strides=2),
    # Taps that see pads alone: one, several or none stay, on either side; one product; kernels in groups.
    case(3, 5, 7, (1, 1), 3, lo=1, hi=1),
    case(3, 5, 80, (2, 2), 3, 2, lo=1, hi=1),
    case(2, 4, 6, (2, 1), (5, 3), lo=(3, 1), hi=(2, 1)),
    case(2, 4, 4, (2, 2), 3, lo=2, hi=2, dilations=2),
    case(2, 4, 4, (3,), 5, 3, lo=4, hi=1),
    case(2, 4, 6, (1, 1), 3, lo=1, hi=1, groups=2),
    case(2, 3, 4, (1, 2, 1), 3, lo=1, hi=1),
    case(2, 3, 4, (3, 3), 3),
    case(2, 6, 4, (4, 3), 1, 4),
    case(2, 32, 32, (1, 3), 3, lo=1, hi=1),
]
# Gradients of kernels by taps.
FEW_POSITIONS = [
    case(2, 128, 136, (2, 2), 3, lo=1, hi=1),
    case(1, 130, 128, (5, 4), 3, 2, lo=1, hi=1),
    case(3, 128, 128, (4,), 2, hi=(1,)),
    case(1, 128, 128, (2, 2, 3), 2, lo=1, dilations=(1, 1, 2), hi=(0, 0, 1)),
]


def channels_last(x):
    return np.moveaxis(np.ascontiguousarray(np.moveaxis(x, 1, -1)), -1, 1)


def with_gaps(x):
    wide = np.zeros(tuple(2 * n for n in x.shape), x.dtype)
    wide[(slice(None, None, 2),) * x.ndim] = x
    return wide[(slice(None, None, 2),) * x.ndim]


def operands(rng, shape, dtype):
    """x, w, g and the words of the params."""
    n, c, o, groups, spatial, kernel, strides, lo, hi, dilations = shape
    dims = zip(spatial, kernel, strides, lo, hi, dilations, strict=True)
    out = tuple((s + a + b - d * (k - 1) - 1) // t + 1 for s, k, t, a, b, d in dims)
    x, w, g = (draw(rng, v, dtype) for v in ((n, c, *spatial), (o, c // groups, *kernel), (n, o, *out)))
    return x, w, g, (groups, *strides, *lo, *hi, *dilations)


def reference(kind, x, w, g, shape):
    """The three readings in float64."""
    _, _, _, groups, _, _, *geometry = shape
    ins, like = ((x, w), g) if kind == 0 else ((g, w), x) if kind == 1 else ((x, g), w)
    want = np.zeros(like.shape)
    sizes = () if kind == 0 else (like.shape[2:],)
    KINDS[kind][1](None, want, *map(wide, ins), groups, *geometry, *sizes)
    return list(ins), like, want


def convolve(kind, x, w, g, words, shape, dtype, arrange=lambda v: v, out=None):
    ins, like, want = reference(kind, x, w, g, shape)
    launch = providers.find(KINDS[kind][0](nd=x.ndim - 2), [meta(v) for v in ins])
    got = arrange(np.full_like(like, 77)) if out is None else out
    assert call(launch, [arrange(v) for v in ins], [got], words)() == 0
    # Sums of many products: the error is measured against the largest.
    assert_close(got, want, dtype, np.abs(want).max() * 2 if want.size else None)
    return got, launch


@pytest.mark.parametrize("arrange", [lambda v: v, channels_last, with_gaps], ids=["first", "last", "gaps"])
@pytest.mark.parametrize(("name", "dtype"), FLOATS)
def test_convolutions(name, dtype, arrange, rng):
    use(name)
    for shape in CASES:
        x, w, g, words = operands(rng, shape, dtype)
        for kind in range(3):
            _, launch = convolve(kind, x, w, g, words, shape, dtype, arrange)
            assert launch.provider == name


def test_a_result_that_lies_otherwise_than_the_operands(rng):
    use("onednn")
    for shape in CASES[:5]:
        x, w, g, words = operands(rng, shape, "float32")
        for kind, like in enumerate((g, x, w)):
            convolve(kind, x, w, g, words, shape, "float32", out=channels_last(np.zeros_like(like)))


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
@pytest.mark.parametrize("x_last", [False, True])
@pytest.mark.parametrize("g_last", [False, True])
def test_gradients_of_kernels_over_few_positions(x_last, g_last, dtype, rng):
    use("onednn")
    for shape in FEW_POSITIONS:
        x, w, g, words = operands(rng, shape, dtype)
        x, g = channels_last(x) if x_last else x, channels_last(g) if g_last else g
        got, _ = convolve(2, x, w, g, words, shape, dtype)
        again = np.full(w.shape, 77, numpy_type(dtype))
        convolve(2, x, w, g, words, shape, dtype, out=with_gaps(again))
        assert got.flags.c_contiguous


@pytest.mark.parametrize("kind", range(3))
@pytest.mark.parametrize("positions", [(1, 1), (8, 8), (9, 9), (16, 16)])
def test_convolutions_in_bfloat16_round_their_results_alone(positions, kind, rng):
    """However they are computed: sums are those of float32."""
    use("onednn")
    shape = case(4, 64, 64, positions, 3, lo=1, hi=1)
    x, w, g, words = operands(rng, shape, "bfloat16")
    got, _ = convolve(kind, x, w, g, words, shape, "bfloat16")
    _, _, want = reference(kind, x, w, g, shape)
    np.testing.assert_allclose(wide(got), want, rtol=2**-8, atol=1e-5 * np.abs(want).max())


@pytest.mark.parametrize("kind", range(3))
@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_any_number_of_positions(dtype, kind, rng):
    """oneDNN's kernel of bfloat16 that emulates products is wrong for 5 places and more than 64 outputs."""
    use("onednn")
    for places, o in itertools.product(range(1, 18), (16, 65, 96)):
        shape = case(1, 3, o, (places,), 1)
        x, w, g, words = operands(rng, shape, dtype)
        convolve(kind, x, w, g, words, shape, dtype)


def test_pads_never_meet_weights(rng):
    """Taps that see pads alone are not multiplied, so what is not finite there does not matter."""
    use("onednn")
    x, w, g, words = operands(rng, case(2, 3, 4, (1, 1), 3, lo=1, hi=1), "float32")
    w[:] = np.inf
    w[:, :, 1, 1] = 1
    out = np.empty_like(g)
    launch = providers.find(conv_ops.Conv(nd=2), [meta(x), meta(w)])
    assert call(launch, [x, w], [out], words)() == 0
    np.testing.assert_allclose(out[:, 0, 0, 0], x.sum((1, 2, 3)), rtol=1e-5)


def test_columns_in_several_parts(rng):
    use("blas")
    shape = case(1, 40, 4, (60, 70), 3, lo=1, hi=1)
    x, w, g, words = operands(rng, shape, "float32")
    for kind in range(3):
        convolve(kind, x, w, g, words, shape, "float32")


# --- epilogues of a matmul -----------------------------------------------------------------------------------------


def after(value, steps, extra):
    """The epilogue in float64; ``extra`` holds arrays that broadcast."""
    extra = list(extra)
    for step in steps:
        if step in ("bias", "add"):
            value = value + wide(extra.pop(0))
        elif step == "relu":
            value = np.maximum(value, 0)
        elif step == "tanh":
            value = np.tanh(value)
        elif step in ("sigmoid", "silu"):
            value = (value if step == "silu" else 1) / (1 + np.exp(-value))
        elif step == "hard_swish":
            value = value * np.clip(value + 3, 0, 6) / 6
        elif step[0] == "scale":
            value = value * step[1]
        elif step[0] == "shift":
            value = value + step[1]
        elif step == "gelu":
            value = value * 0.5 * (1 + np.vectorize(math.erf)(value / np.sqrt(2)))
        else:
            value = 0.5 * value * (1 + np.tanh(np.sqrt(2 / np.pi) * (value + 0.044715 * value**3)))
    return value


EPILOGUES = [
    ("bias",), ("relu",), ("bias", "gelu"), ("bias", "gelu_tanh"), ("bias", "silu", "add"), ("add", "relu"),
    ("tanh",), ("sigmoid",), ("relu", "bias"),
]  # fmt: skip
# Of convolutions alone.
NUMBERS = [
    ("bias", "hard_swish", ("scale", 0.75), ("shift", -0.5)), ("hard_swish",), (("scale", -2.0),),
    ("add", "hard_swish"), ("bias", "relu", ("shift", 0.25)), (("shift", 1.5), ("scale", 0.5), "bias"),
]  # fmt: skip
LOOSE = {"float32": 2e-5, "float64": 1e-12, "bfloat16": 2e-2, "float16": 4e-3}


@pytest.mark.parametrize("steps", EPILOGUES, ids="-".join)
@pytest.mark.parametrize(("name", "dtype"), FLOATS)
def test_epilogues(name, dtype, steps, rng, monkeypatch):
    use(name)
    monkeypatch.setitem(TOLERANCE, dtype, LOOSE[dtype])
    for a, b in (
        ((5, 6), (6, 7)),
        ((2, 30, 64), (64, 48)),
        ((3, 4, 6), (3, 6, 20)),
        ((2, 3, 0), (0, 4)),
        ((6,), (6, 3)),
    ):
        x, y = draw(rng, a, dtype) / 2, draw(rng, b, dtype) / 2
        x, y = x.astype(numpy_type(dtype)), y.astype(numpy_type(dtype))
        out = np.zeros(np.matmul(np.zeros(a), np.zeros(b)).shape)
        extra = [draw(rng, out.shape[-1:] if s == "bias" else out.shape, dtype) for s in steps if s in ("bias", "add")]
        got, want, _ = run_matmul(x, y, epilogue=steps, extra=extra)
        assert_close(got, after(want, steps, extra), dtype)
    for shape in (CASES[0], CASES[1], CASES[2], CASES[7], CASES[8]):
        x, w, g, words = operands(rng, shape, dtype)
        ins, like, want = reference(0, x, w, g, shape)
        for arrange in (lambda v: v, channels_last, with_gaps):
            extra = [draw(rng, like.shape[1:2], dtype) if s == "bias" else arrange(draw(rng, like.shape, dtype))
                     for s in steps if s in ("bias", "add")]  # fmt: skip
            launch = providers.find(conv_ops.Conv(nd=x.ndim - 2), [meta(v) for v in ins], steps)
            got = arrange(np.full_like(like, 77))
            assert call(launch, [*map(arrange, ins), *extra], [got], words)() == 0
            spread = [e.reshape(-1, *(1,) * (x.ndim - 2)) if e.ndim == 1 else e for e in extra]
            assert_close(got, after(want, steps, spread), dtype)


def in_strips(w, width, block):
    """Kernels in strips, as an array of the shape that they are of: a launch does not read its strides."""
    o, c, *kernel = w.shape
    side = min(block, 2)
    wide = np.zeros((o + -o % width, c + -c % block, *kernel), w.dtype)
    wide[:o, :c] = w
    strips = np.moveaxis(wide.reshape(-1, width, wide.shape[1] // side, side, *kernel), (2, 1, 3), (-3, -2, -1))
    room = np.zeros(max(strips.size, w.size), w.dtype)
    room[: strips.size] = strips.ravel()
    return np.ndarray(w.shape, w.dtype, room)


STRIPPED = [(name, dtype) for name, dtype in FLOATS if dtype in ("float32", "bfloat16")]


@pytest.mark.parametrize(
    ("name", "dtype", "steps"),
    [
        row
        for name, dtype in STRIPPED
        for row in sampled([(name, dtype, steps) for steps in ((), *EPILOGUES, *NUMBERS)], 6)
    ],
    ids=lambda x: x if isinstance(x, str) else "-".join(map(str, x)) or "plain",
)
def test_kernels_in_strips(name, dtype, steps, rng, monkeypatch):
    """Of any width and in any layout of the images, whatever the library would have chosen."""
    use(name)
    monkeypatch.setitem(TOLERANCE, dtype, LOOSE[dtype])
    alone = [shape for shape in CASES if shape[3] == 1 and shape[0]]
    assert len(alone) > 8
    for i, shape in enumerate(alone):
        x, w, g, words = operands(rng, shape, dtype)
        (x, w), like, want = reference(0, x, w, g, shape)
        op, block = conv_ops.Conv(nd=x.ndim - 2), (1,) if dtype == "float32" else (2, 32)
        chosen = select_provider.kernel_strip(
            op, [meta(v) for v in (x, w, like)], (words[0], *np.reshape(words[1:], (4, -1)).tolist())
        )
        for strip, arrange in itertools.product(
            {chosen or (16, block[0]), ((8, 16, 24, 32, 48, 64)[i % 6], block[-1])},
            (lambda v: v, channels_last, with_gaps),
        ):
            extra = [draw(rng, like.shape[1:2], dtype) if s == "bias" else arrange(draw(rng, like.shape, dtype))
                     for s in steps if s in ("bias", "add")]  # fmt: skip
            launch = providers.find(op, [meta(x), meta(w)], steps, strip)
            got = arrange(np.full_like(like, 77))
            assert call(launch, [arrange(x), in_strips(w, *strip), *extra], [got], words)() == 0
            spread = [e.reshape(-1, *(1,) * (x.ndim - 2)) if e.ndim == 1 else e for e in extra]
            wanted = after(want, steps, spread)
            # A single result may lie in the tail of gelu, where float32 has few digits left.
            assert_close(got, wanted, dtype, max(np.abs(wanted).max(), 1))


@pytest.mark.parametrize("steps", [(), *EPILOGUES, ("bias", "hard_swish")], ids=lambda s: "-".join(s) or "plain")
@pytest.mark.parametrize("name", [name for name, dtype in FLOATS if dtype == "bfloat16"])
def test_matrices_in_strips(name, steps, rng, monkeypatch):
    """Of few rows and many, also where rows are apart, and where a batch is not one matrix."""
    use(name)
    monkeypatch.setitem(TOLERANCE, "bfloat16", LOOSE["bfloat16"])
    for lead, k, n in (((1,), 7, 20), ((3,), 64, 64), ((40,), 33, 130), ((2, 33), 96, 50), ((), 5, 16)):
        room = draw(rng, (*(size + 2 for size in lead), k + 3), "bfloat16")
        y = draw(rng, (k, n), "bfloat16")
        for x in (room[..., :k].copy(), room[..., :k]):
            x = x[tuple(slice(size) for size in lead)]
            want = np.matmul(wide(x), wide(y))
            extra = [draw(rng, (n,) if s == "bias" else want.shape, "bfloat16") for s in steps if s in ("bias", "add")]
            wanted = after(want, steps, extra)
            for strip in ((64, 32), (16, 32), (32, 2)):
                launch = providers.find(linalg.Matmul(), [meta(x), meta(y)], steps, strip)
                got = np.full(want.shape, 77, BF16)
                kernels = np.ndarray(y.shape, BF16, in_strips(np.ascontiguousarray(y.T), *strip))
                assert call(launch, [x, kernels, *extra], [got])() == 0
                assert_close(got, wanted, "bfloat16", max(np.abs(wanted).max(), 1))


@pytest.mark.parametrize("steps", NUMBERS, ids=lambda steps: "-".join(map(str, steps)))
@pytest.mark.parametrize(("name", "dtype"), FLOATS)
def test_epilogues_of_convolutions(name, dtype, steps, rng, monkeypatch):
    use(name)
    monkeypatch.setitem(TOLERANCE, dtype, LOOSE[dtype])
    five = case(1, 40, 40, (6, 50), 5, lo=2, hi=2, groups=40)
    for shape in (CASES[1], CASES[7], CASES[9], five, case(2, 33, 33, (4, 44), (3, 7), (1, 2), 3, 3, groups=33)):
        x, w, g, words = operands(rng, shape, dtype)
        ins, like, want = reference(0, x, w, g, shape)
        for arrange in (lambda v: v, channels_last):
            extra = [draw(rng, like.shape[1:2], dtype) if s == "bias" else arrange(draw(rng, like.shape, dtype))
                     for s in steps if s in ("bias", "add")]  # fmt: skip
            launch = providers.find(conv_ops.Conv(nd=x.ndim - 2), [meta(v) for v in ins], steps)
            got = arrange(np.full_like(like, 77))
            assert call(launch, [arrange(ins[0]), ins[1], *extra], [got], words)() == 0
            spread = [e.reshape(-1, *(1,) * (x.ndim - 2)) if e.ndim == 1 else e for e in extra]
            assert_close(got, after(want, steps, spread), dtype)


def test_epilogues_that_nobody_has():
    x, y = Meta((2, 3), dt.int32), Meta((3, 4), dt.int32)
    assert providers.find(linalg.Matmul(), [x, y], ("relu",)) is None
    assert providers.find(linalg.Matmul(), [x, y]) is not None
    x, y = Meta((2, 3), dt.float32), Meta((3,), dt.float32)
    assert providers.find(linalg.Matmul(), [x, y], ("bias",)) is None
    with pytest.raises(ValueError, match=r"requires steps among bias, .*, got clip"):
        providers.find(linalg.Matmul(), [x, Meta((3, 4), dt.float32)], ("clip",))


# --- tables, threads, switches --------------------------------------------------------------------------------------


def test_shapes_are_kept_and_evicted(rng):
    use("onednn")
    relu = (matmul.STEPS["relu"],)  # without one, processors that do not multiply bfloat16 widen it
    state = matmul.LaunchState(providers.DTYPES["bfloat16"], 2, 2, False, False, providers.USE_ONEDNN, relu)
    probe = providers.find(linalg.Matmul(), [Meta((2, 2), dt.bfloat16)] * 2, ("relu",))
    launch = probe._replace(pointer=state.pointer, keep=state)
    y = draw(rng, (32, 16), "bfloat16")  # large enough for primitives

    def run(m):
        x, out = draw(rng, (m, 32), "bfloat16"), np.zeros((m, 16), BF16)
        assert call(launch, [x, y], [out])() == 0
        assert_close(out, np.maximum(wide(x) @ wide(y), 0), "bfloat16")

    for m in (10, 11, 10, 11):
        run(m)
    assert state.entries() == (2, 2, 0)
    for m in range(20, 20 + table.ROOM):
        run(m)
    count, misses, evictions = state.entries()
    assert (count, misses, evictions) == (table.ROOM, table.ROOM + 2, 2)
    run(20 + table.ROOM - 1)  # the last is there,
    assert state.entries()[1] == misses
    run(10)  # the first is gone
    assert state.entries() == (table.ROOM, misses + 1, 3)


def test_convolutions_of_one_shape_share_an_entry(rng):
    use("onednn")
    state = convolution.LaunchState(convolution.KINDS["FORWARD"], providers.DTYPES["float32"], 2, providers.USE_ONEDNN)
    shape = CASES[1]
    x, w, g, words = operands(rng, shape, "float32")
    launch = providers.find(conv_ops.Conv(nd=2), [meta(x), meta(w)])._replace(pointer=state.pointer, keep=state)
    first, again = np.zeros_like(g), np.zeros_like(g)
    assert call(launch, [x, w], [first], words)() == call(launch, [x, w], [again], words)() == 0
    np.testing.assert_array_equal(first, again)
    assert state.entries() == (1, 1, 0)
    assert call(launch, [channels_last(x), w], [first], words)() == 0  # lies otherwise: another primitive
    assert state.entries() == (2, 2, 0)


@pytest.mark.parametrize("name", ["onednn", "blas"])
def test_launches_from_many_threads(name, rng):
    use(name)
    shapes = [case(1, 16, 16, (8 + i, 9), 3, lo=1, hi=1) for i in range(6)]
    inputs = [operands(rng, shape, "float32") for shape in shapes]
    wanted = [reference(0, x, w, g, shape)[2] for (x, w, g, _), shape in zip(inputs, shapes, strict=True)]
    launch = providers.find(conv_ops.Conv(nd=2), [meta(inputs[0][0]), meta(inputs[0][1])])
    bad = []

    def work(seed):
        order = np.random.default_rng(seed).integers(0, 6, 40)
        for i in order:
            x, w, g, words = inputs[i]
            out = np.zeros_like(g)
            code = call(launch, [x, w], [out], words)()
            if code or np.abs(out - wanted[i]).max() > 1e-3:
                bad.append((i, code))

    workers = [threading.Thread(target=work, args=(s,)) for s in range(4)]
    for t in workers:
        t.start()
    for t in workers:
        t.join()
    assert not bad


@pytest.mark.parametrize(
    ("x", "w", "geometry"),
    [
        ((2, 16, 16, 32), (32, 16, 1, 1), {}),
        ((2, 16, 16, 16), (16, 16, 3, 3), {"padding": 1}),
        ((8, 6, 14, 14), (16, 6, 5, 5), {}),
        ((4, 3, 16, 16), (8, 3, 3, 3), {"stride": 2}),
        ((4, 8, 12, 12), (8, 4, 3, 3), {"groups": 2}),
    ],
    ids=["pointwise", "square", "valid", "strided", "groups"],
)
def test_small_convolutions_run_on_one_thread(x, w, geometry):
    """Two would divide the sums of the gradient of w, whose last bits show it."""
    rng = np.random.default_rng(7)
    values = [rng.standard_normal(shape).astype(np.float32) for shape in (x, w)]
    found = []
    for threads in (1, 2):
        providers.set_threads(threads)
        given = [paddle.to_tensor(v, stop_gradient=False) for v in values]
        y = paddle.nn.functional.conv2d(*given, **geometry)
        found.append([t.numpy() for t in (y, *paddle.grad(y, given, paddle.cos(y)))])
    for one, two in zip(*found, strict=True):
        np.testing.assert_array_equal(two, one)


def test_thread_count():
    providers.set_threads(2)
    assert providers.get_threads() == 2
    with pytest.raises(ValueError, match="requires at least one thread, got -1"):
        providers.set_threads(-1)
    providers.set_threads(0)
    assert providers.get_threads() == parallel.get_num_threads()


FORK = """
import os, sys
import numpy as np
sys.path[:0] = {tests!r}
import test_providers as t
from umiak.backends.cpu import providers, select_provider
t.flags.set_flags({{"FLAGS_cpu_providers": {name!r}}})
providers.set_threads(2)
rng = np.random.default_rng(0)
shape = t.case(4, 32, 32, (20, 20), 3, lo=1, hi=1)

def work():
    for dtype in ("float32", "bfloat16"):
        got, want, _ = t.run_matmul(t.draw(rng, (300, 300), dtype), t.draw(rng, (300, 300), dtype))
        t.assert_close(got, want, dtype)
    x, w, g, words = t.operands(rng, shape, "float32")
    for kind in range(3):
        t.convolve(kind, x, w, g, words, shape, "float32")

work()
assert providers.get_threads() == 2
child = os.fork()
if child == 0:
    work()
    assert providers.get_threads() == 1
    os._exit(0)
assert os.waitpid(child, 0)[1] == 0
work()
"""


@pytest.mark.parametrize("name", ["onednn", "blas"])
def test_a_forked_child_runs_on_one_thread(name):
    use(name)
    code = FORK.format(tests=[str(Path(__file__).parent), str(Path(__file__).parents[1] / "support")], name=name)
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)
    assert run.returncode == 0, run.stderr


def test_a_forked_child_may_be_the_first_that_needs_a_library():
    code = """
import os, paddle
child = os.fork()
if child == 0:
    x = paddle.ones([3, 3])
    assert (paddle.matmul(x, x).numpy() == 3).all()
    assert (paddle.nn.functional.conv2d(paddle.ones([1, 2, 4, 4]), paddle.ones([3, 2, 3, 3])).numpy() == 18).all()
    os._exit(0)
assert os.waitpid(child, 0)[1] == 0
"""
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)
    assert run.returncode == 0, run.stderr


class SignalStack(ctypes.Structure):
    _fields_ = [("start", ctypes.c_void_p), ("flags", ctypes.c_int), ("size", ctypes.c_size_t)]


DISABLED = 2


def signal_stack(given=None):
    """That of the thread, which gets ``given`` in its place."""
    found = SignalStack()
    assert ctypes.CDLL(None).sigaltstack(given and ctypes.byref(given), ctypes.byref(found)) == 0
    return found.start, found.flags, found.size


@pytest.mark.skipif(sys.platform != "linux", reason="the sizes and numbers above are those of Linux")
def test_handlers_of_signals_have_a_stack_where_the_library_computes(rng):
    use("onednn")
    x, y = draw(rng, (100, 110), "float32"), draw(rng, (110, 120), "float32")
    room = ctypes.create_string_buffer(1 << 16)
    own = SignalStack(ctypes.addressof(room), 0, len(room))
    found = []

    def work(given):
        signal_stack(given)
        before = signal_stack()
        run_matmul(x, y)
        found.append((before, signal_stack()))
        if given is not None:
            signal_stack(SignalStack(None, DISABLED, 0))

    for given in (None, own, None):
        thread = threading.Thread(target=work, args=(given,))
        thread.start()
        thread.join()
    for before, after in (found[0], found[2]):
        assert before[1] == DISABLED
        assert after[1] == 0
        assert after[2] >= 1 << 16
    assert found[1][0] == found[1][1]  # one that is there stays
    assert found[1][0][0] == own.start


SIGNALS = """
import signal
import numpy as np
import paddle
paddle.set_num_threads(1)
count = [0]
signal.signal(signal.SIGPROF, lambda *_: count.__setitem__(0, count[0] + 1))
signal.setitimer(signal.ITIMER_PROF, 0.001, 0.001)
rng = np.random.default_rng(0)
x, y = (paddle.to_tensor(rng.standard_normal(s).astype("float32")) for s in ((704, 1024), (1024, 256)))
want = paddle.matmul(x, y).numpy()
while count[0] < 100:
    np.testing.assert_array_equal(paddle.matmul(x, y).numpy(), want)
signal.setitimer(signal.ITIMER_PROF, 0)
"""


@pytest.mark.slow
def test_signals_leave_the_heap_alone():
    """On the thread that calls the library."""
    use("onednn")
    run = subprocess.run([sys.executable, "-c", SIGNALS], capture_output=True, text=True, timeout=120)
    assert run.returncode == 0, run.stderr


def test_scratch_is_kept_and_given_back(rng):
    use("blas")
    run_matmul(draw(rng, (50, 60), "float16"), draw(rng, (60, 70), "float16"))
    blocks, nbytes = common.kept_scratch()
    assert 0 < blocks <= 24
    run_matmul(draw(rng, (50, 60), "float16"), draw(rng, (60, 70), "float16"))
    assert common.kept_scratch() == (blocks, nbytes)
    common.drop_scratch()
    assert common.kept_scratch() == (0, 0)


def test_two_threads_compute_the_same(rng):
    use("onednn")
    providers.set_threads(2)
    x, y = draw(rng, (6, 90, 100), "float32"), draw(rng, (6, 100, 80), "float32")
    got, want, _ = run_matmul(x, y)
    assert_close(got, want, "float32")
    for shape in CASES[:4]:
        *tensors, words = operands(rng, shape, "float32")
        for kind in range(3):
            convolve(kind, *tensors, words, shape, "float32")


def test_providers_are_switched_off():
    metas = [Meta((8, 8), dt.float32)] * 2
    preferred = next(providers.available())
    order = [providers.find(linalg.Matmul(), metas).provider]
    for text in ("blas,plain", "plain", "plain,onednn"):
        flags.set_flags({"FLAGS_cpu_providers": text})
        order.append(providers.find(linalg.Matmul(), metas).provider)
    assert order == [preferred, "blas", "plain", "plain"]
    flags.set_flags({"FLAGS_cpu_providers": "onednn,blas"})
    assert providers.find(linalg.Matmul(), [Meta((8, 8), dt.int64)] * 2) is None
    flags.set_flags({"FLAGS_cpu_providers": ""})
    assert providers.find(linalg.Matmul(), metas) is None
    with pytest.raises(ValueError, match=r"requires names among onednn, blas, plain, got mkl"):
        flags.set_flags({"FLAGS_cpu_providers": "mkl"})


def test_a_library_that_is_not_usable_says_why(tmp_path):
    code = (
        "from umiak.backends.cpu import providers\n"
        "from umiak.backends.cpu.providers import onednn\n"
        "import sys\n"
        "try: onednn.load(sys.argv[1])\n"
        "except OSError as error: print(error)\n"
        "assert onednn.loaded() is None\n"
    )
    for path, reason in (
        (str(tmp_path / "none.so"), "cannot open shared object"),
        ("libc.so.6", "it lacks dnnl_version"),
    ):
        run = subprocess.run([sys.executable, "-c", code, path], capture_output=True, text=True, timeout=300)
        assert run.returncode == 0, run.stderr
        assert f"oneDNN at {path} cannot be used" in run.stdout
        assert reason in run.stdout


def test_a_launch_says_what_it_wants():
    launch = providers.find(linalg.Matmul(), [Meta((4, 2, 3), dt.float32), Meta((3,), dt.float32)])
    assert launch.dims[:2] == (Dim(0, "size", 0), Dim(0, "size", 1))
    assert launch.dims[-2:] == (Dim(2, "stride", 0), Dim(2, "stride", 1))
    assert providers.find(conv_ops.Conv(nd=2), [Meta((1, 2, 3, 3), dt.complex64)] * 2) is None
    assert providers.find(linalg.Matmul(), [Meta((2, 2), dt.bool)] * 2) is None


def test_small_matmuls_and_a_bias(rng):
    """Two matrices, whatever their sizes and however they lie; a bias is added to what their product is."""
    sizes = (1, 2, 3, 8, 17, 33, 64, 65)
    for m, n, k in itertools.product(sizes, repeat=3):
        a, b = rng.standard_normal((m, k), dtype="float32"), rng.standard_normal((k, n), dtype="float32")
        bias = paddle.to_tensor(rng.standard_normal(n, dtype="float32"))
        want = a.astype("float64") @ b.astype("float64")
        x, y = paddle.to_tensor(a), paddle.to_tensor(b)
        x_transposed, y_transposed = paddle.to_tensor(a.T.copy()), paddle.to_tensor(b.T.copy())
        for tx, ty in itertools.product((False, True), repeat=2):
            made = paddle.matmul(x_transposed if tx else x, y_transposed if ty else y, tx, ty)
            np.testing.assert_allclose(made.numpy(), want, rtol=2e-5, atol=2e-5)
        wide = paddle.to_tensor(np.repeat(b, 2, 1))[:, ::2]
        for left in (x, x_transposed.t()):
            for right in (y, y_transposed.t(), wide):
                made = paddle.nn.functional.linear(left, right, bias)
                np.testing.assert_array_equal(made.numpy(), (paddle.matmul(left, right) + bias).numpy())


def test_products_of_a_column_and_a_row(rng):
    """Each element is one product, whatever the sizes and however the operands lie."""
    for m, n in ((1, 32), (5, 31), (7, 33), (48, 100), (3, 257), (700, 513)):
        a, b = rng.standard_normal((m, 1), dtype="float32"), rng.standard_normal((1, n), dtype="float32")
        x, y = paddle.to_tensor(a), paddle.to_tensor(b)
        np.testing.assert_array_equal(paddle.matmul(x, y).numpy(), a * b)
        np.testing.assert_array_equal(paddle.matmul(paddle.to_tensor(a.T), y, transpose_x=True).numpy(), a * b)
        wide = paddle.to_tensor(np.repeat(a, 3, 1))[:, 1:2]
        np.testing.assert_array_equal(paddle.matmul(wide, y).numpy(), a * b)
        np.testing.assert_array_equal(paddle.matmul(x, paddle.to_tensor(b.T), transpose_y=True).numpy(), a * b)


def test_results_that_do_not_depend_on_threads(rng):
    """By the switch also those of libraries, which otherwise split long sums among threads."""
    x, y = (paddle.to_tensor(rng.standard_normal((300, 5000)).astype("float64")) for _ in range(2))
    before = parallel.get_num_threads()
    flags.set_flags({"FLAGS_cpu_deterministic": True})
    try:
        found = []
        for threads in (1, 2):
            parallel.set_num_threads(threads)
            assert providers.get_threads() == 1
            found.append(paddle.matmul(x, y[:7], transpose_y=True).numpy())
        np.testing.assert_array_equal(*found)
    finally:
        flags.set_flags({"FLAGS_cpu_deterministic": False})
        parallel.set_num_threads(before)
    assert providers.get_threads() == before


def test_products_with_one_number_in_all_places(rng):
    """As the gradient of a sum is: neither rows nor columns of it are contiguous."""
    for m, k, n in ((8, 8, 8), (3, 1, 5), (1, 7, 40), (33, 65, 17), (200, 100, 150)):
        a = rng.standard_normal((m, k), dtype="float32")
        x, two = paddle.to_tensor(a), paddle.to_tensor(np.float32(2)).expand([k, n])
        np.testing.assert_allclose(paddle.matmul(x, two).numpy(), a @ np.full((k, n), 2, "f4"), 1e-5, 1e-4)
        got = paddle.matmul(two, x, transpose_x=True, transpose_y=True).numpy()
        np.testing.assert_allclose(got, np.full((n, k), 2, "f4") @ a.T, 1e-5, 1e-4)
        wide = paddle.to_tensor(rng.standard_normal((2 * k, 3 * n), dtype="float32"))[::2, ::3]
        np.testing.assert_allclose(paddle.matmul(x, wide).numpy(), a @ wide.numpy(), 1e-4, 1e-4)


def test_a_launch_without_memory_says_so():
    x = paddle.ones([2, 3])
    with pytest.raises(MemoryError, match=r"\[matmul\] requires scratch memory.*\[2, 3\]"):
        select_provider.explain(linalg.Matmul(), (x, x), (), common.NO_MEMORY)


@pytest.mark.parametrize(
    ("x", "y", "dtype", "wanted"),
    [
        ((1024, 384), (384, 384), "float32", True),
        ((4, 256, 1408), (256, 1408), "float32", True),  # rows of all batches count
        ((512, 384), (384, 384), "float32", False),  # few rows: the library packs
        ((1024, 384), (1152, 384), "float32", False),  # many columns: likewise
        ((1024, 1024), (256, 1024), "float32", False),  # rows whole pages apart, slow to transpose
        ((1024, 384), (384, 384), "bfloat16", False),
    ],
)
def test_which_matrices_are_transposed_before(x, y, dtype, wanted):
    use("onednn")
    d = getattr(dt, dtype)
    assert select_provider.lays_out(linalg.Matmul(False, True), [Meta(x, d), Meta(y, d)]) == wanted


def test_no_matrix_is_transposed_before_for_others():
    metas = [Meta((1024, 384), dt.float32), Meta((384, 384), dt.float32)]
    use("onednn")
    assert not select_provider.lays_out(linalg.Matmul(True, True), metas)
    flags.set_flags({"FLAGS_cpu_providers": "plain"})
    assert not select_provider.lays_out(linalg.Matmul(False, True), metas)
