"""Checks for NaN and infinity, counts of ops, and the comparison of two runs."""

import csv
import math

import numpy as np
import pytest

import paddle
import paddle.amp.debugging as D
from paddle import amp, nn
from umiak.core.context import current
from umiak.runtime import observe

BAD = [1.0, math.nan, math.inf, 0.0, -2.0]


@pytest.fixture(autouse=True)
def undisturbed():
    yield
    D.disable_tensor_checker()
    assert current().observers == 0


def test_numbers_of_a_tensor(capsys):
    counts, values = D.check_numerics(paddle.to_tensor(BAD), "op", "v", D.DebugMode.CHECK_NAN_INF)
    assert counts.tolist() == [1, 1, 1] and counts.dtype == paddle.int64
    np.testing.assert_array_equal(values.numpy(), np.array([math.inf, -2.0, math.nan], np.float32))
    line = (
        "[PRECISION] [ERROR] in [device=cpu, op=op, tensor=v, dtype=fp32], numel=5, num_nan=1, num_inf=1, num_zero=1, "
        "max=inf, min=-2.000000e+00, mean=nan\n"
    )
    assert capsys.readouterr().out == line
    with pytest.raises(RuntimeError, match=r"num_nan=1, num_inf=1, num_zero=1\) in \[device=cpu, op=op, tensor=v"):
        D.check_numerics(paddle.to_tensor(BAD), "op", "v")
    capsys.readouterr()
    D.check_numerics(paddle.to_tensor([1.0, 2.0]), "op", "v")
    assert capsys.readouterr().out == ""
    low = paddle.to_tensor([1.0, 0.5]).astype("bfloat16")
    D.check_numerics(low, "op", "w", D.DebugMode.CHECK_ALL)
    assert "dtype=bf16], numel=2, num_zero=0, max=1.000000e+00" in capsys.readouterr().out
    large = paddle.to_tensor([1e5])
    D.check_numerics(large, "op", "w", D.DebugMode.CHECK_NAN_INF)
    assert capsys.readouterr().out == ""
    D.check_numerics(large, "op", "w", D.DebugMode.CHECK_ALL_FOR_OVERFLOW)
    assert "max=1.000000e+05" in capsys.readouterr().out
    empty, _ = D.check_numerics(paddle.zeros([0]), "op", "e")
    assert empty.tolist() == [0, 0, 0]
    assert [(m.name, m.value) for m in D.DebugMode] == [
        ("CHECK_NAN_INF_AND_ABORT", 0), ("CHECK_NAN_INF", 1), ("CHECK_ALL_FOR_OVERFLOW", 2), ("CHECK_ALL", 3),
    ]  # fmt: skip


def config(mode=D.DebugMode.CHECK_NAN_INF, **options):
    return D.TensorCheckerConfig(True, mode, **{"stack_height_limit": 0, **options})


def test_checker_prints_or_stops(capsys):
    a, b = paddle.to_tensor([1.0, 0.0]), paddle.to_tensor([0.0, 0.0])
    D.enable_tensor_checker(config())
    c = a / b
    D.disable_tensor_checker()
    assert np.isinf(c.numpy()[0])
    assert (
        "[ERROR] in [device=cpu, op=div, tensor=, dtype=fp32], numel=2, num_nan=1, num_inf=1" in capsys.readouterr().out
    )
    a / b
    assert capsys.readouterr().out == ""
    D.enable_tensor_checker(config(D.DebugMode.CHECK_NAN_INF_AND_ABORT, stack_height_limit=1))
    with pytest.raises(RuntimeError, match=r"\[div\] requires finite numbers"):
        a / b
    assert "test_debugging.py" in capsys.readouterr().out
    a + b  # still on, and nothing is wrong
    D.disable_tensor_checker()
    D.enable_tensor_checker(D.TensorCheckerConfig(False))
    a / b


def test_checker_sees_gradients(capsys):
    D.enable_tensor_checker(config())
    x = paddle.to_tensor([4.0, 0.0], stop_gradient=False)
    x.sqrt().sum().backward()
    out = capsys.readouterr().out
    assert "_grad, tensor=" in out and "num_inf=1" in out


def test_which_ops_and_steps(capsys):
    a = paddle.to_tensor([1.0])

    def errors(**options):
        D.enable_tensor_checker(config(**options))
        a / 0.0
        (a * 1000).exp()
        D.disable_tensor_checker()
        return [line.split("op=")[1].split(",")[0] for line in capsys.readouterr().out.splitlines()]

    assert errors() == ["div", "exp"]
    assert errors(checked_op_list=["exp"]) == ["exp"]
    assert errors(skipped_op_list={"divide"}) == ["exp"]  # a name of the reference framework
    steps, seen = config(debug_step=[1, 3]), []
    for _ in range(4):
        D.enable_tensor_checker(steps)
        a / 0.0
        D.disable_tensor_checker()
        seen.append(bool(capsys.readouterr().out))
    assert seen == [False, True, True, False] and D.TensorCheckerConfig.current_step_id == 4
    for bad in ({"debug_step": [3, 1]}, {"checked_op_list": "exp"}, {"mode": 1}):
        with pytest.raises((ValueError, TypeError), match="TensorCheckerConfig"):
            config(**bad)


def test_layers():
    class Divided(nn.Layer):
        @D.check_layer_numerics
        def forward(self, x, by):
            return x / by

    layer = Divided()
    assert layer(paddle.ones([2]), paddle.ones([2])).tolist() == [1.0, 1.0]
    with pytest.raises(RuntimeError, match="output 0"):
        layer(paddle.ones([2]), paddle.zeros([2]))
    with pytest.raises(RuntimeError, match="input 1"):
        layer(paddle.ones([2]), paddle.to_tensor([math.nan, 1.0]))
    with pytest.raises(RuntimeError, match="positional"):
        layer(x=paddle.ones([1]), by=1.0)


def test_operator_stats(capsys):
    layer, x = nn.Linear(4, 4), paddle.ones([2, 4])
    with D.collect_operator_stats(), amp.auto_cast(dtype="bfloat16"):
        nn.functional.softmax(layer(x))
        paddle.greater_than(x, x)
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "<" + " op list ".center(120, "-") + ">"
    rows = {line.split("|")[0].strip(): [int(n) for n in line.split("|")[1:]] for line in lines[2:-2]}
    assert rows == {"linear": [0, 1, 0, 0], "softmax": [0, 0, 1, 0], "gt": [0, 0, 0, 1]}
    assert " op count: 3 " in lines[-2] and len(set(map(len, (lines[0], lines[1], lines[-2])))) == 1
    D.enable_operator_stats_collection()
    with pytest.raises(RuntimeError, match="under way"):
        D.enable_operator_stats_collection()
    D.disable_operator_stats_collection()
    with pytest.raises(RuntimeError, match="under way"):
        D.disable_operator_stats_collection()


def test_observers_do_not_end_each_other():
    seen = []
    first = observe.start(lambda *call: seen.append(1))
    second = observe.start(lambda *call: seen.append(2))
    observe.stop(first)
    paddle.exp(paddle.ones([1]))
    observe.stop(second)
    assert seen == [2, 2]


def test_two_runs(tmp_path):
    def run(folder, dtype, divide):
        D.enable_tensor_checker(config(D.DebugMode.CHECK_ALL, output_dir=str(tmp_path / folder)))
        x = paddle.to_tensor([1.0, 3.0]).astype(dtype)
        x.stop_gradient = False
        y = (x * 2.0).exp()
        y = y / 0.0 if divide else y / 2.0
        (y.sum() * (4.0 if dtype == "float16" else 1.0)).backward()
        D.disable_tensor_checker()

    run("one", "float32", False)
    run("two", "float16", False)
    run("three", "float16", True)
    assert (tmp_path / "one" / "worker_cpu").exists()

    def table(other, **options):
        out = tmp_path / "out.csv"
        D.compare_accuracy(str(tmp_path / "one"), str(tmp_path / other), str(out), **options)
        with open(out) as file:
            return {(r["op"], r["call"]): r for r in csv.DictReader(file)}

    everything = table("two", dump_all_tensors=True)
    assert everything["exp", "1"]["dtype_1"] == "fp32" and everything["exp", "1"]["dtype_2"] == "fp16"
    assert everything["exp", "1"]["remark"] == "" and float(everything["exp", "1"]["difference"]) < 0.01
    assert ("exp", "1") not in table("two")
    scaled, plain = (
        {k for k, r in table("two", loss_scale=s).items() if k[0].endswith("_grad") and r["remark"] == "values differ"}
        for s in (4.0, 1.0)
    )
    assert len(scaled) < len(plain)
    broken = table("three")
    assert broken["div", "1"]["remark"] == "num_inf differs" and broken["div", "1"]["num_inf_2"] == "2"
    for wrong, kind in ((("one", "none", "x.csv"), FileNotFoundError), (("one", "two", "x.xlsx"), ValueError)):
        with pytest.raises(kind, match="compare_accuracy"):
            D.compare_accuracy(*(str(tmp_path / w) for w in wrong))
