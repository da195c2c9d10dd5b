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
