"""Operators that few models have give what PaddlePaddle 2.6 computes."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.older_models import Recorded

RECORDED = Recorded("rare_programs")

_UNREAD = "hashed"  # nothing reads the offsets of its inputs, so results have none


@pytest.mark.parametrize("name", RECORDED.names)
def test_a_program(tmp_path: Path, name: str) -> None:
    made = RECORDED.predictor(tmp_path, name)
    for _ in range(2):
        made.run()
        RECORDED.check(name, made, frozenset(range(4)) if name == _UNREAD else frozenset())
