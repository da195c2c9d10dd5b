"""Numbers on which formulas of the CPU backend could be wrong: quotients of large integers, powers, complex functions
at zeros, infinities and NaN, random words of any alignment."""

import numpy as np
import pytest

from umiak import ops as F
from umiak.backends.ref.evaluate import evaluate
from umiak.core import array, eager
from umiak.ops.base import REGISTRY

T, N = array.from_numpy, array.to_numpy
INF, NAN = np.inf, np.nan


def test_quotients_of_64_bits(rng):
    """Vectors of them are divided by way of f64."""
    e = [0, 1, -1, 2, -2, 3, 7, -7, 2**31, 2**32 + 1, 2**53, 2**53 + 1, -(2**53) - 1, 2**62, 2**62 + 1, 2**63 - 1,
         -(2**63), 1 - 2**63, 10**18, -(10**18), 999999937]  # fmt: skip
    a, b = (v.ravel() for v in np.meshgrid(np.array(e), np.array(e)))
    for _ in range(4):
        x, y = ((rng.standard_normal(1000) * 10.0 ** rng.integers(0, 19, 1000)).clip(-9e18, 9e18).astype(np.int64)
                for _ in range(2))  # fmt: skip
        near = y * rng.integers(-1000, 1000, 1000)
        a, b = np.concatenate([a, x, near, near + 1, near - 1]), np.concatenate([b, y, y, y, y])
    a, b = a[b != 0], b[b != 0]
    pairs = list(zip(a.tolist(), b.tolist(), strict=True))
    floors = [(p // q + 2**63) % 2**64 - 2**63 for p, q in pairs]
    np.testing.assert_array_equal(N(F.floor_div(T(a), T(b))), floors)
    np.testing.assert_array_equal(N(F.remainder(T(a), T(b))), [p % q for p, q in pairs])


@pytest.mark.parametrize("form", ["vectors", "apart", "backwards", "alone", "number"])
@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16", "int32", "int64"])
def test_no_division_traps(dtype, form):
    """By zero it is an error, in any place. The lowest integer by -1 wraps."""
    low, high = np.iinfo(dtype).min, np.iinfo(dtype).max
    e = [v for v in (low, low + 1, -7, -2, -1, 0, 1, 2, 3, 7, high - 1, high) if low <= v <= high]
    a, b = (v.ravel() for v in np.meshgrid(np.array(e, dtype), np.array(e, dtype)))
    a, b = a[b != 0], b[b != 0]

    def divide(op, a, b):
        if form in ("alone", "number"):
            return [N(op(T(a[k : k + 1]), T(b[k : k + 1]) if form == "alone" else int(b[k])))[0] for k in range(a.size)]
        x, y = T(a), T(b)
        if form == "apart":
            x, y = (F.slice(T(np.repeat(v, 3)), (0,), (0,), (v.size,), (3,)) for v in (a, b))
        elif form == "backwards":
            x, y = (F.slice(T(v[::-1].copy()), (0,), (a.size - 1,), (a.size,), (-1,)) for v in (a, b))
        return N(op(x, y))

    for name in ("floor_div", "remainder", "fmod"):
        op = REGISTRY[name]()
        got = divide(op, a, b)
        with np.errstate(all="ignore"):
            (want,) = evaluate(op, [a, b], ())
        np.testing.assert_array_equal(got, want, err_msg=name)
        for k in (0, a.size // 2, a.size - 1):
            with_zero = b.copy()
            with_zero[k] = 0
            with pytest.raises(ZeroDivisionError, match="divisors other than 0"):
                divide(op, a, with_zero)


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16", "int32", "int64"])
def test_integer_powers(rng, dtype):
    """They wrap; exponents of any size, negative ones, and numbers in place of either operand."""
    info = np.iinfo(dtype)
    e = [v for v in (0, 1, 2, 3, 7, 8, 63, 64, 100, info.max, -1, -2, info.min) if info.min <= v <= info.max]
    x = [v for v in (0, 1, -1, 2, -2, 3, 5, 11, info.max, info.min) if info.min <= v <= info.max]
    a, b = (v.ravel() for v in np.meshgrid(np.array(x, dtype), np.array(e, dtype)))

    def power(p, q):
        if q < 0:
            return {1: 1, -1: -1 if q % 2 else 1}.get(p, 0)
        return pow(p, q, 2**info.bits)

    unsigned = np.dtype(f"uint{info.bits}")
    expected = np.array([power(p, q) % 2**info.bits for p, q in zip(a.tolist(), b.tolist(), strict=True)], unsigned)
    np.testing.assert_array_equal(N(F.pow(T(a), T(b))).view(unsigned), expected)
    np.testing.assert_array_equal(N(F.pow(T(a), 3)).view(unsigned), [pow(p, 3, 2**info.bits) for p in a.tolist()])
    np.testing.assert_array_equal(
        N(F.pow(3, T(b))).view(unsigned), [power(3, q) % 2**info.bits for q in b.tolist()]
    )  # fmt: skip


COMPLEX = (
    "abs reciprocal exp exp2 expm1 log log2 log10 sqrt rsqrt sinh cosh tanh sin cos tan asinh acosh atanh asin acos "
    "atan logistic sign angle isinf isfinite logical_not"
).split()


def grid(dtype):
    e = np.array([0.0, -0.0, 1, -1, 0.5, -0.5, 2, -3, INF, -INF, NAN, 1e-30, 1e30, -1e30, 20, -20, 1e-5, 100, 1.0001])
    z = np.empty((len(e), len(e)), dtype)
    z.real, z.imag = np.meshgrid(e, e, indexing="ij")
    return z.ravel()


def alike(got, want, rtol):
    """Parts of one result: small ones as exactly as the larger ones allow."""
    got, want = np.atleast_1d(got), np.atleast_1d(want)
    scale = np.where(np.isfinite(want), np.abs(want), 0).max(-1, keepdims=True) if want.ndim > 1 else np.abs(want)
    with np.errstate(all="ignore"):
        near = np.abs(got - want) <= rtol * np.maximum(np.abs(want), 1e-3 * scale)
    return np.where(np.isfinite(want), near, (got == want) | (np.isnan(got) & np.isnan(want)))


@pytest.mark.parametrize("name", COMPLEX)
@pytest.mark.parametrize(("dtype", "rtol"), [(np.complex64, 2e-5), (np.complex128, 1e-11)])
def test_complex_functions_at_special_values(name, dtype, rtol):
    z, op = grid(dtype), REGISTRY[name]()
    got, want = N(eager.apply(op, (T(z),), ())), evaluate(op, [z], ())[0]
    if want.dtype.kind == "b":
        np.testing.assert_array_equal(got, want)
        return
    if want.dtype.kind == "c":
        parts = [np.stack([v.real, v.imag], -1) for v in (got, want)]
    else:
        parts = [got[:, None], want[:, None]]
    ok = alike(*parts, rtol).all(-1)
    assert ok.all(), list(zip(z[~ok], got[~ok], want[~ok], strict=True))[:5]


@pytest.mark.parametrize("dtype", [np.complex64, np.complex128])
def test_log1p_of_small_numbers(dtype):
    """NumPy adds 1 first, which leaves nothing of them."""
    got = N(F.log1p(T(np.array([1e-30 + 0j, 1e-5j, 1e-12 + 1e-12j], dtype))))
    expected = [1e-30, 5e-11 + 1e-5j, 1e-12 + 1e-12j]
    np.testing.assert_allclose(got, expected, rtol=1e-5)


def test_complex_powers(rng):
    z = (rng.standard_normal(50) + 1j * rng.standard_normal(50)).astype(np.complex128)
    w = (rng.standard_normal(50) + 1j * rng.standard_normal(50)).astype(np.complex128)
    z[:4], w[:4] = 0, [0, 2, -1, 1j]
    got, want = N(F.pow(T(z), T(w))), evaluate(REGISTRY["pow"](), [z, w], ())[0]
    np.testing.assert_allclose(got, want, rtol=1e-10)


@pytest.mark.parametrize("shape", [(5,), (64,), (3, 67), (2, 5, 31), (130, 2), (40, 2, 2)])
@pytest.mark.parametrize("offset", [0, 1, 2, 3, 4, 2**33 + 1])
def test_random_words(shape, offset):
    """Rows that begin in the middle of blocks, also where they do not follow each other in one loop."""
    op = REGISTRY["philox"]()
    want = evaluate(op, [], (shape, 9, offset))[0]
    got = eager.apply(op, (), (shape, 9, offset))
    np.testing.assert_array_equal(N(got), want)
    row = T(np.arange(shape[-1]))
    mixed = F.add(got, row)
    np.testing.assert_array_equal(N(mixed), want + np.arange(shape[-1]))


def test_dropout_in_rows(rng):
    """Random words and a row that is read again at each: the innermost loop alone is contiguous."""
    import paddle

    x = rng.standard_normal((5, 67)).astype(np.float32)
    paddle.seed(3)
    whole = paddle.nn.functional.dropout(paddle.to_tensor(x), 0.5).numpy()
    paddle.seed(3)
    half = paddle.nn.functional.dropout(paddle.to_tensor(np.asfortranarray(x)), 0.5).numpy()
    np.testing.assert_array_equal(whole, half)
