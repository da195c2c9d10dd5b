"""Averages of gradients over a group that go on while a program computes: made by captured data-parallel steps.

A bucket is flat: gradients, gaps, and what the ranks tell each other (``umiak/comm/buckets.py``).
``umiak/comm/captured_buckets.py`` runs these ops.
"""

from __future__ import annotations

from typing import Any, ClassVar

from umiak.core.dtype import bool as bool_
from umiak.ir.meta import Meta
from umiak.ops.base import Op, register


class BucketOp(Op):
    """One operand: a bucket of the reducer over ``group``. All ranks make these calls in the same order."""

    group: str
    amp = "keep"
    vjp = None

    def bind(self) -> None:
        super().bind()
        self.effect = f"group:{self.group}"  # type: ignore[misc]

    def infer(self, x: Any) -> Any:
        return Meta(tuple(x.shape), x.dtype)


class NumberedBucketOp(BucketOp):
    """Bucket ``bucket`` of backward pass number ``backward`` of those that the program has of the reducer."""

    backward: int
    bucket: int


@register
class BucketStart(NumberedBucketOp):
    """``x`` on its way to the other ranks: what is in the result is not known before :class:`BucketDone`. It has the
    memory of ``x``, which nothing else may read."""


@register
class BucketDone(NumberedBucketOp):
    """The bucket ``x``, which was started, once it has the means over all ranks."""


@register
class RowsStart(NumberedBucketOp):
    """Rows ``x`` of the table that bucket ``bucket`` is for, at ``index`` (int64, one dim), on their way to the other
    ranks; of the whole table, those that are ``given`` (bool, one dim). The result stands for them, in the memory of
    ``x``. ``unused``: the pass gave the table no gradient."""

    inputs = ("x", "index", "given?")
    unused: bool

    def infer(self, x: Any, index: Any, given: Any = None) -> Any:  # type: ignore[override]
        return Meta(tuple(x.shape), x.dtype)


@register
class RowsDone(NumberedBucketOp):
    """The mean over all ranks of the tables of ``height`` rows of which ``x``, which was started, are some; and which
    of the rows were given by a rank."""

    height: int

    def infer(self, x: Any) -> Any:
        return Meta((self.height, *x.shape[1:]), x.dtype), Meta((self.height,), bool_)


STARTS, ENDS = (BucketStart, RowsStart), (BucketDone, RowsDone)


@register
class BucketPoll(BucketOp):
    """Progress of all buckets of the reducer that are under way, without waiting. ``x``: one of them."""

    variadic_outputs: ClassVar[bool] = True

    def infer(self, x: Any) -> Any:
        return ()
