"""The launch of ``matmul``: batches and strides brought to a canonical problem, and what runs it.

``dims`` are sizes and strides of x, of y, and the strides of the result. With an epilogue, its operands come between y and
the result: a bias is contiguous, a residual lies like the result. With ``strip`` y is given as ``[strips, k / 2, strip of n, 2]`` in bfloat16, ``[strips, k, strip of n]`` in float32,
contiguous, the last strip filled up, and k up to ``block``; ``dims`` say what it holds, its strides are not read. A launch that ``widens`` multiplies 16-bit floats into float32; it has no epilogue.
"""
from libc.stdint cimport int64_t, uint64_t
from libc.stdio cimport snprintf
from libc.string cimport memset

from umiak.backends.cpu.providers.common cimport (
    LIBRARY_FAILED, MAX_AXES, NO_MEMORY, copy_strided, dense, scratch_free, launch_t, scratch_alloc, threads, zero_strided,
)
from umiak.backends.cpu.providers.few_rows cimport NOT_TAKEN, few_rows
from umiak.backends.cpu.providers.gemm cimport (
    T_BF16, T_F16, T_F32, USE_ONEDNN, USE_SMALL, check, gemm, itemsize_of, narrow, small, widen,
)
from umiak.backends.cpu.providers.onednn cimport *
from umiak.backends.cpu.providers.packed_matmul cimport PACKED_STRIP, PackedMatmul, multiplies_packed, packed_matmul, worth_packing
from umiak.backends.cpu.providers.split_matmul cimport worth_splitting
from umiak.backends.cpu.providers.table cimport Entry, Shapes, Table, add, find, release
from umiak.compiler.codes cimport MAX_EPILOGUE

cdef extern from "processor.h" nogil:
    bint processor_multiplies_bf16()
    int processor_vectors()

cdef extern from "epilogue.h" nogil:
    enum:
        STEP_BIAS, STEP_ADD, STEP_RELU, STEP_TANH, STEP_SIGMOID, STEP_SILU, STEP_GELU_TANH, STEP_GELU_ERF, STEP_HARD_SWISH
    void epilogue_row(int kind, int dtype, void* c, int64_t at, int64_t step, const void* other, int64_t other_at,
                      int64_t other_step, int64_t n, double number)

cdef enum:
    MATRIX_WIDTHS = 4                 # of strips
    TERM_PAIRS = 2                  # terms that lie side by side
    FEW_ROWS = 16              # up to which the library is faster by a matrix in strips,
    MANY_COLUMNS = 8           # and convolves faster from so many columns per term on
    SMALL_MATRIX = 4096        # elements
cdef int* WIDTH = [16, 32, 48, 64]
BLOCKS = 2, 32
cdef int64_t ONE = 1, NONE = 0

cdef bint NATIVE_BF16 = processor_multiplies_bf16()

cdef enum:
    TINY_BF16 = 4096
    FEW_BY_LIBRARY = 1 << 14   # elements of a matrix of float32, of which a few rows are left to others
    ROWS_READ_ONCE = 4         # up to which a library is slower by a matrix that lies in memory,
    ROWS_BY_TRANSPOSED = 8     # by a transposed one of float32,
    ROWS_WIDENED = 32          # and by one that is widened as a whole: of float16, of bfloat16 without its instructions
    SMALL_BIAS = 1 << 16       # a matmul of so few steps and its bias are done before a primitive for AVX-512 has started,
    SMALLER_VECTORS = 1 << 18  # of so many before one for AVX2 has
    LONG_BIAS = 64             # from so many products per element and thread on, a pass for the bias costs less than a primitive

cdef struct Launcher:
    int dtype, itemsize, rank_x, rank_y, rank_out
    bint tx, ty
    int libs
    int steps
    int step[MAX_EPILOGUE]
    int extras                 # operands of the epilogue
    int strip, block           # y is given in strips of so many columns, and a multiple of so many rows; 0: as dims say
    bint bias                  # which is a bias, in float32
    Table* table
    bint widens                # operands are of 16 bits, the result is of float32
    bint matrices              # two matrices of float32, with no more than a bias: see ``fast_path``

cdef struct Problem:
    int batches
    int64_t size[MAX_AXES]     # of the batch axes, and strides of the three along them
    int64_t a_by[MAX_AXES]
    int64_t b_by[MAX_AXES]
    int64_t c_by[MAX_AXES]
    int64_t m, n, k, am, ak, bk, bn, cm, cn
    char* a
    char* b
    char* c


cdef inline void parse(Launcher* self, const int64_t* dims, Problem* q) noexcept nogil:
    """The problem as it is given."""
    cdef int rx = self.rank_x, ry = self.rank_y, bx, by, i, j
    cdef const int64_t* xs = dims
    cdef const int64_t* xt = xs + rx
    cdef const int64_t* ys = xt + rx
    cdef const int64_t* yt = ys + ry
    cdef const int64_t* ct = yt + ry
    cdef int64_t nx, ny
    bx, by = max(rx - 2, 0), max(ry - 2, 0)
    q.batches = max(bx, by)
    for i in range(q.batches):
        nx = ny = 1
        q.a_by[i] = q.b_by[i] = 0
        j = i - (q.batches - bx)
        if j >= 0 and xs[j] != 1:
            nx, q.a_by[i] = xs[j], xt[j]
        j = i - (q.batches - by)
        if j >= 0 and ys[j] != 1:
            ny, q.b_by[i] = ys[j], yt[j]
        q.size[i], q.c_by[i] = ny if nx == 1 else nx, ct[i]
    ct += q.batches
    q.m, q.am, q.k, q.ak, q.cm = 1, 0, xs[0], xt[0], 0
    if rx > 1:
        i, j = rx - 2, rx - 1
        if self.tx:
            i, j = j, i
        q.m, q.am, q.k, q.ak, q.cm = xs[i], xt[i], xs[j], xt[j], ct[0]
        ct += 1
    q.n, q.bn, q.bk, q.cn = 1, 0, yt[0], 0
    if ry > 1:
        i, j = ry - 2, ry - 1
        if self.ty:
            i, j = j, i
        q.bk, q.n, q.bn, q.cn = yt[i], ys[j], yt[j], ct[0]


cdef inline void simplify(Launcher* self, Problem* q) noexcept nogil:
    """Fewer batch axes: those of size 1 go, neighbours merge, and an axis that one matrix is shared along becomes part of
    the other's rows or columns: one long matmul."""
    cdef int i, count = 0, last
    for i in range(q.batches):
        if q.size[i] == 1:
            continue
        last = count - 1
        if (
            count and q.a_by[last] == q.a_by[i] * q.size[i] and q.b_by[last] == q.b_by[i] * q.size[i]
            and q.c_by[last] == q.c_by[i] * q.size[i]
        ):
            q.size[last] *= q.size[i]
        else:
            last = count
            count += 1
            q.size[last] = q.size[i]
        q.a_by[last], q.b_by[last], q.c_by[last] = q.a_by[i], q.b_by[i], q.c_by[i]
    while count:
        i = count - 1
        if q.b_by[i] == 0 and (q.m == 1 or q.a_by[i] == q.am * q.m and q.c_by[i] == q.cm * q.m):
            if q.m == 1:
                q.am, q.cm = q.a_by[i], q.c_by[i]
            q.m *= q.size[i]
        elif q.a_by[i] == 0 and not self.steps and not self.strip and (q.n == 1 or q.b_by[i] == q.bn * q.n and q.c_by[i] == q.cn * q.n):
            if q.n == 1:
                q.bn, q.cn = q.b_by[i], q.c_by[i]
            q.n *= q.size[i]
        else:
            break
        count = i
    q.batches = count


cdef inline bint advance(Problem* q, int64_t* at, int64_t* a, int64_t* b, int64_t* c) noexcept nogil:
    """Offsets of the next batch; False after the last."""
    cdef int i = q.batches - 1
    while i >= 0:
        at[i] += 1
        a[0] += q.a_by[i]
        b[0] += q.b_by[i]
        c[0] += q.c_by[i]
        if at[i] < q.size[i]:
            return True
        a[0] -= at[i] * q.a_by[i]
        b[0] -= at[i] * q.b_by[i]
        c[0] -= at[i] * q.c_by[i]
        at[i] = 0
        i -= 1
    return False


cdef inline int result_size(const Launcher* self) noexcept nogil:
    """Bytes of an element of the result."""
    return sizeof(float) if self.widens else self.itemsize


cdef int each(Launcher* self, Problem* q) noexcept nogil:
    """One matmul after the other."""
    cdef int64_t at[MAX_AXES]
    cdef int64_t a = 0, b = 0, c = 0
    cdef int i, bad, size = self.itemsize
    for i in range(q.batches):
        at[i] = 0
    while True:
        if self.dtype == T_BF16 or self.dtype == T_F16:
            bad = wide(self, q, q.a + a * size, q.b + b * size, q.c + c * result_size(self))
        else:
            bad = gemm(
                self.libs, self.dtype, q.m, q.n, q.k, q.a + a * size, q.am, q.ak, q.b + b * size, q.bk, q.bn,
                q.c + c * size, q.cm, q.cn, False,
            )
        if bad or not advance(q, at, &a, &b, &c):
            return bad


cdef int wide(Launcher* self, Problem* q, char* a, char* b, char* c) noexcept nogil:
    """A matmul of 16-bit floats in float32: copied, widened, multiplied, narrowed."""
    cdef int64_t na = q.m * q.k, nb = q.k * q.n, nc = q.m * q.n
    cdef float* fa = <float*>scratch_alloc((na + nb + nc) * 6)
    cdef float* fb = fa + na
    cdef float* fc = fb + nb
    cdef char* h = <char*>(fc + nc)
    cdef int64_t sizes[2]
    cdef int64_t to[2]
    cdef int64_t by[2]
    cdef int bad
    if fa == NULL:
        return NO_MEMORY
    sizes[0], sizes[1], to[0], to[1], by[0], by[1] = q.m, q.k, q.k, 1, q.am, q.ak
    copy_strided(h, to, a, by, sizes, 2, 2)
    sizes[0], sizes[1], to[0], to[1], by[0], by[1] = q.k, q.n, q.n, 1, q.bk, q.bn
    copy_strided(h + 2 * na, to, b, by, sizes, 2, 2)
    widen(self.dtype, h, fa, na + nb)
    if self.widens:
        bad = gemm(self.libs, T_F32, q.m, q.n, q.k, fa, q.k, 1, fb, q.n, 1, c, q.cm, q.cn, False)
        scratch_free(fa)
        return bad
    bad = gemm(self.libs, T_F32, q.m, q.n, q.k, fa, q.k, 1, fb, q.n, 1, fc, q.n, 1, False)
    if not bad:
        narrow(self.dtype, fc, h, nc)
        sizes[0], sizes[1], to[0], to[1], by[0], by[1] = q.m, q.n, q.cm, q.cn, q.n, 1
        copy_strided(c, to, h, by, sizes, 2, 2)
    scratch_free(fa)
    return bad


cdef int finish(Launcher* self, Problem* q, void** extra) noexcept nogil:
    """The epilogue by itself, after the matmul."""
    cdef int64_t at[MAX_AXES]
    cdef int64_t a, b, c, i
    cdef int s, taken = 0
    for s in range(self.steps):
        for i in range(q.batches):
            at[i] = 0
        a = b = c = 0
        while True:
            for i in range(q.m):
                if self.step[s] == STEP_BIAS:
                    epilogue_row(STEP_BIAS, self.dtype, q.c, c + i * q.cm, q.cn, extra[taken], 0, 1, q.n, 0)
                elif self.step[s] == STEP_ADD:
                    epilogue_row(STEP_ADD, self.dtype, q.c, c + i * q.cm, q.cn, extra[taken], c + i * q.cm, q.cn, q.n, 0)
                else:
                    epilogue_row(self.step[s], self.dtype, q.c, c + i * q.cm, q.cn, NULL, 0, 0, q.n, 0)
            if not advance(q, at, &a, &b, &c):
                break
        if self.step[s] == STEP_BIAS or self.step[s] == STEP_ADD:
            taken += 1
    return 0


# --- oneDNN's matmul primitive --------------------------------------------------------------------------------------


cdef inline bint direct(int64_t rows, int64_t columns, int64_t by_row, int64_t by_column) noexcept nogil:
    """Return whether the primitive takes a matrix as it lies."""
    return (
        (by_column == 1 or columns == 1) and (by_row >= columns or rows == 1)
        or (by_row == 1 or rows == 1) and (by_column >= rows or columns == 1)
    )


cdef inline bint positive(Problem* q, const int64_t* by, bint zero) noexcept nogil:
    cdef int i
    for i in range(q.batches):
        if by[i] < 0 or by[i] == 0 and not zero:
            return False
    return True


cdef char* packed(Launcher* self, Problem* q, char* x, int64_t* by, int64_t rows, int64_t columns, int64_t* br, int64_t* bc) noexcept nogil:
    """A contiguous copy of an operand (of each matrix once), its strides changed accordingly."""
    cdef int64_t sizes[MAX_AXES]
    cdef int64_t old[MAX_AXES]
    cdef int64_t new[MAX_AXES]
    cdef int i, r = q.batches + 2
    cdef int64_t n = rows * columns
    cdef char* copy
    for i in range(q.batches):
        sizes[i], old[i] = (q.size[i] if by[i] else 1), by[i]
        n *= sizes[i]
    sizes[r - 2], sizes[r - 1], old[r - 2], old[r - 1] = rows, columns, br[0], bc[0]
    dense(sizes, r, new)
    copy = <char*>scratch_alloc(n * self.itemsize)
    if copy != NULL:
        copy_strided(copy, new, x, old, sizes, r, self.itemsize)
        for i in range(q.batches):
            by[i] = new[i] if by[i] else 0
        br[0], bc[0] = new[r - 2], new[r - 1]
    return copy


cdef handle_t matrix_desc(Library* lib, int dtype, Problem* q, const int64_t* by, int64_t rows, int64_t columns, int64_t br, int64_t bc) noexcept nogil:
    cdef dims_t sizes
    cdef dims_t strides
    cdef handle_t desc = NULL
    cdef int i, r = q.batches + 2
    cdef int64_t outer
    sizes[r - 2], sizes[r - 1] = rows, columns
    # A single row or column has the stride that it would have in a matrix.
    strides[r - 2] = br if rows > 1 else columns if columns == 1 or bc == 1 else 1
    strides[r - 1] = bc if columns > 1 else rows if br == 1 and rows > 1 else 1
    outer = max(strides[r - 2] * rows, strides[r - 1] * columns)
    for i in range(q.batches - 1, -1, -1):
        sizes[i], strides[i] = 1, outer
        if by[i]:
            sizes[i], strides[i] = q.size[i], by[i]
        outer = max(outer, strides[i] * sizes[i])
    if lib.desc_strided(&desc, r, sizes, BF16 if dtype == T_BF16 else F16 if dtype == T_F16 else F32, strides):
        return NULL
    return desc


cdef handle_t strips_desc(int64_t terms, int64_t columns, int width, int block, bint kernels) noexcept nogil:
    """A matrix in strips, or ``kernels`` of one tap that lie so; NULL where the library knows none such."""
    cdef handle_t desc = NULL
    cdef int64_t sizes[3]
    cdef char name[24]
    if kernels:
        sizes[0], sizes[1], sizes[2] = columns, terms, 1
        snprintf(name, sizeof(name), "AcB%db%da2b", block // TERM_PAIRS, width)
    else:
        sizes[0], sizes[1] = terms, columns
        snprintf(name, sizeof(name), "BA%da%db2a", block // TERM_PAIRS, width)
    return NULL if library().desc_named(&desc, 3 if kernels else 2, sizes, BF16, name) else desc


cdef handle_t image_desc(int64_t rows, int64_t columns, int64_t by) noexcept nogil:
    """Rows as the places of one image with channels last."""
    cdef handle_t desc = NULL
    cdef int64_t sizes[3]
    cdef int64_t strides[3]
    sizes[0], sizes[1], sizes[2] = 1, columns, rows
    strides[0], strides[1], strides[2] = by * rows, 1, by
    return NULL if library().desc_strided(&desc, 3, sizes, BF16, strides) else desc


cdef int out_of_strips(const Launcher* self, Problem* q, char** out) noexcept nogil:
    """y out of strips, as a matrix with contiguous columns. The caller frees it."""
    cdef int64_t sizes[3]
    cdef int64_t source[3]
    cdef int64_t target[3]
    cdef int64_t width = self.strip, filled = q.n // width, depth = (q.k + self.block - 1) // self.block * self.block
    cdef int i, size = self.itemsize, side = min(self.block, TERM_PAIRS)
    out[0] = <char*>scratch_alloc(q.n * q.k * size)
    if out[0] == NULL:
        return NO_MEMORY
    # Out of [strips, k / side, width, side] into [strips, width, k / side, side]; then those of the last strip.
    source[0], source[1], source[2] = depth * width, side, width * side
    target[0], target[1], target[2] = width * q.k, q.k, side
    for i in range(side):
        sizes[0], sizes[1], sizes[2] = filled, width, (q.k - i + side - 1) // side
        copy_strided(out[0] + i * size, target, q.b + i * size, source, sizes, 3, size)
        sizes[0], sizes[1] = 1, q.n % width
        if sizes[1]:
            copy_strided(out[0] + (filled * target[0] + i) * size, target, q.b + (filled * source[0] + i) * size, source, sizes, 3, size)
    q.b, q.bk, q.bn = out[0], 1, q.k
    return 0


cdef int ELTWISE[8]
ELTWISE[:] = [0, 0, ELTWISE_RELU, ELTWISE_TANH, ELTWISE_LOGISTIC, ELTWISE_SWISH, ELTWISE_GELU_TANH, ELTWISE_GELU_ERF]


cdef bint is_convolution(const Launcher* self, const Problem* q) noexcept nogil:
    """Return whether a product by a matrix in strips had better be a convolution of kernel 1: of many rows."""
    cdef int i
    for i in range(1, self.steps):
        if self.step[i] == STEP_BIAS:
            return False
    return self.strip and q.m > FEW_ROWS and q.ak == 1 and q.am >= q.k and q.cm >= q.n


cdef Program* build(Launcher* self, Problem* q, bint convolution) noexcept nogil:
    """The primitive for this problem; an empty program where the library has only plain loops."""
    cdef Library* lib = library()
    cdef Program* p = new_program()
    cdef Step* step
    cdef handle_t a, b, c, bias = NULL, attr = NULL, ops = NULL, pd = NULL
    cdef dims_t sizes
    cdef dims_t strides
    cdef int i, r = 1 if convolution else q.batches + 2, first = 0, extra = 3, bad
    if p == NULL:
        return NULL
    if convolution:
        a, c = image_desc(q.m, q.k, q.am), image_desc(q.m, q.n, q.cm)
    else:
        a = matrix_desc(lib, self.dtype, q, q.a_by, q.m, q.k, q.am, q.ak)
        c = matrix_desc(lib, T_F32 if self.widens else self.dtype, q, q.c_by, q.m, q.n, q.cm, q.cn)
    if self.strip:
        b = strips_desc(q.k, q.n, self.strip, self.block, convolution)
    else:
        b = matrix_desc(lib, self.dtype, q, q.b_by, q.k, q.n, q.bk, q.bn)
    for i in range(r):
        sizes[i], strides[i] = 1, q.n
    sizes[r - 1], strides[r - 1] = q.n, 1
    bad = a == NULL or b == NULL or c == NULL or lib.attr_create(&attr) or lib.attr_scratchpad(attr, 1)
    if not bad and self.steps:
        bad = (
            lib.desc_strided(&bias, r, sizes, BF16 if self.dtype == T_BF16 else F16 if self.dtype == T_F16 else F32, strides)
            or lib.post_ops_create(&ops)
        )
        first = self.step[0] == STEP_BIAS
        for i in range(first, self.steps):
            if bad:
                break
            if self.step[i] == STEP_BIAS or self.step[i] == STEP_ADD:
                bad = lib.append_binary(ops, BINARY_ADD, bias if self.step[i] == STEP_BIAS else c)
            elif self.step[i] == STEP_HARD_SWISH:
                bad = lib.append_eltwise(ops, ELTWISE_HARD_SWISH, 1.0 / 6, 0.5)
            else:
                bad = lib.append_eltwise(ops, ELTWISE[self.step[i]], 1 if self.step[i] == STEP_SILU else 0, 0)
        bad = bad or lib.attr_post_ops(attr, ops)
    if not bad and convolution:
        bad = lib.conv(
            &pd, lib.engine, FORWARD_INFERENCE, CONVOLUTION_DIRECT, a, b, bias if first else NULL, c, &ONE, &NONE, &NONE, &NONE, attr
        )
    elif not bad:
        bad = lib.matmul(&pd, lib.engine, a, b, bias if first else NULL, c, attr)
    if bad:
        bad = 0                    # there is none
    elif not is_reference(pd):
        step = add_step(p, pd)
        bad = (
            step == NULL or add_argument(step, ARG_SRC, add_buffer(p, a, 0)) or add_argument(step, ARG_WEIGHTS, add_buffer(p, b, 1))
            or add_argument(step, ARG_DST, add_buffer(p, c, 2))
        )
        for i in range(self.steps):
            if bad:
                break
            if i == 0 and first:
                bad = add_argument(step, ARG_BIAS, add_buffer(p, bias, extra))
                extra += 1
            elif self.step[i] == STEP_BIAS or self.step[i] == STEP_ADD:
                bad = add_argument(
                    step, (ARG_POST_OP * (i - first + 1)) | ARG_POST_OP_SRC,
                    add_buffer(p, bias if self.step[i] == STEP_BIAS else c, extra),
                )
                extra += 1
    drop(a)
    drop(b)
    drop(c)
    drop(bias)
    if pd != NULL:
        lib.pd_destroy(pd)
    drop_wishes(ops, attr)
    if bad:
        free_program(p)
        return NULL
    return p


cdef int primitive(Launcher* self, Problem* q, void** extra, bint* done) noexcept nogil:
    """Run the problem as one primitive; ``done`` stays False where the library has none worth running."""
    cdef int64_t key[5 * 12 + 16]
    cdef int words = 0, i, bad, before
    cdef Entry* e
    cdef Program* p
    cdef char* copy_a = NULL
    cdef char* copy_b = NULL
    cdef void* pointers[3 + MAX_EPILOGUE]
    if q.batches > 8 or not (direct(q.m, q.n, q.cm, q.cn) and (q.cn == 1 or q.n == 1)) or not positive(q, q.c_by, False):
        return 0
    if not direct(q.m, q.k, q.am, q.ak) or not positive(q, q.a_by, True):
        q.a = copy_a = packed(self, q, q.a, q.a_by, q.m, q.k, &q.am, &q.ak)
        if q.a == NULL:
            return NO_MEMORY
    if not direct(q.k, q.n, q.bk, q.bn) or not positive(q, q.b_by, True):
        q.b = copy_b = packed(self, q, q.b, q.b_by, q.k, q.n, &q.bk, &q.bn)
        if q.b == NULL:
            scratch_free(copy_a)
            return NO_MEMORY
    key[0], key[1], key[2], key[3], key[4] = threads() | self.strip << 16, q.batches, q.m, q.n, q.k
    key[5], key[6], key[7], key[8], key[9] = q.am, q.ak, q.bk, q.bn, q.cm
    words = 10
    for i in range(q.batches):
        key[words], key[words + 1], key[words + 2], key[words + 3] = q.size[i], q.a_by[i], q.b_by[i], q.c_by[i]
        words += 4
    bad = 0
    before = enter()
    e = find(self.table, key, words)
    if e == NULL:
        p = build(self, q, is_convolution(self, q))
        if p != NULL and not p.step_count and is_convolution(self, q):
            free_program(p)
            p = build(self, q, False)
        if p != NULL:
            e = add(self.table, key, words, p)
    if e == NULL:
        bad = LIBRARY_FAILED
    else:
        p = <Program*>e.value
        if p.step_count:
            pointers[0], pointers[1], pointers[2] = q.a, q.b, q.c
            for i in range(self.extras):
                pointers[3 + i] = extra[i]
            bad = run_program(p, pointers)
            done[0] = True
        release(self.table, e)
    leave(before)
    if done[0] or bad:
        scratch_free(copy_a)
        scratch_free(copy_b)
        return bad
    # The copies are used by what runs instead, which is rare; it takes care of their lifetime by running here.
    if not self.strip:
        bad = each(self, q)
        if not bad:
            bad = finish(self, q, extra)
        done[0] = True
    scratch_free(copy_a)
    scratch_free(copy_b)
    return bad


cdef int64_t BIAS_APART = SMALLER_VECTORS if processor_vectors() == 1 else SMALL_BIAS


cdef inline bint apart(int64_t m, int64_t n, int64_t k) noexcept nogil:
    """Return whether a bias is added without a primitive."""
    return m * n * k <= BIAS_APART or k >= LONG_BIAS * threads()


cdef inline bint fast_path(Launcher* self, void** ptrs, const int64_t* dims) noexcept nogil:
    """Return whether two matrices were few enough numbers to be multiplied without looking at the problem in general."""
    cdef int i = self.tx, j = self.ty
    cdef int64_t m = dims[i], k = dims[1 - i], n = dims[5 - j], ldc = dims[8]
    if dims[9] != 1 or ldc < n and m > 1 or self.extras and not apart(m, n, k):
        return False
    return small(
        m, n, k, <const float*>ptrs[0], dims[2 + i], dims[3 - i], <const float*>ptrs[1], dims[6 + j], dims[7 - j],
        <float*>ptrs[2 + self.extras], ldc, <const float*>ptrs[2] if self.extras else NULL,
    )


cdef inline bint wants_primitive(Launcher* self, Problem* q) noexcept nogil:
    if not self.libs & USE_ONEDNN or self.table == NULL:
        return False
    cdef bint packs = self.dtype == T_F32 and worth_packing(q.m, q.n, q.k, q.bk, q.bn)
    if self.bias and (apart(q.m, q.n, q.k) or packs and not q.batches):
        return False
    if self.dtype == T_BF16 and not self.steps and not NATIVE_BF16:
        return False               # as float32
    if self.steps or self.dtype == T_BF16:
        # The smallest are widened and done before a primitive has started.
        return self.steps or q.batches or q.m * q.n * q.k > TINY_BF16
    if self.dtype != T_F32 or worth_splitting(q.m, q.n, q.k):
        return False
    if q.batches and threads() > 1:
        return q.m * q.n * q.k > 4096 or q.size[q.batches - 1] > 16
    if packs:
        return False
    # Columns of y that are contiguous: sgemm packs them slowly unless there are many rows to share that.
    return q.bn != 1 and q.bk == 1 and q.n > 1 and q.m > 16 and q.m < 768 and q.m * q.n * q.k > 1 << 18


cdef inline bint reads_once(Launcher* self, Problem* q) noexcept nogil:
    """Return whether the second matrix takes longer to come from memory than to be multiplied, or libraries to begin."""
    if q.batches or self.widens or not self.libs & USE_SMALL:
        return False
    if self.dtype == T_F32:
        return q.m <= (ROWS_BY_TRANSPOSED if q.bk == 1 else ROWS_READ_ONCE) and q.n * q.k > FEW_BY_LIBRARY
    if self.dtype != T_BF16 and self.dtype != T_F16:
        return False
    if self.dtype == T_BF16 and not NATIVE_BF16 and q.bk == 1:
        # However many rows: so each gets the same bits alone and beside others.
        return q.n * q.k > TINY_BF16
    if q.m * q.n * q.k <= TINY_BF16:
        return False
    return q.m <= (ROWS_READ_ONCE if self.dtype == T_BF16 and NATIVE_BF16 else ROWS_WIDENED)


cdef int launch(void* state, void** ptrs, const int64_t* dims, const uint64_t* scalars, int64_t stream) noexcept nogil:
    cdef Launcher* self = <Launcher*>state
    cdef Problem q
    cdef int64_t sizes[MAX_AXES]
    cdef int64_t to[MAX_AXES]
    cdef int i, r
    if self.matrices and fast_path(self, ptrs, dims):
        return 0
    parse(self, dims, &q)
    q.a, q.b, q.c = <char*>ptrs[0], <char*>ptrs[1], <char*>ptrs[2 + self.extras]
    if q.m == 0 or q.n == 0:
        return 0
    for i in range(q.batches):
        if q.size[i] == 0:
            return 0
    if q.batches:
        simplify(self, &q)
    if q.k == 0:
        r = q.batches + 2
        for i in range(q.batches):
            sizes[i], to[i] = q.size[i], q.c_by[i]
        sizes[r - 2], sizes[r - 1], to[r - 2], to[r - 1] = q.m, q.n, q.cm, q.cn
        zero_strided(q.c, to, sizes, r, result_size(self))
        return finish(self, &q, ptrs + 2)
    if self.strip:
        return launch_strips(self, &q, ptrs + 2)
    return multiply(self, &q, ptrs + 2)


cdef int multiply(Launcher* self, Problem* q, void** extra) noexcept nogil:
    cdef bint done = False
    cdef int bad
    if reads_once(self, q):
        bad = few_rows(self.dtype, q.m, q.n, q.k, q.a, q.am, q.ak, q.b, q.bk, q.bn, q.c, q.cm, q.cn)
        if bad != NOT_TAKEN:
            return bad if bad else finish(self, q, extra)
    if wants_primitive(self, q):
        bad = primitive(self, q, extra, &done)
        if bad or done:
            return bad
    bad = each(self, q)
    if not bad and self.steps:
        bad = finish(self, q, extra)
    return bad


cdef int by_strips(Launcher* self, Problem* q, void** extra) noexcept nogil:
    """Rows by a matrix of float32 in strips, with the steps that the kernel takes: all, or it does none of them."""
    cdef PackedMatmul p
    cdef int64_t at[MAX_AXES]
    cdef int64_t a = 0, b = 0, c = 0
    cdef float* residual = NULL
    cdef int i, taken = 0, order = -1, now, bad
    cdef bint complete = True
    memset(&p, 0, sizeof(p))
    for i in range(self.steps):
        now = 0 if self.step[i] == STEP_BIAS else 1 if self.step[i] == STEP_ADD else 2
        if now <= order or now == 2 and self.step[i] != STEP_RELU and self.step[i] != STEP_HARD_SWISH:
            complete = False
            break
        order = now
        if now == 0:
            p.bias = <const float*>extra[taken]
        elif now == 1:
            residual = <float*>extra[taken]
        taken += now < 2
        p.relu, p.hard_swish = self.step[i] == STEP_RELU, self.step[i] == STEP_HARD_SWISH
    if not complete:
        residual, p.bias, p.relu, p.hard_swish = NULL, NULL, False, False
    p.m, p.n, p.k, p.a_row, p.a_term, p.c_row, p.strips = q.m, q.n, q.k, q.am, q.ak, q.cm, <const float*>q.b
    for i in range(q.batches):
        at[i] = 0
    while True:
        p.a, p.c = <const float*>q.a + a, <float*>q.c + c
        p.residual = NULL if residual == NULL else residual + c
        bad = packed_matmul(&p)
        if bad:
            return bad
        if not advance(q, at, &a, &b, &c):
            break
    return 0 if complete else finish(self, q, extra)


cdef int launch_strips(Launcher* self, Problem* q, void** extra) noexcept nogil:
    cdef Problem given = q[0]
    cdef Launcher bare
    cdef char* matrix = NULL
    cdef bint done = False
    cdef int bad
    if self.dtype == T_F32:
        if self.libs & USE_SMALL and multiplies_packed() and self.strip == PACKED_STRIP and (q.cn == 1 or q.n == 1):
            return by_strips(self, q, extra)
    elif self.libs & USE_ONEDNN and q.batches == 0:
        bad = primitive(self, q, extra, &done)
        if bad or done:
            return bad
    # Everybody else takes a matrix as it is.
    bad = out_of_strips(self, &given, &matrix)
    if bad:
        return bad
    bare = self[0]
    bare.strip = 0
    bad = multiply(&bare, &given, extra)
    scratch_free(matrix)
    return bad


cdef class LaunchState(Shapes):
    """The state of a launch; ``pointer`` is its ``self``."""

    cdef Launcher* self

    def __cinit__(self, int dtype, int rank_x, int rank_y, bint tx, bint ty, int libs, tuple steps=(), tuple strip=(0, 0), bint widens=False):
        if len(steps) > MAX_EPILOGUE:
            raise ValueError(f"[matmul] requires at most {MAX_EPILOGUE} steps after the matmul, got {len(steps)}")
        if widens and (dtype not in (T_BF16, T_F16) or steps or strip[0]):
            raise ValueError("[matmul] requires operands of bfloat16 or float16, no steps and no strips where it widens")
        self.self = <Launcher*>self.launcher(sizeof(Launcher))
        self.self.widens = widens
        self.self.dtype, self.self.itemsize, self.self.libs = dtype, itemsize_of(dtype), libs
        self.self.rank_x, self.self.rank_y, self.self.tx, self.self.ty = rank_x, rank_y, tx and rank_x > 1, ty and rank_y > 1
        self.self.steps, (self.self.strip, self.self.block) = len(steps), strip
        for i, step in enumerate(steps):
            self.self.step[i] = step
            self.self.extras += step == STEP_BIAS or step == STEP_ADD
            self.self.bias = i == 0 and dtype == T_F32 and step == STEP_BIAS and len(steps) == 1
        self.self.matrices = (
            not strip[0] and dtype == T_F32 and libs & USE_SMALL and rank_x == rank_y == 2 and (not steps or self.self.bias and len(steps) == 1)
        )
        check(libs)
        if libs & USE_ONEDNN:
            self.self.table = self.shapes(free_program)


def native_bfloat16():
    """Return whether the processor multiplies bfloat16 itself."""
    return NATIVE_BF16


def strip_of(int64_t m, int64_t n, int64_t k):
    """Return (columns, multiple of rows) of the strips in which the library has the second of two matrices of bfloat16; None where it is as
    fast with one that lies as it is."""
    cdef Library* lib = library()
    cdef Problem q
    cdef handle_t a, b = NULL, c, attr = NULL, pd = NULL, desc
    cdef int64_t sizes[2]
    cdef int i, before
    if not NATIVE_BF16 or m > FEW_ROWS and n < MANY_COLUMNS * k or k * n < SMALL_MATRIX:
        return None
    memset(&q, 0, sizeof(q))
    sizes[0], sizes[1] = k, n
    found = None
    before = enter()
    a = matrix_desc(lib, T_BF16, &q, q.a_by, m, k, k, 1)
    c = matrix_desc(lib, T_BF16, &q, q.c_by, m, n, n, 1)
    if a != NULL and c != NULL and not lib.desc_tagged(&b, 2, sizes, BF16, FORMAT_ANY) and not lib.attr_create(&attr):
        if not lib.matmul(&pd, lib.engine, a, b, NULL, c, attr) and not is_reference(pd):
            for i in range(MATRIX_WIDTHS):
                for block in BLOCKS:
                    desc = strips_desc(k, n, WIDTH[i], block, False)
                    if desc != NULL and lib.desc_equal(lib.pd_desc(pd, QUERY_WEIGHTS, 0), desc):
                        found = WIDTH[i], block
                    drop(desc)
    drop(a)
    drop(b)
    drop(c)
    if pd != NULL:
        lib.pd_destroy(pd)
    drop_wishes(NULL, attr)
    leave(before)
    return found


ADDRESS = <size_t><void*>&launch
STEPS = {
    "bias": STEP_BIAS, "add": STEP_ADD, "relu": STEP_RELU, "tanh": STEP_TANH, "sigmoid": STEP_SIGMOID,
    "silu": STEP_SILU, "gelu_tanh": STEP_GELU_TANH, "gelu": STEP_GELU_ERF, "hard_swish": STEP_HARD_SWISH,
}
