"""Values of variables in files, one for each or one for all."""

from __future__ import annotations

import os

import numpy as np
import pytest

import paddle
from paddle.static.formats import parameters

static = paddle.static


@pytest.fixture
def filled(programs):
    """A program with two parameters, and their values."""
    paddle.nn.Linear(2, 3)(static.data("x", [None, 2]))
    exe = static.Executor()
    exe.run(static.default_startup_program())
    main = static.default_main_program()
    return exe, main, main.state_dict()


def zeroed(main):
    main.set_state_dict({k: np.zeros_like(v) for k, v in main.state_dict().items()})


def same(main, values):
    now = main.state_dict()
    return now.keys() == values.keys() and all(np.array_equal(now[k], v) for k, v in values.items())


def test_a_file_for_each(filled, tmp_path):
    exe, main, values = filled
    static.save_vars(exe, str(tmp_path), main)
    assert sorted(os.listdir(tmp_path)) == sorted(values)
    for name, value in values.items():
        np.testing.assert_array_equal(parameters.read_one((tmp_path / name).read_bytes()), value)
    zeroed(main)
    static.load_vars(exe, str(tmp_path), main)
    assert same(main, values)


def test_one_file_for_all(filled, tmp_path):
    exe, main, values = filled
    static.save_vars(exe, str(tmp_path), filename="all")
    assert os.listdir(tmp_path) == ["all"]
    assert (tmp_path / "all").read_bytes() == parameters.write(values) == static.save_vars(exe, None)
    zeroed(main)
    static.load_vars(exe, str(tmp_path), filename="all")
    assert same(main, values)


def test_some_of_them(filled, tmp_path):
    exe, main, values = filled
    weight = next(p for p in main.all_parameters() if p.ndim == 2)
    static.save_vars(exe, str(tmp_path), predicate=lambda x: x.ndim == 2)
    assert os.listdir(tmp_path) == [weight.name]
    zeroed(main)
    static.load_vars(exe, str(tmp_path), vars=[weight])
    now = main.state_dict()
    np.testing.assert_array_equal(now.pop(weight.name), values[weight.name])
    assert not any(v.any() for v in now.values())


def test_what_does_not_fit_is_refused(filled, tmp_path):
    exe, main, values = filled
    with pytest.raises(ValueError, match="variables that the program keeps"):
        static.save_vars(exe, str(tmp_path), vars=["none"])
    with pytest.raises(TypeError, match="requires a Program, got int"):
        static.load_vars(exe, str(tmp_path), 1)
    with pytest.raises(FileNotFoundError):
        static.load_vars(exe, str(tmp_path))
    for name, value in values.items():
        (tmp_path / name).write_bytes(parameters.write_one(np.ones([*value.shape, 2], "float32")))
    with pytest.raises(ValueError, match=r"\[load_vars\] requires .* of shape"):
        static.load_vars(exe, str(tmp_path))
    assert same(main, values)
    with static.scope_guard(static.Scope()), pytest.raises(RuntimeError, match="Run the startup program first"):
        static.save_vars(exe, str(tmp_path))
