# cython: binding=False
"""Regions of interest, columns of deformable convolutions, suppression of boxes: detection.h, in parts among threads."""
from libc.stdint cimport int64_t, uint8_t

from umiak.backends.cpu.launcher cimport parallel_for, part_t, thread_count

cdef extern from "umiak/backends/cpu/detection.h" nogil:
    int UMIAK_ROI_ALIGN, UMIAK_PSROI_POOL, UMIAK_ROI_MAX_INDEX
    ctypedef struct umiak_regions:
        int doubles, kind, spread, aligned
        const void* x
        const void* boxes
        void* out
        const int64_t* images
        int64_t n, channels, height, width, regions, rows, columns, ratio, out_channels, parts
        double scale
    ctypedef struct umiak_deformable:
        int doubles
        const void* x
        const void* offset
        const void* mask
        const void* g
        void* out
        void* mask_out
        int64_t n, channels, height, width, groups, kernel_rows, kernel_columns, rows, columns
        int64_t strides[2]
        int64_t pads[2]
        int64_t dilations[2]
        int64_t parts
    ctypedef struct umiak_suppression:
        int doubles
        const void* boxes
        const int64_t* group
        const uint8_t* valid
        uint8_t* kept
        int64_t count
        double threshold, eta, offset
    int umiak_regions_part(void* arg, int64_t part)
    int umiak_columns_part(void* arg, int64_t part)
    int umiak_columns_spread_part(void* arg, int64_t part)
    int umiak_columns_slopes_part(void* arg, int64_t part)
    int umiak_suppress(const umiak_suppression* p)

cdef enum:
    PARALLEL = 1 << 14          # elements, from which on other threads help
    PARTS_PER_THREAD = 4
    LEAST_CHANNELS = 16         # of a part


cdef object run(part_t fn, void* arg, int64_t parts):
    cdef int code
    with nogil:
        code = parallel_for(fn, arg, parts) if parts > 1 else fn(arg, 0)
    if code != 0:
        raise MemoryError("no memory for the samples of regions")


def regions(str kind, bint doubles, bint spread, bint aligned, size_t x, size_t boxes, size_t images, size_t out,
            tuple shape, int64_t count, tuple bins, int64_t out_channels, double scale, int64_t ratio):
    """Pool regions, by address."""
    cdef umiak_regions p
    p.kind = KINDS[kind]
    p.doubles, p.spread, p.aligned = doubles, spread, aligned
    p.x, p.boxes, p.images, p.out = <const void*>x, <const void*>boxes, <const int64_t*>images, <void*>out
    p.n, p.channels, p.height, p.width = shape
    p.regions, p.out_channels = count, out_channels
    p.rows, p.columns = bins
    p.scale, p.ratio = scale, ratio
    if count == 0 or out_channels == 0:
        return
    cdef int64_t most = out_channels if spread else count, threads = thread_count()
    p.parts = 1
    if threads > 1 and count * out_channels * p.rows * p.columns >= PARALLEL:
        p.parts = min(most, threads if spread else threads * PARTS_PER_THREAD)
    run(umiak_regions_part, &p, p.parts)


def deformable(str kind, bint doubles, size_t x, size_t offset, size_t mask, size_t g, size_t out, size_t mask_out,
               tuple shape, tuple kernel, tuple positions, int64_t groups, tuple strides, tuple pads,
               tuple dilations):
    """Sample columns, or compute what their transposes give, by address."""
    cdef umiak_deformable p
    cdef int64_t threads = thread_count(), pieces
    cdef part_t fn
    p.doubles = doubles
    p.x, p.offset, p.mask, p.g = <const void*>x, <const void*>offset, <const void*>mask, <const void*>g
    p.out, p.mask_out = <void*>out, <void*>mask_out
    p.n, p.height, p.width, p.channels = shape
    p.kernel_rows, p.kernel_columns = kernel
    p.rows, p.columns = positions
    p.groups = groups
    p.strides[0], p.strides[1] = strides
    p.pads[0], p.pads[1] = pads
    p.dilations[0], p.dilations[1] = dilations
    if p.n * p.channels * p.rows * p.columns == 0:
        return
    if p.n * p.channels * p.rows * p.columns * p.kernel_rows * p.kernel_columns < PARALLEL:
        threads = 1
    if kind == "spread":
        fn = umiak_columns_spread_part
        pieces = max(1, min((threads + p.n * groups - 1) // (p.n * groups), p.channels // groups // LEAST_CHANNELS))
        p.parts = p.n * groups * pieces
    else:
        fn = umiak_columns_part if kind == "columns" else umiak_columns_slopes_part
        p.parts = min(p.n * p.rows, threads * PARTS_PER_THREAD if threads > 1 else 1)
    run(fn, &p, p.parts)


def suppress(bint doubles, size_t boxes, size_t group, size_t valid, size_t kept, int64_t count, double threshold,
             double eta, double offset):
    """Suppress boxes that overlap with those before them, by address."""
    cdef umiak_suppression p
    cdef int code
    p.doubles = doubles
    p.boxes, p.group, p.valid = <const void*>boxes, <const int64_t*>group, <const uint8_t*>valid
    p.kept = <uint8_t*>kept
    p.count, p.threshold, p.eta, p.offset = count, threshold, eta, offset
    with nogil:
        code = umiak_suppress(&p)
    if code != 0:
        raise MemoryError(f"no memory for {count} boxes")


KINDS = {"align": UMIAK_ROI_ALIGN, "sensitive": UMIAK_PSROI_POOL, "max_index": UMIAK_ROI_MAX_INDEX}
