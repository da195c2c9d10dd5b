"""Nests written by hand, with operands and expected results, and a small launcher that runs any schedule of them.

A case's axes are those that a launch would be left with; sizes and strides are ints.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
import scipy.special

from umiak.compiler import codes
from umiak.compiler import nest as n
from umiak.compiler.loop.evaluate import DTYPES
from umiak.compiler.loop.monoid import ARGMAX, MAX, PROD, SUM, WELFORD
from umiak.compiler.loop.node import (
    add,
    call,
    cast,
    conjunction,
    const,
    dim,
    div,
    le,
    load,
    lt,
    maximum,
    mul,
    select,
    sub,
    var,
    word,
)
from umiak.compiler.loop.types import BF16, BOOL, F16, F32, F64, I32, I64, U32, U64
from umiak.compiler.nest import (
    Access,
    FailStage,
    Nest,
    NestBuffer,
    Phase,
    ReduceStage,
    ScanStage,
    StoreStage,
    Variant,
    position,
)
from umiak.compiler.schedule import chunks


@dataclass
class Case:
    """``operands``: the nest's buffers in order, outputs as what is expected."""

    nest: Nest
    operands: list
    words: tuple = ()
    fails: int = 0
    rtol: float = 1e-5
    tiles: tuple = ()  # axes that TILE may take
    strided: dict = field(default_factory=dict)  # buffers whose expected content is not all of the memory


def steps(*sizes):
    """Strides of a contiguous array."""
    return tuple(math.prod(sizes[k + 1 :]) for k in range(len(sizes)))


def random(*shape, dtype=np.float32, seed=0):
    return np.random.default_rng(seed).standard_normal(shape).astype(dtype)


X = lambda k=0, name="x", t=F32: load(name, t, position(k))  # noqa: E731


def buffers(*inputs, out=(("out", F32),)):
    return (*(NestBuffer(*b) for b in inputs), *(NestBuffer(*b, output=True) for b in out))


def kind(stride):
    return {0: codes.ZERO, 1: codes.UNIT, 2: codes.PAIR, -1: codes.BACK}.get(stride, codes.ANY)


def variant_of(nest: Nest, schedule: str, tile: int = -1, long: bool = False) -> Variant:
    p, r = nest.n_parallel, nest.n_reduced
    kinds = []
    for a in nest.accesses:
        along_p = kind(a.strides[p - 1]) if p else codes.ANY
        along_r = kind(a.strides[tile]) if tile >= 0 else kind(a.strides[-1]) if r else codes.ANY
        kinds.append((along_p, along_r))
    return Variant(schedule, p, r, tuple(kinds), tile, long=long)


def lengths(nest: Nest) -> tuple[bool, ...]:
    """Whether R may be long."""
    return (False, True) if nest.n_reduced else (False,)


def short_runs(monkeypatch) -> None:
    """Long sums go in chunks of a few points, so that small ones have several."""
    for name, size in (("CHUNK_POINTS", 16), ("CHUNK_ROWS", 2), ("CHUNK_COLUMN", 4)):
        monkeypatch.setattr(chunks, name, size)


def dims_of(nest: Nest, blocks: tuple = ()) -> list[int]:
    """The integers; those that are said not to be read are nonsense."""
    p, r = nest.n_parallel, nest.n_reduced
    result = [*nest.extras, *nest.sizes]
    for a in nest.accesses:
        for axis, stride in enumerate(a.strides):
            known = axis in (p - 1, p + r - 1) and stride in (0, 1)
            result.append(-(10**12) if known else stride)
    return [*result, *blocks]


def extent(phase: Phase, nest: Nest, variant: Variant, blocks: int) -> int:
    """How far the parallel range of a phase goes."""
    sizes = nest.sizes[: nest.n_parallel]
    outer = math.prod(sizes[:-1])
    if phase.range == codes.TILE_BLOCKS:
        others = math.prod(s for k, s in enumerate(sizes[:-1]) if k != variant.tile)
        return others * -(-sizes[variant.tile] // phase.block)
    return {
        codes.ROWS: math.prod(sizes), codes.OUTER: outer, codes.INNER: sizes[-1] if sizes else 0, codes.ONE: 1,
        codes.ROW_BLOCKS: math.prod(sizes) * blocks, codes.OUTER_BLOCKS: outer * blocks,
        codes.COLUMN_BLOCKS: outer * -(-sizes[-1] // (phase.block or 1)) if sizes else 0,
    }[phase.range]  # fmt: skip


def launch(
    nest: Nest, variant: Variant, phases: list, run: Callable, pointers: list, words: tuple, block: int = 0
) -> int:
    """Run the phases, each in three parts. ``run(kernel, pointers, dims, words, lo, hi, scratch)``."""
    split = variant.schedule in (n.SPLIT_ROW, n.SPLIT_COLUMN)
    outermost = nest.sizes[nest.n_parallel] if nest.n_reduced else 0
    blocks = max(-(-outermost // block), 1) if split else 0
    dims = dims_of(nest, (blocks, block) if split else ())
    scratch: dict = {}
    for phase in phases:
        count = extent(phase, nest, variant, blocks)
        cuts = sorted({0, count // 3, count - count // 4, count})
        for lo, hi in zip(cuts, cuts[1:]):
            code = run(phase.kernel, pointers, dims, words, lo, hi, scratch)
            if code:
                return code
    return 0


def compare(got, expected, rtol):
    """Floats nearly, everything else exactly."""
    if expected.dtype.kind in "biu":
        np.testing.assert_array_equal(got, expected)
    else:
        np.testing.assert_allclose(got.astype(np.float64), expected.astype(np.float64), rtol=rtol, atol=rtol / 10)


# --- pointwise -------------------------------------------------------------------------------------------------------


def add_broadcast(a, b, c):
    """x[a, b, c] + y[b] as (a, b, c): one input repeats along the outer and the inner axis."""
    x, y = random(a, b, c), random(b, seed=1)
    nest = Nest(
        "add", (a, b, c), 3, buffers(("x", F32), ("y", F32)),
        (Access("x", steps(a, b, c)), Access("y", (0, 1, 0)), Access("out", steps(a, b, c))),
        (StoreStage("out", position(2), add(X(0), X(1, "y")), True),),
    )  # fmt: skip
    return Case(nest, [x, y, x + y[:, None]])


def gelu(size):
    """One axis, a number from the scalar pack."""
    x = random(size)
    scaled = mul(X(), cast(word(0), F32))
    y = mul(mul(scaled, 0.5), add(call("erf", mul(scaled, math.sqrt(0.5))), 1.0))
    nest = Nest("gelu", (size,), 1, buffers(("x", F32)), (Access("x", (1,)), Access("out", (1,))),
                (StoreStage("out", position(1), y, True),))  # fmt: skip
    z = x.astype(np.float64) * 1.5
    return Case(nest, [x, (z * 0.5 * (1 + scipy.special.erf(z / math.sqrt(2)))).astype(np.float32)], (1.5,))


def scalar():
    """No axes left."""
    nest = Nest("scalar", (), 0, buffers(("x", F32)), (Access("x", ()), Access("out", ())),
                (ReduceStage((var("s", F32),), SUM, (X(),), lt(X(), 0.0)),
                 StoreStage("out", position(1), var("s", F32), False)))  # fmt: skip
    return Case(nest, [np.float32([-3]), np.float32([-3])])


def transposed(a, b, c):
    """out[c, a, b] = x[a, b, c] + 1, axes in the order of the output."""
    x = random(a, b, c)
    nest = Nest("transposed", (c, a, b), 3, buffers(("x", F32)),
                (Access("x", (1, b * c, c)), Access("out", steps(c, a, b))),
                (StoreStage("out", position(1), add(X(), 1.0), True),))  # fmt: skip
    return Case(nest, [x, np.transpose(x, (2, 0, 1)) + np.float32(1)], tiles=(0,))


def transposed_matrix(a, b):
    """out[b, a] = f64(x[a, b])"""
    x = random(a, b)
    nest = Nest("matrix", (b, a), 2, buffers(("x", F32), out=(("out", F64),)),
                (Access("x", (1, b)), Access("out", (a, 1))),
                (StoreStage("out", position(1), cast(X(), F64), True),))  # fmt: skip
    return Case(nest, [x, x.T.astype(np.float64)], tiles=(0,))


def swapped(a, b, c):
    """out[a, c, b] = x[a, b, c]: the tile axis stands between the others."""
    x = random(a, b, c)
    nest = Nest("swapped", (a, c, b), 3, buffers(("x", F32)),
                (Access("x", (b * c, 1, c)), Access("out", steps(a, c, b))),
                (StoreStage("out", position(1), X(), True),))  # fmt: skip
    return Case(nest, [x, np.swapaxes(x, 1, 2)], tiles=(1,))


def pad_concat_cast(rows, left, right):
    """bf16(concat(x, y) along columns, one more of -1 at both ends)"""
    x, y = random(rows, left), random(rows, right, seed=1)
    width = left + right + 2
    column = position(2)
    in_x, in_y = (
        conjunction(le(1, column), lt(column, left + 1)),
        conjunction(le(left + 1, column), lt(column, width - 1)),
    )
    value = load("x", F32, sub(position(0), 1), in_x, load("y", F32, sub(position(1), left + 1), in_y, const(-1, F32)))
    nest = Nest(
        "pad_concat", (rows, width), 2, buffers(("x", F32), ("y", F32), out=(("out", BF16),)),
        (Access("x", (left, 1)), Access("y", (right, 1)), Access(None, (0, 1)), Access("out", (width, 1))),
        (StoreStage("out", position(3), cast(value, BF16), True),),
    )  # fmt: skip
    expected = np.pad(np.concatenate([x, y], 1), ((0, 0), (1, 1)), constant_values=-1)
    return Case(nest, [x, y, expected.astype(DTYPES["bf16"])])


def dropout(rows, columns):
    """Random bits from the linear index, with a column stride of the input."""
    x = random(columns, rows)
    linear = cast(position(1), U32)
    bits = call("xor", mul(linear, const(2654435761, U32)), const(0x9E3779B9, U32))
    keep = lt(call("mulhi", bits, const(0xD2511F53, U32)), cast(word(0, I64), U32))
    y = select(keep, mul(X(), 2.0), 0.0)
    nest = Nest("dropout", (rows, columns), 2, buffers(("x", F32), out=(("out", F32), ("mask", BOOL))),
                (Access("x", (1, rows)), Access(None, (columns, 1)), Access("out", (columns, 1))),
                (StoreStage("out", position(2), y, True), StoreStage("mask", position(2), keep, True)))  # fmt: skip
    i = np.arange(rows * columns, dtype=np.uint64).reshape(rows, columns)
    h = (((i * 2654435761) & 0xFFFFFFFF) ^ 0x9E3779B9) * 0xD2511F53 >> 32
    mask = h < 1 << 31
    return Case(nest, [x, np.where(mask, x.T * 2, np.float32(0)), mask], (1 << 31,), tiles=(0,))


def check_index(size, fails):
    """out[i] = x[index[i]], refused where the index is out of range."""
    index = np.arange(size, dtype=np.int64)[::-1].copy()
    if fails:
        index[size // 2] = size
    x = random(size)
    k = X(0, "index", I64)
    inside = conjunction(le(0, k), lt(k, dim(0)))
    nest = Nest("take", (size,), 1, buffers(("index", I64), ("x", F32)), (Access("index", (1,)), Access("out", (1,))),
                (FailStage(5, call("not", inside)), StoreStage("out", position(1), load("x", F32, k, inside), True)),
                (size,))  # fmt: skip
    return Case(nest, [index, x, x[index % max(size, 1)]], fails=5 if fails else 0)


# --- reductions ------------------------------------------------------------------------------------------------------

S, M, N, MEAN, Q, INDEX = (
    var(*v) for v in (("s", F32), ("m", F32), ("n", F32), ("mean", F32), ("q", F32), ("index", I64))
)


def _reduced(name, x, p_axes, r_axes, stages, outs, extras=(), words=(), out_types=(F32,), t=F32, **more):
    """A nest over the axes of contiguous ``x``: access 0 is x, 1 an output per point of P, 2 one like x."""
    order = (*p_axes, *r_axes)
    sizes = tuple(x.shape[a] for a in order)
    along = tuple(steps(*x.shape)[a] for a in order)
    points = (*steps(*sizes[: len(p_axes)]), *(0,) * len(r_axes))
    names = ("out", "more", "rest")
    out = tuple(zip(names, out_types))
    nest = Nest(name, sizes, len(p_axes), buffers(("x", t), out=out),
                (Access("x", along), Access("out", points), Access("out", along)), stages, extras)  # fmt: skip
    return Case(nest, [x, *outs], words, **more)


def total(shape, p_axes, r_axes):
    x = random(*shape)
    expected = np.sum(x.astype(np.float64), r_axes).astype(np.float32)
    stages = (ReduceStage((S,), SUM, (X(),)), StoreStage("out", position(1), S, False))
    return _reduced("sum", x, p_axes, r_axes, stages, [expected], rtol=1e-4)


def mean_of_positive(shape, p_axes, r_axes):
    """A condition, two reductions at once, values cast from f16."""
    x = random(*shape, dtype=np.float16)
    value = cast(X(0, "x", F16), F32)
    stages = (
        ReduceStage((S,), SUM, (value,), lt(0.0, value)),
        ReduceStage((N,), SUM, (const(1, F32),), lt(0.0, value)),
        StoreStage("out", position(1), cast(div(S, maximum(N, 1.0)), F16), False),
    )
    y = x.astype(np.float64)
    count = np.maximum((y > 0).sum(r_axes), 1)
    expected = (np.where(y > 0, y, 0).sum(r_axes) / count).astype(np.float16)
    return _reduced("positive", x, p_axes, r_axes, stages, [expected], out_types=(F16,), t=F16, rtol=2e-3)


def layer_norm(shape, p_axes, r_axes):
    """Mean and variance by Welford's formula, both kept; the normalised values."""
    x = random(*shape)
    r = math.prod(x.shape[a] for a in r_axes)
    scale = call("rsqrt", add(div(Q, float(max(r, 1))), cast(word(0), F32)))
    stages = (
        ReduceStage((N, MEAN, Q), WELFORD, (const(1, F32), X(), const(0, F32))),
        StoreStage("more", position(1), MEAN, False),
        StoreStage("rest", position(1), scale, False),
        StoreStage("out", position(2), mul(sub(X(), MEAN), scale), True),
    )
    y = x.astype(np.float64)
    mean = y.sum(r_axes, keepdims=True) / max(r, 1)
    s = 1 / np.sqrt(((y - mean) ** 2).sum(r_axes, keepdims=True) / max(r, 1) + 1e-5)
    outs = [(y - mean) * s, mean.squeeze(r_axes), s.squeeze(r_axes)]
    return _reduced("layer_norm", x, p_axes, r_axes, stages, [o.astype(np.float32) for o in outs], (), (1e-5,),
                    (F32, F32, F32), rtol=1e-4)  # fmt: skip


def softmax(shape, p_axes, r_axes):
    """exp(x - max) is used for the sum and for the output."""
    e = call("exp", sub(X(), M))
    stages = (
        ReduceStage((M,), MAX, (X(),)),
        ReduceStage((S,), SUM, (e,)),
        StoreStage("out", position(2), div(e, S), True),
    )
    x = random(*shape)
    expected = scipy.special.softmax(x.astype(np.float64), r_axes).astype(np.float32) if x.size else x
    return _reduced("softmax", x, p_axes, r_axes, stages, [expected])


def softmax_half(shape, p_axes, r_axes):
    """The output cannot keep f32 exponentials."""
    e = call("exp", sub(cast(X(0, "x", F16), F32), M))
    stages = (
        ReduceStage((M,), MAX, (cast(X(0, "x", F16), F32),)),
        ReduceStage((S,), SUM, (e,)),
        StoreStage("out", position(2), cast(div(e, S), F16), True),
    )
    x = random(*shape, dtype=np.float16)
    expected = scipy.special.softmax(x.astype(np.float64), r_axes).astype(np.float16) if x.size else x
    return _reduced("softmax_half", x, p_axes, r_axes, stages, [expected], out_types=(F16,), t=F16, rtol=2e-3)


def argmax(shape, p_axes, r_axes):
    """The position along R; the value is not wanted."""
    x = np.round(random(*shape) * 2)
    case = _reduced("argmax", x, p_axes, r_axes, (), [], out_types=(I64,))
    p = len(p_axes)
    inner = steps(*case.nest.sizes[p:])
    stages = (ReduceStage((M, INDEX), ARGMAX, (X(), position(3))), StoreStage("out", position(1), INDEX, False))
    accesses = (*case.nest.accesses, Access(None, (*(0,) * p, *inner)))
    nest = Nest("argmax", case.nest.sizes, p, case.nest.buffers, accesses, stages)
    flat = np.transpose(x, (*p_axes, *r_axes)).reshape(*nest.sizes[:p], math.prod(nest.sizes[p:]))
    expected = flat.argmax(-1) if flat.shape[-1] else np.full(nest.sizes[:p], np.iinfo(np.int64).max)
    return Case(nest, [x, expected])


def cumulative(shape, p_axes, r_axes, exclusive=False):
    x = random(*shape, dtype=np.float64)
    s = var("s", F64)
    body = (StoreStage("out", position(2), s, True), StoreStage("more", position(2), mul(s, X(0, "x", F64)), True))
    stages = (ScanStage((s,), SUM, (X(0, "x", F64),), body, exclusive),)
    expected = np.cumsum(x, r_axes[0]) - (x if exclusive else 0)
    return _reduced("cumsum", x, p_axes, r_axes, stages, [expected, expected * x], out_types=(F64, F64), t=F64,
                    rtol=1e-9)  # fmt: skip


def running_argmax(shape, p_axes, r_axes):
    """A scan of pairs of numbers: cummax."""
    x = np.round(random(*shape) * 3)
    stages = (
        ScanStage((M, INDEX), ARGMAX, (X(), position(3)),
                  (StoreStage("out", position(2), M, True), StoreStage("more", position(2), INDEX, True))),
    )  # fmt: skip
    case = _reduced("cummax", x, p_axes, r_axes, stages, [], out_types=(F32, I64))
    axis = r_axes[0]
    values = np.maximum.accumulate(x, axis)
    along = np.arange(x.shape[axis]).reshape([-1 if a == axis else 1 for a in range(x.ndim)])
    first = np.where(np.diff(values, axis=axis, prepend=-np.inf) > 0, along, 0)
    nest = Nest("cummax", case.nest.sizes, len(p_axes), case.nest.buffers,
                (*case.nest.accesses, Access(None, (*(0,) * len(p_axes), 1))), stages)  # fmt: skip
    return Case(nest, [x, values, np.maximum.accumulate(first, axis)])


def log_softmax_pick(rows, columns):
    """-log_softmax(x)[label]: a load at a loaded index, at the point of P."""
    x, label = random(rows, columns), np.random.default_rng(1).integers(0, max(columns, 1), rows)
    picked = load("x", F32, add(position(2), load("label", I64, position(1))))
    stages = (
        FailStage(2, conjunction(lt(load("label", I64, position(1)), 0))),
        ReduceStage((M,), MAX, (X(),)),
        ReduceStage((S,), SUM, (call("exp", sub(X(), M)),)),
        StoreStage("out", position(1), sub(add(M, call("log", S)), picked), False),
    )
    nest = Nest(
        "pick", (rows, columns), 1, buffers(("x", F32), ("label", I64)),
        (Access("x", (columns, 1)), Access("label", (1, 0)), Access("x", (columns, 0))), stages,
    )  # fmt: skip
    expected = -scipy.special.log_softmax(x.astype(np.float64), 1)[np.arange(rows), label] if rows else np.zeros(0)
    return Case(nest, [x, label, expected.astype(np.float32)])


def max_pool(images, height, width):
    """3 × 2 windows, stride 2, padding 1: positions along both axes decide what is inside."""
    x = random(images, height, width)
    oh, ow = (height + 2 - 3) // 2 + 1, (width + 2 - 2) // 2 + 1
    row, column = position(1), position(2)  # in the padded image
    inside = conjunction(le(1, row), le(row, dim(0)), le(1, column), le(column, dim(1)))
    value = load("x", F32, sub(position(0), add(dim(1), 1)), inside, const(-math.inf, F32))
    nest = Nest(
        "max_pool", (images, oh, ow, 3, 2), 3, buffers(("x", F32)),
        (Access("x", (height * width, 2 * width, 2, width, 1)), Access(None, (0, 2, 0, 1, 0)),
         Access(None, (0, 0, 2, 0, 1)), Access("out", (oh * ow, ow, 1, 0, 0))),
        (ReduceStage((M,), MAX, (value,)), StoreStage("out", position(3), M, False)), (height, width),
    )  # fmt: skip
    padded = np.pad(x, ((0, 0), (1, 1), (1, 1)), constant_values=-np.inf)
    windows = [padded[:, i : i + 2 * oh - 1 : 2, j : j + 2 * ow - 1 : 2] for i in range(3) for j in range(2)]
    return Case(nest, [x, np.max(windows, 0)])


def check_rows(rows, columns, fails):
    """A product along R, and a failure at any point of R."""
    x = np.ones((rows, columns), np.int32) * 2
    if fails:
        x[-1, columns // 2] = -1
    p = var("p", I32)
    stages = (
        FailStage(9, lt(X(0, "x", I32), 0)),
        ReduceStage((p,), PROD, (X(0, "x", I32),)),
        StoreStage("out", position(1), p, False),
    )
    case = _reduced("check", x, (0,), (1,), stages, [x.prod(1, dtype=np.int32)], out_types=(I32,), t=I32)
    return Case(case.nest, case.operands, fails=9 if fails else 0)


def u64_total(rows, columns):
    """A sum that wraps."""
    x = np.full((rows, columns), 2**63 + 1, np.uint64)
    s = var("s", U64)
    stages = (ReduceStage((s,), SUM, (X(0, "x", U64),)), StoreStage("out", position(1), s, False))
    return _reduced("wrap", x, (0,), (1,), stages, [x.sum(1, dtype=np.uint64)], out_types=(U64,), t=U64)


SHAPES_2D = [(5, 37), (37, 5), (1, 9), (9, 1), (0, 4), (4, 0)]
LAYOUTS_2D = [((0,), (1,)), ((1,), (0,)), ((), (0, 1))]
SHAPES_3D = [(3, 19, 5), (2, 1, 4), (2, 3, 0)]
LAYOUTS_3D = [((0, 2), (1,)), ((2,), (0, 1)), ((1,), (0, 2)), ((0,), (1, 2)), ((0, 1), (2,))]


def pointwise_cases():
    for shape in [(3, 4, 35), (2, 1, 1), (0, 2, 3), (1, 3, 0)]:
        yield f"add{shape}", lambda s=shape: add_broadcast(*s)
    for size in (0, 1, 100):
        yield f"gelu{size}", lambda s=size: gelu(s)
    yield "scalar", scalar
    for shape in [(2, 70, 33), (1, 1, 1), (3, 64, 65), (2, 0, 3)]:
        yield f"transposed{shape}", lambda s=shape: transposed(*s)
        yield f"swapped{shape}", lambda s=shape: swapped(*s)
    for shape in [(70, 65), (1, 3), (130, 2), (0, 2)]:
        yield f"matrix{shape}", lambda s=shape: transposed_matrix(*s)
    for shape in [(3, 5, 20), (1, 0, 3), (0, 1, 1)]:
        yield f"pad_concat{shape}", lambda s=shape: pad_concat_cast(*s)
    for shape in [(5, 40), (1, 1)]:
        yield f"dropout{shape}", lambda s=shape: dropout(*s)
    for size, fails in [(40, False), (40, True), (0, False), (1, True)]:
        yield f"take{size}-{fails}", lambda s=size, f=fails: check_index(s, f)


def over_layouts(make, shapes, layouts):
    for shape in shapes:
        for p, r in layouts:
            yield f"{make.__name__}{shape}{p}{r}", lambda s=shape, p=p, r=r: make(s, p, r)


def more_reduced_cases():
    for make in (total, softmax, softmax_half, layer_norm, argmax, mean_of_positive):
        yield from over_layouts(make, SHAPES_2D, LAYOUTS_2D)
        yield from over_layouts(make, SHAPES_3D, LAYOUTS_3D)


def reduced_cases():
    yield from over_layouts(total, SHAPES_2D, LAYOUTS_2D)
    yield from over_layouts(total, SHAPES_3D[:1], LAYOUTS_3D)
    for make in (softmax, layer_norm):
        yield from over_layouts(make, [(3, 19), (1, 5), (4, 0)], LAYOUTS_2D)
        yield from over_layouts(make, [(2, 9, 3)], LAYOUTS_3D)
    for make in (softmax_half, argmax, mean_of_positive):
        yield from over_layouts(make, [(3, 19)], LAYOUTS_2D)
        yield from over_layouts(make, [(2, 1, 4)], LAYOUTS_3D[:2])
    for shape in [(4, 13), (13, 4), (1, 1), (0, 3), (3, 0)]:
        for p_axes, r_axes in [((0,), (1,)), ((1,), (0,))]:
            for make in (cumulative, running_argmax, lambda s, p, r: cumulative(s, p, r, True)):
                name = getattr(make, "__name__", "").replace("<lambda>", "exclusive")
                yield f"{name}{shape}{p_axes}", lambda m=make, s=shape, p=p_axes, r=r_axes: m(s, p, r)
    yield "cumulative1d", lambda: cumulative((50,), (), (0,))
    yield "cumulative3d", lambda: cumulative((2, 20, 3), (0, 2), (1,))
    for shape in [(4, 33), (1, 1), (0, 3)]:
        yield f"pick{shape}", lambda s=shape: log_softmax_pick(*s)
    for shape in [(2, 7, 40), (1, 1, 1), (0, 4, 4)]:
        yield f"max_pool{shape}", lambda s=shape: max_pool(*s)
    for fails in (False, True):
        yield f"check{fails}", lambda f=fails: check_rows(3, 21, f)
    yield "wrap", lambda: u64_total(3, 21)


def schedules(case: Case) -> list[tuple[str, int]]:
    """Those that fit a case, with the tile axis."""
    nest = case.nest
    if not nest.n_reduced:
        return [(n.MAP, -1), *((n.TILE, k) for k in case.tiles)]
    fit = [n.ROW, n.SPLIT_ROW]
    if nest.n_parallel:
        fit += [n.COLUMN, n.STRIP, n.SPLIT_COLUMN]
    return [(s, -1) for s in fit]


def weighted_softmax(rows, columns):
    """An input of the output's type is read after the exponentials: they may not wait in the output."""
    x, w = random(rows, columns), random(rows, columns, seed=1)
    e = call("exp", sub(X(), M))
    nest = Nest(
        "weighted", (rows, columns), 1, buffers(("x", F32), ("w", F32)), (Access("x", (columns, 1)),) * 3,
        (ReduceStage((M,), MAX, (X(),)), ReduceStage((S,), SUM, (e,)),
         StoreStage("out", position(2), mul(div(e, S), X(1, "w")), True)),
    )  # fmt: skip
    return Case(nest, [x, w, (scipy.special.softmax(x.astype(np.float64), 1) * w).astype(np.float32)])


def swap(size):
    """Two outputs that may each be the memory of the other's input."""
    x, y = random(size), random(size, seed=1)
    nest = Nest("swap", (size,), 1, buffers(("x", F32), ("y", F32), out=(("out", F32), ("more", F32))),
                (Access("x", (1,)),), (StoreStage("out", position(0), X(0, "y"), True),
                                       StoreStage("more", position(0), X(), True)))  # fmt: skip
    return Case(nest, [x, y, y, x])
