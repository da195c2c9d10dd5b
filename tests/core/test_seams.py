"""The seams of the design, one by one: places where a shortcut would force a rewrite later."""

from __future__ import annotations

import ctypes
import math
import os
import subprocess
import sys
import textwrap

import numpy as np
import pytest
from harness import (
    CPU,
    NULL,
    backward,
    count_plans,
    grad_of,
    leaf,
    python_calls,
    run_threads,
    run_traced,
    tensor,
    values,
)

from umiak import ops as F
from umiak.backends.cpu import launcher
from umiak.compiler.loop import interpreter
from umiak.compiler.loop.monoid import SUM
from umiak.compiler.loop.node import add, axis, call, dim, load, mul, var
from umiak.compiler.loop.printer import show_kernel
from umiak.compiler.loop.tree import IN, LANE, OUT, Axis, Buffer, Kernel, Loop, Reduce, Store
from umiak.compiler.loop.types import F32
from umiak.compiler.loop.verifier import verify as verify_kernel
from umiak.compiler.render import llvm, opencl, ptx
from umiak.compiler.render.target import AVX2, AVX512, NEON
from umiak.core import array, context, eager, inplace, storage, stream, tape
from umiak.core import dtype as dt
from umiak.core.generator import Generator, default_generator, seed_all
from umiak.core.place import Place
from umiak.core.tensor import KIND_SELECTED_ROWS, Tensor, empty
from umiak.ir import passes
from umiak.ir import sym as sizes
from umiak.ir.meta import Meta
from umiak.ir.parser import parse
from umiak.ir.printer import show
from umiak.ir.scope import Scope
from umiak.ir.tracer import Tracer
from umiak.ir.verifier import verify as verify_program
from umiak.runtime import parallel
from umiak.runtime.executor import Executor
from umiak.runtime.observe import observe


def total(x):
    return F.sum(x, axes=tuple(range(x.ndim)))


def rows(x, start, size):
    return F.slice(x, axes=(0,), starts=(start,), sizes=(size,), steps=(1,))


RESIDENT, OFFLOADED, FREED = range(3)


# --- seam 1: addresses move ------------------------------------------------------------------------------------------


def move(*tensors: Tensor) -> None:
    """Give the tensors' storages another address."""
    for t in tensors:
        before = t.storage.data_ptr()
        t.storage.relocate()
        assert t.storage.data_ptr() != before


def test_seam_1_tensors_move_under_plans_views_and_numbers(rng):
    a = rng.standard_normal((64, 5))
    x = tensor(a)
    y = F.exp(x)
    view = F.permute(rows(x, 3, 7), perm=(1, 0))
    generation = x.storage.generation
    move(x, y)
    assert x.storage.generation == generation + 1
    np.testing.assert_allclose(values(F.exp(x)), np.exp(a), rtol=1e-15)
    np.testing.assert_array_equal(values(view), a[3:10].T)
    np.testing.assert_allclose(values(y), np.exp(a), rtol=1e-15)
    inplace.assign(view, F.mul(view, 2.0))
    np.testing.assert_array_equal(values(x)[3:10], 2 * a[3:10])


def test_seam_1_saved_tensors_move_before_backward(rng):
    a, b = rng.standard_normal((20, 6)), rng.standard_normal((6, 4))
    x, w = leaf(a), leaf(b)
    hidden = F.matmul(x, w)
    y = F.softmax(hidden, axis=1)
    z = total(F.mul(y, y))
    expected = tape.grad([z], [x, w], retain_graph=True)
    move(x, w, hidden, y)
    backward(z)
    np.testing.assert_array_equal(grad_of(x), values(expected[0]))
    np.testing.assert_array_equal(grad_of(w), values(expected[1]))


def test_seam_1_memory_moves_between_the_steps_of_a_backward():
    """A hook moves everything in the middle of a run."""
    x = leaf(np.arange(1.0, 65.0))
    y = F.mul(x, x)
    z = F.mul(y, y)
    z.register_hook(lambda g: move(x, y, z))
    backward(total(z))
    np.testing.assert_allclose(grad_of(x), 4 * np.arange(1.0, 65.0) ** 3)


@pytest.mark.usefixtures("no_garbage")
def test_seam_1_offloaded_memory_returns_by_itself(rng):
    a = rng.standard_normal((30, 5))
    x = leaf(a)
    y = F.exp(x)
    z = total(y)
    allocated = storage.allocator(CPU.index).stats()["allocated"]
    y.storage.offload()
    x.storage.offload()
    assert y.storage.state == OFFLOADED
    assert storage.allocator(CPU.index).stats()["allocated"] < allocated
    backward(z)
    assert y.storage.state == RESIDENT
    np.testing.assert_allclose(grad_of(x), np.exp(a))
    np.testing.assert_array_equal(values(F.add(x, 1.0)), a + 1)


def test_seam_1_native_kernels_find_offloaded_memory():
    """The launch path reads addresses itself: what is offloaded must come back before."""
    x, out = empty((16, 16), dt.float32, NULL), empty((16, 16), dt.float32, NULL)
    F.exp(x)
    stream.synchronize(NULL.index)
    for t in (x, out):
        t.storage.offload()
    F.exp(x)
    assert x.storage.state == RESIDENT
    inplace.apply_into(F.REGISTRY["exp"](), (out,), (x,))
    assert out.storage.state == RESIDENT
    stream.synchronize(NULL.index)


@pytest.mark.parametrize("place", [CPU, NULL], ids=str)
def test_seam_1_freed_memory_is_not_used(place):
    x = empty((16, 16), dt.float32, place)
    F.exp(x)
    stream.synchronize(place.index)
    x.storage.free()
    assert x.storage.state == FREED
    with pytest.raises(RuntimeError, match="freed"):
        F.exp(x)
    with pytest.raises(RuntimeError, match="freed"):
        inplace.apply_into(F.REGISTRY["exp"](), (x,), (empty((16, 16), dt.float32, place),))


def test_seam_1_exported_memory_stays():
    x = tensor(np.arange(64.0))
    exported = array.to_numpy(x)
    assert x.storage.pinned
    for act in (x.storage.relocate, x.storage.offload, x.storage.free):
        with pytest.raises(RuntimeError, match="requires a storage whose address is not in use, got one with 1 pins"):
            act()
    part = exported[3:5]
    del exported
    assert x.storage.pinned
    del part
    assert not x.storage.pinned
    move(x)


def test_seam_1_freeing_waits_for_streams():
    """On null: memory that a stream may still use is not given out again before the stream is done."""
    place = Place("null", 3)
    side = stream.new_stream(place.index)
    ctx = context.current()
    x = empty((4096,), dt.float32, place)
    before = ctx.set_stream(place, side.id)
    try:
        y = F.exp(x)
    finally:
        ctx.set_stream(place, before)
    assert x.storage.later_streams == (side.id,)
    assert y.storage.stream == side.id
    address = x.storage.data_ptr()
    assert not side.query()
    del x
    a = storage.allocator(place.index)
    assert a.stats()["pending"] > 0
    others = [empty((4096,), dt.float32, place) for _ in range(8)]
    assert address not in [t.storage.data_ptr() for t in others]
    stream.synchronize(place.index)
    del others
    again = [empty((4096,), dt.float32, place) for _ in range(64)]
    assert address in [t.storage.data_ptr() for t in again]
    assert a.stats()["pending"] == 0


def test_seam_1_memory_of_the_same_stream_is_reused_at_once():
    place = Place("null", 4)
    x = empty((4096,), dt.float32, place)
    F.exp(x)
    address = x.storage.data_ptr()
    del x
    assert not stream.stream(place.index).query()
    assert empty((4096,), dt.float32, place).storage.data_ptr() == address


def test_seam_1_saved_tensors_are_marked_for_the_stream_of_backward():
    place = Place("null", 5)
    side = stream.new_stream(place.index)
    x = empty((64,), dt.float32, place)
    x.stop_gradient = False
    y = F.mul(x, x)
    z = F.mul(y, y)
    ctx = context.current()
    before = ctx.set_stream(place, side.id)
    try:
        tape.backward([z])
    finally:
        ctx.set_stream(place, before)
    assert side.id in y.storage.later_streams
    assert side.id in x.storage.later_streams


def test_seam_1_moving_waits_for_streams():
    place = Place("null", 6)
    x = empty((64,), dt.float32, place)
    F.exp(x)
    for act in (x.storage.relocate, x.storage.offload):
        with pytest.raises(RuntimeError, match="no stream is using"):
            act()
    stream.stream(place.index).advance(1)
    x.storage.relocate()


# --- seam 2: versions and views --------------------------------------------------------------------------------------


def test_seam_2_writes_through_aliases_reach_base_and_other_views():
    """See test_views.py for the cases."""
    x = leaf(np.ones((2, 3)))
    y = F.mul(x, 2.0)
    row, column = rows(y, 0, 1), F.slice(y, axes=(1,), starts=(0,), sizes=(1,), steps=(1,))
    inplace.assign(row, F.mul(row, 10.0))
    assert y.grad_fn.name == "scatter_view" and row.inplace_version == column.inplace_version == 1
    backward(total(column))
    np.testing.assert_array_equal(grad_of(x), [[20, 0, 0], [2, 0, 0]])


# --- seam 3: run-time numbers are not identity -----------------------------------------------------------------------


@pytest.mark.parametrize(
    "call",
    [
        lambda x, i: F.add(x, i * 0.5),
        lambda x, i: F.pow(x, i * 1e-3),
        lambda x, i: F.leaky_relu(x, i * 1e-4),
        lambda x, i: F.slice(x, axes=(0,), starts=(i % 50,), sizes=(1 + i % 10,), steps=(1,)),
        lambda x, i: F.dropout(x, p=0.3, seed=i, offset=4 * i),
        lambda x, i: F.full(i * 0.25, dtype=dt.float32, shape=(3,)),
        lambda x, i: F.hardtanh(x, -i * 0.1, i * 0.1),
        lambda x, i: F.roll(x, axes=(0,), shifts=(i,)),
        lambda x, i: F.iota(i, 1, dtype=dt.int64, size=5),
    ],
    ids=["number", "exponent", "slope", "bounds", "seed", "value", "clip", "shift", "start"],
)
@pytest.mark.parametrize("grad", [False, True], ids=["plain", "recorded"])
def test_seam_3_ten_thousand_numbers_cost_no_plan(call, grad):
    x = empty((64,), dt.float32, NULL)
    x.stop_gradient = not grad
    state = context.current().state
    state.place, before = NULL, state.place
    try:
        call(x, 1)
        sizes = {name: sum(op.table_size() for op in cls._instances.values()) for name, cls in F.REGISTRY.items()}
        records = {name: len(cls._instances) for name, cls in F.REGISTRY.items()}
        with count_plans() as counts:
            for i in range(2, 10_002):
                call(x, i)
        assert not counts
        assert sizes == {n: sum(op.table_size() for op in c._instances.values()) for n, c in F.REGISTRY.items()}
        assert records == {name: len(cls._instances) for name, cls in F.REGISTRY.items()}
    finally:
        state.place = before


def test_seam_3_numbers_are_no_identity_of_gradients():
    """The gradient's numbers are read per call as well."""
    for factor in (2.0, 3.0, -0.5):
        x = leaf([1.0, -1.0])
        backward(F.leaky_relu(F.mul(x, factor), 0.1 * factor))
        np.testing.assert_allclose(grad_of(x), np.where(np.array([factor, -factor]) > 0, factor, 0.1 * factor * factor))


# --- seam 4: dispatch by class ---------------------------------------------------------------------------------------


def train_step(x, w, b, target):
    y = F.linear(x, w, b)
    y = F.layer_norm(y, None, None, 1)
    y = F.sub(F.gelu(y), target)
    tape.backward([F.mean(F.mul(y, y), axes=(0, 1))])


def test_seam_4_a_step_of_another_batch_compiles_nothing():
    w, b = leaf(np.ones((5, 6)), "f4", NULL), leaf(np.ones(6), "f4", NULL)

    def step(n):
        train_step(empty((n, 5), dt.float32, NULL), w, b, empty((n, 6), dt.float32, NULL))

    step(4)
    step(4)
    with count_plans() as counts:
        for n in (1, 2, 3, 7, 128, 0):
            step(n)
    assert not counts


def test_seam_4_a_step_runs_in_c():
    w, b = leaf(np.ones((5, 6)), "f4", NULL), leaf(np.ones(6), "f4", NULL)
    x, target = empty((4, 5), dt.float32, NULL), empty((4, 6), dt.float32, NULL)
    linear, gelu, sub, mul, summed, apply = (
        F.REGISTRY["linear"](), F.REGISTRY["gelu"](), F.REGISTRY["sub"](), F.REGISTRY["mul"](),
        F.REGISTRY["sum"]((0, 1)), eager.apply,
    )  # fmt: skip

    def step():
        y = apply(sub, (apply(gelu, (apply(linear, (x, w, b)),)), target))
        tape.backward([apply(summed, (apply(mul, (y, y)),))])

    step()
    step()
    with count_plans() as counts:
        assert python_calls(step) == []
    assert not counts


# --- seam 5: kinds and modes -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", [KIND_SELECTED_ROWS, 16])
def test_seam_5_kinds_without_a_path_are_refused(kind):
    x = tensor([1.0])
    x._kind = kind
    with pytest.raises(TypeError, match=r"^\[exp\] requires dense tensors"):
        F.exp(x)
    with pytest.raises(TypeError, match="requires dense tensors"):
        x + x
    with pytest.raises(TypeError, match="requires dense tensors"):
        inplace.apply_into(F.REGISTRY["exp"](), (x,), (tensor([1.0]),))
    with pytest.raises(TypeError, match="requires dense tensors"):
        inplace.assign(x, tensor([1.0]))


def test_seam_5_symbolic_operands_are_recorded():
    with Tracer() as tracer:
        x = tracer.input(Meta((3,), dt.float32))
        y = F.exp(F.add(x, 2.5))
        assert y.shape == [3]
        assert [o.name for o in tracer.operations] == ["add", "exp"]


def test_seam_5_observer_modes_take_the_python_path():
    seen = []
    x = leaf([2.0])
    with observe(lambda op, operands, params, results: seen.append(op.name)):
        y = F.mul(F.exp(x), 3.0)
        x * x
    F.exp(x)
    assert seen == ["exp", "mul", "mul"]
    (g,) = tape.grad([y], [x])
    np.testing.assert_allclose(values(g), 3 * np.exp([2.0]))


class Ask(Tensor):
    """A subclass that answers for calls on it."""

    calls: list = []

    @classmethod
    def __umiak_dispatch__(cls, op, operands, params):
        cls.calls.append(op.name)
        return "answer"


def test_seam_5_subclasses_may_answer_for_calls():
    x = Ask()
    x._kind = 32
    Ask.calls.clear()
    assert F.exp(x) == "answer"
    assert F.add(tensor([1.0]), x) == "answer"
    assert Ask.calls == ["exp", "add"]


def test_seam_5_modes_are_part_of_the_key():
    op = F.REGISTRY["matmul"](False, False)
    op.clear()
    ctx, x = context.current(), tensor(np.ones((2, 2), "f4"))
    F.matmul(x, x)
    assert op.table_size() == 1
    ctx.set_amp(1, dt.bfloat16.id)
    try:
        assert F.matmul(x, x).dtype is dt.bfloat16
    finally:
        ctx.set_amp(0, 0)
    assert op.table_size() > 1
    assert F.matmul(x, x).dtype is dt.float32


# --- seam 6: one context (see test_context.py) -----------------------------------------------------------------------


def test_seam_6_a_virtual_rank_is_a_context():
    rank = context.new_rank(5)
    mine = rank.activate()
    try:
        seed_all(1)
        assert context.current().state.rank == 5
        assert default_generator(CPU).initial_seed() == 1
    finally:
        mine.activate()
    assert context.current() is mine


# --- seam 7: residuals -----------------------------------------------------------------------------------------------


def held_bytes(call, place=NULL):
    """Memory that the graph of a call keeps beyond its operands and result."""
    a = storage.allocator(place.index)
    call()
    stream.synchronize(place.index)
    before = a.stats()["requested"]
    result = call()
    first = result[0] if isinstance(result, tuple) else result
    own = math.prod(first.shape) * first.dtype.itemsize
    return a.stats()["requested"] - before - own


def test_seam_7_normalisation_keeps_rows_not_tensors():
    x = leaf(np.zeros((64, 256)), "f4", NULL)
    assert held_bytes(lambda: F.layer_norm(x, None, None, 1)) <= 2 * 64 * 4 + 512


def test_seam_7_attention_keeps_the_log_sum():
    q = leaf(np.zeros((1, 128, 2, 8)), "f4", NULL)
    assert held_bytes(lambda: F.attention(q, q, q, None, False, 1.0)) <= 2 * 128 * 4 + 512


def test_seam_7_random_ops_keep_the_place_in_their_stream():
    x = leaf(np.zeros((64, 256)), "f4", NULL)
    assert held_bytes(lambda: F.dropout(x, p=0.5, seed=1, offset=0)) <= 512


def test_seam_7_absent_gradients_are_no_zeros():
    """What an absent gradient would be multiplied with is neither saved nor computed."""
    x = leaf(np.arange(1.0, 7.0), "f4", NULL)
    big, small = F.split(x, axis=0, sections=(5, 1))
    tape.backward([small])
    assert x.grad.shape == [6]


def test_seam_7_recomputed_residuals_carry_second_derivatives(rng):
    a = rng.standard_normal((3, 4))
    w, d, h = rng.standard_normal((3, 4)), rng.standard_normal((3, 4)), 1e-5

    def first(a):
        x = leaf(a)
        (g,) = tape.grad([total(F.mul(F.layer_norm(x, None, None, 1), tensor(w)))], [x], create_graph=True)
        return x, g

    x, g = first(a)
    (gg,) = tape.grad([total(F.mul(g, tensor(d)))], [x])
    numeric = (values(first(a + h * d)[1]) - values(first(a - h * d)[1])) / (2 * h)
    np.testing.assert_allclose(values(gg), numeric, rtol=1e-5, atol=1e-7)


# --- seam 8: sizes ---------------------------------------------------------------------------------------------------


def test_seam_8_unhinted_sizes_become_checks_and_hinted_ones_guards():
    with Scope() as scope:
        m, n = scope.size(name="m"), scope.size(name="n")
        F.REGISTRY["matmul"](False, False).infer(Meta((2, m), dt.float32), Meta((n, 3), dt.float32))
        assert len(scope.checks) == 1 and not scope.guards
    with Scope() as scope:
        m, n = scope.size(hint=4), scope.size(hint=4)
        F.REGISTRY["matmul"](False, False).infer(Meta((2, m), dt.float32), Meta((n, 3), dt.float32))
        assert len(scope.guards) == 1 and not scope.checks


def test_seam_8_only_0_and_1_specialise():
    with Scope() as scope:
        assert scope.size(hint=0) == 0 and scope.size(hint=1) == 1
        assert type(scope.size(hint=2)) is not int
        n = scope.size(hint=5)
        assert sizes.eq(n, 1) is False or sizes.eq(n, 1) == False  # noqa: E712
        assert not scope.guards


def test_seam_8_data_dependent_sizes_are_params():
    """nonzero is a count and an op whose size is a param: sizes make no plan."""
    x = tensor([0.0, 1.0, 0.0, 2.0, 3.0])
    F.nonzero_sized(x, 3)
    with count_plans() as counts:
        for array_ in ([0.0, 0.0, 1.0], [1.0, 2.0], [0.0]):
            t = tensor(array_)
            found = F.nonzero_sized(t, int(np.count_nonzero(array_)))
            np.testing.assert_array_equal(values(found).reshape(-1), np.flatnonzero(array_))
    assert not counts


# --- seam 9: randomness ----------------------------------------------------------------------------------------------


def test_seam_9_bits_depend_on_seed_offset_and_index_alone():
    whole = values(F.philox(shape=(6, 8), seed=3, offset=20))
    np.testing.assert_array_equal(values(F.philox(shape=(48,), seed=3, offset=20)), whole.reshape(-1))
    np.testing.assert_array_equal(values(F.philox(shape=(3, 8), seed=3, offset=20 + 24)), whole[3:])
    part = F.philox_part(shape=(2, 3), starts=(4, 5), global_shape=(6, 8), seed=3, offset=20)
    np.testing.assert_array_equal(values(part), whole[4:6, 5:8])
    assert not np.array_equal(values(F.philox(shape=(6, 8), seed=4, offset=20)), whole)


def test_seam_9_offsets_are_reserved_in_program_order():
    g = Generator(11)
    assert [g.reserve(n)[1] for n in (1, 4, 5, 0, 3)] == [0, 4, 8, 16, 16]
    state = g.get_state()
    first = g.reserve(100)
    g.set_state(state)
    assert g.reserve(100) == first


def test_seam_9_traced_and_eager_draw_the_same(rng):
    x = tensor(rng.standard_normal((5, 7)).astype("f4"))

    def program(x):
        a = F.dropout(x, p=0.4, seed=9, offset=0)
        F.dropout(x, p=0.4, seed=9, offset=36)  # dead
        b = F.dropout(x, p=0.4, seed=9, offset=72)
        return F.add(a, b)

    np.testing.assert_array_equal(values(run_traced(program, x)[0]), values(program(x)))


def test_seam_9_backward_draws_the_mask_of_the_forward(rng):
    x = leaf(np.ones((40, 5)))
    y = F.dropout(x, p=0.5, seed=5, offset=12)
    backward(total(y))
    np.testing.assert_array_equal(grad_of(x), values(y))


def test_seam_9_threads_of_a_rank_share_one_stream():
    seed_all(3)
    taken = []
    run_threads(lambda i: taken.extend(default_generator(CPU).reserve(4)[1] for _ in range(50)))
    assert sorted(taken) == [4 * i for i in range(200)]


# --- seam 10: effects (see tests/ir/test_tracer.py for the cases) ----------------------------------------------------


def write_through_views(x, y):
    """Two writes into parts of ``x``, the second of which reads what the first wrote."""
    first, both = rows(x, 0, 1), rows(x, 0, 2)
    inplace.assign(first, F.mul(first, 10.0))
    inplace.assign(both, F.add(both, rows(y, 0, 2)))
    return total(first)


def test_seam_10_values_are_immutable_and_writes_are_final_effects():
    with Tracer() as tracer:
        x, y = (tracer.input(Meta((3, 2), dt.float64), stop_gradient=True) for _ in range(2))
        program = tracer.finish((write_through_views(x, y),))
    assert [w.target for w in program.effects] == [program.inputs[0]], "one write for each input, at the end"
    results = [r for o in program.ops for r in o.results]
    assert len(set(map(id, results))) == len(results), "every value is made once"
    assert "scatter_view" in [o.name for o in program.ops]
    assert program.disjoint() == [(0, 1)], "what is written may not overlap what is read"
    for made in (program, parse(show(program), F.REGISTRY)):
        verify_program(made)
        a, b = np.arange(6.0).reshape(3, 2), np.full((3, 2), 0.5)
        x, y = tensor(a), tensor(b)
        (found,) = Executor(made)(x, y)
        np.testing.assert_array_equal(values(x), [[0.5, 10.5], [2.5, 3.5], [4, 5]])
        np.testing.assert_array_equal(values(y), b)
        assert values(found) == 11.0


def test_seam_10_overlapping_memory_keeps_its_order():
    """The other input is a view of the written one: it is read as it was, as in eager mode it would be."""
    with Tracer() as tracer:
        a, b = (tracer.input(Meta((3, 2), dt.float64), stop_gradient=True) for _ in range(2))
        inplace.assign(a, F.mul(a, 2.0))
        program = tracer.finish((F.add(b, 1.0),))
    x = tensor(np.arange(6.0).reshape(3, 2))
    (found,) = Executor(program)(x, rows(x, 0, 3))
    np.testing.assert_array_equal(values(x), 2 * np.arange(6.0).reshape(3, 2))
    np.testing.assert_array_equal(values(found), 1 + np.arange(6.0).reshape(3, 2))


def test_seam_10_effects_of_one_class_keep_their_order():
    """Calls on groups are neither dropped, merged nor exchanged; pure calls beside them are."""
    with Tracer() as tracer:
        x = tracer.input(Meta((4,), dt.float64))
        F.exp(x)
        F.all_reduce(x, group="a", op="max", size=2)  # its result is not read
        y = F.all_reduce(x, group="a", op="sum", size=2)
        F.broadcast(x, group="b", root=0, size=2)
        z = F.all_reduce(x, group="a", op="sum", size=2)
        out = F.add(F.add(y, z), F.add(F.tanh(x), F.tanh(x)))
        program = tracer.finish((out,))
    wanted = [("a", "max"), ("a", "sum"), ("b", None), ("a", "sum")]

    def calls(operations):
        return [(o.op.group, getattr(o.op, "op", None)) for o in operations if o.op.effect]

    assert calls(program.ops) == wanted
    for change in (passes.merge_common, passes.remove_dead):
        change(program)
        verify_program(program)
        assert calls(program.ops) == wanted
    names = [o.name for o in program.ops]
    assert "exp" not in names and names.count("tanh") == 1


# --- seam 11: loop IR (see tests/compiler/test_acceptance.py for the kernels) ----------------------------------------


def sum_of_exponentials() -> Kernel:
    """o[i] = sum over j of exp(x[i, j])"""
    i, j = axis("i"), axis("j")
    x = load("x", F32, add(mul(i, dim(1)), j))
    summed = Reduce((var("s", F32),), SUM, (Axis(j, dim(1), kind=LANE),), (call("exp", x),))
    loop = Loop(Axis(i, dim(0)), (summed, Store("o", i, var("s", F32))), parallel=True)
    return Kernel("rows", (Buffer("x", F32, IN), Buffer("o", F32, OUT)), 2, (loop,))


def test_seam_11_one_kernel_has_scalar_meaning_and_is_text_for_every_target(rng):
    kernel = sum_of_exponentials()
    verify_kernel(kernel)
    a, out = rng.standard_normal((5, 37)).astype("f4"), np.zeros(5, "f4")
    interpreter.run(kernel, [a.ravel(), out], (5, 37), ())
    np.testing.assert_allclose(out, np.exp(a).sum(1), rtol=1e-6)
    assert "16" not in show_kernel(kernel), "the width of vectors is the renderer's business"
    for target in (AVX512, AVX2, NEON):
        text, width = llvm.render(kernel, target), target.vector_bits // 32
        assert f"<{width} x float>" in text, target
        assert f"<{2 * width} x float>" not in text, target
    assert kernel.name in ptx.render(kernel, ptx.ARCHITECTURES[0])
    assert kernel.name in opencl.render(kernel)


@pytest.mark.parametrize("shape", [(3, 100_003), (100_003,), (1000, 257)], ids=str)
def test_seam_11_results_do_not_depend_on_the_number_of_threads(shape, rng, threads):
    """Reductions are cut by shape alone: each number of threads gives the bits that one thread gives."""
    a = rng.standard_normal(shape).astype("f4")
    x = tensor(a)
    found = [values(F.sum(x, axes=axes)) for axes in ((0,), (x.ndim - 1,), tuple(range(x.ndim)))]
    count = parallel.get_num_threads()
    parallel.set_num_threads(1)
    try:
        alone = [values(F.sum(x, axes=axes)) for axes in ((0,), (x.ndim - 1,), tuple(range(x.ndim)))]
    finally:
        parallel.set_num_threads(count)
    for one, other in zip(found, alone, strict=True):
        assert one.tobytes() == other.tobytes()
    np.testing.assert_allclose(found[-1], a.astype("f8").sum(), rtol=1e-4, atol=1e-2)


# --- seam 12: parallelism (see tests/runtime/test_parallel.py) -------------------------------------------------------


def test_seam_12_kernels_run_their_parts_through_one_function(rng, threads):
    """Another function in that place gets the parts of every kernel, and may run them in any order."""
    native = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_int64)
    seen = []

    @ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64)
    def backwards(fn, arg, parts):
        seen.append(parts)
        return max((native(fn)(arg, i) for i in reversed(range(parts))), default=0)

    x = tensor(rng.standard_normal((600, 700)).astype("f4"))
    calls = (
        lambda: F.exp(x),
        lambda: F.softmax(x, axis=1),
        lambda: F.sum(x, axes=(0,)),
        lambda: F.argmax(x, axis=1, dtype=dt.int64),
    )
    expected = [values(call()) for call in calls]
    launcher.install_parallel(ctypes.cast(backwards, ctypes.c_void_p).value, parallel.COUNT_ADDRESS)
    try:
        found = []
        for call in calls:
            seen.clear()
            found.append(values(call()))
            assert not seen if threads == 1 else seen and all(n > 1 for n in seen), seen
    finally:
        launcher.install_parallel(parallel.ADDRESS, parallel.COUNT_ADDRESS)
    for a, b in zip(found, expected, strict=True):
        assert a.tobytes() == b.tobytes()


def test_seam_12_a_forked_child_is_serial():
    """Kernels of a child run in its one thread, and give the parent's bits."""
    program = """
        import os, numpy as np
        from umiak import ops as F
        from umiak.core import array
        from umiak.runtime import parallel
        parallel.set_driver("pool")
        parallel.set_num_threads(2)
        x = array.from_numpy(np.linspace(-3, 3, 600_000, dtype="f4"))
        make = lambda: array.to_numpy(F.exp(x)).tobytes()
        whole = make()
        assert parallel.counters()["threads"] == 1, "one beside the caller"
        child = os.fork()
        if child == 0:
            same = make() == whole and parallel.get_num_threads() == 1
            os._exit(7 if same and len(os.listdir("/proc/self/task")) == 1 else 1)
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), make() == whole)
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(program)],
        capture_output=True, text=True, timeout=120, check=False, env={**os.environ, "OPENBLAS_NUM_THREADS": "1"},
    )  # fmt: skip
    assert (done.returncode, done.stdout.split()) == (0, ["7", "True"]), done.stderr
