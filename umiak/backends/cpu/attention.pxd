"""What the drivers of attention share: a call's sizes, addresses, tiles and masks. See attention.pyx."""
from libc.stdint cimport int32_t, int64_t, uint64_t

cdef enum:
    MAX_WIDTH = 64              # lanes of a strip
    MAX_ROWS = 16               # rows of a product's tile
    STRIPS = 4                  # of lanes in a tile of the gradient
    ALIGN = 64
    NO_MEMORY = 1               # what a part returns
    # what there is to see of a tile of scores
    SKIP = 0
    FREE = 1
    PARTIAL = 2

ctypedef void (*pack_t)(void* to, void** rows, int64_t n, int64_t stride, const void* scale) noexcept nogil
ctypedef void (*copy_t)(void* to, int64_t to_row, const void* source, int64_t source_row, int64_t rows, int64_t n, int64_t stride,
                        const void* scale) noexcept nogil
ctypedef void (*unpack_t)(void** rows, const void* source, int64_t n, const void* factor) noexcept nogil
ctypedef void (*give_t)(void* to, int64_t to_row, const void* source, int64_t source_row, int64_t rows, int64_t n,
                        const void* scale) noexcept nogil
ctypedef void (*scores_t)(void* c, int64_t c_row, const void* a, const void* b, int64_t k, int64_t blocks) noexcept nogil
ctypedef void (*scores_top_t)(void* c, int64_t c_row, const void* a, const void* b, int64_t k, int64_t blocks, void* top) noexcept nogil
ctypedef void (*columns_t)(void* c, const void* a, int64_t a_step, const void* b, int64_t b_step, int64_t k,
                           const void* factor) noexcept nogil
ctypedef void (*adding_t)(void* c, int64_t c_row, const void* a, const void* b, int64_t b_step, int64_t k, int64_t blocks) noexcept nogil
ctypedef void (*weigh_t)(void* scores, int64_t count, const void* top, void* most, void* total, void* factor) noexcept nogil
ctypedef void (*causal_t)(void* scores, int64_t row, int64_t count, void* top, const int32_t* last, int64_t first) noexcept nogil
ctypedef void (*masked_t)(void* scores, int64_t row, int64_t count, void* top, const void* mask) noexcept nogil
ctypedef void (*derive_t)(void* scores, void* grads, int64_t count, int64_t end, const void* lse, const void* delta) noexcept nogil
ctypedef void (*sums_t)(void* to, const void* a, const void* b, int64_t n) noexcept nogil
ctypedef void (*dots_t)(void* to, const void* q, const void* keys, int64_t key_row, int64_t count, int64_t n) noexcept nogil
ctypedef void (*weigh_row_t)(void* scores, int64_t count, void* state) noexcept nogil
ctypedef void (*mix_t)(void* to, const void* values, int64_t value_row, const void* weights, int64_t count, int64_t n,
                       const void* state) noexcept nogil

cdef struct Functions:          # compiled; see attention_kernels.py
    pack_t pack, pack_any, panel, panel_any, pack_mask, pack_mask_any
    copy_t copy, copy_any, copy_mask, copy_mask_any
    unpack_t unpack
    give_t give
    scores_t scores
    scores_top_t scores_top
    columns_t[MAX_ROWS + 1] columns
    adding_t adding_1, adding_2
    weigh_t weigh
    causal_t causal
    masked_t masked
    derive_t derive
    sums_t sums
    dots_t dots
    weigh_row_t weigh_row
    mix_t mix

cdef union Number:              # in the type of computation
    float f
    double d

cdef struct Operand:            # [batch, sequence, heads, dim] or [batch, heads, queries, keys]; strides in bytes
    char* data
    int64_t[4] stride

cdef struct Strip:              # queries side by side, one per lane
    int64_t first, lanes        # rows of the key head's queries
    int64_t end                 # keys that its last lane sees
    int64_t batch, head         # of the keys
    int32_t[MAX_WIDTH] last     # the last key that a lane sees, where attention is causal

cdef struct Call

# The one place that says which scores count. `look` says what there is to see of keys [first, first + count) before their
# scores are computed (SKIP: nothing, so they are not), `apply` changes the scores and their maxima where that is PARTIAL.
ctypedef int (*look_t)(const Call* c, const Strip* s, int64_t first, int64_t count, char* room) noexcept nogil
ctypedef void (*apply_t)(const Call* c, const Strip* s, int64_t first, int64_t count, char* room, char* scores, int64_t row,
                         char* top) noexcept nogil

cdef struct Masking:
    look_t look
    apply_t apply

cdef struct Record:             # a class of calls
    Functions f
    Masking masking
    bint wide                   # computes in f64
    bint causal, mask, mask_bool, with_mask, with_lse
    int64_t size, stored, mask_stored       # bytes of a number computed with, of operands, of the mask
    int64_t lanes, width, rows, keys        # of a vector, a strip, a product's tile, a tile of scores

cdef struct Call:
    const Record* rec
    int64_t batch, queries, heads, dim, keys, key_heads, value_dim
    int64_t group, n_rows, n_strips         # query heads of a key head; their queries; strips of these
    int64_t dim_room, value_room            # whole vectors
    Operand q, k, v, mask, out, lse, grad, dq, dk, dv, dmask
    Number scale, scale_log2, log2_e, one, zero
    # how a launch is divided
    int64_t strips_per_part, parts_per_head
    int64_t local               # bytes of a part's scratch
    int64_t chunk, splits       # the gradient's: keys at a time, and parts of a key head
    char* partial               # sums for queries, by split
    int64_t partial_each

cdef inline int64_t room(int64_t bytes) noexcept nogil:
    return (bytes + ALIGN - 1) & ~<int64_t>(ALIGN - 1)

cdef inline char* carve(char** memory, int64_t bytes) noexcept nogil:
    """The next piece of scratch."""
    cdef char* found = memory[0]
    memory[0] = found + room(bytes)
    return found

cdef inline int64_t whole(int64_t n, int64_t of) noexcept nogil:
    return (n + of - 1) // of * of

cdef inline Number number(const Record* rec, double x) noexcept nogil:
    cdef Number made
    made.d = 0
    if rec.wide:
        made.d = x
    else:
        made.f = <float>x
    return made

cdef inline double get(const Record* rec, const char* at, int64_t i) noexcept nogil:
    return (<const double*>at)[i] if rec.wide else (<const float*>at)[i]

cdef inline void put(const Record* rec, char* at, int64_t i, double x) noexcept nogil:
    if rec.wide:
        (<double*>at)[i] = x
    else:
        (<float*>at)[i] = <float>x

cdef inline void fill(const Record* rec, char* at, int64_t n, double x) noexcept nogil:
    cdef int64_t i
    for i in range(n):
        put(rec, at, i, x)

cdef inline char* row_of(const Operand* x, const Call* c, const Strip* s, int64_t row) noexcept nogil:
    """Address of a query's row: queries of the heads that share a key head go head by head, then on in the sequence."""
    return x.data + s.batch * x.stride[0] + row // c.group * x.stride[1] + (s.head * c.group + row % c.group) * x.stride[2]

cdef inline void table_of(void** table, const Operand* x, const Call* c, const Strip* s) noexcept nogil:
    """Addresses of a strip's rows; lanes beyond the last row repeat it."""
    cdef int64_t i, width = c.rec.width
    for i in range(width):
        table[i] = row_of(x, c, s, s.first + i) if i < s.lanes else table[i - 1]

cdef inline void pack_strip(const Call* c, const Strip* s, const Operand* x, char* to, int64_t n, const Number* scale) noexcept nogil:
    cdef void* table[MAX_WIDTH]
    table_of(table, x, c, s)
    (c.rec.f.pack if x.stride[3] == c.rec.stored else c.rec.f.pack_any)(to, table, n, x.stride[3], scale)

cdef inline void unpack_strip(const Call* c, const Strip* s, const Operand* x, const char* source, int64_t n, const char* factor,
                              char* spare) noexcept nogil:
    """Write a strip's rows, which are contiguous; those beyond the last go to ``spare``."""
    cdef void* table[MAX_WIDTH]
    cdef int64_t i
    for i in range(c.rec.width):
        table[i] = row_of(x, c, s, s.first + i) if i < s.lanes else spare
    c.rec.f.unpack(table, source, n, factor)

cdef inline char* head_of(const Operand* x, const Strip* s) noexcept nogil:
    """A key head's keys or values."""
    return x.data + s.batch * x.stride[0] + s.head * x.stride[2]

cdef inline void pack_panels(const Call* c, const Strip* s, const Operand* x, char* to, int64_t first, int64_t count,
                             int64_t n) noexcept nogil:
    """Rows of keys or values as panels of ``rec.rows``; the last one repeats its last row."""
    cdef void* table[MAX_ROWS]
    cdef const Record* rec = c.rec
    cdef char* base = head_of(x, s)
    cdef int64_t i, at, done = 0
    while done < count:
        for i in range(rec.rows):
            at = done + i
            table[i] = base + (first + (at if at < count else count - 1)) * x.stride[1]
        (rec.f.panel if x.stride[3] == rec.stored else rec.f.panel_any)(to, table, n, x.stride[3], &c.one)
        to += rec.rows * n * rec.size
        done += rec.rows

cdef inline int64_t pieces_of(const Call* c, int64_t n) noexcept nogil:
    """Into how many pieces ``n`` rows of a product's result are cut."""
    return (n + c.rec.rows - 1) // c.rec.rows

cdef inline int64_t piece_room(const Call* c) noexcept nogil:
    """Elements of a row of a piece."""
    return whole(c.rec.rows, c.rec.lanes)

cdef inline void copy_pieces(const Call* c, const Strip* s, const Operand* x, char* to, int64_t first, int64_t count,
                             int64_t n) noexcept nogil:
    """Rows of keys or values, cut into pieces of columns that lie one after the other."""
    cdef const Record* rec = c.rec
    cdef int64_t pieces = pieces_of(c, n), row = piece_room(c) * rec.size, i, columns, done = 0
    for i in range(pieces):
        columns = (n - done + pieces - i - 1) // (pieces - i)
        (rec.f.copy if x.stride[3] == rec.stored else rec.f.copy_any)(
            to, row, head_of(x, s) + first * x.stride[1] + done * x.stride[3], x.stride[1], count, columns, x.stride[3], &c.one)
        to += rec.keys * row
        done += columns

cdef inline void copy_rows(const Call* c, const Strip* s, const Operand* x, char* to, int64_t rows, int64_t n) noexcept nogil:
    """A strip's rows, cut into panels of ``rec.width`` columns that lie ``rows`` rows after each other."""
    cdef const Record* rec = c.rec
    cdef int64_t i, done, columns, row = rec.width * rec.size
    for i in range(s.lanes):
        done = 0
        while done < n:
            columns = min(rec.width, n - done)
            (rec.f.copy if x.stride[3] == rec.stored else rec.f.copy_any)(
                to + (done // rec.width * rows + i) * row, 0, row_of(x, c, s, s.first + i) + done * x.stride[3], 0, 1, columns,
                x.stride[3], &c.one)
            done += columns

cdef inline void set_strip(Strip* s, const Call* c, int64_t index) noexcept nogil:
    """The strip's rows, and what they see of a causal attention."""
    cdef int64_t i, row, last = 0
    s.first = index * c.rec.width
    s.lanes = min(c.rec.width, c.n_rows - s.first)
    s.end = c.keys
    if c.rec.causal:
        for i in range(c.rec.width):
            row = s.first + (i if i < s.lanes else s.lanes - 1)
            last = row // c.group + c.keys - c.queries
            s.last[i] = <int32_t>last
        s.end = last + 1 if last + 1 > 0 else 0

cdef void columns(const Call* c, char* to, const char* values, const char* weights, int64_t weight_row, int64_t count,
                  int64_t n, const char* factor) noexcept nogil
cdef int prepare(Call* c, const Record* rec, void** ptrs, const int64_t* dims, const uint64_t* scalars, int gradient) noexcept nogil
cdef int no_memory() noexcept nogil
cdef void run_parts(int (*part)(void*, int64_t) noexcept nogil, Call* c, int64_t parts, double work, int* result) noexcept nogil
