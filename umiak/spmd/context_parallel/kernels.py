"""Kernels of context attention: keys and values go around, attention over one block of them after the other.

Forwards, a rank's result is merged from blocks by their log-sum-exp. Backwards, each block's gradient is that of
attention with the result and log-sum-exp over all keys, so nothing but these is kept; keys and values go around once
more, and their gradients back to the ranks that they came from, which add them up in the order of blocks.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

from umiak import ops as F
from umiak.backends.base import Kernel
from umiak.comm.kernels import contiguous, group_of
from umiak.core import eager
from umiak.core.tensor import Tensor
from umiak.ops import context_parallel as ops
from umiak.ops.dot_product_attention import NEVER
from umiak.spmd.context_parallel.exchange import Exchange, Progress
from umiak.spmd.context_parallel.part import Part, agreed_part


def kernel(call: Any) -> Kernel:
    """Return the kernel of a class of calls."""
    run, op = RUN[type(call.op)], call.op
    return Kernel(call=lambda operands, params: run(op, *operands, *params))


# --- parts of tensors


def plain(name: str, *operands: Any, params: tuple = (), **attributes: Any) -> Any:
    """An op on tensors without history, past the observers."""
    return eager.apply_plain(F.REGISTRY[name](**attributes), operands, params)


def tokens(x: Tensor, first: int, last: int, axis: int = 1) -> Tensor:
    """A view of some tokens."""
    if (first, last) == (0, x.shape[axis]):
        return x
    return plain("slice", x, params=((first,), (last - first,), (1,)), axes=(axis,))


def joined(xs: Sequence[Tensor], axis: int = 1) -> Tensor:
    """Tokens one after the other."""
    return xs[0] if len(xs) == 1 else plain("concat", *xs, axis=axis)


def cast(x: Tensor, dtype: Any) -> Tensor:
    """``x`` in a dtype."""
    return x if x.dtype is dtype else plain("cast", x, dtype=dtype)


def full(value: float, like: Tensor, *shape: int) -> Tensor:
    """A constant in the compute type."""
    return plain("full", value, params=(shape,), dtype=like.dtype.compute)


def chosen(x: Tensor, chunks: Sequence[int], length: int) -> Tensor:
    """Some chunks of ``[batch, tokens, …]``, contiguous: a view where they are."""
    runs: list[list[int]] = []
    for c in chunks:
        if runs and runs[-1][1] == c:
            runs[-1][1] = c + 1
        else:
            runs.append([c, c + 1])
    return contiguous(joined([tokens(x, a * length, b * length) for a, b in runs]))


class Sums:
    """Sums of gradients of a rank's tokens, chunk by chunk, in the compute type."""

    def __init__(self, like: Tensor, length: int) -> None:
        self.like, self.length = like, length
        self.parts: list[Tensor | None] = [None] * (like.shape[1] // length)

    def add(self, x: Tensor, chunks: Sequence[int]) -> None:
        """Add what belongs to some chunks."""
        for i, c in enumerate(chunks):
            part = cast(tokens(x, i * self.length, (i + 1) * self.length), x.dtype.compute)
            former = self.parts[c]
            self.parts[c] = part if former is None else plain("add", former, part)

    def total(self) -> Tensor:
        """All chunks, in the dtype of the tokens; 0 where nothing was added."""
        x = self.like
        shape = x.shape[0], self.length, *x.shape[2:]
        return contiguous(cast(joined([full(0, x, *shape) if p is None else p for p in self.parts]), x.dtype))


# --- steps


class Step(NamedTuple):
    """One call of attention.

    Attributes:
        number: of the step.
        queries: first token of the rank that sees some of the keys, and the one behind the last.
        keys, values: those of the step; None where no query of the rank sees one.
        mask: what hides them.
        under_way: what moves meanwhile.
    """

    number: int
    queries: tuple[int, int]
    keys: Tensor | None
    values: Tensor | None
    mask: Tensor | None
    under_way: Sequence[Exchange]


def steps(group: Any, part: Part, k: Tensor, v: Tensor) -> Iterator[Step]:
    """One block of keys and values after the other; those of later ones are on their way meanwhile."""
    length = part.layout.length

    def start(step: int) -> list[Exchange]:
        if not part.moves(step):
            return []
        sent, come = part.sent(step), {p: n * length for p, n in part.received(step).items()}
        return [Exchange(group, x, {p: chosen(x, c, length) for p, c in sent.items()}, come) for x in (k, v)]

    under_way: deque[list[Exchange]] = deque()
    for step, block in enumerate(part.blocks):
        while step + len(under_way) < part.until[step]:
            under_way.append(start(step + len(under_way)))
        came = [list(exchange.wait().values()) for exchange in under_way.popleft()]
        keys = values = mask = None
        if block.queries[1]:
            keys, values = (k, v) if part.local(step) else map(joined, came)
            mask = part.mask(step, k.place)
        queries = block.queries[0] * length, block.queries[1] * length
        yield Step(step, queries, keys, values, mask, [x for exchanges in under_way for x in exchanges])


def forward(
    op: Any, q: Tensor, k: Tensor, v: Tensor, rows: Tensor, chunks: Tensor, scale: float, size: int
) -> tuple[Tensor, Tensor]:
    """The result for the rank's queries, and their log-sum-exp."""
    group = group_of(op, size)
    part = agreed_part(op, group, rows, chunks, (q, k, v), scale)
    length, compute = part.layout.length, q.dtype.compute
    partial: list[tuple[Tensor, Tensor] | None] = [None] * (q.shape[1] // length)
    for step in steps(group, part, k, v):
        if step.keys is None:
            continue
        first, last = step.queries
        with Progress(group, step.under_way):
            operands = tokens(q, first, last), step.keys, step.values, step.mask
            out, lse = plain("attention_train", *operands, None, params=(scale, 0.0, 0, 0), causal=False)
        if len(part.blocks) == 1 and (first, last) == (0, q.shape[1]):
            return out, lse
        for at in range(0, last - first, length):
            i = (first + at) // length
            one, former = (tokens(out, at, at + length), tokens(lse, at, at + length, 2)), partial[i]
            partial[i] = (cast(one[0], compute), one[1]) if former is None else plain("merge_attention", *former, *one)
    b, _, h, _ = q.shape
    unseen = full(0, q, b, length, h, v.shape[3]), full(NEVER, q, b, h, length)
    outs, sums = zip(*(unseen if x is None else x for x in partial))
    return contiguous(cast(joined(outs), q.dtype)), contiguous(joined(sums, 2))


def backward(
    op: Any,
    q: Tensor,
    k: Tensor,
    v: Tensor,
    out: Tensor,
    lse: Tensor,
    g: Tensor,
    rows: Tensor,
    chunks: Tensor,
    scale: float,
    size: int,
) -> tuple[Tensor, Tensor, Tensor]:
    """Gradients of the rank's queries, keys and values."""
    group = group_of(op, size)
    part = agreed_part(op, group, rows, chunks, (q, k, v), scale)
    length = part.layout.length
    gq, gk, gv = (Sums(x, length) for x in (q, k, v))
    returning: deque[tuple[int, list[Exchange]]] = deque()

    def add_oldest() -> None:
        number, exchanges = returning.popleft()
        for total, exchange in zip((gk, gv), exchanges, strict=True):
            came = exchange.wait()
            for peer, numbers in part.sent(number).items():
                total.add(came[peer], numbers)

    for step in steps(group, part, k, v):
        gradients: Sequence[Tensor] = ()
        first, last = step.queries
        if step.keys is not None:
            query, result, gradient = (tokens(x, first, last) for x in (q, out, g))
            sums = contiguous(tokens(lse, first, last, 2))
            operands = query, step.keys, step.values, result, sums, gradient, step.mask, None, None
            with Progress(group, [*step.under_way, *(x for _, exchanges in returning for x in exchanges)]):
                gradients = plain("attention_grad", *operands, params=(scale, 0.0, 0, 0), causal=False)
            gq.add(gradients[0], range(first // length, last // length))
        if part.moves(step.number):
            while returning and part.until[returning[0][0]] <= step.number:
                add_oldest()
            returning.append((step.number, _start_back(group, part, step.number, (k, v), gradients[1:])))
        elif gradients:
            gk.add(gradients[1], range(len(gk.parts)))
            gv.add(gradients[2], range(len(gv.parts)))
    while returning:
        add_oldest()
    return gq.total(), gk.total(), gv.total()


def _start_back(
    group: Any, part: Part, step: int, like: Sequence[Tensor], gradients: Sequence[Tensor]
) -> list[Exchange]:
    """Gradients of the keys and values of a step, on their way to the ranks that these came from."""
    length = part.layout.length
    come = {p: len(c) * length for p, c in part.sent(step).items()}
    out = []
    for i, x in enumerate(like):
        parts, at = {}, 0
        for p, n in part.received(step).items():
            parts[p] = contiguous(tokens(gradients[i], at, at + n * length))
            at += n * length
        out.append(Exchange(group, x, parts, come))
    return out


RUN: dict[type, Callable[..., tuple]] = {
    ops.ContextAttention: lambda *operands: forward(*operands)[:1],
    ops.ContextAttentionTrain: forward,
    ops.ContextAttentionGrad: backward,
}
