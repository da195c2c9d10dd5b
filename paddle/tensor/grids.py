"""Grids, combinations and powers of the elements of vectors."""

from __future__ import annotations

import builtins
import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np

from paddle._public import public
from paddle.tensor._args import OperandError, cast, create_on, integer, need_tensor, op_error
from umiak import ops as F
from umiak.core import dtype as dt
from umiak.core.array import from_numpy as _from_numpy
from umiak.core.tensor import Tensor


@public("paddle paddle.tensor")
def meshgrid(*args: Any, **kwargs: Any) -> list[Tensor]:
    """Coordinates of a grid: for each 1-d tensor, its elements at all points.

    Args:
        *args: tensors of rank 0 or 1, of any dtype, separately or in one list.
        **kwargs: ``indexing``: ``"ij"``, the default, puts the first tensor along the first dim and the second along
            the second; ``"xy"`` swaps these two.

    Returns:
        List of tensors, one for each of those given and of its dtype, all of one shape.

    Raises:
        TypeError: an argument is not a tensor, or there is no such keyword.
        ValueError: a tensor has a rank above 1, or there is no such indexing.

    Example:
        >>> import paddle
        >>> a, b = paddle.meshgrid(paddle.arange(2), paddle.arange(3))
        >>> a.tolist(), b.tolist()
        ([[0, 0, 0], [1, 1, 1]], [[0, 1, 2], [0, 1, 2]])
    """
    indexing = kwargs.pop("indexing", None) or "ij"
    kwargs.pop("name", None)
    if kwargs:
        raise TypeError(f"meshgrid() got an unexpected keyword argument {next(iter(kwargs))!r}")
    if indexing not in ("ij", "xy"):
        raise op_error(ValueError, "meshgrid", "an indexing of 'ij' or 'xy'", repr(indexing))
    tensors = list(args[0]) if len(args) == 1 and isinstance(args[0], (list, tuple)) else list(args)
    for x in tensors:
        if need_tensor(x, "meshgrid").ndim > 1:
            raise op_error(ValueError, "meshgrid", "1-d tensors", x.shape)
    swap = indexing == "xy" and len(tensors) > 1
    if swap:
        tensors[:2] = tensors[1::-1]
    shape = tuple(x._count for x in tensors)
    out = []
    for k, x in enumerate(tensors):
        column = F.reshape(x, tuple(x._count if i == k else 1 for i in builtins.range(len(shape))))
        out.append(F.copy(F.broadcast_to(column, shape)))
    if swap:
        out[:2] = out[1::-1]
    return out


@public("paddle paddle.tensor", usual=False)
def cartesian_prod(x: Sequence[Tensor], name: str | None = None) -> Tensor:
    """Cartesian product: every combination of one element from each of several 1-d tensors.

    Args:
        x: a list or tuple of tensors of rank 0 or 1 and of one dtype.

    Returns:
        Tensor with a row for each choice and a column for each tensor; of a single tensor, that tensor.

    Raises:
        TypeError: x is not a list or tuple of tensors, or dtypes differ.
        ValueError: a tensor has a rank above 1, or there is no tensor.

    Example:
        >>> import paddle
        >>> paddle.cartesian_prod([paddle.arange(2), paddle.arange(2)]).tolist()
        [[0, 0], [0, 1], [1, 0], [1, 1]]
    """
    if not isinstance(x, (list, tuple)):
        raise op_error(TypeError, "cartesian_prod", "a list or tuple of tensors", type(x).__name__)
    tensors = [need_tensor(v, "cartesian_prod", "each of x") for v in x]
    if len(tensors) == 1:
        return tensors[0]
    grids = meshgrid(tensors)
    return F.stack([F.reshape(g, (g._count,)) for g in grids], axis=1)


@public
def combinations(x: Tensor, r: int = 2, with_replacement: bool = False, name: str | None = None) -> Tensor:
    """Combinations of ``r`` elements of a vector, one in each row, in lexicographic order of their indices.

    Args:
        x: 1-d tensor of any dtype.
        r: the number of elements in a combination, 0 or more.
        with_replacement: whether an element may be chosen more than once.

    Returns:
        Tensor of x's dtype ``[number of combinations, r]``; for ``r = 0`` an empty tensor ``[0]``.

    Raises:
        TypeError: x is not a tensor.
        ValueError: x is not 1-d, or ``r`` is negative.

    Example:
        >>> import paddle
        >>> paddle.combinations(paddle.to_tensor([1, 2, 3])).tolist()
        [[1, 2], [1, 3], [2, 3]]
    """
    if need_tensor(x, "combinations").ndim != 1:
        raise op_error(OperandError, "combinations", "a 1-d tensor", x.shape)
    r = integer(r, "combinations", "r")
    if r < 0:
        raise op_error(ValueError, "combinations", "an r of 0 or more", r)
    if r == 0:
        return create_on(x.place, F.full, 0, x.dtype, (0,))
    choose = itertools.combinations_with_replacement if with_replacement else itertools.combinations
    rows = np.array(list(choose(builtins.range(x.size), r)), np.int64).reshape(-1, r)
    return F.take(x, _from_numpy(rows, x.place), axis=0)


@public
def vander(x: Tensor, n: int | None = None, increasing: bool = False, name: str | None = None) -> Tensor:
    """Vandermonde matrix: powers of a vector as columns.

    Args:
        x: 1-d tensor of a numeric dtype.
        n: the number of columns; by default the size of x.
        increasing: whether powers rise from 0; otherwise they fall to 0.

    Returns:
        Tensor of x's dtype, with a row for each element and ``n`` columns.

    Raises:
        TypeError: x is not a tensor.
        ValueError: x is not 1-d, or ``n`` is negative.

    Example:
        >>> import paddle
        >>> paddle.vander(paddle.to_tensor([1, 2, 3]), 3).tolist()
        [[1, 1, 1], [4, 2, 1], [9, 3, 1]]
    """
    if need_tensor(x, "vander").ndim != 1:
        raise op_error(ValueError, "vander", "a 1-d tensor", x.shape)
    n = x.shape[0] if n is None else integer(n, "vander", "n")
    if n < 0:
        raise op_error(ValueError, "vander", "an n of 0 or more", n)
    powers = create_on(x.place, F.iota, 0 if increasing else n - 1, 1 if increasing else -1, dt.int64, n)
    return F.pow(F.unsqueeze(x, (1,)), cast(powers, x.dtype))
