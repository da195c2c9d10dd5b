"""Comprehensions, and functions that take functions."""

from __future__ import annotations

import paddle
from tests.jit.corpus.reasons import BREAKS, NUMBERS, STRUCTURE
from tests.jit.corpus.registry import given, program


@program(lambda t: t(3, 2), lambda t: t(1, 2), lambda t: t(0, 2))
def list_comprehension_over_rows(x):
    return [row * i for i, row in enumerate(x)], [r.sum() for r in x if r.shape[0] > 1]


@program(lambda t: given(t(2), ["a", "bb"]), lambda t: given(t(2), ["ccc"]))
def dict_comprehension(x, names):
    table = {name: x * len(name) for name in names}
    inverse = {len(k): k for k in table}
    return table, inverse


@program(lambda t: given(t(2), [1, 2, 2, 3]), lambda t: given(t(2), [5]))
def set_comprehension(x, numbers):
    distinct = {n % 3 for n in numbers}
    return x * len(distinct) + max(distinct), distinct


@program(lambda t: t(2, 3), lambda t: t(3, 2))
def nested_comprehension(x):
    rows, columns = x.shape
    grid = [[x[i, j] * (i + j) for j in range(columns) if j != i] for i in range(rows)]
    flat = [v for row in grid for v in row]
    return paddle.stack(flat), [(i, j) for i in range(rows) for j in range(i)]


@program(lambda t: given(t(2), 3), lambda t: given(t(2), 4))
def comprehension_that_reads_a_closure(x, n):
    scale = x.sum()

    def inner():
        return [scale * k + n for k in range(n)]

    return inner(), {k: (lambda v: v * scale)(k) for k in range(2)}


@program(lambda t: given(t(4)), lambda t: given(t(2)), refused=STRUCTURE)
def comprehension_with_a_tensor_condition(x):
    return [v * 2 for v in x if v > 0], [("p" if v > 0 else "n") for v in x]


@program(lambda t: given(t(3)), lambda t: given(t(5)))
def generator_expression_in_a_call(x):
    total = sum(v * v for v in x)
    most = max(n * n for n in range(x.shape[0]))
    text = "-".join(str(n) for n in range(3))
    return total, most, text, any(n > 3 for n in range(len(x))), all(n < 3 for n in range(len(x)))


@program(lambda t: given([t(1), t(3), t(2)]), lambda t: given([t(4), t(2)]))
def sorted_by_a_key(xs):
    by_size = sorted(xs, key=lambda v: v.shape[0])
    backwards = sorted(xs, key=lambda v: -len(v), reverse=True)
    xs.sort(key=len)
    return [v.sum() for v in by_size], backwards[0], xs[-1] * 2


@program(lambda t: given([t(1), t(1), t(1)]), lambda t: given([t(1)]), refused=BREAKS)
def sorted_by_values_of_tensors(xs):
    order = sorted(range(len(xs)), key=lambda i: float(xs[i]))
    return [xs[i] * k for k, i in enumerate(order)], max(xs, key=lambda v: v.item()), min(xs)


@program(lambda t: given(t(3), [3, 1, 2]), lambda t: given(t(3), [2, 1, 0]))
def builtins_over_numbers(x, numbers):
    a = sum(numbers) + sum(numbers, 10) + min(numbers) + max(numbers, key=lambda n: -n) + max(1, 2, 3)
    b = any(n > 2 for n in numbers), all(numbers), max([], default=7), min(5, *numbers)
    pairs = list(zip(numbers, "abc", range(3)))
    c = list(map(str, numbers)), list(filter(None, numbers)), list(enumerate(numbers, 1)), pairs
    return x * a, b, c, sorted(numbers, reverse=True), list(reversed(numbers))


@program(lambda t: given([t(2), t(2)]), lambda t: given([t(2), t(2), t(2)]), allowed=NUMBERS)
def builtins_over_tensors(xs):
    total = sum(xs)
    products = list(map(lambda a, b: a * b, xs, reversed(xs)))
    long = list(filter(lambda v: v.shape[0] > 1, xs))
    signs = any(x.sum() > 0 for x in xs), all(x.sum() > 0 for x in xs)
    return total, products, long, signs


@program(lambda t: t.of([1.0, 5.0, 3.0]), lambda t: t.of([2.0, -5.0]), refused=BREAKS)
def builtins_of_one_tensor(x):
    return max(x), min(x), sum(x), abs(x), len(x), sorted(x)[0], pow(x, 2), divmod(7, len(x))


@program(lambda t: given(t(2), 2), lambda t: given(t(2), 3))
def unpacked_comprehensions(x, n):
    parts = paddle.concat([*[x * k for k in range(n)], x])
    return parts, [*range(n), *"ab"], {**{"a": n}, "b": x}, (*parts.shape, n)
