"""The default device under the names of other frameworks, devices by number, and the module of a device."""

from __future__ import annotations

from types import ModuleType
from typing import Any

from paddle._public import public
from paddle.device.places import Device, get_device
from paddle.framework.place import DEVICE_TYPES, available_types, current_place, place_of, set_current_place
from umiak.core.place import Place
from umiak.util.errors import op_error


@public("paddle.device")
def device_to_place(device: Any = None) -> Place:
    """Place of a device.

    Args:
        device: a name, a place, the number of a device of the current one's type (the host has number 0), or None for
            the current device.

    Returns:
        A place.

    Raises:
        ValueError: a device that is not there.
        TypeError: a value that names no device.

    Example:
        >>> import paddle
        >>> paddle.device.device_to_place("cpu"), paddle.device.device_to_place(0)
        (Place(cpu), Place(cpu))
    """
    if not isinstance(device, int):
        return place_of(device, "device_to_place")
    kind = current_place().device_type
    if device < 0 or (kind == "cpu" and device > 0):
        number = "the number 0 of the host" if kind == "cpu" else "a number of 0 or more"
        raise op_error(ValueError, "device_to_place", number, device)
    return place_of(f"{kind}:{int(device)}", "device_to_place")


@public("paddle.device paddle.cuda")
def current_device() -> int:
    """Number of the current device.

    Returns:
        An int; 0 for the host.

    Example:
        >>> import paddle
        >>> paddle.device.current_device()
        0
    """
    return current_place().device_id


@public("paddle paddle.device")
def get_default_device() -> Device:
    """Device that new tensors go to.

    Returns:
        A :class:`paddle.device.Device`; CUDA devices are called ``cuda``.

    Example:
        >>> import paddle
        >>> paddle.get_default_device()
        'cpu'
    """
    return Device(str(get_device()).replace("gpu", "cuda"))


@public("paddle paddle.device")
def set_default_device(device: Any) -> None:
    """Put new tensors on a device from now on, as :func:`paddle.set_device` does.

    Args:
        device: a name, a place, the number of a device of the current one's type (the host has number 0), or None,
            which changes nothing.

    Raises:
        ValueError: a device that is not there.
        TypeError: a value that names no device.

    Example:
        >>> import paddle
        >>> paddle.set_default_device("cpu")
        >>> paddle.get_default_device()
        'cpu'
    """
    set_current_place(device_to_place(device))


@public("paddle paddle.device")
def get_device_module(device: Any = None) -> ModuleType:
    """Module of functions about devices of a type.

    Args:
        device: a name, a place, the number of a device of the current one's type, or None for the current device. A
            type that is known need not be there.

    Returns:
        :mod:`paddle.cuda` for CUDA devices, :mod:`paddle.device.xpu` for XPUs, :mod:`paddle.device` for others.

    Raises:
        RuntimeError: the name of a type that is not known.
        ValueError: the number of a device that is not there.
        TypeError: a value that names no device.

    Example:
        >>> import paddle
        >>> paddle.get_device_module("gpu:0") is paddle.cuda
        True
        >>> paddle.get_device_module("cpu") is paddle.device
        True
    """
    import paddle

    if isinstance(device, str):
        name = device.strip().lower().partition(":")[0]
        kind = DEVICE_TYPES.get(name, name)
        if kind not in {*DEVICE_TYPES.values(), *available_types()}:
            known = sorted({*DEVICE_TYPES, *available_types()})
            raise op_error(RuntimeError, "get_device_module", f"a type of device of {known}", repr(device))
    else:
        kind = device_to_place(device).device_type
    return {"gpu": paddle.cuda, "xpu": paddle.device.xpu}.get(kind, paddle.device)
