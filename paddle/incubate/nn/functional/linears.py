"""Linear maps with what follows them: one matmul, whose bias and activation the compiler applies in its launch."""

from __future__ import annotations

from paddle._public import need_tensor, public
from umiak import ops as F
from umiak.core.tensor import Tensor
from umiak.ir import sym as dim
from umiak.util.errors import op_error

_ACTIVATIONS = ("none", "relu", "gelu")


@public("paddle.incubate.nn.functional", usual=False)
def fused_matmul_bias(
    x: Tensor,
    y: Tensor,
    bias: Tensor | None = None,
    transpose_x: bool = False,
    transpose_y: bool = False,
    name: str | None = None,
) -> Tensor:
    """Matrix product of x and y, plus a bias.

    Args:
        x: floating tensor ``[*, k]``; with ``transpose_x``, ``[k, *]`` if there is a bias and ``[..., k, m]`` without.
        y: matrix ``[k, n]`` of x's dtype, or ``[n, k]`` with ``transpose_y``; without a bias it may have leading axes
            that broadcast, as in :func:`paddle.matmul`.
        bias: tensor ``[n]`` of x's dtype, or None.
        transpose_x: whether x is transposed.
        transpose_y: whether y is transposed.

    Returns:
        Tensor ``[*, n]`` of x's dtype.

    Raises:
        TypeError: the operands are not floating, or of different dtypes.
        ValueError: sizes or ranks that do not fit.

    Example:
        >>> import paddle
        >>> from paddle.incubate.nn.functional import fused_matmul_bias
        >>> fused_matmul_bias(paddle.ones([1, 2]), paddle.ones([3, 2]), paddle.ones([3]), transpose_y=True).tolist()
        [[3.0, 3.0, 3.0]]
    """
    op_name = "fused_matmul_bias"
    if bias is None:
        return F.matmul(
            need_tensor(x, op_name),
            need_tensor(y, op_name, "y"),
            transpose_x=bool(transpose_x),
            transpose_y=bool(transpose_y),
        )
    return _affine(op_name, x, y, bias, transpose_x, transpose_y)


@public("paddle.incubate.nn.functional", usual=False)
def fused_linear(
    x: Tensor, weight: Tensor, bias: Tensor | None = None, transpose_weight: bool = False, name: str | None = None
) -> Tensor:
    """Linear map of the last dim: ``x @ weight + bias``.

    Args:
        x: floating tensor ``[*, in_features]``.
        weight: matrix ``[in_features, out_features]`` of x's dtype, or its transpose with ``transpose_weight``.
        bias: tensor ``[out_features]`` of x's dtype, or None.
        transpose_weight: whether the weight is transposed.

    Returns:
        Tensor ``[*, out_features]`` of x's dtype.

    Raises:
        TypeError: the operands are not floating, or of different dtypes.
        ValueError: sizes or ranks that do not fit.

    Example:
        >>> import paddle
        >>> from paddle.incubate.nn.functional import fused_linear
        >>> fused_linear(paddle.ones([2, 3]), paddle.ones([3, 4]), paddle.zeros([4])).shape
        paddle.Size([2, 4])
    """
    return fused_matmul_bias(x, weight, bias, False, transpose_weight)


@public("paddle.incubate.nn.functional", usual=False)
def fused_linear_activation(
    x: Tensor, y: Tensor, bias: Tensor, trans_x: bool = False, trans_y: bool = False, activation: str | None = None
) -> Tensor:
    """Activation of a linear map: ``activation(x @ y + bias)``.

    Args:
        x: floating tensor ``[*, k]``, or ``[k, *]`` with ``trans_x``.
        y: matrix ``[k, n]`` of x's dtype, or ``[n, k]`` with ``trans_y``.
        bias: tensor ``[n]`` of x's dtype.
        trans_x: whether x is transposed.
        trans_y: whether y is transposed.
        activation: ``"relu"``, ``"gelu"`` (its approximation by tanh, as in the reference's kernel), or None or
            ``"none"``.

    Returns:
        Tensor ``[*, n]`` of x's dtype.

    Raises:
        TypeError: the operands are not floating, or of different dtypes.
        ValueError: sizes or ranks that do not fit, or another activation.

    Example:
        >>> import paddle
        >>> from paddle.incubate.nn.functional import fused_linear_activation
        >>> x = paddle.to_tensor([[1.0, -2.0]])
        >>> fused_linear_activation(x, paddle.ones([2, 1]), paddle.zeros([1]), activation="relu").tolist()
        [[0.0]]
    """
    op_name = "fused_linear_activation"
    kind = "none" if activation is None else activation
    if kind not in _ACTIVATIONS:
        raise op_error(ValueError, op_name, f"an activation of {_ACTIVATIONS}", repr(activation))
    out = _affine(op_name, x, y, need_tensor(bias, op_name, "bias"), trans_x, trans_y)
    if kind == "none":
        return out
    return F.relu(out) if kind == "relu" else F.gelu(out, approximate=True)


def _affine(op_name: str, x: Tensor, y: Tensor, bias: Tensor, transpose_x: bool, transpose_y: bool) -> Tensor:
    """``x @ y + bias`` of a matrix y; a transposed x is contracted over its first axis."""
    for arg_name, v in (("x", x), ("y", y), ("bias", bias)):
        if not need_tensor(v, op_name, arg_name).dtype.is_floating:
            raise op_error(TypeError, op_name, f"a floating {arg_name}", v.dtype.name)
    if x.ndim < 2 or y.ndim != 2:
        raise op_error(
            ValueError, op_name, "x of rank 2 or more and a matrix y", f"{list(x.shape)} and {list(y.shape)}"
        )
    n = y.shape[0 if transpose_y else 1]
    if bias.ndim != 1 or not dim.eq(bias.shape[0], n):
        raise op_error(ValueError, op_name, f"a bias of shape [{n}]", list(bias.shape))
    if transpose_x:
        x = F.permute(x, perm=(*range(1, x.ndim), 0))
    k = y.shape[1 if transpose_y else 0]
    if not dim.eq(x.shape[-1], k):
        raise op_error(ValueError, op_name, f"x of {k} features, as y has", x.shape[-1])
    if transpose_y:
        y = F.permute(y, perm=(1, 0))
    return F.linear(x, y, bias)
