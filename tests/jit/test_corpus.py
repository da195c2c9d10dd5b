"""Captured programs do what they do eagerly; ``python -m tests.jit.corpus`` runs them by hand."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.jit.corpus.check import check
from tests.jit.corpus.registry import MODES, Program, load
from tests.jit.corpus.run import Mode, run
from tests.support.draw import drawn_order

PROGRAMS = load()


def repeated() -> set[str]:
    """Of each subject the first program and every fourth, as they are drawn: their eager runs are made again."""
    subjects: dict[str, list[str]] = {}
    for name, program in PROGRAMS.items():
        subjects.setdefault(program.subject, []).append(name)
    return {name for names in subjects.values() for name in drawn_order(names)[::4]}


REPEATED = repeated()


def quick_modes(program: Program) -> set[str]:
    """Modes of which the program says something, and one of the others, that its name draws; of some eager mode, too,
    which in all is run to see what the others must do."""
    declared = {*program.refused, *program.allowed, *program.differs}
    plain = [mode for mode in MODES if mode != "eager" and mode not in declared]
    return {*["eager"] * (program.name in REPEATED), *declared, *drawn_order(plain, program.name)[:1]}


def items() -> Iterator:
    for name, program in PROGRAMS.items():
        quick = quick_modes(program)
        for label, modes, marks in (
            ("", [m for m in MODES if m in quick], [pytest.mark.slow] * program.slow),
            ("-rest", [m for m in MODES if m not in quick], [pytest.mark.slow]),
        ):
            if modes:
                yield pytest.param(name, modes, id=f"{program.subject}-{name}{label}", marks=marks)


@pytest.mark.parametrize(("name", "modes"), list(items()))
def test_a_program_does_what_it_does_eagerly(name, modes):
    program = PROGRAMS[name]
    wanted = run(program, Mode("eager"))
    lines = [f"{mode}: {line}" for mode in modes for line in check(program, mode, limit=600.0, wanted=wanted).lines]
    assert not lines, "\n".join(lines)


def test_every_subject_has_programs_in_every_mode():
    quick = {(program.subject, mode) for program in PROGRAMS.values() for mode in quick_modes(program)}
    assert quick == {(program.subject, mode) for program in PROGRAMS.values() for mode in MODES}
