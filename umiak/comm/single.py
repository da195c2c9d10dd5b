"""The channel of a rank that is alone: only messages to itself."""

from __future__ import annotations

import time
from collections import defaultdict, deque
from collections.abc import Iterable
from typing import Any

import numpy as np

from umiak.comm.errors import CommError


class Arrived:
    """A message that is there."""

    def Test(self) -> bool:
        return True


ARRIVED = Arrived()


class _Expected:
    def __init__(self, queue: deque[np.ndarray], x: np.ndarray) -> None:
        self.queue, self.x = queue, x

    def Test(self) -> bool:
        if not self.queue:
            return False
        np.copyto(self.x, self.queue.popleft())
        return True


class SingleChannel:
    """Rank 0 of 1."""

    rank = 0
    size = 1

    def __init__(self) -> None:
        self._kept: dict[int, deque[np.ndarray]] = defaultdict(deque)

    def send(self, x: np.ndarray, peer: int, tag: int) -> Arrived:
        self._kept[tag].append(x.copy())
        return ARRIVED

    def recv(self, x: np.ndarray, peer: int, tag: int) -> _Expected:
        return _Expected(self._kept[tag], x)

    def native(self, name: str, *args: Any) -> None:
        return None

    def pause(self, waited: float, what: str) -> None:
        if waited > 1:
            raise CommError(f"[{what}] a rank that is alone waits for a message that it has not sent")
        time.sleep(1e-3)

    def split(self, ranks: Iterable[int], name: str) -> SingleChannel:
        return SingleChannel()

    def close(self) -> None:
        self._kept.clear()
