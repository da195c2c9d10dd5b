"""What the library owes to programs on several streams: reads of the host, gradients, memory, hand-over."""

from __future__ import annotations

import threading

import numpy as np
import pytest
from fake import FAKE

import paddle
from umiak import ops as F
from umiak.backends.copy_streams import CopyStreams
from umiak.core import array, stream, tape
from umiak.core.context import current

pytestmark = pytest.mark.usefixtures("fake")

X = np.arange(12, dtype=np.float32).reshape(3, 4)
SIDE = 1


class OnStream:
    def __init__(self, id):
        self.id = id

    def __enter__(self):
        self.former = current().set_stream(FAKE, self.id)

    def __exit__(self, *exc):
        current().set_stream(FAKE, self.former)


def on_device(value=X):
    x = array.from_numpy(np.asarray(value), FAKE)
    stream.synchronize(FAKE.index)
    return x


@pytest.fixture
def late(fake):
    """The main stream of the device does nothing before it is waited for by name; others go on."""
    queue = fake.device(FAKE).queue(0)
    gate = threading.Event()
    opened = []

    def begin():
        gate.clear()
        queue.put("gate", lambda: gate.wait(60))

    def open_when(wait):
        """Let the gate open once somebody waits for the main stream."""

        def watched(ticket):
            gate.set()
            return wait(ticket)

        return watched

    original = queue.wait
    queue.wait = open_when(original)
    opened.append(original)
    yield begin
    gate.set()
    queue.wait = original
    stream.synchronize(FAKE.index)


@pytest.mark.parametrize(
    "read",
    [
        lambda x: x.t().numpy(),
        lambda x: np.asarray(x[:, ::2]),
        lambda x: np.array(x.t().tolist()),
        lambda x: x.t().cpu().numpy(),
        lambda x: np.asarray(paddle.from_dlpack(x.t().__dlpack__(dl_device=(1, 0)))),
        lambda x: np.float32(x[1, 1].item()),
    ],
)
def test_the_host_reads_parts_when_they_are_there(late, read):
    x = on_device()
    expected = read(paddle.to_tensor(X * 2 + 1, place="cpu"))
    late()
    y = F.add(F.mul(x, 2.0), 1.0)
    with OnStream(SIDE):
        np.testing.assert_array_equal(read(y), expected)


def test_a_backward_run_comes_after_its_forward_run(late):
    w = on_device()
    w.stop_gradient = False
    late()
    square = F.mul(w, w)  # the gradient needs it
    loss = F.sum(F.mul(square, square), axes=(0, 1))
    with OnStream(SIDE):
        loss.backward()
        np.testing.assert_array_equal(w.grad.numpy(), 4 * X**3)


def test_the_gradient_of_a_value_that_another_stream_has_written_to(late):
    w = on_device()
    w.stop_gradient = False
    y = F.mul(w, 3.0)
    stream.synchronize(FAKE.index)
    late()
    with OnStream(SIDE):
        other = stream.stream(FAKE.index, SIDE)
        other.wait(stream.stream(FAKE.index, 0).record())
        y.add_(on_device_later())
        z = F.mul(y, y)
    with OnStream(2):
        (found,) = tape.grad([z], [w])
        np.testing.assert_array_equal(found.numpy(), 6 * (3 * X + 1))


def on_device_later():
    return array.from_numpy(np.ones_like(X), FAKE)


def test_a_sum_of_gradients_waits_for_who_reads_it(late):
    w = on_device()
    w.stop_gradient = False
    with OnStream(SIDE):
        F.sum(F.mul(w, 2.0), axes=(0, 1)).backward()
        stream.synchronize(FAKE.index)
    late()
    read = F.mul(w.grad, 10.0)  # by the main stream, which is late
    with OnStream(SIDE):
        F.sum(F.mul(w, 2.0), axes=(0, 1)).backward()
        stream.stream(FAKE.index, 2).query()
    np.testing.assert_array_equal(read.numpy(), np.full_like(X, 20.0))
    np.testing.assert_array_equal(w.grad.numpy(), np.full_like(X, 4.0))


def test_a_capsule_shows_what_is_there(fake, late):
    x = on_device()
    queue = fake.device(FAKE).queue
    late()
    copied = F.add(x, 1.0).__dlpack__(copy=True)
    assert queue(0).completed == stream.stream(FAKE.index, 0).submitted
    y = on_device()
    late()
    with OnStream(SIDE):
        stream.stream(FAKE.index, SIDE).wait(stream.stream(FAKE.index, 0).record())
        y.add_(x)
        written = y.__dlpack__()
    assert queue(SIDE).completed == stream.stream(FAKE.index, SIDE).submitted
    del copied, written


def test_streams_of_loaders_are_used_again():
    x = on_device()
    seen = set()
    for _ in range(300):  # more than a device has
        loader = CopyStreams()
        loader.start(paddle.empty([3, 4]), x).wait()
        seen |= {queue.id for queue in loader.queues.values()}
        del loader
    assert len(seen) < 10
