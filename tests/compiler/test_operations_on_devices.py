"""Every operation and cast of the loop IR, as PTX and as OpenCL, against its meaning."""

from __future__ import annotations

import numpy as np
import pytest
from devices import DEVICES

from umiak.compiler.loop.evaluate import DTYPES, evaluate
from umiak.compiler.loop.node import axis, call, cast, dim, load, make
from umiak.compiler.loop.tree import IN, LANE, OUT, Axis, Buffer, Kernel, Loop, Store
from umiak.compiler.loop.types import BOOL, F16, F32, F64, I64, TYPES, U32, U64

I = axis("i")  # noqa: E741
UNARY = ("neg", "abs")
BINARY = ("add", "sub", "mul", "div", "rem", "min", "max")
COMPARE = ("eq", "ne", "lt", "le")
BITS = ("and", "or", "xor")
FLOAT_UNARY = ("floor", "ceil", "trunc", "rint", "sqrt")
COMPUTED = [t for t in TYPES.values() if not t.is_storage]
REAL = [pytest.param(name, marks=pytest.mark.slow) for name in ("pocl", "cuda")]
TARGETS = ("ptx", "opencl", *REAL)


def samples(t, rng, n=200):
    """Ordinary and extreme numbers in pairs of all kinds."""
    if t is BOOL:
        return rng.integers(0, 2, n).astype(bool)
    dtype = DTYPES[t.name]
    if t.is_integer:
        low, high = (0, (1 << t.bits) - 1) if t.kind == "u" else (-(1 << t.bits - 1), (1 << t.bits - 1) - 1)
        special = [v for v in (0, 1, 2, 3, 7, t.bits - 1, t.bits, -1, -2, low, low + 1, high, high - 1) if low <= v]
        drawn = rng.integers(low, high, n, dtype, endpoint=True)
    else:
        tiny = 2.0**-149 if t is F32 else 5e-324 if t is F64 else 2.0**-30
        special = [0.0, -0.0, 1.0, -1.0, 0.5, 1.5, 2.5, np.inf, -np.inf, np.nan, tiny, -tiny, 3e38, 1e-38, 7.25, 1e5]
        drawn = rng.standard_normal(n) * 10.0 ** rng.integers(-6, 6, n)
    with np.errstate(over="ignore"):
        special = np.asarray(special, dtype if t.is_integer else np.float64).astype(dtype)
        drawn = drawn.astype(dtype)
    return np.where(rng.random(n) < 0.5, rng.choice(special, n), drawn)


def outputs(device, roots, arrays, types):
    """What a kernel that stores every root makes of the arrays."""
    buffers = [Buffer(f"in{k}", t, IN) for k, t in enumerate(types)]
    buffers += [Buffer(f"out{k}", x.type, OUT) for k, x in enumerate(roots)]
    body = tuple(Store(f"out{k}", I, x) for k, x in enumerate(roots))
    kernel = Kernel("operations", tuple(buffers), 1, (Loop(Axis(I, dim(0), kind=LANE), body, parallel=True),))
    n = len(arrays[0])
    found = [np.zeros(n, DTYPES[x.type.name]) for x in roots]
    assert DEVICES[device]().run(kernel, [*arrays, *found], [n]) == 0
    return found


def same(got, expected, what):
    """Bit for bit but for the payload of NaN and the sign of zero."""
    a, b = (x.astype(np.float64) if x.dtype.kind not in "iub" else x for x in (got, expected))
    np.testing.assert_array_equal(a, b, err_msg=what)


def compare(device, roots, arrays, types):
    leaves = {load(f"in{k}", t, I): a for k, (t, a) in enumerate(zip(types, arrays))}
    for x, got, expected in zip(roots, outputs(device, roots, arrays, types), evaluate(roots, leaves)):
        same(got, expected, f"{x}")


@pytest.mark.parametrize("device", TARGETS)
@pytest.mark.parametrize("t", COMPUTED, ids=str)
def test_operations_mean_what_they_say(device, t, rng):
    a, b, c = (load(f"in{k}", t, I) for k in range(3))
    roots = [make(op, BOOL, (a, b)) for op in COMPARE]
    roots.append(make("select", t, (make("lt", BOOL, (a, b)), b, c)))
    if t is not BOOL:
        roots += [call(op, a) for op in UNARY] + [call(op, a, b) for op in BINARY]
    if t.is_float:
        roots += [call(op, a) for op in FLOAT_UNARY] + [call("copysign", a, b), call("fma", a, b, c)]
    else:
        roots += [call(op, a, b) for op in BITS] + [call("not", a)]
        if t is not BOOL:
            roots += [call("shl", a, b), call("shr", a, b)]
        if t in (U32, U64):
            roots.append(call("mulhi", a, b))
    compare(device, roots, [samples(t, rng) for _ in range(3)], [t] * 3)


@pytest.mark.parametrize("device", TARGETS)
@pytest.mark.parametrize("t", [F32, F64], ids=str)
def test_ldexp_rounds_once(device, t, rng):
    a, n = load("in0", t, I), load("in1", t, I)
    numbers, dtype = samples(t, rng, 600), DTYPES[t.name]
    near = -np.frexp(numbers)[1] - (126 if t is F32 else 1022)
    powers = np.where(rng.random(600) < 0.5, rng.integers(-4200, 4201, 600), near + rng.integers(-60, 60, 600))
    compare(device, [call("ldexp", a, n)], [numbers, powers.astype(dtype)], [t, t])


@pytest.mark.parametrize("device", TARGETS)
@pytest.mark.parametrize("t", TYPES.values(), ids=str)
def test_casts_convert(device, t, rng):
    x, small = load("in0", t, I), load("in1", t, I)
    others = [u for u in TYPES.values() if u is not t]
    # Floats that an integer type does not hold become anything.
    roots = [cast(small if t.is_float and u.is_integer else x, u) for u in others]
    few = rng.integers(0, 100, 200).astype(DTYPES[t.name])
    few = rng.choice(few[np.isfinite(few.astype(np.float64))], 200)  # narrow types do not reach 100, or have no 0
    compare(device, roots, [samples(t, rng), few], [t, t])


@pytest.mark.parametrize("device", TARGETS)
def test_bits_of_floats(device, rng):
    pairs = [(F32, U32), (F64, I64), (F16, TYPES["u16"])]
    for t, u in pairs:
        compare(device, [make("bitcast", u, (load("in0", t, I),))], [samples(t, rng)], [t])
        compare(device, [make("bitcast", t, (load("in0", u, I),))], [samples(u, rng)], [u])


@pytest.mark.parametrize("device", TARGETS)
@pytest.mark.parametrize("t", [F32, F64], ids=str)
def test_functions_come_without_a_library(device, t, rng):
    x = load("in0", t, I)
    numbers = rng.standard_normal(200).astype(DTYPES[t.name]) * 3
    names = ("exp", "log", "tanh", "logistic", "erf", "rsqrt")
    roots = [call(name, x) for name in names]
    found = outputs(device, roots, [numbers], [t])
    for name, got, expected in zip(names, found, evaluate(roots, {x: numbers})):
        tolerance = 1e-6 if t is F32 else 1e-14
        np.testing.assert_allclose(got, expected, tolerance, tolerance, err_msg=name)
