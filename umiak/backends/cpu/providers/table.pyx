"""A bounded table from exact shapes to what a library made for them.

Keys are compared in full. ``find`` and ``add`` return an entry that stays alive until its ``release``; a full table gives up
the first entry that was not used since its clock's hand last came by. What lies between a ``find`` that found nothing and the
``add`` is the making; ``making_seconds`` says how long this thread has spent on it.
"""
from libc.stdint cimport int64_t, uint64_t
from libc.stdlib cimport calloc, free, malloc
from libc.string cimport memcmp, memcpy

from umiak.backends.cpu.providers.common cimport lock, unlock

cdef extern from *:
    """
    #include <stdint.h>
    #include <time.h>
    static __thread int64_t umiak_missed_at, umiak_making;
    static inline int64_t umiak_now(void)
    {
        struct timespec t;
        clock_gettime(CLOCK_MONOTONIC, &t);
        return t.tv_sec * INT64_C(1000000000) + t.tv_nsec;
    }
    static inline void umiak_miss(void) { umiak_missed_at = umiak_now(); }
    static inline void umiak_made(void) { umiak_making += umiak_now() - umiak_missed_at; }
    """
    int64_t umiak_making
    void umiak_miss() nogil
    void umiak_made() nogil


def making_seconds():
    return umiak_making * 1e-9


cdef inline uint64_t hashed(const int64_t* key, int words) noexcept nogil:
    cdef uint64_t h = <uint64_t>words
    cdef int i
    for i in range(words):
        h = (h ^ <uint64_t>key[i]) * <uint64_t>0x9E3779B97F4A7C15
        h ^= h >> 29
    return h


cdef Table* new_table(int room, destroy_t destroy) noexcept nogil:
    cdef Table* t = <Table*>calloc(1, sizeof(Table))
    cdef uint64_t buckets = 1
    if t == NULL:
        return NULL
    while buckets < 2 * <uint64_t>room:
        buckets *= 2
    t.destroy, t.room, t.mask = destroy, room, buckets - 1
    t.buckets = <Entry**>calloc(buckets, sizeof(Entry*))
    t.slots = <Entry**>calloc(room, sizeof(Entry*))
    if t.buckets == NULL or t.slots == NULL:
        free_table(t)
        return NULL
    return t


cdef void discard(Table* t, Entry* e) noexcept nogil:
    if e != NULL:
        t.destroy(e.value)
        free(e.key)
        free(e)


cdef void free_table(Table* t) noexcept nogil:
    cdef int i
    if t == NULL:
        return
    for i in range(t.count):
        discard(t, t.slots[i])
    free(t.buckets)
    free(t.slots)
    free(t)


cdef inline Entry* locked_find(Table* t, uint64_t h, const int64_t* key, int words) noexcept nogil:
    cdef Entry* e = t.buckets[h & t.mask]
    while e != NULL:
        if e.hash == h and e.words == words and not memcmp(e.key, key, words * sizeof(int64_t)):
            e.users += 1
            e.used = True
            return e
        e = e.next
    return NULL


cdef Entry* find(Table* t, const int64_t* key, int words) noexcept nogil:
    cdef uint64_t h = hashed(key, words)
    lock()
    cdef Entry* e = locked_find(t, h, key, words)
    unlock()
    if e == NULL:
        umiak_miss()
    return e


cdef Entry* evicted(Table* t, int* slot) noexcept nogil:
    """An entry that nobody runs, taken out; NULL when all are in use."""
    cdef int i
    cdef Entry* e
    cdef Entry** at
    for i in range(2 * t.room):
        e = t.slots[t.hand]
        slot[0] = t.hand
        t.hand = (t.hand + 1) % t.room
        if e.users:
            continue
        if e.used:
            e.used = False
            continue
        at = &t.buckets[e.hash & t.mask]
        while at[0] != e:
            at = &at[0].next
        at[0] = e.next
        t.evictions += 1
        return e
    return NULL


cdef Entry* add(Table* t, const int64_t* key, int words, void* value) noexcept nogil:
    """Enter ``value``, which now belongs to the table; another thread's entry for the key, if it was faster."""
    cdef uint64_t h = hashed(key, words)
    cdef Entry* e = <Entry*>calloc(1, sizeof(Entry))
    cdef Entry* old = NULL
    cdef Entry* same
    cdef int slot
    umiak_made()
    if e != NULL:
        e.key = <int64_t*>malloc(words * sizeof(int64_t))
    if e == NULL or e.key == NULL:
        free(e)
        t.destroy(value)
        return NULL
    memcpy(e.key, key, words * sizeof(int64_t))
    e.hash, e.words, e.value, e.users, e.used = h, words, value, 1, True
    lock()
    t.misses += 1
    same = locked_find(t, h, key, words)
    if same != NULL:
        unlock()
        discard(t, e)
        return same
    if t.count < t.room:
        slot = t.count
        t.count += 1
    else:
        old = evicted(t, &slot)
        if old == NULL:
            unlock()
            return e
    e.listed = True
    t.slots[slot] = e
    e.next = t.buckets[h & t.mask]
    t.buckets[h & t.mask] = e
    unlock()
    discard(t, old)
    return e


cdef void release(Table* t, Entry* e) noexcept nogil:
    cdef bint last
    lock()
    e.users -= 1
    last = e.users == 0 and not e.listed
    unlock()
    if last:
        discard(t, e)


ROOM = 128                     # exact shapes per launcher


cdef class Shapes:
    """The state of a launch, with a table of exact shapes where it asks for one; ``pointer`` is its ``self``."""

    cdef void* launcher(self, size_t bytes) except NULL:
        """The struct that the launch gets, zeroed."""
        self.memory = calloc(1, bytes)
        if self.memory == NULL:
            raise MemoryError()
        return self.memory

    cdef Table* shapes(self, destroy_t destroy) except NULL:
        self.found = new_table(ROOM, destroy)
        if self.found == NULL:
            raise MemoryError()
        return self.found

    def __dealloc__(self):
        free_table(self.found)
        free(self.memory)

    @property
    def pointer(self):
        return <size_t>self.memory

    def entries(self):
        """Shapes in the table, shapes that were not found in it, and evictions."""
        if self.found == NULL:
            return 0, 0, 0
        return self.found.count, self.found.misses, self.found.evictions
