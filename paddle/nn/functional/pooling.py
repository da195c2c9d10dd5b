"""Pooling in one to three dims."""

from __future__ import annotations

import math
from typing import Any

from paddle._public import OtherOrder, need_tensor, public
from paddle.nn.functional._windows import Ints, ints, pads, same_pads, to_first, to_last
from paddle.tensor._args import InternedOps, integer, integers, real_number
from umiak import ops as F
from umiak.core import dtype as dt
from umiak.core.eager import apply
from umiak.core.tensor import Tensor
from umiak.ir import sym as dim
from umiak.ir.expr import Sym
from umiak.util.errors import op_error
from umiak.util.size import plain_ints

_ADAPTIVE_MAX = InternedOps(F.AdaptiveMaxPool)
_AVG = InternedOps(F.AvgPool)
_LP = InternedOps(F.LpPool)
_MAX = InternedOps(F.MaxPool)
_WINDOW = InternedOps(F.WindowReduce)
_FORMATS = {1: ("NCL", "NLC"), 2: ("NCHW", "NHWC"), 3: ("NCDHW", "NDHWC")}


def _prepare(op_name: str, n: int, x: Tensor, data_format: str) -> tuple[Tensor, bool]:
    """x with channels first, and whether they were last."""
    first, last = _FORMATS[n]
    if data_format not in (first, last):
        raise op_error(ValueError, op_name, f"data_format {first!r} or {last!r}", repr(data_format))
    if need_tensor(x, op_name).ndim != n + 2:
        raise op_error(ValueError, op_name, f"x of rank {n + 2}", f"shape {list(x.shape)}")
    return (to_first(x, n), True) if data_format == last else (x, False)


def _windows(
    op_name: str, n: int, x: Tensor, kernel_size: Any, stride: Any, padding: Any, ceil_mode: bool, last: bool
) -> tuple[Ints, Ints, Ints, Ints, Ints]:
    """(kernel, strides, low pads, high pads, further high pads that a last, partial window needs)."""
    kernel = ints(kernel_size, n, op_name, "kernel_size")
    strides = kernel if stride is None else ints(stride, n, op_name, "stride")
    if min(kernel) < 1 or min(strides) < 1:
        raise op_error(ValueError, op_name, "kernel_size and stride of 1 or more", f"{kernel} and {strides}")
    pairs = pads(padding, n, op_name, last)
    if pairs == "VALID" and ceil_mode:
        raise op_error(ValueError, op_name, "ceil_mode=False with padding 'VALID'", "True")
    if pairs == "SAME":
        pairs = same_pads(x.shape[2:], kernel, strides)
        ceil_mode = False  # these pads have room for the last window
    lo, hi = ((0,) * n, (0,) * n) if pairs == "VALID" else pairs
    extra = (0,) * n
    for m, a, b, k in zip(x.shape[2:], lo, hi, kernel):
        if type(m) is int and m + a + b < k:
            return kernel, strides, lo, hi, _one_window(x.shape[2:], lo, hi, kernel, strides, ceil_mode)
    if ceil_mode:
        room = [m + a + b - k for m, a, b, k in zip(x.shape[2:], lo, hi, kernel, strict=True)]
        extra = tuple(-r % s for r, s in zip(room, strides, strict=True))
    return kernel, strides, lo, hi, extra


def _is_whole(sizes: Any, kernel_size: Any, padding: Any) -> bool:
    """Is it one window, of sizes that are known when the program runs?"""
    if padding != 0 or not isinstance(kernel_size, (list, tuple)) or not any(type(k) is Sym for k in kernel_size):
        return False
    return len(kernel_size) == len(sizes) and all(map(dim.same, sizes, kernel_size))


def _one_window(sizes: Any, lo: Ints, hi: Ints, kernel: Ints, strides: Ints, ceil_mode: bool) -> Ints:
    """High pads where a window is larger than what it slides over.

    The number of windows is ``room / stride + 1``, and as the reference rounds towards zero, one of them is left where
    less than a stride is missing. What it has beyond the end counts as little as in a last window of ``ceil_mode``.
    """
    extra = []
    for m, a, b, k, s in zip(sizes, lo, hi, kernel, strides, strict=True):
        room = m + a + b - k
        short = room < 0 and room + (s - 1 if ceil_mode else 0) > -s
        extra.append(-room if short else -room % s if ceil_mode else 0)
    return tuple(extra)


def _plus(a: Ints, b: Ints) -> Ints:
    return tuple(m + n for m, n in zip(a, b, strict=True))


# Calls whose windows fit, by what they were given: the smallest sizes that the windows fit in, the op, and its params.
_PLAIN: dict[tuple, tuple[Ints, Any, tuple]] = {}


def _plain_key(kind: Any, n: int, kernel_size: Any, stride: Any, padding: Any) -> tuple | None:
    """The key of a call in ``_PLAIN``; None for one whose windows depend on the sizes, or are given otherwise."""
    kernel = kernel_size if type(kernel_size) is int else plain_ints(kernel_size)
    steps = stride if stride is None or type(stride) is int else plain_ints(stride)
    pad = padding if type(padding) is int else plain_ints(padding)
    if kernel is None or pad is None or (steps is None and stride is not None):
        return None
    return kind, n, kernel, steps, pad


def _plain_call(key: tuple | None, x: Any) -> Tensor | None:
    """The call of this key on ``x``, if there was one before and its windows fit here."""
    known = _PLAIN.get(key)  # type: ignore[arg-type]
    if known is None or type(x) is not Tensor:
        return None
    least, op, params = known
    sizes = x.shape
    if len(sizes) != len(least):
        return None
    for m, k in zip(sizes, least):
        if m < k:
            return None
    return apply(op, (x,), params)


def _remember(key: tuple, x: Tensor, op: Any, params: tuple) -> None:
    kernel, _, lo, hi = params[:4]
    least = (0, 0, *(max(1, k - a - b) for k, a, b in zip(kernel, lo, hi, strict=True)))
    if type(x) is Tensor and all(m >= k for m, k in zip(x.shape, least, strict=True)):
        _PLAIN[key] = least, op, params


def _max_pool(
    n: int, x: Tensor, kernel_size: Any, stride: Any, padding: Any, return_mask: bool, ceil_mode: bool, data_format: str
) -> Any:
    key = None
    if not ceil_mode and data_format == _FORMATS[n][0]:
        key = _plain_key("mask" if return_mask else "max", n, kernel_size, stride, padding)
        y = _plain_call(key, x)
        if y is not None:
            return y
    op_name = f"max_pool{n}d"
    x, last = _prepare(op_name, n, x, data_format)
    if last and return_mask:
        raise op_error(ValueError, op_name, "channels first with return_mask", f"data_format {data_format!r}")
    if any(type(m) is int and m == 0 for m in x.shape[2:]):
        raise op_error(ValueError, op_name, "a window with an element: sizes of 1 or more", x.shape)
    if not return_mask and _is_whole(x.shape[2:], kernel_size, padding):
        y = F.max(x, axes=tuple(range(2, n + 2)), keepdim=True)
        return to_last(y, n) if last else y
    kernel, strides, lo, hi, extra = _windows(op_name, n, x, kernel_size, stride, padding, ceil_mode, last)
    params = (kernel, strides, lo, _plus(hi, extra), (1,) * n)
    op = _MAX[n, dt.int32] if return_mask else _WINDOW[n, "max"]
    y = apply(op, (x,), params)
    if key is not None and not any(extra):
        _remember(key, x, op, params)
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
    key = None
    if not ceil_mode and divisor is None and data_format == _FORMATS[n][0]:
        key = _plain_key(bool(exclusive), n, kernel_size, stride, padding)
        y = _plain_call(key, x)
        if y is not None:
            return y
    op_name = f"avg_pool{n}d"
    x, last = _prepare(op_name, n, x, data_format)
    if divisor is None and _is_whole(x.shape[2:], kernel_size, padding):
        y = F.mean(x, axes=tuple(range(2, n + 2)), keepdim=True)
        return to_last(y, n) if last else y
    kernel, strides, lo, hi, extra = _windows(op_name, n, x, kernel_size, stride, padding, ceil_mode, last)
    # As in the reference framework, pads at the end count up to as many as there are at the beginning.
    counted: Any = tuple(map(dim.minimum, hi, lo))
    hi, extra = counted, tuple(e + h - c for e, h, c in zip(extra, hi, counted, strict=True))
    if divisor is None:
        params = kernel, strides, lo, hi, (1,) * n, extra
        op = _AVG[n, bool(exclusive), any(not isinstance(p, int) or p for p in lo + hi + extra)]
        y = apply(op, (x,), params)
        if key is not None:
            _remember(key, x, op, params)
    else:
        y = apply(_WINDOW[n, "sum"], (x,), (kernel, strides, lo, _plus(hi, extra), (1,) * n)) / float(divisor)
    return to_last(y, n) if last else y


def _output_sizes(op_name: str, n: int, x: Tensor, output_size: Any) -> Ints:
    if type(output_size) is int:
        return (output_size,) * n
    wanted = list(output_size) if hasattr(output_size, "__len__") else [output_size] * n
    if len(wanted) != n:
        raise op_error(ValueError, op_name, f"output_size as one int or {n}", output_size)
    return tuple(
        m if w is None else integer(w, op_name, "output_size") for w, m in zip(wanted, x.shape[2:], strict=True)
    )


def adaptive_avg_pool(x: Tensor, sizes: Any, n: int, last: bool) -> Tensor:
    """The mean of each of ``sizes`` regions of the ``n`` spatial dims."""
    first = x.ndim - n - last
    if all(isinstance(m, int) and m == 1 for m in sizes) and 0 not in x.shape[first : first + n]:
        # One region is all there is: a plain mean, in whatever order the dims lie.
        return F.mean(x, axes=tuple(range(first, first + n)), keepdim=True)
    y = F.adaptive_avg_pool(to_first(x, n) if last else x, n, tuple(sizes))
    return to_last(y, n) if last else y


def _adaptive_avg(n: int, x: Tensor, output_size: Any, data_format: str) -> Tensor:
    op_name = f"adaptive_avg_pool{n}d"
    x, last = _prepare(op_name, n, x, data_format)
    y = adaptive_avg_pool(x, _output_sizes(op_name, n, x, output_size), n, False)
    return to_last(y, n) if last else y


def _adaptive_max(n: int, x: Tensor, output_size: Any, return_mask: bool) -> Any:
    op_name = f"adaptive_max_pool{n}d"
    x, _ = _prepare(op_name, n, x, _FORMATS[n][0])
    sizes = _output_sizes(op_name, n, x, output_size)
    if not return_mask:
        kernel = _equal_regions(x.shape[2:], sizes)
        if kernel is not None:  # windows side by side
            return apply(_WINDOW[n, "max"], (x,), (kernel, kernel, (0,) * n, (0,) * n, (1,) * n))
    y, where = apply(_ADAPTIVE_MAX[n, dt.int32], (x,), (sizes,))
    return (y, where) if return_mask else y


def _equal_regions(sizes: Any, counts: Ints) -> Ints | None:
    """The size of each region, where so many divide the sizes; None elsewhere, and for sizes that are not known."""
    kernel = []
    for m, k in zip(sizes, counts):
        if type(m) is not int or k < 1 or m < 1 or m % k:
            return None
        kernel.append(m // k)
    return tuple(kernel)


def _lp_pool(
    n: int, x: Tensor, norm_type: float, kernel_size: Any, stride: Any, padding: Any, ceil_mode: bool, data_format: str
) -> Tensor:
    op_name = f"lp_pool{n}d"
    p = real_number(norm_type, op_name, "norm_type")
    if p == 0:
        raise op_error(ValueError, op_name, "norm_type other than 0", norm_type)
    x, last = _prepare(op_name, n, x, data_format)
    kernel, strides, lo, hi, extra = _windows(op_name, n, x, kernel_size, stride, padding, ceil_mode, last)
    params = (kernel, strides, lo, _plus(hi, extra), (1,) * n)
    if p == -math.inf:
        y = -apply(_WINDOW[n, "max"], (-x.abs(),), params)  # the limit: the smallest magnitude
    else:
        y = apply(_WINDOW[n, "max"], (x,), params) if p == math.inf else apply(_LP[n], (x,), (*params, p))
    return to_last(y, n) if last else y


def _max_unpool(
    n: int, x: Tensor, indices: Tensor, kernel_size: Any, stride: Any, padding: Any, output_size: Any, data_format: str
) -> Tensor:
    op_name = f"max_unpool{n}d"
    if data_format != _FORMATS[n][0]:
        raise op_error(ValueError, op_name, f"data_format {_FORMATS[n][0]!r}", repr(data_format))
    x, _ = _prepare(op_name, n, x, data_format)
    kernel = ints(kernel_size, n, op_name, "kernel_size")
    strides = kernel if stride is None else ints(stride, n, op_name, "stride")
    pad = ints(padding, n, op_name, "padding")
    dims = zip(x.shape[2:], kernel, strides, pad, strict=True)
    sizes = least = tuple((m - 1) * s + k - 2 * p for m, k, s, p in dims)
    if output_size is not None:
        sizes = integers(output_size, op_name, "output_size")
        if len(sizes) not in (n, n + 2):
            raise op_error(ValueError, op_name, f"an output_size of {n} spatial dims, or of all", list(sizes))
        sizes = sizes[-n:]
        if not all(dim.lt(m - s, w) and dim.lt(w, m + s) for w, m, s in zip(sizes, least, strides, strict=True)):
            raise op_error(ValueError, op_name, f"an output_size less than a stride from {list(least)}", list(sizes))
    return F.max_unpool(x, need_tensor(indices, op_name, "indices"), n, sizes)


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
        paddle.Size([1, 2, 2])
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
        paddle.Size([1, 2, 2])
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
        paddle.Size([1, 2, 2, 2])
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
        paddle.Size([1, 2, 2, 2])
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
        paddle.Size([1, 2, 2, 2, 2])
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
        paddle.Size([1, 2, 2, 2, 2])
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
        paddle.Size([1, 2, 3])
    """
    return _adaptive_avg(1, x, output_size, "NCL")


@public("paddle.nn.functional", aliases={"return_indices": "return_mask"})
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
        paddle.Size([1, 2, 3])
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
        paddle.Size([1, 2, 3, 3])
    """
    return _adaptive_avg(2, x, output_size, data_format)


@public("paddle.nn.functional", aliases={"return_indices": "return_mask"})
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
        paddle.Size([1, 2, 3, 3])
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
        paddle.Size([1, 2, 3, 3, 3])
    """
    return _adaptive_avg(3, x, output_size, data_format)


@public("paddle.nn.functional", aliases={"return_indices": "return_mask"})
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
        paddle.Size([1, 2, 3, 3, 3])
    """
    return _adaptive_max(3, x, output_size, return_mask)


def _lp_pool1d_of_torch(
    x: Tensor,
    norm_type: Any,
    kernel_size: Any,
    stride: Any = None,
    ceil_mode: bool = False,
    *,
    padding: Any = 0,
    data_format: str = "NCL",
    name: str | None = None,
) -> Tensor:
    return lp_pool1d(x, norm_type, kernel_size, stride, padding, ceil_mode, data_format)


@public("paddle.nn.functional", other_order=OtherOrder(_lp_pool1d_of_torch, at=4, types=(bool,)))
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
        norm_type: order of the norm, any number but 0; infinity takes the maximum, minus infinity the smallest
            magnitude.
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
        paddle.Size([1, 2, 2])
    """
    return _lp_pool(1, x, norm_type, kernel_size, stride, padding, ceil_mode, data_format)


def _lp_pool2d_of_torch(
    x: Tensor,
    norm_type: Any,
    kernel_size: Any,
    stride: Any = None,
    ceil_mode: bool = False,
    *,
    padding: Any = 0,
    data_format: str = "NCHW",
    name: str | None = None,
) -> Tensor:
    return lp_pool2d(x, norm_type, kernel_size, stride, padding, ceil_mode, data_format)


@public("paddle.nn.functional", other_order=OtherOrder(_lp_pool2d_of_torch, at=4, types=(bool,)))
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
        norm_type: order of the norm, any number but 0; infinity takes the maximum, minus infinity the smallest
            magnitude.
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
        paddle.Size([1, 2, 2, 2])
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
        output_size: sizes of the result's spatial dims, or of all, that the pooling can have had; by default those
            whose last window ends at the last element.

    Returns:
        Tensor ``[N, C, *out]`` of x's dtype.

    Raises:
        ValueError: shapes that do not fit, or another format.

    Example:
        >>> import paddle
        >>> x = paddle.arange(4.0).reshape([1, 1, 4])
        >>> y, indices = paddle.nn.functional.max_pool1d(x, 2, return_mask=True)
        >>> paddle.nn.functional.max_unpool1d(y, indices, 2).shape
        paddle.Size([1, 1, 4])
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
        output_size: sizes of the result's spatial dims, or of all, that the pooling can have had; by default those
            whose last window ends at the last element.

    Returns:
        Tensor ``[N, C, *out]`` of x's dtype.

    Raises:
        ValueError: shapes that do not fit, or another format.

    Example:
        >>> import paddle
        >>> x = paddle.arange(16.0).reshape([1, 1, 4, 4])
        >>> y, indices = paddle.nn.functional.max_pool2d(x, 2, return_mask=True)
        >>> paddle.nn.functional.max_unpool2d(y, indices, 2).shape
        paddle.Size([1, 1, 4, 4])
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
        output_size: sizes of the result's spatial dims, or of all, that the pooling can have had; by default those
            whose last window ends at the last element.

    Returns:
        Tensor ``[N, C, *out]`` of x's dtype.

    Raises:
        ValueError: shapes that do not fit, or another format.

    Example:
        >>> import paddle
        >>> x = paddle.arange(64.0).reshape([1, 1, 4, 4, 4])
        >>> y, indices = paddle.nn.functional.max_pool3d(x, 2, return_mask=True)
        >>> paddle.nn.functional.max_unpool3d(y, indices, 2).shape
        paddle.Size([1, 1, 4, 4, 4])
    """
    return _max_unpool(3, x, indices, kernel_size, stride, padding, output_size, data_format)
