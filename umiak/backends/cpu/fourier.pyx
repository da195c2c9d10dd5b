# cython: binding=False
"""Fourier transforms of rows of a power of two of numbers: fourier.h, rows in parts among threads."""
from libc.stdint cimport int64_t

from umiak.backends.cpu.launcher cimport parallel_for, thread_count
from umiak.backends.cpu.providers.common cimport NO_MEMORY, scratch_alloc, scratch_free

cdef extern from "umiak/backends/cpu/fourier.h" nogil:
    int UMIAK_FOURIER_LEAST, UMIAK_FOURIER_MOST
    int UMIAK_COMPLEX, UMIAK_TO_HALF, UMIAK_TO_WHOLE, UMIAK_FROM_HALF
    ctypedef struct umiak_fourier:
        int n
    ctypedef struct umiak_fourier_launch:
        const umiak_fourier* plan
        int kind
        int inverse
        double scale
        const char* x
        char* out
        int64_t rows, chunk, x_bytes, out_bytes
    int umiak_fourier_level()
    int64_t umiak_fourier_memory(const umiak_fourier* f)
    void umiak_fourier_rows(const umiak_fourier_launch* p, int64_t first, int64_t last, void* memory)
    umiak_fourier* umiak_fourier_plan(int log2, int doubles)

cdef enum:
    PARALLEL = 1 << 15          # numbers, from which on other threads help
    PARTS_PER_THREAD = 4

cdef umiak_fourier* plans[2][32]
USABLE = umiak_fourier_level() > 0


def serves(int64_t points, bint real):
    """Say whether rows of so many numbers, real at one of the two ends, are transformed here."""
    if real:
        if points & 1:
            return False
        points >>= 1
    return (
        USABLE and points & (points - 1) == 0 and 1 << UMIAK_FOURIER_LEAST <= points <= 1 << UMIAK_FOURIER_MOST)


cdef int run_part(void* arg, int64_t part) noexcept nogil:
    cdef umiak_fourier_launch* p = <umiak_fourier_launch*>arg
    cdef void* memory = scratch_alloc(umiak_fourier_memory(p.plan))
    if memory == NULL:
        return NO_MEMORY
    umiak_fourier_rows(p, part * p.chunk, min((part + 1) * p.chunk, p.rows), memory)
    scratch_free(memory)
    return 0


def transform(size_t x, size_t out, bint doubles, str kind, bint inverse, int64_t points, int64_t rows, int64_t x_bytes,
              int64_t out_bytes, double scale):
    """Transform ``rows`` rows of ``points`` numbers, by address."""
    cdef umiak_fourier_launch p
    cdef int64_t parts = 1
    cdef int log2 = 0, code
    p.kind = KINDS[kind]
    if not serves(points, p.kind != UMIAK_COMPLEX):
        raise ValueError(f"[fourier.transform] requires a number of points that is served, got {points}")
    if p.kind != UMIAK_COMPLEX:
        points >>= 1
    while 1 << log2 < points:
        log2 += 1
    if plans[doubles][log2] == NULL:
        plans[doubles][log2] = umiak_fourier_plan(log2, doubles)
        if plans[doubles][log2] == NULL:
            raise MemoryError(f"no memory for the roots of unity of {points} points")
    p.plan = plans[doubles][log2]
    p.inverse = inverse
    p.scale = scale
    p.x, p.out = <const char*>x, <char*>out
    p.rows, p.x_bytes, p.out_bytes = rows, x_bytes, out_bytes
    if rows > 1 and rows * points >= PARALLEL and thread_count() > 1:
        parts = min(rows, <int64_t>thread_count() * PARTS_PER_THREAD)
    p.chunk = (rows + parts - 1) // parts
    with nogil:
        code = parallel_for(run_part, &p, parts) if parts > 1 else run_part(&p, 0)
    if code != 0:
        raise MemoryError(f"no memory to transform {points} points")


KINDS = {
    "complex": UMIAK_COMPLEX, "to_half": UMIAK_TO_HALF, "to_whole": UMIAK_TO_WHOLE, "from_half": UMIAK_FROM_HALF}
