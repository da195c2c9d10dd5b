"""Convolutions over the stored positions of sparse tensors."""

from __future__ import annotations

from typing import Any

from paddle._public import public
from paddle.nn.functional._windows import ints
from paddle.sparse.nn.functional._windows import need_points, window
from paddle.tensor._args import need_tensor, op_error
from umiak.core.tensor import Tensor
from umiak.ops.promotion import promote
from umiak.runtime import sparse_windows
from umiak.runtime.sparse_tensor import SparseCoo


def _operands(x: Any, weight: Any, bias: Any, n: int, groups: int, data_format: str, op: str) -> tuple:
    points = need_points(x, n, data_format, op)
    need_tensor(weight, op)
    if groups != 1:
        raise op_error(ValueError, op, "groups=1", groups)
    if weight.ndim != n + 2 or weight.shape[-2] != points.shape[-1]:
        got = f"shape {list(weight.shape)} for {points.shape[-1]} channels"
        raise op_error(ValueError, op, "a weight of shape [*kernel, in_channels, out_channels]", got)
    if bias is not None and need_tensor(bias, op).shape != weight.shape[-1:]:
        raise op_error(ValueError, op, f"a bias of shape {weight.shape[-1:]}", bias.shape)
    return points, weight


def _convolved(points: SparseCoo, weight: Tensor, bias: Tensor | None, rules: Any) -> Tensor:
    values, weight = promote("conv", points.values(), weight)
    out = sparse_windows.convolve(points.with_values(values), weight, rules)
    return out if bias is None else out + bias


def _conv(
    x: Any, weight: Any, bias: Any, stride: Any, padding: Any, dilation: Any, groups: int, layout: str, n: int
) -> Any:
    op = f"conv{n}d"
    points, weight = _operands(x, weight, bias, n, groups, layout, op)
    sizes = window(points, n, weight.shape[:n], stride, padding, dilation, op)
    rules = sparse_windows.rulebook(points, sizes, op)
    return sparse_windows.result(points, rules, _convolved(points, weight, bias, rules))


def _subm_conv(
    x: Any, weight: Any, bias: Any, stride: Any, dilation: Any, groups: int, layout: str, n: int, op: str
) -> Any:
    points, weight = _operands(x, weight, bias, n, groups, layout, op)
    if set(ints(stride, n, op, "stride")) != {1}:
        raise op_error(ValueError, op, "a stride of 1, which keeps the positions", stride)
    spread = ints(dilation, n, op, "dilation")
    rules = sparse_windows.same_positions(points, tuple(weight.shape[:n]), spread)
    return points.with_values(_convolved(points, weight, bias, rules))


@public("paddle.sparse.nn.functional", usual=False)
def conv2d(
    x: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: Any = 1,
    padding: Any = 0,
    dilation: Any = 1,
    groups: int = 1,
    data_format: str = "NHWC",
    name: str | None = None,
) -> Tensor:
    """Convolution of a sparse tensor, with a result wherever the kernel meets a stored value.

    Args:
        x: sparse COO tensor of shape [b, h, w, channels], in which the channels are dense.
        weight: dense tensor of shape [kh, kw, in_channels, out_channels].
        bias: dense tensor of shape [out_channels], added to the results that are stored; None: none.
        stride: steps of the kernel, an int or 2 of them.
        padding: zeros around space, an int, 2 ints, 4 ints or 2 pairs; ``"SAME"`` or ``"VALID"``.
        dilation: steps between the elements of the kernel, an int or 2 of them.
        groups: 1.
        data_format: ``"NHWC"``.

    Returns:
        Sparse COO tensor of the convolution's shape, coalesced.

    Raises:
        TypeError: x is no sparse COO tensor.
        ValueError: shapes that do not fit, groups beyond 1, or another data_format.

    References:
        Graham and van der Maaten, 2017: Submanifold Sparse Convolutional Networks.

    Example:
        >>> import paddle
        >>> x = paddle.sparse.sparse_coo_tensor([[0, 0], [0, 1], [0, 1]], [[1.0], [2.0]], [1, 2, 2, 1])
        >>> y = paddle.sparse.nn.functional.conv2d(x, paddle.ones([2, 2, 1, 1]))
        >>> y.values().tolist()
        [[3.0]]
    """
    return _conv(x, weight, bias, stride, padding, dilation, groups, data_format, 2)


@public("paddle.sparse.nn.functional", usual=False)
def conv3d(
    x: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: Any = 1,
    padding: Any = 0,
    dilation: Any = 1,
    groups: int = 1,
    data_format: str = "NDHWC",
    name: str | None = None,
) -> Tensor:
    """Convolution of a sparse tensor, with a result wherever the kernel meets a stored value.

    Args:
        x: sparse COO tensor of shape [b, d, h, w, channels], in which the channels are dense.
        weight: dense tensor of shape [kd, kh, kw, in_channels, out_channels].
        bias: dense tensor of shape [out_channels], added to the results that are stored; None: none.
        stride: steps of the kernel, an int or 3 of them.
        padding: zeros around space, an int, 3 ints, 6 ints or 3 pairs; ``"SAME"`` or ``"VALID"``.
        dilation: steps between the elements of the kernel, an int or 3 of them.
        groups: 1.
        data_format: ``"NDHWC"``.

    Returns:
        Sparse COO tensor of the convolution's shape, coalesced.

    Raises:
        TypeError: x is no sparse COO tensor.
        ValueError: shapes that do not fit, groups beyond 1, or another data_format.

    References:
        Graham and van der Maaten, 2017: Submanifold Sparse Convolutional Networks.

    Example:
        >>> import paddle
        >>> x = paddle.sparse.sparse_coo_tensor([[0, 0], [0, 1], [0, 1], [0, 1]], [[1.0], [2.0]], [1, 2, 2, 2, 1])
        >>> y = paddle.sparse.nn.functional.conv3d(x, paddle.ones([2, 2, 2, 1, 1]))
        >>> y.values().tolist()
        [[3.0]]
    """
    return _conv(x, weight, bias, stride, padding, dilation, groups, data_format, 3)


@public("paddle.sparse.nn.functional", usual=False)
def subm_conv2d(
    x: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: Any = 1,
    padding: Any = 0,
    dilation: Any = 1,
    groups: int = 1,
    data_format: str = "NHWC",
    key: str | None = None,
    name: str | None = None,
) -> Tensor:
    """Submanifold convolution of a sparse tensor, with results at its own positions.

    Args:
        x: sparse COO tensor of shape [b, h, w, channels], in which the channels are dense; no position twice.
        weight: dense tensor of shape [kh, kw, in_channels, out_channels], whose middle meets each position.
        bias: dense tensor of shape [out_channels]; None: none.
        stride: 1, or 2 of them.
        padding: accepted; the kernel stands on each position.
        dilation: steps between the elements of the kernel, an int or 2 of them.
        groups: 1.
        data_format: ``"NHWC"``.
        key: accepted; what is computed of positions is kept with them.

    Returns:
        Sparse COO tensor of x's positions, with out_channels.

    Raises:
        TypeError: x is no sparse COO tensor.
        ValueError: shapes that do not fit, groups or a stride beyond 1, or another data_format.

    References:
        Graham and van der Maaten, 2017: Submanifold Sparse Convolutional Networks.

    Example:
        >>> import paddle
        >>> x = paddle.sparse.sparse_coo_tensor([[0, 0], [0, 1], [0, 1]], [[1.0], [2.0]], [1, 2, 2, 1])
        >>> y = paddle.sparse.nn.functional.subm_conv2d(x, paddle.ones([3, 3, 1, 1]))
        >>> y.values().tolist()
        [[3.0], [3.0]]
    """
    return _subm_conv(x, weight, bias, stride, dilation, groups, data_format, 2, "subm_conv2d")


@public("paddle.sparse.nn.functional", usual=False)
def subm_conv3d(
    x: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: Any = 1,
    padding: Any = 0,
    dilation: Any = 1,
    groups: int = 1,
    data_format: str = "NDHWC",
    key: str | None = None,
    name: str | None = None,
) -> Tensor:
    """Submanifold convolution of a sparse tensor, with results at its own positions.

    Args:
        x: sparse COO tensor of shape [b, d, h, w, channels], in which the channels are dense; no position twice.
        weight: dense tensor of shape [kd, kh, kw, in_channels, out_channels], whose middle meets each position.
        bias: dense tensor of shape [out_channels]; None: none.
        stride: 1, or 3 of them.
        padding: accepted; the kernel stands on each position.
        dilation: steps between the elements of the kernel, an int or 3 of them.
        groups: 1.
        data_format: ``"NDHWC"``.
        key: accepted; what is computed of positions is kept with them.

    Returns:
        Sparse COO tensor of x's positions, with out_channels.

    Raises:
        TypeError: x is no sparse COO tensor.
        ValueError: shapes that do not fit, groups or a stride beyond 1, or another data_format.

    References:
        Graham and van der Maaten, 2017: Submanifold Sparse Convolutional Networks.

    Example:
        >>> import paddle
        >>> x = paddle.sparse.sparse_coo_tensor([[0, 0], [0, 1], [0, 1], [0, 1]], [[1.0], [2.0]], [1, 2, 2, 2, 1])
        >>> y = paddle.sparse.nn.functional.subm_conv3d(x, paddle.ones([3, 3, 3, 1, 1]))
        >>> y.values().tolist()
        [[3.0], [3.0]]
    """
    return _subm_conv(x, weight, bias, stride, dilation, groups, data_format, 3, "subm_conv3d")


@public("paddle.sparse.nn.functional", usual=False)
def subm_conv2d_igemm(
    x: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: Any = 1,
    padding: Any = 0,
    dilation: Any = 1,
    groups: int = 1,
    data_format: str = "NHWC",
    key: str | None = None,
    name: str | None = None,
) -> Tensor:
    """Submanifold convolution, as :func:`subm_conv2d`; the reference computes it by another algorithm.

    Args:
        x: sparse COO tensor of shape [b, h, w, channels], in which the channels are dense; no position twice.
        weight: dense tensor of shape [kh, kw, in_channels, out_channels], whose middle meets each position.
        bias: dense tensor of shape [out_channels]; None: none.
        stride: 1, or 2 of them.
        padding: accepted; the kernel stands on each position.
        dilation: steps between the elements of the kernel, an int or 2 of them.
        groups: 1.
        data_format: ``"NHWC"``.
        key: accepted; what is computed of positions is kept with them.

    Returns:
        Sparse COO tensor of x's positions, with out_channels.

    Raises:
        TypeError: x is no sparse COO tensor.
        ValueError: shapes that do not fit, groups or a stride beyond 1, or another data_format.

    References:
        Graham and van der Maaten, 2017: Submanifold Sparse Convolutional Networks.

    Example:
        >>> import paddle
        >>> x = paddle.sparse.sparse_coo_tensor([[0, 0], [0, 1], [0, 1]], [[1.0], [2.0]], [1, 2, 2, 1])
        >>> y = paddle.sparse.nn.functional.subm_conv2d_igemm(x, paddle.ones([3, 3, 1, 1]))
        >>> y.values().tolist()
        [[3.0], [3.0]]
    """
    return _subm_conv(x, weight, bias, stride, dilation, groups, data_format, 2, "subm_conv2d_igemm")


@public("paddle.sparse.nn.functional", usual=False)
def subm_conv3d_igemm(
    x: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: Any = 1,
    padding: Any = 0,
    dilation: Any = 1,
    groups: int = 1,
    data_format: str = "NDHWC",
    key: str | None = None,
    name: str | None = None,
) -> Tensor:
    """Submanifold convolution, as :func:`subm_conv3d`; the reference computes it by another algorithm.

    Args:
        x: sparse COO tensor of shape [b, d, h, w, channels], in which the channels are dense; no position twice.
        weight: dense tensor of shape [kd, kh, kw, in_channels, out_channels], whose middle meets each position.
        bias: dense tensor of shape [out_channels]; None: none.
        stride: 1, or 3 of them.
        padding: accepted; the kernel stands on each position.
        dilation: steps between the elements of the kernel, an int or 3 of them.
        groups: 1.
        data_format: ``"NDHWC"``.
        key: accepted; what is computed of positions is kept with them.

    Returns:
        Sparse COO tensor of x's positions, with out_channels.

    Raises:
        TypeError: x is no sparse COO tensor.
        ValueError: shapes that do not fit, groups or a stride beyond 1, or another data_format.

    References:
        Graham and van der Maaten, 2017: Submanifold Sparse Convolutional Networks.

    Example:
        >>> import paddle
        >>> x = paddle.sparse.sparse_coo_tensor([[0, 0], [0, 1], [0, 1], [0, 1]], [[1.0], [2.0]], [1, 2, 2, 2, 1])
        >>> y = paddle.sparse.nn.functional.subm_conv3d_igemm(x, paddle.ones([3, 3, 3, 1, 1]))
        >>> y.values().tolist()
        [[3.0], [3.0]]
    """
    return _subm_conv(x, weight, bias, stride, dilation, groups, data_format, 3, "subm_conv3d_igemm")
