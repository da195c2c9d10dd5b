"""Calls that are given what may be None: one on each way, since what is called decides what it means."""

from __future__ import annotations

from typing import Any

from paddle.jit.source.branches import value_of
from paddle.jit.source.callees import call
from paddle.jit.source.values import Conditional, Optional, read, settled_none
from paddle.jit.source.world import world


def called(f: Any, args: tuple, kwargs: dict[str, Any]) -> Any:
    """``f(*args, **kwargs)``: a branch, with a call of None on one way, where data decide whether an argument is."""
    args = tuple(map(_given, args))
    kwargs = {k: _given(v) for k, v in kwargs.items()}
    for at, x in (*enumerate(args), *kwargs.items()):
        if type(x) is Optional:
            return _on_both_ways(f, args, kwargs, at, x)
    return world().call(call(f), *args, **kwargs)


def _on_both_ways(f: Any, args: tuple, kwargs: dict[str, Any], at: Any, x: Optional) -> Any:
    def called_with(value: Any) -> Any:
        if isinstance(at, str):
            return called(f, args, {**kwargs, at: value})
        return called(f, (*args[:at], value, *args[at + 1 :]), kwargs)

    what = f"the result of a call with {x.name!r}"
    return value_of(x.is_none, lambda: called_with(None), lambda: called_with(x.value), what)


def _given(x: Any) -> Any:
    if type(x) is Conditional:
        x.check()
        x = x.value
    x = settled_none(x)
    return x if type(x) is Optional else read(x)
