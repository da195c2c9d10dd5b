"""Messages in protobuf's wire format, read and written by tables of their fields.

Reading takes what the tables name, skips fields that they do not (newer writers add some), and refuses everything else:
another wire type, a length beyond the end, a required field that is absent. Tables do not nest without end, so neither
does reading; what it makes is bounded by the bytes that are there.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping
from typing import Any, NamedTuple

from umiak.ir.serialise import FormatError

VARINT, FIXED64, BYTES, FIXED32 = 0, 1, 2, 5
_WIRES = {
    "int32": VARINT, "int64": VARINT, "bool": VARINT, "float": FIXED32, "double": FIXED64, "string": BYTES,
}  # fmt: skip
_PACKED = {FIXED32: struct.Struct("<f"), FIXED64: struct.Struct("<d")}

Table = Mapping[int, "Field"]


class Field(NamedTuple):
    """A field of a message: its name, and the type of its values (a table, for messages)."""

    name: str
    kind: str | Table
    repeated: bool = False
    required: bool = False

    @property
    def wire(self) -> int:
        return _WIRES[self.kind] if isinstance(self.kind, str) else BYTES


# --- reading ---------------------------------------------------------------------------------------------------------


def decode(data: bytes | memoryview, table: Table, what: str) -> dict[str, Any]:
    """A message as a dict of all fields of its table; None, or an empty list, for one that is absent.

    Raises:
        FormatError: bytes that are no such message. ``what`` names it.
    """
    reader = _Reader(memoryview(data).cast("B"), what)
    return reader.message(0, len(data), table)


class _Reader:
    def __init__(self, data: memoryview, what: str) -> None:
        self.data = data
        self.what = what

    def error(self, required: str, at: int) -> FormatError:
        return FormatError(f"{self.what}: {required} is required at byte {at}")

    def varint(self, at: int, end: int) -> tuple[int, int]:
        """An unsigned number, and the place behind it."""
        value = 0
        for i in range(10):
            if at + i >= end:
                raise self.error("the rest of a number", end)
            byte = self.data[at + i]
            value |= (byte & 0x7F) << (7 * i)
            if byte < 0x80:
                return value & 0xFFFFFFFFFFFFFFFF, at + i + 1
        raise self.error("a number of at most ten bytes", at)

    def message(self, at: int, end: int, table: Table) -> dict[str, Any]:
        found: dict[str, Any] = {f.name: [] if f.repeated else None for f in table.values()}
        while at < end:
            start = at
            key, at = self.varint(at, end)
            wire = key & 7
            stop = self.behind(wire, at, end)
            field = table.get(key >> 3)
            if field is None:
                if not key >> 3:
                    raise self.error("the number of a field", start)
            elif field.wire == wire:
                value = self.value(field.kind, at, stop)
                if field.repeated:
                    found[field.name].append(value)
                else:
                    found[field.name] = value
            elif field.repeated and wire == BYTES:  # numbers without keys between them
                self.packed(field, at, stop, found[field.name])
            else:
                raise self.error(f"wire type {field.wire} of {field.name!r}", start)
            at = stop
        for f in table.values():
            if f.required and found[f.name] is None:
                raise self.error(f"a message with {f.name!r}", end)
        return found

    def behind(self, wire: int, at: int, end: int) -> int:
        """The end of a field's value; the length in front of it is checked."""
        if wire == VARINT:
            return self.varint(at, end)[1]
        if wire == BYTES:
            size, at = self.varint(at, end)
        elif wire in _PACKED:
            size = _PACKED[wire].size
        else:
            raise self.error("a wire type", at)
        if size > end - at:
            raise self.error(f"{size} bytes, where {end - at} are left,", at)
        return at + size

    def value(self, kind: str | Table, at: int, end: int) -> Any:
        if isinstance(kind, str) and kind != "string":
            return self.number(kind, at, end)[0]
        _, at = self.varint(at, end)  # the length
        if not isinstance(kind, str):
            return self.message(at, end, kind)
        return bytes(self.data[at:end]).decode(errors="backslashreplace")

    def number(self, kind: str, at: int, end: int) -> tuple[Any, int]:
        if packed := _PACKED.get(_WIRES[kind]):
            if end - at < packed.size:
                raise self.error(f"{packed.size} bytes of a number", at)
            return packed.unpack_from(self.data, at)[0], at + packed.size
        value, at = self.varint(at, end)
        if kind == "bool":
            return bool(value), at
        bits = 64 if kind == "int64" else 32
        value &= (1 << bits) - 1  # what is negative has ten bytes, of int32 too
        return value - (1 << bits) if value >> (bits - 1) else value, at

    def packed(self, field: Field, at: int, end: int, into: list[Any]) -> None:
        if not isinstance(field.kind, str) or field.kind == "string":
            raise self.error(f"wire type {field.wire} of {field.name!r}", at)
        _, at = self.varint(at, end)
        while at < end:
            value, at = self.number(field.kind, at, end)
            into.append(value)


# --- writing ---------------------------------------------------------------------------------------------------------


def encode(message: Mapping[str, Any], table: Table) -> bytes:
    """The bytes of a message; fields that it has not, or that are None, are left out."""
    out = bytearray()
    for number, field in table.items():
        value = message.get(field.name)
        for x in (value or []) if field.repeated else [] if value is None else [value]:
            out += _varint(number << 3 | field.wire)
            out += _written(x, field.kind)
    return bytes(out)


def _varint(value: int) -> bytes:
    out = bytearray()
    value &= 0xFFFFFFFFFFFFFFFF
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def _written(x: Any, kind: str | Table) -> bytes:
    if not isinstance(kind, str) or kind == "string":
        data = x.encode() if kind == "string" else encode(x, kind)  # type: ignore[arg-type]
        return _varint(len(data)) + data
    packed = _PACKED.get(_WIRES[kind])
    return packed.pack(x) if packed else _varint(int(x))
