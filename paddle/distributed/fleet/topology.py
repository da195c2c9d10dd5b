"""Ranks on a grid, one axis for each way to divide the work, and the groups that its lines make."""

from __future__ import annotations

import collections
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from paddle._public import public
from paddle.distributed.communication.group import Group, new_group
from paddle.distributed.parallel import ParallelMode, get_rank
from umiak import comm
from umiak.util.errors import op_error

AXES = ("data", "pipe", "sharding", "sep", "context", "model")  # from the outermost to the innermost
FUSED = {
    "dp_sep": ("data", "sep"),
    "pp_mp": ("pipe", "model"),
    "cp_mp": ("context", "model"),
    "dp_cp": ("data", "context"),
}


@public("paddle.distributed.fleet")
class CommunicateTopology:
    """A grid of ranks with named axes; the last axis is the one along which ranks are neighbours.

    Args:
        hybrid_group_names: names of the axes.
        dims: their sizes.

    Raises:
        ValueError: names that repeat, sizes below 1, or not as many of one as of the other.

    Example:
        >>> import paddle
        >>> grid = paddle.distributed.fleet.CommunicateTopology(["data", "pipe", "model"], [2, 2, 2])
        >>> grid.get_comm_list("pipe")
        [[0, 2], [1, 3], [4, 6], [5, 7]]
        >>> grid.get_rank(data=1, pipe=0, model=1), grid.get_coord(5)
        (5, Coordinate(data=1, pipe=0, model=1))
    """

    def __init__(self, hybrid_group_names: Sequence[str] = AXES, dims: Sequence[int] = (1,) * len(AXES)) -> None:
        names, sizes = list(hybrid_group_names), [int(d) for d in dims]
        if len(names) != len(sizes) or len(set(names)) != len(names) or min(sizes, default=1) < 1:
            raise op_error(
                ValueError, "CommunicateTopology", "different names and a size of at least 1 for each", (names, sizes)
            )
        self._names, self._dims = names, sizes
        self._grid = np.arange(int(np.prod(sizes, dtype=int))).reshape(sizes)
        self.coordinate: Any = collections.namedtuple("Coordinate", names)  # type: ignore[misc]

    def _axis(self, name: str) -> int:
        if name not in self._names:
            raise op_error(ValueError, "CommunicateTopology", f"an axis of {self._names}", repr(name))
        return self._names.index(name)

    def get_hybrid_group_names(self) -> list[str]:
        """The names of the axes."""
        return self._names

    def get_dim(self, axis_name: str) -> int:
        """The size of an axis."""
        return self._dims[self._axis(axis_name)]

    get_dim_size = get_dim

    def world_size(self) -> int:
        """Number of ranks."""
        return self._grid.size

    def get_rank(self, **args: int) -> int:
        """The rank at a coordinate, of which every axis is named. ValueError where one is missing or out of range."""
        if set(args) != set(self._names) or any(not 0 <= args[n] < d for n, d in zip(self._names, self._dims)):
            need = f"a place on each axis of {dict(zip(self._names, self._dims))}"
            raise op_error(ValueError, "CommunicateTopology.get_rank", need, args)
        return int(self._grid[tuple(args[n] for n in self._names)])

    def get_coord(self, rank: int) -> Any:
        """The coordinate of a rank, a named tuple. ValueError where there is no such rank."""
        if not 0 <= rank < self._grid.size:
            raise op_error(ValueError, "CommunicateTopology.get_coord", f"a rank below {self._grid.size}", rank)
        return self.coordinate(*(int(i) for i in np.unravel_index(rank, self._dims)))

    def get_axis_list(self, axis_name: str, index: int) -> list[int]:
        """The ranks at one place of an axis. ValueError where the axis is shorter."""
        axis = self._axis(axis_name)
        if not 0 <= index < self._dims[axis]:
            need = f"a place below {self._dims[axis]} on axis {axis_name!r}"
            raise op_error(ValueError, "CommunicateTopology.get_axis_list", need, index)
        return np.sort(self._grid.take(index, axis).reshape(-1)).tolist()

    def get_comm_list(self, axis_name: str) -> list[list[int]]:
        """The lines along an axis: ranks that differ in their place on it alone."""
        return self.get_fused_ranks([axis_name])

    def get_fused_ranks(self, fused_axis: Sequence[str]) -> list[list[int]]:
        """The planes along some axes: ranks that differ in their places on these alone; the first varies slowest."""
        axes = [self._axis(name) for name in fused_axis]
        size = int(np.prod([self._dims[a] for a in axes], dtype=int))
        return np.moveaxis(self._grid, axes, range(-len(axes), 0)).reshape(-1, size).tolist()

    def get_rank_from_stage(self, global_rank: int, **kwargs: int) -> int:
        """The rank at the coordinate of another, but for the places that are named."""
        return self.get_rank(**{**self.get_coord(global_rank)._asdict(), **kwargs})


@public("paddle.distributed.fleet")
class HybridCommunicateGroup:
    """The groups of every axis of a topology, as the caller's rank sees them. All ranks of the world make one alike.

    ``get_<axis>_parallel_rank``, ``_world_size``, ``_group`` and ``_group_src_rank`` tell the caller's place, how many
    there are, who they are and the first of them; axes are ``data``, ``pipe``, ``sharding``, ``sep``, ``context``,
    ``model``, ``moe_sharding`` and ``expert``.

    Experts have a view of their own over the ranks of a pipeline stage: ``moe_sharding`` outside, ``expert`` inside.

    Args:
        topology: the axes; those that it lacks have one place.
        hybrid_configs: ``ep_degree`` and ``moe_sharding_degree``, 1 by default.

    Raises:
        ValueError: the topology is not of as many ranks as there are, or the experts do not fill a stage.

    Example:
        >>> import paddle
        >>> from paddle.distributed import fleet
        >>> groups = fleet.HybridCommunicateGroup(fleet.CommunicateTopology())
        >>> groups.get_data_parallel_world_size(), groups.get_data_parallel_group().ranks
        (1, [0])
    """

    def __init__(self, topology: CommunicateTopology, hybrid_configs: Mapping[str, Any] | None = None) -> None:
        self._topology = topology
        self.global_rank = get_rank()
        self.nranks = comm.world().size
        if topology.world_size() != self.nranks:
            shape = dict(zip(topology._names, topology._dims))
            need = f"as many places as there are ranks, {self.nranks}"
            raise op_error(ValueError, "HybridCommunicateGroup", need, f"{topology.world_size()} of {shape}")
        self._made: dict[tuple[int, ...], Group] = {}
        configs = hybrid_configs or {}
        self._lists = {name: self._lines(name) for name in AXES}
        self._lists.update(self._expert_lines(configs.get("moe_sharding_degree", 1), configs.get("ep_degree", 1)))
        self._groups = {name: self._group_of(lists) for name, lists in self._lists.items()}
        for name, axes in FUSED.items():
            self._groups[name] = self._group_of(self._planes(axes))
        for name in ("data", "sharding"):  # ranks with the caller's place on the axis
            count = topology.get_dim(name) if name in topology._names else 1
            lists = [topology.get_axis_list(name, i) for i in range(count)] if count > 1 else [[*range(self.nranks)]]
            self._groups[f"check {name}"] = self._group_of(lists)

    def _lines(self, name: str) -> list[list[int]]:
        if name not in self._topology._names:
            return [[r] for r in range(self.nranks)]
        return self._topology.get_comm_list(name)

    def _planes(self, axes: Sequence[str]) -> list[list[int]]:
        there = [a for a in axes if a in self._topology._names]
        return self._topology.get_fused_ranks(there) if there else [[r] for r in range(self.nranks)]

    def _expert_lines(self, shards: int, experts: int) -> dict[str, list[list[int]]]:
        alone = [[r] for r in range(self.nranks)]
        if shards == experts == 1:
            return {"moe_sharding": alone, "expert": alone}
        sharding = self._topology.get_dim("sharding") if "sharding" in self._topology._names else 1
        stages = self._topology.get_dim("pipe") if "pipe" in self._topology._names else 1
        if self.nranks != stages * shards * experts or sharding % shards:
            raise op_error(
                ValueError,
                "HybridCommunicateGroup",
                "moe_sharding_degree × ep_degree ranks in a stage, sharding_degree a multiple of moe_sharding_degree",
                f"{shards} × {experts} of {self.nranks // stages} ranks, sharding_degree {sharding}",
            )
        lines: dict[str, list[list[int]]] = {"moe_sharding": [], "expert": []}
        for stage in range(stages):
            ranks = self._topology.get_axis_list("pipe", stage) if stages > 1 else [*range(self.nranks)]
            grid = np.array(ranks).reshape(shards, experts)
            lines["moe_sharding"] += grid.T.tolist()
            lines["expert"] += grid.tolist()
        return lines

    def _group_of(self, lists: list[list[int]]) -> Group:
        """The caller's group of some that are disjoint; each list of ranks has one, whatever it is for."""
        own: Group | None = None
        for ranks in lists:
            key = tuple(ranks)
            if key not in self._made:
                self._made[key] = new_group(ranks)
            if self.global_rank in key:
                own = self._made[key]
        assert own is not None
        return own

    # --- what every axis has; see `_axis_methods`

    def _size(self, axis: str) -> int:
        return self._groups[axis].nranks

    def get_global_rank(self) -> int:
        """The rank among all."""
        return self.global_rank

    def topology(self) -> CommunicateTopology:
        """The grid."""
        return self._topology

    def get_parallel_mode(self) -> int:
        """Return what is divided among ranks: a member of ``ParallelMode``."""
        for axis, mode in (
            ("pipe", ParallelMode.PIPELINE_PARALLEL),
            ("model", ParallelMode.TENSOR_PARALLEL),
            ("sep", ParallelMode.SEGMENT_PARALLEL),
            ("sharding", ParallelMode.SHARDING_PARALLEL),
        ):
            if self._size(axis) > 1:
                return mode
        return ParallelMode.DATA_PARALLEL

    def get_stage_id(self) -> int:
        """The pipeline stage of the caller."""
        return self._groups["pipe"].rank

    @property
    def is_first_stage(self) -> bool:
        """Return whether the caller's stage is the first one."""
        return self.get_stage_id() == 0

    @property
    def is_last_stage(self) -> bool:
        """Return whether the caller's stage is the last one."""
        return self.get_stage_id() == self._size("pipe") - 1

    def get_rank_from_stage(self, stage_id: int, **kwargs: int) -> int:
        """The rank of another stage, at the caller's place otherwise but for the axes that are named."""
        return self._topology.get_rank_from_stage(self.global_rank, pipe=stage_id, **kwargs)

    def get_p2p_groups(self) -> tuple[Group, Group, Group, Group]:
        """Groups of the caller with its next and its previous stage, as sender and as receiver:
        ``(send_next, send_prev, recv_next, recv_prev)``. All ranks call this alike.

        Raises:
            ValueError: there is one stage.
        """
        lines = self._lists["pipe"]
        if self._size("pipe") == 1:
            raise op_error(ValueError, "get_p2p_groups", "several pipeline stages", 1)
        mine: dict[str, Group] = {}
        for what, receives in (("next", False), ("prev", True)):
            for line in lines:
                for a, b in zip(line, [*line[1:], line[0]]):
                    pair = (a, b, what)
                    group = new_group([a, b])
                    if self.global_rank == (b if receives else a):
                        mine[f"send_{what}"] = group
                    if self.global_rank == (a if receives else b):
                        mine["recv_prev" if what == "next" else "recv_next"] = group
                    assert pair
        return mine["send_next"], mine["send_prev"], mine["recv_next"], mine["recv_prev"]

    def get_check_parallel_group(self, sharding: bool = False) -> Group:
        """The ranks with the caller's place on the axis ``data``, or ``sharding``: those that norms are summed over."""
        return self._groups["check sharding" if sharding else "check data"]

    def create_fuse_group(self, fused_strategy_list: Sequence[str], nccl_config: Any = None) -> tuple[list[int], Group]:
        """The caller's group along several axes, and its ranks. All ranks call this alike.

        Args:
            fused_strategy_list: names of axes.
            nccl_config: options of NCCL, which the engines of hosts do not read.
        """
        group = self._group_of(self._topology.get_fused_ranks(fused_strategy_list))
        return group.ranks, group


def _axis_methods(axis: str, place: bool = True) -> dict[str, Callable]:
    """Methods of the groups along an axis; ``place`` says whether there are rank and size as well."""

    def group(self: HybridCommunicateGroup) -> Group:
        return self._groups[axis]

    def source(self: HybridCommunicateGroup) -> int:
        return self._groups[axis].ranks[0]

    def rank(self: HybridCommunicateGroup) -> int:
        return self._groups[axis].rank

    def size(self: HybridCommunicateGroup) -> int:
        return self._groups[axis].nranks

    group.__doc__ = f"The group of the caller along {axis.replace('_', ' and ')}."
    source.__doc__ = "The first rank of that group."
    rank.__doc__ = f"The caller's place along {axis}."
    size.__doc__ = f"How many places there are along {axis}."
    methods: dict[str, Callable] = {"group": group, "group_src_rank": source}
    if place:
        methods.update(rank=rank, world_size=size)
    named = {f"get_{axis}_parallel_{what}": method for what, method in methods.items()}
    for name, method in named.items():
        method.__name__, method.__qualname__ = name, f"HybridCommunicateGroup.{name}"
    return named


for _axis in (*AXES, "moe_sharding", "expert", *FUSED):
    for _name, _method in _axis_methods(_axis, _axis not in FUSED).items():
        setattr(HybridCommunicateGroup, _name, _method)
