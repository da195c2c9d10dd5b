"""One launch of a list: what is called, and with which integers."""
from libc.stdint cimport int64_t, uint64_t

from umiak.core.plan cimport flat_t, launch_t

cdef struct Launch:
    launch_t launch
    flat_t flat                # NULL: `launch` is called
    void* self
    int64_t elements           # for `flat`
    int64_t* dims              # for `launch`
    int step                   # of the call program
    int n_ptrs, first_ptr
    int n_scalars, first_scalar

cdef inline int play_launch(const Launch* l, void** ptrs, const int* scalars, const int64_t* regs, uint64_t* words, int64_t stream) noexcept nogil:
    """Launch with pointers and registers of the list; ``words`` has room for its scalars."""
    cdef const int* registers = scalars + l.first_scalar
    cdef int k
    for k in range(l.n_scalars):
        words[k] = <uint64_t>regs[registers[k]]
    if l.flat != NULL:
        return l.flat(l.self, ptrs + l.first_ptr, l.elements, words, stream)
    return l.launch(l.self, ptrs + l.first_ptr, l.dims, words, stream)
