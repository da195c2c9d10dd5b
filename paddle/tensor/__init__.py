"""Functions on tensors, by family."""

from typing import TYPE_CHECKING

from paddle import _late, signal
from paddle.framework import parameter
from paddle.tensor import (
    arithmetic,
    array,
    attribute,
    axes,
    casting,
    creation,
    diagonals,
    einsum,
    elementwise,
    gathering,
    inplace,
    joining,
    linalg,
    logic,
    masking,
    math,
    methods,
    random,
    reordering,
    repeating,
    scattering,
    search,
    shapes,
    slicing,
    splitting,
    stat,
    to_string,
    views,
)

if TYPE_CHECKING:
    from paddle.tensor import manipulation

__getattr__, __dir__, __all__ = _late.contents(__name__)
