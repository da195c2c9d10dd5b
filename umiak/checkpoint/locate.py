"""Locating a checkpoint: which one the ranks mean, and which of its files each of them can open."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from umiak.checkpoint import commit
from umiak.checkpoint.errors import CheckpointError
from umiak.checkpoint.formats import hf
from umiak.checkpoint.manifest import Manifest, manifest_name, read_manifest
from umiak.comm import Group
from umiak.util.errors import op_error


@dataclass(frozen=True)
class Located:
    """A checkpoint. On rank ``root`` the manifest is whole; elsewhere it has the sizes of the files alone.

    ``readable``: the files that this rank can open; None where every rank can open all.
    """

    manifest: Manifest
    root: int
    readable: frozenset[str] | None


def files_of(folder: str) -> dict[str, int]:
    """The files of a folder and their sizes; none where there is no folder."""
    try:
        with os.scandir(folder) as entries:
            return {e.name: e.stat().st_size for e in entries if e.is_file() and not e.name.startswith(".")}
    except (FileNotFoundError, NotADirectoryError):
        return {}


def locate(folder: str, uid: int | None, group: Group) -> Located:
    """The checkpoint of a folder that may be another one on every rank; all ranks of the group call it.

    Args:
        uid: the number of the checkpoint, by default that of the newest complete one.

    Raises:
        CheckpointError: no such checkpoint, none that is complete, or a damaged one: on every rank.
    """
    if group.size == 1:
        return Located(commit.open_checkpoint(folder, uid), 0, None)
    own_files = files_of(folder)
    digests = group.gather_objects(hashlib.blake2b(repr(sorted(own_files.items())).encode()).digest())
    if len(set(digests)) == 1:
        return Located(_shared(group, 0, lambda: commit.open_checkpoint(folder, uid)), 0, None)
    files: list[dict[str, int]] = group.gather_objects(own_files)
    root, number = _holder(files, uid)
    if root is None:
        manifest = _loose(folder, group, files)
        root = 0
    else:
        manifest = _shared(group, root, lambda: _checked(folder, number, files))
    readable = frozenset(name for name, size in manifest.files.items() if own_files.get(name) == size)
    return Located(manifest, root, readable)


def _shared(group: Group, root: int, make: Any) -> Manifest:
    """The manifest that rank ``root`` makes; without its tensors elsewhere. Its error on every rank."""
    result: Any = None
    if group.rank == root:
        try:
            result = make()
        except Exception as error:  # raised on every rank
            result = error
    light = replace(result, stored=(), infos={}, flat_mapping={}, extra={}) if isinstance(result, Manifest) else result
    outcome = group.broadcast_object(light, root)
    if isinstance(outcome, Exception):
        raise outcome
    return result if group.rank == root else outcome


def _holder(files: Sequence[dict[str, int]], uid: int | None) -> tuple[int | None, int]:
    """The lowest rank with the manifest, and the number of the checkpoint."""
    suffix = manifest_name(0)[1:]
    numbers = {
        int(name[: -len(suffix)]) for own in files for name in own if name.endswith(suffix) and name[0].isdigit()
    }
    if uid is None and not numbers:
        return None, 0
    number = max(numbers) if uid is None else uid
    for rank, own in enumerate(files):
        if manifest_name(number) in own:
            return rank, number
    got = f"none on any rank; there are the checkpoints {sorted(numbers)}"
    raise op_error(CheckpointError, "checkpoint", f"{manifest_name(number)}", got)


def _checked(folder: str, number: int, files: Sequence[dict[str, int]]) -> Manifest:
    """A manifest whose files are all somewhere."""
    manifest = read_manifest(os.path.join(folder, manifest_name(number)))
    for name, size in manifest.files.items():
        names = sorted({own[name] for own in files if name in own})
        if size not in names:
            got = f"{names} bytes" if names else "no such file on any rank"
            raise op_error(CheckpointError, "checkpoint", f"file {name!r} of checkpoint {number}, {size} bytes", got)
    return manifest


def _loose(folder: str, group: Group, files: Sequence[dict[str, int]]) -> Manifest:
    """The safetensors files of all folders together: each is described by the lowest rank that has it."""
    first: dict[str, int] = {}
    for rank, own in enumerate(files):
        for name in own:
            if name.endswith(".safetensors"):
                first.setdefault(name, rank)
    hf.check_sets(first, folder)
    own_files = sorted(name for name, rank in first.items() if rank == group.rank)
    try:
        opened: Any = hf.open_files(folder, own_files)
    except Exception as error:  # raised on every rank
        opened = error
    outcomes = group.gather_objects(opened)
    for part in outcomes:
        if isinstance(part, Exception):
            raise part
    if not first:
        got = "no manifest and no safetensors file on any rank"
        raise op_error(CheckpointError, "checkpoint", f"a checkpoint in {folder}", got)
    stored = tuple(s for part in outcomes for s in part.stored)
    infos = {key: info for part in outcomes for key, info in part.infos.items()}
    if len(infos) < len(stored):
        raise op_error(CheckpointError, "checkpoint", f"every tensor once in {folder}", "one in two files")
    sizes = {name: n for part in outcomes for name, n in part.files.items()}
    return Manifest(0, 1, stored, infos, files=sizes).check(folder)
