"""Work that a device does after it was handed in: order, marks, memory, failures that show later.

Streams of the recording driver run nothing before somebody waits.
"""

from __future__ import annotations

import threading
from contextlib import contextmanager, suppress

import numpy as np
import pytest

from umiak import ops as F
from umiak.core import array, stream
from umiak.core.array import from_numpy
from umiak.core.context import current
from umiak.core.place import Place

X = np.arange(4, dtype=np.float32)


@contextmanager
def on_stream(place, id):
    former = current().set_stream(place, id)
    try:
        yield stream.stream(place.index, id)
    finally:
        current().set_stream(place, former)


def take(x, at):
    return F.take(x, from_numpy(np.array(at), x.place), axis=0)


def test_launches_return_before_they_are_done(device, cuda):
    x = from_numpy(X, device)
    main = stream.stream(device.index, 0)
    y = F.add(F.mul(x, 2.0), 1.0)
    event = main.record()
    assert not event.query() and not main.query()
    before = len(cuda.driver.launched)
    event.synchronize()
    assert event.query() and main.query() and len(cuda.driver.launched) > before
    assert array.host_values(y).tolist() == (2 * X + 1).tolist()


@pytest.mark.parametrize("used_on", [0, 3])
def test_the_host_reads_what_another_stream_computes(device, used_on):
    """Whichever stream is current: a value is never read before the work that makes it."""
    x = from_numpy(X, device)
    stream.synchronize(device.index)
    with on_stream(device, used_on):
        x.mul_(3.0)
    with on_stream(device, 2):
        assert array.host_values(x).tolist() == (3 * X).tolist()


def test_marks_are_set_when_somebody_asks(device, cuda):
    """Launches record no events of the driver, and events are used again."""
    main, driver = stream.stream(device.index, 0), cuda.driver
    x = from_numpy(X, device)
    main.synchronize()
    driver.calls.clear()
    for _ in range(5):
        x = F.add(x, 1.0)
    assert driver.calls.count("cuLaunchKernel") == 5 and "cuEventRecord" not in driver.calls
    for _ in range(3):
        main.query()
    assert driver.calls.count("cuEventRecord") == 1
    main.synchronize()
    F.add(x, 1.0)
    main.synchronize()
    assert driver.calls.count("cuEventRecord") == 2 and "cuEventCreate" not in driver.calls


def test_memory_is_reused_in_the_order_of_the_stream(device):
    x = from_numpy(X, device)
    a = F.add(x, 1.0)
    at = a.data_ptr()
    b = F.mul(a, 10.0)
    del a
    c = F.mul(x, 0.0)  # the freed block, written after it was read
    assert c.data_ptr() == at
    assert array.host_values(b).tolist() == (10 * X + 10).tolist()
    assert array.host_values(c).tolist() == [0, 0, 0, 0]


def test_memory_that_another_stream_uses_waits(device):
    x = from_numpy(X, device)
    y = F.add(x, 5.0)
    main = stream.stream(device.index, 0)
    with on_stream(device, 1) as side:
        side.wait(main.record())
        z = F.mul(y, 2.0)
        y.storage.use_on_stream(side.id)
        at = y.data_ptr()
        del y
        with on_stream(device, 0):
            assert F.add(x, 0.0).data_ptr() != at
        assert array.host_values(z).tolist() == (2 * X + 10).tolist()


def test_streams_wait_for_events(device, cuda):
    x = from_numpy(X, device)
    main = stream.stream(device.index, 0)
    y = F.add(x, 1.0)
    event = main.record()
    with on_stream(device, 1) as side:
        side.wait(event)
        z = F.mul(y, 3.0)
        assert not side.query() and not event.query()
        side.synchronize()
        assert event.query()
        assert array.host_values(z).tolist() == (3 * X + 3).tolist()


def test_the_host_may_change_what_it_has_given(device):
    source = X.copy()
    x = from_numpy(source, device)
    source[:] = -1
    assert array.host_values(x).tolist() == X.tolist()


def test_what_data_make_fail_is_told_once_by_whoever_waits(device):
    x = from_numpy(X, device)
    bad = take(x, [1, 9])
    good = F.add(x, 1.0)
    main = stream.stream(device.index, 0)
    with pytest.raises(RuntimeError, match=r"\[take\] failed on gpu:0 after it was launched.* got 9"):
        main.synchronize()
    main.synchronize()
    assert array.host_values(good).tolist() == (X + 1).tolist()
    assert bad.shape == (2,)


def test_a_failure_of_another_stream_follows_its_event(device):
    x = from_numpy(X, device)
    main = stream.stream(device.index, 0)
    take(x, [7])
    event = main.record()
    with on_stream(device, 1) as side:
        side.wait(event)
        F.add(x, 1.0)
        with pytest.raises(RuntimeError, match=r"\[take\] on gpu:0"):
            side.synchronize()
    with pytest.raises(RuntimeError, match="take"):
        main.synchronize()


def test_devices_exchange_elements_without_the_host(device, cuda):
    """The second device waits for the first by an event, and the first for the copy."""
    other, driver = Place("gpu", 1), cuda.driver
    x = F.add(from_numpy(X, device), 1.0)
    driver.calls.clear()
    y = F.transfer(x, source=device.name, target=other.name)
    z = F.mul(y, 2.0)
    assert "cuMemcpyPeerAsync" in driver.calls and driver.calls.count("cuStreamWaitEvent") == 2
    assert not any("Synchronize" in c for c in driver.calls)
    assert y.place is other and array.host_values(z).tolist() == (2 * X + 2).tolist()
    stream.synchronize(device.index)
    again = F.transfer(x, source=device.name, target=other.name)
    assert driver.calls.count("cuCtxEnablePeerAccess") <= 1
    assert array.host_values(again).tolist() == (X + 1).tolist()


def test_native_handles_are_the_drivers_streams(device, cuda):
    main = stream.stream(device.index, 0)
    assert main.handle in cuda.driver.streams
    assert main.handle != stream.stream(device.index, 1).handle


def test_threads_may_wait_for_streams_that_ask_each_other(device, cuda):
    """Checks of work ask the queues of the streams that it has waited for."""
    owner = cuda.device(device)
    queues, both = [owner.queue(i) for i in (1, 2)], threading.Barrier(2)

    def asking(other):
        def check():
            with suppress(threading.BrokenBarrierError):
                both.wait(0.3)  # each thread is within a check, if both can be
            other.poll()

        return check

    for queue, other in zip(queues, reversed(queues), strict=True):
        queue.put("work", lambda handle: None, asking(other))
    waiting = [threading.Thread(target=stream.stream(device.index, i).synchronize, daemon=True) for i in (1, 2)]
    for thread in waiting:
        thread.start()
    for thread in waiting:
        thread.join(30)
        assert not thread.is_alive(), "they wait for each other"


def test_the_arrays_interface_shows_what_is_there(device):
    x = F.add(from_numpy(X, device), 1.0)
    main = stream.stream(device.index, 0)
    assert not main.query()
    shown = x.__cuda_array_interface__
    assert main.query() and shown["shape"] == (4,) and shown["data"] == (x.data_ptr(), False)
