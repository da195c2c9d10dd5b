"""Call programs as Python sees them, for backends that record and replay them."""

from collections.abc import Callable
from typing import Any, TypeAlias

from umiak.core.call_program import CallProgram

After: TypeAlias = Callable[[int, tuple, tuple, tuple, bool], object]

def registers_read(program: CallProgram) -> list[tuple[int, ...]]:
    """For each step the registers of its numbers: those among its operands, then its params, a word each."""

def registers(program: CallProgram, words: list) -> list[int]:
    """All registers of a run with these numbers, as signed words."""

def run(program: CallProgram, inputs: list[Any], words: list, donation: bytes | None, after: After) -> list[Any]:
    """``CallProgram.run``, where ``after(i, operands, params, results, into)`` is called behind every step: ``into``
    tells that the results were there before. What it raises ends the run."""
