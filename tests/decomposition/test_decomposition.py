"""Programs as primitives, rules of the user's, and what gradients make again."""

from __future__ import annotations

import numpy as np
import pytest

import paddle
import paddle.nn.functional as F
from paddle.decomposition import auto_recompute, decompose, register
from paddle.framework import decomposition as switches


@pytest.fixture(autouse=True)
def switched():
    paddle.set_flags({"FLAGS_prim_forward": True})
    yield
    paddle.set_flags({"FLAGS_prim_all": False})
    register.RULES.clear()


def names(program):
    return [op.name() for op in program.global_block().ops]


def run(program, fetched, x):
    return [a.copy() for a in paddle.static.Executor().run(program, {"x": x}, fetched)]


@pytest.fixture
def x():
    return np.random.default_rng(3).standard_normal((4, 8)).astype(np.float32)


# What the reference leaves of gelu, softmax and a product by 2 in the same cases (decompose of 3.3.1, with
# `core._set_prim_forward_enabled(True)`): composites by option.
CASES = [
    ({}, set()),
    ({"blacklist": {"pd_op.gelu"}}, {"gelu"}),
    ({"whitelist": frozenset({"pd_op.gelu"})}, {"softmax"}),
    ({"start_index": 1}, {"gelu"}),  # 2 there, where the input is an operation
]


@pytest.mark.parametrize(("options", "left"), CASES)
def test_what_is_left(programs, x, options, left):
    main, _ = programs
    y = F.softmax(F.gelu(paddle.static.data("x", [4, 8])))
    z = y * 2
    expected = run(main, [y, z], x)
    assert decompose(main, [y, z], **options) == [y, z]
    assert {"gelu", "softmax"} & set(names(main)) == left
    for a, b in zip(run(main, [y, z], x), expected, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-6)


def test_nothing_happens_unless_primitives_are_switched_on(programs):
    main, _ = programs
    y = F.softmax(paddle.static.data("x", [4, 8]))
    paddle.set_flags({"FLAGS_prim_forward": False})
    decompose(main, [y])
    assert names(main) == ["softmax"]


def test_gradients_of_primitives(programs, x):
    main, _ = programs
    given = paddle.static.data("x", [4, 8])
    given.stop_gradient = False
    y = F.softmax(F.gelu(given))
    (before,) = paddle.static.gradients(y * y, given)
    copy = main.clone()
    (expected,) = run(copy, [before], x)
    (y,) = decompose(main, [y], blacklist={"pd_op.pow"})
    (after,) = paddle.static.gradients(y * y, given)
    np.testing.assert_allclose(run(main, [after], x)[0], expected, rtol=1e-4, atol=1e-6)


def test_rules(programs, x):
    main, _ = programs

    @register.register_decomp("pd_op.softmax")
    def softmax(x, axis):
        e = paddle.exp(x)
        return e / e.sum(axis, keepdim=True)

    assert register.get_decomp_rule("softmax") is softmax
    assert register.get_decomp_rule("pd_op.tanh") is None
    y = F.softmax(paddle.static.data("x", [4, 8]))
    (expected,) = run(main, [y], x)
    decompose(main, [y], whitelist={"pd_op.softmax"})
    assert names(main) == ["exp", "sum", "div"]
    np.testing.assert_allclose(run(main, [y], x)[0], expected, rtol=1e-5)
    with pytest.raises(ValueError, match="an op without a rule"):
        register.register_decomp("softmax")
    with pytest.raises(ValueError, match="the name of an op"):
        register.register_decomp("pd_op.nonsense")


def test_bad_arguments(programs):
    main, _ = programs
    y = paddle.tanh(paddle.static.data("x", [4]))
    with pytest.raises(TypeError, match=r"\[decompose\] requires a Program"):
        decompose(3, [y])
    with pytest.raises(ValueError, match="variables of the program as src_vars"):
        decompose(paddle.static.Program(), [y])
    with pytest.raises(TypeError, match=r"\[auto_recompute\] requires a Program"):
        auto_recompute(3, [], [y], [], 0, 1)
    with pytest.raises(ValueError, match="fwd_op_end_idx < backward_op_start_idx <= 1"):
        auto_recompute(main, [], [y], [], 1, 1)
    with pytest.raises(ValueError, match="variables of the program"):
        auto_recompute(main, [], [paddle.to_tensor([1.0])], [], 0, 1)


def test_switches():
    assert switches.forward_enabled()
    assert not switches.all_enabled()
    paddle.set_flags({"FLAGS_prim_all": True})
    assert switches.all_enabled()
    paddle.set_flags({"FLAGS_prim_backward": False})
    assert not switches.all_enabled()


def training(programs, dropout):
    main, startup = programs
    given = paddle.static.data("x", [None, 8])
    h = paddle.nn.Linear(8, 32)(given)
    h = F.softmax(paddle.tanh(F.gelu(h * 2.0)) + h)
    if dropout:
        h = F.dropout(h, 0.5)
    loss = paddle.exp(paddle.nn.Linear(32, 8)(h)).mean()
    end = main.num_ops() - 1
    gradients = [g for _, g in paddle.static.append_backward(loss)]
    paddle.static.Executor().run(startup)
    return main, given, loss, gradients, end


@pytest.mark.parametrize("dropout", [False, True])
def test_recomputed_programs_give_the_same(programs, x, dropout):
    main, given, loss, gradients, end = training(programs, dropout)
    paddle.seed(5)
    expected = run(main, [loss, *gradients], x)
    before = names(main)
    program, forward_end = auto_recompute(main, [given], [loss], [], end, end + 1)
    assert (program, forward_end) == (main, end)
    assert names(main)[: end + 1] == before[: end + 1]
    again = [op.name() for op in main.global_block().ops[end + 1 :]]
    assert "gelu" in again
    assert again.count("linear") == before[end + 1 :].count("linear")
    paddle.seed(5)
    for a, b in zip(run(main, [loss, *gradients], x), expected, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-6)


def test_ops_that_may_be_repeated(programs, x):
    main, given, loss, gradients, end = training(programs, False)
    auto_recompute(main, [given], [loss], [], end, end + 1, recomputable_ops=["pd_op.tanh"])
    behind = [op.name() for op in main.global_block().ops[end + 1 :]]
    assert "gelu" not in behind
    assert "softmax" not in behind
