"""Unpacking, walrus, augmented assignment, ``del`` and ``match``."""

from __future__ import annotations

from typing import NamedTuple

import paddle
from tests.jit.corpus.reasons import CONDITION
from tests.jit.corpus.registry import given, program


class Point(NamedTuple):
    x: object
    y: object


class Segment:
    __match_args__ = ("start", "end")

    def __init__(self, start, end):
        self.start, self.end = start, end


@program(lambda t: given((t(2), t(2)), [1, 2, 3]), lambda t: given((t(3), t(3)), [4, 5, 6]))
def nested_unpacking(pair, numbers):
    (a, b), [c, (d, e)] = pair, [numbers[0], numbers[1:]]
    a, b = b, a
    return a * c - b * d + e


@program(lambda t: given(t(4, 2)), lambda t: given(t(2, 2)), lambda t: given(t(5, 2)))
def starred_assignment(x):
    first, *middle, last = x
    *init, tail = "abc"
    (head, *rest), n = [1, 2, 3], len(middle)
    return first + last, middle, init, tail, head, rest, n


@program(lambda t: t(2, 3), lambda t: t(2, 1))
def unpacking_a_tensor(x):
    a, b = x
    rows, columns = x.shape
    return a * b, rows * columns


@program(lambda t: given(t(1, 3)), lambda t: given(t(3, 3)), raises="ValueError")
def unpacking_too_few(x):
    y = x * 2
    (only,) = [n for n in range(x.shape[0])]
    return y * only


@program(lambda t: given(t.of([1.0, 2.0]), [1, 5, 9]), lambda t: given(t(4), [20, 3]), lambda t: given(t(4), []))
def walrus(x, numbers):
    if (n := len(numbers)) > 2:
        x = x * n
    while (k := n - 2) > 0:
        n -= 1
    squares = [y for v in numbers if (y := v * v) > 10]
    if (s := x.sum()) > 0:
        return s, k, squares
    return s - 1, k, squares


@program(lambda t: given(t(2), t(2, grad=False), [1]), lambda t: given(t(3), t(3, grad=False), [2, 3]))
def augmented_assignment(x, y, items):
    z = x
    z = z + 0
    z += 1
    z *= 2
    z -= y
    z /= 4
    y += 3
    items += [7]
    items[0] += 10
    items *= 2
    n = 5
    n //= 2
    n **= 3
    n |= 1
    n <<= 2
    n ^= 3
    n %= 7
    return z, n


@program(lambda t: given(t(2, 2), {"a": [0, 1]}), lambda t: given(t(2, 2), {"a": [5, 6]}))
def targets_that_are_items(x, d):
    d["b"], d["a"][1] = x[0], x[1]
    for d["i"] in range(3):
        pass
    d["n"] = d["m"] = d["i"] + 1
    return d["b"] * d["n"]


@program(lambda t: given(t(2), [1, 2, 3, 4], {"a": 1, "b": 2}), lambda t: given(t(3), [5, 6, 7], {"b": 3}))
def delete_statements(x, items, d):
    del items[0], items[-1:]
    del d["b"]
    y = x * len(items)
    del x
    return y + sum(items) + len(d)


@program(lambda t: given(t(2), False), lambda t: given(t(2), True), raises="UnboundLocalError")
def use_after_delete(x, remove):
    y = x * 2
    if remove:
        del y
    return y + 1


@program(
    lambda t: given(t(2), 0),
    lambda t: given(t(2), 3),
    lambda t: given(t(2), "go"),
    lambda t: given(t(2), "stay"),
    lambda t: given(t(2), None),
    lambda t: given(t(2), 2.5),
)
def match_on_literals(x, command):
    match command:
        case 0:
            return x
        case 1 | 2 | 3 as n:
            return x * n
        case "go":
            x = x + 1
        case str() as text if len(text) > 3:
            x = x - len(text)
        case None:
            x = -x
        case _:
            x = x / command
    return x, command


@program(
    lambda t: given([t(2)]),
    lambda t: given([t(2), t(2)]),
    lambda t: given([t(2), 1, 2, 3]),
    lambda t: given([]),
    lambda t: given((t(2), (1, 2))),
)
def match_on_sequences(items):
    match items:
        case []:
            return paddle.zeros([2])
        case [x]:
            return x
        case [x, paddle.Tensor() as y]:
            return x * y
        case [x, (a, b)]:
            return x * a + b
        case [x, *rest]:
            return x + sum(rest)


@program(
    lambda t: given({"op": "scale", "x": t(2), "by": 3}),
    lambda t: given({"op": "shift", "x": t(2), "extra": 1, "more": 2}),
    lambda t: given({"x": t(2)}),
    lambda t: given(Point(t(2), 1)),
    lambda t: given(Segment(t(2), t(2))),
    lambda t: given(Segment(None, t(2))),
)
def match_on_mappings_and_classes(value):
    match value:
        case {"op": "scale", "x": x, "by": k}:
            return x * k
        case {"op": "shift", "x": x, **rest}:
            return x + sum(rest.values())
        case {"x": x}:
            return x
        case Point(x=x, y=int(y)):
            return x - y
        case Segment(None, end):
            return end * 10
        case Segment(start=a, end=b):
            return a - b


@program(lambda t: t.of([1.0, 2.0]), lambda t: t.of([-1.0, -2.0]), lambda t: t.of([-3.0, 3.0]), refused=CONDITION)
def match_with_tensor_guards(x):
    match x.shape[0]:
        case 2 if x.sum() > 0:
            return x * 2
        case 2 if x.sum() == 0:
            return x + 5
        case n:
            return x * n - 1


@program(lambda t: given(t(10), slice(2, 8, 3)), lambda t: given(t(10), slice(None, -3)), lambda t: given(t(10), 4))
def slices_in_variables(x, s):
    every = slice(None, None, 2)
    table = {"s": s, "e": every}
    y = x[table["e"]]
    return x[s] * 2, y, every.indices(5), every.step
