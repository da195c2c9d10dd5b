"""Entries of captured programs: the one that serves a call is found without Python. See docs/design/capture.md."""

from collections.abc import Callable, Iterable
from typing import Any

from umiak.core.captured import CapturedRun, ScalarSource
from umiak.core.tensor import Tensor

class Watch:
    """Places of Python values: ``reads`` are (cell, None) or (dict, name)."""

    def __init__(self, reads: list[tuple[Any, str | None]], counter: list) -> None: ...
    def take(self, containers: Iterable[Any]) -> Snapshot:
        """Take a snapshot of the values; ``containers`` are further objects whose contents count."""

class Snapshot:
    """The values that were at the places of a watch."""

    def same(self) -> bool:
        """Return whether the values are still these."""

class Places:
    """The values that a captured function has read from fixed places: (cell, None, value) or (dict, key, value)."""

    def __init__(
        self,
        plain: list[tuple[Any, Any, Any]],
        of_layers: list[tuple[Any, Any, Any]],
        tables: list[dict],
        counter: list,
        snapshots: list[Snapshot],
        missing: Any,
    ) -> None: ...
    def different(self) -> list[tuple[Any, Any, Any]]:
        """Return the places whose value is another one now, as (holder, key, value now)."""
    def holds(self) -> bool:
        """Return whether the values are still these."""

class CallScalars(ScalarSource):
    """Numbers among the arguments of a call. ``kinds``: "int" or "float" of each."""

    def __init__(self, kinds: list[str]) -> None: ...

class Tail:
    """What is left to do: the call of another frame with these arguments."""

    def __init__(self, frame: FrameCall, args: tuple) -> None: ...

class GuardedEntry:
    """The calls that one capture serves."""

    guard: Callable[..., tuple | None]
    finish: Callable[..., Any] | None
    places: Places
    dynamic: bool
    def __init__(
        self,
        guard: Callable[..., tuple | None],
        places: Places,
        tensors: list[Tensor],
        axes: list[frozenset[int]],
        run: CapturedRun | None,
        scalars: CallScalars | None,
        finish: Callable[..., Any] | None,
    ) -> None: ...
    def why_not(self, args: tuple, kwargs: dict[str, Any] | None) -> str:
        """Say what keeps this entry from serving a call: "mode", "guard", "places", "tensors" or ""."""

class FrameCall:
    """A call of a captured frame; ``_general(args, kwargs)`` is any call."""

    entries: list[GuardedEntry]
    def _enter(self, entry: GuardedEntry, most: int) -> None:
        """Have calls find this entry."""
    def _attempt(self, entry: GuardedEntry, args: tuple, kwargs: dict[str, Any] | None) -> tuple | None:
        """Return (result,) of a call by this entry, which may be a ``Tail``; None where it does not serve."""
    def __call__(self, *args: Any, **kwargs: Any) -> Any: ...
