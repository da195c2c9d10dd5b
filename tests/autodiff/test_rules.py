"""The derivative of one call: which ops have one, and what is recorded for it."""

from __future__ import annotations

import numpy as np
import pytest
from harness import leaf, run_traced, tensor, values

from umiak import ops as F
from umiak.autodiff import graph, rules
from umiak.autodiff.graph import pullback
from umiak.core import dtype as dt
from umiak.core import tape
from umiak.ir.meta import Meta
from umiak.ir.tracer import Tracer
from umiak.ops.base import Op


class Same(Op):
    """Ops of these tests: not in the registry."""

    inputs = ("x", "y")

    def infer(self, x, y):
        return Meta(x.shape, x.dtype)


class Written(Same):
    def vjp(self, s, g):
        return F.mul(g, s.inputs[1]), F.mul(g, s.inputs[0])


class Short(Same):
    def vjp(self, s, g):
        return (g,)


class Residual(Same):
    """What its gradient reads is made by the forward call beside the result."""

    def forward_train(self, needs, x, y):
        return F.mul(x, y), (F.exp(x),)

    def vjp(self, s, g):
        return F.mul(g, s.residuals[0]), F.mul(g, s.inputs[0])


class Single(Op):
    inputs = ("x",)

    def infer(self, x):
        return Meta(x.shape, x.dtype)

    def vjp(self, s, g):
        return F.mul(g, 2.0)  # of one operand: no tuple


class Composite(Same):
    def decompose(self, x, y):
        return F.mul(F.softmax(x, axis=1), y)


class Refused(Composite):
    vjp = None


class Heir(Refused):
    """No gradient, as the family says."""


class Again(Refused):
    """A member of the family that has one after all."""

    def vjp(self, s, g):
        return g, g


class Bare(Same):
    """A primitive of which nothing is said."""


@pytest.mark.parametrize(
    ("cls", "has", "none", "differentiable"),
    [
        (Written, True, False, True),
        (Composite, False, False, True),
        (Refused, False, True, False),
        (Heir, False, True, False),
        (Again, True, False, True),
        (Bare, False, False, False),
    ],
)
def test_who_has_a_derivative(cls, has, none, differentiable):
    op = cls()
    assert (rules.has_vjp(op), op.declares_none, rules.differentiable(op)) == (has, none, differentiable)


def recorded(op, needs=(True, True), expand=None):
    """Names of what the derivative of a call records, and which gradients it gives."""
    with Tracer(expand=expand) as tracer:
        inputs = tuple(tracer.input(Meta((3, 4), dt.float64)) for _ in op.inputs)
        g = tracer.input(Meta((3, 4), dt.float64))
        made = graph.vjp(op, inputs, (inputs[0],), None, (), (g,), needs)
        assert tracer.expand is expand
        return [o.name for o in tracer.operations], [x is not None for x in made]


@pytest.mark.parametrize("needs", [(True, True), (True, False), (False, True), (False, False)])
@pytest.mark.parametrize("cls", [Written, Composite, Again])
def test_only_what_is_needed_is_given(cls, needs):
    assert recorded(cls(), needs)[1] == list(needs)


def test_what_has_none_gives_none():
    assert recorded(Refused()) == ([], [False, False])
    assert recorded(Bare()) == ([], [False, False])


def test_residuals_that_were_not_kept_are_made_again():
    names, given = recorded(Residual())
    assert given == [True, True] and names == ["mul", "exp", "mul", "mul"]


def test_a_program_with_an_op_of_which_nothing_is_said_is_refused():
    """With the operation, and what stands around it."""
    with Tracer() as tracer:
        x = tracer.input(Meta((3, 4), dt.float64), stop_gradient=False)
        y = tracer.record(Bare(), (F.mul(x, 2.0), x), ())
        g = tracer.input(Meta((3, 4), dt.float64))
        with pytest.raises(TypeError, match=r"(?s)^\[bare\] declares neither vjp nor decompose, in\n.*mul.*bare"):
            pullback(tracer, list(tracer.operations), [(y.value, g.value)], [x.value])


def test_one_gradient_needs_no_tuple():
    assert recorded(Single(), (True,)) == (["mul"], [True])


def test_a_gradient_for_each_operand_is_required():
    with pytest.raises(RuntimeError, match=r"^\[short\] requires one gradient per operand \(2\), got 1 from its vjp$"):
        recorded(Short())


def test_derivatives_that_are_written_come_before_those_of_parts():
    """A program that expands composites still differentiates softmax as a whole; what has no vjp is expanded."""
    asked = []

    def expand(op):
        asked.append(op.name)
        return op.decompose is not None

    names, given = recorded(Composite(), expand=expand)
    assert given == [True, True]
    assert "softmax" in asked
    assert names.count("softmax") == 1, names  # its forward call, which the vjp reads
    assert "exp" not in names, names


def test_an_error_inside_leaves_the_tracer_as_it_was():
    class Broken(Same):
        def decompose(self, x, y):
            raise ValueError("broken")

    def expand(op):
        return False

    with Tracer(expand=expand) as tracer:
        x = tracer.input(Meta((3,), dt.float64))
        with pytest.raises(ValueError, match="broken"):
            graph.vjp(Broken(), (x, x), (x,), None, (), (x,), (True, True))
        assert tracer.expand is expand


@pytest.mark.parametrize("same", [False, True], ids=["two values", "one value"])
def test_a_decomposition_is_differentiated_as_the_tape_does(same, rng):
    """Both operands may be one value, whose gradient is given once."""
    a = rng.standard_normal((3, 4))
    b = a if same else rng.standard_normal((3, 4))
    seed = rng.standard_normal((3, 4))

    def program(x, y, g):
        if same:
            y = x
        return graph.vjp(Composite(), (x, y), (x,), None, (), (g,), (True, True))

    found = run_traced(program, tensor(a), tensor(b), tensor(seed))
    x = leaf(a)
    y = x if same else leaf(b)
    wanted = tape.grad([F.mul(F.softmax(x, axis=1), y)], [x] if same else [x, y], [tensor(seed)])
    given = [values(t) for t in found if t is not None]
    assert len(given) == len(wanted)
    for one, other in zip(given, wanted):
        np.testing.assert_allclose(one, values(other), rtol=1e-12)
