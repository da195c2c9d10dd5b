"""Groups of ranks: the public API of ``umiak.comm``."""

from __future__ import annotations

import datetime
import warnings
from collections.abc import Sequence
from typing import Any

from paddle._public import public
from umiak import comm
from umiak.core.context import current
from umiak.core.tensor import Tensor
from umiak.util.errors import op_error

_GROUPS = "distributed_groups"  # in the values of a rank's state: groups by id
DEFAULT_TIMEOUT = datetime.timedelta(seconds=1800)
ENGINES = ("mpi", "nccl", "gloo", "bkcl", "xccl", "flagcx")


class Group:
    """Group of ranks that communicate, as the calling rank sees it; ranks outside of it have an object, too.

    Args:
        rank_in_group: the caller's rank in the group, -1 outside of it.
        id: the number of the group; 0 is the group of all ranks.
        ranks: global ranks, in order of their rank in the group.
        pg: the group of the engine, ``umiak.comm.Group``; None outside of it.
        name: what errors and captured programs call it.

    Example:
        >>> import paddle
        >>> g = paddle.distributed.new_group([0])
        >>> g.ranks, g.rank, g.nranks, g.get_group_rank(0)
        ([0], 0, 1, 0)
    """

    def __init__(
        self, rank_in_group: int, id: int, ranks: Sequence[int], pg: comm.Group | None = None, name: str | None = None
    ) -> None:
        self._rank = rank_in_group
        self._id = id
        self._ranks = list(ranks)
        self._pg = pg
        self._name = name

    @property
    def rank(self) -> int:
        """The caller's rank in the group; -1 outside of it."""
        return self._rank

    @property
    def ranks(self) -> list[int]:
        """The global ranks, in order of their rank in the group."""
        return self._ranks

    @property
    def nranks(self) -> int:
        """Number of ranks."""
        return len(self._ranks)

    @property
    def world_size(self) -> int:
        """Number of ranks; -1 for a caller outside of the group."""
        return self.nranks if self._rank >= 0 else -1

    @property
    def name(self) -> str | None:
        """Name of the group in errors and captured programs."""
        return self._name

    @property
    def id(self) -> int:
        """The number of the group; 0 is the group of all ranks."""
        return self._id

    @property
    def process_group(self) -> comm.Group | None:
        """The group of the engine; None outside of it and after a shutdown."""
        return self._pg

    @property
    def backend(self) -> str:
        """The name of the engine that carries its messages."""
        pg = self._pg if self._pg is not None else comm.world()
        return type(pg.channel).__name__.removesuffix("Channel").upper()

    def is_member(self) -> bool:
        """Say whether the caller is in the group."""
        return self._rank >= 0

    def get_group_rank(self, rank: int) -> int:
        """Place in the group of a global rank.

        Args:
            rank: the global rank.

        Returns:
            An int; -1 where either it or the caller is not in the group.
        """
        return self._ranks.index(rank) if self.is_member() and rank in self._ranks else -1

    def get_global_rank(self, rank: int) -> int:
        """Global rank of a rank in the group.

        Args:
            rank: the rank in the group.

        Returns:
            An int; -1 for a caller outside of the group.

        Raises:
            IndexError: the group has no such rank.
        """
        return self._ranks[rank] if self.is_member() else -1

    def __repr__(self) -> str:
        return f"Group(rank {self._rank} of {self.nranks}, id {self._id}, ranks {self._ranks}, name {self._name!r})"


def _public_groups() -> dict[int, Group]:
    groups = current().state.values.setdefault(_GROUPS, {})
    if 0 not in groups and comm.started():
        groups[0] = _public_group(comm.world())
    return groups


def _public_group(pg: comm.Group) -> Group:
    return Group(pg.rank, pg.id, pg.ranks, pg, pg.name)


def world() -> Group:
    """The group of all ranks; starts the environment where nobody has."""
    comm.world()
    return _public_groups()[0]


_get_global_group = world  # as packages know it


def member(group: Any, op_name: str) -> comm.Group | None:
    """The engine's group behind an argument; None, with a warning, for a caller outside of it."""
    if group is None:
        return comm.world()
    if isinstance(group, comm.Group):
        return group
    if not isinstance(group, Group):
        raise op_error(TypeError, op_name, "a group made by new_group", type(group).__name__)
    if group._pg is not None:
        return group._pg
    if group.is_member():
        raise op_error(RuntimeError, op_name, "a group that is open", f"{group}, which was shut down or destroyed")
    warnings.warn(f"[{op_name}] rank {comm.world().rank} is not in {group}: nothing is done", stacklevel=4)
    return None


def group_rank(pg: comm.Group, rank: Any, op_name: str, role: str) -> int:
    """Return the rank within the group of a global rank."""
    if rank not in pg.ranks:
        raise op_error(ValueError, op_name, f"a global rank of {list(pg.ranks)} as {role}", rank)
    return pg.ranks.index(rank)


@public("paddle.distributed")
def new_group(
    ranks: Sequence[int] | None = None,
    backend: str | None = None,
    timeout: datetime.timedelta = DEFAULT_TIMEOUT,
    nccl_comm_init_option: int = 0,
    nccl_config: Any = None,
) -> Group:
    """Make a group of some ranks, in the order given. All ranks of the world call this, in the same order of calls.

    Args:
        ranks: global ranks; None for all.
        backend: accepted for existing programs: every group uses the engine of the world.
        timeout: how long an operation may take; the default is ``FLAGS_comm_timeout_s``.
        nccl_comm_init_option: an option of NCCL, which the engines of hosts do not read.
        nccl_config: options of NCCL, which they do not read either.

    Returns:
        A :class:`Group`, also for a caller outside of it.

    Raises:
        ValueError: ranks that are repeated or do not exist, or an unknown backend.

    Example:
        >>> import paddle
        >>> paddle.distributed.new_group([0]).is_member()
        True
    """
    if backend is not None and backend not in ENGINES:
        raise op_error(ValueError, "new_group", f"a backend of {ENGINES}", repr(backend))
    world_group = comm.world()
    seconds = None if timeout == DEFAULT_TIMEOUT else timeout.total_seconds()
    number = comm.groups.next_id()
    pg = comm.new(ranks, timeout=seconds)
    if pg is None:
        group = Group(-1, number, list(ranks or ()), None, comm.groups.name_of(number))
    else:
        group = _public_group(pg)
    assert group.id == number and world_group.size >= group.nranks
    _public_groups()[number] = group
    return group


@public("paddle.distributed paddle.distributed.communication")
def get_group(id: int = 0) -> Group | None:
    """Group of a number.

    Args:
        id: the number; 0 is the group of all ranks.

    Returns:
        A :class:`Group`; None, with a warning, where there is none.

    Raises:
        TypeError: a number that is none.

    Example:
        >>> import paddle
        >>> paddle.distributed.init_parallel_env() is paddle.distributed.get_group(0)
        True
    """
    group = _public_groups().get(id)
    if group is None:
        warnings.warn(f"[get_group] there is no group {id}", stacklevel=2)
    return group


@public("paddle.distributed paddle.distributed.communication")
def is_initialized() -> bool:
    """Say whether this rank has joined the others (``init_parallel_env``).

    Returns:
        A bool.

    Example:
        >>> import paddle
        >>> _ = paddle.distributed.init_parallel_env()
        >>> paddle.distributed.is_initialized()
        True
    """
    return comm.started()


@public("paddle.distributed")
def is_available() -> bool:
    """Say whether there is a distributed package: always.

    Returns:
        True.

    Example:
        >>> import paddle
        >>> paddle.distributed.is_available()
        True
    """
    return True


@public("paddle.distributed paddle.distributed.communication")
def get_backend(group: Group | None = None) -> str:
    """Name of the engine under a group.

    Args:
        group: a :class:`Group`; None for all ranks.

    Returns:
        A str: ``"MPI"``, or ``"SINGLE"`` for a rank that is alone.

    Raises:
        AttributeError: a value that is not a group.

    Example:
        >>> import paddle
        >>> paddle.distributed.get_backend()
        'SINGLE'
    """
    return (world() if group is None else group).backend


@public("paddle.distributed paddle.distributed.communication")
def destroy_process_group(group: Group | None = None) -> None:
    """Destroy a group, or all of them. Every rank of the group must call it.

    Args:
        group: a :class:`Group`; None, or that of all ranks, for all groups.

    Raises:
        AttributeError: a value that is not a group.

    Example:
        >>> import paddle
        >>> g = paddle.distributed.new_group([0])
        >>> paddle.distributed.destroy_process_group(g)
        >>> g.process_group is None
        True
    """
    groups = _public_groups()
    for each in [group] if group is not None and group.id else list(groups.values()):
        each._pg, pg = None, each._pg
        if pg is not None and each.id:
            comm.destroy(pg)
        groups.pop(each.id, None)
    if group is None or not group.id:
        comm.destroy()


@public("paddle.distributed")
def shutdown_process_group(group: Group | None = None) -> None:
    """Close a group, or all of them, until :func:`restart_process_group`. Every rank of the group calls it.

    Args:
        group: a :class:`Group`; None for all groups.

    Raises:
        AttributeError: a value that is not a group.

    Example:
        >>> import paddle
        >>> g = paddle.distributed.new_group([0])
        >>> paddle.distributed.shutdown_process_group(g)
        >>> g.process_group is None
        True
        >>> paddle.distributed.restart_process_group(g)
    """
    for each in [group] if group is not None else list(_public_groups().values()):
        if each._pg is not None:
            each._pg.wait()
            # The messages of the world carry the founding of groups: its own stay.
            if each.id:
                comm.destroy(each._pg)
            each._pg = None


@public("paddle.distributed")
def restart_process_group(group: Group | None = None) -> None:
    """Open groups again that were shut down. Every rank of the group calls it.

    Args:
        group: a :class:`Group`; None for all groups.

    Raises:
        AttributeError: a value that is not a group.

    Example:
        >>> import paddle
        >>> g = paddle.distributed.new_group([0])
        >>> paddle.distributed.shutdown_process_group(g)
        >>> paddle.distributed.restart_process_group(g)
        >>> g.process_group is None
        False
    """
    for each in [group] if group is not None else list(_public_groups().values()):
        if each._pg is None and each.is_member():
            name = comm.groups.name_of(each.id)
            each._pg = comm.groups.reopen(name, each.id, each.ranks) if each.id else comm.world()


@public("paddle.distributed paddle.distributed.communication")
def barrier(group: Group | None = None) -> None:
    """Return once every rank of the group has come here.

    Args:
        group: a :class:`Group`; None for all ranks.

    Raises:
        TypeError: a value that is not a group.
        RuntimeError: a group that was shut down.

    Example:
        >>> import paddle
        >>> paddle.distributed.barrier()
    """
    pg = member(group, "barrier")
    if pg is not None:
        pg.barrier().wait()


@public("paddle.distributed paddle.distributed.communication")
def wait(tensor: Tensor, group: Group | None = None, use_calc_stream: bool = True) -> None:
    """Return once ``tensor`` holds the results of what was started on the group (``sync_op=False``).

    Args:
        tensor: the tensor; all that was started on the group is waited for.
        group: a :class:`Group`; None for all ranks.
        use_calc_stream: accepted; hosts have one stream.

    Raises:
        TypeError: a value that is not a group.
        RuntimeError: a group that was shut down.

    Example:
        >>> import paddle
        >>> x = paddle.ones([2])
        >>> _ = paddle.distributed.all_reduce(x, sync_op=False)
        >>> paddle.distributed.wait(x)
    """
    from paddle.distributed.communication._paths import wait_all

    pg = member(group, "wait")
    if pg is not None:
        wait_all(pg)
