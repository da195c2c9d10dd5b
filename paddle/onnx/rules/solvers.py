"""Solutions of linear equations: ONNX has none, so that they are unrolled over the rows of small matrices."""

from __future__ import annotations

from paddle.onnx.builder import Builder, Unsayable, Value
from paddle.onnx.rules.algebra import product, transposed
from paddle.onnx.shapes import arange, concat, expand, known, scalar, shape, size, slices, squeeze, unsqueeze
from paddle.onnx.table import Call, rule

MOST_ROWS = 16  # of a matrix that is unrolled


def rows_of(x: Value) -> int:
    n = x.shape[-1] if x.shape else -1
    if not 0 < n <= MOST_ROWS:
        raise Unsayable(f"known sizes of matrices, and at most {MOST_ROWS} rows")
    return n


def part(g: Builder, x: Value, axis: int, first: int, last: int) -> Value:
    return known(slices(g, x, [x.rank + axis], [first], [last]), [-1] * x.rank)


def eye(g: Builder, x: Value, n: int) -> Value:
    one = g.constant([[float(i == j) for j in range(n)] for i in range(n)], x.dtype)
    return known(expand(g, one, shape(g, x)), x.shape)


def solved(g: Builder, a: Value, b: Value) -> Value:
    """The x of a x = b for matrices, by Gauss and Jordan: the row of the largest element of a column goes up."""
    n, rank = rows_of(a), a.rank
    rows = known(g.node("Concat", a, b, axis=rank - 1), [-1] * rank)
    at = g.constant([[i] for i in range(n)], "int64")
    for k in range(n):
        behind = g.constant([[float(i >= k)] for i in range(n)], a.dtype)
        column = g.node("Abs", part(g, rows, -1, k, k + 1)) * behind + behind
        pivot = g.node("ArgMax", column, axis=rank - 2, keepdims=1)
        order = g.node("Where", g.node("Equal", at, pivot), g.constant(k, "int64"), at)
        order = g.node("Where", g.node("Equal", at, k), pivot, order)
        order = g.node("Expand", order, g.node("Shape", rows, made="int64"))
        rows = known(g.node("GatherElements", rows, order, axis=rank - 2), [-1] * rank)
        line = part(g, rows, -2, k, k + 1)
        line = line / part(g, line, -1, k, k + 1)
        on = g.constant([[float(i == k)] for i in range(n)], a.dtype)
        rows = known((rows - part(g, rows, -1, k, k + 1) * line) * (1.0 - on) + on * line, [-1] * rank)
    return part(g, rows, -1, n, 2**31)


@rule("inverse")
def inverse(g: Builder, o: Call) -> Value:
    return known(solved(g, o[0], eye(g, o[0], rows_of(o[0]))), o[0].shape)


@rule("solve")
def solve(g: Builder, o: Call) -> Value:
    a, b = o[0], o[1]
    if b.rank == 1:
        return squeeze(g, solved(g, a, repeated_for(g, a, unsqueeze(g, b, [1]))), [-1])
    return solved(g, a, repeated_for(g, a, b))


def repeated_for(g: Builder, a: Value, b: Value) -> Value:
    """b for each of the matrices of a."""
    if a.rank == 2 or b.rank == a.rank:
        return b
    front = slices(g, shape(g, a), [0], [0], [a.rank - 2])
    back = slices(g, shape(g, b), [0], [b.rank - 2], [b.rank])
    return known(expand(g, b, concat(g, [front, back])), [-1] * a.rank)


@rule("cholesky")
def cholesky(g: Builder, o: Call) -> Value:
    lower = factor(g, o[0])
    return known(transposed(g, lower) if o("upper", False) else lower, o[0].shape)


def factor(g: Builder, a: Value) -> Value:
    """The lower triangle whose product with its transpose is a, column by column."""
    n, rank = rows_of(a), a.rank
    made: list[Value] = []
    for k in range(n):
        column = part(g, a, -1, k, k + 1)
        for c in made:
            column = known(column - c * part(g, c, -2, k, k + 1), [-1] * rank)
        root = g.node("Sqrt", part(g, column, -2, k, k + 1))
        kept = g.constant([[float(i >= k)] for i in range(n)], a.dtype)
        made.append(known(column / root * kept, [-1] * rank))
    return known(concat(g, made, rank - 1), [-1] * rank)


def substituted(g: Builder, a: Value, b: Value, upper: bool, unit: bool) -> Value:
    """The x of a x = b for triangular a, row by row."""
    n, rank = rows_of(a), a.rank
    rest, rows = b, {}
    for k in reversed(range(n)) if upper else range(n):
        row, column = part(g, rest, -2, k, k + 1), part(g, a, -1, k, k + 1)
        rows[k] = row if unit else known(row / part(g, column, -2, k, k + 1), [-1] * rank)
        rest = known(rest - column * rows[k], [-1] * rank)
    return known(concat(g, [rows[k] for k in range(n)], rank - 2), [-1] * rank)


@rule("triangular_solve")
def triangular_solve(g: Builder, o: Call) -> Value:
    a, upper = o[0], o("upper", True)
    if o("transpose", False):
        a, upper = transposed(g, a), not upper
    return substituted(g, a, repeated_for(g, a, o[1]), upper, o("unitriangular", False))


@rule("cholesky_solve")
def cholesky_solve(g: Builder, o: Call) -> Value:
    b, a = o[0], o[1]
    lower = transposed(g, a) if o("upper", False) else a
    half = substituted(g, lower, repeated_for(g, lower, b), False, False)
    return substituted(g, transposed(g, lower), half, True, False)


@rule("matrix_power")
def matrix_power(g: Builder, o: Call) -> Value:
    x, n = o[0], o("n")
    if n == 0:
        line = arange(g, scalar(g, size(g, x, -1)))
        return g.cast(g.node("Equal", unsqueeze(g, line, [1]), unsqueeze(g, line, [0])), x.dtype) + x * 0.0
    if n < 0:
        x, n = solved(g, x, eye(g, x, rows_of(x))), -n
    y = None
    while n:
        if n & 1:
            y = x if y is None else product(g, y, x)
        n >>= 1
        if n:
            x = product(g, x, x)
    assert y is not None
    return y
