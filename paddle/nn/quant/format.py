"""Layers that quantise and dequantise with known scales: what a quantised model has in the place of observers."""

from __future__ import annotations

from typing import Any

from paddle import _lazy
from paddle._public import need_tensor, public
from paddle.nn.layer.layers import Layer
from paddle.tensor.from_data import to_tensor
from umiak import ops as F
from umiak.core import dtype as dt
from umiak.core.dtype import DType
from umiak.core.tensor import Tensor
from umiak.util.errors import op_error


class _Linear(Layer):
    """Scales of levels between ``-2**(bits - 1)`` and ``2**(bits - 1) - 1``."""

    def __init__(
        self,
        scales: Any,
        zero_point: Any = None,
        quant_axis: int | None = None,
        bit_length: int = 8,
        group_size: int = 128,
    ) -> None:
        super().__init__()
        name = type(self).__name__
        scales = to_tensor(scales, dtype="float32")
        if len(scales.shape) > 1:
            raise op_error(ValueError, name, "one scale, or a vector of scales", f"shape {list(scales.shape)}")
        if type(bit_length) is not int or not 2 <= bit_length <= 16:
            raise op_error(ValueError, name, "a bit_length from 2 to 16", repr(bit_length))
        if zero_point is not None and to_tensor(zero_point, dtype="float32").numpy().any():
            raise op_error(ValueError, name, "a zero_point of 0: levels are symmetric", zero_point)
        self.register_buffer("_scales", scales)
        self._axis = -1 if quant_axis is None or scales.size == 1 else quant_axis
        self._levels = (1 << (bit_length - 1)) - 1

    @classmethod
    def from_quanter(cls, quanter: Any) -> _Linear:
        """Make the layer of what an observer has found.

        Args:
            quanter: has ``scales()``, ``zero_points()``, ``quant_axis()`` and ``bit_length()``.

        Returns:
            A layer of this class.
        """
        return cls(quanter.scales(), quanter.zero_points(), quanter.quant_axis(), quanter.bit_length())

    def _given(self, x: Any) -> tuple[Tensor, int]:
        """The input in float32, and the axis of the scales as it counts there."""
        name = type(self).__name__
        x = need_tensor(x, name, "input")
        n = len(x.shape)
        axis = self._axis
        if self._scales.size > 1:
            if not -n <= axis < n:
                raise op_error(ValueError, name, f"an input that has the quant_axis {axis}", f"{n} dims")
            axis %= n
        return F.cast(x, dtype=dt.float32), axis


def _back(x: Tensor, dtype: DType) -> Tensor:
    return x if x.dtype is dtype else F.cast(x, dtype=dtype)


@public("paddle.nn.quant.format")
class LinearQuanter(_Linear):
    """Layer that rounds its input to levels: ``round(x / scale * (2**(bits - 1) - 1))``, ties to even.

    Levels have the dtype of the input. No gradient passes.

    Args:
        scales: what the largest level stands for: a number, or a vector with one for each entry along an axis.
        zero_point: the level of 0, which must be 0; None: 0.
        quant_axis: the axis of a vector of scales; None: the last.
        bit_length: bits of a level, 2 to 16.
        group_size: accepted: there is one scale for all elements or for an entry.

    Shape:
        input: floating, of any shape.
        output: that of the input.

    Raises:
        ValueError: scales of two dims, a zero point that is not 0, or other numbers of bits.

    Example:
        >>> import paddle
        >>> quanter = paddle.nn.quant.format.LinearQuanter(127.0)
        >>> quanter(paddle.to_tensor([0.4, 1.6, -300.0])).tolist()
        [0.0, 2.0, -128.0]
    """

    def forward(self, input: Tensor) -> Tensor:
        x, axis = self._given(input)
        n = float(self._levels)
        return _back(F.quantize_linear(x, self._scales, axis, False, n, -n - 1, n), input.dtype)


@public("paddle.nn.quant.format")
class LinearDequanter(_Linear):
    """Layer that says what levels stand for: ``x / (2**(bits - 1) - 1) * scale``.

    Args:
        scales: what the largest level stands for: a number, or a vector with one for each entry along an axis.
        zero_point: the level of 0, which must be 0; None: 0.
        quant_axis: the axis of a vector of scales; None: the last.
        bit_length: bits of a level, 2 to 16.
        group_size: accepted: there is one scale for all elements or for an entry.

    Shape:
        input: levels, of any shape.
        output: that of the input, in its dtype.

    Raises:
        ValueError: scales of two dims, a zero point that is not 0, or other numbers of bits.

    Example:
        >>> import paddle
        >>> dequanter = paddle.nn.quant.format.LinearDequanter([1.27, 2.54], quant_axis=0)
        >>> dequanter(paddle.to_tensor([[100.0], [100.0]])).numpy().round(4).tolist()
        [[1.0], [2.0]]
    """

    def forward(self, input: Tensor) -> Tensor:
        x, axis = self._given(input)
        return _back(F.dequantize_linear(x, self._scales, axis, float(self._levels)), input.dtype)


@public("paddle.nn.quant.format")
class LinearQuanterDequanter(Layer):
    """Layer that quantises and dequantises: its output is the input as few bits have it.

    Args:
        quanter: the layer that quantises; None: none.
        dequanter: the layer that dequantises; None: none.

    Shape:
        input: floating, of any shape.
        output: that of the input.

    Example:
        >>> import paddle
        >>> from paddle.nn.quant.format import LinearDequanter, LinearQuanter, LinearQuanterDequanter
        >>> rounded = LinearQuanterDequanter(LinearQuanter(7.0, bit_length=4), LinearDequanter(7.0, bit_length=4))
        >>> rounded(paddle.to_tensor([0.4, 1.6, -300.0])).tolist()
        [0.0, 2.0, -8.0]
    """

    def __init__(self, quanter: Layer | None, dequanter: Layer | None) -> None:
        super().__init__()
        self._quanter = quanter
        self._dequanter = dequanter

    @staticmethod
    def from_quanter(quanter: Any) -> LinearQuanterDequanter:
        """Make the layer of what an observer has found.

        Args:
            quanter: has ``scales()``, ``zero_points()``, ``quant_axis()`` and ``bit_length()``.
        """
        return LinearQuanterDequanter(LinearQuanter.from_quanter(quanter), LinearDequanter.from_quanter(quanter))

    def forward(self, input: Tensor) -> Tensor:
        out = input
        for layer in (self._quanter, self._dequanter):
            out = out if layer is None else layer(out)
        return out


__getattr__, __dir__, __all__ = _lazy.contents(__name__)
