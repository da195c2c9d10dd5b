/* Products of rows of bfloat16 by a matrix of bfloat16 in strips of 16 columns, summed in float32: of recurrent layers whose weights
 * stay as they are.
 *
 * The matrix is [strips, k / 2, 16, 2] (compiler/strips.py): a vector of 64 bytes is two terms of 16 columns, as dot products take
 * them, and 16 of them are a tile, as matrix units do. k is a multiple of 32; rows are filled up with zeros to it.
 */
#pragma once
#include <stdint.h>

typedef void (*narrow_rows_t)(const float *x, int64_t n, uint16_t *to, int64_t padded);
typedef void (*narrow_product_t)(float *c, int64_t c_row, const uint16_t *a, int64_t a_row, const uint16_t *b, int64_t rows, int64_t k,
                                 int64_t n); /* c_row, a_row: elements */

enum { NARROW_COLUMNS = 16, NARROW_TERMS = 32 };

#if defined(__x86_64__) && defined(__linux__) && ((defined(__GNUC__) && __GNUC__ >= 11) || defined(__clang__))
#define NARROW_COMPILED 1
#include <immintrin.h>

#define NARROW_VECTORS __attribute__((target("avx512f,avx512bw,avx512vl,avx512bf16")))
#define NARROW_INLINE __attribute__((target("avx512f,avx512bw,avx512vl,avx512bf16"), always_inline)) static inline
#define NARROW_UNROLL _Pragma("GCC unroll 16")

/* x, rounded, and zeros behind it. */
NARROW_VECTORS static void narrow_row(const float *x, int64_t n, uint16_t *to, int64_t padded) {
    for (int64_t i = 0; i < padded; i += 16) {
        const __mmask16 some = n - i >= 16 ? 0xffff : n <= i ? 0 : (__mmask16)((1u << (n - i)) - 1);
        _mm256_storeu_si256((__m256i *)(to + i), (__m256i)_mm512_cvtneps_pbh(_mm512_maskz_loadu_ps(some, x + i)));
    }
}

/* By dot products: `rows` rows by `strips` strips, of whose last one `last` columns are there. */
NARROW_INLINE void narrow_dots(const int rows, const int strips, float *c, int64_t c_row, const uint16_t *a, int64_t a_row,
                               const uint16_t *b, int64_t k, __mmask16 last) {
    const int64_t strip = k * NARROW_COLUMNS;
    __m512 sums[4][8];
    NARROW_UNROLL for (int i = 0; i < rows; i++) NARROW_UNROLL for (int s = 0; s < strips; s++) sums[i][s] = _mm512_setzero_ps();
    for (int64_t p = 0; p < k; p += 2, b += 2 * NARROW_COLUMNS) {
        __m512bh y[8];
        NARROW_UNROLL for (int s = 0; s < strips; s++) y[s] = (__m512bh)_mm512_loadu_si512(b + s * strip);
        NARROW_UNROLL for (int i = 0; i < rows; i++) {
            const __m512bh x = (__m512bh)_mm512_set1_epi32(*(const int32_t *)(a + i * a_row + p));
            NARROW_UNROLL for (int s = 0; s < strips; s++) sums[i][s] = _mm512_dpbf16_ps(sums[i][s], x, y[s]);
        }
    }
    NARROW_UNROLL for (int i = 0; i < rows; i++) {
        NARROW_UNROLL for (int s = 0; s < strips - 1; s++) _mm512_storeu_ps(c + i * c_row + s * NARROW_COLUMNS, sums[i][s]);
        _mm512_mask_storeu_ps(c + i * c_row + (strips - 1) * NARROW_COLUMNS, last, sums[i][strips - 1]);
    }
}

#define NARROW_DOTS(R, S) \
    NARROW_VECTORS static void narrow_dots_##R##_##S(float *c, int64_t c_row, const uint16_t *a, int64_t a_row, const uint16_t *b, \
                                                     int64_t k, __mmask16 last) { \
        narrow_dots(R, S, c, c_row, a, a_row, b, k, last); \
    }
NARROW_DOTS(1, 8)
NARROW_DOTS(1, 1)
NARROW_DOTS(2, 4)
NARROW_DOTS(2, 1)
NARROW_DOTS(4, 4)
NARROW_DOTS(4, 1)

/* One row has eight strips at once, to hide the time that a sum takes; more rows have four. */
NARROW_VECTORS static void narrow_by_dots(float *c, int64_t c_row, const uint16_t *a, int64_t a_row, const uint16_t *b, int64_t rows,
                                          int64_t k, int64_t n) {
    const int64_t wide = (rows == 1 ? 8 : 4) * NARROW_COLUMNS;
    for (int64_t j = 0; j < n;) {
        const int full = n - j >= wide;
        const int64_t width = full ? wide : NARROW_COLUMNS, left = n - j;
        const __mmask16 last = full || left >= NARROW_COLUMNS ? 0xffff : (__mmask16)((1u << left) - 1);
        for (int64_t i = 0; i < rows;) {
            float *to = c + i * c_row + j;
            const uint16_t *from = a + i * a_row;
            if (rows == 1)
                (full ? narrow_dots_1_8 : narrow_dots_1_1)(to, c_row, from, a_row, b, k, last), i++;
            else if (rows - i >= 4)
                (full ? narrow_dots_4_4 : narrow_dots_4_1)(to, c_row, from, a_row, b, k, last), i += 4;
            else if (rows - i >= 2)
                (full ? narrow_dots_2_4 : narrow_dots_2_1)(to, c_row, from, a_row, b, k, last), i += 2;
            else {
                for (int64_t s = 0; s < width / NARROW_COLUMNS; s++)
                    narrow_dots_1_1(to + s * NARROW_COLUMNS, c_row, from, a_row, b + s * k * NARROW_COLUMNS, k, full ? 0xffff : last);
                i++;
            }
        }
        j += width;
        b += width * k;
    }
}

#define NARROW_UNITS __attribute__((target("amx-tile,amx-bf16,avx512f,avx512bw,avx512vl")))
/* Compilers do not know what tile registers read. */
#define NARROW_VISIBLE(p) __asm__ volatile("" : : "r"(p) : "memory")

/* Sums in registers 0 to 3, rows in 4, of the matrix in 5 to 7. */
NARROW_UNITS static void narrow_configure(int64_t rows) {
    unsigned char c[64] __attribute__((aligned(64))) = {1};
    for (int i = 0; i < 8; i++) {
        c[16 + 2 * i] = 64;
        c[48 + i] = (unsigned char)(i < 5 ? rows : 16);
    }
    NARROW_VISIBLE(c);
    _tile_loadconfig(c);
}

/* By matrix units: up to 16 rows by four strips at once, or by one. */
NARROW_UNITS static void narrow_by_units(float *c, int64_t c_row, const uint16_t *a, int64_t a_row, const uint16_t *b, int64_t rows,
                                         int64_t k, int64_t n) {
    const int64_t strip = k * NARROW_COLUMNS, by = c_row * 4, a_by = a_row * 2, wide = 4 * NARROW_COLUMNS;
    float edge[16 * NARROW_COLUMNS] __attribute__((aligned(64)));
    int64_t configured = 0;
    NARROW_VISIBLE(a);
    NARROW_VISIBLE(b);
    for (int64_t j = 0; j < n;) {
        const int64_t width = n - j >= wide ? wide : NARROW_COLUMNS;
        for (int64_t i = 0; i < rows; i += 16) {
            const int64_t some = rows - i < 16 ? rows - i : 16;
            float *to = c + i * c_row + j;
            const uint16_t *left = a + i * a_row, *right = b;
            if (configured != some) narrow_configure(configured = some);
            _tile_zero(0);
            if (width == wide) {
                _tile_zero(1);
                _tile_zero(2);
                _tile_zero(3);
                for (int64_t p = 0; p < k; p += NARROW_TERMS, right += NARROW_TERMS * NARROW_COLUMNS) {
                    _tile_loadd(4, left + p, a_by);
                    _tile_loadd(5, right, 64);
                    _tile_dpbf16ps(0, 4, 5);
                    _tile_loadd(6, right + strip, 64);
                    _tile_dpbf16ps(1, 4, 6);
                    _tile_loadd(7, right + 2 * strip, 64);
                    _tile_dpbf16ps(2, 4, 7);
                    _tile_loadd(5, right + 3 * strip, 64);
                    _tile_dpbf16ps(3, 4, 5);
                }
                _tile_stored(0, to, by);
                _tile_stored(1, to + NARROW_COLUMNS, by);
                _tile_stored(2, to + 2 * NARROW_COLUMNS, by);
                _tile_stored(3, to + 3 * NARROW_COLUMNS, by);
                continue;
            }
            for (int64_t p = 0; p < k; p += NARROW_TERMS, right += NARROW_TERMS * NARROW_COLUMNS) {
                _tile_loadd(4, left + p, a_by);
                _tile_loadd(5, right, 64);
                _tile_dpbf16ps(0, 4, 5);
            }
            if (n - j >= NARROW_COLUMNS) {
                _tile_stored(0, to, by);
                continue;
            }
            _tile_stored(0, edge, 64);
            NARROW_VISIBLE(edge);
            for (int64_t r = 0; r < some; r++)
                for (int64_t s = 0; s < n - j; s++) to[r * c_row + s] = edge[r * NARROW_COLUMNS + s];
        }
        j += width;
        b += width * k;
    }
    _tile_release();
    NARROW_VISIBLE(c);
}

#else
#define NARROW_COMPILED 0
static void narrow_row(const float *x, int64_t n, uint16_t *to, int64_t padded) {}
static void narrow_by_dots(float *c, int64_t c_row, const uint16_t *a, int64_t a_row, const uint16_t *b, int64_t rows, int64_t k,
                           int64_t n) {}
static void narrow_by_units(float *c, int64_t c_row, const uint16_t *a, int64_t a_row, const uint16_t *b, int64_t rows, int64_t k,
                            int64_t n) {}
#endif
