# cython: language_level=3
"""DLPack both ways, without copying.

Out: a capsule that owns a reference to the storage and pins it until the consumer calls the deleter, or until the capsule dies
unconsumed. In: a tensor over the producer's memory, whose storage calls the producer's deleter when it dies. Tensors have no
read-only state: memory that must not be written is copied.
"""
cimport cython
from cpython.object cimport PyObject
from cpython.pycapsule cimport PyCapsule_GetPointer, PyCapsule_IsValid, PyCapsule_New, PyCapsule_SetName
from cpython.ref cimport Py_DECREF, Py_INCREF
from libc.stdint cimport int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t
from libc.stdlib cimport free, malloc

from umiak.core.array cimport SHARE_NEVER, moved, operand_array, tensor_from_numpy, tensor_over
from umiak.core.context cimport EngineContext, context_pointer
from umiak.core.dtype cimport ITEMSIZE, PACKED_IDS, is_in
from umiak.core.place cimport Place, place_from_index
from umiak.core.storage cimport ACCESS_DEVICE, ACCESS_HOST, ACCESS_NOTHING, Storage, pin, place_access, resident, unpin
from umiak.core.stream cimport get_stream
from umiak.core.tensor cimport *

from umiak.util.dtypes import TABLE

cdef extern from "Python.h":
    int Py_IsInitialized() nogil

# The ABI, as fixed by DLPack 1.x (dmlc.github.io/dlpack).
cdef extern from *:
    """
    #include <stdint.h>
    typedef struct { int32_t type, id; } umiak_dl_device;
    typedef struct { uint8_t code, bits; uint16_t lanes; } umiak_dl_type;
    typedef struct {
        void *data; umiak_dl_device device; int32_t ndim; umiak_dl_type dtype; int64_t *shape, *strides; uint64_t byte_offset;
    } umiak_dl_tensor;
    typedef struct umiak_dl_old { umiak_dl_tensor t; void *manager; void (*deleter)(struct umiak_dl_old *); } umiak_dl_old;
    typedef struct umiak_dl_new {
        uint32_t major, minor; void *manager; void (*deleter)(struct umiak_dl_new *); uint64_t flags; umiak_dl_tensor t;
    } umiak_dl_new;
    """
    ctypedef struct dl_device "umiak_dl_device":
        int32_t type
        int32_t id
    ctypedef struct dl_type "umiak_dl_type":
        uint8_t code
        uint8_t bits
        uint16_t lanes
    ctypedef struct dl_tensor "umiak_dl_tensor":
        void* data
        dl_device device
        int32_t ndim
        dl_type dtype
        int64_t* shape
        int64_t* strides
        uint64_t byte_offset
    ctypedef struct dl_old "umiak_dl_old":
        dl_tensor t
        void* manager
        void (*deleter)(dl_old*) noexcept nogil
    ctypedef struct dl_new "umiak_dl_new":
        uint32_t major
        uint32_t minor
        void* manager
        void (*deleter)(dl_new*) noexcept nogil
        uint64_t flags
        dl_tensor t

cdef enum:
    DL_CPU = 1
    DL_CUDA = 2
    DL_CUDA_HOST = 3
    DL_ROCM = 10
    DL_ROCM_HOST = 11
    DL_EXTENSION = 12
    DL_CUDA_MANAGED = 13
    FLAG_READ_ONLY = 1
    FLAG_COPIED = 2
    FLAG_PADDED = 4            # elements of less than a byte have one each

cdef const char* OLD = "dltensor"
cdef const char* OLD_USED = "used_dltensor"
cdef const char* NEW = "dltensor_versioned"
cdef const char* NEW_USED = "used_dltensor_versioned"
VERSION = (1, 1)               # the first with codes for float8

# (code, bits) by dtype id.
cdef list CODE_OF_ID = [(row.dlpack, row.bits) for row in TABLE]
cdef dict ID_OF_CODE = {code: id for id, code in enumerate(CODE_OF_ID)}
cdef tuple CODE_NAMES = ("int", "uint", "float", "opaque handle ", "bfloat", "complex", "bool", "float8_e3m4 ", "float8_e4m3 ",
                         "float8_e4m3b11fnuz ", "float8_e4m3fn ", "float8_e4m3fnuz ", "float8_e5m2 ", "float8_e5m2fnuz ", "float8_e8m0fnu ",
                         "float6_e2m3fn ", "float6_e3m2fn ", "float4_e2m1fn ")
# Device types that share an address space with a backend of ours.
cdef dict DEVICES = {"cpu": DL_CPU, "gpu": DL_CUDA, "cuda": DL_CUDA, "rocm": DL_ROCM}


# ---- out

cdef void let_go(void* manager) noexcept nogil:
    # A consumer may drop its tensor when the interpreter is gone; then the memory goes with the process.
    if Py_IsInitialized():
        with gil:
            unpin(<Storage>manager)
            Py_DECREF(<Storage>manager)


cdef void delete_old(dl_old* m) noexcept nogil:
    let_go(m.manager)
    free(m)


cdef void delete_new(dl_new* m) noexcept nogil:
    let_go(m.manager)
    free(m)


cdef void drop_old(PyObject* capsule) noexcept:
    cdef dl_old* m
    if PyCapsule_IsValid(<object>capsule, OLD):             # nobody took it, or its name would have changed
        m = <dl_old*>PyCapsule_GetPointer(<object>capsule, OLD)
        if m.deleter != NULL:
            m.deleter(m)


cdef void drop_new(PyObject* capsule) noexcept:
    cdef dl_new* m
    if PyCapsule_IsValid(<object>capsule, NEW):
        m = <dl_new*>PyCapsule_GetPointer(<object>capsule, NEW)
        if m.deleter != NULL:
            m.deleter(m)


cdef tuple device_of(Tensor t):
    cdef Place place
    if t.storage is None:
        raise BufferError("[__dlpack__] requires a tensor with data, got a symbolic one")
    place = place_from_index(t.storage.place)
    access = place_access(place.index)
    if access == ACCESS_NOTHING:
        raise BufferError(f"[__dlpack__] requires a tensor with data, got one on {place.name}, which keeps none")
    if access == ACCESS_HOST:
        return DL_CPU, 0
    return DEVICES.get(place.device_type, DL_EXTENSION), place.device_id


cdef void describe(dl_tensor* d, Tensor t, tuple device, int64_t* sizes) except *:
    cdef int i
    cdef tuple code = CODE_OF_ID[t.key & K_DTYPE_MASK]
    d.data = tensor_data(t) if t.numel else NULL
    d.device.type = device[0]
    d.device.id = device[1]
    d.ndim = t.ndim
    d.dtype.code = code[0]
    d.dtype.bits = code[1]
    d.dtype.lanes = 1
    d.shape = sizes
    d.strides = sizes + t.ndim
    d.byte_offset = 0
    for i in range(t.ndim):
        sizes[i] = t.dims[i]
        sizes[t.ndim + i] = t.strides[i]


def dlpack_device(Tensor self not None):
    """``Tensor.__dlpack_device__``: (DLPack device type, device id)."""
    return device_of(self)


def dlpack(Tensor self not None, stream=None, max_version=None, dl_device=None, copy=None):
    """``Tensor.__dlpack__``: a capsule over the tensor's memory, as the array API standard describes."""
    cdef Tensor t = self
    cdef tuple device = device_of(t)
    cdef size_t room = 2 * t.ndim * sizeof(int64_t)
    cdef dl_new* m
    cdef dl_old* old
    cdef bint own = False
    if dl_device is not None and tuple(dl_device) != device:
        if dl_device[0] == DL_CPU and copy is not False and place_access(t.storage.place) == ACCESS_DEVICE:
            t = moved(t, 0)
            device = (DL_CPU, 0)
            own = True
    if dl_device is not None and tuple(dl_device) != device:
        raise BufferError(f"[__dlpack__] requires the tensor's device {device} as dl_device, got {tuple(dl_device)}. Copy the tensor there first.")
    if device[0] == DL_CPU:
        if stream is not None and stream != -1:
            raise BufferError(f"[__dlpack__] requires stream=None for memory of the host, got {stream!r}")
    elif stream != -1:
        # The consumer's stream is a handle of its own driver: all it may rely on is that our work is done.
        get_stream(t.storage.place, t.storage.stream).synchronize()
    resident(t.storage)
    if copy and not own:
        if device[0] != DL_CPU:
            raise BufferError("[__dlpack__] requires copy=None or False for memory of a device, got True")
        t = tensor_from_numpy(operand_array(t), t.storage.place, SHARE_NEVER)
        own = True
    if max_version is not None and max_version[0] >= 1:
        m = <dl_new*>malloc(sizeof(dl_new) + room)
        if m == NULL:
            raise MemoryError()
        m.major, m.minor = VERSION
        m.flags = FLAG_COPIED if own else 0
        m.deleter = delete_new
        describe(&m.t, t, device, <int64_t*>(m + 1))
        capsule = PyCapsule_New(m, NEW, NULL)
        m.manager = <void*>t.storage
        Py_INCREF(t.storage)
        pin(t.storage)
        set_destructor(capsule, drop_new)
    else:
        old = <dl_old*>malloc(sizeof(dl_old) + room)
        if old == NULL:
            raise MemoryError()
        old.deleter = delete_old
        describe(&old.t, t, device, <int64_t*>(old + 1))
        capsule = PyCapsule_New(old, OLD, NULL)
        old.manager = <void*>t.storage
        Py_INCREF(t.storage)
        pin(t.storage)
        set_destructor(capsule, drop_old)
    return capsule


cdef extern from "Python.h":
    ctypedef void (*destructor_t "PyCapsule_Destructor")(PyObject*) noexcept
    int PyCapsule_SetDestructor(object, destructor_t) except -1

cdef inline int set_destructor(object capsule, destructor_t d) except -1:
    return PyCapsule_SetDestructor(capsule, d)


# ---- in

@cython.final
@cython.no_gc
cdef class Managed:
    """Owner of memory that came by DLPack."""
    cdef dl_old* old
    cdef dl_new* new

    def __dealloc__(self):
        if self.old != NULL and self.old.deleter != NULL:
            self.old.deleter(self.old)
        if self.new != NULL and self.new.deleter != NULL:
            self.new.deleter(self.new)


cdef object capsule_of(object x, bint copy):
    """The capsule that ``x.__dlpack__`` gives; older producers know fewer arguments."""
    cdef dict extra = {"copy": True} if copy else {}
    try:
        return x.__dlpack__(max_version=VERSION, **extra)
    except TypeError:
        pass
    return x.__dlpack__()


cdef Place place_of(dl_device device):
    if device.type in (DL_CPU, DL_CUDA_HOST, DL_ROCM_HOST, DL_CUDA_MANAGED):
        return place_from_index(0)
    name = {DL_CUDA: "gpu", DL_ROCM: "rocm"}.get(device.type)
    if name is None:
        raise BufferError(f"[from_dlpack] requires memory of the host or of a gpu, got DLPack device type {device.type}")
    return Place(name, device.id)


cdef str why_copied(dl_tensor* d, uint64_t flags, int itemsize):
    if flags & FLAG_READ_ONLY:
        return "it is read-only and tensors are not"
    if (<uint64_t>d.data + d.byte_offset) % <uint64_t>min(itemsize, 8):
        return "its elements are not aligned"
    return None


cdef int refuse_spread(dl_tensor* d, uint64_t flags) except -1:
    """Of elements that share bytes only whole runs can be taken."""
    cdef int64_t step = 1
    cdef int i
    if flags & FLAG_PADDED:
        raise BufferError(f"[from_dlpack] requires elements of {d.dtype.bits} bits to share bytes, got one per byte")
    for i in range(d.ndim - 1, -1, -1):
        if d.strides != NULL and d.shape[i] > 1 and d.strides[i] != step:
            raise BufferError(f"[from_dlpack] requires elements of {d.dtype.bits} bits to lie one after the other, got strides. Copy them first.")
        step *= d.shape[i]
    return 0


def from_dlpack(x, copy=None):
    """A tensor over the memory of ``x``, which has ``__dlpack__`` or is a capsule that nobody has taken.

    ``copy``: None copies only what cannot be shared (memory that is read-only or unaligned), False raises BufferError there,
    True always copies.
    """
    cdef dl_old* old = NULL
    cdef dl_new* new = NULL
    cdef dl_tensor* d
    cdef uint64_t flags = 0
    cdef Managed owner
    cdef Place place
    cdef Tensor t
    cdef EngineContext context
    cdef int i, dtype
    cdef int64_t n = 1
    if hasattr(type(x), "__dlpack__"):
        capsule = capsule_of(x, copy is True)
    elif type(x).__name__ == "PyCapsule":
        capsule = x
    else:
        raise TypeError(f"[from_dlpack] requires an object with __dlpack__ or a capsule, got {type(x).__name__}")
    if PyCapsule_IsValid(capsule, NEW):
        new = <dl_new*>PyCapsule_GetPointer(capsule, NEW)
        if new.major != <uint32_t>VERSION[0]:
            raise BufferError(f"[from_dlpack] requires DLPack {VERSION[0]}.x, got {new.major}.{new.minor}")
        d = &new.t
        flags = new.flags
    elif PyCapsule_IsValid(capsule, OLD):
        old = <dl_old*>PyCapsule_GetPointer(capsule, OLD)
        d = &old.t
    else:
        raise ValueError(f"[from_dlpack] requires a DLPack capsule that was not taken before, got {capsule!r}")
    # Nothing is taken before all is known to fit: a refused capsule cleans up after itself.
    if d.dtype.lanes != 1 or (d.dtype.code, d.dtype.bits) not in ID_OF_CODE:
        name = CODE_NAMES[d.dtype.code] if d.dtype.code < len(CODE_NAMES) else f"type code {d.dtype.code} of "
        raise TypeError(f"[from_dlpack] requires bool, integers of 8 to 64 bits (uint8 the only unsigned), floats or complex numbers, got "
                        f"{name}{d.dtype.bits}" + (f" in vectors of {d.dtype.lanes}" if d.dtype.lanes != 1 else ""))
    dtype = ID_OF_CODE[d.dtype.code, d.dtype.bits]
    if d.ndim < 0 or d.ndim > K_RANK_MASK:
        raise ValueError(f"[from_dlpack] requires at most {K_RANK_MASK} axes, got {d.ndim}")
    for i in range(d.ndim):
        if d.shape[i] < 0:
            raise ValueError(f"[from_dlpack] requires sizes of at least 0, got {[d.shape[j] for j in range(d.ndim)]}")
        n *= d.shape[i]
    place = place_of(d.device)
    if n and place_access(place.index) == ACCESS_NOTHING:
        raise BufferError(f"[from_dlpack] requires a device with memory, got {place.name}")
    if is_in(PACKED_IDS, dtype):
        refuse_spread(d, flags)
    reason = why_copied(d, flags, ITEMSIZE[dtype] or 1) if n else None
    if reason is not None and copy is False:
        raise BufferError(f"[from_dlpack] requires memory that can be shared, got some that cannot: {reason}. Let it be copied.")
    owner = Managed.__new__(Managed)
    PyCapsule_SetName(capsule, NEW_USED if new != NULL else OLD_USED)
    owner.new = new
    owner.old = old
    if n == 0:
        context = <EngineContext>context_pointer()
        return new_tensor(dtype, d.ndim, d.shape, place.index, context.stream[place.index])
    t = tensor_over(dtype, d.ndim, d.shape, d.strides, <char*>d.data + d.byte_offset, place.index, owner)
    if reason is not None or (copy is True and not flags & FLAG_COPIED):
        if place_access(place.index) != ACCESS_HOST:
            raise BufferError(f"[from_dlpack] requires memory that can be shared, got some on {place.name} that cannot: {reason or 'copy=True'}")
        t = tensor_from_numpy(operand_array(t), place.index, SHARE_NEVER)
    return t
