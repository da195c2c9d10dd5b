"""Operands that are computed whether they are asked for or not, where nobody can tell."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from paddle.jit.source.places import Snapshot, places_of, same
from paddle.jit.source.raising import is_raised
from umiak.runtime import regions


def computed_anyway(function: Callable[[], Any], of_text: Sequence[Callable[[], Any]]) -> tuple[Any] | None:
    """Return ``(function(),)``; None where a call that is not asked for would show: it changes something, draws random
    numbers, or may fail. ``of_text``: the functions of the text that it calls."""
    before = Snapshot(places_of(of_text, ()))

    def is_unseen() -> bool:
        unchanged = all(same(p, old, p.get()) for p, old in zip(before.places, before.values, strict=True))
        return unchanged and not before.others()

    try:
        return regions.inlined(function, is_unseen, is_raised)
    finally:
        before.restore()
