"""Convolution and its transpose in one to three dims."""

from __future__ import annotations

from typing import Any

from paddle._public import public
from paddle.nn.functional._windows import ints, pads, same_pads, to_first, to_last
from paddle.tensor._args import integers
from umiak import ops as F
from umiak.core.eager import apply
from umiak.core.tensor import Tensor
from umiak.ir import sym as dim
from umiak.ir.expr import Sym
from umiak.util.errors import op_error

_CONV = {n: F.Conv(n) for n in (1, 2, 3)}
_TRANSPOSE = {n: F.ConvTranspose(n) for n in (1, 2, 3)}
_FORMATS = {1: ("NCL", "NLC"), 2: ("NCHW", "NHWC"), 3: ("NCDHW", "NDHWC")}


def _is_last(op_name: str, n: int, x: Tensor, data_format: str) -> bool:
    first, last = _FORMATS[n]
    if data_format not in (first, last):
        raise op_error(ValueError, op_name, f"data_format {first!r} or {last!r}", repr(data_format))
    if x.ndim != n + 2:
        raise op_error(ValueError, op_name, f"x of rank {n + 2}", f"shape {list(x.shape)}")
    return data_format == last


def _add_bias(y: Tensor, bias: Tensor | None, n: int) -> Tensor:
    """Channels first: the bias stands before the spatial dims."""
    return y if bias is None else y + F.reshape(bias, shape=(bias.shape[0], *(1,) * n))


def _conv(
    op_name: str,
    n: int,
    x: Tensor,
    weight: Tensor,
    bias: Tensor | None,
    stride: Any,
    padding: Any,
    dilation: Any,
    groups: int,
    data_format: str,
) -> Tensor:
    last = _is_last(op_name, n, x, data_format)
    if last:
        x = to_first(x, n)
    strides, dilations = ints(stride, n, op_name, "stride"), ints(dilation, n, op_name, "dilation")
    pairs = pads(padding, n, op_name, last)
    if pairs == "SAME":
        dilations = (1,) * n
        pairs = same_pads(x.shape[2:], tuple(weight.shape[2:]), strides)
    lo, hi = ((0,) * n, (0,) * n) if pairs == "VALID" else pairs
    y = _add_bias(apply(_CONV[n], (x, weight), (groups, strides, lo, hi, dilations)), bias, n)
    return to_last(y, n) if last else y


@public("paddle paddle.nn.functional")
def conv1d(
    x: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: Any = 1,
    padding: Any = 0,
    dilation: Any = 1,
    groups: int = 1,
    data_format: str = "NCL",
    name: str | None = None,
) -> Tensor:
    """Convolution of sequences with kernels that are not flipped (cross-correlation).

    Args:
        x: floating tensor ``[N, C, L]``, or ``[N, L, C]`` with ``data_format="NLC"``.
        weight: tensor ``[out, C/groups, k]`` of x's dtype.
        bias: tensor ``[out]``, or None.
        stride: one int, or one for each spatial dim; 1 or more.
        padding: one int, one for each spatial dim, (before, after), pairs for every dim,
            ``"VALID"`` (none) or ``"SAME"`` (as many windows as stride alone would give; dilation is then 1). Zeros are
            added.
        dilation: distance of neighbouring elements of a kernel, one int or one for each spatial dim; 1 or more.
        groups: channels are split into this many groups that do not mix.
        data_format: ``"NCL"`` or ``"NLC"``, the order of dims of x and of the result.

    Returns:
        Tensor of x's dtype with ``out`` channels, and along each spatial dim as many elements as there are windows.

    Raises:
        TypeError: the operands are not floating, or x and weight have different dtypes.
        ValueError: ranks, channels, groups or windows that do not fit, or an unknown format or padding.

    Example:
        >>> import paddle
        >>> x, weight = paddle.ones([1, 2, 5]), paddle.ones([4, 2, 3])
        >>> paddle.nn.functional.conv1d(x, weight, padding=1).shape
        paddle.Size([1, 4, 5])
    """
    return _conv("conv1d", 1, x, weight, bias, stride, padding, dilation, groups, data_format)


@public("paddle paddle.nn.functional")
def conv2d(
    x: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: Any = 1,
    padding: Any = 0,
    dilation: Any = 1,
    groups: int = 1,
    data_format: str = "NCHW",
    name: str | None = None,
) -> Tensor:
    """Convolution of images with kernels that are not flipped (cross-correlation).

    Args:
        x: floating tensor ``[N, C, H, W]``, or ``[N, H, W, C]`` with ``data_format="NHWC"``.
        weight: tensor ``[out, C/groups, kh, kw]`` of x's dtype.
        bias: tensor ``[out]``, or None.
        stride: one int, or one for each spatial dim; 1 or more.
        padding: one int, one for each spatial dim, (top, bottom, left, right), pairs for every dim,
            ``"VALID"`` (none) or ``"SAME"`` (as many windows as stride alone would give; dilation is then 1). Zeros are
            added.
        dilation: distance of neighbouring elements of a kernel, one int or one for each spatial dim; 1 or more.
        groups: channels are split into this many groups that do not mix.
        data_format: ``"NCHW"`` or ``"NHWC"``, the order of dims of x and of the result.

    Returns:
        Tensor of x's dtype with ``out`` channels, and along each spatial dim as many elements as there are windows.

    Raises:
        TypeError: the operands are not floating, or x and weight have different dtypes.
        ValueError: ranks, channels, groups or windows that do not fit, or an unknown format or padding.

    Example:
        >>> import paddle
        >>> x, weight = paddle.ones([1, 2, 5, 5]), paddle.ones([4, 2, 3, 3])
        >>> paddle.nn.functional.conv2d(x, weight, padding=1).shape
        paddle.Size([1, 4, 5, 5])
    """
    return _conv("conv2d", 2, x, weight, bias, stride, padding, dilation, groups, data_format)


@public("paddle paddle.nn.functional")
def conv3d(
    x: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: Any = 1,
    padding: Any = 0,
    dilation: Any = 1,
    groups: int = 1,
    data_format: str = "NCDHW",
    name: str | None = None,
) -> Tensor:
    """Convolution of volumes with kernels that are not flipped (cross-correlation).

    Args:
        x: floating tensor ``[N, C, D, H, W]``, or ``[N, D, H, W, C]`` with ``data_format="NDHWC"``.
        weight: tensor ``[out, C/groups, kd, kh, kw]`` of x's dtype.
        bias: tensor ``[out]``, or None.
        stride: one int, or one for each spatial dim; 1 or more.
        padding: one int, one for each spatial dim, (front, back, top, bottom, left, right), pairs for every dim,
            ``"VALID"`` (none) or ``"SAME"`` (as many windows as stride alone would give; dilation is then 1). Zeros are
            added.
        dilation: distance of neighbouring elements of a kernel, one int or one for each spatial dim; 1 or more.
        groups: channels are split into this many groups that do not mix.
        data_format: ``"NCDHW"`` or ``"NDHWC"``, the order of dims of x and of the result.

    Returns:
        Tensor of x's dtype with ``out`` channels, and along each spatial dim as many elements as there are windows.

    Raises:
        TypeError: the operands are not floating, or x and weight have different dtypes.
        ValueError: ranks, channels, groups or windows that do not fit, or an unknown format or padding.

    Example:
        >>> import paddle
        >>> x, weight = paddle.ones([1, 2, 5, 5, 5]), paddle.ones([4, 2, 3, 3, 3])
        >>> paddle.nn.functional.conv3d(x, weight, padding=1).shape
        paddle.Size([1, 4, 5, 5, 5])
    """
    return _conv("conv3d", 3, x, weight, bias, stride, padding, dilation, groups, data_format)


def _conv_transpose(
    op_name: str,
    n: int,
    x: Tensor,
    weight: Tensor,
    bias: Tensor | None,
    stride: Any,
    padding: Any,
    output_padding: Any,
    dilation: Any,
    groups: int,
    output_size: Any,
    data_format: str,
) -> Tensor:
    last = _is_last(op_name, n, x, data_format)
    if last:
        x = to_first(x, n)
    strides, dilations = ints(stride, n, op_name, "stride"), ints(dilation, n, op_name, "dilation")
    pairs, kernel = pads(padding, n, op_name, last), tuple(weight.shape[2:])
    if pairs == "SAME":
        dilations = (1,) * n
        pairs = same_pads(x.shape[2:], kernel, strides)
    lo, hi = ((0,) * n, (0,) * n) if pairs == "VALID" else pairs
    if output_size is None:
        extra = ints(output_padding, n, op_name, "output_padding")
    else:
        if output_padding not in (0, None) and any(ints(output_padding, n, op_name, "output_padding")):
            raise op_error(ValueError, op_name, "output_padding or output_size", "both")
        if isinstance(output_size, (list, tuple, Tensor)):
            output_size = integers(output_size, op_name, "output_size")
            output_size *= n if len(output_size) == 1 else 1
        known = not (isinstance(output_size, tuple) and any(type(m) is Sym for m in output_size))
        wanted = ints(output_size, n, op_name, "output_size") if known else output_size
        dims = zip(x.shape[2:], kernel, strides, dilations, lo, hi, strict=True)
        least = [(m - 1) * s + d * (k - 1) + 1 - a - b for m, k, s, d, a, b in dims]
        extra = tuple(w - m for w, m in zip(wanted, least, strict=True))
        if not all(dim.le(0, e) and dim.lt(e, s) for e, s in zip(extra, strides, strict=True)):
            bounds = [f"{m} to {m + s - 1}" for m, s in zip(least, strides, strict=True)]
            raise op_error(ValueError, op_name, f"output_size within {bounds}", list(wanted))
    y = _add_bias(apply(_TRANSPOSE[n], (x, weight), (groups, strides, lo, hi, dilations, extra)), bias, n)
    return to_last(y, n) if last else y


@public("paddle.nn.functional", usual=False)
def conv1d_transpose(
    x: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: Any = 1,
    padding: Any = 0,
    output_padding: Any = 0,
    groups: int = 1,
    dilation: Any = 1,
    output_size: Any = None,
    data_format: str = "NCL",
    name: str | None = None,
) -> Tensor:
    """Transposed convolution of sequences: the gradient of a convolution with respect to its input.

    Args:
        x: floating tensor ``[N, C, L]``, or ``[N, L, C]`` with ``data_format="NLC"``.
        weight: tensor ``[C, out/groups, k]`` of x's dtype.
        bias: tensor ``[out]``, or None.
        stride: that of the convolution: elements of x stand this far apart in the result.
        padding: that of the convolution, in all its forms: this much of the result is cut off.
        output_padding: elements added at the end of each spatial dim, fewer than stride.
        groups: that of the convolution; channels are split into this many groups that do not mix.
        dilation: that of the convolution, one int or one for each spatial dim.
        output_size: sizes of the result's spatial dims, instead of ``output_padding``.
        data_format: ``"NCL"`` or ``"NLC"``, the order of dims of x and of the result.

    Returns:
        Tensor of x's dtype with ``out`` channels; without padding, a spatial dim of m elements becomes
        ``(m - 1)*stride + dilation*(kernel - 1) + 1 + output_padding``.

    Raises:
        TypeError: the operands are not floating, or x and weight have different dtypes.
        ValueError: ranks, channels or groups that do not fit, an ``output_size`` out of reach or beside
            ``output_padding``, or an unknown format or padding.

    Example:
        >>> import paddle
        >>> x, weight = paddle.ones([1, 2, 5]), paddle.ones([2, 4, 3])
        >>> paddle.nn.functional.conv1d_transpose(x, weight, stride=2).shape
        paddle.Size([1, 4, 11])
    """
    return _conv_transpose(
        "conv1d_transpose",
        1,
        x,
        weight,
        bias,
        stride,
        padding,
        output_padding,
        dilation,
        groups,
        output_size,
        data_format,
    )


@public("paddle.nn.functional", usual=False)
def conv2d_transpose(
    x: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: Any = 1,
    padding: Any = 0,
    output_padding: Any = 0,
    dilation: Any = 1,
    groups: int = 1,
    output_size: Any = None,
    data_format: str = "NCHW",
    name: str | None = None,
) -> Tensor:
    """Transposed convolution of images: the gradient of a convolution with respect to its input.

    Args:
        x: floating tensor ``[N, C, H, W]``, or ``[N, H, W, C]`` with ``data_format="NHWC"``.
        weight: tensor ``[C, out/groups, kh, kw]`` of x's dtype.
        bias: tensor ``[out]``, or None.
        stride: that of the convolution: elements of x stand this far apart in the result.
        padding: that of the convolution, in all its forms: this much of the result is cut off.
        output_padding: elements added at the end of each spatial dim, fewer than stride.
        dilation: that of the convolution, one int or one for each spatial dim.
        groups: that of the convolution; channels are split into this many groups that do not mix.
        output_size: sizes of the result's spatial dims, instead of ``output_padding``.
        data_format: ``"NCHW"`` or ``"NHWC"``, the order of dims of x and of the result.

    Returns:
        Tensor of x's dtype with ``out`` channels; without padding, a spatial dim of m elements becomes
        ``(m - 1)*stride + dilation*(kernel - 1) + 1 + output_padding``.

    Raises:
        TypeError: the operands are not floating, or x and weight have different dtypes.
        ValueError: ranks, channels or groups that do not fit, an ``output_size`` out of reach or beside
            ``output_padding``, or an unknown format or padding.

    Example:
        >>> import paddle
        >>> x, weight = paddle.ones([1, 2, 5, 5]), paddle.ones([2, 4, 3, 3])
        >>> paddle.nn.functional.conv2d_transpose(x, weight, stride=2).shape
        paddle.Size([1, 4, 11, 11])
    """
    return _conv_transpose(
        "conv2d_transpose",
        2,
        x,
        weight,
        bias,
        stride,
        padding,
        output_padding,
        dilation,
        groups,
        output_size,
        data_format,
    )


@public("paddle.nn.functional", usual=False)
def conv3d_transpose(
    x: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: Any = 1,
    padding: Any = 0,
    output_padding: Any = 0,
    groups: int = 1,
    dilation: Any = 1,
    output_size: Any = None,
    data_format: str = "NCDHW",
    name: str | None = None,
) -> Tensor:
    """Transposed convolution of volumes: the gradient of a convolution with respect to its input.

    Args:
        x: floating tensor ``[N, C, D, H, W]``, or ``[N, D, H, W, C]`` with ``data_format="NDHWC"``.
        weight: tensor ``[C, out/groups, kd, kh, kw]`` of x's dtype.
        bias: tensor ``[out]``, or None.
        stride: that of the convolution: elements of x stand this far apart in the result.
        padding: that of the convolution, in all its forms: this much of the result is cut off.
        output_padding: elements added at the end of each spatial dim, fewer than stride.
        groups: that of the convolution; channels are split into this many groups that do not mix.
        dilation: that of the convolution, one int or one for each spatial dim.
        output_size: sizes of the result's spatial dims, instead of ``output_padding``.
        data_format: ``"NCDHW"`` or ``"NDHWC"``, the order of dims of x and of the result.

    Returns:
        Tensor of x's dtype with ``out`` channels; without padding, a spatial dim of m elements becomes
        ``(m - 1)*stride + dilation*(kernel - 1) + 1 + output_padding``.

    Raises:
        TypeError: the operands are not floating, or x and weight have different dtypes.
        ValueError: ranks, channels or groups that do not fit, an ``output_size`` out of reach or beside
            ``output_padding``, or an unknown format or padding.

    Example:
        >>> import paddle
        >>> x, weight = paddle.ones([1, 2, 5, 5, 5]), paddle.ones([2, 4, 3, 3, 3])
        >>> paddle.nn.functional.conv3d_transpose(x, weight, stride=2).shape
        paddle.Size([1, 4, 11, 11, 11])
    """
    return _conv_transpose(
        "conv3d_transpose",
        3,
        x,
        weight,
        bias,
        stride,
        padding,
        output_padding,
        dilation,
        groups,
        output_size,
        data_format,
    )
