"""Statistics: spread, medians, quantiles, histograms, distances, covariance."""

from __future__ import annotations

import builtins
import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np

from paddle._public import OtherOrder, constants, public
from paddle.tensor._args import (
    apart,
    cast,
    create_on,
    equal_shapes,
    floating,
    integer,
    need_tensor,
    number,
    number_unless_negative,
    op_error,
    reduced_axes,
    same_dtype,
)
from paddle.tensor.norms import norm_kind
from paddle.tensor.reductions import mean  # noqa: F401 of the module that has this name in the reference framework
from umiak import ops as F
from umiak.core import dtype as dt
from umiak.core.array import from_numpy
from umiak.core.context import current
from umiak.core.dtype import DType
from umiak.core.tensor import Tensor
from umiak.ir import sym as dim
from umiak.ir.expr import Sym, to_float
from umiak.ir.scope import usually
from umiak.ir.tracer import SymTensor

# The core's count of elements, before the name ``numel`` is that of a function.
_COUNT = Tensor.__dict__["numel"]


constants("Tensor", __name__, {"_count": _COUNT, "size": Tensor.__dict__["size"]})


@public(usual=False)
def numel(x: Tensor, name: str | None = None) -> Tensor:
    """Number of elements of ``x``.

    Args:
        x: tensor of any shape and dtype.

    Returns:
        0-d int64 tensor.

    Raises:
        TypeError: x is not a tensor.

    Example:
        >>> import paddle
        >>> int(paddle.numel(paddle.ones([2, 3])))
        6
    """
    return F.full(need_tensor(x, "numel")._count, dt.int64, ())


@public(aliases={"x": "input"})
def rank(input: Tensor) -> Tensor:
    """Number of dims of ``input``.

    Args:
        input: tensor of any shape and dtype.

    Returns:
        0-d int32 tensor.

    Raises:
        TypeError: input is not a tensor.

    Example:
        >>> import paddle
        >>> int(paddle.rank(paddle.ones([2, 3])))
        2
    """
    return F.full(need_tensor(input, "rank", "input").ndim, dt.int32, ())


def _correction(unbiased: Any, correction: Any) -> float:
    if unbiased is None:
        return float(correction)
    return 1.0 if unbiased else 0.0


@public
def var(
    x: Tensor,
    axis: Any = None,
    unbiased: bool | None = None,
    keepdim: bool = False,
    name: str | None = None,
    *,
    correction: float = 1,
    out: Any = None,
) -> Tensor:
    """Variance: the sum of squared deviations from the mean, divided by the number of elements less ``correction``.

    Args:
        x: tensor of a real dtype.
        axis: the dims to reduce, an int or a sequence of ints; negative counts from the end. By default all.
        unbiased: True stands for a correction of 1, False for one of 0; None leaves it to ``correction``.
        keepdim: whether reduced dims stay, with size 1.
        correction: number that is subtracted from the number of elements.
        out: tensor that is written with the result and returned.

    Returns:
        Tensor of x's dtype, of integers and bools float32; NaN where there are not more elements than the correction.

    Raises:
        TypeError: x is not a tensor, or is complex.
        IndexError: x has no such dim.
        ValueError: ``axis`` names a dim twice.

    Example:
        >>> import paddle
        >>> x = paddle.to_tensor([1.0, 2.0, 6.0])
        >>> float(paddle.var(x)), float(paddle.var(x, correction=2))
        (7.0, 14.0)
    """
    x = floating(need_tensor(x, "var"))
    return F.var(x, reduced_axes(axis, x.ndim, "var"), builtins.bool(keepdim), _correction(unbiased, correction))


@public
def std(x: Tensor, axis: Any = None, unbiased: bool = True, keepdim: bool = False, name: str | None = None) -> Tensor:
    """Standard deviation: the square root of :func:`var`.

    Args:
        x: tensor of a real dtype.
        axis: the dims to reduce, an int or a sequence of ints; negative counts from the end. By default all.
        unbiased: whether to divide by the number of elements less 1; False divides by the number of elements.
        keepdim: whether reduced dims stay, with size 1.

    Returns:
        Tensor of x's dtype, of integers and bools float32; NaN where the divisor is 0.

    Raises:
        TypeError: x is not a tensor, or is complex.
        IndexError: x has no such dim.
        ValueError: ``axis`` names a dim twice.

    Example:
        >>> import paddle
        >>> float(paddle.std(paddle.to_tensor([1.0, 5.0]), unbiased=False))
        2.0
    """
    x = floating(need_tensor(x, "std"))
    return F.std(x, reduced_axes(axis, x.ndim, "std"), builtins.bool(keepdim), _correction(unbiased, 1))


# --- order statistics ----------------------------------------------------------------------------------------------


def _last(x: Tensor, axis: Any, op: str) -> tuple[Tensor, int, tuple[int, ...]]:
    """x with the axes to reduce as one, that one, and all of them."""
    axes = reduced_axes(axis, x.ndim, op)
    if not x.ndim:
        return F.reshape(x, (1,)), 0, ()
    if len(axes) == 1:
        return x, axes[0], axes
    rest = tuple(a for a in range(x.ndim) if a not in axes)
    y = F.permute(x, rest + axes) if rest + axes != tuple(range(x.ndim)) else x
    size = 1
    for a in axes:
        size *= x.shape[a]
    return F.reshape(y, (*(x.shape[a] for a in rest), size)), len(rest), axes


def _keep(y: Tensor, axes: Sequence[int], ndim: int, lead: int = 0) -> Tensor:
    """A result without its reduced dims gets them back, as size 1."""
    return F.unsqueeze(y, tuple(a + lead for a in sorted(axes))) if axes else y


def _median(x: Tensor, axis: Any, keepdim: bool, mode: str, ignore_nan: bool, op: str) -> Any:
    x = need_tensor(x, op)
    if mode not in ("avg", "min"):
        raise op_error(ValueError, op, "a mode of 'avg' or 'min'", repr(mode))
    if isinstance(axis, (list, tuple)) and not axis:
        raise op_error(ValueError, op, "at least one axis, or None", axis)
    given = x
    if mode == "avg":
        x = floating(x)
        x = cast(x, x.dtype.compute)
    y, k, axes = _last(x, axis, op)
    if 0 in y.shape[k : k + 1]:
        value, index = _of_nothing(y, k)
        return _keep(value, axes, given.ndim) if keepdim else value if mode == "avg" or axis is None else (value, index)
    if mode == "avg":
        value = F.median(y, k, False, ignore_nan)
        return _keep(value, axes, given.ndim) if keepdim else value
    value, index = F.median_lower(y, k, False, ignore_nan)
    if keepdim:
        value, index = _keep(value, axes, given.ndim), _keep(index, axes, given.ndim)
    if axis is None or isinstance(axis, (list, tuple)):
        return value
    return (value, index)


def _median_of_torch(x: Tensor, axis: Any = None, keepdim: bool = False, mode: str = "min", *, out: Any = None) -> Any:
    return _median(x, axis, keepdim, mode, False, "median")


# The keywords of PyTorch ask for PyTorch's median: of an even number of elements the lower one, with its index.
def _of_nothing(y: Tensor, k: int) -> tuple[Tensor, Tensor]:
    """The median along a dim without elements: not a number, and the index 0."""
    shape = (*y.shape[:k], *y.shape[k + 1 :])
    d = y.dtype if y.dtype.is_floating else dt.float32
    return create_on(y.place, F.full, float("nan"), d, shape), create_on(y.place, F.full, 0, dt.int64, shape)


@public(other_order=OtherOrder(_median_of_torch, frozenset({"input", "dim"})))
def median(
    x: Tensor, axis: Any = None, keepdim: bool = False, mode: str = "avg", name: str | None = None, *, out: Any = None
) -> Any:
    """Middle element in ascending order; NaN where there is one among the elements.

    Args:
        x: tensor of a real dtype.
        axis: the dim to reduce; negative counts from the end. By default all.
        keepdim: whether reduced dims stay, with size 1.
        mode: for an even number of elements, ``"avg"`` takes the mean of the middle two, ``"min"`` the lower one.
        out: tensor, or for a pair a pair of tensors, that is written with the result and returned.

    Returns:
        Tensor of x's dtype, in mode ``"avg"`` float32 of integers and bools. In mode ``"min"`` with an int for
        ``axis``, a pair of it and the int64 tensor of indices.

    Raises:
        TypeError: x is not a tensor, or is complex.
        IndexError: x has no such dim.
        ValueError: ``axis`` is a sequence, or there is no such mode.

    Example:
        >>> import paddle
        >>> x = paddle.to_tensor([1.0, 4.0, 2.0, 3.0])
        >>> float(paddle.median(x))
        2.5
        >>> value, index = paddle.median(x, axis=0, mode="min")
        >>> float(value), int(index)
        (2.0, 2)
    """
    if isinstance(axis, (list, tuple)):
        raise op_error(ValueError, "median", "one axis, or None for all", axis)
    return _median(x, axis, keepdim, mode, False, "median")


@public
def nanmedian(x: Tensor, axis: Any = None, keepdim: bool = False, mode: str = "avg", name: str | None = None) -> Any:
    """Middle element in ascending order of those that are not NaN.

    Args:
        x: tensor of a real dtype.
        axis: the dims to reduce, an int or a sequence of ints; negative counts from the end. By default all.
        keepdim: whether reduced dims stay, with size 1.
        mode: for an even number of elements, ``"avg"`` takes the mean of the middle two, ``"min"`` the lower one.

    Returns:
        Tensor as :func:`median` gives it; NaN where all elements are.

    Raises:
        TypeError: x is not a tensor, or is complex.
        IndexError: x has no such dim.
        ValueError: there are no elements, ``axis`` is an empty sequence, or there is no such mode.

    Example:
        >>> import paddle
        >>> float(paddle.nanmedian(paddle.to_tensor([1.0, float("nan"), 3.0])))
        2.0
    """
    return _median(x, axis, keepdim, mode, True, "nanmedian")


def _quantile(x: Tensor, q: Any, axis: Any, keepdim: bool, interpolation: str, ignore_nan: bool, op: str) -> Tensor:
    x = floating(need_tensor(x, op))
    if interpolation not in ("linear", "higher", "lower", "midpoint", "nearest"):
        raise op_error(
            ValueError, op, "an interpolation of linear, higher, lower, midpoint or nearest", repr(interpolation)
        )
    if isinstance(q, Tensor):
        single, fractions = q.ndim == 0, F.reshape(cast(q, x.dtype), (q.size,))
        if not current().trace and not bool(F.all(F.logical_and(F.ge(fractions, 0), F.le(fractions, 1)), (0,)).item()):
            raise op_error(ValueError, op, "fractions from 0 to 1", q.tolist())
    else:
        single = not isinstance(q, (list, tuple, np.ndarray))
        numbers = [number(v) for v in ([q] if single else np.atleast_1d(q) if isinstance(q, np.ndarray) else q)]
        if not numbers or any(v < 0 or v > 1 for v in numbers):
            raise op_error(ValueError, op, "fractions from 0 to 1", q)
        if any(type(v) is Sym for v in numbers):
            parts = [create_on(x.place, F.full, to_float(v), x.dtype, (1,)) for v in numbers]
            fractions = F.concat(parts, 0)
        else:
            fractions = from_numpy(np.asarray(numbers, x.dtype.numpy), x.place)
    y, k, axes = _last(x, axis, op)
    result = F.quantile(y, fractions, k, False, interpolation, ignore_nan)
    if keepdim:
        result = _keep(result, axes, x.ndim, 1)
    return F.squeeze(result, (0,)) if single else result


@public
def quantile(
    x: Tensor,
    q: Any,
    axis: Any = None,
    keepdim: bool = False,
    interpolation: str = "linear",
    name: str | None = None,
    *,
    out: Any = None,
) -> Tensor:
    """Elements at the fractions ``q`` of the ascending order; NaN where there is one among the elements.

    Args:
        x: tensor of a real dtype.
        q: a number from 0, the smallest element, to 1, the largest; or several in a list, tuple or 1-d tensor.
        axis: the dims to reduce, an int or a sequence of ints; negative counts from the end. By default all.
        keepdim: whether reduced dims stay, with size 1.
        interpolation: the result between two elements: ``"linear"``, ``"higher"``, ``"lower"``, ``"midpoint"`` or
            ``"nearest"``.
        out: tensor that is written with the result and returned.

    Returns:
        Tensor of x's dtype, of integers and bools float32; several fractions are a new first dim.

    Raises:
        TypeError: x is not a tensor, or is complex.
        IndexError: x has no such dim.
        ValueError: a fraction lies outside, there are no elements, or there is no such interpolation.

    Example:
        >>> import paddle
        >>> x = paddle.to_tensor([1.0, 2.0, 4.0])
        >>> float(paddle.quantile(x, 0.75)), paddle.quantile(x, [0.0, 1.0]).tolist()
        (3.0, [1.0, 4.0])
    """
    return _quantile(x, q, axis, keepdim, interpolation, False, "quantile")


@public
def nanquantile(x: Tensor, q: Any, axis: Any = None, keepdim: bool = False, interpolation: str = "linear") -> Tensor:
    """Elements at the fractions ``q`` of the ascending order of those that are not NaN.

    Args:
        x: tensor of a real dtype.
        q: a number from 0, the smallest element, to 1, the largest; or several in a list, tuple or 1-d tensor.
        axis: the dims to reduce, an int or a sequence of ints; negative counts from the end. By default all.
        keepdim: whether reduced dims stay, with size 1.
        interpolation: the result between two elements: ``"linear"``, ``"higher"``, ``"lower"``, ``"midpoint"`` or
            ``"nearest"``.

    Returns:
        Tensor as :func:`quantile` gives it; NaN where all elements are.

    Raises:
        TypeError: x is not a tensor, or is complex.
        IndexError: x has no such dim.
        ValueError: a fraction lies outside, there are no elements, or there is no such interpolation.

    Example:
        >>> import paddle
        >>> float(paddle.nanquantile(paddle.to_tensor([1.0, float("nan"), 2.0]), 0.5))
        1.5
    """
    return _quantile(x, q, axis, keepdim, interpolation, True, "nanquantile")


# --- counts --------------------------------------------------------------------------------------------------------


@public
def bincount(x: Tensor, weights: Tensor | None = None, minlength: Any = 0, name: str | None = None) -> Tensor:
    """Number of occurrences of each integer from 0 to the largest, or the sum of their weights.

    Args:
        x: 1-d integer tensor, without negative numbers.
        weights: tensor of x's shape, whose elements are summed instead of counted.
        minlength: least size of the result.

    Returns:
        1-d tensor: int64, or of the dtype of the weights.

    Raises:
        TypeError: x is not a tensor of integers.
        ValueError: a number is negative, x is not 1-d, weights have another shape, or ``minlength`` is negative.

    Example:
        >>> import paddle
        >>> x = paddle.to_tensor([1, 2, 1])
        >>> paddle.bincount(x).tolist(), paddle.bincount(x, paddle.to_tensor([0.5, 3.0, 1.0])).tolist()
        ([0, 2, 1], [0.0, 1.5, 3.0])
    """
    need_tensor(x, "bincount")
    if not x.dtype.is_integer:
        raise op_error(TypeError, "bincount", "an integer tensor", x.dtype.name)
    least = integer(minlength, "bincount", "minlength")
    if least < 0:
        raise op_error(ValueError, "bincount", "a minlength of 0 or more", least)
    count: Any = least
    if x._count:
        axes = tuple(range(x.ndim))
        top = number_unless_negative(F.max(x, axes), F.min(x, axes))
        if not dim.le(0, top):
            raise op_error(ValueError, "bincount", "integers of 0 or more", "a negative one")
        count = dim.maximum(least, top + 1)
    if weights is not None and need_tensor(weights, "bincount", "weights").dtype.is_integer:
        weights = F.cast(weights, dtype=dt.float64)
    return F.bincount_sized(x, weights, count)


def _histogram_range(x: Tensor, low: Any, high: Any, op: str, around: float = 1.0) -> tuple[float, float]:
    """Limits of the intervals; a range of one number is widened by ``around`` on both sides."""
    lo, hi = to_float(number(low)), to_float(number(high))
    if lo == hi and x._count and (lo == 0 or op == "histogram"):
        axes = tuple(range(x.ndim))
        lo, hi = float(F.min(x, axes).item()), float(F.max(x, axes).item())
    if not all(type(v) is Sym or np.isfinite(v) for v in (lo, hi)):
        raise op_error(ValueError, op, "a finite range", f"[{lo}, {hi}]")
    if hi < lo:
        raise op_error(ValueError, op, "a max that is not below min", f"[{lo}, {hi}]")
    return (lo - around, hi + around) if lo == hi else (lo, hi)


@public(aliases={"x": "input"})
def histogram(
    input: Tensor,
    bins: int = 100,
    min: Any = 0.0,
    max: Any = 0.0,
    weight: Tensor | None = None,
    density: bool = False,
    name: str | None = None,
) -> Tensor:
    """Number of elements in each of ``bins`` intervals of one width.

    Args:
        input: integer or floating tensor of any shape.
        bins: the number of intervals.
        min: where the first begins. If it is ``max``, the range is that of the elements.
        max: where the last ends; it belongs to this interval. Elements outside are not counted.
        weight: tensor of input's shape, whose elements are summed instead of counted.
        density: whether the result is divided so that its integral is 1.

    Returns:
        1-d tensor of size ``bins``: int64, of the dtype of the weights, or with ``density`` floating.

    Raises:
        TypeError: input is not a tensor, or is bool or complex.
        ValueError: ``bins`` is below 1, ``max`` below ``min``, the range is not finite, or weights have another shape.

    Example:
        >>> import paddle
        >>> paddle.histogram(paddle.to_tensor([1.0, 2.0, 1.0]), bins=4, min=0, max=4).tolist()
        [0, 2, 1, 0]
    """
    x = need_tensor(input, "histogram", "input")
    if bins < 1:
        raise op_error(ValueError, "histogram", "at least one bin", bins)
    lo: Any
    hi: Any
    if isinstance(x, SymTensor) and _has_elements(x) and number(min) == number(max):
        if weight is not None and not equal_shapes(weight.shape, x.shape):
            raise op_error(ValueError, "histogram", f"weight of shape {list(x.shape)}", list(weight.shape))
        lo, hi = _range_of_data(x)
        counts = _counted(x, weight, bins, lo, hi)
    else:
        lo, hi = _histogram_range(x, min, max, "histogram")
        if any(type(v) is Sym for v in (bins, lo, hi)):
            counts = _counted(x, weight, bins, *(F.full(v, dt.float64, ()) for v in (lo, hi)))
        else:
            counts = F.histogram(x, weight, bins, lo, hi)
    if density:
        wide = floating(counts)
        width = (hi - lo) / bins
        width = F.cast(width, dtype=wide.dtype) if isinstance(width, Tensor) else width
        counts = F.div(wide, F.mul(F.sum(wide, (0,)), width))
    return counts


def _has_elements(x: Tensor) -> bool:
    """False for a size that is known to be 0; of one that is open nothing is asked."""
    return type(x._count) is not int or x._count > 0


def _flat(x: Tensor, d: DType) -> Tensor:
    return F.cast(F.reshape(x, (dim.product(x.shape),)), dtype=d)


def _range_of_data(x: Tensor, around: float = 1.0) -> tuple[Tensor, Tensor]:
    """Limits as of :func:`_histogram_range`, of elements that are known when the program runs."""
    flat = _flat(x, dt.float64)
    lo, hi = F.min(flat, (0,)), F.max(flat, (0,))
    wider = F.mul(F.cast(F.eq(lo, hi), dtype=dt.float64), around)
    return F.sub(lo, wider), F.add(hi, wider)


def _counted(x: Tensor, weight: Tensor | None, bins: int, lo: Tensor, hi: Tensor) -> Tensor:
    """The counts, where tensors tell the limits; elements beyond them count nothing."""
    step = F.div(F.sub(hi, lo), bins)
    between = F.add(lo, F.mul(F.iota(1, 1, dt.float64, bins - 1), step))
    flat = _flat(x, dt.float64)
    place = F.search_sorted(between, flat, right=True, dtype=dt.int64)
    parts = F.full(1, dt.int64, tuple(flat.shape)) if weight is None else _flat(weight, weight.dtype)
    parts = F.where(F.logical_and(F.ge(flat, lo), F.le(flat, hi)), parts, 0)
    return F.put(F.full(0, parts.dtype, (bins,)), place, parts, axis=0, mode="add")


@public(aliases={"x": "input"})
def histogram_bin_edges(
    input: Tensor, bins: int = 100, min: Any = 0.0, max: Any = 0.0, name: str | None = None
) -> Tensor:
    """Bounds of the intervals of :func:`histogram`.

    Args:
        input: integer or floating tensor of any shape.
        bins: the number of intervals.
        min: where the first begins. If it and ``max`` are 0, the range is that of the elements.
        max: where the last ends. Where all this leaves one number, the range is widened by 0.5 on both sides.

    Returns:
        1-d tensor of size ``bins + 1``, of input's dtype, of integers float32.

    Raises:
        TypeError: input is not a tensor, or is bool or complex.
        ValueError: ``bins`` is below 1, ``max`` below ``min``, or the range is not finite.

    Example:
        >>> import paddle
        >>> paddle.histogram_bin_edges(paddle.to_tensor([0.0, 2.0]), bins=2).tolist()
        [0.0, 1.0, 2.0]
    """
    x = need_tensor(input, "histogram_bin_edges", "input")
    if bins < 1:
        raise op_error(ValueError, "histogram_bin_edges", "at least one bin", bins)
    lo: Any
    hi: Any
    if isinstance(x, SymTensor) and _has_elements(x) and number(min) == number(max) == 0:
        lo, hi = _range_of_data(x, 0.5)
    else:
        lo, hi = _histogram_range(x, min, max, "histogram_bin_edges", 0.5)
    return create_on(x.place, F.linspace, lo, hi, x.dtype if x.dtype.is_floating else dt.float32, bins + 1)


@public
def histogramdd(
    x: Tensor,
    bins: Any = 10,
    ranges: Any = None,
    density: bool = False,
    weights: Tensor | None = None,
    name: str | None = None,
) -> tuple[Tensor, list[Tensor]]:
    """Histogram of points in several dimensions.

    Args:
        x: floating tensor of shape ``[..., d]``, d coordinates for each point.
        bins: the number of intervals of each dimension: an int for all, a list of d ints, or a list of d 1-d tensors of
            bounds.
        ranges: a list of ``2 * d`` numbers: where the intervals of each dimension begin and end. By default the range
            of the coordinates.
        density: whether the result is divided so that its integral is 1.
        weights: tensor with a number for each point, which is summed instead of counted.

    Returns:
        Pair of a tensor with a dim for each dimension, of x's dtype, and a list of d tensors: the bounds.

    Raises:
        TypeError: x is not a floating tensor, or ``bins`` are neither ints nor tensors.
        ValueError: x has a rank below 2, or bins, ranges or weights do not fit it.

    Example:
        >>> import paddle
        >>> x = paddle.to_tensor([[0.0, 0.0], [1.0, 1.0], [1.0, 0.9]])
        >>> counts, bounds = paddle.histogramdd(x, bins=[2, 2])
        >>> counts.tolist(), bounds[0].tolist()
        ([[1.0, 0.0], [0.0, 2.0]], [0.0, 0.5, 1.0])
    """
    op = "histogramdd"
    if need_tensor(x, op).ndim < 2:
        raise op_error(ValueError, op, "a tensor of rank 2 or more", x.shape)
    if not x.dtype.is_floating:
        raise op_error(TypeError, op, "a floating tensor", x.dtype.name)
    d = x.shape[-1]
    points = F.reshape(x, (x._count // d if d else 0, d))
    given = [bins] * d if isinstance(bins, int) else list(bins)
    if len(given) != d:
        raise op_error(ValueError, op, f"bins for {d} dims", len(given))
    if ranges is not None and len(ranges) != 2 * d:
        raise op_error(ValueError, op, f"{2 * d} ends of ranges", len(ranges))
    columns = F.unbind(points, 1, d)
    edges = []
    for i, (b, column) in enumerate(zip(given, columns, strict=True)):
        if isinstance(b, Tensor):
            edges.append(apart(cast(b, x.dtype), b))
            continue
        b = integer(b, op, "each of bins")
        if b < 1:
            raise op_error(ValueError, op, "at least one bin for each dim", b)
        lo: Any
        hi: Any
        if ranges is not None:
            lo, hi = float(ranges[2 * i]), float(ranges[2 * i + 1])
        else:
            lo, hi = _range_of_data(column) if isinstance(x, SymTensor) else _histogram_range(column, 0.0, 0.0, op)
        edges.append(create_on(x.place, F.linspace, lo, hi, x.dtype, b + 1))
    sizes = [e.shape[0] - 1 for e in edges]
    place = create_on(x.place, F.full, 0, dt.int64, (points.shape[0],))
    inside = create_on(x.place, F.full, True, dt.bool, (points.shape[0],))
    for column, e, n in zip(columns, edges, sizes, strict=True):
        # The last interval is closed.
        at = F.sub(F.search_sorted(e, column, True), 1)
        top = F.slice(e, (0,), (n,), (1,), (1,))
        at = F.where(F.eq(column, top), n - 1, at)
        inside = F.logical_and(inside, F.logical_and(F.ge(at, 0), F.lt(at, n)))
        place = F.add(F.mul(place, n), at)
    total = int(np.prod(sizes))
    if weights is not None and need_tensor(weights, op, "weights")._count != points.shape[0]:
        raise op_error(ValueError, op, f"a weight for each of {points.shape[0]} points", weights.shape)
    w = (
        create_on(x.place, F.full, 1, x.dtype, (points.shape[0],))
        if weights is None
        else F.reshape(cast(weights, x.dtype), (weights.size,))
    )
    w = F.where(inside, w, 0)
    place = F.where(inside, place, 0)
    counts = F.reshape(cast(F.bincount_sized(place, w, total), x.dtype), tuple(sizes))
    if density:
        volume = None
        for i, e in enumerate(edges):
            width = F.reshape(F.diff(e, 0), tuple(sizes[i] if k == i else 1 for k in range(d)))
            volume = width if volume is None else F.mul(volume, width)
        counts = F.div(F.div(counts, volume), F.sum(counts, tuple(range(d))))
    return counts, edges


# --- distances -----------------------------------------------------------------------------------------------------


@public
def dist(x: Tensor, y: Tensor, p: float = 2, name: str | None = None) -> Tensor:
    """Distance of two tensors: the p-norm of ``x - y`` over all elements.

    Args:
        x: floating tensor of any shape.
        y: floating tensor that broadcasts with x.
        p: the order of the norm: 2 is the Euclidean one, infinity the largest absolute value, 0 counts what differs.

    Returns:
        0-d tensor of the promoted dtype.

    Raises:
        TypeError: x or y is not a floating tensor.
        ValueError: the shapes do not broadcast.

    Example:
        >>> import paddle
        >>> float(paddle.dist(paddle.to_tensor([3.0, 0.0]), paddle.to_tensor([0.0, 4.0])))
        5.0
    """
    x, y = same_dtype("sub", need_tensor(x, "dist"), need_tensor(y, "dist", "y"))
    kind, power = norm_kind(number(p))
    return F.dist(x, y, kind, power)


@public
def cdist(
    x: Tensor,
    y: Tensor,
    p: float = 2.0,
    compute_mode: str = "use_mm_for_euclid_dist_if_necessary",
    name: str | None = None,
) -> Tensor:
    """Distances of the rows of ``x`` from the rows of ``y``: p-norms of their differences.

    Args:
        x: floating tensor of shape ``[..., m, d]``.
        y: floating tensor of shape ``[..., n, d]``; leading dims broadcast.
        p: the order of the norm, 0 or more: 2 is the Euclidean one, infinity the largest absolute value.
        compute_mode: whether Euclidean distances are computed with a matmul, which is faster and less exact:
            ``"use_mm_for_euclid_dist"``, ``"donot_use_mm_for_euclid_dist"``, or by default for more than 25 rows.

    Returns:
        Tensor of shape ``[..., m, n]`` and of the promoted dtype.

    Raises:
        TypeError: x or y is not a floating tensor.
        ValueError: a rank is below 2, rows differ in length, leading dims do not broadcast, ``p`` is negative, or there
            is no such mode.

    Example:
        >>> import paddle
        >>> paddle.cdist(paddle.to_tensor([[0.0, 0.0]]), paddle.to_tensor([[3.0, 4.0], [0.0, 1.0]])).tolist()
        [[5.0, 1.0]]
    """
    modes = ("use_mm_for_euclid_dist_if_necessary", "use_mm_for_euclid_dist", "donot_use_mm_for_euclid_dist")
    if compute_mode not in modes:
        raise op_error(ValueError, "cdist", f"a compute_mode of {list(modes)}", repr(compute_mode))
    if need_tensor(x, "cdist").ndim < 2 or need_tensor(y, "cdist", "y").ndim < 2:
        raise op_error(ValueError, "cdist", "tensors of rank 2 or more", f"ranks {x.ndim} and {y.ndim}")
    if x.shape[-1] != y.shape[-1]:
        raise op_error(ValueError, "cdist", "rows of one length", f"{x.shape[-1]} and {y.shape[-1]}")
    if p < 0:
        raise op_error(ValueError, "cdist", "a p of 0 or more", p)
    x, y = same_dtype("sub", x, y)
    # The same distances in either way: sizes that are not known are taken to be large.
    many = usually(dim.maximum(x.shape[-2], y.shape[-2]) > 25)
    by_products = compute_mode == modes[1] or (compute_mode == modes[0] and many)
    kind, power = norm_kind(p)
    if kind == "2" and by_products:
        xx = F.sum(F.square(x), (x.ndim - 1,), True)
        yy = F.sum(F.square(y), (y.ndim - 1,), True)
        swap = (*range(y.ndim - 2), y.ndim - 1, y.ndim - 2)
        square = F.add(F.sub(xx, F.mul(F.matmul(x, y, False, True), 2.0)), F.permute(yy, swap))
        # A distance of 0 has no slope.
        positive = F.gt(square, 0)
        return F.where(positive, F.sqrt(F.where(positive, square, 1)), 0)
    gap = F.sub(F.unsqueeze(x, (x.ndim - 1,)), F.unsqueeze(y, (y.ndim - 2,)))
    return F.vector_norm(gap, (gap.ndim - 1,), False, kind, power)


@public("paddle paddle.tensor")
def pdist(x: Tensor, p: float = 2.0, name: str | None = None) -> Tensor:
    """Distances of each two rows of ``x``: p-norms of their differences.

    Args:
        x: floating tensor of shape ``[n, d]``.
        p: the order of the norm, 0 or more: 2 is the Euclidean one, infinity the largest absolute value.

    Returns:
        1-d tensor of x's dtype: of rows 0 and 1, 0 and 2, and so on, then of 1 and 2.

    Raises:
        TypeError: x is not a floating tensor.
        ValueError: x is not of rank 2, or ``p`` is negative.

    Example:
        >>> import paddle
        >>> paddle.pdist(paddle.to_tensor([[0.0, 0.0], [3.0, 4.0], [0.0, 1.0]]), 1).tolist()
        [7.0, 1.0, 6.0]
    """
    if need_tensor(x, "pdist").ndim != 2:
        raise op_error(ValueError, "pdist", "a tensor of rank 2", x.shape)
    if p < 0:
        raise op_error(ValueError, "pdist", "a p of 0 or more", p)
    pairs = np.array(list(itertools.combinations(range(x.shape[0]), 2)), np.int64).reshape(-1, 2)
    first, second = (F.take(x, from_numpy(np.ascontiguousarray(pairs[:, i]), x.place), 0) for i in (0, 1))
    kind, power = norm_kind(p)
    return F.vector_norm(F.sub(first, second), (1,), False, kind, power)


# --- covariance ----------------------------------------------------------------------------------------------------


@public("paddle.tensor paddle.linalg Tensor")
def cov(
    x: Tensor,
    rowvar: bool = True,
    ddof: bool = True,
    fweights: Tensor | None = None,
    aweights: Tensor | None = None,
    name: str | None = None,
) -> Tensor:
    """Covariance matrix of several variables.

    Args:
        x: tensor of shape ``[variables, observations]``; a 1-d one is a single variable.
        rowvar: whether variables are rows; False expects them in columns.
        ddof: whether to divide by the number of observations less 1; False divides by their number.
        fweights: 1-d tensor of integers: how often each observation counts.
        aweights: 1-d tensor: how much each observation counts.

    Returns:
        Symmetric matrix of x's dtype, of integers and bools float32; 0-d for a single variable.

    Raises:
        TypeError: x or weights are not tensors.
        ValueError: x has a rank above 2, or weights are negative or not as many as observations.

    Example:
        >>> import paddle
        >>> paddle.linalg.cov(paddle.to_tensor([[1.0, 2.0], [2.0, 4.0]])).tolist()
        [[0.5, 1.0], [1.0, 2.0]]
    """
    if need_tensor(x, "cov").ndim > 2:
        raise op_error(ValueError, "cov", "a tensor of rank 1 or 2", x.shape)
    x = floating(x)
    if x.ndim < 2:
        x = F.reshape(x, (1, x._count))
    elif not rowvar and x.shape[0] != 1:
        x = F.permute(x, (1, 0))
    n = x.shape[1]
    w = None
    for given, arg_name in ((fweights, "fweights"), (aweights, "aweights")):
        if given is None:
            continue
        if need_tensor(given, "cov", arg_name).ndim != 1 or given.shape[0] != n:
            raise op_error(ValueError, "cov", f"{arg_name} of shape [{n}]", given.shape)
        if given.size and not current().trace and float(F.min(given, (0,)).item()) < 0:
            raise op_error(ValueError, "cov", f"{arg_name} of 0 or more", "a negative one")
        given = cast(given, x.dtype)
        w = given if w is None else F.mul(w, given)
    if w is None:
        mean = F.mean(x, (1,), True)
        total: Any = n
        spread: Any = max(n - 1, 0) if ddof else n
    else:
        total = F.sum(w, (0,))
        mean = F.div(F.sum(F.mul(x, w), (1,), True), total)
        if not ddof:
            spread = total
        elif aweights is None:
            spread = F.sub(total, 1)
        else:
            spread = F.sub(total, F.div(F.sum(F.mul(w, cast(aweights, x.dtype)), (0,)), total))
    centred = F.sub(x, mean)
    weighted = centred if w is None else F.mul(centred, w)
    product = F.matmul(weighted, F.conj(centred) if x.dtype.is_complex else centred, False, True)
    out = F.div(product, float(spread) if isinstance(spread, int) else spread)
    return F.reshape(out, ()) if out.size == 1 else out


@public("paddle.tensor paddle.linalg Tensor")
def corrcoef(x: Tensor, rowvar: bool = True, name: str | None = None) -> Tensor:
    """Correlation coefficients of several variables: their covariances, divided by both standard deviations.

    Args:
        x: tensor of shape ``[variables, observations]``; a 1-d one is a single variable.
        rowvar: whether variables are rows; False expects them in columns.

    Returns:
        Symmetric matrix of x's dtype, of integers and bools float32, with elements from -1 to 1; 0-d for a single
        variable.

    Raises:
        TypeError: x is not a tensor.
        ValueError: x has a rank above 2.

    Example:
        >>> import paddle
        >>> paddle.linalg.corrcoef(paddle.to_tensor([[1.0, 2.0], [2.0, 0.0]])).tolist()
        [[1.0, -1.0], [-1.0, 1.0]]
    """
    c = cov(x, rowvar)
    if c.ndim == 0:
        return F.div(c, c)
    s = F.sqrt(F.real(F.diagonal(c, 0, 1)) if c.dtype.is_complex else F.diagonal(c, 0, 1))
    s = cast(s, c.dtype)
    out = F.div(F.div(c, F.unsqueeze(s, (1,))), s)
    return out if c.dtype.is_complex else F.clip(out, -1.0, 1.0)
