"""Tiles of the loop IR: their rules, their text, and what the interpreter and devices make of them.

Every machine gets the same kernels. The emulated ones run the text that a driver would get: OpenCL C, whose products
are loops over a lane's elements, and LLVM text for NVPTX, whose instructions the emulator does as the PTX ISA says.
"""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pytest
from devices import DEVICES, Diverged, Fault, Ptx, Warpgroups

from umiak.compiler.loop.evaluate import DTYPES, evaluate
from umiak.compiler.loop.monoid import ARGMAX, MAX, SUM
from umiak.compiler.loop.node import add, axis, call, cast, const, dim, div, i64, load, lt, mul, sub, var
from umiak.compiler.loop.printer import show_kernel
from umiak.compiler.loop.tiles import (
    Commit,
    Exchange,
    Matrix,
    Panels,
    Pipeline,
    ProductWait,
    Tile,
    TileCopy,
    TileMap,
    TileProduct,
    TileReduce,
    TileStore,
    Wait,
    holder,
    place,
)
from umiak.compiler.loop.tree import (
    IN,
    LANE,
    OUT,
    SHARED,
    Atomic,
    Axis,
    Barrier,
    Buffer,
    Fail,
    If,
    Kernel,
    Loop,
    Store,
)
from umiak.compiler.loop.types import BF16, F8E4M3FN, F8E5M2, F16, F32, I32, I64, U32
from umiak.compiler.loop.verifier import InvalidKernel, verify
from umiak.compiler.render import ptx

REAL = [pytest.param(name, marks=pytest.mark.slow) for name in ("pocl", "cuda")]
TARGETS = ("interpreter", "opencl", "ptx", *REAL)
TOGETHER = ("interpreter", "opencl", "ptx", "wgmma", *REAL)  # those of matrices in panels
BLOCK, R, C, K, SLOT = axis("block"), axis("r"), axis("c"), axis("k"), axis("slot")
ROW, COLUMN = axis("row"), axis("column")


def blocks_of(*body, buffers, tiles=(), threads=64, dims=1, counter=None):
    return Kernel("tiles", buffers, dims, (Loop(Axis(BLOCK, dim(0)), body, True, counter=counter),), tiles, threads)


# --- the layout ---


@pytest.mark.parametrize("tile", [Tile("d", F32, 64, 48, (2, 3)), Tile("d", F32, 32, 8, (1, 1))], ids=str)
def test_every_point_of_a_tile_is_in_one_register(tile):
    warp, lane, element = (var(name, I64) for name in ("warp", "lane", "element"))
    numbers = np.indices((tile.count, 32, tile.elements)).reshape(3, -1)
    env = dict(zip((warp, lane, element), numbers))
    row, column = evaluate(place(tile, warp, lane, element), env)
    assert sorted(zip(row.tolist(), column.tolist())) == [(r, c) for r in range(tile.rows) for c in range(tile.columns)]
    at = {R: row, C: column}
    np.testing.assert_array_equal(evaluate(holder(tile, R, C), at), numbers)


def test_lanes_of_a_row_know_its_number():
    tile, wide = Tile("m", F32, 64, 1, (2, 1)), Tile("d", F32, 64, 16, (2, 1))
    lane, warp = var("lane", I64), var("warp", I64)
    env = {lane: np.arange(64) % 32, warp: np.arange(64) // 32}
    for element in range(wide.elements):
        own = i64(2 * (element // (4 * wide.column_fragments)) + element % 4 // 2)
        rows = [place(x, warp, lane, e).row for x, e in ((tile, own), (wide, i64(element)))]
        assert np.array_equal(*evaluate(rows, env))


# --- products ---

PRODUCTS = {
    "bf16": (BF16, 32, 16, (2, 1), False, True),
    "columns": (BF16, 32, 48, (1, 2), True, False),
    "f16": (F16, 64, 24, (2, 1), False, False),
    "e4m3": (F8E4M3FN, 32, 32, (1, 2), False, True),
    "e5m2": (F8E5M2, 16, 16, (1, 1), False, True),
}


def product(type_, rows, columns, warps, a_transposed, b_transposed, depth=64):
    """out = a b + 1, of matrices that a block brings to shared memory by lines of 16 bytes."""
    tile, width = Tile("d", F32, rows, columns, warps), 16 // type_.bytes
    pitch_a, pitch_b = (rows if a_transposed else depth) + width, (depth if b_transposed else columns) + width
    a, b = Matrix("sa", i64(0), pitch_a, a_transposed), Matrix("sb", i64(2 * width), pitch_b, b_transposed)
    index_a = add(mul(C, i64(rows)), R) if a_transposed else add(mul(R, i64(depth)), C)
    index_b = add(mul(C, i64(depth)), R) if b_transposed else add(mul(R, i64(columns)), C)
    body = (
        TileMap((tile,), (const(1.0, F32),), R, C),
        TileCopy(a, rows, depth, "a", R, C, index_a, None, width),
        TileCopy(b, depth, columns, "b", R, C, index_b, None, width),
        TileProduct(tile, a, b, depth),
        TileStore(tile, "out", R, C, add(mul(R, i64(columns)), C), tile.at, None, 2),
    )
    buffers = (
        Buffer("a", type_, IN), Buffer("b", type_, IN), Buffer("out", F32, OUT),
        Buffer("sa", type_, SHARED, i64(pitch_a * max(rows, depth))),
        Buffer("sb", type_, SHARED, i64(2 * width + pitch_b * max(columns, depth))),
    )  # fmt: skip
    kernel = blocks_of(*body, buffers=buffers, tiles=(tile,))
    verify(kernel)
    return kernel


@pytest.mark.parametrize("device", TARGETS)
@pytest.mark.parametrize("name", PRODUCTS)
def test_products(device, name, rng):
    type_, rows, columns, warps, a_transposed, b_transposed = PRODUCTS[name]
    kernel, depth = product(*PRODUCTS[name]), 64
    a, b = (rng.integers(-8, 9, s).astype(DTYPES[type_.name]) for s in ((rows, depth), (depth, columns)))
    out = np.zeros(rows * columns, np.float32)
    stored = a.T if a_transposed else a, b.T if b_transposed else b
    memory = [np.ascontiguousarray(x).ravel() for x in stored]
    assert DEVICES[device]().run(kernel, [*memory, out], [1]) == 0
    expected = a.astype(np.float32) @ b.astype(np.float32) + 1
    np.testing.assert_array_equal(out.reshape(rows, columns), expected)  # whole numbers: nothing is rounded


# Lines of the left one across the depth, of the right one along it; by one group of four warps, or several.
PANELS = {
    "along": (BF16, 64, 40, (4, 1), False, True),
    "across": (F16, 64, 96, (4, 1), True, False),
    "two groups": (BF16, 128, 128, (4, 2), True, False),
    "two blocks": (BF16, 256, 8, (8, 1), False, False),
    "e4m3": (F8E4M3FN, 64, 16, (4, 1), False, True),
    "e5m2": (F8E5M2, 64, 24, (4, 1), False, True),
}


def product_of_panels(type_, rows, columns, warps, a_transposed, b_transposed, depth=160, asynchronous=True):
    """out = a b + 1, of matrices of more than a panel along the depth."""
    tile, width = Tile("d", F32, rows, columns, warps), 128 // type_.bytes
    lines_a, lines_b = depth if a_transposed else rows, columns if b_transposed else depth
    a, b = (
        Panels("sa", i64(0), lines_a, width, a_transposed),
        Panels("sb", i64(8 * width), lines_b, width, b_transposed),
    )
    index_a = add(mul(C, i64(rows)), R) if a_transposed else add(mul(R, i64(depth)), C)
    index_b = add(mul(C, i64(depth)), R) if b_transposed else add(mul(R, i64(columns)), C)
    body = (
        TileMap((tile,), (const(1.0, F32),), R, C),
        TileCopy(a, rows, depth, "a", R, C, index_a, None, 8),
        TileCopy(b, depth, columns, "b", R, C, index_b, None, 8, True),
        Commit(), Wait(0), Barrier(),
        TileProduct(tile, a, b, depth, asynchronous),
        *((ProductWait(0),) if asynchronous else ()),
        TileStore(tile, "out", R, C, add(mul(R, i64(columns)), C), tile.at, None, 2),
    )  # fmt: skip
    sizes = [lines * -(-along // width) * width
             for lines, along in ((lines_a, rows + depth - lines_a), (lines_b, columns + depth - lines_b))]  # fmt: skip
    buffers = (
        Buffer("a", type_, IN), Buffer("b", type_, IN), Buffer("out", F32, OUT),
        Buffer("sa", type_, SHARED, i64(sizes[0])), Buffer("sb", type_, SHARED, i64(8 * width + sizes[1])),
    )  # fmt: skip
    return blocks_of(*body, buffers=buffers, tiles=(tile,), threads=32 * tile.count)


def run_product(device, kernel, type_, rows, columns, a_transposed, b_transposed, rng, depth=160):
    a, b = (rng.integers(-8, 9, s).astype(DTYPES[type_.name]) for s in ((rows, depth), (depth, columns)))
    stored = a.T if a_transposed else a, b.T if b_transposed else b
    out = np.zeros(rows * columns, np.float32)
    assert device.run(kernel, [*(np.ascontiguousarray(x).ravel() for x in stored), out], [1]) == 0
    expected = a.astype(np.float32) @ b.astype(np.float32) + 1
    np.testing.assert_array_equal(out.reshape(rows, columns), expected)


@pytest.mark.parametrize("device", TOGETHER)
@pytest.mark.parametrize("name", PANELS)
def test_products_of_panels(device, name, rng):
    """One instruction for four warps where there is one, else as of any matrix: the elements lie where they lie."""
    type_, rows, columns, _, *transposed = PANELS[name]
    kernel = product_of_panels(*PANELS[name])
    verify(kernel)
    run_product(DEVICES[device](), kernel, type_, rows, columns, *transposed, rng)
    text = ptx.render(kernel, "sm_90a")
    assert text.count("wgmma.mma_async") == 160 * type_.bytes // 32 * kernel.tiles[0].row_fragments


def test_pieces_of_panels_are_in_different_banks():
    m, row, column = Panels("s", i64(64), 16, 64), var("row", I64), var("column", I64)
    numbers = np.indices((16, 128)).reshape(2, -1)
    (at,) = evaluate([m.index(row, column)], dict(zip((row, column), numbers)))
    assert sorted(at) == list(range(64, 64 + 16 * 128))
    at = at.reshape(16, 128)
    np.testing.assert_array_equal(at[:, 0] - 64, [64 * r + 8 * (r % 8) for r in range(16)])
    np.testing.assert_array_equal(at[3, 64:72], 64 + 1024 + 3 * 64 + 8 * 3 + np.arange(8))


class Wrong(Warpgroups):
    """Text in which something is another way."""

    def __init__(self, pattern, replacement):
        self.pattern, self.replacement = pattern, replacement
        self.engines = {}

    def engine(self, name, text):
        changed = re.sub(self.pattern, self.replacement, text, flags=re.M)
        assert changed != text
        return super().engine(name, changed)


FAULTS = {
    "a product of what was not published": (r'^.*"fence\.proxy\.async.*\n', ""),
    "products that not all of four warps did": (r'^.*"wgmma\.commit_group.*\n', ""),
    "a descriptor without 128-byte swizzling": (str(1 << 62 | 64 << 32 | 1 << 16), str(2 << 62 | 64 << 32 | 1 << 16)),
    "a descriptor with a base offset": (str(1 << 62 | 64 << 32 | 1 << 16), str(1 << 62 | 1 << 49 | 64 << 32 | 1 << 16)),
}


@pytest.mark.parametrize("what", FAULTS)
def test_the_emulator_notices_what_devices_do_not_stand(what, rng):
    type_, rows, columns, _, *transposed = PANELS["along"]
    kernel = product_of_panels(*PANELS["along"])
    with pytest.raises(Fault, match=what):
        run_product(Wrong(*FAULTS[what]), kernel, type_, rows, columns, *transposed, rng)


def overtaken(*between):
    """A product, and a copy to where its operand is."""
    kernel = product_of_panels(*PANELS["along"])
    (loop,) = kernel.body
    *first, product, wait, last = loop.body
    body = (*first, product, *between, first[1], wait, last)
    return replace(kernel, body=(replace(loop, body=body),))


def test_operands_stay_until_products_are_done(rng):
    type_, rows, columns, _, *transposed = PANELS["along"]
    for device in ("interpreter", "wgmma"):
        run_product(DEVICES[device](), overtaken(ProductWait(0)), type_, rows, columns, *transposed, rng)
    with pytest.raises(ValueError, match="a wait for products before what they read of sa is written"):
        run_product(DEVICES["interpreter"](), overtaken(), type_, rows, columns, *transposed, rng)
    a, b = (rng.integers(-8, 9, n).astype(DTYPES["bf16"]) for n in (64 * 160, 160 * 40))
    kernel = overtaken()
    (loop,) = kernel.body
    body = [replace(s, index=add(mul(R, i64(160)), sub(i64(159), C)), width=1) if k == 7 else s
            for k, s in enumerate(loop.body)]  # fmt: skip
    kernel = replace(kernel, body=(replace(loop, body=tuple(body)),))
    with pytest.raises(Fault, match="what a product reads was written before it was done"):
        DEVICES["wgmma"]().run(kernel, [a, b, np.zeros(64 * 40, np.float32)], [1])


def test_results_of_products_are_waited_for(rng):
    type_, rows, columns, _, *transposed = PANELS["along"]
    kernel = product_of_panels(*PANELS["along"])
    (loop,) = kernel.body
    early = replace(kernel, body=(replace(loop, body=tuple(s for s in loop.body if not isinstance(s, ProductWait))),))
    with pytest.raises(ValueError, match="a wait for products before their results are used, got d not done"):
        run_product(DEVICES["interpreter"](), early, type_, rows, columns, *transposed, rng)
    with pytest.raises(Fault, match="nobody has waited for"):
        run_product(DEVICES["wgmma"](), early, type_, rows, columns, *transposed, rng)


def attention(depth=64, keys=32, together=False):
    """One block of softmax(q k^T) v, the weights as a left operand in registers."""
    rows, warps = (64, (4, 1)) if together else (32, (2, 1))
    s, o = Tile("s", F32, rows, keys, warps), Tile("o", F32, rows, depth, warps)
    p, m, total = Tile("p", BF16, rows, keys, warps), Tile("m", F32, rows, 1, warps), Tile("t", F32, rows, 1, warps)
    pitch = depth + 8
    q, k, v = (
        Panels(name, i64(0), lines, 64) if together else Matrix(name, i64(0), pitch)
        for name, lines in (("sq", rows), ("sk", keys), ("sv", keys))
    )
    along = add(mul(R, i64(depth)), C)
    body = (
        *(TileCopy(x, n, depth, name, R, C, along, None, 8, True)
          for x, name, n in ((q, "q", rows), (k, "k", keys), (v, "v", keys))),
        Commit(),
        Wait(0),
        TileMap((s,), (const(0.0, F32),), R, C),
        TileMap((o,), (const(0.0, F32),), R, C),
        TileProduct(s, q, replace(k, transposed=True), depth),
        TileReduce(m, s, MAX, s.at, R, C),
        TileMap((s,), (call("exp", sub(s.at, m.at)),), R, C),
        TileReduce(total, s, SUM, s.at, R, C),
        TileMap((p,), (cast(div(s.at, total.at), BF16),), R, C),
        TileProduct(o, p, v, keys),
        TileStore(o, "out", R, C, along, o.at),
        TileStore(m, "most", R, C, R, m.at, lt(R, i64(20))),
    )  # fmt: skip
    names = ("q", "k", "v")
    buffers = (
        *(Buffer(x, BF16, IN) for x in names), Buffer("out", F32, OUT), Buffer("most", F32, OUT),
        *(Buffer(f"s{x}", BF16, SHARED, i64(rows * pitch)) for x in names),
    )  # fmt: skip
    return blocks_of(*body, buffers=buffers, tiles=(s, o, p, m, total), threads=160 if together else 96)


CASES = [(device, False) for device in ("interpreter", "opencl", "ptx")] + [("ptx", True), ("wgmma", True)]


@pytest.mark.parametrize(
    ("device", "together"), [*CASES, *(pytest.param(name, True, marks=pytest.mark.slow) for name in ("pocl", "cuda"))]
)
def test_reductions_along_rows_and_operands_in_registers(device, together, rng):
    kernel, rows = attention(together=together), 64 if together else 32
    verify(kernel)
    q, k, v = (rng.standard_normal((n, 64)).astype(DTYPES["bf16"]) for n in (rows, 32, 32))
    out, most = np.zeros(rows * 64, np.float32), np.zeros(rows, np.float32)
    assert DEVICES[device]().run(kernel, [q.ravel(), k.ravel(), v.ravel(), out, most], [1]) == 0
    q, k, v = (x.astype(np.float32) for x in (q, k, v))
    scores = q @ k.T
    weights = np.exp(scores - scores.max(1, keepdims=True))
    weights = (weights / weights.sum(1, keepdims=True)).astype(DTYPES["bf16"]).astype(np.float32)
    np.testing.assert_allclose(out.reshape(rows, 64), weights @ v, rtol=1e-2, atol=1e-2)
    np.testing.assert_allclose(most, np.where(np.arange(rows) < 20, scores.max(1), 0), rtol=1e-6)


# --- copies ---


@pytest.mark.parametrize("device", TARGETS)
def test_conditions_leave_numbers(device, rng):
    """More elements of a lane than a word has bits, and a column with three blocks of rows."""
    rows, columns = 48, 40
    t, m = Tile("d", F32, rows, columns, (1, 1)), Tile("m", F32, rows, 1, (1, 1))
    at, number = add(mul(R, i64(columns)), C), cast(R, F32)
    body = (
        TileMap((t,), (number,), R, C),
        TileMap((m,), (const(-1.0, F32),), R, C),
        TileMap((m,), (number,), R, C, lt(R, i64(17))),
        TileMap((t,), (add(t.at, m.at),), R, C, lt(const(0.0, F32), load("x", F32, at))),
        TileStore(t, "out", R, C, at, t.at),
    )
    kernel = blocks_of(*body, buffers=(Buffer("x", F32, IN), Buffer("out", F32, OUT)), tiles=(t, m))
    verify(kernel)
    x, out = rng.standard_normal(rows * columns).astype(np.float32), np.zeros(rows * columns, np.float32)
    assert DEVICES[device]().run(kernel, [x, out], [1]) == 0
    row = np.arange(rows, dtype=np.float32)[:, None]
    added = np.where(x.reshape(rows, columns) > 0, np.where(row < 17, row, -1), 0)
    np.testing.assert_array_equal(out.reshape(rows, columns), row + added)


def pipeline(producers, slots=3, steps=7, count=None):
    """Sums of products over a depth that comes in parts, the last one of them short."""
    rows, columns, part = 16, 16, 32
    d, pitch = Tile("d", F32, rows, columns, (1, 1)), part + 8
    left, right = rows * pitch, columns * pitch
    a, b = Matrix("sa", mul(SLOT, i64(left)), pitch), Matrix("sb", mul(SLOT, i64(right)), pitch, True)
    depth = dim(1)
    begin = mul(K, i64(part))

    def copy(target, transposed, name, lines):
        line, along = (C, R) if transposed else (R, C)
        index = add(mul(line, depth), add(begin, along))
        where = lt(add(begin, along), depth)
        shape = (part, lines) if transposed else (lines, part)
        return TileCopy(target, *shape, name, R, C, index, where, 8, True)

    body = (
        TileMap((d,), (const(0.0, F32),), R, C),
        Pipeline(
            Axis(K, div(add(depth, i64(part - 1)), i64(part))), SLOT, slots,
            (copy(a, False, "a", rows), copy(b, True, "b", columns)),
            (TileProduct(d, a, b, part),),
            producers,
        ),
        TileStore(d, "out", R, C, add(mul(add(mul(BLOCK, i64(rows)), R), i64(columns)), C), d.at),
    )  # fmt: skip
    buffers = (
        Buffer("a", BF16, IN), Buffer("b", BF16, IN), Buffer("out", F32, OUT),
        Buffer("sa", BF16, SHARED, i64(slots * left)), Buffer("sb", BF16, SHARED, i64(slots * right)),
    )  # fmt: skip
    return blocks_of(*body, buffers=buffers, tiles=(d,), threads=64, dims=2)


@pytest.mark.parametrize("device", TARGETS)
@pytest.mark.parametrize("producers", [0, 1])
@pytest.mark.parametrize("depth", [8, 200])
def test_pipelines(device, producers, depth, rng):
    kernel = pipeline(producers)
    verify(kernel)
    a, b = (rng.integers(-8, 9, (16, depth)).astype(DTYPES["bf16"]) for _ in range(2))
    out = np.zeros(3 * 16 * 16, np.float32)
    assert DEVICES[device]().run(kernel, [a.ravel(), b.ravel(), out], [3, depth], blocks=2) == 0
    expected = a.astype(np.float32) @ b.astype(np.float32).T
    np.testing.assert_array_equal(out.reshape(3, 16, 16), [expected] * 3)


def claimed(times):
    """Four warps that compute and four that copy, in iterations that are claimed; a product as often as ``times``."""
    rows, columns, part = 64, 16, 32
    d, pitch = Tile("d", F32, rows, columns, (4, 1)), part + 8
    a, b = Matrix("sa", i64(0), pitch), Matrix("sb", mul(SLOT, i64(columns * pitch)), pitch, True)
    line = lambda x, k: add(mul(add(mul(BLOCK, i64(rows)), x), i64(columns)), k)  # noqa: E731
    copy = TileCopy(b, part, columns, "b", R, C, add(mul(C, dim(1)), add(mul(K, i64(part)), R)), None, 8, True)
    product = Pipeline(Axis(K, div(dim(1), i64(part))), SLOT, 2, (copy,), (TileProduct(d, a, b, part),), 4)
    body = (
        TileMap((d,), (const(0.0, F32),), R, C),
        TileCopy(a, rows, part, "a", R, C, add(mul(R, i64(part)), C), None, 8),
        Loop(Axis(axis("times"), i64(times)), (product,)) if times > 1 else product,
        TileStore(d, "out", R, C, line(R, C), d.at),
    )
    buffers = (
        Buffer("counter", I32, OUT), Buffer("a", BF16, IN), Buffer("b", BF16, IN), Buffer("out", F32, OUT),
        Buffer("sa", BF16, SHARED, i64(rows * pitch)), Buffer("sb", BF16, SHARED, i64(2 * columns * pitch)),
    )  # fmt: skip
    return blocks_of(*body, buffers=buffers, tiles=(d,), threads=256, dims=2, counter="counter")


def run_claimed(machine, times, rng, depth=96):
    kernel = claimed(times)
    verify(kernel)
    a, b = (rng.integers(-8, 9, shape).astype(DTYPES["bf16"]) for shape in ((64, 32), (16, depth)))
    counter, out = np.zeros(1, np.int32), np.zeros(3 * 64 * 16, np.float32)
    assert machine.run(kernel, [counter, a.ravel(), b.ravel(), out], [3, depth], blocks=2) == 0
    expected = a.astype(np.float32) @ b.astype(np.float32).reshape(16, -1, 32).sum(1).T
    np.testing.assert_array_equal(out.reshape(3, 64, 16), [times * expected] * 3)


@pytest.mark.parametrize("device", ["interpreter", "ptx", "wgmma"])
@pytest.mark.parametrize("times", [1, 2])
def test_warps_that_copy_claim_what_the_others_do(device, times, rng):
    run_claimed(DEVICES[device](), times, rng)


def test_warps_that_copy_give_registers_away(rng):
    """Where four do; the others have to get no more than these give."""
    kernel = claimed(1)
    assert "setmaxnreg" not in ptx.render(kernel, "sm_90") and "nvvm.maxnreg" in ptx.render(kernel, "sm_90")
    assert re.findall(r"setmaxnreg\.(\w+).*i32 (\d+)\)", ptx.render(kernel, "sm_90a")) == [
        ("inc", "216"),
        ("dec", "40"),
    ]
    with pytest.raises(Fault, match="more registers than a block has"):
        run_claimed(Wrong(r"(setmaxnreg.inc.*i32) 216", r"\1 224"), 1, rng)


def copies(*between, width=8, index=None, where=None):
    target = Matrix("s", i64(0), 16)
    tile = Tile("t", F32, 16, 16, (1, 1))
    at = add(mul(R, i64(16)), C)
    body = (
        TileCopy(target, 16, 16, "x", R, C, at if index is None else index, where, width, True),
        *between,
        TileMap((tile,), (cast(load("s", BF16, at), F32),), R, C),
        TileStore(tile, "out", R, C, at, tile.at),
    )
    buffers = (Buffer("x", BF16, IN), Buffer("out", F32, OUT), Buffer("s", BF16, SHARED, i64(256)))
    return blocks_of(*body, buffers=buffers, tiles=(tile,))


def test_copies_arrive_when_they_are_waited_for(rng):
    x, out = rng.integers(-8, 9, 256).astype(DTYPES["bf16"]), np.zeros(256, np.float32)
    run = DEVICES["interpreter"]().run
    for between in ((), (Commit(),), (Wait(0),), (Commit(), Wait(1))):
        with pytest.raises(ValueError, match="a wait for copies into s"):
            run(copies(*between), [x, out], [1])
    run(copies(Commit(), Commit(), Wait(1)), [x, out], [1])
    np.testing.assert_array_equal(out, x.astype(np.float32))


def test_copies_keep_what_their_width_promises(rng):
    x, out = rng.integers(-8, 9, 600).astype(DTYPES["bf16"]), np.zeros(256, np.float32)
    done, at = (Commit(), Wait(0)), add(mul(R, i64(16)), C)
    for wrong in (add(at, i64(1)), add(mul(R, i64(16)), mul(C, i64(2))), add(mul(R, i64(12)), C)):
        with pytest.raises(ValueError, match="copies of 8 elements that follow each other"):
            DEVICES["interpreter"]().run(copies(*done, index=wrong), [x, out], [1])
    with pytest.raises(ValueError, match="copies of 8 elements that follow each other"):
        DEVICES["interpreter"]().run(copies(*done, where=lt(C, i64(12))), [x, out], [1])


@pytest.mark.parametrize("device", TARGETS)
@pytest.mark.parametrize("width", [1, 2, 4, 8])
def test_copies_of_all_widths(device, width, rng):
    x, out = rng.integers(-8, 9, 256).astype(DTYPES["bf16"]), np.zeros(256, np.float32)
    kernel = copies(Commit(), Wait(0), Barrier(), width=width, where=lt(R, dim(0)))
    assert DEVICES[device]().run(kernel, [x, out], [9], blocks=1) == 0
    np.testing.assert_array_equal(out, np.where(np.arange(256) < 9 * 16, x.astype(np.float32), 0))


# --- counters and exchanges ---


@pytest.mark.parametrize("device", TARGETS)
def test_blocks_claim_iterations(device):
    body = (Atomic("add", "out", BLOCK, const(1, I32)),)
    lanes = Loop(Axis(R, i64(64), kind=LANE), (Atomic("add", "sum", i64(0), const(1, I32)),))
    buffers = (Buffer("counter", I32, OUT), Buffer("out", I32, OUT), Buffer("sum", I32, OUT))
    kernel = blocks_of(*body, lanes, buffers=buffers, counter="counter")
    verify(kernel)
    counter, out, total = (np.zeros(n, np.int32) for n in (1, 11, 1))
    assert DEVICES[device]().run(kernel, [counter, out, total], [11], blocks=4) == 0
    np.testing.assert_array_equal(out, 1)
    assert total[0] == 11 * 64 and counter[0] >= 11


@pytest.mark.parametrize("device", TARGETS)
def test_what_an_atomic_had_before(device):
    old, mine = var("old", U32), var("mine", U32)
    together = (Atomic("add", "n", i64(0), const(5, U32), None, old), Store("out", BLOCK, add(old, const(1, U32))))
    where = lt(R, i64(40))
    apart = Loop(
        Axis(R, i64(64), kind=LANE),
        (Atomic("add", "m", i64(0), const(1, U32), where, mine), Store("mine", add(R, i64(0)), mine, where)),
    )
    buffers = tuple(Buffer(name, U32, OUT) for name in ("n", "m", "out", "mine"))
    kernel = blocks_of(*together, If(lt(BLOCK, i64(1)), (apart,)), buffers=buffers)
    verify(kernel)
    n, m, out, mine_ = (np.zeros(k, np.uint32) for k in (1, 1, 6, 64))
    assert DEVICES[device]().run(kernel, [n, m, out, mine_], [6], blocks=2) == 0
    assert n[0] == 30 and sorted(out) == [1, 6, 11, 16, 21, 26]
    assert m[0] == 40 and sorted(mine_[:40]) == list(range(40)) and not mine_[40:].any()


@pytest.mark.parametrize("device", TARGETS)
@pytest.mark.parametrize("mask", [1, 16, 31])
def test_lanes_exchange_numbers(device, mask):
    got = var("got", F32)
    lanes = Loop(Axis(R, i64(128), kind=LANE), (Exchange(got, mul(load("x", F32, R), 2.0), mask), Store("out", R, got)))
    kernel = blocks_of(lanes, buffers=(Buffer("x", F32, IN), Buffer("out", F32, OUT)))
    verify(kernel)
    x, out = np.arange(128, dtype=np.float32), np.zeros(128, np.float32)
    assert DEVICES[device]().run(kernel, [x, out], [1], blocks=1) == 0
    np.testing.assert_array_equal(out, 2 * (np.arange(128) ^ mask))


# --- text and rules ---


def test_text_of_tiles():
    text = show_kernel(pipeline(1))
    assert "  tile d: f32[16, 16] of 1 x 1 warps\n  threads 64\n" in text
    assert "    pipeline k in [0, (d1 + 31) / 32), slot of 3 slots, 1 warps copy:\n      produce:\n" in text
    assert "d += sa[t2: 16 x 32 by 40] @ sb[t2: 32 x 16 by 40 transposed]" in text
    assert "asynchronous copy sa[" in text
    text = show_kernel(attention())
    for line in ("commit", "wait for all but 0", "m = reduce max s along c of s", "p = bf16(s / t) for r, c",
                 "o += p @ sv[0: 32 x 64 by 72]", "most[r] = m for r, c of m where r < 20"):  # fmt: skip
        assert f"    {line}\n" in text


SMALL = Tile("d", F32, 16, 16, (1, 1))
LINES = Matrix("s", i64(0), 40)
POINTS = add(mul(R, i64(16)), C)
WRONG = {
    "a number of threads": ((), {"tiles": (SMALL,), "threads": None}),
    "32 to 1024 threads": ((), {"threads": 48}),
    "fragments of 16 × 8 and warps divide": ((), {"tiles": (replace(SMALL, columns=12),)}),
    "warps among 1": ((), {"tiles": (replace(SMALL, rows=32, warps=(2, 1)),), "threads": 32}),
    "different names of tiles": ((), {"tiles": (SMALL, replace(SMALL, rows=32))}),
    "a declared tile": ((TileMap((replace(SMALL, name="e"),), (const(0.0, F32),), R, C),), {}),
    "defined before use": ((TileMap((SMALL,), (var("e", F32),), R, C),), {}),
    "tiles of one shape": (
        (TileMap((SMALL, Tile("m", F32, 16, 1, (1, 1))), (const(0.0, F32),) * 2, R, C),),
        {"tiles": (SMALL, Tile("m", F32, 16, 1, (1, 1)))},
    ),
    "a condition of places and memory, got one of d": (
        (TileMap((SMALL,), (const(0.0, F32),), R, C, lt(SMALL.at, const(0.0, F32))),), {}
    ),
    "a result of one column": ((TileReduce(SMALL, SMALL, SUM, SMALL.at, R, C),), {}),
    "monoid of one number": ((TileReduce(SMALL, SMALL, ARGMAX, SMALL.at, R, C),), {}),
    "a matrix in a shared buffer": ((TileProduct(SMALL, replace(LINES, buffer="x"), LINES, 32),), {}),
    "lines of a multiple of 16 bytes": ((TileProduct(SMALL, replace(LINES, pitch=36), LINES, 32),), {}),
    "a depth that is a multiple of 16": ((TileProduct(SMALL, LINES, LINES, 24),), {}),
    "a tile of 16 bits": ((TileProduct(SMALL, SMALL, LINES, 16),), {}),
    "side by side along the depth": ((TileProduct(SMALL, *[replace(LINES, buffer="f8", pitch=48)] * 2, 32),), {}),
    "no input": ((TileStore(SMALL, "x", R, C, POINTS, cast(SMALL.at, BF16)),), {}),
    "a width of 1": ((TileStore(SMALL, "out", R, C, POINTS, SMALL.at, None, 4),), {}),
    "4, 8 or 16 bytes at once": ((TileCopy(LINES, 16, 36, "x", R, C, POINTS, None, 3),), {}),
    "lines of at most 40": ((TileCopy(LINES, 16, 48, "x", R, C, POINTS, None, 8),), {}),
    "a copy between buffers of one type": ((TileCopy(LINES, 16, 16, "out", R, C, POINTS),), {}),
    "a number of groups": ((Wait(-1),), {}),
    "panels of 128 bytes": ((TileProduct(SMALL, Panels("s", i64(0), 16, 32), LINES, 16),), {}),
    "a multiple of 8 lines": ((TileProduct(SMALL, Panels("s", i64(0), 12, 64), LINES, 16),), {}),
    "at most 16 lines": ((TileCopy(Panels("s", i64(0), 16, 64), 24, 16, "x", R, C, POINTS),), {}),
    "asynchronous products of panels, by four warps": ((TileProduct(SMALL, LINES, LINES, 16, True),), {}),
    "a slot that is filled beside those that are held": (
        (Pipeline(Axis(K, i64(3)), SLOT, 3, (), (), held=2),), {}
    ),
    "2 to 6 slots": ((Pipeline(Axis(K, i64(3)), SLOT, 1, (), ()),), {}),
    "asynchronous copies alone": (
        (Pipeline(Axis(K, i64(3)), SLOT, 2, (TileCopy(LINES, 16, 16, "x", R, C, POINTS),), ()),), {}
    ),
    "no asynchronous copies where": ((Pipeline(Axis(K, i64(3)), SLOT, 2, (), (Commit(),)),), {}),
    "tiles of the warps that copy nothing": (
        (Pipeline(Axis(K, i64(3)), SLOT, 2, (), (TileMap((SMALL,), (const(0.0, F32),), R, C),), 2),), {}
    ),
    "tiles outside of lanes": ((Loop(Axis(ROW, i64(64), kind=LANE), (Wait(0),)),), {}),
    "a multiple of the kernel's threads": (
        (Loop(Axis(ROW, i64(80), kind=LANE), (Exchange(var("y", F32), const(0.0, F32), 1),)),), {}
    ),
    "a mask of 1 to 31": (
        (Loop(Axis(ROW, i64(64), kind=LANE), (Exchange(var("y", F32), const(0.0, F32), 32),)),), {}
    ),
    "a former element of i32 or u32": ((Atomic("add", "out", i64(0), const(1.0, F32), None, var("y", F32)),), {}),
    "a counter of i32": ((), {"counter": "out"}),
}  # fmt: skip


@pytest.mark.parametrize("rule", WRONG)
def test_kernels_that_break_a_rule_are_refused(rule):
    body, options = WRONG[rule]
    buffers = (
        Buffer("x", BF16, IN), Buffer("out", F32, OUT), Buffer("s", BF16, SHARED, i64(4096)),
        Buffer("f8", F8E4M3FN, SHARED, i64(4096)),
    )  # fmt: skip
    body = body or (Fail(1, lt(BLOCK, i64(-1))),)
    with pytest.raises(InvalidKernel, match=rule):
        verify(blocks_of(*body, buffers=buffers, **{"tiles": (SMALL,), **options}))


def test_older_tensor_cores_take_no_operands_of_8_bits():
    with pytest.raises(ValueError, match="requires sm_89 for products of f8e4m3fn, got sm_86"):
        ptx.render(product(*PRODUCTS["e4m3"]), "sm_86")


def test_threads_that_wait_for_others_in_vain_are_noticed():
    """The emulator's own check: a barrier that some of its threads do not come to."""
    text = ptx.render(pipeline(1), "sm_90")
    wrong = re.sub(r'("barrier.cta.sync.aligned .*), i32 64\)', r"\1, i32 96)", text)
    assert wrong != text
    machine = Ptx()
    machine.engines = {text: machine.engine("tiles", wrong)}
    x, out = np.zeros(16 * 200, DTYPES["bf16"]), np.zeros(256, np.float32)
    with pytest.raises(Diverged):
        machine.run(pipeline(1), [x, x, out], [1, 200])
