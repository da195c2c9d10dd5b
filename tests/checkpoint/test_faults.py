"""Faults: whatever happens, nothing is lost that was committed, and every case is a clear error or a recovery.

Each fault is injected a few times in the usual run, and as often as docs/design/checkpoint.md says by the slow one,
which prints the counts.
"""

import contextlib
import errno
import json
import os
import random
import resource
import shlex
import shutil
import struct
import subprocess
import threading
import time
import tracemalloc
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from checkpoints import cut, infos_of, load, save, save_items, whole
from safetensors.numpy import save_file

from umiak.checkpoint import commit, storage
from umiak.checkpoint.async_save import bare_python
from umiak.checkpoint.box import Box
from umiak.checkpoint.commit import Saving, complete, keep_last, manifest_uids, newest, open_checkpoint, sweep
from umiak.checkpoint.errors import CheckpointError
from umiak.checkpoint.formats.safetensors import read_header
from umiak.checkpoint.read_lock import lock_for_removal
from umiak.checkpoint.recovery import resume
from umiak.checkpoint.safetensors import load_safetensors
from umiak.checkpoint.storage import Reader, write_file
from umiak.checkpoint.verify import verify
from umiak.core.array import to_numpy

SUPPORT = str(Path(__file__).parents[1] / "support")


def saver(folder, rank=0, world=1, format="native"):
    """A process that saves checkpoint after checkpoint."""
    code = SAVER.format(support=SUPPORT, folder=str(folder), rank=rank, world=world, format=format)
    return subprocess.Popen(bare_python(code), stdout=subprocess.PIPE, text=True)


# Saves checkpoint after checkpoint, and says what is committed.
SAVER = """
import json, os, sys, time
sys.path.insert(0, {support!r})
import numpy as np
from checkpoints import cut, infos_of
from umiak.checkpoint import rendezvous
from umiak.checkpoint.box import Box
from umiak.checkpoint.commit import Saving, keep_last

folder, rank, world = {folder!r}, {rank}, {world}
rows = 64 // world
infos = infos_of(dict(w=np.empty((64, 1500)), f=np.empty((64, 1500), np.float32)))
seen = set()


def invitation():
    # Rank 1 learns of a save from the claim.
    while True:
        for name in os.listdir(folder):
            if name.endswith(".claim"):
                try:
                    with open(os.path.join(folder, name)) as f:
                        claim = json.load(f)["claim"]
                except (OSError, ValueError):
                    continue
                if claim not in seen:
                    seen.add(claim)
                    return int(name.split(".")[0]), claim
        time.sleep(0.001)


print("ready", flush=True)
while True:
    if rank == 0:
        saving = Saving.begin(folder, rank=0, world=world)
    else:
        uid, claim = invitation()
        saving = Saving.begin(folder, uid, rank, world, claim)
    with saving:
        box = Box((rank * rows, 0), (rows, 1500))
        w = np.full((64, 1500), saving.uid, np.float64)
        f = np.full((64, 1500), -saving.uid, np.float32)
        saving.write(cut("w", w, box) + cut("f", f, box, flat=(0, rows * 1500)), format={format!r})
        saving.prepare()
        rendezvous.finish(saving, infos, timeout=30)
    if rank == 0:
        print(saving.uid, flush=True)
        keep_last(folder, 3)
"""


def holds(folder, uid):
    """Whether a checkpoint has the values that its saver gave it."""
    manifest = open_checkpoint(folder, uid)
    w, f = (load(folder, manifest, key, verify=True) for key in "wf")
    return (w == uid).all() and (f == -uid).all()


def kill_one(folder, chance, world, format):
    """Savers, one of which is killed at some moment. Returns the last uid that was reported as saved."""
    ranks = [saver(folder, r, world, format) for r in range(world)]
    try:
        for process in ranks:
            assert process.stdout.readline() == "ready\n"
        time.sleep(chance.uniform(0, 0.15))
        victim = chance.choice(ranks)
        victim.kill()
        victim.wait()
        for process in ranks:  # the others find out, or are ended with the job
            process.kill()
        return [int(line) for line in ranks[0].stdout.read().split()]
    finally:
        for process in ranks:
            process.kill()
            process.wait()
            process.stdout.close()


def killed(tmp_path, times, seed, world=1, format="native"):
    chance = random.Random(seed)
    counts = Counter()
    last = None
    for _ in range(times):
        reported = kill_one(tmp_path, chance, world, format)
        assert reported == sorted(reported)
        last = max([last if last is not None else -1, *reported])
        counts["killed"] += 1
        counts["saved before"] += len(reported)
        there = complete(tmp_path)
        assert there == manifest_uids(tmp_path), "whatever has a manifest is whole"
        assert last == -1 or newest(tmp_path) >= last, "nothing is lost that was reported as saved"
        assert all(holds(tmp_path, uid) for uid in there)
        counts["leftovers"] += any(not n.endswith((".json", ".distcp", ".safetensors")) for n in os.listdir(tmp_path))
        sweep(tmp_path)
        files = {f for uid in there for f in (f"{uid}.metadata.json", *open_checkpoint(tmp_path, uid).files)}
        assert set(os.listdir(tmp_path)) == files, "and what the dead left is removed"
    return counts


@pytest.mark.parametrize("world", [1, 2])
def test_kill_9(tmp_path, seed, world):
    assert killed(tmp_path, 3, seed, world)["killed"] == 3


@pytest.mark.slow
@pytest.mark.parametrize(("world", "format"), [(1, "native"), (1, "safetensors"), (2, "native")])
def test_kill_9_at_50_moments(tmp_path, seed, world, format, capsys):
    counts = killed(tmp_path, 50, seed, world, format)
    assert counts["leftovers"] > 5, "most kills came in the middle of a save"
    with capsys.disabled():
        print(f"\nkill -9 of one of {world} rank(s), {format}: {dict(counts)}")


# A full disk.


@pytest.mark.parametrize("format", ["native", "safetensors"])
@pytest.mark.parametrize("room", [0, 5000, 100_000, 2_000_000])
def test_a_file_that_cannot_grow(rng, tmp_path, format, room):
    w = rng.standard_normal((500, 700))
    save(tmp_path, {"w": w})
    kept = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (room, kept[1]))
    try:
        with pytest.raises(OSError) as caught:
            save(tmp_path, {"w": w + 1}, format=format)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, kept)
    assert caught.value.errno == errno.EFBIG and (room == 0 or "0_1." in str(caught.value))
    assert complete(tmp_path) == [0] and sorted(os.listdir(tmp_path)) == ["0.metadata.json", "0_0.distcp"]
    np.testing.assert_array_equal(load(tmp_path, open_checkpoint(tmp_path), "w", verify=True), w)


@pytest.mark.parametrize("call", ["pwrite", "fsync", "ftruncate", "rename", "link"])
def test_a_full_disk_at_every_step(rng, tmp_path, monkeypatch, call):
    """The n-th call fails, for all n until a save goes through."""
    w = rng.standard_normal((500, 700))
    save(tmp_path, {"w": w})
    real = getattr(os, call)
    left = 0

    def fail(*args, **named):
        nonlocal left
        left -= 1
        if left < 0:
            raise OSError(errno.ENOSPC, "No space left on device")
        return real(*args, **named)

    for n in range(20):
        left = n
        with monkeypatch.context() as patch, contextlib.suppress(OSError):
            patch.setattr(os, call, fail)
            save(tmp_path, {"w": w + 1})
            break
        there = complete(tmp_path)
        if len(there) == 2:  # only the last flush of the folder failed: the new one is there, and whole
            break
        assert there == [0]
        assert verify(tmp_path).ok
        assert sorted(os.listdir(tmp_path)) == ["0.metadata.json", "0_0.distcp"]
    assert n > 0 or call == "link"
    np.testing.assert_array_equal(load(tmp_path, open_checkpoint(tmp_path, 0), "w", verify=True), w)


@pytest.mark.slow
def test_a_small_file_system(rng, tmp_path):
    """A real one, where the system lets us have it."""
    code = (
        f"import sys; sys.path.insert(0, {SUPPORT!r})\n"
        "import numpy as np, os\nfrom checkpoints import save\nfrom umiak.checkpoint.commit import complete\n"
        f"d = {str(tmp_path)!r}\nw = np.ones(150_000)\nsave(d, dict(w=w)); save(d, dict(w=w))\n"
        "try:\n    save(d, dict(w=w))\nexcept OSError as e:\n    print(e.errno, complete(d), len(os.listdir(d)))\n"
    )
    script = f"mount -t tmpfs -o size=3m tmpfs {tmp_path} && exec {shlex.join(bare_python(code))}"
    done = subprocess.run(["unshare", "-rm", "sh", "-c", script], capture_output=True, text=True, timeout=120)
    if "unshare" in done.stderr or "mount" in done.stderr:
        pytest.skip("no mount in a name space of our own")
    assert done.stdout.split(maxsplit=1) == [str(errno.ENOSPC), "[0, 1] 4\n"], done.stderr


# Damaged, missing and mistaken files.


@pytest.fixture
def three(rng, tmp_path):
    """Three checkpoints of two ranks each."""
    w = rng.standard_normal((64, 50)).astype(np.float32)
    for i in range(3):
        halves = [cut("w", w + i, Box((0, 0), (32, 50))), cut("w", w + i, Box((32, 0), (32, 50)))]
        save_items(tmp_path, halves, infos_of({"w": w}))
    return tmp_path, w


def read_all(folder, uid):
    manifest = open_checkpoint(folder, uid)
    return load(folder, manifest, "w")


@pytest.mark.parametrize("times", [20, pytest.param(200, marks=pytest.mark.slow)])
def test_truncated_files(three, rng, times):
    folder, w = three
    path = folder / "1_2.distcp"
    data = path.read_bytes()
    for n in rng.choice(len(data), times, replace=False):
        path.write_bytes(data[:n])
        with pytest.raises(CheckpointError, match=r"1_2.distcp.*'w'.* has \d+ bytes of"):
            open_checkpoint(folder, 2)
        assert resume(folder) == 1
        report = verify(folder)
        assert {f.state for f in report.bad} == {"truncated"} and report.count("ok") >= 1
    with pytest.warns(UserWarning, match="1_2.distcp"):
        assert open_checkpoint(folder).uid == 1
    np.testing.assert_array_equal(read_all(folder, 1), w + 1)


@pytest.mark.parametrize("times", [20, pytest.param(200, marks=pytest.mark.slow)])
def test_flipped_bits(three, rng, times):
    folder, w = three
    manifest = open_checkpoint(folder, 2)
    stored = next(s for s in manifest.stored if s.file == "1_2.distcp")
    path = folder / stored.file
    data = path.read_bytes()
    for at in rng.choice(stored.block.size * 4, times, replace=False):
        changed = bytearray(data)
        changed[stored.begin + at] ^= 1 << rng.integers(8)
        path.write_bytes(changed)
        with pytest.raises(CheckpointError, match=r"checksum xxh3:.* for 'w' at \[32, 0\] in .*1_2.distcp"):
            read_all(folder, 2)
        assert [(f.file, f.key, f.state) for f in verify(folder).bad] == [("1_2.distcp", "w", "corrupted")]
        assert resume(folder, check=True) == 1
    np.testing.assert_array_equal(read_all(folder, 1), w + 1)


@pytest.mark.parametrize("name", ["0_2.distcp", "1_2.distcp"])
def test_a_missing_file(three, name):
    folder, w = three
    os.unlink(folder / name)
    with pytest.raises(CheckpointError, match=f"{name}.*'w'.* is missing"):
        open_checkpoint(folder, 2)
    assert complete(folder) == [0, 1] and resume(folder) == 1
    assert {(f.file, f.state) for f in verify(folder).bad} == {(name, "missing")}
    np.testing.assert_array_equal(read_all(folder, 1), w + 1)


def test_a_file_that_goes_while_it_is_read(three):
    folder, _ = three
    manifest = open_checkpoint(folder)
    out = np.zeros((32, 50), np.float32)
    with Reader(folder, manifest, verify=False) as reader:
        os.unlink(folder / "1_2.distcp")
        stored = next(s for s in manifest.stored if s.file == "1_2.distcp")
        with pytest.raises(CheckpointError, match=r"a file with 'w', got none in .*1_2.distcp"):
            reader.read(stored, stored.block.box, out)
        stored = next(s for s in manifest.stored if s.file == "0_2.distcp")
        reader.read(stored, Box((0, 0), (1, 50)), out[:1])
        os.truncate(folder / "0_2.distcp", stored.begin)
        with pytest.raises(CheckpointError, match="the end of the file"):
            reader.read(stored, stored.block.box, out)


def test_a_stale_manifest(three):
    """It names the files of another save, of the same sizes: the checksums tell."""
    folder, w = three
    shutil.copy(folder / "0_0.distcp", folder / "0_2.distcp")
    with pytest.raises(CheckpointError, match=r"checksum .* for 'w' at \[0, 0\] in .*0_2.distcp"):
        read_all(folder, 2)
    assert not verify(folder, 2).ok and resume(folder, check=True) == 1
    np.testing.assert_array_equal(read_all(folder, 1), w + 1)
    shutil.copy(folder / "0.metadata.json", folder / "5.metadata.json")
    with pytest.raises(CheckpointError, match="manifest of checkpoint 5, got that of 0"):
        open_checkpoint(folder, 5)


def test_a_damaged_manifest(three, rng):
    folder, w = three
    path = folder / "2.metadata.json"
    data = path.read_bytes()
    for at in rng.choice(len(data) - 1, 20, replace=False):
        path.write_bytes(data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :])
        assert newest(folder) == 1
        report = verify(folder)
        assert [(f.file, f.state) for f in report.bad] == [("2.metadata.json", "corrupted")]
    np.testing.assert_array_equal(read_all(folder, 1), w + 1)


@pytest.mark.parametrize("kind", ["folder", "pipe", "device", "EIO"])
def test_a_newest_manifest_that_cannot_be_read(three, kind, monkeypatch):
    folder, w = three
    path = folder / "2.metadata.json"
    if kind == "EIO":
        real = os.pread
        inode = path.stat().st_ino

        def pread(fd, n, at):
            if os.fstat(fd).st_ino == inode:
                raise OSError(errno.EIO, "Input/output error")
            return real(fd, n, at)

        monkeypatch.setattr(os, "pread", pread)
    else:
        path.unlink()
        {"folder": os.mkdir, "pipe": os.mkfifo, "device": lambda p: os.symlink("/dev/zero", p)}[kind](path)
    with pytest.warns(UserWarning, match="newer ones are damaged"):
        manifest = open_checkpoint(folder)
    assert manifest.uid == 1 and newest(folder) == 1 and complete(folder) == [0, 1]
    said = []
    assert resume(folder, report=said.append) == 1 and len(said) == 1
    assert [(f.file, f.state) for f in verify(folder).bad] == [("2.metadata.json", "corrupted")]
    np.testing.assert_array_equal(load(folder, manifest, "w"), w + 1)
    del manifest
    assert keep_last(folder, 1) == [0]


def test_what_is_read_is_not_removed(three):
    folder, w = three
    manifest = open_checkpoint(folder, 0)
    assert keep_last(folder, 1) == [1]
    np.testing.assert_array_equal(load(folder, manifest, "w"), w)
    del manifest
    assert keep_last(folder, 1) == [0]
    assert sorted(os.listdir(folder)) == ["0_2.distcp", "1_2.distcp", "2.metadata.json"]


def test_reading_beside_cleaning(tmp_path):
    """Whatever is the newest when a reader looks stays until it has read it."""
    stop = threading.Event()
    failures = []

    def read():
        while not stop.is_set():
            try:
                manifest = open_checkpoint(tmp_path)
                assert (load(tmp_path, manifest, "w") == manifest.uid).all()
            except Exception as error:
                failures.append(error)
            finally:
                manifest = None

    save(tmp_path, {"w": np.zeros(5)})
    readers = [threading.Thread(target=read) for _ in range(2)]
    for thread in readers:
        thread.start()
    for uid in range(1, 13):
        save(tmp_path, {"w": np.full(5, float(uid))})
        keep_last(tmp_path, 1)
    stop.set()
    for thread in readers:
        thread.join()
    assert failures == []
    keep_last(tmp_path, 1)
    assert sorted(os.listdir(tmp_path)) == ["0_12.distcp", "12.metadata.json"]


def test_what_is_being_removed_is_not_damaged(tmp_path, monkeypatch):
    """A reader that listed the folder before a newer checkpoint came opens the newer one, without a warning."""
    save(tmp_path, {"w": np.zeros(5)})
    save(tmp_path, {"w": np.ones(5)})
    removing = lock_for_removal(tmp_path / "1.metadata.json")
    assert open_checkpoint(tmp_path).uid == 0  # nothing newer is complete
    listed = []

    def list_and_save(folder):
        uids = manifest_uids(folder)
        if not listed:
            save(tmp_path, {"w": np.full(5, 2.0)})
        listed.append(uids)
        return uids

    monkeypatch.setattr(commit, "manifest_uids", list_and_save)
    assert open_checkpoint(tmp_path).uid == 2
    assert listed[0] == [0, 1] and listed[-1] == [0, 1, 2]
    del removing


# Several savers.


def test_two_savers_in_one_directory(tmp_path):
    """Two jobs save and clean up at once: each gets its own numbers, and what stays is whole."""
    script = SAVER.replace("keep_last(folder, 3)", "saving.uid >= 12 and sys.exit()")
    code = script.format(support=SUPPORT, folder=str(tmp_path), rank=0, world=1, format="native")
    jobs = [subprocess.Popen(bare_python(code), stdout=subprocess.PIPE, text=True) for _ in range(2)]
    uids = [[int(u) for u in p.communicate(timeout=120)[0].split()[1:]] for p in jobs]
    assert all(p.returncode == 0 for p in jobs)
    assert not set(uids[0]) & set(uids[1])
    assert complete(tmp_path) == sorted(uids[0] + uids[1])
    assert all(holds(tmp_path, uid) for uid in complete(tmp_path))
    assert len(keep_last(tmp_path, 2)) == len(uids[0] + uids[1]) - 2


def test_the_wrong_world_size(rng, tmp_path):
    """Blocks of fewer or more ranks than the save has are no checkpoint."""
    w = rng.standard_normal((4, 6))
    saving = Saving.begin(tmp_path, world=2)
    saving.write([whole("w", w)])
    for rows in ([saving.stored], [saving.stored] * 3):
        with pytest.raises(CheckpointError, match=f"the blocks of all 2 ranks, got those of {len(rows)}"):
            saving.commit(rows, infos_of({"w": w}))
    saving.abort()
    assert os.listdir(tmp_path) == []


# Hostile safetensors files.


def entry(dtype="F32", shape=(1,), offsets=(0, 4)):
    return {"dtype": dtype, "shape": list(shape), "data_offsets": list(offsets)}


HOSTILE = {
    "empty": b"",
    "too short for a length": b"\0" * 7,
    "a length of 2**62": struct.pack("<Q", 1 << 62) + b"{}",
    "a length past the end": struct.pack("<Q", 3) + b"{}",
    "a length above the limit": (struct.pack("<Q", 100_000_001) + b"{}", 100_000_100),
    "a list": struct.pack("<Q", 2) + b"[]",
    "no JSON": struct.pack("<Q", 5) + b"{nope",
    "no UTF-8": struct.pack("<Q", 4) + b'{"\xff"',
    "deep": b'{"x":' * 50_000 + b"1" + b"}" * 50_000,
    "a key twice": b'{"x":%s,"x":%s}' % ((json.dumps(entry()).encode(),) * 2),
    "a field twice": b'{"x":{"dtype":"F32","dtype":"F32","shape":[1],"data_offsets":[0,4]}}',
    "a field more": {"x": entry() | {"code": "x"}},
    "a field less": {"x": {"dtype": "F32", "shape": [1]}},
    "no entry": {"x": 3},
    "bytes past the end": {"x": entry(offsets=(0, 8), shape=(2,))},
    "bytes before the beginning": {"x": entry(offsets=(-4, 0))},
    "an end before the beginning": {"x": entry(offsets=(4, 0))},
    "three offsets": {"x": entry(offsets=(0, 2, 4))},
    "offsets of another kind": {"x": entry(offsets=(0.0, 4.0))},
    "a huge shape": {"x": entry(shape=(1 << 62, 1 << 62))},
    "a shape that overflows to 4 bytes": {"x": entry(shape=(1 << 32, (1 << 32) + 1))},
    "a negative size": {"x": entry(shape=(-1,))},
    "two negative sizes": {"x": entry(shape=(-1, -1))},
    "a true size": {"x": entry(shape=(True,))},
    "many axes": {"x": entry(shape=(1,) * 100_000)},
    "a shape of other bytes": {"x": entry(shape=(2,))},
    "overlapping": {"x": entry(), "y": entry()},
    "partly overlapping": {"x": entry("U8", (3,), (0, 3)), "y": entry("U8", (3,), (1, 4))},
    "a gap": {"x": entry("U8", (1,), (0, 1)), "y": entry("U8", (2,), (2, 4))},
    "a gap at the beginning": {"x": entry("U8", (3,), (1, 4))},
    "bytes that are nobody's": {"x": entry("U8", (3,), (0, 3))},
    "another dtype": {"x": entry(dtype="NOPE")},
    "a dtype that is none": {"x": entry(dtype=3)},
    "metadata of numbers": {"__metadata__": {"a": 3}, "x": entry()},
    "metadata that is a list": {"__metadata__": [], "x": entry()},
    "parts of nothing": {"__metadata__": {"umiak": "[]"}, "x": entry()},
    "a part of another shape": {"__metadata__": {"umiak": '{"x":["w",[9],[0],[2],null]}'}, "x": entry()},
    "a part past its tensor": {"__metadata__": {"umiak": '{"x":["w",[9],[9],[1],null]}'}, "x": entry()},
    "a part that is no list": {"__metadata__": {"umiak": '{"x":3}'}, "x": entry()},
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_safetensors(name, tmp_path):
    """A clear error that names the file, and little memory on the way."""
    blob, size = HOSTILE[name], None
    if isinstance(blob, tuple):
        blob, size = blob
    if isinstance(blob, dict):
        blob = json.dumps(blob).encode()
    if blob[:1] == b"{":
        blob = struct.pack("<Q", len(blob)) + blob + b"\0" * 4
    path = tmp_path / "a.safetensors"
    path.write_bytes(blob)
    if size is not None:
        os.truncate(path, size)  # a hole: it takes no room
    tracemalloc.start()
    try:
        with pytest.raises(CheckpointError, match=r"a\.safetensors"):
            open_checkpoint(tmp_path)
        if not name.startswith(("a part", "parts")):
            with pytest.raises(CheckpointError, match=r"a\.safetensors"):
                read_header(str(path))
        assert tracemalloc.get_traced_memory()[1] < 30 * len(blob) + (1 << 20)
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("times", [100, pytest.param(3000, marks=pytest.mark.slow)])
def test_changed_headers(rng, tmp_path, times):
    """Any change of any byte of a header is an error, or gives tensors that lie in a file without checksums."""
    path = tmp_path / "a.safetensors"
    arrays = {"x": rng.integers(0, 9, (3, 4)), "y": rng.standard_normal(5).astype(np.float32)}
    save_file(arrays, path)
    data = path.read_bytes()
    end = 8 + int.from_bytes(data[:8], "little")
    refused = 0
    for _ in range(times):
        changed = bytearray(data)
        changed[rng.integers(end)] = rng.integers(256)
        path.write_bytes(changed)
        try:
            for e in read_header(str(path))[0]:
                assert end <= e.begin <= e.end <= len(data)
        except CheckpointError:
            refused += 1
    assert times / 2 < refused < times


def test_changed_files_of_ours(rng, tmp_path):
    """Any change of any byte of a file with checksums is an error."""
    path = tmp_path / "a.safetensors"
    arrays = {"x": rng.integers(0, 9, (3, 4)), "y": rng.standard_normal(5).astype(np.float32), "e": np.zeros((0, 2))}
    write_file(tmp_path, path.name, [whole(k, a) for k, a in arrays.items()], format="safetensors")
    data = path.read_bytes()
    assert {k: to_numpy(t).tolist() for k, t in load_safetensors(path)[0].items()} == {
        k: a.tolist() for k, a in arrays.items()
    }
    for at in range(len(data)):
        path.write_bytes(data[:at] + bytes([data[at] ^ 1 << rng.integers(8)]) + data[at + 1 :])
        with pytest.raises(CheckpointError, match=r"a\.safetensors"):
            load_safetensors(path)


def test_hostile_native_files(rng, tmp_path):
    """Any change of the index or the first page is an error."""
    w = rng.standard_normal((3, 4))
    write_file(tmp_path, "f", [whole("w", w)])
    data = (tmp_path / "f").read_bytes()
    index = int.from_bytes(data[8:16], "little")
    for at in [*range(40), *range(index, len(data))]:
        (tmp_path / "f").write_bytes(data[:at] + bytes([data[at] ^ 4]) + data[at + 1 :])
        with pytest.raises(CheckpointError, match="/f"):
            storage.native.read_blocks(str(tmp_path), "f")
    for n in range(0, len(data), 97):
        (tmp_path / "f").write_bytes(data[:n])
        with pytest.raises(CheckpointError, match="/f"):
            storage.native.read_blocks(str(tmp_path), "f")
