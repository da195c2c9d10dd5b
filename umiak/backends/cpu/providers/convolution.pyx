"""The launch of ``conv``, ``conv_input_grad`` and ``conv_weight_grad``.

``dims`` are sizes and strides of the first operand, of the second, and of the result. ``scalars`` are groups, strides, low pads,
high pads and dilations (and the sizes that the gradients are of). With an epilogue (of ``conv``) its operands come
between w and the result: a bias is contiguous, a residual lies like the result. With ``strip`` w is given as
``[strips, *kernel, c, strip of o]``, contiguous, the last strip filled up; ``dims`` say what it holds, its strides are not read. Of
bfloat16 pairs of input channels lie side by side, ``[strips, *kernel, c / 2, strip of o, 2]``, with c filled up to ``block``.
"""
from libc.stdint cimport int64_t, uint64_t
from libc.stdio cimport snprintf
from libc.string cimport memcpy, memset

from umiak.backends.cpu.providers.im2col cimport (
    FORWARD, INPUT_GRAD, WEIGHT_GRAD, Geometry, by_im2col, by_taps, is_one_matmul, one_matmul, pointwise_weight_grad, put_taps,
    take_taps,
)
from umiak.backends.cpu.providers.common cimport (
    LIBRARY_FAILED, NO_MEMORY, copy_strided, dense, scratch_free, launch_t, scratch_alloc, threads, zero_strided,
)
from umiak.backends.cpu.providers.depthwise cimport After, by_depthwise, is_depthwise
from umiak.backends.cpu.providers.gemm cimport (
    T_BF16, T_F16, T_F32, T_F64, USE_ONEDNN, USE_SMALL, check, itemsize_of, narrow, widen,
)
from umiak.backends.cpu.providers.layout cimport CHANNELS_FIRST, CHANNELS_LAST, ELSEWISE, lies_last, layout_of, strides_of
from umiak.backends.cpu.providers.onednn cimport *
from umiak.backends.cpu.providers.pointwise cimport by_strips, multiplies_strips
from umiak.backends.cpu.providers.table cimport Entry, Shapes, Table, add, find, release
from umiak.backends.cpu.providers.winograd cimport by_winograd, takes_residual, takes_strips, winograd_tile
from umiak.compiler.codes cimport MAX_EPILOGUE

cdef extern from "epilogue.h" nogil:
    enum:
        STEP_BIAS, STEP_ADD, STEP_RELU, STEP_TANH, STEP_SIGMOID, STEP_SILU, STEP_GELU_TANH, STEP_GELU_ERF,
        STEP_HARD_SWISH, STEP_SCALE, STEP_SHIFT
    void epilogue_row(int kind, int dtype, void* c, int64_t at, int64_t step, const void* other, int64_t other_at,
                      int64_t other_step, int64_t n, double number)

cdef extern from "processor.h" nogil:
    int processor_multiplies_bf16()

cdef enum:
    SHARED = 1 << 21           # multiplications below which a library's threads cost more than they gain

cdef enum:                     # how a library's operand is to lie
    AS_GIVEN = 0
    ITS_CHOICE = 1
    BLOCKS = 2                 # blocks of 16 channels
    LAST = 3
    FIRST = 4
    SQUARES = 5                # of weights: blocks of 16 × 16 channels, input channels outside
    SQUARES_TRANSPOSED = 6         # output channels outside

cdef struct Launcher:
    int kind, dtype, itemsize, nd
    int libs
    int steps
    int step[MAX_EPILOGUE]
    double number[MAX_EPILOGUE]         # that a step multiplies by or adds
    int extras                 # operands of the epilogue
    int strip                  # w is given in strips of so many output channels; 0: as dims say
    int block                  # and so many input channels, or a multiple
    Table* table

cdef struct Operand:
    char* data
    int64_t sizes[5]
    int64_t* by                # strides, in the geometry
    int layout


cdef void parse(Launcher* self, const int64_t* dims, const uint64_t* scalars, Geometry* q) noexcept nogil:
    cdef int r = self.nd + 2, i
    cdef const int64_t* a = dims
    cdef const int64_t* b = dims + 2 * r
    cdef const int64_t* c = dims + 4 * r
    cdef const int64_t* x = c if self.kind == INPUT_GRAD else a
    cdef const int64_t* w = c if self.kind == WEIGHT_GRAD else b
    cdef const int64_t* g = a if self.kind == INPUT_GRAD else b if self.kind == WEIGHT_GRAD else c
    q.nd, q.n, q.c, q.o, q.groups = self.nd, x[0], x[1], w[0], <int64_t>scalars[0]
    for i in range(r):
        q.x_by[i], q.w_by[i], q.g_by[i] = x[r + i], w[r + i], g[r + i]
    for i in range(self.nd):
        q.size[i], q.kernel[i], q.out[i] = x[2 + i], w[2 + i], g[2 + i]
        q.stride[i], q.lo[i] = <int64_t>scalars[1 + i], <int64_t>scalars[1 + self.nd + i]
        q.hi[i], q.dilation[i] = <int64_t>scalars[1 + 2 * self.nd + i], <int64_t>scalars[1 + 3 * self.nd + i]


cdef int64_t trim_taps(Launcher* self, Geometry* q) noexcept nogil:
    """Drop outer taps of the kernel that only ever read padding, as 8 of 3 × 3 do on an input of size 1 with padding 1.

    Returns the offset of the first remaining tap in w; -1 where nothing changed.
    """
    cdef int64_t at = 0
    cdef int i
    cdef bint changed = False
    for i in range(self.nd):
        # Tap k at output position p reads input position p * stride - lo + k * dilation.
        while q.kernel[i] > 1 and q.lo[i] >= q.dilation[i] and (q.out[i] - 1) * q.stride[i] < q.lo[i]:
            q.lo[i] -= q.dilation[i]
            q.kernel[i] -= 1
            at += q.w_by[2 + i]
            changed = True
        while q.kernel[i] > 1 and q.hi[i] >= q.dilation[i] and (q.kernel[i] - 1) * q.dilation[i] - q.lo[i] >= q.size[i]:
            q.hi[i] -= q.dilation[i]
            q.kernel[i] -= 1
            changed = True
    return at if changed else -1


cdef void sizes_of(Geometry* q, Operand* x, Operand* w, Operand* g) noexcept nogil:
    cdef int i
    x.by, w.by, g.by = q.x_by, q.w_by, q.g_by
    x.sizes[0], x.sizes[1], w.sizes[0], w.sizes[1], g.sizes[0], g.sizes[1] = q.n, q.c, q.o, q.c // q.groups, q.n, q.o
    for i in range(q.nd):
        x.sizes[2 + i], w.sizes[2 + i], g.sizes[2 + i] = q.size[i], q.kernel[i], q.out[i]


cdef inline int64_t elements(const int64_t* sizes, int r) noexcept nogil:
    cdef int64_t n = 1
    cdef int i
    for i in range(r):
        n *= sizes[i]
    return n


# --- oneDNN ---------------------------------------------------------------------------------------------------------

cdef char** BLOCKED = [b"", b"aBc16b", b"aBcd16b", b"aBcde16b"]
cdef char** SQUARED = [b"", b"ABc16b16a", b"ABcd16b16a", b"ABcde16b16a"]
cdef char** TRANSPOSED = [b"", b"ABc16a16b", b"ABcd16a16b", b"ABcde16a16b"]
# Output channels that a library's kernels may have side by side.
cdef enum:
    WIDTHS = 6
    PAIRS = 2                  # input channels of bfloat16: what dot products take,
    TILES = 32                 # and what matrix units do
cdef int* WIDTH = [8, 16, 24, 32, 48, 64]
cdef int* BLOCKS_OF_CHANNELS = [1, PAIRS, TILES]   # of float32, then of bfloat16
cdef char** TAPS = [b"", b"c", b"cd", b"cde"]
cdef int* ELTWISE = [0, 0, ELTWISE_RELU, ELTWISE_TANH, ELTWISE_LOGISTIC, ELTWISE_SWISH, ELTWISE_GELU_TANH, ELTWISE_GELU_ERF, ELTWISE_HARD_SWISH]


cdef handle_t desc_of(int arrangement, int dtype, const int64_t* sizes, const int64_t* by, int r) noexcept nogil:
    cdef Library* lib = library()
    cdef handle_t desc = NULL
    cdef int64_t last[6]
    cdef int bad, type = BF16 if dtype == T_BF16 else F32
    if arrangement == ITS_CHOICE:
        bad = lib.desc_tagged(&desc, r, sizes, type, FORMAT_ANY)
    elif arrangement == BLOCKS:
        bad = lib.desc_named(&desc, r, sizes, type, BLOCKED[r - 2])
    elif arrangement == SQUARES or arrangement == SQUARES_TRANSPOSED:
        bad = lib.desc_named(&desc, r, sizes, type, SQUARED[r - 2] if arrangement == SQUARES else TRANSPOSED[r - 2])
    elif arrangement == LAST or arrangement == FIRST:
        strides_of(CHANNELS_LAST if arrangement == LAST else CHANNELS_FIRST, sizes, r, last)
        bad = lib.desc_strided(&desc, r, sizes, type, last)
    else:
        bad = lib.desc_strided(&desc, r, sizes, type, by)
    return NULL if bad else desc


cdef handle_t weights_desc(int arrangement, int dtype, const Geometry* q, const int64_t* by) noexcept nogil:
    cdef int64_t sizes[6]
    cdef int64_t strides[6]
    cdef int i, r = q.nd + 2, grouped = q.groups > 1
    cdef int64_t og = q.o // q.groups
    sizes[0], strides[0] = q.groups, og * by[0]
    sizes[grouped], strides[grouped] = og, by[0]
    sizes[grouped + 1], strides[grouped + 1] = q.c // q.groups, by[1]
    for i in range(q.nd):
        sizes[grouped + 2 + i], strides[grouped + 2 + i] = q.kernel[i], by[2 + i]
    return desc_of(arrangement, dtype, sizes, strides, r + grouped)


cdef handle_t strips_desc(const Geometry* q, int width, int block) noexcept nogil:
    """Kernels of one group in strips; NULL where the library knows none such."""
    cdef handle_t desc = NULL
    cdef int64_t sizes[5]
    cdef char name[24]
    cdef int i
    sizes[0], sizes[1] = q.o, q.c
    for i in range(q.nd):
        sizes[2 + i] = q.kernel[i]
    if block == 1:
        snprintf(name, sizeof(name), "A%sb%da", TAPS[q.nd], width)
    elif block == PAIRS:
        snprintf(name, sizeof(name), "A%sB%da2b", TAPS[q.nd], width)
    else:
        snprintf(name, sizeof(name), "A%sB%db%da2b", TAPS[q.nd], block // PAIRS, width)
    if library().desc_named(&desc, q.nd + 2, sizes, F32 if block == 1 else BF16, name):
        return NULL
    return desc


cdef bint known_strips(const Geometry* q, int dtype, handle_t desc, int* width, int* block) noexcept nogil:
    """Return whether ``desc`` has kernels in strips, and say which."""
    cdef handle_t strips
    cdef int i, j
    cdef bint found = False
    for j in range(dtype == T_BF16, 3 if dtype == T_BF16 else 1):
        block[0] = BLOCKS_OF_CHANNELS[j]
        for i in range(WIDTHS):
            strips = strips_desc(q, WIDTH[i], block[0])
            found = strips != NULL and library().desc_equal(desc, strips)
            drop(strips)
            if found:
                width[0] = WIDTH[i]
                return True
    return False


cdef bint is_pointwise(const Geometry* q, bint every) noexcept nogil:
    """Return whether each position sees one place of x, and (``every``) each place is seen."""
    cdef int i
    for i in range(q.nd):
        if q.kernel[i] != 1 or q.lo[i] or q.hi[i] or every and q.stride[i] != 1:
            return False
    return q.groups == 1


cdef bint has_few_positions(const Geometry* q) noexcept nogil:
    """Return whether a matmul for each tap gives the gradient of the kernel faster than the library's primitive does: few
    positions and many channels."""
    cdef int64_t positions = 1
    cdef int i
    for i in range(q.nd):
        positions *= q.out[i]
    return q.groups == 1 and positions <= 16 and q.c >= 128 and q.o >= 128 and not is_pointwise(q, False)


cdef struct Recipe:            # how x, w and g are to lie
    int x, w, g


cdef int recipes(Launcher* self, const Geometry* q, int dtype, bint is_last, Recipe* out) noexcept nogil:
    """List the algorithms to try, the fastest first, as measured (docs/design/providers.md). ``is_last``: x or g has channels last."""
    cdef bint pointwise = is_pointwise(q, False), strided = not is_pointwise(q, True)
    cdef int64_t positions = 1, count = 0
    cdef int i
    cdef Recipe given = Recipe(AS_GIVEN, AS_GIVEN, AS_GIVEN)
    cdef Recipe chosen = Recipe(ITS_CHOICE, ITS_CHOICE, ITS_CHOICE)
    cdef Recipe blocks = Recipe(BLOCKS, ITS_CHOICE, BLOCKS)
    cdef Recipe first = Recipe(FIRST, FIRST, FIRST)
    cdef Recipe last = Recipe(LAST, ITS_CHOICE, LAST)
    cdef Recipe squares = Recipe(LAST, SQUARES if self.kind == FORWARD else SQUARES_TRANSPOSED, LAST)
    for i in range(q.nd):
        positions *= q.out[i]
    cdef bint by_16 = q.c % 16 == 0 and q.o % 16 == 0 and (q.groups == 1 or q.groups == q.c == q.o) and library().isa >= ISA_AVX512
    if self.strip:
        out[0], out[1], count = last, chosen, 2
    elif dtype == T_F32 and self.kind == INPUT_GRAD and q.c <= 8:
        # Blocks of channels would be mostly empty.
        out[0], out[1], count = first, chosen, 2
    elif is_last and by_16 and q.groups == 1 and self.kind != WEIGHT_GRAD:
        out[0], out[1], out[2], count = squares, last, chosen, 3
    elif is_last:
        out[0], out[1], count = last, chosen, 2
    elif pointwise and dtype == T_F32 and self.kind == INPUT_GRAD and (strided or positions >= 160):
        out[0], out[1], count = given, chosen, 2
    elif pointwise and strided and dtype == T_F32 and self.kind == WEIGHT_GRAD and q.o >= q.c:
        out[0], out[1], count = given, chosen, 2
    elif pointwise and dtype == T_F32 and self.kind == FORWARD and positions >= 160 and not (strided and by_16):
        out[0], out[1], count = given, chosen, 2
    elif self.kind == FORWARD and by_16:
        out[0], out[1], count = blocks, chosen, 2
    else:
        out[0], count = chosen, 1
        if by_16:
            out[1], count = blocks, 2
    if count == 2 and out[0].x != LAST:
        out[2], count = last, 3
    return count


cdef handle_t described(Launcher* self, const Geometry* q, int dtype, Recipe recipe, const int64_t* xs, const int64_t* gs) noexcept nogil:
    """A primitive description, or NULL where the library has none but plain loops."""
    cdef Library* lib = library()
    cdef handle_t x, w, g, attr = NULL, ops = NULL, pd = NULL, hint = NULL, bias = NULL, ax = NULL, aw = NULL, ag = NULL
    cdef int64_t dilation[3]
    cdef int i, bad, r = q.nd + 2, first = 0, type = BF16 if dtype == T_BF16 else F32
    cdef int64_t one = 1
    cdef double shift
    for i in range(q.nd):
        dilation[i] = q.dilation[i] - 1
    x = desc_of(recipe.x, dtype, xs, q.x_by, r)
    g = desc_of(recipe.g, dtype, gs, q.g_by, r)
    w = weights_desc(recipe.w, dtype, q, q.w_by)
    bad = x == NULL or g == NULL or w == NULL or lib.attr_create(&attr) or lib.attr_scratchpad(attr, 1)
    if not bad and self.kind == FORWARD:
        first = self.steps > 0 and self.step[0] == STEP_BIAS
        if self.steps:
            bad = lib.post_ops_create(&ops)
            if first and not bad:
                bad = lib.desc_strided(&bias, 1, &q.o, type, &one)
            for i in range(first, self.steps):
                if bad:
                    break
                if self.step[i] == STEP_BIAS:
                    bad = 1
                elif self.step[i] == STEP_ADD:
                    bad = lib.append_binary(ops, BINARY_ADD, g) if recipe.g == LAST else lib.append_sum(ops, 1, 0, 0)
                elif self.step[i] == STEP_SCALE:
                    shift = self.number[i + 1] if i + 1 < self.steps and self.step[i + 1] == STEP_SHIFT else 0
                    bad = lib.append_eltwise(ops, ELTWISE_SCALE_AND_SHIFT, self.number[i], shift)
                elif self.step[i] == STEP_SHIFT:
                    if i == 0 or self.step[i - 1] != STEP_SCALE:
                        bad = lib.append_eltwise(ops, ELTWISE_SCALE_AND_SHIFT, 1, self.number[i])
                elif self.step[i] == STEP_HARD_SWISH:
                    bad = lib.append_eltwise(ops, ELTWISE_HARD_SWISH, 1.0 / 6, 0.5)
                else:
                    bad = lib.append_eltwise(ops, ELTWISE[self.step[i]], 1 if self.step[i] == STEP_SILU else 0, 0)
            bad = bad or lib.attr_post_ops(attr, ops)
        bad = bad or lib.conv(&pd, lib.engine, FORWARD_INFERENCE, CONVOLUTION_DIRECT, x, w, bias, g, q.stride, dilation, q.lo, q.hi, attr)
    elif not bad:
        ax = desc_of(ITS_CHOICE, dtype, xs, q.x_by, r)
        ag = desc_of(ITS_CHOICE, dtype, gs, q.g_by, r)
        aw = weights_desc(ITS_CHOICE, dtype, q, q.w_by)
        bad = lib.conv(&hint, lib.engine, FORWARD_TRAINING, CONVOLUTION_DIRECT, ax, aw, NULL, ag, q.stride, dilation, q.lo, q.hi, attr)
        if bad:
            pass
        elif self.kind == INPUT_GRAD:
            bad = lib.conv_data(&pd, lib.engine, CONVOLUTION_DIRECT, x, w, g, q.stride, dilation, q.lo, q.hi, hint, attr)
        else:
            bad = lib.conv_weights(&pd, lib.engine, CONVOLUTION_DIRECT, x, w, NULL, g, q.stride, dilation, q.lo, q.hi, hint, attr)
    drop(x)
    drop(g)
    drop(w)
    drop(bias)
    drop(ax)
    drop(aw)
    drop(ag)
    drop_wishes(ops, attr)
    return worth_having(pd, hint, bad)


cdef int inward(Program* p, handle_t user, handle_t wanted, int external) noexcept nogil:
    """The buffer that the library reads for pointer ``external``: itself or a reordered copy. -1: failed."""
    cdef int given = add_buffer(p, user, external), own
    if given < 0 or library().desc_equal(user, wanted):
        return given
    own = add_buffer(p, wanted, -1)
    return -1 if own < 0 or reordered(p, given, own) else own


cdef Program* build(Launcher* self, const Geometry* q, int dtype, bint is_last, const int64_t* xs, const int64_t* gs) noexcept nogil:
    """A program for this shape; without steps where the library has none worth running."""
    cdef Library* lib = library()
    cdef Program* p = new_program()
    cdef Recipe tries[4]
    cdef Recipe recipe
    cdef int added[MAX_EPILOGUE]
    cdef handle_t pd = NULL, x, w, g, desc
    cdef Step* step
    cdef int i, count, bad, bx = -1, bw = -1, bg = -1, target, extra = 3, residual
    if p == NULL:
        return NULL
    count = recipes(self, q, dtype, is_last, tries)
    for i in range(count):
        recipe = tries[i]
        pd = described(self, q, dtype, recipe, xs, gs)
        if pd != NULL:
            break
    if pd == NULL:
        return p
    x = desc_of(AS_GIVEN, dtype, xs, q.x_by, q.nd + 2)
    g = desc_of(AS_GIVEN, dtype, gs, q.g_by, q.nd + 2)
    w = strips_desc(q, self.strip, self.block) if self.strip else weights_desc(AS_GIVEN, dtype, q, q.w_by)
    bad = x == NULL or g == NULL or w == NULL
    if not bad:
        if self.kind != INPUT_GRAD:
            bx = inward(p, x, lib.pd_desc(pd, QUERY_SRC, 0), 0)
        if self.kind != WEIGHT_GRAD:
            if self.strip and not lib.desc_equal(w, lib.pd_desc(pd, QUERY_WEIGHTS, 0)):
                # Other strips than these, which the library would reorder an element at a time.
                drop(w)
                w = NULL
                if known_strips(q, dtype, lib.pd_desc(pd, QUERY_WEIGHTS, 0), &p.strip, &p.block):
                    w = strips_desc(q, p.strip, p.block)
                if w == NULL:
                    drop(x)
                    drop(g)
                    lib.pd_destroy(pd)
                    free_program(p)
                    return new_program()
            bw = inward(p, w, lib.pd_desc(pd, QUERY_WEIGHTS, 0), 1)
        if self.kind != FORWARD:
            bg = inward(p, g, lib.pd_desc(pd, QUERY_DIFF_DST, 0), 2)
        # The result: the caller's buffer, or one of the library's that is reordered afterwards.
        if self.kind == FORWARD:
            desc, target = lib.pd_desc(pd, QUERY_DST, 0), add_buffer(p, g, 2)
        elif self.kind == INPUT_GRAD:
            desc, target = lib.pd_desc(pd, QUERY_DIFF_SRC, 0), add_buffer(p, x, 0)
        else:
            desc, target = lib.pd_desc(pd, QUERY_DIFF_WEIGHTS, 0), add_buffer(p, w, 1)
        i = target
        if target >= 0 and not lib.desc_equal(p.desc[target], desc):
            i = add_buffer(p, desc, -1)
        bad = target < 0 or i < 0
        if self.kind == FORWARD:
            bg = i
            for residual in range(self.steps):
                # Of images with channels last an operand of its own; elsewhere the library adds to what is there.
                if self.step[residual] == STEP_ADD and not bad:
                    if recipe.g == LAST:
                        added[residual] = inward(p, g, desc, extra)
                    else:
                        bad = reordered(p, add_buffer(p, g, extra), bg)
                if self.step[residual] == STEP_ADD or self.step[residual] == STEP_BIAS:
                    extra += 1
        elif self.kind == INPUT_GRAD:
            bx = i
        else:
            bw = i
        step = add_step(p, pd) if not bad else NULL
        bad = bad or step == NULL
        if bad:
            pass
        elif self.kind == FORWARD:
            bad = add_argument(step, ARG_SRC, bx) or add_argument(step, ARG_WEIGHTS, bw) or add_argument(step, ARG_DST, bg)
            if self.steps and self.step[0] == STEP_BIAS and not bad:
                bad = lib.desc_strided(&desc, 1, &q.o, BF16 if dtype == T_BF16 else F32, &ONE)
                if not bad:
                    bad = add_argument(step, ARG_BIAS, add_buffer(p, desc, 3))
                    lib.desc_destroy(desc)
            for residual in range(self.steps):
                if not bad and self.step[residual] == STEP_ADD and recipe.g == LAST:
                    i = residual - (self.step[0] == STEP_BIAS)
                    bad = add_argument(step, (ARG_POST_OP * (i + 1)) | ARG_POST_OP_SRC, added[residual])
            i = bg
        elif self.kind == INPUT_GRAD:
            bad = add_argument(step, ARG_DIFF_SRC, bx) or add_argument(step, ARG_WEIGHTS, bw) or add_argument(step, ARG_DIFF_DST, bg)
        else:
            bad = add_argument(step, ARG_SRC, bx) or add_argument(step, ARG_DIFF_WEIGHTS, bw) or add_argument(step, ARG_DIFF_DST, bg)
        if not bad and i != target:
            bad = reordered(p, i, target)
    drop(x)
    drop(g)
    drop(w)
    lib.pd_destroy(pd)
    if bad:
        free_program(p)
        return NULL
    return p


cdef int64_t ONE = 1


cdef int threads_for(Launcher* self, const Geometry* q) noexcept nogil:
    """One for small work: threads of a library that meet at a barrier look on until all of them have come.

    Beside other processes that takes as long as the system lets those run, 4 ms for a weight gradient of 0.03 ms.
    """
    return 1 if multiplications(self, q) < SHARED else threads()


cdef int key_of(Launcher* self, const Geometry* q, int dtype, const int* layouts, int on, int64_t* key) noexcept nogil:
    cdef int i, n = 6
    key[0], key[1], key[2], key[3], key[4] = on, q.n, q.c, q.o, q.groups
    key[5] = dtype | layouts[0] << 8 | layouts[1] << 12 | layouts[2] << 16 | self.steps << 20 | self.strip << 24
    for i in range(q.nd):
        key[n], key[n + 1], key[n + 2] = q.size[i], q.kernel[i], q.stride[i]
        key[n + 3], key[n + 4], key[n + 5] = q.lo[i], q.hi[i], q.dilation[i]
        n += 6
    return n


cdef int by_library(
    Launcher* self, Geometry* q, int dtype, const int* layouts, const int64_t* xs, const int64_t* gs, void** pointers, bint* done
) noexcept nogil:
    """``done`` stays False where the library has only plain loops for this shape."""
    cdef int64_t key[32]
    cdef int on = threads_for(self, q), words = key_of(self, q, dtype, layouts, on, key), bad = 0, before
    cdef Library* lib = library()
    cdef bint fewer
    cdef Program* p
    cdef Entry* e
    cdef void* given
    cdef char* kernels = NULL
    before = enter()
    fewer = on != threads() and lib.omp_set != NULL
    if fewer:
        lib.omp_set(on)
    e = find(self.table, key, words)
    if e == NULL:
        p = build(self, q, dtype, layouts[0] == CHANNELS_LAST or layouts[2] == CHANNELS_LAST, xs, gs)
        if p != NULL:
            e = add(self.table, key, words, p)
    if e == NULL:
        bad = LIBRARY_FAILED
    else:
        p = <Program*>e.value
        if p.step_count and p.strip:
            given = pointers[1]
            bad = into_other_strips(self, q, <const char*>given, p.strip, p.block, &kernels)
            if not bad:
                pointers[1] = kernels
                bad = run_program(p, pointers)
                scratch_free(kernels)
                pointers[1] = given
            done[0] = True
        elif p.step_count:
            bad = run_program(p, pointers)
            done[0] = True
        release(self.table, e)
    if fewer:
        lib.omp_set(before)
    else:
        leave(before)
    return bad


cdef bint steps_are_plain(const Launcher* self) noexcept nogil:
    """Return whether nothing follows but a bias, then relu."""
    if self.steps > 2 or self.steps == 2 and self.step[0] != STEP_BIAS:
        return False
    return self.steps == 0 or self.step[self.steps - 1] == STEP_RELU or self.steps == 1 and self.step[0] == STEP_BIAS


cdef bint by_channel(const Launcher* self, After* after, int* residual) noexcept nogil:
    """Return whether nothing follows but a bias, a residual, relu or hard swish, a factor and a term, in this order. ``residual``: which of the
    epilogue's operands it is; -1: none."""
    cdef int i, last = -1, rank
    residual[0] = -1
    after.bias, after.relu, after.hard_swish, after.scale, after.shift = NULL, False, False, 1, 0
    for i in range(self.steps):
        if self.step[i] == STEP_BIAS:
            rank = 0
        elif self.step[i] == STEP_ADD:
            rank, residual[0] = 1, i
        elif self.step[i] == STEP_RELU or self.step[i] == STEP_HARD_SWISH:
            rank = 2
            after.relu, after.hard_swish = self.step[i] == STEP_RELU, self.step[i] == STEP_HARD_SWISH
        elif self.step[i] == STEP_SCALE:
            rank, after.scale = 3, self.number[i]
        elif self.step[i] == STEP_SHIFT:
            rank, after.shift = 4, self.number[i]
        else:
            return False
        if rank <= last:
            return False
        last = rank
    return True


cdef double multiplications(const Launcher* self, const Geometry* q) noexcept nogil:
    """Of a direct convolution; a matmul for each tap leaves out what it would see of pads."""
    cdef double places = 1
    cdef int i
    for i in range(q.nd):
        if self.kind == WEIGHT_GRAD and has_few_positions(q):
            places *= q.out[i] * q.kernel[i] - q.lo[i] - q.hi[i]
        else:
            places *= q.out[i] * q.kernel[i]
    return places * q.n * q.o * (q.c // q.groups)


# A multiplication in the library's primitives for bfloat16, in those of float32, where the processor has dot products of bfloat16.
cdef double BF16_WORK = 0.5


cdef bint better_widened(const Launcher* self, const Geometry* q) noexcept nogil:
    """Return whether bfloat16 is better by way of float32: where the processor does not multiply it, where Winograd's algorithm is less work
    there, and for the gradients of kernels over few positions, whose rows the library's primitive transposes first."""
    cdef double direct = multiplications(self, q)
    cdef int64_t positions = 1
    cdef int i
    for i in range(q.nd):
        positions *= q.out[i]
    if not processor_multiplies_bf16():
        return True                # the library emulates it: slower, and wrong for kernel 1 over 5 positions, more than 64 outputs
    if self.kind == WEIGHT_GRAD and positions <= 64 and not is_pointwise(q, False):
        return True
    if self.libs & USE_ONEDNN and library().isa > ISA_AVX512_BF16:
        return False               # matrix units
    if self.libs & USE_ONEDNN and library().isa == ISA_AVX512_BF16:
        direct *= BF16_WORK
    return steps_are_plain(self) and winograd_tile(self.kind, q, direct, has_few_positions(q)) != 0


# --- the launch -----------------------------------------------------------------------------------------------------


cdef int run(Launcher* self, int dtype, Geometry* q, Operand* x, Operand* w, Operand* g, void** extra) noexcept nogil:
    """All three lie channels first or last. Nothing is empty."""
    cdef void* pointers[3 + MAX_EPILOGUE]
    cdef Operand* all[3]
    cdef char* copies[3]
    cdef int layouts[3]
    cdef int64_t* given[3]
    cdef int64_t by[3][5]
    cdef int i, bad = 0, r = q.nd + 2, out = 2 if self.kind == FORWARD else 0 if self.kind == INPUT_GRAD else 1
    cdef int size = itemsize_of(dtype), tile
    cdef After after
    cdef int residual
    cdef bint done = False, single, wide = dtype == T_BF16 and self.libs & USE_SMALL and better_widened(self, q)
    all[0], all[1], all[2] = x, w, g
    for i in range(3):
        layouts[i], pointers[i], copies[i] = all[i].layout, all[i].data, NULL
    if self.kind == WEIGHT_GRAD and dtype == T_F32 and layouts[0] == layouts[2] and is_pointwise(q, True):
        if max(q.c, q.o) > 64 and not is_one_matmul(q):
            return pointwise_weight_grad(
                self.libs, q, layouts[0] == CHANNELS_LAST, <const float*>x.data, <float*>w.data, <const float*>g.data
            )
    single = layouts[0] == layouts[1] == layouts[2] == CHANNELS_FIRST and is_one_matmul(q)
    if dtype <= T_F64 and single:
        bad = one_matmul(self.libs, self.kind, dtype, q, x.data, w.data, g.data)
        return bad if bad else finish(self, dtype, g, r, extra)
    if (wide and not single or dtype == T_F32 and self.libs & USE_SMALL) and layouts[1] == CHANNELS_FIRST:
        tile = winograd_tile(self.kind, q, multiplications(self, q), has_few_positions(q)) if steps_are_plain(self) else 0
        if tile:
            by_channel(self, &after, &residual)
            after.bias = extra[0] if self.extras else NULL
            return by_winograd(
                self.kind, tile, wide, q, layouts[0] == CHANNELS_LAST, layouts[2] == CHANNELS_LAST, x.data, w.data, g.data, &after, NULL, 0
            )
    if self.kind == FORWARD and self.libs & USE_SMALL and by_channel(self, &after, &residual) and residual < 0 and layouts[0] == layouts[2] == CHANNELS_LAST:
        if (dtype == T_F32 or dtype == T_BF16) and is_depthwise(q, dtype == T_BF16):
            after.bias = extra[0] if self.extras else NULL
            return by_depthwise(q, dtype == T_BF16, x.data, w.data, g.data, after)
    if self.kind == WEIGHT_GRAD and dtype == T_F32 and self.libs & USE_ONEDNN and layouts[1] == CHANNELS_FIRST and has_few_positions(q):
        return by_taps(
            self.libs, q, layouts[0] == CHANNELS_LAST, layouts[2] == CHANNELS_LAST, <const float*>x.data, <float*>w.data,
            <const float*>g.data,
        )
    if wide:
        return widened(self, q, x, w, g, extra)
    if self.libs & USE_ONEDNN and (dtype == T_F32 or dtype == T_BF16):
        for i in range(self.extras):
            pointers[3 + i] = extra[i]
        bad = by_library(self, q, dtype, layouts, x.sizes, g.sizes, pointers, &done)
        if bad or done:
            return bad
    if dtype == T_BF16 or dtype == T_F16:
        return widened(self, q, x, w, g, extra)
    # Columns want channels first.
    for i in range(3):
        given[i] = all[i].by
        if layouts[i] != CHANNELS_FIRST and not bad:
            copies[i] = <char*>scratch_alloc(elements(all[i].sizes, r) * size)
            if copies[i] == NULL:
                bad = NO_MEMORY
                break
            dense(all[i].sizes, r, by[i])
            pointers[i] = copies[i]
            if i != out:
                copy_strided(copies[i], by[i], all[i].data, given[i], all[i].sizes, r, size)
    if not bad:
        bad = by_im2col(self.libs, self.kind, dtype == T_F64, q, pointers[0], pointers[1], pointers[2])
    if not bad and copies[out] != NULL:
        copy_strided(all[out].data, given[out], copies[out], by[out], all[out].sizes, r, size)
    for i in range(3):
        scratch_free(copies[i])
    return bad if bad else finish(self, dtype, g, q.nd + 2, extra)


cdef int finish(Launcher* self, int dtype, Operand* g, int r, void** extra) noexcept nogil:
    """The epilogue by itself, a row of positions at a time."""
    cdef int s, i, taken = 0
    cdef int64_t row, rows = elements(g.sizes, r - 1), at, rest, channel = 0
    for s in range(self.steps):
        for row in range(rows):
            at, rest = 0, row
            for i in range(r - 2, -1, -1):
                at += rest % g.sizes[i] * g.by[i]
                if i == 1:
                    channel = rest % g.sizes[1]
                rest //= g.sizes[i]
            if self.step[s] == STEP_BIAS:
                epilogue_row(STEP_BIAS, dtype, g.data, at, g.by[r - 1], extra[taken], channel, 0, g.sizes[r - 1], 0)
            elif self.step[s] == STEP_ADD:
                epilogue_row(STEP_ADD, dtype, g.data, at, g.by[r - 1], extra[taken], at, g.by[r - 1], g.sizes[r - 1], 0)
            else:
                epilogue_row(self.step[s], dtype, g.data, at, g.by[r - 1], NULL, 0, 0, g.sizes[r - 1], self.number[s])
        if self.step[s] == STEP_BIAS or self.step[s] == STEP_ADD:
            taken += 1
    return 0


cdef int widened(Launcher* self, Geometry* q, Operand* x, Operand* w, Operand* g, void** extra) noexcept nogil:
    """16-bit floats by way of float32."""
    cdef Operand* all[3]
    cdef Operand wide[3]
    cdef int64_t offset[8]
    cdef float* block
    cdef float* more[MAX_EPILOGUE]
    cdef int i, bad, r = q.nd + 2, out = 2 if self.kind == FORWARD else 0 if self.kind == INPUT_GRAD else 1, taken = 0
    cdef int64_t total = 0, n
    all[0], all[1], all[2] = x, w, g
    for i in range(3):
        offset[i] = total
        total += (elements(all[i].sizes, r) + 15) // 16 * 16
    for i in range(self.steps):
        if self.step[i] == STEP_BIAS or self.step[i] == STEP_ADD:
            offset[3 + taken] = total
            total += ((q.o if self.step[i] == STEP_BIAS else elements(g.sizes, r)) + 15) // 16 * 16
            taken += 1
    block = <float*>scratch_alloc(total * 4)
    if block == NULL:
        return NO_MEMORY
    taken = 0
    for i in range(self.steps):
        if self.step[i] == STEP_BIAS or self.step[i] == STEP_ADD:
            more[taken] = block + offset[3 + taken]
            widen(self.dtype, extra[taken], more[taken], q.o if self.step[i] == STEP_BIAS else elements(g.sizes, r))
            taken += 1
    for i in range(3):
        wide[i] = all[i][0]
        wide[i].data = <char*>(block + offset[i])
        if i != out:
            widen(self.dtype, all[i].data, <float*>wide[i].data, elements(all[i].sizes, r))
    bad = run(self, T_F32, q, &wide[0], &wide[1], &wide[2], <void**>more)
    if not bad:
        narrow(self.dtype, <float*>wide[out].data, all[out].data, elements(all[out].sizes, r))
    scratch_free(block)
    return bad


cdef void zero_taps(const Operand* w, const int64_t* kernel, int64_t first, int r, int itemsize) noexcept nogil:
    """Zeros in all taps of kernels of sizes ``kernel``; w begins at the tap ``first``."""
    cdef int64_t sizes[5]
    cdef int i
    for i in range(r):
        sizes[i] = w.sizes[i] if i < 2 else kernel[i - 2]
    zero_strided(w.data - first * itemsize, w.by, sizes, r, itemsize)


cdef int out_of_strips(const Launcher* self, const Geometry* q, const char* strips, int64_t* by, char** out) noexcept nogil:
    """Kernels out of strips, contiguous; ``by``: their strides. The caller frees them."""
    cdef int64_t sizes[7]
    cdef int64_t source[7]
    cdef int64_t target[7]
    cdef int64_t taps = 1, width = self.strip, filled = q.o // width, depth = (q.c + self.block - 1) // self.block * self.block
    cdef int i, size = self.itemsize, side = min(self.block, PAIRS)
    for i in range(q.nd):
        taps *= q.kernel[i]
    out[0] = <char*>scratch_alloc(q.o * q.c * taps * size)
    if out[0] == NULL:
        return NO_MEMORY
    # Out of [strips, taps, c / side, width, side] into [strips, width, c / side, side, taps]; then those of the last strip.
    source[0], source[1], source[2], source[3] = taps * depth * width, side, width * side, depth * width
    target[0], target[1], target[2], target[3] = width * q.c * taps, q.c * taps, side * taps, 1
    for i in range(side):
        sizes[0], sizes[1], sizes[2], sizes[3] = filled, width, (q.c - i + side - 1) // side, taps
        copy_strided(out[0] + i * taps * size, target, strips + i * size, source, sizes, 4, size)
        sizes[0], sizes[1] = 1, q.o % width
        if sizes[1]:
            copy_strided(
                out[0] + (filled * target[0] + i * taps) * size, target, strips + (filled * source[0] + i) * size, source, sizes, 4, size
            )
    sizes[0], sizes[1] = q.o, q.c
    for i in range(q.nd):
        sizes[2 + i] = q.kernel[i]
    dense(sizes, q.nd + 2, by)
    return 0


cdef int into_other_strips(const Launcher* self, const Geometry* q, const char* strips, int strip, int block, char** out) noexcept nogil:
    """Kernels in strips of other widths: pieces of rows that lie side by side in both. The caller frees them."""
    cdef int64_t taps = 1, at, end, o, run, pixel = self.itemsize * min(self.block, PAIRS)
    cdef int64_t rows = (q.c + block - 1) // block * block // min(block, PAIRS)
    cdef int64_t rows_given = (q.c + self.block - 1) // self.block * self.block // min(self.block, PAIRS)
    cdef int64_t filled = (q.o + self.strip - 1) // self.strip * self.strip, s, tap, row
    cdef char* target
    for i in range(q.nd):
        taps *= q.kernel[i]
    out[0] = target = <char*>scratch_alloc((q.o + strip - 1) // strip * strip * taps * rows * pixel)
    if target == NULL:
        return NO_MEMORY
    for s in range((q.o + strip - 1) // strip):
        for tap in range(taps):
            for row in range(rows):
                o, end = s * strip, (s + 1) * strip
                while o < end:
                    run = end - o
                    if o >= filled or row >= rows_given:
                        memset(target, 0, run * pixel)
                    else:
                        run = min(run, self.strip - o % self.strip)
                        at = ((o // self.strip * taps + tap) * rows_given + row) * self.strip + o % self.strip
                        memcpy(target, strips + at * pixel, run * pixel)
                    target += run * pixel
                    o += run
    return 0


cdef int winograd_of_strips(Launcher* self, const Geometry* q, bint g_last, After* after, int* residual) noexcept nogil:
    """Return the tile of Winograd's algorithm, which reads strips of full vectors; 0: another algorithm."""
    cdef Geometry trimmed = q[0]
    if self.dtype != T_F32 or not self.libs & USE_SMALL or not takes_strips(self.strip) or trim_taps(self, &trimmed) >= 0:
        return 0
    if not by_channel(self, after, residual) or residual[0] >= 0 and not takes_residual(q, g_last):
        return 0
    return winograd_tile(FORWARD, q, multiplications(self, q), has_few_positions(q))


cdef int launch_strips(Launcher* self, void** ptrs, const int64_t* dims, const uint64_t* scalars, int64_t stream) noexcept nogil:
    """``conv`` of images with channels last, by kernels in strips."""
    cdef Geometry q
    cdef Operand x, w, g
    cdef void* pointers[3 + MAX_EPILOGUE]
    cdef int64_t plain[32]
    cdef int64_t by[5]
    cdef Launcher bare
    cdef After after
    cdef char* kernels = NULL
    cdef int layouts[3]
    cdef int tile
    cdef int i, bad, r = self.nd + 2
    cdef bint done = False
    parse(self, dims, scalars, &q)
    sizes_of(&q, &x, &w, &g)
    # Strips are for images with channels last, which one place is, too.
    layouts[0] = CHANNELS_LAST if lies_last(x.sizes, x.by, r) else layout_of(x.sizes, x.by, r)
    layouts[2] = CHANNELS_LAST if lies_last(g.sizes, g.by, r) else layout_of(g.sizes, g.by, r)
    layouts[1] = CHANNELS_FIRST
    if self.libs & USE_ONEDNN and elements(x.sizes, r) and elements(g.sizes, r) and layouts[0] != ELSEWISE and layouts[2] != ELSEWISE:
        strides_of(layouts[0], x.sizes, r, x.by)
        strides_of(layouts[2], g.sizes, r, g.by)
        pointers[0], pointers[1], pointers[2] = ptrs[0], ptrs[1], ptrs[2 + self.extras]
        tile = winograd_of_strips(self, &q, layouts[2] == CHANNELS_LAST, &after, &i)
        if tile:
            after.bias = ptrs[2] if self.steps and self.step[0] == STEP_BIAS else NULL
            return by_winograd(
                FORWARD, tile, False, &q, layouts[0] == CHANNELS_LAST, layouts[2] == CHANNELS_LAST, ptrs[0], ptrs[1], pointers[2], &after,
                ptrs[2 + i] if i >= 0 else NULL, self.strip,
            )
        if self.dtype == T_F32 and self.libs & USE_SMALL and layouts[0] == layouts[2] == CHANNELS_LAST and multiplies_strips(&q, self.strip):
            if by_channel(self, &after, &i):
                after.bias = ptrs[2] if self.steps and self.step[0] == STEP_BIAS else NULL
                return by_strips(
                    &q, self.strip, <float*>ptrs[0], <float*>ptrs[1], <float*>pointers[2], &after, <float*>ptrs[2 + i] if i >= 0 else NULL
                )
        for i in range(self.extras):
            pointers[3 + i] = ptrs[2 + i]
        bad = by_library(self, &q, self.dtype, layouts, x.sizes, g.sizes, pointers, &done)
        if bad or done:
            return bad
    # Everybody else takes kernels as they are.
    bad = out_of_strips(self, &q, <const char*>ptrs[1], by, &kernels)
    if bad:
        return bad
    for i in range(6 * r):
        plain[i] = dims[i]
    for i in range(r):
        plain[3 * r + i] = by[i]
    for i in range(2 + self.extras + 1):
        pointers[i] = ptrs[i]
    pointers[1] = kernels
    bare = self[0]
    bare.strip = 0
    bad = launch(&bare, pointers, plain, scalars, stream)
    scratch_free(kernels)
    return bad


cdef int launch(void* state, void** ptrs, const int64_t* dims, const uint64_t* scalars, int64_t stream) noexcept nogil:
    cdef Launcher* self = <Launcher*>state
    if self.strip:
        return launch_strips(self, ptrs, dims, scalars, stream)
    cdef Geometry q
    cdef Operand x, w, g
    cdef Operand* all[3]
    cdef char* copies[3]
    cdef int64_t given[3][5]
    cdef void* extra[MAX_EPILOGUE + 1]
    cdef char* result = NULL
    cdef Launcher bare
    cdef int i, j, bad = 0, r = self.nd + 2
    cdef int out = 2 if self.kind == FORWARD else 0 if self.kind == INPUT_GRAD else 1
    cdef int64_t kernel[3]     # of w, before taps are left out; the first that stays is `cut` elements in
    cdef int64_t cut
    cdef bint copied
    parse(self, dims, scalars, &q)
    for i in range(self.nd):
        kernel[i] = q.kernel[i]
    cut = trim_taps(self, &q)
    for i in range(self.extras):
        extra[i] = ptrs[2 + i]
    sizes_of(&q, &x, &w, &g)
    if self.kind == FORWARD:
        x.data, w.data, g.data = <char*>ptrs[0], <char*>ptrs[1], <char*>ptrs[2 + self.extras]
    elif self.kind == INPUT_GRAD:
        g.data, w.data, x.data = <char*>ptrs[0], <char*>ptrs[1], <char*>ptrs[2]
    else:
        x.data, g.data, w.data = <char*>ptrs[0], <char*>ptrs[1], <char*>ptrs[2]
    all[0], all[1], all[2] = &x, &w, &g
    w.data += max(cut, 0) * self.itemsize
    if elements(all[out].sizes, r) == 0:
        return 0
    if elements(x.sizes, r) == 0 or elements(w.sizes, r) == 0 or elements(g.sizes, r) == 0:
        if cut >= 0 and out == 1:
            zero_taps(&w, kernel, cut, r, self.itemsize)
        else:
            zero_strided(all[out].data, all[out].by, all[out].sizes, r, self.itemsize)
        return finish(self, self.dtype, &g, r, extra)
    for i in range(3):
        copies[i] = NULL
    for i in range(3):
        all[i].layout = layout_of(all[i].sizes, all[i].by, r)
        if all[i].layout == CHANNELS_LAST and i != 1 and is_one_matmul(&q):
            all[i].layout = ELSEWISE  # a matmul wants what is in one window side by side
        if all[i].layout != ELSEWISE and not (cut >= 0 and i == 1):
            # The canonical strides, also along axes of size 1.
            strides_of(all[i].layout, all[i].sizes, r, all[i].by)
            continue
        for j in range(r):
            given[i][j] = all[i].by[j]
        copies[i] = <char*>scratch_alloc(elements(all[i].sizes, r) * self.itemsize)
        if copies[i] == NULL:
            bad = NO_MEMORY
            break
        all[i].layout = CHANNELS_FIRST
        copied = i == out or i == 1 and cut >= 0 and take_taps(&q, kernel, self.itemsize, copies[1], w.data)
        dense(all[i].sizes, r, all[i].by)
        if i == out:
            result = all[i].data
        if not copied:
            copy_strided(copies[i], all[i].by, all[i].data, given[i], all[i].sizes, r, self.itemsize)
        all[i].data = copies[i]
    if not bad:
        if result != NULL and self.steps:
            # A residual lies like the result, not like the copy.
            bare = self[0]
            bare.steps = bare.extras = 0
            bad = run(&bare, self.dtype, &q, &x, &w, &g, extra)
        else:
            bad = run(self, self.dtype, &q, &x, &w, &g, extra)
    if not bad and result != NULL:
        copied = False
        if cut >= 0 and out == 1:
            for j in range(r):
                w.by[j] = given[1][j]
            w.data = result
            copied = put_taps(&q, kernel, cut, self.itemsize, result - cut * self.itemsize, copies[1])
            if not copied:
                zero_taps(&w, kernel, cut, r, self.itemsize)
                dense(w.sizes, r, w.by)
        if not copied:
            copy_strided(result, given[out], copies[out], all[out].by, all[out].sizes, r, self.itemsize)
        if self.steps:
            g.data, g.by = result, given[out]
            finish(self, self.dtype, &g, r, extra)
    for i in range(3):
        scratch_free(copies[i])
    return bad


cdef class LaunchState(Shapes):
    """The state of a launch; ``pointer`` is its ``self``."""

    cdef Launcher* self

    def __cinit__(self, int kind, int dtype, int nd, int libs, tuple steps=(), tuple strip=(0, 0), tuple numbers=()):
        if len(steps) > MAX_EPILOGUE:
            raise ValueError(f"[conv] requires at most {MAX_EPILOGUE} steps after the matmul, got {len(steps)}")
        self.self = <Launcher*>self.launcher(sizeof(Launcher))
        self.self.kind, self.self.dtype, self.self.nd, self.self.libs = kind, dtype, nd, libs
        self.self.itemsize, (self.self.strip, self.self.block) = itemsize_of(dtype), strip
        self.self.steps = len(steps)
        for i, step in enumerate(steps):
            self.self.step[i], self.self.number[i] = step, numbers[i] if numbers else 0
            self.self.extras += step == STEP_BIAS or step == STEP_ADD
        check(libs)
        if libs & USE_ONEDNN:
            self.self.table = self.shapes(free_program)


def strip_of(int dtype, int nd, int libs, tuple dims, tuple scalars):
    """Return (output channels, multiple of input channels) of the strips in which the library has the kernels of a forward convolution of images
    with channels last; None where another algorithm, or another layout of kernels, is faster. ``dims``, ``scalars``: as a launch gets them."""
    cdef Launcher self
    cdef Geometry q
    cdef Operand x, w, g
    cdef int64_t numbers[30]
    cdef uint64_t params[13]
    cdef handle_t pd
    cdef int i, before, width, block
    memset(&self, 0, sizeof(self))
    self.kind, self.dtype, self.itemsize, self.nd, self.libs = FORWARD, dtype, itemsize_of(dtype), nd, libs
    for i, n in enumerate(dims):
        numbers[i] = n
    for i, n in enumerate(scalars):
        params[i] = <uint64_t><int64_t>n
    parse(&self, numbers, params, &q)
    sizes_of(&q, &x, &w, &g)
    if q.groups != 1 or not elements(x.sizes, nd + 2) or not elements(w.sizes, nd + 2) or not elements(g.sizes, nd + 2):
        return None
    if trim_taps(&self, &q) >= 0 or dtype == T_F32 and is_one_matmul(&q):
        return None
    if libs & USE_SMALL and dtype == T_BF16 and better_widened(&self, &q):
        return None
    found = None
    before = enter()
    pd = described(&self, &q, dtype, Recipe(LAST, ITS_CHOICE, LAST), x.sizes, g.sizes)
    if pd != NULL:
        if known_strips(&q, dtype, library().pd_desc(pd, QUERY_WEIGHTS, 0), &width, &block):
            found = width, block
        library().pd_destroy(pd)
    leave(before)
    if found is not None and dtype == T_F32 and libs & USE_SMALL and not takes_strips(found[0]):
        if winograd_tile(FORWARD, &q, multiplications(&self, &q), has_few_positions(&q)):
            return None
    return found


ADDRESS = <size_t><void*>&launch
KINDS = {"FORWARD": FORWARD, "INPUT_GRAD": INPUT_GRAD, "WEIGHT_GRAD": WEIGHT_GRAD}
# What may follow; the last two bring a number.
STEPS = {
    "bias": STEP_BIAS, "add": STEP_ADD, "relu": STEP_RELU, "tanh": STEP_TANH, "sigmoid": STEP_SIGMOID, "silu": STEP_SILU,
    "gelu_tanh": STEP_GELU_TANH, "gelu": STEP_GELU_ERF, "hard_swish": STEP_HARD_SWISH, "scale": STEP_SCALE, "shift": STEP_SHIFT,
}
