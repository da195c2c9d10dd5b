"""Tensors as DLPack's managed tensors, and tensors over those of others: see dlpack_managed.pyx."""
from libc.stdint cimport uint64_t

from umiak.core.dlpack_abi cimport dl_device, dl_new, dl_old, dl_tensor
from umiak.core.place cimport Place
from umiak.core.tensor cimport Tensor

cdef enum:
    COPY_NEVER = 0             # or BufferError
    COPY_IF_NEEDED = 1
    COPY_ALWAYS = 2

cdef class Managed:
    """Owner of memory that came by DLPack: calls its deleter, once."""
    cdef dl_old* old
    cdef dl_new* new

cdef int check_export(Tensor t) except -1          # BufferError where there are no data to show
cdef int device_of(Tensor t, dl_device* out) except -1
cdef int describe(dl_tensor* d, Tensor t) except -1        # sizes and strides stay the tensor's own
cdef dl_new* export_new(Tensor t, uint64_t flags) except NULL      # both pin the memory until the deleter is called
cdef dl_old* export_old(Tensor t) except NULL
cdef Place place_of(dl_device device)
cdef int dtype_of(dl_tensor* d) except -1
cdef Tensor import_old(dl_old* m, int copy)        # both take what they are given if they return, and nothing if they raise
cdef Tensor import_new(dl_new* m, int copy)
