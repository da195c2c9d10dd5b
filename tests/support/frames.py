"""The whole state of a running Python frame, operand stack included, read out of the interpreter's memory.

CPython shows the stack to nobody. While a trace function runs, however, it lies in the frame as the next instruction
will find it. A copy of the process (``fork``) then goes on in any way that a test asks for; what the copy computes and
changes comes back as text.
"""

from __future__ import annotations

import ctypes
import os
import pickle
import sys
import traceback
from collections.abc import Callable, Iterator
from types import CellType, CodeType, FrameType
from typing import Any, NamedTuple, NoReturn

VERSION = sys.version_info[:2]

# Offsets of structures, in bytes: `PyFrameObject` (Include/cpython/frameobject.h) until 3.10, `_PyInterpreterFrame`
# (Include/internal/pycore_frame.h, pycore_interpframe_structs.h) from 3.11 on.
_INNER_FRAME = 24
_TOP, _LOCALS = {(3, 10): (80, 352), (3, 11): (64, 72), (3, 12): (64, 72), (3, 13): (64, 72), (3, 14): (64, 80)}[
    VERSION
]


class State(NamedTuple):
    """A frame before one of its instructions."""

    offset: int
    stack: tuple[bool, ...]
    """Whether each entry is a value."""
    values: list[Any]
    locals: dict[str, Any]
    """Those that are bound and no cells."""
    cells: list[CellType]
    """Of ``co_cellvars``, then of ``co_freevars``."""


def _words(address: int, count: int) -> list[Any]:
    """Objects at an address, with None in brackets round each, and None alone for NULL."""
    bits = (ctypes.c_uint64 * count).from_address(address)
    found = []
    for word in bits:
        if VERSION >= (3, 14):
            word &= ~3  # Tags of borrowed references.
        found.append([ctypes.cast(word, ctypes.py_object).value] if word else None)
    return found


def state(frame: FrameType, depth_of: Callable[[int], int]) -> State:
    """The state of a frame whose trace function runs.

    3.12 and 3.13 do not write down how deep the stack is: ``depth_of`` an offset tells it.
    """
    code = frame.f_code
    address = id(frame)
    if VERSION >= (3, 11):
        address = ctypes.c_uint64.from_address(address + _INNER_FRAME).value
    cells = code.co_cellvars + code.co_freevars
    first = address + _LOCALS
    if VERSION == (3, 10):
        fixed = len(code.co_varnames) + len(cells)
        depth = ctypes.c_int.from_address(address + _TOP).value
    else:
        fixed = len(code.co_varnames) + len(cells) - len(set(code.co_varnames) & set(code.co_cellvars))
        if VERSION >= (3, 14):
            depth = (ctypes.c_uint64.from_address(address + _TOP).value - first) // 8 - fixed
        else:
            depth = ctypes.c_int.from_address(address + _TOP).value - fixed
        if VERSION in ((3, 12), (3, 13)):
            depth = depth_of(frame.f_lasti)
    slots = _words(first, fixed)
    entries = _words(first + 8 * fixed, depth)
    named = dict(zip(code.co_varnames, slots))
    if VERSION == (3, 10):
        found = slots[len(code.co_varnames) :]
    else:
        unshared = [name for name in code.co_cellvars if name not in named]
        places = len(code.co_varnames) + len(unshared)
        others = dict(zip(unshared, slots[len(code.co_varnames) :]))
        found = [named[n] if n in named else others[n] for n in code.co_cellvars] + slots[places:]
    return State(
        frame.f_lasti,
        tuple(entry is not None for entry in entries),
        [entry[0] for entry in entries if entry is not None],
        {n: slot[0] for n, slot in named.items() if slot is not None and n not in code.co_cellvars},
        [cell[0] for cell in found if cell is not None],
    )


class Outcome(NamedTuple):
    """What a call came to, as text."""

    result: str
    lines: tuple[tuple[str, int | None], ...]
    """Of an exception: functions and lines of its traceback."""
    log: str


def outcome(call: Callable[[], Any], log: list[Any], filename: str, skipped: frozenset[str]) -> Outcome:
    """Call a function and describe what came of it; functions whose names are ``skipped`` do not count as lines."""
    try:
        result, lines = f"returned {call()!r}", ()
    except Exception as error:
        result = " from ".join(f"{type(e).__name__}({e})" for e in _chain(error))
        frames = traceback.extract_tb(error.__traceback__)
        found = [(f.name, f.lineno) for f in frames if f.filename == filename and f.name not in skipped]
        # Until 3.10 a frame stands twice in the traceback of what its trace function raised.
        lines = tuple(line for line, before in zip(found, [None, *found]) if line != before)
    return Outcome(result, lines, repr(log))


def _chain(error: BaseException | None) -> Iterator[BaseException]:
    while error is not None:
        yield error
        error = error.__context__


class Copy:
    """A copy of the process, which sends one value and ends. ``inside`` is true in the copy."""

    def __init__(self) -> None:
        self._read, self._write = os.pipe()
        self._pid = os.fork()
        self.inside = self._pid == 0

    def send(self, action: Callable[[], Any]) -> NoReturn:
        """From inside: send what the action returns, and end."""
        status = 1
        try:
            with os.fdopen(self._write, "wb") as end:
                pickle.dump(action(), end)
            status = 0
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(status)

    def receive(self) -> Any:
        """From outside: what the copy sends."""
        os.close(self._write)
        with os.fdopen(self._read, "rb") as end:
            data = end.read()
        _, status = os.waitpid(self._pid, 0)
        if status:
            raise RuntimeError(f"the copy of the process ended with status {status}")
        return pickle.loads(data)


def trace_instructions(code: CodeType, visit: Callable[[FrameType], None]) -> Callable[..., Any]:
    """A trace function that shows the outermost frame of a code object before each of its instructions."""
    # From 3.12 on `settrace` counts instructions only if some frame has asked for that before.
    sys._getframe().f_trace_opcodes = True
    outermost: list[FrameType] = []

    def inside(frame: FrameType, event: str, arg: Any) -> Any:
        if event == "opcode":
            visit(frame)
        return inside

    def entered(frame: FrameType, event: str, arg: Any) -> Any:
        if frame.f_code is not code or outermost:
            return None
        outermost.append(frame)
        frame.f_trace_lines = False
        frame.f_trace_opcodes = True
        frame.f_trace = inside  # Only now 3.13 heeds the line above.
        return inside

    return entered
