"""Libraries with operators in C++ or C, by the interface of paddle/include/umiak/extension_abi.h."""

from collections.abc import Callable, Sequence
from typing import Any

from umiak.core.dtype import DType
from umiak.core.tensor import Tensor

class KernelError(RuntimeError, OSError):
    """Exception that a kernel in C++ has thrown. The reference framework raises OSError for PD_THROW and PD_CHECK."""

class Facts:
    """Sizes and dtype in place of a tensor; ``mapping``: for each axis that of the mesh it is sharded on, or -1."""

    shape: tuple[int, ...]
    dtype: DType
    mapping: Sequence[int] | None
    def __init__(self, shape: tuple[int, ...], dtype: DType, mapping: Sequence[int] | None = ...) -> None: ...

class Declaration:
    """An operator that a library declares, and its functions."""

    kind: int
    name: str
    key: str
    file: str
    line: int
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    attributes: tuple[str, ...]
    inplace: tuple[str, ...]
    label: str
    @property
    def runs(self) -> bool: ...
    @property
    def infers_shape(self) -> bool: ...
    @property
    def infers_dtype(self) -> bool: ...
    @property
    def places(self) -> bool: ...
    def run(self, args: tuple, counts: tuple[int, ...] | None = ...) -> list[Tensor | None]: ...
    def shapes(self, args: tuple) -> list[tuple[int, ...]]: ...
    def dtypes(self, args: tuple) -> list[DType]: ...
    def mappings(self, args: tuple) -> tuple[list[tuple[list[int], list[int]]], list[tuple[list[int], list[int]]]]: ...

def set_call(function: Callable[[str, list[Any]], Any]) -> None:
    """Say what computes functions of the library by name: ``function(name, arguments)``."""

def lent_streams() -> int:
    """The number of streams that running calls have asked for and that will be asked again."""

def open_library(path: str) -> list[Declaration]:
    """The declarations of a library, in their order. It stays in the process.

    ImportError where it cannot be loaded, has no operators, or is of another version of the interface.
    """

def abi_version() -> tuple[int, int]:
    """(major, minor) of the interface of extensions."""
