"""The launch of sums and means over windows and of the sums' transpose, in float32, by oneDNN's average pooling.

The library divides by the size of the window, pads included: sums are multiplied by it, or, for the transpose, the
operand is. A few windows without pads are summed here, sooner than the library is reached. What it cannot take goes to another launch, a compiled nest's: other layouts than channels first and last,
dilated windows, shapes for which the library has plain loops only.

``dims`` are sizes and strides of the operand and sizes of the result, then those of the other launch. ``scalars``: kernel,
strides, low pads, high pads, dilations (and the sizes that the transpose gives).
"""
from libc.stdint cimport int64_t, uint64_t

from umiak.backends.cpu.providers.common cimport NO_MEMORY, scratch_free, launch_t, scratch_alloc, threads
from umiak.backends.cpu.providers.layout cimport CHANNELS_FIRST, ELSEWISE, layout_of, strides_of
from umiak.backends.cpu.providers.onednn cimport *
from umiak.backends.cpu.providers.table cimport Entry, Shapes, Table, add, find, release

cdef enum:
    SUM = 0
    SPREAD = 1
    MEAN = 2
    FEW = 2048                 # elements of windows in all

cdef struct Launcher:
    int kind, nd
    launch_t other
    void* other_self
    Table* table

cdef struct Problem:
    int layout                 # of the operand; the library's result lies alike, ours is dense
    const int64_t* x           # sizes of what windows lie in
    const int64_t* y           # of the windows
    int64_t[3] kernel
    int64_t[3] stride
    int64_t[3] lo
    int64_t[3] hi
    int64_t points             # of a window


cdef bint parse(Launcher* self, const int64_t* dims, const uint64_t* scalars, Problem* q) noexcept nogil:
    """Return whether it is a problem for the library."""
    cdef int i, n = self.nd, r = self.nd + 2
    cdef const int64_t* result = dims + 2 * r
    for i in range(r):
        if dims[i] < 1 or result[i] < 1:
            return False
    q.layout = layout_of(dims, dims + r, r)
    if q.layout == ELSEWISE:
        return False
    q.x = result if self.kind == SPREAD else dims
    q.y = dims if self.kind == SPREAD else result
    q.points = 1
    for i in range(n):
        q.kernel[i], q.stride[i] = <int64_t>scalars[i], <int64_t>scalars[n + i]
        q.lo[i], q.hi[i] = <int64_t>scalars[2 * n + i], <int64_t>scalars[3 * n + i]
        if <int64_t>scalars[4 * n + i] != 1 or q.lo[i] >= q.kernel[i] or q.hi[i] >= q.kernel[i]:
            return False
        q.points *= q.kernel[i]
    return True


cdef handle_t described(Launcher* self, const Problem* q, handle_t x, handle_t y) noexcept nogil:
    """A primitive description, or NULL where the library has none but plain loops."""
    cdef Library* lib = library()
    cdef handle_t pd = NULL, hint = NULL, attr = NULL
    cdef int64_t[3] dilation
    cdef int bad
    dilation[0] = dilation[1] = dilation[2] = 0
    bad = lib.attr_create(&attr) or lib.attr_scratchpad(attr, 1)
    if not bad and self.kind != SPREAD:
        bad = lib.pool(&pd, lib.engine, FORWARD_INFERENCE, POOLING_AVERAGE, x, y, q.stride, q.kernel, dilation, q.lo, q.hi, attr)
    elif not bad:
        bad = lib.pool(&hint, lib.engine, FORWARD_TRAINING, POOLING_AVERAGE, x, y, q.stride, q.kernel, dilation, q.lo, q.hi, attr)
        if not bad:
            bad = lib.pool_back(&pd, lib.engine, POOLING_AVERAGE, x, y, q.stride, q.kernel, dilation, q.lo, q.hi, hint, attr)
    drop_wishes(NULL, attr)
    return worth_having(pd, hint, bad)


cdef Program* build(Launcher* self, const Problem* q) noexcept nogil:
    """A program for this shape; without steps where the library has none worth running."""
    cdef Library* lib = library()
    cdef Program* p = new_program()
    cdef Step* step
    cdef handle_t x = NULL, y = NULL, pd = NULL, user = NULL
    cdef int64_t[5] by
    cdef int r = self.nd + 2, source, target, result, bad
    cdef const int64_t* made = q.x if self.kind == SPREAD else q.y
    if p == NULL:
        return NULL
    strides_of(q.layout, q.x, r, by)
    bad = lib.desc_strided(&x, r, q.x, F32, by)
    strides_of(q.layout, q.y, r, by)
    bad = bad or lib.desc_strided(&y, r, q.y, F32, by)
    strides_of(CHANNELS_FIRST, made, r, by)
    bad = bad or lib.desc_strided(&user, r, made, F32, by)
    if not bad:
        pd = described(self, q, x, y)
    if pd != NULL:
        source = add_buffer(p, y if self.kind == SPREAD else x, 0)
        result = target = add_buffer(p, user, 1)
        if q.layout != CHANNELS_FIRST:
            result = add_buffer(p, x if self.kind == SPREAD else y, -1)
        step = add_step(p, pd)
        bad = (
            step == NULL or add_argument(step, ARG_DIFF_DST if self.kind == SPREAD else ARG_SRC, source)
            or add_argument(step, ARG_DIFF_SRC if self.kind == SPREAD else ARG_DST, result)
            or (result != target and reordered(p, result, target))
        )
        lib.pd_destroy(pd)
    drop(x)
    drop(y)
    drop(user)
    if bad:
        free_program(p)
        return NULL
    return p


cdef inline void scale(float* to, const float* x, float by, int64_t n) noexcept nogil:
    cdef int64_t i
    for i in range(n):
        to[i] = x[i] * by


cdef inline int64_t elements(const int64_t* sizes, int r) noexcept nogil:
    cdef int64_t n = 1
    cdef int i
    for i in range(r):
        n *= sizes[i]
    return n


cdef bint few(Launcher* self, const Problem* q) noexcept nogil:
    """Return whether windows are few and small, and there are no pads."""
    cdef int i
    for i in range(self.nd):
        if q.lo[i] or q.hi[i]:
            return False
    return self.kind != SPREAD and q.layout == CHANNELS_FIRST and elements(q.y, self.nd + 2) * q.points <= FEW


cdef void run_few(Launcher* self, const Problem* q, const float* x, float* y) noexcept nogil:
    """Of fewer than three windowed dims the outer ones have one point."""
    cdef int64_t[3] size, count, kernel, step
    cdef int64_t plane, a, b, c, i, j, k
    cdef int d, own
    cdef double total, share = <double>q.points if self.kind == MEAN else 1
    cdef const float* window
    cdef const float* row
    for d in range(3):
        own = d - (3 - self.nd)
        size[d] = q.x[2 + own] if own >= 0 else 1
        count[d] = q.y[2 + own] if own >= 0 else 1
        kernel[d] = q.kernel[own] if own >= 0 else 1
        step[d] = q.stride[own] if own >= 0 else 1
    for plane in range(q.x[0] * q.x[1]):
        for a in range(count[0]):
            for b in range(count[1]):
                row = x + (a * step[0] * size[1] + b * step[1]) * size[2]
                for c in range(count[2]):
                    window = row + c * step[2]
                    total = 0
                    for i in range(kernel[0]):
                        for j in range(kernel[1]):
                            for k in range(kernel[2]):
                                total += window[(i * size[1] + j) * size[2] + k]
                    y[0] = <float>(total / share)
                    y += 1
        x += size[0] * size[1] * size[2]


cdef int run(Launcher* self, Problem* q, void** ptrs, bint* done) noexcept nogil:
    """``done`` stays False where the library has only plain loops for this shape."""
    cdef int64_t key[26]
    cdef void* pointers[2]
    cdef int i, r = self.nd + 2, words = 2, bad = 0, before
    cdef char* scaled = NULL
    cdef Program* p = NULL
    cdef Entry* e
    key[0], key[1] = threads(), q.layout
    for i in range(r):
        key[words], key[words + 1] = q.x[i], q.y[i]
        words += 2
    for i in range(self.nd):
        key[words], key[words + 1], key[words + 2], key[words + 3] = q.kernel[i], q.stride[i], q.lo[i], q.hi[i]
        words += 4
    before = enter()
    e = find(self.table, key, words)
    if e == NULL:
        p = build(self, q)
        if p != NULL:
            e = add(self.table, key, words, p)
    if e != NULL:
        p = <Program*>e.value
        if p.step_count:
            done[0] = True
            pointers[0], pointers[1] = ptrs[0], ptrs[1]
            if self.kind == SPREAD:
                scaled = <char*>scratch_alloc(elements(q.y, r) * 4)
                bad = NO_MEMORY if scaled == NULL else 0
                if not bad:
                    scale(<float*>scaled, <const float*>ptrs[0], <float>q.points, elements(q.y, r))
                    pointers[0] = scaled
            if not bad:
                bad = run_program(p, pointers)
            scratch_free(scaled)
        release(self.table, e)
    leave(before)
    if done[0] and not bad and self.kind == SUM:
        scale(<float*>ptrs[1], <const float*>ptrs[1], <float>q.points, elements(q.y, r))
    return bad


cdef int launch(void* self_, void** ptrs, const int64_t* dims, const uint64_t* scalars, int64_t stream) noexcept nogil:
    cdef Launcher* self = <Launcher*>self_
    cdef Problem q
    cdef bint done = False
    cdef int i, bad
    cdef int64_t n, points = 1
    cdef float* y
    if parse(self, dims, scalars, &q):
        if few(self, &q):
            run_few(self, &q, <const float*>ptrs[0], <float*>ptrs[1])
            return 0
        bad = run(self, &q, ptrs, &done)
        if done or bad:
            return bad
    bad = self.other(self.other_self, ptrs, dims + 3 * (self.nd + 2), scalars, stream)
    if self.kind == MEAN and not bad:
        for i in range(self.nd):
            points *= <int64_t>scalars[i]
        y = <float*>ptrs[1]
        for n in range(elements(dims + 2 * (self.nd + 2), self.nd + 2)):
            y[n] /= <float>points
    return bad


cdef class LaunchState(Shapes):
    """The state of a launch; ``pointer`` is its ``self``. ``kind``: "sum", "spread" or "mean". ``other``: address and
    ``self`` of the other launch, of sums where this one is of means.
    """

    cdef Launcher* self

    def __cinit__(self, str kind, int nd, size_t other, size_t other_self):
        if library() == NULL:
            raise RuntimeError("[pooling] requires oneDNN, got none that is loaded")
        if not 1 <= nd <= 3:
            raise ValueError(f"[pooling] requires one to three windowed dims, got {nd}")
        self.self = <Launcher*>self.launcher(sizeof(Launcher))
        self.self.kind, self.self.nd = ("sum", "spread", "mean").index(kind), nd
        self.self.other, self.self.other_self = <launch_t><void*>other, <void*>other_self
        self.self.table = self.shapes(free_program)


ADDRESS = <size_t><void*>&launch
