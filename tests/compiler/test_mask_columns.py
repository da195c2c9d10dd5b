"""Columns that hold are the mask, for random expressions of places and vectors."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

import paddle
from umiak import ops as F
from umiak.compiler.passes.mask_columns import Columns
from umiak.compiler.passes.mask_intervals import Intervals, hidden_intervals
from umiak.compiler.passes.mask_reader import GradientReach, Unreadable
from umiak.compiler.passes.spelled_mask import Part, SpelledMask
from umiak.core import array
from umiak.ir.tracer import Tracer
from umiak.runtime.executor import Executor

COMPARISONS = ["__le__", "__lt__", "__ge__", "__ge__", "__gt__", "__eq__", "__ne__"]


class Expressions:
    """Draws masks as functions of the tensors that stand for ``data``."""

    def __init__(self, seed: int) -> None:
        self.rng = np.random.default_rng(seed)
        self.queries = int(self.rng.integers(2, 14))
        self.keys = self.queries if self.chance(0.7) else int(self.rng.integers(2, 14))
        self.batch, self.heads = (int(n) for n in self.rng.integers(1, 3, 2))
        self.data: list = []

    def chance(self, p):
        return self.rng.random() < p

    def choose(self, options):
        return options[int(self.rng.integers(len(options)))]

    def number(self):
        return int(self.rng.integers(-3, max(self.queries, self.keys)))

    def vector(self, size):
        """Numbers in order or not, or in runs; for all, or otherwise for each batch entry or head."""
        kind = self.choose(["up", "up", "down", "runs", "any"])
        lead = self.choose([(), (), (self.batch, 1), (self.batch, self.heads), (1, self.heads)])
        x = self.rng.integers(0, self.choose([2, 4, size]), (*lead, size))
        if kind != "any":
            x = np.sort(x, -1)
        if kind == "down":
            x = x[..., ::-1].copy()
        if kind == "runs":
            x = self.rng.permutation(size + 8)[x]
        return self.given(x.astype(self.choose(["int64", "int32", "int8"])))

    def given(self, x):
        """An input of the program."""
        at = len(self.data)
        self.data.append(paddle.to_tensor(x))
        return lambda given: given[at]

    def along(self, axis, x):
        return x.unsqueeze(-1) if axis == "i" else x.unsqueeze(-2)

    def places(self, axis):
        size, start = self.queries if axis == "i" else self.keys, self.choose([0, 0, 0, 2])
        spread = self.chance(0.3)

        def f(given):
            x = self.along(axis, paddle.arange(start, start + size))
            return x.expand([self.queries, self.keys]) if spread else x

        return f

    def integers(self, axis):
        """Something that depends on one place."""
        kind, by = self.choose(["places", "vector", "vector", "blocks", "sum", "entries"]), self.number()
        size = self.queries if axis == "i" else self.keys
        if kind == "places":
            return self.places(axis)
        if kind == "vector":
            x = self.vector(size)
            return lambda given: self.along(axis, x(given)).astype("int64")
        if kind == "blocks":
            x, width = self.places(axis), int(self.rng.integers(1, 5))
            return lambda given: x(given) // width
        if kind == "sum":
            x, sign = self.integers(axis), self.choose([1, 1, -1])
            return lambda given: x(given) * sign + by
        table = self.given(np.sort(self.rng.integers(0, size, size)))
        return lambda given: table(given)[self.along(axis, paddle.arange(size))]

    def comparison(self):
        kind, name = self.rng.random(), self.choose(COMPARISONS)
        if kind < 0.2 and self.queries == self.keys:
            x = self.vector(self.queries)
            return lambda given: getattr(self.along("i", x(given)), name)(self.along("j", x(given)))
        if kind < 0.5:
            a, b = self.integers("i"), self.integers("j")
            return lambda given: getattr(a(given), name)(b(given))
        if kind < 0.75:
            a, b, by = self.places("i"), self.places("j"), self.number()
            absolute, sign = self.chance(0.3), self.choose([1, -1])

            def f(given):
                x = (a(given) - b(given)) * sign
                return getattr(x.abs() if absolute else x, name)(by)

            return f
        if kind < 0.85:
            a, by = self.integers(self.choose("ij")), self.number()
            return lambda given: getattr(a(given), name)(by)
        half, diagonal = self.choose([paddle.tril, paddle.triu]), int(self.rng.integers(-2, 3))
        return lambda given: half(paddle.ones([self.queries, self.keys]), diagonal) > 0

    def mask(self, depth):
        if depth == 0 or self.chance(0.25):
            return self.comparison()
        kind = self.choose(["and", "and", "and", "or", "not", "xor", "product", "where"])
        a, b = self.mask(depth - 1), self.mask(depth - 1)
        if kind == "not":
            return lambda given: ~a(given)
        if kind == "where":
            c = self.comparison()
            return lambda given: paddle.where(c(given), a(given), b(given))
        if kind == "product":
            return lambda given: (a(given).astype("float32") * b(given).astype("float32")).astype("bool")
        return lambda given: getattr(a(given), f"__{kind}__")(b(given))


class Bounds(Expressions):
    """Draws masks of bounds that keys have."""

    def comparison(self):
        x = self.vector(self.keys)
        name = self.choose(COMPARISONS)
        if self.chance(0.3):  # of keys alone
            by = self.number()
            return lambda given: getattr(x(given), name)(by).unsqueeze(-2)
        if self.chance(0.3):
            by = self.number()
            return lambda given: getattr(self.rows(given) - self.along("j", paddle.arange(self.keys)), name)(by)
        return lambda given: getattr(self.rows(given), name)(self.along("j", x(given)).astype("int64"))

    def rows(self, given):
        return self.along("i", paddle.arange(self.queries))

    def mask(self, depth):
        if depth == 0:
            return self.comparison()
        a, b, kind = self.mask(depth - 1), self.mask(0), self.choose(["and", "or", "not"])
        if kind == "not":
            return lambda given: ~a(given)
        return lambda given: getattr(a(given), f"__{kind}__")(b(given))


def added(mask, form):
    if form == "where":
        return paddle.where(mask, 0.0, float("-inf"))
    return (1.0 - mask.astype("float32")) * -1e9


def check(seed: int, family: type[Expressions] = Expressions) -> str:
    """Compare the columns of one drawn mask with the mask; tell what became of it."""
    e = family(seed)
    masks = [(e.mask(int(e.rng.integers(0, 4))), e.choose(["visible", "hidden", "where", "penalty"])) for _ in range(2)]
    masks = masks[: e.choose([1, 2])]
    strict = e.chance(0.5)
    sizes = (e.batch, e.heads, e.queries, e.keys)
    with Tracer() as tracer:
        given = [tracer.example(x, ()) for x in e.data]
        parts, shown = [], []
        for f, kind in masks:
            m = f(given)
            if kind in ("where", "penalty"):
                m, kind = added(m, kind), "added"
            parts.append(Part(kind, m.value))
            shown.append(m)
        still = {id(x) for x in tracer.builder.program.inputs}
        try:
            mask = SpelledMask(parts, 4, sizes, strict, False, GradientReach(still, set()))
        except Unreadable:
            return "unreadable"
        hidden_here = hidden_intervals(mask)
        told = Columns(mask).indices if hidden_here is None else Intervals(mask, hidden_here).indices
        columns = Columns(mask)
        holds = columns.holds
        if columns.highest is not None:
            holds = F.logical_and(holds, F.le(columns.highest, -1000.0))
        program = tracer.finish([*shown, told, columns.indices, holds])
    *dense, told, indices, flag = (array.to_numpy(x) for x in Executor(program)(*e.data))
    hidden = np.zeros(sizes, bool)
    for x, part in zip(dense, parts, strict=True):
        hidden |= ~x if part.kind == "visible" else x if part.kind == "hidden" else x != 0
    later = np.arange(e.keys) > np.arange(e.queries)[:, None] + e.keys - e.queries
    if mask.causal:
        assert (hidden | ~later).all(), seed
    if mask.plain:
        np.testing.assert_array_equal(hidden, np.broadcast_to(later, sizes))
    known = [told] if hidden_here is not None else []
    for found in [*known, *([indices] if flag else [])]:
        query = np.arange(e.queries)[:, None]
        begin, end, *second = (found[..., k][:, :, None] for k in range(found.shape[3]))
        by_intervals = (query >= begin) & (query < end)
        by_intervals = by_intervals | (later if mask.causal else (query >= second[0]) & (query < second[1]))
        np.testing.assert_array_equal(np.broadcast_to(by_intervals, sizes), hidden, str(seed))
    if known:
        return "intervals"
    if not flag:
        return "dense"
    assert not (mask.strict and hidden.all(3).any()), seed
    return "columns"


def test_a_sample():
    assert "columns" in {check(seed) for seed in range(3)}


def test_bounds_of_keys():
    assert {check(seed, Bounds) for seed in (5, 8, 22, 23, 27)} == {"intervals"}


@pytest.mark.slow
def test_more_bounds_of_keys():
    tally = Counter(check(seed, Bounds) for seed in range(100, 300))
    assert tally["intervals"] > 16, tally


@pytest.mark.slow
@pytest.mark.parametrize("first", range(3, 2003, 100))
def test_more(first):
    tally = Counter(map(check, range(first, first + 100)))
    assert tally["columns"] > 16, tally
    assert tally["dense"], tally
