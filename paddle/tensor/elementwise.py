"""Functions of one and two operands that work element by element, made from two tables.

A call of the operands alone costs one dispatch: the op is interned when this module is loaded. What is rare (aliases,
``out``, integer operands of floating functions, mixed dtypes) is left to a function of Python.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any, NamedTuple

from paddle.tensor._args import MISSING, again, floating, missing, named, need_tensor, op_error, same_dtype
from umiak import ops as F
from umiak.core.direct import by_op, by_operator
from umiak.core.dispatch import apply1, apply2
from umiak.core.tensor import Tensor
from umiak.ops.base import REGISTRY

# --- one operand ---------------------------------------------------------------------------------------------------


class One(NamedTuple):
    """A function of one operand. ``example``: an argument and the result, shown and tested."""

    op: str
    doc: str
    example: tuple[str, str]
    out: bool = True  # whether the signature has ``out``
    floating: bool = True  # whether integers become floats first
    first: str = "x"


UNARY: dict[str, One] = {
    "abs": One(
        "abs", "The absolute value; of complex numbers, their size", ("[-1.0, 2.0]", "[1.0, 2.0]"), floating=False
    ),
    "acos": One("acos", "The inverse cosine, from 0 to pi", ("[1.0]", "[0.0]")),
    "acosh": One("acosh", "The inverse hyperbolic cosine", ("[1.0]", "[0.0]")),
    "angle": One("angle", "The argument of complex numbers; 0 or pi for real ones", ("[1.0]", "[0.0]"), out=False),
    "asin": One("asin", "The inverse sine, from -pi/2 to pi/2", ("[0.0]", "[0.0]"), out=False),
    "asinh": One("asinh", "The inverse hyperbolic sine", ("[0.0]", "[0.0]"), out=False),
    "atan": One("atan", "The inverse tangent, from -pi/2 to pi/2", ("[0.0]", "[0.0]"), out=False),
    "atanh": One("atanh", "The inverse hyperbolic tangent", ("[0.0]", "[0.0]")),
    "bitwise_not": One("bitwise_not", "Every bit turned over; of bools, not", ("[True]", "[False]"), floating=False),
    "ceil": One("ceil", "The smallest integer not below", ("[1.5]", "[2.0]"), floating=False),
    "conj": One(
        "conj", "The complex conjugate; real numbers as they are", ("[1.0]", "[1.0]"), out=False, floating=False
    ),
    "cos": One("cos", "The cosine", ("[0.0]", "[1.0]")),
    "cosh": One("cosh", "The hyperbolic cosine", ("[0.0]", "[1.0]")),
    "deg2rad": One("deg2rad", "Degrees as radians", ("[0.0]", "[0.0]"), out=False),
    "digamma": One("digamma", "The derivative of the logarithm of the gamma function", ("[0.0]", "[nan]"), out=False),
    "erf": One("erf", "The error function", ("[0.0]", "[0.0]"), out=False),
    "erfinv": One("erfinv", "The inverse of the error function", ("[0.0]", "[0.0]"), out=False),
    "exp": One("exp", "e to the power of x", ("[0.0]", "[1.0]")),
    "expm1": One("expm1", "exp(x) - 1, accurate near 0", ("[0.0]", "[0.0]")),
    "floor": One("floor", "The largest integer not above", ("[1.5]", "[1.0]"), floating=False),
    "frac": One("frac", "What is left of x without its integer part", ("[1.5, -1.5]", "[0.5, -0.5]")),
    "gammaln": One(
        "lgamma", "The logarithm of the absolute value of the gamma function", ("[1.0]", "[0.0]"), out=False
    ),
    "i0": One("i0", "The modified Bessel function of order 0", ("[0.0]", "[1.0]"), out=False),
    "i0e": One("i0e", "The modified Bessel function of order 0 times exp(-|x|)", ("[0.0]", "[1.0]"), out=False),
    "i1": One("i1", "The modified Bessel function of order 1", ("[0.0]", "[0.0]"), out=False),
    "i1e": One("i1e", "The modified Bessel function of order 1 times exp(-|x|)", ("[0.0]", "[0.0]"), out=False),
    "imag": One("imag", "The imaginary part of complex numbers", ("[1 + 2j]", "[2.0]"), out=False, floating=False),
    "isfinite": One(
        "isfinite", "Whether x is neither infinite nor NaN", ("[1.0]", "[True]"), out=False, floating=False
    ),
    "isinf": One("isinf", "Whether x is infinite", ("[1.0]", "[False]"), out=False, floating=False),
    "isnan": One("isnan", "Whether x is NaN", ("[1.0]", "[False]"), out=False, floating=False),
    "isneginf": One("isneginf", "Whether x is -inf", ("[1.0]", "[False]"), out=False),
    "isposinf": One("isposinf", "Whether x is +inf", ("[1.0]", "[False]"), out=False),
    "lgamma": One("lgamma", "The logarithm of the absolute value of the gamma function", ("[1.0]", "[0.0]"), out=False),
    "log": One("log", "The natural logarithm", ("[1.0]", "[0.0]")),
    "log10": One("log10", "The logarithm to base 10", ("[1.0]", "[0.0]")),
    "log1p": One("log1p", "log(1 + x), accurate near 0", ("[0.0]", "[0.0]")),
    "log2": One("log2", "The logarithm to base 2", ("[8.0]", "[3.0]")),
    "logical_not": One("logical_not", "Whether x is zero", ("[1.0, 0.0]", "[False, True]"), floating=False),
    "neg": One("neg", "-x", ("[1.0]", "[-1.0]"), out=False, floating=False),
    "rad2deg": One("rad2deg", "Radians as degrees", ("[0.0]", "[0.0]"), out=False),
    "real": One(
        "real",
        "The real part of complex numbers; real ones as they are",
        ("[1 + 2j]", "[1.0]"),
        out=False,
        floating=False,
    ),
    "reciprocal": One("reciprocal", "1/x", ("[2.0]", "[0.5]"), out=False),
    "rsqrt": One("rsqrt", "1/sqrt(x)", ("[4.0]", "[0.5]")),
    "sgn": One(
        "sign",
        "-1, 0 or 1; of complex numbers, those of size 1 in their direction",
        ("[-3.0]", "[-1.0]"),
        out=False,
        floating=False,
    ),
    "sigmoid": One("logistic", "1/(1 + exp(-x))", ("[0.0]", "[0.5]")),
    "sign": One("sign", "-1, 0 or 1", ("[-3.0]", "[-1.0]"), floating=False),
    "signbit": One("signbit", "Whether the sign bit is set, also that of -0.0", ("[-1.0]", "[True]"), out=False),
    "sin": One("sin", "The sine", ("[0.0]", "[0.0]")),
    "sinc": One("sinc", "sin(pi*x)/(pi*x), and 1 at 0", ("[0.0]", "[1.0]"), out=False),
    "sinh": One("sinh", "The hyperbolic sine", ("[0.0]", "[0.0]")),
    "sqrt": One("sqrt", "The square root", ("[4.0]", "[2.0]")),
    "square": One("square", "x*x", ("[3.0]", "[9.0]"), out=False, floating=False),
    "tan": One("tan", "The tangent", ("[0.0]", "[0.0]")),
    "tanh": One("tanh", "The hyperbolic tangent", ("[0.0]", "[0.0]")),
    "trunc": One("trunc", "x without its fraction", ("[-1.5]", "[-1.0]"), out=False, floating=False, first="input"),
}
UNARY_ALIASES = {"bitwise_invert": "bitwise_not", "negative": "neg"}


def _unary_again(name: str, op: Any, x: Any, as_float: bool) -> Tensor:
    """What the straight path refused: integers of a floating function, or something that is no tensor."""
    need_tensor(x, name)
    if name == "real" and not x.dtype.is_complex:
        return x
    if as_float and (x.dtype.is_integer or x.dtype.is_bool):
        return apply1(op, floating(x))
    if name in ("neg", "sign", "square", "abs") and x.dtype.is_bool:
        raise op_error(TypeError, name, "a numeric dtype", x.dtype.name)
    return op(x)


# --- two operands --------------------------------------------------------------------------------------------------


class Two(NamedTuple):
    """A function of two operands. ``sign``: the Python operator, where the core has one."""

    op: str
    doc: str
    example: tuple[str, str, str]
    out: bool = True
    sign: str | None = None
    shown: str = ""  # the signature, where it is not the usual one
    slow: Callable | None = None  # what takes keywords of its own
    rare: tuple[str, ...] = ()  # those


def _add_scaled(x: Any, y: Any, alpha: Any = 1) -> Tensor:
    return need_tensor(x, "add") + (y if alpha == 1 else y * alpha)


def _subtract_scaled(x: Any, y: Any, alpha: Any = 1) -> Tensor:
    return need_tensor(x, "subtract") - (y if alpha == 1 else y * alpha)


def _divide_rounded(x: Any, y: Any, rounding_mode: str | None = None) -> Tensor:
    if rounding_mode not in (None, "floor", "trunc"):
        raise op_error(ValueError, "divide", "a rounding_mode of None, 'trunc' or 'floor'", repr(rounding_mode))
    if rounding_mode != "trunc":
        return need_tensor(x, "divide") / y if rounding_mode is None else need_tensor(x, "divide") // y
    x, y = same_dtype("floor_div", x, y)
    if (x if isinstance(x, Tensor) else y).dtype.is_floating:
        return F.trunc(F.div(x, y))
    quotient, rest = F.floor_div(x, y), F.remainder(x, y)
    # A floor below zero with something left is one below the truncated quotient.
    return quotient + F.cast(F.logical_and(F.lt(quotient, 0), F.ne(rest, 0)), dtype=quotient.dtype)


BINARY: dict[str, Two] = {
    "atan2": Two("atan2", "The angle of the point (y, x)", ("[0.0]", "[1.0]", "[0.0]"), out=False),
    "bitwise_and": Two("bitwise_and", "The bits set in both", ("[6]", "[3]", "[2]"), sign="&"),
    "bitwise_or": Two("bitwise_or", "The bits set in one or both", ("[6]", "[3]", "[7]"), sign="|"),
    "bitwise_xor": Two("bitwise_xor", "The bits set in just one", ("[6]", "[3]", "[5]"), sign="^"),
    "copysign": Two("copysign", "|x| with the sign of y", ("[1.0]", "[-2.0]", "[-1.0]"), out=False),
    "equal": Two("eq", "Whether x equals y", ("[1, 2]", "[1, 3]", "[True, False]"), sign="=="),
    "floor_divide": Two("floor_div", "x divided by y, rounded down", ("[-3]", "[2]", "[-2]"), sign="//"),
    "fmax": Two("fmax", "The larger; of a number and NaN, the number", ("[1.0]", "[2.0]", "[2.0]"), out=False),
    "fmin": Two("fmin", "The smaller; of a number and NaN, the number", ("[1.0]", "[2.0]", "[1.0]"), out=False),
    "gammainc": Two(
        "igamma", "The regularised lower incomplete gamma function P(x, y)", ("[1.0]", "[0.0]", "[0.0]"), out=False
    ),
    "gammaincc": Two(
        "igammac", "The regularised upper incomplete gamma function Q(x, y)", ("[1.0]", "[0.0]", "[1.0]"), out=False
    ),
    "gcd": Two("gcd", "The greatest common divisor", ("[12]", "[18]", "[6]"), out=False),
    "greater_equal": Two("ge", "Whether x is at least y", ("[1, 2]", "[2, 2]", "[False, True]"), sign=">="),
    "greater_than": Two("gt", "Whether x exceeds y", ("[1, 3]", "[2, 2]", "[False, True]"), sign=">"),
    "heaviside": Two(
        "heaviside", "0 for x < 0, y for x == 0, 1 for x > 0", ("[-1.0, 0.0]", "[0.5, 0.5]", "[0.0, 0.5]"), out=False
    ),
    "hypot": Two("hypot", "sqrt(x*x + y*y)", ("[3.0]", "[4.0]", "[5.0]"), out=False),
    "lcm": Two("lcm", "The least common multiple", ("[4]", "[6]", "[12]"), out=False),
    "less_equal": Two("le", "Whether x is at most y", ("[2, 3]", "[2, 2]", "[True, False]"), sign="<="),
    "less_than": Two("lt", "Whether x is below y", ("[1, 2]", "[2, 2]", "[True, False]"), sign="<"),
    "logaddexp": Two(
        "logaddexp", "log(exp(x) + exp(y)), without overflow", ("[0.0]", "[-float('inf')]", "[0.0]"), out=False
    ),
    "logical_and": Two("logical_and", "Whether neither is zero", ("[True]", "[False]", "[False]")),
    "logical_or": Two("logical_or", "Whether one is not zero", ("[True]", "[False]", "[True]")),
    "logical_xor": Two("logical_xor", "Whether just one is not zero", ("[True]", "[False]", "[True]")),
    "maximum": Two("maximum", "The larger; NaN where either is", ("[1.0]", "[2.0]", "[2.0]")),
    "minimum": Two("minimum", "The smaller; NaN where either is", ("[1.0]", "[2.0]", "[1.0]")),
    "multiply": Two("mul", "x * y", ("[2.0]", "[3.0]", "[6.0]"), sign="*"),
    "nextafter": Two("nextafter", "The next number after x towards y", ("[0.0]", "[0.0]", "[0.0]"), out=False),
    "not_equal": Two("ne", "Whether x differs from y", ("[1, 2]", "[1, 3]", "[False, True]"), sign="!="),
    "pow": Two("pow", "x to the power y", ("[2.0]", "[3.0]", "[8.0]"), sign="**"),
    "remainder": Two("remainder", "x modulo y, with the sign of y", ("[-3]", "[2]", "[1]"), sign="%"),
    "add": Two("add", "x + alpha*y", ("[1]", "[2]", "[3]"), sign="+", shown="alpha", slow=_add_scaled, rare=("alpha",)),
    "subtract": Two(
        "sub", "x - alpha*y", ("[1]", "[2]", "[-1]"), sign="-", shown="alpha", slow=_subtract_scaled, rare=("alpha",)
    ),
    "divide": Two(
        "div",
        "x / y",
        ("[1.0]", "[2.0]", "[0.5]"),
        sign="/",
        shown="rounding",
        slow=_divide_rounded,
        rare=("rounding_mode",),
    ),
}
BINARY_ALIASES = {
    "eq": "equal",
    "ne": "not_equal",
    "lt": "less_than",
    "less": "less_than",
    "le": "less_equal",
    "gt": "greater_than",
    "greater": "greater_than",
    "ge": "greater_equal",
    "sub": "subtract",
    "div": "divide",
    "mul": "multiply",
    "mod": "remainder",
    "floor_mod": "remainder",
}


def _binary_again(name: str, op: Any, x: Any, y: Any) -> Tensor:
    """Promote, or say why not."""
    if not isinstance(x, Tensor) and not isinstance(y, Tensor):
        raise op_error(TypeError, name, "a Tensor for x", type(x).__name__)
    x, y = same_dtype(op.name, x, y)
    return op(x, y)


# --- making them ---------------------------------------------------------------------------------------------------


def _describe(fn: Any, shown: Callable, aliases: dict[str, str], known: tuple[str, ...]) -> None:
    """What ``again`` and signatures need."""
    fn.__wrapped__ = shown
    fn._aliases, fn._known, fn._defaults = aliases, frozenset(known), {}


def _unary(name: str, one: One) -> Callable:
    op = REGISTRY[one.op]()

    def fn(x: Any = MISSING, name: Any = None, **kw: Any) -> Tensor:
        if kw:
            return again(fn, kw, {"x": x})
        try:
            return apply1(op, x)
        except TypeError:
            if x is MISSING:
                raise missing(fn, **{one.first: x}) from None
        return _unary_again(fn.__name__, op, x, one.floating)

    shown = "bits1" if name.startswith("bitwise") else f"{one.first}_out" if one.out else one.first
    _describe(fn, _SHOWN[shown], {"input": "x"}, ("x", "name", "out"))
    operand = f"{one.first}: a tensor" + ("; integers become floats first." if one.floating else ".")
    fn.__doc__ = _doc(one.doc, operand, name, one.example[:1], one.example[1], one.out)
    named(fn, name)
    return by_op(fn, op)


def _binary(name: str, two: Two) -> Callable:
    op = REGISTRY[two.op]()

    def fn(x: Any = MISSING, y: Any = MISSING, name: Any = None, **kw: Any) -> Tensor:
        if kw:
            return again(fn, kw, {"x": x, "y": y}, two.slow)
        if y is MISSING:
            raise missing(fn, x=x, y=y)
        try:
            if operate is None:
                return apply2(op, x, y)
        except TypeError:
            pass
        if operate is not None and isinstance(x, Tensor):
            return operate(x, y)  # the operators of the core promote by themselves
        return _binary_again(fn.__name__, op, x, y)

    operate = _OPERATORS[two.sign] if two.sign else None
    shown = two.shown or ("bits" if name.startswith("bitwise") else "xy_out" if two.out else "xy")
    aliases = {"input": "x", "other": "y", **({"exponent": "y"} if name == "pow" else {})}
    _describe(fn, _SHOWN[shown], aliases, ("x", "y", "name", "out", *two.rare))
    operands = "x: a tensor.\ny: a tensor of the same dtype, or a number; shapes broadcast."
    fn.__doc__ = _doc(two.doc, operands, name, two.example[:2], two.example[2], two.out)
    named(fn, name)
    return by_operator(fn, two.sign) if two.sign else by_op(fn, op)


_OPERATORS: dict[str, Callable] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
    "//": operator.floordiv,
    "%": operator.mod,
    "**": operator.pow,
    "&": operator.and_,
    "|": operator.or_,
    "^": operator.xor,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "==": operator.eq,
    "!=": operator.ne,
}
# What signatures show: the straight path hides its rare keywords in **kw.
_SHOWN: dict[str, Callable] = {
    "x": lambda x, name=None: None,
    "x_out": lambda x, name=None, *, out=None: None,
    "input": lambda input, name=None: None,
    "xy": lambda x, y, name=None: None,
    "xy_out": lambda x, y, name=None, *, out=None: None,
    "bits1": lambda x, out=None, name=None: None,
    "bits": lambda x, y, out=None, name=None: None,
    "alpha": lambda x, y, name=None, *, alpha=1, out=None: None,
    "rounding": lambda x, y, name=None, *, rounding_mode=None, out=None: None,
}


def _doc(text: str, operands: str, name: str, args: tuple[str, ...], result: str, out: bool) -> str:
    call = ", ".join(f"paddle.to_tensor({a})" for a in args)
    home = f"x.{name}()" if name == "sigmoid" else f"paddle.{name}({call})"
    lines = [f"{text}, element by element.", "", "    Args:", *(f"        {line}" for line in operands.split("\n"))]
    if out:
        lines.append("        out: a tensor that is written instead.")
    lines += ["", "    Example:", "        >>> import paddle"]
    if name == "sigmoid":
        lines.append(f"        >>> x = {call}")
    if "nan" in result or any("float(" in a for a in args):
        lines.append(f"        >>> {home}.shape")
        result = "[1]"
    else:
        lines.append(f"        >>> {home}.tolist()")
    return "\n".join([*lines, f"        {result}", "    "])


def _make() -> dict[str, Callable]:
    """Every function of the tables, by name."""
    made = {name: _unary(name, one) for name, one in UNARY.items()}
    made.update((name, _binary(name, two)) for name, two in BINARY.items())
    made.update({alias: made[name] for alias, name in {**UNARY_ALIASES, **BINARY_ALIASES}.items()})
    return made


globals().update(_make())

NAMES = (*UNARY, *UNARY_ALIASES, *BINARY, *BINARY_ALIASES)
