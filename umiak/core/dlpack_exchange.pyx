# cython: language_level=3
"""DLPack's table of C functions: how libraries in C reach tensors without a call of Python.

They find it as the attribute ``__dlpack_c_exchange_api__`` of the class of tensors, a capsule. None of the functions waits: whoever
launches work asks for the current stream, and launches it there.
"""
from cpython.pycapsule cimport PyCapsule_New
from cpython.ref cimport Py_INCREF
from libc.stdint cimport int32_t

from umiak.core.context cimport EngineContext, context_pointer
from umiak.core.dlpack_abi cimport *
from umiak.core.dlpack_managed cimport COPY_IF_NEEDED, check_export, describe, dtype_of, export_new, import_new, place_of
from umiak.core.place cimport Place
from umiak.core.storage cimport ACCESS_HOST, place_access, use_on_stream
from umiak.core.stream cimport stream_handle, stream_state
from umiak.core.tensor cimport *

cdef Tensor exported(void* o):
    if not isinstance(<object>o, Tensor):
        raise TypeError(f"[__dlpack_c_exchange_api__] requires a Tensor, got {type(<object>o).__name__}")
    cdef Tensor t = <Tensor><object>o
    check_export(t)
    # Whoever asks launches work on the current stream.
    use_on_stream(t.storage, (<EngineContext>context_pointer()).stream[t.storage.place])
    return t


cdef int from_object(void* o, dl_new** out) except -1:
    out[0] = export_new(exported(o), 0)
    return 0


cdef int borrow(void* o, dl_tensor* out) except -1:
    # By the protocol whoever borrows keeps the tensor, and lets nobody else run, for as long as it reads: nothing is pinned.
    describe(out, exported(o))
    return 0


cdef int to_object(dl_new* managed, void** out) except -1:
    t = import_new(managed, COPY_IF_NEEDED)
    Py_INCREF(t)
    out[0] = <void*>t
    return 0


cdef dl_new* new_record(dl_tensor* prototype) except NULL:
    cdef EngineContext context = <EngineContext>context_pointer()
    cdef Place place = place_of(prototype.device)
    if prototype.ndim < 0 or prototype.ndim > K_RANK_MASK:
        raise ValueError(f"[allocate] requires at most {K_RANK_MASK} axes, got {prototype.ndim}")
    return export_new(new_tensor(dtype_of(prototype), prototype.ndim, prototype.shape, place.index, context.stream[place.index]), 0)


cdef int allocate(dl_tensor* prototype, dl_new** out, void* context, dl_complain complain) noexcept with gil:
    try:
        out[0] = new_record(prototype)
        return 0
    except BaseException as error:
        kind, text = type(error).__name__.encode(), str(error).encode()
        complain(context, kind, text)
        return -1


cdef int current_stream(int32_t type, int32_t id, void** out) except -1:
    cdef dl_device device = dl_device(type, id)
    cdef EngineContext context
    cdef Place place
    out[0] = NULL
    if type == DL_CPU:
        return 0
    place = place_of(device)
    if place_access(place.index) != ACCESS_HOST:
        context = <EngineContext>context_pointer()
        out[0] = stream_handle(stream_state(place.index, context.stream[place.index]))
    return 0


cdef dl_exchange TABLE
TABLE.major = DL_MAJOR
TABLE.minor = DL_MINOR
TABLE.older = NULL
TABLE.allocate = allocate
TABLE.from_object = from_object
TABLE.to_object = to_object
TABLE.borrow = borrow
TABLE.current_stream = current_stream

EXCHANGE_API = PyCapsule_New(&TABLE, "dlpack_exchange_api", NULL)
