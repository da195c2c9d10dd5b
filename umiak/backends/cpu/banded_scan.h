/* Log-banded scans, and the linear recurrence of their gradient. See umiak/ops/banded_scan.py.

   One call handles a part of the batch. Loops over states have no branches, so that the compiler makes vectors of them:
   hence exponential and logarithm of their own, for arguments up to 0 and from 1 to the number of bands. */
#ifndef UMIAK_BANDED_SCAN_H
#define UMIAK_BANDED_SCAN_H

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <math.h>

enum { UMIAK_BANDED_SCAN_BANDS = 8 };

typedef struct {
    int bands, transpose, doubles;
} umiak_banded_scan;

typedef struct {
    const umiak_banded_scan *config;
    char *out, *shares;               /* of log-sums: y and w; of the recurrence: x and nothing */
    const char *arcs, *given;         /* of log-sums: arcs and walls; of the recurrence: w and g */
    int64_t batch, layers, states, chunk;
    const int64_t *arc_strides, *given_strides;   /* n, t, j, s; n, j, s or n, t, s */
} umiak_banded_scan_launch;

/* Comparisons raise no flags that anyone reads: without this GCC makes branches of conditional arithmetic. */
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC push_options
#pragma GCC optimize("no-trapping-math")
#endif

/* exp(x) for x <= 0, -inf and NaN. Adding `shift` rounds x/ln 2 to an integer n in the low bits of the sum; the rest
   lies within ln(2)/2, where Taylor's polynomial serves; n goes to the exponent. Below `least` it is 0. */
static inline float umiak_exp_f(float x)
{
    const float shift = 12582912.0f, least = -87.0f;
    float z = x < least ? least : x;
    float r = z * 1.44269504088896f + shift, n = r - shift;
    uint32_t bits;
    memcpy(&bits, &r, 4);
    float d = z - n * 0.693359375f;
    d = d - n * -2.12194440e-4f;
    float p = 1.0f / 5040;
    p = p * d + 1.0f / 720;
    p = p * d + 1.0f / 120;
    p = p * d + 1.0f / 24;
    p = p * d + 1.0f / 6;
    p = p * d + 0.5f;
    p = p * d + 1.0f;
    p = p * d + 1.0f;
    bits = (bits << 23) + 0x3f800000u;
    float scale;
    memcpy(&scale, &bits, 4);
    return x < least ? 0.0f : p * scale;
}

static inline double umiak_exp_d(double x)
{
    const double shift = 6755399441055744.0, least = -708.0;
    double z = x < least ? least : x;
    double r = z * 1.4426950408889634 + shift, n = r - shift;
    uint64_t bits;
    memcpy(&bits, &r, 8);
    double d = z - n * 6.93147180369123816490e-01;
    d = d - n * 1.90821492927058770002e-10;
    double p = 1.0 / 6227020800;
    p = p * d + 1.0 / 479001600;
    p = p * d + 1.0 / 39916800;
    p = p * d + 1.0 / 3628800;
    p = p * d + 1.0 / 362880;
    p = p * d + 1.0 / 40320;
    p = p * d + 1.0 / 5040;
    p = p * d + 1.0 / 720;
    p = p * d + 1.0 / 120;
    p = p * d + 1.0 / 24;
    p = p * d + 1.0 / 6;
    p = p * d + 0.5;
    p = p * d + 1.0;
    p = p * d + 1.0;
    bits = (bits << 52) + 0x3ff0000000000000u;
    double scale;
    memcpy(&scale, &bits, 8);
    return x < least ? 0.0 : p * scale;
}

/* log(x) for 1 <= x < 16: x = 2**n * m with m from sqrt(1/2) to sqrt(2), and log m = 2 artanh((m - 1)/(m + 1)). */
static inline float umiak_log_f(float x)
{
    float n = 0, m = x;
    n = m > 5.656854249f ? n + 3 : n, m = m > 5.656854249f ? m * 0.125f : m;
    n = m > 2.828427125f ? n + 2 : n, m = m > 2.828427125f ? m * 0.25f : m;
    n = m > 1.414213562f ? n + 1 : n, m = m > 1.414213562f ? m * 0.5f : m;
    float z = (m - 1) / (m + 1), q = z * z;
    float p = 2.0f / 9;
    p = p * q + 2.0f / 7;
    p = p * q + 2.0f / 5;
    p = p * q + 2.0f / 3;
    p = p * q + 2.0f;
    return n * 0.69314718056f + z * p;
}

static inline double umiak_log_d(double x)
{
    double n = 0, m = x;
    n = m > 5.656854249492381 ? n + 3 : n, m = m > 5.656854249492381 ? m * 0.125 : m;
    n = m > 2.8284271247461903 ? n + 2 : n, m = m > 2.8284271247461903 ? m * 0.25 : m;
    n = m > 1.4142135623730951 ? n + 1 : n, m = m > 1.4142135623730951 ? m * 0.5 : m;
    double z = (m - 1) / (m + 1), q = z * z;
    double p = 2.0 / 21;
    p = p * q + 2.0 / 19;
    p = p * q + 2.0 / 17;
    p = p * q + 2.0 / 15;
    p = p * q + 2.0 / 13;
    p = p * q + 2.0 / 11;
    p = p * q + 2.0 / 9;
    p = p * q + 2.0 / 7;
    p = p * q + 2.0 / 5;
    p = p * q + 2.0 / 3;
    p = p * q + 2.0;
    return n * 0.6931471805599453 + z * p;
}

/* One layer of log-sums. Inlined with constants for the usual numbers of bands and contiguous states. */
#define UMIAK_BANDED_SCAN_BODY(T, exp_, log_, suffix) \
static inline __attribute__((always_inline)) void umiak_log_body_##suffix( \
    int bands, int64_t states, const T *restrict before, const T *restrict arcs, int64_t next, int64_t step, \
    const T *restrict walls, T *restrict y, T *restrict w) \
{ \
    for (int64_t s = 0; s < states; s++) { \
        T term[UMIAK_BANDED_SCAN_BANDS], top = -INFINITY, total = 0; \
        for (int j = 0; j < bands; j++) { \
            term[j] = before[s - j] + arcs[j * next + s * step] + walls[j * states + s]; \
            top = term[j] <= top ? top : term[j]; \
        } \
        T base = top == -INFINITY ? 0 : top; \
        for (int j = 0; j < bands; j++) { \
            term[j] = exp_(term[j] - base); \
            total += term[j]; \
        } \
        T safe = total == 0 ? 1 : total, each = 1 / safe; \
        y[s] = log_(safe) + top; \
        for (int j = 0; j < bands; j++) \
            w[j * states + s] = term[j] * each; \
    } \
}

/* The same for one kind of processor. */
#define UMIAK_BANDED_SCAN_LAYER(T, suffix, kind, ATTRIBUTE) \
ATTRIBUTE static void umiak_log_layer_##suffix##_##kind( \
    int bands, int64_t states, const T *before, const T *arcs, int64_t next, int64_t step, const T *walls, T *y, T *w) \
{ \
    if (bands == 2 && step == 1) \
        umiak_log_body_##suffix(2, states, before, arcs, next, 1, walls, y, w); \
    else if (bands == 3 && step == 1) \
        umiak_log_body_##suffix(3, states, before, arcs, next, 1, walls, y, w); \
    else \
        umiak_log_body_##suffix(bands, states, before, arcs, next, step, walls, y, w); \
}

#define UMIAK_BANDED_SCAN_LOOPS(T, suffix, LAYER) \
static int umiak_log_sums_##suffix(const umiak_banded_scan_launch *p, int64_t first, int64_t last) \
{ \
    int bands = p->config->bands; \
    const int64_t *strides = p->arc_strides, *given = p->given_strides; \
    int64_t states = p->states; \
    T *line = malloc((states * (bands + 1) + bands) * sizeof(T)), *before = line + bands, *walls = before + states; \
    if (!line) \
        return 1; \
    for (int j = 0; j < bands; j++) \
        line[j] = -INFINITY; \
    for (int64_t n = first; n < last; n++) { \
        T *y = (T *)p->out + n * (p->layers + 1) * states, *w = (T *)p->shares + n * p->layers * bands * states; \
        for (int64_t s = 0; s < states; s++) \
            y[s] = -INFINITY; \
        y[0] = 0; \
        for (int64_t j = 0; j < bands; j++) \
            for (int64_t s = 0; s < states; s++) \
                walls[j * states + s] = *((const T *)p->given + n * given[0] + j * given[1] + s * given[2]); \
        for (int64_t t = 0; t < p->layers; t++) { \
            memcpy(before, y + t * states, states * sizeof(T)); \
            LAYER(bands, states, before, (const T *)p->arcs + n * strides[0] + t * strides[1], strides[2], strides[3], \
                  walls, y + (t + 1) * states, w + t * bands * states); \
        } \
    } \
    free(line); \
    return 0; \
} \
static void umiak_sums_##suffix(const umiak_banded_scan_launch *p, int64_t first, int64_t last) \
{ \
    const int64_t *ws = p->arc_strides, *gs = p->given_strides; \
    int64_t states = p->states, layers = p->layers; \
    int against = p->config->transpose; \
    for (int64_t n = first; n < last; n++) { \
        T *x = (T *)p->out + n * (layers + 1) * states; \
        for (int64_t t = 0; t <= layers; t++) { \
            const T *g = (const T *)p->given + n * gs[0] + t * gs[1]; \
            for (int64_t s = 0; s < states; s++) \
                x[t * states + s] = g[s * gs[2]]; \
        } \
        for (int64_t i = 0; i < layers; i++) { \
            int64_t t = against ? layers - 1 - i : i; \
            T *restrict from = x + (against ? t + 1 : t) * states, *restrict to = x + (against ? t : t + 1) * states; \
            for (int64_t j = 0; j < p->config->bands && j < states; j++) { \
                const T *w = (const T *)p->arcs + n * ws[0] + t * ws[1] + j * ws[2] + j * ws[3]; \
                int64_t a = against ? j : 0, b = against ? 0 : j; \
                if (ws[3] == 1) \
                    for (int64_t s = 0; s < states - j; s++) \
                        to[s + b] += w[s] * from[s + a]; \
                else \
                    for (int64_t s = 0; s < states - j; s++) \
                        to[s + b] += w[s * ws[3]] * from[s + a]; \
            } \
        } \
    } \
}

UMIAK_BANDED_SCAN_BODY(float, umiak_exp_f, umiak_log_f, f)
UMIAK_BANDED_SCAN_BODY(double, umiak_exp_d, umiak_log_d, d)
UMIAK_BANDED_SCAN_LAYER(float, f, any, )
UMIAK_BANDED_SCAN_LAYER(double, d, any, )

#if defined(__x86_64__) && (defined(__GNUC__) || defined(__clang__))
UMIAK_BANDED_SCAN_LAYER(float, f, avx2, __attribute__((target("avx2,fma"))))
UMIAK_BANDED_SCAN_LAYER(double, d, avx2, __attribute__((target("avx2,fma"))))

static int umiak_banded_scan_wide(void)
{
    static int wide = -1;
    if (wide < 0) {
        __builtin_cpu_init();
        wide = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
    }
    return wide;
}
#define UMIAK_LAYER_F(...) \
    (umiak_banded_scan_wide() ? umiak_log_layer_f_avx2(__VA_ARGS__) : umiak_log_layer_f_any(__VA_ARGS__))
#define UMIAK_LAYER_D(...) \
    (umiak_banded_scan_wide() ? umiak_log_layer_d_avx2(__VA_ARGS__) : umiak_log_layer_d_any(__VA_ARGS__))
#else
#define UMIAK_LAYER_F umiak_log_layer_f_any
#define UMIAK_LAYER_D umiak_log_layer_d_any
#endif

UMIAK_BANDED_SCAN_LOOPS(float, f, UMIAK_LAYER_F)
UMIAK_BANDED_SCAN_LOOPS(double, d, UMIAK_LAYER_D)

#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC pop_options
#endif

static int umiak_banded_scan_part(void *arg, int64_t part)
{
    const umiak_banded_scan_launch *p = arg;
    int64_t first = part * p->chunk, last = first + p->chunk;
    if (last > p->batch)
        last = p->batch;
    if (p->shares)
        return p->config->doubles ? umiak_log_sums_d(p, first, last) : umiak_log_sums_f(p, first, last);
    if (p->config->doubles)
        umiak_sums_d(p, first, last);
    else
        umiak_sums_f(p, first, last);
    return 0;
}

#endif
