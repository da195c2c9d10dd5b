"""Every schedule of nests written by hand gives NumPy's result in the interpreter, whatever part runs when."""

import nests
import numpy as np
import pytest
from draw import drawn_order

from umiak.compiler.loop.interpreter import run
from umiak.compiler.loop.node import walk
from umiak.compiler.loop.printer import show_kernel
from umiak.compiler.loop.tree import GLOBAL, LANE, LOCAL, Loop, Reduce, Store, expressions, walk_statements
from umiak.compiler.loop.verifier import verify
from umiak.compiler.nest import COLUMN, MAP, ROW, SPLIT_COLUMN, SPLIT_ROW, STRIP, TILE, Variant
from umiak.compiler.schedule import kernels

POINTWISE = dict(nests.pointwise_cases())
REDUCED = dict(nests.reduced_cases())
MIDDLE = ((0, 2), (1,))


@pytest.fixture(autouse=True)
def short_runs(monkeypatch):
    nests.short_runs(monkeypatch)


def make(case, schedule, tile=-1, long=False, **options):
    return kernels(case.nest, nests.variant_of(case.nest, schedule, tile, long), **options)


def run_case(case, schedule, tile=-1, block=0, in_place=()):
    """Run it on fresh outputs and compare; ``in_place``: pairs of an input and the output that is the same memory."""
    for long in nests.lengths(case.nest):
        run_length(case, schedule, tile, block, in_place, long)


def run_length(case, schedule, tile, block, in_place, long):
    phases = make(case, schedule, tile, long)
    for phase in phases:
        verify(phase.kernel)
    pointers = {}
    for b, operand in zip(case.nest.buffers, case.operands):
        pointers[b.name] = np.array(operand).reshape(-1)
        if b.output:
            pointers[b.name] = np.frombuffer(bytearray(b"\x01" * operand.nbytes), operand.dtype)
    for source, target in in_place:
        pointers[target] = pointers[source]
    variant = nests.variant_of(case.nest, schedule, tile, long)
    code = nests.launch(case.nest, variant, phases, run, list(pointers.values()), case.words, block)
    assert code == case.fails
    if not case.fails:
        for b, operand in zip(case.nest.buffers, case.operands):
            if b.output:
                nests.compare(pointers[b.name], operand.reshape(-1), case.rtol)


@pytest.mark.parametrize("name", POINTWISE)
def test_pointwise(name):
    case = POINTWISE[name]()
    for schedule, tile in nests.schedules(case):
        run_case(case, schedule, tile)


@pytest.mark.parametrize(
    "most", [2, pytest.param(None, marks=pytest.mark.slow)], ids=["two schedules", "all schedules"]
)
@pytest.mark.parametrize("name", REDUCED)
def test_reduced(name, most):
    case = REDUCED[name]()
    for schedule, tile in drawn_order(nests.schedules(case), name)[:most]:
        run_case(case, schedule, tile, block=7)


@pytest.mark.slow
@pytest.mark.parametrize("name", dict(nests.more_reduced_cases()))
def test_reduced_more(name):
    case = dict(nests.more_reduced_cases())[name]()
    for schedule, tile in nests.schedules(case):
        run_case(case, schedule, tile, block=7)


@pytest.mark.parametrize("schedule", [ROW, COLUMN, STRIP, SPLIT_ROW, SPLIT_COLUMN])
@pytest.mark.parametrize(
    "case",
    [
        nests.softmax((3, 11, 5), *MIDDLE),
        nests.softmax((3, 11), (0,), (1,)),
        nests.weighted_softmax(3, 11),
        nests.cumulative((11, 3), (1,), (0,)),
    ],
    ids=["middle", "rows", "weighted", "cumulative"],
)
def test_in_place(case, schedule):
    run_case(case, schedule, block=4, in_place=[("x", "out")])


def test_in_place_crosswise():
    run_case(nests.swap(9), MAP, in_place=[("x", "out"), ("y", "more")])


@pytest.mark.parametrize("block", [1, 5, 64])
def test_split_into_other_blocks(block):
    """One block, many, and rows that end in the middle of one."""
    for schedule in (SPLIT_ROW, SPLIT_COLUMN):
        run_case(nests.softmax((2, 13, 3), *MIDDLE), schedule, block=block)
        run_case(nests.cumulative((13, 3), (1,), (0,)), schedule, block=block)


# --- what the kernels look like --------------------------------------------------------------------------------------


def statements(phases):
    return [s for p in phases for s in walk_statements(p.kernel.body)]


def computing(phases, op):
    """Statements that compute an operation."""
    return [s for s in statements(phases) if any(x.op == op for x in walk(expressions(s)))]


def test_exponentials_wait_in_the_output():
    for schedule in (ROW, COLUMN, SPLIT_ROW):
        (store,) = computing(make(nests.softmax((3, 11, 5), *MIDDLE), schedule), "exp")
        assert isinstance(store, Store) and store.buffer == "out"
    stores = computing(make(nests.softmax((3, 11, 5), *MIDDLE), STRIP), "exp")
    assert {s.buffer for s in stores} == {"out"}


@pytest.mark.parametrize("case", [nests.softmax_half((4, 9), (0,), (1,)), nests.weighted_softmax(4, 9)])
def test_exponentials_wait_in_a_local_row(case):
    phases = make(case, ROW)
    (store,) = computing(phases, "exp")
    assert store.buffer == "cache0"
    assert [b.name for b in phases[0].kernel.buffers if b.space == LOCAL] == ["cache0"]
    # Rows that are split into blocks have no place for it.
    assert len(computing(make(case, SPLIT_ROW), "exp")) == 2


def test_cheap_parts_are_recomputed():
    phases = make(nests.layer_norm((4, 9), (0,), (1,)), ROW)
    assert not [b for b in phases[0].kernel.buffers if b.space == LOCAL]
    assert {s.buffer for s in statements(phases) if isinstance(s, Store)} == {"out", "more", "rest"}


def test_strips_compute_once_per_column():
    phases = make(nests.layer_norm((9, 4), (1,), (0,)), STRIP)
    (store,) = [s for s in computing(phases, "rsqrt") if s.buffer.startswith("column")]
    assert store.buffer not in ("out", "rest")


def test_strips_read_eight_rows_at_once():
    phases = make(nests.total((64, 40), (1,), (0,)), STRIP)
    loads = [sum(x.op == "load" and x.attr == "x" for x in walk(expressions(s))) for s in statements(phases)]
    assert sorted(loads)[-2:] == [1, 8]


def test_unit_and_zero_strides_are_constants():
    """So a renderer sees contiguous lanes: the columns' index has the coefficient 1."""
    case = nests.add_broadcast(3, 4, 5)
    text = show_kernel(make(case, MAP)[0].kernel)
    assert "(t0 * d9) + (t1 * d10)) + c" in text
    assert "y[(t0 * d6) + (t1 * d7)]" in text


def test_reductions_side_by_side_read_once():
    """A sum and a count, with one condition."""
    for schedule in (ROW, COLUMN):
        phases = make(nests.mean_of_positive((4, 9), (0,), (1,)), schedule)
        (reduction,) = [s for s in statements(phases) if isinstance(s, Reduce)]
        assert reduction.monoid.name == "sum+sum" and len(reduction.results) == 2
        assert reduction.where is not None
    # Those of softmax need each other.
    phases = make(nests.softmax((4, 9), (0,), (1,)), ROW)
    assert [s.monoid.name for s in statements(phases) if isinstance(s, Reduce)] == ["max", "sum"]


def test_neighbouring_stores_share_a_loop():
    phases = make(nests.dropout(3, 8), MAP)
    (lanes,) = [s for s in statements(phases) if isinstance(s, Loop) and s.axis.kind == LANE]
    assert [s.buffer for s in lanes.body] == ["out", "mask"]


def test_blocks_pass_results_through_global_buffers():
    phases = make(nests.softmax((2, 30), (0,), (1,)), SPLIT_ROW)
    assert len(phases) == 3
    buffers = [[b for b in p.kernel.buffers if b.space == GLOBAL] for p in phases]
    assert len(buffers[0]) == 2 and all(b == buffers[0] for b in buffers)
    # A sum of everything: the blocks, and a point that combines them.
    first, second = make(nests.total((30, 4), (), (0, 1)), SPLIT_ROW)
    assert sum(isinstance(s, Reduce) and s.axes != () for s in statements([second])) == 1


def test_names_tell_variants_apart():
    case = nests.softmax((3, 11, 5), *MIDDLE)
    names = [p.kernel.name for s in (ROW, COLUMN, STRIP, SPLIT_ROW, SPLIT_COLUMN) for p in make(case, s)]
    assert len(set(names)) == len(names) == 3 + 3 + 3
    other = Variant(ROW, 2, 1, ((2, 2),) * 3)
    assert kernels(case.nest, other)[0].kernel.name not in names


def test_streaming_stores():
    for case, schedule in [(nests.gelu(9), MAP), (nests.softmax_half((4, 9), (0,), (1,)), ROW)]:
        for options, buffers in [({}, set()), ({"streaming": True}, {"out"})]:
            found = {s.buffer for s in statements(make(case, schedule, **options)) if getattr(s, "streaming", False)}
            assert found == buffers


def test_text_is_stable():
    assert show_kernel(make(nests.softmax((3, 11), (0,), (1,)), ROW)[0].kernel) == SOFTMAX
    assert show_kernel(make(nests.total((64, 40), (1,), (0,)), COLUMN)[0].kernel) == COLUMN_SUM
    assert show_kernel(make(nests.transposed_matrix(70, 65), TILE, 0)[0].kernel) == TRANSPOSE


SOFTMAX = """\
kernel softmax_row_1_1_211021(8 dims)
  in x: f32
  out out: f32
  parallel for i in [0, d0):
    m: f32 = reduce max for r0 in [0, d1) lane:
      x[(i * d2) + r0]
    for r0 in [0, d1) lane:
      out[(i * d6) + r0] = exp(x[(i * d2) + r0] - m)
    s: f32 = reduce sum for r0 in [0, d1) lane:
      out[(i * d6) + r0]
    for r0 in [0, d1) lane:
      t0 = (i * d6) + r0
      out[t0] = out[t0] / s
"""

COLUMN_SUM = """\
kernel sum_column_1_1_121012(8 dims)
  in x: f32
  out out: f32
  parallel for c in [0, d0) lane:
    s: f32 = reduce sum for r0 in [0, d1):
      x[c + (r0 * d3)]
    out[c] = s
"""

TRANSPOSE = """\
kernel matrix_tile_2_0_2112_t0(6 dims)
  in x: f32
  out out: f64
  parallel for i in [0, (d0 + 63) / 64):
    for b in [0, d1) step 64:
      t0 = i * 64
      for t in [t0, min(t0 + 64, d0)) tile:
        for c in [b, min(b + 64, d1)) lane:
          out[(t * d4) + c] = f64(x[t + (c * d3)])
"""


# --- what is refused -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("case", "variant", "message"),
    [
        (nests.gelu(4), ("spiral", 1, 0, ((1, 2),) * 2), "requires a schedule of map, .*, got 'spiral'"),
        (nests.gelu(4), (MAP, 1, 0, ((1, 2),)), "kinds of its 2 accesses, got 1"),
        (nests.gelu(4), (ROW, 1, 0, ((1, 2),) * 2), "requires axes of R for row, got none"),
        (nests.gelu(4), (SPLIT_ROW, 1, 0, ((1, 2),) * 2), "requires axes of R for split_row, got none"),
        (nests.gelu(4), (TILE, 1, 0, ((1, 2),) * 2, 0), "an outer axis of P as tile and no R, got 0 of 1, R 0"),
        (nests.softmax((3, 4), (0,), (1,)), (MAP, 1, 1, ((1, 2),) * 3), "without R for map, got 1"),
        (nests.softmax((12,), (), (0,)), (COLUMN, 0, 1, ((1, 2),) * 3), "axes of P and R for column, got 0 and 1"),
        (nests.softmax((12,), (), (0,)), (STRIP, 0, 1, ((1, 2),) * 3), "axes of P and R for strip, got 0 and 1"),
        (
            nests.cumulative((5, 3), (0,), (1,)),
            (COLUMN, 1, 2, ((1, 2),) * 3),
            "one axis of R for a scan along .* got 2",
        ),
    ],
)
def test_refused(case, variant, message):
    with pytest.raises(ValueError, match=message):
        kernels(case.nest, Variant(*variant))
