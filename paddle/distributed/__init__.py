"""Training on many devices."""

from paddle.distributed import fleet
from paddle.distributed.flex_checkpoint.dcp.load_state_dict import load_merged_state_dict, load_state_dict
from paddle.distributed.flex_checkpoint.dcp.save_state_dict import save_state_dict
from paddle.distributed.flex_checkpoint.dcp.sharded_weight import (
    ShardedStateDict,
    ShardedWeight,
    build_sharded_state_dict,
    shard_weight,
)

__all__ = [
    "ShardedStateDict",
    "ShardedWeight",
    "build_sharded_state_dict",
    "fleet",
    "load_merged_state_dict",
    "load_state_dict",
    "save_state_dict",
    "shard_weight",
]
