# cython: binding=False
"""Launching products by integer weights: of a few rows by dot products of bytes, of many in tiles or by restored weights.

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
    # tiles, as low_bit_tiles.py has them
    TILE_BYTES = 1024
    STRIP_ROWS = 16                 # of x
    BLOCK_ROWS = 32                 # of x, and outputs
    CHUNK_BYTES = 512               # of a row of x
    STRIP_BYTES = STRIP_ROWS * CHUNK_BYTES
    TILED_ROWS = 512                # of x, of which a chunk stays in the second level of the cache
    TILED_OUTPUTS = 512             # whose sums stay there, too

ctypedef void (*record_t)(char* to, const char* x, int64_t k, int64_t padded, int64_t offsets_bytes) noexcept nogil
ctypedef void (*dots_t)(
    float* c, int64_t c_row, const char* x, int64_t x_row, int64_t offsets_bytes, int64_t padded, const char* w, int64_t w_row,
    int64_t k, const float* scale, int64_t scale_row, int64_t blocks
) noexcept nogil
ctypedef void (*restore_t)(char* to, int64_t to_row, const char* w, int64_t k, const char* scale, int64_t scale_row) noexcept nogil
ctypedef void (*widened_t)(float* to, const char* x, int64_t n) noexcept nogil
ctypedef void (*rounded_t)(char* to, const float* x, int64_t n) noexcept nogil
ctypedef void (*switch_t)() noexcept nogil
ctypedef void (*pack_t)(char* to, const char* x, int64_t x_row, int64_t rows, int64_t bytes) noexcept nogil
ctypedef void (*weights_t)(char* to, const char* w, int64_t w_row, int64_t rows, int64_t k, const float* scale) noexcept nogil
ctypedef void (*multiply_t)(char* c, const char* w, const char* x, int64_t steps) noexcept nogil
ctypedef void (*results_t)(
    char* to, int64_t to_row, char* c, int64_t rows, int64_t outputs, const float* scale, const char* unit, int64_t unit_row
) noexcept nogil

cdef struct Tiles:                  # functions of low_bit_tiles.py
    switch_t begin, end
    pack_t pack
    weights_t weights
    multiply_t multiply, multiply_more
    results_t results

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
    bint tiled                      # many rows of x meet weights in tiles
    Tiles tiles

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
    char* packed                    # rows of x in strips, a chunk of their inputs after the other
    int64_t strips


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


cdef int rows_in_bytes(Job* j) noexcept nogil:
    """Write the records of x, which the caller frees."""
    cdef const Config* f = j.config
    j.padded = round_up(j.k, LINE)
    j.offsets_bytes = LINE * f.parts * (j.k // f.group if f.group else 1)
    j.record_bytes = LINE + j.offsets_bytes + f.digits * j.padded
    j.records = <char*>scratch_alloc(j.m * j.record_bytes)
    if j.records == NULL:
        return NO_MEMORY
    return run_parts(write_records, j, (j.m + RECORDS - 1) // RECORDS)


cdef int by_bytes(Job* j) noexcept nogil:
    cdef int bad = rows_in_bytes(j)
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


cdef int pack_part(void* arg, int64_t part) noexcept nogil:
    """A strip of x."""
    cdef const Job* j = <const Job*>arg
    cdef const Config* f = j.config
    cdef int64_t rows = min(<int64_t>STRIP_ROWS, j.m - part * STRIP_ROWS), at = 0, c = 0
    cdef int64_t row = j.k * f.itemsize if f.exact else j.record_bytes, bytes = j.k * f.itemsize if f.exact else j.k
    cdef const char* x = j.x if f.exact else j.records + LINE + j.offsets_bytes
    cdef char* to
    while at < bytes:
        to = j.packed + (c * j.strips + part) * STRIP_BYTES
        if rows > 0:
            f.tiles.pack(to, x + part * STRIP_ROWS * row + at, row, rows, min(<int64_t>CHUNK_BYTES, bytes - at))
        else:
            memset(to, 0, STRIP_BYTES)
        at += CHUNK_BYTES
        c += 1
    return 0


cdef struct Panel:                  # outputs and rows of x whose sums are in the cache at a time
    int64_t lo, outputs, first, rows
    int64_t blocks                  # of rows
    char* sums                      # tiles, a block of rows after the other for each block of outputs
    char* restored                  # a chunk of the weights of a block of outputs, and of the next one
    float* group_scales             # of the block that is restored
    float* scales                   # of the block that is multiplied


cdef inline int64_t block_outputs(const Panel* p, int64_t block) noexcept nogil:
    return min(<int64_t>BLOCK_ROWS, p.outputs - block * BLOCK_ROWS)


cdef void restore_block(const Job* j, const Panel* p, int64_t block, int64_t at, int64_t k, char* to, int64_t lo, int64_t rows) noexcept nogil:
    """Inputs ``at`` to ``at + k`` of some rows of the weights of a block."""
    cdef const Config* f = j.config
    cdef int64_t output = p.lo + block * BLOCK_ROWS, g
    cdef int64_t here = min(rows, block_outputs(p, block) // f.halves - lo)
    if lo == 0:
        for g in range(k // f.group if f.group else 0):
            f.widened(p.group_scales + g * BLOCK_ROWS, j.scale + ((at // f.group + g) * j.outputs + output) * f.scale_itemsize, block_outputs(p, block))
    if here > 0:
        f.tiles.weights(to + lo * f.halves * LINE, j.w + (output // f.halves + lo) * j.k + at, j.k, here, k, p.group_scales + lo * f.halves)


cdef void write_results(const Job* j, const Panel* p, int64_t block, int64_t i) noexcept nogil:
    """Block ``i`` of the rows of a block of outputs."""
    cdef const Config* f = j.config
    cdef int64_t s, row, c_row = j.outputs * f.itemsize, end = p.first + p.rows
    for s in range(2):
        row = p.first + i * BLOCK_ROWS + s * STRIP_ROWS
        if row < end:
            f.tiles.results(
                j.c + row * c_row + (p.lo + block * BLOCK_ROWS) * f.itemsize, c_row, p.sums + ((block * p.blocks + i) * 4 + s) * TILE_BYTES,
                min(<int64_t>STRIP_ROWS, end - row), block_outputs(p, block), p.scales, j.records + row * j.record_bytes, j.record_bytes)


cdef void multiply_panel(const Job* j, const Panel* p) noexcept nogil:
    """While tiles are multiplied, which is not the work of the vector units, these restore what comes next."""
    cdef const Config* f = j.config
    cdef int64_t size = f.itemsize if f.exact else 1, chunk = CHUNK_BYTES // size, at = 0, k, i, b, steps
    cdef int64_t blocks = (p.outputs + BLOCK_ROWS - 1) // BLOCK_ROWS, rows = BLOCK_ROWS // f.halves, some = (rows + p.blocks - 1) // p.blocks
    cdef const char* x = j.packed + p.first // STRIP_ROWS * STRIP_BYTES
    cdef char* now = p.restored
    cdef char* soon = p.restored + BLOCK_ROWS * CHUNK_BYTES
    cdef multiply_t multiply = f.tiles.multiply
    while at < j.k:
        k = min(chunk, j.k - at)
        steps = (k * size + LINE - 1) // LINE
        restore_block(j, p, 0, at, k, now, 0, rows)
        for b in range(blocks):
            if at + k == j.k and not f.group:
                f.widened(p.scales, j.scale + (p.lo + b * BLOCK_ROWS) * f.scale_itemsize, block_outputs(p, b))
            for i in range(p.blocks):
                multiply(p.sums + (b * p.blocks + i) * 4 * TILE_BYTES, now, x + 2 * i * STRIP_BYTES, steps)
                if b + 1 < blocks:
                    restore_block(j, p, b + 1, at, k, soon, i * some, some)
                if at + k == j.k and i:
                    write_results(j, p, b, i - 1)
            if at + k == j.k:
                write_results(j, p, b, p.blocks - 1)
            now, soon = soon, now
        multiply = f.tiles.multiply_more
        x += j.strips * STRIP_BYTES
        at += k


cdef int tiled_part(void* arg, int64_t part) noexcept nogil:
    """All rows of x by some rows of weights, in tiles."""
    cdef const Job* j = <const Job*>arg
    cdef const Config* f = j.config
    cdef int64_t end = min((part + 1) * j.chunk, j.rows) * f.halves
    cdef int64_t most, buffers = 2 * BLOCK_ROWS * CHUNK_BYTES, scales = (CHUNK_BYTES // LINE + 1) * BLOCK_ROWS
    cdef Panel p
    p.lo = part * j.chunk * f.halves
    most = round_up(min(<int64_t>TILED_ROWS, j.m), BLOCK_ROWS) * round_up(min(<int64_t>TILED_OUTPUTS, end - p.lo), BLOCK_ROWS) * sizeof(float)
    p.sums = <char*>scratch_alloc(most + buffers + scales * sizeof(float))
    if p.sums == NULL:
        return NO_MEMORY
    p.restored = p.sums + most
    p.scales = <float*>(p.restored + buffers)
    p.group_scales = p.scales + BLOCK_ROWS
    memset(p.restored, 0, buffers + scales * sizeof(float))      # what is beyond the last output
    f.tiles.begin()
    while p.lo < end:
        p.outputs = min(<int64_t>TILED_OUTPUTS, end - p.lo)
        p.first = 0
        while p.first < j.m:
            p.rows = min(<int64_t>TILED_ROWS, j.m - p.first)
            p.blocks = (p.rows + BLOCK_ROWS - 1) // BLOCK_ROWS
            multiply_panel(j, &p)
            p.first += p.rows
        p.lo += p.outputs
    f.tiles.end()
    scratch_free(p.sums)
    return 0


cdef int by_tiles(Job* j) noexcept nogil:
    cdef const Config* f = j.config
    cdef int bad = 0
    j.strips = round_up(j.m, BLOCK_ROWS) // STRIP_ROWS
    j.packed = <char*>scratch_alloc(j.strips * round_up(j.k * (f.itemsize if f.exact else 1), CHUNK_BYTES) * STRIP_ROWS)
    if j.packed == NULL:
        return NO_MEMORY
    if not f.exact:
        bad = rows_in_bytes(j)
    if not bad:
        bad = run_parts(pack_part, j, j.strips)
    if not bad:
        bad = run_parts(tiled_part, j, divide(j, j.rows))
    scratch_free(j.records)
    scratch_free(j.packed)
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
    j.records, j.record_bytes = NULL, 0
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
    elif not bad and j.m > FEW_ROWS and f.tiled:
        bad = by_tiles(&j)
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
                 size_t matmul, size_t matmul_self, tiles=None):
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
        self.config.tiled = tiles is not None
        if tiles is not None:
            self.config.tiles.begin = <switch_t><void*><size_t>tiles["begin"]
            self.config.tiles.end = <switch_t><void*><size_t>tiles["end"]
            self.config.tiles.pack = <pack_t><void*><size_t>tiles["pack"]
            self.config.tiles.weights = <weights_t><void*><size_t>tiles["weights"]
            self.config.tiles.multiply = <multiply_t><void*><size_t>tiles["multiply"]
            self.config.tiles.multiply_more = <multiply_t><void*><size_t>tiles["multiply_more"]
            self.config.tiles.results = <results_t><void*><size_t>tiles["results"]

    @property
    def address(self):
        return <size_t><void*>&launch

    @property
    def self_pointer(self):
        return <size_t>&self.config
