"""Programs of several ops, with their gradients, on two by two ranks: values, layouts, and what has to move."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import sharded
from samples import assert_close
from sharded import ShardedArray

from umiak import ops as F
from umiak.autodiff import graph
from umiak.backends.ref.evaluate import evaluate, meta_of
from umiak.core import dtype as dt
from umiak.ir.tracer import Tracer
from umiak.spmd import Layout, Partial, Placement, Replicate, Shard
from umiak.spmd.placement import bytes_moved

MESH = (2, 2)  # data, model
R = Replicate()


def run(
    f: Callable, arrays: Sequence[np.ndarray], placements: Sequence[tuple[Placement, Placement]]
) -> tuple[list[tuple], list[tuple[str, tuple, tuple]]]:
    """The sum of ``f`` and its gradients on ranks, checked against the whole: the placements of all these, and what
    moved on the way: op, from, to."""
    with Tracer() as tracer:
        inputs = [tracer.input(meta_of(x)) for x in arrays]
        y = f(*inputs)
        loss = F.sum(y, axes=tuple(range(y.ndim)))
        values = [t.value for t in inputs]
        seed = F.full(1, dtype=loss.dtype, shape=())
        grads = graph.pullback(tracer, list(tracer.operations), [(loss.value, seed.value)], values)
    wanted = [loss.value, *grads]
    expected = sharded.replay(tracer, dict(zip(map(id, values), arrays, strict=True)), wanted, evaluate)
    moves = []

    def each(op: Any, xs: list, params: tuple) -> list[ShardedArray]:
        made, found = sharded.apply(op, xs, params, MESH)
        for x, layout in zip(xs, found.operands, strict=True):
            if isinstance(x, ShardedArray) and bytes_moved(x.layout, layout, 1, MESH):
                moves.append((op.name, x.layout.placements(2), layout.placements(2)))
        return made

    spread = {
        id(v): ShardedArray.of(x, Layout.of(p, x.ndim), MESH)
        for v, x, p in zip(values, arrays, placements, strict=True)
    }
    found = sharded.replay(tracer, spread, wanted, each)
    for y, whole in zip(found, expected, strict=True):
        assert_close(y.global_array(), whole, "", factor=16)
    return [y.layout.placements(2) for y in found], moves


def draw(*shape: int) -> np.ndarray:
    return np.random.default_rng(sum(shape)).uniform(-1, 1, shape)


def test_two_linear_layers():
    """Columns of the first, rows of the second: one sum over the model axis forward, one backward."""

    def f(x, w1, b1, w2, b2):
        return F.tanh(F.linear(F.gelu(F.linear(x, w1, b1)), w2, b2))

    arrays = [draw(4, 6), draw(6, 8), draw(8), draw(8, 6), draw(6)]
    placements = [(Shard(0), R), (R, Shard(1)), (R, Shard(0)), (R, Shard(0)), (R, R)]
    layouts, moves = run(f, arrays, placements)
    loss, gx, *weights = layouts
    assert loss == (Partial(), R)
    assert gx == (Shard(0), Partial())
    assert weights == [
        (Partial(), Shard(1)), (Partial(), Shard(0)), (Partial(), Shard(0)), (Partial(), R)
    ]  # fmt: skip
    assert moves == [("tanh", (Shard(0), Partial()), (Shard(0), R))]


def test_attention_by_heads():
    """Heads over the model axis: nothing moves from the projections to the output's sum."""

    def f(x, wq, wk, wv, wo):
        b, s, h = x.shape
        q, k, v = (F.reshape(F.linear(x, w, None), shape=(b, s, 4, h // 4)) for w in (wq, wk, wv))
        return F.linear(F.reshape(F.attention(q, k, v, None, causal=True, scale=0.5), shape=(b, s, h)), wo, None)

    arrays = [draw(4, 3, 8), *(draw(8, 8) + i for i in range(4))]
    columns, rows = (R, Shard(1)), (R, Shard(0))
    layouts, moves = run(f, arrays, [(Shard(0), R), columns, columns, columns, rows])
    assert layouts[0] == (Partial(), Partial())
    assert layouts[1] == (Shard(0), Partial())
    assert layouts[2:] == [(Partial(), Shard(1))] * 3 + [(Partial(), Shard(0))]
    assert moves == []


def test_an_embedding_in_rows():
    """Each rank looks up its rows. The zeros that their gradient is added to are made whole."""

    def f(weight, bias):
        return F.add(F.embedding(F.iota(0, 1, dtype=dt.int64, size=6), weight), bias)

    layouts, moves = run(f, [draw(6, 4), draw(4)], [(R, Shard(0)), (R, R)])
    assert layouts[0] == (R, Partial())
    assert moves == []
    assert layouts[1] == (R, R)
