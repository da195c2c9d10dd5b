"""Page-locked memory of the host: what lies there, copies that are read later, who gives it back."""

from __future__ import annotations

import gc

import numpy as np
import pytest

import paddle
from paddle.incubate.tensor import manipulation
from umiak.backends.cuda.memory import PinnedBlocks

X = np.arange(24, dtype=np.float32).reshape(4, 6)


@pytest.fixture
def queue(device, cuda):
    """The work of the default stream that is not done yet."""
    paddle.device.synchronize()
    yield cuda.driver.streams[cuda.device(device).queue(0).handle].work
    gc.collect()
    paddle.device.synchronize()
    assert not PinnedBlocks.lent


def host(x=X):
    return paddle.to_tensor(x, place="cpu")


MAKERS = [host, lambda: paddle.to_tensor(X), lambda: host(X.T), lambda: host(X)[:, ::2], lambda: host(X[:0])]


@pytest.mark.parametrize("make", MAKERS)
def test_a_pinned_tensor_is_one_of_the_host(queue, make):
    x = make()
    y = x.pin_memory()
    assert y.place == paddle.CPUPlace() and y.pin_memory() is y and y.shape == x.shape
    np.testing.assert_array_equal(y.numpy(), x.numpy())
    np.testing.assert_array_equal((y + 1).numpy(), x.numpy() + 1)
    assert PinnedBlocks.holds(y.data_ptr()) or not y.size


def test_a_copy_that_nobody_waits_for_reads_the_memory_itself(queue, device, cuda):
    x = host().pin_memory()
    for copy in (lambda: x.cuda(blocking=False), lambda: x.to("gpu:0", non_blocking=True)):
        x.fill_(1.0)
        cuda.driver.calls.clear()
        y = copy()
        assert [w.name for w in queue] == ["cuMemcpyAsync"] and not cuda.driver.calls.count("cuStreamSynchronize")
        x.fill_(5.0)  # which its writer should not do yet: it shows that nothing was read before
        assert y.tolist() == [[5.0] * 6] * 4


def test_the_memory_lives_until_the_copy_is_done(queue, cuda):
    x = host().pin_memory()
    address = x.data_ptr()
    y = x.cuda(blocking=False)
    del x
    assert address in PinnedBlocks.lent
    np.testing.assert_array_equal(y.numpy(), X)
    assert address not in PinnedBlocks.lent
    assert host().pin_memory().data_ptr() == address  # used again


def test_other_copies_have_read_the_memory(queue):
    for x, copy in ((host().pin_memory(), lambda x: x.cuda()), (host(), lambda x: x.cuda(blocking=False))):
        y = copy(x)
        x.fill_(0.0)
        np.testing.assert_array_equal(y.numpy(), X)


def test_another_device_reads_it_too(queue):
    x = host().pin_memory()
    y = x.to("gpu:1", blocking=False)
    x.fill_(2.0)
    assert y.place == paddle.CUDAPlace(1) and y.tolist() == [[2.0] * 6] * 4


def test_gradients_pass_through(queue):
    x = host()
    x.stop_gradient = False
    y = (x * 2.0).pin_memory()
    assert PinnedBlocks.holds(y.data_ptr())
    (y.cuda(blocking=False) * 3.0).sum().backward()
    assert x.grad.tolist() == [[6.0] * 6] * 4
    leaf = x.pin_memory()
    assert leaf.is_leaf and not leaf.stop_gradient


def test_a_graph_reads_it_at_each_replay(queue):
    x = host().pin_memory()
    graph = paddle.device.cuda.graphs.CUDAGraph()
    graph.capture_begin()
    y = x.cuda(blocking=False) + 1.0
    graph.capture_end()
    for k in range(2):
        x.fill_(float(k))
        graph.replay()
        assert y.tolist() == [[k + 1.0] * 6] * 4
    graph.reset()
    del y, graph


def test_copies_beside_the_work_wait_for_nobody(queue, cuda):
    load = manipulation.create_async_load()
    x = host().cuda()
    cuda.driver.calls.clear()
    kept, task = manipulation.async_offload(x * 2.0, load)  # the operand goes before it is read
    assert PinnedBlocks.holds(kept.data_ptr()) and not task.is_completed()
    back, again = manipulation.async_reload(kept, load)  # the same stream: it has the elements by then
    again.cuda_wait()
    y = back + 1.0
    assert not cuda.driver.calls.count("cuStreamSynchronize") and not cuda.driver.calls.count("cuEventSynchronize")
    task.cpu_wait()
    np.testing.assert_array_equal(kept.numpy(), 2 * X)
    np.testing.assert_array_equal(y.numpy(), 2 * X + 1)
    assert task.is_completed() and again.is_completed()
