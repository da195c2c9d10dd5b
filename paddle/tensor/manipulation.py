"""Moving elements: shapes, joining and splitting, repeating, padding, gathering and scattering."""

from __future__ import annotations

import builtins
import itertools
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from paddle._public import also, inplace, public
from paddle.tensor._args import (
    axes_of,
    axis_of,
    dtype_of,
    integer,
    integers,
    made_on,
    need_tensor,
    number,
    op_error,
    shape_of,
    tensor,
    write_part,
)
from paddle.tensor._args import cast as _cast_to
from umiak import ops as F
from umiak.core import dtype as dt
from umiak.core.array import from_numpy as _from_numpy
from umiak.core.array import to_numpy as _to_numpy
from umiak.core.context import current, no_grad_guard
from umiak.core.dispatch import apply, apply1
from umiak.core.tape import python_node
from umiak.core.tensor import Tensor
from umiak.ir.tracer import alias

_RESHAPE = F.Reshape()
_SWAP = F.Permute((1, 0))
_FIRST = F.Slice((0,))
_PERMUTE: dict[Any, Any] = {}
_CAST: dict[Any, Any] = {}


# --- shapes --------------------------------------------------------------------------------------------------------


def _resolve(x: Tensor, shape: Any, op: str) -> tuple[int, ...]:
    """A target shape without -1 (what is left) and 0 (the size of x at that place)."""
    sizes = list(shape_of(shape, op))
    free = -1
    known = 1
    for i, n in enumerate(sizes):
        if n == 0 and i < x.ndim:
            sizes[i] = n = x.shape[i]
        if n == -1:
            if free >= 0:
                raise op_error(ValueError, op, "at most one size of -1", list(sizes))
            free = i
        elif n < -1:
            raise op_error(ValueError, op, "sizes of -1 or more", list(sizes))
        else:
            known *= n
    if free >= 0:
        if known == 0 or x.size % known:
            if not (known == 0 and x.size == 0):
                raise op_error(ValueError, op, f"a shape for {x.size} elements", list(sizes))
            sizes[free] = 0
        else:
            sizes[free] = x.size // known
    return tuple(sizes)


@public(aliases={"size": "shape"}, ints_from=1)
def reshape(x: Tensor, shape: Any, name: str | None = None) -> Tensor:
    """The elements of ``x`` under another shape; a view where strides allow.

    Args:
        x: a tensor.
        shape: sizes; one may be -1 for what is left, and 0 means the size of x at that place. Also as separate ints.

    Raises ValueError where the number of elements differs.

    Example:
        >>> import paddle
        >>> paddle.arange(6).reshape([2, -1]).shape
        [2, 3]
    """
    if not isinstance(x, Tensor):
        need_tensor(x, "reshape")
    if type(shape) is list:
        shape = tuple(shape)
    elif type(shape) is not tuple:
        shape = shape_of(shape, "reshape")
    for n in shape:
        if type(n) is not int or n < 1:
            shape = _resolve(x, shape, "reshape")
            break
    return apply(_RESHAPE, (x,), (shape,))


reshape_ = inplace(reshape, reshapes=True)


@public
def transpose(x: Tensor, perm: Any = None, *more: Any, **dims: Any) -> Tensor:
    """``x`` with its dims in the order ``perm``; a view. Two ints swap two dims, also as ``dim0`` and ``dim1``.

    Raises ValueError unless ``perm`` names every dim once.

    Example:
        >>> import paddle
        >>> paddle.ones([2, 3, 4]).transpose([2, 0, 1]).shape
        [4, 2, 3]
    """
    if not isinstance(x, Tensor):
        need_tensor(x, "transpose")
    if dims:
        dims.pop("name", None)
        if unknown := dims.keys() - {"dim0", "dim1"}:
            raise TypeError(f"transpose() got an unexpected keyword argument {min(unknown)!r}")
        if dims:
            return apply1(_swap(x, _two(perm, more, dims.get("dim0"), dims.get("dim1")), "transpose"), x)
    if perm is None:
        raise TypeError("transpose() missing required argument 'perm'")
    if more and more[-1] is not None:
        if len(more) == 1:
            return apply1(_swap(x, [perm, *more], "transpose"), x)
        perm = (perm, *more)
    elif type(perm) is list:
        perm = tuple(perm)
    try:
        op = _PERMUTE[perm]
    except (KeyError, TypeError):
        op = _permutation(x, perm)
    return apply1(op, x)


transpose_ = inplace(transpose, reshapes=True)


def _permutation(x: Tensor, perm: Any) -> Any:
    order = integers(perm, "transpose", "perm")
    if sorted(p + x.ndim if p < 0 else p for p in order) != list(builtins.range(x.ndim)):
        raise op_error(ValueError, "transpose", f"a permutation of {x.ndim} dims", list(order))
    op = F.Permute(tuple(p + x.ndim if p < 0 else p for p in order))
    if all(p >= 0 for p in order):
        _PERMUTE[order] = op
    return op


@public(aliases={"x": "input"}, ints_from=1)
def permute(input: Tensor, dims: Any) -> Tensor:
    """``input`` with its dims in the order ``dims``, a sequence or separate ints; a view.

    Example:
        >>> import paddle
        >>> paddle.permute(paddle.ones([2, 3]), 1, 0).shape
        [3, 2]
    """
    return transpose(need_tensor(input, "permute", "input"), dims)


def _two(first: Any, more: tuple, at0: Any, at1: Any) -> list:
    """Dims by position, and those that keywords name at their places."""
    given = [v for v in (first, *more) if v is not None]
    for place, at in enumerate((at0, at1)):
        if at is not None:
            given.insert(place, at)
    return given


def _swap(x: Tensor, dims: Sequence[Any], op: str) -> Any:
    """The permutation that swaps two dims."""
    a, b = axis_of(dims[0], x.ndim, op), axis_of(dims[1], x.ndim, op)
    order = list(builtins.range(x.ndim))
    order[a], order[b] = b, a
    return F.Permute(tuple(order))


@public
def swapaxes(
    x: Tensor,
    perm: Any = None,
    *more: Any,
    axis0: Any = None,
    axis1: Any = None,
    dim0: Any = None,
    dim1: Any = None,
    name: str | None = None,
) -> Tensor:
    """``x`` with two dims swapped; a view. One sequence is a permutation, as for ``transpose``.

    Example:
        >>> import paddle
        >>> paddle.swapaxes(paddle.ones([2, 3, 4]), 0, 2).shape
        [4, 3, 2]
    """
    need_tensor(x, "swapaxes")
    given = _two(perm, more, dim0 if axis0 is None else axis0, dim1 if axis1 is None else axis1)
    if len(given) == 1:
        return transpose(x, given[0])
    if len(given) < 2:
        raise TypeError("swapaxes() requires a permutation or two dims")
    return apply1(_swap(x, given, "swapaxes"), x) if x.ndim else x


swapaxes_ = inplace(swapaxes, "Tensor", reshapes=True)


swapdims = also(swapaxes, "swapdims")


@public
def moveaxis(x: Tensor, source: Any, destination: Any, name: str | None = None) -> Tensor:
    """Dims moved from ``source`` to ``destination``; the others keep their order. A view.

    Example:
        >>> import paddle
        >>> paddle.moveaxis(paddle.ones([2, 3, 4]), 0, 2).shape
        [3, 4, 2]
    """
    ndim = need_tensor(x, "moveaxis").ndim
    src = [axis_of(a, ndim, "moveaxis") for a in integers(source, "moveaxis", "source")]
    dst = [axis_of(a, ndim, "moveaxis") for a in integers(destination, "moveaxis", "destination")]
    if len(src) != len(dst) or len(set(src)) != len(src) or len(set(dst)) != len(dst):
        raise op_error(
            ValueError, "moveaxis", "as many distinct sources as destinations", f"{source} and {destination}"
        )
    order = [a for a in builtins.range(ndim) if a not in src]
    for d, s in sorted(zip(dst, src, strict=True)):
        order.insert(d, s)
    return apply1(F.Permute(tuple(order)), x)


@public(aliases={"x": "input"})
def t(input: Tensor, name: str | None = None) -> Tensor:
    """The transpose of a matrix; tensors of rank 0 and 1 as they are.

    Example:
        >>> import paddle
        >>> paddle.t(paddle.ones([2, 3])).shape
        [3, 2]
    """
    if need_tensor(input, "t", "input").ndim > 2:
        raise op_error(ValueError, "t", "a tensor of rank 2 or less", f"rank {input.ndim}", "Use transpose.")
    return input if input.ndim < 2 else apply1(_SWAP, input)


t_ = inplace(t, reshapes=True)


@public("paddle paddle.tensor paddle.linalg Tensor")
def matrix_transpose(x: Tensor, name: str | None = None) -> Tensor:
    """The last two dims swapped; a view.

    Example:
        >>> import paddle
        >>> paddle.matrix_transpose(paddle.ones([2, 3, 4])).shape
        [2, 4, 3]
    """
    if need_tensor(x, "matrix_transpose").ndim < 2:
        raise op_error(ValueError, "matrix_transpose", "a tensor of rank 2 or more", f"rank {x.ndim}")
    return apply1(_swap(x, (-2, -1), "matrix_transpose"), x)


@public(aliases={"start_dim": "start_axis", "end_dim": "stop_axis"})
def flatten(x: Tensor, start_axis: int = 0, stop_axis: int = -1, name: str | None = None) -> Tensor:
    """Dims from ``start_axis`` to ``stop_axis``, both included, as one; a view where strides allow.

    Example:
        >>> import paddle
        >>> paddle.flatten(paddle.ones([2, 3, 4]), 1).shape
        [2, 12]
    """
    if need_tensor(x, "flatten").ndim == 0:
        return F.reshape(x, (1,))
    a, b = axis_of(start_axis, x.ndim, "flatten"), axis_of(stop_axis, x.ndim, "flatten")
    if a > b:
        raise op_error(ValueError, "flatten", "a start_axis not above stop_axis", (start_axis, stop_axis))
    s = x.shape
    return F.reshape(x, (*s[:a], math.prod(s[a : b + 1]), *s[b + 1 :]))


flatten_ = inplace(flatten, reshapes=True)


@public(aliases={"x": "input"})
def ravel(input: Tensor) -> Tensor:
    """All elements in a row; a view where strides allow.

    Example:
        >>> import paddle
        >>> paddle.ravel(paddle.ones([2, 3])).shape
        [6]
    """
    return F.reshape(need_tensor(input, "ravel", "input"), (input.size,))


@public(aliases={"sizes": "shape"})
def unflatten(x: Tensor, axis: Any, shape: Any, name: str | None = None) -> Tensor:
    """One dim as several, of sizes ``shape``, of which one may be -1.

    Example:
        >>> import paddle
        >>> paddle.unflatten(paddle.ones([2, 6]), 1, [3, -1]).shape
        [2, 3, 2]
    """
    k = axis_of(axis, need_tensor(x, "unflatten").ndim, "unflatten")
    part = list(shape_of(shape, "unflatten"))
    if -1 in part:
        rest = -math.prod(part)
        if rest <= 0 or x.shape[k] % rest:
            raise op_error(ValueError, "unflatten", f"sizes whose product is {x.shape[k]}", part)
        part[part.index(-1)] = x.shape[k] // rest
    if math.prod(part) != x.shape[k]:
        raise op_error(ValueError, "unflatten", f"sizes whose product is {x.shape[k]}", part)
    return F.reshape(x, (*x.shape[:k], *part, *x.shape[k + 1 :]))


@public
def squeeze(x: Tensor, axis: Any = None, name: str | None = None) -> Tensor:
    """``x`` without dims of size 1: those in ``axis`` (others stay), or all; a view.

    Example:
        >>> import paddle
        >>> paddle.squeeze(paddle.ones([1, 2, 1]), 0).shape
        [2, 1]
    """
    need_tensor(x, "squeeze")
    s = x.shape
    if axis is None:
        axes = tuple([i for i, n in enumerate(s) if n == 1])
    else:
        axes = tuple([a for a in axes_of(axis, len(s), "squeeze") if s[a] == 1]) if s else ()
    if axes:
        return F.squeeze(x, axes)
    # Nothing to take away, but another tensor all the same.
    return apply(_FIRST, (x,), ((0,), (s[0],), (1,))) if s else x


squeeze_ = inplace(squeeze, reshapes=True)


@public
def unsqueeze(x: Tensor, axis: Any, name: str | None = None) -> Tensor:
    """Dims of size 1 inserted one after another, so that each stands at its place of ``axis``; a view.

    Example:
        >>> import paddle
        >>> paddle.unsqueeze(paddle.ones([2]), [0, 2]).shape
        [1, 2, 1]
    """
    need_tensor(x, "unsqueeze")
    n = x.ndim
    if type(axis) is int and -n - 1 <= axis <= n:
        return F.unsqueeze(x, (axis + n + 1 if axis < 0 else axis,))
    s = list(x.shape)
    for a in integers(axis, "unsqueeze", "axis"):
        s.insert(axis_of(a, len(s) + 1, "unsqueeze"), 1)
    return F.reshape(x, tuple(s))


unsqueeze_ = inplace(unsqueeze, reshapes=True)


def _expansion(x: Tensor, shape: Any, op: str) -> tuple[int, ...]:
    """A target shape in which -1 means the size of x."""
    sizes = list(shape_of(shape, op))
    lead = len(sizes) - x.ndim
    for i, n in enumerate(sizes):
        if n == -1:
            if i < lead:
                raise op_error(ValueError, op, "sizes of 0 or more for new dims", sizes)
            sizes[i] = x.shape[i - lead]
    return tuple(sizes)


@public(aliases={"size": "shape"}, ints_from=1)
def expand(x: Tensor, shape: Any, name: str | None = None) -> Tensor:
    """``x`` repeated along dims of size 1 and new leading dims; -1 keeps a size. A view that must not be written to.

    Example:
        >>> import paddle
        >>> paddle.ones([3, 1]).expand([2, -1, 4]).shape
        [2, 3, 4]
    """
    return F.broadcast_to(need_tensor(x, "expand"), _expansion(x, shape, "expand"))


@public(aliases={"size": "shape"})
def broadcast_to(x: Tensor, shape: Any, name: str | None = None) -> Tensor:
    """The same as :func:`expand`.

    Example:
        >>> import paddle
        >>> paddle.broadcast_to(paddle.ones([3]), [2, 3]).shape
        [2, 3]
    """
    return F.broadcast_to(need_tensor(x, "broadcast_to"), _expansion(x, shape, "broadcast_to"))


@public
def expand_as(x: Tensor, y: Tensor, name: str | None = None) -> Tensor:
    """``x`` repeated to the shape of ``y``.

    Example:
        >>> import paddle
        >>> paddle.expand_as(paddle.ones([3]), paddle.ones([2, 3])).shape
        [2, 3]
    """
    return F.broadcast_to(need_tensor(x, "expand_as"), tuple(need_tensor(y, "expand_as", "y").shape))


@public(aliases={"x": "input"})
def broadcast_tensors(input: Sequence[Tensor], name: str | None = None) -> list[Tensor]:
    """Tensors repeated to the shape that all of them broadcast to.

    Example:
        >>> import paddle
        >>> [x.shape for x in paddle.broadcast_tensors([paddle.ones([3]), paddle.ones([2, 1])])]
        [[2, 3], [2, 3]]
    """
    from paddle.tensor.math import broadcast_shapes

    if not input:
        raise op_error(ValueError, "broadcast_tensors", "at least one tensor", "none")
    shape = tuple(broadcast_shapes(*(need_tensor(x, "broadcast_tensors", "input").shape for x in input)))
    return [F.broadcast_to(x, shape) for x in input]


def _at_least(n: int, inputs: tuple) -> Any:
    def raise_rank(x: Any) -> Tensor:
        x = tensor(x)
        if x.ndim >= n:
            return x
        s = tuple(x.shape)
        if n == 3:
            s = (1, *(s or (1,)), 1) if len(s) < 2 else (*s, 1)
        return F.reshape(x, (1,) * (n - len(s)) + s)

    given = inputs[0] if len(inputs) == 1 and isinstance(inputs[0], (list, tuple)) else inputs
    out = [raise_rank(x) for x in given]
    return out[0] if len(out) == 1 else out


@public
def atleast_1d(*inputs: Any, name: str | None = None) -> Any:
    """``x`` of rank 1 or more; several tensors give a list.

    Example:
        >>> import paddle
        >>> paddle.atleast_1d(paddle.to_tensor(3.0)).ndim
        1
    """
    return _at_least(1, inputs)


@public
def atleast_2d(*inputs: Any, name: str | None = None) -> Any:
    """``x`` of rank 2 or more, new dims coming first; several tensors give a list.

    Example:
        >>> import paddle
        >>> paddle.atleast_2d(paddle.to_tensor(3.0)).ndim
        2
    """
    return _at_least(2, inputs)


@public
def atleast_3d(*inputs: Any, name: str | None = None) -> Any:
    """``x`` of rank 3 or more; of rank 1 in the middle, of rank 2 in front; several tensors give a list.

    Example:
        >>> import paddle
        >>> paddle.atleast_3d(paddle.to_tensor(3.0)).ndim
        3
    """
    return _at_least(3, inputs)


# --- views of memory -----------------------------------------------------------------------------------------------


@public(aliases={"size": "shape_or_dtype"}, ints_from=1)
def view(x: Tensor, shape_or_dtype: Any, name: str | None = None) -> Tensor:
    """The same memory under another shape, or its bits as another dtype.

    Of another width, the last dim shrinks or grows with the elements. Raises ValueError where it cannot be a view.

    Example:
        >>> import paddle
        >>> paddle.ones([4]).view([2, 2]).shape
        [2, 2]
        >>> paddle.ones([4]).view("uint8").shape
        [16]
    """
    need_tensor(x, "view")
    if isinstance(shape_or_dtype, (list, tuple, int, Tensor)) and not isinstance(shape_or_dtype, bool):
        out = reshape(x, shape_or_dtype)
        if out.storage is not x.storage:
            raise op_error(
                ValueError,
                "view",
                "a shape that fits the strides",
                f"{list(out.shape)} for strides {x.strides}",
                "Use reshape.",
            )
        return out
    return bits(x, dtype_of(shape_or_dtype))


def bits(x: Tensor, d: Any) -> Tensor:
    """The memory of ``x`` read as another dtype; no gradient passes."""
    if d is x.dtype:
        return x
    if d.is_packed or x.dtype.is_packed:
        raise op_error(TypeError, "view", "dtypes of whole bytes", f"{x.dtype.name} as {d.name}", "Cast instead.")
    if x.ndim == 0 and d.itemsize != x.dtype.itemsize:
        raise op_error(ValueError, "view", "a rank of 1 or more to change the width of elements", "a 0-d tensor")
    try:
        return _from_numpy(_to_numpy(x.detach()).view(d.numpy), x.place, False)
    except ValueError as error:
        raise op_error(
            ValueError, "view", f"a last dim that fits elements of {d.itemsize} bytes", f"{x.shape} of {x.dtype.name}"
        ) from error


@public
def view_as(x: Tensor, other: Tensor, name: str | None = None) -> Tensor:
    """The same memory under the shape of ``other``.

    Example:
        >>> import paddle
        >>> paddle.ones([4]).view_as(paddle.ones([2, 2])).shape
        [2, 2]
    """
    return view(x, list(need_tensor(other, "view_as", "other").shape))


@public(usual=False)
def as_strided(x: Tensor, shape: Any, stride: Any, offset: int = 0, name: str | None = None) -> Tensor:
    """Elements of the memory of ``x`` at given strides and offset (in elements).

    Raises ValueError where that would leave the memory. Elements may occur several times; gradients add up.

    Example:
        >>> import paddle
        >>> paddle.as_strided(paddle.arange(4), [2, 2], [1, 1]).tolist()
        [[0, 1], [1, 2]]
    """
    need_tensor(x, "as_strided")
    sizes, steps = shape_of(shape, "as_strided"), integers(stride, "as_strided", "stride")
    if len(sizes) != len(steps):
        raise op_error(ValueError, "as_strided", "a stride for each size", f"{list(sizes)} and {list(steps)}")
    low = offset + builtins.sum((n - 1) * s for n, s in zip(sizes, steps, strict=True) if s < 0)
    high = offset + builtins.sum((n - 1) * s for n, s in zip(sizes, steps, strict=True) if s > 0)
    if math.prod(sizes) and (low < 0 or high >= x.size):
        raise op_error(ValueError, "as_strided", f"places within {x.size} elements", f"{low} to {high}")
    flat = F.reshape(x, (x.size,))
    at = made_on(x.place, F.full, offset, dt.int64, sizes)
    for i, (n, s) in enumerate(zip(sizes, steps, strict=True)):
        along = made_on(x.place, F.iota, 0, s, dt.int64, n)
        at = F.add(at, F.reshape(along, tuple(n if k == i else 1 for k in builtins.range(len(sizes)))))
    return F.take(flat, at, 0)


@public(aliases={"dimension": "axis"})
def unfold(x: Tensor, axis: int, size: int, step: int, name: str | None = None) -> Tensor:
    """Windows of ``size`` elements every ``step`` along ``axis``; a new last dim runs inside a window. A view.

    Example:
        >>> import paddle
        >>> paddle.arange(5).unfold(0, 2, 2).tolist()
        [[0, 1], [2, 3]]
    """
    return F.unfold(
        need_tensor(x, "unfold"),
        axis_of(axis, x.ndim, "unfold"),
        integer(size, "unfold", "size"),
        integer(step, "unfold", "step"),
    )


@public
def as_complex(x: Tensor, name: str | None = None) -> Tensor:
    """Pairs in the last dim, of size 2, as complex numbers; a view.

    Example:
        >>> import paddle
        >>> paddle.as_complex(paddle.to_tensor([[1.0, 2.0]])).tolist()
        [(1+2j)]
    """
    return F.as_complex(need_tensor(x, "as_complex"))


@public
def as_real(x: Tensor, name: str | None = None) -> Tensor:
    """Complex numbers as pairs in a new last dim; a view.

    Example:
        >>> import paddle
        >>> paddle.as_real(paddle.to_tensor([1 + 2j])).tolist()
        [[1.0, 2.0]]
    """
    return F.as_real(need_tensor(x, "as_real"))


@public(aliases={"x": "input"})
def view_as_complex(input: Tensor) -> Tensor:
    """The same as :func:`as_complex`."""
    return F.as_complex(need_tensor(input, "view_as_complex", "input"))


@public(aliases={"x": "input"})
def view_as_real(input: Tensor) -> Tensor:
    """The same as :func:`as_real`."""
    return F.as_real(need_tensor(input, "view_as_real", "input"))


@public(usual=False)
def cast(x: Tensor, dtype: Any) -> Tensor:
    """A copy of ``x`` in another dtype, or in its own.

    Example:
        >>> import paddle
        >>> paddle.cast(paddle.to_tensor([1.7]), "int32").tolist()
        [1]
    """
    if not isinstance(x, Tensor):
        need_tensor(x, "cast")
    return apply1(_CAST.get(dtype) or cast_op(dtype), x)


def cast_op(dtype: Any) -> Any:
    """The op that casts to a dtype."""
    if dtype is None:
        raise op_error(TypeError, "cast", "a dtype", "None")
    op = _CAST.get(dtype)
    if op is None:
        op = _CAST[dtype] = F.Cast(dtype_of(dtype))
    return op


cast_ = inplace(cast)


# --- joining -------------------------------------------------------------------------------------------------------


def _list(x: Any, op: str) -> list:
    if isinstance(x, Tensor):
        return unbind(x, 0) if x.ndim else [x]
    if not isinstance(x, (list, tuple)):
        raise op_error(TypeError, op, "a list or tuple of tensors", type(x).__name__)
    if not x:
        raise op_error(ValueError, op, "at least one tensor", "none")
    return x if isinstance(x, list) else list(x)


def _together(xs: list, op: str) -> list:
    for v in xs:
        if not isinstance(v, Tensor):
            need_tensor(v, op, "each of x")
        if v.dtype is not xs[0].dtype and not current().amp()[0]:  # mixed precision casts them
            raise op_error(
                ValueError,
                op,
                "tensors of one dtype",
                f"{xs[0].dtype.name} and {v.dtype.name}",
                "Cast one of them first.",
            )
    return xs


_CONCAT: dict[int, Any] = {}
_STACK: dict[int, Any] = {}


@public(aliases={"tensors": "x"})
def concat(x: Sequence[Tensor], axis: Any = 0, name: str | None = None, *, out: Tensor | None = None) -> Tensor:
    """Tensors joined along a dim that they have.

    Args:
        x: a list or tuple of tensors of one dtype, whose shapes agree but for ``axis``.
        axis: along which.
        out: a tensor that is written instead.

    Raises ValueError where shapes or dtypes do not agree.

    Example:
        >>> import paddle
        >>> paddle.concat([paddle.ones([2, 3]), paddle.zeros([1, 3])]).shape
        [3, 3]
    """
    xs = _together(_list(x, "concat"), "concat")
    n = xs[0].ndim
    if type(axis) is not int or axis < 0 or axis >= n:
        axis = axis_of(axis, n, "concat")
    op = _CONCAT.get(axis)
    if op is None:
        op = _CONCAT[axis] = F.Concat(axis)
    return apply(op, tuple(xs))


cat = also(concat, "cat", "paddle paddle.tensor")
concatenate = also(concat, "concatenate", "paddle paddle.tensor")


@public(aliases={"tensors": "x"})
def stack(x: Sequence[Tensor], axis: Any = 0, name: str | None = None, *, out: Tensor | None = None) -> Tensor:
    """Tensors of one shape joined along a new dim, which stands at ``axis`` of the result.

    Example:
        >>> import paddle
        >>> paddle.stack([paddle.ones([2]), paddle.zeros([2])], axis=1).tolist()
        [[1.0, 0.0], [1.0, 0.0]]
    """
    xs = _together(_list(x, "stack"), "stack")
    n = xs[0].ndim + 1
    if type(axis) is not int or axis < 0 or axis >= n:
        axis = axis_of(axis, n, "stack")
    op = _STACK.get(axis)
    if op is None:
        op = _STACK[axis] = F.Stack(axis)
    return apply(op, tuple(xs))


@public("paddle paddle.tensor", usual=False)
def hstack(x: Sequence[Tensor], name: str | None = None) -> Tensor:
    """Tensors side by side: along the second dim, of rank 1 along the first.

    Example:
        >>> import paddle
        >>> paddle.hstack([paddle.ones([2]), paddle.zeros([1])]).shape
        [3]
    """
    xs = [atleast_1d(v) for v in x]
    return concat(xs, 0 if xs[0].ndim == 1 else 1)


@public("paddle paddle.tensor", usual=False)
def vstack(x: Sequence[Tensor], name: str | None = None) -> Tensor:
    """Tensors on top of each other: along the first dim, those of rank 1 as rows.

    Example:
        >>> import paddle
        >>> paddle.vstack([paddle.ones([2]), paddle.zeros([2])]).shape
        [2, 2]
    """
    return concat([atleast_2d(v) for v in x], 0)


@public("paddle paddle.tensor", usual=False)
def row_stack(x: Sequence[Tensor], name: str | None = None) -> Tensor:
    """The same as :func:`vstack`."""
    return vstack(x)


@public("paddle paddle.tensor", usual=False)
def dstack(x: Sequence[Tensor], name: str | None = None) -> Tensor:
    """Tensors joined along the third dim, after raising them to rank 3.

    Example:
        >>> import paddle
        >>> paddle.dstack([paddle.ones([2]), paddle.zeros([2])]).shape
        [1, 2, 2]
    """
    return concat([atleast_3d(v) for v in x], 2)


@public("paddle paddle.tensor", usual=False)
def column_stack(x: Sequence[Tensor], name: str | None = None) -> Tensor:
    """Tensors side by side, those of rank 0 and 1 as columns.

    Example:
        >>> import paddle
        >>> paddle.column_stack([paddle.ones([2]), paddle.zeros([2])]).shape
        [2, 2]
    """
    return concat([F.reshape(v, (v.size, 1)) if v.ndim < 2 else v for v in x], 1)


@public
def block_diag(inputs: Sequence[Tensor], name: str | None = None) -> Tensor:
    """A matrix with the given matrices on its diagonal; tensors of rank 0 and 1 count as rows.

    Example:
        >>> import paddle
        >>> paddle.block_diag([paddle.ones([1, 2]), paddle.ones([1])]).shape
        [2, 3]
    """
    xs = _together([atleast_2d(v) for v in _list(inputs, "block_diag")], "block_diag")
    for x in xs:
        if x.ndim != 2:
            raise op_error(ValueError, "block_diag", "tensors of rank 2 or less", f"rank {x.ndim}")
    width = builtins.sum(x.shape[1] for x in xs)
    rows, left = [], 0
    for x in xs:
        rows.append(F.pad(x, 0, axes=(1,), lo=(left,), hi=(width - left - x.shape[1],)))
        left += x.shape[1]
    return F.concat(rows, 0)


# --- splitting -----------------------------------------------------------------------------------------------------


def _sections(n: int, parts: Any, op: str) -> tuple[int, ...]:
    """Sizes of the parts of a dim of size ``n``, from their number or from sizes of which one may be -1."""
    if isinstance(parts, (list, tuple)) or (isinstance(parts, Tensor) and parts.ndim):
        sizes = list(integers(parts, op, "sizes"))
        if sizes.count(-1) > 1:
            raise op_error(ValueError, op, "at most one size of -1", sizes)
        if -1 in sizes:
            sizes[sizes.index(-1)] = n - builtins.sum(sizes) - 1
        if builtins.sum(sizes) != n or builtins.any(s < 0 for s in sizes):
            raise op_error(
                ValueError, op, f"sizes that add up to {n}", parts if isinstance(parts, (list, tuple)) else sizes
            )
        return tuple(sizes)
    count = integer(parts, op, "the number of parts")
    if count < 1 or n % count:
        raise op_error(ValueError, op, f"a number of parts that divides {n}", count)
    return (n // count,) * count


@public(usual=False)
def split(x: Tensor, num_or_sections: Any, axis: Any = 0, name: str | None = None) -> list[Tensor]:
    """Consecutive parts along ``axis``, as a list.

    Args:
        x: a tensor.
        num_or_sections: the number of equal parts, or a list of sizes, of which one may be -1 for what is left.
        axis: along which.

    Raises ValueError where the sizes do not fit.

    Example:
        >>> import paddle
        >>> [p.shape for p in paddle.split(paddle.ones([5, 2]), [2, -1])]
        [[2, 2], [3, 2]]
    """
    k = axis_of(axis, need_tensor(x, "split").ndim, "split")
    return _parts(x, k, _sections(x.shape[k], num_or_sections, "split"))


@public
def chunk(x: Tensor, chunks: int, axis: Any = 0, name: str | None = None) -> list[Tensor]:
    """``chunks`` equal parts along ``axis``, as a list.

    Example:
        >>> import paddle
        >>> len(paddle.chunk(paddle.ones([4, 2]), 2))
        2
    """
    k = axis_of(axis, need_tensor(x, "chunk").ndim, "chunk")
    return _parts(x, k, _sections(x.shape[k], integer(chunks, "chunk", "chunks"), "chunk"))


@public(usual=False)
def tensor_split(x: Tensor, num_or_indices: Any, axis: Any = 0, name: str | None = None) -> list[Tensor]:
    """Parts along ``axis``: as equal as may be for a number, cut at the given places for a list; the latter are views.

    Example:
        >>> import paddle
        >>> [p.shape for p in paddle.tensor_split(paddle.ones([5]), 2)]
        [[3], [2]]
    """
    return _cut(x, num_or_indices, axis, "tensor_split")


# Outputs that one call may have; more parts than that are taken one by one.
MOST_OUTPUTS = 64


def _parts(x: Tensor, axis: int, sections: tuple[int, ...]) -> list[Tensor]:
    """``x`` cut along ``axis`` into parts of these sizes; each has memory of its own."""
    if len(sections) <= MOST_OUTPUTS:
        return list(F.split(x, axis, sections))
    ends = itertools.accumulate(sections)
    return [F.copy(F.slice(x, (axis,), (end - n,), (n,), (1,))) for n, end in zip(sections, ends, strict=True)]


def _cut(x: Tensor, num_or_indices: Any, axis: Any, op: str) -> list[Tensor]:
    k = axis_of(axis, need_tensor(x, op).ndim, op)
    n = x.shape[k]
    if isinstance(num_or_indices, (list, tuple)):
        places = [
            builtins.min(builtins.max(i + n if i < 0 else i, 0), n) for i in integers(num_or_indices, op, "indices")
        ]
        starts, ends = [0, *places], [*places, n]
    else:
        count = integer(num_or_indices, op, "the number of parts")
        if count < 1:
            raise op_error(ValueError, op, "at least one part", count)
        size, longer = divmod(n, count)
        ends = [size * (i + 1) + builtins.min(i + 1, longer) for i in builtins.range(count)]
        starts = [0, *ends[:-1]]
        return _parts(x, k, tuple(b - a for a, b in zip(starts, ends, strict=True)))
    sizes = [builtins.max(b - a, 0) for a, b in zip(starts, ends, strict=True)]
    return [F.slice(x, (k,), (builtins.min(a, n),), (s,), (1,)) for a, s in zip(starts, sizes, strict=True)]


@public
def hsplit(x: Tensor, num_or_indices: Any, name: str | None = None) -> list[Tensor]:
    """Parts along the second dim (of rank 1, the first): equal ones for a number, cut at the given places for a list.

    Example:
        >>> import paddle
        >>> len(paddle.hsplit(paddle.ones([2, 2, 2]), 2))
        2
    """
    return _split_along(1, 1, x, num_or_indices, "hsplit")


@public
def vsplit(x: Tensor, num_or_indices: Any, name: str | None = None) -> list[Tensor]:
    """Parts along the first dim: equal ones for a number, cut at the given places for a list.

    Example:
        >>> import paddle
        >>> len(paddle.vsplit(paddle.ones([2, 2, 2]), 2))
        2
    """
    return _split_along(0, 2, x, num_or_indices, "vsplit")


@public
def dsplit(x: Tensor, num_or_indices: Any, name: str | None = None) -> list[Tensor]:
    """Parts along the third dim: equal ones for a number, cut at the given places for a list.

    Example:
        >>> import paddle
        >>> len(paddle.dsplit(paddle.ones([2, 2, 2]), 2))
        2
    """
    return _split_along(2, 3, x, num_or_indices, "dsplit")


def _split_along(axis: int, rank: int, x: Tensor, num_or_indices: Any, op: str) -> list[Tensor]:
    if need_tensor(x, op).ndim < rank:
        raise op_error(ValueError, op, f"a tensor of rank {rank} or more", f"rank {x.ndim}")
    k = builtins.min(axis, x.ndim - 1)
    if isinstance(num_or_indices, int) and x.shape[k] % num_or_indices:
        raise op_error(ValueError, op, f"a number of parts that divides {x.shape[k]}", num_or_indices)
    return _cut(x, num_or_indices, k, op)


@public(aliases={"x": "input"})
def unbind(input: Tensor, axis: Any = 0) -> list[Tensor]:
    """The slices along ``axis``, without that dim, as a list; views.

    Example:
        >>> import paddle
        >>> [p.shape for p in paddle.unbind(paddle.ones([2, 3]))]
        [[3], [3]]
    """
    x = need_tensor(input, "unbind", "input")
    k = axis_of(axis, x.ndim, "unbind")
    n = x.shape[k]

    parts = [F.slice(x, (k,), (i,), (1,), (1,)) for i in builtins.range(n)]
    if not 0 < n <= MOST_OUTPUTS or x.stop_gradient or not current().grad_enabled:
        return [F.squeeze(part, (k,)) for part in parts]
    if current().trace:
        return [alias(F.squeeze(part, (k,)), value) for part, value in zip(parts, F.unbind(x, k, n), strict=True)]

    def gradient(*grads: Any) -> Tensor:
        zero = made_on(place, F.full, 0.0, dtype, shape) if None in grads else None
        return F.stack([zero if g is None else g for g in grads], k)

    # One node for all: as many of slices would each add a gradient of the size of the whole.
    with no_grad_guard():
        views = [F.squeeze(part, (k,)) for part in parts]
    shape, dtype, place = (
        tuple(views[0].shape),
        x.dtype,
        x.place,
    )  # not x itself, which may get a history that ends in this node
    python_node("unbind", [x], views, gradient)
    return views


@public
def unstack(x: Tensor, axis: Any = 0, num: int | None = None) -> list[Tensor]:
    """The slices along ``axis``, without that dim, as :func:`unbind` gives them, in memory of their own.

    ``num``, if given, must be the size of the dim.
    """
    k = axis_of(axis, need_tensor(x, "unstack").ndim, "unstack")
    n = x.shape[k]
    if num is not None and num != n:
        raise op_error(ValueError, "unstack", f"a num of {n}", num)
    if n > MOST_OUTPUTS:
        return [F.squeeze(part, (k,)) for part in _parts(x, k, (1,) * n)]
    return list(F.unbind(x, k, n)) if n else []


# --- repeating, turning --------------------------------------------------------------------------------------------


@public(aliases={"dims": "repeat_times"})
def tile(x: Tensor, repeat_times: Any, name: str | None = None) -> Tensor:
    """``x`` repeated as a whole along each dim; missing leading counts are 1, more counts than dims add dims.

    Example:
        >>> import paddle
        >>> paddle.tile(paddle.to_tensor([1, 2]), [2, 2]).tolist()
        [[1, 2, 1, 2], [1, 2, 1, 2]]
    """
    counts = integers(repeat_times, "tile", "repeat_times")
    if builtins.any(c < 0 for c in counts):
        raise op_error(ValueError, "tile", "repeats of 0 or more", list(counts))
    counts = (1,) * (need_tensor(x, "tile").ndim - len(counts)) + counts
    return F.tile(x, counts)


@public
def repeat_interleave(
    x: Tensor, repeats: Any, axis: Any = None, name: str | None = None, *, output_size: int | None = None
) -> Tensor:
    """Each element along ``axis`` repeated in a row; all elements in a row for None.

    Args:
        x: a tensor.
        repeats: how often: a number for all, or a 1-d integer tensor or list with one for each.
        axis: along which.
        output_size: the sum of the repeats, where it is known.

    Example:
        >>> import paddle
        >>> paddle.repeat_interleave(paddle.to_tensor([1, 2]), 2).tolist()
        [1, 1, 2, 2]
    """
    need_tensor(x, "repeat_interleave")
    if axis is None:
        x, k = F.reshape(x, (x.size,)), 0
    else:
        k = axis_of(axis, x.ndim, "repeat_interleave")
    if isinstance(repeats, (list, tuple)):
        repeats = tensor(list(repeats))
    if not isinstance(repeats, Tensor):
        count = integer(repeats, "repeat_interleave", "repeats")
        if count < 0:
            raise op_error(ValueError, "repeat_interleave", "repeats of 0 or more", count)
        return F.repeat_interleave(x, k, count)
    if repeats.ndim == 0 or (repeats.size == 1 and x.shape[k] != 1):
        return F.repeat_interleave(x, k, int(repeats.item()))
    total = output_size if output_size is not None else int(F.sum(_cast_to(repeats, dt.int64), (0,)).item())
    return F.repeat_interleave_sized(x, repeats, k, total)


@public(aliases={"dims": "axis"})
def flip(x: Tensor, axis: Any, name: str | None = None) -> Tensor:
    """``x`` in reverse order along one axis or several.

    Example:
        >>> import paddle
        >>> paddle.flip(paddle.to_tensor([1, 2]), 0).tolist()
        [2, 1]
    """
    axes = axes_of(axis, need_tensor(x, "flip").ndim, "flip")
    return F.flip(x, axes) if axes else F.copy(x)


@public(aliases={"dims": "axis"})
def reverse(x: Tensor, axis: Any, name: str | None = None) -> Tensor:
    """The same as :func:`flip`."""
    return flip(x, axis)


@public(aliases={"dims": "axis"})
def roll(x: Tensor, shifts: Any, axis: Any = None, name: str | None = None) -> Tensor:
    """Elements moved along axes; what leaves at one end enters at the other. Without an axis, all in a row.

    Example:
        >>> import paddle
        >>> paddle.roll(paddle.to_tensor([1, 2, 3]), 1).tolist()
        [3, 1, 2]
    """
    by = integers(shifts, "roll", "shifts")
    need_tensor(x, "roll")
    if axis is None:
        if len(by) != 1:
            raise op_error(ValueError, "roll", "one shift where there is no axis", list(by))
        return F.reshape(F.roll(F.reshape(x, (x.size,)), (0,), by), tuple(x.shape))
    axes = tuple(axis_of(a, x.ndim, "roll") for a in integers(axis, "roll", "axis"))
    if len(by) == 1:
        by = by * len(axes)
    if len(axes) != len(by):
        raise op_error(ValueError, "roll", "one shift for each axis", f"{list(by)} for axes {list(axes)}")
    if len(set(axes)) != len(axes):
        for a, b in zip(axes, by, strict=True):
            x = F.roll(x, (a,), (b,))
        return x
    return F.roll(x, axes, by)


@public
def rot90(x: Tensor, k: int = 1, axes: Sequence[int] = (0, 1), name: str | None = None) -> Tensor:
    """``x`` turned by ``k`` quarters in the plane of two axes, from the first towards the second.

    Example:
        >>> import paddle
        >>> paddle.rot90(paddle.to_tensor([[1, 2], [3, 4]])).tolist()
        [[2, 4], [1, 3]]
    """
    pair = integers(axes, "rot90", "axes")
    if len(pair) != 2:
        raise op_error(ValueError, "rot90", "two axes", list(pair))
    a, b = (axis_of(axis, need_tensor(x, "rot90").ndim, "rot90") for axis in pair)
    if a == b:
        raise op_error(ValueError, "rot90", "two different axes", list(pair))
    k %= 4
    if k == 0:
        return F.copy(x)
    if k == 2:
        return F.flip(x, tuple(sorted((a, b))))
    turned = _swap(x, (a, b), "rot90")
    return apply1(turned, F.flip(x, (b,))) if k == 1 else F.flip(apply1(turned, x), (b,))


# --- slices --------------------------------------------------------------------------------------------------------


def _sliced(op: str, x: Tensor, axes: Any, starts: Any, ends: Any, strides: Any) -> Tensor:
    need_tensor(x, op)
    ks = [axis_of(a, x.ndim, op) for a in integers(axes, op, "axes")]
    given = [integers(v, op, w) for v, w in ((starts, "starts"), (ends, "ends"))]
    steps = (1,) * len(ks) if strides is None else integers(strides, op, "strides")
    if not len(ks) == len(given[0]) == len(given[1]) == len(steps):
        raise op_error(
            ValueError,
            op,
            "a start, an end and a stride for each axis",
            f"{len(ks)} axes, {len(given[0])} starts, {len(given[1])} ends",
        )
    begin, sizes, by = [], [], []
    for k, a, b, s in zip(ks, *given, steps, strict=True):
        if s == 0:
            raise op_error(ValueError, op, "strides other than 0", list(steps))
        n = x.shape[k]
        first, count = _bounds(a, b, s, n)
        begin.append(first)
        sizes.append(count)
        by.append(s if count > 1 else 1)  # from one element no step is taken, however long it is
    return F.slice(x, tuple(ks), tuple(begin), tuple(sizes), tuple(by))


def _bounds(a: int, b: int, s: int, n: int) -> tuple[int, int]:
    first, last, step = builtins.slice(a, b, s).indices(n)
    return first, len(builtins.range(first, last, step))


@public(aliases={"x": "input"})
def slice(input: Tensor, axes: Any, starts: Any, ends: Any) -> Tensor:
    """``input[..., start:end, ...]`` along the given axes; a view.

    Args:
        input: a tensor.
        axes: which dims.
        starts: first elements; negative ones count from the end.
        ends: the elements after the last; beyond the end means the end.

    Example:
        >>> import paddle
        >>> paddle.slice(paddle.arange(5), [0], [1], [-1]).tolist()
        [1, 2, 3]
    """
    return _sliced("slice", input, axes, starts, ends, None)


@public
def strided_slice(x: Tensor, axes: Any, starts: Any, ends: Any, strides: Any, name: str | None = None) -> Tensor:
    """:func:`slice` with a stride for each axis, which may be negative; a view.

    Example:
        >>> import paddle
        >>> paddle.strided_slice(paddle.arange(5), [0], [0], [5], [2]).tolist()
        [0, 2, 4]
    """
    return _sliced("strided_slice", x, axes, starts, ends, strides)


@public(aliases={"x": "input"})
def narrow(input: Tensor, dim: int, start: Any, length: int) -> Tensor:
    """``length`` elements from ``start`` along ``dim``; a view.

    Example:
        >>> import paddle
        >>> paddle.narrow(paddle.arange(5), 0, 1, 2).tolist()
        [1, 2]
    """
    k = axis_of(dim, need_tensor(input, "narrow", "input").ndim, "narrow")
    n, a = input.shape[k], integer(start, "narrow", "start")
    a = a + n if a < 0 else a
    if not (0 <= a <= n and 0 <= length <= n - a):
        raise op_error(ValueError, "narrow", f"a range within {n} elements", f"start {start}, length {length}")
    return F.slice(input, (k,), (a,), (length,), (1,))


@public
def crop(x: Tensor, shape: Any = None, offsets: Any = None, name: str | None = None) -> Tensor:
    """A box of ``x`` of the given shape (-1: up to the end) at the given offsets.

    Example:
        >>> import paddle
        >>> paddle.crop(paddle.arange(6).reshape([2, 3]), [1, 2], [1, 1]).tolist()
        [[4, 5]]
    """
    need_tensor(x, "crop")
    starts = (0,) * x.ndim if offsets is None else integers(offsets, "crop", "offsets")
    sizes = tuple(x.shape) if shape is None else shape_of(shape, "crop")
    if len(starts) != x.ndim or len(sizes) != x.ndim:
        raise op_error(ValueError, "crop", f"{x.ndim} sizes and offsets", f"{len(sizes)} and {len(starts)}")
    sizes = tuple(n - a if s == -1 else s for s, a, n in zip(sizes, starts, x.shape, strict=True))
    if builtins.any(a < 0 or s < 0 or a + s > n for a, s, n in zip(starts, sizes, x.shape, strict=True)):
        raise op_error(ValueError, "crop", f"a box within {x.shape}", f"shape {list(sizes)} at {list(starts)}")
    return F.copy(F.slice(x, tuple(builtins.range(x.ndim)), starts, sizes, (1,) * x.ndim))


@public(usual=False)
def slice_scatter(
    x: Tensor, value: Tensor, axes: Any, starts: Any, ends: Any, strides: Any, name: str | None = None
) -> Tensor:
    """``x`` with a slice, as :func:`strided_slice` selects it, replaced by ``value``.

    Example:
        >>> import paddle
        >>> paddle.slice_scatter(paddle.zeros([3]), paddle.ones([1]), [0], [1], [2], [1]).tolist()
        [0.0, 1.0, 0.0]
    """

    def region(x: Tensor) -> Tensor:
        return _sliced("slice_scatter", x, axes, starts, ends, strides)

    shape = tuple(region(need_tensor(x, "slice_scatter")).shape)
    value = F.broadcast_to(_cast_to(need_tensor(value, "slice_scatter", "value"), x.dtype), shape)
    return write_part(F.copy(x), region, value)


@public(usual=False)
def select_scatter(x: Tensor, values: Tensor, axis: int, index: int, name: str | None = None) -> Tensor:
    """``x`` with the slice ``index`` along ``axis`` replaced by ``values``.

    Example:
        >>> import paddle
        >>> paddle.select_scatter(paddle.zeros([2, 2]), paddle.ones([2]), 0, 1).tolist()
        [[0.0, 0.0], [1.0, 1.0]]
    """
    k = axis_of(axis, need_tensor(x, "select_scatter").ndim, "select_scatter")
    i = axis_of(index, x.shape[k], "select_scatter")
    want = [n for j, n in enumerate(x.shape) if j != k]
    if need_tensor(values, "select_scatter", "values").shape != want:
        raise op_error(ValueError, "select_scatter", f"values of shape {want}", values.shape)
    value = F.unsqueeze(_cast_to(values, x.dtype), (k,))
    return write_part(F.copy(x), lambda x: F.slice(x, (k,), (i,), (1,), (1,)), value)


# --- diagonals -----------------------------------------------------------------------------------------------------


@public("paddle paddle.tensor paddle.linalg Tensor")
def diagonal(x: Tensor, offset: int = 0, axis1: int = 0, axis2: int = 1, name: str | None = None) -> Tensor:
    """The diagonal of two dims, ``offset`` above the main one, as the last dim; a view.

    Example:
        >>> import paddle
        >>> paddle.diagonal(paddle.to_tensor([[1, 2], [3, 4]])).tolist()
        [1, 4]
    """
    a, b = (axis_of(axis, need_tensor(x, "diagonal").ndim, "diagonal") for axis in (axis1, axis2))
    return F.diagonal(x, a, b, integer(offset, "diagonal", "offset"))


@public
def diagonal_scatter(
    x: Tensor, y: Tensor, offset: int = 0, axis1: int = 0, axis2: int = 1, name: str | None = None
) -> Tensor:
    """``x`` with a diagonal, as :func:`diagonal` selects it, replaced by ``y``.

    Example:
        >>> import paddle
        >>> paddle.diagonal_scatter(paddle.zeros([2, 2]), paddle.ones([2])).tolist()
        [[1.0, 0.0], [0.0, 1.0]]
    """
    return fill_diagonal_tensor(x, y, offset, axis1, axis2)


@public("Tensor")
def fill_diagonal_tensor(
    x: Tensor, y: Tensor, offset: int = 0, dim1: int = 0, dim2: int = 1, name: str | None = None
) -> Tensor:
    """``x`` with the diagonal of dims ``dim1`` and ``dim2`` replaced by ``y``."""
    op = "fill_diagonal_tensor"
    a, b = (axis_of(axis, need_tensor(x, op).ndim, op) for axis in (dim1, dim2))
    shape = F.diagonal(x, a, b, offset).shape
    if need_tensor(y, "fill_diagonal_tensor", "y").shape != shape:
        raise op_error(ValueError, "fill_diagonal_tensor", f"a y of shape {shape}", y.shape)
    return write_part(F.copy(x), lambda x: F.diagonal(x, a, b, offset), _cast_to(y, x.dtype))


# --- gathering -----------------------------------------------------------------------------------------------------


@public
def gather(x: Tensor, index: Tensor, axis: Any = None, name: str | None = None, out: Any = None) -> Tensor:
    """Slices of ``x`` at ``index`` along ``axis``, by default the first.

    Args:
        x: a tensor.
        index: integers, 0-d or 1-d.
        axis: along which.

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
    """Elements or slices of ``x`` at coordinates: the last dim of ``index`` addresses the first dims of x.

    Example:
        >>> import paddle
        >>> paddle.gather_nd(paddle.to_tensor([[1, 2], [3, 4]]), paddle.to_tensor([[1, 0]])).tolist()
        [3]
    """
    need_tensor(x, "gather_nd")
    if need_tensor(index, "gather_nd", "index").ndim == 0:
        raise op_error(ValueError, "gather_nd", "an index of rank 1 or more", "a 0-d tensor")
    return F.gather_nd(x, index, index.shape[-1])


@public
def index_select(x: Tensor, index: Tensor, axis: Any = 0, name: str | None = None, *, out: Any = None) -> Tensor:
    """Slices of ``x`` at the 1-d ``index`` along ``axis``.

    Example:
        >>> import paddle
        >>> paddle.index_select(paddle.to_tensor([[1, 2], [3, 4]]), paddle.to_tensor([1, 1]), axis=1).tolist()
        [[2, 2], [4, 4]]
    """
    k = axis_of(axis, need_tensor(x, "index_select").ndim, "index_select")
    if need_tensor(index, "index_select", "index").ndim > 1:
        raise op_error(ValueError, "index_select", "a 1-d index", f"rank {index.ndim}")
    return F.take(x, F.reshape(index, (index.size,)), k)


@public
def index_sample(x: Tensor, index: Tensor) -> Tensor:
    """``out[i, j] = x[i, index[i, j]]``.

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
    """Elements of ``x``, in row-major order, at ``index``; the result has the shape of index.

    Args:
        x: a tensor.
        index: integers; negative ones count from the end.
        mode: what becomes of an index outside: ``"raise"`` an error, ``"wrap"`` modulo, ``"clip"`` the nearest end.

    Example:
        >>> import paddle
        >>> paddle.take(paddle.to_tensor([[1, 2], [3, 4]]), paddle.to_tensor([3, -4])).tolist()
        [4, 1]
    """
    n = need_tensor(x, "take").size
    if mode not in ("raise", "wrap", "clip"):
        raise op_error(ValueError, "take", "a mode of 'raise', 'wrap' or 'clip'", repr(mode))
    if not need_tensor(index, "take", "index").dtype.is_integer:
        raise op_error(TypeError, "take", "an index of int32 or int64", index.dtype.name)
    if mode == "wrap":
        index = F.remainder(index, n)
    elif mode == "clip":
        index = F.clip(index, 0, n - 1)
    elif index.size:
        low, high = (int(f(index, tuple(builtins.range(index.ndim))).item()) for f in (F.min, F.max))
        if low < -n or high >= n:
            raise op_error(ValueError, "take", f"indices from {-n} to {n - 1}", low if low < -n else high)
    return F.take(F.reshape(x, (n,)), index, 0)


def _broadcast_but(shape: Sequence[int], index: Tensor, axis: int) -> tuple[int, ...]:
    """The shape of an index that broadcasts against ``shape`` except along ``axis``."""
    return tuple(
        m if i == axis else n if m == 1 else m for i, (n, m) in enumerate(zip(shape, index.shape, strict=True))
    )


def _cut_to(x: Tensor, index: Tensor, axis: int, op: str) -> Tensor:
    """x cut to the sizes of index except along ``axis``."""
    axes = [i for i in builtins.range(x.ndim) if i != axis and x.shape[i] != index.shape[i]]
    for i in axes:
        if index.shape[i] > x.shape[i]:
            raise op_error(ValueError, op, f"indices of at most {x.shape[i]} along axis {i}", index.shape[i])
    if not axes:
        return x
    return F.slice(x, tuple(axes), (0,) * len(axes), tuple(index.shape[i] for i in axes), (1,) * len(axes))


@public(aliases={"x": "arr", "input": "arr", "index": "indices"})
def take_along_axis(arr: Tensor, indices: Tensor, axis: Any, broadcast: bool = True, *, out: Any = None) -> Tensor:
    """``out[..., i, ...] = arr[..., indices[..., i, ...], ...]`` along ``axis``.

    Args:
        arr: a tensor.
        indices: integers, of the rank of ``arr``.
        axis: along which; None takes from all elements in a row.
        broadcast: whether indices repeat along dims of size 1; otherwise arr is cut to their sizes.

    Example:
        >>> import paddle
        >>> x = paddle.to_tensor([[1, 2], [3, 4]])
        >>> paddle.take_along_axis(x, paddle.to_tensor([[1], [0]]), 1).tolist()
        [[2], [3]]
    """
    need_tensor(arr, "take_along_axis", "arr")
    need_tensor(indices, "take_along_axis", "indices")
    if axis is None:
        return F.take_along(F.reshape(arr, (arr.size,)), F.reshape(indices, (indices.size,)), 0)
    k = axis_of(axis, arr.ndim, "take_along_axis")
    if broadcast:
        from paddle.tensor.math import broadcast_shapes

        if indices.ndim != arr.ndim:
            raise op_error(ValueError, "take_along_axis", f"indices of rank {arr.ndim}", f"rank {indices.ndim}")
        full = broadcast_shapes(
            [1 if i == k else n for i, n in enumerate(arr.shape)],
            [1 if i == k else n for i, n in enumerate(indices.shape)],
        )
        indices = F.broadcast_to(indices, tuple(indices.shape[k] if i == k else n for i, n in enumerate(full)))
        arr = F.broadcast_to(arr, tuple(arr.shape[k] if i == k else n for i, n in enumerate(full)))
    else:
        arr = _cut_to(arr, _rank(arr, indices, "take_along_axis"), k, "take_along_axis")
    return F.take_along(arr, indices, k)


take_along_dim = also(take_along_axis, "take_along_dim")


def _rank(x: Tensor, index: Tensor, op: str) -> Tensor:
    if index.ndim != x.ndim:
        raise op_error(ValueError, op, f"indices of rank {x.ndim}", f"rank {index.ndim}")
    return index


_REDUCE = {
    "assign": "set",
    "add": "add",
    "sum": "add",
    "mul": "mul",
    "multiply": "mul",
    "prod": "mul",
    "amin": "min",
    "amax": "max",
    "mean": "mean",
}


@public(aliases={"x": "arr", "input": "arr", "index": "indices", "src": "values"})
def put_along_axis(
    arr: Tensor,
    indices: Tensor,
    values: Any,
    axis: Any,
    reduce: str = "assign",
    include_self: bool = True,
    broadcast: bool = True,
) -> Tensor:
    """``arr`` with ``values`` combined into the places that ``indices`` name along ``axis``.

    Args:
        arr: a tensor.
        indices: integers, of the rank of ``arr``.
        values: a tensor or a number.
        axis: along which.
        reduce: ``"assign"``, ``"add"``, ``"mul"`` (``"multiply"``), ``"mean"``, ``"amin"`` or ``"amax"``.
        include_self: whether the element already there takes part.
        broadcast: whether indices and values repeat along dims of size 1.

    Example:
        >>> import paddle
        >>> x = paddle.zeros([2, 2])
        >>> paddle.put_along_axis(x, paddle.to_tensor([[1], [0]]), 5.0, 1).tolist()
        [[0.0, 5.0], [5.0, 0.0]]
    """
    op = "put_along_axis"
    k = axis_of(axis, need_tensor(arr, op, "arr").ndim, op)
    if reduce not in _REDUCE:
        raise op_error(ValueError, op, f"a reduce of {sorted(_REDUCE)}", repr(reduce))
    need_tensor(indices, op, "indices")
    _rank(arr, indices, op)
    if not isinstance(values, Tensor):
        values = made_on(arr.place, F.full, values, arr.dtype, ())
    values = _cast_to(values, arr.dtype)
    if broadcast:
        indices = F.broadcast_to(indices, _broadcast_but(arr.shape, indices, k))
        values = F.broadcast_to(values, tuple(indices.shape)) if values.shape != indices.shape else values
    elif values.ndim == 0:
        values = F.broadcast_to(values, tuple(indices.shape))
    elif values.shape != indices.shape:
        values = _cut_all(values, indices, op)
    return _scatter_along(arr, indices, values, k, _REDUCE[reduce], builtins.bool(include_self), op)


put_along_axis_ = inplace(put_along_axis, "paddle.tensor Tensor")


def _cut_all(values: Tensor, indices: Tensor, op: str) -> Tensor:
    """The leading part of ``values`` that the indices need."""
    if values.ndim != indices.ndim or builtins.any(v < i for v, i in zip(values.shape, indices.shape, strict=True)):
        raise op_error(ValueError, op, f"values of at least {indices.shape}", values.shape)
    n = values.ndim
    return F.slice(values, tuple(builtins.range(n)), (0,) * n, tuple(indices.shape), (1,) * n)


def _scatter_along(
    x: Tensor, index: Tensor, values: Tensor, axis: int, mode: str, include_self: bool, op: str
) -> Tensor:
    """Scatter along an axis; where the other dims of index are smaller, only that corner of x changes."""
    corner = _cut_to(x, index, axis, op)
    if mode == "mean":
        total = F.scatter_along(corner, index, values, axis, mode="add", include_self=include_self)
        ones = made_on(x.place, F.full, 1, x.dtype, tuple(index.shape))
        base = made_on(x.place, F.full, 1 if include_self else 0, x.dtype, tuple(corner.shape))
        count = F.scatter_along(base, index, ones, axis, mode="add")
        touched = F.gt(count, 1 if include_self else 0)
        share = F.floor_div(total, F.maximum(count, 1)) if x.dtype.is_integer else F.div(total, F.maximum(count, 1))
        made = F.where(touched, share, corner)
    else:
        made = F.scatter_along(corner, index, values, axis, mode=mode, include_self=include_self)
    if corner is x:
        return made
    return write_part(F.copy(x), lambda x: _cut_to(x, index, axis, op), made)


@public(aliases={"x": "input"})
def scatter_add(input: Tensor, dim: int, index: Tensor, src: Tensor) -> Tensor:
    """``input`` with ``src`` added to the places that ``index`` names along ``dim``.

    Example:
        >>> import paddle
        >>> paddle.scatter_add(paddle.zeros([3]), 0, paddle.to_tensor([0, 0]), paddle.ones([2])).tolist()
        [2.0, 0.0, 0.0]
    """
    return put_along_axis(input, index, src, dim, "add", True, False)


scatter_add_ = inplace(scatter_add)


@public(aliases={"x": "input"})
def scatter_reduce(
    input: Tensor, dim: int, index: Tensor, src: Tensor, reduce: str, *, include_self: bool = True
) -> Tensor:
    """``input`` with ``src`` combined into the places that ``index`` names along ``dim``.

    ``reduce``: ``"sum"``, ``"prod"``, ``"mean"``, ``"amin"`` or ``"amax"``.

    Example:
        >>> import paddle
        >>> paddle.scatter_reduce(paddle.ones([2]), 0, paddle.to_tensor([0, 0]), paddle.full([2], 3.0), "prod").tolist()
        [9.0, 1.0]
    """
    if reduce not in ("sum", "prod", "mean", "amin", "amax"):
        raise op_error(
            ValueError, "scatter_reduce", "a reduce of 'sum', 'prod', 'mean', 'amin' or 'amax'", repr(reduce)
        )
    return put_along_axis(input, index, src, dim, reduce, include_self, False)


@public(usual=False)
def scatter(
    x: Tensor, index: Tensor, updates: Any, overwrite: Any = True, name: str | None = None, out: Any = None
) -> Tensor:
    """``x`` with the slices at ``index`` along the first dim replaced by ``updates``.

    Args:
        x: a tensor of rank 1 or more.
        index: integers, 0-d or 1-d.
        updates: one slice for each index.
        overwrite: False clears the named slices and adds all updates; True lets the last one win.

    Example:
        >>> import paddle
        >>> paddle.scatter(paddle.zeros([3]), paddle.to_tensor([1]), paddle.ones([1])).tolist()
        [0.0, 1.0, 0.0]
    """
    need_tensor(x, "scatter")
    if isinstance(index, int) or (
        isinstance(updates, Tensor) and isinstance(overwrite, (Tensor, int, float)) and not isinstance(overwrite, bool)
    ):
        # scatter(input, dim, index, src)
        return put_along_axis(x, updates, overwrite, index, "assign", True, False)
    need_tensor(index, "scatter", "index")
    need_tensor(updates, "scatter", "updates")
    if index.ndim == 0:
        index = F.reshape(index, (1,))
        updates = F.unsqueeze(updates, (0,)) if updates.ndim == x.ndim - 1 else updates
    index = F.reshape(index, (index.size,))
    updates = _cast_to(updates, x.dtype)
    if overwrite:
        return F.put(x, index, updates, 0, mode="set")
    nothing = made_on(x.place, F.full, 0, x.dtype, tuple(updates.shape))
    cleared = F.put(x, index, nothing, 0, mode="set")
    return F.put(cleared, index, updates, 0, mode="add")


scatter_ = inplace(scatter)


@public
def scatter_nd_add(x: Tensor, index: Tensor, updates: Tensor, name: str | None = None) -> Tensor:
    """``x`` with ``updates`` added at the coordinates in the last dim of ``index``.

    Example:
        >>> import paddle
        >>> paddle.scatter_nd_add(paddle.zeros([3]), paddle.to_tensor([[1], [1]]), paddle.ones([2])).tolist()
        [0.0, 2.0, 0.0]
    """
    need_tensor(x, "scatter_nd_add")
    need_tensor(updates, "scatter_nd_add", "updates")
    if need_tensor(index, "scatter_nd_add", "index").ndim == 0:
        raise op_error(ValueError, "scatter_nd_add", "an index of rank 1 or more", "a 0-d tensor")
    return F.scatter_nd(x, index, updates, index.shape[-1], mode="add")


@public
def scatter_nd(index: Tensor, updates: Tensor, shape: Any, name: str | None = None) -> Tensor:
    """Zeros of ``shape`` with ``updates`` added at the coordinates in the last dim of ``index``.

    Example:
        >>> import paddle
        >>> paddle.scatter_nd(paddle.to_tensor([[1]]), paddle.ones([1]), [3]).tolist()
        [0.0, 1.0, 0.0]
    """
    need_tensor(updates, "scatter_nd", "updates")
    nothing = made_on(updates.place, F.full, 0, updates.dtype, shape_of(shape, "scatter_nd"))
    return scatter_nd_add(nothing, index, updates)


@public(aliases={"source": "value"})
def index_add(
    x: Tensor, index: Tensor, axis: Any, value: Tensor, alpha: Any = 1, name: str | None = None, *, out: Any = None
) -> Tensor:
    """``x`` with ``alpha*value`` added to the slices at ``index`` along ``axis``.

    Example:
        >>> import paddle
        >>> paddle.index_add(paddle.zeros([3]), paddle.to_tensor([0, 0]), 0, paddle.ones([2])).tolist()
        [2.0, 0.0, 0.0]
    """
    if isinstance(index, int) and isinstance(axis, Tensor):
        index, axis = axis, index
    k = axis_of(axis, need_tensor(x, "index_add").ndim, "index_add")
    need_tensor(index, "index_add", "index")
    value = _cast_to(need_tensor(value, "index_add", "value"), x.dtype)
    if alpha != 1:
        value = value * alpha
    return F.put(x, F.reshape(index, (index.size,)), value, k, mode="add")


index_add_ = inplace(index_add)


@public
def index_fill(x: Tensor, index: Tensor, axis: Any, value: Any, name: str | None = None) -> Tensor:
    """``x`` with the slices at ``index`` along ``axis`` filled with a number.

    Example:
        >>> import paddle
        >>> paddle.index_fill(paddle.zeros([3]), paddle.to_tensor([0, 2]), 0, 5).tolist()
        [5.0, 0.0, 5.0]
    """
    if isinstance(index, int) and isinstance(axis, Tensor):
        index, axis = axis, index
    k = axis_of(axis, need_tensor(x, "index_fill").ndim, "index_fill")
    index = F.reshape(need_tensor(index, "index_fill", "index"), (index.size,))
    shape = tuple(index.size if i == k else n for i, n in enumerate(x.shape))
    if isinstance(value, Tensor):
        if value.size != 1:
            raise op_error(ValueError, "index_fill", "a value of one element", value.shape)
        value = _cast_to(F.reshape(value, ()), x.dtype)
    if isinstance(value, Tensor):
        return F.put(x, index, F.broadcast_to(value, shape), k)
    return F.put(x, index, made_on(x.place, F.full, value, x.dtype, shape), k)


index_fill_ = inplace(index_fill)


@public
def index_put(
    x: Tensor, indices: Sequence[Tensor], value: Any, accumulate: bool = False, name: str | None = None
) -> Tensor:
    """``x`` with ``value`` put (or added) where tensors of integers, or one of bools, address its first dims.

    Example:
        >>> import paddle
        >>> i = paddle.to_tensor([0, 1])
        >>> paddle.index_put(paddle.zeros([2, 2]), (i, i), paddle.ones([2])).tolist()
        [[1.0, 0.0], [0.0, 1.0]]
    """
    from paddle.tensor.indexing import coordinates

    need_tensor(x, "index_put")
    places = [p for i in indices for p in coordinates(need_tensor(i, "index_put", "each of indices"))]
    return _index_put(x, places, value, "add" if accumulate else "set", "index_put")


index_put_ = inplace(index_put)


def _index_put(x: Tensor, places: list[Tensor], value: Any, mode: str, op: str) -> Tensor:
    from paddle.tensor.math import broadcast_shapes

    if not 0 < len(places) <= x.ndim:
        raise op_error(ValueError, op, f"one to {x.ndim} indices", len(places))
    shape = (*broadcast_shapes(*(p.shape for p in places)), *x.shape[len(places) :])
    value = tensor(value, like=x) if not isinstance(value, Tensor) else _cast_to(value, x.dtype)
    if tuple(value.shape) != shape:
        value = F.broadcast_to(value, shape)
    return F.index_put(x, value, places, mode=mode)


# --- masks ---------------------------------------------------------------------------------------------------------


def _mask(mask: Any, op: str) -> Tensor:
    if not need_tensor(mask, op, "mask").dtype.is_bool:
        raise op_error(ValueError, op, "a mask of dtype bool", mask.dtype.name)
    return mask


def _spread(x: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
    """x and mask repeated to their common shape."""
    if x.shape == mask.shape:
        return x, mask
    from paddle.tensor.math import broadcast_shapes

    shape = tuple(broadcast_shapes(x.shape, mask.shape))
    return F.broadcast_to(x, shape), F.broadcast_to(mask, shape)


@public
def masked_select(x: Tensor, mask: Tensor, name: str | None = None, *, out: Any = None) -> Tensor:
    """The elements of ``x`` where ``mask`` holds, in row-major order.

    Example:
        >>> import paddle
        >>> x = paddle.to_tensor([1, 2, 3])
        >>> paddle.masked_select(x, x > 1).tolist()
        [2, 3]
    """
    x, mask = _spread(need_tensor(x, "masked_select"), _mask(mask, "masked_select"))
    return F.masked_select_sized(x, mask, int(F.count_true(mask).item()))


@public
def masked_fill(x: Tensor, mask: Tensor, value: Any, name: str | None = None) -> Tensor:
    """``x`` with ``value``, a number or a tensor, where ``mask`` holds.

    Example:
        >>> import paddle
        >>> x = paddle.to_tensor([1, 2, 3])
        >>> paddle.masked_fill(x, x > 1, 0).tolist()
        [1, 0, 0]
    """
    need_tensor(x, "masked_fill")
    if isinstance(value, Tensor):
        value = _cast_to(value, x.dtype)
    elif not x.dtype.is_complex:
        value = number(value)
        value = builtins.bool(value) if x.dtype.is_bool else int(value) if x.dtype.is_integer else value
    return F.where(_mask(mask, "masked_fill"), value, x)


masked_fill_ = inplace(masked_fill)


@public
def masked_scatter(x: Tensor, mask: Tensor, value: Tensor, name: str | None = None) -> Tensor:
    """``x`` with the elements where ``mask`` holds replaced by the first elements of ``value``, in row-major order.

    Raises ValueError where ``value`` has fewer elements than that.

    Example:
        >>> import paddle
        >>> x = paddle.zeros([3])
        >>> paddle.masked_scatter(x, paddle.to_tensor([True, False, True]), paddle.to_tensor([1.0, 2.0])).tolist()
        [1.0, 0.0, 2.0]
    """
    need_tensor(x, "masked_scatter")
    mask = _mask(mask, "masked_scatter")
    if need_tensor(value, "masked_scatter", "value").dtype is not x.dtype:
        raise op_error(ValueError, "masked_scatter", f"a value of dtype {x.dtype.name}", value.dtype.name)
    mask = F.broadcast_to(mask, tuple(x.shape))
    return F.masked_scatter(x, mask, F.reshape(value, (value.size,)))


masked_scatter_ = inplace(masked_scatter)


# --- odds and ends -------------------------------------------------------------------------------------------------


@public
def multiplex(inputs: Sequence[Tensor], index: Tensor, name: str | None = None) -> Tensor:
    """Row i of the result is row i of ``inputs[index[i]]``.

    Example:
        >>> import paddle
        >>> a, b = paddle.zeros([2, 2]), paddle.ones([2, 2])
        >>> paddle.multiplex([a, b], paddle.to_tensor([[1], [0]], dtype="int32")).tolist()
        [[1.0, 1.0], [0.0, 0.0]]
    """
    xs = _together(_list(inputs, "multiplex"), "multiplex")
    all_rows = F.stack(xs, 0)
    which = F.reshape(need_tensor(index, "multiplex", "index"), (index.size,))
    rows = made_on(which.place, F.iota, 0, 1, which.dtype, xs[0].shape[0])
    return F.index_get(all_rows, [which, rows])


@public(aliases={"x": "input"})
def shard_index(input: Tensor, index_num: int, nshards: int, shard_id: int, ignore_value: int = -1) -> Tensor:
    """Indices into one of ``nshards`` equal shards of ``index_num`` places; others become ``ignore_value``.

    Example:
        >>> import paddle
        >>> paddle.shard_index(paddle.to_tensor([[1], [16]]), 20, 2, 0).tolist()
        [[1], [-1]]
    """
    need_tensor(input, "shard_index", "input")
    if not 0 <= shard_id < nshards:
        raise op_error(ValueError, "shard_index", f"a shard_id from 0 to {nshards - 1}", shard_id)
    size = (index_num + nshards - 1) // nshards
    return F.where(F.eq(F.floor_div(input, size), shard_id), F.remainder(input, size), ignore_value)


@public("paddle paddle.tensor", aliases={"x": "input"})
def shape(input: Tensor) -> Tensor:
    """The sizes of ``input`` as a 1-d int64 tensor.

    Example:
        >>> import paddle
        >>> paddle.shape(paddle.ones([2, 3])).tolist()
        [2, 3]
    """
    return _from_numpy(np.array(need_tensor(input, "shape", "input").shape, np.int64))
