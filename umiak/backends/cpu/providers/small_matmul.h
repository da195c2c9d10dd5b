/* Small matmuls of float32 matrices, faster than a call of a library: no packing, one row of registers per row of a.
 *
 * small_gemm: c[m, n] = a[m, k] b[k, n], plus bias[n] unless that is NULL. a has any strides; rows of c are contiguous; b's are
 * where bn == 1, else its columns (bk == 1, k up to SMALL_COLUMNS), which are transposed first. Returns 0 where there is no
 * version for it.
 */
#pragma once
#include <stdint.h>
#include "processor.h"

#define SMALL_COLUMNS 256

#if defined(__x86_64__) && (defined(__GNUC__) || defined(__clang__))
#include <immintrin.h>
#include "first_lanes.h"

#define SMALL_INLINE static inline __attribute__((always_inline))

/* Four columns of b, four elements each, become four rows. SSE alone, so that both versions can use it. */
static void small_transpose(const float *b, int64_t ldb, int64_t k, int64_t n, float *panel, int64_t width) {
    int64_t j = 0;
    for (; j + 4 <= n; j += 4) {
        const float *s = b + j * ldb;
        int64_t p = 0;
        for (; p + 4 <= k; p += 4) {
            __m128 r0 = _mm_loadu_ps(s + p), r1 = _mm_loadu_ps(s + ldb + p), r2 = _mm_loadu_ps(s + 2 * ldb + p),
                   r3 = _mm_loadu_ps(s + 3 * ldb + p);
            _MM_TRANSPOSE4_PS(r0, r1, r2, r3);
            float *t = panel + p * width + j;
            _mm_storeu_ps(t, r0);
            _mm_storeu_ps(t + width, r1);
            _mm_storeu_ps(t + 2 * width, r2);
            _mm_storeu_ps(t + 3 * width, r3);
        }
        for (; p < k; p++)
            for (int i = 0; i < 4; i++) panel[p * width + j + i] = s[i * ldb + p];
    }
    for (; j < n; j++)
        for (int64_t p = 0; p < k; p++) panel[p * width + j] = b[j * ldb + p];
}

/* The tile of ROWS x (VECS vectors), the last vector under a mask. ROWS and VECS are constants after inlining. */
#define SMALL_TILE(NAME, TARGET, V, W, MASK, ZERO, SET, LOAD, LOADM, STORE, STOREM, FMA, ADD)                          \
    __attribute__((target(TARGET), always_inline)) static inline void NAME##_tile(                                     \
        int rows, int vecs, int64_t k, const float *a, int64_t am, int64_t ak, const float *b, int64_t ldb, float *c,  \
        int64_t ldc, MASK mask, const float *bias) {                                                                   \
        V acc[8][4];                                                                                                   \
        for (int i = 0; i < rows; i++)                                                                                 \
            for (int v = 0; v < vecs; v++) acc[i][v] = ZERO();                                                         \
        for (int64_t p = 0; p < k; p++) {                                                                              \
            V y[4];                                                                                                    \
            for (int v = 0; v < vecs; v++)                                                                             \
                y[v] = v == vecs - 1 ? LOADM(b + p * ldb + v * W, mask) : LOAD(b + p * ldb + v * W);                   \
            for (int i = 0; i < rows; i++) {                                                                           \
                V x = SET(a[i * am + p * ak]);                                                                         \
                for (int v = 0; v < vecs; v++) acc[i][v] = FMA(x, y[v], acc[i][v]);                                    \
            }                                                                                                          \
        }                                                                                                              \
        if (bias)                                                                                                      \
            for (int v = 0; v < vecs; v++) {                                                                           \
                V z = v == vecs - 1 ? LOADM(bias + v * W, mask) : LOAD(bias + v * W);                                  \
                for (int i = 0; i < rows; i++) acc[i][v] = ADD(acc[i][v], z);                                          \
            }                                                                                                          \
        for (int i = 0; i < rows; i++)                                                                                 \
            for (int v = 0; v < vecs; v++) {                                                                           \
                if (v == vecs - 1)                                                                                     \
                    STOREM(c + i * ldc + v * W, mask, acc[i][v]);                                                      \
                else                                                                                                   \
                    STORE(c + i * ldc + v * W, acc[i][v]);                                                             \
            }                                                                                                          \
    }

#define SMALL_ROWS(NAME, VECS, R) case R: NAME##_tile(R, VECS, k, a, am, ak, b, ldb, c, ldc, mask, bias); break;

#define SMALL_STRIP(NAME, TARGET, MASK, VECS, MOST, MORE)                                                              \
    __attribute__((target(TARGET), noinline)) static void NAME##_strip##VECS(                                          \
        int64_t m, int64_t k, const float *a, int64_t am, int64_t ak, const float *b, int64_t ldb, float *c,           \
        int64_t ldc, MASK mask, const float *bias) {                                                                   \
        for (; m >= MOST; m -= MOST, a += MOST * am, c += MOST * ldc)                                                  \
            NAME##_tile(MOST, VECS, k, a, am, ak, b, ldb, c, ldc, mask, bias);                                         \
        switch (m) { MORE(NAME, VECS) }                                                                                \
    }

#define SMALL_SEVEN(NAME, VECS)                                                                                        \
    SMALL_ROWS(NAME, VECS, 1) SMALL_ROWS(NAME, VECS, 2) SMALL_ROWS(NAME, VECS, 3) SMALL_ROWS(NAME, VECS, 4)            \
    SMALL_ROWS(NAME, VECS, 5) SMALL_ROWS(NAME, VECS, 6) SMALL_ROWS(NAME, VECS, 7)
#define SMALL_THREE(NAME, VECS) SMALL_ROWS(NAME, VECS, 1) SMALL_ROWS(NAME, VECS, 2) SMALL_ROWS(NAME, VECS, 3)

#define SMALL_DRIVER(NAME, TARGET, W, MASK, MAKE_MASK)                                                                 \
    __attribute__((target(TARGET))) static void NAME(int64_t m, int64_t n, int64_t k, const float *a, int64_t am,      \
                                                     int64_t ak, const float *b, int64_t bk, int64_t bn, float *c,     \
                                                     int64_t ldc, float *panel, const float *bias) {                   \
        for (int64_t j = 0; j < n; j += 3 * W) {                                                                       \
            int64_t left = n - j < 3 * W ? n - j : 3 * W;                                                              \
            const float *y = b + j * bn;                                                                               \
            int64_t ldb = bk;                                                                                          \
            int tail = (int)((left - 1) % W) + 1;                                                                      \
            const float *z = bias ? bias + j : 0;                                                                      \
            MASK mask = MAKE_MASK(tail);                                                                               \
            if (bn != 1) {                                                                                             \
                ldb = (left + 3) / 4 * 4;                                                                              \
                small_transpose(y, bn, k, left, panel, ldb);                                                           \
                y = panel;                                                                                             \
            }                                                                                                          \
            if (left > 2 * W)                                                                                          \
                NAME##_strip3(m, k, a, am, ak, y, ldb, c + j, ldc, mask, z);                                           \
            else if (left > W)                                                                                         \
                NAME##_strip2(m, k, a, am, ak, y, ldb, c + j, ldc, mask, z);                                           \
            else                                                                                                       \
                NAME##_strip1(m, k, a, am, ak, y, ldb, c + j, ldc, mask, z);                                           \
        }                                                                                                              \
    }

#define LOADM512(p, m) _mm512_maskz_loadu_ps(m, p)
#define STOREM512(p, m, v) _mm512_mask_storeu_ps(p, m, v)
#define MASK512(n) ((__mmask16)((1u << (n)) - 1))
SMALL_TILE(small_avx512, "avx512f", __m512, 16, __mmask16, _mm512_setzero_ps, _mm512_set1_ps, _mm512_loadu_ps, LOADM512,
           _mm512_storeu_ps, STOREM512, _mm512_fmadd_ps, _mm512_add_ps)
SMALL_STRIP(small_avx512, "avx512f", __mmask16, 1, 8, SMALL_SEVEN)
SMALL_STRIP(small_avx512, "avx512f", __mmask16, 2, 8, SMALL_SEVEN)
SMALL_STRIP(small_avx512, "avx512f", __mmask16, 3, 8, SMALL_SEVEN)
SMALL_DRIVER(small_avx512, "avx512f", 16, __mmask16, MASK512)

SMALL_TILE(small_avx2, "avx2,fma", __m256, 8, __m256i, _mm256_setzero_ps, _mm256_set1_ps, _mm256_loadu_ps,
           _mm256_maskload_ps, _mm256_storeu_ps, first_lanes_store, _mm256_fmadd_ps, _mm256_add_ps)
SMALL_STRIP(small_avx2, "avx2,fma", __m256i, 1, 4, SMALL_THREE)
SMALL_STRIP(small_avx2, "avx2,fma", __m256i, 2, 4, SMALL_THREE)
SMALL_STRIP(small_avx2, "avx2,fma", __m256i, 3, 4, SMALL_THREE)
SMALL_DRIVER(small_avx2, "avx2,fma", 8, __m256i, first_lanes)

/* Rows that are contiguous times a vector, four rows at once. */
__attribute__((target("avx512f"))) static void small_dots_avx512(int64_t m, int64_t k, const float *a, int64_t lda,
                                                                 const float *x, float *y, int64_t step) {
    __mmask16 mask = MASK512((int)((k - 1) & 15) + 1);
    for (int64_t i = 0; i < m; i += 4) {
        int rows = m - i < 4 ? (int)(m - i) : 4;
        const float *r[4];
        for (int q = 0; q < 4; q++) r[q] = a + (i + (q < rows ? q : 0)) * lda;
        __m512 s[4] = {_mm512_setzero_ps(), _mm512_setzero_ps(), _mm512_setzero_ps(), _mm512_setzero_ps()}, t[4];
        for (int q = 0; q < 4; q++) t[q] = s[q];
        int64_t p = 0;
        for (; p + 32 < k; p += 32) {
            __m512 v = _mm512_loadu_ps(x + p), w = _mm512_loadu_ps(x + p + 16);
            for (int q = 0; q < 4; q++) {
                s[q] = _mm512_fmadd_ps(_mm512_loadu_ps(r[q] + p), v, s[q]);
                t[q] = _mm512_fmadd_ps(_mm512_loadu_ps(r[q] + p + 16), w, t[q]);
            }
        }
        for (; p < k; p += 16) {
            __mmask16 here = p + 16 < k ? (__mmask16)0xffff : mask;
            __m512 v = LOADM512(x + p, here);
            for (int q = 0; q < 4; q++) s[q] = _mm512_fmadd_ps(LOADM512(r[q] + p, here), v, s[q]);
        }
        for (int q = 0; q < rows; q++) y[(i + q) * step] = _mm512_reduce_add_ps(_mm512_add_ps(s[q], t[q]));
    }
}

static int small_level(void) {
    static int level = -1;
    if (level < 0) level = processor_vectors();
    return level;
}

__attribute__((noinline)) static void small_by_columns(int64_t m, int64_t n, int64_t k, const float *a, int64_t am,
                                                       int64_t ak, const float *b, int64_t bn, float *c, int64_t ldc,
                                                       const float *bias) {
    float panel[48 * SMALL_COLUMNS]; /* here, so that other matmuls do without so much stack */
    if (small_level() == 2)
        small_avx512(m, n, k, a, am, ak, b, 1, bn, c, ldc, panel, bias);
    else
        small_avx2(m, n, k, a, am, ak, b, 1, bn, c, ldc, panel, bias);
}

static int small_gemm(int64_t m, int64_t n, int64_t k, const float *a, int64_t am, int64_t ak, const float *b, int64_t bk,
                      int64_t bn, float *c, int64_t ldc, const float *bias) {
    int level = small_level();
    if (!level || (bn != 1 && (bk != 1 || k > SMALL_COLUMNS))) return 0;
    if (bn != 1)
        small_by_columns(m, n, k, a, am, ak, b, bn, c, ldc, bias);
    else if (level == 2)
        small_avx512(m, n, k, a, am, ak, b, bk, 1, c, ldc, 0, bias);
    else
        small_avx2(m, n, k, a, am, ak, b, bk, 1, c, ldc, 0, bias);
    return 1;
}

/* y = a x for rows of a that are contiguous; y has a stride. */
static int small_dots(int64_t m, int64_t k, const float *a, int64_t lda, const float *x, float *y, int64_t step) {
    if (small_level() != 2) return 0;
    small_dots_avx512(m, k, a, lda, x, y, step);
    return 1;
}

/* c = a b for one column and one row that is contiguous: whole rows in order, since writing is all the work. */
#define SMALL_OUTER(NAME, TARGET, V, W, SET, LOAD, STORE, MUL)                                                         \
    __attribute__((target(TARGET))) static void NAME(int64_t m, int64_t n, const float *a, int64_t am, const float *b, \
                                                     float *c, int64_t ldc) {                                          \
        for (int64_t i = 0; i < m; i++, c += ldc) {                                                                    \
            float x = a[i * am];                                                                                       \
            V xs = SET(x);                                                                                             \
            int64_t j = 0;                                                                                             \
            for (; j + W <= n; j += W) STORE(c + j, MUL(xs, LOAD(b + j)));                                             \
            for (; j < n; j++) c[j] = x * b[j];                                                                        \
        }                                                                                                              \
    }
SMALL_OUTER(small_outer_avx512, "avx512f", __m512, 16, _mm512_set1_ps, _mm512_loadu_ps, _mm512_storeu_ps, _mm512_mul_ps)
SMALL_OUTER(small_outer_avx2, "avx2", __m256, 8, _mm256_set1_ps, _mm256_loadu_ps, _mm256_storeu_ps, _mm256_mul_ps)

static int small_outer(int64_t m, int64_t n, const float *a, int64_t am, const float *b, float *c, int64_t ldc) {
    int level = small_level();
    if (level == 2)
        small_outer_avx512(m, n, a, am, b, c, ldc);
    else if (level == 1)
        small_outer_avx2(m, n, a, am, b, c, ldc);
    return level > 0;
}

#else
static int small_level(void) { return 0; }
static int small_outer(int64_t m, int64_t n, const float *a, int64_t am, const float *b, float *c, int64_t ldc) {
    return 0;
}
static int small_gemm(int64_t m, int64_t n, int64_t k, const float *a, int64_t am, int64_t ak, const float *b, int64_t bk,
                      int64_t bn, float *c, int64_t ldc, const float *bias) {
    return 0;
}
static int small_dots(int64_t m, int64_t k, const float *a, int64_t lda, const float *x, float *y, int64_t step) {
    return 0;
}
#endif
