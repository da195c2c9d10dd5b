"""Helpers: unique names, DLPack, optional imports, deprecation, a check of the installation."""

from paddle import _lazy
from paddle.utils import deprecated, environment

__getattr__, __dir__, __all__ = _lazy.contents(__name__, "dlpack")
