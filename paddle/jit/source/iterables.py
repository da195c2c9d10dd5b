"""Iterables of loops whose number of items is known only while the program runs."""

from __future__ import annotations

import builtins
from typing import Any

from paddle.jit.source.errors import ConversionError, place_of
from paddle.jit.source.values import is_unknown
from paddle.jit.source.world import world
from paddle.tensor._tensor_array import TensorArray
from umiak import ops as F
from umiak.core import dtype as dt
from umiak.core.context import current
from umiak.core.tensor import Tensor
from umiak.ir import expr
from umiak.ir.expr import Sym
from umiak.runtime.regions import number


class Traced:
    """Items by number: ``item(i)`` for a tensor ``i`` from ``start()`` up to below ``length()``."""

    def start(self) -> Any:
        return F.full(0, shape=(), dtype=dt.int64)

    def length(self) -> Any:
        raise NotImplementedError

    def item(self, i: Any) -> Any:
        raise NotImplementedError

    def sizes(self) -> list[Any]:
        """Return what says how many items there are: numbers, or tensors."""
        raise NotImplementedError

    def __iter__(self) -> Any:
        for n in self.sizes():
            world().fix(n)
        raise ConversionError(
            f"[to_static] requires a for statement over what has as many items as a tensor says, got something else at "
            f"{place_of()} that runs over it. Write the loop as statements"
        )


def scalar(x: Any) -> Any:
    """A bound of a range as a tensor."""
    if not isinstance(x, Tensor):
        return number(x, dt.int64)
    if not x.dtype.is_integer:
        raise TypeError(f"[range] requires integers, got a tensor of {x.dtype.name}")
    return F.reshape(F.cast(x, dtype=dt.int64), shape=())


class Range(Traced):
    """Numbers from ``first`` to below ``stop``."""

    def __init__(self, first: Any, stop: Any, step: Any) -> None:
        self.first, self.stop, self.step = scalar(first), scalar(stop), step
        self._bounds = [first, stop, step]

    def sizes(self) -> list[Any]:
        return self._bounds

    def length(self) -> Any:
        distance = F.sub(self.stop, self.first)
        if not isinstance(self.step, int):
            step = scalar(self.step)
            up = F.floor_div(F.sub(F.add(distance, step), 1), step)
            down = F.floor_div(F.add(F.add(distance, step), 1), step)
            return F.where(F.gt(step, 0), up, down)
        if self.step == 0:
            raise ValueError("range() arg 3 must not be zero")
        if abs(self.step) == 1:
            return distance if self.step > 0 else F.neg(distance)
        return F.floor_div(F.add(distance, self.step - (1 if self.step > 0 else -1)), self.step)

    def item(self, i: Any) -> Any:
        return F.add(
            self.first,
            F.mul(i, number(self.step, dt.int64) if not isinstance(self.step, Tensor) else scalar(self.step)),
        )


class Rows(Traced):
    """The slices of a tensor along its first axis."""

    def __init__(self, x: Tensor) -> None:
        self.x = x

    def sizes(self) -> list[Any]:
        return [self.x.shape[0]]

    def length(self) -> Any:
        return number(self.x.shape[0], dt.int64)

    def item(self, i: Any) -> Any:
        row = self.x[i]
        current().trace[-1].refuse_writes(row, "a row of the tensor that a loop runs over")
        return row


class Listed(Traced):
    """The tensors of an array."""

    def __init__(self, array: TensorArray) -> None:
        self.array = array

    def sizes(self) -> list[Any]:
        return [self.array.length()]

    def length(self) -> Any:
        return number(self.array.length(), dt.int64)

    def item(self, i: Any) -> Any:
        return self.array.read(i)


class Backwards(Traced):
    """Items of a sequence from the last one on."""

    def __init__(self, items: Traced) -> None:
        self.items = items

    def sizes(self) -> list[Any]:
        return self.items.sizes()

    def length(self) -> Any:
        return self.items.length()

    def item(self, i: Any) -> Any:
        return self.items.item(F.sub(F.sub(self.length(), 1), i))


class Enumerated(Traced):
    """Items with their numbers."""

    def __init__(self, items: Traced, first: Any) -> None:
        self.items, self.first = items, first

    def sizes(self) -> list[Any]:
        return self.items.sizes()

    def length(self) -> Any:
        return self.items.length()

    def item(self, i: Any) -> Any:
        return F.add(i, self.first), self.items.item(i)


class Zipped(Traced):
    """Items of several, as long as all have one."""

    def __init__(self, those: list[Traced]) -> None:
        self.those = those

    def sizes(self) -> list[Any]:
        return [n for items in self.those for n in items.sizes()]

    def length(self) -> Any:
        shortest = self.those[0].length()
        for items in self.those[1:]:
            shortest = F.minimum(shortest, items.length())
        return shortest

    def item(self, i: Any) -> Any:
        return tuple(items.item(i) for items in self.those)


def as_traced(x: Any) -> Traced | None:
    """Return what a loop runs over by an operation; None for what Python runs over."""
    if isinstance(x, Traced):
        return x
    if is_unknown(x) and x.ndim and type(x.shape[0]) is Sym:
        return Rows(x)
    if type(x) is TensorArray and type(x.length()) is Sym:
        return Listed(x)
    return None


def range_(*bounds: Any) -> Any:
    """``range``."""
    if not any(is_unknown(n) or _is_open(n) for n in bounds):
        return builtins.range(*bounds)
    if len(bounds) > 3:
        raise TypeError(f"range expected at most 3 arguments, got {len(bounds)}")
    first, stop = (0, bounds[0]) if len(bounds) == 1 else bounds[:2]
    return Range(first, stop, bounds[2] if len(bounds) == 3 else 1)


def _is_open(n: Any) -> bool:
    """Return whether a bound is symbolic, and no number where the code runs."""
    return type(n) is Sym and expr.number_here(n) is None


def enumerate_(iterable: Any, start: Any = 0) -> Any:
    """``enumerate``."""
    traced = as_traced(iterable)
    if traced is not None:
        return Enumerated(traced, start)
    if is_unknown(start):
        return zip((F.add(start, i) for i in _count()), iterable)
    return builtins.enumerate(iterable, start)


def _count() -> Any:
    i = 0
    while True:
        yield i
        i += 1


def zip_(*iterables: Any, **kwargs: Any) -> Any:
    """``zip``."""
    traced = [as_traced(x) for x in iterables]
    if all(t is None for t in traced):
        return builtins.zip(*iterables, **kwargs)
    if kwargs.get("strict"):
        raise ConversionError(f"[to_static] requires zip without strict over tensors at {place_of()}")
    return Zipped([_indexed(x) if t is None else t for x, t in zip(iterables, traced, strict=True)])


def _indexed(x: Any) -> Traced:
    if is_unknown(x) and x.ndim:
        return Rows(x)
    raise ConversionError(
        f"[to_static] requires zip at {place_of()} to run over tensors and ranges where one of these has as many items "
        f"as a tensor says, got {type(x).__name__}"
    )


def reversed_(x: Any) -> Any:
    """``reversed``."""
    if isinstance(x, Range):
        last = F.sub(x.length(), 1)
        return Range(x.item(last), F.sub(x.first, x.step), -x.step)
    if isinstance(x, (Enumerated, Zipped, Backwards)):
        raise TypeError(f"[reversed] requires a sequence, got an iterator at {place_of()}")
    traced = as_traced(x)
    if traced is not None:
        return Backwards(traced)
    return builtins.reversed(x)
