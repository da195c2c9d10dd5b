"""Positions of a directed graph without cycles in layers, from above to below.

The steps of Sugiyama, Tagawa and Toda (Methods for Visual Understanding of Hierarchical System Structures, 1981):
layers by the longest path, points where long edges pass the layers between, an order within layers with few crossings,
then places. Places are those next to the mean of a node's neighbours that keep order and distance, which is an isotonic
regression. Everything is deterministic.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

SWEEPS = 8
PASSING = 10.0  # the width that an edge gets in a layer it passes
STRAIGHT = 6.0  # how much more than a box it keeps its place, so that long edges are straight


@dataclass
class Node:
    """``width`` and ``height`` are given; ``x`` and ``y``, of the upper left corner, are found. A ``late`` node stands
    right above what it leads to."""

    width: float
    height: float
    late: bool = False
    x: float = 0.0
    y: float = 0.0
    layer: int = 0


@dataclass
class _Place:
    """A place in a layer: of a node, or where edges of one source pass."""

    width: float
    node: Node | None
    above: list[_Place] = field(default_factory=list)
    below: list[_Place] = field(default_factory=list)
    order: int = 0
    centre: float = 0.0


@dataclass(frozen=True)
class Layout:
    """``routes``: for each edge the points at which it passes the layers between its ends; the size of all."""

    routes: list[list[tuple[float, float]]]
    width: float
    height: float


def layout(nodes: Sequence[Node], edges: Sequence[tuple[int, int]], gap: float = 18.0, space: float = 34.0) -> Layout:
    """Place nodes; edges are pairs of their numbers, and lead from lower to higher layers.

    Nodes stand ``gap`` apart, layers ``space``. Nodes come in an order in which edges lead forward.
    """
    _assign(nodes, edges)
    layers, passing = _places(nodes, edges)
    _order(layers)
    _place(layers, gap)
    left = min((p.centre - p.width / 2 for layer in layers for p in layer), default=0.0)
    tops, y = [], 0.0
    for layer in layers:
        tops.append(y)
        y += max((p.node.height for p in layer if p.node is not None), default=0.0) + space
    bottoms = [
        top + max((p.node.height for p in layer if p.node is not None), default=0.0)
        for top, layer in zip(tops, layers, strict=True)
    ]
    for layer, top in zip(layers, tops, strict=True):
        for p in layer:
            p.centre -= left
            if p.node is not None:
                p.node.x, p.node.y = p.centre - p.width / 2, top
    routes = []
    for source, target in edges:
        points = []
        for between in range(nodes[source].layer + 1, nodes[target].layer):
            x = passing[source, between].centre
            points += [(x, tops[between]), (x, bottoms[between])]
        routes.append([(nodes[source].x, bottoms[nodes[source].layer]), *points])
    width = max((p.centre + p.width / 2 for layer in layers for p in layer), default=0.0)
    return Layout(routes, width, max(y - space, 0.0))


def _assign(nodes: Sequence[Node], edges: Sequence[tuple[int, int]]) -> None:
    """Layers by the longest path from above; late nodes go down to their first reader."""
    readers: dict[int, list[int]] = {}
    sources: dict[int, list[int]] = {}
    for source, target in edges:
        readers.setdefault(source, []).append(target)
        sources.setdefault(target, []).append(source)
    for i, node in enumerate(nodes):
        node.layer = max((nodes[s].layer + 1 for s in sources.get(i, ())), default=0)
    for i in reversed(range(len(nodes))):
        if nodes[i].late and i in readers:
            nodes[i].layer = min(nodes[r].layer for r in readers[i]) - 1


def _places(
    nodes: Sequence[Node], edges: Sequence[tuple[int, int]]
) -> tuple[list[list[_Place]], dict[tuple[int, int], _Place]]:
    """Layers of places; and where the edges of a source pass a layer, together."""
    layers: list[list[_Place]] = [[] for _ in range(max((n.layer for n in nodes), default=-1) + 1)]
    place = [_Place(n.width, n) for n in nodes]
    for node, p in zip(nodes, place, strict=True):
        layers[node.layer].append(p)
    passing: dict[tuple[int, int], _Place] = {}
    for source, target in edges:
        last = place[source]
        for between in range(nodes[source].layer + 1, nodes[target].layer):
            if (source, between) not in passing:
                p = passing[source, between] = _Place(PASSING, None)
                layers[between].append(p)
                last.below.append(p)
                p.above.append(last)
            last = passing[source, between]
        last.below.append(place[target])
        place[target].above.append(last)
    return layers, passing


def _order(layers: list[list[_Place]]) -> None:
    """An order within layers by the mean of neighbours, down and up in turns; the one with fewest crossings stays."""
    for layer in layers:
        for i, p in enumerate(layer):
            p.order = i
    best = [list(layer) for layer in layers]
    fewest = sum(map(_crossings, layers))
    for sweep in range(SWEEPS):
        down = sweep % 2 == 0
        for layer in layers if down else reversed(layers):
            keys = {}
            for p in layer:
                near = p.above if down else p.below
                mean = sum(q.order for q in near) / len(near) if near else p.order
                keys[id(p)] = mean, p.order
            layer.sort(key=lambda p: keys[id(p)])
            for i, p in enumerate(layer):
                p.order = i
        count = sum(map(_crossings, layers))
        if count < fewest:
            fewest, best = count, [list(layer) for layer in layers]
    for layer, kept in zip(layers, best, strict=True):
        layer[:] = kept
        for i, p in enumerate(layer):
            p.order = i


def _crossings(layer: Sequence[_Place]) -> int:
    """The number of pairs of edges from above into a layer that cross."""
    ends = [q.order for p in layer for q in sorted(p.above, key=lambda q: q.order)]
    return sum(a > b for i, a in enumerate(ends) for b in ends[i + 1 :])


def _place(layers: list[list[_Place]], gap: float) -> None:
    """Centres: as near to the mean of the neighbours as order and distance allow."""
    for layer in layers:
        _apart(layer, [0.0] * len(layer), gap)
    for sweep in range(2 * SWEEPS):
        down = sweep % 2 == 0
        for layer in layers if down else reversed(layers):
            wanted = []
            for p in layer:
                near = (p.above if down else p.below) or (p.below if down else p.above)
                wanted.append(sum(q.centre for q in near) / len(near) if near else p.centre)
            _apart(layer, wanted, gap)


def _apart(layer: Sequence[_Place], wanted: Sequence[float], gap: float) -> None:
    """The centres nearest to the wanted ones that keep the order, ``gap`` apart: neighbours that would come too near
    are put together in blocks at the mean (pool adjacent violators)."""
    offsets, at = [], 0.0
    for i, p in enumerate(layer):
        if i:
            at += (layer[i - 1].width + p.width) / 2 + gap
        offsets.append(at)
    blocks: list[tuple[float, float, int]] = []  # mean, weight and count
    for p, target, offset in zip(layer, wanted, offsets, strict=True):
        mean, weight, count = target - offset, 1.0 if p.node is not None else STRAIGHT, 1
        while blocks and blocks[-1][0] > mean:
            before, heavy, many = blocks.pop()
            mean = (mean * weight + before * heavy) / (weight + heavy)
            weight, count = weight + heavy, count + many
        blocks.append((mean, weight, count))
    spread = iter([mean for mean, _, count in blocks for _ in range(count)])
    for p, offset in zip(layer, offsets, strict=True):
        p.centre = next(spread) + offset
