"""Errors of rewriting: why a function cannot be rewritten, and where in the user's text an error is."""

from __future__ import annotations

from contextlib import AbstractContextManager
from types import CodeType, TracebackType
from typing import Any

from paddle.jit.source.world import HELPER_FILES, world
from umiak.runtime.capture import CaptureError


class ConversionError(CaptureError):
    """A function that cannot be rewritten; the message names file, line and construct."""


class SourceError(ConversionError):
    """A function whose source is not there."""


def location() -> tuple[str, int, str]:
    """Return file, line and function of the rewritten code that has called a helper."""
    return world().location()


def place_of() -> str:
    """Return file and line of the rewritten code that has called a helper."""
    file, line, _ = location()
    return f"{file}:{line}"


def line_of(code: CodeType) -> str:
    """Return file and first line of a function."""
    return f"{code.co_filename}:{code.co_firstlineno}"


class UserTraceback(AbstractContextManager):
    """An error that leaves the block shows the user's frames, without those of the helpers between them."""

    def __exit__(self, kind: Any, error: BaseException | None, traceback: TracebackType | None) -> None:
        if error is not None:
            error.__traceback__ = _without_helpers(traceback)


def _without_helpers(traceback: TracebackType | None) -> TracebackType | None:
    kept: list[TracebackType] = []
    step = traceback
    while step is not None:
        kept.append(step)
        step = step.tb_next
    # The last frame stays, so that an error of a helper itself shows where it was raised.
    kept = [t for t in kept[:-1] if not t.tb_frame.f_code.co_filename.startswith(HELPER_FILES)] + kept[-1:]
    for above, below in zip(kept, [*kept[1:], None], strict=True):
        above.tb_next = below
    return kept[0] if kept else None
