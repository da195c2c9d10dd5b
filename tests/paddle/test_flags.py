"""Flags of the reference: those with a meaning change what happens, the others are kept and say so once."""

from __future__ import annotations

import json
import logging
import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

import paddle
from paddle.framework.reference_flags import KNOWN
from umiak.runtime import observe
from umiak.util import flags

BAD = "paddle.to_tensor([1.0]) / paddle.to_tensor([0.0])"


@pytest.fixture(autouse=True)
def as_before():
    """Every flag as it was."""
    known = dict(flags.REGISTRY)
    values = {name: flag.value for name, flag in known.items()}
    yield
    for name in set(flags.REGISTRY) - set(known):
        if name in flags.LATE:  # of a module that the test has loaded
            flags.REGISTRY[name].set(flags.REGISTRY[name].default)
        else:
            del flags.REGISTRY[name]
    for name, value in values.items():
        if known[name].value != value:
            known[name].set(value)


def run(code, **environment):
    found = subprocess.run(
        [sys.executable, "-c", f"import paddle\n{code}"],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        cwd=Path(__file__).parents[2],
    )
    return found.returncode, found.stdout, found.stderr


# --- flags with a meaning ------------------------------------------------------------------------------------------


def divide():
    return paddle.to_tensor([1.0, 2.0]) / paddle.to_tensor([0.0, 1.0])


@pytest.mark.parametrize("on", [1, True, "1", "true"])
def test_check_nan_inf(on, capsys):
    divide()
    paddle.set_flags({"FLAGS_check_nan_inf": on})
    assert paddle.get_flags("FLAGS_check_nan_inf") == {"FLAGS_check_nan_inf": True}
    with pytest.raises(RuntimeError, match=r"\[div\] requires finite numbers"):
        divide()
    assert "[PRECISION] [ERROR]" in capsys.readouterr().out
    paddle.set_flags({"FLAGS_check_nan_inf": 0})
    divide()


def test_check_nan_inf_sees_all_threads_gradients_and_captured_functions():
    paddle.set_flags({"FLAGS_check_nan_inf": 1})
    errors = []

    def work():
        try:
            divide()
        except RuntimeError as error:
            errors.append(error)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert len(errors) == 1
    x = paddle.to_tensor([0.0], stop_gradient=False)
    y = x.sqrt()
    with pytest.raises(RuntimeError, match="requires finite numbers"):
        y.backward()
    with pytest.raises(RuntimeError, match="requires finite numbers"):
        paddle.jit.to_static(lambda a: (a / 0.0) + 1)(paddle.ones([3]))


def test_check_nan_inf_beside_a_checker_of_the_thread(capsys):
    config = paddle.amp.debugging.TensorCheckerConfig(True, paddle.amp.debugging.DebugMode.CHECK_NAN_INF)
    paddle.amp.debugging.enable_tensor_checker(config)
    try:
        paddle.set_flags({"FLAGS_check_nan_inf": 1})
        paddle.set_flags({"FLAGS_check_nan_inf": 0})
        divide()
        assert capsys.readouterr().out.count("[ERROR]") == 1
    finally:
        paddle.amp.debugging.disable_tensor_checker()
    assert observe.CHECK is None


@pytest.mark.parametrize(("level", "lines"), [(1, 1), (2, 2), (3, 4)])
def test_check_nan_inf_level(level, lines, capsys):
    x, zero, large = paddle.to_tensor([1.0]), paddle.to_tensor([0.0]), paddle.to_tensor([1e4])
    paddle.set_flags({"FLAGS_check_nan_inf": 1, "FLAGS_check_nan_inf_level": level})
    for a, b, op in ((x, zero, "/"), (large, large, "*"), (x, x, "+"), (zero, zero, "+")):
        a / b if op == "/" else a * b if op == "*" else a + b
    assert capsys.readouterr().out.count("[PRECISION]") == lines
    with pytest.raises(ValueError, match="FLAGS_check_nan_inf_level"):
        paddle.set_flags({"FLAGS_check_nan_inf_level": 9})


def test_check_nan_inf_from_the_environment():
    code, out, err = run(BAD, FLAGS_check_nan_inf="1")
    assert code and "requires finite numbers" in err and "[PRECISION]" in out
    code, out, _ = run(BAD, FLAGS_check_nan_inf="1", FLAGS_check_nan_inf_level="1")
    assert code == 0 and "[PRECISION]" in out
    assert run(BAD)[0] == 0


def test_num_threads():
    paddle.set_flags({"FLAGS_paddle_num_threads": 1})
    assert paddle.get_num_threads() == 1
    paddle.set_flags({"FLAGS_paddle_num_threads": 3})
    assert paddle.get_num_threads() == 3


def test_cudnn_deterministic():
    paddle.set_flags({"FLAGS_cudnn_deterministic": True})
    assert paddle.get_flags("FLAGS_cpu_deterministic") == {"FLAGS_cpu_deterministic": True}
    paddle.set_flags({"FLAGS_cudnn_deterministic": False})
    assert paddle.get_flags("FLAGS_cpu_deterministic") == {"FLAGS_cpu_deterministic": False}


def test_print_ir(capfd):
    paddle.set_flags({"FLAGS_print_ir": 1})
    paddle.jit.to_static(lambda x: (x * 3.5).exp() - 2.25)(paddle.ones([5]))
    assert "exp" in "".join(capfd.readouterr())
    paddle.set_flags({"FLAGS_print_ir": 0})
    paddle.jit.to_static(lambda x: (x * 3.5).exp() - 2.125)(paddle.ones([5]))
    assert "exp" not in "".join(capfd.readouterr())


# --- flags without ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", sorted(KNOWN))
def test_a_flag_without_meaning_is_kept(name, caplog, monkeypatch):
    full, default = f"FLAGS_{name}", KNOWN[name]
    monkeypatch.delitem(flags.REGISTRY, full, raising=False)  # as if nothing had set it before
    assert flags.lookup(full).help == "accepted, without effect", "it has a meaning: take it out of the table"
    assert paddle.get_flags([full]) == {full: default}
    other = not default if isinstance(default, bool) else default + 1 if not isinstance(default, str) else "other"
    with caplog.at_level(logging.INFO, "umiak"):
        paddle.set_flags({full: other})
        paddle.set_flags({full: other})
        assert paddle.get_flags(full) == {full: other}
        paddle.set_flags({full: str(other)})
    assert [r.getMessage() for r in caplog.records] == [f"{full} is accepted and has no effect: nothing here reads it"]
    assert paddle.get_flags(full) == {full: other} and type(paddle.get_flags(full)[full]) is type(default)


def test_values_have_types():
    for name in ("FLAGS_enable_cse_in_dy2st", "FLAGS_alignment_size", "FLAGS_eager_delete_tensor_gb"):
        with pytest.raises(ValueError, match=name):
            paddle.set_flags({name: "neither"})
    with pytest.raises(ValueError, match="FLAGS_enable_cse_in_dy2st"):
        paddle.set_flags({"FLAGS_alignment_size": 7, "FLAGS_enable_cse_in_dy2st": "neither"})
    assert paddle.get_flags("FLAGS_alignment_size") == {"FLAGS_alignment_size": 256}


def test_from_the_environment_with_one_line():
    code, out, err = run("print(paddle.get_flags('FLAGS_eager_delete_tensor_gb'))", FLAGS_eager_delete_tensor_gb="2.5")
    assert code == 0 and "2.5" in out
    assert err.count("FLAGS_eager_delete_tensor_gb is accepted") == 1


def test_unknown_flags_are_refused():
    for call in (lambda: paddle.set_flags({"FLAGS_nope": 1}), lambda: paddle.get_flags("FLAGS_nope")):
        with pytest.raises(ValueError, match="FLAGS_nope"):
            call()
    with pytest.raises(TypeError, match=r"\[get_flags\]"):
        paddle.get_flags(3)


def test_all_flags_of_the_reference_are_known():
    """``reference_flags.json``: what ``paddle.base.core.globals()`` of the reference lists."""
    names = json.loads((Path(__file__).parents[1] / "data" / "reference_flags.json").read_text())
    assert len(names) > 240
    for name in names:
        assert name in paddle.get_flags(name)
