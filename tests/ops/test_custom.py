"""Ops that users bring: what is called with what, and their gradients."""

from __future__ import annotations

import numpy as np
import pytest
from harness import leaf, tensor, values

from umiak import ops as F
from umiak.core import dtype as dt
from umiak.core import tape
from umiak.ir.meta import Meta
from umiak.ops import custom


@pytest.fixture
def targets(monkeypatch):
    monkeypatch.setattr(custom, "TARGETS", dict(custom.TARGETS))
    custom.register_target(
        "product of a test", lambda x, y: x, lambda x, y: x * y, lambda s, g: (F.mul(g, s.inputs[1]), None)
    )
    custom.register_target("slopes of a test", lambda x, y, *_: (x, y), lambda x, y, out, g: (g * y, g * x))
    custom.register_target("slope of a test", lambda x, *_: x, lambda x, out, g: 2 * g * x)
    custom.register_target("named product of a test", lambda x, y: x, lambda x, y: x * y, "slopes of a test")
    custom.register_target("named square of a test", lambda x: x, lambda x: x * x, "slope of a test")
    custom.register_target("flat of a test", lambda x: x, lambda x: x)


def test_a_target_is_what_it_was_registered_as(targets):
    def infer(x):
        return x

    def forward(x):
        return x

    made = custom.register_target("record of a test", infer, forward, "slope of a test")
    assert made is custom.TARGETS["record of a test"]
    assert (made.name, made.infer, made.forward, made.gradient) == (
        "record of a test", infer, forward, "slope of a test",
    )  # fmt: skip
    with pytest.raises(ValueError, match="'record of a test' is registered twice"):
        custom.register_target("record of a test", infer, forward)


@pytest.mark.parametrize("named", [False, True], ids=["of ops", "of another target"])
def test_gradients_of_two_operands(targets, named):
    x, y = leaf([1.0, 2.0]), leaf([3.0, 5.0])
    out = F.custom_call([x, y], target="named product of a test" if named else "product of a test")
    np.testing.assert_array_equal(values(out), [3.0, 10.0])
    dx, dy = tape.grad([out], [x, y], [tensor([1.0, 10.0])], allow_unused=True)
    np.testing.assert_array_equal(values(dx), [3.0, 50.0])
    if named:
        np.testing.assert_array_equal(values(dy), [1.0, 20.0])
    else:
        assert dy is None


def test_a_target_of_one_gradient(targets):
    x = leaf([1.0, 2.0])
    (dx,) = tape.grad([F.custom_call([x], target="named square of a test")], [x], [tensor([1.0, 10.0])])
    np.testing.assert_array_equal(values(dx), [2.0, 40.0])


def test_a_target_without_gradient(targets):
    assert F.custom_call([leaf([1.0])], target="flat of a test").stop_gradient


def test_unknown_targets_and_wrong_counts_are_refused(targets):
    with pytest.raises(
        KeyError, match=r"\[custom_call\] requires a target that was registered, got 'nothing of a test'"
    ):
        F.custom_call([tensor([1.0])], target="nothing of a test")
    with pytest.raises(ValueError, match=r"^\[custom_call\] requires 2 results from target 'copy', got 1"):
        F.custom_call([tensor([1.0])], target="copy", outputs=2)


def test_the_configuration_goes_to_all_functions(targets):
    seen = []
    custom.register_target("scaled of a test", lambda x, by: (x,), lambda x, by: x * by, "scale of a test")
    custom.register_target("scale of a test", lambda x, out, g, by: x, lambda x, out, g, by: seen.append(by) or g * by)
    x = leaf([1.0, 2.0])
    out = F.custom_call([x], target="scaled of a test", config=(("by", 3.0),))
    np.testing.assert_array_equal(values(out), [3.0, 6.0])
    (dx,) = tape.grad([out], [x], [tensor([1.0, 10.0])])
    np.testing.assert_array_equal(values(dx), [3.0, 30.0])
    assert seen == [3.0]


def test_nothing_is_known_of_shards(targets):
    """Every operand and result is replicated."""
    x, y = Meta((2, 3), dt.float64), Meta((), dt.float64)
    call = F.REGISTRY["custom_call"]
    left, _, right = call("product of a test").shard(x, y).partition("->")
    assert [part.split() for part in left.split(",")] == [["x0a", "x0b"], []]
    result, _, how = right.partition(";")
    assert result.split() == ["1", "1"]
    assert how.split() == ["x0a=replicated", "x0b=replicated"]
    two = call("slopes of a test", 2).shard(x, y)
    assert [part.split() for part in two.partition("->")[2].partition(";")[0].split(",")] == [["1", "1"], []]
