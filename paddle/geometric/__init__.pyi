"""Made by ``tools/public_stubs.py``."""

from paddle.geometric import math as math
from paddle.geometric import message_passing as message_passing
from paddle.geometric import reindex as reindex
from paddle.geometric import sampling as sampling
from paddle.geometric.math import segment_max as segment_max
from paddle.geometric.math import segment_mean as segment_mean
from paddle.geometric.math import segment_min as segment_min
from paddle.geometric.math import segment_sum as segment_sum
from paddle.geometric.message_passing.send_recv import send_u_recv as send_u_recv
from paddle.geometric.message_passing.send_recv import send_ue_recv as send_ue_recv
from paddle.geometric.message_passing.send_recv import send_uv as send_uv
from paddle.geometric.reindex import reindex_graph as reindex_graph
from paddle.geometric.reindex import reindex_heter_graph as reindex_heter_graph
from paddle.geometric.sampling.neighbors import sample_neighbors as sample_neighbors
from paddle.geometric.sampling.neighbors import weighted_sample_neighbors as weighted_sample_neighbors

__all__ = [
    "math",
    "message_passing",
    "reindex",
    "reindex_graph",
    "reindex_heter_graph",
    "sample_neighbors",
    "sampling",
    "segment_max",
    "segment_mean",
    "segment_min",
    "segment_sum",
    "send_u_recv",
    "send_ue_recv",
    "send_uv",
    "weighted_sample_neighbors",
]
