"""Made by ``tools/public_stubs.py``."""

from paddle.nn.utils.clip_grad import clip_grad_norm_ as clip_grad_norm_
from paddle.nn.utils.clip_grad import clip_grad_value_ as clip_grad_value_
from paddle.nn.utils.spectral_norm import spectral_norm as spectral_norm
from paddle.nn.utils.vector import parameters_to_vector as parameters_to_vector
from paddle.nn.utils.vector import vector_to_parameters as vector_to_parameters
from paddle.nn.utils.weight_norm import remove_weight_norm as remove_weight_norm
from paddle.nn.utils.weight_norm import weight_norm as weight_norm

__all__ = [
    "clip_grad_norm_",
    "clip_grad_value_",
    "parameters_to_vector",
    "remove_weight_norm",
    "spectral_norm",
    "vector_to_parameters",
    "weight_norm",
]
