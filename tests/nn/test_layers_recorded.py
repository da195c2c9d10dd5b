"""Functions and layers against results and gradients recorded from the reference framework (tests/data/layers.jsonl).

A line is a call and what it gives: of each tensor the dtype, the shape, two sums that weigh its elements differently
and the sum of their magnitudes; likewise of the gradients. All are made with the tensors below. Where this
implementation means something else (docs/design/nn.md), the call is not among them.
"""

import json
import math
from collections import defaultdict
from pathlib import Path

import numpy as np
import pytest

import paddle
import paddle.nn.functional.flash_attention
from paddle import nn
from tests.support.draw import drawn_order

RECORDED = [json.loads(line) for line in (Path(__file__).parents[1] / "data" / "layers.jsonl").read_text().splitlines()]


def wave(*shape, shift=0.0):
    values = np.sin(np.arange(math.prod(shape)) * 1.7 + shift).astype("float32").reshape(shape)
    return paddle.to_tensor(values, stop_gradient=False)


def const(layer):
    """The layer with parameters and singular vectors that are the same everywhere."""
    vectors = [b for name, b in layer.named_buffers() if name.endswith(("_u", "_v"))]
    for i, p in enumerate([*layer.parameters(), *vectors]):
        p.set_value(paddle.to_tensor((np.cos(np.arange(p.size) * 0.9 + i) * 0.5).astype("float32").reshape(p.shape)))
    return layer


def names(layer):
    return [[name, list(p.shape)] for name, p in layer.state_dict().items()]


LEAVES = {
    "seq": lambda: wave(2, 4, 7),
    "img": lambda: wave(2, 4, 5, 6),
    "img6": lambda: wave(6, 5, 2, 5),
    "vol": lambda: wave(1, 2, 3, 4, 4),
    "theta": lambda: wave(2, 2, 3),
    "theta3": lambda: wave(2, 3, 4),
    "w1": lambda: wave(3, 4, 3),
    "w2": lambda: wave(3, 4, 2, 3),
    "w3": lambda: wave(3, 2, 2, 2, 2),
    "qkv": lambda: wave(2, 3, 2, 4),
    "hid": lambda: wave(2, 3, 8),
}
OTHERS = {
    "grid": lambda: wave(2, 3, 2, 2, shift=0.3) * 1.6,
    "grid3": lambda: wave(1, 2, 2, 3, 3, shift=0.3) * 1.4,
    "four": lambda: paddle.to_tensor([1.0, 2.0, 3.0, 4.0]),
}
WORDS = {"paddle": paddle, "nn": nn, "F": paddle.nn.functional, "np": np, "const": const, "names": names}


def tensors(result):
    if isinstance(result, paddle.Tensor):
        return [result]
    return [t for part in result for t in tensors(part)] if isinstance(result, (list, tuple)) else []


def summary(array):
    v = np.asarray(array, np.float64).ravel()
    k = np.arange(v.size)
    return [(v * np.cos(k)).sum(), (v * np.sin(0.7 * k + 1)).sum(), np.abs(v).sum()]


def near(got, want, what):
    assert np.abs(np.subtract(summary(got), want)).max() <= 1e-4 * max(want[2], 1e-3), what


def check(recorded):
    leaves = {name: make() for name, make in LEAVES.items()}
    result = eval(recorded["call"], WORDS | leaves | {name: make() for name, make in OTHERS.items()})
    if "names" in recorded:
        assert result == recorded["names"]
        return
    found, total = tensors(result), None
    assert len(found) == len(recorded["results"])
    for i, (t, (dtype, shape, sums)) in enumerate(zip(found, recorded["results"])):
        assert (t.dtype.name, list(t.shape)) == (dtype, shape)
        near(t.numpy(), sums, f"result {i}")
        if t.dtype.is_floating and not t.stop_gradient:
            weights = np.cos(np.arange(t.size)).astype("float32").reshape(t.shape)
            part = (t.astype("float32") * paddle.to_tensor(weights)).sum()
            total = part if total is None else total + part
    if total is not None:
        total.backward()
    gradients = {name: leaf.grad for name, leaf in leaves.items() if leaf.grad is not None}
    assert set(gradients) == set(recorded.get("gradients", {}))
    for name, gradient in gradients.items():
        near(gradient.numpy(), recorded["gradients"][name], f"gradient of {name}")


GROUPS = defaultdict(list)
for line in RECORDED:
    GROUPS[line["call"].split("(")[0] or "composed"].append(line)


# Of each group in the quick suite.
SOME = 4


def parts():
    for group, lines in GROUPS.items():
        order = drawn_order(lines, group, name=lambda line: line["call"])
        yield pytest.param(order[:SOME], id=group)
        if order[SOME:]:
            yield pytest.param(order[SOME:], id=f"{group}-rest", marks=pytest.mark.slow)


@pytest.mark.parametrize("calls", list(parts()))
def test_calls(calls):
    for recorded in calls:
        try:
            check(recorded)
        except Exception as error:
            raise AssertionError(f"{recorded['call']}: {error}") from error
