"""Tensors over memory of a device that others own, known by its address: DLPack's record, made in Python."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from typing import Any

from umiak.core.dlpack import from_dlpack
from umiak.core.dtype import DType
from umiak.core.place import Place
from umiak.core.tensor import Tensor

_NAME = b"dltensor"  # read as long as a capsule lives


class _Record(ctypes.Structure):
    """DLManagedTensor of dlpack.h, its DLTensor written out."""


_Deleter = ctypes.CFUNCTYPE(None, ctypes.POINTER(_Record))
_Record._fields_ = [
    ("data", ctypes.c_void_p),
    ("device_type", ctypes.c_int32),
    ("device_id", ctypes.c_int32),
    ("ndim", ctypes.c_int32),
    ("code", ctypes.c_uint8),
    ("bits", ctypes.c_uint8),
    ("lanes", ctypes.c_uint16),
    ("shape", ctypes.POINTER(ctypes.c_int64)),
    ("strides", ctypes.POINTER(ctypes.c_int64)),
    ("byte_offset", ctypes.c_uint64),
    ("manager", ctypes.c_void_p),
    ("deleter", _Deleter),
]
_used: dict[int, tuple[Any, ...]] = {}  # by address of the record: what it consists of, and the owner


@_Deleter
def _delete(record: Any) -> None:
    _used.pop(ctypes.addressof(record.contents), None)


_new_capsule = ctypes.pythonapi.PyCapsule_New
_new_capsule.restype = ctypes.py_object
_new_capsule.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]


def tensor_at(
    place: Place, address: int, dtype: DType, shape: Sequence[int], strides: Sequence[int], owner: object
) -> Tensor:
    """A tensor over memory at an address of a place; ``strides`` in elements. ``owner`` is let go when no work uses
    the memory any more."""
    sizes, steps = ((ctypes.c_int64 * max(len(x), 1))(*x) for x in (shape, strides))
    kind, id = place.__dlpack_device__()
    code, bits, lanes = dtype.__dlpack_data_type__()
    record = _Record(address, kind, id, len(shape), code, bits, lanes, sizes, steps, 0, None, _delete)
    key = ctypes.addressof(record)
    _used[key] = record, sizes, steps, owner
    try:
        return from_dlpack(_new_capsule(key, _NAME, None), copy=False)
    except BaseException:
        _used.pop(key, None)
        raise
