"""Layers whose parameters in PyTorch are others than in ``paddle.nn``: linear maps, softmax, unfolding."""

from __future__ import annotations

from typing import Any

import paddle
from paddle._public import public
from paddle.compat.nn.functional import common as F
from paddle.nn.initializer import Uniform
from paddle.nn.layer.layers import Layer
from umiak.core.tensor import Tensor

_HERE = "paddle.compat.nn"


@public(_HERE)
class Linear(Layer):
    """Linear map of the last dim, ``input @ weight.T + bias``.

    Weight and bias are drawn evenly from ``±in_features ** -0.5``.

    Args:
        in_features: last dim of the input.
        out_features: last dim of the output.
        bias: whether there is a bias ``[out_features]``.
        device: where the parameters are; None: the current device.
        dtype: that of the parameters; None: the default dtype.

    Shape:
        input: ``[..., in_features]``, of the weight's dtype.
        output: ``[..., out_features]``.

    Raises:
        ValueError: in a call, an input of another size.

    Example:
        >>> import paddle
        >>> paddle.compat.nn.Linear(2, 3).weight.shape == (3, 2)
        True
    """

    def __init__(
        self, in_features: int, out_features: int, bias: bool = True, device: Any = None, dtype: Any = None
    ) -> None:
        super().__init__(dtype=paddle.get_default_dtype() if dtype is None else dtype)
        self.in_features = in_features
        self.out_features = out_features
        even = self._even()
        self.weight = self.create_parameter(
            [out_features, in_features], None, dtype, default_initializer=even, device=device
        )
        self.bias = None
        if bias:
            self.bias = self.create_parameter(
                [out_features], None, dtype, is_bias=True, default_initializer=even, device=device
            )

    def _even(self) -> Uniform:
        bound = self.in_features**-0.5 if self.in_features else 0.0
        return Uniform(-bound, bound)

    def reset_parameters(self) -> None:
        """Draw weight and bias anew."""
        even = self._even()
        for parameter in (self.weight, self.bias):
            if parameter is not None:
                even(parameter)

    def forward(self, input: Tensor) -> Tensor:
        return F.linear(input, self.weight, self.bias)

    def extra_repr(self) -> str:
        return f"in_features={self.in_features}, out_features={self.out_features}, bias={self.bias is not None}"


@public(_HERE)
class Softmax(Layer):
    """Softmax along a dim: ``exp(input)`` over its sum.

    Args:
        dim: the dim whose elements sum to 1; negative counts from the end. None: the first dim of tensors of rank 0, 1
            and 3, the second dim of others.

    Shape:
        input: any, floating.
        output: the input's.

    Raises:
        IndexError: in a call, an input without such a dim.

    Example:
        >>> import paddle
        >>> paddle.compat.nn.Softmax(dim=0)(paddle.zeros([2])).tolist()
        [0.5, 0.5]
    """

    def __init__(self, dim: int | None = None) -> None:
        super().__init__()
        self.dim = dim

    def forward(self, input: Tensor) -> Tensor:
        return F.softmax(input, self.dim)

    def extra_repr(self) -> str:
        return f"dim={self.dim}"


@public(_HERE)
class Unfold(Layer):
    """Windows of images as columns.

    Args:
        kernel_size: size of a window, one int or (height, width).
        dilation: distances of neighbouring elements of a window, one int or (vertical, horizontal).
        padding: zeros around the images, one int or (vertical, horizontal).
        stride: distances of neighbouring windows, one int or (vertical, horizontal).

    Shape:
        input: ``[N, C, H, W]`` or ``[C, H, W]``, of any dtype.
        output: ``[N, C * height * width, windows]``, without N for one image.

    Raises:
        ValueError: in a call, windows that do not fit.

    Example:
        >>> import paddle
        >>> paddle.compat.nn.Unfold(2)(paddle.ones([1, 1, 3, 3])).shape == (1, 4, 4)
        True
    """

    def __init__(self, kernel_size: Any, dilation: Any = 1, padding: Any = 0, stride: Any = 1) -> None:
        super().__init__()
        self.kernel_size = kernel_size
        self.dilation = dilation
        self.padding = padding
        self.stride = stride

    def forward(self, input: Tensor) -> Tensor:
        return F.unfold(input, self.kernel_size, self.dilation, self.padding, self.stride)

    def extra_repr(self) -> str:
        return f"kernel_size={self.kernel_size}, dilation={self.dilation}, padding={self.padding}, stride={self.stride}"
