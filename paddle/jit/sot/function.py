"""Functions that are captured from their bytecode: ``to_static(function)``."""

from __future__ import annotations

import inspect
import sys
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import MethodType
from typing import Any

import numpy as np

from paddle.jit.concrete import Arguments, ConcreteProgram, spec_of
from paddle.jit.function import StaticFunction, as_function
from paddle.jit.sot.captured_frame import CapturedFrame, Family, FunctionFrame, Position, ResumedFrame
from paddle.jit.sot.control import AsWritten, HasHistory, Raised, Refused, Uncapturable
from paddle.jit.sot.leaves import name_of
from paddle.jit.sot.rebuild import raise_at
from paddle.jit.sot.sources import Item, Source
from paddle.jit.sot.trace import argument
from paddle.jit.sot.translation import is_marked, is_unified
from paddle.jit.source import rewriting as source
from paddle.jit.specs import free_axes, specs_of
from paddle.static.input import InputSpec
from umiak.core.context import current
from umiak.core.dtype import DType
from umiak.core.tensor import Tensor
from umiak.runtime.capture import CaptureError
from umiak.runtime.captured_function import Captured
from umiak.util import pytree
from umiak.util.errors import op_error


class SymbolicStaticFunction(StaticFunction, FunctionFrame):
    """A function whose bytecode is simulated at the first call: its operations on tensors become graphs.

    What cannot be a part of a graph runs between two of them, as it was written.
    """

    __call__ = FunctionFrame.__call__  # of this class, so that it can be exchanged

    def __init__(self, function: Callable[..., Any], input_spec: Any = None, instance: Any = None) -> None:
        self._describe(function, input_spec, instance)
        self._specs = None if input_spec is None else specs_of(input_spec)
        f = as_function(self.dygraph_function)
        if is_unified(f):  # called by a frame that is simulated
            traced = f
            f = as_function(lambda *args, **kwargs: traced(*args, **kwargs))
        owner = f.__self__ if isinstance(f, MethodType) else None
        plain: Any = f.__func__ if isinstance(f, MethodType) else f
        if not hasattr(plain, "__code__"):  # a method of a captured class
            plain, owner = as_function(lambda *args, **kwargs: function(*args, **kwargs)), None
        self._names: dict[Source, str] = {}  # of inputs, as specs say
        self._last: dict[str, Any] | None = None  # arguments of the last capture, specs in the place of tensors
        FunctionFrame.__init__(self, Family(), plain, owner)
        positional = [p for p in self.parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
        if len(input_spec or ()) > len(positional) and not any(p.kind is p.VAR_POSITIONAL for p in self.parameters):
            required = f"as many specs as parameters at most: {[p.name for p in positional]}"
            raise op_error(ValueError, "to_static", required, f"{len(input_spec)} of them in input_spec")
        if is_marked(function):
            self.abandoned = f"{name_of(function)} is marked by not_to_static"

    def _like(self, function: Callable[..., Any], instance: Any) -> StaticFunction:
        return type(self)(function, self._input_spec, instance)

    def input_name(self, source: Source) -> str:
        return self._names.get(source, str(source))

    def _captures(self) -> list[Captured]:
        return [c for frame in self.family.frames for c in frame.captures]

    def _concrete(self) -> list[ConcreteProgram]:
        return [c for frame in self.family.frames for c in frame.concrete]

    def _called_with(self) -> Arguments | None:
        if self._last is None:
            return None
        known = {x.name: x for x in self.concrete[-1].specs} if self.concrete else {}
        return Arguments({k: _widened(x, argument(k), known) for k, x in self._last.items()})

    def _captured_for(self, args: tuple, kwargs: dict[str, Any]) -> ConcreteProgram:
        bound = self.bind(args, kwargs)
        if bound is None:
            raise op_error(TypeError, self.__name__, f"arguments {inspect.signature(self.dygraph_function)}", "others")
        broken = len(self.family.breaks)
        try:
            try:
                self._capture(bound)
            except HasHistory:
                current().grad_enabled = True
                try:
                    self._frame_that_records()._capture(bound)
                finally:
                    current().grad_enabled = False
        except Uncapturable as error:
            raise CaptureError(f"[get_concrete_program] cannot capture {self.__name__}: {error.reason}") from error
        if len(self.family.breaks) > broken and (self.policy.full_graph or not self.concrete):
            raise CaptureError(
                f"[get_concrete_program] requires {self.__name__} to be one graph, got one that ends where "
                f"{self.family.breaks[-1]}. Do that outside of the function"
            )
        return self.concrete[-1]

    @property
    def graph_breaks(self) -> list[str]:
        """Reasons and places of graph breaks, in the order in which they were captured."""
        return list(self.family.breaks)

    @property
    def fallbacks(self) -> list[str]:
        """Reasons why frames ran as they were written, without a graph."""
        return list(self.family.fallbacks)

    def native(self, args: tuple, kwargs: dict[str, Any] | None) -> Any:
        trace = current().trace
        if trace and trace[-1].static:
            return source.traceable(self.dygraph_function)(*args, **(kwargs or {}))
        return super().native(args, kwargs)

    def _capture(self, bound: dict[str, Any]) -> Any:
        if self._specs is not None:
            arrays = [pair for name, x in bound.items() for pair in _arrays(x, argument(name))]
            free: dict[int, set[int]] = {}  # a tensor that is given twice is free where both specs say so
            for spec, (_, x) in zip(self._specs, arrays):
                axes = set(free_axes(self.__name__, spec, tuple(x.shape)))
                free[id(x)] = free.get(id(x), axes) & axes
            given = [(s, place, x) for s, (place, x) in zip(self._specs, arrays) if isinstance(x, Tensor)]
            self.policy.free.update((place, free[id(x)]) for _, place, x in given)
            self._names = {place: spec.name for spec, place, _ in given if spec.name is not None}
        self._last = {k: pytree.map(_as_spec, x) for k, x in bound.items()}
        return super()._capture(bound)


_FRAMES_FOR_ONE = 16  # of Python's, at most, that simulate one


@contextmanager
def _deep_stack() -> Iterator[int]:
    """Have Python allow as many simulated frames inside of each other as it allows frames: their number."""
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(limit * _FRAMES_FOR_ONE)
    try:
        yield limit
    finally:
        sys.setrecursionlimit(limit)


class OneGraph(CapturedFrame):
    """A frame that is captured without a graph break, or refused."""

    def _capture(self, bound: dict[str, Any]) -> Any:
        try:
            with _deep_stack() as deepest:
                self.policy.most_frames = deepest
                try:
                    return super()._capture(bound)
                except Refused:
                    if not self.policy.fix():
                        raise
                # With sizes and numbers as they are: a loop over known rows is no operation, for one.
                return super()._capture(bound)
        except Refused as refused:
            error, frames = refused.error, refused.frames
        error.__traceback__ = None
        raise_at(error, frames)

    def _unserved(self, why: str, args: tuple, kwargs: dict[str, Any] | None) -> Any:
        raise CaptureError(
            f"[to_static] cannot run {self.name} as one graph: arguments share memory that it writes to, or it changes "
            f"what it is captured for ({why or 'a gradient or a flag'})"
        )

    def _give_up(self, error: Uncapturable, args: tuple, kwargs: dict[str, Any] | None) -> Any:
        if isinstance(error, Raised):  # a run as it was written shows it, with all that was done before
            super()._give_up(error, args, kwargs)
        if isinstance(error, AsWritten):  # they are the caller's, not a part of the function
            return super()._give_up(error, args, kwargs)
        raise CaptureError(f"[to_static] cannot capture {self.name} as one graph: {error.reason}") from error.__cause__


class RestOfGraph(OneGraph, ResumedFrame):
    """The rest of such a function after a ``backward`` whose results depend on other ranks."""

    def __init__(self, family: Family, position: Position) -> None:
        super().__init__(family, position)
        self.policy.full_graph = True


class FullGraphFunction(OneGraph, SymbolicStaticFunction):
    """A function that is one graph or refused: its source is rewritten, and what results is simulated.

    It is what ``to_static(function, full_graph=True)`` makes.
    """

    __call__ = FunctionFrame.__call__

    def __init__(self, function: Callable[..., Any], input_spec: Any = None, instance: Any = None) -> None:
        super().__init__(function, input_spec, instance)
        self.policy.full_graph = True
        self.family.rest = RestOfGraph
        if not is_marked(function):
            self.abandoned = None  # a generator is refused when it is called

    @property
    def code(self) -> str:
        """The source text as it was rewritten."""
        return source.text_of(self._function)

    def native(self, args: tuple, kwargs: dict[str, Any] | None) -> Any:
        if current().trace:
            return source.traceable(self.dygraph_function)(*args, **(kwargs or {}))
        return super().native(args, kwargs)


_PLAIN = bool, int, float, complex, str, bytes, type(None), DType


def _as_spec(x: Any) -> Any:
    """An argument as it is kept: a spec for a tensor, a weak reference to an object."""
    if isinstance(x, Tensor):
        return spec_of(x)
    if isinstance(x, _PLAIN) or not hasattr(type(x), "__weakref__"):
        return x
    return weakref.ref(x)


def _widened(x: Any, place: Source, known: dict[str | None, InputSpec]) -> Any:
    """Specs of arguments, with sizes left open that differed between calls."""
    if isinstance(x, InputSpec):
        captured = known.get(str(place))
        return x if captured is None else InputSpec(captured.shape, x.dtype, None, x.stop_gradient)
    if isinstance(x, (list, tuple)):
        items = [_widened(v, Item(place, i), known) for i, v in enumerate(x)]
        return type(x)(*items) if hasattr(x, "_fields") else type(x)(items)
    if isinstance(x, weakref.ref):
        return x()
    if isinstance(x, dict):
        return {k: _widened(v, Item(place, k), known) for k, v in x.items()}
    return x


def _arrays(x: Any, place: Source) -> Iterator[tuple[Source, Tensor | np.ndarray]]:
    """Yield the tensors and NumPy arrays in an argument and where they are."""
    if isinstance(x, (Tensor, np.ndarray)):
        yield place, x
    elif isinstance(x, (list, tuple)):
        for i, v in enumerate(x):
            yield from _arrays(v, Item(place, i))
    elif isinstance(x, dict):
        for k, v in x.items():
            yield from _arrays(v, Item(place, k))
