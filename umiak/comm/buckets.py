"""Gradients reduced in buckets while the backward pass still runs.

A :class:`Reducer` takes the gradients of some leaves (``Sink``). They live in flat buffers, the buckets: ``.grad`` is a
view. A bucket whose gradients are all there is reduced over the group at once, in the background; at the end of
the run everything is waited for. Behind its gradients a bucket carries what the ranks must know of each other: for each
parameter whether this rank has something to add, and whether the run gave it nothing, and whether the run failed.

The order of buckets is that in which the gradients of rank 0 came in the first run, which itself is reduced at its end.
"""

from __future__ import annotations

import math
import sys
import time
import weakref
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any
from weakref import WeakValueDictionary

import numpy as np

from umiak import ops as F
from umiak.comm import groups
from umiak.comm.captured_buckets import CapturedReduction
from umiak.comm.captured_record import record
from umiak.comm.errors import CommError
from umiak.comm.group import Group
from umiak.comm.keys import REDUCERS
from umiak.comm.row_exchange import RowExchange
from umiak.comm.task import Task
from umiak.core import leaf_gradients, tape
from umiak.core.array import from_numpy, host_values
from umiak.core.context import current, no_grad_guard
from umiak.core.dtype import DType
from umiak.core.inplace import apply_into
from umiak.core.place import Place
from umiak.core.tensor import Tensor, empty
from umiak.observe.collector import EventCollector, now
from umiak.observe.event import COMMUNICATION
from umiak.ops.base import packed_error
from umiak.runtime.selected_rows import SelectedRows, add_to
from umiak.util.errors import op_error

ALIGN = 64  # bytes at which gradients begin
PARTS = 16  # buckets that gradients are cut into, where these are not larger than allowed, nor smaller than SMALL
SMALL = 1 << 20  # bytes
PATIENCE = 1.0  # seconds of waiting for all buckets at once
AT_THE_END = 1 << 30  # gradients of a leaf that is known to be complete only when the run ends

_COPY, _ADD = F.Copy(), F.Add()


class LeafGradient:
    """Leaf with its gradient and its view of a bucket."""

    __slots__ = ("bucket", "came", "expected", "leaf", "name", "ready", "size", "view")

    def __init__(self, name: str, leaf: Tensor) -> None:
        self.name = name
        self.leaf = leaf
        self.size = math.prod(leaf.shape)
        self.came = 0  # gradients that came in this run: more than one where runs are nested
        self.expected = 1  # how many there will be
        self.ready = False
        self.bucket: Any = None
        self.view: Any = None  # of the bucket's memory

    @property
    def frozen(self) -> bool:
        return self.leaf.stop_gradient


class PendingReduction:
    """Operation in flight on the group, as the reducer and the profiler see it."""

    by_rows = False  # whether it is one gradient of selected rows
    task: Task | None = None
    began = 0
    nbytes = 0

    def prepare(self) -> None:
        """Have memory for a run."""

    def start(self, failed: bool) -> None:
        raise NotImplementedError

    def finish(self) -> None:
        """Process the result."""


class Bucket(PendingReduction):
    """Dense gradients of one dtype."""

    def __init__(self, group: Group, slots: list[LeafGradient]) -> None:
        self.group, self.slots = group, slots
        self.pending = 0
        self.views_checked = False  # in this run, whether somebody has kept gradients of an earlier step
        self.dtype, self.place = slots[0].leaf.dtype, slots[0].leaf.place
        step = max(1, ALIGN // self.dtype.itemsize)
        self.starts = [0]
        for slot in slots:
            self.starts.append(self.starts[-1] + -(-slot.size // step) * step)
        n = len(slots)
        self.default_flags = np.array([1] * n + [0] * (n + 1), self.dtype.numpy)
        self.size = self.starts[-1] + len(self.default_flags)
        self.nbytes = self.size * self.dtype.itemsize
        self.flat: Any = None  # none yet: captured functions have flat tensors of their own
        for slot in slots:
            slot.bucket, slot.view = self, None

    def prepare(self) -> None:
        if self.flat is None:
            self.allocate()

    def allocate(self) -> None:
        """Allocate the flat buffer, of which the slots get views."""
        self.flat = empty((self.size,), self.dtype, self.place)
        clear(self.flat)  # the gaps take part
        with no_grad_guard():
            # What ranks tell each other.
            self.flags = F.slice(
                self.flat, axes=(0,), starts=(self.starts[-1],), sizes=(len(self.default_flags),), steps=(1,)
            ).detach()
            for i, slot in enumerate(self.slots):
                part = F.slice(self.flat, axes=(0,), starts=(self.starts[i],), sizes=(slot.size,), steps=(1,))
                slot.view = F.reshape(part, shape=tuple(slot.leaf.shape)).detach()
                slot.view._own_version()
                slot.view.stop_gradient = True
        del part
        self.users = sys.getrefcount(self.flat.storage)

    def check_views(self) -> None:
        """Allocate new memory before the first gradient of a step if tensors or arrays over the old one were kept."""
        self.views_checked = True
        if any(_held(slot.leaf) is not None for slot in self.slots):
            return
        if sys.getrefcount(self.flat.storage) > self.users or any(sys.getrefcount(s.view) > 2 for s in self.slots):
            self.allocate()

    def start(self, failed: bool) -> None:
        if not self.views_checked:
            self.check_views()
        flags = self.default_flags.copy()
        n = len(self.slots)
        for i, slot in enumerate(self.slots):
            held = _held(slot.leaf)
            if held is None:
                clear(slot.view)
                flags[i] = leaf_gradients.is_cleared(slot.leaf)
            elif held is not slot.view:
                accumulate(slot, held)
            if not slot.came:
                flags[n + i] = 1
        if failed:
            flags[2 * n] = 1
        apply_into(_COPY, (self.flags,), (from_numpy(flags, self.place, None),))
        self.task = self.group.all_reduce(self.flat, self.flat, "avg")

    def hear(self, flags: Tensor) -> None:
        """Take what the ranks have told each other."""
        self.said = np.abs(host_values(flags)).astype(np.float32)

    def finish(self) -> None:
        self.hear(self.flags)
        for i, slot in enumerate(self.slots):
            if self.said[i]:
                slot.view._bump_version()
                if _held(slot.leaf) is not slot.view:
                    slot.leaf.grad = slot.view

    def unused_and_failed(self) -> tuple[np.ndarray, bool]:
        """Return for each slot the share of ranks whose run gave it no gradient, and whether some rank's run failed."""
        n = len(self.slots)
        return self.said[n : 2 * n], bool(self.said[2 * n])


class SparseBucket(PendingReduction):
    """A gradient of selected rows, over a group of its own, which is there once the ranks have agreed."""

    by_rows = True

    def __init__(self, slot: LeafGradient) -> None:
        self.slots = [slot]
        self.group: Group | None = None
        self.exchange: RowExchange | None = None
        self.pending = 0
        slot.bucket, slot.view = self, None

    def send(self, held: Any, unused: bool, failed: bool) -> RowExchange:
        """Return an exchange that has begun, behind the one before."""
        assert self.group is not None
        if self.exchange is not None:
            self.exchange.wait()
        (slot,) = self.slots
        with no_grad_guard():
            if held is not None and not isinstance(held, SelectedRows):
                every = from_numpy(np.arange(slot.leaf.shape[0]), slot.leaf.place)
                held = SelectedRows(every, held.detach(), slot.leaf.shape)
            self.exchange = RowExchange(self.group, slot.leaf, held, unused, failed)
        return self.exchange

    def start(self, failed: bool) -> None:
        (slot,) = self.slots
        exchange = self.send(slot.leaf.grad, not slot.came, failed)
        self.nbytes, self.task = exchange.nbytes, exchange.task

    def more(self) -> bool:
        """Start the next message; return False when all have arrived."""
        assert self.exchange is not None
        going_on = self.exchange.more()
        self.task = self.exchange.task
        return going_on

    def finish(self) -> None:
        assert self.exchange is not None
        mean = self.exchange.mean()
        if mean is not None:
            self.slots[0].leaf.grad = mean

    def unused_and_failed(self) -> tuple[np.ndarray, bool]:
        assert self.exchange is not None
        return self.exchange.unused_and_failed()


def clear(x: Tensor) -> None:
    """Fill a tensor with zeros, in place."""
    zero = from_numpy(np.zeros((), x.dtype.numpy), x.place)
    with no_grad_guard():
        apply_into(_COPY, (x,), (F.broadcast_to(zero, shape=tuple(x.shape)),))


def _held(leaf: Tensor) -> Any:
    """Return the gradient of a leaf; None also where it was cleared and not read since."""
    return None if leaf_gradients.is_cleared(leaf) else leaf.grad


def accumulate(slot: LeafGradient, g: Any) -> None:
    """Accumulate a gradient into that of a leaf, in the bucket's memory if it has one."""
    leaf, view = slot.leaf, slot.view
    if view is None:
        leaf_gradients.add_gradient(leaf, g)
        return
    held = _held(leaf)
    if isinstance(g, SelectedRows):
        g = g.to_dense()
    if g.dtype is not view.dtype:
        g = F.cast(g, dtype=view.dtype)
    if held is None or held is g:
        apply_into(_COPY, (view,), (g,))
    elif isinstance(held, SelectedRows):
        apply_into(_COPY, (view,), (add_to(g, held),))
    else:
        apply_into(_ADD, (view,), (held, g))
    if held is not view:
        leaf.grad = view


class Reducer:
    """Averages the gradients of ``leaves`` (by name) over ``group``, during every backward run that reaches them.

    Args:
        leaves: names and leaves, the same on all ranks.
        group: the ranks. The reducer talks over a group of its own, so that other operations may come in between.
        limit: bytes that a bucket may have.
        last: bytes that the bucket may have that is full last, for which there is nothing left to hide behind.
        unused: accept parameters that a run gives no gradient on some rank; it counts as zero there, and where no
            rank has one ``.grad`` stays as it is.
        rows: the numbers of the leaves whose gradients are selected rows, as far as this is known beforehand; a first
            run that is not captured sees it.
    """

    def __init__(
        self,
        leaves: Sequence[tuple[str, Tensor]],
        group: Group,
        limit: float = 25 << 20,
        last: float = 1 << 20,
        unused: bool = False,
        rows: Sequence[int] = (),
    ) -> None:
        self.group = duplicate(group)
        self.limit, self.last, self.unused, self.rows = limit, last, unused, list(rows)
        self.slots = [LeafGradient(name, leaf) for name, leaf in leaves]
        self.sync = True
        self.buckets: list[Any] | None = None  # None: to be made at the end of the coming run
        self._sinks = [leaf_gradients.Sink(self, i) for i in range(len(self.slots))]
        for sink, slot in zip(self._sinks, self.slots):
            sink.put(slot.leaf)
        self._kind: Any = None  # what the buckets depend on
        self.agreed = False  # whether the ranks have said that their buckets are the same
        self._learned = False  # whether a run has told in how many pieces gradients come
        self.reductions: dict[int, CapturedReduction] = {}  # of the captured function that runs, by backward pass
        self._capturing: tuple[Any, int] = (None, 0)  # the latest capture, and how many backward passes it has
        current().state.values.setdefault(REDUCERS, WeakValueDictionary())[self.group.name] = self
        self._running = self._syncing = False
        self._order: list[int] = []
        self._next = 0  # buckets that were started
        self._pending: list[Any] = []
        self.started_early = 0  # buckets of the latest run that were under way before its end

    def close(self) -> None:
        """Stop reducing gradients."""
        for sink, slot in zip(self._sinks, self.slots):
            sink.drop(slot.leaf)
        self._forget()
        groups.destroy(self.group)

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Accumulate gradients of this rank alone in backward runs inside the context."""
        former, self.sync = self.sync, False
        try:
            yield
        finally:
            self.sync = former

    # --- during a run

    def take(self, key: int, leaf: Tensor, g: Any, create_graph: bool) -> None:
        """Take a gradient for a leaf. Called by the tape."""
        if create_graph:
            raise op_error(
                RuntimeError,
                "DataParallel",
                "backward() without create_graph",
                "create_graph=True",
                "Take the gradients that are differentiated again with paddle.grad.",
            )
        if not self._running:
            self._begin()
        slot = self.slots[key]
        if slot.ready and slot.bucket.task is not None:
            usual, slot.expected = slot.expected, AT_THE_END
            raise op_error(
                RuntimeError,
                "DataParallel",
                f"at most {usual} gradients of {slot.name} from the parts of a backward, as before",
                "one more after they were reduced",
                "Parameters that several recomputed parts share need recompute(..., use_reentrant=False).",
            )
        if slot.view is not None and not slot.bucket.views_checked:
            slot.bucket.check_views()
        accumulate(slot, g)
        slot.came += 1
        if not self._syncing:
            return
        if self.buckets is None or not self._learned:
            self._order.append(key)
        elif slot.came == slot.expected and not slot.ready and slot.bucket is not None:
            self._ready(slot)

    def _begin(self) -> None:
        self._running, self._syncing = True, self.sync
        for slot in self.slots:
            slot.came, slot.ready = 0, False
        for bucket in self.buckets or ():
            bucket.views_checked = False
        if not self.sync:
            tape.after_run(self._end)
            return
        tape.after_run(self._end, self._progress)
        self._look_at_leaves()
        if not self.agreed:
            self._forget()
        self._order = []
        self._next = 0
        if self.buckets is None:
            return
        for bucket in self.buckets:
            bucket.prepare()
            bucket.pending, bucket.task = len(bucket.slots), None
        if self.unused and self._learned:
            reached, hidden = tape.expected_leaves()
            for slot in self.slots:
                if not hidden and slot.bucket is not None and id(slot.leaf) not in reached:
                    self._ready(slot)

    def _look_at_leaves(self) -> None:
        """Give up the buckets where leaves are not as they were."""
        kind = [(slot.frozen, slot.leaf.dtype, slot.leaf.place) for slot in self.slots]
        if kind != self._kind:
            self._kind = kind
            self._forget()

    def _ready(self, slot: LeafGradient) -> None:
        assert self.buckets is not None
        slot.ready = True
        slot.bucket.pending -= 1
        while self._next < len(self.buckets) and not self.buckets[self._next].pending:
            self._start(self.buckets[self._next])

    def _start(self, bucket: Any, failed: bool = False) -> None:
        bucket.began = now()
        bucket.start(failed)
        self._next += 1
        self._pending.append(bucket)

    def _progress(self) -> bool:
        """Progress the reductions in flight; return whether one has completed."""
        arrived = [b for b in self._pending if b.task.done()]
        for bucket in arrived:
            self._arrived(bucket)
        return bool(arrived)

    def _arrived(self, bucket: Any) -> None:
        if isinstance(bucket, SparseBucket) and bucket.more():
            return
        self._pending.remove(bucket)
        collector = EventCollector.active
        if collector is not None:
            number = self.buckets.index(bucket) if self.buckets else 0
            args = {"bucket": number, "bytes": bucket.nbytes, "group": self.group.name}
            collective = "all_gather" if isinstance(bucket, SparseBucket) else "all_reduce"
            collector.span(f"{collective} of gradients {number}", COMMUNICATION, bucket.began, args)

    # --- its end

    def _end(self, complete: bool) -> None:
        self._running, self.started_early = False, self._next
        if not self._syncing:
            return
        error = sys.exc_info()[1]
        if not complete and (isinstance(error, CommError) or not isinstance(error, Exception)):
            # The others cannot be told: what is under way may still write to the buckets, so they are given up.
            self._pending.clear()
            self._forget()
            return
        try:
            if self.buckets is None:
                self._make()
            assert self.buckets is not None
            while self._next < len(self.buckets):
                self._start(self.buckets[self._next], not complete)
            self._wait()
        except BaseException:
            self._pending.clear()
            self._forget()
            raise
        for bucket in self.buckets:
            bucket.finish()
        for slot in self.slots:
            slot.expected = max(slot.came, 1) if slot.expected < slot.came else slot.expected
        if complete:
            self._learned = True
            self._check()

    def _wait(self) -> None:
        start, pause = time.monotonic(), self.group.channel.pause
        while True:
            arrived = self._progress()  # all of them: each needs this thread to go on
            if not self._pending:
                return
            if arrived:
                continue
            waited = time.monotonic() - start
            if waited > PATIENCE:
                self._pending[0].task.wait()  # tells of ranks that are late
            else:
                pause(waited, self._pending[0].task.description)

    def _check(self) -> None:
        """Raise where the ranks did not do the same. They all do so alike."""
        assert self.buckets is not None
        self.check(self.buckets, lambda slot: slot.came)

    def check(self, buckets: Iterable[Any], came: Callable[[LeafGradient], Any]) -> None:
        """Raise where the ranks did not do the same for some buckets; ``came``: whether this one had a gradient."""
        here: list[str] = []
        elsewhere: list[str] = []
        for bucket in buckets:
            missing, failed = bucket.unused_and_failed()
            if failed:
                raise op_error(
                    RuntimeError, "DataParallel", "a backward that ends on all ranks", "one that failed on another rank"
                )
            for slot, none in zip(bucket.slots, missing):
                if none and not self.unused:
                    (elsewhere if came(slot) else here).append(slot.name)
        if here or elsewhere:
            got = [f"none for {here} on rank {self.group.ranks[self.group.rank]}"] if here else []
            got += [f"none for {elsewhere} on another rank"] if elsewhere else []
            raise op_error(
                RuntimeError,
                "DataParallel",
                "a gradient of every parameter in a backward",
                " and ".join(got),
                "Pass find_unused_parameters=True, freeze what is not trained with stop_gradient=True, or sum the "
                "losses and call backward() once.",
            )

    def _forget(self) -> None:
        """Give up the buckets."""
        for bucket in self.buckets or ():
            if isinstance(bucket, SparseBucket) and bucket.group is not None:
                groups.destroy(bucket.group)
        self.buckets = None
        self.agreed = self._learned = False

    def _make(self) -> None:
        """Assign the gradients to buckets, on all ranks in the order of rank 0."""
        order = list(dict.fromkeys(reversed(self._order)))[::-1]  # by the last gradient of each
        rest = [i for i, slot in enumerate(self.slots) if i not in set(order) and not slot.frozen]
        rows = [i for i, slot in enumerate(self.slots) if isinstance(_held(slot.leaf), SelectedRows)]
        self._build(*self._agree(order + rest[::-1], rows, False))
        self._agreed()
        for bucket in self.buckets or ():
            bucket.prepare()

    def _agreed(self) -> None:
        """The buckets are the same on all ranks: make the groups of those of rows."""
        for bucket in self.buckets or ():
            if isinstance(bucket, SparseBucket):
                bucket.group = duplicate(self.group)
        self.agreed = True

    def _agree(self, order: list[int], rows: list[int], fixed: bool) -> tuple[list[int], list[int]]:
        """Return what counts for all: the order of gradients, and which of them are rows. That is what rank 0 has,
        unless a rank can have no other (``fixed``)."""
        frozen = [slot.name for slot in self.slots if slot.frozen]
        said = self.group.gather_objects((order, rows, frozen, fixed))
        for rank, (_, _, layout, _) in zip(self.group.ranks, said):
            different = sorted(set(frozen) ^ set(layout))
            if different:
                raise op_error(
                    RuntimeError, "DataParallel", "the same parameters to be trained on all ranks",
                    f"stop_gradient of {different} different on rank {rank}",
                )  # fmt: skip
        return next((one for one in said if one[3]), said[0])[:2]

    def _build(self, order: list[int], rows: list[int]) -> None:
        self._forget()
        for slot in self.slots:
            slot.bucket = slot.view = None
            slot.expected = max(slot.came, 1)
        self.buckets = []
        for part in cut([self.slots[i] for i in order], {id(self.slots[i]) for i in rows}, self.limit, self.last):
            if len(part) == 1 and self.slots.index(part[0]) in rows:
                self.buckets.append(SparseBucket(part[0]))
                continue
            self.buckets.append(Bucket(self.group, part))
        for bucket in self.buckets:
            bucket.task = None
        self._next = 0

    # --- in captured functions

    def captured(self, tracer: Any, items: Sequence[tuple[int, Tensor, Any]]) -> None:
        """Take (key, leaf, gradient) of a backward in a captured function from its tracer, which records the rest."""
        record(self, tracer, items)

    def number_of_pass(self, tracer: Any) -> int:
        """Return the number of a backward pass of the function that is captured, from 0 on."""
        former, count = self._capturing
        count = count if former is not None and former() is tracer else 0
        self._capturing = weakref.ref(tracer), count + 1
        return count

    def propose(self) -> list[Any]:
        """Return the buckets; where there are none, in the order that captured functions have on all ranks, as a
        capture talks to nobody: the parameters from the last to the first."""
        self._look_at_leaves()
        if self.buckets is None:
            self._build(self._usual_order(), self.rows)
        assert self.buckets is not None
        return self.buckets

    def _usual_order(self) -> list[int]:
        return [i for i, slot in reversed(list(enumerate(self.slots))) if not slot.frozen]

    def agree(self) -> None:
        """Tell ranks that are about to make their buckets which ones a captured function has proposed."""
        if not self.agreed:
            self._agree(self._usual_order(), self.rows, True)
            self._agreed()

    def poll(self) -> None:
        """Progress the buckets of a captured function that are under way."""
        for reduction in self.reductions.values():
            reduction.poll()


def cut(slots: list[LeafGradient], alone: set[int], limit: float, last: float) -> list[list[LeafGradient]]:
    """Slots in the order in which they are ready, cut into buckets of one dtype and place each; those of ``alone`` by
    themselves.

    The last bucket has at most ``last`` bytes, or one slot; the others have ``limit``, or less, so that there are some
    to be under way while others fill.
    """

    def size(slot: LeafGradient) -> int:
        return slot.size * slot.leaf.dtype.itemsize

    most = min(limit, max(SMALL, sum(map(size, slots)) / PARTS))
    parts: list[tuple[int, list[LeafGradient]]] = []
    # Bytes so far, and where in the order the slot stands that is ready last.
    open_: dict[tuple[DType, Place], tuple[float, int, list[LeafGradient]]] = {}
    bound = min(last, most)
    for at in reversed(range(len(slots))):
        slot = slots[at]
        if id(slot) in alone:
            parts.append((at, [slot]))
            continue
        like = slot.leaf.dtype, slot.leaf.place
        held, ready, those = open_.get(like, (0.0, at, []))
        if those and held + size(slot) > bound:
            parts.append((ready, those[::-1]))
            held, ready, those = 0.0, at, []
            bound = most
        open_[like] = held + size(slot), ready, [*those, slot]
    parts += [(ready, those[::-1]) for _, ready, those in open_.values()]
    return [part for _, part in sorted(parts, key=lambda x: x[0])]


def duplicate(group: Group) -> Group:
    """A group of the same ranks for one purpose, made by all of them in the same order."""
    counts = current().state.values.setdefault("comm_private", {})
    number = counts[group.name] = counts.get(group.name, 0) + 1
    name = f"{group.name}.{number}"
    twin = Group(group.channel.split(range(group.size), name), name, group.id, group.ranks)
    twin._timeout, twin.ask_status = group._timeout, group.ask_status
    groups.table()[name] = twin
    return twin


def broadcast_all(tensors: Sequence[Tensor], group: Group, root: int = 0) -> None:
    """Give the tensors the data of rank ``root`` of the group, in place."""
    waiting: list[tuple[Task, Tensor, Any]] = []
    for x in tensors:
        if x.dtype.is_packed:
            raise packed_error("broadcast", x.dtype, x.dtype.name)
        own = x if x.is_contiguous() else F.copy(x.detach())
        waiting.append((group.broadcast(own.detach(), root), x, own))
    for task, x, own in waiting:
        task.wait()
        if own is not x:
            with no_grad_guard():
                apply_into(_COPY, (x.detach(),), (own,))
        own._bump_version()


def check_same(described: Callable[[], Any], group: Group, op_name: str) -> None:
    """Raise ValueError on every rank unless ``described()``, a list of lines, is the same on all."""
    own = described()
    for rank, other in zip(group.ranks, group.gather_objects(own)):
        if other != own:
            first = next((a, b) for a, b in zip([*own, None], [*other, None]) if a != b)
            raise op_error(
                ValueError, op_name, "the same parameters and buffers on all ranks",
                f"{first[0]} on rank {group.ranks[group.rank]} and {first[1]} on rank {rank}",
            )  # fmt: skip
