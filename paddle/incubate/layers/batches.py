"""Columns of several batches side by side or summed, and a batch in another order."""

from __future__ import annotations

import math
from typing import Any

from paddle._public import need_tensor, public
from paddle.tensor._args import create_on, integer
from paddle.tensor.random import randperm
from umiak import ops as F
from umiak.core import dtype as dt
from umiak.core.generator import Generator
from umiak.core.tensor import Tensor
from umiak.util.errors import op_error


def _columns(op: str, given: Any, start_index: Any, length: Any) -> list[Tensor]:
    """The chosen columns of each matrix."""
    found = [given] if isinstance(given, Tensor) else list(given) if isinstance(given, (list, tuple)) else []
    if not found:
        raise op_error(ValueError, op, "a list of tensors as input", repr(given)[:80])
    for x in found:
        if need_tensor(x, op, "input").ndim != 2:
            raise op_error(ValueError, op, "matrices", f"shape {tuple(x.shape)}")
        if x.shape != found[0].shape or x.dtype is not found[0].dtype:
            got = [f"{x.dtype.name} {tuple(x.shape)}" for x in found]
            raise op_error(ValueError, op, "matrices of one shape and dtype", got)
    columns = found[0].shape[1]
    start, size = integer(start_index, op, "start_index"), integer(length, op, "length")
    if not -columns <= start < columns:
        raise op_error(ValueError, op, f"a start_index from {-columns} to {columns - 1}", start)
    start += columns if start < 0 else 0
    size = columns - start if size < 0 else size
    if start + size > columns:
        raise op_error(IndexError, op, f"a length of at most {columns - start} from column {start}", size)
    return [F.slice(x, (1,), (start,), (size,), (1,)) for x in found]


@public("paddle.incubate.layers", usual=False)
def partial_concat(input: Any, start_index: int = 0, length: int = -1) -> Tensor:
    """Columns of several matrices side by side.

    Args:
        input: matrix, or list of matrices of one shape and dtype.
        start_index: the first column; negative counts from the end.
        length: how many columns of each matrix; negative: all that follow.

    Returns:
        Matrix of the columns of the first one, of the second one, and so on.

    Raises:
        TypeError: a value that is not a tensor.
        ValueError: matrices differ, or have no such column.
        IndexError: there are not so many columns.

    Example:
        >>> import paddle
        >>> x, y = paddle.to_tensor([[0, 1, 2], [3, 4, 5]]), paddle.to_tensor([[6, 7, 8], [9, 10, 11]])
        >>> paddle.incubate.layers.partial_concat([x, y], start_index=0, length=2).tolist()
        [[0, 1, 6, 7], [3, 4, 9, 10]]
    """
    parts = _columns("partial_concat", input, start_index, length)
    return F.concat(parts, axis=1)


@public("paddle.incubate.layers", usual=False)
def partial_sum(input: Any, start_index: int = 0, length: int = -1) -> Tensor:
    """Sum of columns of several matrices.

    Args:
        input: list of matrices of one shape and dtype.
        start_index: the first column; negative counts from the end.
        length: how many columns; negative: all that follow.

    Returns:
        Matrix of ``length`` columns.

    Raises:
        TypeError: a value that is not a tensor, or a matrix of bools.
        ValueError: matrices differ, or have no such column.
        IndexError: there are not so many columns.

    Example:
        >>> import paddle
        >>> x, y = paddle.to_tensor([[0, 1, 2], [3, 4, 5]]), paddle.to_tensor([[6, 7, 8], [9, 10, 11]])
        >>> paddle.incubate.layers.partial_sum([x, y], start_index=0, length=2).tolist()
        [[6, 8], [12, 14]]
    """
    total, *others = _columns("partial_sum", input, start_index, length)
    if total.dtype.is_bool:
        raise op_error(TypeError, "partial_sum", "matrices of numbers", "bool")
    for part in others:
        total = F.add(total, part)
    return total if others else F.copy(total)


@public("paddle.incubate.layers", usual=False)
def shuffle_batch(x: Tensor, seed: Any = None) -> Tensor:
    """Rows of the last axis in random order.

    Args:
        x: tensor of rank 1 or more. All axes but the last one are counted together.
        seed: an int or a tensor of one: where the order of this call comes from; None: the generator of the device.

    Returns:
        Tensor of x's shape and dtype.

    Raises:
        TypeError: x is not a tensor, or seed is not an integer.
        ValueError: x is of rank 0.

    Example:
        >>> import paddle
        >>> x = paddle.to_tensor([[1, 2], [3, 4], [5, 6]])
        >>> sorted(paddle.incubate.layers.shuffle_batch(x).tolist())
        [[1, 2], [3, 4], [5, 6]]
    """
    op = "shuffle_batch"
    if not need_tensor(x, op).ndim:
        raise op_error(ValueError, op, "an x of rank 1 or more", "a 0-d tensor")
    *around, last = x.shape
    rows = math.prod(around)
    if seed is None:
        order = create_on(x.place, randperm, rows)
    else:
        words = Generator(integer(seed, op, "seed")).reserve(0)
        order = create_on(x.place, F.rand_perm, dt.int64, rows, *words)
    return F.reshape(F.take(F.reshape(x, (rows, last)), order, axis=0), tuple(x.shape))
