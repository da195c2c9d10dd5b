"""Checks of operands are not lost: wrong calls are refused as recorded."""

from __future__ import annotations

import pytest

import refusals

RECORDED = refusals.recorded()


@pytest.mark.parametrize("name", refusals.ops())
def test_refusals_are_as_recorded(name: str) -> None:
    found, expected = refusals.answers(name), RECORDED.get(name, "")
    assert found == expected, (
        f"of {len(expected)} wrong calls {expected.count('.')} were taken, now {found.count('.')} of {len(found)}; if "
        "that is meant, or samples have changed, run `python tools/refusals.py`"
    )


def test_every_row_is_an_op() -> None:
    assert set(RECORDED) ^ set(refusals.ops()) == set()
    assert sum(row.count("R") for row in RECORDED.values()) > 3000
