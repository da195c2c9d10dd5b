"""Functions and layers captured as programs."""

from paddle.jit.api import enable_to_static, ignore_module, not_to_static, to_static

__all__ = ["enable_to_static", "ignore_module", "not_to_static", "to_static"]
