"""Tensors, storages and nodes that are kept for later ones: a new one has nothing of what was there before."""

from __future__ import annotations

import gc
import sys
import weakref

import numpy as np
import pytest

import paddle
from tests.support.garbage import collect_garbage
from umiak.core.tensor import Tensor


def graph(depth):
    x = paddle.ones([2])
    x.stop_gradient = False
    y = x
    for _ in range(depth):
        y = y + 1.0
    return y


def full_of_everything():
    """A tensor with something in each of its fields, and what hangs on it."""
    x = paddle.ones([2, 1, 1, 1, 1, 1, 1, 1, 1, 3])  # more dims than lie within a tensor
    x.stop_gradient = False
    x.own = "mine"
    x.register_hook(lambda g: g)
    y = x.reshape([2, 3])
    y.retain_grads()
    (y * y).sum().backward()
    return x, y


def test_a_new_tensor_has_nothing_of_a_former_one():
    for _ in range(3):
        former = full_of_everything()
        del former
    for made in (paddle.zeros([2, 2]), paddle.zeros([2, 2])[0], paddle.zeros([2]).detach(), paddle.zeros([2]) + 1):
        assert made.stop_gradient and made.grad is None and made.is_leaf and made.inplace_version == 0
        assert not hasattr(made, "own") and not made._attributes
        assert made.ndim == len(made.shape) == len(made.strides) <= 2
    assert "own" not in vars(paddle.zeros([1]))


def test_more_than_are_kept():
    for _ in range(3):
        many = [paddle.full([3], float(i)) for i in range(2000)]
        np.testing.assert_array_equal(np.stack([t.numpy() for t in many])[:, 1], np.arange(2000))
        del many


def test_long_graphs_are_freed_without_recursion():
    for _ in range(2):
        y = graph(20000)
        del y
    x = paddle.ones([2])
    x.stop_gradient = False
    y = x
    for _ in range(3000):
        y = y + 1.0
    y.sum().backward()
    np.testing.assert_array_equal(x.grad.numpy(), [1.0, 1.0])


def test_weak_references_end():
    told = []
    for make in (lambda: paddle.ones([2]), lambda: paddle.ones([2]).storage, lambda: graph(2).grad_fn):
        x = make()
        ref = weakref.ref(x, told.append)
        del x
        assert ref() is None
    assert len(told) == 3


def test_a_finaliser_runs():
    class Own(paddle.Tensor):
        def __del__(self):
            seen.append(1)

    seen: list[int] = []
    x = Own([1.0, 2.0])
    del x
    gc.collect()
    assert seen


def test_subclasses_are_their_own():
    class Own(paddle.Tensor):
        pass

    before = Own([1.0])
    before.note = 1
    del before
    for _ in range(4):
        made = Own([2.0])
        assert type(made) is Own and not hasattr(made, "note")
        assert type(made + 1) in (Own, Tensor)


def test_cycles_are_collected():
    x = paddle.ones([2])
    x.me = x
    ref = weakref.ref(x)
    del x
    gc.collect()
    assert ref() is None
    assert not hasattr(paddle.ones([2]), "me")


@pytest.mark.usefixtures("no_garbage")
@pytest.mark.skipif(sys.version_info >= (3, 12), reason="None is immortal")
def test_references_to_none_are_balanced():
    def work():
        for _ in range(200):
            x = paddle.ones([2, 2])
            x.stop_gradient = False
            y = (x * x + x)[0].sum()
            y.backward()
            x.clear_grad()

    for _ in range(20):
        work()
    collect_garbage()
    before = sys.getrefcount(None)
    for _ in range(20):
        work()
    collect_garbage()
    assert abs(sys.getrefcount(None) - before) < 500
