"""Pooling in one to three dims."""

from __future__ import annotations

import math
from typing import Any

from paddle._public import public
from paddle.nn.functional._windows import Ints, ints, pads, same_pads, to_first, to_last
from paddle.tensor._args import InternedOps
from umiak import ops as F
from umiak.core import dtype as dt
from umiak.core.eager import apply
from umiak.core.tensor import Tensor
from umiak.util.errors import op_error

_AVG = InternedOps(F.AvgPool)
_LP = InternedOps(F.LpPool)
_MAX = InternedOps(F.MaxPool)
_WINDOW = InternedOps(F.WindowReduce)
_FORMATS = {1: ("NCL", "NLC"), 2: ("NCHW", "NHWC"), 3: ("NCDHW", "NDHWC")}


def _prepare(who: str, n: int, x: Tensor, data_format: str) -> tuple[Tensor, bool]:
    """x with channels first, and whether they were last."""
    first, last = _FORMATS[n]
    if data_format not in (first, last):
        raise op_error(ValueError, who, f"data_format {first!r} or {last!r}", repr(data_format))
    if x.ndim != n + 2:
        raise op_error(ValueError, who, f"x of rank {n + 2}", f"shape {list(x.shape)}")
    return (to_first(x, n), True) if data_format == last else (x, False)


def _windows(
    who: str, n: int, x: Tensor, kernel_size: Any, stride: Any, padding: Any, ceil_mode: bool, last: bool
) -> tuple[Ints, Ints, Ints, Ints, Ints]:
    """(kernel, strides, low pads, high pads, further high pads that a last, partial window needs)."""
    kernel = ints(kernel_size, n, who, "kernel_size")
    strides = kernel if stride is None else ints(stride, n, who, "stride")
    if min(kernel) < 1 or min(strides) < 1:
        raise op_error(ValueError, who, "kernel_size and stride of 1 or more", f"{kernel} and {strides}")
    found = pads(padding, n, who, last)
    if isinstance(found, str) and ceil_mode:
        raise op_error(ValueError, who, f"ceil_mode=False with padding {found!r}", "True")
    if found == "SAME":
        found = same_pads(x.shape[2:], kernel, strides)
    lo, hi = ((0,) * n, (0,) * n) if found == "VALID" else found
    extra = (0,) * n
    if ceil_mode:
        room = [m + a + b - k for m, a, b, k in zip(x.shape[2:], lo, hi, kernel, strict=True)]
        extra = tuple(-r % s for r, s in zip(room, strides, strict=True))
    return kernel, strides, lo, hi, extra


def _plus(a: Ints, b: Ints) -> Ints:
    return tuple(m + n for m, n in zip(a, b, strict=True))


def _max_pool(
    n: int, x: Tensor, kernel_size: Any, stride: Any, padding: Any, return_mask: bool, ceil_mode: bool, data_format: str
) -> Any:
    who = f"max_pool{n}d"
    x, last = _prepare(who, n, x, data_format)
    if last and return_mask:
        raise op_error(ValueError, who, "channels first with return_mask", f"data_format {data_format!r}")
    kernel, strides, lo, hi, extra = _windows(who, n, x, kernel_size, stride, padding, ceil_mode, last)
    params = (kernel, strides, lo, _plus(hi, extra), (1,) * n)
    if return_mask:
        return apply(_MAX[n, dt.int32], (x,), params)
    y = apply(_WINDOW[n, "max"], (x,), params)
    return to_last(y, n) if last else y


def _avg_pool(
    n: int,
    x: Tensor,
    kernel_size: Any,
    stride: Any,
    padding: Any,
    exclusive: bool,
    ceil_mode: bool,
    divisor: int | None,
    data_format: str,
) -> Tensor:
    who = f"avg_pool{n}d"
    x, last = _prepare(who, n, x, data_format)
    kernel, strides, lo, hi, extra = _windows(who, n, x, kernel_size, stride, padding, ceil_mode, last)
    # As in the reference framework, pads at the end count up to as many as there are at the beginning.
    counted = tuple(map(min, hi, lo))
    hi, extra = counted, tuple(e + h - c for e, h, c in zip(extra, hi, counted, strict=True))
    if divisor is None:
        y = apply(_AVG[n, bool(exclusive)], (x,), (kernel, strides, lo, hi, (1,) * n, extra))
    else:
        y = apply(_WINDOW[n, "sum"], (x,), (kernel, strides, lo, _plus(hi, extra), (1,) * n)) / float(divisor)
    return to_last(y, n) if last else y


def _output_sizes(who: str, n: int, x: Tensor, output_size: Any) -> Ints:
    wanted = [output_size] * n if output_size is None or isinstance(output_size, int) else list(output_size)
    if len(wanted) != n:
        raise op_error(ValueError, who, f"output_size as one int or {n}", output_size)
    return tuple(m if w is None else int(w) for w, m in zip(wanted, x.shape[2:], strict=True))


def adaptive_avg_pool(x: Tensor, sizes: Any, n: int, last: bool) -> Tensor:
    """The mean of each of ``sizes`` regions of the ``n`` spatial dims."""
    first = x.ndim - n - last
    if all(isinstance(m, int) and m == 1 for m in sizes) and 0 not in x.shape[first : first + n]:
        # One region is all there is: a plain mean, in whatever order the dims lie.
        return F.mean(x, axes=tuple(range(first, first + n)), keepdim=True)
    y = F.adaptive_avg_pool(to_first(x, n) if last else x, n, tuple(sizes))
    return to_last(y, n) if last else y


def _adaptive_avg(n: int, x: Tensor, output_size: Any, data_format: str) -> Tensor:
    who = f"adaptive_avg_pool{n}d"
    x, last = _prepare(who, n, x, data_format)
    y = adaptive_avg_pool(x, _output_sizes(who, n, x, output_size), n, False)
    return to_last(y, n) if last else y


def _adaptive_max(n: int, x: Tensor, output_size: Any, return_mask: bool) -> Any:
    who = f"adaptive_max_pool{n}d"
    x, _ = _prepare(who, n, x, _FORMATS[n][0])
    y, where = F.adaptive_max_pool(x, n, dt.int32, _output_sizes(who, n, x, output_size))
    return (y, where) if return_mask else y


def _lp_pool(
    n: int, x: Tensor, norm_type: float, kernel_size: Any, stride: Any, padding: Any, ceil_mode: bool, data_format: str
) -> Tensor:
    who = f"lp_pool{n}d"
    p = float(norm_type)
    if p == 0:
        raise op_error(ValueError, who, "norm_type other than 0", norm_type)
    x, last = _prepare(who, n, x, data_format)
    kernel, strides, lo, hi, extra = _windows(who, n, x, kernel_size, stride, padding, ceil_mode, last)
    params = (kernel, strides, lo, _plus(hi, extra), (1,) * n)
    y = apply(_WINDOW[n, "max"], (x,), params) if math.isinf(p) else apply(_LP[n], (x,), (*params, p))
    return to_last(y, n) if last else y


def _max_unpool(
    n: int, x: Tensor, indices: Tensor, kernel_size: Any, stride: Any, padding: Any, output_size: Any, data_format: str
) -> Tensor:
    who = f"max_unpool{n}d"
    if data_format != _FORMATS[n][0]:
        raise op_error(ValueError, who, f"data_format {_FORMATS[n][0]!r}", repr(data_format))
    x, _ = _prepare(who, n, x, data_format)
    kernel = ints(kernel_size, n, who, "kernel_size")
    strides = kernel if stride is None else ints(stride, n, who, "stride")
    pad = ints(padding, n, who, "padding")
    if output_size is None:
        dims = zip(x.shape[2:], kernel, strides, pad, strict=True)
        sizes = tuple((m - 1) * s + k - 2 * p for m, k, s, p in dims)
    else:
        sizes = tuple(int(m) for m in output_size)[-n:]
    return F.max_unpool(x, indices, n, sizes)


@public("paddle.nn.functional", usual=False)
def max_pool1d(
    x: Tensor,
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    return_mask: bool = False,
    ceil_mode: bool = False,
    name: str | None = None,
) -> Any:
    """Maximum of each window of sequences.

    Args:
        x: real tensor ``[N, C, L]``.
        kernel_size: size of windows, one int, or one for each spatial dim; 1 or more.
        stride: distance of windows, one int, or one for each spatial dim; the kernel's size by default.
        padding: as for ``conv1d``: pads are never the maximum.
        return_mask: return also the flat index of each maximum within its channel, int32.
        ceil_mode: take a last window also where it is partly outside.

    Returns:
        Tensor ``[N, C, *out]`` of x's dtype; a pair with the indices for ``return_mask``.

    Raises:
        ValueError: windows that do not fit, or an unknown padding or format.

    Example:
        >>> import paddle
        >>> paddle.nn.functional.max_pool1d(paddle.ones([1, 2, 4]), 2).shape
        [1, 2, 2]
    """
    return _max_pool(1, x, kernel_size, stride, padding, return_mask, ceil_mode, "NCL")


@public("paddle.nn.functional", usual=False)
def avg_pool1d(
    x: Tensor,
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    exclusive: bool = True,
    ceil_mode: bool = False,
    name: str | None = None,
) -> Tensor:
    """Mean of each window of sequences.

    Args:
        x: floating tensor ``[N, C, L]``.
        kernel_size: size of windows, one int, or one for each spatial dim; 1 or more.
        stride: distance of windows, one int, or one for each spatial dim; the kernel's size by default.
        padding: as for ``conv1d``: zeros are added.
        exclusive: leave pads out of the mean. Otherwise they count, those at the end of a dim as far as there are as
            many at its beginning.
        ceil_mode: take a last window also where it is partly outside.

    Returns:
        Tensor ``[N, C, *out]`` of x's dtype.

    Raises:
        TypeError: x is not floating.
        ValueError: windows that do not fit, or an unknown padding or format.

    Example:
        >>> import paddle
        >>> paddle.nn.functional.avg_pool1d(paddle.ones([1, 2, 4]), 2).shape
        [1, 2, 2]
    """
    return _avg_pool(1, x, kernel_size, stride, padding, exclusive, ceil_mode, None, "NCL")


@public("paddle.nn.functional", usual=False)
def max_pool2d(
    x: Tensor,
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    return_mask: bool = False,
    ceil_mode: bool = False,
    data_format: str = "NCHW",
    name: str | None = None,
) -> Any:
    """Maximum of each window of images.

    Args:
        x: real tensor ``[N, C, H, W]``, or ``[N, H, W, C]`` with ``data_format="NHWC"``.
        kernel_size: size of windows, one int, or one for each spatial dim; 1 or more.
        stride: distance of windows, one int, or one for each spatial dim; the kernel's size by default.
        padding: as for ``conv2d``: pads are never the maximum.
        return_mask: return also the flat index of each maximum within its channel, int32; channels first only.
        ceil_mode: take a last window also where it is partly outside.
        data_format: ``"NCHW"`` or ``"NHWC"``, the order of dims of x and of the result.

    Returns:
        Tensor ``[N, C, *out]`` of x's dtype; channels last where x has them last;
        a pair with the indices for ``return_mask``.

    Raises:
        ValueError: windows that do not fit, or an unknown padding or format.

    Example:
        >>> import paddle
        >>> paddle.nn.functional.max_pool2d(paddle.ones([1, 2, 4, 4]), 2).shape
        [1, 2, 2, 2]
    """
    return _max_pool(2, x, kernel_size, stride, padding, return_mask, ceil_mode, data_format)


@public("paddle.nn.functional", usual=False)
def avg_pool2d(
    x: Tensor,
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    ceil_mode: bool = False,
    exclusive: bool = True,
    divisor_override: int | None = None,
    data_format: str = "NCHW",
    name: str | None = None,
) -> Tensor:
    """Mean of each window of images.

    Args:
        x: floating tensor ``[N, C, H, W]``, or ``[N, H, W, C]`` with ``data_format="NHWC"``.
        kernel_size: size of windows, one int, or one for each spatial dim; 1 or more.
        stride: distance of windows, one int, or one for each spatial dim; the kernel's size by default.
        padding: as for ``conv2d``: zeros are added.
        ceil_mode: take a last window also where it is partly outside.
        exclusive: leave pads out of the mean. Otherwise they count, those at the end of a dim as far as there are as
            many at its beginning.
        divisor_override: divide sums by this number instead of the count.
        data_format: ``"NCHW"`` or ``"NHWC"``, the order of dims of x and of the result.

    Returns:
        Tensor ``[N, C, *out]`` of x's dtype; channels last where x has them last.

    Raises:
        TypeError: x is not floating.
        ValueError: windows that do not fit, or an unknown padding or format.

    Example:
        >>> import paddle
        >>> paddle.nn.functional.avg_pool2d(paddle.ones([1, 2, 4, 4]), 2).shape
        [1, 2, 2, 2]
    """
    return _avg_pool(2, x, kernel_size, stride, padding, exclusive, ceil_mode, divisor_override, data_format)


@public("paddle.nn.functional", usual=False)
def max_pool3d(
    x: Tensor,
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    return_mask: bool = False,
    ceil_mode: bool = False,
    data_format: str = "NCDHW",
    name: str | None = None,
) -> Any:
    """Maximum of each window of volumes.

    Args:
        x: real tensor ``[N, C, D, H, W]``, or ``[N, D, H, W, C]`` with ``data_format="NDHWC"``.
        kernel_size: size of windows, one int, or one for each spatial dim; 1 or more.
        stride: distance of windows, one int, or one for each spatial dim; the kernel's size by default.
        padding: as for ``conv3d``: pads are never the maximum.
        return_mask: return also the flat index of each maximum within its channel, int32; channels first only.
        ceil_mode: take a last window also where it is partly outside.
        data_format: ``"NCDHW"`` or ``"NDHWC"``, the order of dims of x and of the result.

    Returns:
        Tensor ``[N, C, *out]`` of x's dtype; channels last where x has them last;
        a pair with the indices for ``return_mask``.

    Raises:
        ValueError: windows that do not fit, or an unknown padding or format.

    Example:
        >>> import paddle
        >>> paddle.nn.functional.max_pool3d(paddle.ones([1, 2, 4, 4, 4]), 2).shape
        [1, 2, 2, 2, 2]
    """
    return _max_pool(3, x, kernel_size, stride, padding, return_mask, ceil_mode, data_format)


@public("paddle.nn.functional", usual=False)
def avg_pool3d(
    x: Tensor,
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    ceil_mode: bool = False,
    exclusive: bool = True,
    divisor_override: int | None = None,
    data_format: str = "NCDHW",
    name: str | None = None,
) -> Tensor:
    """Mean of each window of volumes.

    Args:
        x: floating tensor ``[N, C, D, H, W]``, or ``[N, D, H, W, C]`` with ``data_format="NDHWC"``.
        kernel_size: size of windows, one int, or one for each spatial dim; 1 or more.
        stride: distance of windows, one int, or one for each spatial dim; the kernel's size by default.
        padding: as for ``conv3d``: zeros are added.
        ceil_mode: take a last window also where it is partly outside.
        exclusive: leave pads out of the mean. Otherwise they count, those at the end of a dim as far as there are as
            many at its beginning.
        divisor_override: divide sums by this number instead of the count.
        data_format: ``"NCDHW"`` or ``"NDHWC"``, the order of dims of x and of the result.

    Returns:
        Tensor ``[N, C, *out]`` of x's dtype; channels last where x has them last.

    Raises:
        TypeError: x is not floating.
        ValueError: windows that do not fit, or an unknown padding or format.

    Example:
        >>> import paddle
        >>> paddle.nn.functional.avg_pool3d(paddle.ones([1, 2, 4, 4, 4]), 2).shape
        [1, 2, 2, 2, 2]
    """
    return _avg_pool(3, x, kernel_size, stride, padding, exclusive, ceil_mode, divisor_override, data_format)


@public("paddle paddle.nn.functional")
def adaptive_avg_pool1d(x: Tensor, output_size: Any, name: str | None = None) -> Tensor:
    """Mean of each of ``output_size`` regions that divide sequences evenly.

    Args:
        x: floating tensor ``[N, C, L]``.
        output_size: how many regions, one int, or one for each spatial dim; None keeps a dim.

    Returns:
        Tensor ``[N, C, *out]`` of x's dtype.

    Raises:
        TypeError: x is not floating.
        ValueError: another rank, number of sizes or format.

    Example:
        >>> import paddle
        >>> paddle.nn.functional.adaptive_avg_pool1d(paddle.ones([1, 2, 4]), 3).shape
        [1, 2, 3]
    """
    return _adaptive_avg(1, x, output_size, "NCL")


@public("paddle.nn.functional")
def adaptive_max_pool1d(x: Tensor, output_size: Any, return_mask: bool = False, name: str | None = None) -> Any:
    """Maximum of each of ``output_size`` regions that divide sequences evenly.

    Args:
        x: real tensor ``[N, C, L]``.
        output_size: how many regions, one int, or one for each spatial dim; None keeps a dim.
        return_mask: return also the flat index of each maximum within its channel, int32.

    Returns:
        Tensor ``[N, C, *out]`` of x's dtype; a pair with the indices for ``return_mask``.

    Raises:
        ValueError: another rank or number of sizes.

    Example:
        >>> import paddle
        >>> paddle.nn.functional.adaptive_max_pool1d(paddle.ones([1, 2, 4]), 3).shape
        [1, 2, 3]
    """
    return _adaptive_max(1, x, output_size, return_mask)


@public("paddle.nn.functional")
def adaptive_avg_pool2d(x: Tensor, output_size: Any, data_format: str = "NCHW", name: str | None = None) -> Tensor:
    """Mean of each of ``output_size`` regions that divide images evenly.

    Args:
        x: floating tensor ``[N, C, H, W]``, or ``[N, H, W, C]`` with ``data_format="NHWC"``.
        output_size: how many regions, one int, or one for each spatial dim; None keeps a dim.
        data_format: ``"NCHW"`` or ``"NHWC"``, the order of dims of x and of the result.

    Returns:
        Tensor ``[N, C, *out]`` of x's dtype; channels last where x has them last.

    Raises:
        TypeError: x is not floating.
        ValueError: another rank, number of sizes or format.

    Example:
        >>> import paddle
        >>> paddle.nn.functional.adaptive_avg_pool2d(paddle.ones([1, 2, 4, 4]), 3).shape
        [1, 2, 3, 3]
    """
    return _adaptive_avg(2, x, output_size, data_format)


@public("paddle.nn.functional")
def adaptive_max_pool2d(x: Tensor, output_size: Any, return_mask: bool = False, name: str | None = None) -> Any:
    """Maximum of each of ``output_size`` regions that divide images evenly.

    Args:
        x: real tensor ``[N, C, H, W]``.
        output_size: how many regions, one int, or one for each spatial dim; None keeps a dim.
        return_mask: return also the flat index of each maximum within its channel, int32.

    Returns:
        Tensor ``[N, C, *out]`` of x's dtype; a pair with the indices for ``return_mask``.

    Raises:
        ValueError: another rank or number of sizes.

    Example:
        >>> import paddle
        >>> paddle.nn.functional.adaptive_max_pool2d(paddle.ones([1, 2, 4, 4]), 3).shape
        [1, 2, 3, 3]
    """
    return _adaptive_max(2, x, output_size, return_mask)


@public("paddle.nn.functional")
def adaptive_avg_pool3d(x: Tensor, output_size: Any, data_format: str = "NCDHW", name: str | None = None) -> Tensor:
    """Mean of each of ``output_size`` regions that divide volumes evenly.

    Args:
        x: floating tensor ``[N, C, D, H, W]``, or ``[N, D, H, W, C]`` with ``data_format="NDHWC"``.
        output_size: how many regions, one int, or one for each spatial dim; None keeps a dim.
        data_format: ``"NCDHW"`` or ``"NDHWC"``, the order of dims of x and of the result.

    Returns:
        Tensor ``[N, C, *out]`` of x's dtype; channels last where x has them last.

    Raises:
        TypeError: x is not floating.
        ValueError: another rank, number of sizes or format.

    Example:
        >>> import paddle
        >>> paddle.nn.functional.adaptive_avg_pool3d(paddle.ones([1, 2, 4, 4, 4]), 3).shape
        [1, 2, 3, 3, 3]
    """
    return _adaptive_avg(3, x, output_size, data_format)


@public("paddle.nn.functional")
def adaptive_max_pool3d(x: Tensor, output_size: Any, return_mask: bool = False, name: str | None = None) -> Any:
    """Maximum of each of ``output_size`` regions that divide volumes evenly.

    Args:
        x: real tensor ``[N, C, D, H, W]``.
        output_size: how many regions, one int, or one for each spatial dim; None keeps a dim.
        return_mask: return also the flat index of each maximum within its channel, int32.

    Returns:
        Tensor ``[N, C, *out]`` of x's dtype; a pair with the indices for ``return_mask``.

    Raises:
        ValueError: another rank or number of sizes.

    Example:
        >>> import paddle
        >>> paddle.nn.functional.adaptive_max_pool3d(paddle.ones([1, 2, 4, 4, 4]), 3).shape
        [1, 2, 3, 3, 3]
    """
    return _adaptive_max(3, x, output_size, return_mask)


@public("paddle.nn.functional")
def lp_pool1d(
    x: Tensor,
    norm_type: Any,
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    ceil_mode: bool = False,
    data_format: str = "NCL",
    name: str | None = None,
) -> Tensor:
    """Norm of each window of sequences: ``(sum of x**norm_type) ** (1/norm_type)``.

    Args:
        x: floating tensor ``[N, C, L]``, or ``[N, L, C]`` with ``data_format="NLC"``.
        norm_type: order of the norm, any number but 0; infinity takes the maximum.
        kernel_size: size of windows, one int, or one for each spatial dim; 1 or more.
        stride: distance of windows, one int, or one for each spatial dim; the kernel's size by default.
        padding: as for ``conv1d``: zeros are added.
        ceil_mode: take a last window also where it is partly outside.
        data_format: ``"NCL"`` or ``"NLC"``, the order of dims of x and of the result.

    Returns:
        Tensor ``[N, C, *out]`` of x's dtype; channels last where x has them last.

    Raises:
        TypeError: x is not floating.
        ValueError: ``norm_type`` is 0, windows that do not fit, or an unknown padding or format.

    Example:
        >>> import paddle
        >>> paddle.nn.functional.lp_pool1d(paddle.ones([1, 2, 4]), 2, 2).shape
        [1, 2, 2]
    """
    return _lp_pool(1, x, norm_type, kernel_size, stride, padding, ceil_mode, data_format)


@public("paddle.nn.functional")
def lp_pool2d(
    x: Tensor,
    norm_type: Any,
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    ceil_mode: bool = False,
    data_format: str = "NCHW",
    name: str | None = None,
) -> Tensor:
    """Norm of each window of images: ``(sum of x**norm_type) ** (1/norm_type)``.

    Args:
        x: floating tensor ``[N, C, H, W]``, or ``[N, H, W, C]`` with ``data_format="NHWC"``.
        norm_type: order of the norm, any number but 0; infinity takes the maximum.
        kernel_size: size of windows, one int, or one for each spatial dim; 1 or more.
        stride: distance of windows, one int, or one for each spatial dim; the kernel's size by default.
        padding: as for ``conv2d``: zeros are added.
        ceil_mode: take a last window also where it is partly outside.
        data_format: ``"NCHW"`` or ``"NHWC"``, the order of dims of x and of the result.

    Returns:
        Tensor ``[N, C, *out]`` of x's dtype; channels last where x has them last.

    Raises:
        TypeError: x is not floating.
        ValueError: ``norm_type`` is 0, windows that do not fit, or an unknown padding or format.

    Example:
        >>> import paddle
        >>> paddle.nn.functional.lp_pool2d(paddle.ones([1, 2, 4, 4]), 2, 2).shape
        [1, 2, 2, 2]
    """
    return _lp_pool(2, x, norm_type, kernel_size, stride, padding, ceil_mode, data_format)


@public("paddle.nn.functional", usual=False)
def max_unpool1d(
    x: Tensor,
    indices: Tensor,
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    data_format: str = "NCL",
    output_size: Any = None,
    name: str | None = None,
) -> Tensor:
    """Inverse of max pooling of sequences: each value at the position that its index names, zeros elsewhere.

    Args:
        x: real tensor ``[N, C, L]``.
        indices: integer tensor of x's shape, the mask of :func:`max_pool1d`.
        kernel_size: that of the pooling, one int, or one for each spatial dim.
        stride: that of the pooling, one int, or one for each spatial dim; the kernel's size by default.
        padding: that of the pooling, one int, or one for each spatial dim.
        data_format: ``"NCL"``.
        output_size: sizes of the result's spatial dims; by default the smallest that the pooling can have had.

    Returns:
        Tensor ``[N, C, *out]`` of x's dtype.

    Raises:
        ValueError: shapes that do not fit, or another format.

    Example:
        >>> import paddle
        >>> x = paddle.arange(4.0).reshape([1, 1, 4])
        >>> y, indices = paddle.nn.functional.max_pool1d(x, 2, return_mask=True)
        >>> paddle.nn.functional.max_unpool1d(y, indices, 2).shape
        [1, 1, 4]
    """
    return _max_unpool(1, x, indices, kernel_size, stride, padding, output_size, data_format)


@public("paddle.nn.functional", usual=False)
def max_unpool2d(
    x: Tensor,
    indices: Tensor,
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    data_format: str = "NCHW",
    output_size: Any = None,
    name: str | None = None,
) -> Tensor:
    """Inverse of max pooling of images: each value at the position that its index names, zeros elsewhere.

    Args:
        x: real tensor ``[N, C, H, W]``.
        indices: integer tensor of x's shape, the mask of :func:`max_pool2d`.
        kernel_size: that of the pooling, one int, or one for each spatial dim.
        stride: that of the pooling, one int, or one for each spatial dim; the kernel's size by default.
        padding: that of the pooling, one int, or one for each spatial dim.
        data_format: ``"NCHW"``.
        output_size: sizes of the result's spatial dims; by default the smallest that the pooling can have had.

    Returns:
        Tensor ``[N, C, *out]`` of x's dtype.

    Raises:
        ValueError: shapes that do not fit, or another format.

    Example:
        >>> import paddle
        >>> x = paddle.arange(16.0).reshape([1, 1, 4, 4])
        >>> y, indices = paddle.nn.functional.max_pool2d(x, 2, return_mask=True)
        >>> paddle.nn.functional.max_unpool2d(y, indices, 2).shape
        [1, 1, 4, 4]
    """
    return _max_unpool(2, x, indices, kernel_size, stride, padding, output_size, data_format)


@public("paddle.nn.functional", usual=False)
def max_unpool3d(
    x: Tensor,
    indices: Tensor,
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    data_format: str = "NCDHW",
    output_size: Any = None,
    name: str | None = None,
) -> Tensor:
    """Inverse of max pooling of volumes: each value at the position that its index names, zeros elsewhere.

    Args:
        x: real tensor ``[N, C, D, H, W]``.
        indices: integer tensor of x's shape, the mask of :func:`max_pool3d`.
        kernel_size: that of the pooling, one int, or one for each spatial dim.
        stride: that of the pooling, one int, or one for each spatial dim; the kernel's size by default.
        padding: that of the pooling, one int, or one for each spatial dim.
        data_format: ``"NCDHW"``.
        output_size: sizes of the result's spatial dims; by default the smallest that the pooling can have had.

    Returns:
        Tensor ``[N, C, *out]`` of x's dtype.

    Raises:
        ValueError: shapes that do not fit, or another format.

    Example:
        >>> import paddle
        >>> x = paddle.arange(64.0).reshape([1, 1, 4, 4, 4])
        >>> y, indices = paddle.nn.functional.max_pool3d(x, 2, return_mask=True)
        >>> paddle.nn.functional.max_unpool3d(y, indices, 2).shape
        [1, 1, 4, 4, 4]
    """
    return _max_unpool(3, x, indices, kernel_size, stride, padding, output_size, data_format)
