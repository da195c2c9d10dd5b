"""The connections of one group over memory of devices whose own libraries have collectives, by place."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from umiak import backends
from umiak.comm.errors import CommError
from umiak.comm.staging import StagedArray
from umiak.core.place import Place

if TYPE_CHECKING:
    from umiak.backends.collectives import Collectives, Communicator


class DeviceLinks:
    """``tell``: gives the object of rank 0 to every rank; it blocks."""

    def __init__(self, size: int, rank: int, tell: Callable[[object], object]) -> None:
        self.size, self.rank, self.tell = size, rank, tell
        self._links: dict[Place, Communicator] = {}

    def of(self, operands: Sequence[StagedArray]) -> Communicator | None:
        """The connection for operands that all lie on one device; None where they go by the host.

        The first call for a place connects, and blocks until all ranks have come.
        """
        places = {None if s.device is None else s.device.place for s in operands}
        if self.size == 1 or len(places) != 1 or None in places:
            return None
        (place,) = places
        assert place is not None
        if place in self._links:
            return self._links[place]
        library = backends.get(place).collectives(place)
        if library is None:
            return None
        self._links[place] = link = self._connect(library)
        return link

    def _connect(self, library: Collectives) -> Communicator:
        id, error = b"", None
        if self.rank == 0:
            try:
                id = library.unique_id()
            except Exception as e:  # the others wait for word
                error = e
        told = self.tell((id, str(error or "")))
        assert isinstance(told, tuple)
        id, text = told
        if text:
            raise CommError(f"[comm] requires a unique id of rank 0's device, which failed: {text}") from error
        return library.connect(self.size, id, self.rank)

    def close(self) -> None:
        """End all connections."""
        while self._links:
            self._links.popitem()[1].close()
