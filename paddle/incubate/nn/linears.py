"""Layers of one linear map, under the names of fused operators."""

from __future__ import annotations

from typing import Any

from paddle._public import public
from paddle.incubate.nn.functional.linears import fused_linear
from paddle.nn.layer.layers import Layer
from umiak.core.tensor import Tensor


@public("paddle.incubate.nn")
class FusedLinear(Layer):
    """Linear map of the last dim, ``x @ weight + bias``; its weight may be kept transposed.

    Args:
        in_features: last dim of the input.
        out_features: last dim of the output.
        weight_attr: attributes of the weight, Xavier-uniform by default.
        bias_attr: attributes of the bias ``[out_features]``, zeros by default; False for none.
        transpose_weight: whether the weight is ``[out_features, in_features]`` instead of ``[in_features,
            out_features]``.

    Shape:
        input: ``[*, in_features]``, of the weight's dtype.
        output: ``[*, out_features]``.

    Attributes:
        weight: the weight.
        bias: the parameter ``[out_features]``, or None.

    Raises:
        TypeError: in a call, an input of another dtype than the weight's.
        ValueError: in a call, an input whose last dim is not ``in_features``.

    Example:
        >>> import paddle
        >>> layer = paddle.incubate.nn.FusedLinear(4, 3, transpose_weight=True)
        >>> layer.weight.shape, layer(paddle.ones([2, 4])).shape
        (paddle.Size([3, 4]), paddle.Size([2, 3]))
    """

    weight: Tensor
    bias: Tensor | None

    def __init__(
        self,
        in_features: int,
        out_features: int,
        weight_attr: Any = None,
        bias_attr: Any = None,
        transpose_weight: bool = False,
        name: str | None = None,
    ) -> None:
        super().__init__()
        shape = [out_features, in_features] if transpose_weight else [in_features, out_features]
        self.weight = self.create_parameter(shape, weight_attr)
        self.bias = self.create_parameter([out_features], bias_attr, is_bias=True)
        self.transpose_weight = transpose_weight
        self.name = name

    def forward(self, input: Tensor) -> Tensor:
        return fused_linear(input, self.weight, self.bias, self.transpose_weight)
