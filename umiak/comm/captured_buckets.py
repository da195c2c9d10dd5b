"""Buckets of gradients in captured functions: what runs of what ``captured_record.py`` has recorded.

A program has the buckets that eager backward passes have, with the same contents in the same order, over the same
group: ranks of which some run a captured step and some the same step as it was written understand each other.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Collection, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from umiak import ops as F
from umiak.backends.base import Kernel
from umiak.comm.bucket_flight import BucketInFlight, RowsInFlight
from umiak.comm.errors import CommError
from umiak.comm.keys import REDUCERS
from umiak.core import dtype as dt
from umiak.core.array import from_numpy, host_values
from umiak.core.captured import Stale
from umiak.core.context import current, no_grad_guard
from umiak.core.tensor import Tensor
from umiak.observe.collector import EventCollector
from umiak.observe.event import COMMUNICATION
from umiak.ops.gradient_buckets import BucketDone, BucketPoll, BucketStart, RowsDone, RowsStart
from umiak.runtime.selected_rows import SelectedRows
from umiak.util.errors import op_error

if TYPE_CHECKING:
    from umiak.comm.buckets import Reducer


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


_RUN: dict[type, Callable[..., tuple]] = {
    BucketStart: _start,
    BucketDone: _done,
    RowsStart: _start_rows,
    RowsDone: _done_rows,
    BucketPoll: _poll,
}
