"""``MmapStorage`` and ``frombuffer``: tensors over mapped files and buffers."""

from __future__ import annotations

import gc
import os

import numpy as np
import pytest

import paddle
from paddle.base.core import frombuffer

NUMBERS = np.arange(20, dtype=np.float32)


@pytest.fixture
def path(tmp_path):
    NUMBERS.tofile(tmp_path / "numbers")
    return str(tmp_path / "numbers")


@pytest.fixture
def storage(path):
    return paddle.MmapStorage(path, 80)


def test_one_class(storage):
    assert paddle.tensor.MmapStorage is paddle.MmapStorage is paddle.base.core.MmapStorage
    x = storage.get_slice()
    assert x.dtype is paddle.uint8 and x.shape == [80] and x.place.is_cpu_place() and x.stop_gradient


@pytest.mark.parametrize(
    ("dtype", "start", "stop", "wanted"),
    [
        ("float32", 0, 20, NUMBERS),
        ("float32", 8, 16, [2, 3, 4, 5, 6, 7, 8, 9]),
        ("bfloat16", 0, 4, [0, 0, 0, 1]),
        ("complex64", 0, 4, [1j, 2 + 3j, 4 + 5j, 6 + 7j]),
        ("uint8", 4, 8, [0, 0, 128, 63]),
        ("float32", 5, 5, []),
        ("float32", 80, 80, []),
    ],
)
def test_slices(storage, dtype, start, stop, wanted):
    x = storage.get_slice(dtype, start, stop)
    assert x.dtype is getattr(paddle, dtype) and x.tolist() == list(wanted)


def test_to_the_end_and_steps(storage):
    assert storage.get_slice("float32", 72).tolist() == [18, 19]
    assert storage.get_slice("float32", 4, 9, 2).tolist() == [1, 3, 5]


def test_bytes_at_odd_places_are_viewed(storage):
    data = NUMBERS.tobytes()
    for start in range(9):
        x = storage.get_slice("uint8", start, start + 32)
        for dtype in ("float32", "float64", "complex128"):
            assert x.view(dtype).numpy().tobytes() == data[start : start + 32]
        assert storage.get_slice("int64", start, start + 2).numpy().tobytes() == data[start : start + 16]


def test_writes_stay_in_the_storage(storage, path):
    x = storage.get_slice("float32", 0, 4)
    x[0] = 7.0
    assert storage.get_slice("float32", 0, 2).tolist() == [7, 1]
    assert np.fromfile(path, np.float32).tolist() == NUMBERS.tolist()


def test_slices_outlive_the_storage(path):
    x = paddle.MmapStorage(path, 80).get_slice("float32", 0, 20)
    os.remove(path)
    gc.collect()
    assert x.tolist() == NUMBERS.tolist()


def test_part_of_a_file(path):
    storage = paddle.MmapStorage(filename=path, nbytes=8)
    assert storage.get_slice("float32").tolist() == [0, 1]
    with pytest.raises(ValueError, match=r"\[MmapStorage.get_slice\] requires a stop of 0 to 2 .*, got 3"):
        storage.get_slice("float32", 0, 3)
    assert paddle.MmapStorage(path, 0).get_slice().shape == [0]


@pytest.mark.parametrize(
    ("arguments", "kind", "words"),
    [
        ({"start": -1}, ValueError, "a start of 0 to 80"),
        ({"start": 81}, ValueError, "a start of 0 to 80"),
        ({"start": 2, "stop": 1}, ValueError, "a stop of 2 to 80"),
        ({"stop": 81}, ValueError, "a stop of 0 to 80"),
        ({"stop": -2}, ValueError, "a stop of 0 to 80"),
        ({"stop": 1 << 80}, ValueError, "a stop of 0 to 80"),
        ({"step": 0}, ValueError, "a step of at least 1"),
        ({"step": -1}, ValueError, "a step of at least 1"),
        ({"start": 0.5}, TypeError, "an int as start, got 0.5"),
        ({"dtype": "nope"}, TypeError, "a data type"),
        ({"dtype": "int4"}, TypeError, "a dtype of whole bytes"),
    ],
)
def test_slices_that_are_not_there(storage, arguments, kind, words):
    with pytest.raises(kind, match=words):
        storage.get_slice(**arguments)


def test_files_that_are_not_there(path, tmp_path):
    with pytest.raises(FileNotFoundError):
        paddle.MmapStorage(path + "x", 1)
    with pytest.raises(ValueError, match="a regular file"):
        paddle.MmapStorage(str(tmp_path), 1)
    for nbytes in (-1, 81, 1 << 80):
        with pytest.raises(ValueError, match=rf"nbytes of 0 to 80, .*, got {nbytes}"):
            paddle.MmapStorage(path, nbytes)
    with pytest.raises(TypeError, match="an int as nbytes"):
        paddle.MmapStorage(path, "80")


def test_buffers_that_can_be_written_are_shared():
    data = bytearray(NUMBERS.tobytes())
    x = frombuffer(data, paddle.float32)
    data[4:8] = np.float32(9).tobytes()
    x[0] = 5.0
    assert x.tolist()[:3] == [5, 9, 2] and np.frombuffer(data, np.float32)[:2].tolist() == [5, 9]
    with pytest.raises(BufferError):
        data.append(1)


def test_buffers_that_cannot_be_written_are_copied():
    data = NUMBERS.tobytes()
    x = frombuffer(data, paddle.float32)
    x[0] = 5.0
    assert data == NUMBERS.tobytes() and x.tolist()[:2] == [5, 1]


def test_parts_of_buffers():
    data = bytearray(NUMBERS.tobytes())
    assert frombuffer(data, paddle.float32, 2).tolist() == [0, 1]
    assert frombuffer(buffer=data, dtype=paddle.float32, count=2, offset=4).tolist() == [1, 2]
    odd = frombuffer(data, paddle.float32, 2, 3)
    assert odd.numpy().tobytes() == bytes(data[3:11])
    assert frombuffer(np.arange(6.0).reshape(2, 3), "float64").tolist() == [0, 1, 2, 3, 4, 5]
    assert frombuffer(b"", paddle.float32).shape == frombuffer(data, paddle.float32, 0).shape == [0]
    assert frombuffer(data, paddle.float32, -1, 80).shape == [0]


@pytest.mark.parametrize(
    ("arguments", "kind", "words"),
    [
        (
            (b"abc", "float32"),
            ValueError,
            r"\[frombuffer\] requires whole elements of 4 bytes \(float32\), got 3 bytes",
        ),
        ((b"abcd", "float32", 2), ValueError, "a count of at most 1 for 4 bytes of float32, got 2"),
        ((b"abcd", "float32", 1, 1), ValueError, "a count of at most 0 for 3 bytes"),
        ((b"abcd", "float32", -2), ValueError, "a count of at least 0"),
        ((b"abcd", "float32", 1 << 80), ValueError, "a count of at most 1"),
        ((b"abcd", "uint8", -1, 5), ValueError, "an offset of 0 to 4"),
        ((b"abcd", "uint8", -1, -1), ValueError, "an offset of 0 to 4"),
        ((b"abcd", "uint8", 1.0), TypeError, "an int as count"),
        ((b"abcd", "int4"), TypeError, "a dtype of whole bytes"),
        (([1], "uint8"), TypeError, "the buffer protocol, got list"),
        ((memoryview(b"abcd")[::2], "uint8"), ValueError, "a contiguous buffer"),
    ],
)
def test_buffers_that_do_not_fit(arguments, kind, words):
    with pytest.raises(kind, match=words):
        frombuffer(*arguments)
