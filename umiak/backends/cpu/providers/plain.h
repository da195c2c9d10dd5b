/* Matmuls in plain loops, for types and systems that no library serves, and conversions of 16-bit floats. */
#pragma once
#include <complex.h>
#include <math.h>
#include <stdint.h>
#include <string.h>

/* Loops that the compiler makes vectors of are compiled for newer processors too, and chosen when the module is loaded. */
#if defined(__x86_64__) && defined(__GLIBC__) && defined(__GNUC__) && !defined(__clang__) && __GNUC__ >= 12
#define PLAIN_CLONES __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#else
#define PLAIN_CLONES
#endif

/* c = a b, or c += a b. Rows of b and c that are contiguous are vectors to the compiler, four of b at a time: a row of c
 * that is read again as soon as it is written waits for itself. 64 rows of b are used by all rows of a before the next. */
#define PLAIN_GEMM(name, T)                                                                                            \
    static inline __attribute__((always_inline)) void plain_rows_##name(                                               \
        int64_t n, const T *a, int64_t ak, const T *restrict b, int64_t bk, T *restrict z) {                           \
        const T x0 = a[0], x1 = a[ak], x2 = a[2 * ak], x3 = a[3 * ak];                                                 \
        const T *y1 = b + bk, *y2 = b + 2 * bk, *y3 = b + 3 * bk;                                                      \
        for (int64_t j = 0; j < n; j++) z[j] += x0 * b[j] + x1 * y1[j] + x2 * y2[j] + x3 * y3[j];                      \
    }                                                                                                                  \
    PLAIN_CLONES static void plain_##name(int64_t m, int64_t n, int64_t k, const T *a, int64_t am, int64_t ak,         \
                                          const T *b, int64_t bk, int64_t bn, T *c, int64_t cm, int64_t cn,            \
                                          int accumulate) {                                                            \
        if (!accumulate)                                                                                               \
            for (int64_t i = 0; i < m; i++)                                                                            \
                for (int64_t j = 0; j < n; j++) c[i * cm + j * cn] = 0;                                                \
        for (int64_t first = 0; first < k; first += 64) {                                                              \
            int64_t last = first + 64 < k ? first + 64 : k;                                                            \
            for (int64_t i = 0; i < m; i++) {                                                                          \
                int64_t p = first;                                                                                     \
                if (bn == 1 && cn == 1)                                                                                \
                    for (; p + 4 <= last; p += 4)                                                                      \
                        plain_rows_##name(n, a + i * am + p * ak, ak, b + p * bk, bk, c + i * cm);                     \
                for (; p < last; p++) {                                                                                \
                    const T x = a[i * am + p * ak];                                                                    \
                    for (int64_t j = 0; j < n; j++) c[i * cm + j * cn] += x * b[p * bk + j * bn];                      \
                }                                                                                                      \
            }                                                                                                          \
        }                                                                                                              \
    }

PLAIN_GEMM(f32, float)
PLAIN_GEMM(f64, double)
PLAIN_GEMM(c64, float complex)
PLAIN_GEMM(c128, double complex)
PLAIN_GEMM(i8, uint8_t) /* integers wrap; the sign makes no difference to the low bits */
PLAIN_GEMM(i16, uint16_t)
PLAIN_GEMM(i32, uint32_t)
PLAIN_GEMM(i64, uint64_t)

static inline float plain_from_bf16(uint16_t h) {
    uint32_t u = (uint32_t)h << 16;
    float f;
    memcpy(&f, &u, 4);
    return f;
}

static inline uint16_t plain_to_bf16(float f) {
    uint32_t u;
    memcpy(&u, &f, 4);
    uint32_t rounded = (u + 0x7fff + ((u >> 16) & 1)) >> 16;
    return (u & 0x7fffffff) > 0x7f800000 ? (uint16_t)((u >> 16) | 0x40) : (uint16_t)rounded;
}

static inline float plain_from_f16(uint16_t h) {
    /* The exponent is moved by a product, which also makes subnormal numbers normal. */
    uint32_t u = (uint32_t)(h & 0x7fff) << 13, sign = (uint32_t)(h & 0x8000) << 16;
    float f;
    memcpy(&f, &u, 4);
    f *= 0x1p112f;
    memcpy(&u, &f, 4);
    if ((h & 0x7c00) == 0x7c00) u |= 0x7f800000;
    u |= sign;
    memcpy(&f, &u, 4);
    return f;
}

static inline uint16_t plain_to_f16(float f) {
    uint32_t u;
    memcpy(&u, &f, 4);
    uint32_t sign = (u >> 16) & 0x8000;
    u &= 0x7fffffff;
    if (u > 0x7f800000) return (uint16_t)(sign | 0x7e00);
    if (u >= 0x477ff000) return (uint16_t)(sign | 0x7c00); /* 65520 and more */
    if (u < 0x38800000) {                                  /* subnormal: the sum rounds at the last bit that is kept */
        float g;
        memcpy(&g, &u, 4);
        g += 0.5f;
        memcpy(&u, &g, 4);
        return (uint16_t)(sign | (u - 0x3f000000));
    }
    u += 0xfff + ((u >> 13) & 1);
    return (uint16_t)(sign | ((u - 0x38000000) >> 13));
}

PLAIN_CLONES static void plain_widen(int is_bf16, const uint16_t *s, float *t, int64_t n) {
    if (is_bf16)
        for (int64_t i = 0; i < n; i++) t[i] = plain_from_bf16(s[i]);
    else
        for (int64_t i = 0; i < n; i++) t[i] = plain_from_f16(s[i]);
}

PLAIN_CLONES static void plain_narrow(int is_bf16, const float *s, uint16_t *t, int64_t n) {
    if (is_bf16)
        for (int64_t i = 0; i < n; i++) t[i] = plain_to_bf16(s[i]);
    else
        for (int64_t i = 0; i < n; i++) t[i] = plain_to_f16(s[i]);
}
