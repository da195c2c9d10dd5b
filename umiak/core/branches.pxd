"""Launches of a list that run side by side: see branches.pyx."""
from libc.stdint cimport int64_t, uint64_t

from umiak.core.launch_list cimport Launch

cdef enum:
    NEVER = 0                  # FLAGS_parallel_branches
    AUTO = 1
    ALWAYS = 2

cdef enum Phase:
    SETTLED = 0
    MEASURES = 1               # what launches take
    DUE = 2                    # that is known: say which run side by side
    COMPARES = 3               # groups with the same launches one after the other

cdef struct Group:
    int begin, end             # launches of the list
    int n_lanes
    int* first                 # by lane: where it begins in `order`; -1 ends it
    int* order                 # launches lane by lane
    int64_t apart, together    # ns: side by side, one after the other
    bint used

cdef class Branches:
    cdef Launch* launches      # and `scalars` belong to the list
    cdef int* scalars
    cdef int n_launches, n_words
    cdef int phase, turn
    cdef int n_groups, most_lanes
    cdef Group* groups
    cdef uint64_t* words       # a row per lane
    cdef int* failed           # by lane: the launch, and its code
    cdef int64_t* alone        # by launch: ns on one thread, and on all
    cdef int64_t* together
    cdef list before           # by launch: those that it has to follow
    cdef list allowed          # by launch: whether it may be in a group
    cdef list sets(self)
    cdef list used(self)
    cdef int set_groups(self, list groups) except -1
    cdef int forget(self) noexcept
    cdef int play(self, void** ptrs, const int64_t* regs, int64_t stream, int* at) noexcept nogil
    cdef int play_measured(self, void** ptrs, const int64_t* regs, int64_t stream, int* at) noexcept nogil
    cdef int play_group(self, Group* g, void** ptrs, const int64_t* regs, int64_t stream, int* at) noexcept nogil
    cdef int play_range(self, int begin, int end, void** ptrs, const int64_t* regs, int64_t stream, int* at) noexcept nogil
    cdef int compare(self) noexcept nogil
    cdef bint alone_is_alike(self, int i, void** ptrs, void** others, const int64_t* regs) noexcept

cdef bint wanted() noexcept        # whether there are threads for it, and nobody has switched it off
cdef int mode() noexcept
