# cython: binding=False
"""Launching Fourier transforms: an axis after the other by fourier.h, transforms in parts among threads. What it does not
serve is handed to a library in Python."""
from cpython.object cimport PyObject
from libc.math cimport sqrt
from libc.stdint cimport int64_t, uint64_t

from umiak.backends.cpu.launcher cimport no_memory, parallel_for, thread_count
from umiak.backends.cpu.providers.common cimport dense, scratch_alloc, scratch_free

cdef extern from "Python.h":
    void PyErr_SetObject(object type, object value)      # `void`, so that no error is taken for our own

cdef extern from "umiak/backends/cpu/fourier.h" nogil:
    int UMIAK_FOURIER_LEAST, UMIAK_FOURIER_MOST, UMIAK_FOURIER_AXES
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
    ctypedef struct umiak_fourier_axis:
        int64_t points
        const void* roots
        const void* half_roots
        int kind, inverse, doubles, rank
        double scale
        const void* x
        void* out
        int64_t x_step, out_step
        int64_t sizes[64]
        int64_t x_strides[64]
        int64_t out_strides[64]
        int64_t lanes, chunk
    int umiak_fourier_level()
    int umiak_fourier_factors(int n)
    int64_t umiak_fourier_memory(const umiak_fourier* f)
    void umiak_fourier_rows(const umiak_fourier_launch* p, int64_t first, int64_t last, void* memory)
    int64_t umiak_fourier_lane_memory(const umiak_fourier_axis* p)
    void umiak_fourier_lanes(const umiak_fourier_axis* p, int64_t first, int64_t last, void* memory)
    const umiak_fourier* umiak_fourier_plan(void** slot, int log2, int doubles)
    const void* umiak_fourier_table(void** slot, int n, int doubles)

cdef enum:
    PARALLEL = 1 << 15          # numbers, from which on other threads help
    PARTS_PER_THREAD = 4
    MOST_POINTS = 4096          # of a transform in a lane: beyond that, lanes do not fit into the caches
    FEW_POINTS = 512            # up to here a single one in its lane takes less time than a call of the library
    LANES = 16                  # of the widest vectors

cdef void* plans[2][32]
cdef void* tables[2][MOST_POINTS + 1]
USABLE = umiak_fourier_level() > 0

cdef struct Config:
    int kind                    # of the transform along the last axis in the list
    int inverse
    int doubles
    int power                   # of the root of the number of points, by which results are divided
    int rank
    int count                   # of axes
    int axes[64]
    PyObject* library

cdef struct Tensor:             # strides in numbers, complex or real
    char* data
    const int64_t* sizes
    const int64_t* strides


# ---- rows of powers of two, one by one -------------------------------------------------------------------------------
cdef int row_part(void* arg, int64_t part) noexcept nogil:
    cdef umiak_fourier_launch* p = <umiak_fourier_launch*>arg
    cdef void* memory = scratch_alloc(umiak_fourier_memory(p.plan))
    if memory == NULL:
        return 1
    umiak_fourier_rows(p, part * p.chunk, min((part + 1) * p.chunk, p.rows), memory)
    scratch_free(memory)
    return 0


cdef inline bint row_served(int kind, int64_t points) noexcept nogil:
    """Return whether rows of so many numbers, real at one of the two ends or at none, have a plan."""
    if kind != UMIAK_COMPLEX:
        if points & 1:
            return False
        points >>= 1
    return points & (points - 1) == 0 and 1 << UMIAK_FOURIER_LEAST <= points <= 1 << UMIAK_FOURIER_MOST


cdef int by_rows(const Config* config, int kind, int64_t points, double scale, const Tensor* x, const Tensor* out) noexcept nogil:
    cdef umiak_fourier_launch p
    cdef int64_t parts = 1, half = points if kind == UMIAK_COMPLEX else points >> 1
    cdef int log2 = 0, d, last = config.rank - 1, item = 8 if config.doubles else 4
    while 1 << log2 < half:
        log2 += 1
    p.plan = umiak_fourier_plan(&plans[config.doubles][log2], log2, config.doubles)
    if p.plan == NULL:
        return no_memory()
    p.kind, p.inverse, p.scale, p.x, p.out, p.rows = kind, config.inverse, scale, x.data, out.data, 1
    for d in range(last):
        p.rows *= x.sizes[d]
    p.x_bytes = x.sizes[last] * item * (1 if kind == UMIAK_TO_HALF or kind == UMIAK_TO_WHOLE else 2)
    p.out_bytes = out.sizes[last] * item * (1 if kind == UMIAK_FROM_HALF else 2)
    if p.rows > 1 and p.rows * half >= PARALLEL and thread_count() > 1:
        parts = min(p.rows, <int64_t>thread_count() * PARTS_PER_THREAD)
    p.chunk = (p.rows + parts - 1) // parts
    parts = (p.rows + p.chunk - 1) // p.chunk
    return no_memory() if (parallel_for(row_part, &p, parts) if parts > 1 else row_part(&p, 0)) else 0


# ---- transforms in lanes ---------------------------------------------------------------------------------------------
cdef int lane_part(void* arg, int64_t part) noexcept nogil:
    cdef umiak_fourier_axis* p = <umiak_fourier_axis*>arg
    cdef void* memory = scratch_alloc(umiak_fourier_lane_memory(p))
    if memory == NULL:
        return 1
    umiak_fourier_lanes(p, part * p.chunk, min((part + 1) * p.chunk, p.lanes), memory)
    scratch_free(memory)
    return 0


cdef int by_lanes(const Config* config, int axis, int kind, int64_t points, double scale, const Tensor* x,
                  const Tensor* out) noexcept nogil:
    cdef umiak_fourier_axis p
    cdef int64_t parts = 1
    cdef int d, x_unit = 1 if kind == UMIAK_TO_HALF or kind == UMIAK_TO_WHOLE else 2, out_unit = 1 if kind == UMIAK_FROM_HALF else 2
    cdef bint paired = kind != UMIAK_COMPLEX and points & 1 == 0
    p.points, p.kind, p.inverse, p.doubles, p.scale = points, kind, config.inverse, config.doubles, scale
    p.roots = umiak_fourier_table(&tables[config.doubles][points], <int>points, config.doubles)
    p.half_roots = NULL
    if paired:
        p.half_roots = umiak_fourier_table(&tables[config.doubles][points >> 1], <int>(points >> 1), config.doubles)
    if p.roots == NULL or (paired and p.half_roots == NULL):
        return no_memory()
    p.x, p.out, p.rank, p.lanes = x.data, out.data, 0, 1
    p.x_step, p.out_step = x.strides[axis] * x_unit, out.strides[axis] * out_unit
    for d in range(config.rank):
        if d != axis and x.sizes[d] != 1:
            p.sizes[p.rank] = x.sizes[d]
            p.x_strides[p.rank], p.out_strides[p.rank] = x.strides[d] * x_unit, out.strides[d] * out_unit
            p.lanes *= x.sizes[d]
            p.rank += 1
    if p.lanes > LANES and p.lanes * points >= PARALLEL and thread_count() > 1:
        parts = <int64_t>thread_count() * PARTS_PER_THREAD
    p.chunk = ((p.lanes + parts - 1) // parts + LANES - 1) // LANES * LANES
    parts = (p.lanes + p.chunk - 1) // p.chunk
    return no_memory() if (parallel_for(lane_part, &p, parts) if parts > 1 else lane_part(&p, 0)) else 0


cdef inline bint lane_served(int64_t points, int64_t lanes) noexcept nogil:
    return points <= MOST_POINTS and (points <= FEW_POINTS or 2 * lanes >= LANES) and umiak_fourier_factors(<int>points)


# ---- a launch --------------------------------------------------------------------------------------------------------
cdef int along(const Config* config, int i, int kind, int64_t points, double scale, const Tensor* x, const Tensor* out,
               bint contiguous) noexcept nogil:
    """Transform along axis ``i`` of the list, in the way that serves it."""
    if contiguous and config.axes[i] == config.rank - 1 and row_served(kind, points):
        return by_rows(config, kind, points, scale, x, out)
    return by_lanes(config, config.axes[i], kind, points, scale, x, out)


cdef int launch(void* self, void** ptrs, const int64_t* dims, const uint64_t* scalars, int64_t stream) noexcept nogil:
    """The native launch ABI. ``dims``: sizes and strides of x. Pointers: x, the result. The scalar of a transform from half of
    the points: how many there are in all."""
    cdef Config* config = <Config*>self
    cdef const Tensor* given
    cdef Tensor x, out, between
    cdef int64_t out_sizes[64]
    cdef int64_t out_strides[64]
    cdef int64_t between_strides[64]
    cdef int64_t total = 1, n, points = 1, numbers
    cdef int rank = config.rank, last = config.axes[config.count - 1], d, i, result = 0
    cdef bint contiguous = True, served = True
    cdef double scale, first
    n = <int64_t>scalars[0] if config.kind == UMIAK_FROM_HALF else dims[last]
    x.data, x.sizes, x.strides = <char*>ptrs[0], dims, dims + rank
    out.data, out.sizes, out.strides = <char*>ptrs[1], out_sizes, out_strides
    for d in range(rank):
        out_sizes[d] = dims[d]
    out_sizes[last] = n // 2 + 1 if config.kind == UMIAK_TO_HALF else n
    dense(out_sizes, rank, out_strides)
    dense(dims, rank, between_strides)
    numbers = 1
    for d in range(rank):
        total *= out_sizes[d]
        numbers *= dims[d]
        contiguous = contiguous and (dims[d] == 1 or x.strides[d] == between_strides[d])
    if total == 0:
        return 0
    for i in range(config.count):
        d = config.axes[i]
        points *= n if i == config.count - 1 else dims[d]
        if i == config.count - 1:
            # The pass that reads x, or the one that reads what lies in order.
            served = served and (lane_served(n, total // out_sizes[d]) or (
                d == rank - 1 and row_served(config.kind, n) and (contiguous or (config.kind == UMIAK_FROM_HALF and i > 0))))
        else:
            served = served and (lane_served(dims[d], numbers // dims[d]) or (
                d == rank - 1 and row_served(UMIAK_COMPLEX, dims[d]) and (
                    contiguous or i > 0 or config.kind != UMIAK_FROM_HALF)))
    if not served:
        return library(config, ptrs, dims, n)
    scale = 1.0 if config.power == 0 else 1.0 / sqrt(<double>points) if config.power == 1 else 1.0 / <double>points
    if config.kind != UMIAK_FROM_HALF or config.count == 1:
        result = along(config, config.count - 1, config.kind, n, scale, &x, &out, contiguous)
        for i in range(config.count - 1):
            if result == 0:
                result = along(config, i, UMIAK_COMPLEX, dims[config.axes[i]], 1.0, &out, &out, True)
        return result
    between.sizes, between.strides = dims, between_strides
    between.data = <char*>scratch_alloc(numbers * (16 if config.doubles else 8))
    if between.data == NULL:
        return no_memory()
    given = &x
    for i in range(config.count - 1):
        if result == 0:
            result = along(config, i, UMIAK_COMPLEX, dims[config.axes[i]], 1.0, given, &between, contiguous or i > 0)
        given = &between
    if result == 0:
        result = along(config, config.count - 1, config.kind, n, scale, &between, &out, True)
    scratch_free(between.data)
    return result


cdef int library(Config* config, void** ptrs, const int64_t* dims, int64_t n) noexcept with gil:
    try:
        (<object>config.library)(
            <size_t>ptrs[0], <size_t>ptrs[1], [dims[d] for d in range(config.rank)],
            [dims[config.rank + d] for d in range(config.rank)], n)
    except BaseException as error:
        PyErr_SetObject(type(error), error)
        return -1
    return 0


cdef class Fourier:
    """A kernel of transforms of one kind along these axes."""

    cdef Config config
    cdef object library

    def __init__(self, str kind, bint inverse, bint doubles, int power, int rank, axes, library):
        if not 1 <= rank <= UMIAK_FOURIER_AXES or not axes or not all(0 <= a < rank for a in axes):
            raise ValueError(f"[Fourier] requires axes of at most {UMIAK_FOURIER_AXES} dims, got {axes} of {rank}")
        self.config.kind = KINDS[kind]
        self.config.inverse, self.config.doubles, self.config.power = inverse, doubles, power
        self.config.rank, self.config.count = rank, len(axes)
        for i, axis in enumerate(axes):
            self.config.axes[i] = axis
        self.library = library
        self.config.library = <PyObject*>library

    @property
    def address(self):
        return <size_t><void*>&launch

    @property
    def self_pointer(self):
        return <size_t>&self.config


KINDS = {
    "complex": UMIAK_COMPLEX, "to_half": UMIAK_TO_HALF, "to_whole": UMIAK_TO_WHOLE, "from_half": UMIAK_FROM_HALF}
