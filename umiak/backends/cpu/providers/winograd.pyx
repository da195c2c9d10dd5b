"""Convolutions of kernel 3 × 3 by Winograd's minimal filtering: when, and in which pieces. The arithmetic is in winograd.h.

Two orders of work. Where there are many tiles, all kernels are transformed first, and then a block of tiles at a time is
transformed, multiplied and written while it lies in the cache. Where there are many channels, images are transformed first, and then a
panel of channels at a time. Gradients of kernels sum over tiles: in rounds of as many as are kept transformed.

Pieces follow from sizes alone, and no sum is divided among threads, so results do not depend on them.
"""
from libc.stdint cimport int64_t, uint16_t
from libc.string cimport memcpy, memset

from umiak.backends.cpu.providers.depthwise cimport After
from umiak.backends.cpu.launcher cimport parallel_for, part_t, thread_count
from umiak.backends.cpu.providers.im2col cimport FORWARD, INPUT_GRAD, WEIGHT_GRAD, Geometry
from umiak.backends.cpu.providers.common cimport NO_MEMORY, copy_strided, scratch_free, scratch_alloc, threads
from umiak.backends.cpu.providers.gemm cimport T_BF16, narrow, widen

ctypedef void (*transpose_t)(const void* s, int64_t ss, int64_t rows, int64_t columns, void* d, int64_t ds, int64_t room) noexcept nogil

cdef extern from "winograd.h" nogil:
    ctypedef struct WinogradImage:
        void* data
        int narrow
        int64_t h, w, c, room, top, left
    ctypedef struct Winograd:
        int tile, flipped, add, relu, hard_swish, scaled
        float scale, shift
        int64_t images, down, across, tiles
        WinogradImage x, y
        void* w
        int narrow
        int64_t w_made, w_summed, strip
        const float* bias
        const void* residual
        const float* nothing
        float* u
        float* v
        float* z
        int64_t first, last, block, units, parts
        float* scratch
        int64_t each
    ctypedef struct WinogradKernels:
        int lanes
        part_t kernels, images, by_tiles, by_channels, factors, gradient
        transpose_t transpose, transpose_wide, transpose_narrow
    enum:
        CHUNK "WINOGRAD_CHUNK"
    int64_t winograd_points(const Winograd* q)
    int64_t winograd_slice(int64_t n)
    int64_t winograd_panels(const WinogradImage* x, int lanes)
    const WinogradKernels* winograd_kernels(int most)

cdef enum:
    BLOCK_BYTES = 1 << 20       # of the transforms and matmuls of a block of tiles
    ROUND_BYTES = 1 << 22       # of transforms of a round of a gradient of kernels
    IMAGE_BYTES = 1 << 24       # of transformed images that are kept for all channels
    ROWS = 12                   # of a matmul that is written at once
    PARTS_PER_THREAD = 2
    ALONE = 1 << 19             # multiplications below which no other thread is worth asking

# Work in multiplications: what the transforms of an element of images and of kernels cost, and how much less than a direct
# convolution all must be (docs/design/providers.md).
cdef double IMAGE_COST = 16
cdef double KERNEL_COST = 9
cdef double WORTH_IT = 0.9

cdef enum:
    FEWEST_CHANNELS = 16        # transforms of fewer fill no vectors, and sums of few terms hide no errors
    # Places that a gradient of kernels sums over, below which tiles of 4 are too far from the direct sum: from the library's, and from
    # that of matmuls for each tap.
    FEWEST_PLACES = 1024
    FEWEST_BY_TAPS = 256

cdef int chosen = -1
cdef int most_lanes = 16


def choose(int tile=-1, int lanes=16):
    global chosen, most_lanes
    if tile not in (-1, 0, 2, 4):
        raise ValueError(f"[winograd] requires tiles of 2 or 4, 0 or -1, got {tile}")
    chosen, most_lanes = tile, lanes


def available():
    return winograd_kernels(most_lanes) != NULL


cdef double work_of(int kind, int tile, const Geometry* q) noexcept nogil:
    cdef const int64_t* made = &q.out[0]
    cdef double channels = q.c * q.o
    cdef double tiles
    if kind == INPUT_GRAD:
        made = &q.size[0]
    tiles = q.n * ((made[0] + tile - 1) // tile) * ((made[1] + tile - 1) // tile)
    return (tile + 2) * (tile + 2) * (tiles * (channels + IMAGE_COST * (q.c + q.o)) + KERNEL_COST * channels)


cdef int winograd_tile(int kind, const Geometry* q, double direct, bint by_taps) noexcept nogil:
    """Return the best number of outputs of a tile along an axis; 0: another algorithm, of ``direct`` multiplications, perhaps matmuls for
    each tap.

    It depends on sizes alone: the same call gives the same bits, whatever ran before and on how many threads.
    """
    cdef int i
    cdef double least = WORTH_IT * direct, work
    cdef int found = 0
    if chosen == 0 or q.nd != 2 or q.groups != 1 or winograd_kernels(most_lanes) == NULL:
        return 0
    for i in range(2):
        if q.kernel[i] != 3 or q.stride[i] != 1 or q.dilation[i] != 1:
            return 0
    if chosen > 0:
        return chosen
    if min(q.c, q.o) < FEWEST_CHANNELS:
        return 0
    for i in range(2, 5, 2):
        if i == 4 and kind == WEIGHT_GRAD and q.n * q.out[0] * q.out[1] < (FEWEST_BY_TAPS if by_taps else FEWEST_PLACES):
            continue
        work = work_of(kind, i, q)
        if work < least:
            found, least = i, work
    return found


cdef bint takes_residual(const Geometry* q, bint g_last) noexcept nogil:
    """Return whether results are written where they lie, and a residual is read so."""
    return g_last and q.o % winograd_kernels(most_lanes).lanes == 0


cdef bint takes_strips(int64_t width) noexcept nogil:
    return winograd_kernels(most_lanes) != NULL and width % winograd_kernels(most_lanes).lanes == 0


# --- pieces of work -------------------------------------------------------------------------------------------------


cdef int in_parts(part_t work, Winograd* q, int64_t units, int64_t parts) noexcept nogil:
    q.units, q.parts = units, min(units, parts)
    return work(q, 0) if q.parts == 1 else parallel_for(work, q, q.parts)


cdef struct Staging:            # images to or from rows of float32 with channels last
    const WinogradKernels* kernels
    const WinogradImage* x
    char* other
    int64_t images, parts
    bint last, back, narrow


cdef int stage(void* arg, int64_t part) noexcept nogil:
    cdef Staging* s = <Staging*>arg
    cdef int64_t places = s.x.h * s.x.w, size = sizeof(uint16_t) if s.narrow else sizeof(float), i, at
    cdef int64_t sizes[2]
    cdef int64_t wide[2]
    cdef int64_t tight[2]
    cdef float* rows
    cdef char* other
    for i in range(part * s.images // s.parts, (part + 1) * s.images // s.parts):
        rows, other = <float*>s.x.data + i * places * s.x.room, s.other + i * places * s.x.c * size
        if s.last:
            sizes[0], sizes[1], wide[0], wide[1], tight[0], tight[1] = places, s.x.c, s.x.room, 1, s.x.c, 1
            if not s.back:
                memset(rows, 0, places * s.x.room * sizeof(float))
            if s.narrow:
                for at in range(places):
                    if s.back:
                        narrow(T_BF16, rows + at * s.x.room, other + at * s.x.c * size, s.x.c)
                    else:
                        widen(T_BF16, other + at * s.x.c * size, rows + at * s.x.room, s.x.c)
            elif s.back:
                copy_strided(other, tight, <char*>rows, wide, sizes, 2, sizeof(float))
            else:
                copy_strided(<char*>rows, wide, other, tight, sizes, 2, sizeof(float))
        elif s.back:
            (s.kernels.transpose_narrow if s.narrow else s.kernels.transpose)(rows, s.x.room, places, s.x.c, other, places, places)
        else:
            (s.kernels.transpose_wide if s.narrow else s.kernels.transpose)(other, places, s.x.c, places, rows, s.x.room, s.x.room)
    return 0


cdef int staged(const WinogradKernels* kernels, const WinogradImage* x, bint narrow, void* other, int64_t images, bint last, bint back,
                int64_t parts) noexcept nogil:
    cdef Staging s
    s.kernels, s.x, s.other, s.images, s.last, s.back, s.narrow = kernels, x, <char*>other, images, last, back, narrow
    s.parts = min(images, parts)
    return stage(&s, 0) if s.parts == 1 else parallel_for(stage, &s, s.parts)


cdef inline void describe_image(WinogradImage* x, void* data, bint narrow, const int64_t* size, int64_t channels, int lanes, int64_t top,
                          int64_t left) noexcept nogil:
    """Fill ``x`` with data, sizes and the start of the first tile; its channels are padded to whole vectors."""
    x.data, x.narrow, x.h, x.w, x.c, x.top, x.left = data, narrow, size[0], size[1], channels, top, left
    x.room = (channels + lanes - 1) // lanes * lanes


cdef inline int64_t carve(int64_t* total, int64_t elements) noexcept nogil:
    cdef int64_t at = total[0]
    total[0] += (elements + 15) // 16 * 16
    return at


cdef int by_winograd(
    int kind, int tile, bint low, const Geometry* q, bint x_last, bint g_last, void* x, void* w, void* g, const After* after,
    const void* residual, int64_t strip
) noexcept nogil:
    """All three are contiguous, x and g with channels first or last. Nothing is empty. ``after``, and a ``residual`` that lies as g does (or
    NULL; where ``takes_residual``), follow a forward pass. ``low``: all are bfloat16, else float32. ``strip``: kernels of float32 of a forward
    pass are in strips of so many channels; 0: they are not."""
    cdef const WinogradKernels* kernels = winograd_kernels(most_lanes)
    cdef Winograd job
    cdef bint read_last = x_last, made_last = g_last, keep, read_staged, made_staged
    cdef int64_t points, wide, slice, parts, block, units, rounds, total = 0, each = 0
    cdef int64_t x_at = -1, y_at = -1, none_at, u_at = -1, v_at = -1, z_at = -1, own_at = -1
    cdef float* memory
    cdef void* read = x
    cdef void* made = g
    cdef const void* bias = after.bias
    memset(&job, 0, sizeof(job))
    if kind == INPUT_GRAD:
        describe_image(&job.x, g, low, q.out, q.o, kernels.lanes, 2 - q.lo[0], 2 - q.lo[1])
        describe_image(&job.y, x, low, q.size, q.c, kernels.lanes, 0, 0)
        read, made, read_last, made_last = g, x, g_last, x_last
        job.flipped, job.w_summed, job.w_made = 1, q.c * 9, 9
    else:
        describe_image(&job.x, x, low, q.size, q.c, kernels.lanes, q.lo[0], q.lo[1])
        describe_image(&job.y, g, low, q.out, q.o, kernels.lanes, 0, 0)
        job.w_summed, job.w_made = 9, q.c * 9
    job.tile, job.w, job.narrow, job.images, job.strip = tile, w, low, q.n, strip
    job.relu, job.hard_swish, job.scale, job.shift, job.residual = after.relu, after.hard_swish, after.scale, after.shift, residual
    job.scaled = after.scale != 1 or after.shift != 0
    job.down, job.across = (job.y.h + tile - 1) // tile, (job.y.w + tile - 1) // tile
    job.tiles = job.images * job.down * job.across
    points = winograd_points(&job)
    if threads() == 1 or <int64_t>points * job.tiles * q.c * q.o < ALONE:
        parts = 1
    else:
        parts = PARTS_PER_THREAD * thread_count()
    # What lies in scratch.
    read_staged, made_staged = not read_last or job.x.room != job.x.c, not made_last or job.y.room != job.y.c
    if read_staged:
        x_at = carve(&total, job.images * job.x.h * job.x.w * job.x.room)
    if made_staged:
        y_at = carve(&total, job.images * job.y.h * job.y.w * job.y.room)
    none_at = carve(&total, job.x.room + job.y.room)
    if kind == WEIGHT_GRAD:
        wide = winograd_panels(&job.x, kernels.lanes) * 2 * kernels.lanes
        rounds = max(1, points * job.tiles * (wide + job.y.room) * 4 // ROUND_BYTES)
        block = (job.tiles + rounds - 1) // rounds     # tiles of a round
        rounds = (job.tiles + block - 1) // block
        v_at = carve(&total, points * winograd_slice(block * wide))
        z_at = carve(&total, points * winograd_slice(block * job.y.room))
        job.block = min(job.y.c, max(ROWS, BLOCK_BYTES // (points * wide * 4) // ROWS * ROWS))
        units = (job.y.c + job.block - 1) // job.block
        slice = points * winograd_slice(job.block * wide)
        if rounds > 1:
            u_at = carve(&total, units * slice)
        else:
            each = slice
        own_at = carve(&total, each * min(parts, units))
    else:
        wide = winograd_panels(&job.y, kernels.lanes) * 2 * kernels.lanes
        keep = job.tiles < job.y.room and points * job.tiles * job.x.room * 4 <= IMAGE_BYTES
        if keep:
            v_at = carve(&total, points * winograd_slice(job.tiles * job.x.room))
            each = points * (winograd_slice(CHUNK * 2 * kernels.lanes) + winograd_slice(job.tiles * 2 * kernels.lanes))
            units = wide // (2 * kernels.lanes)
        else:
            u_at = carve(&total, wide // (2 * kernels.lanes) * points * winograd_slice(job.x.c * 2 * kernels.lanes))
            block = max(ROWS, BLOCK_BYTES // (points * (job.x.room + wide) * 4) // ROWS * ROWS)
            block = min(job.tiles, block)
            each = points * (winograd_slice(block * job.x.room) + winograd_slice(block * wide))
            units = (job.tiles + block - 1) // block
        own_at = carve(&total, each * min(parts, units))
    memory = <float*>scratch_alloc(total * sizeof(float))
    if memory == NULL:
        return NO_MEMORY
    memset(memory + none_at, 0, (job.x.room + job.y.room) * sizeof(float))
    job.nothing = memory + none_at
    if bias != NULL:
        if low:
            widen(T_BF16, bias, memory + none_at + job.x.room, job.y.c)
        else:
            memcpy(memory + none_at + job.x.room, bias, job.y.c * sizeof(float))
        job.bias = memory + none_at + job.x.room
    job.u = memory + u_at if u_at >= 0 else NULL
    job.v = memory + v_at if v_at >= 0 else NULL
    job.z = memory + z_at if z_at >= 0 else NULL
    job.scratch, job.each = memory + own_at, each
    if read_staged:
        job.x.data, job.x.narrow = memory + x_at, False
        staged(kernels, &job.x, low, read, job.images, read_last, False, parts)
    if made_staged:
        job.y.data, job.y.narrow = memory + y_at, False
    if kind == WEIGHT_GRAD:
        if made_staged:
            staged(kernels, &job.y, low, made, job.images, made_last, False, parts)
        slice = job.block
        while job.last < job.tiles:
            job.first, job.last, job.add = job.last, min(job.last + block, job.tiles), job.last > 0
            job.block = ROWS
            in_parts(kernels.factors, &job, (job.last - job.first + ROWS - 1) // ROWS, parts)
            job.block = slice
            in_parts(kernels.gradient, &job, units, parts)
    else:
        if keep:
            job.block = ROWS
            in_parts(kernels.images, &job, (job.tiles + ROWS - 1) // ROWS, parts)
            in_parts(kernels.by_channels, &job, units, parts)
        else:
            in_parts(kernels.kernels, &job, wide // (2 * kernels.lanes), parts)
            job.block = block
            in_parts(kernels.by_tiles, &job, units, parts)
        if made_staged:
            staged(kernels, &job.y, low, made, job.images, made_last, True, parts)
    scratch_free(memory)
    return 0
