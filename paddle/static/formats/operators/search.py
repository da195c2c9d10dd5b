"""Places in tensors: gathering, scattering, sorting, searching, embedding."""

from __future__ import annotations

from typing import Any

import numpy as np

import paddle
from paddle.nn import functional as F
from paddle.static.formats.operators.known import Known
from paddle.static.formats.operators.table import Number, Tensors, dtype_of, integer_of, known, operator, small
from umiak.core.tensor import Tensor
from umiak.ir.expr import Sym


@operator("gather")
def gather(x: Tensor, index: Tensor, axis: Number = 0) -> Any:
    return paddle.gather(x, index, int(axis))


@operator("gather_nd")
def gather_nd(x: Tensor, index: Tensor) -> Any:
    return paddle.gather_nd(x, index)


@operator("index_select")
def index_select(x: Tensor, index: Tensor, *, axis: int = 0) -> Any:
    return paddle.index_select(x, index, axis)


@operator("index_select_strided")
def index_select_strided(x: Tensor, *, index: int, axis: int = 0) -> Any:
    return paddle.squeeze(paddle.slice(x, [axis], [index], [index + 1]), [axis])


@operator("index_sample")
def index_sample(x: Tensor, index: Tensor) -> Any:
    return paddle.index_sample(x, index)


@operator("index_add")
def index_add(x: Tensor, index: Tensor, add_value: Tensor, *, axis: int = 0) -> Any:
    return paddle.index_add(x, index, axis, add_value)


@operator("index_put")
def index_put(x: Tensor, indices: Tensors, value: Tensor, *, accumulate: bool = False) -> Any:
    return paddle.index_put(x, tuple(indices), value, accumulate)


@operator("take_along_axis")
def take_along_axis(arr: Tensor, indices: Tensor, *, axis: int) -> Any:
    return paddle.take_along_axis(arr, indices, axis, broadcast=False)


@operator("put_along_axis")
def put_along_axis(
    arr: Tensor, indices: Tensor, values: Tensor, *, axis: int, reduce: str = "assign", include_self: bool = True
) -> Any:
    return paddle.put_along_axis(arr, indices, values, axis, reduce, include_self, broadcast=False)


@operator("scatter")
def scatter(x: Tensor, index: Tensor, updates: Tensor, *, overwrite: bool = True) -> Any:
    return paddle.scatter(x, index, updates, overwrite)


@operator("scatter_nd_add")
def scatter_nd_add(x: Tensor, index: Tensor, updates: Tensor) -> Any:
    return paddle.scatter_nd_add(x, index, updates)


@operator("masked_select")
def masked_select(x: Tensor, mask: Tensor) -> Any:
    return paddle.masked_select(x, mask)


@operator("nonzero")
def nonzero(condition: Tensor) -> Any:
    return paddle.nonzero(condition)


@operator("multiplex")
def multiplex(inputs: Tensors, index: Tensor) -> Any:
    return paddle.multiplex(inputs, index)


@operator("fill_diagonal")
def fill_diagonal(x: Tensor, *, value: float = 0.0, offset: int = 0, wrap: bool = False) -> Any:
    return paddle.Tensor.fill_diagonal_(x.clone(), value, offset, wrap)


@operator("fill_diagonal_tensor")
def fill_diagonal_tensor(x: Tensor, y: Tensor, *, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Any:
    wanted = paddle.diagonal(x, offset, dim1, dim2).shape
    return x.fill_diagonal_tensor(y.reshape(wanted), offset, dim1, dim2)


@operator("shard_index")
def shard_index(input: Tensor, *, index_num: int, nshards: int, shard_id: int, ignore_value: int = -1) -> Any:
    return paddle.shard_index(input, index_num, nshards, shard_id, ignore_value)


# --- order -----------------------------------------------------------------------------------------------------------


@operator("topk")
def topk(x: Tensor, k: Number, *, axis: int = -1, largest: bool = True, sorted: bool = True) -> Any:
    return tuple(paddle.topk(x, integer_of(k), axis, largest, sorted))


@operator("argsort")
def argsort(x: Tensor, *, axis: int = -1, descending: bool = False, stable: bool = False) -> Any:
    return paddle.sort(x, axis, descending, stable), paddle.argsort(x, axis, descending, stable)


@operator("argmax")
def argmax(x: Tensor, axis: Number = 0, *, keepdims: bool = False, flatten: bool = False, dtype: str = "int64") -> Any:
    return paddle.argmax(x, None if flatten else int(axis), keepdims, dtype_of(dtype, "int64"))


@operator("argmin")
def argmin(x: Tensor, axis: Number = 0, *, keepdims: bool = False, flatten: bool = False, dtype: str = "int64") -> Any:
    return paddle.argmin(x, None if flatten else int(axis), keepdims, dtype_of(dtype, "int64"))


@operator("max_with_index")
def max_with_index(x: Tensor, *, dim: int, keepdim: bool = False, flatten: bool = False) -> Any:
    return _with_index(paddle.max, paddle.argmax, x, dim, keepdim, flatten)


@operator("min_with_index")
def min_with_index(x: Tensor, *, dim: int, keepdim: bool = False, flatten: bool = False) -> Any:
    return _with_index(paddle.min, paddle.argmin, x, dim, keepdim, flatten)


def _with_index(extreme: Any, place: Any, x: Tensor, dim: int, keepdim: bool, flatten: bool) -> Any:
    axis = None if flatten else dim
    return extreme(x, axis, keepdim), place(x, axis, keepdim)


@operator("kthvalue")
def kthvalue(x: Tensor, *, k: int = 1, axis: int = -1, keepdim: bool = False) -> Any:
    return tuple(paddle.kthvalue(x, k, axis, keepdim))


@operator("mode")
def mode(x: Tensor, *, axis: int = -1, keepdim: bool = False) -> Any:
    return tuple(paddle.mode(x, axis, keepdim))


@operator("searchsorted")
def searchsorted(sorted_sequence: Tensor, values: Tensor, *, out_int32: bool = False, right: bool = False) -> Any:
    return paddle.searchsorted(sorted_sequence, values, out_int32, right)


@operator("unique")
def unique(
    x: Tensor, *, return_index: bool = False, return_inverse: bool = False, return_counts: bool = False, axis: Any = (),
    dtype: str = "int64", is_sorted: bool = True,
) -> Any:  # fmt: skip
    found, first, place, count = paddle.unique(x, True, True, True, _one(axis), dtype)
    if is_sorted or _one(axis) is not None:
        return found, first, place, count
    # In the order in which they come.
    order = paddle.argsort(first)
    back = paddle.argsort(order).astype(dtype)
    return paddle.gather(found, order), paddle.gather(first, order), back[place], paddle.gather(count, order)


@operator("unique_consecutive")
def unique_consecutive(
    x: Tensor, *, return_inverse: bool = False, return_counts: bool = False, axis: Any = (), dtype: str = "int64"
) -> Any:
    return tuple(paddle.unique_consecutive(x, True, True, _one(axis), dtype))


def _one(axis: Any) -> Any:
    return axis[0] if axis else None


@operator("bincount")
def bincount(x: Tensor, weights: Tensor | None = None, minlength: Number = 0) -> Any:
    return paddle.bincount(x, weights, int(minlength))


@operator("histogram")
def histogram(
    input: Tensor, weight: Tensor | None = None, *, bins: int = 100, min: float = 0.0, max: float = 0.0,
    density: bool = False,
) -> Any:  # fmt: skip
    return paddle.histogram(input, bins, min, max, weight, density)


# --- classes ---------------------------------------------------------------------------------------------------------


@operator("embedding", "sparse_weight_embedding")
def embedding(x: Tensor, weight: Tensor, *, padding_idx: int = -1, sparse: bool = False) -> Any:
    return F.embedding(x, weight, None if padding_idx == -1 else padding_idx)


@operator("lookup_table")
def lookup_table(w: Tensor, ids: Tensor, *, padding_idx: int = -1) -> Any:
    # The last dim of the numbers, of size 1, stands for the rows.
    return F.embedding(paddle.squeeze(ids, [-1]), w, None if padding_idx == -1 else padding_idx)


@operator("one_hot")
def one_hot(x: Tensor, num_classes: Number) -> Any:
    return F.one_hot(x, integer_of(num_classes))


@operator("sequence_mask")
def sequence_mask(x: Tensor, max_len: Number = None, *, out_dtype: str = "int64") -> Any:
    longest = None if max_len is None else integer_of(max_len)
    return F.sequence_mask(x, None if type(longest) is int and longest < 0 else longest, out_dtype)


@operator("accuracy")
def accuracy(x: Tensor, indices: Tensor, label: Tensor) -> Any:
    hits = paddle.any(paddle.equal(indices, label.reshape([-1, 1])), -1).astype("float32")
    return paddle.mean(hits), paddle.sum(hits).astype("int32"), paddle.full([], 1, "int32") * x.shape[0]


# --- of numbers that are known ---------------------------------------------------------------------------------------


@known("gather")
def known_gather(x: Known, index: Known, axis: Known | None = None) -> Known | None:
    places = index.elements()
    if x.array.ndim != 1 or any(type(n) is Sym for n in places):
        return None
    return small(np.array(x.array[index.array.astype(int)], dtype=object), x.dtype)


@known("gather_nd")
def known_gather_nd(x: Known, index: Known) -> Known | None:
    if x.array.ndim != 1 or index.array.shape != (1,) or type(index.elements()[0]) is Sym:
        return None
    return Known(np.array(x.elements()[int(index.elements()[0])], dtype=object), x.dtype)


@known("index_select")
def known_index_select(x: Known, index: Known, *, axis: int = 0) -> Known | None:
    return known_gather(x, index)
