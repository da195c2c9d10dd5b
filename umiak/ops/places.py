"""Copies between places, as an op with a derivative."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from umiak import ops as F
from umiak.core import dtype as dt
from umiak.core.place import Place
from umiak.ir.meta import Meta
from umiak.ops._common import draw, factor_names, shard_string
from umiak.ops.base import Op, Sample, register


def parse_place(op: Op, text: str) -> Place:
    """The place of a name: ``cpu``, ``gpu:1``."""
    kind, _, number = text.partition(":")
    if not kind or not (number or "0").isdecimal():
        op.fail(ValueError, "places as names of a device and its number, like 'gpu:1'", repr(text))
    return Place(kind, int(number or 0))


@register
class Transfer(Op):
    """``x``, which is on the place ``source``, in new memory of the place ``target``.

    Both are static attributes: a value of a program has no place of its own, and the gradient goes back.
    """

    linear = True
    monotone = True
    amp = "keep"
    packed = True
    source: str
    target: str

    @property
    def target_place(self) -> Place:
        """Return the place of the result."""
        return parse_place(self, self.target)

    def infer(self, x):
        if x.dtype is None:
            self.fail(TypeError, "a tensor", f"a Python {x.weak}")
        parse_place(self, self.source)
        parse_place(self, self.target)
        return Meta(tuple(x.shape), x.dtype)

    def vjp(self, s, g):
        return (F.transfer(g, source=self.target, target=self.source),)

    def shard(self, x):
        names = factor_names(len(x.shape))
        return shard_string([names], [names])

    @staticmethod
    def samples(rng: Any) -> Iterator[Sample]:
        here = {"source": "cpu", "target": "cpu"}
        for shape, dtype in (((2, 3), dt.float64), ((), dt.float32), ((0, 2), dt.float32), ((2,), dt.complex128)):
            yield Sample((draw(rng, shape, dtype),), here)
        yield Sample((draw(rng, (3,), dt.bfloat16),), here)
        yield Sample((draw(rng, (3,), dt.int64),), here)
