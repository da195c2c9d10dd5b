"""Training on many devices."""

from paddle import _lazy
from paddle.distributed import communication, fleet, launch, parallel, rpc, spawn
from paddle.distributed.flex_checkpoint.dcp import load_state_dict, save_state_dict, sharded_weight

__getattr__, __dir__, __all__ = _lazy.contents(__name__, "communication communication.stream fleet rpc")
