"""Passes over static programs: what an executor computes stays, with fewer operations."""

from __future__ import annotations

import numpy as np
import pytest

import paddle
import paddle.nn.functional as F
from umiak.ir.verifier import verify


@pytest.fixture
def rng():
    return np.random.default_rng(11)


def names(program):
    return [op.name() for op in program.global_block().ops]


def manager(*passes):
    made = paddle.pir.PassManager()
    for name in passes:
        made.add_pass(name)
    return made


def array(rng, *shape):
    return rng.standard_normal(shape).astype(np.float32)


def rms_norm(x, w):
    return x * paddle.rsqrt((x * x).mean(-1, keepdim=True) + 1e-6) * w


def encoder(q):
    """Attention, spelt out, and a norm."""
    scores = paddle.matmul(q, q.transpose([0, 1, 3, 2])) / 8**0.5
    mixed = paddle.matmul(F.softmax(scores), q) + q
    mean = mixed.mean(-1, keepdim=True)
    var = ((mixed - mean) ** 2).mean(-1, keepdim=True)
    return (mixed - mean) / paddle.sqrt(var + 1e-5)


def test_results_stay_and_operations_become_fewer(programs, rng):
    main, startup = programs
    x = paddle.static.data("x", [None, 3, 8, 8])
    norm = paddle.nn.BatchNorm2D(4)
    norm.eval()
    image = F.relu(norm(paddle.nn.Conv2D(3, 4, 3)(x)))
    sequence = encoder(paddle.static.data("q", [None, 4, 40, 8]))
    exe = paddle.static.Executor()
    exe.run(startup)
    feed = {"x": array(rng, 2, 3, 8, 8), "q": array(rng, 2, 4, 40, 8)}
    expected = exe.run(main, feed, [image, sequence])
    before = main.num_ops()
    passes = paddle.pir.PassManager()
    passes.add_inference_passes(paddle.static.global_scope())
    passes.run(main)
    assert names(main)[:3] == ["conv", "add", "relu"]
    assert [n for n in names(main)[3:] if n not in ("permute",)] == ["attention", "add", "layer_norm"]
    assert main.num_ops() < before
    for a, b in zip(exe.run(main, feed, [image, sequence]), expected, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-5)


def test_a_run_goes_on_after_other_passes(programs, rng):
    """What was compiled is not that of the program before."""
    main, _ = programs
    y = paddle.tanh(paddle.static.data("x", [2]) * 1.0)
    exe, feed = paddle.static.Executor(), {"x": array(rng, 2)}
    (expected,) = exe.run(main, feed, [y])
    manager("identity_op_clean_pass").run(main)
    assert names(main) == ["tanh"]
    np.testing.assert_array_equal(exe.run(main, feed, [y])[0], expected)


def test_training_after_passes(programs, rng):
    """The forward part is rewritten before gradients are asked for, or a whole training program is."""
    main, startup = programs
    x = paddle.static.data("x", [None, 8])
    w = paddle.create_parameter([8], "float32")
    loss = (rms_norm(x, w) * x).mean()
    copy = main.clone()
    manager("add_norm_fuse_pass").run(main)
    assert "rms_norm" in names(main)
    paddle.optimizer.SGD(0.5).minimize(loss)
    with paddle.static.program_guard(copy, startup):
        copied = copy.global_block().ops[-1].result(0)
        paddle.optimizer.SGD(0.5).minimize(copied)
    exe, feed = paddle.static.Executor(), {"x": array(rng, 4, 8)}

    exe.run(startup)
    state = copy.state_dict("param")

    def losses(program, fetched):
        program.set_state_dict(state)
        return [float(exe.run(program, feed, [fetched])[0]) for _ in range(3)]

    expected = losses(copy, copied)
    assert expected[0] > expected[-1]
    np.testing.assert_allclose(losses(main, loss), expected, rtol=1e-5)
    everything = ["common_subexpression_elimination_pass", "identity_op_clean_pass", "constant_folding_pass"]
    before = copy.num_ops()
    manager(*everything, "dead_code_elimination_pass").run(copy)
    assert copy.num_ops() < before
    np.testing.assert_allclose(losses(copy, copied), expected, rtol=1e-5)


def test_copies_for_evaluation_after_passes(programs, rng):
    """Dropout is still known for what it is, and updates of parameters for training."""
    main, startup = programs
    x = paddle.static.data("x", [None, 8])
    y = F.dropout(paddle.nn.Linear(8, 8)(x) * 1.0, 0.5)
    loss = (y * y).mean()
    _, gradients = paddle.optimizer.SGD(0.1).minimize(loss)
    before = main.clone(for_test=True)
    manager("identity_op_clean_pass", "common_subexpression_elimination_pass").run(main)
    after = main.clone(for_test=True)
    assert not [n for n in names(after) if "dropout" in n]
    exe, feed = paddle.static.Executor(), {"x": array(rng, 4, 8)}
    exe.run(startup)
    (first,) = exe.run(before, feed, [loss])
    np.testing.assert_allclose(exe.run(after, feed, [loss])[0], first, rtol=1e-6)
    np.testing.assert_allclose(exe.run(after, feed, [loss])[0], first, rtol=1e-6)
    exe.run(main, feed)
    assert exe.run(after, feed, [loss])[0] != first


def test_what_can_be_fetched(programs, rng):
    main, _ = programs
    x = paddle.static.data("x", [2])
    y, z = paddle.exp(x), paddle.tanh(x)
    feed, exe = {"x": array(rng, 2)}, paddle.static.Executor()
    manager("dead_code_elimination_pass").run(main)
    assert names(main) == ["exp", "tanh"], "both could be fetched"
    manager("dead_code_elimination_pass").run(main, fetch_list=[z])
    assert names(main) == ["tanh"]
    np.testing.assert_allclose(exe.run(main, feed, [z])[0], np.tanh(feed["x"]), rtol=1e-6)
    with pytest.raises(ValueError, match="fetch_list"):
        exe.run(main, feed, [y])
    with pytest.raises(RuntimeError, match=r"no more in the program.*fetch_list"):
        paddle.sqrt(y)


def test_a_name_keeps_a_variable(programs, rng):
    main, _ = programs
    x = paddle.static.data("x", [2])
    y = x * 1.0
    y.name = "same"
    z = paddle.tanh(y)
    manager("identity_op_clean_pass").run(main)
    feed = {"x": array(rng, 2)}
    found = paddle.static.Executor().run(main, feed, ["same", z])
    np.testing.assert_array_equal(found[0], feed["x"])


def test_variables_that_were_merged_go_on(programs, rng):
    """A variable stands for what its value was merged into, in this program and in its copies."""
    main, _ = programs
    x = paddle.static.data("x", [2])
    a, b = paddle.exp(x), paddle.exp(x)
    c = a + b
    copy = main.clone()
    manager("common_subexpression_elimination_pass").run(main)
    assert names(main) == ["exp", "add"]
    d = b * 2.0
    feed, exe = {"x": array(rng, 2)}, paddle.static.Executor()
    expected = np.exp(feed["x"])
    for program, fetched in ((main, [a, b, c, d]), (copy, [a, b, c]), (main.clone(), [a, b, c, d])):
        found = exe.run(program, feed, fetched)
        for y, factor in zip(found, (1, 1, 2, 2), strict=False):
            np.testing.assert_allclose(y, factor * expected, rtol=1e-6)


def test_constants_of_a_scope(programs, rng):
    main, startup = programs
    x = paddle.static.data("x", [None, 4])
    w = paddle.create_parameter([4, 4], "float32")
    y = paddle.matmul(x, paddle.exp(w.T))
    exe, feed = paddle.static.Executor(), {"x": array(rng, 3, 4)}
    exe.run(startup)
    (expected,) = exe.run(main, feed, [y])
    manager("constant_folding_pass").run(main)
    assert names(main) == ["permute", "exp", "matmul"], "a parameter may change"
    folding = paddle.pir.PassManager()
    folding.add_pass("constant_folding_pass", {"__param_scope__": paddle.static.global_scope()})
    folding.run(main)
    assert names(main) == ["matmul"]
    np.testing.assert_allclose(exe.run(main, feed, [y])[0], expected, rtol=1e-6)
    np.testing.assert_allclose(exe.run(main.clone(), feed, [y])[0], expected, rtol=1e-6)
    with pytest.raises(ValueError, match="a Scope as __param_scope__"):
        folding.add_pass("constant_folding_pass", {"__param_scope__": 3})


def test_quantised_weights_become_constants(programs, rng):
    """What turns integers into numbers again is done once."""
    main, startup = programs
    x = paddle.static.data("x", [None, 4])
    scale = 0.02
    with paddle.base.dygraph.guard():
        w = paddle.to_tensor(rng.integers(-127, 128, (4, 3)).astype(np.int8))
    y = paddle.matmul(x, w.astype("float32") * scale)
    folding = paddle.pir.PassManager()
    folding.add_pass("constant_folding_pass", {"__param_scope__": paddle.static.global_scope()})
    folding.run(main)
    assert names(main) == ["matmul"]
    feed = {"x": array(rng, 2, 4)}
    (found,) = paddle.static.Executor().run(main, feed, [y])
    np.testing.assert_allclose(found, feed["x"] @ (w.numpy() * np.float32(scale)), rtol=1e-5)


def test_mixed_precision(programs, rng):
    main, startup = programs
    y = paddle.nn.Linear(8, 8)(paddle.static.data("x", [None, 8]))
    exe, feed = paddle.static.Executor(), {"x": array(rng, 4, 8)}
    exe.run(startup)
    (expected,) = exe.run(main, feed, [y])
    passes = paddle.pir.PassManager()
    passes.add_pass("auto_mixed_precision_pass", {"dtype": "bfloat16"})
    passes.run(main)
    product = next(op for op in main.global_block().ops if "matmul" in op.name() or "linear" in op.name())
    assert product.result(0).dtype == paddle.bfloat16
    (found,) = exe.run(main, feed, [y])
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, expected, atol=3e-2)


def test_branches(programs, rng):
    main, _ = programs
    x = paddle.static.data("x", [3])
    y = paddle.static.nn.cond(x.sum() > 0, lambda: paddle.exp(x * 1.0), lambda: paddle.tanh(x) - paddle.tanh(x) * 2.0)
    exe = paddle.static.Executor()
    feeds = [{"x": np.full(3, s, np.float32)} for s in (0.5, -0.5)]
    expected = [exe.run(main, feed, [y])[0] for feed in feeds]
    manager("identity_op_clean_pass", "common_subexpression_elimination_pass").run(main)
    (branch,) = [op for op in main.global_block().ops if op.num_regions()]
    assert [[op.name() for op in block.ops] for block in branch.blocks()] == [["exp"], ["tanh", "mul", "sub"]]
    for feed, value in zip(feeds, expected, strict=True):
        np.testing.assert_allclose(exe.run(main, feed, [y])[0], value, rtol=1e-6)
    with pytest.raises(RuntimeError, match="branch or loop body"):
        paddle.static.nn.cond(x.sum() > 0, lambda: manager("dead_code_elimination_pass").run(main), lambda: None)


def test_the_list_of_passes(capsys, programs):
    main, _ = programs
    paddle.tanh(paddle.static.data("x", [2]))
    passes = paddle.pir.PassManager()
    assert passes.empty()
    passes.add_pass("dead_code_elimination_pass", {})
    passes.add_inference_passes()
    passes.delete_pass("conv2d_bn_fuse_pass")
    assert passes.passes()[0] == "dead_code_elimination_pass"
    assert "conv2d_bn_fuse_pass" not in passes.passes()
    passes.enable_ir_printing()
    passes.enable_print_statistics()
    passes.run(main)
    out = capsys.readouterr().out
    assert out.count("; ---- before") == out.count("; ---- after") == len(passes.passes())
    assert "; dead_code_elimination_pass: 1 -> 1 operations" in out
    passes.clear()
    assert passes.empty()
    with pytest.raises(ValueError, match="the name of a pass"):
        passes.add_pass("nonsense")
    with pytest.raises(TypeError, match=r"\[PassManager.run\] requires a Program"):
        passes.run(3)


def test_programs_of_the_engine():
    from umiak import ops
    from umiak.core.dtype import convert
    from umiak.ir.meta import Meta
    from umiak.ir.tracer import trace

    program = trace(lambda x: ops.tanh(ops.mul(x, 1)), [Meta((2,), convert("float32"))])
    manager("identity_op_clean_pass").run(program)
    assert [o.name for o in verify(program).ops] == ["tanh"]


def test_attention_without_a_pass(programs, rng):
    """It is fused for each run, and what is fetched of it is still there."""
    main, _ = programs
    q = paddle.static.data("q", [None, 4, 40, 8])
    weights = F.softmax(paddle.matmul(q, q, transpose_y=True))
    y = paddle.matmul(weights, q)
    exe, feed = paddle.static.Executor(), {"q": array(rng, 2, 4, 40, 8)}
    (alone,) = exe.run(main, feed, [y])
    (prepared,) = main._runs.values()
    assert [o.name for o in prepared.run.program.ops if o.name != "permute"] == ["attention"]
    both = exe.run(main, feed, [y, weights])
    np.testing.assert_allclose(alone, both[0], rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(both[1].sum(-1), 1, rtol=1e-5)
    assert "attention" not in names(main)
