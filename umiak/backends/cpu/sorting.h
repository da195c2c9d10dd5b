/* Rows sorted by keys: numbers as unsigned integers in the same order, NaN the largest, both zeros equal.

   A key of up to 32 bits and its place are one number of 64 bits, longer keys are pairs. Sorting is by radix, the least
   digit first, hence stable; the few best of a row are kept in order while the row is read. */
#ifndef UMIAK_SORTING_H
#define UMIAK_SORTING_H

#include <stdint.h>
#include <string.h>

enum { UMIAK_FEW = 40, UMIAK_KEPT = 128, UMIAK_WIDE_DIGITS = 4096, UMIAK_RANKS = 64, UMIAK_BLOCK = 256,
       UMIAK_TOPS = 1024 };

typedef struct {
    int kind;       /* of numbers, see umiak_fill */
    int bytes;      /* of one */
    int rank, axis;
    int falling;
} umiak_sorting;

typedef struct {
    const umiak_sorting *config;
    const char *x;
    char *values;
    int64_t *places;
    const int64_t *sizes, *strides;
    int64_t wanted, inner, rows, chunk;
} umiak_rows;

typedef struct { uint64_t key, place; } umiak_pair;

/* Loops that the compiler makes vectors of are compiled for newer processors too. */
#if defined(__x86_64__) && defined(__GLIBC__) && defined(__GNUC__) && !defined(__clang__) && __GNUC__ >= 12
#define UMIAK_CLONES __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#else
#define UMIAK_CLONES
#endif

/* Keys */
#define UMIAK_FLOAT_KEY(u, top, inf) \
    (((u) & ((top) - 1)) > (inf) ? ((top) << 1) - 1 : !((u) & ((top) - 1)) ? (top) : (u) & (top) ? ~(u) & (((top) << 1) - 1) : (u) | (top))
#define UMIAK_KEYS(type, expression) \
    if (stride == sizeof(type)) \
        for (int64_t i = 0; i < n; i++) { \
            type v; \
            memcpy(&v, x + i * (int64_t)sizeof v, sizeof v); \
            key[i] = ((uint32_t)(expression) & mask) ^ turn; \
        } \
    else \
        for (int64_t i = 0; i < n; i++) { \
            type v; \
            memcpy(&v, x + i * stride, sizeof v); \
            key[i] = ((uint32_t)(expression) & mask) ^ turn; \
        } \
    break

/* The keys of n elements of at most 4 bytes. */
UMIAK_CLONES static void umiak_keys(const umiak_sorting *config, const char *x, int64_t stride, int64_t n, uint32_t *key)
{
    const uint32_t mask = (uint32_t)(((uint64_t)1 << 8 * config->bytes) - 1), turn = config->falling ? mask : 0;
    switch (config->kind) {
    case 0: UMIAK_KEYS(uint8_t, v);
    case 1: UMIAK_KEYS(uint8_t, v ^ 0x80u);
    case 2: UMIAK_KEYS(uint16_t, v ^ 0x8000u);
    case 3: UMIAK_KEYS(uint32_t, v ^ 0x80000000u);
    case 5: UMIAK_KEYS(uint16_t, UMIAK_FLOAT_KEY((uint32_t)v, 0x8000u, 0x7c00u));
    case 6: UMIAK_KEYS(uint16_t, UMIAK_FLOAT_KEY((uint32_t)v, 0x8000u, 0x7f80u));
    default: UMIAK_KEYS(uint32_t, UMIAK_FLOAT_KEY(v, 0x80000000u, 0x7f800000u));
    }
}

/* Keys above places. */
static void umiak_fill(const umiak_sorting *config, const char *x, int64_t stride, int64_t n, uint64_t *a)
{
    uint32_t key[UMIAK_BLOCK];
    for (int64_t at = 0; at < n; at += UMIAK_BLOCK) {
        const int64_t m = n - at < UMIAK_BLOCK ? n - at : UMIAK_BLOCK;
        umiak_keys(config, x + at * stride, stride, m, key);
        for (int64_t i = 0; i < m; i++) a[at + i] = (uint64_t)key[i] << 32 | (uint64_t)(at + i);
    }
}

static void umiak_fill_pairs(const umiak_sorting *config, const char *x, int64_t stride, int64_t n, umiak_pair *a)
{
    const uint64_t top = (uint64_t)1 << 63, inf = (uint64_t)0x7ff << 52;
    for (int64_t i = 0; i < n; i++) {
        uint64_t v;
        memcpy(&v, x + i * stride, sizeof v);
        if (config->kind == 4) v ^= top;
        else v = (v & (top - 1)) > inf ? ~(uint64_t)0 : !(v & (top - 1)) ? top : v & top ? ~v : v | top;
        a[i].key = config->falling ? ~v : v;
        a[i].place = (uint64_t)i;
    }
}

/* Sorting: `a` with `b` as room; gives the one that holds the result. Bits of keys are [low, high). */
#define UMIAK_DEFINE_SORT(name, item, key_of) \
    static inline void name##_insert(item *a, int64_t n) \
    { \
        for (int64_t i = 1; i < n; i++) { \
            item v = a[i]; \
            int64_t j = i; \
            for (; j > 0 && key_of(v) < key_of(a[j - 1]); j--) a[j] = a[j - 1]; \
            a[j] = v; \
        } \
    } \
    static item *name(item *a, item *b, int64_t n, int low, int high) \
    { \
        uint32_t counts[2048]; \
        int digit = n < UMIAK_WIDE_DIGITS ? 8 : 11; \
        uint64_t same = 0, first; \
        if (n <= UMIAK_FEW) { \
            name##_insert(a, n); \
            return a; \
        } \
        first = key_of(a[0]); \
        for (int64_t i = 1; i < n; i++) same |= key_of(a[i]) ^ first; \
        for (int at = low; at < high; at += digit) { \
            uint32_t mask = (1u << digit) - 1, sum = 0; \
            if (!(same >> at & mask)) continue; \
            memset(counts, 0, ((size_t)mask + 1) * sizeof *counts); \
            for (int64_t i = 0; i < n; i++) counts[key_of(a[i]) >> at & mask]++; \
            for (uint32_t d = 0; d <= mask; d++) { \
                uint32_t c = counts[d]; \
                counts[d] = sum; \
                sum += c; \
            } \
            for (int64_t i = 0; i < n; i++) b[counts[key_of(a[i]) >> at & mask]++] = a[i]; \
            item *t = a; \
            a = b; \
            b = t; \
        } \
        return a; \
    }

#define UMIAK_KEY_OF_NUMBER(v) (v)
#define UMIAK_KEY_OF_PAIR(v) ((v).key)
UMIAK_DEFINE_SORT(umiak_sort_numbers, uint64_t, UMIAK_KEY_OF_NUMBER)
UMIAK_DEFINE_SORT(umiak_sort_pairs, umiak_pair, UMIAK_KEY_OF_PAIR)

/* The first k in order, at the front of `a`; 0 when so many better ones come late that sorting is cheaper. */
static int umiak_best_pairs(umiak_pair *a, int64_t n, int64_t k)
{
    int64_t late = 0;
    umiak_sort_pairs_insert(a, k);
    for (int64_t i = k; i < n; i++) {
        umiak_pair v = a[i];
        if (v.key < a[k - 1].key) {
            int64_t j = k - 1;
            if (++late > n / 4 + 4 * k) return 0;
            a[i] = a[k - 1];
            for (; j > 0 && v.key < a[j - 1].key; j--) a[j] = a[j - 1];
            a[j] = v;
        }
    }
    return 1;
}

UMIAK_CLONES static uint32_t umiak_least(const uint32_t *key, int64_t n)
{
    uint32_t least = UINT32_MAX;
    for (int64_t i = 0; i < n; i++) least = key[i] < least ? key[i] : least;
    return least;
}

/* The same of elements of at most 4 bytes, which are compared with the worst that is kept, blocks at a time. */
static int umiak_best_numbers(const umiak_sorting *config, const char *x, int64_t stride, int64_t n, int64_t k, uint64_t *a)
{
    enum { SOME = 32 };
    uint32_t key[UMIAK_BLOCK];
    int64_t late = 0;
    umiak_fill(config, x, stride, k, a);
    umiak_sort_numbers_insert(a, k);
    for (int64_t block = k; block < n; block += UMIAK_BLOCK) {
        const int64_t m = n - block < UMIAK_BLOCK ? n - block : UMIAK_BLOCK;
        umiak_keys(config, x + block * stride, stride, m, key);
        for (int64_t at = 0; at < m; at += SOME) {
            const int64_t end = m - at < SOME ? m : at + SOME;
            if (umiak_least(key + at, end - at) >= a[k - 1] >> 32) continue;
            for (int64_t i = at; i < end; i++) {
                const uint64_t v = (uint64_t)key[i] << 32 | (uint64_t)(block + i);
                int64_t j = k - 1;
                if (v >= a[j]) continue;
                if (++late > n / 4 + 4 * k) return 0;
                for (; j > 0 && v < a[j - 1]; j--) a[j] = a[j - 1];
                a[j] = v;
            }
        }
    }
    return 1;
}

/* Places in the order of keys of 8 bytes: sorted by the 32 highest bits of what they have over the least, then runs that
   are alike in those by all bits. `room` holds 2 n pairs. NULL where a run is longer than the room beside it. */
static uint64_t *umiak_sort_tops(const umiak_sorting *config, const char *x, int64_t stride, int64_t n, char *room)
{
    umiak_pair *pairs = (umiak_pair *)room + n;
    uint64_t *a = (uint64_t *)room, *b = a + n, least = UINT64_MAX, most = 0;
    int low;
    umiak_fill_pairs(config, x, stride, n, pairs);
    for (int64_t i = 0; i < n; i++) {
        least = pairs[i].key < least ? pairs[i].key : least;
        most = pairs[i].key > most ? pairs[i].key : most;
    }
    low = (most - least) >> 32 ? 32 - __builtin_clzll(most - least) : 0;
    for (int64_t i = 0; i < n; i++) a[i] = (pairs[i].key - least) >> low << 32 | (uint64_t)i;
    a = umiak_sort_numbers(a, b, n, 32, 64);
    for (int64_t i = 0, end; low && i + 1 < n; i = end) {
        for (end = i + 1; end < n && a[end] >> 32 == a[i] >> 32;) end++;
        if (end == i + 1) continue;
        if (2 * (end - i) > n) return NULL;
        for (int64_t j = i; j < end; j++) {
            const int64_t at = (uint32_t)a[j];
            umiak_fill_pairs(config, x + at * stride, stride, 1, pairs + j - i);
            pairs[j - i].place = (uint64_t)at;
        }
        umiak_pair *run = umiak_sort_pairs(pairs, pairs + (end - i), end - i, 0, 64);
        for (int64_t j = i; j < end; j++) a[j] = run[j - i].place;
    }
    return a;
}

/* Rows */
static inline void umiak_copy(char *to, const char *from, int bytes)
{
    switch (bytes) {
    case 1: memcpy(to, from, 1); break;
    case 2: memcpy(to, from, 2); break;
    case 4: memcpy(to, from, 4); break;
    default: memcpy(to, from, 8);
    }
}

/* Bytes of the room that sorting a row takes. */
static int64_t umiak_sort_room(const umiak_rows *w)
{
    return w->sizes[w->config->axis] * 2 * (int64_t)(w->config->bytes == 8 ? sizeof(umiak_pair) : sizeof(uint64_t));
}

/* Part `part` of the rows. */
static void umiak_sort_rows(const umiak_rows *w, int64_t part, char *room)
{
    const umiak_sorting *config = w->config;
    int64_t n = w->sizes[config->axis], k = w->wanted, stride = w->strides[config->axis] * config->bytes;
    int64_t begin = part * w->chunk, end = begin + w->chunk;
    int wide = config->bytes == 8, few = k <= UMIAK_KEPT && 4 * k <= n;
    if (end > w->rows) end = w->rows;
    for (int64_t row = begin; row < end; row++) {
        const char *x = w->x;
        int64_t rest = row, out = row / w->inner * k * w->inner + row % w->inner;
        for (int d = config->rank - 1; d >= 0; d--)
            if (d != config->axis) {
                x += rest % w->sizes[d] * w->strides[d] * config->bytes;
                rest /= w->sizes[d];
            }
        umiak_pair *pairs = (umiak_pair *)room;
        uint64_t *numbers = (uint64_t *)room;
        int paired = wide;
        if (!wide && !(few && umiak_best_numbers(config, x, stride, n, k, numbers))) {
            umiak_fill(config, x, stride, n, numbers);
            numbers = umiak_sort_numbers(numbers, numbers + n, n, 32, 32 + 8 * config->bytes);
        } else if (wide) {
            int sorted = 0;
            if (few) {
                umiak_fill_pairs(config, x, stride, n, pairs);
                sorted = umiak_best_pairs(pairs, n, k);
            }
            if (!sorted && n >= UMIAK_TOPS) {
                numbers = umiak_sort_tops(config, x, stride, n, room);
                paired = !numbers;
            }
            if (!sorted && paired) {
                umiak_fill_pairs(config, x, stride, n, pairs);
                pairs = umiak_sort_pairs(pairs, pairs + n, n, 0, 64);
            }
        }
        for (int64_t j = 0; j < k; j++) {
            int64_t at = paired ? (int64_t)pairs[j].place : (int64_t)(uint32_t)numbers[j];
            w->places[out + j * w->inner] = at;
            umiak_copy(w->values + (out + j * w->inner) * config->bytes, x + at * stride, config->bytes);
        }
    }
}

#endif
