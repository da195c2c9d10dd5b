/* Convolutions of kernel 3 × 3, stride 1, by Winograd's minimal filtering (Winograd 1980; Lavin and Gray 2016).
 *
 * A tile of m × m outputs is  A' [(G g G') ⊙ (B' d B)] A  of a kernel g and the n × n inputs d that it sees, n = m + 2; with
 * ⊙ summed over channels it is n² matmuls [tiles, channels] [channels, channels], of n² multiplications where the
 * definition has 9 m². The gradient of the kernels is the transpose of that map:  G' [(A y A') ⊙ (B' d B)] G,  summed over
 * tiles. The gradient of the input is the convolution of the output's gradient with flipped kernels.
 *
 * A, B, G interpolate at 0, ±1 and infinity (m = 2), or 0, ±5/8, ±3/2 and infinity (m = 4): squares and products of these are
 * exact, and of the points tried they leave the least error (docs/design/providers.md).
 *
 * Images have channels last, in rows of `room` elements, a multiple of the lanes of a vector; what is beyond the channels is 0.
 * Images, kernels and gradients may be bfloat16 (`narrow`): they are widened when they are loaded, and rounded when stored.
 */
#pragma once
#include <stdint.h>
#include "processor.h"
#include <string.h>

#include "plain.h"

typedef struct {
    void *data;
    int narrow;
    int64_t h, w, c, room; /* room: elements from place to place */
    int64_t top, left;     /* the place that the first tile begins at is this far before the image */
} WinogradImage;

typedef struct {
    int tile, flipped, add;
    int relu, hard_swish;                /* what follows the sum, the bias and the residual; then a factor and a term */
    int scaled;
    float scale, shift;
    int64_t images, down, across, tiles; /* tiles of an image along both axes; of all images */
    WinogradImage x, y;                  /* y: the result, or the other factor of a gradient of kernels */
    void *w;                             /* kernels, contiguous */
    int narrow;                          /* w is bfloat16 */
    int64_t w_made, w_summed;            /* elements from one channel of the result, or that is summed over, to the next */
    int64_t strip;                       /* or w is [strips, 9, c, strip], float32 of a forward pass; else 0 */
    const float *bias;
    const void *residual;                /* lies as y */
    const float *nothing;                /* zeros, a row of channels */
    float *u, *v, *z;                    /* transformed kernels; x; y, or what its transform is made of */
    int64_t first, last;                 /* tiles whose transforms v and z hold */
    int64_t block, units;                /* tiles, or channels, of a unit of work */
    int64_t parts;
    float *scratch;
    int64_t each;                        /* elements of scratch of a part */
} Winograd;

typedef int (*winograd_part)(void *job, int64_t part);
/* d[column, row] = s[row, column]; rows of d are filled with zeros up to `room` */
typedef void (*winograd_image_transpose)(const void *s, int64_t ss, int64_t rows, int64_t columns, void *d, int64_t ds, int64_t room);

typedef struct { /* for one set of instructions */
    int lanes;
    winograd_part kernels;       /* u from w: a unit is a panel of channels */
    winograd_part images;        /* v from x: a unit is a block of tiles */
    winograd_part by_tiles;      /* y from x and u: a unit is a block of tiles */
    winograd_part by_channels;   /* y from v and w: a unit is a panel of channels */
    winograd_part factors;       /* v and z from x and y: a unit is a block of tiles */
    winograd_part gradient;      /* w, or z's products with v, from v and z: a unit is a block of channels of y */
    winograd_image_transpose transpose, transpose_wide, transpose_narrow; /* of float32; from bfloat16 to it; from it to bfloat16 */
} WinogradKernels;

enum {
    WINOGRAD_CHUNK = 64, /* channels whose kernels are transformed at once by_channels */
    WINOGRAD_DEPTH = 16, /* terms that are added up in one accumulator */
    WINOGRAD_SPAN = 64,  /* terms whose sums are added up before they are added to the others */
};

/* Sizes of what is transformed, in elements. Slices of one of the n² numbers are an odd number of lines apart, so that
 * they do not fall into the same set of a cache. */
static inline int64_t winograd_points(const Winograd *q) { return (q->tile + 2) * (q->tile + 2); }
static inline int64_t winograd_slice(int64_t n) { return (n + 31) / 32 * 32 + 16; }
static inline int64_t winograd_panels(const WinogradImage *x, int lanes) { return (x->room + 2 * lanes - 1) / (2 * lanes); }

#if defined(__x86_64__) && (defined(__GNUC__) || defined(__clang__))
#include <immintrin.h>

/* --- AVX-512 --- */
#define WINO(name) winograd_avx512_##name
#define WINO_TARGET __attribute__((target("avx512f")))
#define WINO_INLINE static inline __attribute__((target("avx512f"), always_inline))
#define VEC __m512
#define LANES 16
#define ROWS 12
#define ZERO _mm512_setzero_ps
#define SET _mm512_set1_ps
#define LOAD _mm512_loadu_ps
#define STORE _mm512_storeu_ps
#define MAX(a, b) _mm512_max_ps(a, b) /* b where either is NaN */
#define MIN(a, b) _mm512_min_ps(a, b)
#define FMA _mm512_fmadd_ps
#define FNMA _mm512_fnmadd_ps

/* bfloat16 */
WINO_INLINE VEC WINO(load_narrow)(const uint16_t *s) {
    const __m512i bits = _mm512_cvtepu16_epi32(_mm256_loadu_si256((const __m256i *)s));
    return _mm512_castsi512_ps(_mm512_slli_epi32(bits, 16));
}

WINO_INLINE void WINO(store_narrow)(uint16_t *d, VEC x) {
    const __m512i bits = _mm512_castps_si512(x), odd = _mm512_and_si512(_mm512_srli_epi32(bits, 16), _mm512_set1_epi32(1));
    const __m512i up = _mm512_add_epi32(_mm512_add_epi32(bits, _mm512_set1_epi32(0x7fff)), odd);
    const __m512i quiet = _mm512_or_si512(bits, _mm512_set1_epi32(0x400000));
    const __m512i near = _mm512_mask_mov_epi32(up, _mm512_cmp_ps_mask(x, x, _CMP_UNORD_Q), quiet);
    _mm256_storeu_si256((__m256i *)d, _mm512_cvtepi32_epi16(_mm512_srli_epi32(near, 16)));
}

/* Lanes of rows become rows of lanes: blocks off the diagonal change places, of 1, 2, 4 and 8 lanes. */
WINO_INLINE void WINO(transpose)(VEC *r) {
#define WINO_STAGE(S)                                                                                                  \
    {                                                                                                                  \
        int32_t low[16], high[16];                                                                                     \
        for (int l = 0; l < 16; l++) {                                                                                 \
            low[l] = l & S ? 16 + l - S : l;                                                                           \
            high[l] = l & S ? 16 + l : l + S;                                                                          \
        }                                                                                                              \
        const __m512i a = _mm512_loadu_si512(low), b = _mm512_loadu_si512(high);                                       \
        _Pragma("GCC unroll 16") for (int i = 0; i < 16; i++) if (!(i & S)) {                                          \
            const VEC x = r[i], y = r[i + S];                                                                          \
            r[i] = _mm512_permutex2var_ps(x, a, y);                                                                    \
            r[i + S] = _mm512_permutex2var_ps(x, b, y);                                                                \
        }                                                                                                              \
    }
    WINO_STAGE(8)
    WINO_STAGE(4)
    WINO_STAGE(2)
    WINO_STAGE(1)
#undef WINO_STAGE
}

/* Kernels of 9 taps side by side become a row of lanes for each tap. Reads 7 elements beyond the last. */
WINO_INLINE void WINO(split)(const float *s, float *d) {
    VEC r[16];
    _Pragma("GCC unroll 16") for (int i = 0; i < 16; i++) r[i] = LOAD(s + 9 * i);
    WINO(transpose)(r);
    _Pragma("GCC unroll 16") for (int i = 0; i < 9; i++) STORE(d + 16 * i, r[i]);
}

/* The reverse, of n kernels; what is behind them is not touched. */
WINO_INLINE void WINO(join)(const VEC *g, int64_t n, float *d) {
    VEC r[16];
    _Pragma("GCC unroll 16") for (int i = 0; i < 16; i++) r[i] = i < 9 ? g[i] : ZERO();
    WINO(transpose)(r);
    if (n == 16) {
        _Pragma("GCC unroll 16") for (int i = 0; i < 15; i++) STORE(d + 9 * i, r[i]);
        _mm512_mask_storeu_ps(d + 135, 0x1ff, r[15]);
        return;
    }
    float rows[16 * 16];
    for (int i = 0; i < 16; i++) STORE(rows + 16 * i, r[i]);
    for (int64_t i = 0; i < n; i++) memcpy(d + 9 * i, rows + 16 * i, 9 * sizeof *d);
}

#define KERNEL_CASES(F) F(1) F(2) F(3) F(4) F(5) F(6) F(7) F(8) F(9) F(10) F(11) F(12)
#include "winograd_items.h"

/* --- AVX2 --- */
#define WINO(name) winograd_avx2_##name
#define WINO_TARGET __attribute__((target("avx2,fma")))
#define WINO_INLINE static inline __attribute__((target("avx2,fma"), always_inline))
#define VEC __m256
#define LANES 8
#define ROWS 6
#define ZERO _mm256_setzero_ps
#define SET _mm256_set1_ps
#define LOAD _mm256_loadu_ps
#define STORE _mm256_storeu_ps
#define MAX(a, b) _mm256_max_ps(a, b)
#define MIN(a, b) _mm256_min_ps(a, b)
#define FMA _mm256_fmadd_ps
#define FNMA _mm256_fnmadd_ps

WINO_INLINE VEC WINO(load_narrow)(const uint16_t *s) {
    const __m256i bits = _mm256_cvtepu16_epi32(_mm_loadu_si128((const __m128i *)s));
    return _mm256_castsi256_ps(_mm256_slli_epi32(bits, 16));
}

WINO_INLINE void WINO(store_narrow)(uint16_t *d, VEC x) {
    const __m256i bits = _mm256_castps_si256(x), odd = _mm256_and_si256(_mm256_srli_epi32(bits, 16), _mm256_set1_epi32(1));
    const __m256i up = _mm256_add_epi32(_mm256_add_epi32(bits, _mm256_set1_epi32(0x7fff)), odd);
    const __m256i quiet = _mm256_or_si256(bits, _mm256_set1_epi32(0x400000));
    const __m256i nan = _mm256_castps_si256(_mm256_cmp_ps(x, x, _CMP_UNORD_Q));
    const __m256i near = _mm256_srli_epi32(_mm256_blendv_epi8(up, quiet, nan), 16);
    const __m256i packed = _mm256_permute4x64_epi64(_mm256_packus_epi32(near, near), 0x08);
    _mm_storeu_si128((__m128i *)d, _mm256_castsi256_si128(packed));
}

WINO_INLINE void WINO(transpose)(VEC *r) {
    VEC s[8], t[8];
    for (int i = 0; i < 8; i += 2) {
        s[i] = _mm256_unpacklo_ps(r[i], r[i + 1]);
        s[i + 1] = _mm256_unpackhi_ps(r[i], r[i + 1]);
    }
    for (int i = 0; i < 8; i += 4)
        for (int k = 0; k < 2; k++) {
            t[i + 2 * k] = _mm256_shuffle_ps(s[i + k], s[i + 2 + k], 0x44);
            t[i + 2 * k + 1] = _mm256_shuffle_ps(s[i + k], s[i + 2 + k], 0xee);
        }
    for (int i = 0; i < 4; i++) {
        r[i] = _mm256_permute2f128_ps(t[i], t[i + 4], 0x20);
        r[i + 4] = _mm256_permute2f128_ps(t[i], t[i + 4], 0x31);
    }
}

WINO_INLINE void WINO(split)(const float *s, float *d) {
    VEC r[8];
    for (int i = 0; i < 8; i++) r[i] = LOAD(s + 9 * i);
    WINO(transpose)(r);
    for (int i = 0; i < 8; i++) STORE(d + 8 * i, r[i]);
    for (int i = 0; i < 8; i++) d[64 + i] = s[9 * i + 8];
}

WINO_INLINE void WINO(join)(const VEC *g, int64_t n, float *d) {
    VEC r[8];
    float rows[8 * 8], ninth[8];
    for (int i = 0; i < 8; i++) r[i] = g[i];
    STORE(ninth, g[8]);
    WINO(transpose)(r);
    for (int i = 0; i < 8; i++) STORE(rows + 8 * i, r[i]);
    for (int64_t i = 0; i < n; i++) {
        memcpy(d + 9 * i, rows + 8 * i, sizeof r[0]);
        d[9 * i + 8] = ninth[i];
    }
}

#define KERNEL_CASES(F) F(1) F(2) F(3) F(4) F(5) F(6)
#include "winograd_items.h"

/* What this processor runs, with at most `most` lanes; NULL where it has none of these instructions. */
static const WinogradKernels *winograd_kernels(int most) {
    static int level = -1;
    if (level < 0) level = processor_vectors();
    return level == 2 && most >= 16 ? &winograd_avx512_all : level && most >= 8 ? &winograd_avx2_all : 0;
}

#else
static const WinogradKernels *winograd_kernels(int most) { return 0; }
#endif
