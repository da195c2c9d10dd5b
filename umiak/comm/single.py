"""The channel of a rank that is alone: only messages to itself."""

from __future__ import annotations

import time
from collections import defaultdict, deque
from collections.abc import Iterable
from typing import Any

import numpy as np

from umiak.comm.errors import CommError
from umiak.core.place import Place


class Arrived:
    """A message that is there."""

    def Test(self) -> bool:
        return True


ARRIVED = Arrived()


class _Line:
    """Messages of one tag, and those who wait for them: both in order."""

    def __init__(self) -> None:
        self.messages: deque[np.ndarray] = deque()
        self.waiting: deque[_Expected] = deque()

    def deliver(self) -> None:
        while self.messages and self.waiting:
            x, to = self.messages.popleft(), self.waiting.popleft()
            to.arrived = True
            if x.size != to.x.size:
                raise CommError(f"a message of {x.size} bytes came where {to.x.size} are expected")
            np.copyto(to.x, x)


class _Expected:
    def __init__(self, x: np.ndarray) -> None:
        self.x = x
        self.arrived = False

    def Test(self) -> bool:
        return self.arrived


class SingleChannel:
    """Rank 0 of 1."""

    rank = 0
    size = 1

    def __init__(self) -> None:
        self._kept: dict[int, _Line] = defaultdict(_Line)

    def send(self, x: np.ndarray, peer: int, tag: int) -> Arrived:
        line = self._kept[tag]
        line.messages.append(x.copy())
        line.deliver()
        return ARRIVED

    def recv(self, x: np.ndarray, peer: int, tag: int) -> _Expected:
        line, request = self._kept[tag], _Expected(x)
        line.waiting.append(request)
        line.deliver()
        return request

    def native(self, name: str, *args: Any) -> None:
        return None

    def can_access(self, place: Place) -> bool:
        return False

    def pause(self, waited: float, description: str) -> None:
        if waited > 1:
            raise CommError(f"[{description}] a rank that is alone waits for a message that it has not sent")
        time.sleep(1e-3)

    def split(self, ranks: Iterable[int], name: str) -> SingleChannel:
        return SingleChannel()

    def close(self) -> None:
        self._kept.clear()
