"""Tensors over memory that is there already: buffers of Python and files that are mapped."""

from __future__ import annotations

import mmap
import os
from operator import index
from typing import Any

import numpy as np

from paddle._public import public
from paddle.framework.place import CPUPlace
from paddle.tensor._args import op_error
from umiak.core import dtype as dt
from umiak.core.array import from_numpy
from umiak.core.dtype import DType
from umiak.core.tensor import Tensor
from umiak.util.regular_file import NotRegular, open_regular

# Every dtype of whole bytes may view a tensor of bytes, so these must start where the widest one may.
_ALIGNMENT = 8


def _dtype(dtype: Any, op: str) -> DType:
    d = dt.convert(dtype)
    if d.is_packed:
        raise op_error(TypeError, op, "a dtype of whole bytes", d)
    return d


def _integer(x: Any, arg_name: str, op: str) -> int:
    try:
        return index(x)
    except TypeError:
        raise op_error(TypeError, op, f"an int as {arg_name}", f"{x!r} ({type(x).__name__})") from None


def _over(memory: memoryview, d: DType, count: int, offset: int, step: int = 1) -> Tensor:
    """Every ``step``-th of ``count`` elements from a byte on, which lie in the memory; shared where tensors can."""
    if not count:
        return from_numpy(np.empty(0, d.numpy), CPUPlace())
    array = np.frombuffer(memory, np.uint8, count * d.itemsize, offset)
    if array.ctypes.data % (_ALIGNMENT if d is dt.uint8 else 1):
        array = array.copy()
    return from_numpy(array.view(d.numpy)[::step], CPUPlace(), copy=None)


def frombuffer(buffer: Any, dtype: Any, count: int = -1, offset: int = 0) -> Tensor:
    """One-dimensional tensor of the bytes of a buffer.

    Args:
        buffer: a contiguous object with the buffer protocol: ``bytes``, ``bytearray``, ``memoryview``, an array.
        dtype: dtype of the elements, in the byte order of the machine.
        count: number of elements; -1 takes all that follow ``offset``.
        offset: number of bytes before the first element.

    Returns:
        Tensor of ``dtype`` and shape ``[count]`` on the CPU. It shares the memory of a buffer that can be written
        and whose elements are aligned; otherwise it is a copy.

    Raises:
        TypeError: ``buffer`` is no buffer, ``count`` or ``offset`` is no int, or ``dtype`` has no whole bytes.
        ValueError: the buffer is not contiguous, or has not as many bytes as are asked for; with ``count=-1`` also
            where a part of an element is left.

    Example:
        >>> import paddle
        >>> data = bytearray([1, 0, 2, 0])
        >>> x = paddle.base.core.frombuffer(data, paddle.int16)
        >>> x.tolist()
        [1, 2]
        >>> data[0] = 5
        >>> x.tolist()
        [5, 2]
    """
    d = _dtype(dtype, "frombuffer")
    count, offset = _integer(count, "count", "frombuffer"), _integer(offset, "offset", "frombuffer")
    try:
        memory = memoryview(buffer)
    except TypeError:
        raise op_error(
            TypeError, "frombuffer", "an object with the buffer protocol", type(buffer).__name__, "Make it bytes."
        ) from None
    if not memory.c_contiguous:
        raise op_error(ValueError, "frombuffer", "a contiguous buffer", f"strides {memory.strides}", "Copy it.")
    size = memory.nbytes
    if not 0 <= offset <= size:
        raise op_error(ValueError, "frombuffer", f"an offset of 0 to {size}, the bytes of the buffer", offset)
    if count < -1:
        raise op_error(ValueError, "frombuffer", "a count of at least 0, or -1 for all", count)
    capacity, rest = divmod(size - offset, d.itemsize)
    if count > capacity:
        raise op_error(
            ValueError, "frombuffer", f"a count of at most {capacity} for {size - offset} bytes of {d.name}", count
        )
    if count == -1 and rest:
        raise op_error(
            ValueError, "frombuffer", f"whole elements of {d.itemsize} bytes ({d.name})", f"{size - offset} bytes"
        )
    return _over(memory, d, capacity if count == -1 else count, offset)


@public("paddle paddle.tensor")
class MmapStorage:
    """File whose bytes are read by the page, when a tensor over them is used.

    The mapping is private: what is written into a tensor shows in every other slice of the same storage, and never in
    the file. It lives as long as a tensor over it.

    Args:
        filename: path of a file; only its bytes count, not its format.
        nbytes: number of bytes from the start of the file that slices may lie in.

    Raises:
        OSError: the file cannot be opened for reading.
        TypeError: ``nbytes`` is no int.
        ValueError: ``nbytes`` is negative, or more than the file has; the file is a folder, a pipe or a device.

    Example:
        >>> import os, tempfile
        >>> import paddle
        >>> path = os.path.join(tempfile.mkdtemp(), "numbers")
        >>> paddle.arange(6, dtype="float32").numpy().tofile(path)
        >>> paddle.MmapStorage(path, 24).get_slice("float32", start=8, stop=11).tolist()
        [2.0, 3.0, 4.0]
    """

    def __init__(self, filename: str, nbytes: int) -> None:
        nbytes = _integer(nbytes, "nbytes", "MmapStorage")
        try:
            fd = open_regular(os.fspath(filename))
        except NotRegular as error:
            raise op_error(ValueError, "MmapStorage", f"a regular file as {filename!r}", error.kind) from None
        try:
            size = os.fstat(fd).st_size
            if not 0 <= nbytes <= size:
                raise op_error(ValueError, "MmapStorage", f"nbytes of 0 to {size}, the size of {filename!r}", nbytes)
            self._memory = memoryview(mmap.mmap(fd, nbytes, access=mmap.ACCESS_COPY) if nbytes else b"")
        finally:
            os.close(fd)

    def get_slice(self, dtype: Any = "uint8", start: int = 0, stop: int = -1, step: int = 1) -> Tensor:
        """Slice ``stop - start`` elements that lie one after the other from the byte ``start`` on.

        Args:
            dtype: dtype of the elements, in the byte order of the machine.
            start: the byte at which the first element begins.
            stop: ``start`` plus the number of elements, whatever their size: for bytes it is where they end. -1
                takes every whole element up to the end.
            step: distance of the elements that are taken, at least 1.

        Returns:
            Tensor of ``dtype`` on the CPU with one dim. It shares the memory of the storage, unless the elements are
            not aligned.

        Raises:
            TypeError: ``dtype`` has no whole bytes, or another argument is no int.
            ValueError: elements outside of the storage, or a step below 1.

        Example:
            >>> import os, tempfile
            >>> import paddle
            >>> path = os.path.join(tempfile.mkdtemp(), "bytes")
            >>> with open(path, "wb") as file:
            ...     n = file.write(bytes(range(10)))
            >>> storage = paddle.MmapStorage(path, 10)
            >>> storage.get_slice(start=2, stop=5).tolist()
            [2, 3, 4]
            >>> storage.get_slice(step=3).tolist()
            [0, 3, 6, 9]
        """
        op = "MmapStorage.get_slice"
        d = _dtype(dtype, op)
        start, stop, step = _integer(start, "start", op), _integer(stop, "stop", op), _integer(step, "step", op)
        size = len(self._memory)
        if not 0 <= start <= size:
            raise op_error(ValueError, op, f"a start of 0 to {size}, the mapped bytes", start)
        if step < 1:
            raise op_error(ValueError, op, "a step of at least 1", step)
        capacity = (size - start) // d.itemsize
        count = capacity if stop == -1 else stop - start
        if not 0 <= count <= capacity:
            raise op_error(
                ValueError,
                op,
                f"a stop of {start} to {start + capacity} ({capacity} elements of {d.name} from byte {start}), or -1",
                stop,
            )
        return _over(self._memory, d, count, start, step)
