"""Made by ``tools/public_stubs.py``."""

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
from paddle.distributed.communication.group import is_initialized as is_initialized
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

__all__ = [
    "P2POp",
    "ReduceOp",
    "all_gather",
    "all_gather_object",
    "all_reduce",
    "alltoall",
    "alltoall_single",
    "barrier",
    "batch_isend_irecv",
    "broadcast",
    "broadcast_object_list",
    "destroy_process_group",
    "gather",
    "get_backend",
    "get_group",
    "irecv",
    "is_initialized",
    "isend",
    "recv",
    "recv_object_list",
    "reduce",
    "reduce_scatter",
    "scatter",
    "scatter_object_list",
    "send",
    "send_object_list",
    "stream",
    "wait",
]
