"""Cases that fail are reduced to what fails in the same way."""

from __future__ import annotations

import pytest

from tests.fuzz.shrink import fewer, fewer_lines, kind_of, reduction, shrunk


@pytest.mark.parametrize(("count", "first"), [(0, 0), (1, 0), (1, 1), (2, 3), (5, 0), (8, 3)])
def test_items_go_by_halves_and_one_by_one(count, first):
    items = list(range(count))
    found = list(fewer(items, first))
    assert all(x[:first] == items[:first] and x == sorted(x) and len(x) < count for x in found)
    assert [i for i in items[first:] if items[:i] + items[i + 1 :] in found] == items[first:]
    assert [len(x) for x in found] == sorted(len(x) for x in found)


def test_what_is_needed_is_left_alone():
    needed, asked = {3, 20, 77}, []

    def fails(case, wrong):
        asked.append(case)
        return wrong if needed <= set(case) else None

    assert shrunk(list(range(100)), "wrong", fewer, fails, 400) == ([3, 20, 77], "wrong")
    assert len(asked) < 100
    asked.clear()
    assert len(shrunk(list(range(100)), "wrong", fewer, fails, 5)[0]) > 3 and len(asked) == 5


def test_a_case_is_reduced_to_what_is_wrong_in_the_same_way():
    """``b`` fails otherwise without ``a``, and without ``head`` nothing means anything."""

    def check(seed, tally, only, text):
        lines = text.split()
        if "head" not in lines:
            raise ValueError
        told = "a difference" if {"a", "b"} <= set(lines) else "another one" if "b" in lines else None
        return told and f"{text}{only[0]}, seed {seed}: {told} of {len(lines)} lines"

    text = "head\nx\na\ny\nb\nz\n"
    reduced = reduction(lambda seed: text, check, fewer_lines)
    assert reduced(3, check(3, None, ["way"], text), ["way"]) == "head\na\nb\nway, seed 3: a difference of 3 lines"


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("x = 1\nloaded, seed 3: ValueError: [matmul] requires much", "ValueError: [matmul] requ"),
        ("Case()\none graph, seed 3, call 2: result is 3", "result is "),
        ("Case()\nstep 3: loss is 2", "step "),
        ("Case()\ncaptured: ValueError: 7 of them", "captured: ValueError:"),
        ("Case()\npredicted, (1, 2): result 0", "predicted, ("),
        ("no line behind the first", ""),
    ],
)
def test_failures_of_one_cause_have_their_kind_in_common(text, kind):
    assert kind_of(text) == kind
