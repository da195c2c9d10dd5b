"""Breakpoints in the simulation of a function: where it stops, what can be looked at is the simulated frame."""

from __future__ import annotations

import dis
import pdb
from typing import TYPE_CHECKING

from paddle._public import constants, public
from paddle.jit.sot.bytecode import describe
from umiak.util.errors import op_error

if TYPE_CHECKING:
    from paddle.jit.sot.frame import Frame

EVENTS = ("break", "fallback")


class BreakpointManager:
    """The breakpoints of simulations, and the frames where one has stopped.

    Attributes:
        breakpoints: (file, line, name of the function, offset of the instruction), the last two None for any.
        events: events at which a simulation stops.
        frames: the simulated frames, the innermost last, while one has stopped.
    """

    def __init__(self) -> None:
        self.breakpoints: set[tuple[str, int, str | None, int | None]] = set()
        self.events: set[str] = set()
        self.frames: list[Frame] = []

    def add(self, file: str, line: int, co_name: str | None = None, offset: int | None = None) -> None:
        """Stop at a line of a file.

        Args:
            file: the end of the file's path.
            line: the number of the line.
            co_name: the name of the function; None: any.
            offset: the offset of an instruction in bytes; None: the first of the line.
        """
        self.breakpoints.add((file, line, co_name, offset))

    def addn(self, *lines: int) -> None:
        """Stop at further lines of the file where the simulation has stopped.

        Args:
            *lines: numbers of lines.

        Raises:
            RuntimeError: no simulation has stopped.
        """
        for line in lines:
            self.add(self._frame("addn").code.co_filename, line)

    def add_event(self, event: str) -> None:
        """Stop at every event of a kind.

        Args:
            event: ``"break"``, of graphs, or ``"fallback"``, a run without a graph.

        Raises:
            ValueError: another event.
        """
        if event not in EVENTS:
            raise ValueError(f"[add_event] requires one of {', '.join(EVENTS)}, got {event!r}")
        self.events.add(event)

    def clear_event(self, event: str) -> None:
        """Stop no more at events of a kind.

        Args:
            event: as for ``add_event``.
        """
        self.events.discard(event)

    def clear(self) -> None:
        """Remove all breakpoints."""
        self.breakpoints.clear()

    def bt(self) -> None:
        """Print the simulated frames, the innermost last."""
        for frame in self.frames:
            print(frame.where())

    def dis(self) -> None:
        """Print the bytecode of the frame where the simulation has stopped, with a mark at the instruction."""
        frame = self._frame("dis")
        dis.disassemble(frame.code, frame.instruction.offset)

    def _frame(self, op_name: str) -> Frame:
        if not self.frames:
            raise RuntimeError(f"[{op_name}] requires a simulation that has stopped, got none")
        return self.frames[-1]

    def visit(self, frame: Frame) -> None:
        """Stop if there is a breakpoint at the frame's instruction."""
        instruction, code = frame.instruction, frame.code
        for file, line, name, offset in self.breakpoints:
            if line == instruction.line and code.co_filename.endswith(file) and name in (None, code.co_name):
                first = frame.current == 0 or frame.bytecode.instructions[frame.current - 1].line != line
                if instruction.offset == offset or (offset is None and first):
                    self.stop(frame.simulator.frames)

    def on_event(self, event: str, frames: list[Frame]) -> None:
        """Stop if this is asked for at such an event."""
        if event in self.events:
            self.stop(frames)

    def stop(self, frames: list[Frame]) -> None:
        """Open the debugger over the simulated frames."""
        self.frames = list(frames)
        print("simulation stopped at", describe(frames[-1].code, frames[-1].instruction.line))
        try:
            pdb.set_trace()
        finally:
            self.frames = []


BM = BreakpointManager()
constants("paddle.jit.sot", __name__, {"BM": BM})


@public("paddle.jit.sot")
def add_breakpoint(file: str, line: int, co_name: str | None = None, offset: int | None = None) -> None:
    """Stop the simulation of captured functions at a line, in the debugger.

    Args:
        file: the end of the file's path.
        line: the number of the line.
        co_name: the name of the function; None: any.
        offset: the offset of an instruction in bytes; None: the first of the line.

    Raises:
        TypeError: a file that is no str, or a line that is no int.

    Example:
        >>> import paddle
        >>> paddle.jit.sot.add_breakpoint("model.py", 12)
        >>> paddle.jit.sot.BM.clear()
    """
    if not isinstance(file, str) or not isinstance(line, int):
        raise op_error(TypeError, "add_breakpoint", "a str and an int", f"{file!r} and {line!r}")
    BM.add(file, line, co_name, offset)


@public("paddle.jit.sot")
def add_event(event: str) -> None:
    """Stop the simulation of captured functions at every event of a kind, in the debugger.

    Args:
        event: ``"break"``, of graphs, or ``"fallback"``, a run without a graph.

    Raises:
        ValueError: another event.

    Example:
        >>> import paddle
        >>> paddle.jit.sot.add_event("break")
        >>> paddle.jit.sot.BM.clear_event("break")
    """
    BM.add_event(event)
