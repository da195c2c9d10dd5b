"""Made by ``tools/public_stubs.py``."""

from paddle.incubate.operators.graphs import graph_khop_sampler as graph_khop_sampler
from paddle.incubate.operators.graphs import graph_reindex as graph_reindex
from paddle.incubate.operators.graphs import graph_sample_neighbors as graph_sample_neighbors
from paddle.incubate.operators.graphs import graph_send_recv as graph_send_recv
from paddle.incubate.operators.losses import identity_loss as identity_loss
from paddle.incubate.operators.softmax_mask import softmax_mask_fuse as softmax_mask_fuse
from paddle.incubate.operators.softmax_mask import softmax_mask_fuse_upper_triangle as softmax_mask_fuse_upper_triangle

__all__ = [
    "graph_khop_sampler",
    "graph_reindex",
    "graph_sample_neighbors",
    "graph_send_recv",
    "identity_loss",
    "softmax_mask_fuse",
    "softmax_mask_fuse_upper_triangle",
]
