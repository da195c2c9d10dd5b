"""Communication among ranks."""

from paddle.distributed.communication import stream
from paddle.distributed.communication._paths import ReduceOp
from paddle.distributed.communication.alltoall import alltoall, alltoall_single
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
from paddle.distributed.communication.objects import (
    all_gather_object,
    broadcast_object_list,
    recv_object_list,
    scatter_object_list,
    send_object_list,
)
from paddle.distributed.communication.p2p import P2POp, batch_isend_irecv, irecv, isend, recv, send
from paddle.distributed.communication.reduce import all_reduce, reduce, reduce_scatter
from paddle.distributed.communication.scatter import scatter
