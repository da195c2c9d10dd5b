import weakref

import numpy as np
import pytest

from umiak import ops as F
from umiak.backends.null import launch
from umiak.core import array, dtype, storage, stream, tensor
from umiak.core.place import Place
from umiak.memory import caching

CPU = Place("cpu").index
NULL = Place("null", 0).index


@pytest.fixture
def cpu():
    """The cpu with an allocator of the test's own."""
    storage.allocator(CPU)  # so that the backend has set the place up
    former = storage.install_allocator(CPU, caching.host_allocator(CPU))
    yield CPU
    storage.install_allocator(CPU, former)


@pytest.fixture
def null():
    storage.allocator(NULL)
    stream.synchronize(NULL)  # what earlier tests have handed in is done
    former = storage.install_allocator(NULL, caching.null_allocator(NULL))
    yield NULL
    stream.synchronize(NULL)
    storage.install_allocator(NULL, former)


@pytest.fixture(params=["cpu", "null"])
def place(request):
    return request.getfixturevalue(request.param)


def contents(s: storage.Storage) -> np.ndarray:
    """The bytes of a storage, through a tensor over it."""
    return np.ctypeslib.as_array((np.ctypeslib.ctypes.c_uint8 * s.nbytes).from_address(s.data_ptr()))


def test_a_storage_tells_about_itself(place):
    s = storage.allocate(place, 100)
    assert (s.nbytes, s.capacity, s.place, s.stream, s.pins, s.generation, s.state) == (100, 128, place, 0, 0, 0, 0)
    assert s.data_ptr() % 64 == 0 and s.later_streams == () and not s.foreign and not s.pinned
    assert "100 bytes" in repr(s)


def test_sizes_of_zero(place):
    before = storage.allocator(place).stats()
    s = storage.allocate(place, 0)
    assert s.data_ptr() != 0 and s.capacity == 0
    s.relocate()
    s.offload()
    s.reload()
    del s
    assert storage.allocator(place).stats() == before


def test_versions(place):
    s = storage.allocate(place, 8)
    assert s.version == 0
    s.bump()
    s.bump()
    assert s.version == 2


def test_memory_comes_back_with_the_last_reference(place):
    s = storage.allocate(place, 1000)
    other, address = s, s.data_ptr()
    del s
    assert storage.allocator(place).stats()["allocated"] == 1024
    del other
    assert storage.allocator(place).stats()["allocated"] == 0
    assert storage.allocate(place, 900).data_ptr() != address  # another size class
    assert storage.allocate(place, 1000).data_ptr() == address


def test_storages_outlive_their_allocator_s_place_in_the_table(cpu):
    s = storage.allocate(cpu, 64)
    old = weakref.ref(storage.allocator(cpu))
    storage.install_allocator(cpu, caching.host_allocator(cpu))
    contents(s)[:] = 1
    assert old() is not None
    del s
    assert old() is None


def test_moving_keeps_the_contents(cpu, rng):
    for n in (1, 63, 64, 5000, 3 << 20):
        s = storage.allocate(cpu, n)
        data = rng.integers(0, 256, n, np.uint8)
        contents(s)[:] = data
        address = s.data_ptr()
        s.relocate()
        assert s.data_ptr() != address and s.generation == 1
        assert (contents(s) == data).all()


def test_a_tensor_follows_its_storage(cpu):
    t = tensor.empty((3,), dtype.int32, Place("cpu"))
    array.operand(t)[:] = [1, 2, 3]
    before = t.data_ptr()
    t.storage.relocate()
    assert t.data_ptr() != before
    assert array.operand(t).tolist() == [1, 2, 3]


def test_pinned_memory_does_not_move(place):
    s = storage.allocate(place, 100)
    s.pin()
    s.pin()
    s.unpin()
    assert s.pinned
    for act in (s.relocate, s.offload, s.free):
        with pytest.raises(RuntimeError, match="1 pins"):
            act()
    s.unpin()
    s.relocate()
    with pytest.raises(RuntimeError, match="pinned"):
        s.unpin()
    assert s.pins == 0


@pytest.mark.parametrize("later", [False, True])
def test_memory_in_use_does_not_move(null, later):
    user = stream.stream(null, 1 if later else 0)
    s = storage.allocate(null, 100)
    if later:
        s.use_on_stream(1)
    user.submit(2)
    for act in (s.relocate, s.offload):
        with pytest.raises(RuntimeError, match=r"no stream is using; synchronize null:0"):
            act()
    user.advance(1)
    with pytest.raises(RuntimeError):
        s.relocate()
    user.advance(1)
    s.relocate()
    assert s.generation == 1


def test_offloading_gives_the_memory_back(place, rng):
    s = storage.allocate(place, 5000)
    if place == CPU:
        data = rng.integers(0, 256, 5000, np.uint8)
        contents(s)[:] = data
    s.offload()
    s.offload()
    assert s.state == 1 and s.capacity == 0
    assert storage.allocator(place).stats()["allocated"] == 0
    keep = storage.allocate(place, 5000)  # takes the old block
    s.data_ptr()
    assert s.state == 0 and s.generation == 1 and s.capacity == keep.capacity
    if place == CPU:
        assert (contents(s) == data).all()
    s.offload()
    del s
    del keep
    assert storage.allocator(place).stats()["allocated"] == 0


def test_a_tensor_brings_its_storage_back(cpu):
    t = array.from_numpy(np.arange(4.0), Place("cpu"))
    t.storage.offload()
    assert array.to_numpy(t).tolist() == [0, 1, 2, 3]


def test_reload_when_there_is_no_room(null):
    s = storage.allocate(null, 1000)
    s.offload()
    storage.allocator(null).limit = 1
    storage.allocator(null).empty_cache()
    with pytest.raises(MemoryError):
        s.reload()
    assert s.state == 1
    storage.allocator(null).limit = 0
    s.reload()
    assert s.state == 0


def test_freed_memory_is_not_used(place):
    s = storage.allocate(place, 100)
    s.free()
    s.free()
    assert s.state == 2 and storage.allocator(place).stats()["allocated"] == 0
    for act in (s.data_ptr, s.pin, s.relocate, s.offload, s.reload):
        with pytest.raises(RuntimeError, match="freed"):
            act()


def test_memory_of_a_running_kernel_is_not_given_back(monkeypatch):
    import scipy.linalg

    x = array.from_numpy(np.eye(2))
    tried = []

    def expm(matrix):
        for act in (x.storage.free, array.from_numpy(np.zeros(3)).storage.free):
            with pytest.raises(RuntimeError, match=r"free\(\) requires that no kernel is running on cpu:"):
                act()
        tried.append(matrix)
        return matrix

    monkeypatch.setattr(scipy.linalg, "expm", expm)
    F.matrix_exp(x)
    assert len(tried) == 1
    x.storage.free()


def test_streams_that_used_it(null):
    s = storage.allocate(null, 100, stream=2)
    for id in (2, 3, 1, 3):
        s.use_on_stream(id)
    assert s.stream == 2 and s.later_streams == (3, 1)


class Owner(np.ndarray):
    """An array that can be weakly referenced."""


def test_foreign_memory_lives_as_long_as_its_storage(cpu):
    owner = np.arange(10).view(Owner)
    gone = weakref.ref(owner)
    t = array.from_numpy(owner, Place("cpu"), copy=False)
    s = t.storage
    del owner, t
    assert gone() is not None and s.foreign
    for act in (s.relocate, s.offload):
        with pytest.raises(RuntimeError, match="Owner"):
            act()
    s.free()
    assert gone() is None and s.state == 2


def test_foreign_memory_waits_for_streams():
    # Host memory with streams, as of a device that reads it.
    toy = Place("toy_with_streams", 0)
    stream.install_driver(toy.index, launch.NullDriver())
    storage.install_allocator(toy.index, caching.host_allocator(toy.index))
    owner = np.arange(10).view(Owner)
    gone = weakref.ref(owner)
    t = array.from_numpy(owner, toy, copy=False)
    t.storage.use_on_stream(1)
    stream.stream(toy.index, 0).submit()
    stream.stream(toy.index, 1).submit(2)
    del owner, t
    assert gone() is not None
    stream.stream(toy.index, 0).advance(1)
    stream.stream(toy.index, 1).advance(1)
    assert storage.collect_foreign() == 1 and gone() is not None
    stream.stream(toy.index, 1).advance(1)
    assert storage.collect_foreign() == 0 and gone() is None


def test_errors_name_what_is_wrong(null):
    with pytest.raises(TypeError, match="allocate"):
        storage.Storage()
    with pytest.raises(ValueError, match="place index"):
        storage.allocate(64, 1)
    with pytest.raises(ValueError, match="at least 0"):
        storage.allocate(null, -1)
    with pytest.raises(ValueError, match="stream"):
        storage.allocate(null, 1, stream=-1)
    with pytest.raises(ValueError, match="only stream 0"):
        storage.allocate(CPU, 1, stream=1)
    nowhere = Place("nowhere", 0)
    with pytest.raises(ValueError, match="no backend runs 'nowhere'"):
        storage.allocate(nowhere.index, 1)
    former = storage.install_allocator(null, None)
    try:
        with pytest.raises(RuntimeError, match="null:0 has no allocator"):
            storage.allocate(null, 1)
    finally:
        storage.install_allocator(null, former)
