"""The progress of iterators: how far they have gone, told without taking items."""

from __future__ import annotations

import collections
import gc
import itertools
import operator
import types
import warnings
from typing import Any

COMPOSED = (enumerate, zip, map, filter, *(x for x in vars(itertools).values() if isinstance(x, type)))
_COUNTING = (itertools.count, itertools.repeat)
IMMUTABLE = 1 << 8  # flag of types that are written in C
_NUMBERS = (int, float, complex, bool, str, bytes)


def progress_of(x: Any) -> Any:
    """Return how far an iterator of Python's has gone; None for others, whose attributes tell."""
    kind = type(x)
    if kind is types.GeneratorType:
        return None if x.gi_frame is None else x.gi_frame.f_lasti
    if not kind.__flags__ & IMMUTABLE:
        return None
    if not issubclass(kind, COMPOSED):
        return operator.length_hint(x, -1)
    if issubclass(kind, _COUNTING):
        return repr(x)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return _of_parts(x.__reduce__())
    except TypeError:  # those of itertools have none in newer Pythons
        return _of_parts(gc.get_referents(x))


def _of_parts(those: Any) -> tuple[Any, ...]:
    out: list[Any] = []
    for x in those if isinstance(those, (tuple, list)) else ():
        if type(x) is tuple:
            out.append(_of_parts(x))
        elif issubclass(type(x), collections.abc.Iterator):
            out.append(progress_of(x))
        elif any(type(x) is kind for kind in _NUMBERS):
            out.append(x)
    return tuple(out)
