"""Places for programs, and the blocks that name or place what is recorded."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from paddle._public import public
from paddle.framework.place import CPUPlace, CUDAPlace, XPUPlace, available_types, device_count, on_device, selected
from umiak.util.errors import op_error

# Of device_guard, beside the types of devices that are there.
_TYPES = ("cpu", "gpu", "xpu", "dcu", "npu")


@public("paddle.static")
def cpu_places(device_count: int | None = None) -> list[Any]:
    """Return the host's place, several times.

    Args:
        device_count: how often; None: as the environment variable ``CPU_NUM`` says, else once.

    Returns:
        A list of ``CPUPlace``.

    Raises:
        ValueError: a ``CPU_NUM`` that is no number.

    Example:
        >>> import paddle
        >>> paddle.static.cpu_places(2)
        [Place(cpu), Place(cpu)]
    """
    count = int(os.environ.get("CPU_NUM", "1")) if device_count is None else device_count
    return [CPUPlace() for _ in range(count)]


def _places(op_name: str, device_type: str, kind: Any, device_ids: Sequence[int] | None) -> list[Any]:
    if device_type not in available_types():
        # The reference asserts it.
        raise op_error(AssertionError, op_name, f"a backend for {device_type!r}", f"{list(available_types())}")
    if device_ids is None:
        device_ids = selected(device_type) or range(device_count(device_type))
    return [kind(n) for n in device_ids]


@public("paddle.static")
def cuda_places(device_ids: Sequence[int] | None = None) -> list[Any]:
    """Return the places of CUDA devices.

    Args:
        device_ids: numbers of devices; None: those that ``FLAGS_selected_gpus`` names, else all.

    Returns:
        A list of ``CUDAPlace``.

    Raises:
        AssertionError: no backend for CUDA devices is installed.

    Example:
        >>> import paddle
        >>> if paddle.is_compiled_with_cuda():
        ...     assert len(paddle.static.cuda_places([0])) == 1
    """
    return _places("cuda_places", "gpu", CUDAPlace, device_ids)


@public("paddle.static")
def xpu_places(device_ids: Sequence[int] | None = None) -> list[Any]:
    """Return the places of XPUs.

    Args:
        device_ids: numbers of devices; None: those that ``FLAGS_selected_xpus`` names, else all.

    Returns:
        A list of ``XPUPlace``.

    Raises:
        AssertionError: no backend for XPUs is installed.

    Example:
        >>> import paddle
        >>> if paddle.is_compiled_with_xpu():
        ...     assert len(paddle.static.xpu_places([0])) == 1
    """
    return _places("xpu_places", "xpu", XPUPlace, device_ids)


@public("paddle.static")
@contextmanager
def device_guard(device: str | None = None) -> Iterator[None]:
    """Make what is recorded inside a ``with`` block on another device.

    Tensors that are made out of nothing are made there; other calls run where their operands are.

    Args:
        device: ``"cpu"``, ``"gpu"``, ``"xpu"`` or the type of another device, with a number after a colon if need be
            (``"cpu"`` has none);
            None or an empty string changes nothing.

    Yields:
        None: it is used in a ``with`` statement.

    Raises:
        ValueError: something else, or a device that is not there.

    Example:
        >>> import paddle
        >>> with paddle.static.device_guard("cpu"):
        ...     paddle.zeros([1]).place
        Place(cpu)
    """
    known = [*available_types(), *(t for t in _TYPES if t not in available_types())]
    kind, colon, number = device.partition(":") if isinstance(device, str) else ("", "", "")
    if device and (kind not in known or (colon and (kind == "cpu" or not number.isdigit()))):
        raise op_error(ValueError, "device_guard", f"a device of {known}, or None", repr(device))
    if not device:
        yield
        return
    with on_device(device):
        yield


@public("paddle.static")
@contextmanager
def name_scope(prefix: str | None = None) -> Iterator[None]:
    """Group what is recorded inside a ``with`` block under a name.

    Args:
        prefix: accepted: operations are shown without groups, and variables keep their names.

    Yields:
        None: it is used in a ``with`` statement.

    Raises:
        TypeError: a prefix that is no str.
        ValueError: an empty one, or one with a slash.

    Example:
        >>> import paddle
        >>> with paddle.static.name_scope("encoder"):
        ...     paddle.ones([1]).shape
        paddle.Size([1])
    """
    if prefix is not None:
        if not isinstance(prefix, str):
            raise op_error(TypeError, "name_scope", "a str as prefix", type(prefix).__name__)
        if not prefix or "/" in prefix:
            raise op_error(ValueError, "name_scope", "a name without slashes as prefix", repr(prefix))
    yield
