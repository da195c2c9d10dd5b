"""Values of two ways through a program made one: tensors by pairs, equal values as they are."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from paddle.jit.source import facts
from paddle.jit.source.values import Conditional, Optional, Unusable
from paddle.jit.source.world import ABSENT
from umiak import ops as F
from umiak.core import context
from umiak.core import dtype as dt
from umiak.core.dtype import DType
from umiak.core.tensor import Tensor
from umiak.ir.expr import Sym, kind_of, negate, where
from umiak.ir.meta import Meta
from umiak.ir.scope import symbols_of
from umiak.ir.tracer import current
from umiak.runtime.regions import joinable, number
from umiak.util import pytree

_CONSTANTS = (int, float, complex, str, bytes, bool, type(None))


class Mismatch(Exception):
    """Values that no tensor stands for."""


def leaves_of(value: Any) -> list[Any]:
    """The leaves of a value, those of one that is conditional with its condition."""
    if type(value) is Conditional:
        return [value.defined, *leaves_of(value.value)]
    if type(value) is Optional:
        return [value.is_none, *pytree.leaves(value.value)]
    return [] if value is ABSENT or type(value) is Unusable else pytree.leaves(value)


def described(x: Any) -> str:
    """A value in words."""
    if isinstance(x, Tensor):
        return f"a tensor of shape {list(x.shape)} and dtype {x.dtype.name}"
    return repr(x)


def equal(x: Any, y: Any) -> bool:
    """Return whether two values that are no tensors are one constant."""
    if x is y:
        return True
    if type(x) is not type(y):
        return False
    if isinstance(x, (float, complex)):
        return repr(x) == repr(y)  # 0.0 and -0.0 are two, NaN is one
    if type(x) is Sym:
        return False
    return isinstance(x, (*_CONSTANTS, DType, slice, range)) and x == y


def rank(x: Any) -> int | None:
    """Bool, int, float as 0, 1, 2: which kind of number a value is; None for another value."""
    if not isinstance(x, (bool, int, float, Sym)):
        return None
    return ("bool", "int", "float").index(kind_of(x))


def rank_of(dtype: DType) -> int:
    return 0 if dtype.is_bool else 1 if dtype.is_integer else 2


def dtype_for(kind: int) -> DType:
    """The dtype of a tensor that stands for numbers of a kind."""
    return (dt.bool, dt.int64, dt.from_id(context.current().state.default_dtype))[kind]


def meta_of(x: Any) -> Meta:
    return Meta(tuple(x.shape), x.dtype)


class Join:
    """Collects pairs of tensors, of which an operation makes one each. What it returns has a :class:`_Pair` for each;
    ``filled(value, results)`` puts these in. ``condition``: as ``regions.condition_of`` gives it; of numbers that
    differ it makes a symbolic one. ``pred``: the flag of the branch."""

    def __init__(self, where: str, condition: Any, pred: Tensor) -> None:
        self.where, self.pred = where, pred
        self.condition = condition
        self._outside = set(current().scope.symbols) if type(condition) is Sym else set()
        self._not: Tensor | None = None
        self.pairs: list[tuple[Tensor | None, Tensor | None]] = []
        self._known: dict[tuple[int, int], _Pair] = {}

    def _pair(self, x: Tensor | None, y: Tensor | None) -> Any:
        if x is y:
            return x
        key = id(x), id(y)
        if key not in self._known:
            self._known[key] = _Pair(len(self.pairs))
            self.pairs.append((x, y))
        return self._known[key]

    def _number(self, x: Any, y: Any) -> Any:
        """A number that is ``x`` where the condition holds, else ``y``; None where there is none."""
        if rank(x) is None or rank(x) != rank(y) or not self._outside.issuperset(symbols_of((x, y))):
            return None
        if type(x) is type(y) is bool:
            return x if x == y else self.condition if x else negate(self.condition)
        return where(self.condition, x, y)

    def leaf(self, x: Any, y: Any) -> Any:
        a, b = isinstance(x, Tensor), isinstance(y, Tensor)
        if not (a or b) and equal(x, y):
            return x
        if a and b:
            if x is not y and not joinable(meta_of(x), meta_of(y)):
                raise Mismatch(f"{described(x)} and {described(y)}")
            return self._pair(x, y)
        p, q = (rank_of(v.dtype) if isinstance(v, Tensor) else rank(v) for v in (x, y))
        like = x if a else y
        if p is None or q is None or (a and q > p) or (b and p > q) or ((a or b) and like.shape):
            raise Mismatch(f"{described(x)} and {described(y)}")
        dtype = like.dtype if a or b else dtype_for(max(p, q))
        return self._pair(number(x, dtype), number(y, dtype))

    def flag(self, x: Any, y: Any) -> Any:
        """A truth value. One of each way is that of the branch itself, and no result: executors of the reference write
        over results, whose memory is that of the constants."""
        if type(x) is type(y) is bool and x is not y:
            return self.pred if x else self._other()
        return self.leaf(x, y)

    def _other(self) -> Tensor:
        if self._not is None:
            self._not = F.logical_not(self.pred)
            facts.follows(self._not, True, (self.pred, False))
            facts.follows(self._not, False, (self.pred, True))
            facts.follows(self.pred, True, (self._not, False))
            facts.follows(self.pred, False, (self._not, True))
        return self._not

    def tree(self, x: Any, y: Any) -> Any:
        if x is y:
            return x
        xs, form = pytree.flatten(x)
        ys, other = pytree.flatten(y)
        if form != other:
            raise Mismatch(f"{_outline(x)} and {_outline(y)}")
        return form.unflatten([self._item(a, b) for a, b in zip(xs, ys, strict=True)])

    def _item(self, x: Any, y: Any) -> Any:
        made = self._number(x, y) if type(self.condition) is Sym and not equal(x, y) else None
        return self.leaf(x, y) if made is None else made

    def alone(self, x: Any, first: bool) -> Any:
        """A value that the first way alone has, or the second."""
        if x is ABSENT or type(x) is Unusable:
            return x
        if type(x) is Conditional:
            defined = self.alone(x.defined, first)
            return Conditional(x.name, self.alone(x.value, first), defined, x.where)
        if type(x) is Optional:
            return Optional(x.name, self.alone(x.value, first), self.alone(x.is_none, first), x.where)
        xs, form = pytree.flatten(x)
        made = [self._pair(v, None) if first else self._pair(None, v) for v in xs if isinstance(v, Tensor)]
        those = iter(made)
        return form.unflatten([next(those) if isinstance(v, Tensor) else v for v in xs])

    def name(self, name: str, x: Any, y: Any) -> Any:
        """The value of a name."""
        if x is y:
            return x
        for v in (x, y):
            if type(v) is Unusable:
                return v
        (d, a), (e, b) = _parts(x), _parts(y)
        if d is False or e is False:
            value = self.alone(a, True) if e is False else self.alone(b, False)
        else:
            try:
                value = self.or_none(name, a, b)
            except Mismatch as error:
                return Unusable(f"{name!r}", str(error), self.where)
        defined = self.flag(d, e)
        return value if defined is True else Conditional(name, value, defined, self.where)

    def or_none(self, name: str, x: Any, y: Any) -> Any:
        """A value that may be None on either way."""
        (m, a), (n, b) = of_none(x), of_none(y)
        if m is True and n is True:
            return None
        value = self.alone(b, False) if m is True else self.alone(a, True) if n is True else self.tree(a, b)
        is_none = self.flag(m, n)
        return value if is_none is False else Optional(name, value, is_none, self.where)

    @staticmethod
    def filled(value: Any, results: Sequence[Tensor]) -> Any:
        if value is ABSENT or type(value) is Unusable:
            return value
        if type(value) is Conditional:
            fill = Join.filled
            return Conditional(value.name, fill(value.value, results), fill(value.defined, results), value.where)
        if type(value) is Optional:
            fill = Join.filled
            return Optional(value.name, fill(value.value, results), fill(value.is_none, results), value.where)
        xs, form = pytree.flatten(value)
        if not any(type(x) is _Pair for x in xs):
            return value
        return form.unflatten([results[x.at] if type(x) is _Pair else x for x in xs])


class _Pair:
    def __init__(self, at: int) -> None:
        self.at = at


def _parts(x: Any) -> tuple[Any, Any]:
    """Return whether there is a value, and the value."""
    if x is ABSENT:
        return False, None
    return (x.defined, x.value) if type(x) is Conditional else (True, x)


def of_none(x: Any) -> tuple[Any, Any]:
    """Return whether a value is None, and the value where it is not."""
    if x is None:
        return True, None
    return (x.is_none, x.value) if type(x) is Optional else (False, x)


def _outline(x: Any) -> str:
    xs, form = pytree.flatten(x)
    return described(x) if form == pytree.LEAF else f"{form!r} of {', '.join(map(described, xs))}"
