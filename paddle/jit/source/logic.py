"""``and``, ``or``, ``not`` and chains of comparisons: as Python means them, and as operations on tensors."""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from paddle.jit.source import facts
from paddle.jit.source.branches import value_of
from paddle.jit.source.errors import ConversionError, place_of
from paddle.jit.source.namespaces import Namespace
from paddle.jit.source.speculation import computed_anyway
from paddle.jit.source.values import array_of, asked, holds, is_unknown, read, truth
from paddle.jit.source.world import world
from paddle.tensor._tensor_array import TensorArray
from umiak import ops as F
from umiak.ir.expr import Sym, compare_eq, conjunction, disjunction, negate
from umiak.util.size import Size

Thunk = Callable[[], Any]
_LISTS = (list, Size)
_VALUE = "the value of a logical operator"


def _is_in(x: Any, those: Any) -> Any:
    those = array_of(those)
    if type(those) is Namespace:
        return those.has(x)
    if type(those) is TensorArray and those.data is not None:
        return F.any(those.equal(x, "in"), axes=(0,))
    if _is_open(x) and isinstance(those, (tuple, list)) and are_integers(those):
        return disjunction(*(compare_eq(x, n) for n in those))
    if is_unknown(x) and isinstance(those, (tuple, list)) and those and are_integers(those) and _is_one(x):
        return functools.reduce(F.logical_or, [F.eq(x, n) for n in those])
    return world().call(operator.contains, those, x)


def _is_not_in(x: Any, those: Any) -> Any:
    return not_(_is_in(x, those))


def are_integers(those: Sequence[Any]) -> bool:
    """Return whether all are integers, symbolic or not."""
    return all(type(x) is int or (type(x) is Sym and x.kind == "int") for x in those)


def _is_one(x: Any) -> bool:
    """Has a tensor one element?"""
    return all(type(n) is int and n == 1 for n in x.shape)


def _is_open(x: Any) -> bool:
    """Is it a size of which no guard may tell what it is?"""
    return type(x) is Sym and x.kind == "int" and not x.hinted


def _are_alike(x: Any, y: Any) -> bool:
    """Are both tuples, or both lists or shapes?"""
    return (type(x) is tuple and type(y) is tuple) or (type(x) in _LISTS and type(y) in _LISTS)


def _equal(x: Any, y: Any) -> Any:
    """``x == y``; of shapes with open sizes, whether all are equal."""
    if _are_alike(x, y) and any(map(_is_open, (*x, *y))) and are_integers((*x, *y)):
        return len(x) == len(y) and conjunction(*map(compare_eq, x, y))
    return world().call(operator.eq, x, y)


def _differ(x: Any, y: Any) -> Any:
    if _are_alike(x, y):
        same = _equal(x, y)
        return negate(same) if type(same) is Sym else world().call(operator.ne, x, y)
    return world().call(operator.ne, x, y)


_COMPARE: dict[str, Callable[[Any, Any], Any]] = {
    "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge, "==": _equal, "!=": _differ,
    "is": operator.is_, "is not": operator.is_not,
    "in": _is_in, "not in": _is_not_in,
}  # fmt: skip
_OWN = frozenset((_equal, _differ, _is_in, _is_not_in))  # the others are operators of Python's


def and_(first: Any, *rest: Thunk) -> Any:
    """``first and …``: of known values only those are computed that Python would."""
    return _combined(first, rest, True)


def or_(first: Any, *rest: Thunk) -> Any:
    """``first or …``."""
    return _combined(first, rest, False)


def _combined(x: Any, rest: Sequence[Thunk], conjunction: bool) -> Any:
    """The first value whose truth decides, or the last one."""
    for n, thunk in enumerate(rest):
        x = asked(x)
        if not is_unknown(x):
            if holds(x) is not conjunction:
                return x
            x = thunk()
        elif x.dtype.name != "bool":
            return _of_values(x, thunk, rest[n + 1 :], conjunction)
        else:
            second: list[Any] = []

            def kept(thunk: Thunk = thunk, second: list[Any] = second) -> Any:
                second[:] = [thunk()]
                return second[0]

            first, x = x, _of_flags(x, kept, conjunction, [thunk])
            if any(y is (not conjunction) for y in second):  # which decides: the rest is not asked
                return x
            facts.follows(x, conjunction, (first, conjunction), *((y, conjunction) for y in second))
    return x


def _of_values(x: Any, thunk: Thunk, after: Sequence[Thunk], conjunction: bool) -> Any:
    """The result is one of the values, rather than a truth value."""

    def more() -> Any:
        return _combined(thunk(), after, conjunction)

    def same() -> Any:
        return x

    first, second = (more, same) if conjunction else (same, more)
    return value_of(truth(x), first, second, _VALUE, (), [thunk, *after])


def _of_flags(x: Any, thunk: Thunk, conjunction: bool, functions: Sequence[Thunk]) -> Any:
    """``x`` is a truth value. The second operand is computed whatever it is where nobody can tell, which costs less
    than a branch; ``functions``: those of the text that ``thunk`` calls."""
    with facts.assumed(x, conjunction):
        computed = computed_anyway(thunk, functions)
    if computed is None:

        def second_truth() -> Any:
            y = asked(thunk())
            return truth(y) if is_unknown(y) else y

        def decided() -> Any:
            return not conjunction

        first, second = (second_truth, decided) if conjunction else (decided, second_truth)
        return value_of(truth(x), first, second, _VALUE, (), functions)
    y = asked(computed[0])
    y = holds(y) if type(y) is Sym else y
    if isinstance(y, bool):
        flag = truth(x)
        return flag if y is conjunction else F.full(y, shape=(), dtype=flag.dtype)
    if is_unknown(y):
        a, b = truth(x), truth(y)
        if y.dtype is x.dtype and y.ndim == x.ndim:
            a, b = x, y
        return F.logical_and(a, b) if conjunction else F.logical_or(a, b)
    first, second = (lambda: y, lambda: x) if conjunction else (lambda: x, lambda: y)
    return value_of(truth(x), first, second, _VALUE)


def not_(x: Any) -> Any:
    """``not x``."""
    x = asked(x)
    if not is_unknown(x):
        return not holds(x)
    x = truth(x)
    out = F.logical_not(x)
    facts.follows(out, True, (x, False))
    facts.follows(out, False, (x, True))
    return out


def compare(symbols: Sequence[str], first: Any, *rest: Thunk) -> Any:
    """``a < b < c``: each operand is computed once, and none behind a comparison that is known not to hold."""
    x: Any = True
    left = first
    for n, (symbol, thunk) in enumerate(zip(symbols, rest, strict=True)):
        right = thunk()
        of, left, right = _COMPARE[symbol], read(left), read(right)
        x = of(left, right) if of in _OWN else world().call(of, left, right)
        more = n + 1 < len(rest)
        if more:
            x = asked(x)
        if more and is_unknown(x):
            others = rest[n + 1 :]
            return _of_flags(truth(x), partial(compare, symbols[n + 1 :], right, *others), True, others)
        if more and not holds(x):
            return x
        left = right
    return x


def decided(x: Any) -> Any:
    """A condition on which Python itself branches: in a comprehension, or a guard of ``case``."""
    if is_unknown(x):
        raise ConversionError(
            f"[to_static] requires a condition that is known when the function is captured in a comprehension of a "
            f"dict or set, a generator or a case, got a tensor at {place_of()}. Write the "
            "loop and the condition as statements"
        )
    return x
