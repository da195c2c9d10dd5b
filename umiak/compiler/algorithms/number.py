"""Real and complex numbers of the loop IR under one arithmetic, so that a factorisation is written once."""

from __future__ import annotations

from typing import Any, TypeAlias

from umiak.compiler.loop import node as n
from umiak.compiler.loop.node import Node
from umiak.compiler.loop.types import ScalarType
from umiak.compiler.lower import complex_arithmetic
from umiak.compiler.lower.builder import Element

Real: TypeAlias = "Number | float"


class Number:
    """A number, with its imaginary part where it is complex. Operators are those of Python; a number of Python takes
    the type of the other operand, and a real one beside a complex one becomes complex."""

    __slots__ = ("im", "re")

    def __init__(self, re: Node, im: Node | None = None) -> None:
        self.re, self.im = re, im

    @staticmethod
    def of(x: Element) -> Number:
        """An element of a builder as a number."""
        return Number(*x) if isinstance(x, tuple) else Number(x)

    @property
    def element(self) -> Element:
        return self.re if self.im is None else (self.re, self.im)

    @property
    def parts(self) -> tuple[Node, ...]:
        return (self.re,) if self.im is None else (self.re, self.im)

    @property
    def type(self) -> ScalarType:
        return self.re.type

    def like(self, x: Any) -> Number:
        """A number of Python in this one's type."""
        return x if isinstance(x, Number) else Number(n.const(x, self.type))

    def widened(self, other: Number) -> Number:
        """This number as a complex one where the other is."""
        return Number(self.re, n.const(0.0, self.type)) if self.im is None and other.im is not None else self

    def _both(self, other: Any) -> tuple[Number, Number]:
        other = self.like(other)
        return self.widened(other), other.widened(self)

    def __add__(self, other: Any) -> Number:
        a, b = self._both(other)
        return Number(*(n.add(x, y) for x, y in zip(a.parts, b.parts)))

    def __sub__(self, other: Any) -> Number:
        a, b = self._both(other)
        return Number(*(n.sub(x, y) for x, y in zip(a.parts, b.parts)))

    def __rsub__(self, other: Any) -> Number:
        return self.like(other) - self

    def __mul__(self, other: Any) -> Number:
        other = self.like(other)
        if self.im is None or other.im is None:
            a, b = (self, other) if self.im is None else (other, self)
            return Number(*(n.mul(a.re, x) for x in b.parts))
        return Number(*complex_arithmetic.times((self.re, self.im), (other.re, other.im)))

    def __truediv__(self, other: Any) -> Number:
        other = self.like(other)
        if other.im is None:
            return Number(*(n.div(x, other.re) for x in self.parts))
        a = self.widened(other)
        assert a.im is not None
        return Number(*complex_arithmetic.divide((a.re, a.im), (other.re, other.im)))

    def __rtruediv__(self, other: Any) -> Number:
        return self.like(other) / self

    __radd__, __rmul__ = __add__, __mul__

    def __neg__(self) -> Number:
        return Number(*map(n.neg, self.parts))

    def conj(self) -> Number:
        return self if self.im is None else Number(self.re, n.neg(self.im))

    @property
    def real(self) -> Number:
        return Number(self.re)

    @property
    def imag(self) -> Number:
        assert self.im is not None
        return Number(self.im)

    def squared(self) -> Number:
        """|x|², which is real."""
        square = n.mul(self.re, self.re)
        return Number(square if self.im is None else n.add(square, n.mul(self.im, self.im)))

    def size(self) -> Number:
        """|x|."""
        if self.im is None:
            return Number(n.call("abs", self.re))
        return Number(complex_arithmetic.modulus((self.re, self.im)))

    def root(self) -> Number:
        """The square root of a real number that is not negative."""
        return Number(n.call("sqrt", self.re))

    def square_root(self) -> Number:
        """The principal square root of a complex number."""
        assert self.im is not None
        return Number(*complex_arithmetic.sqrt((self.re, self.im)))

    def __lt__(self, other: Any) -> Node:
        return n.lt(self.re, self.like(other).re)

    def __le__(self, other: Any) -> Node:
        return n.le(self.re, self.like(other).re)

    def is_zero(self) -> Node:
        where = n.eq(self.re, 0.0)
        return where if self.im is None else n.call("and", where, n.eq(self.im, 0.0))

    def cast(self, type_: ScalarType) -> Number:
        return Number(*(n.cast(x, type_) for x in self.parts))


def where(condition: Node, a: Number, b: Real) -> Number:
    """``a`` where the condition holds, else ``b``."""
    a, b = a._both(b)
    return Number(*(n.select(condition, x, y) for x, y in zip(a.parts, b.parts)))


def maximum(a: Number, b: Real) -> Number:
    return Number(n.maximum(a.re, a.like(b).re))
