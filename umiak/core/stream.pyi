"""Order of work on a place: streams, events, and the driver through which a backend answers for them."""

from collections.abc import Callable, Sequence

class StreamDriver:
    """A backend's side of its streams; subclassed in Cython."""

class QueueDriver(StreamDriver):
    """The streams of a place, by a subclass in Python. Tickets are what ``Stream.submit`` gives to each piece of work.

    Methods are called with the GIL, by any thread. Those that wait should let other threads have it.
    """

    def completed(self, id: int) -> int:
        """The last ticket of a stream up to which all is done, well or not."""

    def synchronize(self, id: int, ticket: int) -> None:
        """Wait until ``ticket`` of a stream is done, well or not."""

    def after(self, id: int, event: Event) -> None:
        """Let what is handed to a stream from now on wait for an event of another, perhaps of another place. Unless it
        is overridden, the host waits."""

    def scheduled(self, id: int) -> int | None:
        """The last ticket that whoever waits for all of the place waits for: work of a stream that another thread
        records into a graph is not handed to the device. None, unless it is overridden: all."""

    def failures(self, id: int) -> Sequence[tuple[str, BaseException]]:
        """Of the work that is done: what failed since this was last asked, as names of ops and their errors, oldest
        first. Whoever waits for the stream is told."""

    def native_handle(self, id: int) -> int:
        """The address by which the device's own library knows a stream, for libraries that launch work on it; 0, its
        default stream, unless it is overridden."""

class Stream:
    """A queue of work on one place; what is handed in runs in order. Stream 0 is the default one."""

    id: int
    place: int  # index
    submitted: int  # ticket of the last piece of work handed in
    completed: int  # last ticket known to be done
    handle: int  # the address by which the device's own library knows it; 0: its default stream
    def submit(self, n: int = 1) -> int: ...
    def record(self) -> Event: ...
    def wait(self, event: Event) -> None: ...  # work handed in later waits; the host does not
    def query(self) -> bool: ...
    def synchronize(self) -> None: ...
    def advance(self, n: int = 1) -> int: ...  # null places only

class Event:
    stream: Stream
    ticket: int
    def query(self) -> bool: ...
    def synchronize(self) -> None: ...

def stream(place: int, id: int = 0) -> Stream: ...
def new_stream(place: int) -> Stream: ...
def synchronize(place: int) -> None: ...
def set_opener(opener: Callable[[int], None] | None) -> Callable[[int], None] | None:
    """Install what sets a place up (allocator, driver) before its first use; returns the former one."""

def install_driver(place: int, driver: StreamDriver | None) -> None: ...
def place_name(place: int) -> str: ...
