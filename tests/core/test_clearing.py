"""Clearing gradients to zeros: nothing is written until somebody looks, and nobody can tell."""

from __future__ import annotations

from collections import Counter
from contextlib import contextmanager

import numpy as np
import pytest
from harness import NULL, backward, grad_of, leaf, tensor, values

from umiak import ops as F
from umiak.core import array, inplace, leaf_gradients, tape
from umiak.core import dtype as dt
from umiak.core.context import no_grad_guard
from umiak.core.launches import time_launches
from umiak.core.optimizer_step import drop_gradients, gradients, zero_gradients

WAYS = {
    "clear_grad": lambda x: x.clear_grad(),
    "clear_gradient": lambda x: x.clear_gradient(),
    "together": lambda x: zero_gradients([x]),
}


@contextmanager
def launches():
    """Counts launches inside, by op."""
    counts = Counter()

    class Timer:
        def start(self):
            return None

        def stop(self, token, seconds, plan, operands, outputs, dims):
            counts[plan.op.name] += 1

    time_launches(Timer())
    try:
        yield counts
    finally:
        time_launches(None)


def run(x, weight):
    """Adds ``weight`` to the gradient of ``x``."""
    backward(F.mul(x, tensor(weight, weight.dtype)))


def with_gradient(value=(1.0, 2.0), dtype=np.float64):
    x = leaf(np.asarray(value), dtype)
    run(x, np.asarray(value).astype(dtype))
    return x


# --- what is launched ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)
def test_the_first_gradient_takes_the_place(way):
    x = with_gradient()
    with launches() as counts:
        way(x)
        assert leaf_gradients.is_cleared(x) and not counts
        run(x, np.array([5.0, 6.0]))
    assert not leaf_gradients.is_cleared(x)
    assert counts["full"] == 1 and "add" not in counts  # the ones that a run begins with; no zeros, and no sum
    np.testing.assert_array_equal(grad_of(x), [5, 6])


def test_who_looks_has_zeros_made_once():
    x = with_gradient()
    x.clear_grad()
    with launches() as counts:
        g = x.grad
        assert x.grad is g and gradients([x])[0] is g
    assert counts == {"full": 1}
    np.testing.assert_array_equal(values(g), [0, 0])
    run(x, np.array([5.0, 6.0]))
    np.testing.assert_array_equal(grad_of(x), [5, 6])
    np.testing.assert_array_equal(values(g), [0, 0])


def test_no_gradient_stays_none():
    x = leaf([1.0])
    for way in WAYS.values():
        way(x)
        assert x.grad is None and not leaf_gradients.is_cleared(x)
    x = with_gradient()
    x.clear_grad()
    x.clear_gradient(False)
    assert x.grad is None
    x = with_gradient()
    x.clear_grad()
    drop_gradients([x])
    assert x.grad is None
    run(x, np.array([5.0, 6.0]))
    np.testing.assert_array_equal(grad_of(x), [5, 6])


# --- who else has the gradient ---------------------------------------------------------------------------------------


def test_holders_of_the_tensor_see_zeros():
    x = with_gradient()
    g = x.grad
    first = F.slice(g, axes=(0,), starts=(0,), sizes=(1,), steps=(1,))
    before = g.inplace_version
    x.clear_grad()
    np.testing.assert_array_equal(values(g), [0, 0])
    np.testing.assert_array_equal(values(first), [0])
    assert g.inplace_version > before and x.grad is g
    run(x, np.array([5.0, 6.0]))
    np.testing.assert_array_equal(grad_of(x), [5, 6])
    np.testing.assert_array_equal(values(g), [0, 0])


def test_what_is_written_through_a_holder_counts():
    x = with_gradient()
    x.clear_grad()
    inplace.apply_into(F.Add(), (x.grad,), (x.grad, 1.0))
    np.testing.assert_array_equal(grad_of(x), [1, 1])
    run(x, np.array([5.0, 6.0]))
    np.testing.assert_array_equal(grad_of(x), [6, 7])


def test_a_detached_holder_sees_zeros_and_an_array_what_it_was():
    x = with_gradient()
    alias, shown = x.grad.detach(), array.to_numpy(x.grad)
    x.clear_grad()
    np.testing.assert_array_equal(values(alias), [0, 0])
    x = with_gradient()
    shown = array.to_numpy(x.grad)
    x.clear_grad()
    np.testing.assert_array_equal(shown, [1, 2])
    np.testing.assert_array_equal(grad_of(x), [0, 0])


def test_a_tensor_that_was_assigned_is_left_alone():
    x, g = leaf([1.0, 2.0]), tensor([5.0, 6.0])
    x.grad = g
    x.clear_grad()
    np.testing.assert_array_equal(values(g), [5, 6])
    np.testing.assert_array_equal(grad_of(x), [0, 0])


def test_a_gradient_with_a_history_is_left_alone():
    x = leaf([3.0])
    tape.backward([F.mul(F.mul(x, x), x)], create_graph=True)
    g = x.grad
    x.clear_grad()
    np.testing.assert_array_equal(values(g), [27])
    np.testing.assert_array_equal(grad_of(x), [0])
    backward(g)
    np.testing.assert_array_equal(grad_of(x), [18])


# --- what the zeros are like -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.complex64])
@pytest.mark.parametrize("shape", [(), (0,), (3, 2), (1,) * 9 + (2,)])
def test_zeros_are_like_the_tensor(shape, dtype):
    x = with_gradient(np.ones(shape), dtype)
    x.clear_grad()
    assert leaf_gradients.is_cleared(x)
    assert x.grad.shape == list(shape) and x.grad.dtype is x.dtype and x.grad.place is x.place
    np.testing.assert_array_equal(grad_of(x), np.zeros(shape, dtype))


def test_a_gradient_unlike_the_tensor_stays_so():
    x = leaf([1.0, 2.0], np.float32)
    x.grad = tensor([1.0, 2.0], np.float64)
    x.clear_grad()
    assert x.grad.dtype is dt.float64
    np.testing.assert_array_equal(grad_of(x), [0, 0])


def test_zeros_on_another_place():
    x = leaf([1.0, 2.0], place=NULL)
    backward(F.mul(x, 2.0))
    x.clear_grad()
    assert x.grad.place is NULL


def test_zeros_are_like_what_the_tensor_was():
    """Another shape, given in place, is that of later gradients."""
    x = with_gradient([1.0, 2.0])
    x.clear_grad()
    x._share(tensor([[1.0], [2.0], [3.0]]))
    assert x.grad.shape == [2]


def test_hooks_and_retained_gradients():
    x = leaf([1.0, 2.0])
    seen = []
    x.register_hook(lambda g: seen.append(values(g)))
    y = F.mul(x, 3.0)
    y.retain_grads()
    for k in range(3):
        backward(F.mul(y, y), retain_graph=True)
        np.testing.assert_array_equal(grad_of(y), [6, 12])
        y.clear_grad()
        assert leaf_gradients.is_cleared(y) and len(seen) == k + 1
    np.testing.assert_array_equal(grad_of(y), [0, 0])
    np.testing.assert_array_equal(np.stack(seen), [[18, 36]] * 3)


# --- any order of all of it ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(30))
def test_random_programs(seed):
    """What happens to gradients and to who holds them is what filling at once would do."""
    rng = np.random.default_rng(seed)
    dtype = [np.float32, np.float64][seed % 2]
    leaves = [leaf(rng.integers(-4, 5, (2, 3)), dtype) for _ in range(3)]
    now = [None] * 3  # the gradients; an array stands for a tensor, so that those who hold it see writes
    given = [False] * 3
    held = []

    def clear(i, way):
        way(leaves[i])
        if now[i] is None:
            return
        if any(a is now[i] for _, a in held) and not given[i]:
            now[i][...] = 0
        else:
            now[i], given[i] = np.zeros((2, 3), dtype), False

    for _ in range(40):
        i = int(rng.integers(3))
        kind = rng.choice(["run", "run", "clear", "clear", "look", "hold", "write", "drop", "assign", "release"])
        if kind == "run":
            both = [i] if rng.random() < 0.5 else [i, (i + 1) % 3]
            weights = [rng.integers(-4, 5, (2, 3)).astype(dtype) for _ in both]
            backward(*[F.mul(leaves[k], tensor(w, dtype)) for k, w in zip(both, weights)])
            for k, w in zip(both, weights):
                now[k], given[k] = w if now[k] is None else now[k] + w, False
        elif kind == "clear":
            clear(i, WAYS[rng.choice(list(WAYS))])
        elif kind == "look":
            assert (leaves[i].grad is None) == (now[i] is None)
        elif kind == "hold" and now[i] is not None:
            held.append((leaves[i].grad, now[i]))
        elif kind == "write" and now[i] is not None:
            with no_grad_guard():
                inplace.apply_into(F.Add(), (leaves[i].grad,), (leaves[i].grad, 2.0))
            now[i] += 2
        elif kind == "drop":
            leaves[i].clear_gradient(False)
            now[i] = None
        elif kind == "assign":
            now[i] = rng.integers(-4, 5, (2, 3)).astype(dtype)
            leaves[i].grad, given[i] = tensor(now[i], dtype), True
        elif kind == "release" and held:
            held.pop(int(rng.integers(len(held))))
        for t, a in held:
            np.testing.assert_array_equal(values(t), a)
    for x, a in zip(leaves, now):
        if a is None:
            assert x.grad is None
        else:
            np.testing.assert_array_equal(grad_of(x), a)
