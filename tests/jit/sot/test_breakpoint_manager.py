"""What can be looked at where a simulation has stopped."""

import pdb

import pytest

import paddle
from paddle.jit.sot import BM


def test_frames_and_bytecode_are_printed(monkeypatch, capsys):
    monkeypatch.setattr(pdb, "set_trace", lambda: (BM.bt(), BM.dis()))

    def stopped(x):
        return x + 1

    paddle.jit.sot.add_breakpoint(__file__, stopped.__code__.co_firstlineno + 1)
    try:
        assert paddle.jit.to_static(stopped)(paddle.ones([1])).tolist() == [2.0]
    finally:
        BM.clear()
    text = capsys.readouterr().out
    assert text.count("in stopped") >= 2 and "-->" in text and "RETURN_VALUE" in text


def test_a_breakpoint_has_a_file_and_a_line():
    with pytest.raises(TypeError, match=r"\[add_breakpoint\] requires a str and an int, got"):
        paddle.jit.sot.add_breakpoint("model.py", "12")
    with pytest.raises(RuntimeError, match=r"\[dis\] requires a simulation that has stopped"):
        BM.dis()
