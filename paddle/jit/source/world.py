"""The user's objects as the helpers of rewritten code see them.

Rewritten code runs as Python (in static programs, and in functions that the library calls), or it is simulated
(``paddle.jit.sot``), where what is read is guarded and changes are made after the run. A tracer whose code is simulated
has a world of its own.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from types import CellType
from typing import TYPE_CHECKING, Any

from paddle.jit.source.own_attributes import namespace_of
from umiak.core.context import current
from umiak.runtime import regions

if TYPE_CHECKING:
    from paddle.jit.source.places import Place

OWN = str(Path(__file__).parent)  # files of the helpers
HELPER_FILES = OWN, regions.__file__  # and of what stands between the frames of user's code that they call


class _Absent:
    """The value of a name that has none."""

    def __repr__(self) -> str:
        return "no value"


ABSENT = _Absent()


class World:
    """Python's own."""

    is_simulated = False
    keeps_layers = False  # whether layers get back the attributes that they had

    def location(self) -> tuple[str, int, str]:
        """Return file, line and function of the rewritten code that has called a helper."""
        frame = sys._getframe(1)
        while frame.f_back is not None and frame.f_code.co_filename.startswith(HELPER_FILES):
            frame = frame.f_back
        return frame.f_code.co_filename, frame.f_lineno, frame.f_code.co_name

    def call(self, f: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        """Return what a call of the user's function, or of an operator on the user's objects, gives."""
        return f(*args, **kwargs)

    def traced(self, f: Callable[..., Any]) -> Callable[..., Any]:
        """Return a function of the user's, for a function of the library that calls it, with its branches and loops on
        tensors as operations."""
        return f

    def fix(self, n: Any) -> bool:
        """Have a symbolic size be the number that it is, in a trace that begins anew; return False if it cannot be."""
        return False

    def iterate(self, x: Any) -> Iterable[Any]:
        """Return the items of an iterable."""
        return x

    def read_cell(self, cell: CellType, name: str) -> Any:
        """Return the value of a variable; ABSENT for none, here and below."""
        try:
            return cell.cell_contents
        except ValueError:
            return ABSENT

    def write_cell(self, cell: CellType, name: str, value: Any) -> None:
        """Set a variable, or have it hold nothing."""
        if value is not ABSENT:
            cell.cell_contents = value
        elif self.read_cell(cell, name) is not ABSENT:
            del cell.cell_contents

    def read_global(self, space: dict[str, Any], name: str) -> Any:
        """Return a global variable."""
        return space.get(name, ABSENT)

    def write_global(self, space: dict[str, Any], name: str, value: Any) -> None:
        """Set a global variable, or remove it."""
        if value is ABSENT:
            space.pop(name, None)
        else:
            space[name] = value

    def read_attribute(self, owner: Any, name: str) -> Any:
        """Return an attribute."""
        return getattr(owner, name, ABSENT)

    def write_attribute(self, owner: Any, name: str, value: Any) -> None:
        """Set an attribute, or remove it."""
        if value is ABSENT:
            delattr(owner, name)
        else:
            setattr(owner, name, value)

    def containers_of(self, x: Any) -> Iterator[tuple[str, Any]]:
        """Yield the lists and dicts among the attributes of an object."""
        for name, item in namespace_of(x).items():
            if type(item) in (list, dict):
                yield name, item

    def is_own(self, x: Any) -> bool:
        """Return whether the code itself has made an object, so that nobody outside sees a change of it."""
        return True

    def is_caught(self) -> bool:
        """Return whether an exception that is raised now may be caught."""
        return False

    def rerun(self) -> bool:
        """Have calls whose program raises run as they were written. Return False where a program stands for itself."""
        return False

    def effects(self) -> Any:
        """Return what the code has changed so far, in a form for the methods below."""
        return None

    def others(self, before: Any, places: Sequence[Place]) -> list[Place | str]:
        """Return what has changed since ``before`` that is not one of the places: as places, or in words."""
        return []

    def know_places(self, where: str, places: Sequence[Place]) -> None:
        """Note what the statement at ``where`` was seen to change."""

    def known_places(self, where: str) -> Sequence[Place]:
        """Return what was noted."""
        return ()

    def restore(self, before: Any) -> None:
        """Forget what has changed since ``before``."""

    def note(self, x: Any, before: Any) -> None:
        """Note an object with state that a branch or loop has changed, and that was ``before``."""

    def is_noted(self, x: Any) -> bool:
        """Return whether an object was noted."""
        return False


_NATIVE = World()


def world() -> World:
    """Return the world of the code that is being traced."""
    trace = current().trace
    return (getattr(trace[-1], "world", None) or _NATIVE) if trace else _NATIVE
