"""Dropout before a residual connection, alone or with the bias before and the norm behind."""

from __future__ import annotations

from paddle._public import need_tensor, public
from paddle.nn.functional.common import dropout
from paddle.nn.functional.norm import layer_norm
from paddle.tensor._args import fraction
from umiak import ops as F
from umiak.core.tensor import Tensor
from umiak.ir import sym as dim
from umiak.util.errors import op_error

MODES = ("upscale_in_train", "downscale_in_infer")


def need_mode(op_name: str, mode: str) -> None:
    """Refuse a mode of dropout that does not exist."""
    if mode not in MODES:
        raise op_error(ValueError, op_name, f"a mode of {MODES}", repr(mode))


@public("paddle.incubate.nn.functional", usual=False)
def fused_dropout_add(
    x: Tensor, y: Tensor, p: float = 0.5, training: bool = True, mode: str = "upscale_in_train", name: str | None = None
) -> Tensor:
    """Dropout of x, plus y.

    Args:
        x: floating tensor of any shape.
        y: tensor of x's dtype that broadcasts with x.
        p: the probability that an element of x is dropped, from 0 to 1.
        training: False drops nothing.
        mode: ``"upscale_in_train"`` divides what is kept by ``1 - p`` in training; ``"downscale_in_infer"`` multiplies
            x by ``1 - p`` outside of training instead.

    Returns:
        Tensor of x's dtype.

    Raises:
        TypeError: x is not floating, or y no tensor.
        ValueError: ``p`` outside [0, 1], or an unknown mode.

    Example:
        >>> import paddle
        >>> from paddle.incubate.nn.functional import fused_dropout_add
        >>> fused_dropout_add(paddle.ones([2]), paddle.ones([2]), p=1.0).tolist()
        [1.0, 1.0]
    """
    need_mode("fused_dropout_add", mode)
    p = fraction(p, "fused_dropout_add", "p")
    return dropout(x, p, training=training, mode=mode) + need_tensor(y, "fused_dropout_add", "y")


@public("paddle.incubate.nn.functional", usual=False)
def fused_bias_dropout_residual_layer_norm(
    x: Tensor,
    residual: Tensor,
    bias: Tensor | None = None,
    ln_scale: Tensor | None = None,
    ln_bias: Tensor | None = None,
    dropout_rate: float = 0.5,
    ln_epsilon: float = 1e-5,
    training: bool = True,
    mode: str = "upscale_in_train",
    name: str | None = None,
) -> Tensor:
    """Layer normalisation over the last dim of ``residual + dropout(x + bias)``.

    Args:
        x: floating tensor ``[*, n]``.
        residual: tensor of x's shape and dtype.
        bias: tensor ``[n]`` of x's dtype, or None.
        ln_scale: tensor ``[n]`` that the normalised numbers are multiplied with, of x's dtype or float32; None for
            ones.
        ln_bias: tensor ``[n]`` added last, of x's dtype or float32; None for zeros.
        dropout_rate: the probability that an element is dropped, from 0 to 1.
        ln_epsilon: added to the variance.
        training: False drops nothing.
        mode: ``"upscale_in_train"`` or ``"downscale_in_infer"``; see :func:`fused_dropout_add`.

    Returns:
        Tensor of x's shape and dtype.

    Raises:
        TypeError: x is not floating, or dtypes differ.
        ValueError: ``dropout_rate`` outside [0, 1], an unknown mode, or shapes that do not fit.

    Example:
        >>> import paddle
        >>> from paddle.incubate.nn.functional import fused_bias_dropout_residual_layer_norm
        >>> x = paddle.to_tensor([[1.0, 3.0]])
        >>> fused_bias_dropout_residual_layer_norm(x, x, dropout_rate=0.0, ln_epsilon=0.0).tolist()
        [[-1.0, 1.0]]
    """
    op_name = "fused_bias_dropout_residual_layer_norm"
    need_mode(op_name, mode)
    p = fraction(dropout_rate, op_name, "dropout_rate")
    n = need_tensor(x, op_name).shape[-1] if x.ndim else None
    if n is None:
        raise op_error(ValueError, op_name, "x of rank 1 or more", list(x.shape))
    shape = need_tensor(residual, op_name, "residual").shape
    if len(shape) != x.ndim or not all(map(dim.eq, shape, x.shape)):
        raise op_error(ValueError, op_name, "a residual of x's shape", f"{list(shape)} and {list(x.shape)}")
    for arg_name, v in (("bias", bias), ("ln_scale", ln_scale), ("ln_bias", ln_bias)):
        if v is not None and (need_tensor(v, op_name, arg_name).ndim != 1 or not dim.eq(v.shape[0], n)):
            raise op_error(ValueError, op_name, f"{arg_name} of shape [{n}]", list(v.shape))
    if bias is not None:
        x = F.add(x, bias)
    x = F.add(residual, dropout(x, p, training=training, mode=mode))
    return layer_norm(x, n, ln_scale, ln_bias, ln_epsilon)
