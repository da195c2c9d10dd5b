"""Ranges: named ones of the user, and those of layers, optimizers and loaders while a profiler is on."""

from __future__ import annotations

import functools
import time
from collections.abc import Callable, Iterator
from contextlib import ContextDecorator
from typing import Any

from paddle._public import public
from paddle.io.loader import DataLoader
from paddle.jit.sot.function import FullGraphFunction, SymbolicStaticFunction
from paddle.nn.layer.layers import Layer
from paddle.optimizer.optimizer import Optimizer
from umiak.observe.collector import EventCollector, Range
from umiak.observe.event import FORWARD, LOADER, OPTIMIZER, PROGRAM, USER


@public("paddle.profiler")
class RecordEvent(ContextDecorator):
    """Range of your own: a ``with`` block, a decorated function, or what is between ``begin()`` and ``end()``.

    It costs next to nothing while no profiler records.

    Args:
        name: name of the range.
        event_type: the kind under which tables count it: a str, or a member of an enumeration, whose name counts.

    Example:
        >>> import paddle
        >>> with paddle.profiler.Profiler() as profiler, paddle.profiler.RecordEvent("mine"):
        ...     x = paddle.ones([2]) + 1
        >>> [e.name for e in profiler.profiler_result.of("PythonUserDefined")]
        ['mine']
    """

    def __init__(self, name: str, event_type: Any = USER) -> None:
        self.name = name
        self.event_type = event_type
        self._open: list[Range] = []

    def begin(self) -> None:
        """Begin the range."""
        if EventCollector.active is not None:
            self._open.append(Range(self.name, getattr(self.event_type, "name", str(self.event_type))).__enter__())

    def end(self) -> None:
        """End the range; nothing happens where it did not begin."""
        if self._open:
            self._open.pop().__exit__()

    def __enter__(self) -> RecordEvent:
        self.begin()
        return self

    def __exit__(self, *exc: object) -> None:
        self.end()


def _ranged(method: Callable[..., Any], kind: str, name: Callable[[Any], str]) -> Callable[..., Any]:
    @functools.wraps(method)
    def run(self: Any, *args: Any, **kwargs: Any) -> Any:
        with Range(name(self), kind):
            return method(self, *args, **kwargs)

    return run


def _timed_loader(iterate: Callable[..., Iterator], read: Callable[[float], None]) -> Callable[..., Iterator]:
    @functools.wraps(iterate)
    def run(self: DataLoader) -> Iterator[Any]:
        batches = iterate(self)
        while True:
            start = time.perf_counter()
            with Range("DataLoader", LOADER):
                batch = next(batches, batches)  # the iterator itself stands for its end
            read(time.perf_counter() - start)
            if batch is batches:
                return
            yield batch

    return run


def _below(kind: Any) -> Iterator[type]:
    yield kind
    for inner in kind.__subclasses__():
        yield from _below(inner)


class Instruments:
    """While ``on``, layers, optimizers and loaders are ranges. Their methods are exchanged for that time, so that
    nothing is asked otherwise. ``read`` is told the seconds that each batch was waited for.
    """

    def __init__(self, read: Callable[[float], None]) -> None:
        self.read = read
        self.before: list[tuple[type, str, Any]] = []

    def exchange(self, owner: type, name: str, replacement: Any) -> None:
        self.before.append((owner, name, owner.__dict__[name]))
        setattr(owner, name, replacement)

    def on(self, all: bool = True) -> None:
        """Exchange the methods; only those of loaders unless ``all``."""
        if self.before:
            return
        self.exchange(DataLoader, "__iter__", _timed_loader(DataLoader.__iter__, self.read))
        if all:
            self.exchange(Layer, "__call__", _ranged(Layer.__call__, FORWARD, Layer.full_name))
            for captured in (FullGraphFunction, SymbolicStaticFunction):
                run = _ranged(captured.__call__, PROGRAM, lambda self: self.__name__)
                self.exchange(captured, "__call__", run)
            for kind in set(_below(Optimizer)):
                if "step" in kind.__dict__:
                    step = _ranged(kind.__dict__["step"], OPTIMIZER, lambda self: f"{type(self).__name__}.step")
                    self.exchange(kind, "step", step)

    def off(self) -> None:
        while self.before:
            setattr(*self.before.pop())
