"""Saving beside the program."""

from __future__ import annotations

import io
import os
import signal
import threading
from collections import OrderedDict, namedtuple

import numpy as np
import pytest

import paddle
from paddle.framework import background_save


@pytest.fixture(autouse=True)
def nothing_waits():
    yield
    paddle.clear_async_save_task_queue()


def test_the_file_holds_what_the_tensors_were(tmp_path):
    layer = paddle.nn.Linear(3, 2)
    before = layer.weight.tolist()
    path = tmp_path / "folder" / "x.pdparams"
    paddle.async_save(layer.state_dict(), path)
    layer.weight.set_value(paddle.zeros([3, 2]))
    paddle.clear_async_save_task_queue()
    assert paddle.load(path)["weight"].tolist() == before
    assert list(paddle.load(path)) == ["weight", "bias"]


def test_what_can_be_saved():
    for value in (paddle.ones([2]), {"a": [paddle.ones([1]), (1, "b")]}, OrderedDict(c=paddle.ones([1]))):
        file = io.BytesIO()
        paddle.async_save(value, file, sync_other_task=True)
        paddle.clear_async_save_task_queue()
        file.seek(0)
        found = paddle.load(file)
        if isinstance(value, dict):
            assert list(found) == list(value)
        else:
            assert found.tolist() == [1.0, 1.0]
    with pytest.raises(TypeError, match="a tensor or a dict, got list"):
        paddle.async_save([1], io.BytesIO())
    with pytest.raises(ValueError, match="a protocol from 2 to 4"):
        paddle.async_save({}, io.BytesIO(), protocol=7)


def test_a_file_that_cannot_be_written_is_told_once(tmp_path):
    paddle.async_save({"a": paddle.ones([1])}, tmp_path)  # a folder
    paddle.async_save({"a": paddle.ones([1])}, tmp_path / "good")
    with pytest.raises(OSError):
        paddle.clear_async_save_task_queue()
    paddle.clear_async_save_task_queue()
    assert paddle.load(tmp_path / "good")["a"].tolist() == [1.0]


class Table(dict):
    pass


class Text(str):
    pass


class Point(namedtuple("Point", "x")):
    pass


class Key:
    def __init__(self):
        self.noted = [1]


CLASSES = [Table, Text, Point, Key]


def noting(x):
    x.noted = [1]
    return x, x.noted.append, lambda found: found.noted


def changing():
    """Objects, what changes them, and what is looked at in what was saved of them."""
    records, key, data = np.array([(1, 2.0)], [("a", "i4"), ("b", "f4")]), Key(), bytearray(b"a")
    masked = np.ones(2).view(np.recarray)
    return {
        "dict": noting(Table(a=1)), "text": noting(Text("a")), "tuple": noting(Point(1)), "instance": noting(Key()),
        "record": (records[0], lambda n: records["a"].fill(n), lambda found: found["a"]),
        "key": ({key: 0}, key.noted.append, lambda found: next(iter(found)).noted),
        "key in a tuple": ({(1, key): 0}, key.noted.append, lambda found: next(iter(found))[1].noted),
        "bytes": (data, data.append, len), "array": (np.asarray(masked), masked.fill, list),
    }  # fmt: skip


@pytest.mark.parametrize("kind", changing())
def test_what_changes_behind_the_call_is_not_in_the_file(kind, tmp_path):
    x, change, look = changing()[kind]
    before = str(look(x))
    paddle.async_save({"begun": 1}, tmp_path / "first")
    going = threading.Event()
    background_save._writer.submit(going.wait)
    try:
        paddle.async_save({"x": x, "w": [paddle.ones([1])]}, tmp_path / "x")
        change(7)
    finally:
        going.set()
    paddle.clear_async_save_task_queue()
    assert str(look(x)) != before
    assert str(look(paddle.load(tmp_path / "x", trusted=CLASSES)["x"])) == before


@pytest.mark.parametrize("other", [{1, 2}, Table(), 3], ids=["set", "dict", "number"])
@pytest.mark.parametrize(("name", "options"), [("x.safetensors", {}), ("x", {"safetensors": True})])
def test_safetensors_hold_nothing_else(other, name, options, tmp_path):
    paddle.async_save({"w": paddle.ones([1]), "other": other}, tmp_path / name, **options)
    with pytest.raises(TypeError, match="a dict of tensors by name for safetensors, got 'other'"):
        paddle.clear_async_save_task_queue()
    assert not list(tmp_path.iterdir())


def test_tensors_while_a_program_is_recorded(tmp_path):
    w = paddle.ones([2])
    paddle.enable_static()
    try:
        main, startup = paddle.static.Program(), paddle.static.Program()
        with paddle.static.program_guard(main, startup), paddle.static.scope_guard(paddle.static.Scope()):
            layer = paddle.nn.Linear(2, 2)
            paddle.static.Executor().run(startup)
            paddle.async_save({"w": w, "layer": layer.state_dict()}, tmp_path / "x")
            expected = np.asarray(paddle.static.global_scope().find_var(layer.weight.name).get_tensor())
        assert not main.global_block().ops
    finally:
        paddle.disable_static()
    paddle.clear_async_save_task_queue()
    found = paddle.load(tmp_path / "x")
    assert found["w"].tolist() == [1, 1] and found["layer"]["weight"].numpy().tolist() == expected.tolist()


def test_forked_children_write_files_of_their_own(tmp_path):
    paddle.async_save({"a": 1}, tmp_path / "parent", sync_other_task=True)
    paddle.clear_async_save_task_queue()
    child = os.fork()
    if not child:
        signal.alarm(20)
        paddle.async_save({"a": 2}, tmp_path / "child")
        paddle.clear_async_save_task_queue()
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
    assert paddle.load(tmp_path / "child") == {"a": 2}


def test_files_that_are_written_are_forgotten(tmp_path):
    (tmp_path / "file").touch()
    for path in [*"abc", "file/below", *"def"]:
        paddle.async_save({"a": 1}, tmp_path / path)
        background_save._tasks[-1].exception()
    assert len(background_save._tasks) == 2  # the last one, and the one that could not be written
    with pytest.raises(OSError, match="file"):
        paddle.clear_async_save_task_queue()
