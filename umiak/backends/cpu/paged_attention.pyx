# cython: binding=False
"""Launching attention over pages, and writing to pages.

Tables and lengths are data, so both look at them before they write anything (``read_lengths``). Then attention is that of
attention.pyx, a sequence at a time: few queries per key head go one by one, more of them as strips, and both find keys where
their pages lie (``rows_at``).
"""
from libc.stdint cimport int32_t, int64_t, uint8_t, uint64_t
from libc.stdlib cimport calloc, free, malloc
from libc.string cimport memcpy, memset

from umiak.backends.cpu.attention cimport *
from umiak.backends.cpu.launcher cimport parallel_for, thread_count

cdef enum:
    # codes of launches that were refused, beside NO_MEMORY
    NEGATIVE = 2
    TOKENS
    OVERFLOW
    PAGE
    SHARED
    MASK
    STRIPS_PER_PART = 16        # that share copied keys

cdef double PARALLEL_WORK = 1e6         # matmuls and sums, below which no thread is asked

cdef struct Lengths:
    int64_t batch, columns      # of the table
    int64_t pages, page         # how many there are; rows of one
    int64_t* table
    int64_t* counts
    int64_t* before
    int64_t* first              # token of each sequence
    int64_t* part               # the first of each sequence


# ---- tables and lengths --------------------------------------------------------------------------------------------------
cdef inline int64_t integer(const void* at, int bytes, int64_t i) noexcept nogil:
    return (<const int64_t*>at)[i] if bytes == 8 else (<const int32_t*>at)[i]


cdef int read_lengths(Lengths* n, void** ptrs, const int* bytes, const int64_t* strides, int64_t tokens, bint writes) noexcept nogil:
    """Tables, counts and positions of a launch as integers of 64 bits; a code where they do not fit. ``strides``: two of
    the table, one of each other. Memory is to be freed in either case."""
    cdef int64_t b, i, page, end, sum = 0
    cdef uint8_t* uses
    cdef int code = 0
    n.table = <int64_t*>malloc((n.batch * (n.columns + 4) + 1) * sizeof(int64_t))
    if n.table == NULL:
        return NO_MEMORY
    n.counts = n.table + n.batch * n.columns
    n.before, n.first, n.part = n.counts + n.batch, n.counts + 2 * n.batch, n.counts + 3 * n.batch
    for b in range(n.batch):
        n.counts[b] = integer(ptrs[1], bytes[1], b * strides[2])
        n.before[b] = integer(ptrs[2], bytes[2], b * strides[3])
        if n.counts[b] < 0 or n.before[b] < 0:
            return NEGATIVE
    for b in range(n.batch):
        n.first[b] = sum
        if n.counts[b] > tokens - sum:
            return TOKENS
        sum += n.counts[b]
    if sum != tokens:
        return TOKENS
    for b in range(n.batch):
        if n.counts[b] and n.before[b] > n.columns * n.page - n.counts[b]:
            return OVERFLOW
    for b in range(n.batch):
        for i in range(pages_of(n, b)):
            page = integer(ptrs[0], bytes[0], b * strides[0] + i * strides[1])
            if page < 0 or page >= n.pages:
                return PAGE
            n.table[b * n.columns + i] = page
    if writes:
        uses = <uint8_t*>calloc(n.pages + 1, 1)
        if uses == NULL:
            return NO_MEMORY
        for b in range(n.batch):
            for i in range(pages_of(n, b)):
                page = n.table[b * n.columns + i]
                uses[page] = min(uses[page] + 1, 2)
        for b in range(n.batch):
            for i in range(n.before[b] // n.page, pages_of(n, b)):
                if uses[n.table[b * n.columns + i]] > 1:
                    code = SHARED
        free(uses)
    return code


cdef inline int64_t pages_of(const Lengths* n, int64_t b) noexcept nogil:
    """The number of pages of a sequence that a launch looks at: none where it has no new tokens."""
    return (n.before[b] + n.counts[b] + n.page - 1) // n.page if n.counts[b] else 0


# ---- new rows ------------------------------------------------------------------------------------------------------------
cdef struct Rows:
    int size                    # bytes of an element
    int[3] integers             # of tables, counts, positions


cdef void copy_row(char* to, const char* source, int64_t n, int64_t step, int size) noexcept nogil:
    cdef int64_t i
    if step == 1:
        memcpy(to, source, n * size)
        return
    for i in range(n):
        memcpy(to + i * size, source + i * step * size, size)


cdef int write(void* self, void** ptrs, const int64_t* dims, const uint64_t* scalars, int64_t stream) noexcept nogil:
    """``dims``: pages, heads, rows of a page, dim, tokens, batch, columns of the table; strides of the new rows (3), table (2),
    counts, positions. Pages are contiguous."""
    cdef const Rows* rows = <const Rows*>self
    cdef Lengths n
    cdef int64_t heads = dims[1], dim = dims[3], b, i, h, position
    cdef const int64_t* step = dims + 7
    cdef int code
    cdef char* to
    n.batch, n.columns, n.pages, n.page = dims[5], dims[6], dims[0], dims[2]
    code = read_lengths(&n, ptrs + 2, rows.integers, dims + 10, dims[4], True)
    if code == 0:
        if ptrs[5] != ptrs[0]:
            memcpy(ptrs[5], ptrs[0], dims[0] * heads * n.page * dim * rows.size)
        for b in range(n.batch):
            for i in range(n.counts[b]):
                position = n.before[b] + i
                to = <char*>ptrs[5] + (n.table[b * n.columns + position // n.page] * heads * n.page + position % n.page) * dim * rows.size
                for h in range(heads):
                    copy_row(to + h * n.page * dim * rows.size, <char*>ptrs[1] + ((n.first[b] + i) * step[0] + h * step[1]) * rows.size, dim,
                             step[2], rows.size)
    free(n.table)
    return code


cdef class WritePages:
    """A class of calls. ``integers``: bytes of an integer of tables, counts and positions."""

    cdef Rows rows

    def __init__(self, int size, list integers):
        cdef int i
        self.rows.size = size
        for i in range(3):
            self.rows.integers[i] = integers[i]

    @property
    def address(self):
        return <size_t><void*>&write

    @property
    def self_pointer(self):
        return <size_t>&self.rows


# ---- attention -------------------------------------------------------------------------------------------------------------
cdef struct Launch:
    Call call                   # what all sequences share
    Lengths n
    double scale
    const float* key_scale      # of bytes, by sequence and head; strides in elements
    const float* value_scale
    int64_t[2] by_key, by_value


cdef bint goes_one_by_one(const Call* c) noexcept nogil:
    return c.n_rows <= few_rows(c)


cdef void of_sequence(const Launch* l, int64_t b, Call* c) noexcept nogil:
    """The call of one sequence."""
    memcpy(c, &l.call, sizeof(Call))
    c.batch, c.queries, c.keys = 1, l.n.counts[b], l.n.before[b] + l.n.counts[b]
    c.n_rows = c.group * c.queries
    c.n_strips = (c.n_rows + c.config.width - 1) // c.config.width
    c.tiles = (c.keys + c.config.keys - 1) // c.config.keys
    c.table = l.n.table + b * l.n.columns
    c.q.data += l.n.first[b] * c.q.stride[1]
    c.out.data += l.n.first[b] * c.out.stride[1]
    c.mask.data += b * c.mask.stride[0]
    if goes_one_by_one(c):
        c.parts_per_head = 1
    else:
        c.strips_per_part = min(<int64_t>STRIPS_PER_PART, c.n_strips)
        c.parts_per_head = (c.n_strips + c.strips_per_part - 1) // c.strips_per_part


cdef int paged_part(void* arg, int64_t part) noexcept nogil:
    cdef const Launch* l = <const Launch*>arg
    cdef int64_t low = 0, high = l.n.batch - 1, b, head
    cdef Call c
    while low < high:                                    # the last sequence that begins with this part or before
        b = (low + high + 1) // 2
        if l.n.part[b] <= part:
            low = b
        else:
            high = b - 1
    of_sequence(l, low, &c)
    part -= l.n.part[low]
    head = part // c.parts_per_head
    if l.key_scale != NULL:
        c.scale_log2 = number(c.config, l.scale * l.key_scale[low * l.by_key[0] + head * l.by_key[1]] * 1.4426950408889634)
        c.out_scale = l.value_scale[low * l.by_value[0] + head * l.by_value[1]]
    if goes_one_by_one(&c):
        c.local = few_scratch(&c)
        return few_part(&c, part)
    c.local = forward_scratch(&c)
    return forward_part(&c, part)


cdef const int64_t* operand(Operand* x, void* data, const int64_t* strides, int rank, int64_t bytes) noexcept nogil:
    """The last dims of an operand; strides in bytes."""
    cdef int i
    x.data = <char*>data
    for i in range(rank):
        x.stride[4 - rank + i] = strides[i] * bytes
    return strides + rank


cdef void dense_pages(Operand* x, void* data, int64_t heads, int64_t rows, int64_t dim, int64_t bytes) noexcept nogil:
    x.data = <char*>data
    x.stride[3] = bytes
    x.stride[1] = dim * bytes
    x.stride[2] = rows * x.stride[1]
    x.stride[0] = heads * x.stride[2]


cdef int launch(void* self, void** ptrs, const int64_t* dims, const uint64_t* scalars, int64_t stream) noexcept nogil:
    """``dims``: tokens, heads, dim, pages, key heads, rows of a page, dim, dim of values, batch, columns of the table, sizes of the mask (4),
    rows of the scales (2); strides of query (3), table (2), counts, positions, mask (4), scales (2 each). Pages are contiguous."""
    cdef const Config* config = <const Config*>self
    cdef Launch l
    cdef Call* c = &l.call
    cdef Call one
    cdef const int64_t* sizes = dims + 10
    cdef const int64_t* at = dims + 16
    cdef const int64_t* lengths
    cdef int64_t b, parts = 0
    cdef double work = 0
    cdef int code, i
    memset(&l, 0, sizeof(Launch))
    c.config = config
    c.heads, c.dim, c.key_heads, c.value_dim = dims[1], dims[2], dims[4], dims[7]
    c.group = c.heads // c.key_heads
    c.padded_dim = round_up(c.dim, config.lanes)
    c.padded_value_dim = round_up(c.value_dim, config.lanes)
    c.page = dims[5]
    c.threads = 1
    memcpy(&l.scale, scalars, 8)
    c.scale, c.scale_log2 = number(config, l.scale), number(config, l.scale * 1.4426950408889634)
    c.log2_e, c.one, c.out_scale = number(config, 1.4426950408889634), number(config, 1), 1
    at = operand(&c.q, ptrs[0], at, 3, config.stored)
    dense_pages(&c.k, ptrs[1], c.key_heads, c.page, c.dim, config.page_stored)
    dense_pages(&c.v, ptrs[2], c.key_heads, c.page, c.value_dim, config.page_stored)
    lengths = at
    at = operand(&c.mask, ptrs[6], at + 4, 4, config.mask_stored)
    for i in range(4):
        if sizes[i] == 1:
            c.mask.stride[i] = 0
    l.key_scale, l.value_scale = <const float*>ptrs[7], <const float*>ptrs[8]
    for i in range(2):
        l.by_key[i], l.by_value[i] = at[i], at[2 + i]
    if sizes[4] == 1:
        l.by_key[0] = 0
    if sizes[5] == 1:
        l.by_value[0] = 0
    c.out.data = <char*>ptrs[9]
    c.out.stride[3] = config.stored
    c.out.stride[2] = c.value_dim * config.stored
    c.out.stride[1] = c.heads * c.out.stride[2]
    multiply_pairs(c, holds_pairs(&c.q, c.dim) and holds_pairs(&c.k, c.dim) and c.v.stride[3] == config.stored
                   and config.page_stored == config.stored and c.page % 2 == 0)
    l.n.batch, l.n.columns, l.n.pages, l.n.page = dims[8], dims[9], dims[3], dims[5]
    code = read_lengths(&l.n, ptrs + 3, config.page_integers, lengths, dims[0], False)
    if code == 0 and config.mask:
        for b in range(l.n.batch):
            if l.n.counts[b] and (sizes[3] < l.n.before[b] + l.n.counts[b] or (sizes[2] != 1 and sizes[2] < l.n.counts[b])):
                code = MASK
    if code == 0:
        for b in range(l.n.batch):
            of_sequence(&l, b, &one)
            l.n.part[b] = parts
            parts += one.parts_per_head * c.key_heads if one.n_rows else 0
            work += <double>one.n_rows * c.key_heads * one.keys * (c.dim + c.value_dim)
        if parts > 1 and work > PARALLEL_WORK and thread_count() > 1:
            code = parallel_for(paged_part, &l, parts)
        else:
            for b in range(parts):
                if paged_part(&l, b) != 0:
                    code = NO_MEMORY
        code = NO_MEMORY if code else 0
    free(l.n.table)
    return code


cdef class PagedAttention(Attention):
    """A class of calls. Functions for rows of keys and values are those of what pages are stored as."""

    def read_pages(self, size_t copy, size_t copy_any, int size, list integers):
        """Pages have elements of ``size`` bytes; ``copy`` and ``copy_any`` are of queries. ``integers`` as for WritePages."""
        cdef int i
        for i in range(3):
            self.config.page_integers[i] = integers[i]
        self.config.page_stored = size
        self.config.f.copy_query, self.config.f.copy_query_any = <copy_t><void*>copy, <copy_t><void*>copy_any
        self.address = <size_t><void*>&launch


CODES = {
    "NO_MEMORY": NO_MEMORY, "NEGATIVE": NEGATIVE, "TOKENS": TOKENS, "OVERFLOW": OVERFLOW, "PAGE": PAGE, "SHARED": SHARED, "MASK": MASK,
}
