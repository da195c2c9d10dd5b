"""Calls of the public API, against results recorded from the reference framework (tests/data/calls.jsonl).

A line is a call and its result: dtype, shape and values of a tensor, a Python value, or the class of an error. All are
made with the same few tensors. Where this implementation means something else, the call is not among them.
"""

import json
import math
import re
from collections import defaultdict
from pathlib import Path

import numpy as np
import pytest

import paddle

RECORDED = [json.loads(line) for line in (Path(__file__).parents[1] / "data" / "calls.jsonl").read_text().splitlines()]


def operands():
    return {
        "paddle": paddle,
        "np": np,
        "L": paddle.linalg,
        "x": paddle.arange(6.0).reshape([2, 3]),
        "x3": paddle.arange(24.0).reshape([2, 3, 4]),
        "i": paddle.to_tensor([1, 2, 3]),
        "A": paddle.to_tensor([[4.0, 1.0], [2.0, 3.0]]),
        "S": paddle.to_tensor([[4.0, 1.0], [1.0, 3.0]]),
        "B": paddle.to_tensor([[1.0], [2.0]]),
        "b": paddle.to_tensor([1.0, 2.0]),
    }


def family(call):
    """Calls are tested in groups by what they begin with."""
    match = re.match(r"\[*(?:paddle\.(?:linalg|fft|signal|nn\.functional)\.|paddle\.[a-z]|L\.|x3?\.[a-z]|x3?\[)", call)
    return match[0].strip("[") if match else "operators"


GROUPS = defaultdict(list)
for _call, _result in RECORDED:
    GROUPS[family(_call)].append((_call, _result))


def number(v):
    if isinstance(v, list):
        return [number(a) for a in v]
    if isinstance(v, complex):
        return {"re": number(v.real), "im": number(v.imag)}
    if isinstance(v, float) and not math.isfinite(v):
        return str(v)
    return v


def described(v):
    if isinstance(v, paddle.Tensor):
        a = v.astype("float32") if v.dtype is paddle.bfloat16 else v
        return {"dtype": v.dtype.name, "shape": list(v.shape), "values": number(a.numpy().tolist())}
    if isinstance(v, (list, tuple)):
        return [described(a) for a in v]
    if isinstance(v, np.ndarray):
        return number(v.tolist())
    return number(v) if isinstance(v, (bool, int, float, complex, type(None))) else {"repr": str(v)}


def agree(a, b):
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(map(agree, a, b))
    if isinstance(a, dict) and isinstance(b, dict):
        return a.keys() == b.keys() and all(agree(a[k], b[k]) for k in a)
    if isinstance(a, bool) or isinstance(b, bool) or not isinstance(a, (int, float)) or not isinstance(b, (int, float)):
        return a == b
    return math.isclose(a, b, rel_tol=2e-5, abs_tol=1e-5)


def check(call, expected):
    """None, or how the result differs."""
    try:
        got = described(eval(call, operands()))
    except Exception as error:
        kinds = [c.__name__ for c in type(error).__mro__]
        if isinstance(expected, dict) and expected.get("error") in kinds:
            return None
        got = f"{type(error).__name__}: {error}"
    return None if agree(expected, got) else f"{call}\n    recorded {expected}\n    got      {got}"


@pytest.mark.parametrize("group", sorted(GROUPS))
def test_as_recorded(group):
    wrong = [w for w in (check(*entry) for entry in GROUPS[group]) if w]
    assert not wrong, "\n".join(wrong)


ERRORS = [call for call, expected in RECORDED if isinstance(expected, dict) and "error" in expected]


@pytest.mark.parametrize("call", ERRORS)
def test_errors_say_what_was_required(call):
    with pytest.raises(
        (TypeError, ValueError, IndexError, AssertionError), match=r"\[\w+\] requires|operand|argument|inhomogeneous"
    ):
        eval(call, operands())
