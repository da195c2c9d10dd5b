"""The tool that makes mistakes makes them, and what is said of survivors is said of mutants that there are."""

from __future__ import annotations

import importlib
import itertools

import pytest

import mutate

TOY = '''
from typing import Any

LIMIT = 3


def register(f):
    return f if LIMIT > 2 else None


@register
def between(x: Any, low: int = 1, *, high: int = 9) -> bool:
    """Whether x is in between."""
    if not low <= x < high:
        return False
    return True


class Counter:
    def __init__(self):
        self.n = 0
        self.seen = []

    def add(self, x, y=0):
        self.n += x - y
        self.seen.append((x, y))
        if self.n > 100 or x is None:
            raise ValueError(f"too much: {self.n + 1}")
        return sorted((p for p in self.seen if p[0] < 3), reverse=True)

    def samples(self):
        return self.n + 1


def made(step):
    def inner(x):
        return pow(x, step)

    return inner


square = made(2)
'''


@pytest.fixture
def toy(tmp_path, monkeypatch):
    (tmp_path / "toy_of_mutants.py").write_text(TOY)
    monkeypatch.syspath_prepend(tmp_path)
    module = importlib.import_module("toy_of_mutants")
    functions = mutate.living_functions(["toy_of_mutants"])
    codes = {f: f.__code__ for fs in functions.values() for f in fs}
    yield module, functions
    for f, code in codes.items():
        f.__code__ = code
    monkeypatch.delitem(mutate.sys.modules, "toy_of_mutants")


def behaviour(module):
    """What a caller sees of the toy."""

    def one(f, *args):
        try:
            return f(*args)
        except Exception as error:
            return type(error).__name__, str(error)

    counter = module.Counter()
    found = [one(module.between, x) for x in (0, 1, 2, 8, 9, 10)]
    found += [one(module.between, 5, low) for low in (4, 5, 6)]
    found += [one(counter.add, *args) for args in ((2,), (3, 1), (1, 7), (102,), (1,), (1, 48))]
    return [*found, vars(counter), one(module.square, 3), one(module.square, 2)]


def test_each_mistake_is_one(toy):
    """Every mutant of the toy changes what it does, and nothing outside of functions is mutated."""
    module, functions = toy
    mutants = mutate.mutants_of("toy_of_mutants")
    whats = {m.what for m in mutants}
    assert {
        "LtE is Lt", "Lt is LtE", "Gt is GtE", "Is is IsNot", "Or is And", "Sub is Add", "without Not", "left out",
        "returns None", "two arguments swapped", "without reverse=", "condition negated", "0 plus 1", "True is False",
    } <= whats  # fmt: skip
    assert {m.where for m in mutants} == {"between", "Counter.__init__", "Counter.add", "made", "made.inner"}
    assert len({m.key for m in mutants}) == len(mutants)
    before = behaviour(module)
    codes = {f: f.__code__ for fs in functions.values() for f in fs}
    same = []
    for mutant in mutants:
        assert mutate.apply(mutant, functions), mutant
        if behaviour(module) == before:
            same.append(mutant.key)
        for f, code in codes.items():
            f.__code__ = code
    # What is made at import is there already.
    assert same == ["toy_of_mutants made: 'return inner' returns None"]
    assert behaviour(module) == before


def test_a_draw_takes_of_every_module_in_turn():
    drawn = mutate.draw(["umiak.ops.compare", "umiak.ops.scan"], 5, seed=0)
    assert [m.module for m in drawn] == ["umiak.ops.compare", "umiak.ops.scan"] * 5
    assert drawn == mutate.draw(["umiak.ops.compare", "umiak.ops.scan"], 5, seed=0)
    assert drawn != mutate.draw(["umiak.ops.compare", "umiak.ops.scan"], 5, seed=1)


def test_what_is_said_of_survivors_is_said_of_mutants():
    known = mutate.explanations()
    assert all(known.values()), "a reason stands above the mutants"
    by_module = itertools.groupby(sorted(known), lambda key: key.split()[0])
    for short, keys in by_module:
        there = {m.key for m in mutate.mutants_of(f"umiak.{short}")}
        gone = sorted(set(keys) - there)
        assert not gone, f"no mutants any more: {gone}"
