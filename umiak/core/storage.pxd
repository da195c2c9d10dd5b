"""Memory that may move. An address is read from ``Storage.data`` at launch and kept nowhere else."""
cimport cython
from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t

cdef enum StorageState:
    RESIDENT = 0
    OFFLOADED = 1
    FREED = 2
    UNFILLED = 3               # it never had memory: what is to be in it is not known yet

cdef enum MemoryAccess:        # what the host may do with the memory of an allocator
    ACCESS_DEVICE = 0          # nothing: it is copied by the backend
    ACCESS_HOST = 1            # read and write it
    ACCESS_NOTHING = 2         # there is no memory behind the addresses

cdef class Allocator:
    """Gives and takes back raw memory of one place. Subclasses live in umiak.memory and in backends."""
    cdef object __weakref__
    cdef readonly int access
    cdef int allocate(self, Storage s, int64_t nbytes, int64_t stream) except -1   # sets s.data, s.handle, s.capacity
    cdef void release(self, Storage s) noexcept                                    # after s's events
    # The rest is optional. Callers have checked that s is ours, unpinned and not in use by any stream.
    cdef int relocate(self, Storage s) except -1                                   # other memory, through move_to
    cdef int copy(self, char* target, const char* source, int64_t nbytes) except -1
    cdef object save(self, Storage s)                                              # contents, to be kept while the memory is given away
    cdef int load(self, Storage s, object kept) except -1                          # contents back into new memory

@cython.final
cdef class Storage:
    cdef object __weakref__
    # What every use reads lies together: a step over many tensors waits for memory.
    cdef char* data
    cdef uint32_t version                  # bumped by every in-place write
    cdef readonly uint32_t generation      # bumped by every move
    cdef readonly int64_t nbytes           # bytes asked for
    cdef readonly int64_t capacity         # bytes held
    cdef int64_t handle                    # the allocator's own mark (size class, block id)
    cdef readonly int64_t stream           # owning stream
    cdef list later                        # streams that used it since, or None
    cdef Allocator allocator               # None: memory of `owner`
    cdef object owner                      # keeps foreign memory alive; the saved contents while offloaded; why it is unfilled
    cdef readonly int32_t pins             # > 0: exported, must not move
    cdef readonly int32_t place            # place index
    cdef readonly uint8_t state

cdef Storage new_storage(int place, int64_t nbytes, int64_t stream)
cdef Storage unfilled_storage(int place, int64_t nbytes, int64_t stream, str why)
cdef Storage foreign_storage(int place, char* data, int64_t nbytes, object owner)
cdef void use_on_stream(Storage s, int64_t stream)
cdef int set_allocator(int place, Allocator a) except -1
cdef Allocator get_allocator(int place)                # sets the place up if need be
cdef int place_access(int place) except -1             # ACCESS_* of its allocator
cdef int move_to(Storage s, char* data, int64_t capacity, int64_t handle) except -1    # copies; the caller frees the old memory
cdef bint exchange(Storage s, Storage other) noexcept  # of their memory, where that is possible
cdef int adopt(Storage s, Storage other) except -1     # foreign memory becomes other's, which is given up
cdef int forsake(Storage s) except -1                  # foreign memory is let go of
cdef int make_resident(Storage s) except -1            # slow path of resident()
cdef int fill(Storage s) except -1                     # an unfilled storage gets memory
cdef int out_of_memory(int place, int64_t nbytes, int64_t allocated, int64_t reserved, int64_t limit, str why) except -1

cdef inline void pin(Storage s) noexcept:              # the address is known outside: it must stay
    s.pins += 1

cdef inline void unpin(Storage s) noexcept:
    s.pins -= 1

cdef inline void bump_storage(Storage s) noexcept:
    s.version += 1

cdef inline int resident(Storage s) except -1:         # call before s.data is read where offloaded memory may come by
    if s.state != RESIDENT:
        make_resident(s)
    return 0
