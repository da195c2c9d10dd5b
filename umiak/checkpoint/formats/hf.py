"""Folders of safetensors files as Hugging Face has them: whole tensors, and an index of which file holds which."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from typing import Any

from umiak.checkpoint import strict_json as sj
from umiak.checkpoint.data_model import Stored, TensorInfo
from umiak.checkpoint.errors import CheckpointError
from umiak.checkpoint.files import read_whole
from umiak.checkpoint.formats import safetensors
from umiak.checkpoint.manifest import Manifest, file_name
from umiak.util.errors import op_error

INDEX = ".safetensors.index.json"
LONGEST_INDEX = 256 << 20
EXPORT = "umiak.export"  # in the metadata: of which export a file is
_SHARD = re.compile(r"(.+)-(\d{5})-of-(\d{5})\.safetensors")


def shard_name(number: int, count: int, prefix: str = "model") -> str:
    """The name of file ``number`` of ``count``, from 1."""
    return f"{prefix}-{number:05d}-of-{count:05d}.safetensors"


def index_text(total_size: int, weight_map: dict[str, str]) -> bytes:
    """The index file of these tensors."""
    body: dict[str, Any] = {"metadata": {"total_size": total_size}, "weight_map": dict(sorted(weight_map.items()))}
    return sj.json.dumps(body, indent=2).encode() + b"\n"


def read_index(path: str) -> dict[str, str]:
    """Read an index file: the name of each tensor's file."""
    body = sj.parse(read_whole(path, LONGEST_INDEX, "an index"), path)
    table = body.get("weight_map") if isinstance(body, dict) else None
    if not isinstance(table, dict):
        raise sj.fail(path, "an object 'weight_map'", body)
    return {key: file_name(name, path) for key, name in table.items()}


def check_sets(names: Iterable[str], where: str) -> None:
    """Refuse files ``-0000k-of-0000N`` that are not all there: the one who wrote them did not finish."""
    sets: dict[tuple[str, str], set[str]] = {}
    for name in names:
        if match := _SHARD.fullmatch(name):
            sets.setdefault((match[1], match[3]), set()).add(match[2])
    for (prefix, count), numbers in sets.items():
        if numbers != {f"{i:05d}" for i in range(1, int(count) + 1)}:
            got = f"{len(numbers)}: {', '.join(sorted(numbers)[:4])}"
            hint = "What wrote them may not have finished"
            raise op_error(
                CheckpointError, "checkpoint", f"{int(count)} files {prefix}-…-of-{count} in {where}", got, hint
            )


def open_folder(folder: str) -> Manifest:
    """A manifest, in memory, of a folder's safetensors files.

    Raises:
        CheckpointError: no such files, a damaged one, not all of a set, a tensor twice, or one that the index has and
            its file has not, or the other way round.
    """
    names = [n for n in sorted(os.listdir(folder)) if n[0] != "."]
    indices = [n for n in names if n.endswith(INDEX)]
    if len(indices) > 1:
        raise op_error(CheckpointError, "checkpoint", f"one index in {folder}", f"{indices}")
    wanted: dict[str, str] | None = None
    if indices:
        wanted = read_index(os.path.join(folder, indices[0]))
        files = sorted(set(wanted.values()))
        for name in files:
            if name not in names:
                keys = [k for k, n in wanted.items() if n == name]
                got = f"none; {indices[0]} has {len(keys)} tensors in it, {keys[0]!r} among them"
                raise op_error(CheckpointError, "checkpoint", f"{name} in {folder}", got)
    else:
        files = [n for n in names if n.endswith(".safetensors")]
    check_sets(files, folder)
    if not files:
        got = "no manifest and no safetensors file"
        raise op_error(CheckpointError, "checkpoint", f"a checkpoint in {folder}", got, "A save may not have finished")
    return open_files(folder, files, wanted, indices[0] if indices else None)


def open_files(
    folder: str, files: list[str], wanted: dict[str, str] | None = None, index: str | None = None, complete: bool = True
) -> Manifest:
    """A manifest, in memory, of some safetensors files. Without ``complete``, parts of tensors suffice."""
    stored: list[Stored] = []
    first: dict[str, Stored] = {}
    exports: dict[str, str] = {}
    for name in files:
        blocks, metadata = safetensors.read_blocks(folder, name)
        if EXPORT in metadata or exports:
            exports.setdefault(metadata.get(EXPORT, ""), name)
            if len(exports) > 1 and complete:
                got = f"{' and '.join(exports.values())} of two"
                raise op_error(CheckpointError, "checkpoint", f"files of one export in {folder}", got)
        if safetensors.PARTS in metadata and complete:
            got, hint = "it without a manifest", "The save did not finish"
            raise op_error(CheckpointError, "checkpoint", f"the manifest of {name} in {folder}", got, hint)
        for s in blocks:
            key = s.block.key
            if wanted is not None and wanted.get(key) != name:
                got = f"it, which {index} has in {wanted[key]}" if key in wanted else f"it, which {index} has not"
                raise op_error(CheckpointError, "checkpoint", f"no {key!r} in {os.path.join(folder, name)}", got)
            if key in first and complete:
                got = f"it in {first[key].file} and {name}"
                raise op_error(CheckpointError, "checkpoint", f"tensor {key!r} once in {folder}", got)
            first[key] = s
            stored.append(s)
    for key, name in (wanted or {}).items():
        if key not in first:
            got = f"no such tensor; {index} has it"
            raise op_error(CheckpointError, "checkpoint", f"{key!r} in {os.path.join(folder, name)}", got)
    infos = {key: TensorInfo(key, s.block.global_shape, s.block.dtype) for key, s in first.items()}
    sizes = {name: os.stat(os.path.join(folder, name)).st_size for name in files}
    manifest = Manifest(0, 1, tuple(stored), infos, files=sizes)
    return manifest.check(folder) if complete else manifest
