"""Functions under the names of fused operators: plain operations that the compiler fuses."""

from paddle import _lazy

__getattr__, __dir__, __all__ = _lazy.contents(__name__)
