"""Graphs and segments, against results recorded from the reference framework (tests/data/graphs.jsonl).

A line is a call and its result: tensors with dtype, shape and values, or the class of an error. After "grad" stand the
gradients of ``sum(result * cos(0, 1, 2, …))`` with respect to ``a`` and ``b``. Calls that sample take all neighbors,
so that nothing is left to chance.
"""

import json
from collections import defaultdict
from pathlib import Path

import numpy as np
import pytest

import paddle

RECORDED = [json.loads(line) for line in (Path(__file__).parents[1] / "data" / "graphs.jsonl").read_text().splitlines()]
GROUPS = defaultdict(list)
for _call, _result in RECORDED:
    GROUPS[_call.split("(")[0]].append((_call.removeprefix("grad "), _result))


def operands():
    t = paddle.to_tensor
    pattern = np.arange(32).reshape(2, 1, 4, 4)
    return {
        "paddle": paddle,
        "np": np,
        "G": paddle.geometric,
        "I": paddle.incubate,
        "x": t([[0.0, 2, 3], [1, 4, 5], [2, 6, 7]]),
        "u": t([1.0, 2, 3]),
        "src": t([0, 1, 2, 0]),
        "dst": t([1, 2, 1, 0]),
        "y": t([1.0, 10, 100, 1000]),
        "y3": t((np.arange(12).reshape(4, 3) + 1).astype("float32")),
        "z": t((np.arange(9).reshape(3, 3) * 2 + 1).astype("float32")),
        "d": t((np.arange(12).reshape(4, 3) - 5).astype("float32")),
        "row": t([3, 7, 0, 9, 1, 4, 2, 9, 3, 9, 1, 9, 7]),
        "colptr": t([0, 2, 4, 5, 6, 7, 9, 11, 11, 13, 13]),
        "nodes": t([0, 8, 1, 2]),
        "eids": t(np.arange(13) + 100),
        "own": t([0, 5, 1]),
        "near": t([8, 9, 0, 4, 7, 6, 7]),
        "count": t([2, 3, 2], dtype="int32"),
        "near2": t([0, 2, 3, 5, 1]),
        "count2": t([1, 3, 1], dtype="int32"),
        "scores": t((pattern / 10).astype("float32")),
        "mask": t(np.where(pattern % 3 == 0, -10000.0, 0).astype("float32")),
        "a": t([[1.0, 2, 0.5], [1, 3, -1], [2, 2, -1]], stop_gradient=False),
        "b": t((np.arange(12).reshape(4, 3) % 5 + 1).astype("float32"), stop_gradient=False),
    }


def result(call):
    return eval(call, operands())


def gradients(call):
    names = operands()
    result = eval(call, names)
    weights = np.cos(np.arange(result.size)).reshape(result.shape).astype("float32")
    (result * paddle.to_tensor(weights)).sum().backward()
    return [v.grad if v.grad is not None else paddle.to_tensor([]) for v in (names["a"], names["b"])]


def agree(found, expected):
    if isinstance(expected, list):
        assert isinstance(found, (list, tuple)) and len(found) == len(expected)
        for f, e in zip(found, expected, strict=True):
            agree(f, e)
        return
    assert (found.dtype.name, found.shape) == (expected["dtype"], expected["shape"])
    values = np.asarray(expected["values"], found.dtype.numpy).reshape(found.shape)
    tolerance = 1e-3 if found.dtype is paddle.float16 else 2e-6
    np.testing.assert_allclose(found.numpy(), values, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("group", sorted(GROUPS))
def test_calls_give_what_is_recorded(group):
    for call, expected in GROUPS[group]:
        make = gradients if group.startswith("grad ") else result
        if isinstance(expected, dict) and "error" in expected:
            with pytest.raises((ValueError, IndexError, TypeError)) as raised:
                make(call)
            assert raised.type.__name__ == expected["error"], call
        else:
            agree(make(call), expected)
