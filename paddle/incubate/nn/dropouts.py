"""Layers of dropout before a residual connection."""

from __future__ import annotations

from typing import Any

from paddle._public import public
from paddle.incubate.nn.functional.dropouts import (
    fused_bias_dropout_residual_layer_norm,
    fused_dropout_add,
)
from paddle.nn.initializer.initializers import Constant
from paddle.nn.layer.layers import Layer
from umiak.core.tensor import Tensor
from umiak.util.errors import op_error


@public("paddle.incubate.nn")
class FusedDropoutAdd(Layer):
    """Dropout of x in training, plus y; see :func:`paddle.incubate.nn.functional.fused_dropout_add`.

    Args:
        p: the probability that an element of x is dropped, from 0 to 1.
        mode: ``"upscale_in_train"`` or ``"downscale_in_infer"``.

    Shape:
        x: any.
        y: broadcasts with x; of its dtype.
        output: that of x and y broadcast.

    Raises:
        ValueError: in a call, ``p`` outside [0, 1] or an unknown mode.

    Example:
        >>> import paddle
        >>> layer = paddle.incubate.nn.FusedDropoutAdd(p=0.5)
        >>> _ = layer.eval()
        >>> layer(paddle.ones([2]), paddle.ones([2])).tolist()
        [2.0, 2.0]
    """

    def __init__(self, p: float = 0.5, mode: str = "upscale_in_train", name: str | None = None) -> None:
        super().__init__()
        self.p = p
        self.mode = mode
        self.name = name

    def forward(self, x: Tensor, y: Tensor) -> Tensor:
        return fused_dropout_add(x, y, self.p, self.training, self.mode)

    def extra_repr(self) -> str:
        return f"p={self.p}, mode={self.mode}" + (f", name={self.name}" if self.name else "")


@public("paddle.incubate.nn")
class FusedBiasDropoutResidualLayerNorm(Layer):
    """Layer normalisation of ``residual + dropout(x + bias)`` over the last dim.

    Args:
        embed_dim: last dim of the input.
        dropout_rate: the probability that an element is dropped in training.
        weight_attr: attributes of the factors of the normalised numbers, ones by default.
        bias_attr: attributes of both biases, zeros by default; False for none.
        epsilon: added to the variance.

    Shape:
        x: ``[*, embed_dim]``, of the parameters' dtype.
        residual: that of x.
        output: that of x.

    Attributes:
        linear_bias: the parameter ``[embed_dim]`` that is added to x, or None.
        ln_scale: the factors ``[embed_dim]``.
        ln_bias: the parameter ``[embed_dim]`` that is added last, or None.

    Raises:
        ValueError: ``embed_dim`` below 1; in a call, shapes that do not fit.

    Example:
        >>> import paddle
        >>> layer = paddle.incubate.nn.FusedBiasDropoutResidualLayerNorm(8)
        >>> x = paddle.rand([2, 4, 8])
        >>> layer(x, x).shape
        paddle.Size([2, 4, 8])
    """

    linear_bias: Tensor | None
    ln_scale: Tensor
    ln_bias: Tensor | None

    def __init__(
        self,
        embed_dim: int,
        dropout_rate: float = 0.5,
        weight_attr: Any = None,
        bias_attr: Any = None,
        epsilon: float = 1e-5,
        name: str | None = None,
    ) -> None:
        super().__init__()
        if embed_dim < 1:
            raise op_error(ValueError, type(self).__name__, "a positive embed_dim", embed_dim)
        self.embed_dim = embed_dim
        self.linear_bias = self.create_parameter([embed_dim], bias_attr, is_bias=True)
        self.ln_scale = self.create_parameter([embed_dim], weight_attr, default_initializer=Constant(1.0))
        self.ln_bias = self.create_parameter([embed_dim], bias_attr, is_bias=True)
        self.dropout_rate = dropout_rate
        self._epsilon = epsilon
        self.name = name

    def forward(self, x: Tensor, residual: Tensor) -> Tensor:
        return fused_bias_dropout_residual_layer_norm(
            x,
            residual,
            self.linear_bias,
            self.ln_scale,
            self.ln_bias,
            self.dropout_rate,
            self._epsilon,
            self.training,
        )

    def extra_repr(self) -> str:
        text = f"embed_dim={self.embed_dim}, dropout_rate={self.dropout_rate}, epsilon={self._epsilon}"
        return f"{text}, dtype={self._dtype}" + (f", name={self.name}" if self.name else "")
