/* Matmuls of sparse and dense matrices of float and double, over rows that are contiguous. Vectors are the compiler's, for
 * newer processors too. */
#pragma once
#include <stdint.h>
#include <string.h>

#if defined(__x86_64__) && defined(__GLIBC__) && defined(__GNUC__) && !defined(__clang__) && __GNUC__ >= 12
#define SPARSE_CLONES __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#else
#define SPARSE_CLONES
#endif

typedef float sparse_float_64 __attribute__((vector_size(64)));
typedef float sparse_float_32 __attribute__((vector_size(32)));
typedef float sparse_float_16 __attribute__((vector_size(16)));
typedef double sparse_double_64 __attribute__((vector_size(64)));
typedef double sparse_double_32 __attribute__((vector_size(32)));
typedef double sparse_double_16 __attribute__((vector_size(16)));

/* Columns of a row that are summed up at once: COUNT vectors of so many bytes. */
#define SPARSE_STRIP(T, BYTES, COUNT)                                                                                          \
    for (; j + COUNT * BYTES / (int64_t)sizeof(T) <= n; j += COUNT * BYTES / (int64_t)sizeof(T)) {                             \
        sparse_##T##_##BYTES sum[COUNT], x[COUNT];                                                                             \
        memset(sum, 0, sizeof sum);                                                                                            \
        for (int64_t p = begin; p < end; p++) {                                                                                \
            memcpy(x, dense + (int64_t)cols[p] * n + j, sizeof x);                                                             \
            _Pragma("GCC unroll 8") for (int v = 0; v < COUNT; v++) sum[v] += values[p] * x[v];                                \
        }                                                                                                                      \
        memcpy(out + i * n + j, sum, sizeof sum);                                                                              \
    }

/* out = a dense, for m rows of a in compressed form and dense rows of n; and out[p] = left[rows[p]] . right[cols[p]]. */
#define SPARSE_MATMULS(T, I, NAME)                                                                                            \
    SPARSE_CLONES static void sparse_times_##NAME(int64_t m, int64_t n, const I *crows, const I *cols, const T *values,        \
                                                  const T *dense, T *out)                                                      \
    {                                                                                                                          \
        for (int64_t i = 0; i < m; i++) {                                                                                      \
            const int64_t begin = crows[i], end = crows[i + 1];                                                                \
            int64_t j = 0;                                                                                                     \
            SPARSE_STRIP(T, 64, 8)                                                                                             \
            SPARSE_STRIP(T, 64, 4)                                                                                             \
            SPARSE_STRIP(T, 64, 1)                                                                                             \
            SPARSE_STRIP(T, 32, 1)                                                                                             \
            SPARSE_STRIP(T, 16, 1)                                                                                             \
            for (; j < n; j++) {                                                                                               \
                T sum = 0;                                                                                                     \
                for (int64_t p = begin; p < end; p++) sum += values[p] * dense[(int64_t)cols[p] * n + j];                      \
                out[i * n + j] = sum;                                                                                          \
            }                                                                                                                  \
        }                                                                                                                      \
    }                                                                                                                          \
    SPARSE_CLONES static void sparse_at_##NAME(int64_t count, int64_t k, const I *rows, const I *cols, const T *left,          \
                                               const T *right, T *out)                                                         \
    {                                                                                                                          \
        enum { LANES = 64 / sizeof(T) };                                                                                       \
        for (int64_t p = 0; p < count; p++) {                                                                                  \
            const T *a = left + (int64_t)rows[p] * k, *b = right + (int64_t)cols[p] * k;                                       \
            sparse_##T##_64 sum[2], x[2], y[2];                                                                                \
            T total = 0;                                                                                                       \
            int64_t j = 0;                                                                                                     \
            memset(sum, 0, sizeof sum);                                                                                        \
            for (; j + 2 * LANES <= k; j += 2 * LANES) {                                                                       \
                memcpy(x, a + j, sizeof x);                                                                                    \
                memcpy(y, b + j, sizeof y);                                                                                    \
                sum[0] += x[0] * y[0];                                                                                         \
                sum[1] += x[1] * y[1];                                                                                         \
            }                                                                                                                  \
            if (j) {                                                                                                           \
                sum[0] += sum[1];                                                                                              \
                for (int v = 0; v < LANES; v++) total += sum[0][v];                                                            \
            }                                                                                                                  \
            for (; j < k; j++) total += a[j] * b[j];                                                                           \
            out[p] = total;                                                                                                    \
        }                                                                                                                      \
    }

SPARSE_MATMULS(float, int32_t, f32_i32)
SPARSE_MATMULS(float, int64_t, f32_i64)
SPARSE_MATMULS(double, int32_t, f64_i32)
SPARSE_MATMULS(double, int64_t, f64_i64)
