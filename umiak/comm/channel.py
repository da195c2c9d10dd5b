"""Interface of a transport: messages between two ranks, and native collectives that are faster than messages."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Protocol

import numpy as np

from umiak.core.place import Place


class Request(Protocol):
    """Message in flight. MPI's requests have this interface."""

    def Test(self) -> bool:
        """Return whether it has arrived or left; moves it on without blocking."""


class Channel(Protocol):
    """Channel of the messages of one group, as one rank sees it. Arrays are flat bytes, and stay alive in flight.

    One whose messages move only while somebody tests them has ``polled = True``.
    """

    rank: int
    size: int

    def send(self, x: np.ndarray, peer: int, tag: int) -> Request:
        """Start sending ``x``."""

    def recv(self, x: np.ndarray, peer: int, tag: int) -> Request:
        """Start receiving into ``x``, whose size is that of the message. Messages of one tag keep their order."""

    def native(self, name: str, *args: Any) -> Request | None:
        """Start a native collective of the transport; None where it has none for these arguments. Operands are
        flat arrays, or Buffers on places that it reaches."""

    def can_access(self, place: Place) -> bool:
        """Return whether :meth:`native` takes operands that lie on a device, which the host cannot read."""

    def pause(self, waited: float, description: str) -> None:
        """Pause between two polls of an operation that has been waited for ``waited`` seconds."""

    def split(self, ranks: Iterable[int], name: str) -> Channel:
        """The channel of some ranks of this one, called by each of them."""

    def close(self) -> None:
        """Release what the transport holds for it."""
