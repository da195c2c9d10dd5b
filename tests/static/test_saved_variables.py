"""Values of variables in files, one for each or one for all."""

from __future__ import annotations

import os
from contextlib import nullcontext

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
        np.testing.assert_array_equal(parameters.read((tmp_path / name).read_bytes(), [""])[""], value)
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


def training(rate):
    """A program that trains, and its optimizer."""
    x = static.data("x", [None, 2])
    optimizer = paddle.optimizer.Adam(rate)
    optimizer.minimize(paddle.nn.Linear(2, 1)(x).mean())
    static.Executor().run(static.default_startup_program())
    return static.default_main_program(), optimizer


def test_the_learning_rate_is_a_variable_of_a_training_program(programs, tmp_path, recwarn):
    main, optimizer = training(0.1)
    (name,) = [k for k in main.state_dict("opt") if k.startswith("learning_rate")]
    assert main.state_dict("opt")[name] == np.float32(0.1) and main.state_dict("opt")[name].shape == ()
    assert name not in main.state_dict("param")
    path = str(tmp_path / "model")
    static.save(main, path)
    assert paddle.load(path + ".pdopt", return_numpy=True)[name].shape == ()
    static.load(main, path)
    assert optimizer.get_lr() == 0.1  # to the last digit
    optimizer.set_lr(0.5)
    static.load(main, path)
    assert optimizer.get_lr() == np.float32(0.1)
    with pytest.raises(ValueError, match=rf"requires one number as {name}, got shape \[2\]"):
        static.set_program_state(main, {name: np.ones(2, "float32")})
    assert not list(recwarn)


def test_a_schedule_keeps_its_learning_rate(programs, tmp_path):
    main, optimizer = training(paddle.optimizer.lr.StepDecay(0.5, 1))
    static.save(main, str(tmp_path / "model"))
    optimizer._learning_rate.step()
    rate = optimizer.get_lr()
    static.load(main, str(tmp_path / "model"))
    assert optimizer.get_lr() == rate < 0.5


def in_a_scope(first):
    return nullcontext() if first else static.scope_guard(static.Scope())


@pytest.mark.parametrize("first", [True, False])
def test_states_of_layers_are_those_of_the_scope(first, programs, tmp_path):
    """``state_dict``, ``paddle.save`` and ``set_state_dict`` of a layer read and write what its program runs with."""
    x = static.data("x", [None, 3])
    net = paddle.nn.Sequential(paddle.nn.Linear(3, 2), paddle.nn.BatchNorm1D(2))
    net.eval()
    y, exe = net(x), static.Executor()
    loss = net[0](x).mean()
    paddle.optimizer.SGD(0.5, parameters=net[0].parameters()).minimize(loss)
    trained = static.default_main_program()
    feed = {"x": np.arange(6, dtype="float32").reshape(2, 3)}
    given = {
        "0.weight": np.arange(6, dtype="float32").reshape(3, 2), "0.bias": np.ones(2, "float32"),
        "1.weight": np.full(2, 2.0, "float32"), "1.bias": np.full(2, 3.0, "float32"),
        "1._mean": np.full(2, 0.5, "float32"), "1._variance": np.full(2, 4.0, "float32"),
    }  # fmt: skip
    with in_a_scope(first):
        exe.run(static.default_startup_program())
        for _ in range(2):
            net.set_state_dict(given)
            (found,) = exe.run(trained.clone(for_test=True), feed, [y])
            normal = (feed["x"] @ given["0.weight"] + 1 - 0.5) / np.sqrt(4 + 1e-5) * 2 + 3
            np.testing.assert_allclose(found, normal, rtol=1e-5)
            losses = [exe.run(trained, feed, [loss])[0].item() for _ in range(3)]
            assert losses[0] > losses[1] > losses[2]  # nothing brings the values back
        paddle.save(net.state_dict(), str(tmp_path / "net"))
        kept = paddle.load(str(tmp_path / "net"), return_numpy=True)
        for name, p in net.state_dict().items():
            np.testing.assert_array_equal(kept[name], np.asarray(static.global_scope().find_var(p.name).get_tensor()))
        assert not np.array_equal(kept["0.weight"], given["0.weight"])
