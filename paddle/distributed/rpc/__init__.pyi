"""Made by ``tools/public_stubs.py``."""

from paddle.distributed.rpc.rpc import WorkerInfo as WorkerInfo
from paddle.distributed.rpc.rpc import get_all_worker_infos as get_all_worker_infos
from paddle.distributed.rpc.rpc import get_current_worker_info as get_current_worker_info
from paddle.distributed.rpc.rpc import get_worker_info as get_worker_info
from paddle.distributed.rpc.rpc import init_rpc as init_rpc
from paddle.distributed.rpc.rpc import rpc_async as rpc_async
from paddle.distributed.rpc.rpc import rpc_sync as rpc_sync
from paddle.distributed.rpc.rpc import shutdown as shutdown

__all__ = [
    "WorkerInfo",
    "get_all_worker_infos",
    "get_current_worker_info",
    "get_worker_info",
    "init_rpc",
    "rpc_async",
    "rpc_sync",
    "shutdown",
]
