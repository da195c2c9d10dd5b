"""Collectives of a CUDA device by NCCL, through ``nccl4py``: a communicator for each group and device.

Work goes to the stream that a collective was called on, in the order of its other work. An error that NCCL finds later
(a rank that died, a connection that broke) aborts the communicator: what it still had under way ends, and every use of
it says why.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from umiak.backends.base import Absent
from umiak.core import stream
from umiak.core.buffer import Buffer

if TYPE_CHECKING:
    from umiak.backends.collectives import Message
    from umiak.backends.cuda.device import Device

# ncclDataType_t and ncclRedOp_t of nccl.h
TYPES = {
    "int8": 0, "uint8": 1, "int32": 2, "uint32": 3, "int64": 4, "uint64": 5, "float16": 6, "float32": 7, "float64": 8,
    "bfloat16": 9, "float8_e4m3fn": 10, "float8_e5m2": 11,
}  # fmt: skip
REDUCTIONS = {"sum": 0, "prod": 1, "max": 2, "min": 3, "avg": 4}
BYTES = TYPES["uint8"]
ADDS_8_BITS = (9, 0)  # capability of a device whose kernels of NCCL reduce float8
IN_PROGRESS = 7  # ncclInProgress


@functools.cache
def load() -> Any:
    """The bindings of NCCL.

    Raises:
        Absent: there are none, or no library for them.
    """
    try:
        from nccl.bindings import nccl
    except ImportError as error:
        raise Absent(f"NCCL is not installed (nccl4py and nvidia-nccl-cu13 have it): {error}") from error
    try:
        nccl.get_version()
    except RuntimeError as error:  # the library is not there, or not of this machine
        raise Absent(f"NCCL does not load: {error}") from error
    return nccl


class NcclCollectives:
    """NCCL for one device (``umiak.backends.collectives.Collectives``)."""

    pairs = True

    def __init__(self, device: Device, nccl: Any) -> None:
        self.device, self.nccl = device, nccl

    def unique_id(self) -> bytes:
        self.device.enter()
        return memoryview(self.nccl.get_unique_id()).tobytes()

    def connect(self, size: int, id: bytes, rank: int) -> NcclCommunicator:
        self.device.enter()
        name = self.nccl.UniqueId.from_buffer(bytearray(id))
        return NcclCommunicator(self.device, self.nccl, self.nccl.comm_init_rank(size, name, rank), size, rank)


class Started:
    """A call that was handed to a stream."""

    def __init__(self, communicator: NcclCommunicator, id: int) -> None:
        self.communicator = communicator
        self.event = stream.stream(communicator.device.place.index, id).record()

    def Test(self) -> bool:
        self.communicator.look()
        if not self.event.query():
            return False
        self.event.synchronize()  # raises what failed
        return True


class NcclCommunicator:
    """A ncclComm_t (``umiak.backends.collectives.Communicator``)."""

    def __init__(self, device: Device, nccl: Any, comm: Any, size: int, rank: int) -> None:
        self.device, self.nccl, self.comm, self.size, self.rank = device, nccl, comm, size, rank
        self.failure = ""

    def look(self) -> None:
        """Raise what NCCL has found meanwhile, and abort."""
        if not self.failure:
            code = int(self.nccl.comm_get_async_error(self.comm))
            if code in (0, IN_PROGRESS):
                return
            self.failure = self.nccl.get_error_string(code)
            self.nccl.comm_abort(self.comm)
        place = self.device.place.name
        raise RuntimeError(f"[nccl] requires a group whose ranks are all there, got on {place}: {self.failure}")

    def start(self, id: int, name: str, *args: Any) -> Started | None:
        function = getattr(self, f"_{name}", None)
        return None if function is None else function(id, *args)

    def _reducible(self, x: Buffer) -> int | None:
        """The number of a dtype that reductions take on this device."""
        type = TYPES.get(x.dtype.name)
        is_narrow = type in (TYPES["float8_e4m3fn"], TYPES["float8_e5m2"])
        return None if is_narrow and self.device.capability < ADDS_8_BITS else type

    def _put(self, id: int, name: str, enqueue: Callable[[int], object], uses: Sequence[Buffer]) -> Started:
        self.look()
        self.device.queue(id).put(f"nccl_{name}", enqueue, done=lambda kept=tuple(uses): None, uses=uses)  # type: ignore[misc]
        return Started(self, id)

    def _all_reduce(self, id: int, out: Buffer, x: Buffer, op: str) -> Started | None:
        type = self._reducible(x)
        if type is None:
            return None
        arguments = (x.pointer, out.pointer, x.size, type, REDUCTIONS[op], self.comm)
        return self._put(id, "all_reduce", lambda s: self.nccl.all_reduce(*arguments, s), (out, x))

    def _reduce(self, id: int, out: Buffer, x: Buffer, root: int, op: str) -> Started | None:
        type = self._reducible(x)
        if type is None:
            return None
        arguments = (x.pointer, out.pointer, x.size, type, REDUCTIONS[op], root, self.comm)
        return self._put(id, "reduce", lambda s: self.nccl.reduce(*arguments, s), (out, x))

    def _reduce_scatter(self, id: int, out: Buffer, x: Buffer, op: str) -> Started | None:
        type = self._reducible(x)
        if type is None:
            return None
        arguments = (x.pointer, out.pointer, out.size, type, REDUCTIONS[op], self.comm)
        return self._put(id, "reduce_scatter", lambda s: self.nccl.reduce_scatter(*arguments, s), (out, x))

    def _all_gather(self, id: int, out: Buffer, x: Buffer) -> Started | None:
        arguments = (x.pointer, out.pointer, x.nbytes, BYTES, self.comm)
        return self._put(id, "all_gather", lambda s: self.nccl.all_gather(*arguments, s), (out, x))

    def _broadcast(self, id: int, x: Buffer, root: int) -> Started | None:
        arguments = (x.pointer, x.pointer, x.nbytes, BYTES, root, self.comm)
        return self._put(id, "broadcast", lambda s: self.nccl.broadcast(*arguments, s), (x,))

    def _gather(self, id: int, out: Buffer, x: Buffer, root: int) -> Started | None:
        messages = [(True, x.pointer, x.nbytes, root)]
        if self.rank == root:
            messages += [(False, out.pointer + k * x.nbytes, x.nbytes, k) for k in range(self.size)]
        return self._together(id, "gather", messages, (out, x) if self.rank == root else (x,))

    def _scatter(self, id: int, out: Buffer, x: Buffer, root: int) -> Started | None:
        messages = [(False, out.pointer, out.nbytes, root)]
        if self.rank == root:
            messages += [(True, x.pointer + k * out.nbytes, out.nbytes, k) for k in range(self.size)]
        return self._together(id, "scatter", messages, (out, x) if self.rank == root else (out,))

    def _all_to_all(self, id: int, out: Buffer, x: Buffer) -> Started | None:
        each = [x.size // self.size] * self.size
        return self._all_to_all_sized(id, out, x, each, each)

    def _all_to_all_sized(
        self, id: int, out: Buffer, x: Buffer, sent: Sequence[int], received: Sequence[int]
    ) -> Started | None:
        if x.dtype.is_packed:  # parts may begin within a byte
            return None
        messages, item = [], x.dtype.itemsize
        for sends, address, counts in ((True, x.pointer, sent), (False, out.pointer, received)):
            for peer, n in enumerate(counts):
                if n:
                    messages.append((sends, address, n * item, peer))
                address += n * item
        return self._together(id, "all_to_all", messages, (out, x))

    def _permute(self, id: int, out: Buffer, x: Buffer, pairs: Sequence[tuple[int, int]]) -> Started | None:
        # All ranks decide alike: what gets nothing is filled with zeros by the host, and then all go by it.
        if {b for _, b in pairs} != set(range(self.size)):
            return None
        messages = [(True, x.pointer, x.nbytes, b) for a, b in pairs if a == self.rank]
        messages += [(False, out.pointer, out.nbytes, a) for a, b in pairs if b == self.rank]
        return self._together(id, "permute", messages, (out, x))

    def exchange(self, id: int, messages: Sequence[Message]) -> Started | None:
        plain = [(sends, x.pointer, x.nbytes, peer) for sends, x, peer in messages]
        return self._together(id, "exchange", plain, [x for _, x, _ in messages])

    def _together(
        self, id: int, name: str, messages: Sequence[tuple[bool, int, int, int]], uses: Sequence[Buffer]
    ) -> Started:
        """Messages that start together: whether one sends, address, bytes, and the peer; to oneself, too."""
        nccl = self.nccl

        def enqueue(handle: int) -> None:
            nccl.group_start()
            try:
                for sends, address, nbytes, peer in messages:
                    (nccl.send if sends else nccl.recv)(address, nbytes, BYTES, peer, self.comm, handle)
            finally:
                nccl.group_end()

        return self._put(id, name, enqueue, uses)

    def close(self) -> None:
        if not self.failure and self.device.lost is None:
            self.device.enter()
            self.nccl.comm_finalize(self.comm)
            self.nccl.comm_destroy(self.comm)
