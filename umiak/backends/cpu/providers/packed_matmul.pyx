# cython: binding=False
"""Matmuls of float32 by packed operands, on processors with AVX2 and without AVX-512: when, and in which pieces. The arithmetic is in packed_matmul.h.

Threads divide rows and columns of the result, never a sum, and each packs what it needs: results do not depend on them.
"""
from libc.stdint cimport int64_t
from libc.string cimport memset

from umiak.backends.cpu.launcher cimport parallel_for, thread_count
from umiak.backends.cpu.providers.common cimport NO_MEMORY, scratch_alloc, scratch_free, threads

cdef extern from "packed_matmul.h" nogil:
    enum:
        PACKED_ROWS
    int packed_level()
    int64_t packed_room(const PackedMatmul* q)
    void packed_unit(const PackedMatmul* q, int64_t unit, float* room)

cdef enum:
    FEWEST_ROWS = 12           # that pay for packing a matrix, of
    FEWEST_COLUMNS = 32        # so many columns
    FEWEST_TERMS = 16          # and terms
    ALIASED = 256              # rows of so many floats, or a multiple, meet in a few sets of the L1 cache;
    BADLY_ALIASED = 512        # these even where there are few rows to share the copy:
    SHARING_ROWS = 64
    LIBRARY_COPIES = 263       # rows and columns, half of whose harmonic mean it is: above, the library packs, too
    STEPS_PER_PART = 1 << 19         # multiplications of a part that is worth a thread

cdef int level = packed_level()
cdef bint wanted = level == 1


def choose(use=None):
    """Multiply so where the processor can, do not, or do on processors that are faster so (None)."""
    global wanted
    wanted = level == 1 if use is None else use and level > 0


def available():
    """Return whether matmuls may be done so here."""
    return bool(wanted)


cdef bint multiplies_packed() noexcept nogil:
    return wanted


cdef bint worth_packing(int64_t m, int64_t n, int64_t k, int64_t bk, int64_t bn) noexcept nogil:
    if not wanted or m < FEWEST_ROWS or n < FEWEST_COLUMNS or k < FEWEST_TERMS:
        return False
    if bn != 1:
        return bk == 1
    # The library has kernels that read a matrix as it lies, and are slow where its rows evict each other.
    return bk % (BADLY_ALIASED if m < SHARING_ROWS else ALIASED) == 0 and <double>m * n <= LIBRARY_COPIES * (<double>m + n)


cdef int64_t parts_of(const PackedMatmul* q) noexcept nogil:
    cdef int64_t most = thread_count() if threads() > 1 else 1
    return max(<int64_t>1, min(most, q.m * q.n * q.k // STEPS_PER_PART))


cdef int run_unit(void* job, int64_t unit) noexcept nogil:
    cdef const PackedMatmul* q = <const PackedMatmul*>job
    cdef float* room = <float*>scratch_alloc(packed_room(q) * sizeof(float))
    if room == NULL:
        return NO_MEMORY
    packed_unit(q, unit, room)
    scratch_free(room)
    return 0


cdef int packed_matmul(PackedMatmul* q) noexcept nogil:
    cdef int64_t parts = parts_of(q), down, across, panels = (q.m + PACKED_ROWS - 1) // PACKED_ROWS
    cdef int64_t strips = (q.n + PACKED_STRIP - 1) // PACKED_STRIP
    cdef double packed, least = -1
    q.down = q.across = 1
    # All but the pieces of a thread are packed by others as well: as few rows and columns apiece as there can be.
    for down in range(1, min(parts, panels) + 1):
        across = min(parts // down, strips)
        packed = <double>q.m / down + (0 if q.strips != NULL else <double>q.n / across)
        if down * across * 4 >= min(parts, panels * strips) * 3 and (least < 0 or packed < least):
            least, q.down, q.across = packed, down, across
    return run_unit(q, 0) if q.down * q.across == 1 else parallel_for(run_unit, q, q.down * q.across)



cdef int packed(
    int64_t m, int64_t n, int64_t k, const float* a, int64_t am, int64_t ak, const float* b, int64_t bk, int64_t bn, float* c,
    int64_t ldc, bint accumulate
) noexcept nogil:
    cdef PackedMatmul q
    memset(&q, 0, sizeof(q))
    q.m, q.n, q.k, q.c, q.c_row, q.accumulate = m, n, k, c, ldc, accumulate
    q.a, q.a_row, q.a_term, q.b, q.b_term, q.b_column = a, am, ak, b, bk, bn
    return packed_matmul(&q)


STRIP = PACKED_STRIP
