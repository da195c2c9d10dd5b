"""Switches of the reference that have operators decomposed, so that they have derivatives of higher order.

Every operator has derivatives of any order here, and the compiler decomposes by itself. What the switch of forward
operators changes is ``paddle.decomposition.decompose``; the others are kept, and change nothing.
"""

from __future__ import annotations

from umiak.core.context import current
from umiak.util import flags


def _set(which: str, on: bool) -> None:
    current().state.values[f"decomposition.{which}"] = bool(on)


def _is_set(which: str) -> bool:
    return current().state.values.get(f"decomposition.{which}", False)


def set_forward(on: bool) -> None:
    """Set the switch of forward operators."""
    _set("forward", on)


def set_backward(on: bool) -> None:
    """Set the switch of gradients."""
    _set("backward", on)


def set_eager(on: bool) -> None:
    """Set the switch of operators that run as they are called."""
    _set("eager", on)


def set_all(on: bool) -> None:
    """Set the switches of forward operators and of gradients."""
    set_forward(on)
    set_backward(on)


def forward_enabled() -> bool:
    """Return the switch of forward operators."""
    return _is_set("forward")


def backward_enabled() -> bool:
    """Return the switch of gradients."""
    return _is_set("backward")


def eager_enabled() -> bool:
    """Return the switch of operators that run as they are called."""
    return _is_set("eager")


def all_enabled() -> bool:
    """Return whether the switches of forward operators and of gradients are both on."""
    return _is_set("forward") and _is_set("backward")


flags.define("prim_forward", False, "decompose() exchanges composite operators for primitives", on_change=set_forward)
flags.define("prim_backward", False, "kept; gradients are made of primitives in any case", on_change=set_backward)
flags.define("prim_all", False, "prim_forward and prim_backward", on_change=set_all)
