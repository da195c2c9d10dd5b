"""Operations with regions in programs: what the verifier refuses, what passes keep, and what the executor runs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import paddle
from umiak import ops as F
from umiak.core import dtype as dt
from umiak.ir import passes
from umiak.ir.meta import Meta
from umiak.ir.parser import parse
from umiak.ir.program import Program, bound
from umiak.ir.rewrite import Table, rewrite
from umiak.ir.tracer import Tracer, trace
from umiak.ir.verifier import VerifyError, verify
from umiak.ops.control import Cond
from umiak.runtime import regions
from umiak.runtime.executor import Executor

VECTOR = Meta((3,), dt.float32)
NUMBER = Meta((), dt.int64)


def traced(function: Callable[..., Any]) -> Program:
    return verify(trace(function, [VECTOR, NUMBER]))


def loop(n: Any, body: Callable[[Any], Any], x: Any) -> Any:
    i = F.full(0, shape=(), dtype=dt.int64)
    return regions.while_loop(lambda v: F.lt(v[0], n), lambda v: [F.add(v[0], 1), body(v[1])], [i, x])[1]


def run(program: Program, x: list[float], n: int) -> list[Any]:
    return [y.tolist() for y in Executor(program)(paddle.to_tensor(x), paddle.to_tensor(n))]


def test_regions_read_nothing_from_outside() -> None:
    program = traced(lambda x, n: loop(n, lambda y: F.add(y, F.mul(x, 2)), x))
    (while_,) = (o for o in program.ops if o.regions)
    inner = while_.regions[1].operations[-1]
    inner.operands = (program.inputs[0], *inner.operands[1:])
    with pytest.raises(VerifyError, match="used where it is not defined"):
        verify(program)


@pytest.mark.parametrize("what", ["arguments", "results", "count", "flag"])
def test_regions_that_do_not_fit_are_refused(what: str) -> None:
    with Tracer() as t:
        x, p = t.input(VECTOR), t.input(Meta((), dt.bool))
        blocks = []
        for wide in (False, True):
            meta = Meta((4,), dt.float32) if wide and what == "arguments" else VECTOR
            with t.region([meta]) as (block, (y,)):
                y = F.neg(y)
                y = F.cast(y, dtype=dt.float64) if wide and what == "results" else y
                block.outputs = [y.value] * (1 + (wide and what == "count"))
            blocks.append(block)
        with pytest.raises(TypeError, match=r"\[cond\] requires"):
            t.builder.append(Cond(), (x.value if what == "flag" else p.value, x.value), (0,), blocks)


def test_passes_and_rules_go_inside() -> None:
    def body(y: Any) -> Any:
        F.exp(y)  # which nobody reads
        return F.add(F.neg(F.neg(F.sin(y))), F.sin(y))

    program = traced(lambda x, n: [F.sin(x), loop(n, body, x)])
    table = Table()

    @table.on("neg")
    def double(op: Any, build: Any) -> Any:
        made = op.operands[0].operation
        return made.operands[0] if made is not None and made.name == "neg" else None

    before = run(program, [0.5, 1.0, -1.0], 3)
    rewrite(program, table, verify=True)
    passes.tidy(program)
    verify(program)
    (while_,) = (o for o in program.ops if o.regions)
    # The same call outside is none that a closed region could read.
    assert [o.name for o in while_.regions[1].operations] == ["add", "sin", "add"]
    assert run(program, [0.5, 1.0, -1.0], 3) == before


def test_what_communicates_runs_though_nobody_reads_it() -> None:
    """In its place among the calls of its group, as often as the loop goes."""

    def body(y: Any) -> Any:
        return F.all_reduce(F.mul(y, 2), group="self", size=1)

    def function(x: Any, n: Any) -> Any:
        first = F.all_reduce(x, group="self", size=1)
        loop(n, body, x)
        return first, F.all_reduce(x, group="self", size=1)

    program = passes.tidy(traced(function))
    verify(program)
    assert [o.order for o in program.walk() if o.name == "all_reduce"] == [0, 1, 2]
    executor = Executor(program)
    executor(paddle.ones([3]), paddle.to_tensor(2))
    (lowered,) = executor._lowered.values()
    assert [bool(getattr(p, "regions", ())) for p in lowered.calls.parts] == [False, True, False]
    a, b = (next(o for o in program.ops if o.name == "all_reduce"), next(o for o in program.ops if o.regions))
    i, j = program.ops.index(a), program.ops.index(b)
    program.ops[i], program.ops[j] = b, a
    with pytest.raises(VerifyError, match=r"changed places|not defined"):
        verify(program)


def test_a_number_that_is_read_keeps_the_operation_that_binds_it() -> None:
    with Tracer() as t:
        x, n = t.input(VECTOR), t.input(NUMBER)
        loop(n, lambda y: F.neg(y), x)
        (trips,) = [s for o in t.operations if o.regions for s in bound(o)][:1]
        program = t.finish([F.mul(x, trips), trips])
    passes.tidy(program)
    assert [bool(o.regions) for o in program.ops] == [False, True, False]
    x, n = paddle.to_tensor([1.0, 2.0, 3.0]), paddle.to_tensor(3)
    y, count = Executor(program)(x, n)
    assert y.tolist() == [3.0, 6.0, 9.0] and count == 3
    assert parse(repr(program)).same_as(program)


def test_a_loop_of_many_iterations_is_stacked_whole() -> None:
    """More slices than are joined at a time; both ways."""
    for reverse in (False, True):
        program = trace(
            lambda x, w, reverse=reverse: regions.scan(
                lambda leaves, xs: ([F.add(leaves[0], xs[0])], [F.mul(leaves[0], xs[0])]), [w], [x], x.shape[0], reverse
            )[1],
            [Meta((300, 2), dt.float64), Meta((2,), dt.float64)],
        )
        verify(program)
        x = paddle.arange(600, dtype="float64").reshape([300, 2]) * 0.01
        (made,) = Executor(program)(x, paddle.zeros([2], "float64"))
        rows = x.flip([0]) if reverse else x
        wanted = (rows.cumsum(0) - rows) * rows
        assert paddle.allclose(made, wanted.flip([0]) if reverse else wanted)


def test_conditions_and_sizes_of_nothing() -> None:
    program = traced(lambda x, n: loop(n, lambda y: F.mul(y, 2), x))
    for n, wanted in ((0, 1.0), (-3, 1.0), (5, 32.0)):
        assert run(program, [1.0, 1.0, 1.0], n) == [[wanted] * 3]
