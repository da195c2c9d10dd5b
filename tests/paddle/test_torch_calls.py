"""Calls with PyTorch's keywords and in its order, against results of the reference (tests/data/torch_calls.jsonl).

Where a function has two orders, both are among the calls.
"""

from __future__ import annotations

import inspect
import json
import re
from collections import defaultdict
from pathlib import Path

import pytest

import paddle
from paddle._public import ROWS, parameters
from tests.support.recorded import agree, described

RECORDED = [
    json.loads(line) for line in (Path(__file__).parents[1] / "data" / "torch_calls.jsonl").read_text().splitlines()
]
TWO_ORDERS = {row.name: row.value for row in ROWS if row.base is None and getattr(row.value, "_other", None)}


SWAPS = {"transpose", "swapaxes"}  # two dims, in the place of a permutation


def operands():
    T = paddle.to_tensor
    return {
        "P": paddle,
        "F": paddle.nn.functional,
        "N": paddle.nn,
        "x": paddle.arange(6.0).reshape([2, 3]),
        "src": T([[5.0, 4.0, 3.0], [2.0, 1.0, 0.0]]),
        "x3": paddle.arange(24.0).reshape([2, 3, 4]),
        "x4": paddle.arange(16.0).reshape([1, 4, 2, 2]),
        "w4": T([1.0, 2.0, 3.0, 4.0]),
        "b4": T([0.5, 1.5, 2.5, 3.5]),
        "i": T([1, 2, 3]),
        "idx": T([[0, 1, 0], [1, 0, 1]]),
        "idx1": T([1, 0]),
        "A": T([[4.0, 1.0], [2.0, 3.0]]),
        "S": T([[4.0, 1.0], [1.0, 3.0]]),
        "B": T([[1.0], [2.0]]),
        "b": T([1.0, 2.0]),
        "p": T([0.2, 0.7]),
        "t": T([0.0, 1.0]),
        "t2": T([[0.0, 1.0, 1.0], [1.0, 0.0, 0.0]]),
        "q": paddle.ones([1, 2, 1, 4]),
    }


GROUPS = defaultdict(list)
for _call, _result in RECORDED:
    GROUPS[re.findall(r"\.(\w)\w*\(", _call)[0].lower()].append((_call, _result))


@pytest.mark.parametrize("group", sorted(GROUPS))
def test_as_recorded(group):
    wrong = []
    for call, expected in GROUPS[group]:
        got = described(eval(call, operands()))
        if not agree(expected, got):
            wrong.append(f"{call}\n    recorded {expected}\n    got      {got}")
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("name", sorted(TWO_ORDERS))
def test_both_orders_are_among_the_calls(name):
    calls = [call for call, _ in RECORDED if re.search(rf"\b{name}_?\(", call)]
    assert len(calls) > 2


@pytest.mark.parametrize("name", sorted(TWO_ORDERS))
def test_the_other_order_has_the_same_arguments(name):
    """What it lacks is a name, or what PyTorch does not have; its keywords are parameters or aliases."""
    fn = TWO_ORDERS[name]
    mine, others = set(inspect.signature(fn).parameters), set(parameters(fn._other.function))
    if name not in SWAPS:
        assert others - {"dim", "src", "source", "reduce", "value", "_stacklevel"} <= mine
        assert fn._other.keywords <= others | set(fn._aliases)
    assert f"In PyTorch's order: ``{name}(" in fn.__doc__


def test_calls_in_the_other_order_are_captured_and_differentiated():
    x = paddle.to_tensor([[1.0, 2.0], [3.0, 4.0]], stop_gradient=False)
    index = paddle.to_tensor([[0, 0], [1, 0]])
    for f in (
        lambda x: x.gather(1, index),
        lambda x: x.scatter(1, index, x * 2, reduce="add"),
        lambda x: x.sum(1, True),
        lambda x: x.index_select(dim=1, index=index[0]),
    ):
        x.grad = None
        y = f(x)
        y.sum().backward()
        eager = (y.tolist(), x.grad.tolist())
        x.grad = None
        y = paddle.jit.to_static(f)(x)
        y.sum().backward()
        assert (y.tolist(), x.grad.tolist()) == eager


def test_errors_name_the_function():
    x = paddle.ones([2, 3])
    with pytest.raises(ValueError, match=r"^\[gather\] requires indices of at most 2"):
        x.gather(1, paddle.zeros([3, 3], "int64"))
    with pytest.raises(TypeError, match=r"^\[scatter\] requires one of src and value, got neither"):
        x.scatter(1, paddle.zeros([2, 3], "int64"))
    with pytest.raises(TypeError, match=r"^\[median\] requires one of 'axis' and 'dim', got both"):
        x.median(dim=1, axis=1)
