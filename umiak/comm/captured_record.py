"""The operations that average gradients in a captured function: what a reducer records of a backward pass."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from umiak import ops as F
from umiak.autodiff.lookups import lookups
from umiak.comm.bucket_flight import part_of
from umiak.comm.captured_buckets import CapturedReduction
from umiak.core import dtype as dt
from umiak.core import leaf_gradients
from umiak.core.captured import Stale
from umiak.core.context import current
from umiak.core.tensor import Tensor
from umiak.ir.sym import product
from umiak.ir.tracer import SymTensor, symbolic
from umiak.runtime.capture import Capture, CaptureError

if TYPE_CHECKING:
    from umiak.comm.buckets import Bucket, Reducer


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
        rows = tracer.rows.get(id(leaf))
        leaf.grad = g  # of a function that sets it, this would be no sum of rows any more
        if rows is not None:
            tracer.rows[id(leaf)] = rows


def _unused(reducer: Reducer, tracer: Capture, totals: dict[int, Any]) -> tuple[dict[int, tuple[Any, bool]], list[int]]:
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
            means[keys[id(slot)]] = part_of(averaged, bucket, k)
    return means


def _rows(total: SymTensor, leaf: Tensor, tracer: Capture, g: SymTensor | None) -> tuple[Any, Any, Any]:
    """Return rows of a gradient of a table, their indices, and which of them count if not all do.

    ``total``: what this rank adds; ``g``: what the pass has given it. As eager steps do, it sends rows as often as they
    were looked up, unless something else has a part in the gradient.
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


def _constants(values: Sequence[int], bucket: Bucket) -> list[Any]:
    """Numbers that are written beside the gradients: no tensors that a run would read."""
    runs = [(value, len(list(those))) for value, those in itertools.groupby(values)]
    return [F.full(value, dtype=bucket.dtype, shape=(count,)) for value, count in runs]
