"""Recurrent layers as the steps that they are: with known sizes there are so many."""

from __future__ import annotations

from typing import Any

from umiak import ops as F
from umiak.ops import recurrent as rnn


def unrolled(op: rnn.Rnn, *operands: Any) -> tuple:
    """The results of a layer: the states after all steps, the last one, and the last cell of an LSTM."""
    x, h0, w_ih, w_hh, b_ih, b_hh, c0, w_ho, lengths = operands
    steps = x.shape[0]
    gates, hidden = rnn.GATES[op.mode], (h0.shape[1] if w_ho is None else w_ho.shape[0])
    a = F.add(rnn.matmul_all_steps(x, w_ih, True), b_ih)
    if op.mode != "gru":  # whose gate n scales what comes from the state, offset included
        a = F.add(a, b_hh)
    alive = rnn.alive(lengths, steps)
    h, c, states = h0, c0, []
    for t in reversed(range(steps)) if op.reverse else range(steps):
        own = rnn.parts(_at(a, t), gates, hidden)
        s = F.matmul(h, w_hh, transpose_y=True)
        if op.mode == "gru":
            s = F.add(s, b_hh)
        new, cell, _ = rnn.forward_step(op.mode, own, rnn.parts(s, gates, hidden), h, c)
        if w_ho is not None:
            new = F.matmul(new, w_ho)
        here = None if alive is None else _at(alive, t)
        states.append(rnn.where(here, new, 0))
        h = rnn.where(here, new, h)
        c = None if cell is None else rnn.where(here, cell, c)
    if op.reverse:
        states.reverse()
    if not states:
        nothing = F.full(0, dtype=x.dtype, shape=(0, *h0.shape))
        return (nothing, F.copy(h0)) if c0 is None else (nothing, F.copy(h0), F.copy(c0))
    out = F.stack(states, axis=0)
    return (out, h) if c is None else (out, h, c)


def _at(x: Any, t: int) -> Any:
    """One step of all."""
    return F.squeeze(F.slice(x, axes=(0,), starts=(t,), sizes=(1,), steps=(1,)), axes=(0,))
