"""Programs of all kinds: how each is made and checked."""

from __future__ import annotations

import warnings
from collections import Counter

from tests.fuzz.programs import generate as general
from tests.fuzz.programs.check import Check
from tests.fuzz.programs.devices import DeviceCheck
from tests.fuzz.programs.language import LanguageCheck
from tests.fuzz.programs.parts import ShardedCheck
from tests.fuzz.programs.record import Program
from tests.fuzz.programs.storage import generate as narrow
from tests.fuzz.programs.storage.check import StorageCheck


class ComplexCheck(Check):
    modes = {
        "captured": 0.3,
        "captured step": 0.3,
        "captured again": 0.1,
        "twice": 0.2,
        "captured twice": 0.1,
        "recomputed": 0.15,
        "differences": 0.3,
    }


CHECKS: dict[str, type[Check]] = {
    "plain": Check,
    "complex": ComplexCheck,
    "devices": DeviceCheck,
    "sharded": ShardedCheck,
    "storage": StorageCheck,
    "language": LanguageCheck,
    "rare": Check,
    "broad": Check,
    "gradients": Check,
}
ON_DEVICES = ("devices", "storage")  # need the fake backend (tests/support/fake.py)


def generate(seed: int, kind: str = "plain") -> Program:
    """The program of a seed."""
    return narrow.generate(seed) if kind == "storage" else general.generate(seed, kind)


def check(program: Program, tally: Counter[str] | None = None, only: str | None = None) -> None:
    """Raise ``Failure`` if a mode differs from the judge. ``tally`` counts what was compared, and what was not."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        one = CHECKS[program.kind](program, Counter() if tally is None else tally)
        one.all(one.drawn_modes() if only is None else [only])
