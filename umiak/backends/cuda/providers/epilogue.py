"""Epilogues of matmuls: that which a library may do with a product in the same launch."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from umiak.core.buffer import Buffer


class Epilogue(NamedTuple):
    """The work on a product before it is rounded: ``added`` and ``bias`` are added, then comes the activation.

    ``bias``: numbers of columns. ``added``: dense, like the result. ``activation``: "relu", "gelu_tanh" or nothing.
    ``mask``, behind relu: written, tells in bits which elements are above 0, to this library alone; ``gate`` is such a
    mask, and elements without their bit become 0. ``sums`` gets sums of ``summed``: "left" or "right" operands over the
    contracted dim, or of the "result" over its rows.
    """

    bias: Buffer | None = None
    added: Buffer | None = None
    activation: str = ""
    mask: Buffer | None = None
    gate: Buffer | None = None
    sums: Buffer | None = None
    summed: str = ""

    @property
    def buffers(self) -> list[Buffer]:
        """The memory that it reads or writes."""
        return [x for x in self if isinstance(x, Buffer)]


PLAIN = Epilogue()


class Scales(NamedTuple):
    """Scales of a left and a right operand of 8 bits, float32, and the numbers that share one: a "tensor"; with
    "vector", a row of the left and a column of the right one; or 128 along the contracted dim, of one row or column in
    "strips", of 128 in "squares". Scales of strips lie along rows or columns, those of squares along the contracted
    dim, in lines of a multiple of four."""

    left: Buffer
    right: Buffer
    of_left: str
    of_right: str


# Steps behind a matmul (umiak.compiler.epilogue) that a library does: its gelu is the one by tanh.
_STEPS = re.compile(r"(,bias)?(,add)?(?:,(relu|gelu_tanh))?")


def says(steps: Sequence[object]) -> bool:
    """Return whether a library can do the steps behind a matmul in its launch."""
    return _STEPS.fullmatch(_names(steps)) is not None


def epilogue_of(steps: Sequence[object], extras: Sequence[Buffer], mask: Buffer | None = None) -> Epilogue:
    """The steps behind a matmul, of which :func:`says` is true; ``extras``: the operands of "bias" and "add"."""
    match = _STEPS.fullmatch(_names(steps))
    assert match is not None, steps
    given = iter(extras)
    bias, added = (next(given) if match[i] else None for i in (1, 2))
    return Epilogue(bias, added, match[3] or "", mask)


def _names(steps: Sequence[object]) -> str:
    return "".join(f",{step}" for step in steps)
