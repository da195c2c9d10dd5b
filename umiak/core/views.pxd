"""The history of views: see views.pyx and docs/design/views.md."""
from umiak.core.tensor cimport Tensor, ViewOrigin

cdef tuple view_params(ViewOrigin r)
cdef int refresh(Tensor t) except -1
cdef bint drop_stale_view(Tensor t) noexcept
cdef Tensor with_current_history(Tensor t)
cdef int take_history(Tensor x, Tensor value) except -1
