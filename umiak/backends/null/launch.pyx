"""The launch that does nothing, and streams that complete only when they are told to."""
from libc.stdint cimport int64_t, uint64_t

from umiak.core.stream cimport MAX_STREAMS, StreamDriver, StreamState, stream_state, stream_table, ticket_done, wait_ticket

cdef extern from *:
    """
    #define umiak_count(p) ((void)__atomic_fetch_add((p), 1, __ATOMIC_RELAXED))   /* several threads may launch at once */
    """
    void umiak_count(int64_t* p) nogil


cdef int launch(void* self, void** ptrs, const int64_t* dims, const uint64_t* scalars, int64_t stream) noexcept nogil:
    """The native launch ABI. ``self`` is the place's table of streams. Fails on a stream that is not in use."""
    cdef StreamState** states = <StreamState**>self
    if <uint64_t>stream >= <uint64_t>MAX_STREAMS or states[stream] == NULL:
        return 1
    umiak_count(&states[stream].submitted)
    return 0


ADDRESS = <size_t><void*>&launch


def self_pointer(int place):
    """The launch state for this place (by index)."""
    stream_state(place, 0)
    return <size_t>stream_table(place)


cdef class NullDriver(StreamDriver):
    """Work completes when a test advances its stream or someone waits for it, never by itself.

    A stream that was told to wait for an event does not get past that point before the event is done.
    """

    cdef dict barriers         # stream id -> [(own ticket, place, stream id, ticket) ...], oldest first

    def __cinit__(self):
        self.barriers = {}

    cdef int poll(self, StreamState* s) except -1:
        return 0

    cdef int join(self, StreamState* s, StreamState* other, int64_t ticket) except -1:
        umiak_count(&s.submitted)
        (<list>self.barriers.setdefault(s.id, [])).append((s.submitted, other.place, other.id, ticket))
        return 0

    cdef int advance(self, StreamState* s, int64_t n) except -1:
        cdef int64_t goal = min(s.completed + n, s.submitted)
        cdef list barriers = self.barriers.get(s.id)
        while barriers and barriers[0][0] <= goal:
            at, place, id, ticket = barriers[0]
            if not ticket_done(place, id, ticket):
                s.completed = max(s.completed, at - 1)
                return 0
            del barriers[0]
        s.completed = max(s.completed, goal)
        return 0

    cdef int wait(self, StreamState* s, int64_t ticket) except -1:
        cdef list barriers = self.barriers.get(s.id)
        while barriers and barriers[0][0] <= ticket:
            at, place, id, other = barriers[0]
            wait_ticket(stream_state(place, id), other)
            if barriers and barriers[0][0] == at:      # unless waiting has come round to this stream
                del barriers[0]
        s.completed = max(s.completed, ticket)
        return 0
