"""Data types: interned objects, one per id."""
from cpython.object cimport PyObject

import numpy

from umiak.util import dtypes
from umiak.util.errors import op_error


cdef extern from "Python.h":
    ctypedef struct TypeObject "PyTypeObject":
        PyObject* tp_dict
    void PyType_Modified(TypeObject*)


cdef class DType:
    """Type of a tensor's elements. One object per type: compare with ``is`` or ``==``.

    Its members, ``dtype.FLOAT32`` and so on, are the types that the reference framework enumerates; ``dtype.UINT16`` is
    bfloat16, and ``dtype.UINT32``, ``UINT64``, ``PSTRING`` and ``UNDEFINED`` are names that no tensor has.

    Attributes:
        name: its name, ``"float32"``.
        value: its number in that enumeration, which ``int(dtype)`` is as well; 64 and more of types that it lacks.

    Raises:
        TypeError: it is called: no types can be added.

    Example:
        >>> import paddle
        >>> paddle.ones([1]).dtype is paddle.float32, isinstance(paddle.int8, paddle.dtype)
        (True, True)
        >>> paddle.dtype.FLOAT32 is paddle.float32, paddle.float32.value
        (True, 10)
    """

    def __init__(self):
        raise TypeError("dtypes are fixed; use paddle.float32 or umiak.core.dtype.convert('float32')")

    def __repr__(self):
        return "paddle." + self.name

    def __hash__(self):
        return self.id

    def __reduce__(self):
        return convert if self.id < DTYPE_COUNT else named, (self.name,)

    def __copy__(self):
        return self

    def __deepcopy__(self, memo):
        return self

    @property
    def value(self):
        return dtypes.NUMBERS.get(self.name, dtypes.FIRST_NUMBER_OF_OURS + self.id)

    def __int__(self):
        return self.value

    @property
    def itemsize(self):
        """Bytes of an element; a TypeError for packed types, whose elements have no address of their own."""
        if self.id >= DTYPE_COUNT:
            raise op_error(TypeError, "itemsize", "a dtype that tensors may have", self)
        if self.is_packed:
            raise op_error(
                TypeError, "itemsize", "a dtype of whole bytes", f"{self.name} of {self.bits} bits", "Use .bits or .nbytes(count).")
        return ITEMSIZE[self.id]

    def nbytes(self, int64_t count):
        """Bytes of ``count`` elements one after the other in memory."""
        if self.id >= DTYPE_COUNT:
            raise op_error(TypeError, "nbytes", "a dtype that tensors may have", self)
        return bytes_of(self.id, count)

    def __dlpack_data_type__(self):
        for row in (*dtypes.TABLE, *dtypes.NAMES_ALONE):
            if row.name == self.name and row.bits:
                return row.dlpack, row.bits, 1
        raise op_error(TypeError, "__dlpack_data_type__", "a dtype of elements", self)


cdef enum:
    MOST_IDS = 32               # K_DTYPE_MASK + 1: what has room in keys
    NPT_COUNT = 1024            # user-defined types, those of ml_dtypes among them, are numbered from 256

cdef list _all = []             # by id
cdef dict _alone = {}           # types that no tensor has, by name
cdef dict _by_key = {}          # names, NumPy and Python types, DTypes -> DType
cdef int[NPT_COUNT] _id_by_npt        # type number -> id, -1 where there is none


cdef int _fill() except -1:
    cdef DType d
    cdef int i
    if len(dtypes.TABLE) != DTYPE_COUNT or DTYPE_COUNT > MOST_IDS:
        raise RuntimeError("the ids of dtypes are not those of their table: run tools/make_dtype_ids.py")
    for i in range(NPT_COUNT):
        _id_by_npt[i] = -1
    for i, row in enumerate(dtypes.TABLE):
        d = DType.__new__(DType)
        d.id = i
        d.name = row.name
        d.bits = row.bits
        d.numpy = row.numpy
        d.npt = d.numpy.num
        d.is_bool = row.kind == dtypes.BOOL
        d.is_integer = row.kind in (dtypes.SIGNED, dtypes.UNSIGNED)
        d.is_floating = row.kind == dtypes.FLOAT
        d.is_complex = row.kind == dtypes.COMPLEX
        d.is_packed = row.packed
        d.is_continuous = (d.is_floating or d.is_complex) and not d.is_packed
        BITS[i] = row.bits
        ITEMSIZE[i] = row.bits // 8
        if not 0 <= d.npt < NPT_COUNT:
            raise RuntimeError(f"NumPy gave {row.name} the type number {d.npt}, beyond the table")
        _id_by_npt[d.npt] = i
        _all.append(d)
        for key in (d, row.name, "paddle." + row.name, d.numpy.type, d.numpy):
            _by_key[key] = d
    for d, row in zip(_all, dtypes.TABLE):
        d.compute = _by_key[row.compute or row.name]
        d.real = _by_key[row.real or row.name]
        d.carrier = _by_key[row.carrier or row.name]
    # Arrays whose type number differs from the canonical one, though the type is the same.
    for scalar in (numpy.longlong, numpy.dtype("q"), numpy.dtype("l"), numpy.dtype("i")):
        _id_by_npt[numpy.dtype(scalar).num] = _by_key[numpy.dtype(scalar)].id
    # NumPy has no bfloat16: arrays from elsewhere carry its bits as uint16, and the reference framework reads them so.
    d = _by_key["bfloat16"]
    for key in ("uint16", "paddle.uint16", numpy.uint16, numpy.dtype("uint16")):
        _by_key[key] = d
    _id_by_npt[numpy.dtype("uint16").num] = d.id
    for python in (bool, int, float, complex):
        _by_key[python] = _by_key[numpy.dtype(python)]
    for row in dtypes.NAMES_ALONE:
        d = DType.__new__(DType)
        d.id = MOST_IDS - 1                                 # of no type: `convert` lets it through nowhere
        d.name = row.name
        d.bits = row.bits
        d.npt = -1
        d.is_integer = row.kind == dtypes.UNSIGNED
        d.compute = d.real = d.carrier = d
        _alone[row.name] = d
    members = <dict>(<TypeObject*>DType).tp_dict            # instances are its members, made after the class
    for member, name in dtypes.MEMBERS.items():
        members[member] = _alone[name] if name in _alone else _by_key[name]
    PyType_Modified(<TypeObject*>DType)
    return 0


_fill()
globals().update({d.name: d for d in _all}, **_alone)


cdef DType dtype_from_id(int id):
    return <DType>_all[id]


cdef int dtype_id_from_npt(int npt) except -1:
    cdef int id = _id_by_npt[npt] if 0 <= npt < NPT_COUNT else -1
    if id < 0:
        raise TypeError(f"requires an array of a supported type, got NumPy type number {npt}")
    return id


def from_id(int id):
    if not 0 <= id < DTYPE_COUNT:
        raise ValueError(f"requires a dtype id below {DTYPE_COUNT}, got {id}")
    return dtype_from_id(id)


def convert(x):
    if type(x) is DType:
        if (<DType>x).id >= DTYPE_COUNT:
            raise TypeError(f"requires a dtype that tensors may have, got {x!r}, which is a name alone")
        return x
    try:
        dtype = _by_key.get(x)
        if dtype is None and x is not None:     # for NumPy, None is float64
            dtype = _by_key[numpy.dtype(x.lower() if isinstance(x, str) else x)]
        if dtype is not None:
            return dtype
    except (KeyError, TypeError, ValueError):
        pass
    raise TypeError(f"requires a data type such as paddle.float32 or 'float32', got {x!r}")


def all_dtypes():
    return tuple(_all)


def named(str name):
    """The dtype of a name, of those that no tensor has, too."""
    return _alone[name] if name in _alone else convert(name)
