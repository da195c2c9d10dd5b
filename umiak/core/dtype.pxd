"""Data types: interned objects, one per id. See dtype.pyi for the Python API."""
cimport cython
from libc.stdint cimport int64_t, uint32_t

include "umiak/core/dtype_ids.pxi"

cdef int[32] BITS                       # of an element in memory, by id
cdef int[32] ITEMSIZE                   # bytes of an element; 0 where several share one

@cython.final
cdef class DType:
    cdef readonly int id
    cdef readonly int bits              # of an element in memory
    cdef readonly int npt               # NumPy's type number (for the types of ml_dtypes: in this process)
    cdef readonly bint is_bool
    cdef readonly bint is_integer       # bool excluded
    cdef readonly bint is_floating
    cdef readonly bint is_complex
    cdef readonly bint is_packed        # several elements share a byte
    cdef readonly bint is_continuous    # has gradients: floating or complex, of whole bytes
    cdef readonly str name
    cdef readonly object numpy          # numpy.dtype
    cdef readonly DType compute         # what arithmetic is done in
    cdef readonly DType real            # the type of the parts of a complex number; itself otherwise
    cdef readonly DType carrier         # a type of whole bytes with all of the numbers of a packed one; itself otherwise

cdef DType dtype_from_id(int id)        # borrows nothing, checks nothing: 0 <= id < DTYPE_COUNT
cdef int dtype_id_from_npt(int npt) except -1

cdef inline int64_t bytes_of(int id, int64_t count) noexcept nogil:
    """Bytes of ``count`` elements one after the other."""
    return (count * BITS[id] + 7) >> 3

cdef inline bint is_in(uint32_t ids, int id) noexcept nogil:
    """Return whether a set of ids (FLOATING_IDS, ...) has this one."""
    return (ids >> id) & 1
