"""Random layers with weights of few bits do captured, saved and predicted what they do as they are written.
``docs/design/fuzzing.md`` has the counts."""

from __future__ import annotations

import pytest

from tests.fuzz.low_bits import WAYS, check, module_of, written
from tests.fuzz.seeds import right

SAMPLE = (0, 4)
ALL, CHUNK = 400, 20

pytestmark = pytest.mark.usefixtures("slow_kept_nowhere")


def test_a_sample():
    assert {*WAYS} == {*right(check, SAMPLE)}


@pytest.mark.slow
@pytest.mark.parametrize("first", range(0, ALL, CHUNK))
def test_all(first):
    right(check, range(first, first + CHUNK))


def test_layers_are_drawn_of_many_parts():
    texts = [written(seed) for seed in range(200)]
    assert [written(seed) for seed in range(5)] == texts[:5]
    for part in (
        "llm_int8_linear(", "weight_dequantize(", "'int4'", "group_size=64", "group_size=128", "recompute(",
        "auto_cast(",
        "register_buffer",
        "else:", "for i in", ".detach(), ", "bfloat16", "float16",
    ):  # fmt: skip
        assert sum(part in text for text in texts) > 10, part
    for seed, text in enumerate(texts[:20]):
        module_of(text, seed)


def test_a_planted_mistake_is_found(monkeypatch):
    """Files have other scales than the layer."""
    from paddle.nn import quant

    plain, seen = quant.weight_only_linear, []

    def wrong(x, weight, bias, scale, *args, **kwargs):
        seen.append(None)
        return plain(x, weight, bias, scale * 2 if type(x).__name__ == "SymTensor" else scale, *args, **kwargs)

    monkeypatch.setattr(quant, "weight_only_linear", wrong)
    assert any(check(seed, None, ("one graph",)) for seed in range(3)) and seen
