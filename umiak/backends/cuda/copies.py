"""Copies of elements: between places, and within a device however they lie."""

from __future__ import annotations

import functools

from umiak.backends.cuda.device import DEVICES, Device
from umiak.backends.cuda.launches import Given, Launch, prepare
from umiak.backends.cuda.memory import PinnedBlocks, upload, upload_later
from umiak.backends.matmul_work import Matrices
from umiak.backends.strided import copy_work, is_dense, reshaped
from umiak.backends.transfer import reads_later
from umiak.core.buffer import Buffer
from umiak.core.context import current
from umiak.core.tensor import empty


def transfer(target: Buffer, source: Buffer, id: int) -> None:
    """Queue a copy of dense elements between places, of which one at least is a CUDA device's (``Backend.copy``)."""
    to, of = (DEVICES.get(x.place.index) for x in (target, source))
    nbytes = target.nbytes
    if to is None:  # to the host, which waits
        assert of is not None, "one of the two is a CUDA device's"
        of.queue(id).refuse_waiting()
        device, array = of, target.host_bytes()
        of.queue(id).put("copy", lambda s: device.driver.memcpy_async(array.ctypes.data, source.pointer, nbytes, s))
    elif of is None and reads_later() and PinnedBlocks.holds(source.pointer):
        upload_later(to.queue(id), target, source)
    elif of is None:
        upload(to.queue(id), target, source.host_bytes())
    elif to is of:
        copy(to, target, source)
    else:
        to.connect(of)
        to.queue(id).put(
            "copy",
            lambda s: to.driver.memcpy_peer_async(target.pointer, to.context, source.pointer, of.context, nbytes, s),
            uses=(target, source),
        )


@functools.lru_cache(maxsize=1024)
def _prepared(device: Device, kernel: object, dims: tuple[int, ...]) -> Launch:
    return prepare(device, kernel, dims)  # type: ignore[arg-type]


def copy(device: Device, target: Buffer, source: Buffer, name: str = "copy") -> None:
    """Queue a copy of elements of one dtype and shape within a device, on the current stream. The two must not
    overlap."""
    if not target.size:
        return
    queue = device.queue(current().get_stream(target.place))
    if is_dense(target) and is_dense(source):
        nbytes = target.nbytes
        queue.put(
            name,
            lambda s: device.driver.memcpy_async(target.pointer, source.pointer, nbytes, s),
            uses=(target, source),
        )
        return
    launch = _prepared(device, *copy_work(target, source))
    given = Given([source.pointer, target.pointer], [])
    queue.put(name, lambda s: launch.put(queue, given), uses=(target, source))


def dense(device: Device, x: Matrices, name: str, transposed: bool = False) -> Matrices:
    """A copy of matrices whose rows lie one after the other; ``transposed``: whose columns do."""
    last = (x.columns, x.rows) if transposed else (x.rows, x.columns)
    steps = (x.column, x.row) if transposed else (x.row, x.column)
    view = reshaped(x.x, (*x.batch, *last), (*x.strides, *steps))
    target = Buffer(empty(view.shape, view.dtype, view.place))
    copy(device, target, view, name)
    return Matrices(target, transposed)
