"""Scans with a banded transition matrix: the core of sequence losses (CTC, RNN transducers).

The transition matrix of step ``t`` has ``bands`` diagonals: arc ``j`` leads from state ``s - j`` to state ``s``. All
paths start in state 0. Two primitives are closed under differentiation. The log-sum-exp scan is the forward algorithm;
its second result is the posterior of each arc given the state it leads to. The linear scan multiplies by given
weights, forward in time or transposed. The gradient of the first is the second, with the posteriors as weights: the
backward algorithm in numbers between 0 and 1, which cannot overflow.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from umiak import ops as F
from umiak.core import dtype as dt
from umiak.ir.meta import Meta
from umiak.ops._common import accept, draw, same_dtype, same_shape, shard_string, vjp_in_compute_type
from umiak.ops.base import Op, Sample, register
from umiak.ops.movement import require


def _along(x: Any, axis: int, start: Any, size: Any) -> Any:
    return F.slice(x, axes=(axis,), starts=(start,), sizes=(size,), steps=(1,))


def _sources(y: Any, bands: int) -> Any:
    """``[n, t, s]`` as ``[n, t, j, s]`` with what lies ``j`` states before, 0 where nothing does."""
    parts = []
    for j in range(bands):
        part = F.pad(y, 0, lo=(0, 0, j), hi=(0, 0, 0))
        parts.append(F.unsqueeze(_along(part, 2, 0, y.shape[2]), axes=(2,)))
    return F.concat(parts, axis=2)


def _into_sources(z: Any) -> Any:
    """The transpose of :func:`_sources`."""
    total = None
    for j in range(z.shape[2]):
        part = F.squeeze(_along(z, 2, j, 1), axes=(2,))
        part = _along(F.pad(part, 0, lo=(0, 0, 0), hi=(0, 0, j)), 2, j, z.shape[3])
        total = part if total is None else F.add(total, part)
    return total


def _bands(op: Op, arcs: Meta) -> int:
    """Return the number of arcs into a state, which is part of the identity of a call."""
    if len(arcs.shape) != 4:
        op.fail(ValueError, "arcs [batch, layers, bands, states]", tuple(arcs.shape))
    require(op, arcs.shape[2] == op.bands, f"{op.bands} bands", tuple(arcs.shape))
    return op.bands


def _arc_samples(rng: Any) -> Iterator[np.ndarray]:
    for shape, dtype in (
        ((2, 3, 2, 4), dt.float64),
        ((1, 4, 3, 3), dt.float64),
        ((2, 2, 1, 2), dt.float32),
        ((2, 3, 3, 2), dt.float32),
        ((2, 0, 2, 3), dt.float64),
        ((0, 2, 2, 3), dt.float32),
        ((1, 2, 2, 2), dt.bfloat16),
    ):
        yield draw(rng, shape, dtype)


@register
class BandedLogsumexpScan(Op):
    """Log-sum-exp over the paths to each state after each step ``[n, t + 1, s]``, -inf where none leads there; and the
    posterior of each arc given its target state ``[n, t, j, s]``, 0 where no path leads there.

    ``walls`` ``[n, j, s]`` are added to the arcs of all steps.
    """

    inputs = ("arcs", "walls")
    amp = "deny"
    bands: int

    def infer(self, arcs, walls):
        accept(self, "f", arcs, walls)
        _bands(self, arcs)
        n, t, j, s = arcs.shape
        require(self, s >= 1, "at least one state", tuple(arcs.shape))
        same_shape(self, walls.shape, (n, j, s), "walls for each arc of a layer")
        dtype = same_dtype(self, arcs, walls)
        return Meta((n, t + 1, s), dtype), Meta((n, t, self.bands, s), dtype)

    @vjp_in_compute_type
    def vjp(self, s, gy, gw):
        arcs, w = s.inputs[0], s.outputs[1]
        through = None
        if gw is not None:
            # w[t, j, s] = exp(y[t, s - j] + arcs[t, j, s] + walls[j, s] - y[t + 1, s])
            through = F.mul(w, gw)
            ends = F.neg(F.sum(through, axes=(2,)))
            more = F.add(
                F.pad(ends, 0, lo=(0, 1, 0), hi=(0, 0, 0)), F.pad(_into_sources(through), 0, lo=(0, 0, 0), hi=(0, 1, 0))
            )
            gy = more if gy is None else F.add(gy, more)
        back = F.banded_linear_scan(w, gy, bands=self.bands, transpose=True)
        g = F.mul(w, F.unsqueeze(_along(back, 1, 1, arcs.shape[1]), axes=(2,)))
        g = g if through is None else F.add(g, through)
        return g, F.sum(g, axes=(1,))

    def shard(self, arcs, walls):
        own = ["n", "t", "j", "s"]
        return shard_string(
            [own, ["n", "j", "s"]], [["n", "1", "s"], own], t="replicated", j="replicated", s="replicated"
        )

    @staticmethod
    def samples(rng: Any) -> Iterator[Sample]:
        for arcs in _arc_samples(rng):
            n, _, bands, states = arcs.shape
            walls = draw(rng, (n, bands, states), dt.convert(arcs.dtype))
            # States that no path reaches within a layer's bands are infinite: no finite difference survives them.
            yield Sample((arcs, walls), {"bands": bands}, differentiable=())
        walls = draw(rng, (1, 2, 3))
        walls[0, :, 1] = -np.inf
        arcs = draw(rng, (1, 3, 2, 3))
        yield Sample((arcs, walls), {"bands": 2}, differentiable=(), note="arcs that are not there")
        yield Sample((draw(rng, (2, 3, 2, 1)), draw(rng, (2, 2, 1))), {"bands": 2}, note="one state")
        yield Sample((draw(rng, (2, 0, 2, 1)), draw(rng, (2, 2, 1))), {"bands": 2}, note="0-size")


@register
class BandedLinearScan(Op):
    """``x[t + 1, s] = g[t + 1, s] + sum over j of w[t, j, s] * x[t, s - j]``, from ``x[0] = g[0]``.

    With ``transpose`` against the arcs: ``x[t, s] = g[t, s] + sum over j of w[t, j, s + j] * x[t + 1, s + j]``.
    """

    inputs = ("w", "g")
    amp = "deny"
    bands: int
    transpose: bool = False

    def infer(self, w, g):
        accept(self, "f", w, g)
        _bands(self, w)
        n, t, _, s = w.shape
        got = f"{tuple(w.shape)} and {tuple(g.shape)}"
        if len(g.shape) != 3:
            self.fail(ValueError, "g [batch, layers + 1, states]", got)
        require(self, (g.shape[0] == n) & (g.shape[1] == t + 1) & (g.shape[2] == s), "g of one layer more than w", got)
        return Meta((n, t + 1, s), same_dtype(self, w, g))

    @vjp_in_compute_type
    def vjp(self, s, gx):
        w, x = s.inputs[0], s.outputs[0]
        layers = w.shape[1]
        back = F.banded_linear_scan(w, gx, bands=self.bands, transpose=not self.transpose)
        source, end = (back, x) if self.transpose else (x, back)
        gw = F.mul(
            _sources(_along(source, 1, 0, layers), self.bands), F.unsqueeze(_along(end, 1, 1, layers), axes=(2,))
        )
        return gw, back

    def shard(self, w, g):
        both = [["n", "1", "j", "s"], ["n", "t", "s"]]
        return shard_string(both, [["n", "t", "s"]], t="replicated", j="replicated", s="replicated")

    @staticmethod
    def samples(rng: Any) -> Iterator[Sample]:
        for transpose in (False, True):
            for w in _arc_samples(rng):
                n, t, bands, s = w.shape
                g = draw(rng, (n, t + 1, s), dt.convert(w.dtype))
                yield Sample((w, g), {"bands": bands, "transpose": transpose})
