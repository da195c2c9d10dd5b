"""Communication among ranks."""

from paddle.distributed.communication import stream
from paddle.distributed.communication._ways import ReduceOp
from paddle.distributed.communication.broadcast import broadcast
from paddle.distributed.communication.gather import all_gather, gather
from paddle.distributed.communication.group import (
    barrier,
    destroy_process_group,
    get_backend,
    get_group,
    is_initialized,
    wait,
)
from paddle.distributed.communication.reduce import all_reduce, reduce, reduce_scatter
