"""Calls of functions in other processes."""

from paddle.distributed.rpc.rpc import (
    WorkerInfo,
    get_all_worker_infos,
    get_current_worker_info,
    get_worker_info,
    init_rpc,
    rpc_async,
    rpc_sync,
    shutdown,
)

__all__ = [
    "get_all_worker_infos",
    "get_current_worker_info",
    "get_worker_info",
    "init_rpc",
    "rpc_async",
    "rpc_sync",
    "shutdown",
]
