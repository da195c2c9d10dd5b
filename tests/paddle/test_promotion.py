"""Result dtypes of mixed operands, against those recorded from the reference framework (tests/data/promotion.json)."""

import json
import operator
from pathlib import Path

import numpy as np
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


@pytest.mark.parametrize("captured", [False, True])
@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "complex64", "int64"])
def test_arrays_beside_a_matmul_take_the_dtype_of_the_tensor(dtype, captured):
    """Unless that would cut something off."""
    x = paddle.to_tensor([[1, 2], [3, 4]], dtype=dtype)
    arrays = ["int32", "int64"] + ["float32", "float64"] * (dtype != "int64")

    def both(x):
        return [y for a in arrays for y in (np.eye(2, dtype=a) @ x, x @ np.eye(2, dtype=a), np.ones(2, a) @ x)]

    if captured:
        both = paddle.jit.to_static(both)
    for i, y in enumerate(both(x)):
        assert y.dtype.name == dtype and y.tolist() == ([4, 6] if i % 3 == 2 else [[1, 2], [3, 4]])


def test_an_array_of_floats_is_not_cut_to_integers():
    for call in (lambda x: np.eye(2) @ x, lambda x: x @ np.eye(2)):
        with pytest.raises(TypeError, match=r"\[matmul\] requires operands of one dtype"):
            call(paddle.to_tensor([[1, 2], [3, 4]]))
