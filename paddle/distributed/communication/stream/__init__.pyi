"""Made by ``tools/public_stubs.py``."""

from paddle.distributed.communication.stream.alltoall import alltoall as alltoall
from paddle.distributed.communication.stream.alltoall import alltoall_single as alltoall_single
from paddle.distributed.communication.stream.broadcast import broadcast as broadcast
from paddle.distributed.communication.stream.gather import all_gather as all_gather
from paddle.distributed.communication.stream.gather import gather as gather
from paddle.distributed.communication.stream.p2p import recv as recv
from paddle.distributed.communication.stream.p2p import send as send
from paddle.distributed.communication.stream.reduce import all_reduce as all_reduce
from paddle.distributed.communication.stream.reduce import reduce as reduce
from paddle.distributed.communication.stream.reduce import reduce_scatter as reduce_scatter
from paddle.distributed.communication.stream.scatter import scatter as scatter

__all__ = [
    "all_gather",
    "all_reduce",
    "alltoall",
    "alltoall_single",
    "broadcast",
    "gather",
    "recv",
    "reduce",
    "reduce_scatter",
    "scatter",
    "send",
]
