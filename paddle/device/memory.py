"""Memory of a device: what is in use, what is held, and the peaks."""

from __future__ import annotations

from typing import Any

from paddle._public import public
from paddle.framework.place import available_types, numbered_place
from umiak import memory
from umiak.core.place import Place
from umiak.util.errors import op_error


def _place(device: Any) -> Place:
    return numbered_place(device)


@public("paddle.device paddle.cuda paddle.device.cuda")
def memory_allocated(device: Any = None) -> int:
    """Number of bytes in use by tensors of a device.

    Args:
        device: a name, a place, a number (of the current type; on the host, of CUDA), or None for the current device.

    Returns:
        An int.

    Raises:
        ValueError: a device that is not there.

    Example:
        >>> import paddle
        >>> before = paddle.device.memory_allocated("cpu")
        >>> x = paddle.zeros([1024])
        >>> paddle.device.memory_allocated("cpu") >= before + 4096
        True
    """
    return memory.stats(_place(device))["allocated"]


@public("paddle.device paddle.cuda paddle.device.cuda")
def max_memory_allocated(device: Any = None) -> int:
    """Peak of :func:`memory_allocated` since the start, or since :func:`reset_peak_memory_stats`.

    Args:
        device: a name, a place, a number (of the current type; on the host, of CUDA), or None for the current device.

    Returns:
        An int.

    Raises:
        ValueError: a device that is not there.

    Example:
        >>> import paddle
        >>> paddle.device.max_memory_allocated("cpu") >= paddle.device.memory_allocated("cpu")
        True
    """
    return memory.stats(_place(device))["allocated_peak"]


@public("paddle.device paddle.cuda paddle.device.cuda")
def memory_reserved(device: Any = None) -> int:
    """Number of bytes that the allocator of a device holds from the system, in use or not.

    Args:
        device: a name, a place, a number (of the current type; on the host, of CUDA), or None for the current device.

    Returns:
        An int.

    Raises:
        ValueError: a device that is not there.

    Example:
        >>> import paddle
        >>> paddle.device.memory_reserved("cpu") >= 0
        True
    """
    return memory.stats(_place(device))["reserved"]


@public("paddle.device paddle.cuda paddle.device.cuda")
def max_memory_reserved(device: Any = None) -> int:
    """Peak of :func:`memory_reserved` since the start, or since :func:`reset_peak_memory_stats`.

    Args:
        device: a name, a place, a number (of the current type; on the host, of CUDA), or None for the current device.

    Returns:
        An int.

    Raises:
        ValueError: a device that is not there.

    Example:
        >>> import paddle
        >>> paddle.device.max_memory_reserved("cpu") >= paddle.device.memory_reserved("cpu")
        True
    """
    return memory.stats(_place(device))["reserved_peak"]


@public("paddle.device paddle.cuda paddle.device.cuda")
def reset_peak_memory_stats(device: Any = None) -> None:
    """Let the peaks of a device start again from what is in use now.

    Args:
        device: a name, a place, a number (of the current type; on the host, of CUDA), or None for the current device.

    Raises:
        ValueError: a device that is not there.

    Example:
        >>> import paddle
        >>> paddle.device.reset_peak_memory_stats("cpu")
    """
    memory.reset_peaks(_place(device))


@public("paddle.device paddle.cuda paddle.device.cuda")
def reset_max_memory_allocated(device: Any = None) -> None:
    """Let the peaks of a device start again, as :func:`reset_peak_memory_stats` does.

    Args:
        device: a name, a place, a number (of the current type; on the host, of CUDA), or None for the current device.

    Raises:
        ValueError: a device that is not there.

    Example:
        >>> import paddle
        >>> paddle.device.reset_max_memory_allocated("cpu")
    """
    memory.reset_peaks(_place(device))


@public("paddle.device paddle.cuda paddle.device.cuda")
def reset_max_memory_reserved(device: Any = None) -> None:
    """Let the peaks of a device start again, as :func:`reset_peak_memory_stats` does.

    Args:
        device: a name, a place, a number (of the current type; on the host, of CUDA), or None for the current device.

    Raises:
        ValueError: a device that is not there.

    Example:
        >>> import paddle
        >>> paddle.device.reset_max_memory_reserved("cpu")
    """
    memory.reset_peaks(_place(device))


@public("paddle.device paddle.cuda paddle.device.cuda")
def empty_cache(device: Any = None) -> None:
    """Give memory of a device that is held but not in use back to the system.

    Args:
        device: a name, a place, a number (of the current type; on the host, of CUDA), or None for the current device.

    Raises:
        ValueError: a device that is not there.

    Example:
        >>> import paddle
        >>> paddle.device.empty_cache("cpu")
    """
    memory.empty_cache(_place(device))


@public("paddle.device paddle.device.cuda")
def memory_summary(device: Any = None) -> str:
    """Table of what the allocator of a device holds and has done, a line each.

    Args:
        device: a name, a place, a number (of the current type; on the host, of CUDA), or None for the current device.

    Returns:
        A str.

    Raises:
        ValueError: a device that is not there.

    Example:
        >>> import paddle
        >>> print(paddle.device.memory_summary("cpu").splitlines()[0])
        memory of cpu
    """
    place = _place(device)
    lines = [f"memory of {place.name}"]
    lines += [f"  {name:20} {value:>16,}" for name, value in memory.stats(place).items()]
    return "\n".join(lines)


@public("paddle.device paddle.cuda")
def ipc_collect() -> None:
    """Free memory of CUDA devices and XPUs that other processes have stopped using.

    Each tensor that is sent to another process (:mod:`paddle.incubate.multiprocessing`) does the same first.

    Raises:
        RuntimeError: no backend for CUDA devices or XPUs is installed.

    Example:
        >>> import paddle
        >>> if paddle.cuda.is_initialized():
        ...     paddle.device.ipc_collect()
    """
    if {"gpu", "xpu"}.isdisjoint(available_types()):
        raise op_error(RuntimeError, "ipc_collect", "a backend for CUDA devices or XPUs", "none")
    from umiak import backends

    for kind in {"gpu", "xpu"}.intersection(available_types()):
        for backend in backends.backends_of(kind):
            backend.collect_shared()


# --- statistics by name ----------------------------------------------------------------------------------------------

_STATISTICS = {"Allocated": "allocated", "Reserved": "reserved"}


def device_memory_stat_current_value(stat_type: str, dev_id: int) -> int:
    """Bytes of a GPU that are in use (``"Allocated"``) or held (``"Reserved"``); 0 where there is no GPU."""
    return _statistic("device_memory_stat_current_value", stat_type, _gpu(dev_id))


def device_memory_stat_peak_value(stat_type: str, dev_id: int) -> int:
    """The peak of :func:`device_memory_stat_current_value`."""
    return _statistic("device_memory_stat_peak_value", stat_type, _gpu(dev_id), "_peak")


def device_memory_stat_reset_peak_value(stat_type: str, dev_id: int) -> None:
    """Let the peaks of a GPU start again, of both statistics."""
    _reset("device_memory_stat_reset_peak_value", stat_type, _gpu(dev_id))


def host_memory_stat_current_value(stat_type: str, dev_id: int = 0) -> int:
    """Bytes of the host that tensors use (``"Allocated"``) or the allocator holds (``"Reserved"``)."""
    return _statistic("host_memory_stat_current_value", stat_type, _place("cpu"))


def host_memory_stat_peak_value(stat_type: str, dev_id: int = 0) -> int:
    """The peak of :func:`host_memory_stat_current_value`."""
    return _statistic("host_memory_stat_peak_value", stat_type, _place("cpu"), "_peak")


def host_memory_stat_reset_peak_value(stat_type: str, dev_id: int = 0) -> None:
    """Let the peaks of the host start again, of both statistics."""
    _reset("host_memory_stat_reset_peak_value", stat_type, _place("cpu"))


def _gpu(dev_id: int) -> Place | None:
    return _place(int(dev_id)) if "gpu" in available_types() else None


def _statistic(op: str, stat_type: str, place: Place | None, of: str = "") -> int:
    key = _key(op, stat_type) + of
    return 0 if place is None else memory.stats(place)[key]


def _reset(op: str, stat_type: str, place: Place | None) -> None:
    _key(op, stat_type)
    if place is not None:
        memory.reset_peaks(place)


def _key(op: str, stat_type: str) -> str:
    if stat_type not in _STATISTICS:
        raise op_error(ValueError, op, f"one of {sorted(_STATISTICS)} as stat_type", repr(stat_type))
    return _STATISTICS[stat_type]
