"""The cpu backend on random programs, memory and numbers: against ref op by op, against NumPy, against itself."""

import numpy as np
import pytest

import paddle
from umiak import ops as F
from umiak.backends.ref.evaluate import evaluate
from umiak.core import array, eager
from umiak.core.dtype import convert
from umiak.ir.meta import Meta
from umiak.ir.program import Value
from umiak.ir.tracer import Tracer
from umiak.ops._common import sizes
from umiak.ops.base import REGISTRY, Op
from umiak.runtime import parallel

T, N = array.from_numpy, array.to_numpy
SIZES = (0, 1, 2, 3, 7, 8, 15, 16, 17, 31, 33, 63, 64, 65, 127)
DTYPES = ("bool", "uint8", "int8", "int32", "int64", "float16", "bfloat16", "float32", "float64", "complex64")


def numbers(rng, shape, dtype, special=0.0):
    """Small ones, and with the probability ``special`` those on which formulas differ."""
    d = convert(dtype)
    if d.is_bool:
        return rng.integers(0, 2, shape) != 0
    if d.is_complex:
        return (rng.standard_normal(shape) + 1j * rng.standard_normal(shape)).astype(d.numpy)
    if d.is_integer:
        info = np.iinfo(d.numpy)
        x, odd = rng.integers(-9 if info.min else 0, 10, shape), [info.min, info.max, info.min + 1, 0, 1, info.max // 2]
        return np.where(rng.random(shape) < special, rng.choice(np.array(odd, d.numpy), shape), x.astype(d.numpy))
    odd = [np.nan, np.inf, -np.inf, 0.0, -0.0, 1.0, -1.0, 0.5, 100.0, -100.0, 6e-8, 1e4]
    x = np.where(rng.random(shape) < special, rng.choice(odd, shape), rng.standard_normal(shape))
    with np.errstate(all="ignore"):
        return x.astype(d.numpy)


def placed(rng, x):
    """The same numbers in other memory: any order of dims, steps of either sign, any start."""
    steps = [int(rng.choice([1, 1, 2, -1, -3])) for _ in x.shape]
    order = rng.permutation(x.ndim)
    first, last = ([int(v) for v in rng.integers(0, 3, x.ndim)] for _ in range(2))
    spans = [(n - 1) * abs(s) + 1 if n else 0 for n, s in zip(x.shape, steps, strict=True)]
    wide = np.zeros([a + n + b for a, n, b in zip(first, spans, last, strict=True)], x.dtype)
    starts = [0 if not n else a if s > 0 else a + n - 1 for a, n, s in zip(first, spans, steps, strict=True)]
    inner = wide[tuple(slice(a, a + n) for a, n in zip(first, spans, strict=True))]
    inner[tuple(slice(None, None, s) for s in steps)] = x
    where = {"starts": starts, "sizes": x.shape, "steps": [s if n else 1 for s, n in zip(steps, x.shape, strict=True)]}
    t = F.slice(
        T(np.ascontiguousarray(wide.transpose(order))),
        axes=tuple(range(x.ndim)),
        **{k: tuple(int(v[i]) for i in order) for k, v in where.items()},
    )
    return F.permute(t, perm=tuple(int(i) for i in np.argsort(order)))


def wide(x):
    return x.astype(np.complex128 if x.dtype.kind == "c" else np.float64 if x.dtype.kind != "V" else np.float32)


def alike(got, want, note, rtol):
    assert got.shape == want.shape and got.dtype == want.dtype, note
    rtol = {"float16": 2e-3, "bfloat16": 1.6e-2}.get(convert(want.dtype).name, rtol)
    if want.dtype.kind in "biu":
        np.testing.assert_array_equal(got, want, note)
    else:
        np.testing.assert_allclose(wide(got), wide(want), rtol, err_msg=note)


def shape_of(rng, rank, most=5000):
    while True:
        shape = tuple(int(v) for v in rng.choice(SIZES, rank))
        if np.prod(shape) <= most:
            return shape


# --- single ops ----------------------------------------------------------------------------------------------------

BINARY = (
    "add sub mul div floor_div remainder fmod maximum minimum fmax fmin lt le eq pow bitwise_and bitwise_xor "
    "shift_left shift_right atan2 copysign heaviside"
).split()
INTEGER_DIVISIONS = ("fmod", "remainder", "floor_div")


@pytest.mark.parametrize("name", BINARY)
def test_two_operands(rng, name):
    """Extreme and broadcast ones of each type, in any memory. Shifts may be of any length, floats be divided by 0."""
    op, cases = REGISTRY[name](), 0
    for dtype in DTYPES:
        for rank in (1, 2, 4):
            shape = shape_of(rng, rank, 2000)
            other = tuple(1 if rng.random() < 0.3 else n for n in shape)[int(rng.integers(0, rank + 1)) :]
            x, y = numbers(rng, shape, dtype, 0.2), numbers(rng, other, dtype, 0.2)
            if name in INTEGER_DIVISIONS and y.dtype.kind in "biu":
                y = np.where(y == 0, np.ones_like(y), y)
            try:
                got = N(eager.apply(op, (placed(rng, x), placed(rng, y)), ()))
            except TypeError:
                continue  # not of this type
            cases += 1
            alike(got, evaluate(op, [x, y], ())[0], f"{name} {dtype} {shape} {other}", 2e-5)
    assert cases


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16", "int32", "int64"])
def test_divisors_of_zero_and_shifts_of_any_length(dtype):
    """A divisor of 0 is an error. Bits that leave do not come back, and a negative length is a large one."""
    info = np.iinfo(dtype)
    x, y = (v.ravel() for v in np.meshgrid(*[np.array([info.min, -1 & info.max, 0, 1, 5, 7, 8, info.max], dtype)] * 2))
    for name in INTEGER_DIVISIONS:
        for divisor in (T(y), 0):  # one of eight is 0
            with pytest.raises(ZeroDivisionError, match="divisors other than 0"):
                getattr(F, name)(T(x), divisor)
    unsigned = f"u{x.itemsize}"
    bits, length = x.view(unsigned), y.view(unsigned)
    np.testing.assert_array_equal(N(F.shift_right_logical(T(x), T(y))).view(unsigned), np.right_shift(bits, length))
    np.testing.assert_array_equal(N(F.shift_right(T(x), T(y))), np.right_shift(x, y))
    np.testing.assert_array_equal(N(F.shift_left(T(x), T(y))), np.left_shift(x, y))


def test_numbers_that_round(rng):
    """Integers are whole already, however large."""
    x = np.array([2**63 - 1, 2**62 - 1, -(2**63), 5])
    for name in ("round", "floor", "ceil", "trunc"):
        np.testing.assert_array_equal(N(getattr(F, name)(T(x))), x)
        np.testing.assert_array_equal(evaluate(REGISTRY[name](), [x], ())[0], x)


def test_activations_keep_nan():
    x = paddle.to_tensor([np.nan, 2.0, 0.5])
    names = "celu elu gelu hardshrink hardsigmoid hardswish hardtanh leaky_relu log_sigmoid mish relu relu6 selu silu "
    for name in (names + "softplus softshrink softsign swish tanhshrink thresholded_relu").split():
        y = getattr(paddle.nn.functional, name)(x).numpy()
        assert np.isnan(y[0]) and np.isfinite(y[1:]).all(), name


def test_slope_of_leaky_relu_at_zero():
    x = paddle.to_tensor([-1.0, -0.0, 0.0, 1.0], stop_gradient=False)
    paddle.nn.functional.leaky_relu(x, 0.25).sum().backward()
    np.testing.assert_array_equal(x.grad.numpy(), [0.25, 1, 1, 1])


@pytest.mark.parametrize("axis", [0, 1, 2])
@pytest.mark.parametrize("keepdim", [True, False])
def test_gradients_of_chosen_elements(rng, axis, keepdim):
    """They go back to where the element stood, along any axis."""
    x = rng.permutation(60).reshape(3, 4, 5).astype(np.float64)
    for choose in (
        lambda t: paddle.kthvalue(t, 2, axis, keepdim=keepdim),
        lambda t: paddle.median(t, axis, keepdim=keepdim, mode="min"),
        lambda t: paddle.mode(t, axis, keepdim=keepdim),
    ):
        t = paddle.to_tensor(x, stop_gradient=False)
        value, index = choose(t)
        (value * value).sum().backward()
        expected, at = np.zeros_like(x), index.numpy() if keepdim else np.expand_dims(index.numpy(), axis)
        np.put_along_axis(expected, at, 2 * np.take_along_axis(x, at, axis), axis)
        np.testing.assert_array_equal(t.grad.numpy(), expected)


# --- programs ------------------------------------------------------------------------------------------------------


class RandomProgram(Op):
    """Steps (function, operands by number); all values are results. Not registered: no one else may see it."""

    inputs = ("*xs",)
    steps: tuple
    variadic_outputs = True

    def infer(self, *xs):
        with Tracer() as tracer:
            return tuple(Meta(tuple(v.shape), v.dtype) for v in self.decompose(*map(tracer.input, xs)))

    def decompose(self, *xs):
        values = list(xs)
        for fn, operands in self.steps:
            values.append(fn(*(values[i] for i in operands)))
        return tuple(values[len(xs) :])


UNARY = "neg abs exp tanh sqrt floor square relu sign logistic sin isnan gelu".split()
MIXED = "add sub mul div maximum minimum lt eq".split()


def step(rng, values):
    """A random op and its operands, some of which will not fit."""
    i, j = (int(v) for v in rng.integers(0, len(values), 2))
    i = len(values) - 1 if rng.random() < 0.6 else i
    rank, kind = values[i].ndim, int(rng.integers(0, 16))
    axis = int(rng.integers(0, max(rank, 1)))
    axes = tuple(sorted(int(v) for v in rng.permutation(rank)[: int(rng.integers(0, rank + 1))]))
    keep, edge = bool(rng.integers(0, 2)), str(rng.choice(["constant", "circular"]))
    lo, hi = (tuple(int(v) for v in rng.integers(0, 3, rank)) for _ in range(2))
    if kind < 4:
        return getattr(F, str(rng.choice(UNARY))), (i,)
    if kind < 7:
        return getattr(F, str(rng.choice(MIXED))), (i, j)
    if kind == 7:
        dtype = convert(str(rng.choice(DTYPES)))
        return (lambda a: F.cast(a, dtype=dtype)), (i,)
    if kind < 10:
        name = str(rng.choice(["sum", "max", "mean", "any", "logsumexp"]))
        return (lambda a: getattr(F, name)(a, axes=axes, keepdim=keep)), (i,)
    name = str(rng.choice(["softmax", "cumsum", "cummax", "sort", "argmax"]))
    return [
        (lambda a: v[0] if isinstance(v := getattr(F, name)(a, axis=axis), tuple) else v, (i,)),
        (lambda a: F.flip(a, axes=axes), (i,)),
        (lambda a: F.permute(a, perm=tuple(reversed(range(rank)))), (i,)),
        (lambda a: F.pad(a, 1, mode=edge, axes=tuple(range(rank)), lo=lo, hi=hi), (i,)),
        (lambda a: F.broadcast_to(a, shape=(2, *sizes(a))), (i,)),
        (lambda a, b: F.take(a, F.remainder(b, sizes(a)[axis]), axis=axis), (i, j)),
    ][kind - 10]


def run(fn, operands):
    """One step on arrays by ref, or None."""
    try:
        with Tracer() as tracer:
            inputs = [tracer.input(Meta(x.shape, convert(x.dtype))) for x in operands]
            result = fn(*inputs)
    except (TypeError, ValueError, IndexError):
        return None
    if np.prod(result.shape) > 20000:
        return None
    values = {id(t.value): x for t, x in zip(inputs, operands, strict=True)}
    for o in tracer.operations:
        xs = [values[id(x)] if type(x) is Value else x for x in o.operands]
        values.update(zip(map(id, o.results), evaluate(o.op, xs, o.params), strict=True))
    found = values[id(result.value)]
    return found if found.dtype.kind in "biu" or (np.abs(wide(found)) < 1e4).all() else None


@pytest.mark.parametrize("part", range(4))
def test_random_programs(rng, part):
    """What fuses gives what the ops give one by one. Integers and comparisons of rounded numbers are left out: they
    may jump."""
    for _ in range(8):
        shape = shape_of(rng, int(rng.integers(1, 4)))
        values = [numbers(rng, shape, str(rng.choice(DTYPES[3:]))) for _ in range(2)]
        steps = []
        while len(steps) < 7:
            fn, operands = step(rng, values)
            result = run(fn, [values[i] for i in operands])
            if result is not None:
                steps.append((fn, operands))
                values.append(result)
        got = eager.apply(RandomProgram(tuple(steps)), tuple(placed(rng, x) for x in values[:2]), ())
        rough = any(v.dtype.kind == "V" or v.dtype == np.float16 for v in values)
        for g, want in zip(got, values[2:], strict=True):
            if want.dtype.kind in "biu":
                assert g.shape == list(want.shape)
                continue
            scale = np.abs(wide(want)).max(initial=1.0)
            error = np.abs(wide(N(g)) - wide(want)).max(initial=0.0)
            assert error <= (0.1 if rough else 1e-4) * scale, (shape, steps)


# --- threads and memory --------------------------------------------------------------------------------------------

OPAQUE = {
    "sum": {"axes": (0,)}, "mean": {"axes": (1,)}, "logsumexp": {"axes": (0, 1)}, "softmax": {"axis": 1},
    "cumsum": {"axis": 1}, "cumprod": {"axis": 0}, "argmax": {"axis": 1}, "var": {"axes": (0,), "correction": 1.0},
    "gelu": {}, "sort": {"axis": 1}, "median": {"axis": 0}, "log_cumsum_exp": {"axis": 0},
}  # fmt: skip


@pytest.mark.parametrize("name", OPAQUE)
def test_threads_and_places_change_no_bit(rng, name):
    """Neither how many threads there are nor where in memory the operand begins."""
    before = parallel.get_num_threads()
    try:
        for shape in ((3, 100003), (70001, 5), (500, 401)):
            x = rng.standard_normal(shape).astype(np.float32)
            moved = F.slice(
                T(np.append(np.zeros(5, np.float32), x)), axes=(0,), starts=(5,), sizes=(x.size,), steps=(1,)
            )
            found = []
            for threads, t in ((1, T(x)), (2, T(x)), (3, T(x)), (2, F.reshape(moved, shape=shape))):
                parallel.set_num_threads(threads)
                y = getattr(F, name)(t, **OPAQUE[name])
                found.append(N(y[0] if isinstance(y, tuple) else y).tobytes())
            assert len(set(found)) == 1, shape
    finally:
        parallel.set_num_threads(before)


@pytest.mark.parametrize("dtype", ["float32", "int64", "uint8", "complex64"])
def test_writes_through_views_that_overlap(rng, dtype):
    """The right side is read as it was before the write, whatever part of the left it is."""
    for _ in range(25):
        rank = int(rng.integers(1, 4))
        shape = tuple(int(v) for v in rng.choice(SIZES[1:], rank))
        axis = int(rng.integers(0, rank))
        n = shape[axis]
        k = int(rng.integers(0, n))
        at = [(slice(None),) * axis + (s,) for s in (slice(k, n), slice(0, n - k), slice(n - k - 1, None, -1))]
        at[2] = at[2] if k < n - 1 or n == 1 else at[1]
        left, right = (at[int(v)] for v in rng.permutation(3)[:2])
        x = numbers(rng, shape, dtype)
        t = T(x)
        x = x.copy()
        if rng.random() < 0.5:
            t[left] = t[right]
            x[left] = x[right].copy()
        else:
            t[left].add_(t[right])
            x[left] = x[left] + x[right]
        np.testing.assert_array_equal(N(t), x)


@pytest.mark.parametrize("count", [16, 17, 60])
def test_many_tensors_as_one(rng, count):
    """Few are one kernel; code for hundreds would take its time and more accesses than a launch has room for."""
    xs = [rng.standard_normal((3, i % 4 + 1)).astype(np.float32) for i in range(count)]
    np.testing.assert_array_equal(N(paddle.concat([paddle.to_tensor(x) for x in xs], 1)), np.concatenate(xs, 1))
    ys = [x[:, :1] for x in xs]
    np.testing.assert_array_equal(N(paddle.stack([paddle.to_tensor(y) for y in ys], 1)), np.stack(ys, 1))
