"""Training on many devices."""

from paddle.distributed import communication, fleet, rpc
from paddle.distributed.communication import (
    P2POp,
    ReduceOp,
    all_gather,
    all_gather_object,
    all_reduce,
    alltoall,
    alltoall_single,
    barrier,
    batch_isend_irecv,
    broadcast,
    broadcast_object_list,
    destroy_process_group,
    gather,
    get_backend,
    get_group,
    irecv,
    is_initialized,
    isend,
    recv,
    recv_object_list,
    reduce,
    reduce_scatter,
    scatter,
    scatter_object_list,
    send,
    send_object_list,
    stream,
    wait,
)
from paddle.distributed.communication.group import (
    is_available,
    new_group,
    restart_process_group,
    shutdown_process_group,
)
from paddle.distributed.flex_checkpoint.dcp.load_state_dict import load_merged_state_dict, load_state_dict
from paddle.distributed.flex_checkpoint.dcp.save_state_dict import save_state_dict
from paddle.distributed.flex_checkpoint.dcp.sharded_weight import (
    ShardedStateDict,
    ShardedWeight,
    build_sharded_state_dict,
    shard_weight,
)
from paddle.distributed.launch.main import launch
from paddle.distributed.parallel import (
    ParallelEnv,
    ParallelMode,
    create_nccl_config,
    get_rank,
    get_world_size,
    gloo_barrier,
    gloo_init_parallel_env,
    gloo_release,
    init_parallel_env,
)
from paddle.distributed.spawn import spawn
