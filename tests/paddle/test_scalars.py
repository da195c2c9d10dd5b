"""Python scalars become elements of a stated dtype in one rounding, whatever the default dtype, and never wrap."""

from __future__ import annotations

import math

import numpy as np
import pytest

import paddle
from umiak import ops as F

FLOATS = ["float16", "float32", "float64", "complex64", "complex128"]
INTS = ["int8", "int16", "int32", "int64", "uint8"]
REALS = [0.3, 1e300, -1e300, 1e-320, 16777217.0, 9007199254740993.0, math.inf, math.nan, 65504.0, 3.4028235e38, -0.0]
OPAQUE = [2**24 + 1, 2**31 - 1, -(2**31), 2**53 + 1, 2**62 + 1, 2**63 - 1, -(2**63), 127, -128, 255]
BEYOND = [2**63, -(2**63) - 1, 2**64, 2**70, -(2**70), 10**400]


OPERANDS = ("arange", "masked_fill", "where", "index_fill")  # which promote a float instead


def where_in(dtype):
    """``make(v)``: tensors of a dtype whose first element is the number v, by every way there is."""

    def filled(v):
        return paddle.zeros([3], dtype=dtype).fill_(v)

    def item(v):
        x = paddle.zeros([3], dtype=dtype)
        x[0] = v
        return x

    def items(v):
        x = paddle.zeros([3], dtype=dtype)
        x[paddle.to_tensor([0, 2])] = v
        return x

    zeros, true = paddle.zeros([2], dtype=dtype), paddle.to_tensor([True, True])
    ways = {
        "to_tensor": lambda v: paddle.to_tensor(v, dtype=dtype).reshape([1]),
        "to_tensor list": lambda v: paddle.to_tensor([v, 0], dtype=dtype),
        "to_tensor nested": lambda v: paddle.to_tensor([[v], (v,)], dtype=dtype).reshape([2]),
        "to_tensor beside a tensor": lambda v: paddle.to_tensor([v, paddle.zeros([], dtype=dtype)], dtype=dtype),
        "as_tensor": lambda v: paddle.as_tensor([v], dtype=dtype),
        "asarray": lambda v: paddle.asarray([v], dtype=dtype),
        "full": lambda v: paddle.full([2], v, dtype),
        "full_like": lambda v: paddle.full_like(zeros, v),
        "fill_": filled,
        "setitem": item,
        "setitem by index": items,
        "masked_fill": lambda v: paddle.masked_fill(zeros, true, v),
        "where": lambda v: paddle.where(true, v, zeros),
        "index_fill": lambda v: paddle.index_fill(zeros, paddle.to_tensor([0]), 0, v),
    }
    if not dtype.startswith("complex"):
        ways["initializer"] = lambda v: constant(v, dtype)
    if dtype in INTS:
        ways["arange"] = lambda v: paddle.arange(v, v + 1, dtype=dtype)
    return ways


def constant(v, dtype):
    return paddle.create_parameter([2], dtype, default_initializer=paddle.nn.initializer.Constant(v)).detach()


@pytest.fixture(params=["float32", "float64"])
def default(request):
    before = paddle.get_default_dtype()
    paddle.set_default_dtype(request.param)
    yield request.param
    paddle.set_default_dtype(before)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("way", where_in("float32"))
def test_floats_are_rounded_once(way, dtype, default):
    ways = where_in(dtype)
    if way not in ways:
        return  # the way makes no complex numbers
    for v in REALS + OPAQUE:
        with np.errstate(over="ignore"):
            # A float beside a tensor counts as one of the default dtype there, as in PaddlePaddle.
            wide = way == "where" and isinstance(v, float)
            want = np.array(v).astype(np.promote_types(dtype, default) if wide else dtype)
        got = np.asarray(ways[way](v).numpy())[0]
        assert got.dtype == want.dtype and np.array_equal(got, want, equal_nan=True), (v, got, want)


@pytest.mark.parametrize("dtype", INTS)
@pytest.mark.parametrize("way", where_in("int64"))
def test_integers_are_exact_or_refused(way, dtype, default):
    make, info = where_in(dtype)[way], np.iinfo(dtype)
    for v in OPAQUE + BEYOND + [-1, 0, 300]:
        if info.min <= v <= info.max:
            assert make(v).numpy()[0] == v
        else:
            with pytest.raises(OverflowError, match=rf"requires numbers that {dtype} can hold|too large"):
                make(v)


@pytest.mark.parametrize("dtype", INTS)
@pytest.mark.parametrize("way", [w for w in where_in("int64") if w not in OPERANDS])
def test_floats_beside_integers_are_refused_where_they_do_not_fit(way, dtype, default):
    make = where_in(dtype)[way]
    for v in (1e300, -math.inf, float(2**63)):
        with pytest.raises(OverflowError):
            make(v)
    with pytest.raises(ValueError, match="got nan"):
        make(math.nan)
    assert make(3.7).numpy()[0] == 3


OPERATORS = {
    "+": lambda x, v: x + v,
    "r+": lambda x, v: v + x,
    "-": lambda x, v: x - v,
    "*": lambda x, v: x * v,
    "//": lambda x, v: x // v,
    "%": lambda x, v: x % v,
    "&": lambda x, v: x & v,
    "add": lambda x, v: paddle.add(x, v),
    "maximum": lambda x, v: paddle.maximum(x, v),
    "clip min": lambda x, v: paddle.clip(x, min=v),
    "clip max": lambda x, v: paddle.clip(x, max=v),
    "add_": lambda x, v: paddle.clone(x).add_(paddle.to_tensor(0, dtype=x.dtype) + v),
}


@pytest.mark.parametrize("way", OPERATORS)
@pytest.mark.parametrize("dtype", INTS)
def test_number_operands_never_wrap(way, dtype):
    x, info = paddle.to_tensor([1, 2], dtype=dtype), np.iinfo(dtype)
    for v in (info.max + 1, info.min - 1, *BEYOND):
        if info.min <= v <= info.max:
            continue
        for call in (OPERATORS[way], paddle.jit.to_static(OPERATORS[way])):
            for _ in range(2):
                with pytest.raises(OverflowError, match=r"requires numbers that|too large"):
                    call(x, v)
    OPERATORS[way](x, info.max)


COMPARISONS = {
    "==": lambda x, v: x == v,
    "!=": lambda x, v: x != v,
    "<": lambda x, v: x < v,
    "<=": lambda x, v: x <= v,
    ">": lambda x, v: x > v,
    ">=": lambda x, v: x >= v,
    "r<": lambda x, v: v < x,
}


@pytest.mark.parametrize("way", COMPARISONS)
@pytest.mark.parametrize("dtype", INTS)
def test_comparisons_are_those_of_the_numbers(way, dtype):
    info = np.iinfo(dtype)
    values = [info.min, 0, 1, info.max]
    x = paddle.to_tensor(values, dtype=dtype)
    for v in (info.max + 1, info.min - 1, 300, -1, 2**40, *BEYOND[:-1]):
        want = [COMPARISONS[way](a, v) for a in values]
        assert COMPARISONS[way](x, v).tolist() == want, v
        assert paddle.jit.to_static(COMPARISONS[way])(x, v).tolist() == want, v


def test_lists_keep_every_number():
    assert paddle.to_tensor([2**53 + 1, 0.5], dtype="int64").tolist() == [2**53 + 1, 0]
    assert paddle.to_tensor([0.1, 2**70]).dtype == paddle.float32
    assert paddle.to_tensor([paddle.to_tensor(1.0, dtype="float64"), 0.3]).tolist() == [1.0, 0.3]
    assert paddle.to_tensor([paddle.to_tensor(1), 0.5]).tolist() == [1.0, 0.5]
    assert paddle.to_tensor(0.3 + 0.1j, dtype="complex128").item() == 0.3 + 0.1j
    assert paddle.linspace(0.1, 0.9, 3, dtype="float64").tolist() == np.linspace(0.1, 0.9, 3).tolist()
    with pytest.raises(OverflowError):
        paddle.to_tensor(10**400, dtype="float64")
    with pytest.raises(OverflowError):
        paddle.linspace(0, 2**70, 2, dtype="int64")
    with pytest.raises(OverflowError):
        paddle.arange(250, 260, dtype="uint8")


def test_arrays_are_cast():
    """An array has a dtype of its own: changing it is a cast, which drops what does not fit."""
    assert paddle.to_tensor(np.array([300]), dtype="uint8").tolist() == [44]
    assert paddle.to_tensor([300]).astype("uint8").tolist() == [44]


USES = {
    "full": (lambda x, v: paddle.full([3], v, "complex64"), lambda x, v: np.full(3, v)),
    "full_like": (lambda x, v: paddle.full_like(x, v), lambda x, v: np.full(3, v)),
    "fill_": (lambda x, v: x.fill_(v), lambda x, v: np.full(3, v)),
    "multiply": (lambda x, v: x * v, lambda x, v: x * v),
    "pow": (lambda x, v: x**v, lambda x, v: x**v),
    "where": (lambda x, v: paddle.where(x.real() > 1, x, v), lambda x, v: np.where(x.real > 1, x, v)),
    "masked_fill": (lambda x, v: paddle.masked_fill(x, x.real() > 1, v), lambda x, v: np.where(x.real > 1, v, x)),
    "put": (
        lambda x, v: paddle.put_along_axis(x, paddle.to_tensor([0]), v, 0),
        lambda x, v: np.concatenate([[v], x[1:]]),
    ),
    "index_fill": (
        lambda x, v: paddle.index_fill(x, paddle.to_tensor([0]), 0, v),
        lambda x, v: np.concatenate([[v], x[1:]]),
    ),
    "pad": (lambda x, v: F.pad(x, v, axes=(0,), lo=(1,), hi=(0,)), lambda x, v: np.concatenate([[v], x])),
}


@pytest.mark.parametrize("use", USES)
def test_every_complex_number_is_taken_anew(use):
    """A plan serves all numbers of its class: what the first call came with stays nowhere."""
    ours, plain = USES[use]
    values = np.array([2 - 1j, 0.5 + 1j, 3], np.complex64)
    for v in (0j, 1 + 2j, -0.5j):
        np.testing.assert_allclose(ours(paddle.to_tensor(values), v).numpy(), plain(values, v), rtol=1e-5, atol=1e-6)
