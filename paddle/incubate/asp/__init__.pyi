"""Made by ``tools/public_stubs.py``."""

from paddle.incubate.asp.masks import CheckMethod as CheckMethod
from paddle.incubate.asp.masks import MaskAlgo as MaskAlgo
from paddle.incubate.asp.masks import calculate_density as calculate_density
from paddle.incubate.asp.masks import check_mask_1d as check_mask_1d
from paddle.incubate.asp.masks import check_mask_2d as check_mask_2d
from paddle.incubate.asp.masks import check_sparsity as check_sparsity
from paddle.incubate.asp.masks import create_mask as create_mask
from paddle.incubate.asp.masks import get_mask_1d as get_mask_1d
from paddle.incubate.asp.masks import get_mask_2d_best as get_mask_2d_best
from paddle.incubate.asp.masks import get_mask_2d_greedy as get_mask_2d_greedy
from paddle.incubate.asp.pruning import ASPHelper as ASPHelper
from paddle.incubate.asp.pruning import add_supported_layer as add_supported_layer
from paddle.incubate.asp.pruning import decorate as decorate
from paddle.incubate.asp.pruning import prune_model as prune_model
from paddle.incubate.asp.pruning import reset_excluded_layers as reset_excluded_layers
from paddle.incubate.asp.pruning import set_excluded_layers as set_excluded_layers

__all__ = [
    "ASPHelper",
    "CheckMethod",
    "MaskAlgo",
    "add_supported_layer",
    "calculate_density",
    "check_mask_1d",
    "check_mask_2d",
    "check_sparsity",
    "create_mask",
    "decorate",
    "get_mask_1d",
    "get_mask_2d_best",
    "get_mask_2d_greedy",
    "prune_model",
    "reset_excluded_layers",
    "set_excluded_layers",
]
