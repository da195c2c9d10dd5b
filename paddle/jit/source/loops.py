"""Loops: plain Python as long as what drives them is known, from then on one operation."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from paddle.jit.source import leaving
from paddle.jit.source.branches import then, value_of
from paddle.jit.source.carrying import Step, traced_loop
from paddle.jit.source.errors import place_of
from paddle.jit.source.iterables import Traced, as_traced
from paddle.jit.source.leaving import BROKE_INNER, BROKEN, CONTINUED, ENDED, Left
from paddle.jit.source.raising import count_raised
from paddle.jit.source.values import asked, holds, is_unknown, truth
from paddle.jit.source.world import world
from umiak import ops as F
from umiak.core import dtype as dt
from umiak.core.context import current
from umiak.runtime import regions

Block = Callable[..., Left | None]


def while_(
    test: Callable[[], Any],
    body: Block,
    names: Sequence[str],
    orelse: Block | None = None,
    else_names: Sequence[str] = (),
) -> Left | None:
    """A ``while`` statement."""
    state: Left | None = None
    while True:
        go = asked(_goes_on(state, test, body, names))
        if is_unknown(go):
            if regions.is_never(go):  # no iteration, whose body may need what is None
                break
            state = _traced_while(truth(go), state, test, body, names)
            break
        if not holds(go):
            break
        raised = count_raised()
        state = body()
        if state is not None and state.is_known and state.kind != CONTINUED:
            break
        if count_raised() != raised and _is_endless(test):  # an exception on data ends it
            state = _traced_while(F.full(True, shape=(), dtype=dt.bool), state, test, body, names)
            break
    return _after(state, orelse, else_names)


def _is_endless(test: Callable[[], Any]) -> bool:
    """Return whether a condition is a constant, as in ``while True``."""
    return not (test.__code__.co_names or test.__code__.co_freevars)


def _goes_on(state: Left | None, test: Callable[[], Any], body: Block, names: Sequence[str]) -> Any:
    """Return whether there is another iteration."""
    live = leaving.is_any(state, ENDED, CONTINUED)
    if live is False:
        return False
    if live is True:
        return test()
    if _is_endless(test):
        return live if holds(test()) else False
    return value_of(live, lambda: truth(test()), lambda: False, "the condition of a loop", names, [test, body])


def _traced_while(
    go: Any, state: Left | None, test: Callable[[], Any], body: Block, names: Sequence[str]
) -> Left | None:
    def step(_: list[Any]) -> Step:
        left = body()
        return Step(truth(_goes_on(left, test, body, names)), left, [])

    return traced_loop([test, body], names, place_of(), go, state, [], step)


def for_(
    iterable: Any, body: Block, names: Sequence[str], orelse: Block | None = None, else_names: Sequence[str] = ()
) -> Left | None:
    """A ``for`` statement."""
    traced = as_traced(iterable)
    if traced is not None:
        state = _traced_for(traced, body, names)
    else:
        state = None
        for item in world().iterate(iterable):
            state = _iteration(state, body, item, names)
            if state is not None and state.is_known and state.kind != CONTINUED:
                break
    return _after(state, orelse, else_names)


def collect(iterable: Any, body: Block, names: Sequence[str]) -> Left | None:
    """The ``for`` of a list comprehension: where a call has its sizes, as many items as there are now, so that the list
    stays one, unless data decide how many."""
    traced = as_traced(iterable)
    if traced is not None and world().is_simulated:
        for n in traced.sizes():
            if not current().trace[-1].from_data(n):
                world().fix(n)
    return for_(iterable, body, names)


def _iteration(state: Left | None, body: Block, item: Any, names: Sequence[str]) -> Left | None:
    """One more iteration, unless data decided that the loop was left before."""
    if state is None or state.is_known:
        return body(item)

    return then(leaving.renamed(state, CONTINUED, ENDED), lambda: body(item), names, [body])


def _traced_for(items: Traced, body: Block, names: Sequence[str]) -> Left | None:
    length = items.length()

    def step(extra: list[Any]) -> Step:
        (i,) = extra
        left = body(items.item(i))
        i = F.add(i, 1)
        go, live = F.lt(i, length), leaving.is_any(left, ENDED, CONTINUED)
        if live is False:
            go = False
        elif live is not True:
            go = F.logical_and(live, go)
        return Step(go, left, [i])

    start = items.start()
    return traced_loop([body], names, place_of(), F.lt(start, length), None, [start], step)


def _after(state: Left | None, orelse: Block | None, names: Sequence[str]) -> Left | None:
    """Return how a loop as a statement is left, whose last iteration was left so."""
    state = leaving.renamed(state, CONTINUED, ENDED)
    if orelse is not None:
        state = then(leaving.renamed(state, BROKEN, BROKE_INNER), orelse, names)
        return leaving.renamed(state, BROKE_INNER, ENDED)
    return leaving.renamed(state, BROKEN, ENDED)
