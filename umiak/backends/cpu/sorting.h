/* Rows sorted by keys: numbers as unsigned integers in the same order, NaN the largest, both zeros equal.

   A key of up to 32 bits and its place are one number of 64 bits, longer keys are pairs. Sorting is by radix, the least
   digit first, hence stable; the few best of a row are kept in order while the row is read. */
#ifndef UMIAK_SORTING_H
#define UMIAK_SORTING_H

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { UMIAK_FEW = 40, UMIAK_KEPT = 128, UMIAK_WIDE_DIGITS = 4096, UMIAK_RANKS = 64 };

typedef struct {
    int kind;       /* of numbers, see umiak_fill */
    int bytes;      /* of one */
    int rank, axis;
    int falling;
} umiak_sorting;

typedef struct {
    const umiak_sorting *how;
    const char *x;
    char *values;
    int64_t *places;
    const int64_t *sizes, *strides;
    int64_t wanted, inner, rows, chunk;
} umiak_rows;

typedef struct { uint64_t key, place; } umiak_pair;

/* Keys */
#define UMIAK_FLOAT_KEY(u, top, inf) \
    (((u) & ((top) - 1)) > (inf) ? ((top) << 1) - 1 : !((u) & ((top) - 1)) ? (top) : (u) & (top) ? ~(u) & (((top) << 1) - 1) : (u) | (top))
#define UMIAK_FILL(type, expression) \
    for (int64_t i = 0; i < n; i++) { \
        type v; \
        memcpy(&v, x + i * stride, sizeof v); \
        a[i] = (((uint64_t)(expression) & mask) ^ turn) << 32 | (uint64_t)i; \
    } \
    break

static void umiak_fill(const umiak_sorting *how, const char *x, int64_t stride, int64_t n, uint64_t *a)
{
    uint64_t mask = ((uint64_t)1 << 8 * how->bytes) - 1, turn = how->falling ? mask : 0;
    switch (how->kind) {
    case 0: UMIAK_FILL(uint8_t, v);
    case 1: UMIAK_FILL(uint8_t, v ^ 0x80u);
    case 2: UMIAK_FILL(uint16_t, v ^ 0x8000u);
    case 3: UMIAK_FILL(uint32_t, v ^ 0x80000000u);
    case 5: UMIAK_FILL(uint16_t, UMIAK_FLOAT_KEY((uint32_t)v, 0x8000u, 0x7c00u));
    case 6: UMIAK_FILL(uint16_t, UMIAK_FLOAT_KEY((uint32_t)v, 0x8000u, 0x7f80u));
    default: UMIAK_FILL(uint32_t, UMIAK_FLOAT_KEY((uint64_t)v, (uint64_t)0x80000000u, (uint64_t)0x7f800000u));
    }
}

static void umiak_fill_pairs(const umiak_sorting *how, const char *x, int64_t stride, int64_t n, umiak_pair *a)
{
    const uint64_t top = (uint64_t)1 << 63, inf = (uint64_t)0x7ff << 52;
    for (int64_t i = 0; i < n; i++) {
        uint64_t v;
        memcpy(&v, x + i * stride, sizeof v);
        if (how->kind == 4) v ^= top;
        else v = (v & (top - 1)) > inf ? ~(uint64_t)0 : !(v & (top - 1)) ? top : v & top ? ~v : v | top;
        a[i].key = how->falling ? ~v : v;
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
    } \
    /* The first k in order, at the front of `a`; 0 when so many better ones come late that sorting is cheaper. */ \
    static int name##_best(item *a, int64_t n, int64_t k) \
    { \
        int64_t late = 0; \
        name##_insert(a, k); \
        for (int64_t i = k; i < n; i++) { \
            item v = a[i]; \
            if (key_of(v) < key_of(a[k - 1])) { \
                int64_t j = k - 1; \
                if (++late > n / 4 + 4 * k) return 0; \
                a[i] = a[k - 1]; \
                for (; j > 0 && key_of(v) < key_of(a[j - 1]); j--) a[j] = a[j - 1]; \
                a[j] = v; \
            } \
        } \
        return 1; \
    }

#define UMIAK_KEY_OF_NUMBER(v) (v)
#define UMIAK_KEY_OF_PAIR(v) ((v).key)
UMIAK_DEFINE_SORT(umiak_sort_numbers, uint64_t, UMIAK_KEY_OF_NUMBER)
UMIAK_DEFINE_SORT(umiak_sort_pairs, umiak_pair, UMIAK_KEY_OF_PAIR)

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

/* Part `part` of the rows: 0, or -1 without memory. */
static int umiak_sort_rows(void *arg, int64_t part)
{
    const umiak_rows *w = (const umiak_rows *)arg;
    const umiak_sorting *how = w->how;
    int64_t n = w->sizes[how->axis], k = w->wanted, stride = w->strides[how->axis] * how->bytes;
    int64_t begin = part * w->chunk, end = begin + w->chunk;
    int wide = how->bytes == 8, few = k <= UMIAK_KEPT && 4 * k <= n;
    size_t item = wide ? sizeof(umiak_pair) : sizeof(uint64_t);
    char *room = k ? (char *)malloc((size_t)n * item * 2) : NULL;
    if (k && !room) return -1;
    if (end > w->rows) end = w->rows;
    for (int64_t row = begin; k && row < end; row++) {
        const char *x = w->x;
        int64_t rest = row, out = row / w->inner * k * w->inner + row % w->inner;
        for (int d = how->rank - 1; d >= 0; d--)
            if (d != how->axis) {
                x += rest % w->sizes[d] * w->strides[d] * how->bytes;
                rest /= w->sizes[d];
            }
        umiak_pair *pairs = (umiak_pair *)room;
        uint64_t *numbers = (uint64_t *)room;
        for (int again = 0;; again = 1) {
            int sorted = 1;
            if (wide) {
                umiak_fill_pairs(how, x, stride, n, pairs);
                if (few && !again) sorted = umiak_sort_pairs_best(pairs, n, k);
                else pairs = umiak_sort_pairs(pairs, pairs + n, n, 0, 64);
            } else {
                umiak_fill(how, x, stride, n, numbers);
                if (few && !again) sorted = umiak_sort_numbers_best(numbers, n, k);
                else numbers = umiak_sort_numbers(numbers, numbers + n, n, 32, 32 + 8 * how->bytes);
            }
            if (sorted) break;
        }
        for (int64_t j = 0; j < k; j++) {
            int64_t at = wide ? (int64_t)pairs[j].place : (int64_t)(uint32_t)numbers[j];
            w->places[out + j * w->inner] = at;
            umiak_copy(w->values + (out + j * w->inner) * how->bytes, x + at * stride, how->bytes);
        }
    }
    free(room);
    return 0;
}

#endif
