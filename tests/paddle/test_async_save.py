"""Saving beside the program."""

from __future__ import annotations

import io
from collections import OrderedDict

import pytest

import paddle


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
