"""Branches: plain Python where the condition is known, otherwise one operation over both ways."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from paddle.jit.source import aliases, facts
from paddle.jit.source.errors import ConversionError, place_of
from paddle.jit.source.growing import Grows, Held, array_in, closed, grow, grows_by_name, may_grow, opened, within
from paddle.jit.source.join import Join, Mismatch, leaves_of
from paddle.jit.source.leaving import ENDED, RETURNED, Left, left, parts
from paddle.jit.source.places import Contents, More, Place, Position, Snapshot, places_of, same, unread
from paddle.jit.source.raising import as_operation, require_sizes, sizes_decide
from paddle.jit.source.values import Optional, Unusable, holds, is_unknown, settled, settled_none, truth
from paddle.jit.source.world import ABSENT
from paddle.tensor._tensor_array import TensorArray
from umiak import ops as F
from umiak.core.tensor import Tensor
from umiak.ir.tracer import SymTensor, current
from umiak.runtime import regions


class _Way(NamedTuple):
    """The results of a branch. ``raises``: it ends by it, so that what it leaves is of no matter; ``sure``: what
    places hold, by position, of which the branch alone knows that it is None, or not."""

    kind: Any
    value: Any
    held: list[Any]
    raises: BaseException | None

    sure: dict[int, Any]


def if_(
    test: Any, then: Callable[[], Left | None], other: Callable[[], Left | None] | None, names: Sequence[str]
) -> Left | None:
    """An ``if`` statement."""
    test = settled(test)
    if not is_unknown(test):
        if holds(test):
            return then()
        return None if other is None else other()
    return branch(truth(test), then, other, names, place_of())


def then(
    x: Left | None,
    rest: Callable[[], Left | None],
    names: Sequence[str],
    functions: Sequence[Callable[..., Any]] = (),
) -> Left | None:
    """Run the statements behind one that may have been left; ``functions``: what ``rest`` calls."""
    if x is None:
        return rest()
    if x.is_known:
        return x
    return branch(F.eq(x.kind, ENDED), rest, lambda: x, names, place_of(), functions)


def choose(test: Any, a: Callable[[], Any], b: Callable[[], Any]) -> Any:
    """A conditional expression."""
    test = settled(test)
    if not is_unknown(test):
        return a() if holds(test) else b()
    return value_of(truth(test), a, b, "the conditional expression")


def value_of(
    pred: Any,
    a: Callable[[], Any],
    b: Callable[[], Any],
    what: str,
    names: Sequence[str] = (),
    functions: Sequence[Callable[..., Any]] = (),
) -> Any:
    """The value of ``a()`` where ``pred`` holds, else that of ``b()``."""
    those = [a, b, *functions]
    x = branch(pred, lambda: Left(RETURNED, a()), lambda: Left(RETURNED, b()), names, place_of(), those, what)
    assert x is not None
    return x.value.read() if type(x.value) is Unusable else x.value


def branch(
    pred: Tensor,
    then: Callable[[], Left | None],
    other: Callable[[], Left | None] | None,
    names: Sequence[str],
    where: str,
    functions: Sequence[Callable[..., Any]] = (),
    what: str = "the return value",
) -> Left | None:
    """Both ways as one operation; what they change is joined, and put in its places."""
    drawn, known = regions.words(current()), set(current().scope.symbols)
    while True:
        try:
            return _branch(pred, then, other, names, where, functions, what)
        except More:  # which are known from here on
            regions.set_words(current(), drawn)
        except Grows as grows:
            grow(grows, where, known)
            regions.set_words(current(), drawn)


def _branch(
    pred: Tensor,
    then: Callable[[], Left | None],
    other: Callable[[], Left | None] | None,
    names: Sequence[str],
    where: str,
    functions: Sequence[Callable[..., Any]],
    what: str,
) -> Left | None:
    places = places_of([then, other, *functions], names, where)
    before = Snapshot(places, unread([then, other, *functions], names))
    ways: list[_Way] = []
    join = Join(where, regions.condition_of(pred), pred)
    records = not sizes_decide(join.condition)
    joined: list[Any] = []

    def traced(block: Callable[[], Left | None] | None, holds_there: bool) -> Callable[[], list[Any]]:
        def run() -> list[Any]:
            x = None
            try:
                with facts.assumed(pred, holds_there):
                    with as_operation(records) as raised:
                        x = None if block is None else block()
                    held = [p.get() for p in places]
                    settled_values = [_settled(p, h) for p, h in zip(places, held, strict=True)]
                    sure = {i: y for i, (h, y) in enumerate(zip(held, settled_values, strict=True)) if y is not h}
                    # As they are now: this way may have changed arrays that were there before.
                    sure |= {i: y for i, h in enumerate(held) if type(y := opened(h)) is Held}
                before.check_others(where)
            finally:
                before.restore()
            kind, value = parts(x)
            with facts.assumed(pred, holds_there):
                value = opened(settled_none(value))
            ways.append(_Way(kind, value, held, raised.error, sure))
            leaves = [kind, *leaves_of(value)]
            for i, (p, new) in enumerate(zip(places, held, strict=True)):
                leaves += _leaves_in(p, _array_or(sure.get(i), new))
            return [v for v in leaves if isinstance(v, Tensor)]

        return run

    def paired(_: Any, __: Any) -> Any:
        joined.extend(_joined(join, ways[0], ways[1], places, before.values[: len(places)], what))
        return join.pairs

    with within(places):
        results = regions.branch(pred, traced(then, True), traced(other, False), paired)
    kind, value, *held = joined
    changed: list[tuple[Any, Any, int]] = []
    for at, (place, old, new) in enumerate(zip(places, before.values[: len(places)], held, strict=True)):
        if new is not _UNCHANGED:
            if isinstance(place, Position):
                pass
            elif isinstance(place, Contents):
                new = _mapped(new, lambda v: join.filled(v, results))
            else:
                new = closed(join.filled(new, results))
            if not same(place, old, new):
                place.set(new)
                changed.append((new, old, at))
    for new, old, at in changed:
        aliases.link(array_in(new), array_in(old), *(array_in(way.held[at]) for way in ways if not way.raises))
    if ways[0].raises and ways[1].raises:
        raise ways[1].raises  # the program does not come behind it
    for way, holds_there in zip(ways, (False, True), strict=True):
        if way.raises:
            require_sizes(join.condition, holds_there, way.raises)
    return left(join.filled(kind, results), closed(join.filled(value, results)))


_UNCHANGED = object()
_ADVICE = (
    ". Set the keys before the statement, to None, say; functools.lru_cache keeps what a function has computed, too"
)


def _array_or(x: Any, other: Any) -> Any:
    return x if type(x) is Held else other


def _leaves_in(place: Place, value: Any) -> list[Any]:
    if isinstance(place, Position) or type(value) is set:
        return []
    if not isinstance(place, Contents):
        return leaves_of(opened(value))
    items = value if type(value) is list else value.values()
    # Weights in lists are left alone; what the function has computed may have been written to.
    return [x for item in items for x in leaves_of(item) if isinstance(x, SymTensor)]


def _settled(place: Place, held: Any) -> Any:
    """The value of a place, with None where the way that is traced knows that it is."""
    if not isinstance(place, Contents):
        return settled_none(held)
    items = held.values() if isinstance(held, dict) else held
    return _mapped(held, settled_none) if any(type(x) is Optional for x in items) else held


def _mapped(contents: Any, function: Callable[[Any], Any]) -> Any:
    if type(contents) is set:
        return contents
    if type(contents) is list:
        return [function(x) for x in contents]
    return {k: function(x) for k, x in contents.items()}


def _joined(join: Join, a: _Way, b: _Way, places: Sequence[Place], before: Sequence[Any], what: str) -> list[Any]:
    """Kind and value of how the statement is left, then what each place holds."""
    if a.raises or b.raises:
        way, first = (b, False) if a.raises else (a, True)
        out = [join.alone(way.kind, first), join.alone(way.value, first)]
        for i, (p, old, new) in enumerate(zip(places, before, way.held, strict=True)):
            if same(p, old, new):
                out.append(_UNCHANGED)
            elif isinstance(p, Position):
                out.append(new)
            elif isinstance(p, Contents):
                out.append(_mapped(new, lambda v: join.alone(v, first)))
            else:
                out.append(join.alone(_array_or(way.sure.get(i), new), first))
        return out
    out = [join.leaf(a.kind, b.kind), _returned(join, a, b, what)]
    for i, (p, old, x, y) in enumerate(zip(places, before, a.held, b.held, strict=True)):
        if same(p, old, x) and same(p, old, y):
            out.append(_UNCHANGED)
        elif isinstance(p, Position):
            out.append(_position(join, p, x, y))
        elif isinstance(p, Contents):
            out.append(_contents(join, p, a.sure.get(i, x), b.sure.get(i, y)))
        else:
            if (grows := grows_by_name(places, old, x, y)) is not None:
                raise grows
            out.append(join.name(p.name, opened(a.sure.get(i, x)), opened(b.sure.get(i, y))))
    return out


def _returned(join: Join, a: _Way, b: _Way, what: str) -> Any:
    for x in (a.value, b.value):
        if type(x) is Unusable:
            return x
    if a.value is ABSENT or b.value is ABSENT:
        return join.alone(b.value, False) if a.value is ABSENT else join.alone(a.value, True)
    try:
        return join.or_none(what, a.value, b.value)
    except Mismatch as error:
        return Unusable(what, str(error), join.where)


def _position(join: Join, place: Position, x: Any, y: Any) -> Any:
    if not same(place, x, y):
        raise ConversionError(
            f"[to_static] requires as many items taken from {place.name} on both ways of the statement on a tensor at "
            f"{join.where}, got other numbers of them"
        )
    return x


def _contents(join: Join, place: Contents, x: Any, y: Any) -> Any:
    if type(x) is set:
        if x == y:
            return x
        raise ConversionError(
            f"[to_static] requires the same items in the set {place.name!r} on both ways of the statement on a tensor "
            f"at {join.where}, got {x} and {y}"
        )
    required = f"as many items in {place.name!r}" if type(x) is list else f"the same keys in {place.name!r}"
    if (len(x) if type(x) is list else list(x)) != (len(y) if type(y) is list else list(y)):
        if may_grow(place, x, y):
            raise Grows(place, [*x, *y])
        got = (len(x), len(y)) if type(x) is list else (list(x), list(y))
        raise ConversionError(
            f"[to_static] requires {required} on both ways of the statement on a tensor at {join.where}, got {got[0]} "
            f"and {got[1]}{_ADVICE if isinstance(x, dict) else ''}"
        )
    keys = range(len(x)) if type(x) is list else list(x)
    try:
        made = {k: join.or_none(f"{place.name}[{k!r}]", x[k], y[k]) for k in keys}
    except Mismatch as error:
        if isinstance(place.container, TensorArray) and may_grow(place, x, y):
            raise Grows(place, x if x and not isinstance(x[0], Tensor) else y) from None
        raise ConversionError(
            f"[to_static] requires items of one structure, shape and dtype in {place.name!r} on both ways of the "
            f"statement on a tensor at {join.where}, got {error}"
        ) from error
    return list(made.values()) if type(x) is list else made
