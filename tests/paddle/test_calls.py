"""Calls of the public API, against results recorded from the reference framework (tests/data/calls.jsonl).

A line is a call and its result: dtype, shape and values of a tensor, a Python value, or the class of an error. All are
made with the same few tensors. Where this implementation means something else, the call is not among them.
"""

import json
import re
from collections import defaultdict
from pathlib import Path

import numpy as np
import pytest

import paddle
from tests.support.recorded import agree, described

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
