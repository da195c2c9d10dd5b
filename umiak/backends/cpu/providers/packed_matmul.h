/* Matmuls of float32 by packed operands, for vectors of 8: c = a b in tiles of 6 rows by a strip of 16 columns.
 *
 * b lies in strips, [strips, k, 16], the last one filled up: all of it from the start, or a block of terms and columns that is
 * copied so when its turn comes. a is copied to panels, [panels, terms, 6]; few rows that are contiguous are read as they are.
 * Terms are taken in blocks whose strip fits the L1 cache. Blocks follow from k alone and each sum of a block is made in one
 * order, so that a result's bits depend neither on the rows beside it nor on threads.
 */
#pragma once
#include <stdint.h>
#include "processor.h"

enum {
    PACKED_ROWS = 6,
    PACKED_STRIP = 16,
    PACKED_TERMS = 256,         /* of a block, at most: 16 KiB of a strip */
    PACKED_BLOCK_ROWS = 144,    /* whose terms stay in the L2 cache, */
    PACKED_COLUMNS = 128,       /* with so many columns where there are no more rows; else */
    PACKED_MANY_COLUMNS = 1024, /* which share the copies of a */
    PACKED_AS_THEY_ARE = 48     /* rows that are not worth a copy */
};

typedef struct {
    const float *a, *b;                             /* of any strides; b is not read where there are strips */
    int64_t a_row, a_term, b_term, b_column;
    const float *strips;                            /* NULL: b is packed */
    float *c;
    int64_t c_row, m, n, k;                         /* columns of c are contiguous */
    const float *bias, *residual;                   /* NULL for none; as c */
    int accumulate, relu, hard_swish;
    int64_t down, across;                           /* units of work along rows and columns */
} PackedMatmul;

static inline int64_t packed_up(int64_t n, int64_t step) { return (n + step - 1) / step * step; }

/* Terms of a block. */
static inline int64_t packed_terms(int64_t k) {
    int64_t blocks = (k + PACKED_TERMS - 1) / PACKED_TERMS;
    return blocks == 1 ? k : packed_up((k + blocks - 1) / blocks, 8);
}

/* First row (column) of unit `i` of `count` of n in steps. */
static inline int64_t packed_first(int64_t n, int64_t step, int64_t i, int64_t count) {
    int64_t at = (n + step - 1) / step * i / count * step;
    return at < n ? at : n;
}

/* Floats of room that a unit needs: for a's part, then b's. */
static inline int64_t packed_room_a(const PackedMatmul *q) {
    int64_t rows = packed_up((q->m + q->down - 1) / q->down + PACKED_ROWS, PACKED_ROWS);
    return packed_up((rows < PACKED_BLOCK_ROWS ? rows : PACKED_BLOCK_ROWS) * packed_terms(q->k), 16);
}

static inline int64_t packed_room(const PackedMatmul *q) {
    int64_t columns = packed_up((q->n + q->across - 1) / q->across + PACKED_STRIP, PACKED_STRIP);
    if (q->strips) return packed_room_a(q);
    return packed_room_a(q) + (columns < PACKED_MANY_COLUMNS ? columns : PACKED_MANY_COLUMNS) * packed_terms(q->k);
}

#if defined(__x86_64__) && (defined(__GNUC__) || defined(__clang__))
#include <immintrin.h>
#include "first_lanes.h"

#define PACKED_TARGET __attribute__((target("avx2,fma")))
#define PACKED_INLINE static inline __attribute__((target("avx2,fma"), always_inline))

static int packed_level(void) { return processor_vectors(); }

/* --- packing ------------------------------------------------------------------------------------------------------- */

PACKED_INLINE void packed_transpose(__m256 r[8]) {
    __m256 t[8];
    for (int i = 0; i < 4; i++) {
        t[2 * i] = _mm256_unpacklo_ps(r[2 * i], r[2 * i + 1]);
        t[2 * i + 1] = _mm256_unpackhi_ps(r[2 * i], r[2 * i + 1]);
    }
    for (int i = 0; i < 2; i++)
        for (int j = 0; j < 2; j++) {
            r[4 * i + 2 * j] = _mm256_shuffle_ps(t[4 * i + j], t[4 * i + 2 + j], 0x44);
            r[4 * i + 2 * j + 1] = _mm256_shuffle_ps(t[4 * i + j], t[4 * i + 2 + j], 0xee);
        }
    for (int i = 0; i < 4; i++) {
        t[i] = _mm256_permute2f128_ps(r[i], r[4 + i], 0x20);
        t[4 + i] = _mm256_permute2f128_ps(r[i], r[4 + i], 0x31);
    }
    for (int i = 0; i < 8; i++) r[i] = t[i];
}

/* k terms of n columns to strips. */
PACKED_TARGET static void packed_columns(const float *b, int64_t by_term, int64_t by_column, int64_t k, int64_t n, float *to) {
    const int64_t full = n / PACKED_STRIP * PACKED_STRIP, strip = k * PACKED_STRIP;
    if (by_column == 1)
        for (int64_t p = 0; p < k; p++, b += by_term) {
            float *t = to + p * PACKED_STRIP;
            for (int64_t j = 0; j < full; j += PACKED_STRIP, t += strip) {
                _mm256_store_ps(t, _mm256_loadu_ps(b + j));
                _mm256_store_ps(t + 8, _mm256_loadu_ps(b + j + 8));
            }
            if (full < n)
                for (int64_t j = 0; j < PACKED_STRIP; j++) t[j] = full + j < n ? b[full + j] : 0;
        }
    else
        for (int64_t j = 0; j < n; j += 8) {
            const float *s = b + j * by_column;
            float *t = to + j / PACKED_STRIP * strip + j % PACKED_STRIP;
            int64_t p = 0, left = n - j;
            if (by_term == 1 && left >= 8)
                for (; p + 8 <= k; p += 8) {
                    __m256 r[8];
                    for (int i = 0; i < 8; i++) r[i] = _mm256_loadu_ps(s + i * by_column + p);
                    packed_transpose(r);
                    for (int i = 0; i < 8; i++) _mm256_store_ps(t + (p + i) * PACKED_STRIP, r[i]);
                }
            for (; p < k; p++)
                for (int64_t i = 0; i < 8; i++) t[p * PACKED_STRIP + i] = i < left ? s[i * by_column + p * by_term] : 0;
            if (left <= 8 && j % PACKED_STRIP == 0)
                for (p = 0; p < k; p++) _mm256_store_ps(t + p * PACKED_STRIP + 8, _mm256_setzero_ps());
        }
}

/* k terms of m rows to panels; in the last one, its last row stands for those that are missing. */
PACKED_TARGET static void packed_rows(const float *a, int64_t by_row, int64_t by_term, int64_t m, int64_t k, float *to) {
    for (int64_t row = 0; row < m; row += PACKED_ROWS, to += PACKED_ROWS * k) {
        const float *r[PACKED_ROWS];
        for (int i = 0; i < PACKED_ROWS; i++) r[i] = a + (row + i < m ? row + i : m - 1) * by_row;
        int64_t p = 0;
        if (by_term == 1)
            for (; p + 4 <= k; p += 4) {
                __m128 w[PACKED_ROWS];
                for (int i = 0; i < PACKED_ROWS; i++) w[i] = _mm_loadu_ps(r[i] + p);
                _MM_TRANSPOSE4_PS(w[0], w[1], w[2], w[3]);
                const __m128 low = _mm_unpacklo_ps(w[4], w[5]), high = _mm_unpackhi_ps(w[4], w[5]);
                float *t = to + p * PACKED_ROWS;
                for (int i = 0; i < 4; i++) {
                    _mm_storeu_ps(t + i * PACKED_ROWS, w[i]);
                    if (i % 2)
                        _mm_storeh_pi((__m64 *)(t + i * PACKED_ROWS + 4), i < 2 ? low : high);
                    else
                        _mm_storel_pi((__m64 *)(t + i * PACKED_ROWS + 4), i < 2 ? low : high);
                }
            }
        else if (by_row == 1 && row + PACKED_ROWS <= m)
            for (; p < k; p++) {
                const float *s = r[0] + p * by_term;
                _mm_storeu_ps(to + p * PACKED_ROWS, _mm_loadu_ps(s));
                _mm_storel_pi((__m64 *)(to + p * PACKED_ROWS + 4), _mm_loadl_pi(_mm_setzero_ps(), (const __m64 *)(s + 4)));
            }
        for (; p < k; p++)
            for (int i = 0; i < PACKED_ROWS; i++) to[p * PACKED_ROWS + i] = r[i][p * by_term];
    }
}

/* --- multiplying --------------------------------------------------------------------------------------------------- */

typedef struct { /* rows of a and c by a strip */
    const float *a;
    int64_t a_row, a_term, a_panel; /* to the next row, term and panel */
    const float *b;
    float *c;
    const float *bias, *residual;
    int64_t c_row, m, n, k;
    int add, last, relu, hard_swish; /* to what is there; in the last block what follows is done */
} PackedStrip;

PACKED_INLINE __m256 packed_after(const PackedStrip *q, __m256 v) {
    const __m256 none = _mm256_setzero_ps();
    if (q->relu) v = _mm256_max_ps(none, v); /* the second where either is NaN */
    if (q->hard_swish) {
        const __m256 part = _mm256_fmadd_ps(v, _mm256_set1_ps(1.0f / 6), _mm256_set1_ps(0.5f));
        v = _mm256_mul_ps(v, _mm256_min_ps(_mm256_set1_ps(1), _mm256_max_ps(none, part)));
    }
    return v;
}

/* `count` rows by `wide` vectors; of the last one `left` lanes are results. count, wide, full and a_term are constants once it
 * is inlined. */
PACKED_INLINE void packed_tile(const PackedStrip *q, const int count, const int wide, const int full, const float *a,
                               const int64_t a_row, const int64_t a_term, float *c, const float *residual) {
    __m256 sum[PACKED_ROWS][2];
    const float *b = q->b;
    const int64_t k = q->k, c_row = q->c_row, left = full ? 8 : q->n - 8 * (wide - 1);
    const __m256i some = first_lanes((int)left);
    _Pragma("GCC unroll 6") for (int i = 0; i < count; i++) {
        _mm_prefetch((const char *)(c + i * c_row), _MM_HINT_T0);
        _Pragma("GCC unroll 2") for (int v = 0; v < wide; v++) sum[i][v] = _mm256_setzero_ps();
    }
    _Pragma("GCC unroll 4") for (int64_t p = 0; p < k; p++, a += a_term, b += PACKED_STRIP) {
        __m256 y[2];
        _Pragma("GCC unroll 2") for (int v = 0; v < wide; v++) y[v] = _mm256_loadu_ps(b + 8 * v);
        _Pragma("GCC unroll 6") for (int i = 0; i < count; i++) {
            const __m256 x = _mm256_broadcast_ss(a + i * a_row);
            _Pragma("GCC unroll 2") for (int v = 0; v < wide; v++) sum[i][v] = _mm256_fmadd_ps(x, y[v], sum[i][v]);
        }
    }
    _Pragma("GCC unroll 2") for (int v = 0; v < wide; v++) {
        const int part = !full && v == wide - 1;
        float *to = c + 8 * v;
        if (q->add)
            _Pragma("GCC unroll 6") for (int i = 0; i < count; i++)
                sum[i][v] = _mm256_add_ps(sum[i][v], part ? _mm256_maskload_ps(to + i * c_row, some) : _mm256_loadu_ps(to + i * c_row));
        if (q->last) {
            if (q->bias) {
                const __m256 bias = part ? _mm256_maskload_ps(q->bias + 8 * v, some) : _mm256_loadu_ps(q->bias + 8 * v);
                _Pragma("GCC unroll 6") for (int i = 0; i < count; i++) sum[i][v] = _mm256_add_ps(sum[i][v], bias);
            }
            if (residual) {
                const float *more = residual + 8 * v;
                _Pragma("GCC unroll 6") for (int i = 0; i < count; i++)
                    sum[i][v] = _mm256_add_ps(sum[i][v], part ? _mm256_maskload_ps(more + i * c_row, some) : _mm256_loadu_ps(more + i * c_row));
            }
            if (q->relu || q->hard_swish)
                _Pragma("GCC unroll 6") for (int i = 0; i < count; i++) sum[i][v] = packed_after(q, sum[i][v]);
        }
        _Pragma("GCC unroll 6") for (int i = 0; i < count; i++) {
            if (part)
                first_lanes_store(to + i * c_row, some, sum[i][v]);
            else
                _mm256_storeu_ps(to + i * c_row, sum[i][v]);
        }
    }
}

#define PACKED_CASE(COUNT) case COUNT: packed_tile(q, COUNT, wide, full, a, a_row, a_term, c, residual); break;

/* `packed`: a is in panels, else its rows are contiguous. */
PACKED_INLINE void packed_strip_as(const PackedStrip *q, const int wide, const int full, const int packed) {
    const float *a = q->a, *residual = q->residual;
    const int64_t a_row = packed ? 1 : q->a_row, a_term = packed ? PACKED_ROWS : 1;
    float *c = q->c;
    int64_t row = 0;
    for (; row + PACKED_ROWS <= q->m; row += PACKED_ROWS) {
        packed_tile(q, PACKED_ROWS, wide, full, a, a_row, a_term, c, residual);
        a += q->a_panel;
        c += PACKED_ROWS * q->c_row;
        if (residual) residual += PACKED_ROWS * q->c_row;
    }
    switch (q->m - row) {
        PACKED_CASE(1) PACKED_CASE(2) PACKED_CASE(3) PACKED_CASE(4) PACKED_CASE(5)
    }
}

PACKED_TARGET __attribute__((noinline)) static void packed_strip_whole(const PackedStrip *q) { packed_strip_as(q, 2, 1, 1); }
PACKED_TARGET __attribute__((noinline)) static void packed_strip_wide(const PackedStrip *q) { packed_strip_as(q, 2, 0, 1); }
PACKED_TARGET __attribute__((noinline)) static void packed_strip_narrow(const PackedStrip *q) { packed_strip_as(q, 1, 0, 1); }
PACKED_TARGET __attribute__((noinline)) static void packed_raw_whole(const PackedStrip *q) { packed_strip_as(q, 2, 1, 0); }
PACKED_TARGET __attribute__((noinline)) static void packed_raw_wide(const PackedStrip *q) { packed_strip_as(q, 2, 0, 0); }
PACKED_TARGET __attribute__((noinline)) static void packed_raw_narrow(const PackedStrip *q) { packed_strip_as(q, 1, 0, 0); }

/* One unit of work; room: packed_room() floats, aligned to 64 bytes. */
static void packed_unit(const PackedMatmul *q, int64_t unit, float *room) {
    const int64_t i = unit / q->across, j = unit % q->across;
    const int64_t top = packed_first(q->m, PACKED_ROWS, i, q->down), bottom = packed_first(q->m, PACKED_ROWS, i + 1, q->down);
    const int64_t left = packed_first(q->n, PACKED_STRIP, j, q->across), right = packed_first(q->n, PACKED_STRIP, j + 1, q->across);
    const int64_t terms = packed_terms(q->k), rows = bottom - top;
    const int64_t columns = rows <= PACKED_BLOCK_ROWS ? PACKED_COLUMNS : PACKED_MANY_COLUMNS;
    const int raw = rows <= PACKED_AS_THEY_ARE && q->a_term == 1;
    float *room_b = room + packed_room_a(q);
    PackedStrip s = {.c_row = q->c_row, .relu = q->relu, .hard_swish = q->hard_swish};
    for (int64_t term = 0; term < q->k; term += terms) {
        s.k = q->k - term < terms ? q->k - term : terms;
        s.add = q->accumulate || term;
        s.last = term + terms >= q->k;
        for (int64_t column = left; column < right; column += columns) {
            const int64_t width = right - column < columns ? right - column : columns;
            const float *b = q->strips ? q->strips + column * q->k + term * PACKED_STRIP : room_b;
            if (!q->strips) packed_columns(q->b + term * q->b_term + column * q->b_column, q->b_term, q->b_column, s.k, width, room_b);
            for (int64_t row = top; row < bottom; row += PACKED_BLOCK_ROWS) {
                const float *a = q->a + row * q->a_row + term * q->a_term;
                s.m = bottom - row < PACKED_BLOCK_ROWS ? bottom - row : PACKED_BLOCK_ROWS;
                s.a = raw ? a : room;
                s.a_row = q->a_row;
                s.a_panel = PACKED_ROWS * (raw ? q->a_row : s.k);
                if (!raw && (rows > PACKED_BLOCK_ROWS || column == left)) packed_rows(a, q->a_row, q->a_term, s.m, s.k, room);
                for (int64_t at = 0; at < width; at += PACKED_STRIP) {
                    s.n = width - at < PACKED_STRIP ? width - at : PACKED_STRIP;
                    s.b = b + at * (q->strips ? q->k : s.k);
                    s.c = q->c + row * q->c_row + column + at;
                    s.bias = q->bias ? q->bias + column + at : 0;
                    s.residual = q->residual ? q->residual + row * q->c_row + column + at : 0;
                    if (s.n == PACKED_STRIP)
                        (raw ? packed_raw_whole : packed_strip_whole)(&s);
                    else if (s.n > 8)
                        (raw ? packed_raw_wide : packed_strip_wide)(&s);
                    else
                        (raw ? packed_raw_narrow : packed_strip_narrow)(&s);
                }
            }
        }
    }
}

#else
static int packed_level(void) { return 0; }
static void packed_unit(const PackedMatmul *q, int64_t unit, float *room) {}
#endif
