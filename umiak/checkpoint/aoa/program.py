"""Steps over variables.

Each assignment to a name makes a new variable, as in SSA form. That makes reversal exact: run backwards, the outputs
of a step become its inputs and its inputs its outputs. A variable whose name was assigned again is known as lost; it is
not mistaken for the later variable of that name.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

from umiak.checkpoint.aoa.errors import AOAError
from umiak.checkpoint.aoa.expand import Step


class Program:
    """Steps, and the input and output variables of each in the direction of running; ``None`` stands for ``_``.

    Attributes:
        names: the name of each variable; variables are numbers.
        initial: by name, the variable before the first statement, as the text is read.
        final: by name, the variable after the last statement.
        entry, exit: the same in the direction of running: where sources come in, and what names stand for in the end.
    """

    def __init__(self, steps: Sequence[Step], reverse: bool) -> None:
        self.steps = steps
        self.reverse = reverse
        self.names: list[str] = []
        self.initial: dict[str, int] = {}
        self.final: dict[str, int] = {}
        sides = []
        for step in steps:
            if len(set(step.right)) < len(step.right):
                raise AOAError(f"a statement assigns a name once, got {', '.join(step.right)}", step.chain)
            left = tuple(self._read(name) for name in step.left)
            sides.append((left, tuple(self._assign(name) for name in step.right)))
        self.inputs = [side[self.reverse] for side in sides]
        self.outputs = [side[not self.reverse] for side in sides]
        self.entry, self.exit = (self.final, self.initial) if self.reverse else (self.initial, self.final)

    def _read(self, name: str) -> int | None:
        if name == "_":
            return None
        if name not in self.final:
            self.initial[name] = self.final[name] = len(self.names)
            self.names.append(name)
        return self.final[name]

    def _assign(self, name: str) -> int | None:
        if name == "_":
            return None
        self.final[name] = len(self.names)
        self.names.append(name)
        return self.final[name]

    @property
    def order(self) -> Sequence[int]:
        """The steps in the order in which they run."""
        return range(len(self.steps) - 1, -1, -1) if self.reverse else range(len(self.steps))

    @cached_property
    def consumers(self) -> dict[int, list[int]]:
        """The steps that have each variable as an input, in the order in which they run."""
        out: dict[int, list[int]] = {}
        for i in self.order:
            for v in self.inputs[i]:
                if v is not None:
                    out.setdefault(v, []).append(i)
        return out
