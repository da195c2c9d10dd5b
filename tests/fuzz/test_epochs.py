"""Random training of some epochs is what PyTorch makes of it. ``docs/design/fuzzing.md`` has the counts."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import pytest

import paddle
from tests.fuzz.epochs import draw as cases
from tests.fuzz.epochs.check import WAYS, check, check_case, check_mixed, differs, judged, reduced, smaller
from tests.fuzz.epochs.draw import draw
from tests.fuzz.epochs.parts import PARTS

# Found: a second derivative behind a graph break, a parameter that was frozen when its step was captured.
FOUND = ((85, "captured"), (63, "captured"))
SAMPLE = (1, 4)
ALL, CHUNK = 400, 20

pytestmark = pytest.mark.usefixtures("slow_kept_nowhere")


@pytest.mark.parametrize(("seed", "way"), FOUND)
def test_what_was_found(seed, way):
    assert check(seed, Counter(), (way,)) is None


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("seed", SAMPLE)
def test_a_sample(seed, way):
    assert check(seed, Counter(), (way,)) is None


# Found: an optimizer that looks ahead, whose counts a captured step did not go on with.
@pytest.mark.parametrize(("seed", "way"), [(15, "captured"), (0, "eager"), (2, "captured")])
def test_a_sample_in_mixed_precision(seed, way):
    assert check_mixed(seed, Counter(), (way,)) is None


@pytest.mark.slow
@pytest.mark.parametrize("first", range(0, ALL, CHUNK))
def test_all(first):
    tally: Counter[str] = Counter()
    assert not [text for seed in range(first, first + CHUNK) if (text := check(seed, tally))]


@pytest.mark.slow
@pytest.mark.parametrize("first", range(0, ALL, CHUNK))
def test_all_in_mixed_precision(first):
    tally: Counter[str] = Counter()
    assert not [text for seed in range(first, first + CHUNK) if (text := check_mixed(seed, tally))]


def test_a_seed_is_a_case_of_every_kind():
    drawn = [draw(seed) for seed in range(400)]
    assert [draw(seed) for seed in range(5)] == drawn[:5]
    assert {part.removesuffix(" again") for case in drawn for part in case.parts} == set(PARTS)
    assert {hook for case in drawn for hook in case.hooks} == set(cases.HOOKS)
    for name, values in (
        ("task", cases.TASKS), ("optimizer", cases.OPTIMIZERS), ("decay", cases.DECAYS), ("clip", cases.CLIPS),
        ("groups", cases.GROUPS), ("schedule", cases.SCHEDULES), ("clear", cases.CLEARS),
        ("captured", cases.CAPTURES), ("accumulated", (1, 2, 3)),
    ):  # fmt: skip
        assert {getattr(case, name) for case in drawn} == set(values)
    assert any(case.rows % case.batch and not case.drops_last for case in drawn)
    assert any(case.overflows for case in drawn) and any(case.resumes for case in drawn)


def test_a_planted_mistake_is_found_and_reduced(monkeypatch):
    case = replace(draw(0), parts=("linear", "norms"), task="squares", freeze=("none", 0, 0), resumes=())
    assert check_case(case, Counter(), ("eager",)) is None
    monkeypatch.setattr(paddle.optimizer.Optimizer, "clear_grad", lambda self, set_to_zero=True: None)
    monkeypatch.setattr("tests.fuzz.epochs.check.draw", lambda seed: replace(case, clear="default"))
    text = check(0, Counter(), ("eager",))
    assert text is not None
    small = reduced(0, text, ("eager",), replace(case, clear="default"), tries=12)
    assert small.startswith("Case(") and len(small.partition("\n")[0]) <= len(text.partition("\n")[0])


def test_a_mixed_case_is_of_every_kind():
    drawn = [cases.draw_mixed(seed) for seed in range(200)]
    assert {(case.level, case.narrow) for case in drawn} == {
        ("O0", "float32"), *((level, narrow) for level in ("O1", "O2") for narrow in ("float16", "bfloat16")),
    }  # fmt: skip
    assert all(case.looks_ahead == (case.level == "O0") for case in drawn)
    for field in ("scaled", "overflows", "resumes", "hooks"):
        assert any(getattr(case, field) for case in drawn if case.level != "O0"), field


@pytest.mark.parametrize("level", ["O1", "O2"])
def test_planted_mistakes_of_mixed_precision_are_found(monkeypatch, level):
    """A gradient that is not unscaled, and one that is lost."""
    case = replace(
        draw(0), parts=("linear", "norms"), task="squares", float64=False, freeze=("none", 0, 0), resumes=(), hooks=(),
        scaled=True, overflows=(), level=level, narrow="bfloat16", clip="none", optimizer="SGD",
    )  # fmt: skip
    assert check_case(case, Counter(), ("eager",)) is None
    with monkeypatch.context() as m:
        m.setattr(paddle.amp.GradScaler, "_unscale", lambda self, optimizer: None)
        assert check_case(case, Counter(), ("eager",)) is not None
    monkeypatch.setattr(paddle, "tanh", lambda x: x.tanh().detach())
    assert check_case(case, Counter(), ("eager",)) is not None


@pytest.mark.parametrize(
    ("name", "value"), [("optimizer", "Momentum"), ("clip", "norm"), ("schedule", "step"), ("accumulated", 2)]
)
def test_the_judge_tells_cases_apart(name, value):
    case = replace(
        draw(0), parts=("linear",), task="squares", optimizer="SGD", clip="none", schedule="none", accumulated=1,
        each_batch=True, epochs=2,
    )  # fmt: skip
    assert differs(case, judged(replace(case, **{name: value})), judged(case)) is not None


def test_what_a_case_is_reduced_to_has_less():
    case = draw(3)
    assert all(other != case for other in smaller(case))
