"""Lists that change their length in a loop or branch on tensors: they become arrays, which the names of the lists hold
from there on."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any, NamedTuple

from paddle.jit.source.errors import ConversionError
from paddle.jit.source.join import described, dtype_for, rank
from paddle.jit.source.places import Contents, Place
from paddle.jit.source.values import Conditional, Moved, Optional, is_moved
from paddle.jit.source.world import world
from paddle.tensor._tensor_array import TensorArray
from umiak.core.tensor import Tensor
from umiak.ir.meta import Meta
from umiak.ir.scope import symbols_of
from umiak.ir.tracer import current
from umiak.runtime.regions import number


class Grows(Exception):
    """A list, or an array, holds more on one way than on another: ``items`` are some of it."""

    def __init__(self, place: Contents, items: Sequence[Any]) -> None:
        super().__init__()
        self.place, self.items = place, list(items)


class Held(NamedTuple):
    """An array that a name holds, as a structure of tensors, of which branches and loops make others."""

    data: Tensor


def opened(x: Any) -> Any:
    """A value of a name, with a list whose length data decide as a structure."""
    return Held(x.data) if type(x) is TensorArray and x.data is not None else x


def closed(x: Any) -> Any:
    """Return what :func:`opened` has taken apart, of other tensors."""
    if type(x) in (Conditional, Optional):
        x.value = closed(x.value)
    if type(x) is not Held:
        return x
    array = TensorArray(x.data.dtype)
    array.shares = True
    array.data = x.data
    return array


def array_in(x: Any) -> TensorArray | None:
    """The array that a name holds, on some way at least."""
    x = x.value if type(x) in (Conditional, Optional) else x
    return x if type(x) is TensorArray else None


def grows_by_name(places: Sequence[Place], before: Any, *after: Any) -> Grows | None:
    """Return that a list grows which a name has held, and that it holds another one of instead."""
    lists = [x for x in after if type(x) is list]
    if type(before) is not list or not lists or all(len(x) == len(before) for x in lists):
        return None
    for place in places:
        if isinstance(place, Contents) and place.container is before:
            return Grows(place, [x for those in lists for x in those]) if may_grow(place, *lists) else None
    return None


def may_grow(place: Place, *states: Any) -> bool:
    """Return whether a list, or an array, that holds ``states`` can be an array of tensors of one type."""
    if not isinstance(place, Contents) or not current().one_program:
        return False
    if isinstance(place.container, TensorArray):
        return place.container.data is None
    return type(place.container) is list and bool(place.holders) and any(states)


@contextmanager
def within(places: Sequence[Place]) -> Iterator[None]:
    """While a statement is traced that may change these places."""
    statements = current().statements
    statements.append(places)
    try:
        yield
    finally:
        statements.pop()


def grow(grows: Grows, where: str, known: set[Any]) -> None:
    """Have an array in place of a list from here on, which is before the statement at ``where``: the outermost one
    before which the list was there. ``known``: the symbols that there are."""
    place, name = grows.place, grows.place.name
    for places in current().statements:
        if any(isinstance(p, Contents) and p.container is place.container for p in places):
            raise grows
    before = place.get()
    like = _type(name, [*before, *grows.items], where, known)
    if isinstance(place.container, TensorArray):
        place.container.be_stacked(like)
        return
    if not world().is_own(place.container):
        raise ConversionError(
            f"[to_static] requires a list whose length a loop or branch on tensors decides to be made in the function "
            f"itself, got {name!r} from outside at {where}"
        )
    assert like.dtype is not None
    array = TensorArray(like.dtype, [number(x, like.dtype) for x in before])
    array.shares = True
    array.be_stacked(like)
    current().moved.append((place.container, before, list(place.holders)))
    for holder in place.holders:
        holder.set(array)
    container = place.container
    container[:] = [Moved(array, name, where)]
    current().conditions.append(lambda: _untouched(container, name, where))


def _untouched(container: list[Any], name: str, where: str) -> None:
    """Refuse what was done to a list whose items are in an array: the array does not have it."""
    if not is_moved(container):
        raise ConversionError(
            f"[to_static] requires {name!r}, whose length the statement on a tensor at {where} decides, to be changed "
            "by that name behind the statement, got a change by another one"
        )


@contextmanager
def put_back() -> Iterator[None]:
    """Lists of the user's that were there before are what they were, when a program has been recorded."""
    tracer = current()
    try:
        yield
        for condition in tracer.conditions:
            condition()
    finally:
        for container, items, holders in reversed(tracer.moved):
            container[:] = items
            for holder in holders:
                with suppress(IndexError):  # a list that has become shorter holds it no longer
                    holder.set(container)
        tracer.moved.clear()


def _type(name: str, items: Sequence[Any], where: str, known: set[Any]) -> Meta:
    """The type of the items, which must have one; sizes that are not known outside are 0."""
    stacked = len(items) == 2 and not isinstance(items[0], Tensor) and isinstance(items[1], Tensor)
    tensors = [x for x in items if isinstance(x, Tensor)]
    if stacked and rank(items[0]) is None:
        shape, dtype = tuple(items[1].shape)[1:], items[1].dtype
    elif tensors:
        shape, dtype = tuple(tensors[-1].shape), tensors[-1].dtype
    else:
        ranks = [rank(x) for x in items]
        if None in ranks or not ranks:
            raise _unlike(name, items, where)
        shape, dtype = (), dtype_for(max(r for r in ranks if r is not None))
    for x in items if not stacked else ():
        fits = len(x.shape) == len(shape) and x.dtype is dtype if isinstance(x, Tensor) else rank(x) is not None
        if not fits or (not isinstance(x, Tensor) and shape):
            raise _unlike(name, items, where)
    return Meta(tuple(n if symbols_of(n).keys() <= known else 0 for n in shape), dtype)


def _unlike(name: str, items: Sequence[Any], where: str) -> ConversionError:
    return ConversionError(
        f"[to_static] requires tensors of one shape and dtype, or numbers, in {name!r}, whose length the statement on "
        f"a tensor at {where} decides, got {', '.join(map(described, items))}"
    )
