"""Data of tensors read by Python, NumPy inside, callbacks from C."""

from __future__ import annotations

import functools
import math

import numpy as np

import paddle
from tests.jit.corpus.reasons import BREAKS, NUMBERS, OF_SIZES, READS
from tests.jit.corpus.registry import driver, factory, given, program


@program(lambda t: t.of([1.5, 2.0]), lambda t: t.of([-1.5, 0.25]), allowed=NUMBERS)
def item_in_the_middle(x):
    s = x.sum().item()
    y = x * s
    return y, s, y.max().item() > 1


@program(lambda t: t.of([3.0, 2.0]), lambda t: t.of([1.0, 7.0]), refused=BREAKS)
def conversions_to_numbers(x):
    f, n, b = float(x[0]), int(x[1]), bool(x[0] > 2)
    for k in range(n):
        x = x + k
    return x * f, n, b, math.floor(x.mean()), [0, 10, 20, 30][int(x[0] * 0 + 2)]


@program(lambda t: t.of([1.0, 2.0]), lambda t: t.of([4.0, 2.0, 1.0]), refused=READS)
def tolist_in_the_middle(x):
    values = x.tolist()
    return x * max(values), sorted(values), len(values)


@program(lambda t: t(3), lambda t: t(5), lambda t: t(0), refused=BREAKS)
def numpy_of_an_intermediate(x):
    y = x * 2
    a = y.detach().numpy()
    b = np.cumsum(a)
    return y * paddle.to_tensor(b), float(a.sum()), a.shape


@program(
    lambda t: given(t(3), np.arange(3, dtype="float32")),
    lambda t: given(t(2), np.ones(2, "float32")),
    refused=BREAKS,
)
def array_as_an_argument(x, a):
    a[0] = 5.0
    return x * paddle.to_tensor(a), a * 2, a.mean()


@program(lambda t: given(t(2, 3)), lambda t: given(t(4, 3)), allowed=OF_SIZES)
def numpy_made_inside(x):
    table = np.linspace(0, 1, x.shape[1]).astype("float32")
    angles = paddle.to_tensor(np.outer(np.arange(x.shape[0]), table).astype("float32"))
    return x * paddle.sin(angles), np.prod(x.shape), np.asarray([1, 2]).tolist()


@program(lambda t: t.of([1.0, 2.0], grad=False), lambda t: t.of([3.0], grad=False), refused=BREAKS)
def numpy_functions_of_tensors(x):
    return np.asarray(x * 2), np.sqrt(x.numpy()), x + paddle.to_tensor(np.array(x.shape, "float32").sum())


@program(lambda t: t(4), lambda t: t(3))
def callbacks_from_c(x):
    order = sorted(range(len(x)), key=lambda i: (-i % 3, x.shape[0]))
    best = max(range(len(x)), key=lambda i: i * i % 5)
    total = functools.reduce(lambda a, i: a * 2 + x[i], order, x[0])
    pairs = list(map(functools.partial(pow, 2), [1, 2]))
    return total, best, pairs, min(order, key=lambda i: (i - 2) ** 2)


@program(lambda t: t.of([2.0, 1.0, 3.0]), lambda t: t.of([1.0, 2.0]), refused=READS)
def callbacks_that_compute_with_tensors(x):
    parts = list(map(lambda v: v * 2, x.unbind()))
    parts.sort(key=lambda v: v.item())
    return paddle.stack(parts), sorted(parts, key=lambda v: -float(v))[0]


@factory(lambda t: t(2), lambda t: t(2), lambda t: t(2), refused=BREAKS)
def array_in_a_closure():
    counts = np.zeros(3)

    def f(x):
        counts[1] += x.shape[0]
        return x * float(counts.sum())

    return f


@program(lambda t: t.of([0.5, 2.0]), lambda t: t.of([3.0, 0.0]), allowed=NUMBERS)
def number_read_twice(x):
    m = x.max()
    a = m.item()
    x = x * a
    b = x.min().item()
    if a > b + 1:
        x = x - b
    return x, a, b


@driver(lambda t: t(3), lambda t: t(3), refused=BREAKS)
def tensor_as_a_dict_key(capture):
    @capture
    def f(x):
        table = {x: 1, "y": 2}
        z = x * table[x]
        table[z] = 3
        return z * table[z] + len(table)

    return f


@program(
    lambda t: given(t(3), None),
    lambda t: given(t(3), t(3)),
    lambda t: given(t(3), 2.0),
    lambda t: given(t(3), np.float32(3)),
)
def operand_of_several_classes(x, y):
    if y is None:
        y = x
    return x * y + (y if not isinstance(y, paddle.Tensor) else y.sum())
