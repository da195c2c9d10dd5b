/* Random permutations: the order of keys of 63 bits that Philox4x32-10 draws, two words each. */
#pragma once
#include <stdint.h>

#include "umiak/backends/cpu/sorting.h"

enum { PERMUTATION_LANES = 16, PERMUTATION_SOME = 1024, PERMUTATION_SMALL = 4096 };

/* The words of PERMUTATION_LANES blocks, whose first is number `block` of the stream. In 64 bits, of which products see
 * 32: so the compiler makes vectors of them. */
UMIAK_CLONES static void permutation_words(uint64_t seed, uint64_t block, uint32_t *words)
{
    const uint64_t half = 0xFFFFFFFFu;
    uint64_t c0[PERMUTATION_LANES], c1[PERMUTATION_LANES], c2[PERMUTATION_LANES], c3[PERMUTATION_LANES];
    uint32_t k0 = (uint32_t)seed, k1 = (uint32_t)(seed >> 32);
    for (int i = 0; i < PERMUTATION_LANES; i++) {
        c0[i] = (block + (uint64_t)i) & half;
        c1[i] = (block + (uint64_t)i) >> 32;
        c2[i] = c3[i] = 0;
    }
    for (int round = 0; round < 10; round++) {
        const uint64_t a = k0, b = k1;
        for (int i = 0; i < PERMUTATION_LANES; i++) {
            const uint64_t p = (c0[i] & half) * 0xD2511F53u, q = (c2[i] & half) * 0xCD9E8D57u;
            c0[i] = (q >> 32) ^ c1[i] ^ a;
            c1[i] = q & half;
            c2[i] = (p >> 32) ^ c3[i] ^ b;
            c3[i] = p & half;
        }
        k0 += 0x9E3779B9u;
        k1 += 0xBB67AE85u;
    }
    for (int i = 0; i < PERMUTATION_LANES; i++) {
        words[4 * i] = (uint32_t)c0[i];
        words[4 * i + 1] = (uint32_t)c1[i];
        words[4 * i + 2] = (uint32_t)c2[i];
        words[4 * i + 3] = (uint32_t)c3[i];
    }
}

/* The low word of key i. */
static uint32_t permutation_low(uint64_t seed, uint64_t offset, uint64_t i)
{
    uint32_t words[4 * PERMUTATION_LANES];
    const uint64_t at = offset + 2 * (i & 0xFFFFFFFFu) + 1;
    permutation_words(seed, at / 4, words);
    return words[at % 4];
}

/* The n keys, their 31 high bits in a word above their places. */
static void permutation_keys(uint64_t seed, uint64_t offset, int64_t n, uint64_t *a)
{
    uint32_t words[2 * PERMUTATION_SOME + 8 * PERMUTATION_LANES];
    for (int64_t at = 0; at < n; at += PERMUTATION_SOME) {
        const int64_t m = n - at < PERMUTATION_SOME ? n - at : PERMUTATION_SOME;
        const uint64_t first = offset + 2 * (uint64_t)at, block = first / 4;
        const uint32_t *high = words + first % 4;
        for (int64_t i = 0; 4 * i < 2 * m + 4; i += PERMUTATION_LANES)
            permutation_words(seed, block + (uint64_t)i, words + 4 * i);
        for (int64_t i = 0; i < m; i++) a[at + i] = (uint64_t)(high[2 * i] >> 1) << 32 | (uint64_t)(at + i);
    }
}

/* One pass of radix sorting, by 8 bits from `at` on. */
static inline void permutation_pass(const uint64_t *from, uint64_t *to, int64_t n, int at)
{
    uint32_t counts[256] = {0}, sum = 0;
    for (int64_t i = 0; i < n; i++) counts[from[i] >> at & 255]++;
    for (int d = 0; d < 256; d++) {
        const uint32_t here = counts[d];
        counts[d] = sum;
        sum += here;
    }
    for (int64_t i = 0; i < n; i++) to[counts[from[i] >> at & 255]++] = from[i];
}

/* Write the places of n items of a, which are alike in the highest bits of their keys, in the order of keys. Small ones
 * are sorted by the 16 bits below `top`; hardly any are alike in those, and insertion does the rest. */
static void permutation_part(uint64_t seed, uint64_t offset, uint64_t *a, uint64_t *b, int64_t n, int top, void *out, int itemsize)
{
    if (n <= PERMUTATION_SMALL) {
        permutation_pass(a, b, n, top - 16);
        permutation_pass(b, a, n, top - 8);
    } else {
        a = umiak_sort_numbers(a, b, n, 32, top);
    }
    for (int64_t i = 1; i < n; i++) {
        const uint64_t v = a[i];
        int64_t j = i;
        if (v >> 32 > a[i - 1] >> 32) continue;
        for (; j > 0; j--) {
            const uint64_t u = a[j - 1];
            if (v >> 32 > u >> 32) break;
            if (v >> 32 == u >> 32) {
                const uint32_t low = permutation_low(seed, offset, v), other = permutation_low(seed, offset, u);
                if (low > other || (low == other && v > u)) break;
            }
            a[j] = u;
        }
        a[j] = v;
    }
    if (itemsize == 4)
        for (int64_t i = 0; i < n; i++) ((int32_t *)out)[i] = (int32_t)a[i];
    else
        for (int64_t i = 0; i < n; i++) ((int64_t *)out)[i] = (int64_t)(uint32_t)a[i];
}

/* The order of n keys at `out`; `a` has room for 2 n. */
static void permutation_draw(uint64_t seed, uint64_t offset, int64_t n, uint64_t *a, void *out, int itemsize)
{
    uint64_t *b = a + n;
    int bits = 0;
    permutation_keys(seed, offset, n, a);
    while (bits < 11 && n >> bits > PERMUTATION_SOME) bits++;
    if (bits == 0) {
        permutation_part(seed, offset, a, b, n, 63, out, itemsize);
    } else {
        /* The highest bits say which part an item belongs to. */
        int64_t counts[2048] = {0}, sum = 0;
        for (int64_t i = 0; i < n; i++) counts[a[i] >> (63 - bits)]++;
        for (int d = 0; d < 1 << bits; d++) {
            const int64_t here = counts[d];
            counts[d] = sum;
            sum += here;
        }
        for (int64_t i = 0; i < n; i++) b[counts[a[i] >> (63 - bits)]++] = a[i];
        for (int64_t d = 0, begin = 0; d < 1 << bits; begin = counts[d++])
            permutation_part(seed, offset, b + begin, a + begin, counts[d] - begin, 63 - bits,
                             (char *)out + begin * itemsize, itemsize);
    }
}
