"""Calls whose results the reference gave (``tests/data/sparse_calls.jsonl``)."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import paddle
from tests.support import sparse_facts

DATA = Path(__file__).parents[1] / "data" / "sparse_calls.jsonl"
FACTS = [json.loads(line) for line in DATA.read_text().splitlines()]


def test_every_recorded_call_is_one_of_the_list():
    assert len(FACTS) > 200 and {fact["call"] for fact in FACTS} <= set(sparse_facts.calls())


@pytest.mark.parametrize("fact", FACTS, ids=lambda fact: fact["call"].replace(" ", ""))
def test_calls(fact):
    got = sparse_facts.shown(eval(fact["call"], sparse_facts.names(paddle)))
    agree(got, fact["result"])


def agree(got, want):
    if isinstance(want, list):
        assert len(got) == len(want)
        for g, w in zip(got, want):
            agree(g, w)
    elif isinstance(want, dict):
        assert {k: v for k, v in got.items() if k != "values"} == {k: v for k, v in want.items() if k != "values"}
        np.testing.assert_allclose(np.array(got["values"]), np.array(want["values"]), rtol=1e-5, atol=1e-5)
    else:
        assert got == want
