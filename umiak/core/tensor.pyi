"""The tensor of the engine. ``paddle`` adds methods from tables: the type and its instances accept new attributes."""

from collections.abc import Callable
from typing import Any

import numpy as np

from umiak.core.dtype import DType
from umiak.core.place import Place
from umiak.core.storage import Storage

KIND_DISTRIBUTED: int
KIND_SPARSE: int
KIND_SELECTED_ROWS: int
KIND_SYMBOLIC: int
KIND_FAKE: int
KIND_OVERRIDE: int
KIND_VIEW: int

class Version:
    value: int

class Node:
    """One recorded call: what ``Tensor.grad_fn`` shows."""

    name: str
    next_functions: tuple
    def register_hook(self, hook: Callable) -> Any: ...
    def register_prehook(self, hook: Callable) -> Any: ...

class Tensor:
    """A dense, strided array with a place, a dtype and a gradient. ``Tensor()`` is an empty one; use the factories."""

    shape: list[int]
    strides: list[int]  # in elements
    ndim: int
    dtype: DType
    place: Place
    numel: int  # C field; paddle's face wraps it as a method
    offset: int  # bytes
    stop_gradient: bool
    grad: Tensor | None
    is_leaf: bool
    grad_fn: Node | None
    output_index: int
    inplace_version: int
    storage: Storage
    _kind: int  # settable by subclasses
    _base: Tensor | None  # parent of a view
    def is_contiguous(self) -> bool: ...
    def data_ptr(self) -> int: ...
    def numpy(self) -> np.ndarray: ...  # shares memory; pins the storage
    def item(self, *index: int) -> Any: ...
    def detach(self) -> Tensor: ...  # shares memory and version
    def detach_(self) -> Tensor: ...
    def retain_grads(self) -> None: ...
    def register_hook(self, hook: Callable) -> Any: ...  # returns a handle with .remove()
    __dlpack__: Any
    __dlpack_device__: Any
    def _share(self, other: Tensor) -> None: ...  # become another tensor's data (set_value-like rebinding)
    def _own_version(self) -> None: ...  # give this alias a version counter of its own
    def _init_symbolic(self, dtype: DType, ndim: int) -> None: ...

def empty(shape: tuple[int, ...], dtype: DType, place: Place) -> Tensor: ...
def from_numpy(array: np.ndarray, place: Place | None = None, copy: bool = True) -> Tensor: ...
