"""Random nets of convolutions give the results of PyTorch for images of ever new sizes.
``docs/design/fuzzing.md`` has the counts."""

from __future__ import annotations

import pytest

from tests.fuzz import convolutions
from tests.fuzz.convolutions import WAYS, check, draw, reduced
from tests.fuzz.seeds import right

SAMPLE = range(2)
ALL, CHUNK = 400, 10

pytestmark = pytest.mark.usefixtures("slow_kept_nowhere")


def test_a_sample():
    tally = right(lambda seed, tally: check(draw(seed), WAYS, tally), SAMPLE)
    assert {*WAYS, "clone"} == {what.partition(",")[0] for what in tally}


@pytest.mark.slow
@pytest.mark.parametrize("first", range(len(SAMPLE), ALL, CHUNK))
def test_all(first):
    right(lambda seed, tally: check(draw(seed), WAYS, tally), range(first, first + CHUNK))


def test_nets_are_of_many_kinds():
    cases = [draw(seed) for seed in range(200)]
    assert [draw(seed) for seed in range(5)] == cases[:5]
    assert {case.sizes for case in cases} == {1, 2} and {case.last for case in cases} == {True, False}
    assert all(len(set(case.images)) > 1 for case in cases if all(case.open))
    assert sum(max(s for image in case.images for s in image[3:] or (9,)) < 5 for case in cases) > 10
    steps = [step for case in cases for step in case.steps]
    assert {step.kind for step in steps} == set(convolutions.JUDGED) - {"linear"}
    kernels = [(step.weights[0], step.options) for step in steps if step.kind == "convolution"]
    for of in (
        lambda w, o: not any(n > 1 for n in w[2:]) and set(o["stride"]) == {1},
        lambda w, o: sum(n > 1 for n in w[2:]) == 1 and w[1] >= 64,
        lambda w, o: o["groups"] == w[0] > 8 and w[-1] in (3, 5, 7) and o["stride"][-1] == 2,
        lambda w, o: 1 < o["groups"] < w[0],
        lambda w, o: o["padding"] == "SAME",
    ):
        assert sum(of(*kernel) for kernel in kernels) > 5


def test_a_planted_mistake_is_found_and_reduced(monkeypatch):
    """Pads of one axis are those of the other."""
    convolution = convolutions.Net.convolution

    def exchanged(self, x, options, *weights):
        pads = options["padding"]
        return convolution(self, x, options if pads == "SAME" else {**options, "padding": pads[::-1]}, *weights)

    monkeypatch.setattr(convolutions.Net, "convolution", exchanged)
    seed, wrong = next((seed, w) for seed in range(40) if (w := check(draw(seed), ("eager",))))
    fewer = reduced(seed, wrong, ("eager",))
    assert fewer.count("Step(") <= wrong.count("Step(") and len(fewer) < len(wrong)
    monkeypatch.undo()
    assert check(draw(seed), ("eager",)) is None
