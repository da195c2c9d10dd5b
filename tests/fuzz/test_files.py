"""Damaged files of every format: what is read is what was written, or a ValueError; in bounded time and memory."""

import pytest

from tests.fuzz.files.__main__ import NAMES
from tests.fuzz.files.check import check
from tests.support.native_libraries import CC

QUICK, ALL, CHUNK = 40, 50_000, 5_000


def judge(name: str, first: int, last: int) -> None:
    if name.startswith("compiled") and CC is None:
        pytest.skip("needs a C compiler")
    found = check(name, first, last)
    assert not found.failures, "\n".join(f"{name}, seed {seed}: {why}" for seed, why in found.failures.items())
    assert found.counts.total() == last - first
    assert found.counts["refused"] > 0


@pytest.mark.parametrize("name", NAMES)
def test_a_sample(name):
    judge(name, 0, QUICK)


@pytest.mark.slow
@pytest.mark.parametrize("first", range(QUICK, ALL, CHUNK))
@pytest.mark.parametrize("name", NAMES)
def test_all(name, first):
    judge(name, first, min(first + CHUNK, ALL))


def test_the_formats_are_these():
    from tests.fuzz.files import formats

    assert tuple(formats.FORMATS) == NAMES
