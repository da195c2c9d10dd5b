"""Sharing memory with other frameworks by DLPack."""

import enum
from typing import Any, Protocol

from paddle import _lazy
from paddle.tensor.from_data import from_dlpack, to_dlpack  # noqa: F401 for type checkers


class DLDeviceType(enum.IntEnum):
    """Types of devices as the DLPack standard numbers them."""

    kDLCPU = 1
    kDLCUDA = 2
    kDLCUDAHost = 3
    kDLOpenCL = 4
    kDLVulkan = 7
    kDLMetal = 8
    kDLVPI = 9
    kDLROCM = 10
    kDLROCMHost = 11
    kDLExtDev = 12
    kDLCUDAManaged = 13
    kDLOneAPI = 14
    kDLWebGPU = 15
    kDLHexagon = 16
    kDLMAIA = 17
    kDLTrn = 18


class SupportDLPack(Protocol):
    """Type of objects that other libraries can read through DLPack."""

    def __dlpack__(self, *, stream: Any = None) -> Any:
        """Capsule of the object's memory."""

    def __dlpack_device__(self) -> tuple[int, int]:
        """Type and number of the device that the memory is on."""


__getattr__, __dir__, __all__ = _lazy.contents(__name__)
