"""Matmuls by tiles of the loop IR, with epilogues: layouts, ends, batches, and what NVIDIA's assembler says of them."""

from __future__ import annotations

from types import SimpleNamespace

import assembler
import extras
import numpy as np
import pytest
import tile_usage
from devices import DEVICES

from umiak.backends.matmul_work import Matrices
from umiak.backends.tile_matmul import GROUPED, LARGE, SMALL, WIDE, Cores, activation, tile_matmul_work
from umiak.compiler.epilogue import ACTIVATIONS
from umiak.compiler.loop.evaluate import DTYPES, evaluate
from umiak.compiler.loop.node import i64, load
from umiak.compiler.loop.types import F32
from umiak.compiler.loop.verifier import verify
from umiak.core import array
from umiak.core import dtype as dt
from umiak.core.array import from_numpy
from umiak.core.place import Place

REAL = [pytest.param(name, marks=pytest.mark.slow) for name in ("pocl", "cuda")]
MACHINES = ("interpreter", "opencl", "ptx", *REAL)
BF16, F16, E4M3, E5M2 = (DTYPES[name] for name in ("bf16", "f16", "f8e4m3fn", "f8e5m2"))
NAMES = {BF16: dt.bfloat16, E4M3: dt.float8_e4m3fn, E5M2: dt.float8_e5m2}
SIXTEEN, ALL = Cores(), Cores(bytes=True, together=True)


def buffer(x):
    """What a launch knows of an operand. Memory of devices begins at multiples of 16 bytes."""
    strides = tuple(s // x.itemsize for s in x.strides)
    dtype = NAMES.get(x.dtype) or getattr(dt, x.dtype.name)
    return SimpleNamespace(shape=x.shape, strides=strides, size=x.size, pointer=1 << 12, dtype=dtype)


def work_of(a, b, transposed=(False, False), steps=(), units=1 << 30, cores=SIXTEEN, dtype=None):
    of_a, of_b = Matrices(buffer(a), transposed[0]), Matrices(buffer(b), transposed[1])
    batch = np.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    out = np.zeros((*batch, of_a.rows, of_b.columns), dtype or a.dtype)
    return out, tile_matmul_work(buffer(out), of_a, of_b, units, steps, cores)


def multiply(machine, a, b, transposed=(False, False), steps=(), extras=(), **options):
    """The product of dense operands on one machine."""
    out, (kernel, dims) = work_of(a, b, transposed, steps, **options)
    verify(kernel)
    flat = [x.reshape(-1) for x in (a, b, *extras, out)]
    assert DEVICES[machine]().run(kernel, flat, dims, blocks=2) == 0
    return out


def expected_of(a, b, transposed):
    x, y = (np.float32(z).swapaxes(-1, -2) if t else np.float32(z) for z, t in zip((a, b), transposed))
    return x @ y


CASES = {
    "ends": ((70, 40), (40, 66), (False, False), F16),
    "weights": ((64, 72), (48, 72), (False, True), BF16),
    "columns": ((72, 40), (72, 64), (True, False), BF16),
    "odd": ((33, 7), (7, 5), (False, False), F16),
    "batches": ((2, 1, 9, 16), (3, 24, 16), (False, True), BF16),
    "one row": ((1, 40), (40, 130), (False, False), BF16),
    "nothing to add": ((3, 0), (0, 5), (False, False), BF16),
}


@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize("name", CASES)
def test_products_of_all_layouts(machine, name, rng):
    left, right, transposed, dtype = CASES[name]
    a, b = (rng.integers(-4, 5, s).astype(dtype) for s in (left, right))
    got = multiply(machine, a, b, transposed)
    np.testing.assert_array_equal(np.float32(got), np.float32(expected_of(a, b, transposed).astype(dtype)))


@pytest.mark.parametrize("machine", [*MACHINES[1:3], *REAL])
def test_large_tiles(machine, rng):
    a, b = (rng.integers(-2, 3, s).astype(BF16) for s in ((130, 64), (64, 136)))
    got = multiply(machine, a, b, units=1)
    np.testing.assert_array_equal(np.float32(got), np.float32((np.float32(a) @ np.float32(b)).astype(BF16)))


TOGETHER = {  # lines of each operand along the depth or across it, whole parts and others, more tiles than one
    "rows": ((130, 72), (72, 136), (False, False), BF16),
    "weights": ((66, 330), (72, 330), (False, True), F16),
    "columns": ((130, 70), (130, 66), (True, False), BF16),
    "odd": ((65, 7), (7, 65), (False, False), BF16),
    "nothing to add": ((65, 0), (0, 65), (False, False), BF16),
    "e4m3": ((66, 272), (72, 272), (False, True), E4M3),
    "e5m2": ((130, 66), (72, 66), (False, True), E5M2),
}


QUICK = [("interpreter", "rows"), ("interpreter", "odd"), *(("wgmma", x) for x in ("weights", "columns", "e4m3"))]


@pytest.mark.parametrize(
    ("machine", "name"),
    [
        pytest.param(m, x, marks=() if (m, x) in QUICK else pytest.mark.slow)
        for m in ("interpreter", "ptx", "wgmma", "cuda") for x in TOGETHER
    ],
)  # fmt: skip
def test_four_warps_multiply_together(machine, name, rng):
    left, right, transposed, dtype = TOGETHER[name]
    a, b = (rng.integers(-2, 3, s).astype(dtype) for s in (left, right))
    got = multiply(machine, a, b, transposed, units=1, cores=ALL, dtype=np.float32)
    np.testing.assert_array_equal(got, expected_of(a, b, transposed))


def test_products_of_8_bits_by_one_warp(rng):
    """Those of small results, and of devices before."""
    a, b = (rng.integers(-2, 3, s).astype(E4M3) for s in ((20, 70), (24, 70)))
    got = multiply("ptx", a, b, (False, True), cores=Cores(bytes=True), dtype=np.float32)
    np.testing.assert_array_equal(got, expected_of(a, b, (False, True)))
    assert work_of(a, b, (False, True), dtype=np.float32)[1] is None


@pytest.mark.parametrize("machine", MACHINES)
def test_epilogues_are_added_before_the_result_is_rounded(machine, rng):
    a, b = (rng.standard_normal(s).astype(BF16) for s in ((40, 24), (24, 48)))
    bias, residual = rng.standard_normal(48).astype(BF16), rng.standard_normal((40, 48)).astype(BF16)
    steps = ("bias", "silu", "add", ("scale", 0.5))
    got = multiply(machine, a, b, steps=steps, extras=(bias, residual))
    y = np.float32(a) @ np.float32(b) + np.float32(bias)
    y = (y / (1 + np.exp(-y)) + np.float32(residual)) * 0.5
    np.testing.assert_allclose(np.float32(got), y, rtol=2**-8, atol=1e-5)


@pytest.mark.parametrize("name", ACTIVATIONS)
def test_activations_are_those_of_the_operations(name, rng):
    x = np.append(rng.standard_normal(200) * 4, [0.0, -0.0, 100.0, -100.0, np.inf, np.nan]).astype(np.float32)
    leaf = load("x", F32, i64(0))
    (got,) = evaluate([activation(name, leaf)], {leaf: x})
    wanted = array.host_values(ACTIVATIONS[name](from_numpy(x, Place("cpu", 0))))
    np.testing.assert_allclose(got, wanted, rtol=2e-5, atol=2e-6)


def test_an_activation_that_tiles_do_not_know_is_refused():
    with pytest.raises(ValueError, match=r"\[matmul\] requires an activation that tiles know, got 'softsign'"):
        activation("softsign", load("x", F32, i64(0)))


def test_what_tiles_do_not_multiply():
    narrow = np.zeros((64, 64), BF16)
    assert work_of(np.float32(narrow), np.float32(narrow))[1] is None
    assert work_of(np.zeros((64, 128), BF16)[:, ::2], narrow)[1] is None


def test_kernels_are_chosen_by_sizes_and_alignment():
    def name(rows, depth, columns, units):
        kernel, _ = work_of(np.zeros((rows, depth), BF16), np.zeros((depth, columns), BF16), units=units)[1]
        return kernel.name, kernel.threads

    assert name(1024, 512, 1024, 64) == ("tile_matmul_0_bfloat16_128_d8_x8_1", LARGE.threads)
    assert name(1024, 512, 1024, 65) == ("tile_matmul_0_bfloat16_64_d8_x8_1", SMALL.threads)
    assert name(64, 12, 62, 1) == ("tile_matmul_0_bfloat16_64_d4_x2_1", SMALL.threads)
    assert name(65, 7, 65, 1) == ("tile_matmul_0_bfloat16_128_d1_x1_0", LARGE.threads)

    def grouped(rows, columns, units, dtype=BF16, out=None):
        a, b = np.zeros((rows, 16), dtype), np.zeros((columns, 16), dtype)
        kernel, _ = work_of(a, b, (False, True), units=units, cores=ALL, dtype=out)[1]
        return kernel.name, kernel.threads

    assert grouped(1024, 1024, 32) == ("tile_matmul_0_bfloat16_128x256_d8_d8_1", WIDE.threads)
    assert grouped(1024, 1024, 33) == ("tile_matmul_0_bfloat16_128x128_d8_d8_1", GROUPED.threads)
    assert grouped(1024, 1024, 65) == ("tile_matmul_0_bfloat16_64_d8_d8_1", SMALL.threads)
    assert grouped(65, 128, 1) == ("tile_matmul_0_bfloat16_128x128_d8_d8_1", GROUPED.threads)
    assert grouped(65, 128, 1, E4M3, np.float32) == (
        "tile_matmul_0_float8_e4m3fn_float32_128x128_d16_d16_1", GROUPED.threads,
    )  # fmt: skip


# --- NVIDIA's assembler ---


@pytest.fixture(scope="module")
def ptxas():
    if assembler.path() is None:
        assert not extras.belongs(assembler.PACKAGE), f"umiak[test] has {assembler.PACKAGE}, which is not installed"
        pytest.skip(f"requires ptxas, which {assembler.PACKAGE} has")


def test_nothing_in_the_table_of_tiles_spills():
    rows = tile_usage.stored()["kernels"]
    assert [(n, a) for n, row in rows.items() for a, (_, spilled, _) in row.items() if spilled] == []
    assert set(rows) == set(tile_usage.kernels())


@pytest.mark.parametrize("name", [tile_usage.QUICK, pytest.param(None, marks=pytest.mark.slow)])
def test_the_table_of_tiles_is_what_the_assembler_says(ptxas, name):
    if assembler.version() != tile_usage.stored()["ptxas"]:
        pytest.skip("requires the ptxas whose registers the table has")
    stored = tile_usage.stored()["kernels"]
    names = list(stored) if name is None else [name]
    assert tile_usage.table(names) == {n: stored[n] for n in names}, "python tests/compiler/tile_usage.py writes it"
