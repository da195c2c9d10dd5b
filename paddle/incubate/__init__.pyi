"""Made by ``tools/public_stubs.py``."""

from paddle.geometric.math import segment_max as segment_max
from paddle.geometric.math import segment_mean as segment_mean
from paddle.geometric.math import segment_min as segment_min
from paddle.geometric.math import segment_sum as segment_sum
from paddle.incubate import asp as asp
from paddle.incubate import autograd as autograd
from paddle.incubate import autotune as autotune
from paddle.incubate import distributed as distributed
from paddle.incubate import jit as jit
from paddle.incubate import layers as layers
from paddle.incubate import multiprocessing as multiprocessing
from paddle.incubate import nn as nn
from paddle.incubate import operators as operators
from paddle.incubate import optimizer as optimizer
from paddle.incubate.jit.inference_decorator import inference as inference
from paddle.incubate.offload import offload_saved_tensors as offload_saved_tensors
from paddle.incubate.operators.graphs import graph_khop_sampler as graph_khop_sampler
from paddle.incubate.operators.graphs import graph_reindex as graph_reindex
from paddle.incubate.operators.graphs import graph_sample_neighbors as graph_sample_neighbors
from paddle.incubate.operators.graphs import graph_send_recv as graph_send_recv
from paddle.incubate.operators.losses import identity_loss as identity_loss
from paddle.incubate.operators.softmax_mask import softmax_mask_fuse as softmax_mask_fuse
from paddle.incubate.operators.softmax_mask import softmax_mask_fuse_upper_triangle as softmax_mask_fuse_upper_triangle
from paddle.incubate.optimizer.averages import ModelAverage as ModelAverage
from paddle.incubate.optimizer.lookahead import LookAhead as LookAhead
from paddle.incubate.random_states import get_rng_state as get_rng_state
from paddle.incubate.random_states import register_rng_state_as_index as register_rng_state_as_index
from paddle.incubate.random_states import set_rng_state as set_rng_state

__all__ = [
    "LookAhead",
    "ModelAverage",
    "asp",
    "autograd",
    "autotune",
    "distributed",
    "get_rng_state",
    "graph_khop_sampler",
    "graph_reindex",
    "graph_sample_neighbors",
    "graph_send_recv",
    "identity_loss",
    "inference",
    "jit",
    "layers",
    "multiprocessing",
    "nn",
    "offload_saved_tensors",
    "operators",
    "optimizer",
    "register_rng_state_as_index",
    "segment_max",
    "segment_mean",
    "segment_min",
    "segment_sum",
    "set_rng_state",
    "softmax_mask_fuse",
    "softmax_mask_fuse_upper_triangle",
]
