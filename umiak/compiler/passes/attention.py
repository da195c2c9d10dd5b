"""``softmax(query @ key^T * scale + mask) @ value``, spelt out, as one operation."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from typing import Any, NamedTuple

from umiak import ops as F
from umiak.compiler.passes.fusion import Found, Made, fuse_operations, number_of, orders, tensor
from umiak.compiler.passes.registry import register_pass
from umiak.ir.passes import remove_dead
from umiak.ir.program import Operation, Program, Value
from umiak.ir.tracer import Tracer

# Scores of a head below which the matmuls and the softmax between them are as good.
FEWEST_SCORES = 1024


class _Scores(NamedTuple):
    query: Value  # [..., queries, dim]
    key: Value  # [..., keys, dim], or with the last two axes exchanged
    transposed: bool
    scale: float
    mask: Value | None


@register_pass("fused_flash_attn_pass")
def fuse_attention(program: Program) -> None:
    """Make one operation of attention that is spelt out as matmul, softmax and matmul.

    A row that a mask of minus infinity hides as a whole gives zeros then, and NaN before.
    """
    fuse_operations(program, [("matmul", partial(_attention, masks=True, fewest=0))])
    remove_dead(program)


def fuse_plain_attention(program: Program, live: Tracer | None = None, wanted: Iterable[Value] = ()) -> int:
    """The same where it pays and results are equal but for rounding: without a mask, whose data might hide all.

    ``live``: the tracer that is recording the program; ``wanted``: values that must stay.
    """
    if not any(o.name == "softmax" for o in program.walk()):
        return 0
    fusion = partial(_attention, masks=False, fewest=FEWEST_SCORES)
    return fuse_operations(program, [("matmul", fusion)], live, wanted)


def _attention(found: Found, o: Operation, masks: bool, fewest: int) -> Callable[[], Made] | None:
    p, v = o.operands
    if o.op.transpose_x or o.op.transpose_y or type(v) is not Value or v.meta.ndim not in (3, 4):
        return None
    reader, dtype = o, v.meta.dtype
    if (cast := found.inside(p, "cast", reader)) is not None:
        reader, (p,) = cast, cast.operands
    softmax = found.inside(p, "softmax", reader)
    if softmax is None or softmax.op.axis != v.meta.ndim - 1:
        return None
    scores = _scores(found, softmax)
    if scores is None or (scores.mask is not None and not masks):
        return None
    q, k = scores.query, scores.key
    if not (q.meta.dtype is k.meta.dtype is dtype and q.meta.ndim == k.meta.ndim == v.meta.ndim):
        return None
    sizes = (q.meta.shape[-2], k.meta.shape[-1 if scores.transposed else -2])
    if all(type(n) is int for n in sizes) and sizes[0] * sizes[1] < fewest:
        return None
    if scores.mask is not None and scores.mask.meta.dtype is not dtype and not scores.mask.meta.dtype.is_bool:  # type: ignore[union-attr]
        return None

    def build() -> Made:
        key = _swapped(k) if scores.transposed else (k, tuple(range(k.meta.ndim)))
        mask = scores.mask
        if v.meta.ndim == 3:  # one head
            ends = [F.unsqueeze(_permuted(*x), axes=(2,)) for x in ((q, (0, 1, 2)), key, (v, (0, 1, 2)))]
            given = tensor(mask)
            if mask is not None and mask.meta.ndim == 3:
                given = F.unsqueeze(given, axes=(1,))
            y = F.attention(*ends, given, causal=False, scale=scores.scale)
            return F.squeeze(y, axes=(2,))
        heads = (0, 2, 1, 3)
        ends = [_permuted(x, tuple(perm[i] for i in heads)) for x, perm in ((q, heads_last), key, (v, heads_last))]
        return F.permute(F.attention(*ends, tensor(mask), causal=False, scale=scores.scale), perm=heads)

    heads_last = tuple(range(4))
    return build


def _scores(found: Found, softmax: Operation) -> _Scores | None:
    """Return the parts that the operand of a softmax is made of."""
    reader, mask, scale = softmax, None, 1.0
    (s,) = softmax.operands
    if (added := found.inside(s, "add", reader)) is not None:
        for a, b in orders(added):
            if type(b) is Value and any(found.inside(a, name, added) for name in ("matmul", "mul", "div", "cast")):
                reader, s, mask = added, a, b
                break
        else:
            return None
    while True:
        for name in ("mul", "div", "cast"):
            step = found.inside(s, name, reader)
            if step is None:
                continue
            if name != "cast":
                taken = _factor(step)
                if taken is None:
                    return None
                s, factor = taken
                scale *= factor
            else:
                (s,) = step.operands
            reader = step
            break
        else:
            break
    product = found.inside(s, "matmul", reader)
    if product is None or product.op.transpose_x:
        return None
    q, k = product.operands
    transposed = not product.op.transpose_y
    if type(q) is not Value or type(k) is not Value:
        return None
    for name in ("mul", "div"):  # a query that is scaled for its scores alone
        step = found.inside(q, name, product)
        taken = None if step is None else _factor(step)
        if taken is not None:
            q, factor = taken
            scale *= factor
    return _Scores(q, k, transposed, scale, mask)


def _factor(o: Operation) -> tuple[Any, float] | None:
    """(value, number) of a product of both, or of a quotient."""
    if o.name == "div":
        by = number_of(o.operands[1])
        return (o.operands[0], 1.0 / by) if by and type(o.operands[0]) is Value else None
    for a, b in orders(o):
        if type(a) is Value and (by := number_of(b)) is not None:
            return a, float(by)
    return None


def _swapped(x: Value) -> tuple[Value, tuple[int, ...]]:
    """(value, permutation of its axes) that is ``x`` with the last two axes exchanged."""
    n = x.meta.ndim
    return x, (*range(n - 2), n - 1, n - 2)


def _permuted(x: Value, perm: tuple[int, ...]) -> Any:
    """``x`` with its axes permuted: a view of what ``x`` is itself a permutation of."""
    producer = x.operation
    while producer is not None and producer.name == "permute":
        (x,) = producer.operands  # type: ignore[assignment]
        perm = tuple(producer.op.perm[i] for i in perm)
        producer = x.operation
    return tensor(x) if perm == tuple(range(len(perm))) else F.permute(tensor(x), perm=perm)
