"""The places that a branch or loop may change: names, attributes and what lists and dicts hold."""

from __future__ import annotations

import collections
from collections.abc import Callable, Iterator, Sequence
from types import CellType
from typing import Any

from paddle.jit.source.code_owners import holds
from paddle.jit.source.errors import ConversionError, place_of
from paddle.jit.source.names import UNREAD
from paddle.jit.source.own_attributes import has_namespace, module_of
from paddle.jit.source.values import array_of, is_moved
from paddle.jit.source.world import ABSENT, world
from paddle.nn.layer.layers import Layer
from paddle.tensor._tensor_array import TensorArray, arrays_of
from umiak.core.tensor import Tensor


class Cell:
    """A name of the function around a block."""

    def __init__(self, name: str, cell: CellType) -> None:
        self.name, self.cell = name, cell

    def get(self) -> Any:
        return world().read_cell(self.cell, self.name)

    def set(self, value: Any) -> None:
        world().write_cell(self.cell, self.name, value)


class Global:
    """A name of a module."""

    def __init__(self, name: str, space: dict[str, Any]) -> None:
        self.name, self.space = name, space

    def get(self) -> Any:
        return world().read_global(self.space, self.name)

    def set(self, value: Any) -> None:
        world().write_global(self.space, self.name, value)


class Attribute:
    """An attribute of an object."""

    def __init__(self, name: str, owner: Any, attribute: str) -> None:
        self.name, self.owner, self.attribute = name, owner, attribute

    def get(self) -> Any:
        return world().read_attribute(self.owner, self.attribute)

    def set(self, value: Any) -> None:
        now = self.get()
        if value is now:  # a property may do more than to keep it
            return
        becomes_buffer = isinstance(value, Tensor) and type(now) in (bool, int, float) and isinstance(self.owner, Layer)
        if becomes_buffer and not world().keeps_layers:
            raise ConversionError(
                "[to_static] requires tensors for what a branch or loop on tensors changes in a layer, got "
                f"{self.name}, a number, at {place_of()}: it would become a buffer"
            )
        world().write_attribute(self.owner, self.attribute, value)


class Item:
    """A place in a list or dict."""

    def __init__(self, container: Any, key: Any) -> None:
        self.container, self.key = container, key

    def set(self, value: Any) -> None:
        self.container[self.key] = value


class Contents:
    """The items of a list, dict, set, deque or array, which methods change. ``holders``: the places that are known to
    hold a list."""

    def __init__(self, name: str, container: Any) -> None:
        self.name, self.container = name, container
        self.holders: list[Cell | Global | Attribute | Item] = []

    def get(self) -> Any:
        x = self.container
        if type(x) is TensorArray:
            return x.state()
        return dict(x) if isinstance(x, dict) else set(x) if isinstance(x, set) else list(x)

    def set(self, value: Any) -> None:
        x = self.container
        if type(x) is TensorArray:
            x.restore(value)
            return
        if type(x) is list:
            x[:] = value
            return
        x.clear()
        x.extend(value) if isinstance(x, collections.deque) else x.update(value)


class Position:
    """The place that an iterator has gone on to, which is the same on all ways."""

    def __init__(self, name: str, iterator: Any) -> None:
        self.name, self.iterator = name, iterator
        self._slots = type(iterator).__slots__

    def get(self) -> Any:
        return tuple(getattr(self.iterator, n, ABSENT) for n in self._slots)

    def set(self, value: Any) -> None:
        for name, x in zip(self._slots, value, strict=True):
            if x is not ABSENT:
                setattr(self.iterator, name, x)


Place = Cell | Global | Attribute | Contents | Position


class More(Exception):
    """A branch or loop was seen to change places that its text does not name: it is traced again, with these."""

    def __init__(self, places: list[Place]) -> None:
        super().__init__()
        self.places = places


def same(place: Place, a: Any, b: Any) -> bool:
    """Return whether a place holds the same in two states."""
    if isinstance(place, Position):
        return all(x is y or (type(x) is int and x == y) for x, y in zip(a, b, strict=True))
    if not isinstance(place, Contents):
        return a is b
    if type(a) is set:
        return a == b
    if type(a) is list:
        return len(a) == len(b) and all(x is y for x, y in zip(a, b, strict=True))
    return list(a) == list(b) and all(a[k] is b[k] for k in a)


def unread(functions: Sequence[Callable[..., Any] | None], names: Sequence[str]) -> list[Cell]:
    """The names among those that nothing reads behind the statement: one way must not see what another has assigned."""
    cells = {
        name: cell
        for f in functions
        if f is not None
        for name, cell in zip(f.__code__.co_freevars, f.__closure__ or (), strict=True)
    }
    those = [n.removeprefix(UNREAD) for n in names if n.startswith(UNREAD)]
    return [Cell(n, cells[n]) for n in those if n in cells]


def places_of(functions: Sequence[Callable[..., Any] | None], names: Sequence[str], where: str = "") -> list[Place]:
    """The places that the functions of blocks may change: ``names``, the lists and dicts that they can reach, and what
    the statement at ``where`` was seen to change."""
    cells: dict[str, CellType] = {}
    spaces: dict[str, Any] = {}
    for f in functions:
        if f is not None and f.__globals__.get("__package__") != __package__:  # names of ours are none of the user's
            cells.update(zip(f.__code__.co_freevars, f.__closure__ or (), strict=True))
            spaces = f.__globals__  # of one module
    out: list[Place] = []
    for name in dict.fromkeys(n for n in names if not n.startswith(UNREAD)):
        base, _, attribute = name.partition(".")
        if not attribute:
            out.append(Cell(name, cells[name]) if name in cells else Global(name, spaces))
            continue
        owner = Cell(base, cells[base]).get() if base in cells else Global(base, spaces).get()
        if owner is not ABSENT and not isinstance(owner, (Tensor, type)):
            out.append(Attribute(name, owner, attribute))
    seen: dict[int, Contents | None] = {}
    for name, cell in cells.items():
        out += _containers(name, Cell(name, cell).get(), seen, Cell(name, cell))
    out += (Contents("an array", a) for a in arrays_of())
    known = set(map(key_of, out))
    return [*out, *(p for p in world().known_places(where) if key_of(p) not in known)]


def key_of(place: Place) -> tuple[int, str]:
    """Return what tells one place from another."""
    if isinstance(place, Cell):
        return id(place.cell), ""
    if isinstance(place, Global):
        return id(place.space), place.name
    if isinstance(place, Attribute):
        return id(place.owner), place.attribute
    return id(place.iterator if isinstance(place, Position) else place.container), ""


def _containers(
    name: str, value: Any, seen: dict[int, Contents | None], holder: Cell | Attribute | Item | None
) -> Iterator[Contents]:
    kind = type(value)
    if is_moved(value) and holder is not None:
        holder.set(array_of(value))
        return
    if _is_pythons(kind):
        if id(value) in seen:
            known = seen[id(value)]
            if known is not None and holder is not None:
                known.holders.append(holder)
            return
        seen[id(value)] = None
        if kind is not tuple:
            made = seen[id(value)] = Contents(name, value)
            if holder is not None:
                made.holders.append(holder)
            yield made
        items = value.items() if kind is dict else enumerate(value)
        for key, item in items:
            if _is_pythons(type(item)):
                inner = None if kind is tuple else Item(value, key)
                yield from _containers(f"{name}[{key!r}]", item, seen, inner)
    elif not issubclass(kind, (Tensor, type)) and not callable(kind.__dict__.get("__get__")):
        if _is_plain(value) and id(value) not in seen:
            seen[id(value)] = None
            for key, item in world().containers_of(value):
                if not (issubclass(kind, Layer) and key.startswith("_")):
                    yield from _containers(f"{name}.{key}", item, seen, Attribute(f"{name}.{key}", value, key))


def _is_pythons(kind: type) -> bool:
    return kind is list or kind is dict or kind is tuple  # nor asks ``in`` a metaclass


def _is_plain(value: Any) -> bool:
    """Return whether an object is one of the user's, which methods of it may change."""
    return holds(module_of(type(value))) and has_namespace(value)


class Snapshot:
    """The values of places at one time."""

    def __init__(self, places: Sequence[Place], unread: Sequence[Cell] = ()) -> None:
        self.places = [*places, *unread]
        self.values = [p.get() for p in self.places]
        self._effects = world().effects()

    def restore(self) -> None:
        """Have everything be what it was."""
        for place, value in zip(self.places, self.values, strict=True):
            place.set(value)
        world().restore(self._effects)

    def others(self) -> list[Place | str]:
        """Return what has changed that is no place yet, or none at all, in words."""
        return world().others(self._effects, self.places)

    def check_others(self, where: str) -> None:
        """Have places that were seen to change be known. Refuse changes of what is no place: they would be made on both
        ways of a branch, or not at all."""
        changed = self.others()
        others = [x for x in changed if isinstance(x, str)]
        more = [x for x in changed if not isinstance(x, str)]
        if more and not others:
            world().know_places(where, more)
            raise More(more)
        if others:
            raise ConversionError(
                f"[to_static] requires branches and loops on tensors that change names, attributes, lists, dicts and "
                f"sets, got a change of {', '.join(others)} by the statement at {where}. Return what is new, or change "
                "it outside of the statement"
            )
