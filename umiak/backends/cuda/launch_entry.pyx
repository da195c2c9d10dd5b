# cython: language_level=3, binding=False
"""Launches of one kernel through the driver's function for it, by its address: no Python object is made for a launch.

The arguments of a kernel of the loop IR (umiak.compiler.render.ptx) are words of 64 bits: pointers, dims, the scalar pack, scratch, the
error word and the parallel range. What does not change is written once; a launch fills in the rest on its stack.
"""
from cpython.list cimport PyList_GET_ITEM, PyList_GET_SIZE
from cpython.object cimport PyObject
from libc.stdint cimport uint64_t
from libc.stdlib cimport free, malloc
from libc.string cimport memcpy

cimport cython

cdef extern from "Python.h":
    unsigned long long PyLong_AsUnsignedLongLongMask(object) except? 0xFFFFFFFFFFFFFFFF

cdef enum:
    INLINE = 64                # arguments of a launch that need no memory of their own
    BEHIND = 5                 # words behind the scalar pack


cdef int words_into(uint64_t* at, list numbers, Py_ssize_t n) except -1:
    cdef Py_ssize_t i
    for i in range(n):
        at[i] = PyLong_AsUnsignedLongLongMask(<object>PyList_GET_ITEM(numbers, i))
    return 0


@cython.final
cdef class Entry:
    """A kernel's grid and integers. ``address``: of the driver's function; ``n_words``: how much of the scalar pack the kernel takes;
    ``begin``, ``end``: of the parallel range."""

    def __init__(self, size_t address, size_t function, unsigned int blocks, unsigned int threads, unsigned int shared, list dims not None,
                 Py_ssize_t n_words, uint64_t begin, uint64_t end):
        self.call = <LaunchKernel><void*>address
        self.function = <void*>function
        self.blocks, self.threads, self.shared = blocks, threads, shared
        self.n_dims, self.n_words = PyList_GET_SIZE(dims), n_words
        self.begin, self.end = begin, end
        self.dims = <uint64_t*>malloc((self.n_dims + 1) * sizeof(uint64_t))
        if self.dims == NULL:
            raise MemoryError()
        words_into(self.dims, dims, self.n_dims)

    def __dealloc__(self):
        free(self.dims)

    cdef int put(self, void* stream, Given* given) except? -1:
        cdef uint64_t[INLINE] values_inline
        cdef void* addresses_inline[INLINE]
        cdef uint64_t* values = values_inline
        cdef void** addresses = addresses_inline
        cdef Py_ssize_t n = given.n_pointers + self.n_dims + self.n_words + BEHIND, i
        cdef uint64_t* at
        cdef char* room = NULL
        cdef int code
        if n > INLINE:
            room = <char*>malloc(n * 16)
            if room == NULL:
                raise MemoryError()
            values, addresses = <uint64_t*>room, <void**>(room + 8 * n)
        at = values
        memcpy(at, given.pointers, given.n_pointers * sizeof(uint64_t))
        at += given.n_pointers
        memcpy(at, given.first, given.n_first * sizeof(uint64_t))
        memcpy(at + given.n_first, self.dims + given.n_first, (self.n_dims - given.n_first) * sizeof(uint64_t))
        at += self.n_dims
        memcpy(at, given.words, self.n_words * sizeof(uint64_t))
        at += self.n_words
        at[0], at[1], at[2], at[3], at[4] = given.local, given.global_scratch, given.error, self.begin, self.end
        for i in range(n):
            addresses[i] = &values[i]
        with nogil:                                      # a full queue of the device makes this wait
            code = self.call(self.function, self.blocks, 1, 1, self.threads, 1, 1, self.shared, stream, addresses, NULL)
        free(room)
        return code

    def launch(self, size_t stream, list pointers not None, list words not None, uint64_t local, uint64_t global_scratch, uint64_t error):
        """Launch it; the driver's code."""
        cdef Py_ssize_t n = PyList_GET_SIZE(pointers)
        cdef Given given
        cdef uint64_t* room
        if PyList_GET_SIZE(words) < self.n_words:
            raise ValueError(f"[launch] requires {self.n_words} words of scalars, got {PyList_GET_SIZE(words)}")
        room = <uint64_t*>malloc((n + self.n_words + 1) * sizeof(uint64_t))
        if room == NULL:
            raise MemoryError()
        try:
            words_into(room, pointers, n)
            words_into(room + n, words, self.n_words)
            given.n_pointers, given.pointers, given.words = n, room, room + n
            given.n_first, given.first = 0, NULL
            given.local, given.global_scratch, given.error = local, global_scratch, error
            return self.put(<void*>stream, &given)
        finally:
            free(room)


def launch(size_t address, size_t function, tuple grid not None, unsigned int threads, unsigned int shared, size_t stream, list words not None):
    """Launch a kernel of others once, whose arguments fit into words of 64 bits; the driver's code."""
    cdef uint64_t[INLINE] values_inline
    cdef void* addresses_inline[INLINE]
    cdef uint64_t* values = values_inline
    cdef void** addresses = addresses_inline
    cdef Py_ssize_t n = PyList_GET_SIZE(words), i
    cdef unsigned int x, y, z
    cdef char* room = NULL
    cdef int code
    x, y, z = grid
    if n > INLINE:
        room = <char*>malloc(n * 16)
        if room == NULL:
            raise MemoryError()
        values, addresses = <uint64_t*>room, <void**>(room + 8 * n)
    try:
        words_into(values, words, n)
        for i in range(n):
            addresses[i] = &values[i]
        with nogil:
            code = (<LaunchKernel><void*>address)(<void*>function, x, y, z, threads, 1, 1, shared, <void*>stream, addresses, NULL)
        return code
    finally:
        free(room)
