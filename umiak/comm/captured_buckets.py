"""Buckets of gradients in captured functions: what :class:`~umiak.comm.buckets.Reducer` records, and what then runs.

A program has the buckets that eager backward passes have, with the same contents in the same order, over the same
group: ranks of which some run a captured step and some the same step as it was written understand each other.
"""

from __future__ import annotations

import itertools
import sys
from collections.abc import Callable, Collection, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from umiak import ops as F
from umiak.autodiff.lookups import lookups
from umiak.backends.base import Kernel
from umiak.comm.errors import CommError
from umiak.comm.keys import REDUCERS
from umiak.comm.task import Task
from umiak.core import leaf_gradients
from umiak.core.array import from_numpy, host_values
from umiak.core.captured import Stale
from umiak.core.context import current, no_grad_guard
from umiak.core import dtype as dt
from umiak.core.tensor import Tensor
from umiak.ir.sym import product
from umiak.ir.tracer import SymTensor, symbolic
from umiak.observe.collector import EventCollector, now
from umiak.observe.event import COMMUNICATION
from umiak.ops.gradient_buckets import BucketDone, BucketPoll, BucketStart, RowsDone, RowsStart
from umiak.runtime.capture import Capture, CaptureError
from umiak.runtime.selected_rows import SelectedRows
from umiak.util.errors import op_error

if TYPE_CHECKING:
    from umiak.comm.buckets import Bucket, Reducer, SparseBucket
    from umiak.comm.row_exchange import RowExchange


class BucketInFlight:
    """Bucket of a run, from its start until somebody asks for it."""

    collective = "all_reduce"

    def __init__(self, bucket: Bucket, flat: Tensor) -> None:
        self.bucket, self.flat = bucket, flat
        self.began, self.arrived, self.nbytes = 0, False, bucket.nbytes
        self.task: Task | None = None

    @classmethod
    def failed(cls, bucket: Bucket) -> BucketInFlight:
        """Return what a rank sends whose run has failed."""
        failed = np.zeros(bucket.size, bucket.dtype.numpy)
        failed[-1] = 1
        return cls(bucket, from_numpy(failed, bucket.place, None))

    def send(self) -> None:
        """Begin."""
        self.began, self.task = now(), self.bucket.group.all_reduce(self.flat, self.flat, "avg")

    @property
    def sent(self) -> bool:
        """Whether it has begun."""
        return self.began > 0

    def done(self) -> bool:
        """Return whether it has arrived, without waiting."""
        assert self.task is not None
        return self.task.done()

    def wait(self) -> None:
        """Wait until it has arrived."""
        assert self.task is not None
        self.task.wait()

    def gradient(self, k: int) -> Tensor | None:
        """Return the mean for slot ``k``, once it has arrived; None where no rank has one."""
        return F.copy(_part(self.flat, self.bucket, k)) if self.bucket.said[k] else None

    def hear(self) -> None:
        """Take what the ranks have told each other."""
        count, bucket = len(self.bucket.default_flags), self.bucket
        bucket.hear(F.slice(self.flat, axes=(0,), starts=(bucket.starts[-1],), sizes=(count,), steps=(1,)))


class RowsInFlight(BucketInFlight):
    """The same for a gradient of selected rows."""

    collective = "all_gather"

    def __init__(self, bucket: SparseBucket, rows: SelectedRows | None, unused: bool, failed: bool = False) -> None:
        self.rows, self.unused, self.fails = rows, unused, failed
        self.bucket: Any = bucket
        self.began, self.arrived, self.nbytes = 0, False, 0
        self.exchange: RowExchange | None = None

    @classmethod
    def failed(cls, bucket: Any) -> RowsInFlight:
        return cls(bucket, None, False, True)

    def send(self) -> None:
        self.began, self.exchange = now(), self.bucket.send(self.rows, self.unused, self.fails)
        self.nbytes = self.exchange.nbytes

    def done(self) -> bool:
        assert self.exchange is not None
        return self.exchange.progress()

    def wait(self) -> None:
        assert self.exchange is not None
        self.exchange.wait()

    def mean(self) -> SelectedRows | None:
        """Return the mean, once it has arrived; None where no rank has rows."""
        assert self.exchange is not None
        return self.exchange.mean()

    def gradient(self, k: int) -> Tensor | None:
        mean = self.mean()
        return None if mean is None else mean.to_dense()

    def hear(self) -> None:
        pass  # what was said is in the exchange, where the bucket looks for it


class CapturedReduction:
    """One backward pass of a captured function, as far as its gradients are averaged: its buckets at the present run.

    ``unchanged`` raises ``Stale`` where the buckets are not those of the capture any more. ``open_``: by id, the
    parameters that the pass gives no gradient and that have none from before: one appears if another rank has one.
    """

    def __init__(
        self,
        reducer: Reducer,
        number: int,
        buckets: Sequence[Any],
        unchanged: Callable[[], None],
        open_: Collection[int],
    ) -> None:
        self.reducer, self.number, self.buckets, self.unchanged = reducer, number, buckets, unchanged
        self.open = open_
        self.under_way: dict[int, BucketInFlight] = {}
        self.started: set[int] = set()

    def begin(self) -> tuple:
        """Before a run: no numbers for it."""
        self.unchanged()
        self.reducer.reductions[self.number] = self
        self.under_way.clear()
        self.started.clear()
        return ()

    def start(self, i: int, flat: Tensor) -> None:
        """Start a bucket. In the first run all of them wait for the end of backward, where the ranks agree: until then
        they may need this one for collectives of the model."""
        self._begin(i, BucketInFlight(self.buckets[i], flat))

    def start_rows(self, i: int, index: Tensor, values: Tensor, given: Tensor | None, unused: bool) -> None:
        """Start a bucket of selected rows: all, or those that are given."""
        bucket = self.buckets[i]
        if given is not None:
            with no_grad_guard():
                index = from_numpy(np.flatnonzero(host_values(given)), index.place)
                values = F.take(values, index, axis=0)
        rows = None if unused and not index.shape[0] else SelectedRows(index, values, bucket.slots[0].leaf.shape)
        self._begin(i, RowsInFlight(bucket, rows, unused))

    def _begin(self, i: int, one: BucketInFlight) -> None:
        self.under_way[i] = one
        if self.reducer.agreed or len(self.under_way) == len(self.buckets):
            self._send()

    def _send(self) -> None:
        self.reducer.agree()
        for i, one in self.under_way.items():
            if not one.sent:
                one.send()
                self.started.add(i)

    def poll(self) -> None:
        """Progress what is under way."""
        for i, one in self.under_way.items():
            if not one.arrived and one.sent and one.done():
                self._note(i, one)

    def _note(self, i: int, one: BucketInFlight) -> None:
        one.arrived = True
        collector = EventCollector.active
        if collector is not None:
            args = {"bucket": i, "bytes": one.nbytes, "group": self.reducer.group.name}
            collector.span(f"{one.collective} of gradients {i}", COMMUNICATION, one.began, args)

    def finish(self, i: int) -> None:
        """Wait for a bucket. RuntimeError where a rank has failed, or did not do the same."""
        self._send()
        one, bucket = self.under_way[i], self.buckets[i]
        one.wait()
        if not one.arrived:
            self._note(i, one)
        del self.under_way[i]
        with no_grad_guard():
            one.hear()
            for k, slot in enumerate(bucket.slots):
                if id(slot) in self.open:
                    g = one.gradient(k)
                    if g is not None:
                        slot.leaf.grad = g
        self.reducer.check((bucket,), lambda slot: True)

    def rows(self, i: int) -> tuple[Tensor, Tensor]:
        """Wait for a bucket of selected rows, and return their mean as a dense tensor, and which rows were given."""
        one: Any = self.under_way[i]
        (slot,) = self.buckets[i].slots
        self.finish(i)
        shape, dtype = tuple(slot.leaf.shape), slot.leaf.dtype
        with no_grad_guard():
            none = F.full(False, dtype=dt.bool, shape=shape[:1])
            mean = one.mean()
            if mean is None:
                return F.full(0.0, dtype=dtype, shape=shape), none
            return mean.to_dense(), F.put(none, mean.index, True, axis=0)

    def fail(self) -> None:
        """After a run that was not completed: tell the other ranks, as an eager pass does, unless it never began."""
        error = sys.exc_info()[1]
        if isinstance(error, Stale):
            return
        if isinstance(error, CommError) or not isinstance(error, Exception):
            self.under_way.clear()  # nobody can be told
            return
        waiting = [one for one in self.under_way.values() if one.sent]
        try:
            self.reducer.agree()
            for i, bucket in enumerate(self.buckets):
                if i not in self.started:
                    one = (RowsInFlight if bucket.by_rows else BucketInFlight).failed(bucket)
                    one.send()
                    waiting.append(one)
            for one in waiting:
                one.wait()
        except CommError:
            pass  # the error that is under way says more
        self.started.update(range(len(self.buckets)))
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
    unused, open_ = _unused(reducer, tracer, totals)
    buckets = reducer.propose()
    totals.update({key: total for key, (total, _) in unused.items()})
    cleared = [reducer.slots[key].leaf for key, (_, was_cleared) in unused.items() if was_cleared]
    absent = [reducer.slots[key].leaf for key in open_]

    def unchanged() -> None:
        if not reducer.sync or reducer.buckets is not buckets:
            raise Stale
        if not all(map(leaf_gradients.is_cleared, cleared)) or any(map(leaf_gradients.is_cleared, absent)):
            raise Stale

    slots = {id(reducer.slots[key]) for key in open_}
    reduction = CapturedReduction(reducer, reducer.number_of_pass(tracer), buckets, unchanged, slots)
    tracer.scalars((), reduction.begin, reduction.fail)
    ctx = current()
    amp = ctx.amp()
    ctx.set_amp(0, amp[1], 0)  # gradients are averaged in their own types
    try:
        means = _averaged(reduction, tracer, totals, {key: g for key, _, g in items}, set(unused))
    finally:
        ctx.set_amp(*amp)
    _give(reducer, tracer, {key: mean for key, mean in means.items() if key not in open_})
    tracer.ended = tracer.ended or bool(open_)


def _give(reducer: Reducer, tracer: Capture, gradients: dict[int, Any]) -> None:
    for key, g in gradients.items():
        leaf = reducer.slots[key].leaf
        leaf.grad = g
        tracer.cleared.discard(id(leaf))


def _unused(
    reducer: Reducer, tracer: Capture, totals: dict[int, Any]
) -> tuple[dict[int, tuple[Any, bool]], list[int]]:
    """Return by key what the trained parameters add that the pass gives no gradient: what they held, and whether that
    was zeros which nobody had looked at before the run; and the keys of those that held nothing."""
    missing = {key: slot for key, slot in enumerate(reducer.slots) if key not in totals and not slot.frozen}
    if missing and not reducer.unused:
        raise CaptureError(
            "[DataParallel] requires a gradient of every parameter in a backward, got none for "
            f"{[slot.name for slot in missing.values()]}. Pass find_unused_parameters=True, or freeze what is not "
            "trained with stop_gradient=True"
        )
    found: dict[int, tuple[Any, bool]] = {}
    open_: list[int] = []
    for key, slot in missing.items():
        leaf = slot.leaf
        held = leaf_gradients.held_gradient(leaf)
        was_cleared = held is None and leaf_gradients.is_cleared(leaf)
        if held is None and not was_cleared and id(leaf) not in tracer.cleared:
            if not tracer.may_end:
                raise CaptureError(
                    f"DataParallel: {slot.name} gets no gradient here, and whether it has one after backward() depends "
                    "on the other ranks: the graph must end there, which it can in a function of the program alone, "
                    "outside of branches, loops and handlers of exceptions"
                )
            open_.append(key)
            tracer.asks_for_gradients([leaf])
        else:
            tracer.replaces(leaf)
        zeros = F.full(0.0, dtype=leaf.dtype, shape=tuple(leaf.shape)) if held is None else held
        found[key] = tracer.tensor(zeros), was_cleared
    return found, open_


def _averaged(
    reduction: CapturedReduction,
    tracer: Capture,
    totals: dict[int, Any],
    gradients: dict[int, Any],
    unused: set[int],
) -> dict[int, Any]:
    """The averages of gradients, by key. ``gradients``: those of the pass alone."""
    reducer = reduction.reducer
    keys = {id(slot): key for key, slot in enumerate(reducer.slots)}
    where = {"group": reducer.group.name, "backward": reduction.number}
    started = []
    for i, bucket in enumerate(reduction.buckets):
        if bucket.by_rows:
            (slot,) = bucket.slots
            key = keys[id(slot)]
            rows = _rows(totals[key], slot.leaf, tracer, gradients.get(key))
            started.append(F.rows_start(*rows, bucket=i, unused=key in unused, **where))
            continue
        parts = []
        for k, slot in enumerate(bucket.slots):
            g = totals[keys[id(slot)]]
            own = g if g.dtype is bucket.dtype else F.cast(g, dtype=bucket.dtype)
            parts.append(F.reshape(own, shape=(slot.size,)))
            parts += _constants([0] * (bucket.starts[k + 1] - bucket.starts[k] - slot.size), bucket)
        adds = [int(id(slot) not in reduction.open) for slot in bucket.slots]
        told = [int(keys[id(slot)] in unused) for slot in bucket.slots]
        parts += _constants([*adds, *told, 0], bucket)
        started.append(F.bucket_start(F.concat(parts, axis=0), bucket=i, **where))
    means = {}
    # All are started before one is waited for: a rank that fails meanwhile says so in the next.
    for i, (bucket, flat) in enumerate(zip(reduction.buckets, started, strict=True)):
        if bucket.by_rows:
            (slot,) = bucket.slots
            mean, given = F.rows_done(flat, bucket=i, height=slot.leaf.shape[0], **where)
            means[keys[id(slot)]] = mean
            tracer.rows[id(slot.leaf)] = given
            continue
        averaged = F.bucket_done(flat, bucket=i, **where)
        for k, slot in enumerate(bucket.slots):
            means[keys[id(slot)]] = _part(averaged, bucket, k)
    return means


def _rows(total: SymTensor, leaf: Tensor, tracer: Capture, g: SymTensor | None) -> tuple[Any, Any, Any]:
    """Return rows of a gradient of a table, their indices, and which of them count if not all do.

    ``total``: what this rank adds; ``g``: what the pass has given it. Eager steps send rows that were looked up, twice if
    they were so, unless something else has a part in the gradient.
    """
    width = tuple(leaf.shape[1:])
    held = leaf_gradients.held_gradient(leaf)
    parts = [] if g is None else lookups(g.value)
    known = tracer.rows.get(id(leaf))  # of what it held
    if parts is None or (held is not None and known is None):
        values = total if total.dtype is leaf.dtype else F.cast(total, dtype=leaf.dtype)
        return values, F.iota(0, 1, dtype=dt.int64, size=leaf.shape[0]), None
    if held is not None:
        for index, _ in parts:
            known = F.put(known, symbolic(index, tracer), True, axis=0)
        return total, F.iota(0, 1, dtype=dt.int64, size=leaf.shape[0]), known
    indices, rows = [F.full(0, dtype=dt.int64, shape=(0,))], [F.full(0.0, dtype=leaf.dtype, shape=(0, *width))]
    for index, values in parts:
        count = product(index.meta.shape)
        indices.append(F.cast(F.reshape(symbolic(index, tracer), shape=(count,)), dtype=dt.int64))
        rows.append(F.cast(F.reshape(symbolic(values, tracer), shape=(count, *width)), dtype=leaf.dtype))
    if len(parts) == 1:
        return rows[1], indices[1], None
    return F.concat(rows, axis=0), F.concat(indices, axis=0), None


def _part(flat: Tensor, bucket: Bucket, k: int) -> Tensor:
    """The gradient of slot ``k`` in a bucket: a view of it."""
    slot = bucket.slots[k]
    part = F.slice(flat, axes=(0,), starts=(bucket.starts[k],), sizes=(slot.size,), steps=(1,))
    return F.reshape(part, shape=tuple(slot.leaf.shape))


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


def _start_rows(op: Any, x: Tensor, index: Tensor, given: Tensor | None = None) -> tuple[Tensor]:
    reducer, values = _reducer(op), x.detach()
    reducer.reductions[op.backward].start_rows(op.bucket, index.detach(), values, given, op.unused)
    reducer.poll()
    return (values,)


def _done_rows(op: Any, x: Tensor) -> tuple[Tensor, Tensor]:
    return _reducer(op).reductions[op.backward].rows(op.bucket)


_RUN = {BucketStart: _start, BucketDone: _done, RowsStart: _start_rows, RowsDone: _done_rows, BucketPoll: _poll}
