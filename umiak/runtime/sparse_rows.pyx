# cython: binding=False
"""Matmuls of sparse and dense matrices, on contiguous arrays. See sparse_rows.h."""
cimport numpy as cnp
from libc.stdint cimport int32_t, int64_t

cdef extern from "umiak/runtime/sparse_rows.h" nogil:
    void sparse_times_f32_i32(int64_t, int64_t, const int32_t*, const int32_t*, const float*, const float*, float*)
    void sparse_times_f32_i64(int64_t, int64_t, const int64_t*, const int64_t*, const float*, const float*, float*)
    void sparse_times_f64_i32(int64_t, int64_t, const int32_t*, const int32_t*, const double*, const double*, double*)
    void sparse_times_f64_i64(int64_t, int64_t, const int64_t*, const int64_t*, const double*, const double*, double*)
    void sparse_at_f32_i32(int64_t, int64_t, const int32_t*, const int32_t*, const float*, const float*, float*)
    void sparse_at_f32_i64(int64_t, int64_t, const int64_t*, const int64_t*, const float*, const float*, float*)
    void sparse_at_f64_i32(int64_t, int64_t, const int32_t*, const int32_t*, const double*, const double*, double*)
    void sparse_at_f64_i64(int64_t, int64_t, const int64_t*, const int64_t*, const double*, const double*, double*)



def times(bint double_precision, bint long_index, int64_t m, int64_t n, cnp.ndarray crows, cnp.ndarray cols, cnp.ndarray values,
          cnp.ndarray dense, cnp.ndarray out):
    cdef void* p = cnp.PyArray_DATA(crows)
    cdef void* c = cnp.PyArray_DATA(cols)
    cdef void* v = cnp.PyArray_DATA(values)
    cdef void* x = cnp.PyArray_DATA(dense)
    cdef void* y = cnp.PyArray_DATA(out)
    with nogil:
        if double_precision and long_index:
            sparse_times_f64_i64(m, n, <int64_t*>p, <int64_t*>c, <double*>v, <double*>x, <double*>y)
        elif double_precision:
            sparse_times_f64_i32(m, n, <int32_t*>p, <int32_t*>c, <double*>v, <double*>x, <double*>y)
        elif long_index:
            sparse_times_f32_i64(m, n, <int64_t*>p, <int64_t*>c, <float*>v, <float*>x, <float*>y)
        else:
            sparse_times_f32_i32(m, n, <int32_t*>p, <int32_t*>c, <float*>v, <float*>x, <float*>y)


def at_positions(bint double_precision, bint long_index, int64_t count, int64_t k, cnp.ndarray rows, cnp.ndarray cols,
                 cnp.ndarray left, cnp.ndarray right, cnp.ndarray out):
    cdef void* r = cnp.PyArray_DATA(rows)
    cdef void* c = cnp.PyArray_DATA(cols)
    cdef void* x = cnp.PyArray_DATA(left)
    cdef void* y = cnp.PyArray_DATA(right)
    cdef void* z = cnp.PyArray_DATA(out)
    with nogil:
        if double_precision and long_index:
            sparse_at_f64_i64(count, k, <int64_t*>r, <int64_t*>c, <double*>x, <double*>y, <double*>z)
        elif double_precision:
            sparse_at_f64_i32(count, k, <int32_t*>r, <int32_t*>c, <double*>x, <double*>y, <double*>z)
        elif long_index:
            sparse_at_f32_i64(count, k, <int64_t*>r, <int64_t*>c, <float*>x, <float*>y, <float*>z)
        else:
            sparse_at_f32_i32(count, k, <int32_t*>r, <int32_t*>c, <float*>x, <float*>y, <float*>z)
