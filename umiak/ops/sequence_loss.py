"""Losses over all alignments of a sequence with its labels (CTC, RNN transducers), by banded scans."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from umiak import ops as F
from umiak.core import dtype as dt
from umiak.ir.meta import Meta
from umiak.ops._common import (
    accept,
    back,
    cast_to,
    draw,
    same_shape,
    shard_string,
    sizes,
    vjp_in_compute_type,
    widen,
)
from umiak.ops.base import Op, Sample, param, register
from umiak.ops.index import counter
from umiak.ops.movement import require

NEVER = float("-inf")


def _along_axis(n: Any, axis: int, rank: int) -> Any:
    """Numbers from 0 along one axis of ``rank`` dims."""
    shape = tuple(n if i == axis else 1 for i in range(rank))
    return F.reshape(counter(n), shape=shape)


def _each_row(lengths: Any, rank: int) -> Any:
    """int64 numbers, one a row, that broadcast against ``rank`` dims."""
    return F.unsqueeze(cast_to(lengths, dt.int64), axes=tuple(range(1, rank)))


def _finite(x: Any, axis: int) -> Any:
    """0 in place of -inf, with a dim of size 1 at ``axis``."""
    return F.unsqueeze(F.where(F.eq(x, NEVER), 0, x), axes=(axis,))


class AlignmentLoss(Op):
    """Scores, labels ``[n, u]``, how long the scores of each row are and how many labels it has, and the blank."""

    inputs = ("scores", "labels", "input_lengths", "label_lengths")
    amp = "deny"
    blank: int = param("int", 0)

    def check(self, scores: Meta, labels: Meta, input_lengths: Meta, label_lengths: Meta, batch: Any) -> Meta:
        accept(self, "f", scores)
        accept(self, "i", labels, input_lengths, label_lengths)
        if len(labels.shape) != 2:
            self.fail(ValueError, "labels [batch, longest]", tuple(labels.shape))
        require(self, labels.shape[0] == batch, f"labels of {batch} rows", tuple(labels.shape))
        same_shape(self, input_lengths.shape, (batch,), "one input length a row")
        same_shape(self, label_lengths.shape, (batch,), "one label length a row")
        return Meta((batch,), scores.dtype)


@register
class Ctc(AlignmentLoss):
    """Connectionist temporal classification (Graves et al., 2006): minus the log-probability of all alignments.

    ``scores`` ``[time, batch, classes]`` are logits. Infinite where no alignment is possible, with a gradient of 0.
    """

    def infer(self, scores, labels, input_lengths, label_lengths, blank):
        if len(scores.shape) != 3:
            self.fail(ValueError, "scores [time, batch, classes]", tuple(scores.shape))
        require(self, (blank >= 0) & (blank < scores.shape[2]), "a blank among the classes", (blank, scores.shape[2]))
        return self.check(scores, labels, input_lengths, label_lengths, scores.shape[1])

    def states(self, labels: Any, label_lengths: Any, blank: Any) -> Any:
        """The class of each state ``[n, s]``: blanks at even ones, labels between them; blanks also in place of the
        labels that a row does not have.
        """
        n, many = sizes(labels)
        there = F.lt(_along_axis(many, 1, 2), _each_row(label_lengths, 2))
        own = F.where(there, cast_to(labels, dt.int64), blank)
        pairs = F.stack([F.full(blank, dtype=dt.int64, shape=(n, many)), own], axis=2)
        return F.pad(F.reshape(pairs, shape=(n, 2 * many)), blank, lo=(0, 0), hi=(0, 1))

    def ends(self, input_lengths: Any, label_lengths: Any, many: Any) -> tuple:
        """Return where in ``[time + 1, states]`` the paths of a row end (the last blank, or the label before it), and
        whether there is such a state ``[n, 2]``.
        """
        last = F.sub(F.mul(_each_row(label_lengths, 2), 2), counter(2))
        there = F.ge(last, 0)
        return F.add(F.mul(_each_row(input_lengths, 2), 2 * many + 1), F.maximum(last, 0)), there

    def decompose(self, scores, labels, input_lengths, label_lengths, blank):
        return self.forward_train((), scores, labels, input_lengths, label_lengths, blank)[0]

    def forward_train(self, needs, scores, labels, input_lengths, label_lengths, blank):
        x = F.permute(widen(scores), perm=(1, 0, 2))
        (n, time, _), many = sizes(x), labels.shape[1]
        states = 2 * many + 1
        lse = F.logsumexp(x, axes=(2,), keepdim=True)
        classes = self.states(labels, label_lengths, blank)
        index = F.broadcast_to(F.unsqueeze(classes, axes=(1,)), shape=(n, time, states))
        live = F.lt(_along_axis(time, 1, 3), _each_row(input_lengths, 3))
        emitted = F.where(live, F.sub(F.take_along(x, index, axis=2), lse), 0)
        # A path may leave out the blank between two labels that differ.
        two_before = F.slice(
            F.pad(classes, blank, lo=(0, 2), hi=(0, 0)), axes=(1,), starts=(0,), sizes=(states,), steps=(1,)
        )
        closed = F.logical_and(F.eq(_along_axis(3, 1, 3), 2), F.unsqueeze(F.eq(classes, two_before), axes=(1,)))
        walls = F.where(closed, F.full(NEVER, dtype=x.dtype, shape=()), 0)
        arcs = F.broadcast_to(F.unsqueeze(emitted, axes=(2,)), shape=(n, time, 3, states))
        y, w = F.banded_logsumexp_scan(arcs, walls, bands=3)
        positions, there = self.ends(input_lengths, label_lengths, many)
        last = F.take_along(F.reshape(y, shape=(n, (time + 1) * states)), positions, axis=1)
        last = F.where(there, last, NEVER)
        loss = F.neg(F.logsumexp(last, axes=(1,)))
        return cast_to(loss, scores.dtype), (lse, w, F.sub(last, _finite(F.neg(loss), 1)))

    @vjp_in_compute_type
    def vjp(self, s, g):
        (scores, labels, input_lengths, label_lengths), (lse, w, last) = s.inputs, s.residuals
        x = F.permute(scores, perm=(1, 0, 2))
        (n, time, classes), many = sizes(x), labels.shape[1]
        states = 2 * many + 1
        positions, there = self.ends(input_lengths, label_lengths, many)
        shares = F.where(there, F.mul(F.exp(last), F.neg(F.unsqueeze(g, axes=(1,)))), 0)
        start = F.full(0, dtype=w.dtype, shape=(n, (time + 1) * states))
        start = F.reshape(F.scatter_along(start, positions, shares, axis=1, mode="add"), shape=(n, time + 1, states))
        back = F.banded_linear_scan(w, start, bands=3, transpose=True)
        # The shares of the arcs into a state add up to 1: what comes back to a state is the gradient of what it emits.
        own = F.slice(back, axes=(1,), starts=(1,), sizes=(time,), steps=(1,))
        index = F.broadcast_to(
            F.unsqueeze(self.states(labels, label_lengths, s.params.blank), axes=(1,)), shape=(n, time, states)
        )
        spread = F.scatter_along(F.full(0, dtype=w.dtype, shape=(n, time, classes)), index, own, axis=2, mode="add")
        live = F.lt(_along_axis(time, 1, 3), _each_row(input_lengths, 3))
        part = F.where(live, F.mul(F.exp(F.sub(x, lse)), F.sum(own, axes=(2,), keepdim=True)), 0)
        return F.permute(F.sub(spread, part), perm=(1, 0, 2)), None, None, None

    def shard(self, scores, labels, input_lengths, label_lengths, blank):
        operands = [["t", "n", "c"], ["n", "u"], ["n"], ["n"]]
        return shard_string(operands, [["n"]], t="replicated", c="replicated", u="replicated")

    @staticmethod
    def samples(rng: Any) -> Iterator[Sample]:
        labels, times, lengths = np.array([[1, 1], [2, 3], [3, 0]]), np.array([5, 3, 4]), np.array([2, 2, 1])
        for dtype, label in ((dt.float64, np.int64), (dt.float32, np.int32), (dt.bfloat16, np.int64)):
            yield Sample((draw(rng, (5, 3, 4), dtype), labels.astype(label), times.astype(label), lengths))
        yield Sample((draw(rng, (3, 3, 4)), labels % 3, np.array([3, 2, 0]), np.array([1, 0, 0])), params={"blank": 3})
        short = (draw(rng, (2, 3, 4)), labels, np.array([2, 2, 2]), lengths)
        yield Sample(short, differentiable=(), note="no alignment")
        yield Sample((draw(rng, (2, 0, 4)), labels[:0], times[:0], lengths[:0]), note="0-size")
        yield Sample((draw(rng, (2, 1, 4)), labels[:1, :0], np.array([2]), np.array([0])), note="no labels")


@register
class Transducer(AlignmentLoss):
    """Loss of a recurrent transducer (Graves, 2012): minus the log-probability of all alignments.

    ``scores`` ``[batch, time, labels + 1, classes]`` are log-probabilities. ``fastemit`` makes the gradient of labels,
    not of blanks, larger by that part (Yu et al., 2021).
    """

    fastemit: float = param(default=0.0)

    def infer(self, scores, labels, input_lengths, label_lengths, blank, fastemit):
        if len(scores.shape) != 4:
            self.fail(ValueError, "scores [batch, time, labels + 1, classes]", tuple(scores.shape))
        require(self, (blank >= 0) & (blank < scores.shape[3]), "a blank among the classes", (blank, scores.shape[3]))
        got = f"{tuple(scores.shape)} and {tuple(labels.shape)}"
        out = self.check(scores, labels, input_lengths, label_lengths, scores.shape[0])
        require(self, scores.shape[2] == labels.shape[1] + 1, "scores for one position more than labels", got)
        require(self, scores.shape[1] >= 1, "at least one time", got)
        return out

    def emitted(self, labels: Any, label_lengths: Any, blank: Any) -> Any:
        """The label that leads on from each state ``[n, labels + 1]``; a blank where there is none."""
        there = F.lt(_along_axis(labels.shape[1], 1, 2), _each_row(label_lengths, 2))
        return F.pad(F.where(there, cast_to(labels, dt.int64), blank), blank, lo=(0, 0), hi=(0, 1))

    def decompose(self, scores, labels, input_lengths, label_lengths, blank, fastemit):
        return self.forward_train((), scores, labels, input_lengths, label_lengths, blank, fastemit)[0]

    def forward_train(self, needs, scores, labels, input_lengths, label_lengths, blank, fastemit):
        x = widen(scores)
        n, time, states, _ = sizes(x)
        layers = time + states - 1
        own = F.reshape(self.emitted(labels, label_lengths, blank), shape=(n, 1, states, 1))
        emits = F.squeeze(F.take_along(x, F.broadcast_to(own, shape=(n, time, states, 1)), axis=3), axes=(3,))
        waits = F.squeeze(F.slice(x, axes=(3,), starts=(blank,), sizes=(1,), steps=(1,)), axes=(3,))
        # A layer holds the nodes with time + labels = d, state u being the number of labels: a blank leads to the same
        # state, a label to the next one, both one layer on.
        emits = F.slice(
            F.pad(emits, 0, lo=(0, 0, 1), hi=(0, 0, 0)), axes=(2,), starts=(0,), sizes=(states,), steps=(1,)
        )
        d, u = _along_axis(layers, 1, 3), _along_axis(states, 2, 3)
        times, count = _each_row(input_lengths, 3), _each_row(label_lengths, 3)
        stay = F.ge(d, F.add(times, count))

        def arcs(score: Any, at: Any, otherwise: Any) -> Any:
            live = F.logical_and(F.logical_and(F.ge(at, 0), F.lt(at, times)), F.le(u, count))
            index = F.broadcast_to(F.maximum(F.minimum(at, time - 1), 0), shape=(n, layers, states))
            scores = F.where(live, F.take_along(score, index, axis=1), NEVER)
            return F.unsqueeze(F.where(stay, otherwise, scores), axes=(2,))

        blanks = arcs(waits, F.sub(d, u), 0.0)
        labelled = arcs(emits, F.add(F.sub(d, u), 1), NEVER)
        walls = F.full(0, dtype=x.dtype, shape=(n, 2, states))
        y, w = F.banded_logsumexp_scan(F.concat([blanks, labelled], axis=2), walls, bands=2)
        last = F.squeeze(F.slice(y, axes=(1,), starts=(layers,), sizes=(1,), steps=(1,)), axes=(1,))
        loss = F.neg(F.squeeze(F.take_along(last, _each_row(label_lengths, 2), axis=1), axes=(1,)))
        return cast_to(loss, scores.dtype), (w,)

    @vjp_in_compute_type
    def vjp(self, s, g):
        (scores, labels, input_lengths, label_lengths), (w,) = s.inputs, s.residuals
        n, time, states, classes = sizes(scores)
        layers, blank = time + states - 1, s.params.blank
        lengths = _each_row(label_lengths, 2)
        start = F.where(F.eq(_along_axis(states, 1, 2), lengths), F.neg(F.unsqueeze(g, axes=(1,))), 0)
        start = F.pad(F.unsqueeze(start, axes=(1,)), 0, lo=(0, layers, 0), hi=(0, 0, 0))
        back = F.banded_linear_scan(w, start, bands=2, transpose=True)
        own = F.mul(w, F.unsqueeze(F.slice(back, axes=(1,), starts=(1,), sizes=(layers,), steps=(1,)), axes=(2,)))
        t, u = _along_axis(time, 1, 3), _along_axis(states, 2, 3)
        inside = F.logical_and(F.lt(t, _each_row(input_lengths, 3)), F.le(u, _each_row(label_lengths, 3)))
        index = F.broadcast_to(F.add(t, u), shape=(n, time, states))

        def of_band(j: int) -> Any:
            """The gradients of the arcs of a band at the nodes where they start, ``[n, t, u]``."""
            part = F.squeeze(F.slice(own, axes=(2,), starts=(j,), sizes=(1,), steps=(1,)), axes=(2,))
            part = F.slice(
                F.pad(part, 0, lo=(0,) * 3, hi=(0, 0, j)), axes=(2,), starts=(j,), sizes=(states,), steps=(1,)
            )
            return F.unsqueeze(F.where(inside, F.take_along(part, index, axis=1), 0), axes=(3,))

        which = _along_axis(classes, 3, 4)
        emitted = F.reshape(self.emitted(labels, label_lengths, blank), shape=(n, 1, states, 1))
        # In the last state no label is left: its arc has no share.
        gradient = F.where(F.eq(which, emitted), F.mul(of_band(1), 1.0 + s.params.fastemit), 0)
        return F.add(gradient, F.where(F.eq(which, blank), of_band(0), 0)), None, None, None

    def shard(self, scores, labels, input_lengths, label_lengths, blank, fastemit):
        operands = [["n", "t", "v", "c"], ["n", "u"], ["n"], ["n"]]
        return shard_string(operands, [["n"]], t="replicated", v="replicated", c="replicated", u="replicated")

    @staticmethod
    def samples(rng: Any) -> Iterator[Sample]:
        labels, times, lengths = np.array([[1, 1], [2, 3]]), np.array([3, 2]), np.array([2, 1])
        for dtype, label in ((dt.float64, np.int64), (dt.float32, np.int32), (dt.bfloat16, np.int64)):
            yield Sample((draw(rng, (2, 3, 3, 4), dtype), labels.astype(label), times.astype(label), lengths))
        yield Sample((draw(rng, (2, 3, 3, 4)), labels % 3, times, np.array([0, 2])), params={"blank": 3})
        yield Sample((draw(rng, (2, 3, 1, 4)), labels[:, :0], times, np.array([0, 0])), note="no labels")
        yield Sample((draw(rng, (0, 2, 3, 4)), labels[:0], times[:0], lengths[:0]), note="0-size")
        scaled = (draw(rng, (2, 3, 3, 4)), labels, times, lengths)
        yield Sample(scaled, params={"fastemit": 0.5}, differentiable=(), note="a gradient of its own")


@register
class ScaleGradient(Op):
    """``x`` itself; its gradient is multiplied by ``factor``, a number or what broadcasts to x."""

    inputs = ("x", "factor")
    linear = monotone = ("x",)
    amp = "keep"

    def infer(self, x, factor):
        accept(self, "f", x, factor)
        return Meta(tuple(x.shape), x.dtype)

    def decompose(self, x, factor):
        return F.mul(x, 1)

    def vjp(self, s, g):
        return back(F.mul(g, s.inputs[1]), s.inputs[0]), None

    def shard(self, x, factor):
        names = [chr(ord("a") + i) for i in range(len(x.shape))]
        own = [] if not factor.shape else names[len(names) - len(factor.shape) :]
        return shard_string([names, own], [names])

    @staticmethod
    def samples(rng: Any) -> Iterator[Sample]:
        # But for a factor of 1, the gradient is no derivative: finite differences have nothing to say.
        yield Sample((draw(rng, (2, 3)), 1.0))
        yield Sample((draw(rng, (2, 3)), 0.5), differentiable=())
        yield Sample((draw(rng, (2, 3), dt.float32), draw(rng, (3,), dt.float32)), differentiable=())
