"""Tracing gives the program that means what the function does, writes through aliases included."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from interpret import run

from umiak import ops as F
from umiak.core import context, inplace
from umiak.core.array import from_numpy, to_numpy
from umiak.core.dtype import convert
from umiak.core.tensor import Tensor
from umiak.ir import passes
from umiak.ir import sym as dim
from umiak.ir.expr import DimError, Sym
from umiak.ir.meta import Meta
from umiak.ir.parser import parse
from umiak.ir.program import Program
from umiak.ir.scope import Scope
from umiak.ir.tracer import Tracer, trace
from umiak.ir.verifier import verify

F32 = convert("float32")


def tensor(*shape: int, seed: int = 0) -> Tensor:
    return from_numpy(np.random.default_rng(seed).standard_normal(shape).astype(np.float32))


def capture(function: Callable[..., Any], *examples: Tensor, hinted: bool = True) -> Program:
    with Tracer() as tracer:
        if hinted:
            inputs = [tracer.example(x) for x in examples]
        else:
            inputs = [tracer.input(Meta(tuple(tracer.scope.size() for _ in x.shape), x.dtype)) for x in examples]
        for x in inputs:
            x.stop_gradient = True
        found = function(*inputs)
        program = tracer.finish(found if isinstance(found, tuple) else (found,))
    verify(program)
    assert parse(repr(program)).same_as(program)
    return program


def check(function: Callable[..., Any], *examples: Tensor, hinted: bool = True) -> Program:
    """The traced function and the plain one leave equal results and equal arguments."""
    program = capture(function, *examples, hinted=hinted)
    traced = [from_numpy(to_numpy(x)) for x in examples]
    plain = [from_numpy(to_numpy(x)) for x in examples]
    made = run(program, traced)
    found = function(*plain)
    for a, b in zip([*made, *traced], [*(found if isinstance(found, tuple) else (found,)), *plain]):
        np.testing.assert_array_equal(to_numpy(a), to_numpy(b))
    tidied = passes.tidy(program.copy())
    verify(tidied)
    return program


def row(x: Any, i: int) -> Any:
    return F.squeeze(F.slice(x, axes=(0,), starts=(i,), sizes=(1,), steps=(1,)), axes=(0,))


def test_a_function_becomes_its_operations() -> None:
    program = check(lambda x, y: F.mul(F.add(x, y), 2.0), tensor(3, 4), tensor(4))
    assert [o.name for o in program.ops] == ["add", "mul"]
    assert [str(s) for s in program.symbols] == ["s0", "s1", "s2"]
    assert [str(g) for g in program.guards] == ["s1 == s2"]


def test_one_trace_serves_other_sizes() -> None:
    program = capture(lambda x: F.mul(x, F.exp(x)), tensor(3, 4))
    x = tensor(5, 2)
    (y,) = run(program, [x])
    np.testing.assert_allclose(to_numpy(y), to_numpy(x) * np.exp(to_numpy(x)), rtol=1e-6)


def test_sizes_are_values() -> None:
    def function(x: Any) -> Any:
        n = x.shape[0]
        return F.mul(F.reshape(x, shape=(n * x.shape[1],)), n + 1)

    program = check(function, tensor(3, 4))
    assert "s0*s1" in repr(program) and "s0 + 1" in repr(program)
    check(function, tensor(3, 4), hinted=False)


def test_calls_without_symbolic_operands_are_recorded() -> None:
    w = tensor(4)
    program = capture(lambda x: F.add(x, F.mul(w, 2.0)), tensor(3, 4))
    assert [o.name for o in program.ops] == ["mul", "add"] and list(program.captured.values()) == [w]
    assert capture(lambda x: F.add(x, F.full(1.0, shape=(2,), dtype=F32)), tensor(2)).ops[0].name == "full"
    assert context.current().observers == 0 and not context.current().trace


def test_captured_tensors_are_read_anew() -> None:
    w = tensor(4)
    program = capture(lambda x: F.add(x, w), tensor(3, 4))
    x = tensor(3, 4)
    (a,) = run(program, [x])
    inplace.assign(w, F.add(w, 1.0))
    (b,) = run(program, [x])
    np.testing.assert_allclose(to_numpy(b), to_numpy(a) + 1, rtol=1e-6)


# --- writes


def test_a_write_to_an_input_is_one_effect() -> None:
    def function(x: Any) -> Any:
        inplace.assign(x, F.add(x, 1.0))
        inplace.assign(x, F.mul(x, 2.0))
        return F.neg(x)

    program = check(function, tensor(3))
    assert len(program.effects) == 1


def test_a_write_through_a_view_reaches_its_base_and_the_other_views() -> None:
    def function(x: Any) -> Any:
        y = F.mul(x, 1.0)
        first, transposed, nested = row(y, 0), F.permute(y, perm=(1, 0)), row(F.permute(y, perm=(1, 0)), 1)
        inplace.assign(first, F.full(5.0, shape=(4,), dtype=F32))
        before = F.add(nested, 0.0)
        inplace.assign(nested, F.full(7.0, shape=(3,), dtype=F32))
        return y, first, transposed, nested, before

    program = check(function, tensor(3, 4))
    assert not program.effects and [o.name for o in program.ops].count("scatter_view") == 5


def test_a_write_through_a_view_of_an_input() -> None:
    def function(x: Any) -> Any:
        inplace.assign(row(x, 1), F.full(0.0, shape=(4,), dtype=F32))
        return F.mul(x, 3.0)

    program = check(lambda x, y: F.add(function(x), y), tensor(3, 4), tensor(3, 4))
    assert len(program.effects) == 1
    assert program.disjoint() == [(0, 1)]


def test_a_reshape_that_copies_is_no_alias() -> None:
    def function(x: Any) -> Any:
        y = F.mul(x, 1.0)
        copied = F.reshape(F.permute(y, perm=(1, 0)), shape=(12,))
        shared = F.reshape(y, shape=(12,))
        inplace.assign(copied, F.full(1.0, shape=(12,), dtype=F32))
        first = F.add(y, 0.0)
        inplace.assign(shared, F.full(2.0, shape=(12,), dtype=F32))
        return first, y, copied

    program = capture(lambda x: function(x), tensor(3, 4))
    x = tensor(3, 4)
    first, y, copied = run(program, [x])
    np.testing.assert_array_equal(to_numpy(first), to_numpy(x))
    assert (to_numpy(y) == 2).all() and (to_numpy(copied) == 1).all()


def test_writes_to_captured_tensors() -> None:
    held = tensor(3)
    start = to_numpy(held).copy()

    def function(x: Any) -> Any:
        inplace.assign(held, F.add(held, x))
        return F.mul(held, 2.0)

    program = capture(function, tensor(3))
    np.testing.assert_array_equal(to_numpy(held), start)
    x = tensor(3, seed=1)
    (y,) = run(program, [x])
    np.testing.assert_array_equal(to_numpy(held), start + to_numpy(x))
    np.testing.assert_array_equal(to_numpy(y), 2 * (start + to_numpy(x)))


@pytest.mark.parametrize("seed", range(25))
def test_random_views_and_writes(seed: int) -> None:
    """Any chain of views, reads and writes leaves what the plain run leaves."""

    def function(x: Any) -> Any:
        rng = random.Random(seed)
        y = F.mul(x, 1.0)
        known, read = [y, x], []
        for _ in range(10):
            base = rng.choice(known)
            kind = rng.randrange(4)
            if kind == 0 and base.ndim:
                axis = rng.randrange(base.ndim)
                size = base.shape[axis]
                # Halves of sizes that are powers of two, so that every slice is inside.
                start, step = rng.choice([(0, 1), (1, 1), (0, 2)])
                if not isinstance(size, int) or size >= 4:
                    args = {"starts": (start,), "sizes": (2,), "steps": (step,)}
                    known.append(F.slice(base, axes=(axis,), **args))
            elif kind == 1 and base.ndim == 2:
                known.append(F.permute(base, perm=(1, 0)))
            elif kind == 2 and base.ndim < 3:
                known.append(F.unsqueeze(base, axes=(rng.randrange(base.ndim + 1),)))
            else:
                inplace.assign(base, F.add(F.mul(base, 0.5), float(rng.randrange(9))))
            read.append(F.mul(rng.choice(known), 1.0))
        return (*read, *known)

    check(function, tensor(4, 4))


def test_detached_tensors_remain_aliases() -> None:
    def function(x: Any) -> Any:
        y = F.mul(x, 2.0)
        d = y.detach()
        inplace.assign(d, F.full(1.0, shape=(3,), dtype=F32))
        return y, d

    program = check(function, tensor(3))
    assert any(r.stop for o in program.ops for r in o.results)


# --- what is refused


def test_data_are_not_known() -> None:
    with Tracer() as tracer:
        x = tracer.input(Meta((3,), F32))
        for read in (bool, float, int, lambda t: t.item(), lambda t: t.numpy(), lambda t: np.asarray(t)):
            with pytest.raises(TypeError, match="not known while the program is traced"):
                read(x)


def test_tensors_stay_in_their_trace() -> None:
    with Tracer() as outer:
        x = outer.input(Meta((3,), F32))
        with Tracer(), pytest.raises(RuntimeError, match="another trace"):
            F.neg(x)
    with pytest.raises(RuntimeError, match="outside of its trace"):
        F.neg(x)


def test_a_leaf_that_needs_a_gradient_is_not_written() -> None:
    with Tracer() as tracer:
        x = tracer.input(Meta((3,), F32))
        with pytest.raises(RuntimeError, match="no leaf"):
            inplace.assign(x, F.neg(x))
        rows = F.broadcast_to(x, shape=(2, 3))
        with pytest.raises(RuntimeError, match="through a view"):  # what is written appears in the other row as well
            inplace.assign(F.slice(rows, axes=(0,), starts=(0,), sizes=(1,), steps=(1,)), F.reshape(x, shape=(1, 3)))
        with context.no_grad_guard():
            inplace.assign(x, F.neg(x))
        with pytest.raises(ValueError, match="requires a value"):
            inplace.assign(F.neg(x), F.full(0.0, shape=(2, 2), dtype=F32))
        with pytest.raises(DimError, match="requires a value"):
            inplace.assign(F.neg(x), F.full(0.0, shape=(2,), dtype=F32))


def test_overlapping_captured_tensors_are_refused_when_written() -> None:
    base = tensor(4)
    part = F.slice(base, axes=(0,), starts=(0,), sizes=(2,), steps=(1,))

    def function(x: Any) -> Any:
        inplace.assign(base, F.add(base, x))
        return F.add(part, 1.0)

    with pytest.raises(RuntimeError, match="over one storage"):
        capture(function, tensor(4))
    rest = F.slice(base, axes=(0,), starts=(2,), sizes=(2,), steps=(1,))

    def separate(x: Any) -> Any:
        inplace.assign(rest, F.add(rest, x))
        return F.add(part, 1.0)

    capture(separate, tensor(2))


def test_wrong_sizes_are_refused_or_checked() -> None:
    with pytest.raises(ValueError, match="broadcast"):
        capture(F.add, tensor(3), tensor(4))
    scope = Scope()
    program = trace(F.add, [Meta((scope.size(),), F32) for _ in range(2)], scope)
    assert len(program.checks) == 1
    with pytest.raises(DimError, match="broadcast"):
        dim.linearise([], scope.symbols, program.checks).run([3, 4])


def test_numbers_that_the_caller_passes() -> None:
    with Tracer() as tracer:
        x, rate = tracer.input(Meta((3,), F32)), tracer.number("float", name="rate")
        program = tracer.finish([F.mul(x, rate * 2)])
    assert type(program.ops[0].operands[1]) is Sym
    x = tensor(3)
    (y,) = run(program, [x], {program.symbols[0]: 0.25})
    np.testing.assert_array_equal(to_numpy(y), to_numpy(x) * np.float32(0.5))
