"""Rules of ops that work element by element."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from umiak.compiler.loop import node as n
from umiak.compiler.loop.node import Node, call
from umiak.compiler.loop.types import BOOL
from umiak.compiler.lower import complex_arithmetic
from umiak.compiler.lower.builder import Builder, Element, Index, NotANest, compute_type, rule, storage_type
from umiak.ir.program import Operation, Value
from umiak.ops import compare, elementwise
from umiak.ops.base import REGISTRY

Real = Callable[..., Node]


def operand_type(o: Operation) -> Any:
    """The compute type of the tensor operands (they have one dtype), and whether it is complex."""
    for x in o.operands:
        if type(x) is Value and not (type(o.op) is compare.Where and x is o.operands[0]):
            return compute_type(x.meta.dtype), x.meta.dtype.is_complex
    raise NotANest(f"{o.name} of numbers")


def real(*names: str, divides: bool = False) -> Callable[[Real], Real]:
    """Register ``fn(*elements)`` over real numbers for ops by name; one that divides refuses integers divided by 0."""

    def enter(fn: Real) -> Real:
        for name in names:

            @rule(REGISTRY[name])
            def lower(b: Builder, o: Operation, k: int, index: Index) -> Element:
                type_, is_complex = operand_type(o)
                if is_complex:
                    return on_complex(b, o, index, type_)
                elements = [b.operand(o, i, index, type_) for i in range(len(o.operands))]
                if divides and not type_.is_float:
                    b.refuse(n.eq(elements[1], 0))
                return fn(*elements)

        return fn

    return enter


def node_op(name: str, op: str | None = None) -> None:
    """An op that is one node."""
    real(name)(lambda *xs: call(op or name, *xs))


for _name in (
    "neg exp exp2 expm1 log log2 log10 log1p sqrt rsqrt logistic sin cos tan asin acos atan sinh cosh tanh "
    "asinh acosh atanh erf erfc erfinv lgamma digamma i0 i0e i1 i1e sub atan2 copysign"
).split():
    node_op(_name)
for _name, _op in {
    "bitwise_and": "and", "bitwise_or": "or", "bitwise_xor": "xor", "bitwise_not": "not",
    "shift_left": "shl", "shift_right": "shr", "div": "div",
}.items():  # fmt: skip
    node_op(_name, _op)


def is_nan(x: Node) -> Node:
    return n.ne(x, x) if x.type.is_float else n.const(False, BOOL)


def truth(x: Node) -> Node:
    """Return whether a number is not zero."""
    return x if x.type is BOOL else n.ne(x, 0)


real("add")(lambda x, y: call("or" if x.type is BOOL else "add", x, y))
real("mul")(lambda x, y: call("and" if x.type is BOOL else "mul", x, y))
real("reciprocal")(lambda x: n.div(n.const(1.0, x.type), x))
real("isnan")(is_nan)
real("isinf")(lambda x: n.eq(call("abs", x), math.inf) if x.type.is_float else n.const(False, BOOL))
real("isfinite")(lambda x: n.lt(call("abs", x), math.inf) if x.type.is_float else n.const(True, BOOL))
real("logical_not")(lambda x: call("not", truth(x)))
real("logical_and")(lambda x, y: call("and", truth(x), truth(y)))
real("logical_or")(lambda x, y: call("or", truth(x), truth(y)))
real("logical_xor")(lambda x, y: call("xor", truth(x), truth(y)))
real("conj", "real", "copy")(lambda x: x)
real("imag")(lambda x: n.const(0, x.type))
real("angle")(lambda x: n.select(is_nan(x), x, n.select(n.lt(x, 0), n.const(math.pi, x.type), n.const(0.0, x.type))))


@real("abs")
def absolute(x: Node) -> Node:
    return x if x.type.kind in "bu" else call("abs", x)


@real("sign")
def sign(x: Node) -> Node:
    one, zero = n.const(1, x.type), n.const(0, x.type)
    below = n.const(-1, x.type) if x.type.kind != "u" else zero
    # What is neither above nor below is 0 or NaN.
    other = n.select(is_nan(x), x, zero) if x.type.is_float else zero
    return n.select(n.lt(zero, x), one, n.select(n.lt(x, zero), below, other))


@rule(REGISTRY["probability"])
def probability(b: Builder, o: Operation, k: int, index: Index) -> Element:
    x = b.operand(o, 0, index, operand_type(o)[0])
    b.refuse(call("not", call("and", n.le(n.const(0.0, x.type), x), n.le(x, n.const(1.0, x.type)))))  # NaN, too
    return x


for _name, _op in {"floor": "floor", "ceil": "ceil", "trunc": "trunc", "round": "rint"}.items():
    real(_name)(lambda x, op=_op: call(op, x) if x.type.is_float else x)


def _bool_order(op: str, x: Node, y: Node) -> Node:
    return call("and" if op == "lt" else "or", call("not", x), y)


for _name in ("eq", "ne"):
    node_op(_name)
for _name, _op, _swap in (("lt", "lt", False), ("le", "le", False), ("gt", "lt", True), ("ge", "le", True)):

    @real(_name)
    def ordered(x: Node, y: Node, op: str = _op, swap: bool = _swap) -> Node:
        if swap:
            x, y = y, x
        return _bool_order(op, x, y) if x.type is BOOL else call(op, x, y)


@real("maximum")
def maximum(x: Node, y: Node) -> Node:
    return call("or" if x.type is BOOL else "max", x, y)


@real("minimum")
def minimum(x: Node, y: Node) -> Node:
    return call("and" if x.type is BOOL else "min", x, y)


@real("fmax")
def fmax(x: Node, y: Node) -> Node:
    return n.select(is_nan(x), y, n.select(is_nan(y), x, n.maximum(x, y))) if x.type.is_float else n.maximum(x, y)


@real("fmin")
def fmin(x: Node, y: Node) -> Node:
    return n.select(is_nan(x), y, n.select(is_nan(y), x, n.minimum(x, y))) if x.type.is_float else n.minimum(x, y)


def _opposite(r: Node, y: Node) -> Node:
    """Return whether a remainder is not zero and its sign is not the divisor's."""
    return call("and", n.ne(r, 0), call("xor", n.lt(r, 0), n.lt(y, 0)))


@real("floor_div", divides=True)
def floor_div(x: Node, y: Node) -> Node:
    if x.type.is_float:
        return call("floor", n.div(x, y))
    if x.type.kind == "u":
        return n.div(x, y)
    q = n.div(x, y)
    less = n.cast(_opposite(n.sub(x, n.mul(q, y)), y), x.type)
    return n.select(n.eq(y, 0), n.const(0, x.type), n.sub(q, less))


@real("fmod", divides=True)
def fmod(x: Node, y: Node) -> Node:
    r = n.rem(x, y)
    return r if x.type.is_float else n.select(n.eq(y, 0), n.const(0, x.type), r)


@real("remainder", divides=True)
def remainder(x: Node, y: Node) -> Node:
    r = n.rem(x, y)
    if x.type.kind == "u":
        return n.select(n.eq(y, 0), n.const(0, x.type), r)
    if not x.type.is_float:
        return n.select(n.eq(y, 0), n.const(0, x.type), n.select(_opposite(r, y), n.add(r, y), r))
    # A zero remainder has the sign of the divisor.
    return n.select(n.eq(r, 0), call("copysign", n.const(0.0, x.type), y), n.select(_opposite(r, y), n.add(r, y), r))


@real("pow")
def power(x: Node, y: Node) -> Node:
    if not x.type.is_float:
        raise NotANest("an integer power")
    return call("pow", x, y)


@real("heaviside")
def heaviside(x: Node, y: Node) -> Node:
    zero, one = n.const(0, x.type), n.const(1, x.type)
    above = n.select(n.lt(zero, x), one, x) if x.type.is_float else one
    return n.select(n.eq(x, 0), y, n.select(n.lt(x, zero), zero, above))


@rule(elementwise.Nextafter)
def nextafter(b: Builder, o: Operation, k: int, index: Index) -> Element:
    if o.results[0].meta.dtype.compute is not o.results[0].meta.dtype:
        raise NotANest("the neighbour in a narrow type")
    type_, _ = operand_type(o)
    return call("nextafter", b.operand(o, 0, index, type_), b.operand(o, 1, index, type_))


@rule(elementwise.Cast)
def cast(b: Builder, o: Operation, k: int, index: Index) -> Element:
    x = b.read(o.operands[0], index)
    source, target = o.operands[0].meta.dtype, o.op.dtype
    type_ = compute_type(target)
    if target.is_complex:
        re, im = x if isinstance(x, tuple) else (x, None)
        return n.cast(re, type_), n.const(0.0, type_) if im is None else n.cast(im, type_)
    if target.is_bool and isinstance(x, tuple):
        return call("or", truth(x[0]), truth(x[1]))
    re = x[0] if isinstance(x, tuple) else x
    if target.compute is not target and target is not source:
        return n.cast(n.cast(re, storage_type(target)), type_)  # rounded to what the type can hold
    return n.cast(re, type_)


@rule(compare.Where)
def where(b: Builder, o: Operation, k: int, index: Index) -> Element:
    condition = b.operand(o, 0, index)
    type_, is_complex = operand_type(o)
    x, y = (parts(b.operand(o, i, index, type_), is_complex) for i in (1, 2))
    if is_complex:
        return n.select(condition, x[0], y[0]), n.select(condition, x[1], y[1])
    return n.select(condition, x[0], y[0])


@rule(elementwise.Complex)
def complex_(b: Builder, o: Operation, k: int, index: Index) -> Element:
    type_, _ = operand_type(o)
    re, im = (b.operand(o, i, index, type_) for i in (0, 1))
    assert isinstance(re, Node) and isinstance(im, Node)
    return re, im


# --- complex numbers: pairs ----------------------------------------------------------------------------------------


def parts(x: Element, is_complex: bool = True) -> tuple:
    """Real and imaginary part; of a real number among complex ones, the imaginary part is 0."""
    if isinstance(x, tuple):
        return x
    return (x, n.const(0.0, x.type)) if is_complex else (x,)


COMPLEX: dict[str, Callable[..., Any]] = {
    "add": lambda x, y: (n.add(x[0], y[0]), n.add(x[1], y[1])),
    "sub": lambda x, y: (n.sub(x[0], y[0]), n.sub(x[1], y[1])),
    "mul": complex_arithmetic.times,
    "neg": lambda x: (n.neg(x[0]), n.neg(x[1])),
    "conj": lambda x: (x[0], n.neg(x[1])),
    "copy": lambda x: x,
    "real": lambda x: x[0],
    "imag": lambda x: x[1],
    "eq": lambda x, y: call("and", n.eq(x[0], y[0]), n.eq(x[1], y[1])),
    "ne": lambda x, y: call("or", n.ne(x[0], y[0]), n.ne(x[1], y[1])),
    "lt": lambda x, y: complex_arithmetic.before(x, y, n.lt),
    "le": lambda x, y: complex_arithmetic.before(x, y, n.le),
    "gt": lambda x, y: complex_arithmetic.before(y, x, n.lt),
    "ge": lambda x, y: complex_arithmetic.before(y, x, n.le),
    "round": lambda x: (call("rint", x[0]), call("rint", x[1])),
    "isnan": lambda x: call("or", is_nan(x[0]), is_nan(x[1])),
    **complex_arithmetic.FUNCTIONS,
}


def on_complex(b: Builder, o: Operation, index: Index, type_: Any) -> Element:
    """An op on complex operands; numbers among them have no imaginary part."""
    fn = COMPLEX.get(o.name)
    if fn is None:
        raise NotANest(f"{o.name} of complex numbers")
    return fn(*(parts(b.operand(o, i, index, type_)) for i in range(len(o.operands))))
