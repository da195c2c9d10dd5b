/* Pooling of regions, sampled columns of deformable convolutions, suppression of boxes. See umiak/ops/roi.py,
   deformable.py and boxes.py, which say what the launches mean; detection_lanes.h has them for one type of numbers.

   Launches are split over ranges in which no two parts write one element. All images are dense; what leads into memory
   (images of boxes, sizes) has been checked, and positions are clamped as floating numbers before they are integers. */
#ifndef UMIAK_DETECTION_H
#define UMIAK_DETECTION_H

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* Loops that the compiler makes vectors of are compiled for newer processors too, and chosen when the module is loaded. */
#if defined(__x86_64__) && defined(__GLIBC__) && defined(__GNUC__) && !defined(__clang__) && __GNUC__ >= 12
#define DETECTION_CLONES __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#else
#define DETECTION_CLONES
#endif
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC push_options
#pragma GCC optimize("no-trapping-math", "no-signed-zeros", "fp-contract=fast")
#endif

enum { UMIAK_NO_MEMORY = 1 };

typedef struct {
    int doubles, kind, spread, aligned;
    const void *x, *boxes;             /* images, or gradients of results; [regions, 4] */
    void *out;
    const int64_t *images;             /* of each region */
    int64_t n, channels, height, width;   /* of the images */
    int64_t regions, rows, columns, ratio;
    int64_t out_channels;              /* of the results */
    double scale;
    int64_t parts;
} umiak_regions;

enum { UMIAK_ROI_ALIGN, UMIAK_PSROI_POOL, UMIAK_ROI_MAX_INDEX };

typedef struct {
    int doubles;
    const void *x, *offset, *mask, *g;   /* [n, height, width, channels], [n, groups*taps*2, rows, columns], ... */
    void *out, *mask_out;
    int64_t n, channels, height, width, groups, kernel_rows, kernel_columns, rows, columns;
    int64_t strides[2], pads[2], dilations[2];
    int64_t parts;
} umiak_deformable;

typedef struct {
    int doubles;
    const void *boxes;
    const int64_t *group;   /* numbers below count; NULL: one group */
    const uint8_t *valid;   /* NULL: all */
    uint8_t *kept;
    int64_t count;
    double threshold, eta, offset;
} umiak_suppression;

#define T float
#define NAME(x) umiak_##x##_f
#define INT int32_t
#include "umiak/backends/cpu/detection_lanes.h"
#undef T
#undef NAME
#undef INT
#define T double
#define NAME(x) umiak_##x##_d
#define INT int64_t
#include "umiak/backends/cpu/detection_lanes.h"
#undef T
#undef NAME
#undef INT

#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC pop_options
#endif

static int umiak_regions_part(void *arg, int64_t part)
{
    const umiak_regions *p = (const umiak_regions *)arg;
    return p->doubles ? umiak_regions_d(p, part) : umiak_regions_f(p, part);
}

static int umiak_columns_part(void *arg, int64_t part)
{
    const umiak_deformable *p = (const umiak_deformable *)arg;
    if (p->doubles) umiak_columns_d(p, part); else umiak_columns_f(p, part);
    return 0;
}

static int umiak_columns_spread_part(void *arg, int64_t part)
{
    const umiak_deformable *p = (const umiak_deformable *)arg;
    if (p->doubles) umiak_columns_spread_d(p, part); else umiak_columns_spread_f(p, part);
    return 0;
}

static int umiak_columns_slopes_part(void *arg, int64_t part)
{
    const umiak_deformable *p = (const umiak_deformable *)arg;
    if (p->doubles) umiak_columns_slopes_d(p, part); else umiak_columns_slopes_f(p, part);
    return 0;
}

static int umiak_suppress(const umiak_suppression *p)
{
    return p->doubles ? umiak_suppress_d(p) : umiak_suppress_f(p);
}

#endif
