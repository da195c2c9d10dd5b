/* Convolutions of one channel each, of float32 or bfloat16, in float32: images have channels last, a vector is of channels.
 *
 * Kernels are spread into vectors first. A unit of work is some vectors of channels over some rows of a block of columns: as
 * many as are made at once, or several times that where a unit has all channels of few, since memory is read in longer runs so.
 * It goes row by row, and from vector to vector within a row: what rows share is in the L1 cache.
 */
#pragma once
#include <stdint.h>
#include "plain.h"
#include "processor.h"

typedef struct {
    const void *x, *w, *bias;     /* bias: NULL for none */
    void *y;
    int64_t n, c, h, width, down, across; /* sizes of x, and of y along both axes */
    int64_t kh, kw, sh, sw, top, left;
    int64_t w_c, w_h, w_w;        /* strides of w in elements */
    int relu, hard_swish;         /* one of them, after the bias; then results are scaled and shifted */
    float scale, shift;
    int64_t inner, outer;         /* places across from the one to the other see no pads beside the image */
    int64_t rows, bands, wide, blocks, vectors; /* rows and columns of y of a unit; units along both; vectors of channels, */
    int64_t together, groups;     /* those of a unit, and units along channels */
    float *taps;                  /* of all vectors */
    int64_t units, parts;
} Depthwise;

typedef int (*depthwise_part)(void *job, int64_t part);
typedef struct { /* for one set of instructions */
    int lanes, side;
    void (*spread)(const Depthwise *q);
    depthwise_part work;
} DepthwiseKernels;

enum {
    DEPTHWISE_TOGETHER = 24 << 10, /* bytes that the vectors of a unit read for one row: they stay in the L1 cache for the next */
    DEPTHWISE_LINE = 64,
};

/* What follows from the sizes: places that see no pads, vectors of `lanes` channels and groups of them, blocks of columns. */
static inline void depthwise_divide(Depthwise *q, int lanes, int side) {
    q->inner = (q->left + q->sw - 1) / q->sw;
    q->outer = q->width + q->left < q->kw ? 0 : (q->width + q->left - q->kw) / q->sw + 1;
    if (q->outer > q->across) q->outer = q->across;
    if (q->inner > q->outer) q->inner = q->outer;
    q->vectors = (q->c + lanes - 1) / lanes;
    q->together = DEPTHWISE_TOGETHER / (((side - 1) * q->sw + q->kw) * q->kh * DEPTHWISE_LINE);
    if (q->together < 1) q->together = 1;
    q->groups = (q->vectors + q->together - 1) / q->together;
    q->wide = q->together / q->vectors > 1 ? q->together / q->vectors * side : side;
    q->blocks = (q->across + q->wide - 1) / q->wide;
}

#if defined(__x86_64__) && (defined(__GNUC__) || defined(__clang__))
#include <immintrin.h>

#define DW(name) depthwise_avx512_##name
#define DW_TARGET __attribute__((target("avx512f")))
#define DW_INLINE static inline __attribute__((target("avx512f"), always_inline))
#define VEC __m512
#define LANES 16
#define SIDE 12
#define PREFETCH 0
#define SET _mm512_set1_ps
#define ITEM float
#define WIDE(x) (x)
#define LOAD _mm512_loadu_ps
#define STORE _mm512_storeu_ps
#define FMA _mm512_fmadd_ps
#define MAX _mm512_max_ps /* the second where either is NaN */
#define MIN _mm512_min_ps
#define MUL _mm512_mul_ps
#include "depthwise_items.h"

#define DW(name) depthwise_avx2_##name
#define DW_TARGET __attribute__((target("avx2,fma")))
#define DW_INLINE static inline __attribute__((target("avx2,fma"), always_inline))
#define VEC __m256
#define LANES 8
#define SIDE 6
#define PREFETCH 2 /* vectors of a line; 0: none. On Zen 3, images larger than the L2 cache take 0.4 to 0.7 of the time */
#define SET _mm256_set1_ps
#define ITEM float
#define WIDE(x) (x)
#define LOAD _mm256_loadu_ps
#define STORE _mm256_storeu_ps
#define FMA _mm256_fmadd_ps
#define MAX _mm256_max_ps
#define MIN _mm256_min_ps
#define MUL _mm256_mul_ps
#include "depthwise_items.h"

/* bfloat16, where the processor rounds to it. */
#define DW(name) depthwise_bf16_##name
#define DW_TARGET __attribute__((target("avx512f,avx512bw,avx512bf16")))
#define DW_INLINE static inline __attribute__((target("avx512f,avx512bw,avx512bf16"), always_inline))
#define VEC __m512
#define LANES 16
#define SIDE 12
#define PREFETCH 0
#define SET _mm512_set1_ps
#define ITEM uint16_t
#define WIDE plain_from_bf16
#define LOAD(p) _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(_mm256_loadu_si256((const __m256i *)(p))), 16))
#define STORE(p, v) _mm256_storeu_si256((__m256i *)(p), (__m256i)_mm512_cvtneps_pbh(v))
#define FMA _mm512_fmadd_ps
#define MAX _mm512_max_ps
#define MIN _mm512_min_ps
#define MUL _mm512_mul_ps
#include "depthwise_items.h"

/* What this processor runs, of bfloat16 where `low`; NULL where it has none of these instructions. */
static const DepthwiseKernels *depthwise_kernels(int low) {
    static int level = -1;
    if (level < 0) level = processor_multiplies_bf16() ? 3 : processor_vectors();
    if (low) return level == 3 ? &depthwise_bf16_all : 0;
    return level >= 2 ? &depthwise_avx512_all : level ? &depthwise_avx2_all : 0;
}

#else
static const DepthwiseKernels *depthwise_kernels(int low) { return 0; }
#endif
