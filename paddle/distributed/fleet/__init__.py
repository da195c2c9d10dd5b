"""Training at large."""

from paddle import _lazy
from paddle.distributed.fleet import recompute, utils
from paddle.distributed.fleet.facade import Fleet, fleet
from paddle.distributed.fleet.role_maker import PaddleCloudRoleMaker, Role, UserDefinedRoleMaker
from paddle.distributed.fleet.strategy import DistributedStrategy
from paddle.distributed.fleet.topology import CommunicateTopology, HybridCommunicateGroup
from paddle.distributed.fleet.utility import UtilBase

# The methods of the one object are functions of the module.
all_reduce = fleet.all_reduce
barrier_worker = fleet.barrier_worker
distributed_model = fleet.distributed_model
distributed_optimizer = fleet.distributed_optimizer
get_hybrid_communicate_group = fleet.get_hybrid_communicate_group
init = fleet.init
is_coordinator = fleet.is_coordinator
is_first_worker = fleet.is_first_worker
is_server = fleet.is_server
is_worker = fleet.is_worker
local_rank = fleet.local_rank
node_num = fleet.node_num
util = fleet.util
worker_endpoints = fleet.worker_endpoints
worker_index = fleet.worker_index
worker_num = fleet.worker_num

__getattr__, __dir__ = _lazy.attributes_of(__name__)

__all__ = [
    "CommunicateTopology",
    "DistributedStrategy",
    "Fleet",
    "HybridCommunicateGroup",
    "PaddleCloudRoleMaker",
    "Role",
    "UserDefinedRoleMaker",
    "UtilBase",
    "all_reduce",
    "barrier_worker",
    "distributed_model",
    "distributed_optimizer",
    "fleet",
    "get_hybrid_communicate_group",
    "init",
    "is_coordinator",
    "is_first_worker",
    "is_server",
    "is_worker",
    "local_rank",
    "node_num",
    "recompute",
    "util",
    "utils",
    "worker_endpoints",
    "worker_index",
    "worker_num",
]
