"""Primitives that make tensors from numbers, and the sum that undoes broadcasting."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from umiak import ops as F
from umiak.core import dtype as dt
from umiak.ir import sym as dim
from umiak.ir.meta import Meta
from umiak.ops._common import accept, draw, factor_names, shard_string, sizes, with_local_shape
from umiak.ops.base import Op, Sample, param, register


@register
class Full(Op):
    """Every element is ``value``, a number or a 0-d tensor, cast to ``dtype``."""

    packed = True
    inputs = ("value",)
    dtype: Any
    shape: tuple = param("ints")

    def infer(self, value, shape):
        if value.weak is None and value.shape:
            self.fail(ValueError, "a number or a 0-d tensor", tuple(value.shape))
        if value.weak == "complex" and not self.dtype.is_complex:
            self.fail(TypeError, "a real number", "a complex one")
        if not all(dim.le(0, n) for n in shape):
            self.fail(ValueError, "sizes of 0 or more", tuple(shape))
        return Meta(tuple(shape), self.dtype)

    def vjp(self, s, g):
        value = s.inputs[0]
        if not hasattr(value, "shape"):
            return (None,)
        return (F.cast(F.sum_to(g, shape=()), dtype=value.dtype),)

    def shard(self, value, shape):
        return shard_string([[]], [factor_names(len(shape))])

    on_shard = with_local_shape

    @staticmethod
    def samples(rng: Any) -> Iterator[Sample]:
        for value, dtype in (
            (1.5, dt.float32),
            (2, dt.float64),
            (-3, dt.int64),
            (True, dt.bool),
            (1 + 2j, dt.complex64),
            (0.1, dt.bfloat16),
        ):
            yield Sample((value,), {"dtype": dtype}, {"shape": (2, 3)})
        yield Sample((draw(rng, (), dt.float64),), {"dtype": dt.float64}, {"shape": (2,)}, note="a tensor")
        yield Sample((1.0,), {"dtype": dt.float32}, {"shape": ()}, note="0-d")
        yield Sample((1.0,), {"dtype": dt.float32}, {"shape": (0, 2)}, note="0-size")


@register
class Iota(Op):
    """``start + i*step`` for i from 0 to ``size - 1``, computed in the compute type of ``dtype``."""

    inputs = ("start", "step")
    vjp = None
    dtype: Any
    size: int = param("int")

    def infer(self, start, step, size):
        for m in (start, step):
            if m.weak is None:
                self.fail(TypeError, "numbers for start and step", f"a tensor of {m.dtype.name}")
        if not (self.dtype.is_floating or self.dtype.is_integer):
            self.fail(TypeError, "an integer or floating dtype", self.dtype.name)
        if not dim.le(0, size):
            self.fail(ValueError, "a size of 0 or more", size)
        return Meta((size,), self.dtype)

    def shard(self, start, step, size):
        return shard_string([[], []], [["a"]])

    def on_shard(self, shard, start, step, size):
        (first,), (own,) = shard.results[0].starts, shard.results[0].sizes
        return F.iota(start + step * first, step, dtype=self.dtype, size=own)

    @staticmethod
    def samples(rng: Any) -> Iterator[Sample]:
        cases = (
            (0, 1, 5, dt.int64),
            (3, -2, 4, dt.int32),
            (0.5, 0.25, 5, dt.float32),
            (0, 1, 0, dt.int64),
            (1, 3, 4, dt.float64),
            (0, 1, 3, dt.bfloat16),
        )
        for start, step, size, dtype in cases:
            yield Sample((start, step), {"dtype": dtype}, {"size": size})


@register
class SumTo(Op):
    """``x`` summed down to ``shape``, from which it could have been broadcast. The inverse of broadcasting, for
    gradients.

    Leading dims that ``shape`` lacks are summed, and dims where it has 1. Which those are is known at run time; only
    the length of ``shape`` belongs to the class of the call.
    """

    amp = "keep"
    linear = True
    shape: tuple = param("ints")

    def infer(self, x, shape):
        accept(self, "ifc", x)
        if len(shape) > len(x.shape):
            self.fail(ValueError, f"a shape of rank {len(x.shape)} or less", tuple(shape))
        tail = x.shape[len(x.shape) - len(shape) :]
        for n, m in zip(tail, shape, strict=True):
            if not _stretches(m, n):
                self.fail(ValueError, f"a shape that broadcasts to {tuple(x.shape)}", tuple(shape))
        return Meta(tuple(shape), x.dtype)

    def vjp(self, s, g):
        return (F.broadcast_to(g, shape=sizes(s.inputs[0])),)

    def shard(self, x, shape):
        names = factor_names(len(x.shape))
        lead = len(names) - len(shape)
        gone = [not _is_one(n) and _is_one(m) for n, m in zip(x.shape[lead:], shape, strict=True)]
        out = ["1" if g else f for f, g in zip(names[lead:], gone, strict=True)]
        summed = names[:lead] + [f for f, g in zip(names[lead:], gone, strict=True) if g]
        return shard_string([names], [out], **dict.fromkeys(summed, "sum"))

    on_shard = with_local_shape

    @staticmethod
    def samples(rng: Any) -> Iterator[Sample]:
        for a, b in (
            ((2, 3), (2, 3)),
            ((2, 3), (3,)),
            ((2, 3), (2, 1)),
            ((4, 2, 3), (1, 3)),
            ((2, 3), ()),
            ((), ()),
            ((0, 3), (1, 3)),
            ((2, 0), (2, 0)),
        ):
            yield Sample((draw(rng, a),), params={"shape": b})
        for dtype in (dt.float32, dt.bfloat16, dt.int64, dt.complex128):
            yield Sample((draw(rng, (2, 3), dtype),), params={"shape": (3,)})


def _stretches(m: Any, n: Any) -> bool:
    """Return whether a dim of size ``m`` broadcasts to exactly ``n``."""
    try:
        return dim.eq(dim.broadcast(m, n), n)
    except ValueError:
        return False


def _is_one(n: Any) -> bool:
    return isinstance(n, int) and n == 1
