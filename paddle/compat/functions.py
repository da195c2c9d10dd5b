"""Functions of tensors whose meaning in PyTorch is another than in the rest of this package.

Keywords are PyTorch's alone: ``axis`` belongs to the functions of ``paddle``.
"""

from __future__ import annotations

import builtins
import secrets
from collections.abc import Sequence
from typing import Any, NamedTuple

import paddle
from paddle._public import need_tensor, public
from paddle.tensor._args import axis_of
from umiak import ops as F
from umiak.core.tensor import Tensor
from umiak.util.errors import op_error


@public("paddle.compat")
class MinMaxRetType(NamedTuple):
    """Extrema along a dim, and where they are.

    Args:
        values: tensor of the extrema.
        indices: int64 tensor of their places.

    Example:
        >>> import paddle
        >>> paddle.compat.max(paddle.to_tensor([1, 3, 2]), 0).indices.item()
        1
    """

    values: Tensor
    indices: Tensor


@public("paddle.compat")
class MedianRetType(NamedTuple):
    """Medians along a dim, and where they are.

    Args:
        values: tensor of the medians.
        indices: int64 tensor of their places.

    Example:
        >>> import paddle
        >>> paddle.compat.median(paddle.to_tensor([1, 3, 2]), 0).indices.item()
        2
    """

    values: Tensor
    indices: Tensor


@public("paddle.compat")
class SortRetType(NamedTuple):
    """Elements in order, and where they come from.

    Args:
        values: tensor of the elements.
        indices: int64 tensor of their former places.

    Example:
        >>> import paddle
        >>> paddle.compat.sort(paddle.to_tensor([1, 3, 2])).indices.tolist()
        [0, 2, 1]
    """

    values: Tensor
    indices: Tensor


@public("paddle.compat")
class SlogdetResult(NamedTuple):
    """Determinants as their sign and the logarithm of their size.

    Args:
        sign: tensor of the signs.
        logabsdet: tensor of the logarithms.

    Example:
        >>> import paddle
        >>> paddle.compat.slogdet(paddle.eye(2)).sign.item()
        1.0
    """

    sign: Tensor
    logabsdet: Tensor


@public("paddle.compat", usual=False)
def equal(input: Tensor, other: Tensor) -> bool:
    """Say whether two tensors have one shape and equal elements.

    Args:
        input: tensor of any shape and dtype.
        other: tensor of any shape and dtype; the two are promoted.

    Returns:
        A bool; NaN is not equal to itself.

    Raises:
        TypeError: an operand is not a tensor.

    Example:
        >>> import paddle
        >>> paddle.compat.equal(paddle.ones([2]), paddle.ones([3]))
        False
    """
    need_tensor(input, "equal", "input")
    need_tensor(other, "equal", "other")
    if input.shape != other.shape:
        return False
    inexact = [x.dtype for x in (input, other) if x.dtype.is_floating or x.dtype.is_complex]
    if len(inexact) < 2 and input.dtype is not other.dtype:
        common = inexact[0] if inexact else "int64"
        input, other = input.astype(common), other.astype(common)
    return bool((input == other).all().item())


def _extremum(input: Tensor, args: tuple, kwargs: dict[str, Any], op: str) -> Any:
    """The extremum of all, along a dim, or of two tensors: ``max(input)``, ``max(input, dim, keepdim)``,
    ``max(input, other)``."""
    need_tensor(input, op, "input")
    names = ("other",) if "other" in kwargs or (args and isinstance(args[0], Tensor)) else ("dim", "keepdim")
    if len(args) > len(names) or not set(kwargs) <= set(names[len(args) :]):
        got = ", ".join([*(type(a).__name__ for a in args), *(f"{k}=" for k in kwargs)])
        raise op_error(TypeError, op, "no arguments, an int dim and keepdim, or a tensor other", f"({got})")
    given = dict(zip(names, args)) | kwargs
    if not given:
        return getattr(paddle, op)(input)
    if "other" in given:
        return (paddle.maximum if op == "max" else paddle.minimum)(input, need_tensor(given["other"], op, "other"))
    dim = given.get("dim")
    if not isinstance(dim, int) or isinstance(dim, bool):
        raise op_error(TypeError, op, "an int for dim", type(dim).__name__)
    if input.ndim == 0:
        axis_of(dim, 1, op)
        return MinMaxRetType(F.copy(input), paddle.zeros([], "int64"))
    k = axis_of(dim, input.ndim, op)
    numbers = input.astype("uint8") if input.dtype.is_bool else input
    indices = (paddle.argmax if op == "max" else paddle.argmin)(numbers, k, True)
    values = F.take_along(input, indices, k)
    if given.get("keepdim", False):
        return MinMaxRetType(values, indices)
    return MinMaxRetType(F.squeeze(values, (k,)), F.squeeze(indices, (k,)))


@public("paddle.compat", usual=False)
def max(input: Tensor, *args: Any, out: Any = None, **kwargs: Any) -> Any:
    """Greatest element: of all, along a dim with its index, or of each two of two tensors.

    Args:
        input: tensor of any shape and real dtype.
        args: nothing; a dim, an int that counts from the end if it is negative, and whether it stays with size 1; or a
            tensor, whose shape broadcasts.
        out: tensor, or for a dim a pair of tensors, that is written with the result and returned.
        kwargs: the same by name: ``dim`` and ``keepdim``, or ``other``.

    Returns:
        Tensor of input's dtype; for a dim :class:`MinMaxRetType`, of equal elements the index of the first. NaN
        counts as the greatest.

    Raises:
        TypeError: other arguments than these.
        IndexError: input has no such dim.
        ValueError: there are no elements.

    Example:
        >>> import paddle
        >>> x = paddle.to_tensor([[1, 4], [3, 2]])
        >>> paddle.compat.max(x).item(), paddle.compat.max(x, dim=1).values.tolist()
        (4, [4, 3])
    """
    return _extremum(input, args, kwargs, "max")


@public("paddle.compat", usual=False)
def min(input: Tensor, *args: Any, out: Any = None, **kwargs: Any) -> Any:
    """Least element: of all, along a dim with its index, or of each two of two tensors.

    Args:
        input: tensor of any shape and real dtype.
        args: nothing; a dim, an int that counts from the end if it is negative, and whether it stays with size 1; or a
            tensor, whose shape broadcasts.
        out: tensor, or for a dim a pair of tensors, that is written with the result and returned.
        kwargs: the same by name: ``dim`` and ``keepdim``, or ``other``.

    Returns:
        Tensor of input's dtype; for a dim :class:`MinMaxRetType`, of equal elements the index of the first. NaN
        counts as the least.

    Raises:
        TypeError: other arguments than these.
        IndexError: input has no such dim.
        ValueError: there are no elements.

    Example:
        >>> import paddle
        >>> x = paddle.to_tensor([[1, 4], [3, 2]])
        >>> paddle.compat.min(x).item(), paddle.compat.min(x, dim=1).values.tolist()
        (1, [1, 2])
    """
    return _extremum(input, args, kwargs, "min")


@public("paddle.compat", usual=False)
def median(input: Tensor, dim: int | None = None, keepdim: bool = False, *, out: Any = None) -> Any:
    """Middle element in ascending order, of an even number the lower one; NaN where there is one among the elements.

    Args:
        input: tensor of a real dtype.
        dim: the dim to reduce; negative counts from the end. None: all elements.
        keepdim: whether the dim stays, with size 1.
        out: tensor, or for a dim a pair of tensors, that is written with the result and returned.

    Returns:
        Tensor of input's dtype; for a dim :class:`MedianRetType`.

    Raises:
        TypeError: input is not a tensor, or is complex.
        IndexError: input has no such dim.
        ValueError: there are no elements.

    Example:
        >>> import paddle
        >>> paddle.compat.median(paddle.to_tensor([1.0, 4.0, 2.0, 3.0])).item()
        2.0
    """
    result = paddle.median(need_tensor(input, "median", "input"), dim, keepdim, "min")
    return result if dim is None else MedianRetType(*result)


@public("paddle.compat", usual=False)
def nanmedian(input: Tensor, dim: int | None = None, keepdim: bool = False, *, out: Any = None) -> Any:
    """Middle element in ascending order of those that are not NaN, of an even number the lower one.

    Args:
        input: tensor of a real dtype.
        dim: the dim to reduce; negative counts from the end. None: all elements.
        keepdim: whether the dim stays, with size 1.
        out: tensor, or for a dim a pair of tensors, that is written with the result and returned.

    Returns:
        Tensor of input's dtype, NaN where all elements are; for a dim :class:`MedianRetType`.

    Raises:
        TypeError: input is not a tensor, or is complex.
        IndexError: input has no such dim.
        ValueError: there are no elements.

    Example:
        >>> import paddle
        >>> paddle.compat.nanmedian(paddle.to_tensor([1.0, float("nan"), 3.0, 2.0])).item()
        2.0
    """
    result = paddle.nanmedian(need_tensor(input, "nanmedian", "input"), dim, keepdim, "min")
    return result if dim is None else MedianRetType(*result)


@public("paddle.compat", usual=False)
def sort(input: Tensor, dim: int = -1, descending: bool = False, stable: bool = False, out: Any = None) -> SortRetType:
    """Elements in order along a dim, and where they come from; NaN counts as the greatest.

    Args:
        input: tensor of any real dtype.
        dim: the dim to sort; negative counts from the end.
        descending: whether the order is descending.
        stable: accepted: the indices of equal elements ascend always.
        out: pair of tensors that are written with the result and returned.

    Returns:
        :class:`SortRetType` of tensors of input's shape.

    Raises:
        TypeError: input is not a tensor, or is complex.
        IndexError: input has no such dim.

    Example:
        >>> import paddle
        >>> paddle.compat.sort(paddle.to_tensor([3, 1, 2])).values.tolist()
        [1, 2, 3]
    """
    if need_tensor(input, "sort", "input").ndim == 0:
        axis_of(dim, 1, "sort")
        return SortRetType(F.copy(input), paddle.zeros([], "int64"))
    return SortRetType(*F.sort(input, axis_of(dim, input.ndim, "sort"), bool(descending), True))


@public("paddle.compat", usual=False)
def slogdet(x: Tensor, out: Any = None) -> SlogdetResult:
    """Sign of the determinants of square matrices, and the logarithm of their size.

    Args:
        x: floating or complex matrices, ``[..., n, n]``.
        out: pair of tensors that are written with the result and returned.

    Returns:
        :class:`SlogdetResult` of tensors of x's leading dims; of a singular matrix 0 and ``-inf``.

    Raises:
        TypeError: x is no tensor, or is float16 or bfloat16.
        ValueError: a matrix is not square.

    Example:
        >>> import paddle
        >>> paddle.compat.slogdet(paddle.eye(2) * -1).sign.item()
        1.0
    """
    from paddle.tensor._matrices import matrix

    return SlogdetResult(*F.slogdet(matrix(x, "slogdet", True)))


@public("paddle.compat", usual=False)
def split(tensor: Tensor, split_size_or_sections: int | Sequence[int], dim: int = 0) -> tuple[Tensor, ...]:
    """Parts of a tensor along a dim: of one size, the last one maybe smaller, or of given sizes.

    Args:
        tensor: tensor of rank 1 or more, of any dtype.
        split_size_or_sections: the size of each part, or the sizes of all, which add up to that of the dim.
        dim: the dim to divide; negative counts from the end.

    Returns:
        Tuple of tensors.

    Raises:
        TypeError: sizes that are not integers.
        IndexError: there is no such dim.
        ValueError: a size below 1 for all parts, or sizes that do not add up.

    Example:
        >>> import paddle
        >>> [part.tolist() for part in paddle.compat.split(paddle.arange(5), 2)]
        [[0, 1], [2, 3], [4]]
    """
    k = axis_of(dim, need_tensor(tensor, "split", "tensor").ndim, "split")
    length = tensor.shape[k]
    if isinstance(split_size_or_sections, (list, tuple)):
        sizes = list(split_size_or_sections)
    elif isinstance(split_size_or_sections, int):
        size = split_size_or_sections
        if size < 1 and not (size == 0 and length == 0):
            raise op_error(ValueError, "split", "parts of at least 1 element", size)
        sizes = [builtins.min(size, length - at) for at in range(0, length, size)] if length else [0]
    else:
        got = type(split_size_or_sections).__name__
        raise op_error(TypeError, "split", "an int, or a list or tuple of ints", got)
    if len(sizes) == 1 and sizes[0] == length:
        return (F.copy(tensor),)
    return tuple(paddle.split(tensor, sizes, k))


@public("paddle.compat", usual=False)
def unique(
    input: Tensor,
    sorted: bool = True,
    return_inverse: bool = False,
    return_counts: bool = False,
    dim: int | None = None,
) -> Any:
    """Different elements of a tensor, or different slices along a dim, in ascending order.

    Args:
        input: tensor of any real dtype.
        sorted: accepted: the result is sorted always.
        return_inverse: whether to return where each element of input stands in the result.
        return_counts: whether to return how often each element is there.
        dim: the dim whose slices are compared; negative counts from the end. None: all elements.

    Returns:
        Tensor of input's dtype; with one of the flags a tuple of it and the int64 tensors asked for. Without a dim the
        places have input's shape.

    Raises:
        TypeError: input is not a tensor.
        IndexError: input has no such dim.

    Example:
        >>> import paddle
        >>> values, counts = paddle.compat.unique(paddle.to_tensor([3, 1, 3]), return_counts=True)
        >>> values.tolist(), counts.tolist()
        ([1, 3], [1, 2])
    """
    result = paddle.unique(
        need_tensor(input, "unique", "input"), return_inverse=return_inverse, return_counts=return_counts, axis=dim
    )
    if return_inverse and dim is None:
        return (result[0], F.reshape(result[1], tuple(input.shape)), *result[2:])
    return result


@public("paddle.compat", usual=False)
def seed() -> int:
    """Seed the random number generators with a number that differs from call to call.

    Returns:
        The number, an int.

    Example:
        >>> import paddle
        >>> paddle.compat.seed() >= 0
        True
    """
    number = secrets.randbits(63)
    paddle.seed(number)
    return number
