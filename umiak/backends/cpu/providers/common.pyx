"""Common parts of all launchers: scratch memory, one lock, the thread count, strided copies."""
from libc.stdint cimport int64_t, uint64_t
from libc.stdlib cimport free
from libc.string cimport memcpy, memset

cdef extern from *:
    """
    #include <pthread.h>
    #include <stdlib.h>
    #include <stdint.h>
    #include <string.h>

    /* One lock for all tables: it is held for some tens of nanoseconds. Forking takes it, so that no child inherits it
     * locked by a thread that it does not have. */
    static char umiak_locked;
    static int umiak_forked;
    static inline void umiak_lock(void) {
        while (__atomic_test_and_set(&umiak_locked, __ATOMIC_ACQUIRE))
            while (__atomic_load_n(&umiak_locked, __ATOMIC_RELAXED)) { }
    }
    static inline void umiak_unlock(void) { __atomic_clear(&umiak_locked, __ATOMIC_RELEASE); }
    static void umiak_in_child(void) { umiak_forked = 1; umiak_unlock(); }
    static int umiak_watch_forks(void) { return pthread_atfork(umiak_lock, umiak_unlock, umiak_in_child); }

    /* One element at a time where neither side is contiguous. */
    static void umiak_copy_row(char *t, int64_t to, const char *s, int64_t by, int64_t n, int size) {
        #define UMIAK_ROW(T) { T *q = (T *)t; const T *p = (const T *)s; for (int64_t i = 0; i < n; i++) q[i * to] = p[i * by]; }
        switch (size) {
            case 1: UMIAK_ROW(uint8_t) break;
            case 2: UMIAK_ROW(uint16_t) break;
            case 4: UMIAK_ROW(uint32_t) break;
            case 8: UMIAK_ROW(uint64_t) break;
            default: for (int64_t i = 0; i < n; i++) memcpy(t + i * to * size, s + i * by * size, size);
        }
    }

    /* A transposition: n elements are contiguous in the target, m in the source. In tiles, so that lines of both stay. */
    static void umiak_copy_tiles(char *t, int64_t to, const char *s, int64_t by, int64_t n, int64_t m, int size) {
        #define UMIAK_TILE(T) { T *q = (T *)t; const T *p = (const T *)s; \
            for (int64_t j = b; j < e; j++) for (int64_t i = a; i < d; i++) q[j * to + i] = p[i * by + j]; }
        for (int64_t b = 0; b < m; b += 16) {
            int64_t e = b + 16 < m ? b + 16 : m;
            for (int64_t a = 0; a < n; a += 16) {
                int64_t d = a + 16 < n ? a + 16 : n;
                switch (size) {
                    case 1: UMIAK_TILE(uint8_t) break;
                    case 2: UMIAK_TILE(uint16_t) break;
                    case 4: UMIAK_TILE(uint32_t) break;
                    case 8: UMIAK_TILE(uint64_t) break;
                    default: for (int64_t j = b; j < e; j++) for (int64_t i = a; i < d; i++)
                        memcpy(t + (j * to + i) * size, s + (i * by + j) * size, size);
                }
            }
        }
    }
    """
    void umiak_copy_tiles(char* t, int64_t to, const char* s, int64_t by, int64_t n, int64_t m, int size) nogil
    void umiak_lock() nogil
    void umiak_unlock() nogil
    int umiak_forked
    int umiak_watch_forks() nogil
    void umiak_copy_row(char* t, int64_t to, const char* s, int64_t by, int64_t n, int size) nogil

cdef extern from "umiak/util/large_pages.h":
    void* umiak_numbers(size_t n) nogil

cdef enum:
    HEADER = 64
    KEPT = 24                  # free blocks that are kept
    KEPT_BYTES = 256 << 20     # and their sum

ctypedef int (*count_t)() noexcept nogil

cdef int thread_count = 1      # 0: what the engine uses
cdef count_t engine_threads = NULL
cdef void* kept[KEPT]
cdef int kept_count = 0
cdef int64_t kept_bytes = 0

if umiak_watch_forks():
    raise MemoryError("pthread_atfork")


cdef int lock() noexcept nogil:
    umiak_lock()
    return 0


cdef int unlock() noexcept nogil:
    umiak_unlock()
    return 0


cdef int threads() noexcept nogil:
    if umiak_forked:
        return 1
    return thread_count if thread_count or engine_threads == NULL else engine_threads()


def follow(size_t address):
    """Use as many threads as ``int address()`` says, unless ``set_threads`` has said how many."""
    global engine_threads, thread_count
    engine_threads = <count_t><void*>address
    thread_count = 0


def set_threads(int n):
    """Set the number of threads that the libraries may use; 0: as many as the engine. A forked child stays at one: their pools do not survive."""
    global thread_count
    if n < (1 if engine_threads == NULL else 0):
        raise ValueError(f"[set_threads] requires at least one thread, got {n}")
    thread_count = n


def get_threads():
    return threads()


def kept_scratch():
    """Blocks and bytes of free scratch."""
    return kept_count, kept_bytes


def drop_scratch():
    """Give free scratch back to the system."""
    global kept_count, kept_bytes
    cdef void* block
    while True:
        block = NULL
        umiak_lock()
        if kept_count:
            kept_count -= 1
            block = kept[kept_count]
            kept_bytes -= (<int64_t*>block)[0]
        umiak_unlock()
        if block == NULL:
            return
        free(block)


cdef void* scratch_alloc(int64_t nbytes) noexcept nogil:
    # Fresh pages cost more than most work done in them, so blocks are kept; the smallest that is not wasteful is used.
    global kept_count, kept_bytes
    cdef int i, best = -1
    cdef int64_t size, best_size = 0
    cdef char* block
    nbytes = (nbytes + 4095) & ~4095
    umiak_lock()
    for i in range(kept_count):
        size = (<int64_t*>kept[i])[0]
        if nbytes <= size <= 2 * nbytes + (1 << 16) and (best < 0 or size < best_size):
            best, best_size = i, size
    if best >= 0:
        block = <char*>kept[best]
        kept_count -= 1
        kept_bytes -= best_size
        kept[best] = kept[kept_count]
        umiak_unlock()
        return block + HEADER
    umiak_unlock()
    block = <char*>umiak_numbers(nbytes + HEADER)
    if block == NULL:
        return NULL
    (<int64_t*>block)[0] = nbytes
    return block + HEADER


cdef void scratch_free(void* data) noexcept nogil:
    global kept_count, kept_bytes
    cdef char* block
    cdef int64_t size
    cdef void* oldest = NULL
    if data == NULL:
        return
    block = <char*>data - HEADER
    size = (<int64_t*>block)[0]
    umiak_lock()
    if size <= KEPT_BYTES // 4:
        if kept_count == KEPT or kept_bytes + size > KEPT_BYTES:
            if kept_count:
                # The first in the list has lain there longest, or nearly so.
                oldest = kept[0]
                kept_count -= 1
                kept_bytes -= (<int64_t*>oldest)[0]
                kept[0] = kept[kept_count]
        if kept_count < KEPT and kept_bytes + size <= KEPT_BYTES:
            kept[kept_count] = block
            kept_count += 1
            kept_bytes += size
            block = NULL
    umiak_unlock()
    free(oldest)
    free(block)


cdef void dense(const int64_t* sizes, int rank, int64_t* strides) noexcept nogil:
    """Strides of a contiguous tensor."""
    cdef int64_t step = 1
    cdef int i
    for i in range(rank - 1, -1, -1):
        strides[i] = step
        step *= sizes[i]


cdef int copy_strided(
    char* target, const int64_t* to, const char* source, const int64_t* by, const int64_t* sizes, int rank, int itemsize
) noexcept nogil:
    """``target[i] = source[i]``; strides in elements. Rows run along the axis where the target is contiguous."""
    cdef int64_t at[MAX_AXES]
    cdef int i, inner = -1, other = -1
    cdef int64_t n = 1
    for i in range(rank):
        if sizes[i] == 0:
            return 0
        at[i] = 0
        if sizes[i] > 1 and (inner < 0 or to[i] <= to[inner]):
            inner = i
    if inner < 0:
        memcpy(target, source, itemsize)
        return 0
    n = sizes[inner]
    if to[inner] == 1 and by[inner] != 1:
        for i in range(rank):
            if i != inner and sizes[i] > 1 and by[i] == 1:
                other = i
    while True:
        if other >= 0:
            umiak_copy_tiles(target, to[other], source, by[inner], n, sizes[other], itemsize)
        elif to[inner] == 1 and by[inner] == 1:
            memcpy(target, source, n * itemsize)
        else:
            umiak_copy_row(target, to[inner], source, by[inner], n, itemsize)
        i = rank - 1
        while i >= 0:
            if i != inner and i != other:
                at[i] += 1
                target += to[i] * itemsize
                source += by[i] * itemsize
                if at[i] < sizes[i]:
                    break
                target -= at[i] * to[i] * itemsize
                source -= at[i] * by[i] * itemsize
                at[i] = 0
            i -= 1
        if i < 0:
            return 0


cdef int zero_strided(char* target, const int64_t* to, const int64_t* sizes, int rank, int itemsize) noexcept nogil:
    cdef int64_t none[MAX_AXES]
    cdef char zeros[16]
    cdef int i
    memset(zeros, 0, 16)
    for i in range(rank):
        none[i] = 0
    return copy_strided(target, to, zeros, none, sizes, rank, itemsize)


cdef int in_order(
    const char** x, const int64_t* sizes, const int64_t* strides, int rank, int itemsize, void** room
) noexcept nogil:
    cdef int64_t to[MAX_AXES]
    cdef int64_t n = 1
    cdef int i
    cdef bint lies = True
    dense(sizes, rank, to)
    for i in range(rank):
        lies = lies and (sizes[i] == 1 or strides[i] == to[i])
        n *= sizes[i]
    room[0] = NULL
    if lies or n == 0:
        return 0
    room[0] = scratch_alloc(n * itemsize)
    if room[0] == NULL:
        return NO_MEMORY
    copy_strided(<char*>room[0], to, x[0], strides, sizes, rank, itemsize)
    x[0] = <const char*>room[0]
    return 0


globals().update(NO_MEMORY=NO_MEMORY)
