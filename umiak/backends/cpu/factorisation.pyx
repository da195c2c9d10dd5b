# cython: binding=False, cdivision=True
"""Factorisations and solvers of batches of matrices: LAPACK as SciPy brings it, by the function pointers that it exports to Cython.

A matrix is copied into the column order that LAPACK wants, worked on, and copied to the output. Matrices of a batch are
shared among threads, LAPACK then uses one; a single large matrix has all of them. Small real matrices of a batch are
factored side by side in the lanes of vectors, see small_matrices.h.
"""
from libc.math cimport INFINITY, fabs, hypot, log
from libc.stdint cimport int64_t, uint64_t
from libc.string cimport memset

from umiak.backends.cpu.launcher cimport parallel_for, thread_count
from umiak.backends.cpu.providers.blas cimport pointer, set_threads
from umiak.backends.cpu.providers.blas import load as load_blas
from umiak.backends.cpu.providers.common cimport NO_MEMORY, scratch_alloc, scratch_free

cdef extern from "umiak/backends/cpu/small_matrices.h" nogil:
    int UMIAK_SMALL_MOST, UMIAK_SMALL_EIGEN
    ctypedef struct umiak_small:
        int64_t m, n, row, column
        const void* x[16]
        int count
    int umiak_small_lanes(int doubles)
    int64_t umiak_small_memory(int64_t m, int64_t n)
    unsigned umiak_small_cholesky(const umiak_small* g, int doubles, int upper, char* memory, void* out)
    unsigned umiak_small_qr(const umiak_small* g, int doubles, int64_t width, char* memory, void* q, void* r)
    unsigned umiak_small_eigh(const umiak_small* g, int doubles, char* memory, void* values, void* vectors)
    unsigned umiak_small_svd(const umiak_small* g, int doubles, char* memory, void* u, void* values, void* v)
    unsigned umiak_small_lu(const umiak_small* g, int doubles, char* memory, void* out, void* diagonals, int* pivots)

cdef enum Kind:
    CHOLESKY
    LU
    DET
    SLOGDET
    INVERSE
    SOLVE
    TRIANGULAR
    QR
    SVD
    EIGH

cdef enum:
    FAILED = 1                 # singular, not definite, or not converged
    TOO_LARGE = 2              # sizes beyond LAPACK's 32 bits
    PARALLEL = 1 << 15         # multiplications, from which on other threads help with a batch
    LARGE = 192                # rows from which on LAPACK's own threads help
    BLOCK = 16                 # side of the squares by which matrices are transposed
    MAX_BATCH_AXES = 64

# Every argument is passed by address; `real` is float or double.
ctypedef void (*potrf_t)(char* uplo, int* n, void* a, int* lda, int* info) noexcept nogil
ctypedef void (*getrf_t)(int* m, int* n, void* a, int* lda, int* pivots, int* info) noexcept nogil
ctypedef void (*getri_t)(int* n, void* a, int* lda, int* pivots, void* work, int* lwork, int* info) noexcept nogil
ctypedef void (*gesv_t)(int* n, int* nrhs, void* a, int* lda, int* pivots, void* b, int* ldb, int* info) noexcept nogil
ctypedef void (*trtrs_t)(
    char* uplo, char* trans, char* diag, int* n, int* nrhs, void* a, int* lda, void* b, int* ldb, int* info) noexcept nogil
ctypedef void (*geqrf_t)(int* m, int* n, void* a, int* lda, void* tau, void* work, int* lwork, int* info) noexcept nogil
ctypedef void (*orgqr_t)(
    int* m, int* n, int* k, void* a, int* lda, void* tau, void* work, int* lwork, int* info) noexcept nogil
ctypedef void (*gesdd_t)(
    char* jobz, int* m, int* n, void* a, int* lda, void* s, void* u, int* ldu, void* vt, int* ldvt, void* work, int* lwork,
    int* iwork, int* info) noexcept nogil
ctypedef void (*complex_gesdd_t)(
    char* jobz, int* m, int* n, void* a, int* lda, void* s, void* u, int* ldu, void* vt, int* ldvt, void* work, int* lwork,
    void* rwork, int* iwork, int* info) noexcept nogil
ctypedef void (*syevd_t)(
    char* jobz, char* uplo, int* n, void* a, int* lda, void* w, void* work, int* lwork, int* iwork, int* liwork,
    int* info) noexcept nogil
ctypedef void (*heevd_t)(
    char* jobz, char* uplo, int* n, void* a, int* lda, void* w, void* work, int* lwork, void* rwork, int* lrwork, int* iwork,
    int* liwork, int* info) noexcept nogil

cdef struct Routines:
    potrf_t potrf
    getrf_t getrf
    getri_t getri
    gesv_t gesv
    trtrs_t trtrs
    geqrf_t geqrf
    orgqr_t orgqr
    void* gesdd
    void* evd

cdef Routines table[4]
cdef bint usable = False
TYPES = ("float32", "float64", "complex64", "complex128")


def load():
    """Find the routines; ImportError or KeyError where SciPy is not as expected."""
    global usable
    cdef Routines* r
    if usable:
        return
    from scipy.linalg import cython_lapack

    load_blas()
    exported = cython_lapack.__pyx_capi__
    for i, letter in enumerate("sdcz"):
        r = &table[i]
        real = letter in "sd"
        pointer(exported, letter + "potrf", <void**>&r.potrf)
        pointer(exported, letter + "getrf", <void**>&r.getrf)
        pointer(exported, letter + "getri", <void**>&r.getri)
        pointer(exported, letter + "gesv", <void**>&r.gesv)
        pointer(exported, letter + "trtrs", <void**>&r.trtrs)
        pointer(exported, letter + "geqrf", <void**>&r.geqrf)
        pointer(exported, letter + ("orgqr" if real else "ungqr"), <void**>&r.orgqr)
        pointer(exported, letter + "gesdd", &r.gesdd)
        pointer(exported, letter + ("syevd" if real else "heevd"), &r.evd)
    usable = True


cdef struct Config:
    int kind
    int type                   # index of TYPES
    int rank                   # axes of the batch
    bint upper                 # the upper triangle is read, or wanted
    bint transpose             # TRIANGULAR: x^T
    bint unit                  # TRIANGULAR: ones on the diagonal
    bint vectors               # SVD, EIGH: not only the values; QR: Q as well
    bint full                  # SVD, QR: square U, Vh, Q

# A launch. x is m by n, y n by `columns`; strides count elements.
cdef struct Launch:
    const Config* config
    void** ptrs
    const int64_t* sizes       # of the batch
    int64_t m, n, columns
    const int64_t* x_sizes     # of x's own batch, aligned to `sizes`: 1 where it is broadcast
    const int64_t* x_strides   # of the batch, and of rows and columns
    const int64_t* y_sizes
    const int64_t* y_strides
    int64_t batch, chunk
    int64_t itemsize, realsize
    int lwork, lrwork, liwork


# ---- copies ----------------------------------------------------------------------------------------------------------
cdef void move4(unsigned int* to, int64_t tr, int64_t tc, const unsigned int* x, int64_t xr, int64_t xc, int64_t m, int64_t n) noexcept nogil:
    cdef int64_t i, j, p, q
    for p in range((m + BLOCK - 1) // BLOCK):
        for q in range((n + BLOCK - 1) // BLOCK):
            for i in range(p * BLOCK, min((p + 1) * BLOCK, m)):
                for j in range(q * BLOCK, min((q + 1) * BLOCK, n)):
                    to[i * tr + j * tc] = x[i * xr + j * xc]


cdef void move8(uint64_t* to, int64_t tr, int64_t tc, const uint64_t* x, int64_t xr, int64_t xc, int64_t m, int64_t n) noexcept nogil:
    cdef int64_t i, j, p, q
    for p in range((m + BLOCK - 1) // BLOCK):
        for q in range((n + BLOCK - 1) // BLOCK):
            for i in range(p * BLOCK, min((p + 1) * BLOCK, m)):
                for j in range(q * BLOCK, min((q + 1) * BLOCK, n)):
                    to[i * tr + j * tc] = x[i * xr + j * xc]


cdef void move(void* to, int64_t tr, int64_t tc, const void* x, int64_t xr, int64_t xc, int64_t m, int64_t n, int64_t itemsize) noexcept nogil:
    """Copy an m by n matrix from one order to another; ``tr``, ``tc``, ``xr``, ``xc``: strides of rows and columns."""
    if itemsize == 4:
        move4(<unsigned int*>to, tr, tc, <const unsigned int*>x, xr, xc, m, n)
    elif itemsize == 8:
        move8(<uint64_t*>to, tr, tc, <const uint64_t*>x, xr, xc, m, n)
    else:                      # two halves of 8 bytes
        move8(<uint64_t*>to, 2 * tr, 2 * tc, <const uint64_t*>x, 2 * xr, 2 * xc, m, n)
        move8(<uint64_t*>to + 1, 2 * tr, 2 * tc, <const uint64_t*>x + 1, 2 * xr, 2 * xc, m, n)


cdef void clear_triangle(char* x, int64_t row, int64_t column, int64_t n, bint upper, int64_t itemsize) noexcept nogil:
    """Zero a square above (``upper``) or below its diagonal; ``row`` and ``column`` count bytes."""
    cdef int64_t i, j
    for i in range(n):
        for j in range(i + 1 if upper else 0, n if upper else i):
            memset(x + i * row + j * column, 0, itemsize)


cdef void put_one(void* x, int type) noexcept nogil:
    if type == 0 or type == 2:
        (<float*>x)[0] = 1
        if type == 2:
            (<float*>x)[1] = 0
    else:
        (<double*>x)[0] = 1
        if type == 3:
            (<double*>x)[1] = 0


cdef void identity(char* x, int64_t n, int type, int64_t itemsize) noexcept nogil:
    cdef int64_t i
    memset(x, 0, n * n * itemsize)
    for i in range(n):
        put_one(x + i * (n + 1) * itemsize, type)


# ---- one matrix ------------------------------------------------------------------------------------------------------
cdef int cholesky(Launch* w, char* x, char* out) noexcept nogil:
    """In the output: the row order of a Hermitian matrix is the column order of its conjugate, whose factor is the
    conjugate of the one that is wanted, in column order."""
    cdef int n = <int>w.n, info = 0
    cdef char uplo = b"L" if w.config.upper else b"U"
    move(out, n, 1, x, w.x_strides[w.config.rank], w.x_strides[w.config.rank + 1], n, n, w.itemsize)
    table[w.config.type].potrf(&uplo, &n, out, &n, &info)
    if info != 0:
        return FAILED
    clear_triangle(out, n * w.itemsize, w.itemsize, n, not w.config.upper, w.itemsize)
    return 0


cdef void determinant(Launch* w, const char* a, const int* pivots, int singular, char* out, char* size) noexcept nogil:
    """From the factors of x: its determinant, or with ``size`` the sign there and the logarithm of the size."""
    cdef int64_t n = w.n, i
    cdef double re = 1, im = 0, ar, ai, length, logs = 0, t
    cdef int type = w.config.type
    if singular:
        re = 0
        logs = -INFINITY
    else:
        for i in range(n):
            if pivots[i] != i + 1:
                re, im = -re, -im
            if type == 0:
                ar, ai = (<const float*>a)[i * (n + 1)], 0
            elif type == 1:
                ar, ai = (<const double*>a)[i * (n + 1)], 0
            elif type == 2:
                ar, ai = (<const float*>a)[2 * i * (n + 1)], (<const float*>a)[2 * i * (n + 1) + 1]
            else:
                ar, ai = (<const double*>a)[2 * i * (n + 1)], (<const double*>a)[2 * i * (n + 1) + 1]
            if size != NULL:
                length = fabs(ar) if type < 2 else hypot(ar, ai)
                logs += log(length)
                ar, ai = ar / length, ai / length
            if type < 2:
                re = re * ar
            else:
                t = re * ar - im * ai
                im = re * ai + im * ar
                re = t
    if type == 0:
        (<float*>out)[0] = <float>re
    elif type == 1:
        (<double*>out)[0] = re
    elif type == 2:
        (<float*>out)[0] = <float>re
        (<float*>out)[1] = <float>im
    else:
        (<double*>out)[0] = re
        (<double*>out)[1] = im
    if size != NULL:
        if w.realsize == 4:
            (<float*>size)[0] = <float>logs
        else:
            (<double*>size)[0] = logs


cdef int factors(Launch* w, char* x, int64_t i, char* block) noexcept nogil:
    """LU and what is made of it. ``block``: the matrix, its pivots, work."""
    cdef int m = <int>w.m, n = <int>w.n, info = 0, k
    cdef int64_t item = w.itemsize, r = w.x_strides[w.config.rank], c = w.x_strides[w.config.rank + 1]
    cdef Routines* call = &table[w.config.type]
    cdef char* a = block
    cdef int* pivots = <int*>(block + aligned(w.m * w.n * item))
    cdef char* work = <char*>pivots + aligned(min(w.m, w.n) * 4)
    cdef char* out = <char*>w.ptrs[1]
    if w.config.kind == LU:
        move(a, 1, m, x, r, c, m, n, item)
        call.getrf(&m, &n, a, &m, pivots, &info)
        # A pivot of 0 is no failure: the factors are there.
        move(out + i * w.m * w.n * item, n, 1, a, 1, m, m, n, item)
        for k in range(min(m, n)):
            (<int*>w.ptrs[2])[i * min(m, n) + k] = pivots[k]
        return 0 if info >= 0 else FAILED
    if w.config.kind == INVERSE:
        # The inverse of the transposed is the inverse transposed: rows may be taken for columns.
        out = out + i * w.n * w.n * item
        move(out, n, 1, x, r, c, n, n, item)
        call.getrf(&n, &n, out, &n, pivots, &info)
        if info == 0:
            call.getri(&n, out, &n, pivots, work, &w.lwork, &info)
        return FAILED if info != 0 else 0
    move(a, n, 1, x, r, c, n, n, item)          # so may they for the determinant
    call.getrf(&n, &n, a, &n, pivots, &info)
    if info < 0:
        return FAILED
    determinant(w, a, pivots, info, out + i * item, NULL if w.config.kind == DET else <char*>w.ptrs[2] + i * w.realsize)
    return 0


cdef int solve(Launch* w, char* x, char* y, char* out, char* block) noexcept nogil:
    """``block``: x, y and pivots."""
    cdef int n = <int>w.n, columns = <int>w.columns, info = 0
    cdef int64_t item = w.itemsize, rank = w.config.rank
    cdef char* a = block
    cdef char* b = a + aligned(w.n * w.n * item)
    cdef int* pivots = <int*>(b + aligned(w.n * w.columns * item))
    cdef char uplo = b"U" if w.config.upper else b"L"
    cdef char trans = b"T" if w.config.transpose else b"N"
    cdef char diag = b"U" if w.config.unit else b"N"
    move(a, 1, n, x, w.x_strides[rank], w.x_strides[rank + 1], n, n, item)
    move(b, 1, n, y, w.y_strides[rank], w.y_strides[rank + 1], n, columns, item)
    if w.config.kind == SOLVE:
        table[w.config.type].gesv(&n, &columns, a, &n, pivots, b, &n, &info)
    else:
        table[w.config.type].trtrs(&uplo, &trans, &diag, &n, &columns, a, &n, b, &n, &info)
    move(out, columns, 1, b, 1, n, n, columns, item)
    return FAILED if info != 0 else 0


cdef int qr(Launch* w, char* x, int64_t i, char* block) noexcept nogil:
    """``block``: the matrix, square where Q is; tau; work."""
    cdef int m = <int>w.m, n = <int>w.n, k = <int>min(w.m, w.n), info = 0
    cdef int width = m if w.config.full else k             # columns of Q, rows of R
    cdef int64_t item = w.itemsize, row, column
    cdef Routines* call = &table[w.config.type]
    cdef char* a = block
    cdef char* tau = a + aligned(w.m * max(w.n, <int64_t>width) * item)
    cdef char* work = tau + aligned(k * item)
    cdef char* r = <char*>w.ptrs[2 if w.config.vectors else 1] + i * width * w.n * item
    move(a, 1, m, x, w.x_strides[w.config.rank], w.x_strides[w.config.rank + 1], m, n, item)
    call.geqrf(&m, &n, a, &m, tau, work, &w.lwork, &info)
    if info != 0:
        return FAILED
    move(r, n, 1, a, 1, m, width, n, item)
    for row in range(1, width):
        memset(r + row * n * item, 0, min(row, <int64_t>n) * item)
    if w.config.vectors:
        call.orgqr(&m, &width, &k, a, &m, tau, work, &w.lwork, &info)
        move(<char*>w.ptrs[1] + i * w.m * width * item, width, 1, a, 1, m, m, width, item)
    return FAILED if info != 0 else 0


cdef int svd(Launch* w, char* x, int64_t i, char* block) noexcept nogil:
    """``block``: the matrix, U, Vh, work in two types and of ints."""
    cdef int m = <int>w.m, n = <int>w.n, k = <int>min(w.m, w.n), info = 0
    cdef int left = m if w.config.full else k, right = n if w.config.full else k
    cdef int64_t item = w.itemsize
    cdef char* a = block
    cdef char* u = a + aligned(w.m * w.n * item)
    cdef char* vt = u + (aligned(w.m * left * item) if w.config.vectors else 0)
    cdef char* work = vt + (aligned(right * w.n * item) if w.config.vectors else 0)
    cdef char* rwork = work + aligned(w.lwork * item)
    cdef char* iwork = rwork + aligned(w.lrwork * w.realsize)
    cdef char* s = <char*>w.ptrs[2 if w.config.vectors else 1] + i * k * w.realsize
    cdef char job = (b"A" if w.config.full else b"S") if w.config.vectors else b"N"
    move(a, 1, m, x, w.x_strides[w.config.rank], w.x_strides[w.config.rank + 1], m, n, item)
    if w.config.type < 2:
        (<gesdd_t>table[w.config.type].gesdd)(&job, &m, &n, a, &m, s, u, &m, vt, &right, work, &w.lwork, <int*>iwork, &info)
    else:
        (<complex_gesdd_t>table[w.config.type].gesdd)(
            &job, &m, &n, a, &m, s, u, &m, vt, &right, work, &w.lwork, rwork, <int*>iwork, &info)
    if w.config.vectors:
        move(<char*>w.ptrs[1] + i * w.m * left * item, left, 1, u, 1, m, m, left, item)
        move(<char*>w.ptrs[3] + i * right * w.n * item, n, 1, vt, 1, right, right, n, item)
    return FAILED if info != 0 else 0


cdef int eigh(Launch* w, char* x, int64_t i, char* block) noexcept nogil:
    """``block``: the matrix, work in two types and of ints."""
    cdef int n = <int>w.n, info = 0
    cdef int64_t item = w.itemsize
    cdef char* a = block
    cdef char* work = a + aligned(w.n * w.n * item)
    cdef char* rwork = work + aligned(w.lwork * item)
    cdef char* iwork = rwork + aligned(w.lrwork * w.realsize)
    cdef char* values = <char*>w.ptrs[1] + i * n * w.realsize
    cdef char job = b"V" if w.config.vectors else b"N"
    cdef char uplo = b"U" if w.config.upper else b"L"
    move(a, 1, n, x, w.x_strides[w.config.rank], w.x_strides[w.config.rank + 1], n, n, item)
    if w.config.type < 2:
        (<syevd_t>table[w.config.type].evd)(
            &job, &uplo, &n, a, &n, values, work, &w.lwork, <int*>iwork, &w.liwork, &info)
    else:
        (<heevd_t>table[w.config.type].evd)(
            &job, &uplo, &n, a, &n, values, work, &w.lwork, rwork, &w.lrwork, <int*>iwork, &w.liwork, &info)
    if w.config.vectors:
        move(<char*>w.ptrs[2] + i * w.n * w.n * item, n, 1, a, 1, n, n, n, item)
    return FAILED if info != 0 else 0


# ---- work space ------------------------------------------------------------------------------------------------------
cdef int64_t aligned(int64_t nbytes) noexcept nogil:
    return (nbytes + 63) & ~<int64_t>63


cdef int wanted(const char* work, int type) noexcept nogil:
    """The length that a routine answered when it was asked for that of its work space."""
    cdef double n
    n = (<const float*>work)[0] if type == 0 or type == 2 else (<const double*>work)[0]
    return <int>n + 1


cdef int64_t ask(Launch* w) noexcept nogil:
    """Find the lengths of the work space; the bytes that one matrix needs."""
    cdef int m = <int>w.m, n = <int>w.n, k = <int>min(w.m, w.n), info = 0, minus = -1, width, ints = 0
    cdef int type = w.config.type
    cdef int left = m if w.config.full else k, right = n if w.config.full else k
    cdef int64_t most = max(w.m, w.n), least = min(w.m, w.n)
    cdef double work[2]
    cdef double rwork[2]
    cdef Routines* call = &table[type]
    cdef char job
    cdef char uplo = b"L"
    cdef int kind = w.config.kind
    w.lwork = w.lrwork = w.liwork = 0
    if kind == CHOLESKY:
        return 0
    if kind == SOLVE or kind == TRIANGULAR:
        return aligned(w.n * w.n * w.itemsize) + aligned(w.n * w.columns * w.itemsize) + aligned(w.n * 4)
    if kind == QR:
        width = m if w.config.full else k
        call.geqrf(&m, &n, NULL, &m, NULL, work, &minus, &info)
        w.lwork = wanted(<char*>work, type)
        if w.config.vectors:
            call.orgqr(&m, &width, &k, NULL, &m, NULL, work, &minus, &info)
            w.lwork = max(w.lwork, wanted(<char*>work, type))
        return aligned(w.m * max(w.n, <int64_t>width) * w.itemsize) + aligned(k * w.itemsize) + aligned(w.lwork * w.itemsize)
    if kind == SVD:
        job = (b"A" if w.config.full else b"S") if w.config.vectors else b"N"
        if type < 2:
            (<gesdd_t>call.gesdd)(&job, &m, &n, NULL, &m, NULL, NULL, &m, NULL, &right, work, &minus, NULL, &info)
        else:
            (<complex_gesdd_t>call.gesdd)(
                &job, &m, &n, NULL, &m, NULL, NULL, &m, NULL, &right, work, &minus, NULL, NULL, &info)
            # By LAPACK's documentation; there is no way to ask.
            w.lrwork = <int>max(7 * least, max(5 * least * least + 5 * least, 2 * most * least + 2 * least * least + least))
        w.lwork = wanted(<char*>work, type)
        return aligned(w.m * w.n * w.itemsize) + (
            aligned(w.m * left * w.itemsize) + aligned(right * w.n * w.itemsize) if w.config.vectors else 0
        ) + aligned(w.lwork * w.itemsize) + aligned(w.lrwork * w.realsize) + aligned(8 * least * 4)
    if kind == EIGH:
        job = b"V" if w.config.vectors else b"N"
        if type < 2:
            (<syevd_t>call.evd)(&job, &uplo, &n, NULL, &n, NULL, work, &minus, &ints, &minus, &info)
        else:
            (<heevd_t>call.evd)(&job, &uplo, &n, NULL, &n, NULL, work, &minus, rwork, &minus, &ints, &minus, &info)
            w.lrwork = wanted(<char*>rwork, type - 2)
        w.lwork, w.liwork = wanted(<char*>work, type), ints
        return aligned(w.n * w.n * w.itemsize) + aligned(w.lwork * w.itemsize) + aligned(
            w.lrwork * w.realsize) + aligned(<int64_t>w.liwork * 4)
    if kind == INVERSE:
        call.getri(&n, NULL, &n, NULL, work, &minus, &info)
        w.lwork = wanted(<char*>work, type)
    return aligned(w.m * w.n * w.itemsize) + aligned(least * 4) + aligned(w.lwork * w.itemsize)


# ---- a launch --------------------------------------------------------------------------------------------------------
cdef int64_t offset(Launch* w, int64_t i, const int64_t* sizes, const int64_t* strides) noexcept nogil:
    """Offset of matrix i of the batch in an operand, in elements."""
    cdef int64_t at = 0, d
    for d in range(w.config.rank - 1, -1, -1):
        if sizes[d] != 1:
            at += i % w.sizes[d] * strides[d]
        i //= w.sizes[d]
    return at


cdef int one(Launch* w, int64_t i, char* block) noexcept nogil:
    cdef int kind = w.config.kind
    cdef char* x = <char*>w.ptrs[0] + offset(w, i, w.x_sizes, w.x_strides) * w.itemsize
    if kind == CHOLESKY:
        return cholesky(w, x, <char*>w.ptrs[1] + i * w.n * w.n * w.itemsize)
    if kind == SOLVE or kind == TRIANGULAR:
        return solve(
            w, x, <char*>w.ptrs[1] + offset(w, i, w.y_sizes, w.y_strides) * w.itemsize,
            <char*>w.ptrs[2] + i * w.n * w.columns * w.itemsize, block)
    if kind == QR:
        return qr(w, x, i, block)
    if kind == SVD:
        return svd(w, x, i, block)
    if kind == EIGH:
        return eigh(w, x, i, block)
    return factors(w, x, i, block)


cdef bint side_by_side(Launch* w) noexcept nogil:
    """Say whether matrices of a batch are factored in lanes."""
    cdef int kind = w.config.kind
    if w.config.type > 1 or w.batch < umiak_small_lanes(w.config.type) // 2 or max(w.m, w.n) > UMIAK_SMALL_MOST:
        return False
    if kind == EIGH:
        # Signs of vectors depend on the triangle: LAPACK begins from the other end of an upper one.
        return w.n <= UMIAK_SMALL_EIGEN and not (w.config.upper and w.config.vectors)
    if kind == SVD:             # beyond such shapes LAPACK begins with QR
        return 2 <= w.n <= UMIAK_SMALL_EIGEN and w.n <= w.m < 11 * w.n // 6 and not (w.config.full and w.m != w.n)
    return kind == CHOLESKY or kind == LU or kind == DET or kind == SLOGDET or kind == QR


cdef unsigned group(Launch* w, int64_t i, int count, char* block) noexcept nogil:
    """Factor ``count`` matrices from i on; bits of those that are left to LAPACK."""
    cdef umiak_small g
    cdef float floats[512]      # of 16 or 8 matrices, 32 each
    cdef double doubles[256]
    cdef int pivots[512]
    cdef int type = w.config.type, kind = w.config.kind, rank = w.config.rank, k, singular
    cdef int64_t item = w.itemsize, l, at, width
    cdef char matrix[8192]      # of which determinants want the diagonal
    cdef unsigned bad
    # Of a symmetric matrix, the upper triangle is the lower one of the transposed.
    cdef bint swap = w.config.upper and (kind == CHOLESKY or kind == EIGH)
    g.m, g.n, g.count = w.m, w.n, count
    g.row, g.column = w.x_strides[rank + swap], w.x_strides[rank + 1 - swap]
    for l in range(count):
        g.x[l] = <char*>w.ptrs[0] + offset(w, i + l, w.x_sizes, w.x_strides) * item
    if kind == CHOLESKY:
        return umiak_small_cholesky(&g, type, w.config.upper, block, <char*>w.ptrs[1] + i * w.n * w.n * item)
    if kind == EIGH:
        return umiak_small_eigh(
            &g, type, block, <char*>w.ptrs[1] + i * w.n * item,
            <char*>w.ptrs[2] + i * w.n * w.n * item if w.config.vectors else NULL)
    if kind == SVD and w.config.vectors:
        return umiak_small_svd(
            &g, type, block, <char*>w.ptrs[1] + i * w.m * w.n * item, <char*>w.ptrs[2] + i * w.n * item,
            <char*>w.ptrs[3] + i * w.n * w.n * item)
    if kind == SVD:
        return umiak_small_svd(&g, type, block, NULL, <char*>w.ptrs[1] + i * w.n * item, NULL)
    if kind == QR:
        width = w.m if w.config.full else min(w.m, w.n)
        return umiak_small_qr(
            &g, type, width, block, <char*>w.ptrs[1] + i * w.m * width * item if w.config.vectors else NULL,
            <char*>w.ptrs[2 if w.config.vectors else 1] + i * width * w.n * item)
    if kind == LU:
        return umiak_small_lu(
            &g, type, block, <char*>w.ptrs[1] + i * w.m * w.n * item, NULL, <int*>w.ptrs[2] + i * min(w.m, w.n))
    bad = umiak_small_lu(&g, type, block, NULL, <void*>floats if type == 0 else <void*>doubles, pivots)
    for l in range(count):
        singular = 0
        for k in range(w.n):
            at = l * w.n + k
            if type == 0:
                (<float*>matrix)[k * (w.n + 1)] = floats[at]
                singular |= floats[at] == 0
            else:
                (<double*>matrix)[k * (w.n + 1)] = doubles[at]
                singular |= doubles[at] == 0
        determinant(
            w, matrix, pivots + l * w.n, singular, <char*>w.ptrs[1] + (i + l) * item,
            NULL if kind == DET else <char*>w.ptrs[2] + (i + l) * w.realsize)
    return bad


cdef int run_part(void* arg, int64_t part) noexcept nogil:
    cdef Launch* w = <Launch*>arg
    cdef Launch own = w[0]     # routines are given the addresses of its lengths
    cdef int64_t i = part * w.chunk, end = min((part + 1) * w.chunk, w.batch), nbytes = ask(&own)
    cdef int code = 0, count = 1, lanes = umiak_small_lanes(w.config.type), lane
    cdef bint together = side_by_side(w)
    cdef unsigned bad
    cdef void* block = NULL
    if together:
        nbytes = max(nbytes, umiak_small_memory(w.m, w.n))
    if nbytes > 0:
        block = scratch_alloc(nbytes)
        if block == NULL:
            return NO_MEMORY
    while i < end and code == 0:
        count, bad = 1, 1
        if together and end - i >= lanes // 2:
            count = <int>min(<int64_t>lanes, end - i)
            bad = group(&own, i, count, <char*>block)
        for lane in range(count):
            if bad >> lane & 1 and code == 0:
                code = one(&own, i + lane, <char*>block)
        i += count
    if block != NULL:
        scratch_free(block)
    return code


cdef void empty(Launch* w) noexcept nogil:
    """Write the outputs of matrices without elements."""
    cdef int64_t i, m = w.m, n = w.n
    for i in range(w.batch):
        if w.config.kind == DET or w.config.kind == SLOGDET:
            put_one(<char*>w.ptrs[1] + i * w.itemsize, w.config.type)
            if w.config.kind == SLOGDET:
                memset(<char*>w.ptrs[2] + i * w.realsize, 0, w.realsize)
        elif w.config.full and w.config.vectors:
            identity(<char*>w.ptrs[1] + i * m * m * w.itemsize, m, w.config.type, w.itemsize)
            if w.config.kind == SVD:
                identity(<char*>w.ptrs[3] + i * n * n * w.itemsize, n, w.config.type, w.itemsize)


cdef int launch(void* self, void** ptrs, const int64_t* dims, const uint64_t* scalars, int64_t stream) noexcept nogil:
    """The native launch ABI. ``dims``: sizes of the batch, m, n, columns of y (or 0); for x and then y, the sizes of the own
    batch and the strides of all axes."""
    cdef Launch w
    cdef int64_t d, parts = 1, effort
    cdef int rank
    w.config = <const Config*>self
    rank = w.config.rank
    w.ptrs, w.sizes = ptrs, dims
    w.m, w.n, w.columns = dims[rank], dims[rank + 1], dims[rank + 2]
    w.x_sizes = dims + rank + 3
    w.x_strides = w.x_sizes + rank
    w.y_sizes = w.x_strides + rank + 2
    w.y_strides = w.y_sizes + rank
    w.itemsize = 4 if w.config.type == 0 else 16 if w.config.type == 3 else 8
    w.realsize = 4 if w.config.type == 0 or w.config.type == 2 else 8
    w.batch = 1
    for d in range(rank):
        w.batch *= dims[d]
    if w.batch == 0:
        return 0
    if max(w.m, max(w.n, w.columns)) > 0x7FFFFFFF:
        return TOO_LARGE
    if w.m == 0 or w.n == 0 or (w.columns == 0 and (w.config.kind == SOLVE or w.config.kind == TRIANGULAR)):
        empty(&w)
        return 0
    effort = w.batch * w.m * w.n * min(w.m, w.n)
    if w.batch > 1 and effort >= PARALLEL and thread_count() > 1:
        parts = min(w.batch, <int64_t>thread_count() * 4)
    set_threads(1 if parts > 1 or max(w.m, w.n) < LARGE else thread_count())
    w.chunk = (w.batch + parts - 1) // parts
    parts = (w.batch + w.chunk - 1) // w.chunk
    return parallel_for(run_part, &w, parts) if parts > 1 else run_part(&w, 0)


cdef class Factorisation:
    """A kernel for matrices of one dtype."""

    cdef Config config

    def __init__(self, str kind, str dtype, int rank, bint upper=False, bint transpose=False, bint unit=False, bint vectors=True, bint full=False):
        if not 0 <= rank <= MAX_BATCH_AXES:
            raise ValueError(f"[Factorisation] requires at most {MAX_BATCH_AXES} axes of a batch, got {rank}")
        self.config.kind = KINDS[kind]
        self.config.type = TYPES.index(dtype)
        self.config.rank = rank
        self.config.upper, self.config.transpose, self.config.unit = upper, transpose, unit
        self.config.vectors, self.config.full = vectors, full

    @property
    def address(self):
        """``int launch(void* self, void** ptrs, const int64_t* dims, const uint64_t* scalars, int64_t stream)``."""
        return <size_t><void*>&launch

    @property
    def self_pointer(self):
        return <size_t>&self.config


KINDS = dict(
    cholesky=CHOLESKY, lu=LU, det=DET, slogdet=SLOGDET, inverse=INVERSE, solve=SOLVE, triangular_solve=TRIANGULAR, qr=QR,
    svd=SVD, eigh=EIGH)
CODES = dict(FAILED=FAILED, TOO_LARGE=TOO_LARGE, NO_MEMORY=NO_MEMORY)
