"""Names of :mod:`paddle.device.cuda` alone: the count of CUDA devices, and streams and events by number."""

from typing import Any

from paddle._public import public
from paddle.device.streams import Event, Stream
from paddle.framework.place import device_count as _count


@public("paddle.device.cuda")
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


@public("paddle.device.cuda")
def create_event(
    enable_timing: bool = False,
    blocking: bool = False,
    interprocess: bool = False,
    device_type: str | None = None,
    device_id: int = 0,
) -> Event:
    """Make a :class:`paddle.device.Event`.

    Args:
        enable_timing: note the time, for ``elapsed_time``.
        blocking: accepted, without effect.
        interprocess: only False is possible.
        device_type: a type of device; None: the current device.
        device_id: the number of the device, where ``device_type`` is given.

    Returns:
        An :class:`paddle.device.Event`.

    Raises:
        ValueError: a device that is not there, or ``interprocess=True``.

    Example:
        >>> import paddle
        >>> paddle.device.cuda.create_event()
        Event(cpu)
    """
    device = None if device_type is None else f"{device_type}:{device_id}"
    return Event(device, enable_timing, blocking, interprocess)


@public("paddle.device.cuda")
def create_stream(
    device_id: Any = None, priority: int = 2, device_type: str | None = None, blocking: bool = False
) -> Stream:
    """Make a :class:`paddle.device.Stream`.

    Args:
        device_id: the number of a device, of ``device_type`` or of CUDA; a name, a place, or None for
            the current device.
        priority: accepted, without effect.
        device_type: the type of device that a number is of; None: CUDA.
        blocking: accepted, without effect.

    Returns:
        A :class:`paddle.device.Stream`.

    Raises:
        ValueError: a device that is not there.

    Example:
        >>> import paddle
        >>> paddle.device.cuda.create_stream("cpu")
        Stream(cpu, id=0)
    """
    if device_type is not None and (device_id is None or isinstance(device_id, int)):
        device_id = f"{device_type}:{device_id or 0}"
    return Stream(device_id, priority)
