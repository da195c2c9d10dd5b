"""Symbolic scalars: immutable, interned expression nodes over sizes and run-time numbers.

Integer expressions are kept in a canonical form, so that equal sizes are usually the same object: a sum is a tuple of
monomials in a fixed order with the constant last, a monomial is ``coefficient * factors`` in a fixed order. Sums inside
a product stay factored (``s2*(s0 + s1)``), which is what lets ``// s2`` and ``// (s0 + s1)`` both cancel.
Float expressions are never re-associated: they must give the bits that the written order gives.
"""

from __future__ import annotations

import math
import numbers
import re
import threading
from collections.abc import Callable, Iterable
from functools import lru_cache
from typing import Any, TypeAlias
from weakref import WeakValueDictionary

from umiak.ir.expression_text import show_expression
from umiak.util.errors import OperandError, op_error

Number: TypeAlias = "Sym | int | float"
Int: TypeAlias = "Sym | int"
Bool: TypeAlias = "Sym | bool"

INF = math.inf


class DimError(ValueError):
    """A condition on sizes does not hold."""


def _no_scope(condition: Sym) -> bool:
    raise TypeError(f"the truth of {condition} needs a Scope")


# Slot: how `bool(condition)` is decided. Filled by umiak.ir.scope, which knows guards.
decide_truth: Callable[[Sym], bool] = _no_scope


def _nothing_known(value: Sym) -> int | float | None:
    return None


# Slot: the number that a value is where the code at hand runs, as behind ``if n == 3:``; None where it is open.
number_here: Callable[[Sym], int | float | None] = _nothing_known

_table: WeakValueDictionary[tuple, Sym] = WeakValueDictionary()
_lock = threading.RLock()  # a finaliser may run, and build a node, while one is being built


def _ident(arg: Any) -> Any:
    """Key of an argument. Symbols go by id, because ``==`` on them builds a comparison; 1, 1.0 and True differ."""
    if type(arg) is Sym:
        return id(arg)
    if type(arg) is float:
        return ("f", arg.hex())
    return (type(arg).__name__, arg)


class NumberUnknown(TypeError):
    """A symbolic value was asked for as a fixed number. ``value``: the expression."""

    def __init__(self, value: Sym, message: str) -> None:
        super().__init__(message)
        self.value = value


class ConditionUnknown(TypeError):
    """Code branches on symbolic sizes without hints: on ``condition``."""

    def __init__(self, text: str, condition: Any = None) -> None:
        super().__init__(text)
        self.condition = condition


class Sym:
    """One node. ``kind`` is ``"int"``, ``"float"`` or ``"bool"``; ``args`` holds nodes and Python scalars.

    ``lo`` and ``hi`` bound the value (``-inf``/``inf`` where unknown). ``hinted`` says that every symbol below has a
    hint, so that a comparison may be settled by a guard.
    """

    __slots__ = ("__weakref__", "_hash", "_hint", "args", "hi", "hinted", "kind", "lo", "op", "order")

    is_symbolic = True  # how dispatch tells it from a number without importing it

    kind: str
    op: str
    args: tuple
    lo: float
    hi: float
    hinted: bool
    order: str
    _hint: Any
    _hash: int

    def __setattr__(self, key: str, value: Any) -> None:
        raise AttributeError("Sym is immutable")

    @property
    def name(self) -> str:
        if self.op != "symbol":
            raise AttributeError(f"{self} is not a symbol")
        return self.args[0]

    @property
    def hint(self) -> Any:
        """The value under the hints of the symbols, or None."""
        if not self.hinted:
            return None
        if self._hint is None:
            hints = [a.hint if type(a) is Sym else a for a in self.args]
            object.__setattr__(self, "_hint", EVALUATE[self.op](*hints))
        return self._hint

    def __hash__(self) -> int:
        return self._hash

    def __reduce__(self) -> tuple:
        if self.op == "symbol":
            return (symbol, (self.name, self._hint, self.lo, self.hi, self.kind))
        return (_node, (self.kind, self.op, self.args))

    def __copy__(self) -> Sym:
        return self

    def __deepcopy__(self, memo: dict) -> Sym:
        return self

    def __repr__(self) -> str:
        return show_expression(self)

    def __bool__(self) -> bool:
        return decide_truth(self if self.kind == "bool" else ne(self, 0))  # type: ignore[arg-type]

    def __index__(self) -> int:
        n = number_here(self) if self.kind == "int" else None
        return self._refuse() if n is None else int(n)

    def __int__(self) -> int:
        n = number_here(self)
        return self._refuse() if n is None else int(n)

    def __float__(self) -> float:
        n = number_here(self)
        return self._refuse() if n is None else float(n)

    def _refuse(self) -> Any:
        raise NumberUnknown(
            self,
            f"the symbolic value {self} has no fixed number: keep it in arithmetic with Python's operators, compute "
            "with a tensor of it (paddle.full([], n)), or declare the size, in InputSpec or paddle.static.data. "
            "Operators of one's own ask umiak.ir.sym.known(value), which answers None here",
        )

    # fmt: off
    def __add__(self, o: Any) -> Any: return add(self, o) if is_number(o) else NotImplemented
    def __radd__(self, o: Any) -> Any: return add(o, self) if is_number(o) else NotImplemented
    def __sub__(self, o: Any) -> Any: return sub(self, o) if is_number(o) else NotImplemented
    def __rsub__(self, o: Any) -> Any: return sub(o, self) if is_number(o) else NotImplemented
    def __mul__(self, o: Any) -> Any: return mul(self, o) if is_number(o) else NotImplemented
    def __rmul__(self, o: Any) -> Any: return mul(o, self) if is_number(o) else NotImplemented
    def __floordiv__(self, o: Any) -> Any: return floordiv(self, o) if is_number(o) else NotImplemented
    def __rfloordiv__(self, o: Any) -> Any: return floordiv(o, self) if is_number(o) else NotImplemented
    def __mod__(self, o: Any) -> Any: return mod(self, o) if is_number(o) else NotImplemented
    def __rmod__(self, o: Any) -> Any: return mod(o, self) if is_number(o) else NotImplemented
    def __truediv__(self, o: Any) -> Any: return truediv(self, o) if is_number(o) else NotImplemented
    def __rtruediv__(self, o: Any) -> Any: return truediv(o, self) if is_number(o) else NotImplemented
    def __pow__(self, o: Any) -> Any: return power(self, o) if is_number(o) else NotImplemented
    def __rpow__(self, o: Any) -> Any: return power(o, self) if is_number(o) else NotImplemented
    def __divmod__(self, o: Any) -> Any: return (self // o, self % o) if is_number(o) else NotImplemented
    def __rdivmod__(self, o: Any) -> Any: return (o // self, o % self) if is_number(o) else NotImplemented
    def __neg__(self) -> Any: return neg(self)
    def __pos__(self) -> Any: return self
    def __abs__(self) -> Any: return maximum(self, neg(self))
    def __floor__(self) -> Any: return floor(self)
    def __ceil__(self) -> Any: return neg(floor(neg(self)))
    def __trunc__(self) -> Any: return to_int(self)
    def __round__(self, digits: int | None = None) -> Any: return nearest(self) if digits is None else self._refuse()
    def __format__(self, form: str) -> str: return self._refuse() if form else str(self)
    def sqrt(self) -> Any: return power(self, 0.5)  # NumPy's functions of objects ask them for methods
    def rint(self) -> Any: return to_float(nearest(self))
    def __eq__(self, o: Any) -> Any: return compare_eq(self, o) if is_number(o) else NotImplemented
    def __ne__(self, o: Any) -> Any: return ne(self, o) if is_number(o) else NotImplemented
    def __le__(self, o: Any) -> Any: return compare_le(self, o) if is_number(o) else NotImplemented
    def __lt__(self, o: Any) -> Any: return compare_lt(self, o) if is_number(o) else NotImplemented
    def __ge__(self, o: Any) -> Any: return compare_le(o, self) if is_number(o) else NotImplemented
    def __gt__(self, o: Any) -> Any: return compare_lt(o, self) if is_number(o) else NotImplemented
    def __and__(self, o: Any) -> Any: return bitwise("&", self, o)
    def __rand__(self, o: Any) -> Any: return bitwise("&", o, self)
    def __or__(self, o: Any) -> Any: return bitwise("|", self, o)
    def __ror__(self, o: Any) -> Any: return bitwise("|", o, self)
    def __xor__(self, o: Any) -> Any: return bitwise("^", self, o)
    def __rxor__(self, o: Any) -> Any: return bitwise("^", o, self)
    def __lshift__(self, o: Any) -> Any: return shifted(self, o, mul)
    def __rshift__(self, o: Any) -> Any: return shifted(self, o, floordiv)
    def __rlshift__(self, o: Any) -> Any: return refuse_count(o, self)
    def __rrshift__(self, o: Any) -> Any: return refuse_count(o, self)
    def __invert__(self) -> Any: return negate(self) if self.kind == "bool" else sub(-1, self)
    def is_integer(self) -> Any: return True if self.kind != "float" else compare_eq(self, to_float(floor(self)))
    # fmt: on


def _intern(key: tuple, fields: dict[str, Any]) -> Sym:
    with _lock:
        node = _table.get(key)
        if node is None:
            node = Sym.__new__(Sym)
            for name, value in fields.items():
                object.__setattr__(node, name, value)
            # Of the text, so that two different nodes practically never meet in `==`, which would build a comparison.
            # (Not of the key: Python gives -1 and -2 the same hash.)
            object.__setattr__(node, "_hash", hash((fields["kind"], fields["order"])))
            _table[key] = node
        return node


# Lowering asks for the same few sums and comparisons again and again. Of integers alone: 0.0 and -0.0 are one key.
_remembered = lru_cache(maxsize=1 << 13)


def symbol(name: str, hint: Any = None, lo: float | None = 0, hi: float | None = None, kind: str = "int") -> Sym:
    """A named leaf. Equal name, kind, hint and range are the same object."""
    if kind == "int":
        low, high = (-INF if lo is None else lo), (INF if hi is None else hi)
    elif kind == "float":
        low, high = -INF, INF
    elif kind == "bool":
        low, high = 0, 1
    else:
        raise ValueError(f"a symbol is int, float or bool, got kind {kind!r}")
    if low > high:
        raise ValueError(f"symbol {name} has the empty range [{low}, {high}]")
    if hint is not None and not low <= hint <= high and hint == hint:
        raise ValueError(f"symbol {name} has hint {hint} outside its range [{low}, {high}]")
    key = ("symbol", name, kind, _ident(hint), low, high)
    # Zero-padded, so that s2 comes before s10 in a sum.
    order = re.sub(r"\d+", lambda m: m.group().zfill(6), name)
    if re.search(r"(?<!\d)0\d", name):  # s01 is not s1
        order += f"({name})"
    if hint is not None or (low, high) != (0, INF):
        order += f"[{low},{high},{hint}]"
    return _intern(
        key,
        {"kind": kind, "op": "symbol", "args": (name,), "lo": low, "hi": high, "hinted": hint is not None}
        | {"order": order, "_hint": hint},
    )


def _node(kind: str, op: str, args: tuple) -> Sym:
    key = (op, kind, *map(_ident, args))
    node = _table.get(key)
    if node is not None:
        return node
    lo, hi = _range(op, kind, args)
    hinted = all(a.hinted for a in args if type(a) is Sym)
    order = f"({op} {' '.join(order_of(a) for a in args)})"
    return _intern(
        key,
        {"kind": kind, "op": op, "args": args, "lo": lo, "hi": hi, "hinted": hinted, "order": order, "_hint": None},
    )


def order_of(x: Any) -> str:
    """Text that orders the arguments of commutative nodes; it depends on structure only, never on addresses."""
    return x.order if type(x) is Sym else "~" + repr(x)


def is_number(x: Any) -> bool:
    return type(x) is Sym or isinstance(x, (int, float, numbers.Real))


def bitwise(op: str, a: Any, b: Any) -> Any:
    """``a & b``, ``a | b`` or ``a ^ b``: of conditions, or of an integer and a mask that is a number."""
    if not (is_number(a) and is_number(b)):
        return NotImplemented
    if kind_of(a) == kind_of(b) == "bool":
        if op == "^":
            return disjunction(conjunction(a, negate(b)), conjunction(negate(a), b))
        return conjunction(a, b) if op == "&" else disjunction(a, b)
    if kind_of(a) == "float" or kind_of(b) == "float":
        return NotImplemented
    x, mask = (_plain(b), _plain(a)) if type(a) is not Sym else (_plain(a), _plain(b))
    if not isinstance(mask, int):
        raise TypeError(f"[{op}] of integers that depend on sizes requires a number on one side, got {a} and {b}")
    if mask < 0:  # of the complement, which has as many bits as it needs
        rest = -1 - mask
        common = _masked(x, rest)
        return sub(x, common) if op == "&" else add(mask, common) if op == "|" else sub(-1, _differing(x, rest, common))
    common = _masked(x, mask)
    return common if op == "&" else sub(add(x, mask), common) if op == "|" else _differing(x, mask, common)


def _masked(x: Number, mask: int) -> Number:
    """``x & mask`` of a mask that is not negative: for each run of set bits what is above it, and below its end."""
    out: Number = 0
    at = 0
    while mask >> at:
        if not mask >> at & 1:
            at += 1
            continue
        low = at
        while mask >> at & 1:
            at += 1
        out = add(out, mul(mod(floordiv(x, 1 << low), 1 << (at - low)), 1 << low))
    return out


def _differing(x: Number, mask: int, common: Number) -> Number:
    return sub(add(x, mask), mul(2, common))


def shifted(x: Sym, count: Any, by: Callable[[Any, Any], Any]) -> Any:
    """``x << count`` or ``x >> count``: ``by`` multiplies or divides."""
    if not is_number(count) or kind_of(count) == "float" or x.kind == "float":
        return NotImplemented
    if type(count) is Sym:
        return refuse_count(x, count)
    if count < 0:
        raise ValueError("negative shift count")
    return by(_plain(x), 1 << int(count))


def refuse_count(x: Any, count: Sym) -> Any:
    if not is_number(x) or kind_of(x) == "float" or count.kind == "float":
        return NotImplemented
    raise TypeError(
        f"a shift of {x} requires a count that is a number, got {count}, which depends on sizes. Multiply by 2 ** count"
    )


def kind_of(x: Any) -> str:
    if type(x) is Sym:
        return x.kind
    if isinstance(x, bool):
        return "bool"
    return "int" if isinstance(x, numbers.Integral) else "float"


def _plain(x: Any) -> Any:
    """Foreign scalars (NumPy's) become Python scalars; bools become ints where arithmetic is done on them."""
    if type(x) is Sym:
        return where(x, 1, 0) if x.kind == "bool" else x
    if isinstance(x, float):
        return float(x)
    return int(x) if isinstance(x, numbers.Integral) else float(x)


def bounds(x: Any) -> tuple[float, float]:
    return (x.lo, x.hi) if type(x) is Sym else (x, x)


# --- the canonical form of integers -------------------------------------------------------------------------------

Terms: TypeAlias = "dict[tuple[Sym, ...], int]"


def terms(x: Int) -> Terms:
    """``x`` as a mapping from monomials (sorted factors; ``()`` for the constant) to coefficients."""
    if type(x) is not Sym:
        return {(): int(x)} if x else {}
    if x.op == "add":
        out: Terms = {}
        for arg in x.args:
            out.update(terms(arg))
        return out
    if x.op == "mul":
        return {x.args[1:]: x.args[0]} if type(x.args[0]) is int else {x.args: 1}
    return {(x,): 1}


def _monomial(coefficient: int, factors: tuple[Sym, ...]) -> Int:
    if not factors:
        return coefficient
    if coefficient == 1:
        return factors[0] if len(factors) == 1 else _node("int", "mul", factors)
    return _node("int", "mul", (coefficient, *factors))


def from_terms(sum_: Terms) -> Int:
    """Return the canonical sum of monomials: a node, or an integer where all terms are constant."""
    flat: Terms = {}
    for factors, coefficient in sum_.items():
        # A sum standing alone is spliced in: it is only kept factored inside a product.
        if len(factors) == 1 and factors[0].op == "add":
            for inner, c in terms(factors[0]).items():
                flat[inner] = flat.get(inner, 0) + coefficient * c
        else:
            flat[factors] = flat.get(factors, 0) + coefficient
    constant = flat.pop((), 0)
    parts = [(f, c) for f, c in flat.items() if c]
    if not parts:
        return constant
    parts.sort(key=lambda part: [f.order for f in part[0]])
    nodes: list[Int] = [_monomial(c, f) for f, c in parts]
    if constant:
        nodes.append(constant)
    return nodes[0] if len(nodes) == 1 else _node("int", "add", tuple(nodes))


def split_product(x: Int) -> tuple[int, tuple[Sym, ...]]:
    """``x`` as coefficient and factors. A sum gives its content, so 8*s0 + 8*s1 is 8 and (s0 + s1)."""
    if type(x) is not Sym:
        return int(x), ()
    if x.op == "mul":
        return (x.args[0], x.args[1:]) if type(x.args[0]) is int else (1, x.args)
    if x.op == "add":
        sum_ = terms(x)
        content = math.gcd(*sum_.values())
        if next(iter(sum_.values())) < 0:
            content = -content
        if content != 1:
            x = from_terms({f: c // content for f, c in sum_.items()})
        return content, (x,)  # type: ignore[return-value]
    return 1, (x,)


def _join_product(coefficient: int, factors: Iterable[Sym]) -> Int:
    ordered = tuple(sorted(factors, key=order_of))
    if coefficient == 0:
        return 0
    return from_terms({ordered: coefficient})


def without(factors: tuple[Sym, ...], remove: tuple[Sym, ...]) -> tuple[Sym, ...] | None:
    """``factors`` less ``remove``, or None when one of them is missing."""
    left = list(factors)
    for gone in remove:
        for i, factor in enumerate(left):
            if factor is gone:
                del left[i]
                break
        else:
            return None
    return tuple(left)


def expand(x: Int, limit: int = 64) -> Int:
    """Multiply out products of sums, as long as the result stays small; used to compare, never to build."""
    if type(x) is not Sym or x.op not in ("add", "mul"):
        return x
    out: Terms = {}
    for factors, coefficient in terms(x).items():
        product: Terms = {(): coefficient}
        for factor in factors:
            parts = terms(factor)
            if len(product) * len(parts) > limit:
                return x
            step: Terms = {}
            for fa, ca in product.items():
                for fb, cb in parts.items():
                    key = tuple(sorted(fa + fb, key=order_of))
                    step[key] = step.get(key, 0) + ca * cb
            product = step
        for key, c in product.items():
            out[key] = out.get(key, 0) + c
    return from_terms(out)


# --- arithmetic ---------------------------------------------------------------------------------------------------


def _float_args(a: Any, b: Any) -> tuple[Any, Any] | None:
    """Both as floats when either is one."""
    if kind_of(a) == "float" or kind_of(b) == "float":
        return to_float(a), to_float(b)
    return None


def _float_node(op: str, *args: Any) -> Number:
    if all(type(a) is not Sym for a in args):
        return EVALUATE[op](*args)
    return _node("float", op, args)


def _commuted(a: Any, b: Any) -> tuple[Any, Any]:
    return (b, a) if order_of(b) < order_of(a) else (a, b)


def add(a: Number, b: Number) -> Number:
    if (f := _float_args(a, b)) is not None:
        return _float_node("fadd", *_commuted(*f))
    return _add(_plain(a), _plain(b))


@_remembered
def _add(a: Int, b: Int) -> Int:
    if type(a) is not Sym and type(b) is not Sym:
        return a + b
    out = dict(terms(a))
    for factors, c in terms(b).items():
        out[factors] = out.get(factors, 0) + c
    return from_terms(out)


def neg(a: Number) -> Number:
    if kind_of(a) == "float":
        return a.args[0] if type(a) is Sym and a.op == "fneg" else _float_node("fneg", a)
    return _neg(_plain(a))


@_remembered
def _neg(a: Int) -> Int:
    return from_terms({f: -c for f, c in terms(a).items()})


def sub(a: Number, b: Number) -> Number:
    if (f := _float_args(a, b)) is not None:
        return f[0] if type(f[1]) is float and f[1] == 0 and math.copysign(1, f[1]) > 0 else _float_node("fsub", *f)
    return add(a, neg(b))


def mul(a: Number, b: Number) -> Number:
    if (f := _float_args(a, b)) is not None:
        x, y = _commuted(*f)
        return x if type(y) is float and y == 1 else _float_node("fmul", x, y)
    return _mul(_plain(a), _plain(b))


@_remembered
def _mul(a: Int, b: Int) -> Int:
    (ca, fa), (cb, fb) = split_product(a), split_product(b)
    return _join_product(ca * cb, fa + fb)


def truediv(a: Number, b: Number) -> Number:
    x, y = to_float(a), to_float(b)
    return x if type(y) is float and y == 1 else _float_node("fdiv", x, y)


def power(a: Number, b: Number) -> Number:
    if kind_of(a) != "float" and isinstance(b, int) and b >= 0:
        out: Number = 1
        for _ in range(b):
            out = mul(out, a)
        return out
    x, y = to_float(a), to_float(b)
    return x if type(y) is float and y == 1 else _float_node("fpow", x, y)


def _integers(op: str, a: Number, b: Number) -> tuple[Int, Int]:
    if kind_of(a) == "float" or kind_of(b) == "float":
        raise TypeError(f"symbolic {op} requires integers, got {a} and {b}")
    return _plain(a), _plain(b)


def _divide(a: Int, b: Int) -> tuple[Int, Int]:
    """Write ``a`` as ``q*b + r`` with every term of ``a`` that ``b`` divides exactly in ``q``.

    A divisor that turns out to be zero at run time is reported only where a division is left.
    """
    cb, fb = split_product(b)
    if cb == 0:
        raise ZeroDivisionError(f"{a} divided by zero")
    ca, fa = split_product(a)
    rest = without(fa, fb)
    if rest is not None and ca % cb == 0:
        return _join_product(ca // cb, rest), 0
    quotient: Terms = {}
    remainder: Terms = {}
    for factors, c in terms(a).items():
        rest = without(factors, fb) if c % cb == 0 else None
        if rest is None:
            remainder[factors] = c
        else:
            quotient[rest] = c // cb
    return from_terms(quotient), from_terms(remainder)


def _reduce(a: Int, b: Int) -> tuple[Int, Int]:
    """Cancel the greatest common number of ``a`` and ``b``."""
    common = math.gcd(*terms(a).values(), *terms(b).values())
    if common > 1:
        a = from_terms({f: c // common for f, c in terms(a).items()})
        b = from_terms({f: c // common for f, c in terms(b).items()})
    return a, b


def _quotient_bounds(a: Any, b: Any, divide: Callable[[Any, Any], Any]) -> tuple[float, float]:
    """Range of a rounded quotient for a positive divisor."""
    (alo, ahi), (blo, bhi) = bounds(a), bounds(b)
    if blo <= 0:
        return -INF, INF

    def corner(x: float, y: float) -> float:
        if math.isinf(x):
            return x
        if math.isinf(y):
            # Towards zero from either side; the rounding direction decides between 0 and ±1.
            return 0 if x == 0 else divide(1 if x > 0 else -1, 2)
        return divide(x, y)

    corners = [corner(x, y) for x in (alo, ahi) for y in (blo, bhi)]
    return min(corners), max(corners)


@_remembered
def _rounded(op: str, divide: Callable[[Any, Any], Any], x: Int, y: Int) -> Int:
    if type(x) is not Sym and type(y) is not Sym:
        return divide(x, y)
    quotient, rest = _divide(x, y)
    if type(rest) is not Sym and rest == 0:
        return quotient
    rest, y = _reduce(rest, y)
    if type(y) is not Sym and abs(y) == 1:
        return add(quotient, mul(rest, y))  # type: ignore[return-value]
    lo, hi = _quotient_bounds(rest, y, divide)
    if lo == hi:
        return add(quotient, int(lo))  # type: ignore[return-value]
    if type(rest) is not Sym and type(y) is not Sym:
        return add(quotient, divide(rest, y))  # type: ignore[return-value]
    if type(rest) is Sym and rest.op == op and type(y) is int and y > 0:
        # (x // a) // b == x // (a*b) for positive constants, and likewise rounded up.
        inner, by = rest.args
        if type(by) is int and by > 0:
            return add(quotient, _rounded(op, divide, inner, by * y))  # type: ignore[return-value]
    return add(quotient, _node("int", op, (rest, y)))  # type: ignore[return-value]


def floordiv(a: Number, b: Number) -> Int:
    return _rounded("floordiv", EVALUATE["floordiv"], *_integers("floordiv", a, b))


def cdiv(a: Number, b: Number) -> Int:
    """``ceil(a / b)``."""
    return _rounded("cdiv", EVALUATE["cdiv"], *_integers("cdiv", a, b))


def mod(a: Number, b: Number) -> Int:
    """Return the canonical ``a % b`` of integers, with the sign of ``b``."""
    return _mod(*_integers("%", a, b))


@_remembered
def _mod(x: Int, y: Int) -> Int:
    if type(x) is not Sym and type(y) is not Sym:
        return x % y
    rest = _divide(x, y)[1]
    if type(y) is int and y > 0:
        rest = from_terms({f: c % y for f, c in terms(rest).items()})
    if type(rest) is not Sym and (rest == 0 or type(y) is not Sym):
        return rest % y if rest else 0
    if bounds(rest)[0] >= 0 and bounds(rest)[1] < bounds(y)[0]:
        return rest
    return _node("int", "mod", (rest, y))


def _extreme(op: str, a: Number, b: Number) -> Number:
    if (f := _float_args(a, b)) is not None:
        # Not reordered: with a NaN the result depends on the order.
        return f[0] if f[0] is f[1] else _float_node("f" + op, *f)
    return _integer_extreme(op, _plain(a), _plain(b))


@_remembered
def _integer_extreme(op: str, a: Int, b: Int) -> Int:
    operands: list[Any] = []
    for x in (a, b):
        for y in x.args if type(x) is Sym and x.op == op else (x,):
            operands = _merge_extreme(op, operands, y)
    if len(operands) == 1:
        return operands[0]
    return _node("int", op, tuple(sorted(operands, key=order_of)))


def _merge_extreme(op: str, operands: list, new: Any) -> list:
    out = []
    for old in operands:
        lo, hi = bounds(sub(new, old) if op == "max" else sub(old, new))
        if hi <= 0:  # the new value never wins
            return operands
        if lo < 0:
            out.append(old)
    return [*out, new]


def maximum(a: Number, b: Number) -> Number:
    return _extreme("max", a, b)


def minimum(a: Number, b: Number) -> Number:
    return _extreme("min", a, b)


def where(condition: Bool, a: Number, b: Number) -> Number:
    """``a if condition else b`` without deciding the condition."""
    if type(condition) is not Sym:
        return a if condition else b
    if condition.kind != "bool":
        condition = ne(condition, 0)
        if type(condition) is not Sym:
            return a if condition else b
    if (f := _float_args(a, b)) is not None:
        return f[0] if f[0] is f[1] else _node("float", "select", (condition, *f))
    kind = "bool" if kind_of(a) == kind_of(b) == "bool" else "int"
    if kind == "int":
        # A bool choice in an int position is 0 or 1; True and 1 are different interned arguments.
        a, b = (x if type(x) is Sym and x.kind == "int" else _plain(x) for x in (a, b))
        if type(a) is type(b) and (a is b or (type(a) is int and a == b)):
            return a
    elif a is b:
        return a
    return _node(kind, "select", (condition, a, b))


def to_float(a: Number) -> Any:
    """The value as a float (exact up to 2**53)."""
    if type(a) is float:
        return a
    if type(a) is not Sym:
        if isinstance(a, str):  # which float() would read
            raise op_error(OperandError, "float", "a number", repr(a))
        return float(a)
    return a if a.kind == "float" else _node("float", "itof", (_plain(a),))


def to_int(a: Number) -> Any:
    """The value cut towards zero."""
    if type(a) is not Sym:
        return int(a)
    return _node("int", "ftoi", (a,)) if a.kind == "float" else _plain(a)


def floor(a: Number) -> Any:
    """The largest integer that is not above ``a``."""
    if type(a) is not Sym or a.kind != "float":
        return math.floor(a) if type(a) is not Sym else to_int(a)
    below = to_int(a)
    return sub(below, where(compare_lt(a, to_float(below)), 1, 0))


def nearest(a: Number) -> Any:
    """The nearest integer; of two, the even one."""
    if type(a) is not Sym or a.kind != "float":
        return round(a) if type(a) is not Sym else to_int(a)
    above = floor(add(a, 0.5))
    tie = compare_eq(add(a, 0.5), to_float(above))
    return sub(above, where(conjunction(tie, compare_eq(mod(above, 2), 1)), 1, 0))


# --- conditions ---------------------------------------------------------------------------------------------------


def _sides(difference: Int) -> tuple[Int, Int]:
    """``l, r`` with ``r - l`` proportional to the difference, no common factor and no negative term."""
    sum_ = terms(difference)
    common = math.gcd(*sum_.values())
    right = from_terms({f: c // common for f, c in sum_.items() if c > 0})
    left = from_terms({f: -c // common for f, c in sum_.items() if c < 0})
    return left, right


def compare_eq(a: Number, b: Number) -> Bool:
    """``a == b`` as a value, decided where structure or ranges allow."""
    if (f := _float_args(a, b)) is not None:
        return EVALUATE["eq"](*f) if all(type(x) is float for x in f) else _node("bool", "eq", _commuted(*f))
    return _integers_equal(_plain(a), _plain(b))


@_remembered
def _integers_equal(a: Int, b: Int) -> Bool:
    difference = expand(sub(a, b))  # type: ignore[arg-type]
    lo, hi = bounds(difference)
    if lo == hi == 0:
        return True
    if lo > 0 or hi < 0 or _never_zero(difference):
        return False
    return _node("bool", "eq", _commuted(*_sides(difference)))


def _never_zero(difference: Int) -> bool:
    """A sum whose variable part is a multiple of n never meets a constant that is not: 2*s0 + 1 is odd."""
    sum_ = terms(difference)
    constant = sum_.pop((), 0)
    common = math.gcd(*sum_.values())
    return common > 1 and constant % common != 0


def ne(a: Number, b: Number) -> Bool:
    return negate(compare_eq(a, b))


def compare_le(a: Number, b: Number) -> Bool:
    """``a <= b`` as a value."""
    if (f := _float_args(a, b)) is not None:
        return EVALUATE["le"](*f) if all(type(x) is float for x in f) else _node("bool", "le", f)
    return _integers_ordered(_plain(a), _plain(b))


@_remembered
def _integers_ordered(a: Int, b: Int) -> Bool:
    difference = expand(sub(b, a))  # type: ignore[arg-type]
    lo, hi = bounds(difference)
    if lo >= 0:
        return True
    if hi < 0:
        return False
    return _node("bool", "le", _sides(difference))


def compare_lt(a: Number, b: Number) -> Bool:
    """``a < b`` as a value; over integers it is ``a + 1 <= b``, so that equal conditions are one node."""
    if (f := _float_args(a, b)) is not None:
        return EVALUATE["lt"](*f) if all(type(x) is float for x in f) else _node("bool", "lt", f)
    return compare_le(add(a, 1), b)


def negate(a: Bool) -> Bool:
    """Return the canonical negation of a condition; a number is true where it is not 0."""
    if type(a) is not Sym:
        return not a
    if a.kind != "bool":
        return compare_eq(a, 0)
    if a.op == "not":
        return a.args[0]
    if all(kind_of(x) != "float" for x in a.args):
        if a.op == "eq":
            return _node("bool", "ne", a.args)
        if a.op == "ne":
            return _node("bool", "eq", a.args)
        if a.op == "le":
            return compare_lt(a.args[1], a.args[0])
        if a.op in ("and", "or"):
            out = [negate(x) for x in a.args]
            return (disjunction if a.op == "and" else conjunction)(*out)
    # A NaN makes every float comparison false, so the opposite comparison is not the negation.
    return _node("bool", "not", (a,))


def _truth_value(a: Any) -> Bool:
    if type(a) is not Sym:
        return bool(a)
    return a if a.kind == "bool" else ne(a, 0)


def _connect(op: str, absorbing: bool, items: tuple) -> Bool:
    conjuncts: list[Sym] = []
    for item in items:
        x = _truth_value(item)
        if type(x) is not Sym:
            if x is absorbing:
                return absorbing
            continue
        for y in x.args if x.op == op else (x,):
            if not any(y is k for k in conjuncts):
                conjuncts.append(y)
    if not conjuncts:
        return not absorbing
    if len(conjuncts) == 1:
        return conjuncts[0]
    return _node("bool", op, tuple(sorted(conjuncts, key=order_of)))


def conjunction(*items: Bool) -> Bool:
    """Return the canonical ``and`` of conditions; True for none."""
    return _connect("and", False, items)


def disjunction(*items: Bool) -> Bool:
    """Return the canonical ``or`` of conditions; False for none."""
    return _connect("or", True, items)


# --- broadcasting -------------------------------------------------------------------------------------------------


def broadcast_parts(a: Int, b: Int) -> tuple[Sym, ...] | Int:
    """The operands that still matter, or the result when one is left. 1 never matters, a size above 1 always wins."""
    sizes: list[Sym] = []
    fixed: Int | None = None
    for x in (_plain(a), _plain(b)):
        for y in x.args if type(x) is Sym and x.op == "broadcast" else (x,):
            if bounds(y) == (1, 1):
                continue
            if bounds(y)[0] > 1 or bounds(y)[1] < 1:
                fixed = y if fixed is None or type(fixed) is Sym else fixed
            elif not any(y is k for k in sizes):
                sizes.append(y)
    if fixed is not None:
        return fixed
    if not sizes:
        return 1
    return sizes[0] if len(sizes) == 1 else tuple(sorted(sizes, key=order_of))


def broadcast_value(a: Int, b: Int) -> Int:
    """The broadcast size, presuming that :func:`broadcastable` holds."""
    parts = broadcast_parts(a, b)
    return _node("int", "broadcast", parts) if isinstance(parts, tuple) else parts


def broadcastable(a: Int, b: Int) -> Bool:
    """Return whether the sizes are equal or one of them is 1."""
    a, b = _plain(a), _plain(b)
    return disjunction(compare_eq(a, b), compare_eq(a, 1), compare_eq(b, 1))


# --- ranges -------------------------------------------------------------------------------------------------------


def _times(a: float, b: float) -> float:
    return 0 if a == 0 or b == 0 else a * b


def _range(op: str, kind: str, args: tuple) -> tuple[float, float]:
    if kind == "float":
        return -INF, INF
    if kind == "bool":
        return 0, 1
    ranges = [bounds(a) for a in args]
    if op == "add":
        return sum(r[0] for r in ranges), sum(r[1] for r in ranges)
    if op == "mul":
        lo, hi = ranges[0]
        for low, high in ranges[1:]:
            corners = [_times(x, y) for x in (lo, hi) for y in (low, high)]
            lo, hi = min(corners), max(corners)
        return lo, hi
    if op in ("floordiv", "cdiv"):
        return _quotient_bounds(args[0], args[1], EVALUATE[op])
    if op == "mod":
        lo, hi = ranges[1]
        # The result has the sign of the divisor and stays below it.
        return (0 if lo > 0 else min(lo + 1, 0)), (0 if hi < 0 else max(hi - 1, 0))
    if op == "max":
        return max(r[0] for r in ranges), max(r[1] for r in ranges)
    if op == "min":
        return min(r[0] for r in ranges), min(r[1] for r in ranges)
    if op == "select":
        return min(ranges[1][0], ranges[2][0]), max(ranges[1][1], ranges[2][1])
    if op == "broadcast":
        lows = [r[0] for r in ranges]
        return (max(lows) if min(lows) >= 1 else min(lows)), max(r[1] for r in ranges)
    return -INF, INF


# --- meaning ------------------------------------------------------------------------------------------------------


def _fdiv(a: float, b: float) -> float:
    if b != 0:
        return a / b
    return math.nan if a == 0 or a != a else math.copysign(INF, a) * math.copysign(1.0, b)


def _fpow(a: float, b: float) -> float:
    """C's pow, which the lowered code uses: it returns inf and nan where Python raises."""
    try:
        return math.pow(a, b)
    except OverflowError:
        return -INF if a < 0 and b % 2 == 1 else INF
    except ValueError:
        if a != 0:
            return math.nan
        return math.copysign(INF, a) if b % 2 == 1 else INF


def _broadcast(*sizes: int) -> int:
    out = 1
    for size in sizes:
        if size != 1:
            if out not in (1, size):
                raise DimError(f"sizes {out} and {size} do not broadcast")
            out = size
    return out


def _floordiv(a: Any, b: Any) -> Any:
    return a // b


def _cdiv(a: Any, b: Any) -> Any:
    return -(-a // b)


EVALUATE: dict[str, Callable[..., Any]] = {
    "add": lambda *xs: sum(xs),
    "mul": lambda *xs: math.prod(xs),
    "floordiv": _floordiv,
    "cdiv": _cdiv,
    "mod": lambda a, b: a % b,
    "min": min,
    "max": max,
    "select": lambda c, a, b: a if c else b,
    "broadcast": _broadcast,
    "ftoi": int,
    "itof": float,
    "fadd": lambda a, b: a + b,
    "fsub": lambda a, b: a - b,
    "fmul": lambda a, b: a * b,
    "fdiv": _fdiv,
    "fneg": lambda a: -a,
    "fpow": _fpow,
    # The choice of a NaN operand follows the machine's compare-and-select.
    "fmin": lambda a, b: a if a < b else b,
    "fmax": lambda a, b: a if a > b else b,
    "eq": lambda a, b: a == b,
    "ne": lambda a, b: a != b,
    "le": lambda a, b: a <= b,
    "lt": lambda a, b: a < b,
    "and": lambda *xs: all(xs),
    "or": lambda *xs: any(xs),
    "not": lambda a: not a,
}

# How a node is rebuilt when its arguments change; it goes through the simplifying constructors again.
REBUILD: dict[str, Callable[..., Any]] = {
    "floordiv": floordiv,
    "cdiv": cdiv,
    "mod": mod,
    "select": where,
    "ftoi": to_int,
    "itof": to_float,
    "fadd": add,
    "fsub": sub,
    "fmul": mul,
    "fdiv": truediv,
    "fneg": neg,
    "fpow": power,
    "fmin": minimum,
    "fmax": maximum,
    "eq": compare_eq,
    "ne": ne,
    "le": compare_le,
    "lt": compare_lt,
    "and": conjunction,
    "or": disjunction,
    "not": negate,
}

_FOLDS: dict[str, Callable[[Any, Any], Any]] = {
    "add": add,
    "mul": mul,
    "min": minimum,
    "max": maximum,
    "broadcast": broadcast_value,
}


def rebuild(op: str, args: tuple) -> Any:
    """The node ``op(args)`` with arguments that may have become simpler."""
    if op in _FOLDS:
        fold = _FOLDS[op]
        out = args[0]
        for arg in args[1:]:
            out = fold(out, arg)
        return out
    return REBUILD[op](*args)
