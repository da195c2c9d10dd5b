"""Tensors as NumPy arrays and back."""

from collections.abc import Callable

import numpy as np

from umiak.core.place import Place
from umiak.core.tensor import Tensor

def to_numpy(t: Tensor) -> np.ndarray:
    """An array over the tensor's memory; while it or a view of it lives, the memory is pinned."""

def host_values(t: Tensor) -> np.ndarray:
    """An array of the elements to read: over the tensor's memory where that is the host's, else a copy, made when all
    work on them is done."""

def install(moved: Callable[[Tensor, Place], Tensor]) -> None:
    """Set how elements come from one place to another."""

def operand(t: Tensor) -> np.ndarray: ...
def from_numpy(array: np.ndarray, place: Place | None = None, copy: bool | None = True) -> Tensor:
    """A tensor of the array's values. ``copy=False`` shares the memory or raises, None shares it if it can."""
