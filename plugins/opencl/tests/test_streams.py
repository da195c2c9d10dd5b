"""Work that a device does after it was handed in: order, events, memory, and failures that show later."""

from __future__ import annotations

import threading
from contextlib import contextmanager, suppress

import numpy as np
import pytest

from umiak import ops as F
from umiak.core import array, stream
from umiak.core.array import from_numpy
from umiak.core.context import current

X = np.arange(4, dtype=np.float32)


@pytest.fixture
def hold(opencl, device):
    """Hold a stream: nothing that is queued on it inside begins before the end."""
    import pyopencl as cl

    owner = opencl.backend.device(device)

    @contextmanager
    def held(id=0):
        gate = cl.UserEvent(owner.context)
        owner.queue(id).put("gate", lambda q: cl.enqueue_barrier(q, wait_for=[gate]))
        try:
            yield
        finally:
            gate.set_status(cl.command_execution_status.COMPLETE)

    return held


@contextmanager
def on_stream(place, id):
    former = current().set_stream(place, id)
    try:
        yield stream.stream(place.index, id)
    finally:
        current().set_stream(place, former)


def take(x, at):
    return F.take(x, from_numpy(np.array(at), x.place), axis=0)


def test_launches_return_before_they_are_done(device, hold):
    x = from_numpy(X, device)
    main = stream.stream(device.index, 0)
    with hold():
        y = F.add(F.mul(x, 2.0), 1.0)
        event = main.record()
        assert not event.query() and not main.query()
    event.synchronize()
    assert event.query() and main.query()
    assert array.host_values(y).tolist() == (2 * X + 1).tolist()


def test_memory_is_reused_in_the_order_of_the_stream(device, hold):
    x = from_numpy(X, device)
    with hold():
        a = F.add(x, 1.0)
        at = a.data_ptr()
        b = F.mul(a, 10.0)
        del a
        c = F.mul(x, 0.0)  # the freed block, written after it was read
        assert c.data_ptr() == at
    assert array.host_values(b).tolist() == (10 * X + 10).tolist()
    assert array.host_values(c).tolist() == [0, 0, 0, 0]


def test_memory_that_another_stream_uses_waits(device, hold):
    x = from_numpy(X, device)
    y = F.add(x, 5.0)
    main = stream.stream(device.index, 0)
    with on_stream(device, 1) as side:
        side.wait(main.record())
        with hold(1):
            z = F.mul(y, 2.0)
            y.storage.use_on_stream(side.id)
            at = y.data_ptr()
            del y
            with on_stream(device, 0):
                assert F.add(x, 0.0).data_ptr() != at
        assert array.host_values(z).tolist() == (2 * X + 10).tolist()


def test_streams_wait_for_events(device, hold):
    x = from_numpy(X, device)
    main = stream.stream(device.index, 0)
    with hold():
        y = F.add(x, 1.0)
        event = main.record()
        with on_stream(device, 1) as side:
            side.wait(event)
            z = F.mul(y, 3.0)
            assert not side.query()
    with on_stream(device, 1):
        assert array.host_values(z).tolist() == (3 * X + 3).tolist()


def test_the_host_may_change_what_it_has_given(device, hold):
    source = X.copy()
    with hold():
        x = from_numpy(source, device)
        source[:] = -1
    assert array.host_values(x).tolist() == X.tolist()


def test_what_data_make_fail_is_told_once_by_whoever_waits(device):
    x = from_numpy(X, device)
    bad = take(x, [1, 9])
    good = F.add(x, 1.0)
    main = stream.stream(device.index, 0)
    with pytest.raises(RuntimeError, match=r"\[take\] failed on opencl:0 after it was launched.* got 9"):
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
        with pytest.raises(RuntimeError, match=r"\[take\] on opencl:0"):
            side.synchronize()
    with pytest.raises(RuntimeError, match="take"):
        main.synchronize()


def test_threads_may_wait_for_streams_that_ask_each_other(device, opencl):
    """Checks of work ask the queues of the streams that it has waited for."""
    import pyopencl as cl

    owner = opencl.backend.device(device)
    queues, both = [owner.queue(i) for i in (1, 2)], threading.Barrier(2)

    def asking(other):
        def check():
            with suppress(threading.BrokenBarrierError):
                both.wait(0.3)  # each thread is within a check, if both can be
            other.poll()

        return check

    for queue, other in zip(queues, reversed(queues), strict=True):
        queue.put("work", cl.enqueue_marker, asking(other))
    waiting = [threading.Thread(target=stream.stream(device.index, i).synchronize, daemon=True) for i in (1, 2)]
    for thread in waiting:
        thread.start()
    for thread in waiting:
        thread.join(30)
        assert not thread.is_alive(), "they wait for each other"
