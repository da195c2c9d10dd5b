/* Products of rows by a matrix that stays as it is, in float32: what a convolution of kernel 1 is over images with channels last.
 *
 * The matrix lies in strips, [strips, k, strip], the last one filled up. A tile of some rows by one strip is summed in
 * registers over all of k, in one order, so that a row's bits do not depend on the rows beside it, or on threads.
 */
#pragma once
#include <stdint.h>
#include "processor.h"

typedef struct {
    const float *x, *w, *bias, *residual; /* rows of k; strips; NULL for none; as y */
    float *y;                             /* rows of n */
    int64_t m, k, n, strip;
    int relu, hard_swish;                 /* one of them, after the bias and the residual; then results are scaled and shifted */
    float scale, shift;
    int64_t rows, strips, groups;         /* rows of a block; strips of the matrix, and groups of them */
    int64_t units, parts;                 /* a unit of work is a block of rows by a group of strips */
} Pointwise;

typedef int (*pointwise_part)(void *job, int64_t part);
typedef struct { /* for one set of instructions */
    int tallest, widest, lanes; /* rows of a tile at most, outputs of a strip at most and their divisor */
    pointwise_part work;
} PointwiseKernels;

#if defined(__x86_64__) && (defined(__GNUC__) || defined(__clang__))
#include <immintrin.h>
#include "first_lanes.h"

#define PW(name) pointwise_avx512_##name
#define PW_TARGET __attribute__((target("avx512f")))
#define PW_INLINE static inline __attribute__((target("avx512f"), always_inline))
#define VEC __m512
#define LANES 16
#define MASK __mmask16
#define SOME(n) ((__mmask16)((1u << (n)) - 1))
#define SET _mm512_set1_ps
#define LOAD _mm512_loadu_ps
#define LOAD_SOME(p, some) _mm512_maskz_loadu_ps(some, p)
#define STORE _mm512_storeu_ps
#define STORE_SOME(p, some, v) _mm512_mask_storeu_ps(p, some, v)
#define FMA _mm512_fmadd_ps
#define ADD _mm512_add_ps
#define MAX _mm512_max_ps /* the second where either is NaN */
#define MIN _mm512_min_ps
#define MUL _mm512_mul_ps
/* Registers hold at most 24 sums, a vector of the strip and a number of x. */
#define TILES(F) F(1, 12) F(2, 12) F(3, 8) F(4, 6)
#define TALLEST 12
#define WIDEST 4
#include "pointwise_items.h"

#define PW(name) pointwise_avx2_##name
#define PW_TARGET __attribute__((target("avx2,fma")))
#define PW_INLINE static inline __attribute__((target("avx2,fma"), always_inline))
#define VEC __m256
#define LANES 8
#define MASK __m256i
#define SOME first_lanes
#define SET _mm256_set1_ps
#define LOAD _mm256_loadu_ps
#define LOAD_SOME(p, some) _mm256_maskload_ps(p, some)
#define STORE _mm256_storeu_ps
#define STORE_SOME first_lanes_store
#define FMA _mm256_fmadd_ps
#define ADD _mm256_add_ps
#define MAX _mm256_max_ps
#define MIN _mm256_min_ps
#define MUL _mm256_mul_ps
#define TILES(F) F(1, 8) F(2, 6) F(3, 4)
#define TALLEST 8
#define WIDEST 3
#include "pointwise_items.h"

/* What this processor runs; NULL where it has none of these instructions. */
static const PointwiseKernels *pointwise_kernels(void) {
    static int level = -1;
    if (level < 0) level = processor_vectors();
    return level == 2 ? &pointwise_avx512_all : level ? &pointwise_avx2_all : 0;
}

#else
static const PointwiseKernels *pointwise_kernels(void) { return 0; }
#endif
