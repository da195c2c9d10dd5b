"""Collectives of a plug-in (the functions ``xccl_...`` of its table) over memory of one of its devices."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from ctypes import byref, c_void_p
from typing import TYPE_CHECKING, Any

from umiak.backends.plugin import copies
from umiak.backends.plugin.structures import DataType, ReduceOp, RootId
from umiak.core import stream
from umiak.core.buffer import Buffer

if TYPE_CHECKING:
    from umiak.backends.collectives import Message
    from umiak.backends.plugin.device import PluginDevice

NEEDED = ("xccl_get_unique_id_size", "xccl_get_unique_id", "xccl_comm_init_rank")
GROUPED = ("xccl_group_start", "xccl_group_end", "xccl_send", "xccl_recv")
REDUCTIONS = {
    "sum": ReduceOp.SUM,
    "avg": ReduceOp.AVG,
    "max": ReduceOp.MAX,
    "min": ReduceOp.MIN,
    "prod": ReduceOp.PRODUCT,
}


def data_type(x: Buffer) -> int | None:
    """The plug-in's name of a dtype; None where the interface has none."""
    return DataType.__members__.get(x.dtype.name.upper())


def units(x: Buffer) -> tuple[int, int]:
    """(number of elements, their type) of a movement: bytes, where the interface does not know the dtype."""
    known = data_type(x)
    return (x.size, known) if known is not None else (x.nbytes, DataType.UINT8)


class XcclCollectives:
    """The library, for one device (``umiak.backends.collectives.Collectives``)."""

    pairs = False  # nobody says that its functions may be called by several threads

    def __init__(self, device: PluginDevice) -> None:
        self.device = device

    def unique_id(self) -> bytes:
        library, place = self.device.library, self.device.place.name
        self.device.choose()
        size = ctypes.c_size_t()
        library.call("xccl_get_unique_id_size", byref(size), on=place)
        text = ctypes.create_string_buffer(max(1, size.value))
        library.call("xccl_get_unique_id", byref(RootId(sz=size.value, data=ctypes.addressof(text))), on=place)
        return text.raw[: size.value]

    def connect(self, size: int, id: bytes, rank: int) -> XcclCommunicator:
        device = self.device
        device.choose()
        text, made = ctypes.create_string_buffer(id, len(id)), c_void_p()
        root = RootId(sz=len(id), data=ctypes.addressof(text))
        device.library.call("xccl_comm_init_rank", size, byref(root), rank, byref(made), on=device.place.name)
        return XcclCommunicator(device, made, size, rank)


class _Started:
    """A call that was handed to a stream."""

    def __init__(self, place: int, id: int) -> None:
        self.event = stream.stream(place, id).record()

    def Test(self) -> bool:
        if not self.event.query():
            return False
        self.event.synchronize()  # raises what failed
        return True


class XcclCommunicator:
    """A C_CCLComm (``umiak.backends.collectives.Communicator``). Operands live, and stay, until their work is done.

    What is handed to several streams runs in the order of the calls, as all ranks have it: nobody says that a library
    of the interface can tell calls apart that run side by side.
    """

    def __init__(self, device: PluginDevice, comm: Any, size: int, rank: int) -> None:
        self.device, self.comm, self.size, self.rank = device, comm, size, rank
        self.last: tuple[int, _Started] | None = None  # the last call, and its stream

    def start(self, id: int, name: str, *args: Any) -> _Started | None:
        function = getattr(self, f"_{name}", None)
        return None if function is None else function(id, *args)

    def _put(self, id: int, name: str, *args: Any, keep: Any) -> _Started:
        library, place = self.device.library, self.device.place
        return self._submit(id, name, lambda h: library.call(name, *args, self.comm, h, on=place.name), keep)

    def _submit(self, id: int, name: str, submit: Callable[[Any], None], keep: Any) -> _Started:
        place = self.device.place
        if self.last is not None and self.last[0] != id:
            stream.stream(place.index, id).wait(self.last[1].event)
        self.device.queue(id).put(name, submit, keep=keep)
        started = _Started(place.index, id)
        self.last = id, started
        return started

    def _reduction(self, id: int, name: str, out: Buffer, x: Buffer, count: int, op: str, *root: int) -> Any:
        dtype = data_type(x)
        if dtype is None or not self.device.library.has(name):
            return None
        return self._put(id, name, x.pointer, out.pointer, count, dtype, REDUCTIONS[op], *root, keep=(out, x))

    def _all_reduce(self, id: int, out: Buffer, x: Buffer, op: str) -> Any:
        return self._reduction(id, "xccl_all_reduce", out, x, x.size, op)

    def _reduce(self, id: int, out: Buffer, x: Buffer, root: int, op: str) -> Any:
        return self._reduction(id, "xccl_reduce", out, x, x.size, op, root)

    def _reduce_scatter(self, id: int, out: Buffer, x: Buffer, op: str) -> Any:
        return self._reduction(id, "xccl_reduce_scatter", out, x, out.size, op)

    def _all_gather(self, id: int, out: Buffer, x: Buffer) -> Any:
        if not self.device.library.has("xccl_all_gather"):
            return None
        return self._put(id, "xccl_all_gather", x.pointer, out.pointer, *units(x), keep=(out, x))

    def _broadcast(self, id: int, x: Buffer, root: int) -> Any:
        if not self.device.library.has("xccl_broadcast"):
            return None
        return self._put(id, "xccl_broadcast", x.pointer, *units(x), root, keep=x)

    def _all_to_all(self, id: int, out: Buffer, x: Buffer) -> Any:
        each = [x.size // self.size] * self.size
        return self._all_to_all_sized(id, out, x, each, each)

    def _all_to_all_sized(
        self, id: int, out: Buffer, x: Buffer, sent: Sequence[int], received: Sequence[int]
    ) -> _Started | None:
        if x.dtype.is_packed:  # parts may begin within a byte
            return None
        item = x.dtype.itemsize
        parts = [_parts(x.pointer, sent, item), _parts(out.pointer, received, item)]
        if self.device.library.has("xccl_all_to_all"):
            types = (ctypes.c_int * self.size)(*[data_type(x) or DataType.UINT8] * self.size)
            scale = 1 if data_type(x) is not None else item
            arrays: list[Any] = []
            for addresses, counts in zip(parts, (sent, received)):
                arrays.append((c_void_p * self.size)(*addresses))
                arrays.append((ctypes.c_size_t * self.size)(*(n * scale for n in counts)))
                arrays.append(types)
            return self._put(id, "xccl_all_to_all", *arrays, self.rank, self.size, keep=(out, x, arrays))
        if not self.device.library.has(*GROUPED):
            return None
        messages = [
            (sends, addresses[peer], counts[peer] * item, DataType.UINT8, peer)
            for sends, addresses, counts in ((True, parts[0], sent), (False, parts[1], received))
            for peer in range(self.size)
            if peer != self.rank
        ]
        copies.within(self.device, parts[1][self.rank], parts[0][self.rank], sent[self.rank] * item, id)
        return self._grouped(id, messages, (out, x))

    def _permute(self, id: int, out: Buffer, x: Buffer, pairs: Sequence[tuple[int, int]]) -> Any:
        me = self.rank
        # All ranks decide alike: what gets nothing is filled with zeros by the host, and then all go by it.
        if not self.device.library.has(*GROUPED) or {b for _, b in pairs} != set(range(self.size)):
            return None
        if (me, me) in pairs:
            copies.within(self.device, out.pointer, x.pointer, x.nbytes, id)
        messages = [(True, x.pointer, *units(x), b) for a, b in pairs if a == me != b]
        messages += [(False, out.pointer, *units(out), a) for a, b in pairs if b == me != a]
        return self._grouped(id, messages, (out, x))

    def exchange(self, id: int, messages: Sequence[Message]) -> _Started | None:
        if not self.device.library.has(*GROUPED):
            return None
        plain = [(sends, x.pointer, *units(x), peer) for sends, x, peer in messages]
        return self._grouped(id, plain, [x for _, x, _ in messages])

    def _grouped(self, id: int, messages: Sequence[tuple[bool, int, int, int, int]], keep: Any) -> _Started:
        library, place = self.device.library, self.device.place

        def submit(handle: Any) -> None:
            library.call("xccl_group_start", on=place.name)
            try:
                for sends, *args in messages:
                    library.call("xccl_send" if sends else "xccl_recv", *args, self.comm, handle, on=place.name)
            finally:
                library.call("xccl_group_end", on=place.name)

        return self._submit(id, "xccl_group", submit, keep)

    def close(self) -> None:
        library = self.device.library
        if library.has("xccl_destroy_comm") and not library.closed:
            self.device.choose()
            library.call("xccl_destroy_comm", self.comm, on=self.device.place.name)


def _parts(address: int, counts: Sequence[int], item: int) -> list[int]:
    """The addresses of parts that lie one after the other."""
    found = []
    for n in counts:
        found.append(address)
        address += n * item
    return found
