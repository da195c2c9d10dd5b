"""Made by ``tools/public_stubs.py``."""

import builtins
from typing import Any, overload

from paddle.distributed import communication as communication
from paddle.distributed import fleet as fleet
from paddle.distributed import rpc as rpc
from paddle.distributed.communication import stream as stream
from paddle.distributed.communication._paths import ReduceOp as ReduceOp
from paddle.distributed.communication.alltoall import alltoall as alltoall
from paddle.distributed.communication.alltoall import alltoall_single as alltoall_single
from paddle.distributed.communication.broadcast import broadcast as broadcast
from paddle.distributed.communication.gather import all_gather as all_gather
from paddle.distributed.communication.gather import gather as gather
from paddle.distributed.communication.group import barrier as barrier
from paddle.distributed.communication.group import destroy_process_group as destroy_process_group
from paddle.distributed.communication.group import get_backend as get_backend
from paddle.distributed.communication.group import get_group as get_group
from paddle.distributed.communication.group import is_available as is_available
from paddle.distributed.communication.group import is_initialized as is_initialized
from paddle.distributed.communication.group import new_group as new_group
from paddle.distributed.communication.group import restart_process_group as restart_process_group
from paddle.distributed.communication.group import shutdown_process_group as shutdown_process_group
from paddle.distributed.communication.group import wait as wait
from paddle.distributed.communication.objects import all_gather_object as all_gather_object
from paddle.distributed.communication.objects import broadcast_object_list as broadcast_object_list
from paddle.distributed.communication.objects import recv_object_list as recv_object_list
from paddle.distributed.communication.objects import scatter_object_list as scatter_object_list
from paddle.distributed.communication.objects import send_object_list as send_object_list
from paddle.distributed.communication.p2p import P2POp as P2POp
from paddle.distributed.communication.p2p import batch_isend_irecv as batch_isend_irecv
from paddle.distributed.communication.p2p import irecv as irecv
from paddle.distributed.communication.p2p import isend as isend
from paddle.distributed.communication.p2p import recv as recv
from paddle.distributed.communication.p2p import send as send
from paddle.distributed.communication.reduce import all_reduce as all_reduce
from paddle.distributed.communication.reduce import reduce as reduce
from paddle.distributed.communication.reduce import reduce_scatter as reduce_scatter
from paddle.distributed.communication.scatter import scatter as scatter
from paddle.distributed.entry_attr import CountFilterEntry as CountFilterEntry
from paddle.distributed.entry_attr import ProbabilityEntry as ProbabilityEntry
from paddle.distributed.entry_attr import ShowClickEntry as ShowClickEntry
from paddle.distributed.flex_checkpoint.dcp.load_state_dict import load_merged_state_dict as load_merged_state_dict
from paddle.distributed.flex_checkpoint.dcp.load_state_dict import load_state_dict as load_state_dict
from paddle.distributed.flex_checkpoint.dcp.save_state_dict import save_state_dict as save_state_dict
from paddle.distributed.flex_checkpoint.dcp.sharded_weight import ShardedStateDict as ShardedStateDict
from paddle.distributed.flex_checkpoint.dcp.sharded_weight import ShardedWeight as ShardedWeight
from paddle.distributed.flex_checkpoint.dcp.sharded_weight import build_sharded_state_dict as build_sharded_state_dict
from paddle.distributed.launch.main import launch as launch
from paddle.distributed.parallel import ParallelEnv as ParallelEnv
from paddle.distributed.parallel import ParallelMode as ParallelMode
from paddle.distributed.parallel import create_nccl_config as create_nccl_config
from paddle.distributed.parallel import get_rank as get_rank
from paddle.distributed.parallel import get_world_size as get_world_size
from paddle.distributed.parallel import gloo_barrier as gloo_barrier
from paddle.distributed.parallel import gloo_init_parallel_env as gloo_init_parallel_env
from paddle.distributed.parallel import gloo_release as gloo_release
from paddle.distributed.parallel import init_parallel_env as init_parallel_env
from paddle.distributed.spawn import spawn as spawn
from umiak.core.tensor import Tensor

@overload
def shard_weight(key: builtins.str, weight: Tensor, axis: builtins.int, group: Any) -> Any: ...
@overload
def shard_weight(key: builtins.str, weight: Tensor, *, dim: builtins.int, group: Any) -> Any: ...

__all__ = [
    "CountFilterEntry",
    "P2POp",
    "ParallelEnv",
    "ParallelMode",
    "ProbabilityEntry",
    "ReduceOp",
    "ShardedStateDict",
    "ShardedWeight",
    "ShowClickEntry",
    "all_gather",
    "all_gather_object",
    "all_reduce",
    "alltoall",
    "alltoall_single",
    "barrier",
    "batch_isend_irecv",
    "broadcast",
    "broadcast_object_list",
    "build_sharded_state_dict",
    "communication",
    "create_nccl_config",
    "destroy_process_group",
    "fleet",
    "gather",
    "get_backend",
    "get_group",
    "get_rank",
    "get_world_size",
    "gloo_barrier",
    "gloo_init_parallel_env",
    "gloo_release",
    "init_parallel_env",
    "irecv",
    "is_available",
    "is_initialized",
    "isend",
    "launch",
    "load_merged_state_dict",
    "load_state_dict",
    "new_group",
    "recv",
    "recv_object_list",
    "reduce",
    "reduce_scatter",
    "restart_process_group",
    "rpc",
    "save_state_dict",
    "scatter",
    "scatter_object_list",
    "send",
    "send_object_list",
    "shard_weight",
    "shutdown_process_group",
    "spawn",
    "stream",
    "wait",
]
