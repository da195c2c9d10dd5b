"""The launcher of nests, with kernels that record what they are given."""

import ctypes
import gc
import itertools
import math
import threading
import time
import weakref

import numpy as np
import pytest

from umiak.backends.cpu import launcher
from umiak.backends.cpu.launcher import NestLauncher
from umiak.compiler.codes import (
    ANY,
    COLUMN_BLOCKS,
    INNER,
    ONE,
    OUTER,
    OUTER_BLOCKS,
    ROW_BLOCKS,
    ROWS,
    TILE_BLOCKS,
    UNIT,
    ZERO,
)
from umiak.compiler.nest import COLUMN, MAP, ROW, SPLIT_COLUMN, SPLIT_ROW, STRIDES, STRIP, TILE, Variant
from umiak.compiler.schedule import chunks
from umiak.core import foreach
from umiak.core.array import from_numpy
from umiak.ops.base import REGISTRY
from umiak.runtime import parallel

I64 = ctypes.c_int64
Pointers, Integers, Words = ctypes.POINTER(ctypes.c_void_p), ctypes.POINTER(I64), ctypes.POINTER(ctypes.c_uint64)


class Ctx(ctypes.Structure):
    _fields_ = [("local", ctypes.c_void_p), ("shared", ctypes.c_void_p)]


class Rows(ctypes.Structure):
    """``Rows`` of ``umiak/core/rows.pxd``."""

    _fields_ = [
        ("count", I64), ("width", I64), ("words", I64), ("ptrs", Pointers), ("sizes", Integers), ("scalars", Words),
        ("fixed", ctypes.c_uint64), ("apart", ctypes.c_int), ("failed", I64),
    ]  # fmt: skip

    def __init__(self, sizes, width, words=1, fixed=0, apart=True):
        n = len(sizes)
        self.sizes_, self.scalars_ = (I64 * n)(*sizes), (ctypes.c_uint64 * (n * words))(*range(n * words))
        self.ptrs_ = (ctypes.c_void_p * (n * width))(*range(1, n * width + 1))  # of row i: from i * width + 1 on
        super().__init__(
            n, width, words, ctypes.cast(self.ptrs_, Pointers), ctypes.cast(self.sizes_, Integers),
            ctypes.cast(self.scalars_, Words), fixed, apart, -1,
        )  # fmt: skip


Kernel = ctypes.CFUNCTYPE(ctypes.c_int, Pointers, Integers, Words, ctypes.POINTER(Ctx), I64, I64)
Bytes = ctypes.CFUNCTYPE(I64, Integers)
LAUNCH = (ctypes.c_int, ctypes.c_void_p, Pointers, Integers, Words, I64)
MANY = (ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p, I64)
FLAT = (ctypes.c_int, ctypes.c_void_p, Pointers, I64, Words)
WAIT = 60


def address(function) -> int:
    return ctypes.cast(function, ctypes.c_void_p).value


class Phase:
    """A kernel that records its calls and returns ``code(lo)``."""

    def __init__(self, counts=None, block=0, local=None, shared=None, code=lambda lo: 0):
        self.counts, self.block, self.code = counts, block, code
        self.calls, self.dims, self.context, self.threads = [], None, [], []
        self.n_dims = 0
        self.kernel = Kernel(self.run)
        self.bytes = [None if f is None else Bytes(lambda dims, f=f: f(dims)) for f in (local, shared)]

    def run(self, ptrs, dims, scalars, ctx, lo, hi):
        self.dims = dims[: self.n_dims]
        self.ptrs, self.scalars = ptrs, scalars
        self.calls.append((lo, hi))
        self.context.append((ctx[0].local, ctx[0].shared))
        self.threads.append(threading.get_native_id())
        return self.code(lo)

    def entry(self, variant):
        counts = self.counts
        if counts is None:
            alone = INNER if variant.p == 1 else OUTER
            counts = {MAP: alone, TILE: TILE_BLOCKS, ROW: ROWS, COLUMN: alone, STRIP: COLUMN_BLOCKS}.get(
                variant.schedule, ROW_BLOCKS
            )
        block = self.block or (64 if counts == TILE_BLOCKS else 512 if counts == COLUMN_BLOCKS else 0)
        return (address(self.kernel), *(0 if f is None else address(f) for f in self.bytes), counts, block)


class Launcher(NestLauncher):
    """A launcher of recording kernels. Accesses go with pointers 0, 1, …; the last is the output unless told."""

    def __init__(self, n_p, n_r, pointers, outputs=None, phases=None, **options):
        self.phases = phases or [Phase()]
        self.compiled = []
        n = max(pointers, default=-1) + 1
        options.setdefault("cost_per_point", 0.0)  # no parts on threads, unless a test is about them
        super().__init__(
            compile=self.make, n_parallel=n_p, n_reduced=n_r, access_pointers=pointers,
            outputs=1 << (n - 1) if outputs is None else outputs, **options,
        )  # fmt: skip

    def __new__(cls, *args, **kwargs):
        return super().__new__(cls)

    def make(self, *fields):
        v = Variant(*fields)
        self.compiled.append(v)
        return [p.entry(v) for p in self.phases], self.phases

    def launch(self, sizes, strides, extras=(), hold_gil=True, pointers=None, scalars=None):
        """Returns the launch's result; holding the GIL, exceptions come through, and parts may not run on threads."""
        words = [*sizes, *itertools.chain(*strides), *extras]
        for p in self.phases:
            p.n_dims = 64
            p.calls.clear()
            p.context.clear()
            p.threads.clear()
        self.words = (I64 * (len(words) + 64))(*words)
        call = (ctypes.PYFUNCTYPE if hold_gil else ctypes.CFUNCTYPE)(*LAUNCH)(self.address)
        return call(self.self_pointer, pointers, self.words, scalars, 0)

    def seen(self, sizes, strides, **options) -> Variant:
        """The variant that a launch takes, with its integers in ``dims``."""
        before = len(self.compiled)
        assert self.launch(sizes, strides, **options) == 0
        assert len(self.compiled) == before + 1
        self.dims = self.phases[0].dims
        return self.compiled[-1]


def one(n_p, n_r, strides, sizes, **options) -> tuple[Variant, list[int]]:
    """The variant and the integers of one launch."""
    made = Launcher(n_p, n_r, range(len(strides)), **options)
    return made.seen(sizes, strides), made.dims


@pytest.fixture
def threads():
    """Four threads of our own."""
    count, driver = parallel.get_num_threads(), parallel.get_driver()
    parallel.set_driver("pool")
    parallel.set_num_threads(4)
    yield 4
    parallel.set_driver(driver)
    parallel.set_num_threads(count)


# ---- axes ------------------------------------------------------------------------------------------------------------
def walk(sizes, strides, n_p):
    """For every point of P, what the accesses are over R: a multiset of multisets, as sorted lists."""
    found = []
    for point in np.ndindex(*sizes[:n_p]):
        row = [
            tuple(int(np.dot((*point, *rest), s)) if sizes else 0 for s in strides) for rest in np.ndindex(*sizes[n_p:])
        ]
        found.append(sorted(row))
    return sorted(found)


def known(variant, dims, n_accesses):
    """Sizes and strides as kernels see them: those along innermost axes by their kinds."""
    n = variant.p + variant.r
    sizes, strides = dims[:n], [dims[n * (1 + k) : n * (2 + k)] for k in range(n_accesses)]
    assert len(variant.kinds) == n_accesses
    for of, (along_p, along_other) in zip(strides, variant.kinds):
        other = variant.tile if variant.tile >= 0 else n - 1
        for axis, kind in (
            (variant.p - 1, along_p),
            *([(other, along_other)] if variant.r or variant.tile >= 0 else []),
        ):
            if kind != ANY:
                of[axis] = STRIDES[kind]
    return sizes, strides


def contiguous(sizes, order, rng):
    """Strides of a tensor whose axes lie in ``order`` in memory; now and then one axis is broadcast or reversed."""
    strides, step = [0] * len(sizes), 1
    for axis in order:
        strides[axis] = step
        step *= sizes[axis] + int(rng.integers(0, 3) == 0)
    for axis in range(len(sizes)):
        change = rng.integers(0, 8)
        strides[axis] *= 0 if change == 0 else -1 if change == 1 else 1
    return strides


def test_axes_stand_for_the_same_points(rng):
    for _ in range(400):
        n_p, n_r, n = int(rng.integers(0, 5)), int(rng.integers(0, 4)), int(rng.integers(1, 5))
        sizes = [int(rng.choice([1, 1, 2, 3, 9])) for _ in range(n_p + n_r)]
        if math.prod(sizes) > 600:
            continue
        order = list(range(n_p + n_r))[::-1]
        strides = []
        for _ in range(n):
            if rng.integers(0, 3) == 0:
                order = list(rng.permutation(order))
            strides.append(contiguous(sizes, order, rng))
        made = Launcher(n_p, n_r, range(n))
        variant = made.seen(sizes, strides)
        got_sizes, got = known(variant, made.dims, n)
        assert walk(got_sizes, got, variant.p) == walk(sizes, strides, n_p), (sizes, strides, variant, made.dims)
        # Nothing is left that could go: no axis of size 1 beside others, no two neighbours that are one.
        for begin, end in ((0, variant.p), (variant.p, variant.p + variant.r)):
            assert end - begin <= 1 or 1 not in got_sizes[begin:end]
            for a in range(begin, end - 1):
                assert any(s[a] != s[a + 1] * got_sizes[a + 1] for s in got)
        output = got[-1][: variant.p]
        ranks = [math.inf if s == 0 else abs(s) for s in output]
        assert ranks == sorted(ranks, reverse=True)
        assert variant.p >= 1 and (variant.r >= 1) == (n_r > 0)


def test_axes_of_r_are_ordered_by_the_first_input_that_moves():
    # A row vector that all points of R share, then a tensor whose R axes lie the other way round.
    v, dims = one(1, 2, [[0, 0, 0], [100, 1, 10], [1, 0, 0]], [16, 8, 4])
    assert (v.p, v.r, dims[:3]) == (1, 2, [16, 4, 8])
    assert dims[3:12] == [0, 0, 0, 100, 10, 1, 1, 0, 0]


def test_extras_come_first():
    made = Launcher(2, 0, [0, 1], n_extras=2)
    made.seen([4, 8], [[8, 1], [16, 1]], extras=[77, -5])
    assert made.dims[:8] == [77, -5, 4, 8, 8, 1, 16, 1]


def test_nothing_to_do():
    made = Launcher(2, 1, [0, 1])
    assert made.launch([4, 0, 3], [[3, 3, 1], [0, 1, 0]]) == 0
    assert made.compiled == [] and made.phases[0].calls == []


@pytest.mark.parametrize("sizes", [[40, 0], [40, 7, 0], [2, 0, 5]])
def test_an_empty_r_is_an_axis_of_size_0(sizes):
    n = len(sizes)
    strides = [[35] + [1] * (n - 1), [1] + [0] * (n - 1)]
    v, dims = one(1, n - 1, strides, sizes)
    assert (v.p, v.r) == (1, 1) and dims[:2] == [sizes[0], 0]


def test_many_axes_and_accesses():
    n_axes, n = 12, 40
    sizes = [2] * n_axes
    strides = [[(k + 3) * 3**a for a in range(n_axes)] for k in range(n)]
    made = Launcher(n_axes, 0, range(n))
    phase = made.phases[0]
    phase.run, take = None, []
    phase.kernel = Kernel(lambda ptrs, dims, scalars, ctx, lo, hi: take.extend(dims[: n_axes * (1 + n)]) or 0)
    assert made.launch(sizes, strides) == 0
    assert take[:n_axes] == sizes
    for k in range(n):
        assert take[n_axes * (1 + k) : n_axes * (2 + k)] == strides[k][::-1]
    assert made.compiled[0].kinds == ((ANY, ZERO),) * n


def test_the_same_integers_again():
    """What a launch remembers of the last one holds for those integers alone."""
    n_p, n_r, strides = 1, 1, ((8, 1), (1, 0))
    made = Launcher(n_p, n_r, range(2))
    seen = []
    made.phases[0].kernel = Kernel(lambda ptrs, dims, scalars, ctx, lo, hi: seen.append((*dims[:6], lo, hi)) or 0)
    for sizes in ((3, 8), (3, 8), (5, 8), (5, 7), (5, 7), (3, 8), (0, 8), (3, 8)):
        before = len(seen)
        assert made.launch(sizes, strides) == 0
        assert seen[before:] == [(*sizes, 8, 1, 1, 0, 0, sizes[0])][: sizes[0]]
    assert made.launch((3, 8), ((16, 1), (1, 0))) == 0 and seen[-1][2] == 16


def test_what_is_remembered_holds_in_many_threads():
    made = Launcher(1, 1, range(2))
    wrong = []

    def kernel(ptrs, dims, scalars, ctx, lo, hi):
        if (dims[0], dims[1], dims[2], hi) != (dims[0], dims[0] + 1, dims[0] + 2, dims[0]):
            wrong.append(tuple(dims[:6]))
        return 0

    made.phases[0].kernel = Kernel(kernel)
    made.phases[0].n_dims = 64
    call = ctypes.CFUNCTYPE(*LAUNCH)(made.address)
    words = {n: (I64 * 6)(n, n + 1, n + 2, 1, 1, 0) for n in range(2, 8)}

    def work(seed):
        for n in np.random.default_rng(seed).integers(2, 8, 400):
            assert call(made.self_pointer, None, words[n], None, 0) == 0

    work(0)
    workers = [threading.Thread(target=work, args=(i,)) for i in range(4)]
    for t in workers:
        t.start()
    for t in workers:
        t.join(WAIT)
    assert not wrong


# ---- variants --------------------------------------------------------------------------------------------------------
def test_a_class_is_compiled_once():
    made = Launcher(2, 0, [0, 1, 2])
    for n in range(2, 60):
        made.launch([n, 8], [[8, 1]] * 3)
        made.launch([8, n], [[n, 1]] * 3)
    assert made.compiled == [Variant(MAP, 1, 0, ((UNIT, ZERO),) * 3)] and made.misses == 1
    for n in range(3, 60):
        made.launch([n, 8], [[8, 1], [0, 1], [8, 1]])
        made.launch([n, 8], [[9, 1], [1, 0], [8, 1]])
    assert made.compiled[1:] == [
        Variant(MAP, 2, 0, ((UNIT, ZERO),) * 3), Variant(MAP, 2, 0, ((UNIT, ZERO), (ZERO, ZERO), (UNIT, ZERO))),
    ]  # fmt: skip
    assert made.variants() == made.compiled


def test_large_outputs_bypass_the_caches():
    """Where they are written in order, and are no input."""
    area = (ctypes.c_void_p * 2)(4096, 8192)
    same = (ctypes.c_void_p * 2)(4096, 4096)
    for size, pointers, streams in ((1023, area, False), (1024, area, True), (1024, same, False)):
        made = Launcher(1, 0, [0, 1], itemsize=4, stream_bytes=4096)
        assert made.launch([size], [[1], [1]], pointers=pointers) == 0
        assert [v.streams for v in made.compiled] == [streams]
    rows = Launcher(1, 1, [0, 1], itemsize=4, stream_bytes=4096)
    rows.launch([4, 1024], [[1024, 1], [1, 0]], pointers=area)  # few results of many
    rows.launch([4, 1024], [[1024, 1], [1024, 1]], pointers=area)
    assert [v.streams for v in rows.compiled] == [False, True]


def test_outputs_of_little_input_stay_in_the_cache():
    """Up to the size at which they fill it."""
    area = (ctypes.c_void_p * 3)(4096, 8192, 12288)
    for rows, streams in ((16, False), (31, False), (32, True)):
        outer = Launcher(2, 0, [0, 1, 2], itemsize=4, stream_bytes=4096)
        assert outer.launch([rows, 64], [[1, 0], [0, 1], [64, 1]], pointers=area) == 0
        assert [v.streams for v in outer.compiled] == [streams]


def test_few_columns_are_lanes_along_the_rows():
    v, dims = one(2, 0, [[9, 1], [7, 1]], [64, 3], itemsize=4)
    assert v == Variant(MAP, 2, 0, ((ANY, ZERO),) * 2) and dims[:6] == [3, 64, 1, 9, 1, 7]
    v, dims = one(2, 0, [[9, 1], [7, 1]], [64, 3], itemsize=2)  # such elements are not scattered
    assert v == Variant(MAP, 2, 0, ((UNIT, ZERO),) * 2) and dims[:2] == [64, 3]


def test_single_points_share_the_usual_variant():
    made = Launcher(2, 0, [0, 1])
    made.launch([4, 8], [[8, 1], [8, 1]])
    made.launch([1, 1], [[0, 0], [5, 5]])
    made.launch([1, 9], [[0, 1], [0, 1]])
    assert len(made.compiled) == 1
    # one sum or many: rows all the same
    sums = Launcher(1, 1, [0, 1])
    sums.launch([6, 64], [[64, 1], [1, 0]])
    sums.launch([1, 64], [[64, 1], [1, 0]])
    assert sums.compiled == [Variant(ROW, 1, 1, ((ANY, UNIT), (ANY, ZERO)))]
    assert sums.phases[0].dims[:2] == [1, 64]


def test_strides_where_no_lanes_run_are_of_one_kind():
    rows = Launcher(1, 1, [0, 1])
    rows.launch([6, 64], [[64, 1], [1, 0]])
    rows.launch([6, 64], [[64, 1], [2, 0]])
    assert [v.kinds for v in rows.compiled] == [((ANY, UNIT), (ANY, ZERO))]
    columns = Launcher(1, 1, [0, 1])
    columns.launch([64, 20], [[1, 64], [1, 0]])
    columns.launch([64, 20], [[1, 64], [1, 1]])
    assert [v.kinds for v in columns.compiled] == [((UNIT, ANY), (UNIT, ZERO)), ((UNIT, ANY), (UNIT, ANY))]


def test_variants_of_many_accesses_differ():
    made = Launcher(1, 0, range(33), outputs=1)
    for k in range(33):
        strides = [[1]] * 33
        strides[k] = [0]
        for _ in range(2):
            made.launch([5], strides)
    assert len(made.compiled) == 33 and [v.kinds[k][0] for k, v in enumerate(made.compiled)] == [ZERO] * 33


def row(n_p, n_r):
    return [n_p, n_r], [[n_r, 1], [1, 0]]


def column(n_p, n_r):
    return [n_p, n_r], [[1, n_p], [1, 0]]


@pytest.mark.parametrize(
    ("sizes", "strides", "schedule"),
    [
        (*row(100, 8), ROW),
        (*row(100, 7), COLUMN),
        (*row(7, 7), ROW),
        (*row(8, 7), COLUMN),
        (*row(1, 1 << 15), ROW),
        (*row(2, 1 << 15), SPLIT_ROW),
        (*row(31, 1 << 15), SPLIT_ROW),
        (*row(32, 1 << 15), ROW),
        (*row(31, (1 << 15) - 1), ROW),
        (*row(1, (1 << 16) - 1), ROW),
        (*row(1, 1 << 16), SPLIT_ROW),
        (*column(100, 8), COLUMN),
        (*column(100, 31), COLUMN),
        (*column(100, 32), STRIP),
        (*column(100, 655), STRIP),
        (*column(100, 656), SPLIT_COLUMN),
        (*column(4, 1 << 15), SPLIT_COLUMN),
        (*column(3, 1 << 15), SPLIT_ROW),
        (*column(31 * 512, 128), SPLIT_COLUMN),
        (*column(31 * 512 + 1, 128), STRIP),
        ([64, 20], [[80, 4], [1, 0]], ROW),
        ([64, 20], [[4, 256], [1, 0]], COLUMN),
        ([64, 20], [[0, 4], [1, 0]], ROW),
    ],
)
def test_schedules_of_reductions(sizes, strides, schedule):
    v, _ = one(1, 1, strides, sizes, splittable=True)
    assert v.schedule == schedule
    unsplit = {SPLIT_ROW: ROW, SPLIT_COLUMN: STRIP}.get(schedule, schedule)
    assert one(1, 1, strides, sizes)[0].schedule == unsplit


@pytest.mark.parametrize(
    ("sizes", "strides", "long"),
    [
        (*row(4, chunks.CHUNK_POINTS), False),
        (*row(4, chunks.CHUNK_POINTS + 1), True),
        (*row(1, 1 << 16), True),  # split
        (*column(100, 31), False),
        (*column(100, chunks.CHUNK_COLUMN), False),
        (*column(100, chunks.CHUNK_COLUMN + 1), True),
        ([3, chunks.CHUNK_ROWS, 8], [[1000, 9, 1], [1, 0, 0]], False),
        ([3, chunks.CHUNK_ROWS + 1, 8], [[1000, 9, 1], [1, 0, 0]], True),
    ],
)
def test_long_sums_are_variants_of_their_own(sizes, strides, long):
    n_r = len(sizes) - 1
    v, _ = one(1, n_r, strides, sizes, splittable=True, sums=True)
    assert v.long == long
    assert not one(1, n_r, strides, sizes, splittable=True)[0].long


@pytest.mark.parametrize(
    ("sizes", "strides", "schedule", "tile"),
    [
        ([8, 8], [[1, 8], [8, 1]], TILE, 0),
        ([8, 7], [[1, 8], [7, 1]], MAP, -1),
        ([7, 8], [[1, 7], [8, 1]], MAP, -1),
        ([8, 8], [[2, 16], [8, 1]], MAP, -1),
        ([8, 8], [[1, 0], [8, 1]], MAP, -1),
        ([8, 8], [[1, 8], [16, 2]], MAP, -1),
        ([9, 10, 11], [[1, 9, 90], [110, 11, 1]], TILE, 0),
        ([9, 10, 11], [[110, 1, 10], [110, 11, 1]], TILE, 1),
    ],
)
def test_schedules_without_r(sizes, strides, schedule, tile):
    v, dims = one(len(sizes), 0, strides, sizes)
    assert (v.schedule, v.tile) == (schedule, tile)
    if tile >= 0:
        assert v.kinds == ((ANY, UNIT), (UNIT, ANY)) and dims[tile] == sizes[tile]


def test_the_schedule_does_not_depend_on_threads(threads):
    made = Launcher(1, 1, [0, 1], splittable=True)
    for n in (1, 4):
        parallel.set_num_threads(n)
        for shape in (row(3, 1 << 16), column(40, 1 << 12), row(100, 100)):
            made.launch(*shape)
    assert len(made.compiled) == 3


def test_blocks_follow_from_the_shape(rng):
    for _ in range(60):
        n_p, n_r = int(rng.integers(1, 31)), int(rng.integers(1 << 15, 1 << 22))
        for shape in (row(n_p, n_r), column(n_p + 3, n_r)):
            made = Launcher(1, 1, [0, 1], splittable=True, phases=[Phase(ONE)])
            v = made.seen(*shape)
            if math.prod(shape[0]) < 1 << 16:
                continue
            assert v.schedule in (SPLIT_ROW, SPLIT_COLUMN)
            blocks, length = made.dims[6:8]
            assert 2 <= blocks <= 256 and length % 64 == 0 and (blocks - 1) * length < n_r <= blocks * length


def test_blocks_of_an_outer_axis():
    # statistics of four channels: R is images and their points, which do not merge
    sizes, strides = [4, 64, 3000], [[3000, 12000, 1], [1, 0, 0]]
    v, dims = one(1, 2, strides, sizes, splittable=True, phases=[Phase(ONE)])
    assert (v.schedule, v.r) == (SPLIT_ROW, 2) and dims[:3] == sizes
    assert dims[9:11] == [11, 6]  # six images make a block


# ---- ranges and parts ------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("phase", "count"),
    [(Phase(ROWS), 5 * 6 * 70), (Phase(OUTER), 30), (Phase(ONE), 1), (Phase(COLUMN_BLOCKS, 16), 30 * 5)],
)
def test_what_ranges_count(phase, count):
    made = Launcher(3, 0, [0, 1], phases=[phase])
    made.launch([5, 6, 70], [[1000, 100, 1], [2000, 100, 1]])
    assert phase.calls == [(0, count)]


def test_what_ranges_of_blocks_count():
    tiles = Phase(TILE_BLOCKS, 64)
    made = Launcher(3, 0, [0, 1], phases=[tiles])
    assert made.seen([5, 100, 70], [[7000, 1, 100], [8000, 70, 1]]).tile == 1
    assert tiles.calls == [(0, 5 * 2)]
    first, second = Phase(OUTER_BLOCKS), Phase(OUTER)
    made = Launcher(2, 1, [0, 1], phases=[first, second], splittable=True)
    assert made.seen([3, 40, 5000], [[200000, 1, 40], [50, 1, 0]]).schedule == SPLIT_COLUMN
    assert first.calls == [(0, 3 * first.dims[9])] and second.calls == [(0, 3)]
    rows, inner = Phase(ROW_BLOCKS), Phase(INNER)
    made = Launcher(1, 1, [0, 1], phases=[rows, inner], splittable=True)
    made.seen(*row(3, 1 << 17))
    assert rows.calls == [(0, 3 * rows.dims[6])] and inner.calls == [(0, 3)]


def check_parts(calls, count, threads):
    calls = sorted(calls)
    assert [lo for lo, _ in calls] == [0, *(hi for _, hi in calls[:-1])] and calls[-1][1] == count
    assert 2 <= len(calls) <= 4 * threads


@pytest.mark.parametrize("n", [65, 1000, 4096, 100003])
def test_parts_of_lanes_begin_at_cache_lines(threads, n):
    made = Launcher(1, 0, [0, 1], cost_per_point=1e6)
    assert made.launch([n], [[1], [1]], hold_gil=False) == 0
    calls = made.phases[0].calls
    check_parts(calls, n, threads)
    assert all(lo % 64 == 0 for lo, _ in calls)


@pytest.mark.parametrize("n", [2, 3, 5, 70, 5000])
def test_parts_of_rows(threads, n):
    made = Launcher(1, 1, [0, 1], cost_per_point=1e6)
    assert made.launch(*row(n, 10), hold_gil=False) == 0
    check_parts(made.phases[0].calls, n, threads)
    if n == 5000:
        assert all(lo % 64 == 0 for lo, _ in made.phases[0].calls)


@pytest.mark.parametrize(("ns", "parts"), [(24900, 1), (25100, 2), (37000, 3), (50000, 4), (700000, 4), (900000, 16)])
def test_parts_are_worth_their_work(threads, ns, parts):
    made = Launcher(1, 1, [0, 1], cost_per_point=ns / 25600)
    assert made.launch(*row(256, 100), hold_gil=False) == 0
    assert len(made.phases[0].calls) == parts


def test_parts_run_on_several_threads(threads):
    barrier = threading.Barrier(4)
    phase = Phase(ROWS, code=lambda lo: barrier.wait(WAIT) and 0)
    made = Launcher(1, 1, [0, 1], phases=[phase], cost_per_point=100.0)
    assert made.launch(*row(64, 10), hold_gil=False) == 0
    assert len(phase.calls) == 4 and len(set(phase.threads)) == 4


def test_phases_follow_each_other(threads):
    order = []
    phases = [
        Phase(ROW_BLOCKS, code=lambda lo: order.append(0) or 0),
        Phase(ROWS, code=lambda lo: order.append(1) or 0),
    ]
    made = Launcher(1, 1, [0, 1], phases=phases, splittable=True, cost_per_point=10.0)
    assert made.launch(*row(3, 1 << 18), hold_gil=False) == 0
    assert len(phases[0].calls) > 1 and order == [0] * len(phases[0].calls) + [1]  # few partial results: one part


# ---- what kernels get ------------------------------------------------------------------------------------------------
def test_pointers_and_scalars_come_as_they_are():
    made = Launcher(1, 0, [0, 1])
    pointers, scalars = (ctypes.c_void_p * 2)(1024, 2048), (ctypes.c_uint64 * 2)(7, 1 << 63)
    made.launch([3], [[1], [1]], pointers=pointers, scalars=scalars)
    phase = made.phases[0]
    assert phase.ptrs[:2] == [1024, 2048] and phase.scalars[:2] == [7, 1 << 63]


@pytest.mark.parametrize("bytes", [1, 64, 5000, 1 << 20, (4 << 20) + 1])
def test_scratch(threads, bytes):
    def touch(ptrs, dims, scalars, ctx, lo, hi):
        for start in (ctx[0].local, ctx[0].shared):
            ctypes.memset(start, lo & 255, bytes)
        return phase.run(ptrs, dims, scalars, ctx, lo, hi)

    phase = Phase(ROWS, local=lambda dims: bytes + 0 * dims[0], shared=lambda dims: bytes)
    phase.kernel = Kernel(touch)
    made = Launcher(1, 1, [0, 1], phases=[phase], cost_per_point=1e6)
    assert made.launch(*row(256, 10), hold_gil=False) == 0
    assert len(phase.calls) == 16
    assert all(local % 64 == 0 and shared % 64 == 0 for local, shared in phase.context)
    assert len({shared for _, shared in phase.context}) == 1
    # each thread has its own; it is never that of the launch
    by_thread = {thread: local for thread, (local, _) in zip(phase.threads, phase.context)}
    if bytes <= 4 << 20:
        assert {(t, local) for t, (local, _) in zip(phase.threads, phase.context)} == set(by_thread.items())
        assert len(set(by_thread.values())) == len(by_thread)
    assert not set(by_thread.values()) & {shared for _, shared in phase.context}
    assert all(size <= 4 << 20 for size in launcher.scratch_sizes())


def test_scratch_of_a_launch_lives_through_its_phases():
    phases = [
        Phase(ONE, shared=lambda dims: 100),
        Phase(ONE, shared=lambda dims: 10000),
        Phase(ONE, local=lambda dims: 0),
    ]
    made = Launcher(1, 0, [0], phases=phases)
    made.launch([5], [[1]])
    assert launcher.scratch_sizes()[1] >= 10000
    assert len({p.context[0][1] for p in phases}) == 1 and [p.context[0][0] for p in phases] == [None] * 3


def test_no_memory_for_scratch(threads):
    for kind in ("local", "shared"):
        made = Launcher(1, 0, [0], phases=[Phase(ONE, **{kind: lambda dims: 1 << 60})])
        with pytest.raises(MemoryError, match="no memory for scratch of a kernel"):
            made.launch([5], [[1]])
        assert made.phases[0].calls == []


# ---- failures --------------------------------------------------------------------------------------------------------
def test_the_code_of_a_kernel_is_returned(threads):
    made = Launcher(1, 0, [0], phases=[Phase(code=lambda lo: 42)])
    assert made.launch([5], [[1]]) == 42
    # in parts: the first one's that failed; and no further phase
    phases = [Phase(ROW_BLOCKS, code=lambda lo: lo if lo > 3 else 0), Phase(ONE)]
    made = Launcher(1, 1, [0, 1], phases=phases, splittable=True, cost_per_point=10.0)
    code = made.launch(*row(3, 1 << 18), hold_gil=False)
    assert len(phases[0].calls) > 2
    assert code == min(lo for lo, _ in phases[0].calls if lo > 3) and phases[1].calls == []


def test_an_exception_of_the_compiler_comes_through():
    made = Launcher(1, 0, [0])
    works = made.make

    def fails(*fields):
        raise LookupError("no such kernel")

    broken = NestLauncher(compile=fails, n_parallel=1, n_reduced=0, access_pointers=[0], outputs=1)
    call = ctypes.PYFUNCTYPE(*LAUNCH)(broken.address)
    flat = ctypes.PYFUNCTYPE(*FLAT)(broken.flat_address)
    for _ in range(2):
        with pytest.raises(LookupError, match="no such kernel") as caught:
            call(broken.self_pointer, None, (I64 * 2)(5, 1), None, 0)
        assert caught.value.__context__ is None
        with pytest.raises(LookupError, match="no such kernel"):
            flat(broken.self_pointer, None, 5, None)
    assert broken.variants() == [] and broken.misses == 4
    # a later launch may do better
    answers = [fails, works]
    mended = NestLauncher(
        compile=lambda *fields: answers.pop(0)(*fields), n_parallel=1, n_reduced=0, access_pointers=[0], outputs=1
    )
    call = ctypes.PYFUNCTYPE(*LAUNCH)(mended.address)
    with pytest.raises(LookupError):
        call(mended.self_pointer, None, (I64 * 2)(5, 1), None, 0)
    assert call(mended.self_pointer, None, (I64 * 2)(5, 1), None, 0) == 0
    assert made.phases[0].calls == [(0, 5)]


@pytest.mark.parametrize("n", [5, 1 << 17])  # with and without the GIL
def test_dispatch_raises_what_the_compiler_raised(n):
    def fails(*fields):
        raise LookupError("no such kernel")

    op = REGISTRY["neg"]()
    x = from_numpy(np.zeros(n, np.float32))
    op.clear()
    try:
        op(x)
        (plan,) = op.plans()
        broken = NestLauncher(compile=fails, n_parallel=1, n_reduced=0, access_pointers=[], outputs=0)
        plan.set_kernel(broken.address, broken.self_pointer, None, broken)
        with pytest.raises(LookupError, match="no such kernel"):
            op(x)
        failing = Launcher(1, 0, [], outputs=0, phases=[Phase(code=lambda lo: 9)])
        plan.set_kernel(failing.address, failing.self_pointer, None, failing)
        with pytest.raises(RuntimeError, match=r"\[neg\] kernel failed with code 9"):
            op(x)
    finally:
        op.clear()


@pytest.mark.parametrize(
    ("answer", "error"),
    [(([], None), ValueError), (([(1, 0, 0)], None), ValueError), (([(1, 0, 0, 9)], None), ValueError),
     (([(1, 0, 0, TILE_BLOCKS)], None), ValueError), (([(0, 0, 0, 0)], None), ValueError), (None, TypeError)],
)  # fmt: skip
def test_a_compiler_that_answers_wrongly(answer, error):
    made = NestLauncher(compile=lambda *_: answer, n_parallel=1, n_reduced=0, access_pointers=[0], outputs=1)
    with pytest.raises(error):
        ctypes.PYFUNCTYPE(*LAUNCH)(made.address)(made.self_pointer, None, (I64 * 2)(5, 1), None, 0)
    assert made.variants() == []


def test_wrong_nests_are_refused():
    with pytest.raises(ValueError, match="at most 62 axes, got 60 and 3"):
        Launcher(60, 3, [0])
    with pytest.raises(ValueError, match="at most 240 accesses, got 241"):
        Launcher(1, 0, [0] * 241)
    with pytest.raises(TypeError, match="requires a callable"):
        NestLauncher(compile=None, n_parallel=1, n_reduced=0, access_pointers=[0], outputs=1)


def test_lanes_run_along_channels_that_lie_last():
    # results [32 channels, 40] of windows of 4 places, of images with channels side by side
    channels, windows = 32, 40

    def seen(x, y, *sizes):
        return one(2, 1, [x, y], list(sizes))[0]

    last = seen([1, 3 * channels, channels], [windows, 1, 0], channels, windows, 4)
    assert (last.schedule, last.kinds) == (COLUMN, ((UNIT, ANY), (ANY, ZERO)))
    # few channels; a result that moves along R; places side by side; channels first
    few = seen([1, 9, 3], [windows, 1, 0], 3, windows, 4)
    assert few.kinds == ((ANY, ANY), (UNIT, ZERO))
    each = seen([1, 3 * channels, channels], [4 * windows, 4, 1], channels, windows, 4)
    assert each.kinds == ((ANY, ANY), (ANY, ANY))
    assert seen([1, 128, 1], [windows, 1, 0], channels, windows, 4).kinds[1] == (UNIT, ZERO)
    assert seen([4 * windows, 1, windows], [windows, 1, 0], channels, windows, 4).kinds == ((UNIT, ANY), (UNIT, ZERO))


# ---- flat ------------------------------------------------------------------------------------------------------------
def test_flat_launches():
    made = Launcher(2, 0, [0, 1, -1])
    flat = ctypes.PYFUNCTYPE(*FLAT)(made.flat_address)
    phase = made.phases[0]
    phase.n_dims = 4
    assert flat(made.self_pointer, None, 1000, None) == 0 and flat(made.self_pointer, None, 0, None) == 0
    assert phase.calls == [(0, 1000)] and phase.dims == [1000, 1, 1, 1]
    made.launch([10, 100], [[100, 1]] * 3)
    assert made.compiled == [Variant(MAP, 1, 0, ((UNIT, ZERO),) * 3)]
    assert Launcher(1, 1, [0, 1]).flat_address == 0 == Launcher(1, 0, [0], n_extras=1).flat_address


def test_flat_launches_run_in_parts(threads):
    made = Launcher(1, 0, [0, 1], cost_per_point=1e3)
    assert ctypes.CFUNCTYPE(*FLAT)(made.flat_address)(made.self_pointer, None, 1000, None) == 0
    check_parts(made.phases[0].calls, 1000, threads)


# ---- many ------------------------------------------------------------------------------------------------------------
class RowPhase(Phase):
    """Records (row, n, lo, hi) of each call, the row by its pointers and scalars; some rows fail."""

    def __init__(self, width, words=1, failing=None, **options):
        super().__init__(**options)
        self.width, self.words, self.failing = width, words, failing or {}

    def run(self, ptrs, dims, scalars, ctx, lo, hi):
        row = (ptrs[0] - 1) // self.width
        assert scalars[0] == row * self.words
        self.dims = dims[1:3]
        self.calls.append((row, dims[0], lo, hi))
        return self.failing.get(row, 0)


def launch_many(made, rows, hold_gil=False):
    """Parts on threads may not hold the GIL; exceptions come through while it is held."""
    call = (ctypes.PYFUNCTYPE if hold_gil else ctypes.CFUNCTYPE)(*MANY)(made.many_address)
    return call(made.self_pointer, ctypes.byref(rows), 0)


SIZES = [5, 0, 64, 1000, 1, 65, 0, 3000, 63]


def check_rows(calls, sizes):
    """Every point of every row once; parts begin at multiples of 64."""
    for row, n in enumerate(sizes):
        mine = sorted((lo, hi) for r, size, lo, hi in calls if r == row and size == n)
        assert len(mine) == sum(r == row for r, *_ in calls)
        assert [lo for lo, _ in mine] + [n] == [0, *(hi for _, hi in mine)] or (n == 0 and mine == [])
        assert all(lo % 64 == 0 and lo < hi for lo, hi in mine)


def test_rows_run_in_order_on_one_thread():
    phase = RowPhase(3, words=2)
    made = Launcher(2, 0, [0, 1, 2], phases=[phase])
    assert launch_many(made, Rows(SIZES, 3, 2)) == 0
    assert phase.calls == [(i, n, 0, n) for i, n in enumerate(SIZES) if n] and phase.dims == [1, 1]
    assert launch_many(made, Rows([], 3)) == 0 and launch_many(made, Rows([0], 3)) == 0
    assert made.compiled == [Variant(MAP, 1, 0, ((UNIT, ZERO),) * 3)]
    assert Launcher(1, 1, [0, 1]).many_address == 0 == Launcher(1, 0, [0], n_extras=1).many_address


def test_rows_run_in_parts_that_cut_where_they_must(threads):
    for cost in (20.0, 100.0, 1e4):
        phase = RowPhase(2)
        made = Launcher(1, 0, [0, 1], phases=[phase], cost_per_point=cost)
        assert launch_many(made, Rows(SIZES, 2)) == 0
        check_rows(phase.calls, SIZES)
        assert len(phase.calls) > sum(n > 0 for n in SIZES)
    many = [7] * 500
    phase = RowPhase(2)
    assert launch_many(Launcher(1, 0, [0, 1], phases=[phase], cost_per_point=1e3), Rows(many, 2)) == 0
    check_rows(phase.calls, many)


def test_rows_that_are_not_apart_run_in_order(threads):
    phase = RowPhase(2)
    made = Launcher(1, 0, [0, 1], phases=[phase], cost_per_point=1e3)
    assert launch_many(made, Rows(SIZES, 2, apart=False)) == 0
    check_rows(phase.calls, SIZES)
    rows = [row for row, *_ in phase.calls]
    assert rows == sorted(rows) and len(rows) > sum(n > 0 for n in SIZES)


def test_pointers_of_one_element():
    phase = RowPhase(3)
    made = Launcher(1, 0, [0, 1, 2], phases=[phase])
    assert launch_many(made, Rows([5, 6], 3, fixed=0b010)) == 0
    assert phase.dims == [1, 0]
    assert launch_many(made, Rows([5, 6], 3)) == 0 == launch_many(made, Rows([5, 6], 3, fixed=0b010))
    assert made.compiled == [
        Variant(MAP, 1, 0, ((UNIT, ZERO), (ZERO, ZERO), (UNIT, ZERO))), Variant(MAP, 1, 0, ((UNIT, ZERO),) * 3)
    ]  # fmt: skip


@pytest.mark.parametrize("apart", [False, True])
@pytest.mark.parametrize("cost", [0.0, 1e4])
def test_the_first_row_that_fails_is_named(cost, apart, threads):
    phase = RowPhase(1, failing={3: 9, 7: 8})
    rows = Rows(SIZES, 1, apart=apart)
    assert launch_many(Launcher(1, 0, [0], phases=[phase], cost_per_point=cost), rows) == 9
    assert rows.failed == 3


def test_rows_of_kernels_with_scratch(threads):
    phase = RowPhase(2, local=lambda dims: 64)
    made = Launcher(1, 0, [0, 1], phases=[phase], cost_per_point=1e4)
    assert launch_many(made, Rows(SIZES, 2)) == 0
    check_rows(phase.calls, SIZES)


def test_many_rows_and_a_compiler_that_fails():
    def fails(*fields):
        raise LookupError("no such kernel")

    broken = NestLauncher(compile=fails, n_parallel=1, n_reduced=0, access_pointers=[0], outputs=1)
    with pytest.raises(LookupError, match="no such kernel"):
        launch_many(broken, Rows([5], 1), hold_gil=True)


def test_dispatch_names_the_row_that_failed():
    op = REGISTRY["neg"]()
    x = [from_numpy(np.zeros(n, np.float32)) for n in (5, 1 << 17, 3)]
    op.clear()
    try:
        foreach.apply_foreach(op, [((t,), ()) for t in x])
        (plan,) = op.plans()

        class Failing(Phase):
            def run(self, ptrs, dims, scalars, ctx, lo, hi):
                return 9 if dims[0] == 1 << 17 else 0

        failing = Launcher(1, 0, [0, 1], phases=[Failing()])
        plan.set_kernel(
            failing.address,
            failing.self_pointer,
            None,
            failing,
            [],
            failing.flat_address,
            None,
            "",
            None,
            failing.many_address,
        )
        with pytest.raises(RuntimeError, match=r"\[neg\] kernel failed with code 9 \(row 1 of 3\)"):
            foreach.apply_foreach_into(op, [((t,), (t,), ()) for t in x])
        assert [t.inplace_version for t in x] == [1, 1, 1]
    finally:
        op.clear()


# ---- threads, lives, statistics --------------------------------------------------------------------------------------
def test_many_threads_launch_at_once(threads):
    class Slow(Launcher):
        def make(self, *fields):
            time.sleep(0.01)  # others come meanwhile
            return super().make(*fields)

    made = Slow(2, 0, [0, 1])
    shapes = [
        ([6, 8], [[8, 1], [8, 1]]),
        ([6, 8], [[16, 1], [8, 1]]),
        ([6, 8], [[0, 1], [8, 1]]),
        ([6, 8], [[1, 0], [8, 1]]),
    ]
    call = ctypes.CFUNCTYPE(*LAUNCH)(made.address)
    barrier, results = threading.Barrier(8), []

    def work(k):
        words = [(I64 * 6)(*sizes, *itertools.chain(*strides)) for sizes, strides in shapes[k % 4 :] + shapes[: k % 4]]
        barrier.wait(WAIT)
        for _ in range(30):
            results.extend(call(made.self_pointer, None, w, None, 0) for w in words)

    workers = [threading.Thread(target=work, args=(k,)) for k in range(8)]
    for t in workers:
        t.start()
    for t in workers:
        t.join(WAIT)
    assert results == [0] * (8 * 30 * 4) and made.phases[0].calls.count((0, 6)) + made.phases[0].calls.count(
        (0, 48)
    ) == len(results)
    # made once each, although all asked at once
    assert sorted(v.p for v in made.compiled) == [1, 2, 2] and len(set(made.compiled)) == 3


def test_compiled_code_lives_as_long_as_the_launcher():
    class Code:
        pass

    phase, code = Phase(), Code()
    alive = weakref.ref(code)
    made = NestLauncher(
        compile=lambda *_, keep=[code]: ([(address(phase.kernel), 0, 0, INNER)], keep.pop()),
        n_parallel=1, n_reduced=0, access_pointers=[0], outputs=1,
    )  # fmt: skip
    del code
    ctypes.PYFUNCTYPE(*LAUNCH)(made.address)(made.self_pointer, None, (I64 * 2)(5, 1), None, 0)
    gc.collect()
    assert alive() is not None
    del made
    gc.collect()
    assert alive() is None
