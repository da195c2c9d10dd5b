"""Whole programs give what they give in the reference framework, which ``tests/data/programs.jsonl`` has.

``make oracle`` runs them in both; ``python -m tests.programs --record`` writes the file again.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator

import pytest

from tests.programs import record
from tests.programs.__main__ import differences, kept
from tests.support.draw import drawn_order

KEPT = kept()
SLOW = {(name, case) for name in record.names() for case in getattr(record.program(name), "SLOW", ())}
EACH = 2


def family(case: str) -> str:
    """What a case begins with: of `resnet50(...)`, `resnet`; of `mobilenet_v2(...)`, `mobilenet_v2`."""
    return re.match(r"[A-Za-z]*(?:_v\d)?", case).group()


def rows() -> Iterator:
    """Two cases of each family of a program are quick."""
    for name in record.names():
        families = defaultdict(list)
        for case in record.cases(name):
            if (name, case) not in SLOW:
                families[family(case or "")].append(case)
        quick = {c for cases in families.values() for c in drawn_order(cases, name)[:EACH]}
        for case in record.cases(name):
            slow = case not in quick
            yield pytest.param(name, case, id=f"{name}-{case}" if case else name, marks=[pytest.mark.slow] * slow)


@pytest.mark.parametrize(("name", "case"), list(rows()))
def test_a_program_gives_what_the_reference_gives(name, case, capsys):
    assert not differences(name, record.result(name, case), KEPT[name, case])


def test_differences_are_found():
    assert differences("vision_structures", {"a": [1, 2], "b": "x"}, {"a": [1, 2], "b": "x"}) == []
    assert differences("vision_structures", {"a": [1, 2]}, {"a": [1, 3]}) == ["a: [1, 2] in place of [1, 3]"]
    assert differences("vision_structures", {"a": [1.0, 2.0]}, {"a": [1.0, 2.00001]}) == []
    assert differences("vision_structures", {"a": [1.0]}, {"a": [1.0, 2.0]}) and differences(
        "vision_structures", {"a": 1.0}, {"a": 1.1}
    )
    assert differences("vision_structures", {}, {"a": 1.0})
