"""Blocks of any layout and dtype through files of both formats, in bounded memory."""

import json
import os
import struct

import numpy as np
import pytest
from checkpoints import cut, infos_of, load, save, save_items, whole
from hypothesis import given
from hypothesis import strategies as st

from umiak.checkpoint import storage
from umiak.checkpoint.box import Box
from umiak.checkpoint.checksum import Checksum, checksum
from umiak.checkpoint.data_model import Block, TensorInfo
from umiak.checkpoint.dtypes import CODES, NAMES, numpy_dtype
from umiak.checkpoint.errors import CheckpointError
from umiak.checkpoint.formats import native, safetensors
from umiak.checkpoint.manifest import Manifest
from umiak.checkpoint.storage import Reader, write_file

FORMATS = ("native", "safetensors")


def values(rng, name, shape):
    most = 2 if name == "bool" else 16 if name.startswith("float8") else 100
    return np.asarray(rng.integers(1, most, shape)).astype(numpy_dtype(name))


def test_dtypes_are_the_engines():
    from umiak.core import dtype as dt

    ours = {d.name: d.numpy for d in dt.all_dtypes()}
    assert {name: numpy_dtype(name) for name in ours} == ours
    assert set(ours) < NAMES
    with pytest.raises(ValueError, match="'object'"):
        numpy_dtype("object")


@pytest.mark.parametrize("format", FORMATS)
def test_every_dtype(rng, tmp_path, format):
    names = NAMES if format == "native" else set(CODES)
    arrays = {name: values(rng, name, (3, 5)) for name in sorted(names)}
    arrays |= {"0-d": values(rng, "float32", ()), "empty": values(rng, "int8", (0, 4)), "rest": values(rng, "int8", 7)}
    manifest = save(tmp_path, arrays, format=format)
    assert {s.block.dtype for s in manifest.stored} == names
    for key, a in arrays.items():
        np.testing.assert_array_equal(load(tmp_path, manifest, key, verify=True), a)
    for s in manifest.stored:
        assert s.checksum == checksum(np.ascontiguousarray(arrays[s.block.key]).reshape(-1).view(np.uint8))


@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize("budget", [1, 3 * 4096, 64 << 20])
def test_strides_and_small_buffers(rng, tmp_path, format, budget):
    w = rng.standard_normal((40, 30, 17)).astype(np.float32)
    arrays = {"t": w.T, "s": w[::3, 1:, ::-2], "b": np.broadcast_to(w[:1], w.shape), "n": w[..., 0], "c": w}
    stored = write_file(tmp_path, "f", [whole(k, a) for k, a in arrays.items()], format=format, budget_bytes=budget)
    manifest = Manifest(0, 1, tuple(stored), infos_of(arrays))
    for key, a in arrays.items():
        np.testing.assert_array_equal(load(tmp_path, manifest, key, verify=True), a)
    assert os.listdir(tmp_path) == ["f"]


@pytest.mark.parametrize("format", FORMATS)
def test_parts_come_from_functions(rng, tmp_path, format):
    w = rng.standard_normal((9, 5)).astype(np.float32)
    block, _ = whole("w", w)
    stored = write_file(tmp_path, "f", [(block, lambda: iter([w[:2], w[2:3], w[3:]]))], format=format)
    assert stored[0].checksum == checksum(w)
    with pytest.raises(ValueError, match="180 bytes of 'w', got 40"):
        write_file(tmp_path, "g", [(block, lambda: [w[:2]])], format=format)
    with pytest.raises(ValueError, match=r"float32 \[9, 5\] for 'w', got float64"):
        write_file(tmp_path, "g", [(block, w.astype(float))], format=format)
    with pytest.raises(ValueError, match=r"got float32 \[5, 9\]"):
        write_file(tmp_path, "g", [(block, w.reshape(5, 9))], format=format)
    assert os.listdir(tmp_path) == ["f"]


def test_without_direct_writes(rng, tmp_path, monkeypatch):
    """File systems may refuse them when a file is opened, or later."""
    w = rng.standard_normal((300, 50))
    real = os.open, os.pwrite
    seen = []

    def refuse_open(path, flags, *rest, **named):
        if flags & os.O_DIRECT:
            seen.append("open")
            raise OSError(22, "Invalid argument")
        return real[0](path, flags, *rest, **named)

    def refuse_once(fd, data, at):
        if "write" not in seen and len(data) >= 4096:
            seen.append("write")
            raise OSError(22, "Invalid argument")
        return real[1](fd, data, at)

    for name, function in (("open", refuse_open), ("pwrite", refuse_once)):
        with monkeypatch.context() as patch:
            patch.setattr(os, name, function)
            manifest = save(tmp_path, {"w": w})
        np.testing.assert_array_equal(load(tmp_path, manifest, "w", verify=True), w)
    assert seen == ["open", "write"]


def test_short_writes_go_on(rng, tmp_path, monkeypatch):
    w = rng.standard_normal((300, 50))
    real = os.pwrite
    monkeypatch.setattr(
        os, "pwrite", lambda fd, data, at: real(fd, data[: max(4096, len(data) // 2 // 4096 * 4096)], at)
    )
    manifest = save(tmp_path, {"w": w})
    np.testing.assert_array_equal(load(tmp_path, manifest, "w", verify=True), w)


@st.composite
def boxes(draw):
    shape = tuple(draw(st.lists(st.integers(1, 6), max_size=4)))
    begin = [draw(st.integers(0, n - 1)) for n in shape]
    size = [draw(st.integers(1, n - b)) for n, b in zip(shape, begin)]
    return shape, Box(tuple(begin), tuple(size)), draw(st.booleans()), draw(st.sampled_from([0, 20, 1 << 16]))


@given(boxes())
def test_any_box(tmp_path_factory, case):
    shape, box, transposed, dense = case
    folder = tmp_path_factory.mktemp("boxes")
    w = np.arange(np.prod(shape, dtype=int), dtype=np.int32).reshape(shape)
    manifest = save(folder, {"w": w})
    out = np.zeros(box.shape[::-1], np.int32).T if transposed else np.zeros(box.shape, np.int32)
    kept = storage._DENSE, storage._LARGEST
    storage._DENSE, storage._LARGEST = dense, 64
    try:
        with Reader(folder, manifest) as reader:
            reader.read(manifest.stored[0], box, out)
    finally:
        storage._DENSE, storage._LARGEST = kept
    np.testing.assert_array_equal(out, w[box.slices])


@given(st.data())
def test_flattened_blocks(tmp_path_factory, data):
    shape = tuple(data.draw(st.lists(st.integers(1, 5), min_size=1, max_size=4)))
    w = np.arange(np.prod(shape, dtype=int), dtype=np.int16).reshape(shape)
    at = data.draw(st.integers(0, w.size))
    folder = tmp_path_factory.mktemp("flat")
    items = [c for r in ((0, at), (at, w.size)) for c in cut("w", w, Box.full(shape), flat=r)]
    for format in FORMATS:
        manifest = save_items(folder, [items], infos_of({"w": w}), format=format)
        np.testing.assert_array_equal(load(folder, manifest, "w"), w)
        with Reader(folder, manifest, verify=True) as reader:
            if at in (0, w.size):
                out = np.zeros_like(w)
                reader.read(manifest.stored[at == 0], Box.full(shape), out)
                np.testing.assert_array_equal(out, w)
            else:
                with pytest.raises(ValueError, match="a box within the block"):
                    reader.read(manifest.stored[0], Box.full(shape), np.zeros_like(w))


def test_wrong_destinations(rng, tmp_path):
    w = rng.standard_normal((4, 6))
    manifest = save(tmp_path, {"w": w})
    with Reader(tmp_path, manifest) as reader:
        for out in (np.zeros((4, 5)), np.zeros((4, 6), np.float32)):
            with pytest.raises(ValueError, match=r"out of float64 \[4, 6\] for 'w'"):
                reader.read(manifest.stored[0], Box.full((4, 6)), out)


def test_a_file_tells_by_itself_what_it_holds(rng, tmp_path):
    w = rng.standard_normal((4, 6)).astype(np.float32)
    halves = [Box((0, 0), (4, 3)), Box((0, 3), (4, 3))]
    for format in FORMATS:
        manifest = save_items(
            tmp_path, [cut("w", w, *halves) + cut("f", w, halves[0], flat=(3, 9))], INFOS, format=format
        )
        (file,) = manifest.files
        read = native.read_blocks if format == "native" else lambda *a: safetensors.read_blocks(*a)[0]
        found = read(str(tmp_path), file)
        assert [(s.block, s.begin) for s in found] == [(s.block, s.begin) for s in manifest.stored]


INFOS = infos_of({"w": np.zeros((4, 6), np.float32)}) | {"f": TensorInfo("f", (4, 6), "float32")}


@pytest.fixture(autouse=True)
def _parts_will_do(request, monkeypatch):
    """Tests of files need not hold whole tensors."""
    if "tells" in request.node.name:
        monkeypatch.setattr(Manifest, "check", lambda self, where: self)


def test_the_peer_reads_every_dtype(rng, tmp_path):
    import safetensors as peer
    import torch

    arrays = {name: values(rng, name, (3, 5)) for name in sorted(CODES)}
    write_file(tmp_path, "f", [whole(k, a) for k, a in arrays.items()], format="safetensors", metadata={"a": "b"})
    with peer.safe_open(tmp_path / "f", framework="pt") as f:
        assert f.metadata().keys() == {"a", safetensors.HEADER_SUM, safetensors.TENSOR_SUMS}
        assert sorted(f.keys()) == sorted(arrays)
        for key, a in arrays.items():
            if key == "float8_e8m0fnu":  # not all of its versions have it
                continue
            assert f.get_tensor(key).contiguous().view(torch.uint8).numpy().tobytes() == a.tobytes(), key


def test_files_of_the_peer(tmp_path):
    import safetensors.torch as peer
    import torch

    x = torch.arange(24).reshape(4, 6)
    kinds = "bool uint8 int8 int16 int32 int64 float16 bfloat16 float32 float64 complex64 float8_e4m3fn float8_e5m2"
    tensors = {kind: x.to(getattr(torch, kind)) for kind in [*kinds.split(), "uint32", "uint64"]}
    tensors |= {"0-d": torch.tensor(3.0), "empty": torch.zeros(0, 3)}
    peer.save_file(tensors, tmp_path / "model.safetensors")
    from umiak.checkpoint.commit import open_checkpoint

    manifest = open_checkpoint(tmp_path)
    for key, t in tensors.items():
        found = load(tmp_path, manifest, key)
        assert found.shape == tuple(t.shape)
        assert found.tobytes() == t.view(torch.uint8).numpy().tobytes() if t.ndim else found == 3.0


def test_uint16_is_bfloat16(tmp_path):
    """As Paddle writes it."""
    head = json.dumps({"x": {"dtype": "U16", "shape": [2], "data_offsets": [0, 4]}}).encode()
    (tmp_path / "a").write_bytes(struct.pack("<Q", len(head)) + head + b"\x80\x3f\x00\x40")
    (entry,), _ = safetensors.read_header(str(tmp_path / "a"))
    assert entry.dtype == "bfloat16"


def test_a_dtype_that_safetensors_lacks(tmp_path):
    with pytest.raises(TypeError, match=r"complex128 \(z\)"):
        write_file(tmp_path, "f", [whole("z", np.zeros(3, complex))], format="safetensors")
    with pytest.raises(ValueError, match="format of"):
        write_file(tmp_path, "f", [], format="pickle")
    assert os.listdir(tmp_path) == []


def test_many_files_of_few_open_at_once(rng, tmp_path, monkeypatch):
    monkeypatch.setattr(storage, "_OPEN", 2)
    w = rng.standard_normal((6, 4))
    rows = [cut("w", w, Box((i, 0), (1, 4))) for i in range(6)]
    manifest = save_items(tmp_path, rows, infos_of({"w": w}))
    with Reader(tmp_path, manifest) as reader:
        for _ in range(2):
            out = np.zeros_like(w)
            for s in manifest.stored:
                reader.read(s, s.block.box, out[s.block.box.slices])
            assert len(reader.files) == 2
            np.testing.assert_array_equal(out, w)


def test_checksums_name_their_algorithm(monkeypatch):
    from umiak.checkpoint import checksum as module

    assert checksum(b"abc") == "xxh3:06b05ab6733a618578af5f94892f3950"
    monkeypatch.setattr(module, "_algorithm", lambda name: module._blake2 if name == "blake2" else None)
    assert checksum(b"abc").startswith("blake2:")
    with pytest.raises(ModuleNotFoundError, match="xxhash"):
        Checksum("xxh3:0")


def test_reading_takes_little_memory(rng, tmp_path):
    """A column of a large tensor: what is read beside it stays small."""
    import tracemalloc

    w = rng.integers(0, 9, (4096, 4096)).astype(np.uint8)
    manifest = save(tmp_path, {"w": w})
    out = np.zeros((4096, 3), np.uint8)
    with Reader(tmp_path, manifest) as reader:
        tracemalloc.start()
        reader.read(manifest.stored[0], Box((0, 100), (4096, 3)), out)
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
    np.testing.assert_array_equal(out, w[:, 100:103])
    assert peak < 9 << 20


@pytest.mark.parametrize("flat", [None, (3, 190)])
@pytest.mark.parametrize("box", [((0, 0), (2, 20)), ((3, 0), (2, 20)), ((2, 5), (4, 6)), ((0, 0), (10, 20))])
def test_blocks_that_are_read_in_part_are_compared_as_wholes(rng, tmp_path, flat, box):
    """Wherever the damage is, also beside what is read; the rest is read at the end."""
    w = rng.standard_normal((10, 20))
    box = Box(*box)
    if flat is not None:  # within what the block has
        first = max(box.offset[0], 1)
        box = Box((first, box.offset[1]), (min(box.shape[0], 9 - first), box.shape[1]))
    stored = write_file(tmp_path, "f", cut("w", w, Box.full(w.shape), flat=flat))[0]
    manifest = Manifest(0, 1, (stored,), infos_of({"w": w}))
    data = (tmp_path / stored.file).read_bytes()

    def read(**options):
        out = np.zeros(box.shape)
        with Reader(tmp_path, manifest, **options) as reader:
            for _ in range(2):
                reader.read(stored, box, out)
        return out

    np.testing.assert_array_equal(read(), w[box.slices])
    for at in (0, stored.block.size * 4, stored.block.size * 8 - 1):
        changed = bytearray(data)
        changed[stored.begin + at] ^= 1
        (tmp_path / stored.file).write_bytes(changed)
        with pytest.raises(CheckpointError, match=f"requires the checksum .* in .*{stored.file}"):
            read()
        read(verify=False)


def test_rows_in_order_are_read_once(rng, tmp_path, monkeypatch):
    w = rng.standard_normal((12, 20))
    manifest = save(tmp_path, {"w": w})
    (stored,) = manifest.stored
    real, taken = os.preadv, []
    monkeypatch.setattr(os, "preadv", lambda fd, into, at: (taken.append(at), real(fd, into, at))[1])
    for order, times in ((range(0, 12, 3), 4), ((9, 6, 3, 0), 5)):  # the last one is compared with what is left
        taken.clear()
        with Reader(tmp_path, manifest) as reader:
            for i in order:
                reader.read(stored, Box((i, 0), (3, 20)), np.zeros((3, 20)))
        assert len(taken) == times


def test_a_block_past_its_file_is_refused(rng, tmp_path):
    w = rng.standard_normal((4, 6))
    manifest = save(tmp_path, {"w": w})
    (file,) = manifest.files
    os.truncate(tmp_path / file, 4100)
    with Reader(tmp_path, manifest) as reader, pytest.raises(CheckpointError, match=f"{file}.*|'w'"):
        reader.read(manifest.stored[0], Box((0, 0), (1, 1)), np.zeros((1, 1)))


def test_items_of_one_key_and_names(tmp_path):
    with pytest.raises(ValueError, match="plain name"):
        write_file(tmp_path, "../f", [])
    assert write_file(tmp_path, "f", []) == []
    assert native.read_blocks(str(tmp_path), "f") == []
    assert isinstance(Block("a", "int8", (), Box((), ())).size, int)
