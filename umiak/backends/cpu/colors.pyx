# cython: binding=False
"""Changes of colours, by colors.h, in the memory of PIL images. See colors.pyi."""
from cpython.pycapsule cimport PyCapsule_GetPointer
from libc.stdint cimport int32_t, int64_t, uint32_t
from libc.string cimport strcmp

cdef extern from "umiak/backends/cpu/colors.h" nogil:
    void colors_shift_hues(const uint32_t* x, uint32_t* out, int64_t n, int32_t shift)
    void colors_blend_value(const uint32_t* x, uint32_t* out, int64_t n, float value, float factor)
    void colors_blend_grey(const uint32_t* x, uint32_t* out, int64_t n, float factor)
    int64_t colors_sum_of_brightness(const uint32_t* x, int64_t n)

# The ABI, as fixed by the Arrow C data interface (arrow.apache.org/docs/format/CDataInterface.html).
cdef extern from *:
    """
    #include <stdint.h>
    typedef struct umiak_arrow_schema {
        const char *format, *name, *metadata; int64_t flags, n_children; struct umiak_arrow_schema **children, *dictionary;
        void (*release)(struct umiak_arrow_schema *); void *private_data;
    } umiak_arrow_schema;
    typedef struct umiak_arrow_array {
        int64_t length, null_count, offset, n_buffers, n_children; const void **buffers;
        struct umiak_arrow_array **children, *dictionary; void (*release)(struct umiak_arrow_array *); void *private_data;
    } umiak_arrow_array;
    """
    ctypedef struct arrow_schema "umiak_arrow_schema":
        const char* format
        int64_t n_children
        arrow_schema** children
    ctypedef struct arrow_array "umiak_arrow_array":
        int64_t length
        int64_t offset
        int64_t n_buffers
        int64_t n_children
        const void** buffers
        arrow_array** children


cdef class Pixels:
    cdef object owner                   # the capsule, whose end releases the memory
    cdef uint32_t* data
    cdef readonly int64_t count

    def __init__(self, tuple exported):
        cdef arrow_schema* schema = <arrow_schema*>PyCapsule_GetPointer(exported[0], "arrow_schema")
        cdef arrow_array* array = <arrow_array*>PyCapsule_GetPointer(exported[1], "arrow_array")
        cdef arrow_array* values
        if strcmp(schema.format, "+w:4") or schema.n_children != 1 or strcmp(schema.children[0].format, "C"):
            raise ValueError(f"[Pixels] requires lists of 4 bytes (+w:4 of C), got {schema.format.decode()!r}")
        values = array.children[0]
        self.owner = exported[1]
        self.count = array.length
        self.data = <uint32_t*>values.buffers[1] + array.offset + values.offset // 4

    def shift_hues(self, Pixels out not None, int32_t shift):
        need_as_many(self, out)
        with nogil:
            colors_shift_hues(self.data, out.data, self.count, shift)

    def blend_value(self, Pixels out not None, float value, float factor):
        need_as_many(self, out)
        with nogil:
            colors_blend_value(self.data, out.data, self.count, value, factor)

    def blend_grey(self, Pixels out not None, float factor):
        need_as_many(self, out)
        with nogil:
            colors_blend_grey(self.data, out.data, self.count, factor)

    def mean_brightness(self):
        cdef int64_t total
        with nogil:
            total = colors_sum_of_brightness(self.data, self.count)
        return total / <double>self.count


cdef int need_as_many(Pixels x, Pixels out) except -1:
    if x.count != out.count:
        raise ValueError(f"[Pixels] requires as many pixels of the result, got {x.count} and {out.count}")
    return 0
