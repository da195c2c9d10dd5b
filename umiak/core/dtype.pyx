"""Data types: interned records, one per id."""

import ml_dtypes
import numpy

# In the order of ids: name, NumPy type, kind, compute, real.
_TABLE = (
    ("bool", numpy.bool_, "bool", "bool", "bool"),
    ("uint8", numpy.uint8, "integer", "uint8", "uint8"),
    ("int8", numpy.int8, "integer", "int8", "int8"),
    ("int16", numpy.int16, "integer", "int16", "int16"),
    ("int32", numpy.int32, "integer", "int32", "int32"),
    ("int64", numpy.int64, "integer", "int64", "int64"),
    ("float16", numpy.float16, "floating", "float32", "float16"),
    ("bfloat16", ml_dtypes.bfloat16, "floating", "float32", "bfloat16"),
    ("float32", numpy.float32, "floating", "float32", "float32"),
    ("float64", numpy.float64, "floating", "float64", "float64"),
    ("complex64", numpy.complex64, "complex", "complex64", "float32"),
    ("complex128", numpy.complex128, "complex", "complex128", "float64"),
    ("float8_e4m3fn", ml_dtypes.float8_e4m3fn, "floating", "float32", "float8_e4m3fn"),
    ("float8_e5m2", ml_dtypes.float8_e5m2, "floating", "float32", "float8_e5m2"),
)


cdef class DType:
    """The type of a tensor's elements. One object per type: compare with ``is`` or ``==``."""

    def __init__(self):
        raise TypeError("dtypes are fixed; use paddle.float32 or umiak.core.dtype.convert('float32')")

    def __repr__(self):
        return "paddle." + self.name

    def __hash__(self):
        return self.id

    def __reduce__(self):
        return convert, (self.name,)

    def __copy__(self):
        return self

    def __deepcopy__(self, memo):
        return self


cdef enum:
    NPT_COUNT = 1024            # user-defined types, those of ml_dtypes among them, are numbered from 256

cdef list _all = []             # by id
cdef dict _by_key = {}          # names, NumPy and Python types, DTypes -> DType
cdef int[NPT_COUNT] _id_by_npt        # type number -> id, -1 where there is none


cdef int _fill() except -1:
    cdef DType d
    cdef int i
    if len(_TABLE) != DTYPE_COUNT:
        raise RuntimeError("the table of dtypes and the enum of their ids differ in length")
    for i in range(NPT_COUNT):
        _id_by_npt[i] = -1
    for i, (name, scalar, kind, _, _) in enumerate(_TABLE):
        d = DType.__new__(DType)
        d.id = i
        d.name = name
        d.numpy = numpy.dtype(scalar)
        d.itemsize = d.numpy.itemsize
        d.npt = d.numpy.num
        d.is_bool = kind == "bool"
        d.is_integer = kind == "integer"
        d.is_floating = kind == "floating"
        d.is_complex = kind == "complex"
        ITEMSIZE[i] = d.itemsize
        if not 0 <= d.npt < NPT_COUNT:
            raise RuntimeError(f"NumPy gave {name} the type number {d.npt}, beyond the table")
        _id_by_npt[d.npt] = i
        _all.append(d)
        for key in (d, name, "paddle." + name, scalar, d.numpy):
            _by_key[key] = d
    for d, (_, _, _, compute, real) in zip(_all, _TABLE):
        d.compute = _by_key[compute]
        d.real = _by_key[real]
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
    return 0


_fill()
globals().update({d.name: d for d in _all})


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
        return x
    try:
        found = _by_key.get(x)
        if found is None and x is not None:     # for NumPy, None is float64
            found = _by_key[numpy.dtype(x.lower() if isinstance(x, str) else x)]
        if found is not None:
            return found
    except (KeyError, TypeError, ValueError):
        pass
    raise TypeError(f"requires a data type such as paddle.float32 or 'float32', got {x!r}")


def all_dtypes():
    return tuple(_all)
