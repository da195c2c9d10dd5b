"""Modes of a thread that Python code may change: what a call has to leave as eager calls would."""

from __future__ import annotations

from typing import Any, NamedTuple

from umiak.core.context import current


class Modes(NamedTuple):
    """Recording of calls, mixed precision, hooks of saved tensors, and the default dtype."""

    gradients: bool
    amp: tuple[Any, ...]
    saved_hooks: Any
    default_dtype: Any


def modes_now() -> Modes:
    """Return the modes of this thread."""
    ctx = current()
    return Modes(ctx.grad_enabled, ctx.amp(), ctx.saved_hooks, ctx.state.default_dtype)


def set_modes(modes: Modes) -> None:
    """Set the modes of this thread."""
    ctx = current()
    ctx.grad_enabled = modes.gradients
    ctx.set_amp(*modes.amp)
    ctx.saved_hooks = modes.saved_hooks
    ctx.state.default_dtype = modes.default_dtype


def changed(before: Modes) -> list[str]:
    """Return what has changed, in words."""
    words = "whether gradients are enabled", "mixed precision", "hooks of saved tensors", "the default dtype"
    return [w for w, a, b in zip(words, before, modes_now(), strict=True) if a != b]
