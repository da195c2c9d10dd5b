"""Joining the other ranks, and who is who."""

from __future__ import annotations

import os
from dataclasses import dataclass, fields
from typing import Any

from paddle import _lazy
from paddle._public import public
from paddle.distributed.communication import group as groups
from paddle.distributed.communication.group import Group
from umiak import comm
from umiak.comm.task import timeout_flag
from umiak.core.context import current
from umiak.util.errors import op_error

# Where launchers tell a process who it is, the first that is set: ours, then those of MPI.
RANK = ("PADDLE_TRAINER_ID", "PMI_RANK", "OMPI_COMM_WORLD_RANK", "PMIX_RANK")
SIZE = ("PADDLE_TRAINERS_NUM", "PMI_SIZE", "OMPI_COMM_WORLD_SIZE", "PMIX_SIZE")
LOCAL_RANK = ("PADDLE_RANK_IN_NODE", "PADDLE_LOCAL_RANK", "MPI_LOCALRANKID", "OMPI_COMM_WORLD_LOCAL_RANK")


def _told(names: tuple[str, ...], default: int) -> int:
    return next((int(os.environ[name]) for name in names if os.environ.get(name)), default)


@public("paddle.distributed")
def init_parallel_env(nccl_config: Any = None) -> Group:
    """Join the other ranks that the launcher started; a process that was started by itself is a world of one.

    Another call returns the same group.

    Args:
        nccl_config: options of NCCL, which the engines of hosts do not read.

    Returns:
        The group of all ranks.

    Raises:
        ImportError: started by an MPI launcher without mpi4py.

    Example:
        >>> import paddle
        >>> paddle.distributed.init_parallel_env().ranks
        [0]
    """
    comm.start()
    return groups.world()


@public("paddle.distributed")
def get_rank(group: Group | None = None) -> int:
    """Rank of the caller among all, or its place in a group.

    Before ``init_parallel_env`` it is what the launcher has told, else 0.

    Args:
        group: a ``Group``; None for all ranks.

    Returns:
        An int; -1 outside of the group.

    Raises:
        AttributeError: a value that is not a group.

    Example:
        >>> import paddle
        >>> paddle.distributed.get_rank()
        0
    """
    if group is not None:
        return group.rank
    return comm.world().rank if comm.started() else _told(RANK, current().state.rank)


@public("paddle.distributed")
def get_world_size(group: Group | None = None) -> int:
    """Number of ranks, of all or of a group.

    Before ``init_parallel_env`` it is what the launcher has told, else 1.

    Args:
        group: a ``Group``; None for all ranks.

    Returns:
        An int; -1 outside of the group.

    Raises:
        AttributeError: a value that is not a group.

    Example:
        >>> import paddle
        >>> paddle.distributed.get_world_size()
        1
    """
    if group is not None:
        return group.size if isinstance(group, comm.Group) else group.world_size
    return comm.world().size if comm.started() else _told(SIZE, 1)


@public("paddle.distributed")
class ParallelEnv:
    """Environment of this process: its rank, device and address among the others.

    Example:
        >>> import paddle
        >>> env = paddle.distributed.ParallelEnv()
        >>> env.rank, env.world_size
        (0, 1)
    """

    @property
    def rank(self) -> int:
        """The rank among all."""
        return get_rank()

    @property
    def world_size(self) -> int:
        """Number of ranks."""
        return get_world_size()

    @property
    def device_id(self) -> int:
        """The number of the device that this rank computes on."""
        return current().state.place.device_id

    @property
    def device_type(self) -> str:
        """The kind of that device."""
        return current().state.place.device_type

    @property
    def local_rank(self) -> int:
        """The rank among those of this host where the launcher has told, else the rank among all."""
        return _told(LOCAL_RANK, self.rank)

    @property
    def current_endpoint(self) -> str:
        """The address of this rank where the launcher has told one, else empty."""
        return os.environ.get("PADDLE_CURRENT_ENDPOINT", "")

    @property
    def trainer_endpoints(self) -> list[str]:
        """The addresses of all ranks where the launcher has told them."""
        return os.environ.get("PADDLE_TRAINER_ENDPOINTS", "").split(",")

    @property
    def nrings(self) -> int:
        """Number of channels of a group."""
        return 1

    @property
    def pg_timeout(self) -> int:
        """Milliseconds that an operation among ranks may take."""
        return int(timeout_flag.value * 1000)

    nranks = world_size
    dev_id = device_id


@public("paddle.distributed")
class ParallelMode:
    """Kinds of parallelism: what is divided among ranks.

    Example:
        >>> import paddle
        >>> paddle.distributed.ParallelMode.TENSOR_PARALLEL
        1
    """

    DATA_PARALLEL = 0
    TENSOR_PARALLEL = 1
    PIPELINE_PARALLEL = 2
    SHARDING_PARALLEL = 3
    SEGMENT_PARALLEL = 4


@dataclass(frozen=True)
class NCCLConfig:
    """Options of NCCL for a group; transports of hosts do not read them."""

    commName: str = ""
    ll_buffsize: int = -1
    ll128_buffsize: int = -1
    simple_buffsize: int = -1
    buffsize_align: int = -1
    nchannels: int = -1
    algoStr: str = ""
    protoStr: str = ""


@public("paddle.distributed")
def create_nccl_config(nccl_config: dict[str, int | str] | None = None) -> NCCLConfig | None:
    """Make an object with options for ``new_group``; the engines of hosts do not read it.

    Args:
        nccl_config: a dict with ``commName``, ``ll_buffsize``, ``ll128_buffsize``, ``simple_buffsize``,
            ``buffsize_align``, ``nchannels``, ``algoStr`` or ``protoStr``; None gives None.

    Returns:
        An object with these attributes, or None.

    Raises:
        ValueError: another option.

    Example:
        >>> import paddle
        >>> paddle.distributed.create_nccl_config({"nchannels": 4}).nchannels
        4
    """
    if nccl_config is None:
        return None
    known = [f.name for f in fields(NCCLConfig)]
    if not set(nccl_config) <= set(known):
        raise op_error(ValueError, "create_nccl_config", f"options of {known}", sorted(nccl_config))
    return NCCLConfig(**nccl_config)  # type: ignore[arg-type]


@public("paddle.distributed")
def gloo_init_parallel_env(rank_id: int, rank_num: int, server_endpoint: str) -> None:
    """Join the other ranks, which the launcher has numbered.

    Args:
        rank_id: the rank that this process must be.
        rank_num: how many ranks there must be.
        server_endpoint: accepted; ranks find each other through their launcher.

    Raises:
        RuntimeError: the launcher says otherwise.

    Example:
        >>> import paddle
        >>> paddle.distributed.gloo_init_parallel_env(0, 1, "")
    """
    world = comm.start()
    if (world.rank, world.size) != (rank_id, rank_num):
        raise op_error(
            RuntimeError,
            "gloo_init_parallel_env",
            f"rank {rank_id} of {rank_num}",
            f"rank {world.rank} of {world.size}",
            "Ranks find each other through their launcher: start them with paddle.distributed.launch or mpiexec.",
        )


@public("paddle.distributed")
def gloo_barrier() -> None:
    """Return once every rank has come here.

    Example:
        >>> import paddle
        >>> paddle.distributed.gloo_barrier()
    """
    groups.barrier()


@public("paddle.distributed")
def gloo_release() -> None:
    """Do nothing: ``gloo_init_parallel_env`` makes no resources of its own, it uses the group of all ranks.

    Example:
        >>> import paddle
        >>> paddle.distributed.gloo_release()
    """


__getattr__, __dir__ = _lazy.attributes_of(__name__)
