"""Comparison and selection."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from umiak import ops as F
from umiak.core import dtype as dt
from umiak.ir.meta import Meta
from umiak.ops._common import accept, back, broadcast_shape, draw, same_dtype, shard_pointwise
from umiak.ops.base import Op, Sample, register
from umiak.ops.elementwise import binary


def compare(name: str, doc: str) -> type[Op]:
    """Make a comparison: a bool result, no gradient. Complex numbers have the order of NumPy, that of the pairs of
    their parts."""
    return binary(name, doc, "bifc", result=dt.bool, packed=True)


Eq = compare("Eq", "x == y; False where either is NaN")
Ne = compare("Ne", "x != y; True where either is NaN")
Lt = compare("Lt", "x < y")
Le = compare("Le", "x <= y")
Gt = compare("Gt", "x > y")
Ge = compare("Ge", "x >= y")


@register
class Where(Op):
    """``x`` where ``cond`` holds, elsewhere ``y``. A value that is not chosen leaves no trace, be it NaN."""

    packed = True
    inputs = ("cond", "x", "y")
    linear = monotone = (("x", "y"),)
    elementwise = True

    def infer(self, cond, x, y):
        if cond.weak is not None:
            self.fail(TypeError, "a tensor condition", f"a Python {cond.weak}")
        accept(self, "b", cond)
        return Meta(broadcast_shape(self, cond, x, y), same_dtype(self, x, y))

    def vjp(self, s, g):
        cond, x, y = s.inputs
        return None, back(F.where(cond, g, 0), x), back(F.where(cond, 0, g), y)

    def shard(self, cond, x, y):
        return shard_pointwise(cond, x, y)

    @staticmethod
    def samples(rng: Any) -> Iterator[Sample]:
        f, d = dt.float32, dt.float64
        shapes = (
            ((2, 3), (2, 3), (2, 3), d),
            ((3,), (2, 1), (), d),
            ((2, 1), (3,), (3,), f),
            ((), (), (), d),
            ((0, 1), (1, 2), (2,), f),
        )
        for c, a, b, dtype in shapes:
            yield Sample((draw(rng, c, dt.bool), draw(rng, a, dtype), draw(rng, b, dtype)))
        for dtype in (dt.bfloat16, dt.int64, dt.bool, dt.complex128):
            yield Sample((draw(rng, (4,), dt.bool), draw(rng, (4,), dtype), draw(rng, (4,), dtype)))
        yield Sample((draw(rng, (4,), dt.bool), draw(rng, (4,), d), 0.0), note="a number")
        yield Sample((draw(rng, (4,), dt.bool), float("nan"), draw(rng, (4,), d)), differentiable=(), note="NaN")
