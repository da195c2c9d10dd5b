"""Effects of a program on the host: checks of data, and text that is printed.

They are one order class, so that checks and texts come in the order of the code. ``umiak/runtime/host.py`` runs them.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar

import numpy as np

from umiak import ops as F
from umiak.core import dtype as dt
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
    """``x``, one integer, whose value is the number ``n`` from here on.

    Programs that are recorded for files alone have it; those that run here read no numbers from data.
    """

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
    """``x``, whose sizes are the numbers ``shape`` from here on: what the two ways of a branch leave, where each has
    sizes of its own.

    Programs that are recorded for files alone have it.
    """

    amp = "keep"
    vjp = None
    shape: tuple = param("ints")

    def infer(self, x, shape):
        known = zip(shape, x.shape, strict=False)
        if len(shape) != len(x.shape) or any(type(m) is type(n) is int and m != n for m, n in known):
            self.fail(ValueError, f"sizes of a tensor of shape {tuple(x.shape)}", tuple(shape))
        return Meta(tuple(shape), x.dtype)

    def decompose(self, x, shape):
        return F.copy(F.reshape(x, shape))

    def shard(self, x, shape):
        names = [f"n{i}" for i in range(len(shape))]
        return shard_string([names], [names], **dict.fromkeys(names, "replicated"))

    @staticmethod
    def samples(rng: Any) -> Iterator[Sample]:
        yield Sample((np.array([[1.0, 2.0, 3.0]]),), params={"shape": (1, 3)}, differentiable=())
        yield Sample((np.array(True),), params={"shape": ()}, differentiable=())
        yield Sample((np.zeros((0, 2), np.int32),), params={"shape": (0, 2)}, differentiable=())


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
