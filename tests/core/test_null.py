import threading

import pytest

from umiak import backends, memory
from umiak import ops as F
from umiak.core import array, dtype, stream
from umiak.core.context import current
from umiak.core.place import Place
from umiak.core.stream import Stream
from umiak.core.tensor import empty

PLACES = [Place("null", i) for i in (0, 7, 1000)]


@pytest.fixture(params=PLACES, ids=str)
def place(request):
    """A null device on whose streams nothing is left to do."""
    stream.synchronize(request.param.index)
    yield request.param
    stream.synchronize(request.param.index)


def one(place: Place, id: int = 0) -> Stream:
    return stream.stream(place.index, id)


# --- ops


def test_an_op_is_one_launch(place):
    x = empty((2, 3), dtype.float32, place)
    before = one(place).submitted
    y = F.add(x, x)
    assert one(place).submitted == before + 1
    assert y.place is place and y.shape == [2, 3] and y.dtype is dtype.float32


def test_any_op_runs(place):
    x = empty((4, 4), dtype.bfloat16, place)
    before = one(place).submitted
    y = F.softmax(F.matmul(x, x, transpose_x=True, transpose_y=False), axis=1)
    assert y.shape == [4, 4] and one(place).submitted >= before + 2
    null = backends.get("null")
    assert all(null.supports(cls) for cls in F.REGISTRY.values())


def test_an_op_is_launched_on_the_current_stream(place):
    side = one(place, 3)
    before = (one(place).submitted, side.submitted)
    former = current().set_stream(place, 3)
    try:
        x = empty((2,), dtype.float32, place)
        y = F.add(x, x)
    finally:
        current().set_stream(place, former)
    assert y.storage.stream == 3
    assert (one(place).submitted, side.submitted) == (before[0], before[1] + 1)


def test_sizes_beyond_any_machine(place):
    x = empty((1 << 40,), dtype.float32, place)
    assert F.add(x, x).shape == [1 << 40]
    assert memory.stats(place)["requested"] == 1 << 42


def test_there_is_nothing_to_see(place):
    x = empty((2,), dtype.float32, place)
    with pytest.raises(RuntimeError, match=f"{place.name}, which keeps none"):
        array.to_numpy(x)


def test_addresses_of_places_differ():
    blocks = [empty((1 << 40,), dtype.uint8, p).storage for p in PLACES for _ in range(3)]
    spans = sorted((s.data_ptr(), s.data_ptr() + s.capacity) for s in blocks)
    assert all(end <= start for (_, end), (start, _) in zip(spans, spans[1:]))


def test_launches_of_many_threads_are_counted(place):
    def work():
        x = empty((2,), dtype.float32, place)
        for _ in range(200):
            F.add(x, x)

    before = one(place).submitted
    threads = [threading.Thread(target=work) for _ in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert one(place).submitted == before + 800


# --- streams


def test_work_completes_when_told(place):
    s = one(place)
    done = s.completed
    s.submit(5)
    assert s.completed == done and not s.query()
    assert s.advance(2) == 2 and s.completed == done + 2
    assert s.advance(10) == 3 and s.query()
    s.submit()
    s.synchronize()
    assert s.query()


def test_events(place):
    s = one(place)
    assert s.record().query()
    s.submit(2)
    event = s.record()
    s.submit(2)
    assert not event.query()
    s.advance(1)
    assert not event.query()
    s.advance(1)
    assert event.query() and not s.query()
    later = s.record()
    later.synchronize()
    assert later.query() and later.stream is s


def test_streams_are_interned(place):
    assert one(place, 1) is one(place, 1) is not one(place, 2)
    assert stream.new_stream(place.index).id not in (0, 1, 2)
    with pytest.raises(ValueError, match="stream id"):
        one(place, 256)
    with pytest.raises(TypeError, match="new_stream"):
        Stream()


def test_a_stream_waits_for_another(place):
    a, b = one(place, 1), one(place, 2)
    a.submit(3)
    b.submit(1)
    b.wait(a.record())
    b.submit(1)
    a.submit(1)
    assert b.advance(10) == 1  # up to where it waits
    a.advance(2)
    assert b.advance(10) == 0
    a.advance(1)
    assert b.advance(10) == 2 and b.query()
    assert not a.query()  # work after the event is of no concern


def test_waiting_for_a_stream_completes_what_it_waits_for(place):
    a, b, c = (one(place, i) for i in (1, 2, 3))
    a.submit(2)
    b.wait(a.record())
    b.submit(1)
    c.wait(b.record())
    a.submit(1)
    c.synchronize()
    assert c.query() and b.query() and not a.query()


def test_streams_wait_across_places():
    a, b = one(PLACES[0], 1), one(PLACES[1], 1)
    a.submit(1)
    b.wait(a.record())
    assert b.advance(1) == 0
    stream.synchronize(PLACES[1].index)
    assert a.query() and b.query()


def test_waiting_for_what_is_done_is_no_work(place):
    a, b = one(place, 1), one(place, 2)
    before = b.submitted
    b.wait(a.record())
    b.submit(1)
    b.wait(b.record())  # a stream is in order with itself
    assert b.submitted == before + 1


def test_the_cpu_has_one_stream_that_is_always_done():
    s = stream.stream(Place("cpu").index)
    s.submit(3)
    assert s.query() and s.record().query()
    s.synchronize()
    with pytest.raises(RuntimeError, match="null"):
        s.advance()
    with pytest.raises(ValueError, match="only stream 0"):
        stream.stream(Place("cpu").index, 1)
    a = one(PLACES[0], 1)
    a.submit(1)
    s.wait(a.record())  # the host has no queue to wait in: it waits itself
    assert a.query()
