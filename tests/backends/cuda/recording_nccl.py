"""NCCL without devices: the functions of ``nccl.bindings.nccl`` over memory and streams of the recording driver.

What ranks start together is done when all of them have come to it in their streams, as late as possible.
"""

from __future__ import annotations

import ctypes
from collections import defaultdict
from collections.abc import Callable

import numpy as np
from recording_driver import RecordingDriver, Work, require

DTYPES = {1: np.uint8, 4: np.int64, 7: np.float32}
REDUCTIONS = {0: np.add.reduce, 1: np.multiply.reduce, 2: np.maximum.reduce, 3: np.minimum.reduce, 4: np.mean}


class UniqueId(bytearray):
    @classmethod
    def from_buffer(cls, data: bytearray) -> UniqueId:
        return cls(data)


class Comm:
    def __init__(self, world: bytes, size: int, rank: int) -> None:
        self.world, self.size, self.rank = world, size, rank
        self.started = 0
        self.alive = True


class RecordingNccl:
    UniqueId = UniqueId

    def __init__(self, driver: RecordingDriver) -> None:
        self.driver = driver
        self.calls: list[str] = []
        self.error = 0  # that is found later
        self.group: list | None = None
        self.waiting: dict[tuple, dict[int, tuple]] = defaultdict(dict)  # by world and number: of each rank
        self.ids = 0

    def get_unique_id(self) -> UniqueId:
        self.ids += 1
        return UniqueId(self.ids.to_bytes(128, "little"))

    def comm_init_rank(self, size: int, id: UniqueId, rank: int) -> Comm:
        self.driver.called("ncclCommInitRank")
        return Comm(bytes(id), size, rank)

    def comm_get_async_error(self, comm: Comm) -> int:
        require(comm.alive, "a communicator is used after its end")
        return self.error

    def get_error_string(self, code: int) -> str:
        return f"error {code}"

    def comm_abort(self, comm: Comm) -> None:
        self.end(comm, "abort")

    def comm_finalize(self, comm: Comm) -> None:
        require(comm.alive, "a communicator is finalised after its end")

    def comm_destroy(self, comm: Comm) -> None:
        self.end(comm, "destroy")

    def end(self, comm: Comm, name: str) -> None:
        require(comm.alive, f"{name} of a communicator that has ended")
        comm.alive = False
        self.calls.append(name)

    # --- work ---

    def array(self, address: int, count: int, type: int) -> np.ndarray:
        dtype = np.dtype(DTYPES[type])
        data = self.driver.host(address, count * dtype.itemsize)
        return np.frombuffer((ctypes.c_ubyte * (count * dtype.itemsize)).from_address(data), dtype)

    def put(self, name: str, comm: Comm, stream: int, given: object, finish: Callable, uses: tuple[int, ...]) -> None:
        """Queue work that ends when ``finish`` has seen what each rank has given."""
        require(comm.alive, "a communicator is used after its end")
        self.driver.stream(stream, name)
        self.calls.append(name)
        key = comm.world, comm.started
        comm.started += 1
        ranks = self.waiting[key]
        ranks[comm.rank] = [stream, name, given, False]

        def run() -> None:
            ranks[comm.rank][3] = True
            require(len(ranks) == comm.size, f"{name} of rank {comm.rank} waits for ranks that never come")
            require(len({x[1] for x in ranks.values()}) == 1, "ranks start different collectives")
            for peer in ranks.values():
                if not peer[3]:
                    self.driver.advance(peer[0], lambda peer=peer: peer[3])
            if key in self.waiting:
                del self.waiting[key]
                finish({r: x[2] for r, x in ranks.items()})

        self.driver.put(stream, Work(name, run, uses))

    def all_reduce(self, x, out, count, type, op, comm, stream) -> None:
        self.reduction("all_reduce", x, out, count, type, op, comm, stream, lambda r, y: y)

    def reduce(self, x, out, count, type, op, root, comm, stream) -> None:
        self.reduction("reduce", x, out, count, type, op, comm, stream, lambda r, y: y if r == root else None)

    def reduce_scatter(self, x, out, count, type, op, comm, stream) -> None:
        self.reduction("reduce_scatter", x, out, count, type, op, comm, stream, lambda r, y: np.split(y, comm.size)[r])

    def reduction(self, name, x, out, count, type, op, comm, stream, part) -> None:
        n = count * (comm.size if name == "reduce_scatter" else 1)

        def finish(ranks) -> None:
            y = REDUCTIONS[op]([self.array(a, n, type) for a, _ in ranks.values()], axis=0)
            for r, (_, to) in ranks.items():
                if part(r, y) is not None:
                    self.array(to, count, type)[:] = part(r, y)

        self.put(name, comm, stream, (x, out), finish, (x, out))

    def all_gather(self, x, out, count, type, comm, stream) -> None:
        def finish(ranks) -> None:
            y = np.concatenate([self.array(ranks[r][0], count, type) for r in range(comm.size)])
            for _, to in ranks.values():
                self.array(to, y.size, type)[:] = y

        self.put("all_gather", comm, stream, (x, out), finish, (x, out))

    def broadcast(self, x, out, count, type, root, comm, stream) -> None:
        def finish(ranks) -> None:
            y = self.array(ranks[root][0], count, type).copy()
            for _, to in ranks.values():
                self.array(to, count, type)[:] = y

        self.put("broadcast", comm, stream, (x, out), finish, (x, out))

    def group_start(self) -> None:
        require(self.group is None, "a group within a group")
        self.group = []

    def send(self, address, count, type, peer, comm, stream) -> None:
        require(self.group is not None, "a message outside of a group may wait for ever")
        self.group.append((True, address, count, type, peer, comm, stream))

    def recv(self, address, count, type, peer, comm, stream) -> None:
        require(self.group is not None, "a message outside of a group may wait for ever")
        self.group.append((False, address, count, type, peer, comm, stream))

    def group_end(self) -> None:
        messages, self.group = self.group, None
        comm, stream = messages[0][5:]

        def finish(ranks) -> None:
            sent = defaultdict(list)
            for r, given in ranks.items():
                for sends, address, count, type, peer, *_ in given:
                    if sends:
                        sent[r, peer].append(self.array(address, count, type).copy())
            for r, given in ranks.items():
                for sends, address, count, type, peer, *_ in given:
                    if not sends:
                        self.array(address, count, type)[:] = sent[peer, r].pop(0)
            require(not any(sent.values()), "messages that nobody receives")

        self.put("group", comm, stream, messages, finish, tuple(m[1] for m in messages))
