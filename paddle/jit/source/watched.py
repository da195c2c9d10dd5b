"""Objects whose state is kept, each kind in its way: what of it has changed, and how it is put back."""

from __future__ import annotations

import collections
import itertools
import operator
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from types import CellType
from typing import Any

import numpy as np

from paddle.jit.source import digest
from paddle.jit.source.own_attributes import (
    attributes_of,
    by_type,
    cached_names,
    namespace_of,
    put_attribute,
    remove_attribute,
)
from paddle.jit.source.places import Attribute, Cell, Contents, Global, Place
from paddle.jit.source.world import ABSENT
from paddle.nn.layer._registry import CHANGES, TABLES
from paddle.nn.layer.layers import Layer

NUMBERS = (int, float, complex, bool, str, bytes)
CONTAINERS = (list, dict, set, collections.deque)
_BASES = (*CONTAINERS, tuple, frozenset, collections.OrderedDict)
_OF_LAYERS = frozenset(vars(Layer())) - {"training"}  # which layers have by themselves

Name = Callable[[Any], str]  # words for an object


class Watched:
    """An object whose state is kept: each kind defines :meth:`now`, :meth:`changes` and, where it can, :meth:`restore`.

    ``state``: as :meth:`now` gave it.
    """

    def __init__(self, owner: Any) -> None:
        self.owner = owner
        self.state = self.now()

    def now(self) -> Any:
        """Return the state."""
        raise NotImplementedError(f"{type(self).__name__} must define now()")

    def changes(self, name: Name) -> Iterator[Place | str]:
        """Yield what has changed: places, or words."""
        raise NotImplementedError(f"{type(self).__name__} must define changes()")

    def restore(self) -> None:
        """Put back what was there, as far as it can be."""


class Names(Watched):
    """Values by name. ``owner``: what has them."""

    def changes(self, name: Name) -> Iterator[Place | str]:
        now = self.now()
        if _are_same(self.state, now):
            return
        for key in dict.fromkeys((*self.state, *now)):
            if not _is_same(self.state.get(key, ABSENT), now.get(key, ABSENT)):
                yield self.place(key, name)

    def place(self, key: str, name: Name) -> Place:
        return Attribute(f"{name(self.owner)}.{key}", self.owner, key)

    def restore(self) -> None:
        now = self.now()
        if _are_same(self.state, now):
            return
        for key in dict.fromkeys((*self.state, *now)):
            old = self.state.get(key, ABSENT)
            if old is not now.get(key, ABSENT):
                self.put(key, old)

    def put(self, key: str, value: Any) -> None:
        remove_attribute(self.owner, key) if value is ABSENT else put_attribute(self.owner, key, value)


class Variable(Names):
    """A variable of a closure."""

    def __init__(self, owner: CellType, name: str) -> None:
        self.name = name
        super().__init__(owner)

    def now(self) -> dict[str, Any]:
        try:
            return {self.name: self.owner.cell_contents}
        except ValueError:
            return {}

    def place(self, key: str, name: Name) -> Place:
        return Cell(key, self.owner)

    def put(self, key: str, value: Any) -> None:
        if value is ABSENT:
            del self.owner.cell_contents
        else:
            self.owner.cell_contents = value


class OfModule(Names):
    """Variables of a module that the code of functions names."""

    def __init__(self, owner: dict[str, Any], names: Iterable[str]) -> None:
        self.names = tuple(names)
        super().__init__(owner)

    def now(self) -> dict[str, Any]:
        return {n: self.owner[n] for n in self.names if n in self.owner}

    def place(self, key: str, name: Name) -> Place:
        return Global(key, self.owner)

    def put(self, key: str, value: Any) -> None:
        if value is ABSENT:
            self.owner.pop(key, None)
        else:
            self.owner[key] = value


class Attributes(Names):
    """Attributes of an object, function or class. What a ``functools.cached_property`` has kept is no change, but put
    back: it may have been computed of what a statement alone has."""

    def now(self) -> dict[str, Any]:
        return attributes_of(self.owner)

    def changes(self, name: Name) -> Iterator[Place | str]:
        kept = cached_names(self.owner)
        return (x for x in super().changes(name) if not (kept and isinstance(x, Attribute) and x.attribute in kept))


class OfTensor(Attributes):
    """Attributes that the user has given to a tensor."""

    def now(self) -> dict[str, Any]:
        return dict(namespace_of(self.owner))  # what else it has is the tracer's


class OfLayer(Attributes):
    """Attributes of a layer that are the user's, parameters and buffers among them."""

    def __init__(self, owner: Layer) -> None:
        super().__init__(owner)
        self.all = dict(namespace_of(owner))
        self.tables = [dict(namespace_of(owner)[t]) for t in TABLES]

    def now(self) -> dict[str, Any]:
        return {k: v for k, v in attributes_of(self.owner).items() if k not in _OF_LAYERS}

    def is_unchanged(self) -> bool:
        """Return whether all is the same, which is told faster than by the user's attributes alone."""
        return _are_same(self.all, namespace_of(self.owner))

    def changes(self, name: Name) -> Iterator[Place | str]:
        return iter(()) if self.is_unchanged() else super().changes(name)

    def restore(self) -> None:
        own = namespace_of(self.owner)
        if self.is_unchanged() or _are_same(self.state, self.now()):
            return
        CHANGES[0] += 1
        for table, items in zip(TABLES, self.tables, strict=True):
            if not _are_same(own[table], items):
                own[table].clear()
                own[table].update(items)
        super().restore()


class Container(Watched):
    """Items of a list, dict, set or deque. ``holders``: places that hold it."""

    def __init__(self, owner: Any) -> None:
        self.holders: list[Any] = []
        super().__init__(owner)

    def now(self) -> tuple[Any, ...]:
        x, base = self.owner, base_of(type(self.owner))
        return (*base.keys(x), *base.values(x)) if issubclass(base, dict) else tuple(base.__iter__(x))

    def is_unchanged(self) -> bool:
        """Return whether the items are the same objects: told without a copy of them, as there may be many."""
        x, base = self.owner, base_of(type(self.owner))
        if not issubclass(base, dict):
            return base.__len__(x) == len(self.state) and all(map(operator.is_, self.state, base.__iter__(x)))
        now = itertools.chain(base.keys(x), base.values(x))
        return 2 * base.__len__(x) == len(self.state) and all(map(operator.is_, self.state, now))

    def changes(self, name: Name) -> Iterator[Place | str]:
        if not (self.is_unchanged() or are_equal(self.state, self.now())):
            x = self.owner
            if type(x) in (list, set, collections.deque) or issubclass(type(x), dict):
                place = Contents(name(x), x)
                place.holders += self.holders
                yield place
            else:
                yield f"{name(x)!r}"

    def restore(self) -> None:
        if self.is_unchanged():
            return
        old, x = self.state, self.owner
        base = base_of(type(x))
        base.clear(x)
        if issubclass(base, dict):
            n = len(old) // 2
            for key, value in zip(old[:n], old[n:], strict=True):
                base.__setitem__(x, key, value)
        elif base is set:
            base.update(x, old)
        else:
            base.extend(x, old)


class Token(Watched):
    """An object whose state can be compared, and is not put back. ``state_of``: gives it."""

    def __init__(self, owner: Any, state_of: Callable[[Any], Any], what: str) -> None:
        self.state_of, self.what = state_of, what
        super().__init__(owner)

    def now(self) -> Any:
        return self.state_of(self.owner)

    def changes(self, name: Name) -> Iterator[Place | str]:
        if self.now() != self.state:
            yield f"{self.what} ({name(self.owner)!r})" if self.owner is not None else self.what


class OfContext(Watched):
    """The value of a context variable."""

    def now(self) -> Any:
        return self.owner.get(None)

    def changes(self, name: Name) -> Iterator[Place | str]:
        if not _is_same(self.state, self.now()):
            yield f"the context variable {self.owner.name!r}"


class Array(Watched):
    """Elements of an array of NumPy."""

    def now(self) -> Any:
        x = np.asarray(self.owner)  # of sizes: the symbols, of which it tells the dtype that numbers would have
        return tuple(x.flat) if x.dtype.hasobject else digest.of_array(x)

    def changes(self, name: Name) -> Iterator[Place | str]:
        now = self.now()
        same = are_equal(self.state, now) if np.asarray(self.owner).dtype.hasobject else now == self.state
        if not same:
            yield f"the array {name(self.owner)!r} of NumPy"


@by_type
def base_of(kind: type) -> Any:
    """The container of Python's that a type is, whose methods its own may stand before."""
    return next(c for c in kind.__mro__ if any(c is base for base in _BASES))


def count_of(x: Any) -> int:
    """The number of items of a container, as Python has them; so below."""
    return base_of(type(x)).__len__(x)


def pairs_of(x: Any) -> Sequence[tuple[Any, Any]]:
    """The keys of a dict and its values; numbers and items of another container."""
    base = base_of(type(x))
    return list(base.items(x)) if issubclass(base, dict) else list(enumerate(base.__iter__(x)))


def _is_same(a: Any, b: Any) -> bool:
    return a is b or (type(a) is type(b) and any(type(a) is kind for kind in NUMBERS) and bool(a == b))


def _are_same(a: Mapping[str, Any], b: Mapping[str, Any]) -> bool:
    return len(a) == len(b) and all(map(operator.is_, a.values(), b.values())) and all(map(operator.is_, a, b))


def are_equal(a: Sequence[Any], b: Sequence[Any]) -> bool:
    """Return whether sequences have the same items, or equal numbers."""
    return len(a) == len(b) and all(map(_is_same, a, b))
