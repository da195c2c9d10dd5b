"""Common parts of the drivers of attention: a call's sizes, addresses, tiles and masks. See attention.pyx."""
from libc.math cimport INFINITY, log, logf
from libc.stdint cimport int32_t, int64_t, uint8_t, uint64_t
from libc.string cimport memcpy, memset

cdef extern from *:
    """
    #define umiak_fetch(p) __builtin_prefetch(p, 0, 2)  /* not into the L1 cache, which tiles fill */
    #define UMIAK_LN_2 0.6931471805599453
    #define UMIAK_LOG2_E 1.4426950408889634
    """
    const double LN_2 "UMIAK_LN_2"
    const double LOG2_E "UMIAK_LOG2_E"
    void umiak_fetch(const void* p) noexcept nogil

cdef enum:
    MAX_WIDTH = 64              # lanes of a strip
    MAX_ROWS = 16               # rows of a matmul's tile
    MAX_SIZES = 8               # of blocks of rows
    STRIPS = 4                  # of lanes in a tile of the gradient: matmuls over queries are that deep
    MAX_PREFETCH = 8              # operands of a part
    PREFETCH_BYTES = 1024 << 10          # bytes that are prefetched, at most: about an L2 cache
    ALIGN = 64
    AMX_STEP = 16               # pairs of a step of the sums that tile registers make
    TERMS = 3                   # of bfloat16 that a number of float32 is
    NO_MEMORY = 1               # what a part returns
    RANDOM_WORDS = 4            # of a block of random numbers
    MASK_BLOCK = 128            # queries and keys of a block of a mask by blocks
    # where there is nothing to see of a tile of scores
    SKIP = -1

ctypedef void (*pack_t)(void* to, void** rows, int64_t n, int64_t stride, const void* scale) noexcept nogil
ctypedef void (*copy_t)(void* to, int64_t to_row, const void* source, int64_t source_row, int64_t rows, int64_t n, int64_t stride,
                        const void* scale) noexcept nogil
ctypedef void (*unpack_t)(void** rows, const void* source, int64_t n, const void* factor) noexcept nogil
ctypedef void (*store_rows_t)(void* to, int64_t to_row, const void* source, int64_t source_row, int64_t rows, int64_t n,
                        const void* scale) noexcept nogil
ctypedef void (*scores_t)(void* c, int64_t c_row, const void* a, int64_t a_panel, const void* b, int64_t k, int64_t blocks) noexcept nogil
ctypedef void (*scores_top_t)(void* c, int64_t c_row, const void* a, int64_t a_panel, const void* b, int64_t k, int64_t blocks,
                             void* top) noexcept nogil
ctypedef void (*pairs_t)(void* c, int64_t c_row, const void* a, int64_t a_panel, const void* b, int64_t k, int64_t blocks,
                        const void* factor) noexcept nogil
ctypedef void (*pairs_top_t)(void* c, int64_t c_row, const void* a, int64_t a_panel, const void* b, int64_t k, int64_t blocks,
                            void* top, const void* factor) noexcept nogil
ctypedef void (*amx_switch_t)() noexcept nogil
ctypedef void (*amx_scores_t)(void* c, int64_t c_row, const void* a, int64_t a_panel, const void* b, int64_t k, int64_t rows, int64_t free,
                             void* top, const void* factor, int64_t a_plane, int64_t b_plane) noexcept nogil
ctypedef void (*amx_accumulate_t)(void* c, const void* a, int64_t a_row, const void* b, int64_t b_row, int64_t k, int64_t rows,
                                 const void* factor, int64_t a_plane, int64_t b_plane) noexcept nogil
ctypedef void (*pack_terms_t)(void* to, void** rows, int64_t n, int64_t plane, const void* scale) noexcept nogil
ctypedef void (*terms_t)(void* to, int64_t to_row, const void* source, int64_t source_row, int64_t rows, int64_t n, int64_t plane) noexcept nogil
ctypedef void (*in_range_t)(const void* source, int64_t source_row, int64_t rows, int64_t n, int64_t* outside) noexcept nogil
ctypedef void (*gemm_scaled_t)(void* c, const void* a, const void* b, int64_t b_step, int64_t k, int64_t more, const void* factor) noexcept nogil
ctypedef void (*gemm_accumulate_t)(void* c, const void* a, const void* b, int64_t k, int64_t blocks) noexcept nogil
ctypedef void (*online_softmax_t)(void* scores, int64_t first, int64_t count, const void* top, void* most, void* total, void* factor) noexcept nogil
ctypedef void (*online_softmax_terms_t)(void* scores, int64_t first, int64_t count, const void* top, void* most, void* total, void* factor,
                                       void* weights) noexcept nogil
ctypedef void (*softmax_beside_t)(void* c, const void* a, int64_t a_row, const void* b, int64_t b_row, int64_t k, int64_t rows,
                                 const void* factor, int64_t a_plane, int64_t b_plane,
                                 void* scores, int64_t first, int64_t count, const void* top, void* most, void* total, void* next_factor,
                                 void* weights) noexcept nogil
ctypedef void (*causal_t)(void* scores, int64_t row, int64_t count, const int32_t* last, int64_t first) noexcept nogil
ctypedef void (*masked_t)(void* scores, int64_t row, int64_t count, const void* mask) noexcept nogil
ctypedef void (*hide_t)(void* scores, int64_t row, int64_t count, const int32_t* begin, const int32_t* end, int64_t first) noexcept nogil
ctypedef void (*cap_t)(void* scores, int64_t row, int64_t count, const void* cap) noexcept nogil
ctypedef void (*softmax_gradient_t)(void* scores, void* grads, int64_t count, int64_t end, const void* lse, const void* delta,
                               const void* cap) noexcept nogil
ctypedef void (*softmax_gradient_pairs_t)(void* scores, void* grads, int64_t count, int64_t end, const void* lse, const void* delta, void* weights,
                               void* grads_to, void* interleaved, const void* cap) noexcept nogil
ctypedef void (*interleave_t)(void* to, int64_t to_row, const void* source, int64_t source_row, int64_t rows, int64_t n) noexcept nogil
ctypedef void (*row_sums_t)(void* to, void** a, void** b, int64_t n, int64_t a_stride, int64_t b_stride) noexcept nogil
ctypedef void (*dots_t)(void* to, const void* q, const void* keys, int64_t key_row, int64_t count, int64_t n) noexcept nogil
ctypedef void (*online_softmax_row_t)(void* scores, int64_t count, void* state) noexcept nogil
ctypedef void (*weighted_sum_t)(void* to, const void* values, int64_t value_row, const void* weights, int64_t count, int64_t n,
                       const void* state) noexcept nogil

ctypedef void (*softmax_rows_t)(void* scores, int64_t panel, int64_t panels, int64_t rows, const int32_t* last, void* most, void* total) noexcept nogil
ctypedef void (*softmax_gradient_rows_t)(void* scores, void* grads, int64_t panel, int64_t panels, int64_t rows, const int32_t* last,
                                        const void* lse, const void* delta, const void* cap) noexcept nogil

ctypedef void (*draw_kept_t)(void* to, const int64_t* blocks, int64_t first, int64_t count, int64_t key, int64_t least) noexcept nogil
ctypedef void (*drop_t)(void* scores, int64_t row, int64_t count, const void* kept, const void* scale) noexcept nogil
ctypedef void (*drop_pairs_t)(void* weights, int64_t row, int64_t count, const void* kept) noexcept nogil

cdef struct Functions:          # compiled; see attention_kernels.py
    pack_t pack, pack_any, pack_mask, pack_mask_any
    copy_t copy, copy_any, copy_mask, copy_mask_any
    copy_t copy_query, copy_query_any                   # of queries; `copy` and `copy_any` are of keys, which may be stored otherwise
    unpack_t unpack
    store_rows_t store_rows
    scores_t[MAX_SIZES] scores, last_scores             # by size; of a whole strip, or its last vector
    scores_top_t scores_top                             # of the largest size
    pack_t pack_pairs                                   # the same for bfloat16 in pairs, where the processor multiplies these
    copy_t copy_pairs
    interleave_t interleave
    pairs_t[MAX_SIZES] pairs, last_pairs
    pairs_top_t pairs_top
    gemm_scaled_t[MAX_ROWS + 1] pair_gemm_scaled
    gemm_accumulate_t[MAX_SIZES] pair_gemm_accumulate, first_pair_gemm_accumulate
    amx_switch_t amx_begin, amx_end                     # the same by tile registers, where the processor has them: attention_amx.py
    amx_scores_t amx_scores
    amx_accumulate_t amx_scaled, amx_accumulate
    interleave_t transpose_pairs
    pack_terms_t pack_terms                             # the same for float32 in terms of bfloat16: attention_terms.py
    terms_t copy_terms, transpose_terms, interleave_terms
    amx_scores_t term_scores
    amx_accumulate_t term_scaled, term_accumulate
    online_softmax_terms_t online_softmax_terms
    softmax_beside_t softmax_beside
    softmax_gradient_pairs_t softmax_gradient_terms
    in_range_t in_range
    online_softmax_t online_softmax_pairs
    softmax_gradient_pairs_t softmax_gradient_pairs
    gemm_scaled_t[MAX_ROWS + 1] gemm_scaled                     # by rows
    gemm_accumulate_t[MAX_SIZES] gemm_accumulate, first_gemm_accumulate            # by size; of a whole panel, or its first vector
    online_softmax_t online_softmax
    causal_t causal
    masked_t masked
    hide_t hide
    cap_t cap
    softmax_gradient_t softmax_gradient
    row_sums_t row_sums, row_sums_any
    dots_t dots
    online_softmax_row_t online_softmax_row
    weighted_sum_t weighted_sum
    softmax_rows_t softmax_rows                         # of keys in lanes: attention_rows.pyx
    softmax_gradient_rows_t softmax_gradient_rows
    draw_kept_t draw_kept
    drop_t drop
    drop_pairs_t drop_words, drop_narrow

cdef union Number:              # in the type of computation
    float f
    double d

cdef struct Operand:            # [batch, sequence, heads, dim] or [batch, heads, queries, keys]; strides in bytes
    char* data
    int64_t[4] stride

cdef struct Strip:              # queries side by side, one per lane
    int64_t first, lanes        # rows of the key head's queries
    int64_t end                 # keys that its last lane sees
    int64_t half                # keys that lanes before its last vector see
    int64_t batch, head         # of the keys
    int32_t[MAX_WIDTH] last     # the last key that a lane sees, where attention is causal

cdef struct Hidden:             # queries that do not see a key: [begin, end) and [second_begin, second_end)
    int64_t begin, end, second_begin, second_end

cdef struct HiddenBounds:       # the least and the largest of these numbers in a tile of keys
    Hidden least, most

cdef struct Call

cdef struct Tile:               # keys, as the strips of a part look at them
    int64_t first, count        # the first key; how many of those from it on are left
    bint gathered               # some are left out, which no strip sees
    bint listed                 # the intervals below say all about what is hidden, causal order too
    bint twice                  # the second ones do, too
    int32_t[MASK_BLOCK] place   # of a key, from the first on
    int32_t[MASK_BLOCK] begin, end, second_begin, second_end        # rows of the key head's queries that do not see it

cdef struct Visible:           # of a tile of keys: what no query of a strip sees lies before `low`, which is a multiple of LOW_STEP, or from `high` on
    int64_t low, high

# The one place that says which scores count. `visible_prefix` says how many of the first ``count`` keys of a tile
# come before any that is not seen as it is, before their scores are computed (SKIP: nothing is seen, so they are not), and which are
# seen by any query; `apply` changes the scores of ``count`` keys from the tile's key ``at`` on, but for ``free`` ones.
ctypedef int64_t (*visible_prefix_t)(const Call* c, const Strip* s, const Tile* tile, int64_t count, char* room, Visible* visible) noexcept nogil
ctypedef void (*apply_t)(const Call* c, const Strip* s, const Tile* tile, int64_t at, int64_t count, int64_t free, char* room, char* scores,
                         int64_t row) noexcept nogil

cdef struct Masking:
    visible_prefix_t visible_prefix
    apply_t apply

cdef struct Way:                # of computing few queries of a key head: attention_rows.pyx
    int64_t (*room)(const Call* c) noexcept nogil       # bytes of a part's scratch, 0 of calls that do not go this way
    int (*part)(void* arg, int64_t unit) noexcept nogil # a key head

cdef struct Config:             # a class of calls
    Functions f
    Masking masking
    const Way* by_rows
    bint wide                   # computes in f64
    bint pairs                  # has functions for pairs
    bint amx                    # and of tile registers
    bint terms                  # has functions for terms
    bint causal, mask, mask_bool, with_mask, with_lse
    int inputs, mask_at         # of operands: how many, and which is the mask
    bint hides_rows             # the mask says for each key which queries do not see it
    bint blocks                 # and another one, which blocks of them do not see which of keys
    bint dropout, with_grad_lse
    double softcap              # 0, or scores become softcap * tanh(score / softcap) before they are masked
    int64_t size, stored, mask_stored       # bytes of a number computed with, of operands, of the mask
    int64_t page_stored         # bytes of an element of a page
    int[3] page_integers        # and of an integer of tables, counts and positions
    int64_t lanes, width, rows, keys        # of a vector, a strip, a matmul's tile, a tile of scores
    int n_sizes
    int64_t[MAX_SIZES] sizes                # rows of the blocks that matmuls are made of

cdef struct Call:
    const Config* config
    int64_t batch, queries, heads, dim, keys, key_heads, value_dim
    int64_t group, n_rows, n_strips         # query heads of a key head; their queries; strips of these
    int64_t padded_dim, padded_value_dim            # whole vectors
    bint pairs                  # all are matmuls of pairs; sums over dims are of so many words
    bint amx                    # and by tile registers
    bint terms                  # of pairs of float32 in terms, by tile registers
    const uint8_t* by_terms     # NULL, or of each key head whether they are
    int64_t score_dim, score_value_dim
    Operand q, k, v, mask, blocks, out, lse, grad, grad_lse, dq, dk, dv, dmask
    const int64_t* table        # NULL, or in which pages the keys of the one sequence lie: strides of k and v are of [page, row, head, dim]
    int64_t page                # rows of one
    double out_scale            # that results are multiplied by
    Number scale, scale_log2, log2_e, one, zero, cap
    # dropout: 1 / (1 - p); the stream of random numbers, its block of the first weight, and the least number that is kept
    Number kept_scale
    int64_t key, block, least_kept
    int64_t mask_batches, mask_heads, columns   # of a mask that hides rows
    const HiddenBounds* bounds                  # of its tiles of keys, by batch and head
    int64_t tiles                               # of keys
    # how a launch is divided
    int64_t strips_per_part, parts_per_head
    int64_t local               # bytes of a part's scratch
    int64_t chunk, splits       # the gradient's: keys at a time, and parts of a key head
    int64_t first_head          # key head (of a batch) that the parts of this turn begin with
    char* partial               # sums for queries, by key head of the turn and split
    int64_t partial_each
    int64_t threads             # that take parts

# Rows that the thread will take next, fetched into the cache bit by bit while it computes.
cdef struct Prefetch:
    char* at[MAX_PREFETCH]
    int64_t[MAX_PREFETCH] stride, bytes, rows
    int64_t n, k, row           # operands; where it is
    int64_t step                # rows at a time

cdef inline int64_t align_up(int64_t bytes) noexcept nogil:
    return (bytes + ALIGN - 1) & ~<int64_t>(ALIGN - 1)

cdef inline char* carve(char** memory, int64_t bytes) noexcept nogil:
    """The next piece of scratch."""
    cdef char* found = memory[0]
    memory[0] = found + align_up(bytes)
    return found

cdef inline int64_t round_up(int64_t n, int64_t of) noexcept nogil:
    return (n + of - 1) // of * of

cdef inline Number number(const Config* config, double x) noexcept nogil:
    cdef Number made
    made.d = 0
    if config.wide:
        made.d = x
    else:
        made.f = <float>x
    return made

cdef inline double get(const Config* config, const char* at, int64_t i) noexcept nogil:
    return (<const double*>at)[i] if config.wide else (<const float*>at)[i]

cdef inline void put(const Config* config, char* at, int64_t i, double x) noexcept nogil:
    if config.wide:
        (<double*>at)[i] = x
    else:
        (<float*>at)[i] = <float>x

cdef inline void fill(const Config* config, char* at, int64_t n, double x) noexcept nogil:
    cdef int64_t i
    for i in range(n):
        put(config, at, i, x)

cdef inline char* row_of(const Operand* x, const Call* c, const Strip* s, int64_t row) noexcept nogil:
    """Address of a query's row: queries of the heads that share a key head go head by head, then on in the sequence."""
    return x.data + s.batch * x.stride[0] + row // c.group * x.stride[1] + (s.head * c.group + row % c.group) * x.stride[2]

cdef inline void table_of(void** table, const Operand* x, const Call* c, const Strip* s) noexcept nogil:
    """Addresses of a strip's rows; lanes beyond the last row repeat it."""
    cdef int64_t i, width = c.config.width
    if c.group == 1:
        table[0] = row_of(x, c, s, s.first)
        for i in range(1, width):
            table[i] = <char*>table[i - 1] + (x.stride[1] if i < s.lanes else 0)
        return
    for i in range(width):
        table[i] = row_of(x, c, s, s.first + i) if i < s.lanes else table[i - 1]

cdef inline void pack_strip(const Call* c, const Strip* s, const Operand* x, char* to, int64_t n, const Number* scale) noexcept nogil:
    cdef void* table[MAX_WIDTH]
    table_of(table, x, c, s)
    (c.config.f.pack if x.stride[3] == c.config.stored else c.config.f.pack_any)(to, table, n, x.stride[3], scale)

cdef inline void pack_scored(const Call* c, const Strip* s, const Operand* x, char* to, int64_t n, const Number* scale) noexcept nogil:
    """A strip for :func:`score`: in pairs of bfloat16 as it is, else times ``scale``."""
    cdef void* table[MAX_WIDTH]
    if not c.pairs:
        pack_strip(c, s, x, to, n, scale)
        return
    table_of(table, x, c, s)
    if c.terms:
        c.config.f.pack_terms(to, table, n, packed_plane(c, words_of(n)), scale)
        return
    c.config.f.pack_pairs(to, table, n // 2, 0, scale)

cdef inline void unpack_strip(const Call* c, const Strip* s, const Operand* x, const char* source, int64_t n, const char* factor,
                              char* spare) noexcept nogil:
    """Write a strip's rows, which are contiguous; those beyond the last go to ``spare``."""
    cdef void* table[MAX_WIDTH]
    cdef int64_t i
    table_of(table, x, c, s)
    for i in range(s.lanes, c.config.width):
        table[i] = spare
    c.config.f.unpack(table, source, n, factor)

cdef inline char* head_of(const Operand* x, const Strip* s) noexcept nogil:
    """A key head's keys or values."""
    return x.data + s.batch * x.stride[0] + s.head * x.stride[2]

cdef inline int64_t panels_of(const Call* c, int64_t n) noexcept nogil:
    """Panels of ``config.width`` columns."""
    return (n + c.config.width - 1) // c.config.width

cdef inline int64_t pieces_of(const Call* c, int64_t n) noexcept nogil:
    """Into how many pieces that registers hold ``n`` columns are cut, panel by panel."""
    return n // c.config.width * ((c.config.width + c.config.rows - 1) // c.config.rows) + (n % c.config.width + c.config.rows - 1) // c.config.rows

cdef inline void copy_panels(const Call* c, const Operand* x, char* to, int64_t each, const char* source, int64_t source_row,
                             int64_t rows, int64_t n) noexcept nogil:
    """Rows, cut into panels of ``config.width`` columns that lie ``each`` bytes apart."""
    cdef const Config* config = c.config
    cdef int64_t done = 0
    while done < n:
        (config.f.copy if x.stride[3] == config.stored else config.f.copy_any)(
            to, config.width * config.size, source + done * x.stride[3], source_row, rows, min(config.width, n - done), x.stride[3], &c.one)
        to += each
        done += config.width

cdef inline char* rows_at(const Call* c, const Strip* s, const Operand* x, int64_t first, int64_t* count) noexcept nogil:
    """Address of a key head's row ``first``; ``count`` becomes how many of so many rows lie there one after the other."""
    cdef int64_t within
    if c.table == NULL:
        return head_of(x, s) + first * x.stride[1]
    within = first % c.page
    count[0] = min(count[0], c.page - within)
    return x.data + c.table[first // c.page] * x.stride[0] + within * x.stride[1] + s.head * x.stride[2]

cdef inline void copy_keys(const Call* c, const Strip* s, const Operand* x, char* to, int64_t each, int64_t first, int64_t count,
                           int64_t n) noexcept nogil:
    cdef int64_t here
    cdef char* source
    while count > 0:
        here = count
        source = rows_at(c, s, x, first, &here)
        copy_panels(c, x, to, each, source, x.stride[1], here, n)
        to += here * c.config.width * c.config.size
        first += here
        count -= here

cdef inline void copy_scored(const Call* c, const Strip* s, const Operand* x, char* to, int64_t each, int64_t first, int64_t count,
                             int64_t n) noexcept nogil:
    """Rows of keys or values for :func:`score`."""
    cdef const Config* config = c.config
    cdef int64_t done, here
    cdef const char* source
    if not c.pairs:
        copy_keys(c, s, x, to, each, first, count, n)
        return
    while count > 0:
        here, done = count, 0
        source = rows_at(c, s, x, first, &here)
        while c.terms and done < words_of(n):
            config.f.copy_terms(to + done // config.width * each, config.width * config.size, source + 2 * done * config.size, x.stride[1], here,
                                min(2 * config.width, n - 2 * done), panels_of(c, words_of(n)) * each)
            done += config.width
        while done < n // 2:
            config.f.copy_pairs(to + done // config.width * each, config.width * config.size, source + done * config.size, x.stride[1], here,
                                min(config.width, n // 2 - done), 0, &c.one)
            done += config.width
        to += here * config.width * config.size
        first += here
        count -= here

cdef inline void interleave_panels(const Call* c, char* to, int64_t each, const char* source, int64_t source_row, int64_t rows,
                              int64_t n) noexcept nogil:
    """As ``copy_panels``, two contiguous rows of bfloat16 in one of words."""
    cdef const Config* config = c.config
    cdef int64_t done = 0
    while done < n:
        config.f.interleave(to, config.width * config.size, source + done * config.stored, source_row, rows, min(config.width, n - done))
        to += each
        done += config.width

cdef inline void interleave_terms(const Call* c, char* to, int64_t each, const char* source, int64_t source_row, int64_t rows,
                                  int64_t n) noexcept nogil:
    """As ``interleave_panels``, of floats in terms."""
    cdef const Config* config = c.config
    cdef int64_t i
    for i in range(panels_of(c, n)):
        config.f.interleave_terms(to + i * each, config.width * config.size, source + i * config.width * config.size, source_row, rows,
                                  min(config.width, n - i * config.width), panels_of(c, n) * each)

cdef inline int64_t transposed_row(const Config* config) noexcept nogil:
    """Bytes of a transposed row of a tile, of pairs of keys, with room for a step that begins at the last one."""
    return (config.keys // 2 + AMX_STEP) * config.size

cdef inline int64_t words_of(int64_t n) noexcept nogil:
    """Pairs that ``n`` elements are, the last of which may be half of one."""
    return (n + 1) // 2

# Terms: from a term to the next, in bytes. Of `packed_plane`, n is a number of words.
cdef inline int64_t packed_plane(const Call* c, int64_t n) noexcept nogil:
    return round_up(n, AMX_STEP) * c.config.width * c.config.size

cdef inline int64_t summed_plane(const Call* c, int64_t n) noexcept nogil:
    return round_up(n, 2 * c.config.lanes) * transposed_row(c.config)

cdef inline int64_t packed_room(const Call* c, int64_t n) noexcept nogil:
    """Bytes of a strip that :func:`pack_scored` writes."""
    return TERMS * packed_plane(c, words_of(n)) if c.terms else round_up(n, c.config.lanes) * c.config.width * c.config.size

cdef inline int64_t scored_room(const Call* c, int64_t panel, int64_t n) noexcept nogil:
    """Bytes of rows that :func:`copy_scored` writes, of which a panel of floats has so many."""
    return (TERMS * panels_of(c, words_of(n)) if c.terms else panels_of(c, n)) * panel

cdef inline int64_t summed_room(const Call* c, int64_t panel, int64_t n) noexcept nogil:
    """Bytes of rows that :func:`copy_summed` writes, of which a panel of floats has so many."""
    cdef int64_t tile = c.config.keys * c.config.width * c.config.size
    return (panel + tile - 1) // tile * TERMS * summed_plane(c, n) if c.terms else panels_of(c, n) * panel

cdef inline int64_t summed_at(const Call* c, int64_t first, int64_t n) noexcept nogil:
    """Where :func:`copy_summed` has put the tile that begins at row ``first``, in bytes."""
    if c.terms:
        return first // c.config.keys * TERMS * summed_plane(c, n)
    if c.amx:
        return first // c.config.keys * round_up(n, c.config.lanes) * transposed_row(c.config)
    return (first // 2 if c.pairs else first) * c.config.width * c.config.size

cdef inline int64_t summed_within(const Call* c, int64_t row) noexcept nogil:
    """How far into its tile :func:`copy_summed` has put a row, which is even, in bytes."""
    if c.amx:
        return row // 2 * c.config.size
    return (row // 2 if c.pairs else row) * c.config.width * c.config.size

cdef inline void copy_summed(const Call* c, const Strip* s, const Operand* x, char* to, int64_t each, int64_t first, int64_t count,
                             int64_t n) noexcept nogil:
    """Rows of keys or values for :func:`add_weighted_values`."""
    cdef int64_t here, done = 0
    cdef const char* source
    if c.amx:
        while done < count:
            here = min(count - done, c.config.keys - done % c.config.keys)
            source = rows_at(c, s, x, first + done, &here)
            if c.terms:
                c.config.f.transpose_terms(to + summed_at(c, done, n) + done % c.config.keys // 2 * c.config.size, transposed_row(c.config),
                                           source, x.stride[1], here, n, summed_plane(c, n))
                done += here
                continue
            c.config.f.transpose_pairs(to + summed_at(c, done, n) + done % c.config.keys // 2 * c.config.size, transposed_row(c.config),
                                       source, x.stride[1], here, n)
            done += here
        return
    if not c.pairs:
        copy_keys(c, s, x, to, each, first, count, n)
        return
    while count > 0:
        here = count
        source = rows_at(c, s, x, first, &here)           # pairs of rows lie in one page
        interleave_panels(c, to, each, source, x.stride[1], here, n)
        to += here // 2 * c.config.width * c.config.size
        first += here
        count -= here

cdef inline bint holds_pairs(const Operand* x, int64_t n) noexcept nogil:
    """Return whether rows of ``n`` elements are whole pairs."""
    return (n % 2 == 0 and x.stride[3] == 2
            and ((<int64_t>x.data) | x.stride[0] | x.stride[1] | x.stride[2]) % 4 == 0)

cdef inline void multiply_pairs(Call* c, bint pairs) noexcept nogil:
    """Settle whether matmuls are of pairs, and by tile registers."""
    c.pairs = pairs and c.config.pairs
    c.amx = c.pairs and c.config.amx
    c.terms = False
    c.score_dim = c.dim // 2 if c.pairs else c.dim
    c.score_value_dim = c.value_dim // 2 if c.pairs else c.value_dim

cdef inline void multiply_terms(Call* c) noexcept nogil:
    """Settle that matmuls are of terms, by tile registers."""
    c.pairs = c.amx = c.terms = True
    c.score_dim, c.score_value_dim = words_of(c.dim), words_of(c.value_dim)

cdef inline Call* of_part(Call* c, Call* own, int64_t unit) noexcept nogil:
    """The call as it is for a part of a key head's work, in ``own`` if that is of terms."""
    if c.by_terms == NULL or not c.by_terms[unit]:
        return c
    memcpy(own, c, sizeof(Call))
    multiply_terms(own)
    return own

cdef inline void copy_queries(const Call* c, const Strip* s, const Operand* x, char* to, int64_t each, int64_t n) noexcept nogil:
    """A strip's rows, for sums over queries."""
    cdef int64_t i, two, of_row = c.config.width * c.config.size
    cdef char* row
    if c.amx:
        for i in range(panels_of(c, n) * (TERMS if c.terms else 1)):    # sums run over all lanes
            memset(to + i * each + s.lanes // 2 * of_row, 0, (c.config.width // 2 - s.lanes // 2) * of_row)
    if c.terms:
        i = 0
        while i < s.lanes:                                # neighbours are equally far apart where a key head has one query head
            row, two = row_of(x, c, s, s.first + i), s.lanes - i if c.group == 1 else min(<int64_t>2, s.lanes - i)
            interleave_terms(c, to + i // 2 * of_row, each, row, row_of(x, c, s, s.first + i + 1) - row if two > 1 else 0, two, n)
            i += two
        return
    if c.pairs:
        for i in range(0, s.lanes, 2):
            row, two = row_of(x, c, s, s.first + i), min(<int64_t>2, s.lanes - i)
            interleave_panels(c, to + i // 2 * c.config.width * c.config.size, each, row,
                         row_of(x, c, s, s.first + i + 1) - row if two == 2 else 0, two, n)
        return
    if c.group == 1:
        copy_panels(c, x, to, each, row_of(x, c, s, s.first), x.stride[1], s.lanes, n)
        return
    for i in range(s.lanes):
        copy_panels(c, x, to + i * c.config.width * c.config.size, each, row_of(x, c, s, s.first + i), 0, 1, n)

cdef inline void set_strip(Strip* s, const Call* c, int64_t index) noexcept nogil:
    """The strip's rows, and what they see of a causal attention."""
    cdef int64_t i, last, within
    s.first = index * c.config.width
    s.lanes = min(c.config.width, c.n_rows - s.first)
    s.end = s.half = c.keys
    if c.config.causal:
        last = s.first // c.group + c.keys - c.queries
        within = s.first % c.group
        for i in range(c.config.width):
            s.last[i] = <int32_t>last
            if i < s.lanes - 1:
                within += 1
                if within == c.group:
                    within = 0
                    last += 1
        s.end = max(<int64_t>0, last + 1)
        s.half = max(<int64_t>0, <int64_t>s.last[c.config.width - c.config.lanes - 1] + 1)

cdef inline int64_t between(int64_t low, int64_t x, int64_t high) noexcept nogil:
    return low if x < low else high if x > high else x

cdef inline int64_t keys_before(const Tile* tile, int64_t end) noexcept nogil:
    """How many of a tile's keys come before key ``end``."""
    cdef int64_t low = 0, high = tile.count, middle
    end -= tile.first
    if not tile.gathered:
        return between(0, end, tile.count)
    while low < high:
        middle = (low + high) // 2
        if tile.place[middle] < end:
            low = middle + 1
        else:
            high = middle
    return low

cdef inline int64_t head_of_strip(const Strip* s, const Tile* tile, int64_t at, int64_t seen) noexcept nogil:
    """How many of the ``seen`` keys from the tile's key ``at`` on more than the last vector of a strip sees."""
    return between(0, keys_before(tile, s.half) - at, seen)

cdef inline void score_by_tiles(const Call* c, char* scores, int64_t scores_row, const char* rows, int64_t panel, const char* packed,
                                int64_t n, const Number* factor, int64_t free, int64_t seen, char* top) noexcept nogil:
    """All of :func:`score`; the first ``free`` rows raise ``top``."""
    (c.config.f.term_scores if c.terms else c.config.f.amx_scores)(
        scores, scores_row, rows, panel, packed, n, seen, free, top, factor, panels_of(c, n) * panel, packed_plane(c, n))

cdef inline void score(const Call* c, char* scores, int64_t scores_row, const char* rows, int64_t panel,
                       const char* packed, int64_t n, const Number* factor, int64_t low, int64_t done, int64_t seen) noexcept nogil:
    """Matmuls of rows of a tile, of ``n`` columns, with the packed strip, after ``done`` of them: the first ``low`` for all lanes, the
    others for those of the last vector. Matmuls of pairs are multiplied by ``factor``."""
    cdef const Config* config = c.config
    cdef int64_t row = config.width * config.size, blocks, left, last = row - config.lanes * config.size
    cdef double[MAX_WIDTH] top
    cdef int i
    if c.amx:
        memset(top, 0, row)
        score_by_tiles(c, scores, scores_row, rows, panel, packed, n, factor, 0, seen, <char*>top)
        return
    scores += done * scores_row
    rows += done * row
    left = low - done
    for i in range(config.n_sizes):
        blocks = left // config.sizes[i]
        if blocks:
            if c.pairs:
                config.f.pairs[i](scores, scores_row, rows, panel, packed, n, blocks, factor)
            else:
                config.f.scores[i](scores, scores_row, rows, panel, packed, n, blocks)
            blocks *= config.sizes[i]
            scores += blocks * scores_row
            rows += blocks * row
            left -= blocks
    left = seen - low
    for i in range(config.n_sizes):
        blocks = left // config.sizes[i]
        if blocks:
            if c.pairs:
                config.f.last_pairs[i](scores + last, scores_row, rows, panel, packed + last, n, blocks, factor)
            else:
                config.f.last_scores[i](scores + last, scores_row, rows, panel, packed + last, n, blocks)
            blocks *= config.sizes[i]
            scores += blocks * scores_row
            rows += blocks * row
            left -= blocks

cdef inline void prefetch_rows(Prefetch* a, const Call* c, const Operand* x, int64_t unit, int64_t heads, int64_t first, int64_t rows,
                          int64_t n) noexcept nogil:
    """Take note of an operand's rows of ``heads`` heads, ``n`` elements each, if they are neighbours."""
    cdef int64_t of_head = n * c.config.stored
    if x.stride[3] != c.config.stored or heads > 1 and x.stride[2] != of_head or rows <= 0:
        return
    a.at[a.n] = x.data + unit // c.key_heads * x.stride[0] + unit % c.key_heads * heads * x.stride[2] + first * x.stride[1]
    a.stride[a.n] = x.stride[1]
    a.bytes[a.n] = of_head * heads
    a.rows[a.n] = rows
    a.n += 1

cdef inline void prefetch_begin(Prefetch* a, int64_t steps) noexcept nogil:
    """What has been noted is fetched in so many steps; not at all if it is much."""
    cdef int64_t i, rows = 0, bytes = 0
    for i in range(a.n):
        rows += a.rows[i]
        bytes += a.rows[i] * a.bytes[i]
    a.k = a.row = 0
    a.step = (rows + steps - 1) // max(<int64_t>1, steps)
    if bytes > PREFETCH_BYTES:
        a.n = 0

cdef inline void prefetch_step(Prefetch* a) noexcept nogil:
    """One step."""
    cdef int64_t i, j
    cdef const char* p
    for i in range(a.step):
        if a.k == a.n:
            return
        p = a.at[a.k] + a.row * a.stride[a.k]
        j = 0
        while j < a.bytes[a.k]:
            umiak_fetch(p + j)
            j += ALIGN
        a.row += 1
        if a.row >= a.rows[a.k]:
            a.k += 1
            a.row = 0

cdef inline int64_t kept_room(const Call* c) noexcept nogil:
    """Bytes of a tile's bits, which say what dropout keeps: a word for each vector."""
    return c.config.keys * (c.config.width // c.config.lanes) * 8 if c.config.dropout else 0

cdef inline void draw_kept(const Call* c, const Strip* s, int64_t first, int64_t count, char* to) noexcept nogil:
    """Bits that tell what dropout keeps of a strip's scores of keys from ``first`` on, which is a tile's first."""
    cdef int64_t[MAX_WIDTH] blocks
    cdef int64_t i, row, each = (c.keys + RANDOM_WORDS - 1) // RANDOM_WORDS
    for i in range(c.config.width):
        row = s.first + (i if i < s.lanes else s.lanes - 1)
        blocks[i] = c.block + ((s.batch * c.heads + s.head * c.group + row % c.group) * c.queries + row // c.group) * each
    c.config.f.draw_kept(to, blocks, first // RANDOM_WORDS, (count + RANDOM_WORDS - 1) // RANDOM_WORDS, c.key, c.least_kept)

cdef inline char* mask_row(const Call* c, const Strip* s, int64_t row, int64_t first) noexcept nogil:
    return (c.mask.data + s.batch * c.mask.stride[0] + (s.head * c.group + row % c.group) * c.mask.stride[1]
            + row // c.group * c.mask.stride[2] + first * c.mask.stride[3])

cdef inline char* lse_of(const Call* c, const Strip* s, int64_t row, int64_t within) noexcept nogil:
    """Return the address of a query's log-sum-exp, ``[batch, heads, queries]``."""
    return c.lse.data + ((s.batch * c.heads + s.head * c.group + within) * c.queries + row) * c.config.size

cdef inline double lse(const Config* config, double most, double total) noexcept nogil:
    """-inf where nothing is seen."""
    return (0 if most == -INFINITY else most) * LN_2 + (log(total) if config.wide else logf(<float>total))

cdef inline void sum_rows(const Call* c, const Strip* s, char* to) noexcept nogil:
    """Products of results and their gradients, row by row, less the gradient of the log-sum-exp."""
    cdef int64_t i, row, head
    cdef void* outs[MAX_WIDTH]
    cdef void* grads[MAX_WIDTH]
    cdef bint dense = c.out.stride[3] == c.config.stored and c.grad.stride[3] == c.config.stored
    table_of(outs, &c.out, c, s)
    table_of(grads, &c.grad, c, s)
    (c.config.f.row_sums if dense else c.config.f.row_sums_any)(to, outs, grads, c.value_dim, c.out.stride[3], c.grad.stride[3])
    if c.config.with_grad_lse:
        for i in range(s.lanes):
            row = s.first + i
            head = s.head * c.group + row % c.group
            put(c.config, to, i, get(c.config, to, i) - get(c.config, of_query(&c.grad_lse, s, head, row // c.group), 0))

cdef inline const char* of_query(const Operand* x, const Strip* s, int64_t head, int64_t query) noexcept nogil:
    """A number of ``[batch, heads, queries]``."""
    return x.data + s.batch * x.stride[0] + head * x.stride[1] + query * x.stride[2]

cdef inline void strip_lse(const Call* c, const Strip* s, char* to) noexcept nogil:
    """In units of log 2. Lanes beyond the last row get infinity, which makes their weights 0."""
    cdef int64_t i, row, head
    for i in range(c.config.width):
        if i < s.lanes:
            row = s.first + i
            head = s.head * c.group + row % c.group
            put(c.config, to, i, LOG2_E * get(c.config, of_query(&c.lse, s, head, row // c.group), 0))
        else:
            put(c.config, to, i, INFINITY)

cdef bint hides_tile(const Call* c, const Strip* strips, int64_t n, int64_t first) noexcept nogil
cdef void look_at_tile(const Call* c, const Strip* strips, int64_t n, int64_t first, int64_t count, bint gather, Tile* tile) noexcept nogil
cdef void copy_tile(const Call* c, const Strip* s, const Tile* tile, const Operand* x, char* to, int64_t each, int64_t n) noexcept nogil
cdef int bound_tiles(Call* c) noexcept nogil
cdef void free_bounds(Call* c) noexcept nogil
cdef int choose_terms(Call* c, bint gradient, double work) noexcept nogil
cdef void free_terms(Call* c) noexcept nogil
cdef void add_weighted_values(const Call* c, char* to, const char* values, int64_t panel, char* weights, int64_t weight_row,
                  int64_t n, const char* factor, int64_t low, int64_t seen, Prefetch* coming) noexcept nogil
cdef int prepare(Call* c, const Config* config, void** ptrs, const int64_t* dims, const uint64_t* scalars, int gradient) noexcept nogil
cdef void run_parts(int (*part)(void*, int64_t) noexcept nogil, Call* c, int64_t parts, double work, int* result) noexcept nogil
cdef void pack_seen(const Call* c, const Strip* s, int64_t row, int64_t first, int64_t count, char* to) noexcept nogil
cdef int64_t few_rows(const Call* c) noexcept nogil
cdef int64_t few_scratch(const Call* c) noexcept nogil
cdef int few_part(void* arg, int64_t part) noexcept nogil
cdef int64_t forward_scratch(const Call* c) noexcept nogil
cdef int forward_part(void* arg, int64_t part) noexcept nogil

cdef class Attention:
    cdef Config config
    cdef object keep
    cdef readonly size_t address, self_pointer
