"""Whole programs: fused they give what operation by operation gives, in less memory, with writes in place."""

from __future__ import annotations

import numpy as np
import pytest

from tests.support.garbage import without_garbage
from tests.support.programs import groups, one_by_one, ops_of, same, tensors, traced
from umiak import ops as F
from umiak.autodiff import graph
from umiak.backends import cpu
from umiak.backends.cpu import providers, select_provider
from umiak.compiler import whole_program
from umiak.compiler.epilogue import FusedEpilogue
from umiak.compiler.fused import Fused
from umiak.core import array, context, dtype, inplace, storage, tape
from umiak.core.place import Place
from umiak.core.tensor import empty
from umiak.ir.meta import Meta
from umiak.ir.tracer import Tracer
from umiak.ops import linalg
from umiak.runtime.executor import Executor

F32 = dtype.float32


@pytest.fixture
def rng():
    return np.random.default_rng(11)


def block(x, w, b, g):
    """A norm, a matmul with its epilogue, and a sum with what came in."""
    h = F.rms_norm(x, g, None, axis=1, eps=1e-5)
    h = F.gelu(F.linear(h, w, b), approximate=True)
    return F.add(x, F.matmul(h, w, transpose_y=True))


# --- groups ----------------------------------------------------------------------------------------------------------


def test_groups_cross_composites(rng):
    xs = tensors(rng, (6, 8), (8, 16), (16,), (8,))
    program = traced(block, *xs)
    executor = Executor(program)
    found = executor(*xs)
    same(found, one_by_one(program, *xs))
    assert [o.name for o in ops_of(executor)] == ["fused", "matmul", "fused", "matmul", "add"]
    assert groups(executor)[2].startswith("fused(add+")  # the bias and the activation
    # Another size is the same program.
    more = tensors(rng, (3, 8), (8, 16), (16,), (8,))
    same(executor(*more), one_by_one(program, *more))


def test_forward_and_backward_in_one_program(rng):
    xs = tensors(rng, (6, 8), (8, 16), (16,), (8,))
    program = traced(lambda *v: F.sum(F.square(block(*v)), axes=(0, 1)), *xs)
    joint = program.copy()
    joint.outputs = [*joint.outputs, *graph.backward(joint, joint.inputs)]
    executor = Executor(joint)
    found = executor(*xs)
    for x in xs:
        x.stop_gradient = False
    loss = F.sum(F.square(block(*xs)), axes=(0, 1))
    same(found, [loss, *tape.grad([loss], xs, None)], 1e-4)
    assert len(ops_of(executor)) < len(joint.ops)
    assert any(type(o) is Fused and len(o.group.results) > 1 for o in ops_of(executor)), groups(executor)


def random_composites(rng, count):
    """Composites, reductions, views and matmuls over square matrices."""
    unary = (F.gelu, F.silu, F.relu, F.tanh)

    def function(*xs):
        values = list(xs)
        for _ in range(count):
            a, b = (values[rng.integers(len(values))] for _ in range(2))
            kind = rng.integers(9)
            if kind == 0:
                made = unary[rng.integers(len(unary))](a)
            elif kind == 1:
                made = F.softmax(F.tanh(a), axis=int(rng.integers(2)))
            elif kind == 2:
                made = F.matmul(F.tanh(a), F.tanh(b), transpose_y=bool(rng.integers(2)))
            elif kind == 3:
                made = F.add(a, F.mean(b, axes=(int(rng.integers(2)),), keepdim=True))
            elif kind == 4:
                made = F.mul(F.tanh(a), F.permute(b, perm=(1, 0)))
            elif kind == 5:
                made = F.sub(F.tanh(a), F.sum_to(F.tanh(b), shape=(4,)))
            elif kind == 6:
                made = F.reshape(F.exp(F.tanh(F.reshape(a, shape=(2, 8)))), shape=(4, 4))
            elif kind == 7:
                made = F.linear(F.tanh(a), F.tanh(b), F.mean(a, axes=(0,), keepdim=False))
            else:
                made = F.where(F.lt(a, b), a, F.neg(b))
            values.append(made)
        return tuple(values[-4:])

    return function


@pytest.mark.parametrize("seed", range(6))
def test_random_programs_and_their_gradients(seed):
    rng = np.random.default_rng(seed)
    xs = tensors(rng, *[(4, 4)] * 3)
    program = traced(random_composites(rng, 12), *xs, dynamic=())
    program.outputs = [*program.outputs, *graph.backward(program, program.inputs)]
    executor = Executor(program)
    found = executor(*xs)
    expected = one_by_one(program, *xs)
    assert [x is None for x in found] == [x is None for x in expected]
    keep = [i for i, x in enumerate(found) if x is not None]
    same([found[i] for i in keep], [expected[i] for i in keep], 2e-4)
    # What a run leaves behind does not reach the next.
    same([executor(*xs)[i] for i in keep], [found[i] for i in keep], 1e-7)


def test_numbers_and_sizes(rng):
    (x,) = tensors(rng, (5, 7))
    with Tracer() as tracer:
        v = tracer.example(x)
        rate = tracer.number("float", name="rate")
        y = F.exp(F.mul(F.mul(v, rate), v.shape[1]))
        program = tracer.finish((F.softmax(y, axis=1), v.shape[0] * 2))
    executor = Executor(program)
    for rows in (5, 3):
        (x,) = tensors(rng, (rows, 7))
        found = executor(x, scalars={"rate": 0.01})
        assert found[1] == 2 * rows
        same(found[:1], one_by_one(program, x, scalars={"rate": 0.01})[:1])
    assert len(ops_of(executor)) == 1
    assert any(type(o) is Fused for o in ops_of(executor))
    with pytest.raises(ValueError, match=r"requires input 0 as .*got float32\[5, 7, 1\]"):
        executor(*tensors(rng, (5, 7, 1)), scalars={"rate": 0.01})


def test_modes_that_each_operation_sees(rng):
    """A recorded gradient, mixed precision and a trace get the operations one by one."""
    x, w = tensors(rng, (4, 4), (4, 4))
    program = traced(lambda x, w: F.exp(F.mul(F.tanh(F.matmul(x, w)), 2.0)), x, w)
    executor = Executor(program)
    w.stop_gradient = False
    (y,) = executor(x, w)
    assert tape.grad([y], [w], [y])[0].shape == [4, 4]
    assert list(executor._lowered) == [None]
    with context.no_grad_guard():
        executor(x, w)
    assert list(executor._lowered) == [None, "cpu"]
    w.stop_gradient = True
    outer = traced(lambda x, w: executor(x, w)[0], x, w)
    assert [o.name for o in outer.ops] == ["matmul", "tanh", "mul", "exp"]
    context.current().set_amp(1, dtype.bfloat16.id)
    try:
        assert executor.lowered([x, w], {}) is executor._lowered[None]
    finally:
        context.current().set_amp(0, 0)


def test_a_backend_without_kernels_for_groups():
    place = Place("null", 0)
    with Tracer() as tracer:
        program = tracer.finish((F.exp(F.mul(tracer.input(Meta((2, 3), F32)), 2.0)),))
    executor = Executor(program)
    (y,) = executor(empty((2, 3), F32, place))
    assert y.place is place and list(executor._lowered) == [None]


# --- writes ----------------------------------------------------------------------------------------------------------


def update(p, m, g):
    m_new = F.add(F.mul(m, 0.9), g)
    inplace.assign(p, F.sub(p, F.mul(m_new, 0.1)))
    inplace.assign(m, m_new)
    return F.sum(m_new, axes=(0, 1))


def test_writes_happen_in_the_memory_of_their_targets(rng):
    p, m, g = tensors(rng, (4, 5), (4, 5), (4, 5))
    program = traced(update, p, m, g)
    before = [array.to_numpy(x).copy() for x in (p, m, g)]
    places = [x.data_ptr() for x in (p, m)]
    executor = Executor(program)
    versions = [x.inplace_version for x in (p, m, g)]
    found = executor(p, m, g)
    wanted = 0.9 * before[1] + before[2]
    np.testing.assert_allclose(array.to_numpy(m), wanted, rtol=1e-6)
    np.testing.assert_allclose(array.to_numpy(p), before[0] - 0.1 * wanted, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(array.to_numpy(found[0]), wanted.sum(), rtol=1e-5)
    np.testing.assert_array_equal(array.to_numpy(g), before[2])
    assert [x.data_ptr() for x in (p, m)] == places
    assert [x.inplace_version - v for x, v in zip((p, m, g), versions)] == [1, 1, 0]


def test_writes_that_exchange_values(rng):
    """Each is the other's value from before."""

    def swap(x, y):
        old = F.mul(x, 1.0)
        inplace.assign(x, F.mul(y, 2.0))
        inplace.assign(y, F.add(old, 1.0))
        return F.neg(x)

    x, y = tensors(rng, (100,), (100,))
    a, b = (array.to_numpy(t).copy() for t in (x, y))
    (z,) = Executor(traced(swap, x, y))(x, y)
    np.testing.assert_array_equal(array.to_numpy(x), 2 * b)
    np.testing.assert_array_equal(array.to_numpy(y), a + 1)
    np.testing.assert_array_equal(array.to_numpy(z), -2 * b)


def test_a_written_input_that_is_returned_or_viewed(rng):
    def function(x):
        before = F.slice(x, axes=(0,), starts=(0,), sizes=(2,), steps=(1,))
        kept = F.matmul(before, F.permute(before, perm=(1, 0)))
        inplace.assign(x, F.exp(x))
        return x, kept, F.sum(x, axes=(0, 1))

    (x,) = tensors(rng, (3, 4))
    old = array.to_numpy(x).copy()
    y, kept, total = Executor(traced(function, x))(x)
    np.testing.assert_allclose(array.to_numpy(x), np.exp(old), rtol=1e-6)
    np.testing.assert_array_equal(array.to_numpy(y), array.to_numpy(x))
    np.testing.assert_allclose(array.to_numpy(kept), old[:2] @ old[:2].T, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(array.to_numpy(total), np.exp(old).sum(), rtol=1e-5)
    inplace.assign(x, F.mul(x, 0.0))
    assert np.any(array.to_numpy(y)), "the result is in the memory of the input"


def test_a_written_input_in_the_memory_of_another(rng):
    """The write may not reach the other input before it is read."""
    (x,) = tensors(rng, (4, 4))
    y = F.slice(x, axes=(0,), starts=(0,), sizes=(4,), steps=(1,))
    old = array.to_numpy(x).copy()

    def function(a, b):
        new = F.exp(a)
        inplace.assign(a, new)
        return F.matmul(new, b)

    with Tracer() as tracer:
        a, b = (tracer.input(Meta((4, 4), F32), stop_gradient=True) for _ in range(2))
        program = tracer.finish((function(a, b),))
    (z,) = Executor(program)(x, y)
    np.testing.assert_allclose(array.to_numpy(z), np.exp(old) @ old, rtol=1e-5, atol=1e-6)


# --- memory ----------------------------------------------------------------------------------------------------------


def peak(f, *xs):
    """Bytes that a run needs at most beyond what there was."""
    memory = storage.allocator(xs[0].place.index)
    f(*xs)
    with without_garbage():
        memory.reset_peaks()
        before = memory.stats()["requested"]
        made = f(*xs)
        assert made
        return memory.stats()["requested_peak"] - before


def test_long_chains_hold_one_buffer(rng, monkeypatch):
    """Twenty operations, each a kernel of its own: a result takes the memory of the operand that dies there."""
    monkeypatch.setattr("umiak.compiler.fuse.MAX_OPERATIONS", 1)

    def chain(x):
        for i in range(20):
            x = F.tanh(x) if i % 2 else F.mul(x, 1.5)
        return x

    (x,) = tensors(rng, (1000,))
    executor = Executor(traced(chain, x, dynamic=()))
    assert peak(executor, x) == 4000
    assert len(ops_of(executor)) == 20
    program = executor.program
    monkeypatch.setattr(whole_program, "call_program", lambda *a, of=whole_program.call_program: of(*a[:5]))
    without = Executor(program)
    assert peak(without, x) == 8000
    np.testing.assert_array_equal(array.to_numpy(executor(x)[0]), array.to_numpy(without(x)[0]))


def test_what_others_hold_is_not_written_over(rng):
    """An operand that dies but has a view alive, is returned, or is read twice."""
    (x,) = tensors(rng, (6, 6))

    def function(x):
        y = F.matmul(x, x)
        part = F.slice(y, axes=(0,), starts=(1,), sizes=(2,), steps=(1,))
        z = F.exp(F.mul(y, 0.1))
        return F.matmul(part, z), F.mul(z, z), y

    program = traced(function, x, dynamic=())
    same(Executor(program)(x), one_by_one(program, x))


def test_donated_inputs(rng):
    x, y = tensors(rng, (1000,), (1000,))
    program = traced(lambda x, y: F.exp(F.mul(x, y)), x, y, dynamic=())
    a, b = (array.to_numpy(t).copy() for t in (x, y))
    executor = Executor(program, donate=[0])
    where = x.data_ptr()
    (z,) = executor(x, y)
    assert z.data_ptr() == where
    np.testing.assert_allclose(array.to_numpy(z), np.exp(a * b), rtol=1e-6)
    np.testing.assert_array_equal(array.to_numpy(y), b)
    (x,) = tensors(rng, (1000,))
    half = F.slice(x, axes=(0,), starts=(0,), sizes=(500,), steps=(1,))
    kept = array.to_numpy(half).copy()
    (z,) = executor(x, y)
    assert z.data_ptr() != x.data_ptr(), "a view of the input is alive"
    np.testing.assert_array_equal(array.to_numpy(half), kept)
    for wrong in (2, -1, "c0"):
        with pytest.raises(ValueError, match=r"inputs to donate by index below 2 or by a name among \[\], got"):
            Executor(program, donate=[wrong])


def test_donated_constants(rng):
    x, c = tensors(rng, (50,), (50,))
    program = traced(lambda x: F.exp(F.mul(x, c)), x)
    expected = np.exp(array.to_numpy(x) * array.to_numpy(c))
    where = c.data_ptr()
    (z,) = Executor(program, donate=list(program.constants))(x)
    assert z.data_ptr() == where
    np.testing.assert_allclose(array.to_numpy(z), expected, rtol=1e-6)


# --- epilogues of matmuls -------------------------------------------------------------------------------------------

PADDED = {"strides": (1, 1), "pads_lo": (1, 1), "pads_hi": (1, 1), "dilations": (1, 1)}


def convolved(x, w, b):
    return F.relu(F.add(F.conv(x, w, nd=2, groups=1, **PADDED), F.reshape(b, shape=(1, 16, 1, 1))))


@pytest.fixture
def onednn():
    if providers.refusal("onednn"):
        pytest.skip(providers.refusal("onednn"))


def test_bias_and_activation_behind_a_convolution(rng, onednn):
    xs = tensors(rng, (2, 8, 9, 9), (16, 8, 3, 3), (16,))
    program = traced(convolved, *xs, dynamic=())
    executor = Executor(program)
    same(executor(*xs), one_by_one(program, *xs))
    (op,) = ops_of(executor)
    assert type(op) is FusedEpilogue and op.steps == ("bias", "relu")
    # Strided operands, and a provider that is switched off after the program was lowered.
    xs[2] = F.slice(*tensors(rng, (32,)), axes=(0,), starts=(0,), sizes=(16,), steps=(2,))
    same(executor(*xs), one_by_one(program, *xs))
    xs = tensors(rng, (2, 8, 9, 9), (16, 8, 3, 3), (16,))
    expected = one_by_one(program, *xs)
    former = providers.FLAG.value
    try:
        providers.FLAG.set("plain")
        op.clear()
        same(executor(*xs), expected)
        again = Executor(program)
        same(again(*xs), expected)
        assert [o.name for o in ops_of(again)] == ["conv", "fused"]
    finally:
        providers.FLAG.set(former)
        op.clear()


def test_numbers_behind_a_convolution_of_a_channel_each(rng, onednn):
    xs = tensors(rng, (2, 24, 6, 30), (24, 1, 5, 5), (24,))

    def function(x, w, b, offset=3.0):
        y = F.conv(x, w, nd=2, groups=24, **{**PADDED, "pads_lo": (2, 2), "pads_hi": (2, 2)})
        y = F.hardswish(F.add(y, F.reshape(b, shape=(1, 24, 1, 1))), offset=offset)
        return F.add(F.mul(0.75, y), -0.5)

    program = traced(function, *xs, dynamic=())
    executor = Executor(program)
    same(executor(*xs), one_by_one(program, *xs))
    (op,) = ops_of(executor)
    assert op.steps == ("bias", "hard_swish", ("scale", 0.75), ("shift", -0.5))
    program = traced(lambda *xs: function(*xs, offset=2.0), *xs, dynamic=())
    other = Executor(program)
    same(other(*xs), one_by_one(program, *xs))
    assert [o.steps for o in ops_of(other) if type(o) is FusedEpilogue] == [("bias",)], "another threshold"


@pytest.mark.parametrize("bias", [False, True])
def test_the_sum_of_two_products_follows_one_of_them(bias, rng, onednn, monkeypatch):
    monkeypatch.setattr(select_provider, "native_bfloat16", lambda: True)
    xs = [F.cast(x, dtype=dtype.bfloat16) for x in tensors(rng, (20, 24), (24, 32), (32,), (20, 24))]

    def function(x, w, b, z):
        first, second = (F.linear(v, w, b) if bias else F.matmul(v, w) for v in (x, z))
        return F.relu(F.add(first, second))

    program = traced(function, *xs, dynamic=())
    executor = Executor(program)
    (a,), (b,) = executor(*xs), one_by_one(program, *xs)
    found, expected = (array.to_numpy(F.cast(t, dtype=F32)) for t in (a, b))
    np.testing.assert_allclose(found, expected, rtol=3e-2, atol=0.2)
    assert any(type(o) is FusedEpilogue for o in ops_of(executor))


def test_what_is_read_elsewhere_is_computed(rng, onednn):
    xs = tensors(rng, (2, 8, 9, 9), (16, 8, 3, 3), (16,))

    def function(x, w, b):
        y = F.add(F.conv(x, w, nd=2, groups=1, **PADDED), F.reshape(b, shape=(1, 16, 1, 1)))
        return F.relu(y), F.sum(y, axes=(2, 3))

    program = traced(function, *xs, dynamic=())
    executor = Executor(program)
    same(executor(*xs), one_by_one(program, *xs))
    assert [o.steps for o in ops_of(executor) if type(o) is FusedEpilogue] == [("bias",)]


@pytest.mark.parametrize("act", ["relu", "tanh", "silu", "gelu", "gelu_tanh", "add", None])
def test_bfloat16_matmuls(act, rng, onednn, monkeypatch):
    """Against float32: what follows is not rounded in between, so it is at least as near as the operations are."""
    monkeypatch.setattr(select_provider, "native_bfloat16", lambda: True)
    wide = [array.to_numpy(x) for x in tensors(rng, (20, 24), (24, 32), (32,), (20, 32))]
    xs = [F.cast(array.from_numpy(x), dtype=dtype.bfloat16) for x in wide]
    wide = [F.cast(x, dtype=F32) for x in xs]

    def function(x, w, b, r):
        y = F.linear(x, w, b)
        if act == "add":
            return F.add(r, y)
        if act is None:
            return y
        return F.gelu(y, approximate=act == "gelu_tanh") if act.startswith("gelu") else getattr(F, act)(y)

    program = traced(function, *xs, dynamic=())
    executor = Executor(program)
    found = array.to_numpy(F.cast(executor(*xs)[0], dtype=F32))
    expected = array.to_numpy(function(*wide))
    np.testing.assert_allclose(found, expected, rtol=2**-7, atol=0.02)
    (op,) = ops_of(executor)
    assert op.steps == ("bias",) if act is None else ("bias", act)


def test_float32_matmuls_stay_as_they_are(rng, onednn):
    """A matmul and a kernel behind it are faster than a primitive that does both."""
    xs = tensors(rng, (6, 8), (8, 16), (16,))
    executor = Executor(traced(lambda *v: F.gelu(F.linear(*v)), *xs))
    executor(*xs)
    assert [o.name for o in ops_of(executor)] == ["matmul", "fused"]
    assert not cpu.backend.fuses_epilogue(ops_of(executor)[0], [Meta((6, 8), F32), Meta((8, 16), F32)], (), ("bias",))


@pytest.mark.parametrize("reader", ["matmul", "nobody", "gelu", "matmul and gelu"])
def test_a_bias_that_shares_no_kernel_is_added_by_the_matmul(reader, rng, onednn):
    xs = tensors(rng, (6, 64), (64, 48), (48,), (48, 40))

    def function(x, w, b, v):
        y = F.linear(x, w, b)
        products = [F.matmul(F.reshape(y, shape=(2, 3, 48)), v)] if "matmul" in reader else []
        return (*products, F.gelu(y)) if "gelu" in reader else tuple(products) or y

    executor = Executor(traced(function, *xs, dynamic=()))
    expected = function(*xs)
    for got, want in zip(executor(*xs), expected if isinstance(expected, tuple) else (expected,), strict=True):
        np.testing.assert_allclose(array.to_numpy(got), array.to_numpy(want), rtol=1e-6, atol=1e-6)
    assert any(type(o) is FusedEpilogue for o in ops_of(executor)) == ("gelu" not in reader)


@pytest.mark.parametrize(("x", "w"), [((6, 63), (63, 8)), ((64,), (64, 8)), ((6, 64), (64,))])
def test_short_sums_and_vectors_have_their_bias_from_a_kernel(x, w, onednn):
    assert not cpu.backend.adds_bias(linalg.Matmul(False, False), [Meta(x, F32), Meta(w, F32)])
