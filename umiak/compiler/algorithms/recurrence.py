"""Recurrences over time, one sequence after the other steps: recurrent layers, their linear derivative, and scans whose
transitions are banded. A block of threads walks a sequence; its lanes are the numbers of the state."""

from __future__ import annotations

import math
from typing import Any

from umiak.compiler.algorithms.number import Number, maximum, where
from umiak.compiler.algorithms.writer import Writer, algorithm
from umiak.compiler.loop import node as n
from umiak.compiler.loop.types import I64, ScalarType
from umiak.compiler.lower.builder import compute_type
from umiak.ops import banded_scan, recurrent


def function(name: str, x: Number) -> Number:
    return Number(n.call(name, x.re))


def time(w: Writer, steps: Any, reverse: bool) -> Any:
    return w.down(steps) if reverse else w.loop(steps)


def type_of(w: Writer, k: int = 0) -> ScalarType:
    return compute_type(w.operation.operands[k].meta.dtype)


@algorithm(recurrent.Rnn)
def rnn(w: Writer) -> None:
    steps, batch, features = w.shape(0)
    states = w.shape(1)[1]  # numbers of the state; of an LSTM with a projection fewer than there are cells
    mode, type_ = w.op.mode, type_of(w)
    (b,) = w.points(batch)
    x, h0, w_ih, w_hh, b_ih, b_hh = (w.operand(k, ()) for k in range(6))
    c0, w_ho, lengths = (None if w.operation.operands[k] is None else w.operand(k, ()) for k in (6, 7, 8))
    hidden = states if w_ho is None else w.shape(7)[0]
    out, last = w.result(0, ()), w.result(1, ())
    h, c, new = w.memory(type_, states), w.memory(type_, hidden), w.memory(type_, hidden)
    with w.loop(states, lanes=True) as i:
        h[i] = h0[b, i]
    if c0 is not None:
        with w.loop(hidden, lanes=True) as i:
            c[i] = c0[b, i]
    zero = Number(n.const(0.0, type_))
    with time(w, steps, w.op.reverse) as t:
        live = None if lengths is None else n.lt(t, n.cast(lengths[b].re, I64))

        def kept(value: Number, otherwise: Number) -> Number:
            return value if live is None else where(live, value, otherwise)

        with w.loop(hidden, lanes=True) as i:

            def gate(k: int) -> tuple[Number, Number]:
                row = n.add(n.mul(w.integer(hidden), k), i)
                a = w.sum(features, lambda f: x[t, b, f] * w_ih[row, f], zero) + b_ih[row]
                s = w.sum(states, lambda f: h[f] * w_hh[row, f], zero) + b_hh[row]
                return a, s

            if mode == "lstm":
                into, forget, g, o = (a + s for a, s in map(gate, range(4)))
                cell = function("logistic", forget) * c[i] + function("logistic", into) * function("tanh", g)
                cell = w.let(cell)
                new[i] = function("logistic", o) * function("tanh", cell)
                c[i] = kept(cell, c[i])
            elif mode == "gru":
                (ar, sr), (az, sz), (an, sn) = map(gate, range(3))
                z = w.let(function("logistic", az + sz))
                candidate = function("tanh", an + function("logistic", ar + sr) * sn)
                new[i] = z * h[i] + (1.0 - z) * candidate
            else:
                a, s = gate(0)
                new[i] = function("tanh", a + s) if mode == "tanh" else maximum(a + s, 0.0)
        with w.loop(states, lanes=True) as i:
            value = new[i] if w_ho is None else w.sum(hidden, lambda f: new[f] * w_ho[f, i], zero)
            value = w.let(value)
            out[t, b, i] = kept(value, zero)
            h[i] = kept(value, h[i])
    with w.loop(states, lanes=True) as i:
        last[b, i] = h[i]
    if mode == "lstm":
        cells = w.result(2, ())
        with w.loop(hidden, lanes=True) as i:
            cells[b, i] = c[i]


@algorithm(recurrent.LinearRecurrence)
def linear_recurrence(w: Writer) -> None:
    steps, batch, count, hidden = w.shape(0)
    inner, outer = w.shape(2)[3], w.shape(4)[2]  # numbers of that size before and behind the matrix
    type_ = type_of(w)
    (b,) = w.points(batch)
    u, e, d, matrix, p, s0 = (w.operand(k, ()) for k in range(6))
    out = w.result(0, ())
    s, new = w.memory(type_, count, hidden), w.memory(type_, count, hidden)
    before, behind = w.memory(type_, inner, hidden), w.memory(type_, outer, hidden)
    zero = Number(n.const(0.0, type_))
    with w.loop(hidden, lanes=True) as i, w.loop(count) as j:
        s[j, i] = s0[b, j, i]
    with time(w, steps, w.op.reverse) as t:
        with w.loop(hidden, lanes=True) as i, w.loop(inner) as k:
            before[k, i] = w.sum(count, lambda j: s[j, i] * d[t, b, j, k, i], zero)
        with w.loop(hidden, lanes=True) as i, w.loop(outer) as o:
            column = n.add(n.mul(o, w.integer(hidden)), i)
            size = w.integer(hidden)
            behind[o, i] = w.sum(
                n.mul(w.integer(inner), size),
                lambda r: before[n.div(r, size), n.rem(r, size)] * matrix[r, column], zero,
            )  # fmt: skip
        with w.loop(hidden, lanes=True) as i, w.loop(count) as m:
            value = u[t, b, m, i] + w.sum(count, lambda j: s[j, i] * e[t, b, j, m, i], zero)
            new[m, i] = value + w.sum(outer, lambda o: behind[o, i] * p[t, b, o, m, i], zero)
        with w.loop(hidden, lanes=True) as i, w.loop(count) as m:
            value = w.let(new[m, i])
            s[m, i] = value
            out[t, b, m, i] = value


@algorithm(banded_scan.BandedLogsumexpScan)
def banded_logsumexp_scan(w: Writer) -> None:
    batch, layers, _, states = w.shape(0)
    bands, type_ = w.op.bands, type_of(w)
    (b,) = w.points(batch)
    arcs, walls = w.operand(0, ()), w.operand(1, ())
    y, posterior = w.result(0, ()), w.result(1, ())
    low = Number(n.const(-math.inf, type_))
    with w.loop(states, lanes=True) as s:
        y[b, 0, s] = where(n.eq(s, 0), low.like(0.0), low)
    with w.loop(layers) as t, w.loop(states, lanes=True) as s:
        terms = []
        for j in range(bands):
            inside = n.le(n.i64(j), s)
            source = n.maximum(n.sub(s, j), n.i64(0))
            terms.append(where(inside, y[b, t, source] + arcs[b, t, j, s] + walls[b, j, s], low))
        terms = [w.let(x) for x in terms]
        top = terms[0]
        for x in terms[1:]:
            top = maximum(top, x)
        top = w.let(top)
        base = where(n.eq(top.re, -math.inf), top.like(0.0), top)
        parts = [w.let(function("exp", x - base)) for x in terms]
        total = parts[0]
        for x in parts[1:]:
            total = total + x
        total = w.let(total)
        y[b, n.add(t, 1), s] = function("log", total) + top
        for j, x in enumerate(parts):
            posterior[b, t, j, s] = x / where(total.is_zero(), total.like(1.0), total)


@algorithm(banded_scan.BandedLinearScan)
def banded_linear_scan(w: Writer) -> None:
    batch, layers, _, states = w.shape(0)
    (b,) = w.points(batch)
    weights, g, out = w.operand(0, ()), w.operand(1, ()), w.result(0, ())
    end = w.integer(states)
    first = w.integer(layers) if w.op.transpose else n.i64(0)
    with w.loop(states, lanes=True) as s:
        out[b, first, s] = g[b, first, s]
    with time(w, layers, w.op.transpose) as t, w.loop(states, lanes=True) as s:
        to, of = (t, n.add(t, 1)) if w.op.transpose else (n.add(t, 1), t)
        total = g[b, to, s]
        for j in range(w.op.bands):
            if w.op.transpose:
                other = n.add(s, j)
                inside = n.lt(other, end)
                other = n.minimum(other, n.sub(end, 1))
                term = weights[b, t, j, other] * out[b, of, other]
            else:
                other = n.sub(s, j)
                inside = n.le(n.i64(0), other)
                term = weights[b, t, j, s] * out[b, of, n.maximum(other, n.i64(0))]
            total = total + where(inside, term, 0.0)
        out[b, to, s] = total
