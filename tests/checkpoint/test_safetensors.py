"""Round trips, files that are cut off or lie, and writes that are interrupted."""

import json
import os
import signal
import struct
import subprocess
import sys
import textwrap

import numpy as np
import pytest

import umiak  # noqa: F401  (fills the core's slots)
from umiak.checkpoint.safetensors import NAMES, load_safetensors, save_safetensors
from umiak.core import dtype as dt
from umiak.core.array import from_numpy, to_numpy


def make(rng, dtype, shape=(2, 3)):
    return from_numpy(np.asarray(rng.standard_normal(shape) * 4).astype(dtype.numpy))


def test_round_trip_of_every_dtype(rng, tmp_path):
    tensors = {d.name: make(rng, d) for d in NAMES}
    tensors |= {"0-d": make(rng, dt.float32, ()), "0-size": make(rng, dt.float32, (0, 4))}
    save_safetensors(tensors, tmp_path / "a.safetensors", {"step": "3"})
    found, metadata = load_safetensors(tmp_path / "a.safetensors")
    assert metadata == {"step": "3"}
    assert sorted(found) == sorted(tensors)
    for name, t in tensors.items():
        assert found[name].dtype is t.dtype and list(found[name].shape) == list(t.shape)
        assert to_numpy(found[name]).tobytes() == to_numpy(t).tobytes()
    assert os.listdir(tmp_path) == ["a.safetensors"]


def test_strided_tensors_are_saved_by_value(rng, tmp_path):
    from umiak import ops as F

    x = make(rng, dt.float32)
    save_safetensors({"t": F.permute(x, perm=(1, 0))}, tmp_path / "a")
    np.testing.assert_array_equal(to_numpy(load_safetensors(tmp_path / "a")[0]["t"]), to_numpy(x).T)


def test_the_peer_reads_it(rng, tmp_path):
    torch = pytest.importorskip("safetensors.torch")
    x = make(rng, dt.bfloat16)
    save_safetensors({"x": x}, tmp_path / "a")
    np.testing.assert_array_equal(torch.load_file(tmp_path / "a")["x"].float().numpy(), to_numpy(x).astype(np.float32))


def test_refused(rng, tmp_path):
    with pytest.raises(TypeError, match="complex128"):
        save_safetensors({"x": make(rng, dt.complex128)}, tmp_path / "a")
    with pytest.raises(TypeError, match="strings as metadata"):
        save_safetensors({}, tmp_path / "a", {"step": 3})
    assert os.listdir(tmp_path) == []


def entry(dtype="F32", shape=(1,), offsets=(0, 4)):
    return {"dtype": dtype, "shape": list(shape), "data_offsets": list(offsets)}


@pytest.mark.parametrize(
    "blob",
    [
        b"",
        b"\0" * 7,
        struct.pack("<Q", 1 << 62) + b"{}",
        struct.pack("<Q", 2) + b"[]",
        struct.pack("<Q", 3) + b"{nope",
        {"x": entry(offsets=(0, 8))},
        {"x": entry(offsets=(-4, 0))},
        {"x": entry(shape=(1 << 62, 1 << 62))},
        {"x": entry(shape=(-1,))},
        {"x": entry(), "y": entry()},
        {"x": entry(offsets=(4, 8))},
        {"x": entry(dtype="NOPE")},
        {"x": entry(dtype="F32", shape=(2,), offsets=(0, 4))},
    ],
    ids=lambda b: repr(b)[:40],
)
def test_hostile_headers(blob, tmp_path):
    if isinstance(blob, dict):
        head = json.dumps(blob).encode()
        blob = struct.pack("<Q", len(head)) + head + b"\0" * 4
    (tmp_path / "a").write_bytes(blob)
    with pytest.raises(ValueError, match="load_safetensors"):
        load_safetensors(tmp_path / "a")


def test_cut_off(rng, tmp_path):
    save_safetensors({"x": make(rng, dt.float32)}, tmp_path / "a")
    data = (tmp_path / "a").read_bytes()
    (tmp_path / "a").write_bytes(data[:-1])
    with pytest.raises(ValueError, match="load_safetensors"):
        load_safetensors(tmp_path / "a")


@pytest.mark.parametrize("where", ["os.fsync", "os.rename"])
def test_killed_while_saving(where, tmp_path):
    """The old file stays whole when the process dies before the new one is in place."""
    script = f"""
        import os, signal, sys, numpy as np
        import umiak
        from umiak.checkpoint import safetensors
        from umiak.core.array import from_numpy
        save = lambda v: safetensors.save_safetensors({{"x": from_numpy(np.full(3, v))}}, {str(tmp_path / "a")!r})
        save(1.0)
        die = lambda *a: os.kill(os.getpid(), signal.SIGKILL)
        module, name = {where!r}.rsplit(".", 1)
        setattr(sys.modules[module], name, die)
        save(2.0)
    """
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(script)], timeout=300)
    assert done.returncode == -signal.SIGKILL
    assert to_numpy(load_safetensors(tmp_path / "a")[0]["x"]).tolist() == [1.0] * 3
