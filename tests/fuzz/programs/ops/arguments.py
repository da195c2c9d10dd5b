"""Calls with many arguments: which are given is drawn, and either side gets them by the same names."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tests.fuzz.programs.draw import Draw, Proposal


class Arguments:
    """Operands of a call so far, and the text of its arguments, ``{more}`` of a statement, with a comma behind each."""

    def __init__(self, d: Draw, *operands: str) -> None:
        self.draw = d
        self.operands = list(operands)
        self.dtype = d.dtypes[operands[0]]
        self.texts: list[str] = []

    def put(self, name: str) -> str:
        """Another operand; its place in the text."""
        self.operands.append(name)
        return f"{{{len(self.operands) - 1}}}"

    def input(self, shape: Sequence[int | str], dtype: str | None = None, **words: Any) -> str:
        """A new input of the first operand's dtype; its place in the text."""
        return self.put(self.draw.input(shape, dtype or self.dtype, **words))

    def give(
        self, name: str, shape: Sequence[int | str], chance: float = 1.0, dtype: str | None = None, **words: Any
    ) -> bool:
        """A new input by a name, in a part of the calls; whether it is given."""
        given = self.draw.chance(chance)
        if given:
            self.texts.append(f"{name}={self.input(shape, dtype, **words)}")
        return given

    def give_each(self, name: str, shapes: Sequence[Sequence[int | str]], chance: float = 1.0) -> bool:
        """A list of new inputs by a name; None where it is not given."""
        given = self.draw.chance(chance)
        each = ", ".join(self.input(shape) for shape in shapes) if given else ""
        self.texts.append(f"{name}=[{each}]" if given else f"{name}=None")
        return given

    def say(self, **words: Any) -> None:
        self.texts += [f"{name}={value!r}" for name, value in words.items()]

    def proposal(self, **attributes: Any) -> Proposal:
        return Proposal(tuple(self.operands), {"more": "".join(f"{x}, " for x in self.texts), **attributes})


def tokens_of(d: Draw, *widths: int) -> str:
    """A value ``[batch, tokens, width]`` of any of these widths, or a new one."""

    def fits(x: str) -> bool:
        return len(d.shape(x)) == 3 and not d.varying(x, 2) and d.shape(x)[2] in widths

    found = [x for x in d.names() if fits(x)]
    if found and d.chance(0.7):
        return d.choose(found)
    return d.input([d.choose((1, 1, 2)), d.choose((3, "n")), d.choose(widths)])


def heads_of(d: Draw) -> str:
    """A value ``[batch, tokens, heads, dim]``, or a new one."""
    found = [x for x in d.names() if len(d.shape(x)) == 4 and not d.varying(x, 2) and not d.varying(x, 3)]
    found = [x for x in found if 0 < d.shape(x)[2] < 5 and d.shape(x)[3] > 0]
    if found and d.chance(0.6):
        return d.choose(found)
    return d.input([d.choose((1, 1, 2)), d.choose((3, "n", "n")), d.choose((1, 2, 4)), d.choose((1, 2, 4))])


def split(d: Draw, n: int) -> int:
    """A divisor of a number."""
    return d.choose([i for i in range(1, n + 1) if n % i == 0])


def fixed(d: Draw, x: str, *axes: int) -> bool:
    """Whether sizes are those of every run."""
    return not any(d.varying(x, a) for a in axes)
