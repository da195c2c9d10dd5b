/* Vectors of AVX2 of which only the first lanes exist: masks of 1 to 8 lanes, loads and stores under them.
 *
 * _mm256_maskstore_ps takes 13 cycles on Zen 3 for any mask, all lanes included, and there it waits for its line of memory: rows
 * of 12 numbers took 97 ns each. So whole vectors are stored as such, and others in pieces.
 */
#pragma once
#include <immintrin.h>
#include <stdint.h>

static const int32_t first_lanes_bits[16] = {-1, -1, -1, -1, -1, -1, -1, -1, 0, 0, 0, 0, 0, 0, 0, 0};

#define FIRST_LANES_INLINE static inline __attribute__((target("avx2,fma"), always_inline))

FIRST_LANES_INLINE __m256i first_lanes(int count) {
    return _mm256_loadu_si256((const __m256i *)(first_lanes_bits + 8 - count));
}

FIRST_LANES_INLINE void first_lanes_store(float *to, __m256i lanes, __m256 x) {
    int bits = _mm256_movemask_ps(_mm256_castsi256_ps(lanes));
    if (bits == 0xff) {
        _mm256_storeu_ps(to, x);
        return;
    }
    __m128 part = _mm256_castps256_ps128(x);
    if (bits & 8) {
        _mm_storeu_ps(to, part);
        part = _mm256_extractf128_ps(x, 1);
        to += 4;
        bits >>= 4;
    }
    if (bits & 2) {
        _mm_storel_pi((__m64 *)to, part);
        part = _mm_movehl_ps(part, part);
        to += 2;
        bits >>= 2;
    }
    if (bits & 1) _mm_store_ss(to, part);
}
