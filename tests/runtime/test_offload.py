"""Tensors put away in files come back bit for bit, their memory is free meanwhile, and no file outlives its use."""

from __future__ import annotations

import gc
import os
import signal
import subprocess
import sys
import textwrap
import threading

import numpy as np
import pytest

import paddle
from paddle import nn
from paddle.distributed.fleet.utils import recompute
from paddle.incubate import offload_saved_tensors
from tests.support.garbage import collect_garbage
from umiak import memory
from umiak import ops as F
from umiak.core import dtype as dt
from umiak.core.array import from_numpy, to_numpy
from umiak.core.place import Place
from umiak.runtime.offload import HostFile, Kept, Offload

HOST = Place("cpu", 0)
EVERY = [
    getattr(dt, name)
    for name in "bool uint8 int8 int16 int32 int64 float16 bfloat16 float32 float64 complex64 complex128".split()
] + [dt.float8_e4m3fn, dt.float8_e5m2]


def allocated():
    collect_garbage()
    return memory.stats(HOST)["allocated"]


def bits(x):
    return np.ascontiguousarray(to_numpy(x)).reshape(-1).view(np.uint8)


# --- values ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("to", ["file", "memory", None])
@pytest.mark.parametrize("kind", EVERY, ids=lambda d: d.name)
def test_bits_come_back(kind, to, tmp_path):
    rng = np.random.default_rng(1)
    raw = rng.integers(0, 2 if kind is dt.bool else 256, 24 * kind.itemsize, dtype=np.uint8)  # NaNs of all kinds
    x = from_numpy(raw.view(kind.numpy).reshape(2, 3, 4))
    off = Offload(to=to, folder=tmp_path)
    for y in (x, F.permute(x, perm=(2, 0, 1)), F.slice(x, axes=(2,), starts=(1,), sizes=(2,), steps=(1,))):
        kept = off.pack(y)
        assert type(kept) is Kept
        back = off.unpack(kept)
        assert back.shape == y.shape
        assert back.dtype is y.dtype
        assert back.place is y.place
        np.testing.assert_array_equal(bits(back), bits(y))
    scalar = F.reshape(F.slice(x, axes=(0, 1, 2), starts=(1, 1, 1), sizes=(1, 1, 1), steps=(1, 1, 1)), shape=())
    np.testing.assert_array_equal(bits(off.unpack(off.pack(scalar))), bits(scalar))


def test_what_stays():
    off = Offload(threshold=64)
    small, large, empty = (from_numpy(np.ones(n, np.float32)) for n in (15, 16, 0))
    assert off.pack(small) is small
    assert off.pack(empty) is empty
    assert type(off.pack(large)) is Kept
    parameter = large.detach()
    parameter.stop_gradient = False
    assert off.pack(parameter) is parameter
    frozen = from_numpy(np.ones(99, np.float32))
    off = Offload(keep=[frozen])
    assert off.pack(frozen.detach()).storage is frozen.storage
    assert off.put == 0


def test_one_memory_is_put_away_once():
    off = Offload()
    x = from_numpy(np.arange(100.0))
    first, again = off.pack(x.detach()), off.pack(x.detach())
    assert again is first
    assert off.put == 800
    assert off.pack(F.reshape(x, shape=(10, 10))) is not first
    x._bump_version()
    assert off.pack(x) is not first
    before = off.put
    del x, first, again
    # Other memory at the same address is another storage.
    off.pack(from_numpy(np.arange(100.0)))
    assert off.put == before + 800


def test_wrong_arguments(tmp_path):
    with pytest.raises(
        ValueError, match=r"\[offload\] requires 'file', 'memory' or None as what to offload to, got 'disk'"
    ):
        Offload(to="disk")
    with pytest.raises(ValueError, match="a threshold of at least 0 bytes, got -1"):
        Offload(threshold=-1)
    file = tmp_path / "file"  # no folder can be below one, whoever asks
    file.touch()
    with pytest.raises(NotADirectoryError):
        Offload(folder=str(file / "folder")).pack(from_numpy(np.ones(4)))


# --- room in files ---------------------------------------------------------------------------------------------------


def test_room_is_used_again():
    file = HostFile()
    rng = np.random.default_rng(2)
    live: dict[int, tuple] = {}
    high = 0
    for i in range(400):
        if live and rng.random() < 0.5:
            extent, data = live.pop(list(live)[rng.integers(len(live))])
            into = np.empty_like(data)
            extent.read(memoryview(into))
            np.testing.assert_array_equal(into, data)
            del extent
        else:
            data = rng.integers(0, 256, int(rng.integers(1, 5000)), dtype=np.uint8)
            live[i] = file.write(memoryview(data)), data
        high = max(high, file.used)
        assert file.used == sum(e.size for e, _ in live.values())
        ends = [(b, b + s) for b, s in file.free]
        assert ends == sorted(ends)
        assert all(e < b for (_, e), (b, _) in zip(ends, ends[1:]))  # neighbours are joined
    live.clear()
    assert file.used == 0
    assert file.free == [(0, file.size)]
    assert file.size < 2 * high


def test_a_file_that_was_cut():
    off = Offload()
    kept = off.pack(from_numpy(np.arange(1000.0)))
    os.ftruncate(off.file.file.fileno(), 100)
    with pytest.raises(EOFError, match=r"\[offload\] requires 8000 bytes at 0, got 100"):
        off.unpack(kept)


def test_a_forked_child_has_a_file_of_its_own():
    off = Offload()
    kept = off.pack(from_numpy(np.arange(1000.0)))
    pid = os.fork()
    if pid == 0:
        status = 1
        try:
            off.pack(from_numpy(np.zeros(1000)))
            fine = off.file.process == os.getpid() and to_numpy(off.unpack(kept))[7] == 7
            status = 0 if fine else 2
        finally:
            os._exit(status)
    assert os.waitpid(pid, 0)[1] == 0
    np.testing.assert_array_equal(to_numpy(off.unpack(kept)), np.arange(1000.0))


# --- memory ----------------------------------------------------------------------------------------------------------


def network():
    paddle.seed(1)
    return nn.Sequential(
        *(nn.Sequential(nn.Linear(128, 512), nn.GELU(), nn.Dropout(0.3), nn.Linear(512, 128)) for _ in range(4))
    )


def step(net, x):
    for p in net.parameters():
        p.clear_gradient(False)
    paddle.seed(2)
    before = allocated()
    loss = (net(x) ** 2).sum()
    return loss, allocated() - before


@pytest.mark.usefixtures("no_garbage")
@pytest.mark.parametrize("to", ["file", "memory"])
def test_memory_is_free_meanwhile(to, tmp_path):
    net, x = network(), paddle.to_tensor(np.random.default_rng(0).standard_normal((64, 128)).astype("float32"))
    loss, kept = step(net, x)
    loss.backward()
    want = [p.grad.numpy().copy() for p in net.parameters()]
    with offload_saved_tensors(1024, to=to, folder=tmp_path) as off:
        loss, less = step(net, x)
    assert os.listdir(tmp_path) == []
    assert kept > 1_000_000
    assert less < kept / 20
    assert off.bytes > 0.9 * (kept - less)
    loss.backward()
    for p, g in zip(net.parameters(), want, strict=True):
        np.testing.assert_array_equal(p.grad.numpy(), g)
    if to == "file":
        assert off._offload.file.used == 0


def test_with_recompute():
    net, x = network(), paddle.to_tensor(np.ones((8, 128), np.float32))
    loss, _ = step(net, x)
    loss.backward()
    want = [p.grad.numpy().copy() for p in net.parameters()]
    for use_reentrant in (True, False):

        def again(x, use_reentrant=use_reentrant):
            for layer in net:
                x = recompute(layer, x, use_reentrant=use_reentrant)
            return x

        again.parameters = net.parameters
        with offload_saved_tensors(0):
            loss, _ = step(again, x)
        loss.backward()
        for p, g in zip(net.parameters(), want, strict=True):
            np.testing.assert_array_equal(p.grad.numpy(), g)


def test_higher_derivatives():
    x = paddle.to_tensor([0.5, 2.0], dtype="float64", stop_gradient=False)
    with offload_saved_tensors(0):
        y = paddle.exp(x * x)
        (g,) = paddle.grad(y.sum(), x, create_graph=True)
    (gg,) = paddle.grad(g.sum(), x)
    v = np.array([0.5, 2.0])
    np.testing.assert_allclose(gg.numpy(), (2 + 4 * v * v) * np.exp(v * v))


def test_threads():
    net, x = network(), paddle.ones([4, 128])
    want = (net.eval()(x) ** 2).sum()
    results = []

    def work():
        with offload_saved_tensors(0):
            y = (net(x) ** 2).sum()
        (g,) = paddle.grad(y, [net[0][0].weight])
        results.append((float(y), g.numpy()))

    threads = [threading.Thread(target=work) for _ in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert [y for y, _ in results] == [float(want)] * 4
    for _, g in results[1:]:
        np.testing.assert_array_equal(g, results[0][1])


# --- what is left behind ---------------------------------------------------------------------------------------------


def test_errors_leave_no_file(tmp_path):
    x = paddle.to_tensor(np.ones((64, 64), np.float32), stop_gradient=False)
    with pytest.raises(KeyError), offload_saved_tensors(0, folder=tmp_path):
        paddle.exp(x * 2)
        raise KeyError
    assert os.listdir(tmp_path) == []
    files = len(os.listdir("/proc/self/fd"))
    for _ in range(3):
        with offload_saved_tensors(0, folder=tmp_path):
            paddle.exp(x * 2)
    gc.collect()
    assert len(os.listdir("/proc/self/fd")) <= files


def test_a_killed_process_leaves_no_file(tmp_path):
    code = """
        import os, signal, sys
        import numpy as np
        from umiak.core.array import from_numpy
        from umiak.runtime.offload import Offload
        off = Offload(folder=sys.argv[1])
        kept = [off.pack(from_numpy(np.full(10000, i, np.float32))) for i in range(10)]
        assert off.put == 400000 and os.listdir(sys.argv[1]) == []
        os.kill(os.getpid(), signal.SIGKILL)
    """
    run = subprocess.run([sys.executable, "-c", textwrap.dedent(code), str(tmp_path)], capture_output=True, text=True)
    assert run.returncode == -signal.SIGKILL, run.stderr
    assert os.listdir(tmp_path) == []
