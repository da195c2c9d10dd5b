"""Linear maps of weights in few bits, and operations as layers, which a quantizer can observe."""

from paddle import _lazy
from paddle.nn.quant import format, functional_layers, stub, weight_only

__getattr__, __dir__, __all__ = _lazy.contents(__name__)
