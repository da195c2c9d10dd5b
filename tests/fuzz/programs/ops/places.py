"""Copies between two devices. Operands of a statement that are elsewhere than its first one are brought there, by
``near``, which the text of programs on devices has around them."""

from __future__ import annotations

import re
from dataclasses import replace

from tests.fuzz.programs.draw import Draw, Proposal
from tests.fuzz.programs.ops.family import Family
from tests.fuzz.programs.record import Op

PLACES = ("fake:0", "fake:1")

family = Family()
op = family.op


def there(d: Draw) -> Proposal:
    return Proposal((d.pick(floating=None if d.chance(0.2) else True),), {"place": repr(d.choose(PLACES))})


op("move", "moved({0}, {place})", "{0}.clone()", there, weight=4.0)
op("and_back", "moved(moved({0}, 'fake:1'), 'fake:0')", "{0}.clone()", there, weight=0.7)
op("by_the_host", "moved(moved({0}, 'cpu'), {place})", "{0}.clone()", there, weight=0.7)

# Drawn by no seed: what a device notices when it runs.
out_of_range = Op(
    "out_of_range", "paddle.gather({0}, near(paddle.to_tensor([0, 99]), {0}), 0)", "None", "compute", there
)


_MADE = re.compile(r"paddle\.(arange|rand|randn|to_tensor|full|zeros)\(")


def beside_operands(given: Op) -> Op:
    """What an op makes of no tensor, brought to its operand."""
    text, at = given.ours, 0
    while (found := _MADE.search(text, at)) is not None:
        depth, end = 1, found.end()
        while depth:
            depth += {"(": 1, ")": -1}.get(text[end], 0)
            end += 1
        call = f"near({text[found.start() : end]}, {{0}})"
        text = text[: found.start()] + call + text[end:]
        at = found.end() + len("near(")  # there may be others within
    return given if text == given.ours else replace(given, ours=text)
