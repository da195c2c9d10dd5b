"""``for`` and ``while`` over numbers, tensors and containers."""

from __future__ import annotations

import paddle
from tests.jit.corpus.reasons import COPIES, NO_ITERATION, NUMBERS, NUMBERS_AND_COPIES, STRUCTURE
from tests.jit.corpus.registry import given, program


@program(
    lambda t: given(t(2, 2), 3),
    lambda t: given(t(2, 2), 0),
    lambda t: given(t(3, 3), 1),
    lambda t: given(t(1, 1), 5),
    differs=NO_ITERATION,
)
def power_by_a_loop(x, n):
    out = paddle.eye(x.shape[0])
    for _ in range(n):
        out = out @ x
    return out


@program(
    lambda t: t.of([1.0, 3.0]), lambda t: t.of([100.0, 300.0]), lambda t: t.of([0.25, 0.25]), allowed=NUMBERS_AND_COPIES
)
def while_on_a_tensor(x):
    steps = 0
    while x.sum() > 1.0:
        x = x * 0.5
        steps += 1
    return x, steps


@program(lambda t: given(t(3), 4), lambda t: given(t(3), 1), lambda t: given(t(3), 0))
def while_on_a_number(x, n):
    total = x
    while n > 0:
        total = total + x / n
        n -= 1
    else:
        total = total - 1
    return total, n


@program(
    lambda t: t.of([1.0, 2.0, 3.0, 4.0]),
    lambda t: t.of([5.0, 1.0, 1.0]),
    lambda t: t.of([0.5]),
    lambda t: t(0),
)
def break_on_a_tensor(x):
    total = paddle.zeros([])
    for i in range(x.shape[0]):
        total = total + x[i]
        if total > 4:
            break
    else:
        total = total * 100
    return total


@program(lambda t: t.of([1.0, -2.0, 3.0]), lambda t: t.of([-1.0, -2.0, -3.0, 4.0]), lambda t: t.of([-1.0]))
def continue_on_a_tensor(x):
    kept = []
    for v in x:
        if v < 0:
            continue
        kept.append(v * v)
    return kept


@program(lambda t: t(2, 3), lambda t: t(3, 3), lambda t: t(1, 2), lambda t: t(0, 2))
def nested_loops_over_elements(x):
    out = paddle.zeros([])
    for i in range(x.shape[0]):
        for j in range(x.shape[1]):
            if i == j:
                continue
            if j > i + 1:
                break
            out = out + x[i, j] * (i - j)
    return out


@program(lambda t: t(3, 2), lambda t: t(1, 2), lambda t: t(4, 2))
def enumerate_over_a_tensor(x):
    rows = []
    for i, row in enumerate(x, start=1):
        rows.append(row * i)
    return paddle.stack(rows), len(rows)


@program(lambda t: given(t(3, 2), t(3)), lambda t: given(t(2, 2), t(4)))
def zip_over_tensors(x, y):
    total = 0.0
    for a, b in zip(x, y):
        total = total + (a * b).sum()
    return total


@program(lambda t: t.of([3.0]), lambda t: t.of([20.0]), lambda t: t.of([-1.0]), allowed=NUMBERS)
def while_true_with_two_exits(x):
    n = 0
    while True:
        n += 1
        x = x - 2
        if x < 0:
            return x, n
        if n == 6:
            break
    return x * 100, n


@program(lambda t: t.of([6.0]), lambda t: t.of([7.0]), lambda t: t.of([1.0]), allowed=COPIES)
def collatz(x):
    length = paddle.zeros([1], "int64")
    while x != 1:
        if x % 2 == 0:
            x = x / 2
        else:
            x = 3 * x + 1
        length += 1
    return x, length


@program(lambda t: given(t(2), 5), lambda t: given(t(2), 2))
def loop_variable_after_its_loop(x, n):
    for i in range(n):
        y = x * i
    return y + i


@program(lambda t: given(t(2), [1, 2, 3]), lambda t: given(t(2), [4]), lambda t: given(t(2), []))
def loop_over_a_list_argument(x, factors):
    outs = [x]
    for f in factors:
        outs.append(outs[-1] * f)
    return outs


@program(
    lambda t: given(t(2), {"a": 2.0, "b": 3.0}),
    lambda t: given(t(2), {"b": 3.0}),
    lambda t: given(t(2), {}),
)
def loop_over_a_dict(x, weights):
    seen = []
    for name, w in weights.items():
        x = x * w
        seen.append(name)
    for name in weights:
        x = x + len(name)
    return x, seen, list(weights.values())


@program(lambda t: t.of([[4.0, 1.0], [2.0, 3.0]]), lambda t: t.of([[1.0, 2.0], [3.0, 4.0]]))
def bubble_sort_of_tensors(x):
    values = [x[i, j] for i in range(2) for j in range(2)]
    for i in range(len(values)):
        for j in range(len(values) - 1 - i):
            if values[j] > values[j + 1]:
                values[j], values[j + 1] = values[j + 1], values[j]
    return paddle.stack(values)


@program(lambda t: given(t(4), range(0, 4, 2)), lambda t: given(t(4), range(3, -1, -1)))
def loop_over_a_range_argument(x, indices):
    out = x[0] * 0
    for k in indices:
        out = out * 2 + x[k]
    return out


@program(lambda t: t.of([2.0, 2.0]), lambda t: t.of([0.5, 0.1]), allowed=NUMBERS)
def while_with_a_compound_condition(x):
    i = 0
    while i < 5 and x.max() < 10:
        x = x * x
        i = i + 1
    return x, i


@program(lambda t: t(5), lambda t: t(2), refused=STRUCTURE)
def break_out_of_two_loops(x):
    found = None
    for i in range(len(x)):
        for j in range(i + 1, len(x)):
            if x[i] * x[j] < 0:
                found = (i, j)
                break
        if found:
            break
    return found, x if found is None else x[found[0]]
