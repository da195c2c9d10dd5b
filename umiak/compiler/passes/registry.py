"""Passes by name. A pass is a function of a program, which it changes in place.

Outputs and the values of final writes stay: whoever has them finds the same value after every pass. A pass that lets
values give way to others returns what stands for them, by id.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, NamedTuple

Run = Callable[..., "dict[int, Any] | None"]


class Pass(NamedTuple):
    """``run(program, **options)``; options have defaults."""

    name: str
    run: Run

    @property
    def options(self) -> tuple[str, ...]:
        """The names of what a pass may be told."""
        return tuple(inspect.signature(self.run).parameters)[1:]

    @property
    def summary(self) -> str:
        """The first sentence of the function's docstring."""
        return (inspect.getdoc(self.run) or "").split("\n\n")[0].replace("\n", " ")


PASSES: dict[str, Pass] = {}


def register_pass(name: str) -> Callable[[Run], Run]:
    """Decorator: enter a pass under a name."""

    def enter(run: Run) -> Run:
        if name in PASSES:
            raise ValueError(f"pass {name!r} is registered twice: {PASSES[name].run} and {run}")
        PASSES[name] = Pass(name, run)
        return run

    return enter
