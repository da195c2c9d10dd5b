"""Ends of the simulation of a frame before the frame ends."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from paddle.jit.sot.frame import Frame


class Control(BaseException):
    """Not an exception of the user's code, which no handler of it sees."""


class Restart(Control):
    """The capture begins anew, under a policy that has learned something."""


class HasHistory(Control):
    """The frame was called without gradients, and gives results with a history: it enables gradients inside."""


class Uncapturable(Control):
    """The frame cannot be captured, and runs as it was written. ``lasting``: at later calls, too."""

    def __init__(self, reason: str, lasting: bool = True) -> None:
        super().__init__(reason)
        self.reason = reason
        self.lasting = lasting


class AsWritten(Uncapturable):
    """The call runs as it was written, even of a function that is one graph: no graph can do what it does."""


class UnknownInstruction(Uncapturable):
    """The frame's code has an instruction that is not simulated."""


class Raised(Uncapturable):
    """The frame raises an exception, which a run as it was written will show."""


class Refused(Control):
    """The function was to be one graph, and cannot be. ``frames``: file, line and name of the user's code."""

    def __init__(self, error: Exception, frames: list[tuple[str, int, str]]) -> None:
        super().__init__(str(error))
        self.error = error
        self.frames = frames


@dataclass
class Operation:
    """The work of an instruction beyond moving values: one call, which may have to run outside of the graph."""

    function: Callable[..., Any]
    args: tuple
    kwargs: dict[str, Any]


class GraphBreak(Control):
    """The graph ends before an operation. ``frames``: from the captured one to the one that the operation is in.

    ``reason``: None where nothing runs in Python between this graph and the next.
    """

    def __init__(self, operation: Operation, frames: list[Frame], reason: str | None) -> None:
        super().__init__(reason)
        self.operation = operation
        self.frames = frames
        self.reason = reason
