"""The cheapest edges whose removal parts a source from a sink (Dinic, Algorithm for Solution of a Problem of Maximum
Flow in a Network with Power Estimation, 1970)."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable

INFINITE = float("inf")


class Network:
    """Nodes are numbers below ``count``; ``edge`` adds one with a capacity."""

    def __init__(self, count: int) -> None:
        self.out: list[list[int]] = [[] for _ in range(count)]  # edges by number; the reverse of e is e ^ 1
        self.target: list[int] = []
        self.left: list[float] = []

    def edge(self, a: int, b: int, capacity: float) -> None:
        for source, target, c in ((a, b, capacity), (b, a, 0.0)):
            self.out[source].append(len(self.target))
            self.target.append(target)
            self.left.append(c)

    def apart(self, source: int, sink: int) -> set[int]:
        """The nodes on the source's side of a cheapest cut. ValueError where every cut is infinite."""
        while True:
            level = self._levels(source)
            if level[sink] < 0:
                return set(range(len(self.out))) - self._leading_to(sink)
            following = [0] * len(self.out)
            while flow := self._augment(source, sink, level, following):
                if flow == INFINITE:
                    raise ValueError(
                        "[min_cut] requires a way to part source and sink, got a path of infinite capacity"
                    )

    def _levels(self, source: int) -> list[int]:
        level = [-1] * len(self.out)
        level[source] = 0
        waiting = deque([source])
        while waiting:
            a = waiting.popleft()
            for e in self.out[a]:
                b = self.target[e]
                if self.left[e] > 0 and level[b] < 0:
                    level[b] = level[a] + 1
                    waiting.append(b)
        return level

    def _leading_to(self, sink: int) -> set[int]:
        """The nodes from which more could still flow to the sink."""
        found, waiting = {sink}, [sink]
        while waiting:
            for e in self.out[waiting.pop()]:
                a = self.target[e]
                if self.left[e ^ 1] > 0 and a not in found:
                    found.add(a)
                    waiting.append(a)
        return found

    def _augment(self, source: int, sink: int, level: list[int], following: list[int]) -> float:
        """Send flow along one shortest path; 0 where there is none left."""
        path: list[int] = []
        a = source
        while a != sink:
            while following[a] < len(self.out[a]):
                e = self.out[a][following[a]]
                if self.left[e] > 0 and level[self.target[e]] == level[a] + 1:
                    path.append(e)
                    a = self.target[e]
                    break
                following[a] += 1
            else:  # a dead end
                if not path:
                    return 0.0
                e = path.pop()
                a = self.target[e ^ 1]
                following[a] += 1
        flow = min(self.left[e] for e in path)
        for e in path:
            self.left[e] -= flow
            self.left[e ^ 1] += flow
        return flow


def min_cut(count: int, edges: Iterable[tuple[int, int, float]], source: int, sink: int) -> set[int]:
    """The nodes on the source's side of a cheapest cut; of equal ones that next to the sink."""
    network = Network(count)
    for a, b, capacity in edges:
        network.edge(a, b, capacity)
    return network.apart(source, sink)
