/* Fourier transforms, in two ways.

   Many of the same number of points, whose primes are at most 13, in the lanes of vectors, wherever they lie.

   Rows of 2**l numbers, 64 of them or more, one after the other: a row is a matrix of n1 rows and n2 columns: its columns are transformed, results are turned by roots of unity, the
   matrix is transposed, and its columns are transformed again, which gives the natural order. Every step works on
   neighbouring columns, so on full vectors. 2 n real numbers are transformed as n complex ones. */
#ifndef UMIAK_FOURIER_H
#define UMIAK_FOURIER_H

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { UMIAK_FOURIER_LEAST = 6, UMIAK_FOURIER_MOST = 16 }; /* log2 of complex points */
enum { UMIAK_SPLIT, UMIAK_TURNED, UMIAK_INTERLEAVED };     /* how results of a step lie, see fourier_lanes.h */

enum { UMIAK_PRIME = 13 };  /* the largest that divides a number of points */

/* The factor that comes next of n: fours first, as many as leave eights; then what else it has; 0: there is none. */
static inline int umiak_radix(int n)
{
    const int twos = n & -n;
    if (twos >= 4)
        return twos == 4 || twos == 16 || twos == 32 || twos == 128 || twos == 256 ? 4 : 8;
    return twos == 2 ? 2 : n % 3 == 0 ? 3 : n % 5 == 0 ? 5 : n % 7 == 0 ? 7 : n % 11 == 0 ? 11 : n % 13 == 0 ? 13 : 0;
}

static int umiak_fourier_factors(int n)
{
    for (int radix; n > 1; n /= radix)
        if ((radix = umiak_radix(n)) == 0)
            return 0;
    return 1;
}

typedef struct {
    int n, n1, n2;                /* complex points */
    int doubles;
    void *roots1, *roots2;        /* of the two sides: pairs */
    void *turn_re, *turn_im;      /* n1 by n2 */
    void *half_re, *half_im;      /* exp(-2 pi i k / 2n), k < n */
} umiak_fourier;

enum { UMIAK_COMPLEX, UMIAK_TO_HALF, UMIAK_TO_WHOLE, UMIAK_FROM_HALF };

typedef struct {
    const umiak_fourier *plan;
    int kind, inverse;
    double scale;
    const char *x;
    char *out;
    int64_t rows, chunk, x_bytes, out_bytes;   /* of a row */
} umiak_fourier_launch;

enum { UMIAK_FOURIER_AXES = 64 };
#define UMIAK_REAL INT64_MIN                      /* in place of the distance of two parts */

/* Transforms along one axis, in lanes. Strides are in units of T: complex numbers take two. */
typedef struct {
    int64_t points;
    const void *roots, *half_roots;            /* of unity; of half as many points, where real numbers are paired */
    int kind, inverse, doubles, rank;          /* rank: of the dims beside the axis */
    double scale;
    const void *x;
    void *out;
    int64_t x_step, out_step;
    int64_t sizes[UMIAK_FOURIER_AXES], x_strides[UMIAK_FOURIER_AXES], out_strides[UMIAK_FOURIER_AXES];
    int64_t lanes, chunk;
} umiak_fourier_axis;

#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && __GNUC__ >= 12
#define UMIAK_FOURIER 1

#pragma GCC push_options
#pragma GCC optimize("fp-contract=fast")

#define T float
#define W 16
#define NAME(x) umiak_fourier_f16_##x
#define TARGET __attribute__((target("avx512f,avx512vl,avx512dq,avx512bw,fma,prefer-vector-width=512")))
#define EVEN 0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30
#define ODD 1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23, 25, 27, 29, 31
#define ZIP_LOW 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23
#define ZIP_HIGH 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31
#define REVERSED 15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0
#include "umiak/backends/cpu/fourier_lanes.h"
#undef W
#undef NAME
#undef TARGET
#undef EVEN
#undef ODD
#undef ZIP_LOW
#undef ZIP_HIGH
#undef REVERSED

#define W 8
#define NAME(x) umiak_fourier_f8_##x
#define TARGET __attribute__((target("avx2,fma")))
#define EVEN 0, 2, 4, 6, 8, 10, 12, 14
#define ODD 1, 3, 5, 7, 9, 11, 13, 15
#define ZIP_LOW 0, 8, 1, 9, 2, 10, 3, 11
#define ZIP_HIGH 4, 12, 5, 13, 6, 14, 7, 15
#define REVERSED 7, 6, 5, 4, 3, 2, 1, 0
#include "umiak/backends/cpu/fourier_lanes.h"
#undef T
#undef NAME
#undef TARGET

#define T double
#define NAME(x) umiak_fourier_d8_##x
#define TARGET __attribute__((target("avx512f,avx512vl,avx512dq,avx512bw,fma,prefer-vector-width=512")))
#include "umiak/backends/cpu/fourier_lanes.h"
#undef W
#undef NAME
#undef TARGET
#undef EVEN
#undef ODD
#undef ZIP_LOW
#undef ZIP_HIGH
#undef REVERSED

#define W 4
#define NAME(x) umiak_fourier_d4_##x
#define TARGET __attribute__((target("avx2,fma")))
#define EVEN 0, 2, 4, 6
#define ODD 1, 3, 5, 7
#define ZIP_LOW 0, 4, 1, 5
#define ZIP_HIGH 2, 6, 3, 7
#define REVERSED 3, 2, 1, 0
#include "umiak/backends/cpu/fourier_lanes.h"
#undef T
#undef W
#undef NAME
#undef TARGET
#undef EVEN
#undef ODD
#undef ZIP_LOW
#undef ZIP_HIGH
#undef REVERSED

#pragma GCC pop_options

/* 0: not for this processor; 1: vectors of 32 bytes; 2: of 64. */
static int umiak_fourier_level(void)
{
    static int level = -1;
    if (level < 0) {
        __builtin_cpu_init();
        int wide = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
        int widest = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl")
            && __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512bw");
        level = wide ? 1 + (widest != 0) : 0;
    }
    return level;
}

/* Columns of a side: by long vectors where it has so many, otherwise by those of half their length. */
#define UMIAK_FOURIER_ROW(T, LONG, SHORT, wide, suffix) \
static void umiak_fourier_side_##suffix(const LONG##_step *given, int64_t columns, T *memory) \
{ \
    const int64_t w = umiak_fourier_level() == 2 && columns % wide == 0 ? wide : wide / 2; \
    for (int64_t c = 0; c < columns; c += w) { \
        LONG##_step j = *given; \
        SHORT##_step k; \
        j.in_re += j.in_kind == UMIAK_INTERLEAVED ? 2 * c : c; \
        j.out_re += j.out_kind == UMIAK_INTERLEAVED ? 2 * c : c; \
        j.in_im = j.in_im ? j.in_im + c : 0; \
        j.out_im = j.out_im ? j.out_im + c : 0; \
        j.turn_re = j.turn_re ? j.turn_re + c : 0; \
        j.turn_im = j.turn_im ? j.turn_im + c : 0; \
        if (w == wide) { \
            LONG##_columns(&j, memory); \
        } else { \
            memcpy(&k, &j, sizeof k); /* the same members */ \
            SHORT##_columns(&k, memory); \
        } \
    } \
} \
\
static void umiak_fourier_row_##suffix(const umiak_fourier_launch *p, const T *x, T *out, T *memory) \
{ \
    const umiak_fourier *f = p->plan; \
    const int64_t n = f->n, n1 = f->n1, n2 = f->n2; \
    const int widest = umiak_fourier_level() == 2, both = widest && n1 % wide == 0; \
    const T sign = p->inverse ? -1 : 1, scale = (T)p->scale; \
    T *ar = memory, *ai = ar + n + 64, *br = ai + n + 64, *bi = br + n + 64, *more = bi + n + 64; \
    LONG##_step j = {0}; \
    if (p->kind == UMIAK_FROM_HALF) { \
        (widest ? LONG##_pack : SHORT##_pack)(x, f->half_re, f->half_im, n, br, bi); \
        j.in_kind = UMIAK_SPLIT, j.in_re = br, j.in_im = bi; \
    } else { \
        j.in_kind = UMIAK_INTERLEAVED, j.in_re = x; \
        j.in_sign = p->kind == UMIAK_COMPLEX ? sign : 1; \
    } \
    j.m = (int)n1, j.in_step = n2, j.roots = f->roots1; \
    j.out_kind = UMIAK_TURNED, j.out_re = ar, j.out_im = ai, j.out_step = n2; \
    j.turn_re = f->turn_re, j.turn_im = f->turn_im, j.turn_step = n2; \
    umiak_fourier_side_##suffix(&j, n2, more); \
    (both ? LONG##_transpose : SHORT##_transpose)(ar, n1, n2, br); \
    (both ? LONG##_transpose : SHORT##_transpose)(ai, n1, n2, bi); \
    memset(&j, 0, sizeof j); \
    j.m = (int)n2, j.roots = f->roots2; \
    j.in_kind = UMIAK_SPLIT, j.in_re = br, j.in_im = bi, j.in_step = n1, j.out_step = n1; \
    if (p->kind == UMIAK_COMPLEX || p->kind == UMIAK_FROM_HALF) { \
        j.out_kind = UMIAK_INTERLEAVED, j.out_re = out; \
        j.scale_re = scale, j.scale_im = p->kind == UMIAK_COMPLEX ? sign * scale : -scale; \
        umiak_fourier_side_##suffix(&j, n1, more); \
        return; \
    } \
    j.out_kind = UMIAK_SPLIT, j.out_re = ar, j.out_im = ai; \
    umiak_fourier_side_##suffix(&j, n1, more); \
    ar[n] = ar[0], ai[n] = ai[0]; \
    (widest ? LONG##_unpack : SHORT##_unpack)(ar, ai, f->half_re, f->half_im, n, scale, sign * scale, \
                                             p->kind == UMIAK_TO_WHOLE, out); \
}

UMIAK_FOURIER_ROW(float, umiak_fourier_f16, umiak_fourier_f8, 16, f)
UMIAK_FOURIER_ROW(double, umiak_fourier_d8, umiak_fourier_d4, 8, d)

/* Bytes of scratch memory for a row. */
static int64_t umiak_fourier_memory(const umiak_fourier *f)
{
    return (4 * ((int64_t)f->n + 64) + 64 * (int64_t)f->n2) * (f->doubles ? 8 : 4);
}

/* Bytes of scratch memory for the lanes of a vector. */
static int64_t umiak_fourier_lane_memory(const umiak_fourier_axis *p)
{
    return 4 * (p->points + 1) * 64;
}

/* Transforms from number `first` on, counted along the dims beside the axis. */
static void umiak_fourier_lanes(const umiak_fourier_axis *p, int64_t first, int64_t last, void *memory)
{
    const int wide = (umiak_fourier_level() == 2 ? 64 : 32) / (p->doubles ? 8 : 4);
    int64_t at[UMIAK_FOURIER_AXES], from[16], to[16], x = 0, out = 0, left = first;
    for (int d = p->rank - 1; d >= 0; d--) {
        at[d] = left % p->sizes[d];
        left /= p->sizes[d];
        x += at[d] * p->x_strides[d];
        out += at[d] * p->out_strides[d];
    }
    while (first < last) {
        const int count = (int)(last - first < wide ? last - first : wide);
        for (int l = 0; l < count; l++) {
            from[l] = x, to[l] = out;
            for (int d = p->rank - 1; d >= 0; d--) {
                x += p->x_strides[d], out += p->out_strides[d];
                if (++at[d] < p->sizes[d])
                    break;
                x -= at[d] * p->x_strides[d], out -= at[d] * p->out_strides[d];
                at[d] = 0;
            }
        }
        first += count;
        const int narrow = umiak_fourier_level() < 2 || count <= wide / 2;
        if (p->doubles)
            (narrow ? umiak_fourier_d4_lane_group : umiak_fourier_d8_lane_group)(p, from, to, count, memory);
        else
            (narrow ? umiak_fourier_f8_lane_group : umiak_fourier_f16_lane_group)(p, from, to, count, memory);
    }
}

static void umiak_fourier_rows(const umiak_fourier_launch *p, int64_t first, int64_t last, void *memory)
{
    for (int64_t r = first; r < last; r++) {
        const char *x = p->x + r * p->x_bytes;
        char *out = p->out + r * p->out_bytes;
        if (p->plan->doubles)
            umiak_fourier_row_d(p, (const double *)x, (double *)out, memory);
        else
            umiak_fourier_row_f(p, (const float *)x, (float *)out, memory);
    }
}
#else
static int umiak_fourier_level(void) { return 0; }
static int64_t umiak_fourier_memory(const umiak_fourier *f) { return 0; }
static void umiak_fourier_rows(const umiak_fourier_launch *p, int64_t first, int64_t last, void *memory) {}
static int64_t umiak_fourier_lane_memory(const umiak_fourier_axis *p) { return 0; }
static void umiak_fourier_lanes(const umiak_fourier_axis *p, int64_t first, int64_t last, void *memory) {}
#endif

static void umiak_fourier_put(int doubles, void *to, int64_t i, long double v)
{
    if (doubles)
        ((double *)to)[i] = (double)v;
    else
        ((float *)to)[i] = (float)v;
}

static void umiak_fourier_roots(int doubles, int n, void *to)
{
    for (int k = 0; k < n; k++) {
        long double angle = -2 * 3.14159265358979323846264338327950288L * k / n;
        umiak_fourier_put(doubles, to, 2 * k, cosl(angle));
        umiak_fourier_put(doubles, to, 2 * k + 1, sinl(angle));
    }
}

/* What `slot` holds, or `fresh`, which takes its place; another thread may have been faster. */
static void *umiak_fourier_entered(void **slot, void *fresh)
{
    void *other = NULL;
    if (fresh == NULL || __atomic_compare_exchange_n(slot, &other, fresh, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
        return fresh;
    free(fresh);
    return other;
}

/* The roots of unity of n points; NULL when there is no memory. They stay as long as the process. */
static const void *umiak_fourier_table(void **slot, int n, int doubles)
{
    void *table = __atomic_load_n(slot, __ATOMIC_ACQUIRE);
    if (table != NULL)
        return table;
    table = aligned_alloc(64, (size_t)(2 * n * (doubles ? 8 : 4) + 63) & ~(size_t)63);
    if (table != NULL)
        umiak_fourier_roots(doubles, n, table);
    return umiak_fourier_entered(slot, table);
}

static umiak_fourier *umiak_fourier_new_plan(int log2, int doubles)
{
    const int64_t n = (int64_t)1 << log2, n1 = (int64_t)1 << log2 / 2, n2 = n / n1, size = doubles ? 8 : 4;
    const int64_t head = (sizeof(umiak_fourier) + 63) & ~(int64_t)63;
    char *block = aligned_alloc(64, (size_t)(head + (2 * n1 + 2 * n2 + 4 * n) * size));
    if (block == NULL)
        return NULL;
    umiak_fourier *f = (umiak_fourier *)block;
    f->n = (int)n, f->n1 = (int)n1, f->n2 = (int)n2, f->doubles = doubles;
    block += head;
    f->roots1 = block, f->roots2 = block += 2 * n1 * size;
    f->turn_re = block += 2 * n2 * size, f->turn_im = block += n * size;
    f->half_re = block += n * size, f->half_im = block += n * size;
    umiak_fourier_roots(doubles, (int)n1, f->roots1);
    umiak_fourier_roots(doubles, (int)n2, f->roots2);
    for (int64_t k = 0; k < n; k++) {
        long double turn = -2 * 3.14159265358979323846264338327950288L / n, half = turn / 2 * k;
        turn *= (k / n2) * (k % n2);
        umiak_fourier_put(doubles, f->turn_re, k, cosl(turn));
        umiak_fourier_put(doubles, f->turn_im, k, sinl(turn));
        umiak_fourier_put(doubles, f->half_re, k, cosl(half));
        umiak_fourier_put(doubles, f->half_im, k, sinl(half));
    }
    return f;
}

/* The plan for 2**log2 complex points; NULL when there is no memory. Plans stay as long as the process. */
static const umiak_fourier *umiak_fourier_plan(void **slot, int log2, int doubles)
{
    void *plan = __atomic_load_n(slot, __ATOMIC_ACQUIRE);
    return plan != NULL ? plan : umiak_fourier_entered(slot, umiak_fourier_new_plan(log2, doubles));
}

#endif
