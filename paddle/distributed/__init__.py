"""Training on many devices."""

from paddle.distributed import communication, fleet
from paddle.distributed.communication import (
    ReduceOp,
    all_gather,
    all_reduce,
    barrier,
    broadcast,
    destroy_process_group,
    gather,
    get_backend,
    get_group,
    is_initialized,
    reduce,
    reduce_scatter,
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
from paddle.distributed.parallel import (
    ParallelEnv,
    ParallelMode,
    get_rank,
    get_world_size,
    gloo_barrier,
    gloo_init_parallel_env,
    gloo_release,
    init_parallel_env,
)
