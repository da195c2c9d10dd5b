# cython: binding=False
"""Products of a few rows by a matrix that is read once for four of them, among threads by its columns.

Compiled at the first such product of a dtype (few_rows_kernels.py). What a column gets does not depend on the number of threads, nor,
of a matrix [n, k], on the other rows: each result is added up in the same order. With more than four rows such a matrix is taken in
pieces that stay in the cache for all of them.
"""
from libc.stdint cimport int64_t
from libc.string cimport memset

from umiak.backends.cpu.launcher cimport parallel_for, thread_count
from umiak.backends.cpu.providers.common cimport NO_MEMORY, copy_strided, scratch_alloc, scratch_free
from umiak.backends.cpu.providers.gemm cimport T_BF16, T_F16, T_F32, itemsize_of, widen

cdef extern from "Python.h":
    void PyErr_SetObject(object type, object value)

cdef extern from *:
    """
    #define umiak_acquire_load(p) __atomic_load_n(p, __ATOMIC_ACQUIRE)
    #define umiak_release_store(p, x) __atomic_store_n(p, x, __ATOMIC_RELEASE)
    """
    int umiak_acquire_load(int* p) nogil
    void umiak_release_store(int* p, int x) nogil

cdef enum:
    LANES = 16                      # at most: what rows of sums have more
    PIECE = 64                      # columns that one thread takes are a multiple of so many
    MOST_COLUMNS = 8192             # whose rows lie in the second level of the cache with those that are asked for
    PART_BYTES = 1 << 18            # of the matrix, below which a thread is not asked
    PIECE_BYTES = 1 << 18           # of the matrix, that stay in the second level of the cache
    TOGETHER = 4                    # rows of x that one function takes at most
    MOST_ROWS = 32                  # of x, whose sums are stored before they are rounded; a multiple of TOGETHER
    ERROR_SET = -1                  # a Python exception is set in this thread
    # states of an entry
    NOT_ASKED = 0
    READY = 1
    NONE = 2

ctypedef void (*product_t)(float* c, int64_t c_row, const float* x, int64_t x_row, const char* w, int64_t w_row, int64_t length,
                           int64_t blocks) noexcept nogil
ctypedef void (*rounded_t)(char* to, const float* x, int64_t n) noexcept nogil

cdef struct Functions:              # for matrices of a dtype
    int state
    product_t[5] columns            # by rows of x; ``column_steps`` rows of the matrix at a time, or one
    product_t[5] column
    product_t[5] outputs
    product_t[5] output
    rounded_t rounded, rounded_columns   # of sums for rows of a matrix [n, k], or columns of one [k, n]
    int column_steps, output_steps

cdef struct Work:
    const Functions* f
    const float* x                  # [m, k], rows ``x_row`` bytes apart
    int64_t x_row
    const char* w
    int64_t w_row                   # bytes
    char* c
    int64_t c_row                   # bytes
    int64_t m, n, k, chunk
    int itemsize
    bint transposed                 # rows of the matrix are columns of the product

cdef Functions[3] TABLE
_kept = {}                          # what keeps their code


cdef inline Functions* entry(int dtype) noexcept nogil:
    return &TABLE[0 if dtype == T_F32 else 1 if dtype == T_BF16 else 2]


cdef int compile_functions(int dtype) noexcept with gil:
    """Fill the entry of a dtype; ERROR_SET with an exception set when Python raised one."""
    cdef object error = None
    try:
        fill(dtype)
    except BaseException as e:
        error = e
    if error is None:
        return 0
    PyErr_SetObject(type(error), error)              # here, since leaving the handler clears what it handled
    return ERROR_SET


cdef int fill(int dtype) except -1:
    cdef Functions* f = entry(dtype)
    cdef str name = "float32" if dtype == T_F32 else "bfloat16" if dtype == T_BF16 else "float16"
    cdef int rows
    from umiak.backends.cpu import few_rows_kernels as kernels
    if not kernels.supported(name):
        umiak_release_store(&f.state, NONE)
        return 0
    found, keep = kernels.functions(name)
    _kept[name] = keep
    f.column_steps, f.output_steps = kernels.SIDE_BY_SIDE, kernels.OUTPUTS
    for rows in kernels.ROWS:
        f.columns[rows] = <product_t><void*><size_t>found[f"along_columns_{rows}_{kernels.SIDE_BY_SIDE}"]
        f.column[rows] = <product_t><void*><size_t>found[f"along_columns_{rows}_1"]
        f.outputs[rows] = <product_t><void*><size_t>found[f"along_rows_{rows}_{kernels.OUTPUTS}"]
        f.output[rows] = <product_t><void*><size_t>found[f"along_rows_{rows}_1"]
    f.rounded = <rounded_t><void*><size_t>found["rounded"]
    f.rounded_columns = <rounded_t><void*><size_t>found["rounded_columns"]
    umiak_release_store(&f.state, READY)
    return 0


cdef int run_part(void* arg, int64_t part) noexcept nogil:
    """Some columns of the product, a piece of them after the other."""
    cdef const Work* w = <const Work*>arg
    cdef int64_t lo = part * w.chunk, end = min(lo + w.chunk, w.n), row, first, last, n, piece = MOST_COLUMNS, sums_row
    if w.transposed and w.m > TOGETHER:
        piece = max(PIECE_BYTES // w.w_row, LANES) // LANES * LANES
    piece = min(piece, w.chunk)
    sums_row = (piece + LANES) * sizeof(float)
    cdef float* sums = <float*>scratch_alloc(min(w.m, MOST_ROWS) * sums_row)
    if sums == NULL:
        return NO_MEMORY
    while lo < end:
        n = min(piece, end - lo)
        first = 0
        while first < w.m:
            last = min(first + MOST_ROWS, w.m)
            multiply(w, sums, sums_row, lo, n, first, last)
            for row in range(first, last):
                (w.f.rounded if w.transposed else w.f.rounded_columns)(
                    w.c + row * w.c_row + lo * w.itemsize, <float*>(<char*>sums + (row - first) * sums_row), n
                )
            first = last
        lo += n
    scratch_free(sums)
    return 0


cdef void multiply(const Work* w, float* sums, int64_t sums_row, int64_t lo, int64_t n, int64_t first, int64_t last) noexcept nogil:
    """``n`` columns from ``lo`` on, of the rows from ``first`` to ``last``, as float32."""
    cdef const Functions* f = w.f
    cdef int64_t i = first, rows, full
    cdef const char* at
    cdef float* c
    cdef const float* x
    if not w.transposed:
        memset(sums, 0, (last - first) * sums_row)
    while i < last:
        rows = TOGETHER if last - i >= TOGETHER else 2 if last - i >= 2 else 1
        c, x = <float*>(<char*>sums + (i - first) * sums_row), <const float*>(<const char*>w.x + i * w.x_row)
        if w.transposed:
            at = w.w + lo * w.w_row
            full = n // f.output_steps
            f.outputs[rows](c, sums_row, x, w.x_row, at, w.w_row, w.k, full)
            full *= f.output_steps
            f.output[rows](c + full, sums_row, x, w.x_row, at + full * w.w_row, w.w_row, w.k, n - full)
        else:
            at = w.w + lo * w.itemsize
            full = w.k // f.column_steps
            f.columns[rows](c, sums_row, x, w.x_row, at, w.w_row, n, full)
            full *= f.column_steps
            f.column[rows](c, sums_row, x + full, w.x_row, at + full * w.w_row, w.w_row, n, w.k - full)
        i += rows


cdef int few_rows(
    int dtype, int64_t m, int64_t n, int64_t k, const char* a, int64_t am, int64_t ak, const char* b, int64_t bk, int64_t bn, char* c,
    int64_t cm, int64_t cn
) noexcept nogil:
    cdef Functions* f = entry(dtype)
    cdef Work w
    cdef int64_t parts, size
    cdef int64_t[2] sizes
    cdef int64_t[2] to
    cdef int64_t[2] by
    cdef char* stored = NULL
    cdef char* room = NULL
    cdef int bad
    if cn != 1 and n > 1:
        return NOT_TAKEN
    if bn == 1 and bk >= n:
        w.transposed = False
    elif bk == 1 and bn >= k:
        w.transposed = True
    else:
        return NOT_TAKEN
    if umiak_acquire_load(&f.state) == NOT_ASKED and compile_functions(dtype) != 0:
        return ERROR_SET
    if umiak_acquire_load(&f.state) != READY:
        return NOT_TAKEN
    size = itemsize_of(dtype)
    w.x, w.x_row = <const float*>a, am * size
    if dtype != T_F32 or ak != 1:
        # As float32 in rows; what is copied is a thousandth of what is read.
        room = <char*>scratch_alloc(m * k * (sizeof(float) + size))
        if room == NULL:
            return NO_MEMORY
        stored = room + (m * k * sizeof(float) if dtype != T_F32 else 0)
        sizes[0], sizes[1], to[0], to[1], by[0], by[1] = m, k, k, 1, am, ak
        copy_strided(stored, to, a, by, sizes, 2, <int>size)
        if dtype != T_F32:
            widen(dtype, stored, <float*>room, m * k)
        w.x, w.x_row = <const float*>room, k * sizeof(float)
    w.f, w.w, w.w_row = f, b, (bn if w.transposed else bk) * size
    w.c, w.c_row = c, cm * size
    w.m, w.n, w.k, w.itemsize = m, n, k, <int>size
    parts = max(1, min(<int64_t>thread_count(), n * k * size * ((m + TOGETHER - 1) // TOGETHER) // PART_BYTES))
    w.chunk = ((n + parts - 1) // parts + PIECE - 1) // PIECE * PIECE
    parts = (n + w.chunk - 1) // w.chunk
    bad = parallel_for(run_part, &w, parts) if parts > 1 else run_part(&w, 0)
    scratch_free(room)
    return bad

