"""The state of the calling thread under the names of the reference's tracer: gradients and mixed precision."""

from __future__ import annotations

import enum
from typing import Any

from paddle.framework.mode import in_dynamic_mode
from paddle.framework.place import current_place, set_current_place
from umiak.core.context import current
from umiak.core.dtype import from_id


class AmpLevel(enum.IntEnum):
    """Level of mixed precision."""

    O0 = 0
    O1 = 1
    O2 = 2


def has_grad() -> bool:
    """Say whether operations are recorded for gradients."""
    return current().grad_enabled


def set_has_grad(on: bool) -> None:
    """Record operations for gradients from now on, or not."""
    current().grad_enabled = bool(on)


class Tracer:
    """View of the calling thread's state; nothing is kept in it."""

    __slots__ = ()

    @property
    def _has_grad(self) -> bool:
        return has_grad()

    @_has_grad.setter
    def _has_grad(self, on: bool) -> None:
        set_has_grad(on)

    @property
    def _amp_level(self) -> AmpLevel:
        return AmpLevel(current().amp()[0])

    @property
    def _amp_dtype(self) -> str:
        level, dtype, _ = current().amp()
        return from_id(dtype).name if level else "float32"

    @property
    def _expected_place(self) -> Any:
        return current_place()

    @_expected_place.setter
    def _expected_place(self, place: Any) -> None:
        set_current_place(place)


_TRACER = Tracer()


def tracer() -> Tracer | None:
    """The tracer; None in static mode."""
    return _TRACER if in_dynamic_mode() else None
