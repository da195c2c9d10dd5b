# cython: binding=False
"""Launching decoders: the best paths through tags, sequences of the batch in parts among threads."""
from libc.stdint cimport int32_t, int64_t, uint64_t

from umiak.backends.cpu.launcher cimport no_memory, parallel_for, thread_count
from umiak.backends.cpu.providers.common cimport NO_MEMORY, scratch_alloc, scratch_free

cdef extern from "Python.h":
    void PyErr_SetObject(object type, object value)

cdef enum:
    PARALLEL = 16384            # sums, from which on other threads help
    PARTS_PER_THREAD = 4

ctypedef fused real:
    float
    double

cdef struct Config:
    int doubles
    int with_ends

cdef struct Work:
    const Config* config
    char* potentials
    char* transitions
    const int64_t* lengths
    char* scores
    int64_t* paths
    int64_t batch, time, tags, chunk
    const int64_t* strides      # of potentials, transitions and lengths, in elements


cdef int too_long(int64_t length, int64_t time) noexcept with gil:
    PyErr_SetObject(IndexError, f"[viterbi_decode] requires lengths of at most {time}, got {length}")
    return -1


cdef void decode(const Work* w, int64_t b, const real* moves, real* score, real* best, int32_t* sources, real* out) noexcept nogil:
    """One sequence. ``moves``: transitions row by row. ``score``, ``best``: a row; ``sources``: a row for each step."""
    cdef const real* x = <const real*>w.potentials + b * w.strides[0]
    cdef int64_t n = w.tags, length = w.lengths[b * w.strides[5]], t, i, j, at
    cdef int64_t step = w.strides[1], tag = w.strides[2]
    cdef int64_t* path = w.paths + b * w.time
    cdef const real* row
    cdef real* swap
    cdef real add, value
    cdef int32_t* source
    for j in range(n):
        score[j] = x[j * tag]
        if w.config.with_ends:
            score[j] += moves[(n - 1) * n + j]
    for t in range(1, length):
        x += step
        source = sources + t * n
        add = score[0]
        for j in range(n):
            best[j] = add + moves[j]
            source[j] = 0
        for i in range(1, n):
            row, add = moves + i * n, score[i]
            for j in range(n):
                value = add + row[j]
                source[j] = <int32_t>i if value > best[j] else source[j]
                best[j] = value if value > best[j] else best[j]
        for j in range(n):
            best[j] += x[j * tag]
        swap = score
        score = best
        best = swap
    if w.config.with_ends and length > 0:
        for j in range(n):
            score[j] += moves[(n - 2) * n + j]
    at = 0
    for j in range(1, n):
        if score[j] > score[at]:
            at = j
    out[b] = score[at]
    for t in range(w.time - 1, -1, -1):
        path[t] = 0
        if t < length:
            path[t] = at
            at = sources[t * n + at] if t else at


cdef int decode_part(const Work* w, int64_t part, real* kind) noexcept nogil:
    """``kind`` says float or double, nothing else."""
    cdef int64_t n = w.tags, i, j, b
    cdef int64_t numbers = n * n + 2 * n
    cdef real* memory = <real*>scratch_alloc(numbers * sizeof(real) + w.time * n * sizeof(int32_t))
    cdef const real* moves = <const real*>w.transitions
    if memory == NULL:
        return NO_MEMORY
    for i in range(n):
        for j in range(n):
            memory[i * n + j] = moves[i * w.strides[3] + j * w.strides[4]]
    for b in range(part * w.chunk, min((part + 1) * w.chunk, w.batch)):
        decode(w, b, memory, memory + n * n, memory + n * n + n, <int32_t*>(memory + numbers), <real*>w.scores)
    scratch_free(memory)
    return 0


cdef int run_part(void* arg, int64_t part) noexcept nogil:
    cdef const Work* w = <const Work*>arg
    if w.config.doubles:
        return decode_part(w, part, <double*>NULL)
    return decode_part(w, part, <float*>NULL)


cdef int run(void* self, void** ptrs, const int64_t* dims, const uint64_t* scalars, int64_t stream) noexcept nogil:
    """The native launch ABI. ``dims``: batch, time and tags, strides of the operands. Pointers: potentials, transitions,
    lengths, scores, paths."""
    cdef Work w
    cdef int64_t parts = 1, b
    w.config = <const Config*>self
    w.potentials, w.transitions, w.lengths = <char*>ptrs[0], <char*>ptrs[1], <const int64_t*>ptrs[2]
    w.scores, w.paths = <char*>ptrs[3], <int64_t*>ptrs[4]
    w.batch, w.time, w.tags = dims[0], dims[1], dims[2]
    w.strides = dims + 3
    for b in range(w.batch):
        if w.lengths[b * w.strides[5]] > w.time:
            return too_long(w.lengths[b * w.strides[5]], w.time)
    if w.batch == 0:
        return 0
    if w.batch > 1 and w.batch * w.time * w.tags * w.tags >= PARALLEL and thread_count() > 1:
        parts = min(w.batch, <int64_t>thread_count() * PARTS_PER_THREAD)
    w.chunk = (w.batch + parts - 1) // parts
    parts = (w.batch + w.chunk - 1) // w.chunk
    if (parallel_for(run_part, &w, parts) if parts > 1 else run_part(&w, 0)) != 0:
        return no_memory()
    return 0


cdef class Viterbi:
    """A kernel of best paths for one dtype."""

    cdef Config config

    def __init__(self, bint doubles, bint with_ends):
        self.config.doubles = doubles
        self.config.with_ends = with_ends

    @property
    def run(self):
        return <size_t><void*>&run

    @property
    def self_pointer(self):
        return <size_t>&self.config
