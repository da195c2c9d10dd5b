"""Minimum cuts against all cuts of small networks."""

from __future__ import annotations

import itertools
import random

import pytest

from umiak.util.min_cut import INFINITE, min_cut


def cost(edges, side):
    return sum(c for a, b, c in edges if a in side and b not in side)


@pytest.mark.parametrize("seed", range(20))
def test_cheapest_of_all(seed):
    draw = random.Random(seed)
    count = 7
    edges = [
        (a, b, float(draw.randrange(1, 10)))
        for a in range(count)
        for b in range(count)
        if a != b and draw.random() < 0.4
    ]
    side = min_cut(count, edges, 0, 1)
    assert 0 in side
    assert 1 not in side
    inner = range(2, count)
    every = [{0, *some} for n in range(len(inner) + 1) for some in itertools.combinations(inner, n)]
    cheapest = min(cost(edges, s) for s in every)
    assert cost(edges, side) == cheapest
    assert all(side >= s for s in every if cost(edges, s) == cheapest), "the largest of the cheapest"


def test_no_cut():
    with pytest.raises(ValueError, match="infinite capacity"):
        min_cut(3, [(0, 2, INFINITE), (2, 1, INFINITE)], 0, 1)


def test_nothing_flows():
    assert min_cut(4, [(0, 2, 3.0), (3, 1, INFINITE)], 0, 1) == {0, 2}, "3 leads to the sink"
