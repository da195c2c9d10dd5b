# cython: language_level=3, binding=False
"""Memory that two processes share and nothing outside them can see. See shared_memory.pyi."""
cimport cython
from cpython.buffer cimport PyBuffer_FillInfo
from libc.errno cimport ENOMEM, errno
from libc.stdint cimport int64_t

import os
import tempfile

cdef extern from *:
    """
    #include <stdatomic.h>
    #include <stdint.h>
    #include <sys/mman.h>
    #include <errno.h>
    #ifndef MADV_POPULATE_WRITE
    #define MADV_POPULATE_WRITE 23
    #endif
    static int umiak_state(char *base) { return atomic_load((_Atomic int *)base); }
    static void umiak_set_state(char *base, int state) { atomic_store((_Atomic int *)base, state); }
    static char *umiak_map(int fd, int64_t nbytes)
    {
        void *p = mmap(0, (size_t)nbytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
        if (p == MAP_FAILED) return 0;
    #ifdef MADV_HUGEPAGE
        madvise(p, (size_t)nbytes, MADV_HUGEPAGE);
    #endif
        /* All pages at once cost less than a fault for each, and what the system cannot give is an error here instead of a
         * signal later. Kernels before 5.14 do not know this and refuse. */
        if (madvise(p, (size_t)nbytes, MADV_POPULATE_WRITE) && (errno == ENOMEM || errno == EFAULT)) {
            munmap(p, (size_t)nbytes);
            errno = ENOMEM;
            return 0;
        }
        return p;
    }
    static void umiak_unmap(char *base, int64_t nbytes) { munmap(base, (size_t)nbytes); }
    """
    int umiak_state(char* base) nogil
    void umiak_set_state(char* base, int state) nogil
    char* umiak_map(int fd, int64_t nbytes) nogil
    void umiak_unmap(char* base, int64_t nbytes) nogil

cdef enum:
    HEADER = 64             # the state, on a cache line of its own
    LEAST = 1 << 16
    FREE_STATE = 0
    LEASED_STATE = 1
    RETIRED_STATE = 2

FREE, LEASED, RETIRED = FREE_STATE, LEASED_STATE, RETIRED_STATE

cdef int64_t _forks = 0     # of this process and those it was forked from


def _before_fork():
    global _forks
    _forks += 1


def _in_child():
    global _generation
    _generation += 1


cdef int64_t _generation = 0    # how many forks lie between this process and the first
os.register_at_fork(before=_before_fork, after_in_child=_in_child)


def rounded(int64_t nbytes):
    """The size that a segment for ``nbytes`` gets: of eight sizes per power of two, so that batches of similar size fit each other's segments."""
    cdef int64_t total = max(nbytes + HEADER, <int64_t>LEAST), step = LEAST // 8
    while total > step * 16:
        step *= 2
    return (total + step - 1) // step * step - HEADER


@cython.final
@cython.no_gc
cdef class Segment:
    cdef char* base
    cdef readonly int64_t nbytes

    def __init__(self, int fd, int64_t nbytes):
        cdef int64_t total = nbytes + HEADER
        if self.base != NULL or nbytes <= 0:
            raise ValueError(f"[Segment] requires a positive size, once, got {nbytes}")
        with nogil:
            self.base = umiak_map(fd, total)
        if self.base == NULL:
            if errno == ENOMEM:
                raise MemoryError(f"[Segment] requires {total} bytes of shared memory and a free mapping, got neither from the system")
            raise OSError(errno, f"[Segment] requires a descriptor of shared memory, got {fd}: {os.strerror(errno)}")
        self.nbytes = nbytes

    def __dealloc__(self):
        if self.base != NULL:
            umiak_unmap(self.base, self.nbytes + HEADER)

    def __getbuffer__(self, Py_buffer* buffer, int flags):
        PyBuffer_FillInfo(buffer, self, self.base + HEADER, self.nbytes, 0, flags)

    @property
    def state(self):
        return umiak_state(self.base)

    @state.setter
    def state(self, int state):
        umiak_set_state(self.base, state)

    def lease(self):
        cdef Lease lease = Lease.__new__(Lease)
        lease.segment = self
        lease.forks = _forks
        lease.generation = _generation
        return lease


@cython.final
@cython.no_gc
cdef class Lease:
    cdef Segment segment
    cdef int64_t forks, generation

    def __init__(self):
        raise TypeError("leases are made by Segment.lease()")

    def __dealloc__(self):
        # A child has the segment mapped too, and may go on reading it: the memory must not be written again. What the child
        # drops is the parent's to say.
        if self.segment is not None and self.generation == _generation:
            umiak_set_state(self.segment.base, FREE_STATE if self.forks == _forks else RETIRED_STATE)

    def __getbuffer__(self, Py_buffer* buffer, int flags):
        PyBuffer_FillInfo(buffer, self, self.segment.base + HEADER, self.segment.nbytes, 0, flags)


def create(int64_t nbytes):
    cdef int64_t size = rounded(nbytes)
    if hasattr(os, "memfd_create"):
        fd = os.memfd_create("umiak", os.MFD_CLOEXEC)
    else:
        with tempfile.TemporaryFile(dir="/dev/shm") as file:
            fd = os.dup(file.fileno())
    try:
        os.ftruncate(fd, size + HEADER)
        return Segment(fd, size), fd
    except BaseException:
        os.close(fd)
        raise
