/* Some taps of many small kernels that lie one after the other: out of them, back into them, and side by side. */
#pragma once
#include <stdint.h>
#include <string.h>

/* With the number of taps known, the loop over them unrolls. */
#define TAPS_CASES(LOOP)                                                                                               \
    switch (taps) {                                                                                                    \
        case 1: LOOP(1) break;                                                                                         \
        case 2: LOOP(2) break;                                                                                         \
        case 3: LOOP(3) break;                                                                                         \
        case 4: LOOP(4) break;                                                                                         \
        case 6: LOOP(6) break;                                                                                         \
        case 9: LOOP(9) break;                                                                                         \
        default: LOOP(taps)                                                                                            \
    }

/* to[i][t] = from[i * apart + at[t]] */
#define TAPS_PACK(T, NAME)                                                                                             \
    static void NAME(T *restrict to, const T *restrict from, int64_t n, int64_t apart, const int64_t *at,              \
                     int64_t taps) {                                                                                   \
        TAPS_CASES(TAPS_PACK_LOOP)                                                                                     \
    }
#define TAPS_PACK_LOOP(N)                                                                                              \
    for (int64_t i = 0; i < n; i++)                                                                                    \
        for (int64_t t = 0; t < N; t++) to[i * N + t] = from[i * apart + at[t]];
TAPS_PACK(uint16_t, taps_pack_16)
TAPS_PACK(float, taps_pack_f32)
TAPS_PACK(double, taps_pack_f64)

/* to[i * apart + at[t]] = from[i][t], and zeros elsewhere: a part that stays in the cache at a time. */
#define TAPS_SPREAD(T, NAME)                                                                                           \
    static void NAME(T *restrict to, const T *restrict from, int64_t n, int64_t apart, const int64_t *at,              \
                     int64_t taps) {                                                                                   \
        for (int64_t part = 4096 / apart + 1; n > 0; n -= part, to += part * apart, from += part * taps) {             \
            const int64_t m = n < part ? n : part;                                                                     \
            memset(to, 0, m * apart * sizeof *to);                                                                     \
            TAPS_CASES(TAPS_SPREAD_LOOP)                                                                               \
        }                                                                                                              \
    }
#define TAPS_SPREAD_LOOP(N)                                                                                            \
    for (int64_t i = 0; i < m; i++)                                                                                    \
        for (int64_t t = 0; t < N; t++) to[i * apart + at[t]] = from[i * N + t];
TAPS_SPREAD(uint16_t, taps_spread_16)
TAPS_SPREAD(float, taps_spread_f32)
TAPS_SPREAD(double, taps_spread_f64)

/* to[i][t] = from[t * apart + i] */
static void taps_join_f32(float *restrict to, const float *restrict from, int64_t n, int64_t apart, int64_t taps) {
#define TAPS_JOIN_LOOP(N)                                                                                              \
    for (int64_t i = 0; i < n; i++)                                                                                    \
        for (int64_t t = 0; t < N; t++) to[i * N + t] = from[t * apart + i];
    TAPS_CASES(TAPS_JOIN_LOOP)
}
