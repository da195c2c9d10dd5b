# cython: binding=False
"""Launching products by integer weights: of a few rows by dot products of bytes, of many by weights that are restored.

Weights are read once, as they are stored. Threads divide the outputs; what an output gets does not depend on how many there are.
"""
from libc.stdint cimport int64_t, uint64_t
from libc.string cimport memset

from umiak.backends.cpu.launcher cimport no_memory, parallel_for, thread_count
from umiak.backends.cpu.providers.common cimport NO_MEMORY, in_order, launch_t, scratch_alloc, scratch_free

cdef enum:
    LINE = 64
    FEW_ROWS = 16                   # of x, up to which weights stay as they are
    PIECE = 32                      # outputs that a thread takes are a multiple of so many
    BLOCK_BYTES = 1 << 18           # of weights, which all rows of x meet while they are in the cache
    PART_BYTES = 1 << 17            # of weights, below which a thread is not asked
    RESTORED = 256                  # outputs whose weights are restored at a time
    RECORDS = 8                     # which one part writes

ctypedef void (*record_t)(char* to, const char* x, int64_t k, int64_t padded, int64_t offsets_bytes) noexcept nogil
ctypedef void (*dots_t)(
    float* c, int64_t c_row, const char* x, int64_t x_row, int64_t offsets_bytes, int64_t padded, const char* w, int64_t w_row,
    int64_t k, const float* scale, int64_t scale_row, int64_t blocks
) noexcept nogil
ctypedef void (*restore_t)(char* to, int64_t to_row, const char* w, int64_t k, const char* scale, int64_t scale_row) noexcept nogil
ctypedef void (*widened_t)(float* to, const char* x, int64_t n) noexcept nogil
ctypedef void (*rounded_t)(char* to, const float* x, int64_t n) noexcept nogil

cdef struct Config:                 # a class of calls
    record_t record
    restore_t restore
    rounded_t rounded
    widened_t widened
    dots_t[5] many                  # by rows of x
    dots_t[5] one
    int[5] unrolled
    int halves, digits, parts, group
    int itemsize, scale_itemsize
    bint exact                      # rows of x are numbers, not rounded to 8 bits
    launch_t matmul                 # x times a transposed matrix
    void* matmul_self

cdef struct Job:                    # a launch
    const Config* config
    const char* x                   # [m, k]
    const char* w                   # [rows, k]
    const char* scale               # [groups, outputs]
    char* c                         # [m, outputs]
    int64_t m, k, rows, outputs
    int64_t padded, offsets_bytes, record_bytes
    char* records
    int64_t chunk                   # rows of weights of a part
    char* restored                  # [RESTORED, k]
    int64_t first                   # the first row of weights that is restored


cdef inline int64_t round_up(int64_t n, int64_t of) noexcept nogil:
    return (n + of - 1) // of * of


cdef int write_records(void* arg, int64_t part) noexcept nogil:
    cdef const Job* j = <const Job*>arg
    cdef int64_t i
    for i in range(part * RECORDS, min((part + 1) * RECORDS, j.m)):
        j.config.record(j.records + i * j.record_bytes, j.x + i * j.k * j.config.itemsize, j.k, j.padded, j.offsets_bytes)
    return 0


cdef int multiply_part(void* arg, int64_t part) noexcept nogil:
    """All rows of x by some rows of weights, a block of them after the other."""
    cdef const Job* j = <const Job*>arg
    cdef const Config* f = j.config
    cdef int64_t end = min((part + 1) * j.chunk, j.rows), at = part * j.chunk, i, r, n, rows, full, output
    cdef int64_t block = max(PIECE, BLOCK_BYTES // max(j.k, 1) // PIECE * PIECE)
    cdef int64_t sums_row = block * f.halves * sizeof(float), groups = j.k // f.group if f.group else 1, g
    cdef float* sums = <float*>scratch_alloc((4 + groups) * sums_row + LINE)
    cdef float* scales = sums + 4 * block * f.halves
    cdef const char* x
    cdef const char* w
    if sums == NULL:
        return NO_MEMORY
    while at < end:
        n = min(block, end - at)
        w, output = j.w + at * j.k, at * f.halves
        for g in range(groups):
            f.widened(scales + g * block * f.halves, j.scale + (g * j.outputs + output) * f.scale_itemsize, n * f.halves)
        i = 0
        while i < j.m:
            rows = 4 if j.m - i >= 4 else 2 if j.m - i >= 2 else 1
            x = j.records + i * j.record_bytes
            full = n // f.unrolled[rows]
            f.many[rows](sums, sums_row, x, j.record_bytes, j.offsets_bytes, j.padded, w, j.k, j.k, scales, sums_row, full)
            full *= f.unrolled[rows]
            f.one[rows](sums + full * f.halves, sums_row, x, j.record_bytes, j.offsets_bytes, j.padded, w + full * j.k, j.k, j.k,
                        scales + full * f.halves, sums_row, n - full)
            for r in range(rows):
                f.rounded(j.c + ((i + r) * j.outputs + output) * f.itemsize, <float*>(<char*>sums + r * sums_row), n * f.halves)
            i += rows
        at += n
    scratch_free(sums)
    return 0


cdef int restore_part(void* arg, int64_t part) noexcept nogil:
    cdef const Job* j = <const Job*>arg
    cdef const Config* f = j.config
    cdef int64_t r, row = j.k * f.itemsize
    for r in range(part * j.chunk, min((part + 1) * j.chunk, min(RESTORED // f.halves, j.rows - j.first))):
        f.restore(j.restored + r * f.halves * row, row, j.w + (j.first + r) * j.k, j.k,
                  j.scale + (j.first + r) * f.halves * f.scale_itemsize, j.outputs * f.scale_itemsize)
    return 0


cdef inline int run_parts(int (*run)(void*, int64_t) noexcept nogil, Job* j, int64_t parts) noexcept nogil:
    return parallel_for(run, j, parts) if parts > 1 else run(j, 0) if parts else 0


cdef inline int64_t divide(Job* j, int64_t rows) noexcept nogil:
    """Set the chunk and return the number of parts for so many rows of weights."""
    cdef int64_t parts = max(1, min(<int64_t>thread_count(), rows * j.k // PART_BYTES))
    j.chunk = round_up((rows + parts - 1) // parts, PIECE)
    return (rows + j.chunk - 1) // j.chunk


cdef int by_bytes(Job* j) noexcept nogil:
    cdef const Config* f = j.config
    cdef int bad
    j.padded = round_up(j.k, LINE)
    j.offsets_bytes = LINE * f.parts * (j.k // f.group if f.group else 1)
    j.record_bytes = LINE + j.offsets_bytes + f.digits * j.padded
    j.records = <char*>scratch_alloc(j.m * j.record_bytes)
    if j.records == NULL:
        return NO_MEMORY
    bad = run_parts(write_records, j, (j.m + RECORDS - 1) // RECORDS)
    if not bad:
        bad = run_parts(multiply_part, j, divide(j, j.rows))
    scratch_free(j.records)
    return bad


cdef int by_restored(Job* j) noexcept nogil:
    cdef const Config* f = j.config
    cdef int64_t[10] dims
    cdef void* ptrs[3]
    cdef int64_t n, step = RESTORED // f.halves
    cdef int bad = 0
    j.restored = <char*>scratch_alloc(RESTORED * j.k * f.itemsize)
    if j.restored == NULL:
        return NO_MEMORY
    j.first = 0
    while j.first < j.rows and not bad:
        n = min(step, j.rows - j.first)
        bad = run_parts(restore_part, j, divide(j, n))
        if bad:
            break
        n *= f.halves
        dims[0], dims[1], dims[2], dims[3] = j.m, j.k, j.k, 1
        dims[4], dims[5], dims[6], dims[7] = n, j.k, j.k, 1
        dims[8], dims[9] = j.outputs, 1
        ptrs[0], ptrs[1], ptrs[2] = <void*>j.x, j.restored, j.c + j.first * f.halves * f.itemsize
        bad = f.matmul(f.matmul_self, ptrs, dims, NULL, 0)
        j.first += step
    scratch_free(j.restored)
    return bad


cdef bint all_zero(const char* x, int64_t bytes) noexcept nogil:
    cdef int64_t i
    for i in range(bytes):
        if x[i]:
            return False
    return True


cdef int launch(void* self, void** ptrs, const int64_t* dims, const uint64_t* scalars, int64_t stream) noexcept nogil:
    """The native launch ABI. ``dims``: rows of x, inputs, rows of weights; strides of x, of weights, of scales [groups, outputs].
    Pointers: x, weights, scales, the result."""
    cdef const Config* f = <const Config*>self
    cdef Job j
    cdef int64_t[2] sizes
    cdef void* rooms[3]
    cdef int bad
    j.config = f
    j.m, j.k, j.rows = dims[0], dims[1], dims[2]
    j.outputs = j.rows * f.halves
    j.x, j.w, j.scale, j.c = <const char*>ptrs[0], <const char*>ptrs[1], <const char*>ptrs[2], <char*>ptrs[3]
    if j.m == 0 or j.rows == 0:
        return 0
    rooms[0] = rooms[1] = rooms[2] = NULL
    sizes[0], sizes[1] = j.m, j.k
    bad = in_order(&j.x, sizes, dims + 3, 2, f.itemsize, &rooms[0])
    sizes[0] = j.rows
    if not bad:
        bad = in_order(&j.w, sizes, dims + 5, 2, 1, &rooms[1])
    sizes[0], sizes[1] = j.k // f.group if f.group else 1, j.outputs
    if not bad:
        bad = in_order(&j.scale, sizes, dims + 7, 2, f.scale_itemsize, &rooms[2])
    if not bad and f.exact and all_zero(j.x, j.m * j.k * f.itemsize):
        memset(j.c, 0, j.m * j.outputs * f.itemsize)     # the outliers of LLM.int8() are often none
    elif not bad:
        bad = by_restored(&j) if f.exact and j.m > FEW_ROWS and f.matmul != NULL else by_bytes(&j)
    scratch_free(rooms[0])
    scratch_free(rooms[1])
    scratch_free(rooms[2])
    return no_memory() if bad == NO_MEMORY else bad


cdef class LowBit:
    """A kernel of products for one class of x, weights and scales."""

    cdef Config config
    cdef object keep

    def __init__(self, functions, keep, *, rows, unrolled, int halves, int digits, int parts, int group, int itemsize, int scale_itemsize,
                 size_t matmul, size_t matmul_self):
        self.keep = keep
        self.config.record = <record_t><void*><size_t>functions["record"]
        self.config.restore = <restore_t><void*><size_t>functions["restore"]
        self.config.widened = <widened_t><void*><size_t>functions["widened"]
        self.config.rounded = <rounded_t><void*><size_t>functions["rounded"]
        for i, n in zip(rows, unrolled, strict=True):
            self.config.many[i] = <dots_t><void*><size_t>functions[f"dots_{i}_many"]
            self.config.one[i] = <dots_t><void*><size_t>functions[f"dots_{i}_one"]
            self.config.unrolled[i] = n
        self.config.halves, self.config.digits, self.config.parts, self.config.group = halves, digits, parts, group
        self.config.itemsize, self.config.scale_itemsize = itemsize, scale_itemsize
        self.config.exact = digits > 1
        self.config.matmul, self.config.matmul_self = <launch_t><void*>matmul, <void*>matmul_self

    @property
    def address(self):
        return <size_t><void*>&launch

    @property
    def self_pointer(self):
        return <size_t>&self.config
