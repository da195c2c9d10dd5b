"""Captured programs as static ones, whose operations, variables and parameters can be looked at."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from paddle.static.program import Program
from umiak.ir import program as ir
from umiak.runtime.program_tracer import ProgramTracer

if TYPE_CHECKING:
    from paddle.jit.concrete import ConcreteProgram


class CapturedProgram(Program):
    """A program that calls of a function were captured as.

    ``print`` shows it as it runs. Its inputs have the names of specs, or of the arguments that they come from, its
    results those that ``paddle.jit.save`` gives them, ``fetch_name_0`` and so on.
    """

    __slots__ = ("_feeds", "_recorded", "_shown")

    def __init__(self, program: ir.Program, feeds: Sequence[str]) -> None:
        self._random_seed = 0
        self._runs = {}
        self._shown = program
        self._feeds = feeds
        self._recorded: ProgramTracer | None = None

    @property
    def _tracer(self) -> ProgramTracer:  # type: ignore[override]
        if self._recorded is None:
            program = self._shown.copy()
            program.outputs = [x for x in program.outputs if type(x) is ir.Value]
            names = {k: self._shown.captured[k] for k in program.constants}
            self._recorded, results = ProgramTracer.over(program, self._feeds, names, draws=False)
            for name, x in self._recorded.feeds:
                x.name = name
            for i, y in enumerate(results):
                self._recorded.names.setdefault(f"fetch_name_{i}", y)
        return self._recorded

    def __str__(self) -> str:
        return repr(self._shown)

    __repr__ = __str__


class ProgramCache(Sequence):
    """The programs that a function was captured as, in order."""

    def __init__(self, concrete: Sequence[ConcreteProgram], function: Any) -> None:
        self._concrete = concrete
        self._function = function

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return [c.main_program for c in self._concrete[index]]
        return self._concrete[index].main_program

    def __len__(self) -> int:
        return len(self._concrete)

    def __iter__(self) -> Iterator[Program]:
        return (c.main_program for c in self._concrete)

    def concrete_programs(self) -> list[ConcreteProgram]:
        """Return the programs with what they take and give."""
        return list(self._concrete)

    def last(self) -> tuple[int, tuple[ConcreteProgram, Any]]:
        """Return the number of the program captured last, and the program beside the function, which runs it.

        Raises:
            IndexError: there is none yet.
        """
        if not self._concrete:
            raise IndexError("[last] requires a call of the function before, got none")
        return len(self._concrete) - 1, (self._concrete[-1], self._function)
