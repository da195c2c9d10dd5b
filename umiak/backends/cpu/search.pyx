# cython: binding=False
"""Distinct elements, searches in rows, greatest common divisors: on contiguous memory, by address. See search.h."""
from libc.stdint cimport int32_t, int64_t
from libc.stdlib cimport free, malloc

cdef extern from "umiak/backends/cpu/search.h" nogil:
    int order_bytes(int type)
    int64_t order_memory(int64_t n, int type)
    int64_t order_unique(const void* row, int64_t n, int type, void* memory, int64_t most, int64_t* first, int64_t* count,
                         int64_t* inverse)
    void order_search_i64(const int64_t* row, int64_t n, const int64_t* value, int64_t m, int after, int64_t* found)
    void order_search_i32(const int32_t* row, int64_t n, const int32_t* value, int64_t m, int after, int64_t* found)
    void order_search_f64(const double* row, int64_t n, const double* value, int64_t m, int after, int64_t* found)
    void order_search_f32(const float* row, int64_t n, const float* value, int64_t m, int after, int64_t* found)
    void order_gcd_i64(const int64_t* x, const int64_t* y, int64_t n, int64_t* out)
    void order_gcd_i32(const int32_t* x, const int32_t* y, int64_t n, int32_t* out)

TYPES = ("uint8", "int8", "int16", "int32", "int64", "float16", "bfloat16", "float32", "float64")
LONGEST = (1 << 32) - 1


def unique(size_t x, int type, int64_t n, int64_t most=0, size_t first=0, size_t count=0, size_t inverse=0):
    """Count the distinct elements; give the first positions and counts of up to ``most``, and the inverse."""
    cdef void* memory
    cdef int64_t found
    if not 0 <= type < len(TYPES) or not 0 <= n <= LONGEST:
        raise ValueError(f"[search.unique] requires a type below {len(TYPES)} and 0 <= n < 2**32, got {type} and {n}")
    memory = malloc(order_memory(n, type))
    if memory == NULL:
        raise MemoryError(f"no memory to sort {n} elements")
    with nogil:
        found = order_unique(<const void*>x, n, type, memory, most, <int64_t*>first, <int64_t*>count, <int64_t*>inverse)
    free(memory)
    return found


def search(size_t rows, int type, int64_t count, int64_t n, size_t values, int64_t m, bint after, size_t found):
    """Search the positions of ``m`` values each in ``count`` rows of ``n``: int32, int64, float32 or float64."""
    cdef const char* row = <const char*>rows
    cdef const char* value = <const char*>values
    cdef int64_t* place = <int64_t*>found
    cdef int size = order_bytes(type)
    cdef int64_t i
    if TYPES[type] not in ("int32", "int64", "float32", "float64"):
        raise ValueError(f"[search.search] requires int32, int64, float32 or float64, got {TYPES[type]}")
    with nogil:
        for i in range(count):
            if type == 3:
                order_search_i32(<const int32_t*>row, n, <const int32_t*>value, m, after, place)
            elif type == 4:
                order_search_i64(<const int64_t*>row, n, <const int64_t*>value, m, after, place)
            elif type == 7:
                order_search_f32(<const float*>row, n, <const float*>value, m, after, place)
            else:
                order_search_f64(<const double*>row, n, <const double*>value, m, after, place)
            row += n * size
            value += m * size
            place += m


def gcd(size_t x, size_t y, int type, int64_t n, size_t out):
    """Element by element: int32 or int64."""
    if TYPES[type] not in ("int32", "int64"):
        raise ValueError(f"[search.gcd] requires int32 or int64, got {TYPES[type]}")
    with nogil:
        if type == 3:
            order_gcd_i32(<const int32_t*>x, <const int32_t*>y, n, <int32_t*>out)
        else:
            order_gcd_i64(<const int64_t*>x, <const int64_t*>y, n, <int64_t*>out)
