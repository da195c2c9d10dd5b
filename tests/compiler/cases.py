"""Nests with data and what comes of them by NumPy, each given once and run on every target."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from umiak.compiler.codes import ANY, UNIT, ZERO
from umiak.compiler.loop.evaluate import DTYPES
from umiak.compiler.loop.monoid import ARGMAX, MAX, SUM, WELFORD
from umiak.compiler.loop.node import (
    add,
    call,
    cast,
    conjunction,
    const,
    dim,
    div,
    eq,
    fma,
    i64,
    le,
    load,
    lt,
    mul,
    select,
    sub,
    var,
    word,
)
from umiak.compiler.loop.types import BF16, F16, F32, F64, I64
from umiak.compiler.nest import (
    COLUMN,
    MAP,
    ROW,
    SPLIT_COLUMN,
    SPLIT_ROW,
    STRIP,
    TILE,
    Access,
    FailStage,
    Nest,
    NestBuffer,
    ReduceStage,
    ScanStage,
    StoreStage,
    Variant,
    position,
)

BLOCKS = 3  # of split schedules


@dataclass(frozen=True)
class Case:
    """``inputs`` are arrays of any shape; ``outputs`` what is expected, of the outputs' shapes. ``schedules`` (with the
    tile axis) are those that may run it."""

    nest: Nest
    schedules: tuple[tuple[str, int], ...]
    inputs: list[np.ndarray]
    outputs: list[np.ndarray]
    words: tuple = ()
    tolerance: float = 0.0
    fails: int = 0

    def variant(self, schedule: str, tile: int = -1, long: bool = False) -> Variant:
        p, r = self.nest.n_parallel, self.nest.n_reduced

        def kind(a: Access, k: int) -> int:
            return ANY if k < 0 or a.strides[k] not in (0, 1) else ZERO if a.strides[k] == 0 else UNIT

        other = tile if tile >= 0 else p + r - 1 if r else -1
        kinds = tuple((kind(a, p - 1 if p else -1), kind(a, other)) for a in self.nest.accesses)
        return Variant(schedule, p, r, kinds, tile, long=long)

    def dims(self, schedule: str) -> list[int]:
        n = self.nest
        dims = [*n.extras, *n.sizes, *(s for a in n.accesses for s in a.strides)]
        if schedule in (SPLIT_ROW, SPLIT_COLUMN):
            dims += [BLOCKS, -(-n.sizes[n.n_parallel] // BLOCKS)]
        return dims

    def buffers(self) -> list[np.ndarray]:
        """New arrays for one run: inputs, then outputs full of what no run leaves there."""
        found = [np.ascontiguousarray(x).reshape(-1) for x in self.inputs]
        return found + [np.full(x.size, 77, x.dtype) for x in self.outputs]

    def check(self, buffers: list[np.ndarray]) -> None:
        for got, expected in zip(buffers[len(self.inputs) :], self.outputs):
            wide = [x.astype(np.float64) if x.dtype.kind not in "iub" else x for x in (got, expected.reshape(-1))]
            np.testing.assert_allclose(*wide, rtol=self.tolerance, atol=self.tolerance)


def softmax_middle(rng: np.random.Generator) -> Case:
    a, n, b = 2, 41, 19
    x = rng.standard_normal((a, n, b)).astype(np.float32) * 3
    x[0, 5, 3], x[1, :, 2], x[0, 7, 1] = np.inf, -np.inf, np.nan
    strides = (n * b, 1, b)
    e, m, s = load("x", F32, position(0)), var("m", F32), var("s", F32)
    e = call("exp", sub(e, m))
    nest = Nest(
        "softmax", (a, b, n), 2,
        (NestBuffer("x", F32), NestBuffer("o", F32, True)),
        (Access("x", strides), Access("o", strides)),
        (
            ReduceStage((m,), MAX, (load("x", F32, position(0)),)),
            ReduceStage((s,), SUM, (e,)),
            StoreStage("o", position(1), div(e, s), True),
        ),
    )  # fmt: skip
    with np.errstate(invalid="ignore"):
        y = np.exp(x.astype(np.float64) - x.max(1, keepdims=True))
        expected = (y / y.sum(1, keepdims=True)).astype(np.float32)
    schedules = ((COLUMN, -1), (STRIP, -1), (ROW, -1), (SPLIT_ROW, -1), (SPLIT_COLUMN, -1))
    return Case(nest, schedules, [x], [expected], tolerance=2e-6)


def argmax(rng: np.random.Generator) -> Case:
    m, n = 11, 333
    x = rng.integers(0, 50, (m, n)).astype(np.float32)
    x[3, 200:] = np.nan
    x[4] = -np.inf
    top, at = var("top", F32), var("at", I64)
    nest = Nest(
        "argmax", (m, n), 1,
        (NestBuffer("x", F32), NestBuffer("o", I64, True)),
        (Access("x", (n, 1)), Access(None, (0, 1)), Access("o", (1, 0))),
        (
            ReduceStage((top, at), ARGMAX, (load("x", F32, position(0)), position(1))),
            StoreStage("o", position(2), at, False),
        ),
    )  # fmt: skip
    schedules = ((ROW, -1), (COLUMN, -1), (STRIP, -1), (SPLIT_ROW, -1), (SPLIT_COLUMN, -1))
    return Case(nest, schedules, [x], [x.argmax(1)])


def cumsum(rng: np.random.Generator, exclusive: bool = False) -> Case:
    m, n = 5, 300
    x = rng.standard_normal((m, n))
    total = var("t", F64)
    nest = Nest(
        "cumsum_exclusive" if exclusive else "cumsum", (m, n), 1,
        (NestBuffer("x", F64), NestBuffer("o", F64, True)),
        (Access("x", (n, 1)), Access("o", (n, 1))),
        (ScanStage((total,), SUM, (load("x", F64, position(0)),),
                   (StoreStage("o", position(1), total, True),), exclusive),),
    )  # fmt: skip
    expected = x.cumsum(1)
    if exclusive:
        expected = np.concatenate([np.zeros((m, 1)), expected[:, :-1]], 1)
    schedules = ((ROW, -1), (COLUMN, -1), (STRIP, -1), (SPLIT_ROW, -1), (SPLIT_COLUMN, -1))
    return Case(nest, schedules, [x], [expected], tolerance=1e-12)


def max_pool(rng: np.random.Generator) -> Case:
    c, h, w, kernel, stride, pad = 3, 13, 17, 3, 2, 1
    oh, ow = (h + 2 * pad - kernel) // stride + 1, (w + 2 * pad - kernel) // stride + 1
    x = rng.standard_normal((c, h, w)).astype(np.float32)
    x[1, 4, 4] = np.nan
    row, column = sub(position(1), pad), sub(position(2), pad)
    inside = conjunction(le(i64(0), row), lt(row, dim(0)), le(i64(0), column), lt(column, dim(1)))
    index = sub(position(0), add(mul(dim(1), pad), pad))
    top = var("top", F32)
    nest = Nest(
        "max_pool", (c, oh, ow, kernel, kernel), 3,
        (NestBuffer("x", F32), NestBuffer("o", F32, True)),
        (
            Access("x", (h * w, stride * w, stride, w, 1)),
            Access(None, (0, stride, 0, 1, 0)),
            Access(None, (0, 0, stride, 0, 1)),
            Access("o", (oh * ow, ow, 1, 0, 0)),
        ),
        (
            ReduceStage((top,), MAX, (load("x", F32, index, inside, const(-np.inf, F32)),)),
            StoreStage("o", position(3), top, False),
        ),
        (h, w),
    )  # fmt: skip
    padded = np.pad(x, ((0, 0), (pad, pad), (pad, pad)), constant_values=-np.inf)
    windows = np.lib.stride_tricks.sliding_window_view(padded, (kernel, kernel), (1, 2))
    expected = windows[:, ::stride, ::stride].max((3, 4))
    return Case(nest, ((COLUMN, -1), (ROW, -1), (STRIP, -1)), [x], [expected])


def pad_concat_cast(rng: np.random.Generator) -> Case:
    rows, left, right = 7, 45, 38
    x = rng.standard_normal((rows, left)).astype(np.float32) * 1e4
    y = rng.standard_normal((rows, right)).astype(np.float32)
    x[2, 3], x[3, 4], y[0, 0] = np.nan, 1e6, 1e-8
    width = left + 2 + right
    column = position(3)
    in_x, in_y = conjunction(le(i64(1), column), lt(column, add(dim(0), 1))), le(add(dim(0), 2), column)
    a = load("x", F32, sub(position(0), 1), in_x, const(0.5, F32))
    b = load("y", F32, sub(position(1), add(dim(0), 2)), in_y)
    nest = Nest(
        "pad_concat_cast", (rows, width), 2,
        (NestBuffer("x", F32), NestBuffer("y", F32), NestBuffer("o", F16, True)),
        (Access("x", (left, 1)), Access("y", (right, 1)), Access("o", (width, 1)), Access(None, (0, 1))),
        (StoreStage("o", position(2), cast(select(in_y, b, a), F16), True),),
        (left,),
    )  # fmt: skip
    with np.errstate(over="ignore"):
        expected = np.concatenate([np.pad(x, ((0, 0), (1, 1)), constant_values=0.5), y], 1).astype(np.float16)
    return Case(nest, ((MAP, -1),), [x, y], [expected])


def embedding_gradient(rng: np.random.Generator) -> Case:
    """Every row of the table finds its own terms, in order: nobody else writes it."""
    rows, width, n = 9, 33, 60
    indices, g = rng.integers(0, rows, n), rng.standard_normal((n, width)).astype(np.float32)
    total = var("t", F32)
    mine = eq(load("indices", I64, position(1)), position(3))
    nest = Nest(
        "embedding_gradient", (rows, width, n), 2,
        (NestBuffer("g", F32), NestBuffer("indices", I64), NestBuffer("o", F32, True)),
        (Access("g", (0, 1, width)), Access("indices", (0, 0, 1)), Access("o", (width, 1, 0)), Access(None, (1, 0, 0))),
        (ReduceStage((total,), SUM, (load("g", F32, position(0)),), mine), StoreStage("o", position(2), total, False)),
    )  # fmt: skip
    expected = np.zeros((rows, width), np.float32)
    np.add.at(expected, indices, g)
    return Case(nest, ((COLUMN, -1), (STRIP, -1), (ROW, -1)), [g, indices], [expected], tolerance=1e-5)


def layer_norm(rng: np.random.Generator) -> Case:
    rows, n, epsilon = 6, 301, 1e-5
    x, w, b = (rng.standard_normal(s).astype(np.float16) for s in ((rows, n), n, n))
    x[1, 3] = np.nan
    e, mean, spread = cast(load("x", F16, position(0)), F32), var("s", F32), var("q", F32)
    count = cast(dim(0), F32)
    centred = sub(e, div(mean, count))
    scale = call("rsqrt", add(div(spread, count), cast(word(0), F32)))
    w_, b_ = (cast(load(name, F16, position(1)), F32) for name in "wb")
    nest = Nest(
        "layer_norm", (rows, n), 1,
        (*(NestBuffer(name, F16) for name in "xwb"), NestBuffer("o", F16, True)),
        (Access("x", (n, 1)), Access("w", (0, 1)), Access("o", (n, 1))),
        (
            ReduceStage((mean,), SUM, (e,)),
            ReduceStage((spread,), SUM, (mul(centred, centred),)),
            StoreStage("o", position(2), cast(fma(mul(centred, scale), w_, b_), F16), True),
        ),
        (n,),
    )  # fmt: skip
    d = x.astype(np.float64)
    d = (d - d.mean(1, keepdims=True)) / np.sqrt(d.var(1, keepdims=True) + epsilon)
    expected = (d * w.astype(np.float64) + b.astype(np.float64)).astype(np.float16)
    return Case(nest, ((ROW, -1), (COLUMN, -1), (SPLIT_ROW, -1)), [x, w, b], [expected], (epsilon,), 2e-3)


def variance(rng: np.random.Generator) -> Case:
    """Over the two outer of three axes."""
    n, k, columns = 10, 12, 37
    x = (rng.standard_normal((n, k, columns)) + 5).astype(np.float32)
    count, mean, m2 = (var(name, F32) for name in ("n", "mean", "m2"))
    nest = Nest(
        "variance", (columns, n, k), 1,
        (NestBuffer("x", F32), NestBuffer("mean", F32, True), NestBuffer("o", F32, True)),
        (Access("x", (1, k * columns, columns)), Access("mean", (1, 0, 0)), Access("o", (1, 0, 0))),
        (
            ReduceStage(
                (count, mean, m2), WELFORD, (const(1.0, F32), load("x", F32, position(0)), const(0.0, F32))
            ),
            StoreStage("mean", position(1), mean, False),
            StoreStage("o", position(2), div(m2, sub(count, 1.0)), False),
        ),
    )  # fmt: skip
    d = x.astype(np.float64)
    expected = [d.mean((0, 1)).astype(np.float32), d.var((0, 1), ddof=1).astype(np.float32)]
    schedules = ((COLUMN, -1), (ROW, -1), (STRIP, -1), (SPLIT_ROW, -1), (SPLIT_COLUMN, -1))
    return Case(nest, schedules, [x], expected, tolerance=1e-5)


def transpose(rng: np.random.Generator) -> Case:
    """Both outputs of a batch of matrices plus another that lies the other way."""
    batch, rows, columns = 2, 45, 70
    x = rng.standard_normal((batch, columns, rows)).astype(np.float32)
    y = rng.standard_normal((batch, rows, columns)).astype(np.float32)
    value = add(load("x", F32, position(0)), load("y", F32, position(1)))
    nest = Nest(
        "transpose", (batch, rows, columns), 3,
        (NestBuffer("x", F32), NestBuffer("y", F32), NestBuffer("o", F32, True), NestBuffer("transposed", F64, True)),
        (
            Access("x", (rows * columns, 1, rows)),
            Access("y", (rows * columns, columns, 1)),
            Access("o", (rows * columns, columns, 1)),
            Access("transposed", (rows * columns, 1, rows)),
        ),
        (
            StoreStage("o", position(2), value, True),
            StoreStage("transposed", position(3), cast(load("y", F32, position(1)), F64), True),
        ),
    )  # fmt: skip
    expected = [x.transpose(0, 2, 1) + y, y.transpose(0, 2, 1).astype(np.float64)]
    return Case(nest, ((TILE, 1), (MAP, -1)), [x, y], expected)


def gather(rng: np.random.Generator, bad: bool = False) -> Case:
    """Rows of a table; an index out of range is refused."""
    rows, width, n = 12, 19, 30
    table, indices = rng.standard_normal((rows, width)).astype(DTYPES["bf16"]), rng.integers(0, rows, n)
    if bad:
        indices[17] = rows
    index = load("indices", I64, position(1))
    right = conjunction(le(i64(0), index), lt(index, dim(0)))
    nest = Nest(
        "gather", (n, width), 2,
        (NestBuffer("table", BF16), NestBuffer("indices", I64), NestBuffer("o", BF16, True)),
        (Access("table", (0, 1)), Access("indices", (1, 0)), Access("o", (width, 1))),
        (
            FailStage(3, call("not", right)),
            StoreStage("o", position(2), load("table", BF16, add(position(0), mul(index, dim(1))), right), True),
        ),
        (rows, width),
    )  # fmt: skip
    return Case(nest, ((MAP, -1),), [table, indices], [table[indices % rows]], fails=3 if bad else 0)


CASES: dict[str, Callable[[np.random.Generator], Case]] = {
    "softmax over a middle axis": softmax_middle,
    "argmax": argmax,
    "cumsum": cumsum,
    "exclusive cumsum": lambda rng: cumsum(rng, True),
    "max-pool": max_pool,
    "pad, concat and cast": pad_concat_cast,
    "embedding gradient": embedding_gradient,
    "layer norm of f16": layer_norm,
    "variance": variance,
    "transpose": transpose,
    "gather": gather,
    "gather out of range": lambda rng: gather(rng, True),
}
