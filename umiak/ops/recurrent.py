"""One direction of one recurrent layer over all time steps: ``[time, batch, features]``.

Modes and their gates, in the order of the rows of ``w_ih`` and ``w_hh`` (H rows each); ``a`` is ``w_ih x + b_ih``,
``s`` is ``w_hh h + b_hh``:

* ``tanh``, ``relu``: ``h' = f(a + s)``.
* ``lstm`` (Hochreiter and Schmidhuber 1997): ``i, f, g, o``; ``c' = f c + i g``, ``h' = o tanh(c')``. With ``w_ho`` the
  state is ``h' w_ho`` (Sak et al. 2014).
* ``gru`` (Cho et al. 2014): ``r, z, n``; ``n = tanh(a_n + r s_n)``, ``h' = z h + (1 - z) n``.

With ``lengths`` a sequence ends before the last step: behind its end results are 0 and states stay. ``reverse`` walks
from the last step to the first, so that each sequence begins at its own end.

Steps depend on each other through the state alone. So the derivative of a layer, for states that are known, is a
recurrence that is linear in the gradients, with coefficients that are computed for all steps at once; and so is the
derivative of that (:class:`LinearRecurrence`). Nothing here unrolls over time.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from umiak import ops as F
from umiak.core import dtype as dt
from umiak.ir.meta import Meta
from umiak.ops._common import (
    accept,
    cast_to,
    computed,
    draw,
    elements,
    in_compute_type,
    same_dtype,
    shard_string,
    sizes,
    zeros,
)
from umiak.ops.base import Op, Sample, register
from umiak.ops.index import counter
from umiak.ops.movement import require

GATES = {"tanh": 1, "relu": 1, "lstm": 4, "gru": 3}
# What a step keeps for the gradient beside its results: the gates; of a GRU also s_n.
KEPT = {"tanh": 0, "relu": 0, "lstm": 4, "gru": 4}
OPERANDS = ("x", "h0", "w_ih", "w_hh", "b_ih", "b_hh", "c0?", "w_ho?", "lengths?")


# --- the formula: what a step does with its gates, and back ---------------------------------------------------------


def forward_step(mode: str, a: Sequence, s: Sequence, h: Any, c: Any) -> tuple[Any, Any, tuple]:
    """The new state, the new cell (None but for an LSTM) and what is kept of the gates."""
    if mode == "lstm":
        i, f, o = (F.logistic(F.add(a[k], s[k])) for k in (0, 1, 3))
        g = F.tanh(F.add(a[2], s[2]))
        c = F.add(F.mul(f, c), F.mul(i, g))
        return F.mul(o, F.tanh(c)), c, (i, f, g, o)
    if mode == "gru":
        r, z = (F.logistic(F.add(a[k], s[k])) for k in (0, 1))
        n = F.tanh(F.add(a[2], F.mul(r, s[2])))
        return F.add(F.mul(z, F.sub(h, n)), n), None, (r, z, n, s[2])
    total = F.add(a[0], s[0])
    return (F.tanh(total) if mode == "tanh" else F.maximum(total, 0)), None, ()


def derivatives(mode: str, residuals: Sequence, y: Any, h: Any, c: Any, before: Any) -> dict[str, Any]:
    """Factors of the gradients of a step, from what it kept: ``y`` is its state, ``h`` the one before; ``c`` and
    ``before`` the cells.

    ``state``: of the state, for each gate that takes part in the matmul with the state before; ``input``: the same for
    the matmul with the input, where that differs; ``direct``: what reaches the state before past the matmuls. An LSTM
    passes through its cell: ``cell`` are factors of the cell's gradient, ``into`` of what the state adds to it.
    """

    def sigmoid(v: Any) -> Any:
        return F.mul(v, F.sub(1, v))

    def tanh(v: Any) -> Any:
        return F.sub(1, F.mul(v, v))

    if mode == "lstm":
        i, f, g, o = residuals
        t = F.tanh(c)
        cell = (F.mul(g, sigmoid(i)), F.mul(before, sigmoid(f)), F.mul(i, tanh(g)))
        return {"cell": cell, "state": (F.mul(t, sigmoid(o)),), "into": F.mul(o, tanh(t)), "direct": f}
    if mode == "gru":
        r, z, n, s = residuals
        of_n = F.mul(F.sub(1, z), tanh(n))
        of_r, of_z = F.mul(F.mul(of_n, s), sigmoid(r)), F.mul(F.sub(h, n), sigmoid(z))
        return {"state": (of_r, of_z, F.mul(of_n, r)), "input": (of_r, of_z, of_n), "direct": z}
    slope = tanh(y) if mode == "tanh" else F.cast(F.gt(y, 0), dtype=y.dtype)
    return {"state": (slope,)}


def backward_step(mode: str, by: dict[str, Any], dh: Any, dc: Any) -> tuple[tuple, tuple, Any, Any]:
    """Gradients of the gates of the input and of the state, and what passes to the state and the cell before."""
    if mode == "lstm":
        dc = F.add(dc, F.mul(dh, by["into"]))
        i, f, g = (F.mul(dc, slope) for slope in by["cell"])
        gates = (i, f, g, F.mul(dh, by["state"][0]))
        return gates, gates, None, F.mul(dc, by["direct"])
    state = tuple(F.mul(dh, slope) for slope in by["state"])
    if mode == "gru":
        return (*state[:2], F.mul(dh, by["input"][2])), state, F.mul(dh, by["direct"]), None
    return state, state, None, None


# --- all steps at once ----------------------------------------------------------------------------------------------


def rows(x: Any) -> Any:
    """``[time, batch, n]`` as a matrix of all steps."""
    return F.reshape(x, shape=(x.shape[0] * x.shape[1], x.shape[2]))


def matmul_all_steps(x: Any, w: Any, transpose: bool = False) -> Any:
    """``[time, batch, n]`` times a matrix, as one matmul."""
    y = F.matmul(rows(x), w, transpose_y=transpose)
    return F.reshape(y, shape=(x.shape[0], x.shape[1], y.shape[1]))


def parts(x: Any, count: int, n: Any) -> list[Any]:
    """The last dim cut into ``count`` parts of ``n``."""
    last = len(x.shape) - 1
    return [F.slice(x, axes=(last,), starts=(k * n,), sizes=(n,), steps=(1,)) for k in range(count)]


def joined(xs: Sequence) -> Any:
    return xs[0] if len(xs) == 1 else F.concat(xs, axis=len(xs[0].shape) - 1)


def _some(x: Any, start: Any, size: Any) -> Any:
    return F.slice(x, axes=(0,), starts=(start,), sizes=(size,), steps=(1,))


def _with(y: Any, first: Any, reverse: bool) -> Any:
    first = F.unsqueeze(first, axes=(0,))
    return F.concat((y, first) if reverse else (first, y), axis=0)


def before(y: Any, first: Any, reverse: bool) -> Any:
    """Return the state before each of the steps that gave ``y``; ``first`` is the one before the first step."""
    return _some(_with(y, first, reverse), 1 if reverse else 0, y.shape[0])


def after(y: Any, first: Any, reverse: bool) -> Any:
    """Return the state after the last step."""
    return F.squeeze(_some(_with(y, first, reverse), 0 if reverse else y.shape[0], 1), axes=(0,))


def alive(lengths: Any, steps: Any, offset: int = 0) -> Any:
    """``[time, batch, 1]``: whether the step (or the one ``offset`` of it) belongs to the sequence."""
    if lengths is None:
        return None
    lengths = F.unsqueeze(cast_to(lengths, dt.int64), axes=(0,))
    return F.unsqueeze(F.lt(F.unsqueeze(counter(steps, offset), axes=(1,)), lengths), axes=(2,))


def where(mask: Any, x: Any, y: Any) -> Any:
    return x if mask is None else F.where(mask, x, y)


def states_before(y: Any, h0: Any, lengths: Any, reverse: bool) -> Any:
    """The states that the steps began with, from their results; anything finite behind the ends."""
    states = before(y, h0, reverse)
    if lengths is None or not reverse:
        return states
    return F.where(alive(lengths, y.shape[0], 1), states, F.unsqueeze(h0, axes=(0,)))


def scan_cells(f: Any, added: Any, c0: Any, reverse: bool) -> tuple[Any, Any]:
    """Cells after and before each step: ``c' = f c + added``."""
    nothing = F.full(0, dtype=f.dtype, shape=sizes(c0))
    cells_out = F.linear_scan(_with(f, nothing, reverse), _with(added, c0, reverse), axis=0, reverse=reverse)
    n = f.shape[0]
    return _some(cells_out, 0 if reverse else 1, n), _some(cells_out, 1 if reverse else 0, n)


class _Steps:
    """Quantities of all steps at once, computed from their states."""

    def __init__(self, op: Recurrent, out: Any, x, h0, w_ih, w_hh, b_ih, b_hh, c0, w_ho, lengths) -> None:
        gates, hidden = GATES[op.mode], (h0.shape[1] if w_ho is None else w_ho.shape[0])
        self.alive = alive(lengths, x.shape[0])
        self.before = states_before(out, h0, lengths, op.reverse)
        a = parts(F.add(matmul_all_steps(x, w_ih, True), b_ih), gates, hidden)
        s = parts(F.add(matmul_all_steps(self.before, w_hh, True), b_hh), gates, hidden)
        self.cells = self.cells_before = None
        if op.mode == "lstm":
            i, f, g, o = map(F.add, a, s)
            i, f, g, o = F.logistic(i), F.logistic(f), F.tanh(g), F.logistic(o)
            factor, added = where(self.alive, f, 1), where(self.alive, F.mul(i, g), 0)
            self.cells, self.cells_before = scan_cells(factor, added, c0, op.reverse)
            residuals: tuple = (i, f, g, o)
        else:
            _, _, residuals = forward_step(op.mode, a, s, self.before, None)
        self.kept = tuple(where(self.alive, v, 0) for v in residuals)
        self.out = out

    def derivatives(self, mode: str) -> dict[str, Any]:
        return derivatives(mode, self.kept, self.out, self.before, self.cells, self.cells_before)


# --- ops ------------------------------------------------------------------------------------------------------------


class Recurrent(Op):
    """Checks and factors that a layer and its gradient share.

    ``x`` ``[T, B, I]``, ``h0`` ``[B, P]``, ``w_ih`` ``[G H, I]``, ``w_hh`` ``[G H, P]``, biases ``[G H]``, ``c0``
    ``[B, H]``, ``w_ho`` ``[H, P]``, ``lengths`` ``[B]``, with ``P == H`` unless there is ``w_ho``.
    """

    amp = "deny"
    mode: str
    reverse: bool = False

    def multiply_adds(self, operands, outs):
        # The matmuls with the weights of the state and of the input.
        x, h0, w_ih, w_ho = (operands[i] for i in (0, 1, 2, 7))
        (steps, batch, features), rows = x.shape, w_ih.shape[0]
        return steps * batch * (rows * (h0.shape[1] + features) + (0 if w_ho is None else elements(w_ho)))

    def check(self, x, h0, w_ih, w_hh, b_ih, b_hh, c0, w_ho, lengths):
        """Refuse operands that do not belong together; T, B, H, P and the dtype."""
        if self.mode not in GATES:
            self.fail(ValueError, f"a mode among {', '.join(GATES)}", repr(self.mode))
        accept(self, "f", x)
        dtype = same_dtype(self, x, h0, w_ih, w_hh, b_ih, b_hh, c0, w_ho)
        gates, lstm = GATES[self.mode], self.mode == "lstm"
        if lstm != (c0 is not None) or (w_ho is not None and not lstm):
            self.fail(ValueError, "cells and a projection for an lstm only, cells always for it", f"mode {self.mode}")
        ranks = {"x": (x, 3), "h0": (h0, 2), "w_ih": (w_ih, 2), "w_hh": (w_hh, 2), "b_ih": (b_ih, 1), "b_hh": (b_hh, 1)}
        ranks |= {"c0": (c0, 2), "w_ho": (w_ho, 2), "lengths": (lengths, 1)}
        for name, (m, rank) in ranks.items():
            if m is not None and len(m.shape) != rank:
                self.fail(ValueError, f"{name} of rank {rank}", tuple(m.shape))
        (steps, batch, features), proj = x.shape, h0.shape[1]
        hidden = proj if w_ho is None else w_ho.shape[0]
        wanted = {
            "h0": (h0, (batch, proj)),
            "w_ih": (w_ih, (gates * hidden, features)),
            "w_hh": (w_hh, (gates * hidden, proj)),
            "b_ih": (b_ih, (gates * hidden,)),
            "b_hh": (b_hh, (gates * hidden,)),
            "c0": (c0, (batch, hidden)),
            "w_ho": (w_ho, (hidden, proj)),
            "lengths": (lengths, (batch,)),
        }
        for name, (m, shape) in wanted.items():
            for got, want in zip(() if m is None else m.shape, shape):
                require(self, got == want, f"{name} of shape {shape}", None if m is None else tuple(m.shape))
        if lengths is not None and not lengths.dtype.is_integer:
            self.fail(TypeError, "lengths of an integer dtype", lengths.dtype.name)
        return steps, batch, hidden, proj, dtype

    def factors(self, c0, w_ho, lengths):
        """Factors of the operands: only the batch may be cut."""
        p = "h" if w_ho is None else "p"
        operands = [["t", "b", "i"], ["b", p], ["g", "i"], ["g", p], ["g"], ["g"]]
        operands += [[] if m is None else names for m, names in ((c0, ["b", "h"]), (w_ho, ["h", p]), (lengths, ["b"]))]
        return operands, p, dict.fromkeys(("t", "i", "g", "h", "p"), "replicated")


def metas_of(op: Recurrent, *operands: Meta | None) -> tuple[Meta, ...]:
    """Return the metas of the results: all states, the last one, and the last cell of an LSTM."""
    steps, batch, hidden, proj, dtype = op.check(*operands)
    metas_out = (Meta((steps, batch, proj), dtype), Meta((batch, proj), dtype))
    return (*metas_out, Meta((batch, hidden), dtype)) if op.mode == "lstm" else metas_out


@register
class Rnn(Recurrent):
    """One direction of a layer: the states after each step, the last state, and the last cell of an LSTM."""

    inputs = OPERANDS

    def infer(self, *operands):
        return metas_of(self, *operands)

    def forward_train(self, needs, *operands):
        outputs = F.rnn_train(*operands, mode=self.mode, reverse=self.reverse)
        n = 3 if self.mode == "lstm" else 2
        return outputs[:n], outputs[n:]

    def vjp(self, s, g_out, g_h, g_c=None):
        return layer_gradients(self, s, g_out, g_h, g_c)

    def shard(self, *operands):
        names, p, marks = self.factors(*operands[6:])
        results = [["t", "b", p], ["b", p]] + ([["b", "h"]] if self.mode == "lstm" else [])
        return shard_string(names, results, **marks)

    @staticmethod
    def samples(rng: Any) -> Iterator[Sample]:
        for operands, attrs, note in cases(rng):
            yield Sample(operands, attrs, note=note)


def layer_gradients(op: Recurrent, s: Any, g_out: Any, g_h: Any, g_c: Any) -> tuple:
    """Back through time, then a matmul over all steps for each weight."""
    x, h0, w_ih, w_hh, _, _, c0, w_ho, lengths = s.inputs
    out, residuals = s.outputs[0], s.residuals
    acts, cells = (residuals[0] if residuals else None), (residuals[1] if len(residuals) > 1 else None)
    gradients = list(F.rnn_grad(*s.inputs, out, acts, cells, g_out, g_h, g_c, mode=op.mode, reverse=op.reverse))
    d_in, dh = gradients[:2]
    d_state = gradients.pop(2) if op.mode == "gru" else d_in
    dc = gradients[2] if op.mode == "lstm" else None
    d_in2, d_state2 = rows(d_in), rows(d_state)
    # Transposed once for two matmuls, which become faster by more than that costs.
    transposed = F.copy(F.permute(d_in2, perm=(1, 0)))
    transposed_state = F.copy(F.permute(d_state2, perm=(1, 0))) if op.mode == "gru" else transposed
    states = rows(states_before(out, h0, lengths, op.reverse))
    db = F.sum(d_in2, axes=(0,), keepdim=False)
    needed = [
        matmul_all_steps(d_in, w_ih),
        dh,
        F.matmul(transposed, rows(x)),
        F.matmul(transposed_state, states),
        db,
        F.sum(d_state2, axes=(0,), keepdim=False) if op.mode == "gru" else db,
        dc,
        None,
        None,
    ]
    if w_ho is not None:
        hidden = F.mul(parts(acts, 4, w_ho.shape[0])[3], F.tanh(cells))
        needed[7] = F.matmul(rows(hidden), rows(gradients[3]), transpose_x=True)
    return tuple(needed)


@register
class RnnCell(Recurrent):
    """One step, ``x`` and ``h0`` without time: the new state and, of an LSTM, the new cell. There are no lengths."""

    inputs = OPERANDS[:-1]

    def infer(self, x, *operands):
        if len(x.shape) != 2:
            self.fail(ValueError, "x of rank 2, [batch, features]", tuple(x.shape))
        _, batch, hidden, proj, dtype = self.check(Meta((1, *x.shape), x.dtype), *operands, None)
        metas_out = Meta((batch, proj), dtype)
        return (metas_out, Meta((batch, hidden), dtype)) if self.mode == "lstm" else metas_out

    @in_compute_type
    def decompose(self, x, h, w_ih, w_hh, b_ih, b_hh, c, w_ho):
        gates, hidden = GATES[self.mode], (h.shape[1] if w_ho is None else w_ho.shape[0])
        a = F.add(F.matmul(x, w_ih, transpose_y=True), b_ih)
        s = F.add(F.matmul(h, w_hh, transpose_y=True), b_hh)
        y, c, _ = forward_step(self.mode, parts(a, gates, hidden), parts(s, gates, hidden), h, c)
        y = y if w_ho is None else F.matmul(y, w_ho)
        return y if c is None else (y, c)

    def shard(self, *operands):
        names, p, marks = self.factors(*operands[6:], None)
        names = [["b", "i"], *names[1:-1]]
        return shard_string(names, [["b", p]] + ([["b", "h"]] if self.mode == "lstm" else []), **marks)

    @staticmethod
    def samples(rng: Any) -> Iterator[Sample]:
        for operands, attrs, note in cases(rng):
            if operands[8] is None and len(operands[0]) and not attrs["reverse"]:
                yield Sample((operands[0][0], *operands[1:8]), {"mode": attrs["mode"]}, note=note)


@register
class RnnTrain(Recurrent):
    """:class:`Rnn`, and what its gradient wants: the gates ``[T, B, 4 H]`` (none of a simple layer), an LSTM's cells
    ``[T, B, H]``. Behind the end of a sequence gates are 0 and cells stay."""

    inputs = OPERANDS

    def infer(self, *operands):
        steps, batch, hidden, _, dtype = self.check(*operands)
        residuals = (Meta((steps, batch, KEPT[self.mode] * hidden), dtype),) if KEPT[self.mode] else ()
        cells = (Meta((steps, batch, hidden), dtype),) if self.mode == "lstm" else ()
        return (*metas_of(self, *operands), *residuals, *cells)

    @in_compute_type
    def decompose(self, *operands):
        outputs = F.rnn(*operands, mode=self.mode, reverse=self.reverse)
        steps = _Steps(self, outputs[0], *operands)
        residuals = (joined(steps.kept),) if steps.kept else ()
        return (*outputs, *residuals, *(() if steps.cells is None else (steps.cells,)))

    def shard(self, *operands):
        names, p, marks = self.factors(*operands[6:])
        results = [["t", "b", p], ["b", p]]
        results += {"lstm": [["b", "h"], ["t", "b", "k"], ["t", "b", "h"]], "gru": [["t", "b", "k"]]}.get(self.mode, [])
        return shard_string(names, results, **marks, k="replicated")

    @staticmethod
    def samples(rng: Any) -> Iterator[Sample]:
        for operands, attrs, note in cases(rng, brief=True):
            yield Sample(operands, attrs, note=note)


@register
class RnnGrad(Recurrent):
    """Gradients through time of :class:`Rnn`: of ``w_ih x + b_ih`` at all steps, of ``h0``, then

    of ``w_hh h + b_hh`` at all steps for a GRU (of the others it is the first result); of ``c0`` for an LSTM; with
    ``w_ho``, of the states at all steps.

    ``out``, ``acts`` and ``cells`` are what :class:`RnnTrain` gave. The decomposition computes the last two anew, so
    that a further derivative misses nothing.
    """

    inputs = (*OPERANDS, "out?", "acts?", "cells?", "g_out?", "g_h?", "g_c?")

    def multiply_adds(self, operands, outs):
        # Those of the input are matmuls over all steps, which come after this op.
        x, w_ih = operands[0], operands[2]
        return super().multiply_adds(operands, outs) - elements(x) * w_ih.shape[0]

    def infer(self, *operands):
        steps, batch, hidden, proj, dtype = self.check(*operands[:9])
        gates = Meta((steps, batch, GATES[self.mode] * hidden), dtype)
        metas_out = [gates, Meta((batch, proj), dtype)]
        if self.mode == "gru":
            metas_out.append(gates)
        if self.mode == "lstm":
            metas_out.append(Meta((batch, hidden), dtype))
        if operands[7] is not None:
            metas_out.append(Meta((steps, batch, proj), dtype))
        return tuple(metas_out)

    @in_compute_type
    def decompose(self, x, h0, w_ih, w_hh, b_ih, b_hh, c0, w_ho, lengths, out, acts, cells, g_out, g_h, g_c):
        steps = _Steps(self, out, x, h0, w_ih, w_hh, b_ih, b_hh, c0, w_ho, lengths)
        mode, back, mask = self.mode, not self.reverse, steps.alive
        by = steps.derivatives(mode)
        g_out = where(mask, zeros(out) if g_out is None else g_out, 0)
        g_h = zeros(h0) if g_h is None else g_h
        # A projection is drawn into the matmul with w_hh: what flows back is then the gradient of what it projects.
        w, g_hidden, last = w_hh, g_out, g_h
        if w_ho is not None:
            w = F.matmul(w_hh, w_ho, transpose_y=True)
            g_hidden, last = matmul_all_steps(g_out, w_ho, True), F.matmul(g_h, w_ho, transpose_y=True)
        one, n = w.shape[1], GATES[mode]
        nothing = F.full(0, dtype=x.dtype, shape=(x.shape[0], x.shape[1], one))

        def put(*entries: Any) -> Any:
            """Entries, side by side in a dim before the last."""
            return F.stack([nothing if v is None else where(mask, v, 0) for v in entries], axis=2)

        def square(entries: Sequence[Sequence]) -> Any:
            """The same twice; where a sequence has ended, states pass as they are."""
            gradients = [
                F.stack(
                    [where(mask, nothing if v is None else v, 1 if i == j else 0) for j, v in enumerate(row)], axis=2
                )
                for i, row in enumerate(entries)
            ]
            return F.stack(gradients, axis=2)

        if mode == "lstm":
            of_cell, of_state, into, f = by["cell"], by["state"][0], by["into"], by["direct"]
            through = [F.mul(a, into) for a in of_cell]
            d = F.stack([put(*of_cell, None), put(*through, of_state)], axis=2)
            e = square([[f, None], [F.mul(f, into), None]])
            p = F.unsqueeze(put(None, F.full(1, dtype=x.dtype, shape=sizes(nothing))), axes=(2,))
            first = F.stack([zeros(c0) if g_c is None else g_c, last], axis=1)
            added = [F.mul(F.mul(f, into), g_hidden), None]
            gates = put(*(F.mul(a, g_hidden) for a in (*through, of_state)))
        else:
            d = F.unsqueeze(put(*by["state"]), axes=(2,))
            e = square([[by.get("direct")]])
            p = F.unsqueeze(put(F.full(1, dtype=x.dtype, shape=sizes(nothing))), axes=(2,))
            first = F.unsqueeze(last, axes=(1,))
            added = [F.mul(by["direct"], g_hidden) if "direct" in by else None]
            gates = put(*(F.mul(a, g_hidden) for a in by["state"]))
        wide = (x.shape[0], x.shape[1], n * one)
        u = F.add(
            put(*added),
            F.mul(F.unsqueeze(matmul_all_steps(F.reshape(gates, shape=wide), w), axes=(2,)), F.squeeze(p, axes=(2,))),
        )
        outputs = F.linear_recurrence(u, e, d, w, p, first, reverse=back)
        carried = before(outputs, first, back)
        flowing = [
            F.squeeze(F.slice(carried, axes=(2,), starts=(i,), sizes=(1,), steps=(1,)), axes=(2,))
            for i in range(len(added))
        ]
        ended = after(outputs, first, back)
        dh = F.add(flowing[-1], g_hidden)
        d_in, d_state, _, _ = backward_step(mode, by, dh, flowing[0])
        d_in, d_state = (joined([where(mask, v, 0) for v in d]) for d in (d_in, d_state))
        of_h0 = F.squeeze(F.slice(ended, axes=(1,), starts=(len(added) - 1,), sizes=(1,), steps=(1,)), axes=(1,))
        results = [d_in, of_h0]
        if mode == "gru":
            results.append(d_state)
        if mode == "lstm":
            results.append(F.squeeze(F.slice(ended, axes=(1,), starts=(0,), sizes=(1,), steps=(1,)), axes=(1,)))
        if w_ho is not None:
            # The same in the states themselves: each gets what the next step's gates give, or g_h after the last.
            given = matmul_all_steps(d_state, w_hh)
            has_next = alive(lengths, x.shape[0], 1) if back else None
            carried = where(has_next, before(given, g_h, back), F.unsqueeze(g_h, axes=(0,)))
            results.append(where(mask, F.add(carried, g_out), 0))
            results[1] = after(given, g_h, back)
            if lengths is not None:
                ends = cast_to(F.unsqueeze(lengths, axes=(1,)), dt.int64)
                if not back:
                    last_of = F.eq(alive_index(x.shape[0]), F.unsqueeze(F.sub(ends, 1), axes=(0,)))
                    results[1] = F.sum(F.where(last_of, given, 0), axes=(0,), keepdim=False)
                results[1] = F.where(F.gt(ends, 0), results[1], g_h)
        return tuple(results)

    def shard(self, *operands):
        names, p, marks = self.factors(*operands[6:9])
        residuals = [["t", "b", p], ["t", "b", "k"], ["t", "b", "h"], ["t", "b", p], ["b", p], ["b", "h"]]
        names += [[] if m is None else n for m, n in zip(operands[9:], residuals, strict=True)]
        results = [["t", "b", "g"], ["b", p]]
        results += {"gru": [["t", "b", "g"]], "lstm": [["b", "h"]]}.get(self.mode, [])
        results += [] if operands[7] is None else [["t", "b", p]]
        return shard_string(names, results, **marks, k="replicated")

    @staticmethod
    def samples(rng: Any) -> Iterator[Sample]:
        for operands, attrs, note in cases(rng, brief=True):
            mode, dtype = attrs["mode"], operands[0].dtype
            results = iter(computed(F.rnn_train, *(_wide(v) for v in operands), **attrs))
            out, h, c = next(results), next(results), next(results) if mode == "lstm" else None
            acts, cells = next(results) if KEPT[mode] else None, next(results, None)
            grads = [draw(rng, v.shape, dt.float64) if v is not None else None for v in (out, h, c)]
            if note == "0-size":
                grads[0] = None
            inputs = [None if v is None else v.astype(dtype) for v in (out, acts, cells, *grads)]
            # Only gradients may change alone: what the layer gave belongs to its operands.
            at = tuple(12 + i for i, g in enumerate(grads) if g is not None)
            yield Sample((*operands, *inputs), attrs, differentiable=at, note=note)


def alive_index(steps: Any) -> Any:
    """``[time, 1, 1]``: the number of the step."""
    return F.unsqueeze(counter(steps), axes=(1, 2))


def _wide(x: Any) -> Any:
    return x if x is None or x.dtype.kind in "iu" else x.astype(dt.convert(x.dtype).compute.numpy)


def cases(rng: Any, brief: bool = False) -> Iterator[tuple]:
    """Operands, attributes, and a note; ``brief``: one of each mode."""

    def make(mode, t, b, i, h, p=None, lengths=None, dtype=dt.float64, reverse=False, note=""):
        n, proj = GATES[mode] * h, p or h

        def of(*shape):
            return draw(rng, shape, dtype, lo=-1.0, hi=1.0)

        operands = (
            of(t, b, i),
            of(b, proj),
            of(n, i),
            of(n, proj),
            of(n),
            of(n),
            of(b, h) if mode == "lstm" else None,
            of(h, p) if p else None,
            None if lengths is None else np.array(lengths),
        )
        return operands, {"mode": mode, "reverse": reverse}, note

    yield make("tanh", 3, 2, 2, 2)
    yield make("gru", 3, 3, 1, 2, lengths=[1, 3, 0], reverse=True, note="lengths")
    yield make("lstm", 3, 3, 1, 2, p=1, lengths=[2, 3, 0], note="projection and lengths")
    yield make("lstm", 0, 2, 2, 2, note="0-size")
    if brief:
        return
    yield make("relu", 2, 2, 2, 2)
    yield make("tanh", 3, 3, 1, 2, lengths=[2, 3, 0], note="lengths")
    yield make("gru", 2, 2, 2, 1)
    yield make("lstm", 3, 2, 2, 2)
    yield make("lstm", 3, 3, 1, 2, lengths=[1, 3, 0], reverse=True, note="lengths")
    yield make("lstm", 3, 3, 1, 2, p=1, lengths=[2, 3, 0], reverse=True, note="projection and lengths")
    yield make("gru", 2, 0, 2, 2, note="0-size")
    yield make("lstm", 2, 2, 2, 2, dtype=dt.float32)
    yield make("lstm", 2, 2, 2, 2, dtype=dt.bfloat16)


# --- the linear recurrence ------------------------------------------------------------------------------------------


def mix(x: Any, by: Any) -> Any:
    """``[T, B, n, H]`` through coefficients ``[T, B, n, m, H]``: ``[T, B, m, H]``."""
    return F.sum(F.mul(F.unsqueeze(x, axes=(3,)), by), axes=(2,), keepdim=False)


def across(x: Any, w: Any, transpose: bool = False) -> Any:
    """``[T, B, k, H]`` as rows of ``k H``, times ``w``: ``[T, B, l, H]``."""
    steps, batch, k, h = x.shape
    y = matmul_all_steps(F.reshape(x, shape=(steps, batch, k * h)), w, transpose)
    return F.reshape(y, shape=(steps, batch, y.shape[2] // h, h))


def outer(x: Any, y: Any) -> Any:
    """``[T, B, n, H]`` and ``[T, B, m, H]``: the products ``[T, B, n, m, H]``."""
    return F.mul(F.unsqueeze(x, axes=(3,)), F.unsqueeze(y, axes=(2,)))


def swapped(by: Any) -> Any:
    return F.permute(by, perm=(0, 1, 3, 2, 4))


@register
class LinearRecurrence(Op):
    """``s' = u + s e + ((s d) w) p`` over time: n states of ``[B, H]`` through K numbers of that size to L others.

    ``u`` ``[T, B, n, H]``, ``e`` ``[T, B, n, n, H]``, ``d`` ``[T, B, n, K, H]``, ``w`` ``[K H, L H]``, ``p``
    ``[T, B, L, n, H]``, ``s0`` ``[B, n, H]``; coefficients but ``w`` work on each of the H by itself. The derivative of
    a recurrent layer, and its own: the transpose runs the other way, with ``d`` and ``p`` exchanged.
    """

    inputs = ("u", "e", "d", "w", "p", "s0")
    reverse: bool = False

    def infer(self, u, e, d, w, p, s0):
        accept(self, "f", u)
        dtype = same_dtype(self, u, e, d, w, p, s0)
        got = [tuple(m.shape) for m in (u, e, d, w, p, s0)]
        if [len(shape) for shape in got] != [4, 5, 5, 2, 5, 3]:
            self.fail(ValueError, "operands of ranks 4, 5, 5, 2, 5 and 3", ", ".join(map(str, got)))
        steps, batch, n, h = u.shape
        k, last = d.shape[3], p.shape[2]
        wanted = (
            (steps, batch, n, h),
            (steps, batch, n, n, h),
            (steps, batch, n, k, h),
            (k * h, last * h),
            (steps, batch, last, n, h),
            (batch, n, h),
        )
        for shape, want in zip(got, wanted, strict=True):
            for a, b in zip(shape, want, strict=True):
                require(self, a == b, f"shapes {', '.join(map(str, wanted))}", ", ".join(map(str, got)))
        return Meta(tuple(u.shape), dtype)

    def vjp(self, s, g):
        _, e, d, w, p, s0 = s.inputs
        y, reverse = s.outputs[0], self.reverse
        e, d_transposed, p_transposed = swapped(e), swapped(d), swapped(p)
        u = F.add(mix(g, e), mix(across(mix(g, p_transposed), w, True), d_transposed))
        w_transposed = F.permute(w, perm=(1, 0))
        none = zeros(s0)
        back = F.linear_recurrence(u, e, p_transposed, w_transposed, d_transposed, none, reverse=not reverse)
        total = F.add(g, before(back, none, not reverse))
        came = before(y, s0, reverse)
        q, m = mix(came, d), mix(total, p_transposed)
        flat = [F.reshape(v, shape=(v.shape[0] * v.shape[1], v.shape[2] * v.shape[3])) for v in (q, m)]
        return (
            total,
            outer(came, total),
            outer(came, across(m, w, True)),
            F.matmul(flat[0], flat[1], transpose_x=True),
            outer(across(q, w), total),
            after(back, none, not reverse),
        )

    def shard(self, u, e, d, w, p, s0):
        operands = [list("tbnh"), list("tbnmh"), list("tbnkh"), ["x", "y"], list("tblnh"), list("bnh")]
        operands[1][3] = "m"
        return shard_string(operands, [list("tbnh")], **dict.fromkeys("tnmhkxyl", "replicated"))

    @staticmethod
    def samples(rng: Any) -> Iterator[Sample]:
        for t, b, n, h, k, last, reverse, dtype in (
            (3, 2, 2, 2, 3, 1, False, dt.float64),
            (2, 2, 1, 2, 1, 2, True, dt.float64),
            (2, 1, 2, 1, 1, 1, False, dt.float32),
            (0, 2, 1, 1, 1, 1, False, dt.float64),
            (2, 1, 1, 1, 2, 1, True, dt.bfloat16),
        ):
            shapes = ((t, b, n, h), (t, b, n, n, h), (t, b, n, k, h), (k * h, last * h), (t, b, last, n, h), (b, n, h))
            yield Sample(tuple(draw(rng, s, dtype, lo=-1.0, hi=1.0) for s in shapes), {"reverse": reverse})
