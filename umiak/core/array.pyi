"""Tensors as NumPy arrays and back."""

import numpy as np

from umiak.core.place import Place
from umiak.core.tensor import Tensor

def to_numpy(t: Tensor) -> np.ndarray:
    """An array over the tensor's memory; while it or a view of it lives, the memory is pinned."""

def operand(t: Tensor) -> np.ndarray: ...
def from_numpy(array: np.ndarray, place: Place | None = None, copy: bool | None = True) -> Tensor:
    """A tensor of the array's values. ``copy=False`` shares the memory or raises, None shares it if it can."""
