"""Parameters as one vector, gradients clipped by hand, weights taken apart."""

from paddle.nn.utils.clip_grad import clip_grad_norm_, clip_grad_value_
from paddle.nn.utils.spectral_norm import spectral_norm
from paddle.nn.utils.vector import parameters_to_vector, vector_to_parameters
from paddle.nn.utils.weight_norm import remove_weight_norm, weight_norm

__all__ = [
    "clip_grad_norm_",
    "clip_grad_value_",
    "parameters_to_vector",
    "remove_weight_norm",
    "spectral_norm",
    "vector_to_parameters",
    "weight_norm",
]
