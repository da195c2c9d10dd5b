"""Functions on tensors, by family."""

from paddle import _late, signal
from paddle.framework import parameter
from paddle.tensor import (
    arithmetic,
    array,
    attribute,
    creation,
    einsum,
    elementwise,
    inplace,
    linalg,
    logic,
    manipulation,
    math,
    methods,
    random,
    search,
    stat,
    to_string,
)

__getattr__, __dir__, __all__ = _late.contents(__name__)
