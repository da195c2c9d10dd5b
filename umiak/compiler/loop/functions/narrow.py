"""Casts from and to the storage types, in integer arithmetic of 32 bits.

Rounding is to nearest, ties to even, once: what is wider than f32 is rounded to odd first (the nearest f32 towards
zero, its last bit set where something was lost), which loses no tie.
"""

from __future__ import annotations

from dataclasses import dataclass

from umiak.compiler.loop.functions.building_blocks import Builder
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
    F32,
    F64,
    I32,
    STORED,
    U8,
    U16,
    U32,
    U64,
    ScalarType,
)
from umiak.util.dtypes import FLOAT, TABLE, Row


@dataclass(frozen=True)
class Narrow:
    """A format of up to 16 bits, ``mantissa`` of them stored, with a sign unless ``special`` is ``"exponent"``
    (``umiak.util.dtypes.Row`` has the kinds). ``top``: the code of the first magnitude that is not finite: infinity, or
    NaN where there is none; the last finite one where there is neither. ``nan``: of NaN. ``overflow``: of what is too
    large: ``top``, or the one before where casts saturate.
    """

    bits: int
    mantissa: int
    bias: int
    special: str
    top: int
    nan: int
    overflow: int


def _format(row: Row) -> Narrow:
    sign = 1 << (row.bits - 1)
    infinity = (sign - 1) >> row.mantissa << row.mantissa
    top, nan = {
        "ieee": (infinity, infinity | 1 << row.mantissa >> 1),
        "fn": (sign - 1, sign - 1),
        "fnuz": (sign, sign),
        "none": (sign - 1, sign),  # as ml_dtypes has it, NaN becomes -0
        "exponent": (255, 255),
    }[row.special]
    return Narrow(row.bits, row.mantissa, row.bias, row.special, top, nan, top - row.saturates)


ROUND_BF16 = "bf16 of normal f32"  # among what is native: rounds as it should, but for denormals

# By the name of the data type; bfloat16 is the upper half of an f32.
FORMATS = {row.name: _format(row) for row in TABLE if row.kind == FLOAT and row.bits < 32 and row.name != "bfloat16"}
NARROW = {STORED[name]: f for name, f in FORMATS.items() if name in STORED}


def convert(x: Node, to: ScalarType, native: frozenset[str] = frozenset()) -> Node:
    """``x`` cast to ``to``, one of them a storage type."""
    if x.type is to:
        return x
    if x.type.is_storage:
        wide = cast(x, F32) if x.type.name in native else widen(x)
        return convert(wide, to, native) if to.is_storage else cast(wide, to)
    single = _to_f32(x)
    if to is BF16 and ROUND_BF16 in native:
        # The instruction takes denormals for zero.
        return rarely(call("denormal", single), narrow(single, to), cast(single, to))
    return cast(single, to) if to.name in native else narrow(single, to)


def denormal(x: Node) -> Node:
    return call("and", lt(call("abs", x), 2.0 ** (-126 if x.type is F32 else -1022)), ne(x, 0.0))


BUILDERS: dict[str, Builder] = {"denormal": denormal}


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
    return decode(_pattern(x), NARROW[x.type])


def decode(bits: Node, f: Narrow) -> Node:
    """The f32 whose code in a format stands in the low bits of ``bits`` (u32)."""
    if f.special == "exponent":
        power = select(eq(bits, _bits(0)), _bits(0x400000), _shift("shl", bits, 23))
        return bitcast(select(eq(bits, _bits(f.nan)), _bits(0x7FC00000), power), F32)
    sign = _shift("shl", call("and", bits, _bits(1 << (f.bits - 1))), 32 - f.bits)
    a = call("and", bits, _bits((1 << (f.bits - 1)) - 1))
    moved = _shift("shl", a, 23 - f.mantissa)
    normal = add(moved, _bits((127 - f.bias) << 23))
    # Denormals are integers times a power of two.
    denormal = bitcast(mul(cast(cast(a, I32), F32), 2.0 ** (1 - f.bias - f.mantissa)), U32)
    result = select(lt(a, _bits(1 << f.mantissa)), denormal, normal)
    if f.special in ("ieee", "fn"):
        # Infinity and NaN: all bits of the exponent.
        result = select(le(_bits(f.top), a), call("or", moved, _bits(0x7F800000)), result)
    result = call("or", result, sign)
    if f.special == "fnuz":
        result = select(eq(bits, _bits(f.nan)), _bits(0x7FC00000), result)
    return bitcast(result, F32)


def narrow(x: Node, to: ScalarType) -> Node:
    """f32 as a storage type."""
    if to is BF16:
        bits = bitcast(x, U32)
        return bitcast(cast(select(ne(x, x), _quiet(bits), _shift("shr", _rounded(bits, 16), 16)), U16), to)
    return bitcast(cast(encode(x, NARROW[to]), U8 if to.bits == 8 else U16), to)


def encode(x: Node, f: Narrow) -> Node:
    """The code of an f32 in a format, as u32."""
    bits = bitcast(x, U32)
    if f.special == "exponent":
        # To the nearest power of two, up from the middle. Denormals of f32 are, as ml_dtypes has it, the smallest up to
        # 2**-127 and the next one from there on.
        up = _shift("shr", add(bits, _bits(0x400000)), 23)
        code = select(lt(bits, _bits(0x800000)), select(lt(bits, _bits(0x400001)), _bits(0), _bits(1)), up)
        # What is 0, negative, infinite, NaN or too large; the sign is the highest bit.
        return select(lt(sub(bits, _bits(1)), _bits(0x7F400000 - 1)), code, _bits(f.nan))
    a = call("and", bits, _bits(0x7FFFFFFF))
    drop = 23 - f.mantissa
    normal = sub(_shift("shr", _rounded(a, drop), drop), _bits((127 - f.bias) << f.mantissa))
    # Adding a number whose last bit is the last bit of denormals rounds there.
    aligner = const(2.0 ** (24 - f.bias - f.mantissa), F32)
    denormal = sub(bitcast(add(call("abs", x), aligner), U32), bitcast(aligner, U32))
    result = select(lt(a, _bits((128 - f.bias) << 23)), denormal, minimum(normal, _bits(f.overflow)))
    sign = _shift("shr", call("and", bits, _bits(0x80000000)), 32 - f.bits)
    if f.special == "fnuz":
        sign = select(eq(result, _bits(0)), _bits(0), sign)  # -0 would be NaN
    if f.special in ("ieee", "fn") and f.nan != f.overflow:
        result = select(ne(x, x), _bits(f.nan), result)
    result = call("or", result, sign)
    return select(ne(x, x), _bits(f.nan), result) if f.special == "none" else result


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


def _sticky(x: Node, n_bits: int) -> Node:
    """An integer that a float of ``n_bits`` bits holds exactly: bits that do not fit go into the last that does."""
    drop = x.type.bits - n_bits
    unsigned = U32 if x.type.bits == 32 else U64
    limit = (1 << n_bits) - 1
    if x.type.kind == "i":
        # |x| < 2**kept, by one comparison
        within = lt(bitcast(add(x, const(limit, x.type)), unsigned), const(2 * limit + 1, unsigned))
    else:
        within = le(x, const(limit, x.type))
    low = ne(call("and", x, const((1 << drop) - 1, x.type)), const(0, x.type))
    high = call("and", x, const(-(1 << drop), x.type))
    return select(within, x, call("or", high, select(low, const(1 << drop, x.type), const(0, x.type))))
