import pytest
from hypothesis import given
from hypothesis import strategies as st

from umiak import memory
from umiak.core import storage, stream
from umiak.core.place import Place
from umiak.memory import caching

CPU = Place("cpu")
NULL = Place("null", 1)


@pytest.fixture(params=["cpu", "null"])
def place(request):
    """A place with an allocator of the test's own."""
    p = CPU if request.param == "cpu" else NULL
    memory.stats(p)  # so that the backend has set the place up
    stream.synchronize(p.index)  # what earlier tests have handed in is done
    make = caching.host_allocator if p is CPU else caching.null_allocator
    former = storage.install_allocator(p.index, make(p.index))
    yield p
    stream.synchronize(p.index)
    storage.install_allocator(p.index, former)


@pytest.fixture
def null():
    memory.stats(NULL)
    stream.synchronize(NULL.index)
    former = storage.install_allocator(NULL.index, caching.null_allocator(NULL.index))
    yield NULL
    stream.synchronize(NULL.index)
    storage.install_allocator(NULL.index, former)


def take(place, nbytes, stream=0):
    return storage.allocate(place.index, nbytes, stream)


# --- size classes


def test_small_sizes_are_multiples_of_64():
    for n in range(1, 513):
        assert caching.size_class(n) == ((n - 1) // 64, -(-n // 64) * 64)


@given(st.integers(513, 2**47))
def test_blocks_waste_little(n):
    index, size = caching.size_class(n)
    assert size >= n and size % 64 == 0
    assert (size - n) / size <= 0.12
    assert caching.size_class(size) == (index, size)
    if size < 2**47:
        assert caching.size_class(size + 1)[0] == index + 1


def test_sizes_that_no_class_has():
    for n in (0, -1, 2**47 + 1):
        with pytest.raises(ValueError, match="2\\*\\*47"):
            caching.size_class(n)


# --- reuse and figures


def test_the_warmest_block_is_used_first(place):
    a, b = take(place, 1000), take(place, 1000)
    first, second = a.data_ptr(), b.data_ptr()
    del a
    del b
    assert take(place, 990).data_ptr() == second
    c, d = take(place, 1000), take(place, 1000)
    assert (c.data_ptr(), d.data_ptr()) == (second, first)


def test_figures(place):
    a = take(place, 1000)
    b = take(place, 50)
    assert memory.stats(place) == {
        "allocated": 1024 + 64,
        "allocated_peak": 1024 + 64,
        "requested": 1050,
        "requested_peak": 1050,
        "reserved": 1088,
        "reserved_peak": 1088,
        "pending": 0,
        "cached": 0,
        "allocations": 2,
        "frees": 0,
        "source_allocations": 2,
        "source_frees": 0,
        "retries": 0,
        "failures": 0,
    }
    del a
    now = memory.stats(place)
    assert (now["allocated"], now["allocated_peak"], now["cached"], now["frees"]) == (64, 1088, 1024, 1)
    memory.reset_peaks(place.index)
    now = memory.stats(place.index)
    assert (now["allocated_peak"], now["requested_peak"], now["reserved_peak"]) == (64, 50, 1088)
    assert memory.empty_cache(place) == 1024
    assert memory.stats(place)["reserved"] == 64
    del b
    assert memory.stats(place)["allocated"] == 0


def test_a_steady_program_asks_the_source_nothing(place):
    def step():
        kept = [take(place, n) for n in (3, 700, 80_000, 5_000_000)]
        return [s.data_ptr() for s in kept]

    step()
    before = memory.stats(place)["source_allocations"]
    for _ in range(10):
        step()
    assert memory.stats(place)["source_allocations"] == before


def test_the_cache_of_large_blocks_is_bounded(place):
    storage.allocator(place.index).cache_limit = 10 << 20
    small = take(place, 100)
    del small
    for n in range(1, 12):
        s = take(place, n << 20)
        del s
        assert memory.stats(place)["cached"] <= (10 << 20) + 128
    assert memory.stats(place)["cached"] > 0
    s = take(place, 64 << 20)  # larger than the cache may be
    del s
    assert memory.stats(place)["cached"] == 128  # the small one stays


# --- running out


def test_out_of_memory_says_what_when_where(place):
    memory.set_limit(place, 10_000)
    assert memory.get_limit(place) == 10_000
    kept = [take(place, 1000) for _ in range(9)]
    with pytest.raises(MemoryError) as error:
        take(place, 2000)
    text = str(error.value)
    for part in (place.name, "2.0 KiB requested", "9.0 KiB in use", "9.0 KiB reserved", "limit 9.8 KiB", "batch"):
        assert part in text
    assert memory.stats(place)["failures"] == 1
    del kept[0]
    assert take(place, 1000).capacity == 1024
    with pytest.raises(ValueError, match="at least 0"):
        memory.set_limit(place, -1)


def test_more_than_there_is(place):
    with pytest.raises(MemoryError, match="any allocation"):
        take(place, 2**50)
    if place is CPU:
        with pytest.raises(MemoryError, match="the system has no more"):
            take(place, 2**46)
    else:
        assert take(place, 2**46).capacity == 2**46
    assert memory.stats(place)["allocated"] == 0


def test_the_cache_makes_room(place):
    memory.set_limit(place, 10_000)
    for n in (1000, 2000, 3000, 4000, 8000):
        s = take(place, n)
        del s
    assert memory.stats(place)["retries"] == 2
    assert memory.stats(place)["failures"] == 0


# --- streams


def test_blocks_stay_with_their_stream(null):
    a, b = take(null, 100, 1), take(null, 100, 2)
    first, second = a.data_ptr(), b.data_ptr()
    stream.stream(null.index, 1).submit()
    del a, b
    # Reuse on the same stream needs no waiting: work there runs in order.
    assert take(null, 100, 1).data_ptr() == first
    assert take(null, 100, 2).data_ptr() == second


def test_a_block_waits_for_other_streams(null):
    other = stream.stream(null.index, 1)
    other.submit()
    s = take(null, 100)
    address = s.data_ptr()
    s.use_on_stream(1)
    other.submit(2)
    del s
    assert memory.stats(null)["pending"] == 128 and memory.stats(null)["allocated"] == 0
    other.submit()  # after it was freed: of no concern
    other.advance(2)
    a = take(null, 100)
    assert a.data_ptr() != address
    other.advance(1)
    b = take(null, 100)
    assert b.data_ptr() == address
    assert memory.stats(null)["pending"] == 0 and not other.query()


def test_a_block_waits_for_all_of_them(null):
    users = [stream.stream(null.index, i) for i in (1, 2, 3)]
    s = take(null, 100)
    address = s.data_ptr()
    for u in users:
        u.submit()
        s.use_on_stream(u.id)
    del s
    for u in (users[1], users[0], users[2]):
        assert take(null, 100).data_ptr() != address
        u.advance()
        memory.empty_cache(null)
    assert memory.stats(null)["pending"] == 0


def test_streams_that_are_done_cost_nothing(null):
    s = take(null, 100)
    address = s.data_ptr()
    s.use_on_stream(1)
    del s
    assert take(null, 100).data_ptr() == address


def test_running_out_waits_for_streams(null):
    memory.set_limit(null, 1024)
    other = stream.stream(null.index, 1)
    s = take(null, 1000)
    s.use_on_stream(1)
    other.submit()
    del s
    take(null, 1000)  # its block comes back only when the stream is done
    assert other.query() and memory.stats(null)["failures"] == 0


def test_cached_blocks_of_a_busy_stream_are_not_given_back(null):
    s = take(null, 1000, 1)
    stream.stream(null.index, 1).submit()
    del s
    assert memory.empty_cache(null) == 0
    stream.stream(null.index, 1).synchronize()
    assert memory.empty_cache(null) == 1024


# --- any order of events

ACTIONS = st.lists(
    st.tuples(st.sampled_from(["take", "drop", "use", "submit", "advance", "move", "empty"]), st.integers(0, 2**20)),
    max_size=60,
)


class Model:
    """What must hold of memory in use, beside what the allocator says."""

    def __init__(self, place, limit):
        self.place, self.limit = place, limit
        self.streams = [stream.stream(place.index, i) for i in range(3)]
        self.live = []
        self.owed = []  # (first byte, end, stream, tickets of other streams) of freed blocks

    def take(self, nbytes, owner):
        try:
            new = take(self.place, nbytes, owner)
        except MemoryError:
            assert memory.stats(self.place)["allocated"] + caching.size_class(nbytes)[1] > self.limit
            return
        start, end = new.data_ptr(), new.data_ptr() + new.capacity
        for other in self.live:
            assert end <= other.data_ptr() or other.data_ptr() + other.capacity <= start
        for first, last, former, tickets in self.owed:
            if start < last and first < end:
                assert former == owner
                assert all(self.streams[i].completed >= ticket for i, ticket in tickets)
        self.live.append(new)

    def drop(self, i):
        s = self.live.pop(i)
        tickets = [(i, self.streams[i].submitted) for i in s.later_streams]
        if s.capacity:
            self.owed.append((s.data_ptr(), s.data_ptr() + s.capacity, s.stream, tickets))

    def move(self, i):
        s = self.live[i]
        try:
            s.relocate()
        except RuntimeError:
            assert not all(self.streams[i].query() for i in {s.stream, *s.later_streams})
        except MemoryError:
            pass

    def act(self, action, n):
        if action == "take":
            self.take(n, n % 3)
        elif action == "submit":
            self.streams[n % 3].submit(n % 4)
        elif action == "advance":
            self.streams[n % 3].advance(n % 4)
        elif action == "empty":
            memory.empty_cache(self.place)
        elif self.live:
            i = n % len(self.live)
            if action == "use":
                self.live[i].use_on_stream(n // 7 % 3)
            elif action == "move":
                self.move(i)
            else:
                self.drop(i)
        figures = memory.stats(self.place)
        assert figures["allocated"] == sum(s.capacity for s in self.live)
        assert figures["requested"] == sum(s.nbytes for s in self.live)
        assert figures["reserved"] <= self.limit and figures["cached"] >= 0 and figures["pending"] >= 0


@given(ACTIONS)
def test_no_byte_has_two_users(actions):
    place = Place("null", 2)
    memory.stats(place)
    former = storage.install_allocator(place.index, caching.null_allocator(place.index, limit=4 << 20))
    model = Model(place, 4 << 20)
    try:
        for action, n in actions:
            model.act(action, n)
        model.live.clear()
        stream.synchronize(place.index)
        memory.empty_cache(place)
        left = memory.stats(place)
        assert left["reserved"] == left["pending"] == left["allocated"] == 0
        assert left["source_allocations"] == left["source_frees"]
    finally:
        stream.synchronize(place.index)
        storage.install_allocator(place.index, former)


class Asked(stream.QueueDriver):
    """Streams whose work is done when ``done`` says so; to ask one calls what is in ``calls`` first."""

    def __init__(self):
        self.done, self.calls = {}, []

    def completed(self, id):
        while self.calls:
            self.calls.pop()()
        return self.done.get(id, 0)

    def synchronize(self, id, ticket):
        self.done[id] = max(ticket, self.done.get(id, 0))


def test_what_is_freed_while_streams_are_asked_is_not_lost():
    """As work that is found to be done lets go of what it has used."""
    place, driver = Place("null", 61), Asked()
    stream.install_driver(place.index, driver)
    storage.install_allocator(place.index, caching.null_allocator(place.index))
    held = [take(place, 64)]
    first = take(place, 64)
    for id, s in ((1, first), (2, held[0])):
        s.use_on_stream(id)
        stream.stream(place.index, id).submit()
    del first, s
    assert memory.stats(place)["pending"] == 64
    driver.done[1] = 1
    driver.calls.append(held.clear)
    again = take(place, 64)  # asks stream 1, and takes the block that it is done with
    assert memory.stats(place)["pending"] == 64 and memory.stats(place)["source_allocations"] == 2
    driver.done[2] = 1
    memory.empty_cache(place)
    assert memory.stats(place)["pending"] == 0 and memory.stats(place)["reserved"] == 64
    del again


@pytest.fixture(scope="module")
def driver():
    """That of a place of its own, for good."""
    installed = Asked()
    stream.install_driver(Place("null", 60).index, installed)
    return installed


@pytest.fixture
def asked(driver):
    place = Place("null", 60)
    storage.install_allocator(place.index, caching.null_allocator(place.index))
    yield place, driver
    stream.synchronize(place.index)
    storage.install_allocator(place.index, caching.null_allocator(place.index))


def test_who_is_short_of_memory_while_another_thread_asks_finds_the_other_blocks(asked):
    place, driver = asked
    held, got = [take(place, 64), take(place, 64)], []
    for id, s in enumerate(held, 1):
        s.use_on_stream(id)
        driver.done[id] = stream.stream(place.index, id).submit() - 1
    del s
    held.clear()
    memory.set_limit(place, memory.stats(place)["reserved"])
    for id in (1, 2):
        driver.done[id] += 1
    driver.calls.append(lambda: got.append(take(place, 64)))
    again = take(place, 64)
    assert got and memory.stats(place)["pending"] == 0
    del again


def test_streams_that_use_memory_while_it_is_freed_are_none_of_its_users(asked):
    place, driver = asked
    s = take(place, 64)
    s.use_on_stream(1)
    for id in range(1, 9):
        driver.done[id] = stream.stream(place.index, id).submit() - 1
    driver.calls.append(lambda: [s.use_on_stream(id) for id in range(2, 9)])
    s.free()
    assert memory.stats(place)["pending"] == 64
    driver.done[1] += 1
    assert take(place, 64).nbytes == 64 and memory.stats(place)["pending"] == 0


class Bytes:
    """Memory in Python whose reads and writes call what is in ``calls`` first, as other threads run then."""

    def __init__(self):
        self.blocks, self.calls = {}, []

    def take(self, nbytes):
        address = (len(self.blocks) + 1) << 20
        self.blocks[address] = bytes(nbytes)
        return address

    def give(self, address, nbytes):
        pass

    def read(self, address, nbytes):
        while self.calls:
            self.calls.pop()()
        return self.blocks[address][:nbytes]

    def write(self, address, data):
        while self.calls:
            self.calls.pop()()
        self.blocks[address] = data

    def move(self, target, source, nbytes):
        self.write(target, self.read(source, nbytes))


@pytest.fixture
def contents():
    """A place whose memory is in Python."""
    place, blocks = Place("null", 59), Bytes()
    former = storage.install_allocator(place.index, caching.device_allocator(place.index, blocks))
    yield place, blocks
    storage.install_allocator(place.index, former)


def test_what_two_threads_offload_is_given_back_once(contents):
    place, blocks = contents
    s = take(place, 64)
    blocks.calls.append(s.offload)
    s.offload()
    assert memory.stats(place)["frees"] == 1 and memory.stats(place)["allocated"] == 0
    first, second = take(place, 64), take(place, 64)
    assert first.data_ptr() != second.data_ptr()


def test_what_two_threads_bring_back_has_one_memory(contents):
    place, blocks = contents
    s = take(place, 64)
    blocks.blocks[s.data_ptr()] = b"x" * 64
    s.offload()
    blocks.calls.append(s.reload)
    s.reload()
    assert blocks.blocks[s.data_ptr()] == b"x" * 64 and s.generation == 1
    assert memory.stats(place)["allocated"] == 64
    del s
    assert memory.stats(place)["allocated"] == 0


def test_what_is_written_while_it_is_offloaded_is_kept(contents):
    place, blocks = contents
    s = take(place, 64)

    def write():
        blocks.blocks[s.data_ptr()] = b"y" * 64
        s.bump()

    original = blocks.read

    def read(*args):
        found = original(*args)
        if not s.version:
            write()  # when it has been read
        return found

    blocks.read = read
    s.offload()
    assert blocks.blocks[s.data_ptr()] == b"y" * 64


@pytest.mark.parametrize("meanwhile", ["relocate", "offload", "bump", "pin"])
def test_what_another_thread_uses_does_not_move(contents, meanwhile):
    place, blocks = contents
    s = take(place, 64)
    blocks.blocks[s.data_ptr()] = b"x" * 64
    blocks.calls.append(getattr(s, meanwhile))
    with pytest.raises(RuntimeError, match="that no other thread uses meanwhile"):
        s.relocate()
    assert blocks.blocks[s.data_ptr()] == b"x" * 64
    others = [take(place, 64) for _ in range(3)]
    assert len({x.data_ptr() for x in [s, *others]}) == 4
