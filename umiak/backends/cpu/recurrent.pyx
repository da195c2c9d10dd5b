# cython: binding=False
"""Drivers of recurrent layers: all time steps of one direction in one launch, forward and back.

All weights are packed once. The input's part of the gates comes from one matmul for as many steps as make a good matmul: so
few that what it gives is still in the cache when the steps read it. A step is a matmul with the packed weights of the state
and one compiled function over the gates (recurrent_kernels.py). Rows of the batch do not meet, so threads divide the batch and
never wait for each other; what a row gets does not depend on how it is divided.

Weights that stay as they are come in strips (``strips``), as others are packed. In bfloat16 (``narrow``) rows of the input and of the
state are rounded to it for the products, whose sums, gates and states are float32.

Where sequences end, a mask per step chooses between a step's results and the states as they were, which then lie in scratch.
"""
from libc.stdint cimport int32_t, int64_t, uint16_t, uint64_t
from libc.string cimport memcpy, memset

from umiak.backends.cpu.axes cimport Ctx, kernel_t
from umiak.backends.cpu.launcher cimport no_memory, parallel_for, thread_count
from umiak.backends.cpu.providers.common cimport copy_strided, scratch_free, scratch_alloc

cdef extern from *:
    """
    #define umiak_soon(p) __builtin_prefetch((p), 0, 2)
    """
    void umiak_soon(const void* p) nogil

cdef extern from "recurrent_narrow.h" nogil:
    ctypedef void (*narrow_product_t)(float* c, int64_t c_row, const uint16_t* a, int64_t a_row, const uint16_t* b, int64_t rows, int64_t k,
                                      int64_t n) noexcept nogil
    enum:
        NARROW_COMPILED, NARROW_COLUMNS, NARROW_TERMS
    void narrow_row(const float* x, int64_t n, uint16_t* to, int64_t padded)
    void narrow_by_dots(float* c, int64_t c_row, const uint16_t* a, int64_t a_row, const uint16_t* b, int64_t rows, int64_t k, int64_t n)
    void narrow_by_units(float* c, int64_t c_row, const uint16_t* a, int64_t a_row, const uint16_t* b, int64_t rows, int64_t k, int64_t n)

cdef enum:
    FEWEST_FOR_UNITS = 3        # rows of a product
    MAX_ROWS = 8                # of a tile
    MAX_SLOTS = 24              # pointers of a kernel
    MAX_PIECES = 32
    FEWEST_ROWS = 4             # of the batch that a thread takes
    GEMM_ROWS = 96           # of the input, about, that are multiplied at once
    LINE = 64
    EDGE = 64 * 8 * MAX_ROWS    # bytes of a tile
    ALIGN = 64

cdef double PARALLEL_WORK = 2e6         # multiplications of all steps, below which no thread is asked

ctypedef void (*matmul_t)(void* c, int64_t c_row, const void* a, int64_t a_row, const void* b, int64_t k) noexcept nogil
ctypedef void (*pack_t)(void* to, void** rows, int64_t n, int64_t stride, const void* scale) noexcept nogil
ctypedef void (*copy_t)(void* to, int64_t to_row, const void* source, int64_t source_row, int64_t rows, int64_t n, int64_t stride,
                        const void* scale) noexcept nogil

cdef struct Elementwise:        # a compiled function over rows and units
    kernel_t kernel
    int n                       # accesses
    int mask                    # the slot that has one element per row
    int[MAX_SLOTS] slot

cdef struct Config:             # a class of calls
    matmul_t[MAX_ROWS + 1] matmul
    pack_t pack
    copy_t copy
    Elementwise step, project   # or, backward, gather
    int gates, kept
    bint lstm, gru, reverse, train, masked, projected, gradient
    bint wide, lengths_wide     # f64; lengths of 64 bits
    bint strips, narrow, units  # weights in strips; of bfloat16; by matrix units
    int64_t size, width, rows, lanes

cdef struct Job:                # a launch
    const Config* config
    int64_t steps, batch, features, hidden, proj
    int64_t n, padded_n           # columns of the matmul, and with whole panels
    int64_t chunk               # steps whose input is multiplied at once
    int64_t p_room              # of the projection's
    # contiguous operands
    char* x
    char* h0
    char* c0
    char* w_ih
    char* w_hh
    char* w_ho
    char* b_ih
    char* b_hh
    char* lengths
    char* out
    char* acts
    char* cells
    char* g_out
    char* g_h
    char* g_c
    int64_t g_step, g_row       # bytes from step to step and from row to row of g_out
    # results
    char* h
    char* c
    char* d_in
    char* d_state
    char* d_h0
    char* d_c0
    char* d_proj
    # scratch, rows of the batch one after the other
    char* packed                # w_hh
    char* packed_ih
    char* packed_ho
    char* bias
    char* gates                 # the input's part
    int64_t gates_row
    char* sums                  # what the matmul gives
    char* hidden_states         # before the projection, or their gradients
    char* projected
    char* state                 # where it is not a row of the results
    char* cell
    char* passed
    char* mask
    char* before
    uint16_t* x_low             # rows of the input and of the state in bfloat16
    uint16_t* h_low


# ---- pieces --------------------------------------------------------------------------------------------------------
cdef inline int64_t round_up(int64_t n, int64_t of) noexcept nogil:
    return (n + of - 1) // of * of


cdef inline char* carve(char** memory, int64_t bytes) noexcept nogil:
    cdef char* room = memory[0]
    memory[0] = room + round_up(bytes, ALIGN)
    return room


cdef inline void apply(const Elementwise* f, void** ptrs, const int64_t* strides, int64_t rows, int64_t units) noexcept nogil:
    """``strides``: elements from row to row, per pointer."""
    cdef int64_t[2 + 2 * MAX_SLOTS + 2] dims
    cdef int k
    cdef Ctx ctx
    ctx.local = ctx.shared = NULL
    dims[0], dims[1] = rows, units
    for k in range(f.n):
        dims[2 + 2 * k] = strides[f.slot[k]]
        dims[3 + 2 * k] = f.slot[k] != f.mask
    dims[2 + 2 * f.n] = dims[3 + 2 * f.n] = 0
    f.kernel(ptrs, dims, NULL, &ctx, 0, rows)


cdef int64_t packed_bytes(const Config* config, int64_t k, int64_t n) noexcept nogil:
    return (round_up(n, config.width) * k + config.lanes * config.width) * config.size     # a block more: see attention_kernels.pack


cdef void pack_matrix(const Config* config, char* to, const char* w, int64_t k, int64_t n, int64_t k_stride, int64_t n_stride) noexcept nogil:
    """Panels of ``config.width`` columns of the matrix ``w[k, n]``, of whose strides (in elements) one is 1."""
    cdef double one_wide = 1
    cdef float one = 1
    cdef const void* scale = <const void*>&one_wide if config.wide else <const void*>&one
    cdef void* table[64]
    cdef int64_t j = 0, i, count
    if n % config.width:
        memset(to, 0, packed_bytes(config, k, n))
    while j < n:
        count = min(config.width, n - j)
        if n_stride == 1:
            config.copy(to, config.width * config.size, w + j * config.size, k_stride * config.size, k, count, config.size, scale)
        else:
            for i in range(config.width):
                table[i] = <void*>(w + (j + min(i, count - 1)) * n_stride * config.size)
            config.pack(to, table, k, config.size, scale)
        to += config.width * k * config.size
        j += config.width


cdef void multiply(const Config* config, char* c, int64_t c_row, const char* a, int64_t a_row, const char* packed, int64_t rows, int64_t k,
                   int64_t n, const char* soon, int64_t soon_bytes) noexcept nogil:
    """``c = a w`` for rows of a that lie ``a_row`` bytes apart. Meanwhile ``soon``, which is read next, comes nearer."""
    cdef int64_t pieces = (rows + config.rows - 1) // config.rows, i, r, at, count, j = 0
    cdef int64_t panel = config.width * config.size, each = round_up(soon_bytes * config.width // max(n, 1) + 1, LINE)
    cdef bint ragged
    cdef char edge[EDGE]
    while j < n:
        # The last panel must not write beyond a row that has no room for it.
        ragged = n - j < config.width and c_row < (j + config.width) * config.size
        at = 0
        for i in range(pieces):
            count = (rows - at + pieces - i - 1) // (pieces - i)
            if ragged:
                config.matmul[count](edge, panel, a + at * a_row, a_row, packed, k)
                for r in range(count):
                    memcpy(c + (at + r) * c_row, edge + r * panel, (n - j) * config.size)
            else:
                config.matmul[count](c + at * c_row, c_row, a + at * a_row, a_row, packed, k)
            at += count
        for i in range(min(each, soon_bytes) // LINE):
            umiak_soon(soon + i * LINE)
        soon += each
        soon_bytes -= each
        c += panel
        packed += panel * k
        j += config.width


cdef void multiply_narrow(const Config* config, char* c, int64_t c_row, const char* a, int64_t a_row, uint16_t* low, const char* strips,
                          int64_t rows, int64_t k, int64_t n) noexcept nogil:
    """``c = a w`` by a matrix of bfloat16 in strips; ``low`` has room for the rows of a."""
    cdef int64_t padded = round_up(k, NARROW_TERMS), i
    for i in range(rows):
        narrow_row(<const float*>(a + i * a_row), k, low + i * padded, padded)
    if config.units and rows >= FEWEST_FOR_UNITS:
        narrow_by_units(<float*>c, c_row // 4, low, padded, <const uint16_t*>strips, rows, padded, n)
    else:
        narrow_by_dots(<float*>c, c_row // 4, low, padded, <const uint16_t*>strips, rows, padded, n)


cdef inline int64_t length(const Job* j, int64_t row) noexcept nogil:
    return (<const int64_t*>j.lengths)[row] if j.config.lengths_wide else (<const int32_t*>j.lengths)[row]


cdef inline bint set_mask(const Job* j, int64_t t, int64_t first, int64_t rows) noexcept nogil:
    """Find the rows that take part in step ``t``; return whether any does."""
    cdef int64_t i
    cdef bint any_row = False
    for i in range(first, first + rows):
        j.mask[i] = t < length(j, i)
        any_row |= j.mask[i]
    return any_row


cdef inline char* at_step(char* base, int64_t t, int64_t row, int64_t batch, int64_t bytes) noexcept nogil:
    return base + (t * batch + row) * bytes


# ---- forward -------------------------------------------------------------------------------------------------------
cdef void project_input(Job* j, int64_t first, int64_t steps, int64_t row, int64_t rows) noexcept nogil:
    """The input's part of the gates for steps from ``first`` on."""
    cdef const Config* config = j.config
    cdef int64_t i, in_row = j.features * config.size, out_row = j.gates_row * config.size
    cdef char* to = gates_at(j, first, first, row)
    cdef char* x = at_step(j.x, first, row, j.batch, in_row)
    if rows == j.batch:
        steps, rows = 1, steps * rows
    for i in range(steps):
        if config.narrow:
            multiply_narrow(config, to + i * j.batch * out_row, out_row, x + i * j.batch * in_row, in_row,
                            j.x_low + row * round_up(j.features, NARROW_TERMS), j.packed_ih, rows, j.features, j.n)
        else:
            multiply(config, to + i * j.batch * out_row, out_row, x + i * j.batch * in_row, in_row, j.packed_ih, rows, j.features, j.n, NULL, 0)


cdef inline char* gates_at(const Job* j, int64_t t, int64_t first, int64_t row) noexcept nogil:
    """Return the address of the input's part of a step: with what is kept, or in scratch from step ``first`` on."""
    return at_step(j.gates, t - first if j.config.kept and not j.config.train else t, row, j.batch, j.gates_row * j.config.size)


cdef int forward_rows(Job* j, int64_t row, int64_t rows) noexcept nogil:
    """All steps for some rows of the batch."""
    cdef const Config* config = j.config
    cdef int64_t done = 0, count, first
    while done < j.steps:
        count = min(j.chunk, j.steps - done)
        first = j.steps - done - count if config.reverse else done
        project_input(j, first, count, row, rows)
        forward_steps(j, first, count, row, rows)
        done += count
    return 0


cdef void forward_steps(Job* j, int64_t first, int64_t count, int64_t row, int64_t rows) noexcept nogil:
    """Steps from ``first`` on, whose input's part is there."""
    cdef const Config* config = j.config
    cdef int64_t size = config.size, hidden = j.hidden, i, t, k, n, before
    cdef int64_t h_row = j.proj * size, c_row = hidden * size, gate = hidden * size, s_row = j.padded_n * size
    cdef bint held = config.masked and not config.projected
    cdef void* ptrs[MAX_SLOTS]
    cdef int64_t strides[MAX_SLOTS]
    cdef char* h
    cdef char* c
    cdef char* a
    cdef char* y
    for i in range(count):
        t = first + count - 1 - i if config.reverse else first + i
        before = t + 1 if config.reverse else t - 1
        if config.masked:
            set_mask(j, t, row, rows)
        if config.masked:
            h = j.state + row * h_row
        elif 0 <= before < j.steps:
            h = at_step(j.out, before, row, j.batch, h_row)
        else:
            h = j.h0 + row * h_row
        if config.narrow:
            multiply_narrow(config, j.sums + row * s_row, s_row, h, h_row, j.h_low + row * round_up(j.proj, NARROW_TERMS), j.packed, rows, j.proj,
                            j.n)
        else:
            multiply(config, j.sums + row * s_row, s_row, h, h_row, j.packed, rows, j.proj, j.n, NULL, 0)
        n = 0
        a = gates_at(j, t, first, row)
        for k in range(config.gates):
            ptrs[n], strides[n] = a + k * gate, j.gates_row
            n += 1
        for k in range(config.gates):
            ptrs[n], strides[n] = j.sums + row * s_row + k * gate, j.padded_n
            n += 1
        for k in range(config.gates + config.gru):
            ptrs[n], strides[n] = j.bias + k * gate, 0
            n += 1
        if config.lstm:
            if not config.train:
                c = j.cell + row * c_row
            elif 0 <= before < j.steps:
                c = at_step(j.cells, before, row, j.batch, c_row)
            else:
                c = j.c0 + row * c_row
            ptrs[n], strides[n] = c, hidden
            n += 1
        elif config.gru:
            ptrs[n], strides[n] = h, hidden
            n += 1
        if config.masked:
            ptrs[n], strides[n] = j.mask + row, 1
            n += 1
        if held and not config.gru:
            ptrs[n], strides[n] = h, hidden
            n += 1
        if config.train:
            for k in range(config.kept):
                ptrs[n], strides[n] = at_step(j.acts, t, row, j.batch, config.kept * gate) + k * gate, config.kept * hidden
                n += 1
        if config.lstm:
            ptrs[n], strides[n] = at_step(j.cells, t, row, j.batch, c_row) if config.train else j.cell + row * c_row, hidden
            n += 1
        y = at_step(j.out, t, row, j.batch, h_row)
        ptrs[n], strides[n] = j.hidden_states + row * c_row if config.projected else y, hidden
        n += 1
        if held:
            ptrs[n], strides[n] = h, hidden
        apply(&config.step, ptrs, strides, rows, hidden)
        if config.projected:
            multiply(config, j.projected + row * j.p_room * size, j.p_room * size, j.hidden_states + row * c_row, c_row, j.packed_ho,
                     rows, hidden, j.proj, NULL, 0)
            if config.masked:
                ptrs[0], strides[0] = j.projected + row * j.p_room * size, j.p_room
                ptrs[1], strides[1] = h, j.proj
                ptrs[2], strides[2] = j.mask + row, 1
                ptrs[3], strides[3] = y, j.proj
                ptrs[4], strides[4] = h, j.proj
                apply(&config.project, ptrs, strides, rows, j.proj)
            else:
                for k in range(rows):
                    memcpy(y + k * h_row, j.projected + (row + k) * j.p_room * size, h_row)


# ---- back ----------------------------------------------------------------------------------------------------------
cdef char* states_before(Job* j, int64_t t, int64_t row, int64_t rows) noexcept nogil:
    """The states that step ``t`` began with; of rows that had ended, anything finite."""
    cdef const Config* config = j.config
    cdef int64_t before = t + 1 if config.reverse else t - 1, h_row = j.proj * config.size, i
    if not 0 <= before < j.steps:
        return j.h0 + row * h_row
    if not (config.masked and config.reverse):
        return at_step(j.out, before, row, j.batch, h_row)
    for i in range(row, row + rows):
        memcpy(j.before + i * h_row, at_step(j.out, before, i, j.batch, h_row) if before < length(j, i) else j.h0 + i * h_row, h_row)
    return j.before + row * h_row


cdef int backward_rows(Job* j, int64_t row, int64_t rows) noexcept nogil:
    """All steps, from the last to the first, for some rows of the batch."""
    cdef const Config* config = j.config
    cdef int64_t size = config.size, hidden = j.hidden, i, t, k, n, before
    cdef int64_t h_row = j.proj * size, c_row = hidden * size, gate = hidden * size, s_row = j.padded_n * size
    cdef int64_t all_gates = config.gates * hidden
    cdef void* ptrs[MAX_SLOTS]
    cdef int64_t strides[MAX_SLOTS]
    cdef char* acts
    cdef char* d
    cdef char* g
    cdef char* sums = j.sums + row * s_row
    cdef char* to
    cdef bint past = (config.masked or config.gru) and not config.projected
    for i in range(j.steps):
        t = i if config.reverse else j.steps - 1 - i
        before = t + 1 if config.reverse else t - 1
        if config.masked:
            set_mask(j, t, row, rows)
        g = j.g_out + t * j.g_step + row * j.g_row
        if config.projected:
            ptrs[0], strides[0] = g, j.g_row // size
            ptrs[1], strides[1] = sums, j.padded_n
            n = 2
            if config.masked:
                ptrs[2], strides[2] = j.passed + row * h_row, j.proj
                ptrs[3], strides[3] = j.mask + row, 1
                n = 4
            to = at_step(j.d_proj, t, row, j.batch, h_row)
            ptrs[n], strides[n] = to, j.proj
            ptrs[n + 1], strides[n + 1] = j.passed + row * h_row, j.proj       # where sequences end
            apply(&config.project, ptrs, strides, rows, j.proj)
            multiply(config, j.hidden_states + row * j.p_room * size, j.p_room * size, to, h_row, j.packed_ho, rows, j.proj, hidden,
                     NULL, 0)
        n = 0
        acts = at_step(j.acts, t, row, j.batch, config.kept * gate)
        for k in range(config.kept):
            ptrs[n], strides[n] = acts + k * gate, config.kept * hidden
            n += 1
        if config.lstm:
            ptrs[n], strides[n] = at_step(j.cells, t, row, j.batch, c_row), hidden
            ptrs[n + 1], strides[n + 1] = at_step(j.cells, before, row, j.batch, c_row) if 0 <= before < j.steps else j.c0 + row * c_row, hidden
            n += 2
        elif config.gru:
            ptrs[n], strides[n] = states_before(j, t, row, rows), hidden
            n += 1
        else:
            ptrs[n], strides[n] = at_step(j.out, t, row, j.batch, h_row), hidden
            n += 1
        if config.projected:
            ptrs[n], strides[n] = j.hidden_states + row * j.p_room * size, j.p_room
            n += 1
        else:
            ptrs[n], strides[n] = g, j.g_row // size
            ptrs[n + 1], strides[n + 1] = sums, j.padded_n
            n += 2
        if past:
            ptrs[n], strides[n] = j.passed + row * h_row, hidden
            n += 1
        if config.lstm:
            ptrs[n], strides[n] = j.cell + row * c_row, hidden
            n += 1
        if config.masked:
            ptrs[n], strides[n] = j.mask + row, 1
            n += 1
        d = at_step(j.d_in, t, row, j.batch, all_gates * size)
        for k in range(config.gates):
            ptrs[n], strides[n] = d + k * gate, all_gates
            n += 1
        if config.gru:
            d = at_step(j.d_state, t, row, j.batch, all_gates * size)
            ptrs[n], strides[n] = d + 2 * gate, all_gates
            n += 1
        if config.lstm:
            ptrs[n], strides[n] = j.cell + row * c_row, hidden
            n += 1
        if past:
            ptrs[n], strides[n] = j.passed + row * h_row, hidden
        apply(&config.step, ptrs, strides, rows, hidden)
        if config.gru:
            for k in range(rows):
                memcpy(d + k * all_gates * size, at_step(j.d_in, t, row + k, j.batch, all_gates * size), 2 * gate)
        multiply(config, sums, s_row, d, all_gates * size, j.packed, rows, all_gates, j.proj,
                 j.acts + (before * j.batch + row) * config.kept * gate if 0 <= before < j.steps else NULL,
                 rows * config.kept * gate if 0 <= before < j.steps else 0)
    return 0


# ---- a launch ------------------------------------------------------------------------------------------------------
cdef struct Parts:
    Job* job
    int64_t parts


cdef int part(void* arg, int64_t index) noexcept nogil:
    cdef Parts* p = <Parts*>arg
    cdef Job* j = p.job
    cdef int64_t first = j.batch * index // p.parts, last = j.batch * (index + 1) // p.parts
    return backward_rows(j, first, last - first) if j.config.gradient else forward_rows(j, first, last - first)


cdef void run_parts(Job* j) noexcept nogil:
    cdef Parts p
    cdef double work = <double>j.steps * j.batch * j.config.gates * j.hidden * (j.proj + (0 if j.config.gradient else j.features))
    p.job = j
    p.parts = 1
    if work > PARALLEL_WORK:
        p.parts = max(1, min(<int64_t>thread_count(), j.batch // FEWEST_ROWS))
    if p.parts > 1:
        parallel_for(part, &p, p.parts)
    else:
        part(&p, 0)


cdef struct Reader:             # operands with strides, made contiguous
    const int64_t* dims
    int64_t size
    int n
    int bad
    void* copies[MAX_PIECES]


cdef char* read(Reader* r, void* data, int rank, int64_t a, int64_t b, int64_t c, int64_t size) noexcept nogil:
    """The next operand, of sizes a, b, c (the last ``rank`` of them)."""
    cdef int64_t sizes[3]
    cdef int64_t to[3]
    cdef int64_t step = 1, total
    cdef int i
    cdef bint dense = True
    cdef const int64_t* by = r.dims
    cdef void* made
    r.dims += rank
    if data == NULL:
        return NULL
    sizes[0], sizes[1], sizes[2] = a, b, c
    for i in range(rank - 1, -1, -1):
        to[i] = step
        if by[i] != step and sizes[3 - rank + i] > 1:
            dense = False
        step *= sizes[3 - rank + i]
    if dense or step == 0:
        return <char*>data
    made = scratch_alloc(step * size)
    if made == NULL or r.n == MAX_PIECES:
        r.bad = True
        return <char*>data
    r.copies[r.n] = made
    r.n += 1
    copy_strided(<char*>made, to, <const char*>data, by, sizes + (3 - rank), rank, <int>size)
    return <char*>made


cdef void release(Reader* r, void* scratch) noexcept nogil:
    cdef int i
    for i in range(r.n):
        scratch_free(r.copies[i])
    scratch_free(scratch)


cdef int begin(Job* j, Reader* r, const Config* config, void** ptrs, const int64_t* dims) noexcept nogil:
    """Operands. ``dims``: steps, batch, features, units, size of the state, then the strides of each."""
    cdef int64_t size = config.size, all_gates
    memset(j, 0, sizeof(Job))
    j.config = config
    j.steps, j.batch, j.features, j.hidden, j.proj = dims[0], dims[1], dims[2], dims[3], dims[4]
    all_gates = config.gates * j.hidden
    r.dims, r.size, r.n, r.bad = dims + 5, size, 0, 0
    if config.gradient:
        # The matmuls of all steps are left to others.
        r.dims += 3
        ptrs[0] = NULL
    else:
        j.x = read(r, ptrs[0], 3, j.steps, j.batch, j.features, size)
    j.h0 = read(r, ptrs[1], 2, 0, j.batch, j.proj, size)
    j.w_ih = read(r, NULL if config.gradient or config.strips else ptrs[2], 2, 0, all_gates, j.features, size)
    j.w_hh = read(r, NULL if config.strips else ptrs[3], 2, 0, all_gates, j.proj, size)
    j.b_ih = read(r, NULL if config.gradient else ptrs[4], 1, 0, 0, all_gates, size)
    j.b_hh = read(r, NULL if config.gradient else ptrs[5], 1, 0, 0, all_gates, size)
    j.c0 = read(r, ptrs[6], 2, 0, j.batch, j.hidden, size)
    j.w_ho = read(r, ptrs[7], 2, 0, j.hidden, j.proj, size)
    j.lengths = read(r, ptrs[8], 1, 0, 0, j.batch, 8 if config.lengths_wide else 4)
    return 0


cdef void sum_biases(Job* j) noexcept nogil:
    """Both biases of a gate as one; a GRU's last one of the state stays by itself."""
    cdef const Config* config = j.config
    cdef int64_t n = config.gates * j.hidden, both = n - j.hidden if config.gru else n, i
    for i in range(n):
        if config.wide:
            (<double*>j.bias)[i] = (<double*>j.b_ih)[i] + ((<double*>j.b_hh)[i] if i < both else 0)
        else:
            (<float*>j.bias)[i] = (<float*>j.b_ih)[i] + ((<float*>j.b_hh)[i] if i < both else 0)
    if config.gru:
        memcpy(j.bias + n * config.size, j.b_hh + both * config.size, j.hidden * config.size)


cdef int launch(void* self, void** ptrs, const int64_t* dims, const uint64_t* scalars, int64_t stream) noexcept nogil:
    cdef const Config* config = <const Config*>self
    cdef Job j
    cdef Reader r
    cdef int64_t size = config.size, n, total, at
    cdef char* memory
    cdef char* scratch
    cdef char* source
    begin(&j, &r, config, ptrs, dims)
    at = 9
    j.out = <char*>ptrs[at]
    j.h = <char*>ptrs[at + 1]
    at += 2
    if config.lstm:
        j.c = <char*>ptrs[at]
        at += 1
    if config.train and config.kept:
        j.acts = <char*>ptrs[at]
        at += 1
    if config.train and config.lstm:
        j.cells = <char*>ptrs[at]
    if j.batch == 0 or j.hidden == 0:
        return 0
    n = j.n = config.gates * j.hidden
    j.padded_n = round_up(n, config.width)
    j.p_room = round_up(j.proj, config.width)
    j.chunk = max(1, min(j.steps, GEMM_ROWS // min(j.batch, GEMM_ROWS)))
    if config.train and config.kept:
        j.gates, j.gates_row = j.acts, config.kept * j.hidden
    elif not config.kept:
        j.gates, j.gates_row = j.out, j.hidden
    else:
        j.gates_row = n
    # Each piece has room for its alignment.
    total = (n + j.hidden) * size
    if not config.strips:
        total += packed_bytes(config, j.proj, n) + packed_bytes(config, j.features, n)
    if config.narrow:
        total += j.batch * (j.chunk * round_up(j.features, NARROW_TERMS) + round_up(j.proj, NARROW_TERMS)) * 2
    total += j.batch * (j.padded_n + j.proj + 2 * j.hidden + j.p_room) * size + j.batch + 16 * ALIGN
    if config.projected:
        total += packed_bytes(config, j.hidden, j.proj)
    if j.gates == NULL:
        total += j.chunk * j.batch * n * size
    scratch = memory = <char*>scratch_alloc(total)
    if scratch == NULL or r.bad:
        release(&r, scratch)
        return no_memory()
    if config.strips:
        j.packed_ih, j.packed = <char*>ptrs[2], <char*>ptrs[3]
    else:
        j.packed = carve(&memory, packed_bytes(config, j.proj, n))
        pack_matrix(config, j.packed, j.w_hh, j.proj, n, 1, j.proj)
        j.packed_ih = carve(&memory, packed_bytes(config, j.features, n))
        pack_matrix(config, j.packed_ih, j.w_ih, j.features, n, 1, j.features)
    if config.narrow:
        j.x_low = <uint16_t*>carve(&memory, j.batch * j.chunk * round_up(j.features, NARROW_TERMS) * 2)
        j.h_low = <uint16_t*>carve(&memory, j.batch * round_up(j.proj, NARROW_TERMS) * 2)
    if config.projected:
        j.packed_ho = carve(&memory, packed_bytes(config, j.hidden, j.proj))
        pack_matrix(config, j.packed_ho, j.w_ho, j.hidden, j.proj, j.proj, 1)
    if j.gates == NULL:
        j.gates = carve(&memory, j.chunk * j.batch * n * size)
    j.bias = carve(&memory, (n + j.hidden) * size)
    j.sums = carve(&memory, j.batch * j.padded_n * size)
    j.state = carve(&memory, j.batch * j.proj * size)
    j.cell = carve(&memory, j.batch * j.hidden * size)
    j.hidden_states = carve(&memory, j.batch * j.hidden * size)
    j.projected = carve(&memory, j.batch * j.p_room * size)
    j.mask = carve(&memory, j.batch)
    sum_biases(&j)
    memcpy(j.state, j.h0, j.batch * j.proj * size)
    if config.lstm:
        memcpy(j.cell, j.c0, j.batch * j.hidden * size)
    run_parts(&j)
    # The last states.
    source = j.state
    if j.steps and not config.masked:
        source = j.out + (0 if config.reverse else (j.steps - 1) * j.batch * j.proj * size)
    memcpy(j.h, source, j.batch * j.proj * size)
    if config.lstm:
        source = j.cell
        if j.steps and config.train:
            source = j.cells + (0 if config.reverse else (j.steps - 1) * j.batch * j.hidden * size)
        memcpy(j.c, source, j.batch * j.hidden * size)
    release(&r, scratch)
    return 0


cdef int launch_back(void* self, void** ptrs, const int64_t* dims, const uint64_t* scalars, int64_t stream) noexcept nogil:
    """Operands of the layer, then out, acts, cells and the gradients of out, h and c; each of the last may be absent."""
    cdef const Config* config = <const Config*>self
    cdef Job j
    cdef Reader r
    cdef int64_t size = config.size, all_gates, total, i, at
    cdef char* memory
    cdef char* scratch
    cdef char* nothing
    begin(&j, &r, config, ptrs, dims)
    j.out = read(&r, ptrs[9], 3, j.steps, j.batch, j.proj, size)
    j.acts = read(&r, ptrs[10], 3, j.steps, j.batch, config.kept * j.hidden, size)
    j.cells = read(&r, ptrs[11], 3, j.steps, j.batch, j.hidden, size)
    # Rows without gaps are enough here.
    if ptrs[12] != NULL and r.dims[2] == 1:
        j.g_out, j.g_step, j.g_row = <char*>ptrs[12], r.dims[0] * size, r.dims[1] * size
        r.dims += 3
    else:
        j.g_out = read(&r, ptrs[12], 3, j.steps, j.batch, j.proj, size)
        j.g_step, j.g_row = j.batch * j.proj * size, j.proj * size
    j.g_h = read(&r, ptrs[13], 2, 0, j.batch, j.proj, size)
    j.g_c = read(&r, ptrs[14], 2, 0, j.batch, j.hidden, size)
    at = 15
    j.d_in = j.d_state = <char*>ptrs[at]
    j.d_h0 = <char*>ptrs[at + 1]
    at += 2
    if config.gru:
        j.d_state = <char*>ptrs[at]
        at += 1
    if config.lstm:
        j.d_c0 = <char*>ptrs[at]
        at += 1
    if config.projected:
        j.d_proj = <char*>ptrs[at]
    if j.batch == 0 or j.hidden == 0:
        return 0
    all_gates = config.gates * j.hidden
    j.n = j.proj
    j.padded_n = round_up(j.proj, config.width)
    j.p_room = round_up(j.hidden, config.width)
    total = packed_bytes(config, all_gates, j.proj) + j.batch * (j.padded_n + 2 * j.proj + j.hidden + j.p_room) * size + j.proj * size
    total += j.batch + 16 * ALIGN
    if config.projected:
        total += packed_bytes(config, j.proj, j.hidden)
    scratch = memory = <char*>scratch_alloc(total)
    if scratch == NULL or r.bad:
        release(&r, scratch)
        return no_memory()
    j.packed = carve(&memory, packed_bytes(config, all_gates, j.proj))
    pack_matrix(config, j.packed, j.w_hh, all_gates, j.proj, j.proj, 1)
    if config.projected:
        j.packed_ho = carve(&memory, packed_bytes(config, j.proj, j.hidden))
        pack_matrix(config, j.packed_ho, j.w_ho, j.proj, j.hidden, 1, j.proj)
    j.sums = carve(&memory, j.batch * j.padded_n * size)
    j.passed = carve(&memory, j.batch * j.proj * size)
    j.before = carve(&memory, j.batch * j.proj * size)
    j.cell = carve(&memory, j.batch * j.hidden * size)
    j.hidden_states = carve(&memory, j.batch * j.p_room * size)
    j.mask = carve(&memory, j.batch)
    nothing = carve(&memory, j.proj * size)
    memset(nothing, 0, j.proj * size)
    memset(j.passed, 0, j.batch * j.proj * size)
    memset(j.cell, 0, j.batch * j.hidden * size)
    memset(j.sums, 0, j.batch * j.padded_n * size)
    if j.g_out == NULL:
        j.g_out, j.g_step, j.g_row = nothing, 0, 0
    if j.g_h != NULL:
        # Where a sequence has ended nothing comes through the matmul.
        if config.masked:
            memcpy(j.passed, j.g_h, j.batch * j.proj * size)
        else:
            for i in range(j.batch):
                memcpy(j.sums + i * j.padded_n * size, j.g_h + i * j.proj * size, j.proj * size)
    if j.g_c != NULL:
        memcpy(j.cell, j.g_c, j.batch * j.hidden * size)
    run_parts(&j)
    for i in range(j.batch):
        finish_row(&j, i)
    if config.lstm:
        memcpy(j.d_c0, j.cell, j.batch * j.hidden * size)
    release(&r, scratch)
    return 0


cdef void finish_row(Job* j, int64_t row) noexcept nogil:
    """The gradient of the first state: what came through the matmul, and past it."""
    cdef int64_t i, size = j.config.size
    cdef const char* a = j.sums + row * j.padded_n * size
    cdef const char* b = j.passed + row * j.proj * size
    cdef char* to = j.d_h0 + row * j.proj * size
    for i in range(j.proj):
        if j.config.wide:
            (<double*>to)[i] = (<const double*>a)[i] + (<const double*>b)[i]
        else:
            (<float*>to)[i] = (<const float*>a)[i] + (<const float*>b)[i]


cdef int set_elementwise(Elementwise* f, tuple function, int mask) except -1:
    cdef int i
    address, slots, _ = function
    if len(slots) > MAX_SLOTS:
        raise ValueError(f"[Recurrent] requires at most {MAX_SLOTS} accesses, got {len(slots)}")
    f.kernel = <kernel_t><void*><size_t>address
    f.n = len(slots)
    f.mask = mask
    for i in range(f.n):
        f.slot[i] = slots[i]
    return 0


cdef class Recurrent:
    """A class of calls: the compiled functions and what they are for. It must outlive its launches; plans keep it.

    ``step`` and ``project`` are kernels and the slot of their mask (-1: none); ``project`` may be absent.
    """
    cdef Config config
    cdef object keep
    cdef readonly size_t address, self_pointer

    def __init__(self, dict functions, object keep, *, tuple step, tuple project, int gates, int kept, bint lstm, bint gru, bint reverse,
                 bint train, bint masked, bint projected, bint gradient, bint wide, bint lengths_wide, int lanes, int width, int rows, bint strips=False, bint narrow=False, bint units=False):
        cdef int i
        if rows > MAX_ROWS or width > 64:
            raise ValueError(f"[Recurrent] requires tiles of at most {MAX_ROWS} by 64, got {rows} by {width}")
        self.keep = (keep, step, project)
        for i in range(1, rows + 1):
            self.config.matmul[i] = <matmul_t><void*><size_t>functions[f"matmul_{i}"]
        self.config.pack, self.config.copy = <pack_t><void*><size_t>functions["pack"], <copy_t><void*><size_t>functions["copy"]
        set_elementwise(&self.config.step, step[0], step[1])
        if project is not None:
            set_elementwise(&self.config.project, project[0], project[1])
        self.config.projected = projected
        self.config.gates, self.config.kept, self.config.lstm, self.config.gru = gates, kept, lstm, gru
        self.config.reverse, self.config.train, self.config.masked, self.config.gradient = reverse, train, masked, gradient
        self.config.wide, self.config.lengths_wide, self.config.size = wide, lengths_wide, 8 if wide else 4
        if narrow and not (strips and NARROW_COMPILED):
            raise ValueError("[Recurrent] requires weights in strips, and a compiler that knows the instructions, for bfloat16")
        self.config.width, self.config.rows, self.config.lanes = width, rows, lanes
        self.config.strips, self.config.narrow, self.config.units = strips, narrow, units
        self.address = <size_t><void*>launch_back if gradient else <size_t><void*>launch
        self.self_pointer = <size_t><void*>&self.config


globals().update(MAX_ROWS=MAX_ROWS, NARROW=(NARROW_COLUMNS, NARROW_TERMS) if NARROW_COMPILED else None)
