"""The table of ``abi.py`` as structures of ``ctypes``."""

from __future__ import annotations

import ctypes
from collections.abc import Iterable
from ctypes import CFUNCTYPE, POINTER, Structure, Union, c_char, c_void_p
from enum import IntEnum
from typing import Any

from umiak.backends.plugin import abi

SCALARS: dict[str, Any] = {
    "int": ctypes.c_int,
    "unsigned int": ctypes.c_uint,
    "unsigned char": ctypes.c_ubyte,
    "float": ctypes.c_float,
    "char": c_char,
    "size_t": ctypes.c_size_t,
    "uint32_t": ctypes.c_uint32,
    "uint64_t": ctypes.c_uint64,
    **dict.fromkeys((*abi.ENUMS, "TracerEventType"), ctypes.c_int),
    **dict.fromkeys((*abi.OPAQUE, *abi.CALLBACKS, "C_Device"), c_void_p),
}


def _enum(name: str, members: str) -> Any:
    return IntEnum(name, members, start=0)


Status = _enum("Status", abi.ENUMS["C_Status"])
DataType = _enum("DataType", abi.ENUMS["C_DataType"])
ReduceOp = _enum("ReduceOp", abi.ENUMS["C_CCLReduceOp"])
EventType = _enum("EventType", abi.EVENT_TYPES)


class Text(Structure):
    """A ``std::string`` of libstdc++; what it keeps short texts in takes the rest."""

    _fields_ = [("data", c_void_p), ("length", ctypes.c_size_t), ("rest", c_char * 16)]

    def __str__(self) -> str:
        return ctypes.string_at(self.data, self.length).decode(errors="replace") if self.data else ""


def kind(text: str) -> Any:
    """The type of ``ctypes`` for one of C; every pointer is an address."""
    plain = text.removeprefix("const ")
    return c_void_p if plain.endswith("*") else SCALARS[plain]


def _members(members: Iterable[abi.Field]) -> list[tuple[str, Any]]:
    return [(f.name, kind(f.type) * f.length if f.length else kind(f.type)) for f in members]


def _structure(name: str, members: Iterable[abi.Field], base: Any = Structure) -> Any:
    made = type(name, (base,), {"_fields_": _members(members)})
    SCALARS[name] = made
    return made


def _interface() -> Any:
    members: list[tuple[str, Any]] = [("size", ctypes.c_size_t)]
    for group in abi.GROUPS:
        members += [(f.name, c_void_p) for f in group.functions]
        members += _members([group.reserved])
    return type("C_DeviceInterface", (Structure,), {"_fields_": members})


def prototype(function: abi.Function) -> Any:
    """The type of a function of the table."""
    return CFUNCTYPE(ctypes.c_int, *(kind(p.type) for p in function.parameters))


DeviceInterface = _interface()
for _name, _fields in abi.STRUCTURES.items():
    _structure(_name, _fields)
Device, RootId, Params = (SCALARS[n] for n in ("C_Device_st", "C_CCLRootId", "CustomRuntimeParams"))

SCALARS["std::string"] = Text
for _name, _fields in abi.EVENTS.items():
    if any(f.type == "EventInfo" for f in _fields):
        _structure("EventInfo", abi.DETAILS.values(), Union)
    _structure(_name, _fields)
RuntimeTraceEvent, DeviceTraceEvent = SCALARS["RuntimeTraceEvent"], SCALARS["DeviceTraceEvent"]


class Profiler(Structure):
    """The C_Profiler of a plug-in (``exports.h``): it begins with the function that takes events."""


AddEvent = CFUNCTYPE(None, POINTER(Profiler), c_void_p, ctypes.c_int)
Profiler._fields_ = [("add", AddEvent)]
