"""The operations among ranks, with a choice of the stream that they run on."""

from paddle.distributed.communication.stream.alltoall import alltoall, alltoall_single
from paddle.distributed.communication.stream.broadcast import broadcast
from paddle.distributed.communication.stream.gather import all_gather, gather
from paddle.distributed.communication.stream.p2p import recv, send
from paddle.distributed.communication.stream.reduce import all_reduce, reduce, reduce_scatter
from paddle.distributed.communication.stream.scatter import scatter
