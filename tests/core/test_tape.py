"""The tape: what accumulates where, hooks, partial gradients, higher derivatives, threads, depth."""

from __future__ import annotations

import gc
import subprocess
import sys
import weakref

import numpy as np
import pytest
from garbage import collect_garbage
from harness import NULL, backward, count_plans, grad_of, leaf, leaves_nothing, run_threads, tensor, values

from umiak import ops as F
from umiak.core import context, inplace, python_nodes, tape
from umiak.core import dtype as dt
from umiak.core.context import no_grad_guard


def total(x):
    return F.sum(x, axes=tuple(range(x.ndim)))


# --- what accumulates ------------------------------------------------------------------------------------------------


def test_gradients_accumulate():
    x = leaf([1.0, 2.0])
    backward(total(F.mul(x, x)))
    np.testing.assert_array_equal(grad_of(x), [2, 4])
    backward(total(F.mul(x, 3.0)))
    np.testing.assert_array_equal(grad_of(x), [5, 7])


def test_several_roots_and_weights():
    x = leaf([1.0, 2.0])
    y, z = F.mul(x, x), F.mul(x, 5.0)
    tape.backward([y, z, y], [tensor([1.0, 10.0]), None, None])
    np.testing.assert_array_equal(grad_of(x), 2 * np.array([1.0, 2.0]) * np.array([2.0, 11.0]) + 5)


def test_root_that_is_a_leaf():
    x = leaf([1.0, 2.0])
    backward(x)
    np.testing.assert_array_equal(grad_of(x), [1, 1])
    tape.backward([x], [tensor([3.0, 4.0])])
    np.testing.assert_array_equal(grad_of(x), [4, 5])


def test_root_of_any_shape_starts_with_ones():
    x = leaf(np.arange(6.0).reshape(2, 3))
    backward(F.mul(x, x))
    np.testing.assert_array_equal(grad_of(x), 2 * np.arange(6.0).reshape(2, 3))


def test_operand_used_twice():
    x = leaf([3.0])
    backward(F.mul(F.mul(x, x), F.add(x, x)))
    np.testing.assert_array_equal(grad_of(x), [54])


def test_root_reached_through_another_root():
    x = leaf([2.0])
    y = F.mul(x, x)
    z = F.mul(y, y)
    backward(z, y)
    np.testing.assert_array_equal(grad_of(x), [4 * 8 + 4])


def test_gradient_is_not_shared_between_leaves():
    """add passes its gradient to both operands; writing to one .grad must not show in the other or in the seed."""
    x, y, seed = leaf([1.0, 1.0]), leaf([1.0, 1.0]), tensor([5.0, 6.0])
    tape.backward([F.add(x, y)], [seed])
    inplace.apply_into(F.REGISTRY["mul"](), (x.grad,), (x.grad, 0.0))
    np.testing.assert_array_equal(grad_of(y), [5, 6])
    np.testing.assert_array_equal(values(seed), [5, 6])
    tape.backward([F.add(x, y)], [seed])
    np.testing.assert_array_equal(grad_of(x), [5, 6])
    np.testing.assert_array_equal(grad_of(y), [10, 12])


def test_held_gradient_is_not_written_by_a_later_backward():
    x = leaf([1.0, 2.0])
    backward(F.mul(x, 2.0))
    held = x.grad
    alias = held.detach()
    view = F.slice(held, axes=(0,), starts=(0,), sizes=(1,), steps=(1,))
    del held
    backward(F.mul(x, 2.0))
    np.testing.assert_array_equal(grad_of(x), [4, 4])
    np.testing.assert_array_equal(values(alias), [2, 2])
    np.testing.assert_array_equal(values(view), [2])


def test_gradient_has_no_history_without_create_graph():
    x = leaf([2.0])
    backward(F.mul(x, x))
    assert x.grad.stop_gradient and x.grad.is_leaf
    x.grad = None
    backward(F.mul(x, x), create_graph=True)
    assert not x.grad.stop_gradient
    x.grad = None


def test_broadcast_operands_get_gradients_of_their_shape():
    x, b, s = leaf(np.ones((2, 3))), leaf(np.ones(3)), leaf(2.0)
    backward(total(F.mul(F.add(x, b), s)))
    assert x.grad.shape == [2, 3] and b.grad.shape == [3] and s.grad.shape == []
    np.testing.assert_array_equal(grad_of(b), [4, 4, 4])
    np.testing.assert_array_equal(grad_of(s), 12.0)


def test_layouts_of_gradients(rng):
    """The gradient of a transposed leaf need not be contiguous; accumulation copes."""
    x = leaf(rng.standard_normal((3, 4)))
    w = rng.standard_normal((4, 3))
    for _ in range(3):
        backward(total(F.mul(F.permute(x, perm=(1, 0)), tensor(w))))
    np.testing.assert_allclose(grad_of(x), 3 * w.T)
    assert x.grad.shape == [3, 4]


def test_expanded_gradients_accumulate(rng):
    """sum's gradient is a broadcast view with stride 0; adding to it must not write through it."""
    x = leaf(rng.standard_normal((3, 4)))
    backward(total(x))
    backward(total(F.mul(x, 2.0)))
    backward(total(x))
    np.testing.assert_array_equal(grad_of(x), np.full((3, 4), 4.0))


def test_nothing_to_differentiate():
    """A tensor that needs no gradient gives none: that is no error."""
    constant = tensor([1.0])
    backward(constant)
    assert constant.grad is None
    x = leaf([1.0])
    with no_grad_guard():
        y = F.mul(x, x)
    assert y.stop_gradient and y.is_leaf
    backward(y)
    assert x.grad is None
    z = F.mul(x, x)
    backward(y, z)
    np.testing.assert_array_equal(grad_of(x), [2.0])


@pytest.mark.parametrize(
    ("seed", "error"),
    [(np.ones(3), ValueError), (np.ones((2, 1)), ValueError), (np.ones(2, "f4"), TypeError)],
    ids=["size", "rank", "dtype"],
)
def test_seed_must_fit(seed, error):
    x = leaf([1.0, 2.0])
    with pytest.raises(error, match=r"^\[backward\] requires a gradient of the tensor's"):
        tape.backward([F.mul(x, x)], [tensor(seed)])


def test_seed_must_be_a_tensor_and_as_many_as_roots():
    x = leaf([1.0, 2.0])
    with pytest.raises(TypeError, match=r"^\[backward\] requires a Tensor or None"):
        tape.backward([F.mul(x, x)], [1.0])
    with pytest.raises(ValueError, match=r"^\[backward\] requires one gradient per tensor \(1\), got 2"):
        tape.backward([F.mul(x, x)], [None, None])


# --- retaining -------------------------------------------------------------------------------------------------------


def test_second_backward_needs_retain_graph():
    x = leaf([2.0])
    y = F.mul(x, x)
    backward(y, retain_graph=True)
    backward(y)
    np.testing.assert_array_equal(grad_of(x), [8])
    with pytest.raises(
        RuntimeError, match=r"^\[backward\] requires a graph that is still there.*mul.*retain_graph=True"
    ):
        backward(y)
    np.testing.assert_array_equal(grad_of(x), [8])


def test_partly_freed_graph():
    """A second root that shares freed nodes is refused; one that shares nothing is not."""
    x = leaf([2.0])
    y = F.mul(x, x)
    z, w = F.exp(y), F.mul(x, 3.0)
    backward(z)
    with pytest.raises(RuntimeError, match="retain_graph"):
        backward(F.mul(y, 1.0))
    backward(w)


def test_saved_tensors_are_freed_by_backward():
    x = leaf(np.ones(1000))
    y = F.mul(x, 2.0)
    held = weakref.ref(y)
    z = total(F.mul(y, y))
    del y
    assert held() is not None
    backward(z)
    assert held() is None


def test_failed_backward_leaves_the_graph_usable():
    x = leaf([2.0])
    y = F.mul(x, x)

    def fail(g):
        raise ArithmeticError("no")

    handle = y.register_hook(fail)
    z = F.mul(y, y)
    with pytest.raises(ArithmeticError, match="no"):
        backward(z, retain_graph=True)
    assert x.grad is None
    handle.remove()
    backward(z)
    np.testing.assert_array_equal(grad_of(x), [32])
    assert context.current().grad_enabled


# --- hooks -----------------------------------------------------------------------------------------------------------


def test_leaf_hook_sees_the_whole_gradient_once():
    x = leaf([2.0])
    seen = []
    handle = x.register_hook(lambda g: seen.append(values(g)))
    backward(F.add(F.mul(x, x), F.mul(x, 3.0)))
    assert len(seen) == 1
    np.testing.assert_array_equal(seen[0], [7])
    np.testing.assert_array_equal(grad_of(x), [7])
    assert handle.remove()
    assert not handle.remove()
    backward(F.mul(x, x))
    assert len(seen) == 1


def test_leaf_hook_replaces():
    x = leaf([2.0])
    x.register_hook(lambda g: F.mul(g, 10.0))
    x.register_hook(lambda g: F.add(g, 1.0))
    backward(F.mul(x, x))
    np.testing.assert_array_equal(grad_of(x), [41])


def test_hook_of_a_leaf_that_is_the_root():
    x = leaf([2.0])
    x.register_hook(lambda g: F.mul(g, 10.0))
    backward(x)
    np.testing.assert_array_equal(grad_of(x), [10])


def test_hook_sums_over_roots_and_graph():
    x = leaf([2.0])
    seen = []
    x.register_hook(lambda g: seen.append(float(values(g)[0])))
    backward(x, F.mul(x, x))
    np.testing.assert_array_equal(grad_of(x), [5])
    assert seen == [5.0]


def test_non_leaf_hook_replaces_and_is_seen_below():
    x = leaf([2.0])
    y = F.mul(x, x)
    seen = []
    y.register_hook(lambda g: (seen.append(float(values(g)[0])), F.mul(g, 100.0))[1])
    y.retain_grads()
    backward(F.add(F.mul(y, 2.0), F.mul(y, 3.0)))
    assert seen == [5.0]
    np.testing.assert_array_equal(grad_of(y), [500])
    np.testing.assert_array_equal(grad_of(x), [2000])


def test_hook_result_must_be_a_tensor():
    x = leaf([2.0])
    x.register_hook(lambda g: 3.0)
    with pytest.raises(TypeError, match=r"^\[hook\] requires a Tensor or None"):
        backward(F.mul(x, x))


def test_hook_on_a_tensor_without_gradient():
    with pytest.raises(RuntimeError, match=r"^\[register_hook\] requires"):
        tensor([1.0]).register_hook(lambda g: None)
    with pytest.raises(TypeError, match="requires a callable"):
        leaf([1.0]).register_hook(3)


def test_hook_removes_itself():
    x = leaf([2.0])
    calls = []

    def once(g):
        calls.append(1)
        handle.remove()

    handle = x.register_hook(once)
    other = x.register_hook(lambda g: calls.append(2))
    backward(F.mul(x, x))
    backward(F.mul(x, x))
    assert calls == [1, 2, 2]
    other.remove()


def test_node_hooks():
    x = leaf([3.0])
    y = F.mul(x, x)
    log = []
    pre = y.grad_fn.register_prehook(lambda grads: (log.append(("pre", len(grads))), (F.mul(grads[0], 2.0),))[1])
    post = y.grad_fn.register_hook(
        lambda ins, outs: (log.append(("post", len(ins), float(values(outs[0])[0]))), (None, ins[1]))[1]
    )
    backward(y, retain_graph=True)
    assert log == [("pre", 1), ("post", 2, 2.0)]
    np.testing.assert_array_equal(grad_of(x), [6])
    pre.remove()
    post.remove()
    backward(y)
    np.testing.assert_array_equal(grad_of(x), [12])


def test_retain_grads():
    x = leaf([3.0])
    y = F.mul(x, x)
    z = F.mul(y, 2.0)
    y.retain_grads()
    backward(z, retain_graph=True)
    np.testing.assert_array_equal(grad_of(y), [2])
    backward(z)
    np.testing.assert_array_equal(grad_of(y), [4])
    np.testing.assert_array_equal(grad_of(x), [24])
    assert tensor([1.0]).retain_grads() is None  # nothing is to be kept


def test_retained_gradient_of_a_tensor_that_is_gone():
    x = leaf([3.0])
    y = F.exp(x)
    y.retain_grads()
    z = total(y)
    del y
    backward(z)
    np.testing.assert_allclose(grad_of(x), np.exp([3.0]))


def test_grad_leaves_retained_gradients_and_leaves_alone():
    x = leaf([3.0])
    y = F.mul(x, x)
    y.retain_grads()
    (g,) = tape.grad([y], [x])
    np.testing.assert_array_equal(values(g), [6])
    assert x.grad is None and y.grad is None


# --- grad() ----------------------------------------------------------------------------------------------------------


def test_grad_of_non_leaf_and_duplicate_inputs():
    x = leaf([2.0])
    y = F.mul(x, x)
    z = F.mul(F.mul(y, y), x)
    found = tape.grad([z], [y, x, y, x])
    for g, expected in zip(found, (2 * 4 * 2.0, 5 * 16.0, 16.0, 80.0)):
        np.testing.assert_array_equal(values(g), [expected])
    assert x.grad is None


def test_grad_of_an_output_itself():
    x = leaf([2.0])
    y = F.mul(x, x)
    gx, gy = tape.grad([y], [x, y], [tensor([3.0])])
    np.testing.assert_array_equal(values(gy), [3])
    np.testing.assert_array_equal(values(gx), [12])
    (g,) = tape.grad([x], [x])
    np.testing.assert_array_equal(values(g), [1])


def test_unused_inputs():
    x, u = leaf([2.0]), leaf([1.0])
    y = F.mul(x, x)
    with pytest.raises(
        ValueError,
        match=r"^\[grad\] requires inputs that the outputs depend on, got an unused one at position 1.*allow_unused",
    ):
        tape.grad([y], [x, u], retain_graph=True)
    gx, gu = tape.grad([y], [x, u], allow_unused=True)
    assert gu is None
    np.testing.assert_array_equal(values(gx), [4])


def test_input_without_gradient_is_refused():
    x = leaf([2.0])
    with pytest.raises(RuntimeError, match=r"^\[grad\] requires inputs with stop_gradient=False.*position 1"):
        tape.grad([F.mul(x, x)], [x, tensor([1.0])])


def test_no_grad_vars_stop_gradients():
    x = leaf([2.0])
    y = F.mul(x, x)
    z = F.add(F.mul(y, 3.0), x)
    (g,) = tape.grad([z], [x], no_grad_vars=[y])
    np.testing.assert_array_equal(values(g), [1])


def test_no_grad_vars_that_are_leaves():
    x, w = leaf([2.0]), leaf([5.0])
    gx, gw = tape.grad([F.mul(x, w)], [x, w], no_grad_vars=[w], allow_unused=True)
    np.testing.assert_array_equal(values(gx), [5])
    assert gw is None


def test_grad_frees_the_graph_unless_told():
    x = leaf([2.0])
    y = F.mul(x, x)
    tape.grad([y], [x], retain_graph=True)
    tape.grad([y], [x])
    with pytest.raises(RuntimeError, match="retain_graph"):
        tape.grad([y], [x])
    y = F.mul(x, x)
    (g,) = tape.grad([y], [x], create_graph=True)
    (again,) = tape.grad([y], [x])
    np.testing.assert_array_equal(values(g), values(again))


def test_grad_result_is_not_a_leaf_alias_of_the_seed():
    """What a user does to the result must not change the seed given, nor .grad of leaves."""
    x, seed = leaf([2.0]), tensor([3.0])
    (g,) = tape.grad([F.add(x, 0.0)], [x], [seed])
    assert g.stop_gradient
    np.testing.assert_array_equal(values(g), [3])


def test_grad_stops_at_the_inputs():
    """What lies below the inputs is not differentiated."""
    x = leaf([2.0])
    calls = []
    y = F.exp(x)
    y.grad_fn.register_prehook(lambda grads: calls.append(1))
    z = F.mul(y, y)
    tape.grad([z], [y])
    assert not calls


def test_grad_of_several_outputs_with_weights():
    x = leaf([1.0, 2.0])
    y, z = F.mul(x, x), F.exp(x)
    (g,) = tape.grad([y, z], [x], [tensor([1.0, 0.0]), None])
    np.testing.assert_allclose(values(g), [2 + np.e, np.exp(2)])


def test_grad_with_hooks_on_inputs():
    """Hooks of an input see its gradient under grad() as well, and replace it."""
    x = leaf([2.0])
    x.register_hook(lambda g: F.mul(g, 10.0))
    (g,) = tape.grad([F.mul(x, x)], [x])
    np.testing.assert_array_equal(values(g), [40])
    y = F.mul(x, x)
    y.register_hook(lambda g: F.mul(g, 10.0))
    (g,) = tape.grad([F.mul(y, 1.0)], [y])
    np.testing.assert_array_equal(values(g), [10])


# --- higher derivatives ----------------------------------------------------------------------------------------------


def derivatives(f, x0: float, order: int) -> list[float]:
    x = leaf([x0])
    y, found = f(x), []
    for _ in range(order):
        (y,) = tape.grad([y], [x], create_graph=True)
        found.append(float(values(y)[0]))
    return found


def test_third_order_of_a_polynomial():
    assert derivatives(lambda x: F.mul(F.mul(x, x), F.mul(x, x)), 2.0, 4) == [32, 48, 48, 24]


def test_third_order_through_saved_outputs():
    e = np.exp(0.5)
    np.testing.assert_allclose(derivatives(F.exp, 0.5, 4), [e] * 4)
    t = np.tanh(0.5)
    d1, d2 = 1 - t * t, -2 * t * (1 - t * t)
    np.testing.assert_allclose(derivatives(F.tanh, 0.5, 3), [d1, d2, -2 * (d1 * d1 + t * d2)])
    s = 1 / (1 + np.exp(-0.5))
    np.testing.assert_allclose(derivatives(F.logistic, 0.5, 2), [s * (1 - s), s * (1 - s) * (1 - 2 * s)])


def test_third_order_through_views():
    def f(x):
        both = F.concat((x, F.mul(x, x)), axis=0)
        matrix = F.permute(F.reshape(both, shape=(1, 2)), perm=(1, 0))
        part = F.reshape(F.slice(matrix, axes=(0,), starts=(1,), sizes=(1,), steps=(1,)), shape=(1,))
        return F.mul(part, x)

    assert derivatives(f, 2.0, 3) == [12, 12, 6]


def numeric_third(f, x0, direction, h=1e-2):
    """Third directional derivative of the sum of f by central differences."""
    at = [f(x0 + k * h * direction) for k in (-2, -1, 1, 2)]
    return (-at[0] + 2 * at[1] - 2 * at[2] + at[3]) / (2 * h**3)


@pytest.mark.parametrize(
    "name", ["softmax", "log_softmax", "layer_norm", "rms_norm", "attention", "logsumexp", "gelu", "std"]
)
def test_third_order_through_residuals(name, rng):
    calls = {
        "softmax": lambda x: F.softmax(x, axis=1), "log_softmax": lambda x: F.log_softmax(x, axis=1), "gelu": F.gelu,
        "logsumexp": lambda x: F.logsumexp(x, axes=(1,)), "std": lambda x: F.std(x, axes=(1,)),
        "layer_norm": lambda x: F.layer_norm(x, None, None, 1), "rms_norm": lambda x: F.rms_norm(x, None, None, 1),
        "attention": lambda x: F.attention(*(F.reshape(x, (1, 3, 1, 4)),) * 3, None, False, 0.5),
    }  # fmt: skip
    op = calls[name]
    x0, direction = rng.standard_normal((3, 4)), rng.standard_normal((3, 4))
    weights = {}

    def scalar(x):
        y = op(x)
        w = weights.setdefault(tuple(y.shape), np.random.default_rng(1).standard_normal(y.shape))
        return total(F.mul(F.mul(y, y), tensor(w)))

    x, d = leaf(x0), tensor(direction)
    y = scalar(x)
    for _ in range(3):
        (g,) = tape.grad([y], [x], create_graph=True)
        y = total(F.mul(g, d))
    expected = numeric_third(lambda a: float(values(scalar(tensor(a)))), x0, direction)
    np.testing.assert_allclose(float(values(y)), expected, rtol=2e-2, atol=2e-2)


def test_grad_of_grad_reaches_other_leaves():
    """d/dw of |dy/dx|²: a gradient penalty."""
    x, w = leaf([2.0]), leaf([3.0])
    y = F.mul(F.mul(w, w), F.mul(x, x))
    (g,) = tape.grad([y], [x], create_graph=True)
    backward(F.mul(g, g))
    # g = 2 w² x
    np.testing.assert_array_equal(grad_of(w), [2 * 36 * (4 * 3 * 2)])
    np.testing.assert_array_equal(grad_of(x), [2 * 36 * (2 * 9)])


def test_weights_of_outputs_are_differentiated():
    """Double backward through grad_outputs: the trick behind jvp."""
    x, v = leaf([2.0, 3.0]), leaf([1.0, 1.0])
    y = F.mul(x, F.mul(x, x))
    (g,) = tape.grad([y], [x], [v], create_graph=True)
    (jvp,) = tape.grad([g], [v], [tensor([1.0, 10.0])])
    np.testing.assert_array_equal(values(jvp), [12, 270])


# --- several outputs -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("used", [(0,), (1,), (2,), (0, 2), (0, 1, 2)])
def test_absent_gradients_of_outputs(used):
    x = leaf(np.arange(6.0))
    parts = F.split(x, axis=0, sections=(1, 2, 3))
    chosen = F.concat(tuple(F.mul(parts[i], float(i + 1)) for i in used), axis=0)
    backward(total(chosen))
    expected = np.repeat([float(i + 1) if i in used else 0.0 for i in range(3)], [1, 2, 3])
    np.testing.assert_array_equal(grad_of(x), expected)


@pytest.mark.parametrize("used", [(0,), (1,), (0, 1)])
def test_absent_gradients_of_a_factorisation(used, rng):
    """qr: each mask of present gradients is a vjp of its own."""
    a = rng.standard_normal((3, 3))
    weights = [rng.standard_normal((3, 3)) for _ in range(2)]

    def scalar(x):
        outs = F.qr(x)
        parts = [total(F.mul(outs[i], tensor(weights[i]))) for i in used]
        return parts[0] if len(parts) == 1 else F.add(*parts)

    x, d, h = leaf(a), rng.standard_normal((3, 3)), 1e-6
    backward(scalar(x))
    numeric = (float(values(scalar(tensor(a + h * d)))) - float(values(scalar(tensor(a - h * d))))) / (2 * h)
    np.testing.assert_allclose((grad_of(x) * d).sum(), numeric, rtol=1e-5)


def test_integer_outputs_carry_no_gradient():
    x = leaf([3.0, 1.0, 2.0])
    ordered, index = F.sort(x, axis=0)
    assert not ordered.stop_gradient
    assert index.stop_gradient and index.is_leaf
    backward(total(F.mul(ordered, tensor([1.0, 10.0, 100.0]))))
    np.testing.assert_array_equal(grad_of(x), [100, 1, 10])


def test_masks_are_traced_once():
    x = leaf(np.arange(6.0))

    def use(i):
        backward(total(F.split(x, axis=0, sections=(1, 2, 3))[i]))

    for i in range(3):
        use(i)
    with count_plans() as counts:
        for i in range(3):
            use(i)
    assert not counts


def test_saves_follow_needs():
    """mul saves only the operand that the wanted gradient uses."""
    x, w = leaf(np.ones(3)), tensor(np.ones(3))
    held_x, held_w = weakref.ref(x), weakref.ref(w)
    y = F.mul(F.neg(x), w)
    assert y.grad_fn.next_functions[1] is None
    negated = F.neg(x)
    held = weakref.ref(negated)
    y = F.mul(negated, w)
    del negated
    assert held() is None, "the operand whose value no wanted gradient uses is kept"
    del w
    assert held_w() is not None and held_x() is not None
    backward(y)


# --- nesting and threads ---------------------------------------------------------------------------------------------


def test_backward_inside_a_hook():
    x, w = leaf([2.0]), leaf([3.0])
    inner = F.mul(w, w)
    x.register_hook(lambda g: backward(inner))
    backward(F.mul(x, x))
    np.testing.assert_array_equal(grad_of(x), [4])
    np.testing.assert_array_equal(grad_of(w), [6])


def test_backward_over_the_same_graph_inside_a_hook():
    x = leaf([2.0])
    y = F.mul(x, x)
    z = F.mul(y, y)
    seen = []

    def hook(g):
        if not seen:
            seen.append(None)
            (inner,) = tape.grad([z], [x], retain_graph=True)
            seen[0] = float(values(inner)[0])

    y.register_hook(hook)
    backward(z, retain_graph=True)
    assert seen == [32.0]
    np.testing.assert_array_equal(grad_of(x), [32])


def test_python_node_that_calls_backward():
    """Recomputation: the gradient of a block runs its forward and a backward of its own."""
    x = leaf([2.0])
    with no_grad_guard():
        y = F.mul(F.mul(x, x), x)

    def gradient(g):
        inner = x.detach()
        inner.stop_gradient = False
        ctx = context.current()
        before, ctx.grad_enabled = ctx.grad_enabled, True
        out = F.mul(F.mul(inner, inner), inner)
        ctx.grad_enabled = before
        tape.backward([out], [g])
        return (inner.grad,)

    y = y.detach()
    python_nodes.python_node("recompute", [x], [y], gradient)
    backward(F.mul(y, 2.0))
    np.testing.assert_array_equal(grad_of(x), [24])


def test_recomputation_records_inside_a_backward():
    """Grad mode is off in a backward without create_graph; what runs there may turn it on."""
    x = leaf([2.0])
    modes = []
    x.register_hook(lambda g: modes.append(context.current().grad_enabled))
    backward(F.mul(x, x))
    assert modes == [False]
    assert context.current().grad_enabled


def test_threads_with_graphs_of_their_own():
    found = {}

    def work(i):
        for _ in range(30):
            x = leaf([float(i), 1.0])
            y = x
            for _ in range(10):
                y = F.mul(F.add(y, 0.0), 1.0)
            backward(total(F.mul(y, y)))
            found[i] = grad_of(x)

    run_threads(work)
    for i in range(4):
        np.testing.assert_array_equal(found[i], [2.0 * i, 2.0])


def test_threads_over_a_shared_graph():
    """Each thread has its own heads over one trunk; all contributions arrive."""
    x = leaf(np.ones(3))
    trunk = x
    for _ in range(20):
        trunk = F.mul(F.add(trunk, 0.0), 1.0)

    def work(i):
        for _ in range(10):
            (g,) = tape.grad([F.mul(trunk, float(i + 1))], [x], retain_graph=True)
            np.testing.assert_array_equal(values(g), np.full(3, i + 1.0))

    run_threads(work)


def test_threads_accumulate_into_one_leaf():
    x = leaf(np.zeros(3))
    trunk = F.mul(x, 2.0)

    def work(i):
        for _ in range(25):
            backward(F.mul(trunk, 1.0), retain_graph=True)

    run_threads(work)
    np.testing.assert_array_equal(grad_of(x), np.full(3, 200.0))


def test_threads_meet_new_classes_together():
    """Several threads miss at once: the table stays whole."""
    op = F.REGISTRY["add"]()
    op.clear()

    def work(i):
        for rank in range(12):
            x = tensor(np.ones((1,) * rank, "f4"))
            for _ in range(5):
                assert F.add(x, x).ndim == rank

    run_threads(work, 6)
    sizes = {len(p) for p in [op.plans()]}
    assert 12 <= op.table_size() <= 12 * 6
    assert sizes == {op.table_size()}


# --- depth -----------------------------------------------------------------------------------------------------------

DEEP = """
import numpy as np, sys, threading
sys.path.insert(0, {support!r})
from harness import backward, leaf, tensor, values
from umiak import ops as F
from umiak.core import tape
def run():
    {body}
threading.stack_size(1 << 20)
t = threading.Thread(target=run)
t.start()
t.join()
print("done")
"""


def deep(body: str) -> None:
    """In a process of its own, on a thread with a stack of 1 MiB."""
    import harness

    code = DEEP.format(support=harness.__file__.rpartition("/")[0], body=body.replace("\n", "\n    "))
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert run.returncode == 0 and run.stdout == "done\n", f"exit {run.returncode}: {run.stderr[-2000:]}"


def test_deep_chain_is_dropped():
    deep("x = leaf([1.0])\ny = x\nfor _ in range(100_000): y = F.neg(y)\ndel y")


def test_deep_chain_with_saved_tensors_is_dropped():
    deep("x = leaf([1.0])\ny = x\nfor _ in range(100_000): y = F.mul(y, y)\ndel y")


def test_deep_chain_runs_backward():
    deep(
        "x = leaf([1.0])\ny = x\nfor _ in range(100_000): y = F.mul(y, 1.0)\n"
        "backward(y)\nassert values(x.grad) == [1.0]\ndel y"
    )


def test_deep_chain_of_views_is_dropped():
    deep("y = leaf([[1.0, 2.0]])\nfor _ in range(10_000): y = F.permute(y, perm=(1, 0))\ndel y")


def test_deep_chain_of_views_is_used():
    deep(
        "x = leaf([[1.0, 2.0]])\nbase = y = F.mul(x, 1.0)\nfor _ in range(10_000): y = F.permute(y, perm=(1, 0))\n"
        "z = F.mul(y, 2.0)\nbackward(z)\nassert values(x.grad).tolist() == [[2.0, 2.0]]"
    )


def test_deep_chain_of_views_is_written():
    deep(
        "x = leaf([[1.0, 2.0]])\nbase = y = F.mul(x, 1.0)\nfor _ in range(2_000): y = F.permute(y, perm=(1, 0))\n"
        "inplace.assign(y, F.mul(y, 3.0))\nbackward(F.mul(base, 1.0))\nassert values(x.grad).tolist() == [[3.0, 3.0]]"
    )


def test_deep_chain_of_writes_is_dropped():
    deep("x = leaf([1.0])\ny = F.mul(x, 1.0)\nfor _ in range(50_000): inplace.assign(y, F.add(y, 1.0))\ndel y")


def test_deep_higher_derivative_graph():
    deep(
        "x = leaf([1.0])\ny = x\nfor _ in range(20_000): y = F.mul(y, 1.0)\n"
        "(g,) = tape.grad([y], [x], create_graph=True)\ndel y\ndel g"
    )


def test_wide_fan_out():
    x = leaf([1.0])
    y = F.mul(x, 1.0)
    parts = tuple(F.mul(y, float(i)) for i in range(2000))
    backward(total(F.concat(parts[:60], axis=0)))
    np.testing.assert_array_equal(grad_of(x), [sum(range(60))])


# --- Python nodes ----------------------------------------------------------------------------------------------------


def test_python_node():
    x, w = leaf([2.0]), leaf([5.0])
    y, z = tensor([7.0]), tensor([8.0])
    seen = []

    def gradient(gy, gz):
        seen.append((gy is None, gz is None))
        return F.mul(gy, 10.0) if gy is not None else None, None

    node = python_nodes.python_node("mine", [x, w, None], [y, z], lambda gy, gz: (*gradient(gy, gz), None))
    assert node.name == "mine"
    assert y.grad_fn is node and z.output_index == 1
    backward(F.mul(y, 3.0), retain_graph=True)
    assert seen == [(False, True)]
    np.testing.assert_array_equal(grad_of(x), [30])
    assert w.grad is None
    backward(z, retain_graph=True)
    assert seen[-1] == (True, False)


def test_python_node_errors():
    x = leaf([2.0])

    def attach(gradient):
        y = tensor([7.0])
        python_nodes.python_node("mine", [x], [y], gradient)
        return y

    with pytest.raises(RuntimeError, match=r"^\[mine\] requires as many gradients as tensor inputs \(1\), got 2"):
        backward(attach(lambda g: (g, g)))
    with pytest.raises(TypeError, match=r"^\[mine\] requires tensors or None as gradients, got float"):
        backward(attach(lambda g: (3.0,)))
    with pytest.raises(ZeroDivisionError):
        backward(attach(lambda g: 1 / 0))


def test_python_node_gradient_must_fit_its_input():
    x = leaf([2.0, 3.0])
    y = tensor([7.0])
    python_nodes.python_node("mine", [x], [y], lambda g: (g,))
    with pytest.raises((ValueError, TypeError, RuntimeError), match=r"^\[mine\]"):
        backward(y)


def test_python_node_is_differentiated_again():
    x = leaf([2.0])
    y = tensor([8.0])
    python_nodes.python_node("cube", [x], [y], lambda g: (F.mul(g, F.mul(3.0, F.mul(x, x))),))
    (g,) = tape.grad([y], [x], create_graph=True)
    (gg,) = tape.grad([g], [x])
    np.testing.assert_array_equal(values(gg), [12])


def test_second_backward_through_a_python_node():
    x = leaf([2.0])
    y = tensor([8.0])
    python_nodes.python_node("mine", [x], [y], lambda g: (g,))
    backward(y)
    with pytest.raises(RuntimeError, match="retain_graph"):
        backward(y)


def test_wide_python_node():
    xs = [leaf([float(i)]) for i in range(40)]
    y = tensor([1.0])
    python_nodes.python_node("wide", xs, [y], lambda g: tuple(F.mul(g, float(i)) for i in range(40)))
    backward(y)
    assert [float(grad_of(x)[0]) for x in xs] == list(range(40))


# --- dtypes and places -----------------------------------------------------------------------------------------------


def test_gradient_on_another_place_than_the_default():
    x = leaf(np.ones((2, 2)), place=NULL)
    backward(total(F.mul(x, x)))
    assert x.grad.place is NULL and x.grad.shape == [2, 2]


@pytest.mark.parametrize("name", ["float16", "bfloat16", "float32", "float64", "complex64", "complex128"])
def test_gradient_has_the_dtype_of_the_leaf(name):
    x = leaf(np.array([1.5, 2.0]), dt.convert(name).numpy)
    tape.backward([F.mul(x, x)])
    assert x.grad.dtype is x.dtype
    np.testing.assert_allclose(values(x.grad).astype("c16"), [3, 4])


def test_casts_are_differentiated():
    x = leaf([1.5, 2.5], "f4")
    backward(total(F.mul(F.cast(x, dtype=dt.float64), 3.0)))
    assert x.grad.dtype is dt.float32
    np.testing.assert_array_equal(grad_of(x), [3, 3])


def test_integer_tensors_get_no_gradient():
    x = tensor(np.int64([1, 2]))
    x.stop_gradient = False
    y = F.add(x, x)
    backward(y)
    assert y.stop_gradient and x.grad is None


def test_garbage_collection_in_the_middle():
    """A collection while a graph is being differentiated breaks nothing."""
    x = leaf([2.0])
    y = F.mul(x, x)
    y.register_hook(lambda g: (gc.collect(), None)[1])
    backward(F.mul(y, y))
    np.testing.assert_array_equal(grad_of(x), [32])


def test_cyclic_graph_is_collected():
    x = leaf([2.0])
    held = weakref.ref(x)
    backward(F.mul(x, x), create_graph=True)  # x.grad's history holds x
    del x
    gc.collect()
    assert held() is None


def test_hook_that_refers_to_its_tensor_is_collected():
    x = leaf([2.0])
    y = F.mul(x, x)
    y.register_hook(lambda g, y=y: y)
    held = weakref.ref(y)
    del y, x
    gc.collect()
    assert held() is None


def test_leaving_nothing_after_an_error_in_a_hook():
    def run():
        x = leaf([2.0])
        y = F.mul(x, x)
        y.register_hook(lambda g: 1 / 0)
        with pytest.raises(ZeroDivisionError) as caught:
            backward(F.mul(y, y))
        del caught

    run()
    collect_garbage()
    from harness import live_objects

    before = live_objects()
    run()
    collect_garbage()
    assert live_objects() == before


def test_nothing_is_left_by_nested_runs():
    def run():
        x = leaf([2.0])
        y = F.mul(x, x)
        z = F.mul(y, y)
        handle = y.register_hook(lambda g: tape.grad([z], [x], retain_graph=True) and None)
        handle.remove()
        backward(z)

    leaves_nothing(run)
