"""Random nets of images give the results of PyTorch in every way. ``docs/design/fuzzing.md`` has the counts."""

from __future__ import annotations

import pytest

import paddle
from tests.fuzz import images
from tests.fuzz.images import WAYS, check, draw
from tests.fuzz.seeds import right
from tests.support import native_libraries as native

QUICK = tuple(way for way in WAYS if way != "compiled")
SAMPLE = range(4)
ALL, CHUNK = 200, 10

pytestmark = pytest.mark.usefixtures("slow_kept_nowhere")


def test_a_sample():
    tally = right(lambda seed, tally: check(draw(seed), QUICK, tally), SAMPLE)
    assert {*QUICK, "clone"} == {what.partition(",")[0] for what in tally}


@pytest.mark.slow
@pytest.mark.skipif(native.CC is None, reason="needs a C compiler")
@pytest.mark.parametrize("first", range(0, ALL, CHUNK))
def test_all(first):
    tally = right(lambda seed, tally: check(draw(seed), WAYS, tally), range(first, first + CHUNK))
    assert sum(count for what, count in tally.items() if what.startswith("compiled")) == CHUNK


def test_nets_are_of_many_kinds():
    cases = [draw(seed) for seed in range(200)]
    assert [draw(seed) for seed in range(5)] == cases[:5]
    steps = [step for case in cases for step in case.steps]
    assert {step.kind for step in steps} == set(images.MEANT) == set(images.JUDGED)
    convolutions = [step for step in steps if step.kind == "convolution"]
    depthwise = [step for step in convolutions if step.options["groups"] == step.weights[0][0] > 1]
    for size in (5, 7):
        assert sum(step.weights[0][2:] == (size, size) for step in depthwise) > 10
    for of in (
        lambda o: o["padding"] == "SAME",
        lambda o: o["stride"] == (2, 2),
        lambda o: o["dilation"] != (1, 1),
        lambda o: isinstance(o["padding"], list) and any(low != high for low, high in o["padding"]),
    ):
        assert sum(of(step.options) for step in convolutions) > 10


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_a_planted_mistake_is_found(monkeypatch, dtype):
    """Pads of one side are those of the other."""
    cases = [draw(seed)._replace(dtype=dtype) for seed in range(12)]
    convolution = images.MEANT["convolution"]

    def exchanged(x, options, *weights):
        pads = options["padding"]
        if not isinstance(pads, str):
            options = {**options, "padding": [pair[::-1] for pair in pads]}
        return convolution(x, options, *weights)

    assert not any(check(case, ("eager",)) for case in cases)
    monkeypatch.setitem(images.MEANT, "convolution", exchanged)
    assert any("result" in (check(case, ("eager",)) or "") for case in cases)
    assert paddle.get_flags("FLAGS_paddle_num_threads")["FLAGS_paddle_num_threads"] == 0
