"""Values of parameters are read and written as PaddlePaddle has them."""

from __future__ import annotations

import os
import struct
from pathlib import Path

import numpy as np
import pytest

import paddle
from paddle.static.formats import files, parameters
from tests.support.saved_values import VALUES
from umiak.ir.serialise import FormatError

SAVED = dict(np.load(Path(__file__).parents[2] / "data" / "saved_values.npz"))
ALL = SAVED["all"].tobytes()
NAMES = [name for name, _, _ in VALUES]


def read_one(data):
    return parameters.read(data, [""])[""]


def bits(x):
    return x.view("int16") if x.dtype.name == "bfloat16" else x.view("uint8") if x.dtype.name[:6] == "float8" else x


def test_a_file_of_all_values_is_read():
    found = parameters.read(ALL, NAMES[::-1])
    for name, dtype, shape in VALUES:
        assert (found[name].dtype.name, list(found[name].shape)) == (dtype, shape)
        np.testing.assert_array_equal(bits(found[name]), SAVED[f"value:{name}"])


@pytest.mark.parametrize("name", NAMES)
def test_a_file_of_one_value_is_read_and_written(name):
    data = SAVED[f"file:{name}"].tobytes()
    value = read_one(data)
    np.testing.assert_array_equal(bits(value), SAVED[f"value:{name}"])
    assert parameters.write_one(value) == data
    assert parameters.write_one(paddle.to_tensor(value)) == data


def test_the_file_that_is_written_is_the_same():
    assert parameters.write(parameters.read(ALL, NAMES)) == ALL


def test_arrays_that_do_not_lie_in_order_are_written_in_order():
    x = np.arange(6, dtype="float32").reshape(2, 3).T
    np.testing.assert_array_equal(read_one(parameters.write_one(x)), x)


def stream(description, elements=b"", levels=b"", version=0):
    count = struct.pack("<Q", len(levels) and 1) + (struct.pack("<Q", len(levels)) + levels if levels else b"")
    return struct.pack("<I", version) + count + struct.pack("<Ii", 0, len(description)) + description + elements


def test_levels_of_sequences_are_passed_over():
    assert read_one(stream(b"\x08\x05\x10\x01", b"\0\0\x80\x3f", b"12345678")).tolist() == [1.0]


def test_sizes_may_be_packed():
    assert read_one(stream(b"\x08\x15\x12\x02\x01\x02", b"\x01\x02")).tolist() == [[1, 2]]


HUGE = b"\xff\xff\xff\xff\xff\xff\x3f"
BAD = {
    "no bytes": (b"", "1 values are required, got 0"),
    "another version": (stream(b"", version=3), "version 0 of a tensor's stream is required, got 3"),
    "no elements": (stream(b"\x08\x05\x10\x04"), r"16 bytes of elements of shape \[4\] and dtype float32 are required"),
    "more sizes than memory": (stream(b"\x08\x05\x10" + HUGE + b"\x10\x02"), "fewer than"),
    "a huge empty array": (stream(b"\x08\x05\x10\x00\x10" + HUGE + b"\x10" + HUGE), "fewer than"),
    "too many axes": (stream(b"\x08\x05" + b"\x10\x01" * 40), "at most 32 axes"),
    "an unknown element": (stream(b"\x08\x63\x10\x01", b"1234"), "an element type of"),
    "another field": (stream(b"\x08\x05\x18\x01"), "got the key 24"),
    "a long number": (stream(b"\x08" + b"\xff" * 11), "at most 10 bytes"),
    "a long description": (struct.pack("<IQIi", 0, 0, 0, 1 << 20) + bytes(1 << 10), "a description of at most"),
    "a negative description": (struct.pack("<IQIi", 0, 0, 0, -4), "a description of at most"),
    "many levels": (struct.pack("<IQ", 0, 1 << 60), "at most 32 levels of sequences are required"),
    "no level": (struct.pack("<IQ", 0, 1), "bytes of the size of a level are required"),
    "a long level": (struct.pack("<IQQ", 0, 1, 1 << 60), "bytes of a level of sequences are required"),
    "more behind": (stream(b"\x08\x15\x10\x01", b"12"), "1 more bytes behind them"),
}


@pytest.mark.parametrize("name", BAD)
def test_a_damaged_file_is_refused(name, tmp_path):
    data, words = BAD[name]
    with pytest.raises(FormatError, match=words):
        read_one(data)
    (tmp_path / "x").write_bytes(data)
    with pytest.raises(ValueError, match=words):
        files.read_values(tmp_path / "x", [""], "f")


def test_values_of_a_file_are_read_to_where_they_stay(tmp_path):
    path = tmp_path / "x.pdiparams"
    path.write_bytes(ALL)
    found = files.read_values(path, NAMES, "f")
    path.write_bytes(bytes(len(ALL)))
    for name, dtype, shape in VALUES:
        x = found[name]
        assert isinstance(x, paddle.Tensor) and (x.dtype.name, list(x.shape)) == (dtype, shape)
        np.testing.assert_array_equal(bits(x.numpy()), SAVED[f"value:{name}"])
    assert parameters.write(found) == ALL
    assert len({id(x.storage) for x in found.values()}) == len(NAMES)


def test_a_file_that_ends_early_is_refused(tmp_path):
    """Wherever it ends, nothing is read that is not there."""
    path = tmp_path / "x.pdiparams"
    for end in range(0, len(ALL), 7):
        path.write_bytes(ALL[:end])
        with pytest.raises(ValueError, match="requires a file of values in"):
            files.read_values(path, NAMES, "f")


def test_a_file_that_becomes_shorter_is_refused(tmp_path):
    path = tmp_path / "x.pdiparams"
    data = stream(b"\x08\x05\x10\x80\x80\x01", bytes(1 << 16))
    path.write_bytes(data)
    with open(path, "rb") as file:
        file.peek(1)
        os.truncate(path, len(data) - 4)
        size = os.stat_result([*os.fstat(file.fileno())[:6], len(data), 0, 0, 0])
        with pytest.MonkeyPatch.context() as patched, pytest.raises(FormatError, match="has become shorter"):
            patched.setattr(parameters.os, "fstat", lambda number: size)
            parameters.read_file(file, ["w"], paddle.CPUPlace())


def long_level(path):
    """A level of sequences as long as a disk, of which the file has but a hole."""
    path.write_bytes(struct.pack("<IQQ", 0, 1, 1 << 40))
    os.truncate(path, 2 << 40)


UNREADABLE = {
    "a pipe": (os.mkfifo, "a regular file, got .*, which is a pipe"),
    "a device without an end": (
        lambda path: os.symlink("/dev/zero", path),
        "a regular file, got .*, which is a device",
    ),
    "a folder": (os.mkdir, "a regular file, got .*, which is a folder"),
    "a hole": (long_level, "an element type of"),
}


@pytest.mark.parametrize("name", UNREADABLE)
def test_what_has_no_end_is_not_read(name, tmp_path):
    make, words = UNREADABLE[name]
    make(tmp_path / "w")
    with pytest.raises(ValueError, match=words):
        paddle.load(str(tmp_path))
    with pytest.raises(ValueError, match=words):
        files.read_values(tmp_path, ["w"], "f")
    if name != "a folder":
        with pytest.raises(ValueError, match=words):
            files.read_values(tmp_path / "w", ["w"], "f")
    if name != "a hole":
        with pytest.raises(ValueError, match=words):
            files.read_program(tmp_path / "w", "f")


def test_the_error_names_the_value_and_the_file(tmp_path):
    path = tmp_path / "x.pdiparams"
    path.write_bytes(ALL[:-3])
    with pytest.raises(ValueError, match=r"requires a file of values in .*x.pdiparams .* the value of 'p'"):
        files.read_values(path, NAMES, "f")
    with pytest.raises(ValueError, match="15 values are required, got 24 more bytes behind them"):
        files.read_values(ALL, NAMES[:-1], "f")


def test_values_are_files_of_a_folder(tmp_path):
    for name in NAMES:
        (tmp_path / name).write_bytes(SAVED[f"file:{name}"].tobytes())
    found = files.read_values(tmp_path, NAMES, "f")
    assert {k: v.dtype.name for k, v in found.items()} == {name: dtype for name, dtype, _ in VALUES}
    with pytest.raises(ValueError, match=r"names of parameters that are names of files, got '\.\./a'"):
        files.read_values(tmp_path, ["../a"], "f")
    with pytest.raises(FileNotFoundError):
        files.read_values(tmp_path, ["none"], "f")


def test_values_that_paddle_save_wrote(tmp_path):
    path = str(tmp_path / "x")
    paddle.save({"w": paddle.ones([2])}, path)
    assert files.read_values(path, ["w"], "f")["w"].tolist() == [1.0, 1.0]
    paddle.save([1], path)
    with pytest.raises(ValueError, match="the bytes of a dict of tensors, got list"):
        files.read_values(path, ["w"], "f")


def test_what_has_no_form_in_files_is_not_written():
    with pytest.raises(FormatError, match=r"a dtype of .* is required, got uint32"):
        parameters.write_one(np.ones(1, "uint32"))
