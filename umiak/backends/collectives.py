"""A device's own library of collectives, as groups of ranks use it (:meth:`umiak.backends.Backend.collectives`)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from umiak.core.buffer import Buffer

SEND, RECEIVE = True, False
Message = tuple[bool, Buffer, int]  # SEND or RECEIVE, elements, rank of the group


class Started(Protocol):
    """Work that was handed to a stream."""

    def Test(self) -> bool:
        """Return whether it is done; raises what made it fail."""


class Communicator(Protocol):
    """One rank's end of a connection of the ranks of a group over memory of one place."""

    def start(self, stream: int, name: str, *args: Any) -> Started | None:
        """Hand a collective to a stream, with the names and arguments of ``umiak.comm.channel.Channel.native`` and
        Buffers; None where the library has none for them, on every rank alike."""

    def exchange(self, stream: int, messages: Sequence[Message]) -> Started | None:
        """Hand in messages that start together, so that none waits for another; None where the library cannot."""

    def close(self) -> None:
        """End it; nothing is under way."""


class Collectives(Protocol):
    """A library of collectives for one place.

    ``pairs``: two ranks may be connected by a thread of each, beside all other connections, so that single messages of
    the two go by it.
    """

    pairs: bool

    def unique_id(self) -> bytes:
        """Bytes by which the ranks of a new communicator find each other; one rank asks, and tells the others."""

    def connect(self, size: int, id: bytes, rank: int) -> Communicator:
        """Join the others; returns when all have come."""
