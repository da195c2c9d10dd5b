"""``paddle.Model`` and its callbacks do what the reference's are seen to do: ``tests/support/model_facts.py``."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import paddle
from tests.support import model_facts
from tests.support.recorded import agree

FACTS = json.loads((Path(__file__).parents[1] / "data" / "model.json").read_text())

pytestmark = pytest.mark.filterwarnings("ignore:.*It does nothing:UserWarning")


# Errors of the reference for what it does not expect: ours say what they are.
UNEXPECTED = {"AssertionError", "AttributeError", "ZeroDivisionError", "UnboundLocalError"}


def differences(found, expected, path=""):
    """Paths at which results differ, each with both."""
    if isinstance(expected, dict) and expected.get("raises") in UNEXPECTED and "raises" in found:
        return []
    if isinstance(expected, dict) and isinstance(found, dict) and found.keys() == expected.keys():
        return [d for k in expected for d in differences(found[k], expected[k], f"{path}.{k}")]
    if isinstance(expected, list) and isinstance(found, list) and len(found) == len(expected):
        return [d for i, (f, e) in enumerate(zip(found, expected)) for d in differences(f, e, f"{path}[{i}]")]
    return [] if agree(found, expected) else [f"{path}: {found} instead of {expected}"]


@pytest.mark.parametrize("name", model_facts.PROGRAMS)
def test_as_the_reference(name):
    paddle.seed(1)
    np.random.seed(1)
    found = json.loads(json.dumps(model_facts.PROGRAMS[name]()))
    assert not differences(found, FACTS[name])
