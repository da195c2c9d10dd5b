"""Places: interned (device type, device id) pairs with a small index that fits in a dispatch key."""

from cpython.object cimport PyObject, PyTypeObject, newfunc

cdef list _all = []             # by index
cdef list _types = []           # device types, by type index
cdef dict _by_key = {}          # (device type, id) -> Place
# DLPack's numbers of device types. What it has no number for, devices of plug-ins among them, are its extensions.
cdef dict _DLPACK_TYPES = {"cpu": 1, "gpu": 2, "cuda": 2, "gpu_pinned": 3, "rocm": 10}
cdef int _DLPACK_EXTENSION = 12
cdef frozenset _built_in = frozenset(("cpu", "gpu", "gpu_pinned", "xpu", "xpu_pinned", "ipu"))


cdef class Place:
    """One device. ``Place("cpu")`` and ``Place("cpu", 0)`` are the same object."""

    def __repr__(self):
        return f"Place({self.name})"

    @property
    def name(self):
        """The name of the device: ``cpu``, ``gpu:1``."""
        return self.device_type if self.index == 0 else f"{self.device_type}:{self.device_id}"

    def __hash__(self):
        return self.index

    def __reduce__(self):
        return Place, (self.device_type, self.device_id)

    def is_cpu_place(self): return self.device_type == "cpu"
    def is_gpu_place(self): return self.device_type == "gpu"
    def is_cuda_pinned_place(self): return self.device_type == "gpu_pinned"
    def is_xpu_place(self): return self.device_type == "xpu"
    def is_xpu_pinned_place(self): return self.device_type == "xpu_pinned"
    def is_ipu_place(self): return self.device_type == "ipu"

    def is_custom_place(self):
        """True where the device is of a type that a plug-in brought."""
        return self.device_type not in _built_in

    def gpu_device_id(self): return self.device_id
    def xpu_device_id(self): return self.device_id
    def ipu_device_id(self): return self.device_id
    def custom_device_id(self): return self.device_id
    def custom_device_type(self): return self.device_type if self.is_custom_place() else ""
    def get_device_id(self): return self.device_id
    def get_device_type(self): return self.device_type
    def _equals(self, other): return self is other

    def __dlpack_device__(self):
        """DLPack's number of the device type, and the device id."""
        return dlpack_type(self), self.device_id

    def __copy__(self):
        return self

    def __deepcopy__(self, memo):
        return self


cdef object _intern(str device_type, int device_id):
    cdef Place p
    key = (device_type, device_id)
    place = _by_key.get(key)
    if place is not None:
        return place
    if not device_type or ":" in device_type or device_id < 0:
        raise ValueError(f"requires a device type and a device id of at least 0, got {device_type!r} and {device_id}")
    if len(_all) == PLACE_COUNT:
        raise RuntimeError(f"one process can name {PLACE_COUNT} places; {device_type}:{device_id} is one too many")
    p = <Place>_plain_new(Place, <PyObject*>(), NULL)
    p.device_type = device_type
    p.device_id = device_id
    p.index = len(_all)
    if device_type not in _types:
        _types.append(device_type)
    p.type_index = _types.index(device_type)
    _all.append(p)
    _by_key[key] = p
    return p


def _parse(str device_type not None, int device_id=0):
    """The signature of Place."""
    return _intern(device_type, device_id)


# An interned class needs a __new__ of its own, which a cdef class cannot write: fill the slot of the type, and
# empty the one by which Cython's own constructor would be called past it.
cdef extern from *:
    """
    #define UMIAK_NO_VECTORCALL(cls) (((PyTypeObject *)(cls))->tp_vectorcall = NULL)
    """
    void UMIAK_NO_VECTORCALL(type)

cdef newfunc _plain_new = (<PyTypeObject*>Place).tp_new


cdef object _interning_new(type cls, PyObject* args, PyObject* kwargs):
    return _parse(*<tuple>args, **(<dict>kwargs if kwargs is not NULL else {}))


(<PyTypeObject*>Place).tp_new = <newfunc>_interning_new
UMIAK_NO_VECTORCALL(Place)
Place("cpu")                    # index 0


cdef int dlpack_type(Place place) except -1:
    return _DLPACK_TYPES.get(place.device_type, _DLPACK_EXTENSION)


cdef Place place_from_index(int index):
    return <Place>_all[index]


def from_index(int index):
    if not 0 <= index < len(_all):
        raise ValueError(f"requires the index of one of {len(_all)} places, got {index}")
    return place_from_index(index)


def all_places():
    return tuple(_all)
