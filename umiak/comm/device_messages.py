"""Single messages between two ranks by the library of the device that their tensors lie on.

Such a library may end a message only when the other side has come to it, and ranks may send to each other before
either receives. So what is sent is copied within the device, and leaves from there on a stream of its own; the send is
complete at once, as one by the host is. What announces it goes by the channel: number, size, and the id by which the
two ranks connect, in each direction once. The receiver hands its side in when that has come, in the order of the
numbers, whatever order its tasks are moved on in.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from umiak import backends
from umiak.backends import spare_streams
from umiak.backends.collectives import RECEIVE, SEND
from umiak.comm.errors import CommError
from umiak.comm.staging import StagedArray
from umiak.core import inplace
from umiak.core.buffer import Buffer
from umiak.core.context import current
from umiak.core.place import Place
from umiak.core.stream import Event, stream
from umiak.core.tensor import Tensor, empty
from umiak.ops.base import REGISTRY

if TYPE_CHECKING:
    from umiak.backends.collectives import Collectives, Communicator
    from umiak.comm.algorithms import Steps
    from umiak.comm.channel import Channel

MAGIC = int.from_bytes(b"umiakmsg", "little")
ID_BYTES = 256  # the most that an id has
ANNOUNCEMENT = np.dtype(
    [("magic", "u8"), ("number", "i8"), ("nbytes", "i8"), ("id_bytes", "i8"), ("id", "u1", ID_BYTES)]
)
TAG = 0  # messages of other tags may be received in another order than they were sent, which a library does not know


class Connection:
    """One direction between two ranks: connected by a thread, since that may take until the other side comes."""

    def __init__(self, library: Collectives, place: Place, id: bytes, rank: int) -> None:
        self.place, self.id = place, id
        self.stream = spare_streams.take(place).id
        self.link: Communicator | None = None
        self.error: Exception | None = None
        self.lock = threading.RLock()
        self.waiting: list[Callable[[Communicator], Any]] = []
        self.number = 0  # of the next message
        self.thread = threading.Thread(target=self._connect, args=(library, rank), daemon=True, name="umiak-connect")

    def begin(self) -> Connection:
        """Let the thread connect, unless it does."""
        with self.lock:
            if self.thread.ident is None:
                self.thread.start()
        return self

    def _connect(self, library: Collectives, rank: int) -> None:
        try:
            link = library.connect(2, self.id, rank)  # which lets other threads of the interpreter run
            with self.lock:
                self.link = link
                while self.waiting:
                    self.waiting.pop(0)(link)
        except Exception as error:  # told to whoever asks
            with self.lock:
                self.error = error

    def call(self, action: Callable[[Communicator], Any]) -> None:
        """Do something with the connection, now or when it is there, in the order of the calls."""
        with self.lock:
            self.refuse()
            if self.link is None:
                self.waiting.append(action)
            else:
                action(self.link)

    def refuse(self) -> None:
        """Raise what the two ranks could not connect for."""
        if self.error is not None:
            text = f"[comm] requires a connection between two devices, which failed: {self.error}"
            raise CommError(text) from self.error

    def start(self, link: Communicator, sends: bool, x: Tensor, before: Event) -> Any:
        """Hand a message in, behind an event."""
        stream(self.place.index, self.stream).wait(before)
        started = link.exchange(self.stream, [(sends, Buffer(x), 1 if sends else 0)])
        x.storage.use_on_stream(self.stream)
        return started

    def close(self) -> None:
        """End it, unless a message is under way that nobody takes any more."""
        with self.lock:
            queue = stream(self.place.index, self.stream)
            if self.link is not None and queue.query():
                self.link.close()
                spare_streams.give(queue)
            elif self.error is not None:
                spare_streams.give(queue)


class Turn:
    """A request: the connection is there, and the message of a number is the next one."""

    def __init__(self, connection: Connection, number: int) -> None:
        self.connection, self.number = connection, number

    def Test(self) -> bool:
        self.connection.refuse()
        return self.connection.link is not None and self.connection.number == self.number


class DeviceMessages:
    """The single messages of one rank of a group."""

    def __init__(self, channel: Channel) -> None:
        self.channel = channel
        self.lock = threading.RLock()
        self.libraries: dict[Place, Collectives | None] = {}
        self.connections: dict[tuple[Place, int, bool], Connection] = {}  # by place, peer, and whether it sends

    def library(self, staged: StagedArray, peer: int, tag: int) -> Collectives | None:
        """The library of the device that elements lie on; None where they go by the host."""
        x, channel = staged.device, self.channel
        if x is None or not staged.size or tag != TAG or peer == channel.rank or channel.can_access(x.place):
            return None
        with self.lock:
            if x.place not in self.libraries:
                library = backends.get(x.place).collectives(x.place)
                self.libraries[x.place] = library if getattr(library, "pairs", False) else None
            return self.libraries[x.place]

    def send(self, library: Collectives, x: Tensor, peer: int) -> Steps:
        """Steps of sending a contiguous tensor."""
        kept = empty(tuple(x.shape), x.dtype, x.place)
        inplace.apply_into(REGISTRY["copy"](), (kept,), (x.detach(),))
        before = stream(x.place.index, current().get_stream(x.place)).record()
        with self.lock:
            connection = self.connections.get((x.place, peer, SEND))
            if connection is None:
                connection = self.connections[x.place, peer, SEND] = Connection(
                    library, x.place, library.unique_id(), 0
                )
            said = np.zeros((), ANNOUNCEMENT)
            said["magic"], said["number"], said["nbytes"] = MAGIC, connection.number, Buffer(kept).nbytes
            said["id_bytes"] = len(connection.id)
            said["id"][: len(connection.id)] = np.frombuffer(connection.id, np.uint8)
            connection.number += 1
            connection.call(lambda link: connection.start(link, SEND, kept, before))

        def steps() -> Steps:
            request = self.channel.send(said.reshape(1).view(np.uint8), peer, TAG)
            connection.begin()
            yield [request]

        return steps()

    def recv(self, library: Collectives, x: Tensor, peer: int) -> Steps:
        """Steps of receiving into a contiguous tensor."""
        before = stream(x.place.index, current().get_stream(x.place)).record()
        said = np.zeros(1, ANNOUNCEMENT)

        def steps() -> Steps:
            yield [self.channel.recv(said.view(np.uint8), peer, TAG)]
            (row,) = said
            expected = Buffer(x).nbytes
            if row["magic"] != MAGIC or row["nbytes"] != expected:
                sent = row["nbytes"] if row["magic"] == MAGIC else "memory of the host"
                raise CommError(f"[recv] requires the {expected} bytes of the tensor, got {sent} from rank {peer}")
            with self.lock:
                connection = self.connections.get((x.place, peer, RECEIVE))
                if connection is None:
                    id = row["id"][: row["id_bytes"]].tobytes()
                    connection = self.connections[x.place, peer, RECEIVE] = Connection(library, x.place, id, 1)
            yield [Turn(connection.begin(), int(row["number"]))]
            assert connection.link is not None
            started = connection.start(connection.link, RECEIVE, x, before)
            connection.number += 1
            yield [started]

        return steps()

    def close(self) -> None:
        """End all connections."""
        while self.connections:
            self.connections.popitem()[1].close()
