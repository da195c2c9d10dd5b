"""What the launcher knows of a nest, and which axes are left of a call. Functions of launcher.pyx."""
from cpython.object cimport PyObject
from libc.stdint cimport INT64_MAX, int64_t, uint64_t

ctypedef int (*kernel_t)(void** ptrs, const int64_t* dims, const uint64_t* scalars, Ctx* ctx, int64_t lo,
                         int64_t hi) noexcept nogil
ctypedef int64_t (*bytes_t)(const int64_t* dims) noexcept nogil

cdef enum:
    MAX_AXES = 64
    MAX_WORDS = 31              # of a key: one for the schedule and ranks, then 8 accesses a word

cdef struct Ctx:
    void* local
    void* shared                # `global` of the ABI

cdef struct PhaseCode:
    kernel_t kernel
    bytes_t local
    bytes_t shared
    int range
    int64_t block

cdef struct Compiled:           # a variant; unchanging once it is published, freed with its launcher
    Compiled* next
    int n_phases
    bint scratch                # some phase wants any
    int n_blocked               # of which so many run blocks of R
    PhaseCode* phases
    uint64_t[MAX_WORDS] key

cdef extern from "umiak/backends/cpu/memo.h" nogil:
    ctypedef struct umiak_memo:
        pass
    cdef enum:
        UMIAK_MEMO_GIVEN
        UMIAK_MEMO_MADE
    void* umiak_recall(const umiak_memo* m, const int64_t* given, int n, int64_t* own, int64_t* count)
    void umiak_note(umiak_memo* m, const int64_t* given, int n, const int64_t* own, int made, void* kernel, int64_t count)

cdef struct Config:
    PyObject* owner
    int n_p
    int n_axes
    int n_accesses
    int n_extras
    int n_words
    int n_inputs                # accesses of inputs
    int order                   # access whose strides order P, or -1
    bint splittable
    bint scatters               # schedules follow from how the output lies
    bint ordered                # the axes of R stay in their order
    bint sums                   # there are sums of floats, which go in chunks where they are long
    double cost                 # ns per point, on one thread
    Compiled* last              # the last one that was launched
    Compiled* first
    Compiled* flat              # the one for one axis along which everything is contiguous
    int* inputs
    int* pointers               # per access; -1: none
    int n_given                 # integers of a launch
    int n_pointers              # that accesses have
    int64_t stream_points       # outputs of so many elements bypass the caches
    int itemsize                # bytes of an element of the first output; 0: not told
    uint64_t outputs            # a bit per pointer that is written
    umiak_memo memo

cdef struct Space:              # the axes that are left, P then R
    int p
    int r
    int64_t[MAX_AXES] size
    int[MAX_AXES] axis          # of the call: whose strides are this one's; -1: made up, of size 1 or 0
    int64_t points_p
    int64_t points_r
    int tile                    # TILE: the other axis
    int64_t blocks              # SPLIT_*: of R
    int64_t block               # their length along the outermost axis of R


cdef inline int64_t rank_of(int64_t stride) noexcept nogil:
    """Where a stride stands in the order of axes: the largest outermost, outside of all what does not move."""
    return INT64_MAX if stride == 0 else (stride if stride > 0 else -stride)


cdef inline int collect(const Config* config, const int64_t* dims, int begin, int end, int order, Space* s,
                        int at) noexcept nogil:
    """Axes [begin, end) of the call become axes of ``s`` from ``at`` on: those of size 1 dropped, ordered by the
    strides of access ``order``, neighbours merged. Returns how many; -1 if there is nothing to iterate over."""
    cdef int n = 0, a, b, i, j, k, last
    cdef int64_t size, rank
    cdef const int64_t* strides = dims + config.n_axes
    cdef const int64_t* by = strides + order * config.n_axes if order >= 0 else NULL
    for a in range(begin, end):
        size = dims[a]
        if size == 1:
            continue
        if size == 0:
            return -1
        j = at + n
        if by != NULL and n:
            rank = rank_of(by[a])
            while j > at and rank_of(by[s.axis[j - 1]]) < rank:
                s.axis[j] = s.axis[j - 1]
                s.size[j] = s.size[j - 1]
                j -= 1
        s.axis[j] = a
        s.size[j] = size
        n += 1
    if n < 2:
        return n
    last = at
    for i in range(at + 1, at + n):
        a = s.axis[last]
        b = s.axis[i]
        size = s.size[i]
        for k in range(config.n_accesses):
            if strides[k * config.n_axes + a] != strides[k * config.n_axes + b] * size:
                last += 1
                s.size[last] = size
                break
        else:
            s.size[last] *= size
        s.axis[last] = b
    return last - at + 1


cdef inline bint moves(const Config* config, const int64_t* dims, int k, int begin, int end) noexcept nogil:
    """Return whether access ``k`` is elsewhere at some other point of axes [begin, end)."""
    cdef int a
    cdef const int64_t* strides = dims + config.n_axes + k * config.n_axes
    for a in range(begin, end):
        if strides[a] != 0 and dims[a] != 1:
            return True
    return False


cdef inline int main_access(const Config* config, const int64_t* dims) noexcept nogil:
    """Of the inputs that move along R the one with the most elements, the first of such; else what orders P."""
    cdef int i, a, k, main = config.order
    cdef int64_t points, most = 0
    for i in range(config.n_inputs):
        k = config.inputs[i]
        if not moves(config, dims, k, config.n_p, config.n_axes):
            continue
        points = 1
        for a in range(config.n_axes):
            if dims[config.n_axes + k * config.n_axes + a] != 0:
                points *= dims[a]
        if points > most:
            main, most = k, points
    return main
