# cython: language_level=3
"""DLPack in Python: capsules, and the methods by which libraries ask for them."""
from cpython.object cimport PyObject
from cpython.pycapsule cimport PyCapsule_CheckExact, PyCapsule_GetPointer, PyCapsule_IsValid, PyCapsule_SetName

from umiak.core.array cimport SHARE_NEVER, moved, operand_array, tensor_from_numpy
from umiak.core.context cimport EngineContext, context_pointer
from umiak.core.dlpack_abi cimport DL_CPU, DL_CUDA, DL_MAJOR, DL_MINOR, DL_ROCM, FLAG_COPIED, dl_device as dl_device_t, dl_new, dl_old
from umiak.core.dlpack_managed cimport (
    COPY_ALWAYS, COPY_IF_NEEDED, COPY_NEVER, check_export, device_of, export_new, export_old, import_new, import_old,
)
from umiak.core.place cimport Place
from umiak.core.storage cimport ACCESS_DEVICE, place_access, resident
from umiak.core.stream cimport stream_handle, stream_state
from umiak.core.tensor cimport *

cdef extern from "Python.h":
    ctypedef void (*destructor_t "PyCapsule_Destructor")(PyObject*) noexcept
    object new_capsule "PyCapsule_New" (void*, const char*, destructor_t)

cdef const char* OLD = "dltensor"
cdef const char* OLD_USED = "used_dltensor"
cdef const char* NEW = "dltensor_versioned"
cdef const char* NEW_USED = "used_dltensor_versioned"
VERSION = (DL_MAJOR, DL_MINOR)


# ---- out

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


cdef object versioned(dl_new* m):
    try:
        return new_capsule(m, NEW, drop_new)
    except MemoryError:
        m.deleter(m)
        raise


cdef object unversioned(dl_old* m):
    try:
        return new_capsule(m, OLD, drop_old)
    except MemoryError:
        m.deleter(m)
        raise


def dlpack_device(Tensor self not None):
    """``Tensor.__dlpack_device__``: (DLPack device type, device id)."""
    cdef dl_device_t device
    if self.storage is None:
        check_export(self)
    device_of(self, &device)
    return device.type, device.id


cdef tuple pair_of(object x, str name):
    """Two ints, as versions and devices are given."""
    if not isinstance(x, (tuple, list)) or len(x) != 2:
        raise TypeError(f"[__dlpack__] requires two ints as {name}, got {x!r}")
    return int(x[0]), int(x[1])


cdef Tensor placed(Tensor t, tuple wanted, tuple device, object copy):
    """The tensor where a consumer wants it, if that is the host."""
    if wanted[0] == DL_CPU and copy is not False and place_access(t.storage.place) == ACCESS_DEVICE:
        return moved(t, 0)
    raise BufferError(f"[__dlpack__] requires the tensor's device {device} as dl_device, got {wanted}. Copy the tensor there first.")


cdef int order(Tensor t, dl_device_t device, object stream) except -1:
    """Make what was handed in before done before the consumer's work begins."""
    if device.type == DL_CPU:
        if stream is not None and stream != -1:
            raise BufferError(f"[__dlpack__] requires stream=None for memory of the host, got {stream!r}")
    elif stream != -1:
        # The consumer's stream is a handle of its own driver: all it may rely on is that our work is done.
        t.storage.wait_for_users()
    return 0


def dlpack(Tensor self not None, stream=None, max_version=None, dl_device=None, copy=None):
    """``Tensor.__dlpack__``: a capsule over the tensor's memory, as the array API standard describes."""
    cdef Tensor t = self
    cdef dl_device_t device
    cdef bint own = False
    check_export(t)
    device_of(t, &device)
    if dl_device is not None:
        wanted = pair_of(dl_device, "dl_device")
        if wanted != (device.type, device.id):
            t = placed(t, wanted, (device.type, device.id), copy)
            device_of(t, &device)
            own = True
    if copy and not own:
        resident(t.storage)
        t = tensor_from_numpy(operand_array(t), t.storage.place, SHARE_NEVER) if device.type == DL_CPU else moved(t, t.storage.place)
        own = True
    order(t, device, stream)                           # behind the copy, too
    if max_version is not None and pair_of(max_version, "max_version")[0] >= DL_MAJOR:
        return versioned(export_new(t, FLAG_COPIED if own else 0))
    return unversioned(export_old(t))


# ---- in

cdef object stream_of(tuple device):
    """The stream that a producer is to wait with, as DLPack numbers those of its devices; None on the host."""
    if device[0] not in (DL_CUDA, DL_ROCM):
        return None
    place = Place("gpu" if device[0] == DL_CUDA else "rocm", device[1])
    handle = <size_t>stream_handle(stream_state(place.index, (<EngineContext>context_pointer()).stream[place.index]))
    return handle or (1 if device[0] == DL_CUDA else 0)    # of CUDA's streams 1 is the default, and 0 is not allowed


cdef object capsule_of(object x, object copy, object wanted):
    """The capsule that ``x.__dlpack__`` gives; older producers know fewer arguments. ``wanted``: a DLPack device, or None."""
    cdef dict asked = {"max_version": VERSION}
    cdef dict old = {}
    device = getattr(x, "__dlpack_device__", None)
    stream = None if device is None else stream_of(device())
    if stream is not None:
        asked["stream"] = old["stream"] = stream
    if wanted is not None:
        asked["dl_device"] = wanted
    if copy:
        asked["copy"] = True
    try:
        return x.__dlpack__(**asked)
    except TypeError:
        pass
    return x.__dlpack__(**old)


cdef Tensor placed_here(object x, int policy, Place place):
    """The elements of what is on another device, which the producer may bring. What it brings is a copy already."""
    wanted = place.__dlpack_device__()
    if policy == COPY_NEVER:
        raise BufferError(f"[from_dlpack] requires copy=None or True to take memory to {place.name}, got False and memory of the DLPack device {x.__dlpack_device__()}")
    try:
        capsule = capsule_of(x, None, wanted)
    except BufferError:
        return moved(take(capsule_of(x, None, None), COPY_IF_NEEDED), place.index)
    t = take(capsule, COPY_IF_NEEDED)
    return t if t.storage.place == place.index else moved(t, place.index)   # an older producer has not brought it


cdef Tensor take(object capsule, int copy):
    """The tensor that a capsule holds. One that is refused stays as it was, and cleans up after itself."""
    cdef bint new = PyCapsule_IsValid(capsule, NEW)
    if not new and not PyCapsule_IsValid(capsule, OLD):
        raise ValueError(f"[from_dlpack] requires a DLPack capsule that was not taken before, got {capsule!r}")
    cdef const char* name = NEW if new else OLD
    m = PyCapsule_GetPointer(capsule, name)
    # Its name tells that it is taken, so that no thread takes it again meanwhile.
    PyCapsule_SetName(capsule, NEW_USED if new else OLD_USED)
    try:
        return import_new(<dl_new*>m, copy) if new else import_old(<dl_old*>m, copy)
    except BaseException:
        PyCapsule_SetName(capsule, name)
        raise


def from_dlpack(x, copy=None, Place place=None):
    """A tensor over the memory of ``x``, which has ``__dlpack__`` or is a capsule that nobody has taken.

    ``copy``: None copies only what cannot be shared (memory that is read-only or unaligned, elements that are to share bytes), False raises
    BufferError there, True always copies. ``place``: where it is to be; None: where the memory is.
    """
    cdef int policy = COPY_IF_NEEDED if copy is None else COPY_ALWAYS if copy else COPY_NEVER
    cdef Tensor t
    if PyCapsule_CheckExact(x):
        t = take(x, policy)
        return t if place is None or t.storage.place == place.index else moved(t, place.index)
    if type(x) is Tensor and policy != COPY_ALWAYS and place is None:
        t = <Tensor>x
        if not t.kind & ~KIND_VIEW and not t.key & K_NEEDS_GRAD:
            check_export(t)
            resident(t.storage)
            return detached(t)                             # no capsule is needed between tensors of ours
    if not hasattr(type(x), "__dlpack__"):
        raise TypeError(f"[from_dlpack] requires an object with __dlpack__ or a capsule, got {type(x).__name__}")
    if place is not None and hasattr(x, "__dlpack_device__") and tuple(x.__dlpack_device__()) != place.__dlpack_device__():
        return placed_here(x, policy, place)
    return take(capsule_of(x, copy, None), policy)
