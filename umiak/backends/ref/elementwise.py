"""NumPy kernels of element-by-element ops."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from umiak.backends.ref.registry import kernel
from umiak.ops import elementwise as ops
from umiak.ops.places import Transfer
from umiak.util.dtypes import cast_array
from umiak.util.errors import op_error


def number_as(value: Any, like: np.ndarray) -> np.ndarray:
    """A Python scalar in the dtype of ``like``, wrapping where it does not fit; arrays pass."""
    if isinstance(value, np.ndarray):
        return value
    if like.dtype.kind in "iu" and not isinstance(value, bool):
        value = int(value) & (2 ** (8 * like.dtype.itemsize) - 1)
        return np.array(value, f"u{like.dtype.itemsize}").astype(like.dtype)
    return cast_array(np.asarray(value), like.dtype)


def together(*values: Any) -> list[np.ndarray]:
    """Operands of one op: numbers take the dtype of the first array."""
    like = next(v for v in values if isinstance(v, np.ndarray))
    return [number_as(v, like) for v in values]


def unary(cls: type, fn: Callable) -> None:
    @kernel(cls)
    def run(op, out, x):
        out[...] = fn(x)


def binary(cls: type, fn: Callable) -> None:
    @kernel(cls)
    def run(op, out, x, y):
        out[...] = fn(*together(x, y))


def special(name: str) -> Callable:
    """A function of ``scipy.special``, imported when first called."""

    def call(*args: Any) -> Any:
        import scipy.special

        return getattr(scipy.special, name)(*args)

    return call


def logistic(x):
    # exp of a negative number only, so that nothing overflows on the way to 0 or 1.
    if x.dtype.kind == "c":
        return 1 / (1 + np.exp(-x))
    e = np.exp(-np.abs(x))
    return np.where(x >= 0, 1, e) / (1 + e)


def heaviside(x, y):
    # NaN stays NaN, as in the comparison-free form.
    return np.where(x == 0, y, np.where(x < 0, 0, np.where(x > 0, 1, x))).astype(x.dtype)


def power(x, y):
    if x.dtype.kind not in "iu":
        return np.power(x, y)
    negative = y < 0
    powers = np.power(x, np.where(negative, 0, y))
    odd = np.where(y % 2 == 0, 1, x)
    return np.where(negative, np.where(x == 1, 1, np.where(x == -1, odd, 0)), powers)


def floor_div(x, y):
    return np.floor(x / y) if x.dtype.kind == "f" else np.floor_divide(x, y)


def dividing(op: str, fn: Callable) -> Callable:
    """``fn(x, y)``, which refuses integers divided by 0."""

    def divide(x, y):
        if np.asarray(y).dtype.kind in "iu" and np.size(x) and not np.all(y):
            raise op_error(ZeroDivisionError, op, "divisors other than 0 for integers", "0")
        return fn(x, y)

    return divide


def remainder(x, y):
    if not np.iscomplexobj(x):
        return np.remainder(x, y)
    q = x / y
    re, im = (np.trunc(part + np.copysign(0.5, part)) for part in (q.real, q.imag))
    return x - y * (re + 1j * im).astype(x.dtype)


def gcd(x, y):
    if np.result_type(x, y).kind != "f":
        return np.gcd(x, y)
    x, y = np.broadcast_arrays(np.abs(x), np.abs(y))
    while np.any(on := (y != 0) & ~np.isnan(y)):  # at most once for each bit of the larger
        x, y = np.where(on, y, x), np.where(on, np.fmod(x, np.where(on, y, 1)), y)
    return np.where(np.isnan(y), y, x)


def probability(x):
    wrong = ~((x >= 0) & (x <= 1))
    if wrong.any():
        raise op_error(ValueError, "probability", "probabilities from 0 to 1", float(x[wrong].flat[0]))
    return x


def _lgamma(x):
    # SciPy gives -inf at -inf; the limit along the poles is +inf, as in C.
    return np.where(np.isinf(x), np.inf, special("gammaln")(x))


def _angle(x):
    if np.iscomplexobj(x):
        return np.where(np.isnan(x), np.abs(x), np.angle(x))
    return np.where(np.isnan(x), x, np.where(x < 0, np.pi, 0.0))  # -0.0 counts as 0


UNARY: dict[Any, Callable] = {
    ops.Neg: np.negative,
    ops.Abs: np.abs,
    ops.Sign: np.sign,
    ops.Floor: np.floor,
    ops.Ceil: np.ceil,
    ops.Trunc: np.trunc,
    ops.Round: lambda x: np.rint(x) if x.dtype.kind in "fc" else x,  # NumPy goes through floats
    ops.Probability: probability,
    ops.Reciprocal: lambda x: 1 / x,
    ops.Exp: np.exp,
    ops.Exp2: np.exp2,
    ops.Expm1: np.expm1,
    ops.Log: np.log,
    ops.Log2: np.log2,
    ops.Log10: np.log10,
    ops.Log1p: np.log1p,
    ops.Sqrt: np.sqrt,
    ops.Rsqrt: lambda x: 1 / np.sqrt(x),
    ops.Logistic: logistic,
    ops.Sin: np.sin,
    ops.Cos: np.cos,
    ops.Tan: np.tan,
    ops.Asin: np.arcsin,
    ops.Acos: np.arccos,
    ops.Atan: np.arctan,
    ops.Sinh: np.sinh,
    ops.Cosh: np.cosh,
    ops.Tanh: np.tanh,
    ops.Asinh: np.arcsinh,
    ops.Acosh: np.arccosh,
    ops.Atanh: np.arctanh,
    ops.Erf: special("erf"),
    ops.Erfc: special("erfc"),
    ops.Erfinv: special("erfinv"),
    ops.Lgamma: _lgamma,
    ops.Digamma: special("psi"),
    ops.I0: lambda x: np.where(np.isinf(x), np.inf, special("i0")(x)),  # SciPy gives NaN there
    ops.I0e: special("i0e"),
    ops.I1: lambda x: np.where(np.isinf(x), x, special("i1")(x)),
    ops.I1e: special("i1e"),
    ops.Isnan: np.isnan,
    ops.Isinf: np.isinf,
    ops.Isfinite: np.isfinite,
    ops.LogicalNot: np.logical_not,
    ops.BitwiseNot: np.invert,
    ops.Conj: np.conjugate,
    ops.Real: np.real,
    ops.Imag: np.imag,
    ops.Angle: _angle,
}

BINARY: dict[Any, Callable] = {
    ops.Add: np.add,
    ops.Sub: np.subtract,
    ops.Mul: np.multiply,
    ops.Div: np.true_divide,
    ops.FloorDiv: dividing("floor_div", floor_div),
    ops.Remainder: dividing("remainder", remainder),
    ops.Fmod: dividing("fmod", np.fmod),
    ops.Pow: power,
    ops.Maximum: np.maximum,
    ops.Minimum: np.minimum,
    ops.Fmax: np.fmax,
    ops.Fmin: np.fmin,
    ops.Gcd: gcd,
    ops.Igamma: special("gammainc"),
    ops.Igammac: special("gammaincc"),
    ops.Atan2: np.arctan2,
    ops.Copysign: np.copysign,
    ops.Heaviside: heaviside,
    ops.LogicalAnd: np.logical_and,
    ops.LogicalOr: np.logical_or,
    ops.LogicalXor: np.logical_xor,
    ops.BitwiseAnd: np.bitwise_and,
    ops.BitwiseOr: np.bitwise_or,
    ops.BitwiseXor: np.bitwise_xor,
    ops.ShiftLeft: np.left_shift,
    ops.ShiftRight: np.right_shift,
}

for _cls, _fn in UNARY.items():
    unary(_cls, _fn)
for _cls, _fn in BINARY.items():
    binary(_cls, _fn)


@kernel(ops.Nextafter, raw=True)
def nextafter(op, out, x, y):
    out[...] = np.nextafter(*together(x, y))


@kernel(ops.Polygamma)
def polygamma(op, out, x):
    out[...] = special("polygamma")(op.n, x)


@kernel(ops.Betainc)
def betainc(op, out, a, b, x):
    out[...] = special("betainc")(*together(a, b, x))


@kernel(ops.Complex)
def complex_(op, out, re, im):
    out.real, out.imag = together(re, im)


@kernel(ops.Copy, Transfer, raw=True)
def copy(op, out, x):
    np.copyto(out, x)


@kernel(ops.Cast, raw=True)
def cast(op, out, x):
    if out.dtype.kind == "b":
        out[...] = x.astype(np.float32) != 0 if x.dtype.kind == "V" else x != 0
        return
    if x.dtype.kind == "c" and out.dtype.kind != "c":
        x = x.real
    # Types that NumPy does not know convert to and from float32.
    if x.dtype.kind == "V" or (out.dtype.kind == "V" and x.dtype != np.float64):
        x = x.astype(np.float32)
    out[...] = cast_array(x, out.dtype)
