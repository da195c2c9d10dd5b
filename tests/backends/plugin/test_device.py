"""Memory, streams, copies and ops of a plug-in's device, and what happens where its functions fail."""

import numpy as np
import plugin
import pytest

import paddle
from umiak import memory
from umiak import ops as F
from umiak.backends import transfer
from umiak.backends.plugin import copies
from umiak.backends.plugin.library import PluginError
from umiak.core import storage, stream
from umiak.core.array import from_numpy, host_values
from umiak.core.place import Place
from umiak.core.tensor import empty

FAILED, ERROR, INTERNAL = 2, 3, 4
HERE, THERE = Place("loop", 0), Place("loop", 1)
CPU = Place("cpu")


@pytest.fixture(autouse=True)
def balanced(loop):
    yield
    counts = loop.counts()
    assert (counts.wrong_frees, counts.calls_after_end) == (0, 0)


def on(place, array):
    return from_numpy(np.asarray(array), place)


# --- memory


def empty_caches():
    """What earlier tests freed is free when their streams are done; a block of theirs is not taken again."""
    for place in (HERE, THERE):
        stream.synchronize(place.index)
        memory.empty_cache(place)


@pytest.mark.usefixtures("no_garbage")
def test_memory_goes_back(loop):
    empty_caches()
    before = loop.counts()
    xs = [storage.allocate(HERE.index, n) for n in (1, 100, 5000, 3 << 20)]
    assert all(x.data_ptr() % 64 == 0 for x in xs)  # the plug-in's own are multiples of 16
    assert loop.counts().blocks > before.blocks  # small ones may lie in blocks that are there
    del xs
    memory.empty_cache(HERE)
    assert loop.counts().blocks == before.blocks
    assert paddle.device.memory_allocated("loop:0") == memory.stats(HERE)["allocated"]


def test_the_plug_in_tells_of_its_memory(loop):
    free, total = loop.backend.memory_info(HERE)
    assert total == 1 << 28 and 0 < free < total
    with loop.failing("device_memory_stats", ERROR), pytest.raises(PluginError, match="C_ERROR"):
        loop.backend.memory_info(HERE)


def test_a_device_that_is_full_says_so():
    with pytest.raises(MemoryError, match=r"loop:0"):
        storage.allocate(HERE.index, 1 << 30)
    assert storage.allocate(HERE.index, 100).capacity == 128


@pytest.mark.parametrize(("status", "error"), [(FAILED, MemoryError), (INTERNAL, PluginError), (17, PluginError)])
def test_an_allocation_that_fails(loop, status, error):
    empty_caches()
    with loop.failing("device_memory_allocate", status), pytest.raises(error, match="loop:0"):
        storage.allocate(HERE.index, 7 << 20)
    assert storage.allocate(HERE.index, 7 << 20).capacity


@pytest.mark.usefixtures("no_garbage")
def test_memory_that_is_not_taken_back_is_given_up(loop, caplog):
    empty_caches()
    x = storage.allocate(HERE.index, 9 << 20)
    del x
    before = loop.counts().blocks
    with loop.failing("device_memory_deallocate", ERROR):
        memory.empty_cache(HERE)
    assert "[device_memory_deallocate] requires C_SUCCESS" in caplog.text and "bytes are lost" in caplog.text
    memory.empty_cache(HERE)  # nothing is freed again
    assert loop.counts().blocks == before


def test_storages_move_and_are_offloaded():
    x = on(HERE, np.arange(1000.0))
    address, keep = x.storage.data_ptr(), storage.allocate(HERE.index, 8000)
    stream.synchronize(HERE.index)
    x.storage.relocate()
    assert x.storage.data_ptr() != address and keep.capacity
    x.storage.offload()
    np.testing.assert_array_equal(host_values(x), np.arange(1000.0))


# --- copies


def test_copies_between_all_places():
    a = np.arange(24.0, dtype=np.float32).reshape(2, 3, 4)
    x = on(HERE, a)
    y = x.to("loop:1")
    assert (x.place, y.place) == (HERE, THERE)
    for z in (x, y, y.cpu(), y.to("loop:0"), x.T[1:].to("loop:1")):
        assert np.array_equal(z.numpy(), a if z.shape == [2, 3, 4] else a.T[1:])


def test_copies_of_elements_that_lie_apart():
    rng = np.random.default_rng(0)
    for dtype in ("uint8", "float16", "float32", "complex64", "complex128"):
        for _ in range(12):
            shape = rng.integers(1, 5, 3)
            a = (rng.standard_normal(shape) * 50).astype(dtype)
            x, y = on(HERE, a), on(HERE, np.zeros(shape[::-1], dtype))
            steps = tuple(int(s) for s in rng.integers(1, 3, 3))
            part = tuple(slice(None, None, s) for s in steps)
            b = np.zeros(shape[::-1], dtype)
            b.T[part] = a[part]
            y.T[part] = x[part]
            np.testing.assert_array_equal(y.numpy(), b)


@pytest.mark.parametrize("shape", [(), (0,), (3, 0), (1, 1)])
def test_small_tensors(shape):
    x = on(HERE, np.ones(shape, np.float32))
    assert (x + x).numpy().tolist() == np.full(shape, 2.0).tolist()


def test_packed_tensors():
    x = on(HERE, np.arange(5) % 4).cast("int4")
    for y in (x.clone(), x.reshape([5, 1]).clone(), paddle.concat([x, x])[:5], x.to("loop:1").clone()):
        assert y.dtype.is_packed and y.cast("int32").flatten().tolist() == [0, 1, 2, 3, 0]


# --- streams


def test_work_is_done_when_somebody_waits(loop):
    x, y = on(HERE, np.arange(8.0)), empty((8,), paddle.float64, HERE)
    queue = transfer.current_stream(HERE)
    queue.synchronize()
    transfer.copy(y, x)
    event = queue.record()
    assert not event.query() and event.query()  # the plug-in works when it is asked, and says so the next time
    assert y.numpy().tolist() == list(range(8))


def test_streams_may_be_made_without_end():
    made = [paddle.device.Stream("loop:0") for _ in range(600)]
    assert len({(s.stream_base.place, s.stream_base.id) for s in made}) == 32
    assert made[0] == made[32] and made[0] != made[31] and all(s.stream_base.id for s in made)


def test_events_order_streams():
    first, second = paddle.device.Stream("loop:0"), paddle.device.Stream("loop:0")
    x = on(HERE, np.arange(4.0))
    transfer.current_stream(HERE).synchronize()  # which copies it
    with paddle.device.stream_guard(first):
        y = empty((4,), paddle.float64, HERE)
        transfer.copy(y, x)
    second.wait_event(first.record_event())
    with paddle.device.stream_guard(second):
        z = empty((4,), paddle.float64, HERE)
        transfer.copy(z, y)
    second.synchronize()
    assert z.numpy().tolist() == [0, 1, 2, 3]
    assert first.stream_base.handle and first.stream_base.handle != second.stream_base.handle


def test_a_failure_is_told_to_whoever_waits_and_once(loop):
    x, y = on(HERE, np.arange(4.0)), empty((4,), paddle.float64, HERE)
    stream.synchronize(HERE.index)
    transfer.copy(y, x)
    with (
        loop.failing("memory_copy"),
        pytest.raises(RuntimeError, match=r"\[copy\] failed on loop:0 after .*C_INTERNAL"),
    ):
        y.numpy()
    assert on(HERE, np.ones(3)).numpy().tolist() == [1, 1, 1]


def test_work_that_waited_for_failed_work_fails_too(loop):
    x, y = on(HERE, np.arange(4.0)), empty((4,), paddle.float64, HERE)
    stream.synchronize(HERE.index)
    other = stream.new_stream(HERE.index)
    transfer.copy(y, x)
    with loop.failing("memory_copy"):
        other.wait(transfer.current_stream(HERE).record())
        with pytest.raises(RuntimeError, match=r"\[wait\] failed .*Upstream: \[copy\] on loop:0"):
            other.synchronize()
        with pytest.raises(RuntimeError, match=r"\[copy\] failed on loop:0"):
            stream.synchronize(HERE.index)


@pytest.mark.parametrize("function", ["async_memory_copy", "create_event", "record_event", "set_device"])
def test_a_call_that_fails_when_work_is_handed_in(loop, function):
    x = on(HERE, np.arange(4.0))
    y = on(THERE, np.arange(4.0))
    stream.synchronize(HERE.index)
    loop.backend.devices[HERE.index].idle_events.clear()
    y.numpy()  # the current device of the thread is another one
    with loop.failing(function, ERROR), pytest.raises(PluginError, match=rf"\[{function}.*loop:0.*C_ERROR \(an arg"):
        x.numpy()
    assert x.numpy().tolist() == [0, 1, 2, 3]


def test_a_device_that_is_lost(loop):
    """Every call fails, whoever asks is told, and nothing is freed twice; what comes after it is used as before."""
    x, y = on(HERE, np.arange(4.0)), empty((4,), paddle.float64, HERE)
    transfer.copy(y, x)
    with loop.lost():
        with pytest.raises(RuntimeError, match="C_INTERNAL_ERROR"):
            y.numpy()
        with pytest.raises(RuntimeError, match="C_INTERNAL_ERROR"):
            F.add(x, x)
        with pytest.raises(RuntimeError, match="C_INTERNAL_ERROR"):
            storage.allocate(HERE.index, 11 << 20)
        del x, y
    assert on(HERE, np.ones(3)).numpy().tolist() == [1, 1, 1]


# --- ops


def test_ops_run_on_the_host_and_are_counted(loop, caplog):
    loop.backend.host.clear()
    x = on(HERE, np.array([1.0, 2.0, 3.0]))
    with caplog.at_level("WARNING", "umiak.plugin"):
        y = F.softmax(x, axis=0)
        F.softmax(x, axis=0)
    assert y.place is HERE and loop.backend.host.read() == {"softmax": 2}
    assert caplog.text.count("[softmax] runs on the host: loop:0 has no kernel for it") == 1


def train(place):
    paddle.seed(3)
    paddle.set_device(place)
    try:
        net = paddle.nn.Sequential(
            paddle.nn.Linear(6, 8), paddle.nn.LayerNorm(8), paddle.nn.GELU(), paddle.nn.Linear(8, 3)
        )
        rng = np.random.default_rng(0)
        for p in net.parameters():
            p.set_value(paddle.to_tensor(rng.standard_normal(p.shape).astype("float32") / 4))
        optimizer = paddle.optimizer.AdamW(0.01, parameters=net.parameters())
        losses = []
        for _ in range(3):
            x, y = rng.standard_normal((4, 6)).astype("float32"), rng.integers(0, 3, 4)
            loss = paddle.nn.functional.cross_entropy(net(paddle.to_tensor(x)), paddle.to_tensor(y))
            loss.backward()
            optimizer.step()
            optimizer.clear_grad()
            losses.append(float(loss))
        return losses
    finally:
        paddle.set_device("cpu")


def test_training_has_the_losses_of_the_host():
    np.testing.assert_allclose(train("loop:1"), train("cpu"), rtol=1e-5)


# --- a plug-in of required functions alone


def test_a_plug_in_without_streams_and_events(tmp_path):
    with plugin.loaded(tmp_path, "smallest", ["MINIMAL"]) as smallest:
        here, there = smallest.places
        assert not smallest.backend.has_streams and smallest.backend.collectives(here) is None
        x = on(here, np.arange(6.0).reshape(2, 3))
        assert (x.T * 2).to("smallest:1").place is there
        np.testing.assert_array_equal((x.T[1:] + 1).to("smallest:1").numpy(), np.arange(6.0).reshape(2, 3).T[1:] + 1)
        x.T[::2] = 5.0
        assert x.tolist() == [[5, 1, 5], [5, 4, 5]]
        with smallest.failing("memory_copy", ERROR), pytest.raises(PluginError, match="C_ERROR"):
            x.numpy()
        assert smallest.backend.tracer() is None
        del x
        smallest.backend.close()
        with pytest.raises(PluginError, match=r"the plug-in libpaddle-smallest[.]so is in use"):
            smallest.backend.device(there).memory.read(64, 1)
    assert smallest.counts()[1:] == (0, 0, 0, 0, 0)


def test_axes_in_the_order_of_the_target():
    assert copies.ordered((2, 3, 4), (1, 2, 6), (12, 4, 1)) == [(4, 6, 1), (3, 2, 4), (2, 1, 12)]
    assert copies.ordered((2, 3, 4), (12, 4, 1), (12, 4, 1)) == [(24, 1, 1)]
    assert copies.span([(3, -2, 5)], 1) == (-4, [-2], 5)


def test_checks_of_work_may_ask_the_queue_that_is_waited_for(loop):
    """As those of work that waited for another stream do, whose checks ask this one."""
    queue = loop.backend.device(HERE).queue(transfer.current_stream(HERE).id)
    x, y = on(HERE, np.arange(4.0)), empty((4,), paddle.float64, HERE)
    stream.synchronize(HERE.index)
    done, tickets = [], []
    for name in ("first", "second", "third"):
        transfer.copy(y, x)  # so that it is not done before somebody asks
        queue.put(name, lambda handle: None, lambda name=name: done.append(name) or (queue.poll() and None))
        tickets.append(queue.stream.submitted)
    queue.wait(tickets[1])
    assert done[:2] == ["first", "second"] and queue.completed >= tickets[1]
    queue.wait(tickets[2])
    assert done == ["first", "second", "third"]
