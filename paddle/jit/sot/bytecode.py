"""Code objects as lists of instructions, for all supported versions of CPython."""

from __future__ import annotations

import dis
import sys
from dataclasses import dataclass
from functools import lru_cache
from types import CodeType
from typing import Any, NamedTuple

VERSION = sys.version_info[:2]
JUMPS = frozenset(dis.opname[i] for i in (*dis.hasjrel, *dis.hasjabs))


@dataclass(frozen=True)
class Instruction:
    """One instruction. ``target``: the index of the instruction that it may jump to."""

    opname: str
    arg: int
    argval: Any
    offset: int
    line: int
    target: int


class Handler(NamedTuple):
    """The handler of exceptions in a range of offsets: where it is, how much of the stack is left, and whether the
    offset of the instruction is pushed."""

    start: int
    end: int
    target: int
    depth: int
    lasti: bool


@dataclass(frozen=True)
class Bytecode:
    """The instructions of a code object, the index of each offset, and the table of handlers."""

    instructions: tuple[Instruction, ...]
    index: dict[int, int]
    handlers: tuple[Handler, ...]

    def handler(self, offset: int) -> Handler | None:
        """Return the innermost handler of an exception at an offset."""
        return next((h for h in reversed(self.handlers) if h.start <= offset < h.end), None)


@lru_cache(maxsize=4096)
def decode(code: CodeType) -> Bytecode:
    """Return the instructions of a code object."""
    raw: list[dis.Instruction] = []
    # A jump may lead to the EXTENDED_ARG in front of an instruction.
    index: dict[int, int] = {}
    pending: list[int] = []
    for i in dis.get_instructions(code):
        if i.opname == "CACHE":
            continue
        pending.append(i.offset)
        if i.opname != "EXTENDED_ARG":
            index.update(dict.fromkeys(pending, len(raw)))
            pending.clear()
            raw.append(i)
    line = code.co_firstlineno
    out = []
    for i in raw:
        starts = i.line_number if VERSION >= (3, 13) else i.starts_line
        if starts is not None and starts is not False:
            line = starts
        target = index[i.argval] if i.opname in JUMPS else -1
        out.append(Instruction(i.opname, i.arg or 0, i.argval, i.offset, line, target))
    handlers: tuple[Handler, ...] = ()
    if VERSION >= (3, 11):
        handlers = tuple(
            Handler(e.start, e.end, index[e.target], e.depth, e.lasti) for e in dis._parse_exception_table(code)
        )
    return Bytecode(tuple(out), index, handlers)


def describe(code: CodeType, line: int) -> str:
    """Return where an instruction is in the user's files."""
    return f"{code.co_filename}:{line} in {code.co_name}"
