"""Models of iterators and containers: what built-in functions and types do with the items of simulated values."""

from __future__ import annotations

import collections
import enum
import functools
import itertools
import operator
from types import FunctionType
from typing import TYPE_CHECKING, Any

from paddle.jit.sot.flow_instructions import apply, send
from paddle.jit.sot.iterators import (
    ITERATORS,
    ChangingIterator,
    EnumerateIterator,
    FilterIterator,
    MapIterator,
    RangeIterator,
    SequenceIterator,
    ZipIterator,
)
from paddle.jit.sot.models.arrays import is_array, note
from paddle.jit.sot.models.classes import NOTHING, class_attribute, is_iterator, special
from paddle.jit.sot.models.table import model
from paddle.jit.sot.models.values import EXACT, VIEWS, holds_tensors, must_be_known
from paddle.jit.sot.trace import MUTABLE, TABLES, symbolic_in
from paddle.jit.sot.translation import is_library
from paddle.jit.sot.value_instructions import unpack
from umiak.core.tensor import Tensor
from umiak.util.size import Size

if TYPE_CHECKING:
    from paddle.jit.sot.simulator import Simulator


@model(iter)
def _iter(sim: Simulator, x: Any, *rest: Any) -> Any:
    if rest:
        return sim.break_graph("iter() of a function")
    if isinstance(x, Tensor):
        sim.trace.number_of(sim.call(len, (x,), {}))
        return SequenceIterator(x)
    if is_array(sim, x):
        return SequenceIterator(note(sim, list(x)))
    kind = type(x)
    if kind is range:
        return RangeIterator(x)
    if kind in (list, tuple, str, Size) or (isinstance(x, tuple) and special(x, "__iter__") is None):
        return SequenceIterator(x)
    if special(x, "__iter__") is None:
        must_be_known(sim, x, "an iterator")
    if isinstance(x, (dict, collections.deque, set)) and type(x) in MUTABLE:
        return ChangingIterator(x)
    listed: tuple[Any, ...] = (dict, set, frozenset, bytes, collections.deque, enum.EnumMeta, *VIEWS, *TABLES)
    if isinstance(x, listed):
        if special(x, "__iter__") is None:
            return SequenceIterator(list(x))
    f = special(x, "__iter__")
    if f is not None:
        return sim.call(f, (x,), {}, direct=True)
    if kind in ITERATORS or (is_iterator(x) and sim.trace.is_fresh(x)):
        return x
    f = special(x, "__getitem__")
    if f is not None:
        return sim.trace.made(_by_getitem(sim, x))
    return sim.break_graph(f"an iterator of {kind.__name__}")


def _by_getitem(sim: Simulator, x: Any) -> Any:
    for i in itertools.count():
        try:
            value = sim.call(operator.getitem, (x, i), {})
        except IndexError:
            return
        yield value


@model(next)
def _next(sim: Simulator, x: Any, *default: Any) -> Any:
    f = special(x, "__next__") if not is_library(type(x).__module__) else None
    try:
        if f is not None:
            return sim.call(f, (x,), {})
        if type(x) is MapIterator:
            given = tuple([sim.call(next, (i,), {}) for i in x.iterators])
            return sim.call(x.function, given, {}, direct=True)
        if type(x) in ITERATORS or sim.trace.is_fresh(x):
            if isinstance(getattr(x, "sequence", None), Tensor):
                return _next_row(sim, x)
            return next(x)
    except StopIteration:
        if default:
            return default[0]
        raise
    return sim.break_graph(f"the next of {type(x).__name__}")


def _next_row(sim: Simulator, x: SequenceIterator) -> Any:
    if x.index >= sim.trace.number_of(sim.call(len, (x.sequence,), {})):
        raise StopIteration
    x.index += 1
    return sim.call(operator.getitem, (x.sequence, x.index - 1), {})


@model(send)
def _send(sim: Simulator, x: Any, value: Any) -> Any:
    if value is None:
        return sim.call(next, (x,), {})
    return x.send(value) if sim.trace.is_fresh(x) else sim.break_graph("send()")


@model(enumerate)
def _enumerate(sim: Simulator, iterable: Any, start: Any = 0) -> Any:
    return EnumerateIterator(sim.call(iter, (iterable,), {}), start)


@model(zip)
def _zip(sim: Simulator, *iterables: Any, strict: bool = False) -> Any:
    return ZipIterator([sim.call(iter, (x,), {}) for x in iterables], strict)


@model(map)
def _map(sim: Simulator, function: Any, *iterables: Any) -> Any:
    made = MapIterator(function, [sim.call(iter, (x,), {}) for x in iterables])
    made.caller = sim.trace.caller
    return made


@model(filter)
def _filter(sim: Simulator, function: Any, iterable: Any) -> Any:
    made = FilterIterator(bool if function is None else function, sim.call(iter, (iterable,), {}))
    made.caller = sim.trace.caller
    return made


@model(reversed)
def _reversed(sim: Simulator, x: Any) -> Any:
    if type(x) is range:
        return RangeIterator(x[::-1])
    if isinstance(x, (list, tuple, str, dict, collections.deque)):
        return SequenceIterator(list(reversed(x)))
    f = special(x, "__reversed__")
    if f is not None:
        return sim.call(f, (x,), {})
    if special(x, "__len__") and special(x, "__getitem__"):
        n = sim.trace.number_of(sim.call(len, (x,), {}))
        return SequenceIterator([sim.call(operator.getitem, (x, i), {}) for i in range(n - 1, -1, -1)])
    return sim.break_graph(f"reversed() of {type(x).__name__}")


def callback(sim: Simulator, f: Any) -> Any:
    """Return a function for a built-in one to call, which is simulated."""
    return lambda *args, **kwargs: sim.call(f, args, kwargs)


@model(sorted)
def _sorted(sim: Simulator, iterable: Any, *, key: Any = None, reverse: Any = False) -> Any:
    items = list(sim.call(iter, (iterable,), {}))
    keys = items if key is None else [sim.call(key, (x,), {}) for x in items]
    if any(isinstance(k, Tensor) or (type(k) in (tuple, list) and holds_tensors(k)) for k in keys):
        return sim.break_graph("sorted() compares tensors")
    if (symbolic := symbolic_in(keys)) is not None:
        sim.trace.steer(symbolic)
    if any(special(k, "__lt__") for k in keys):
        return sim.break_graph("sorted() compares objects of the user's")
    order = sorted(range(len(items)), key=keys.__getitem__, reverse=bool(reverse))
    return [items[i] for i in order]


def _container(kind: Any) -> None:
    @model(kind)
    def make(sim: Simulator, *args: Any) -> Any:
        if not args:
            return kind()
        items = sim.call(iter, args, {})
        if kind in (set, frozenset):
            items = map(sim.trace.number_of, items)
        return kind(items)


for _sequence in (list, tuple, set, frozenset):
    _container(_sequence)


@model(dict)
def _dict(sim: Simulator, *args: Any, **kwargs: Any) -> Any:
    if args and not isinstance(args[0], dict):
        (x,) = args
        keys, _ = class_attribute(type(x), "keys")
        if type(keys) is FunctionType:
            pairs = [
                (k, sim.call(operator.getitem, (x, k), {})) for k in sim.call(iter, (sim.call(keys, (x,), {}),), {})
            ]
        elif keys is not NOTHING and type(x) not in EXACT:
            return sim.break_graph(f"a dict is made of {type(x).__name__}")
        else:
            pairs = [tuple(sim.call(iter, (p,), {})) for p in sim.call(iter, (x,), {})]
        return dict(pairs, **kwargs)
    for x in args:
        must_be_known(sim, x, "a dict")
    return dict(*args, **kwargs)


@model(range)
def _range(sim: Simulator, *args: Any) -> Any:
    if any(isinstance(x, Tensor) for x in args):
        return sim.break_graph("the range depends on the data of a tensor")
    if (symbolic := symbolic_in(args)) is not None:
        sim.trace.steer(symbolic)
    return range(*args)


@model(unpack)
def _unpack(sim: Simulator, x: Any, n: int) -> Any:
    return unpack(sim.call(iter, (x,), {}), n)


@model(apply)
def _apply(sim: Simulator, f: Any, args: Any, kwargs: Any) -> Any:
    positional = args if type(args) is tuple else tuple(sim.call(iter, (args,), {}))
    named = kwargs if type(kwargs) is dict else sim.call(dict, (kwargs,), {})
    return sim.call(f, positional, named, direct=True)


@model(functools.reduce)
def _reduce(sim: Simulator, f: Any, iterable: Any, *initial: Any) -> Any:
    return functools.reduce(callback(sim, f), sim.call(iter, (iterable,), {}), *initial)
