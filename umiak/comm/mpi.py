"""Messages over MPI, through mpi4py: the library of the ``mpich`` wheel, or the site's own.

MPI's collectives serve where they are the fastest: they move bytes of any dtype, and reduce small arrays of dtypes that
MPI knows. Larger arrays are reduced by our own algorithms, which measured 1.5 to 3.5 times as fast as MPICH's, and so
are dtypes that MPI lacks: never by a callback into Python.
"""

from __future__ import annotations

import contextlib
import os
import time
import zlib
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from umiak.comm.errors import CommError, SizeMismatch
from umiak.comm.launcher.supervisor import mapped
from umiak.comm.monitor import MONITOR, Monitor
from umiak.comm.shutdown import Shutdown
from umiak.core.place import Place
from umiak.util.errors import op_error

# What MPI launchers tell their ranks: number of ranks, by launcher.
SIZES = ("PMI_SIZE", "OMPI_COMM_WORLD_SIZE", "PMIX_SIZE")
SMALL = 1 << 16  # bytes up to which MPI combines
YIELD_FOR = 1.0  # seconds of waiting in which the processor is only offered to others


def launched() -> bool:
    """Return whether an MPI launcher started this process among others."""
    if os.environ.get("UMIAK_COMM", "mpi") != "mpi":
        return False
    return any(int(os.environ.get(name, "1")) > 1 for name in SIZES)


def _import() -> Any:
    try:
        from mpi4py import MPI
    except ImportError as error:
        raise op_error(ImportError, "comm", "mpi4py and an MPI library", error, "pip install mpi4py mpich") from error
    return MPI


class _Received:
    """A message to receive, whose size is looked at."""

    __slots__ = ("peer", "request", "size", "status")

    def __init__(self, request: Any, status: Any, peer: int, size: int) -> None:
        self.request, self.status, self.peer, self.size = request, status, peer, size

    def Test(self) -> bool:
        try:
            if not self.request.Test(self.status):
                return False
        except _import().Exception as error:
            if error.Get_error_class() != _import().ERR_TRUNCATE:
                raise
            raise SizeMismatch(self.peer, None, self.size) from error
        if self.status.count != self.size:
            raise SizeMismatch(self.peer, self.status.count, self.size)
        return True


class MPIChannel:
    """The messages of one communicator."""

    polled = True

    def __init__(self, comm: Any, monitor: Monitor) -> None:
        MPI = _import()
        self.comm = comm
        self.monitor = monitor
        self.ask_status = monitor.ask
        self._status = MPI.Status
        self.rank = comm.Get_rank()
        self.size = comm.Get_size()
        comm.Set_errhandler(MPI.ERRORS_RETURN)
        self._byte = MPI.BYTE
        self._ops = {"sum": MPI.SUM, "max": MPI.MAX, "min": MPI.MIN, "prod": MPI.PROD}
        codes = MPI._typedict
        self._types = {np.dtype(c): codes[c] for c in "bBhHiIlLqQfdFD" if c in codes}

    def send(self, x: np.ndarray, peer: int, tag: int) -> Any:
        return self.comm.Isend([x, self._byte], peer, tag)

    def recv(self, x: np.ndarray, peer: int, tag: int) -> Any:
        return _Received(self.comm.Irecv([x, self._byte], peer, tag), self._status(), peer, x.size)

    def can_access(self, place: Place) -> bool:
        return False

    def native(self, name: str, *args: Any) -> Any | None:
        start = getattr(self, f"_{name}", None)
        return None if start is None else start(*args)

    def _arithmetic(self, x: np.ndarray, op: str) -> Any | None:
        return self._types.get(x.dtype) if op in self._ops and x.nbytes <= SMALL else None

    def _all_reduce(self, out: np.ndarray, x: np.ndarray, op: str) -> Any | None:
        kind = self._arithmetic(x, op)
        if kind is None:
            return None
        source = _import().IN_PLACE if out.ctypes.data == x.ctypes.data else [x, kind]
        return self.comm.Iallreduce(source, [out, kind], self._ops[op])

    def _reduce_scatter(self, out: np.ndarray, x: np.ndarray, op: str) -> Any | None:
        kind = self._arithmetic(x, op)
        if kind is None:
            return None
        return self.comm.Ireduce_scatter_block([x, kind], [out, kind], self._ops[op])

    def _all_gather(self, out: np.ndarray, x: np.ndarray) -> Any:
        return self.comm.Iallgather([x.view(np.uint8), self._byte], [out.view(np.uint8), self._byte])

    def _all_to_all(self, out: np.ndarray, x: np.ndarray) -> Any:
        return self.comm.Ialltoall([x.view(np.uint8), self._byte], [out.view(np.uint8), self._byte])

    def _broadcast(self, x: np.ndarray, root: int) -> Any:
        return self.comm.Ibcast([x.view(np.uint8), self._byte], root)

    def _barrier(self) -> Any:
        return self.comm.Ibarrier()

    def pause(self, waited: float, description: str) -> None:
        if self.monitor.failed:
            raise CommError(f"[{description}] rank {self.monitor.rank} cannot go on: {self.monitor.failures()}")
        # MPI moves messages on only while somebody looks: sleep only where nothing is likely to move.
        if waited < YIELD_FOR:
            os.sched_yield()
        else:
            time.sleep(100e-6)

    def split(self, ranks: Iterable[int], name: str) -> MPIChannel:
        group = self.comm.Get_group().Incl(list(ranks))
        try:
            # A tag that all ranks derive from the name alike; MPI promises tags up to 32767.
            communicator = self.comm.Create_group(group, zlib.crc32(name.encode()) % 32768)
        finally:
            group.Free()
        return MPIChannel(communicator, self.monitor)

    def close(self) -> None:
        MPI = _import()
        if self.comm not in (MPI.COMM_WORLD, MPI.COMM_NULL) and not MPI.Is_finalized():
            self.comm.Free()


def drop_names() -> None:
    """Remove the names of the memory that MPICH shares among the ranks of a node, once all have mapped it.

    Nobody opens it by its name again. MPICH removes names in its finalisation, which a killed job never reaches.
    """
    for name in mapped(os.getpid()):
        with contextlib.suppress(OSError):  # another rank was first
            os.unlink(name)


def connect(state: dict[Any, Any], groups: Mapping[str, Any]) -> MPIChannel:
    """The channel of all ranks that the launcher started.

    ``groups`` is where this rank keeps its groups; ``state`` keeps what a later channel of this process needs again.
    """
    MPI = _import()
    if MPI.Query_thread() < MPI.THREAD_MULTIPLE:
        raise op_error(CommError, "comm", "an MPI with threads (MPI_THREAD_MULTIPLE)", MPI.Get_library_version())
    comm = MPI.COMM_WORLD.Dup()
    monitor = state.get(MONITOR)
    if monitor is None:
        near = comm.Split_type(MPI.COMM_TYPE_SHARED)
        here = near.Get_size() == comm.Get_size()
        near.Free()
        drop_names()
        key = comm.bcast(os.urandom(32) if comm.Get_rank() == 0 else None)
        state[MONITOR] = monitor = Monitor(comm.Get_rank(), groups, key, here)
        monitor.start(comm.allgather(monitor.address))
        Shutdown(MPI.COMM_WORLD.Dup(), monitor)
    return MPIChannel(comm, monitor)
