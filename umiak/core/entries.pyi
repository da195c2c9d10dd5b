"""Entries of captured programs: the one that serves a call is found without Python. See docs/design/capture.md."""

from collections.abc import Iterable, Sequence
from typing import Any

from umiak.core.captured import CapturedRun

class Watch:
    """Places of Python values: ``reads`` are (cell, None) or (dict, name)."""

    def __init__(self, reads: list[tuple[Any, str | None]], counter: list) -> None: ...
    def take(self, containers: Iterable[Any]) -> Snapshot:
        """Take a snapshot of the values; ``containers`` are further objects whose contents count."""

class Snapshot:
    """The values that were at the places of a watch."""

    def same(self) -> bool:
        """Return whether the values are still these."""

class Entry:
    """A call that ``run`` serves."""

    def __init__(
        self,
        run: CapturedRun,
        structure: Any,
        leaves: list[Any],
        again: type,
        snapshot: Snapshot,
        free: Sequence[frozenset],
        unlike: tuple | None,
        result: Any,
    ) -> None: ...

class StaticCall:
    """A call that looks for an entry first; ``_general(args, kwargs)`` is any call."""

    def _enter(self, entry: Entry) -> None:
        """Have calls find this entry."""
    def _forget(self) -> None:
        """Have no entries."""
    def __call__(self, *args: Any, **kwargs: Any) -> Any: ...
