# cython: binding=False
"""The driver of attention's gradient: weights are computed again from the scores' log-sum-exp, tile by tile.

One walk gives all gradients. A part takes the queries of one key head, a *group* of strips at a time, and for each group all
tiles of keys. Gradients of the group's queries are added up over the tiles in scratch, those of keys and values over the groups
in buffers of the part. Where there are few key heads, their groups are dealt out to several parts, whose sums are added in
order at the end: how many depends on sizes alone, so that results do not depend on threads.
"""
from libc.math cimport INFINITY
from libc.stdint cimport int64_t, uint64_t
from libc.stdlib cimport free
from libc.string cimport memset

from umiak.backends.cpu.attention cimport *

cdef extern from "<stdlib.h>" nogil:
    void* aligned_alloc(size_t alignment, size_t size)

cdef extern from "umiak/backends/cpu/scratch.h" nogil:
    int umiak_scratch_init()
    void* umiak_scratch_get(int which, int64_t bytes)
    void umiak_scratch_put(int64_t bytes, void* data)

cdef enum:
    ENOUGH_PARTS = 8            # more key heads than this are not split
    SPLIT_GROUPS = 8            # groups of a split at least

cdef double LOG2_E = 1.4426950408889634

if umiak_scratch_init() != 0:
    raise MemoryError("no key for thread-specific data is left")


cdef inline int64_t n_tiles(const Call* c) noexcept nogil:
    return (c.keys + c.rec.keys - 1) // c.rec.keys


cdef inline int64_t n_groups(const Call* c) noexcept nogil:
    return (c.n_strips + STRIPS - 1) // STRIPS


cdef inline int64_t sums_room(const Call* c) noexcept nogil:
    """Bytes of a head's sums for keys and values; whole tiles, since products write whole panels."""
    return n_tiles(c) * c.rec.keys * (panels_of(c, c.dim) + panels_of(c, c.value_dim)) * c.rec.width * c.rec.size


cdef inline int64_t panels_of(const Call* c, int64_t n) noexcept nogil:
    """Panels of ``rec.width`` columns."""
    return (n + c.rec.width - 1) // c.rec.width


cdef int64_t part_room(const Call* c) noexcept nogil:
    cdef const Record* rec = c.rec
    cdef int64_t strip = rec.width * rec.size, tiles = n_tiles(c), block = rec.lanes * strip
    cdef int64_t rows = STRIPS * rec.width
    return (room(tiles * rec.keys * c.dim * rec.size + block) + room(tiles * rec.keys * c.value_dim * rec.size + block)
            + room(tiles * rec.keys * pieces_of(c, c.dim) * piece_room(c) * rec.size) + room(sums_room(c))
            + STRIPS * (2 * room(c.dim_room * strip) + 2 * room(c.value_room * strip) + 2 * room(strip) + room(sizeof(Strip)))
            + room(rows * panels_of(c, c.dim) * strip) + room(rows * panels_of(c, c.value_dim) * strip)
            + 2 * room(rec.keys * STRIPS * strip) + room(rec.keys * strip + block) + 3 * room(strip)
            + room(max(c.dim, c.value_dim) * rec.stored))


cdef int part(void* arg, int64_t index) noexcept nogil:
    """One split of one key head."""
    cdef Call* c = <Call*>arg
    cdef const Record* rec = c.rec
    cdef const Functions* f = &rec.f
    cdef int64_t unit = index // c.splits, split = index % c.splits
    cdef int64_t size = rec.size, strip = rec.width * size, tiles = n_tiles(c), block = rec.lanes * strip
    cdef int64_t rows = STRIPS * rec.width, wide = STRIPS * strip
    cdef int64_t of_q = room(c.dim_room * strip), of_g = room(c.value_room * strip), of_row = room(strip)
    cdef int64_t of_key = pieces_of(c, c.dim) * piece_room(c) * size
    cdef int64_t group, i, n, at, count, end, seen, most, blocks, j
    cdef int what
    cdef bint any
    cdef char* memory = <char*>umiak_scratch_get(0, c.local)
    cdef char* base = memory
    cdef char* key_panels
    cdef char* value_panels
    cdef char* keys
    cdef char* sums
    cdef char* d_keys
    cdef char* d_values
    cdef char* queries
    cdef char* d_queries
    cdef char* grads
    cdef char* outs
    cdef char* query_rows
    cdef char* grad_rows
    cdef char* lse
    cdef char* delta
    cdef char* scores
    cdef char* d_scores
    cdef char* packed
    cdef char* top
    cdef char* ones
    cdef char* scales
    cdef char* spare
    cdef Strip* strips
    cdef Strip* s
    if memory == NULL:
        return NO_MEMORY
    key_panels = carve(&memory, tiles * rec.keys * c.dim * size + block)
    value_panels = carve(&memory, tiles * rec.keys * c.value_dim * size + block)
    keys = carve(&memory, tiles * rec.keys * of_key)
    sums = carve(&memory, sums_room(c))
    strips = <Strip*>carve(&memory, STRIPS * room(sizeof(Strip)))
    queries = carve(&memory, STRIPS * of_q)
    d_queries = carve(&memory, STRIPS * of_q)
    grads = carve(&memory, STRIPS * of_g)
    outs = carve(&memory, STRIPS * of_g)
    lse = carve(&memory, STRIPS * of_row)
    delta = carve(&memory, STRIPS * of_row)
    query_rows = carve(&memory, rows * panels_of(c, c.dim) * strip)
    grad_rows = carve(&memory, rows * panels_of(c, c.value_dim) * strip)
    scores = carve(&memory, rec.keys * wide)
    d_scores = carve(&memory, rec.keys * wide)
    packed = carve(&memory, rec.keys * strip + block)
    top = carve(&memory, strip)
    ones = carve(&memory, strip)
    scales = carve(&memory, strip)
    spare = carve(&memory, max(c.dim, c.value_dim) * rec.stored)
    if c.splits > 1:
        sums = c.partial + index * c.partial_each
    d_keys = sums
    d_values = sums + tiles * rec.keys * panels_of(c, c.dim) * strip
    memset(sums, 0, sums_room(c))
    fill(rec, ones, rec.width, 1)
    fill(rec, scales, rec.width, get(rec, <char*>&c.scale, 0))
    strips[0].batch = unit // c.key_heads
    strips[0].head = unit % c.key_heads
    at = 0
    while at < c.keys:
        count = min(rec.keys, c.keys - at)
        pack_panels(c, strips, &c.k, key_panels + at * c.dim * size, at, count, c.dim)
        pack_panels(c, strips, &c.v, value_panels + at * c.value_dim * size, at, count, c.value_dim)
        copy_pieces(c, strips, &c.k, keys + at * of_key, at, count, c.dim)
        at += count
    group = split
    while group < n_groups(c):
        n = min(<int64_t>STRIPS, c.n_strips - group * STRIPS)
        end = 0
        # Lanes beyond the last row have weight 0, of whatever is there.
        memset(query_rows, 0, rows * panels_of(c, c.dim) * strip)
        memset(grad_rows, 0, rows * panels_of(c, c.value_dim) * strip)
        for i in range(n):
            s = &strips[i]
            s.batch = unit // c.key_heads
            s.head = unit % c.key_heads
            set_strip(s, c, group * STRIPS + i)
            end = max(end, s.end)
            pack_strip(c, s, &c.q, queries + i * of_q, c.dim, &c.scale_log2)
            pack_strip(c, s, &c.grad, grads + i * of_g, c.value_dim, &c.one)
            pack_strip(c, s, &c.out, outs + i * of_g, c.value_dim, &c.one)
            f.sums(delta + i * of_row, grads + i * of_g, outs + i * of_g, c.value_dim)
            strip_lse(c, s, lse + i * of_row)
            copy_rows(c, s, &c.q, query_rows + i * rec.width * strip, rows, c.dim)
            copy_rows(c, s, &c.grad, grad_rows + i * rec.width * strip, rows, c.value_dim)
        memset(d_queries, 0, n * of_q)
        at = 0
        while at < end:
            count = min(rec.keys, end - at)
            any = False
            most = 0
            for i in range(n):
                most = max(most, min(count, strips[i].end - at))
            blocks = (most + rec.rows - 1) // rec.rows
            for i in range(n):
                s = &strips[i]
                seen = max(<int64_t>0, min(count, s.end - at))
                what = rec.masking.look(c, s, at, seen, packed) if seen else SKIP
                if what == SKIP:
                    seen = 0
                else:
                    any = True
                    j = (seen + rec.rows - 1) // rec.rows
                    f.scores(scores + i * strip, wide, key_panels + at * c.dim * size, queries + i * of_q, c.dim, j)
                    f.scores(d_scores + i * strip, wide, value_panels + at * c.value_dim * size, grads + i * of_g, c.value_dim, j)
                    if what == PARTIAL:
                        rec.masking.apply(c, s, at, seen, packed, scores + i * strip, wide, top)
                f.derive(scores + i * strip, d_scores + i * strip, seen, blocks * rec.rows, lse + i * of_row, delta + i * of_row)
                if seen:
                    columns(c, d_queries + i * of_q, keys + at * of_key, d_scores + i * strip, wide, seen, c.dim, ones)
                    if rec.with_mask:
                        add_mask(c, s, at, seen, d_scores + i * strip, wide)
            if any:
                add_rows(c, d_values + at * strip, scores, grad_rows, n, blocks, c.value_dim)
                add_rows(c, d_keys + at * strip, d_scores, query_rows, n, blocks, c.dim)
            at += count
        for i in range(n):
            unpack_strip(c, &strips[i], &c.dq, d_queries + i * of_q, c.dim, scales, spare)
        group += c.splits
    if c.splits == 1:
        give_sums(c, unit, d_keys, d_values)
    umiak_scratch_put(c.local, base)
    return 0


cdef void strip_lse(const Call* c, const Strip* s, char* to) noexcept nogil:
    """In units of log 2. Lanes beyond the last row get infinity, which makes their weights 0."""
    cdef int64_t i, row, head
    for i in range(c.rec.width):
        if i < s.lanes:
            row = s.first + i
            head = s.head * c.group + row % c.group
            put(c.rec, to, i, LOG2_E * get(c.rec, c.lse.data + s.batch * c.lse.stride[0] + head * c.lse.stride[1]
                                           + row // c.group * c.lse.stride[2], 0))
        else:
            put(c.rec, to, i, INFINITY)


cdef void add_rows(const Call* c, char* to, const char* weights, const char* rows, int64_t strips, int64_t blocks,
                   int64_t n) noexcept nogil:
    """``to += weights rows`` for ``blocks`` panels of keys, over the queries of ``strips`` strips; ``n`` columns."""
    cdef const Record* rec = c.rec
    cdef int64_t row = rec.width * rec.size, done = 0
    while done < n:
        (rec.f.adding_1 if n - done <= rec.lanes else rec.f.adding_2)(to, row, weights, rows, row, strips * rec.width, blocks)
        to += n_tiles(c) * rec.keys * row
        rows += STRIPS * rec.width * row
        done += rec.width


cdef void add_mask(const Call* c, const Strip* s, int64_t first, int64_t count, const char* grads, int64_t row) noexcept nogil:
    """Add gradients of scores to those of the mask's elements."""
    cdef int64_t i, k, head, of
    cdef char* to
    for i in range(s.lanes):
        of = s.first + i
        head = s.head * c.group + of % c.group
        to = (c.dmask.data + s.batch * c.dmask.stride[0] + head * c.dmask.stride[1] + of // c.group * c.dmask.stride[2]
              + first * c.dmask.stride[3])
        for k in range(count):
            put(c.rec, to, 0, get(c.rec, to, 0) + get(c.rec, grads + k * row, i))
            to += c.dmask.stride[3]


cdef void give_sums(const Call* c, int64_t unit, const char* d_keys, const char* d_values) noexcept nogil:
    """Write a head's gradients of keys and values."""
    cdef Strip s
    cdef const Record* rec = c.rec
    s.batch = unit // c.key_heads
    s.head = unit % c.key_heads
    give_panels(c, head_of(&c.dk, &s), c.dk.stride[1], d_keys, c.dim, &c.scale)
    give_panels(c, head_of(&c.dv, &s), c.dv.stride[1], d_values, c.value_dim, &c.one)


cdef void give_panels(const Call* c, char* to, int64_t to_row, const char* sums, int64_t n, const Number* scale) noexcept nogil:
    cdef const Record* rec = c.rec
    cdef int64_t done = 0
    while done < n:
        rec.f.give(to + done * rec.stored, to_row, sums, rec.width * rec.size, c.keys, min(rec.width, n - done), scale)
        sums += n_tiles(c) * rec.keys * rec.width * rec.size
        done += rec.width


cdef int combine(void* arg, int64_t unit) noexcept nogil:
    """Add up what the splits of a head have found."""
    cdef Call* c = <Call*>arg
    cdef const Record* rec = c.rec
    cdef int64_t i, k, n = sums_room(c) // rec.size
    cdef char* to = c.partial + unit * c.splits * c.partial_each
    cdef const char* more
    for i in range(1, c.splits):
        more = to + i * c.partial_each
        if rec.wide:
            for k in range(n):
                (<double*>to)[k] += (<const double*>more)[k]
        else:
            for k in range(n):
                (<float*>to)[k] += (<const float*>more)[k]
    give_sums(c, unit, to, to + n_tiles(c) * rec.keys * panels_of(c, c.dim) * rec.width * rec.size)
    return 0


cdef int several(void* arg, int64_t index) noexcept nogil:
    """All heads that share elements of the mask, whose gradient they add to in order."""
    cdef Call* c = <Call*>arg
    cdef int64_t batch, head
    cdef bint all_batches = c.dmask.stride[0] == 0, all_heads = c.dmask.stride[1] == 0
    cdef int64_t b = index if all_heads else index // c.key_heads, h = index if all_batches else index % c.key_heads
    for batch in range(c.batch):
        for head in range(c.key_heads):
            if (all_batches or batch == b) and (all_heads or head == h):
                if part(arg, batch * c.key_heads + head) != 0:
                    return NO_MEMORY
    return 0


cdef int with_mask(Call* c, const int64_t* dims, void* to, double work) noexcept nogil:
    """Everything, and the gradient of the mask: contiguous, in the type of computation until it is complete."""
    cdef const Record* rec = c.rec
    cdef int64_t n = 1, parts
    cdef int i, result = 0
    cdef char* sums
    for i in range(3, -1, -1):
        c.dmask.stride[i] = 0 if dims[7 + i] == 1 else n * rec.size
        n *= dims[7 + i]
    sums = <char*>aligned_alloc(ALIGN, room(n * rec.size + 1)) if rec.stored != rec.size else <char*>to
    if sums == NULL:
        return NO_MEMORY
    memset(sums, 0, n * rec.size)
    c.dmask.data = sums
    c.splits = 1
    parts = (1 if c.dmask.stride[0] == 0 else c.batch) * (1 if c.dmask.stride[1] == 0 else c.key_heads)
    run_parts(several, c, parts, work, &result)
    if sums != to:
        rec.f.give(to, 0, sums, 0, 1, n, &c.one)
        free(sums)
    return result


cdef int launch(void* self, void** ptrs, const int64_t* dims, const uint64_t* scalars, int64_t stream) noexcept nogil:
    cdef const Record* rec = <const Record*>self
    cdef Call c
    cdef int64_t heads, i
    cdef double work
    cdef int result = 0
    prepare(&c, rec, ptrs, dims, scalars, True)
    heads = c.batch * c.key_heads
    if heads == 0 and not rec.with_mask:
        return 0
    work = 2.5 * heads * c.n_rows * c.keys * (c.dim + c.value_dim) * (0.5 if rec.causal and c.queries > 1 else 1)
    c.local = part_room(&c)
    c.splits = 1
    if rec.with_mask:
        result = with_mask(&c, dims, ptrs[10], work)
        return no_memory() if result != 0 else 0
    if heads < ENOUGH_PARTS:
        c.splits = max(<int64_t>1, min(ENOUGH_PARTS // heads, n_groups(&c) // SPLIT_GROUPS))
    if c.splits > 1:
        c.partial_each = room(sums_room(&c))
        c.partial = <char*>aligned_alloc(ALIGN, heads * c.splits * c.partial_each)
        if c.partial == NULL:
            return no_memory()
    run_parts(part, &c, heads * c.splits, work, &result)
    if c.splits > 1:
        if result == 0:
            run_parts(combine, &c, heads, <double>heads * c.splits * sums_room(&c), &result)
        free(c.partial)
    return no_memory() if result != 0 else 0


LAUNCH = <size_t><void*>&launch
