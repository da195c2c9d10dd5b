/* Factorisations of batches of small matrices: each lane of a vector has a matrix of its own, so that every step is one of
   whole vectors, and reciprocals and roots are taken for all of them at once. Only the eigenvalues of tridiagonal matrices and the singular
   values of bidiagonal ones, whose steps differ from matrix to matrix, are found one by one; there, rotations turn whole rows.

   Algorithms are LAPACK's unblocked ones, hence its pivots and signs. What they treat with care (numbers that are not
   finite, or whose squares leave the range) is reported, and left to LAPACK. */
#ifndef UMIAK_SMALL_MATRICES_H
#define UMIAK_SMALL_MATRICES_H

#include <float.h>
#include <math.h>
#include <stdint.h>
#include <string.h>

enum { UMIAK_SMALL_MOST = 32, UMIAK_SMALL_EIGEN = 25 }; /* rows and columns; beyond 25 LAPACK divides and conquers */

typedef struct {
    int64_t m, n, row, column;   /* sizes, strides in elements */
    const void *x[16];
    int count;                   /* matrices */
} umiak_small;

/* Loops over vectors are compiled for newer processors too. */
#if defined(__x86_64__) && defined(__GLIBC__) && defined(__GNUC__) && !defined(__clang__) && __GNUC__ >= 12
#define UMIAK_CLONES __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#else
#define UMIAK_CLONES
#endif

#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC push_options
#pragma GCC optimize("fp-contract=fast", "no-math-errno", "no-trapping-math")
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wpsabi" /* vectors are handed to inlined functions alone */
#endif

#define T float
#define I int32_t
#define NAME(x) umiak_small_f_##x
#define SQRT sqrtf
#define ABS fabsf
#define LEAST 1e-12f
#define MOST 1e15f
#define EPSILON (FLT_EPSILON / 2)
#define TINY FLT_MIN
#include "umiak/backends/cpu/small_matrices_lanes.h"
#undef T
#undef I
#undef NAME
#undef SQRT
#undef ABS
#undef LEAST
#undef MOST
#undef EPSILON
#undef TINY

#define T double
#define I int64_t
#define NAME(x) umiak_small_d_##x
#define SQRT sqrt
#define ABS fabs
#define LEAST 1e-120
#define MOST 1e140
#define EPSILON (DBL_EPSILON / 2)
#define TINY DBL_MIN
#include "umiak/backends/cpu/small_matrices_lanes.h"

#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic pop
#pragma GCC pop_options
#endif

static int umiak_small_lanes(int doubles) { return doubles ? 8 : 16; }

/* Bytes of memory for a group. */
static int64_t umiak_small_memory(int64_t m, int64_t n)
{
    const int64_t most = m > n ? m : n;
    return 64 * (3 * most * most + 4 * most) + 8 * (2 * most * UMIAK_SMALL_MOST + 2 * most) + 64 * most;
}

/* The parts of that memory. */
typedef struct { char *a, *q, *p, *vectors, *rest; } umiak_small_parts;

static umiak_small_parts umiak_small_divide(int64_t m, int64_t n, char *memory)
{
    const int64_t most = m > n ? m : n, area = 64 * most * most;
    umiak_small_parts p = {memory, memory + area, memory + 2 * area, memory + 3 * area, memory + 3 * area + 256 * most};
    return p;
}

/* Each gives bits of the lanes that LAPACK has to do; outputs are those of the first matrix. */
#define UMIAK_SMALL_ENTRY(T, L, suffix) \
static unsigned umiak_small_cholesky_##suffix(const umiak_small *g, int upper, char *memory, void *out) \
{ \
    umiak_small_parts p = umiak_small_divide(g->m, g->n, memory); \
    unsigned bad = umiak_small_##suffix##_cholesky(g, (L *)p.a); \
    umiak_small_##suffix##_store((L *)p.a, g->n, g->n, upper, g->count, out); \
    return bad; \
} \
\
static unsigned umiak_small_qr_##suffix(const umiak_small *g, int64_t width, char *memory, void *q, void *r) \
{ \
    umiak_small_parts p = umiak_small_divide(g->m, g->n, memory); \
    unsigned bad = umiak_small_##suffix##_qr(g, (L *)p.a, q ? (L *)p.q : 0, width, (L *)p.vectors); \
    umiak_small_##suffix##_store((L *)p.a, width < g->m ? width : g->m, g->n, 0, g->count, r); \
    if (q) \
        umiak_small_##suffix##_store((L *)p.q, g->m, width, 0, g->count, q); \
    return bad; \
} \
\
static unsigned umiak_small_eigh_##suffix(const umiak_small *g, char *memory, void *values, void *vectors) \
{ \
    umiak_small_parts p = umiak_small_divide(g->m, g->n, memory); \
    L *d = (L *)p.vectors, *e = d + g->n, *q = vectors ? (L *)p.q : 0; \
    unsigned bad = umiak_small_##suffix##_tridiagonal(g, (L *)p.a, q, d, e, e + g->n); \
    return bad | umiak_small_##suffix##_eigen(g, q, d, e, (T *)p.rest, bad, values, vectors); \
} \
\
static unsigned umiak_small_svd_##suffix(const umiak_small *g, char *memory, void *u, void *values, void *v) \
{ \
    umiak_small_parts p = umiak_small_divide(g->m, g->n, memory); \
    L *d = (L *)p.vectors, *e = d + g->n, *left = u ? (L *)p.q : 0, *right = u ? (L *)p.p : 0; \
    /* As LAPACK has it: ten to a hundred units in the last place. */ \
    const double unit = sizeof(T) == 4 ? FLT_EPSILON / 2 : DBL_EPSILON / 2, root = pow(unit, -0.125); \
    const T tolerance = (T)(unit * (root < 10 ? 10 : root > 100 ? 100 : root)); \
    unsigned bad = umiak_small_##suffix##_bidiagonal(g, (L *)p.a, left, right, d, e, e + g->n); \
    return bad | umiak_small_##suffix##_singular(g, left, right, d, e, (T *)p.rest, bad, tolerance, u, values, v); \
}

UMIAK_SMALL_ENTRY(float, umiak_small_f_lanes, f)
UMIAK_SMALL_ENTRY(double, umiak_small_d_lanes, d)

static unsigned umiak_small_cholesky(const umiak_small *g, int doubles, int upper, char *memory, void *out)
{
    return doubles ? umiak_small_cholesky_d(g, upper, memory, out) : umiak_small_cholesky_f(g, upper, memory, out);
}

static unsigned umiak_small_qr(const umiak_small *g, int doubles, int64_t width, char *memory, void *q, void *r)
{
    return doubles ? umiak_small_qr_d(g, width, memory, q, r) : umiak_small_qr_f(g, width, memory, q, r);
}

static unsigned umiak_small_eigh(const umiak_small *g, int doubles, char *memory, void *values, void *vectors)
{
    return doubles ? umiak_small_eigh_d(g, memory, values, vectors) : umiak_small_eigh_f(g, memory, values, vectors);
}

static unsigned umiak_small_svd(const umiak_small *g, int doubles, char *memory, void *u, void *values, void *v)
{
    return doubles ? umiak_small_svd_d(g, memory, u, values, v) : umiak_small_svd_f(g, memory, u, values, v);
}

/* Pivots of a matrix after another's, from 1 on; factors to `out`, or when it is NULL only their diagonals, n numbers each. */
static unsigned umiak_small_lu(const umiak_small *g, int doubles, char *memory, void *out, void *diagonals, int *pivots)
{
    umiak_small_parts p = umiak_small_divide(g->m, g->n, memory);
    const int lanes = umiak_small_lanes(doubles);
    const int64_t least = g->m < g->n ? g->m : g->n;
    int *found = (int *)p.rest;
    const unsigned bad = doubles ? umiak_small_d_lu(g, (umiak_small_d_lanes *)p.a, found)
                                 : umiak_small_f_lu(g, (umiak_small_f_lanes *)p.a, found);
    if (out && doubles)
        umiak_small_d_store((umiak_small_d_lanes *)p.a, g->m, g->n, 0, g->count, out);
    else if (out)
        umiak_small_f_store((umiak_small_f_lanes *)p.a, g->m, g->n, 0, g->count, out);
    for (int l = 0; l < g->count; l++)
        for (int64_t k = 0; k < least; k++) {
            pivots[l * least + k] = found[k * lanes + l];
            if (diagonals && doubles)
                ((double *)diagonals)[l * least + k] = ((const double *)p.a)[k * (g->n + 1) * lanes + l];
            else if (diagonals)
                ((float *)diagonals)[l * least + k] = ((const float *)p.a)[k * (g->n + 1) * lanes + l];
        }
    return bad;
}

#endif
