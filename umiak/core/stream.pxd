"""Order of work on a place: streams, events, and the driver through which a backend answers for them."""
from libc.stdint cimport int32_t, int64_t

cdef enum:
    STREAM_PLACES = 64         # as many as place.PLACE_COUNT
    MAX_STREAMS = 256          # per place

cdef struct StreamState:       # never moves once made: native launches hold a pointer to it
    int64_t submitted          # ticket of the last piece of work handed in
    int64_t completed          # every ticket up to this one is done
    int32_t place
    int32_t id

cdef class StreamDriver:
    """A backend's side of its streams. Without one, a place has the single stream 0, on which all work is done when it returns."""
    cdef int create(self, StreamState* s) except -1                                        # a stream comes into use
    cdef int64_t record(self, StreamState* s) except -1                                    # a ticket that covers all work so far
    cdef int poll(self, StreamState* s) except -1                                          # bring s.completed up to date
    cdef int wait(self, StreamState* s, int64_t ticket) except -1                          # block until ticket is done
    cdef int join(self, StreamState* s, StreamState* other, int64_t ticket) except -1      # later work on s waits for it
    cdef int advance(self, StreamState* s, int64_t n) except -1                            # tests only
    cdef int report(self, StreamState* s) except -1                                        # raise what failed and was not told yet
    cdef void* handle(self, StreamState* s) except? NULL                                   # what the device's own library calls the stream

cdef class QueueDriver(StreamDriver):
    """The same by methods in Python."""

cdef class Stream:
    cdef StreamState* state

cdef class Event:
    cdef readonly Stream stream
    cdef readonly int64_t ticket

# Kernels now running without the GIL, per place (changed under the GIL). Nothing there may move meanwhile.
cdef int[64] RUNNING

cdef Stream get_stream(int place, int64_t id)
cdef StreamState* stream_state(int place, int64_t id) except NULL      # makes the stream if need be
cdef StreamState** stream_table(int place) noexcept    # by id, NULL where a stream is not in use; stays where it is
cdef int64_t record_ticket(int place, int64_t id) except -1
cdef int ticket_done(int place, int64_t id, int64_t ticket) except -1      # 1 or 0, without waiting
cdef void* stream_handle(StreamState* s) except? NULL  # NULL: the default stream of the device's own library
cdef int wait_ticket(StreamState* s, int64_t ticket) except -1
cdef int stream_idle(int place, int64_t id) except -1
cdef int synchronize_place(int place) except -1
cdef int set_driver(int place, StreamDriver driver) except -1
cdef int open_place(int place) except -1       # ask the backend to set up a place, once
cdef void mark_opened(int place) noexcept      # it was set up by hand
