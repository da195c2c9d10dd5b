"""Streams of random numbers: who gets which part of a stream."""
from libc.stdint cimport int64_t, uint64_t

cdef class Generator:
    cdef uint64_t key                      # the seed, modulo 2**64
    cdef int64_t next                      # first word of the stream that nobody has

cdef int64_t reserve_words(Generator g, int64_t n) except -1       # the offset; n is rounded up to a multiple of 4
cdef Generator place_generator(int place)                          # of the current rank
