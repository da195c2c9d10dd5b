"""Operations and variables of static programs, looked at."""

from __future__ import annotations

import pytest

import paddle


def test_operands_and_results(programs):
    main, _ = programs
    x = paddle.static.data("x", [None, 4])
    y = paddle.nn.functional.softmax(x * 2.0, axis=-1)
    scaled, softmax = main.global_block().ops
    assert (softmax.name(), softmax.type, softmax.attrs()) == ("softmax", "softmax", {"axis": 1})
    assert softmax.has_attr("axis")
    assert not softmax.has_attr("scale")
    assert softmax.get_attr_names() == ["axis"]
    assert softmax.get_input_names() == ["x"]
    assert (scaled.num_operands(), scaled.num_results(), scaled.num_regions()) == (2, 1, 0)
    source, number = scaled.operands_source()
    assert number == 2.0
    assert source.is_same(x)
    assert softmax.operand_source(0).is_same(scaled.result(0))
    assert softmax.results()[0].is_same(y)
    assert not y.is_same(x)
    assert y.get_defining_op() == softmax
    assert hash(y.get_defining_op()) == hash(softmax)
    assert y.get_defining_op() != scaled
    assert x.get_defining_op() is None
    assert x.all_used_ops() == [scaled]
    assert x.has_one_use()
    assert y.use_empty()
    assert "softmax" in str(softmax)
    assert "softmax" in str(main)
    with pytest.raises(IndexError, match=r"\[result\] requires a number below 1"):
        softmax.result(1)
    with pytest.raises(IndexError, match=r"\[operand_source\]"):
        softmax.operand_source(-1)


def test_results_can_be_fetched(programs):
    import numpy as np

    main, _ = programs
    paddle.exp(paddle.static.data("x", [2]))
    fetched = main.global_block().ops[0].result(0)
    assert list(fetched.shape) == [2]
    assert fetched.dtype == paddle.float32
    (found,) = paddle.static.Executor().run(main, {"x": np.zeros(2, np.float32)}, [fetched])
    assert found.tolist() == [1.0, 1.0]


def test_regions(programs):
    main, _ = programs
    x = paddle.static.data("x", [2])
    paddle.static.nn.while_loop(lambda i: i.sum() < 3, lambda i: i + 1.0, [x])
    loop = next(op for op in main.global_block().ops if op.num_regions())
    condition, body = loop.blocks()
    assert condition.ops[-1].name() == "lt"
    assert [op.name() for op in body.ops] == ["add"]
    assert body.num_ops() == 1
    assert body.ops[0].operand_source(0).is_same(body.args()[0])
