"""Helpers: unique names, DLPack, optional imports, deprecation, a check of the installation."""

from paddle import _late
from paddle.utils import deprecated, environment

__getattr__, __dir__, __all__ = _late.contents(__name__, "dlpack")
