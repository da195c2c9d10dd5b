# cython: binding=False
"""Launching distinct and most frequent elements, searches in rows, greatest common divisors. See search.h."""
from libc.stdint cimport int32_t, int64_t, uint64_t
from libc.string cimport memcpy

from umiak.backends.cpu.launcher cimport no_memory, parallel_for, thread_count
from umiak.backends.cpu.providers.common cimport MAX_AXES, copy_strided, in_order, scratch_alloc, scratch_free

cdef extern from "Python.h":
    void PyErr_SetObject(object type, object value)

cdef extern from "umiak/backends/cpu/search.h" nogil:
    int order_bytes(int type)
    int64_t order_memory(int64_t n, int type)
    int64_t order_unique(const void* row, int64_t n, int type, void* memory, int64_t most, int64_t* first, int64_t* count,
                         int64_t* inverse)
    int64_t order_mode(const void* row, int64_t n, int type, void* memory)
    void order_search_i64(const int64_t* row, int64_t n, const int64_t* value, int64_t m, int after, int64_t* found)
    void order_search_i32(const int32_t* row, int64_t n, const int32_t* value, int64_t m, int after, int64_t* found)
    void order_search_f64(const double* row, int64_t n, const double* value, int64_t m, int after, int64_t* found)
    void order_search_f32(const float* row, int64_t n, const float* value, int64_t m, int after, int64_t* found)
    void order_gcd_i64(const int64_t* x, int64_t by_x, const int64_t* y, int64_t by_y, int64_t n, int64_t* out)
    void order_gcd_i32(const int32_t* x, int64_t by_x, const int32_t* y, int64_t by_y, int64_t n, int32_t* out)

cdef enum:
    PARALLEL = 4096             # numbers, from which on other threads help
    PARTS_PER_THREAD = 4

TYPES = ("uint8", "int8", "int16", "int32", "int64", "float16", "bfloat16", "float32", "float64")    # in search.h
cdef int64_t LONGEST = (<int64_t>1 << 32) - 1    # places have 32 bits beside a short key

cdef struct Config:
    int type                    # a place in TYPES
    int rank                    # of the operands; of a search: of the values
    int rank_rows               # of a search
    int axis                    # of a mode
    int right, narrow           # of a search: behind equal elements; places are int32


cdef int too_long(int64_t n) noexcept with gil:
    PyErr_SetObject(OverflowError, f"[unique] requires at most {LONGEST} elements, got {n}")
    return -1


cdef int wrong_count(int64_t count, int64_t wanted) noexcept with gil:
    PyErr_SetObject(ValueError, f"[unique_sized] requires the count {count} of distinct elements, got {wanted}")
    return -1


cdef int64_t product(const int64_t* sizes, int rank) noexcept nogil:
    cdef int64_t n = 1
    cdef int i
    for i in range(rank):
        n *= sizes[i]
    return n


# ---- distinct elements -----------------------------------------------------------------------------------------------
cdef int launch_unique(void* self, void** ptrs, const int64_t* dims, const uint64_t* scalars, int64_t stream) noexcept nogil:
    """The native launch ABI. ``dims``: whether the elements are wanted or their count alone, sizes, strides. Pointers: x,
    then the count; or values, first places, inverse, counts, of as many elements as the scalar says."""
    cdef Config* config = <Config*>self
    cdef int bytes = order_bytes(config.type), failed = 0
    cdef int64_t n = product(dims + 1, config.rank), most, found, i
    cdef const char* x = <const char*>ptrs[0]
    cdef int64_t* first
    cdef void* room
    cdef void* memory
    if n > LONGEST:
        return too_long(n)
    if in_order(&x, dims + 1, dims + 1 + config.rank, config.rank, bytes, &room):
        return no_memory()
    memory = scratch_alloc(order_memory(n, config.type))
    if memory == NULL:
        scratch_free(room)
        return no_memory()
    if dims[0] == 0:
        (<int64_t*>ptrs[1])[0] = order_unique(x, n, config.type, memory, 0, NULL, NULL, NULL)
    else:
        most = <int64_t>scalars[0]
        first = <int64_t*>ptrs[2]
        found = order_unique(x, n, config.type, memory, most, first, <int64_t*>ptrs[4], <int64_t*>ptrs[3])
        if found != most:
            failed = wrong_count(found, most)
        elif bytes == 8:
            for i in range(most):
                (<int64_t*>ptrs[1])[i] = (<const int64_t*>x)[first[i]]
        elif bytes == 4:
            for i in range(most):
                (<int32_t*>ptrs[1])[i] = (<const int32_t*>x)[first[i]]
        else:
            for i in range(most):
                memcpy(<char*>ptrs[1] + i * bytes, x + first[i] * bytes, bytes)
    scratch_free(memory)
    scratch_free(room)
    return failed


# ---- the most frequent ones ------------------------------------------------------------------------------------------
cdef struct Rows:
    const Config* config
    void** ptrs
    const int64_t* sizes
    const int64_t* strides
    int64_t rows, chunk


cdef int mode_part(void* arg, int64_t part) noexcept nogil:
    """One part of the rows: 0, or -1 without memory."""
    cdef const Rows* w = <const Rows*>arg
    cdef const Config* config = w.config
    cdef int bytes = order_bytes(config.type), d
    cdef int64_t n = w.sizes[config.axis], by = w.strides[config.axis], one = 1, i, left, place
    cdef int64_t taken = order_memory(n, config.type)
    cdef const char* x
    cdef const char* row
    cdef char* memory = <char*>scratch_alloc(taken + n * bytes)
    if memory == NULL:
        return -1
    for i in range(part * w.chunk, min((part + 1) * w.chunk, w.rows)):
        x, left = <const char*>w.ptrs[0], i
        for d in range(config.rank - 1, -1, -1):
            if d != config.axis:
                x += left % w.sizes[d] * w.strides[d] * bytes
                left //= w.sizes[d]
        row = x
        if by != 1:
            row = memory + taken
            copy_strided(memory + taken, &one, x, &by, &n, 1, bytes)
        place = order_mode(row, n, config.type, memory)
        memcpy(<char*>w.ptrs[1] + i * bytes, row + place * bytes, bytes)
        (<int64_t*>w.ptrs[2])[i] = place
    scratch_free(memory)
    return 0


cdef int launch_mode(void* self, void** ptrs, const int64_t* dims, const uint64_t* scalars, int64_t stream) noexcept nogil:
    """The native launch ABI. ``dims``: sizes, strides. Pointers: x, values, places."""
    cdef Rows w
    cdef int64_t parts = 1, n
    cdef int code
    w.config, w.ptrs = <const Config*>self, ptrs
    w.sizes, w.strides = dims, dims + w.config.rank
    n = dims[w.config.axis]
    w.rows = 1
    for code in range(w.config.rank):
        if code != w.config.axis:
            w.rows *= dims[code]
    if w.rows == 0 or n == 0:
        return 0
    if n > LONGEST:
        return too_long(n)
    if w.rows > 1 and w.rows * n >= PARALLEL and thread_count() > 1:
        parts = min(w.rows, <int64_t>thread_count() * PARTS_PER_THREAD)
    w.chunk = (w.rows + parts - 1) // parts
    parts = (w.rows + w.chunk - 1) // w.chunk
    code = parallel_for(mode_part, &w, parts) if parts > 1 else mode_part(&w, 0)
    return no_memory() if code else 0


# ---- searches --------------------------------------------------------------------------------------------------------
cdef void search_row(int type, int after, const char* row, int64_t n, const char* value, int64_t m, int64_t* place) noexcept nogil:
    if type == 3:
        order_search_i32(<const int32_t*>row, n, <const int32_t*>value, m, after, place)
    elif type == 4:
        order_search_i64(<const int64_t*>row, n, <const int64_t*>value, m, after, place)
    elif type == 7:
        order_search_f32(<const float*>row, n, <const float*>value, m, after, place)
    else:
        order_search_f64(<const double*>row, n, <const double*>value, m, after, place)


cdef int launch_search(void* self, void** ptrs, const int64_t* dims, const uint64_t* scalars, int64_t stream) noexcept nogil:
    """The native launch ABI. ``dims``: sizes and strides of the rows, then of the values. Pointers: rows, values, places."""
    cdef Config* config = <Config*>self
    cdef const int64_t* values = dims + 2 * config.rank_rows
    cdef int bytes = order_bytes(config.type)
    cdef int64_t n = dims[config.rank_rows - 1], total = product(values, config.rank), rows = 1, m = total, i
    cdef const char* row = <const char*>ptrs[0]
    cdef const char* value = <const char*>ptrs[1]
    cdef void* rooms[3]
    cdef int64_t* place = <int64_t*>ptrs[2]
    if total == 0:
        return 0
    if config.rank_rows > 1:
        m = values[config.rank - 1]
        rows = total // m
    rooms[0] = rooms[1] = rooms[2] = NULL
    if in_order(&row, dims, dims + config.rank_rows, config.rank_rows, bytes, &rooms[0]) \
            or in_order(&value, values, values + config.rank, config.rank, bytes, &rooms[1]):
        scratch_free(rooms[0])
        return no_memory()
    if config.narrow:
        rooms[2] = scratch_alloc(total * sizeof(int64_t))
        if rooms[2] == NULL:
            scratch_free(rooms[0])
            scratch_free(rooms[1])
            return no_memory()
        place = <int64_t*>rooms[2]
    for i in range(rows):
        search_row(config.type, config.right, row + i * n * bytes, n, value + i * m * bytes, m, place + i * m)
    if config.narrow:
        for i in range(total):
            (<int32_t*>ptrs[2])[i] = <int32_t>place[i]
    for i in range(3):
        scratch_free(rooms[i])
    return 0


# ---- greatest common divisors ----------------------------------------------------------------------------------------
cdef void gcd_row(int type, const void* x, int64_t by_x, const void* y, int64_t by_y, int64_t n, void* out) noexcept nogil:
    if type == 3:
        order_gcd_i32(<const int32_t*>x, by_x, <const int32_t*>y, by_y, n, <int32_t*>out)
    else:
        order_gcd_i64(<const int64_t*>x, by_x, <const int64_t*>y, by_y, n, <int64_t*>out)


cdef int launch_gcd_flat(void* self, void** ptrs, int64_t n, const uint64_t* scalars, int64_t stream) noexcept nogil:
    """The flat entry. An operand without a pointer is the number in ``scalars``."""
    cdef const void* x = <const void*>scalars if ptrs[0] == NULL else ptrs[0]
    cdef const void* y = <const void*>scalars if ptrs[1] == NULL else ptrs[1]
    gcd_row((<Config*>self).type, x, ptrs[0] != NULL, y, ptrs[1] != NULL, n, ptrs[2])
    return 0


cdef int launch_gcd(void* self, void** ptrs, const int64_t* dims, const uint64_t* scalars, int64_t stream) noexcept nogil:
    """The native launch ABI. ``dims``: sizes of the result, and the strides of both operands along its axes."""
    cdef Config* config = <Config*>self
    cdef int rank = config.rank, bytes = order_bytes(config.type), d
    cdef const int64_t* by_x = dims + rank
    cdef const int64_t* by_y = by_x + rank
    cdef int64_t n = 1 if rank == 0 else dims[rank - 1], i, left, at_x, at_y
    cdef const char* x = <const char*>scalars if ptrs[0] == NULL else <const char*>ptrs[0]
    cdef const char* y = <const char*>scalars if ptrs[1] == NULL else <const char*>ptrs[1]
    if n == 0:
        return 0
    for i in range(product(dims, rank) // n):
        at_x, at_y, left = 0, 0, i
        for d in range(rank - 2, -1, -1):
            at_x += left % dims[d] * by_x[d]
            at_y += left % dims[d] * by_y[d]
            left //= dims[d]
        gcd_row(config.type, x + at_x * bytes, 0 if rank == 0 else by_x[rank - 1], y + at_y * bytes,
                0 if rank == 0 else by_y[rank - 1], n, <char*>ptrs[2] + i * n * bytes)
    return 0


cdef class Search:
    """A kernel of one of these kinds for one dtype. ``rank`` and ``rank_rows`` are those of the operands."""

    cdef Config config

    def __init__(self, str dtype, int rank, int axis=0, int rank_rows=1, bint right=False, bint narrow=False):
        dtype = "uint8" if dtype == "bool" else dtype
        if dtype not in TYPES or not 0 <= rank <= MAX_AXES or not 0 <= axis < max(rank, 1) or not 1 <= rank_rows <= MAX_AXES:
            raise ValueError(
                f"[Search] requires a dtype of {TYPES}, ranks up to {MAX_AXES} and an axis, got {dtype!r}, {rank}, {rank_rows}, {axis}"
            )
        self.config.type = TYPES.index(dtype)
        self.config.rank, self.config.rank_rows, self.config.axis = rank, rank_rows, axis
        self.config.right, self.config.narrow = right, narrow

    @property
    def unique(self):
        return <size_t><void*>&launch_unique

    @property
    def mode(self):
        return <size_t><void*>&launch_mode

    @property
    def search(self):
        return <size_t><void*>&launch_search

    @property
    def gcd(self):
        return <size_t><void*>&launch_gcd

    @property
    def gcd_flat(self):
        return <size_t><void*>&launch_gcd_flat

    @property
    def self_pointer(self):
        return <size_t>&self.config
