"""Buckets of gradients in captured functions: what :class:`~umiak.comm.buckets.Reducer` records, and what then runs.

A program has the buckets that eager backward passes have, with the same contents in the same order, over the same
group: ranks of which some run a captured step and some the same step as it was written understand each other.
"""

from __future__ import annotations

import itertools
import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from umiak import ops as F
from umiak.backends.base import Kernel
from umiak.comm.errors import CommError
from umiak.comm.keys import REDUCERS
from umiak.comm.task import Task
from umiak.core import leaf_gradients
from umiak.core.array import from_numpy
from umiak.core.captured import Stale
from umiak.core.context import current, no_grad_guard
from umiak.core.tensor import Tensor
from umiak.observe.collector import EventCollector, now
from umiak.observe.event import COMMUNICATION
from umiak.ops.gradient_buckets import BucketDone, BucketPoll, BucketStart
from umiak.runtime.capture import Capture, CaptureError
from umiak.util.errors import op_error

if TYPE_CHECKING:
    from umiak.comm.buckets import Bucket, Reducer


class BucketInFlight:
    """Bucket of a run, from its start until somebody asks for it."""

    __slots__ = ("arrived", "began", "flat", "task")

    def __init__(self, flat: Tensor) -> None:
        self.began, self.arrived, self.flat = 0, False, flat
        self.task: Task | None = None


class CapturedReduction:
    """One backward pass of a captured function, as far as its gradients are averaged: its buckets at the present run.

    ``unchanged`` raises ``Stale`` where the buckets are not those of the capture any more.
    """

    def __init__(self, reducer: Reducer, number: int, buckets: Sequence[Bucket], unchanged: Callable[[], None]) -> None:
        self.reducer, self.number, self.buckets, self.unchanged = reducer, number, buckets, unchanged
        self.under_way: dict[int, BucketInFlight] = {}
        self.next = 0  # buckets that were started

    def begin(self) -> tuple:
        """Before a run: no numbers for it."""
        self.unchanged()
        self.reducer.reductions[self.number] = self
        self.under_way.clear()
        self.next = 0
        return ()

    def start(self, i: int, flat: Tensor) -> None:
        """Start a bucket. In the first run all of them wait for the end of backward, where the ranks agree: until then
        they may need this one for collectives of the model."""
        self.under_way[i] = BucketInFlight(flat)
        if self.reducer.agreed:
            self._send()

    def _send(self) -> None:
        self.reducer.agree()
        for one in self.under_way.values():
            if one.task is None:
                one.began, one.task = now(), self.reducer.group.all_reduce(one.flat, one.flat, "avg")
                self.next += 1

    def poll(self) -> None:
        """Progress what is under way."""
        for i, one in self.under_way.items():
            if not one.arrived and one.task is not None and one.task.done():
                self._note(i, one)

    def _note(self, i: int, one: BucketInFlight) -> None:
        one.arrived = True
        collector = EventCollector.active
        if collector is not None:
            args = {"bucket": i, "bytes": self.buckets[i].nbytes, "group": self.reducer.group.name}
            collector.span(f"all_reduce of gradients {i}", COMMUNICATION, one.began, args)

    def finish(self, i: int) -> None:
        """Wait for a bucket. RuntimeError where a rank has failed, or did not do the same."""
        self._send()
        one, bucket = self.under_way[i], self.buckets[i]
        assert one.task is not None
        one.task.wait()
        if not one.arrived:
            self._note(i, one)
        del self.under_way[i]
        with no_grad_guard():
            count = len(bucket.default_flags)
            bucket.hear(F.slice(one.flat, axes=(0,), starts=(bucket.starts[-1],), sizes=(count,), steps=(1,)))
        self.reducer.check((bucket,), lambda slot: True)

    def fail(self) -> None:
        """After a run that was not completed: tell the other ranks, as an eager pass does, unless it never began."""
        error = sys.exc_info()[1]
        if isinstance(error, Stale):
            return
        if isinstance(error, CommError) or not isinstance(error, Exception):
            self.under_way.clear()  # nobody can be told
            return
        tasks = [one.task for one in self.under_way.values() if one.task is not None]
        try:
            self.reducer.agree()
            for bucket in self.buckets[self.next :]:
                failed = np.zeros(bucket.size, bucket.dtype.numpy)
                failed[-1] = 1
                flat = from_numpy(failed, bucket.place, None)
                tasks.append(self.reducer.group.all_reduce(flat, flat, "avg"))
            for task in tasks:
                task.wait()
        except CommError:
            pass  # the error that is under way says more
        self.next = len(self.buckets)
        self.under_way.clear()


# --- recording


def record(reducer: Reducer, tracer: Capture, items: Sequence[tuple[int, Tensor, Any]]) -> None:
    """Record what becomes of the gradients of a backward pass: (key, leaf, gradient) of each leaf that has one."""
    sync = reducer.sync
    totals = {}
    for key, leaf, g in items:
        held = leaf_gradients.held_gradient(leaf)
        totals[key] = g if held is None else F.add(held, g)
    if not sync:

        def same_mode() -> tuple:
            if reducer.sync:
                raise Stale
            return ()

        tracer.scalars((), same_mode, lambda: None)
        _give(reducer, tracer, totals)
        return
    unused = _unused(reducer, tracer, totals)
    buckets = reducer.propose()
    if any(not hasattr(bucket, "starts") for bucket in buckets):
        raise CaptureError(
            "DataParallel: gradients are rows of an embedding with sparse=True, whose number is not known before"
        )
    totals.update({key: total for key, (total, _) in unused.items()})
    cleared = [reducer.slots[key].leaf for key, (_, was_cleared) in unused.items() if was_cleared]

    def unchanged() -> None:
        if not reducer.sync or reducer.buckets is not buckets or not all(map(leaf_gradients.is_cleared, cleared)):
            raise Stale

    reduction = CapturedReduction(reducer, reducer.number_of_pass(tracer), buckets, unchanged)
    tracer.scalars((), reduction.begin, reduction.fail)
    ctx = current()
    amp = ctx.amp()
    ctx.set_amp(0, amp[1], 0)  # gradients are averaged in their own types
    try:
        _give(reducer, tracer, _averaged(reduction, totals, set(unused)))
    finally:
        ctx.set_amp(*amp)


def _give(reducer: Reducer, tracer: Capture, gradients: dict[int, Any]) -> None:
    for key, g in gradients.items():
        leaf = reducer.slots[key].leaf
        leaf.grad = g
        tracer.cleared.discard(id(leaf))


def _unused(reducer: Reducer, tracer: Capture, totals: dict[int, Any]) -> dict[int, tuple[Any, bool]]:
    """Return by key what the trained parameters add that the pass gives no gradient: what they held, and whether that
    was zeros which nobody had looked at before the run."""
    missing = {key: slot for key, slot in enumerate(reducer.slots) if key not in totals and not slot.frozen}
    if missing and not reducer.unused:
        raise CaptureError(
            "[DataParallel] requires a gradient of every parameter in a backward, got none for "
            f"{[slot.name for slot in missing.values()]}. Pass find_unused_parameters=True, or freeze what is not "
            "trained with stop_gradient=True"
        )
    found: dict[int, tuple[Any, bool]] = {}
    for key, slot in missing.items():
        leaf = slot.leaf
        held = leaf_gradients.held_gradient(leaf)
        was_cleared = held is None and leaf_gradients.is_cleared(leaf)
        if held is None and not was_cleared and id(leaf) not in tracer.cleared:
            raise CaptureError(
                f"DataParallel: {slot.name} gets no gradient here, and whether it has one after backward() depends on "
                "the other ranks"
            )
        tracer.replaces(leaf)
        zeros = F.full(0.0, dtype=leaf.dtype, shape=tuple(leaf.shape)) if held is None else held
        found[key] = tracer.tensor(zeros), was_cleared
    return found


def _averaged(reduction: CapturedReduction, totals: dict[int, Any], unused: set[int]) -> dict[int, Any]:
    """The averages of gradients, by key."""
    reducer = reduction.reducer
    keys = {id(slot): key for key, slot in enumerate(reducer.slots)}
    where = {"group": reducer.group.name, "backward": reduction.number}
    started = []
    for i, bucket in enumerate(reduction.buckets):
        parts = []
        for k, slot in enumerate(bucket.slots):
            g = totals[keys[id(slot)]]
            own = g if g.dtype is bucket.dtype else F.cast(g, dtype=bucket.dtype)
            parts.append(F.reshape(own, shape=(slot.size,)))
            parts += _constants([0] * (bucket.starts[k + 1] - bucket.starts[k] - slot.size), bucket)
        told = [keys[id(slot)] in unused for slot in bucket.slots]
        parts += _constants([1] * len(told) + list(map(int, told)) + [0], bucket)
        started.append(F.bucket_start(F.concat(parts, axis=0), bucket=i, **where))
    means = {}
    # All are started before one is waited for: a rank that fails meanwhile says so in the next.
    for i, (bucket, flat) in enumerate(zip(reduction.buckets, started, strict=True)):
        averaged = F.bucket_done(flat, bucket=i, **where)
        for k, slot in enumerate(bucket.slots):
            part = F.slice(averaged, axes=(0,), starts=(bucket.starts[k],), sizes=(slot.size,), steps=(1,))
            means[keys[id(slot)]] = F.reshape(part, shape=tuple(slot.leaf.shape))
    return means


def _constants(values: Sequence[int], bucket: Bucket) -> list[Any]:
    """Numbers that are written beside the gradients: no tensors that a run would read."""
    runs = [(value, len(list(those))) for value, those in itertools.groupby(values)]
    return [F.full(value, dtype=bucket.dtype, shape=(count,)) for value, count in runs]


# --- the ops


def kernel(call: Any) -> Kernel:
    """Return the kernel of a class of calls."""
    run, op = _RUN[type(call.op)], call.op
    return Kernel(call=lambda operands, params: run(op, *operands))


def _reducer(op: Any) -> Reducer:
    reducer = current().state.values.get(REDUCERS, {}).get(op.group)
    if reducer is None:
        raise op_error(
            RuntimeError, op.name, f"the DataParallel whose gradients group {op.group!r} averages", "none of this rank",
            "Capture the step again: programs of another process, or of a model that is gone, cannot be run.",
        )  # fmt: skip
    return reducer


def _start(op: Any, x: Tensor) -> tuple[Tensor]:
    reducer = _reducer(op)
    flat = x.detach()
    reducer.reductions[op.backward].start(op.bucket, flat)
    reducer.poll()
    return (flat,)


def _done(op: Any, x: Tensor) -> tuple[Tensor]:
    _reducer(op).reductions[op.backward].finish(op.bucket)
    return (x.detach(),)


def _poll(op: Any, x: Tensor) -> tuple:
    _reducer(op).poll()
    return ()


_RUN = {BucketStart: _start, BucketDone: _done, BucketPoll: _poll}
