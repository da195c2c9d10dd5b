"""Copies between two devices. Operands of a statement that are elsewhere than its first one are brought there, by
``near``, which the text of programs on devices has around them."""

from __future__ import annotations

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


def beside_operands(given: Op) -> Op:
    """What an op makes of no tensor, brought to its operand."""
    for made in ("paddle.arange(", "paddle.rand(", "paddle.randn("):
        if made in given.ours:
            head, tail = given.ours.split(made)
            depth, end = 1, 0
            while depth:
                depth += {"(": 1, ")": -1}.get(tail[end], 0)
                end += 1
            return replace(given, ours=f"{head}near({made}{tail[:end]}, {{0}}){tail[end:]}")
    return given
