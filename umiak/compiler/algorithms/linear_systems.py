"""Triangular factors of matrices and what is solved with them: Gauss's elimination with the largest pivots, Cholesky's
factor, and substitution. One point of P is one matrix."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from umiak.compiler.algorithms.number import Number, where
from umiak.compiler.algorithms.writer import Array, Writer, algorithm
from umiak.compiler.loop import node as n
from umiak.compiler.loop.node import Node
from umiak.compiler.loop.types import I64, ScalarType
from umiak.compiler.lower.builder import storage_type
from umiak.ir import sym as dim
from umiak.ops import lapack


def next_to(i: Node) -> Node:
    return n.add(i, 1)


def real_type(w: Writer, k: int = 0) -> ScalarType:
    """The type of (the parts of) an operand's elements."""
    return storage_type(w.operation.operands[k].meta.dtype)


def is_complex(w: Writer, k: int = 0) -> bool:
    return w.operation.operands[k].meta.dtype.is_complex


def constant(w: Writer, value: float, k: int = 0) -> Number:
    """A number of an operand's type."""
    one = Number(n.const(value, real_type(w, k)))
    return Number(one.re, n.const(0.0, one.type)) if is_complex(w, k) else one


def matrix(w: Writer, rows: Any, columns: Any, k: int = 0) -> Array:
    """Scratch for a matrix of an operand's type."""
    return w.memory(real_type(w, k), rows, columns, complex_=is_complex(w, k))


def fill(w: Writer, to: Array, rows: Any, columns: Any, element: Callable[[Node, Node], Number]) -> None:
    with w.loop(rows) as i, w.loop(columns) as j:
        to[i, j] = element(i, j)


def copied(w: Writer, x: Any, rows: Any, columns: Any) -> Array:
    """Scratch with the elements of a matrix."""
    a = matrix(w, rows, columns)
    fill(w, a, rows, columns, lambda i, j: x[i, j])
    return a


def weight(x: Number) -> Number:
    """The measure of a pivot: as LAPACK has it, a complex number's is that of its parts."""
    return Number(n.call("abs", x.re)) if x.im is None else Number(n.add(n.call("abs", x.re), n.call("abs", x.im)))


def eliminate(w: Writer, a: Array, rows: Any, columns: Any) -> Array:
    """``P a = L U`` in place, L below the diagonal; the row that each of the first rows was exchanged with."""
    pivots = w.memory(I64, dim.minimum(rows, columns))
    with w.loop(dim.minimum(rows, columns)) as k:

        def larger(i: Node, best: Number, at: Node) -> tuple[Number, Node]:
            size = weight(a[i, k])
            take = best < size
            return where(take, size, best), n.select(take, i, at)

        best, at = w.fold(rows, (weight(a[k, k]), k), larger, lo=k)
        pivots[k] = at
        with w.when(n.ne(at, k)), w.loop(columns) as j:
            upper, lower = w.let(a[k, j], a[at, j])
            a[k, j] = lower
            a[at, j] = upper
        with w.when(n.call("not", best.is_zero())):
            pivot = w.let(a[k, k])
            with w.loop(rows, lo=next_to(k)) as i:
                factor = w.let(a[i, k] / pivot)
                a[i, k] = factor
                with w.loop(columns, lo=next_to(k)) as j:
                    a[i, j] = a[i, j] - factor * a[k, j]
    return pivots


def substitute(
    w: Writer, size: Any, columns: Any, element: Callable[[Node, Node], Number], to: Array, rising: bool,
    unit: bool = False, refuse: bool = False,
) -> None:  # fmt: skip
    """Solve with a triangular matrix for the columns of ``to``, in place: row after row, in ``rising`` order for a
    lower one. ``unit``: ones on the diagonal, which is not read; ``refuse`` zeros on it."""
    count = w.integer(size)
    with w.loop(columns) as j, w.loop(count) if rising else w.down(count) as i:
        lo, hi = (0, i) if rising else (next_to(i), count)
        rest = w.let(to[i, j] - w.sum(hi, lambda k: element(i, k) * to[k, j], to.zero, lo))
        if unit:
            to[i, j] = rest
        else:
            pivot = w.let(element(i, i))
            if refuse:
                w.fail(pivot.is_zero())
            to[i, j] = rest / pivot


def solve_with(w: Writer, a: Array, pivots: Array, size: Any, to: Array, columns: Any) -> None:
    """Solve for the columns of ``to``, in place, with what :func:`eliminate` gave."""
    with w.loop(size) as k:
        at = w.let(pivots[k].re)
        w.fail(a[k, k].is_zero())
        with w.when(n.ne(at, k)), w.loop(columns) as j:
            upper, lower = w.let(to[k, j], to[at, j])
            to[k, j] = lower
            to[at, j] = upper
    substitute(w, size, columns, lambda i, k: a[i, k], to, rising=True, unit=True)
    substitute(w, size, columns, lambda i, k: a[i, k], to, rising=False)


@algorithm(lapack.Cholesky)
def cholesky(w: Writer) -> None:
    *batch, size, _ = w.shape(0)
    w.points(*batch)
    x, y = w.operand(0), w.result(0)

    def factor(i: Node, j: Node) -> Number:
        return y[j, i].conj() if w.op.upper else y[i, j]

    def given(i: Node, j: Node) -> Number:
        return x[j, i].conj() if w.op.upper else x[i, j]

    def put(i: Node, j: Node, value: Number) -> None:
        if w.op.upper:
            y[j, i] = value.conj()
        else:
            y[i, j] = value

    zero = constant(w, 0.0)
    with w.loop(size) as j:
        rest = w.let(given(j, j).real - w.sum(j, lambda k: factor(j, k).squared(), zero.real))
        w.fail(n.call("not", Number(n.const(0.0, rest.type)) < rest))
        root = w.let(rest.root())
        put(j, j, zero + root)
        with w.loop(size, lo=next_to(j)) as i:
            total = w.sum(j, lambda k: factor(i, k) * factor(j, k).conj(), zero)
            put(i, j, (given(i, j) - total) / root)
            put(j, i, zero)


@algorithm(lapack.Lu)
def lu(w: Writer) -> None:
    *batch, rows, columns = w.shape(0)
    w.points(*batch)
    x, packed, pivots = w.operand(0), w.result(0), w.result(1)
    fill(w, packed, rows, columns, lambda i, j: x[i, j])
    exchanged = eliminate(w, packed, rows, columns)
    with w.loop(dim.minimum(rows, columns)) as k:
        pivots[k] = n.cast(next_to(exchanged[k].re), pivots.type)


@algorithm(lapack.LuPermutation)
def lu_permutation(w: Writer) -> None:
    *batch, count = w.shape(0)
    w.points(*batch)
    pivots, order = w.operand(0), w.result(0)
    with w.loop(w.operation.params[0]) as i:
        order[i] = i
    with w.loop(count) as k:
        at = w.let(n.sub(n.cast(pivots[k].re, I64), 1))
        upper, lower = w.let(order[k].re, order[at].re)
        order[k] = lower
        order[at] = upper


@algorithm(lapack.TriangularSolve)
def triangular_solve(w: Writer) -> None:
    *batch, size, columns = w.operation.results[0].meta.shape
    w.points(*batch)
    x, y, out = w.broadcast(0, 2), w.broadcast(1, 2), w.result(0)
    fill(w, out, size, columns, lambda i, j: y[i, j])

    def element(i: Node, k: Node) -> Number:
        return x[k, i] if w.op.transpose else x[i, k]

    rising = w.op.upper == w.op.transpose
    substitute(w, size, columns, element, out, rising, w.op.unitriangular, refuse=True)


@algorithm(lapack.Solve)
def solve(w: Writer) -> None:
    *batch, size, columns = w.operation.results[0].meta.shape
    w.points(*batch)
    y, out = w.broadcast(1, 2), w.result(0)
    a = copied(w, w.broadcast(0, 2), size, size)
    fill(w, out, size, columns, lambda i, j: y[i, j])
    solve_with(w, a, eliminate(w, a, size, size), size, out, columns)


@algorithm(lapack.Inverse)
def inverse(w: Writer) -> None:
    *batch, size, _ = w.shape(0)
    w.points(*batch)
    a, out = copied(w, w.operand(0), size, size), w.result(0)
    one = constant(w, 1.0)
    fill(w, out, size, size, lambda i, j: where(n.eq(i, j), one, 0.0))
    solve_with(w, a, eliminate(w, a, size, size), size, out, size)


def signed(k: Node, pivots: Array, x: Number) -> Number:
    """A number whose sign an exchange of rows turns over."""
    return where(n.eq(pivots[k].re, k), x, -x)


@algorithm(lapack.Det)
def det(w: Writer) -> None:
    *batch, size, _ = w.shape(0)
    w.points(*batch)
    a = copied(w, w.operand(0), size, size)
    pivots = eliminate(w, a, size, size)
    w.result(0)[()] = w.fold(size, (constant(w, 1.0),), lambda k, d: (signed(k, pivots, d * a[k, k]),))


@algorithm(lapack.Slogdet)
def slogdet(w: Writer) -> None:
    *batch, size, _ = w.shape(0)
    w.points(*batch)
    a = copied(w, w.operand(0), size, size)
    pivots = eliminate(w, a, size, size)
    one = constant(w, 1.0)

    def step(k: Node, sign: Number, logarithm: Number) -> tuple[Number, Number]:
        length = a[k, k].size()
        part = where(length.is_zero(), one * 0.0, a[k, k] / where(length.is_zero(), one.real, length))
        return signed(k, pivots, sign * part), logarithm + Number(n.call("log", length.re))

    sign, logarithm = w.fold(size, (one, one.real * 0.0), step)
    w.result(0)[()] = sign
    w.result(1)[()] = logarithm
