"""A run of a captured function. See docs/design/capture.md."""

from collections.abc import Callable, Sequence
from typing import Any

from umiak.core.generator import Generator
from umiak.core.tensor import Tensor

NONE: int  # what comes in the place of a gradient
GIVEN: int
ZEROS: int  # which are made when somebody looks at them
ROWS: int  # selected rows, of two outputs: the index and the values

class Stale(Exception):
    """A captured function does not serve these arguments, or this state, any more: capture it anew."""

class SharedMemory(ValueError):
    """Arguments of a program that writes to them share memory, which makes them one where the program knows several."""

class ScalarSource:
    """Scalars of one origin, which differ between runs."""

    count: int

class PythonScalars(ScalarSource):
    """Scalars that a Python function gives; ``take_back()`` follows a run that failed."""

    def __init__(
        self, kinds: list[str], ask: Callable[[], Sequence[Any]], take_back: Callable[[], None] | None
    ) -> None: ...

class Stream:
    """The random words that a function draws from one generator, or from the default one of a place."""

    def __init__(self, place: int, generator: Generator | None) -> None: ...

class Part:
    """A program of a captured function, and where its arguments and scalars are among those of a run."""

    executor: Any
    def __init__(self, executor: Any, extras: list, late: list[int], scalars: list[int]) -> None: ...

class Backward:
    """The gradient of a captured function as a program, and what its forward part keeps for it."""

    def __init__(
        self,
        part: Part,
        saved: Sequence[tuple[str, int]],
        wrt: list[int],
        seeded: list[int],
        asked: list[Any],
        histories: list[int],
        reached: list[int],
        between: int = 0,
        read: list[int] | None = None,
    ) -> None: ...

class CapturedRun:
    """The runs of a captured function; a subclass makes the programs."""

    def _prepare(
        self,
        *,
        name: str,
        pinned: list[tuple[int, Tensor]],
        apart: set[int],
        leaves: list[Any],
        absent: list[bool],
        inner: list[bool],
        hooks: list[Any],
        kept: list[Tensor],
        needs: list[bool],
        sources: list[ScalarSource],
        streams: list[Stream],
        open: list[bool],
        constants: list[Any],
        tensors: list[int],
        replaced: list[tuple[int, int]],
        assigned: list[Any],
        outer: list[Any],
        records: bool,
        results: int,
        ended: list[int],
        own_leaves: Sequence[int] = (),
    ) -> None: ...
    def run(self, tensors: list[Tensor]) -> list[Any]:
        """The leaves for these tensors. Raises :class:`Stale` where the capture does not serve."""
