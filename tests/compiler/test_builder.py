"""What the builder of nests takes for one and the same."""

from umiak.compiler.loop import monoid as m
from umiak.compiler.loop import node as n
from umiak.compiler.loop.types import F32
from umiak.compiler.lower.builder import Builder


def test_reductions_that_end_elsewhere_are_not_one():
    b = Builder("k", {})
    (i,) = b.open((8,), reduced=True)
    value, before = n.cast(i, F32), n.lt(i, 5)
    ends = (None, n.i64(5), n.i64(4))
    results = [b.reduce(m.SUM, (value,), before, end) for end in ends]
    assert len(set(results)) == len(b.stages) == 3
    assert [s.end for s in b.stages] == [*ends]
    assert b.reduce(m.SUM, (value,), before, ends[1]) == results[1]
    assert len(b.stages) == 3
