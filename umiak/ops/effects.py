"""Effects of a program on the host: checks of data, and text that is printed.

They are one order class, so that checks and texts come in the order of the code. ``umiak/runtime/host.py`` runs them.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar

import numpy as np

from umiak import ops as F
from umiak.core import dtype as dt
from umiak.ir import sym as dim
from umiak.ir.expr import compare_eq
from umiak.ir.meta import Meta
from umiak.ops._common import shard_string
from umiak.ops.base import Op, Sample, param, register
from umiak.ops.control import is_flag


class OnHost(Op):
    """An op that reads its operands on the host. Its result, a true flag, means that it is done."""

    packed = True
    amp = "keep"
    vjp = None
    effect: ClassVar[str] = "host"


@register
class Require(OnHost):
    """Raise the built-in exception ``kind`` with ``args`` where ``flag`` is false.

    ``place``: file, line and function that the traceback of the error ends with.
    """

    inputs = ("flag",)
    kind: str
    args: tuple = ()
    place: tuple = ()

    def infer(self, flag):
        if not is_flag(flag):
            self.fail(TypeError, "a bool with one element", flag)
        return Meta((), dt.bool)


@register
class ReadNumber(Op):
    """``x``, one integer, whose value is the number ``n`` from here on: a size that data decide."""

    binds: ClassVar[tuple[str, ...]] = ("n",)
    amp = "keep"
    vjp = None
    n: int = param("int")

    def infer(self, x, n):
        if x.shape or not x.dtype.is_integer:
            self.fail(TypeError, "an integer without dims", x)
        return Meta((), x.dtype)

    def decompose(self, x, n):
        return F.copy(x)

    def shard(self, x, n):
        return shard_string([[]], [[]])

    @staticmethod
    def samples(rng: Any) -> Iterator[Sample]:
        yield Sample((np.array(3),), params={"n": 3})
        yield Sample((np.array(0, np.int32),), params={"n": 0})


@register
class Sized(Op):
    """``x``, whose sizes along ``axes`` are the numbers ``sizes`` from here on: what the two ways of a branch leave,
    where each has sizes of its own."""

    binds: ClassVar[tuple[str, ...]] = ("sizes",)
    amp = "keep"
    axes: tuple
    sizes: tuple = param("ints")

    def infer(self, x, sizes):
        shape = self._shape(x, sizes)
        known = [(m, n) for m, n in zip(shape, x.shape, strict=True) if type(m) is type(n) is int]
        if len(sizes) != len(self.axes) or any(m != n for m, n in known):
            self.fail(ValueError, f"sizes along axes {self.axes} of a tensor of shape {tuple(x.shape)}", tuple(sizes))
        return Meta(shape, x.dtype)

    def _shape(self, x, sizes):
        own = dict(zip(self.axes, sizes, strict=False))
        return tuple(own.get(i, n) for i, n in enumerate(x.shape))

    def decompose(self, x, sizes):
        scope = dim.get_scope()
        # Where a program comes here, sizes are those (the other way of a branch has others); a call is tested.
        if scope is not None and not scope.of_plan:
            for axis, n in zip(self.axes, sizes, strict=True):
                scope.know(compare_eq(x.shape[axis], n))
        return F.copy(F.reshape(x, self._shape(x, sizes)))

    def vjp(self, s, g):
        # No reshape, which would ask that the sizes are those: they are, where this way was taken.
        (x,) = s.inputs
        return F.sized(g, axes=self.axes, sizes=tuple(x.shape[a] for a in self.axes))

    def shard(self, x, sizes):
        names = [f"n{i}" for i in range(len(x.shape))]
        return shard_string([names], [names], **dict.fromkeys(names, "replicated"))

    @staticmethod
    def samples(rng: Any) -> Iterator[Sample]:
        yield Sample((np.array([[1.0, 2.0, 3.0]]),), {"axes": (1,)}, {"sizes": (3,)})
        yield Sample((np.array(True),), {"axes": ()}, {"sizes": ()})
        yield Sample((np.zeros((0, 2), np.int32),), {"axes": (0, 1)}, {"sizes": (0, 2)})


@register
class WriteText(OnHost):
    """Write ``pieces`` to the standard output, with the tensors between them, as such with ``stops`` as their
    ``stop_gradient``."""

    inputs = ("*xs",)
    pieces: tuple
    stops: tuple = ()

    def infer(self, *xs):
        if len(self.pieces) != len(xs) + 1:
            self.fail(ValueError, f"{len(xs) + 1} pieces of text around {len(xs)} tensors", len(self.pieces))
        return Meta((), dt.bool)
