"""Elements and slices at given indices."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from paddle._public import INTS, OtherOrder, also, public
from paddle.tensor._args import (
    InternedOps,
    axis_of,
    create_on,
    equal_shapes,
    need_tensor,
    op_error,
)
from paddle.tensor.joining import need_one_dtype, need_tensors
from umiak import ops as F
from umiak.core.context import capture_of
from umiak.core.eager import apply
from umiak.core.tensor import Tensor
from umiak.ir.sym import le
from umiak.util.errors import IndexingError

_TAKE_FIRST = F.Take(0)
_TAKE_ALONG = InternedOps(F.TakeAlong)


def _gather_along(x: Tensor, dim: int, index: Tensor, *, out: Any = None) -> Tensor:
    k = axis_of(dim, need_tensor(x, "gather").ndim, "gather")
    index = need_rank(x, need_tensor(index, "gather", "index"), "gather")
    return F.take_along(cut_to(x, index, k, "gather"), index, k)


@public(other_order=OtherOrder(_gather_along, frozenset({"dim"}), 1, INTS))
def gather(x: Tensor, index: Tensor, axis: Any = None, name: str | None = None, out: Any = None) -> Tensor:
    """Slices of ``x`` along a dim, at given indices.

    Args:
        x: tensor of rank 1 or more, of any dtype.
        index: integer tensor of rank 0 or 1, or of shape ``[n, 1]``; negative indices count from the end.
        axis: the dim, by default the first; negative counts from the end.
        out: tensor that is written with the result and returned.

    Returns:
        Tensor of x's dtype, whose size along ``axis`` is the number of indices; a 0-d index removes the dim.

    Raises:
        TypeError: x or index is not a tensor, or index is not of integers.
        IndexError: x has no such dim, or an index lies outside it.
        ValueError: index has a higher rank.

    Example:
        >>> import paddle
        >>> paddle.gather(paddle.to_tensor([10, 20, 30]), paddle.to_tensor([2, 0])).tolist()
        [30, 10]
    """
    k = axis_of(0 if axis is None else axis, need_tensor(x, "gather").ndim, "gather")
    need_tensor(index, "gather", "index")
    if index.ndim == 2 and index.shape[1] == 1:
        index = F.reshape(index, (index.shape[0],))
    if index.ndim > 1:
        raise op_error(ValueError, "gather", "an index of rank 0 or 1", f"rank {index.ndim}")
    return F.take(x, index, k)


@public
def gather_nd(x: Tensor, index: Tensor, name: str | None = None) -> Tensor:
    """Elements or slices of ``x`` at given coordinates.

    Args:
        x: tensor of any shape and dtype.
        index: integer tensor of shape ``[..., n]``; its last dim holds coordinates in the first n dims of x.

    Returns:
        Tensor of x's dtype and of shape ``index.shape[:-1] + x.shape[n:]``.

    Raises:
        TypeError: x or index is not a tensor, or index is not of integers.
        ValueError: index is 0-d, or n is above the rank of x.
        IndexError: a coordinate lies outside x.

    Example:
        >>> import paddle
        >>> x = paddle.to_tensor([[1, 2], [3, 4]])
        >>> paddle.gather_nd(x, paddle.to_tensor([[1, 0], [0, 1]])).tolist()
        [3, 2]
        >>> paddle.gather_nd(x, paddle.to_tensor([[1]])).tolist()
        [[3, 4]]
    """
    need_tensor(x, "gather_nd")
    if need_tensor(index, "gather_nd", "index").ndim == 0:
        raise op_error(ValueError, "gather_nd", "an index of rank 1 or more", "a 0-d tensor")
    return F.gather_nd(x, index, index.shape[-1])


def _index_select(x: Tensor, axis: int, index: Tensor, *, out: Any = None) -> Tensor:
    return index_select(x, index, axis)


@public(other_order=OtherOrder(_index_select, at=1, types=INTS))
def index_select(x: Tensor, index: Tensor, axis: Any = 0, name: str | None = None, *, out: Any = None) -> Tensor:
    """Slices of ``x`` along ``axis``, at given indices.

    Args:
        x: tensor of rank 1 or more, of any dtype.
        index: integer tensor of rank 1; negative indices count from the end.
        axis: the dim; negative counts from the end.
        out: tensor that is written with the result and returned.

    Returns:
        Tensor of x's dtype, whose size along ``axis`` is the number of indices.

    Raises:
        TypeError: x or index is not a tensor, or index is not of integers.
        IndexError: x has no such dim, or an index lies outside it.
        ValueError: index has a rank above 1.

    Example:
        >>> import paddle
        >>> paddle.index_select(paddle.to_tensor([[1, 2], [3, 4]]), paddle.to_tensor([1, 1]), axis=1).tolist()
        [[2, 2], [4, 4]]
    """
    k = axis_of(axis, need_tensor(x, "index_select").ndim, "index_select")
    if need_tensor(index, "index_select", "index").ndim > 1:
        raise op_error(ValueError, "index_select", "a 1-d index", f"rank {index.ndim}")
    return F.take(x, F.reshape(index, (index._count,)), k)


@public
def index_sample(x: Tensor, index: Tensor) -> Tensor:
    """Elements of each row at indices of its own: ``out[i, j] = x[i, index[i, j]]``.

    Args:
        x: tensor of shape ``[m, n]``, of any dtype.
        index: integer tensor of shape ``[m, k]``.

    Returns:
        Tensor of x's dtype and of shape ``[m, k]``.

    Raises:
        TypeError: x or index is not a tensor, or index is not of integers.
        ValueError: a rank is not 2, or x and index differ in their rows.
        IndexError: an index lies outside the row.

    Example:
        >>> import paddle
        >>> paddle.index_sample(paddle.to_tensor([[1, 2], [3, 4]]), paddle.to_tensor([[1], [0]])).tolist()
        [[2], [3]]
    """
    if need_tensor(x, "index_sample").ndim != 2 or need_tensor(index, "index_sample", "index").ndim != 2:
        raise op_error(ValueError, "index_sample", "x and index of rank 2", f"ranks {x.ndim} and {index.ndim}")
    return F.take_along(x, index, 1)


@public
def take(x: Tensor, index: Tensor, mode: str = "raise", name: str | None = None) -> Tensor:
    """Elements of ``x`` at indices into its row of all elements.

    Args:
        x: tensor of any shape and dtype, read in row-major order.
        index: integer tensor of any shape; negative indices count from the end.
        mode: treatment of an index outside: ``"raise"`` refuses it, ``"wrap"`` takes it modulo the number of elements,
            ``"clip"`` takes the nearest end, which rules out negative indices.

    Returns:
        Tensor of x's dtype and index's shape.

    Raises:
        TypeError: x or index is not a tensor, or index is not of integers.
        IndexError: an index lies outside in mode ``"raise"``; the error is a ValueError, too.
        ValueError: x has no elements, or there is no such mode.

    Example:
        >>> import paddle
        >>> x = paddle.to_tensor([[1, 2], [3, 4]])
        >>> paddle.take(x, paddle.to_tensor([3, -4])).tolist()
        [4, 1]
        >>> paddle.take(x, paddle.to_tensor([5]), mode="wrap").tolist()
        [2]
    """
    n = need_tensor(x, "take")._count
    if mode not in ("raise", "wrap", "clip"):
        raise op_error(ValueError, "take", "a mode of 'raise', 'wrap' or 'clip'", repr(mode))
    if not need_tensor(index, "take", "index").dtype.is_integer:
        raise op_error(TypeError, "take", "an index of integers", index.dtype.name)
    if index._count and not n:
        raise op_error(ValueError, "take", "a tensor with elements", x.shape)
    if mode == "wrap":
        index = F.remainder(index, n)
    elif mode == "clip":
        index = F.clip(index, 0, n - 1)
    elif _checked_by_kernels(x, index):
        try:
            return apply(_TAKE_FIRST, (F.reshape(x, (n,)), index))
        except IndexError:
            pass  # said below in this function's words
    if mode == "raise" and index._count and capture_of() is None:  # a captured call finds them when it runs
        low, high = (int(f(index, tuple(range(index.ndim))).item()) for f in (F.min, F.max))
        if low < -n or high >= n:
            raise op_error(IndexingError, "take", f"indices from {-n} to {n - 1}", low if low < -n else high)
    return F.take(F.reshape(x, (n,)), index, 0)


def alike_but(x: Tensor, index: Tensor, axis: int) -> bool:
    """Return whether dense tensors have the same sizes except along ``axis``: nothing is to be cut or repeated."""
    if type(x) is not Tensor or type(index) is not Tensor:
        return False
    a, b = x.shape, index.shape
    return a == b or (len(a) == len(b) and a[:axis] == b[:axis] and a[axis + 1 :] == b[axis + 1 :])


def _checked_by_kernels(x: Tensor, index: Tensor) -> bool:
    """Return whether a wrong index is found by the call itself: on the host, unless a function is being captured."""
    return type(x) is type(index) is Tensor and x.place.device_type == "cpu" and capture_of() is None


def broadcast_but(shape: Sequence[int], index: Tensor, axis: int) -> tuple[int, ...]:
    """``shape`` with the size of an index along ``axis``: what the index broadcasts to."""
    return tuple(m if i == axis else n for i, (n, m) in enumerate(zip(shape, index.shape, strict=True)))


def cut_to(x: Tensor, index: Tensor, axis: int, op: str) -> Tensor:
    """x cut to the sizes of index except along ``axis``."""
    sizes = list(zip(x.shape, index.shape, strict=True))
    axes = [i for i, (m, n) in enumerate(sizes) if i != axis and not equal_shapes((m,), (n,))]
    for i in axes:
        if not le(index.shape[i], x.shape[i]):
            raise op_error(ValueError, op, f"indices of at most {x.shape[i]} along axis {i}", index.shape[i])
    if not axes:
        return x
    return F.slice(x, tuple(axes), (0,) * len(axes), tuple(index.shape[i] for i in axes), (1,) * len(axes))


@public(aliases={"x": "arr", "input": "arr", "index": "indices"})
def take_along_axis(arr: Tensor, indices: Tensor, axis: Any, broadcast: bool = True, *, out: Any = None) -> Tensor:
    """Elements at indices along a dim: ``out[i, j] = arr[i, indices[i, j]]`` for ``axis=1``.

    Args:
        arr: tensor of any dtype.
        indices: integer tensor of arr's rank; negative indices count from the end.
        axis: the dim; negative counts from the end. None reads arr and indices as rows of all their elements.
        broadcast: whether sizes of 1 in the other dims are repeated; False reads only the leading part of arr that
            indices cover.
        out: tensor that is written with the result and returned.

    Returns:
        Tensor of arr's dtype and of the shape of indices, after broadcasting.

    Raises:
        TypeError: arr or indices is not a tensor, or indices are not integers.
        ValueError: ranks differ, or sizes do not broadcast.
        IndexError: arr has no such dim, or an index lies outside it.

    Example:
        >>> import paddle
        >>> x = paddle.to_tensor([[1, 2], [3, 4]])
        >>> paddle.take_along_axis(x, paddle.to_tensor([[1], [0]]), 1).tolist()
        [[2], [3]]
    """
    need_tensor(arr, "take_along_axis", "arr")
    need_tensor(indices, "take_along_axis", "indices")
    if axis is None:
        return F.take_along(F.reshape(arr, (arr._count,)), F.reshape(indices, (indices._count,)), 0)
    k = axis_of(axis, arr.ndim, "take_along_axis")
    if alike_but(arr, indices, k):
        return apply(_TAKE_ALONG[k], (arr, indices))
    if broadcast:
        from paddle.tensor.sequences import broadcast_shapes

        if indices.ndim != arr.ndim:
            raise op_error(ValueError, "take_along_axis", f"indices of rank {arr.ndim}", f"rank {indices.ndim}")
        full = broadcast_shapes(
            [1 if i == k else n for i, n in enumerate(arr.shape)],
            [1 if i == k else n for i, n in enumerate(indices.shape)],
        )
        indices = F.broadcast_to(indices, tuple(indices.shape[k] if i == k else n for i, n in enumerate(full)))
        arr = F.broadcast_to(arr, tuple(arr.shape[k] if i == k else n for i, n in enumerate(full)))
    else:
        arr = cut_to(arr, need_rank(arr, indices, "take_along_axis"), k, "take_along_axis")
    return F.take_along(arr, indices, k)


take_along_dim = also(take_along_axis, "take_along_dim")


def need_rank(x: Tensor, index: Tensor, op: str) -> Tensor:
    if index.ndim != x.ndim:
        raise op_error(ValueError, op, f"indices of rank {x.ndim}", f"rank {index.ndim}")
    return index


@public
def multiplex(inputs: Sequence[Tensor], index: Tensor, name: str | None = None) -> Tensor:
    """Rows chosen among several tensors: row i of the result is row i of ``inputs[index[i]]``.

    Args:
        inputs: a list or tuple of tensors of one dtype and shape, of rank 1 or more.
        index: integer tensor of shape ``[m]`` or ``[m, 1]``, for the first m rows.

    Returns:
        Tensor of the dtype of each input, and of its shape with m rows.

    Raises:
        TypeError: ``inputs`` is not a list or tuple of tensors, or index is not a tensor of integers.
        ValueError: shapes or dtypes do not agree, there is no tensor, or there are more indices than rows.
        IndexError: an index lies outside the list.

    Example:
        >>> import paddle
        >>> a, b = paddle.zeros([2, 2]), paddle.ones([2, 2])
        >>> paddle.multiplex([a, b], paddle.to_tensor([[1], [0]], dtype="int32")).tolist()
        [[1.0, 1.0], [0.0, 0.0]]
    """
    xs = need_one_dtype(need_tensors(inputs, "multiplex"), "multiplex")
    all_rows = F.stack(xs, 0)
    if xs[0].ndim == 0:
        raise op_error(ValueError, "multiplex", "tensors of rank 1 or more", "0-d ones")
    if need_tensor(index, "multiplex", "index")._count > xs[0].shape[0]:
        raise op_error(ValueError, "multiplex", f"at most {xs[0].shape[0]} indices, one for each row", index.shape)
    which = F.reshape(index, (index._count,))
    rows = create_on(which.place, F.iota, 0, 1, which.dtype, index._count)
    return F.index_get(all_rows, [which, rows])


@public(aliases={"x": "input"})
def shard_index(input: Tensor, index_num: int, nshards: int, shard_id: int, ignore_value: int = -1) -> Tensor:
    """Global indices as indices within one of several equal shards.

    Shard ``i`` holds the indices from ``i * size`` up to, not including, ``(i + 1) * size``, where size is ``index_num
    / nshards``, rounded up.

    Args:
        input: integer tensor of any shape.
        index_num: the number of indices that there are.
        nshards: the number of shards.
        shard_id: the shard, from 0.
        ignore_value: takes the place of indices that lie in other shards.

    Returns:
        Tensor of input's shape and dtype.

    Raises:
        TypeError: input is not a tensor of integers.
        ValueError: there are no shards, or ``shard_id`` is negative or not below ``nshards``.

    Example:
        >>> import paddle
        >>> x = paddle.to_tensor([1, 16])
        >>> paddle.shard_index(x, 20, 2, 0).tolist(), paddle.shard_index(x, 20, 2, 1).tolist()
        ([1, -1], [-1, 6])
    """
    need_tensor(input, "shard_index", "input")
    if not input.dtype.is_integer:
        raise op_error(TypeError, "shard_index", "a tensor of integers", input.dtype.name)
    if nshards < 1:
        raise op_error(ValueError, "shard_index", "at least one shard", nshards)
    if not 0 <= shard_id < nshards:
        raise op_error(ValueError, "shard_index", f"a shard_id from 0 to {nshards - 1}", shard_id)
    size = (index_num + nshards - 1) // nshards
    return F.where(F.eq(F.floor_div(input, size), shard_id), F.remainder(input, size), ignore_value)
