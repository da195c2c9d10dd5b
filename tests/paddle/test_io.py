"""``paddle.save`` and ``paddle.load``: what they keep, what they refuse, what the reference framework wrote."""

import base64
import io
import os
import pickle
import struct
import subprocess
import sys
import tracemalloc
from collections import OrderedDict

import ml_dtypes
import numpy as np
import pytest
from safetensors.numpy import load_file

import paddle
from paddle.framework import trailer
from paddle.framework.io import NAME_TABLE
from umiak.util import partial_files

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
        return os.system, ("touch should-not-be-there",)


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
def test_hostile_files_are_refused(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "x"
    path.write_bytes(HOSTILE[name])
    with pytest.raises(ValueError, match="load"):
        paddle.load(str(path))
    assert os.listdir(tmp_path) == ["x"]


def test_a_large_index_of_the_memo_costs_nothing():
    assert paddle.load(io.BytesIO(b"\x80\x02Nr\xff\xff\xff\x7f.")) is None


def test_every_cut_is_refused(tmp_path):
    path = tmp_path / "x"
    paddle.save({"w": paddle.ones([3]), "s": {"n": 1}}, path)
    data = path.read_bytes()
    for n in range(len(data)):
        path.write_bytes(data[:n])
        for source in (path, io.BytesIO(data[:n])):
            with pytest.raises(ValueError, match="load"):
                paddle.load(source)


# --- checksums -------------------------------------------------------------------------------------------------------

# Two files in one, written by this package: {"a": w_0 [1, 2], "b": [1, bfloat16 w_1 [[1.5]]]} and {"w": w_0 [1, 2],
# "LR": {"step": 3}}. The reference framework 3.3.1 was seen to read both, one after the other; by name, the first.
READ_BY_THE_REFERENCE = base64.b64decode(
    "gARDCFVNSUFLU1VNMJUWAQAAAAAAAH2UKIwBYZSMCGJ1aWx0aW5zlIwFdHVwbGWUk5SMA3dfMJSMFm51bXB5Ll9jb3JlLm11bHRpYXJyYXmUjAxf"
    "cmVjb25zdHJ1Y3SUk5SMBW51bXB5lIwHbmRhcnJheZSTlEsAhZRDAWKUh5RSlChLAUsChZRoCYwFZHR5cGWUk5SMAmY0lImIh5RSlChLA4wBPJRO"
    "Tk5K/////0r/////SwB0lGKJQwgAAIA/AAAAQJR0lGKGlIWUUpSMAWKUXZQoSwFoBIwDd18xlGgIaAtLAIWUaA2HlFKUKEsBSwFLAYaUaBKMAnUy"
    "lImIh5RSlChLA2gWTk5OSv////9K/////0sAdJRiiUMCwD+UdJRihpSFlFKUZXUuQzVVTUlBS1NVTSwBAAAAAAAAeHhoMzo5Y2EyMTYzNDg0OGU0"
    "NDljMmY4OTFlZDkxMTI0N2U5NDCABEMIVU1JQUtTVU0wldMAAAAAAAAAfZQojAF3lIwWbnVtcHkuX2NvcmUubXVsdGlhcnJheZSMDF9yZWNvbnN0"
    "cnVjdJSTlIwFbnVtcHmUjAduZGFycmF5lJOUSwCFlEMBYpSHlFKUKEsBSwKFlGgFjAVkdHlwZZSTlIwCZjSUiYiHlFKUKEsDjAE8lE5OTkr/////"
    "Sv////9LAHSUYolDCAAAgD8AAABAlHSUYowCTFKUfZSMBHN0ZXCUSwNzjBtTdHJ1Y3R1cmVkVG9QYXJhbWV0ZXJOYW1lQECUfZRoAYwDd18wlHN1"
    "LkM1VU1JQUtTVU3pAAAAAAAAAHh4aDM6NzMzZTQxMmE3NDRkMjI5M2JlZjU5Y2NmMzYxMjMyMTYw"
)


def test_checksums_are_where_the_reference_does_not_see_them():
    first = READ_BY_THE_REFERENCE.index(trailer.MAGIC, 16) - 2
    assert trailer.decode(memoryview(READ_BY_THE_REFERENCE), first).covers == first
    written = io.BytesIO()
    x = paddle.to_tensor([1.0, 2.0])
    x.name = "w_0"
    paddle.save({"w": x, "LR": {"step": 3}}, written)
    found = trailer.at_the_end(memoryview(written.getvalue()))
    assert found.begin == found.covers and written.getvalue()[found.begin - 1 : found.begin] == b"."
    # Plain pickle, as the reference uses it, goes from one file to the next.
    file = io.BytesIO(READ_BY_THE_REFERENCE)
    assert list(pickle.load(file)) == ["a", "b"]
    assert pickle.load(file)["LR"] == {"step": 3}


def test_several_saves_in_one_file(tmp_path):
    file = io.BytesIO(READ_BY_THE_REFERENCE)
    assert paddle.load(file)["a"].tolist() == [1, 2]
    assert paddle.load(file)["LR"] == {"step": 3}
    with pytest.raises(ValueError, match="ends before its end"):
        paddle.load(file)
    (tmp_path / "x").write_bytes(READ_BY_THE_REFERENCE)
    assert paddle.load(tmp_path / "x")["a"].tolist() == [1, 2]
    changed = READ_BY_THE_REFERENCE.replace(b"\x80?\x00\x00\x00@", b"\x81?\x00\x00\x00@", 1)
    with pytest.raises(ValueError, match="its checksum is"):
        paddle.load(io.BytesIO(changed))


@pytest.mark.parametrize("protocol", [2, 4])
def test_flipped_bits_are_found(protocol, rng, tmp_path):
    path = tmp_path / "x"
    state = {"w": paddle.to_tensor(rng.standard_normal(50).astype(np.float32)), "n": {"step": 3}}
    paddle.save(state, path, protocol)
    data = path.read_bytes()
    for at in rng.choice(len(data), 150, replace=False):
        changed = data[:at] + bytes([data[at] ^ 1 << rng.integers(8)]) + data[at + 1 :]
        path.write_bytes(changed)
        for source in (path, io.BytesIO(changed)):
            with pytest.raises(ValueError, match="load"):
                paddle.load(source)


def test_a_flag_leaves_checksums_out(tmp_path):
    path = tmp_path / "x"
    paddle.save({"w": paddle.to_tensor([3.25])}, path)
    path.write_bytes(path.read_bytes().replace(np.float32(3.25).tobytes(), np.float32(3.5).tobytes()))
    with pytest.raises(ValueError, match="its checksum is xxh3:"):
        paddle.load(path)
    paddle.set_flags({"FLAGS_verify_checksums": False})
    try:
        assert paddle.load(path)["w"].tolist() == [3.5]
    finally:
        paddle.set_flags({"FLAGS_verify_checksums": True})


def test_files_without_a_checksum(tmp_path):
    """Those of the reference framework. What follows their end is not theirs."""
    path = tmp_path / "x"
    path.write_bytes(REFERENCE)
    assert paddle.load(path)["a"].tolist() == [1, 2]
    for rest in (b"\0", b"C5UMIAKSUM", b"."):
        path.write_bytes(REFERENCE + rest)
        with pytest.raises(ValueError, match="after its end that are no checksum"):
            paddle.load(path)


# --- what a small file can cost --------------------------------------------------------------------------------------

MANY = 20_000
COLLIDING = b"".join(b"\x8a\x0b" + (i * ((1 << 61) - 1) + 7).to_bytes(11, "little") + b"N" for i in range(MANY // 4))
LONG_TEXT = b"X" + struct.pack("<I", MANY) + b"a" * MANY + b"q\x01"
EXPENSIVE = {
    "tuples in tuples": b"\x80\x04)" + b"\x85" * MANY + b".",
    "tuples in tuples as a key": b"\x80\x04})" + b"\x85" * MANY + b"Ns.",
    "lists in lists": b"\x80\x04" + b"]" * MANY + b"a" * (MANY - 1) + b".",
    "dicts in dicts": b"\x80\x04" + b"}K\x00" * MANY + b"N" + b"s" * MANY + b".",
    "lists in tuples in lists": b"\x80\x04" + b"](" * MANY + b"N" + b"\x85e" * MANY + b".",
    "marks": b"\x80\x04" + b"(" * MANY + b".",
    "a key of doubled tuples": b"\x80\x02}K\x01"
    + b"".join(b"q" + bytes([i]) + b"h" + bytes([i]) + b"\x86" for i in range(90))
    + b"Ns.",
    "a set of doubled tuples": b"\x80\x04\x8f(K\x01"
    + b"".join(b"q" + bytes([i]) + b"h" + bytes([i]) + b"\x86" for i in range(90))
    + b"\x90.",
    "a name of doubled tuples": b"\x80\x02K\x01"
    + b"".join(b"q" + bytes([i]) + b"h" + bytes([i]) + b"\x86" for i in range(90))
    + b"h\x00\x93.",
    "slices of doubled tuples": b"\x80\x02}X\x15\x00\x00\x00UnpackBigParamInfor@@}X\x01\x00\x00\x00w}"
    b"X\x06\x00\x00\x00slices(K\x01"
    + b"".join(b"q" + bytes([i]) + b"h" + bytes([i]) + b"\x86" for i in range(90))
    + b"lsX\x0b\x00\x00\x00OriginShape)sss.",
    "integers of one hash": b"\x80\x02}(" + COLLIDING + b"u.",
    "integers of one hash, one by one": b"\x80\x02}" + COLLIDING.replace(b"N", b"Ns") + b".",
    "integers of one hash in a set": b"\x80\x04\x8f(" + COLLIDING.replace(b"N", b"") + b"\x90.",
    "integers of one hash in a frozenset": b"\x80\x04(" + COLLIDING.replace(b"N", b"") + b"\x91.",
    "integers of one hash in tuples": b"\x80\x02}(" + COLLIDING.replace(b"N", b"\x85N") + b"u.",
    "floats of one hash": b"\x80\x02}("
    + b"".join(b"G" + struct.pack(">d", m * 2.0 ** (61 * k)) + b"N" for k in range(-16, 16) for m in (1, 1, 1))
    + b"u.",
    "one text encoded many times, in arrays": b"\x80\x02c_codecs\nencode\nq\x000cnumpy\ndtype\n"
    b"X\x02\x00\x00\x00u1K\x00K\x01\x87Rq\x020cnumpy._core.multiarray\n_reconstruct\nq\x030](" + LONG_TEXT
    + b"h\x03)R(K\x01J" + struct.pack("<i", MANY) + b"\x85h\x02\x89h\x00h\x01X\x06\x00\x00\x00latin1\x86Rtb" * 1000
    + b"e.",
    "one text as many bytearrays": b"\x80\x02cbuiltins\nbytearray\nq\x000](" + LONG_TEXT
    + b"h\x00h\x01X\x06\x00\x00\x00latin1\x86R" * 1000 + b"e.",
    "one integer hashed many times": b"\x80\x02}(\x8b" + struct.pack("<i", MANY) + b"\x01" * MANY + b"q\x01N"
    + b"h\x01N" * MANY + b"u.",
    "a text without an end of line": b"V" + b"a" * MANY,
    "an integer of many digits": b"I" + b"9" * 4000 + b"0" * 4000 + b"\n.",
}  # fmt: skip


@pytest.mark.parametrize("name", EXPENSIVE)
def test_what_small_files_cannot_cost(name):
    tracemalloc.start()
    try:
        with pytest.raises(ValueError, match="load"):
            paddle.load(io.BytesIO(EXPENSIVE[name]))
        assert tracemalloc.get_traced_memory()[1] < 300 * len(EXPENSIVE[name]) + (1 << 20)
    finally:
        tracemalloc.stop()


def test_one_text_is_encoded_once():
    data = EXPENSIVE["one text as many bytearrays"].replace(b"cbuiltins\nbytearray\n", b"c_codecs\nencode\n")
    found = paddle.load(io.BytesIO(data))
    assert len(found) == 1001 and len({id(x) for x in found[1:]}) == 1


@pytest.mark.parametrize("protocol", range(6))
def test_plain_pickles_of_every_protocol(protocol):
    plain = {
        "array": np.arange(6.0).reshape(2, 3), "fortran": np.arange(6).reshape(3, 2).T, "scalar": np.float32(2),
        "sets": ({1}, frozenset([2])), "bytes": (b"a", bytearray(b"b")), 1j: 2**80, "ordered": OrderedDict(a=1),
        "dtype": np.dtype("f4"), "large": b"x" * 10_000,
    }  # fmt: skip
    found = paddle.load(io.BytesIO(pickle.dumps(plain, protocol)), return_numpy=True)
    for key in ("array", "fortran"):
        np.testing.assert_array_equal(found.pop(key), plain.pop(key))
    assert found == plain


# --- what is no file -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["x", "x.safetensors"])
def test_only_regular_files(name, tmp_path):
    path = tmp_path / name
    os.mkfifo(path)
    with pytest.raises(ValueError, match="pipe"):
        paddle.load(path)
    path.unlink()
    path.mkdir()
    with pytest.raises(ValueError, match="a folder"):
        paddle.load(path)
    path.rmdir()
    path.symlink_to("/dev/zero")
    with pytest.raises(ValueError, match="a device"):
        paddle.load(path)


@pytest.mark.parametrize("name", ["x.pdparams", "x.safetensors"])
def test_what_a_killed_save_left_goes(name, tmp_path):
    code = (
        "import paddle, os, signal\n"
        "os.fsync = lambda fd: os.kill(os.getpid(), signal.SIGKILL)\n"
        f"paddle.save({{'w': paddle.ones([3])}}, {str(tmp_path / name)!r})"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == -9
    assert len(os.listdir(tmp_path)) == 1
    fd, at_work = partial_files.create(str(tmp_path), name)  # one of a save that is not over
    other = tmp_path / f".other{name}.0123456789ab.part"
    other.touch()
    paddle.save({"w": paddle.ones([3])}, tmp_path / name)
    assert sorted(os.listdir(tmp_path)) == sorted([name, os.path.basename(at_work), other.name])
    os.close(fd)


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
