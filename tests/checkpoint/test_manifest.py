"""Manifests go through their file unchanged, and nothing but what was written is taken for one."""

import hashlib
import json

import numpy as np
import pytest
from checkpoints import cut, infos_of

from umiak.checkpoint import manifest as mf
from umiak.checkpoint.box import Box
from umiak.checkpoint.data_model import Stored, TensorInfo
from umiak.checkpoint.errors import CheckpointError
from umiak.checkpoint.manifest import Manifest, decode, encode


@pytest.fixture
def manifest():
    w = np.zeros((4, 6), np.float32)
    blocks = [b for b, _ in cut("w", w, Box((0, 0), (4, 2)), Box((0, 2), (4, 4)))]
    blocks += [b for b, _ in cut("f", w, Box((0, 0), (4, 6)), flat=(0, 24))]
    blocks += [b for b, _ in cut("ü", np.zeros((), np.complex128), Box((), ()))]
    begins = [4096, 8192, 12288, 16384]
    stored = tuple(
        Stored(b, f"{i % 2}_3.distcp", n, f"xxh3:{i:032x}", 0) for i, (b, n) in enumerate(zip(blocks, begins))
    )
    infos = infos_of({"w": w, "f": w}) | {"ü": TensorInfo("ü", (), "complex128", (Box((), ()),))}
    sizes = {"0_3.distcp": 20000, "1_3.distcp": 20000}
    return Manifest(3, 2, stored, infos, {"a.b": ("a", "b")}, {"step": 7, "lr": 0.1, "x": [None]}, sizes)


def body_of(manifest):
    return json.loads(encode(manifest))["body"]


def signed(body):
    """The file of a body that lies, with the right checksum."""
    text = body if isinstance(body, bytes) else json.dumps(body).encode()
    return b'{"checksum":"%s","body":%s}\n' % (hashlib.blake2b(text, digest_size=16).hexdigest().encode(), text)


def test_round_trip(manifest):
    found = decode(encode(manifest), "m")
    assert found == manifest
    assert found.blocks("w") == tuple(s for s in manifest.stored if s.block.key == "w")
    assert found.blocks("none") == ()


def test_any_changed_bit_is_noticed(manifest, rng):
    text = encode(manifest)
    for at in rng.choice(len(text) - 1, 200, replace=False):
        changed = bytearray(text)
        changed[at] ^= 1 << rng.integers(8)
        with pytest.raises(CheckpointError):
            decode(bytes(changed), "m")


def test_any_cut_is_noticed(manifest, rng):
    text = encode(manifest)
    for n in rng.choice(len(text), 50, replace=False):
        with pytest.raises(CheckpointError, match="whole manifest"):
            decode(text[:n], "m")


LIES = {
    "another version": (lambda b: b.update(version=2), "version 1"),
    "another format": (lambda b: b.update(format="pickle"), "manifest of a checkpoint"),
    "a field more": (lambda b: b.update(code="x"), "the fields"),
    "a field less": (lambda b: b.pop("files"), "the fields"),
    "a negative uid": (lambda b: b.update(uid=-1), "uid"),
    "a true uid": (lambda b: b.update(uid=True), "uid"),
    "no ranks": (lambda b: b.update(world_size=0), "world_size"),
    "a file outside": (lambda b: b["files"][0].__setitem__(0, "../x"), "plain name"),
    "a hidden file": (lambda b: b["files"][0].__setitem__(0, ".x"), "plain name"),
    "a file twice": (lambda b: b["files"].append(b["files"][0]), "every file once"),
    "a file too short": (lambda b: b["files"][0].__setitem__(1, 5000), "within file '0_3.distcp'"),
    "another dtype": (lambda b: b["tensors"]["w"].update(dtype="object"), "a dtype of"),
    "another itemsize": (lambda b: b["tensors"]["w"].update(dtype="float64"), None),
    "a huge shape": (lambda b: b["tensors"]["w"].update(shape=[1 << 40, 1 << 40]), "2\\*\\*60"),
    "a negative size": (lambda b: b["tensors"]["w"].update(shape=[-4, 6]), "the shape of 'w'"),
    "too many axes": (lambda b: b["tensors"]["w"].update(shape=[1] * 33), "at most 32"),
    "another rank": (lambda b: b["tensors"]["w"].update(shape=[24]), "a box within"),
    "a smaller tensor": (lambda b: b["tensors"]["w"].update(shape=[4, 5]), "a box within"),
    "a larger tensor": (lambda b: b["tensors"]["w"].update(shape=[4, 7]), "all 28 elements of 'w'"),
    "no blocks": (lambda b: b["tensors"]["w"].update(blocks=[]), "all 24 elements of 'w'"),
    "no list of blocks": (lambda b: b["tensors"]["w"].update(blocks={}), "blocks as a list"),
    "a short block": (lambda b: b["tensors"]["w"]["blocks"][0].pop(), "a list of 7"),
    "a block of another file": (lambda b: b["tensors"]["w"]["blocks"][0].__setitem__(0, 9), "one of 2 files"),
    "a block before its file": (lambda b: b["tensors"]["w"]["blocks"][0].__setitem__(1, -4), "first byte"),
    "a range too long": (lambda b: b["tensors"]["f"]["blocks"][0].__setitem__(4, [0, 25]), "a range within"),
    "a range backwards": (lambda b: b["tensors"]["f"]["blocks"][0].__setitem__(4, [9, 3]), "a range within"),
    "a number as checksum": (lambda b: b["tensors"]["f"]["blocks"][0].__setitem__(5, 3), "a checksum"),
    "a short checksum": (lambda b: b["tensors"]["f"]["blocks"][0].__setitem__(5, "xxh3:0"), "a checksum"),
    "another algorithm": (lambda b: b["tensors"]["f"]["blocks"][0].__setitem__(5, "md5:" + "0" * 32), "a checksum"),
    "a dtype that is no text": (lambda b: b["tensors"]["f"].__setitem__("dtype", {}), "a dtype of"),
    "a key that is too long": (lambda b: b["tensors"].update({"k" * 5000: b["tensors"].pop("w")}), "the key"),
    "a path of numbers": (lambda b: b["flat_mapping"].update(x=[3]), "a key as a string"),
}


@pytest.mark.parametrize("name", LIES)
def test_lies_with_the_right_checksum(manifest, name):
    change, message = LIES[name]
    body = body_of(manifest)
    change(body)
    if message is None:  # not a lie by itself: the file is large enough
        assert decode(signed(body), "m").infos["w"].dtype == "float64"
        return
    with pytest.raises(CheckpointError, match=message):
        decode(signed(body), "m")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (b"[" * 100_000, "depth"),
        (b"[]", "an object"),
        (b'{"a":1,"a":2}', "twice"),
        (b'{"a":NaN}', "NaN"),
        (b"\xff{}", "JSON"),
        (b'{"a":' + b"9" * 5000 + b"}", "JSON"),
    ],
)
def test_other_texts(text, message):
    with pytest.raises(CheckpointError, match=message):
        decode(signed(text), "m")


def test_too_large_a_file_is_not_read(tmp_path, monkeypatch):
    monkeypatch.setattr(mf, "LONGEST", 10)
    (tmp_path / "m").write_bytes(b"x" * 11)
    with pytest.raises(CheckpointError, match="at most 10 bytes"):
        mf.read_manifest(str(tmp_path / "m"))
