"""A loop as one operation: which names it carries from iteration to iteration is found by tracing its body.

At first there are none. A trace of the body shows what an iteration changes, and what cannot be carried; then the loop
is traced again. What no iteration changes stays the object that it is. Where a name has no value before the loop, it is
carried with zeros and a flag that says whether an iteration has assigned it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from paddle.jit.source import aliases
from paddle.jit.source.errors import ConversionError
from paddle.jit.source.growing import Grows, array_in, closed, grow, grows_by_name, may_grow, opened, within
from paddle.jit.source.join import described, dtype_for, equal, meta_of, of_none, rank, rank_of
from paddle.jit.source.leaving import CONTINUED, ENDED, Left, left, parts, renamed
from paddle.jit.source.places import Contents, More, Position, Snapshot, places_of, same
from paddle.jit.source.raising import as_operation
from paddle.jit.source.values import Conditional, Optional, Unusable
from paddle.jit.source.world import ABSENT
from umiak import ops as F
from umiak.core import dtype as dt
from umiak.core.tensor import Tensor
from umiak.ir.scope import symbols_of
from umiak.ir.tracer import current
from umiak.runtime import regions
from umiak.runtime.regions import joinable, number
from umiak.util import pytree

MOST_TRACES = 50


class Step(NamedTuple):
    """The results of an iteration: whether another one follows, how it was left, and numbers of the loop's own."""

    go: Any
    left: Left | None
    extra: list[Any]


class _Again(Exception):
    """The loop carries something else than it was traced with."""


@dataclass(frozen=True)
class _Zeros:
    """A tensor of zeros that is yet to be made."""

    shape: tuple
    dtype: Any

    def made(self) -> Tensor:
        return F.full(0, shape=self.shape, dtype=self.dtype)


class _Slot:
    """Something that the loop carries: a structure of leaves. ``value``: what it starts with."""

    def __init__(self, name: str, value: Any) -> None:
        self.name = name
        self.first, self.form = pytree.flatten(value)
        self.dtypes: dict[int, Any] = {}  # of the tensors that are carried in the places of numbers
        self.unusable: str | None = None

    def start(self) -> list[Any]:
        """The leaves that the loop starts with."""
        return [
            x.made() if type(x) is _Zeros else number(x, self.dtypes.get(i)) for i, x in enumerate(self.first)
        ]  # fmt: skip

    def given(self, leaves: Sequence[Any]) -> Any:
        return self.form.unflatten(leaves)

    def taken(self, given: Sequence[Any], value: Any) -> list[Any]:
        """The leaves of ``value`` as the loop carries them on. Raises _Again where it has to carry others."""
        after, form = pytree.flatten(value)
        if form != self.form:
            return self._refuse(f"values of other structure in one iteration and the next ({self.form} and {form})")
        return [self._leaf(i, g, y) for i, (g, y) in enumerate(zip(given, after, strict=True))]

    def _leaf(self, i: int, g: Any, y: Any) -> Any:
        """A leaf that came into an iteration as ``g`` and leaves it as ``y``."""
        if isinstance(g, Tensor) and isinstance(y, Tensor):
            if joinable(meta_of(g), meta_of(y)):
                return y
            p = rank(self.first[i])
            if p is not None and not y.shape and not g.shape and g.dtype is not y.dtype and p <= rank_of(y.dtype):
                return self._start(i, y.dtype)  # a number, of which another tensor was made
        elif isinstance(y, Tensor) or isinstance(g, Tensor):
            x, n = (y, g) if isinstance(y, Tensor) else (g, y)
            p = rank(n)
            if p is not None and not x.shape:
                if p <= rank_of(x.dtype):
                    return number(y, x.dtype) if x is g else self._start(i, x.dtype)
                if rank(self.first[i]) is not None:
                    return self._start(i, dtype_for(p))
        elif equal(g, y):
            return y
        else:
            p, q = rank(g), rank(y)
            if p is not None and q is not None:
                return self._start(i, dtype_for(max(p, q)))
        return self._refuse(f"{described(g)} before an iteration and {described(y)} after it")

    def _start(self, i: int, dtype: Any) -> Any:
        self.dtypes[i] = dtype
        raise _Again

    def _refuse(self, reason: str) -> Any:
        self.unusable = reason
        raise _Again


def traced_loop(
    functions: Sequence[Callable[..., Any]],
    names: Sequence[str],
    where: str,
    go: Any,
    state: Left | None,
    extra: list[Any],
    step: Callable[[list[Any]], Step],
) -> Left | None:
    """Return how the last iteration of a loop was left that goes on while ``go`` holds. ``step(extra)`` is an
    iteration, which changes what ``functions`` change."""
    return _Loop(functions, names, where, go, state, extra, step).run()


class _Loop:
    def __init__(
        self,
        functions: Sequence[Callable[..., Any]],
        names: Sequence[str],
        where: str,
        go: Any,
        state: Left | None,
        extra: list[Any],
        step: Callable[[list[Any]], Step],
    ) -> None:
        self.where, self.step = where, step
        self.functions, self.names = functions, names
        self.places = places_of(functions, names, where)
        self.before = Snapshot(self.places)
        self.grows: Grows | None = None
        kind, value = parts(renamed(state, CONTINUED, ENDED))
        self.own = _Slot("the loop", (number(go, dt.bool), kind, extra))
        self.returned = None if value is ABSENT else _Slot("the return value", value)
        self.known = set(current().scope.symbols)
        # By place, of those that an iteration was seen to change. What is conditional is carried as flag and value.
        self.slots: dict[int, _Slot] = {}
        self.parted: dict[int, Any] = {}  # arrays that an iteration leaves, by place
        self.with_none: set[int] = set()  # places of lists and dicts whose items may be None

    def run(self) -> Left | None:
        drawn = regions.words(current())
        for _ in range(MOST_TRACES):
            if self.grows is not None:
                grow(self.grows, self.where, self.known)
                self.grows, self.slots, self.with_none = None, {}, set()
                self.places = places_of(self.functions, self.names, self.where)
                self.before = Snapshot(self.places)
            slots = self._all()
            regions.set_words(current(), drawn)
            try:
                with within(self.places):
                    leaves = regions.while_loop(lambda v: v[0], self._body, [x for s in slots for x in s.start()])
            except _Again:
                assert self.own.unusable is None, self.own.unusable
                continue
            return self._done(leaves)
        raise ConversionError(
            f"[to_static] requires a loop whose body does the same whenever it is traced, got one at {self.where} that "
            "differs each time"
        )

    def _all(self) -> list[_Slot]:
        """The slots whose leaves are carried, in order."""
        more = [] if self.returned is None else [self.returned]
        return [s for s in (self.own, *more, *self.slots.values()) if s.unusable is None]

    def _split(self, leaves: Sequence[Any]) -> dict[int, list[Any]]:
        """The leaves of each slot, by its id."""
        out, at = {}, 0
        for s in self._all():
            out[id(s)] = list(leaves[at : at + s.form.count])
            at += s.form.count
        return out

    def _put(self, given: dict[int, list[Any]]) -> None:
        """Have places hold what the loop carries."""
        for i, s in self.slots.items():
            place = self.places[i]
            if s.unusable is not None:
                place.set(Unusable(repr(s.name), s.unusable, self.where))
            else:
                held = s.given(given[id(s)])
                place.set(self._items(s.name, held) if i in self.with_none else _held(held, place, self.where))
        for i, s in self.slots.items():
            if s.unusable is None and not isinstance(place := self.places[i], Contents):
                old = array_in(self.before.values[i])
                aliases.link(array_in(place.get()), old, old, self.parted.get(i))

    def _items(self, name: str, held: Any) -> Any:
        """Items of a list or dict, of flags that say that they are None, and values otherwise."""
        return _mapped(held, lambda k, x: _or_none(f"{name}[{k!r}]", x[0], x[1], self.where))

    def _body(self, leaves: list[Any]) -> list[Any]:
        """An iteration, behind which everything is what it was before the loop."""
        given = self._split(leaves)
        try:
            self._put(given)
            _, kind, extra = self.own.given(given[id(self.own)])
            with as_operation() as raised:
                made = self.step(extra)
                held = [p.get() for p in self.places]
            if raised.error is not None:  # the program does not come behind it
                made = Step(False, None, extra)
                held = [p.get() for p in self.places]
            self.before.check_others(self.where)
        except Grows as grows:
            self._grow(grows)
        except More as more:
            self.before.restore()
            self.places += more.places
            self.before = Snapshot(self.places)
            raise _Again from None
        finally:
            self.before.restore()
        kind, value = parts(renamed(made.left, CONTINUED, ENDED))
        if value is not ABSENT and self.returned is None:
            self.returned = _Slot("the return value", self._zeros(value))
            raise _Again
        out = [self.own.taken(given[id(self.own)], (made.go, kind, made.extra))]
        if self.returned is not None and self.returned.unusable is None:
            own = given[id(self.returned)]
            out.append(own if value is ABSENT else self.returned.taken(own, value))
        changed: dict[int, Any] = {}
        for i, (place, old, new) in enumerate(zip(self.places, self.before.values, held, strict=True)):
            slot = self.slots.get(i)
            if slot is None:
                if not same(place, old, new) and type(new) is not Unusable:
                    changed[i] = new
            elif slot.unusable is None:
                out.append(self._taken(i, slot, given[id(slot)], new))
                self.parted[i] = array_in(new)
        if changed:
            for i, new in changed.items():
                self._carry(i, new)
            raise _Again
        return [x for those in out for x in those]

    def _grow(self, grows: Grows) -> Any:
        """Begin again with an array in place of a list."""
        self.grows = grows
        raise _Again

    def _carry(self, i: int, new: Any) -> None:
        """Carry what a place holds from here on, which holds ``new`` after an iteration."""
        place, old = self.places[i], self.before.values[i]
        if isinstance(place, Position) or type(old) is set:
            raise ConversionError(
                f"[to_static] requires a loop on a tensor that leaves sets, and iterators from outside of it, as they "
                f"are, got a change of {place.name} by the loop at {self.where}"
            )
        if old is ABSENT:
            _, is_none, value = _carried(new)
            known = is_none if isinstance(is_none, bool) else False
            self.slots[i] = _Slot(place.name, (_Zeros((), dt.bool), known, self._zeros(value)))
        else:
            if isinstance(place, Contents) and (_has_none(old) or _has_none(new)):
                self.with_none.add(i)
                old = _mapped(old, lambda _, x: of_none(x))
            self.slots[i] = _Slot(place.name, old if isinstance(place, Contents) else _carried(old))
        self.slots = dict(sorted(self.slots.items()))

    def _taken(self, i: int, slot: _Slot, given: list[Any], new: Any) -> list[Any]:
        place = self.places[i]
        if isinstance(new, Unusable):
            return slot._refuse(new.reason)
        if new is ABSENT:
            return slot._refuse("none after an iteration")
        try:
            if isinstance(place, Contents):
                return self._items_taken(i, slot, given, new)
            defined, is_none, value = _carried(new)
            old, was_none, before = slot.given(given)
            if not isinstance(old, Tensor) and isinstance(defined, Tensor):
                slot._refuse("one that is assigned only where data decide so")
            if is_none is True:
                value = before
            elif (
                was_none is True and before is None
            ):  # zeros stand for what is not there before an iteration has made it
                start = slot.form.unflatten(slot.first)[0]
                self.slots[i] = _Slot(slot.name, (start, True, self._zeros(value)))
                raise _Again
            return slot.taken(given, (defined, is_none, value))
        except _Again:
            if slot.unusable is not None and isinstance(place, Contents):
                if may_grow(place, new, place.get()):
                    self._grow(Grows(place, new))
                raise ConversionError(
                    f"[to_static] requires {slot.name!r} to hold items of the same number, structure, shape and dtype "
                    f"after every iteration of the loop on a tensor at {self.where}, got {slot.unusable}"
                ) from None
            if slot.unusable is not None and (grows := grows_by_name(self.places, self.before.values[i], new)):
                self._grow(grows)
            raise

    def _items_taken(self, i: int, slot: _Slot, given: list[Any], new: Any) -> list[Any]:
        """:meth:`_taken` of a list or dict."""
        if i not in self.with_none:
            if _has_none(new):
                self._carry(i, new)
                raise _Again
            return slot.taken(given, new)
        start, before = slot.form.unflatten(slot.first), slot.given(given)
        after = _mapped(new, lambda _, x: of_none(x))
        if len(after) == len(before):
            zeros = False
            for k, (is_none, value) in list(_items(after)):
                was_none, held = before[k] if isinstance(before, list) or k in before else (False, value)
                if is_none is True:
                    after[k] = True, held
                elif was_none is True and held is None:
                    start[k], zeros = (True, self._zeros(value)), True
            if zeros:
                self.slots[i] = _Slot(slot.name, start)
                raise _Again
        return slot.taken(given, after)

    def _zeros(self, value: Any) -> Any:
        """Zeros in the place of a value that is not there yet; none along axes whose size the loop itself decides."""

        def zero(x: Any) -> Any:
            if not isinstance(x, Tensor):
                return x
            shape = tuple(n if self.known.issuperset(symbols_of(n)) else 0 for n in x.shape)
            return _Zeros(shape, x.dtype)

        return pytree.map(zero, value)

    def _done(self, leaves: Sequence[Any]) -> Left | None:
        given = self._split(leaves)
        self._put(given)
        _, kind, _ = self.own.given(given[id(self.own)])
        if self.returned is None:
            return left(kind, ABSENT)
        if self.returned.unusable is not None:
            return Left(kind, Unusable("the return value", self.returned.unusable, self.where))
        return left(kind, self.returned.given(given[id(self.returned)]))


def _carried(held: Any) -> tuple[Any, Any, Any]:
    """Flags that say that there is a value, and that it is None, and the value otherwise."""
    defined, value = (held.defined, held.value) if type(held) is Conditional else (True, held)
    is_none, value = of_none(value)
    return defined, is_none, opened(value)


def _or_none(name: str, is_none: Any, value: Any, where: str) -> Any:
    if is_none is False:
        return value
    return None if is_none is True else Optional(name, value, is_none, where)


def _items(contents: Any) -> Iterable[tuple[Any, Any]]:
    return contents.items() if isinstance(contents, dict) else enumerate(contents)


def _mapped(contents: Any, function: Callable[[Any, Any], Any]) -> Any:
    """A list or dict of ``function(key, item)``."""
    made = {k: function(k, x) for k, x in _items(contents)}
    return made if isinstance(contents, dict) else list(made.values())


def _has_none(contents: Any) -> bool:
    return any(x is None or type(x) is Optional for _, x in _items(contents))


def _held(carried: Any, place: Any, where: str) -> Any:
    if isinstance(place, Contents):
        return carried
    defined, is_none, value = carried
    value = closed(_or_none(place.name, is_none, value, where))
    return value if defined is True else Conditional(place.name, value, defined, where)
