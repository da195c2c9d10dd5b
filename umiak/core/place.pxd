"""Places: where a tensor's memory is. See place.pyi for the Python face."""
cimport cython

cdef enum:
    PLACE_COUNT = 64                    # places of one process; an index fits in six bits

@cython.final
cdef class Place:
    cdef readonly int index             # of this place, in order of first use; 0 is the cpu
    cdef readonly int type_index        # of its device type; 0 is the cpu
    cdef readonly int device_id
    cdef readonly str device_type

cdef Place place_from_index(int index)  # unchecked: an index that some place has
cdef int dlpack_type(Place place) except -1     # DLPack's number of its device type
