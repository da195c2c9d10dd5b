"""Memory of a device: blocks, pages that are mapped, pinned memory of the host, statistics, what is given back."""

from __future__ import annotations

import gc
from types import SimpleNamespace

import numpy as np
import pytest
from recording_driver import RecordingDriver, Violation

import umiak.memory as memory
from umiak.backends.cuda.device import Device
from umiak.backends.cuda.driver import CudaError
from umiak.backends.cuda.memory import PIECE, STAGED, MappedMemory, upload
from umiak.core import array, dtype, stream
from umiak.core.array import from_numpy
from umiak.core.buffer import Buffer
from umiak.core.storage import ACCESS_DEVICE, allocator
from umiak.core.tensor import empty


@pytest.fixture
def alone(cuda):
    """A device of a driver of its own, of 64 MiB; all of it must be given back."""
    driver = RecordingDriver(memory=64 << 20)
    device = Device(driver, 0)
    yield device
    device.close()
    assert driver.left() == []


@pytest.mark.parametrize("kind", ["memory", "mapped"])
def test_a_round_trip_keeps_all_bytes(alone, kind):
    raw = alone.memory if kind == "memory" else MappedMemory(alone)
    address, other = raw.take(100), raw.take(100)
    raw.write(address, bytes(range(100)))
    raw.move(other, address, 100)
    assert raw.read(other, 100) == bytes(range(100))
    raw.give(address, 100)
    with pytest.raises(ValueError, match="that take gave"):
        raw.give(address, 100)
    with pytest.raises(Violation, match="after it was freed"):
        raw.read(address, 100)
    raw.give(other, 100)
    raw.close()


@pytest.mark.parametrize("kind", ["memory", "mapped"])
def test_memory_that_there_is_not(alone, kind):
    raw = alone.memory if kind == "memory" else MappedMemory(alone)
    free = alone.driver.free_bytes[0]
    assert raw.take(1 << 30) == 0
    assert alone.driver.free_bytes[0] == free


def test_pages_move_to_other_addresses(alone):
    """Memory is given to addresses that were reserved before, and taken from them, page by page."""
    raw = MappedMemory(alone)
    size = 2 * raw.granularity
    address = raw.reserve(size)
    with pytest.raises(Violation, match="nothing is mapped"):
        raw.read(address, 1)
    raw.map(address, size)
    raw.write(address, b"x" * size)
    assert raw.read(address + size - 1, 1) == b"x"
    raw.unmap(address)
    with pytest.raises(Violation, match="nothing is mapped"):
        raw.read(address, 1)
    raw.unreserve(address, size)
    raw.close()


def test_blocks_that_a_graph_uses_are_given_back_later(alone):
    raw = alone.memory
    address = raw.take(4096)
    blocks = raw.protect({address + 100, 12345})
    assert blocks == {address}
    raw.give(address, 4096)
    assert address in alone.driver.blocks
    raw.unprotect(blocks)
    assert address not in alone.driver.blocks


def test_uploads_are_staged_in_pinned_memory(alone):
    """In pieces, of which a few wait at a time; blocks are used again."""
    queue = alone.queue(0)
    data = np.random.default_rng(0).integers(0, 256, PIECE * (STAGED + 2) // 4 * 4 + 5, np.uint8)[: 3 * PIECE + 5]
    address = alone.memory.take(data.nbytes)
    target, expected = SimpleNamespace(pointer=address), data.copy()
    upload(queue, target, data)
    data[:] = 0
    queue.wait(queue.stream.submitted)
    assert alone.memory.read(address, expected.nbytes) == expected.tobytes()
    pinned = alone.driver.calls.count("cuMemHostAlloc")
    upload(queue, target, expected)
    queue.wait(queue.stream.submitted)
    assert alone.driver.calls.count("cuMemHostAlloc") == pinned <= STAGED
    alone.memory.give(address, data.nbytes)


def test_the_drivers_errors_name_the_call(alone):
    alone.driver.fail("cuMemAlloc", 999, "CUDA_ERROR_UNKNOWN")
    with pytest.raises(CudaError, match=r"\[cuMemAlloc\] failed with CUDA_ERROR_UNKNOWN \(999\)") as caught:
        alone.memory.take(64)
    assert caught.value.call == "cuMemAlloc" and caught.value.code == 999


# --- through the allocator ---


def test_the_host_reads_copies_alone(device):
    x = from_numpy(np.arange(6.0).reshape(2, 3), device)
    assert allocator(device.index).access == ACCESS_DEVICE
    assert array.host_values(x[:, 1:]).tolist() == [[1, 2], [4, 5]]
    with pytest.raises((ValueError, RuntimeError, TypeError)):
        array.to_numpy(x)


def test_strided_elements_are_read_as_they_lie(device, cuda):
    x = from_numpy(np.arange(24.0).reshape(4, 6), device)
    stream.synchronize(device.index)
    got = cuda.device(device).memory.array(Buffer(x[3:0:-2, 1::2]))
    assert got.tolist() == np.arange(24.0).reshape(4, 6)[3:0:-2, 1::2].tolist()


@pytest.mark.usefixtures("no_garbage")
def test_memory_is_counted_and_used_again(device):
    before = memory.stats(device)
    x = empty((1000,), dtype.float32, device)
    at, now = x.data_ptr(), memory.stats(device)
    assert now["allocated"] - before["allocated"] >= 4000
    del x
    assert memory.stats(device)["allocated"] == before["allocated"]
    assert empty((1000,), dtype.float32, device).data_ptr() == at


def test_cached_memory_goes_back_when_its_work_is_done(device, cuda):
    gc.collect()
    x = from_numpy(np.ones(1 << 16, np.float32), device)
    y = x + x
    at = y.data_ptr()
    del x, y
    memory.empty_cache(device)
    assert at in cuda.driver.blocks
    stream.synchronize(device.index)
    memory.empty_cache(device)
    assert at not in cuda.driver.blocks


def test_more_memory_than_there_is(device):
    with pytest.raises(MemoryError, match="gpu"):
        empty((1 << 50,), dtype.uint8, device)
