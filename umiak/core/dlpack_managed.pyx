# cython: language_level=3, binding=False
"""Tensors as DLPack's managed tensors, and tensors over those of others, without copying.

Out: a record that owns a reference to the storage and pins it until the consumer calls the deleter. In: a tensor over the
producer's memory, whose storage calls the producer's deleter when it dies. A record of our own that comes back gives a tensor of the storage that
it was made of, which can move again. Tensors have no read-only state: memory that must not be written is copied.
"""
cimport cython
from cpython.object cimport PyObject, PyTypeObject
from cpython.ref cimport Py_DECREF, Py_INCREF
from libc.stdint cimport int64_t, uint64_t
from libc.stdlib cimport free, malloc
from libc.string cimport memcpy

from umiak.core.array cimport SHARE_NEVER, array_over, ask_tracer, moved, operand_array, tensor_from_numpy, tensor_over
from umiak.core.context cimport OBSERVE_TRACE, EngineContext, context_pointer
from umiak.core.dlpack_abi cimport *
from umiak.core.dtype cimport DTYPE_COUNT, INT16, INT32, INT64, ITEMSIZE, PACKED_IDS, is_in
from umiak.core.place cimport Place, dlpack_type, place_from_index
from umiak.core.storage cimport ACCESS_HOST, ACCESS_NOTHING, Storage, pin, place_access, resident, unpin
from umiak.core.tensor cimport *

from umiak.util.dtypes import TABLE

cdef extern from "Python.h":
    int Py_IsInitialized() nogil
    int PyGILState_Check() nogil

cdef enum:
    HOST_PLACE = 0             # the index of the place

cdef int64_t MOST_ELEMENTS = (<int64_t>1 << 62) // 128     # of the widest dtype, so that its bits can be counted in 64
cdef dl_type[32] TYPES         # by dtype id
for _id, _row in enumerate(TABLE):
    TYPES[_id].code, TYPES[_id].bits, TYPES[_id].lanes = _row.dlpack, _row.bits, 1

cdef tuple CODE_NAMES = ("int", "uint", "float", "opaque handle ", "bfloat", "complex", "bool", "float8_e3m4 ", "float8_e4m3 ",
                         "float8_e4m3b11fnuz ", "float8_e4m3fn ", "float8_e4m3fnuz ", "float8_e5m2 ", "float8_e5m2fnuz ", "float8_e8m0fnu ",
                         "float6_e2m3fn ", "float6_e3m2fn ", "float4_e2m1fn ")


# ---- out

# Records of few axes are of one size and used again: to allocate and free one takes a third of a call of C with a tensor.
cdef enum:
    MOST_SPARE = 32
    HEAD = 16                  # bytes before a record, which say whether it is of that size

cdef char* SPARE[MOST_SPARE]
cdef int SPARES = 0

cdef void* take_record(int ndim) except NULL:
    global SPARES
    cdef char* block
    if ndim <= INLINE_RANK and SPARES:
        SPARES -= 1
        return SPARE[SPARES] + HEAD
    block = <char*>malloc(HEAD + sizeof(dl_new) + 2 * max(ndim, INLINE_RANK) * sizeof(int64_t))
    if block == NULL:
        raise MemoryError()
    (<int64_t*>block)[0] = ndim <= INLINE_RANK
    return block + HEAD


cdef void put_record(void* m) noexcept:
    global SPARES
    cdef char* block = <char*>m - HEAD
    if (<int64_t*>block)[0] and SPARES < MOST_SPARE:
        SPARE[SPARES] = block
        SPARES += 1
    else:
        free(block)


ctypedef void (*release_t)(void* m, void* manager) noexcept nogil

cdef void release(void* m, void* manager) noexcept:
    put_record(m)
    unpin(<Storage>manager)
    Py_DECREF(<Storage>manager)


cdef void let_go(void* m, void* manager) noexcept nogil:
    # A consumer may drop its tensor on any thread, and when the interpreter is gone; then the memory goes with the process.
    if PyGILState_Check():
        (<release_t>release)(m, manager)                   # `with gil` would take it again: 30 ns
    elif Py_IsInitialized():
        with gil:
            release(m, manager)


cdef void delete_old(dl_old* m) noexcept nogil:
    let_go(m, m.manager)


cdef void delete_new(dl_new* m) noexcept nogil:
    let_go(m, m.manager)


cdef int refuse_export(Tensor t) except -1:
    if t.kind & (KIND_SPARSE | KIND_SELECTED_ROWS):
        raise BufferError("[__dlpack__] requires a dense tensor, got a sparse one. Use to_dense() or values().")
    raise BufferError("[__dlpack__] requires a tensor with data, got a symbolic one")


cdef int check_export(Tensor t) except -1:
    if t.storage is None or t.kind & (KIND_SPARSE | KIND_SELECTED_ROWS | KIND_SYMBOLIC | KIND_UNMADE):
        refuse_export(t)
    if (<EngineContext>context_pointer()).observers & OBSERVE_TRACE:
        ask_tracer(t)
    return 0


cdef int device_of(Tensor t, dl_device* out) except -1:
    cdef Place place
    cdef int access = ACCESS_HOST if t.storage.place == HOST_PLACE else place_access(t.storage.place)
    if access == ACCESS_HOST:
        out.type = DL_CPU
        out.id = 0
        return 0
    place = place_from_index(t.storage.place)
    if access == ACCESS_NOTHING:
        raise BufferError(f"[__dlpack__] requires a tensor with data, got one on {place.name}, which keeps none")
    out.type = dlpack_type(place)
    out.id = place.device_id
    return 0


cdef inline void fill(dl_tensor* d, Tensor t, dl_device device) noexcept:
    d.data = tensor_data(t) if t.numel else NULL
    d.device = device
    d.ndim = t.ndim
    d.dtype = TYPES[t.key & K_DTYPE_MASK]
    d.byte_offset = 0


cdef int describe(dl_tensor* d, Tensor t) except -1:
    cdef dl_device device
    device_of(t, &device)
    resident(t.storage)
    fill(d, t, device)
    d.shape = t.dims
    d.strides = t.strides
    return 0


cdef inline void keep(dl_tensor* d, Tensor t, int64_t* sizes) noexcept:
    """Sizes and strides in the record itself: those of the tensor may change. Its memory may not move."""
    cdef int i
    for i in range(t.ndim):    # few: a call of memcpy takes longer
        sizes[i] = t.dims[i]
        sizes[t.ndim + i] = t.strides[i]
    d.shape = sizes
    d.strides = sizes + t.ndim
    Py_INCREF(t.storage)
    pin(t.storage)


cdef dl_new* export_new(Tensor t, uint64_t flags) except NULL:
    cdef dl_device device
    device_of(t, &device)
    resident(t.storage)
    cdef dl_new* m = <dl_new*>take_record(t.ndim)
    m.major = DL_MAJOR
    m.minor = DL_MINOR
    m.manager = <void*>t.storage
    m.deleter = delete_new
    m.flags = flags
    fill(&m.t, t, device)
    keep(&m.t, t, <int64_t*>(m + 1))
    return m


cdef dl_old* export_old(Tensor t) except NULL:
    cdef dl_device device
    device_of(t, &device)
    resident(t.storage)
    cdef dl_old* m = <dl_old*>take_record(t.ndim)
    m.manager = <void*>t.storage
    m.deleter = delete_old
    fill(&m.t, t, device)
    keep(&m.t, t, <int64_t*>(m + 1))
    return m


# ---- in

@cython.final
@cython.no_gc
cdef class Managed:

    def __dealloc__(self):
        if self.old != NULL and self.old.deleter != NULL:
            self.old.deleter(self.old)
        if self.new != NULL and self.new.deleter != NULL:
            self.new.deleter(self.new)


cdef Place place_of(dl_device device):
    if device.type in (DL_CPU, DL_CUDA_HOST, DL_ROCM_HOST, DL_CUDA_MANAGED):
        return place_from_index(0)
    if device.type not in (DL_CUDA, DL_ROCM):
        raise BufferError(f"[from_dlpack] requires memory of the host or of a gpu, got DLPack device type {device.type}")
    return Place("gpu" if device.type == DL_CUDA else "rocm", device.id)


cdef int dtype_of(dl_tensor* d) except -1:
    cdef int i
    for i in range(DTYPE_COUNT):
        if TYPES[i].code == d.dtype.code and TYPES[i].bits == d.dtype.bits and d.dtype.lanes == 1:
            return i
    name = CODE_NAMES[d.dtype.code] if d.dtype.code < len(CODE_NAMES) else f"type code {d.dtype.code} of "
    raise TypeError(f"[from_dlpack] requires bool, integers of 8 to 64 bits (uint8 the only unsigned), floats or complex numbers, got "
                    f"{name}{d.dtype.bits}" + (f" in vectors of {d.dtype.lanes}" if d.dtype.lanes != 1 else "")
                    + ". Convert it first, unsigned integers to a wider type.")


cdef str why_copied(dl_tensor* d, uint64_t flags, int itemsize):
    if flags & FLAG_READ_ONLY:
        return "it is read-only and tensors are not"
    if (<uint64_t>d.data + d.byte_offset) % <uint64_t>min(itemsize, 8):
        return "its elements are not aligned"
    return None


cdef int refuse_spread(dl_tensor* d) except -1:
    """Of elements that share bytes only whole runs can be taken."""
    cdef int64_t step = 1
    cdef int i
    for i in range(d.ndim - 1, -1, -1):
        if d.strides != NULL and d.shape[i] > 1 and d.strides[i] != step:
            raise BufferError(f"[from_dlpack] requires elements of {d.dtype.bits} bits to lie one after the other, got strides. Copy them first.")
        step *= d.shape[i]
    return 0


cdef Tensor over_own(int dtype, dl_tensor* d, Storage s):
    """A tensor of the storage that the record was made of."""
    cdef Tensor t = Tensor.__new__(Tensor)
    t.kind = 0
    reserve_rank(t, d.ndim)
    memcpy(t.dims, d.shape, d.ndim * sizeof(int64_t))
    memcpy(t.strides, d.strides, d.ndim * sizeof(int64_t))
    t.storage = s
    t.offset = <char*>d.data - s.data
    t.key = <uint32_t>dtype | (<uint32_t>s.place << K_PLACE_SHIFT)
    classify(t)
    return t


cdef Tensor packed_copy(int dtype, dl_tensor* d, int place):
    """Elements that have a byte each, as ones that share bytes."""
    return tensor_from_numpy(array_over(dtype, d.ndim, d.shape, d.strides, <char*>d.data + d.byte_offset), place, SHARE_NEVER)


cdef int wider(dl_tensor* d) noexcept:
    """The dtype that has the numbers of an unsigned one, which tensors lack; -1 of others."""
    if d.dtype.code != DL_UINT or d.dtype.lanes != 1:
        return -1
    return INT32 if d.dtype.bits == 16 else INT64 if d.dtype.bits in (32, 64) else -1


cdef Tensor widened(int dtype, dl_tensor* d, int place):
    """A copy of unsigned integers of the host in a signed dtype."""
    cdef int signed = INT16 if d.dtype.bits == 16 else INT32 if d.dtype.bits == 32 else INT64
    elements = array_over(signed, d.ndim, d.shape, d.strides, <char*>d.data + d.byte_offset)
    elements = elements.view(f"u{d.dtype.bits // 8}")
    if d.dtype.bits == 64 and elements.size and int(elements.max()) >> 63:
        raise OverflowError(f"[from_dlpack] requires integers that int64 has, got {elements.max()} of uint64")
    return tensor_from_numpy(elements.astype(f"i{ITEMSIZE[dtype]}"), place, SHARE_NEVER)


cdef Tensor tensor_over_record(dl_tensor* d, uint64_t flags, int copy, Storage own, Managed owner):
    """A tensor over the memory of a record, or with a copy of it. ``own``: the storage, where the record is one of ours."""
    cdef Place place
    cdef Tensor t
    cdef EngineContext context
    cdef int i, access
    cdef int wide = wider(d)
    cdef int dtype = dtype_of(d) if wide < 0 else wide
    cdef int64_t n = 1
    cdef bint padded, empty = False
    if d.ndim < 0 or d.ndim > K_RANK_MASK:
        raise ValueError(f"[from_dlpack] requires at most {K_RANK_MASK} axes, got {d.ndim}")
    for i in range(d.ndim):
        if d.shape[i] < 0:
            raise ValueError(f"[from_dlpack] requires sizes of at least 0, got {[d.shape[j] for j in range(d.ndim)]}")
        empty |= d.shape[i] == 0
    for i in range(0 if empty else d.ndim):
        if n > MOST_ELEMENTS // d.shape[i]:
            raise ValueError(f"[from_dlpack] requires elements that 64 bits can count, got sizes {[d.shape[j] for j in range(d.ndim)]}")
        n *= d.shape[i]
    place = place_of(d.device) if own is None else place_from_index(own.place)
    access = ACCESS_HOST if place.index == HOST_PLACE else place_access(place.index)
    if empty:
        context = <EngineContext>context_pointer()
        return new_tensor(dtype, d.ndim, d.shape, place.index, context.stream[place.index])
    if access == ACCESS_NOTHING:
        raise BufferError(f"[from_dlpack] requires a device with memory, got {place.name}")
    if wide >= 0:
        if copy == COPY_NEVER or access != ACCESS_HOST:
            raise BufferError(f"[from_dlpack] requires a type that tensors have to share memory, got uint{d.dtype.bits} on {place.name}. "
                              f"{'Let it be copied' if copy == COPY_NEVER else 'Convert it there'}, to {'int32' if dtype == INT32 else 'int64'}.")
        return widened(dtype, d, place.index)
    padded = is_in(PACKED_IDS, dtype) and flags & FLAG_PADDED
    if is_in(PACKED_IDS, dtype) and not padded:
        refuse_spread(d)
    reason = "its elements have a byte each and those of tensors share bytes" if padded else why_copied(d, flags, ITEMSIZE[dtype] or 1)
    if reason is not None and copy == COPY_NEVER:
        raise BufferError(f"[from_dlpack] requires memory that can be shared, got some that cannot: {reason}. Let it be copied.")
    if padded:
        if access != ACCESS_HOST:
            raise BufferError(f"[from_dlpack] requires elements of {d.dtype.bits} bits on {place.name} to share bytes, got one per byte")
        return packed_copy(dtype, d, place.index)
    if own is not None:
        t = over_own(dtype, d, own)
    else:
        t = tensor_over(dtype, d.ndim, d.shape, d.strides, <char*>d.data + d.byte_offset, place.index, owner)
        context = <EngineContext>context_pointer()
        t.storage.stream = context.stream[place.index]     # the one that the producer was told of
    if reason is not None or (copy == COPY_ALWAYS and not flags & FLAG_COPIED):
        return tensor_from_numpy(operand_array(t), place.index, SHARE_NEVER) if access == ACCESS_HOST else moved(t, place.index)
    return t


cdef Tensor import_old(dl_old* m, int copy):
    cdef Managed owner
    cdef Tensor t
    if m.deleter == delete_old:
        t = tensor_over_record(&m.t, 0, copy, <Storage>m.manager, None)
        m.deleter(m)
        return t
    owner = Managed.__new__(Managed)
    t = tensor_over_record(&m.t, 0, copy, None, owner)
    owner.old = m                                      # nothing fails from here on: it is taken
    return t


cdef Tensor import_new(dl_new* m, int copy):
    if m.major != DL_MAJOR:
        raise BufferError(f"[from_dlpack] requires DLPack {DL_MAJOR}.x, got {m.major}.{m.minor}")
    cdef Managed owner
    cdef Tensor t
    if m.deleter == delete_new:
        t = tensor_over_record(&m.t, m.flags, copy, <Storage>m.manager, None)
        m.deleter(m)
        return t
    owner = Managed.__new__(Managed)
    t = tensor_over_record(&m.t, m.flags, copy, None, owner)
    owner.new = m
    return t
