"""What compares captured programs with eager ones sees every kind of difference."""

from __future__ import annotations

import random

import numpy as np
import pytest

import paddle
from tests.jit.corpus import run as runs
from tests.jit.corpus.check import check
from tests.jit.corpus.registry import FOLDER, Program, Refusal, given
from tests.jit.corpus.snapshot import Snapshot, differences

CELL = {"calls": 0}


def subject(x, items, at):
    CELL["calls"] += 1
    items.append(CELL["calls"])
    print("sum", len(items))
    x.add_(paddle.ones_like(x))
    return {"y": x * items[0] + paddle.rand([2]), "at": at, "items": items}


def fresh():
    CELL["calls"] = 0
    return subject


def program(**options):
    calls = (
        lambda t: given(t(2, grad=False), [2.0], at=1),
        lambda t: given(t(2, grad=False), [3.0], at="b"),
    )
    return Program("subject", "harness", "factory", fresh, calls, **options)


class Altered(runs.Mode):
    """A mode that calls functions eagerly, with a mistake."""

    def __init__(self, mistake):
        super().__init__("eager")
        self.mistake = mistake

    def capture(self, function):
        return lambda *args, **kwargs: self.mistake(function, args, kwargs)


def doubled(function, args, kwargs):
    out = function(*args, **kwargs)
    return out | {"y": out["y"] * 1.001}


def cast(function, args, kwargs):
    out = function(*args, **kwargs)
    return out | {"y": out["y"].astype("float64")}


def copied_result(function, args, kwargs):
    out = function(*args, **kwargs)
    return out | {"items": list(out["items"])}


def another_type(function, args, kwargs):
    out = function(*args, **kwargs)
    return out | {"at": float(out["at"]) if out["at"] == 1 else out["at"]}


def no_mutation(function, args, kwargs):
    out = function(args[0], list(args[1]), **kwargs)
    return out | {"items": args[1]}


def not_in_place(function, args, kwargs):
    return function(args[0].clone(), args[1], **kwargs)


def twice(function, args, kwargs):
    function(args[0].clone(), list(args[1]), **kwargs)
    return function(*args, **kwargs)


def another_order(function, args, kwargs):
    return dict(reversed(function(*args, **kwargs).items()))


def python_draw(function, args, kwargs):
    random.random()
    return function(*args, **kwargs)


def numpy_draw(function, args, kwargs):
    np.random.rand()
    return function(*args, **kwargs)


def failing(function, args, kwargs):
    function(*args, **kwargs)
    raise ValueError("of the mode")


def attribute(function, args, kwargs):
    out = function(*args, **kwargs)
    out["y"].stop_gradient = False
    return out


MISTAKES = {
    doubled: "off by",
    cast: "float64 in place of float32",
    copied_result: "in place of Reference",
    another_type: "1.0 in place of 1",
    no_mutation: "missing",
    not_in_place: "off by",
    twice: "CALLS",
    another_order: "keys",
    python_draw: "generator of random",
    numpy_draw: "generator of numpy",
    failing: "ValueError",
    attribute: "stop_gradient",
}


@pytest.mark.parametrize("mistake", MISTAKES, ids=lambda m: m.__name__)
def test_a_mistake_is_found(mistake, monkeypatch):
    monkeypatch.setattr(runs, "PACKAGE", __name__)
    right = runs.run(program(), runs.Mode("eager"))
    assert runs.run_differences(runs.run(program(), runs.Mode("eager")), right) == []
    found = runs.run_differences(runs.run(program(), Altered(mistake)), right)
    assert MISTAKES[mistake].lower() in "\n".join(found).lower()


def raising(x, flag):
    if flag:
        print(x.shape)
        raise KeyError(x.shape[0])
    return x * x


def raising_elsewhere(x, flag):
    if flag:
        print(x.shape)
        raise KeyError(x.shape[0])
    return x * x


def no_gradient(function, args, kwargs):
    return (function(*args, **kwargs).detach() * args[0]) if not args[1] else function(*args, **kwargs)


def silent(function, args, kwargs):
    if args[1]:
        raise_from = compile("\n" * 136 + "raise KeyError(3)", str(FOLDER / "test_corpus_harness.py"), "exec")
        exec(raise_from)
    return function(*args, **kwargs)


def another_line(function, args, kwargs):
    return raising_elsewhere(*args, **kwargs)


def another_message(function, args, kwargs):
    try:
        return function(*args, **kwargs)
    except KeyError as error:
        error.args = ("other",)
        raise


def another_error(function, args, kwargs):
    try:
        return function(*args, **kwargs)
    except KeyError as error:
        raise IndexError(*error.args) from error


ERRORS = {
    no_gradient: ".grad",
    silent: "printed ''",
    another_line: "KeyError at",
    another_message: "message \"'other'\"",
    another_error: "IndexError at",
}


@pytest.mark.parametrize("mistake", ERRORS, ids=lambda m: m.__name__)
def test_a_mistake_about_errors_or_gradients_is_found(mistake, monkeypatch):
    monkeypatch.setattr(runs, "PACKAGE", __name__)
    monkeypatch.setattr(runs, "FOLDER", FOLDER.parents[1] / "test_corpus_harness.py")
    calls = (lambda t: (t(3), False), lambda t: (t(3), True))
    subject = Program("raising", "harness", "factory", lambda: raising, calls)
    right = runs.run(subject, runs.Mode("eager"))
    assert [r.raised and r.raised.kind for r in right.effects] == [None, "KeyError"] * runs.ROUNDS
    found = runs.run_differences(runs.run(subject, Altered(mistake)), right)
    assert ERRORS[mistake] in "\n".join(found)


def test_a_refusal_must_come(monkeypatch):
    monkeypatch.setattr(runs, "PACKAGE", __name__)
    assert check(program(), "eager").passed
    verdict = check(program(refused={"eager": Refusal("for this test", "no such")}), "eager")
    assert verdict.lines == ["no error that says 'no such', but results"]


def test_a_declared_difference_must_be_there(monkeypatch):
    monkeypatch.setattr(runs, "PACKAGE", __name__)
    verdict = check(program(differs={"eager": "for this test"}), "eager")
    assert verdict.lines == ["no difference, where one is declared"]


def test_snapshots_of_equal_objects_are_equal():
    def closure(n):
        return lambda: n

    shared = [1]
    cases = [(1, 1.0), ([shared, shared], [[1], [1]]), ({1: 2, 3: 4}, {3: 4, 1: 2}), ({1}, {2}), ("a", b"a")]
    cases += [(slice(1), slice(2)), (iter([1, 2]), iter([1, 3])), (closure(1), closure(2)), (True, 1), (0.0, None)]
    cases += [(paddle.ones([2]), paddle.ones([3])), (np.float32(1), np.float64(1)), (ValueError("a"), ValueError("b"))]
    for a, b in cases:
        first, again, other = (Snapshot(__name__, last=True).of(x, "x", closures=True) for x in (a, a, b))
        if not isinstance(a, type(iter([]))):
            assert not [*differences(first, again, "x")]
        assert [*differences(first, other, "x")], (a, b)


def test_allowed_differences_are_no_others():
    shared = [1]

    def found(x, y, allowed):
        a, b = (Snapshot(__name__).of(v, "x") for v in (x, y))
        return [*differences(a, b, "x", 1.0, allowed)]

    assert found([paddle.to_tensor(3)], [3], ()) and not found([paddle.to_tensor(3)], [3], ("numbers",))
    assert found([paddle.to_tensor(4)], [3], ("numbers",)) and found([paddle.to_tensor([3, 3])], [3], ("numbers",))
    assert found([[1], [1]], [shared, shared], ()) and not found([[1], [1]], [shared, shared], ("copies",))
    assert found([[1], [2]], [shared, shared], ("copies",))

    used, unused, zeros = (paddle.ones([2]) for _ in range(3))
    for x, gradient in ((used, 1.0), (zeros, 0.0)):
        x.stop_gradient = False
        (x * gradient).sum().backward()
    unused.stop_gradient = False
    assert found(zeros, unused, ()) and not found(zeros, unused, ("zeros",)) and found(used, unused, ("zeros",))
