"""Elements that share bytes, two in each: read one by one, written a byte at a time."""

from __future__ import annotations

from umiak.compiler.loop import node as n
from umiak.compiler.loop.functions.narrow import FORMATS, decode, encode
from umiak.compiler.loop.node import Node
from umiak.compiler.loop.types import F32, I32, U8, U32
from umiak.compiler.lower.builder import Builder, Element, Index, compute_type, rule
from umiak.compiler.lower.terminal import LaunchBuilder, terminal
from umiak.compiler.nest import Chain, Nest, StoreStage
from umiak.core.dtype import DType
from umiak.ir import sym as dim
from umiak.ir.program import Operation
from umiak.ops import packed


@rule(packed.Unpack)
def unpack(b: Builder, o: Operation, k: int, index: Index) -> Element:
    x = o.operands[0]
    code, dtype = b.code(x, index), x.meta.dtype
    if dtype.is_floating:
        return decode(code, FORMATS[dtype.name])
    if dtype.name.startswith("u"):
        return n.cast(code, compute_type(dtype.carrier))
    # The sign is moved to the top of 32 bits and back.
    signed = n.call("shr", n.bitcast(n.call("shl", code, n.const(28, U32)), I32), n.const(28, I32))
    return n.cast(signed, compute_type(dtype.carrier))


def _code(x: Element, dtype: DType) -> Node:
    """The bits of a number of the carrier, as u32."""
    assert isinstance(x, Node)
    if dtype.is_floating:
        return encode(n.cast(x, F32), FORMATS[dtype.name])
    return n.call("and", n.bitcast(n.cast(x, I32), U32), n.const(15, U32))


@terminal(packed.Pack)
def pack(launch: LaunchBuilder, o: Operation) -> Nest | Chain:
    """Each byte from two consecutive elements of a contiguous tensor; the last byte may hold one."""
    (x,), dtype = o.operands, o.op.dtype
    shape = tuple(x.meta.shape)
    count = dim.product(shape)
    b = launch.builder()
    (j,) = b.open(((count + 1) // 2,)) if shape else (n.i64(0),)

    def element(i: Node) -> Node:
        return _code(b.read(x, tuple(b.divided(i, shape)) if shape else ()), dtype)

    low = n.mul(j, 2)
    code = element(low)
    if shape:
        high = n.add(low, 1)
        there = n.lt(high, b.leaf(count))
        second = b.guarded(there, lambda: element(high))
        assert isinstance(second, Node)
        code = n.call("or", code, n.select(there, n.call("shl", second, n.const(4, U32)), n.const(0, U32)))
    buffer = launch.place[id(o.results[0])]
    b.stages.append(StoreStage(buffer, b.affine(j, buffer), n.cast(code, U8), False))
    return b.finish()
