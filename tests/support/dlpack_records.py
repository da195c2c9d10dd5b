"""DLPack's structures by ctypes: a producer whose every field tests choose, and the table of C functions."""

from __future__ import annotations

import ctypes as c
from typing import Any

import numpy as np

READ_ONLY, COPIED, PADDED = 1, 2, 4


class Device(c.Structure):
    _fields_ = [("type", c.c_int32), ("id", c.c_int32)]


class Type(c.Structure):
    _fields_ = [("code", c.c_uint8), ("bits", c.c_uint8), ("lanes", c.c_uint16)]


class Tensor(c.Structure):
    _fields_ = [
        ("data", c.c_void_p),
        ("device", Device),
        ("ndim", c.c_int32),
        ("dtype", Type),
        ("shape", c.POINTER(c.c_int64)),
        ("strides", c.POINTER(c.c_int64)),
        ("byte_offset", c.c_uint64),
    ]


DELETER = c.CFUNCTYPE(None, c.c_void_p)


class Old(c.Structure):
    _fields_ = [("tensor", Tensor), ("manager", c.c_void_p), ("deleter", DELETER)]


class New(c.Structure):
    _fields_ = [
        ("major", c.c_uint32),
        ("minor", c.c_uint32),
        ("manager", c.c_void_p),
        ("deleter", DELETER),
        ("flags", c.c_uint64),
        ("tensor", Tensor),
    ]


COMPLAIN = c.CFUNCTYPE(None, c.c_void_p, c.c_char_p, c.c_char_p)


class Table(c.Structure):
    """What ``__dlpack_c_exchange_api__`` points to."""

    _fields_ = [
        ("major", c.c_uint32),
        ("minor", c.c_uint32),
        ("older", c.c_void_p),
        # Callers of the first need not hold the lock of the interpreter.
        ("allocate", c.CFUNCTYPE(c.c_int, c.POINTER(Tensor), c.POINTER(c.POINTER(New)), c.c_void_p, COMPLAIN)),
        ("from_object", c.PYFUNCTYPE(c.c_int, c.py_object, c.POINTER(c.POINTER(New)))),
        ("to_object", c.PYFUNCTYPE(c.c_int, c.POINTER(New), c.POINTER(c.py_object))),
        ("borrow", c.PYFUNCTYPE(c.c_int, c.py_object, c.POINTER(Tensor))),
        ("current_stream", c.PYFUNCTYPE(c.c_int, c.c_int32, c.c_int32, c.POINTER(c.c_void_p))),
    ]


_pointer = c.pythonapi.PyCapsule_GetPointer
_pointer.restype, _pointer.argtypes = c.c_void_p, [c.py_object, c.c_char_p]
_capsule = c.pythonapi.PyCapsule_New
_capsule.restype, _capsule.argtypes = c.py_object, [c.c_void_p, c.c_char_p, c.c_void_p]


def table(cls: type) -> Table:
    """The functions that a class of tensors gives to C."""
    return Table.from_address(_pointer(cls.__dlpack_c_exchange_api__, b"dlpack_exchange_api"))


def record(capsule: Any) -> New | Old:
    """What an untaken capsule points to."""
    kind, name = (New, b"dltensor_versioned") if "versioned" in repr(capsule) else (Old, b"dltensor")
    return kind.from_address(_pointer(capsule, name))


class Producer:
    """A DLPack tensor of an array's memory; ``fields`` overwrite what would be true of it.

    ``freed`` counts calls of the deleter, which drops nothing: memory lives as long as the producer.
    """

    def __init__(self, array: np.ndarray, code: tuple[int, int], versioned: bool = True, **fields: Any) -> None:
        self.array, self.freed = array, 0
        self.kind = New if versioned else Old
        self.record = self.kind()
        if versioned:
            self.record.major, self.record.minor = fields.pop("version", (1, 3))
            self.record.flags = fields.pop("flags", 0)
        self._deleter = DELETER(self._free)
        if fields.pop("deleter", True):
            self.record.deleter = self._deleter
        t = self.record.tensor
        t.data, t.byte_offset = array.ctypes.data, 0
        t.device = Device(*fields.pop("device", (1, 0)))
        t.dtype = Type(*code, fields.pop("lanes", 1))
        shape = fields.pop("shape", array.shape)
        strides = fields.pop("strides", tuple(s // (array.itemsize or 1) for s in array.strides))
        t.ndim = fields.pop("ndim", len(shape))
        self._shape = t.shape = (c.c_int64 * max(1, len(shape)))(*shape)
        if strides is not None:
            self._strides = t.strides = (c.c_int64 * max(1, len(strides)))(*strides)
        if offset := fields.pop("offset", 0):
            t.data, t.byte_offset = t.data - offset, offset
        if fields:
            raise TypeError(f"no such fields: {sorted(fields)}")

    def _free(self, address: int) -> None:
        assert address == c.addressof(self.record)
        self.freed += 1

    def capsule(self) -> Any:
        return _capsule(c.addressof(self.record), b"dltensor_versioned" if self.kind is New else b"dltensor", None)

    def __dlpack__(self, **asked: Any) -> Any:
        return self.capsule()

    def __dlpack_device__(self) -> tuple[int, int]:
        return self.record.tensor.device.type, self.record.tensor.device.id
