"""Iterators whose state can be read: a loop over one can go on after a graph break."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any


class SequenceIterator:
    """An iterator over a list, tuple, range or str."""

    __slots__ = ("index", "sequence")

    def __init__(self, sequence: Any) -> None:
        self.sequence = sequence
        self.index = 0

    def __iter__(self) -> Iterator[Any]:
        return self

    def __next__(self) -> Any:
        i, sequence = self.index, self.sequence
        if sequence is None or not i < len(sequence):
            self.sequence = None  # exhausted for good, as built-in iterators are
            raise StopIteration
        self.index = i + 1
        return sequence[i]


_NAMES = {"dict": "dictionary", "set": "Set"}  # as errors call them


class ChangingIterator:
    """An iterator over a dict, set or deque, which must not grow or shrink meanwhile."""

    __slots__ = ("container", "index", "items")

    def __init__(self, container: Any) -> None:
        self.container = container
        self.items: list[Any] | None = list(container)
        self.index = 0

    def __iter__(self) -> Iterator[Any]:
        return self

    def __next__(self) -> Any:
        if self.items is None:
            raise StopIteration
        if len(self.container) != len(self.items):
            self.items = None
            kind = _NAMES.get(type(self.container).__name__, type(self.container).__name__)
            raise RuntimeError(f"{kind} changed size during iteration")
        if not self.index < len(self.items):
            self.items = None
            raise StopIteration
        self.index += 1
        return self.items[self.index - 1]


class RangeIterator:
    """An iterator over a range: the next number is ``start + step * index``."""

    __slots__ = ("count", "index", "start", "step")

    def __init__(self, numbers: range) -> None:
        self.start, self.step, self.count, self.index = numbers.start, numbers.step, len(numbers), 0

    def __iter__(self) -> Iterator[int]:
        return self

    def __next__(self) -> int:
        i = self.index
        if not i < self.count:
            raise StopIteration
        self.index = i + 1
        return self.start + self.step * i


class EnumerateIterator:
    """``enumerate`` over an iterator."""

    __slots__ = ("count", "iterator")

    def __init__(self, iterator: Any, start: int = 0) -> None:
        self.iterator = iterator
        self.count = start

    def __iter__(self) -> Iterator[tuple[int, Any]]:
        return self

    def __next__(self) -> tuple[int, Any]:
        value = next(self.iterator)
        count = self.count
        self.count = count + 1
        return count, value


class ZipIterator:
    """``zip`` over iterators."""

    __slots__ = ("iterators", "strict")

    def __init__(self, iterators: list, strict: bool = False) -> None:
        self.iterators = iterators
        self.strict = strict

    def __iter__(self) -> Iterator[tuple]:
        return self

    def __next__(self) -> tuple:
        out: list[Any] = []
        for n, iterator in enumerate(self.iterators):
            try:
                out.append(next(iterator))
            except StopIteration:
                if self.strict:
                    self._refuse_longer(n)
                raise
        if not out:
            raise StopIteration
        return tuple(out)

    def _refuse_longer(self, n: int) -> None:
        """Iterator ``n`` has ended: the others must not go on."""
        many = "argument" if n <= 1 else f"arguments 1-{n}"
        if n > 0:
            raise ValueError(f"zip() argument {n + 1} is shorter than {many}{' 1' if n == 1 else ''}")
        for i, iterator in enumerate(self.iterators[1:], 1):
            for _ in iterator:
                many = "argument 1" if i == 1 else f"arguments 1-{i}"
                raise ValueError(f"zip() argument {i + 1} is longer than {many}")


class Calling:
    """An iterator that calls functions; ``caller(function, arguments)`` does so where they are simulated."""

    __slots__ = ("caller",)

    def called(self, function: Callable[..., Any], *args: Any) -> Any:
        """Call a function."""
        caller = getattr(self, "caller", None)
        return function(*args) if caller is None else caller(function, args)


class MapIterator(Calling):
    """``map`` of a function over iterators."""

    __slots__ = ("function", "iterators")

    def __init__(self, function: Callable[..., Any], iterators: list) -> None:
        self.function = function
        self.iterators = iterators

    def __iter__(self) -> Iterator[Any]:
        return self

    def __next__(self) -> Any:
        return self.called(self.function, *[next(i) for i in self.iterators])


class FilterIterator(Calling):
    """``filter`` of an iterator by a function."""

    __slots__ = ("function", "iterator")

    def __init__(self, function: Callable[..., Any], iterator: Any) -> None:
        self.function = function
        self.iterator = iterator

    def __iter__(self) -> Iterator[Any]:
        return self

    def __next__(self) -> Any:
        while True:
            value = next(self.iterator)
            if self.called(bool, self.called(self.function, value)):
                return value


ITERATORS = (
    SequenceIterator, ChangingIterator, RangeIterator, EnumerateIterator, ZipIterator, MapIterator, FilterIterator,
)  # fmt: skip
