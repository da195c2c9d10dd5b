"""Commit protocol of checkpoints in a folder: data first, then the manifest, which appears by one rename.

A folder holds any number of checkpoints, told apart by their ``uid``:

| ``<rank>_<uid>.distcp`` or ``.safetensors`` | the blocks of one rank |
| ``<uid>.metadata.json`` | the manifest; a checkpoint is there from the moment its manifest is |
| ``<uid>.claim`` | the saver at work: who it is; locked as long as it lives |
| ``<rank>_<uid>.prepared.json`` | a rank that saves in the background is ready; see ``rendezvous.py`` |
| ``.<name>.<random>.part`` | a file that is being written |

A saver owns its uid by making the claim file, which fails where there is one. The system drops the lock on it with the
saver, however that ends; a claim that nobody has locked is a dead saver's, and what it left is removed by the next one.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import re
import socket
import time
import uuid
import warnings
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from umiak.checkpoint import strict_json as sj
from umiak.checkpoint.data_model import Block, Stored, TensorInfo
from umiak.checkpoint.errors import CheckpointError, NoSuchCheckpoint
from umiak.checkpoint.formats import hf
from umiak.checkpoint.formats.safetensors import PARTS
from umiak.checkpoint.manifest import Manifest, encode, manifest_name, read_held_manifest, read_manifest
from umiak.checkpoint.read_lock import lock_for_removal
from umiak.checkpoint.storage import Source, sync_folder, write_file
from umiak.util.errors import op_error

SUFFIX = {"native": "distcp", "safetensors": "safetensors"}
_DATA = re.compile(r"(\d+)_(\d+)\.(?:distcp|safetensors)")
_PREPARED = re.compile(r"(\d+)_(\d+)\.prepared\.json")
_MANIFEST = re.compile(r"(\d+)\.metadata\.json")
_CLAIM = re.compile(r"(\d+)\.claim")
_PART = re.compile(r"\.(\d+_)?(\d+)\.[\w.]+\.part")


class Saving:
    """One rank's part in saving a checkpoint: ``begin``, ``write``, ``prepare`` on every rank, then ``commit`` on one.

    Leaving it as a context without a commit, by an error, aborts it.
    """

    def __init__(self, folder: str, uid: int, rank: int, world: int, claim: str, lock: int | None) -> None:
        self.folder = folder
        self.uid = uid
        self.rank = rank
        self.world = world
        self.claim = claim
        self.lock = lock
        self.stored: list[Stored] = []
        self.committed = False

    @classmethod
    def begin(
        cls,
        folder: str | os.PathLike[str],
        uid: int | None = None,
        rank: int = 0,
        world: int = 1,
        claim: str | None = None,
    ) -> Saving:
        """Take part in saving checkpoint ``uid``.

        The coordinator calls this without ``claim`` and thereby reserves the uid: the given one, or the next free one.
        It passes ``uid`` and ``claim`` of the result on to the other ranks, which call this with both.

        Raises:
            FileExistsError: the given uid is saved already, or is being saved by somebody else.
        """
        folder = os.path.abspath(os.fspath(folder))
        if not 0 <= rank < world:
            raise op_error(ValueError, "Saving.begin", "0 <= rank < world", f"rank {rank} of {world}")
        os.makedirs(folder, exist_ok=True)
        if claim is not None:
            if uid is None:
                raise op_error(ValueError, "Saving.begin", "the coordinator's uid with its claim", "none")
            return cls(folder, uid, rank, world, claim, None)
        free = uid is None
        if free:
            sweep(folder)
        number = next_uid(folder) if uid is None else sj.integer(uid, "uid", "Saving.begin")
        while True:
            try:
                return cls(folder, number, rank, world, *_reserve(folder, number))
            except FileExistsError:
                if not free:
                    raise
                number = max(number + 1, next_uid(folder))

    def __enter__(self) -> Saving:
        return self

    def __exit__(self, kind: Any, *_: Any) -> None:
        if kind is not None and not self.committed:
            self.abort()
        self._release()

    def file(self, format: str = "native") -> str:
        """The name of this rank's file."""
        if format not in SUFFIX:
            raise op_error(ValueError, "save", f"format of {sorted(SUFFIX)}", repr(format))
        return f"{self.rank}_{self.uid}.{SUFFIX[format]}"

    def write(self, items: Iterable[tuple[Block, Source]], *, format: str = "native", **options: Any) -> list[Stored]:
        """Write this rank's blocks into its file; see :func:`umiak.checkpoint.storage.write_file`."""
        if format == "safetensors":
            options["metadata"] = {PARTS: "{}", **(options.get("metadata") or {})}
        self.stored += write_file(self.folder, self.file(format), items, format=format, **options)
        return self.stored

    def prepare(self) -> list[Stored]:
        """First phase: what this rank wrote is on disk, also by name. Returns its blocks, for the coordinator.

        Raises:
            FileExistsError: another saver took the uid over, since it found this one's coordinator dead.
        """
        sync_folder(self.folder)
        with contextlib.suppress(FileNotFoundError), open(claim_path(self.folder, self.uid)) as f:
            if self.claim not in f.read():
                raise op_error(FileExistsError, "save", f"the claim of uid {self.uid} in {self.folder}", "another's")
        return self.stored

    def commit(
        self,
        stored: Sequence[Sequence[Stored]],
        infos: Mapping[str, TensorInfo],
        flat_mapping: Mapping[str, tuple[str, ...]] | None = None,
        extra: Mapping[str, Any] | None = None,
        files: Mapping[str, int] | None = None,
    ) -> Manifest:
        """Second phase, on the coordinator: the checkpoint is there when this returns, and survives a loss of power.

        Args:
            stored: what ``prepare`` returned on every rank, one list per rank.
            files: the sizes of the ranks' files; looked up by default, which takes a folder that all of them share.

        Raises:
            CheckpointError: a rank's blocks or files are missing, or elements of a tensor are stored nowhere.
            FileExistsError: somebody else has saved this uid meanwhile.
        """
        where = os.path.join(self.folder, manifest_name(self.uid))
        if len(stored) != self.world:
            raise sj.fail(where, f"the blocks of all {self.world} ranks", f"those of {len(stored)}")
        rows = tuple(s for part in stored for s in part)
        sizes = dict(files or {})
        for name in dict.fromkeys(s.file for s in rows) if files is None else ():
            try:
                sizes[name] = os.stat(os.path.join(self.folder, name)).st_size
            except FileNotFoundError:
                key = next(s.block.key for s in rows if s.file == name)
                raise sj.fail(where, f"file {name!r} with {key!r} in the same folder", "none") from None
        if self.lock is not None and not _holds(self.folder, self.uid, self.lock):
            raise op_error(FileExistsError, "save", f"the claim of uid {self.uid} in {self.folder}", "another's")
        manifest = Manifest(
            self.uid, self.world, rows, dict(infos), dict(flat_mapping or {}), dict(extra or {}), sizes
        ).check(where)
        part = os.path.join(self.folder, f".{manifest_name(self.uid)}.{uuid.uuid4().hex[:12]}.part")
        try:
            with open(part, "xb") as f:
                f.write(encode(manifest))
                f.flush()
                os.fsync(f.fileno())
            sync_folder(self.folder)
            _rename_new(part, where)
            self.committed = True  # there for all to see: whatever fails from now on, its files stay
        finally:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(part)
        sync_folder(self.folder)
        self._release()
        return manifest

    def abort(self) -> None:
        """Remove what this rank wrote, and the claim where this is the coordinator. A committed checkpoint stays."""
        if self.committed or (self.lock is None and is_committed(self.folder, self.uid)):
            return
        for s in dict.fromkeys(s.file for s in self.stored):
            with contextlib.suppress(FileNotFoundError):
                os.unlink(os.path.join(self.folder, s))
        self.stored = []
        self._release()

    def _release(self) -> None:
        if self.lock is None:
            return
        if _holds(self.folder, self.uid, self.lock):
            os.unlink(claim_path(self.folder, self.uid))
        os.close(self.lock)
        self.lock = None


def claim_path(folder: str, uid: int) -> str:
    return os.path.join(folder, f"{uid}.claim")


def is_committed(folder: str, uid: int) -> bool:
    return os.path.exists(os.path.join(folder, manifest_name(uid)))


def _holds(folder: str, uid: int, lock: int) -> bool:
    """Return whether the claim that lies there is the locked one."""
    try:
        there, ours = os.stat(claim_path(folder, uid)), os.fstat(lock)
    except FileNotFoundError:
        return False
    return (there.st_dev, there.st_ino) == (ours.st_dev, ours.st_ino)


def _rename_new(source: str, target: str) -> None:
    """Rename, unless the target is there."""
    try:
        os.link(source, target)
    except FileExistsError:
        raise
    except OSError:  # a file system without links: the claim alone keeps others away
        if os.path.exists(target):
            raise op_error(FileExistsError, "save", f"no {target}", "one") from None
        os.rename(source, target)


def _lock_claim(folder: str, uid: int) -> int:
    """The claim's descriptor, locked; the claim is empty where there was none."""
    until = time.monotonic() + 1
    while True:
        fd = os.open(claim_path(folder, uid), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            owner = os.pread(fd, 200, 0).decode(errors="replace")
            os.close(fd)
            if not owner and time.monotonic() < until:  # it is just being made, or swept
                time.sleep(0.001)
                continue
            got = f"a claim by {owner or 'somebody'}"
            hint = "Wait for it, or choose another unique_id"
            raise op_error(FileExistsError, "save", f"uid {uid} of {folder} free", got, hint) from None
        if _holds(folder, uid, fd):
            return fd
        os.close(fd)  # it was removed between opening and locking


def _reserve(folder: str, uid: int) -> tuple[str, int]:
    """The claim of a uid and its lock; what a dead saver left under it is removed."""
    path = claim_path(folder, uid)
    if is_committed(folder, uid):
        hint = "Choose another unique_id, or remove that checkpoint"
        raise op_error(FileExistsError, "save", f"a uid that is not saved in {folder} yet", str(uid), hint)
    fd = _lock_claim(folder, uid)
    try:
        return _take(folder, uid, fd), fd
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(path)
        os.close(fd)
        raise


def _take(folder: str, uid: int, fd: int) -> str:
    """Make a locked claim this process's."""
    if is_committed(folder, uid):  # between looking and locking
        raise op_error(FileExistsError, "save", f"a uid that is not saved in {folder} yet", str(uid))
    if os.fstat(fd).st_size:
        _remove(folder, uid)
    elif uid in _uids(folder, _DATA):
        got = f"files of {uid} that no save of ours left"
        raise op_error(FileExistsError, "save", f"uid {uid} of {folder} free", got, "Choose another unique_id")
    claim = uuid.uuid4().hex
    saver = {"host": socket.gethostname(), "pid": os.getpid(), "since": time.strftime("%F %T"), "claim": claim}
    os.ftruncate(fd, 0)
    os.pwrite(fd, json.dumps(saver).encode(), 0)
    return claim


def _remove(folder: str, uid: int, *patterns: re.Pattern[str]) -> None:
    """Remove what lies there of a uid: by default all, for one without a manifest."""
    for name in os.listdir(folder):
        for pattern in patterns or (_DATA, _PREPARED, _PART):
            match = pattern.fullmatch(name)
            if match and int(match[2]) == uid:
                with contextlib.suppress(FileNotFoundError):
                    os.unlink(os.path.join(folder, name))


def sweep(folder: str | os.PathLike[str]) -> list[int]:
    """Remove what savers that died have left. Savers at work and checkpoints are not touched. Returns their uids."""
    folder = os.fspath(folder)
    swept = []
    for uid in _uids(folder, _CLAIM):
        with contextlib.suppress(FileExistsError, FileNotFoundError):
            lock = _lock_claim(folder, uid)
            try:
                if os.fstat(lock).st_size and not is_committed(folder, uid):
                    _remove(folder, uid)
                    swept.append(uid)
                os.unlink(claim_path(folder, uid))
            finally:
                os.close(lock)
    for uid in _uids(folder, _PREPARED, _PART):
        if is_committed(folder, uid):
            _remove(folder, uid, _PREPARED, _PART)
    return swept


def _uids(folder: str, *patterns: re.Pattern[str]) -> list[int]:
    try:
        names = os.listdir(folder)
    except FileNotFoundError:
        return []
    return sorted({int(m[m.lastindex or 0]) for p in patterns for name in names if (m := p.fullmatch(name))})


def manifest_uids(folder: str | os.PathLike[str]) -> list[int]:
    """The uids of all manifests, good or bad, ascending."""
    return _uids(os.fspath(folder), _MANIFEST)


def next_uid(folder: str | os.PathLike[str]) -> int:
    """One more than the largest uid of a file in the folder: 0 for an empty one."""
    return max(_uids(os.fspath(folder), _MANIFEST, _DATA, _CLAIM), default=-1) + 1


def problem(folder: str, manifest: Manifest) -> str | None:
    """Return what is wrong with the sizes of a checkpoint's files; None where nothing is."""
    for name, size in manifest.files.items():
        path = os.path.join(folder, name)
        try:
            actual = os.stat(path).st_size
        except FileNotFoundError:
            actual = None
        if actual != size:
            keys = sorted({s.block.key for s in manifest.stored if s.file == name})
            held = f"{len(keys)} tensors: {', '.join(map(repr, keys[:3]))}{'…' if len(keys) > 3 else ''}"
            return f"{path} ({held}) {'is missing' if actual is None else f'has {actual} bytes of {size}'}"
    return None


def load_manifest(folder: str, uid: int, *, held: bool = False) -> Manifest:
    """The manifest of ``uid``, whose files are all there with their sizes. ``held``: for as long as the result lives.

    Raises:
        NoSuchCheckpoint: there is no such manifest, or it is being removed.
        CheckpointError: a damaged manifest, another uid's, or files that are missing or cut off.
    """
    path = os.path.join(folder, manifest_name(uid))
    try:
        manifest = read_held_manifest(path) if held else read_manifest(path)
    except FileNotFoundError:
        there = manifest_uids(folder)
        raise op_error(NoSuchCheckpoint, "checkpoint", path, f"a folder with the checkpoints {there}") from None
    if manifest.uid != uid:
        raise sj.fail(path, f"the manifest of checkpoint {uid}", f"that of {manifest.uid}")
    wrong = problem(folder, manifest)
    if wrong:
        raise op_error(CheckpointError, "checkpoint", f"the files of checkpoint {uid} whole", wrong)
    return manifest


def complete(folder: str | os.PathLike[str]) -> list[int]:
    """The uids of checkpoints whose manifest is valid and whose files are all there in full length, ascending."""
    return [manifest.uid for manifest in _complete(os.fspath(folder))]


def _complete(folder: str) -> list[Manifest]:
    manifests = []
    for uid in manifest_uids(folder):
        with contextlib.suppress(CheckpointError, OSError):
            manifests.append(load_manifest(folder, uid))
    return manifests


def newest(folder: str | os.PathLike[str]) -> int | None:
    """The largest uid of a complete checkpoint; None where there is none."""
    manifest, _ = _newest(os.fspath(folder))
    return None if manifest is None else manifest.uid


def _newest(folder: str, *, held: bool = False) -> tuple[Manifest | None, list[str]]:
    """The newest complete checkpoint, and what is wrong with those that are newer.

    One that is gone was removed for a newer one, which the list of before may lack: the folder is listed again, as long
    as it changes. One that is being removed still has its name, and is not damaged.
    """
    before: list[int] | None = None
    wrong: list[str] = []
    while (uids := manifest_uids(folder)) != before:
        before, wrong = uids, []
        for uid in reversed(uids):
            try:
                return load_manifest(folder, uid, held=held), wrong
            except (CheckpointError, OSError) as error:
                there = os.path.lexists(os.path.join(folder, manifest_name(uid)))
                if there and not isinstance(error, NoSuchCheckpoint):
                    wrong.append(str(error))
                elif manifest_uids(folder) != uids:
                    break
    return None, wrong


def keep_last(folder: str | os.PathLike[str], n: int) -> list[int]:
    """Remove all checkpoints older than the newest ``n`` complete ones, and what dead savers left. Returns their uids.

    Manifests go first, so that no checkpoint is ever there in part. One that is being read stays until the next time.
    """
    if n < 1:
        raise op_error(ValueError, "keep_last", "n >= 1", n)
    folder = os.fspath(folder)
    sweep(folder)
    kept = _complete(folder)[-n:]
    old = [uid for uid in manifest_uids(folder) if len(kept) == n and uid < kept[0].uid]
    used = {name for manifest in kept for name in manifest.files}
    removed = []
    for uid in old:
        names = []
        with contextlib.suppress(CheckpointError, OSError):
            names = list(read_manifest(os.path.join(folder, manifest_name(uid))).files)
        try:
            lock = _lock_claim(folder, uid)  # dying in the middle of this leaves what the next sweep removes
        except FileExistsError:  # somebody else is removing it
            continue
        path = os.path.join(folder, manifest_name(uid))
        try:
            taken = lock_for_removal(path)
            if taken is not None:
                os.pwrite(lock, b"removing", 0)
                os.unlink(path)
                sync_folder(folder)
                for name in names:
                    if name not in used:
                        with contextlib.suppress(FileNotFoundError):
                            os.unlink(os.path.join(folder, name))
                _remove(folder, uid)
                removed.append(uid)
        except (CheckpointError, FileNotFoundError):  # no file has the name of its manifest
            pass
        finally:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(claim_path(folder, uid))
            os.close(lock)
    return removed


def open_checkpoint(folder: str | os.PathLike[str], uid: int | None = None) -> Manifest:
    """The manifest of a checkpoint: of ``uid``, or of the newest complete one.

    As long as the manifest lives, :func:`keep_last` leaves the checkpoint where it is. A folder of safetensors files
    without a manifest, such as those of Hugging Face, is opened by its index file or by the headers of all of its
    files; nothing is written.

    Raises:
        CheckpointError: no such checkpoint, none that is complete, or one that is damaged; the message says how.
    """
    folder = os.fspath(folder)
    if not os.path.isdir(folder):
        raise op_error(CheckpointError, "checkpoint", "a folder", f"{folder}, which is none")
    if uid is not None:
        return load_manifest(folder, uid, held=True)
    manifest, wrong = _newest(folder, held=True)
    if manifest is not None:
        if wrong:
            text = f"opening checkpoint {manifest.uid} of {folder}, since newer ones are damaged: {wrong}"
            warnings.warn(text, stacklevel=2)
        return manifest
    if wrong:
        got = f"{len(wrong)} damaged in {folder}: {'; '.join(wrong[:3])}"
        raise op_error(CheckpointError, "checkpoint", "a complete checkpoint", got)
    return hf.open_folder(folder)
