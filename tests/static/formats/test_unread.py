"""What loops and branches leave for nobody, and what has no value before a loop: as the reference's files have both."""

from __future__ import annotations

import numpy as np
import pytest

import paddle
from paddle.static.formats import record
from paddle.static.formats.graph import FETCH, YIELD, Attribute, Block, Module, Operation, Result, TensorType
from paddle.static.formats.unread import drop_unread

FLAG, NUMBER, ROW = TensorType("bool", ()), TensorType("float32", ()), TensorType("float32", (1,))
ZEROS = {"value": Attribute("array", (Attribute("i64", 0),))}


def full(number, value=0.0, kind=NUMBER):
    attributes = {"shape": Attribute("intarray", ()), "value": Attribute("f64", value)}
    return Operation("pd_op.full", [], attributes | {"dtype": Attribute("dtype", "float32")}, [Result(number, kind)])


def call(name, operands, number, kind, **attributes):
    return Operation(f"pd_op.{name}", operands, attributes, [Result(number, kind)])


def fetch(number, column):
    named = {"name": Attribute("str", f"y{column}"), "col": Attribute("i32", column)}
    return Operation(FETCH, [number], named, [Result(900 + column, None)])


def loop(*columns):
    """``while s < 5: t = s.unsqueeze(0); s = s + 1``; which of ``s``, ``t`` are fetched."""
    body = Block(
        [Result(-1, NUMBER), Result(-2, ROW)],
        [
            Operation("pd_op.full_int_array", [], ZEROS, [Result(21, TensorType("int64", (1,)))]),
            call("unsqueeze", [-1, 21], 20, ROW),
            call("add", [-1, 3], 22, NUMBER), call("less_than", [22, 2], 23, FLAG), Operation(YIELD, [23, 22, 20]),
        ],
    )  # fmt: skip
    results = [Result(10, NUMBER), Result(11, ROW)]
    made = [
        full(1), full(2, 5.0), full(3, 1.0), full(4, 0.0, ROW),
        call("less_than", [1, 2], 5, FLAG), Operation("pd_op.while", [5, 1, 4], {}, results, [body]),
    ]  # fmt: skip
    return Module(Block([], [*made, *(fetch(10 + c, i) for i, c in enumerate(columns))]))


def carried(module):
    (o,) = (o for o in module.block.operations if o.name == "pd_op.while")
    (body,) = o.regions
    assert len(o.operands) - 1 == len(o.results) == len(body.arguments) == len(body.operations[-1].operands) - 1
    return [r.number for r in o.results]


def test_loops_do_not_carry_what_nobody_reads():
    module = loop(0)
    drop_unread(module)
    assert carried(module) == [10]
    module = loop(0, 1)
    drop_unread(module)
    assert carried(module) == [10, 11]
    module = loop(1)  # the other one is read by the loop itself
    drop_unread(module)
    assert carried(module) == [10, 11]


@pytest.mark.parametrize("columns", [(0,), (1,), (0, 1)])
def test_what_has_no_value_before_a_loop_can_be_recorded(columns):
    """In a program it begins as it is declared to be, else as the number that the file has."""
    wanted = [np.float32(5), np.array([4], "float32")]
    module = loop(*columns)
    found = record.Values(module, {}, {}).run()
    paddle.enable_static()
    try:
        program = paddle.static.Program()
        with paddle.static.program_guard(program):
            fetched = record.Values(loop(*columns), {}, {}).run()
        recorded = paddle.static.Executor().run(program, fetch_list=fetched)
    finally:
        paddle.disable_static()
    for c, x, y in zip(columns, found, recorded, strict=True):
        np.testing.assert_array_equal(x.numpy(), wanted[c])
        np.testing.assert_array_equal(y, wanted[c])


def test_branches_have_no_results_that_nobody_reads():
    ways = [Block([], [full(n), Operation(YIELD, [n, 1 if n == 30 else 2])]) for n in (30, 31)]
    o = Operation("pd_op.if", [5], {}, [Result(40, NUMBER), Result(41, NUMBER)], ways, {"stop_gradient": [True, False]})
    made = [full(1), full(2), call("less_than", [1, 2], 5, FLAG), o, fetch(41, 0)]
    drop_unread(Module(Block([], made)))
    assert [r.number for r in o.results] == [41]
    assert [way.operations[-1].operands for way in o.regions] == [[1], [2]]
    assert o.traits == {"stop_gradient": [False]}


def test_what_inner_loops_call_alike_is_not_read():
    """Arguments of inner loops have the numbers of those of outer ones."""
    module = loop(0)
    (outer,) = (o for o in module.block.operations if o.name == "pd_op.while")
    inner = Block([Result(-2, NUMBER)], [call("add", [-2, 3], 50, NUMBER), Operation(YIELD, [5, 50])])
    outer.regions[0].operations.insert(0, Operation("pd_op.while", [5, -1], {}, [Result(51, NUMBER)], [inner]))
    drop_unread(module)
    assert [r.number for r in outer.results] == [10]


@pytest.mark.parametrize("end", [[], [23], [23, 22, 20, 20]])
def test_loops_whose_ends_do_not_fit_are_left(end):
    module = loop(0)
    (o,) = (o for o in module.block.operations if o.name == "pd_op.while")
    o.regions[0].operations[-1].operands = end
    drop_unread(module)
    assert [r.number for r in o.results] == [10, 11]
