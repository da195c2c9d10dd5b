"""The meaning of operations on NumPy arrays, against exact numbers."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from umiak.compiler.loop.evaluate import DTYPES, evaluate
from umiak.compiler.loop.node import Node, axis, bitcast, call, cast, const, i64, load, var
from umiak.compiler.loop.types import F32, F64, I8, I32, I64, U8, U32, U64, ScalarType


@pytest.fixture(autouse=True)
def _quiet():
    """Overflow and NaN are what is looked at here."""
    with np.errstate(all="ignore"):
        yield


def compute(op: str, t: ScalarType, *inputs: object) -> np.ndarray:
    args = [var(f"x{k}", t) for k in range(len(inputs))]
    return evaluate([call(op, *args)], {a: np.asarray(x, DTYPES[t.name]) for a, x in zip(args, inputs)})[0]


def is_nearest(got: float, exact: Fraction, dtype: np.dtype) -> bool:
    number = dtype.type(got)
    around = [np.nextafter(number, dtype.type(s * math.inf)) for s in (-1, 1)]
    if not np.isfinite(number):
        info = np.finfo(dtype)
        return abs(exact) >= Fraction(float(info.max)) + Fraction(2) ** (info.maxexp - info.nmant - 2)
    distance = abs(Fraction(float(number)) - exact)
    others = [abs(Fraction(float(v)) - exact) for v in around if np.isfinite(v)]
    if any(distance > d for d in others):
        return False
    # Of two that are as near, the even one.
    tie = any(distance == d for d in others)
    return not tie or int(number.view(f"u{dtype.itemsize}")) % 2 == 0


@pytest.mark.parametrize("t", [F32, F64], ids=str)
def test_fma_is_rounded_once(t: ScalarType, rng: np.random.Generator) -> None:
    dtype, n = DTYPES[t.name], 300
    far = 40 if t is F32 else 540
    for power in (0, 20, -far, far):
        a, b, c = (rng.standard_normal(n) * 2.0 ** rng.integers(-12, 12, n) * 2.0**power for _ in range(3))
        a, b = a.astype(dtype), b.astype(dtype)
        c = np.where(np.arange(n) % 2, c.astype(dtype), -(a * b)).astype(dtype)  # every other one cancels
        # Products with few bits make ties.
        a[: n // 4] = np.ldexp(np.rint(np.ldexp(a[: n // 4], -power)), power)
        c[: n // 4] = np.ldexp(np.rint(np.ldexp(c[: n // 4], -2 * power)), 2 * power + np.finfo(dtype).nmant // 2)
        c[~np.isfinite(c)] = 1
        got = compute("fma", t, a, b, c)
        for p, q, r, s in zip(a.tolist(), b.tolist(), c.tolist(), got.tolist()):
            exact = Fraction(p) * Fraction(q) + Fraction(r)
            assert is_nearest(s, exact, dtype), (p, q, r, s)


@pytest.mark.parametrize("t", [F32, F64], ids=str)
def test_fma_at_the_ends(t: ScalarType) -> None:
    inf, nan = math.inf, math.nan
    points = [
        (inf, 1, 1, inf), (inf, 0, 1, nan), (inf, 1, -inf, nan), (1, 1, inf, inf), (nan, 1, 1, nan), (0, 5, -0.0, 0.0),
        (-0.0, 5, -0.0, -0.0), (1, 1, -1, 0.0), (0.0, 1, 3, 3),
    ]  # fmt: skip
    a, b, c, expected = zip(*points)
    got = compute("fma", t, a, b, c)
    assert np.array_equal(got, np.array(expected, got.dtype), equal_nan=True)
    assert (np.signbit(got) == np.signbit(np.array(expected))).tolist()[5:] == [True] * 4


@pytest.mark.parametrize("t", [U32, U64], ids=str)
def test_high_half_of_products(t: ScalarType, rng: np.random.Generator) -> None:
    a, b = (rng.integers(0, 2**t.bits, 500, DTYPES[t.name]) for _ in range(2))
    a[0] = b[0] = 2**t.bits - 1
    expected = [int(p) * int(q) >> t.bits for p, q in zip(a, b)]
    assert compute("mulhi", t, a, b).tolist() == expected


def test_division_of_integers() -> None:
    a, b = [7, -7, 7, -7, 5, -128, -128], [2, 2, -2, -2, 0, -1, 1]
    assert compute("div", I8, a, b).tolist() == [3, -3, -3, 3, 0, -128, -128]
    assert compute("rem", I8, a, b).tolist() == [1, -1, 1, -1, 5, 0, 0]
    assert compute("div", U8, [255, 3, 0], [2, 0, 5]).tolist() == [127, 0, 0]
    # The same as folded constants.
    for p, q in zip(a, b):
        assert compute("rem", I8, [p], [q])[0] == call("rem", const(p, I8), const(q, I8)).attr


def test_remainder_of_floats() -> None:
    got = compute("rem", F64, [5.5, -5.5, 1.0, math.inf], [2.0, 2.0, 0.0, 1.0])
    assert np.array_equal(got, [1.5, -1.5, math.nan, math.nan], equal_nan=True)


def test_shifts() -> None:
    assert compute("shl", U8, [1, 1, 1, 255], [7, 8, 200, 1]).tolist() == [128, 0, 0, 254]
    assert compute("shr", U8, [128, 128, 128], [7, 8, 255]).tolist() == [1, 0, 0]
    assert compute("shr", I8, [-128, -128, 127], [7, 100, 8]).tolist() == [-1, -1, 0]
    assert compute("shl", I32, [1, 1], [31, 32]).tolist() == [-(2**31), 0]


def test_integers_wrap() -> None:
    assert compute("add", I8, [127], [1]).tolist() == [-128]
    assert compute("mul", U8, [200], [200]).tolist() == [200 * 200 % 256]
    assert compute("neg", I8, [-128]).tolist() == [-128]


@pytest.mark.parametrize("t", [F32, F64], ids=str)
def test_ldexp(t: ScalarType) -> None:
    info = np.finfo(DTYPES[t.name])
    below = info.minexp - info.nmant - 1  # half the smallest number
    got = compute("ldexp", t, [1.5, 1, 1, -1, math.nan, 3, 1.75], [3, 4200, -4200, 4200, 1, below - 20, 0])
    assert np.array_equal(got, [12, math.inf, 0, -math.inf, math.nan, 0, 1.75], equal_nan=True)
    # Rounded once, to even.
    got = compute("ldexp", t, [1.5, 2.5, 3], [below] * 3)
    assert (got == np.array([1, 1, 2]) * info.smallest_subnormal).all()


def test_extremes_keep_nan() -> None:
    for op in ("min", "max"):
        assert np.isnan(compute(op, F32, [math.nan, 1], [1, math.nan])).all()
    assert compute("max", F32, [1, 3], [2, -1]).tolist() == [2, 3]


def test_comparisons_with_nan() -> None:
    for op, expected in (("eq", False), ("ne", True), ("lt", False), ("le", False)):
        assert compute(op, F32, [math.nan], [1]).tolist() == [expected]


def test_rounding() -> None:
    x = [0.5, 1.5, -0.5, -2.5, 2.7, -2.7]
    assert compute("rint", F32, x).tolist() == [0, 2, 0, -2, 3, -3]
    assert compute("trunc", F32, x).tolist() == [0, 1, 0, -2, 2, -2]
    assert compute("floor", F32, x).tolist() == [0, 1, -1, -3, 2, -3]
    assert compute("ceil", F32, x).tolist() == [1, 2, 0, -2, 3, -2]


def test_bits_of_a_type() -> None:
    x = var("x", F32)
    assert evaluate([bitcast(x, U32)], {x: np.float32(1)})[0] == 0x3F800000
    assert evaluate([cast(x, I32)], {x: np.float32(-2.9)})[0] == -2


def test_inner_nodes_may_be_given() -> None:
    x = var("x", F64)
    inner = call("exp", x)
    assert evaluate([call("add", inner, inner)], {inner: np.array([1.0, 2.0])})[0].tolist() == [2, 4]


def test_loads() -> None:
    memory = np.arange(10, dtype=np.float32)
    i = axis("i")
    plain = load("x", F32, call("add", i, i64(1)))
    masked = load("x", F32, i, call("lt", i, i64(2)), const(-1.0, F32))

    def read(x: Node, index: np.ndarray, where: object = True, other: object = 0) -> np.ndarray:
        assert x.attr == "x"
        return np.where(where, memory[index], other)

    got = evaluate([plain, masked], {i: np.arange(4)}, read)
    assert got[0].tolist() == [1, 2, 3, 4]
    assert got[1].tolist() == [0, 1, -1, -1]
    assert got[0].dtype == np.float32
    with pytest.raises(ValueError, match="a value or a loader"):
        evaluate([plain], {i: np.arange(4)})


def test_leaves_are_required() -> None:
    with pytest.raises(ValueError, match="requires a value for the var 'missing'"):
        evaluate([call("neg", var("missing", I64))], {})
