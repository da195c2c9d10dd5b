"""Memory of a device that other processes use: the driver's handles of whole blocks, and who gives them back when.

The sender keeps the memory where it is until the receiver has let go of it, which a segment of shared memory tells that
the two have in common: it is leased while the receiver uses the memory. A receiver that dies has let go. The receiver
opens the handle of a block once, and closes it, when no work uses the last tensor in it, before it ends the lease.
"""

from __future__ import annotations

import os
import struct
import sys
import threading
import weakref
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from umiak.backends.foreign_tensor import tensor_at
from umiak.core import stream
from umiak.core.storage import Storage, collect_foreign
from umiak.core.tensor import Tensor
from umiak.util import shared_memory
from umiak.util.errors import op_error

if TYPE_CHECKING:
    from umiak.backends.cuda.device import Device

OP = "multiprocessing"
_PID = struct.Struct("q")


class Shared(NamedTuple):
    """A tensor as its receiver needs it: the sender, the number of the device, the handle of a block, the byte of it
    where the first element is, and the size of the segment that tells of its use."""

    process: int
    device: int
    handle: bytes
    offset: int
    segment: int


class Sent:
    """A tensor that another process may use."""

    def __init__(self, x: Tensor) -> None:
        self.tensor = x
        self.storage: Storage = x.storage
        self.segment, self.descriptor = shared_memory.create(_PID.size)
        self.segment.state = shared_memory.LEASED
        self.storage.pin()

    def receiver(self) -> int:
        """The process that uses it; 0: none yet."""
        return _PID.unpack_from(memoryview(self.segment))[0]

    def released(self) -> bool:
        """Return whether the receiver has let go of it."""
        process = self.receiver()
        return self.segment.state != shared_memory.LEASED or (process != 0 and not _lives(process))

    def close(self) -> None:
        os.close(self.descriptor)
        self.storage.unpin()


def _lives(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass  # somebody else's
    return True


class Mapping:
    """A block of another process; closed with its last user."""

    def __init__(self, device: Device, handle: bytes) -> None:
        self.device = device
        self.address = device.enter().ipc_open_mem_handle(handle)

    def __del__(self) -> None:
        if hasattr(self, "address") and self.device.lost is None and not sys.is_finalizing():
            self.device.enter().ipc_close_mem_handle(self.address)


class Use:
    """The receiver's use of a tensor, which owns its memory."""

    def __init__(self, mapping: Mapping, segment: shared_memory.Segment, process: int) -> None:
        self.mapping: Mapping | None = mapping
        _PID.pack_into(memoryview(segment), 0, process)
        self.lease: shared_memory.Lease | None = segment.lease()

    def __del__(self) -> None:
        self.mapping = None  # a block that somebody has open must not be freed, so this comes first
        self.lease = None


class Ipc:
    """Tensors of one device that are shared with other processes."""

    def __init__(self, device: Device) -> None:
        self.device = device
        self.process = os.getpid()
        self.lock = threading.RLock()
        self.sent: list[Sent] = []
        self.opened: weakref.WeakValueDictionary[bytes, Mapping] = weakref.WeakValueDictionary()

    def send(self, x: Tensor) -> tuple[Shared, int]:
        """Describe a tensor to another process, once; and the descriptor of the segment, which this process closes."""
        device = self.device
        self.collect()
        address = x.storage.data_ptr()
        block = device.memory.block(address)
        if not block:
            raise op_error(
                ValueError, OP, "memory of this process", f"a tensor on {device.place.name} that came from another one",
                "Send a copy: x.clone().",
            )  # fmt: skip
        if not device.memory.has_handles:
            raise op_error(
                ValueError, OP, "memory that other processes can open", f"mapped memory on {device.place.name}",
                "Set FLAGS_cuda_mapped_memory=0 before the device is used.",
            )  # fmt: skip
        stream.synchronize(device.place.index)  # the receiver's work is in no order with this process's
        handle = device.enter().ipc_get_mem_handle(block)
        sent = Sent(x)
        with self.lock:
            self.sent.append(sent)
        shared = Shared(self.process, device.number, handle, x.data_ptr() - block, sent.segment.nbytes)
        return shared, sent.descriptor

    def receive(self, shared: Shared, descriptor: int, like: tuple[object, Sequence[int], Sequence[int]]) -> Tensor:
        """A tensor of another process, ``like``: of a dtype, sizes and strides. The descriptor is closed."""
        try:
            segment = shared_memory.Segment(descriptor, shared.segment)
        finally:
            os.close(descriptor)
        if shared.process == self.process:
            return self._returned(segment)
        mapping = self.open(shared.handle)
        dtype, shape, strides = like
        use = Use(mapping, segment, self.process)
        return tensor_at(self.device.place, mapping.address + shared.offset, dtype, shape, strides, use)  # type: ignore[arg-type]

    def open(self, handle: bytes) -> Mapping:
        """The block behind a handle. The driver opens each one once in a process."""
        collect_foreign()
        with self.lock:
            mapping = self.opened.get(handle)
            if mapping is None:
                mapping = self.opened[handle] = Mapping(self.device, handle)
            return mapping

    def close(self) -> None:
        """Let go of everything, whoever uses it."""
        with self.lock:
            sent, self.sent = self.sent, []
        for x in sent:
            x.close()

    def _returned(self, segment: shared_memory.Segment) -> Tensor:
        """The tensor that this process has sent to itself, by a number that only the two segments have."""
        mark = os.urandom(_PID.size)
        memoryview(segment)[: _PID.size] = mark
        with self.lock:
            sent = next(s for s in self.sent if bytes(memoryview(s.segment)[: _PID.size]) == mark)
            self.sent.remove(sent)
        sent.close()
        return sent.tensor

    def collect(self) -> None:
        """Let go of what the receivers have let go of."""
        collect_foreign()
        with self.lock:
            over = [s for s in self.sent if s.released()]
            self.sent = [s for s in self.sent if s not in over]
        for sent in over:
            sent.close()
