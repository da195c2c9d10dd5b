/* Kronecker products of rows: out[j * n + c] = a[j] * b[c].

   A row of b stays in registers while it is at most KRON_VECTORS of them. Its last vector may be written beyond its end,
   where the next product follows; only at `end` each element is written by itself. */
#ifndef UMIAK_KRON_H
#define UMIAK_KRON_H

#include <stdint.h>
#include <string.h>

#if defined(__x86_64__) && defined(__GLIBC__) && defined(__GNUC__) && !defined(__clang__) && __GNUC__ >= 12
#define KRON_CLONES __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#else
#define KRON_CLONES
#endif

enum { KRON_VECTORS = 4 };

#define KRON_ROWS(T, V, COUNT)                                                                                                 \
    for (; j < m && end - out >= COUNT * (int64_t)(sizeof(V) / sizeof(T)); j++, out += n) {                                    \
        _Pragma("GCC unroll 4") for (int v = 0; v < COUNT; v++) {                                                              \
            V product = a[j] * row[v];                                                                                         \
            memcpy(out + v * (int64_t)(sizeof(V) / sizeof(T)), &product, sizeof product);                                      \
        }                                                                                                                      \
    }

#define KRON(T, NAME)                                                                                                          \
    typedef T kron_##NAME##_vector __attribute__((vector_size(64)));                                                           \
    KRON_CLONES static void kron_##NAME(const T *a, int64_t m, const T *b, int64_t n, T *out, const T *end)                    \
    {                                                                                                                          \
        const int64_t lanes = 64 / sizeof(T), count = (n + lanes - 1) / lanes;                                                 \
        int64_t j = 0;                                                                                                         \
        if (count <= KRON_VECTORS) {                                                                                           \
            kron_##NAME##_vector row[KRON_VECTORS];                                                                            \
            memset(row, 0, sizeof row);                                                                                        \
            memcpy(row, b, n * sizeof(T));                                                                                     \
            switch (count) {                                                                                                   \
            case 1: KRON_ROWS(T, kron_##NAME##_vector, 1) break;                                                               \
            case 2: KRON_ROWS(T, kron_##NAME##_vector, 2) break;                                                               \
            case 3: KRON_ROWS(T, kron_##NAME##_vector, 3) break;                                                               \
            default: KRON_ROWS(T, kron_##NAME##_vector, 4)                                                                     \
            }                                                                                                                  \
        }                                                                                                                      \
        for (; j < m; j++, out += n)                                                                                           \
            for (int64_t c = 0; c < n; c++)                                                                                    \
                out[c] = a[j] * b[c];                                                                                          \
    }

KRON(float, f32)
KRON(double, f64)
KRON(uint32_t, i32) /* which wraps, as integers of both signs do */
KRON(uint64_t, i64)

#endif
