# cython: binding=False
"""Random permutations: the launch of permutation.h."""
from libc.stdint cimport int64_t, uint64_t

from umiak.backends.cpu.launcher cimport no_memory
from umiak.backends.cpu.providers.common cimport scratch_alloc, scratch_free

cdef extern from "Python.h":
    void PyErr_SetObject(object type, object value)

cdef extern from "umiak/backends/cpu/permutation.h" nogil:
    void permutation_draw(uint64_t seed, uint64_t offset, int64_t n, uint64_t* room, void* out, int itemsize)

cdef int64_t LONGEST = (<int64_t>1 << 32) - 1    # places have 32 bits beside half a key


cdef int launch(void* self, void** ptrs, const int64_t* dims, const uint64_t* scalars, int64_t stream) noexcept nogil:
    """The native launch ABI. Scalars: the size, seed and offset. ``self``: the bytes of an integer of the result."""
    cdef int64_t n = <int64_t>scalars[0]
    cdef void* room
    if n == 0:
        return 0
    if n > LONGEST:
        return too_long(n)
    room = scratch_alloc(16 * n)
    if room == NULL:
        return no_memory()
    permutation_draw(scalars[1], scalars[2], n, <uint64_t*>room, ptrs[0], (<int*>self)[0])
    scratch_free(room)
    return 0


cdef int too_long(int64_t n) noexcept with gil:
    PyErr_SetObject(OverflowError, f"[rand_perm] requires a size of at most {LONGEST}, got {n}")
    return -1


cdef class Permutation:
    """A kernel that writes integers of so many bytes."""

    cdef int itemsize

    def __init__(self, int itemsize):
        if itemsize not in (4, 8):
            raise ValueError(f"[Permutation] requires integers of 4 or 8 bytes, got {itemsize}")
        self.itemsize = itemsize

    @property
    def address(self):
        return <size_t><void*>&launch

    @property
    def self_pointer(self):
        return <size_t>&self.itemsize
