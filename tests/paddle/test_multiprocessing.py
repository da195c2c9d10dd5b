"""``paddle.incubate.multiprocessing``: tensors of the host in memory that both ends of a queue have."""

from __future__ import annotations

import contextlib
import os
import time

import numpy as np
import pytest

import paddle
from paddle.incubate import multiprocessing
from tests.support.garbage import collect_garbage


@pytest.fixture
def sent():
    """Send objects through a queue, whose ends are in this process: pickled and unpickled as for another one."""
    queue = multiprocessing.get_context("spawn").SimpleQueue()

    def through(x):
        queue.put(x)
        return queue.get()

    yield through
    queue.close()


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "float8_e4m3fn", "bool", "complex64", "int8"])
def test_both_ends_have_the_same_memory(sent, dtype):
    x = paddle.to_tensor(np.arange(12).reshape(3, 4) % 2).astype(dtype)
    before = x.astype("complex64").tolist()
    y = sent(x)
    assert y.dtype == x.dtype and y.astype("complex64").tolist() == before == x.astype("complex64").tolist()
    paddle.assign(paddle.ones_like(x), x)
    assert y.astype("complex64").tolist() == [[1.0] * 4] * 3
    paddle.assign(paddle.zeros_like(x), y)
    assert x.astype("complex64").tolist() == [[0.0] * 4] * 3


def test_views_keep_their_places(sent):
    x = paddle.arange(12, dtype="int64").reshape([3, 4])
    whole = sent(x)
    part = sent(x[1:, ::2])
    assert part.tolist() == [[4, 6], [8, 10]] and part.strides == [4, 2]
    whole.fill_(7)
    assert x.tolist() == [[7] * 4] * 3
    assert paddle.all(part == 7)
    again = sent(whole)  # the receiver's can be sent, too
    again.fill_(1)
    assert paddle.all(x == 1)


def test_parameters_stay_parameters(sent):
    layer = paddle.nn.Linear(3, 2)
    layer.weight.tag = [1]
    weight = sent(layer.weight)
    assert type(weight) is type(layer.weight) and weight.name == layer.weight.name and weight.tag == [1]
    assert not weight.stop_gradient and weight.is_leaf
    with paddle.no_grad():
        weight.zero_()
    x = paddle.ones([1, 3])
    loss = (layer(x) - layer.bias).sum()
    assert float(loss) == 0
    loss.backward()
    assert layer.weight.grad.tolist() == [[1.0] * 2] * 3
    with pytest.raises(RuntimeError, match=r"\[multiprocessing\] requires a tensor without history"):
        sent(layer(x))


@pytest.mark.parametrize("x", [lambda: paddle.zeros([0, 3]), lambda: paddle.to_tensor(2.5)])
def test_sizes_without_elements_and_without_axes(sent, x):
    x = x()
    y = sent(x)
    assert y.shape == x.shape and y.tolist() == x.tolist()


def shared_memory():
    """The files of shared memory, by their numbers, of which this process has descriptors."""
    found = set()
    for name in os.listdir("/proc/self/fd"):
        with contextlib.suppress(OSError):
            if os.readlink(f"/proc/self/fd/{name}").startswith("/memfd:"):
                found.add(os.stat(int(name)).st_ino)
    return found


def test_descriptors_are_closed_with_the_last_tensor(sent):
    before = shared_memory()
    x = paddle.ones([1000])
    y, z = sent(x), sent(x)
    assert shared_memory() - before
    del x, y, z
    collect_garbage()
    until = time.monotonic() + 120
    while shared_memory() - before:  # the thread that has handed descriptors out closes its own somewhat later
        assert time.monotonic() < until
        time.sleep(0.01)


def test_the_names_are_those_of_the_standard_library():
    import multiprocessing as standard

    assert multiprocessing.Queue and multiprocessing.cpu_count() == standard.cpu_count()
    assert set(standard.__all__) <= set(vars(multiprocessing))
