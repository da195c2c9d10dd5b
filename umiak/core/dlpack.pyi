"""DLPack both ways, without copying."""

from typing import Any

from umiak.core.place import Place
from umiak.core.tensor import Tensor

VERSION: tuple[int, int]

def dlpack(
    self: Tensor,
    stream: int | None = None,
    max_version: tuple[int, int] | None = None,
    dl_device: tuple[int, int] | None = None,
    copy: bool | None = None,
) -> Any:
    """``Tensor.__dlpack__``"""

def dlpack_device(self: Tensor) -> tuple[int, int]:
    """``Tensor.__dlpack_device__``"""

def from_dlpack(x: Any, copy: bool | None = None, place: Place | None = None) -> Tensor:
    """A tensor over the memory of ``x`` (an object with ``__dlpack__``, or a capsule).

    ``copy``: None copies only what cannot be shared, False raises BufferError there, True always copies. ``place``:
    where it is to be; None: where the memory is.
    """
