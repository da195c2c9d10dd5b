"""Data types: interned records, one per id. See dtype.pyi for the Python face."""
cimport cython

cdef enum:
    DTYPE_COUNT = 14
    BOOL = 0
    UINT8 = 1
    INT8 = 2
    INT16 = 3
    INT32 = 4
    INT64 = 5
    FLOAT16 = 6
    BFLOAT16 = 7
    FLOAT32 = 8
    FLOAT64 = 9
    COMPLEX64 = 10
    COMPLEX128 = 11
    FLOAT8_E4M3FN = 12
    FLOAT8_E5M2 = 13

cdef int[16] ITEMSIZE                   # bytes per element, by id

@cython.final
cdef class DType:
    cdef readonly int id
    cdef readonly int itemsize
    cdef readonly int npt               # NumPy's type number (for the types of ml_dtypes: in this process)
    cdef readonly bint is_bool
    cdef readonly bint is_integer       # bool excluded
    cdef readonly bint is_floating
    cdef readonly bint is_complex
    cdef readonly str name
    cdef readonly object numpy          # numpy.dtype
    cdef readonly DType compute         # what arithmetic is done in
    cdef readonly DType real            # the type of the parts of a complex number; itself otherwise

cdef DType dtype_from_id(int id)        # borrows nothing, checks nothing: 0 <= id < DTYPE_COUNT
cdef int dtype_id_from_npt(int npt) except -1
