"""Functions and layers captured as programs."""

from paddle import _late
from paddle.jit.api import enable_to_static, ignore_module, not_to_static, to_static

__getattr__, __dir__ = _late.attributes_of(__name__)

__all__ = ["enable_to_static", "ignore_module", "not_to_static", "to_static"]
