"""What a kernel of a larger shape would compute again and again is computed once, where that costs less."""

from __future__ import annotations

import numpy as np
import pytest

from tests.support.programs import tensors, traced
from umiak import ops as F
from umiak.compiler import broadcasts, fuse, simplify
from umiak.core import array
from umiak.core.dtype import convert
from umiak.runtime.executor import Executor

I32, I64 = convert("int32"), convert("int64")


@pytest.fixture
def rng():
    return np.random.default_rng(5)


def places(n, dtype=I64):
    return F.iota(0, 1, dtype=dtype, size=n)


def hidden(rows, n):
    """Whether queries lie in the interval of a key: [batch, 1, n, n]."""
    begin, end = (F.slice(rows, axes=(3,), starts=(i,), sizes=(1,), steps=(1,)) for i in (0, 1))
    begin, end = (F.reshape(x, shape=(*rows.shape[:2], 1, n)) for x in (begin, end))
    i = F.unsqueeze(places(n, rows.dtype), axes=(1,))
    return F.logical_and(F.ge(i, begin), F.lt(i, end))


def softmax(x):
    e = F.exp(F.sub(x, F.max(x, axes=(3,), keepdim=True)))
    return F.div(e, F.sum(e, axes=(3,), keepdim=True))


def masked(scores, rows):
    return softmax(F.where(hidden(rows, scores.shape[-1]), -1e9, scores))


def intervals(rng, n, dtype):
    begin = rng.integers(0, n, (1, 1, n, 1))
    return array.from_numpy(np.concatenate([begin, begin + rng.integers(0, n, begin.shape)], 3).astype(dtype))


def grouped(program):
    operations, results = simplify.simplify(program.ops, program.outputs)
    return fuse.fuse(*simplify.duplicate_views(operations, results), repeat=True)[0]


def names(o):
    return {x.name for x in o.op.group.operations} if o.name == "fused" else {o.name}


def same_bits(program, *xs, monkeypatch):
    found = Executor(program)(*xs)
    with monkeypatch.context() as patch:
        patch.setattr(broadcasts, "KERNEL", float("inf"))
        expected = Executor(program)(*xs)
    for a, b in zip(found, expected, strict=True):
        np.testing.assert_array_equal(array.to_numpy(a), array.to_numpy(b))


@pytest.mark.parametrize(
    ("heads", "n", "once"),
    [(8, 256, True), (1, 256, False), (8, 16, False)],
    ids=["heads", "one head", "few scores"],
)
def test_a_mask_is_computed_once_for_all_heads(heads, n, once, rng, monkeypatch):
    (scores,) = tensors(rng, (1, heads, n, n))
    rows = intervals(rng, n, np.int64)
    program = traced(masked, scores, rows, dynamic=())
    calls = [names(o) for o in grouped(program)]
    assert any("exp" in c and "lt" in c for c in calls) != once
    assert len(calls) == 1 + once
    same_bits(program, scores, rows, monkeypatch=monkeypatch)


def functions(x):
    return F.exp(F.tanh(F.exp(x)))


@pytest.mark.parametrize(
    ("shape", "value", "once"),
    [
        ((512,), functions, True),  # for each row again
        ((512,), lambda x: F.mul(x, 2.0), False),  # as quick as reading it
        ((256, 1), functions, False),  # for each row once
        ((1, 1), functions, False),
        ((256, 512), functions, False),
        ((512,), lambda x: functions(F.mul(x, F.sum(x, axes=(0,), keepdim=True))), False),  # loops of their own
    ],
    ids=["row", "cheap", "column", "number", "all", "sum"],
)
def test_what_is_computed_once(shape, value, once, rng, monkeypatch):
    big, small = tensors(rng, (256, 512), shape)
    program = traced(lambda x, y: F.sub(F.mul(x, 3.0), value(y)), big, small, dynamic=())
    with monkeypatch.context() as patch:
        patch.setattr(broadcasts, "KERNEL", float("inf"))
        before = len(grouped(program))
    assert len(grouped(program)) == before + once
    same_bits(program, big, small, monkeypatch=monkeypatch)


def test_views_for_all_places_are_not_stored(rng, monkeypatch):
    """A value is repeated where it is read, not in memory."""
    big, small = tensors(rng, (256, 512), (512,))
    program = traced(
        lambda x, y: F.mul(x, F.broadcast_to(F.unsqueeze(functions(y), axes=(0,)), shape=(256, 512))),
        big, small, dynamic=(),
    )  # fmt: skip
    sizes = [np.prod(r.meta.shape) for o in grouped(program) if o.name == "fused" for r in o.results]
    assert sorted(sizes) == [512, 256 * 512]
    same_bits(program, big, small, monkeypatch=monkeypatch)
