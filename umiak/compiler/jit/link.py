"""Link an x86-64 object, once, into an image.

References inside the object are resolved for good. Calls of imported functions go through a jump over their slot, since
those may lie further than a call reaches.
"""

from __future__ import annotations

import struct

from umiak.compiler.jit import elf
from umiak.compiler.jit.errors import JitError
from umiak.compiler.jit.image import ALIGN, Image

_R_64, _R_PC32, _R_PLT32, _R_GOTPCREL, _R_GOTPCRELX, _R_REX_GOTPCRELX = 1, 2, 4, 9, 41, 42
_GOT = (_R_GOTPCREL, _R_GOTPCRELX, _R_REX_GOTPCRELX)
_SKIPPED = (".eh_frame",)  # kernels neither throw nor call what throws
_CONSTANT = ".data.rel.ro"  # written by the loader alone: tables of addresses


class UnsupportedError(Exception):
    """The object needs more than this linker does (mutable data, thread-local storage, another machine)."""


def link(data: bytes) -> Image:
    """The image of an x86-64 object; UnsupportedError where it needs another loader."""
    parsed = elf.parse(data)
    if parsed.machine != elf.X86_64:
        raise UnsupportedError(f"machine {parsed.machine}")
    return _Linker(parsed).link()


class _Linker:
    def __init__(self, parsed: elf.Object) -> None:
        self.object = parsed
        self.code = bytearray()
        self.start: dict[int, int] = {}  # section -> offset in the image
        self.image = Image(b"", {})
        self.slots: dict[int, int] = {}  # symbol -> its slot
        self.jumps: dict[int, int] = {}  # symbol -> its jump

    def link(self) -> Image:
        self._place()
        for relocation in self.object.relocations:
            if relocation.section in self.start:
                self._relocate(relocation)
        for symbol in self.object.symbols:
            if symbol.binding != elf.LOCAL and symbol.section in self.start:
                self.image.exports[symbol.name] = self.start[symbol.section] + symbol.value
        self.image.code = bytes(self.code)
        return self.image

    def _place(self) -> None:
        for number, section in enumerate(self.object.sections):
            if section.kind == elf.REL:
                raise UnsupportedError("relocations without addends")
            if not section.flags & elf.ALLOC or not section.size or section.name in _SKIPPED:
                continue
            mutable = section.flags & elf.WRITE and not section.name.startswith(_CONSTANT)
            if mutable or section.flags & elf.TLS or section.kind not in (elf.PROGBITS, elf.NOBITS):
                raise UnsupportedError(f"section {section.name}")
            if section.align > ALIGN:
                raise UnsupportedError(f"section {section.name} aligned to {section.align}")
            self._pad(ALIGN)  # code and constants in cache lines of their own
            self.start[number] = len(self.code)
            self.code += section.data or bytes(section.size)
        self._pad(8)

    def _pad(self, align: int) -> None:
        self.code += bytes(-len(self.code) % align)

    def _relocate(self, relocation: elf.Relocation) -> None:
        place = self.start[relocation.section] + relocation.offset
        symbol = self.object.symbols[relocation.symbol]
        if relocation.kind in _GOT:
            self._relative(place, self._slot(relocation.symbol), relocation.addend)
        elif symbol.section == elf.UNDEFINED:
            if relocation.kind != _R_PLT32:
                raise UnsupportedError(f"relocation {relocation.kind} of the imported {symbol.name}")
            self._relative(place, self._jump(relocation.symbol), relocation.addend)
        elif relocation.kind in (_R_PC32, _R_PLT32):
            self._relative(place, self._offset(symbol), relocation.addend)
        elif relocation.kind == _R_64:
            self.image.internal.append([place, self._offset(symbol) + relocation.addend])
        else:
            raise UnsupportedError(f"relocation {relocation.kind}")

    def _offset(self, symbol: elf.Symbol) -> int:
        if symbol.section not in self.start:
            raise UnsupportedError(f"symbol {symbol.name} in section {symbol.section}")
        return self.start[symbol.section] + symbol.value

    def _relative(self, place: int, target: int, addend: int) -> None:
        if place + 4 > len(self.code):
            raise JitError(f"[jit] requires relocations inside their section, got one at {place:#x}")
        struct.pack_into("<i", self.code, place, target + addend - place)

    def _slot(self, index: int) -> int:
        """Eight bytes that hold the address of the symbol."""
        if index not in self.slots:
            symbol = self.object.symbols[index]
            slot = self.slots[index] = len(self.code)
            if symbol.section == elf.UNDEFINED:
                self.image.imports.setdefault(symbol.name, []).append(slot)
            else:
                self.image.internal.append([slot, self._offset(symbol)])
            self.code += bytes(8)
        return self.slots[index]

    def _jump(self, index: int) -> int:
        """``jmp [rip + slot]``"""
        if index not in self.jumps:
            slot = self._slot(index)
            jump = self.jumps[index] = len(self.code)
            self.code += b"\xff\x25" + struct.pack("<i", slot - jump - 6) + b"\xcc\xcc"
        return self.jumps[index]
