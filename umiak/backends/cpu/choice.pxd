"""Which variant of a kernel a launch takes, and with which integers: by sizes and strides alone. Nothing here knows of threads, nor
of how a variant is run: that is launcher.pyx."""
from libc.stdint cimport int64_t, uint64_t
from libc.stdlib cimport malloc

from umiak.backends.cpu.axes cimport *
from umiak.compiler.codes cimport *

cdef extern from *:
    """
    #define umiak_rarely(x) __builtin_expect(!!(x), 0)
    """
    bint umiak_rarely(bint x) nogil

cdef enum:
    LANES = 8                   # an axis shorter than this leaves most of a vector idle
    WIDE = 4                    # columns that are worth more than a gather along R
    STRIP_R = 32                # rows of R from which on they are walked in the order in which they lie
    FEW = 32                    # fewer pieces than this do not occupy the threads
    SPLIT_R = 1 << 15           # shorter rows are not split
    SPLIT_POINTS = 1 << 16      # nor are reductions of fewer points
    BLOCK_POINTS = 1 << 14      # of a block
    BLOCK_ROWS = 64             # of a block of columns: the partial results are much less than what they come from
    MAX_BLOCKS = 256
    INLINE_DIMS = 512           # integers of a kernel for which a launch takes no memory
    STREAMS = 1 << 30           # of a key, beside schedule, ranks and tile
    LONG = 1 << 23


cdef inline int64_t stride_at(const Config* config, const int64_t* dims, int k, int axis) noexcept nogil:
    cdef int64_t stride
    if k < 0 or axis < 0:
        return 0
    stride = dims[config.n_axes + k * config.n_axes + axis]
    return stride if stride >= 0 else -stride


cdef inline int orders_p(const Config* config, const int64_t* dims, int main) noexcept nogil:
    """The access whose strides order P: the first output, unless lanes would gather the points of R one by one, could read
    them side by side along another axis, and only the results would be scattered."""
    cdef int a, along = -1
    cdef int out = config.order
    if config.ordered or config.scatters or out < 0 or main == out:
        return out
    for a in range(config.n_p, config.n_axes):
        if dims[a] != 1 and (stride_at(config, dims, main, a) == 1 or stride_at(config, dims, out, a) != 0):
            return out
    for a in range(config.n_p):
        if dims[a] >= 2 * LANES and stride_at(config, dims, main, a) == 1:
            along = a
    return out if along < 0 or stride_at(config, dims, out, along) == 1 else main


cdef inline int lanes_along(const Config* config, const int64_t* dims, const Space* s, int main) noexcept nogil:
    """ROW or COLUMN: the axis along which the main input is contiguous, if it is long enough to fill lanes."""
    cdef int64_t n_p = s.size[s.p - 1], n_r = s.size[s.p + s.r - 1]
    cdef int64_t along_p = stride_at(config, dims, main, s.axis[s.p - 1])
    cdef int64_t along_r = stride_at(config, dims, main, s.axis[s.p + s.r - 1])
    if n_p < WIDE:
        return ROW
    if along_p == 1 and along_r != 1:
        return COLUMN
    if n_r < LANES and n_p >= LANES:
        return COLUMN                                     # lanes gather, and are all busy
    if along_r == 1 or n_p < LANES:
        return ROW
    return ROW if along_p == 0 or along_r <= along_p else COLUMN


cdef inline int split(Space* s, int schedule) noexcept nogil:
    """Cut a long reduction with few results into blocks of its outermost axis, if that leaves enough of them."""
    cdef int64_t outer = s.size[s.p], inner, pieces, length, blocks
    if s.points_p * s.points_r < SPLIT_POINTS:
        return schedule
    inner = s.points_r // outer                           # points of R per index of the outermost axis
    if schedule == ROW:
        if s.points_p >= FEW or s.points_r < SPLIT_R:
            return schedule
        length = (BLOCK_POINTS + inner - 1) // inner
    else:
        pieces = s.points_p // s.size[s.p - 1] * ((s.size[s.p - 1] + STRIP_WIDTH - 1) // STRIP_WIDTH)
        if pieces >= FEW or schedule != STRIP:
            return schedule
        inner *= s.size[s.p - 1]
        length = (BLOCK_POINTS + inner - 1) // inner
        inner = s.points_r // outer
        length = max(length, (BLOCK_ROWS + inner - 1) // inner)
    length = max(length, (outer + MAX_BLOCKS - 1) // MAX_BLOCKS)
    if s.r == 1:
        length = (length + 63) // 64 * 64                 # blocks begin where vectors do
    blocks = (outer + length - 1) // length
    if blocks < 2:
        return schedule
    s.blocks = blocks
    s.block = length
    return SPLIT_ROW if schedule == ROW else SPLIT_COLUMN


cdef inline void widen(const Config* config, Space* s) noexcept nogil:
    """Of few columns, lanes run along the rows: a scatter takes less than a row of its own for each."""
    cdef int last = s.p - 1, axis
    if s.size[last] >= LANES or s.size[last - 1] < LANES or config.order < 0 or config.itemsize < 4:
        return
    axis = s.axis[last]
    s.axis[last] = s.axis[last - 1]
    s.axis[last - 1] = axis
    s.size[last], s.size[last - 1] = s.size[last - 1], s.size[last]


cdef inline int choose_reduction(const Config* config, const int64_t* dims, Space* s, int main) noexcept nogil:
    cdef int schedule = lanes_along(config, dims, s, main)
    if schedule == COLUMN and s.points_r >= STRIP_R:
        schedule = STRIP
    return split(s, schedule) if config.splittable else schedule


cdef inline bint is_long(const Space* s, int schedule) noexcept nogil:
    """Return whether sums over R are so long that they need totals."""
    if schedule == COLUMN:
        return False
    if schedule == STRIP or schedule == SPLIT_COLUMN:
        return s.points_r > CHUNK_COLUMN
    return s.points_r > CHUNK_POINTS or (s.r > 1 and s.points_r > CHUNK_ROWS * s.size[s.p + s.r - 1])


cdef inline int tile_axis(const Config* config, const int64_t* dims, const Space* s) noexcept nogil:
    """The P axis along which an input is contiguous where the output is along the innermost; -1 if none is worth it."""
    cdef int i, a, k, inner = s.axis[s.p - 1]
    if s.size[s.p - 1] < LANES or config.order < 0 or stride_at(config, dims, config.order, inner) != 1:
        return -1
    for i in range(config.n_inputs):
        k = config.inputs[i]
        if dims[config.n_axes + k * config.n_axes + inner] in (0, 1):
            continue
        for a in range(s.p - 1):
            if s.size[a] >= LANES and dims[config.n_axes + k * config.n_axes + s.axis[a]] == 1:
                return a
    return -1


cdef inline int kind_of(int64_t stride) noexcept nogil:
    if stride == 1 or stride == 0:
        return <int>stride
    return BACK if stride == -1 else PAIR if stride == 2 else ANY


cdef inline bint in_place(const Config* config, void** ptrs) noexcept nogil:
    """Return whether an output is an input, whose lines are in the cache already."""
    cdef int i, k
    for i in range(config.n_pointers):
        if config.outputs >> i & 1:
            for k in range(config.n_pointers):
                if k != i and ptrs[k] == ptrs[i]:
                    return True
    return False


cdef inline bint reads_much(const Config* config, const int64_t* dims, const Space* s) noexcept nogil:
    """Return whether some input has ``stream_points`` elements of its own: one that is broadcast may have few."""
    cdef int i, a
    cdef int64_t points
    cdef const int64_t* strides
    for i in range(config.n_inputs):
        strides = dims + config.n_axes + config.inputs[i] * config.n_axes
        points = 1
        for a in range(s.p + s.r):
            if s.axis[a] >= 0 and strides[s.axis[a]] != 0:
                points *= s.size[a]
        if points >= config.stream_points:
            return True
    return False


cdef inline bint streams(const Config* config, void** ptrs, const int64_t* dims, const Space* s, int schedule) noexcept nogil:
    """Return whether the first output is large, and written in order.

    One that has the last cache level nearly to itself may stay there up to twice that size.
    """
    cdef int64_t points = s.points_p
    if config.order < 0 or config.scatters or schedule > ROW or in_place(config, ptrs):
        return False
    if schedule == ROW and moves(config, dims, config.order, config.n_p, config.n_axes):
        points *= s.points_r
    return points >= config.stream_points and (points >= 2 * config.stream_points or reads_much(config, dims, s))


cdef inline bint moves_at_all(const Config* config, const int64_t* strides, int k) noexcept nogil:
    """Return whether access ``k`` has a stride along R, whatever the sizes are."""
    cdef int a
    for a in range(config.n_p, config.n_axes):
        if strides[k * config.n_axes + a] != 0:
            return True
    return False


cdef inline int64_t* choose(Config* config, void** ptrs, const int64_t* dims, Space* s, uint64_t* key, int64_t* room) noexcept nogil:
    """The variant of a launch, as its ``key``, and the space that it walks. Gives the kernel's integers: in ``room``, which holds
    INLINE_DIMS, or in memory that the caller frees; NULL where there is none. ``s.p`` is 0 where there are no points."""
    cdef int64_t* own = room
    cdef int64_t* to
    cdef const int64_t* strides = dims + config.n_axes
    cdef const int64_t* of
    cdef int schedule, main, n, a, k, kind_p, kind_r, axis_p, axis_r, n_r = config.n_axes - config.n_p
    cdef uint64_t word
    # Which axes there are.
    main = (config.order if config.scatters else main_access(config, dims)) if n_r else -1
    n = collect(config, dims, 0, config.n_p, orders_p(config, dims, main) if n_r else config.order, s, 0)
    if n < 0:
        s.p = 0
        return room
    if n == 0:
        s.axis[0] = -1
        s.size[0] = 1
        n = 1
    s.p = n
    s.points_p = s.points_r = 1
    for a in range(n):
        s.points_p *= s.size[a]
    s.r = 0
    s.blocks = s.block = 0
    s.tile = -1
    if n_r:
        n = collect(config, dims, config.n_p, config.n_axes, -1 if config.ordered else main, s, s.p)
        if n <= 0:
            s.axis[s.p] = -1
            s.size[s.p] = 1 + n
            n = 1
        s.r = n
        for a in range(s.p, s.p + n):
            s.points_r *= s.size[a]
        schedule = choose_reduction(config, dims, s, main)
    else:
        schedule = MAP
        if s.p > 1:
            s.tile = tile_axis(config, dims, s)
            if s.tile >= 0:
                schedule = TILE
            else:
                widen(config, s)
    # The kernel's integers, and the key.
    n = config.n_extras + (s.p + s.r) * (1 + config.n_accesses) + 2
    if n > INLINE_DIMS:
        own = <int64_t*>malloc(n * sizeof(int64_t))
        if own == NULL:
            return NULL
    to = own
    of = strides + config.n_accesses * config.n_axes
    for a in range(config.n_extras):
        to[a] = of[a]
    to += config.n_extras
    n = s.p + s.r
    for a in range(n):
        to[a] = s.size[a]
    to += n
    axis_p = s.axis[s.p - 1]
    axis_r = s.axis[n - 1] if s.r else (s.axis[s.tile] if s.tile >= 0 else -1)
    key[0] = <uint64_t>schedule | <uint64_t>s.p << 8 | <uint64_t>s.r << 16 | <uint64_t>(s.tile + 1) << 24
    if umiak_rarely(s.points_p * s.points_r >= config.stream_points) and streams(config, ptrs, dims, s, schedule):
        key[0] |= STREAMS
    if config.sums and is_long(s, schedule):
        key[0] |= LONG
    word = 0
    of = strides
    for k in range(config.n_accesses):
        for a in range(n):
            to[a] = of[s.axis[a]] if s.axis[a] >= 0 else 0
        if axis_p >= 0:
            kind_p = kind_of(of[axis_p])
        else:                                             # one point: as the most common variant has it
            kind_p = ANY if s.r else UNIT
            to[s.p - 1] = kind_p == UNIT
        if axis_r >= 0:
            kind_r = kind_of(of[axis_r])
        elif s.r:
            kind_r = UNIT if moves_at_all(config, strides, k) else ZERO
            to[n - 1] = kind_r
        else:
            kind_r = ZERO
        # Along the axis on which no lanes run a known stride is like any other.
        if s.r:
            if schedule == ROW or schedule == SPLIT_ROW:
                if kind_p != ZERO:
                    kind_p = ANY
            elif kind_r != ZERO:
                kind_r = ANY
        word |= <uint64_t>(kind_p | kind_r << 4) << (8 * (k & 7))
        if k & 7 == 7:
            key[1 + (k >> 3)] = word
            word = 0
        to += n
        of += config.n_axes
    if config.n_accesses & 7:
        key[config.n_words - 1] = word
    to[0] = s.blocks
    to[1] = s.block
    return own
