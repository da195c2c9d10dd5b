"""Result dtypes of mixed operands, against those recorded from the reference framework (tests/data/promotion.json)."""

import json
import operator
from pathlib import Path

import pytest

import paddle

RECORDED = json.loads((Path(__file__).parents[1] / "data" / "promotion.json").read_text())
FUNCTIONS = {
    "add": operator.add,
    "subtract": operator.sub,
    "multiply": operator.mul,
    "divide": operator.truediv,
    "floor_divide": operator.floordiv,
    "remainder": operator.mod,
    "pow": operator.pow,
    "equal": operator.eq,
    "less_than": operator.lt,
    "where": lambda x, y: paddle.where(paddle.to_tensor(True), x, y),
}
SHAPES = {"arrays": ([2], [2]), "scalar right": ([2], []), "scalars": ([], []), "number right": ([2], None)}
NUMBERS = {"bool": True, "int": 2, "float": 1.5, "complex": 1j}


def made(name, shape):
    return paddle.ones(shape, "float32").astype(name)


def ours(function, a, b):
    try:
        return function(a, b).dtype.name
    except TypeError:
        return "TypeError"


@pytest.mark.parametrize("name", RECORDED)
@pytest.mark.parametrize("kind", SHAPES)
def test_as_recorded(name, kind):
    function = FUNCTIONS.get(name) or getattr(paddle, name)
    left, right = SHAPES[kind]
    wrong = []
    for a, row in RECORDED[name].get(kind, {}).items():
        for b, expected in row.items():
            if name == "divide" and {a, b} == {"bool"}:  # on purpose: the quotient of bools is no bool
                expected = "float32"
            got = ours(function, made(a, left), NUMBERS[b] if right is None else made(b, right))
            if got != expected:
                wrong.append(f"{a} {name} {b}: {expected}, got {got}")
    assert not wrong, "\n".join(wrong)
