"""Evaluation of expressions on NumPy arrays: one array per node, bit for bit as ``node.OPS`` says.

Slow and plain on purpose. Function nodes are computed by NumPy and SciPy in f64, not by their expansions, so that the
one can be tested against the other.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from fractions import Fraction
from typing import Any

import numpy as np
import scipy.special

from umiak.compiler.loop.node import Node
from umiak.compiler.loop.types import BOOL, DTYPES, F16, F32, ScalarType
from umiak.util import dtypes

Array = Any  # np.ndarray or a NumPy number


def evaluate(
    roots: Iterable[Node], env: Mapping[Node, Array], load: Callable[..., Array] | None = None
) -> list[np.ndarray]:
    """The values of the roots, given those of leaves (or of any other nodes) as arrays that broadcast together.

    Nodes found in ``env`` are not computed. Elements of buffers come from ``load(node, index)`` or
    ``load(node, index, where, other)``, called with the operands' values.
    """
    roots = list(roots)
    values: dict[Node, Array] = {}
    stack = [(r, False) for r in reversed(roots)]
    with np.errstate(all="ignore"):
        while stack:
            x, ready = stack.pop()
            if x in values:
                continue
            if x in env:
                values[x] = np.asarray(env[x], DTYPES[x.type.name])
            elif ready:
                values[x] = _compute(x, [values[a] for a in x.args], load)
            else:
                stack.append((x, True))
                stack.extend((a, False) for a in x.args if a not in values)
    return [values[r] for r in roots]


def _compute(x: Node, args: list[np.ndarray], load: Callable[..., Array] | None) -> np.ndarray:
    dtype = DTYPES[x.type.name]
    if x.op == "const":
        return dtypes.cast_array(np.asarray(x.attr), dtype)
    if x.op == "load":
        if load is None:
            raise ValueError(f"evaluation requires a value or a loader for the load from {x.attr!r}")
        return np.asarray(load(x, *args), dtype)
    if x.op == "cast":
        return convert(args[0], x.args[0].type, x.type)
    if x.op == "bitcast":
        return args[0].view(dtype)
    function = _MEANING.get(x.op)
    if function is None:
        raise ValueError(f"evaluation requires a value for the {x.op} {x.attr!r} in env")
    return dtypes.cast_array(np.asarray(function(*args)), dtype)


# Arithmetic


def _divide(a: Array, b: Array) -> Array:
    if a.dtype.kind == "f":
        return a / b
    p, q = _magnitude(a), _magnitude(b)
    r = np.where(q == 0, 0, p // np.where(q == 0, 1, q)).astype(p.dtype).view(a.dtype)
    return np.where((a < 0) != (b < 0), -r, r) if a.dtype.kind == "i" else r


def _remainder(a: Array, b: Array) -> Array:
    return np.fmod(a, b) if a.dtype.kind == "f" else a - _divide(a, b) * b


def _magnitude(a: Array) -> Array:
    """|a| as unsigned, right for the smallest integer too."""
    return np.abs(a).view(f"u{a.dtype.itemsize}")


def _mulhi(a: Array, b: Array) -> Array:
    if a.dtype.itemsize == 4:
        return (a.astype(np.uint64) * b.astype(np.uint64) >> np.uint64(32)).astype(np.uint32)
    half, low = np.uint64(32), np.uint64(0xFFFFFFFF)
    p, q, r, s = a >> half, a & low, b >> half, b & low
    middle = p * s + (q * s >> half)
    other = q * r + (middle & low)
    return p * r + (middle >> half) + (other >> half)


def _shift_left(a: Array, b: Array) -> Array:
    bits = a.dtype.itemsize * 8
    n = b.view(f"u{b.dtype.itemsize}")
    return np.where(n < bits, a << np.minimum(n, bits - 1).astype(a.dtype), 0)


def _shift_right(a: Array, b: Array) -> Array:
    bits = a.dtype.itemsize * 8
    n = b.view(f"u{b.dtype.itemsize}")
    shifted = a >> np.minimum(n, bits - 1).astype(a.dtype)
    return shifted if a.dtype.kind == "i" else np.where(n < bits, shifted, 0)


def _ldexp(a: Array, b: Array) -> Array:
    return np.ldexp(a, np.clip(np.nan_to_num(b), -5000, 5000).astype(np.int32))


def _two_sum(a: Array, b: Array) -> tuple[Array, Array]:
    s = a + b
    t = s - a
    return s, (a - (s - t)) + (b - t)


def _rounded_to_odd(s: Array, e: Array) -> Array:
    """The exact sum s + e (|e| at most half an ulp of s), rounded to odd: what is rounded from it again is right."""
    bits = s.view(np.int64)
    inexact = (e != 0) & np.isfinite(e) & np.isfinite(s) & (bits & 1 == 0)
    up = (e > 0) == (s > 0)
    return np.where(inexact, bits + np.where(up, 1, -1), bits).view(np.float64)


def _fma(a: Array, b: Array, c: Array) -> Array:
    a, b, c = np.broadcast_arrays(a, b, c)
    if a.dtype == np.float32:
        # The product of two f32 is exact in f64.
        return _rounded_to_odd(*_two_sum(a.astype(np.float64) * b.astype(np.float64), c.astype(np.float64))).astype(
            np.float32
        )
    product, e = _two_product(a, b)
    t, u = _two_sum(c, e)
    s, v = _two_sum(product, t)
    result = s + _rounded_to_odd(*_two_sum(v, u))
    # Exact steps need some room below and above; elsewhere one number at a time, unless infinite or NaN.
    plain = a * b + c
    small = np.minimum(np.abs(product), np.where(c == 0, np.inf, np.abs(c))) < 2.0**-900
    large = np.maximum(np.maximum(np.abs(a), np.abs(b)), np.maximum(np.abs(product), np.abs(c))) > 2.0**990
    finite = np.isfinite(a) & np.isfinite(b) & np.isfinite(c)
    hard = (small | large) & finite & (a != 0) & (b != 0)
    result = np.where(finite & (a != 0) & (b != 0), result, plain)
    if hard.any():
        result[hard] = [_exact_fma(*map(float, t)) for t in zip(a[hard], b[hard], c[hard], strict=True)]
    return result


def _two_product(a: Array, b: Array) -> tuple[Array, Array]:
    p = a * b
    (ah, al), (bh, bl) = _split(a), _split(b)
    return p, ((ah * bh - p) + ah * bl + al * bh) + al * bl


def _split(a: Array) -> tuple[Array, Array]:
    t = a * 134217729.0
    high = t - (t - a)
    return high, a - high


def _exact_fma(a: float, b: float, c: float) -> float:
    exact = Fraction(a) * Fraction(b) + Fraction(c)
    if exact == 0:
        return a * b + c  # signs of zero; when not both are zero, the sum of opposite numbers
    try:
        value = float(exact)
    except OverflowError:
        return float("inf") if exact > 0 else float("-inf")
    return value if value or exact > 0 else -0.0


# Types


def convert(a: Array, source: ScalarType, target: ScalarType) -> Array:
    """A cast. Floats are rounded once, also where NumPy would go through f32."""
    dtype = DTYPES[target.name]
    if target is BOOL:
        return a.astype(np.float32) != 0 if source.is_storage else a != 0
    if source.is_storage:
        a, source = a.astype(np.float32), F32
    if target.is_storage and (target is not F16 or source.bits == 64):
        if source.is_integer:
            a = to_f64(a)
        if a.dtype == np.float64:
            near = a.astype(np.float32)
            # f32 rounded to odd, by hand: the value nearest to zero, with the last bit set where it is inexact.
            toward = np.where(np.abs(near.astype(np.float64)) > np.abs(a), np.nextafter(near, np.float32(0)), near)
            inexact = np.isfinite(a) & (toward.astype(np.float64) != a)
            a = (toward.view(np.int32) | inexact).view(np.float32)
    return dtypes.cast_array(a, dtype)


def to_f64(a: Array) -> Array:
    """Integers as f64 rounded to odd, so that rounding again is right; exact up to 53 bits."""
    if a.dtype.itemsize < 8:
        return a.astype(np.float64)
    large = _magnitude(a) >> np.array(52, f"u{a.dtype.itemsize}") != 0
    eleven = np.array(11, a.dtype)
    mantissa = a >> eleven << eleven
    return np.where(large, np.where(mantissa != a, mantissa | np.array(1 << 11, a.dtype), a), a).astype(np.float64)


def _function(f: Callable[..., Array]) -> Callable[..., Array]:
    """f32 functions in f64, rounded at the end."""
    return lambda *args: f(*(a.astype(np.float64) for a in args))


def _lgamma(a: Array) -> Array:
    size = np.abs(a)
    return np.where(np.isinf(a), np.inf, np.where(size < 1e-300, -np.log(size), scipy.special.gammaln(a)))


def _digamma(a: Array) -> Array:
    """At negative integers and -inf there is no value; at zeros a pole whose sign is known."""
    pole = np.copysign(np.inf, -a)
    return np.where(a == 0, pole, np.where((a < 0) & (a == np.floor(a)), np.nan, scipy.special.digamma(a)))


def _odd(f: Callable[[Array], Array]) -> Callable[[Array], Array]:
    """With the sign of the argument, zeros included."""
    return lambda a: np.copysign(f(np.abs(a)), a)


def _bessel(f: Callable[[Array], Array]) -> Callable[[Array], Array]:
    return lambda a: np.where(np.isinf(a), np.inf, f(a))


def _word(place: Array, key: Array) -> Array:
    place, key = (np.asarray(v).view(np.uint64) for v in np.broadcast_arrays(place, key))
    low, half = np.uint64(0xFFFFFFFF), np.uint64(32)
    block, zero = place >> np.uint64(2), np.zeros_like(place)
    c, k = [block & low, block >> half, zero, zero], [key & low, key >> half]
    for _ in range(10):
        p, q = c[0] * np.uint64(0xD2511F53), c[2] * np.uint64(0xCD9E8D57)
        c = [q >> half ^ c[1] ^ k[0], q & low, p >> half ^ c[3] ^ k[1], p & low]
        k = [k[0] + np.uint64(0x9E3779B9) & low, k[1] + np.uint64(0xBB67AE85) & low]
    return np.choose((place & np.uint64(3)).astype(np.int64), c)


_S = scipy.special
_MEANING: dict[str, Callable[..., Array]] = {
    "add": lambda a, b: a + b, "sub": lambda a, b: a - b, "mul": lambda a, b: a * b, "div": _divide,
    "rem": _remainder, "mulhi": _mulhi, "fma": _fma, "neg": np.negative, "abs": np.abs, "min": np.minimum,
    "max": np.maximum, "floor": np.floor, "ceil": np.ceil, "trunc": np.trunc, "rint": np.rint, "sqrt": np.sqrt,
    "copysign": np.copysign, "ldexp": _ldexp,
    "and": np.bitwise_and, "or": np.bitwise_or, "xor": np.bitwise_xor, "not": np.bitwise_not,
    "shl": _shift_left, "shr": _shift_right,
    "eq": np.equal, "ne": np.not_equal, "lt": np.less, "le": np.less_equal, "select": np.where,
    **{name: _function(f) for name, f in {
        "exp": np.exp, "exp2": np.exp2, "expm1": np.expm1, "log": np.log, "log2": np.log2, "log10": np.log10,
        "log1p": np.log1p, "sin": np.sin, "cos": np.cos, "tan": np.tan, "asin": np.arcsin, "acos": np.arccos,
        "atan": np.arctan, "sinh": np.sinh, "cosh": np.cosh, "tanh": np.tanh, "asinh": np.arcsinh,
        "acosh": np.arccosh, "atanh": np.arctanh, "erf": _S.erf, "erfc": _S.erfc, "erfinv": _odd(_S.erfinv),
        "lgamma": _lgamma, "digamma": _digamma, "logistic": _S.expit, "rsqrt": lambda a: 1 / np.sqrt(a),
        "i0": _bessel(_S.i0), "i0e": _S.i0e, "i1": _odd(_bessel(_S.i1)), "i1e": _odd(_S.i1e),
        "pow": np.power, "atan2": np.arctan2,
    }.items()},
    "nextafter": np.nextafter,
    "denormal": lambda a: (a != 0) & (np.abs(a) < np.finfo(a.dtype).tiny),
    "philox": lambda place, key: _word(place, key),
}  # fmt: skip


def ulps(got: Array, high: Array, low: Array = 0.0) -> np.ndarray:
    """Return the distance of results from ``high + low`` (f64), in units of the last place of the exact value in their
    type.

    Where the exact value is NaN or rounds to infinity the result must be just that, or the distance is infinite.
    """
    info = np.finfo(got.dtype)
    with np.errstate(all="ignore"):
        exponent = np.where(high == 0, info.minexp, np.maximum(np.frexp(high)[1] - 1, info.minexp)) - info.nmant
        # Scaled first: units and distances of f64 may be below its range.
        up = 600 if got.dtype == np.float64 else 0
        small = exponent < -500
        scale, e = np.where(small, 2.0**up, 1.0), np.where(small, exponent + up, exponent)
        distance = np.abs((got.astype(np.float64) * scale - high * scale) - low * scale) / np.ldexp(1.0, e)
        expected = high.astype(got.dtype)
        same = (got == expected) | (np.isnan(got) & np.isnan(expected))
    return np.where(np.isfinite(expected) & np.isfinite(got), distance, np.where(same, 0.0, np.inf))
