# cython: binding=False
"""Drivers of attention: online softmax over tiles of keys, with compiled functions (attention_kernels.py) for all arithmetic.

Queries of one key head stand side by side, a *strip* of them in the lanes of a few vectors. A part of the work is a block of
strips: for each tile of keys, in order, keys and values are copied, then each strip takes its scores, masks them, turns them
into weights and adds weighted values. What lane a query is in does not matter to its result, nor how strips are divided
among threads. Few queries per key head (a step of decoding) go one by one, over keys and values where they lie.
"""
from libc.math cimport INFINITY, ceil, fabs
from libc.stdint cimport int32_t, int64_t, uint8_t, uint64_t
from libc.stdlib cimport free as release, malloc
from libc.string cimport memcpy, memset

from umiak.backends.cpu.launcher cimport no_memory, parallel_for, thread_count

cdef extern from "umiak/backends/cpu/scratch.h" nogil:
    int umiak_scratch_init()
    void* umiak_scratch_get(int which, int64_t bytes)
    void umiak_scratch_put(int64_t bytes, void* data)

cdef enum:
    FEW_KEYS = 256              # keys at once then
    STRIPS_PER_PART = 16         # that share copied keys; about 512 queries
    GATHER_SAVES = 16           # keys of a tile, which are left out where no strip of a part sees so many
    LOW_STEP = 32               # keys, of which sums in pairs, by tile registers and by accumulators in turn take whole multiples

    # Below these, splitting into terms costs more than it saves: queries of a key head and keys; dims; their product.
    TERM_ROWS = 128
    TERM_DIM = 48
    TERM_WORK = 256 * 64

cdef double LEAST_SCALE = 1.0 / 65536, MOST_SCALE = 16     # that leave queries about as large as they are
cdef double PARALLEL_WORK = 1e6         # matmuls and sums, below which no thread is asked

if umiak_scratch_init() != 0:
    raise MemoryError("no key for thread-specific data is left")


# ---- a call ------------------------------------------------------------------------------------------------------------
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


cdef int prepare(Call* c, const Config* config, void** ptrs, const int64_t* dims, const uint64_t* scalars, int gradient) noexcept nogil:
    """Sizes, operands and numbers of a launch. ``dims``: batch, queries, heads, dim, keys, key heads, value dim, sizes of the
    mask (4), strides of query, key, value, mask and mask by blocks (4 each), of the gradient also out (4), lse (3), grad (4) and
    the gradient of lse (3). ``scalars``: the scale; p, seed and offset of dropout."""
    cdef const int64_t* at = dims + 11
    cdef double scale, p
    cdef int i
    memset(c, 0, sizeof(Call))
    c.config = config
    c.batch, c.queries, c.heads, c.dim, c.keys, c.key_heads, c.value_dim = dims[0], dims[1], dims[2], dims[3], dims[4], dims[5], dims[6]
    c.group = c.heads // c.key_heads if c.key_heads else 1
    c.n_rows = c.group * c.queries
    c.n_strips = (c.n_rows + config.width - 1) // config.width
    c.padded_dim = round_up(c.dim, config.lanes)
    c.padded_value_dim = round_up(c.value_dim, config.lanes)
    memcpy(&scale, scalars, 8)
    c.scale = number(config, scale)
    c.scale_log2 = number(config, scale / LN_2)
    c.log2_e = number(config, 1 if config.mask_bool else 1 / LN_2)
    c.one = number(config, 1)
    c.cap = number(config, config.softcap / LN_2)
    c.out_scale = 1
    at = strided(&c.q, ptrs[0], at, 4, config.stored)
    at = strided(&c.k, ptrs[1], at, 4, config.stored)
    at = strided(&c.v, ptrs[2], at, 4, config.stored)
    at = strided(&c.mask, ptrs[config.mask_at], at, 4, config.mask_stored)
    at = strided(&c.blocks, ptrs[config.mask_at + 1] if config.blocks else NULL, at, 4, 4)
    for i in range(4):
        if dims[7 + i] == 1:
            c.mask.stride[i] = 0
    c.mask_batches, c.mask_heads, c.columns = dims[7], dims[8], dims[10]
    if c.mask_batches == 1:
        c.blocks.stride[0] = 0
    c.tiles = (c.keys + config.keys - 1) // config.keys
    if gradient:
        at = strided(&c.out, ptrs[3], at, 4, config.stored)
        at = strided(&c.lse, ptrs[4], at, 3, config.size)
        at = strided(&c.grad, ptrs[5], at, 4, config.stored)
        at = strided(&c.grad_lse, ptrs[8], at, 3, config.size)
        dense(&c.dq, ptrs[config.inputs], c.queries, c.heads, c.dim, config.stored)
        dense(&c.dk, ptrs[config.inputs + 1], c.keys, c.key_heads, c.dim, config.stored)
        dense(&c.dv, ptrs[config.inputs + 2], c.keys, c.key_heads, c.value_dim, config.stored)
    else:
        dense(&c.out, ptrs[config.inputs], c.queries, c.heads, c.value_dim, config.stored)
        dense(&c.lse, ptrs[config.inputs + 1] if config.with_lse else NULL, 1, c.heads, c.queries, config.size)
    c.kept_scale = c.one
    if config.dropout:
        memcpy(&p, scalars + 1, 8)
        memcpy(&c.key, scalars + 2, 8)
        memcpy(&c.block, scalars + 3, 8)
        c.block = c.block // RANDOM_WORDS
        c.least_kept = <int64_t>ceil(<double><float>p * 16777216.0)     # uniform numbers have 24 bits
        c.out_scale = 1 / (1 - p) if p < 1 else 0
        c.kept_scale = number(config, c.out_scale)
    # The gradient of a mask is added up from gradients of scores in float32.
    multiply_pairs(c, holds_pairs(&c.q, c.dim) and holds_pairs(&c.k, c.dim) and c.v.stride[3] == config.stored and not config.with_mask
                   and (not gradient or holds_pairs(&c.v, c.value_dim) and holds_pairs(&c.grad, c.value_dim)))
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
cdef int64_t visible_prefix(const Call* c, const Strip* s, const Tile* tile, int64_t count, char* room, Visible* visible) noexcept nogil:
    """Causal attention, and a mask, which is packed into ``room``."""
    cdef const Config* config = c.config
    cdef void* table[MAX_WIDTH]
    cdef int64_t i = 0, last = count * config.width - 1, first = tile.first
    visible.low, visible.high = 0, count
    if not config.mask:
        return between(0, s.last[0] + 1 - first, count) if config.causal else count
    table_of(table, &c.mask, c, s)
    mask_rows(table, c, s, first)
    (config.f.pack_mask if c.mask.stride[3] == config.mask_stored else config.f.pack_mask_any)(room, table, count, c.mask.stride[3], &c.log2_e)
    if config.mask_bool:
        while i <= last and get(config, room, i) != 0:
            i += 1
        if i > last:
            return SKIP
        while get(config, room, last) != 0:
            last -= 1
        visible.low, visible.high = i // config.width // LOW_STEP * LOW_STEP, last // config.width + 1
    return 0


cdef inline void mask_rows(void** table, const Call* c, const Strip* s, int64_t first) noexcept nogil:
    """Addresses of the mask's rows from key ``first`` on."""
    cdef int64_t i, row
    for i in range(c.config.width):
        row = s.first + (i if i < s.lanes else s.lanes - 1)
        table[i] = mask_row(c, s, row, first)


cdef void apply(const Call* c, const Strip* s, const Tile* tile, int64_t at, int64_t count, int64_t free, char* room, char* scores,
                int64_t row) noexcept nogil:
    cdef const Config* config = c.config
    if config.causal:
        config.f.causal(scores + free * row, row, count - free, s.last, tile.first + at + free)
    if config.mask:
        config.f.masked(scores, row, count, room + at * config.width * config.size)


# ---- masks that say for each key which queries do not see it ---------------------------------------------------------------
cdef inline Hidden hidden_of(const Call* c, const char* at) noexcept nogil:
    """The two intervals of one key. In causal attention the columns are begin and end, of which the end may be missing; else
    a begin and a second end, or all four."""
    cdef Hidden h
    cdef int64_t step = c.mask.stride[3]
    h.begin, h.end, h.second_begin, h.second_end = (<const int32_t*>at)[0], c.queries, 0, 0
    if c.columns == 4:
        h.end = (<const int32_t*>(at + step))[0]
        h.second_begin = (<const int32_t*>(at + 2 * step))[0]
        h.second_end = (<const int32_t*>(at + 3 * step))[0]
    elif c.columns == 2:
        if c.config.causal:
            h.end = (<const int32_t*>(at + step))[0]
        else:
            h.second_end = (<const int32_t*>(at + step))[0]
    return h


cdef inline Hidden least_of(Hidden a, Hidden b) noexcept nogil:
    a.begin, a.end = min(a.begin, b.begin), min(a.end, b.end)
    a.second_begin, a.second_end = min(a.second_begin, b.second_begin), min(a.second_end, b.second_end)
    return a


cdef inline Hidden most_of(Hidden a, Hidden b) noexcept nogil:
    a.begin, a.end = max(a.begin, b.begin), max(a.end, b.end)
    a.second_begin, a.second_end = max(a.second_begin, b.second_begin), max(a.second_end, b.second_end)
    return a


cdef int bound_tiles(Call* c) noexcept nogil:
    """Look at the mask once, before any score is computed."""
    cdef int64_t unit, tile, key
    cdef const char* head
    cdef HiddenBounds* to = <HiddenBounds*>malloc(c.mask_batches * c.mask_heads * c.tiles * sizeof(HiddenBounds) + 1)
    cdef Hidden h
    c.bounds = to
    if to == NULL:
        return NO_MEMORY
    for unit in range(c.mask_batches * c.mask_heads):
        head = c.mask.data + unit // c.mask_heads * c.mask.stride[0] + unit % c.mask_heads * c.mask.stride[1]
        for tile in range(c.tiles):
            key = tile * c.config.keys
            to.least = to.most = hidden_of(c, head + key * c.mask.stride[2])
            for key in range(key + 1, min(key + c.config.keys, c.keys)):
                h = hidden_of(c, head + key * c.mask.stride[2])
                to.least, to.most = least_of(to.least, h), most_of(to.most, h)
            to += 1
    return 0


cdef void free_bounds(Call* c) noexcept nogil:
    release(<void*>c.bounds)


cdef inline int64_t mask_head(const Call* c, const Strip* s, int64_t row) noexcept nogil:
    """The head of the mask that a strip's row goes by."""
    if c.mask_heads == c.heads:
        return s.head * c.group + row % c.group
    return 0 if c.mask_heads == 1 else s.head


cdef inline const HiddenBounds* bounds_of(const Call* c, const Strip* s, int64_t head, int64_t first) noexcept nogil:
    return c.bounds + ((s.batch if c.mask_batches > 1 else 0) * c.mask_heads + head) * c.tiles + first // c.config.keys


cdef inline bint hides_all(const HiddenBounds* b, int64_t begin, int64_t end) noexcept nogil:
    """Return whether one of the intervals of each key holds queries [begin, end)."""
    return (begin >= b.most.begin and end <= b.least.end) or (begin >= b.most.second_begin and end <= b.least.second_end)


cdef inline bint hides_some(const HiddenBounds* b, int64_t begin, int64_t end) noexcept nogil:
    return (begin < b.most.end and end > b.least.begin) or (begin < b.most.second_end and end > b.least.second_begin)


cdef inline bint keeps_block(const Call* c, const Strip* s, int64_t head, int64_t block, int64_t first) noexcept nogil:
    """Return whether a block of queries sees that of the keys from ``first`` on."""
    return (<const int32_t*>(c.blocks.data + s.batch * c.blocks.stride[0] + head * c.blocks.stride[1] + block * c.blocks.stride[2]
                             + first // MASK_BLOCK * c.blocks.stride[3]))[0] != 0


cdef inline int64_t blocks_kept(const Call* c, const Strip* s, int64_t head, int64_t first, int64_t begin, int64_t end) noexcept nogil:
    """Return whether blocks that have some of queries [begin, end) see a tile of keys: all (1), none (0), or some of them only (-1)."""
    cdef int64_t block, kept = 0, last = (end - 1) // MASK_BLOCK
    if not c.config.blocks:
        return 1
    for block in range(begin // MASK_BLOCK, last + 1):
        kept += keeps_block(c, s, head, block, first)
    return 0 if kept == 0 else 1 if kept == last + 1 - begin // MASK_BLOCK else -1


cdef inline int64_t heads_in(const Call* c, const Strip* s) noexcept nogil:
    """The number of heads of the mask that the strip's rows go by."""
    return min(c.group, s.lanes) if c.mask_heads == c.heads else 1


cdef bint hides_tile(const Call* c, const Strip* strips, int64_t n, int64_t first) noexcept nogil:
    """Return whether no strip sees any of a tile of keys, as far as its bounds say."""
    cdef int64_t i, k, head, begin, end
    cdef const Strip* s
    for i in range(n):
        s = &strips[i]
        if s.end <= first:
            continue
        begin, end = s.first // c.group, (s.first + s.lanes - 1) // c.group + 1
        for k in range(heads_in(c, s)):
            head = mask_head(c, s, s.first + k)
            if not hides_all(bounds_of(c, s, head, first), begin, end) and blocks_kept(c, s, head, first, begin, end) != 0:
                return False
    return True


cdef inline Hidden apart(Hidden h) noexcept nogil:
    """The same queries, in intervals that neither overlap nor meet; those of no queries are [0, 0)."""
    if h.end <= h.begin:
        h.begin, h.end, h.second_begin, h.second_end = h.second_begin, h.second_end, 0, 0
    if h.end <= h.begin:
        h.begin = h.end = 0
    if h.second_end <= h.second_begin:
        h.second_begin = h.second_end = 0
    elif max(h.begin, h.second_begin) <= min(h.end, h.second_end):
        h.begin, h.end, h.second_begin, h.second_end = min(h.begin, h.second_begin), max(h.end, h.second_end), 0, 0
    return h


cdef inline int64_t hide_lanes(const Call* c, const Strip* s, char* row, int64_t begin, int64_t end) noexcept nogil:
    """Hide a key from queries [begin, end); how many the strip has of them."""
    cdef int64_t low = between(0, begin * c.group - s.first, s.lanes), high = between(0, end * c.group - s.first, s.lanes)
    if high <= low:
        return 0
    fill(c.config, row + low * c.config.size, high - low, -INFINITY)
    return high - low


cdef inline bint hides(const Hidden* h, int64_t query) noexcept nogil:
    return h.begin <= query < h.end or h.second_begin <= query < h.second_end


cdef inline bint in_kept_block(const Call* c, const Strip* s, int64_t row, int64_t head, int64_t first) noexcept nogil:
    return not c.config.blocks or keeps_block(c, s, head, row // c.group // MASK_BLOCK, first)


cdef void look_at_tile(const Call* c, const Strip* strips, int64_t n, int64_t first, int64_t count, bint gather, Tile* tile) noexcept nogil:
    """Take down which rows do not see the keys of a tile, where bounds do not settle it and all strips go by one head of the mask;
    with ``gather``, keys that none of them sees are left out, if they are many."""
    cdef const Config* config = c.config
    cdef const Strip* last = &strips[n - 1]
    cdef int64_t head, begin = strips.first // c.group, end = (last.first + last.lanes - 1) // c.group + 1, low = strips.first, k, kept = 0
    cdef int64_t high = last.first + last.lanes
    cdef const char* at
    cdef Hidden h
    tile.first, tile.count, tile.gathered, tile.listed, tile.twice = first, count, False, False, False
    if not config.hides_rows or heads_in(c, strips) > 1:
        return
    head = mask_head(c, strips, strips.first)
    if not hides_some(bounds_of(c, strips, head, first), begin, end) or blocks_kept(c, strips, head, first, begin, end) != 1:
        return
    tile.listed = True
    at = c.mask.data + strips.batch * c.mask.stride[0] + head * c.mask.stride[1] + first * c.mask.stride[2]
    for k in range(count):
        h = hidden_of(c, at + k * c.mask.stride[2])
        if config.causal:                                # has one column or two, so the second interval is free
            h.second_begin, h.second_end = 0, first + k + c.queries - c.keys
        h = apart(h)
        tile.place[kept], tile.begin[kept], tile.end[kept] = k, row_number(c, h.begin), row_number(c, h.end)
        tile.second_begin[kept], tile.second_end[kept] = row_number(c, h.second_begin), row_number(c, h.second_end)
        if not gather or not covers(tile, kept, low, high):
            tile.twice = tile.twice or tile.second_end[kept] > 0
            kept += 1
    if gather and count - kept < GATHER_SAVES:
        if kept < count:
            look_at_tile(c, strips, n, first, count, False, tile)
        return
    tile.count, tile.gathered = kept, kept < count


cdef inline int32_t row_number(const Call* c, int64_t query) noexcept nogil:
    """The first row of a query, or the end of all."""
    return <int32_t>between(0, query * c.group, c.n_rows)


cdef inline bint covers(const Tile* tile, int64_t k, int64_t low, int64_t high) noexcept nogil:
    """Return whether no row of [low, high) sees a key."""
    return (tile.begin[k] <= low) & (tile.end[k] >= high) | (tile.second_begin[k] <= low) & (tile.second_end[k] >= high)


cdef void copy_tile(const Call* c, const Strip* s, const Tile* tile, const Operand* x, char* to, int64_t each, int64_t n) noexcept nogil:
    """As :func:`copy_keys`, of the keys of a tile that are left."""
    cdef int64_t k = 0, end
    while k < tile.count:
        end = k + 1
        while end < tile.count and tile.place[end] == tile.place[end - 1] + 1:
            end += 1
        copy_keys(c, s, x, to + k * c.config.width * c.config.size, each, tile.first + tile.place[k], end - k, n)
        k = end


cdef int64_t visible_prefix_of_list(const Strip* s, const Tile* tile, int64_t count, Visible* visible) noexcept nogil:
    """Of a tile whose keys are listed."""
    cdef uint8_t[MASK_BLOCK] some, all
    cdef int32_t low = <int32_t>s.first, high = <int32_t>(s.first + s.lanes)
    cdef int64_t k, seen = 0
    for k in range(count):
        some[k] = ((tile.begin[k] < high) & (tile.end[k] > low)) | ((tile.second_begin[k] < high) & (tile.second_end[k] > low))
        all[k] = covers(tile, k, low, high)
    while seen < count and not some[seen]:
        seen += 1
    visible.low, visible.high = 0, count
    while visible.high > 0 and all[visible.high - 1]:
        visible.high -= 1
    if visible.high == 0:
        return SKIP
    while all[visible.low]:
        visible.low += 1
    visible.low = visible.low // LOW_STEP * LOW_STEP
    return seen


cdef int64_t visible_prefix_of_rows(const Call* c, const Strip* s, const Tile* tile, int64_t count, char* room, Visible* visible) noexcept nogil:
    """Of a tile that neither bounds nor a list settle, ``room`` gets 0 or -inf for each score, and at its end whether it did."""
    if tile.listed:
        return visible_prefix_of_list(s, tile, count, visible)
    cdef const Config* config = c.config
    cdef int64_t begin = s.first // c.group, end = (s.first + s.lanes - 1) // c.group + 1, seen = count, here, k, i, head, kept, first = tile.first
    cdef bint every = True, some = False, alike = heads_in(c, s) == 1
    cdef const HiddenBounds* b
    cdef const char* at
    cdef char* row = room
    cdef Hidden h
    for k in range(heads_in(c, s)):
        head = mask_head(c, s, s.first + k)
        b = bounds_of(c, s, head, first)
        kept = blocks_kept(c, s, head, first, begin, end)
        every = every and (kept == 0 or hides_all(b, begin, end))
        some = some or kept != 1 or hides_some(b, begin, end)
        alike = alike and kept == 1
    if every:
        return SKIP
    put(config, room, config.keys * config.width, some)
    visible.low, visible.high = 0, count
    if some:
        visible.low, visible.high = count, 0
        memset(room, 0, count * config.width * config.size)
        for k in range(count):
            here = 0
            at = c.mask.data + s.batch * c.mask.stride[0] + (first + k) * c.mask.stride[2]
            if alike:
                h = apart(hidden_of(c, at + mask_head(c, s, s.first) * c.mask.stride[1]))
                here = hide_lanes(c, s, row, h.begin, h.end) + hide_lanes(c, s, row, h.second_begin, h.second_end)
            else:
                for i in range(s.lanes):
                    head = mask_head(c, s, s.first + i)
                    h = hidden_of(c, at + head * c.mask.stride[1])
                    if hides(&h, (s.first + i) // c.group) or not in_kept_block(c, s, s.first + i, head, first):
                        put(config, row, i, -INFINITY)
                        here += 1
            if here and seen == count:
                seen = k
            if here < s.lanes:
                visible.low, visible.high = min(visible.low, k), k + 1
            row += config.width * config.size
        if visible.high == 0:
            return SKIP
        visible.low = visible.low // LOW_STEP * LOW_STEP
    return min(seen, between(0, s.last[0] + 1 - first, count)) if config.causal else seen


cdef void apply_rows(const Call* c, const Strip* s, const Tile* tile, int64_t at, int64_t count, int64_t free, char* room, char* scores,
                     int64_t row) noexcept nogil:
    cdef const Config* config = c.config
    if tile.listed:
        at += free
        scores += free * row
        count -= free
        config.f.hide(scores, row, count, tile.begin + at, tile.end + at, s.first)
        if tile.twice:
            config.f.hide(scores, row, count, tile.second_begin + at, tile.second_end + at, s.first)
        return
    if config.causal:
        config.f.causal(scores + free * row, row, count - free, s.last, tile.first + at + free)
    if get(config, room, config.keys * config.width) != 0:
        config.f.masked(scores, row, count, room + at * config.width * config.size)


# ---- float32 in terms of bfloat16 ------------------------------------------------------------------------------------
cdef int look_at_head(void* arg, int64_t unit) noexcept nogil:
    """Settle whether all numbers of a key head are such that terms hold them."""
    cdef Call* c = <Call*>arg
    cdef int64_t outside = 0, batch = unit // c.key_heads, head = unit % c.key_heads, i
    cdef in_range_t look = c.config.f.in_range
    look(c.k.data + batch * c.k.stride[0] + head * c.k.stride[2], c.k.stride[1], c.keys, c.dim, &outside)
    look(c.v.data + batch * c.v.stride[0] + head * c.v.stride[2], c.v.stride[1], c.keys, c.value_dim, &outside)
    for i in range(head * c.group, (head + 1) * c.group):
        look(c.q.data + batch * c.q.stride[0] + i * c.q.stride[2], c.q.stride[1], c.queries, c.dim, &outside)
        if c.grad.data != NULL:
            look(c.grad.data + batch * c.grad.stride[0] + i * c.grad.stride[2], c.grad.stride[1], c.queries, c.value_dim, &outside)
    (<uint8_t*>c.by_terms)[unit] = not outside
    return 0


cdef int choose_terms(Call* c, bint gradient, double work) noexcept nogil:
    """Settle which key heads are multiplied in terms. Sizes and numbers alone decide."""
    cdef const Config* config = c.config
    cdef int64_t heads = c.batch * c.key_heads, size = config.size
    cdef double scale = fabs(get(config, <const char*>&c.scale, 0))
    cdef int result = 0
    cdef int64_t rows = min(c.n_rows, c.keys), dim = min(c.dim, c.value_dim)
    if (not config.terms or rows < TERM_ROWS or dim < TERM_DIM or rows * dim < TERM_WORK
            or config.with_mask or not LEAST_SCALE <= scale <= MOST_SCALE or c.q.stride[3] != size or c.k.stride[3] != size
            or c.v.stride[3] != size or gradient and c.grad.stride[3] != size):
        return 0
    c.by_terms = <const uint8_t*>malloc(heads)
    if c.by_terms == NULL:
        return NO_MEMORY
    run_parts(look_at_head, c, heads, work, &result)
    return result


cdef void free_terms(Call* c) noexcept nogil:
    release(<void*>c.by_terms)


# ---- forward -----------------------------------------------------------------------------------------------------------
cdef int64_t forward_scratch(const Call* c) noexcept nogil:
    """Bytes of a part's scratch."""
    cdef const Config* config = c.config
    cdef int64_t strip = config.width * config.size
    cdef int64_t block = config.lanes * strip
    return (align_up(scored_room(c, config.keys * strip, c.dim)) + align_up(summed_room(c, config.keys * strip, c.value_dim)) + 2 * weights_room(c)
            + c.strips_per_part * (align_up(packed_room(c, c.dim)) + align_up(c.padded_value_dim * strip) + 2 * align_up(strip) + align_up(sizeof(Strip)))
            + align_up(kept_room(c)) + align_up(config.keys * strip) + align_up(config.keys * strip + block) + 3 * align_up(strip) + align_up(c.padded_value_dim * config.stored))


cdef inline int64_t weights_room(const Call* c) noexcept nogil:
    """Bytes of a tile's weights in terms, which do not take the place of scores."""
    return TERMS * words_plane(c) if c.terms else 0


cdef void plan_prefetch(const Call* c, int64_t part, int64_t steps, Prefetch* a) noexcept nogil:
    """Plan the prefetch of what the thread's next part will read and write, as far as it is not what this one does."""
    cdef int64_t next = part + c.threads, unit = next // c.parts_per_head, strips = c.strips_per_part, rows, first
    a.n = 0
    if unit < c.batch * c.key_heads and c.table == NULL:
        first = (c.parts_per_head - 1 - next % c.parts_per_head) * strips * c.config.width // c.group
        rows = min(strips * c.config.width // c.group, c.queries - first)
        if unit != part // c.parts_per_head:
            prefetch_rows(a, c, &c.k, unit, 1, 0, c.keys, c.dim)
            prefetch_rows(a, c, &c.v, unit, 1, 0, c.keys, c.value_dim)
        prefetch_rows(a, c, &c.q, unit, c.group, first, rows, c.dim)
        prefetch_rows(a, c, &c.out, unit, c.group, first, rows, c.value_dim)
    prefetch_begin(a, steps)


cdef int forward_part(void* arg, int64_t part) noexcept nogil:
    cdef Call own
    cdef Call* c = of_part(<Call*>arg, &own, part // (<Call*>arg).parts_per_head)
    cdef const Config* config = c.config
    cdef const Functions* f = &config.f
    # The last queries have the most to do where attention is causal: first come, first served.
    cdef int64_t first_strip = (c.parts_per_head - 1 - part % c.parts_per_head) * c.strips_per_part
    cdef int64_t n_strips = min(c.strips_per_part, c.n_strips - first_strip)
    cdef int64_t width = config.width * config.size, unit = part // c.parts_per_head, panel = config.keys * width
    cdef int64_t i, k, at, count, seen, free, blocks, done, low, end = 0, tiles = 0, before, before_seen
    # Dropout has a number for each place, pairs are of neighbours.
    cdef bint gather = not config.dropout and not c.pairs and c.table == NULL
    cdef Visible visible
    cdef Tile tile
    cdef Prefetch coming
    cdef char* memory = <char*>umiak_scratch_get(0, c.local)
    cdef char* base = memory
    cdef char* keys
    cdef char* values
    cdef char* strip_keys
    cdef char* strip_values
    cdef char* before_values
    cdef char* queries
    cdef char* sums
    cdef char* most
    cdef char* total
    cdef char* scores
    cdef char* weights
    cdef char* before_weights
    cdef char* before_factor
    cdef char* packed
    cdef char* kept
    cdef char* top
    cdef char* factor
    cdef char* spare
    cdef Strip* strips
    cdef Strip* s
    cdef int64_t of_queries = align_up(packed_room(c, c.dim)), of_sums = align_up(c.padded_value_dim * width), of_row = align_up(width)
    if memory == NULL:
        return NO_MEMORY
    keys = carve(&memory, scored_room(c, panel, c.dim))
    values = carve(&memory, summed_room(c, panel, c.value_dim))
    queries = carve(&memory, n_strips * of_queries)
    sums = carve(&memory, n_strips * of_sums)
    most = carve(&memory, n_strips * of_row)
    total = carve(&memory, n_strips * of_row)
    strips = <Strip*>carve(&memory, n_strips * sizeof(Strip))
    scores = carve(&memory, panel)
    weights = carve(&memory, weights_room(c)) if c.terms else scores
    before_weights = carve(&memory, weights_room(c))
    packed = carve(&memory, panel + config.lanes * width)
    kept = carve(&memory, kept_room(c))
    top = carve(&memory, width)
    factor = carve(&memory, width)
    before_factor = carve(&memory, width)
    spare = carve(&memory, c.value_dim * config.stored)
    for i in range(n_strips):
        s = &strips[i]
        s.batch = unit // c.key_heads
        s.head = unit % c.key_heads
        set_strip(s, c, first_strip + i)
        end = max(end, s.end)
        tiles += (s.end + config.keys - 1) // config.keys
        pack_scored(c, s, &c.q, queries + i * of_queries, c.dim, &c.scale_log2)
        fill(config, most + i * of_row, config.width, -INFINITY)
    memset(total, 0, n_strips * of_row)
    memset(sums, 0, n_strips * of_sums)
    if c.amx:
        f.amx_begin()
    plan_prefetch(c, part, (2 + pieces_of(c, c.value_dim)) * tiles, &coming)
    at = 0
    while at < end:
        count = min(config.keys, end - at)
        if config.hides_rows and hides_tile(c, strips, n_strips, at):
            at += count
            continue
        look_at_tile(c, strips, n_strips, at, count, gather, &tile)
        if tile.gathered:
            copy_tile(c, strips, &tile, &c.k, keys, panel, c.dim)
            copy_tile(c, strips, &tile, &c.v, values, panel, c.value_dim)
        else:
            copy_scored(c, strips, &c.k, keys, panel, at, count, c.dim)
            copy_summed(c, strips, &c.v, values, panel, at, count, c.value_dim)
        before = -1
        for i in range(n_strips):
            s = &strips[i]
            seen = keys_before(&tile, s.end)
            if seen <= 0:
                continue
            free = config.masking.visible_prefix(c, s, &tile, seen, packed, &visible)
            if free == SKIP:
                continue
            seen, free = visible.high - visible.low, between(0, free - visible.low, visible.high - visible.low)
            low = head_of_strip(s, &tile, visible.low, seen)
            strip_keys, strip_values = keys + visible.low * width, values + summed_within(c, visible.low)
            prefetch_step(&coming)
            fill(config, top, config.width, -INFINITY)
            # Maxima are taken after scores are capped.
            blocks = 0 if config.softcap else min(free, low) // config.rows
            done = blocks * config.rows
            if c.amx:
                done = 0 if config.softcap else free // 4 * 4
                score_by_tiles(c, scores, width, strip_keys, panel, queries + i * of_queries, c.score_dim, &c.scale_log2, done, seen, top)
            elif c.pairs:
                f.pairs_top(scores, width, strip_keys, panel, queries + i * of_queries, c.score_dim, blocks, top, &c.scale_log2)
            else:
                f.scores_top(scores, width, strip_keys, panel, queries + i * of_queries, c.score_dim, blocks, top)
            if not c.amx:
                score(c, scores, width, strip_keys, panel, queries + i * of_queries, c.score_dim, &c.scale_log2, low, done, seen)
            if config.softcap:
                f.cap(scores, width, seen, &c.cap)
            if free < seen:
                config.masking.apply(c, s, &tile, visible.low, seen, free, packed, scores, width)
            prefetch_step(&coming)
            if not c.terms:
                (f.online_softmax_pairs if c.pairs else f.online_softmax)(scores, done, seen, top, most + i * of_row, total + i * of_row, factor)
            elif before < 0:
                f.online_softmax_terms(scores, done, seen, top, most + i * of_row, total + i * of_row, factor, weights)
            else:
                for k in range(pieces_of(c, c.value_dim)):
                    prefetch_step(&coming)
                # Weighted values of the strip before, in tile registers, while vectors hold this one's softmax.
                f.softmax_beside(sums + before * of_sums, before_values, transposed_row(config), before_weights, width,
                                 end_weights(c, before_weights, width, before_seen), c.value_dim, before_factor, summed_plane(c, c.value_dim),
                                 words_plane(c), scores, done, seen, top, most + i * of_row, total + i * of_row, factor, weights)
            if config.dropout:
                draw_kept(c, s, at + visible.low, seen, kept)
                if c.pairs:
                    for k in range(TERMS if c.terms else 1):
                        f.drop_words(weights + k * words_plane(c), width, seen, kept)
                else:
                    f.drop(scores, width, seen, kept, &c.one)
            if c.terms:
                before, before_seen, before_values = i, seen, strip_values
                weights, before_weights, factor, before_factor = before_weights, weights, before_factor, factor
            else:
                add_weighted_values(c, sums + i * of_sums, strip_values, panel, scores, width, c.value_dim, factor, low, seen, &coming)
        if before >= 0:
            add_weighted_values(c, sums + before * of_sums, before_values, panel, before_weights, width, c.value_dim,
                                before_factor, before_seen, before_seen, &coming)
        at += count
    for i in range(n_strips):
        finish_strip(c, &strips[i], sums + i * of_sums, most + i * of_row, total + i * of_row, factor, spare)
    if c.amx:
        f.amx_end()
    umiak_scratch_put(c.local, base)
    return 0


cdef void add_weighted_values(const Call* c, char* to, const char* values, int64_t panel, char* weights, int64_t weight_row,
                  int64_t n, const char* factor, int64_t low, int64_t seen, Prefetch* coming) noexcept nogil:
    """``to = to * factor + values^T weights``: ``n`` rows, in even pieces that registers hold, from panels of values. Of the ``seen``
    keys lanes of the last vector alone see those from ``low`` on."""
    cdef const Config* config = c.config
    cdef int64_t pieces, rows, left
    if c.amx:
        for rows in range(pieces_of(c, n)):
            prefetch_step(coming)
        rows = end_weights(c, weights, weight_row, seen)
        (config.f.term_scaled if c.terms else config.f.amx_scaled)(
            to, values, transposed_row(config), weights, weight_row, rows, n, factor, summed_plane(c, n), words_plane(c))
        return
    if c.pairs:
        # Of a pair that not all lanes see, the others' weights are 0.
        low, seen = (low + 1) // 2, (seen + 1) // 2
    while n > 0:
        left = min(n, config.width)
        n -= left
        pieces = (left + config.rows - 1) // config.rows
        while pieces:
            rows = (left + pieces - 1) // pieces
            prefetch_step(coming)
            (config.f.pair_gemm_scaled[rows] if c.pairs else config.f.gemm_scaled[rows])(to, values, weights, weight_row, low, seen - low, factor)
            to += rows * config.width * config.size
            values += rows * config.size
            left -= rows
            pieces -= 1
        values += panel - config.width * config.size


cdef inline int64_t end_weights(const Call* c, char* weights, int64_t row, int64_t seen) noexcept nogil:
    """Fill the last step of sums over keys with zeros; words of the sums."""
    cdef int64_t low = words_of(seen), k = round_up(low, AMX_STEP), i
    for i in range(TERMS if c.terms else 1):
        memset(weights + i * words_plane(c) + low * row, 0, (k - low) * row)
    return k


cdef inline int64_t words_plane(const Call* c) noexcept nogil:
    """Bytes of a tile of pairs of keys."""
    return c.config.keys // 2 * c.config.width * c.config.size


cdef void finish_strip(const Call* c, const Strip* s, const char* sums, const char* most, const char* total, char* factor,
                       char* spare) noexcept nogil:
    cdef const Config* config = c.config
    cdef int64_t i, row = s.first // c.group, within = s.first % c.group
    cdef char* to = lse_of(c, s, row, within)
    cdef double t
    cdef float f
    if config.wide:
        for i in range(config.width):
            t = (<const double*>total)[i]
            (<double*>factor)[i] = c.out_scale / t if t != 0 else 1
    else:
        for i in range(config.width):
            f = (<const float*>total)[i]
            (<float*>factor)[i] = <float>c.out_scale / f if f != 0 else 1
    if config.with_lse:
        for i in range(s.lanes):
            put(config, to, 0, lse(config, get(config, most, i), get(config, total, i)))
            within += 1
            to += c.queries * config.size
            if within == c.group:
                within = 0
                row += 1
                to = lse_of(c, s, row, 0)
    unpack_strip(c, s, &c.out, sums, c.value_dim, factor, spare)


# ---- few queries per key head -----------------------------------------------------------------------------------------
cdef int64_t few_rows(const Call* c) noexcept nogil:
    """The number of queries that cost as much one by one as a strip of them: half a strip, fewer of heads of less than 72 dims, where the calls
    for each query count."""
    return max(1, min(c.config.width // 2, c.config.width * (c.dim + c.value_dim + 112) // 512))


cdef int64_t few_beside_rows(const Call* c) noexcept nogil:
    """The same beside all of them as rows, which takes transposed keys: for few queries of small heads these cost less than the calls."""
    return c.config.width // (4 if c.dim + c.value_dim >= 64 else 8)


cdef int64_t few_scratch(const Call* c) noexcept nogil:
    cdef const Config* config = c.config
    return (c.n_rows * (align_up(c.padded_dim * config.size) + align_up(c.padded_value_dim * config.size) + align_up(3 * config.size))
            + 2 * align_up((FEW_KEYS + config.width) * config.size) + align_up(sizeof(Strip)))


cdef void pack_seen(const Call* c, const Strip* s, int64_t row, int64_t first, int64_t count, char* to) noexcept nogil:
    """0 for each key that a row sees, else -inf."""
    cdef int64_t k, head = mask_head(c, s, row)
    cdef const char* at = (c.mask.data + s.batch * c.mask.stride[0] + head * c.mask.stride[1] + first * c.mask.stride[2])
    cdef Hidden h
    for k in range(count):
        h = hidden_of(c, at + k * c.mask.stride[2])
        put(c.config, to, k, -INFINITY if hides(&h, row // c.group) or not in_kept_block(c, s, row, head, first + k) else 0)


cdef int few_part(void* arg, int64_t part) noexcept nogil:
    cdef Call* c = <Call*>arg
    cdef const Config* config = c.config
    cdef const Functions* f = &config.f
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
    cdef Number[3] more                                  # a state that rescales nothing
    cdef double total
    cdef int64_t of_query = align_up(c.padded_dim * config.size), of_sum = align_up(c.padded_value_dim * config.size), of_state = align_up(3 * config.size)
    cdef int64_t i, at = 0, count, seen, end, done, here
    if memory == NULL:
        return NO_MEMORY
    queries = carve(&memory, c.n_rows * of_query)
    sums = carve(&memory, c.n_rows * of_sum)
    states = carve(&memory, c.n_rows * of_state)
    scores = carve(&memory, (FEW_KEYS + config.width) * config.size)
    packed = carve(&memory, (FEW_KEYS + config.width) * config.size)
    s = <Strip*>carve(&memory, sizeof(Strip))
    s.batch = part // c.key_heads
    s.head = part % c.key_heads
    set_strip(s, c, 0)
    put(config, <char*>more, 2, 1)
    memset(queries, 0, c.n_rows * of_query)
    memset(sums, 0, c.n_rows * of_sum)
    for i in range(c.n_rows):
        row = row_of(&c.q, c, s, i)
        (f.copy_query if c.q.stride[3] == config.stored else f.copy_query_any)(queries + i * of_query, 0, row, 0, 1, c.dim, c.q.stride[3], &c.scale_log2)
        state = states + i * of_state
        put(config, state, 0, -INFINITY)
        put(config, state, 1, 0)
    if config.mask or config.softcap:
        # What lies beyond the keys is compared, or capped, too.
        memset(packed, 0, (FEW_KEYS + config.width) * config.size)
        memset(scores, 0, (FEW_KEYS + config.width) * config.size)
    while at < s.end:
        count = min(<int64_t>FEW_KEYS, s.end - at)
        for i in range(c.n_rows):
            end = min(c.keys, s.last[i] + 1) if config.causal else c.keys
            seen = min(count, end - at)
            if seen <= 0:
                continue
            done = 0
            while done < seen:
                here = seen - done
                keys = rows_at(c, s, &c.k, at + done, &here)
                f.dots(scores + done * config.size, queries + i * of_query, keys, c.k.stride[1], here, c.dim)
                done += here
            if config.softcap:
                f.cap(scores, config.width * config.size, (seen + config.width - 1) // config.width, &c.cap)
            if config.hides_rows:
                pack_seen(c, s, i, at, seen, packed)
            elif config.mask:
                row = mask_row(c, s, i, at)
                (f.copy_mask if c.mask.stride[3] == config.mask_stored else f.copy_mask_any)(
                    packed, 0, row, 0, 1, seen, c.mask.stride[3], &c.log2_e)
            if config.mask:
                f.masked(scores, config.width * config.size, (seen + config.width - 1) // config.width, packed)
            state = states + i * of_state
            f.online_softmax_row(scores, seen, state)
            done = 0
            while done < seen:
                here = seen - done
                values = rows_at(c, s, &c.v, at + done, &here)
                f.weighted_sum(sums + i * of_sum, values, c.v.stride[1], scores + done * config.size, here, c.value_dim,
                               <char*>more if done else state)
                done += here
        at += count
    for i in range(c.n_rows):
        state = states + i * of_state
        total = get(config, state, 1)
        factor = number(config, c.out_scale / total if total != 0 else 1)
        f.store_rows(row_of(&c.out, c, s, i), 0, sums + i * of_sum, 0, 1, c.value_dim, &factor)
        if config.with_lse:
            put(config, lse_of(c, s, i // c.group, i % c.group), 0, lse(config, get(config, state, 0), total))
    umiak_scratch_put(c.local, base)
    return 0


# ---- launch ------------------------------------------------------------------------------------------------------------
cdef void see_nothing(const Call* c) noexcept nogil:
    """The results of no keys, of which there is no tile: zeros, and sums of nothing."""
    cdef int64_t rows = c.batch * c.heads * c.queries
    memset(c.out.data, 0, rows * c.value_dim * c.config.stored)
    if c.config.with_lse:
        fill(c.config, c.lse.data, rows, -INFINITY)


cdef int launch(void* self, void** ptrs, const int64_t* dims, const uint64_t* scalars, int64_t stream) noexcept nogil:
    cdef const Config* config = <const Config*>self
    cdef Call c, by_terms
    cdef double work
    cdef int64_t heads, wanted
    cdef int result
    prepare(&c, config, ptrs, dims, scalars, False)
    heads = c.batch * c.key_heads
    if heads == 0 or c.n_rows == 0:
        return 0
    if c.keys == 0:
        see_nothing(&c)
        return 0
    work = <double>heads * c.n_rows * c.keys * (c.dim + c.value_dim) * (0.5 if config.causal and c.queries > 1 else 1)
    c.local = config.by_rows.room(&c) if c.n_rows > few_beside_rows(&c) else 0
    if c.local:
        run_parts(config.by_rows.part, &c, heads, work, &result)
    elif c.n_rows <= few_rows(&c) and not config.dropout and c.k.stride[3] == config.stored and c.v.stride[3] == config.stored:
        c.local = few_scratch(&c)
        run_parts(few_part, &c, heads, work, &result)
    else:
        c.strips_per_part = min(<int64_t>STRIPS_PER_PART, c.n_strips)
        if work > PARALLEL_WORK and thread_count() > 1:
            # Some parts for each thread; results are the same.
            wanted = (4 * thread_count() + heads - 1) // heads
            c.strips_per_part = max(1, min(c.strips_per_part, c.n_strips // wanted))
        c.parts_per_head = (c.n_strips + c.strips_per_part - 1) // c.strips_per_part
        c.local = forward_scratch(&c)
        if config.hides_rows and bound_tiles(&c) != 0:
            return no_memory()
        result = choose_terms(&c, False, work)
        if c.by_terms != NULL:
            by_terms = c
            multiply_terms(&by_terms)
            c.local = max(c.local, forward_scratch(&by_terms))
        if result == 0:
            run_parts(forward_part, &c, heads * c.parts_per_head, work, &result)
        free_terms(&c)
        free_bounds(&c)
    return no_memory() if result != 0 else 0


cdef class Attention:
    """A class of calls: the compiled functions and what they are for. It must outlive its launches; plans keep it.

    ``gradient``: 0, or the address of the gradient's launch. ``by_rows``: the address of the way of few queries, of launches that have one.
    """
    def __init__(self, dict functions, object keep, *, size_t gradient, bint wide, int stored, int lanes, int width, list sizes,
                 int keys, bint causal, size_t by_rows=0, int inputs=4, int mask_at=3, str mask=None, int mask_stored=0, bint hides_rows=False, bint blocks=False, bint dropout=False,
                 bint with_lse=False, bint with_mask=False, bint with_grad_lse=False, double softcap=0):
        cdef Functions* f = &self.config.f
        cdef int i, rows = sizes[0]
        if width != 2 * lanes or width > MAX_WIDTH or rows > MAX_ROWS or len(sizes) > MAX_SIZES or sizes[len(sizes) - 1] != 1:
            raise ValueError(f"[Attention] requires tiles of at most {MAX_ROWS} by {MAX_WIDTH}, got {rows} by {width}")
        self.keep = keep
        self.config.by_rows = <const Way*>by_rows
        self.config.wide, self.config.size, self.config.stored = wide, 8 if wide else 4, stored
        self.config.lanes, self.config.width, self.config.rows, self.config.keys = lanes, width, rows, keys
        self.config.causal, self.config.mask, self.config.mask_bool = causal, mask is not None, mask == "bool"
        self.config.mask_stored, self.config.with_lse, self.config.with_mask = mask_stored, with_lse, with_mask
        self.config.inputs, self.config.mask_at = inputs, mask_at
        self.config.hides_rows, self.config.blocks = hides_rows, blocks
        if keys != MASK_BLOCK:
            raise ValueError(f"[Attention] requires tiles of {MASK_BLOCK} keys, those of masks by blocks, got {keys}")
        self.config.dropout, self.config.with_grad_lse = dropout, with_grad_lse
        self.config.softcap = softcap
        if softcap:
            f.cap = <cap_t>at(functions, "cap")
        if dropout:
            f.draw_kept, f.drop = <draw_kept_t>at(functions, "draw_kept"), <drop_t>at(functions, "drop")
            if "drop_words" in functions:
                f.drop_words, f.drop_narrow = <drop_pairs_t>at(functions, "drop_words"), <drop_pairs_t>at(functions, "drop_narrow")
        self.config.masking.visible_prefix = visible_prefix_of_rows if hides_rows else visible_prefix
        self.config.masking.apply = apply_rows if hides_rows else apply
        f.pack, f.pack_any = <pack_t>at(functions, "pack"), <pack_t>at(functions, "pack_any")
        f.copy, f.copy_any = <copy_t>at(functions, "copy"), <copy_t>at(functions, "copy_any")
        f.copy_query, f.copy_query_any = f.copy, f.copy_any
        if mask is not None:
            f.pack_mask, f.pack_mask_any = <pack_t>at(functions, "pack_mask"), <pack_t>at(functions, "pack_mask_any")
            f.copy_mask, f.copy_mask_any = <copy_t>at(functions, "copy_mask"), <copy_t>at(functions, "copy_mask_any")
            f.masked = <masked_t>at(functions, "masked")
            f.hide = <hide_t>at(functions, "hide")
        f.unpack, f.store_rows = <unpack_t>at(functions, "unpack"), <store_rows_t>at(functions, "store_rows")
        f.causal = <causal_t>at(functions, "causal")
        for i in range(1, rows + 1):
            f.gemm_scaled[i] = <gemm_scaled_t>at(functions, f"gemm_scaled_{i}")
        self.config.n_sizes = len(sizes)
        self.config.pairs = "pack_pairs" in functions
        if self.config.pairs:
            f.pack_pairs, f.copy_pairs = <pack_t>at(functions, "pack_pairs"), <copy_t>at(functions, "copy_pairs")
            f.interleave = <interleave_t>at(functions, "interleave")
            self.config.amx = "amx_begin" in functions
            for i in range(1, 0 if self.config.amx else rows + 1):
                f.pair_gemm_scaled[i] = <gemm_scaled_t>at(functions, f"pair_gemm_scaled_{i}")
            for i in range(0 if self.config.amx else len(sizes)):
                f.pairs[i] = <pairs_t>at(functions, f"pairs_{sizes[i]}_2")
                f.last_pairs[i] = <pairs_t>at(functions, f"pairs_{sizes[i]}_1")
                if gradient:
                    f.pair_gemm_accumulate[i] = <gemm_accumulate_t>at(functions, f"pair_gemm_accumulate_{sizes[i]}_2")
                    f.first_pair_gemm_accumulate[i] = <gemm_accumulate_t>at(functions, f"pair_gemm_accumulate_{sizes[i]}_1")
            if gradient:
                f.softmax_gradient_pairs = <softmax_gradient_pairs_t>at(functions, "softmax_gradient_pairs")
            else:
                f.online_softmax_pairs = <online_softmax_t>at(functions, "online_softmax_pairs")
            if self.config.amx:
                f.amx_begin, f.amx_end = <amx_switch_t>at(functions, "amx_begin"), <amx_switch_t>at(functions, "amx_end")
                f.amx_scores, f.transpose_pairs = <amx_scores_t>at(functions, "amx_scores"), <interleave_t>at(functions, "transpose_pairs")
                f.amx_scaled, f.amx_accumulate = <amx_accumulate_t>at(functions, "amx_scaled"), <amx_accumulate_t>at(functions, "amx_accumulate")
            elif not gradient:
                f.pairs_top = <pairs_top_t>at(functions, "pairs_top")
        self.config.terms = "in_range" in functions
        if self.config.terms:
            f.amx_begin, f.amx_end = <amx_switch_t>at(functions, "amx_begin"), <amx_switch_t>at(functions, "amx_end")
            f.pack_terms, f.copy_terms = <pack_terms_t>at(functions, "pack_terms"), <terms_t>at(functions, "copy_terms")
            f.transpose_terms, f.interleave_terms = <terms_t>at(functions, "transpose_terms"), <terms_t>at(functions, "interleave_terms")
            f.term_scores, f.in_range = <amx_scores_t>at(functions, "term_scores"), <in_range_t>at(functions, "in_range")
            f.term_scaled, f.term_accumulate = <amx_accumulate_t>at(functions, "term_scaled"), <amx_accumulate_t>at(functions, "term_accumulate")
            if gradient:
                f.softmax_gradient_terms = <softmax_gradient_pairs_t>at(functions, "softmax_gradient_terms")
            else:
                f.online_softmax_terms = <online_softmax_terms_t>at(functions, "online_softmax_terms")
                f.softmax_beside = <softmax_beside_t>at(functions, "softmax_beside")
        for i in range(len(sizes)):
            self.config.sizes[i] = sizes[i]
            f.scores[i] = <scores_t>at(functions, f"scores_{sizes[i]}_2")
            f.last_scores[i] = <scores_t>at(functions, f"scores_{sizes[i]}_1")
            if gradient:
                f.gemm_accumulate[i] = <gemm_accumulate_t>at(functions, f"gemm_accumulate_{sizes[i]}_2")
                f.first_gemm_accumulate[i] = <gemm_accumulate_t>at(functions, f"gemm_accumulate_{sizes[i]}_1")
        if gradient:
            f.softmax_gradient = <softmax_gradient_t>at(functions, "softmax_gradient")
            f.softmax_gradient_rows = <softmax_gradient_rows_t>at(functions, "softmax_gradient_rows")
            f.row_sums, f.row_sums_any = <row_sums_t>at(functions, "row_sums"), <row_sums_t>at(functions, "row_sums_any")
        else:
            f.scores_top, f.online_softmax = <scores_top_t>at(functions, "scores_top"), <online_softmax_t>at(functions, "online_softmax")
            f.softmax_rows = <softmax_rows_t>at(functions, "softmax_rows")
            f.dots, f.online_softmax_row, f.weighted_sum = <dots_t>at(functions, "dots"), <online_softmax_row_t>at(functions, "online_softmax_row"), <weighted_sum_t>at(functions, "weighted_sum")
        self.address = gradient if gradient else <size_t><void*>launch
        self.self_pointer = <size_t><void*>&self.config


cdef void* at(dict functions, str name) except NULL:
    return <void*><size_t>functions[name]


globals().update(STRIPS=STRIPS)
