"""Sizes and integers that differ between calls, used by Python in every way."""

from __future__ import annotations

import math

import paddle
from tests.jit.corpus.registry import given, program

ROWS = tuple(lambda t, n=n: t(n, 3) for n in (2, 3, 5, 1, 0, 4))
NUMBERS = tuple(lambda t, n=n: given(t(2), n) for n in (2, 3, 5, 1, 0, -4, 7))


@program(*ROWS)
def size_in_arithmetic(x):
    n = x.shape[0]
    parts = n + 1, n - 5, n * 2, n // 2, n % 3, n**2, -n, n / 4, abs(n - 3), divmod(n, 2), n**0.5, round(n / 3, 2)
    return x * (n * 0.5), parts, (n - 5) // 2, (n - 5) % 3, 2**n


@program(*ROWS)
def number_of_elements(x):
    n = x.size
    mean = x.sum() / n if n else x.sum()
    numbers = -n, +n, abs(n), ~n, n + 1, 2 * n, n // 2, n**2, float(n)
    return mean, numbers, (n == 6, n > 4, min(n, 4), max([n, 3]), f"{n}", n, n())


@program(*ROWS)
def size_in_comparisons(x):
    n, m = x.shape
    flags = (
        n == m,
        n != 3,
        n < 4,
        n >= 2,
        1 <= n < m,
        n in (2, 4),
        n is None,
        bool(n),
        not n,
        n == 2.0,
        max(n, m),
        min(n, 4),
    )
    return x * 2, flags


@program(*ROWS)
def size_in_texts(x):
    n = x.shape[0]
    return x + 1, f"{n} rows {n:03d} {n!r} {x.shape}", str(n), "%d/%s" % (n, n), format(n, "x"), "ab" * n, repr(x.shape)


@program(*ROWS)
def size_as_key_and_index(x):
    n = x.shape[0]
    table = {n: "n", n + 1: "m"}
    names = ["a", "b", "c", "d", "e", "f", "g"]
    return (
        x * names.index(names[n]),
        table[n],
        n in table,
        [0] * n,
        names[:n],
        names[-n:],
        tuple(range(n)),
        {n, 2},
        hash(n),
    )


@program(*ROWS)
def size_in_functions(x):
    n = x.shape[0]
    pairs = math.gcd(n, 6), math.factorial(n), math.sqrt(n), math.ceil(n / 2), math.log2(n + 1), math.comb(5, min(n, 5))
    kinds = isinstance(n, int), type(n) is int, type(n).__name__, int(n), float(n), complex(n), bin(n), n.bit_length()
    return x / math.sqrt(max(n, 1)), pairs, kinds, sum(range(n)), list(reversed(range(n))), [i * n for i in range(n)]


@program(*ROWS)
def size_steers_loops(x):
    n = x.shape[0]
    total = paddle.zeros([3])
    for i in range(0, n, 2):
        total = total + x[i]
    k = n
    while k > 2:
        total = total * 0.5
        k -= 2
    return total, k


@program(*ROWS)
def size_makes_tensors(x):
    n, m = x.shape
    ranges = paddle.arange(n), paddle.linspace(0, 1, n + 1), paddle.eye(n), paddle.full([n], n)
    shapes = paddle.zeros([n, 2]) + n, paddle.ones([m, n]) @ x, x.reshape([m, n]), x.expand([2, n, m])
    return ranges, shapes, paddle.to_tensor(n), paddle.to_tensor([n, m])


@program(*ROWS)
def shape_as_a_sequence(x):
    shape = x.shape
    a, *rest = shape
    y = x.reshape([*shape[:-1], 1, shape[-1]])
    z = x.reshape(list(shape) + [1])
    return (
        y,
        z,
        shape == [2, 3],
        list(shape),
        tuple(shape),
        len(shape),
        rest,
        shape[::-1],
        3 in shape,
        math.prod(shape),
        a,
    )


@program(*ROWS)
def size_in_slices(x):
    n = x.shape[0]
    half = n // 2
    return (
        x[:half],
        x[half:],
        x[-half:] if half else x,
        x[: n - 1],
        x[::2].shape,
        x[half : half + 1],
        x[: n + 5].shape[0],
    )


@program(
    *(lambda t, n=n, m=m: given(t(n, 2), t(m, 2)) for n, m in ((2, 2), (3, 3), (3, 4), (1, 4), (4, 1), (0, 0), (0, 1)))
)
def two_sizes_compared(x, y):
    if x.shape == y.shape:
        return x * y
    if x.shape[0] == 1 or y.shape[0] == 1:
        return x + y
    return paddle.concat([x, y]), x.shape[0] < y.shape[0]


@program(*(lambda t, n=n: t(n, n) for n in (2, 3, 4, 1, 0)))
def equal_sizes(x):
    return x @ x, x + x.T, paddle.trace(x) if x.shape[0] else 0, x.reshape([-1])[:: x.shape[0] + 1]


@program(*(lambda t, n=n: t(n) for n in (4, 6, 3, 5, 2, 8)))
def size_that_must_divide(x):
    n = x.shape[0]
    if n % 2:
        x = paddle.concat([x, paddle.zeros([1])])
    pairs = x.reshape([-1, 2])
    return pairs.sum(axis=1), pairs.shape[0] == (n + 1) // 2, x.shape[0]


@program(*NUMBERS)
def number_in_arithmetic(x, n):
    parts = n // 2, n % 3, divmod(n, 4), -n, n**2, n - 1, n * n, n / 3, n & 3, n | 8, n ^ 1, n << 2, n >> 1, ~n, abs(n)
    return (
        x * n + (n - 1) / 2 - n % 3,
        parts,
        n // 2.0,
        10 // (n * n + 1),
        pow(n, 2),
        7 % (n + 10),
        float(n),
        round(n / 3, 1),
    )


@program(*NUMBERS)
def number_in_texts_and_containers(x, n):
    box = {"n": n, n: "key"}
    items = [n, [n + 1], (n, {"deep": n})]
    box["sum"] = sum([n, n + 1])
    return (
        x * box["n"] + items[1][0],
        box,
        items,
        f"{n:>4}",
        str(n * 2),
        sorted([3, n, 0]),
        n in [2, 3],
        max(items[0], 1),
    )


@program(*NUMBERS)
def number_passed_through_functions(x, n):
    def scaled(v, k=n, *, by=1.0):
        return v * k * by

    class Holder:
        def __init__(self, k):
            self.k = k

        @property
        def twice(self):
            return self.k * 2

    h = Holder(n + 1)
    h.k += 1
    rates = (lambda k: k * 0.5)(n)
    return scaled(x) + scaled(x, by=n) + h.twice * rates, h.k, rates, (*(k + n for k in range(2)),)


@program(*NUMBERS)
def number_compared_late(x, n):
    y = x * n + 1
    z = y * y
    if n > 3:
        z = z - n
    elif n == 0:
        z = z + 100
    return z, n if n < 0 else "other"


@program(*(lambda t, v=v: given(t(2), v) for v in (0.5, 0.25, 1.0, 0.0, -2.0, 1e-8, float("inf"))))
def float_in_arithmetic(x, v):
    return (
        x * v + (1 - v),
        v * 2,
        v + 1,
        -v,
        v / 2,
        v**2,
        abs(v),
        max(v, 0.3),
        f"{v:.2f}",
        v // 0.3 if v < 9 else 0,
        v == 1,
    )


@program(*(lambda t, v=v: given(t(2), v) for v in (True, False, True, 1, 0, None)))
def flag_in_arithmetic(x, v):
    return x * (2 if v else 3), v, v is True, (v or 0) + 1, not v


@program(*(lambda t, n=n, k=k: given(t(n, 2), k) for n, k in ((2, 3), (3, 4), (4, 5), (5, 2), (1, 1), (0, 7))))
def size_and_number_together(x, k):
    n = x.shape[0]
    return x * k + n * k, n + k, n < k, (x.sum() + n) / k, paddle.ones([n, k]).sum(axis=1)
