"""What blocks of threads do with the statements of the loop IR, against the interpreter."""

from __future__ import annotations

import ctypes
import operator
import subprocess
import sys

import assembler
import numpy as np
import pytest
from cases import CASES
from devices import DEVICES, THREADS, compiled, emulator

from umiak.compiler.loop.evaluate import DTYPES
from umiak.compiler.loop.monoid import ALL, ANY, MIN, MONOIDS, SUM, Monoid
from umiak.compiler.loop.node import (
    add,
    axis,
    call,
    cast,
    conjunction,
    const,
    dim,
    eq,
    i64,
    load,
    lt,
    mul,
    rem,
    sub,
    var,
)
from umiak.compiler.loop.tree import (
    GLOBAL,
    IN,
    LANE,
    LOCAL,
    OUT,
    SERIAL,
    SHARED,
    TILE,
    Atomic,
    Axis,
    Barrier,
    Buffer,
    Fail,
    If,
    Kernel,
    Loop,
    Reduce,
    Scan,
    Store,
)  # fmt: skip
from umiak.compiler.loop.types import BF16, BOOL, F16, F32, F64, I8, I32, I64, TYPES, U8, U64
from umiak.compiler.loop.verifier import verify
from umiak.compiler.render import opencl, ptx
from umiak.compiler.render.spmd import BLOCK_OF_THREADS, LAUNCH, THREAD, resources
from umiak.compiler.schedule import gpu

I, J, K = axis("i"), axis("j"), axis("k")  # noqa: E741
REAL = [pytest.param(name, marks=pytest.mark.slow) for name in ("pocl", "cuda")]
TARGETS = ("ptx", "opencl", *REAL)
LENGTHS = (0, 1, 31, THREADS, THREADS + 1, 3 * THREADS - 5)


def on(device, kernel, inputs, out, dims, blocks=2):
    """What a device makes of ``out``, once the interpreter has agreed."""
    verify(kernel)
    expected, got = out.copy(), out.copy()
    code = DEVICES["interpreter"]().run(kernel, [*inputs, expected], dims)
    assert DEVICES[device]().run(kernel, [*inputs, got], dims, blocks=blocks) == code
    if code == 0:
        if out.dtype.kind in "iub":
            np.testing.assert_array_equal(got, expected)
        else:
            wide = [x.astype(np.float64) for x in (got, expected)]
            np.testing.assert_allclose(*wide, 1e-5, 1e-5)
    return got


def rows(*body, scratch=(), t=F32):
    """``body`` for every one of d0 rows of d1 numbers."""
    buffers = (Buffer("x", t, IN), Buffer("o", t, OUT), *scratch)
    return Kernel("rows", buffers, 2, (Loop(Axis(I, dim(0)), body, parallel=True),))


AT = add(mul(I, dim(1)), J)
X = load("x", F32, AT)
LANES = Axis(J, dim(1), kind=LANE)


@pytest.mark.parametrize("device", TARGETS)
@pytest.mark.parametrize("space", [LOCAL, SHARED])
def test_lanes_read_what_other_lanes_wrote(device, space, rng):
    """Turned around in scratch, and again in place, which the next row must not overwrite too early."""
    h = Buffer("h", F32, space, dim(1))
    back = load("h", F32, sub(sub(dim(1), J), 1))
    kernel = rows(
        Loop(LANES, (Store("h", J, X),)),
        Loop(LANES, (Store("o", AT, back),)),
        Loop(LANES, (Store("h", J, mul(load("o", F32, AT), 2.0)),)),
        Loop(LANES, (Store("o", AT, add(back, load("o", F32, AT))),)),
        scratch=(h,),
    )
    n = 2 * THREADS + 9
    x = rng.standard_normal(5 * n).astype(np.float32)
    on(device, kernel, [x], np.zeros_like(x), [5, n])


@pytest.mark.parametrize("device", TARGETS)
def test_rounds_of_a_serial_loop_wait_for_each_other(device):
    """Every round moves all numbers by one place, by way of another buffer."""
    h, g = Buffer("h", F32, LOCAL, dim(1)), Buffer("g", F32, LOCAL, dim(1))
    left = rem(add(J, 1), dim(1))
    kernel = rows(
        Loop(LANES, (Store("h", J, X),)),
        Loop(
            Axis(K, i64(5)),
            (
                If(lt(load("h", F32, i64(0)), 1e6), (Loop(LANES, (Store("g", J, load("h", F32, left)),)),)),
                Loop(LANES, (Store("h", J, load("g", F32, J)),)),
                Store("h", i64(3), cast(K, F32)),
            ),
        ),
        Loop(LANES, (Store("o", AT, load("h", F32, sub(sub(dim(1), J), 1))),)),
        scratch=(h, g),
    )
    n = THREADS + 7
    x = np.arange(3 * n, dtype=np.float32)
    on(device, kernel, [x], np.zeros_like(x), [3, n])


@pytest.mark.parametrize("device", TARGETS)
def test_the_next_round_waits_for_the_one_before(device):
    """Nothing is open before the loop, so what is open at its end counts."""
    h, g = Buffer("h", F32, LOCAL, dim(1)), Buffer("g", F32, LOCAL, dim(1))
    kernel = rows(
        Loop(LANES, (Store("h", J, X),)),
        Barrier(),
        Loop(
            Axis(K, i64(3)),
            (
                Loop(LANES, (Store("g", J, load("h", F32, rem(add(J, 1), dim(1)))),)),
                Loop(LANES, (Store("h", J, load("g", F32, J)),)),
            ),
        ),
        Loop(LANES, (Store("o", AT, load("h", F32, J)),)),
        scratch=(h, g),
    )
    n = THREADS + 7
    x = np.arange(2 * n, dtype=np.float32)
    on(device, kernel, [x], np.zeros_like(x), [2, n])


@pytest.mark.parametrize("device", TARGETS)
def test_uniform_stores_come_once(device):
    """One thread stores; the others see it, and what was read before is not lost."""
    first = load("o", F32, mul(I, dim(1)))
    kernel = rows(
        Store("o", mul(I, dim(1)), add(load("x", F32, I), 1.0)),
        Loop(Axis(K, i64(3)), (Store("o", mul(I, dim(1)), mul(first, 2.0)),)),
        Reduce((var("s", F32),), SUM, (LANES,), (mul(X, first),)),
        Barrier(),
        Atomic("add", "o", mul(I, dim(1)), const(1.0, F32)),
        Loop(LANES, (Store("o", AT, add(first, var("s", F32)), lt(i64(0), J)),)),
    )
    x = np.arange(200, dtype=np.float32)
    on(device, kernel, [x], np.zeros_like(x), [2, 100])


@pytest.mark.parametrize("device", TARGETS)
@pytest.mark.parametrize("name", [name for name, m in MONOIDS.items() if m.commutative])  # others keep an order
def test_reductions_of_a_block(device, name, rng):
    """Over two axes, from a start, with points left out; every thread has the result."""
    m = MONOIDS[name]
    t = BOOL if name in ("any", "all") else F32
    x = load("x", t, add(mul(K, dim(1)), J))
    index = add(mul(K, dim(1)), J)
    values = {
        "argmax": (x, index), "argmin": (x, index), "online_softmax": (x, const(1.0, F32)),
        "welford": (const(1.0, F32), x, const(0.0, F32)),
    }.get(name, (x,) * m.size)  # fmt: skip
    results = tuple(var(f"r{k}", v.type) for k, v in enumerate(values))
    where = conjunction(lt(rem(index, i64(5)), i64(4))) if t is F32 else None
    start = (const(1.5, F32),) if m.size == 1 and t is F32 else None
    body = (
        Reduce(results, m, (Axis(K, dim(0)), LANES), values, start, where),
        Loop(Axis(I, i64(THREADS), kind=LANE), tuple(
            Store("o", add(mul(I, i64(m.size)), k), cast(r, F64)) for k, r in enumerate(results)
        )),
    )  # fmt: skip
    kernel = Kernel("total", (Buffer("x", t, IN), Buffer("o", F64, OUT)), 2, body)
    for n in LENGTHS:
        data = rng.integers(0, 2, 3 * n) != 0 if t is BOOL else rng.standard_normal(3 * n).astype(np.float32) * 0.5
        on(device, kernel, [data], np.zeros(THREADS * m.size), [3, n])


def compose(a, b):
    """x -> p x + q, one after the other: associative, not commutative."""
    (p, q), (r, s) = a, b
    return mul(p, r), add(mul(q, r), s)


AFFINE = Monoid("affine", 2, lambda ts: (const(1, ts[0]), const(0, ts[1])), compose, commutative=False)


@pytest.mark.parametrize("device", TARGETS)
@pytest.mark.parametrize("exclusive", [False, True])
@pytest.mark.parametrize("kind", [LANE, SERIAL])
def test_scans_keep_the_order(device, exclusive, kind, rng):
    p, q = var("p", U64), var("q", U64)
    x = load("x", U64, add(mul(I, dim(1)), J))
    scan = Scan(
        (p, q), AFFINE, Axis(J, dim(1), kind=kind), (x, call("xor", x, const(5, U64))),
        (Store("o", AT, call("xor", p, q)),), (const(3, U64), const(4, U64)), exclusive,
    )  # fmt: skip
    for n in LENGTHS:
        data = rng.integers(1, 1 << 40, 3 * n, np.uint64)
        on(device, rows(scan, t=U64), [data], np.zeros_like(data), [3, n])


@pytest.mark.parametrize("device", TARGETS)
def test_scans_of_bools_and_of_narrow_numbers(device, rng):
    seen, least = var("seen", BOOL), var("least", I8)
    x = load("x", I8, AT)
    kernel = rows(
        Scan((seen,), ANY, LANES, (lt(x, -100),), (Store("o", AT, cast(seen, I8)),)),
        Scan((least,), MIN, LANES, (x,), (Store("o", AT, add(load("o", I8, AT), least)),), None, True),
        t=I8,
    )
    data = rng.integers(-128, 128, 3 * 200).astype(np.int8)
    on(device, kernel, [data], np.zeros_like(data), [3, 200])


COMBINE = {"add": operator.add, "min": min, "max": max, "and": operator.and_, "or": operator.or_}


@pytest.mark.parametrize("device", TARGETS)
@pytest.mark.parametrize("t", [t for t in TYPES.values() if t.bits != 8 or t in (I8, U8)], ids=str)
def test_atomics(device, t, rng):
    """Many threads of all blocks at few elements. Sums of small numbers are exact in any order."""
    ops = ("and", "or") if t is BOOL else ("add", "min", "max") if t.is_float else ("add", "min", "max", "and", "or")
    x = load("x", t, I)
    where = lt(rem(I, i64(7)), i64(6))
    body = tuple(Atomic(op, "o", add(rem(I, i64(3)), 3 * k), x, where) for k, op in enumerate(ops))
    kernel = Kernel(
        "atomics", (Buffer("x", t, IN), Buffer("o", t, OUT)), 1,
        (Loop(Axis(I, dim(0), kind=LANE), body, parallel=True),),
    )  # fmt: skip
    data = rng.integers(0, 2 if t is BOOL else 4, 150).astype(DTYPES[t.name])
    out = np.ones(3 * len(ops), DTYPES[t.name])
    verify(kernel)
    expected = out.copy()
    for k, op in enumerate(ops):
        for at in range(150):
            if at % 7 < 6:
                cell = 3 * k + at % 3
                expected[cell] = COMBINE[op](expected[cell], data[at])
    assert DEVICES[device]().run(kernel, [data, out], [150]) == 0
    np.testing.assert_array_equal(out.astype(np.float64), expected.astype(np.float64))


@pytest.mark.parametrize("device", TARGETS)
def test_atomics_in_shared_memory(device, rng):
    """A histogram of each row."""
    h = Buffer("h", I32, SHARED, i64(10))
    digit = Axis(K, i64(10), kind=LANE)
    kernel = Kernel(
        "histogram", (Buffer("x", I64, IN), Buffer("o", I32, OUT), h), 2,
        (Loop(Axis(I, dim(0)), (
            Loop(digit, (Store("h", K, const(0, I32)),)),
            Loop(LANES, (Atomic("add", "h", load("x", I64, AT), const(1, I32)),)),
            Loop(digit, (Store("o", add(mul(I, 10), K), load("h", I32, K)),)),
        ), parallel=True),),
    )  # fmt: skip
    data = rng.integers(0, 10, (4, 500))
    got = on(device, kernel, [data.reshape(-1)], np.zeros(40, np.int32), [4, 500])
    assert got.reshape(4, 10).tolist() == [np.bincount(r, minlength=10).tolist() for r in data]


@pytest.mark.parametrize("device", TARGETS)
def test_scratch_of_threads(device, rng):
    """Iterations that need no block run on threads, with scratch of their own."""
    h = Buffer("h", F32, LOCAL, dim(1))
    kernel = rows(
        Loop(Axis(J, dim(1)), (Store("h", J, X),)),
        Loop(Axis(J, dim(1)), (Store("o", AT, load("h", F32, sub(sub(dim(1), J), 1))),)),
        scratch=(h,),
    )
    assert resources(kernel).unit == THREAD
    x = rng.standard_normal(300 * 3).astype(np.float32)
    on(device, kernel, [x], np.zeros_like(x), [300, 3])


@pytest.mark.parametrize("device", TARGETS)
@pytest.mark.parametrize("stores", [(0,), (1,), (0, 1, 2)])
@pytest.mark.parametrize("shape", [(1, 1), (45, 70), (3, 200)])
def test_tiles(device, shape, stores):
    """Loads and stores along either axis, with conditions, and an output that is the memory of an input."""
    r, c = dim(0), dim(1)
    direct, transposed = add(mul(I, c), J), add(mul(J, r), I)
    x, y = load("x", F32, transposed, lt(J, sub(c, 1)), const(-1.0, F32)), load("y", F32, direct)
    body = (
        Store("o", direct, add(x, y)),
        Store("p", transposed, mul(y, 3.0)),
        Store("q", transposed, cast(x, F64), lt(I, sub(r, 1))),
    )
    kernel = Kernel(
        "turn",
        (*(Buffer(n, F32, IN) for n in "xy"), *(Buffer(n, F32, OUT) for n in "op"), Buffer("q", F64, OUT)),
        2,
        (Loop(Axis(I, r, kind=TILE), (Loop(Axis(J, c, kind=LANE), tuple(body[k] for k in stores)),)),),
    )  # fmt: skip
    verify(kernel)
    rows_, columns = shape
    x = np.arange(rows_ * columns, dtype=np.float32).reshape(columns, rows_)
    y = -np.arange(rows_ * columns, dtype=np.float32).reshape(rows_, columns) / 8
    o, p, q = y.copy().reshape(-1), np.zeros(y.size, np.float32), np.zeros(y.size)
    assert DEVICES[device]().run(kernel, [x.reshape(-1), o, o, p, q], shape) == 0
    masked = np.where(np.arange(columns)[:, None] < columns - 1, x, -1)
    q_expected = np.where(np.arange(rows_) < rows_ - 1, masked, 0)
    for k, got, expected in ((0, o, masked.T + y), (1, p, y.T * 3), (2, q, q_expected)):
        if k in stores:
            np.testing.assert_array_equal(got, expected.reshape(-1))


@pytest.mark.parametrize("device", TARGETS)
@pytest.mark.parametrize("blocks", [1, 2, 7])
def test_results_do_not_depend_on_the_number_of_blocks(device, blocks, rng):
    case = CASES["softmax over a middle axis"](np.random.default_rng(1))
    (phase,) = gpu.kernels(case.nest, case.variant("row"))
    results = []
    for n in (blocks, 3):
        buffers = case.buffers()
        assert DEVICES[device]().run(phase.kernel, buffers, case.dims("row"), blocks=n) == 0
        results.append(buffers[-1].tobytes())
    assert results[0] == results[1]


@pytest.mark.parametrize("device", TARGETS)
def test_a_part_of_the_parallel_loop(device):
    kernel = rows(Loop(LANES, (Store("o", AT, X),)))
    x, out = np.arange(1, 51, dtype=np.float32), np.zeros(50, np.float32)
    assert DEVICES[device]().run(kernel, [x, out], [5, 10], part=(1, 3)) == 0
    assert out.tolist() == [0] * 10 + x[10:30].tolist() + [0] * 20


@pytest.mark.parametrize("device", TARGETS)
def test_without_a_parallel_loop_one_block_runs(device):
    kernel = Kernel("k", (Buffer("o", F32, OUT),), 0, (Store("o", i64(0), add(load("o", F32, i64(0)), 1.0)),))
    out = np.zeros(1, np.float32)
    assert DEVICES[device]().run(kernel, [out], blocks=3) == 0
    assert DEVICES[device]().run(kernel, [out], blocks=3, part=(1, 2)) == 0
    assert out.tolist() == [1]


@pytest.mark.parametrize("device", TARGETS)
def test_buffers_may_have_names_of_temporaries(device):
    x, o = Buffer("t1", F32, IN), Buffer("v1", F32, OUT)
    body = (Loop(Axis(K, i64(2)), (Store("v1", I, add(load("v1", F32, I), load("t1", F32, I))),)),)
    kernel = Kernel("named", (x, o), 1, (Loop(Axis(I, dim(0), kind=LANE), body, parallel=True),))
    data = np.arange(5, dtype=np.float32)
    assert on(device, kernel, [data], np.ones_like(data), [5]).tolist() == [1, 3, 5, 7, 9]


@pytest.mark.parametrize("device", TARGETS)
def test_the_largest_code_of_fails_comes_back(device):
    negative = rows(Loop(LANES, (Fail(7, lt(X, 0.0)), Store("o", AT, X))), Fail(5, lt(load("x", F32, I), 0.0)))
    for x, code in (([1, 1], 0), ([1, -1], 7), ([-1, 1], 7)):
        data = np.repeat(np.float32(x), 10)
        assert DEVICES[device]().run(negative, [data, np.zeros(20, np.float32)], [2, 10]) == code


@pytest.mark.parametrize(("body", "code"), [("if (get_local_id(0)) barrier(1);", 1), ("barrier(1); barrier(1);", 0)])
def test_the_emulator_tells_where_threads_diverge(body, code):
    library = compiled(f'#include "opencl.h"\nvoid entry(long* args) {{ {body} }}\n')
    entry = ctypes.cast(library.entry, ctypes.c_void_p)
    assert emulator().emulated_run(entry, None, 1, THREADS) == code


# --- text ------------------------------------------------------------------------------------------------------------


def every_kernel():
    for make in CASES.values():
        case = make(np.random.default_rng(0))
        for schedule in case.schedules:
            yield from (p.kernel for p in gpu.kernels(case.nest, case.variant(*schedule)))


@pytest.mark.parametrize("arch", ptx.ARCHITECTURES)
def test_ptx_is_assembled(arch):
    """Nothing is called, nothing is left on the stack."""
    kernels = list(every_kernel())
    for kernel in kernels if arch == "sm_90" else kernels[::6]:
        text = ptx.assemble(ptx.render(kernel, arch), arch)
        assert f".target {arch}" in text and f".entry {kernel.name}(" in text and ".reqntid 256" in text
        assert "call" not in text and ".extern .func" not in text and ".local" not in text, kernel.name


def test_versions_of_ptx_that_an_architecture_lacks_are_refused():
    text = ptx.render(Kernel("k", (Buffer("o", F32, OUT),), 0, (Store("o", i64(0), const(1.0, F32)),)), "sm_90")
    assert ".version 8.3" in ptx.assemble(text, "sm_90", 83)
    for version in (77, ptx.NEWEST_VERSION + 1):
        with pytest.raises(ValueError, match=rf"requires a version of PTX from 78 to .* for sm_90, got {version}"):
            ptx.assemble(text, "sm_90", version)


@pytest.mark.slow
@pytest.mark.parametrize("arch", ptx.ARCHITECTURES)
def test_the_assembler_of_the_vendor_takes_all_kernels(arch):
    if assembler.path() is None:
        pytest.skip(f"requires ptxas, which {assembler.PACKAGE} has")
    for kernel in every_kernel():
        assert not assembler.usage(ptx.assemble(ptx.render(kernel, arch), arch), arch).stack, kernel.name


def test_ptx_has_the_instructions_that_it_should():
    x, o = Buffer("x", F32, IN), Buffer("o", F32, OUT)
    s = var("s", F32)
    body = (
        Reduce((s,), SUM, (LANES,), (call("fma", X, X, X),)),
        Store("o", I, call("max", call("sqrt", s), const(0, F32))),
    )
    text = ptx.assemble(ptx.render(rows(*body)))
    for instruction in (
        "shfl.sync.down.b32",
        "bar.sync",
        "fma.rn.f32",
        "sqrt.rn.f32",
        "max.NaN.f32",
        "ld.shared",
        "add.rn.f32",
    ):
        assert instruction in text, instruction
    half = Kernel(
        "half", (Buffer("x", F16, IN), o), 1,
        (Loop(Axis(I, dim(0), kind=LANE), (Atomic("add", "o", i64(0), cast(load("x", F16, I), F32)),), True),),
    )  # fmt: skip
    text = ptx.assemble(ptx.render(half))
    assert "cvt.f32.f16" in text and ".global.add.f32" in text
    assert x.space == IN


def test_options_of_llvm_do_not_depend_on_who_compiles_first():
    """Loop-strength reduction, where it runs, makes another pointer for each of these."""
    body = tuple(Store("o", add(mul(K, i64(9)), i64(n)), load("x", F32, add(mul(K, i64(7)), i64(n)))) for n in range(2))
    text = ptx.render(rows(Loop(Axis(K, dim(1)), body)))
    code = "import sys; from umiak.compiler.render import ptx; print(ptx.assemble(sys.stdin.read()), end='')"
    fresh = subprocess.run([sys.executable, "-c", code], input=text, capture_output=True, text=True, check=True)
    assert fresh.stdout == ptx.assemble(text)


@pytest.mark.parametrize(("kib", "most"), [(90, True), (60, True), (40, False)])
def test_a_block_that_needs_much_memory_may_have_half_of_the_registers(kib, most):
    memory = Buffer("s", F32, SHARED, i64(kib * 256))
    body = (Loop(LANES, (Store("s", J, X),)), Loop(LANES, (Store("o", AT, load("s", F32, J)),)))
    kernel = rows(*body, scratch=(memory,))
    assert (".maxnreg 128" in ptx.assemble(ptx.render(kernel))) == most


def test_arithmetic_is_not_contracted():
    """Products and sums are rounded each: the driver's compiler leaves alone what says how it rounds."""
    kernel = rows(Loop(LANES, (Store("o", AT, add(mul(X, X), X)),)))
    text = ptx.assemble(ptx.render(kernel))
    assert "mul.rn.f32" in text and "add.rn.f32" in text and "fma" not in text
    assert "FP_CONTRACT OFF" in opencl.render(kernel)


def test_what_runs_an_iteration():
    lanes = rows(Loop(LANES, (Store("o", AT, X),)))
    assert resources(lanes).unit == BLOCK_OF_THREADS
    assert resources(Kernel("k", lanes.buffers, 2, (Store("o", i64(0), const(1, F32)),))).unit == LAUNCH
    h, g = Buffer("h", F64, SHARED, dim(1)), Buffer("g", BF16, GLOBAL, mul(dim(0), dim(1)))
    need = resources(rows(Loop(LANES, (Store("o", AT, X),)), scratch=(h, g)))
    assert need.shared is resources(rows(scratch=(g, h))).shared
    assert need.local is i64(0) and need.threads == 256 and need.words == 0


def test_refusals():
    kernel = rows(Loop(LANES, (Store("o", AT, X),)))
    with pytest.raises(ValueError, match="requires 32 to 1024 threads, a multiple of 32, got 48"):
        opencl.render(kernel, 48)
    with pytest.raises(ValueError, match="requires an architecture of sm_80"):
        ptx.render(kernel, "sm_20")
    with pytest.raises(ValueError, match="requires at most 512 arguments, got"):
        ptx.render(Kernel("k", kernel.buffers, 600, kernel.body))
    with pytest.raises(RuntimeError, match="LLVM refuses the text of a kernel"):
        ptx.assemble("define nonsense")
    assert eq(I, I).op == "eq" and ALL.name == "all"
