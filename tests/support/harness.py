"""What tests of the engine share: tensors from arrays and back, and counters of what a call costs."""

from __future__ import annotations

import gc
import sys
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

import umiak  # noqa: F401  fills the slots of the core
from tests.support.garbage import collect_garbage
from umiak.compiler import plan as planner
from umiak.core import array, dispatch, storage, tape
from umiak.core.node import Node
from umiak.core.place import Place
from umiak.core.tensor import Tensor
from umiak.ir.meta import Meta
from umiak.ir.tracer import trace
from umiak.runtime.executor import Executor

CPU = Place("cpu", 0)
NULL = Place("null", 0)


def tensor(value: Any, dtype: Any = None, place: Place | None = None) -> Tensor:
    """A tensor of the values, without gradient."""
    return array.from_numpy(np.asarray(value, dtype), place)


def leaf(value: Any, dtype: Any = np.float64, place: Place | None = None) -> Tensor:
    """A tensor whose gradient is wanted."""
    t = tensor(value, dtype, place)
    t.stop_gradient = False
    return t


def values(t: Tensor) -> np.ndarray:
    """A copy of a tensor's values; the memory stays unpinned."""
    return array.to_numpy(t).copy()


def grad_of(t: Tensor) -> np.ndarray | None:
    return None if t.grad is None else values(t.grad)


def backward(*tensors: Tensor, **options: Any) -> None:
    tape.backward(list(tensors), **options)


@contextmanager
def count_plans() -> Iterator[Counter]:
    """Counts calls of the planner inside: ``plans``, those of each op by name, and ``vjps`` traced."""
    counts: Counter = Counter()

    def on_miss(op: Any, operands: tuple, params: tuple, modes: int) -> Any:
        counts["plans"] += 1
        counts[op.name] += 1
        return planner.on_miss(op, operands, params, modes)

    original = planner.trace_vjp

    def trace_vjp(*args: Any) -> Any:
        counts["vjps"] += 1
        return original(*args)

    dispatch.install(on_miss=on_miss)
    planner.trace_vjp = trace_vjp
    try:
        yield counts
    finally:
        dispatch.install(on_miss=planner.on_miss)
        planner.trace_vjp = original


def python_calls(f: Callable[[], Any]) -> list[str]:
    """Names of the Python functions that ``f`` enters (itself left out): what the fast path must not do."""
    entered: list[str] = []

    def profile(frame: Any, event: str, arg: Any) -> None:
        # Cython functions without tracing do not show up here.
        if event == "call" and frame.f_code is not f.__code__:
            entered.append(f"{frame.f_code.co_filename.rpartition('/')[2]}:{frame.f_code.co_name}")

    former = sys.getprofile()
    gc.disable()  # what a collection calls is not called by f
    sys.setprofile(profile)
    try:
        f()
    finally:
        sys.setprofile(former)
        gc.enable()
    return entered


def live_objects() -> Counter:
    """How many tensors and nodes there are."""
    return Counter(type(x).__name__ for x in gc.get_objects() if issubclass(type(x), (Tensor, Node)))


def allocated(place: Place = CPU) -> int:
    """Bytes in use on a place."""
    return storage.allocator(place.index).stats()["allocated"]


def leaves_nothing(f: Callable[[], Any], place: Place = CPU) -> None:
    """Running ``f`` a second time leaves no tensor, node or memory behind, and no cycle for the collector to find."""
    f()  # plans are made and kept
    collect_garbage()
    objects, memory = live_objects(), allocated(place)
    gc.disable()
    try:
        f()
        assert live_objects() == objects, "objects are left without a collection"
        assert allocated(place) == memory, "memory is left"
        assert gc.collect() == 0, "cycles are left"
    finally:
        gc.enable()


def run_traced(f: Callable, *operands: Any) -> list:
    """``f`` recorded on what is known of the operands without their data, and replayed on the operands."""
    program = trace(f, [Meta(tuple(x.shape), x.dtype) if isinstance(x, Tensor) else x for x in operands])
    return Executor(program)(*(x for x in operands if isinstance(x, Tensor)))


def run_threads(work: Callable[[int], None], count: int = 4) -> None:
    """``work(i)`` in threads that switch as often as Python lets them; the first error of one is raised."""
    errors: list[BaseException] = []

    def guarded(i: int) -> None:
        try:
            work(i)
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=guarded, args=(i,)) for i in range(count)]
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    try:
        for t in threads:
            t.start()
        for t in threads:
            t.join()
    finally:
        sys.setswitchinterval(interval)
    if errors:
        raise errors[0]
