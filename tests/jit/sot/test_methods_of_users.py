"""Methods of the user's classes that built-in functions call, also where they end a graph."""

from __future__ import annotations

import collections
import enum
import math
import operator
import os
from contextlib import suppress

import numpy as np
import pytest

import paddle

x = paddle.to_tensor([0.5, -1.5])


def breaking(value):
    """The value, after what no graph has."""
    assert os.getpid()
    return value


class Own:
    def __init__(self, n):
        self.n = n

    def __str__(self):
        return breaking(f"s{self.n}")

    def __repr__(self):
        return breaking(f"r{self.n}")

    def __format__(self, spec):
        return breaking(f"f{self.n}{spec}")

    def __abs__(self):
        return breaking(abs(self.n))

    def __neg__(self):
        return breaking(-self.n)

    def __len__(self):
        return breaking(self.n + 2)

    def __int__(self):
        return breaking(self.n + 5)

    def __float__(self):
        return breaking(self.n + 0.5)

    def __iter__(self):
        return breaking(iter([self.n, 3]))

    def __bytes__(self):
        return breaking(b"own")

    @property
    def doubled(self):
        return breaking(self.n * 2)

    @property
    def refused(self):
        raise breaking(AttributeError("refused"))


PARTS = {
    "converted and padded": lambda a, b: f"{a!s:>8}|{b!r:<5}|",
    "texts": lambda a, b: ",".join(map(str, [a, b])) + "".join(map(repr, [b, a])),
    "formats": lambda a, b: list(map(format, [a, b], ["x", "y"])),
    "numbers": lambda a, b: [*map(int, [a, b]), *map(float, [a, b]), *map(len, [a, b])],
    "operators": lambda a, b: [*map(abs, [a, b]), *map(operator.neg, [a, b])],
    "keys": lambda a, b: [v.n for v in sorted([b, a], key=abs)] + [max(a, b, key=str).n],
    "iterators": lambda a, b: [list(a) + list(b), list(zip(a, b)), list(enumerate(a)), tuple(map(tuple, [a, b]))],
    "unpacked": lambda a, b: (lambda p, q: p + q)(*a),
    "sums": lambda a, b: math.fsum(a) + sum(b),
    "attributes": lambda a, b: list(map(getattr, [a, b], ["doubled", "n"])),
    "whether there is one": lambda a, b: (hasattr(a, "doubled"), hasattr(b, "refused")),
    "a default": lambda a, b: (getattr(a, "refused", 7), getattr(b, "doubled", 7)),
    "bytes": lambda a, b: bytes(a) + b"|",
}


@pytest.mark.parametrize("full_graph", [False, True])
@pytest.mark.parametrize("part", PARTS)
def test_a_method_that_ends_a_graph_gives_no_result_of_the_call_around_it(part, full_graph):
    f = PARTS[part]
    captured = paddle.jit.to_static(lambda x, a, b: (x * 2.0, f(a, b)), full_graph=full_graph)
    for a, b in ((1, -2), (1, -2), (0, 4)):
        with suppress(*[RuntimeError, TypeError] * full_graph):  # one graph is refused there
            assert captured(x, Own(a), Own(b))[1] == f(Own(a), Own(b))


class Number(enum.IntEnum):
    ONE = 1


class Shown(enum.IntEnum):
    ONE = 1

    def __repr__(self):
        return "one"


class Plain(int):
    __str__ = int.__repr__

    def __repr__(self):
        return "plain"


class Accent:
    def __repr__(self):
        return "é"


class NoText:
    __str__ = __repr__ = lambda self: 5


TEXTS = {
    "str": str,
    "repr": repr,
    "ascii": ascii,
    "format": "{}".format,
    "method": lambda k: k.__str__(),
    "conversion": lambda k: f"{k!a:>9}",
}


def outcome(f, *args):
    try:
        return f(*args)[1]
    except TypeError as error:
        return str(error)


@pytest.mark.parametrize("text", TEXTS)
@pytest.mark.parametrize("k", [Number.ONE, Shown.ONE, Plain(3), Accent(), NoText()], ids=lambda k: type(k).__name__)
def test_texts(k, text):
    def f(x, k):
        return x * 2.0, TEXTS[text](k)

    captured = paddle.jit.to_static(f)
    assert outcome(captured, x, k) == outcome(captured, x, k) == outcome(f, x, k)


class Equal:
    """Equal to what has the same number; of other things it says nothing."""

    def __init__(self, n):
        self.n = n

    def __eq__(self, other):
        return self.n == other.n if isinstance(other, Equal) else NotImplemented

    __hash__ = None


class Answer(Equal):
    def __eq__(self, other):
        return self.n


class Refusing:
    def __eq__(self, other):
        raise ValueError("refused")


class Unequal:
    def __ne__(self, other):
        return "unequal"


class OwnRow(list):
    def __eq__(self, other):
        return "row"


SIDES = (
    Equal(1), Equal(2), Answer(0), Answer("yes"), Answer([]), Refusing(), Unequal(), OwnRow([1]), [1], 1, None, Own,
    object(), x.add, x.abs, len,
)  # fmt: skip


@pytest.mark.parametrize("compare", [operator.eq, operator.ne], ids=["eq", "ne"])
def test_equality_asks_both_sides_as_python_does(compare):
    def f(x, a, b):
        return x * 2.0, compare(a, b)

    def outcome(function, *args):
        try:
            return function(*args)[1]
        except ValueError as error:
            return str(error)

    for a in SIDES:
        captured = paddle.jit.to_static(lambda x, b, a=a: f(x, a, b))
        for b in SIDES:
            got, wanted = outcome(captured, x, b), outcome(f, x, a, b)
            assert type(got) is type(wanted) and got == wanted, (a, b)
        assert set(captured.fallbacks) <= {"ValueError: refused is raised"}


calls = []


class Row(list):
    def __getitem__(self, i):
        calls.append(i)
        return 7


class Table(dict):
    def __missing__(self, key):
        calls.append(key)
        return 11


class Told(Table):
    def __contains__(self, key):
        calls.append("in")
        return True


class Property:
    def __init__(self, n):
        self._n = n

    @property
    def n(self):
        calls.append("n")
        return self._n


class Slot:
    __slots__ = ("n",)

    def __init__(self, n):
        self.n = n


READ = {
    "items": (
        lambda x, k: x * k[0],
        [lambda: [x], lambda: Row([x]), lambda: (x * 2,), lambda: Table(), lambda: Told({0: x}), lambda: {0: x * 3},
         lambda: Table({0: x}), lambda: collections.deque([x])],
    ),
    "members": (
        lambda x, k: x * k.n,
        [lambda: Slot(x), lambda: Property(x * 2), lambda: Slot(3), lambda: Property(4), lambda: Slot(x * 3)],
    ),
    "items of members": (
        lambda x, k: x * k.n[0],
        [lambda: Slot([x]), lambda: Property([x]), lambda: Slot(Row([3])), lambda: Slot(Table())],
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", READ)
def test_what_other_classes_have_is_called_as_often_as_it_is_read(name):
    """An object that is given in place of another one, with methods or properties where that one had none."""
    f, makers = READ[name]
    captured = paddle.jit.to_static(f)
    for make in [*makers, *makers, *reversed(makers)]:
        found = []
        for g in (f, captured):
            calls.clear()
            found.append((g(x, make()).numpy().tolist(), list(calls)))
        np.testing.assert_equal(found[1], found[0])
