"""From the layouts of operands to those of results, and back."""

from __future__ import annotations

from typing import Any

import pytest

from umiak import ops as F
from umiak import spmd
from umiak.core import dtype as dt
from umiak.ir.meta import Meta
from umiak.spmd import Layout, Partial, PassPartial, Replicate, Shard
from umiak.spmd.placement import box, bytes_moved, chunk, coordinates

MESH = (2, 4)


def meta(*shape: int, dtype: Any = dt.float32) -> Meta:
    return Meta(shape, dtype)


def ids(*shape: int) -> Meta:
    return Meta(shape, dt.int64)


def mapping(*dims: int, partial: dict[int, str] | None = None) -> Layout:
    """A layout from one mesh axis a dim, -1 for none."""
    return Layout(tuple(() if d < 0 else (d,) for d in dims), tuple((partial or {}).items()))


def P(*dims: int, sum: int = 1) -> Layout:
    return mapping(*dims, partial={sum: "sum"})


M = mapping

# Op, operands, params; the layouts given; those required and those of the results.
TABLE = {
    "matmul by rows": (
        F.Matmul(), (meta(8, 8), meta(8, 8)), (),
        [M(0, -1), M(-1, -1)], [M(0, -1), M(-1, -1)], [M(0, -1)]
    ),
    "matmul over k": (
        F.Matmul(), (meta(8, 8), meta(8, 8)), (),
        [M(-1, 1), M(1, -1)], [M(-1, 1), M(1, -1)], [P(-1, -1)]
    ),
    "k against n": (F.Matmul(), (meta(8, 8), meta(8, 8)), (), [M(0, 1), M(-1, 1)], [M(0, -1), M(-1, 1)], [M(0, 1)]),
    "transposed": (
        F.Matmul(transpose_x=True), (meta(8, 8), meta(8, 8)), (), [M(1, 0), M(1, -1)], [M(1, 0), M(1, -1)], [P(0, -1)]
    ),
    "k of one operand": (
        F.Matmul(), (meta(8, 8), meta(8, 8)), (),
        [M(-1, 1), M(-1, -1)], [M(-1, 1), M(1, -1)], [P(-1, -1)]
    ),
    "row-parallel linear": (
        F.Linear(), (meta(2, 8, 8), meta(8, 8), meta(8)), (), [M(0, -1, 1), M(1, -1), M(-1)],
        [M(0, -1, 1), M(1, -1), M(-1)], [P(0, -1, -1)],
    ),
    "column-parallel linear": (
        F.Linear(), (meta(2, 8, 8), meta(8, 8), meta(8)), (), [M(0, -1, -1), M(-1, 1), M(1)],
        [M(0, -1, -1), M(-1, 1), M(1)], [M(0, -1, 1)],
    ),
    "add": (F.Add(), (meta(8, 8), meta(8, 8)), (), [M(0, -1), M(-1, 1)], [M(0, 1), M(0, 1)], [M(0, 1)]),
    "add with broadcast": (
        F.Add(), (meta(8, 8), meta(1, 8)), (),
        [M(0, -1), M(-1, -1)], [M(0, -1), M(-1, -1)], [M(0, -1)]
    ),
    "softmax": (F.Softmax(axis=1), (meta(8, 8),), (), [M(0, 1)], [M(0, -1)], [M(0, -1)]),
    "permute": (F.Permute((1, 0)), (meta(8, 8),), (), [M(0, 1)], [M(0, 1)], [M(1, 0)]),
    "flatten": (F.Reshape(), (meta(8, 8),), ((64,),), [M(0, 1)], [M(0, -1)], [M(0)]),
    "split a dim": (F.Reshape(), (meta(8, 8),), ((2, 4, 8),), [M(0, -1)], [M(0, -1)], [M(0, -1, -1)]),
    "flatten all but the last": (F.Reshape(), (meta(4, 8, 8),), ((32, 8),), [M(0, -1, 1)], [M(0, -1, 1)], [M(0, 1)]),
    "heads": (F.Reshape(), (meta(2, 8, 8),), ((2, 8, 4, 2),), [M(0, -1, 1)], [M(0, -1, 1)], [M(0, -1, 1, -1)]),
    "sum": (F.Sum(axes=(1,)), (meta(8, 8),), (), [M(0, 1)], [M(0, 1)], [P(0)]),
    "max": (F.Max(axes=(1,)), (meta(8, 8),), (), [M(0, 1)], [M(0, 1)], [M(0, partial={1: "max"})]),
    "mean": (F.Mean(axes=(1,)), (meta(8, 8),), (), [M(0, 1)], [M(0, 1)], [M(0, partial={1: "avg"})]),
    "mean of uneven parts": (F.Mean(axes=(1,)), (meta(8, 6),), (), [M(0, 1)], [M(0, -1)], [M(0)]),
    "rows of an embedding": (
        F.Embedding(), (ids(8, 8), meta(8, 8)), (-1,),
        [M(0, -1), M(1, -1)], [M(0, -1), M(1, -1)], [P(0, -1, -1)]
    ),
    "columns of one": (
        F.Embedding(), (ids(8, 8), meta(8, 8)), (-1,),
        [M(0, -1), M(-1, 1)], [M(0, -1), M(-1, 1)], [M(0, -1, 1)]
    ),
    "layer_norm": (
        F.LayerNorm(axis=2), (meta(8, 8, 8), meta(8), meta(8)), (1e-5,), [M(0, -1, 1), M(-1), M(1)],
        [M(0, -1, -1), M(-1), M(-1)], [M(0, -1, -1)],
    ),
    "relu of partial sums": (F.Relu(), (meta(8, 8),), (), [P(0, -1)], [M(0, -1)], [M(0, -1)]),
    "relu of partial maxima": (
        F.Relu(), (meta(8, 8),), (), [M(0, -1, partial={1: "max"})], [M(0, -1, partial={1: "max"})],
        [M(0, -1, partial={1: "max"})],
    ),
    "negated partial sums": (F.Neg(), (meta(8, 8),), (), [P(0, -1)], [P(0, -1)], [P(0, -1)]),
    "negated partial maxima": (F.Neg(), (meta(8, 8),), (), [M(0, -1, partial={1: "max"})], [M(0, -1)], [M(0, -1)]),
    "partial sum and a number": (
        F.Add(), (meta(8, 8), Meta((), None, "float")), (),
        [P(0, -1), None], [M(0, -1), None], [M(0, -1)]
    ),
    "partial sum times a number": (
        F.Mul(), (meta(8, 8), Meta((), None, "float")), (),
        [P(0, -1), None], [P(0, -1), None], [P(0, -1)]
    ),
    "partial sum and a tensor": (
        F.Add(), (meta(8, 8), meta(8, 8)), (),
        [P(0, -1), M(0, -1)], [P(0, -1), P(0, -1)], [P(0, -1)]
    ),
    "product of partial sums": (
        F.Mul(), (meta(8, 8), meta(8)), (),
        [P(-1, -1), P(-1)], [P(-1, -1), M(-1)], [P(-1, -1)]
    ),
    "partial sum of maxima": (
        F.Max(axes=(0,)), (meta(8, 8),), (), [P(0, -1)], [M(0, -1)], [M(-1, partial={0: "max"})]
    ),
    "sum of sums": (F.Sum(axes=(0,)), (meta(8, 8),), (), [P(0, -1)], [P(0, -1)], [M(-1, partial={0: "sum", 1: "sum"})]),
    "cut along both axes": (
        F.Neg(), (meta(8, 8),), (),
        [Layout(((0, 1), ()))], [Layout(((0, 1), ()))], [Layout(((0, 1), ()))]
    ),
    "one takes both": (
        F.Add(), (meta(8, 8), meta(8, 8)), (), [Layout(((0, 1), ())), M(0, -1)], [Layout(((0, 1), ()))] * 2,
        [Layout(((0, 1), ()))],
    ),
    "grouped heads": (
        F.Attention(), (meta(2, 4, 8, 4), meta(2, 4, 4, 4), meta(2, 4, 4, 4), None), (1.0,),
        [M(0, -1, 1, -1), M(0, -1, 1, -1), M(0, -1, 1, -1), None],
        [M(0, -1, 1, -1), M(0, -1, 1, -1), M(0, -1, 1, -1), None], [M(0, -1, 1, -1)],
    ),
    "fewer heads than ranks": (
        F.Attention(), (meta(2, 4, 8, 4), meta(2, 4, 2, 4), meta(2, 4, 2, 4), None), (1.0,),
        [M(0, -1, 1, -1), M(0, -1, -1, -1), M(0, -1, -1, -1), None],
        [M(0, -1, -1, -1), M(0, -1, -1, -1), M(0, -1, -1, -1), None], [M(0, -1, -1, -1)],
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", TABLE)
def test_forward(name):
    op, operands, params, given, required, results = TABLE[name]
    found = spmd.forward(spmd.call(op, operands, params), given, MESH)
    assert list(found.operands) == required
    assert list(found.results) == results


# Op, operands, params; the layout wanted of the result; what is required, and what comes.
BACK = {
    "matmul": (F.Matmul(), (meta(8, 8), meta(8, 8)), (), M(0, 1), [M(0, -1), M(-1, 1)], M(0, 1)),
    "partial matmul": (F.Matmul(), (meta(8, 8), meta(8, 8)), (), P(0, -1), [M(0, 1), M(1, -1)], P(0, -1)),
    "full": (F.Full(dt.float32), (Meta((), None, "float"),), ((8, 8),), M(0, 1), [None], M(0, 1)),
    "broadcast": (F.BroadcastTo(), (meta(8, 1),), ((8, 8),), M(0, 1), [M(0, -1)], M(0, 1)),
    "random": (F.NormalRandom(dt.float32), (), ((8, 8), 1, 0, 0.0, 1.0), M(0, 1), [], M(0, 1)),
    "softmax": (F.Softmax(axis=1), (meta(8, 8),), (), M(0, 1), [M(0, -1)], M(0, -1)),
    "partial neg": (F.Neg(), (meta(8, 8),), (), P(0, -1), [P(0, -1)], P(0, -1)),
    "partial exp": (F.Exp(), (meta(8, 8),), (), P(0, -1), [M(0, -1)], M(0, -1)),
    "partial mean": (
        F.Mean(axes=(1,)), (meta(8, 8),), (), M(0, partial={1: "avg"}), [M(0, 1)], M(0, partial={1: "avg"})
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", BACK)
def test_backward(name):
    op, operands, params, wanted, required, result = BACK[name]
    found = spmd.backward(spmd.call(op, operands, params), [wanted], MESH)
    assert list(found.operands) == required
    assert found.results == (result,)


def test_results_that_are_wanted_otherwise():
    """Of two results that disagree, the one that moves less when it gives way does."""
    call = spmd.call(F.Sort(axis=2), [meta(8, 8, 2)])
    found = spmd.backward(call, [M(0, -1, -1), M(-1, 0, -1)], (2,))
    assert found.results == (M(-1, 0, -1),) * 2  # the indices are int64
    assert spmd.backward(call, [M(0, -1, -1), None], (2,)).results == (M(0, -1, -1),) * 2


def test_the_choice_moves_less():
    """Where k and n claim an axis, gathering the smaller operand decides."""
    small = spmd.call(F.Matmul(), [meta(2, 64), meta(64, 64)])
    assert spmd.forward(small, [M(-1, 0), M(-1, 0)], (2,)).operands == (M(-1, -1), M(-1, 0))
    # A wide x would have to be gathered: y is resharded, and the small result is added up.
    large = spmd.call(F.Matmul(), [meta(64, 4096), meta(4096, 4)])
    found = spmd.forward(large, [M(-1, 0), M(-1, 0)], (2,))
    assert found.operands == (M(-1, 0), M(0, -1))
    assert found.choices == ("k",)


def test_partial_values_pass_on_the_cheaper_side():
    call = spmd.call(F.Matmul(), [meta(512, 4), meta(4, 4)])
    found = spmd.forward(call, [P(-1, -1, sum=0), P(-1, -1, sum=0)], (2,))
    assert found.choices == (PassPartial("sum", (0,)),)
    assert found.operands == (P(-1, -1, sum=0), M(-1, -1))


# --- placements ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "placements",
    [
        (Shard(0), Shard(1)), (Shard(1), Replicate()), (Shard(0), Shard(0)), (Replicate(), Replicate()),
        (Partial("max"), Shard(1)), (Partial(), Partial("avg")),
    ],
)  # fmt: skip
def test_placements_and_layouts(placements):
    assert Layout.of(placements, 2).placements(2) == placements
    assert hash(Layout.of(placements, 2)) == hash(Layout.of(list(placements), 2))


def test_fewer_placements_than_axes_replicate():
    assert Layout.of([Shard(0)], 2).placements(3) == (Shard(0), Replicate(), Replicate())
    assert Layout.of([Shard(-1)], 2) == Layout(((), (0,)))


def test_placements_that_are_refused():
    with pytest.raises(IndexError, match=r"^\[Shard\] requires a dim of a tensor of rank 2, got 2"):
        Layout.of([Shard(2)], 2)
    with pytest.raises(ValueError, match=r"^\[Partial\] requires one of sum, .*, got mean"):
        Partial("mean")


def test_uneven_parts():
    assert [chunk(5, 2, i) for i in range(2)] == [(0, 3), (3, 2)]
    assert [chunk(1, 3, i) for i in range(3)] == [(0, 1), (1, 0), (1, 0)]
    assert [chunk(0, 2, i) for i in range(2)] == [(0, 0), (0, 0)]
    rows = Layout(((0, 1), ()))
    sizes = [box(rows, (3, 4), (2, 2), at).sizes for at in coordinates((2, 2))]
    assert sizes == [(1, 4), (1, 4), (1, 4), (0, 4)]
    assert [box(rows, (3, 4), (2, 2), at).starts[0] for at in coordinates((2, 2))] == [0, 1, 2, 3]


@pytest.mark.parametrize(
    ("source", "target", "bytes_"),
    [
        (M(0), M(0), 0), (M(-1), M(0), 0), (M(-1), P(-1, sum=0), 0), (M(0), P(-1, sum=0), 0),
        (M(0), M(-1), 48), (M(0, -1), M(-1, 0), 12), (P(-1, sum=0), M(-1), 96), (P(-1, sum=0), M(0), 48),
    ],
)  # fmt: skip
def test_bytes_that_move(source, target, bytes_):
    assert bytes_moved(source, target, 64, (4,)) == bytes_
