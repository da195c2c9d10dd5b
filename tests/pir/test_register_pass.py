"""Passes of users: patterns with what takes their place, and functions that are asked about every operation."""

from __future__ import annotations

import numpy as np
import pytest

import paddle
import paddle.nn.functional as F
from umiak.ir.verifier import VerifyError


@pytest.fixture
def rng():
    return np.random.default_rng(12)


def names(program):
    return [op.name() for op in program.global_block().ops]


def two_permutations(constraint=None):
    """Two permutations, one after the other, as one."""
    context = paddle.pir.DrrPatternContext()
    source = context.SourcePattern()
    first = source.Op("pd_op.permute", {"perm": source.Attr("inner")})
    first([source.Tensor("x")], [source.Tensor("between")])
    second = source.Op("permute", {"perm": source.Attr("outer")})
    second([source.Tensor("between")], [source.Tensor("y")])
    if constraint is not None:
        source.AddConstraint(constraint)
    result = source.ResultPattern()

    def both(match):
        inner = match.VectorInt32Attr("inner")
        return [inner[i] for i in match.VectorInt32Attr("outer")]

    result.Op("permute", {"perm": result.ComputeAttr(both)})([result.Tensor("x")], [result.Tensor("y")])
    return context, source


def permuted_twice():
    x = paddle.static.data("x", [2, 3, 4])
    return x.transpose([2, 0, 1]).transpose([1, 2, 0])


def ran(program, y, rng, *shapes):
    feed = {n: rng.standard_normal(s).astype(np.float32) for n, s in zip("xyz", shapes, strict=False)}
    return paddle.static.Executor().run(program, feed, [y])[0], feed


def test_a_pattern_and_its_place(programs, rng):
    main, _ = programs
    y = permuted_twice()
    passes = paddle.pir.PassManager()
    passes.register_pass("permutations_pass", two_permutations()[0])
    assert passes.passes() == ["permutations_pass"]
    passes.run(main)
    assert names(main) == ["permute"]
    assert main.global_block().ops[0].attrs()["perm"] == (0, 1, 2)
    found, feed = ran(main, y, rng, (2, 3, 4))
    np.testing.assert_array_equal(found, feed["x"])


def test_in_order_printed_and_deleted(programs, rng, capsys):
    main, _ = programs
    y = permuted_twice()
    passes = paddle.pir.PassManager()
    passes.register_pass("permutations_pass", two_permutations()[0])
    passes.add_pass("identity_op_clean_pass")
    passes.add_pass("dead_code_elimination_pass")
    passes.delete_pass("dead_code_elimination_pass")
    assert passes.passes() == ["permutations_pass", "identity_op_clean_pass"]
    passes.enable_ir_printing()
    passes.enable_print_statistics()
    passes.run(main, [y])
    text = capsys.readouterr().out
    assert "; permutations_pass: 2 -> 1 operations" in text
    assert text.index("after permutations_pass") < text.index("before identity_op_clean_pass")
    passes.delete_pass("permutations_pass")
    assert passes.passes() == ["identity_op_clean_pass"]


def test_constraints_see_the_match(programs, rng):
    main, _ = programs
    permuted_twice()
    seen = []

    def never(match):
        x = match.Tensor("x")
        seen.append((x.shape, x.dtype, match.Tensor("y").shape, match.VectorInt64Attr("outer")))
        with pytest.raises(KeyError, match="one of the names outer, inner, got 'p'"):
            match.VectorInt64Attr("p")
        return False

    passes = paddle.pir.PassManager()
    passes.register_pass("permutations_pass", two_permutations(never)[0])
    passes.run(main)
    assert names(main) == ["permute", "permute"]
    assert seen == [([2, 3, 4], paddle.float32, [2, 3, 4], [1, 2, 0])]


def test_after_a_replacement(programs):
    main, _ = programs
    permuted_twice()
    context, source = two_permutations()
    seen = []
    source.AddPostProcess(lambda match: seen.append(match.VectorInt32Attr("inner")))
    passes = paddle.pir.PassManager()
    passes.register_pass("permutations_pass", context)
    passes.run(main)
    assert seen == [[2, 0, 1]]


def test_what_others_read_stays(programs, rng):
    main, _ = programs
    x = paddle.static.data("x", [2, 3, 4])
    between = x.transpose([2, 0, 1])
    y = between.transpose([1, 2, 0])
    z = F.relu(between)
    passes = paddle.pir.PassManager()
    passes.register_pass("permutations_pass", two_permutations()[0])
    passes.run(main, [y, z])
    assert names(main) == ["permute", "permute", "relu"]


def test_equal_names_are_one_value(programs, rng):
    """``a * a`` as a square, and not ``a * b``; numbers are operands, too."""
    main, _ = programs
    a, b = paddle.static.data("x", [3]), paddle.static.data("y", [3])
    y = F.relu(a * b + a * a)
    context = paddle.pir.DrrPatternContext()
    source = context.SourcePattern()
    source.Op("mul")([source.Tensor("a"), source.Tensor("a")], [source.Tensor("square")])
    result = source.ResultPattern()
    result.Op("square")([result.Tensor("a")], [result.Tensor("square")])
    passes = paddle.pir.PassManager()
    passes.register_pass("square_pass", context)
    passes.run(main, [y])
    assert names(main) == ["mul", "square", "add", "relu"]
    found, feed = ran(main, y, rng, (3,), (3,))
    np.testing.assert_allclose(found, np.maximum(feed["x"] * feed["y"] + feed["x"] ** 2, 0), rtol=1e-6)


def test_fixed_attributes_and_training(programs, rng):
    """Only sums over the last axis; gradients are those of what takes their place."""
    main, startup = programs
    x = paddle.static.data("x", [2, 3])
    w = paddle.static.create_parameter([3], "float32", name="w")
    loss = (paddle.exp(x * w).sum(1).sum(0)) * 1.0
    context = paddle.pir.DrrPatternContext()
    source = context.SourcePattern()
    source.Op("exp")([source.Tensor("a")], [source.Tensor("e")])
    total = source.Op("sum", {"axes": (1,), "keepdim": source.Attr("keepdim")})
    total([source.Tensor("e")], [source.Tensor("s")])
    result = source.ResultPattern()
    result.Op("logsumexp", {"axes": result.VectorInt32Attr([1]), "keepdim": source.Attr("keepdim")})(
        [result.Tensor("a")], [result.Tensor("l")]
    )
    result.Op("exp")([result.Tensor("l")], [result.Tensor("s")])
    passes = paddle.pir.PassManager()
    passes.register_pass("logsumexp_pass", context)
    passes.run(main)
    assert names(main) == ["mul", "logsumexp", "exp", "sum", "mul"]
    paddle.optimizer.SGD(0.5).minimize(loss)
    exe = paddle.static.Executor()
    exe.run(startup)
    held = paddle.static.global_scope().find_var("w").get_tensor()
    before = np.array(held)
    (_, feed) = ran(main, loss, rng, (2, 3))
    np.testing.assert_allclose(
        np.array(held), before - 0.5 * (feed["x"] * np.exp(feed["x"] * before)).sum(0), rtol=1e-5
    )


def test_a_function_that_is_asked(programs, rng):
    main, _ = programs
    x = paddle.static.data("x", [None, 3])
    y = F.relu(F.relu(x) / 2.0) - 1.0
    asked = []

    def rule(op):
        asked.append(op.name())
        if op.name() == "div" and op.operand_source(1) == 2.0:
            return lambda: op.operand_source(0) * 0.5
        inner = op.operand_source(0).get_defining_op() if op.name() == "relu" else None
        if inner is not None and inner.name() == "div" and op.operand_source(0).has_one_use():
            return lambda: op.operand_source(0) * 1.0  # what is not below 0 already
        return None

    passes = paddle.pir.PassManager()
    passes.register_pass("halves_pass", rule)
    passes.run(main)
    assert asked == ["relu", "div", "relu", "sub"]
    assert names(main) == ["relu", "mul", "relu", "sub"]
    found, feed = ran(main, y, rng, (4, 3))
    np.testing.assert_allclose(found, np.maximum(feed["x"], 0) * 0.5 - 1, rtol=1e-6)


def test_an_operand_in_the_place_of_a_result(programs, rng):
    main, _ = programs
    x = paddle.static.data("x", [3])
    y = F.relu(F.relu(x))

    def rule(op):
        inner = op.operand_source(0).get_defining_op()
        if op.name() == "relu" and inner is not None and inner.name() == "relu":
            return lambda: op.operand_source(0)
        return None

    passes = paddle.pir.PassManager()
    passes.register_pass("relu_pass", rule)
    passes.run(main, [y])
    assert names(main) == ["relu", "copy"]
    found, feed = ran(main, y, rng, (3,))
    np.testing.assert_array_equal(found, np.maximum(feed["x"], 0))


def test_what_fits_not_is_refused(programs):
    main, _ = programs
    F.relu(paddle.static.data("x", [3]))
    passes = paddle.pir.PassManager()
    passes.register_pass("flat_pass", lambda op: lambda: op.operand_source(0).sum())
    with pytest.raises(ValueError, match=r"\[flat_pass\] requires f32\[3\] in the place of relu, got f32\[\]"):
        passes.run(main)


def test_programs_are_verified_after_them(programs, monkeypatch):
    main, _ = programs
    permuted_twice()
    passes = paddle.pir.PassManager()
    context, _ = two_permutations()
    passes.register_pass("permutations_pass", context)
    step = passes._manager.steps[0]
    broken = step.todo._replace(run=lambda program: program.ops.__delitem__(0))
    passes._manager.steps[0] = step._replace(todo=broken)
    with pytest.raises(VerifyError, match="after permutations_pass"):
        passes.run(main)


def test_mistakes(programs):
    passes = paddle.pir.PassManager()
    with pytest.raises(TypeError, match="a DrrPatternContext or a function, got int"):
        passes.register_pass("p", 5)
    for name in ("inplace_pass", "twice_pass"):
        if name == "twice_pass":
            passes.register_pass(name, two_permutations()[0])
        with pytest.raises(ValueError, match=f"a name that no pass has, got '{name}'"):
            passes.register_pass(name, two_permutations()[0])
    context = paddle.pir.DrrPatternContext()
    with pytest.raises(ValueError, match="a source pattern and a result pattern, got no source pattern"):
        passes.register_pass("p", context)
    source = context.SourcePattern()
    with pytest.raises(ValueError, match="one source pattern for each context"):
        context.SourcePattern()
    with pytest.raises(ValueError, match="got no result pattern"):
        passes.register_pass("p", context)
    with pytest.raises(TypeError, match="tensors of a pattern, got str"):
        source.Op("relu")(["x"], [])
    source.Op("relu")([source.Tensor("x")], [source.Tensor("y")])
    result = source.ResultPattern()
    with pytest.raises(ValueError, match=r"operations that make \['y'\], got \[\]"):
        passes.register_pass("p", context)
    result.Op("relu")([result.Tensor("z")], [result.Tensor("y")])
    with pytest.raises(ValueError, match=r"values of the source or of earlier results, got \['z'\]"):
        passes.register_pass("p", context)
    source.Op("exp")([source.Tensor("x")], [source.Tensor("other")])
    with pytest.raises(ValueError, match=r"one operation whose results no other one reads, got \['relu', 'exp'\]"):
        passes.register_pass("p", context)
    source.Op("rleu")([source.Tensor("x")], [source.Tensor("third")])
    with pytest.raises(ValueError, match="the name of an op, got 'rleu'"):
        passes.register_pass("p", context)


def test_an_attribute_that_an_op_has_not(programs):
    main, _ = programs
    permuted_twice()
    context = paddle.pir.DrrPatternContext()
    source = context.SourcePattern()
    source.Op("permute", {"axis": 1})([source.Tensor("x")], [source.Tensor("y")])
    result = source.ResultPattern()
    result.Op("copy")([result.Tensor("x")], [result.Tensor("y")])
    passes = paddle.pir.PassManager()
    passes.register_pass("p", context)
    with pytest.raises(ValueError, match="attributes that permute has: perm, got 'axis'"):
        passes.run(main)
