# cython: binding=False
"""The driver of attention's gradient: softmax weights are recomputed from the scores' log-sum-exp, tile by tile.

One walk gives all gradients. A part takes keys of one key head, a *chunk* at a time, and for each chunk all queries that see
some of it, a *group* of strips at a time. Gradients of a chunk's keys and values are complete after it, those of queries are
added up in a buffer of the part. Where there are few key heads, their chunks are dealt out to several parts, whose sums are
added in order at the end: how many depends on sizes alone, so that results do not depend on threads. Such heads take turns,
as many at once as keep all threads busy, so that few of these buffers are there at a time.
"""
from libc.stdint cimport int64_t, uint64_t
from libc.stdlib cimport free
from libc.string cimport memset

from umiak.backends.cpu.attention cimport *
from umiak.backends.cpu.launcher cimport no_memory, thread_count

cdef extern from "<stdlib.h>" nogil:
    void* aligned_alloc(size_t alignment, size_t size)

cdef extern from "umiak/backends/cpu/scratch.h" nogil:
    int umiak_scratch_init()
    void* umiak_scratch_get(int which, int64_t bytes)
    void umiak_scratch_put(int64_t bytes, void* data)

cdef enum:
    CHUNK = 8                   # tiles of keys, at most
    ENOUGH_PARTS = 8            # more key heads than this are not split
    LEAST_CHUNK = 2             # tiles of a chunk that is there for the sake of a part
    PARTS_PER_THREAD = 2        # of a turn, so that threads that are done early have something to do

if umiak_scratch_init() != 0:
    raise MemoryError("no key for thread-specific data is left")


cdef inline int64_t n_groups(const Call* c) noexcept nogil:
    return (c.n_strips + STRIPS - 1) // STRIPS


cdef inline int64_t queries_room(const Call* c) noexcept nogil:
    """Bytes of the gradient of a key head's queries, strip by strip."""
    return c.n_strips * align_up(c.padded_dim * c.config.width * c.config.size)


cdef int64_t part_room(const Call* c) noexcept nogil:
    cdef const Config* config = c.config
    cdef int64_t strip = config.width * config.size, block = config.lanes * strip, of_row = align_up(strip)
    cdef int64_t panels = panels_of(c, c.dim) + panels_of(c, c.value_dim)
    cdef int64_t terms = TERMS if c.terms else 1, chunk = c.chunk * strip
    return (align_up(summed_room(c, chunk, c.dim)) + align_up(scored_room(c, chunk, c.dim)) + align_up(scored_room(c, chunk, c.value_dim))
            + 2 * align_up(panels * chunk)
            + STRIPS * (align_up(sizeof(Strip)) + align_up(packed_room(c, c.dim)) + align_up(packed_room(c, c.value_dim)))
            + 2 * c.n_strips * of_row + 2 * terms * align_up(STRIPS * config.width * panels * strip)
            + (4 if c.terms else 2) * align_up(config.keys * STRIPS * strip) + align_up(config.keys * strip + block) + align_up(kept_room(c)) + of_row
            + align_up(c.dim * config.stored))


cdef void plan_prefetch(const Call* c, int64_t index, int64_t steps, Prefetch* a) noexcept nogil:
    """Plan the prefetch of what the thread's next part will read and write, where parts are whole heads."""
    cdef int64_t unit = index + c.threads
    a.n = 0
    if c.splits == 1 and unit < c.batch * c.key_heads:
        prefetch_rows(a, c, &c.k, unit, 1, 0, c.keys, c.dim)
        prefetch_rows(a, c, &c.v, unit, 1, 0, c.keys, c.value_dim)
        prefetch_rows(a, c, &c.q, unit, c.group, 0, c.queries, c.dim)
        prefetch_rows(a, c, &c.grad, unit, c.group, 0, c.queries, c.value_dim)
        prefetch_rows(a, c, &c.out, unit, c.group, 0, c.queries, c.value_dim)
        prefetch_rows(a, c, &c.dk, unit, 1, 0, c.keys, c.dim)
        prefetch_rows(a, c, &c.dv, unit, 1, 0, c.keys, c.value_dim)
        prefetch_rows(a, c, &c.dq, unit, c.group, 0, c.queries, c.dim)
    prefetch_begin(a, steps)


cdef int gradient_part(void* arg, int64_t index) noexcept nogil:
    """The chunks of one split of one key head."""
    cdef Call own
    cdef int64_t unit = (<Call*>arg).first_head + index // (<Call*>arg).splits
    cdef Call* c = of_part(<Call*>arg, &own, unit)
    cdef const Config* config = c.config
    cdef const Functions* f = &config.f
    cdef int64_t k, first, group, n, i, at, count, end, seen, free, most, lo, hi, tiles, low
    cdef int64_t size = config.size, strip = config.width * size, block = config.lanes * strip
    cdef int64_t rows = STRIPS * config.width, wide = STRIPS * strip, panel = c.chunk * strip, query_panel = rows * strip
    cdef int64_t of_q = align_up(packed_room(c, c.dim)), of_g = align_up(packed_room(c, c.value_dim)), of_row = align_up(strip)
    cdef int64_t of_dq = align_up(c.padded_dim * strip), terms = TERMS if c.terms else 1
    # Scores: from row to row, and from strip to strip of a group; and from strip to strip of weights.
    cdef int64_t row = strip if c.pairs else wide, of_scores = 0 if c.pairs else strip, of_weights = config.width * (2 if c.pairs else config.stored)
    cdef int64_t of_rows = (config.width // 2 if c.pairs else config.width) * strip
    cdef bint any, met = False
    cdef Prefetch coming
    cdef char* memory = <char*>umiak_scratch_get(0, c.local)
    cdef char* base = memory
    cdef char* d_queries
    cdef char* keys
    cdef char* score_keys
    cdef char* values
    cdef char* d_keys
    cdef char* d_values
    cdef Visible visible
    cdef Tile tile
    cdef char* queries
    cdef char* grads
    cdef char* query_rows
    cdef char* grad_rows
    cdef char* lse
    cdef char* delta
    cdef char* scores
    cdef char* d_scores
    cdef char* weights
    cdef char* d_weights
    cdef char* interleaved
    cdef char* packed
    cdef char* kept
    cdef char* ones
    cdef char* spare
    cdef Strip* strips
    cdef Strip* s
    d_queries = c.partial + index * c.partial_each if c.splits > 1 else <char*>umiak_scratch_get(1, queries_room(c))
    if memory == NULL or d_queries == NULL and queries_room(c) > 0:
        return NO_MEMORY
    keys = carve(&memory, summed_room(c, panel, c.dim))
    score_keys = carve(&memory, scored_room(c, panel, c.dim)) if c.pairs else keys
    values = carve(&memory, scored_room(c, panel, c.value_dim))
    d_keys = carve(&memory, panels_of(c, c.dim) * panel)
    d_values = carve(&memory, panels_of(c, c.value_dim) * panel)
    strips = <Strip*>carve(&memory, STRIPS * align_up(sizeof(Strip)))
    queries = carve(&memory, STRIPS * of_q)
    grads = carve(&memory, STRIPS * of_g)
    lse = carve(&memory, c.n_strips * of_row)
    delta = carve(&memory, c.n_strips * of_row)
    query_rows = carve(&memory, terms * panels_of(c, c.dim) * query_panel)
    grad_rows = carve(&memory, terms * panels_of(c, c.value_dim) * query_panel)
    # In pairs, a strip's scores become weights of bfloat16 of the group; else they stay where they are.
    scores = carve(&memory, config.keys * row)
    d_scores = carve(&memory, config.keys * row)
    weights = carve(&memory, terms * config.keys * wide // 2) if c.pairs else scores
    d_weights = carve(&memory, terms * config.keys * wide // 2) if c.pairs else d_scores
    interleaved = carve(&memory, terms * config.keys * strip // 2) if c.pairs else NULL
    packed = carve(&memory, config.keys * strip + block)
    kept = carve(&memory, kept_room(c))
    ones = carve(&memory, strip)
    spare = carve(&memory, c.dim * config.stored)
    memset(d_queries, 0, queries_room(c))
    fill(config, ones, config.width, 1)
    for i in range(STRIPS):
        strips[i].batch = unit // c.key_heads
        strips[i].head = unit % c.key_heads
    if c.amx:
        f.amx_begin()
    tiles = (c.n_strips * c.keys // (2 if config.causal and c.queries == c.keys else 1) + config.keys - 1) // config.keys
    plan_prefetch(c, index, (2 + pieces_of(c, c.dim)) * tiles + 2 * (tiles // STRIPS), &coming)
    lo = index % c.splits * c.chunk
    while lo < c.keys:
        hi = min(lo + c.chunk, c.keys)
        copy_summed(c, strips, &c.k, keys, panel, lo, hi - lo, c.dim)
        if c.pairs:
            copy_scored(c, strips, &c.k, score_keys, panel, lo, hi - lo, c.dim)
        copy_scored(c, strips, &c.v, values, panel, lo, hi - lo, c.value_dim)
        for i in range(panels_of(c, c.dim)):
            memset(d_keys + i * panel, 0, (hi - lo) * strip)
        for i in range(panels_of(c, c.value_dim)):
            memset(d_values + i * panel, 0, (hi - lo) * strip)
        for group in range(n_groups(c)):
            first = group * STRIPS
            n = min(<int64_t>STRIPS, c.n_strips - first)
            end = 0
            for i in range(n):
                set_strip(&strips[i], c, first + i)
                end = max(end, min(strips[i].end, hi))
            if end <= lo:
                continue
            if not met:
                # The first chunk is seen by all queries that see a later one, but for what a mask hides.
                for i in range(n):
                    sum_rows(c, &strips[i], delta + (first + i) * of_row)
                    strip_lse(c, &strips[i], lse + (first + i) * of_row)
            if config.hides_rows and hides_chunk(c, strips, n, lo, end):
                continue
            for i in range(n):
                s = &strips[i]
                pack_scored(c, s, &c.q, queries + i * of_q, c.dim, &c.scale_log2)
                pack_scored(c, s, &c.grad, grads + i * of_g, c.value_dim, &c.one)
                copy_queries(c, s, &c.q, query_rows + i * of_rows, query_panel, c.dim)
                copy_queries(c, s, &c.grad, grad_rows + i * of_rows, query_panel, c.value_dim)
            at = lo
            while at < end:
                count = min(config.keys, hi - at)
                if config.hides_rows and hides_tile(c, strips, n, at):
                    at += count
                    continue
                look_at_tile(c, strips, n, at, count, False, &tile)
                any = False
                most = 0
                for i in range(n):
                    most = max(most, min(count, strips[i].end - at))
                for i in range(n):
                    s = &strips[i]
                    seen = max(<int64_t>0, min(count, s.end - at))
                    free = config.masking.visible_prefix(c, s, &tile, seen, packed, &visible) if seen else SKIP
                    if free == SKIP:
                        seen = 0
                    else:
                        any = True
                        seen = visible.high
                        low = head_of_strip(s, &tile, 0, seen)
                        prefetch_step(&coming)
                        score(c, scores + i * of_scores, row, score_keys + (at - lo) * strip, panel, queries + i * of_q, c.score_dim,
                              &c.scale_log2, low, 0, seen)
                        prefetch_step(&coming)
                        score(c, d_scores + i * of_scores, row, values + (at - lo) * strip, panel, grads + i * of_g, c.score_value_dim,
                              &c.one, low, 0, seen)
                        if config.softcap:
                            f.cap(scores + i * of_scores, row, seen, &c.cap)
                        if free < seen:
                            clear_head(c, d_scores + i * of_scores, row, low, seen)
                            config.masking.apply(c, s, &tile, 0, seen, free, packed, scores + i * of_scores, row)
                        if config.dropout:
                            draw_kept(c, s, at, seen, kept)
                            f.drop(d_scores + i * of_scores, row, seen, kept, &c.kept_scale)
                    if c.pairs:
                        (f.softmax_gradient_terms if c.terms else f.softmax_gradient_pairs)(
                            scores, d_scores, seen, most, lse + (first + i) * of_row, delta + (first + i) * of_row,
                            weights + i * of_weights, d_weights + i * of_weights, interleaved, &c.cap)
                    else:
                        f.softmax_gradient(scores + i * strip, d_scores + i * strip, seen, most, lse + (first + i) * of_row,
                                 delta + (first + i) * of_row, &c.cap)
                    if seen and config.dropout:
                        if c.pairs:
                            for k in range(terms):
                                f.drop_narrow(weights + i * of_weights + k * (config.keys * wide // 2), STRIPS * of_weights, seen, kept)
                        else:
                            f.drop(scores + i * strip, wide, seen, kept, &c.one)
                    if seen and c.pairs:
                        add_weighted_values(c, d_queries + (first + i) * of_dq, keys + summed_at(c, at - lo, c.dim), panel, interleaved, strip, c.dim, ones,
                                low, seen, &coming)
                    elif seen:
                        add_weighted_values(c, d_queries + (first + i) * of_dq, keys + summed_at(c, at - lo, c.dim), panel, d_scores + i * strip, wide,
                                c.dim, ones, low, seen, &coming)
                        if config.with_mask:
                            add_mask(c, s, at, seen, d_scores + i * strip, wide)
                if any:
                    prefetch_step(&coming)
                    add_rows(c, first, n, d_values + (at - lo) * strip, panel, weights, grad_rows, at, most, c.value_dim)
                    prefetch_step(&coming)
                    add_rows(c, first, n, d_keys + (at - lo) * strip, panel, d_weights, query_rows, at, most, c.dim)
                at += count
        met = True
        give_panels(c, head_of(&c.dk, strips) + lo * c.dk.stride[1], c.dk.stride[1], d_keys, hi - lo, c.dim, &c.scale)
        give_panels(c, head_of(&c.dv, strips) + lo * c.dv.stride[1], c.dv.stride[1], d_values, hi - lo, c.value_dim, &c.kept_scale)
        lo += c.splits * c.chunk
    if c.splits == 1:
        for i in range(c.n_strips):
            give_queries(c, strips, i, d_queries + i * of_dq, ones, spare)
        umiak_scratch_put(queries_room(c), d_queries)
    if c.amx:
        f.amx_end()
    umiak_scratch_put(c.local, base)
    return 0


cdef bint hides_chunk(const Call* c, const Strip* strips, int64_t n, int64_t first, int64_t end) noexcept nogil:
    """Return whether no strip sees any of the keys from ``first`` to ``end``."""
    while first < end:
        if not hides_tile(c, strips, n, first):
            return False
        first += c.config.keys
    return True


cdef void clear_head(const Call* c, char* grads, int64_t row, int64_t low, int64_t seen) noexcept nogil:
    """Set to 0 what ``score`` has left out: numbers, which weights of 0 make 0."""
    cdef int64_t i, bytes = (c.config.width - c.config.lanes) * c.config.size
    for i in range(low, seen):
        memset(grads + i * row, 0, bytes)


cdef void add_rows(const Call* c, int64_t strip, int64_t strips, char* to, int64_t panel, const char* weights, const char* rows,
                   int64_t at, int64_t count, int64_t n) noexcept nogil:
    """``to += weights rows`` for ``count`` keys from ``at`` on, over the queries of ``strips`` strips that see them."""
    cdef const Config* config = c.config
    cdef int64_t row = config.width * config.size, first = strip * config.width, queries = min(strips * config.width, c.n_rows - first)
    cdef int64_t weight_row = STRIPS * config.width * (2 if c.pairs else config.size)
    cdef int64_t done, size, blocks, unseen, skipped, steps, k = 0, of
    cdef gemm_accumulate_t add
    cdef int i = 0
    if c.amx:
        # All lanes of the strips, in whole steps; weights of queries that do not see a key, or are not there, are 0.
        skipped = between(0, (at + c.queries - c.keys) * c.group - first, queries) // 2 // AMX_STEP * AMX_STEP if config.causal else 0
        for of in range(panels_of(c, n)):
            (config.f.term_accumulate if c.terms else config.f.amx_accumulate)(
                to + of * panel, weights + skipped * config.size, weight_row, rows + (of * STRIPS * config.width + skipped) * row,
                row, strips * config.width // 2 - skipped, count, NULL, config.keys * weight_row, panels_of(c, n) * STRIPS * config.width * row)
        return
    while k < count:
        while config.sizes[i] > count - k:
            i += 1
        size = config.sizes[i]
        unseen, blocks = 0, (count - k) // size
        if config.causal:
            unseen = between(0, (at + k + c.queries - c.keys) * c.group - first, queries)
            if between(0, (at + count + c.queries - c.keys) * c.group - first, queries) > unseen:
                blocks = 1
        # A query that does not see these keys, but shares a pair with one that does, has weights of 0.
        steps, skipped = queries - unseen, unseen
        if c.pairs:
            skipped = unseen // 2
            steps = (queries + 1) // 2 - skipped
        done = of = 0
        while done < n:
            if c.pairs:
                add = config.f.first_pair_gemm_accumulate[i] if n - done <= config.lanes else config.f.pair_gemm_accumulate[i]
            else:
                add = config.f.first_gemm_accumulate[i] if n - done <= config.lanes else config.f.gemm_accumulate[i]
            add(to + of * panel + k * row, weights + k * weight_row + skipped * config.size,
                rows + of * STRIPS * config.width * row + skipped * row, steps, blocks)
            done += config.width
            of += 1
        k += blocks * size


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
            put(c.config, to, 0, get(c.config, to, 0) + get(c.config, grads + k * row, i))
            to += c.dmask.stride[3]


cdef void give_panels(const Call* c, char* to, int64_t to_row, const char* sums, int64_t rows, int64_t n,
                      const Number* scale) noexcept nogil:
    """Write gradients of a chunk's keys or values."""
    cdef const Config* config = c.config
    cdef int64_t done = 0
    while done < n:
        config.f.store_rows(to + done * config.stored, to_row, sums, config.width * config.size, rows, min(config.width, n - done), scale)
        sums += c.chunk * config.width * config.size
        done += config.width


cdef void give_queries(const Call* c, Strip* s, int64_t index, const char* sums, char* scales, char* spare) noexcept nogil:
    """Write the gradient of a strip of queries; ``scales`` and ``spare`` are room."""
    set_strip(s, c, index)
    fill(c.config, scales, c.config.width, get(c.config, <const char*>&c.scale, 0))
    unpack_strip(c, s, &c.dq, sums, c.dim, scales, spare)


cdef int combine(void* arg, int64_t index) noexcept nogil:
    """Sum the query gradients that the splits of a head have computed for a strip of queries, and write them out."""
    cdef Call* c = <Call*>arg
    cdef const Config* config = c.config
    cdef int64_t head = index // c.n_strips, of_q = align_up(c.padded_dim * config.width * config.size), i, k
    cdef char* to = c.partial + head * c.splits * c.partial_each + index % c.n_strips * of_q
    cdef char* memory = <char*>umiak_scratch_get(0, align_up(config.width * config.size) + c.dim * config.stored)
    cdef const char* more
    cdef Strip s
    if memory == NULL:
        return NO_MEMORY
    for i in range(1, c.splits):
        more = to + i * c.partial_each
        if config.wide:
            for k in range(of_q // 8):
                (<double*>to)[k] += (<const double*>more)[k]
        else:
            for k in range(of_q // 4):
                (<float*>to)[k] += (<const float*>more)[k]
    s.batch = (c.first_head + head) // c.key_heads
    s.head = (c.first_head + head) % c.key_heads
    give_queries(c, &s, index % c.n_strips, to, memory, memory + align_up(config.width * config.size))
    return 0


cdef int masked_together(void* arg, int64_t index) noexcept nogil:
    """All heads that share elements of the mask, whose gradient they add to in order."""
    cdef Call* c = <Call*>arg
    cdef int64_t batch, head
    cdef bint all_batches = c.dmask.stride[0] == 0, all_heads = c.dmask.stride[1] == 0
    cdef int64_t b = index if all_heads else index // c.key_heads, h = index if all_batches else index % c.key_heads
    for batch in range(c.batch):
        for head in range(c.key_heads):
            if (all_batches or batch == b) and (all_heads or head == h):
                if gradient_part(arg, batch * c.key_heads + head) != 0:
                    return NO_MEMORY
    return 0


cdef int with_mask(Call* c, const int64_t* dims, void* to, double work) noexcept nogil:
    """Everything, and the gradient of the mask: contiguous, in the type of computation until it is complete."""
    cdef const Config* config = c.config
    cdef int64_t n = 1, parts
    cdef int i, result = 0
    cdef char* sums
    for i in range(3, -1, -1):
        c.dmask.stride[i] = 0 if dims[7 + i] == 1 else n * config.size
        n *= dims[7 + i]
    sums = <char*>aligned_alloc(ALIGN, align_up(n * config.size + 1)) if config.stored != config.size else <char*>to
    if sums == NULL:
        return NO_MEMORY
    memset(sums, 0, n * config.size)
    c.dmask.data = sums
    parts = (1 if c.dmask.stride[0] == 0 else c.batch) * (1 if c.dmask.stride[1] == 0 else c.key_heads)
    run_parts(masked_together, c, parts, work, &result)
    if sums != to:
        config.f.store_rows(to, 0, sums, 0, 1, n, &c.one)
        free(sums)
    return result


cdef int with_splits(Call* c, int64_t heads, double work) noexcept nogil:
    """Turn after turn of key heads whose chunks several parts share."""
    cdef int64_t turn = min(heads, (PARTS_PER_THREAD * thread_count() + c.splits - 1) // c.splits), n
    cdef int result = 0
    c.partial_each = queries_room(c)
    c.partial = <char*>aligned_alloc(ALIGN, turn * c.splits * c.partial_each + ALIGN)
    if c.partial == NULL:
        return NO_MEMORY
    while c.first_head < heads and result == 0:
        n = min(turn, heads - c.first_head)
        run_parts(gradient_part, c, n * c.splits, work * n / heads, &result)
        if result == 0:
            run_parts(combine, c, n * c.n_strips, <double>n * c.splits * c.partial_each, &result)
        c.first_head += n
    free(c.partial)
    return result


cdef void add_nothing(const Call* c, const int64_t* dims, void* mask) noexcept nogil:
    """Gradients of no scores, of which there is no tile: zeros."""
    cdef int64_t bytes = c.config.stored, keys = c.batch * c.keys * c.key_heads
    memset(c.dq.data, 0, c.batch * c.queries * c.heads * c.dim * bytes)
    memset(c.dk.data, 0, keys * c.dim * bytes)
    memset(c.dv.data, 0, keys * c.value_dim * bytes)
    if mask != NULL:
        memset(mask, 0, dims[7] * dims[8] * dims[9] * dims[10] * bytes)


cdef int launch(void* self, void** ptrs, const int64_t* dims, const uint64_t* scalars, int64_t stream) noexcept nogil:
    cdef const Config* config = <const Config*>self
    cdef Call c, by_terms
    cdef int64_t heads, tiles, chunks
    cdef double work
    cdef int result = 0
    prepare(&c, config, ptrs, dims, scalars, True)
    heads = c.batch * c.key_heads
    if heads == 0 and not config.with_mask:
        return 0
    if c.keys == 0 or c.n_rows == 0:
        add_nothing(&c, dims, ptrs[config.inputs + 3] if config.with_mask else NULL)
        return 0
    work = 2.5 * heads * c.n_rows * c.keys * (c.dim + c.value_dim) * (0.5 if config.causal and c.queries > 1 else 1)
    c.local = config.by_rows.room(&c)
    if c.local:
        run_parts(config.by_rows.part, &c, heads, work, &result)
        return no_memory() if result != 0 else 0
    tiles = (c.keys + config.keys - 1) // config.keys
    chunks = (tiles + CHUNK - 1) // CHUNK
    c.splits = 1
    if heads < ENOUGH_PARTS and not config.with_mask:
        chunks = max(chunks, min(ENOUGH_PARTS // heads, tiles // LEAST_CHUNK))
        c.splits = max(<int64_t>1, min(ENOUGH_PARTS // heads, chunks))
    c.chunk = (tiles + chunks - 1) // chunks * config.keys
    c.local = part_room(&c)
    if config.hides_rows and bound_tiles(&c) != 0:
        return no_memory()
    result = choose_terms(&c, True, work)
    if c.by_terms != NULL:
        by_terms = c
        multiply_terms(&by_terms)
        c.local = max(c.local, part_room(&by_terms))
    if result != 0:
        pass
    elif config.with_mask:
        result = with_mask(&c, dims, ptrs[config.inputs + 3], work)
    elif c.splits == 1:
        run_parts(gradient_part, &c, heads, work, &result)
    else:
        result = with_splits(&c, heads, work)
    free_terms(&c)
    free_bounds(&c)
    return no_memory() if result != 0 else 0


LAUNCH = <size_t><void*>&launch
