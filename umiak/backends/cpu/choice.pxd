"""Which schedule a call takes: by sizes and strides alone. Functions of launcher.pyx."""
from libc.stdint cimport int64_t

from umiak.backends.cpu.axes cimport COLUMN, ROW, SPLIT_COLUMN, SPLIT_ROW, STRIP, Record, Space

cdef enum:
    LANES = 8                   # an axis shorter than this leaves most of a vector idle
    WIDE = 4                    # columns that are worth more than a gather along R
    STRIP_R = 32                # rows of R from which on they are walked in the order in which they lie
    STRIP_WIDTH = 512           # columns of a part of such a walk
    FEW = 32                    # fewer pieces than this do not occupy the threads
    SPLIT_R = 1 << 15           # shorter rows are not split
    SPLIT_POINTS = 1 << 16      # nor are reductions of fewer points
    BLOCK_POINTS = 1 << 14      # of a block
    BLOCK_ROWS = 64             # of a block of columns: the partial results are much less than what they come from
    MAX_BLOCKS = 256
    LONG_POINTS = 4096          # sums of more points of R go in runs; as in compiler/schedule/runs.py
    LONG_ROWS = 32              # and those of more rows of the innermost axis
    LONG_COLUMN = 256           # in columns


cdef inline int64_t stride_at(const Record* rec, const int64_t* dims, int k, int axis) noexcept nogil:
    cdef int64_t stride
    if k < 0 or axis < 0:
        return 0
    stride = dims[rec.n_axes + k * rec.n_axes + axis]
    return stride if stride >= 0 else -stride


cdef inline int orders_p(const Record* rec, const int64_t* dims, int main) noexcept nogil:
    """The access whose strides order P: the first output, unless lanes would gather the points of R one by one, could read
    them side by side along another axis, and only the results would be scattered."""
    cdef int a, along = -1
    cdef int out = rec.order
    if rec.ordered or rec.scatters or out < 0 or main == out:
        return out
    for a in range(rec.n_p, rec.n_axes):
        if dims[a] != 1 and (stride_at(rec, dims, main, a) == 1 or stride_at(rec, dims, out, a) != 0):
            return out
    for a in range(rec.n_p):
        if dims[a] >= 2 * LANES and stride_at(rec, dims, main, a) == 1:
            along = a
    return out if along < 0 or stride_at(rec, dims, out, along) == 1 else main


cdef inline int lanes_along(const Record* rec, const int64_t* dims, const Space* s, int main) noexcept nogil:
    """ROW or COLUMN: the axis along which the main input is contiguous, if it is long enough to fill lanes."""
    cdef int64_t n_p = s.size[s.p - 1], n_r = s.size[s.p + s.r - 1]
    cdef int64_t along_p = stride_at(rec, dims, main, s.axis[s.p - 1])
    cdef int64_t along_r = stride_at(rec, dims, main, s.axis[s.p + s.r - 1])
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


cdef inline void widen(const Record* rec, Space* s) noexcept nogil:
    """Of few columns, lanes run along the rows: a scatter takes less than a row of its own for each."""
    cdef int last = s.p - 1, axis
    if s.size[last] >= LANES or s.size[last - 1] < LANES or rec.order < 0 or rec.itemsize < 4:
        return
    axis = s.axis[last]
    s.axis[last] = s.axis[last - 1]
    s.axis[last - 1] = axis
    s.size[last], s.size[last - 1] = s.size[last - 1], s.size[last]


cdef inline int choose_reduction(const Record* rec, const int64_t* dims, Space* s, int main) noexcept nogil:
    cdef int schedule = lanes_along(rec, dims, s, main)
    if schedule == COLUMN and s.points_r >= STRIP_R:
        schedule = STRIP
    return split(s, schedule) if rec.splittable else schedule


cdef inline bint is_long(const Space* s, int schedule) noexcept nogil:
    """Whether sums over R are so long that they need totals."""
    if schedule == COLUMN:
        return False
    if schedule == STRIP or schedule == SPLIT_COLUMN:
        return s.points_r > LONG_COLUMN
    return s.points_r > LONG_POINTS or (s.r > 1 and s.points_r > LONG_ROWS * s.size[s.p + s.r - 1])


cdef inline int tile_axis(const Record* rec, const int64_t* dims, const Space* s) noexcept nogil:
    """The P axis along which an input is contiguous where the output is along the innermost; -1 if none is worth it."""
    cdef int i, a, k, inner = s.axis[s.p - 1]
    if s.size[s.p - 1] < LANES or rec.order < 0 or stride_at(rec, dims, rec.order, inner) != 1:
        return -1
    for i in range(rec.n_inputs):
        k = rec.inputs[i]
        if dims[rec.n_axes + k * rec.n_axes + inner] in (0, 1):
            continue
        for a in range(s.p - 1):
            if s.size[a] >= LANES and dims[rec.n_axes + k * rec.n_axes + s.axis[a]] == 1:
                return a
    return -1
