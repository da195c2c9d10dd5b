"""A number does not change the kind of numbers that a tensor has, where it is written in place."""

import pytest

import paddle

ARITHMETIC = (
    "add_",
    "subtract_",
    "multiply_",
    "divide_",
    "floor_divide_",
    "remainder_",
    "pow_",
    "mul_",
    "sub_",
    "mod_",
)


@pytest.mark.parametrize("name", ARITHMETIC)
@pytest.mark.parametrize(
    ("dtype", "number"), [("int64", 2.5), ("int32", 2.5), ("bool", 2.5), ("bool", 2), ("float32", 1j), ("int64", 1j)]
)
def test_refused(name, dtype, number):
    x = paddle.ones([2], dtype)
    with pytest.raises(TypeError):
        getattr(x, name)(number)
    assert x.dtype == paddle.ones([], dtype).dtype and x.tolist() == [1, 1]


@pytest.mark.parametrize("name", sorted(set(ARITHMETIC) - {"divide_"}))
def test_numbers_of_the_kind_keep_the_dtype(name):
    for dtype, number in (("int64", 2), ("float32", 2), ("float32", 2.5), ("float64", 2.5), ("float16", 0.5)):
        x = paddle.full([2], 3, dtype)
        assert getattr(x, name)(number) is x and x.dtype == paddle.ones([], dtype).dtype


def test_comparisons_take_any_number():
    assert paddle.to_tensor([1, 3]).greater_than_(2.5).tolist() == [False, True]


@pytest.mark.parametrize("name", ["addmm_", "baddbmm_"])
def test_operands_by_keyword(name):
    x = paddle.ones([2, 2] if name == "addmm_" else [1, 2, 2])
    y = x.clone()
    assert getattr(paddle, name)(input=y, x=x, y=x) is y and y.flatten().tolist() == [3.0] * 4
    assert getattr(y, name)(x=x, y=x).flatten().tolist() == [5.0] * 4
