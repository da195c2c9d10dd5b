"""Casts from and to the storage types, in integer arithmetic of 32 bits.

Rounding is to nearest, ties to even, once: what is wider than f32 is rounded to odd first (the nearest f32 towards
zero, its last bit set where something was lost), which loses no tie.
"""

from __future__ import annotations

from dataclasses import dataclass

from umiak.compiler.loop.node import (
    Node,
    add,
    bitcast,
    call,
    cast,
    const,
    eq,
    le,
    lt,
    minimum,
    mul,
    ne,
    rarely,
    select,
    sub,
)
from umiak.compiler.loop.types import (
    BF16,
    BOOL,
    F8E4M3,
    F8E5M2,
    F16,
    F32,
    F64,
    I32,
    U8,
    U16,
    U32,
    U64,
    ScalarType,
)


@dataclass(frozen=True)
class Narrow:
    """A format of ``mantissa`` stored bits. ``top``: the bits of the first magnitude that is not finite, which overflow
    gives: infinity, or NaN where there is none."""

    mantissa: int
    bias: int
    top: int
    nan: int


ROUND_BF16 = "bf16 of normal f32"  # among what is native: rounds as it should, but for denormals

NARROW = {
    F16: Narrow(10, 15, 0x7C00, 0x7E00),
    F8E5M2: Narrow(2, 15, 0x7C, 0x7E),
    F8E4M3: Narrow(3, 7, 0x7F, 0x7F),
}


def convert(x: Node, to: ScalarType, native: frozenset[str] = frozenset()) -> Node:
    """``x`` cast to ``to``, one of them a storage type."""
    if x.type is to:
        return x
    if x.type.is_storage:
        wide = cast(x, F32) if x.type.name in native else widen(x)
        return convert(wide, to, native) if to.is_storage else cast(wide, to)
    single = _to_f32(x)
    if to is BF16 and ROUND_BF16 in native:
        bits = bitcast(single, U32)
        # The instruction takes denormals for zero.
        none = eq(call("and", bits, _bits(0x7F800000)), _bits(0))
        return rarely(
            call("and", none, ne(call("and", bits, _bits(0x7FFFFF)), _bits(0))), narrow(single, to), cast(single, to)
        )
    return cast(single, to) if to.name in native else narrow(single, to)


def _bits(value: int) -> Node:
    return const(value, U32)


def _shift(op: str, x: Node, n: int) -> Node:
    return call(op, x, const(n, x.type))


def _pattern(x: Node) -> Node:
    """The bits of a storage type, as u32."""
    return cast(bitcast(x, U8 if x.type.bits == 8 else U16), U32)


def widen(x: Node) -> Node:
    """A storage type as f32."""
    if x.type is BF16:
        return bitcast(_shift("shl", _pattern(x), 16), F32)
    f = NARROW[x.type]
    bits = _pattern(x)
    sign = _shift("shl", call("and", bits, _bits(1 << (x.type.bits - 1))), 32 - x.type.bits)
    a = call("and", bits, _bits((1 << (x.type.bits - 1)) - 1))
    moved = _shift("shl", a, 23 - f.mantissa)
    normal = add(moved, _bits((127 - f.bias) << 23))
    # Denormals are integers times a power of two.
    denormal = bitcast(mul(cast(cast(a, I32), F32), 2.0 ** (1 - f.bias - f.mantissa)), U32)
    result = select(lt(a, _bits(1 << f.mantissa)), denormal, normal)
    # Infinity and NaN: all bits of the exponent.
    result = select(le(_bits(f.top), a), call("or", moved, _bits(0x7F800000)), result)
    return bitcast(call("or", result, sign), F32)


def narrow(x: Node, to: ScalarType) -> Node:
    """f32 as a storage type."""
    bits = bitcast(x, U32)
    if to is BF16:
        return bitcast(cast(select(ne(x, x), _quiet(bits), _shift("shr", _rounded(bits, 16), 16)), U16), to)
    f = NARROW[to]
    a = call("and", bits, _bits(0x7FFFFFFF))
    drop = 23 - f.mantissa
    normal = sub(_shift("shr", _rounded(a, drop), drop), _bits((127 - f.bias) << f.mantissa))
    # Adding a number whose last bit is the last bit of denormals rounds there.
    aligner = const(2.0 ** (24 - f.bias - f.mantissa), F32)
    denormal = sub(bitcast(add(call("abs", x), aligner), U32), bitcast(aligner, U32))
    result = select(lt(a, _bits((128 - f.bias) << 23)), denormal, minimum(normal, _bits(f.top)))
    if f.nan != f.top:
        result = select(ne(x, x), _bits(f.nan), result)
    sign = _shift("shr", call("and", bits, _bits(0x80000000)), 32 - to.bits)
    return bitcast(cast(call("or", result, sign), U8 if to.bits == 8 else U16), to)


def _quiet(bits: Node) -> Node:
    """A NaN's upper half, which must not become infinity."""
    return call("or", _shift("shr", bits, 16), _bits(0x40))


def _rounded(bits: Node, drop: int) -> Node:
    """Bits to which enough has been added that the upper ones are rounded to nearest, ties to even."""
    even = call("and", _shift("shr", bits, drop), _bits(1))
    return add(bits, add(even, _bits((1 << (drop - 1)) - 1)))


def _to_f32(x: Node) -> Node:
    """``x`` as f32 from which rounding to a storage type is right."""
    if x.type is F64:
        return _odd(x)
    if x.type is BOOL or x.type.bits <= 16 or x.type is F32:
        return cast(x, F32)
    if x.type.bits == 32:
        return cast(_sticky(x, 24), F32)
    return _odd(cast(_sticky(x, 53), F64))


def _odd(x: Node) -> Node:
    """f64 as f32, rounded to odd."""
    near = cast(x, F32)
    back = cast(near, F64)
    one, none = const(1, U32), const(0, U32)
    beyond = lt(call("abs", x), call("abs", back))
    bits = sub(bitcast(near, U32), select(beyond, one, none))
    return bitcast(call("or", bits, select(ne(back, x), one, none)), F32)


def _sticky(x: Node, kept: int) -> Node:
    """An integer that a float of ``kept`` bits holds exactly: bits that do not fit go into the last that does."""
    drop = x.type.bits - kept
    unsigned = U32 if x.type.bits == 32 else U64
    limit = (1 << kept) - 1
    if x.type.kind == "i":
        # |x| < 2**kept, by one comparison
        within = lt(bitcast(add(x, const(limit, x.type)), unsigned), const(2 * limit + 1, unsigned))
    else:
        within = le(x, const(limit, x.type))
    low = ne(call("and", x, const((1 << drop) - 1, x.type)), const(0, x.type))
    high = call("and", x, const(-(1 << drop), x.type))
    return select(within, x, call("or", high, select(low, const(1 << drop, x.type), const(0, x.type))))
