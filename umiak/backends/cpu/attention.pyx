# cython: binding=False
"""Drivers of attention: online softmax over tiles of keys, with compiled functions (attention_kernels.py) for all arithmetic.

Queries of one key head stand side by side, a *strip* of them in the lanes of a few vectors. A part of the work is a block of
strips: for each tile of keys, in order, keys and values are copied, then each strip takes its scores, masks them, turns them
into weights and adds weighted values. What lane a query is in does not matter to its result, nor how strips are divided
among threads. Few queries per key head (a step of decoding) go one by one, over keys and values where they lie.
"""
from libc.math cimport INFINITY, log, logf
from libc.stdint cimport int64_t, uint64_t
from libc.string cimport memcpy, memset

from umiak.backends.cpu.launcher cimport parallel_for, thread_count

cdef extern from "Python.h":
    void PyErr_SetObject(object type, object value)      # `void`, so that no error is taken for our own

cdef extern from "umiak/backends/cpu/scratch.h" nogil:
    int umiak_scratch_init()
    void* umiak_scratch_get(int which, int64_t bytes)
    void umiak_scratch_put(int64_t bytes, void* data)

cdef enum:
    FEW_KEYS = 256              # keys at once then
    STRIPS_PER_PART = 16         # that share copied keys; about 512 queries

cdef double PARALLEL_WORK = 1e6         # products and sums, below which no thread is asked
cdef double LN_2 = 0.6931471805599453

if umiak_scratch_init() != 0:
    raise MemoryError("no key for thread-specific data is left")


# ---- a call ------------------------------------------------------------------------------------------------------------
cdef int no_memory() noexcept nogil:
    with gil:
        try:
            raise MemoryError("no memory for scratch of attention")
        except MemoryError as error:
            PyErr_SetObject(MemoryError, error)
    return -1


cdef const int64_t* strided(Operand* x, void* data, const int64_t* dims, int rank, int64_t bytes) noexcept nogil:
    cdef int i
    x.data = <char*>data
    for i in range(rank):
        x.stride[i] = dims[i] * bytes
    return dims + rank


cdef void dense(Operand* x, void* data, int64_t a, int64_t b, int64_t c, int64_t bytes) noexcept nogil:
    """Contiguous, with the last three sizes."""
    x.data = <char*>data
    x.stride[3] = bytes
    x.stride[2] = c * bytes
    x.stride[1] = b * x.stride[2]
    x.stride[0] = a * x.stride[1]


cdef int prepare(Call* c, const Record* rec, void** ptrs, const int64_t* dims, const uint64_t* scalars, int gradient) noexcept nogil:
    """Sizes, operands and numbers of a launch. ``dims``: batch, queries, heads, dim, keys, key heads, value dim, sizes of the
    mask (4), strides of query, key, value (4 each), mask (4), of the gradient also out (4), lse (3), grad (4)."""
    cdef const int64_t* at = dims + 11
    cdef double scale
    cdef int i
    memset(c, 0, sizeof(Call))
    c.rec = rec
    c.batch, c.queries, c.heads, c.dim, c.keys, c.key_heads, c.value_dim = dims[0], dims[1], dims[2], dims[3], dims[4], dims[5], dims[6]
    c.group = c.heads // c.key_heads if c.key_heads else 1
    c.n_rows = c.group * c.queries
    c.n_strips = (c.n_rows + rec.width - 1) // rec.width
    c.dim_room = whole(c.dim, rec.lanes)
    c.value_room = whole(c.value_dim, rec.lanes)
    memcpy(&scale, scalars, 8)
    c.scale = number(rec, scale)
    c.scale_log2 = number(rec, scale / LN_2)
    c.log2_e = number(rec, 1 if rec.mask_bool else 1 / LN_2)
    c.one = number(rec, 1)
    at = strided(&c.q, ptrs[0], at, 4, rec.stored)
    at = strided(&c.k, ptrs[1], at, 4, rec.stored)
    at = strided(&c.v, ptrs[2], at, 4, rec.stored)
    at = strided(&c.mask, ptrs[6 if gradient else 3], at, 4, rec.mask_stored)
    # The gradient of a mask is added up from gradients of scores in float32.
    c.pairs = (rec.pairs and holds_pairs(&c.q, c.dim) and holds_pairs(&c.k, c.dim) and c.v.stride[3] == rec.stored
               and not rec.with_mask)
    for i in range(4):
        if dims[7 + i] == 1:
            c.mask.stride[i] = 0
    if gradient:
        at = strided(&c.out, ptrs[3], at, 4, rec.stored)
        at = strided(&c.lse, ptrs[4], at, 3, rec.size)
        at = strided(&c.grad, ptrs[5], at, 4, rec.stored)
        c.pairs = c.pairs and holds_pairs(&c.v, c.value_dim) and holds_pairs(&c.grad, c.value_dim)
        dense(&c.dq, ptrs[7], c.queries, c.heads, c.dim, rec.stored)
        dense(&c.dk, ptrs[8], c.keys, c.key_heads, c.dim, rec.stored)
        dense(&c.dv, ptrs[9], c.keys, c.key_heads, c.value_dim, rec.stored)
    else:
        dense(&c.out, ptrs[4], c.queries, c.heads, c.value_dim, rec.stored)
        dense(&c.lse, ptrs[5] if rec.with_lse else NULL, 1, c.heads, c.queries, rec.size)
    c.score_dim = c.dim // 2 if c.pairs else c.dim
    c.score_value_dim = c.value_dim // 2 if c.pairs else c.value_dim
    return 0


cdef void run_parts(int (*part)(void*, int64_t) noexcept nogil, Call* c, int64_t parts, double work, int* result) noexcept nogil:
    cdef int64_t i
    c.threads = 1
    if parts > 1 and work > PARALLEL_WORK and thread_count() > 1:
        c.threads = thread_count()
        result[0] = parallel_for(part, c, parts)
        return
    result[0] = 0
    for i in range(parts):
        if part(c, i) != 0:
            result[0] = NO_MEMORY


# ---- masks -------------------------------------------------------------------------------------------------------------
cdef int64_t look(const Call* c, const Strip* s, int64_t first, int64_t count, char* room) noexcept nogil:
    """Causal attention, and a mask, which is packed into ``room``."""
    cdef const Record* rec = c.rec
    cdef void* table[MAX_WIDTH]
    cdef int64_t i
    if not rec.mask:
        return between(0, s.last[0] + 1 - first, count) if rec.causal else count
    table_of(table, &c.mask, c, s)
    mask_rows(table, c, s, first)
    (rec.f.pack_mask if c.mask.stride[3] == rec.mask_stored else rec.f.pack_mask_any)(room, table, count, c.mask.stride[3], &c.log2_e)
    if rec.mask_bool:
        for i in range(count * rec.width):
            if get(rec, room, i) == 0:
                return 0
        return SKIP
    return 0


cdef inline void mask_rows(void** table, const Call* c, const Strip* s, int64_t first) noexcept nogil:
    """Addresses of the mask's rows from key ``first`` on."""
    cdef int64_t i, row
    for i in range(c.rec.width):
        row = s.first + (i if i < s.lanes else s.lanes - 1)
        table[i] = mask_row(c, s, row, first)


cdef inline char* mask_row(const Call* c, const Strip* s, int64_t row, int64_t first) noexcept nogil:
    return (c.mask.data + s.batch * c.mask.stride[0] + (s.head * c.group + row % c.group) * c.mask.stride[1]
            + row // c.group * c.mask.stride[2] + first * c.mask.stride[3])


cdef void apply(const Call* c, const Strip* s, int64_t first, int64_t count, int64_t free, char* room, char* scores,
                int64_t row) noexcept nogil:
    cdef const Record* rec = c.rec
    if rec.causal:
        rec.f.causal(scores + free * row, row, count - free, s.last, first + free)
    if rec.mask:
        rec.f.masked(scores, row, count, room)


# ---- forward -----------------------------------------------------------------------------------------------------------
cdef int64_t forward_room(const Call* c) noexcept nogil:
    """Bytes of a part's scratch."""
    cdef const Record* rec = c.rec
    cdef int64_t strip = rec.width * rec.size
    cdef int64_t block = rec.lanes * strip
    return (room(rec.keys * (panels_of(c, c.dim) + panels_of(c, c.value_dim)) * strip)
            + c.strips_per_part * (room(c.dim_room * strip) + room(c.value_room * strip) + 2 * room(strip) + room(sizeof(Strip)))
            + room(rec.keys * strip) + room(rec.keys * strip + block) + 2 * room(strip) + room(c.value_room * rec.stored))


cdef void look_ahead(const Call* c, int64_t part, int64_t steps, Ahead* a) noexcept nogil:
    """What the thread's next part will read and write, as far as it is not what this one does."""
    cdef int64_t next = part + c.threads, unit = next // c.parts_per_head, strips = c.strips_per_part, rows, first
    a.n = 0
    if unit < c.batch * c.key_heads:
        first = (c.parts_per_head - 1 - next % c.parts_per_head) * strips * c.rec.width // c.group
        rows = min(strips * c.rec.width // c.group, c.queries - first)
        if unit != part // c.parts_per_head:
            ahead_of(a, c, &c.k, unit, 1, 0, c.keys, c.dim)
            ahead_of(a, c, &c.v, unit, 1, 0, c.keys, c.value_dim)
        ahead_of(a, c, &c.q, unit, c.group, first, rows, c.dim)
        ahead_of(a, c, &c.out, unit, c.group, first, rows, c.value_dim)
    ahead_begin(a, steps)


cdef int forward_part(void* arg, int64_t part) noexcept nogil:
    cdef Call* c = <Call*>arg
    cdef const Record* rec = c.rec
    cdef const Functions* f = &rec.f
    # The last queries have the most to do where attention is causal: first come, first served.
    cdef int64_t first_strip = (c.parts_per_head - 1 - part % c.parts_per_head) * c.strips_per_part
    cdef int64_t n_strips = min(c.strips_per_part, c.n_strips - first_strip)
    cdef int64_t width = rec.width * rec.size, unit = part // c.parts_per_head, panel = rec.keys * width
    cdef int64_t i, at, count, seen, free, blocks, done, end = 0, tiles = 0
    cdef Ahead coming
    cdef char* memory = <char*>umiak_scratch_get(0, c.local)
    cdef char* base = memory
    cdef char* keys
    cdef char* values
    cdef char* queries
    cdef char* sums
    cdef char* most
    cdef char* total
    cdef char* scores
    cdef char* packed
    cdef char* top
    cdef char* factor
    cdef char* spare
    cdef Strip* strips
    cdef Strip* s
    cdef int64_t of_queries = room(c.dim_room * width), of_sums = room(c.value_room * width), of_row = room(width)
    if memory == NULL:
        return NO_MEMORY
    keys = carve(&memory, panels_of(c, c.dim) * panel)
    values = carve(&memory, panels_of(c, c.value_dim) * panel)
    queries = carve(&memory, n_strips * of_queries)
    sums = carve(&memory, n_strips * of_sums)
    most = carve(&memory, n_strips * of_row)
    total = carve(&memory, n_strips * of_row)
    strips = <Strip*>carve(&memory, n_strips * sizeof(Strip))
    scores = carve(&memory, panel)
    packed = carve(&memory, panel + rec.lanes * width)
    top = carve(&memory, width)
    factor = carve(&memory, width)
    spare = carve(&memory, c.value_dim * rec.stored)
    for i in range(n_strips):
        s = &strips[i]
        s.batch = unit // c.key_heads
        s.head = unit % c.key_heads
        set_strip(s, c, first_strip + i)
        end = max(end, s.end)
        tiles += (s.end + rec.keys - 1) // rec.keys
        pack_scored(c, s, &c.q, queries + i * of_queries, c.dim, &c.scale_log2)
        fill(rec, most + i * of_row, rec.width, -INFINITY)
    memset(total, 0, n_strips * of_row)
    memset(sums, 0, n_strips * of_sums)
    look_ahead(c, part, (2 + pieces_of(c, c.value_dim)) * tiles, &coming)
    at = 0
    while at < end:
        count = min(rec.keys, end - at)
        copy_scored(c, strips, &c.k, keys, panel, at, count, c.dim)
        copy_summed(c, strips, &c.v, values, panel, at, count, c.value_dim)
        for i in range(n_strips):
            s = &strips[i]
            seen = min(count, s.end - at)
            if seen <= 0:
                continue
            free = rec.masking.look(c, s, at, seen, packed)
            if free == SKIP:
                continue
            ahead(&coming)
            fill(rec, top, rec.width, -INFINITY)
            blocks = min(free, head_of_strip(s, at, seen)) // rec.rows
            done = blocks * rec.rows
            if c.pairs:
                f.pairs_top(scores, width, keys, panel, queries + i * of_queries, c.score_dim, blocks, top, &c.scale_log2)
            else:
                f.scores_top(scores, width, keys, panel, queries + i * of_queries, c.score_dim, blocks, top)
            score(c, s, scores, width, keys, panel, queries + i * of_queries, c.score_dim, &c.scale_log2, at, done, seen)
            if free < seen:
                rec.masking.apply(c, s, at, seen, free, packed, scores, width)
            ahead(&coming)
            (f.weigh_pairs if c.pairs else f.weigh)(scores, done, seen, top, most + i * of_row, total + i * of_row, factor)
            columns(c, s, sums + i * of_sums, values, panel, scores, width, c.value_dim, factor, at, seen, &coming)
        at += count
    for i in range(n_strips):
        finish_strip(c, &strips[i], sums + i * of_sums, most + i * of_row, total + i * of_row, factor, spare)
    umiak_scratch_put(c.local, base)
    return 0


cdef void columns(const Call* c, const Strip* s, char* to, const char* values, int64_t panel, const char* weights, int64_t weight_row,
                  int64_t n, const char* factor, int64_t at, int64_t seen, Ahead* coming) noexcept nogil:
    """``to = to * factor + values^T weights``: ``n`` rows, in even pieces that registers hold, from panels of values."""
    cdef const Record* rec = c.rec
    cdef int64_t low = head_of_strip(s, at, seen), pieces, rows, left
    if c.pairs:
        # Of a pair that not all lanes see, the others' weights are 0.
        low, seen = (low + 1) // 2, (seen + 1) // 2
    while n > 0:
        left = min(n, rec.width)
        n -= left
        pieces = (left + rec.rows - 1) // rec.rows
        while pieces:
            rows = (left + pieces - 1) // pieces
            ahead(coming)
            (rec.f.pair_columns[rows] if c.pairs else rec.f.columns[rows])(to, values, weights, weight_row, low, seen - low, factor)
            to += rows * rec.width * rec.size
            values += rows * rec.size
            left -= rows
            pieces -= 1
        values += panel - rec.width * rec.size


cdef void finish_strip(const Call* c, const Strip* s, const char* sums, const char* most, const char* total, char* factor,
                       char* spare) noexcept nogil:
    cdef const Record* rec = c.rec
    cdef int64_t i, row = s.first // c.group, within = s.first % c.group
    cdef char* to = lse_of(c, s, row, within)
    cdef double t
    cdef float f
    if rec.wide:
        for i in range(rec.width):
            t = (<const double*>total)[i]
            (<double*>factor)[i] = 1 / t if t != 0 else 1
    else:
        for i in range(rec.width):
            f = (<const float*>total)[i]
            (<float*>factor)[i] = 1 / f if f != 0 else 1
    if rec.with_lse:
        for i in range(s.lanes):
            put(rec, to, 0, lse(rec, get(rec, most, i), get(rec, total, i)))
            within += 1
            to += c.queries * rec.size
            if within == c.group:
                within = 0
                row += 1
                to = lse_of(c, s, row, 0)
    unpack_strip(c, s, &c.out, sums, c.value_dim, factor, spare)


cdef inline char* lse_of(const Call* c, const Strip* s, int64_t row, int64_t within) noexcept nogil:
    """Where a query's log-sum-exp goes, ``[batch, heads, queries]``."""
    return c.lse.data + ((s.batch * c.heads + s.head * c.group + within) * c.queries + row) * c.rec.size


cdef inline double lse(const Record* rec, double most, double total) noexcept nogil:
    """-inf where nothing is seen."""
    return (0 if most == -INFINITY else most) * LN_2 + (log(total) if rec.wide else logf(<float>total))


# ---- few queries per key head -----------------------------------------------------------------------------------------
cdef int64_t few_room(const Call* c) noexcept nogil:
    cdef const Record* rec = c.rec
    return (c.n_rows * (room(c.dim_room * rec.size) + room(c.value_room * rec.size) + room(3 * rec.size))
            + 2 * room((FEW_KEYS + rec.width) * rec.size) + room(sizeof(Strip)))


cdef int few_part(void* arg, int64_t part) noexcept nogil:
    cdef Call* c = <Call*>arg
    cdef const Record* rec = c.rec
    cdef const Functions* f = &rec.f
    cdef char* memory = <char*>umiak_scratch_get(0, c.local)
    cdef char* base = memory
    cdef char* queries
    cdef char* sums
    cdef char* states
    cdef char* scores
    cdef char* packed
    cdef char* state
    cdef char* keys
    cdef char* values
    cdef char* row
    cdef Strip* s
    cdef Number factor
    cdef double total
    cdef int64_t of_query = room(c.dim_room * rec.size), of_sum = room(c.value_room * rec.size), of_state = room(3 * rec.size)
    cdef int64_t i, at = 0, count, seen, end
    if memory == NULL:
        return NO_MEMORY
    queries = carve(&memory, c.n_rows * of_query)
    sums = carve(&memory, c.n_rows * of_sum)
    states = carve(&memory, c.n_rows * of_state)
    scores = carve(&memory, (FEW_KEYS + rec.width) * rec.size)
    packed = carve(&memory, (FEW_KEYS + rec.width) * rec.size)
    s = <Strip*>carve(&memory, sizeof(Strip))
    s.batch = part // c.key_heads
    s.head = part % c.key_heads
    set_strip(s, c, 0)
    keys = head_of(&c.k, s)
    values = head_of(&c.v, s)
    memset(queries, 0, c.n_rows * of_query)
    memset(sums, 0, c.n_rows * of_sum)
    for i in range(c.n_rows):
        row = row_of(&c.q, c, s, i)
        (f.copy if c.q.stride[3] == rec.stored else f.copy_any)(queries + i * of_query, 0, row, 0, 1, c.dim, c.q.stride[3], &c.scale_log2)
        state = states + i * of_state
        put(rec, state, 0, -INFINITY)
        put(rec, state, 1, 0)
    if rec.mask:
        # What lies beyond the keys is compared too.
        memset(packed, 0, (FEW_KEYS + rec.width) * rec.size)
        memset(scores, 0, (FEW_KEYS + rec.width) * rec.size)
    while at < s.end:
        count = min(<int64_t>FEW_KEYS, s.end - at)
        for i in range(c.n_rows):
            end = min(c.keys, s.last[i] + 1) if rec.causal else c.keys
            seen = min(count, end - at)
            if seen <= 0:
                continue
            f.dots(scores, queries + i * of_query, keys + at * c.k.stride[1], c.k.stride[1], seen, c.dim)
            if rec.mask:
                row = mask_row(c, s, i, at)
                (f.copy_mask if c.mask.stride[3] == rec.mask_stored else f.copy_mask_any)(
                    packed, 0, row, 0, 1, seen, c.mask.stride[3], &c.log2_e)
                f.masked(scores, rec.width * rec.size, (seen + rec.width - 1) // rec.width, packed)
            state = states + i * of_state
            f.weigh_row(scores, seen, state)
            f.mix(sums + i * of_sum, values + at * c.v.stride[1], c.v.stride[1], scores, seen, c.value_dim, state)
        at += count
    for i in range(c.n_rows):
        state = states + i * of_state
        total = get(rec, state, 1)
        factor = number(rec, 1 / total if total != 0 else 1)
        f.give(row_of(&c.out, c, s, i), 0, sums + i * of_sum, 0, 1, c.value_dim, &factor)
        if rec.with_lse:
            put(rec, lse_of(c, s, i // c.group, i % c.group), 0, lse(rec, get(rec, state, 0), total))
    umiak_scratch_put(c.local, base)
    return 0


# ---- launch ------------------------------------------------------------------------------------------------------------
cdef int launch(void* self, void** ptrs, const int64_t* dims, const uint64_t* scalars, int64_t stream) noexcept nogil:
    cdef const Record* rec = <const Record*>self
    cdef Call c
    cdef double work
    cdef int64_t heads, wanted
    cdef int result
    prepare(&c, rec, ptrs, dims, scalars, False)
    heads = c.batch * c.key_heads
    if heads == 0 or c.n_rows == 0:
        return 0
    work = <double>heads * c.n_rows * c.keys * (c.dim + c.value_dim) * (0.5 if rec.causal and c.queries > 1 else 1)
    # Half of a strip costs as much as a whole one.
    if 2 * c.n_rows <= rec.width and c.k.stride[3] == rec.stored and c.v.stride[3] == rec.stored:
        c.local = few_room(&c)
        run_parts(few_part, &c, heads, work, &result)
    else:
        c.strips_per_part = min(<int64_t>STRIPS_PER_PART, c.n_strips)
        if work > PARALLEL_WORK and thread_count() > 1:
            # Some parts for each thread; results are the same.
            wanted = (4 * thread_count() + heads - 1) // heads
            c.strips_per_part = max(1, min(c.strips_per_part, c.n_strips // wanted))
        c.parts_per_head = (c.n_strips + c.strips_per_part - 1) // c.strips_per_part
        c.local = forward_room(&c)
        run_parts(forward_part, &c, heads * c.parts_per_head, work, &result)
    return no_memory() if result != 0 else 0


cdef class Attention:
    """A class of calls: the compiled functions and what they are for. It must outlive its launches; plans keep it.

    ``gradient``: 0, or the address of the gradient's launch.
    """
    cdef Record rec
    cdef object keep
    cdef readonly size_t address, self_pointer

    def __init__(self, dict functions, object keep, *, size_t gradient, bint wide, int stored, int lanes, int width, list sizes,
                 int keys, bint causal, str mask=None, int mask_stored=0, bint with_lse=False, bint with_mask=False):
        cdef Functions* f = &self.rec.f
        cdef int i, rows = sizes[0]
        if width != 2 * lanes or width > MAX_WIDTH or rows > MAX_ROWS or len(sizes) > MAX_SIZES or sizes[len(sizes) - 1] != 1:
            raise ValueError(f"[Attention] requires tiles of at most {MAX_ROWS} by {MAX_WIDTH}, got {rows} by {width}")
        self.keep = keep
        self.rec.wide, self.rec.size, self.rec.stored = wide, 8 if wide else 4, stored
        self.rec.lanes, self.rec.width, self.rec.rows, self.rec.keys = lanes, width, rows, keys
        self.rec.causal, self.rec.mask, self.rec.mask_bool = causal, mask is not None, mask == "bool"
        self.rec.mask_stored, self.rec.with_lse, self.rec.with_mask = mask_stored, with_lse, with_mask
        self.rec.masking.look = look
        self.rec.masking.apply = apply
        f.pack, f.pack_any = <pack_t>at(functions, "pack"), <pack_t>at(functions, "pack_any")
        f.copy, f.copy_any = <copy_t>at(functions, "copy"), <copy_t>at(functions, "copy_any")
        if mask is not None:
            f.pack_mask, f.pack_mask_any = <pack_t>at(functions, "pack_mask"), <pack_t>at(functions, "pack_mask_any")
            f.copy_mask, f.copy_mask_any = <copy_t>at(functions, "copy_mask"), <copy_t>at(functions, "copy_mask_any")
            f.masked = <masked_t>at(functions, "masked")
        f.unpack, f.give = <unpack_t>at(functions, "unpack"), <give_t>at(functions, "give")
        f.causal = <causal_t>at(functions, "causal")
        for i in range(1, rows + 1):
            f.columns[i] = <columns_t>at(functions, f"columns_{i}")
        self.rec.n_sizes = len(sizes)
        self.rec.pairs = "pack_pairs" in functions
        if self.rec.pairs:
            f.pack_pairs, f.copy_pairs = <pack_t>at(functions, "pack_pairs"), <copy_t>at(functions, "copy_pairs")
            f.weave = <weave_t>at(functions, "weave")
            for i in range(1, rows + 1):
                f.pair_columns[i] = <columns_t>at(functions, f"pair_columns_{i}")
            for i in range(len(sizes)):
                f.pairs[i] = <pairs_t>at(functions, f"pairs_{sizes[i]}_2")
                f.last_pairs[i] = <pairs_t>at(functions, f"pairs_{sizes[i]}_1")
                if gradient:
                    f.pair_adding[i] = <adding_t>at(functions, f"pair_adding_{sizes[i]}_2")
                    f.first_pair_adding[i] = <adding_t>at(functions, f"pair_adding_{sizes[i]}_1")
            if gradient:
                f.derive_pairs = <derive_pairs_t>at(functions, "derive_pairs")
            else:
                f.pairs_top, f.weigh_pairs = <pairs_top_t>at(functions, "pairs_top"), <weigh_t>at(functions, "weigh_pairs")
        for i in range(len(sizes)):
            self.rec.sizes[i] = sizes[i]
            f.scores[i] = <scores_t>at(functions, f"scores_{sizes[i]}_2")
            f.last_scores[i] = <scores_t>at(functions, f"scores_{sizes[i]}_1")
            if gradient:
                f.adding[i] = <adding_t>at(functions, f"adding_{sizes[i]}_2")
                f.first_adding[i] = <adding_t>at(functions, f"adding_{sizes[i]}_1")
        if gradient:
            f.derive = <derive_t>at(functions, "derive")
            f.row_sums, f.row_sums_any = <row_sums_t>at(functions, "row_sums"), <row_sums_t>at(functions, "row_sums_any")
        else:
            f.scores_top, f.weigh = <scores_top_t>at(functions, "scores_top"), <weigh_t>at(functions, "weigh")
            f.dots, f.weigh_row, f.mix = <dots_t>at(functions, "dots"), <weigh_row_t>at(functions, "weigh_row"), <mix_t>at(functions, "mix")
        self.address = gradient if gradient else <size_t><void*>launch
        self.self_pointer = <size_t><void*>&self.rec


cdef void* at(dict functions, str name) except NULL:
    return <void*><size_t>functions[name]
