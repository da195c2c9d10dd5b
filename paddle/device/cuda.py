"""Devices under the names that programs for CUDA use; without a number they mean the current device."""

from paddle import _lazy
from paddle.device.memory import (
    empty_cache,
    max_memory_allocated,
    max_memory_reserved,
    memory_allocated,
    memory_reserved,
    memory_summary,
    reset_max_memory_allocated,
    reset_max_memory_reserved,
    reset_peak_memory_stats,
)
from paddle.device.places import get_device_capability, get_device_name, get_device_properties
from paddle.device.streams import Event, Stream, current_stream, stream_guard, synchronize
from paddle.framework.place import device_count as _count

__getattr__, __dir__ = _lazy.attributes_of(__name__)

__all__ = [
    "Event",
    "Stream",
    "current_stream",
    "device_count",
    "empty_cache",
    "get_device_capability",
    "get_device_name",
    "get_device_properties",
    "max_memory_allocated",
    "max_memory_reserved",
    "memory_allocated",
    "memory_reserved",
    "memory_summary",
    "reset_max_memory_allocated",
    "reset_max_memory_reserved",
    "reset_peak_memory_stats",
    "stream_guard",
    "synchronize",
]


def device_count() -> int:
    """Number of CUDA devices.

    Returns:
        An int.

    Example:
        >>> import paddle
        >>> paddle.device.cuda.device_count() >= 0
        True
    """
    return _count("gpu")
