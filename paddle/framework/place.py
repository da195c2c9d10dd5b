"""Places under their public names, and the current one."""

from __future__ import annotations

import contextlib
import re
from typing import Any

from paddle._public import public
from umiak.core.context import current, place_guard
from umiak.core.place import Place
from umiak.util import flags
from umiak.util.errors import op_error

# Public device names and the engine's: "gpu:1" is the second CUDA device.
DEVICE_TYPES = {"cpu": "cpu", "gpu": "gpu", "cuda": "gpu", "xpu": "xpu", "npu": "npu"}
_DEVICE = re.compile(r"([a-zA-Z_]\w*)(?::(\d+))?")


class _PlaceName(type):
    """Makes ``isinstance(place, CPUPlace)`` ask for the type of device: places themselves are of one class."""

    device_type: str

    def __instancecheck__(cls, x: Any) -> bool:
        return isinstance(x, Place) and x.device_type == cls.device_type


@public("paddle paddle.framework")
class CPUPlace(metaclass=_PlaceName):
    """Place of the host's memory.

    Example:
        >>> import paddle
        >>> paddle.CPUPlace()
        Place(cpu)
        >>> isinstance(paddle.ones([1]).place, paddle.CPUPlace)
        True
    """

    device_type = "cpu"

    def __new__(cls) -> Any:
        return Place("cpu")


_DEVICE_DOCSTRING = """{summary}

Args:
    dev_id: the number of the device, 0 or more.

Raises:
    ValueError: no backend for such devices is installed, or it has no device of this number.

Example:
    >>> import paddle
    >>> isinstance(paddle.CPUPlace(), paddle.{name})
    False
"""


def _device_class(name: str, device_type: str, summary: str) -> type:
    def new(cls: Any, dev_id: int = 0) -> Any:
        if not isinstance(dev_id, int) or dev_id < 0:
            raise op_error(ValueError, name, "a device number of 0 or more", repr(dev_id))
        return require(device_type, dev_id, name)

    docstring = _DEVICE_DOCSTRING.format(summary=summary, name=name)
    fields = {"device_type": device_type, "__new__": new, "__doc__": docstring, "__module__": "paddle"}
    return _PlaceName(name, (), fields)


CUDAPlace = public("paddle paddle.framework")(
    _device_class("CUDAPlace", "gpu", "Place of the memory of a CUDA device, such as ``paddle.CUDAPlace(0)``.")
)
XPUPlace = public("paddle paddle.framework paddle.device")(
    _device_class("XPUPlace", "xpu", "Place of the memory of an XPU, such as ``paddle.XPUPlace(0)``.")
)
IPUPlace = public("paddle paddle.device")(
    _device_class("IPUPlace", "ipu", "Place of the memory of an IPU, for which there is no backend here.")
)
CUDAPinnedPlace = public("paddle paddle.framework")(
    _device_class("CUDAPinnedPlace", "gpu_pinned", "Place of host memory that a CUDA device reads directly.")
)
XPUPinnedPlace = public("paddle paddle.framework")(
    _device_class("XPUPinnedPlace", "xpu_pinned", "Place of host memory that an XPU reads directly.")
)


@public("paddle paddle.framework")
class CustomPlace(metaclass=_PlaceName):
    """Place of a device of a plug-in, such as ``paddle.CustomPlace("npu", 0)``.

    Args:
        device_type: the name that the plug-in gave.
        dev_id: the number of the device.

    Raises:
        ValueError: no backend for the type is installed, or it has no such device.

    Example:
        >>> import paddle
        >>> paddle.CustomPlace("cpu")
        Place(cpu)
    """

    device_type = ""

    def __new__(cls, device_type: str, dev_id: int = 0) -> Any:
        return require(device_type, dev_id, "CustomPlace")


def available_types() -> tuple[str, ...]:
    """The device types that some backend runs, the host first."""
    from umiak import backends

    return ("cpu", *(n for n in backends.device_types() if n != "cpu"))


def device_count(device_type: str) -> int:
    """Return the number of devices of a type; 0 where no backend runs it."""
    from umiak import backends

    return backends.backends_of(device_type)[0].device_count() if device_type in backends.device_types() else 0


def require(device_type: str, device_id: int, op: str) -> Place:
    """A place that exists here."""
    if device_type == "cpu":
        return Place("cpu")
    if device_type not in available_types():
        from umiak.backends import absence

        hint = absence(device_type) or "No backend for it is installed."
        raise op_error(ValueError, op, f"a device of {list(available_types())}", device_type, hint)
    if device_id >= device_count(device_type):
        raise op_error(ValueError, op, f"one of {device_count(device_type)} devices of type {device_type!r}", device_id)
    return Place(device_type, device_id)


def _numbers(text: str) -> None:
    if not re.fullmatch(r"(\d+(,\d+)*)?", text):
        raise op_error(ValueError, "FLAGS_selected_gpus", "numbers of devices with commas between them", repr(text))


_HELP = "the numbers of the devices that this process uses, with commas between them; the first is that of a name alone"
SELECTED = {
    "gpu": flags.define("selected_gpus", "", _HELP, on_change=_numbers),
    "xpu": flags.define("selected_xpus", "", _HELP, on_change=_numbers),
}


def selected(device_type: str) -> list[int]:
    """The numbers of the devices of a type that this process uses; none where it may use all."""
    flag = SELECTED.get(device_type)
    return [int(n) for n in flag.value.split(",")] if flag is not None and flag.value else []


def first_of(device_type: str) -> int:
    """The number of the device that the name of its type alone stands for."""
    return next(iter(selected(device_type)), 0)


def place_of(device: Any, op: str = "device") -> Place:
    """A place from a place, a name (``"gpu:1"``), or None for the current one."""
    if device is None:
        return current_place()
    if isinstance(device, Place):
        return device
    if isinstance(device, str):
        match = _DEVICE.fullmatch(device)
        name = "" if match is None else match[1] if match[1] in available_types() else match[1].lower()
        if match and name in {*DEVICE_TYPES, *available_types()}:
            kind = DEVICE_TYPES.get(name, name)
            return require(kind, int(match[2]) if match[2] else first_of(kind), op)
        raise op_error(ValueError, op, "a device like 'cpu', 'gpu' or 'gpu:0'", repr(device))
    inner = getattr(device, "place", None)
    if isinstance(inner, Place):
        return inner
    raise op_error(TypeError, op, "a place or the name of a device", type(device).__name__)


def numbered_place(device: Any, op: str = "device", host: str = "gpu") -> Place:
    """The place of :func:`place_of`; of a number, the device of the current one's type. Beside the host the type is
    ``host``, of which the host itself has but the number 0."""
    if isinstance(device, int):
        kind = current_place().device_type
        kind = host if kind == "cpu" else kind
        if kind == "cpu" and device != 0:
            raise op_error(
                ValueError, op, "the number 0 while the host is current", device, "Or name a device: 'gpu:1'."
            )
        device = f"{kind}:{device}"
    return place_of(device, op)


@public("paddle.framework")
def current_place() -> Place:
    """Place that new tensors go to.

    Returns:
        A place.

    Example:
        >>> import paddle
        >>> paddle.framework.current_place()
        Place(cpu)
    """
    return current().state.place


def on_device(device: Any) -> contextlib.AbstractContextManager:
    """Context in which new tensors go to ``device``; without one to the current place."""
    return contextlib.nullcontext() if device is None else place_guard(place_of(device))


def set_current_place(place: Place) -> Place:
    """Put new tensors on ``place`` from now on; returns the former one."""
    state = current().state
    old, state.place = state.place, place
    return old


def given_place(place: Any) -> Place | None:
    """A place from a place or a name; None stays None."""
    return None if place is None else place_of(place)
