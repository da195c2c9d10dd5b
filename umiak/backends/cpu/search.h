#pragma once
/* Distinct and most frequent elements, by counting or by radix; searches; greatest common divisors. Included by search.pyx
 * alone.
 *
 * Elements become unsigned keys that rise as they do (NaN above all, both zeros alike). A key of up to 32 bits stands in
 * one word above its index; a longer one beside its index. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { ORDER_U8, ORDER_I8, ORDER_I16, ORDER_I32, ORDER_I64, ORDER_F16, ORDER_BF16, ORDER_F32, ORDER_F64 };

typedef struct { uint64_t key, index; } order_pair_t;

static inline uint32_t order_flip16(uint32_t b, uint32_t nan)
{
    if ((b & 0x7fff) > nan) return 0xffffffffu;
    if ((b & 0x7fff) == 0) b = 0;
    return b & 0x8000 ? (uint16_t)~b : b | 0x8000;
}

static inline uint32_t order_flip32(uint32_t b)
{
    if ((b & 0x7fffffffu) > 0x7f800000u) return 0xffffffffu;
    if ((b & 0x7fffffffu) == 0) b = 0;
    return b & 0x80000000u ? ~b : b | 0x80000000u;
}

static inline uint64_t order_flip64(uint64_t b)
{
    const uint64_t sign = UINT64_C(1) << 63;
    if ((b & ~sign) > UINT64_C(0x7ff0000000000000)) return UINT64_MAX;
    if ((b & ~sign) == 0) b = 0;
    return b & sign ? ~b : b | sign;
}

/* Which bytes of a key of the type may differ. */
static inline int order_bytes(int type)
{
    switch (type) {
    case ORDER_U8: case ORDER_I8: return 1;
    case ORDER_I16: case ORDER_F16: case ORDER_BF16: return 2;
    case ORDER_I32: case ORDER_F32: return 4;
    default: return 8;
    }
}

#define ORDER_EACH(T, EXPRESSION)                                                                                              \
    for (int64_t i = 0; i < n; i++) { T v = ((const T *)row)[i]; key[i] = (uint32_t)(EXPRESSION); }                              \
    break

/* Keys of at most 32 bits. Those of 16 bits leave the upper half 0, except NaN, whose lower half is all ones as well. */
static void order_keys32(const void *row, int64_t n, int type, uint32_t *key)
{
    switch (type) {
    case ORDER_U8: ORDER_EACH(uint8_t, v);
    case ORDER_I8: ORDER_EACH(uint8_t, v ^ 0x80);
    case ORDER_I16: ORDER_EACH(uint16_t, v ^ 0x8000);
    case ORDER_I32: ORDER_EACH(uint32_t, v ^ 0x80000000u);
    case ORDER_F16: ORDER_EACH(uint16_t, order_flip16(v, 0x7c00) & 0xffff);
    case ORDER_BF16: ORDER_EACH(uint16_t, order_flip16(v, 0x7f80) & 0xffff);
    case ORDER_F32: ORDER_EACH(uint32_t, order_flip32(v));
    }
}

static inline uint64_t order_key64(const void *row, int64_t i, int type)
{
    uint64_t v = ((const uint64_t *)row)[i];
    return type == ORDER_F64 ? order_flip64(v) : v ^ (UINT64_C(1) << 63);
}

/* Items: words with the key above, pairs. */
#define ITEM uint64_t
#define NAME(f) f##_words
#define LESS(a, b) ((a) < (b))
#define DIGIT(x, k) ((uint8_t)((x) >> (32 + 8 * (k))))
#include "umiak/backends/cpu/search_items.h"
#undef ITEM
#undef NAME
#undef LESS
#undef DIGIT

#define ITEM order_pair_t
#define NAME(f) f##_pairs
#define LESS(a, b) ((a).key < (b).key || ((a).key == (b).key && (a).index < (b).index))
#define DIGIT(x, k) ((uint8_t)((x).key >> (8 * (k))))
#include "umiak/backends/cpu/search_items.h"
#undef ITEM
#undef NAME
#undef LESS
#undef DIGIT

enum { ORDER_BLOCK = 256 };

/* Keys that lie no further apart than this are counted. */
static inline int64_t order_range(int64_t n)
{
    const int64_t some = 8 * n < 4096 ? 8 * n : 4096;
    return n > some ? n : some;
}

/* Bytes of memory that order_unique and order_mode need for n elements. */
static int64_t order_memory(int64_t n, int type)
{
    const int64_t sorted = n * 2 * (int64_t)(order_bytes(type) == 8 ? sizeof(order_pair_t) : sizeof(uint64_t)) + ORDER_BLOCK * 4;
    const int64_t counted = order_range(n) * 4 * (int64_t)sizeof(uint32_t);
    return (sorted > counted ? sorted : counted) + 64;
}

/* The items of a row in order, as words (1) or pairs (2) at *found. */
static int order_items(const void *row, int64_t n, int type, void *memory, void **found)
{
    const int bytes = order_bytes(type);
    if (bytes == 8) {
        uint64_t low = UINT64_MAX, high = 0;
        for (int64_t i = 0; i < n; i++) {
            const uint64_t key = order_key64(row, i, type);
            low = key < low ? key : low;
            high = key > high ? key : high;
        }
        if (n && high - low <= UINT32_MAX) { /* keys that differ in 32 bits */
            uint64_t *a = memory, range = high - low;
            int some = 1;
            while (some < 4 && range >> (8 * some)) some++;
            for (int64_t i = 0; i < n; i++) {
                const uint64_t key = order_key64(row, i, type);
                a[i] = (key - low) << 32 | (uint64_t)i;
            }
            *found = sort_words(a, a + n, n, some);
            return 1;
        }
        order_pair_t *a = memory;
        for (int64_t i = 0; i < n; i++) {
            const uint64_t key = order_key64(row, i, type);
            a[i] = (order_pair_t){key, (uint64_t)i};
        }
        *found = sort_pairs(a, a + n, n, 8);
        return 2;
    }
    uint64_t *a = memory;
    uint32_t *key = (uint32_t *)(a + 2 * n);
    for (int64_t at = 0; at < n; at += ORDER_BLOCK) {
        const int64_t m = n - at < ORDER_BLOCK ? n - at : ORDER_BLOCK;
        order_keys32((const char *)row + at * bytes, m, type, key);
        for (int64_t i = 0; i < m; i++) a[at + i] = (uint64_t)key[i] << 32 | (uint64_t)(at + i);
    }
    *found = sort_words(a, a + n, n, bytes);
    return 1;
}

/* Loops that the compiler makes vectors of are compiled for newer processors too. */
#if defined(__x86_64__) && defined(__GLIBC__) && defined(__GNUC__) && !defined(__clang__) && __GNUC__ >= 12
#define ORDER_CLONES __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#else
#define ORDER_CLONES
#endif

/* The least and the largest key of n of 32 or of 64 bits, beside what is there. */
#define ORDER_BOUNDS(NAME, T)                                                                                                  \
    ORDER_CLONES static void NAME(const T *key, int64_t n, uint64_t flip, uint64_t *low, uint64_t *high)                       \
    {                                                                                                                          \
        T least = (T)*low, most = (T)*high;                                                                                    \
        for (int64_t i = 0; i < n; i++) {                                                                                      \
            const T k = key[i] ^ (T)flip;                                                                                      \
            least = k < least ? k : least;                                                                                     \
            most = k > most ? k : most;                                                                                        \
        }                                                                                                                      \
        *low = least;                                                                                                          \
        *high = most;                                                                                                          \
    }
ORDER_BOUNDS(order_bounds32, uint32_t)
ORDER_BOUNDS(order_bounds64, uint64_t)

static const uint64_t ORDER_SIGN = UINT64_C(1) << 63;

/* The keys of a block, from `low` on, where they are known to lie less than 2^32 above it. */
static void order_block(const void *row, int64_t at, int64_t m, int type, uint64_t low, uint32_t *key)
{
    if (order_bytes(type) == 8) {
        const uint64_t *v = (const uint64_t *)row + at;
        for (int64_t i = 0; i < m; i++) key[i] = (uint32_t)((v[i] ^ ORDER_SIGN) - low);
        return;
    }
    order_keys32((const char *)row + at * order_bytes(type), m, type, key);
    for (int64_t i = 0; i < m; i++) key[i] -= (uint32_t)low;
}

#define ORDER_BLOCKS                                                                                                           \
    for (int64_t at = 0, m; at < n; at += m)                                                                                   \
        if (m = n - at < ORDER_BLOCK ? n - at : ORDER_BLOCK, order_block(row, at, m, type, low, key), 1)                       \
            for (int64_t i = 0; i < m; i++)

/* order_unique by counting, where keys lie close together; -1 elsewhere. */
static int64_t order_count(const void *row, int64_t n, int type, uint32_t *memory, int64_t most, int64_t *first,
                           int64_t *count, int64_t *inverse)
{
    uint32_t key[ORDER_BLOCK], *counts = memory, *firsts, *ranks, *kept;
    uint64_t low = order_bytes(type) == 8 ? UINT64_MAX : UINT32_MAX, high = 0;
    int64_t range, k = 0;
    if (type == ORDER_F64 || n == 0) return -1;
    if (type == ORDER_I64) order_bounds64(row, n, ORDER_SIGN, &low, &high);
    else
        for (int64_t at = 0; at < n; at += ORDER_BLOCK) {
            const int64_t m = n - at < ORDER_BLOCK ? n - at : ORDER_BLOCK;
            order_keys32((const char *)row + at * order_bytes(type), m, type, key);
            order_bounds32(key, m, 0, &low, &high);
        }
    if (high - low >= (uint64_t)order_range(n)) return -1;
    range = (int64_t)(high - low) + 1;
    firsts = counts + range;
    ranks = firsts + range;
    kept = ranks + range;
    memset(counts, 0, (size_t)range * sizeof *counts);
    if (inverse == NULL) {
        ORDER_BLOCKS counts[key[i]] = 1;
        for (int64_t r = 0; r < range; r++) k += counts[r];
        return k;
    }
    ORDER_BLOCKS
    {
        const uint32_t r = key[i];
        if (counts[r]++ == 0) firsts[r] = (uint32_t)(at + i);
    }
    for (int64_t r = 0; r < range; r++) {
        kept[k] = (uint32_t)r;
        ranks[r] = (uint32_t)k;
        k += counts[r] != 0;
    }
    for (int64_t j = 0; j < k && j < most; j++) {
        first[j] = firsts[kept[j]];
        count[j] = counts[kept[j]];
    }
    ORDER_BLOCKS inverse[at + i] = ranks[key[i]];
    return k;
}

/* The distinct elements of a row: how many, and where not NULL: of the first `most` of them where each stands first and
 * how often, and which of them each element of the row is. */
static int64_t order_unique(const void *row, int64_t n, int type, void *memory, int64_t most, int64_t *first,
                            int64_t *count, int64_t *inverse)
{
    void *found;
    int64_t k = order_count(row, n, type, memory, most, first, count, inverse), start = 0;
    if (k >= 0) return k;
    k = 0;
    const int pairs = order_items(row, n, type, memory, &found) == 2;
    const order_pair_t *p = found;
    const uint64_t *w = found;
    for (int64_t i = 0; i < n; i++) {
        const int64_t at = (int64_t)(pairs ? p[i].index : w[i] & 0xffffffffu);
        if (i == 0 || (pairs ? p[i].key != p[i - 1].key : w[i] >> 32 != w[i - 1] >> 32)) {
            if (first != NULL && k < most) first[k] = at;
            if (count != NULL && k && k <= most) count[k - 1] = i - start;
            start = i;
            k++;
        }
        if (inverse != NULL) inverse[at] = k - 1;
    }
    if (count != NULL && k && k <= most) count[k - 1] = n - start;
    return k;
}

/* Where the most frequent element of a row, of several the least, stands last. */
static int64_t order_mode(const void *row, int64_t n, int type, void *memory)
{
    void *found;
    const int pairs = order_items(row, n, type, memory, &found) == 2;
    const order_pair_t *p = found;
    const uint64_t *w = found;
    int64_t start = 0, longest = 0, place = 0;
    for (int64_t i = 1; i <= n; i++) {
        if (i < n && (pairs ? p[i].key == p[i - 1].key : w[i] >> 32 == w[i - 1] >> 32)) continue;
        if (i - start > longest) {
            longest = i - start;
            place = (int64_t)(pairs ? p[i - 1].index : w[i - 1] & 0xffffffffu);
        }
        start = i;
    }
    return place;
}

/* Where values go in a row that rises: before equal elements, or after them. Searches run side by side, so that they
 * wait for memory together. NaN is above all: no number is looked for behind one, and one is put by itself. */
#define ORDER_SEARCH(NAME, T)                                                                                                  \
    static inline __attribute__((always_inline)) void NAME##_some(const T *row, int64_t n, const T *value, const int k,        \
                                                                  const int after, int64_t *found)                             \
    {                                                                                                                          \
        const T *low[16];                                                                                                      \
        int64_t left = n;                                                                                                      \
        for (int j = 0; j < k; j++) low[j] = row;                                                                              \
        while (left > 0) {                                                                                                     \
            const int64_t half = (left + 1) / 2;                                                                               \
            for (int j = 0; j < k; j++) {                                                                                      \
                const T *const further = low[j] + half;                                                                        \
                low[j] = (after ? further[-1] <= value[j] : further[-1] < value[j]) ? further : low[j];                        \
            }                                                                                                                  \
            left -= half;                                                                                                      \
        }                                                                                                                      \
        for (int j = 0; j < k; j++) {                                                                                          \
            found[j] = low[j] - row;                                                                                           \
            if (value[j] != value[j]) {                                                                                        \
                found[j] = n;                                                                                                  \
                while (!after && found[j] > 0 && row[found[j] - 1] != row[found[j] - 1]) found[j]--;                           \
            }                                                                                                                  \
        }                                                                                                                      \
    }                                                                                                                          \
    static void NAME(const T *row, int64_t n, const T *value, int64_t m, int after, int64_t *found)                            \
    {                                                                                                                          \
        int64_t at = 0;                                                                                                        \
        for (; at + 16 <= m; at += 16) {                                                                                       \
            if (after) NAME##_some(row, n, value + at, 16, 1, found + at);                                                     \
            else NAME##_some(row, n, value + at, 16, 0, found + at);                                                           \
        }                                                                                                                      \
        for (; at < m; at++) NAME##_some(row, n, value + at, 1, after, found + at);                                            \
    }

ORDER_SEARCH(order_search_i64, int64_t)
ORDER_SEARCH(order_search_i32, int32_t)
ORDER_SEARCH(order_search_f64, double)
ORDER_SEARCH(order_search_f32, float)

/* Greatest common divisors, by halves. */
#define ORDER_GCD(NAME, T, U)                                                                                                  \
    static void NAME(const T *x, int64_t by_x, const T *y, int64_t by_y, int64_t n, T *out)                                    \
    {                                                                                                                          \
        for (int64_t i = 0; i < n; i++, x += by_x, y += by_y) {                                                                \
            U a = *x < 0 ? (U)0 - (U)*x : (U)*x, b = *y < 0 ? (U)0 - (U)*y : (U)*y;                                            \
            if (a == 0 || b == 0) { out[i] = (T)(a | b); continue; }                                                           \
            const int shift = __builtin_ctzll((unsigned long long)(a | b));                                                    \
            a >>= __builtin_ctzll((unsigned long long)a);                                                                      \
            b >>= __builtin_ctzll((unsigned long long)b);                                                                      \
            while (a != b) {                                                                                                   \
                /* Either difference ends in as many zeros. */                                                                 \
                const U d = a - b, low = a < b ? a : b;                                                                        \
                b = (a < b ? b - a : d) >> __builtin_ctzll((unsigned long long)d);                                             \
                a = low;                                                                                                       \
            }                                                                                                                  \
            out[i] = (T)(a << shift);                                                                                          \
        }                                                                                                                      \
    }

ORDER_GCD(order_gcd_i64, int64_t, uint64_t)
ORDER_GCD(order_gcd_i32, int32_t, uint32_t)
