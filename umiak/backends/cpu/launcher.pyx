# cython: binding=False
"""Launching nests: strides and sizes of a call become a variant, its integers, and parts of its loops.

The native ABI, the steps and what a variant is: docs/design/loop_ir.md and compiler/nest.py. Everything here is decided
by sizes and strides alone; only into how many parts a loop is cut depends on threads, and no result does.
"""
import os
import threading

from cpython.object cimport PyObject
from libc.stdint cimport INT64_MAX, int64_t, uint64_t
from libc.stdlib cimport calloc, free, malloc
from libc.string cimport memcpy

from umiak.backends.cpu.axes cimport *
from umiak.backends.cpu.choice cimport INLINE_DIMS, LONG, STREAMS, choose, in_place
from umiak.compiler.codes cimport *
from umiak.core.rows cimport Rows

from umiak.compiler.codes import SCHEDULES
from umiak.compiler.statistics import apart
from umiak.util.lazy import loaded

cdef extern from "Python.h":
    void PyErr_SetObject(object type, object value)      # `void`, so that no error is taken for our own

cdef extern from "umiak/backends/cpu/scratch.h" nogil:
    int umiak_scratch_init()
    void* umiak_scratch_get(int which, int64_t bytes)
    void umiak_scratch_put(int64_t bytes, void* data)
    int64_t umiak_scratch_size(int which)

cdef extern from *:
    """
    #define umiak_acquire_load(p) __atomic_load_n((p), __ATOMIC_ACQUIRE)
    #define umiak_release_store(p, v) __atomic_store_n((p), (v), __ATOMIC_RELEASE)
    #define umiak_unlikely(x) __builtin_expect(!!(x), 0)
    static inline void umiak_note_failure(int64_t* p, int64_t row, int code)     /* the first row of all that failed */
    {
        int64_t was = __atomic_load_n(p, __ATOMIC_RELAXED), now = row << 32 | (uint32_t)code;
        while (now < was && !__atomic_compare_exchange_n(p, &was, now, 1, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {}
    }
    """
    Compiled* umiak_acquire_load(Compiled** p) nogil
    void umiak_release_store(Compiled** p, Compiled* v) nogil
    void umiak_note_failure(int64_t* p, int64_t row, int code) nogil
    bint umiak_unlikely(bint x) nogil

cdef enum:
    MOST_AXES = MAX_AXES - 2    # of a nest
    MAX_ACCESSES = 240
    GRAIN = 64                  # points of a lane axis that a part takes at least: no two write to one cache line
    # when threads are asked
    PARALLEL_NS = 25000         # less work than this is done before another thread has begun
    PART_NS = 12000             # work of a part
    LONG_NS = 200000            # per thread: more parts than threads, so that none waits long for the last
    PARTS_PER_THREAD = 4
    # results of a launch, beside codes of Fail
    ERROR_SET = -1              # a Python exception is set in this thread
    NO_MEMORY = -2

cdef struct Call:               # what kernels get
    void** ptrs
    const int64_t* dims
    const uint64_t* scalars
    void* shared

cdef struct Work:               # one phase in parts
    kernel_t kernel
    const Call* call
    int64_t local
    int64_t count
    int64_t chunk

cdef struct ManyWork:           # many rows in parts
    kernel_t kernel
    const Rows* rows
    const int64_t* dims         # of a row, but for its size
    int n_dims
    const int64_t* ends         # of each row, in units of GRAIN points from the first row on
    int64_t chunk               # units of a part
    int64_t failed              # row << 32 | code; what it was made with: none


if umiak_scratch_init() != 0:
    raise MemoryError("no key for thread-specific data is left")


# ---- threads: what runtime/parallel installs -------------------------------------------------------------------------
cdef int serial_for(part_t fn, void* arg, int64_t parts) noexcept nogil:
    cdef int64_t i
    cdef int code, result = 0
    for i in range(parts):
        code = fn(arg, i)
        if result == 0:
            result = code
    return result


cdef int one_thread() noexcept nogil:
    return 1


parallel_for = serial_for
thread_count = one_thread


def install_parallel(size_t parallel, size_t threads):
    global parallel_for, thread_count
    parallel_for = <parallel_for_t><void*>parallel
    thread_count = <thread_count_t><void*>threads


def threads_of_launches():
    return thread_count()


# ---- a launch --------------------------------------------------------------------------------------------------------
cdef inline bint same_key(const Compiled* c, const uint64_t* key, int n_words) noexcept nogil:
    cdef int i
    for i in range(n_words):
        if c.key[i] != key[i]:
            return False
    return True


cdef Compiled* find(Config* config, const uint64_t* key) noexcept nogil:
    cdef Compiled* c = umiak_acquire_load(&config.first)
    while c != NULL:
        if same_key(c, key, config.n_words):
            umiak_release_store(&config.last, c)
            return c
        c = c.next
    return NULL


cdef inline Compiled* obtain(Config* config, const uint64_t* key) noexcept nogil:
    """The variant of a key, compiled if it is new; NULL with an exception set."""
    cdef Compiled* c = find(config, key)
    return c if c != NULL else compile_variant(config, key)


cdef int launch(void* self, void** ptrs, const int64_t* dims, const uint64_t* scalars, int64_t stream) noexcept nogil:
    """The native launch ABI. ``dims``: sizes (P, R), strides of each access, extras."""
    cdef Config* config = <Config*>self
    cdef Space s
    cdef Call call
    cdef uint64_t key[MAX_WORDS]
    cdef int64_t[INLINE_DIMS] inline_dims
    cdef int64_t* own
    cdef int n, result
    cdef int64_t count
    cdef Compiled* variant
    cdef void* noted
    cdef Ctx ctx
    # As last time?
    if config.n_given <= UMIAK_MEMO_GIVEN:
        noted = umiak_recall(&config.memo, dims, config.n_given, inline_dims, &count)
        if noted != NULL:
            ctx.local = ctx.shared = NULL
            return (<kernel_t>noted)(ptrs, inline_dims, scalars, &ctx, 0, count)
    own = choose(config, ptrs, dims, &s, key, inline_dims)
    if own == NULL:
        return no_memory()
    if s.p == 0:
        return 0
    # The code.
    variant = umiak_acquire_load(&config.last)
    if variant == NULL or not same_key(variant, key, config.n_words):
        variant = obtain(config, key)
        if variant == NULL:
            if own != inline_dims:
                free(own)
            return ERROR_SET
    call.ptrs = ptrs
    call.dims = own
    call.scalars = scalars
    if is_simple(config, variant, &s, &call):
        count = count_of(&variant.phases[0], &s)
        n = s.p + s.r
        umiak_note(&config.memo, dims, config.n_given, own, config.n_extras + n * (1 + config.n_accesses) + 2,
                   <void*>variant.phases[0].kernel, count)
        ctx.local = ctx.shared = NULL
        result = variant.phases[0].kernel(ptrs, own, scalars, &ctx, 0, count)
    else:
        result = run(config, variant, &s, &call)
    if own != inline_dims:
        free(own)
    return result


cdef inline bint is_simple(const Config* config, const Compiled* variant, const Space* s, const Call* call) noexcept nogil:
    """Return whether a launch is one call of one kernel."""
    return <double>s.points_p * <double>s.points_r * config.cost < PARALLEL_NS and variant.n_phases == 1 and \
        no_scratch(&variant.phases[0], call)


cdef int launch_flat(void* self, void** ptrs, int64_t n, const uint64_t* scalars) noexcept nogil:
    """``launch`` for a nest without R and extras where every access has stride 1 along one axis of ``n`` points."""
    cdef Config* config = <Config*>self
    cdef Space s
    cdef Call call
    cdef uint64_t key[MAX_WORDS]
    cdef int64_t[1 + MAX_ACCESSES] dims
    cdef int k
    cdef Compiled* variant = umiak_acquire_load(&config.flat)
    cdef bint large = n >= config.stream_points and not in_place(config, ptrs)
    if n == 0:
        return 0
    if variant == NULL or umiak_unlikely(large):
        flat_key(config, 0, key)
        if large:
            key[0] |= STREAMS
        variant = obtain(config, key)
        if variant == NULL:
            return ERROR_SET
        if not large:
            umiak_release_store(&config.flat, variant)
    s.p = 1
    s.r = 0
    s.size[0] = n
    s.axis[0] = 0
    s.points_p = n
    s.points_r = 1
    s.blocks = 0
    dims[0] = n
    for k in range(config.n_accesses):
        dims[1 + k] = 1
    call.ptrs = ptrs
    call.dims = dims
    call.scalars = scalars
    return run(config, variant, &s, &call)


cdef void flat_key(const Config* config, uint64_t fixed, uint64_t* key) noexcept nogil:
    cdef int k
    key[0] = MAP | 1 << 8
    for k in range(1, config.n_words):
        key[k] = 0
    for k in range(config.n_accesses):
        if not is_fixed(config, fixed, k):
            key[1 + (k >> 3)] |= <uint64_t>UNIT << (8 * (k & 7))


cdef inline bint is_fixed(const Config* config, uint64_t fixed, int k) noexcept nogil:
    """Return whether access ``k`` does not move, as its pointer is one of ``fixed``."""
    return 0 <= config.pointers[k] < 64 and fixed >> config.pointers[k] & 1


cdef int launch_many(void* self, Rows* rows, int64_t stream) noexcept nogil:
    """Flat launches of many rows: each has a size, pointers and scalars of its own. Rows that lie apart are cut into
    parts all together, else they run one after the other."""
    cdef Config* config = <Config*>self
    cdef uint64_t key[MAX_WORDS]
    cdef int64_t[1 + MAX_ACCESSES] dims
    cdef double points = 0
    cdef int64_t i, n
    cdef int k, result
    cdef Compiled* variant
    cdef Space s
    cdef Call call
    cdef Ctx ctx
    flat_key(config, rows.fixed, key)
    variant = umiak_acquire_load(&config.flat)
    if variant == NULL or not same_key(variant, key, config.n_words):
        variant = obtain(config, key)
        if variant == NULL:
            return ERROR_SET
        if rows.fixed == 0:
            umiak_release_store(&config.flat, variant)
    for k in range(config.n_accesses):
        dims[1 + k] = not is_fixed(config, rows.fixed, k)
    for i in range(rows.count):
        points += rows.sizes[i]
    call.dims = dims
    dims[0] = 0
    if variant.n_phases == 1 and variant.phases[0].range == INNER and \
            no_scratch(&variant.phases[0], &call):
        if rows.apart and points * config.cost >= PARALLEL_NS and thread_count() > 1:
            return in_parts(config, variant, rows, dims, points * config.cost)
        if points * config.cost < PARALLEL_NS or thread_count() == 1:
            ctx.local = ctx.shared = NULL
            for i in range(rows.count):
                n = dims[0] = rows.sizes[i]
                if n != 0:
                    result = variant.phases[0].kernel(rows.ptrs + i * rows.width, dims, rows.scalars + i * rows.words,
                                                      &ctx, 0, n)
                    if umiak_unlikely(result != 0):
                        rows.failed = i
                        return result
            return 0
    # One after the other, each on as many threads as it is worth.
    s.p = 1
    s.r = 0
    s.axis[0] = 0
    s.points_r = 1
    s.blocks = 0
    for i in range(rows.count):
        if rows.sizes[i] == 0:
            continue
        dims[0] = s.size[0] = s.points_p = rows.sizes[i]
        call.ptrs = rows.ptrs + i * rows.width
        call.scalars = rows.scalars + i * rows.words
        result = run(config, variant, &s, &call)
        if result != 0:
            rows.failed = i
            return result
    return 0


cdef int in_parts(Config* config, const Compiled* variant, Rows* rows, const int64_t* dims, double ns) noexcept nogil:
    """Rows that lie apart, cut into parts of about as many points wherever a row begins or ends."""
    cdef ManyWork w
    cdef int64_t* ends = <int64_t*>malloc(rows.count * sizeof(int64_t))
    cdef int64_t i, units = 0, parts
    cdef int threads = thread_count()
    if ends == NULL:
        return no_memory()
    for i in range(rows.count):
        units += (rows.sizes[i] + GRAIN - 1) // GRAIN
        ends[i] = units
    parts = threads * (PARTS_PER_THREAD if ns >= LONG_NS * <double>threads else 1)
    if parts * <double>PART_NS > ns:
        parts = <int64_t>(ns / PART_NS)
    w.chunk = (units + parts - 1) // parts
    parts = (units + w.chunk - 1) // w.chunk
    w.kernel = variant.phases[0].kernel
    w.rows = rows
    w.dims = dims
    w.n_dims = 1 + config.n_accesses
    w.ends = ends
    w.failed = INT64_MAX
    parallel_for(run_many_part, &w, parts)
    free(ends)
    if w.failed != INT64_MAX:
        rows.failed = w.failed >> 32
        return <int>w.failed
    return 0


cdef int run_many_part(void* arg, int64_t part) noexcept nogil:
    cdef ManyWork* w = <ManyWork*>arg
    cdef const Rows* rows = w.rows
    cdef int64_t[1 + MAX_ACCESSES] dims
    cdef int64_t begin = part * w.chunk, end = begin + w.chunk, low = 0, high = rows.count, i, at, lo, hi
    cdef int result
    cdef Ctx ctx
    ctx.local = ctx.shared = NULL
    memcpy(dims, w.dims, w.n_dims * sizeof(int64_t))
    while low < high:                                    # the first row that ends after `begin`
        i = (low + high) // 2
        if w.ends[i] <= begin:
            low = i + 1
        else:
            high = i
    for i in range(low, rows.count):
        at = w.ends[i - 1] if i else 0                   # where the row begins
        if at >= end:
            break
        dims[0] = rows.sizes[i]
        lo = (begin - at) * GRAIN if begin > at else 0
        hi = (end - at) * GRAIN
        if hi > dims[0]:
            hi = dims[0]
        if lo >= hi:
            continue
        result = w.kernel(rows.ptrs + i * rows.width, dims, rows.scalars + i * rows.words, &ctx, lo, hi)
        if umiak_unlikely(result != 0):
            umiak_note_failure(&w.failed, i, result)
            return result
    return 0


# ---- running a variant -----------------------------------------------------------------------------------------------
cdef int run_part(void* arg, int64_t part) noexcept nogil:
    cdef Work* w = <Work*>arg
    cdef Ctx ctx
    cdef int64_t lo = part * w.chunk, hi = lo + w.chunk
    cdef int result
    if hi > w.count:
        hi = w.count
    ctx.shared = w.call.shared
    ctx.local = umiak_scratch_get(0, w.local)
    if ctx.local == NULL and w.local > 0:
        return NO_MEMORY
    result = w.kernel(w.call.ptrs, w.call.dims, w.call.scalars, &ctx, lo, hi)
    umiak_scratch_put(w.local, ctx.local)
    return result


cdef inline int64_t count_of(const PhaseCode* phase, const Space* s) noexcept nogil:
    """The length of a phase's parallel range."""
    if phase.range == INNER:
        return s.size[s.p - 1]
    if phase.range == ROWS:
        return s.points_p
    return count_blocks(phase, s)


cdef int64_t count_blocks(const PhaseCode* phase, const Space* s) noexcept nogil:
    cdef int64_t inner = s.size[s.p - 1], tile
    if phase.range == OUTER:
        return s.points_p // inner
    if phase.range == ROW_BLOCKS:
        return s.points_p * s.blocks
    if phase.range == OUTER_BLOCKS:
        return s.points_p // inner * s.blocks
    if phase.range == COLUMN_BLOCKS:
        return s.points_p // inner * ((inner + phase.block - 1) // phase.block)
    if phase.range == TILE_BLOCKS:
        tile = s.size[s.tile]
        return s.points_p // inner // tile * ((tile + phase.block - 1) // phase.block)
    return 1


cdef int run_phase(const PhaseCode* phase, const Space* s, double ns, const Call* call) noexcept nogil:
    cdef Work w
    cdef int64_t parts
    cdef int threads
    w.kernel = phase.kernel
    w.call = call
    w.local = phase.local(call.dims) if phase.local != NULL else 0
    w.count = count_of(phase, s)
    w.chunk = w.count
    if ns >= PARALLEL_NS and w.count > 1:
        threads = thread_count()
        if threads > 1:
            parts = threads
            if ns >= LONG_NS * <double>threads:
                parts *= PARTS_PER_THREAD
            if parts * <double>PART_NS > ns:
                parts = <int64_t>(ns / PART_NS)
            w.chunk = (w.count + parts - 1) // parts
            if phase.range == INNER or (phase.range == ROWS and w.chunk >= 4 * GRAIN):
                w.chunk = (w.chunk + GRAIN - 1) // GRAIN * GRAIN
            parts = (w.count + w.chunk - 1) // w.chunk
            if parts > 1:
                return parallel_for(run_part, &w, parts)
            w.chunk = w.count
    return run_part(&w, 0)


cdef inline bint no_scratch(const PhaseCode* phase, const Call* call) noexcept nogil:
    return (phase.local == NULL or phase.local(call.dims) == 0) and (phase.shared == NULL or phase.shared(call.dims) == 0)


cdef int run(Config* config, const Compiled* variant, const Space* s, Call* call) noexcept nogil:
    cdef Ctx ctx
    cdef int result
    cdef double points = <double>s.points_p * <double>s.points_r
    if is_simple(config, variant, s, call):
        ctx.local = ctx.shared = NULL
        result = variant.phases[0].kernel(call.ptrs, call.dims, call.scalars, &ctx, 0, count_of(&variant.phases[0], s))
    else:
        result = run_phases(config, variant, s, call, points * config.cost)
    if umiak_unlikely(result == NO_MEMORY):
        return no_memory()
    return result


cdef int run_phases(Config* config, const Compiled* variant, const Space* s, Call* call, double ns) noexcept nogil:
    cdef int64_t bytes = 0, wanted
    cdef int i, result = 0, counts
    cdef double work
    call.shared = NULL
    if variant.scratch:
        for i in range(variant.n_phases):
            if variant.phases[i].shared != NULL:
                wanted = variant.phases[i].shared(call.dims)
                if wanted > bytes:
                    bytes = wanted
        call.shared = umiak_scratch_get(1, bytes)
        if call.shared == NULL and bytes > 0:
            return NO_MEMORY
    for i in range(variant.n_phases):
        counts = variant.phases[i].range
        if s.blocks == 0:
            work = ns
        elif counts == ROW_BLOCKS or counts == OUTER_BLOCKS:
            work = ns / variant.n_blocked
        else:
            work = s.points_p * s.blocks * config.cost      # combines what the blocks have found
        result = run_phase(&variant.phases[i], s, work, call)
        if result != 0:
            break
    umiak_scratch_put(bytes, call.shared)
    return result


cdef int no_memory() noexcept nogil:
    with gil:
        PyErr_SetObject(MemoryError, MemoryError("no memory for scratch of a kernel"))
    return ERROR_SET


# ---- a miss ----------------------------------------------------------------------------------------------------------
cdef int64_t _forks = 0


def _after_fork():
    global _forks
    _forks += 1


os.register_at_fork(after_in_child=_after_fork)


cdef Compiled* compile_variant(Config* config, const uint64_t* key) noexcept with gil:
    """NULL with an exception set when Python raised one."""
    cdef Compiled* made = NULL
    cdef object error = None
    try:
        with apart():                                    # a launch that had to wait for its code took no time for that
            made = (<NestLauncher>config.owner).compile_key(key)
    except BaseException as e:
        error = e
    if error is not None:
        PyErr_SetObject(type(error), error)              # here, since leaving the handler clears what it handled
    return made


cdef class NestLauncher:
    """The configuration of one nest and its compiled variants."""

    cdef Config config
    cdef readonly str name
    cdef readonly int misses
    cdef object compile
    cdef object lock            # held while a variant is made, so that threads that all want it make it once
    cdef int64_t lock_forks
    cdef list keep

    def __init__(self, *, compile, int n_parallel, int n_reduced, access_pointers, object outputs, int n_extras=0,
                 double cost_per_point=1.0, bint splittable=False, str name="", int itemsize=0, int64_t stream_bytes=0,
                 bint scatters=False, bint ordered=False, bint sums=False):
        cdef int k, pointer
        cdef list pointers = list(access_pointers)
        if self.config.owner != NULL:
            raise RuntimeError("a NestLauncher is initialised once")
        if not callable(compile):
            raise TypeError(f"[NestLauncher] requires a callable to compile with, got {compile!r}")
        if n_parallel < 0 or n_reduced < 0 or n_parallel + n_reduced > MOST_AXES:
            raise ValueError(f"[NestLauncher] requires at most {MOST_AXES} axes, got {n_parallel} and {n_reduced}")
        if len(pointers) > MAX_ACCESSES:
            raise ValueError(f"[NestLauncher] requires at most {MAX_ACCESSES} accesses, got {len(pointers)}")
        if n_extras < 0 or not cost_per_point >= 0:
            raise ValueError(
                f"[NestLauncher] requires n_extras and cost_per_point >= 0, got {n_extras} and {cost_per_point}")
        self.compile = compile
        self.name = name
        self.lock = threading.RLock()
        self.lock_forks = _forks
        self.keep = []
        self.config.n_p = n_parallel
        self.config.n_axes = n_parallel + n_reduced
        self.config.n_accesses = len(pointers)
        self.config.n_words = 1 + (len(pointers) + 7) // 8
        self.config.n_extras = n_extras
        self.config.n_given = self.config.n_axes * (1 + self.config.n_accesses) + n_extras
        self.config.splittable = splittable
        self.config.scatters = scatters
        self.config.ordered = ordered
        self.config.sums = sums
        self.config.cost = cost_per_point
        self.config.order = 0 if pointers else -1
        self.config.itemsize = itemsize
        self.config.stream_points = stream_bytes // itemsize if itemsize and stream_bytes else INT64_MAX
        self.config.n_pointers = min(max(pointers, default=-1) + 1, 64)
        self.config.outputs = int(outputs) & 0xFFFFFFFFFFFFFFFF
        self.config.inputs = <int*>calloc(len(pointers) + 1, sizeof(int))
        self.config.pointers = <int*>calloc(len(pointers) + 1, sizeof(int))
        if self.config.inputs == NULL or self.config.pointers == NULL:
            raise MemoryError()
        for k in range(len(pointers) - 1, -1, -1):
            if pointers[k] >= 0 and int(outputs) >> pointers[k] & 1:
                self.config.order = k
        for k, pointer in enumerate(pointers):
            self.config.pointers[k] = pointer
            if pointer < 0:
                continue
            if not int(outputs) >> pointer & 1:
                self.config.inputs[self.config.n_inputs] = k
                self.config.n_inputs += 1
        self.config.owner = <PyObject*>self

    def __dealloc__(self):
        cdef Compiled* c = self.config.first
        while c != NULL:
            after = c.next
            free(c.phases)
            free(c)
            c = after
        free(self.config.inputs)
        free(self.config.pointers)

    cdef Compiled* compile_key(self, const uint64_t* key) except NULL:
        cdef Compiled* c
        if self.lock_forks != _forks:                    # who held it stayed behind in the parent
            self.lock_forks = _forks
            self.lock = threading.RLock()
        with self.lock:
            c = find(&self.config, key)
            if c == NULL:
                self.misses += 1
                phases, keep = self.compile(*describe(key, self.config.n_accesses))
                c = make(key, self.config.n_words, list(phases))
                self.keep.append(keep)
                c.next = self.config.first
                umiak_release_store(&self.config.first, c)
                umiak_release_store(&self.config.last, c)
        return c

    @property
    def address(self):
        return <size_t><void*>&launch

    @property
    def flat_address(self):
        """0 where a flat launch cannot be."""
        return <size_t><void*>&launch_flat if self.config.n_axes == self.config.n_p and not self.config.n_extras else 0

    @property
    def many_address(self):
        """0 where there is no flat launch."""
        return <size_t><void*>&launch_many if self.config.n_axes == self.config.n_p and not self.config.n_extras else 0

    @property
    def self_pointer(self):
        return <size_t>&self.config

    def decide(self, given):
        """Return the work of a launch with these integers: fields of its variant, integers of its kernels, and the space that
        it walks (n P, n R, sizes, tile, blocks). None where there is nothing to do."""
        cdef Space s
        cdef uint64_t key[MAX_WORDS]
        cdef int64_t[INLINE_DIMS] inline_dims
        cdef int64_t* own
        cdef int64_t* dims
        cdef int i
        if len(given) != self.config.n_given or self.config.stream_points != INT64_MAX:
            raise ValueError(f"[NestLauncher] requires {self.config.n_given} integers, and outputs that stay in caches, "
                             f"to decide without pointers, got {len(given)}")
        dims = <int64_t*>malloc((self.config.n_given + 1) * sizeof(int64_t))
        if dims == NULL:
            raise MemoryError()
        try:
            for i in range(self.config.n_given):
                dims[i] = given[i]
            own = choose(&self.config, NULL, dims, &s, key, inline_dims)
            if own == NULL:
                raise MemoryError()
            if s.p == 0:
                return None
            made = [own[i] for i in range(self.config.n_extras + (s.p + s.r) * (1 + self.config.n_accesses) + 2)]
            if own != inline_dims:
                free(own)
        finally:
            free(dims)
        sizes = tuple([s.size[i] for i in range(s.p + s.r)])
        return describe(key, self.config.n_accesses), made, (s.p, s.r, sizes, s.tile, s.blocks)

    def variants(self):
        """The compiled variants, oldest first."""
        from umiak.compiler.nest import Variant          # not needed for launching
        cdef Compiled* c = self.config.first
        cdef list found = []
        while c != NULL:
            found.append(Variant(*describe(c.key, self.config.n_accesses)))
            c = c.next
        return found[::-1]


cdef tuple describe(const uint64_t* key, int n_accesses):
    """A key as the fields of a Variant."""
    cdef int k
    bits = [(key[1 + (k >> 3)] >> (8 * (k & 7))) & 255 for k in range(n_accesses)]
    kinds = tuple([(b & 15, b >> 4) for b in bits])
    tile = <int>((key[0] >> 24) & 63) - 1
    fields = SCHEDULES[key[0] & 255], (key[0] >> 8) & 255, (key[0] >> 16) & 127, kinds, tile
    return (*fields, bool(key[0] & STREAMS), bool(key[0] & LONG)) if key[0] & (STREAMS | LONG) else fields


cdef Compiled* make(const uint64_t* key, int n_words, list phases) except NULL:
    cdef Compiled* c
    cdef int i
    cdef size_t kernel, local, shared
    for phase in phases:
        good = len(phase) in (4, 5) and phase[0] and phase[3] in range(8)
        if not good or (phase[3] >= COLUMN_BLOCKS and not any(phase[4:])):
            raise ValueError(
                f"a compiled phase is (address, local, global, range) or (..., range, block), got {phase!r}")
    if not phases:
        raise ValueError("a compiled variant requires a phase at least, got none")
    c = <Compiled*>calloc(1, sizeof(Compiled))
    if c == NULL:
        raise MemoryError()
    c.phases = <PhaseCode*>calloc(len(phases), sizeof(PhaseCode))
    if c.phases == NULL:
        free(c)
        raise MemoryError()
    for i in range(n_words):
        c.key[i] = key[i]
    for kernel, local, shared, counts, *block in phases:
        c.phases[c.n_phases].kernel = <kernel_t><void*>kernel
        c.phases[c.n_phases].local = <bytes_t><void*>local
        c.phases[c.n_phases].shared = <bytes_t><void*>shared
        c.phases[c.n_phases].range = counts
        c.phases[c.n_phases].block = max(block[0], 1) if block else 1
        c.n_blocked += counts in (ROW_BLOCKS, OUTER_BLOCKS)
        c.scratch |= local != 0 or shared != 0
        c.n_phases += 1
    return c


def scratch_sizes():
    """Bytes of scratch that this thread keeps: of parts, of launches."""
    return umiak_scratch_size(0), umiak_scratch_size(1)


globals().update(MOST_AXES=MOST_AXES, MAX_ACCESSES=MAX_ACCESSES)
loaded(__name__)
