"""Matrix products of rows that belong to groups, each with a matrix of its own."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from paddle._public import need_tensor, public
from paddle.tensor._args import integers
from umiak import ops as F
from umiak.core.tensor import Tensor
from umiak.ir import sym as dim
from umiak.util.errors import op_error

_OP = "batched_gemm"


@public("paddle.incubate.nn.functional", usual=False)
def batched_gemm(
    lhs: Tensor, rhs: Tensor, batch_sizes: Sequence[int], trans_lhs: bool = False, trans_rhs: bool = False
) -> Tensor:
    """Product of each group of consecutive rows with the matrix of the group, as experts have it.

    Args:
        lhs: floating matrix ``[rows, k]``.
        rhs: tensor ``[groups, k, n]`` of its dtype, ``[groups, n, k]`` with ``trans_rhs``; with ``trans_lhs`` the
            matrix ``[rows, n]``.
        batch_sizes: how many rows each group has; they add up to ``rows``.
        trans_lhs: multiply the transposed rows of a group of lhs by those of rhs, as the gradient of matrices is.
        trans_rhs: whether each matrix is transposed.

    Returns:
        Tensor ``[rows, n]`` of their dtype; with ``trans_lhs`` ``[groups, k, n]``.

    Raises:
        TypeError: operands that are not floating, or of different dtypes.
        ValueError: shapes that do not fit, sizes that are negative or have another sum, or both transposed.

    Example:
        >>> import paddle
        >>> from paddle.incubate.nn.functional import batched_gemm
        >>> rows, matrices = paddle.to_tensor([[1.0], [2.0], [3.0]]), paddle.to_tensor([[[10.0]], [[100.0]]])
        >>> batched_gemm(rows, matrices, [2, 1]).tolist()
        [[10.0], [20.0], [300.0]]
        >>> batched_gemm(rows, rows, [2, 1], trans_lhs=True).tolist()
        [[[5.0]], [[9.0]]]
    """
    sizes = integers(batch_sizes, _OP, "batch_sizes")
    _check(lhs, rhs, sizes, trans_lhs, trans_rhs)
    groups, rows = len(sizes), lhs.shape[0]
    if trans_lhs:
        if len(set(sizes)) == 1:
            return F.matmul(_cut(lhs, groups, sizes[0]), _cut(rhs, groups, sizes[0]), transpose_x=True)
        pairs = zip(_parts(lhs, sizes), _parts(rhs, sizes), strict=True)
        return F.stack([F.matmul(x, y, transpose_x=True) for x, y in pairs], axis=0)
    transposed = bool(trans_rhs)
    if len(set(sizes)) == 1:
        out = F.matmul(_cut(lhs, groups, sizes[0]), rhs, transpose_y=transposed)
        return F.reshape(out, shape=(rows, out.shape[2]))
    matrices = (F.reshape(y, shape=tuple(rhs.shape[1:])) for y in _parts(rhs, (1,) * groups))
    parts = [F.matmul(x, y, transpose_y=transposed) for x, y in zip(_parts(lhs, sizes), matrices, strict=True)]
    return F.concat(parts, axis=0)


def _check(lhs: Any, rhs: Any, sizes: tuple[int, ...], trans_lhs: bool, trans_rhs: bool) -> None:
    for name, x in (("lhs", lhs), ("rhs", rhs)):
        if not need_tensor(x, _OP, name).dtype.is_floating:
            raise op_error(TypeError, _OP, f"a floating {name}", x.dtype.name)
    if lhs.dtype is not rhs.dtype:
        raise op_error(TypeError, _OP, "lhs and rhs of one dtype", f"{lhs.dtype.name} and {rhs.dtype.name}")
    if trans_lhs and trans_rhs:
        raise op_error(ValueError, _OP, "trans_lhs or trans_rhs", "both")
    if not sizes or any(n < 0 for n in sizes):
        raise op_error(ValueError, _OP, "a batch size of 0 or more for each group", list(sizes))
    shapes = f"{list(lhs.shape)} and {list(rhs.shape)}"
    if trans_lhs:
        if lhs.ndim != 2 or rhs.ndim != 2 or not dim.eq(lhs.shape[0], rhs.shape[0]):
            raise op_error(ValueError, _OP, "lhs [rows, k] and rhs [rows, n] with trans_lhs", shapes)
    elif lhs.ndim != 2 or rhs.ndim != 3 or not dim.eq(lhs.shape[1], rhs.shape[2 if trans_rhs else 1]):
        required = "lhs [rows, k] and rhs " + ("[groups, n, k]" if trans_rhs else "[groups, k, n]")
        raise op_error(ValueError, _OP, required, shapes)
    elif not dim.eq(rhs.shape[0], len(sizes)):
        raise op_error(ValueError, _OP, f"rhs of {len(sizes)} groups, as batch_sizes has", rhs.shape[0])
    if not dim.eq(lhs.shape[0], sum(sizes)):
        raise op_error(ValueError, _OP, f"batch_sizes that add up to the {lhs.shape[0]} rows of lhs", sum(sizes))


def _cut(x: Tensor, groups: int, size: int) -> Tensor:
    return F.reshape(x, shape=(groups, size, x.shape[1]))


def _parts(x: Tensor, sizes: tuple[int, ...]) -> list[Tensor]:
    starts = [sum(sizes[:i]) for i in range(len(sizes))]
    return [F.slice(x, axes=(0,), starts=(s,), sizes=(n,), steps=(1,)) for s, n in zip(starts, sizes, strict=True)]
