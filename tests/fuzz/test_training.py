"""Random training in one process does captured what it does as written. ``docs/design/fuzzing.md`` has the counts."""

from __future__ import annotations

import itertools
from dataclasses import replace

import pytest

import paddle
from tests.fuzz import training
from tests.fuzz.training import CAPTURED, CLIPS, EVENTS, OPTIMIZERS, PARTS, PRECISIONS, Step, check, draw

SAMPLE = range(3, 8)
ALL, CHUNK = 600, 20

pytestmark = pytest.mark.usefixtures("slow_kept_nowhere")


@pytest.mark.parametrize("seed", SAMPLE)
def test_a_sample(seed):
    assert check(draw(seed)) is None


@pytest.mark.slow
@pytest.mark.parametrize("first", range(0, ALL, CHUNK))
def test_all(first):
    assert not [text for text in map(check, map(draw, range(first, first + CHUNK))) if text]


def test_a_seed_is_a_case_of_every_kind():
    cases = [draw(seed) for seed in range(600)]
    assert [draw(seed) for seed in range(5)] == cases[:5]
    assert {part for case in cases for part in case.parts} == set(PARTS)
    assert {event for case in cases for step in case.steps for event in step.events} == {*EVENTS} - {"nothing"}
    for name, values in (
        ("optimizer", OPTIMIZERS), ("clip", CLIPS), ("captured", CAPTURED), ("precision", PRECISIONS),
    ):  # fmt: skip
        assert {getattr(case, name) for case in cases} == set(values)


def wrong_result(f):
    return lambda *args: (f(*args)[0] * 1.01, f(*args)[1])


def shared_result(f):
    """Gives all results in one memory."""
    first = []

    def kept(*args):
        results = f(*args)
        first.append(results) if not first else None
        for old, new in zip(first[0], results, strict=True):
            if new is not old:
                old.detach().copy_(new.detach())
                new.detach().set_(old.detach())
        return first[0]

    return kept


@pytest.mark.parametrize(("wrap", "what"), [(wrong_result, "loss is"), (shared_result, "in the end")])
def test_a_planted_mistake_is_found_and_reduced(monkeypatch, wrap, what):
    steps = (Step(3, 3, ()), Step(3, 3, ("evaluation",)), Step(3, 3, ()))
    case = replace(
        draw(0), parts=("linear", "layer norm"), optimizer="SGD", clip="none", captured="step", one_graph=False,
        precision="float32", clear="after", steps=steps,
    )  # fmt: skip
    monkeypatch.setattr(paddle.jit, "to_static", lambda f, full_graph: f)
    assert check(case) is None
    monkeypatch.setattr(paddle.jit, "to_static", lambda f, full_graph: wrap(f))
    text = check(case)
    assert text is not None and what in text
    small = training.reduced(0, text, (), case, tries=8)
    assert what in small and small.count("Step(") < 3


def test_what_a_case_is_reduced_to_has_less():
    case = draw(3)
    for other in itertools.islice(training.smaller(case), 100):
        assert other != case
