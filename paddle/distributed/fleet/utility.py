"""Utilities over all workers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from paddle._public import public
from umiak import comm
from umiak.util.errors import op_error

_MODES = ("sum", "max", "min")


@public("paddle.distributed.fleet")
class UtilBase:
    """Small operations among all workers, on NumPy arrays and objects.

    Example:
        >>> from paddle.distributed import fleet
        >>> fleet.init(is_collective=True).util.all_reduce([1, 2]).tolist()
        [1, 2]
    """

    def _group(self, comm_world: str) -> comm.Group:
        if comm_world not in ("worker", "all"):
            raise op_error(ValueError, "fleet.util", "comm_world 'worker' or 'all'", repr(comm_world))
        return comm.world()

    def all_reduce(self, input: Any, mode: str = "sum", comm_world: str = "worker") -> np.ndarray:
        """``input`` of all workers combined, element by element: ``"sum"``, ``"max"`` or ``"min"``."""
        if mode not in _MODES:
            raise op_error(ValueError, "fleet.util.all_reduce", f"a mode of {_MODES}", repr(mode))
        x = np.ascontiguousarray(input)
        out = np.empty_like(x)
        self._group(comm_world).all_reduce(out, x, mode).wait()
        return out

    def all_gather(self, input: Any, comm_world: str = "worker") -> list[Any]:
        """``input`` of all workers, in their order; any object."""
        return self._group(comm_world).gather_objects(input)

    def barrier(self, comm_world: str = "worker") -> None:
        """Return once every worker has come here."""
        self._group(comm_world).barrier().wait()

    def get_file_shard(self, files: Sequence[str]) -> list[str]:
        """The files of this worker: each has as many, the first ones one more where they do not come out even.

        Raises:
            TypeError: ``files`` is no list.
        """
        if not isinstance(files, list):
            raise op_error(TypeError, "fleet.util.get_file_shard", "a list of files", type(files).__name__)
        rank, size = comm.world().rank, comm.world().size
        each, more = divmod(len(files), size)
        begin = rank * each + min(rank, more)
        return files[begin : begin + each + (rank < more)]

    def print_on_rank(self, message: str, rank_id: int) -> None:
        """Print on one worker alone."""
        if comm.world().rank == rank_id:
            print(message, flush=True)
