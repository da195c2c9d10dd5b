"""How tensors of images lie: channels first or last."""
from libc.stdint cimport int64_t

from umiak.backends.cpu.providers.common cimport dense

cdef enum:
    CHANNELS_FIRST = 0
    CHANNELS_LAST = 1
    ELSEWISE = 2


cdef inline bint lies_last(const int64_t* sizes, const int64_t* by, int r) noexcept nogil:
    """Return whether channels are last; of one place, or one channel, they are that, too."""
    cdef int64_t step = 1
    cdef int i, axis
    for i in range(r):
        axis = 1 if i == 0 else 0 if i == r - 1 else r - i
        if sizes[axis] != 1:
            if by[axis] != step:
                return False
            step *= sizes[axis]
    return True


cdef inline int layout_of(const int64_t* sizes, const int64_t* by, int r) noexcept nogil:
    """How a tensor lies; axes of size 1 may have any stride."""
    cdef int64_t step = 1
    cdef int i
    for i in range(r - 1, -1, -1):
        if sizes[i] != 1:
            if by[i] != step:
                break
            step *= sizes[i]
    else:
        return CHANNELS_FIRST
    return CHANNELS_LAST if lies_last(sizes, by, r) else ELSEWISE


cdef inline void strides_of(int layout, const int64_t* sizes, int r, int64_t* by) noexcept nogil:
    cdef int64_t step = 1
    cdef int i, axis
    if layout == CHANNELS_FIRST:
        dense(sizes, r, by)
        return
    for i in range(r):
        axis = 1 if i == 0 else 0 if i == r - 1 else r - i
        by[axis] = step
        step *= sizes[axis]
