"""Python scalars that only compute, and those that steer."""

from __future__ import annotations

import cmath
import math
import time

import numpy as np

import paddle
from tests.jit.corpus.reasons import BREAKS, COPIES
from tests.jit.corpus.registry import driver, factory, given, program


@program(*(lambda t, k=k: given(t(2), k) for k in (0.1, 0.2, 0.3, 0.0, 1.0, -2.5)), most=2)
def float_that_only_computes(x, rate):
    return x * rate + (1 - rate) / 2


@program(*(lambda t, k=k: given(t(2), k) for k in (3, 4, 5, 0, 1, -7, 2**40)), most=2)
def int_that_only_computes(x, n):
    return x + n * 2 - 1


@program(*(lambda t, k=k: given(t(2), k) for k in (1, 2, 3, 2, 0)), most=4)
def int_that_steers(x, n):
    for _ in range(n):
        x = x * 2
    return x if n % 2 else -x


@program(*(lambda t, k=k: given(t(2), k) for k in (0.5, 1.5, 0.7, 2.5)), most=3)
def float_that_steers(x, threshold):
    return x * threshold if threshold > 1 else x + threshold


@factory(*(lambda t: t(2) for _ in range(5)), most=2)
def counter_that_only_computes():
    step = 0

    def f(x):
        nonlocal step
        step += 1
        return x * (0.9**step) + 1 / step

    return f


@factory(*(lambda t: t(2) for _ in range(5)), most=3)
def counter_that_steers_at_last():
    state = {"step": 0}

    def f(x):
        state["step"] += 1
        if state["step"] >= 4:
            return x * 100
        return x * state["step"]

    return f


@program(
    lambda t: given(t(2), 7, 3),
    lambda t: given(t(2), -7, 3),
    lambda t: given(t(2), 7, -3),
    lambda t: given(t(2), 7, 0),
    raises="ZeroDivisionError",
)
def integer_arithmetic(x, a, b):
    parts = a // b, a % b, divmod(a, b), a**2, pow(a, 2, 5), -a, +b, ~a, abs(a), a / b, a - b
    return x * (a // b) + a % b, parts


@program(lambda t: given(t(2), 12, 10), lambda t: given(t(2), 1, 4), lambda t: given(t(2), -3, 2))
def bit_operations(x, a, b):
    return x * (a & b), a | b, a ^ b, ~a, a << b, a >> 1, a.bit_length(), bin(a), (a & 1) == 0


@program(lambda t: given(t(2), 2**31), lambda t: given(t(2), 2**62 + 1), lambda t: given(t(2), -(2**63)))
def large_integers(x, n):
    big = n * n + 1
    return x * 0.5, big, big % 1000007, n // 3, math.gcd(n, 12), float(n), len(str(big))


@program(lambda t: given(t.of([1, 2], "int64"), 2**62), lambda t: given(t.of([3], "int64"), 2**40))
def large_integer_meets_a_tensor(x, n):
    return x + n // 4, x * 2 - n // 8


@program(lambda t: given(t(2), 2**63), lambda t: given(t(2), 2**70), lambda t: given(t(2), -(2**80)))
def integer_beyond_64_bits_meets_a_tensor(x, n):
    return x + n


@program(lambda t: given(t(2), 1 + 2j), lambda t: given(t(2), -1j))
def complex_numbers(x, z):
    w = z * z.conjugate() + abs(z)
    return x * z, w, z.real, z.imag, cmath.phase(z), z == 1 + 2j, x * w.real


@program(lambda t: t(2, dtype="complex64"), lambda t: t(3, dtype="complex64"))
def complex_tensors(x):
    y = x * x.conj() + 2j
    return y, y.real() * 2, x.imag(), x.abs(), paddle.complex(x.real(), x.imag() * 2), x.angle()


@program(lambda t: given(t(2), 2.567), lambda t: given(t(2), -0.5), lambda t: given(t(2), 1e300))
def float_arithmetic(x, f):
    parts = round(f, 1), round(f), math.floor(f), math.ceil(f), int(f), abs(f), f**2 if f < 1e10 else 0, f // 0.3
    checks = math.isinf(f * 1e10), math.isnan(f), f == f, f.is_integer(), math.copysign(1, f), min(f, 1.0), max(f, 0)
    return x * math.tanh(f), parts, checks, math.sqrt(abs(f)), math.pi, divmod(f, 2.0)


@program(lambda t: given(t(2), float("inf")), lambda t: given(t(2), float("nan")), lambda t: given(t(2), -0.0))
def numbers_at_the_edge(x, f):
    y = x * 0 + f
    if f != f:
        y = paddle.zeros_like(x)
    return y, str(f), f > 0, 1 if f else 0


@program(lambda t: given(t(2), True), lambda t: given(t(2), False), lambda t: given(t(2), 1), lambda t: given(t(2), 0))
def bool_or_int(x, flag):
    y = x * flag
    if flag is True:
        y = y + 10
    elif flag == 1:
        y = y + 20
    return y, flag, type(flag).__name__, flag + 1, not flag


@program(lambda t: given(t(2), 0, None), lambda t: given(t(2), 3, "s"), lambda t: given(t(2), 0.0, []), allowed=COPIES)
def and_or_not_on_python_values(x, a, b):
    c = a or 5
    d = b and len(b)
    e = a and b or "neither"
    return x * c, d, e, not a, not b, (a or b), bool(a) and bool(b)


@program(
    lambda t: given(t(2), np.float32(1.5)), lambda t: given(t(2), np.int64(3)), lambda t: given(t(2), np.float64(0.1))
)
def numpy_scalars(x, s):
    return x * float(s) + s.item(), s + 1, type(s).__name__, s > 2


@program(lambda t: given(t(4, 6), 2), lambda t: given(t(8, 6), 4), lambda t: given(t(6, 6), 3))
def arithmetic_on_sizes(x, n):
    rows, columns = x.shape
    y = x.reshape([n, rows // n, columns])
    scale = 1 / math.sqrt(columns) + rows * 0.5
    return y * scale, max(rows, columns), rows % n == 0, x.numel() // 2


@program(lambda t: t(4), lambda t: t(5), lambda t: t(6), lambda t: t(1), lambda t: t(0), lambda t: t(7), most=4)
def sizes_that_only_compute(x):
    return x / max(x.shape[0], 1) + x.shape[0]


@program(
    lambda t: t(3, 4), lambda t: t(5, 4), lambda t: t(5, 2), lambda t: t(0, 4), lambda t: t(1, 1), lambda t: t(4, 0)
)
def sizes_that_vary_in_two_axes(x):
    return paddle.concat([x, x * 2], axis=0).sum(axis=1), x.T @ x, x.reshape([-1]).shape[0]


@program(lambda t: t(4), lambda t: t(5), lambda t: t(2), lambda t: t(8))
def sizes_that_steer(x):
    if x.shape[0] % 2 == 0:
        return x.reshape([2, -1])
    if x.shape[0] > 3:
        x = x[:3]
    return x


@program(lambda t: t(2, 3), lambda t: t(6), lambda t: t(2, 1, 3), lambda t: t())
def ranks_that_vary(x):
    y = x
    while y.ndim > 1:
        y = y.sum(axis=0)
    return y, x.ndim, x.flatten()


@program(
    lambda t: t(3),
    lambda t: t(3, dtype="float64"),
    lambda t: t(3, dtype="int64"),
    lambda t: t(3, dtype="bool"),
    lambda t: t(3, dtype="float16"),
)
def dtypes_that_vary(x):
    y = x.astype("float32") * 2 if x.dtype != paddle.float64 else x * 3
    return y, str(x.dtype), x.is_floating_point()


@program(lambda t: t(2), lambda t: t(2), refused=BREAKS)
def clock_is_read(x):
    start = time.time()
    y = x * 2
    elapsed = time.perf_counter() - time.perf_counter()
    return y, elapsed <= 0, time.time() >= start, type(start).__name__


@driver(*(lambda t, k=k: given(t(2), k) for k in (1e-3, 5e-4, 2e-4, 1e-4)), most=2)
def number_in_an_object_that_only_computes(capture):
    class Schedule:
        rate = 0.0

    schedule = Schedule()

    @capture
    def f(x):
        return x - schedule.rate * x * 2

    def call(x, rate):
        schedule.rate = rate
        return f(x)

    return call


@program(*(lambda t, k=k: given(t(6), k) for k in (2, 3, 1, 0, 6, -1)))
def numbers_as_indices(x, k):
    return x[:k] * 2, x[k - 1], x.roll(k), x[-k:] if k else x
