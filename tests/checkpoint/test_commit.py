"""Checkpoints of a folder: which there are, who may save one, what stays of one that was not finished."""

import json
import os
import shutil
import warnings

import numpy as np
import pytest
from checkpoints import cut, infos_of, load, save, save_items, whole

from umiak.checkpoint import commit
from umiak.checkpoint.box import Box
from umiak.checkpoint.commit import Saving, complete, keep_last, newest, next_uid, open_checkpoint, sweep
from umiak.checkpoint.convert import convert
from umiak.checkpoint.errors import CheckpointError
from umiak.checkpoint.manifest import manifest_name
from umiak.checkpoint.recovery import resume


def names(folder):
    return sorted(os.listdir(folder))


@pytest.fixture
def w(rng):
    return rng.standard_normal((4, 6)).astype(np.float32)


def test_one_after_the_other(w, tmp_path):
    folder = tmp_path / "deep" / "er"
    assert newest(folder) is None and complete(folder) == [] and next_uid(folder) == 0
    for i in range(3):
        assert save(folder, {"w": w + i}).uid == i
    assert complete(folder) == [0, 1, 2] and newest(folder) == 2 and next_uid(folder) == 3
    assert names(folder) == sorted(f for i in range(3) for f in (f"0_{i}.distcp", f"{i}.metadata.json"))
    for i in range(3):
        np.testing.assert_array_equal(load(folder, open_checkpoint(folder, i), "w"), w + i)
    assert open_checkpoint(folder).uid == 2


def test_ranks_commit_together(w, tmp_path):
    halves = [cut("w", w, Box((0, 0), (2, 6))), cut("w", w, Box((2, 0), (2, 6)))]
    manifest = save_items(tmp_path, halves, infos_of({"w": w}), format="safetensors")
    assert manifest.world_size == 2 and names(tmp_path) == ["0.metadata.json", "0_0.safetensors", "1_0.safetensors"]
    assert open_checkpoint(tmp_path) == manifest
    np.testing.assert_array_equal(load(tmp_path, manifest, "w", verify=True), w)


def test_nothing_is_there_before_the_commit(w, tmp_path):
    saving = Saving.begin(tmp_path, rank=0, world=2)
    other = Saving.begin(tmp_path, saving.uid, 1, 2, saving.claim)
    saving.write(cut("w", w, Box((0, 0), (2, 6))))
    other.write(cut("w", w, Box((2, 0), (2, 6))))
    assert newest(tmp_path) is None
    with pytest.raises(CheckpointError, match="no manifest"):
        open_checkpoint(tmp_path)
    rows = [saving.prepare(), other.prepare()]
    with pytest.raises(CheckpointError, match="the blocks of all 2 ranks, got those of 1"):
        saving.commit(rows[:1], infos_of({"w": w}))
    with pytest.raises(CheckpointError, match="all 24 elements of 'w', got blocks with 12"):
        saving.commit([rows[0], []], infos_of({"w": w}))
    with pytest.raises(CheckpointError, match="a tensor for every block, got a block of 'w'"):
        saving.commit(rows, {})
    with pytest.raises(CheckpointError, match="dtype and shape of their tensor 'w'"):
        saving.commit(rows, infos_of({"w": w.astype(float)}))
    os.rename(tmp_path / "1_0.distcp", tmp_path / "away")
    with pytest.raises(CheckpointError, match=r"file '1_0.distcp' with 'w' in the same folder, got none"):
        saving.commit(rows, infos_of({"w": w}))
    os.rename(tmp_path / "away", tmp_path / "1_0.distcp")
    assert newest(tmp_path) is None
    saving.commit(rows, infos_of({"w": w}))
    assert newest(tmp_path) == 0
    saving.abort()
    other.abort()  # too late
    assert newest(tmp_path) == 0


def test_an_error_leaves_nothing(w, tmp_path):
    with pytest.raises(ZeroDivisionError), Saving.begin(tmp_path) as saving:
        saving.write([whole("w", w)])
        assert names(tmp_path) == ["0.claim", "0_0.distcp"]
        raise ZeroDivisionError
    assert names(tmp_path) == []
    assert save(tmp_path, {"w": w}).uid == 0


def test_two_savers(w, tmp_path):
    one, two = Saving.begin(tmp_path), Saving.begin(tmp_path)
    assert (one.uid, two.uid) == (0, 1)
    with pytest.raises(FileExistsError, match=f'a claim by .*"pid": {os.getpid()}'):
        Saving.begin(tmp_path, 0)
    for saving, value in ((two, w + 1), (one, w)):
        saving.write([whole("w", value)])
        saving.commit([saving.prepare()], infos_of({"w": w}))
    for uid in (0, 1):
        np.testing.assert_array_equal(load(tmp_path, open_checkpoint(tmp_path, uid), "w"), w + uid)
    with pytest.raises(FileExistsError, match=r"not saved in .* yet, got 1"):
        Saving.begin(tmp_path, 1)


def test_a_uid_of_foreign_files_is_not_taken(w, tmp_path):
    (tmp_path / "0_4.distcp").write_bytes(b"not ours")
    with pytest.raises(FileExistsError, match="files of 4 that no save of ours left"):
        Saving.begin(tmp_path, 4)
    assert save(tmp_path, {"w": w}).uid == 5
    assert (tmp_path / "0_4.distcp").read_bytes() == b"not ours"
    assert "4.claim" not in names(tmp_path)


def leave(folder, uid, w):
    """What a saver leaves that died before its commit."""
    saving = Saving.begin(folder, uid)
    saving.write([whole("w", w)])
    (folder / f".0_{uid}.distcp.abc.part").write_bytes(b"half")
    os.close(saving.lock)
    saving.lock = None


def test_a_dead_saver_s_uid_is_taken_over(w, tmp_path):
    leave(tmp_path, 3, w)
    assert next_uid(tmp_path) == 4
    assert save(tmp_path, {"v": w}, uid=3).uid == 3
    assert names(tmp_path) == ["0_3.distcp", "3.metadata.json"]


def test_sweeping(w, tmp_path):
    save(tmp_path, {"w": w})
    leave(tmp_path, 1, w)
    alive = Saving.begin(tmp_path, 2)
    alive.write([whole("w", w)])
    (tmp_path / "0.claim").write_text("died after its commit")
    assert sweep(tmp_path) == [1]
    assert names(tmp_path) == ["0.metadata.json", "0_0.distcp", "0_2.distcp", "2.claim"]
    alive.commit([alive.prepare()], infos_of({"w": w}))
    leave(tmp_path, 3, w)
    assert save(tmp_path, {"w": w}).uid == 3, "saving sweeps, too"


def test_a_zombie_rank_does_not_prepare(w, tmp_path):
    """Its coordinator died, and somebody else has taken the uid."""
    first = Saving.begin(tmp_path, rank=0, world=2)
    zombie = Saving.begin(tmp_path, first.uid, 1, 2, first.claim)
    os.close(first.lock)
    again = Saving.begin(tmp_path, 0, world=2)
    with pytest.raises(FileExistsError, match="the claim of uid 0"):
        zombie.prepare()
    again.abort()


def test_keep_last(w, tmp_path):
    for i in range(5):
        save(tmp_path, {"w": w + i})
    os.truncate(tmp_path / "0_3.distcp", 10)
    assert keep_last(tmp_path, 9) == []
    assert keep_last(tmp_path, 2) == [0, 1], "a damaged one does not count as kept"
    assert complete(tmp_path) == [2, 4]
    assert keep_last(tmp_path, 1) == [2, 3]
    assert names(tmp_path) == ["0_4.distcp", "4.metadata.json"]
    with pytest.raises(ValueError, match="n >= 1"):
        keep_last(tmp_path, 0)


def damage_manifest(folder, uid):
    path = folder / manifest_name(uid)
    path.write_bytes(path.read_bytes()[:-9])


def test_falls_back_to_the_newest_complete_one(w, tmp_path):
    for i in range(4):
        save(tmp_path, {"w": w + i})
    os.unlink(tmp_path / "0_3.distcp")
    damage_manifest(tmp_path, 2)
    assert complete(tmp_path) == [0, 1] and newest(tmp_path) == 1 == resume(tmp_path)
    with pytest.warns(UserWarning, match=r"opening checkpoint 1 .* newer ones are damaged.*0_3.distcp.*'w'.*missing"):
        assert open_checkpoint(tmp_path).uid == 1
    with pytest.raises(CheckpointError, match=r"0_3.distcp \(1 tensors: 'w'\) is missing"):
        open_checkpoint(tmp_path, 3)
    with pytest.raises(CheckpointError, match=r"2.metadata.json"):
        open_checkpoint(tmp_path, 2)
    with pytest.raises(CheckpointError, match=r"7.metadata.json, got a folder with the checkpoints \[0, 1, 2, 3\]"):
        open_checkpoint(tmp_path, 7)
    for i in (0, 1):
        os.truncate(tmp_path / f"0_{i}.distcp", 100)
    with pytest.raises(CheckpointError, match="a complete checkpoint, got 4 damaged"):
        open_checkpoint(tmp_path)
    assert resume(tmp_path) is None


def test_resuming_checks_bytes_where_asked(w, tmp_path):
    for i in range(2):
        save(tmp_path, {"w": w + i})
    data = bytearray((tmp_path / "0_1.distcp").read_bytes())
    data[4096] ^= 1
    (tmp_path / "0_1.distcp").write_bytes(data)
    said = []
    assert resume(tmp_path) == 1
    assert resume(tmp_path, check=True, report=said.append) == 0
    assert "0_1.distcp: 'w' is corrupted" in said[0]
    assert resume(tmp_path / "none", check=True) is None


def test_the_wrong_manifest(w, tmp_path):
    save(tmp_path, {"w": w})
    os.rename(tmp_path / "0.metadata.json", tmp_path / "1.metadata.json")
    with pytest.raises(CheckpointError, match="the manifest of checkpoint 1, got that of 0"):
        open_checkpoint(tmp_path, 1)


def test_hugging_face_folders(rng, tmp_path):
    arrays = {f"l.{i}": rng.standard_normal((5, 7)).astype(np.float32) for i in range(4)}
    source = save(tmp_path / "ours", arrays)
    folder = tmp_path / "hf"
    files = convert(str(tmp_path / "ours"), source, folder, max_shard_size=300)
    assert files[:2] == ["model-00001-of-00002.safetensors", "model-00002-of-00002.safetensors"]
    index = json.loads((folder / "model.safetensors.index.json").read_text())
    assert index == {
        "metadata": {"total_size": 560},
        "weight_map": {"l.0": files[0], "l.1": files[0], "l.2": files[1], "l.3": files[1]},
    }
    os.chmod(folder, 0o555)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        manifest = open_checkpoint(folder)
    os.chmod(folder, 0o755)
    for key, a in arrays.items():
        np.testing.assert_array_equal(load(folder, manifest, key), a)
    (folder / "model.safetensors.index.json").rename(tmp_path / "index")
    assert open_checkpoint(folder).infos == manifest.infos, "by the headers of all files"
    (tmp_path / "index").rename(folder / "model.safetensors.index.json")
    (folder / files[1]).rename(folder / "x.safetensors")
    with pytest.raises(CheckpointError, match=f"{files[1]} .* 2 tensors in it, 'l.2' among them"):
        open_checkpoint(folder)
    here = dict.fromkeys(["l.2", "l.3"], "x.safetensors")
    for wrong, message in (
        ({**here, "q": "x.safetensors"}, r"'q' in .*x.safetensors, got no such tensor"),
        ({"l.2": "x.safetensors"}, r"no 'l.3' in .*x.safetensors, got it, which .*index.json has not"),
        (
            {"l.2": files[0], "l.0": files[0], "l.1": files[0]},
            r"2 files model-…-of-00002 in .*hf, got 1: 00001",
        ),
    ):
        (folder / "model.safetensors.index.json").write_text(json.dumps({"weight_map": wrong}))
        with pytest.raises(CheckpointError, match=message):
            open_checkpoint(folder)
    (folder / "model.safetensors.index.json").write_text(json.dumps({"weight_map": {"q": "/etc/passwd"}}))
    with pytest.raises(CheckpointError, match="the plain name of a file"):
        open_checkpoint(folder)
    (folder / "model.safetensors.index.json").unlink()
    with pytest.raises(CheckpointError, match=r"2 files model-…-of-00002 .* may not have finished"):
        open_checkpoint(folder)
    (folder / files[0]).unlink()
    (folder / "y.safetensors").write_bytes((folder / "x.safetensors").read_bytes())
    with pytest.raises(CheckpointError, match=r"tensor 'l.2' once .*, got it in x.safetensors and y.safetensors"):
        open_checkpoint(folder)


def test_an_export_that_was_killed(rng, tmp_path, monkeypatch):
    """At any of its renames: what is there is refused, or the whole of one export."""
    arrays = {f"l.{i}": rng.standard_normal((5, 7)).astype(np.float32) for i in range(3)}
    source = save(tmp_path / "ours", arrays)
    folder = tmp_path / "hf"
    real = os.rename

    def die_at(n):
        def rename(a, b):
            nonlocal n
            if os.path.dirname(b) == str(folder):  # into place
                if n == 0:
                    raise KeyboardInterrupt
                n -= 1
            real(a, b)

        return rename

    monkeypatch.setattr(shutil, "rmtree", lambda *args, **named: None)  # the dead clean nothing up
    for n in range(4):
        with monkeypatch.context() as patch:
            patch.setattr(os, "rename", die_at(n))
            with pytest.raises(KeyboardInterrupt):
                convert(str(tmp_path / "ours"), source, folder, max_shard_size=150)
        if n < 3:
            with pytest.raises(CheckpointError, match=r"no safetensors file|3 files model-…-of-00003"):
                open_checkpoint(folder)
        else:
            assert set(open_checkpoint(folder).infos) == set(arrays)  # all but the index
        for path in folder.glob("*.safetensors"):
            path.unlink()
    monkeypatch.undo()
    assert len(os.listdir(folder)) == 4
    files = convert(str(tmp_path / "ours"), source, folder, max_shard_size=150)
    assert sorted(os.listdir(folder)) == sorted(files)
    convert(str(tmp_path / "ours"), source, tmp_path / "other", max_shard_size=150)
    (tmp_path / "other" / files[1]).rename(folder / files[1])
    with pytest.raises(CheckpointError, match=r"files of one export in .*hf, got model-00001.* of two"):
        open_checkpoint(folder)


def test_an_unfinished_save_is_no_folder_of_safetensors(w, tmp_path):
    saving = Saving.begin(tmp_path)
    saving.write([whole("w", w)], format="safetensors")
    with pytest.raises(CheckpointError, match="The save did not finish"):
        open_checkpoint(tmp_path)
    saving.commit([saving.prepare()], infos_of({"w": w}))
    assert open_checkpoint(tmp_path).uid == 0


def test_a_folder_that_is_none(tmp_path):
    with pytest.raises(CheckpointError, match="which is none"):
        open_checkpoint(tmp_path / "x")
    with pytest.raises(ValueError, match="0 <= rank < world"):
        Saving.begin(tmp_path, rank=2, world=2)


def test_a_file_system_without_links(w, tmp_path, monkeypatch):
    def refuse(*args, **named):
        raise OSError(1, "Operation not permitted")

    monkeypatch.setattr(commit.os, "link", refuse)
    assert save(tmp_path, {"w": w}).uid == 0 and newest(tmp_path) == 0
    saving = Saving.begin(tmp_path)
    saving.write([whole("w", w)])
    (tmp_path / "1.metadata.json").write_text("somebody else's")
    with pytest.raises(FileExistsError):
        saving.commit([saving.prepare()], infos_of({"w": w}))
    assert (tmp_path / "1.metadata.json").read_text() == "somebody else's"
