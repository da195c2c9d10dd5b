"""Gradients through the public API, against those recorded from the reference framework (tests/data/gradients.jsonl).

A line is a call and the gradients of ``sum(result * cos(0, 1, 2, …))`` with respect to ``x`` and ``y``. Where the
reference drops or miscounts a gradient (lerp's weight, diag_embed, overlapping windows), the call is not among them.
"""

import json
import math
from pathlib import Path

import numpy as np
import pytest

import paddle

RECORDED = [
    json.loads(line) for line in (Path(__file__).parents[1] / "data" / "gradients.jsonl").read_text().splitlines()
]


def operands():
    x = paddle.to_tensor([[0.7, 2.3, 3.1], [4.2, 1.4, 0.2]], stop_gradient=False)
    y = paddle.to_tensor([[1.3, 0.6, 2.9], [3.3, 2.2, 1.1]], stop_gradient=False)
    m = x[:, :2] @ paddle.to_tensor([[2.0, 0.0], [1.0, 1.0]]) + paddle.to_tensor([[3.0, 0.0], [0.0, 3.0]])
    k, k3 = paddle.to_tensor([1, 0]), paddle.to_tensor([1, 2, 3])
    return {"paddle": paddle, "np": np, "x": x, "y": y, "t": x, "u": x / 5, "k": k, "k3": k3, "M": m}


def gradients(call):
    names = operands()
    result = eval(call, names)
    weights = np.cos(np.arange(result.size)).reshape(result.shape).astype("float32")
    (result * paddle.to_tensor(weights).astype(result.dtype)).sum().backward()
    return [None if v.grad is None else v.grad.tolist() for v in (names["x"], names["y"])]


def agree(a, b):
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(map(agree, a, b))
    if a is None or b is None:
        return a is b
    return math.isclose(float(a), b, rel_tol=1e-4, abs_tol=1e-4) or str(a) == str(b)


@pytest.mark.parametrize("part", range(8))
def test_as_recorded(part):
    wrong = []
    for call, expected in RECORDED[part::8]:
        got = gradients(call)
        if not agree(expected, got):
            wrong.append(f"{call}\n    recorded {expected}\n    got      {got}")
    assert not wrong, "\n".join(wrong)


def test_overlapping_windows_add_up():
    x = paddle.arange(4.0)
    x.stop_gradient = False
    paddle.unfold(x, 0, 2, 1).sum().backward()
    assert x.grad.tolist() == [1, 2, 2, 1]
    x.clear_grad()
    paddle.as_strided(x, [2, 2], [1, 1]).sum().backward()
    assert x.grad.tolist() == [1, 2, 1, 0]


def test_gradient_of_weight_and_diagonal():
    a, b, w = (paddle.to_tensor([v], stop_gradient=False) for v in (1.0, 3.0, 0.5))
    paddle.lerp(a, b, w).backward()
    assert [a.grad.item(), b.grad.item(), w.grad.item()] == [0.5, 0.5, 2.0]
    x = paddle.ones([2])
    x.stop_gradient = False
    (paddle.diag_embed(x) * 3).sum().backward()
    assert x.grad.tolist() == [3, 3]


@pytest.mark.parametrize("captured", [False, True], ids=["eager", "captured"])
@pytest.mark.parametrize("shape", [(4,), (1,), (3, 4)])
def test_std_of_equal_elements_has_a_gradient_of_zeros(shape, captured):
    x = paddle.full(shape, 2.5, dtype="float64")
    x.stop_gradient = False
    std = lambda x: paddle.std(x, axis=0, unbiased=False)  # noqa: E731
    y = (paddle.jit.to_static(std) if captured else std)(x)
    y.sum().backward()
    assert not y.numpy().any()
    np.testing.assert_array_equal(x.grad.numpy(), np.zeros(shape))
    assert np.isnan(paddle.std(paddle.to_tensor([1.0, float("nan")])).item())
