"""``paddle.save`` and ``paddle.load``: what they keep, what they refuse, what the reference framework wrote."""

import base64
import io
import os
import pickle
import struct
import subprocess
import sys
from collections import OrderedDict

import ml_dtypes
import numpy as np
import pytest
from safetensors.numpy import load_file

import paddle
from paddle.framework.io import NAME_TABLE

# Written by the reference framework: {"a": float32 [1, 2], "b": [1, bfloat16 [1, 1]]}, and a state dict.
REFERENCE = base64.b64decode(
    "gASVLQEAAAAAAAB9lCiMAWGUjAhidWlsdGluc5SMBXR1cGxllJOUjBJnZW5lcmF0ZWRfdGVuc29yXzKUjBZudW1weS5fY29yZS5tdWx0aWFycmF5"
    "lIwMX3JlY29uc3RydWN0lJOUjAVudW1weZSMB25kYXJyYXmUk5RLAIWUQwFilIeUUpQoSwFLAoWUaAmMBWR0eXBllJOUjAJmNJSJiIeUUpQoSwOM"
    "ATyUTk5OSv////9K/////0sAdJRiiUMIAACAPwAAAECUdJRihpSFlFKUjAFilF2UKEsBaASMC2VhZ2VyX3RtcF8wlGgIaAtLAIWUaA2HlFKUKEsB"
    "SwKFlGgSjAJ1MpSJiIeUUpQoSwNoFk5OTkr/////Sv////9LAHSUYolDBIA/gD+UdJRihpSFlFKUZXUu"
)


def through_memory(obj, **configs):
    f = io.BytesIO()
    paddle.save(obj, f)
    f.seek(0)
    return paddle.load(f, **configs)


def test_reads_the_reference():
    found = paddle.load(io.BytesIO(REFERENCE))
    assert found["a"].tolist() == [1, 2]
    assert found["a"].name == "generated_tensor_2"
    assert found["b"][0] == 1
    assert found["b"][1].dtype is paddle.bfloat16
    assert found["b"][1].tolist() == [1, 1]


def test_writes_what_the_reference_reads():
    """Plain pickle sees tuples of a name and an array, and of a state dict plain arrays and a table of names."""
    x = paddle.to_tensor([1.0, 2.0])
    x.name = "w"
    f = io.BytesIO()
    paddle.save({"a": [x]}, f)
    name, array = pickle.loads(f.getvalue())["a"][0]
    assert name == "w"
    np.testing.assert_array_equal(array, np.float32([1, 2]))
    f = io.BytesIO()
    paddle.save({"a": x, "LR": {"step": 1}}, f)
    plain = pickle.loads(f.getvalue())
    np.testing.assert_array_equal(plain["a"], np.float32([1, 2]))
    assert plain["LR"] == {"step": 1}
    assert plain[NAME_TABLE] == {"a": "w"}


@pytest.mark.parametrize(
    "dtype",
    [
        "bool",
        "uint8",
        "int8",
        "int16",
        "int32",
        "int64",
        "float16",
        "bfloat16",
        "float32",
        "float64",
        "complex64",
        "complex128",
    ],
)
@pytest.mark.parametrize("shape", [[], [0, 2], [3, 2]])
def test_every_dtype(dtype, shape):
    x = paddle.arange(int(np.prod(shape))).reshape(shape).astype(dtype)
    for obj in (x, {"w": x}, [x]):
        back = through_memory(obj)
        back = back if isinstance(back, paddle.Tensor) else back["w"] if isinstance(back, dict) else back[0]
        assert back.dtype is x.dtype
        assert back.shape == x.shape
        assert back.stop_gradient
        assert bool((back == x).all())


def test_structure():
    x = paddle.ones([2])
    obj = {"m": {"w": x}, "o": OrderedDict(b=[x, (1, 2.5, "s", None, True)]), 3: {1, 2}, "n": 2**70, "by": b"\x00"}
    back = through_memory(obj)
    assert list(back) == ["m", "o", 3, "n", "by"]
    assert isinstance(back["o"], OrderedDict)
    assert back["o"]["b"][1] == (1, 2.5, "s", None, True)
    assert back[3] == {1, 2}
    assert back["n"] == 2**70
    assert back["by"] == b"\x00"


def test_arrays_alone_become_tensors():
    assert isinstance(through_memory([np.ones(2)])[0], paddle.Tensor)
    mixed = through_memory({"t": paddle.ones([1]), "a": np.ones(2)})
    assert isinstance(mixed["a"], np.ndarray)
    assert isinstance(through_memory({"t": paddle.ones([1])}, return_numpy=True)["t"], np.ndarray)


@pytest.mark.parametrize("protocol", [2, 4])
def test_states_of_generators(protocol):
    paddle.seed(7)
    paddle.rand([5])
    saved = {"rng": paddle.get_rng_state(), "w": paddle.ones([2])}
    file = io.BytesIO()
    paddle.save(saved, file, protocol)
    expected = paddle.rand([3]).tolist()
    file.seek(0)
    found = paddle.load(file)
    assert found["rng"] == saved["rng"] and type(found["rng"][0]) is type(saved["rng"][0])
    paddle.seed(1)
    paddle.set_rng_state(found["rng"])
    assert paddle.rand([3]).tolist() == expected


def test_views_and_name_table():
    x = paddle.arange(6).reshape([2, 3])
    assert through_memory([x.T, x[:, ::-1]])[0].tolist() == x.T.tolist()
    assert NAME_TABLE not in through_memory({"w": x})
    assert NAME_TABLE in through_memory({"w": x}, keep_name_table=True)


def test_a_file_replaces_another_only_when_complete(tmp_path, monkeypatch):
    path = tmp_path / "new" / "x.pdparams"
    paddle.save({"w": paddle.ones([2])}, path)
    before = path.read_bytes()
    with pytest.raises((pickle.PicklingError, AttributeError, TypeError)):
        paddle.save({"w": paddle.ones([2]), "f": lambda: 0}, path)
    monkeypatch.setattr(os, "fsync", lambda fd: (_ for _ in ()).throw(OSError("disk full")))
    with pytest.raises(OSError, match="disk full"):
        paddle.save({"w": paddle.zeros([5])}, path)
    assert path.read_bytes() == before
    assert os.listdir(path.parent) == ["x.pdparams"]


@pytest.mark.parametrize("protocol", [2, 3, 4])
def test_protocols(protocol, tmp_path):
    path = str(tmp_path / "x")
    paddle.save({"a": paddle.arange(5), "b": {"n": [1]}}, path, protocol)
    assert paddle.load(path)["a"].tolist() == [0, 1, 2, 3, 4]


@pytest.mark.parametrize("protocol", [1, 5, True, "4"])
def test_other_protocols_are_refused(protocol, tmp_path):
    with pytest.raises(ValueError, match="protocol"):
        paddle.save([1], str(tmp_path / "x"), protocol)


# --- what load must not do -----------------------------------------------------------------------------------------


class Evil:
    def __reduce__(self):
        return os.system, ("touch /tmp/should-not-be-there",)


class EvilState:
    def __setstate__(self, state):
        raise AssertionError("code of a file ran")

    def __reduce__(self):
        return object.__new__, (EvilState,), {"a": 1}


STATE = b"\x80\x02cpaddle.framework.random\nGeneratorState\n"

HOSTILE = {
    "state of a generator": STATE + b"K\x01K\x02K\x03\x87\x85R.",
    "text in a generator": STATE + b"K\x01X\x01\x00\x00\x00a\x86\x85R.",
    "offset below zero": STATE + b"K\x01J\xff\xff\xff\xff\x86\x85R.",
    "generator twice": STATE + b"K\x01K\x02\x86\x85RK\x01K\x02\x86b.",
    "call": pickle.dumps(Evil()),
    "state": pickle.dumps(EvilState()),
    "eval": b"cbuiltins\neval\n(S'1+1'\ntR.",
    "getattr": b"cbuiltins\ngetattr\n(cos\nsystem\nS'x'\ntR.",
    "instance": b"(S'x'\nios\nsystem\n.",
    "extension": b"\x80\x02\x82\x01.",
    "persistent": b"\x80\x02X\x01\x00\x00\x00aQ.",
    "nested name": b"\x80\x04\x8c\x05numpy\x8c\x0bndarray.tobytes\x93.",
    "object dtype": pickle.dumps(np.array([object], dtype=object)),
    "huge bytes": b"\x80\x04\x8e" + struct.pack("<Q", 1 << 60) + b".",
    "huge bytearray": b"\x80\x05\x96" + struct.pack("<Q", 1 << 50) + b".",
    "huge text": b"\x80\x04\x8d" + struct.pack("<Q", 1 << 60) + b".",
    "huge long": b"\x80\x02\x8b" + struct.pack("<i", 1 << 30) + b".",
    "empty": b"",
    "not a pickle": b"import os\n",
    "unfinished": REFERENCE[:100],
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_files_are_refused(name, tmp_path):
    path = tmp_path / "x"
    path.write_bytes(HOSTILE[name])
    with pytest.raises(ValueError, match="load"):
        paddle.load(str(path))
    assert not os.path.exists("/tmp/should-not-be-there")


def test_a_large_index_of_the_memo_costs_nothing():
    assert paddle.load(io.BytesIO(b"\x80\x02Nr\xff\xff\xff\x7f.")) is None


def test_every_cut_is_refused():
    whole = io.BytesIO()
    paddle.save({"w": paddle.ones([3]), "s": {"n": 1}}, whole)
    data = whole.getvalue()
    for n in range(len(data)):
        with pytest.raises(ValueError, match="load"):
            paddle.load(io.BytesIO(data[:n]))


def test_shapes_cannot_promise_more_than_the_bytes():
    array = pickle.dumps(np.zeros(4, np.float32), 4)
    assert array.count(b"K\x04\x85") == 1
    for shape in (b"K\x05\x85", b"J\xff\xff\xff\x7f\x85", b"J\xff\xff\xff\xff\x85"):
        with pytest.raises(ValueError, match=r"bytes|shape"):
            paddle.load(io.BytesIO(array.replace(b"K\x04\x85", shape)))


def test_sharing_does_not_multiply():
    """Lists of lists of lists, each twice: small in the file, and small after it."""
    data = b"\x80\x04]\x94" + b"".join(b"]\x94(h" + bytes([k]) + b"h" + bytes([k]) + b"e" for k in range(60)) + b"."
    x = paddle.load(io.BytesIO(data))
    for _ in range(60):
        assert x[0] is x[1]
        x = x[0]


def test_missing_file_and_unknown_option(tmp_path):
    with pytest.raises(ValueError, match="exists"):
        paddle.load(str(tmp_path / "nothing"))
    with pytest.raises(TypeError, match="known options"):
        paddle.load(io.BytesIO(REFERENCE), nonsense=1)


# --- pickling and copying ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "float8_e4m3fn", "int64", "complex64"])
def test_pickle(dtype):
    x = paddle.ones([2]).astype(dtype)
    x.name, x.stop_gradient, x.custom = "w", dtype not in ("float32", "bfloat16"), [1]
    back = pickle.loads(pickle.dumps(x))
    assert back.dtype is x.dtype
    assert (back.name, back.stop_gradient, back.custom) == (x.name, x.stop_gradient, [1])
    assert back.astype("float32").tolist() == [1, 1] if dtype != "complex64" else back.tolist() == [1, 1]


def test_parameters_pickle_as_parameters():
    p = paddle.create_parameter([2], "float32")
    back = pickle.loads(pickle.dumps(p))
    assert type(back) is type(p)
    assert back.trainable
    assert back.tolist() == p.tolist()


def test_pickle_needs_no_state_of_the_process():
    """Another process reads it by importing paddle only."""
    data = pickle.dumps(paddle.to_tensor([1.5], dtype="bfloat16"))
    code = f"import pickle; print(pickle.loads({data!r}).tolist())"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[1.5]\n"


def test_bits_of_bfloat16_in_numpy():
    assert paddle.to_tensor(np.ones(2, ml_dtypes.bfloat16)).dtype is paddle.bfloat16


# --- safetensors -----------------------------------------------------------------------------------------------------


def test_safetensors_by_name(tmp_path):
    net = paddle.nn.Linear(3, 2)
    state = {**net.state_dict(), "low": paddle.ones([2], dtype="bfloat16"), "step": paddle.to_tensor(3)}
    path = tmp_path / "new" / "x.safetensors"
    paddle.save(state, path)
    peer = load_file(path)  # the package that defines the format reads it
    np.testing.assert_array_equal(peer["weight"], net.weight.numpy())
    found = paddle.load(path)
    assert sorted(found) == sorted(state)
    for name, x in state.items():
        assert found[name].dtype is x.dtype
        assert found[name].stop_gradient
        assert found[name].numpy().tobytes() == x.numpy().tobytes()
    assert {type(a) for a in paddle.load(path, return_numpy=True).values()} == {np.ndarray}
    paddle.save(state, tmp_path / "plain", safetensors=True)
    assert (tmp_path / "plain").read_bytes() == path.read_bytes()
    assert sorted(paddle.load(tmp_path / "plain", safetensors=True)) == sorted(state)
    paddle.save(state, tmp_path / "pickle.safetensors", safetensors=False)
    assert sorted(paddle.load(tmp_path / "pickle.safetensors", safetensors=False)) == sorted(state)


@pytest.mark.parametrize("wrong", [[1], 3, {"a": 1}, {3: "x"}, {"a": {"b": "x"}}])
def test_what_safetensors_cannot_hold(tmp_path, wrong):
    with pytest.raises(TypeError, match=r"\[save\] requires a dict of tensors by name for safetensors"):
        paddle.save(wrong, tmp_path / "x.safetensors")
    assert os.listdir(tmp_path) == []
    with pytest.raises(TypeError, match="the name of a file for safetensors, got BytesIO"):
        paddle.save({}, io.BytesIO(), safetensors=True)


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\x80\x04N.",
        b"\xff" * 16,
        (40).to_bytes(8, "little") + b'{"a":{"dtype":"F32","shape":[9],"data_offsets":[0,4]}}' + b"\0" * 4,
    ],
)
def test_files_that_are_no_safetensors(tmp_path, data):
    (tmp_path / "x.safetensors").write_bytes(data)
    with pytest.raises(ValueError, match=r"requires a whole safetensors file, got .*x\.safetensors"):
        paddle.load(tmp_path / "x.safetensors")


def test_states_of_generators_beside_tensors(tmp_path):
    state = paddle.get_rng_state()
    want = paddle.rand([4]).numpy()
    paddle.save({"rng": state, "x": paddle.ones([2]), "cuda": paddle.get_cuda_rng_state()}, tmp_path / "x.pd")
    found = paddle.load(tmp_path / "x.pd")
    assert found["cuda"] == []
    paddle.set_rng_state(found["rng"])
    np.testing.assert_array_equal(paddle.rand([4]).numpy(), want)
