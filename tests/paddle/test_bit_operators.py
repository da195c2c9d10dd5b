"""Operators on bits, called as methods with the arguments that they take beside the operand."""

import inspect
import operator

import pytest

import paddle

A, B = [5, -3, 0], [1, 2, 3]


class Child(paddle.Tensor):
    """A subclass, whose operators Python looks up by name."""


@pytest.mark.parametrize("name", ["and", "or", "xor"])
def test_out(name):
    x, y = paddle.to_tensor(A), paddle.to_tensor(B)
    expected = [getattr(a, f"__{name}__")(b) for a, b in zip(A, B, strict=True)]
    method = getattr(x, f"__{name}__")
    assert method(y).tolist() == expected and method(y=y, out=None, name="n").tolist() == expected
    out = paddle.zeros([3], "int64")
    assert method(y, out) is out and out.tolist() == expected
    assert list(inspect.signature(method).parameters) == ["y", "out", "name"]


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        (lambda x, y: x.__lshift__(y, False), [10, -12, 0]),
        (lambda x, y: x.__rshift__(y, is_arithmetic=False), [2, 4611686018427387903, 0]),
        (lambda x, y: x.__rshift__(y), [2, -1, 0]),
        (lambda x, y: y.__rlshift__(x), [10, -12, 0]),
        (lambda x, y: y.__rrshift__(x, False), [2, 4611686018427387903, 0]),
    ],
)
def test_shifts(call, expected):
    assert call(paddle.to_tensor(A), paddle.to_tensor(B)).tolist() == expected


@pytest.mark.parametrize("sign", [operator.and_, operator.or_, operator.xor, operator.lshift, operator.rshift])
@pytest.mark.parametrize("kind", [paddle.Tensor, Child])
def test_the_operators_are_what_they_were(sign, kind):
    x, y = kind(paddle.to_tensor(A)), paddle.to_tensor(B)
    assert sign(x, y).tolist() == [sign(a, b) for a, b in zip(A, B, strict=True)]
    assert sign(x, 2).tolist() == [sign(a, 2) for a in A]
    assert sign(6, paddle.to_tensor(B)).tolist() == [sign(6, b) for b in B]
    with pytest.raises(TypeError):
        sign(x, "2")
