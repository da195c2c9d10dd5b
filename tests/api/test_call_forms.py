"""Every keyword, order and further argument that the reference takes gives here what the plain call gives.

`python -m tests.oracle.forms` records them.
"""

from __future__ import annotations

import re
from collections import defaultdict

import pytest

from tests.oracle.worker import outcome
from tests.support import call_forms

GROUPS = defaultdict(list)
for _target in call_forms.read():
    _module, _, _name = _target.path.rpartition(".")
    GROUPS[f"{_module}.{_name[:2].lower()}"].append(_target)


# Keywords of former versions of PyTorch, which the reference refuses, too, unless ``reduction`` is given by position.
REFUSED = {"size_average=None", "reduce=None"}


@pytest.mark.parametrize("group", sorted(GROUPS))
def test_forms(group):
    wrong = []
    for target in GROUPS[group]:
        call = target.call
        expected = outcome(call, call)
        if expected[0] not in "[{":
            wrong.append(f"{call}: {expected}")
        target.further = [extra for extra in target.further if extra not in REFUSED]
        for form in target.forms():
            got = outcome(call, form)
            if got != expected:
                wrong.append(f"{target.path}: {form}\n    {got[:200]}")
    assert not wrong, "\n".join(wrong)


def test_there_are_keywords_orders_and_further_arguments():
    targets = [target for group in GROUPS.values() for target in group]
    assert len({target.path for target in targets}) > 1000
    assert sum(len(target.keywords) for target in targets) > 500
    assert sum(len(target.orders) for target in targets) > 10
    assert all(re.fullmatch(r"\w+=.+", extra) for target in targets for extra in target.further)
