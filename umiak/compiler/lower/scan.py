"""Scans: nests whose stores are part of a running combination."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from umiak.compiler.loop import monoid as m
from umiak.compiler.loop import node as n
from umiak.compiler.loop.monoid import Monoid
from umiak.compiler.loop.node import Node
from umiak.compiler.loop.types import I64
from umiak.compiler.lower.builder import Builder, Element, Index, compute_type, storage_type
from umiak.compiler.lower.reduce import axes_over
from umiak.compiler.lower.terminal import LaunchBuilder, terminal
from umiak.compiler.nest import Chain, Nest, ScanStage, StoreStage
from umiak.ir import sym as dim
from umiak.ir.meta import dense
from umiak.ir.program import Operation
from umiak.ops import scan


def positions(b: Builder, o: Operation) -> tuple[Index, Node]:
    """The index that the scan has come to, and its part along the axis."""
    shape, op = o.operands[0].meta.shape, o.op
    others = b.open(size for d, size in enumerate(shape) if d != op.axis)
    (i,) = axes_over(b, [shape[op.axis]])
    if op.reverse:
        i = n.sub(b.leaf(shape[op.axis] - 1), i)
    return (*others[: op.axis], i, *others[op.axis :]), i


def elements(b: Builder, o: Operation, k: int, at: Index) -> tuple[Node, ...]:
    """An element of operand ``k``, or its two parts, in the type that the result is computed in."""
    x = b.read(o.operands[k], at)
    type_ = compute_type(o.results[0].meta.dtype)
    return tuple(n.cast(p, type_) for p in (x if isinstance(x, tuple) else (x,)))


def running(
    launch: LaunchBuilder, b: Builder, o: Operation, at: Index, monoid: Monoid, values: Sequence[Node],
    finish: Callable[..., Sequence[Element]], exclusive: bool = False, ordered: bool = False,
) -> Nest | Chain:  # fmt: skip
    """The nest of a scan; ``finish`` makes elements of the operation's results of the combination's."""
    results = tuple(n.var(f"s{k}", v.type) for k, v in enumerate(values))
    stores = [
        s for wanted, v, x in zip(launch.wanted(o), o.results, finish(*results), strict=True) if wanted
        for s in launch.stores(b, v, at, x)
    ]  # fmt: skip
    b.stages.append(ScanStage(results, monoid, tuple(values), tuple(stores), exclusive, ordered))
    return launch.chain([b.finish()])


@terminal(scan.Cumsum)
def cumsum(launch: LaunchBuilder, o: Operation) -> Nest | Chain:
    b = launch.builder()
    at, _ = positions(b, o)
    values = elements(b, o, 0, at)
    results = [n.var(f"s{k}", v.type) for k, v in enumerate(values)]
    totals: Element = results[0] if len(results) == 1 else (results[0], results[1])
    for r, v, store in zip(results, values, launch.stores(b, o.results[0], at, totals), strict=True):
        b.stages.append(ScanStage((r,), m.SUM, (v,), (store,), o.op.exclusive))
    return b.finish()


@terminal(scan.Cumprod)
def cumprod(launch: LaunchBuilder, o: Operation) -> Nest | Chain:
    b = launch.builder()
    at, _ = positions(b, o)
    values = elements(b, o, 0, at)
    if len(values) == 1:
        return running(launch, b, o, at, m.PROD, values, lambda x: [x], o.op.exclusive)
    return running(launch, b, o, at, m.COMPLEX_PROD, values, lambda *x: [x], o.op.exclusive, ordered=True)


@terminal(scan.LogCumsumExp)
def log_cumsum_exp(launch: LaunchBuilder, o: Operation) -> Nest | Chain:
    """By the largest so far and the sum of what is left when it is taken out, so that nothing overflows."""
    b = launch.builder()
    at, _ = positions(b, o)
    (x,) = elements(b, o, 0, at)
    values = (x, n.const(1.0, x.type))
    return running(
        launch, b, o, at, m.ONLINE_SOFTMAX, values, lambda top, s: [n.add(top, n.call("log", s))], o.op.exclusive
    )  # fmt: skip


@terminal(scan.LinearScan)
def linear_scan(launch: LaunchBuilder, o: Operation) -> Nest | Chain:
    """In order: a product of many factors, which other orders need, may overflow where no result does."""
    b = launch.builder()
    at, _ = positions(b, o)
    values = (*elements(b, o, 0, at), *elements(b, o, 1, at))
    if len(values) == 2:
        return running(launch, b, o, at, m.AFFINE, values, lambda _, y: [y], ordered=True)
    return running(launch, b, o, at, m.COMPLEX_AFFINE, values, lambda p, q, re, im: [(re, im)], ordered=True)


@terminal(scan.Cummax, scan.Cummin)
def extremes(launch: LaunchBuilder, o: Operation) -> Nest | Chain:
    """The extremes first; a position holds one, or the latest NaN, where it equals what the scan has come to."""
    value, where = o.results
    wanted, position = launch.wanted(o)
    kind = compute_type(value.meta.dtype)
    own = "" if wanted else launch.temporary(kind, dim.product(value.meta.shape))
    b = launch.builder((0,) if own else ())
    at, _ = positions(b, o)
    (x,) = elements(b, o, 0, at)
    monoid = m.MAX if type(o.op) is scan.Cummax else m.MIN
    extreme = n.var("extreme", x.type)
    if own:
        address = b.address(own, at, dense(tuple(value.meta.shape)).strides)
        stores = [StoreStage(own, address, extreme, True)]
        now = n.load(own, kind, address)
    else:
        stores = launch.stores(b, value, at, extreme)
        now = n.cast(n.load(stores[0].buffer, storage_type(value.meta.dtype), stores[0].index), kind)
    b.stages.append(ScanStage((extreme,), monoid, (x,), tuple(stores)))
    if position:
        # Steps of the scan, which are not positions when it runs from the end.
        (step,) = axes_over(b, [value.meta.shape[o.op.axis]])
        step = step if step.op == "const" else b.affine(step)
        here = n.eq(x, now) if not x.type.is_float else n.call("or", n.eq(x, now), n.ne(x, x))
        latest = n.var("latest", I64)
        last = n.sub(b.leaf(value.meta.shape[o.op.axis] - 1), latest) if o.op.reverse else latest
        kept = launch.stores(b, where, at, n.cast(last, compute_type(where.meta.dtype)))
        b.stages.append(ScanStage((latest,), m.MAX, (n.select(here, step, n.i64(-1)),), tuple(kept)))
    return launch.chain([b.finish()])
