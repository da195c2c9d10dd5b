"""Framework state and types that belong to no single op: dtypes, places, modes, seeds, names, parameters, files."""

from typing import TYPE_CHECKING

from paddle import _lazy
from paddle.framework import batch, dtype, flags, grad_mode, mode, param_attr, parameter, place, random

if TYPE_CHECKING:
    from paddle.framework import io

__getattr__, __dir__, __all__ = _lazy.contents(__name__, "random unique_name")
