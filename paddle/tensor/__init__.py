"""Functions on tensors, by family."""

from typing import TYPE_CHECKING

from paddle import _lazy, signal
from paddle.framework import parameter
from paddle.tensor import (
    arithmetic,
    array,
    attribute,
    axes,
    casting,
    complex_numbers,
    creation,
    diagonals,
    einsum,
    exponents,
    extrema,
    factorisations,
    gathering,
    inplace,
    integers,
    joining,
    logic,
    low_rank,
    masking,
    methods,
    norms,
    predicates,
    products,
    random,
    reductions,
    reordering,
    repeating,
    rounding,
    scans,
    scattering,
    search,
    sequences,
    shapes,
    slicing,
    solvers,
    special,
    splitting,
    stat,
    to_string,
    trigonometry,
    views,
)

if TYPE_CHECKING:
    from paddle.tensor import linalg, manipulation, math

__getattr__, __dir__, __all__ = _lazy.contents(__name__)
