# cython: binding=False
"""Drivers of attention of few queries: scores as they are written, a row per query and keys in the lanes.

Of few queries a strip is mostly empty, and what is done once for each strip takes longer than its matmuls. Here keys (and in the
gradient values) are transposed in place of queries, all scores of a key head exist at once, in panels of as many keys as a strip is
wide, and everything else are matmuls over rows as they lie. No more is computed than the queries there are, and whole vectors of keys.
"""
from libc.stdint cimport int32_t, int64_t
from libc.string cimport memset

from umiak.backends.cpu.attention cimport *

cdef extern from "umiak/backends/cpu/scratch.h" nogil:
    int umiak_scratch_init()
    void* umiak_scratch_get(int which, int64_t bytes)
    void umiak_scratch_put(int64_t bytes, void* data)

cdef enum:
    ROOM = 1 << 20              # bytes of a part, at most: about an L2 cache

if umiak_scratch_init() != 0:
    raise MemoryError("no key for thread-specific data is left")


cdef inline bint fits(const Call* c) noexcept nogil:
    """Return whether a call may go this way: a strip is less than three quarters full, and nothing is asked that strips alone know."""
    return (4 * c.n_rows <= 3 * c.config.width and not c.pairs and not c.config.dropout and not c.config.with_mask)


cdef inline int64_t row_bytes(const Call* c) noexcept nogil:
    """Bytes of a row of a panel."""
    return c.config.width * c.config.size


# Bytes of rows in panels, and of keys that are transposed.
cdef inline int64_t panels_room(const Call* c, int64_t rows, int64_t n) noexcept nogil:
    return align_up(panels_of(c, n) * rows * row_bytes(c))


cdef inline int64_t transposed_room(const Call* c, int64_t n) noexcept nogil:
    return align_up(panels_of(c, c.keys) * round_up(n, c.config.lanes) * row_bytes(c))


cdef int64_t forward_room(const Call* c) noexcept nogil:
    cdef int64_t numbers = align_up(c.n_strips * row_bytes(c)), scores = panels_room(c, c.n_rows, c.keys), room
    if not fits(c):
        return 0
    room = (align_up(sizeof(Strip)) + 2 * numbers + align_up(4 * c.n_rows) + transposed_room(c, c.dim) + scores + (scores if c.config.mask else 0)
            + panels_room(c, c.n_rows, c.dim) + panels_room(c, c.keys, c.value_dim) + panels_room(c, c.n_rows, c.value_dim))
    return room if room <= ROOM else 0


cdef int64_t gradient_room(const Call* c) noexcept nogil:
    cdef int64_t numbers = align_up(c.n_strips * row_bytes(c)), scores = panels_room(c, c.n_rows, c.keys), room
    if not fits(c):
        return 0
    room = (align_up(sizeof(Strip)) + 2 * numbers + align_up(row_bytes(c)) + align_up(4 * c.n_rows) + transposed_room(c, c.dim)
            + transposed_room(c, c.value_dim) + 2 * scores + (scores if c.config.mask else 0) + 2 * panels_room(c, c.n_rows, c.dim)
            + panels_room(c, c.n_rows, c.value_dim) + 2 * panels_room(c, c.keys, c.dim) + panels_room(c, c.keys, c.value_dim))
    return room if room <= ROOM else 0


cdef void transpose_keys(const Call* c, const Strip* s, const Operand* x, char* to, int64_t n, const Number* scale) noexcept nogil:
    """A key head's rows times ``scale``, as columns of panels; lanes beyond the last repeat it."""
    cdef void* table[MAX_WIDTH]
    cdef char* row = head_of(x, s)
    cdef int64_t done = 0, i, width = c.config.width, each = round_up(n, c.config.lanes) * row_bytes(c)
    while done < c.keys:
        for i in range(width):
            table[i] = row
            done += 1
            if done < c.keys:
                row += x.stride[1]
        (c.config.f.pack if x.stride[3] == c.config.stored else c.config.f.pack_any)(to, table, n, x.stride[3], scale)
        to += each


cdef void copy_rows(const Call* c, const Strip* s, const Operand* x, char* to, int64_t n) noexcept nogil:
    """A key head's queries, in panels."""
    cdef int64_t i, each = c.n_rows * row_bytes(c)
    if c.group == 1:
        copy_panels(c, x, to, each, row_of(x, c, s, 0), x.stride[1], c.n_rows, n)
        return
    for i in range(c.n_rows):
        copy_panels(c, x, to + i * row_bytes(c), each, row_of(x, c, s, i), 0, 1, n)


cdef void give(const Call* c, char* to, int64_t to_row, const char* source, int64_t each, int64_t rows, int64_t n,
               const Number* scale) noexcept nogil:
    """Write rows of panels that lie ``each`` bytes apart."""
    cdef int64_t done = 0
    while done < n:
        c.config.f.store_rows(to + done * c.config.stored, to_row, source, row_bytes(c), rows, min(c.config.width, n - done), scale)
        source += each
        done += c.config.width


cdef void give_rows(const Call* c, const Strip* s, const Operand* x, const char* source, int64_t n, const Number* scale) noexcept nogil:
    """Write what belongs to queries."""
    cdef int64_t i, each = c.n_rows * row_bytes(c)
    if c.group == 1:
        give(c, row_of(x, c, s, 0), x.stride[1], source, each, c.n_rows, n, scale)
        return
    for i in range(c.n_rows):
        give(c, row_of(x, c, s, i), 0, source + i * row_bytes(c), each, 1, n, scale)


cdef void multiply(const Call* c, char* to, const char* a, const char* b, int64_t b_panel, int64_t k, int64_t n) noexcept nogil:
    """``to = a b``, ``n`` columns for all queries, in panels."""
    cdef const Config* config = c.config
    cdef int64_t row = row_bytes(c), panel = c.n_rows * row, left, blocks
    cdef char* at
    cdef const char* a_at
    cdef bint narrow
    cdef int i
    while n > 0:
        at, a_at, left, narrow = to, a, c.n_rows, n <= config.lanes
        for i in range(config.n_sizes):
            if config.sizes[i] <= left:
                blocks = left // config.sizes[i]
                (config.f.last_scores[i] if narrow else config.f.scores[i])(at, row, a_at, panel, b, k, blocks)
                blocks *= config.sizes[i]
                at += blocks * row
                a_at += blocks * row
                left -= blocks
        to += panel
        b += b_panel
        n -= config.width


cdef void multiply_transposed(const Call* c, char* to, const char* a, char* b, int64_t n) noexcept nogil:
    """``to = a^T b``: sums over queries of ``n`` columns, for all keys, in panels."""
    cdef double[MAX_WIDTH] nothing
    cdef Prefetch none
    cdef int64_t row = row_bytes(c), i
    none.n = none.k = none.step = 0
    memset(nothing, 0, sizeof(nothing))
    memset(to, 0, panels_of(c, n) * c.keys * row)
    for i in range(panels_of(c, n)):
        add_weighted_values(c, to + i * c.keys * row, a, c.n_rows * row, b + i * c.n_rows * row, row, c.keys, <const char*>nothing,
                            c.n_rows, c.n_rows, &none)


cdef void look(const Call* c, const Strip* s, char* scores, char* room, int32_t* last) noexcept nogil:
    """Change scores as a cap and a mask ask; ``last`` gets the last key that a query may see."""
    cdef const Config* config = c.config
    cdef int64_t row = row_bytes(c), panels = panels_of(c, c.keys), i, k, count
    cdef char* to
    for i in range(c.n_rows):
        last[i] = <int32_t>(i // c.group + c.keys - c.queries if config.causal else c.keys - 1)
    if config.softcap:
        config.f.cap(scores, row, panels * c.n_rows, &c.cap)
    if not config.mask:
        return
    for i in range(c.n_rows):
        to = room + i * row
        k = 0
        while k < c.keys:
            count = min(config.width, c.keys - k)
            if config.hides_rows:
                pack_seen(c, s, i, k, count, to)
            else:
                (config.f.copy_mask if c.mask.stride[3] == config.mask_stored else config.f.copy_mask_any)(
                    to, 0, mask_row(c, s, i, k), 0, 1, count, c.mask.stride[3], &c.log2_e)
            to += c.n_rows * row
            k += config.width
    config.f.masked(scores, row, panels * c.n_rows, room)


cdef int forward_rows(void* arg, int64_t unit) noexcept nogil:
    cdef Call* c = <Call*>arg
    cdef const Config* config = c.config
    cdef char* memory = <char*>umiak_scratch_get(0, c.local)
    cdef char* base = memory
    cdef int64_t row = row_bytes(c), panel = c.n_rows * row, i
    cdef Strip* s
    cdef char* most
    cdef char* total
    cdef int32_t* last
    cdef char* keys
    cdef char* values
    cdef char* queries
    cdef char* scores
    cdef char* masks
    cdef char* sums
    if memory == NULL:
        return NO_MEMORY
    s = <Strip*>carve(&memory, sizeof(Strip))
    most = carve(&memory, c.n_strips * row)
    total = carve(&memory, c.n_strips * row)
    last = <int32_t*>carve(&memory, 4 * c.n_rows)
    keys = carve(&memory, transposed_room(c, c.dim))
    values = carve(&memory, panels_room(c, c.keys, c.value_dim))
    queries = carve(&memory, panels_room(c, c.n_rows, c.dim))
    scores = carve(&memory, panels_room(c, c.n_rows, c.keys))
    sums = carve(&memory, panels_room(c, c.n_rows, c.value_dim))
    masks = memory
    s.batch = unit // c.key_heads
    s.head = unit % c.key_heads
    transpose_keys(c, s, &c.k, keys, c.dim, &c.scale_log2)
    copy_rows(c, s, &c.q, queries, c.dim)
    multiply(c, scores, queries, keys, c.padded_dim * row, c.dim, c.keys)
    look(c, s, scores, masks, last)
    config.f.softmax_rows(scores, panel, panels_of(c, c.keys), c.n_rows, last, most, total)
    copy_panels(c, &c.v, values, c.keys * row, head_of(&c.v, s), c.v.stride[1], c.keys, c.value_dim)
    multiply(c, sums, scores, values, c.keys * row, c.keys, c.value_dim)
    give_rows(c, s, &c.out, sums, c.value_dim, &c.one)
    if config.with_lse:
        for i in range(c.n_rows):
            put(config, lse_of(c, s, i // c.group, i % c.group), 0, lse(config, get(config, most, i), get(config, total, i)))
    umiak_scratch_put(c.local, base)
    return 0


cdef int gradient_rows(void* arg, int64_t unit) noexcept nogil:
    cdef Call* c = <Call*>arg
    cdef const Config* config = c.config
    cdef char* memory = <char*>umiak_scratch_get(0, c.local)
    cdef char* base = memory
    cdef int64_t row = row_bytes(c), panel = c.n_rows * row, i
    cdef Strip* s
    cdef char* logs
    cdef char* delta
    cdef int32_t* last
    cdef char* keys
    cdef char* values
    cdef char* key_rows
    cdef char* queries
    cdef char* grads
    cdef char* scores
    cdef char* d_scores
    cdef char* masks
    cdef char* d_queries
    cdef char* d_keys
    cdef char* d_values
    if memory == NULL:
        return NO_MEMORY
    s = <Strip*>carve(&memory, sizeof(Strip))
    logs = carve(&memory, c.n_strips * row)
    delta = carve(&memory, c.n_strips * row)
    last = <int32_t*>carve(&memory, 4 * c.n_rows)
    keys = carve(&memory, transposed_room(c, c.dim))
    values = carve(&memory, transposed_room(c, c.value_dim))
    key_rows = carve(&memory, panels_room(c, c.keys, c.dim))
    queries = carve(&memory, panels_room(c, c.n_rows, c.dim))
    grads = carve(&memory, panels_room(c, c.n_rows, c.value_dim))
    scores = carve(&memory, panels_room(c, c.n_rows, c.keys))
    d_scores = carve(&memory, panels_room(c, c.n_rows, c.keys))
    d_queries = carve(&memory, panels_room(c, c.n_rows, c.dim))
    d_keys = carve(&memory, panels_room(c, c.keys, c.dim))
    d_values = carve(&memory, panels_room(c, c.keys, c.value_dim))
    masks = memory
    s.batch = unit // c.key_heads
    s.head = unit % c.key_heads
    for i in range(c.n_strips):
        set_strip(s, c, i)
        sum_rows(c, s, delta + i * row)
        strip_lse(c, s, logs + i * row)
    transpose_keys(c, s, &c.k, keys, c.dim, &c.scale_log2)
    transpose_keys(c, s, &c.v, values, c.value_dim, &c.one)
    copy_rows(c, s, &c.q, queries, c.dim)
    copy_rows(c, s, &c.grad, grads, c.value_dim)
    multiply(c, scores, queries, keys, c.padded_dim * row, c.dim, c.keys)
    multiply(c, d_scores, grads, values, c.padded_value_dim * row, c.value_dim, c.keys)
    look(c, s, scores, masks, last)
    config.f.softmax_gradient_rows(scores, d_scores, panel, panels_of(c, c.keys), c.n_rows, last, logs, delta, &c.cap)
    copy_panels(c, &c.k, key_rows, c.keys * row, head_of(&c.k, s), c.k.stride[1], c.keys, c.dim)
    multiply(c, d_queries, d_scores, key_rows, c.keys * row, c.keys, c.dim)
    give_rows(c, s, &c.dq, d_queries, c.dim, &c.scale)
    multiply_transposed(c, d_keys, d_scores, queries, c.dim)
    give(c, head_of(&c.dk, s), c.dk.stride[1], d_keys, c.keys * row, c.keys, c.dim, &c.scale)
    multiply_transposed(c, d_values, scores, grads, c.value_dim)
    give(c, head_of(&c.dv, s), c.dv.stride[1], d_values, c.keys * row, c.keys, c.value_dim, &c.one)
    umiak_scratch_put(c.local, base)
    return 0


cdef Way forward, gradient
forward.room, forward.part = forward_room, forward_rows
gradient.room, gradient.part = gradient_room, gradient_rows
FORWARD = <size_t>&forward
GRADIENT = <size_t>&gradient
