"""The LLVM renderer against NumPy, on all targets that this machine runs; the text of the others is assembled."""

from __future__ import annotations

import ctypes
import itertools
import re
from dataclasses import replace

import ml_dtypes
import numpy as np
import pytest
from llvm_host import AVX2, AVX512, HOST, NEON, RUNNABLE, Program, assemble
from loop_kernels import (
    P,
    Q,
    R,
    broadcast_add,
    cumulative,
    elementwise,
    gather,
    gelu,
    layer_norm,
    reduction,
    row,
    softmax,
    transpose,
)  # fmt: skip

from tests.support.fences import fenced
from umiak.compiler.loop import node as n
from umiak.compiler.loop.evaluate import DTYPES, evaluate
from umiak.compiler.loop.functions.narrow import ROUND_BF16, convert
from umiak.compiler.loop.monoid import (
    ALL,
    ANY,
    ARGMAX,
    ARGMIN,
    MAX,
    MIN,
    ONLINE_SOFTMAX,
    PROD,
    SUM,
    WELFORD,
    Monoid,
)  # fmt: skip
from umiak.compiler.loop.node import add, axis, call, const, dim, i64, load, lt, mul, select, sub, var, word
from umiak.compiler.loop.tree import (
    BLOCK,
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
from umiak.compiler.loop.types import (
    BF16,
    BOOL,
    F8E4M3FN,
    F8E5M2,
    F16,
    F32,
    F64,
    I8,
    I16,
    I32,
    I64,
    TYPES,
    U8,
    U16,
    U32,
    U64,
    ScalarType,
)  # fmt: skip
from umiak.compiler.render.llvm import render_module
from umiak.compiler.render.plan import LONG, Survey

FLOATS, INTEGERS = (F32, F64), (I8, I16, I32, I64, U8, U16, U32, U64)
SIZES = (0, 1, 3, 15, 16, 17, 33, 64, 65, 127, 131, 500)
targets = pytest.mark.parametrize("target", RUNNABLE, ids=lambda t: f"{t.cpu}-{t.vector_bits}")


def data(rng: np.random.Generator, t: ScalarType, *shape: int) -> np.ndarray:
    """Numbers of a type that add up well."""
    dtype = DTYPES[t.name]
    if t is BOOL:
        return fenced(rng.random(shape) < 0.5)
    if t.is_integer:
        return fenced(rng.integers(0 if t.kind == "u" else -50, 50, shape).astype(dtype))
    return fenced(rng.standard_normal(shape).astype(dtype))


def empty(t: ScalarType, *shape: int) -> np.ndarray:
    return fenced(np.full(shape, 77, DTYPES[t.name]))


def cuts(size: int, *at: int) -> list[tuple[int, int]]:
    points = [0, *sorted(p for p in at if 0 < p < size), size]
    return list(zip(points, points[1:]))


def same(got: np.ndarray, expected: np.ndarray) -> None:
    """Bit for bit, but for the payloads of NaN and the signs of zeros."""
    assert got.dtype == expected.dtype
    if got.dtype.kind == "V" or got.dtype.itemsize < 4:
        got, expected = got.astype(np.float64), expected.astype(np.float64)
    np.testing.assert_array_equal(got, expected)


# --- operations


def special(t: ScalarType, rng: np.random.Generator) -> np.ndarray:
    if t is BOOL:
        return np.array([False, True])
    if t.is_integer:
        info = np.iinfo(DTYPES[t.name])
        few = [0, 1, 2, 3, 7, 31, 33, info.max, info.min, info.max - 1, info.min + 1, info.max // 3]
        return np.array([*few, *rng.integers(info.min, info.max, 6, DTYPES[t.name], endpoint=True)], DTYPES[t.name])
    info = np.finfo(DTYPES[t.name])
    tiny, least = float(info.tiny), float(info.smallest_subnormal)
    few = [
        0.0,
        -0.0,
        1,
        -1,
        0.5,
        1.5,
        2.5,
        -2.5,
        3,
        1e10,
        np.inf,
        -np.inf,
        np.nan,
        tiny,
        least,
        -7 * least,
        float(info.max),
    ]
    return np.array([*few, *(rng.standard_normal(6) * 10.0 ** rng.integers(-30, 30, 6))], DTYPES[t.name])


def operations(t: ScalarType) -> dict[str, n.Node]:
    a, b = load("a", t, P), load("b", t, P)
    if t is BOOL:
        two, one = ("and", "or", "xor", "eq", "ne", "lt", "le", "min", "max"), ("not",)
    elif t.is_integer:
        two = (
            "add",
            "sub",
            "mul",
            "div",
            "rem",
            "min",
            "max",
            "and",
            "or",
            "xor",
            "shl",
            "shr",
            "eq",
            "ne",
            "lt",
            "le",
        )
        two, one = (*two, "mulhi") if t in (U32, U64) else two, ("neg", "abs", "not")
    else:
        two = ("add", "sub", "mul", "div", "rem", "min", "max", "copysign", "eq", "ne", "lt", "le")
        one = ("neg", "abs", "floor", "ceil", "trunc", "rint", "sqrt")
    found = {op: call(op, a, b) for op in two} | {op: call(op, a) for op in one}
    found["select"] = select(lt(a, b), a, b)
    if t.is_integer:
        found |= {f"div {d}": n.div(a, const(d, t)) for d in (0, -1, 3)} | {
            f"shl {d}": call("shl", a, const(d, t)) for d in (3, 70)
        }
    if t.is_float:
        found["fma"] = n.fma(a, b, a)
        found["denormal"] = call("denormal", a)
    return found


def run_each(found: dict[str, n.Node], inputs: dict[str, tuple[ScalarType, np.ndarray]], target, kind: str) -> None:
    """Each expression of loads at P against its meaning, all in one kernel."""
    size = len(next(iter(inputs.values()))[1])
    outs = [f"o{k}" for k in range(len(found))]
    buffers = [Buffer(name, t, IN) for name, (t, _) in inputs.items()]
    buffers += [Buffer(o, x.type, OUT) for o, x in zip(outs, found.values())]
    body = tuple(Store(o, P, x) for o, x in zip(outs, found.values()))
    kernel = Kernel("k", tuple(buffers), 0, (Loop(Axis(P, i64(0), kind=kind), body, True),))
    arrays = {name: fenced(x) for name, (_, x) in inputs.items()}
    arrays |= {o: empty(x.type, size) for o, x in zip(outs, found.values())}
    Program(kernel, target).run(arrays, cuts=[(0, size)])
    with np.errstate(all="ignore"):
        expected = evaluate(list(found.values()), {P: np.arange(size)}, load=lambda x, index: inputs[x.attr][1][index])
    for name, o, e in zip(found, outs, expected):
        try:
            same(arrays[o], np.broadcast_to(e, size))
        except AssertionError as error:
            raise AssertionError(f"{name} {kind}: {error}") from None


@targets
@pytest.mark.parametrize("t", [BOOL, *INTEGERS, *FLOATS], ids=repr)
def test_operations(t, target, rng):
    values = special(t, rng)
    a, b = (x.ravel() for x in np.meshgrid(values, values))
    for kind in (LANE, SERIAL):
        run_each(operations(t), {"a": (t, a), "b": (t, b)}, target, kind)


@targets
@pytest.mark.parametrize("t", FLOATS, ids=repr)
def test_ldexp(t, target, rng):
    values = special(t, rng)
    far = [
        -4200.0,
        -2200,
        -1100,
        -1075,
        -1022,
        -300,
        -277,
        -150,
        -149,
        -127,
        -126,
        -1,
        0,
        1,
        24,
        127,
        128,
        277,
        1023,
        2200,
        4200,
    ]
    a, b = (x.ravel().astype(values.dtype) for x in np.meshgrid(values, far))
    with np.errstate(all="ignore"):
        expected = np.ldexp(a, b.astype(int))
    kernel = elementwise("k", lambda x, y: call("ldexp", x, y), [t, t], t)
    for k in (kernel, elementwise("k", lambda x, y: call("ldexp", x, y), [t, t], t, kind=SERIAL)):
        out = empty(t, len(a))
        Program(k, target).run({"x0": a, "x1": b, "out": out}, cuts=[(0, len(a))])
        same(out, expected)


CAST_RANGE = {
    **{t: min(float(ml_dtypes.finfo(DTYPES[t.name]).max), 60000) for t in TYPES.values() if t.is_storage},
    BOOL: 1, I8: 127, U8: 255,
}  # fmt: skip


@targets
@pytest.mark.parametrize("source", TYPES.values(), ids=repr)
def test_casts(source, target, rng):
    found, inputs = {}, {}
    for k, t in enumerate(TYPES.values()):
        most = (
            min(CAST_RANGE.get(t, 30000), CAST_RANGE.get(source, 30000))
            if source.is_float and t.is_integer
            else CAST_RANGE.get(source, 30000)
        )
        low = 0 if "u" in (t.kind, source.kind) or source is BOOL else -most - (source.is_integer)
        values = rng.uniform(low, most, 70)
        if source.is_float and t.is_float:
            values[:4] = np.inf, -np.inf, np.nan, -0.0
            values[4:30] *= 10.0 ** rng.integers(-9, 0, 26)
        with np.errstate(all="ignore"):
            inputs[f"x{k}"] = (source, values.astype(DTYPES[source.name]) if source is not BOOL else values < 0.5)
        x = n.cast(load(f"x{k}", source, P), t)
        found[f"{source} -> {t}"] = x
    for kind in (LANE, SERIAL):
        run_each(found, inputs, target, kind)


@targets
def test_bitcasts_and_words(target, rng):
    x = {"a": (F32, rng.standard_normal(40).astype("f")), "b": (F64, rng.standard_normal(40))}
    found = {
        "f32": n.bitcast(load("a", F32, P), U32), "f64": n.bitcast(load("b", F64, P), I64),
        "back": n.bitcast(add(n.bitcast(load("a", F32, P), I32), 1), F32),
    }  # fmt: skip
    run_each(found, x, target, LANE)
    kernel = elementwise("k", lambda a: mul(add(a, n.cast(word(0), F32)), n.cast(word(1, I64), F32)), [F32])
    out = empty(F32, 40)
    Program(kernel, target).run({"x0": x["a"][1], "out": out}, (), (1.5, -3), [(0, 40)])
    same(out, (x["a"][1] + np.float32(1.5)) * np.float32(-3))


# --- loops over elements


@targets
@pytest.mark.parametrize("t", [U8, BOOL, BF16, F32, F64], ids=repr)
def test_sizes_and_cuts(t, target, rng):
    """Any cut gives the same, and nothing else is read or written."""
    f = (
        (lambda a, b: call("xor", a, b))
        if t is BOOL
        else (lambda a, b: select(lt(Q, -1), a, b))
        if t.is_storage
        else add
    )
    if t is BF16:
        f = lambda a, b: n.cast(add(n.cast(a, F32), n.cast(b, F32)), BF16)  # noqa: E731
    p = Program(elementwise("k", f, [t, t], t), target)
    for size in SIZES:
        x, y = data(rng, t, size), data(rng, t, size)
        outs = []
        for parts in (cuts(size), cuts(size, 1, size // 2, size - 1)):
            out = empty(t, size + 1)
            p.run({"x0": x, "x1": y, "out": out}, cuts=parts)
            assert out[size] == DTYPES[t.name].type(77)
            outs.append(out[:size])
        same(outs[0], x ^ y if t is BOOL else (x + y).astype(x.dtype))
        same(outs[1], outs[0])


@targets
def test_streaming_stores_of_any_alignment(target, rng):
    p = Program(elementwise("k", add, [F32, F32], streaming=True), target)
    x, area = data(rng, F32, 400), np.zeros(500, "f")
    for shift in (0, 1, 4, 16):
        start = -area.ctypes.data % 64 // 4 + shift
        out = area[start : start + 400]
        out[:] = 0
        p.run({"x0": x, "x1": x, "out": out}, cuts=cuts(400, 130))
        same(out, x + x)
        assert area[start + 400] == 0


@targets
@pytest.mark.parametrize("t", [U8, I16, F32, I64], ids=repr)
def test_strides(t, target, rng):
    """Loads and stores at known and unknown strides, backwards, gathered and scattered."""
    size = 77
    x, index = data(rng, t, 4 * size), fenced(rng.permutation(size))
    at = load("index", I64, P)
    value = {
        "twice": (load("x", t, mul(P, 2)), x[::2][:size]),
        "any": (load("x", t, add(mul(dim(0), P), dim(1))), x[5::3][:size]),
        "back": (load("x", t, sub(dim(2), P)), x[:size][::-1]),
        "gathered": (load("x", t, mul(at, 4)), x[4 * index]),
        "far": (load("x", t, n.rem(mul(P, 5), i64(7))), x[np.arange(size) * 5 % 7]),
    }  # fmt: skip
    place = {"unit": P, "any": add(mul(P, dim(0)), 1), "back": sub(dim(2), P), "scattered": at}
    where = {"unit": np.arange(size), "any": 3 * np.arange(size) + 1, "back": np.arange(size)[::-1], "scattered": index}
    pairs = [*zip(value, itertools.repeat("unit")), *zip(itertools.repeat("any"), place)]
    names = [f"o{k}" for k in range(len(pairs))]
    body = [Store(o, place[p], value[v][0]) for o, (v, p) in zip(names, pairs)]
    buffers = (Buffer("x", t, IN), Buffer("index", I64, IN), *(Buffer(o, t, OUT) for o in names))
    kernel = Kernel("k", buffers, 3, (Loop(Axis(P, i64(0), kind=LANE), tuple(body), True),))
    arrays = {"x": x, "index": index} | {o: empty(t, int(where[p].max()) + 1) for o, (_, p) in zip(names, pairs)}
    Program(kernel, target).run(arrays, (3, 5, size - 1), (), cuts(size, 10))
    for o, (v, p) in zip(names, pairs):
        expected = np.full_like(arrays[o], 77)
        expected[where[p]] = value[v][1]
        same(arrays[o], expected)


@targets
@pytest.mark.parametrize("t", [I16, F32, F64], ids=repr)
def test_every_other_element(t, target, rng):
    """Of pairs side by side: read and written alone or both, up to the last one, in all lanes or some."""
    at = mul(P, 2)
    a, b, c, d = (load(x, t, add(at, k)) for x in "xy" for k in (0, 1))
    some = lt(n.rem(P, i64(3)), i64(2))
    body = (
        Store("o", at, sub(mul(a, c), mul(b, d))),
        Store("o", add(at, 1), add(mul(a, d), mul(b, c))),
        Store("p", P, load("z", t, at)),
        Store("q", at, a, some),
        Store("q", add(at, 1), b, some),
        Store("r", P, load("z", t, at, some, const(5, t))),
        Store("s", add(at, 1), b),
    )
    buffers = [*(Buffer(x, t, IN) for x in "xyz"), *(Buffer(x, t, OUT) for x in "opqrs")]
    kernel = Kernel("k", tuple(buffers), 0, (Loop(Axis(P, i64(0), kind=LANE), body, True),))
    program = Program(kernel, target)
    for size in SIZES[1:]:
        x, y, z = data(rng, t, 2 * size), data(rng, t, 2 * size), data(rng, t, 2 * size - 1)
        outs = {o: empty(t, size if o in "pr" else 2 * size) for o in "opqrs"}
        program.run({"x": x, "y": y, "z": z} | outs, (), (), cuts(size, 1, size // 2))
        (a_, b_), (c_, d_) = ((v[::2], v[1::2]) for v in (x, y))
        held = np.arange(size) % 3 < 2
        twice = np.repeat(held, 2)
        same(outs["o"], np.stack([a_ * c_ - b_ * d_, a_ * d_ + b_ * c_], 1).ravel())
        same(outs["p"], z[::2])
        same(outs["q"], np.where(twice, x, x.dtype.type(77)))
        same(outs["r"], np.where(held, z[::2], x.dtype.type(5)))
        same(outs["s"], np.where(np.arange(2 * size) % 2, x, x.dtype.type(77)))


@targets
@pytest.mark.parametrize("t", [U8, BF16, F32, F64], ids=repr)
def test_pad_and_concat(t, target, rng):
    """Predicates on positions and on data; what they leave out is not read."""
    size, before = 70, 9
    x, y = data(rng, t, 40), data(rng, t, size - 40)
    keep = fenced(rng.random(size) < 0.5)
    inside = n.conjunction(n.le(before, P), lt(P, dim(0)))
    pad = load("x", t, sub(P, before), inside, const(3, t))
    first = lt(P, 40)
    concat = select(first, load("x", t, P, first), load("y", t, sub(P, 40), call("not", first)))
    masked = load("x", t, n.rem(P, i64(40)), load("keep", BOOL, P), const(1, t))
    flat = load("x", t, i64(39), load("keep", BOOL, P), const(2, t))
    none = load("x", t, mul(P, 1 << 40), n.conjunction(load("keep", BOOL, P), lt(P, 0)), const(4, t))
    values = {"pad": pad, "concat": concat, "masked": masked, "flat": flat, "none": none}
    body = (
        *(Store(k, P, v) for k, v in values.items()),
        Store("some", P, load("x", t, n.rem(P, i64(40))), load("keep", BOOL, P)),
    )
    buffers = [Buffer("x", t, IN), Buffer("y", t, IN), Buffer("keep", BOOL, IN)]
    buffers += [Buffer(o, t, OUT) for o in (*values, "some")]
    kernel = Kernel("k", tuple(buffers), 1, (Loop(Axis(P, i64(0), kind=LANE), body, True),))
    outs = {o: empty(t, size) for o in (*values, "some")}
    Program(kernel, target).run({"x": x, "y": y, "keep": keep} | outs, (before + 40,), (), cuts(size, 21))
    one = DTYPES[t.name].type
    wrapped = x[np.arange(size) % 40]
    same(outs["pad"], np.concatenate([np.full(before, 3, one), x, np.full(size - before - 40, 3, one)]))
    same(outs["concat"], np.concatenate([x, y]))
    same(outs["masked"], np.where(keep, wrapped, one(1)))
    same(outs["flat"], np.where(keep, x[39], one(2)))
    same(outs["none"], np.full(size, 4, one))
    same(outs["some"], np.where(keep, wrapped, one(77)))


@targets
def test_mixed_types_and_positions(target, rng):
    size = 200
    x, k, b = data(rng, F32, size), data(rng, I64, size), data(rng, BOOL, size)
    f = select(load("b", BOOL, P), n.cast(load("k", I64, P), F32), load("x", F32, P))
    stores = [
        Store("o", P, f), Store("p", P, n.cast(f, F64)), Store("q", P, lt(f, 0.0)),
        Store("r", P, add(mul(P, 3), dim(0))),
        Store("s", P, n.eq(P, dim(0))), Store("u", P, n.ne(P, 3)), Store("v", P, n.le(dim(0), P)),
        Store("w", P, lt(sub(5, P), -60)),
    ]  # fmt: skip
    kinds = {"o": F32, "p": F64, "q": BOOL, "r": I64, "s": BOOL, "u": BOOL, "v": BOOL, "w": BOOL}
    buffers = [
        Buffer("x", F32, IN),
        Buffer("k", I64, IN),
        Buffer("b", BOOL, IN),
        *(Buffer(o, t, OUT) for o, t in kinds.items()),
    ]
    kernel = Kernel("k", tuple(buffers), 1, (Loop(Axis(P, i64(0), kind=LANE), tuple(stores), True),))
    outs = {o: empty(t, size) for o, t in kinds.items()}
    Program(kernel, target).run({"x": x, "k": k, "b": b} | outs, (41,), (), cuts(size, 3))
    i = np.arange(size)
    f = np.where(b, k.astype("f"), x)
    expected = (f, f.astype("d"), f < 0, 3 * i + 41, i == 41, i != 3, i >= 41, 5 - i < -60)
    for o, e in zip(outs.values(), expected):
        same(o, e)


# --- reductions

MONOID_CASES = {
    "sum": (SUM, (F32, F64, I32, I64), lambda x, i: (x,)),
    "prod": (PROD, (F32, I32), lambda x, i: (x,)),
    "max": (MAX, (F32, F64, I8, U8, I64), lambda x, i: (x,)),
    "min": (MIN, (F32, I16, U32), lambda x, i: (x,)),
    "any": (ANY, (BOOL, I32), lambda x, i: (x,)),
    "all": (ALL, (BOOL, U8), lambda x, i: (x,)),
    "argmax": (ARGMAX, (F32, I8, F64), lambda x, i: (x, i)),
    "argmin": (ARGMIN, (F32, I64), lambda x, i: (x, i)),
    "welford": (WELFORD, (F32, F64), lambda x, i: (const(1.0, x.type), x, const(0.0, x.type))),
    "online_softmax": (ONLINE_SOFTMAX, (F32,), lambda x, i: (x, const(1.0, x.type))),
    "sum2": (Monoid("sum2", 2, lambda ts: tuple(const(0, t) for t in ts), lambda a, b: tuple(map(add, a, b))), (F32,),
             lambda x, i: (x, mul(x, x))),
}  # fmt: skip


def reduced(name: str, x: np.ndarray, ax: int) -> tuple[np.ndarray, ...]:
    size = x.shape[ax]
    if name == "sum":
        return (x.sum(ax, dtype=x.dtype),)
    if name == "prod":
        return (x.prod(ax, dtype=x.dtype),)
    if name in ("max", "min"):
        limit = np.iinfo(x.dtype) if x.dtype.kind in "iu" else None
        least = (limit.min if name == "max" else limit.max) if limit else (-np.inf if name == "max" else np.inf)
        return (getattr(np, name)(x, ax, initial=least),)
    if name in ("any", "all"):
        f = np.bitwise_or if name == "any" else np.bitwise_and
        return (f.reduce(x, ax),) if size else (np.full(x.sum(ax).shape, 0 if name == "any" else -1).astype(x.dtype),)
    if name in ("argmax", "argmin"):
        far = np.iinfo(np.int64).max
        value = reduced(name[3:], x, ax)[0]
        at = getattr(np, name)(x, ax) if size else np.full(value.shape, far)
        return value, at.astype(np.int64)
    if name == "welford":
        count = np.full(x.sum(ax).shape, size, x.dtype)
        with np.errstate(all="ignore"):
            mean = x.mean(ax) if size else count * 0
        return count, mean.astype(x.dtype), ((x - np.expand_dims(mean, ax)) ** 2).sum(ax).astype(x.dtype)
    if name == "sum2":
        return x.sum(ax), (x * x).sum(ax)
    top = x.max(ax, initial=-np.inf)
    return top, np.exp(x - np.expand_dims(top, ax)).sum(ax).astype(x.dtype)


def close(got: np.ndarray, expected: np.ndarray) -> None:
    if got.dtype.kind != "f":
        same(got, expected)
        return
    close_to = 2e-5 if got.dtype.itemsize == 4 else 1e-12
    np.testing.assert_allclose(got, expected, rtol=close_to, atol=close_to * 20)


@targets
@pytest.mark.parametrize("name", MONOID_CASES)
def test_reductions(name, target, rng):
    monoid, types, values = MONOID_CASES[name]
    for t, columns in itertools.product(types, (False, True)):
        p = Program(reduction("k", monoid, values, [t], columns), target)
        for r, c in ((3, 0), (2, 1), (5, 15), (4, 16), (3, 17), (2, 64), (3, 77), (2, 530)):
            x = data(rng, t, *((c, r) if columns else (r, c)))
            if name == "any":
                x[...] = x & (rng.random(x.shape) < 0.02).astype(x.dtype)
            if name == "prod":
                x[...] = rng.integers(1, 3, x.shape) if t.is_integer else 1 + x / 50
            expected = reduced(name, x, 0 if columns else 1)
            outs = {f"out{k}": fenced(np.zeros(e.shape, e.dtype)) for k, e in enumerate(expected)}
            p.run({"x": x} | outs, x.shape, (), cuts(r, 1, r // 2))
            for o, e in zip(outs.values(), expected):
                close(o, e)


@targets
@pytest.mark.parametrize("columns", [False, True])
def test_columns_of_any_number(columns, target, rng):
    """Sums of the other axis, too: many results, few elements."""
    p = Program(reduction("k", SUM, lambda x, i: (x,), [F32], columns), target)
    for size in SIZES:
        x, out = data(rng, F32, *((5, size) if columns else (size, 5))), empty(F32, size)
        whole = empty(F32, size)
        p.run({"x": x, "out0": out}, x.shape, (), cuts(size, 1, 20, 100))
        p.run({"x": x, "out0": whole}, x.shape, (), cuts(size))
        close(out, x.sum(0 if columns else 1))
        same(out, whole)


@targets
def test_nan_and_ties(target):
    x = np.zeros((4, 200), "f")
    x[0, 90], x[1, 50], x[1, 150], x[2, 7], x[2, 199], x[3] = np.nan, 5, 5, np.nan, np.nan, -np.inf
    for columns in (False, True):
        y = np.ascontiguousarray(x.T) if columns else x
        top, at = np.zeros(4, "f"), np.zeros(4, "q")
        Program(reduction("k", ARGMAX, lambda x, i: (x, i), [F32], columns), target).run(
            {"x": y, "out0": top, "out1": at}, y.shape, (), [(0, 4)]
        )
        same(at, np.array([90, 50, 7, 0]))
        same(top, np.array([np.nan, 5, np.nan, -np.inf], "f"))
        Program(reduction("k", MAX, lambda x, i: (x,), [F32], columns), target).run(
            {"x": y, "out0": top}, y.shape, (), [(0, 4)]
        )
        same(top, np.array([np.nan, 5, np.nan, -np.inf], "f"))
    total = np.ones(1, "f")
    Program(reduction("k", SUM, lambda x, i: (x,), [F32]), target).run(
        {"x": -0.0 * x[:1, :40], "out0": total}, (1, 40), (), [(0, 1)]
    )
    assert total[0] == 0


@targets
@pytest.mark.parametrize("columns", [False, True])
def test_where_and_init(columns, target, rng):
    """What `where` leaves out is not even read."""
    kernel = reduction("k", SUM, lambda x, i: (x,), [F32], columns, lambda x, i: lt(x, 0.5), (n.cast(dim(2), F32),))
    kernel = Kernel(kernel.name, kernel.buffers, 3, kernel.body)
    x = data(rng, F32, 70, 70)
    out = empty(F32, 70)
    Program(kernel, target).run({"x": x, "out0": out}, (70, 70, 10), (), cuts(70, 33))
    close(out, 10 + np.where(x < 0.5, x, 0).sum(0 if columns else 1, dtype="f"))
    kernel = reduction("k", SUM, lambda x, i: (x,), [F32], columns, lambda x, i: lt(i, dim(2)))
    kernel = Kernel(kernel.name, kernel.buffers, 3, kernel.body)
    x = data(rng, F32, *((20, 70) if columns else (1, 20)))
    out = empty(F32, 70 if columns else 1)
    Program(kernel, target).run({"x": x, "out0": out}, (50 if columns else 1, 70, 20), (), cuts(len(out)))
    close(out, x.sum(0 if columns else 1))


@targets
@pytest.mark.parametrize("kind", [LANE, SERIAL])
def test_several_axes(kind, target, rng):
    """out[i] = sum over j, k of x[j, i, k], with accumulators that all rows share; bounds that depend on outer axes."""
    r = var("r", F32)
    x = load("x", F32, add(mul(add(mul(Q, dim(0)), P), dim(2)), R))
    for lo in (i64(0), Q):
        axes = (Axis(Q, dim(1)), Axis(R, dim(2), lo, kind))
        body = (Reduce((r,), SUM, axes, (x,)), Store("out", P, r))
        kernel = Kernel("k", (Buffer("x", F32, IN), Buffer("out", F32, OUT)), 3, (Loop(Axis(P, dim(0)), body, True),))
        p = Program(kernel, target)
        for a, b, c in ((3, 2, 5), (2, 3, 16), (2, 4, 150), (2, 0, 4), (3, 4, 0)):
            y, out = data(rng, F32, b, a, c), empty(F32, a)
            p.run({"x": y, "out": out}, (a, b, c), (), cuts(a, 1))
            keep = (
                np.ones_like(y) if lo.op == "const" else (np.arange(c) >= np.arange(b)[:, None, None]) * np.ones_like(y)
            )
            close(out, (y * keep).sum((0, 2)))


@targets
def test_whole_reduction_without_a_parallel_loop(target, rng):
    r = var("r", F32)
    body = (Reduce((r,), SUM, (Axis(P, dim(0), kind=LANE),), (load("x", F32, P),)), Store("out", i64(0), r))
    p = Program(Kernel("k", (Buffer("x", F32, IN), Buffer("out", F32, OUT)), 1, body), target)
    for size in SIZES:
        x, out = data(rng, F32, size), np.full(1, 5, "f")
        p.run({"x": x, "out": out}, (size,), (), [(1, 2)])
        assert out[0] == 5
        p.run({"x": x, "out": out}, (size,), (), [(0, 1)])
        close(out, x.sum()[None])


@targets
def test_reduction_of_no_axes(target, rng):
    """One combination, per lane, of what a buffer holds: its old contents."""
    value, at = var("value", F32), var("at", I64)
    first = (load("best", F32, P), load("where", I64, P))
    body = (
        Reduce((value, at), ARGMAX, (), (load("x", F32, P), dim(0)), first),
        Store("best", P, value),
        Store("where", P, at),
    )
    buffers = (Buffer("x", F32, IN), Buffer("best", F32, OUT), Buffer("where", I64, OUT))
    p = Program(Kernel("k", buffers, 1, (Loop(Axis(P, i64(0), kind=LANE), body, True),)), target)
    x, best, where = data(rng, F32, 3, 90), np.full(90, -np.inf, "f"), np.full(90, 99)
    for k in range(3):
        p.run({"x": x[k], "best": best, "where": where}, (k,), (), cuts(90, 40))
    same(best, x.max(0))
    same(where, x.argmax(0))


@targets
def test_softmax_and_layer_norm(target, rng):
    soft, norm = Program(softmax(), target), Program(layer_norm(), target)
    for r, c in ((1, 1), (3, 17), (5, 64), (2, 300)):
        x, w, b = data(rng, F32, r, c), data(rng, F32, c), data(rng, F32, c)
        out, mean, scale = empty(F32, r, c), empty(F32, r), empty(F32, r)
        soft.run({"x": x, "out": out}, (r, c), (), cuts(r, 1))
        e = np.exp(x - x.max(1, keepdims=True))
        close(out, e / e.sum(1, keepdims=True))
        norm.run({"x": x, "w": w, "b": b, "out": out, "mean": mean, "scale": scale}, (r, c), (), cuts(r, 1))
        s = 1 / np.sqrt(x.var(1, keepdims=True) + 1e-5)
        np.testing.assert_allclose(out, (x - x.mean(1, keepdims=True)) * s * w + b, rtol=1e-4, atol=1e-4)
        close(mean, x.mean(1))
    x = np.zeros((2, 20), "f")
    x[1, 3] = np.nan
    soft.run({"x": x, "out": x}, (2, 20), (), [(0, 2)])  # in place
    close(x[0], np.full(20, 0.05, "f"))
    assert np.isnan(x[1]).all()


@targets
def test_gelu_and_others(target, rng):
    x = data(rng, F32, 100)
    out = empty(F32, 100)
    Program(elementwise("k", gelu, [F32]), target).run({"x0": x, "out": out}, cuts=cuts(100, 7))
    np.testing.assert_allclose(out, 0.5 * x * (1 + np.tanh(0.7978845608 * (x + 0.044715 * x**3))), rtol=1e-5, atol=1e-6)
    y, index = data(rng, F32, 30, 70), fenced(rng.integers(0, 30, 11))
    out = empty(F32, 11, 70)
    Program(gather(streaming=True), target).run({"x": y, "index": index, "out": out}, (11, 70), (), cuts(11, 4))
    same(out, y[index])
    a, b, out = data(rng, F32, 4, 1, 50), data(rng, F32, 1, 6, 50), empty(F32, 4, 6, 50)
    Program(broadcast_add(), target).run({"x": a, "y": b, "out": out}, (4, 6, 50, 50, 0, 0, 50), (), cuts(4, 1))
    same(out, a + b)


# --- scans


@targets
@pytest.mark.parametrize("exclusive", [False, True])
@pytest.mark.parametrize("way", ["lanes", "serial", "columns"])
def test_scans(way, exclusive, target, rng):
    for monoid, t, f in ((SUM, F32, np.add), (MAX, I32, np.maximum), (PROD, F64, np.multiply), (SUM, U8, np.add)):
        p = Program(cumulative(monoid, t, way == "lanes", exclusive, way == "columns"), target)
        for r, c in ((2, 0), (3, 1), (2, 16), (3, 17), (2, 75), (2, 300)):
            x = data(rng, t, *((c, r) if way == "columns" else (r, c)))
            ax = 0 if way == "columns" else 1
            if monoid is PROD:
                x[...] = 1 + x / 50
            out = empty(t, *x.shape)
            p.run({"x": x, "out": out}, x.shape, (), cuts(r, 1))
            expected = f.accumulate(x, ax, dtype=x.dtype)
            if exclusive:
                first = evaluate([monoid.identity((t,))[0]], {})[0]
                one = np.broadcast_to(first, (1, r) if ax == 0 else (r, 1))
                expected = np.concatenate([one, np.delete(expected, -1, ax) if c else expected], ax)[
                    : x.shape[0], : x.shape[1]
                ]
            close(out, expected.astype(x.dtype))


@targets
def test_scan_of_pairs(target, rng):
    """Running maximum with its position, from an init; the body sees both, and stores under a condition."""
    top, at = var("top", F32), var("at", I64)
    x = load("x", F32, row())
    for kind in (LANE, SERIAL):
        stores = (Store("top", row(), top), Store("at", row(), at, lt(x, 0.0)))
        scan = Scan((top, at), ARGMAX, Axis(Q, dim(1), kind=kind), (x, Q), stores, (const(0.25, F32), i64(-1)))
        buffers = (Buffer("x", F32, IN), Buffer("top", F32, OUT), Buffer("at", I64, OUT))
        p = Program(Kernel("k", buffers, 2, (Loop(Axis(P, dim(0)), (scan,), True),)), target)
        y = data(rng, F32, 3, 61)
        got, where = empty(F32, 3, 61), empty(I64, 3, 61)
        p.run({"x": y, "top": got, "at": where}, (3, 61), (), cuts(3, 2))
        full = np.concatenate([np.full((3, 1), 0.25, "f"), y], 1)
        expected = np.maximum.accumulate(full, 1)[:, 1:]
        same(got, expected)
        index = np.array([[np.argmax(f[: k + 2]) - 1 for k in range(61)] for f in full])
        same(where, np.where(y < 0, index, 77))


# --- tiles


@targets
@pytest.mark.parametrize("t", [BOOL, U8, BF16, F32, F64], ids=repr)
@pytest.mark.parametrize("streaming", [False, True])
def test_transposes(t, streaming, target, rng):
    p = Program(transpose(t, streaming), target)
    for r, c in ((0, 5), (1, 1), (3, 40), (16, 16), (32, 64), (17, 67), (70, 130), (128, 64)):
        x, out = data(rng, t, c, r), empty(t, r, c)
        if streaming:
            area = np.zeros(r * c * t.bytes + 64, np.uint8)
            out = area[-area.ctypes.data % 64 :][: r * c * t.bytes].view(x.dtype).reshape(r, c)
        p.run({"x": x, "out": out}, (r, c), (), cuts(r, 5, 40))
        same(out, x.T)


@targets
def test_tiles_with_other_operands(target, rng):
    """Casts, several transposed loads, and loads along the lanes beside them; blocks of a larger loop."""
    r, c = 75, 140
    value = add(
        mul(n.cast(load("x", I16, add(mul(Q, dim(0)), P)), F32), load("y", F32, add(P, mul(dim(0), Q)))),
        load("z", F32, row()),
    )
    value = add(value, load("w", F32, P))
    block = axis("block")
    lanes = Loop(
        Axis(Q, n.minimum(add(block, 64), dim(1)), block, LANE),
        (Store("out", row(), n.cast(value, F64)), Store("also", row(), value)),
    )
    tiles = Loop(Axis(P, n.minimum(mul(add(R, 1), 32), dim(0)), mul(R, 32), TILE), (lanes,))
    body = Loop(Axis(R, n.div(add(dim(0), 31), i64(32))), (Loop(Axis(block, dim(1), step=64), (tiles,)),), True)
    names = {"x": I16, "y": F32, "z": F32, "w": F32}
    buffers = (*(Buffer(k, t, IN) for k, t in names.items()), Buffer("out", F64, OUT), Buffer("also", F32, OUT))
    x, y, z, w = data(rng, I16, c, r), data(rng, F32, c, r), data(rng, F32, r, c), data(rng, F32, r)
    out, also = empty(F64, r, c), empty(F32, r, c)
    Program(Kernel("k", buffers, 2, (body,)), target).run(
        {"x": x, "y": y, "z": z, "w": w, "out": out, "also": also}, (r, c), (), cuts(3, 1)
    )
    expected = x.T.astype("f") * y.T + z + w[:, None]
    same(also, expected)
    same(out, expected.astype("d"))


# --- the rest of the statements


@targets
def test_scatter_add_by_the_owner_of_rows(target, rng):
    """Each owner goes through all indices, in order, and takes those of its rows."""
    at = load("index", I64, Q)
    place, from_place = (add(mul(k, dim(2)), R) for k in (at, Q))
    total = add(load("out", F32, place), load("x", F32, from_place))
    lanes = Loop(Axis(R, dim(2), kind=LANE), (Store("out", place, total),))
    mine = n.conjunction(n.le(mul(P, 4), at), lt(at, mul(add(P, 1), 4)))
    zero = Loop(
        Axis(R, mul(n.minimum(mul(add(P, 1), 4), dim(0)), dim(2)), mul(mul(P, 4), dim(2)), LANE),
        (Store("out", R, const(0, F32)),),
    )
    body = Loop(Axis(P, n.div(add(dim(0), 3), i64(4))), (zero, Loop(Axis(Q, dim(1)), (If(mine, (lanes,)),))), True)
    kernel = Kernel("k", (Buffer("x", F32, IN), Buffer("index", I64, IN), Buffer("out", F32, OUT)), 3, (body,))
    x, index, out = data(rng, F32, 50, 37), fenced(rng.integers(0, 10, 50)), empty(F32, 10, 37)
    Program(kernel, target).run({"x": x, "index": index, "out": out}, (10, 50, 37), (), cuts(3, 1))
    expected = np.zeros((10, 37), "f")
    np.add.at(expected, index, x)
    same(out, expected)


@targets
def test_atomics_meet(target, rng):
    """Lanes with one index take turns."""
    size = 90
    at = load("index", I64, P)
    x = load("x", F32, P)
    body = (
        Atomic("add", "count", at, const(1, I32)),
        Atomic("max", "top", at, x, lt(x, 1.0)),
        Atomic("add", "own", P, const(2, I32)),
    )
    buffers = (
        Buffer("x", F32, IN),
        Buffer("index", I64, IN),
        Buffer("count", I32, OUT),
        Buffer("top", F32, OUT),
        Buffer("own", I32, OUT),
    )
    x, index = data(rng, F32, size), fenced(rng.integers(0, 7, size))
    count, top, own = np.zeros(7, "i"), np.full(7, -9, "f"), np.arange(size, dtype="i")
    for kernel_body in (body, body[2:]):
        kernel = Kernel("k", buffers, 0, (Loop(Axis(P, i64(0), kind=LANE), kernel_body, True),))
        Program(kernel, target).run(
            {"x": x, "index": index, "count": count, "top": top, "own": own}, (), (), cuts(size, 11)
        )
    same(count, np.bincount(index, minlength=7).astype("i"))
    same(top, np.array([x[(index == k) & (x < 1)].max(initial=-9) for k in range(7)], "f"))
    same(own, np.arange(size, dtype="i") + 4)


@targets
@pytest.mark.parametrize("kind", [LANE, SERIAL])
@pytest.mark.parametrize("far", [(), (0,), (40, 41, 99), range(100)], ids=["none", "one", "some", "all"])
def test_branches_around_what_is_seldom_needed(far, kind, target, rng):
    """Lanes that need it get it, the others keep theirs, whether it is shared with another select or not."""

    def f(x):
        costly = call("sqrt", mul(x, x))
        rare = n.rarely(lt(x, -100.0), add(costly, 1.0), mul(x, 2.0))
        return add(rare, n.rarely(lt(x, -100.0), sub(costly, 3.0), x))

    x = np.abs(data(rng, F32, 100)) % 50
    x[list(far)] -= 1000
    out = empty(F32, 100)
    Program(elementwise("k", f, [F32], kind=kind), target).run({"x0": x, "out": out}, cuts=cuts(100, 33))
    same(out, np.where(x < -100, -2 * x - 2, 3 * x).astype("f"))


@pytest.mark.parametrize("inside", [False, True])
def test_what_stands_behind_a_branch_alone_makes_a_loop_long(inside):
    """A long expression that is rounded to bf16 is there without the branch for denormals too."""

    def long(x):
        for _ in range(LONG):
            x = add(mul(x, x), 1.0)
        return x

    x = load("x", F32, P)
    value = n.rarely(lt(x, -100.0), long(x), x) if inside else convert(long(x), BF16, frozenset(("bf16", ROUND_BF16)))
    assert Survey(P, {"x": Buffer("x", F32, IN)}).add([value]).rare == inside


@targets
def test_rows_of_counted_axes(target, rng):
    """Quotients of the parallel index by sizes, from any first row on."""
    sizes = (3, 5, 2, 19)
    rows = n.dim(0)
    first, second = n.counted(P, dim(2)), n.counted(n.counted(P, dim(2)), dim(1))
    index = add(mul(sub(first, mul(second, dim(1))), 1000), add(mul(second, 100), sub(P, mul(first, dim(2)))))
    value = n.cast(add(mul(index, 100), Q), F32)
    at = add(mul(P, dim(3)), Q)
    loop = Loop(Axis(P, rows), (Loop(Axis(Q, dim(3), kind=LANE), (Store("out", at, value),)),), True)
    p = Program(Kernel("k", (Buffer("out", F32, OUT),), 4, (loop,)), target)
    a, b, c, d = np.indices(sizes)
    want = ((b * 1000 + a * 100 + c) * 100 + d).astype("f").ravel()
    count = int(np.prod(sizes[:3]))
    for parts in ([(0, count)], [(k, k + 1) for k in range(count)], [(0, 7), (7, 22), (22, count)]):
        out = empty(F32, want.size)
        p.run({"out": out}, (count, *sizes[1:]), (), parts)
        same(out, want)


@targets
@pytest.mark.parametrize("kind", [LANE, SERIAL])
def test_fail(kind, target, rng):
    """An index out of range is found before it is used."""
    at = load("index", I64, P)
    bad = call("or", lt(at, 0), n.le(dim(0), at))
    body = (Fail(7, bad), Store("out", P, load("x", F32, at)))
    kernel = Kernel("k", (Buffer("x", F32, IN), Buffer("index", I64, IN), Buffer("out", F32, OUT)), 1,
                    (Loop(Axis(P, i64(0), kind=kind), body, True),))  # fmt: skip
    p = Program(kernel, target)
    x, index, out = data(rng, F32, 20), fenced(rng.integers(0, 20, 150)), empty(F32, 150)
    arrays = {"x": x, "index": index, "out": out}
    assert p.run(arrays, (20,), (), [(0, 150)]) == 0
    same(out, x[index])
    for k in (0, 70, 149):
        kept, index[k] = index[k], 1 << 60
        assert p.run(arrays, (20,), (), [(0, 150)]) == 7
        assert p.run(arrays, (20,), (), [(k + 1, 150)]) == 0
        index[k] = kept


@targets
def test_scratch_and_phases(target, rng):
    """Local rows, one kernel's global buffer, blocks, steps, and what was stored is read anew."""
    half = var("half", F32)
    x = load("x", F32, row())
    lanes = Axis(Q, dim(1), kind=LANE)
    body = (
        Loop(lanes, (Store("line", Q, mul(x, 2.0)), Store("odd", Q, lt(x, 0.0)))),
        Barrier(),
        Loop(
            Axis(Q, dim(1), i64(1), step=2),
            (Store("line", Q, add(load("line", F32, Q), load("line", F32, sub(Q, 1)))),),
        ),
        Loop(
            Axis(R, dim(1), kind=BLOCK, step=16),
            (Store("all", add(mul(P, 2), n.rem(n.div(R, i64(16)), i64(2))), n.cast(R, F32)),),
        ),
        Reduce((half,), SUM, (lanes,), (select(load("odd", BOOL, Q), load("line", F32, Q), const(0.0, F32)),)),
        Store("out", P, add(half, load("all", F32, mul(P, 2)))),
        Store("out", P, add(load("out", F32, P), load("out", F32, P))),
    )
    buffers = (
        Buffer("x", F32, IN), Buffer("out", F32, OUT), Buffer("odd", BOOL, LOCAL, dim(1)),
        Buffer("all", F32, GLOBAL, mul(dim(0), 2)), Buffer("line", F32, SHARED, dim(1)),
    )  # fmt: skip
    p = Program(Kernel("k", buffers, 2, (Loop(Axis(P, dim(0)), body, True),)), target)
    for c in (5, 33, 100):
        y, out = data(rng, F32, 4, c), empty(F32, 4)
        p.run({"x": y, "out": out}, (4, c), (), [(0, 4)])
        line = y * np.float32(2)
        line[:, 1::2] += line[:, : c - c % 2 : 2]
        blocks = [k for k in range(0, c, 16) if k // 16 % 2 == 0][-1]
        close(out, 2 * (np.where(y < 0, line, 0).sum(1) + blocks))
    numbers = (ctypes.c_int64 * 2)(4, 33)
    assert [size(numbers) for size in p.sizes] == [64 + 192, 64]


@targets
def test_reduction_of_what_is_being_stored(target, rng):
    """Stored and reduced in one go where each element is read where it was written, one after the other elsewhere."""
    r = var("r", F32)
    for index in (Q, sub(sub(dim(1), 1), Q)):
        body = (
            Loop(Axis(Q, dim(1), kind=LANE), (Store("line", Q, mul(load("x", F32, row()), Q_FLOAT)),)),
            Reduce((r,), SUM, (Axis(Q, dim(1), kind=LANE),), (mul(load("line", F32, index), Q_FLOAT),)),
            Store("out", P, add(r, load("line", F32, i64(0)))),
        )
        buffers = (Buffer("x", F32, IN), Buffer("out", F32, OUT), Buffer("line", F32, LOCAL, dim(1)))
        p = Program(Kernel("k", buffers, 2, (Loop(Axis(P, dim(0)), body, True),)), target)
        x, out = data(rng, F32, 3, 99), empty(F32, 3)
        p.run({"x": x, "out": out}, (3, 99), (), cuts(3, 2))
        j = np.arange(99)
        line = x.astype("d") * j
        np.testing.assert_allclose(
            out, ((line if index is Q else line[:, ::-1]) * j).sum(1) + line[:, 0], rtol=1e-4, atol=0.1
        )


@pytest.mark.parametrize("target", RUNNABLE, ids=lambda t: t.cpu)
@pytest.mark.parametrize("count", [1, 7, 100, 1000])
def test_outputs_in_the_memory_of_inputs(count, target, rng):
    """Two tensors change places in one kernel: what the second store reads, the first one overwrites."""
    buffers = (Buffer("x", F32, IN), Buffer("y", F32, IN), Buffer("p", F32, OUT), Buffer("q", F32, OUT))
    x, y = load("x", F32, P), load("y", F32, P)
    stores = (Store("p", P, add(y, 1.0)), Store("q", P, call("exp", x), where=lt(x, 2.0)))
    for kind in (LANE, SERIAL):
        swap = Program(Kernel("swap", buffers, 0, (Loop(Axis(P, i64(0), kind=kind), stores, True),)), target)
        a, b = (rng.standard_normal(count).astype(np.float32) for _ in range(2))
        expected = b + 1, np.where(a < 2, np.exp(a), b)
        assert swap.run({"x": a, "y": b, "p": a, "q": b}, cuts=((0, count // 3), (count // 3, count))) == 0
        np.testing.assert_array_equal(a, expected[0])
        np.testing.assert_allclose(b, expected[1], rtol=1e-6)


Q_FLOAT = n.cast(Q, F32)


@targets
def test_loops_inside_of_lanes(target, rng):
    """A serial loop that writes its own output, inside of lanes, and lanes whose inner bounds differ."""
    size = 83
    total = var("total", F32)
    store = Store("out", add(mul(Q, dim(0)), P), mul(load("x", F32, P), n.cast(Q, F32)))
    inner = (
        Loop(Axis(Q, dim(1)), (store,)),
        Reduce((total,), SUM, (Axis(Q, n.rem(P, i64(5))),), (load("x", F32, Q),)),
        Store("sum", P, total),
    )
    for body, check in ((inner, True), (inner[:1], False)):
        kernel = Kernel("k", (Buffer("x", F32, IN), Buffer("out", F32, OUT), Buffer("sum", F32, OUT)), 2,
                        (Loop(Axis(P, i64(0), kind=LANE), body, True),))  # fmt: skip
        x, out, sums = data(rng, F32, size), empty(F32, 4, size), empty(F32, size)
        Program(kernel, target).run({"x": x, "out": out, "sum": sums}, (size, 4), (), cuts(size, 30))
        same(out, x * np.arange(4, dtype="f")[:, None])
        if check:
            close(sums, np.array([x[: k % 5].sum() for k in range(size)], "f"))


def test_several_kernels_in_a_module():
    text = render_module([softmax(), gather(), transpose()], HOST)
    for name, kind in itertools.product(("softmax", "gather", "transpose"), ("", "_local", "_global")):
        assert len(re.findall(rf"^(?:define .*)?@{name}{kind}(?: =|\()", text, re.M)) == 1
    assert "fast" not in text
    assemble(text, HOST)


@pytest.mark.parametrize("target", [AVX512, AVX2, NEON], ids=["avx512", "avx2", "neon"])
def test_text_assembles_for_other_targets(target):
    kernels = [
        elementwise("a", gelu, [F32]), elementwise("b", lambda a: n.cast(gelu(n.cast(a, F32)), F16), [F16], F16),
        elementwise("c", n.rem, [F64, F64], F64), elementwise("d", n.div, [I8, I8], I8),
        elementwise("e", add, [F32, F32], streaming=True), softmax(), layer_norm(), gather(), transpose(U8),
        replace(transpose(F64, True), name="g"), cumulative(SUM, I32),
        reduction("f", ARGMAX, lambda x, i: (x, i), [F32]), reduction("h", MAX, lambda x, i: (x,), [F64], True),
    ]  # fmt: skip
    text = render_module(kernels, target)
    assembly = assemble(text, target)
    register = {512: "zmm0", 256: "ymm0", 128: "v0.4s"}[target.vector_bits]
    assert register in assembly
    assert "zmm" not in assembly or target is AVX512


@pytest.mark.parametrize("name", ["exp", "exp2", "logistic"])
def test_powers_that_underflow_are_masked(name):
    """Where AVX-512 computes them, what underflows takes a hundred times as long: lanes far from 0 are left out by a
    mask of the last instruction."""
    assembly = assemble(render_module([elementwise("f", lambda x: n.call(name, x), [F32])], AVX512), AVX512)
    powers = re.findall(r"vscalefps.*", assembly)
    assert powers
    assert all(re.search(r"\{%k\d\}( \{z\})?$", line) for line in powers)


def test_what_cannot_be_rendered():
    varying = If(lt(load("x", F32, P), 0.0), (Store("out", P, const(1, F32)),))
    kernel = Kernel(
        "k", (Buffer("x", F32, IN), Buffer("out", F32, OUT)), 0, (Loop(Axis(P, i64(0), kind=LANE), (varying,), True),)
    )
    with pytest.raises(ValueError, match="'k' requires one lt for all lanes, got one per lane"):
        Program(kernel)
    with pytest.raises(ValueError, match="'k' uses axis 'j' where it is not defined"):
        Program(elementwise("k", lambda x: add(x, Q_FLOAT), [F32]))


def test_narrow_constants():
    """Constants of storage types are rounded as a cast rounds them."""
    from umiak.compiler.loop.types import bits_of

    values = [
        0.0,
        -0.0,
        1.0,
        0.3,
        -447.0,
        1e-3,
        0.007,
        2.0**-9,
        2.0**-17,
        2.0**-24,
        500.0,
        57344.0,
        65519.0,
        1e9,
        np.inf,
        -np.inf,
    ]
    for t, dtype in ((BF16, ml_dtypes.bfloat16), (F16, np.float16), (F8E5M2, ml_dtypes.float8_e5m2)):
        with np.errstate(all="ignore"):
            expected = np.array(values).astype(dtype).view(f"u{t.bytes}")
        assert [bits_of(v, t) for v in values] == expected.tolist()
    finite = values[:10]
    assert [bits_of(v, F8E4M3FN) for v in finite] == np.array(finite).astype(ml_dtypes.float8_e4m3fn).view(
        "u1"
    ).tolist()
