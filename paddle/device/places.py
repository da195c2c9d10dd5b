"""Available devices, and the current one."""

from __future__ import annotations

import os
import platform
from typing import Any, NamedTuple

from paddle._public import also, public
from paddle.framework.place import (
    DEVICE_TYPES,
    available_types,
    current_place,
    numbered_place,
    place_of,
    set_current_place,
)
from paddle.framework.place import device_count as _count
from umiak.core.place import Place
from umiak.core.tensor import Tensor
from umiak.util.errors import op_error

_BFLOAT16 = frozenset(("avx512bf16", "amx-bf16", "bf16"))  # features of processors

# Built-in types of the reference framework; any other is a custom device there.
_KNOWN = ("cpu", "gpu", "xpu", "ipu", "gpu_pinned")


@public("paddle paddle.device")
def set_device(device: Any) -> Place:
    """Put new tensors on a device from now on.

    Args:
        device: ``"cpu"``, ``"gpu"``, ``"gpu:1"``, or a place.

    Returns:
        The place.

    Raises:
        ValueError: a device that is not there.
        TypeError: a value that names no device.

    Example:
        >>> import paddle
        >>> paddle.set_device("cpu")
        Place(cpu)
    """
    place = place_of(device, "set_device")
    set_current_place(place)
    return place


@public("paddle paddle.device")
def get_device(input: Tensor | None = None) -> str | int:
    """Name of the current device, or the number of that of a tensor.

    Args:
        input: a tensor; None: the current device.

    Returns:
        A str: ``"cpu"``, ``"gpu:0"``. Of a tensor an int, -1 on the host.

    Raises:
        AttributeError: a value that is not a tensor.

    Example:
        >>> import paddle
        >>> paddle.get_device()
        'cpu'
        >>> paddle.get_device(paddle.ones([1]))
        -1
    """
    if input is not None:
        return -1 if input.place.device_type == "cpu" else input.place.device_id
    place = current_place()
    return "cpu" if place.device_type == "cpu" else f"{place.device_type}:{place.device_id}"


@public("paddle.device paddle.cuda")
class device:
    """Put new tensors on another device inside a ``with`` block.

    Args:
        device: a name, a place, or a number (of the current type; the host's is 0); None changes nothing.

    Raises:
        ValueError: a device that is not there.
        TypeError: a value that names no device.

    Example:
        >>> import paddle
        >>> with paddle.device.device("cpu"):
        ...     paddle.ones([1]).place
        Place(cpu)
    """

    def __init__(self, device: Any = None) -> None:
        self._place = None if device is None else numbered_place(device, "device", "cpu")
        self._before: list[Place] = []

    def __enter__(self) -> None:
        self._before.append(current_place())
        if self._place is not None:
            set_current_place(self._place)

    def __exit__(self, *exc: object) -> None:
        set_current_place(self._before.pop())


device_guard = also(device, "device_guard", "paddle paddle.device")


@public("paddle.device")
class Device(str):
    """Name of a device, ``paddle.device("gpu:1")`` or ``paddle.device("gpu", 1)``; in a ``with`` block new tensors go
    there.

    Args:
        type: a name, with a number or without one; a place; or the number of a CUDA device.
        index: the number, where ``type`` names none; None: 0.

    Attributes:
        type: the name without a number.
        index: the number; None for the host.

    Raises:
        ValueError: a type that is not known, or two numbers; in a ``with`` block, a device that is not there.
        TypeError: a value that names no device.

    Example:
        >>> import paddle
        >>> d = paddle.device("cpu")
        >>> d.type, d.index, d == "cpu"
        ('cpu', None, True)
    """

    type: str
    index: int | None  # type: ignore[assignment]  # of a device, not of a letter

    def __new__(cls, type: Any = None, index: int | None = None) -> Device:
        """Make the name."""
        if isinstance(type, Place):
            kind, number = ("cuda" if type.is_gpu_place() else type.device_type), type.device_id
        elif isinstance(type, int) and not isinstance(type, bool) and index is None:
            kind, number = "cuda", type
        elif isinstance(type, str):
            kind, _, after = type.lower().partition(":")
            if (after and index is not None) or (after and not after.isdigit()):
                raise op_error(ValueError, "device", "one number of a device", f"{type!r} and {index!r}")
            number = int(after) if after else 0 if index is None else int(index)
        else:
            raise op_error(TypeError, "device", "a name, a place or a number", repr(type))
        if kind not in {*DEVICE_TYPES, *available_types()}:
            raise op_error(
                ValueError, "device", f"a device of {sorted({*DEVICE_TYPES, *available_types()})}", repr(type)
            )
        device = super().__new__(cls, kind if kind == "cpu" else f"{kind}:{number}")
        device.type, device.index = kind, None if kind == "cpu" else number
        device._guards = []
        return device

    _guards: list[device]

    def __enter__(self) -> Device:
        guard = device(str(self))
        guard.__enter__()
        self._guards.append(guard)
        return self

    def __exit__(self, *exc: object) -> None:
        self._guards.pop().__exit__(*exc)

    def __dlpack_device__(self) -> tuple[int, int]:
        return Place("gpu" if self.type == "cuda" else self.type, self.index or 0).__dlpack_device__()


@public("paddle.device paddle.cuda")
def device_count() -> int:
    """Number of devices other than the host, of the type of the current one, else of CUDA.

    Returns:
        An int.

    Example:
        >>> import paddle
        >>> paddle.device.device_count() >= 0
        True
    """
    kind = current_place().device_type
    return _count(kind if kind != "cpu" else "gpu")


@public("paddle.device paddle.cuda")
def is_available() -> bool:
    """Say whether there is a CUDA device.

    Returns:
        A bool.

    Example:
        >>> import paddle
        >>> paddle.device.is_available() == (paddle.device.cuda.device_count() > 0)
        True
    """
    return _count("gpu") > 0


@public("paddle.device")
def get_all_device_type() -> list[str]:
    """Types of device that there are, other than those of plug-ins.

    Returns:
        A list of str.

    Example:
        >>> import paddle
        >>> "cpu" in paddle.device.get_all_device_type()
        True
    """
    return [t for t in available_types() if t in _KNOWN]


@public("paddle.device")
def get_all_custom_device_type() -> list[str]:
    """Types of device that plug-ins bring.

    Returns:
        A list of str.

    Example:
        >>> import paddle
        >>> "cpu" in paddle.device.get_all_custom_device_type()
        False
    """
    return [t for t in available_types() if t not in _KNOWN and t != "null"]


def _named(types: list[str]) -> list[str]:
    return [t if t == "cpu" else f"{t}:{i}" for t in types for i in range(1 if t == "cpu" else _count(t))]


@public("paddle.device")
def get_available_device() -> list[str]:
    """Names of all devices other than those of plug-ins.

    Returns:
        A list of str.

    Example:
        >>> import paddle
        >>> paddle.device.get_available_device()[0]
        'cpu'
    """
    return _named(get_all_device_type())


def get_custom_device_count(device_type: str) -> int:
    """Number of devices of a custom type; a RuntimeError where no backend serves it."""
    if device_type not in get_all_custom_device_type():
        raise op_error(RuntimeError, "get_custom_device_count", "a type that a backend serves", repr(device_type))
    return sum(name.partition(":")[0] == device_type for name in get_available_custom_device())


@public("paddle.device")
def get_available_custom_device() -> list[str]:
    """Names of the devices of plug-ins.

    Returns:
        A list of str.

    Example:
        >>> import paddle
        >>> "cpu" in paddle.device.get_available_custom_device()
        False
    """
    return _named(get_all_custom_device_type())


class DeviceProperties(NamedTuple):
    """Properties of a device: its name, its capability, its memory in bytes and its number of cores."""

    name: str
    major: int
    minor: int
    total_memory: int
    multi_processor_count: int


@public("paddle.device paddle.cuda paddle.device.cuda")
def get_device_properties(device: Any = None) -> DeviceProperties:
    """Name, version, memory in bytes and number of cores of a device.

    Args:
        device: a name, a place, a number (of the current type; on the host, of CUDA), or None for the current device.

    Returns:
        A named tuple ``(name, major, minor, total_memory, multi_processor_count)``.

    Raises:
        ValueError: a device that is not there, or one whose backend does not tell.

    Example:
        >>> import paddle
        >>> paddle.device.get_device_properties("cpu").multi_processor_count > 0
        True
    """
    place = numbered_place(device, "get_device_properties")
    if place.device_type != "cpu":
        from umiak import backends

        known = backends.get(place).properties(place)
        if known is None:
            required = "the host, or a device whose backend tells its properties"
            raise op_error(ValueError, "get_device_properties", required, place.name)
        return DeviceProperties(*known)
    pages = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return DeviceProperties(platform.processor() or platform.machine(), 0, 0, pages, os.cpu_count() or 1)


@public("paddle.device paddle.cuda paddle.device.cuda")
def get_device_name(device: Any = None) -> str:
    """Name of the model of a device.

    Args:
        device: a name, a place, a number (of the current type; on the host, of CUDA), or None for the current device.

    Returns:
        A str.

    Raises:
        ValueError: a device that is not there, or one whose backend does not tell.

    Example:
        >>> import paddle
        >>> paddle.device.get_device_name("cpu") == paddle.device.get_device_properties("cpu").name
        True
    """
    return get_device_properties(device).name


@public("paddle.device paddle.cuda paddle.device.cuda")
def get_device_capability(device: Any = None) -> tuple[int, int]:
    """Major and minor capability of a device.

    Args:
        device: a name, a place, a number (of the current type; on the host, of CUDA), or None for the current device.

    Returns:
        A pair of ints; (0, 0) of the host.

    Raises:
        ValueError: a device that is not there, or one whose backend does not tell.

    Example:
        >>> import paddle
        >>> paddle.device.get_device_capability("cpu")
        (0, 0)
    """
    properties = get_device_properties(device)
    return properties.major, properties.minor


@public("paddle.device paddle.cuda")
def is_bf16_supported(including_emulation: bool = True) -> bool:
    """Say whether bfloat16 works on the current device.

    Args:
        including_emulation: True counts devices that compute it in float32, which all do; False only those with
            instructions for it: processors with AVX512-BF16, AMX-BF16 or ARM's BF16, GPUs from capability 8.0 on.

    Returns:
        A bool.

    Raises:
        ValueError: with False, a current device that tells no capability: one of a plug-in.

    Example:
        >>> import paddle
        >>> paddle.device.is_bf16_supported()
        True
    """
    if including_emulation:
        return True
    if current_place().is_cpu_place():
        from umiak.compiler.render.target import Target  # with whoever asks: it loads the compiler

        return not _BFLOAT16.isdisjoint(Target.host().has)
    return get_device_capability() >= (8, 0)


@public("paddle paddle.device")
def get_cudnn_version() -> int | None:
    """Return the version of cuDNN, which convolves on CUDA devices where it is installed.

    Returns:
        An int, 10000 for each major version and 100 for each minor one: 91002 is 9.10.2. None where cuDNN is not
        installed.

    Example:
        >>> import paddle
        >>> version = paddle.device.get_cudnn_version()
        >>> version is None or version >= 90000
        True
    """
    from umiak.backends.cuda.providers import cudnn  # with whoever asks: it loads the library

    library = cudnn.load()
    return None if isinstance(library, str) else library.version()


@public("paddle paddle.device")
def is_compiled_with_cuda() -> bool:
    """Say whether a backend for CUDA devices is installed.

    Returns:
        A bool.

    Example:
        >>> import paddle
        >>> paddle.is_compiled_with_cuda() == ("gpu" in paddle.device.get_all_device_type())
        True
    """
    return "gpu" in available_types()


@public("paddle paddle.device")
def is_compiled_with_xpu() -> bool:
    """Say whether a backend for XPUs is installed.

    Returns:
        A bool.

    Example:
        >>> import paddle
        >>> paddle.is_compiled_with_xpu() == ("xpu" in paddle.device.get_all_device_type())
        True
    """
    return "xpu" in available_types()


@public("paddle paddle.device")
def is_compiled_with_custom_device(device_type: str) -> bool:
    """Say whether a backend for a type of device is installed.

    Args:
        device_type: accepted whatever it is; types that no plug-in brings give False.

    Returns:
        A bool.

    Example:
        >>> import paddle
        >>> paddle.is_compiled_with_custom_device("npu") == ("npu" in paddle.device.get_all_custom_device_type())
        True
    """
    return device_type in get_all_custom_device_type()


@public("paddle paddle.device")
def is_compiled_with_rocm() -> bool:
    """Return False: there is no backend for ROCm.

    Returns:
        False.

    Example:
        >>> import paddle
        >>> paddle.is_compiled_with_rocm()
        False
    """
    return False


@public("paddle paddle.device")
def is_compiled_with_ipu() -> bool:
    """Return False: there is no backend for IPUs.

    Returns:
        False.

    Example:
        >>> import paddle
        >>> paddle.is_compiled_with_ipu()
        False
    """
    return False


@public("paddle paddle.device")
def is_compiled_with_cinn() -> bool:
    """Return False: the compiler here is another one.

    Returns:
        False.

    Example:
        >>> import paddle
        >>> paddle.is_compiled_with_cinn()
        False
    """
    return False


@public("paddle paddle.device")
def is_compiled_with_distribute() -> bool:
    """Return True: programs may run on several processes.

    Returns:
        True.

    Example:
        >>> import paddle
        >>> paddle.is_compiled_with_distribute()
        True
    """
    return True
