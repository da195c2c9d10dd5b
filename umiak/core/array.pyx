# cython: language_level=3, binding=False
"""Tensors as NumPy arrays and back."""
cimport cython
cimport numpy as cnp
from cpython.object cimport PyObject, PyTypeObject
from cpython.ref cimport Py_INCREF
from libc.stdint cimport int64_t, uint64_t
from libc.string cimport memcpy

import numpy

from umiak.util.errors import op_error
from umiak.util.packing import pack as pack_elements, unpack as unpack_elements
from umiak.core.context cimport EngineContext, OBSERVE_TRACE, context_pointer
from umiak.core.dtype cimport (
    BFLOAT16, DType, ITEMSIZE, PACKED_IDS, bytes_of, dtype_from_id, dtype_id_from_npt, is_in,
)
from umiak.core.place cimport Place, place_from_index
from umiak.core.storage cimport ACCESS_DEVICE, ACCESS_HOST, ACCESS_NOTHING, Storage, foreign_storage, pin, place_access, resident, unpin
from umiak.core.tensor cimport *

cnp.import_array()

cdef extern from "numpy/arrayobject.h":
    ctypedef struct PyArrayObject:
        pass
    ctypedef struct PyArray_Descr:
        pass
    PyTypeObject PyArray_Type
    object PyArray_NewFromDescr(PyTypeObject* subtype, PyArray_Descr* descr, int nd, const cnp.npy_intp* dims, const cnp.npy_intp* strides,
                                void* data, int flags, PyObject* obj)
    int PyArray_SetBaseObject(PyArrayObject* array, PyObject* base) except -1      # steals base

cdef object MOVED = None                   # (tensor, place) -> the same elements there, without history: see `install`
cdef object BFLOAT16_TYPE = dtype_from_id(BFLOAT16).numpy
cdef int UINT16_NPT = numpy.dtype("uint16").num
cdef enum:
    HOST = 0                   # the index of the place "cpu"


@cython.final
@cython.no_gc
@cython.freelist(64)
cdef class Pinned:
    """Base object of an array over a tensor's memory: while it lives, the memory stays where it is."""
    cdef Storage storage

    def __dealloc__(self):
        if self.storage is not None:
            unpin(self.storage)


cdef object packed_bytes(Tensor t):
    """The memory of a tensor whose elements share bytes, as uint8 of one dim."""
    cdef cnp.npy_intp size = bytes_of(t.key & K_DTYPE_MASK, t.numel)
    return cnp.PyArray_SimpleNewFromData(1, &size, cnp.NPY_UINT8, tensor_data(t))


cdef object array_over(int dtype, int ndim, const int64_t* dims, const int64_t* strides, char* data):
    cdef cnp.npy_intp[64] steps
    cdef cnp.npy_intp* steps_or_null = NULL
    cdef object descr = dtype_from_id(dtype).numpy
    cdef int i
    if strides != NULL:
        for i in range(ndim):
            steps[i] = strides[i] * (ITEMSIZE[dtype] or 1)
        steps_or_null = steps
    Py_INCREF(descr)                                        # the reference that NewFromDescr takes
    return PyArray_NewFromDescr(
        &PyArray_Type, <PyArray_Descr*><PyObject*>descr, ndim, <cnp.npy_intp*>dims, steps_or_null, data, cnp.NPY_ARRAY_WRITEABLE, NULL)


cdef inline object make_array(Tensor t):
    cdef int dtype = t.key & K_DTYPE_MASK
    if is_in(PACKED_IDS, dtype):
        return packed_bytes(t)
    return array_over(dtype, t.ndim, t.dims, t.strides if (t.key >> K_LAYOUT_SHIFT) & K_LAYOUT_MASK else NULL, tensor_data(t))


cdef object unpacked(Tensor t):
    """A copy: NumPy's twin of a packed dtype has an element per byte."""
    return unpack_elements(make_array(t), t.numel, t.dtype.numpy).reshape(t.shape)


cdef object operand_array(Tensor t):
    resident(t.storage)
    return unpacked(t) if is_in(PACKED_IDS, t.key & K_DTYPE_MASK) else make_array(t)


cdef int put_packed(Tensor t, object array) except -1:
    """Write the elements of an array of the twin's dtype into a packed tensor."""
    make_array(t)[...] = pack_elements(array)
    return 0


cdef int need_host(int place, str what) except -1:
    cdef int access = place_access(place)
    if access == ACCESS_NOTHING:
        raise RuntimeError(f"[{what}] requires a tensor with data, got one on {place_from_index(place).name}, which keeps none")
    if access != ACCESS_HOST:
        raise ValueError(f"[{what}] requires memory of the host, got a tensor on {place_from_index(place).name}. Copy it to the cpu first.")
    return 0


cdef Tensor moved(Tensor t, int place):
    """The elements on another place, contiguous and without history. What is read on the host is there when this returns."""
    if MOVED is None:
        raise RuntimeError(f"[to] requires a way to copy from {place_from_index(t.storage.place).name} to {place_from_index(place).name}, got none. Import umiak, not umiak.core.")
    return <Tensor?>MOVED(t, place_from_index(place))


cdef int ask_tracer(Tensor t) except -1:
    """The tracer of a captured function refuses that data are read."""
    cdef EngineContext ctx = <EngineContext>context_pointer()
    if ctx.observers & OBSERVE_TRACE and ctx.trace and ctx.trace[len(ctx.trace) - 1].reads is not None:
        ctx.trace[len(ctx.trace) - 1].reads(t)
    return 0


cdef object tensor_to_numpy(Tensor t):
    cdef Pinned base
    if t.storage is None:
        raise ValueError("[numpy] requires a tensor with data, got a symbolic one")
    ask_tracer(t)
    need_host(t.storage.place, "numpy")
    resident(t.storage)
    if is_in(PACKED_IDS, t.key & K_DTYPE_MASK):
        array = unpacked(t)
        array.setflags(write=False)                        # nobody is to take a write to a copy for one to the tensor
        return array
    array = make_array(t)
    base = Pinned.__new__(Pinned)
    base.storage = t.storage
    pin(t.storage)
    Py_INCREF(base)
    PyArray_SetBaseObject(<PyArrayObject*><PyObject*>array, <PyObject*>base)
    return array


cdef Tensor tensor_over(int dtype, int ndim, const int64_t* dims, const int64_t* strides, char* data, int place, object owner):
    """A tensor over foreign memory; ``strides`` in elements, or NULL when contiguous. ``owner`` lives as long as the memory is used."""
    cdef Tensor t = Tensor.__new__(Tensor)
    cdef int64_t n = 1, low = 0, high = 0, head
    cdef int i
    t.kind = 0
    reserve_rank(t, ndim)
    for i in range(ndim - 1, -1, -1):
        t.dims[i] = dims[i]
        # The stride of an axis that is never stepped along may be anything: make it what a contiguous tensor has.
        t.strides[i] = n if strides == NULL or dims[i] <= 1 else strides[i]
        n *= dims[i]
    if n == 0:
        n = 1
        for i in range(ndim - 1, -1, -1):
            t.strides[i] = n
            n *= dims[i]
    else:
        for i in range(ndim):
            if t.strides[i] < 0:
                low += (t.dims[i] - 1) * t.strides[i]
            else:
                high += (t.dims[i] - 1) * t.strides[i]
        high += 1
    # A storage starts at a multiple of 64, so that alignment can be told from the offset alone.
    if is_in(PACKED_IDS, dtype):                           # the caller has seen that it is contiguous
        head = <uint64_t>data & 63
        t.storage = foreign_storage(place, data - head, head + bytes_of(dtype, high), owner)
        t.offset = head
        t.key = <uint32_t>dtype | (<uint32_t>place << K_PLACE_SHIFT)
        classify(t)
        return t
    head = (<uint64_t>data + low * ITEMSIZE[dtype]) & 63
    t.storage = foreign_storage(place, data + low * ITEMSIZE[dtype] - head, head + (high - low) * ITEMSIZE[dtype], owner)
    t.offset = head - low * ITEMSIZE[dtype]
    t.key = <uint32_t>dtype | (<uint32_t>place << K_PLACE_SHIFT)
    classify(t)
    return t


cdef str why_not_shared(cnp.ndarray a, int itemsize):
    """The reason why a tensor cannot lie over this array's memory, or None."""
    cdef int i
    if not itemsize:
        return "it has one element per byte and tensors of its dtype have several"
    if not cnp.PyArray_ISNOTSWAPPED(a):
        return "its bytes are swapped"
    if not cnp.PyArray_ISWRITEABLE(a):
        return "it is read-only and tensors are not"
    if <size_t>cnp.PyArray_DATA(a) % <size_t>min(itemsize, 8):
        return "its elements are not aligned"
    for i in range(cnp.PyArray_NDIM(a)):
        if cnp.PyArray_DIM(a, i) > 1 and cnp.PyArray_STRIDE(a, i) % itemsize:
            return f"its stride of {cnp.PyArray_STRIDE(a, i)} bytes is no multiple of the {itemsize} bytes of an element"
    return None


cdef Tensor tensor_from_numpy(object array, int place, int share):
    cdef EngineContext context
    cdef int64_t[64] strides
    cdef cnp.ndarray a
    cdef Tensor t
    cdef int dtype, itemsize, i, access
    cdef int64_t nbytes
    cdef char* target
    cdef const char* source
    if not isinstance(array, numpy.ndarray):
        raise TypeError(f"[from_numpy] requires a numpy.ndarray, got {type(array).__name__}")
    a = array
    if cnp.PyArray_TYPE(a) == UINT16_NPT:
        a = a.view(a.dtype.newbyteorder("=")) if cnp.PyArray_ISNOTSWAPPED(a) else a.astype("uint16")
        a = a.view(BFLOAT16_TYPE)
    try:
        dtype = dtype_id_from_npt(cnp.PyArray_TYPE(a))
    except TypeError:
        raise op_error(
            TypeError, "from_numpy",
            "an array of bool, integers of 8 to 64 bits (uint8 the only unsigned), floats of 8 to 64 bits or complex numbers",
            f"dtype {a.dtype}", "Convert it with .astype().") from None
    access = place_access(place)
    itemsize = ITEMSIZE[dtype]
    if share:
        reason = why_not_shared(a, itemsize) if access == ACCESS_HOST else f"{place_from_index(place).name} cannot use the host's memory"
        if reason is None:
            for i in range(cnp.PyArray_NDIM(a)):
                strides[i] = cnp.PyArray_STRIDE(a, i) // itemsize
            return tensor_over(dtype, cnp.PyArray_NDIM(a), <int64_t*>cnp.PyArray_DIMS(a), strides, <char*>cnp.PyArray_DATA(a), place, a)
        if share == SHARE_ALWAYS:
            raise ValueError(f"[from_numpy] requires an array that can be shared, got one that cannot: {reason}. Let it be copied.")
    if access == ACCESS_DEVICE:
        return moved(tensor_from_numpy(a, HOST, SHARE_IF_POSSIBLE), place)
    context = <EngineContext>context_pointer()
    t = new_tensor(dtype, cnp.PyArray_NDIM(a), <int64_t*>cnp.PyArray_DIMS(a), place, context.stream[place])
    if access == ACCESS_HOST and not itemsize:
        put_packed(t, a)
    elif access == ACCESS_HOST:
        if cnp.PyArray_IS_C_CONTIGUOUS(a) and cnp.PyArray_ISNOTSWAPPED(a):
            nbytes = t.numel * itemsize
            target = tensor_data(t)
            source = <char*>cnp.PyArray_DATA(a)
            if nbytes > 1 << 18:
                with nogil:
                    memcpy(target, source, nbytes)
            else:
                memcpy(target, source, nbytes)
        else:
            numpy.copyto(make_array(t), a)
    return t


# ---- Python face

def install(moved):
    """Set how elements come from one place to another: ``moved(tensor, place)``."""
    global MOVED
    MOVED = moved


def to_numpy(Tensor t not None):
    return tensor_to_numpy(t)


def host_values(Tensor t not None):
    if t.storage is not None and place_access(t.storage.place) == ACCESS_DEVICE:
        ask_tracer(t)
        t = moved(t, HOST)
    return tensor_to_numpy(t)


def operand(Tensor t not None):
    """The array that a Python kernel sees. It is valid only while the tensor is: do not keep it."""
    need_host(t.storage.place, "operand")
    return operand_array(t)


def from_numpy(array, Place place=None, copy=True):
    if place is None:
        place = (<EngineContext>context_pointer()).state.place
        if place is None:
            raise RuntimeError("[from_numpy] requires a place, got none and there is no default one. Import umiak before making tensors.")
    return tensor_from_numpy(array, place.index, SHARE_IF_POSSIBLE if copy is None else SHARE_NEVER if copy else SHARE_ALWAYS)
