"""Work that a device does after it was handed in: order, memory, and failures that show later."""

import time

import numpy as np
import pytest
from fake import FAKE, OTHER
from harness import CPU, tensor

import paddle
from umiak import memory
from umiak import ops as F
from umiak.core import array, stream
from umiak.core.context import current

pytestmark = pytest.mark.usefixtures("fake")

X = np.arange(4, dtype=np.float32)


def on(place, value=X):
    return array.from_numpy(np.asarray(value), place)


def queue(place, id=0):
    return stream.stream(place.index, id)


def take(x, at):
    """A gather whose kernel fails where an index is out of range."""
    return F.take(x, on(x.place, np.array(at)), axis=0)


class OnStream:
    def __init__(self, place, id):
        self.place, self.id = place, id

    def __enter__(self):
        self.former = current().set_stream(self.place, self.id)

    def __exit__(self, *exc):
        current().set_stream(self.place, self.former)


# --- order and memory


def test_launches_return_before_they_are_done(fake):
    x = on(FAKE)
    queue(FAKE).synchronize()
    with fake.held(FAKE):
        y = F.add(F.mul(x, 2.0), 1.0)
        event = queue(FAKE).record()
        assert not queue(FAKE).query() and not event.query()
    event.synchronize()
    assert event.query()
    np.testing.assert_array_equal(array.host_values(y), 2 * X + 1)


def test_memory_is_reused_in_the_order_of_the_stream(fake):
    x = on(FAKE)
    queue(FAKE).synchronize()
    with fake.held(FAKE):
        a = F.add(x, 1.0)
        at = a.storage.data_ptr()
        b = F.mul(a, 10.0)
        del a
        c = F.mul(x, 0.0)  # the freed block, written after it was read
        assert c.storage.data_ptr() == at
    np.testing.assert_array_equal(array.host_values(b), 10 * X + 10)
    np.testing.assert_array_equal(array.host_values(c), 0 * X)


def test_memory_that_another_stream_uses_waits(fake):
    x = on(FAKE)
    queue(FAKE).synchronize()
    y = F.add(x, 0.0)
    side = queue(FAKE, 1)
    side.wait(queue(FAKE).record())
    side.synchronize()
    with fake.held(FAKE):
        with OnStream(FAKE, 1):
            z = F.mul(y, 3.0)
        at = y.storage.data_ptr()
        assert y.storage.later_streams == (1,)
        pending = memory.stats(FAKE)["pending"]
        del y
        assert memory.stats(FAKE)["pending"] > pending
        assert F.add(x, 1.0).storage.data_ptr() != at
    side.synchronize()
    with OnStream(FAKE, 1):
        np.testing.assert_array_equal(array.host_values(z), 3 * X)


def test_memory_of_a_copy_between_devices_waits(fake):
    x = on(FAKE, np.full(1000, 5.0, np.float32))
    queue(FAKE).synchronize()
    queue(OTHER).synchronize()
    with fake.held(OTHER):
        y = F.transfer(x, source="fake:0", target="fake:1")
        del x
        z = F.full(7.0, dtype=paddle.float32, shape=(1000,))
        w = array.from_numpy(np.full(1000, 9.0, np.float32), FAKE)  # perhaps the memory of x
        time.sleep(0.01)
    assert array.host_values(y).tolist() == [5.0] * 1000
    assert array.host_values(w).tolist() == [9.0] * 1000 and z.place is CPU


# --- failures


def test_a_failure_is_told_at_the_next_synchronisation(fake):
    x = on(FAKE)
    y = take(x, [9])  # returns
    assert y.shape == [1]
    with pytest.raises(RuntimeError, match=r"\[take\] failed on fake:0 after it was launched: IndexingError") as caught:
        queue(FAKE).synchronize()
    assert isinstance(caught.value.__cause__, IndexError)
    queue(FAKE).synchronize()  # once
    np.testing.assert_array_equal(array.host_values(take(x, [1])), X[1:2])


@pytest.mark.parametrize(
    "look",
    [
        lambda y: y.numpy(),
        lambda y: y.item(),
        str,
        bool,
        lambda y: y.cpu(),
        lambda y: paddle.device.synchronize("fake:0"),
        lambda y: queue(FAKE).record().synchronize(),
        lambda y: y.__dlpack__(),
    ],
)
def test_whoever_waits_is_told(fake, look):
    y = take(on(FAKE), [9])
    with pytest.raises(RuntimeError, match=r"\[take\] failed on fake:0"):
        look(y)
    paddle.device.synchronize("fake:0")


def test_asking_is_not_waiting(fake):
    x = on(FAKE)
    take(x, [9])
    event = queue(FAKE).record()
    while not event.query():
        time.sleep(1e-3)
    assert queue(FAKE).query()
    with pytest.raises(RuntimeError, match=r"\[take\] failed"):
        event.synchronize()


def test_all_that_failed_is_named(fake):
    x = on(FAKE)
    take(x, [9])
    take(x, [8])
    with pytest.raises(RuntimeError, match=r"got 9\. Of what was launched after it, this failed too: take$"):
        queue(FAKE).synchronize()


@pytest.mark.parametrize("done", [False, True], ids=["under way", "done"])
def test_a_failure_shows_behind_a_copy_to_another_device(fake, done):
    x = take(on(FAKE), [9])
    while done and not queue(FAKE).query():
        time.sleep(1e-3)
    y = F.transfer(x, source="fake:0", target="fake:1")
    with pytest.raises(RuntimeError, match=r"failed on fake:1 after it was launched: Upstream: \[take\] on fake:0"):
        array.host_values(y)
    with pytest.raises(RuntimeError, match=r"\[take\] failed on fake:0"):
        queue(FAKE).synchronize()


def test_a_failure_shows_in_backward(fake):
    x = on(FAKE)
    x.stop_gradient = False
    F.sum(take(x, [9]), axes=(0,)).backward()
    with pytest.raises(RuntimeError, match=r"\[take\] failed on fake:0"):
        x.grad.numpy()
    paddle.device.synchronize("fake:0")


def test_what_is_known_at_once_is_told_at_once(fake):
    with pytest.raises(ValueError, match=r"\[add\]"):
        F.add(on(FAKE), on(FAKE, np.ones(3, np.float32)))
    with pytest.raises(MemoryError, match="out of memory on fake:0"):
        paddle.empty([1 << 40], device="fake")
    assert tensor(X).place is CPU
