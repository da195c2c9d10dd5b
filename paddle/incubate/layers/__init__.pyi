"""Made by ``tools/public_stubs.py``."""

from paddle.incubate.layers.batches import partial_concat as partial_concat
from paddle.incubate.layers.batches import partial_sum as partial_sum
from paddle.incubate.layers.batches import shuffle_batch as shuffle_batch

__all__ = [
    "partial_concat",
    "partial_sum",
    "shuffle_batch",
]
