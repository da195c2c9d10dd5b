"""Plans: which kind an op gets, checks at run time, composites, gradients inside, mixed precision."""

from __future__ import annotations

import weakref

import numpy as np
import pytest
from harness import CPU, NULL, backward, count_plans, grad_of, leaf, python_calls, tensor, values

from umiak import ops as F
from umiak.compiler import amp, plan
from umiak.core import array, call_program, context, eager, inplace, storage, tape
from umiak.core import dtype as dt
from umiak.core.context import no_grad_guard
from umiak.core.tensor import empty
from umiak.ir import sym as dim
from umiak.ir.meta import Meta
from umiak.ops.base import Op, param


def total(x):
    return F.sum(x, axes=tuple(range(x.ndim)))


def kinds(name: str, *operands, params=(), **attributes) -> str:
    """The kind of the one plan that a call makes."""
    op = F.REGISTRY[name](**attributes)
    op.clear()
    eager.apply(op, operands, params)
    (made,) = op.plans()
    return repr(made).split()[-3]


def test_kinds_of_plans():
    x = tensor(np.ones((2, 3)))
    assert kinds("exp", x) == "launch"
    assert kinds("permute", x, perm=(1, 0)) == "view"
    assert kinds("reshape", x, params=((3, 2),)) == "reshape"
    assert kinds("swiglu", x, x) in ("calls", "launch")
    assert kinds("swiglu", empty((2, 2), dt.float32, NULL), empty((2, 2), dt.float32, NULL)) == "launch"


def test_plans_say_what_they_save():
    def saves(name, *operands, **attributes):
        op = F.REGISTRY[name](**attributes)
        op.clear()
        eager.apply(op, operands)
        (made,) = op.plans()
        return made.saves

    x, y = leaf(np.ones((2, 2))), tensor(np.ones((2, 2)))
    assert saves("add", x, x) == ([], [])
    assert saves("exp", x) == ([], [0])
    assert saves("mul", x, y) == ([1], [])
    assert saves("mul", y, x) == ([0], [])
    assert saves("mul", x, x) == ([0, 1], [])
    assert saves("matmul", x, y, transpose_x=False, transpose_y=False) == ([1], [])
    assert saves("permute", x, perm=(1, 0)) == ([], [])
    assert saves("softmax", x, axis=1) == ([], [0])


# --- ops of a test's own ---------------------------------------------------------------------------------------------


class SquarePlus(Op):
    """x² + shift, and x: a composite with a param, two outputs and no vjp."""

    inputs = ("x",)
    shift: float = param()

    def infer(self, x, shift):
        return Meta(x.shape, x.dtype), Meta(x.shape, x.dtype)

    def decompose(self, x, shift):
        return F.add(F.mul(x, x), shift), F.add(x, 0.0)


def test_composite_without_vjp_is_differentiated_through_its_decomposition():
    x = leaf([2.0, 3.0])
    y, z = SquarePlus()(x, 1.5)
    np.testing.assert_array_equal(values(y), [5.5, 10.5])
    backward(total(F.mul(y, 10.0)), retain_graph=True)
    np.testing.assert_array_equal(grad_of(x), [40, 60])
    backward(total(z))
    np.testing.assert_array_equal(grad_of(x), [41, 61])
    with count_plans() as counts:
        SquarePlus()(leaf([1.0, 1.0, 1.0]), -7.0)
    assert not counts


class Same(Op):
    """Its decomposition returns its operand."""

    def infer(self, x):
        return x

    def decompose(self, x):
        return x


def test_only_views_alias_their_operands():
    x = leaf([1.0, 2.0])
    y = Same()(x)
    assert y is not x and y.storage is not x.storage
    backward(total(F.mul(y, 3.0)))
    np.testing.assert_array_equal(grad_of(x), [3, 3])


class Reshaped(Op):
    """A composite that ends in a view of its operand."""

    def infer(self, x):
        return Meta((dim.product(x.shape),), x.dtype)

    def decompose(self, x):
        return F.reshape(x, shape=(dim.product(x.shape),))


def test_composite_that_ends_in_a_view_is_no_view():
    x = tensor(np.arange(4.0).reshape(2, 2))
    y = Reshaped()(x)
    assert y.storage is not x.storage and y._base is None
    inplace.assign(y, tensor(np.zeros(4)))
    np.testing.assert_array_equal(values(x), [[0, 1], [2, 3]])


class Halves(Op):
    """Checks at run time: an even number of rows."""

    def infer(self, x):
        n = x.shape[0]
        dim.require(dim.eq(n % 2, 0), "[halves] requires an even number of rows")
        return Meta((n // 2, *x.shape[1:]), x.dtype)

    def decompose(self, x):
        n = x.shape[0] // 2
        rest = x.shape[1:]
        starts = (0,) * x.ndim
        a = F.slice(x, axes=tuple(range(x.ndim)), starts=starts, sizes=(n, *rest), steps=(1,) * x.ndim)
        b = F.slice(x, axes=tuple(range(x.ndim)), starts=(n, *starts[1:]), sizes=(n, *rest), steps=(1,) * x.ndim)
        return F.mul(a, b)


def test_checks_of_sizes_are_run_per_call():
    op = Halves()
    np.testing.assert_array_equal(values(op(tensor([1.0, 2.0, 3.0, 4.0]))), [3, 8])
    with count_plans() as counts:
        np.testing.assert_array_equal(values(op(tensor([2.0, 5.0]))), [10])
        for n in (3, 1, 7):
            with pytest.raises((ValueError, RuntimeError), match=r"^\[halves\] requires an even number of rows"):
                op(tensor(np.ones(n)))
        np.testing.assert_array_equal(values(op(tensor([2.0, 6.0]))), [12])
    assert not counts
    x = leaf(np.arange(1.0, 7.0))
    backward(total(op(x)))
    np.testing.assert_array_equal(grad_of(x), [4, 5, 6, 1, 2, 3])


class Wrong(Op):
    """Its vjp gives a gradient of another dtype."""

    def infer(self, x):
        return x

    def decompose(self, x):
        return F.mul(x, 1.0)

    def vjp(self, s, g):
        return (F.cast(g, dtype=dt.float32),)


def test_vjp_of_another_dtype_is_refused():
    with pytest.raises(RuntimeError, match=r"^\[wrong\] requires a gradient of operand 0's type.*got f32"):
        Wrong()(leaf([1.0]))


class Short(Op):
    """Its vjp gives too few gradients."""

    inputs = ("x", "y")

    def infer(self, x, y):
        return x

    def decompose(self, x, y):
        return F.mul(x, y)

    def vjp(self, s, g):
        return (g,)


def test_vjp_with_too_few_gradients_is_refused():
    with pytest.raises(RuntimeError, match=r"^\[short\] requires one gradient per operand \(2\), got 1"):
        Short()(leaf([1.0]), tensor([1.0]))


class Nothing(Op):
    """Neither kernel nor decomposition."""

    def infer(self, x):
        return x


def test_op_without_a_meaning_is_refused():
    with pytest.raises(TypeError, match=r"^\[nothing\] requires a kernel on cpu or a decomposition, got neither"):
        Nothing()(tensor([1.0]))


class Captures(Op):
    """Its decomposition uses a tensor from outside."""

    def infer(self, x):
        return x

    def decompose(self, x):
        return F.add(x, OUTSIDE)


OUTSIDE = None


def test_concrete_tensors_in_methods_are_refused():
    global OUTSIDE
    OUTSIDE = tensor([1.0])
    try:
        with pytest.raises((ValueError, RuntimeError), match=r"Keep concrete tensors out of ops' methods|captured"):
            Captures()(tensor([1.0]))
    finally:
        OUTSIDE = None


class Kept(Op):
    """Three outputs: x², a constant of x, x as integers; and what its training form keeps."""

    factor: float = param()

    def infer(self, x, factor):
        return Meta(x.shape, x.dtype), Meta((), x.dtype), Meta(x.shape, dt.int64)

    def decompose(self, x, factor):
        return self.forward_train((True,), x, factor)[0]

    def forward_train(self, needs, x, factor):
        tripled = F.mul(x, 3.0)
        outputs = F.mul(F.mul(x, x), factor), F.full(2.5, dtype=x.dtype, shape=()), F.cast(x, dtype=dt.int64)
        return outputs, (tripled,)

    def vjp(self, s, g, g1, g2):
        assert g2 is None
        tripled, factor = s.residuals[0], s.params.factor
        return (F.mul(F.mul(g, tripled), 2.0 / 3.0 * factor) if g is not None else F.mul(tripled, 0.0),)


def test_residuals_are_kept_and_recomputed():
    x = leaf([2.0, 3.0])
    y, constant, whole = Kept()(x, 0.5)
    assert whole.stop_gradient and whole.dtype is dt.int64
    backward(total(y))
    np.testing.assert_allclose(grad_of(x), [2, 3])
    # Under create_graph the residual is recomputed from x, so its part of the second derivative is there.
    y, constant, whole = Kept()(x, 0.5)
    (g,) = tape.grad([y], [x], create_graph=True)
    (gg,) = tape.grad([g], [x])
    np.testing.assert_allclose(values(gg), [1, 1])


@pytest.mark.usefixtures("no_garbage")
def test_untrained_call_keeps_nothing():
    before = storage.allocator(CPU.index).stats()["allocated"]
    x = tensor(np.ones(1000))
    results = Kept()(x, 0.5)
    used = storage.allocator(CPU.index).stats()["allocated"] - before
    assert len(results) == 3
    assert used < 3.3 * 8000


@pytest.mark.usefixtures("no_garbage")
def test_composites_free_what_is_no_longer_needed():
    """A chain of 20 calls inside one composite holds two buffers at a time, not 20."""

    class Chain(Op):
        def infer(self, x):
            return x

        def decompose(self, x):
            for _ in range(20):
                x = F.mul(x, 1.5)
            return x

    x = tensor(np.ones(100_000))
    op = Chain()
    op(x)
    a = storage.allocator(CPU.index)
    a.reset_peaks()
    before = a.stats()["allocated"]
    op(x)
    assert a.stats()["allocated_peak"] - before < 3.5 * 800_000


def test_backward_frees_as_it_goes():
    """Saved tensors of later layers are gone when the first layer's gradient is made."""
    x = leaf(np.ones(100_000))
    a = storage.allocator(CPU.index)

    def run():
        y = x
        for _ in range(20):
            y = F.exp(F.mul(y, 0.1))
        held = a.stats()["allocated"]
        y = total(y)
        a.reset_peaks()
        backward(y)
        x.grad = None
        return a.stats()["allocated_peak"] - held

    run()
    assert run() < 5 * 800_000


# --- modes -----------------------------------------------------------------------------------------------------------


@pytest.fixture
def mixed():
    """Mixed precision, level 1, bfloat16."""
    ctx = context.current()
    ctx.set_amp(1, dt.bfloat16.id)
    yield ctx
    ctx.set_amp(0, 0)


def test_amp_runs_matmul_in_low_precision(mixed, rng):
    a, w = rng.standard_normal((4, 5)).astype("f4"), rng.standard_normal((5, 3)).astype("f4")
    x, weight = leaf(a, "f4"), leaf(w, "f4")
    y = F.matmul(x, weight)
    assert y.dtype is dt.bfloat16
    mixed.set_amp(0, 0)
    low = F.matmul(F.cast(tensor(a), dtype=dt.bfloat16), F.cast(tensor(w), dtype=dt.bfloat16))
    np.testing.assert_array_equal(values(y), values(low))
    backward(total(F.cast(y, dtype=dt.float32)))
    assert weight.grad.dtype is dt.float32 and x.grad.dtype is dt.float32
    np.testing.assert_allclose(grad_of(weight), a.T @ np.ones((4, 3)), rtol=2e-2, atol=2e-2)
    np.testing.assert_allclose(grad_of(x), np.ones((4, 3)) @ w.T, rtol=2e-2, atol=2e-2)


def test_amp_keeps_sensitive_ops_in_full_precision(mixed):
    x = tensor(np.ones((2, 3)), dt.bfloat16.numpy)
    denied = [name for name, cls in F.REGISTRY.items() if cls.amp == "deny"]
    assert "exp" in denied
    assert F.exp(x).dtype is dt.float32
    assert F.softmax(x, axis=1).dtype is (dt.float32 if F.REGISTRY["softmax"].amp == "deny" else dt.bfloat16)
    assert F.relu(x).dtype is dt.bfloat16


def test_amp_promotes_mixed_operands(mixed):
    x, y = tensor(np.ones(2), dt.bfloat16.numpy), tensor(np.ones(2, "f4"))
    assert F.add(x, y).dtype is dt.float32
    assert F.add(x, x).dtype is dt.bfloat16
    assert F.add(y, y).dtype is dt.float32


def test_amp_leaves_other_dtypes_alone(mixed):
    x, i = tensor(np.ones((2, 2))), tensor(np.ones((2, 2), "i4"))
    assert F.matmul(x, x).dtype is dt.float64
    assert F.matmul(i, i).dtype is dt.int32
    assert F.permute(tensor(np.ones((2, 2), "f4")), perm=(1, 0)).dtype is dt.float32


@pytest.mark.parametrize(("rest", "dtype"), [("allow", dt.float16), ("promote", dt.float32), ("deny", dt.float32)])
def test_amp_rules_for_what_is_on_no_list(mixed, rest, dtype):
    mixed.set_amp(2, dt.float16.id, amp.custom_lists(frozenset(), frozenset(), rest))
    x, low = tensor(np.ones((2, 2), "f4")), tensor(np.ones((2, 2), "f2"))
    assert F.add(x, x).dtype is dtype and F.add(x, low).dtype is dtype
    assert F.add(low, low).dtype is (dt.float32 if rest == "deny" else dt.float16)
    assert F.exp(low).dtype is dt.float32 and F.matmul(x, x).dtype is dt.float16


def test_amp_with_lists_of_the_users_own(mixed):
    lists = amp.custom_lists(frozenset({"exp"}), frozenset({"matmul"}))
    assert amp.custom_lists(frozenset({"exp"}), frozenset({"matmul"})) == lists
    mixed.set_amp(1, dt.bfloat16.id, lists)
    x = tensor(np.ones((2, 2), "f4"))
    assert F.exp(x).dtype is dt.bfloat16
    assert F.matmul(x, x).dtype is dt.float32


def test_amp_modes_have_plans_of_their_own(mixed):
    op = F.REGISTRY["matmul"](False, False)
    op.clear()
    x = tensor(np.ones((2, 2), "f4"))

    def run():
        found = []
        for mode in ((1, 7), (0, 0), (1, 6), (2, 7)):
            mixed.set_amp(*mode)
            found.append(F.matmul(x, x).dtype.name)
        return found

    assert run() == ["bfloat16", "float32", "float16", "bfloat16"]
    # A plan per mode, and the calls inside of those on the low types.
    assert op.table_size() == 6
    with count_plans() as counts:
        assert run() == ["bfloat16", "float32", "float16", "bfloat16"]
    assert not counts


def test_amp_makes_no_plan_and_no_python_the_second_time(mixed):
    x, w = empty((4, 5), dt.float32, NULL), empty((5, 3), dt.float32, NULL)
    w.stop_gradient = False
    matmul, exp, summed, apply, run = (
        F.REGISTRY["matmul"](False, False), F.REGISTRY["exp"](), F.REGISTRY["sum"]((0, 1)),
        eager.apply, tape.backward,
    )  # fmt: skip

    def step():
        run([apply(summed, (apply(exp, (apply(matmul, (x, w)),)),))])

    step()
    step()
    assert w.grad.dtype is dt.float32
    with count_plans() as counts:
        assert python_calls(step) == []
    assert not counts


def test_amp_with_params_numbers_and_absent_operands(mixed, rng):
    x, w, b = (tensor(rng.standard_normal(s).astype("f4")) for s in ((2, 3), (3, 4), (4,)))
    expected = values(x) @ values(w)
    np.testing.assert_allclose(values(F.linear(x, w, None)).astype("f4"), expected, rtol=3e-2, atol=3e-2)
    np.testing.assert_allclose(values(F.linear(x, w, b)).astype("f4"), expected + values(b), rtol=3e-2, atol=3e-2)
    low = F.cast(x, dtype=dt.bfloat16)
    np.testing.assert_allclose(values(F.pow(low, 2.0)), values(low).astype("f4") ** 2, rtol=1e-6)


def test_amp_gradients_in_second_order(mixed, rng):
    a, w = rng.standard_normal((3, 3)).astype("f4"), rng.standard_normal((3, 3)).astype("f4")
    x, weight = leaf(a, "f4"), leaf(w, "f4")
    y = F.matmul(x, weight)
    (g,) = tape.grad([total(F.mul(y, y))], [x], create_graph=True)
    assert g.dtype is dt.float32
    (gw,) = tape.grad([total(g)], [weight])
    # d/dW sum(2 (x W) Wᵀ)
    ones = np.ones((3, 3))
    expected = 2 * (a.T @ ones @ w + ones.T @ a @ w)
    np.testing.assert_allclose(values(gw), expected, rtol=0.1, atol=0.3)


def test_amp_errors_are_those_of_the_op(mixed):
    with pytest.raises(ValueError, match=r"^\[matmul\] requires"):
        F.matmul(tensor(np.ones((2, 3), "f4")), tensor(np.ones((2, 3), "f4")))
    x = tensor(np.ones((3, 3), "f4"))
    F.matmul(x, x)
    with pytest.raises(ValueError, match=r"^\[matmul\] requires"):
        F.matmul(x, tensor(np.ones((2, 3), "f4")))


@pytest.fixture
def layer(mixed):
    """A parameter, and a call that multiplies with it; allocations tell whether it was cast."""
    w = leaf(np.arange(12.0).reshape(3, 4), "f4")
    x = tensor(np.ones((2, 3), "f4"))
    return w, lambda: values(F.matmul(x, w)).astype("f4")


def allocations(f) -> int:
    a = storage.allocator(CPU.index)
    before = a.stats()["allocations"]
    f()
    return a.stats()["allocations"] - before


def test_amp_casts_a_parameter_once_per_version(layer):
    w, call = layer
    first = allocations(call)
    again = allocations(call)
    assert again == first - 1
    assert allocations(call) == again
    with no_grad_guard():
        inplace.apply_into(F.REGISTRY["mul"](), (w,), (w, 2.0))
    assert allocations(call) == first
    np.testing.assert_array_equal(call(), np.ones((2, 3)) @ (2 * np.arange(12.0).reshape(3, 4)))
    call_program.drop_cast_weights()
    assert allocations(call) == first


@pytest.mark.parametrize("how", ["into", "assign", "view", "detached", "shared", "outside"])
def test_amp_sees_every_change_of_a_parameter(layer, how):
    w, call = layer
    call()
    new = np.full((3, 4), 5.0, "f4")
    with no_grad_guard():
        if how == "into":
            inplace.apply_into(F.REGISTRY["copy"](), (w,), (tensor(new),))
        elif how == "assign":
            inplace.assign(w, tensor(new))
        elif how == "view":
            inplace.assign(F.reshape(w, shape=(12,)), tensor(new.reshape(12)))
        elif how == "detached":
            inplace.assign(w.detach(), tensor(new))
        elif how == "shared":
            w._share(tensor(new))
        else:
            array.operand(w)[...] = new
            w._bump_version()
    np.testing.assert_array_equal(call(), np.full((2, 4), 15.0))


def test_amp_keeps_no_parameter_alive(mixed):
    w = leaf(np.ones((3, 4)), "f4")
    F.matmul(tensor(np.ones((2, 3), "f4")), w)
    held = weakref.ref(w)
    del w
    assert held() is None


def test_amp_parameter_on_another_low_type(mixed):
    w, x = leaf(np.full((2, 2), 1.0009765625), "f4"), tensor(np.eye(2, dtype="f4"))
    for _ in range(2):
        for name, expected in (("bfloat16", 1.0), ("float16", 1.0009765625)):
            mixed.set_amp(1, dt.convert(name).id)
            assert float(values(F.matmul(x, w))[0, 0]) == expected


def test_amp_gradients_of_a_cast_parameter_add_up(layer):
    """The same parameter in several calls, with and without gradient mode."""
    w, call = layer
    x = tensor(np.ones((2, 3), "f4"))
    with no_grad_guard():
        call()
    y = F.add(F.cast(F.matmul(x, w), dtype=dt.float32), F.cast(F.matmul(x, w), dtype=dt.float32))
    backward(total(y))
    np.testing.assert_array_equal(grad_of(w), np.full((3, 4), 4.0))
    assert w.grad.dtype is dt.float32


def test_modes_have_plans_of_their_own():
    ctx = context.current()
    op = F.REGISTRY["exp"]()
    op.clear()
    x = tensor([1.0])
    F.exp(x)
    ctx.set_amp(1, dt.bfloat16.id)
    try:
        F.exp(x)
    finally:
        ctx.set_amp(0, 0)
    assert op.table_size() == 2


def test_no_op_needs_python_for_its_sizes():
    """What the tests of this process met; tests/ops goes over all ops."""
    assert not {k: v for k, v in plan.PYTHON_INFER.items() if k in F.REGISTRY}
