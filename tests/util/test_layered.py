"""Layers: edges go down, nothing overlaps, long edges pass between boxes."""

from __future__ import annotations

import random

import pytest

from umiak.util.layered import Node, layout


def graph(seed, count=30):
    draw = random.Random(seed)
    nodes = [Node(draw.uniform(10, 120), draw.uniform(10, 60)) for _ in range(count)]
    edges = [(draw.randrange(i), i) for i in range(1, count) for _ in range(draw.choice([0, 1, 1, 2]))]
    return nodes, edges


@pytest.mark.parametrize("seed", range(8))
def test_properties(seed):
    nodes, edges = graph(seed)
    laid_out = layout(nodes, edges, gap=5, space=20)
    for i, a in enumerate(nodes):
        assert a.x >= -1e-6
        assert a.x + a.width <= laid_out.width + 1e-6
        assert 0 <= a.y
        assert a.y + a.height <= laid_out.height + 1e-6
        for b in nodes[i + 1 :]:
            beside = a.x + a.width + 5 <= b.x + 1e-6 or b.x + b.width + 5 <= a.x + 1e-6
            assert beside or a.y + a.height + 19 < b.y or b.y + b.height + 19 < a.y
    for (s, t), route in zip(edges, laid_out.routes, strict=True):
        assert nodes[s].y + nodes[s].height < nodes[t].y
        passed = route[1:]  # behind where the layer of the source ends
        assert len(passed) == 2 * (nodes[t].layer - nodes[s].layer - 1)
        for x, y in passed:
            assert not any(n.x < x < n.x + n.width and n.y < y < n.y + n.height for n in nodes)


def test_deterministic():
    def places():
        nodes, edges = graph(3)
        layout(nodes, edges)
        return [(n.x, n.y) for n in nodes]

    assert places() == places()


def test_late_nodes_stand_above_their_first_reader():
    nodes = [Node(10, 10, late=True), Node(10, 10), Node(10, 10), Node(10, 10)]
    layout(nodes, [(1, 2), (2, 3), (0, 3)])
    assert [n.layer for n in nodes] == [1, 0, 1, 2]


def test_a_chain_is_straight():
    nodes = [Node(10 + 7 * i, 10) for i in range(5)]
    layout(nodes, [(i, i + 1) for i in range(4)])
    assert len({round(n.x + n.width / 2, 6) for n in nodes}) == 1


def test_crossings_are_avoided():
    nodes = [Node(10, 10) for _ in range(6)]
    layout(nodes, [(0, 5), (1, 4), (2, 3)])
    above, below = [n.x for n in nodes[:3]], [n.x for n in nodes[3:]]
    order = sorted(range(3), key=lambda i: above[i])
    assert order == sorted(range(3), key=lambda i: below[2 - i])


def test_nothing():
    assert layout([], []).height == 0
