"""Python's collector of cycles, paused while much is made that stays."""

from __future__ import annotations

import gc
from contextlib import ContextDecorator


class Paused(ContextDecorator):
    """No collections inside, as a context or around each call of a function.

    What plans and kernels are made of lives long, and a collection that walks all of it again and again finds nothing:
    up to a tenth of the time of a first step. A collector that was off stays off.
    """

    def __enter__(self) -> Paused:
        self.was_on = gc.isenabled()
        gc.disable()
        return self

    def __exit__(self, *_: object) -> None:
        if self.was_on:
            gc.enable()

    def _recreate_cm(self) -> Paused:
        return Paused()  # each call has a state of its own
