"""Parameters as one vector, gradients clipped by hand, weights taken apart."""

from paddle import _lazy
from paddle.nn.utils import clip_grad, spectral_norm, vector, weight_norm

__getattr__, __dir__, __all__ = _lazy.contents(__name__)
