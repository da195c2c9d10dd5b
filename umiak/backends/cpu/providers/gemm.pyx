"""Matmul of two matrices with any strides, by the library that is fastest for their size.

Figures behind the choices are in ``docs/design/providers.md``.
"""
from libc.stdint cimport int64_t

from umiak.backends.cpu.providers.blas cimport Blas, blas, follow_threads, gemm_t
from umiak.backends.cpu.providers.common cimport LIBRARY_FAILED, NO_MEMORY, copy_strided, scratch_free, scratch_alloc, threads
from umiak.backends.cpu.providers.onednn cimport Library, enter, leave, library
from umiak.backends.cpu.providers.packed_matmul cimport packed, worth_packing
from umiak.backends.cpu.providers.split_matmul cimport prepare, split_matmul, worth_splitting

cdef extern from "small_matmul.h" nogil:
    int small_level()
    int small_gemm(int64_t m, int64_t n, int64_t k, const float* a, int64_t am, int64_t ak, const float* b, int64_t bk,
                   int64_t bn, float* c, int64_t ldc, const float* bias)
    int small_dots(int64_t m, int64_t k, const float* a, int64_t lda, const float* x, float* y, int64_t step)
    int small_outer(int64_t m, int64_t n, const float* a, int64_t am, const float* b, float* c, int64_t ldc)

cdef extern from "plain.h" nogil:
    void plain_f32(int64_t m, int64_t n, int64_t k, const float* a, int64_t am, int64_t ak, const float* b, int64_t bk, int64_t bn, float* c, int64_t cm, int64_t cn, int acc)
    void plain_f64(int64_t m, int64_t n, int64_t k, const void* a, int64_t am, int64_t ak, const void* b, int64_t bk, int64_t bn, void* c, int64_t cm, int64_t cn, int acc)
    void plain_c64(int64_t m, int64_t n, int64_t k, const void* a, int64_t am, int64_t ak, const void* b, int64_t bk, int64_t bn, void* c, int64_t cm, int64_t cn, int acc)
    void plain_c128(int64_t m, int64_t n, int64_t k, const void* a, int64_t am, int64_t ak, const void* b, int64_t bk, int64_t bn, void* c, int64_t cm, int64_t cn, int acc)
    void plain_i8(int64_t m, int64_t n, int64_t k, const void* a, int64_t am, int64_t ak, const void* b, int64_t bk, int64_t bn, void* c, int64_t cm, int64_t cn, int acc)
    void plain_i16(int64_t m, int64_t n, int64_t k, const void* a, int64_t am, int64_t ak, const void* b, int64_t bk, int64_t bn, void* c, int64_t cm, int64_t cn, int acc)
    void plain_i32(int64_t m, int64_t n, int64_t k, const void* a, int64_t am, int64_t ak, const void* b, int64_t bk, int64_t bn, void* c, int64_t cm, int64_t cn, int acc)
    void plain_i64(int64_t m, int64_t n, int64_t k, const void* a, int64_t am, int64_t ak, const void* b, int64_t bk, int64_t bn, void* c, int64_t cm, int64_t cn, int acc)
    void plain_widen(int is_bf16, const void* s, float* t, int64_t n)
    void plain_narrow(int is_bf16, const float* s, void* t, int64_t n)

cdef enum:
    SMALL = 1 << 18            # products of m, n and k up to here need no library
    INT_LIMIT = 2147483647

cdef int* ITEMSIZES = [4, 8, 8, 16, 2, 2, 1, 2, 4, 8]


cdef int check(int libs) except -1:
    if libs & USE_ONEDNN and library() == NULL or libs & USE_BLAS and blas() == NULL:
        raise RuntimeError("[providers] requires a library to be loaded before a launch that uses it is made")
    return prepare()


cdef int itemsize_of(int dtype) noexcept nogil:
    return ITEMSIZES[dtype]


cdef int widen(int dtype, const void* source, float* target, int64_t n) noexcept nogil:
    plain_widen(dtype == T_BF16, source, target, n)
    return 0


cdef int narrow(int dtype, const float* source, void* target, int64_t n) noexcept nogil:
    plain_narrow(dtype == T_BF16, source, target, n)
    return 0


cdef inline bint leading(int64_t rows, int64_t columns, int64_t by_row, int64_t by_column) noexcept nogil:
    """Return whether rows are contiguous, a leading dimension apart."""
    return (by_column == 1 or columns == 1) and (by_row >= columns or rows == 1)


cdef inline void* densified(
    int dtype, int64_t rows, int64_t columns, const void* x, int64_t* by_row, int64_t* by_column
) noexcept nogil:
    """A copy with contiguous rows."""
    cdef int size = ITEMSIZES[dtype]
    cdef int64_t sizes[2]
    cdef int64_t to[2]
    cdef int64_t by[2]
    cdef void* copy = scratch_alloc(rows * columns * size)
    if copy != NULL:
        sizes[0], sizes[1], to[0], to[1], by[0], by[1] = rows, columns, columns, 1, by_row[0], by_column[0]
        copy_strided(<char*>copy, to, <const char*>x, by, sizes, 2, size)
        by_row[0], by_column[0] = columns, 1
    return copy


cdef bint small(
    int64_t m, int64_t n, int64_t k, const float* a, int64_t am, int64_t ak, const float* b, int64_t bk, int64_t bn, float* c,
    int64_t ldc, const float* bias
) noexcept nogil:
    """Return whether ``c = a b``, plus a bias unless that is NULL, was small enough to be computed at once, as ``gemm`` would without a
    library; rows of ``c`` are contiguous."""
    return (
        (n > 1 or m == 1) and k > 1 and 0 < m <= SMALL and n <= SMALL and k <= SMALL and m * n * k <= SMALL
        and small_gemm(m, n, k, a, am, ak, b, bk, bn, c, ldc, bias) != 0
    )


cdef int gemm(
    int libs, int dtype, int64_t m, int64_t n, int64_t k, const void* a, int64_t am, int64_t ak,
    const void* b, int64_t bk, int64_t bn, void* c, int64_t cm, int64_t cn, bint accumulate
) noexcept nogil:
    """``c = a b``, or ``c += a b``; no size is 0. Strides are in elements and may be anything for ``a`` and ``b``;
    ``c`` does not overlap itself. No 16-bit floats."""
    cdef void* copy_c = NULL
    cdef int64_t sizes[2]
    cdef int64_t to[2]
    cdef int64_t by[2]
    cdef int bad = 0
    if not (cn == 1 or n == 1) and (cm == 1 or m == 1):
        # The transposed matmul has contiguous rows.
        m, n = n, m
        a, b = b, a
        am, bn = bn, am
        ak, bk = bk, ak
        cm, cn = cn, cm
    if dtype >= T_I8:
        return plain(dtype, m, n, k, a, am, ak, b, bk, bn, c, cm, cn, accumulate)
    if not leading(m, n, cm, cn):
        copy_c = scratch_alloc(m * n * ITEMSIZES[dtype])
        if copy_c == NULL:
            return NO_MEMORY
        sizes[0], sizes[1], to[0], to[1], by[0], by[1] = m, n, n, 1, cm, cn
        if accumulate:
            copy_strided(<char*>copy_c, to, <const char*>c, by, sizes, 2, ITEMSIZES[dtype])
        bad = rows(libs, dtype, m, n, k, a, am, ak, b, bk, bn, copy_c, n, accumulate)
        if not bad:
            copy_strided(<char*>c, by, <const char*>copy_c, to, sizes, 2, ITEMSIZES[dtype])
        scratch_free(copy_c)
        return bad
    return rows(libs, dtype, m, n, k, a, am, ak, b, bk, bn, c, cm, accumulate)


cdef int rows(
    int libs, int dtype, int64_t m, int64_t n, int64_t k, const void* a, int64_t am, int64_t ak,
    const void* b, int64_t bk, int64_t bn, void* c, int64_t ldc, bint accumulate
) noexcept nogil:
    """``gemm`` where rows of ``c`` are contiguous."""
    cdef void* copy_a = NULL
    cdef void* copy_b = NULL
    cdef int64_t lda, ldb
    cdef bint ta, tb
    cdef int bad
    if dtype == T_F32 and libs & USE_SMALL and not accumulate and small_level():
        if n == 1 and m > 1:
            # A vector: rows of a that are contiguous are its dot products, columns are summed as rows of its transpose.
            if ak == 1 and bk == 1 and k >= 8 and (threads() == 1 or m * k <= 1 << 18):
                if small_dots(m, k, <const float*>a, am, <const float*>b, <float*>c, ldc):
                    return 0
        elif k == 1 and bn == 1 and n >= 32 and (threads() == 1 or m * n <= 1 << 18):
            if small_outer(m, n, <const float*>a, am, <const float*>b, <float*>c, ldc):
                return 0
        elif m * n * k <= SMALL:
            if bn != 1 and bk != 1:                      # such as a gradient that is one number in all places
                b = copy_b = densified(dtype, k, n, b, &bk, &bn)
                if b == NULL:
                    return NO_MEMORY
            if small_gemm(m, n, k, <const float*>a, am, ak, <const float*>b, bk, bn, <float*>c, ldc, NULL):
                scratch_free(copy_b)
                return 0
    if dtype == T_F32 and libs & USE_ONEDNN and worth_packing(m, n, k, bk, bn) and not worth_splitting(m, n, k):
        bad = packed(m, n, k, <const float*>a, am, ak, <const float*>b, bk, bn, <float*>c, ldc, accumulate)
        scratch_free(copy_b)
        return bad
    # Whole matrices as the libraries know them: contiguous rows, or contiguous columns.
    ta = not leading(m, k, am, ak)
    if ta and not leading(k, m, ak, am):
        a = copy_a = densified(dtype, m, k, a, &am, &ak)
        if a == NULL:
            scratch_free(copy_b)
            return NO_MEMORY
        ta = False
    tb = not leading(k, n, bk, bn)
    if tb and not leading(n, k, bn, bk):
        b = copy_b = densified(dtype, k, n, b, &bk, &bn)
        if b == NULL:
            scratch_free(copy_a)
            return NO_MEMORY
        tb = False
    # A leading dimension of one row (or column) may be anything; libraries want it large enough.
    lda = max(am, k) if not ta else max(ak, m)
    ldb = max(bk, n) if not tb else max(bn, k)
    ldc = max(ldc, n) if m == 1 else ldc
    if dtype == T_F32 and libs & USE_SMALL and worth_splitting(m, n, k):
        bad = split_matmul(called_f32, libs, ta, tb, m, n, k, <const float*>a, lda, <const float*>b, ldb, <float*>c, ldc, accumulate)
    else:
        bad = called(libs, dtype, ta, tb, m, n, k, a, lda, b, ldb, c, ldc, accumulate)
    scratch_free(copy_a)
    scratch_free(copy_b)
    return bad


cdef int called_f32(
    int libs, bint ta, bint tb, int64_t m, int64_t n, int64_t k, const float* a, int64_t lda, const float* b, int64_t ldb, float* c,
    int64_t ldc, bint accumulate
) noexcept nogil:
    return called(libs, T_F32, ta, tb, m, n, k, a, lda, b, ldb, c, ldc, accumulate)


cdef int called(
    int libs, int dtype, bint ta, bint tb, int64_t m, int64_t n, int64_t k, const void* a, int64_t lda,
    const void* b, int64_t ldb, void* c, int64_t ldc, bint accumulate
) noexcept nogil:
    cdef Library* lib
    cdef Blas* fortran
    cdef gemm_t f
    cdef double[4] alpha
    cdef double[4] beta
    cdef float* narrow_alpha = <float*>alpha
    cdef float* narrow_beta = <float*>beta
    cdef int before, bad, im, inn, ik, ia, ib, ic
    if dtype == T_F32 and libs & USE_ONEDNN:
        lib = library()
        before = enter()
        bad = lib.sgemm(
            c"T" if ta else c"N", c"T" if tb else c"N", m, n, k, 1, <const float*>a, lda, <const float*>b, ldb,
            1 if accumulate else 0, <float*>c, ldc,
        )
        leave(before)
        return LIBRARY_FAILED if bad else 0
    if libs & USE_BLAS and max(max(m, n), max(k, max(lda, max(ldb, ldc)))) <= INT_LIMIT:
        fortran = blas()
        f = fortran.s if dtype == T_F32 else fortran.d if dtype == T_F64 else fortran.c if dtype == T_C64 else fortran.z
        alpha[0] = alpha[1] = beta[0] = beta[1] = 0
        if dtype == T_F32 or dtype == T_C64:
            narrow_alpha[0], narrow_beta[0] = 1, <float>accumulate
        else:
            alpha[0], beta[0] = 1, <double>accumulate
        im, inn, ik, ia, ib, ic = <int>m, <int>n, <int>k, <int>lda, <int>ldb, <int>ldc
        follow_threads()
        # Columns there are rows here: the transposed matmul.
        f(b"T" if tb else b"N", b"T" if ta else b"N", &inn, &im, &ik, alpha, <void*>b, &ib, <void*>a, &ia, beta, c, &ic)
        return 0
    return plain(
        dtype, m, n, k, a, 1 if ta else lda, lda if ta else 1, b, 1 if tb else ldb, ldb if tb else 1, c, ldc, 1, accumulate
    )


cdef int plain(
    int dtype, int64_t m, int64_t n, int64_t k, const void* a, int64_t am, int64_t ak,
    const void* b, int64_t bk, int64_t bn, void* c, int64_t cm, int64_t cn, bint accumulate
) noexcept nogil:
    cdef void* copy = NULL
    if bn != 1 and n > 1 and m > 4:
        b = copy = densified(dtype, k, n, b, &bk, &bn)
        if b == NULL:
            return NO_MEMORY
    if dtype == T_F32:
        plain_f32(m, n, k, <const float*>a, am, ak, <const float*>b, bk, bn, <float*>c, cm, cn, accumulate)
    elif dtype == T_F64:
        plain_f64(m, n, k, a, am, ak, b, bk, bn, c, cm, cn, accumulate)
    elif dtype == T_C64:
        plain_c64(m, n, k, a, am, ak, b, bk, bn, c, cm, cn, accumulate)
    elif dtype == T_C128:
        plain_c128(m, n, k, a, am, ak, b, bk, bn, c, cm, cn, accumulate)
    elif dtype == T_I8:
        plain_i8(m, n, k, a, am, ak, b, bk, bn, c, cm, cn, accumulate)
    elif dtype == T_I16:
        plain_i16(m, n, k, a, am, ak, b, bk, bn, c, cm, cn, accumulate)
    elif dtype == T_I32:
        plain_i32(m, n, k, a, am, ak, b, bk, bn, c, cm, cn, accumulate)
    else:
        plain_i64(m, n, k, a, am, ak, b, bk, bn, c, cm, cn, accumulate)
    scratch_free(copy)
    return 0


# The number of a dtype; matmuls of uint8 are those of int8.
DTYPES = {
    "float32": T_F32, "float64": T_F64, "complex64": T_C64, "complex128": T_C128, "bfloat16": T_BF16, "float16": T_F16,
    "int8": T_I8, "uint8": T_I8, "int16": T_I16, "int32": T_I32, "int64": T_I64,
}
globals().update(USE_ONEDNN=USE_ONEDNN, USE_BLAS=USE_BLAS, USE_SMALL=USE_SMALL)
