"""Dynamic and static mode."""

from __future__ import annotations

from typing import Any

from paddle._public import also, public
from paddle.framework.place import place_of, set_current_place
from umiak.core.context import current


@public("paddle paddle.framework")
def in_dynamic_mode() -> bool:
    """Say whether operations run as they are called (and are not recorded into a program).

    Returns:
        A bool.

    Example:
        >>> import paddle
        >>> paddle.in_dynamic_mode()
        True
    """
    return not current().state.values.get("static_mode", False)


in_dynamic_or_pir_mode = also(in_dynamic_mode, "in_dynamic_or_pir_mode", "paddle.framework")


@public("paddle paddle.framework")
def disable_static(place: Any = None) -> None:
    """Run operations as they are called, from now on.

    Args:
        place: a device to put new tensors on, as for ``set_device``; None changes nothing.

    Raises:
        ValueError: a device that is not there.

    Example:
        >>> import paddle
        >>> paddle.disable_static()
        >>> paddle.in_dynamic_mode()
        True
    """
    current().state.values["static_mode"] = False
    if place is not None:
        set_current_place(place_of(place))


@public("paddle paddle.framework")
def disable_signal_handler() -> None:
    """Do nothing: there is no signal handler here that programs for the reference framework would take away.

    Example:
        >>> import paddle
        >>> paddle.disable_signal_handler()
    """
