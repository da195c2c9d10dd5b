"""Matmuls of floats of 16 and 8 bits by tiles of the loop IR, with what follows them: for devices whose blocks have
tensor cores.

A block computes a tile of the result. Parts of the operands come to shared memory while earlier ones are multiplied,
and bias, activations and residuals are added in f32 to what is in registers; the result is rounded once.

Where four warps multiply together, parts lie in panels, warps of their own copy them, and products go on while the next
part is waited for (:class:`Shape` has what differs).
"""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from dataclasses import dataclass

from umiak.backends.matmul_work import Matrices
from umiak.compiler.loop import node as n
from umiak.compiler.loop.node import Node, add, axis, counted, dim, i64, lt, mul, rem, sub
from umiak.compiler.loop.tiles import (
    CHUNK,
    PANEL,
    WARP,
    Matrix,
    Panels,
    Pipeline,
    ProductWait,
    Tile,
    TileCopy,
    TileMap,
    TileProduct,
    TileStore,
)
from umiak.compiler.loop.tree import IN, OUT, SHARED, Axis, Kernel, Loop, Statement
from umiak.compiler.loop.tree import Buffer as LoopBuffer
from umiak.compiler.loop.types import F32, STORED, ScalarType
from umiak.core.buffer import Buffer

DTYPES = ("bfloat16", "float16")  # of operands and results alike
BYTES = ("float8_e4m3fn", "float8_e5m2")  # of operands alone
RESULTS = (*DTYPES, "float32")
LEAST_BYTES = 4  # that are copied at once, if it is more than one element
GROUP = 8  # tiles side by side that blocks compute one after the other, so that they find operands in the cache
WORDS = 5  # dims of a kernel before those of the batch

Step = str | tuple[str, float]


@dataclass(frozen=True)
class Cores:
    """Abilities of a device's tensor cores beyond products of 16 bits by one warp."""

    bytes: bool = False  # products of 8 bits
    together: bool = False  # four warps multiply, from panels


@dataclass(frozen=True)
class Shape:
    """A block's tile, the grid of warps over it, and the parts of operands that come to shared memory."""

    rows: int
    columns: int
    warps: tuple[int, int]
    slots: int = 3  # parts in shared memory
    part: int = 64  # bytes along the depth
    together: bool = False  # four warps multiply, from panels
    producers: int = 0  # warps that only copy

    @property
    def threads(self) -> int:
        return WARP * (self.warps[0] * self.warps[1] + self.producers)

    def fits(self, rows: int, columns: int) -> bool:
        """Return whether more than a half of a tile is used at the ends of such a result."""
        return rows > self.rows // 2 and columns > self.columns // 2


LARGE, SMALL = Shape(128, 128, (2, 4)), Shape(64, 64, (2, 2))
WIDE, GROUPED = (Shape(128, n, (8, 1), 4, PANEL, True, producers=4) for n in (256, 128))


@dataclass(frozen=True)
class Lines:
    """An operand's memory: lines along the depth or across it, and elements that may be copied at once."""

    along_depth: bool
    width: int


def activation(name: str, x: Node) -> Node:
    """An activation of f32, by its name among the steps of an epilogue."""
    if name == "relu":
        return n.maximum(x, 0.0)
    if name == "tanh":
        return n.call("tanh", x)
    if name == "sigmoid":
        return n.call("logistic", x)
    if name == "silu":
        return mul(x, n.call("logistic", x))
    if name == "gelu":
        return mul(mul(x, 0.5), add(n.call("erf", mul(x, math.sqrt(0.5))), 1.0))
    if name == "gelu_tanh":
        inner = mul(mul(x, math.sqrt(2 / math.pi)), add(mul(mul(x, x), 0.044715), 1.0))
        return mul(mul(x, 0.5), add(n.call("tanh", inner), 1.0))
    if name == "hard_swish":
        return mul(x, mul(n.minimum(n.maximum(add(x, 3.0), 0.0), 6.0), 1 / 6))
    raise ValueError(f"[matmul] requires an activation that tiles know, got {name!r}")


def lines(x: Matrices, left: bool) -> tuple[Lines, int] | None:
    """The way in which an operand lies, and the stride of its lines; None where neither rows nor columns are dense."""
    if not x.x.size:
        return Lines(True, 1), 0  # nothing is read
    if x.column == 1 or x.columns == 1:
        rows, stride, along = True, x.row, x.columns
    elif x.row == 1 or x.rows == 1:
        rows, stride, along = False, x.column, x.rows
    else:
        return None
    item = x.x.dtype.itemsize
    width = math.gcd(CHUNK // item, along, stride, x.x.pointer // item, *x.strides)
    if width * item < LEAST_BYTES:
        width = 1
    return Lines(rows == left, width), stride


def tile_matmul_work(
    out: Buffer, a: Matrices, b: Matrices, units: int, steps: Sequence[Step] = (), cores: Cores = Cores()
) -> tuple[Kernel, tuple[int, ...]] | None:
    """The kernel that computes ``out = a b`` and ``steps`` behind it, and its dims; None where it cannot.

    The kernel reads ``a``, ``b`` and an operand for each step "bias" (numbers of columns), "add" (of the result's
    shape, dense), "rows" and "columns" (float32 numbers that these are multiplied with), and writes ``out``, which is
    dense. Operands of 8 bits lie along the depth. ``units``: how many blocks the device runs at once at least.
    """
    dtype = a.x.dtype
    known = DTYPES + BYTES if cores.bytes else DTYPES
    if dtype is not b.x.dtype or dtype.name not in known or out.dtype.name not in RESULTS:
        return None
    of_a, of_b = lines(a, True), lines(b, False)
    if of_a is None or of_b is None:
        return None
    if dtype.itemsize == 1 and not (of_a[0].along_depth and of_b[0].along_depth):
        return None
    batch = out.shape[:-2]
    rows, columns, count = a.rows, b.columns, math.prod(batch)

    def tiles(s: Shape) -> int:
        return -(-rows // s.rows) * -(-columns // s.columns) * count

    # Copies of elements one by one take registers that the widest tile does not leave.
    single = min(of_a[0].width, of_b[0].width) == 1
    large = ((GROUPED,) if single else (WIDE, GROUPED)) if cores.together else (LARGE,)
    shape = next((s for s in large if s.fits(rows, columns) and tiles(s) >= units), SMALL)
    pairs = columns % 2 == 0 and out.pointer % (2 * out.dtype.itemsize) == 0
    kernel = _kernel(len(batch), dtype.name, out.dtype.name, shape, of_a[0], of_b[0], pairs, tuple(steps))
    dims = (rows, columns, a.columns, of_a[1], of_b[1], tiles(shape), *batch, *a.steps(batch), *b.steps(batch))
    return kernel, dims


@functools.cache
def _kernel(
    rank: int, dtype: str, result: str, shape: Shape, a: Lines, b: Lines, pairs: bool, steps: tuple[Step, ...]
) -> Kernel:
    cell, written = STORED[dtype], STORED[result]
    part = shape.part // cell.bytes
    rows, columns, depth, first = dim(0), dim(1), dim(2), WORDS + 1
    block, k, slot, r, c = (axis(name) for name in ("block", "k", "slot", "r", "c"))
    tile = Tile("sums", F32, shape.rows, shape.columns, shape.warps)

    # Which tile of which matrix: groups of tiles side by side, from top to bottom in each.
    down, across = (
        counted(add(size, i64(t - 1)), i64(t)) for size, t in ((rows, shape.rows), (columns, shape.columns))
    )
    one = mul(down, across)
    rest, point = counted(block, one), rem(block, one)
    begin = mul(counted(point, mul(down, i64(GROUP))), i64(GROUP))
    side = n.minimum(sub(across, begin), i64(GROUP))
    inside = rem(point, mul(down, i64(GROUP)))
    top = mul(counted(inside, side), i64(shape.rows))
    left = mul(add(begin, rem(inside, side)), i64(shape.columns))
    at_a, at_b, at_out = i64(0), i64(0), mul(rest, mul(rows, columns))
    for j in reversed(range(rank)):
        size = dim(first + j)
        index = rem(rest, size) if j else rest
        at_a, at_b = add(at_a, mul(index, dim(first + rank + j))), add(at_b, mul(index, dim(first + 2 * rank + j)))
        rest = counted(rest, size)

    start = mul(k, i64(part))
    sa, size_a = _stage("sa", a.along_depth, shape.rows, cell, slot, shape, transposed=not a.along_depth)
    sb, size_b = _stage("sb", b.along_depth, shape.columns, cell, slot, shape, transposed=b.along_depth)
    row, column, step_a, step_b = add(top, r), add(left, c), add(start, c), add(start, r)
    index_a = _element(at_a, row, step_a, a, dim(3))
    index_b = _element(at_b, column, step_b, b, dim(4))
    produce = (
        TileCopy(sa, shape.rows, part, "a", r, c, index_a, _both(lt(row, rows), lt(step_a, depth)), a.width, True),
        TileCopy(sb, part, shape.columns, "b", r, c, index_b, _both(lt(column, columns), lt(step_b, depth)),
                 b.width, True),
    )  # fmt: skip

    here, where = add(at_out, add(mul(row, columns), column)), _both(lt(row, rows), lt(column, columns))
    value, extras = tile.at, []
    for j, step in enumerate(steps):
        if step in ("bias", "add"):
            name = f"extra{j}"
            extras.append(LoopBuffer(name, written, IN))
            index, there = (column, lt(column, columns)) if step == "bias" else (here, where)
            value = add(value, n.cast(n.load(name, written, index, there), F32))
        elif step in ("rows", "columns"):
            name, index, size = f"extra{j}", *((row, rows) if step == "rows" else (column, columns))
            extras.append(LoopBuffer(name, F32, IN))
            value = mul(value, n.load(name, F32, index, lt(index, size)))
        elif isinstance(step, tuple):
            value = mul(value, step[1]) if step[0] == "scale" else add(value, step[1])
        else:
            value = activation(step, value)
    # Products of one part go on while the next one is waited for.
    held = int(shape.together)
    product = TileProduct(tile, sa, sb, part, asynchronous=shape.together)
    consume: tuple[Statement, ...] = (product, ProductWait(held)) if held else (product,)
    body = (
        TileMap((tile,), (n.const(0.0, F32),), r, c),
        Pipeline(
            Axis(k, counted(add(depth, i64(part - 1)), i64(part))), slot, shape.slots, produce, consume,
            shape.producers, held,
        ),
        TileStore(tile, "out", r, c, here, n.cast(value, written), where, 2 if pairs else 1),
    )  # fmt: skip
    parts = (f"{'d' if x.along_depth else 'x'}{x.width}" for x in (a, b))
    dtypes = (dtype,) if result == dtype else (dtype, result)
    edges = f"{shape.rows}x{shape.columns}" if shape.together else str(shape.rows)
    name = "_".join(("tile_matmul", str(rank), *dtypes, edges, *parts, str(int(pairs)), *map(_word, steps)))
    buffers = (
        LoopBuffer("a", cell, IN), LoopBuffer("b", cell, IN), *extras, LoopBuffer("out", written, OUT),
        LoopBuffer("sa", cell, SHARED, i64(size_a)), LoopBuffer("sb", cell, SHARED, i64(size_b)),
    )  # fmt: skip
    loop = Loop(Axis(block, dim(WORDS)), body, parallel=True)
    return Kernel(name, buffers, first + 3 * rank, (loop,), (tile,), shape.threads)


def _word(step: Step) -> str:
    return step if isinstance(step, str) else f"{step[0]}{n.const(step[1], F32).attr.hex()}".translate(_PLAIN)


_PLAIN = str.maketrans({".": "p", "-": "m", "+": None})


def _both(a: Node, b: Node) -> Node:
    return n.call("and", a, b)


def _stage(
    name: str, along_depth: bool, length: int, cell: ScalarType, slot: Node, shape: Shape, transposed: bool
) -> tuple[Matrix | Panels, int]:
    """A part of an operand in shared memory, and the elements of all slots. Lines are 16 bytes longer than they need
    be, which puts those that follow each other into different banks; or they lie in panels."""
    part = shape.part // cell.bytes
    lines, line = (length, part) if along_depth else (part, length)
    if shape.together:
        size = lines * line
        return Panels(name, mul(slot, i64(size)), lines, PANEL // cell.bytes, transposed), shape.slots * size
    pitch = line + CHUNK // cell.bytes
    return Matrix(name, mul(slot, i64(lines * pitch)), pitch, transposed), shape.slots * lines * pitch


def _element(at: Node, outer: Node, step: Node, x: Lines, stride: Node) -> Node:
    """Position of an element: ``outer`` is its row or column of the result, ``step`` its place along the depth."""
    line, along = (outer, step) if x.along_depth else (step, outer)
    return add(at, add(mul(line, stride), along))
