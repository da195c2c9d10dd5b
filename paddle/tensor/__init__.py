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
    diagonals,
    einsum,
    exponents,
    extrema,
    factorisations,
    filled,
    from_data,
    gathering,
    grids,
    inplace,
    integers,
    joining,
    logic,
    low_rank,
    masking,
    memory_methods,
    new_tensors,
    norms,
    operators,
    pickling,
    placement,
    predicates,
    products,
    properties,
    random,
    ranges,
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
    sparse_methods,
    special,
    splitting,
    stat,
    storage_kinds,
    to_python,
    to_string,
    triangles,
    trigonometry,
    typed_tensors,
    views,
)

if TYPE_CHECKING:
    from paddle.tensor import creation, linalg, manipulation, math

__getattr__, __dir__, __all__ = _lazy.contents(__name__)
