"""Launches are counted exactly, with the bytes and flops that they have, while somebody times them."""

import math
import os
import subprocess
import sys
import threading

import numpy as np
import pytest

import paddle
from paddle.vision import models
from umiak import ops as F
from umiak.backends.cpu.work import FLOPS
from umiak.compiler import statistics
from umiak.compiler.loop import node as n
from umiak.compiler.loop.functions.expand import expand
from umiak.compiler.loop.types import F32
from umiak.core import array, tape
from umiak.ops import linalg
from umiak.runtime import roofline


@pytest.fixture(autouse=True)
def clean():
    statistics.reset()
    yield
    statistics.reset()


def tensor(*shape, dtype=np.float32, grad=False):
    x = array.from_numpy(np.ones(shape, dtype))
    x.stop_gradient = not grad
    return x


def timed(call, times=1):
    """(launches, bytes, flops) by kernel of a call, each launch's."""
    with statistics.timed_launches():
        for _ in range(times):
            call()
    rows = statistics.launches()
    statistics.reset()
    assert all(row.seconds >= row.count * row.least >= 0 for row in rows.values())
    return {name: (row.count, row.bytes / row.count, row.flops / row.count) for name, row in rows.items()}


def flops_of(root):
    return sum(FLOPS.get(x.op, 0) for x in n.walk(expand([root])) if x.type.is_float)


# --- work ------------------------------------------------------------------------------------------------------------


def test_add_flat_and_strided():
    x, y = tensor(40, 50), tensor(40, 50)
    assert timed(lambda: F.add(x, y), 5) == {"add": (5, 3 * 2000 * 4, 2000)}
    transposed = F.permute(tensor(50, 40), perm=(1, 0))
    assert timed(lambda: F.add(x, transposed), 3) == {"add": (3, 3 * 2000 * 4, 2000)}


def test_what_is_broadcast_counts_as_it_lies():
    x, row = tensor(40, 50), tensor(50)
    assert timed(lambda: F.add(x, row)) == {"add": (1, 2 * 2000 * 4 + 200, 2000)}
    wide = F.broadcast_to(row, shape=(40, 50))
    assert timed(lambda: F.mul(x, wide)) == {"mul": (1, 2 * 2000 * 4 + 200, 2000)}


def test_functions_count_as_what_they_expand_to():
    x = n.var("x", F32)
    each = flops_of(n.call("exp", x))
    assert each > 5
    assert timed(lambda: F.exp(tensor(1000))) == {"exp": (1, 8000, 1000 * each)}
    # max, difference, exp, sum; one division
    softmax = timed(lambda: F.softmax(tensor(30, 100), axis=1))
    assert softmax == {"softmax": (1, 2 * 3000 * 4, 3000 * (4 + each))}


def test_integers_have_no_flops():
    assert timed(lambda: F.add(tensor(64, dtype=np.int32), 1)) == {"add": (1, 512, 0)}


def test_reductions():
    assert timed(lambda: F.sum(tensor(30, 100), axes=(1,), keepdim=False)) == {"sum": (1, 3000 * 4 + 120, 3000)}
    assert timed(lambda: F.mean(tensor(30, 100), axes=(0,), keepdim=False))["mean"][2] in (3000 + 100, 3000 + 200)


def test_windows_and_gathers_reach_no_more_than_there_is():
    pooled = timed(
        lambda: F.window_reduce(
            tensor(1, 1, 10, 10), n=2, kind="max", kernel=(3, 3), strides=(1, 1), pads_lo=(0, 0), pads_hi=(0, 0),
            dilations=(1, 1),
        )
    )  # fmt: skip
    assert pooled == {"window_reduce": (1, 4 * (100 + 64), 9 * 64)}
    table, index = tensor(1000, 16), tensor(5, dtype=np.int64)
    assert timed(lambda: F.take(table, index, axis=0)) == {"take": (1, 2 * 5 * 16 * 4 + 40, 0)}
    few, many = tensor(2, 16), tensor(50, dtype=np.int64)
    assert timed(lambda: F.take(few, many, axis=0)) == {"take": (1, 2 * 16 * 4 + 50 * 16 * 4 + 400, 0)}


def test_matmuls():
    x, y = tensor(3, 20, 30), tensor(3, 30, 40)
    ((name, found),) = timed(lambda: F.matmul(x, y), 4).items()
    assert name.startswith("matmul (")
    assert found == (4, 4 * 3 * (600 + 1200 + 800), 2 * 3 * 20 * 30 * 40)
    ((_, found),) = timed(lambda: F.matmul(tensor(30, 20), tensor(30, 40), transpose_x=True)).items()
    assert found == (1, 4 * (600 + 1200 + 800), 2 * 20 * 30 * 40)
    ((_, found),) = timed(lambda: F.linear(tensor(20, 30), tensor(30, 40), tensor(40))).items()
    assert found == (1, 4 * (600 + 1200 + 40 + 800), 2 * 20 * 30 * 40 + 800)
    ((_, found),) = timed(lambda: F.matmul(tensor(4, 5, dtype=np.complex64), tensor(5, 6, dtype=np.complex64))).items()
    assert found == (1, 8 * (20 + 30 + 24), 8 * 4 * 5 * 6)


def test_all_who_count_read_what_the_record_declares(monkeypatch):
    monkeypatch.setattr(linalg.Matmul, "multiply_adds", lambda self, operands, outs: 7)
    x = tensor(4, 4)
    ((_, found),) = timed(lambda: F.matmul(x, x)).items()
    assert found[2] == 14
    assert paddle.flops(lambda x: x @ x, [4, 4]) == 7


def test_recurrent_layers():
    x, h, w, u, b = tensor(5, 2, 3), tensor(2, 4), tensor(4, 3), tensor(4, 4), tensor(4)
    found = timed(lambda: F.rnn(x, h, w, u, b, b, None, None, None, mode="tanh"))
    assert found["rnn"][2] == 2 * 5 * 2 * (4 * 3 + 4 * 4)
    assert paddle.flops(paddle.nn.SimpleRNN(3, 4), [2, 5, 3]) == 5 * 2 * (4 * 3 + 4 * 4)


def test_convolutions():
    params = {"groups": 2, "strides": (1, 1), "pads_lo": (1, 1), "pads_hi": (1, 1), "dilations": (1, 1)}
    x, w = tensor(2, 4, 9, 9, grad=True), tensor(6, 2, 3, 3, grad=True)
    forward = timed(lambda: F.conv(x, w, nd=2, **params))
    sizes = np.array([2 * 4 * 81, 6 * 2 * 9, 2 * 6 * 81])
    flops = 2 * sizes[2] * 2 * 9
    assert [row for name, row in forward.items()] == [(1, 4 * sizes.sum(), flops)]
    y = F.conv(x, w, nd=2, **params)
    backward = timed(lambda: tape.backward([y], [tensor(*y.shape)]))
    rows = {name.split(" ")[0]: row for name, row in backward.items() if name.startswith("conv")}
    assert rows == dict.fromkeys(("conv_input_grad", "conv_weight_grad"), (1, 4 * sizes.sum(), flops))


@pytest.mark.parametrize("name", ["resnet18", "mobilenet_v3_small"])
def test_convolutions_of_whole_networks(name, tmp_path):
    """A predictor's convolutions, with kernels in strips and what follows them, have the flops of eager ones."""
    net = getattr(models, name)()
    net.eval()
    counts = []

    def count(layer, _, y):
        counts.append(2 * math.prod(y.shape) * math.prod(layer.weight.shape[1:]))

    for layer in net.sublayers():
        if isinstance(layer, paddle.nn.Conv2D):
            layer.register_forward_post_hook(count)
    x = paddle.ones([1, 3, 64, 48])

    def flops(call):
        return sum(n * each for name, (n, _, each) in timed(call).items() if name.startswith("conv"))

    eager = flops(lambda: net(x))
    assert eager == sum(counts)
    paddle.jit.save(net, str(tmp_path / name), input_spec=[paddle.static.InputSpec(x.shape)])
    config = paddle.inference.Config(str(tmp_path / f"{name}.json"), str(tmp_path / f"{name}.pdiparams"))
    predictor = paddle.inference.create_predictor(config)
    predictor.run([x])
    assert flops(lambda: predictor.run([x])) == eager


def test_attention():
    q, k, v = (tensor(2, s, 4, d, grad=True) for s, d in ((16, 8), (20, 8), (20, 12)))
    sizes = 4 * 2 * 4 * (16 * 8 + 20 * 8 + 20 * 12)
    out = 4 * 2 * 4 * 16 * 12
    flat = [x.detach() for x in (q, k, v)]
    found = timed(lambda: F.attention(*flat, None, causal=False, scale=1.0))
    assert found == {"attention": (1, sizes + out, 2 * 2 * 4 * 16 * 20 * (8 + 12))}
    seen = sum(20 - 16 + i + 1 for i in range(16))
    found = timed(lambda: F.attention(*flat, None, causal=True, scale=1.0))
    assert found == {"attention": (1, sizes + out, 2 * 2 * 4 * seen * (8 + 12))}
    y = F.attention(q, k, v, None, causal=False, scale=1.0)
    found = timed(lambda: tape.backward([y], [tensor(*y.shape)]))
    lse = 4 * 2 * 4 * 16
    assert found["attention_grad"] == (1, 2 * sizes + 2 * out + lse, 2 * 2 * 4 * 16 * 20 * (3 * 8 + 2 * 12))


def test_chains_count_all_their_nests():
    x, index, more = tensor(1000, 16), tensor(5, 16, dtype=np.int64), tensor(5, 16)
    found = timed(lambda: F.scatter_along(x, index, more, axis=0, mode="add"), 2)
    ((count, moved, flops),) = found.values()
    # copied, then the updates are read, and what they meet is written
    assert count == 2
    assert 2 * 64000 + 5 * 16 * 12 <= moved <= 3 * 64000 + 5 * 16 * 12
    assert flops == 5 * 16


def test_groups_go_by_what_they_are_made_of():
    x = tensor(64, grad=True)
    y = F.tanh(F.mul(x, x))
    names = timed(lambda: tape.backward([y], [tensor(64)]))
    assert names and all("fused" not in name and len(name) <= 60 for name in names)


def test_kernels_in_python_are_timed():
    x, y = tensor(6, dtype=np.int64), tensor(6, dtype=np.int64)
    assert timed(lambda: F.gcd(x, y), 3) == {"gcd": (3, 3 * 48, 0)}


# --- what is recorded ------------------------------------------------------------------------------------------------


def test_nothing_is_recorded_unless_asked_for():
    x = tensor(8)
    F.add(x, x)
    with statistics.timed_launches():
        with statistics.timed_launches():
            F.add(x, x)
        F.add(x, x)
    F.add(x, x)
    assert statistics.launches()["add"].count == 2


def test_it_ends_with_an_exception():
    with pytest.raises(KeyError), statistics.timed_launches():
        raise KeyError
    F.neg(tensor(8))
    assert statistics.launches() == {}


def test_a_launch_that_fails_is_not_counted():
    with statistics.timed_launches(), pytest.raises(IndexError):
        F.take(tensor(4), array.from_numpy(np.array([9])), axis=0)
    assert statistics.launches() == {}


def test_results_are_the_same():
    x = array.from_numpy(np.linspace(0, 1, 100_000, dtype=np.float32))
    plain = array.to_numpy(F.exp(x)).copy()
    with statistics.timed_launches():
        np.testing.assert_array_equal(array.to_numpy(F.exp(x)), plain)


def test_threads_lose_no_launch():
    def work():
        x = tensor(100)
        for _ in range(200):
            F.add(x, x)
        F.add(large, large)

    large = tensor(70_000)  # without the lock of the interpreter
    with statistics.timed_launches():
        threads = [threading.Thread(target=work) for _ in range(4)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
    row = statistics.launches()["add"]
    assert (row.count, row.bytes) == (804, 4 * (200 * 1200 + 840_000))


def test_a_forked_child_counts_on_its_own():
    x = tensor(8)
    with statistics.timed_launches():
        F.add(x, x)
        child = os.fork()
        if child == 0:
            F.add(x, x)
            F.mul(x, x)
            found = statistics.launches()
            os._exit(0 if (found["add"].count, found["mul"].count) == (2, 1) else 1)
        _, status = os.waitpid(child, 0)
    assert status == 0
    assert {name: row.count for name, row in statistics.launches().items()} == {"add": 1}


def test_rows_are_bounded(monkeypatch):
    monkeypatch.setattr(statistics, "ROWS", 2)
    x = tensor(8)
    with statistics.timed_launches():
        for op in (F.add, F.mul, F.sub, F.div, F.add):
            op(x, x)
    assert {name: row.count for name, row in statistics.launches().items()} == {
        "add": 2, "mul": 1, statistics.OTHERS: 2,
    }  # fmt: skip


# --- the roof --------------------------------------------------------------------------------------------------------


@pytest.fixture
def given():
    roofline.GBS.set(10.0)
    roofline.GFLOPS.set(100.0)
    yield
    roofline.GBS.set(0.0)
    roofline.GFLOPS.set(0.0)


def test_share_of_the_roof(given):
    statistics.record_launch("moves", 1e-3, bytes=5_000_000, flops=1_000_000)
    statistics.record_launch("computes", 1e-2, bytes=1_000, flops=100_000_000)
    rows = {line.split()[0]: line.split() for line in roofline.table().splitlines()}
    assert rows["moves"][-1] == "50.0"
    assert rows["computes"][-1] == "10.0"
    assert roofline.table().splitlines()[-1].startswith("roof: 10.0 GB/s, 100.0 GF/s, ")


def test_ceilings_are_measured_once(monkeypatch):
    monkeypatch.setattr(roofline, "STREAMED", 1 << 12)
    monkeypatch.setattr(roofline, "STEPS", 1 << 8)
    monkeypatch.setattr(roofline, "_measured", {})
    found = roofline.ceilings()
    assert found.bandwidth > 0 and found.flops > 0
    assert roofline.ceilings() == found
    roofline.GBS.set(5.0)
    try:
        assert roofline.ceilings() == (5e9, found.flops)
    finally:
        roofline.GBS.set(0.0)


def test_ceilings_are_not_negative():
    with pytest.raises(ValueError, match="requires a rate that is not negative, got -1"):
        roofline.GBS.set(-1)


def test_command(given, tmp_path, capsys):
    script = tmp_path / "script.py"
    script.write_text(
        "import sys\nfrom umiak import ops as F\nfrom umiak.core import dtype as dt\n"
        "assert __name__ == '__main__'\n"
        "x = F.full(1.0, shape=(8,), dtype=dt.float32)\n"
        "for _ in range(int(sys.argv[1])):\n    F.add(x, x)\n"
    )
    before = list(sys.argv)
    assert roofline.main([str(script), "3"]) == 0
    assert sys.argv == before
    rows = {line.split()[0]: line.split() for line in capsys.readouterr().err.splitlines()}
    assert rows["add"][1] == "3"
    assert rows["full"][1] == "1"


def test_flag_prints_a_table_at_the_end():
    script = "from umiak import ops as F\nfrom umiak.core import dtype as dt\nF.full(1.0, shape=(8,), dtype=dt.float32)"
    environment = {**os.environ, "FLAGS_time_kernels": "1"}
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, env=environment, check=True)
    head, row = done.stderr.splitlines()
    assert head.split()[:2] == ["kernel", "launches"]
    assert row.split()[:2] == ["full", "1"]
