"""The CUDA runtime: whether there is one, its errors, the memory of its devices."""

from __future__ import annotations

from typing import Any

from paddle._public import public
from paddle.device.default import device_to_place
from paddle.device.memory import memory_reserved
from paddle.device.places import get_device_properties
from paddle.framework.place import available_types, current_place, place_of, set_current_place
from umiak import backends
from umiak.util.errors import op_error


@public("paddle.cuda")
class CudaError(RuntimeError):
    """Error of a call of the CUDA runtime.

    Args:
        code: what the call returned.

    Attributes:
        code: what the call returned.

    Example:
        >>> import paddle
        >>> str(paddle.cuda.CudaError(2))
        'CUDA error 2'
    """

    def __init__(self, code: int) -> None:
        self.code = int(code)
        super().__init__(f"CUDA error {self.code}")

    def __reduce__(self) -> tuple:
        return CudaError, (self.code,)


@public("paddle.cuda")
def check_error(res: int) -> None:
    """Refuse what a call of the CUDA runtime returned, unless it is 0.

    Args:
        res: what the call returned.

    Raises:
        CudaError: it is not 0.

    Example:
        >>> import paddle
        >>> paddle.cuda.check_error(0)
    """
    if res != 0:
        raise CudaError(res)


@public("paddle.cuda")
def cudart() -> Any:
    """Module of the CUDA runtime, which no backend gives: the call is refused.

    Returns:
        Nothing.

    Raises:
        RuntimeError: always.

    Example:
        >>> import paddle
        >>> paddle.cuda.cudart()
        Traceback (most recent call last):
        RuntimeError: [cudart] requires a backend that gives the CUDA runtime, got none
    """
    raise op_error(RuntimeError, "cudart", "a backend that gives the CUDA runtime", "none")


@public("paddle.cuda")
def is_initialized() -> bool:
    """Say whether a backend for CUDA devices or XPUs is installed.

    Returns:
        A bool.

    Example:
        >>> import paddle
        >>> paddle.cuda.is_initialized() == (paddle.is_compiled_with_cuda() or paddle.is_compiled_with_xpu())
        True
    """
    return not {"gpu", "xpu"}.isdisjoint(available_types())


@public("paddle.cuda")
def set_device(device: Any) -> None:
    """Put new tensors on a device from now on.

    Args:
        device: a name, a place, or the number of a device of the current one's type, which the host does not have.

    Raises:
        ValueError: a device that is not there, or a number where the current device is the host.
        TypeError: a value that names no device.

    Example:
        >>> import paddle
        >>> paddle.cuda.set_device("cpu")
        >>> paddle.get_device()
        'cpu'
    """
    if isinstance(device, int) and current_place().device_type == "cpu":
        message = "a number where the current device is the host"
        raise op_error(ValueError, "set_device", "the name of a device", message)
    set_current_place(device_to_place(device))


@public("paddle.cuda")
def mem_get_info(device: Any = None) -> tuple[int, int]:
    """Free memory of a CUDA device, and all that it has, in bytes.

    Args:
        device: a name, a place, the number of a CUDA device, or None for the current device.

    Returns:
        Two ints.

    Raises:
        ValueError: a device that is not there, or no CUDA device.
        TypeError: a value that names no device.

    Example:
        >>> import paddle
        >>> if paddle.cuda.is_available():
        ...     free, total = paddle.cuda.mem_get_info()
        ...     assert free <= total
    """
    place = place_of(f"gpu:{device}" if isinstance(device, int) else device, "mem_get_info")
    if place.device_type != "gpu":
        raise op_error(ValueError, "mem_get_info", "a CUDA device", place.name)
    told = backends.get(place).memory_info(place)
    if told is not None:
        return told
    total = get_device_properties(place).total_memory
    return total - memory_reserved(place), total
