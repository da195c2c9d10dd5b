"""Activations that go to the host where a device has no memory left (``enable_activation_offload``)."""

import gc

import numpy as np
import pytest
from fake import FAKE

import paddle
from paddle.incubate.tensor.manipulation import enable_activation_offload
from umiak import memory
from umiak import ops as F
from umiak.core import array, stream
from umiak.core.node import Node
from umiak.core.saved_tensors import held_alone
from umiak.core.storage import allocator
from umiak.runtime.pressure import RETRIES

ROWS, WIDTH = 128, 64


@pytest.fixture
def device(fake):
    """The fake device as the current one, without a limit and without offloading afterwards."""
    former = paddle.get_device()
    paddle.set_device(FAKE.name)
    yield fake
    memory.set_limit(FAKE, 0)
    memory.on_pressure(FAKE, None)
    RETRIES.set(-1)
    paddle.set_device(former)


class Gate(paddle.autograd.PyLayer):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * 2.0

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensor()
        return g * 2.0 + x * 0.0


LAYERS = {
    "linear and tanh": lambda: [paddle.nn.Linear(WIDTH, WIDTH), paddle.nn.Tanh()],
    "norm, gelu and dropout": lambda: [paddle.nn.LayerNorm(WIDTH), paddle.nn.GELU(), paddle.nn.Dropout(0.5)],
    "in Python": lambda: [paddle.nn.Linear(WIDTH, WIDTH), paddle.nn.Sigmoid()],
}


def network(kind):
    paddle.seed(3)
    layers = [layer for _ in range(5) for layer in LAYERS[kind]()]
    made = paddle.nn.Sequential(*layers)
    return made if kind != "in Python" else paddle.nn.Sequential(*layers[:5], Layered(), *layers[5:])


class Layered(paddle.nn.Layer):
    def forward(self, x):
        return Gate.apply(x)


def step(network, x):
    """The loss of a step and the gradients of its parameters."""
    paddle.seed(7)
    loss = (network(x) ** 2).mean()
    loss.backward()
    results = [float(loss), *(p.grad.numpy().copy() for p in network.parameters())]
    network.clear_gradients()
    return results


def settle():
    gc.collect()
    stream.synchronize(FAKE.index)
    memory.empty_cache(FAKE)


@pytest.mark.parametrize("kind", LAYERS)
def test_a_step_that_does_not_fit_is_the_same_step(device, kind):
    net, x = network(kind), paddle.rand([ROWS, WIDTH])
    step(net, x)
    settle()
    memory.reset_peaks(FAKE)
    least = memory.stats(FAKE)["reserved"]
    expected = step(net, x)
    settle()
    memory.set_limit(FAKE, least + int(0.6 * (memory.stats(FAKE)["reserved_peak"] - least)))
    with pytest.raises(MemoryError, match="the limit is reached"):
        step(net, x)
    net.clear_gradients()
    enable_activation_offload(net)
    for _ in range(2):
        settle()
        for got, wanted in zip(step(net, x), expected, strict=True):
            np.testing.assert_array_equal(got, wanted)
    pressure = allocator(FAKE.index).pressure
    assert 0 < pressure.moved < memory.stats(FAKE)["requested_peak"] * 4
    enable_activation_offload(net, enable=False)
    assert allocator(FAKE.index).pressure is None and RETRIES.value == -1


def nodes():
    return [x for x in gc.get_objects() if type(x) is Node]


def test_what_somebody_else_holds_is_not_moved(device):
    """A variable, a view of it, NumPy over it and a second node that a variable's history holds."""
    x = paddle.rand([4, 4])
    x.stop_gradient = False
    y = paddle.tanh(x)
    z = paddle.exp(y)  # saves its result alone, which is z's memory
    assert not {s.data_ptr() for s in held_alone(nodes(), FAKE.index)} & {y.data_ptr(), z.data_ptr()}
    ends = [z.sum(), y[1:].sum()]
    at, kept = z.data_ptr(), y[1:]
    del y, z
    alone = {s.data_ptr() for s in held_alone(nodes(), FAKE.index)}
    assert at in alone and kept.storage.data_ptr() not in alone
    assert len(ends) == 2


def test_contents_come_back_behind_work_that_still_uses_their_memory(device):
    x = array.from_numpy(np.arange(16, dtype=np.float32), FAKE)
    a = F.add(x, 1.0)
    settle()
    x.storage.offload()
    with device.lazy():
        y = F.mul(a, 3.0)
        address = y.storage.data_ptr()
        del y  # its memory is given out again, although nothing was computed yet
        x.storage.reload()
        assert x.storage.data_ptr() == address
    assert array.host_values(x).tolist() == list(range(16))


@pytest.mark.parametrize("times", [0, 1])
def test_a_request_is_tried_again_so_often(device, times):
    asked, size = [], 1 << 24
    settle()  # what earlier tests have left free may serve small requests
    memory.set_limit(FAKE, memory.stats(FAKE)["reserved"] + 1024)
    memory.on_pressure(FAKE, lambda nbytes, attempt: asked.append((nbytes, attempt)) or attempt < times)
    with pytest.raises(MemoryError):
        paddle.zeros([size // 4], "float32")
    assert asked == [(size, i) for i in range(times + 1)]


def test_the_host_has_nowhere_to_put_them():
    paddle.set_device("cpu")
    enable_activation_offload(paddle.nn.Linear(2, 2))
    try:
        assert allocator(0).pressure is None
    finally:
        enable_activation_offload(paddle.nn.Linear(2, 2), enable=False)


def test_arguments_are_checked():
    with pytest.raises(TypeError, match=r"\[enable_activation_offload\] requires a Layer as model, got int"):
        enable_activation_offload(3)
    with pytest.raises(ValueError, match="requires an int of 0 or above for retry_times, got -1"):
        enable_activation_offload(paddle.nn.Linear(2, 2), retry_times=-1)
