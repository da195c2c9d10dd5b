"""Memory of a device: what is in use, what is held, and the peaks."""

from __future__ import annotations

from typing import Any

from paddle._public import public
from paddle.framework.place import place_of
from umiak import memory
from umiak.core.place import Place


def _place(device: Any) -> Place:
    return place_of(f"gpu:{device}" if isinstance(device, int) else device)


@public("paddle.device")
def memory_allocated(device: Any = None) -> int:
    """Bytes in use by tensors.

    Example:
        >>> import paddle
        >>> paddle.device.memory_allocated("cpu") >= 0
        True
    """
    return memory.stats(_place(device))["allocated"]


@public("paddle.device")
def max_memory_allocated(device: Any = None) -> int:
    """The peak of :func:`memory_allocated`."""
    return memory.stats(_place(device))["allocated_peak"]


@public("paddle.device")
def memory_reserved(device: Any = None) -> int:
    """Bytes held from the system."""
    return memory.stats(_place(device))["reserved"]


@public("paddle.device")
def max_memory_reserved(device: Any = None) -> int:
    """The peak of :func:`memory_reserved`."""
    return memory.stats(_place(device))["reserved_peak"]


@public("paddle.device")
def reset_peak_memory_stats(device: Any = None) -> None:
    """Let the peaks start again from what is in use now."""
    memory.reset_peaks(_place(device))


@public("paddle.device")
def reset_max_memory_allocated(device: Any = None) -> None:
    """The same as :func:`reset_peak_memory_stats`."""
    memory.reset_peaks(_place(device))


@public("paddle.device")
def reset_max_memory_reserved(device: Any = None) -> None:
    """The same as :func:`reset_peak_memory_stats`."""
    memory.reset_peaks(_place(device))


@public("paddle.device")
def empty_cache(device: Any = None) -> None:
    """Give memory that is held but not in use back to the system."""
    memory.empty_cache(_place(device))


@public("paddle.device")
def memory_summary(device: Any = None) -> str:
    """What the allocator holds and has done, a line each."""
    place = _place(device)
    lines = [f"memory of {place}"]
    lines += [f"  {name:20} {value:>16,}" for name, value in memory.stats(place).items()]
    return "\n".join(lines)
