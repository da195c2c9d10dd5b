"""Helpers: unique names, DLPack, structures, downloads, optional imports, deprecation, a check of the installation."""

from typing import TYPE_CHECKING

from paddle import _lazy
from paddle.utils import deprecated, environment

if TYPE_CHECKING:
    from paddle.utils import cpp_extension, download, image_util

__getattr__, __dir__, __all__ = _lazy.contents(__name__, "dlpack")
