"""Relocatable ELF objects (64 bit, little-endian): sections, symbols and relocations, nothing else."""

from __future__ import annotations

import struct
from typing import NamedTuple

from umiak.compiler.jit.errors import JitError

X86_64 = 62
PROGBITS, SYMTAB, RELA, NOBITS, REL = 1, 2, 4, 8, 9
WRITE, ALLOC, TLS = 0x1, 0x2, 0x400
UNDEFINED, FIRST_RESERVED, COMMON = 0, 0xFF00, 0xFFF2
LOCAL, SECTION_SYMBOL = 0, 3

_HEADER = struct.Struct("<16xHHIQQQIHHHHHH")
_SECTION = struct.Struct("<IIQQQQIIQQ")
_SYMBOL = struct.Struct("<IBBHQQ")
_RELA = struct.Struct("<QQq")


class Section(NamedTuple):
    name: str
    kind: int
    flags: int
    data: bytes  # empty for NOBITS
    size: int
    align: int
    info: int  # of RELA: the section it applies to


class Symbol(NamedTuple):
    name: str
    section: int
    value: int
    binding: int
    kind: int


class Relocation(NamedTuple):
    section: int
    offset: int
    kind: int
    symbol: int
    addend: int


class Object(NamedTuple):
    machine: int
    sections: list[Section]
    symbols: list[Symbol]
    relocations: list[Relocation]

    def defined(self) -> list[str]:
        """The names that other code may use."""
        return [s.name for s in self.symbols if s.binding != LOCAL and s.section != UNDEFINED]

    def undefined(self) -> list[str]:
        """The names that the object needs."""
        return [s.name for s in self.symbols if s.name and s.section == UNDEFINED]


def parse(data: bytes) -> Object:
    """Return sections, symbols and relocations of an object file.

    Raises:
        JitError: the bytes are no well-formed 64-bit little-endian ELF object.
    """
    if data[:6] != b"\x7fELF\x02\x01":
        raise JitError(f"[jit] requires a 64-bit little-endian ELF object, got bytes that begin {data[:6]!r}")
    try:
        return _parse(data)
    except (struct.error, IndexError, ValueError) as error:
        raise JitError(f"[jit] requires a well-formed ELF object, got one of {len(data)} bytes: {error}") from None


def _parse(data: bytes) -> Object:
    _, machine, _, _, _, table, _, _, _, _, entry, count, names_index = _HEADER.unpack_from(data)
    headers = [_SECTION.unpack_from(data, table + i * entry) for i in range(count)]
    names = _bytes(data, headers[names_index])
    sections, symbols, relocations = [], [], []
    for header in headers:
        name, kind, flags, _, _, size, link, info, align, _ = header
        body = b"" if kind == NOBITS else _bytes(data, header)
        sections.append(Section(_text(names, name), kind, flags, body, size, align, info))
        if kind == SYMTAB:
            strings = _bytes(data, headers[link])
            for name, what, _, section, value, _ in _SYMBOL.iter_unpack(body):
                symbols.append(Symbol(_text(strings, name), section, value, what >> 4, what & 15))
        elif kind == RELA:
            for offset, what, addend in _RELA.iter_unpack(body):
                relocations.append(Relocation(info, offset, what & 0xFFFFFFFF, what >> 32, addend))
    return Object(machine, sections, symbols, relocations)


def _bytes(data: bytes, header: tuple[int, ...]) -> bytes:
    offset, size = header[4], header[5]
    if offset + size > len(data):
        raise ValueError("a section ends outside")
    return data[offset : offset + size]


def _text(strings: bytes, start: int) -> str:
    return strings[start : strings.index(b"\0", start)].decode()
