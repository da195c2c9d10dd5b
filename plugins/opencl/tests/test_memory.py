"""Memory of a device: numbers for addresses, padding, what is refused, statistics."""

from __future__ import annotations

import numpy as np
import pytest
from garbage import without_garbage

import umiak.memory as memory
from umiak.core import array, dtype, stream
from umiak.core.array import from_numpy
from umiak.core.buffer import Buffer
from umiak.core.storage import ACCESS_DEVICE, allocator
from umiak.core.tensor import empty


@pytest.fixture
def raw(opencl, device):
    return opencl.backend.device(device).memory


def test_a_round_trip_keeps_all_bytes(raw):
    address = raw.take(100)
    raw.write(address, bytes(range(100)))
    other = raw.take(100)
    raw.move(other, address, 100)
    assert raw.read(other, 100) == bytes(range(100))
    raw.give(address, 100)
    raw.give(other, 100)


def test_buffers_end_with_whole_words_and_lie_apart(raw):
    """Atomics of parts of words change the word around them, and what runs past an end is in no other buffer."""
    first, second = raw.take(5), raw.take(5)
    buffer, offset = raw.find(first)
    assert buffer.size % 64 == 0
    assert offset == 0
    assert second - first > buffer.size
    with pytest.raises(ValueError, match="none of this device's"):
        raw.find(first + buffer.size)
    for address in (first, second):
        raw.give(address, 5)
    with pytest.raises(ValueError, match="that take gave"):
        raw.give(first, 5)


def test_memory_that_there_is_not(device):
    with pytest.raises(MemoryError, match="opencl:0"):
        empty((1 << 50,), dtype.uint8, device)
    assert array.host_values(from_numpy(np.ones(3), device)).tolist() == [1, 1, 1]


def test_the_host_reads_copies_alone(device):
    x = from_numpy(np.arange(6.0).reshape(2, 3), device)
    assert allocator(device.index).access == ACCESS_DEVICE
    assert array.host_values(x[:, 1:]).tolist() == [[1, 2], [4, 5]]
    with pytest.raises((ValueError, RuntimeError, TypeError)):
        array.to_numpy(x)


def test_strided_elements_are_read_as_they_lie(raw, device):
    x = from_numpy(np.arange(24.0).reshape(4, 6), device)
    stream.synchronize(device.index)
    assert raw.array(Buffer(x[3:0:-2, 1::2])).tolist() == np.arange(24.0).reshape(4, 6)[3:0:-2, 1::2].tolist()


def test_memory_is_counted_and_used_again(device):
    with without_garbage():
        before = memory.stats(device)
        x = empty((1000,), dtype.float32, device)
        at, now = x.data_ptr(), memory.stats(device)
        assert now["allocated"] - before["allocated"] >= 4000
        del x
        assert memory.stats(device)["allocated"] == before["allocated"]
        assert empty((1000,), dtype.float32, device).data_ptr() == at
