"""Factors of small matrices, computed in 64 bits: eliminated and reflected column by column, or rotated plane by plane.

G. Golub, C. Van Loan, Matrix Computations, 3.4, 5.1 and 8.5. Factors that are not unique may differ by signs.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from paddle.onnx.builder import Builder, Unsayable, Value
from paddle.onnx.loops import repeated
from paddle.onnx.rules.algebra import transposed
from paddle.onnx.rules.solvers import MOST_ROWS, part, repeated_for, substituted
from paddle.onnx.rules.special import EXACT
from paddle.onnx.shapes import concat, expand, known, reduce, shape, slices, squeeze, unsqueeze
from paddle.onnx.table import Call, rule


def _sizes(x: Value) -> tuple[int, int]:
    """Rows and columns, which the number of steps depends on."""
    m, n = x.sizes[-2:]
    if min(m, n) <= 0 or max(m, n) > MOST_ROWS:
        raise Unsayable(f"known sizes of matrices, and at most {MOST_ROWS} rows and columns")
    return m, n


def _column(x: Sequence[float]) -> np.ndarray:
    return np.array(x, np.float64)[:, None]


def _like_rows(g: Builder, x: Value, n: int) -> Value:
    """Unit matrices of n rows, one for each matrix of x."""
    front = slices(g, shape(g, x), [0], [0], [x.rank - 2])
    return known(expand(g, g.constant(np.eye(n), x.dtype), concat(g, [front, g.ints([n, n])])), [*x.sizes[:-2], n, n])


def _product(g: Builder, *xs: Value) -> Value:
    first, *rest = xs
    for x in rest:
        front = max(first.sizes[:-2], x.sizes[:-2], key=len)
        first = known(g.node("MatMul", first, x), [*front, first.sizes[-2], x.sizes[-1]])
    return first


# --- triangles --------------------------------------------------------------------------------------------------------


@rule("lu")
def lu(g: Builder, o: Call) -> tuple[Value, Value, Value]:
    if not o("pivot", True):
        raise Unsayable("lu with pivots")
    m, n = _sizes(o[0])
    rank = o[0].rank
    one = [-1] * (rank - 2) + [1, 1]
    x, at, pivots, zero = g.cast(o[0], EXACT), g.constant(_column(range(m)), "int64"), [], []
    for k in range(min(m, n)):
        below, column = g.constant(_column([i >= k for i in range(m)]), EXACT), part(g, x, -1, k, k + 1)
        pivot = g.node("ArgMax", g.node("Abs", column) * below + below, axis=rank - 2, keepdims=1)
        order = g.node("Where", g.node("Equal", at, pivot), g.constant(k, "int64"), at)
        order = g.node("Where", g.node("Equal", at, k), pivot, order)
        x = known(g.node("GatherElements", x, expand(g, order, shape(g, x)), axis=rank - 2), x.sizes)
        pivots.append(squeeze(g, known(pivot, one), [rank - 1]) + 1)
        line, column = part(g, x, -2, k, k + 1), part(g, x, -1, k, k + 1)
        top = part(g, line, -1, k, k + 1)
        flat = g.node("Equal", top, 0.0)
        zero.append(squeeze(g, known(flat, one), [rank - 1]))
        over = g.constant(_column([i > k for i in range(m)]), EXACT)
        factor = column / g.node("Where", flat, g.constant(1.0, EXACT), top) * over
        right = g.constant(_column([j > k for j in range(n)]).T, EXACT)
        here = g.constant(_column([j == k for j in range(n)]).T, EXACT)
        # Factors take the places of the elements that they clear.
        x = known(x - factor * line * right + (factor - column * over) * here, x.sizes)
    flags = known(g.cast(concat(g, zero, rank - 2), "int32"), [-1] * (rank - 1))
    first = g.node("ArgMax", flags, axis=rank - 2, keepdims=0)
    info = g.cast(first + 1, "int32") * reduce(g, "Max", flags, [-1])
    return g.cast(x, o[0].dtype), g.cast(concat(g, pivots, rank - 2), "int32"), info


@rule("lu_unpack")
def lu_unpack(g: Builder, o: Call) -> tuple[Value, Value, Value]:
    """The permutation, and the triangles, of what ``lu`` gives."""
    x, swaps = o[0], g.cast(o[1], "int64")
    m, n = _sizes(x)
    k, rank = min(m, n), x.rank
    lower = np.tril(np.ones((m, k)), -1)
    left = known(slices(g, x, [rank - 1], [0], [k]), [*x.sizes[:-1], k])
    left = left * g.constant(lower, x.dtype) + g.constant(np.eye(m, k), x.dtype)
    right = known(slices(g, x, [rank - 2], [0], [k]), [*x.sizes[:-2], k, n]) * g.constant(
        np.triu(np.ones((k, n))), x.dtype
    )
    return _permutation(g, swaps, m, x.dtype), left, right


def _permutation(g: Builder, swaps: Value, m: int, dtype: str) -> Value:
    """The matrix whose product with rows puts them back to where they were before the swaps of an elimination."""
    rank = swaps.rank
    front = slices(g, shape(g, swaps), [0], [0], [rank - 1])
    line = g.constant(np.arange(m), "int64")
    order = expand(g, line, concat(g, [front, g.ints([m])]))
    for i in range(swaps.sizes[-1]):
        one = known(slices(g, swaps, [rank - 1], [i], [i + 1]), [-1] * rank) - 1
        other = g.node("GatherElements", order, one, axis=rank - 1)
        mine = slices(g, order, [rank - 1], [i], [i + 1])
        order = g.node("Where", g.node("Equal", line, one), mine, order)
        order = g.node("Where", g.node("Equal", line, i), other, order)
    rows = unsqueeze(g, known(order, [-1] * rank), [rank - 1])
    on = g.node("Equal", rows, g.constant(_column(range(m)), "int64"))
    return known(g.cast(on, dtype), [*swaps.sizes[:-1], m, m])


@rule("lu_solve")
def lu_solve(g: Builder, o: Call) -> Value:
    b, packed, swaps = o[0], o[1], g.cast(o[2], "int64")
    n, _ = _sizes(packed)
    b, rows = repeated_for(g, packed, b), _permutation(g, swaps, n, packed.dtype)
    if o("trans", "N") == "N":
        half = substituted(g, packed, _product(g, transposed(g, rows), b), False, True)
        return substituted(g, packed, half, True, False)
    across = transposed(g, packed)
    half = substituted(g, across, b, False, False)
    return _product(g, rows, substituted(g, across, half, True, True))


def reflected(g: Builder, x: Value) -> tuple[Value, Value]:
    """An orthogonal and an upper triangular matrix whose product is x, by Householder's reflections."""
    m, n = _sizes(x)
    q, r = _like_rows(g, x, m), x
    for k in range(min(m, n)):
        column = part(g, r, -1, k, k + 1) * g.constant(_column([i >= k for i in range(m)]), x.dtype)
        top = part(g, known(column, [-1] * x.rank), -2, k, k + 1)
        below = column * g.constant(_column([i > k for i in range(m)]), x.dtype)
        rest = reduce(g, "SumSquare", known(below, [-1] * x.rank), [-2], True)
        length = g.node("Sqrt", rest + top * top)
        beta = g.node("Where", top < 0.0, length, -length)
        v = known(below + (top - beta) * g.constant(_column([i == k for i in range(m)]), x.dtype), [-1] * x.rank)
        square = reduce(g, "SumSquare", v, [-2], True)
        # Where nothing is below the diagonal there is nothing to reflect.
        none = g.node("Equal", rest, 0.0)
        scale = g.node(
            "Where", none, g.constant(0.0, x.dtype), 2.0 / g.node("Where", none, g.constant(1.0, x.dtype), square)
        )
        r = known(r - v * scale * g.node("MatMul", transposed(g, v), r), r.sizes)
        q = known(q - g.node("MatMul", q, v) * scale * transposed(g, v), q.sizes)
    return q, known(r * g.constant(np.triu(np.ones((m, n))), x.dtype), r.sizes)


@rule("qr")
def qr(g: Builder, o: Call) -> tuple[Value, Value]:
    q, r = reflected(g, g.cast(o[0], EXACT))
    if o("mode", "reduced") != "complete":
        k = min(_sizes(o[0]))
        q, r = part(g, q, -1, 0, k), part(g, r, -2, 0, k)
    return g.cast(q, o[0].dtype), g.cast(r, o[0].dtype)


# --- planes that are rotated ----------------------------------------------------------------------------------------

_SWEEPS = 10  # after which nothing is left beside the diagonal, for the sizes here


def symmetric(g: Builder, x: Value, descending: bool = False) -> tuple[Value, Value]:
    """Eigenvalues of symmetric matrices in their order, and eigenvectors as columns, by Jacobi's rotations."""
    n, rank = x.sizes[-1], x.rank
    pairs = [(i, j) for i in range(n) for j in range(i + 1, n)]
    vectors = _like_rows(g, x, n)
    if pairs:
        unit = np.eye(n)
        first, second = (g.constant(np.stack([unit[p[i]][None] for p in pairs]), x.dtype) for i in range(2))

        def rotated(k: Value, states: Sequence[Value]) -> tuple[None, list[Value]]:
            a, v = states
            at = g.node("Mod", k, len(pairs))
            p, q = (known(g.node("Gather", t, at, axis=0), [1, n]) for t in (first, second))
            down, across = transposed(g, p), transposed(g, q)
            app, aqq, apq = (_product(g, s, a, t) for s, t in ((p, down), (q, across), (p, across)))
            none = g.node("Equal", apq, 0.0)
            tau = (aqq - app) / (g.node("Where", none, g.constant(1.0, x.dtype), apq) * 2.0)
            sign = g.node("Where", tau < 0.0, g.constant(-1.0, x.dtype), g.constant(1.0, x.dtype))
            t = sign / (g.node("Abs", tau) + g.node("Sqrt", tau * tau + 1.0))
            t = g.node("Where", none, g.constant(0.0, x.dtype), t)
            c = 1.0 / g.node("Sqrt", t * t + 1.0)
            s = t * c
            plane = _product(g, down, p) + _product(g, across, q)
            rotation = (
                g.constant(unit, x.dtype) + (c - 1.0) * plane + s * (_product(g, down, q) - _product(g, across, p))
            )
            rotation = known(rotation, a.sizes)
            return None, [_product(g, transposed(g, rotation), a, rotation), _product(g, v, rotation)]

        x, vectors = repeated(g, _SWEEPS * len(pairs), [x, vectors], rotated)
    values = reduce(g, "Sum", known(x * g.constant(np.eye(n), x.dtype), x.sizes), [-1])
    values, order = g.node("TopK", values, g.ints([n]), outputs=2, axis=rank - 2, largest=int(descending))
    order = unsqueeze(g, known(order, [-1] * (rank - 1)), [rank - 2])
    vectors = g.node("GatherElements", vectors, expand(g, order, shape(g, vectors)), axis=rank - 1)
    return known(values, x.sizes[:-1]), known(vectors, x.sizes)


def _mirrored(g: Builder, x: Value, upper: bool) -> Value:
    """Symmetric matrices of one of their triangles."""
    n = _sizes(x)[0]
    kept = np.triu(np.ones((n, n)), 1) if upper else np.tril(np.ones((n, n)), -1)
    half = known(x * g.constant(kept, x.dtype), x.sizes)
    return known(half + transposed(g, half) + x * g.constant(np.eye(n), x.dtype), x.sizes)


@rule("eigh")
def eigh(g: Builder, o: Call) -> tuple[Value, Value]:
    values, vectors = symmetric(g, _mirrored(g, g.cast(o[0], EXACT), o("UPLO", "L") == "U"))
    return g.cast(values, o[0].dtype), g.cast(vectors, o[0].dtype)


@rule("eigvalsh")
def eigvalsh(g: Builder, o: Call) -> Value:
    return g.cast(symmetric(g, _mirrored(g, g.cast(o[0], EXACT), o("uplo", "L") == "U"))[0], o[0].dtype)


def singular(g: Builder, x: Value, full: bool = False) -> tuple[Value, Value, Value]:
    """Singular values, the largest first, between the vectors of either side: u, s, and v as columns."""
    m, n = _sizes(x)
    if m < n:
        v, s, u = singular(g, transposed(g, x), full)
        return u, s, v
    _, v = symmetric(g, _product(g, transposed(g, x), x), descending=True)
    # Columns of x v are orthogonal: their triangle is a diagonal, and small ones have a direction nevertheless.
    u, r = reflected(g, _product(g, x, v))
    diagonal = reduce(g, "Sum", known(r * g.constant(np.eye(m, n), x.dtype), r.sizes), [-2])
    sign = g.node("Where", diagonal < 0.0, g.constant(-1.0, x.dtype), g.constant(1.0, x.dtype))
    sides = part(g, u, -1, 0, n) * unsqueeze(g, sign, [x.rank - 2])
    u = concat(g, [sides, part(g, u, -1, n, m)], x.rank - 1) if full and m > n else sides
    return known(u, [*x.sizes[:-1], m if full else n]), known(g.node("Abs", diagonal), [*x.sizes[:-2], n]), v


@rule("svd")
def svd(g: Builder, o: Call) -> tuple[Value, Value, Value]:
    u, s, v = singular(g, g.cast(o[0], EXACT), o("full_matrices", False))
    return g.cast(u, o[0].dtype), g.cast(s, o[0].dtype), g.cast(transposed(g, v), o[0].dtype)


@rule("svdvals")
def svdvals(g: Builder, o: Call) -> Value:
    return g.cast(singular(g, g.cast(o[0], EXACT))[1], o[0].dtype)


# --- what is made of them ---------------------------------------------------------------------------------------------


def _sizes_of_values(g: Builder, x: Value, hermitian: bool) -> Value:
    """Singular values, of symmetric matrices sizes of eigenvalues."""
    wide = g.cast(x, EXACT)
    return g.node("Abs", symmetric(g, _mirrored(g, wide, False))[0]) if hermitian else singular(g, wide)[1]


@rule("matrix_rank", "matrix_rank_tol")
def matrix_rank(g: Builder, o: Call) -> Value:
    x = o[0]
    values = known(_sizes_of_values(g, x, o("hermitian", False)), [-1] * (x.rank - 1))
    if o[1] is not None:
        limit = unsqueeze(g, g.cast(o[1], EXACT), [-1])
    elif o("use_default_tol", True):
        epsilon = float(np.finfo(np.float64 if x.dtype == "float64" else np.float32).eps)
        limit = reduce(g, "Max", values, [-1], True) * (max(_sizes(x)) * epsilon)
    else:
        limit = g.constant(o("tol", 0.0), EXACT)
    return reduce(g, "Sum", g.cast(known(values > limit, [-1] * (x.rank - 1)), "int64"), [-1])


@rule("lstsq")
def lstsq(g: Builder, o: Call) -> tuple[Value, Value | None, Value, Value]:
    """Of least size among the solutions: singular values below a share of the largest count as 0."""
    x, y = g.cast(o[0], EXACT), g.cast(o[1], EXACT)
    m, n = _sizes(x)
    u, s, v = singular(g, x)
    share = o.number(2, "rcond", None)
    if share is None or isinstance(share, Value) or math.isnan(share):
        raise Unsayable("a known rcond of lstsq")
    counts = s > reduce(g, "Max", s, [-1], True) * float(share)
    inverse = g.node("Where", counts, 1.0 / g.node("Where", counts, s, g.constant(1.0, EXACT)), g.constant(0.0, EXACT))
    solution = _product(g, v, unsqueeze(g, known(inverse, s.sizes), [x.rank - 1]) * _product(g, transposed(g, u), y))
    off = _product(g, x, known(solution, [*x.sizes[:-2], n, y.sizes[-1]])) - y
    left = reduce(g, "SumSquare", known(off, y.sizes), [-2])
    rank = reduce(g, "Sum", g.cast(known(counts, s.sizes), "int32"), [-1])
    dtype = o[0].dtype
    return g.cast(solution, dtype), g.cast(left, dtype), rank, g.cast(s, dtype)
