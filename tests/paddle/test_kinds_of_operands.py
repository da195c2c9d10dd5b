"""Functions of complex numbers, divisors of floating ones, and the kinds of errors; the numbers are recorded facts."""

import numpy as np
import pytest

import paddle

X = [3 + 4j, -5 + 1j, 7 - 2j, 2.5, -2.5, 3 + 4j, 1j]
Y = [2 + 1j, -5 - 1j, 1 + 2j, 1j, 1, 3 + 4j, 1 - 5j]


def numbers(values, dtype="complex64"):
    return paddle.to_tensor(np.array(values, dtype))


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("less_than", [False, False, False, False, True, False, True]),
        ("less_equal", [False, False, False, False, True, True, True]),
        ("greater_than", [True, True, True, True, False, False, False]),
        ("greater_equal", [True, True, True, True, False, True, False]),
    ],
)
def test_complex_numbers_have_the_order_of_their_parts(name, expected):
    compare = getattr(paddle, name)
    assert compare(numbers(X), numbers(Y)).tolist() == expected
    assert paddle.jit.to_static(lambda x, y: compare(x, y))(numbers(X), numbers(Y)).tolist() == expected
    assert not compare(numbers([complex("nan")]), numbers([1])).item()


def test_the_remainder_of_complex_numbers_is_to_the_nearest_gaussian_integer():
    expected = [0, 0, -1j, -0.5, 0.5, 0, 1j]
    y = numbers([2 + 1j, 1 + 0j, 1 + 2j, 1j, 1, 3 + 4j, 1 - 5j])
    assert np.allclose((numbers(X) % y).numpy(), expected)
    x, y = numbers([7 - 2j], "complex128"), numbers([1 + 2j], "complex128")
    x.stop_gradient = y.stop_gradient = False
    (x % y).backward(numbers([1], "complex128"))
    assert x.grad.item() == 1 and np.allclose(y.grad.item(), -(1 + 3j))  # the quotient is 1 - 3i


def test_functions_of_complex_numbers():
    x = numbers([0.6 + 1.4j, -1.5 - 0.5j], "complex128")
    assert paddle.round(x).tolist() == [1 + 1j, -2 - 0j]
    assert np.allclose(paddle.deg2rad(x).numpy(), np.deg2rad(1.0) * x.numpy())
    assert np.allclose(paddle.rad2deg(x).numpy(), np.rad2deg(1.0) * x.numpy())
    assert np.allclose(paddle.hypot(x, 2.0).numpy(), np.sqrt(x.numpy() ** 2 + 4))
    assert np.allclose(paddle.stanh(x, 0.5, 2.0).numpy(), 2 * np.tanh(0.5 * x.numpy()))
    assert np.allclose(paddle.sinc(x).numpy(), np.sinc(x.numpy()))
    assert paddle.nansum(numbers([1 + 1j, complex("nan"), 2j])).item() == 1 + 3j
    assert paddle.nanmean(numbers([1 + 1j, complex("nan"), 3 + 3j])).item() == 2 + 2j


@pytest.mark.parametrize(("dtype", "captured"), [("float32", True), ("float64", False), ("bfloat16", False)])
def test_divisors_of_floating_numbers(dtype, captured):
    x, y = (paddle.to_tensor(v, dtype) for v in ([4.5, 6.0, -8.0, 0.0, 3.0], [6.0, 9.0, 12.0, 0.0, 0.0]))
    gcd, lcm = (paddle.jit.to_static(lambda a, b, f=f: f(a, b)) if captured else f for f in (paddle.gcd, paddle.lcm))
    assert gcd(x, y).tolist() == [1.5, 3.0, 4.0, 0.0, 3.0]
    assert lcm(x, y).tolist() == [18.0, 18.0, 24.0, 0.0, 0.0]
    assert paddle.gcd(x, y).dtype.name == dtype
    assert np.isnan(
        paddle.gcd(paddle.to_tensor([1.0, float("nan")]), paddle.to_tensor([float("inf"), 2.0])).numpy()
    ).all()


def test_slopes_outside_of_the_domain():
    x = paddle.to_tensor([-0.5, 1.5, 0.5], stop_gradient=False)
    paddle.logit(x).sum().backward()
    assert np.isnan(x.grad.numpy()[:2]).all() and x.grad[2].item() == 4
    x = paddle.to_tensor([-2.0, 2.0], stop_gradient=False)
    paddle.acosh(x).sum().backward()
    assert np.allclose(x.grad.numpy(), 3**-0.5)


def test_an_infinity_is_its_own_mantissa():
    mantissa, exponent = paddle.frexp(paddle.to_tensor([float("inf"), -float("inf"), 0.0, -3.0]))
    assert mantissa.tolist() == [float("inf"), -float("inf"), 0.0, -0.75] and exponent.tolist() == [1.0, 1.0, 0.0, 2.0]


def test_integers_keep_their_dtype_in_place():
    x = paddle.to_tensor([[1, 2], [3, 4]], "int32")
    assert paddle.cumsum(x).dtype is paddle.int64 and paddle.cumsum(x.astype("uint8")).dtype is paddle.int64
    assert x.clone().cumsum_(0).dtype is paddle.int32 and x.clone().cumsum_(0, dtype="int64").dtype is paddle.int64
    assert x.clone().cumprod_().tolist() == [1, 2, 6, 24]
    clipped = paddle.to_tensor([-3, 1, 9]).clip_(-0.5, 2.5)
    assert clipped.dtype is paddle.int64 and clipped.tolist() == [0, 1, 2]


def test_trials_with_a_probability_for_each_element():
    x = paddle.zeros([4000, 2]).geometric_(paddle.to_tensor([0.5, 0.1]))
    assert x.min().item() == 1 and (x == x.floor()).all()
    assert np.allclose(x.mean(0).numpy(), [2, 10], rtol=0.2)


@pytest.mark.parametrize("kind", [TypeError, ValueError])
def test_operands_that_do_not_fit_are_errors_of_both_kinds(kind):
    for call in (
        lambda: paddle.add(paddle.ones([2]), paddle.to_tensor([1, 2])),
        lambda: paddle.bitwise_and(paddle.ones([2]), paddle.ones([2])),
        lambda: paddle.heaviside(paddle.to_tensor([1]), paddle.ones([1])),
        lambda: paddle.sin([1.0, 2.0]),
        lambda: paddle.add(paddle.ones([2]), None),
        lambda: paddle.gcd(numbers([3 + 4j]), numbers([5])),
    ):
        with pytest.raises(kind, match=r"^\[\w+\] requires"):
            call()


@pytest.mark.parametrize("kind", [TypeError, ValueError, AssertionError])
@pytest.mark.parametrize("call", [bool, int, float, complex, lambda x: [0, 1][x]])
def test_several_elements_are_no_number(call, kind):
    with pytest.raises(kind, match="one element"):
        call(paddle.to_tensor([1, 2]))


@pytest.mark.parametrize("kind", [RuntimeError, ValueError])
def test_writing_to_a_leaf_is_an_error_of_both_kinds(kind):
    leaf = paddle.to_tensor([1.0], stop_gradient=False)
    with pytest.raises(kind, match="no leaf"):
        leaf.add_(leaf.detach())
    with pytest.raises(kind, match="no leaf"):
        leaf[0] = 2.0


def test_coordinates_need_a_dim():
    for call in (paddle.nonzero, paddle.argwhere):
        with pytest.raises(ValueError, match="at least one dim"):
            call(paddle.to_tensor(3.0))


@pytest.mark.parametrize("bound", [2.0, 2.5, float("inf"), np.float32(2.0), "float32", "float64"])
@pytest.mark.parametrize("dtype", ["int32", "int64"])
def test_integers_between_floating_bounds_are_float32(dtype, bound):
    x, high = paddle.to_tensor([-3, 1, 9], dtype=dtype), bound
    if isinstance(bound, str):
        high = paddle.to_tensor(2.0, dtype=bound)
    y = paddle.clip(x, max=high)
    assert y.dtype is paddle.float32
    np.testing.assert_array_equal(y.numpy(), np.minimum([-3, 1, 9], float(high)))
    assert x.clip_(max=high).dtype is x.dtype
    np.testing.assert_array_equal(x.numpy(), np.minimum([-3, 1, 9], float(high)).astype(dtype))


def test_integers_are_bounded_exactly_in_place():
    x = paddle.to_tensor([2**60 + 1])
    assert x.clip_(min=0.0).item() == 2**60 + 1
    assert x.clip_(min=paddle.to_tensor(0.0)).item() == 2**60 + 1


@pytest.mark.parametrize(("dtype", "bounds"), [("float32", "int64"), ("int64", "int32"), ("int64", "float32")])
def test_several_bounds_of_another_dtype(dtype, bounds):
    low = paddle.to_tensor([0, 2, 4], dtype=bounds)
    y = paddle.clip(paddle.to_tensor([-3, 1, 9], dtype=dtype), low, 8)
    assert y.tolist() == [0, 2, 8] and y.dtype is (paddle.float32 if "float32" in (dtype, bounds) else paddle.int64)
