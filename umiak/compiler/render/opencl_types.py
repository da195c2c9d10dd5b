"""Types and literals of OpenCL C."""

from __future__ import annotations

import math
import struct

from umiak.compiler.loop.types import BOOL, F32, F64, I64, ScalarType, bits_of

_INTEGERS = {8: "char", 16: "short", 32: "int", 64: "long"}


def name_of(t: ScalarType) -> str:
    """A number of a type; narrow floats are their bits."""
    if t is BOOL:
        return "bool"
    if t is F32 or t is F64:
        return "float" if t is F32 else "double"
    return ("" if t.kind == "i" else "u") + _INTEGERS[t.bits]


def cell_of(t: ScalarType) -> str:
    """An element in memory."""
    return "uchar" if t is BOOL else name_of(t)


def unsigned_of(t: ScalarType) -> str:
    return "u" + _INTEGERS[max(t.bits, 8)]


def literal(value: float | bool, t: ScalarType) -> str:
    """A number, written by its bits where it is a float."""
    if t is BOOL:
        return "true" if value else "false"
    if t is F32:
        bits = 0x7FC00000 if math.isnan(value) else struct.unpack("I", struct.pack("f", value))[0]
        return f"as_float({bits:#010x}u)"
    if t is F64:
        bits = 0x7FF8000000000000 if math.isnan(value) else struct.unpack("Q", struct.pack("d", value))[0]
        return f"as_double({bits:#018x}ul)"
    if t.is_storage:
        return f"({name_of(t)}){bits_of(value, t)}u"
    if t.kind == "i":
        # The lowest number is not a literal: minus is an operator.
        text = f"(-{-(value + 1)}{'l' if t is I64 else ''} - 1)" if value < 0 else f"{value}{'l' if t is I64 else ''}"
        return f"({name_of(t)}){text}" if t.bits < 32 else text
    return f"({name_of(t)}){value}u{'l' if t.bits == 64 else ''}"
