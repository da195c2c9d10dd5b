"""Texts of nests, and the stages that the CPU's kernels dump."""

import numpy as np
import pytest

import paddle
from umiak import ops as F
from umiak.compiler.dump import collect
from umiak.compiler.loop import node
from umiak.compiler.loop.tree import Axis, Loop, Store
from umiak.compiler.loop.types import F32
from umiak.compiler.nest import Access, BodyStage, Nest, NestBuffer, position
from umiak.compiler.nest_printer import show_nest


def stages(name, call):
    """What the kernel of an op dumps when its class is planned anew."""
    for op in F.REGISTRY[name]._instances.values():
        op.clear()
    with collect() as found:
        call()
    return found


def x(shape=(2, 3)):
    return paddle.to_tensor(np.arange(np.prod(shape), dtype="float32").reshape(shape))


def test_operations_and_nest_are_dumped():
    found = stages("softmax", lambda: paddle.nn.functional.softmax(x(), 0))
    assert [line.split(" = ")[1].split("(")[0] for line in found["operations:softmax"].splitlines()[:-1]] == [
        "max", "sub", "exp", "sum", "div",
    ]  # fmt: skip
    assert found["nest:softmax"] == (
        "nest softmax\n"
        "  parallel p0 in [0, d0_1)\n"
        "  reduced r0 in [0, d0_0)\n"
        "  in x0: f32\n"
        "  out y1: f32\n"
        "  @0 = p0 + r0 * d0_1 in x0\n"
        "  @1 = p0 + r0 * d0_1 in y1\n"
        "  v0: f32 = reduce max of x0[@0]\n"
        "  v1: f32 = reduce sum of exp(x0[@0] - v0)\n"
        "  each r: y1[@1] = exp(x0[@0] - v0) / v1\n"
    )


def test_every_value_of_a_dump_has_a_number():
    text = stages("maximum", lambda: paddle.maximum(x(), x()))["operations:maximum"]
    assert text == "%2 = maximum(%0, %1) : f32[broadcast(d0_0, d1_0), broadcast(d0_1, d1_1)]\nreturn %2\n"


def test_scans():
    text = stages("cumsum", lambda: paddle.cumsum(x(), 1))["nest:cumsum"]
    assert text.endswith("  s0: f32 = scan sum of x0[@0], each r:\n    y1[@1] = s0\n")


def test_chains_failures_and_scatters():
    index = paddle.to_tensor(np.array([1, 0]))
    text = stages("put", lambda: paddle.index_add(x(), index, 0, x()))["nest:put"]
    lines = text.splitlines()
    assert lines[0] == "chain put"
    assert lines.count("  nest put") == 2
    assert "    y3[@1] = x0[@0]" in lines
    assert any(line.startswith("    fail 1 where ") for line in lines)
    assert any(line.startswith("    each r: y3[@1 + ") and " sum= x2[@2]" in line for line in lines)


def test_what_is_shared_gets_a_name():
    text = stages("square", lambda: paddle.square(paddle.exp(x())))["nest:square"]
    assert text.endswith("  t0 = x0[@0]\n  y1[@1] = t0 * t0\n")


def test_bodies():
    """Statements stand as in a kernel, with accesses in place of positions."""
    index = node.axis("s0")
    store = Store("y", node.add(position(0), index), node.const(1.0, F32))
    body = BodyStage((Loop(Axis(index, node.dim(0)), (store,)),))
    text = show_nest(Nest("k", (2,), 1, (NestBuffer("y", F32, True),), (Access("y", (3,)),), (body,), (3,)))
    assert text.endswith("  for s0 in [0, d0):\n    y[@0 + s0] = 1.0:f32\n")


def test_strange_stages_are_refused():
    with pytest.raises(TypeError, match=r"requires a stage of compiler/nest\.py, got str"):
        show_nest(Nest("k", (), 0, (), (), ("store",)))
