"""Reads attention as it is spelt out, ``softmax(query @ key^T * scale + mask) @ value``: its matmuls, scales and
masks.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from umiak import ops as F
from umiak.compiler.passes.fusion import Found, number_of, orders, same_sizes, spread_number, tensor
from umiak.compiler.passes.spelled_mask import Part
from umiak.compiler.passes.spelled_softmax import softmax
from umiak.core.dtype import DType
from umiak.ir import sym as dim
from umiak.ir.program import Operation, Value
from umiak.ir.rewrite import operand_of

PRODUCTS = "matmul", "bmm", "einsum"


@dataclass(frozen=True, eq=False)
class Labelled:
    """A value, and what its dims are: ``b`` and ``h`` for batch and heads, ``q``, ``k``, ``d`` and ``e``."""

    value: Value
    labels: str

    def size(self, label: str) -> Any:
        return self.value.meta.shape[self.labels.index(label)] if label in self.labels else 1

    def order(self, labels: str) -> Any:
        """Return the tensor with its dims in this order, those that it has not of size 1."""
        own = [c for c in labels if c in self.labels]
        perm = tuple(self.labels.index(c) for c in own)
        x = tensor(self.value)
        if perm != tuple(range(len(perm))):
            x = F.permute(x, perm=perm)
        missing = tuple(i for i, c in enumerate(labels) if c not in self.labels)
        return F.unsqueeze(x, axes=missing) if missing else x

    def back(self, x: Any, labels: str) -> Any:
        """Return what a tensor in this order is in the value's own: the inverse of :meth:`order`."""
        missing = tuple(i for i, c in enumerate(labels) if c not in self.labels)
        if missing:
            x = F.squeeze(x, axes=missing)
        own = [c for c in labels if c in self.labels]
        perm = tuple(own.index(c) for c in self.labels)
        return x if perm == tuple(range(len(perm))) else F.permute(x, perm=perm)


@dataclass(frozen=True, eq=False)
class Spelled:
    """``query`` has the labels of ``bqhd``, ``key`` of ``bkhd``, ``value`` of ``bkhe``, and the result ``labels``.

    ``guarded``: a query that sees nothing gives zeros. ``joined``: heads that share a key head stand below each other
    in the result, as more queries of that head.
    """

    query: Labelled
    key: Labelled
    value: Labelled
    labels: str
    scale: float
    masks: tuple[Part, ...]
    dtype: DType
    guarded: bool = False
    joined: bool = False

    @property
    def sizes(self) -> tuple[Any, Any, Any, Any]:
        """Batch, heads, queries and keys."""
        q = self.query
        return q.size("b"), q.size("h"), q.size("q"), self.key.size("k")

    def operands(self) -> tuple[Any, Any, Any]:
        """Query, key and value in the order of attention."""
        return self.query.order("bqhd"), self.key.order("bkhd"), self.value.order("bkhe")

    def result(self, y: Any, o: Operation) -> Any:
        """Return what attention gives as ``o`` has it."""
        if self.joined:
            return F.reshape(F.permute(y, perm=(0, 2, 1, 3)), shape=o.results[0].meta.shape)
        return Labelled(o.results[0], self.labels).back(y, "bqhe")

    def of_result(self, y: Value) -> Any:
        """Return the inverse of :meth:`result`."""
        if self.joined:
            batch, heads, queries, _ = self.sizes
            apart = F.reshape(tensor(y), shape=(batch, heads, queries, self.value.size("e")))
            return F.permute(apart, perm=(0, 2, 1, 3))
        return Labelled(y, self.labels).order("bqhe")


@dataclass(frozen=True, eq=False)
class _Scores:
    query: Labelled
    key: Labelled
    scale: float = 1.0
    masks: tuple[Part, ...] = ()


def spelled(found: Found, o: Operation) -> Spelled | None:
    """Return the attention that a matmul, or einsum, is the end of; None where it is of something else."""
    for p, v, of_weights, of_value, labels in _products(o, ("q", "k", "e")):
        reader, dtype = o, v.meta.dtype
        if (cast := found.inside(p, "cast", reader)) is not None:
            reader, (p,) = cast, cast.operands
        joined = _joins(found.inside(p, "reshape", reader), of_weights)
        if joined is not None:
            reader, p = joined, joined.operands[0]
        weights = softmax(found, p, reader)
        if weights is None or of_weights[weights.axis] != "k":
            continue
        scores = _scores(found, weights.scores, weights.reader, of_weights, weights.times)
        if scores is None:
            continue
        query, key, value = (_origin(found, x) for x in (scores.query, scores.key, Labelled(v, of_value)))
        query, key = (_narrow(found, x, dtype) for x in (query, key))
        key, value = _grouped(found, query, key, value)
        if joined is not None and not dim.same(key.size("h"), v.meta.shape[1]):
            continue
        if _fits(query, key, value, dtype):
            more = weights.guarded, joined is not None
            return Spelled(query, key, value, labels, scores.scale, scores.masks, dtype, *more)
    return None


def _joins(o: Operation | None, labels: str) -> Operation | None:
    """``o`` where it puts query heads that share a key head below each other: ``[b, h, q, n]`` to ``[b, key heads, h /
    key heads * q, n]``."""
    if o is None or labels not in ("bhqk", "bhqd"):
        return None
    (source,) = o.operands
    x, y = source.meta.shape, o.results[0].meta.shape  # type: ignore[union-attr]
    if not len(x) == len(y) == 4 or not (dim.same(x[0], y[0]) and dim.same(x[3], y[3])):
        return None
    return o if type(x[1]) is type(y[1]) is int and y[1] >= 1 and x[1] % y[1] == 0 else None


def _fits(query: Labelled, key: Labelled, value: Labelled, dtype: DType) -> bool:
    """Return whether these are operands of one attention."""
    if not all(x.value.meta.dtype is dtype for x in (query, key, value)):
        return False
    pairs = [(query, "b", key, "b"), (key, "b", value, "b"), (key, "h", value, "h"), (key, "k", value, "k")]
    if not all(dim.same(a.size(m), b.size(n)) for a, m, b, n in pairs) or not dim.same(query.size("d"), key.size("d")):
        return False
    heads, own = query.size("h"), key.size("h")
    return dim.same(heads, own) or (type(heads) is type(own) is int and own >= 1 and heads % own == 0)


# --- matmuls ---------------------------------------------------------------------------------------------------------


def _products(o: Operation, last: tuple[str, str, str]) -> Iterator[tuple[Any, Any, str, str, str]]:
    """The operands of a product over the second of three labels, with their labels and those of the result."""
    m, n, k = last
    if len(o.operands) != 2 or any(type(x) is not Value for x in o.operands):
        return
    x: Any
    y: Any
    x, y = o.operands
    if o.name in ("matmul", "bmm"):
        rank = o.results[0].meta.ndim
        if rank in (3, 4) and x.meta.ndim == y.meta.ndim == rank:
            lead = "bh"[: rank - 2]
            transposed = o.name == "matmul" and o.op.transpose_x, o.name == "matmul" and o.op.transpose_y
            first = lead + (n + m if transposed[0] else m + n)
            second = lead + (k + n if transposed[1] else n + k)
            yield x, y, first, second, lead + m + k
    elif o.name == "einsum":
        inner, _, out = o.op.equation.replace(" ", "").partition("->")
        ranks = [x.meta.ndim, y.meta.ndim, o.results[0].meta.ndim]
        *terms, out = (_spelt_dims(t, n) for t, n in zip((*inner.split(","), out), ranks, strict=True))
        if len(terms) != 2 or not out or any(len(set(t)) != len(t) or not t.isalpha() for t in (*terms, out)):
            return
        for a, b, first, second in ((x, y, terms[0], terms[1]), (y, x, terms[1], terms[0])):
            names = _names(first, second, out, last)
            if names is not None:
                first, second, last_out = ("".join(names[c] for c in t) for t in (first, second, out))
                yield a, b, first, second, last_out


def _spelt_dims(term: str, rank: int) -> str:
    """A term of an equation with labels for the dims that "..." stands for."""
    return term.replace("...", "ABCDEFGH"[: max(rank - len(term) + 3, 0)])


def _names(first: str, second: str, out: str, last: tuple[str, str, str]) -> dict[str, str] | None:
    """Our labels for those of an equation: batch and heads are in all three, in the order of the result."""
    shared = [c for c in out if c in first and c in second]
    sets = [set(x) - set(shared) for x in (first, second, out)]
    m, k = sets[0] & sets[2], sets[1] & sets[2]
    n = sets[0] & sets[1]
    if not (len(shared) in (1, 2) and len(m) == len(n) == len(k) == 1) or any(len(s) != 2 for s in sets):
        return None
    own = dict(zip((m.pop(), n.pop(), k.pop()), last, strict=True))
    return own | dict(zip(shared, "bh", strict=False))


# --- scores ----------------------------------------------------------------------------------------------------------


def _scores(found: Found, s: Any, reader: Operation, labels: str, times: int = 1) -> _Scores | None:
    """Return what scores are made of: the operand ``s`` of ``reader``, whose dims are ``labels``."""
    for name, rule in _STEPS.items():
        if (step := found.inside(s, name, reader, times)) is not None:
            return rule(found, step, labels)
    product = next((o for name in PRODUCTS if (o := found.inside(s, name, reader, times)) is not None), None)
    for q, k, of_query, of_key, own in () if product is None else _products(product, ("q", "d", "k")):
        if own != labels:  # einsum may have other names for batch and heads
            continue
        (q, by_query), (k, by_key) = (_unscaled(found, x, product) for x in (q, k))  # type: ignore[arg-type]
        return _Scores(Labelled(q, of_query), Labelled(k, of_key), by_query * by_key)
    return None


def _same(found: Found, o: Operation, labels: str) -> _Scores | None:
    """Scores as they are, if they are as many."""
    (x,) = o.operands
    return _scores(found, x, o, labels) if same_sizes(x.meta.shape, o.results[0].meta.shape) else None  # type: ignore[union-attr]


def _apart(found: Found, o: Operation, labels: str) -> _Scores | None:
    """Scores of query heads that stood below each other in a product with their key head."""
    if (same := _same(found, o, labels)) is not None or labels != "bhqk":
        return same
    product = found.inside(o.operands[0], "matmul", o)
    for q, k, of_query, of_key, own in () if product is None else _products(product, ("q", "d", "k")):
        q, by_query = _unscaled(found, q, product)  # type: ignore[arg-type]
        k, by_key = _unscaled(found, k, product)  # type: ignore[arg-type]
        joined = _joins(operand_of(q, "reshape"), of_query)
        if own != labels or joined is None or not _passes(found, q, joined.operands[0]):
            return None
        source: Any = joined.operands[0]
        if not same_sizes(source.meta.shape[:3], o.results[0].meta.shape[:3]):
            return None
        q, by_source = _unscaled(found, source, joined)
        return _Scores(Labelled(q, of_query), Labelled(k, of_key), by_query * by_key * by_source)
    return None


def _cast(found: Found, o: Operation, labels: str) -> _Scores | None:
    return _scores(found, o.operands[0], o, labels)


def _scaled(found: Found, o: Operation, labels: str) -> _Scores | None:
    taken = _factor(o)
    scores = None if taken is None else _scores(found, taken[0], o, labels)
    return None if scores is None or scores.masks else replace(scores, scale=scores.scale * taken[1])  # type: ignore[index]


def _added(found: Found, o: Operation, labels: str) -> _Scores | None:
    for a, b in orders(o):
        if type(b) is Value and (scores := _scores(found, a, o, labels)) is not None:
            return _masked(scores, labels, Part("added", b))
    return None


def _filled(found: Found, o: Operation, labels: str) -> _Scores | None:
    """Scores with a number in place of some."""
    condition, x, y = o.operands
    for s, other, kind in ((x, y, "visible"), (y, x, "hidden")):
        fill = spread_number(other)
        if fill is not None and type(condition) is Value and (scores := _scores(found, s, o, labels)) is not None:
            return _masked(scores, labels, Part(kind, condition, fill))
    return None


def _masked(scores: _Scores, labels: str, part: Part) -> _Scores | None:
    """Masks have the order of dims that attention wants."""
    if labels not in ("bhqk", "bqk") or part.mask.meta.ndim > len(labels):
        return None
    return replace(scores, masks=(*scores.masks, part))


_STEPS = {
    "cast": _cast, "copy": _same, "mul": _scaled, "div": _scaled, "add": _added, "where": _filled, "reshape": _apart,
    "broadcast_to": _same,
}  # fmt: skip


def _unscaled(found: Found, x: Any, reader: Operation) -> tuple[Any, float]:
    """An operand that is scaled for its scores alone, without the scale."""
    for name in ("mul", "div"):
        step = found.inside(x, name, reader)
        if step is not None and (taken := _factor(step)) is not None:
            return taken
    return x, 1.0


def _factor(o: Operation) -> tuple[Any, float] | None:
    """(value, number) of a product of both, or of a quotient."""
    if o.name == "div":
        by = number_of(o.operands[1])
        return (o.operands[0], 1.0 / by) if by and type(o.operands[0]) is Value else None
    for a, b in orders(o):
        if type(a) is Value and (by := number_of(b)) is not None:
            return a, float(by)
    return None


# --- what operands are views of --------------------------------------------------------------------------------------


def _passes(found: Found, x: Value, source: Any) -> bool:
    """Return whether the way from ``source`` to ``x`` may be gone past: nothing is asked about ``x`` itself."""
    return type(source) is Value and id(x) not in found.kept and not x.hooks and x.stop == source.stop


def _origin(found: Found, x: Labelled) -> Labelled:
    """Return the value that an operand is a permutation of."""
    while (o := x.value.operation) is not None and o.name in ("permute", "reshape"):
        source: Any = o.operands[0]
        if not _passes(found, x.value, source):
            break
        if o.name == "reshape":
            if not same_sizes(source.meta.shape, x.value.meta.shape):
                break
            x = Labelled(source, x.labels)
            continue
        labels = [""] * len(x.labels)
        for place, at in enumerate(o.op.perm):
            labels[at] = x.labels[place]
        x = Labelled(source, "".join(labels))
    return x


def _narrow(found: Found, x: Labelled, dtype: DType) -> Labelled:
    """A 16-bit operand that is cast to float32 for its scores: attention multiplies it as exactly."""
    o = operand_of(x.value, "cast")
    if o is None or x.value.meta.dtype is dtype or not _passes(found, x.value, o.operands[0]):
        return x
    source = o.operands[0]
    exact = source.meta.dtype is dtype and dtype.bits == 16 and o.op.dtype.name == "float32"  # type: ignore[union-attr]
    return _origin(found, Labelled(source, x.labels)) if exact else x  # type: ignore[arg-type]


def _grouped(found: Found, query: Labelled, key: Labelled, value: Labelled) -> tuple[Labelled, Labelled]:
    """Keys and values without the repetition of their heads, where both are repeated alike."""
    k, v = _repeated(found, key), _repeated(found, value)
    if k is not None and v is not None and dim.same(k.size("h"), v.size("h")) and type(k.size("h")) is int:
        return k, v
    return key, value


def _repeated(found: Found, x: Labelled) -> Labelled | None:
    """Return the value that an operand repeats, head by head."""
    if "h" not in x.labels:
        return None
    at = x.labels.index("h")
    source: Any
    o = operand_of(x.value, "repeat_interleave")
    if o is not None:
        source = o.operands[0] if o.op.axis == at else None
    else:
        source = _spread_heads(x.value, at)
    if source is None or not _passes(found, x.value, source):
        return None
    return _origin(found, Labelled(source, x.labels))


def _spread_heads(x: Value, at: int) -> Any:
    """The operand of an unsqueeze behind the heads, a broadcast along the new dim and a reshape that joins both."""
    joined = operand_of(x, "reshape")
    wide = operand_of(joined.operands[0], "broadcast_to") if joined is not None else None
    thin = operand_of(wide.operands[0], "unsqueeze") if wide is not None else None
    if thin is None or thin.op.axes != (at + 1,):
        return None
    source = thin.operands[0]
    if type(source) is not Value or source.meta.ndim != x.meta.ndim:
        return None
    rest = [i for i in range(x.meta.ndim) if i != at]
    spread = wide.results[0].meta.shape  # type: ignore[union-attr]
    kept = all(dim.same(source.meta.shape[i], x.meta.shape[i]) for i in rest)
    return source if kept and len(spread) == x.meta.ndim + 1 and dim.same(spread[at], source.meta.shape[at]) else None
