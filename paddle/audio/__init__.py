"""Audio: spectral features as layers and functions, files, and datasets of sounds."""

from paddle import _lazy

__getattr__, __dir__, __all__ = _lazy.contents(__name__, "backends datasets features functional")
