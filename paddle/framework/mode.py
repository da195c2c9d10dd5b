"""Dynamic and static mode."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Iterator
from typing import Any

from paddle._public import also, public
from paddle.framework.place import current_place, place_of, set_current_place
from umiak.core.context import capture_of, current
from umiak.core.tensor import Tensor
from umiak.util.errors import op_error

SWITCH = "static.mode"  # of the rank's values: what leaves static mode; None in dynamic mode


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
    tracer = capture_of()
    return tracer is None or not tracer.static


in_dynamic_or_pir_mode = also(in_dynamic_mode, "in_dynamic_or_pir_mode", "paddle.framework")


@public("paddle.framework")
def in_pir_mode() -> bool:
    """Say whether operations are recorded into a program (and do not run as they are called).

    Returns:
        A bool.

    Example:
        >>> import paddle
        >>> paddle.framework.in_pir_mode()
        False
    """
    return not in_dynamic_mode()


@public("paddle.framework")
def use_pir_api() -> bool:
    """Say whether programs are of the one intermediate representation that there is: always.

    Returns:
        True.

    Example:
        >>> import paddle
        >>> paddle.framework.use_pir_api()
        True
    """
    return True


def when_evaluated(y: Tensor, function: Callable[..., Tensor], *operands: Any) -> Tensor:
    """``y``; in static mode, programs that are copied for evaluation have ``function(*operands)`` in its place."""
    tracer = capture_of()
    if tracer is not None and tracer.static:
        tracer.when_evaluated(y, function, *operands)
    return y


def in_declarative_mode() -> bool:
    """Return whether a call of a captured function is being recorded."""
    return capture_of() is not None


@public("paddle.framework")
def dygraph_only(func: Callable) -> Callable:
    """Mark a function that works in dynamic mode alone: in static mode a call is refused.

    Args:
        func: the function.

    Returns:
        The function with this check before it.

    Raises:
        AssertionError: at a call in static mode.

    Example:
        >>> import paddle
        >>> @paddle.framework.dygraph_only
        ... def one():
        ...     return 1
        >>> one()
        1
    """

    @functools.wraps(func)
    def run(*args: Any, **kwargs: Any) -> Any:
        if not in_dynamic_mode():
            # The reference asserts it, and callers catch that.
            raise op_error(AssertionError, func.__name__, "dynamic mode", "static mode", "Call disable_static().")
        return func(*args, **kwargs)

    return run


non_static_only = dygraph_only  # what is recorded into programs is no difference here


@contextlib.contextmanager
def guard(place: Any = None) -> Iterator[None]:
    """Dynamic mode inside a ``with`` block, with new tensors on ``place`` if one is given."""
    tracer, before = capture_of(), current_place()
    if place is not None:
        set_current_place(place_of(place))
    try:
        with tracer.paused() if tracer is not None and tracer.static else contextlib.nullcontext():
            yield
    finally:
        set_current_place(before)


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
    values = current().state.values
    if values.get(SWITCH) is not None:
        values[SWITCH].leave()
        values[SWITCH] = None
    if place is not None:
        set_current_place(place_of(place))


@public("paddle paddle.framework")
def disable_signal_handler() -> None:
    """Do nothing: there is no signal handler here that programs for the reference framework would take away.

    Example:
        >>> import paddle
        >>> paddle.disable_signal_handler()
    """
