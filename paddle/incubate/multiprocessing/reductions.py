"""Tensors for the pickles of :mod:`multiprocessing`: of the memory, descriptors that both processes have open."""

from __future__ import annotations

import os
import weakref
from collections.abc import Sequence
from multiprocessing.reduction import DupFd, ForkingPickler
from typing import Any

import numpy as np

from paddle.framework.parameter import Parameter
from paddle.tensor.pickling import own_attributes, with_class
from umiak import backends
from umiak.core import dtype as dt
from umiak.core.array import from_numpy, to_numpy
from umiak.core.dtype import DType
from umiak.core.place import Place
from umiak.core.tensor import Tensor
from umiak.util import shared_memory
from umiak.util.errors import op_error
from umiak.util.shared_memory import Segment


class Block(np.ndarray):
    """Shared memory of the host; its descriptor stays open as long as a tensor lies there, which may be sent again."""

    descriptor: int

    @classmethod
    def over(cls, segment: Segment, descriptor: int) -> Block:
        block = np.frombuffer(segment, np.uint8).view(cls)  # type: ignore[call-overload]
        block.descriptor = descriptor
        weakref.finalize(block, os.close, descriptor)
        _blocks[block.ctypes.data] = block
        return block


class Elements(np.ndarray):
    """An array over a block, which lives as long: NumPy itself keeps the segment, and not the block."""

    block: Block

    @classmethod
    def of(cls, block: Block, dtype: DType, shape: Sequence[int], *where: Any) -> Elements:
        """``where``: the byte that it begins at, and strides in bytes."""
        array = cls.__new__(cls, tuple(shape), dtype.numpy, block, *where)
        array.block = block
        return array


_HOST = Place("cpu")
_blocks: weakref.WeakValueDictionary[int, Block] = weakref.WeakValueDictionary()  # by address


def _block_of(x: Tensor) -> Block:
    """The shared memory that a tensor of the host lies in; one that lies in none is moved there."""
    for address, block in _blocks.items():
        if address <= x.data_ptr() < address + block.nbytes:
            return block
    block = Block.over(*shared_memory.create(x.size * x.dtype.itemsize))
    array = Elements.of(block, x.dtype, x.shape)
    np.copyto(array, to_numpy(x.detach()))
    x._share(from_numpy(array, _HOST, copy=False))
    return block


def _tensor_in_block(
    kind: tuple, descriptor: Any, nbytes: int, offset: int, dtype: str, shape: Sequence[int], strides: Sequence[int]
) -> Tensor:
    d, fd = dt.convert(dtype), descriptor.detach()
    block = Block.over(Segment(fd, nbytes), fd)
    array = Elements.of(block, d, shape, offset, tuple(n * d.itemsize for n in strides))
    return with_class(from_numpy(array, _HOST, copy=False), *kind)


def _tensor_of_device(
    kind: tuple, place: tuple[str, int], shared: Any, descriptor: Any, dtype: str, shape: list[int], strides: list[int]
) -> Tensor:
    here = Place(*place)
    sharing = backends.get(here).sharing(here)
    if sharing is None:
        raise op_error(
            RuntimeError, "multiprocessing", "devices that the sender has", f"no {place[0]} that shares memory"
        )
    return with_class(sharing.receive(shared, descriptor.detach(), (dt.convert(dtype), shape, strides)), *kind)


def _reduce(x: Tensor) -> Any:
    if not x.is_leaf and not x.stop_gradient:
        raise op_error(
            RuntimeError, "multiprocessing", "a tensor without history", "one that gradients pass through",
            "Send x.detach().",
        )  # fmt: skip
    kind = type(x), x.stop_gradient, own_attributes(x)
    place = x.place
    if not x.size or x.dtype.is_packed:
        return x.__reduce_ex__(5)
    if place.device_type == "cpu":
        block = _block_of(x)
        offset = x.data_ptr() - block.ctypes.data
        layout = (x.dtype.name, list(x.shape), list(x.strides))
        return _tensor_in_block, (kind, DupFd(block.descriptor), block.nbytes, offset, *layout)
    sharing = backends.get(place).sharing(place)
    if sharing is None:
        return x.__reduce_ex__(5)
    shared, descriptor = sharing.send(x.detach())
    layout = (x.dtype.name, list(x.shape), list(x.strides))
    where = (place.device_type, place.device_id)
    return _tensor_of_device, (kind, where, shared, DupFd(descriptor), *layout)


def init_reductions() -> None:
    """Let queues and pipes of :mod:`multiprocessing` share tensors from now on."""
    for kind in (Tensor, Parameter):
        ForkingPickler.register(kind, _reduce)


init_reductions()  # whoever imports this has asked for it
