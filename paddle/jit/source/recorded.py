"""The world of rewritten code that is recorded into a program for files, or in static mode, by being run."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from types import FrameType
from typing import Any

from paddle.jit.source.callees import converted
from paddle.jit.source.code_owners import is_users
from paddle.jit.source.places import Place, key_of
from paddle.jit.source.reachable import Reached, Tree
from paddle.jit.source.values import Late
from paddle.jit.source.world import ABSENT, World
from paddle.nn.layer._registry import CHANGES
from paddle.nn.layer.layers import Layer
from paddle.tensor._tensor_array import TensorArray
from umiak.core.context import current
from umiak.core.tensor import Tensor
from umiak.ir.expr import Sym
from umiak.ir.tracer import SymTensor

_MOST_KNOWN = 64  # places of a statement: those of functions that have returned are of no use


class Recorded(World):
    """Python's own, whose changes are seen by comparison. ``start``: the frame behind which the user's code begins;
    ``roots``: what it was given."""

    keeps_layers = True

    def __init__(self, start: FrameType, roots: Sequence[Any]) -> None:
        self._start, self._roots = start, roots
        self._trees: dict[int, Tree] = {}
        self._known: dict[str, dict[tuple[int, str], Place]] = {}
        self._noted: dict[int, tuple[Any, Any]] = {}  # objects by id, with what was before

    def write_attribute(self, owner: Any, name: str, value: Any) -> None:
        if isinstance(owner, Layer) and value is not ABSENT and name in vars(owner):
            own = vars(owner)
            is_number = type(value) in (bool, int, float)
            if is_number and name in owner._buffers:  # which the user's code has made of the tensor below
                del owner._buffers[name]
            if is_number or isinstance(value, Late) or type(own.get(name)) in (bool, int, float):
                CHANGES[0] += 1
                own[name] = value  # not as a buffer: it is there while the function is recorded
                return
        super().write_attribute(owner, name, value)

    def effects(self) -> Reached:
        return Reached(self._reachable(), self._trees)

    def _reachable(self) -> Iterator[tuple[str, Any]]:
        """The variables of the frames that run, and what the user's code was given, with names for them."""
        frame: FrameType | None = sys._getframe(1)
        while frame is not None and frame is not self._start:
            if is_users(frame.f_code, frame.f_globals.get("__name__")):
                yield from dict(frame.f_locals).items()
            frame = frame.f_back
        for x in self._roots:
            yield getattr(x, "__name__", type(x).__name__), x

    def others(self, before: Reached, places: Sequence[Place]) -> list[Place | str]:
        known = set(map(key_of, places))
        out: dict[Any, Place | str] = {}
        for change in before.changes():
            key = change if isinstance(change, str) else key_of(change)
            if key not in known:
                out.setdefault(key, change)
        return list(out.values())

    def traced(self, f: Callable[..., Any]) -> Callable[..., Any]:
        return converted(f)

    def know_places(self, where: str, places: Sequence[Place]) -> None:
        known = self._known.setdefault(where, {})
        known.update((key_of(p), p) for p in places)
        for key in list(known)[:-_MOST_KNOWN]:
            del known[key]

    def known_places(self, where: str) -> Sequence[Place]:
        return list(self._known.get(where, {}).values())

    def restore(self, before: Reached) -> None:
        before.restore()

    def note(self, x: Any, before: Any) -> None:
        self._noted.setdefault(id(x), (x, before))

    def is_noted(self, x: Any) -> bool:
        return id(x) in self._noted

    def end(self) -> None:
        """Put back the flags of tensors that are there when the program has been recorded."""
        for x, before in self._noted.values():
            if isinstance(x, Tensor) and not isinstance(x, SymTensor):
                x.stop_gradient = before


@contextmanager
def left_alone(function: Any) -> Iterator[None]:
    """Python state that holds tensors of a program is what it was, when the program has been recorded of a function."""
    before = Reached([("", function)], {})
    try:
        yield
    finally:
        before.restore_where(lambda x: issubclass(type(x), (SymTensor, Sym, Late, TensorArray)))


@contextmanager
def recorded(roots: Sequence[Any]) -> Iterator[None]:
    """While a function runs whose calls are recorded, unless a simulation sees what it changes. ``roots``: the function
    and what it is called with."""
    trace = current().trace
    tracer = trace[-1] if trace else None
    if tracer is None or getattr(tracer, "world", tracer) is not None:
        yield
        return
    tracer.world = made = Recorded(sys._getframe(2), roots)
    try:
        yield
    finally:
        made.end()
        tracer.world = None
