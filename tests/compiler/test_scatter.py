"""Nests that scatter, scans over several axes, reductions with an end: in the interpreter and through LLVM."""

import nests
import numpy as np
import pytest
from nests import buffers
from test_schedule_llvm import Runner

from umiak.compiler.loop.interpreter import run
from umiak.compiler.loop.monoid import COMPLEX_PROD, MAX, SUM
from umiak.compiler.loop.node import add, cast, conjunction, eq, i64, le, load, lt, mul, ne, var
from umiak.compiler.loop.types import BOOL, F32, I32, I64
from umiak.compiler.loop.verifier import verify
from umiak.compiler.nest import (
    COLUMN,
    MAP,
    ROW,
    STRIP,
    Access,
    FailStage,
    Nest,
    ReduceStage,
    ScanStage,
    ScatterStage,
    StoreStage,
    position,
)
from umiak.compiler.schedule import kernels


@pytest.fixture(params=["interpreted", "compiled"])
def machine(request):
    return run if request.param == "interpreted" else Runner()


def launch(machine, nest, schedule, arrays):
    """Runs a nest on arrays in the order of its buffers; the code."""
    variant = nests.variant_of(nest, schedule)
    phases = kernels(nest, variant)
    for phase in phases:
        verify(phase.kernel)
    return nests.launch(nest, variant, phases, machine, [a.reshape(-1) for a in arrays], ())


def scatter_rows(rows, outer, columns, updates, monoid, t=F32, width=1):
    """``table[o, index[u], c]`` with ``values[o, u, c]``, over P = (o, c) and R = u; ``width`` numbers per element."""
    index = load("index", I64, position(0))
    place = add(position(1), mul(index, columns * width))
    values = tuple(load("values", t, add(position(2), k) if k else position(2)) for k in range(width))
    inside = conjunction(le(i64(0), index), lt(index, i64(rows)))
    stages = (
        FailStage(3, eq(cast(inside, I64), 0)),
        ScatterStage("table", place, values, monoid),
    )
    return Nest(
        "scatter", (outer, columns, updates), 2, buffers(("index", I64), ("values", t), out=(("table", t),)),
        (Access("index", (0, 0, 1)), Access("table", (rows * columns * width, width, 0)),
         Access("values", (updates * columns * width, width, columns * width))), stages,
    )  # fmt: skip


@pytest.mark.parametrize("schedule", [ROW, COLUMN, STRIP])
@pytest.mark.parametrize("columns", [3, 40, 1100])
@pytest.mark.parametrize(("monoid", "combine"), [(SUM, np.add), (MAX, np.maximum), (None, None)])
def test_rows(machine, rng, schedule, columns, monoid, combine):
    """Updates that meet are combined one after the other; without a combination the last one stays."""
    rows, outer, updates = 7, 2, 11
    if machine is run and columns > 1000:
        updates, outer = (4, 2) if schedule != ROW else (1, 1)  # one number at a time is slow there
    index = rng.integers(0, rows, updates)
    table, values = nests.random(outer, rows, columns), nests.random(outer, updates, columns, seed=1)
    expected = table.copy()
    for u, i in enumerate(index):
        expected[:, i] = values[:, u] if combine is None else combine(expected[:, i], values[:, u])
    nest = scatter_rows(rows, outer, columns, updates, monoid)
    assert launch(machine, nest, schedule, [index, values, table]) == 0
    np.testing.assert_array_equal(table, expected)


@pytest.mark.parametrize("schedule", [ROW, COLUMN, STRIP])
def test_pairs(machine, rng, schedule):
    """Both parts of a product are made of both parts of what was there."""
    rows, columns, updates = 4, 5, 9
    index = rng.integers(0, rows, updates)
    table, values = (nests.random(1, n, columns, 2, seed=n).view(np.complex64)[..., 0] for n in (rows, updates))
    expected = table.astype(np.complex128)
    for u, i in enumerate(index):
        expected[:, i] *= values[:, u]
    nest = scatter_rows(rows, 1, columns, updates, COMPLEX_PROD, width=2)
    assert launch(machine, nest, schedule, [index, values.view(np.float32), table.view(np.float32)]) == 0
    np.testing.assert_allclose(table, expected, rtol=1e-5)


@pytest.mark.parametrize("schedule", [ROW, COLUMN, STRIP])
@pytest.mark.parametrize("bad", [-1, 7])
def test_outside(machine, rng, schedule, bad):
    """The launch fails before it writes to a place that there is not."""
    index = np.array([0, 3, bad, 1])
    around = np.zeros((3, 2, 7, 20), np.float32)
    nest = scatter_rows(7, 2, 20, 4, SUM)
    assert launch(machine, nest, schedule, [index, nests.random(2, 4, 20), around[1]]) == 3
    assert not around[[0, 2]].any()


def test_other_schedules_are_refused():
    nest = scatter_rows(3, 1, 4, 2, SUM)
    with pytest.raises(ValueError, match="requires a schedule of row, column, strip, got 'map'"):
        kernels(nest, nests.variant_of(nest, MAP))
    store = StoreStage("table", position(1), load("values", F32, position(2)), False)
    mixed = Nest(nest.name, nest.sizes, 2, nest.buffers, nest.accesses, (*nest.stages, store))
    with pytest.raises(ValueError, match="requires a nest that scatters and fails alone, got a StoreStage"):
        kernels(mixed, nests.variant_of(mixed, ROW))


@pytest.mark.parametrize("shape", [(40,), (3, 7), (2, 3, 33), (2, 0, 3)])
def test_packing(machine, rng, shape):
    """A scan over several axes goes row after row, in order: what is written later stays."""
    mask = rng.integers(0, 2, shape) != 0
    x = rng.integers(0, 1000, shape).astype(np.int32)
    count = int(mask.sum())
    found = np.full(count, -1, np.int32)
    r = len(shape)
    here = var("here", I64)
    store = StoreStage("found", add(position(2), here), load("x", I32, position(1)), True, lt(here, i64(count)))
    nest = Nest(
        "pack", shape, 0, buffers(("mask", BOOL), ("x", I32), out=(("found", I32),)),
        (Access("mask", nests.steps(*shape)), Access("x", nests.steps(*shape)), Access("found", (0,) * r)),
        (ScanStage((here,), SUM, (cast(load("mask", BOOL, position(0)), I64),), (store,), True, True),),
    )  # fmt: skip
    assert launch(machine, nest, ROW, [mask, x, found]) == 0
    np.testing.assert_array_equal(found, x[mask])


@pytest.mark.parametrize("shape", [(5, 7), (3, 130)])
def test_scans_over_axes_along_lanes(machine, shape):
    """Totals of earlier rows are carried also where a row runs over lanes."""
    x = nests.random(*shape, dtype=np.float64)
    out = np.zeros(shape)
    s = var("s", nests.F64)
    nest = Nest(
        "running", shape, 0, buffers(("x", nests.F64), out=(("out", nests.F64),)),
        (Access("x", (shape[1], 1)), Access("out", (shape[1], 1))),
        (ScanStage((s,), SUM, (load("x", nests.F64, position(0)),), (StoreStage("out", position(1), s, True),)),),
    )  # fmt: skip
    assert launch(machine, nest, ROW, [x, out]) == 0
    np.testing.assert_allclose(out.ravel(), np.cumsum(x), rtol=1e-12)


@pytest.mark.parametrize("schedule", [ROW, COLUMN, STRIP])
@pytest.mark.parametrize("per", ["row", "column"])
def test_ends(machine, rng, schedule, per):
    """A reduction up to an end, which is the same for all lanes or each lane's own; nothing is read beyond it."""
    rows, columns, most = 6, 20, 9
    ends = rng.integers(0, most + 1, rows if per == "row" else columns)
    ends[:2] = 0, most
    x = nests.random(rows, most, columns)
    end = load("ends", I64, position(2))
    before = lt(position(3), end)
    v = var("v", F32)
    value = load("x", F32, position(0), before)
    stages = (ReduceStage((v,), SUM, (value,), before, end), StoreStage("out", position(1), v, False))
    nest = Nest(
        "ends", (rows, columns, most), 2, buffers(("x", F32), ("ends", I64)),
        (Access("x", (most * columns, 1, columns)), Access("out", (columns, 1, 0)),
         Access("ends", (1, 0, 0) if per == "row" else (0, 1, 0)), Access(None, (0, 0, 1))), stages,
    )  # fmt: skip
    inside = np.arange(most)[None, :, None] < (ends[:, None, None] if per == "row" else ends[None, None, :])
    out = np.zeros((rows, columns), np.float32)
    x[~np.broadcast_to(inside, x.shape)] = np.nan
    assert launch(machine, nest, schedule, [x, ends, out]) == 0
    np.testing.assert_allclose(out, np.where(inside, x, 0).sum(1), rtol=1e-5, atol=1e-6)


def test_a_condition_of_updates(machine):
    """Updates are left out where a condition says so."""
    index, values, table = np.array([0, 1, 0, 2]), np.arange(4, dtype=np.float32), np.zeros((1, 3, 1), np.float32)
    nest = scatter_rows(3, 1, 1, 4, SUM)
    wanted = ne(load("values", F32, position(2)), 2.0)
    stage = ScatterStage("table", nest.stages[1].index, nest.stages[1].values, SUM, wanted)
    nest = Nest(nest.name, nest.sizes, 2, nest.buffers, nest.accesses, (nest.stages[0], stage))
    assert launch(machine, nest, ROW, [index, values, table]) == 0
    np.testing.assert_array_equal(table.ravel(), [0, 1, 3])
