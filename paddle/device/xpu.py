"""Devices under the names that programs for XPUs use; without a number they mean the current XPU, or the first one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from paddle import _lazy
from paddle._public import public
from paddle.device import memory, places, streams
from paddle.device.generators import get_rng_state, manual_seed, set_rng_state  # noqa: F401 for type checkers
from paddle.framework.place import available_types, current_place, place_of
from paddle.framework.place import device_count as _count
from umiak.core.place import Place
from umiak.util.errors import op_error


def _xpu(device: Any, op: str, error: type[Exception] = ValueError) -> Place:
    """The place of an XPU, from its number, a name, a place, or None."""
    if "xpu" not in available_types():
        raise op_error(error, op, "an XPU", "none", "No backend for it is installed.")
    if device is None and current_place().device_type != "xpu":
        device = 0
    place = place_of(f"xpu:{device}" if isinstance(device, int) else device, op)
    if place.device_type != "xpu":
        raise op_error(ValueError, op, "an XPU", place.name)
    return place


@public("paddle.device.xpu")
class Stream(streams.Stream):
    """Queue of work on an XPU, as :class:`paddle.device.Stream` is on any device.

    Args:
        device: the number of an XPU, a name, a place, or None for the current XPU.

    Raises:
        RuntimeError: no backend for XPUs is installed.
        ValueError: an XPU that is not there.

    Example:
        >>> import paddle
        >>> if paddle.is_compiled_with_xpu():
        ...     paddle.device.xpu.Stream().synchronize()
    """

    def __init__(self, device: Any = None) -> None:
        super().__init__(_xpu(device, "Stream", RuntimeError))


@public("paddle.device.xpu")
class Event(streams.Event):
    """Mark in the queue of an XPU, as :class:`paddle.device.Event` is on any device.

    Raises:
        RuntimeError: no backend for XPUs is installed.

    Example:
        >>> import paddle
        >>> if paddle.is_compiled_with_xpu():
        ...     paddle.device.xpu.Event().record()
    """

    def __init__(self) -> None:
        super().__init__(_xpu(None, "Event", RuntimeError))


@public("paddle.device.xpu")
def create_event(
    enable_timing: bool = False,
    blocking: bool = False,
    interprocess: bool = False,
    device_type: str | None = None,
    device_id: int = 0,
) -> Event:
    """Make an :class:`paddle.device.xpu.Event`.

    Args:
        enable_timing: accepted, without effect.
        blocking: accepted, without effect.
        interprocess: accepted, without effect.
        device_type: accepted, without effect.
        device_id: accepted, without effect.

    Returns:
        An :class:`paddle.device.xpu.Event`.

    Raises:
        RuntimeError: no backend for XPUs is installed.

    Example:
        >>> import paddle
        >>> if paddle.is_compiled_with_xpu():
        ...     paddle.device.xpu.create_event().record()
    """
    return Event()


@public("paddle.device.xpu")
def create_stream(
    device_id: Any = None, priority: int = 2, device_type: str | None = None, blocking: bool = False
) -> Stream:
    """Make an :class:`paddle.device.xpu.Stream`.

    Args:
        device_id: the number of an XPU, a name, a place, or None for the current XPU.
        priority: accepted, without effect.
        device_type: accepted, without effect.
        blocking: accepted, without effect.

    Returns:
        An :class:`paddle.device.xpu.Stream`.

    Raises:
        RuntimeError: no backend for XPUs is installed.
        ValueError: an XPU that is not there.

    Example:
        >>> import paddle
        >>> if paddle.is_compiled_with_xpu():
        ...     paddle.device.xpu.create_stream().synchronize()
    """
    return Stream(device_id)


@public("paddle.device.xpu")
def current_stream(device: Any = None) -> streams.Stream:
    """Stream that work on an XPU goes to.

    Args:
        device: the number of an XPU, a name, a place, or None for the current XPU.

    Returns:
        A :class:`paddle.device.Stream`.

    Raises:
        RuntimeError: no backend for XPUs is installed.
        ValueError: an XPU that is not there.

    Example:
        >>> import paddle
        >>> if paddle.is_compiled_with_xpu():
        ...     paddle.device.xpu.current_stream().synchronize()
    """
    return streams.current_stream(_xpu(device, "current_stream", RuntimeError))


@public("paddle.device.xpu")
def synchronize(device: Any = None) -> None:
    """Wait until all work on an XPU is done.

    Args:
        device: the number of an XPU, a name, a place, or None for the current XPU.

    Raises:
        RuntimeError: no backend for XPUs is installed.
        ValueError: an XPU that is not there.

    Example:
        >>> import paddle
        >>> if paddle.is_compiled_with_xpu():
        ...     paddle.device.xpu.synchronize()
    """
    streams.synchronize(_xpu(device, "synchronize", RuntimeError))


@public("paddle.device.xpu")
def device_count() -> int:
    """Number of XPUs.

    Returns:
        An int.

    Example:
        >>> import paddle
        >>> paddle.device.xpu.device_count() >= 0
        True
    """
    return _count("xpu")


@public("paddle.device.xpu")
def set_debug_level(level: int = 0) -> None:
    """Choose how much the backend for XPUs reports; none reports anything.

    Args:
        level: an integer of 0 or more.

    Raises:
        ValueError: no backend for XPUs is installed, or a level below 0.

    Example:
        >>> import paddle
        >>> if paddle.is_compiled_with_xpu():
        ...     paddle.device.xpu.set_debug_level(0)
    """
    _xpu(None, "set_debug_level")
    if level < 0:
        raise op_error(ValueError, "set_debug_level", "a level of 0 or more", level)


_DOCSTRING = """{summary}

    Args:
        device: the number of an XPU, a name, a place, or None for the current XPU.
{returns}
    Raises:
        ValueError: no backend for XPUs is installed, or an XPU that is not there.

    Example:
        >>> import paddle
        >>> if paddle.is_compiled_with_xpu():
        ...     {example}
    """
_RETURNS = """
    Returns:
        An int.
"""


def _function(name: str, summary: str, of_place: Callable[[Place], Any], condition: str | None) -> Callable[..., Any]:
    """The public function ``name`` that applies ``of_place`` to an XPU.

    The example in its docstring shows the ``condition`` that holds of the result; None: there is no result.
    """

    def of_xpu(device: Any = None) -> Any:
        return of_place(_xpu(device, name))

    of_xpu.__name__ = of_xpu.__qualname__ = name
    of_xpu.__annotations__["return"] = "None" if condition is None else "int"
    call = f"paddle.device.xpu.{name}()"
    example = call if condition is None else f"assert {call} {condition}"
    of_xpu.__doc__ = _DOCSTRING.format(summary=summary, returns=_RETURNS if condition else "", example=example)
    return public("paddle.device.xpu")(of_xpu)


memory_allocated: Callable[..., int] = _function(
    "memory_allocated", "Number of bytes in use by tensors of an XPU.", memory.memory_allocated, ">= 0"
)
max_memory_allocated: Callable[..., int] = _function(
    "max_memory_allocated",
    "Peak of :func:`memory_allocated` since the start, or since :func:`reset_max_memory_allocated`.",
    memory.max_memory_allocated,
    ">= 0",
)
memory_reserved: Callable[..., int] = _function(
    "memory_reserved",
    "Number of bytes that the allocator of an XPU holds from the system, in use or not.",
    memory.memory_reserved,
    ">= 0",
)
max_memory_reserved: Callable[..., int] = _function(
    "max_memory_reserved",
    "Peak of :func:`memory_reserved` since the start, or since :func:`reset_max_memory_reserved`.",
    memory.max_memory_reserved,
    ">= 0",
)
memory_used: Callable[..., int] = _function(
    "memory_used",
    "Number of bytes of an XPU that this process holds, as :func:`memory_reserved` says.",
    memory.memory_reserved,
    ">= 0",
)
memory_total: Callable[..., int] = _function(
    "memory_total",
    "Number of bytes that an XPU has.",
    lambda place: places.get_device_properties(place).total_memory,
    "> 0",
)
reset_max_memory_allocated: Callable[..., None] = _function(
    "reset_max_memory_allocated",
    "Let the peaks of an XPU start again from what is in use now.",
    memory.reset_max_memory_allocated,
    None,
)
reset_max_memory_reserved: Callable[..., None] = _function(
    "reset_max_memory_reserved",
    "Let the peaks of an XPU start again from what is in use now.",
    memory.reset_max_memory_reserved,
    None,
)


@public("paddle.device.xpu")
def empty_cache() -> None:
    """Give memory of the current XPU that is held but not in use back to the system.

    Raises:
        ValueError: no backend for XPUs is installed.

    Example:
        >>> import paddle
        >>> if paddle.is_compiled_with_xpu():
        ...     paddle.device.xpu.empty_cache()
    """
    memory.empty_cache(_xpu(None, "empty_cache"))


__getattr__, __dir__, __all__ = _lazy.contents(__name__)
