/* Matmuls of float32 by tile registers that multiply bfloat16 (Intel's AMX).
 *
 * A float32 x is h + m + l, with h = bfloat16(x), m = bfloat16(x - h) and l = x - h - m, which are 8 bits each: the split is
 * exact while l is a normal number. Of the nine products of two such sums, six are added up, in float32:
 * hh + hm + mm + mh + lh + hl. Those left out are less than 2^-24 of the product. Tile registers do that at three times the
 * rate of vectors.
 *
 * An operand is packed in panels of 32 lines (rows of the left one, columns of the right one), which lie in steps of 32 terms:
 * for each step the two tiles of h, of m, of l. A tile is 16 rows of 16 words, and a word is two terms, i and i + 16 of the step:
 * in the left operand a row is a line, in the right one it is a word of 16 lines. Lines and terms that are missing are 0.
 *
 * Tile registers take numbers below 2^-126 for 0, and bfloat16 has no room above 2^127: packing notes the least and the
 * largest of what lines hold at most, and split_fits() says whether two operands can be multiplied so.
 */
#pragma once
#include <stdint.h>

enum {
    SPLIT_LINES = 32,             /* of a panel */
    SPLIT_TERMS = 32,             /* of a step */
    SPLIT_TILE = 1024,            /* bytes */
    SPLIT_STEP = 6 * SPLIT_TILE,  /* bytes of a step of a panel */
    SPLIT_UNROLLED = 4            /* steps during which the sums before are written */
};

/* Bits of float32 without their sign: the least and the most of the largest number of each line that is not 0. */
typedef struct { uint32_t least, most; } SplitRange;

typedef struct {
    const float *x;
    int64_t lines, terms, by_line, by_term; /* elements apart; one of them is 1 */
    int columns;                            /* of a right operand: a row of a tile is a word of 16 lines */
} SplitOperand;

static const SplitRange SPLIT_NOTHING = {0x7f800000u, 0};

static inline SplitRange split_both(SplitRange a, SplitRange b) {
    return (SplitRange){a.least < b.least ? a.least : b.least, a.most > b.most ? a.most : b.most};
}

/* A part of a number of 2^125 and more may be infinite, which zeros of the other operand would make NaN. */
static inline int split_holds(SplitRange a) { return (a.most >> 23) < 252 && (!a.most || (a.least >> 23) >= 27); }

/* Whether sums of `terms` products keep what float32 has: what a part loses below 2^-126, and an overflow of a part of a sum that
 * is finite, are excluded. Exponents are biased by 127. */
static inline int split_fits(SplitRange a, SplitRange b, int64_t terms) {
    int low_a = (int)(a.least >> 23), low_b = (int)(b.least >> 23), high_a = (int)(a.most >> 23), high_b = (int)(b.most >> 23);
    int longest = 64 - __builtin_clzll((unsigned long long)terms);
    if (!split_holds(a) || !split_holds(b)) return 0;
    return !a.most || !b.most || (low_a + low_b >= 154 && high_a + high_b + longest < 380);
}

#if defined(__x86_64__) && defined(__linux__) && ((defined(__GNUC__) && __GNUC__ >= 11) || defined(__clang__))
#define SPLIT_COMPILED 1
#include <immintrin.h>

#define SPLIT_TARGET __attribute__((target("amx-tile,amx-bf16,avx512f,avx512bw,avx512dq,avx512vl")))
#define SPLIT_INLINE __attribute__((target("amx-tile,amx-bf16,avx512f,avx512bw,avx512dq,avx512vl"), always_inline)) static inline

/* Compilers do not know what such registers read. */
#define SPLIT_VISIBLE(p) __asm__ volatile("" : : "r"(p) : "memory")

SPLIT_TARGET static void split_begin(void) {
    /* Palette 1; bytes of a row and rows of each of eight registers. */
    unsigned char c[64] __attribute__((aligned(64))) = {1};
    for (int i = 0; i < 8; i++) {
        c[16 + 2 * i] = 64;
        c[48 + i] = 16;
    }
    SPLIT_VISIBLE(c);
    _tile_loadconfig(c);
}

SPLIT_TARGET static void split_end(void) { _tile_release(); }

/* --- packing ------------------------------------------------------------------------------------------------------- */

SPLIT_INLINE __m512i split_most(__m512i most, __m512 x) {
    return _mm512_max_epu32(most, _mm512_and_si512(_mm512_castps_si512(x), _mm512_set1_epi32(0x7fffffff)));
}

/* `x` to the nearest bfloat16, as float32. */
SPLIT_INLINE __m512 split_rounded(__m512 x) {
    __m512i bits = _mm512_add_epi32(_mm512_castps_si512(x), _mm512_set1_epi32(0x8000));
    return _mm512_castsi512_ps(_mm512_and_si512(bits, _mm512_set1_epi32((int)0xffff0000u)));
}

/* Words of each part: `x` in lower halves, `y` in higher ones. */
SPLIT_INLINE void split_words(__m512 x, __m512 y, __m512i w[3]) {
    for (int i = 0; i < 3; i++) {
        __m512 p = i < 2 ? split_rounded(x) : x, q = i < 2 ? split_rounded(y) : y;
        w[i] = _mm512_or_si512(_mm512_srli_epi32(_mm512_castps_si512(p), 16), _mm512_castps_si512(q));
        x = _mm512_sub_ps(x, p);
        y = _mm512_sub_ps(y, q);
    }
}

SPLIT_INLINE void split_transpose(__m512i r[16]) {
    __m512i t[16];
    for (int i = 0; i < 8; i++) {
        t[2 * i] = _mm512_unpacklo_epi32(r[2 * i], r[2 * i + 1]);
        t[2 * i + 1] = _mm512_unpackhi_epi32(r[2 * i], r[2 * i + 1]);
    }
    for (int i = 0; i < 4; i++)
        for (int j = 0; j < 2; j++) {
            r[4 * i + 2 * j] = _mm512_unpacklo_epi64(t[4 * i + j], t[4 * i + 2 + j]);
            r[4 * i + 2 * j + 1] = _mm512_unpackhi_epi64(t[4 * i + j], t[4 * i + 2 + j]);
        }
    for (int i = 0; i < 2; i++)
        for (int j = 0; j < 4; j++) {
            t[8 * i + j] = _mm512_shuffle_i32x4(r[8 * i + j], r[8 * i + 4 + j], 0x88);
            t[8 * i + 4 + j] = _mm512_shuffle_i32x4(r[8 * i + j], r[8 * i + 4 + j], 0xdd);
        }
    for (int j = 0; j < 8; j++) {
        r[j] = _mm512_shuffle_i32x4(t[j], t[8 + j], 0x88);
        r[8 + j] = _mm512_shuffle_i32x4(t[j], t[8 + j], 0xdd);
    }
}

SPLIT_INLINE __mmask16 split_mask(int64_t n) { return n >= 16 ? 0xffff : n <= 0 ? 0 : (__mmask16)((1u << n) - 1); }

SPLIT_INLINE SplitRange split_range(__m512i most) {
    __m512i least = _mm512_mask_mov_epi32(_mm512_set1_epi32(0x7f800000), _mm512_test_epi32_mask(most, most), most);
    return (SplitRange){_mm512_reduce_min_epu32(least), _mm512_reduce_max_epu32(most)};
}

/* Terms [first, first + 32 steps) of lines [line, line + 32) to `to`. */
SPLIT_INLINE SplitRange split_pack_as(const SplitOperand *o, int64_t line, int64_t first, int64_t steps, char *to, int contiguous, int columns) {
    SplitRange range = SPLIT_NOTHING;
    for (int half = 0; half < 2; half++) {
        int64_t base = line + 16 * half, left = o->lines - base;
        int lines = left >= 16 ? 16 : left < 0 ? 0 : (int)left;
        __m512i most[16], all = _mm512_setzero_si512();
        for (int i = 0; i < 16; i++) most[i] = all;
        for (int64_t s = 0; s < steps; s++) {
            int64_t term = first + SPLIT_TERMS * s, rest = o->terms - term;
            char *tile = to + s * SPLIT_STEP + half * SPLIT_TILE;
            __m512i w[3], words[3][16];
            if (contiguous) { /* terms of a line are neighbours */
                __mmask16 low = split_mask(rest), high = split_mask(rest - 16);
                for (int i = 0; i < 16; i++) {
                    w[0] = w[1] = w[2] = _mm512_setzero_si512();
                    if (i < lines) {
                        const float *p = o->x + (base + i) * o->by_line + term;
                        __m512 x = _mm512_maskz_loadu_ps(low, p), y = high ? _mm512_maskz_loadu_ps(high, p + 16) : _mm512_setzero_ps();
                        most[i] = split_most(split_most(most[i], x), y);
                        split_words(x, y, w);
                    }
                    for (int p = 0; p < 3; p++) {
                        if (columns)
                            words[p][i] = w[p];
                        else
                            _mm512_store_si512(tile + p * 2 * SPLIT_TILE + 64 * i, w[p]);
                    }
                }
            } else { /* lines are neighbours */
                __mmask16 mask = split_mask(lines);
                for (int i = 0; i < 16; i++) {
                    const float *p = o->x + (term + i) * o->by_term + base;
                    __m512 x = i < rest ? _mm512_maskz_loadu_ps(mask, p) : _mm512_setzero_ps();
                    __m512 y = i + 16 < rest ? _mm512_maskz_loadu_ps(mask, p + 16 * o->by_term) : _mm512_setzero_ps();
                    all = split_most(split_most(all, x), y);
                    split_words(x, y, w);
                    for (int p = 0; p < 3; p++) {
                        if (columns)
                            _mm512_store_si512(tile + p * 2 * SPLIT_TILE + 64 * i, w[p]);
                        else
                            words[p][i] = w[p];
                    }
                }
            }
            if (contiguous == columns)
                for (int p = 0; p < 3; p++) {
                    split_transpose(words[p]);
                    for (int i = 0; i < 16; i++) _mm512_store_si512(tile + p * 2 * SPLIT_TILE + 64 * i, words[p][i]);
                }
        }
        if (contiguous) {
            split_transpose(most); /* a line in a lane */
            for (int i = 0; i < 16; i++) all = _mm512_max_epu32(all, most[i]);
        }
        range = split_both(range, split_range(all));
    }
    return range;
}

SPLIT_TARGET static SplitRange split_pack(const SplitOperand *o, int64_t line, int64_t first, int64_t steps, char *to) {
    if (o->by_term == 1)
        return o->columns ? split_pack_as(o, line, first, steps, to, 1, 1) : split_pack_as(o, line, first, steps, to, 1, 0);
    return o->columns ? split_pack_as(o, line, first, steps, to, 0, 1) : split_pack_as(o, line, first, steps, to, 0, 0);
}

/* --- multiplying --------------------------------------------------------------------------------------------------- */

typedef struct { /* sums that are not written yet */
    float *c;
    int64_t c_row, rows, columns;
    int add;
} SplitSums;

/* Rows [lo, hi) of sums to where they belong; `add`: to what is there. */
SPLIT_INLINE void split_write(const SplitSums *t, const float *sums, int64_t lo, int64_t hi) {
    __mmask16 left = split_mask(t->columns), right = split_mask(t->columns - 16);
    if (hi > t->rows) hi = t->rows;
    for (int64_t i = lo; i < hi; i++) {
        float *c = t->c + i * t->c_row;
        __m512 x = _mm512_load_ps(sums + SPLIT_LINES * i), y = _mm512_load_ps(sums + SPLIT_LINES * i + 16);
        if (t->add) {
            x = _mm512_add_ps(x, _mm512_maskz_loadu_ps(left, c));
            if (right) y = _mm512_add_ps(y, _mm512_maskz_loadu_ps(right, c + 16));
        }
        _mm512_mask_storeu_ps(c, left, x);
        if (right) _mm512_mask_storeu_ps(c + 16, right, y);
    }
}

/* Sums of a panel of rows and one of columns. Sums before these are written meanwhile: what tiles have just stored is slow to read.
 * Without `low` (`right`) there are up to 16 rows (columns). The order of parts is the one of fewest loads. */
SPLIT_INLINE void split_block_as(const char *a, const char *b, int64_t steps, float *sums, const SplitSums *before, const float *sums_before, int low, int right) {
#define SPLIT_LEFT(part) _tile_loadd(4, a + (part) * 2 * SPLIT_TILE, 64); if (low) _tile_loadd(5, a + ((part) * 2 + 1) * SPLIT_TILE, 64);
#define SPLIT_RIGHT(part) _tile_loadd(6, b + (part) * 2 * SPLIT_TILE, 64); if (right) _tile_loadd(7, b + ((part) * 2 + 1) * SPLIT_TILE, 64);
#define SPLIT_PRODUCTS _tile_dpbf16ps(0, 4, 6); if (right) _tile_dpbf16ps(1, 4, 7); if (low) _tile_dpbf16ps(2, 5, 6); if (low && right) _tile_dpbf16ps(3, 5, 7);
    const int64_t now = SPLIT_LINES / SPLIT_UNROLLED;
    _tile_zero(0);
    _tile_zero(1);
    _tile_zero(2);
    _tile_zero(3);
    for (int64_t s = 0; s < steps; s++, a += SPLIT_STEP, b += SPLIT_STEP) {
        SPLIT_LEFT(0) SPLIT_RIGHT(0) SPLIT_PRODUCTS
        SPLIT_RIGHT(1) SPLIT_PRODUCTS
        if (s < SPLIT_UNROLLED) split_write(before, sums_before, s * now, s * now + now);
        SPLIT_LEFT(1) SPLIT_PRODUCTS
        SPLIT_RIGHT(0) SPLIT_PRODUCTS
        SPLIT_LEFT(2) SPLIT_PRODUCTS
        SPLIT_LEFT(0) SPLIT_RIGHT(2) SPLIT_PRODUCTS
    }
    if (steps < SPLIT_UNROLLED) split_write(before, sums_before, steps * now, SPLIT_LINES);
    _tile_stored(0, sums, 4 * SPLIT_LINES);
    if (right) _tile_stored(1, sums + 16, 4 * SPLIT_LINES);
    if (low) _tile_stored(2, sums + 16 * SPLIT_LINES, 4 * SPLIT_LINES);
    if (low && right) _tile_stored(3, sums + 16 * SPLIT_LINES + 16, 4 * SPLIT_LINES);
#undef SPLIT_LEFT
#undef SPLIT_RIGHT
#undef SPLIT_PRODUCTS
}

/* c[rows, columns] (+)= a b over `steps`. Panels lie `a_panel` and `b_panel` bytes apart. */
SPLIT_TARGET static void split_multiply(const char *a, int64_t a_panel, const char *b, int64_t b_panel, int64_t steps, float *c, int64_t c_row, int64_t rows, int64_t columns, int add) {
    float sums[2][SPLIT_LINES * SPLIT_LINES] __attribute__((aligned(64)));
    SplitSums before = {0};
    int which = 0;
    SPLIT_VISIBLE(a);
    for (int64_t j = 0; j < columns; j += SPLIT_LINES, b += b_panel) {
        const char *left = a;
        for (int64_t i = 0; i < rows; i += SPLIT_LINES, left += a_panel) {
            int low = rows - i > 16, right = columns - j > 16;
            float *now = sums[which], *old = sums[which ^ 1];
            if (low && right)
                split_block_as(left, b, steps, now, &before, old, 1, 1);
            else if (low)
                split_block_as(left, b, steps, now, &before, old, 1, 0);
            else if (right)
                split_block_as(left, b, steps, now, &before, old, 0, 1);
            else
                split_block_as(left, b, steps, now, &before, old, 0, 0);
            before.c = c + i * c_row + j;
            before.c_row = c_row;
            before.rows = rows - i < SPLIT_LINES ? rows - i : SPLIT_LINES;
            before.columns = columns - j < SPLIT_LINES ? columns - j : SPLIT_LINES;
            before.add = add;
            which ^= 1;
        }
    }
    split_write(&before, sums[which ^ 1], 0, SPLIT_LINES);
}

#else
#define SPLIT_COMPILED 0
static void split_begin(void) {}
static void split_end(void) {}
static SplitRange split_pack(const SplitOperand *o, int64_t line, int64_t first, int64_t steps, char *to) { return SPLIT_NOTHING; }
static void split_multiply(const char *a, int64_t a_panel, const char *b, int64_t b_panel, int64_t steps, float *c, int64_t c_row, int64_t rows, int64_t columns, int add) {}
#endif
