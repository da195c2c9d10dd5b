"""Captured programs do what they do eagerly; ``python -m tests.jit.corpus`` runs them by hand."""

from __future__ import annotations

import pytest

from tests.jit.corpus.check import check
from tests.jit.corpus.registry import MODES, load

PROGRAMS = load()


@pytest.mark.parametrize(
    ("name", "mode"),
    [
        pytest.param(name, mode, id=f"{p.subject}-{name}-{mode}", marks=[pytest.mark.slow] * p.slow)
        for name, p in PROGRAMS.items()
        for mode in MODES
    ],
)
def test_a_program_does_what_it_does_eagerly(name, mode):
    verdict = check(PROGRAMS[name], mode)
    assert verdict.passed, "\n".join(verdict.lines)
