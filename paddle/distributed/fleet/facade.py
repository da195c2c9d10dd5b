"""``fleet``: one call each to join the others, to spread a model over them and to step its optimizer."""

from __future__ import annotations

import os
from typing import Any

from paddle._public import constants, public
from paddle.distributed.data_parallel import DataParallel
from paddle.distributed.fleet.role_maker import PaddleCloudRoleMaker
from paddle.distributed.fleet.state import FleetState, fleet_state, set_fleet_state
from paddle.distributed.fleet.strategy import DistributedStrategy
from paddle.distributed.fleet.topology import CommunicateTopology, HybridCommunicateGroup
from paddle.distributed.fleet.utility import UtilBase
from paddle.distributed.parallel import ParallelEnv, init_parallel_env
from paddle.nn.layer.layers import Layer
from paddle.nn.layer.norm import SyncBatchNorm
from paddle.optimizer.optimizer import Optimizer
from umiak import comm
from umiak.util import log
from umiak.util.errors import op_error

LEVELS = ("DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL")


@public("paddle.distributed.fleet")
class Fleet:
    """All workers. Its methods are functions of ``paddle.distributed.fleet``, too.

    Example:
        >>> import paddle
        >>> from paddle.distributed import fleet
        >>> _ = fleet.init(is_collective=True)
        >>> layer = paddle.nn.Linear(4, 2)
        >>> model = fleet.distributed_model(layer)
        >>> opt = fleet.distributed_optimizer(paddle.optimizer.SGD(0.1, parameters=layer.parameters()))
        >>> model(paddle.ones([8, 4])).mean().backward()
        >>> opt.step()
    """

    util = UtilBase()

    def init(
        self,
        role_maker: PaddleCloudRoleMaker | None = None,
        is_collective: bool = False,
        strategy: DistributedStrategy | None = None,
        log_level: int | str = "INFO",
    ) -> Fleet:
        """Join the other workers, and make the groups of the degrees of ``strategy.hybrid_configs``. All call it alike.

        Args:
            role_maker: who this process is; None: what the launcher has told.
            is_collective: True, unless a role maker says so: there are no parameter servers.
            strategy: what training is to do, a ``DistributedStrategy``; None: its defaults.
            log_level: a level of Python's ``logging``, by name or number.

        Returns:
            The object itself.

        Raises:
            ValueError: no collective training, an unknown level, or degrees whose product is not the number of workers.
            TypeError: arguments of another type.

        Example:
            >>> from paddle.distributed import fleet
            >>> _ = fleet.init(is_collective=True)
            >>> fleet.worker_num()
            1
        """
        if role_maker is None:
            role_maker = PaddleCloudRoleMaker(is_collective=is_collective)
        if not isinstance(role_maker, PaddleCloudRoleMaker):
            raise op_error(TypeError, "fleet.init", "a role maker of fleet", type(role_maker).__name__)
        strategy = DistributedStrategy() if strategy is None else strategy
        if not isinstance(strategy, DistributedStrategy):
            raise op_error(TypeError, "fleet.init", "a DistributedStrategy", type(strategy).__name__)
        level = log_level.upper() if isinstance(log_level, str) else log_level
        if not (level in LEVELS if isinstance(level, str) else type(level) is int):
            raise op_error(ValueError, "fleet.init", f"a log_level of {LEVELS} or a number", repr(log_level))
        log.get("fleet").setLevel(level)
        init_parallel_env()
        grid = CommunicateTopology(*strategy.axes(comm.world().size))
        groups = HybridCommunicateGroup(grid, strategy.hybrid_configs)
        set_fleet_state(FleetState(strategy, groups))
        return self

    @property
    def started(self) -> bool:
        """Return whether this rank has called ``init``."""
        return fleet_state() is not None

    def _state(self, method: str) -> FleetState:
        state = fleet_state()
        if state is None:
            raise op_error(RuntimeError, f"fleet.{method}", "fleet.init() before", "none")
        return state

    # --- training

    def distributed_model(self, model: Layer) -> Layer:
        """Spread a model over all workers.

        Args:
            model: a layer.

        Returns:
            A :class:`paddle.DataParallel` with the strategy's sizes; alone, the model.

        Raises:
            NotImplementedError: another degree than ``dp_degree`` is above 1.
            TypeError: a value that is not a layer.
            RuntimeError: :meth:`init` was not called.

        Example:
            >>> import paddle
            >>> from paddle.distributed import fleet
            >>> _ = fleet.init(is_collective=True)
            >>> layer = paddle.nn.Linear(4, 2)
            >>> fleet.distributed_model(layer) is layer
            True
        """
        if not isinstance(model, Layer):
            raise op_error(TypeError, "fleet.distributed_model", "a layer", type(model).__name__)
        state = self._state("distributed_model")
        strategy, groups = state.strategy, state.groups
        axes = ("model", "pipe", "sharding", "sep", "context", "expert", "moe_sharding")
        others = {name: groups._size(name) for name in axes if groups._size(name) > 1}
        if others:
            raise op_error(
                NotImplementedError,
                "fleet.distributed_model",
                "dp_degree alone above 1",
                f"degrees {others}",
                "Their groups are there; layers that use them are not yet.",
            )
        if strategy.sync_batch_norm:
            model = SyncBatchNorm.convert_sync_batchnorm(model)
        if groups._size("data") == 1:
            return model
        return DataParallel(
            model,
            comm_buffer_size=strategy.fuse_grad_size_in_MB,
            last_comm_buffer_size=strategy.last_comm_group_size_MB,
            find_unused_parameters=strategy.find_unused_parameters,
            group=groups._groups["data"],
        )

    def distributed_optimizer(self, optimizer: Optimizer, strategy: DistributedStrategy | None = None) -> Optimizer:
        """Make an optimizer step over all workers. With data parallelism it is the same one: gradients are means.

        Args:
            optimizer: of ``paddle.optimizer``.
            strategy: instead of that of ``init``; it may not ask for other groups. None: that one.

        Returns:
            The optimizer.

        Raises:
            TypeError: a value that is not an optimizer.
            ValueError: a strategy that asks for other groups.
            RuntimeError: :meth:`init` was not called.

        Example:
            >>> import paddle
            >>> from paddle.distributed import fleet
            >>> _ = fleet.init(is_collective=True)
            >>> layer = paddle.nn.Linear(4, 2)
            >>> opt = fleet.distributed_optimizer(paddle.optimizer.SGD(0.1, parameters=layer.parameters()))
            >>> type(opt).__name__
            'SGD'
        """
        if not isinstance(optimizer, Optimizer):
            raise op_error(TypeError, "fleet.distributed_optimizer", "an optimizer", type(optimizer).__name__)
        state = self._state("distributed_optimizer")
        if strategy is not None:
            size = comm.world().size
            if not isinstance(strategy, DistributedStrategy) or strategy.axes(size) != state.strategy.axes(size):
                raise op_error(
                    ValueError, "fleet.distributed_optimizer", f"the degrees of init, {state.strategy!r}", strategy
                )
        return optimizer

    def get_hybrid_communicate_group(self) -> HybridCommunicateGroup:
        """Groups that ``init`` has made.

        Returns:
            A ``HybridCommunicateGroup``.

        Raises:
            RuntimeError: :meth:`init` was not called.

        Example:
            >>> from paddle.distributed import fleet
            >>> _ = fleet.init(is_collective=True)
            >>> fleet.get_hybrid_communicate_group().get_data_parallel_world_size()
            1
        """
        return self._state("get_hybrid_communicate_group").groups

    def get_hybrid_parallel_topology(self) -> CommunicateTopology:
        """The grid of ranks that ``init`` has made."""
        return self._state("get_hybrid_parallel_topology").groups.topology()

    # --- who is who

    def worker_index(self) -> int:
        """Rank of this worker.

        Returns:
            An int.

        Raises:
            RuntimeError: :meth:`init` was not called.

        Example:
            >>> from paddle.distributed import fleet
            >>> _ = fleet.init(is_collective=True)
            >>> fleet.worker_index()
            0
        """
        self._state("worker_index")
        return comm.world().rank

    def worker_num(self) -> int:
        """Number of workers.

        Returns:
            An int.

        Raises:
            RuntimeError: :meth:`init` was not called.

        Example:
            >>> from paddle.distributed import fleet
            >>> _ = fleet.init(is_collective=True)
            >>> fleet.worker_num()
            1
        """
        self._state("worker_num")
        return comm.world().size

    def is_first_worker(self) -> bool:
        """Return whether this is worker 0.

        Returns:
            A bool.

        Raises:
            RuntimeError: :meth:`init` was not called.

        Example:
            >>> from paddle.distributed import fleet
            >>> _ = fleet.init(is_collective=True)
            >>> fleet.is_first_worker()
            True
        """
        return self.worker_index() == 0

    def is_worker(self) -> bool:
        """Return whether this process trains: always.

        Returns:
            True.

        Raises:
            RuntimeError: :meth:`init` was not called.

        Example:
            >>> from paddle.distributed import fleet
            >>> _ = fleet.init(is_collective=True)
            >>> fleet.is_worker()
            True
        """
        self._state("is_worker")
        return True

    def is_server(self) -> bool:
        """Return whether this process serves parameters: never.

        Returns:
            False.

        Raises:
            RuntimeError: :meth:`init` was not called.

        Example:
            >>> from paddle.distributed import fleet
            >>> _ = fleet.init(is_collective=True)
            >>> fleet.is_server()
            False
        """
        self._state("is_server")
        return False

    def is_coordinator(self) -> bool:
        """Return whether this process coordinates federated training: never.

        Returns:
            False.

        Raises:
            RuntimeError: :meth:`init` was not called.

        Example:
            >>> from paddle.distributed import fleet
            >>> _ = fleet.init(is_collective=True)
            >>> fleet.is_coordinator()
            False
        """
        self._state("is_coordinator")
        return False

    def local_rank(self) -> int:
        """Rank of this worker among those of its host.

        Returns:
            An int.

        Raises:
            RuntimeError: :meth:`init` was not called.

        Example:
            >>> from paddle.distributed import fleet
            >>> _ = fleet.init(is_collective=True)
            >>> fleet.local_rank()
            0
        """
        self._state("local_rank")
        return ParallelEnv().local_rank

    def node_num(self) -> int:
        """Number of hosts with workers, by the addresses that the launcher told; 1 where it told none.

        Returns:
            An int.

        Raises:
            RuntimeError: :meth:`init` was not called.

        Example:
            >>> from paddle.distributed import fleet
            >>> _ = fleet.init(is_collective=True)
            >>> fleet.node_num()
            1
        """
        return max(1, len({e.rsplit(":", 1)[0] for e in self._endpoints("node_num")}))

    def _endpoints(self, method: str) -> list[str]:
        self._state(method)
        return [e for e in os.environ.get("PADDLE_TRAINER_ENDPOINTS", "").split(",") if e]

    def worker_endpoints(self, to_string: bool = False) -> list[str] | str:
        """Addresses of all workers, as far as the launcher has told.

        Args:
            to_string: join them by commas.

        Returns:
            A list of str, or a str.

        Raises:
            RuntimeError: :meth:`init` was not called.

        Example:
            >>> from paddle.distributed import fleet
            >>> _ = fleet.init(is_collective=True)
            >>> fleet.worker_endpoints()
            []
        """
        endpoints = self._endpoints("worker_endpoints")
        return ",".join(endpoints) if to_string else endpoints

    # --- all workers at once

    def barrier_worker(self) -> None:
        """Return once every worker has come here.

        Raises:
            RuntimeError: :meth:`init` was not called.

        Example:
            >>> from paddle.distributed import fleet
            >>> _ = fleet.init(is_collective=True)
            >>> fleet.barrier_worker()
        """
        self._state("barrier_worker")
        comm.world().barrier().wait()

    def all_reduce(self, input: Any, mode: str = "sum") -> Any:
        """Combine numbers of all workers, as ``fleet.util.all_reduce`` does.

        Args:
            input: a number, an array or a list of numbers.
            mode: ``"sum"``, ``"min"`` or ``"max"``.

        Returns:
            An array; of a number, an array of one element.

        Raises:
            ValueError: another mode.

        Example:
            >>> from paddle.distributed import fleet
            >>> _ = fleet.init(is_collective=True)
            >>> fleet.all_reduce([3]).tolist()
            [3]
        """
        return self.util.all_reduce(input, mode)


fleet = Fleet()
# The methods of the one object are functions of the module.
all_reduce = fleet.all_reduce
barrier_worker = fleet.barrier_worker
distributed_model = fleet.distributed_model
distributed_optimizer = fleet.distributed_optimizer
get_hybrid_communicate_group = fleet.get_hybrid_communicate_group
init = fleet.init
is_coordinator = fleet.is_coordinator
is_first_worker = fleet.is_first_worker
is_server = fleet.is_server
is_worker = fleet.is_worker
local_rank = fleet.local_rank
node_num = fleet.node_num
util = fleet.util
worker_endpoints = fleet.worker_endpoints
worker_index = fleet.worker_index
worker_num = fleet.worker_num

constants(
    "paddle.distributed.fleet",
    __name__,
    {
        "fleet": fleet,
        "util": util,
        **{name: f for name, f in globals().items() if getattr(f, "__self__", None) is fleet},
    },
)
