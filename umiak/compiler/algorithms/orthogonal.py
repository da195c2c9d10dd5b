"""Orthogonal factors: QR by reflections as LAPACK has them, eigenvalues of Hermitian matrices and singular values by
Jacobi's rotations (Hestenes, 1958, for singular values). One point of P is one matrix."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from umiak.compiler.algorithms.linear_systems import constant, fill, matrix, next_to, real_type
from umiak.compiler.algorithms.number import Number, maximum, where
from umiak.compiler.algorithms.writer import Array, Writer, algorithm
from umiak.compiler.loop import node as n
from umiak.compiler.loop.node import Node
from umiak.compiler.loop.types import F32, F64, I64
from umiak.ir import sym as dim
from umiak.ops import lapack

SWEEPS = 60  # rotations of all pairs; 6 to 10 are enough for matrices of hundreds of rows
PRECISION = {F32: 2.0**-24, F64: 2.0**-53}
NOTHING = {F32: 1e-18, F64: 1e-150}  # lengths of columns, against the largest element, that stand for 0


@algorithm(lapack.Qr)
def qr(w: Writer) -> None:
    *batch, rows, columns = w.shape(0)
    w.points(*batch)
    x, count = w.operand(0), dim.minimum(rows, columns)
    a, factors = matrix(w, rows, columns), matrix(w, 1, count)
    fill(w, a, rows, columns, lambda i, j: x[i, j])
    zero = constant(w, 0.0)
    with w.loop(count) as k:
        alpha = w.let(a[k, k])
        below = w.let(w.sum(rows, lambda i: a[i, k].squared(), zero.real, lo=next_to(k)).root())
        # Nothing to reflect: the factor is 0, and the column stays.
        idle = below.is_zero() if alpha.im is None else n.call("and", below.is_zero(), n.eq(alpha.im, 0.0))
        length = (alpha.squared() + below * below).root()
        beta = w.let(Number(n.neg(n.call("copysign", length.re, alpha.re))))
        safe = where(idle, beta.like(1.0), beta)
        factor = w.let(where(idle, zero, (safe - alpha) / safe))
        factors[0, k] = factor
        scale = w.let(1.0 / where(idle, zero + 1.0, alpha - beta))
        with w.when(n.call("not", idle)):
            with w.loop(rows, lo=next_to(k)) as i:
                a[i, k] = a[i, k] * scale
            a[k, k] = zero + beta
            with w.loop(columns, lo=next_to(k)) as j:
                product = w.sum(rows, lambda i: a[i, k].conj() * a[i, j], zero + a[k, j], lo=next_to(k))
                step = w.let(factor.conj() * product)
                a[k, j] = a[k, j] - step
                with w.loop(rows, lo=next_to(k)) as i:
                    a[i, j] = a[i, j] - step * a[i, k]
    r = w.result(0 if w.op.mode == "r" else 1)
    height = w.operation.results[-1].meta.shape[-2]
    fill(w, r, height, columns, lambda i, j: where(n.lt(j, i), zero, a[i, n.minimum(j, n.sub(w.integer(columns), 1))]))
    if w.op.mode == "r":
        return
    q = w.result(0)
    width = w.operation.results[0].meta.shape[-1]
    fill(w, q, rows, width, lambda i, j: where(n.eq(i, j), zero + 1.0, zero))
    with w.down(count) as k:
        factor = w.let(factors[0, k])
        with w.loop(width, lo=k) as j:
            product = w.sum(rows, lambda i: a[i, k].conj() * q[i, j], zero + q[k, j], lo=next_to(k))
            step = w.let(factor * product)
            q[k, j] = q[k, j] - step
            with w.loop(rows, lo=next_to(k)) as i:
                q[i, j] = q[i, j] - step * a[i, k]


# --- rotations -----------------------------------------------------------------------------------------------------


class Rotation:
    """The rotation that makes two basis vectors orthogonal under the form [[a, b], [conj(b), d]]:
    ``p' = c p - s f q``, ``q' = s p + c f q``, ``f`` a phase that makes b real."""

    def __init__(self, w: Writer, a: Number, b: Number, d: Number) -> None:
        length = w.let(b.size())
        tau = (d - a) / (length * 2.0)
        root = (tau * tau + 1.0).root()
        tangent = where(tau < 0.0, -1.0 / (root - tau), 1.0 / (root + tau))
        cosine = 1.0 / (tangent * tangent + 1.0).root()
        self.cosine, self.sine = w.let(cosine, cosine * tangent)
        self.phase = w.let(b.conj() / length)

    def columns(self, w: Writer, x: Array, rows: Any, p: Node, q: Node) -> None:
        with w.loop(rows) as k:
            first, second = w.let(x[k, p], x[k, q] * self.phase)
            x[k, p] = first * self.cosine - second * self.sine
            x[k, q] = first * self.sine + second * self.cosine

    def rows(self, w: Writer, x: Array, columns: Any, p: Node, q: Node) -> None:
        with w.loop(columns) as k:
            first, second = w.let(x[p, k], x[q, k] * self.phase.conj())
            x[p, k] = first * self.cosine - second * self.sine
            x[q, k] = first * self.sine + second * self.cosine


def sweeps(w: Writer, size: Any, pair: Callable[[Node, Node, Callable[[], None]], None]) -> None:
    """``pair(p, q, note)`` for all p < q, again and again as long as some pair calls ``note``."""
    found = w.memory(I64)
    found[()] = n.i64(1)
    with w.loop(SWEEPS), w.when(n.ne(found[()].re, 0)):
        found[()] = n.i64(0)
        with w.loop(size) as p, w.loop(size, lo=next_to(p)) as q:
            pair(p, q, lambda: found.__setitem__((), n.i64(1)))


def identity(w: Writer, to: Array, size: Any, one: Number) -> None:
    fill(w, to, size, size, lambda i, j: where(n.eq(i, j), one, 0.0))


def rank_of(w: Writer, values: Array, size: Any, i: Node, falling: bool) -> Node:
    """The place of value ``i`` in order, equal ones as they come."""
    mine = w.let(values[i])

    def count(j: Node, total: Node) -> tuple[Node]:
        other = values[j]
        first = (mine < other) if falling else (other < mine)
        tie = n.call("and", n.eq(other.re, mine.re), n.lt(j, i))
        return (n.add(total, n.cast(n.call("or", first, tie), I64)),)

    return w.fold(size, (n.i64(0),), count)


def hermitian(w: Writer, vectors: bool) -> None:
    *batch, size, _ = w.shape(0)
    w.points(*batch)
    x, one = w.operand(0), constant(w, 1.0)
    a, values = matrix(w, size, size), w.memory(real_type(w), size)
    v = matrix(w, size, size) if vectors else None

    def given(i: Node, j: Node) -> Number:
        """The triangle that counts, and its mirror image; the diagonal is real."""
        swap = n.lt(j, i) if w.op.upper else n.lt(i, j)
        y = x[n.select(swap, j, i), n.select(swap, i, j)]
        return y if y.im is None else where(n.eq(i, j), one * y.real, where(swap, y.conj(), y))

    fill(w, a, size, size, given)
    if v is not None:
        identity(w, v, size, one)
    eps = PRECISION[one.type]

    def pair(p: Node, q: Node, note: Callable[[], None]) -> None:
        b = w.let(a[p, q])
        first, second = w.let(a[p, p].real, a[q, q].real)
        # Below this an element changes neither of the two values.
        limit = (first.size() + second.size()) * (eps * eps) + NOTHING[one.type] * NOTHING[one.type]
        with w.when(limit < b.size()):
            note()
            turn = Rotation(w, first, b, second)
            turn.columns(w, a, size, p, q)
            turn.rows(w, a, size, p, q)
            if v is not None:
                turn.columns(w, v, size, p, q)
            a[p, q] = one * 0.0
            a[q, p] = one * 0.0

    sweeps(w, size, pair)
    with w.loop(size) as i:
        values[i] = a[i, i].real
    out = w.result(0)
    to = w.result(1) if v is not None else None
    with w.loop(size) as i:
        at = w.let(rank_of(w, values, size, i, falling=False))
        out[at] = values[i]
        if v is not None and to is not None:
            with w.loop(size) as k:
                to[k, at] = v[k, i]


@algorithm(lapack.Eigh)
def eigh(w: Writer) -> None:
    hermitian(w, vectors=True)


@algorithm(lapack.Eigvalsh)
def eigvalsh(w: Writer) -> None:
    hermitian(w, vectors=False)


# --- singular values -----------------------------------------------------------------------------------------------


class Singular:
    """``x = u diag(values) v^H`` of a matrix that is no wider than high: x, or its adjoint where ``wide`` holds. Of u
    there are ``vectors`` columns. Values fall."""

    def __init__(self, w: Writer, x: Any, rows: Any, columns: Any, vectors: Any = None) -> None:
        self.writer, self.one = w, constant(w, 1.0)
        self.high, self.low = dim.maximum(rows, columns), dim.minimum(rows, columns)
        self.wide = n.lt(w.integer(rows), w.integer(columns))
        self.b = matrix(w, self.high, self.low)
        self.v = matrix(w, self.low, self.low)
        self.unordered = w.memory(self.one.type, self.low)
        self.values = w.memory(self.one.type, self.low)
        self.rank = w.memory(I64, self.low)
        self.scale = self._read(x)
        self._rotate()
        self._order()
        if vectors is not None:
            self.u = matrix(w, self.high, vectors)
            self._left(vectors)

    def _read(self, x: Any) -> Number:
        """Copy x, divided by its largest part, so that squares neither overflow nor vanish."""
        w, one = self.writer, self.one.real
        largest = w.memory(one.type)
        largest[()] = one * 0.0

        def element(i: Node, j: Node) -> Number:
            y = x[n.select(self.wide, j, i), n.select(self.wide, i, j)]
            return y if y.im is None else where(self.wide, y.conj(), y)

        with w.loop(self.high) as i, w.loop(self.low) as j:
            for part in element(i, j).parts:
                largest[()] = maximum(largest[()], Number(n.call("abs", part)))
        scale = w.let(where(largest[()].is_zero(), one, largest[()]))
        fill(w, self.b, self.high, self.low, lambda i, j: element(i, j) / scale)
        return scale

    def _rotate(self) -> None:
        w, b = self.writer, self.b
        identity(w, self.v, self.low, self.one)
        eps, nothing = PRECISION[self.one.type], NOTHING[self.one.type] ** 2

        def pair(p: Node, q: Node, note: Callable[[], None]) -> None:
            zero = self.one * 0.0

            def step(k: Node, first: Number, second: Number, both: Number) -> tuple[Number, Number, Number]:
                return first + b[k, p].squared(), second + b[k, q].squared(), both + b[k, p].conj() * b[k, q]

            first, second, both = w.fold(self.high, (zero.real, zero.real, zero), step)
            limit = (first.root() * second.root()) * (eps * 4.0) + nothing
            with w.when(limit < both.size()):
                note()
                turn = Rotation(w, first, both, second)
                turn.columns(w, b, self.high, p, q)
                turn.columns(w, self.v, self.low, p, q)

        sweeps(w, self.low, pair)

    def _order(self) -> None:
        w = self.writer
        with w.loop(self.low) as j:
            total = w.sum(self.high, lambda k: self.b[k, j].squared(), self.one.real * 0.0)
            self.unordered[j] = total.root()
        with w.loop(self.low) as j:
            at = w.let(rank_of(w, self.unordered, self.low, j, falling=True))
            self.rank[j] = at
            self.values[at] = self.unordered[j] * self.scale

    def _left(self, vectors: Any) -> None:
        """Columns over their lengths; in place of columns of no length, and of those that x does not have, unit vectors
        made orthogonal to the ones that there are."""
        w, u, zero = self.writer, self.u, self.one * 0.0
        done = w.memory(I64, vectors)
        with w.loop(vectors) as j:
            done[j] = n.i64(0)
        with w.loop(self.low) as j:
            length = w.let(self.unordered[j])
            with w.when(n.call("not", length < NOTHING[length.type])):
                at = w.let(self.rank[j].re)
                done[at] = n.i64(1)
                with w.loop(self.high) as k:
                    u[k, at] = self.b[k, j] / length
        with w.loop(vectors) as j, w.when(n.eq(done[j].re, 0)):

            def there(m: Node, x: Number) -> Number:
                return where(n.ne(done[m].re, 0), x, 0.0)

            at = self._emptiest(vectors, there)
            with w.loop(self.high) as k:
                u[k, j] = where(n.eq(k, at), self.one, 0.0)
            with w.loop(2), w.loop(vectors) as m, w.when(n.ne(done[m].re, 0)):
                inner = w.let(w.sum(self.high, lambda k: u[k, m].conj() * u[k, j], zero))
                with w.loop(self.high) as k:
                    u[k, j] = u[k, j] - u[k, m] * inner
            length = w.let(w.sum(self.high, lambda k: u[k, j].squared(), zero.real).root())
            with w.loop(self.high) as k:
                u[k, j] = u[k, j] / length
            done[j] = n.i64(1)

    def _emptiest(self, vectors: Any, there: Callable[[Node, Number], Number]) -> Node:
        """The row whose unit vector the columns that there are leave most of."""
        w, zero = self.writer, self.one.real * 0.0
        best, at = w.memory(zero.type), w.memory(I64)
        best[()] = zero + 2.0
        at[()] = n.i64(0)
        with w.loop(self.high) as i:
            size = w.let(w.sum(vectors, lambda m: there(m, self.u[i, m].squared()), zero))
            with w.when(size < best[()]):
                best[()] = size
                at[()] = i
        return w.let(at[()].re)


@algorithm(lapack.Svdvals)
def svdvals(w: Writer) -> None:
    *batch, rows, columns = w.shape(0)
    w.points(*batch)
    parts, out = Singular(w, w.operand(0), rows, columns), w.result(0)
    with w.loop(parts.low) as j:
        out[j] = parts.values[j]


@algorithm(lapack.Svd)
def svd(w: Writer) -> None:
    *batch, rows, columns = w.shape(0)
    w.points(*batch)
    high, low = dim.maximum(rows, columns), dim.minimum(rows, columns)
    x = Singular(w, w.operand(0), rows, columns, high if w.op.full else low)
    u, values, vh = (w.result(k) for k in range(3))
    with w.loop(low) as j:
        values[j] = x.values[j]
    tall = n.call("not", x.wide)
    many = high if w.op.full else low
    for condition, of_u, of_v in ((tall, u, vh), (x.wide, vh, u)):
        with w.when(condition):
            is_wide = condition is x.wide
            with w.loop(high) as k, w.loop(many) as j:
                if is_wide:
                    of_u[j, k] = x.u[k, j].conj()
                else:
                    of_u[k, j] = x.u[k, j]
            with w.loop(low) as j:
                at = w.let(x.rank[j].re)
                with w.loop(low) as k:
                    if is_wide:
                        of_v[k, at] = x.v[k, j]
                    else:
                        of_v[at, k] = x.v[k, j].conj()


@algorithm(lapack.Lstsq)
def lstsq(w: Writer) -> None:
    """By singular values: those of x alone first, for the rank, then each system's."""
    *batch, rows, columns = w.shape(0)
    out_shape = w.operation.results[0].meta.shape
    (rcond,) = w.operation.params
    w.points(*batch)
    x = Singular(w, w.operand(0), rows, columns)
    rank, values = w.result(2), w.result(3)
    least = w.let(w.number(rcond, x.one.type) * largest(w, x))

    def count(j: Node, total: Node) -> tuple[Node]:
        return (n.add(total, n.cast(least < x.values[j], I64)),)

    rank[()] = n.cast(w.fold(x.low, (n.i64(0),), count), rank.type)
    with w.loop(x.low) as j:
        values[j] = x.values[j]
    w.then()
    *together, _, right = out_shape
    w.points(*together)
    given, y = w.broadcast(0, 2), w.broadcast(1, 2)
    x = Singular(w, given, rows, columns, dim.minimum(rows, columns))
    out, residuals = w.result(0), w.result(1)
    zero = x.one * 0.0
    least = w.let(w.number(rcond, x.one.type) * largest(w, x))
    part = matrix(w, 1, x.low)
    with w.loop(right) as c:
        with w.loop(x.low) as j:
            at = w.let(x.rank[j].re)
            # u^H y of a high matrix; of a wide one v^H y, its left vectors.
            with w.when(n.call("not", x.wide)):
                part[0, j] = w.sum(rows, lambda k: x.u[k, at].conj() * y[k, c], zero)
            with w.when(x.wide):
                part[0, j] = w.sum(rows, lambda k: x.v[k, j].conj() * y[k, c], zero)
            value = w.let(x.values[at])
            counts = least < value
            part[0, j] = where(counts, part[0, j] / where(counts, value, 1.0), 0.0)
        with w.when(n.call("not", x.wide)), w.loop(columns) as k:
            out[k, c] = w.sum(x.low, lambda j: x.v[k, j] * part[0, j], zero)
        with w.when(x.wide), w.loop(columns) as k:
            out[k, c] = w.sum(x.low, lambda j: x.u[k, n.cast(x.rank[j].re, I64)] * part[0, j], zero)
        total = w.memory(zero.type)
        total[()] = zero.real
        with w.loop(rows) as i:
            error = w.sum(columns, lambda k: given[i, k] * out[k, c], zero) - y[i, c]
            total[()] = total[()] + error.squared()
        residuals[c] = total[()]


def largest(w: Writer, x: Singular) -> Number:
    """The largest singular value; 0 where there is none."""
    return w.fold(x.low, (x.one.real * 0.0,), lambda j, best: (maximum(best, x.values[j]),))
