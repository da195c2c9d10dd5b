"""Arguments whose contents, order, types or classes differ from call to call: each has its own result."""

from __future__ import annotations

import array
import collections
import enum
import functools
import itertools
import math
import operator
import types
from dataclasses import dataclass

import numpy as np
import pytest

import paddle
import paddle.nn.functional as F


class Text(str):
    pass


class Count(int):
    pass


class Settings(dict):
    def __getattr__(self, name):
        try:
            return self[name]
        except KeyError:
            raise AttributeError(name) from None


class Pair(tuple):
    pass


@dataclass(frozen=True)
class Key:
    n: int


class Equal:
    __hash__ = None

    def __init__(self, n):
        self.n = n

    def __eq__(self, other):
        return self.n == other


class Levels:
    def __init__(self, *numbers):
        self.numbers = numbers

    def __iter__(self):
        return iter(self.numbers)


class Held:
    n = 0


HELD = Held()
ONE = Key(1)


def holds(kind, n):
    HELD.n = n
    return kind([HELD])


def by(n):
    return functools.wraps(F.relu)(lambda x: x * n)


def message(text, x):
    try:
        int(text)
    except ValueError as error:
        return x + len(str(error)) + len(error.args[0])
    return x


def keys(*names):
    return dict.fromkeys(names, 1).keys()


class Level(enum.IntEnum):
    LOW = 1
    HIGH = 22


x = paddle.to_tensor([1.0, -2.0])
first, second = {8, 0}, {0, 8}  # in two orders
# What is computed, and functions that make the values.
CASES = {
    "keys": (lambda k, x: x + len("".join(k)), lambda: keys("a"), lambda: keys("abc")),
    "keys compared": (lambda k, x: x + (k == {"a"}), lambda: keys("a"), lambda: keys("b")),
    "keys combined": (lambda k, x: x + len(k & {"a"}), lambda: keys("a"), lambda: keys("b")),
    "keys appended": (lambda k, x: x + sum([*k]), lambda: keys(1), lambda: keys(3)),
    "types of keys": (lambda k, x: x + len(repr(k)), lambda: {1: 1}, lambda: {True: 1}, lambda: {1.0: 1}),
    "types in keys": (lambda k, x: x + len(repr(k)), lambda: {(1,): 1}, lambda: {(True,): 1}),
    "signs of keys": (lambda k, x: x / next(iter(k)), lambda: {0.0: 1}, lambda: {-0.0: 1}),
    "types of elements": (lambda k, x: x + len(repr(k)), lambda: frozenset({1}), lambda: frozenset({1.0})),
    "kinds of sets": (lambda k, x: x + len(type(k).__name__), lambda: frozenset({1}), lambda: {1}),
    "orders of sets": (lambda k, x: x + next(iter(k)), lambda: first, lambda: second),
    "orders of frozen sets": (lambda k, x: x + next(iter(k)), lambda: frozenset(first), lambda: frozenset(second)),
    "elements": (lambda k, x: x + sum(o.n for o in k), lambda: holds(set, 1), lambda: holds(set, 5)),
    "keys that are objects": (
        lambda k, x: x + sum(o.n for o in k),
        lambda: holds(dict.fromkeys, 1),
        lambda: holds(dict.fromkeys, 5),
    ),
    "equal ranges": (lambda k, x: x + k.step + k.stop, lambda: range(0, 1, 1), lambda: range(0, 1, 5)),
    "equal slices": (lambda k, x: x + len(str(k)), lambda: slice(0, 1), lambda: slice(False, True)),
    "complex numbers": (lambda k, x: x + str(k).count("-"), lambda: complex(0, 0.0), lambda: complex(0, -0.0)),
    "lengths of deques": (
        lambda k, x: x + k.maxlen,
        lambda: collections.deque([1], maxlen=3),
        lambda: collections.deque([1], maxlen=5),
    ),
    "default factories": (
        lambda k, x: x + k["a"],
        lambda: collections.defaultdict(int),
        lambda: collections.defaultdict(lambda: 3),
    ),
    "dicts that make items": (
        lambda k, x: x + max(k),
        lambda: {3: 1},
        lambda: collections.defaultdict(int, {1: 3}),
    ),
    "texts of members": (lambda k, x: x + len(str(k)) + len(f"{k}"), lambda: Level.LOW, lambda: Level.HIGH),
    "methods of tensors": (
        lambda k, x: x + callable(k) + len(getattr(k, "__name__", "")) + len(type(k).__name__) + isinstance(k, int),
        lambda: x.add,
        lambda: x.subtract,
        lambda: 1,
    ),
    "specs": (
        lambda k, x: x + k.shape[0] + len(k.dtype.name),
        lambda: paddle.static.InputSpec([3], "float64"),
        lambda: paddle.static.InputSpec([3], "int8"),
        lambda: paddle.static.InputSpec([5], "int8"),
    ),
    "unlike objects": (lambda k, x: x + (k == ONE), lambda: types.SimpleNamespace(n=1), lambda: Key(1), lambda: Key(3)),
    "errors": (lambda k, x: x + k.args[0] + len(str(k)), lambda: ValueError(1), lambda: ValueError(333)),
    "caught errors": (message, lambda: "a", lambda: "aaaaa"),
    "texts": (lambda k, x: x + len(k.strip()) + len(f"{k}") + "ac".find(k), lambda: Text("a"), lambda: Text("abc")),
    "texts looked up": (
        lambda k, x: x + {"a": 1, "c": 4}[k] + ["c", "a"].index(k),
        lambda: Text("a"),
        lambda: Text("c"),
    ),
    "numbers": (lambda k, x: x.reshape([k, -1]) + [1, 5, 7][k] + sum(range(k)), lambda: Count(1), lambda: Count(2)),
    "settings": (lambda k, x: x + k["a"] + k.a, lambda: Settings(a=1), lambda: Settings(a=3)),
    "settings in settings": (
        lambda k, x: x + k.a.b,
        lambda: Settings(a=Settings(b=1)),
        lambda: Settings(a=Settings(b=3)),
    ),
    "tensors in settings": (lambda k, x: x + k.a, lambda: Settings(a=x), lambda: Settings(a=x * 3)),
    "missing settings": (lambda k, x: x + hasattr(k, "b"), lambda: Settings(a=1), lambda: Settings(b=1)),
    "copied settings": (lambda k, x: x + {**k}["a"] + dict(k)["a"], lambda: Settings(a=1), lambda: Settings(a=3)),
    "tuples": (lambda k, x: x + k[0] + len(k), lambda: Pair([1]), lambda: Pair([3, 4])),
    "tuples of tensors": (lambda k, x: x + k[0], lambda: Pair([x]), lambda: Pair([x * 2])),
    "equal objects in dicts": (lambda k, x: x + {ONE: 4}.get(k, 0), lambda: Key(1), lambda: Key(3)),
    "equal objects in sets": (lambda k, x: x + (k in {ONE}), lambda: Key(1), lambda: Key(3)),
    "equal objects in lists": (lambda k, x: x + [ONE, Key(3)].index(k), lambda: Key(1), lambda: Key(3)),
    "equal objects in tuples": (lambda k, x: x + ((k, 1) == (ONE, 1)), lambda: Key(1), lambda: Key(3)),
    "equality of the user's": (lambda k, x: x + [k].count(1) + (1 in [k]), lambda: Equal(1), lambda: Equal(3)),
    "iterated in C": (
        lambda k, x: x + math.fsum(k) + sum(itertools.chain(k, [1])) + collections.deque(k)[-1],
        lambda: Levels(1, 2),
        lambda: Levels(1, 2, 4),
    ),
    "buffers": (
        lambda k, x: x + len(b"".join([k])) + (k in [b"a"]),
        lambda: bytearray(b"a"),
        lambda: bytearray(b"abc"),
    ),
    "arrays": (lambda k, x: x + math.fsum(k), lambda: array.array("d", [1]), lambda: array.array("d", [3])),
    "code": (lambda k, x: x + k.co_argcount, lambda: (lambda a: a).__code__, lambda: (lambda a, b: a).__code__),
    "names of the library": (lambda k, x: k(x), lambda: by(1), lambda: by(3)),
}


@pytest.mark.parametrize("full_graph", [False, True])
@pytest.mark.parametrize("name", CASES)
def test_each_has_its_own_result(name, full_graph):
    f, *makers = CASES[name]
    captured = paddle.jit.to_static(f, full_graph=full_graph)
    for make in [*makers, *makers]:
        wanted = f(make(), x).numpy()
        try:
            got = captured(make(), x).numpy()
        except (RuntimeError, TypeError):  # one graph has no part that runs in Python
            assert full_graph
            return
        np.testing.assert_array_equal(got, wanted)
    assert not [r for r in captured.fallbacks if "captured for" in r]


MADE = {
    "item getters": (lambda k, x: k([x]) * 2, lambda: operator.itemgetter(0)),
    "transforms": (lambda k, x: x + k.size, lambda: paddle.vision.transforms.Resize(3)),
    "specs": (lambda k, x: x + k.shape[0] + len(k.dtype.name), lambda: paddle.static.InputSpec([3], "float64")),
    "attributes of parameters": (lambda k, x: x * 2 if k is not None else x, paddle.ParamAttr),
    "initializers": (lambda k, x: x * 2 if k else x, lambda: paddle.nn.initializer.Constant(1.0)),
    "equal keys": (lambda k, x: x + {ONE: 4}[k], lambda: Key(1)),
    "sets": (lambda k, x: x + sum(k), lambda: {1, 2}),
    "texts": (lambda k, x: x + len(k.strip()), lambda: Text("a")),
}


@pytest.mark.parametrize("name", MADE)
def test_equal_objects_made_anew_are_captured_once(name):
    f, make = MADE[name]
    captured = paddle.jit.to_static(f)
    for _ in range(5):
        captured(make(), x)
    assert captured.get_traced_count() == 1
