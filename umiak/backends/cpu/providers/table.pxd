"""A bounded table from exact shapes to what a library made for them."""
from libc.stdint cimport int64_t, uint64_t

ctypedef void (*destroy_t)(void* value) noexcept nogil

cdef struct Entry:
    Entry* next                # in its bucket
    uint64_t hash
    int64_t* key
    int words
    int users                  # launches that run it now
    bint used                  # since the hand came by
    bint listed                # False: thrown away by its last user
    void* value

cdef struct Table:
    destroy_t destroy
    int room, count, hand
    uint64_t mask
    Entry** buckets
    Entry** slots
    int64_t misses, evictions

cdef Table* new_table(int room, destroy_t destroy) noexcept nogil
cdef void free_table(Table* t) noexcept nogil
cdef Entry* find(Table* t, const int64_t* key, int words) noexcept nogil
cdef Entry* add(Table* t, const int64_t* key, int words, void* value) noexcept nogil
cdef void release(Table* t, Entry* e) noexcept nogil

cdef class Shapes:
    cdef void* memory          # the launcher's own struct
    cdef Table* found

    cdef void* launcher(self, size_t bytes) except NULL
    cdef Table* shapes(self, destroy_t destroy) except NULL
