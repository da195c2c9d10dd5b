"""Programs seen from inside: operations, the values between them, and passes that rewrite them."""

from paddle import _lazy

__getattr__, __dir__, __all__ = _lazy.contents(__name__)
