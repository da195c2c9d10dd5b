"""Levels with known scales: layers and operators, against what the reference makes."""

from __future__ import annotations

import numpy as np
import pytest

import paddle
from paddle.nn.quant.format import LinearDequanter, LinearQuanter, LinearQuanterDequanter
from tests.support import quantised_levels
from umiak import ops as F


@pytest.mark.parametrize("case", range(len(quantised_levels.CASES)))
def test_levels_are_those_of_the_reference(case):
    _, axis, bits, away = quantised_levels.CASES[case]
    x, scale = map(paddle.to_tensor, quantised_levels.operands(case))
    expected = quantised_levels.recorded()[case]
    n = 2.0 ** (bits - 1) - 1
    # Where ties go away from 0, the reference takes -n to n whatever range it is given.
    lowest = -n if away else -n - 1
    levels = F.quantize_linear(x, scale, axis=axis, away=away, levels=n, lowest=lowest, highest=n)
    np.testing.assert_array_equal(levels.numpy(), np.array(expected["levels"], np.float32))
    values = F.dequantize_linear(levels, scale, axis=axis, levels=n)
    np.testing.assert_array_equal(values.numpy(), np.array(expected["values"], np.float32))
    if not away:
        given = {"scales": scale, "quant_axis": None if axis == -1 else axis, "bit_length": bits}
        quanter, dequanter = LinearQuanter(**given), LinearDequanter(**given)
        np.testing.assert_array_equal(quanter(x).numpy(), levels.numpy())
        np.testing.assert_array_equal(dequanter(levels).numpy(), values.numpy())
        np.testing.assert_array_equal(LinearQuanterDequanter(quanter, dequanter)(x).numpy(), values.numpy())


def test_negative_axes_and_dtypes():
    x = paddle.to_tensor([[1.0, 2.0], [3.0, -4.0]], dtype="bfloat16")
    layer = LinearQuanterDequanter(LinearQuanter([127.0, 254.0], quant_axis=-1), LinearDequanter([127.0, 254.0]))
    y = layer(x)
    assert y.dtype == paddle.bfloat16
    assert y.tolist() == [[1.0, 2.0], [3.0, -4.0]]


def test_no_gradient_passes():
    """As in the reference: a training layer says by itself what stands for the gradient of rounding."""
    x = paddle.ones([2])
    x.stop_gradient = False
    y = LinearQuanter(127.0)(x)
    assert y.stop_gradient
    (y.sum() + x.sum()).backward()
    assert x.grad.tolist() == [1.0, 1.0]


def test_scales_are_part_of_the_state():
    layer = LinearQuanter([1.0, 2.0], quant_axis=0)
    other = LinearQuanter([3.0, 4.0], quant_axis=0)
    other.set_state_dict(layer.state_dict())
    x = paddle.to_tensor([[0.3], [0.3]])
    assert other(x).tolist() == layer(x).tolist() == [[38.0], [19.0]]


def test_what_an_observer_found():
    class Observer:
        def scales(self):
            return paddle.to_tensor([7.0])

        def zero_points(self):
            return paddle.to_tensor([0.0])

        def quant_axis(self):
            return -1

        def bit_length(self):
            return 4

    layer = LinearQuanterDequanter.from_quanter(Observer())
    assert layer(paddle.to_tensor([0.6, 2.5, -20.0])).tolist() == [1.0, 2.0, -8.0]


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"scales": [[1.0]]}, r"one scale, or a vector of scales, got shape \[1, 1\]"),
        ({"scales": 1.0, "bit_length": 1}, "a bit_length from 2 to 16, got 1"),
        ({"scales": 1.0, "bit_length": (4, 3)}, r"a bit_length from 2 to 16, got \(4, 3\)"),
        ({"scales": 1.0, "zero_point": 3.0}, "a zero_point of 0: levels are symmetric, got 3.0"),
    ],
)
def test_what_is_refused(given, message):
    for layer in (LinearQuanter, LinearDequanter):
        with pytest.raises(ValueError, match=rf"\[{layer.__name__}\] requires {message}"):
            layer(**given)


def test_inputs_that_are_refused():
    layer = LinearQuanter([1.0, 2.0, 3.0], quant_axis=1)
    with pytest.raises(ValueError, match="an input that has the quant_axis 1, got 1 dims"):
        layer(paddle.ones([3]))
    with pytest.raises(ValueError, match="a scale for each entry along axis 1"):
        layer(paddle.ones([3, 2]))
