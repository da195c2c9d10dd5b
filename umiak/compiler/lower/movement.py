"""Rules of ops that move elements: another index into the same value."""

from __future__ import annotations

from functools import partial
from typing import Any

from umiak.compiler.loop import monoid as m
from umiak.compiler.loop import node as n
from umiak.compiler.loop.node import Node, call
from umiak.compiler.lower.builder import Builder, Element, Index, NotANest, compute_type, rule
from umiak.compiler.lower.pointwise import parts
from umiak.compiler.lower.reduce import axes_over, between, outside
from umiak.ir import sym as dim
from umiak.ir.expr import split_product
from umiak.ir.meta import identical
from umiak.ir.program import Operation
from umiak.ops import create, index, movement


@rule(movement.BroadcastTo)
def broadcast_to(b: Builder, o: Operation, k: int, at: Index) -> Element:
    return b.operand(o, 0, at)


@rule(movement.Permute)
def permute(b: Builder, o: Operation, k: int, at: Index) -> Element:
    source = [at[o.op.perm.index(d)] for d in range(len(at))]
    return b.read(o.operands[0], tuple(source))


@rule(movement.Squeeze)
def squeeze(b: Builder, o: Operation, k: int, at: Index) -> Element:
    rest = iter(at)
    rank = len(o.operands[0].meta.shape)
    return b.read(o.operands[0], tuple(n.i64(0) if d in o.op.axes else next(rest) for d in range(rank)))


@rule(movement.Unsqueeze)
def unsqueeze(b: Builder, o: Operation, k: int, at: Index) -> Element:
    return b.read(o.operands[0], tuple(i for d, i in enumerate(at) if d not in o.op.axes))


@rule(movement.Reshape)
def reshape(b: Builder, o: Operation, k: int, at: Index) -> Element:
    x = o.operands[0]
    return b.read(x, regrouped(b, tuple(o.results[0].meta.shape), tuple(x.meta.shape), at))


def regrouped(b: Builder, shape: tuple, other: tuple, at: Index) -> Index:
    """The index under the shape ``other`` of the element at ``at`` under ``shape``.

    Dims are taken in runs with equally many elements. Where several become one the index is a sum; where they are told
    apart it takes divisions, which nests do not run: they must cancel in addresses (:meth:`Builder.divided`).
    """
    left = [(i, m) for i, m in zip(at, shape, strict=True) if not _is_one(m)]
    right = [m for m in other if not _is_one(m)]
    indices: list[Node] = []
    while left and right:
        (i, have), want = left.pop(0), right.pop(0)
        sizes = [want]
        while not identical(have, want):
            # Sizes that are not comparable go on until both sides end.
            more_here = left and (not right or _below(have, want))
            if more_here:
                j, m = left.pop(0)
                i, have = n.add(n.mul(i, b.leaf(m)), j), have * m
            elif right:
                sizes.append(right.pop(0))
                want = want * sizes[-1]
            else:
                break
        indices += b.divided(i, sizes)
    if left or right:
        raise NotANest("a reshape of what may be empty")
    rest = iter(indices)
    return tuple(n.i64(0) if _is_one(m) else next(rest) for m in other)


def _below(a: Any, b: Any) -> bool:
    """Return whether ``a`` lacks a factor that ``b`` has, as far as their expressions tell."""
    if type(a) is int and type(b) is int:
        return a < b
    return len(split_product(a)[1]) <= len(split_product(b)[1])


def _is_one(m: Any) -> bool:
    return type(m) is int and m == 1


@rule(movement.Slice)
def slice_(b: Builder, o: Operation, k: int, at: Index) -> Element:
    starts, _, steps = o.params
    source = list(at)
    for a, start, step in zip(o.op.axes, starts, steps, strict=True):
        source[a] = n.add(n.mul(at[a], b.leaf(step)), b.leaf(start))
    return b.read(o.operands[0], tuple(source))


@rule(movement.Diagonal)
def diagonal(b: Builder, o: Operation, k: int, at: Index) -> Element:
    (offset,) = o.params
    row = n.add(at[-1], b.leaf(-dim.minimum(offset, 0)))
    column = n.add(at[-1], b.leaf(dim.maximum(offset, 0)))
    rest = iter(at[:-1])
    rank = len(o.operands[0].meta.shape)
    axes = {o.op.axis1: row, o.op.axis2: column}
    return b.read(o.operands[0], tuple(axes[d] if d in axes else next(rest) for d in range(rank)))


@rule(movement.Unfold)
def unfold(b: Builder, o: Operation, k: int, at: Index) -> Element:
    _, step = o.params
    source = list(at[:-1])
    source[o.op.axis] = n.add(n.mul(source[o.op.axis], b.leaf(step)), at[-1])
    return b.read(o.operands[0], tuple(source))


@rule(movement.AsReal)
def as_real(b: Builder, o: Operation, k: int, at: Index) -> Element:
    re, im = parts(b.read(o.operands[0], at[:-1]))
    return n.select(n.eq(at[-1], 0), re, im)


@rule(movement.AsComplex)
def as_complex(b: Builder, o: Operation, k: int, at: Index) -> Element:
    x = o.operands[0]
    return b.read(x, (*at, n.i64(0))), b.read(x, (*at, n.i64(1)))  # type: ignore[return-value]


@rule(movement.Flip)
def flip(b: Builder, o: Operation, k: int, at: Index) -> Element:
    x = o.operands[0]
    source = [n.sub(b.leaf(x.meta.shape[d] - 1), i) if d in o.op.axes else i for d, i in enumerate(at)]
    return b.read(x, tuple(source))


@rule(movement.Roll)
def roll(b: Builder, o: Operation, k: int, at: Index) -> Element:
    x, source = o.operands[0], list(at)
    for a, shift in zip(o.op.axes, o.params[0], strict=True):
        size = x.meta.shape[a]
        back = n.sub(source[a], b.leaf(dim_mod(shift, size)))
        source[a] = n.select(n.lt(back, 0), n.add(back, b.leaf(size)), back)
    return b.read(x, tuple(source))


def dim_mod(a: Any, size: Any) -> Any:
    """``a`` modulo a size that may be 0."""
    return a % dim.maximum(size, 1)


@rule(movement.Tile)
def tile(b: Builder, o: Operation, k: int, at: Index) -> Element:
    x = o.operands[0]
    shape = x.meta.shape
    inner = at[len(at) - len(shape) :]
    return b.read(x, tuple(i if _is_one(r) else n.rem(i, b.leaf(m)) for i, m, r in zip(
        inner, shape, o.params[0][len(o.params[0]) - len(shape) :], strict=True)))  # fmt: skip


@rule(movement.RepeatInterleave)
def repeat_interleave(b: Builder, o: Operation, k: int, at: Index) -> Element:
    source = list(at)
    source[o.op.axis] = n.div(at[o.op.axis], b.leaf(o.params[0]))
    return b.read(o.operands[0], tuple(source))


def choose(where: Node, x: Element, y: Element) -> Element:
    """One of two elements, real or complex."""
    if isinstance(x, tuple) or isinstance(y, tuple):
        return tuple(n.select(where, p, q) for p, q in zip(parts(x), parts(y), strict=True))  # type: ignore[return-value]
    return n.select(where, x, y)


def padded_from(mode: str, i: Node, size: Node) -> Node:
    """Return the element of a dim that stands at ``i``, counted from its first one, in a mode that repeats elements."""
    if mode == "circular":
        return n.select(n.lt(i, 0), n.add(i, size), n.select(n.lt(i, size), i, n.sub(i, size)))
    last = n.sub(size, 1)
    if mode == "replicate":
        return n.maximum(n.minimum(i, last), 0)
    return n.sub(last, call("abs", n.sub(last, call("abs", i))))


@rule(movement.Pad)
def pad(b: Builder, o: Operation, k: int, at: Index) -> Element:
    x, value = o.operands
    shape = x.meta.shape
    source, inside = list(at), None
    for a, lo, _ in o.op.each(len(shape), *o.params):
        i, size = n.sub(at[a], b.leaf(lo)), b.leaf(shape[a])
        if o.op.mode == "constant":
            inside = n.conjunction(inside, between(n.i64(0), i, size))
        else:
            i = padded_from(o.op.mode, i, size)
        source[a] = i
    if inside is None:
        return b.read(x, tuple(source))
    element = b.guarded(inside, lambda: b.read(x, tuple(source)))
    type_ = compute_type(x.meta.dtype)
    if isinstance(value, complex):
        fill: Element = (n.const(value.real, type_), n.const(value.imag, type_))
    else:
        fill = b.number(value, type_)
    return choose(inside, element, fill)


MOST_PARTS = 16  # every element asks all of them, and so does the code


def few_parts(o: Operation) -> None:
    if len(o.operands) > MOST_PARTS:
        raise NotANest(f"{o.name} of {len(o.operands)} tensors")


@rule(movement.Concat)
def concat(b: Builder, o: Operation, k: int, at: Index) -> Element:
    few_parts(o)
    a = o.op.axis
    out: Element | None = None
    start: Any = 0
    for x in o.operands:
        size = x.meta.shape[a]
        first = b.leaf(start)
        inside = between(first, at[a], b.leaf(start + size))
        source = (*at[:a], n.sub(at[a], first), *at[a + 1 :])
        element = b.guarded(inside, partial(b.read, x, source))
        out = element if out is None else choose(inside, element, out)
        start = start + size
    assert out is not None
    return out


@rule(movement.Stack)
def stack(b: Builder, o: Operation, k: int, at: Index) -> Element:
    few_parts(o)
    a = o.op.axis
    source = (*at[:a], *at[a + 1 :])
    out: Element | None = None
    for j, x in enumerate(o.operands):
        here = n.eq(at[a], j)
        element = b.guarded(here, partial(b.read, x, source))
        out = element if out is None else choose(here, element, out)
    assert out is not None
    return out


@rule(movement.Split)
def split(b: Builder, o: Operation, k: int, at: Index) -> Element:
    a = o.op.axis
    start = b.leaf(sum(o.params[0][:k]))
    return b.read(o.operands[0], (*at[:a], n.add(at[a], start), *at[a + 1 :]))


@rule(movement.Unbind)
def unbind(b: Builder, o: Operation, k: int, at: Index) -> Element:
    a = o.op.axis
    return b.read(o.operands[0], (*at[:a], n.i64(k), *at[a:]))


@rule(movement.ScatterView)
def scatter_view(b: Builder, o: Operation, k: int, at: Index) -> Element:
    """Element ``at`` of the base, or of the value where the region holds it."""
    region = o.op.region
    base, value = o.operands
    args = movement.unflatten_params(region, o.params[0])
    shape = base.meta.shape
    inside: Node | None = None
    if isinstance(region, movement.Slice):
        starts, sizes, steps = args
        source = list(at)
        for a, start, size, step in zip(region.axes, starts, sizes, steps, strict=True):
            away = n.sub(at[a], b.leaf(start))
            if type(step) is int and step == 1:
                position = away
            else:
                position = n.div(away, b.leaf(step))
                inside = n.conjunction(inside, n.eq(n.mul(position, b.leaf(step)), away))
            inside = n.conjunction(inside, between(n.i64(0), position, b.leaf(size)))
            source[a] = position
    elif isinstance(region, movement.Permute):
        source = [at[p] for p in region.perm]
    elif isinstance(region, movement.Squeeze):
        source = [i for d, i in enumerate(at) if d not in region.axes]
    elif isinstance(region, movement.Diagonal):
        (offset,) = args
        row, column = at[region.axis1], at[region.axis2]
        inside = n.eq(n.sub(column, row), b.leaf(offset))
        source = [i for d, i in enumerate(at) if d not in (region.axis1, region.axis2)]
        source.append(n.add(row, b.leaf(dim.minimum(offset, 0))))
    elif isinstance(region, movement.Reshape):
        source = list(regrouped(b, tuple(shape), tuple(args[0]), at))
    elif isinstance(region, movement.AsReal):
        source = list(at)
    elif isinstance(region, movement.Unfold):
        return scatter_windows(b, o, at, *args)
    elif isinstance(region, movement.Unsqueeze):
        rest = iter(at)
        source = [n.i64(0) if d in region.axes else next(rest) for d in range(len(shape) + len(region.axes))]
    else:
        raise NotANest(f"a write through {region.name}")
    type_ = compute_type(base.meta.dtype)

    def seen() -> Element:
        if not hasattr(value, "meta"):
            return b.number(value, type_)
        if isinstance(region, movement.AsReal):
            return tuple(b.read(value, (*source, n.i64(k))) for k in range(2))  # type: ignore[return-value]
        return b.read(value, tuple(source))

    found = seen() if inside is None else b.guarded(inside, seen)
    if o.op.accumulate:
        was = b.read(base, at)
        if isinstance(was, tuple):
            more = parts(found)
            found = (n.add(was[0], more[0]), n.add(was[1], more[1]))
        else:
            found = n.add(was, found)
        return found if inside is None else choose(inside, found, was)
    if inside is None:
        return parts(found) if base.meta.dtype.is_complex else found
    was = b.guarded(call("not", inside), lambda: b.read(base, at))
    return choose(inside, found, was)


def scatter_windows(b: Builder, o: Operation, at: Index, size: Any, step: Any) -> Element:
    """Return element ``at`` of a scatter of windows into a base: the last window over it wins, or all are added to it.

    The element is the base's own where no window covers it.
    """
    base, value = o.operands
    region, type_ = o.op.region, compute_type(base.meta.dtype)
    a = region.axis
    count = b.leaf(dim.maximum((base.meta.shape[a] - size) // step + 1, 0))

    def seen(window: Node, position: Node) -> Element:
        if not hasattr(value, "meta"):
            return b.number(value, type_)
        return b.read(value, (*at[:a], window, *at[a + 1 :], position))

    if o.op.accumulate:
        outside(b, at)
        (position,) = axes_over(b, (size,))
        away = n.sub(at[a], position)
        window = n.div(away, b.leaf(step))
        inside = n.conjunction(between(n.i64(0), window, count), n.eq(n.mul(window, b.leaf(step)), away))
        inside = n.conjunction(inside, n.le(n.i64(0), away))
        assert inside is not None
        more = parts(b.guarded(inside, lambda: seen(window, position)), False)
        total = [b.reduce(m.SUM, (p,), inside)[0] for p in more]
        was = parts(b.read(base, at), False)
        both = [n.add(p, q) for p, q in zip(was, total, strict=True)]
        return both[0] if len(both) == 1 else (both[0], both[1])
    window = n.minimum(n.div(at[a], b.leaf(step)), n.sub(count, 1))
    position = n.sub(at[a], n.mul(window, b.leaf(step)))
    inside = n.conjunction(n.lt(position, b.leaf(size)), n.le(n.i64(0), window))
    assert inside is not None
    found = b.guarded(inside, lambda: seen(window, position))
    return choose(inside, found, b.guarded(call("not", inside), lambda: b.read(base, at)))


@rule(index.Tril, index.Triu)
def triangle(b: Builder, o: Operation, k: int, at: Index) -> Element:
    above = n.sub(n.sub(at[-1], at[-2]), b.leaf(o.params[0]))
    keep = n.le(above, 0) if isinstance(o.op, index.Tril) else n.le(n.i64(0), above)
    x = b.guarded(keep, lambda: b.read(o.operands[0], at))
    zero = n.const(0, parts(x, False)[0].type)
    return choose(keep, x, zero)


@rule(index.OneHot)
def one_hot(b: Builder, o: Operation, k: int, at: Index) -> Element:
    x = n.cast(b.read(o.operands[0], at[:-1]), at[-1].type)
    hit = n.cast(n.eq(x, at[-1]), compute_type(o.op.dtype))
    return (hit, n.const(0.0, hit.type)) if o.op.dtype.is_complex else hit


@rule(index.Take)
def take(b: Builder, o: Operation, k: int, at: Index) -> Element:
    x, positions = o.operands
    a, rank = o.op.axis, len(positions.meta.shape)
    i = n.cast(b.read(positions, at[a : a + rank]), n.I64)
    i, inside = b.checked(i, x.meta.shape[a], from_end=o.op.from_end)
    return b.guarded(inside, lambda: b.read(x, (*at[:a], i, *at[a + rank :])))


@rule(index.TakeAlong)
def take_along(b: Builder, o: Operation, k: int, at: Index) -> Element:
    x, positions = o.operands
    a = o.op.axis
    i = n.cast(b.read(positions, at), n.I64)
    i, inside = b.checked(i, x.meta.shape[a], from_end=o.op.from_end)
    return b.guarded(inside, lambda: b.read(x, (*at[:a], i, *at[a + 1 :])))


@rule(index.GatherNd)
def gather_nd(b: Builder, o: Operation, k: int, at: Index) -> Element:
    x, positions = o.operands
    lead = len(positions.meta.shape) - 1
    source: list[Node] = []
    inside: Node | None = None
    for d in range(o.op.depth):
        i = n.cast(b.read(positions, (*at[:lead], n.i64(d))), n.I64)
        i, here = b.checked(i, x.meta.shape[d])
        source.append(i)
        inside = n.conjunction(inside, here)
    source += at[lead:]
    if inside is None:
        return b.read(x, tuple(source))
    return b.guarded(inside, lambda: b.read(x, tuple(source)))


@rule(create.Full)
def full(b: Builder, o: Operation, k: int, at: Index) -> Element:
    value, dtype = o.operands[0], o.op.dtype
    type_ = compute_type(dtype)
    if hasattr(value, "meta"):
        x = b.read(value, ())
        if dtype.is_complex:
            return tuple(n.cast(p, type_) for p in parts(x))  # type: ignore[return-value]
        return n.cast(parts(x)[0], type_)
    if isinstance(value, complex):
        return n.const(value.real, type_), n.const(value.imag, type_)
    filling = b.number(value, type_)
    return (filling, n.const(0.0, type_)) if dtype.is_complex else filling


@rule(create.Iota)
def iota(b: Builder, o: Operation, k: int, at: Index) -> Element:
    type_ = compute_type(o.op.dtype)
    start, step = (b.number(x, type_) for x in o.operands)
    i = at[0] if at[0].op == "const" else b.affine(at[0])
    return n.add(start, n.mul(n.cast(i, type_), step))
