"""Types and literals in the LLVM text for NVPTX."""

from __future__ import annotations

import math
import struct

from umiak.compiler.loop.types import BOOL, F32, F64, ScalarType, bits_of


def name_of(t: ScalarType) -> str:
    """A number of a type; narrow floats are their bits."""
    if t is F32 or t is F64:
        return "float" if t is F32 else "double"
    return f"i{t.bits}"


def cell_of(t: ScalarType) -> str:
    """An element in memory."""
    return "i8" if t is BOOL else name_of(t)


def literal(value: float | bool, t: ScalarType) -> str:
    """A number; floats by the bits of the double of the same value."""
    if t is BOOL:
        return "true" if value else "false"
    if t is F32 or t is F64:
        bits = 0x7FF8 << 48 if math.isnan(value) else struct.unpack("Q", struct.pack("d", value))[0]
        return f"0x{bits:016X}"
    if t.is_storage:
        return str(bits_of(value, t))
    return str(value)
