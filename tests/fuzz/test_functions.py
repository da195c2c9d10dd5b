"""Random Python functions do captured what they do eagerly. ``docs/design/fuzzing.md`` has the counts."""

from __future__ import annotations

import numpy as np
import pytest

from tests.fuzz.functions.check import Failure, check
from tests.fuzz.functions.generate import BETWEEN, Program, generate
from tests.fuzz.functions.run import run
from tests.fuzz.functions.shrink import shrink

SAMPLE, EACH = 8, 4
ALL, CHUNK = 2_000, 50
CAPTURED = ("bytecode", "source")


pytestmark = pytest.mark.usefixtures("slow_kept_nowhere")


def holds(seeds: range) -> None:
    for seed in seeds:
        program = generate(seed)
        try:
            check(program, CAPTURED)
        except Failure as failure:
            program, failure = shrink(program, failure)
            pytest.fail(f"{program}# {failure}")


@pytest.mark.parametrize("first", range(0, SAMPLE, EACH))
def test_a_sample(first):
    holds(range(first, first + EACH))


@pytest.mark.slow
@pytest.mark.parametrize("first", range(SAMPLE, SAMPLE + ALL, CHUNK))
def test_all(first):
    holds(range(first, first + CHUNK))


# --- the net itself --------------------------------------------------------------------------------------------------


def test_a_seed_is_a_program():
    assert [generate(s) for s in range(5)] == [generate(s) for s in range(5)]
    assert len({generate(s).text for s in range(20)}) == 20


def test_between_calls_is_drawn_apart_from_the_text():
    programs = [generate(seed) for seed in range(60)]
    words = {word for p in programs for words in p.between for word in words}
    assert words == set(BETWEEN)
    assert any(not p.between for p in programs)


def test_results_are_written_to_and_go_on():
    text = WRONG.format(told="x", result="z")
    first, second = run(Program(0, text, "plain", (("held",), ("written", "onward"))), "eager").calls
    given = [call.objects["arguments"].parts["[0]"].parts["[0]"].parts for call in (first, second)]
    assert given[0][".grad"] is None
    np.testing.assert_allclose(given[1][".data"].values, first.objects["result"].parts[".data"].values + 0.25)
    assert not given[1][".is_leaf"]


WRONG = """
import paddle

SEEN = []

def told(x):
    return {told}

def program(x, n):
    y = x * 2
    for i in range(3):
        y = y + i
    if n > 1:
        SEEN.append(n)
    z = told(y)
    return {result}

def call_0(t):
    return ((t(2, 4), 1), {{}})

def call_1(t):
    return ((t(2, 4), 2), {{}})
"""


@pytest.mark.parametrize(
    ("told", "result", "what"),
    [
        ("x", "z", None),
        ("x + MODE", "z", "off by"),
        ("SEEN.append(MODE) or x", "z", "state['SEEN']"),
        ("print(MODE) or x", "z", "printed"),
        ("x if MODE == 0 else x.detach()", "z", "grad"),
        ("x", "(y, z) if MODE else (y, z * 1.0)", "grad"),
        ("x if MODE == 0 else [][0]", "z", "IndexError"),
        ("x if MODE == 0 else (paddle.rand([1]), x)[1]", "z", "random numbers"),
    ],
)
def test_a_difference_is_found_and_reduced(monkeypatch, told, result, what):
    """Of functions that do another thing in the mode: what ``MODE`` is, is exchanged behind them."""
    from tests.fuzz.functions import run as runs

    plain = runs.module_of
    modes = iter(range(10_000))

    def module_of(program):
        module = plain(program)
        module.MODE = next(modes) % 2  # eager runs and captured ones take turns
        return module

    monkeypatch.setattr(runs, "module_of", module_of)
    monkeypatch.setattr(runs, "_is_code", lambda x, old=runs._is_code: old(x) or type(x) is int)
    program = Program(0, WRONG.format(told=told, result=result), "plain")
    if what is None:
        check(program, ("bytecode",))
        return
    with pytest.raises(Failure) as found:
        check(program, ("bytecode",))
    assert what in str(found.value)
    small, failure = shrink(program, found.value, steps=60)
    assert len(small.text) < len(program.text)
    assert failure.kind() == found.value.kind()
