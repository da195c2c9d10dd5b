"""What a call of a nest needs to get from dispatch to the driver without Python: see nest_calls.pyx."""
from libc.stdint cimport int64_t

from umiak.core.stream cimport StreamState

ctypedef int (*SetCurrent)(void* context) noexcept nogil      # cuCtxSetCurrent

cdef class Line:
    cdef readonly size_t handle
    cdef public object capture
    cdef StreamState* state

cdef class Lines:
    cdef SetCurrent set_current
    cdef void* context
    cdef object check
    cdef readonly int place
    cdef list lines                    # by id of the stream; None: it is not in use

cdef struct Step:
    int64_t global_scratch             # bytes; -1: that of the step before
    int64_t local                      # bytes of scratch of all units
    int first_extra, n_extras          # which extras of the call are its first integers

cdef class Ready:
    cdef int64_t* key
    cdef int64_t* temporaries          # bytes
    cdef Step* steps
    cdef int n_temporaries, n_launches
    cdef tuple entries                 # one for each step
    cdef object keep
    cdef Ready next

cdef class Table:
    cdef Lines owner
    cdef readonly int n_keys, n_extras, n_pointers
    cdef readonly int count
    cdef Ready last
    cdef list buckets

    cdef Ready find(self, const int64_t* key)      # None where there is none
