"""What an engine of communication provides: messages between two ranks, and what it does better than messages."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Protocol

import numpy as np

from umiak.core.place import Place


class Request(Protocol):
    """A message on its way. MPI's requests are such."""

    def Test(self) -> bool:
        """Whether it has arrived or left; moves it on without blocking."""


class Channel(Protocol):
    """The messages of one group, as one rank sees it. Arrays are flat and of bytes, and stay alive while under way."""

    rank: int
    size: int

    def send(self, x: np.ndarray, peer: int, tag: int) -> Request:
        """Start sending ``x``."""

    def recv(self, x: np.ndarray, peer: int, tag: int) -> Request:
        """Start receiving into ``x``, whose size is that of the message. Messages of one tag keep their order."""

    def native(self, name: str, *args: Any) -> Request | None:
        """Start a whole collective in the engine's own way; None where it has none for these arguments. Operands are
        flat arrays, or Buffers on places that it reaches."""

    def reaches(self, place: Place) -> bool:
        """Whether :meth:`native` takes operands that lie on a device, which the host cannot read."""

    def pause(self, waited: float, what: str) -> None:
        """What a thread does between two looks at an operation that it has waited ``waited`` seconds for."""

    def split(self, ranks: Iterable[int], name: str) -> Channel:
        """The channel of some ranks of this one, called by each of them."""

    def close(self) -> None:
        """Give back what the engine holds for it."""
