"""Made by ``tools/public_stubs.py``."""

from paddle.distributed.fleet import recompute as recompute
from paddle.distributed.fleet import utils as utils
from paddle.distributed.fleet.facade import Fleet as Fleet
from paddle.distributed.fleet.facade import all_reduce as all_reduce
from paddle.distributed.fleet.facade import barrier_worker as barrier_worker
from paddle.distributed.fleet.facade import distributed_model as distributed_model
from paddle.distributed.fleet.facade import distributed_optimizer as distributed_optimizer
from paddle.distributed.fleet.facade import fleet as fleet
from paddle.distributed.fleet.facade import get_hybrid_communicate_group as get_hybrid_communicate_group
from paddle.distributed.fleet.facade import init as init
from paddle.distributed.fleet.facade import is_coordinator as is_coordinator
from paddle.distributed.fleet.facade import is_first_worker as is_first_worker
from paddle.distributed.fleet.facade import is_server as is_server
from paddle.distributed.fleet.facade import is_worker as is_worker
from paddle.distributed.fleet.facade import local_rank as local_rank
from paddle.distributed.fleet.facade import node_num as node_num
from paddle.distributed.fleet.facade import util as util
from paddle.distributed.fleet.facade import worker_endpoints as worker_endpoints
from paddle.distributed.fleet.facade import worker_index as worker_index
from paddle.distributed.fleet.facade import worker_num as worker_num
from paddle.distributed.fleet.role_maker import PaddleCloudRoleMaker as PaddleCloudRoleMaker
from paddle.distributed.fleet.role_maker import Role as Role
from paddle.distributed.fleet.role_maker import UserDefinedRoleMaker as UserDefinedRoleMaker
from paddle.distributed.fleet.strategy import DistributedStrategy as DistributedStrategy
from paddle.distributed.fleet.topology import CommunicateTopology as CommunicateTopology
from paddle.distributed.fleet.topology import HybridCommunicateGroup as HybridCommunicateGroup
from paddle.distributed.fleet.utility import UtilBase as UtilBase

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
