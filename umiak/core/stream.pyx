"""Order of work on a place: streams, events, and the driver through which a backend answers for them.

Work handed to a stream gets a ticket, a number that only grows. An event is a ticket: it is done when the stream has
completed that ticket. Everything that must outlive work in flight (memory above all) waits for tickets and for nothing else.
"""
import threading

from libc.stdlib cimport calloc
from libc.stdint cimport int32_t, int64_t
from cpython.object cimport PyObject
from cpython.ref cimport Py_INCREF, Py_XDECREF

cdef int[64] RUNNING
cdef PyObject* _drivers[64]                 # owned references
cdef StreamState** _states[64]             # per place, by stream id
cdef char[64] _opened
cdef list _streams = [{} for _ in range(STREAM_PLACES)]
cdef object _opener = None
cdef object _opening = threading.RLock()
cdef enum:
    BEING_OPENED = 1
    OPEN = 2


cdef class StreamDriver:
    """A backend's side of its streams."""

    cdef int create(self, StreamState* s) except -1:
        return 0

    cdef int64_t record(self, StreamState* s) except -1:
        return s.submitted

    cdef int poll(self, StreamState* s) except -1:
        return 0

    cdef int wait(self, StreamState* s, int64_t ticket) except -1:
        raise NotImplementedError(f"{type(self).__name__} cannot wait for a stream")

    cdef int join(self, StreamState* s, StreamState* other, int64_t ticket) except -1:
        # Right for every driver, if slow: the host waits.
        return wait_ticket(other, ticket)

    cdef int advance(self, StreamState* s, int64_t n) except -1:
        raise RuntimeError(f"stream {s.id} of {place_name(s.place)} completes by itself; only null streams are advanced by hand")

    cdef int report(self, StreamState* s) except -1:
        return 0

    cdef void* handle(self, StreamState* s) except? NULL:
        return NULL


cdef class QueueDriver(StreamDriver):
    """Streams of a backend written in Python; see stream.pyi for what a subclass defines."""

    def completed(self, int64_t id):
        raise NotImplementedError(f"{type(self).__name__} must say which ticket of stream {id} is done")

    def synchronize(self, int64_t id, int64_t ticket):
        raise NotImplementedError(f"{type(self).__name__} cannot wait for stream {id}")

    def after(self, int64_t id, Event event):
        event.synchronize()

    def scheduled(self, int64_t id):
        return None

    def failures(self, int64_t id):
        return ()

    def native_handle(self, int64_t id):
        return 0

    cdef int poll(self, StreamState* s) except -1:
        cdef int64_t done = self.completed(s.id)
        if done > s.completed:
            s.completed = done
        return 0

    cdef int wait(self, StreamState* s, int64_t ticket) except -1:
        self.synchronize(s.id, ticket)
        return self.poll(s)

    cdef int join(self, StreamState* s, StreamState* other, int64_t ticket) except -1:
        self.after(s.id, new_event(get_stream(other.place, other.id), ticket))
        return 0

    cdef int report(self, StreamState* s) except -1:
        cdef list failed = list(self.failures(s.id))
        if not failed:
            return 0
        name, error = failed[0]
        text = f"[{name}] failed on {place_name(s.place)} after it was launched: {type(error).__name__}: {error}"
        if len(failed) > 1:
            text += f". Of what was launched after it, this failed too: {', '.join([str(n) for n, _ in failed[1:]])}"
        raise RuntimeError(text) from error

    cdef void* handle(self, StreamState* s) except? NULL:
        return <void*><size_t>self.native_handle(s.id)


def place_name(int place):
    """The name of a place index, for messages; works before any backend is known."""
    try:
        from umiak.core.place import from_index
        return from_index(place).name
    except Exception:    # a message must not fail
        return f"place {place}"


cdef inline int check_place(int place) except -1:
    if place < 0 or place >= STREAM_PLACES:
        raise ValueError(f"requires a place index in [0, {STREAM_PLACES}), got {place}")
    return 0


cdef int open_place(int place) except -1:
    check_place(place)
    if _opened[place] == OPEN or _opener is None:
        return 0
    with _opening:                                       # other threads wait until the place is ready
        if _opened[place]:
            return 0                                     # the opener itself uses the place
        _opened[place] = BEING_OPENED
        try:
            _opener(place)
        except BaseException:
            _opened[place] = 0
            raise
        _opened[place] = OPEN
    return 0


cdef void mark_opened(int place) noexcept:
    if not _opened[place]:                               # an opener is not done with its first step
        _opened[place] = OPEN


def set_opener(opener):
    """Install ``opener(place_index)``: called once per place, before its first stream or storage is made.

    It is expected to give the place its allocator and, if it has streams, its driver.
    """
    global _opener
    former = _opener
    _opener = opener
    return former


cdef int set_driver(int place, StreamDriver driver) except -1:
    check_place(place)
    if _states[place] != NULL and _drivers[place] != <PyObject*>driver:
        raise RuntimeError(f"{place_name(place)} has streams already: its driver must be set before they are used")
    cdef PyObject* former = _drivers[place]
    if driver is None:
        _drivers[place] = NULL
    else:
        Py_INCREF(driver)
        _drivers[place] = <PyObject*>driver
    mark_opened(place)
    Py_XDECREF(former)
    return 0


def install_driver(int place, StreamDriver driver):
    """Set the driver of a place (None: one stream, always complete)."""
    set_driver(place, driver)


cdef StreamState* stream_state(int place, int64_t id) except NULL:
    cdef StreamState** table
    cdef StreamState* s
    check_place(place)
    if id < 0 or id >= MAX_STREAMS:
        raise ValueError(f"requires a stream id in [0, {MAX_STREAMS}), got {id}")
    table = _states[place]
    if table == NULL:
        open_place(place)
        table = _states[place]          # the opener may have used a stream
        if table == NULL:
            table = <StreamState**>calloc(MAX_STREAMS, sizeof(StreamState*))
            if table == NULL:
                raise MemoryError()
            _states[place] = table
    s = table[id]
    if s == NULL:
        if id != 0 and _drivers[place] == NULL:
            raise ValueError(f"{place_name(place)} has only stream 0, got stream {id}")
        s = <StreamState*>calloc(1, sizeof(StreamState))
        if s == NULL:
            raise MemoryError()
        s.place = place
        s.id = <int32_t>id
        if _drivers[place] != NULL:
            (<StreamDriver>_drivers[place]).create(s)
        table[id] = s
    return s


cdef StreamState** stream_table(int place) noexcept:
    return _states[place]


cdef inline int refresh(StreamState* s) except -1:
    if _drivers[s.place] == NULL:
        s.completed = s.submitted
    elif s.completed < s.submitted:
        (<StreamDriver>_drivers[s.place]).poll(s)
    return 0


cdef int wait_ticket(StreamState* s, int64_t ticket) except -1:
    refresh(s)
    if s.completed < ticket:
        (<StreamDriver>_drivers[s.place]).wait(s, ticket)
        if s.completed < ticket:
            raise RuntimeError(f"stream {s.id} of {place_name(s.place)} did not reach ticket {ticket}, it is at {s.completed}")
    if _drivers[s.place] != NULL:
        (<StreamDriver>_drivers[s.place]).report(s)
    return 0


cdef void* stream_handle(StreamState* s) except? NULL:
    return NULL if _drivers[s.place] == NULL else (<StreamDriver>_drivers[s.place]).handle(s)


cdef int64_t record_state(StreamState* s) except -1:
    if _drivers[s.place] == NULL:
        return s.submitted
    return (<StreamDriver>_drivers[s.place]).record(s)


cdef int64_t record_ticket(int place, int64_t id) except -1:
    return record_state(stream_state(place, id))


cdef int ticket_done(int place, int64_t id, int64_t ticket) except -1:
    cdef StreamState* s = stream_state(place, id)
    refresh(s)
    return s.completed >= ticket


cdef int stream_idle(int place, int64_t id) except -1:
    cdef StreamState* s = stream_state(place, id)
    refresh(s)
    return s.completed >= s.submitted


cdef int64_t scheduled(StreamState* s) except -1:
    """The ticket that covers all work so far which is done without anybody's further call."""
    cdef int64_t ticket = record_state(s)
    if _drivers[s.place] != NULL and isinstance(<object>_drivers[s.place], QueueDriver):
        known = (<QueueDriver>_drivers[s.place]).scheduled(s.id)
        if known is not None:
            return min(ticket, <int64_t>known)
    return ticket


cdef int synchronize_place(int place) except -1:
    cdef int i
    check_place(place)
    if _states[place] != NULL:
        for i in range(MAX_STREAMS):
            if _states[place][i] != NULL:
                wait_ticket(_states[place][i], scheduled(_states[place][i]))
    return 0


def synchronize(int place):
    """Wait for all work on a place."""
    synchronize_place(place)


cdef class Stream:
    """A queue of work on one place; what is handed in runs in order. Stream 0 is the default one. See :func:`stream`."""

    def __init__(self):
        raise TypeError("streams are made by stream(place, id) and new_stream(place)")

    @property
    def id(self):
        return self.state.id

    @property
    def place(self):
        """Index of the place."""
        return self.state.place

    @property
    def submitted(self):
        """Ticket of the last piece of work handed in."""
        return self.state.submitted

    @property
    def completed(self):
        """Last ticket known to be done; see :meth:`query`."""
        refresh(self.state)
        return self.state.completed

    @property
    def handle(self):
        """The address by which the device's own library knows the stream; 0 is that library's default."""
        return <size_t>stream_handle(self.state)

    def submit(self, int64_t n=1):
        """Count ``n`` pieces of work as handed in; returns the last one's ticket. Launches of the backend do this themselves."""
        self.state.submitted += n
        return self.state.submitted

    def record(self):
        """An event that covers all work handed in so far."""
        return new_event(self, record_state(self.state))

    def wait(self, Event event not None):
        """Let work handed in from now on wait for ``event``. The host does not wait."""
        cdef StreamState* other = event.stream.state
        if other == self.state:
            return
        refresh(other)
        # What is done may have failed, which its driver alone knows.
        if other.completed >= event.ticket and not isinstance(<object>_drivers[other.place] if _drivers[other.place] != NULL else None, QueueDriver):
            return
        if _drivers[self.state.place] == NULL:
            wait_ticket(other, event.ticket)
        else:
            (<StreamDriver>_drivers[self.state.place]).join(self.state, other, event.ticket)

    def query(self):
        """Return whether all work handed in is done."""
        refresh(self.state)
        return self.state.completed >= self.state.submitted

    def synchronize(self):
        """Wait for all work handed in so far."""
        wait_ticket(self.state, record_state(self.state))

    def advance(self, int64_t n=1):
        """Complete the next ``n`` pieces of work (streams of ``null`` places, in tests). Returns how many were completed."""
        cdef int64_t before = self.state.completed
        if _drivers[self.state.place] == NULL:
            raise RuntimeError(f"{place_name(self.state.place)} completes work when it is handed in; only null streams are advanced by hand")
        (<StreamDriver>_drivers[self.state.place]).advance(self.state, n)
        return self.state.completed - before

    def __repr__(self):
        return f"Stream({place_name(self.state.place)}, id={self.state.id}, submitted={self.state.submitted}, completed={self.state.completed})"


cdef class Event:
    """A point in a stream's work. Made by ``stream.record()``."""

    def __init__(self):
        raise TypeError("events are made by stream.record()")

    def query(self):
        """Return whether the work up to this point is done."""
        refresh(self.stream.state)
        return self.stream.state.completed >= self.ticket

    def synchronize(self):
        """Wait for the work up to this point."""
        wait_ticket(self.stream.state, self.ticket)

    def __repr__(self):
        return f"Event({self.stream!r}, ticket={self.ticket})"


cdef Event new_event(Stream stream, int64_t ticket):
    cdef Event e = Event.__new__(Event)
    e.stream = stream
    e.ticket = ticket
    return e


cdef Stream get_stream(int place, int64_t id):
    cdef StreamState* state = stream_state(place, id)
    cdef dict table = <dict>_streams[place]
    cdef Stream s = <Stream>table.get(id)
    if s is None:
        s = Stream.__new__(Stream)
        s.state = state
        table[id] = s
    return s


def stream(int place, int64_t id=0):
    """The stream of a place with this id; always the same object."""
    return get_stream(place, id)


def new_stream(int place):
    """A stream of a place that is not in use yet."""
    cdef int64_t i
    stream_state(place, 0)
    for i in range(1, MAX_STREAMS):
        if _states[place][i] == NULL:
            return get_stream(place, i)
    raise RuntimeError(f"{place_name(place)} has {MAX_STREAMS} streams already")
