"""Rows that move between the host and a device while both work: ``paddle.base.core.eager.async_read``, and back."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np

from paddle._public import need_tensor
from umiak.backends.copy_streams import CPU, CopyStreams
from umiak.core.array import to_numpy
from umiak.core.context import no_grad_guard
from umiak.core.tensor import Tensor
from umiak.util.errors import op_error


@cache
def _streams() -> CopyStreams:
    return CopyStreams()


def async_read(src: Tensor, dst: Tensor, index: Tensor, buffer: Tensor, offset: Tensor, count: Tensor) -> None:
    """Begin to copy rows of a tensor of the host to a device: ranges of rows, and behind them single ones.

    Later work of the device's current stream comes after the copies. Until it is done, ``src`` and ``buffer`` may not
    be written to.

    Args:
        src: a tensor of the host, ``[n, …]``.
        dst: a tensor of any place and the same dtype, ``[m, …]``, whose first rows are written.
        index: int64, ``[k]``: the single rows.
        buffer: a tensor of the host like ``src``, of at least ``k`` rows, that the single rows are gathered in.
        offset: int64, ``[r]``: the first row of each range.
        count: int64, ``[r]``: the number of its rows.

    Raises:
        ValueError: tensors that differ in dtype or in the sizes of a row; a place that is not the host's; rows that
            ``src`` does not have; more of them than ``dst`` or ``buffer`` has.

    Example:
        >>> import paddle
        >>> from paddle.base import core
        >>> src, dst, buffer = paddle.arange(12.0).reshape([6, 2]), paddle.zeros([3, 2]), paddle.zeros([1, 2])
        >>> index, offset, count = (paddle.to_tensor([i]) for i in (5, 0, 2))
        >>> core.eager.async_read(src, dst, index, buffer, offset, count)
        >>> dst.tolist()
        [[0.0, 1.0], [2.0, 3.0], [10.0, 11.0]]
    """
    name = "async_read"
    for x, label in ((src, "src"), (buffer, "buffer")):
        _check_like(name, dst, "dst", x, label)
        _check_host(name, x, label)
    ranges, rows = _ranges(name, offset, count), _integers(name, index, "index")
    for first, n in ranges:
        _check_rows(name, src, "src", first, n)
    if rows.size and not 0 <= rows.min() <= rows.max() < src.shape[0]:
        raise op_error(ValueError, name, f"rows from 0 to {src.shape[0] - 1} as index", f"{rows.min()} to {rows.max()}")
    _check_rows(name, buffer, "buffer", 0, rows.size)
    total = sum(n for _, n in ranges)
    _check_rows(name, dst, "dst", 0, total + rows.size)
    if rows.size:
        np.take(to_numpy(src.detach()), rows, axis=0, out=to_numpy(buffer.detach())[: rows.size])
        buffer._bump_version()
    at = 0
    for first, n in ranges:
        _start(dst, at, src, first, n)
        at += n
    _start(dst, at, buffer, 0, rows.size)
    dst._bump_version()


def async_write(src: Tensor, dst: Tensor, offset: Tensor, count: Tensor) -> None:
    """Begin to copy the rows of a tensor of a device to ranges of rows of one of the host.

    They have arrived when the device's current stream has been waited for. Until then, neither may be written to.

    Args:
        src: a tensor of any place, ``[n, …]``, whose first rows are read, one range after the other.
        dst: a tensor of the host and the same dtype, ``[m, …]``.
        offset: int64, ``[r]``: the first row of each range.
        count: int64, ``[r]``: the number of its rows.

    Raises:
        ValueError: tensors that differ in dtype or in the sizes of a row; ``dst`` of a device; ranges that ``dst`` does
            not have, or of more rows than ``src`` has.

    Example:
        >>> import paddle
        >>> from paddle.base import core
        >>> src, dst = paddle.ones([2, 1]), paddle.zeros([4, 1])
        >>> core.eager.async_write(src, dst, paddle.to_tensor([1]), paddle.to_tensor([2]))
        >>> dst.flatten().tolist()
        [0.0, 1.0, 1.0, 0.0]
    """
    name = "async_write"
    _check_like(name, src, "src", dst, "dst")
    _check_host(name, dst, "dst")
    ranges = _ranges(name, offset, count)
    for first, n in ranges:
        _check_rows(name, dst, "dst", first, n)
    _check_rows(name, src, "src", 0, sum(n for _, n in ranges))
    at = 0
    for first, n in ranges:
        _start(dst, first, src, at, n)
        at += n
    dst._bump_version()


def _start(dst: Tensor, to: int, src: Tensor, first: int, n: int) -> None:
    if n:
        with no_grad_guard():
            copy = _streams().start(dst.detach()[to : to + n], src.detach()[first : first + n])
        copy.order()


def _check_like(name: str, x: Tensor, label: str, y: Tensor, other: str) -> None:
    for z, z_label in ((x, label), (y, other)):
        need_tensor(z, name, z_label)
        if not z.ndim or not z.is_contiguous():
            raise op_error(
                ValueError, name, f"{z_label} with an axis of rows, its elements one after the other",
                f"shape {list(z.shape)}",
            )  # fmt: skip
    if x.dtype is not y.dtype or list(x.shape[1:]) != list(y.shape[1:]):
        raise op_error(
            ValueError, name, f"{other} with rows like those of {label}, {x.dtype.name} of shape {list(x.shape[1:])}",
            f"{y.dtype.name} of shape {list(y.shape[1:])}",
        )  # fmt: skip


def _check_host(name: str, x: Tensor, label: str) -> None:
    if x.place is not CPU:
        raise op_error(ValueError, name, f"{label} in the memory of the host", x.place.name)


def _check_rows(name: str, x: Tensor, label: str, first: int, n: int) -> None:
    if not 0 <= first <= first + n <= x.shape[0]:
        raise op_error(ValueError, name, f"rows {first} to {first + n} of {label}", f"{x.shape[0]} rows")


def _integers(name: str, x: Any, label: str) -> np.ndarray:
    need_tensor(x, name, label)
    if x.dtype.name != "int64" or x.ndim != 1:
        raise op_error(ValueError, name, f"int64 of one axis as {label}", f"{x.dtype.name} of shape {list(x.shape)}")
    return x.numpy()


def _ranges(name: str, offset: Tensor, count: Tensor) -> Sequence[tuple[int, int]]:
    firsts, lengths = _integers(name, offset, "offset"), _integers(name, count, "count")
    if firsts.size != lengths.size:
        raise op_error(ValueError, name, f"{firsts.size} numbers as count, one for each of offset", lengths.size)
    return list(zip(firsts.tolist(), lengths.tolist(), strict=True))
