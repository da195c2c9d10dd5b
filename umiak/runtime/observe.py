"""Observers: Python that sees every call of an op.

While any observer bit of the context is set, dispatch takes the Python path: the call runs as always, then each
observer of this context is told. Bits are per thread, so watching one thread costs the others nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from umiak import ops as F
from umiak.core import array, backward_run, context, eager
from umiak.core.context import OBSERVE_HOOKS, OBSERVE_PROFILE, OBSERVE_TRACE
from umiak.core.tensor import KIND_OVERRIDE, KIND_SELECTED_ROWS, KIND_SPARSE, KIND_VIEW, Tensor
from umiak.ir import tracer
from umiak.ops import scalars
from umiak.runtime import selected_rows

EVERYWHERE = OBSERVE_HOOKS << 1  # see check_everywhere

Observer = Callable[[Any, tuple, tuple, tuple], None]
PROBE: Any = None  # of the profiler, see `watch`
CHECK: Observer | None = None  # of all threads, see `check_everywhere`


def watch(probe: Any) -> None:
    """Tell ``probe`` of ops where they begin and where they end, in all threads; None ends that.

    ``probe.begin_op(op, operands, params)`` gives a token, which ``probe.end_op(token, results)`` gets; results are
    empty after an error.
    """
    global PROBE
    PROBE = probe
    backward_run.watch(probe)
    context.observe_everywhere(OBSERVE_PROFILE, probe is not None)


def check_everywhere(check: Observer | None) -> None:
    """Tell ``check`` of every op of all threads, as observers are told; None ends that."""
    global CHECK
    CHECK = check
    context.observe_everywhere(EVERYWHERE, check is not None)


def slow_path(op: Any, operands: tuple, params: tuple) -> Any:
    """Dispatch's slot: tensor subclasses are asked, symbolic calls recorded, observed calls run and reported."""
    kinds = 0
    for x in operands:
        if isinstance(x, Tensor):
            kinds |= x._kind
    if kinds & KIND_OVERRIDE:
        kind = next(type(x) for x in operands if isinstance(x, Tensor) and x._kind & KIND_OVERRIDE)
        return kind.__umiak_dispatch__(op, operands, params)  # type: ignore[attr-defined]
    if kinds & KIND_SPARSE:
        from umiak.runtime import sparse_math  # few programs need it

        return sparse_math.call(op, operands, params)
    if kinds & KIND_SELECTED_ROWS:
        return selected_rows.call(op, operands, params)
    ctx = context.current()
    bits = ctx.observers
    if bits & OBSERVE_TRACE or not bits or kinds & ~KIND_VIEW:
        instead = scalars.check_traced(op, operands, params)
        return tracer.slow_path(op, operands, params) if instead is None else instead
    if bits & OBSERVE_PROFILE and PROBE is not None:
        result = _probed(PROBE, op, operands, params)
    else:
        result = eager.apply_plain(op, operands, params)
    if not bits & ~OBSERVE_PROFILE:
        if PROBE is None:  # a bit that came back after the profiler's end
            ctx.observers &= ~OBSERVE_PROFILE
        return result
    results = result if isinstance(result, tuple) else (result,)
    # An observer may run ops itself; those are not observed.
    ctx.observers = 0
    try:
        for bit, observer in list(ctx.values.get("observers", ())):
            if bits & bit:
                observer(op, operands, params, results)
        if bits & EVERYWHERE and CHECK is not None:
            CHECK(op, operands, params, results)
    finally:
        ctx.observers = bits & ~OBSERVE_PROFILE if PROBE is None else bits | OBSERVE_PROFILE
    return result


def _probed(probe: Any, op: Any, operands: tuple, params: tuple) -> Any:
    token, results = probe.begin_op(op, operands, params), ()
    try:
        result = eager.apply_plain(op, operands, params)
        results = result if isinstance(result, tuple) else (result,)
    finally:
        probe.end_op(token, results)
    return result


@contextmanager
def observe(observer: Observer, bit: int = OBSERVE_HOOKS) -> Iterator[None]:
    """``observer(op, operands, params, results)`` is called after every op of this thread.

    >>> seen = []
    >>> with observe(lambda op, operands, params, results: seen.append(op.name)):
    ...     pass
    """
    entry = start(observer, bit)
    try:
        yield
    finally:
        stop(entry)


def start(observer: Observer, bit: int = OBSERVE_HOOKS) -> tuple[int, Observer]:
    """Begin to tell ``observer``; what is returned ends it, in :func:`stop`."""
    ctx = context.current()
    entry = (bit, observer)
    ctx.values.setdefault("observers", []).append(entry)
    ctx.observers |= bit
    return entry


def stop(entry: tuple[int, Observer]) -> None:
    """End what :func:`start` began on this thread. Other observers go on."""
    ctx = context.current()
    entries = ctx.values["observers"]
    entries.remove(entry)
    if not any(bit == entry[0] for bit, _ in entries):
        ctx.observers &= ~entry[0]


def nan_check(op: Any, operands: tuple, params: tuple, results: tuple) -> None:
    """An observer that raises FloatingPointError at the first op whose result holds NaN or Inf."""
    for i, r in enumerate(results):
        if r.dtype.is_floating or r.dtype.is_complex:
            fine = F.all(F.isfinite(r.detach()), axes=tuple(range(r.ndim)), keepdim=False)
            if not array.host_values(fine):
                shapes = [list(x.shape) for x in operands if isinstance(x, Tensor)]
                raise FloatingPointError(
                    f"[{op.name}] requires finite results under the NaN check, got NaN or Inf in output {i} "
                    f"(shape {list(r.shape)}) from operands of shapes {shapes}"
                )
