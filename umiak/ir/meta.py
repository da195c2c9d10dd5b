"""Metadata of values: shape and dtype, and for views strides and offset."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from umiak.ir.expr import Int, Sym
from umiak.ir.expression_text import show_expression
from umiak.util.dtypes import TABLE

if TYPE_CHECKING:
    from umiak.core.dtype import DType

# Short names of dtypes in printed programs.
SHORT = {row.name: row.short for row in TABLE}
LONG = {short: name for name, short in SHORT.items()}


def identical(a: Any, b: Any) -> bool:
    """Structural equality of sizes, params and attributes; ``==`` would build conditions, and equates 1 and True."""
    if type(a) is not type(b):
        return False
    if type(a) is tuple:
        return len(a) == len(b) and all(map(identical, a, b))
    if type(a) is float:
        return a.hex() == b.hex()
    return a is b if type(a) is Sym else a == b


def identity(x: Any) -> Any:
    """A hashable stand-in that is equal exactly where :func:`identical` holds."""
    if type(x) is tuple:
        return ("tuple", *map(identity, x))
    if type(x) is Sym:
        return ("sym", id(x))
    if type(x) is float:
        return ("float", x.hex())
    return (type(x).__name__, x)


@dataclass(frozen=True, eq=False)
class Meta:
    """Shape and dtype of a tensor; with ``weak`` set, the kind of a Python scalar (shape ``()``, dtype None)."""

    shape: tuple[Int, ...]
    dtype: DType | None
    weak: str | None = None

    @property
    def ndim(self) -> int:
        return len(self.shape)

    def __eq__(self, other: object) -> bool:
        if type(other) is not Meta:
            return NotImplemented
        return self.dtype is other.dtype and self.weak == other.weak and identical(self.shape, other.shape)

    def __hash__(self) -> int:
        return hash((identity(self.shape), self.dtype, self.weak))

    def __repr__(self) -> str:
        if self.weak is not None:
            return f"weak {self.weak}"
        name = SHORT[self.dtype.name] if self.dtype is not None else "?"
        return f"{name}[{', '.join(map(show_expression, self.shape))}]"


@dataclass(frozen=True, eq=False)
class Strided:
    """A view's place in memory: strides and offset count elements."""

    shape: tuple[Int, ...]
    strides: tuple[Int, ...]
    offset: Int = 0
    dtype: DType | None = None

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def contiguous(self) -> bool:
        """Return whether the elements are known to lie dense in row-major order; sizes of 1 may have any stride."""
        expected: Any = 1
        for size, stride in zip(reversed(self.shape), reversed(self.strides), strict=True):
            if not identical(stride, expected) and not identical(size, 1):
                return False
            expected = expected * size
        return True


def dense(shape: tuple[Int, ...], dtype: DType | None = None) -> Strided:
    """Row-major memory without gaps."""
    strides: list[Any] = []
    step: Any = 1
    for size in reversed(shape):
        strides.append(step)
        step = step * size
    return Strided(shape, tuple(reversed(strides)), 0, dtype)


def weak_kind(number: Any) -> str:
    """The kind of a Python scalar operand."""
    if type(number) is Sym:
        return number.kind
    for kind, types in (("bool", bool), ("int", int), ("float", float), ("complex", complex)):
        if isinstance(number, types):
            return kind
    raise TypeError(f"a scalar operand is a bool, int, float or complex, got {type(number).__name__}")


def meta_of(operand: Any) -> Meta | None:
    """Return the Meta of an operand for ``infer``, or None where it is absent."""
    if operand is None:
        return None
    meta = getattr(operand, "meta", None)
    return meta if meta is not None else Meta((), None, weak_kind(operand))
