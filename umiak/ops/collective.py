"""Communication among the ranks of a group, as ops with derivatives.

A tensor here is one rank's own. The convention of gradients: a value that is *equal* on all ranks has an equal gradient
on all of them, which counts once; a value that *differs* has the gradient of the sum of what the ranks compute. So
all-reduce, which makes an equal value of differing ones, passes its gradient through, and ``CopyToGroup``, which marks
that ranks now use an equal value in different ways, all-reduces it. Each is the other's transpose, and so are
all-gather and reduce-scatter, send and receive, broadcast and reduce-to.

``group`` names the communicator and is static; its size and the ranks in it are params. Calls on one group keep their
order: each has the effect ``group:<name>``.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from umiak import ops as F
from umiak.core import dtype as dt
from umiak.ir import sym as dim
from umiak.ir.meta import Meta
from umiak.ops._common import accept, cast_to, check_axes, conj, draw, factor_names, shard_except, shard_string, sizes
from umiak.ops.base import Op, Sample, param, register
from umiak.ops.movement import require

# Reductions, and the kinds of dtype that each accepts.
REDUCTIONS = {"sum": "ifc", "avg": "fc", "max": "bif", "min": "bif", "prod": "ifc"}


def check_reduction(op: Op, x: Meta) -> None:
    """Refuse reductions that are not known, and dtypes that they have no meaning for."""
    if op.op not in REDUCTIONS:
        op.fail(ValueError, f"a reduction of {tuple(REDUCTIONS)}", op.op)
    accept(op, REDUCTIONS[op.op], x)


def transposable(op: Op) -> None:
    """Refuse reductions whose gradient needs more than the gradient of the result."""
    if op.op not in ("sum", "avg"):
        op.fail(TypeError, "op sum or avg for a gradient", op.op)


class Collective(Op):
    """One operand and a group of ``size`` ranks."""

    group: str
    size: int = param("int")

    def bind(self):
        super().bind()
        self.effect = f"group:{self.group}"

    def check(self, x, size):
        """Refuse groups without ranks."""
        require(self, size >= 1, "a group of at least one rank", size)

    def infer(self, x, size, *params):
        self.check(x, size)
        return Meta(tuple(x.shape), x.dtype)

    def group_arguments(self, s):
        """The arguments that name this group."""
        return {"group": self.group, "size": s.params.size}

    def shard(self, x, *params):
        names = factor_names(len(x.shape))
        return shard_string([names], [names])

    @staticmethod
    def samples(rng) -> Iterator[Sample]:
        for shape, dtype in (
            ((2, 3), dt.float64),
            ((), dt.float64),
            ((0, 2), dt.float32),
            ((2,), dt.complex128),
            ((3,), dt.bfloat16),
        ):
            yield Sample((draw(rng, shape, dtype),), {"group": "self"}, {"size": 1})


@register
class AllReduce(Collective):
    """``x`` of all ranks combined by ``op``; every rank gets the result."""

    op: str = "sum"

    def check(self, x, size):
        super().check(x, size)
        check_reduction(self, x)

    def vjp(self, s, g):
        x, out, size = s.inputs[0], s.outputs[0], s.params.size
        g = F.copy_to_group(g, **self.group_arguments(s))
        if self.op == "sum":
            return (g,)
        if self.op == "avg":
            return (F.div(g, size),)
        if self.op == "prod":
            return (F.mul(g, conj(F.div(out, x))),)  # for factors that are not zero
        won = F.cast(F.eq(x, out), dtype=g.dtype)
        return (F.mul(g, F.div(won, F.all_reduce(won, **self.group_arguments(s)))),)

    @staticmethod
    def samples(rng) -> Iterator[Sample]:
        yield from Collective.samples(rng)
        for op in REDUCTIONS:
            yield Sample((draw(rng, (2, 3), avoid=(0.0,)),), {"group": "self", "op": op}, {"size": 1})
        yield Sample((draw(rng, (3,), dt.int64),), {"group": "self", "op": "max"}, {"size": 1})


@register
class CopyToGroup(Collective):
    """``x``, equal on all ranks, before each uses it in its own way: the same values; their gradients are added up over
    the group.
    """

    linear = True

    def bind(self):
        Op.bind(self)  # nothing is sent

    def vjp(self, s, g):
        return (F.all_reduce(g, **self.group_arguments(s)),)


@register
class AllGather(Collective):
    """``x`` of all ranks joined along ``axis`` in the order of ranks; every rank gets the result."""

    linear = True
    axis: int = 0

    def infer(self, x, size):
        self.check(x, size)
        check_axes(self, (self.axis,), len(x.shape))
        return Meta(tuple(n * size if i == self.axis else n for i, n in enumerate(x.shape)), x.dtype)

    def vjp(self, s, g):
        return (F.reduce_scatter(g, axis=self.axis, **self.group_arguments(s)),)

    def shard(self, x, size):
        return shard_except(x, (self.axis,))

    @staticmethod
    def samples(rng) -> Iterator[Sample]:
        yield Sample((draw(rng, (2, 3)),), {"group": "self", "axis": 1}, {"size": 1})
        yield Sample((draw(rng, (2, 2), dt.complex128),), {"group": "self"}, {"size": 1})
        yield Sample((draw(rng, (0, 2), dt.float32),), {"group": "self"}, {"size": 1}, note="0-size")


@register
class ReduceScatter(Collective):
    """``x`` of all ranks combined by ``op``; each rank gets its part of ``axis``, cut into ``size`` equal parts."""

    axis: int = 0
    op: str = "sum"

    def infer(self, x, size):
        self.check(x, size)
        check_axes(self, (self.axis,), len(x.shape))
        check_reduction(self, x)
        n = x.shape[self.axis]
        require(self, n % dim.maximum(size, 1) == 0, f"axis {self.axis} to be a multiple of the {size} ranks", n)
        return Meta(tuple(m // size if i == self.axis else m for i, m in enumerate(x.shape)), x.dtype)

    def vjp(self, s, g):
        transposable(self)
        gradient = F.all_gather(g, axis=self.axis, **self.group_arguments(s))
        return (F.div(gradient, s.params.size) if self.op == "avg" else gradient,)

    def shard(self, x, size):
        return shard_except(x, (self.axis,))

    @staticmethod
    def samples(rng) -> Iterator[Sample]:
        for op in ("sum", "avg"):
            yield Sample((draw(rng, (2, 3)),), {"group": "self", "axis": 1, "op": op}, {"size": 1})
        yield Sample((draw(rng, (2,), dt.int64),), {"group": "self", "op": "max"}, {"size": 1})
        yield Sample((draw(rng, (0, 2), dt.float32),), {"group": "self"}, {"size": 1}, note="0-size")


@register
class AllToAll(Collective):
    """``x`` cut into ``size`` equal parts along ``split_axis``; part i goes to rank i, which joins what it gets along
    ``concat_axis``.
    """

    linear = True
    split_axis: int = 0
    concat_axis: int = 0

    def infer(self, x, size):
        self.check(x, size)
        check_axes(self, {self.split_axis, self.concat_axis}, len(x.shape))
        n = x.shape[self.split_axis]
        require(self, n % dim.maximum(size, 1) == 0, f"axis {self.split_axis} to be a multiple of the {size} ranks", n)
        shape = [m // size if i == self.split_axis else m for i, m in enumerate(x.shape)]
        shape[self.concat_axis] = shape[self.concat_axis] * size
        return Meta(tuple(shape), x.dtype)

    def vjp(self, s, g):
        return (F.all_to_all(g, split_axis=self.concat_axis, concat_axis=self.split_axis, **self.group_arguments(s)),)

    def shard(self, x, size):
        return shard_except(x, {self.split_axis, self.concat_axis})

    @staticmethod
    def samples(rng) -> Iterator[Sample]:
        for a, b in ((0, 0), (0, 1), (1, 0)):
            yield Sample((draw(rng, (2, 3)),), {"group": "self", "split_axis": a, "concat_axis": b}, {"size": 1})
        yield Sample((draw(rng, (0, 2), dt.float32),), {"group": "self"}, {"size": 1}, note="0-size")


@register
class AllToAllSized(Collective):
    """The first dim of ``x`` cut into ``sent`` rows for each rank; the result joins the ``received`` rows from each."""

    linear = True
    sent: tuple = param("ints")
    received: tuple = param("ints")

    def infer(self, x, size, sent, received):
        self.check(x, size)
        got = f"{tuple(sent)} and {tuple(received)} for {size} ranks"
        if not x.shape or len(sent) != len(received):
            self.fail(ValueError, "rows, and numbers of rows sent and received for each rank", got)
        require(self, size == len(sent), "one number of rows for each rank", got)
        require(self, x.shape[0] == sum(sent), "rows that add up to those of x", f"{x.shape[0]} and {tuple(sent)}")
        return Meta((sum(received), *x.shape[1:]), x.dtype)

    def vjp(self, s, g):
        return (F.all_to_all_sized(g, **self.group_arguments(s), sent=s.params.received, received=s.params.sent),)

    def shard(self, x, size, sent, received):
        return shard_except(x, (0,))

    @staticmethod
    def samples(rng) -> Iterator[Sample]:
        yield Sample((draw(rng, (3, 2)),), {"group": "self"}, {"size": 1, "sent": (3,), "received": (3,)})
        yield Sample(
            (draw(rng, (0, 2)),), {"group": "self"}, {"size": 1, "sent": (0,), "received": (0,)}, note="0-size"
        )


class Rooted(Collective):
    """A collective with one special rank, ``root``; ``rank`` is the caller's own."""

    root: int = param("int", 0)
    rank: int = param("int", 0)

    def infer(self, x, size, root, rank):
        self.check(x, size)
        require(
            self,
            (0 <= root) & (root < size) & (0 <= rank) & (rank < size),
            f"ranks below {size}",
            f"root {root}, rank {rank}",
        )
        return Meta(tuple(x.shape), x.dtype)

    def group_arguments(self, s):
        return {**super().group_arguments(s), "root": s.params.root, "rank": s.params.rank}


@register
class Broadcast(Rooted):
    """``x`` of the rank ``root``, on every rank."""

    linear = True

    def vjp(self, s, g):
        return (F.reduce_to(g, **self.group_arguments(s)),)


@register
class ReduceTo(Rooted):
    """``x`` of all ranks combined by ``op``, on the rank ``root``; zeros on the others."""

    op: str = "sum"

    def check(self, x, size):
        super().check(x, size)
        check_reduction(self, x)

    def vjp(self, s, g):
        transposable(self)
        gradient = F.broadcast(g, **self.group_arguments(s))
        return (F.div(gradient, s.params.size) if self.op == "avg" else gradient,)


@register
class CollectivePermute(Collective):
    """``x`` sent from rank a to rank b for each (a, b) of ``pairs``; a rank that receives nothing gets zeros."""

    linear = True
    pairs: tuple

    def check(self, x, size):
        super().check(x, size)
        for side in zip(*self.pairs, strict=True):
            if len(set(side)) != len(side):
                self.fail(ValueError, "each rank at most once as source and once as target", self.pairs)

    def vjp(self, s, g):
        return (F.collective_permute(g, pairs=tuple((b, a) for a, b in self.pairs), **self.group_arguments(s)),)

    @staticmethod
    def samples(rng) -> Iterator[Sample]:
        for pairs in (((0, 0),), ()):
            yield Sample((draw(rng, (2, 3)),), {"group": "self", "pairs": pairs}, {"size": 1})
        yield Sample((draw(rng, (2,), dt.complex128),), {"group": "self", "pairs": ((0, 0),)}, {"size": 1})


class PointToPoint(Collective):
    """Between two ranks. No samples: a group of one has nobody to talk to."""

    peer: int = param("int")

    def between(self, size, peer):
        """Refuse a peer outside the group."""
        require(self, (0 <= peer) & (peer < size), f"a rank below {size}", peer)

    @staticmethod
    def samples(rng) -> Iterator[Sample]:
        return iter(())


@register
class Send(PointToPoint):
    """``x`` sent to the rank ``peer``. The result is an empty tensor, through which the gradient comes back."""

    linear = True

    def infer(self, x, size, peer):
        self.between(size, peer)
        return Meta((0,), x.dtype)

    def vjp(self, s, g):
        x = s.inputs[0]
        return (F.recv(g, dtype=x.dtype, **self.group_arguments(s), peer=s.params.peer, shape=sizes(x)),)

    def shard(self, x, size, peer):
        return shard_string([["1"] * len(x.shape)], [["1"]])


@register
class Recv(PointToPoint):
    """A tensor of ``shape`` received from the rank ``peer``.

    ``token``, an empty tensor, orders it after what made the token; one that needs a gradient lets the gradient travel
    back to the peer.
    """

    inputs = ("token?",)
    dtype: Any
    shape: tuple = param("ints")

    def infer(self, token, size, peer, shape):
        self.between(size, peer)
        return Meta(tuple(shape), self.dtype)

    def vjp(self, s, g):
        token = s.inputs[0]
        return (cast_to(F.send(g, **self.group_arguments(s), peer=s.params.peer), token.dtype),)

    def shard(self, token, size, peer, shape):
        return shard_string([["1"] if token is not None else []], [["1"] * len(shape)])
